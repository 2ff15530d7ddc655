//! Files each of which is held to limits of its own, as those of a managed instance: how far each used them between looks (reference,
//! 5.5). The limits are those of its size at the end of each interval, since a file that grows over a bound may do more from then on.

use plimsoll_catalog::Catalog;
use plimsoll_measurement::{Ceiling, FileGrowth, FileLimit, FileRow, FileUse, Files, Moment};

use crate::look::Look;

const MB: f64 = (1 << 20) as f64;
/// The part of a limit from which on an interval is counted (reference, 5.5).
const NEARLY_FULL: f64 = 0.9;

/// How far files used their limits since `from`.
pub(crate) fn used(looks: &[Look], from: Moment) -> Vec<(FileRow, FileUse)> {
    let seen: Vec<&Files> =
        looks.iter().filter(|look| look.at >= from).filter_map(|look| look.files.as_ref()).collect();
    let Some(last) = seen.last() else { return Vec::new() };
    let of_file = |row: &FileRow| {
        let limits = Limits::of(row)?;
        let start = FileUse {
            source: limits.source,
            size_bytes: row.size_bytes,
            limit_iops: limits.iops,
            limit_mb_per_second: limits.mb_per_second,
            ..FileUse::default()
        };
        let used =
            seen.windows(2).filter_map(|pair| done(row, pair[0], pair[1])).fold(start, |used, done| with(used, &done));
        Some((row.clone(), used))
    };
    last.rows.iter().filter_map(of_file).collect()
}

/// What the catalogue holds files of their sizes to, together: data files are filled and read evenly, so several with the same limits have
/// the sum of them. Of unequal ones the smallest holds back the others, and nothing is said.
pub(crate) fn ceilings(files: &Files) -> Vec<Ceiling> {
    let limits = |kind| {
        let rows: Vec<&FileRow> = files.rows.iter().filter(|row| row.kind == kind).collect();
        let first = rows.first().filter(|row| matches!(row.limit, Some(FileLimit::BySize(_))))?;
        let limits = Limits::of(first)?;
        let are_same = rows.iter().all(|row| Limits::of(row).is_some_and(|other| other.source == limits.source));
        are_same.then_some((limits, rows.len() as f64))
    };
    let mut ceilings = Vec::new();
    for (kind, [ios, bandwidth]) in [("data", ["data_iops", "data_bandwidth"]), ("log", ["log_iops", "log_bandwidth"])]
    {
        let Some((limits, count)) = limits(kind) else { continue };
        for (resource, value) in [(ios, limits.iops), (bandwidth, limits.mb_per_second)] {
            ceilings.extend(value.and_then(|value| Ceiling::new(resource, count * value, &limits.source)));
        }
    }
    ceilings
}

/// What a file did in an interval, and might have done.
struct Done {
    iops: f64,
    mb_per_second: f64,
    limits: Limits,
}

/// `None` where a reading is missing, or a counter went backwards.
fn done(file: &FileRow, before: &Files, after: &Files) -> Option<Done> {
    let find = |files: &'_ Files| files.rows.iter().find(|row| row.is_same(file)).cloned();
    let (old, new) = (find(before)?, find(after)?);
    let growth = FileGrowth::between(&old, &new)?;
    let seconds = before.window.seconds_until(after.window)?;
    Some(Done {
        iops: growth.ios()? as f64 / seconds,
        mb_per_second: growth.bytes()? as f64 / seconds / MB,
        limits: Limits::of(&new)?,
    })
}

fn with(used: FileUse, done: &Done) -> FileUse {
    let higher = |highest: Option<f64>, now: f64| Some(highest.map_or(now, |highest| highest.max(now)));
    let is_near = |done: f64, limit: Option<f64>| u64::from(limit.is_some_and(|limit| done >= NEARLY_FULL * limit));
    FileUse {
        highest_iops: higher(used.highest_iops, done.iops),
        highest_mb_per_second: higher(used.highest_mb_per_second, done.mb_per_second),
        intervals: used.intervals + 1,
        intervals_near_iops: used.intervals_near_iops + is_near(done.iops, done.limits.iops),
        intervals_near_mb_per_second: used.intervals_near_mb_per_second
            + is_near(done.mb_per_second, done.limits.mb_per_second),
        ..used
    }
}

struct Limits {
    iops: Option<f64>,
    mb_per_second: Option<f64>,
    source: String,
}

impl Limits {
    /// `None` if the file has none, or is larger than any that the catalogue knows.
    fn of(row: &FileRow) -> Option<Self> {
        match row.limit? {
            FileLimit::Known { iops, bytes_per_second } => {
                let mb_per_second = bytes_per_second.map(|bytes| bytes / MB);
                Some(Self { iops, mb_per_second, source: "the target".to_owned() })
            }
            FileLimit::BySize(service) => {
                let edition = Catalog::builtin().ok()?.disk_edition(service, None).ok()?;
                let level = edition.snap_up(row.size_bytes?)?;
                Some(Self {
                    iops: Some(level.iops),
                    mb_per_second: Some(level.bandwidth_bytes_per_second() / MB),
                    source: format!("{service}/{}@{}", level.name, level.edition),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Window;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn at(seconds: f64) -> Moment {
        Moment::from_nanos((seconds * 1e9) as u64)
    }

    /// A look at a data file of this size that has done so many reads and writes of 8 KB.
    fn look(seconds: f64, gib: u64, ios: u64) -> Look {
        let row = FileRow {
            name: "sales".to_owned(),
            kind: "data",
            size_bytes: Some(gib * GIB),
            limit: Some(FileLimit::BySize("azure-sql-mi-gp")),
            reads: Some(ios / 2),
            writes: Some(ios - ios / 2),
            read_bytes: Some(ios / 2 * 8192),
            write_bytes: Some((ios - ios / 2) * 8192),
            ..FileRow::default()
        };
        let window = Window { start: at(seconds), end: at(seconds) };
        Look {
            at: at(seconds),
            engine: None,
            seen: Vec::new(),
            files: Some(Files { rows: vec![row], window }),
            host: None,
        }
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?} is not {expected}");
    }

    #[test]
    fn intervals_near_the_limit_are_counted_and_the_busiest_is_told() {
        // 449, 450 and 600 I/Os in a second, then 800 in two; 500 are allowed.
        let counts = [(0.0, 0), (1.0, 449), (2.0, 899), (3.0, 1499), (5.0, 2299)];
        let looks = counts.map(|(seconds, ios)| look(seconds, 128, ios));
        let [(row, used)] = &used(&looks, at(0.0))[..] else { panic!("a file") };
        assert_eq!((row.name.as_str(), used.intervals, used.intervals_near_iops), ("sales", 4, 2));
        assert_eq!((used.intervals_near_mb_per_second, used.size_bytes), (0, Some(128 * GIB)));
        near(used.limit_iops, 500.0);
        near(used.limit_mb_per_second, 100.0);
        near(used.highest_iops, 600.0);
        near(used.highest_mb_per_second, 600.0 * 8192.0 / MB);
        assert!(used.source.starts_with("azure-sql-mi-gp/129GiB@"), "{}", used.source);
        assert_eq!(super::used(&looks, at(1.5))[0].1.intervals, 2);
    }

    #[test]
    fn a_file_that_grows_over_a_bound_may_do_more_from_then_on() {
        let looks = [look(0.0, 128, 0), look(1.0, 128, 500), look(2.0, 130, 1000), look(3.0, 130, 3300)];
        let used = &used(&looks, at(0.0))[0].1;
        // 500 of 500, 500 of 2300, 2300 of 2300.
        assert_eq!((used.intervals, used.intervals_near_iops), (3, 2));
        near(used.limit_iops, 2300.0);
    }

    #[test]
    fn files_of_the_same_size_have_the_sum_of_their_limits() {
        let mut files = look(0.0, 128, 0).files.unwrap();
        let log = FileRow { name: "log".to_owned(), kind: "log", ..files.rows[0].clone() };
        files.rows.extend([files.rows[0].clone(), FileRow { size_bytes: Some(300 * GIB), ..log }]);
        let said = |files: &Files| -> Vec<(String, f64)> {
            ceilings(files).into_iter().map(|ceiling| (ceiling.resource, ceiling.value)).collect()
        };
        let log = [("log_iops".to_owned(), 2300.0), ("log_bandwidth".to_owned(), 150.0)];
        assert_eq!(said(&files)[..2], [("data_iops".to_owned(), 1000.0), ("data_bandwidth".to_owned(), 200.0)]);
        assert_eq!(said(&files)[2..], log);
        files.rows[1].size_bytes = Some(130 * GIB);
        assert_eq!(said(&files), log);
    }

    #[test]
    fn gaps_and_counters_that_began_anew_are_no_intervals() {
        let mut looks = [look(0.0, 1, 0), look(1.0, 1, 100), look(2.0, 1, 5), look(3.0, 1, 10), look(4.0, 1, 900)];
        looks[3].files = None;
        let used = &used(&looks, at(0.0))[0].1;
        // From the third look to the fifth.
        assert_eq!((used.intervals, used.intervals_near_iops), (2, 0));
        near(used.highest_iops, 447.5);
        assert_eq!(super::used(&[look(0.0, 9000, 0), look(1.0, 9000, 5)], at(0.0)), [], "no limits are known");
    }
}
