//! Results of other tools, as runs of ours: SQLIO's text, fio's JSON, `DiskSpd`'s XML. Nothing is made up: what a file does not say is
//! absent, and what can't be true is refused with its line.

mod check;
mod company;
mod diskspd;
mod fio;
mod histogram;
mod record;
mod result;
mod sqlio;

pub(crate) use self::fio::{SYNCHRONOUS, block_bytes as fio_block_bytes, seconds as fio_seconds, size as fio_size};
pub use self::record::{About, run};
pub(crate) use self::result::class_of;
use self::result::is_time;
pub use self::result::{Beside, ImportError, Imported, Latency, Tool};
use crate::error::MOST_FAILED_PERCENT;

/// The largest file that is read, in bytes: a day of SQLIO runs has some hundred kB.
pub const MOST_BYTES: u64 = 8 << 20;

/// Reads a file of any of the tools, which it is told by its beginning.
///
/// # Errors
/// A file of none of them, one that breaks off, and one whose numbers contradict each other; each with its line.
pub fn read(text: &str) -> Result<(Tool, Vec<Imported>), ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    // fio may say something before its JSON.
    let begins = |sign: char| text.lines().map(str::trim_start).any(|line| line.starts_with(sign));
    let (tool, runs) = if text.trim_start().starts_with('<') {
        (Tool::DiskSpd, diskspd::read(text)?)
    } else if text.lines().any(|line| line.trim_start().starts_with("sqlio v") || line.contains("IOs/sec:")) {
        (Tool::Sqlio, sqlio::read(text)?)
    } else if begins('{') {
        (Tool::Fio, fio::read(text)?)
    } else {
        let problem = "this is neither SQLIO's text, nor fio's JSON (--output-format=json), nor DiskSpd's XML (-Rxml)";
        return Err(ImportError { line: None, problem: problem.to_owned() });
    };
    if runs.is_empty() {
        return Err(ImportError { line: None, problem: format!("there is no run in this file of {}", tool.name()) });
    }
    if let Some(run) = runs.iter().find(|run| !is_time(run.seconds)) {
        let problem = format!("{} ran for {:e} s, in which nothing can be counted", named(run), run.seconds);
        return Err(ImportError { line: run.line, problem });
    }
    let refusal = |run| too_many(run).or_else(|| too_many_failed(run));
    if let Some((run, problem)) = runs.iter().find_map(|run| Some((run, refusal(run)?))) {
        return Err(ImportError { line: run.line, problem });
    }
    Ok((tool, runs))
}

/// A run in a message; some files give it no name.
fn named(run: &Imported) -> String {
    if run.label.is_empty() { "the run".to_owned() } else { format!("'{}'", run.label) }
}

/// Little's law: no more operations are under way than the threads have, so a rate and a mean time can't be both larger.
fn too_many(run: &Imported) -> Option<String> {
    let mean_us = run.latency.least_mean_us()?;
    let under_way = run.iops * mean_us / 1e6;
    let most = f64::from(run.threads) * f64::from(run.queue_depth);
    (under_way > 1.1 * most + 1.0).then(|| {
        format!(
            "{} has {:.0} operations a second, which take {:.1} ms on average at least: {under_way:.0} under way, where {most:.0} were allowed",
            named(run),
            run.iops,
            mean_us / 1e3
        )
    })
}

/// As with runs of our own, one of which more than a few operations failed is no result.
fn too_many_failed(run: &Imported) -> Option<String> {
    let percent = 100.0 * run.errors as f64 / run.operations().max(1.0);
    (percent > MOST_FAILED_PERCENT).then(|| format!("{percent:.1} % of the I/Os of {} failed", named(run)))
}

#[cfg(test)]
mod tests;
