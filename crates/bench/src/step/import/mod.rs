//! A dump of a whole database and its import, by the engine's own tools (reference, 2.14). The time that counts is that of
//! loading rows; making indexes comes after and is a stage of its own.

use plimsoll_engine::transfer::{INDEXES, Move, TABLES};
use plimsoll_engine::work::Work;
use plimsoll_engine::{Error, ErrorKind, Follow as _, Result, temporary};
use plimsoll_measurement::{Metric, Point, Repetition, units};

use crate::figures::series::{Series, log_wait_percent, mean, ratio};
use crate::parameters::Parameters;
use crate::scratch::Scratch;
use crate::step::context::{Keep, Target};
use crate::step::kind::StepKind;
use crate::step::transfer::figures::{Largest, WRITE, seconds, stage};
use crate::step::transfer::moves::{At, Moving, expects, kind, measure, volumes};
use crate::step::transfer::source::{Source, guard_folder};
use crate::step::transfer::watch::Watch;
use crate::step::write::{self, Write, brief};

/// Stage that an import begins with: the dump is written.
const DUMP: &str = "dump";

/// Where waits for the log take this part of the time at least, the log was the limit.
const MOSTLY_PERCENT: f64 = 50.0;

const IMPORT: Moving = Moving {
    what: Move::Import,
    check: |parameters, _, _| {
        guard_folder("dump", volumes(parameters).into_iter().max().unwrap_or(0).saturating_mul(2))
    },
    weigh: |_, _, _| Ok(()),
    move_one,
};

/// A dump of a whole database and its import.
pub(super) const KIND: StepKind = StepKind {
    expects: |ran, ask| expects(&[Work::Import, Work::ImportLog], ran, ask),
    // Beside an import chunks are written.
    needs: write::NEEDS,
    ..kind("import", || measure(&IMPORT), |measured| figures(&Largest::of(&measured.points), &measured.repetitions))
};

/// How fast rows were loaded, what that says of the log, how fast the same server writes chunks, and how much longer than
/// the rows the indexes took. A dump has a time but no figure: the first reads a database that has just been written, later
/// ones read what is in memory.
fn figures(of_size: &Largest<'_>, repetitions: &[&Repetition]) -> Vec<Series> {
    let rates = of_size.rate("import_rate", TABLES, TABLES);
    let write = of_size.written("write_rate");
    let indexes = of_size.of_repetitions(|points| {
        let (tables, indexes) = (seconds(points, TABLES), seconds(points, INDEXES));
        (tables > 0.0 && indexes > 0.0).then(|| 100.0 * indexes / tables)
    });
    let indexes = of_size.series("index_time", "%", indexes, Some("time for indexes, of that for rows".to_owned()));
    let limit = log_rate_limit(of_size, &rates.values, repetitions);
    let write = Series { note: compared(&rates.values, &write.values).or(write.note), ..write };
    vec![rates, limit, write, indexes]
}

fn move_one(
    At { target, parameters, transfer }: &mut At<'_, '_>,
    keep: &mut Keep<'_>,
    source: &Source,
    _: &mut Option<Scratch>,
) -> Result<()> {
    // It has no name, so nothing of it is left whatever happens.
    let file = tempfile::tempfile().map_err(|error| temporary::failed("a file for the dump", &error))?;
    let mut watch = Watch::new(target, keep, source);
    watch.stage(DUMP)?;
    transfer.dump(&source.workspace, &file, &mut watch)?;
    // A dump that is still in memory is none yet.
    file.sync_data().map_err(|error| Error::new(ErrorKind::DiskFull, format!("the dump can't be kept: {error}")))?;
    transfer.import(&file, &source.target, &mut watch)?;
    watch.end()?;
    write_beside(target, parameters, keep, source)?;
    source.verify(target, keep, &source.target)
}

/// Writes chunks into the new database, so that the import can be held against what the same server writes without a client.
fn write_beside(target: &Target<'_>, parameters: &Parameters, keep: &mut Keep<'_>, source: &Source) -> Result<()> {
    let parameters = brief(parameters, source.volume);
    let mut write = Write::within(source.target.clone(), source.size.clone());
    match keep.within(WRITE, |keep| write.write(target, &parameters, keep)) {
        // The import counts without it.
        Err(error) if error.kind == ErrorKind::Unsupported => {
            keep.warn(format!("there is no chunked write to hold the import against: {error}"));
            Ok(())
        }
        outcome => outcome,
    }
}

/// The rate at which the log takes content, by the import (reference, 2.14). Without a sight of waits for the log it is a bound:
/// something else may have been slower.
fn log_rate_limit(of_size: &Largest<'_>, rates: &[f64], repetitions: &[&Repetition]) -> Series {
    let waited = |repetition: &&Repetition| log_wait_percent(&repetition.waits).unwrap_or(0.0);
    let waits = repetitions.iter().map(waited).reduce(f64::min).unwrap_or(0.0);
    let content =
        |points: &[&Point]| stage(points, TABLES).filter_map(|point| point.count(Metric::ContentBytes)).sum::<u64>();
    let log = |points: &[&Point]| stage(points, TABLES).map(|point| point.count(Metric::LogBytes)).sum::<Option<u64>>();
    let logged = of_size.of_repetitions(|points| Some(log(points)? as f64 / content(points).max(1) as f64));
    let own = match (mean(&logged), mean(rates)) {
        (Some(times), Some(rate)) => format!(
            "{times:.2} bytes of log for each of content, so the log itself took {} MB/min",
            units::format_significant(rate * times)
        ),
        _ => "the log's own rate is about 10 % higher".to_owned(),
    };
    let bound = waits < MOSTLY_PERCENT;
    let inferred = if bound {
        "at least, inferred from the import: nothing shows that the log was its limit".to_owned()
    } else {
        format!("inferred from the import, which waited {waits:.0} % of its time for the log")
    };
    let note = format!("{inferred}; {own}");
    let most = rates.iter().copied().reduce(f64::max);
    let values = if bound { most.into_iter().collect() } else { rates.to_vec() };
    Series { bound, repetitions: rates.len() as u32, ..of_size.series("log_rate_limit", "MB/min", values, Some(note)) }
}

/// An import beside the chunked write on the same server.
fn compared(imports: &[f64], writes: &[f64]) -> Option<String> {
    Some(format!("chunks right after the import, which is {:.2} times as fast", ratio(imports, writes)?))
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{WaitClass, WaitDelta};

    use super::*;

    fn point(gb: u64, stage: &str, mb: u64, seconds: f64) -> Point {
        let (stage, volume_bytes) = (Some(stage.to_owned()), Some(gb << 30));
        let content_bytes = (mb > 0).then_some(mb * units::MB);
        Point { stage, volume_bytes, seconds, ..Point::default() }.with(Metric::ContentBytes, content_bytes)
    }

    fn value(series: &[Series], metric: &str) -> f64 {
        series.iter().find(|series| series.metric == metric).unwrap().values[0]
    }

    /// Reference, 3.2: imports at 21.8 MB/min, restores at 150.
    #[test]
    fn rates_are_of_the_largest_size_and_of_the_stage_that_moves() {
        let chunk = Point { phase: Some(WRITE.to_owned()), stage: None, ..point(2, "chunk", 25, 60.0) };
        let logged = point(2, "tables", 218, 600.0).with(Metric::LogBytes, 240 * units::MB);
        let points =
            [point(1, "tables", 50, 60.0), point(2, "dump", 0, 60.0), logged, point(2, "indexes", 0, 300.0), chunk];
        let wait = WaitDelta {
            wait: "log_rate".to_owned(),
            class: Some(WaitClass::LogRateGovernor.into()),
            seconds: 594.0,
            count: None,
            elapsed_percent: 99.0,
            ..WaitDelta::default()
        };
        let made = |waits: Vec<WaitDelta>| {
            let repetition = Repetition { points: points.to_vec(), waits, ..Repetition::default() };
            let points = [repetition.points.iter().collect()];
            figures(&Largest::of(&points), &[&repetition])
        };
        let figures = made(vec![wait]);
        let near = |metric: &str, expected: f64| assert!((value(&figures, metric) - expected).abs() < 1e-9, "{metric}");
        near("import_rate", 21.8);
        near("log_rate_limit", 21.8);
        near("write_rate", 25.0);
        near("index_time", 50.0);
        let limit = &figures[1];
        assert!(!limit.bound && limit.note.as_deref().unwrap().contains("99 % of its time"), "{limit:?}");
        assert!(limit.note.as_deref().unwrap().contains("1.10 bytes of log"), "{limit:?}");
        let unseen = &made(Vec::new())[1];
        assert!(unseen.bound && unseen.note.as_deref().unwrap().contains("at least"), "{unseen:?}");
        assert!(figures[0].note.as_deref() == Some("of 2.00 GB"), "{figures:?}");
    }
}
