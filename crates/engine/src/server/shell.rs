//! Commands of the user's own, run by the shell: to their end, with patience, and ended by an interrupt.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use plimsoll_clock::Clock;

use super::guarded::Guarded;
use crate::error::{Error, ErrorKind, Result};
use crate::foreign::masked;
use crate::process::{self, limited_memory_file};

const PAUSE: Duration = Duration::from_millis(100);
/// How much of the command's last line an error quotes.
const LINE_CHARACTERS: usize = 200;

/// A command, and how it is run.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    /// What errors call it: `restart command`.
    pub name: &'static str,
    /// The words for the shell.
    pub command: &'a str,
    /// A variable of its environment.
    pub variable: Option<(&'static str, &'a str)>,
    /// How long it may take.
    pub patience: Duration,
    /// True if whatever it has started ends with it; a server that it starts must live on.
    pub ends_all: bool,
    /// True if what it prints is a secret, which no error repeats.
    pub is_secret: bool,
}

/// Secrets of ours in the environment: a server that a command starts would keep them for as long as it lives. Variables of an
/// engine's own tools are left, as the user's command may need them.
const SECRETS: [&str; 2] = ["PLIMSOLL_PASSWORD", "PLIMSOLL_ACCESS_TOKEN"];
/// Bytes that a command, and what it leaves running, may print.
const MOST_OUTPUT: u64 = 1 << 20;

impl<'a> Script<'a> {
    /// A command of that name that ends with whatever it has started, and prints no secret.
    pub const fn new(name: &'static str, command: &'a str, patience: Duration) -> Self {
        Self { name, command, variable: None, patience, ends_all: true, is_secret: false }
    }

    /// Runs it to its end and gives what it wrote. An error of `check`, which is called several times a second, ends it.
    pub fn run(&self, clock: &dyn Clock, check: &mut dyn FnMut() -> Result<()>) -> Result<String> {
        let failed = |what: String| self.failed(&what);
        // A file and not a pipe: the server that the command starts may keep it open for as long as it lives. The system lets nobody
        // write more to it than that.
        let output = limited_memory_file("output", MOST_OUTPUT).map_err(|error| failed(error.to_string()))?;
        let copy = || output.try_clone().map(Stdio::from).map_err(|error| failed(error.to_string()));
        let mut shell = Command::new("sh");
        shell.args(["-c", self.command]).stdin(Stdio::null()).stdout(copy()?).stderr(copy()?).envs(self.variable);
        for name in SECRETS {
            shell.env_remove(name);
        }
        let mut running = Running::start(&mut shell, self.ends_all).map_err(|error| failed(error.to_string()))?;
        let give_up = clock.now().after(self.patience);
        loop {
            if let Some(status) = running.child().try_wait().map_err(|error| failed(error.to_string()))? {
                // What it has left running on purpose lives on.
                running.ended();
                return self.ended(output, status);
            }
            let is_late = || failed(format!("it has not ended after {} s", self.patience.as_secs()));
            let stopped = if clock.now() >= give_up { Some(is_late()) } else { check().err() };
            if let Some(failure) = stopped {
                running.stop();
                return Err(failure);
            }
            clock.sleep(PAUSE);
        }
    }

    fn failed(&self, what: &str) -> Error {
        Error::new(ErrorKind::Statement, format!("the {} failed: {what}", self.name))
            .hint("run it by hand in a shell, as the same user and without a terminal")
    }

    /// What it has written, or why it failed.
    fn ended(&self, mut output: File, status: ExitStatus) -> Result<String> {
        let written = output.stream_position().unwrap_or(0);
        // A secret at the end of what is cut would be known by its part no more.
        if written >= MOST_OUTPUT && (self.ends_all || !status.success()) {
            return Err(self.failed("it prints more than 1 MB"));
        }
        let text = beginning_of(output, written);
        if status.success() {
            return Ok(text);
        }
        let line = last_line(&text).filter(|_| !self.is_secret);
        Err(self.failed(&line.unwrap_or_else(|| status.to_string())))
    }
}

/// A command that was started.
enum Running {
    /// It ends with us, and with it whatever it has started.
    Guarded(Guarded),
    /// What it starts is to outlive us.
    Free(Child),
}

impl Running {
    fn start(shell: &mut Command, ends_with_us: bool) -> io::Result<Self> {
        if ends_with_us {
            return Guarded::spawn(shell).map(Self::Guarded);
        }
        // Ctrl-C in the terminal is for us.
        process::spawn(shell.process_group(0)).map(Self::Free)
    }

    const fn child(&mut self) -> &mut Child {
        match self {
            Self::Guarded(guarded) => &mut guarded.child,
            Self::Free(child) => child,
        }
    }

    fn ended(self) {
        if let Self::Guarded(guarded) = self {
            guarded.dismiss();
        }
    }

    /// It is of no use any more; whether it can be stopped changes nothing.
    fn stop(self) {
        if let Self::Free(mut child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The first bytes of what a command has written, as text.
fn beginning_of(mut output: File, bytes: u64) -> String {
    let mut text = Vec::new();
    // What can't be read was not said.
    let _ = output.rewind().and_then(|()| output.take(bytes).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// The last line of it without the secrets in use, if there is one.
pub fn last_line(text: &str) -> Option<String> {
    let line = masked(text.lines().rev().map(str::trim).find(|line| !line.is_empty())?);
    Some(line.trim_end_matches('.').chars().take(LINE_CHARACTERS).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plimsoll_clock::RealClock;

    use super::*;
    use crate::target::Secret;

    /// How many processes have this number among their words.
    fn sleepers(number: &str) -> usize {
        let words = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(words);
        processes.filter(|words| words.split(|byte| *byte == 0).any(|word| word == number.as_bytes())).count()
    }

    #[test]
    fn a_command_that_prints_without_end_is_stopped() {
        let script = Script::new("token command", "yes", Duration::from_hours(1));
        let error = script.run(&RealClock::new(), &mut || Ok(())).unwrap_err();
        assert_eq!(error.message, "the token command failed: it prints more than 1 MB");
        let script = Script::new("token command", "echo said; echo more >&2", Duration::from_hours(1));
        assert_eq!(script.run(&RealClock::new(), &mut || Ok(())).unwrap(), "said\nmore\n");
    }

    #[test]
    fn what_a_command_leaves_running_prints_no_more_than_that_into_memory() {
        // It ends by itself where nobody takes what it says.
        let command = "yes restarting 2>&1; echo it ended >&2; true";
        let script = Script { ends_all: false, ..Script::new("restart command", command, Duration::from_hours(1)) };
        let said = script.run(&RealClock::new(), &mut || Ok(())).unwrap();
        assert_eq!(said.len() as u64, MOST_OUTPUT);
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_a_text_is_cut() {
        let _secret = Secret::new("planted-word-8");
        let line = format!("{}planted-word-8", "x".repeat(LINE_CHARACTERS - 4));
        assert!(last_line(&line).is_some_and(|line| line.ends_with("x***")), "{:?}", last_line(&line));
        let command = "head -c 1048570 /dev/zero | tr '\\0' '\\n'; echo planted-word-8; exit 1";
        let script = Script { ends_all: false, ..Script::new("restart command", command, Duration::from_hours(1)) };
        let error = script.run(&RealClock::new(), &mut || Ok(())).unwrap_err();
        assert_eq!(error.message, "the restart command failed: it prints more than 1 MB");
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let clock = RealClock::new();
        // One of a kind: a neighbour may run the same test.
        let number = format!("9{:07}", std::process::id());
        let command = format!("true && (sleep {number}; echo late) | cat");
        let patience = Duration::from_hours(1);
        let name = "level command";
        let script = Script::new(name, &command, patience);
        let stopped = Error::new(ErrorKind::Cancelled, "stopped");
        let mut check = || if sleepers(&number) > 0 { Err(stopped.clone()) } else { Ok(()) };
        assert_eq!(script.run(&clock, &mut check).unwrap_err(), stopped);
        while sleepers(&number) > 0 {
            clock.sleep(PAUSE);
        }
    }
}
