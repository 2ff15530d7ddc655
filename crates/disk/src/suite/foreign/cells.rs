//! The TOML of a suite, as other tools' files are turned into it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// A suite made of another tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// The TOML of the suite.
    pub text: String,
    /// What the file asks for and the suite does not do: a sentence each.
    pub left_out: Vec<String>,
}

/// So many sentences are told one by one.
const MOST_LEFT_OUT: usize = 20;

impl Translated {
    /// Of each sentence the first. The suite has them as well, so that they stand in the records of its runs.
    pub(super) fn of(text: &str, left_out: Vec<String>) -> Self {
        let mut seen = HashSet::new();
        let plain = |sentence: String| sentence.replace(char::is_control, " ");
        let mut left_out: Vec<String> =
            left_out.into_iter().map(plain).filter(|sentence| seen.insert(sentence.clone())).collect();
        if let Some(more) = left_out.len().checked_sub(MOST_LEFT_OUT).filter(|more| *more > 0) {
            left_out.truncate(MOST_LEFT_OUT);
            left_out.push(format!("{more} more lines are not understood"));
        }
        // A list of texts is written in TOML as it is in JSON.
        let list = serde_json::Value::from(left_out.clone());
        let text = if left_out.is_empty() { text.to_owned() } else { format!("left_out = {list}\n{text}") };
        Self { text, left_out }
    }
}

/// A cell as a suite writes it.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of a cell in a suite's file")]
pub(super) struct CellText {
    pub label: String,
    pub read_percent: u32,
    pub is_random: bool,
    pub own_offsets: bool,
    pub sync: Option<&'static str>,
    pub block_bytes: u64,
    pub threads: u32,
    pub queue_depth: u32,
    pub duration: Duration,
    pub warm_up: Duration,
    pub rate: Option<f64>,
    pub is_poisson: bool,
    /// Whether it runs beside the cell before it, whose times it has.
    pub is_beside: bool,
}

/// The suite of these cells, with a title for people.
pub(super) fn suite(stem: &str, title: &str, tool: &str, file_bytes: u64, cells: &[CellText]) -> String {
    let letters = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let mut text = format!(
        "name = \"{}-{}\"\ntitle = \"{title}\"\nabout = \"Cells of {tool}.\"\nrepetitions = 1\nfile = \"{file_bytes}\"\n\
         shrinks = false\n",
        tool.to_lowercase(),
        letters.collect::<String>().trim_matches('-')
    );
    for cell in cells {
        let operation = match cell.read_percent {
            0 => "write",
            100 => "read",
            _ => "mixed",
        };
        let label: String = cell.label.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "\n[[{}]]\noperation = \"{operation}\"\naccess = \"{}\"\noffsets = \"{}\"\nblock = \"{}\"\nthreads = {}\nqueue_depth = {}\n",
            if cell.is_beside { "cell.beside" } else { "cell" },
            if cell.is_random { "random" } else { "sequential" },
            if cell.own_offsets { "own" } else { "shared" },
            cell.block_bytes,
            cell.threads,
            cell.queue_depth
        );
        if !label.is_empty() {
            let _ = writeln!(text, "label = \"{label}\"");
        }
        if operation == "mixed" {
            let _ = writeln!(text, "read_percent = {}", cell.read_percent);
        }
        let more = [
            cell.sync.map(|sync| format!("sync = \"{sync}\"")),
            (!cell.is_beside).then(|| format!("duration = \"{}ms\"", cell.duration.as_millis())),
            (!cell.warm_up.is_zero()).then(|| format!("warm_up = \"{}ms\"", cell.warm_up.as_millis())),
            cell.rate.map(|rate| format!("rate = {rate:?}")),
            cell.is_poisson.then(|| "arrivals = \"poisson\"".to_owned()),
        ];
        for line in more.into_iter().flatten() {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}
