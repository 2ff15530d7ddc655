//! Power lost at seeded I/Os under a write load: the database opens, is sound, and holds every acknowledged transaction
//! whole, those in flight whole or not at all, and nothing that was rolled back.
//!
//! `PLIMSOLL_POWER_CUTS=1000 cargo test -p plimsoll-lab --test power` tries more points than the usual run.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;

use std::sync::Mutex;
use std::thread;

use common::{Bench, load};
use plimsoll_clock::in_threads;
use plimsoll_engine::{ColumnType, Result, Session, Value};

/// Hardware of several shapes: a governed log, a slow disk under the checkpoints, small pages, a slow log. Memory is small, so that
/// checkpoints come often and pages are evicted.
const HARDWARE: [&str; 4] = [
    r#"
memory = "1MiB"
[data]
iops = 2000
read_latency = "1ms"
write_latency = "1ms"
[log]
write_bandwidth = "4MiB/s"
write_latency = "4ms"
"#,
    r#"
memory = "512KiB"
[data]
iops = 150
read_latency = "2ms"
write_latency = "60ms"
[log]
write_latency = { p50 = "1ms", p90 = "5ms", max = "40ms" }
"#,
    r#"
page_size = "1KiB"
memory = "256KiB"
[data]
iops = 5000
write_latency = "300ms"
[log]
write_bandwidth = "512KiB/s"
write_latency = "2ms"
"#,
    r#"
memory = "512KiB"
[data]
read_latency = "100us"
write_latency = "1ms"
[log]
write_latency = "50ms"
"#,
];

const WRITERS: i32 = 4;

/// Rows that each transaction of a writer sets to its number.
const ROWS: i32 = 3;

/// What a writer was told, and what it last asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    acknowledged: i64,
    asked: i64,
}

fn cuts() -> u64 {
    std::env::var("PLIMSOLL_POWER_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(200)
}

fn mixed(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn row(writer: i32, index: i32) -> Value<'static> {
    // Far apart, so that a transaction has several pages.
    Value::Int(1 + writer * 7 + index * 101)
}

/// One transaction of a writer: all its rows and one line of its history get the number.
fn transaction(session: &mut dyn Session, writer: i32, number: i64, draw: u64) -> Result<()> {
    let key = Value::Int(writer * 100_000 + number as i32);
    let text = "n".repeat(20 + (draw % 1500) as usize);
    let line = "INSERT INTO history VALUES (?1, ?2, ?3)";
    let set = "UPDATE ledger SET Number = ?1 WHERE RowId = ?2";
    match draw % 10 {
        // One statement, in a transaction of its own. The history's trigger does the rest.
        0..4 => {
            session.execute(line, &[key, Value::BigInt(number), Value::Text(&text)])?;
        }
        4..8 => {
            session.execute("BEGIN IMMEDIATE", &[])?;
            session.execute(line, &[key, Value::BigInt(number), Value::Text(&text)])?;
            // Old lines are rewritten too: pages all over the file.
            let old = Value::Int(writer * 100_000 + (draw % 97) as i32);
            session.execute("UPDATE history SET Text = ?1 WHERE RowId = ?2", &[Value::Text(&text), old])?;
            session.execute("COMMIT", &[])?;
        }
        8 => {
            // Many pages in one.
            session.execute("BEGIN IMMEDIATE", &[])?;
            session.execute("UPDATE bulk SET Number = Number + 1 WHERE RowId % 16 = ?1", &[Value::Int(writer)])?;
            session.execute(line, &[key, Value::BigInt(number), Value::Text(&text)])?;
            session.execute("COMMIT", &[])?;
        }
        _ => {
            // Rolled back first: none of this may ever be seen.
            session.execute("BEGIN IMMEDIATE", &[])?;
            session.execute(line, &[key, Value::BigInt(-1), Value::Text(&text)])?;
            session.execute(set, &[Value::BigInt(-1), row(writer, 0)])?;
            session.execute("ROLLBACK", &[])?;
            session.execute(line, &[key, Value::BigInt(number), Value::Text(&text)])?;
        }
    }
    Ok(())
}

fn write(mut session: Box<dyn Session>, writer: i32, seed: u64, told: &Mutex<[Told; WRITERS as usize]>) {
    let from = told.lock().unwrap()[writer as usize].acknowledged;
    for number in from + 1..from + 1000 {
        told.lock().unwrap()[writer as usize].asked = number;
        let draw = mixed(seed ^ ((writer as u64) << 40) ^ ((number as u64) << 8));
        if transaction(session.as_mut(), writer, number, draw).is_err() {
            return;
        }
        told.lock().unwrap()[writer as usize].acknowledged = number;
    }
}

/// Reads rows of the writers; what it was shown has to be there later.
fn watch(mut session: Box<dyn Session>, seen: &Mutex<[i64; WRITERS as usize]>) {
    for turn in 0..100_000 {
        let writer = turn % WRITERS;
        let sql = "SELECT Number FROM ledger WHERE RowId = ?1";
        let Ok(number) = session.query_count(sql, &[row(writer, turn % ROWS)]) else { return };
        let seen = &mut seen.lock().unwrap()[writer as usize];
        *seen = (*seen).max(number as i64);
    }
}

fn numbers(session: &mut dyn Session, sql: &str) -> Vec<i64> {
    let mut numbers = Vec::new();
    session
        .query(sql, &[], &[ColumnType::BigInt], &mut |row| {
            let Value::BigInt(number) = row.get(0) else { panic!("{sql}") };
            numbers.push(number);
            Ok(())
        })
        .unwrap();
    numbers
}

fn integrity(session: &mut dyn Session) -> String {
    let mut said = String::new();
    session
        .query("PRAGMA integrity_check", &[], &[ColumnType::Text(2000)], &mut |row| {
            if let Value::Text(line) = row.get(0) {
                said.push_str(line);
            }
            Ok(())
        })
        .unwrap();
    said
}

fn prepare(session: &mut dyn Session) {
    load(session, "ledger", 500, 200);
    load(session, "bulk", 1000, 100);
    load(session, "history", 1, 10);
    session.execute("UPDATE ledger SET Number = 0", &[]).unwrap();
    session.execute("UPDATE bulk SET Number = 0", &[]).unwrap();
    session.execute("DELETE FROM history", &[]).unwrap();
    let rows: Vec<String> = (0..ROWS).map(|index| format!("1 + NEW.RowId / 100000 * 7 + {index} * 101")).collect();
    let trigger = format!(
        "CREATE TRIGGER whole AFTER INSERT ON history BEGIN \
         UPDATE ledger SET Number = NEW.Number WHERE RowId IN ({}); END",
        rows.join(", ")
    );
    session.execute(&trigger, &[]).unwrap();
}

/// What is there against what was told; gives for each writer how far it is.
fn check(session: &mut dyn Session, told: &[Told], seen: &[i64]) -> Vec<Told> {
    assert_eq!(integrity(session), "ok");
    let there: Vec<Told> = (0..WRITERS)
        .map(|writer| {
            let Told { acknowledged, asked } = told[writer as usize];
            let rows: Vec<i64> = (0..ROWS)
                .map(|index| {
                    let sql = "SELECT Number FROM ledger WHERE RowId = ?1";
                    session.query_count(sql, &[row(writer, index)]).unwrap() as i64
                })
                .collect();
            let reached = rows[0];
            assert!(rows.iter().all(|number| *number == reached), "half a transaction of {writer}: {rows:?}");
            assert!((acknowledged..=asked).contains(&reached), "{writer}: {reached}, told {acknowledged} of {asked}");
            assert!(seen[writer as usize] <= reached, "{writer}: {reached}, but {} was shown", seen[writer as usize]);
            let (from, to) = (writer * 100_000, (writer + 1) * 100_000);
            let history = numbers(
                session,
                &format!("SELECT Number FROM history WHERE RowId >= {from} AND RowId < {to} ORDER BY RowId"),
            );
            assert!(history.iter().copied().eq(1..=reached), "{writer}: {reached} and {history:?}");
            Told { acknowledged: reached, asked: reached }
        })
        .collect();
    // Each bulk transaction raises a writer's rows together.
    let raised = numbers(session, "SELECT count(DISTINCT Number) FROM bulk GROUP BY RowId % 16");
    assert!(raised.iter().all(|kinds| *kinds == 1), "half a bulk update: {raised:?}");
    there
}

/// What happened at one point.
#[derive(Debug, Default)]
struct Happened {
    acknowledged: i64,
    in_flight: usize,
    in_flight_kept: usize,
}

fn lose_power(point: u64) -> Happened {
    let folder = tempfile::tempdir().unwrap();
    let hardware = HARDWARE[(point % HARDWARE.len() as u64) as usize];
    let file = folder.path().join("lab");
    let at = 1500 + mixed(point) % 6000;
    let url = format!("lab:test.toml?scale=1&seed={point}&file={}&fault=power-loss:{at}", file.display());
    let bench = Bench::with(hardware, &url);
    prepare(bench.session().as_mut());
    let told = Mutex::new([Told::default(); WRITERS as usize]);
    let seen = Mutex::new([0; WRITERS as usize]);
    let work = |seed: u64| {
        let (told, seen) = (&told, &seen);
        let writers = (0..WRITERS).map(|writer| {
            let session = bench.session();
            let job: Box<dyn FnOnce() + Send> = Box::new(move || write(session, writer, seed, told));
            (format!("writer {writer}"), job)
        });
        let session = bench.session();
        let watcher: Box<dyn FnOnce() + Send> = Box::new(move || watch(session, seen));
        let jobs = writers.chain([("watcher".to_owned(), watcher)]).collect();
        for outcome in in_threads(&bench.clock, jobs) {
            outcome.unwrap();
        }
    };
    work(point);
    assert!(!has_shared_memory(folder.path()));
    bench.lab.server().power_on().unwrap();
    let before = *told.lock().unwrap();
    let mut session = bench.session();
    let there = check(session.as_mut(), &before, &*seen.lock().unwrap());
    assert!(!has_shared_memory(folder.path()));
    // The database is one to work on.
    for (writer, reached) in there.iter().enumerate() {
        for number in 1..=5 {
            let number = reached.acknowledged + number;
            transaction(session.as_mut(), writer as i32, number, mixed(point + number as u64)).unwrap();
        }
    }
    let later: Vec<Told> = there
        .iter()
        .map(|reached| Told { acknowledged: reached.acknowledged + 5, asked: reached.acknowledged + 5 })
        .collect();
    check(session.as_mut(), &later, &[0; WRITERS as usize]);
    let flown = || before.iter().zip(&there).filter(|(told, _)| told.asked > told.acknowledged);
    Happened {
        acknowledged: before.iter().map(|told| told.acknowledged).sum(),
        in_flight: flown().count(),
        in_flight_kept: flown().filter(|(told, there)| there.acknowledged == told.asked).count(),
    }
}

/// A file of the index of the log would have outlived the power.
fn has_shared_memory(folder: &std::path::Path) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().ends_with("-shm"))
}

#[test]
fn what_was_acknowledged_survives_a_loss_of_power() {
    let mut sum = Happened::default();
    let mut failed = Vec::new();
    for point in 0..cuts() {
        match thread::Builder::new().name(format!("point {point}")).spawn(move || lose_power(point)).unwrap().join() {
            Ok(happened) => {
                sum.acknowledged += happened.acknowledged;
                sum.in_flight += happened.in_flight;
                sum.in_flight_kept += happened.in_flight_kept;
            }
            Err(_) => failed.push(point),
        }
    }
    assert!(failed.is_empty(), "{} of {}: {failed:?}", failed.len(), cuts());
    println!("{sum:?}");
    // The load was one: transactions were in flight, and some of them came through.
    assert!(sum.acknowledged > 20 * cuts() as i64, "{sum:?}");
    assert!(sum.in_flight as u64 > cuts() && sum.in_flight_kept > 0 && sum.in_flight_kept < sum.in_flight, "{sum:?}");
}
