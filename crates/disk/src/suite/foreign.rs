//! What other tools are told to do, as a suite of ours: fio's job files, and scripts that call SQLIO with their parameter files. Each
//! becomes the TOML of a suite, with a list of what was left out of it.

mod cells;
mod fio;
mod sqlio;

use std::time::Duration;

pub use self::cells::Translated;
use self::cells::{CellText, suite};
use crate::import::{Imported, Tool};

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
        sync: run.sync,
        block_bytes: run.block_bytes,
        threads: run.threads,
        queue_depth: run.queue_depth,
        // How long it took is a result, which differs from run to run, and nothing that was asked.
        duration: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        rate: run.rate_per_s,
        is_poisson: false,
        is_beside: run.is_beside(),
    };
    let cells: Vec<CellText> = runs.iter().map(cell).collect();
    let file_bytes = runs.iter().filter_map(|run| run.file_bytes).max();
    suite(
        "imported",
        &format!("Results of {}", tool.name()),
        tool.name(),
        file_bytes.unwrap_or(UNKNOWN_FILE_BYTES),
        &cells,
    )
}

/// A suite has the size of its file, also where the results don't say it.
const UNKNOWN_FILE_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests;
