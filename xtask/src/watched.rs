//! What `plimsoll watch` costs a PostgreSQL that knows 5,000 statements: the CPU time of the sessions that it reads by, how long its questions
//! take and how many connections it has, at slots of a minute; and at slots of six seconds the throughput that is left, in interleaved pairs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plimsoll_testbed::Postgres;

use crate::child::{Ours, answered, measured, record};
use crate::pairs::{Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// How many statements the server knows, of so many columns: each compares two of them.
const STATEMENTS: usize = 5_000;
const COLUMNS: usize = 72;
/// How long the cost is measured.
const MINUTES: u64 = 4;
/// Pairs of runs, and seconds of a run.
const PAIRS: u32 = 20;
const SECONDS: u32 = 12;
/// Who watches.
const WATCHER: &str = "watcher";
/// The bars: percent of a core, milliseconds at the 99th percentile, connections, and the part of the throughput that is left.
const MOST_CORE_PERCENT: f64 = 0.5;
const MOST_P99_MS: f64 = 200.0;
const MOST_CONNECTIONS: usize = 2;
const LEAST_LEFT: f64 = 0.95;

/// Measures; an error if a bar does not hold.
pub fn watched(arguments: &[&str]) -> Outcome {
    let program = match arguments {
        [] => tasks::released()?,
        ["--program", program] => PathBuf::from(program),
        _ => {
            complain("cargo xtask watched [--program FILE]");
            return Err(tasks::USAGE);
        }
    };
    tasks::provide_postgresql()?;
    let holds = measure(&program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if holds { Ok(()) } else { Err(1) }
}

fn said(error: &dyn std::fmt::Display) -> String {
    error.to_string()
}

fn measure(program: &Path) -> Result<bool, String> {
    let builder = Postgres::builder().trusting(true).shared_buffers_mb(256).durable(true);
    let builder = builder.setting("shared_preload_libraries", "pg_stat_statements");
    let builder = builder.setting("pg_stat_statements.max", "10000").setting("log_line_prefix", "%u|");
    let server = builder.start().map_err(|error| said(&error))?;
    let columns: Vec<String> = (0..COLUMNS).map(|number| format!("c{number} int")).collect();
    let tables = [
        "CREATE EXTENSION pg_stat_statements".to_owned(),
        format!("CREATE TABLE wide ({})", columns.join(", ")),
        "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, abalance int)".to_owned(),
        "INSERT INTO pgbench_accounts SELECT n, 0 FROM generate_series(1, 100000) n".to_owned(),
        "VACUUM ANALYZE".to_owned(),
        format!("CREATE ROLE {WATCHER} LOGIN; GRANT pg_read_all_stats TO {WATCHER}"),
        format!("ALTER ROLE {WATCHER} SET log_min_duration_statement = 0"),
    ];
    for table in &tables {
        server.psql(table).map_err(|error| said(&error))?;
    }
    let folder = tempfile::tempdir().map_err(|error| said(&error))?;
    let all = folder.path().join("statements.sql");
    fs::write(&all, statements()).map_err(|error| said(&error))?;
    let cost = cost(program, &server, &all, folder.path())?;
    let left = left(program, &server, folder.path())?;
    let is_cheap = cost.core_percent <= MOST_CORE_PERCENT
        && cost.p99_ms <= MOST_P99_MS
        && cost.connections <= MOST_CONNECTIONS
        && cost.known >= STATEMENTS;
    let holds = is_cheap && left.median >= LEAST_LEFT;
    say(&format!(
        "{} statements known, slots of a minute, sessions looked at once a second, {MINUTES} minutes:\n  \
         {:.3} % of a core at the server (bar {MOST_CORE_PERCENT}), {} connections (bar {MOST_CONNECTIONS})\n  \
         {} questions: median {:.2} ms, p99 {:.2} ms, longest {:.1} ms (bar of p99 {MOST_P99_MS})\n\
         slots of six seconds: throughput with a watch over that without, {PAIRS} pairs of {SECONDS} s: {} (bar {LEAST_LEFT})\n{}\n",
        cost.known,
        cost.core_percent,
        cost.connections,
        cost.questions,
        cost.median_ms,
        cost.p99_ms,
        cost.longest_ms,
        left.words(4),
        if holds { "holds" } else { "missed" }
    ));
    Ok(holds)
}

/// Statements that differ in more than their values: each compares another pair of columns.
fn statements() -> String {
    let pairs = (0..COLUMNS).flat_map(|a| (0..COLUMNS).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let mut text = String::new();
    for (a, b) in pairs.take(STATEMENTS) {
        let _ = writeln!(text, "SELECT count(*) FROM wide WHERE c{a} = c{b};");
    }
    text
}

struct Cost {
    known: usize,
    core_percent: f64,
    connections: usize,
    questions: usize,
    median_ms: f64,
    p99_ms: f64,
    longest_ms: f64,
}

/// Watches while all the statements run again and again, and adds up what the watching sessions used, by the kernel's count of each process.
fn cost(program: &Path, server: &Postgres, all: &Path, folder: &Path) -> Result<Cost, String> {
    let mut loading = server.client("postgres");
    let again = format!("for i in $(seq 100000); do cat {} || exit; sleep 5; done", all.display());
    let mut feeder =
        Command::new("sh").args(["-c", &again]).stdout(Stdio::piped()).spawn().map_err(|error| said(&error))?;
    let statements = feeder.stdout.take().ok_or("no statements")?;
    let loading = loading.args(["--quiet", "--tuples-only"]).stdin(Stdio::from(statements)).stdout(Stdio::null());
    let mut loading = Killed(loading.spawn().map_err(|error| said(&error))?);
    let _feeder = Killed(feeder);
    let begin = Instant::now();
    let mut watching = Killed(watch(program, server, folder, "60s", &format!("{MINUTES}m"))?);
    let (mut used, mut connections) = (BTreeMap::new(), 0);
    while watching.0.try_wait().map_err(|error| said(&error))?.is_none() {
        if loading.0.try_wait().map_err(|error| said(&error))?.is_some() {
            return Err("the load ended".to_owned());
        }
        let of_watcher = format!("SELECT pid FROM pg_stat_activity WHERE usename = '{WATCHER}'");
        let pids = server.psql(&of_watcher).map_err(|error| said(&error))?;
        connections = connections.max(pids.lines().count());
        for pid in pids.lines() {
            if let Some(nanoseconds) = cpu_ns(pid) {
                used.insert(pid.to_owned(), nanoseconds);
            }
        }
        sleep(Duration::from_millis(500));
    }
    let seconds = begin.elapsed().as_secs_f64();
    let known = server.psql("SELECT count(*) FROM pg_stat_statements").map_err(|error| said(&error))?;
    let mut times = durations(&server.log());
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times.get(((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1))).copied();
    Ok(Cost {
        known: known.trim().parse().map_err(|_| format!("{known} is no number of statements"))?,
        core_percent: used.values().sum::<u64>() as f64 / 1e9 / seconds * 100.0,
        connections,
        questions: times.len(),
        median_ms: at(0.5).ok_or("no question was logged")?,
        p99_ms: at(0.99).ok_or("no question was logged")?,
        longest_ms: at(1.0).ok_or("no question was logged")?,
    })
}

/// A program that ends with us.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn watch(program: &Path, server: &Postgres, folder: &Path, every: &str, time: &str) -> Result<Child, String> {
    let url = format!("postgres://{WATCHER}@127.0.0.1:{}/postgres?sslmode=disable", server.port());
    let mut command = Command::new(program);
    command.args(["watch", &url, "--every", every, "--for", time, "--json", "--quiet", "--store"]);
    command.arg(folder.join("watched.db")).stdout(Stdio::null()).stdin(Stdio::null());
    command.spawn().map_err(|error| format!("the watch can't be started: {error}"))
}

/// CPU time of a process, in nanoseconds (the first figure of `/proc/PID/schedstat`).
fn cpu_ns(pid: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The times in milliseconds that the server logged of what the watcher asked. What prepares a question takes next to nothing, and would hide it.
fn durations(log: &str) -> Vec<f64> {
    let begin = format!("{WATCHER}|");
    let is_run = |line: &&str| line.contains(" ms  execute ") || line.contains(" ms  statement: ");
    let of_watcher = log.lines().filter(|line| line.starts_with(&begin)).filter(is_run);
    let times = of_watcher.filter_map(|line| line.split_once("duration: ")?.1.split_whitespace().next()?.parse().ok());
    times.collect()
}

/// The part of the throughput that is left beside a watch with ten times as many slots.
fn left(program: &Path, server: &Postgres, folder: &Path) -> Result<Ratio, String> {
    let target = format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", server.superuser(), server.port());
    let ours = Ours { program: program.to_owned(), target, folder: folder.to_owned() };
    let run = |is_watched: bool| {
        // The watch begins before the run and ends after it.
        let watching = is_watched.then(|| watch(program, server, folder, "6s", "1h")).transpose()?.map(Killed);
        sleep(Duration::from_secs(1));
        let parameters = ["sessions=8".to_owned(), format!("duration={SECONDS}s")];
        let mut command = ours.command(&tasks::root(), "pgbench-select.toml", &parameters);
        let made = answered(&record(&measured(&mut command)?.output)?) as f64;
        drop(watching);
        Ok(made)
    };
    let (with, without) = interleaved(PAIRS, run, |pair, _, _| complain(&format!("pair {pair} of {PAIRS}")))?;
    Ratio::of(&with, &without).ok_or_else(|| "no rates".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_many_and_times_are_those_of_the_watcher() {
        let text = statements();
        let all: std::collections::BTreeSet<&str> = text.lines().collect();
        assert_eq!((all.len(), text.lines().count()), (STATEMENTS, STATEMENTS));
        let log = "postgres|LOG:  duration: 7.0 ms  statement: SELECT 1\nwatcher|LOG:  duration: 0.250 ms  execute <unnamed>: SELECT 2\n\
                   watcher|LOG:  connection\nwatcher|LOG:  duration: 1.5 ms  parse <unnamed>: SELECT 3";
        assert_eq!(durations(log), [0.25]);
    }
}
