//! Locks by key: who has one holds others up until its commit is durable, in order and without polling, and whatever ends a
//! transaction gives them back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Bench, load};
use plimsoll_clock::in_threads;
use plimsoll_engine::{Session, Telemetry as _, Value};
use plimsoll_measurement::Counter;

const HARDWARE: &str = "memory = \"8MiB\"\n[log]\nwrite_latency = \"10ms\"";

fn take(session: &mut dyn Session, key: i64) -> plimsoll_engine::Result<u64> {
    session.query_count("SELECT lab_lock(?1)", &[Value::BigInt(key)])
}

/// A transaction that changes a row under a lock.
fn change(session: &mut dyn Session, key: i64) {
    session.execute("BEGIN", &[]).unwrap();
    assert_eq!(take(session, key).unwrap(), key as u64);
    session.execute("UPDATE t SET Number = Number - 1 WHERE RowId = ?1", &[Value::BigInt(key)]).unwrap();
    session.execute("COMMIT", &[]).unwrap();
}

fn lock_wait(readings: &[plimsoll_measurement::Reading]) -> f64 {
    readings.iter().find(|reading| reading.metric == Counter::LockWaitSeconds).unwrap().value
}

/// Seconds that eight sessions take for 20 transactions each, and what they waited for locks.
fn race(keys: i64) -> (f64, f64) {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 1000, 100);
    let start = bench.seconds();
    let jobs = (0..8_i64).map(|number| {
        let mut session = bench.session();
        let work = move || {
            for step in 0..20 {
                change(session.as_mut(), 1 + (number + 8 * step) % keys);
            }
        };
        (format!("session {number}"), work)
    });
    for outcome in in_threads(&bench.clock, jobs.collect()) {
        outcome.unwrap();
    }
    let waited = lock_wait(&bench.lab.server_sampler().unwrap().unwrap().sample().unwrap());
    (bench.seconds() - start, waited)
}

#[test]
fn a_hot_row_is_changed_once_a_commit_and_many_rows_beside_each_other() {
    let (one, waited) = race(1);
    // 160 transactions one after the other, 10 ms each until they are durable; the others wait.
    assert!((one - 1.6).abs() < 0.02, "{one}");
    assert!((waited / (7.0 * one) - 1.0).abs() < 0.1, "{waited}");
    let (many, waited) = race(1000);
    assert!((many - 0.2).abs() < 0.02 && waited < 0.05, "{many} {waited}");
}

#[test]
fn whatever_ends_a_transaction_gives_its_locks_back() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 10, 100);
    let mut session = bench.session();
    // A statement on its own, a rollback, an error in a transaction that is rolled back, and a session that is dropped.
    take(session.as_mut(), 1).unwrap();
    session.execute("BEGIN", &[]).unwrap();
    take(session.as_mut(), 2).unwrap();
    take(session.as_mut(), 2).unwrap();
    session.execute("ROLLBACK", &[]).unwrap();
    session.execute("BEGIN", &[]).unwrap();
    take(session.as_mut(), 3).unwrap();
    session.execute("INSERT INTO t (RowId, Number, Text) VALUES (1, 1, 'there already')", &[]).unwrap_err();
    session.execute("ROLLBACK", &[]).unwrap();
    let mut dropped = bench.session();
    dropped.execute("BEGIN", &[]).unwrap();
    take(dropped.as_mut(), 4).unwrap();
    drop(dropped);
    let mut other = bench.session();
    let start = bench.seconds();
    other.execute("BEGIN", &[]).unwrap();
    for key in 1..=4 {
        take(other.as_mut(), key).unwrap();
    }
    other.execute("COMMIT", &[]).unwrap();
    assert!(bench.seconds() - start < 1e-9);
}

#[test]
fn who_panics_with_a_lock_gives_it_back() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 10, 100);
    let (mut bad, mut good, clock) = (bench.session(), bench.session(), &bench.clock);
    let start = bench.seconds();
    let panics: Box<dyn FnOnce() + Send> = Box::new(move || {
        bad.execute("BEGIN", &[]).unwrap();
        take(bad.as_mut(), 1).unwrap();
        clock.sleep(Duration::from_secs(1));
        panic!("on purpose");
    });
    let waits: Box<dyn FnOnce() + Send> = Box::new(move || {
        clock.sleep(Duration::from_millis(500));
        change(good.as_mut(), 1);
    });
    let outcomes = in_threads(&bench.clock, vec![("bad".to_owned(), panics), ("good".to_owned(), waits)]);
    assert_eq!(outcomes.iter().map(Result::is_err).collect::<Vec<_>>(), [true, false]);
    assert!((bench.seconds() - start - 1.01).abs() < 0.001, "{}", bench.seconds() - start);
}

#[test]
fn what_could_end_in_a_circle_is_refused() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 10, 100);
    let mut session = bench.session();
    session.execute("BEGIN", &[]).unwrap();
    take(session.as_mut(), 5).unwrap();
    let error = take(session.as_mut(), 4).unwrap_err();
    assert!(error.message.contains("ascending order"), "{}", error.message);
    session.execute("ROLLBACK", &[]).unwrap();
    session.execute("BEGIN IMMEDIATE", &[]).unwrap();
    let error = take(session.as_mut(), 1).unwrap_err();
    assert!(error.message.contains("comes too late"), "{}", error.message);
    session.execute("ROLLBACK", &[]).unwrap();
    let error = session.query_count("SELECT lab_lock('x')", &[]).unwrap_err();
    assert!(!error.message.is_empty());
}
