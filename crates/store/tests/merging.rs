//! Runs of several stores put together.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{begun, finished, keep};
use plimsoll_measurement::RunRecord;
use plimsoll_store::{Filter, RunStore, StoreError};
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

    fn with(&self, name: &str, runs: &[RunRecord]) -> RunStore {
        let store = RunStore::open(self.path(name)).expect("a store");
        for run in runs {
            keep(&store, run).expect("a new run");
        }
        store
    }
}

fn ids(store: &RunStore) -> Vec<String> {
    store.summaries(&Filter::default()).expect("a list").into_iter().map(|run| run.run_id).collect()
}

#[test]
fn runs_come_over_whole_and_once() {
    let stores = Stores::new();
    let here = stores.with("here", &[finished("run-1"), finished("run-2")]);
    let there = stores.with("it's there", &[finished("run-2"), finished("run-3"), begun("run-4")]);
    assert_eq!(here.merge_from(&there).unwrap(), 2);
    assert_eq!(ids(&here), ["run-4", "run-3", "run-2", "run-1"]);
    assert_eq!(here.record("run-3").unwrap(), finished("run-3"));
    assert_eq!(here.merge_from(&there).unwrap(), 0);
    assert_eq!(here.merge_from(&here).unwrap(), 0);
    assert_eq!(ids(&there), ["run-4", "run-3", "run-2"]);
}

#[test]
fn what_is_here_wins_unless_it_is_unfinished() {
    let stores = Stores::new();
    let changed = RunRecord { build: "another".into(), ..finished("run-1") };
    let here = stores.with("here", &[finished("run-1")]);
    here.append(&common::step_by_step(&finished("run-2"))[..3]).unwrap();
    let there = stores.with("there", &[changed]);
    there.append(&common::step_by_step(&finished("run-2"))).unwrap();
    assert_eq!(here.merge_from(&there).unwrap(), 1);
    assert_eq!(here.record("run-1").unwrap(), finished("run-1"));
    assert_eq!(here.record("run-2").unwrap(), finished("run-2"));
}

#[test]
fn the_other_has_to_be_a_store_of_this_version() {
    let stores = Stores::new();
    let open = |name: &str| RunStore::open_unchanged(stores.path(name)).map(drop);
    assert!(matches!(open("nowhere"), Err(StoreError::Missing { .. })));
    assert!(!stores.path("nowhere").exists());
    fs::write(stores.path("empty"), "").unwrap();
    assert!(matches!(open("empty"), Err(StoreError::NotAStore { .. })));
    fs::write(stores.path("note"), "a note").unwrap();
    assert!(matches!(open("note"), Err(StoreError::NotAStore { .. })));
    for version in [0, 99] {
        drop(stores.with("other", &[]));
        let connection = rusqlite::Connection::open(stores.path("other")).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        match open("other") {
            Err(StoreError::Version(message)) => {
                assert!(message.contains(&format!("schema version {version},")), "{message}");
            }
            other => panic!("{version}: {other:?}"),
        }
        drop(connection);
        fs::remove_file(stores.path("other")).unwrap();
    }
}

#[test]
fn a_run_that_two_have_a_part_of_becomes_whole() {
    let stores = Stores::new();
    let (here, there) = (stores.with("here", &[]), stores.with("there", &[]));
    let events = common::step_by_step(&finished("run-1"));
    let (odd, even): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.sequence % 2 == 1);
    here.append(&odd).unwrap();
    there.append(&even).unwrap();
    here.merge_from(&there).unwrap();
    assert_eq!(here.record("run-1").unwrap(), finished("run-1"));
}
