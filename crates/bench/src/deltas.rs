//! What a session waited for and what files were read and written between two looks at cumulative views. What shows up
//! between them counts from 0 (reference, A8); what was not counted before or after is absent.

use plimsoll_measurement::{FileDelta, FileRow, WaitDelta, WaitRow};

/// Part of a time in percent.
pub fn percent(seconds: f64, elapsed_seconds: f64) -> f64 {
    if elapsed_seconds > 0.0 { 100.0 * seconds / elapsed_seconds } else { 0.0 }
}

/// What was waited for, the longest first.
pub fn waits(before: &[WaitRow], after: &[WaitRow], elapsed_seconds: f64) -> Vec<WaitDelta> {
    let delta = |row: &WaitRow| {
        let old = before.iter().find(|old| old.name == row.name);
        let seconds = row.seconds - old.map_or(0.0, |old| old.seconds);
        WaitDelta {
            wait: row.name.clone(),
            seconds,
            count: row.count.checked_sub(old.map_or(0, |old| old.count)),
            elapsed_percent: percent(seconds, elapsed_seconds),
        }
    };
    let mut waits: Vec<WaitDelta> = after.iter().map(delta).filter(|wait| wait.seconds > 0.0).collect();
    waits.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    waits
}

/// What was done to files, the one with the slowest writes first. `run` is the name of the run's place, which is different
/// every time: files are called without it.
pub fn files(before: &[FileRow], after: &[FileRow], run: &str) -> Vec<FileDelta> {
    let delta = |row: &FileRow| {
        let new = FileRow::default();
        let old = before.iter().find(|old| old.name == row.name && old.kind == row.kind);
        let count = |of: fn(&FileRow) -> Option<u64>| of(row)?.checked_sub(old.map_or(Some(0), of)?);
        let stall = |of: fn(&FileRow) -> Option<f64>| Some(of(row)? - of(old.unwrap_or(&new)).unwrap_or(0.0));
        let each_ms = |stall: Option<f64>, count: Option<u64>| {
            let (stall, count) = (stall?, count.filter(|count| *count > 0)?);
            Some(1e3 * stall / count as f64)
        };
        let (reads, writes) = (count(|row| row.reads), count(|row| row.writes));
        FileDelta {
            file: row.name.replace(run, "run"),
            reads,
            writes,
            read_bytes: count(|row| row.read_bytes),
            write_bytes: count(|row| row.write_bytes),
            read_latency_ms: each_ms(stall(|row| row.read_stall_seconds), reads),
            write_latency_ms: each_ms(stall(|row| row.write_stall_seconds), writes),
        }
    };
    let touched = |file: &FileDelta| file.reads.or(file.writes).is_some() && (file.reads, file.writes) != IDLE;
    let mut files: Vec<FileDelta> = after.iter().map(delta).filter(touched).collect();
    files.sort_by(|a, b| b.write_latency_ms.unwrap_or(0.0).total_cmp(&a.write_latency_ms.unwrap_or(0.0)));
    files
}

/// Nothing was done.
const IDLE: (Option<u64>, Option<u64>) = (Some(0), Some(0));

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &str, count: u64, seconds: f64) -> WaitRow {
        WaitRow { name: name.to_owned(), count, seconds }
    }

    /// Fixture 11 of the reference: 50,000 inserts on four disks.
    #[test]
    fn waits_have_their_part_of_the_elapsed_time() {
        for (elapsed, waited_ms, share, each_ms) in [
            (36.0, 34_048.0, 94.6, 0.72),
            (45.0, 42_762.0, 95.0, 0.90),
            (104.0, 102_157.0, 98.2, 2.08),
            (212.0, 207_050.0, 97.7, 4.24),
        ] {
            let (before, after) = (wait("log_write", 7, 1.5), wait("log_write", 50_007, 1.5 + waited_ms / 1e3));
            let [delta] = &waits(&[before], &[after], elapsed)[..] else { panic!("one wait") };
            assert!((delta.elapsed_percent - share).abs() < 0.05, "{delta:?}");
            assert_eq!(delta.count, Some(50_000));
            assert!((crate::figures::each_ms(elapsed, 50_000) - each_ms).abs() < 0.005);
        }
    }

    #[test]
    fn what_shows_up_meanwhile_counts_from_zero() {
        let after = [wait("lock", 5, 0.5), wait("log_write", 3, 2.0), wait("cpu", 4, 1.0)];
        let found = waits(&[wait("cpu", 4, 1.0), wait("lock", 4, 0.4)], &after, 10.0);
        let names: Vec<&str> = found.iter().map(|wait| wait.wait.as_str()).collect();
        assert_eq!(names, ["log_write", "lock"]);
        assert!((found[0].elapsed_percent - 20.0).abs() < 1e-9 && (found[1].seconds - 0.1).abs() < 1e-9);
    }

    #[test]
    fn files_have_latencies_where_times_are_counted() {
        let log = |writes, stall| FileRow {
            name: "plimsoll_run_1.db-wal".to_owned(),
            kind: "log",
            writes: Some(writes),
            write_bytes: Some(writes * 4096),
            write_stall_seconds: stall,
            ..FileRow::default()
        };
        let idle = FileRow { name: "idle".to_owned(), reads: Some(3), writes: Some(0), ..FileRow::default() };
        let found = files(&[log(10, Some(1.0)), idle.clone()], &[idle, log(30, Some(1.5))], "plimsoll_run_1");
        let [file] = &found[..] else { panic!("{found:?}") };
        assert_eq!((file.file.as_str(), file.writes, file.write_bytes), ("run.db-wal", Some(20), Some(20 * 4096)));
        assert!((file.write_latency_ms.unwrap() - 25.0).abs() < 1e-9);
        assert_eq!((file.reads, file.read_latency_ms), (None, None));
        assert_eq!(files(&[], &[log(4, None)], "x")[0].write_latency_ms, None);
    }
}
