//! What was waited for and what files were read and written between two looks at cumulative views, by the profiler's diff core. What shows
//! up between them counts from 0 (reference, A8): an engine lists a wait or a file only once there was something to count, and both looks
//! had all that was listed. What was there and went backwards has lost something in between, so that nothing is known of it; it is left out,
//! and [`Growth::got_less`] names it.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_measurement::{FileDelta, FileGrowth, FileRow, Name, Views, WaitDelta, WaitRow};
use plimsoll_profile::views::{rows, time_of};
use plimsoll_profile::{
    Edge, Evictions, Known, Measure, Reason, Row, RowId, Server, Slot, Snapshot, Source, Values, diff,
};

const MB: f64 = (1 << 20) as f64;

/// What grew, and what can't be said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Growth<T> {
    /// What grew.
    pub rows: Vec<T>,
    /// Names of what got less: the server was restarted, its statistics were reset, or some of what is summed up there is gone.
    pub got_less: Vec<String>,
    /// How many others had something before and have not got less.
    pub went_on: usize,
}

impl<T> Growth<T> {
    /// A sentence about what got less, if anything did. With a server or its statistics everything begins anew; a sum over the tables
    /// that are there gets less by itself when one is dropped.
    pub fn warning(&self, what: &str) -> Option<String> {
        let names = self.got_less.join(", ");
        let reason = if self.went_on > self.got_less.len() {
            "some of what is summed up there is gone, as after a table was dropped"
        } else {
            "the server was restarted meanwhile, or its statistics were reset"
        };
        (!names.is_empty()).then(|| format!("{what} can't be told for {names}: {reason}"))
    }
}

/// Part of a time in percent.
fn percent(seconds: f64, elapsed_seconds: f64) -> f64 {
    if elapsed_seconds > 0.0 { 100.0 * seconds / elapsed_seconds } else { 0.0 }
}

/// What happened between two looks.
struct Between {
    /// The rows of the first look and of the second, in the order of their views.
    before: Vec<Row>,
    after: Vec<Row>,
    grown: BTreeMap<RowId, Values>,
    /// What got less.
    less: BTreeSet<RowId>,
}

impl Between {
    /// Looks that both had all that there was, at a server that says nothing of when counters began.
    fn of(source: Source, before: &Views, after: &Views) -> Self {
        let [before, after] = [before, after].map(|views| rows(source, views).0);
        let edge = |clock_us| Edge {
            clock_us,
            server: Server { identity: String::new(), version: String::new(), started_us: 0 },
            reset_us: None,
            are_stamps_derived: false,
            evictions: Evictions::Never,
            total: None,
        };
        let snapshot = |at: i64, rows: &[Row]| Snapshot {
            source,
            start: edge(at),
            end: edge(at),
            own_us: None,
            is_complete: true,
            total_of: time_of(source),
            rows: rows.to_vec(),
        };
        let mut known = Known::default();
        let mut look = |at, rows: &[Row]| diff(&mut known, &snapshot(at, rows), 1).ok();
        let slot = look(0, &before).and_then(|_| look(1, &after));
        let (deltas, unknown) = slot.map_or_else(Default::default, |Slot { deltas, unknown, .. }| (deltas, unknown));
        let less = unknown.iter().filter(|one| one.reason == Reason::Contradiction).filter_map(|one| one.row);
        Self {
            before,
            after,
            grown: deltas.into_iter().map(|delta| (delta.row, delta.values)).collect(),
            less: less.collect(),
        }
    }

    /// What grew: a row each, made of it and of what was there before, unless that says nothing.
    fn growth<'r, R, T>(
        &self,
        (old, new): (&'r [R], &'r [R]),
        counts: &[Measure],
        name: impl Fn(&R) -> String,
        of: impl Fn(&R, Option<&'r R>, &Values) -> Option<T>,
    ) -> Growth<T> {
        let old: BTreeMap<RowId, (&Row, &R)> =
            self.before.iter().zip(old).map(|(row, shown)| (row.id, (row, shown))).collect();
        let mut growth = Growth { rows: Vec::new(), got_less: Vec::new(), went_on: 0 };
        for (shown, row) in new.iter().zip(&self.after) {
            if self.less.contains(&row.id) {
                growth.got_less.push(name(shown));
                continue;
            }
            let before = old.get(&row.id);
            let had = |(row, _): &(&Row, &R)| counts.iter().any(|measure| row.values.get(*measure) > Some(0));
            growth.went_on += usize::from(before.is_some_and(had));
            let before = before.map(|(_, shown)| *shown);
            growth.rows.extend(self.grown.get(&row.id).and_then(|values| of(shown, before, values)));
        }
        growth
    }
}

/// A time that the core says has grown, as exactly as the views have it: the core counts microseconds.
fn seconds(values: &Values, measure: Measure, (before, after): (Option<f64>, Option<f64>)) -> Option<f64> {
    values.get(measure)?;
    Some((after? - before.unwrap_or(0.0)).max(0.0))
}

/// What was waited for, the longest first.
pub fn waits(before: &[WaitRow], after: &[WaitRow], elapsed_seconds: f64) -> Growth<WaitDelta> {
    let [old, new] = [before, after].map(|waits| Views { waits: waits.to_vec(), ..Views::default() });
    let of = |row: &WaitRow, before: Option<&WaitRow>, values: &Values| {
        let grown = |measure, of: fn(&WaitRow) -> Option<f64>| seconds(values, measure, (before.and_then(of), of(row)));
        let waited = grown(Measure::WaitUs, |row| Some(row.seconds)).filter(|seconds| *seconds > 0.0)?;
        Some(WaitDelta {
            wait: row.name.clone(),
            class: row.class.map(Name::Known),
            seconds: waited,
            count: values.get(Measure::Waits),
            elapsed_percent: percent(waited, elapsed_seconds),
            signal_seconds: grown(Measure::SignalUs, |row| row.signal_seconds),
            longest_seconds: row.longest_seconds,
        })
    };
    let between = Between::of(Source::Waits, &old, &new);
    let mut growth = between.growth((before, after), &[Measure::Waits], |row| row.name.clone(), of);
    growth.rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    growth
}

/// What was done to files, the one with the slowest writes first. `run` is the name of the run's place, which is different
/// every time: files are called without it.
pub fn files(before: &[FileRow], after: &[FileRow], elapsed_seconds: f64, run: &str) -> Growth<FileDelta> {
    let [old, new] = [before, after].map(|files| Views { files: files.to_vec(), ..Views::default() });
    let name = |row: &FileRow| row.name.replace(run, "run");
    let of = |row: &FileRow, before: Option<&FileRow>, values: &Values| {
        let stalled =
            |measure, of: fn(&FileRow) -> Option<f64>| seconds(values, measure, (before.and_then(of), of(row)));
        let grown = FileGrowth {
            reads: values.get(Measure::Reads),
            writes: values.get(Measure::Writes),
            read_bytes: values.get(Measure::ReadBytes),
            write_bytes: values.get(Measure::WriteBytes),
            read_stall_seconds: stalled(Measure::ReadUs, |row| row.read_stall_seconds),
            write_stall_seconds: stalled(Measure::WriteUs, |row| row.write_stall_seconds),
        };
        let is_used = grown.ios().is_some_and(|ios| ios > 0) || grown.bytes().is_some_and(|bytes| bytes > 0);
        is_used.then(|| FileDelta {
            database: row.database.clone(),
            path: row.path.as_ref().map(|path| path.replace(run, "run")),
            kind: Some(row.kind.to_owned()).filter(|kind| !kind.is_empty()),
            size_bytes: row.size_bytes,
            ..delta(&grown, name(row), elapsed_seconds)
        })
    };
    let between = Between::of(Source::Files, &old, &new);
    let mut growth = between.growth((before, after), &[Measure::Reads, Measure::Writes], name, of);
    growth.rows.sort_by(|a, b| b.write_latency_ms.unwrap_or(0.0).total_cmp(&a.write_latency_ms.unwrap_or(0.0)));
    growth
}

fn delta(grown: &FileGrowth, file: String, elapsed_seconds: f64) -> FileDelta {
    let rate =
        |bytes: Option<u64>| bytes.filter(|_| elapsed_seconds > 0.0).map(|bytes| bytes as f64 / MB / elapsed_seconds);
    FileDelta {
        file,
        elapsed_seconds: Some(elapsed_seconds).filter(|seconds| *seconds > 0.0),
        reads: grown.reads,
        writes: grown.writes,
        read_bytes: grown.read_bytes,
        write_bytes: grown.write_bytes,
        read_stall_seconds: grown.read_stall_seconds,
        write_stall_seconds: grown.write_stall_seconds,
        read_mb_per_second: rate(grown.read_bytes),
        write_mb_per_second: rate(grown.write_bytes),
        read_latency_ms: grown.read_ms(),
        write_latency_ms: grown.write_ms(),
        ..FileDelta::default()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::WaitClass;

    use super::*;

    fn wait(name: &str, count: u64, seconds: f64) -> WaitRow {
        WaitRow { name: name.to_owned(), class: Some(WaitClass::Other), count, seconds, ..WaitRow::default() }
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
            let [delta] = &waits(&[before], &[after], elapsed).rows[..] else { panic!("one wait") };
            assert!((delta.elapsed_percent - share).abs() < 0.05, "{delta:?}");
            assert_eq!(delta.count, Some(50_000));
            assert!((1e3 * elapsed / 50_000.0 - each_ms).abs() < 0.005);
        }
    }

    #[test]
    fn what_shows_up_meanwhile_counts_from_zero() {
        let after = [wait("lock", 5, 0.5), wait("log_write", 3, 2.0), wait("cpu", 4, 1.0)];
        let found = waits(&[wait("cpu", 4, 1.0), wait("lock", 4, 0.4)], &after, 10.0).rows;
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
        let found = files(&[log(10, Some(1.0)), idle.clone()], &[idle, log(30, Some(1.5))], 0.5, "plimsoll_run_1").rows;
        let [file] = &found[..] else { panic!("{found:?}") };
        assert_eq!((file.file.as_str(), file.writes, file.write_bytes), ("run.db-wal", Some(20), Some(20 * 4096)));
        assert!((file.write_latency_ms.unwrap() - 25.0).abs() < 1e-9);
        assert_eq!((file.reads, file.read_latency_ms), (None, None));
        assert_eq!(files(&[], &[log(4, None)], 0.0, "x").rows[0].write_latency_ms, None);
    }

    /// What a run's table of files has (reference, 2.16): by handle where there is one, with rates of the elapsed time.
    #[test]
    fn a_file_is_known_by_what_a_new_name_does_not_change() {
        let file = |name: &str, database: &str, handle: &str, writes: u64| FileRow {
            name: name.to_owned(),
            database: Some(database.to_owned()),
            path: Some(format!("F:\\{name}.ldf")),
            handle: Some(handle.to_owned()),
            kind: "log",
            writes: Some(writes),
            write_bytes: Some(writes << 20),
            write_stall_seconds: Some(writes as f64 / 100.0),
            ..FileRow::default()
        };
        let before = [file("old", "shop", "5:2:0x1", 30), file("log", "other", "6:2:0x2", 7)];
        let after = [file("log", "shop", "5:2:0x1", 50), file("log", "other", "6:2:0x2", 8)];
        let found = files(&before, &after, 4.0, "run");
        let [shop, other] = &found.rows[..] else { panic!("{found:?}") };
        assert_eq!((shop.database.as_deref(), shop.writes, other.writes), (Some("shop"), Some(20), Some(1)));
        assert_eq!((shop.path.as_deref(), shop.file.as_str()), (Some("F:\\log.ldf"), "log"));
        let rates = (shop.write_mb_per_second, shop.read_mb_per_second, other.write_mb_per_second);
        assert_eq!(rates, (Some(5.0), None, Some(0.25)));
        assert!((shop.write_stall_seconds.unwrap() - 0.2).abs() < 1e-9);
        // Without such a handle by database, name and kind; what takes a name anew is another file.
        let again = [file("log", "shop", "5:2:0x9", 3)];
        assert_eq!(files(&before, &again, 4.0, "run").rows[0].writes, Some(3));
    }

    #[test]
    fn waits_have_their_signal_time_and_their_longest() {
        let row = |count, seconds, signal, longest| WaitRow {
            signal_seconds: Some(signal),
            longest_seconds: Some(longest),
            ..wait("WRITELOG", count, seconds)
        };
        let found = waits(&[row(3, 1.0, 0.25, 0.5)], &[row(9, 4.0, 1.0, 0.75)], 10.0).rows;
        assert_eq!((found[0].signal_seconds, found[0].longest_seconds), (Some(0.75), Some(0.75)));
        let new = waits(&[], &[row(9, 4.0, 1.0, 0.75)], 10.0).rows;
        assert_eq!(new[0].signal_seconds, Some(1.0), "what shows up counts from 0");
    }

    #[test]
    fn what_got_less_is_named_and_never_negative() {
        let found =
            waits(&[wait("lock", 9, 2.0), wait("cpu", 4, 1.0)], &[wait("lock", 2, 0.5), wait("cpu", 5, 2.0)], 4.0);
        assert_eq!(found.rows.iter().map(|row| row.wait.as_str()).collect::<Vec<_>>(), ["cpu"]);
        assert_eq!(found.got_less, ["lock"]);
        assert!(found.warning("waits").unwrap().starts_with("waits can't be told for lock: the server was restarted"));
        let others: Vec<WaitRow> = ["cpu", "io", "log"].map(|name| wait(name, 4, 1.0)).into();
        let rows = |lock| [vec![lock], others.clone()].concat();
        let found = waits(&rows(wait("lock", 9, 2.0)), &rows(wait("lock", 8, 2.5)), 4.0);
        assert_eq!((&found.got_less[..], found.went_on), (&["lock".to_owned()][..], 3));
        assert!(found.warning("waits").unwrap().contains("a table was dropped"));
        let file = |writes, stall| FileRow {
            name: "data".to_owned(),
            kind: "data",
            writes: Some(writes),
            write_stall_seconds: Some(stall),
            ..FileRow::default()
        };
        for (before, after) in [(file(9, 1.0), file(3, 2.0)), (file(3, 2.0), file(9, 1.0))] {
            let found = files(&[before], &[after], 1.0, "run");
            assert_eq!((found.rows.len(), found.got_less), (0, vec!["data".to_owned()]));
        }
    }

    /// A time that was not taken before has no growth: the script of the reference took it for 0 then.
    #[test]
    fn what_was_not_counted_before_has_no_growth() {
        let file = |stall| FileRow {
            name: "data".to_owned(),
            kind: "data",
            reads: Some(4),
            read_stall_seconds: stall,
            ..FileRow::default()
        };
        let (before, after) = (file(None), FileRow { reads: Some(8), ..file(Some(100.0)) });
        let found = files(&[before], &[after], 1.0, "run").rows;
        assert_eq!((found[0].reads, found[0].read_latency_ms), (Some(4), None));
    }
}
