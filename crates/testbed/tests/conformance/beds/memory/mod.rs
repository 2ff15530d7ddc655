//! An engine in memory, which nobody needs to install: how little an engine has to be. Everything of it is in this folder; SQL
//! is read by SQLite's library, on databases without files.

mod database;
mod session;

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::{Credentials, Database, Engine, Error, ErrorKind, Result, Target, Workspace};

use self::database::Store;

/// The engine `memory:NAME`. Whoever opens a name that is open already meets the same places there.
pub struct Memory;

impl Engine for Memory {
    fn products(&self) -> &'static [&'static str] {
        &["memory"]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["memory"]
    }

    fn open(&self, target: &Target, _: &Credentials, _: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        match target.url().expose().split_once(':') {
            Some((_, name)) if name.bytes().all(|byte| byte.is_ascii_lowercase()) => Ok(Box::new(database::open(name))),
            _ => Err(Error::new(ErrorKind::Usage, "a name in memory has small letters only").hint("write memory:NAME")),
        }
    }
}

/// The suite's target.
pub struct Bed;

/// Its name.
const NAME: &str = "suite";

impl super::Bed for Bed {
    fn engine(&self) -> &'static dyn Engine {
        &Memory
    }

    fn url(&self) -> String {
        format!("memory:{NAME}")
    }

    fn endless(&self) -> &'static str {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000000) SELECT count(*) FROM n"
    }

    fn has_all_floats(&self) -> bool {
        false
    }

    fn plant(&self, workspace: &Workspace) {
        let theirs = Store::of(NAME).make(workspace, false).unwrap();
        theirs.execute_batch("CREATE TABLE mine AS SELECT 42 AS answer").unwrap();
    }

    fn is_planted(&self, workspace: &Workspace) -> bool {
        let theirs = Store::of(NAME).connect(workspace).unwrap();
        theirs.query_row("SELECT answer FROM mine", [], |row| row.get::<_, i64>(0)).is_ok_and(|answer| answer == 42)
    }

    fn refused(&self) -> Vec<(String, ErrorKind)> {
        let url = |name: &str| (format!("memory:{name}"), ErrorKind::Usage);
        vec![url(""), url("a/b"), url(&format!("a?password={}", super::PLANTED))]
    }

    fn server(&self) -> Option<Box<dyn super::Server>> {
        None
    }
}

engine!(suite, super::Bed);
