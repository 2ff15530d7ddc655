//! What a page shows of requests: whether the client held them back, their course, their response times, their kinds, and
//! what came of each phase.

use maud::{Markup, html};
use plimsoll_measurement::RunRecord;

use super::{plots_phases, plots_requests, table};
use crate::requests;
use crate::words;

/// The part of a run's article about its requests; nothing for a run that made none.
pub fn section(record: &RunRecord) -> Markup {
    let (mix, phases) = (requests::mix(record), requests::phases(record));
    let charts = [plots_requests::rate(record), plots_requests::latency(record), plots_requests::errors(record)];
    html! {
        @if let Some((sentence, warns)) = words::client(record) {
            @if warns { div.message.warn { p { b { "⚠ " } (sentence) } } } @else { p.quiet { (sentence) } }
        }
        @for chart in charts.into_iter().flatten() { (chart) }
        @if let Some(mix) = &mix {
            (table::section("Requests", Some(mix)))
            @if let Some(sentence) = requests::exactness(record) { p.quiet { (sentence) } }
            (table::folded("Requests of each repetition", requests::by_repetition(record).as_ref()))
        }
        @if let Some(chart) = plots_requests::distribution(record) { (chart) }
        (plots_phases::charts(record))
        (table::section("Phases", phases.as_ref()))
        (table::folded("Phases of each repetition", requests::phases_by_repetition(record).as_ref()))
        (table::section("Waits", requests::waits(record).as_ref()))
        (table::section("Files", requests::files(record).as_ref()))
    }
}
