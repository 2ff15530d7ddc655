//! What may stand where the store should be, and what is done about it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use common::{begun, finished, keep};
use plimsoll_measurement::event::Kind;
use plimsoll_measurement::{Basis, RunRecord};
use plimsoll_store::{Filter, RunStore, RunSummary, StoreError};
use rusqlite::Connection;

#[test]
fn a_missing_store_is_made_with_its_folder_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/runs.db");
    keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
    assert_eq!(RunStore::open(&path).unwrap().record("run-1").unwrap(), finished("run-1"));
}

#[test]
fn an_empty_file_is_a_new_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let store = RunStore::open(file.path()).unwrap();
    assert_eq!(store.summaries(&Filter::default()).unwrap(), []);
}

#[test]
fn who_only_reads_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/runs.db");
    assert!(matches!(RunStore::open_to_read(&path), Err(StoreError::Missing { .. })));
    assert!(!folder.path().join("some").exists());
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(RunStore::open_to_read(&empty), Err(StoreError::Missing { .. })));
    assert_eq!(empty.metadata().unwrap().len(), 0);
    keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
    let reader = RunStore::open_to_read(&path).unwrap();
    // While others write.
    keep(&RunStore::open(&path).unwrap(), &begun("run-2")).unwrap();
    assert_eq!(reader.summaries(&Filter::default()).unwrap().len(), 2);
    drop(reader);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["runs.db"]);
    for (name, content) in [("text.db", "a long note\n".repeat(1000)), ("short.db", "a note".to_owned())] {
        fs::write(folder.path().join(name), content).unwrap();
        let refused = RunStore::open_to_read(folder.path().join(name));
        assert!(matches!(refused, Err(StoreError::NotAStore { .. })), "{refused:?}");
    }
    assert!(matches!(RunStore::open_to_read(folder.path()), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_view_in_the_place_of_a_table_makes_it_no_store_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
    // It would be read without end.
    let endless = "ALTER TABLE run RENAME TO was; \
                   CREATE VIEW run AS WITH RECURSIVE n AS (SELECT 1 AS run_id UNION ALL SELECT 1 FROM n) SELECT * FROM n";
    Connection::open(&path).unwrap().execute_batch(endless).unwrap();
    for refused in [RunStore::open(&path), RunStore::open_to_read(&path), RunStore::open_unchanged(&path)] {
        let Err(StoreError::NotAStore(words)) = refused else { panic!("{refused:?}") };
        assert!(words.contains("has a view or a trigger"), "{words}");
    }
}

#[test]
fn a_store_that_is_moved_keeps_nothing_unsaid() {
    let folder = tempfile::tempdir().unwrap();
    let [path, elsewhere] = ["runs.db", "old.db"].map(|name| folder.path().join(name));
    let moved = |store: &RunStore, run: &str| {
        let refused = keep(store, &finished(run));
        let says = |words: &str| words.contains("runs.db was moved") && words.contains("put the store back beside it");
        assert!(matches!(&refused, Err(StoreError::Moved(words)) if says(words)), "{refused:?}");
    };
    let store = RunStore::open(&path).unwrap();
    keep(&store, &finished("run-1")).unwrap();
    fs::rename(&path, &elsewhere).unwrap();
    moved(&store, "run-2");
    // Another file in its place is not that one either.
    fs::write(&path, "a note").unwrap();
    moved(&store, "run-3");
    let path = folder.path().join("gone").join("runs.db");
    let store = RunStore::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    moved(&store, "run-4");
}

#[test]
#[ignore = "the process beside the test below"]
fn looking() {
    let other = Connection::open(std::env::var_os("LOOKED_AT").unwrap()).unwrap();
    let count: i64 = other.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
}

/// Whoever looks into the file himself takes SQLite's locks from it: another client would take itself for the last one then, and its log away.
#[test]
fn a_store_at_work_keeps_its_log_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = RunStore::open(&path).unwrap();
    keep(&store, &finished("run-1")).unwrap();
    keep(&store, &finished("run-2")).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    let looked = other.args(["--exact", "looking", "--ignored"]).env("LOOKED_AT", &path).output().unwrap();
    assert!(looked.status.success(), "{looked:?}");
    assert!(folder.path().join("runs.db-wal").exists(), "its log is there");
    keep(&store, &finished("run-3")).unwrap();
}

/// SQLite goes on with what it knows of the file, and what it says is kept is nowhere.
#[test]
fn a_store_that_is_emptied_keeps_nothing_unsaid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = RunStore::open(&path).unwrap();
    keep(&store, &finished("run-1")).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    let is_said = |refused: &Result<usize, StoreError>, name: &str| {
        let says = |words: &str| words.contains(&format!("{name} was emptied"));
        assert!(matches!(refused, Err(StoreError::Moved(words)) if says(words)), "{refused:?}");
    };
    is_said(&keep(&store, &finished("run-2")), "runs.db");
    // So is one of which a part is gone, and a log.
    for (name, part) in [("half.db", "half.db"), ("log.db", "log.db-wal")] {
        let store = RunStore::open(folder.path().join(name)).unwrap();
        keep(&store, &finished("run-1")).unwrap();
        keep(&store, &finished("run-2")).unwrap();
        let file = fs::OpenOptions::new().write(true).open(folder.path().join(part)).unwrap();
        let bytes = file.metadata().unwrap().len();
        file.set_len(if part == name { bytes / 2 } else { 0 }).unwrap();
        is_said(&keep(&store, &finished("run-3")), part);
    }
}

#[test]
fn many_may_make_the_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || keep(&RunStore::open(path).unwrap(), &begun(&format!("run-{n}"))).unwrap());
        }
    });
    assert_eq!(RunStore::open(&path).unwrap().summaries(&Filter::default()).unwrap().len(), 8);
}

#[test]
fn a_store_whose_version_does_not_fit_its_tables_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(RunStore::open(&path).unwrap());
    for version in [0, -5] {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        let error = RunStore::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Version(_)) && error.to_string().contains("is damaged"), "{error}");
    }
}

#[test]
fn a_store_of_a_newer_release_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    drop(RunStore::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = RunStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Version { .. }));
    let text = error.to_string();
    assert!(text.contains("99") && text.contains("newer release") && text.contains("update plimsoll"), "{text}");
}

#[test]
fn a_file_of_another_kind_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("short", "a note".to_owned()), ("long", "a long note\n".repeat(1000))] {
        let path = folder.path().join(name);
        fs::write(&path, &content).unwrap();
        assert!(matches!(RunStore::open(&path), Err(StoreError::NotAStore { .. })), "{name}");
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
    let refused = RunStore::open(&path);
    let said = refused.unwrap_err();
    assert!(matches!(said, StoreError::NotAStore { .. }) && said.to_string().contains("252006674"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A database with its last commit in the log beside it alone.
fn unfinished(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch("CREATE TABLE letters (text TEXT); INSERT INTO letters VALUES ('dear')").unwrap();
    connection
}

fn all_of(folder: &Path) -> Vec<(OsString, Option<Vec<u8>>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let is_file = entry.file_type().unwrap().is_file();
            (entry.file_name(), is_file.then(|| fs::read(entry.path()).unwrap()))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn what_lies_beside_another_programs_database_stays() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let live = unfinished(&other.path().join("a.db"));
    for name in ["a.db", "a.db-wal"] {
        fs::copy(other.path().join(name), folder.path().join(name)).unwrap();
    }
    let before = all_of(folder.path());
    assert!(before[1].1.as_ref().is_some_and(|log| log.len() > 1000));
    let path = folder.path().join("a.db");
    for opened in [RunStore::open(&path), RunStore::open_to_read(&path), RunStore::open_unchanged(&path)] {
        assert!(matches!(opened, Err(StoreError::NotAStore { .. })), "{opened:?}");
        assert_eq!(all_of(folder.path()), before);
    }
    drop(live);
}

#[test]
fn a_store_is_not_made_where_somebodys_log_or_journal_lies() {
    let other = tempfile::tempdir().unwrap();
    let live = unfinished(&other.path().join("a.db"));
    let log = fs::read(other.path().join("a.db-wal")).unwrap();
    for end in ["-wal", "-journal", "-shm"] {
        for is_empty in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.db");
            fs::write(folder.path().join(format!("x.db{end}")), if is_empty { &[][..] } else { &log }).unwrap();
            let before = all_of(folder.path());
            let said = RunStore::open(&path).unwrap_err().to_string();
            assert!(said.contains(&format!("x.db{end} is of another database")), "{said}");
            assert_eq!(all_of(folder.path()), before);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let made = RunStore::open(&path).map(drop);
        made.unwrap();
        symlink("/nowhere", folder.path().join(format!("x.db{end}"))).unwrap();
        let said = RunStore::open_to_read(&path).unwrap_err().to_string();
        assert!(said.contains(&format!("x.db{end} is no file")), "{said}");
    }
    drop(live);
}

/// Somebody's log or journal beside a store of ours would be played into it, and the runs would be gone.
#[test]
fn a_store_with_another_databases_files_beside_it_is_not_opened() {
    let other = tempfile::tempdir().unwrap();
    let live = unfinished(&other.path().join("a.db"));
    let log = fs::read(other.path().join("a.db-wal")).unwrap();
    let mut journal = vec![0_u8; 4096];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    let notes = b"notes of somebody, longer than a header of a log has to be".to_vec();
    for (end, content) in
        [("-wal", &log), ("-wal", &notes), ("-shm", &notes), ("-journal", &notes), ("-journal", &journal)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
        fs::write(folder.path().join(format!("x.db{end}")), content).unwrap();
        let before = all_of(folder.path());
        for opened in [RunStore::open(&path), RunStore::open_to_read(&path), RunStore::open_unchanged(&path)] {
            let said = opened.unwrap_err().to_string();
            assert!(said.contains(&format!("x.db{end} is of another database")), "{said}");
            assert_eq!(all_of(folder.path()), before);
        }
        fs::remove_file(folder.path().join(format!("x.db{end}"))).unwrap();
        assert_eq!(RunStore::open(&path).unwrap().record("run-1").unwrap(), finished("run-1"));
    }
    drop(live);
}

#[test]
fn a_store_with_two_names_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    drop(RunStore::open(&path).unwrap());
    fs::hard_link(&path, folder.path().join("y.db")).unwrap();
    let said = RunStore::open(folder.path().join("y.db")).unwrap_err().to_string();
    assert!(said.contains("has several names"), "{said}");
}

/// Whoever puts another store in the place of one that was killed, or a copy of an earlier or later day, leaves the log of that one beside it.
#[test]
fn a_store_with_the_log_of_another_store_or_time_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |path: &Path, number: u32| {
        keep(&RunStore::open(path).unwrap(), &finished(&format!("run-{number}"))).unwrap();
    };
    run(&at("x.db"), 0);
    fs::copy(at("x.db"), at("early.db")).unwrap();
    for number in 1..30 {
        run(&at("x.db"), number);
    }
    let logged = |name: &str| {
        let store = RunStore::open(at(name)).unwrap();
        keep(&store, &finished("told")).unwrap();
        let [file, log] = ["", "-wal"].map(|end| fs::read(at(&format!("{name}{end}"))).unwrap());
        (file, log)
    };
    let (late, late_log) = logged("x.db");
    let (early, early_log) = logged("early.db");
    for (file, log, is_own) in
        [(&late, &late_log, true), (&early, &early_log, true), (&late, &early_log, false), (&early, &late_log, false)]
    {
        let other = tempfile::tempdir().unwrap();
        let path = other.path().join("x.db");
        fs::write(&path, file).unwrap();
        fs::write(other.path().join("x.db-wal"), log).unwrap();
        match RunStore::open(&path) {
            Ok(store) => assert!(is_own && store.record("told").unwrap() == finished("told")),
            Err(error) => assert!(!is_own && error.to_string().contains("x.db-wal is of another database"), "{error}"),
        }
    }
}

/// The log of a store that was killed, with runs that are nowhere else, is its own.
#[test]
fn the_log_of_a_killed_store_is_read() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = RunStore::open(folder.path().join("x.db")).unwrap();
    keep(&store, &finished("run-1")).unwrap();
    for name in ["x.db", "x.db-wal"] {
        fs::copy(folder.path().join(name), other.path().join(name)).unwrap();
    }
    assert!(fs::metadata(other.path().join("x.db-wal")).unwrap().len() > 1000);
    let copy = RunStore::open_to_read(other.path().join("x.db")).unwrap();
    assert_eq!(copy.record("run-1").unwrap(), finished("run-1"));
}

#[test]
fn what_a_killed_maker_left_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    // The file was empty before: a journal of SQLite's says so.
    let mut journal = [0_u8; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[20..28].copy_from_slice(&[0, 0, 2, 0, 0, 0, 16, 0]);
    fs::write(folder.path().join("x.db-journal"), journal).unwrap();
    fs::write(&path, "").unwrap();
    RunStore::open(&path).unwrap();
    assert_eq!(&fs::read(&path).unwrap()[68..72], b"PLIM");
}

#[test]
fn an_empty_file_becomes_a_store_with_its_rights_by_one_of_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("x.db", folder.path().join("link.db")).unwrap();
    std::thread::scope(|scope| {
        for (number, name) in ["x.db", "link.db"].repeat(8).into_iter().enumerate() {
            let path = folder.path().join(name);
            scope.spawn(move || keep(&RunStore::open(path).unwrap(), &begun(&format!("run-{number}"))).unwrap());
        }
    });
    assert_eq!(RunStore::open(&path).unwrap().summaries(&Filter::default()).unwrap().len(), 16);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(folder.path().join("link.db").is_symlink());
    assert_eq!(all_of(folder.path()).len(), 2);
}

/// A user who has the file locked for the time of a run (`flock FILE plimsoll run ...`) does not wait for himself.
#[test]
fn an_empty_file_that_is_locked_becomes_a_store_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let locked = fs::File::create(&path).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
    assert_eq!(RunStore::open(&path).unwrap().record("run-1").unwrap(), finished("run-1"));
}

#[test]
fn a_log_that_is_taken_away_ends_the_run_and_the_store_has_what_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = RunStore::open(&path).unwrap();
    keep(&store, &finished("run-1")).unwrap();
    fs::remove_file(folder.path().join("x.db-wal")).unwrap();
    let said = keep(&store, &finished("run-2")).unwrap_err().to_string();
    assert!(said.contains("x.db-wal was moved, removed or replaced"), "{said}");
    drop(store);
    let runs = RunStore::open(&path).unwrap().summaries(&Filter::default()).unwrap();
    assert_eq!(runs.len(), 2, "{runs:?}");
}

#[test]
fn a_directory_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let said = RunStore::open(folder.path()).unwrap_err().to_string();
    assert_eq!(said, format!("{} is a directory, not a result store", folder.path().display()));
}

#[test]
fn a_folder_that_can_not_be_made_is_told_from_one_that_may_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below_a_file = file.path().join("runs.db");
    assert!(matches!(RunStore::open(&below_a_file), Err(StoreError::Failed { .. })));
    // Nobody may make folders there, not even root.
    let kernel = if cfg!(target_os = "linux") { "/sys/plimsoll" } else { "/plimsoll" };
    let refused = RunStore::open(Path::new(kernel).join("runs.db"));
    assert!(matches!(refused, Err(StoreError::Permission { .. })), "{refused:?}");
}

#[test]
fn a_damaged_store_is_an_error_not_an_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    keep(&RunStore::open(&path).unwrap(), &finished("run-1")).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE event SET document = '{}' WHERE kind = 'finished'", []).unwrap();
    connection.execute("UPDATE run SET figure = '{}'", []).unwrap();
    let store = RunStore::open(&path).unwrap();
    assert!(matches!(store.record("run-1"), Err(StoreError::Document { .. })));
    assert!(matches!(store.summaries(&Filter::default()), Err(StoreError::Document { .. })));
}

/// A store as release 0.1.0 left it: a run that failed, one of the lab, one of requests, a ladder, and one that was killed.
#[test]
fn a_store_of_an_earlier_release_is_brought_up_to_date() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    fs::copy(data.join("version-1.db"), &path).unwrap();
    assert!(matches!(RunStore::open_unchanged(&path), Err(StoreError::Version { .. })));
    let store = RunStore::open_to_read(&path).unwrap();

    // What that release showed of them, the newest first.
    let shown = fs::read_to_string(data.join("version-1.jsonl")).unwrap();
    let read = |line: &str| match Kind::read("finished", line).unwrap() {
        Kind::Finished(record) => *record,
        other => panic!("{other:?}"),
    };
    let runs: Vec<RunRecord> = shown.lines().map(read).collect();
    let summaries = store.summaries(&Filter::default()).unwrap();
    assert_eq!(summaries, runs.iter().cloned().map(RunSummary::from).collect::<Vec<_>>());
    let states: Vec<_> = summaries.iter().map(|run| (run.ended_at.is_some(), run.complete)).collect();
    assert_eq!(states, [(false, false), (true, true), (true, true), (true, true), (true, false)]);
    for run in &runs {
        assert_eq!(store.record(&run.run_id).unwrap(), *run);
    }
    assert!(runs[0].repetitions[0].requests[0].operations > 0, "what was kept of the one that was killed");

    // They go on as others do: an event that comes late, a merge into a new store.
    let new = RunStore::open(folder.path().join("new.db")).unwrap();
    assert_eq!(new.merge_from(&store).unwrap(), runs.len());
    for run in &runs {
        assert_eq!(new.record(&run.run_id).unwrap(), *run);
    }
}

#[test]
fn a_damaged_run_of_an_earlier_release_keeps_nobody_from_the_others() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-1.db");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    fs::copy(data, &path).unwrap();
    let damage = "UPDATE run SET document = 'ruined' WHERE test = 'cpu-join'";
    assert_eq!(Connection::open(&path).unwrap().execute(damage, []).unwrap(), 1);
    let store = RunStore::open(&path).unwrap();
    let runs = store.summaries(&Filter::default()).unwrap();
    assert_eq!(runs.len(), 5);
    for run in runs {
        assert_eq!(store.record(&run.run_id).is_err(), run.test == "cpu-join", "{}", run.test);
    }
}

#[test]
fn a_note_is_on_disk_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let note = |made| plimsoll_store::Note { token: "t".to_owned(), made };
    RunStore::open(&path).unwrap().keep_intent("here", "a", &note(false)).unwrap();
    let store = RunStore::open(&path).unwrap();
    assert_eq!(store.intent("here", "a").unwrap(), Some(note(false)));
    assert_eq!((store.intent("there", "a").unwrap(), store.intent("here", "b").unwrap()), (None, None));
    store.keep_intent("here", "a", &note(true)).unwrap();
    assert_eq!(store.intent("here", "a").unwrap(), Some(note(true)));
    store.forget_intent("here", "a").unwrap();
    assert_eq!(RunStore::open(&path).unwrap().intent("here", "a").unwrap(), None);
}

/// Who opens a store that this process has open must not take the locks away that SQLite holds on it.
#[test]
fn a_store_that_is_opened_twice_keeps_its_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = RunStore::open(&path).unwrap();
    let write = |store: &RunStore, name: &str, at: u32| {
        keep(store, &begun(&format!("{name}-{at}"))).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..200).for_each(|at| write(&store, "a", at)));
        scope.spawn(|| (0..200).for_each(|_| drop(RunStore::open_to_read(&path).unwrap())));
        scope.spawn(|| (0..200).for_each(|at| write(&RunStore::open(&path).unwrap(), "b", at)));
    });
    assert_eq!(store.summaries(&Filter::default()).unwrap().len(), 400);
    let sound: String =
        Connection::open(&path).unwrap().pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_store_of_version_3_learns_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = RunStore::open(&path).unwrap();
    keep(&store, &RunRecord { basis: Basis::Predicted, ..finished("run-1") }).unwrap();
    keep(&store, &begun("run-2")).unwrap();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    for table in ["count", "thing", "event", "wait", "wait_name", "sum", "slot", "query", "text", "row"] {
        connection.execute_batch(&format!("DROP TABLE watched_{table}")).unwrap();
    }
    connection.execute_batch("DROP TABLE watched; ALTER TABLE run DROP COLUMN basis; ALTER TABLE run DROP COLUMN label; PRAGMA user_version = 3").unwrap();
    drop(connection);
    let runs = RunStore::open(&path).unwrap().summaries(&Filter::default()).unwrap();
    let known: Vec<_> = runs.iter().map(|run| (run.run_id.as_str(), run.basis)).collect();
    assert_eq!(known, [("run-2", Basis::Measured), ("run-1", Basis::Predicted)]);
}
