//! Restarting a server by a command of its user's.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_clock::Clock;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::database::ColdFollower;
use crate::error::{Error, ErrorKind, Result};

/// How long the command may take, and then the server to answer.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(100);
/// How much of the command's last line an error quotes.
const LINE_CHARACTERS: usize = 200;

/// Runs the command, waits until a server answers that was started since, and tells the follower. `started_at` asks the
/// server when it was started, in its own words.
pub(crate) fn restart(
    command: &str,
    clock: &dyn Clock,
    follower: &mut dyn ColdFollower,
    started_at: impl Fn() -> Result<String>,
) -> Result<()> {
    let before = started_at()?;
    run(command, clock, follower)?;
    let give_up = clock.now().after(PATIENCE);
    loop {
        let failure = match started_at() {
            Ok(started) if started != before => return follower.restarted(),
            Ok(_) => Error::new(ErrorKind::Statement, "the restart command ended and the server was not restarted")
                .hint("the command has to restart the server whose URL is given, and return when it is up"),
            Err(error) => error,
        };
        if clock.now() >= give_up {
            return Err(failure);
        }
        follower.check()?;
        clock.sleep(PAUSE);
    }
}

fn run(command: &str, clock: &dyn Clock, follower: &mut dyn ColdFollower) -> Result<()> {
    let failed = |what: String| {
        Error::new(ErrorKind::Statement, format!("the restart command failed: {what}"))
            .hint("run it by hand in a shell, as the same user and without a terminal")
    };
    // A file and not a pipe: the server that the command starts may keep it open for as long as it lives.
    let output =
        memfd_create("restart", MemfdFlags::CLOEXEC).map(File::from).map_err(|error| failed(error.to_string()))?;
    let copy = || output.try_clone().map(Stdio::from).map_err(|error| failed(error.to_string()));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(copy()?).stderr(copy()?);
    let mut child = shell.spawn().map_err(|error| failed(error.to_string()))?;
    let give_up = clock.now().after(PATIENCE);
    let failure = loop {
        match child.try_wait().map_err(|error| failed(error.to_string()))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(failed(last_line(output).unwrap_or_else(|| status.to_string()))),
            None if clock.now() >= give_up => break failed(format!("it has not ended after {} s", PATIENCE.as_secs())),
            None => {
                if let Err(error) = follower.check() {
                    break error;
                }
                clock.sleep(PAUSE);
            }
        }
    };
    // It is of no use any more; whether it can be stopped changes nothing.
    let _ = child.kill();
    let _ = child.wait();
    Err(failure)
}

/// The last line that a command wrote, if it wrote any.
fn last_line(mut output: File) -> Option<String> {
    let mut text = Vec::new();
    output.rewind().ok()?;
    output.read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.trim_end_matches('.').chars().take(LINE_CHARACTERS).collect())
}
