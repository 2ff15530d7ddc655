//! One run in full, as a story: what was delivered, what bound it and why one should believe it, how steady it was, under
//! which conditions.

use maud::{Markup, html};
use plimsoll_measurement::RunRecord;

use super::{anchor, plots, plots_more, plots_samples, requests, table};
use crate::steadiness::{self, steadiness};
use crate::words::{self, plain};
use crate::{cpu, evidence, facts, moved};

/// Points up to which a chart's values are also given as a table.
const POINTS_IN_A_TABLE: usize = 60;

/// The part of the page about one run.
pub fn article(at: usize, record: &RunRecord) -> Markup {
    html! {
        article id=(anchor(at)) {
            h2 { (plain(&record.test)) " on " span.target { (plain(&record.target)) } }
            p.quiet {
                (words::moment(&record.started_at)) ", " (plain(&record.engine)) " " (plain(record.engine_version.as_deref().unwrap_or_default()))
                ", " (words::time(record)) ", " (words::state(record))
            }
            (messages(record))
            (part("What was delivered", &delivered(record)))
            (part("What bound it", &bound(record)))
            (part("How steady it was", &steady(record)))
            (part("Under which conditions", &conditions(record)))
        }
    }
}

/// A part of the story; none without content.
fn part(title: &str, content: &Markup) -> Markup {
    if content.0.is_empty() {
        Markup::default()
    } else {
        html! { section.part { h3 { (title) } (content) } }
    }
}

fn delivered(record: &RunRecord) -> Markup {
    html! {
        (headline(record))
        (requests::delivered(record))
        (table::section("Stages", moved::stages(record).as_ref()))
        (plots_more::moves(record))
        (table::section("Sizes", moved::sizes(record).as_ref()))
        (ladder(record))
        @if let Some(chart) = plots::memory(record) { (chart) }
        (table::section("Working sets", facts::memory(record).as_ref()))
    }
}

fn bound(record: &RunRecord) -> Markup {
    html! {
        (verdict(record))
        (requests::client(record))
        (table::section(words::GAINS, evidence::gains(record).as_ref()))
        (table::section("Used of each ceiling", evidence::used(record).as_ref()))
        (plots_samples::panels(record))
        @if let Some(chart) = plots_more::used_by_point(record) { (chart) }
        (table::section("Segments", evidence::segments(record).as_ref()))
        (table::section("Waits", crate::requests::waits(record).as_ref()))
        (table::section("Files", crate::requests::files(record).as_ref()))
        (table::section("Files against limits of their own", crate::requests::file_limits(record).as_ref()))
        (table::section("Resources", facts::resources(record).as_ref()))
    }
}

fn steady(record: &RunRecord) -> Markup {
    let steady = steadiness(record);
    html! {
        @for remark in steadiness::remarks(&steady) { p { (remark) } }
        (table::section("Steadiness", steadiness::table(&steady).as_ref()))
        (requests::course(record))
        @for phase in plots::phases(record) {
            @if let Some(chart) = plots::rates(record, phase) {
                (chart)
                (table::folded("Values of this chart", facts::point_rates(record, phase, POINTS_IN_A_TABLE).as_ref()))
            }
        }
        (table::section("Repetitions", facts::repetitions(record).as_ref()))
        @if let Some(chart) = plots_more::minutes(record) { (chart) }
        (table::section("Per minute", facts::minutes(record).as_ref()))
    }
}

fn messages(record: &RunRecord) -> Markup {
    let warnings = words::warnings(record);
    html! {
        @if let Some(error) = &record.error {
            div.message.bad role="alert" {
                p { b { "✕ Error (" (plain(&error.kind)) "): " } (plain(&error.message)) }
                @if let Some(hint) = &error.hint { p { "What to do: " (plain(hint)) } }
            }
        }
        @if !warnings.is_empty() {
            div.message.warn {
                @for warning in &warnings { p { b { "⚠ Warning: " } (warning) } }
            }
        }
    }
}

fn headline(record: &RunRecord) -> Markup {
    let Some(figure) = &record.result else {
        return html! { p.headline { (words::no_result(record)) } };
    };
    html! {
        p.headline {
            (words::title(&figure.metric)) " " b { (words::value(record, figure)) } ", " (words::interval(figure)) ", " (words::basis(figure)) "."
            @if let Some(truth) = &record.expected { br; "On the lab: " (words::truth(truth)) "." br; span.quiet { (words::why_true(truth)) } }
            @if let Some(note) = &figure.note { br; (plain(note)) }
        }
        (table::section("All figures", facts::figures(record).as_ref()))
    }
}

fn verdict(record: &RunRecord) -> Markup {
    let Some(verdict) = words::verdict(&record.verdict) else { return Markup::default() };
    html! {
        div.message.verdict {
            p { b { "Limit: " (verdict) } " " (words::limit_meaning(record.verdict.limit.as_deref())) }
            @if !record.verdict.evidence.is_empty() {
                ul { @for sentence in &record.verdict.evidence { li { (plain(sentence)) } } }
            }
        }
    }
}

fn ladder(record: &RunRecord) -> Markup {
    let Some(cpu) = &record.cpu_table else { return Markup::default() };
    let Some(grid) = cpu::table(cpu) else { return Markup::default() };
    html! {
        h4 { "CPU ladder" }
        (table::table(&grid))
        (table::legend(&[&grid]))
        p.quiet { @for sentence in cpu::anchors(cpu) { (sentence) " " } (cpu::HOW_TO_READ) }
        @if let Some(chart) = plots::ladder(cpu) { (chart) }
    }
}

fn conditions(record: &RunRecord) -> Markup {
    html! {
        (table::section("Cold start", facts::cold_starts(record).as_ref()))
        (table::section("Ceilings", evidence::ceilings(record).as_ref()))
        div.conditions {
            div { (table::section("Parameters", facts::parameters(record).as_ref())) }
            div { (table::section("Environment", facts::environment(record).as_ref())) }
            div { (table::section("Origin", facts::origin(record).as_ref())) }
        }
        @if !record.definition.text.is_empty() {
            details { summary { "Definition of the test" } pre { (record.definition.text) } }
        }
    }
}
