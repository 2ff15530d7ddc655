//! Sessions that write queue for the right to do so on the clock: nobody polls, nobody is refused, everybody is served in
//! order, and whoever fails leaves neither the turn nor the clock behind.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use common::{Bench, load};
use jiff::Timestamp;
use plimsoll_clock::{Clock, Departure, Ticket, VirtualClock, Waiter, Watch, in_threads};
use plimsoll_engine::{ErrorKind, Session, Telemetry as _, Value};
use plimsoll_measurement::{Counter, Moment};

const HARDWARE: &str = r#"
memory = "8MiB"
[data]
bandwidth = "20MiB/s"
iops = 2000
read_latency = "2ms"
write_latency = "2ms"
[log]
write_bandwidth = "75KiB/s"
write_latency = "4ms"
"#;

/// A clock that counts how often somebody sleeps for a while, as SQLite's busy handler and its lock retries do.
#[derive(Debug)]
struct Counting {
    clock: VirtualClock,
    naps: AtomicU64,
}

impl Clock for Counting {
    fn now(&self) -> Moment {
        self.clock.now()
    }
    fn sleep_until(&self, moment: Moment) {
        self.clock.sleep_until(moment);
    }
    fn timestamp(&self, moment: Moment) -> Timestamp {
        self.clock.timestamp(moment)
    }
    fn kind(&self) -> &'static str {
        self.clock.kind()
    }
    fn sleep(&self, wait: Duration) {
        self.naps.fetch_add(1, Ordering::Relaxed);
        self.clock.sleep(wait);
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

fn counter(readings: &[plimsoll_measurement::Reading], metric: Counter) -> f64 {
    readings.iter().find(|reading| reading.metric == metric).unwrap().value
}

/// Rows of each writer, apart from all others'.
fn change(session: &mut dyn Session, writer: i32, step: i32) -> plimsoll_engine::Result<()> {
    let row = Value::Int(1 + writer * 1000 + step * 37 % 1000);
    let update = "UPDATE t SET Number = ?1 WHERE RowId = ?2";
    if step % 3 == 0 {
        session.execute("BEGIN IMMEDIATE", &[])?;
        session.execute(update, &[Value::BigInt(i64::from(step)), row])?;
        session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[row])?;
        session.execute("COMMIT", &[])?;
    } else {
        session.execute(update, &[Value::BigInt(i64::from(step)), row])?;
        session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[row])?;
    }
    Ok(())
}

#[test]
fn eight_writers_are_served_in_order_without_polling_and_share_the_log() {
    let clock = Arc::new(Counting { clock: VirtualClock::new(), naps: AtomicU64::new(0) });
    let bench = Bench::on(HARDWARE, "lab:test.toml?scale=1", Arc::clone(&clock) as _);
    load(bench.session().as_mut(), "t", 9000, 400);
    bench.session().query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap();
    let naps = clock.naps.load(Ordering::Relaxed);
    let before = bench.lab.process_sampler().unwrap().sample().unwrap();
    let (start, order) = (bench.seconds(), Mutex::new(Vec::new()));
    let jobs = (0..8).map(|writer| {
        let (mut session, order, clock) = (bench.session(), &order, &bench.clock);
        let until = clock.now().after(Duration::from_mins(2));
        let work = move || {
            let mut steps = 0;
            while clock.now() < until {
                steps += 1;
                change(session.as_mut(), writer, steps).unwrap();
                order.lock().unwrap().push(writer);
            }
            let waited = counter(&session.sample().unwrap(), Counter::LockWaitSeconds);
            (steps, waited)
        };
        (format!("writer {writer}"), work)
    });
    let outcomes: Vec<(i32, f64)> =
        in_threads(&bench.clock, jobs.collect()).into_iter().map(|outcome| outcome.unwrap()).collect();
    let seconds = bench.seconds() - start;
    let after = bench.lab.process_sampler().unwrap().sample().unwrap();
    let grown = |metric| counter(&after, metric) - counter(&before, metric);
    let share = grown(Counter::LogWriteBytes) / seconds / f64::from(75 << 10);
    let steps: i32 = outcomes.iter().map(|(steps, _)| steps).sum();
    println!("{:.0} transactions a second, the log at {share:.4}", f64::from(steps) / seconds);
    // One writer at a time that kept the turn until its log is durable would come to 250 a second at the most, and the log
    // to a half. The governor is what limits here.
    assert!((0.94..1.001).contains(&share), "{share}");
    assert!(f64::from(steps) / seconds > 100.0, "{steps}");
    // Nobody slept while others worked: neither a busy handler nor the retries of SQLite's locks.
    assert_eq!(clock.naps.load(Ordering::Relaxed), naps);
    // Who asks first is served first: all come equally far.
    let (least, most) =
        (outcomes.iter().map(|(steps, _)| *steps).min(), outcomes.iter().map(|(steps, _)| *steps).max());
    assert!((most.unwrap() - least.unwrap()) * 200 <= least.unwrap(), "{outcomes:?}");
    let order = order.into_inner().unwrap();
    let gap = |writer: i32| {
        let turns: Vec<usize> = order.iter().enumerate().filter(|(_, who)| **who == writer).map(|(at, _)| at).collect();
        turns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
    };
    assert!((0..8).all(|writer| gap(writer) <= 16), "{:?}", (0..8).map(gap).collect::<Vec<_>>());
    // The wait for the log comes after the turn: hardly anybody waits for the turn itself, and what there is, is said.
    let waited: f64 = outcomes.iter().map(|(_, waited)| waited).sum();
    assert!((grown(Counter::LockWaitSeconds) - waited).abs() < 1e-6, "{waited}");
    assert!(grown(Counter::LogRateGovernorWaitSeconds) > 0.8 * 8.0 * seconds);
}

#[test]
fn a_transaction_that_takes_its_time_makes_others_wait_for_the_lock() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 9000, 10);
    let (mut first, mut second) = (bench.session(), bench.session());
    let clock = &bench.clock;
    let holder = move || {
        first.execute("BEGIN IMMEDIATE", &[]).unwrap();
        first.execute("UPDATE t SET Number = 1 WHERE RowId = 1", &[]).unwrap();
        clock.sleep(Duration::from_secs(7));
        first.execute("COMMIT", &[]).unwrap();
        0.0
    };
    let waiter = move || {
        clock.sleep(Duration::from_secs(1));
        second.execute("UPDATE t SET Number = Number + 1 WHERE RowId = 1", &[]).unwrap();
        assert_eq!(second.query_count("SELECT Number FROM t WHERE RowId = 1", &[]).unwrap(), 2);
        counter(&second.sample().unwrap(), Counter::WriteTurnWaitSeconds)
    };
    let holder: Box<dyn FnOnce() -> f64 + Send> = Box::new(holder);
    let outcomes = in_threads(clock, vec![("holder".to_owned(), holder), ("waiter".to_owned(), Box::new(waiter))]);
    let waited: Vec<f64> = outcomes.into_iter().map(|outcome| outcome.unwrap()).collect();
    assert!((6.0..6.1).contains(&waited[1]), "{waited:?}");
    let readings = bench.lab.process_sampler().unwrap().sample().unwrap();
    assert!((counter(&readings, Counter::WriteTurnWaitSeconds) - waited[1]).abs() < 1e-9);
}

#[test]
fn a_snapshot_that_is_older_than_the_last_commit_can_not_write() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 900, 10);
    let (mut first, mut second) = (bench.session(), bench.session());
    first.execute("BEGIN", &[]).unwrap();
    first.query_count("SELECT Number FROM t WHERE RowId = 1", &[]).unwrap();
    second.execute("UPDATE t SET Number = 1 WHERE RowId = 1", &[]).unwrap();
    // That is SQLite's rule; the turn that was taken for it is given back with the transaction.
    let refused = first.execute("UPDATE t SET Number = 2 WHERE RowId = 1", &[]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Busy);
    first.execute("ROLLBACK", &[]).unwrap();
    second.execute("UPDATE t SET Number = 3 WHERE RowId = 1", &[]).unwrap();
}

#[test]
fn a_session_that_panics_in_a_transaction_leaves_the_turn_and_the_clock() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 9000, 10);
    let jobs = (0..6).map(|writer| {
        let mut session = bench.session();
        let work = move || {
            for step in 1..50 {
                change(session.as_mut(), writer, step).unwrap();
                if step == 10 && writer == 2 {
                    session.execute("BEGIN IMMEDIATE", &[]).unwrap();
                    session.execute("UPDATE t SET Number = -1 WHERE RowId < 1000", &[]).unwrap();
                    panic!("in the midst of a transaction");
                }
                if step == 20 && writer == 3 {
                    // In the midst of a statement, from what takes its rows.
                    session.execute("BEGIN IMMEDIATE", &[]).unwrap();
                    let types = [plimsoll_engine::ColumnType::BigInt];
                    let rows = &mut |_: &mut plimsoll_engine::Row| panic!("in the midst of a statement");
                    session
                        .query("UPDATE t SET Number = -1 WHERE RowId < 9 RETURNING Number", &[], &types, rows)
                        .unwrap();
                }
            }
        };
        (format!("writer {writer}"), work)
    });
    let outcomes = in_threads(&bench.clock, jobs.collect());
    let panicked: Vec<bool> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(panicked, [false, false, true, true, false, false]);
    let mut session = bench.session();
    assert_eq!(session.query_count("SELECT count(*) FROM t WHERE Number = -1", &[]).unwrap(), 0);
    session.execute("UPDATE t SET Number = 5 WHERE RowId = 1", &[]).unwrap();
}

#[test]
fn a_session_that_is_dropped_in_a_transaction_leaves_the_turn() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 900, 10);
    let mut first = bench.session();
    first.execute("BEGIN IMMEDIATE", &[]).unwrap();
    first.execute("UPDATE t SET Number = -1", &[]).unwrap();
    drop(first);
    let mut second = bench.session();
    second.execute("UPDATE t SET Number = 5 WHERE RowId = 1", &[]).unwrap();
    assert_eq!(second.query_count("SELECT count(*) FROM t WHERE Number = -1", &[]).unwrap(), 0);
}

#[test]
fn sessions_that_wait_for_each_other_are_told_who_is_parked() {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 900, 10);
    let (mut first, mut second) = (bench.session(), bench.session());
    let clock = &bench.clock;
    let holder = move || {
        first.execute("BEGIN IMMEDIATE", &[]).unwrap();
        // It waits for somebody who waits for it.
        clock.park();
    };
    let waiter = move || {
        clock.sleep(Duration::from_secs(1));
        second.execute("UPDATE t SET Number = 2", &[]).unwrap();
    };
    let holder: Box<dyn FnOnce() + Send> = Box::new(holder);
    let jobs = vec![("the holder".to_owned(), holder), ("the waiter".to_owned(), Box::new(waiter))];
    for outcome in in_threads(clock, jobs) {
        let said = *outcome.unwrap_err().downcast::<String>().unwrap();
        assert!(said.contains("'the holder'") && said.contains("'the waiter'"), "{said}");
    }
    // The turn is free for those who come later.
    bench.session().execute("UPDATE t SET Number = 5 WHERE RowId = 1", &[]).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_session_that_waits_for_another_outside_the_clock_is_reported() {
    let (report, reported) = mpsc::channel();
    let report = Mutex::new(report);
    let on_stall = Box::new(move |said: &str| report.lock().unwrap().send(said.to_owned()).unwrap());
    let watch = Watch { every: Duration::from_millis(5), looks: 4 };
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::with_watch(watch, on_stall));
    let bench = Bench::on(HARDWARE, "lab:test.toml?scale=1", clock);
    load(bench.session().as_mut(), "t", 900, 10);
    let (mut first, mut second) = (bench.session(), bench.session());
    let waiting = move || {
        first.execute("BEGIN IMMEDIATE", &[]).unwrap();
        // In this test what it waits for is the report itself, or it would wait for ever.
        let said = reported.recv().unwrap();
        first.execute("COMMIT", &[]).unwrap();
        said
    };
    let other = move || {
        second.execute("UPDATE t SET Number = 2", &[]).unwrap();
        String::new()
    };
    let waiting: Box<dyn FnOnce() -> String + Send> = Box::new(waiting);
    let jobs = vec![("the waiting session".to_owned(), waiting), ("the other".to_owned(), Box::new(other))];
    let said: Vec<String> = in_threads(&bench.clock, jobs).into_iter().map(|outcome| outcome.unwrap()).collect();
    assert!(said[0].contains("'the waiting session'") && said[0].contains("outside"), "{said:?}");
}
