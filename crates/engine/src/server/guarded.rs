//! Programs that end with us, however we end: a signal that nobody can catch leaves none of them behind.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::{self, program};

/// What the guard runs. The shell's `$$` is also the number of the group, which it leads.
const WATCH: &str = "read -r word || kill -s KILL -- \"-$$\"";

/// A program that we have started. Dropped, it ends, and so does whatever it has started in its process group.
///
/// A shell leads the group. It is there before the program is, so that no moment is left in which we could be killed and the
/// program not. It waits for a word, or for the end of a pipe that only we hold: the system closes it when we are gone.
#[derive(Debug)]
pub struct Guarded {
    /// The program.
    pub child: Child,
    guard: Guard,
}

impl Guarded {
    /// Starts a program under guard.
    ///
    /// # Errors
    /// The system's, if the shell or the program can't be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let guard = Guard::start()?;
        let group = i32::try_from(guard.0.id()).map_err(io::Error::other)?;
        let child = process::spawn(command.process_group(group))?;
        Ok(Self { child, guard })
    }

    /// The program has ended, and what it has left running on purpose lives on.
    pub fn dismiss(mut self) {
        self.guard.dismiss();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.guard.end_all();
        // One that has ended already can't be ended again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The shell. Dropped, it ends its group.
#[derive(Debug)]
struct Guard(Child);

impl Guard {
    fn start() -> io::Result<Self> {
        let mut shell = program("sh");
        shell.args(["-c", WATCH, "plimsoll-guard"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C in the terminal is for us, and we end the program.
        process::spawn(shell.process_group(0)).map(Self)
    }

    fn dismiss(&mut self) {
        // If it can't be told, it is gone.
        let _ = self.0.stdin.take().map(|mut pipe| pipe.write_all(b"ended\n"));
        let _ = self.0.wait();
    }

    fn end_all(&mut self) {
        // Once it has been waited for, its number may be another's.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("3600");
        command
    }

    #[test]
    fn a_program_ends_with_this_process() {
        let mut guarded = Guarded::spawn(&mut sleeper()).unwrap();
        // As the system does when we are killed.
        drop(guarded.guard.0.stdin.take());
        assert!(!guarded.child.wait().unwrap().success());
        guarded.guard.0.wait().unwrap();
    }

    #[test]
    fn what_was_left_on_purpose_lives_on() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 3600 & echo $!"]).stdout(Stdio::piped());
        let mut guarded = Guarded::spawn(&mut command).unwrap();
        let mut number = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(guarded.child.stdout.take().unwrap()), &mut number).unwrap();
        guarded.child.wait().unwrap();
        guarded.dismiss();
        let pid = Pid::from_raw(number.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).expect("it is still there");
    }

    #[test]
    fn a_program_that_can_not_be_started_leaves_no_guard() {
        assert_eq!(Guarded::spawn(&mut Command::new("/nowhere/plimsoll")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
