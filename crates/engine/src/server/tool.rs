//! Programs that come with an engine: found by name and version, run to their end, stopped by an interrupt.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::guarded::Guarded;
use crate::confined;
use crate::error::{Error, ErrorKind, Result};
use crate::process::{self, end_of, limited_memory_file};
use crate::target::mask_urls;

/// How often it is asked whether a program has ended, which is how exactly its time is known, and after how many of these
/// its follower may look.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSES: u32 = 10;
/// How much of its complaint is read.
const MOST_COMPLAINT: u64 = 64 * 1024;
/// Bytes that a program may write there: what it says beyond that is lost.
const MOST_WRITTEN: u64 = 16 << 20;

/// Where a program of this name lies: in a folder of `PATH`, else in one of these.
pub fn candidates(name: &str, folders: &[PathBuf]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).chain(folders.iter().cloned());
    all.map(|folder| folder.join(name)).filter(|file| file.is_file()).collect()
}

/// The first of these; the error says which package has it.
pub fn find(name: &str, folders: &[PathBuf], package: &str) -> Result<PathBuf> {
    candidates(name, folders).into_iter().next().ok_or_else(|| missing(name, package))
}

/// What was found by a look for tools, which goes before every move.
pub fn found<T>(tool: Option<&T>) -> Result<&T> {
    tool.ok_or_else(|| Error::new(ErrorKind::Internal, "no tools were looked for"))
}

/// What a program says of its version, in a line.
pub fn version(program: &Path) -> Option<String> {
    version_asked_by(program, &["--version"])
}

/// The same of one that has to be asked by these arguments. Some say it where others complain.
pub fn version_asked_by(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = process::program(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // It ends with us, and here if it says nothing.
    let mut asked = Guarded::spawn(&mut command).ok()?;
    let (out, err) = (asked.child.stdout.take()?, asked.child.stderr.take()?);
    let said = beginning_in_time(out)?;
    let said = if said.is_empty() { beginning_in_time(err)? } else { said };
    let said = said.lines().next()?.trim().to_owned();
    let name = program.file_name()?.to_string_lossy();
    Some(if said.contains(&*name) { said } else { format!("{name} {said}") })
}

/// What a program that is just asked for its version writes, which may be nothing; `None` if it takes too long.
fn beginning_in_time(mut pipe: impl Read + AsFd) -> Option<String> {
    const PATIENCE: Timespec = Timespec { tv_sec: 4, tv_nsec: 0 };
    let mut text = [0; 1024];
    if poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&PATIENCE)).ok()? == 0 {
        return None;
    }
    let length = pipe.read(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text[..length]).into_owned())
}

/// The first number in that, such as 15 of `pg_dump (PostgreSQL) 15.18`.
pub fn major_version(program: &Path) -> Option<u32> {
    let said = version(program)?;
    let digits = said.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
    digits.and_then(|digits| digits.parse().ok())
}

/// The error of a program that isn't there.
pub fn missing(name: &str, package: &str) -> Error {
    Error::new(ErrorKind::ToolMissing, format!("the program {name} is needed and not on this machine"))
        .hint(format!("install {package}, or put the program into a folder of PATH"))
}

/// A file as the input of a program, from its beginning on, or as its output.
pub fn whole(file: &File) -> Result<Stdio> {
    let failed = |error| Error::new(ErrorKind::Internal, format!("a file can't be handed to a program: {error}"));
    let mut copy = file.try_clone().map_err(failed)?;
    copy.rewind().map_err(failed)?;
    Ok(copy.into())
}

/// A secret that programs are told by a file in memory, which is there as long as this is: everybody sees a command line, and
/// children inherit an environment.
#[derive(Debug, Clone, Default)]
pub struct Told(Arc<Mutex<Option<(File, PathBuf)>>>);

impl Told {
    /// Where programs find this text, which is the same at every call.
    ///
    /// # Errors
    /// If the file can't be made.
    pub fn path(&self, text: &str) -> Result<PathBuf> {
        let failed = |error| {
            Error::new(
                ErrorKind::Unsupported,
                format!("a program can't be told a password by a file in memory: {error}"),
            )
            .hint("a container may forbid memfd_create(2); run the test where that is allowed")
        };
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = if let Some(file) = told.take() { file } else { process::secret_file(text).map_err(failed)? };
        Ok(told.insert(file).1.clone())
    }
}

/// Runs a program to its end; `look` is called several times a second, and its error ends the program.
pub fn run(command: Command, clock: &dyn Clock, look: impl FnMut() -> Result<()>) -> Result<()> {
    started(command, Guarded::spawn, clock, look)
}

/// The same of one that may write nowhere but in a folder of ours. It can't be [`Told`] anything: our own files in memory are nothing to
/// who is confined.
pub fn run_within(folder: &Path, command: Command, clock: &dyn Clock, look: impl FnMut() -> Result<()>) -> Result<()> {
    started(command, |command| confined::within(folder, || Guarded::spawn(command)), clock, look)
}

fn started(
    mut command: Command,
    start: impl FnOnce(&mut Command) -> io::Result<Guarded>,
    clock: &dyn Clock,
    mut look: impl FnMut() -> Result<()>,
) -> Result<()> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |what: &str| {
        Error::new(ErrorKind::Statement, format!("{name} failed: {what}"))
            .hint("the message is the program's own; run it by hand to see more")
    };
    // A file, as a pipe that nobody reads would hold the program up.
    let server_error = limited_memory_file("complaint", MOST_WRITTEN).map_err(|error| failed(&error.to_string()))?;
    let copy = server_error.try_clone().map_err(|error| failed(&error.to_string()))?;
    command.stderr(copy);
    let mut program = start(&mut command).map_err(|error| failed(&error.to_string()))?;
    let mut pauses = 0_u32;
    loop {
        if let Some(status) = program.child.try_wait().map_err(|error| failed(&error.to_string()))? {
            if status.success() {
                return Ok(());
            }
            let text = end_of(server_error, MOST_COMPLAINT);
            let line = complaining(&text);
            let words = line.map_or_else(|| status.to_string(), |line| mask_urls(line.trim()));
            let kind = if text.contains("No space left") { ErrorKind::DiskFull } else { ErrorKind::Statement };
            return Err(Error { kind, ..failed(&words) });
        }
        if pauses.is_multiple_of(PAUSES) {
            look()?;
        }
        pauses += 1;
        clock.sleep(PAUSE);
    }
}

/// The line that says what went wrong: the first that speaks of an error, as some programs talk all the while.
fn complaining(text: &str) -> Option<&str> {
    let speaks = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "fatal", "failed", "denied"].iter().any(|word| line.contains(word))
    };
    text.lines().find(speaks).or_else(|| text.lines().find(|line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_found_among_what_else_is_said() {
        assert_eq!(complaining("pg_dump: error: no\npg_dump: hint: x"), Some("pg_dump: error: no"));
        let talk = "[00] Connecting\n[00] FATAL ERROR: it broke\n[00] more error";
        assert_eq!(complaining(talk), Some("[00] FATAL ERROR: it broke"));
        assert_eq!(complaining("\n  no idea\n"), Some("  no idea"));
        assert_eq!(complaining(""), None);
    }

    /// One that says nothing is not waited for, and does not outlive that.
    #[test]
    fn a_program_says_its_version_or_ends() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            path
        };
        assert_eq!(version(&script("one", "echo one 15.18; echo more")).as_deref(), Some("one 15.18"));
        assert_eq!(version(&script("two", "echo 'two 8.0' >&2")).as_deref(), Some("two 8.0"));
        assert_eq!(version(&script("three", "exit 0")), None);
        let number = folder.path().join("number");
        assert_eq!(version(&script("four", &format!("echo $$ > {}; exec sleep 3600", number.display()))), None);
        let number: i32 = std::fs::read_to_string(number).unwrap().trim().parse().unwrap();
        let gone = rustix::process::test_kill_process(rustix::process::Pid::from_raw(number).unwrap());
        assert!(gone.is_err(), "it is still there");
    }
}
