//! Programs whose CPU time is measured from the first to the last moment of their process, and runs of ours among them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_measurement::RunRecord;

/// What a program printed, and what it cost.
#[derive(Debug)]
pub struct Ended {
    /// Its standard output.
    pub output: String,
    /// Its CPU time in user mode, seconds.
    pub user: f64,
    /// Its CPU time in the system, seconds.
    pub system: f64,
}

impl Ended {
    /// All its CPU time, seconds.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Runs a program to its end. One at a time: the system adds up what those cost that have ended.
pub fn measured(command: &mut Command) -> Result<Ended, String> {
    let before = ended_so_far()?;
    let program = command.get_program().display().to_string();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("could not start {program}: {error}"))?;
    let after = ended_so_far()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} failed: {}{}", said.trim(), String::from_utf8_lossy(&output.stdout).trim()));
    }
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Ended { output, user: after.0 - before.0, system: after.1 - before.1 })
}

fn ended_so_far() -> Result<(f64, f64), String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("no CPU times: {error}"))?;
    let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    Ok((seconds(usage.user_time()), seconds(usage.system_time())))
}

/// How our own program is run.
#[derive(Debug)]
pub struct Ours {
    /// The program.
    pub program: PathBuf,
    /// Where it works against.
    pub target: String,
    /// Folder of its store.
    pub folder: PathBuf,
}

impl Ours {
    /// One repetition of a shipped example with these parameters.
    pub fn command(&self, root: &Path, example: &str, parameters: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").arg(root.join("examples").join(example)).args(["--target", &self.target]);
        command.args(["--repetitions", "1", "--json", "--quiet"]).arg("--store").arg(self.folder.join("runs.db"));
        for parameter in parameters {
            command.args(["--set", parameter]);
        }
        command
    }
}

/// The record that a run printed.
pub fn record(output: &str) -> Result<RunRecord, String> {
    let line = output.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|error| format!("the run's record can't be read: {error}"))
}

/// Requests that were answered in a run.
pub fn answered(record: &RunRecord) -> u64 {
    record.repetitions.iter().flat_map(|repetition| &repetition.requests).map(|kind| kind.operations).sum()
}
