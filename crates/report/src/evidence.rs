//! What stands behind a verdict, as tables: its segments, and the ceilings that figures were held against.

use plimsoll_measurement::units::format_seconds;
use plimsoll_measurement::{RunRecord, SampleGap};

use crate::chart::Series;
use crate::grid::Grid;
use crate::sampled::{NEAR_PERCENT, series, utilisation};
use crate::words::{limits, number, percent, plain, quantity, title};

/// A moment of a repetition, seconds after its start.
pub fn moment_in(seconds: f64) -> String {
    if seconds > 0.0 { format_seconds(seconds) } else { "0 s".to_owned() }
}

/// Rows: segments of the repetitions with a verdict of their own.
pub fn segments(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("Phase")
        .number("From")
        .number("To")
        .text("Limit")
        .number("Used to")
        .text("Evidence");
    for stretch in &record.verdict.segments {
        let evidence: Vec<String> = stretch.evidence.iter().map(|sentence| plain(sentence)).collect();
        grid.row(vec![
            plain(&stretch.repetition).into(),
            stretch.phase.as_deref().map(title).into(),
            moment_in(stretch.from_seconds).into(),
            moment_in(stretch.to_seconds).into(),
            limits(stretch.limit.as_deref(), &stretch.also).into(),
            stretch.utilisation_percent.filter(|_| stretch.limit.is_some()).and_then(percent).into(),
            (!evidence.is_empty()).then(|| evidence.join("; ")).into(),
        ]);
    }
    grid.compact()
}

/// Rows: the limits of all segments, with the time that each bound; the longest first.
pub fn time_by_limit(record: &RunRecord) -> Option<Grid> {
    let mut times: Vec<(String, f64)> = Vec::new();
    for stretch in &record.verdict.segments {
        let limit = limits(stretch.limit.as_deref(), &stretch.also);
        let seconds = (stretch.to_seconds - stretch.from_seconds).max(0.0);
        match times.iter_mut().find(|(known, _)| *known == limit) {
            Some((_, sum)) => *sum += seconds,
            None => times.push((limit, seconds)),
        }
    }
    times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    let mut grid = Grid::default().text("Limit").number("Time").number("Share");
    for (limit, seconds) in times {
        grid.row(vec![limit.into(), moment_in(seconds).into(), percent(seconds / all * 100.0).into()]);
    }
    grid.compact()
}

/// Rows: resources whose use is known, over all repetitions.
pub fn used(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Resource")
        .number("Ceiling")
        .number("Mean, %")
        .number("Highest, %")
        .number(format!("Time at {NEAR_PERCENT:.0} % or more"))
        .text("Who says so");
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let uses = joined(
        all.flat_map(|samples| utilisation(record, samples)).map(|one| ((one.ceiling, one.said_by), one.series)),
    );
    for ((ceiling, said_by), series) in uses {
        let Some((mean, _, highest)) = series.summary() else { continue };
        let known = || series.steps.iter().filter(|(.., value)| value.is_finite());
        let seconds: f64 = known().map(|(from, to, _)| to - from).sum();
        let near: f64 = known().filter(|(.., value)| *value >= NEAR_PERCENT).map(|(from, to, _)| to - from).sum();
        grid.row(vec![
            series.name.into(),
            ceiling.into(),
            number(mean).into(),
            highest_of_a_ceiling(highest).into(),
            percent(near / seconds * 100.0).into(),
            said_by.into(),
        ]);
    }
    grid.compact()
}

/// Nothing is used by more than there is: a figure far above that was counted when it was begun, and done later.
fn highest_of_a_ceiling(percent: f64) -> Option<String> {
    if percent > MOST_PERCENT { Some("over 100".to_owned()) } else { number(percent) }
}

/// A burst within a second, and how exact a second is.
const MOST_PERCENT: f64 = 110.0;

/// Rows: all columns that were sampled, over all repetitions.
pub fn columns(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("What")
        .text("Unit")
        .text("Said by")
        .number("Mean")
        .number("Lowest")
        .number("Highest")
        .number("Known, % of the time");
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let columns = all.flat_map(|samples| samples.columns.iter().map(move |column| (samples, column)));
    let columns = joined(
        columns.map(|(samples, column)| ((plain(&column.unit), plain(&column.source)), series(samples, column))),
    );
    for ((unit, source), series) in columns {
        let [mean, lowest, highest] =
            series.summary().map_or([None; 3], |(mean, low, high)| [Some(mean), Some(low), Some(high)]);
        let seconds: f64 = series.steps.iter().map(|(from, to, _)| to - from).sum();
        let known = series.steps.iter().filter(|(.., value)| value.is_finite());
        let known: f64 = known.map(|(from, to, _)| to - from).sum();
        grid.row(vec![
            series.name.into(),
            unit.into(),
            source.into(),
            mean.and_then(number).into(),
            lowest.and_then(number).into(),
            highest.and_then(number).into(),
            number(known / seconds * 100.0).into(),
        ]);
    }
    grid.compact()
}

/// Courses of the same name and kind as one, in order of appearance.
fn joined<K: PartialEq>(all: impl Iterator<Item = (K, Series)>) -> Vec<(K, Series)> {
    let mut joined: Vec<(K, Series)> = Vec::new();
    for (kind, series) in all {
        match joined.iter_mut().find(|(other, known)| *other == kind && known.name == series.name) {
            Some((_, known)) => known.steps.extend(series.steps),
            None => joined.push((kind, series)),
        }
    }
    joined
}

/// Rows: what would raise the rate, by a model of what was measured.
pub fn gains(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default().text("With").number("Higher rate, %");
    for lift in &record.verdict.gains {
        grid.row(vec![plain(&lift.change).into(), number(lift.gain_percent).into()]);
    }
    grid.compact()
}

/// Rows: ceilings that figures were held against, and who says so.
pub fn ceilings(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default().text("Resource").number("Ceiling").text("Who says so");
    for ceiling in &record.ceilings {
        let value = quantity(ceiling.value, &ceiling.unit);
        grid.row(vec![title(&ceiling.resource).into(), value.into(), plain(&ceiling.source).into()]);
    }
    grid.compact()
}

/// Rows: times in which somebody said nothing, and why.
pub fn gaps(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default().text("Rep.").number("From").number("To").text("Not known from").text("Reason");
    for repetition in &record.repetitions {
        for SampleGap { from_seconds, to_seconds, source, reason } in repetition.samples.iter().flat_map(|s| &s.gaps) {
            grid.row(vec![
                plain(&repetition.label).into(),
                moment_in(*from_seconds).into(),
                moment_in(*to_seconds).into(),
                plain(source).into(),
                plain(reason).into(),
            ]);
        }
    }
    grid.compact()
}

/// What it cost to look at the target and the machine; `None` where nobody looked.
pub fn sampling(record: &RunRecord) -> Option<String> {
    let cost = record.host.sampling?;
    let core = percent(cost.core_percent)?;
    let looks = crate::words::whole(cost.looks.into());
    Some(format!("{looks} looks, {} of our CPU time, {core} of one core", format_seconds(cost.cpu_seconds)))
}
