//! What looking at a server once a second costs its throughput: runs with and without it on a saturated PostgreSQL, in interleaved
//! pairs in ABBA order.

use std::path::PathBuf;

use plimsoll_analysis::summary;

use crate::child::{answered, measured, record};
use crate::generators::{Setting, prepare};
use crate::pairs::{Ratio, interleaved};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// Pairs, and seconds of a run. On a shared machine two runs of the same differ by several percent, so that fewer can't tell half a percent.
const PAIRS: u32 = 60;
const SECONDS: u32 = 10;
/// The throughput with samples is at least this part of that without: in the median, and at the lower end of its interval.
const BARS: (f64, f64) = (0.99, 0.98);

/// Compares; an error if samples cost more than they may.
pub fn sampling(arguments: &[&str]) -> Outcome {
    let program = match arguments {
        [] => tasks::released()?,
        ["--program", program] => PathBuf::from(program),
        _ => {
            complain("cargo xtask sampling [--program FILE]");
            return Err(tasks::USAGE);
        }
    };
    tasks::provide_postgresql()?;
    tasks::provide("sysbench", &["sysbench"])?;
    let holds = pairs(program).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    if holds { Ok(()) } else { Err(1) }
}

fn pairs(program: PathBuf) -> Result<bool, String> {
    let setting = prepare(program, SECONDS)?;
    let (with, without) =
        interleaved(PAIRS, |looks| run(&setting, looks), |pair, _, _| complain(&format!("pair {pair} of {PAIRS}")))?;
    let rates = |runs: &[(f64, Option<f64>)]| runs.iter().map(|run| run.0).collect::<Vec<f64>>();
    let ratio = Ratio::of(&rates(&with), &rates(&without)).ok_or("no rates")?;
    let core_percent: Vec<f64> = with.iter().chain(&without).filter_map(|run| run.1).collect();
    let cost = summary::median(&core_percent).ok_or("no looks")?;
    let holds = ratio.median >= BARS.0 && ratio.low >= BARS.1;
    say(&format!(
        "throughput with samples over that without, {PAIRS} pairs of {SECONDS} s: {:.4} ({:.4} to {:.4}): {}\n\
         our own CPU for the looks: {cost:.3} % of a core\n",
        ratio.median,
        ratio.low,
        ratio.high,
        if holds { "holds" } else { "missed" }
    ));
    Ok(holds)
}

/// Requests a second, and what the looks cost of a core in percent.
fn run(setting: &Setting, looks: bool) -> Result<(f64, Option<f64>), String> {
    let parameters = ["scale=10".to_owned(), "sessions=8".to_owned(), format!("duration={SECONDS}s")];
    let mut command = setting.ours.command(&tasks::root(), "pgbench-select.toml", &parameters);
    if !looks {
        command.arg("--no-samples");
    }
    let record = record(&measured(&mut command)?.output)?;
    let cost = record.host.sampling.map(|sampling| sampling.core_percent);
    Ok((answered(&record) as f64 / f64::from(SECONDS), cost))
}
