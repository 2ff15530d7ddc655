//! Where a target's files are: the folder of the file that the URL names, and the names of our own files in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_engine::{Error, ErrorKind, Result, Workspace};
use rustix::fs::{Access, access};

use super::errors::from_io;

/// What every SQLite file begins with ("The Database Header" in SQLite's description of its file format).
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What SQLite puts beside a database file: its log, the index of the log, its journal.
pub(super) const WAL: &str = "-wal";
pub(super) const SHARED: &str = "-shm";
pub(super) const JOURNAL: &str = "-journal";
const COMPANIONS: [&str; 3] = [WAL, SHARED, JOURNAL];

/// File systems take 255 bytes for a name, and `.plimsoll_copy_` with a run, a letter and `.db-journal` comes behind ours.
const LONGEST_NAME: usize = 255 - 59;

/// The folder and the name that our files start with.
#[derive(Debug, Clone)]
pub(super) struct Location {
    folder: PathBuf,
    name: OsString,
}

impl Location {
    /// Finds the folder of `path` and checks that it can be used. Links are followed, so that our files come to lie on
    /// the disk of the file that is meant. Nothing is created.
    pub(super) fn find(path: &Path) -> Result<Self> {
        let path = if path.exists() {
            check_is_sqlite(path)?;
            path.canonicalize().map_err(|error| from_io(&error, "resolve", path))?
        } else {
            path.to_owned()
        };
        let no_file =
            || Error::new(ErrorKind::Usage, format!("{} names no file", path.display())).hint("write sqlite:PATH");
        let name = path.file_name().ok_or_else(no_file)?.to_owned();
        if name.len() > LONGEST_NAME {
            let message =
                format!("the name of the file has {} bytes, and files beside it have longer ones", name.len());
            return Err(Error::new(ErrorKind::Usage, message).hint(format!("name one of at most {LONGEST_NAME} bytes")));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let missing = || {
            Error::new(ErrorKind::Missing, format!("the folder {} does not exist", folder.display()))
                .hint("create it, or name a file in a folder that exists")
        };
        if !folder.is_dir() {
            return Err(missing());
        }
        let folder = folder.canonicalize().map_err(|_| missing())?;
        access(&folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|_| {
            Error::new(ErrorKind::Permission, format!("the folder {} is not writable", folder.display()))
                .hint("measurements use a file of their own beside the one that is named")
        })?;
        Ok(Self { folder, name })
    }

    /// The folder, absolute and without links.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that the URL names.
    pub(super) fn named(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    pub(super) fn database(&self, workspace: &Workspace) -> PathBuf {
        self.file(workspace, ".db")
    }

    /// The file that carries the place's lease.
    pub(super) fn lock(&self, workspace: &Workspace) -> PathBuf {
        self.file(workspace, ".lock")
    }

    /// Device and inode of the folder and the name of the file: stable, and without secrets.
    pub(super) fn fingerprint(&self) -> Result<String> {
        let metadata = fs::metadata(&self.folder).map_err(|error| from_io(&error, "look at", &self.folder))?;
        Ok(format!("{:x}-{}-{}", metadata.dev(), metadata.ino(), self.name.display()))
    }

    /// What the mark of a place names: the name that its files begin with.
    pub(super) fn object(&self, workspace: &Workspace) -> String {
        format!("{}.{workspace}", self.name.display())
    }

    /// Places that have a file in the folder, by name.
    pub(super) fn workspaces(&self) -> Result<Vec<Workspace>> {
        let failed = |error: io::Error| from_io(&error, "list", &self.folder);
        let mut workspaces = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            workspaces.extend(self.place_of(&entry.map_err(failed)?.file_name()));
        }
        workspaces.sort();
        workspaces.dedup();
        Ok(workspaces)
    }

    /// True if the folder is in memory: then nothing is read from a device, and nothing survives a restart.
    pub(super) fn in_memory(&self) -> bool {
        /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of Linux, as statfs(2) lists them.
        const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
        rustix::fs::statfs(&self.folder).is_ok_and(|stat| IN_MEMORY.contains(&stat.f_type))
    }

    fn file(&self, workspace: &Workspace, ending: &str) -> PathBuf {
        let mut name = self.name.clone();
        name.push(".");
        name.push(workspace.name());
        name.push(ending);
        self.folder.join(name)
    }

    fn place_of(&self, file: &OsStr) -> Option<Workspace> {
        let rest = file.as_encoded_bytes().strip_prefix(self.name.as_encoded_bytes())?.strip_prefix(b".")?;
        let rest = std::str::from_utf8(rest).ok()?;
        let database = COMPANIONS.iter().find_map(|ending| rest.strip_suffix(ending)).unwrap_or(rest);
        Workspace::from_name(database.strip_suffix(".db").or_else(|| rest.strip_suffix(".lock"))?)
    }
}

/// Deletes a database file and what SQLite put beside it, which goes first: a kill in between leaves nothing that belongs to no
/// file.
pub(super) fn delete_database(path: &Path) -> Result<()> {
    COMPANIONS.iter().try_for_each(|ending| delete(&companion(path, ending)))?;
    delete(path)
}

/// What lies beside a database file that isn't there.
pub(super) fn left_alone(path: &Path) -> Vec<PathBuf> {
    let beside = COMPANIONS.iter().map(|ending| companion(path, ending));
    beside.filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

pub(super) fn delete(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(from_io(&error, "delete", path)),
        _ => Ok(()),
    }
}

pub(super) fn wal(path: &Path) -> PathBuf {
    companion(path, WAL)
}

pub(super) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The file that a user names must be SQLite's or empty; it is looked at and left alone.
fn check_is_sqlite(path: &Path) -> Result<()> {
    let usage = |what: &str| {
        Error::new(ErrorKind::Usage, format!("{} is {what}", path.display()))
            .hint("name a SQLite file, or a file that doesn't exist: it will not be created")
    };
    let failed = |error: io::Error| from_io(&error, "read", path);
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(usage("a folder"));
    }
    // Whatever else is no file may block a reader for ever, such as a pipe.
    if !metadata.is_file() {
        return Err(usage("no regular file"));
    }
    let mut start = Vec::with_capacity(MAGIC.len());
    File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start)).map_err(failed)?;
    if start.is_empty() || start == MAGIC { Ok(()) } else { Err(usage("not a SQLite file")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("text"), "hello").unwrap();
        fs::write(at("long text"), "SQLite format 2 and more").unwrap();
        fs::write(at("empty"), "").unwrap();
        fs::write(at("good"), MAGIC).unwrap();
        for (name, kind) in [
            ("text", Some(ErrorKind::Usage)),
            ("long text", Some(ErrorKind::Usage)),
            (".", Some(ErrorKind::Usage)),
            ("..", Some(ErrorKind::Usage)),
            ("nowhere/file", Some(ErrorKind::Missing)),
            ("text/file", Some(ErrorKind::Missing)),
            ("empty", None),
            ("good", None),
            ("new", None),
        ] {
            assert_eq!(Location::find(&at(name)).err().map(|error| error.kind), kind, "{name}");
        }
        assert!(!at("new").exists());
        assert_eq!(fs::read(at("good")).unwrap(), MAGIC);
    }

    #[test]
    fn our_files_lie_beside_what_a_link_means() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(folder.path().join("real/file.db"), "").unwrap();
        std::os::unix::fs::symlink("real/file.db", folder.path().join("link")).unwrap();
        let location = Location::find(&folder.path().join("link")).unwrap();
        let workspace = Workspace::run("1").unwrap();
        let expected = folder.path().canonicalize().unwrap().join("real/file.db.plimsoll_run_1.db");
        assert_eq!(location.database(&workspace), expected);
    }

    #[test]
    fn only_names_of_ours_are_places() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::find(&folder.path().join("x.db")).unwrap();
        for name in [
            "x.db.plimsoll_run_a.db",
            "x.db.plimsoll_run_a.lock",
            "x.db.plimsoll_data_1.lock",
            "x.db.plimsoll_run_A.db",
            "x.db.other.db",
            "y.db.plimsoll_run_b.db",
            "x.db.plimsoll_run_c.db-wal",
            "x.db.plimsoll_run_d.lock-wal",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<String> = location.workspaces().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["plimsoll_data_1", "plimsoll_run_a", "plimsoll_run_c"]);
    }
}
