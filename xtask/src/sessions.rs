//! What a session costs the client in memory: two thousand of them, a thread each, at one request a second each, against a
//! stub that answers canned replies, and two hundred on a real server. No start may be lost.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use plimsoll_testbed::{Postgres, Stub};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::child::{Ours, answered, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

const SECONDS: u32 = 15;
/// The most memory that a session may take, with its stack, its buffers and its part of the recording.
const MOST_KB: f64 = 64.0;
const FEW: u32 = 20;
const MANY_STUB: u32 = 2_000;
const MANY_REAL: u32 = 200;

/// Two kinds of requests.
const DEFINITION: &str = r#"
name = "sessions"
title = "Many sessions with little to do"
steps = ["requests"]
existing = true

[[request]]
name = "balance"
statements = ["SELECT abalance FROM accounts WHERE aid = :aid"]
parameters = { aid = { uniform = [1, 1000] } }

[[request]]
name = "branch"
statements = ["SELECT bid FROM accounts WHERE aid = :aid"]
parameters = { aid = { uniform = [1, 1000] } }
"#;

/// Runs the test; the outcome is an error if a session takes too much or a start is lost.
pub fn sessions() -> Outcome {
    tasks::provide_postgresql()?;
    let program = tasks::released()?;
    let held = test(&program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if held { Ok(()) } else { Err(1) }
}

fn test(program: &Path) -> Result<bool, String> {
    // Both ends of every connection to the stub are in processes of ours.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).map_err(|error| format!("no more open files may be had: {error}"))?;
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let server =
        Postgres::builder().trusting(true).setting("max_connections", "300").start().map_err(|error| said(&error))?;
    server
        .psql("CREATE TABLE accounts (aid int PRIMARY KEY, bid int NOT NULL, abalance int NOT NULL)")
        .and_then(|_| server.psql("INSERT INTO accounts SELECT n, 1, 0 FROM generate_series(1, 1000) n"))
        .map_err(|error| said(&error))?;
    let stub = Stub::start(server.port()).map_err(|error| said(&error))?;
    let folder = tempfile::tempdir().map_err(|error| said(&error))?;
    let definition = folder.path().join("sessions.toml");
    fs::write(&definition, DEFINITION).map_err(|error| said(&error))?;
    let mut held = true;
    for (name, port, many) in [("stub", stub.port(), MANY_STUB), ("real server", server.port(), MANY_REAL)] {
        let target = format!("postgres://{}@127.0.0.1:{port}/postgres?sslmode=disable", server.superuser());
        let ours = Ours { program: program.to_owned(), target, folder: folder.path().to_owned() };
        let few = peak(&ours, &definition, FEW)?;
        let (peak_many, made) = peak(&ours, &definition, many)?;
        let each = (peak_many - few.0) / f64::from(many - FEW);
        let due = u64::from(many * SECONDS);
        held &= each <= MOST_KB && made == due;
        say(&format!(
            "{name}: {many} sessions, {each:.1} KB each (bar {MOST_KB:.0}; {peak_many:.0} KB with {many}, {:.0} with {FEW}), \
             {made} of {due} requests made\n",
            few.0
        ));
    }
    say(if held { "holds\n" } else { "missed\n" });
    Ok(held)
}

/// A run's largest resident memory in KB, and how many requests were answered.
fn peak(ours: &Ours, definition: &Path, sessions: u32) -> Result<(f64, u64), String> {
    let parameters =
        [format!("sessions={sessions}"), format!("rate={sessions}"), format!("duration={SECONDS}s")].map(String::from);
    let mut command = ours.command(Path::new(""), &definition.to_string_lossy(), &parameters);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| format!("the run can't be started: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut peak: f64 = 0.0;
        // A process that has ended has no memory any more.
        while let Some(now) = fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
            peak = peak.max(now);
            sleep(Duration::from_millis(100));
        }
        peak
    });
    let output = child.wait_with_output().map_err(|error| format!("the run can't be waited for: {error}"))?;
    let peak = watch.join().map_err(|_| "the watching thread panicked".to_owned())?;
    if !output.status.success() {
        return Err(format!("the run failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok((peak, answered(&record(&String::from_utf8_lossy(&output.stdout))?)))
}

/// The largest resident memory that a process's status tells of, in KB.
fn high_water(status: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
}
