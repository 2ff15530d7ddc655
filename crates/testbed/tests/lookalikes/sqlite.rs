//! Files beside the one that a target names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use plimsoll_engine::{ClaimMode, ColumnType, Database, Intents, Mark, Table, Workspace};
use plimsoll_sqlite::Sqlite;

use super::{Field, Luck, Marking, Planted, harvest, open};

struct Folder(tempfile::TempDir);

impl Folder {
    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("x.db.{name}"))
    }

    /// A place as a run makes it.
    fn make(&self, workspace: &Workspace) {
        let database = self.database();
        let _lease = database.claim(workspace, ClaimMode::Exclusive).unwrap().unwrap();
        let mut session = database.session(workspace, workspace).unwrap();
        session.create_table(&Table::new("t", &[("RowId", ColumnType::Int)])).unwrap();
    }
}

/// What somebody puts into a file of ours.
const INSIDE: [&str; 7] = [
    "CREATE TABLE mine (a)",
    "CREATE TABLE mine (/* plimsoll: table t */ a)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TABLE mine (a); CREATE INDEX i ON mine (a)",
    "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "PRAGMA user_version = 5",
];

impl Field for Folder {
    fn database(&self) -> Box<dyn Database> {
        open(&Sqlite, &format!("sqlite:{}/x.db", self.0.path().display()), &Intents::default())
    }

    fn plant(&mut self, luck: &mut Luck, number: usize) -> Planted {
        let workspace = if luck.once_in(5) {
            Workspace::data(number as u64)
        } else {
            Workspace::run(&format!("l{number:06}")).unwrap()
        };
        let (lock, file) = (self.at(&format!("{workspace}.lock")), self.at(&format!("{workspace}.db")));
        let object = format!("x.db.{workspace}");
        let planted = |ours, what: String| Planted { workspace: workspace.clone(), ours, what };
        match luck.below(6) {
            0 => {
                self.make(&workspace);
                planted(true, "whole".to_owned())
            }
            // The mark in the lock file is another one.
            1 => {
                let marking = Marking::any(luck);
                self.make(&workspace);
                // Of the same token, as its number stands in the header.
                if marking != Marking::Whole {
                    fs::write(&lock, marking.text(&object, luck)).unwrap();
                }
                planted(marking == Marking::Whole, format!("{marking:?}"))
            }
            2 => {
                let inside = *luck.one(&INSIDE);
                self.make(&workspace);
                rusqlite::Connection::open(&file).unwrap().execute_batch(inside).unwrap();
                planted(false, inside.to_owned())
            }
            3 => {
                let content = luck.one(&[&b""[..], b"SQLite format 3\0", b"theirs", &[0; 4096]]).to_vec();
                let ending = *luck.one(&[".db", ".lock", ".db-wal", ".db-shm", ".db-journal"]);
                fs::write(self.at(&format!("{workspace}{ending}")), &content).unwrap();
                planted(false, format!("{ending} of {} bytes", content.len()))
            }
            4 => {
                let path = luck.one(&[lock.clone(), file]).clone();
                if path != lock {
                    fs::write(&lock, Mark::new(&object).to_string()).unwrap();
                }
                let what = *luck.one(&["link", "directory", "FIFO"]);
                match what {
                    "link" => symlink(self.0.path().join("theirs"), &path).unwrap(),
                    "directory" => fs::create_dir(&path).unwrap(),
                    _ => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                }
                planted(false, format!("{what} at {}", path.display()))
            }
            _ => {
                let theirs = luck.once_in(2);
                self.make(&workspace);
                let ending = *luck.one(&["-wal", "-journal"]);
                fs::write(self.at(&format!("{workspace}.db{ending}")), if theirs { "my notes" } else { "" }).unwrap();
                planted(!theirs, format!("with {ending}, theirs: {theirs}"))
            }
        }
    }

    fn state(&mut self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap());
        let state = entries.map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let there = fs::symlink_metadata(entry.path()).unwrap();
            let content = if there.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            let text = format!(
                "{:?} {} {:x}",
                there.file_type(),
                there.len(),
                content.iter().fold(7_u64, |sum, byte| { sum.wrapping_mul(31).wrapping_add(u64::from(*byte)) })
            );
            (name.strip_prefix("x.db.").unwrap_or(&name).to_owned(), text)
        });
        state.collect()
    }

    fn clear(&mut self, _: &[Planted]) {
        for entry in fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap()) {
            let path = entry.path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir(path).unwrap();
            } else if entry.file_name() != "theirs" {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

#[test]
fn files_that_look_like_ours() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("theirs"), "precious").unwrap();
    harvest("sqlite", &mut Folder(folder));
}
