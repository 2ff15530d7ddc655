//! Loads that are requests: they pay for log and CPU and queue for the right to write, where provisioning does not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Bench, Rows, table};
use plimsoll_clock::in_threads;
use plimsoll_engine::{Error, ErrorKind, RequestAccess, Requester, Result, Row, RowSource, Sessions as _};
use plimsoll_measurement::Counter;

const HARDWARE: &str = r#"
memory = "64MiB"
[cpu]
step_time = "25ns"
statement_time = "1ms"
[log]
write_bandwidth = "0.8MiB/s"
write_latency = "4ms"
"#;

const BATCH_ROWS: i32 = 1000;

fn requester(bench: &Bench) -> Box<dyn Requester> {
    bench.lab.requester(&bench.workspace, &bench.workspace, RequestAccess::OWN).unwrap()
}

fn batch(number: i32) -> Rows {
    Rows { next: number * BATCH_ROWS + 1, last: (number + 1) * BATCH_ROWS, bytes: 400 }
}

/// What `batches` take: nine rows make a page, which has a header in the log; then the latency and the statement's CPU.
fn seconds(batches: i32) -> f64 {
    let frames = f64::from(BATCH_ROWS) / 9.0 + 2.0;
    f64::from(batches) * (frames * 4120.0 / (0.8 * f64::from(1 << 20)) + 0.004 + 0.001)
}

#[test]
fn a_load_by_a_request_takes_what_the_log_lets_through_and_provisioning_takes_nothing() {
    let bench = Bench::new(HARDWARE);
    let mut session = bench.session();
    let before = bench.seconds();
    common::load(session.as_mut(), "provisioned", 20_000, 400);
    assert!(bench.seconds() - before < 0.1, "{}", bench.seconds() - before);

    session.create_table(&table("t")).unwrap();
    let mut one = requester(&bench);
    let (before, log) = (bench.seconds(), log_bytes(one.as_mut()));
    for number in 0..40 {
        let row_summary = one.load_batch(&table("t"), &mut batch(number)).unwrap();
        assert_eq!(row_summary.rows, BATCH_ROWS as u64);
    }
    let took = bench.seconds() - before;
    assert!((took / seconds(40) - 1.0).abs() < 0.03, "{took} {}", seconds(40));
    let content = 40.0 * f64::from(BATCH_ROWS) * 412.0;
    let per_content = (log_bytes(one.as_mut()) - log) / content;
    assert!((1.0..1.2).contains(&per_content), "{per_content}");
    assert_eq!(session.query_count("SELECT count(*) FROM t", &[]).unwrap(), 40_000);
}

#[test]
fn two_sessions_that_load_share_the_log_and_one_that_fails_leaves_nothing() {
    let bench = Bench::new(HARDWARE);
    let mut session = bench.session();
    session.create_table(&table("t")).unwrap();
    let sessions = [requester(&bench), requester(&bench)];
    let before = bench.seconds();
    let jobs = sessions.into_iter().zip(0..).map(|(mut session, number)| {
        (format!("{number}"), move || {
            (0..20).try_for_each(|step| session.load_batch(&table("t"), &mut batch(2 * step + number)).map(drop))
        })
    });
    for outcome in in_threads(&Arc::clone(&bench.clock), jobs.collect()) {
        outcome.unwrap().unwrap();
    }
    let took = bench.seconds() - before;
    // The latency of one is beside the transfer of the other; keys that come in turns split pages.
    assert!((0.93..1.15).contains(&(took / seconds(40))), "{took} {}", seconds(40));

    let mut third = requester(&bench);
    let error = third.load_batch(&table("t"), &mut Failing(batch(100))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    third.load_batch(&table("t"), &mut batch(100)).unwrap();
    assert_eq!(session.query_count("SELECT count(*) FROM t", &[]).unwrap(), 41_000);
}

fn log_bytes(requester: &mut dyn Requester) -> f64 {
    let readings = requester.sample().unwrap();
    readings.iter().find(|reading| reading.metric == Counter::LogWriteBytes).unwrap().value
}

/// Fails in the middle.
struct Failing(Rows);

impl RowSource for Failing {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.0.last - self.0.next < BATCH_ROWS / 2 {
            return Err(Error::new(ErrorKind::Cancelled, "enough"));
        }
        self.0.next(row)
    }
}
