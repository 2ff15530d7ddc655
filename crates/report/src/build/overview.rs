//! The report of several runs: what they show side by side, and each by itself. A campaign is one of them.

use plimsoll_measurement::{CpuTable, Figure, RunRecord};

use super::campaign::{Campaign, campaign};
use super::compared::Compared;
use super::comparison::comparison;
use super::families::{self, Family, labels, names};
use super::levels::{Level, levels};
use super::run::{in_a_line, run, warnings};
use super::steadiness::steadiness;
use super::{cpu, facts, plots_more, short, words};
use crate::model::format::{count, marked_basis, name, plain, title, value as shown};
use crate::model::{Bar, BarChart, Block, Cell, Group, Part, Picture, Rank, Report, Table, Tone, number, text};

/// How to read a report, in sentences.
pub const HOW_TO_READ: [&str; 9] = [
    "A headline is the estimate over the complete repetitions. Its interval says how far it may be off: if the intervals of two runs \
     overlap widely, these runs do not show a difference.",
    "CV is the coefficient of variation (standard deviation over mean) of the single points: how steady the target was, not how \
     exact the headline is.",
    "MB is 2^20 bytes of data content: the sum of the values' sizes. Pages and device bytes are shown beside it, never instead.",
    "A cold start is proven when at least 98 % of the pages that were read were cache misses and came from the device. Without \
     proof a read rate may contain cached data.",
    "On the lab the expected value is computed from the limits of the modelled hardware and the rows, before the run. It is \
     published where it rests on a figure that was printed for this very level and edition.",
    "Response times count from the start that the schedule intended, where there is one: a request that had to wait for others is \
     as late as its user would see it. A gap in a chart over time is a time without answers.",
    "The bottleneck is named only where the counters show it; the evidence stands beside it. An en dash (–) means not known, \
     never zero.",
    "Strips that share a time axis show what happened at once. The band above them names the bottleneck; hatched is a time about \
     which nothing is known; of many samples a line is the mean, the shade behind it their range.",
    "Symbols beside a value and circles in a chart mark points to read with care; hover over them for the reason. All times are UTC.",
];

/// Says why the figures of two runs of one test can't be held against each other; `None` where they can.
pub type Refusal = fn(&RunRecord, &RunRecord) -> Option<String>;

/// The reports of a document about these runs, in the order given: one of all where there are several, then one of each.
pub fn report(records: &[RunRecord], refusal: Refusal) -> Vec<Report> {
    report_compared(records, refusal, &[])
}

/// The same, with what is better and why before all else, where the runs are held against the first.
pub fn report_compared(records: &[RunRecord], refusal: Refusal, compared: &[Compared<'_>]) -> Vec<Report> {
    let runs = records.iter().enumerate().map(|(at, record)| Report { id: anchor(at), ..run(record) });
    if records.len() == 1 {
        return runs.collect();
    }
    let in_short = records.len() > MOST_IN_FULL;
    let told = |(one, record): (Report, &RunRecord)| {
        let one = if in_short { without_details(one) } else { without_charts(one) };
        Report { line: Some(in_a_line(record)), ..one }
    };
    let mut together = overview(records, refusal);
    together.line = (!compared.is_empty()).then(|| "the figures of all, beside each other".to_owned());
    // What a terminal's user types for more is on the page.
    let answers = comparison(compared).into_iter().map(|one| Report { more: None, ..one });
    answers.chain([together]).chain(runs.zip(records).map(told)).collect()
}

/// So many runs that failed are told one by one.
const MOST_ERRORS: usize = 3;

/// Of more runs than these each has its answer, picture and table, and its details are in its own report.
const MOST_IN_FULL: usize = 6;

/// A run among many.
fn without_details(mut report: Report) -> Report {
    let before = report.parts.len();
    report.parts.retain(|part| part.rank != Rank::Detail);
    let mut own = Part::detail("Details");
    let left_out = report.parts.len() < before;
    let how = report.run_id.as_ref().filter(|_| left_out);
    own.say(
        Tone::Quiet,
        how.map(|id| format!("Evidence, samples and conditions of this run: plimsoll report {id} --html FILE")),
    );
    report.add_all([own]);
    report.parts.retain(|part| !part.blocks.is_empty());
    report
}

/// A run among others, with the tables of its details: charts of all that was sampled of many runs make a page that nobody opens.
fn without_charts(mut report: Report) -> Report {
    let mut left_out = 0;
    for part in report.parts.iter_mut().filter(|part| part.rank == Rank::Detail) {
        let before = part.blocks.len();
        part.blocks.retain(|block| !matches!(block, Block::Picture(_)));
        left_out += before - part.blocks.len();
    }
    let mut charts = Part::detail("Charts");
    let how = report
        .run_id
        .as_ref()
        .filter(|_| left_out > 0)
        .map(|id| format!("{} of this run alone: plimsoll report {id} --html FILE", count(left_out, "more chart")));
    charts.say(Tone::Quiet, how);
    report.add_all([charts]);
    report.parts.retain(|part| !part.blocks.is_empty());
    report
}

fn anchor(at: usize) -> String {
    format!("run-{}", at + 1)
}

/// What several runs show together, without each by itself.
pub fn side_by_side(records: &[RunRecord]) -> Report {
    let mut report = Report::new(count(records.len(), "run"));
    let mut part = Part::of(Rank::Table);
    for family in families::families(records) {
        part.table(&title(&family[0].1.metric), headlines(&family));
    }
    report.add_all([part]);
    report
}

fn overview(records: &[RunRecord], refusal: Refusal) -> Report {
    let families = families::families(records);
    let campaign = campaign(records);
    let mut report = Report::new(match &campaign {
        Some(_) => "Tests by target".to_owned(),
        None => count(records.len(), "run"),
    });
    report.add_all([answer(records, &families, refusal)]);
    let mut together = Part::detail("Runs side by side");
    for family in &families {
        if apart(family, refusal).is_none() {
            together.pictures(bars(family));
        }
        together.table(&family_name(family), headlines(family));
    }
    together.pictures(plots_more::used_by_run(records));
    ladders(records, &mut together);
    let mut picture = Part::of(Rank::Picture);
    picture.pictures(campaign.as_ref().and_then(percentages));
    if picture.blocks.is_empty() {
        picture = Part::promoted(Rank::Picture, [&mut together], |block| matches!(block, Block::Picture(_)));
    }
    report.add_all([picture]);
    let (mut table, mut details) = (Part::of(Rank::Table), Part::detail("Each run by itself"));
    match campaign {
        Some(campaign) => {
            table.table("", Some(campaign.values));
            details.table("Columns", campaign.columns);
            details.table(&format!("In percent of {}", campaign.base), campaign.shares);
            details.table("Runs", summary(records));
        }
        None => table.table("", summary(records)),
    }
    report.add_all([table, details, together]);
    report
}

/// From where to where each figure goes, and how many runs did not come to their end.
fn answer(records: &[RunRecord], families: &[Family<'_>], refusal: Refusal) -> Part {
    let mut part = Part::of(Rank::Answer);
    if records.is_empty() {
        part.say(Tone::Headline, "There are no runs.".to_owned());
    }
    for family in families {
        if let Some(why) = apart(family, refusal) {
            part.say(Tone::Warning, why);
            continue;
        }
        let mut all: Vec<(String, &(&RunRecord, &Figure))> = names(family).into_iter().zip(family).collect();
        all.sort_by(|one, other| one.1.1.value.total_cmp(&other.1.1.value));
        let (Some((low, least)), Some((high, most))) = (all.first(), all.last()) else { continue };
        let of = |one: &(&RunRecord, &Figure)| shown(&words::value(one.0, one.1));
        let metric = name(&least.1.metric);
        let test = one_test(family).map_or_else(|| "all".to_owned(), plain);
        let said = match (of(least), of(most)) {
            (same, other) if same == other => format!("{test}: the {metric} is {same} in all {} runs.", all.len()),
            (least, most) => format!("{test}: the {metric} goes from {least} ({low}) to {most} ({high})."),
        };
        part.say(Tone::Headline, said);
    }
    part.say(Tone::Quiet, short::told(&records.iter().map(|record| plain(&record.target)).collect::<Vec<_>>()));
    let open = records.iter().filter(|record| words::state(record) != words::COMPLETE).count();
    if open > 0 {
        part.say(Tone::Warning, format!("{open} of {} did not complete.", count(records.len(), "run")));
        // Why is the answer to what somebody changed.
        for (record, error) in
            records.iter().filter_map(|record| Some((record, record.error.as_ref()?))).take(MOST_ERRORS)
        {
            let called = record.label.as_deref().unwrap_or(&record.test);
            part.say(Tone::Warning, format!("{} failed: {}", plain(called), plain(&error.message)));
        }
    }
    let warned = records.iter().filter(|record| !warnings(record, &steadiness(record))[0].is_empty()).count();
    if warned > 0 {
        let verb = if warned == 1 { "has" } else { "have" };
        part.say(Tone::Warning, format!("{warned} of {} {verb} warnings.", count(records.len(), "run")));
    }
    part
}

/// Why the figures of a family do not stand side by side: two runs of one test that did not measure the same.
fn apart(family: &Family<'_>, refusal: Refusal) -> Option<String> {
    family.iter().enumerate().find_map(|(at, (run, _))| {
        let base = family.iter().position(|(base, _)| base.test == run.test)?;
        let (why, names) = (refusal(family[base].0, run)?, names(family));
        Some(format!("{} and {} did not measure the same: they differ in {why}.", names[base], names[at]))
    })
}

/// Rows: the runs, with a link to each.
fn summary(records: &[RunRecord]) -> Option<Table> {
    let figures = records.iter().filter_map(|record| record.result.as_ref());
    let figure = |record: &RunRecord, part: fn(&Figure) -> Cell| record.result.as_ref().map(part).unwrap_or_default();
    Table::of(
        records.iter().enumerate(),
        &[
            (text("Test"), &|(at, record)| Cell {
                link: Some(anchor(*at)),
                ..format!("{}{}", plain(&record.test), marked_basis(record.basis)).into()
            }),
            (text("Target"), &|(_, record)| plain(&record.target).into()),
            (number(facts::with_interval(figures), ""), &|(_, record)| {
                record.result.as_ref().map(|figure| words::value(record, figure)).into()
            }),
            (number("Expected", ""), &|(_, record)| figure(record, facts::expected)),
            (number("Off by", "%").signed(), &|(_, record)| figure(record, facts::off_by)),
            (text("Bottleneck"), &|(_, record)| facts::bottleneck(record)),
            (text("Started (UTC)").spare(20), &|(_, record)| Cell::time(&record.started_at)),
            (text("State"), &|(_, record)| words::state(record).into()),
        ],
    )
}

fn headlines(family: &Family<'_>) -> Option<Table> {
    let rows = names(family).into_iter().zip(family).map(|(label, (record, figure))| (label, *record, *figure));
    facts::headlines(rows)
}

/// Bars of one test bear its name: others may have the same figure.
fn family_name(family: &Family<'_>) -> String {
    let metric = &family[0].1.metric;
    one_test(family).map_or_else(|| title(metric), |test| format!("{}: {}", plain(test), name(metric)))
}

/// The test of all runs of a family; `None` where there are several.
fn one_test<'a>(family: &Family<'a>) -> Option<&'a str> {
    let test = family[0].0.test.as_str();
    family.iter().all(|(run, _)| run.test == test).then_some(test)
}

/// More bars than this are no picture.
const MOST_BARS: usize = 48;

/// All tests and targets in one chart, in percent of the first column.
fn percentages(campaign: &Campaign) -> Option<Picture> {
    let bar = |(label, value): &(String, _)| Bar { label: label.clone(), value: Clone::clone(value), expected: None };
    let axis = format!("% of {}", campaign.base);
    let title = format!("In percent of {}", campaign.base);
    let bars = campaign.bars.iter().map(bar);
    (campaign.bars.len() <= MOST_BARS).then(|| Picture::Bars(BarChart::plain(title, axis, bars)))
}

fn bars(family: &Family<'_>) -> Vec<Picture> {
    let (title, figure) = (family_name(family), family[0].1);
    let axis = format!("{}, {}", crate::model::format::title(&figure.metric), plain(&figure.unit));
    if let Some(levels) = levels(family) {
        let grouped = |panel: &Vec<Level<'_>>| {
            let group = |(level, values): &Level<'_>| Group {
                name: level.clone(),
                bars: values
                    .iter()
                    .map(|(at, run, figure)| (*at, bar(levels.series[*at].clone(), run, figure)))
                    .collect(),
            };
            let groups = panel.iter().map(group).collect();
            let (title, axis, series) = (title.clone(), axis.clone(), levels.series.clone());
            Picture::Bars(BarChart { title, axis, series, groups, limit: None })
        };
        return levels.panels.iter().map(grouped).collect();
    }
    let bars = family.iter().zip(names(family)).map(|((record, figure), label)| bar(label, record, figure));
    vec![Picture::Bars(BarChart::plain(title, axis, bars.take(MOST_BARS)))]
}

fn bar(label: String, record: &RunRecord, figure: &Figure) -> Bar {
    let published = figure.expected.as_ref().filter(|expected| expected.published);
    Bar { label, value: words::value(record, figure), expected: published.map(|expected| expected.value) }
}

fn ladders(records: &[RunRecord], part: &mut Part) {
    let ladders: Vec<(&RunRecord, &CpuTable)> =
        records.iter().filter_map(|record| Some((record, record.cpu_table.as_ref()?))).collect();
    if ladders.len() < 2 {
        return;
    }
    let runs: Vec<&RunRecord> = ladders.iter().map(|(record, _)| *record).collect();
    let columns: Vec<(String, &CpuTable)> =
        labels(&runs).into_iter().zip(ladders.iter().map(|(_, cpu)| *cpu)).collect();
    for (name, table) in cpu::blocks(&columns) {
        part.table(name, Some(table));
    }
    part.say(Tone::Quiet, cpu::HOW_TO_READ.to_owned());
}
