//! A modelled client: what a statement costs it comes before the server hears of it, and shows as a wait of nobody's but its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Bench, load};
use plimsoll_clock::in_threads;
use plimsoll_engine::{Telemetry as _, Value};
use plimsoll_measurement::{Counter, Reading};

const SERVER: &str = "[cpu]\nstatement_time = \"100us\"\n";

fn value(readings: &[Reading], metric: Counter) -> Option<f64> {
    readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

/// Seconds that four sessions take for 250 statements each.
fn thousand(bench: &Bench) -> f64 {
    let start = bench.seconds();
    let jobs = (0..4).map(|number| {
        let mut session = bench.session();
        let work = move || {
            for step in 0..250 {
                let key = Value::Int(1 + number * 250 + step);
                session.query_count("SELECT RowId FROM t WHERE RowId = ?1", &[key]).unwrap();
            }
        };
        (format!("session {number}"), work)
    });
    for outcome in in_threads(&bench.clock, jobs.collect()) {
        outcome.unwrap();
    }
    bench.seconds() - start
}

#[test]
fn a_client_without_cpu_makes_the_rate_and_the_server_waits_for_nothing() {
    let bench = Bench::new(&format!("{SERVER}[client]\ncores = 0.5\nrequest_time = \"2ms\""));
    load(bench.session().as_mut(), "t", 1000, 100);
    let sampler = || bench.lab.server_sampler().unwrap().unwrap().sample().unwrap();
    let before = sampler();
    let seconds = thousand(&bench);
    // A thousand statements of 2 ms on half a core.
    assert!((seconds - 4.0).abs() < 0.05, "{seconds}");
    let after = sampler();
    let grown = |metric| value(&after, metric).unwrap() - value(&before, metric).unwrap();
    assert!((grown(Counter::ClientCpuSeconds) - 2.0).abs() < 1e-9);
    // All four wait for it nearly all the time.
    assert!((grown(Counter::ClientWaitSeconds) / (4.0 * seconds) - 1.0).abs() < 0.05);
    assert!((grown(Counter::CpuWaitSeconds) - 0.1).abs() < 0.01, "{}", grown(Counter::CpuWaitSeconds));
    let waits = bench.lab.server_sampler().unwrap().unwrap().views().unwrap().waits;
    assert!(waits.iter().all(|row| row.name != "client") && waits.iter().map(|row| row.seconds).sum::<f64>() < 0.2);
    let ceilings = bench.lab.ceilings();
    assert!(ceilings.iter().any(|ceiling| ceiling.resource == "client_cpu" && (ceiling.value - 0.5).abs() < 1e-9));
}

#[test]
fn without_a_client_it_takes_no_time_and_nothing_is_said_of_it() {
    let bench = Bench::new(SERVER);
    load(bench.session().as_mut(), "t", 1000, 100);
    let seconds = thousand(&bench);
    assert!((seconds - 0.1).abs() < 0.01, "{seconds}");
    let readings = bench.lab.server_sampler().unwrap().unwrap().sample().unwrap();
    assert_eq!(value(&readings, Counter::ClientWaitSeconds), None);
    assert_eq!(value(&readings, Counter::ClientCpuSeconds), None);
}

#[test]
fn lookups_and_commits_are_counted() {
    let bench = Bench::new("memory = \"8MiB\"\n[log]\nwrite_latency = \"1ms\"");
    let mut session = bench.session();
    load(session.as_mut(), "t", 1000, 100);
    let sampler = || bench.lab.server_sampler().unwrap().unwrap().sample().unwrap();
    let before = sampler();
    for step in 1..=20 {
        session.execute("UPDATE t SET Number = 0 WHERE RowId = ?1", &[Value::Int(step)]).unwrap();
        session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[Value::Int(500 + step)]).unwrap();
    }
    session.execute("BEGIN IMMEDIATE", &[]).unwrap();
    session.execute("UPDATE t SET Number = 1 WHERE RowId = 1", &[]).unwrap();
    session.execute("ROLLBACK", &[]).unwrap();
    let after = sampler();
    let grown = |metric| value(&after, metric).unwrap() - value(&before, metric).unwrap();
    // What is rolled back is no commit, nor is a read.
    assert!((grown(Counter::Commits) - 20.0).abs() < 1e-9);
    let (lookups, misses) = (grown(Counter::CacheLookupPages), grown(Counter::CacheMissPages));
    assert!(lookups >= 40.0 && misses < lookups, "{lookups} {misses}");
}
