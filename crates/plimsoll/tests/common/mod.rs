//! Runs the real binary in a folder of its own, with a store of its own and an environment without surprises.

#![allow(dead_code, reason = "every test file uses its own part of it, and one may use all")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

/// A fresh folder with a store.
pub struct Scene {
    folder: TempDir,
}

/// What a call printed, and its exit code.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Scene {
    pub fn new() -> Self {
        // Not in /tmp where that is a tmpfs: device bytes could not be seen there.
        let folder = tempfile::Builder::new().prefix("scene-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> PathBuf {
        self.path("runs.db")
    }

    /// A target in the scene's folder.
    pub fn sqlite(&self) -> String {
        format!("sqlite:{}", self.path("data.db").display())
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("PG") || name.starts_with("PLIMSOLL") || name.starts_with("XDG") {
                command.env_remove(name);
            }
        }
        command
            .env("PLIMSOLL_STORE", self.store())
            .env("HOME", self.folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "110");
        command
    }

    pub fn say(&self, words: &[&str]) -> Said {
        said(&self.command(words).output().unwrap())
    }

    pub fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Files of ours in the folder, besides the store.
    pub fn leftovers(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.contains("plimsoll_"));
        names.sort();
        names
    }
}

/// True if reads of files there cross a device that counts them.
pub fn on_a_device(path: &Path) -> bool {
    let kind = Command::new("stat").args(["--file-system", "--format=%T"]).arg(path).output().unwrap();
    String::from_utf8_lossy(&kind.stdout).trim() != "tmpfs"
}

pub fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

impl Said {
    /// The JSON objects on standard output.
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
    }

    /// Asserts the exit code and that the error is one sentence with a next step.
    pub fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        let errors: Vec<&str> = self.err.lines().filter(|line| line.starts_with("error:")).collect();
        assert_eq!(errors.len(), 1, "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "'{word}' is missing: {self:#?}");
        }
        assert!(self.err.contains("hint:"), "no next step: {self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
    }
}

/// A small disk in memory; only root may make one.
pub struct Tmpfs {
    pub path: PathBuf,
    _folder: TempDir,
}

impl Tmpfs {
    /// `None` for who may not.
    pub fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m,mode=777");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).status();
        let mounted = mounted.is_ok_and(|status| status.success());
        mounted.then(|| Self { path: folder.path().to_owned(), _folder: folder })
    }

    /// From now on it can be written to, or not.
    pub fn remount(&self, writable: bool) {
        let options = if writable { "remount,rw" } else { "remount,ro" };
        let mounted = Command::new("mount").args(["-o", options]).arg(&self.path).status().unwrap();
        assert!(mounted.success());
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}

/// A file system on a device whose end can be made unreadable, unmounted in the end.
pub struct Failing {
    pub path: PathBuf,
    image: PathBuf,
    _folder: TempDir,
}

impl Failing {
    /// `None` for who may not, or has no devices to spare.
    pub fn mount(megabytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let [image, path] = ["image", "volume"].map(|name| folder.path().join(name));
        std::fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        std::fs::create_dir(&path).unwrap();
        let does = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let mounted = does(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))
            && does(Command::new("mount").args(["-o", "loop"]).args([&image, &path]));
        mounted.then(|| Self { path, image, _folder: folder })
    }

    /// What lies behind so many of its bytes is an error of input from now on.
    pub fn ends_after(&self, megabytes: u64) {
        std::fs::OpenOptions::new().write(true).open(&self.image).unwrap().set_len(megabytes << 20).unwrap();
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}

/// Waits for what a program does in its own time.
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    for _ in 0..3600 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it did not come to pass within three minutes");
}

/// Whether a signal is in a list of `/proc/PID/status`: `SigIgn:` has those that are ignored, `SigCgt:` those that are caught.
pub fn is_in(list: &str, process: &str, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(list)).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & 1 << (signal.as_raw() - 1) != 0
}
