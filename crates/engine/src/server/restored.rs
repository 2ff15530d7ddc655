//! What a restore needs on this machine: files copied with progress, and a server that runs on them for a while. A socket in a
//! folder of ours alone leads to it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

use crate::confined;
use crate::database::{Database, Restored};
use crate::error::{Error, ErrorKind, Result};
use crate::process;
use crate::server::shell::last_line;
use crate::transfer::Follow;
use crate::workspace::Workspace;

/// Name in the folder of a restore: what was backed up.
pub const BACKUP: &str = "backup";
/// What becomes of it, the socket's folder, what the server says.
const DATA: &str = "data";
const SOCKET: &str = "s";
const LOG: &str = "log";

/// What names of InnoDB's files end in that lead to a table's file elsewhere.
const LINK: &str = "isl";

/// Bytes that are copied before anybody is asked whether to go on.
const STEP_BYTES: usize = 4 << 20;

/// A socket's name has no more bytes.
const LONGEST_SOCKET: usize = 107;

/// How often a server that is being started is asked whether it answers, and how long one may take to stop when asked to.
const PAUSE: Duration = Duration::from_millis(50);
const PATIENCE_STEPS: u32 = 100;

/// How long a server may take to recover and answer.
const START_PATIENCE: Duration = Duration::from_hours(6);

/// What a server needs of our environment; the rest, which may hold secrets, is not its user's to see.
fn is_for_servers(name: &OsStr) -> bool {
    name == "PATH" || name == "TZ" || name.to_string_lossy().starts_with("LC_")
}

/// A user of the machine by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The user that a server has to run as: `None` means ours, as servers refuse to run as root only.
    pub fn for_server(name: &str) -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::parse(&passwd, name).map(Some).ok_or_else(|| {
            let message = format!("a server can't be started by root, and there is no user '{name}' to run it");
            Error::new(ErrorKind::Unsupported, message).hint("run Plimsoll as somebody else than root")
        })
    }

    /// Finds a user in the text of passwd(5): `name:password:uid:gid:...`.
    fn parse(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().map(|line| line.split(':')).find_map(|mut fields| {
            (fields.next()? == name).then_some(())?;
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Self { uid, gid })
        })
    }
}

/// Where a restored server is.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder of ours that all of it is in.
    folder: PathBuf,
    account: Option<Account>,
}

impl Site {
    /// A site in a folder of ours, for a server with a user and a socket of these names.
    pub fn new(folder: &Path, user: &str, socket: &str) -> Result<Self> {
        let site = Self { folder: folder.to_owned(), account: Account::for_server(user)? };
        let name = site.socket_folder().join(socket);
        if name.as_os_str().len() > LONGEST_SOCKET {
            let message = format!("{} is too long a name for a server's socket", name.display());
            return Err(Error::new(ErrorKind::Usage, message).hint("let TMPDIR name a folder with a shorter path"));
        }
        Ok(site)
    }

    /// The folder that the server works on.
    pub fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The folder of the server's socket.
    pub fn socket_folder(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// Copies the backup to where the server will find it, and brings it to the disk. The files' folder stays ours until the
    /// server starts: a program of its user could else put links where we are about to write.
    pub fn bring_back(&self, follow: &mut dyn Follow) -> Result<()> {
        let mut copier = Copier { account: self.account, done: 0, files: Vec::new(), follow };
        copier.folder(&self.folder.join(BACKUP), &self.data())?;
        copier.sync()
    }

    /// Writes a file of the server's, in place of one that came with the backup.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.data().join(name);
        fs::write(&path, text).and_then(|()| give(self.account, &path)).map_err(|error| failed("write", &path, &error))
    }

    /// Starts the server and returns when it can be opened, with the database of this name on it.
    pub fn start(
        &self,
        mut command: Command,
        clock: &Arc<dyn Clock>,
        follow: &mut dyn Follow,
        workspace: &Workspace,
        mut open: impl FnMut() -> Result<Box<dyn Database>>,
    ) -> Result<Restored> {
        let socket = self.socket_folder();
        let made = fs::DirBuilder::new().mode(0o700).create(&socket).and_then(|()| give(self.account, &socket));
        made.map_err(|error| failed("make", &socket, &error))?;
        let log_path = self.folder.join(LOG);
        let log = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&log_path);
        let log = log.map_err(|error| failed("write", &log_path, &error))?;
        let copy = log.try_clone().map_err(|error| failed("write", &log_path, &error))?;
        // If we are killed, the guard of the folder asks a server to stop, so that it gives back its shared memory. It knows programs
        // by where they work, and so does a later clean.
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(copy).stderr(log).process_group(0);
        if let Some(Account { uid, gid }) = self.account {
            command.uid(uid).gid(gid);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| !is_for_servers(name)) {
            command.env_remove(name);
        }
        give(self.account, &self.data()).map_err(|error| failed("hand over", &self.data(), &error))?;
        let give_up = clock.now().after(START_PATIENCE);
        let child = confined::within(&self.folder, || process::spawn(&mut command))
            .map_err(|error| start_failed(&error.to_string()))?;
        let mut server = Server { child, clock: Arc::clone(clock) };
        loop {
            let error = match open() {
                Ok(database) => {
                    let (elsewhere, workspace) = (Some(database), workspace.clone());
                    return Ok(Restored { elsewhere, workspace, keeper: Some(Box::new(server)) });
                }
                Err(error) => error,
            };
            if let Ok(Some(status)) = server.child.try_wait() {
                let said = fs::read(&log_path).map(|text| String::from_utf8_lossy(&text).into_owned());
                let line = said.ok().and_then(|text| server_error(&text)).unwrap_or_else(|| status.to_string());
                return Err(start_failed(&line));
            }
            // It is not up yet, or still recovers.
            let passes =
                matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Busy | ErrorKind::Statement);
            if !passes || clock.now() >= give_up {
                return Err(error);
            }
            follow.look(&mut || None)?;
            clock.sleep(PAUSE);
        }
    }
}

/// The line of a server's log that says why it ended: the last that speaks of an error, else the last.
fn server_error(log: &str) -> Option<String> {
    let errors = log.lines().rfind(|line| line.contains("FATAL") || line.contains("ERROR"));
    errors.map(str::to_owned).or_else(|| last_line(log))
}

fn start_failed(what: &str) -> Error {
    Error::new(ErrorKind::Statement, format!("no server can be started on what was restored: {what}"))
        .hint("the message is the server's own; TMPDIR must be a folder that the server's user may reach")
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull => ErrorKind::DiskFull,
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Statement,
    };
    Error::new(kind, format!("can't {what} {}: {error}", path.display()))
        .hint("let TMPDIR name a folder with enough room in it")
}

fn give(account: Option<Account>, path: &Path) -> io::Result<()> {
    account.map_or(Ok(()), |Account { uid, gid }| chown(path, Some(uid), Some(gid)))
}

/// Bytes of the files in a folder; 0 where nothing is there.
pub fn folder_bytes(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(of).sum()
}

struct Copier<'a> {
    account: Option<Account>,
    done: u64,
    files: Vec<PathBuf>,
    follow: &'a mut dyn Follow,
}

impl Copier<'_> {
    fn folder(&mut self, from: &Path, to: &Path) -> Result<()> {
        fs::DirBuilder::new().mode(0o700).create(to).map_err(|error| failed("make", to, &error))?;
        for entry in fs::read_dir(from).map_err(|error| failed("read", from, &error))? {
            let entry = entry.map_err(|error| failed("read", from, &error))?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(|error| failed("read", &path, &error))?;
            if kind.is_dir() {
                self.folder(&path, &target)?;
                give(self.account, &target).map_err(|error| failed("make", &target, &error))?;
            } else if kind.is_file() && path.extension().is_none_or(|end| end != LINK) {
                self.file(&path, target)?;
            } else {
                let message = format!("{} of the backup leads out of it, so it is not restored", path.display());
                return Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("databases with files in several places can't be restored yet"));
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: PathBuf) -> Result<()> {
        let mut source = File::open(from).map_err(|error| failed("read", from, &error))?;
        let mut target = File::create_new(&to).map_err(|error| failed("write", &to, &error))?;
        if let Some(Account { uid, gid }) = self.account {
            fchown(&target, Some(uid), Some(gid)).map_err(|error| failed("write", &to, &error))?;
        }
        let mut buffer = vec![0; STEP_BYTES];
        loop {
            let count = source.read(&mut buffer).map_err(|error| failed("read", from, &error))?;
            if count == 0 {
                self.files.push(to);
                return Ok(());
            }
            target.write_all(&buffer[..count]).map_err(|error| failed("write", &to, &error))?;
            self.done += count as u64;
            let done = self.done;
            self.follow.look(&mut || Some(done))?;
        }
    }

    /// Each file after all were written, so that the disk had time to begin.
    fn sync(&mut self) -> Result<()> {
        for path in &self.files {
            File::open(path).and_then(|file| file.sync_all()).map_err(|error| failed("sync", path, &error))?;
            let done = self.done;
            self.follow.look(&mut || Some(done))?;
        }
        Ok(())
    }
}

/// A server of ours; dropped, it is stopped. Its files go with the folder.
#[derive(Debug)]
struct Server {
    child: Child,
    clock: Arc<dyn Clock>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // PostgreSQL stops at once on SIGQUIT and gives back its shared memory; others stop as they see fit, or are killed. The
        // number of one that has ended may be somebody else's by now. A stopped one takes notice when it goes on.
        if matches!(self.child.try_wait(), Ok(None)) {
            for signal in [Signal::QUIT, Signal::CONT] {
                let _ = kill_process(Pid::from_child(&self.child), signal);
            }
        }
        for _ in 0..PATIENCE_STEPS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            self.clock.sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:8::/:\npostgres:x:101:104:P:/var:/bin/sh\n";
        assert_eq!(Account::parse(passwd, "postgres"), Some(Account { uid: 101, gid: 104 }));
        assert_eq!(Account::parse(passwd, "nobody"), None);
    }

    #[test]
    fn a_log_says_why_a_server_ended() {
        assert_eq!(server_error("a\nFATAL: no\nb\n").as_deref(), Some("FATAL: no"));
        assert_eq!(server_error("a\nb.\n\n").as_deref(), Some("b"));
        assert_eq!(server_error(""), None);
    }
}
