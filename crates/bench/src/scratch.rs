//! A folder of ours on this machine, for what a test puts beside its target: backups, and servers that run on them. It goes
//! when it is dropped, and also when this process is killed. A shell waits for the end of a pipe, stops the servers in the
//! folder and removes it. If that shell is killed too, the next run or `plimsoll clean` does the same: a locked file in the
//! folder tells whether its process lives, and that it is ours.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use plimsoll_engine::temporary::{self, Folder};
use plimsoll_engine::{Error, ErrorKind, Program, Result, process};

const PREFIX: &str = "plimsoll-scratch-";
/// What is ours to fill; short, as a socket's whole name has 107 bytes at most.
const INSIDE: &str = "in";

/// Names of the engine's programs, each with the signal that ends it, in the folder.
const PROGRAMS: &str = "programs";

/// Waits until no process holds the pipe, stops the engine's programs that work in the folder, and removes what is ours of it. A
/// program is known by its name and its working directory, which no other program shares. The folder is the shell's own working
/// directory, so that it is the same one wherever somebody moves it. What others have put there stays, and keeps the lock with its mark.
const GUARD: &str = r#"cat >/dev/null
# The shell's own pwd remembers where the folder was when the shell began.
here=$(env pwd -P) && test -n "$here" || exit 0
ours() {
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/cwd" 2>/dev/null)" in "$here"/*) ;; *) continue ;; esac
        read -r name 2>/dev/null <"$process/comm" || continue
        while read -r program signal; do
            test "$name" = "$program" || continue
            test "$signal" = KILL && echo "KILL ${process#/proc/}" || echo "$1 ${process#/proc/}"
        done 2>/dev/null <./programs
    done
}
# Some give back what they have taken if they are asked to stop at once; who doesn't stop is killed.
for signal in QUIT KILL; do
    # A stopped program takes notice only when it goes on.
    ours "$signal" | while read -r how number; do kill "-$how" "$number" && kill -CONT "$number"; done 2>/dev/null
    for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        test -z "$(ours "$signal")" && break 2
        sleep 0.2
    done
done
rm -rf ./in ./programs 2>/dev/null
case "$(ls -A 2>/dev/null)" in
    '' | lock | lock.new) rm -f ./lock ./lock.new && rmdir "$here" ;;
esac 2>/dev/null
:"#;

/// A folder of this process.
#[derive(Debug)]
pub struct Scratch {
    folder: Folder,
    guard: Child,
}

impl Scratch {
    /// Makes a folder in the system's temporary one, in which these programs will work, and removes those of killed processes.
    ///
    /// # Errors
    /// If it can't be made there.
    pub fn make(programs: &[Program]) -> Result<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let failed = |error: io::Error| temporary::failed("a folder", &error);
        // Links in the name would hide the programs that work in it.
        let real = fs::canonicalize(&parent).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(real).map_err(failed)?.keep();
        Self::in_folder(&folder, programs).map_err(|error| {
            // By its name alone: there may be no handle left to look into it.
            let _ = fs::remove_file(folder.join(PROGRAMS));
            let _ = fs::remove_dir(&folder);
            failed(error)
        })
    }

    fn in_folder(folder: &Path, programs: &[Program]) -> io::Result<Self> {
        let line = |program: &Program| format!("{} {}\n", program.name, if program.is_asked { "QUIT" } else { "KILL" });
        fs::write(folder.join(PROGRAMS), programs.iter().map(line).collect::<String>())?;
        let guard = guard(folder)?;
        // A root's server runs as another user, which must get through to its files.
        let mode = fs::Permissions::from_mode(if our_user() == Some(0) { 0o711 } else { 0o700 });
        fs::set_permissions(folder, mode.clone())?;
        let inside = folder.join(INSIDE);
        let folder = Folder::claim(folder.to_owned())?;
        fs::create_dir(&inside)?;
        fs::set_permissions(inside, mode)?;
        Ok(Self { folder, guard })
    }

    /// Whether it is still where it was made: what programs make by its name goes astray otherwise.
    ///
    /// # Errors
    /// If somebody moved it.
    pub fn check(&self) -> Result<()> {
        if self.folder.is_in_place() {
            return Ok(());
        }
        let path = self.folder.path().display();
        Err(Error::new(ErrorKind::Lost, format!("somebody moved the folder {path} while the run worked in it")).hint(
            format!("if there is something at {path} again, a program of the run has made it: remove it by hand"),
        ))
    }

    /// Ends the programs in it and removes it.
    ///
    /// # Errors
    /// If it is still there: somebody put something into it, or it can't be removed.
    pub fn remove(mut self) -> Result<()> {
        self.end();
        let Some(place) = self.folder.remains() else { return Ok(()) };
        let message = format!("the folder {} with what the run put there was not removed", place.display());
        let hint =
            "look for what keeps it: something of somebody else's, a disk that is read-only, a right that is missing";
        Err(Error::new(ErrorKind::Safety, message).hint(hint))
    }

    /// The folder to be filled.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(INSIDE)
    }

    fn end(&mut self) {
        // It was ended before.
        let Some(pipe) = self.guard.stdin.take() else { return };
        drop(pipe);
        // What it could not remove, the next run will. If somebody killed it, another one begins anew.
        if !self.guard.wait().is_ok_and(|ended| ended.success())
            && self.folder.is_in_place()
            && let Ok(mut again) = guard(self.folder.path())
        {
            drop(again.stdin.take());
            let _ = again.wait();
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.end();
    }
}

fn guard(folder: &Path) -> io::Result<Child> {
    let mut shell = process::program("sh");
    shell.args(["-c", GUARD, "plimsoll-guard"]).current_dir(folder);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A process group of its own: Ctrl-C in the terminal is for the run, which then lets go of the pipe.
    process::spawn(shell.process_group(0))
}

fn our_user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

/// Removes folders of killed processes; returns how many. What can't be looked at or removed stays.
pub fn remove_leftovers() -> u32 {
    remove_abandoned(&std::env::temp_dir())
}

/// Folders of killed processes, which nobody has put anything else into.
pub fn leftovers() -> Vec<PathBuf> {
    abandoned(&std::env::temp_dir()).iter().map(|folder| folder.path().to_owned()).collect()
}

fn abandoned(parent: &Path) -> Vec<Folder> {
    let Ok(parent) = fs::canonicalize(parent) else { return Vec::new() };
    temporary::abandoned(&parent, PREFIX, |name, _| [INSIDE, PROGRAMS].contains(&name))
}

fn remove_abandoned(parent: &Path) -> u32 {
    let mut removed = 0;
    for folder in abandoned(parent) {
        if let Ok(mut guard) = guard(folder.path()) {
            drop(guard.stdin.take());
            removed += u32::from(guard.wait().is_ok() && !folder.path().exists());
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            (Folder::claim(folder.clone()).unwrap(), folder)
        };
        let killed = make("plimsoll-scratch-killed").1;
        let (_living, lives) = make("plimsoll-scratch-lives");
        let other = make("somebody-elses").1;
        assert_eq!(remove_abandoned(parent.path()), 1);
        assert!(!killed.exists() && lives.exists() && other.exists());
    }

    #[test]
    fn a_folder_goes_though_its_guard_was_killed() {
        let mut scratch = Scratch::make(&[]).unwrap();
        let folder = scratch.folder.path().to_owned();
        fs::write(scratch.path().join("backup"), "").unwrap();
        scratch.guard.kill().unwrap();
        drop(scratch);
        assert!(!folder.exists());
    }

    /// Folders with our name that are somebody else's, or that hold something of somebody else's.
    #[test]
    fn a_name_and_a_lock_make_no_folder_ours() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(format!("plimsoll-scratch-{name}"));
            fs::create_dir(&folder).unwrap();
            folder
        };
        let marked = make("marked");
        drop(Folder::claim(marked.clone()).unwrap());
        fs::write(marked.join("letters"), "").unwrap();
        let lock = |name: &str| make(name).join("lock");
        fs::write(lock("empty"), "").unwrap();
        fs::write(lock("notes"), "mine").unwrap();
        fs::copy(marked.join("lock"), lock("copied")).unwrap();
        std::os::unix::fs::symlink(marked.join("lock"), lock("linked")).unwrap();
        fs::create_dir(lock("directory")).unwrap();
        assert!(Command::new("mkfifo").arg(lock("fifo")).status().unwrap().success());
        let before = fs::read_dir(parent.path()).unwrap().count();
        assert_eq!(remove_abandoned(parent.path()), 0);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), before);
    }

    /// The guard removes the folder that it was started in, by whatever name, and nothing else.
    #[test]
    fn a_folder_that_was_moved_goes_and_what_took_its_name_stays() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (parent.path().join("plimsoll-scratch-moved"), parent.path().join("elsewhere"));
        let fill = || {
            fs::create_dir_all(folder.join(INSIDE)).unwrap();
            fs::write(folder.join(INSIDE).join("precious"), "").unwrap();
        };
        let end = |mut guard: Child| {
            drop(guard.stdin.take());
            guard.wait().unwrap();
        };
        fill();
        let started = guard(&folder).unwrap();
        // It has begun, and waits, once it has a process of its own.
        let children = format!("/proc/{0}/task/{0}/children", started.id());
        while fs::read_to_string(&children).unwrap().is_empty() {
            std::thread::yield_now();
        }
        fs::rename(&folder, &elsewhere).unwrap();
        fill();
        end(started);
        assert!(!elsewhere.exists() && folder.join(INSIDE).join("precious").exists());
        fs::write(folder.join("precious"), "").unwrap();
        fs::write(folder.join("lock"), "").unwrap();
        end(guard(&folder).unwrap());
        let mut stay: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        stay.sort();
        assert_eq!(stay, ["lock", "precious"]);
    }

    #[test]
    fn engines_in_it_are_stopped_and_nobody_else() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().canonicalize().unwrap().join("plimsoll-scratch-dead");
        fs::create_dir_all(folder.join(INSIDE)).unwrap();
        drop(Folder::claim(folder.clone()).unwrap());
        fs::write(folder.join(PROGRAMS), "other QUIT\nmariadbd KILL\n").unwrap();
        // A program under an engine's name, and another user's shell.
        let shell = Command::new("sh").args(["-c", "command -v sh"]).output().unwrap();
        let program = parent.path().join("mariadbd");
        fs::copy(String::from_utf8(shell.stdout).unwrap().trim(), &program).unwrap();
        let waiting = |program: &Path| {
            let mut command = Command::new(program);
            command.args(["-c", "read -r end"]).stdin(Stdio::piped()).current_dir(folder.join(INSIDE)).spawn().unwrap()
        };
        let (mut engine, mut visitor) = (waiting(&program), waiting(Path::new("sh")));
        assert_eq!(remove_abandoned(parent.path()), 1);
        assert!(!engine.wait().unwrap().success() && !folder.exists());
        assert!(visitor.try_wait().unwrap().is_none());
        visitor.kill().unwrap();
        visitor.wait().unwrap();
    }
}
