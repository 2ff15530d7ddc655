//! Predictions on a real server: what half as much again of a limit would bring, as `simulate --from RUN --gains` tells it, held against a
//! run that has it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use plimsoll_measurement::{Gain, RunRecord};

use super::causes::{Cause, Causes, Plan, Product};
use super::server::Server;
use super::{Asked, SECONDS, failed, run};
use crate::child::{answered, measured, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// How much more of its limit the second run has, and how a gain of that is told.
const RAISED: f64 = 1.5;
const CHANGE: &str = "50 % more ";

/// A prediction is right within so many percent of the run, or if its interval has it and goes no further than so many to each side.
const NEAR_PERCENT: f64 = 20.0;
const WIDEST_PERCENT: f64 = 30.0;

const HELP: &str = "cargo xtask foretold [--program FILE] [--only TEXT]";

/// A prediction and what came of it.
struct Foretold {
    name: String,
    /// Requests a second with the limit, and with half as much again.
    rates: [f64; 2],
    gain: Gain,
}

impl Foretold {
    fn with_gain(&self, percent: f64) -> f64 {
        self.rates[0] * (1.0 + percent / 100.0)
    }

    fn ends(&self) -> Option<[f64; 2]> {
        Some([self.with_gain(self.gain.gain_percent_low?), self.with_gain(self.gain.gain_percent_high?)])
    }

    fn error_percent(&self) -> f64 {
        100.0 * (self.with_gain(self.gain.gain_percent) / self.rates[1] - 1.0)
    }

    fn is_right(&self) -> bool {
        let middle = self.with_gain(self.gain.gain_percent);
        let is_inside = self.ends().is_some_and(|[low, high]| {
            let farthest = (middle - low).max(high - middle);
            (low..=high).contains(&self.rates[1]) && farthest <= WIDEST_PERCENT / 100.0 * middle
        });
        self.error_percent().abs() <= NEAR_PERCENT || is_inside
    }

    fn line(&self) -> String {
        let [low, high] = self.ends().unwrap_or([f64::NAN; 2]);
        format!(
            "| {} | {:.1} | {:.1} ({low:.1} to {high:.1}) | {:.1} | {:+.1} % |",
            self.name,
            self.rates[0],
            self.with_gain(self.gain.gain_percent),
            self.rates[1],
            self.error_percent()
        )
    }
}

/// Predicts and measures on PostgreSQL for each cause that is a rate or a quota.
pub fn foretold(arguments: &[&str]) -> Outcome {
    let Some(asked) = Asked::read(arguments) else {
        complain(HELP);
        return Err(tasks::USAGE);
    };
    let program = asked.program()?;
    tasks::provide_postgresql()?;
    let causes = Causes::read().map_err(failed)?;
    let server = Server::start(Product::PostgreSql).map_err(failed)?;
    let mut all = Vec::new();
    for cause in causes.cause.iter().filter(|cause| cause.name.contains(asked.only)) {
        let Some(plans) = plans(&causes, cause).map_err(failed)? else { continue };
        complain(&cause.name);
        match tried(&program, &server, cause, &plans) {
            Ok(one) => {
                complain(&one.line());
                all.push(one);
            }
            Err(reason) => complain(&format!("  not predicted: {reason}")),
        }
    }
    let right = all.iter().filter(|one| one.is_right()).count();
    say(&table(&all, right));
    if right == all.len() && right > 0 { Ok(()) } else { Err(1) }
}

/// A run with a limit and one with more of it; `None` for causes that are something else. Where memory is limited the system's cache fills
/// during all of so short a run, the faster the higher the rate of reads is.
fn plans(causes: &Causes, cause: &Cause) -> Result<Option<[Plan; 2]>, String> {
    if !cause.is_scaled() || !cause.on.contains(&Product::PostgreSql) || cause.means.memory_mb.is_some() {
        return Ok(None);
    }
    let [with, more] = causes.plans(cause, Product::PostgreSql, 0, SECONDS)?;
    Ok(with.means.with_more(RAISED).map(|means| [with, Plan { means, ..more }]))
}

fn tried(program: &Path, server: &Server, cause: &Cause, [with, more]: &[Plan; 2]) -> Result<Foretold, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (first, _) = run(program, server, with, 1, folder.path())?;
    let mut command = Command::new(program);
    command.args(["simulate", "--from", &first.run_id, "--gains", "--json", "--quiet"]);
    command.arg("--store").arg(folder.path().join("runs.db"));
    let predicted = record(&measured(&mut command)?.output)?;
    let limit = cause.right.first().ok_or("the cause has no limit")?;
    let gain = predicted.verdict.gains.into_iter().find(|gain| gain.limit == *limit && gain.change.starts_with(CHANGE));
    let gain = gain.ok_or_else(|| format!("there is no gain of {limit}"))?;
    let (second, _) = run(program, server, more, 1, folder.path())?;
    let rate = |record: &RunRecord| answered(record) as f64 / f64::from(2 * SECONDS);
    Ok(Foretold { name: cause.name.clone(), rates: [&first, &second].map(rate), gain })
}

fn table(all: &[Foretold], right: usize) -> String {
    let mut text = String::from(
        "| limit | measured with it | predicted with half as much again | measured with that | prediction off by |\n|---|---:|---:|---:|---:|\n",
    );
    for one in all {
        let _ = writeln!(text, "{}", one.line());
    }
    let _ = write!(
        text,
        "\n{right} of {} are within {NEAR_PERCENT} %, or in an interval of {WIDEST_PERCENT} % at most to each side",
        all.len()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_is_near_or_in_a_narrow_interval() {
        let of = |measured: f64, low: f64, high: f64| {
            let gain = Gain {
                limit: "cpu".to_owned(),
                change: "50 % more CPU".to_owned(),
                gain_percent: 50.0,
                gain_percent_low: Some(low),
                gain_percent_high: Some(high),
            };
            Foretold { name: String::new(), rates: [100.0, measured], gain }.is_right()
        };
        assert!(of(140.0, 49.0, 51.0) && !of(120.0, 49.0, 51.0));
        assert!(of(120.0, 15.0, 60.0) && !of(120.0, -30.0, 60.0));
    }

    #[test]
    fn there_are_six_limits_to_raise() {
        let causes = Causes::read().unwrap();
        let count = causes.cause.iter().filter(|cause| plans(&causes, cause).unwrap().is_some()).count();
        assert!(count >= 6, "{count}");
    }
}
