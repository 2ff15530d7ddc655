//! The page of a history: the answer, the chart over dates, the levels, the runs.

use maud::html;

use super::{Options, frame, table};
use crate::history::History;
use crate::words::{count, plain, title};

/// A page about a figure over the runs of a test.
pub fn history(history: &History, options: &Options) -> String {
    let body = html! {
        section {
            h2 { (title(&history.metric)) " of " (plain(&history.test)) " on " span.target { (plain(&history.target)) } }
            p.headline { (plain(&history.answer())) }
            @if let Some(chart) = history.chart() { (chart) }
            (table::section("Levels", history.levels().as_ref()))
            @for remark in history.remarks() { p { (plain(&remark)) } }
            (table::section("Runs", history.table().as_ref()))
            @if !history.left_out.is_empty() {
                h3 { "Left out" }
                ul { @for sentence in &history.left_out { li { (plain(sentence)) } } }
            }
            p.quiet {
                "Whiskers are the intervals of the runs, from their repetitions. A level has three runs at least; it is taken for "
                "a change where runs without one would show as much in one history of a hundred. That something else changed at "
                "the same time does not prove that it is the cause."
            }
        }
    };
    frame(options, &count(history.runs.len(), "run"), &body)
}
