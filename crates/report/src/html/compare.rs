//! What several runs show together: the headline of each as a bar, and the CPU ladders side by side.

use maud::{Markup, html};
use plimsoll_measurement::{CpuTable, Figure, RunRecord};

use super::table;
use crate::campaign::Campaign;
use crate::chart::{Bar, BarChart, GroupedBars};
use crate::families::{self, Family, labels};
use crate::levels::{Level, levels};
use crate::words::{self, plain, title};
use crate::{cpu, facts};

/// Nothing with a single run, or where no two runs have a figure in common.
pub fn section(records: &[RunRecord]) -> Markup {
    let charts: Vec<Markup> = families::families(records).iter().filter_map(|family| bars(family)).collect();
    let ladders: Vec<(&RunRecord, &CpuTable)> =
        records.iter().filter_map(|record| Some((record, record.cpu_table.as_ref()?))).collect();
    if charts.is_empty() && ladders.len() < 2 {
        return Markup::default();
    }
    html! {
        section {
            h2 { "Runs side by side" }
            @for chart in charts { (chart) }
            @if ladders.len() > 1 { (side_by_side(&ladders)) }
        }
    }
}

/// A campaign's tests by target; nothing of other runs.
pub fn by_target(campaign: &Campaign) -> Markup {
    html! {
        h2 { "Tests by target" }
        (table::table(&campaign.values))
        @if let Some(columns) = &campaign.columns { (table::table(columns)) }
        @if let Some(shares) = &campaign.shares {
            h3 { "In percent of " (campaign.base) }
            (table::table(shares))
            @if let Some(chart) = percentages(campaign) { (chart) }
        }
    }
}

/// More bars than this are no picture.
const MOST_BARS: usize = 48;

/// All tests and targets in one chart, in percent of the first column.
fn percentages(campaign: &Campaign) -> Option<Markup> {
    if campaign.bars.len() > MOST_BARS {
        return None;
    }
    let bars = campaign.bars.iter().map(|(label, figure)| {
        let value = words::quantity(figure.value, &figure.unit);
        Bar { label: label.clone(), value, figure, truth: None }
    });
    let axis = format!("% of {}", campaign.base);
    BarChart { axis, title: format!("In percent of {}", campaign.base), bars: bars.collect() }.render()
}

fn bars(family: &Family<'_>) -> Option<Markup> {
    let runs: Vec<&RunRecord> = family.iter().map(|(record, _)| *record).collect();
    let labels = labels(&runs);
    let (_, first) = family.first()?;
    let grid =
        facts::headlines(labels.iter().cloned().zip(family).map(|(label, (record, figure))| (label, *record, *figure)));
    let bars = family.iter().zip(labels).map(|((record, figure), label)| bar(label, record, figure));
    let metric = title(&first.metric);
    let axis = format!("{metric}, {}", plain(&first.unit));
    // Bars of one test bear its name: others may have the same figure.
    let is_one_test = runs.iter().all(|run| run.test == runs[0].test);
    let name = if is_one_test { format!("{}: {}", plain(&runs[0].test), metric.to_lowercase()) } else { metric };
    let chart = match levels(family) {
        Some(levels) => {
            let panels = levels.panels.iter().map(|panel| grouped(panel, &levels.series, &name, &axis));
            html! { @for chart in panels.flatten() { (chart) } }
        }
        None => BarChart { axis, title: name, bars: bars.collect() }.render()?,
    };
    Some(html! { (chart) @if let Some(grid) = &grid { (table::table(grid)) } })
}

fn grouped(panel: &[Level<'_>], series: &[String], title: &str, axis: &str) -> Option<Markup> {
    let mut groups = Vec::new();
    for (level, values) in panel {
        let bars = values.iter().map(|(at, record, figure)| (*at, bar(series[*at].clone(), record, figure)));
        groups.push((level.clone(), bars.collect()));
    }
    GroupedBars { title: title.to_owned(), axis: axis.to_owned(), series: series.to_vec(), groups }.render()
}

fn bar<'a>(label: String, record: &RunRecord, figure: &'a Figure) -> Bar<'a> {
    let published = figure.expected.as_ref().filter(|truth| truth.published);
    Bar { label, value: words::value(record, figure), figure, truth: published.map(|truth| truth.value) }
}

fn side_by_side(ladders: &[(&RunRecord, &CpuTable)]) -> Markup {
    let runs: Vec<&RunRecord> = ladders.iter().map(|(record, _)| *record).collect();
    let columns: Vec<(String, &CpuTable)> =
        labels(&runs).into_iter().zip(ladders.iter().map(|(_, cpu)| *cpu)).collect();
    let blocks = cpu::blocks(&columns);
    html! {
        @for (name, grid) in &blocks {
            h3 { (name) }
            (table::table(grid))
        }
        (table::legend(&blocks.iter().map(|(_, grid)| grid).collect::<Vec<_>>()))
        p.quiet { (cpu::HOW_TO_READ) }
    }
}
