//! A run in virtual time is a function of its load and its seed: the same to the nanosecond, whatever else the machine has
//! to do. In real time the same sessions come to the same rows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{Bench, load};
use plimsoll_clock::{Clock, RealClock, VirtualClock, in_threads};
use plimsoll_engine::{ColumnType, Session, Value};

/// Everything that is drawn at random, and every limit.
const HARDWARE: &str = r#"
memory = "2MiB"
[cpu]
cores = 0.5
step_time = "50ns"
page_time = "10us"
[data]
bandwidth = "10MiB/s"
iops = 800
read_latency = { p50 = "2ms", p90 = "4ms", p99 = "12ms", max = "40ms" }
write_latency = { p50 = "3ms", p90 = "6ms", max = "40ms" }
neighbour = { rates = [0.5, 1.0], dwell = "3s" }
[log]
write_bandwidth = "1MiB/s"
write_latency = { p50 = "2ms", p90 = "4ms", max = "20ms" }
"#;

/// Hardware on which real time passes quickly.
const FAST: &str = r#"
memory = "2MiB"
[data]
bandwidth = "400MiB/s"
read_latency = "20us"
write_latency = "50us"
[log]
write_bandwidth = "200MiB/s"
write_latency = "100us"
"#;

const SESSIONS: i32 = 8;
const ROWS: i32 = 12_000;

/// FNV-1a (Fowler, Noll, Vo), of 64 bits.
fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One operation of the mix; gives what it found.
fn operation(session: &mut dyn Session, own: i32, step: i32) -> plimsoll_engine::Result<u64> {
    let mixed = (step as u32).wrapping_mul(2_654_435_761).wrapping_add(own as u32 * 40_503) >> 7;
    let row = Value::Int(1 + (mixed % ROWS as u32) as i32);
    match mixed % 10 {
        0 | 1 => {
            let key = Value::Int(100_000 + own * 10_000 + step);
            let text = "y".repeat((mixed % 800) as usize);
            session
                .execute("INSERT INTO t VALUES (?1, ?2, ?3)", &[key, Value::BigInt(i64::from(own)), Value::Text(&text)])
        }
        2..=4 => session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[row]),
        5 => session.query_count("SELECT count(*) FROM t WHERE RowId BETWEEN ?1 AND ?1 + 500 AND Number > 0", &[row]),
        6 | 7 => session.execute("UPDATE t SET Number = ?1 WHERE RowId = ?2", &[Value::BigInt(i64::from(step)), row]),
        8 => {
            session.execute("BEGIN IMMEDIATE", &[])?;
            let changed = session.execute("UPDATE t SET Number = Number / 2 WHERE RowId = ?1", &[row])?;
            session.execute(if mixed & 1024 == 0 { "ROLLBACK" } else { "COMMIT" }, &[])?;
            Ok(changed)
        }
        _ => session.execute("DELETE FROM t WHERE RowId = ?1", &[Value::Int(100_000 + own * 10_000 + step / 2)]),
    }
}

/// The mix of eight sessions. Gives a hash of when each operation was done and what it found, of all counters, and of the
/// rows in the end; and the number of those rows.
fn mix(hardware: &str, seed: u64, clock: Arc<dyn Clock>, steps: i32) -> (u64, u64) {
    let bench = Bench::on(hardware, &format!("lab:test.toml?scale=1&seed={seed}"), clock);
    load(bench.session().as_mut(), "t", ROWS, 400);
    let trace = Mutex::new(0xcbf2_9ce4_8422_2325);
    let jobs = (0..SESSIONS).map(|own| {
        let (mut session, clock, trace) = (bench.session(), &bench.clock, &trace);
        let work = move || {
            for step in 1..=steps {
                let found = operation(session.as_mut(), own, step).unwrap();
                let line = format!("{own} {step} {found} {}", clock.now().as_nanos());
                let mut trace = trace.lock().unwrap();
                *trace = hash(*trace, line.as_bytes());
            }
            format!("{:?}", session.sample().unwrap())
        };
        (format!("session {own}"), work)
    });
    let mut end = String::new();
    for samples in in_threads(&bench.clock, jobs.collect()) {
        end.push_str(&samples.unwrap());
    }
    let mut session = bench.session();
    let mut rows = 0;
    let types = [ColumnType::Int, ColumnType::BigInt, ColumnType::BigInt];
    session
        .query("SELECT RowId, Number, length(Text) FROM t ORDER BY RowId", &[], &types, &mut |row| {
            rows += 1;
            write!(end, "{:?} {:?} {:?}", row.get(0), row.get(1), row.get(2)).unwrap();
            Ok(())
        })
        .unwrap();
    write!(end, "{:?} {}", bench.lab.server().state().counters, bench.clock.now().as_nanos()).unwrap();
    let trace = trace.into_inner().unwrap();
    (hash(trace, end.as_bytes()), rows)
}

fn virtual_mix(seed: u64) -> u64 {
    mix(HARDWARE, seed, Arc::new(VirtualClock::new()), 250).0
}

#[test]
fn the_same_seed_is_the_same_run_and_another_is_another_under_load_too() {
    let quiet = virtual_mix(1);
    assert_eq!(virtual_mix(1), quiet);
    assert_ne!(virtual_mix(2), quiet);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Beside each other as well.
        let others: Vec<_> = (0..2).map(|_| scope.spawn(|| virtual_mix(1))).collect();
        let busy = virtual_mix(1);
        let others: Vec<u64> = others.into_iter().map(|other| other.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        assert_eq!((busy, others), (quiet, vec![quiet, quiet]));
    });
}

#[test]
fn eight_sessions_work_in_real_time() {
    let real = mix(FAST, 1, Arc::new(RealClock::new()), 200);
    // Which keys there are does not depend on the order of the sessions, as each inserts and deletes its own.
    assert_eq!(mix(FAST, 1, Arc::new(VirtualClock::new()), 200).1, real.1);
}
