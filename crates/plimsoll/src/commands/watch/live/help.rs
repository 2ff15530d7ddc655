//! What the keys of a live view do.

use std::collections::VecDeque;

use super::lines::{cut, wrap};

/// Keys, and what they do.
const KEYS: [(&str, &str); 11] = [
    ("q, Ctrl-C", "end, with the summary of all that was watched"),
    ("space", "pause the view, or go on; the server is watched meanwhile"),
    ("s", "sort by the next metric; the chart shows it over time"),
    ("u", "the next unit: total, a second, a minute, an execution, share"),
    ("c", "chart: by statement, or by what sessions waited for"),
    ("up, down", "choose a statement, or scroll"),
    ("Enter", "the whole text of the statement, and its figures over time"),
    ("r", "begin the sums anew; nothing is lost in the store"),
    ("m", "give the present moment a name, as 'plimsoll watch mark' does"),
    ("Esc", "back, or hide the message"),
    ("?", "this help, with the messages so far"),
];

/// Columns of a key.
const KEY: usize = 11;

/// The keys, and below them the messages, the last one first.
pub fn lines(messages: &VecDeque<String>, room: usize) -> Vec<String> {
    let keys = KEYS.iter().map(|(key, what)| cut(&format!("{key:KEY$}{what}"), room));
    let figures = ["", "docs/WATCH.md says what the figures mean, and what can't be seen.", ""];
    let mut lines: Vec<String> = keys.chain(figures.map(|line| cut(line, room))).collect();
    if !messages.is_empty() {
        lines.push("Messages, the last one first; they are printed at the end as well:".to_owned());
        lines.extend(messages.iter().rev().flat_map(|message| wrap(message, room)));
    }
    lines
}
