//! What files did in a stored run, as plans take it.

use plimsoll_measurement::{FileDelta, FileUse, Repetition, RunRecord};
use plimsoll_plan::FileKind;
use plimsoll_plan::sources::of_run;

const MB: u64 = 1 << 20;

fn file(name: &str, (reads, writes): (u64, u64), mb: u64) -> FileDelta {
    FileDelta {
        file: name.to_owned(),
        database: Some("shop".to_owned()),
        elapsed_seconds: Some(10.0),
        reads: Some(reads),
        writes: Some(writes),
        read_bytes: Some(0),
        write_bytes: Some(mb * MB),
        read_stall_seconds: Some(0.0),
        write_stall_seconds: Some(0.005 * writes as f64),
        ..FileDelta::default()
    }
}

fn record(repetitions: Vec<Vec<FileDelta>>) -> RunRecord {
    let repetition = |(at, files)| Repetition { started_seconds: 20.0 * at as f64, files, ..Repetition::default() };
    RunRecord { repetitions: repetitions.into_iter().enumerate().map(repetition).collect(), ..RunRecord::default() }
}

#[test]
fn a_repetition_is_an_interval() {
    let log = |writes, mb| FileDelta {
        kind: Some("log".to_owned()),
        size_bytes: Some(64 << 30),
        ..file("log", (0, writes), mb)
    };
    let used = FileUse { highest_iops: Some(480.0), highest_mb_per_second: Some(1.0), ..FileUse::default() };
    let busiest = FileDelta { limits: Some(used), ..log(3_000, 40) };
    let syncs = FileDelta { read_bytes: None, write_bytes: None, ..log(9_000, 0) };
    let syncs = FileDelta { file: "WAL syncs".to_owned(), ..syncs };
    let first = vec![log(2_000, 1_000), file("data", (500, 0), 0), syncs];
    let found = of_run(&record(vec![first, vec![busiest]]), 256 << 10);
    let [of_log, of_data] = &found[..] else { panic!("{found:?}") };
    // 1,000 MB are 4,000 operations of 256 KB at least. What was seen between two looks is more than the mean.
    let rates: Vec<(f64, Option<f64>)> = of_log.iops.intervals.iter().map(|one| (one.start_s, one.rate)).collect();
    assert_eq!(rates, [(0.0, Some(400.0)), (20.0, Some(480.0))]);
    let mb: Vec<Option<f64>> = of_log.mb_per_s.intervals.iter().map(|one| one.rate).collect();
    assert_eq!(mb, [Some(100.0), Some(4.0)]);
    assert_eq!((of_log.write_ms, of_log.read_ms), (Some(5.0), None));
    let plan = of_log.file().unwrap();
    assert_eq!((plan.kind, plan.size_gb.to_bits(), plan.iops), (FileKind::Log, 64.0_f64.to_bits(), Some(480.0)));
    assert_eq!((plan.label(), of_log.is_limited), ("shop.log".to_owned(), true));
    // How large it is was not counted.
    assert_eq!((of_data.iops.highest(), of_data.file()), (Some(50.0), None));
}

#[test]
fn of_a_run_without_counters_nothing_is_known() {
    let older = FileDelta { elapsed_seconds: None, ..file("log", (0, 1), 1) };
    assert_eq!(of_run(&record(vec![vec![older], Vec::new()]), 256 << 10), Vec::new());
}
