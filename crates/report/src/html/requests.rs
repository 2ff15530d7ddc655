//! What a page shows of requests: their kinds and response times, what came of each phase, whether the client held them
//! back, and their course.

use maud::{Markup, html};
use plimsoll_measurement::RunRecord;

use super::{plots_phases, plots_requests, table};
use crate::requests;
use crate::words;

/// What was answered, and how fast; nothing for a run that made no requests.
pub fn delivered(record: &RunRecord) -> Markup {
    let mix = requests::mix(record);
    html! {
        @if let Some(mix) = &mix {
            (table::section("Requests", Some(mix)))
            @if let Some(sentence) = requests::exactness(record) { p.quiet { (sentence) } }
        }
        @if let Some(chart) = plots_requests::distribution(record) { (chart) }
        (plots_phases::charts(record))
        (table::section("Phases", requests::phases(record).as_ref()))
    }
}

/// Whether the client held the requests back.
pub fn client(record: &RunRecord) -> Markup {
    let Some((sentence, warns)) = words::client(record) else { return Markup::default() };
    html! { @if warns { div.message.warn { p { b { "⚠ " } (sentence) } } } @else { p.quiet { (sentence) } } }
}

/// How even it was: the course of each repetition, and the repetitions beside each other.
pub fn course(record: &RunRecord) -> Markup {
    let charts = [plots_requests::rate(record), plots_requests::latency(record), plots_requests::errors(record)];
    html! {
        @for chart in charts.into_iter().flatten() { (chart) }
        (table::folded("Requests of each repetition", requests::by_repetition(record).as_ref()))
        (table::folded("Phases of each repetition", requests::phases_by_repetition(record).as_ref()))
    }
}
