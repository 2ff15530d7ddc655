//! What a plan is made from: a list of files, what disks of a machine did that databases are to move from, as the programs that count it
//! write it, or what files did in a stored run.

mod iostat;
mod perfmon;
mod run;
mod series;
#[cfg(test)]
mod tests;

use crate::list::{self, List};
use crate::sheet::{ListError, text_of};

pub use run::of_run;
pub use series::Disks;

/// What a file says.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Files of databases, with their sizes.
    Files(List),
    /// Disks, and what they did over time.
    Disks(Disks),
}

/// Reads a file, whichever it is: a list, CSV of `PerfMon` (`typeperf`, `relog`), or the output of `iostat -x` as text or JSON. A read or write
/// of more than `unit_bytes` counts as several.
///
/// # Errors
/// What is wrong, with its line.
pub fn read(bytes: &[u8], unit_bytes: u64) -> Result<Source, ListError> {
    let text = text_of(bytes)?;
    let start = text.trim_start();
    if perfmon::is_one(start) {
        return perfmon::read(&text, unit_bytes).map(Source::Disks);
    }
    if start.starts_with('{') {
        return iostat::of_json(&text, unit_bytes).map(Source::Disks);
    }
    if iostat::is_one(&text) {
        return iostat::of_text(&text, unit_bytes).map(Source::Disks);
    }
    list::of_text(&text).map(Source::Files)
}
