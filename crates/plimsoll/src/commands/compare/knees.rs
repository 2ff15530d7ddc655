//! Figures of a knee: the rate and the response times where as good as all of a disk's rate is there. They compare at one place alone.

use plimsoll_bench::figures::series_of;
use plimsoll_measurement::cell::{KNEE_RATE, KNEE_TIMES};
use plimsoll_measurement::{Metric, Point, RunRecord};

/// Where the knee of a run is, if the figure is one of it; `None` of any other figure. The response times there say where.
pub fn place(run: &RunRecord, metric: &str) -> Option<String> {
    (metric == KNEE_RATE || metric.starts_with(KNEE_TIMES)).then(|| {
        let time = series_of(run).into_iter().find(|series| series.metric.starts_with(KNEE_TIMES));
        time.and_then(|series| series.note).unwrap_or_else(|| "at an unknown place".to_owned())
    })
}

/// Operations a second that the cell of a figure was asked for, if it was.
fn asked(run: &RunRecord, metric: &str) -> Option<f64> {
    let index = index(run, metric)?;
    let points = run.repetitions.iter().flat_map(|one| &one.points).filter(|point| point.index == index);
    let rates: Vec<f64> = points.filter_map(|point| point.get(Metric::AskedPerSecond)).collect();
    plimsoll_analysis::summary::mean(&rates)
}

/// The place of the cell of a figure.
fn index(run: &RunRecord, metric: &str) -> Option<u32> {
    let cell = metric.strip_suffix(RATE).or_else(|| metric.split_once("_latency").map(|(cell, _)| cell))?;
    let mut rates = run.results.iter().filter(|figure| figure.metric.ends_with(RATE) && figure.metric != KNEE_RATE);
    u32::try_from(rates.position(|figure| figure.metric.strip_suffix(RATE) == Some(cell))?).ok()
}

/// How the metric of a cell's rate ends.
const RATE: &str = "_iops";

/// Rates that were asked for are the same up to this.
const SAME_RATE: f64 = 0.01;

/// Why figures of cells are not judged that were asked for other rates: they are what was asked for.
pub fn asked_doubt(base: &RunRecord, other: &RunRecord, metric: &str) -> Option<String> {
    let doubt = |a: Option<f64>, b: Option<f64>, what: &str| {
        let (a, b) = (a?, b?);
        let [shown_a, shown_b] = [a, b].map(plimsoll_measurement::units::format_significant);
        ((a / b - 1.0).abs() > SAME_RATE)
            .then(|| format!("{what} to {shown_a} a second in the first run and to {shown_b} in the other"))
    };
    doubt(asked(base, metric), asked(other, metric), "it was held")
        .or_else(|| doubt(asked_beside(base, metric), asked_beside(other, metric), "what ran beside it was held"))
}

/// Operations a second that were asked for beside the cell of a figure.
fn asked_beside(run: &RunRecord, metric: &str) -> Option<f64> {
    let index = index(run, metric)?;
    let points = || run.repetitions.iter().flat_map(|one| &one.points);
    let cell = points().find(|point| point.index == index)?.cell.as_ref()?;
    let is_beside =
        |point: &&Point| point.cell.as_ref().is_some_and(|other| other.beside.as_ref() == Some(&cell.label));
    let rates: Vec<f64> = points().filter(is_beside).filter_map(|point| point.get(Metric::AskedPerSecond)).collect();
    plimsoll_analysis::summary::mean(&rates)
}

/// Why figures of two knees are not judged: with more under way a disk makes more, and each operation waits longer.
pub fn doubt(base: &RunRecord, other: &RunRecord, metric: &str) -> Option<String> {
    let (a, b) = (place(base, metric)?, place(other, metric)?);
    (a != b).then(|| format!("the knee is {a} in the first run and {b} in the other: compare the cells"))
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Access, Cell, Figure, Offsets, Operation, Repetition, SyncMode};

    use super::*;

    #[test]
    fn rates_that_were_asked_for_are_no_gain() {
        let run = |asked: f64| {
            let figure = |metric: &str| Figure {
                metric: metric.to_owned(),
                value: 1.0,
                unit: "1/s".to_owned(),
                low: None,
                high: None,
                confidence: 0.95,
                repetitions: 1,
                point_cv_percent: None,
                note: None,
                values: vec![1.0],
                expected: None,
            };
            let cell = |label: &str, beside: Option<&str>| Cell {
                label: label.to_owned(),
                beside: beside.map(str::to_owned),
                operation: Operation::Read.into(),
                read_percent: 100,
                access: Access::Random.into(),
                offsets: Offsets::Shared.into(),
                sync: SyncMode::None.into(),
                block_bytes: 8192,
                threads: 1,
                queue_depth: 1,
                writes_per_sync: 1,
            };
            let log = Point { index: 0, cell: Some(cell("log", None)), ..Point::default() };
            let reads = Point { index: 1, cell: Some(cell("reads", Some("log"))), ..Point::default() };
            let points = vec![log, reads.with(Metric::AskedPerSecond, asked)];
            RunRecord {
                results: vec![figure("log_iops"), figure("log_latency_p50"), figure("reads_iops")],
                repetitions: vec![Repetition { points, ..Repetition::default() }],
                ..RunRecord::default()
            }
        };
        let (a, b) = (run(500.0), run(1000.0));
        let doubt = |metric: &str| asked_doubt(&a, &b, metric);
        let held = "held to 500 a second in the first run and to 1,000 in the other";
        assert_eq!(doubt("reads_iops").unwrap(), format!("it was {held}"));
        assert_eq!(doubt("log_latency_p50").unwrap(), format!("what ran beside it was {held}"));
        assert_eq!([asked_doubt(&a, &a, "reads_iops"), doubt("request_rate")], [None, None]);
    }
}
