//! The stall test: every server process that serves us is frozen for half a second in a run at a fixed rate. What the
//! percentiles have to show follows from the schedule and the stall; a closed loop does not show it.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_measurement::LatencyHistogramData;
use plimsoll_measurement::RunRecord;
use plimsoll_testbed::Postgres;
use rustix::process::{Pid, Signal, kill_process};

use crate::child::{Ours, answered, measured, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

const SECONDS: f64 = 10.0;
const RATE: f64 = 1000.0;
const STALL: Duration = Duration::from_millis(500);
/// How far the percentile may be from the expected one, beside the drain.
const TOLERANCE: f64 = 0.05;
/// What a closed loop shows at most, milliseconds.
const CLOSED_MS: f64 = 50.0;

/// Runs the test; the outcome is an error if the percentiles are not as they have to be.
pub fn stall() -> Outcome {
    tasks::provide_postgresql()?;
    let program = tasks::released()?;
    let held = test(program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if held { Ok(()) } else { Err(1) }
}

fn test(program: std::path::PathBuf) -> Result<bool, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let server = Postgres::builder().trusting(true).start().map_err(|error| said(&error))?;
    let folder = tempfile::tempdir().map_err(|error| said(&error))?;
    server
        .psql("CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, abalance int NOT NULL)")
        .and_then(|_| server.psql("INSERT INTO pgbench_accounts SELECT n, 0 FROM generate_series(1, 100000) n"))
        .and_then(|_| server.psql("VACUUM FREEZE ANALYZE"))
        .map_err(|error| said(&error))?;
    let target = format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", server.superuser(), server.port());
    let ours = Ours { program, target, folder: folder.path().to_owned() };
    let (open, stalled) = run_with_stall(&server, &ours, &[format!("rate={RATE}")])?;
    let (closed, stalled_closed) = run_with_stall(&server, &ours, &[])?;
    // Those that were due in the first part of the stall are later than this; they are one in a hundred.
    let part = 0.01 * SECONDS;
    let expected_ms = (stalled - part) * 1e3;
    let capacity = answered(&closed) as f64 / (SECONDS - stalled_closed);
    let drain_ms = part * RATE / capacity * 1e3;
    let corrected = p99(&open, false).ok_or("no corrected times")?;
    let uncorrected = p99(&open, true).ok_or("no uncorrected times")?;
    let in_closed_loop = p99(&closed, false).ok_or("no times of the closed loop")?;
    let holds = (corrected - expected_ms).abs() <= TOLERANCE * expected_ms + drain_ms && in_closed_loop < CLOSED_MS;
    say(&format!(
        "frozen for {:.0} ms in {SECONDS} s at {RATE}/s\n\
         p99 expected              {expected_ms:8.1} ms, and {drain_ms:.1} ms for the drain\n\
         p99 corrected             {corrected:8.1} ms\n\
         p99 from the real start   {uncorrected:8.1} ms\n\
         p99 of a closed loop      {in_closed_loop:8.1} ms (frozen for {:.0} ms)\n\
         {}\n",
        stalled * 1e3,
        stalled_closed * 1e3,
        if holds { "holds" } else { "missed" }
    ));
    Ok(holds)
}

/// A run in the middle of which the server's processes are frozen; returns its record and for how many seconds.
fn run_with_stall(server: &Postgres, ours: &Ours, parameters: &[String]) -> Result<(RunRecord, f64), String> {
    let mut parameters = parameters.to_vec();
    parameters.extend(["scale=1", "sessions=8"].map(str::to_owned));
    parameters.push(format!("duration={SECONDS}s"));
    let mut command = ours.command(&tasks::root(), "pgbench-select.toml", &parameters);
    command.stdin(Stdio::null());
    std::thread::scope(|scope| {
        let run = scope.spawn(move || measured(&mut command));
        let frozen = freeze(server);
        let ended = run.join().map_err(|_| "the run's thread panicked".to_owned())??;
        Ok((record(&ended.output)?, frozen?))
    })
}

/// Waits until requests are made, and freezes those who answer them.
fn freeze(server: &Postgres) -> Result<f64, String> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'plimsoll work %' AND query LIKE 'SELECT abalance%'";
    let begun = Instant::now();
    let processes = loop {
        let answer = server.psql(sql).map_err(|error| error.to_string())?;
        let found: Vec<Pid> = answer.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect();
        if found.len() == 8 {
            break found;
        }
        if begun.elapsed() > Duration::from_mins(1) {
            return Err("the run made no requests".to_owned());
        }
        sleep(Duration::from_millis(100));
    };
    sleep(Duration::from_secs(3));
    let all = |signal: Signal| -> Result<(), String> {
        processes.iter().try_for_each(|process| kill_process(*process, signal)).map_err(|error| error.to_string())
    };
    let start = Instant::now();
    all(Signal::STOP)?;
    sleep(STALL);
    let thawed = all(Signal::CONT);
    thawed.map(|()| start.elapsed().as_secs_f64())
}

/// The 99th percentile of all kinds in milliseconds, from the intended or from the real start.
fn p99(record: &RunRecord, from_real_start: bool) -> Option<f64> {
    let kinds = record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    let times =
        kinds.filter_map(|kind| if from_real_start { kind.times_uncorrected.as_ref() } else { Some(&kind.times) });
    LatencyHistogramData::merged(times).percentile_us(99.0).map(|us| us / 1e3)
}
