//! One self-contained HTML file: no script, no font, no request. Of each report the answer, one picture and one table; all else that
//! is needed to judge or repeat a run is folded below.

mod svg;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plimsoll_measurement::{RunRecord, foreign};

use crate::build;
use crate::model::format::{count, moment, plain};
use crate::model::{Block, Part, Picture, Report, Sentence, Tone};

const STYLE: &str = include_str!("html/style.css");

/// What stands at the head of the page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The page's title.
    pub title: String,
    /// When the page was made, RFC 3339 in UTC; absent where that shall not differ from copy to copy.
    pub generated_at: Option<String>,
}

/// A page about the runs, in the order given; those that a refusal keeps apart have nothing in common.
pub fn report(records: &[RunRecord], refusal: build::Refusal, options: &Options) -> String {
    page(&build::report(records, refusal), &count(records.len(), "run"), options)
}

/// The same with what is better and why first, where the runs are held against the first of them.
pub fn report_compared(
    records: &[RunRecord],
    (refusal, compared): (build::Refusal, &[build::Compared<'_>]),
    options: &Options,
) -> String {
    page(&build::report_compared(records, refusal, compared), &count(records.len(), "run"), options)
}

/// A page about any reports: it needs nothing else, and can't fetch or run anything.
pub fn page(reports: &[Report], about: &str, options: &Options) -> String {
    page_read_as(reports, about, &build::HOW_TO_READ, options)
}

/// The same with other sentences on how to read it.
pub fn page_read_as(reports: &[Report], about: &str, how_to_read: &[&str], options: &Options) -> String {
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
                title { (plain(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header.page {
                    h1 { (plain(title)) }
                    p.quiet {
                        (about)
                        @if let Some(at) = &options.generated_at { ", report of " (moment(at)) }
                    }
                }
                main {
                    @for report in reports { (article(report)) }
                    details.reading {
                        summary { "How to read this report" }
                        ul { @for sentence in how_to_read { li { (sentence) } } }
                    }
                }
            }
        }
    };
    foreign::page(page.into_string())
}

/// One of several is folded behind what it says in a line; a link to it opens it.
fn article(report: &Report) -> Markup {
    let Some(line) = &report.line else { return html! { article { (inside(report)) } } };
    html! {
        details.run {
            summary { b { (report.heading()) } " " span.quiet { (line) } }
            article { (inside(report)) }
        }
    }
}

fn inside(report: &Report) -> Markup {
    let (open, details) = report.split();
    html! {
            h2 id=[(!report.id.is_empty()).then_some(&report.id)] { (report.heading()) }
            @if !report.about.is_empty() { p.quiet { (report.about.join(", ")) } }
            @for part in open { (blocks(part)) }
            @for part in details { (folded(part)) }
    }
}

/// A part behind its title; none without content.
fn folded(part: &Part) -> Markup {
    let content = blocks(part);
    html! { @if !content.0.is_empty() { details.part { summary { (part.title) } (content) } } }
}

fn blocks(part: &Part) -> Markup {
    html! {
        @for block in &part.blocks {
            @match block {
                Block::Sentence(one) => (sentence(one)),
                Block::Picture(one) => (picture(one)),
                Block::Table(one) => (table::section(one)),
                Block::Text(title, text) => { h4 { (title) } pre { (text) } }
            }
        }
    }
}

fn sentence(one: &Sentence) -> Markup {
    html! {
        @match one.tone {
            Tone::Headline => p.headline { (one.text) },
            Tone::Plain => p { (one.text) },
            Tone::Evidence => p.evidence { (one.text) },
            Tone::Quiet => p.quiet { (one.text) },
            Tone::Warning => p.message.warn { strong { "⚠ Warning: " } (one.text) },
            Tone::Error => p.message.bad role="alert" { strong { "✕ " } (one.text) },
        }
    }
}

fn picture(one: &Picture) -> Markup {
    html! {
        (svg::picture(one))
        @if let Picture::Strips(panel) = one { @for note in &panel.notes { p.quiet { (note) } } }
    }
}
