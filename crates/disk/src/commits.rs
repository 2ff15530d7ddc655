//! From the time of a durable write to the time of work: how long many commits of one session wait for the log on this disk, and what
//! the same took on others.

use plimsoll_bench::figures::series::Series;
use plimsoll_catalog::Catalog;
use plimsoll_measurement::cell::{COMMITS, COMMITS_TIME};
use plimsoll_measurement::{Metric, Point};

/// Seconds that the commits wait for the log, by the first cell of each repetition that is written as a log by itself; `None` without one.
pub fn series(repetitions: &[Vec<&Point>]) -> Option<Series> {
    let seconds = |points: &Vec<&Point>| {
        let is_log = |(place, point): &(usize, &&Point)| {
            let next = points.get(place + 1).and_then(|next| next.cell.as_ref());
            let is_free = point.get(Metric::AskedPerSecond).is_none();
            is_free && point.cell.as_ref().is_some_and(|cell| cell.is_log() && !cell.is_among_others(next))
        };
        let (_, log) = points.iter().enumerate().find(is_log)?;
        let rate = log.get(Metric::Iops).filter(|rate| *rate > 0.0)?;
        Some(f64::from(COMMITS) / rate)
    };
    let seconds: Vec<f64> = repetitions.iter().map(seconds).collect::<Option<_>>()?;
    Some(Series { note: elsewhere(), ..Series::new(COMMITS_TIME, "s", seconds) })
        .filter(|series| !series.values.is_empty())
}

/// What the catalogue knows of as many inserts on other disks, the fastest first.
fn elsewhere() -> Option<String> {
    let catalog = Catalog::builtin().ok()?;
    let classes = catalog.disk_editions().iter().flat_map(|edition| &edition.classes);
    let mut known: Vec<(f64, &str)> =
        classes.filter_map(|class| Some((class.latency.as_ref()?.measured_inserts_s?, class.name.as_str()))).collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    let each: Vec<String> = known.iter().map(|(time, name)| format!("{name} {time} s")).collect();
    (!each.is_empty()).then(|| {
        format!("as many inserts in SQL Server took, with its own work, on Azure's disks: {}", each.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::cell_of;

    fn point(keys: &str, iops: f64) -> Point {
        let cell = cell_of(&format!("operation = 'write'\nblock = '8KiB'\naccess = 'sequential'\n{keys}"));
        Point { cell: Some(cell), ..Point::default() }.with(Metric::Iops, iops)
    }

    #[test]
    fn fifty_thousand_commits_take_as_many_durable_writes_one_after_the_other() {
        let free = point("", 90_000.0);
        let (one, two) = (point("sync = 'o_dsync'", 1000.0), point("sync = 'o_dsync'", 500.0));
        let later = point("sync = 'fdatasync'", 10.0);
        let made = series(&[vec![&free, &one, &later], vec![&free, &two, &later]]).unwrap();
        assert_eq!((made.metric.as_str(), made.unit.as_str(), made.values), (COMMITS_TIME, "s", vec![50.0, 100.0]));
        let several = point("sync = 'fdatasync'\nthreads = 4", 10.0);
        for points in [vec![], vec![&free], vec![&several]] {
            assert_eq!(series(&[vec![&one], points]), None, "a mean of some repetitions is none");
        }
        assert_eq!(series(&[]), None);
        // Beside reads a log waits for them as well.
        let mut reads = point("queue_depth = 32", 5000.0);
        let label = one.cell.as_ref().map(|cell| cell.label.clone());
        reads.cell.iter_mut().for_each(|cell| cell.beside.clone_from(&label));
        assert_eq!(series(&[vec![&two, &reads]]), None);
        assert_eq!(series(&[vec![&two, &reads, &one]]).unwrap().values, [50.0], "the first that ran by itself");
    }

    #[test]
    fn the_catalogue_has_the_same_of_four_disks() {
        let said = elsewhere().unwrap();
        assert!(said.ends_with(": premium-ssd-v2 36 s, ultra 45 s, premium-ssd 104 s, standard-hdd 212 s"), "{said}");
    }
}
