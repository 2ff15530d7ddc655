//! Whose files are: what a name alone says, what a killed process leaves, and what lies in and beside our files.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, in its helpers too")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use plimsoll_clock::RealClock;
use plimsoll_engine::{
    ClaimMode, ColumnType, Credentials, Database, Engine as _, ErrorKind, Intents, Mark, Table, Target, Workspace,
};
use plimsoll_sqlite::Sqlite;

/// A folder as one process of ours sees it after the other: all have the same store.
struct Folder {
    folder: tempfile::TempDir,
    intents: Intents,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), intents: Intents::default() }
    }

    fn open(&self) -> Box<dyn Database> {
        self.with(self.intents.clone())
    }

    /// Somebody with another store.
    fn open_elsewhere(&self) -> Box<dyn Database> {
        self.with(Intents::default())
    }

    fn with(&self, intents: Intents) -> Box<dyn Database> {
        let url = format!("sqlite:{}/x.db", self.folder.path().display());
        let credentials = Credentials { intents, ..Credentials::default() };
        Sqlite.open(&Target::parse(&url).unwrap(), &credentials, Arc::new(RealClock::new())).unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("x.db.{name}"))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What stands in the way of its removal.
    fn refusal(&self, workspace: &Workspace) -> String {
        let before = self.names();
        let error = self.open().remove(workspace).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Safety, "{error}");
        assert_eq!(self.names(), before);
        error.message
    }
}

fn run() -> Workspace {
    Workspace::run("0a1").unwrap()
}

fn table() -> Table {
    Table::new("t", &[("RowId", ColumnType::Int)])
}

/// A place with a table of ours that nobody works in.
fn make(folder: &Folder) {
    let database = folder.open();
    let _lease = database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap();
    database.session(&run(), &run()).unwrap().create_table(&table()).unwrap();
}

#[test]
fn a_name_alone_makes_nothing_ours() {
    let (header, zeros) = (b"SQLite format 3\0".to_vec(), vec![0; 4096]);
    for (name, content) in [
        ("plimsoll_run_0a1.lock", Vec::new()),
        ("plimsoll_run_0a1.db", Vec::new()),
        ("plimsoll_run_0a1.db", zeros.clone()),
        ("plimsoll_run_0a1.db", header),
        ("plimsoll_run_0a1.db-wal", Vec::new()),
        ("plimsoll_run_0a1.db-journal", zeros.clone()),
        ("plimsoll_run_0a1.lock", Mark::new("x.db.plimsoll_run_0a2").to_string().into_bytes()),
        ("plimsoll_run_0a1.lock", Mark::new("x.db.plimsoll_run_0a1").to_string().into_bytes()[..90].to_vec()),
        ("plimsoll_copy_0a1a.db", zeros),
    ] {
        let folder = Folder::new();
        fs::write(folder.at(name), &content).unwrap();
        let statuses = folder.open().workspaces().unwrap();
        assert!(statuses.len() == 1 && statuses[0].not_ours.is_some(), "{name}: {statuses:?}");
        folder.refusal(&statuses[0].workspace);
        assert_eq!(fs::read(folder.at(name)).unwrap(), content, "{name}");
    }
}

#[test]
fn what_is_no_file_is_named_and_left() {
    for name in ["plimsoll_run_0a1.lock", "plimsoll_run_0a1.db"] {
        let folder = Folder::new();
        if name.ends_with("1.db") {
            fs::write(folder.at("plimsoll_run_0a1.lock"), Mark::new("x.db.plimsoll_run_0a1").to_string()).unwrap();
        }
        let path = folder.at(name);
        let check = |kind: &str| {
            let said = folder.refusal(&run());
            assert!(said.contains(kind), "{said}");
            let status = folder.open().workspaces().unwrap().remove(0);
            assert!(status.not_ours.is_some_and(|reason| reason.message.contains(kind)) && !status.leased);
            assert_eq!(
                folder.open().claim(&run(), ClaimMode::Exclusive).err().map(|error| error.kind),
                Some(ErrorKind::Safety)
            );
        };
        fs::create_dir(&path).unwrap();
        check("a directory");
        fs::remove_dir(&path).unwrap();
        fs::write(folder.folder.path().join("theirs"), "").unwrap();
        symlink(folder.folder.path().join("theirs"), &path).unwrap();
        check("a link");
        assert_eq!(fs::read(folder.folder.path().join("theirs")).unwrap(), b"");
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        check("a FIFO");
    }
}

/// One object of somebody else's in our file, or a file beside it, and all of it stays.
#[test]
fn what_is_somebody_elses_in_a_file_of_ours_keeps_it() {
    for (object, named) in [
        ("CREATE TABLE mine (a)", "table mine"),
        ("CREATE TABLE mine (/* plimsoll: table t */ a)", "table mine"),
        ("CREATE VIEW v AS SELECT 1", "view v"),
        ("CREATE TABLE mine (a); CREATE INDEX i ON mine (a)", "index i"),
        ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END", "trigger g"),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", "table f"),
    ] {
        let folder = Folder::new();
        make(&folder);
        let theirs = rusqlite::Connection::open(folder.at("plimsoll_run_0a1.db")).unwrap();
        theirs.execute_batch(object).unwrap();
        drop(theirs);
        let said = folder.refusal(&run());
        assert!(said.contains(named), "{said}");
    }
    for (beside, named) in [("plimsoll_run_0a1.db-wal", "my notes"), ("plimsoll_run_0a1.db-journal", "my letters")] {
        let folder = Folder::new();
        make(&folder);
        fs::write(folder.at(beside), named).unwrap();
        assert!(folder.refusal(&run()).contains(beside));
    }
    // What belongs to our tables goes with them, and what a definition made is ours once the run says so.
    let folder = Folder::new();
    let database = folder.open();
    let lease = database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&run(), &run()).unwrap();
    for sql in ["CREATE TABLE own (a, b)", "CREATE INDEX i ON own (b)", "CREATE TABLE other (a)"] {
        session.execute(sql, &[]).unwrap();
        if !sql.contains("other") {
            session.adopt_tables().unwrap();
        }
    }
    drop((session, lease));
    let said = folder.refusal(&run());
    assert!(said.contains("table other") && !said.contains("table own"), "{said}");
    let lease = database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap();
    database.session(&run(), &run()).unwrap().adopt_tables().unwrap();
    drop(lease);
    assert!(folder.open().remove(&run()).unwrap());
    // A header that was copied from elsewhere.
    let folder = Folder::new();
    make(&folder);
    let theirs = rusqlite::Connection::open(folder.at("plimsoll_run_0a1.db")).unwrap();
    theirs.execute_batch("PRAGMA user_version = 5").unwrap();
    drop(theirs);
    assert!(folder.refusal(&run()).contains("header"));
}

#[test]
fn what_another_process_has_open_is_kept() {
    let folder = Folder::new();
    make(&folder);
    let file = fs::File::open(folder.at("plimsoll_run_0a1.db")).unwrap();
    let mut holder = Command::new("sleep").arg("3600").stdin(file).spawn().unwrap();
    let before = folder.names();
    let error = folder.open().remove(&run()).unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.message.contains(&format!("process {}", holder.id())), "{error}");
    assert_eq!(folder.names(), before);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(folder.open().remove(&run()).unwrap());
    assert!(folder.names().iter().all(|name| !name.contains("plimsoll")), "{:?}", folder.names());
}

/// A process was killed at each step of making a place: what it leaves is ours by its note, and nobody else's store says so.
#[test]
fn what_was_begun_and_never_marked_is_known_from_the_note() {
    let leftovers: [(&str, &[u8]); 4] = [
        ("plimsoll_run_0a1.lock", b""),
        ("plimsoll_run_0a1.lock", b"plimsoll: meas"),
        ("plimsoll_run_0a1.db", b""),
        ("plimsoll_run_0a1.db", b"SQLite for"),
    ];
    for (name, content) in leftovers {
        let folder = Folder::new();
        make(&folder);
        assert!(folder.open_elsewhere().remove(&run()).unwrap() && folder.names().is_empty());
        let target = folder.open().description().fingerprint.clone();
        let mark = folder.intents.at(&target).begin("x.db.plimsoll_run_0a1").unwrap();
        if name.ends_with("1.db") {
            fs::write(folder.at("plimsoll_run_0a1.lock"), mark.to_string()).unwrap();
        }
        // As much of the mark as was written.
        let text = mark.to_string().into_bytes();
        let content = if content.starts_with(b"plim") { &text[..content.len()] } else { content };
        fs::write(folder.at(name), content).unwrap();
        assert_eq!(folder.open_elsewhere().remove(&run()).unwrap_err().kind, ErrorKind::Safety);
        assert!(folder.open().workspaces().unwrap()[0].is_left());
        assert!(folder.open().remove(&run()).unwrap(), "{name}");
        assert!(folder.names().is_empty());
    }
}

/// The files that a removal would delete, in its order, with a kill after each: a later one finds the rest.
#[test]
fn a_removal_that_was_cut_short_is_resumed_at_every_step() {
    let copy = run().copy('a');
    let order = ["-wal", "-shm", "-journal", ""];
    for done in 0..=order.len() {
        let folder = Folder::new();
        let database = folder.open();
        let lease = database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap();
        let mut transfer = database.transfer(&run()).unwrap().unwrap();
        transfer.make(&copy).unwrap();
        drop((transfer, lease, database));
        let file = folder.at(&format!("{copy}.db"));
        for ending in &order[..3] {
            fs::write(beside(&file, ending), "").unwrap();
        }
        for ending in &order[..done] {
            fs::remove_file(beside(&file, ending)).unwrap();
        }
        let database = folder.open_elsewhere();
        // The lock file goes last: it says whose the copy is.
        if done < order.len() {
            assert_eq!(database.remove(&run()).unwrap_err().kind, ErrorKind::Safety);
        }
        for status in database.workspaces().unwrap() {
            assert!(status.is_left() && database.remove(&status.workspace).unwrap(), "{status:?} after {done}");
        }
        assert!(folder.names().is_empty(), "{:?} after {done}", folder.names());
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A copy is made in place of an earlier one only if that is ours.
#[test]
fn a_copy_takes_the_place_of_nothing_that_is_somebody_elses() {
    let folder = Folder::new();
    let database = folder.open();
    let _lease = database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap();
    let mut transfer = database.transfer(&run()).unwrap().unwrap();
    let (one, two) = (run().copy('a'), run().copy('b'));
    transfer.make(&one).unwrap();
    let file = folder.at(&format!("{two}.db"));
    fs::write(&file, "theirs").unwrap();
    assert_eq!(transfer.make(&two).unwrap_err().kind, ErrorKind::Safety);
    assert_eq!(transfer.remove(&two).unwrap_err().kind, ErrorKind::Safety);
    assert_eq!(fs::read(&file).unwrap(), b"theirs");
}
