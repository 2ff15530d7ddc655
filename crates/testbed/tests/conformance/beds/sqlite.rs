//! SQLite: files in a folder.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use plimsoll_engine::{Engine, ErrorKind, Workspace};
use plimsoll_sqlite::Sqlite;
use tempfile::TempDir;

use super::Server;

pub struct Bed;

fn folder() -> &'static TempDir {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap())
}

fn file_of(workspace: &Workspace) -> PathBuf {
    folder().path().join(format!("user.db.{workspace}.db"))
}

const THEIRS: &str = "the only copy of a novel";

impl super::Bed for Bed {
    fn engine(&self) -> &'static dyn Engine {
        &Sqlite
    }

    fn url(&self) -> String {
        format!("sqlite:{}/user.db", folder().path().display())
    }

    fn endless(&self) -> &'static str {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000000) SELECT count(*) FROM n"
    }

    fn has_all_floats(&self) -> bool {
        false
    }

    fn plant(&self, workspace: &Workspace) {
        let theirs = rusqlite::Connection::open(file_of(workspace)).unwrap();
        theirs.execute_batch(&format!("CREATE TABLE mine AS SELECT '{THEIRS}' AS answer")).unwrap();
    }

    fn is_planted(&self, workspace: &Workspace) -> bool {
        let theirs = rusqlite::Connection::open(file_of(workspace)).unwrap();
        theirs.query_row("SELECT answer FROM mine", [], |row| row.get::<_, String>(0)).is_ok_and(|text| text == THEIRS)
    }

    fn refused(&self) -> Vec<(String, ErrorKind)> {
        let folder = folder().path();
        fs::write(folder.join("notes.txt"), THEIRS).unwrap();
        let url = |rest: &str| format!("sqlite:{}{rest}", folder.display());
        vec![
            (url("/notes.txt"), ErrorKind::Usage),
            (url("/none/file.db"), ErrorKind::Missing),
            (url("/file.db?page_size=100"), ErrorKind::Usage),
        ]
    }

    fn server(&self) -> Option<Box<dyn Server>> {
        None
    }
}
