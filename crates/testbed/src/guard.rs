//! The guard: a process that outlives ours by a moment, to stop the server and remove its directory.
//!
//! It waits for the end of a pipe that only we hold open, so it notices every kind of end: drop, panic, `exit`, SIGKILL.
//! A parent-death signal would be tied to the thread that started the server, and be lost when the server is restarted by
//! somebody else.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::TestbedError;
use crate::account::{Account, command_as};

/// `$1` is the server's directory, `$2` a program that stops it.
const BEGIN: &str = "cat >/dev/null\n";
const END: &str = "\nrm -rf \"$1\" 2>/dev/null\n:";

/// Holds the pipe; dropped, the server is stopped and its directory removed before `drop` returns.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    /// Starts to watch over a directory that need not hold a server yet. `stop` is what a shell does to stop it, with the
    /// directory as `$1` and `program` as `$2`.
    pub(crate) fn new(
        account: Option<Account>,
        stop: &str,
        program: &Path,
        directory: &Path,
    ) -> Result<Self, TestbedError> {
        let child = command_as(account, "sh")
            .args(["-c", &format!("{BEGIN}{stop}{END}"), "guard"])
            .args([directory, program])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A process group of its own: Ctrl-C in the terminal ends the tests, not their guard.
            .process_group(0)
            .spawn()
            .map_err(TestbedError::io("start the guard of the server"))?;
        Ok(Self(child))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Nobody is left to hear of a failure; the guard wrote to standard error what it couldn't do.
        let _ = self.0.wait();
    }
}
