//! Faults while a lab works: every one ends in an error of the right class or in slower figures, what was acknowledged is
//! there afterwards, and the file is sound.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;

use std::collections::BTreeMap;

use common::{Bench, load};
use plimsoll_clock::in_threads;
use plimsoll_engine::{Error, ErrorKind, Session, Sessions as _, Value, Workspace};
use rusqlite::Connection;

const HARDWARE: &str = r#"
memory = "512KiB"
[data]
bandwidth = "20MiB/s"
iops = 2000
read_latency = "1ms"
write_latency = "1ms"
[log]
write_bandwidth = "4MiB/s"
write_latency = "1ms"
"#;

const SESSIONS: i32 = 4;
const STEPS: i32 = 150;

/// What sessions under a fault came to.
#[derive(Debug, Default)]
struct Outcome {
    acknowledged: Vec<i64>,
    refused: Vec<i64>,
    errors: BTreeMap<String, usize>,
    kinds: Vec<ErrorKind>,
    seconds: f64,
}

fn work(session: &mut dyn Session, number: i64, step: i32) -> Result<(), Error> {
    let text = "x".repeat(100 + (step as usize * 97) % 3000);
    let values = [Value::Int(number as i32), Value::BigInt(number), Value::Text(&text)];
    if step % 2 == 0 {
        session.execute("INSERT INTO log VALUES (?1, ?2, ?3)", &values)?;
    } else {
        session.execute("BEGIN IMMEDIATE", &[])?;
        session.execute("INSERT INTO log VALUES (?1, ?2, ?3)", &values)?;
        session.execute("UPDATE t SET Number = Number + 1 WHERE RowId = ?1", &[Value::Int(step * 59 % 4000 + 1)])?;
        session.execute("COMMIT", &[])?;
    }
    session.query_count("SELECT count(*) FROM t WHERE RowId > ?1 AND RowId < ?1 + 100", &[Value::Int(step * 31)])?;
    Ok(())
}

fn prepare(session: &mut dyn Session) {
    load(session, "t", 4000, 200);
    load(session, "log", 0, 0);
}

/// Works under a fault and looks at the file with a SQLite of its own afterwards.
fn under(fault: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab");
    let fault = if fault.is_empty() { String::new() } else { format!("&fault={fault}") };
    let url = format!("lab:test.toml?scale=1&file={}", file.display());
    prepare(Bench::with(HARDWARE, &url).session().as_mut());
    let bench = Bench::with(HARDWARE, &format!("{url}{fault}"));
    let start = bench.seconds();
    let jobs = (0..SESSIONS).map(|writer| {
        let mut session = bench.session();
        let work = move || {
            let mut outcome = Outcome::default();
            for step in 0..STEPS {
                let number = i64::from(writer * 1000 + step);
                match work(session.as_mut(), number, step) {
                    Ok(()) => outcome.acknowledged.push(number),
                    Err(error) => {
                        outcome.refused.push(number);
                        *outcome.errors.entry(error.message.clone()).or_default() += 1;
                        outcome.kinds.push(error.kind);
                        // What SQLite has rolled back already can't be rolled back again.
                        let _ = session.execute("ROLLBACK", &[]);
                    }
                }
            }
            outcome
        };
        (format!("session {writer}"), work)
    });
    let mut sum = Outcome::default();
    for outcome in in_threads(&bench.clock, jobs.collect()) {
        let outcome = outcome.unwrap();
        sum.acknowledged.extend(outcome.acknowledged);
        sum.refused.extend(outcome.refused);
        sum.kinds.extend(outcome.kinds);
        for (message, count) in outcome.errors {
            *sum.errors.entry(message).or_default() += count;
        }
    }
    sum.seconds = bench.seconds() - start;
    drop(bench);
    let workspace = Workspace::run("test").unwrap();
    let mut path = file.into_os_string();
    path.push(format!(".{}.db", workspace.name()));
    let plain = Connection::open(path).unwrap();
    let sound: String = plain.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "{fault}: {sum:?}");
    let mut statement = plain.prepare("SELECT RowId FROM log").unwrap();
    let there: Vec<i64> = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let lost: Vec<&i64> = sum.acknowledged.iter().filter(|number| !there.contains(number)).collect();
    assert!(lost.is_empty(), "{fault}: acknowledged and gone: {lost:?}");
    let strange: Vec<&i64> =
        there.iter().filter(|number| !sum.acknowledged.contains(number) && !sum.refused.contains(number)).collect();
    assert!(strange.is_empty(), "{fault}: there and never asked for: {strange:?}");
    println!("{fault}: {} done, {:?}, {:.3} s", sum.acknowledged.len(), sum.errors, sum.seconds);
    sum
}

fn total() -> usize {
    (SESSIONS * STEPS) as usize
}

#[test]
fn without_a_fault_everything_is_done() {
    let outcome = under("");
    assert_eq!((outcome.acknowledged.len(), outcome.errors.len()), (total(), 0));
}

#[test]
fn an_io_error_ends_a_statement_and_no_more() {
    for probability in ["0.0005", "0.003", "0.03"] {
        let outcome = under(&format!("io-error:{probability}"));
        assert!(
            !outcome.kinds.is_empty() && outcome.kinds.iter().all(|kind| *kind == ErrorKind::Statement),
            "{outcome:?}"
        );
        assert!(outcome.errors.keys().all(|message| message.contains("disk I/O error")), "{outcome:?}");
        assert!(outcome.acknowledged.len() > total() / 20, "{outcome:?}");
    }
}

#[test]
fn a_torn_write_ends_a_statement_and_damages_nothing() {
    for probability in ["0.001", "0.01", "0.1"] {
        let outcome = under(&format!("torn-write:{probability}"));
        assert!(
            !outcome.kinds.is_empty() && outcome.kinds.iter().all(|kind| *kind == ErrorKind::Statement),
            "{outcome:?}"
        );
        assert!(outcome.acknowledged.len() > total() / 20, "{outcome:?}");
    }
}

#[test]
fn a_full_disk_is_called_one() {
    let outcome = under("full-disk:1MiB");
    assert!(outcome.acknowledged.len() > 20 && outcome.acknowledged.len() < total(), "{outcome:?}");
    assert!(outcome.kinds.iter().all(|kind| *kind == ErrorKind::DiskFull), "{outcome:?}");
}

#[test]
fn spikes_and_storms_make_it_slower_and_nothing_else() {
    let calm = under("");
    for fault in ["latency-spike:0.05:40", "throttle-storm:1s:500ms:20"] {
        let outcome = under(fault);
        assert_eq!((outcome.acknowledged.len(), outcome.errors.len()), (total(), 0));
        assert!(outcome.seconds > 1.3 * calm.seconds, "{fault}: {} and {}", outcome.seconds, calm.seconds);
        assert_eq!(outcome.seconds.to_bits(), under(fault).seconds.to_bits());
    }
}

#[test]
fn without_power_nothing_works_until_it_is_back() {
    let bench = Bench::with(HARDWARE, "lab:test.toml?scale=1&fault=power-loss:3000");
    let mut session = bench.session();
    prepare(session.as_mut());
    let mut done = 0;
    let error = loop {
        match work(session.as_mut(), done, done as i32) {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
    };
    assert!(done > 20 && matches!(error.kind, ErrorKind::Statement | ErrorKind::Lost), "{done} {error:?}");
    for sql in ["SELECT count(*) FROM t WHERE Number > 0", "SELECT count(*) FROM log"] {
        session.query_count(sql, &[]).unwrap_err();
    }
    session.execute("UPDATE t SET Number = 1", &[]).unwrap_err();
    assert!(bench.lab.session(&bench.workspace, &bench.workspace).is_err());
    drop(session);
    bench.lab.server().power_on().unwrap();
    let mut session = bench.session();
    let there = session.query_count("SELECT count(*) FROM log", &[]).unwrap();
    assert!((done as u64..=done as u64 + 1).contains(&there), "{there} {done}");
    work(session.as_mut(), 5000, 1).unwrap();
}

#[test]
fn a_seed_decides_where_faults_strike() {
    let run = |seed: u64| under(&format!("io-error:0.01&seed={seed}"));
    let [one, again, other] = [1, 1, 2].map(run);
    assert_eq!((&one.refused, one.seconds.to_bits()), (&again.refused, again.seconds.to_bits()));
    assert_ne!(one.refused, other.refused);
}

#[test]
fn a_file_that_is_kept_is_what_the_disk_holds_after_the_power_was_lost() {
    let mut changed = 0;
    for at in [800, 1500, 2200, 3000] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lab");
        let url = format!("lab:test.toml?scale=1&file={}", file.display());
        let bench = Bench::with(HARDWARE, &format!("{url}&fault=power-loss:{at}"));
        let mut session = bench.session();
        prepare(session.as_mut());
        let done = (0..5000).take_while(|step| work(session.as_mut(), i64::from(*step), *step).is_ok()).count() as u64;
        drop(session);
        let bytes = || {
            let mut files: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.retain(|path| path.extension().is_some_and(|ending| ending != "lock"));
            files.sort();
            files.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        let dark = bytes();
        drop(bench);
        changed += u32::from(bytes() != dark);
        let bench = Bench::with(HARDWARE, &url);
        let there = bench.session().query_count("SELECT count(*) FROM log", &[]).unwrap();
        assert!((done..=done + 1).contains(&there), "{there} {done}");
    }
    assert!(changed > 0, "nothing was at stake at any of these cuts");
}
