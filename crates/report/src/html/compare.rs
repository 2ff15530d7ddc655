//! What several runs show together: the headline of each as a bar, and the CPU ladders side by side.

use maud::{Markup, html};
use plimsoll_measurement::{CpuTable, Figure, RunRecord};

use super::table;
use crate::chart::{Bar, BarChart};
use crate::words::{moment, plain, title};
use crate::{cpu, facts};

/// Nothing with a single run, or where no two runs have a figure in common.
pub fn section(records: &[RunRecord]) -> Markup {
    let charts: Vec<Markup> = families(records).iter().filter_map(|family| bars(family)).collect();
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

type Family<'a> = Vec<(&'a RunRecord, &'a Figure)>;

/// Runs whose headlines are the same figure in the same unit, in order of appearance.
fn families(records: &[RunRecord]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for record in records {
        let Some(figure) = &record.result else { continue };
        let same = |family: &&mut Family<'_>| family[0].1.metric == figure.metric && family[0].1.unit == figure.unit;
        match families.iter_mut().find(same) {
            Some(family) => family.push((record, figure)),
            None => families.push(vec![(record, figure)]),
        }
    }
    families.retain(|family| family.len() > 1);
    families
}

fn bars(family: &Family<'_>) -> Option<Markup> {
    let runs: Vec<&RunRecord> = family.iter().map(|(record, _)| *record).collect();
    let labels = labels(&runs);
    let (_, first) = family.first()?;
    let grid = facts::headlines(labels.iter().cloned().zip(family.iter().map(|(_, figure)| *figure)));
    let bars = family.iter().zip(labels).map(|((_, figure), label)| {
        let published = figure.truth.as_ref().filter(|truth| truth.published);
        Bar { label, figure, truth: published.map(|truth| truth.value) }
    });
    let name = title(&first.metric);
    let axis = format!("{name}, {}", plain(&first.unit));
    let chart = BarChart { axis, title: name, bars: bars.collect() }.render()?;
    Some(html! { (chart) @if let Some(grid) = &grid { (table::table(grid)) } })
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

/// What tells the runs apart: the target, then the test and the start where they are needed.
fn labels(runs: &[&RunRecord]) -> Vec<String> {
    let tests_differ = runs.iter().any(|run| run.test != runs[0].test);
    let label = |run: &&RunRecord| {
        let mut label = plain(&run.target);
        if tests_differ {
            label = format!("{label}, {}", plain(&run.test));
        }
        if runs.iter().filter(|other| other.target == run.target && other.test == run.test).count() > 1 {
            label = format!("{label}, {}", moment(&run.started_at));
        }
        label
    };
    runs.iter().map(label).collect()
}
