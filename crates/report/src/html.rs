//! One self-contained HTML file: no script, no font, no request. What was delivered first, then what bound it, how steady
//! it was, and under which conditions: everything needed to judge or repeat it.

mod compare;
mod history;
mod plots;
mod plots_more;
mod plots_phases;
mod plots_requests;
mod plots_samples;
mod requests;
mod run;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plimsoll_measurement::RunRecord;

pub use self::history::history;
use crate::campaign::campaign;
use crate::words;

const STYLE: &str = include_str!("html/style.css");

/// What stands at the head of the page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The page's title.
    pub title: String,
    /// When the page was made, RFC 3339 in UTC; absent where that shall not differ from copy to copy.
    pub generated_at: Option<String>,
}

/// A page about the runs, in the order given.
pub fn report(records: &[RunRecord], options: &Options) -> String {
    let body = html! {
        @if records.is_empty() { p { "No runs." } }
        @match campaign(records) {
            // Its table says more in less space than a card for each run does.
            Some(campaign) => {
                section { (compare::by_target(&campaign)) }
                details { summary { "Each run by itself" } (cards(records)) }
            }
            None => (cards(records)),
        }
        (compare::section(records))
        (plots_more::used_by_run(records))
        @for (at, record) in records.iter().enumerate() { (run::article(at, record)) }
        (how_to_read())
    };
    frame(options, &words::count(records.len(), "run"), &body)
}

/// The page around a body: it needs nothing else, and can't fetch or run anything.
fn frame(options: &Options, about: &str, body: &Markup) -> String {
    let title = if options.title.is_empty() { "Plimsoll report" } else { &options.title };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Whatever a record holds, the page can't fetch or run anything.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (words::plain(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header.page {
                    h1 { (words::plain(title)) }
                    p.quiet {
                        (about)
                        @if let Some(moment) = &options.generated_at { ", report of " (words::moment(moment)) }
                    }
                }
                main { (body) }
            }
        }
    };
    page.into_string()
}

/// Where a run's own part of the page begins.
fn anchor(at: usize) -> String {
    format!("run-{}", at + 1)
}

fn cards(records: &[RunRecord]) -> Markup {
    html! {
        section.cards aria-label="Headline figures" {
            @for (at, record) in records.iter().enumerate() { (card(at, record)) }
        }
    }
}

fn card(at: usize, record: &RunRecord) -> Markup {
    let warnings = words::warnings(record).len();
    html! {
        a.card.failed[record.error.is_some()] href={ "#" (anchor(at)) } {
            span.name { (words::plain(&record.test)) }
            span.target { (words::plain(&record.target)) }
            @match &record.result {
                Some(figure) => {
                    span.figure { (words::bound(record, &figure.unit)) (words::number(figure.value).unwrap_or_else(|| words::UNKNOWN.to_owned())) " " small { (words::plain(&figure.unit)) } }
                    span { (words::title(&figure.metric)) ", " (words::interval(figure)) }
                    @if let Some(truth) = &figure.expected { span { (words::truth(truth)) } }
                    span.quiet { (words::basis(figure)) }
                }
                None => { span.figure { (words::UNKNOWN) } span { "No result" } }
            }
            @if let Some(verdict) = words::verdict(&record.verdict) { span { "Limit: " (verdict) } }
            @if words::state(record) != "complete" { span.bad { "✕ " (words::state(record)) } }
            @if warnings > 0 { span.warn { "⚠ " (words::count(warnings, "warning")) } }
        }
    }
}

fn how_to_read() -> Markup {
    html! {
        section.reading {
            h2 { "How to read this report" }
            ul {
                li { "A headline is the estimate over the complete repetitions. Its interval says how far it may be off: "
                     "if the intervals of two runs overlap widely, these runs do not show a difference." }
                li { "CV is the coefficient of variation (standard deviation over mean) of the single points: "
                     "how steady the target was, not how exact the headline is." }
                li { "MB is 2" sup { "20" } " bytes of data content: the sum of the values' sizes. Pages and device bytes "
                     "are shown beside it, never instead." }
                li { "A cold start is proven when at least 98 % of the pages that were read were cache misses and came "
                     "from the device. Without proof a read rate may contain cached data." }
                li { "On the lab the true value is computed from the limits of the modelled hardware and the rows, before the "
                     "run. It is published where it rests on a figure that was printed for this very level and edition." }
                li { "Response times count from the start that the schedule intended, where there is one: a request that "
                     "had to wait for others is as late as its user would see it. A gap in a chart over time is a time "
                     "without answers." }
                li { "The limit is named only where the counters show it; the evidence stands beside it. "
                     "An en dash (" (words::UNKNOWN) ") means not known, never zero." }
                li { "Charts that share a time axis show what happened at once: what was delivered, how far each resource was "
                     "used of its ceiling, what sessions did or waited for (their mean number), and how long reads and "
                     "writes took. The band above them names the limit that bound. Hatched is a time about which nothing is "
                     "known; of many samples a line is the mean, the shade behind it their range." }
                li { "Symbols beside a value and circles in a chart mark points to read with care; hover over them for "
                     "the reason. All times are UTC." }
            }
        }
    }
}
