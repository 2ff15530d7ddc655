//! Samplers of whole servers against servers of our own: what they count, and what they leave out when they can't.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod files;
mod mariadb;
mod postgres;

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{Cancel, ClaimMode, Database, Error, Lease, Sampler, Session, Workspace};
use plimsoll_measurement::{Counter, Reading};

/// A password that must be found nowhere.
const PLANTED: &str = "pl4nted-s3cret";
/// How long something may take to show.
const PATIENCE: Duration = Duration::from_mins(1);
/// A reading takes no longer than this, whatever the server does.
const LONGEST: Duration = Duration::from_secs(12);

const GAUGES: [Counter; 7] = [
    Counter::SessionsOnCpu,
    Counter::SessionsReadingData,
    Counter::SessionsWritingLog,
    Counter::SessionsWaitingForLocks,
    Counter::SessionsWaitingForClients,
    Counter::SessionsAsleep,
    Counter::SessionsWaitingForOthers,
];

fn clock() -> Arc<dyn Clock> {
    Arc::new(RealClock::new())
}

fn value(readings: &[Reading], metric: Counter) -> Option<f64> {
    readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

/// A claimed place and sessions in it.
fn sessions<const N: usize>(database: &dyn Database, name: &str) -> (Box<dyn Lease>, [Box<dyn Session>; N]) {
    let workspace = Workspace::run(name).unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    (lease, std::array::from_fn(|_| database.session(&workspace, &workspace).unwrap()))
}

/// Samples until that is so.
fn until(sampler: &mut dyn Sampler, what: &str, is_so: impl Fn(&[Reading]) -> bool) -> Vec<Reading> {
    let start = Instant::now();
    loop {
        let readings = sampler.sample().unwrap();
        if is_so(&readings) {
            return readings;
        }
        assert!(start.elapsed() < PATIENCE, "{what} never came: {readings:?}");
        // MariaDB's INNODB_TRX stays as it is for whoever reads it again within a tenth of a second.
        thread::sleep(Duration::from_millis(250));
    }
}

/// Runs a statement in a thread until it is cancelled.
struct Busy {
    cancel: Arc<dyn Cancel>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Busy {
    fn with(mut session: Box<dyn Session>, sql: &str) -> Self {
        let (cancel, sql) = (session.canceller(), sql.to_owned());
        let work = move || {
            let _ = session.execute(&sql, &[]);
        };
        Self { cancel, thread: Some(thread::spawn(work)) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            self.cancel.cancel();
            thread::sleep(Duration::from_millis(50));
        }
        let _ = thread.join();
    }
}

/// Ends what works beside a test, also where the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An error in time that tells no password.
fn fails(sampler: &mut dyn Sampler) -> Error {
    let start = Instant::now();
    let error = sampler.sample().unwrap_err();
    assert!(start.elapsed() < LONGEST, "{:?}: {error:?}", start.elapsed());
    assert!(!format!("{error:?}{error}").contains(PLANTED), "{error:?}");
    error
}

/// Samples until the server is back.
fn recovers(sampler: &mut dyn Sampler) -> Vec<Reading> {
    let start = Instant::now();
    loop {
        match sampler.sample() {
            Ok(readings) => return readings,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error:?}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Stops a process, and returns when all of its threads stand still; or lets it go on.
fn stop(pid: &str, is_stopped: bool) {
    let name = if is_stopped { "-STOP" } else { "-CONT" };
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
    let stands = |task: std::io::Result<fs::DirEntry>| {
        let stat = fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, fields)| fields.starts_with('T'))
    };
    while is_stopped && !fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(stands) {
        thread::sleep(Duration::from_millis(5));
    }
}
