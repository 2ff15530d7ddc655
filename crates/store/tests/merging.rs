//! Runs of several stores put together.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{begun, finished, repetition};
use plimsoll_measurement::RunRecord;
use plimsoll_store::{Filter, SqliteStore, Store, StoreError};
use tempfile::TempDir;

struct Stores {
    folder: TempDir,
}

impl Stores {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn with(&self, name: &str, runs: &[RunRecord]) -> SqliteStore {
        let mut store = SqliteStore::open(self.path(name)).expect("a store");
        for run in runs {
            store.begin(run).expect("a new run");
        }
        store
    }
}

fn ids(store: &SqliteStore) -> Vec<String> {
    store.list(&Filter::default()).expect("a list").into_iter().map(|run| run.run_id).collect()
}

#[test]
fn runs_come_over_whole_and_once() {
    let stores = Stores::new();
    let mut here = stores.with("here", &[finished("run-1"), finished("run-2")]);
    let there = stores.with("it's there", &[finished("run-2"), finished("run-3"), begun("run-4")]);
    assert_eq!(here.merge_from(there.path()).unwrap(), 2);
    assert_eq!(ids(&here), ["run-4", "run-3", "run-2", "run-1"]);
    assert_eq!(here.load("run-3").unwrap(), finished("run-3"));
    assert_eq!(here.merge_from(there.path()).unwrap(), 0);
    assert_eq!(here.merge_from(stores.path("here")).unwrap(), 0);
    assert_eq!(ids(&there), ["run-4", "run-3", "run-2"]);
}

#[test]
fn what_is_here_wins_unless_it_is_unfinished() {
    let stores = Stores::new();
    let changed = RunRecord { build: "another".into(), ..finished("run-1") };
    let half = RunRecord { repetitions: vec![repetition("a", Vec::new())], ..begun("run-2") };
    let mut here = stores.with("here", &[finished("run-1"), half]);
    let there = stores.with("there", &[changed, finished("run-2")]);
    assert_eq!(here.merge_from(there.path()).unwrap(), 1);
    assert_eq!(here.load("run-1").unwrap(), finished("run-1"));
    assert_eq!(here.load("run-2").unwrap(), finished("run-2"));
}

#[test]
fn the_other_has_to_be_a_store_of_this_version() {
    let stores = Stores::new();
    let mut here = stores.with("here", &[]);
    assert!(matches!(here.merge_from(stores.path("nowhere")), Err(StoreError::Missing { .. })));
    assert!(!stores.path("nowhere").exists());
    fs::write(stores.path("empty"), "").unwrap();
    assert!(matches!(here.merge_from(stores.path("empty")), Err(StoreError::Foreign { .. })));
    fs::write(stores.path("note"), "a note").unwrap();
    assert!(matches!(here.merge_from(stores.path("note")), Err(StoreError::NotSqlite { .. })));
    for (version, name) in [(0, "older"), (99, "newer")] {
        drop(stores.with(name, &[]));
        let connection = rusqlite::Connection::open(stores.path(name)).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        match here.merge_from(stores.path(name)) {
            Err(StoreError::Older { found, .. } | StoreError::Newer { found, .. }) => assert_eq!(found, version),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(ids(&here), Vec::<String>::new());
}
