//! Constructed snapshots on which the reference's script errs (its A8), and what is right there.

use plimsoll_measurement::{FileRow, WaitClass, WaitRow};
use plimsoll_telemetry::views::{files, waits};

fn wait(name: &str, count: u64, milliseconds: f64) -> WaitRow {
    WaitRow {
        name: name.to_owned(),
        class: Some(WaitClass::LogWrite),
        count,
        seconds: milliseconds / 1e3,
        ..WaitRow::default()
    }
}

/// The script joins from the first snapshot, so a wait that the session had not met before is lost: on a fresh session that is
/// WRITELOG itself, nearly all of the run (reference 3.9, Premium SSD v2).
#[test]
fn a_wait_first_met_during_the_run_is_not_lost() {
    let before = [wait("MEMORY_ALLOCATION_EXT", 12, 0.0)];
    let after = [wait("MEMORY_ALLOCATION_EXT", 12, 0.0), wait("WRITELOG", 50_000, 34_048.0)];
    let found = waits(&before, &after, 36.0);
    assert_eq!(found.rows.len(), 1);
    let log = &found.rows[0];
    assert_eq!((log.wait.as_str(), log.count), ("WRITELOG", Some(50_000)));
    assert!((log.seconds - 34.048).abs() < 1e-9 && (log.elapsed_percent - 94.6).abs() < 0.05, "{log:?}");
}

/// The script divides by whole seconds: a run of less than one fails there, and one of 1.9 s is taken for 1 s.
#[test]
fn a_run_of_less_than_a_second_has_its_shares() {
    for (elapsed, share) in [(0.4, 50.0), (1.9, 10.526)] {
        let found = waits(&[], &[wait("WRITELOG", 100, 200.0)], elapsed);
        assert!((found.rows[0].elapsed_percent - share).abs() < 1e-3, "{found:?}");
    }
}

/// The script divides whole milliseconds by whole counts: 150 ms over 200 writes are 0 ms each there.
#[test]
fn latencies_below_a_millisecond_are_not_cut_to_zero() {
    let file = |reads: u64, read_ms: f64, writes: u64, write_ms: f64| FileRow {
        name: "test_log.ldf".to_owned(),
        kind: "log",
        reads: Some(reads),
        read_stall_seconds: Some(read_ms / 1e3),
        writes: Some(writes),
        write_stall_seconds: Some(write_ms / 1e3),
        ..FileRow::default()
    };
    let found = files(&[file(10, 40.0, 1_000, 700.0)], &[file(10, 40.0, 1_200, 850.0)], 1.0, "run");
    let log = &found.rows[0];
    assert!((log.write_latency_ms.unwrap() - 0.75).abs() < 1e-9, "{log:?}");
    assert_eq!((log.reads, log.read_latency_ms), (Some(0), None), "no reads have no latency, not one of 0");
}

/// A file that is only in the second snapshot counts in full, as the script has it; others by their differences.
#[test]
fn a_file_that_was_added_counts_in_full() {
    let file = |name: &str, writes: u64| FileRow {
        name: name.to_owned(),
        kind: "data",
        writes: Some(writes),
        write_bytes: Some(writes * 8192),
        write_stall_seconds: Some(writes as f64 * 0.004),
        ..FileRow::default()
    };
    let found = files(&[file("a.mdf", 100)], &[file("a.mdf", 150), file("b.ndf", 30)], 1.0, "run");
    let mut written: Vec<_> = found.rows.iter().map(|row| (row.file.as_str(), row.writes, row.write_bytes)).collect();
    written.sort_unstable();
    assert_eq!(written, [("a.mdf", Some(50), Some(50 * 8192)), ("b.ndf", Some(30), Some(30 * 8192))]);
    assert!(found.rows.iter().all(|row| (row.write_latency_ms.unwrap() - 4.0).abs() < 1e-9));
    assert_eq!(found.got_less, Vec::<String>::new());
}
