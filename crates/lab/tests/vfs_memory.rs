//! Every way through the file system layer, in little: this is what `cargo xtask memcheck` runs under valgrind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Bench, load, table};
use jiff::Timestamp;
use plimsoll_clock::{Clock, Departure, RealClock, Ticket, VirtualClock, Waiter, in_threads};
use plimsoll_engine::{ClaimMode, Cold, ColumnType, Session, Sessions as _, Unfollowed, Value, Workspaces as _};
use plimsoll_measurement::Moment;

fn hardware(page_bytes: u32) -> String {
    format!(
        r#"
page_size = "{page_bytes}B"
memory = "128KiB"
[cpu]
cores = 1
step_time = "50ns"
page_time = "10us"
[data]
bandwidth = "400MiB/s"
read_latency = "20us"
write_latency = "30us"
[log]
write_bandwidth = "100MiB/s"
write_latency = {{ p50 = "20us", max = "90us" }}
[temp]
read_latency = "10us"
"#
    )
}

fn text(session: &mut dyn Session, sql: &str) -> String {
    let mut said = String::new();
    session
        .query(sql, &[], &[ColumnType::Text(2000)], &mut |row| {
            if let Value::Text(line) = row.get(0) {
                said.push_str(line);
            }
            Ok(())
        })
        .unwrap();
    said
}

/// Transactions, rollbacks, sorts and size queries of one session.
fn work(session: &mut dyn Session, own: i32, steps: i32) -> plimsoll_engine::Result<()> {
    for step in 0..steps {
        let row = Value::Int(1 + (own * 97 + step * 13) % 400);
        session.execute("UPDATE t SET Number = ?1 WHERE RowId = ?2", &[Value::BigInt(i64::from(step)), row])?;
        session.execute("BEGIN IMMEDIATE", &[])?;
        session.execute("UPDATE t SET Number = Number / 2 WHERE RowId % 16 = ?1", &[Value::Int(own)])?;
        session.execute(if step % 3 == 0 { "ROLLBACK" } else { "COMMIT" }, &[])?;
        session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[])?;
    }
    Ok(())
}

fn many(bench: &Bench, sessions: i32, steps: i32) -> usize {
    let jobs = (0..sessions).map(|own| {
        let mut session = bench.session();
        (format!("session {own}"), move || work(session.as_mut(), own, steps))
    });
    in_threads(&bench.clock, jobs.collect()).into_iter().filter(|outcome| outcome.as_ref().unwrap().is_err()).count()
}

#[test]
fn files_are_made_read_written_copied_cut_and_deleted() {
    for page_bytes in [512, 4096, 65_536] {
        let bench = Bench::new(&hardware(page_bytes));
        let mut session = bench.session();
        load(session.as_mut(), "t", 400, 150);
        assert_eq!(many(&bench, 4, 6), 0);
        session.table_size(&table("t")).unwrap().unwrap();
        // Temporary files, journals, and back.
        session.execute("PRAGMA temp_store = file", &[]).unwrap();
        text(session.as_mut(), "SELECT Text FROM t ORDER BY Number, Text DESC");
        session.execute("CREATE TEMP TABLE passing AS SELECT * FROM t", &[]).unwrap();
        drop(session);
        for mode in ["delete", "truncate", "persist", "wal"] {
            // The last session has taken the checkpointer with it, which keeps the file in its mode.
            let mut session = bench.session();
            assert_eq!(text(session.as_mut(), &format!("PRAGMA journal_mode = {mode}")), mode);
            work(session.as_mut(), 1, 2).unwrap();
        }
        let mut session = bench.session();
        // A file that shrinks while it is mapped.
        session.execute("DELETE FROM t WHERE RowId > 50", &[]).unwrap();
        session.drop_table(&table("another")).unwrap();
        session.checkpoint().unwrap();
        assert_eq!(session.query_count("SELECT count(*) FROM t", &[]).unwrap(), 50);
        assert_eq!(text(session.as_mut(), "PRAGMA integrity_check"), "ok");
        assert!(text(session.as_mut(), "SELECT datetime('now')").starts_with("2015-01-31 00:"));
        assert_eq!(session.query_count("SELECT length(hex(randomblob(16)))", &[]).unwrap(), 32);
        drop(session);
        let tables = [table("t")];
        let (cold, workspace) = (Cold::default(), &bench.workspace);
        bench.lab.make_cold(workspace, workspace, &tables, &cold, &mut Unfollowed).unwrap();
        assert_eq!(bench.session().query_count("SELECT count(*) FROM t", &[]).unwrap(), 50);
    }
}

#[test]
fn places_are_removed_and_made_anew() {
    let mut bench = Bench::new(&hardware(4096));
    for _ in 0..3 {
        load(bench.session().as_mut(), "t", 400, 150);
        assert_eq!(many(&bench, 2, 3), 0);
        bench.drop_lease();
        assert!(bench.lab.remove(&bench.workspace).unwrap());
        assert!(bench.lab.session(&bench.workspace, &bench.workspace).is_err());
        drop(bench.lab.claim(&bench.workspace, ClaimMode::Exclusive).unwrap().unwrap());
    }
}

#[test]
fn faults_strike_everywhere() {
    for fault in ["io-error:0.02", "torn-write:0.05", "full-disk:200KiB", "power-loss:400"] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("lab:test.toml?scale=1&file={}/lab", folder.path().display());
        load(Bench::with(&hardware(1024), &url).session().as_mut(), "t", 400, 150);
        let bench = Bench::with(&hardware(1024), &format!("{url}&fault={fault}"));
        assert!(many(&bench, 4, 10) > 0, "{fault}");
        bench.lab.server().power_on().unwrap();
        drop(bench);
        let bench = Bench::with(&hardware(1024), &url);
        assert_eq!(text(bench.session().as_mut(), "PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn sessions_work_in_real_time() {
    let bench = Bench::on(&hardware(4096), "lab:test.toml?scale=1", Arc::new(RealClock::new()));
    load(bench.session().as_mut(), "t", 400, 150);
    assert_eq!(many(&bench, 4, 8), 0);
    assert_eq!(text(bench.session().as_mut(), "PRAGMA integrity_check"), "ok");
}

/// A clock that panics when it is told to.
#[derive(Debug)]
struct Broken {
    clock: VirtualClock,
    breaks: AtomicBool,
}

impl Clock for Broken {
    fn now(&self) -> Moment {
        self.clock.now()
    }
    fn sleep_until(&self, moment: Moment) {
        assert!(!self.breaks.swap(false, Ordering::Relaxed), "the clock broke");
        self.clock.sleep_until(moment);
    }
    fn timestamp(&self, moment: Moment) -> Timestamp {
        self.clock.timestamp(moment)
    }
    fn kind(&self) -> &'static str {
        self.clock.kind()
    }
    fn ticket(&self, name: &str) -> Ticket {
        self.clock.ticket(name)
    }
    fn register(&self, ticket: Ticket) {
        self.clock.register(ticket);
    }
    fn leave(&self) {
        self.clock.leave();
    }
    fn waiter(&self) -> Waiter {
        self.clock.waiter()
    }
    fn park(&self) {
        self.clock.park();
    }
    fn await_departure(&self, departure: &Departure) {
        self.clock.await_departure(departure);
    }
}

#[test]
fn a_panic_within_sqlite_goes_on_behind_it() {
    let clock = Arc::new(Broken { clock: VirtualClock::new(), breaks: AtomicBool::new(false) });
    let bench = Bench::on(&hardware(4096), "lab:test.toml?scale=1", Arc::clone(&clock) as _);
    load(bench.session().as_mut(), "t", 400, 150);
    for sql in ["SELECT count(*) FROM t WHERE Number > 0", "UPDATE t SET Number = 1"] {
        bench.lab.server().state().pool.clear();
        let mut session = bench.session();
        // The first wait is for a page, in SQLite's read.
        clock.breaks.store(true, Ordering::Relaxed);
        let said = catch_unwind(AssertUnwindSafe(|| session.execute(sql, &[]))).unwrap_err();
        assert_eq!(*said.downcast::<&str>().unwrap(), "the clock broke");
        drop(session);
        let mut session = bench.session();
        session.execute("UPDATE t SET Number = 2 WHERE RowId = 1", &[]).unwrap();
        assert_eq!(text(session.as_mut(), "PRAGMA integrity_check"), "ok");
    }
}
