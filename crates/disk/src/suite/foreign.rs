//! What other tools are told to do, as a suite of ours: fio's job files, and scripts that call SQLIO with their parameter files. Each
//! becomes the TOML of a suite, with a list of what was left out of it.

mod fio;
mod sqlio;

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::import::{Imported, Tool};

/// A suite made of another tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// The TOML of the suite.
    pub text: String,
    /// What the file asks for and the suite does not do: a sentence each.
    pub left_out: Vec<String>,
}

impl Translated {
    /// Of each sentence the first.
    fn of(text: String, left_out: Vec<String>) -> Self {
        let mut seen = HashSet::new();
        Self { text, left_out: left_out.into_iter().filter(|sentence| seen.insert(sentence.clone())).collect() }
    }
}

/// Whether a file of this name is another tool's.
pub fn is_foreign(name: &str) -> bool {
    let ends = |end: &str| name.to_lowercase().ends_with(end);
    [".fio", ".cmd", ".bat", ".txt"].into_iter().any(ends)
}

/// Reads a fio job file (`.fio`), else a script of SQLIO's or one of its parameter files. `beside` reads a file that a script names.
///
/// # Errors
/// A sentence with file and line.
pub fn translate(file: &str, text: &str, beside: &dyn Fn(&str) -> Option<String>) -> Result<Translated, String> {
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let said = |(line, problem): (usize, String)| format!("{file}:{line}: {problem}");
    if file.to_lowercase().ends_with(".fio") {
        return fio::translate(stem, text).map_err(said);
    }
    sqlio::translate(stem, text, beside).map_err(said)
}

/// The suite that would do again what another tool did.
pub(crate) fn of_results(tool: Tool, runs: &[Imported]) -> String {
    let cell = |run: &Imported| CellText {
        label: run.label.clone(),
        read_percent: run.read_percent,
        is_random: run.is_random,
        // A thread that reads or writes one block after the other has a part of the file of its own.
        own_offsets: !run.is_random,
        sync: None,
        block_bytes: run.block_bytes,
        threads: run.threads,
        queue_depth: run.queue_depth,
        seconds: run.seconds.round().max(1.0) as u64,
        warm_up_seconds: 0,
        rate: None,
        is_poisson: false,
    };
    let cells: Vec<CellText> = runs.iter().map(cell).collect();
    let file_bytes = runs.iter().filter_map(|run| run.file_bytes).max();
    suite("imported", tool.name(), file_bytes.unwrap_or(UNKNOWN_FILE_BYTES), &cells)
}

/// A suite has the size of its file, also where the results don't say it.
const UNKNOWN_FILE_BYTES: u64 = 1 << 30;

/// A cell as a suite writes it.
struct CellText {
    label: String,
    read_percent: u32,
    is_random: bool,
    own_offsets: bool,
    sync: Option<&'static str>,
    block_bytes: u64,
    threads: u32,
    queue_depth: u32,
    seconds: u64,
    warm_up_seconds: u64,
    rate: Option<u64>,
    is_poisson: bool,
}

/// The suite of these cells.
fn suite(stem: &str, tool: &str, file_bytes: u64, cells: &[CellText]) -> String {
    let letters = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let mut text = format!(
        "name = \"{}-{}\"\ntitle = \"{stem}, a file of {tool}\"\nabout = \"What a file of {tool} asks for.\"\nrepetitions = 1\nfile = \"{file_bytes}\"\n\
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
            "\n[[cell]]\noperation = \"{operation}\"\naccess = \"{}\"\noffsets = \"{}\"\nblock = \"{}\"\nthreads = {}\nqueue_depth = {}\nduration = \"{}s\"\n",
            if cell.is_random { "random" } else { "sequential" },
            if cell.own_offsets { "own" } else { "shared" },
            cell.block_bytes,
            cell.threads,
            cell.queue_depth,
            cell.seconds
        );
        if !label.is_empty() {
            let _ = writeln!(text, "label = \"{label}\"");
        }
        if operation == "mixed" {
            let _ = writeln!(text, "read_percent = {}", cell.read_percent);
        }
        let more = [
            cell.sync.map(|sync| format!("sync = \"{sync}\"")),
            (cell.warm_up_seconds > 0).then(|| format!("warm_up = \"{}s\"", cell.warm_up_seconds)),
            cell.rate.map(|rate| format!("rate = {rate}.0")),
            cell.is_poisson.then(|| "arrivals = \"poisson\"".to_owned()),
        ];
        for line in more.into_iter().flatten() {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests;
