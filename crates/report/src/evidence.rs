//! What stands behind a verdict, as tables: its stretches, and the ceilings that figures were held against.

use plimsoll_measurement::units::format_seconds;
use plimsoll_measurement::{RunRecord, SampleGap};

use crate::grid::Grid;
use crate::words::{limits, percent, plain, quantity, title};

/// A moment of a repetition, seconds after its start.
fn moment_in(seconds: f64) -> String {
    if seconds > 0.0 { format_seconds(seconds) } else { "0 s".to_owned() }
}

/// Rows: stretches of the repetitions with a verdict of their own.
pub fn stretches(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("Phase")
        .number("From")
        .number("To")
        .text("Limit")
        .number("Used to")
        .text("Evidence");
    for stretch in &record.verdict.stretches {
        let evidence: Vec<String> = stretch.evidence.iter().map(|sentence| plain(sentence)).collect();
        grid.row(vec![
            plain(&stretch.repetition).into(),
            stretch.phase.as_deref().map(title).into(),
            moment_in(stretch.from_seconds).into(),
            moment_in(stretch.to_seconds).into(),
            limits(stretch.limit.as_deref(), &stretch.also).into(),
            stretch.utilisation_percent.and_then(percent).into(),
            (!evidence.is_empty()).then(|| evidence.join("; ")).into(),
        ]);
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
