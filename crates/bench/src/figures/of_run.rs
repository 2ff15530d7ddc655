//! The figures of a whole run, by its steps.

use plimsoll_measurement::{Point, Repetition, RunRecord, Verdict};

use super::series::{Measured, Series};
use crate::definition::Definition;
use crate::step::kind::Step;

/// The values behind the figures of a run, by repetition, the headline of its first step first. Only complete repetitions count.
/// A series without values has the reason why.
pub fn series(steps: &[Step], repetitions: &[Repetition], sizes: (u64, u64)) -> Vec<Series> {
    let of_steps = steps.iter().flat_map(|step| (step.figures)(&measured(step, steps.len(), repetitions, sizes)));
    of_steps.filter(|series| !series.values.is_empty() || series.absent.is_some()).collect()
}

/// All figures that runs of a definition may have, with their units.
pub fn metrics_of(definition: &Definition) -> Vec<(String, String)> {
    let steps = &definition.steps;
    // Of nothing a step gives its figures without values.
    let of = |step: &Step| (step.figures)(&measured(step, steps.len(), &[], (1, 1)));
    steps.iter().flat_map(of).map(|series| (series.metric, series.unit)).collect()
}

/// The verdict of a step that finds its limit by itself, where it is the first: the headline is its.
pub(crate) fn own_verdict(steps: &[Step], repetitions: &[Repetition], sizes: (u64, u64)) -> Option<Verdict> {
    let step = steps.first()?;
    (step.verdict)(&measured(step, steps.len(), repetitions, sizes))
}

/// What a step of several measured in the complete repetitions.
fn measured(step: Step, steps: usize, repetitions: &[Repetition], (page_bytes, scale): (u64, u64)) -> Measured<'_> {
    let repetitions: Vec<&Repetition> = repetitions.iter().filter(|repetition| repetition.complete).collect();
    let named = (steps > 1).then_some(step.name);
    let own = |point: &&Point| named.is_none() || point.phase.as_deref() == named;
    let points = repetitions.iter().map(|repetition| repetition.points.iter().filter(own).collect()).collect();
    Measured { repetitions, points, page_bytes, scale }
}

/// The values behind the figures of a stored run. If this release can't read its definition, those that its record has.
pub fn series_of(record: &RunRecord) -> Vec<Series> {
    let definition = Definition::parse("stored definition", &record.definition.text);
    let mut all = match (definition, sizes(record)) {
        (Ok(definition), Some(sizes)) => series(&definition.steps, &record.repetitions, sizes),
        (Ok(_), None) => return Vec::new(),
        _ => return record.results.iter().map(Series::of_figure).collect(),
    };
    doubt_client(&mut all, record);
    all
}

/// The size of the target's pages and its scale.
fn sizes(record: &RunRecord) -> Option<(u64, u64)> {
    let fact = |name: &str| record.parameters.get(name).and_then(serde_json::Value::as_u64).filter(|fact| *fact > 0);
    Some((fact("page_bytes")?, fact("scale").unwrap_or(1)))
}

/// Gives a stored run of these steps that has no end, as it was killed or goes on, the figures of its complete repetitions. It
/// has no verdict: the limits that were watched are written down at the end.
pub fn so_far(record: &mut RunRecord, steps: &[Step]) {
    let Some(sizes) = sizes(record) else { return };
    let mut all = series(steps, &record.repetitions, sizes);
    doubt_client(&mut all, record);
    record.results = all.iter().filter_map(Series::figure).collect();
    record.result = record.results.first().cloned();
}

/// The doubt of a figure that a faster client would have made higher.
pub const CLIENT_WAS_THE_LIMIT: &str = "at least: our own client held requests back";

/// A client that was the limit makes the rates of requests lower bounds. In virtual time it never is.
pub(crate) fn doubt_client(all: &mut [Series], record: &RunRecord) {
    if record.host.client.as_ref().is_none_or(|client| client.verdict != "was-the-limit") {
        return;
    }
    for series in
        all.iter_mut().filter(|series| ["request_rate", "row_rate", "content_rate"].contains(&series.metric.as_str()))
    {
        let doubt = CLIENT_WAS_THE_LIMIT.to_owned();
        series.note = Some(series.note.take().map_or(doubt.clone(), |note| format!("{doubt}; {note}")));
        series.doubt = Some(doubt);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Figure, units};

    use super::*;
    use crate::definition::find_builtin;

    fn figures(repetitions: &[Repetition]) -> Vec<Figure> {
        let write = find_builtin("write-chunk").unwrap();
        series(&write.steps, repetitions, (8192, 1)).iter().filter_map(Series::figure).collect()
    }

    fn repetition(label: &str, complete: bool, points: Vec<Point>) -> Repetition {
        Repetition { label: label.to_owned(), complete, started_seconds: 0.0, points, ..Repetition::default() }
    }

    fn chunk(mb: u64, seconds: f64) -> Point {
        Point { seconds, ..Point::default() }.with_content(mb * units::MB)
    }

    #[test]
    fn a_rate_is_content_over_time_and_incomplete_repetitions_do_not_count() {
        let repetitions = vec![
            repetition("a", true, vec![chunk(100, 60.0), chunk(100, 180.0)]),
            repetition("b", true, vec![chunk(100, 120.0), chunk(100, 120.0)]),
            repetition("c", false, vec![chunk(100, 1.0)]),
        ];
        let made = figures(&repetitions);
        assert_eq!(made.len(), 1);
        assert!((made[0].value - 50.0).abs() < 1e-9);
        assert_eq!(made[0].repetitions, 2);
        assert!(made[0].point_cv_percent.unwrap() > 0.0);
        assert!(figures(&repetitions[2..]).is_empty(), "no complete repetition, no figure");
    }
}
