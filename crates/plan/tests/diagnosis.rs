//! What holds an instance back, by waits, times and CPU: ten cases made for each rule and ten made against it, and the published layouts of
//! files with what each waited for.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::hindrance::Hindrance;
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, WaitShares, advise};
use plimsoll_plan::storage::Cores;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage, Wishes};

const DAY: Date = Date { year: 2018, month: 12, day: 18 };

/// A file whose writes take so long.
fn file(name: &str, kind: FileKind, size_gb: f64, write_ms: f64) -> DatabaseFile {
    DatabaseFile { write_ms: Some(write_ms), ..DatabaseFile::new("shop", name, kind, size_gb) }
}

fn advice(files: &[DatabaseFile], observed: &Observed) -> Vec<Advice> {
    let wishes = Wishes { day: Some(DAY), vcores: Some(8), space_gb: Some(8192.0) };
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    advise(files, &storage, &limits(files, &storage), observed)
}

fn ids(files: &[DatabaseFile], observed: &Observed) -> Vec<&'static str> {
    advice(files, observed).iter().map(|one| one.rule.id).collect()
}

fn waits(data: f64, log: f64, governor: f64) -> Observed {
    Observed { waits: Some(WaitShares { data, log, governor }), cpu_percent: Some(10.0) }
}

/// Ten numbers from 0 to 1.
fn parts() -> impl Iterator<Item = f64> {
    (0..10).map(|number| f64::from(number) / 9.0)
}

fn shop(data_ms: f64, log_ms: f64) -> Vec<DatabaseFile> {
    vec![file("data", FileKind::Data, 200.0, data_ms), file("log", FileKind::Log, 100.0, log_ms)]
}

#[test]
fn sessions_wait_most_for_what_holds_them_back() {
    for part in parts() {
        let slow = 10.1 + 80.0 * part;
        let data = waits(50.0 + 40.0 * part, 5.0, 1.0);
        assert_eq!(ids(&shop(slow, 5.0), &data), ["waits-for-data", "slow-file"], "{part}");
        assert_eq!(
            ids(&shop(10.0 * part, 5.0), &waits(50.0 + 40.0 * part, 5.0, 1.0)),
            ["waits-for-memory"],
            "as fast as it can: {part}"
        );
        assert_eq!(ids(&shop(slow, 5.0), &waits(30.0 * part, 5.0, 1.0)), [""; 0], "others wait for more: {part}");
        assert_eq!(ids(&shop(slow, 5.0), &waits(5.0, 50.0 + 40.0 * part, 1.0)), ["waits-for-log"], "{part}");
        assert_eq!(ids(&shop(slow, 5.0), &waits(5.0, 40.0 * part, 1.0)), [""; 0], "{part}");
        assert_eq!(ids(&shop(slow, 5.0), &waits(5.0, 40.0, 41.0 + 10.0 * part)), ["log-governor-waits"], "{part}");
        assert_eq!(ids(&shop(slow, 5.0), &waits(5.0, 60.0, 30.0 * part)), ["waits-for-log"], "{part}");
    }
    // Without times a data file at a limit says the same.
    let untimed = |iops: f64| {
        let file = DatabaseFile::new("shop", "data", FileKind::Data, 200.0);
        vec![DatabaseFile { iops: Some(iops), ..file }]
    };
    assert_eq!(ids(&untimed(1000.0), &waits(80.0, 5.0, 1.0)), ["waits-for-data", "file-at-limit"]);
    assert_eq!(ids(&untimed(900.0), &waits(80.0, 5.0, 1.0)), ["waits-for-memory"]);
    // Named are those that do much, or else the busiest.
    let with = |name: &str, kind: FileKind, iops: f64| DatabaseFile {
        iops: Some(iops),
        ..DatabaseFile::new("shop", name, kind, 200.0)
    };
    let logs = |busy: f64| {
        [with("idle", FileKind::Log, 5.0), with("busy", FileKind::Log, busy), with("d", FileKind::Data, 1.0)]
    };
    for part in parts() {
        assert_eq!(advice(&logs(550.0 + 400.0 * part), &waits(5.0, 80.0, 0.0))[0].files, [1], "{part}");
        assert_eq!(advice(&logs(6.0 + 400.0 * part), &waits(5.0, 80.0, 0.0))[0].files, [1], "{part}");
    }
    let tempdb = DatabaseFile { database: "tempdb".to_owned(), ..file("t", FileKind::Data, 50.0, 5.0) };
    let found = advice(&[shop(60.0, 5.0), vec![tempdb]].concat(), &waits(70.0, 5.0, 0.0));
    assert_eq!(found[0].files, [0], "tempdb is on another disk");
    let first = vec![0];
    assert_eq!(
        found[0].finding,
        Finding::Waits {
            percent: 70.0,
            slowest_ms: Some(60.0),
            first,
            cores: Cores::Nothing,
            logs_mb_per_s: [None, Some(22.0)]
        }
    );
    // A log that is named first gets a size, also where its rates do not say why it is slow. Reads of it are no commits.
    for iops in [None, Some(240.0)] {
        let log = DatabaseFile { iops, ..file("log", FileKind::Log, 32.0, 32.0) };
        let found = advice(std::slice::from_ref(&log), &waits(16.0, 80.6, 0.0));
        let Finding::Grow { size_gb, slow_ms, .. } = found[1].finding else { panic!("{found:?}") };
        assert_eq!((size_gb, slow_ms), (129.0, Some(32.0)));
        let read = DatabaseFile { read_ms: Some(32.0), write_ms: Some(4.0), ..log };
        assert_eq!(ids(&[read], &waits(16.0, 80.6, 0.0)), ["waits-for-log"]);
    }
}

#[test]
fn where_the_cpu_is_busy_files_bring_nothing() {
    for part in parts() {
        let busy = |cpu_percent: f64| Observed { waits: None, cpu_percent: Some(cpu_percent) };
        assert_eq!(ids(&shop(5.0, 5.0), &busy(90.0 + 10.0 * part)), ["cpu-first"], "{part}");
        assert_eq!(ids(&shop(5.0, 5.0), &busy(89.9 * part)), [""; 0], "{part}");
    }
}

#[test]
fn a_file_is_slow_where_its_rates_do_not_say_why() {
    for part in parts() {
        let none = Observed::default();
        assert_eq!(ids(&shop(100.0 + 400.0 * part, 5.0), &none), ["slow-file"], "{part}");
        assert_eq!(ids(&shop(99.0 * part, 5.0), &none), [""; 0], "{part}");
        let read =
            DatabaseFile { write_ms: None, read_ms: Some(100.0 + part), ..file("a", FileKind::Data, 200.0, 1.0) };
        assert_eq!(ids(&[read], &none), ["slow-file"], "{part}");
        // Where a limit says why, that says it.
        let full = DatabaseFile { iops: Some(1000.0), ..file("a", FileKind::Data, 200.0, 100.0 + part) };
        assert_eq!(ids(&[full], &none), ["file-at-limit"], "{part}");
        let tempdb = DatabaseFile { database: "TEMPDB".to_owned(), ..file("t", FileKind::Data, 50.0, 300.0) };
        assert_eq!(ids(&[tempdb], &none), [""; 0], "{part}");
    }
}

/// The layouts of reference 3.10, 8 vCores and 8 TB, with what was published of each: size of three data files and of the log, ms of a
/// write to each, shares of `PAGEIOLATCH` and `WRITELOG`, CPU.
#[test]
fn the_published_layouts_are_held_back_by_what_was_published() {
    let table = [
        ((32.0, 32.0), (132.0, 16.0), (70.0, 21.0), 10.0, "waits-for-data"),
        ((32.0, 512.0), (477.0, 4.5), (85.0, 13.0), 12.0, "waits-for-data"),
        ((256.0, 512.0), (155.0, 4.7), (80.0, 12.0), 12.0, "waits-for-data"),
        ((512.0, 512.0), (165.0, 4.4), (77.0, 12.0), 12.0, "waits-for-data"),
        ((1126.4, 2048.0), (49.0, 4.5), (4.0, 74.0), 46.0, "waits-for-log"),
    ];
    for ((data_gb, log_gb), (data_ms, log_ms), (data, log), cpu, wanted) in table {
        let mut files: Vec<DatabaseFile> =
            ["a", "b", "c"].map(|name| file(name, FileKind::Data, data_gb, data_ms)).into();
        files.push(file("log", FileKind::Log, log_gb, log_ms));
        let observed = Observed { waits: Some(WaitShares { data, log, governor: 0.0 }), cpu_percent: Some(cpu) };
        let found = advice(&files, &observed);
        assert_eq!(found[0].rule.id, wanted, "{data_gb} {log_gb}");
        let slow: Vec<usize> =
            found.iter().filter(|one| one.rule.id == "slow-file").flat_map(|one| one.files.clone()).collect();
        // Hundreds of ms: the data files of all but the last.
        assert_eq!(slow, if wanted == "waits-for-data" { vec![0, 1, 2] } else { Vec::new() });
    }
}

/// New databases are copies of model: each would be as large.
#[test]
fn no_size_is_advised_for_model() {
    let of = |database: &str| {
        let iops = Some(495.0);
        let full = DatabaseFile { iops, ..DatabaseFile::new(database, "f", FileKind::Data, 100.0) };
        let slow = DatabaseFile { read_ms: Some(500.0), ..DatabaseFile::new(database, "g", FileKind::Log, 100.0) };
        let slow = DatabaseFile { iops: Some(1.0), ..slow };
        ids(&[full, slow], &Observed::default())
    };
    assert_eq!(of("Model"), ["size-of-no-use", "slow-file"]);
    assert_eq!(of("msdb"), ["log-before-data", "slow-file", "file-at-limit"]);
    let model = DatabaseFile { iops: Some(495.0), ..DatabaseFile::new("model", "f", FileKind::Data, 100.0) };
    let found = advice(&[model], &Observed::default());
    assert_eq!(found[0].finding, Finding::NoUse { why: Hindrance::Model });
}
