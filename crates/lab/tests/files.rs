//! The files of a lab: temporary ones of large sorts, rollback journals, pages of every size, files that are kept and
//! opened again, two labs in one process, and very many sessions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::thread;
use std::time::Duration;

use common::{Bench, load, table};
use plimsoll_clock::in_threads;
use plimsoll_engine::{ColumnType, Database as _, Session, Sessions as _, Value};

const HARDWARE: &str = r#"
memory = "4MiB"
[data]
bandwidth = "20MiB/s"
iops = 2000
read_latency = "1ms"
write_latency = "1ms"
[log]
write_bandwidth = "4MiB/s"
write_latency = "1ms"
"#;

fn integrity(session: &mut dyn Session) {
    let mut said = String::new();
    let types = [ColumnType::Text(2000)];
    session
        .query("PRAGMA integrity_check", &[], &types, &mut |row| {
            let Value::Text(line) = row.get(0) else { panic!("no text") };
            said.push_str(line);
            Ok(())
        })
        .unwrap();
    assert_eq!(said, "ok");
}

fn scan(session: &mut dyn Session) -> u64 {
    session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap()
}

fn pages_read(bench: &Bench) -> u64 {
    bench.lab.server().state().counters.pages_read
}

/// Seconds that a sort takes, and the bytes it wrote to temporary files.
fn sort(temp: &str, store: &str) -> (f64, u64) {
    let bench = Bench::new(&format!("{HARDWARE}{temp}"));
    let mut session = bench.session();
    load(session.as_mut(), "t", 8000, 400);
    session.execute(&format!("PRAGMA temp_store = {store}"), &[]).unwrap();
    scan(session.as_mut());
    let (start, written) = (bench.seconds(), bench.lab.server().state().counters.data_writes.bytes);
    let mut last = i64::MIN;
    let mut count = 0;
    // By something that no index gives; the key goes the other way.
    session
        .query(
            "SELECT Number, Text FROM t ORDER BY Number",
            &[],
            &[ColumnType::BigInt, ColumnType::Text(2000)],
            &mut |row| {
                let Value::BigInt(number) = row.get(0) else { panic!("no number") };
                assert!(number > last);
                (last, count) = (number, count + 1);
                Ok(())
            },
        )
        .unwrap();
    assert_eq!(count, 8000);
    (bench.seconds() - start, bench.lab.server().state().counters.data_writes.bytes - written)
}

#[test]
fn a_sort_larger_than_memory_goes_to_the_device_of_temporary_files() {
    let slow = "[temp]\nbandwidth = \"2MiB/s\"\nread_latency = \"1ms\"\nwrite_latency = \"1ms\"\n";
    let fast = "[temp]\nbandwidth = \"200MiB/s\"\n";
    let (in_memory, none) = sort(slow, "memory");
    let (slow, written) = sort(slow, "file");
    let (fast, as_much) = sort(fast, "file");
    assert_eq!((none, written), (0, as_much));
    assert!(written > 8000 * 400, "{written}");
    // All of it is written and read again at the least.
    let at_least = 2.0 * written as f64 / f64::from(2 << 20);
    assert!(slow > 0.9 * at_least && fast < slow / 10.0 && in_memory < slow, "{in_memory} {fast} {slow} {at_least}");
}

#[test]
fn rollback_journals_work_and_take_time() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let bench = Bench::new(HARDWARE);
        let mut session = bench.session();
        load(session.as_mut(), "t", 2000, 400);
        let mut said = String::new();
        session
            .query(&format!("PRAGMA journal_mode = {mode}"), &[], &[ColumnType::Text(20)], &mut |row| {
                let Value::Text(mode) = row.get(0) else { panic!("no text") };
                mode.clone_into(&mut said);
                Ok(())
            })
            .unwrap();
        assert_eq!(said, mode);
        let start = bench.seconds();
        for row in 1..=50 {
            session.execute("UPDATE t SET Number = 7 WHERE RowId % 500 = ?1", &[Value::Int(row)]).unwrap();
        }
        session.execute("BEGIN IMMEDIATE", &[]).unwrap();
        session.execute("UPDATE t SET Number = 8", &[]).unwrap();
        session.execute("ROLLBACK", &[]).unwrap();
        assert_eq!(session.query_count("SELECT count(*) FROM t WHERE Number = 7", &[]).unwrap(), 200);
        assert!(bench.seconds() - start > 0.05, "{mode}: {}", bench.seconds() - start);
        integrity(session.as_mut());
    }
}

#[test]
fn pages_of_every_size_are_read_written_and_copied() {
    for page_bytes in [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536] {
        let hardware = format!("page_size = \"{page_bytes}B\"\n{HARDWARE}");
        let bench = Bench::new(&hardware);
        let mut session = bench.session();
        load(session.as_mut(), "t", 4000, 300);
        let size = session.table_size(&table("t")).unwrap().unwrap().table_bytes;
        assert!(size.is_multiple_of(page_bytes) && (4000 * 300..4000 * 800).contains(&size), "{page_bytes}: {size}");
        assert_eq!(scan(session.as_mut()), 4000);
        let read = pages_read(&bench);
        let pages = size / page_bytes;
        // Read-ahead may go beyond the table, but not beyond the file.
        assert!((pages..=pages + 2).contains(&read), "{page_bytes}: {read} of {pages}");
        for round in 1..=4 {
            session.execute("UPDATE t SET Number = ?1 WHERE RowId % 3 = 0", &[Value::BigInt(round)]).unwrap();
        }
        bench.clock.sleep(Duration::from_secs(10));
        let copied = bench.lab.server().state().counters.data_writes.bytes;
        assert!(copied > size / 4, "{page_bytes}: {copied}");
        assert_eq!(session.query_count("SELECT count(*) FROM t WHERE Number = 4", &[]).unwrap(), 1333);
        assert!(bench.lab.server().state().pool.pages() as u64 * page_bytes <= 4 << 20);
        integrity(session.as_mut());
        // Into the file by SQLite itself, and all of it is still there.
        assert!(session.checkpoint().unwrap());
        assert_eq!(session.query_count("SELECT count(*) FROM t WHERE Number = 4", &[]).unwrap(), 1333);
        assert_eq!(session.table_size(&table("t")).unwrap().unwrap().table_bytes, size);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_kept_is_opened_cold_with_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("disk");
    std::fs::create_dir(&real).unwrap();
    // By a link, as a folder of temporary files may be one.
    std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
    let url = format!("lab:test.toml?scale=1&file={}/link/lab", folder.path().display());
    let open = || Bench::with(HARDWARE, &url);
    {
        let bench = open();
        let mut session = bench.session();
        load(session.as_mut(), "t", 6000, 400);
        assert_eq!(scan(session.as_mut()), 6000);
        session.execute("UPDATE t SET Number = 1 WHERE RowId % 2 = 0", &[]).unwrap();
    }
    // The log has gone into the file.
    assert_eq!(names(&real), ["lab.plimsoll_run_test.db", "lab.plimsoll_run_test.lock"]);
    for round in 2..5 {
        let bench = open();
        let (mut session, mut other) = (bench.session(), bench.session());
        let before = pages_read(&bench);
        let sql = "SELECT count(*) FROM t WHERE Number = ?1";
        assert_eq!(session.query_count(sql, &[Value::BigInt(round - 1)]).unwrap(), 3000);
        let pages = session.table_size(&table("t")).unwrap().unwrap().table_bytes / 4096;
        assert!(pages_read(&bench) - before >= pages && bench.seconds() > 0.1);
        let warm = pages_read(&bench);
        session.execute("UPDATE t SET Number = ?1 WHERE RowId % 2 = 0", &[Value::BigInt(round)]).unwrap();
        // Everything fits, so nothing but the file's first page is read again, by whomever.
        assert_eq!(other.query_count(sql, &[Value::BigInt(round)]).unwrap(), 3000);
        assert!(pages_read(&bench) <= warm + 1);
        integrity(session.as_mut());
    }
}

#[test]
fn a_log_that_was_left_behind_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (left, copy) = (folder.path().join("left"), folder.path().join("copy"));
    std::fs::create_dir(&left).unwrap();
    std::fs::create_dir(&copy).unwrap();
    let open = |folder: &Path| Bench::with(HARDWARE, &format!("lab:test.toml?scale=1&file={}/lab", folder.display()));
    let bench = open(&left);
    let mut session = bench.session();
    let t = load(session.as_mut(), "t", 300, 400);
    for round in 0..20 {
        session.execute("UPDATE t SET Number = ?1 WHERE RowId < 50", &[Value::BigInt(round)]).unwrap();
    }
    let size = session.table_size(&t).unwrap().unwrap();
    // As a killed process leaves it: what SQLite wrote, with the log.
    for name in names(&left) {
        std::fs::copy(left.join(&name), copy.join(&name)).unwrap();
    }
    assert!(names(&copy).contains(&"lab.plimsoll_run_test.db-wal".to_owned()));
    let other = open(&copy);
    let mut reader = other.session();
    assert_eq!(reader.query_count("SELECT count(*) FROM t WHERE Number = 19", &[]).unwrap(), 49);
    assert_eq!(reader.table_size(&t).unwrap(), Some(size));
    integrity(reader.as_mut());
    reader.execute("UPDATE t SET Number = 20 WHERE RowId < 50", &[]).unwrap();
    assert_eq!(reader.query_count("SELECT count(*) FROM t WHERE Number = 20", &[]).unwrap(), 49);
}

/// Some work of four sessions; gives when it was done, to the nanosecond.
fn mix() -> u64 {
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 2000, 300);
    let jobs = (0..4).map(|number| {
        let mut session = bench.session();
        let work = move || {
            for step in 0..100 {
                let row = Value::Int((number * 499 + step * 31) % 2000 + 1);
                session.execute("UPDATE t SET Number = Number - 1 WHERE RowId = ?1", &[row]).unwrap();
                session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[row]).unwrap();
            }
        };
        (format!("session {number}"), work)
    });
    for outcome in in_threads(&bench.clock, jobs.collect()) {
        outcome.unwrap();
    }
    bench.clock.now().as_nanos()
}

#[test]
fn two_labs_in_one_process_do_not_know_of_each_other() {
    let alone = mix();
    let together: Vec<_> = (0..3).map(|_| thread::spawn(mix)).collect();
    for lab in together {
        assert_eq!(lab.join().unwrap(), alone);
    }
}

#[test]
fn one_thread_may_be_on_two_clocks() {
    let (one, two) = (Bench::new(HARDWARE), Bench::new(HARDWARE));
    let (mut first, mut second) = (one.session(), two.session());
    load(first.as_mut(), "t", 2000, 300);
    load(second.as_mut(), "t", 2000, 300);
    let (loaded, elsewhere) = (one.clock.now(), two.clock.now());
    assert_eq!(loaded, elsewhere);
    assert_eq!(scan(first.as_mut()), 2000);
    assert!(one.clock.now() > loaded.after(Duration::from_millis(20)));
    assert_eq!(two.clock.now(), elsewhere);
    assert_eq!(scan(second.as_mut()), 2000);
    assert_eq!(one.clock.now(), two.clock.now());
}

#[test]
fn two_thousand_sessions_are_opened_at_once() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Each has the database and the log open.
    const FILES: u64 = 5000;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < FILES) {
        let wider = Rlimit { current: Some(FILES.min(limit.maximum.unwrap_or(FILES))), maximum: limit.maximum };
        setrlimit(Resource::Nofile, wider).unwrap();
    }
    let bench = Bench::new(HARDWARE);
    load(bench.session().as_mut(), "t", 2000, 300);
    let mut sessions = Vec::new();
    while sessions.len() < 2000 {
        match bench.lab.session(&bench.workspace, &bench.workspace) {
            Ok(session) => sessions.push(session),
            // The machine allows a process fewer files, which is said as such.
            Err(error) => {
                assert!(limit.maximum.is_some_and(|most| most < FILES), "{error:?} after {}", sessions.len());
                break;
            }
        }
    }
    assert!(sessions.len() > 400, "{}", sessions.len());
    for (number, session) in sessions.iter_mut().enumerate() {
        let row = Value::Int(number as i32 % 2000 + 1);
        session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[row]).unwrap();
        if number % 50 == 0 {
            session.execute("UPDATE t SET Number = 7 WHERE RowId = ?1", &[row]).unwrap();
        }
    }
    let count = sessions.len().div_ceil(50) as u64;
    drop(sessions);
    let mut last = bench.session();
    assert_eq!(last.query_count("SELECT count(*) FROM t WHERE Number = 7", &[]).unwrap(), count);
    integrity(last.as_mut());
}

#[test]
fn a_path_may_hold_any_character_and_a_wrong_one_is_told_in_words_of_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("what?page_size=7");
    std::fs::create_dir(&odd).unwrap();
    let url = format!("lab:test.toml?scale=1&file={}", odd.join("a b").display());
    let bench = Bench::with("memory = \"1MiB\"\n", &url);
    load(bench.session().as_mut(), "t", 10, 10);
    assert!(std::fs::read_dir(&odd).unwrap().count() > 0);
    drop(bench);
    let clock = std::sync::Arc::new(plimsoll_clock::VirtualClock::new());
    let url = format!("lab:azure-sql-db/S2?file={}", odd.join("missing/lab").display());
    let error = plimsoll_lab::LabDatabase::open(&url, clock).unwrap_err();
    assert!(error.message.ends_with("missing does not exist"), "{error:?}");
    assert!(error.hint.unwrap().starts_with("give the target ?file=PATH"));
}

#[test]
fn a_fingerprint_is_that_of_the_hardware_and_not_of_its_name() {
    let print = |hardware: &str| {
        let bench = Bench::new(hardware);
        bench.lab.description().fingerprint.clone()
    };
    let small = print("memory = \"1MiB\"\n");
    assert_eq!(small, print("name = \"other\"\nmemory = \"1024KiB\" # the same\n"));
    assert_ne!(small, print("memory = \"2MiB\"\n"));
    assert!(small.starts_with("lab-test.toml-"), "{small}");
}
