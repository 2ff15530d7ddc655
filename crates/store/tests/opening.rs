//! What may stand where the store should be, and what is done about it.

mod common;

use std::fs;
use std::path::Path;

use common::{begun, finished};
use plimsoll_store::{Filter, SqliteStore, Store, StoreError};
use rusqlite::Connection;

#[test]
fn a_missing_store_is_made_with_its_folder_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/runs.db");
    SqliteStore::open(&path).unwrap().begin(&finished("run-1")).unwrap();
    assert_eq!(SqliteStore::open(&path).unwrap().load("run-1").unwrap(), finished("run-1"));
}

#[test]
fn an_empty_file_is_a_new_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let store = SqliteStore::open(file.path()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap(), []);
}

#[test]
fn who_only_reads_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/runs.db");
    assert!(matches!(SqliteStore::open_to_read(&path), Err(StoreError::Missing { .. })));
    assert!(!folder.path().join("some").exists());
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(SqliteStore::open_to_read(&empty), Err(StoreError::Missing { .. })));
    assert_eq!(empty.metadata().unwrap().len(), 0);
    SqliteStore::open(&path).unwrap().begin(&finished("run-1")).unwrap();
    let reader = SqliteStore::open_to_read(&path).unwrap();
    // While others write.
    SqliteStore::open(&path).unwrap().begin(&begun("run-2")).unwrap();
    assert_eq!(reader.list(&Filter::default()).unwrap().len(), 2);
    drop(reader);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["runs.db"]);
    for (name, content) in [("text.db", "a long note\n".repeat(1000)), ("short.db", "a note".to_owned())] {
        fs::write(folder.path().join(name), content).unwrap();
        let refused = SqliteStore::open_to_read(folder.path().join(name));
        assert!(matches!(refused, Err(StoreError::NotSqlite { .. })), "{refused:?}");
    }
    assert!(matches!(SqliteStore::open_to_read(folder.path()), Err(StoreError::Directory { .. })));
}

#[test]
fn many_may_make_the_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || SqliteStore::open(path).unwrap().begin(&begun(&format!("run-{n}"))).unwrap());
        }
    });
    assert_eq!(SqliteStore::open(&path).unwrap().list(&Filter::default()).unwrap().len(), 8);
}

#[test]
fn a_store_of_a_newer_release_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }));
    let text = error.to_string();
    assert!(text.contains("99") && text.contains("newer release") && text.contains("update plimsoll"), "{text}");
}

#[test]
fn a_file_of_another_kind_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("short", "a note".to_owned()), ("long", "a long note\n".repeat(1000))] {
        let path = folder.path().join(name);
        fs::write(&path, &content).unwrap();
        assert!(matches!(SqliteStore::open(&path), Err(StoreError::NotSqlite { .. })), "{name}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letters.db");
    let sql = "CREATE TABLE letters (text TEXT); PRAGMA application_id = 252006674";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path);
    assert!(matches!(refused, Err(StoreError::Foreign { application_id: 252_006_674, .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_directory_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(SqliteStore::open(folder.path()), Err(StoreError::Directory { path }) if path == folder.path()));
}

#[test]
fn a_folder_that_can_not_be_made_is_told_from_one_that_may_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below_a_file = file.path().join("runs.db");
    assert!(matches!(SqliteStore::open(&below_a_file), Err(StoreError::Open { .. })));
    // Nobody may make folders there, not even root.
    let kernel = if cfg!(target_os = "linux") { "/sys/plimsoll" } else { "/plimsoll" };
    let refused = SqliteStore::open(Path::new(kernel).join("runs.db"));
    assert!(matches!(refused, Err(StoreError::Permission { .. })), "{refused:?}");
}

#[test]
fn a_damaged_store_is_an_error_not_an_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    SqliteStore::open(&path).unwrap().begin(&finished("run-1")).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE run SET document = '{}'", []).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert!(matches!(store.load("run-1"), Err(StoreError::Document { what: "head", .. })));
    assert!(matches!(store.list(&Filter::default()), Err(StoreError::Document { .. })));
}
