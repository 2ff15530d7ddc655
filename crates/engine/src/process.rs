//! What Linux counts for a process: bytes at the block device and CPU time. Elsewhere nothing is known, so nothing is said.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, ftruncate, memfd_create};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::target::Secret;

pub use plimsoll_clock::cpu::{thread_cpu_seconds, thread_run_queue_seconds};

/// Counters of a process or thread, cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessCounters {
    /// Bytes that were really fetched from a block device.
    pub device_read_bytes: u64,
    /// Bytes that were sent, or will be, to a block device.
    pub device_write_bytes: u64,
}

/// The counters of this thread. `None` where the system doesn't count.
pub fn this_thread() -> Option<ProcessCounters> {
    read_io(Path::new("/proc/thread-self/io"))
}

/// The counters of a process, with those of its children that have ended. `None` without the right to read them.
pub fn of_process(pid: u32) -> Option<ProcessCounters> {
    read_io(Path::new(&format!("/proc/{pid}/io")))
}

/// CPU time of a process and of its ended children, in seconds.
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold blanks: count from behind it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// CPU time of our own process, in seconds.
pub fn own_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Memory that our own process has now. `None` where the system doesn't say.
pub fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Id of the process above this one.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name in parentheses: state, parent.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Ids of a process and of all processes below it.
pub fn tree(root: u32) -> Vec<u32> {
    let known = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, parent(pid)?))
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = all.filter_map(known).collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        tree.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    tree
}

/// Ids of other processes that have a file open, as far as we may see.
pub fn holders(path: &Path) -> Vec<u32> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let has_it = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == path)
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others =
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| *pid != std::process::id());
    others.filter(has_it).collect()
}

fn read_io(path: &Path) -> Option<ProcessCounters> {
    let text = fs::read_to_string(path).ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse::<u64>().ok())
    };
    Some(ProcessCounters { device_read_bytes: field("read_bytes")?, device_write_bytes: field("write_bytes")? })
}

/// Variables of our environment that hold secrets: no program that we start by ourselves needs one.
const SECRETS: [&str; 5] = ["PLIMSOLL_PASSWORD", "PLIMSOLL_ACCESS_TOKEN", "PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD"];

/// Hides what these hold wherever it comes up from now on: not all of it is what we use, and a user's command may print any.
pub fn hide_secrets_of_environment() {
    for secret in SECRETS.iter().filter_map(|name| std::env::var(name).ok()).filter(|secret| !secret.is_empty()) {
        drop(Secret::new(secret));
    }
}

/// Neither this process nor a child of it leaves an image of its memory when it dies: there are secrets in it. Children read files of ours
/// by `/proc`, so the process can't be made unreadable as a whole.
pub fn leave_no_core() {
    // A limit can always be lowered.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// A program that is to be started, without the secrets of our own environment.
pub fn program(path: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(path);
    for name in SECRETS {
        command.env_remove(name);
    }
    // It may work in another folder than we do.
    let folder = std::env::temp_dir();
    if folder.is_relative()
        && let Ok(folder) = std::path::absolute(folder)
    {
        command.env("TMPDIR", folder);
    }
    command
}

/// Starts a program, which may be ended by signals even where the calling thread is spared them: a program inherits what its
/// parent blocks.
///
/// # Errors
/// The system's.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    with_signals(|| command.spawn())
}

/// Runs a program to its end in the same way, and gives what it wrote.
///
/// # Errors
/// The system's.
pub fn output(command: &mut Command) -> io::Result<Output> {
    with_signals(|| command.output())
}

fn with_signals<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = SigSet::thread_get_mask()?;
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_unblock()?;
    let started = start();
    before.thread_set_mask()?;
    started
}

/// A file without a name, in memory.
pub fn memory_file(purpose: &str) -> io::Result<File> {
    Ok(memfd_create(purpose, MemfdFlags::CLOEXEC)?.into())
}

/// A file without a name, in memory, that takes so many bytes and no more: what is written to it beyond that fails. How much
/// was written tells its position.
pub fn limited_memory_file(purpose: &str, bytes: u64) -> io::Result<File> {
    let file = memfd_create(purpose, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, bytes)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// A file without a name, in memory, that nobody but our user may read. A program that we start finds it at this path as long as
/// the file lives.
pub fn secret_file(text: &str) -> io::Result<(File, PathBuf)> {
    let mut file = memory_file("settings")?;
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    file.write_all(text.as_bytes())?;
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    Ok((file, path))
}

/// The last bytes of what programs wrote to a file that holds no more than that, at most so many, as a text; empty if it can't be read. They
/// end at its position. Lines that are cut are left out: a part of a secret is not known for one.
pub fn end_of(mut file: File, most: u64) -> String {
    let mut text = Vec::new();
    let written = file.stream_position().unwrap_or(0);
    let start = written.saturating_sub(most);
    let read = file.seek(SeekFrom::Start(start)).and_then(|start| (&file).take(written - start).read_to_end(&mut text));
    if read.is_err() {
        return String::new();
    }
    let is_full = file.metadata().is_ok_and(|file| written >= file.len());
    let line = |byte: &u8| *byte == b'\n';
    let begin = if start > 0 { text.iter().position(line).map_or(text.len(), |at| at + 1) } else { 0 };
    let end = if is_full { text.iter().rposition(line).unwrap_or(0) } else { text.len() };
    String::from_utf8_lossy(text.get(begin..end).unwrap_or_default()).into_owned()
}

/// Bytes free for us on the file system that holds `path`.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Asks the operating system to forget the cached pages of a file. Dirty pages stay, so write them first.
/// False if the file can't be opened.
pub fn drop_from_os_cache(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_was_written_has_whole_lines() {
        let written = |text: &str, room: u64, most: u64| {
            let mut file = limited_memory_file("test", room).unwrap();
            let _ = file.write(text.as_bytes());
            end_of(file, most)
        };
        assert_eq!(written("one\ntwo\nthree", 100, 50), "one\ntwo\nthree");
        assert_eq!(written("one\ntwo\nthree", 100, 7), "three");
        // Such a file takes whole pages.
        let long = format!("one\n{}", "x".repeat(5000));
        assert_eq!(written(&long, 4096, 4096), "one");
        assert_eq!((written(&long, 4096, 50).as_str(), written("onetwo", 100, 3).as_str()), ("", ""));
    }

    #[test]
    fn a_program_of_ours_finds_a_secret_and_has_none_in_its_environment() {
        let (_file, path) = secret_file("planted").unwrap();
        let said = program("sh").args(["-c", "cat \"$0\"; stat -L -c ' %a' \"$0\""]).arg(path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "planted 600\n");
        let removed: Vec<_> =
            program("sh").get_envs().map(|(name, value)| (name.to_owned(), value.is_none())).collect();
        assert!(SECRETS.iter().all(|secret| removed.contains(&((*secret).into(), true))));
    }
}
