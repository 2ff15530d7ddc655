//! `plimsoll lab verify --verdicts`: seeded scenarios with a true limit that reruns find, and what the tool's verdict
//! says of each. The halves have other workloads and other seeds: rules are made on the one and tried on the other.
//!
//! For each class and half there are [`CASES`] cases. A case that is not clear is replaced by the next seed of the same family and
//! aim, at most [`MOST_SEEDS`] times; how many were is said. Nothing about a verdict decides what is replaced.

mod table;
mod truth;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use plimsoll_bench::Interrupt;
use plimsoll_lab::scenario::{Class, Half, MOST_SEEDS, case};
use plimsoll_measurement::exit;

pub use table::Table;
pub use truth::{Case, Runner};

use super::run::this_machine;
use crate::args::{Halves, Verify};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::signals;

/// Cases of each class in each half.
const CASES: u64 = 12;

/// Runs scenarios and compares verdicts with what binds.
pub fn verdicts(options: &Verify, halves: Halves, printer: &Printer) -> Result<u8, Failure> {
    let interrupt = Interrupt::default();
    let runner = Runner { host: this_machine(), interrupt: interrupt.clone(), printer: printer.clone() };
    signals::listen(&interrupt, printer)?;
    // Classes take turns, so that the first few are of all kinds.
    let cases = (0..CASES).flat_map(|number| {
        Half::ALL.into_iter().flat_map(move |half| Class::ALL.iter().map(move |class| (half, *class, number)))
    });
    let wanted = |half: Half| {
        matches!(
            (halves, half),
            (Halves::Both, _) | (Halves::Developing, Half::Developing) | (Halves::HeldOut, Half::HeldOut)
        )
    };
    let mut cases: Vec<(Half, Class, u64)> = cases.filter(|(half, ..)| wanted(*half)).collect();
    cases.truncate(options.limit.map_or(usize::MAX, |limit| limit as usize));
    let (table, outcome) = all(&runner, &cases, options.json, printer);
    if !options.json {
        printer.result(&table.text());
    }
    if let Some(code) = signals::exit_code(&interrupt) {
        return Ok(code);
    }
    outcome?;
    Ok(if table.is_right() { exit::DONE } else { exit::NEGATIVE })
}

/// Runs the cases, two at a time; what is finished is in the table also when something fails.
fn all(runner: &Runner, cases: &[(Half, Class, u64)], json: bool, printer: &Printer) -> (Table, Result<(), Failure>) {
    let (next, workers) =
        (AtomicUsize::new(0), thread::available_parallelism().map_or(1, |cpus| cpus.get().min(cases.len())));
    let (sender, finished) = mpsc::channel();
    let (mut table, mut failed) = (Table::default(), Ok(()));
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((half, class, number)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = clear(runner, *half, *class, *number);
                    let is_over = found.is_err();
                    if sender.send(found).is_err() || is_over {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (done, found) in (1..).zip(finished) {
            match found {
                Ok(found) => {
                    if let Case::Clear(outcome, replaced) = &found {
                        printer.remark(&format!("{done} of {}: {}", cases.len(), table::line(outcome, *replaced)));
                        if json {
                            printer.json(&outcome.json(*replaced).to_string());
                        }
                    }
                    table.add(found);
                }
                Err(error) => {
                    // The others have no more to begin.
                    next.store(cases.len(), Ordering::Relaxed);
                    failed = Err(error);
                }
            }
        }
    });
    (table, failed)
}

/// The first of a case's seeds that is clear.
fn clear(runner: &Runner, half: Half, class: Class, number: u64) -> Result<Case, Failure> {
    for nth in 0..MOST_SEEDS {
        let outcome = runner.truth(&case(half, class, number, nth))?;
        if outcome.is_clear() {
            return Ok(Case::Clear(Box::new(outcome), nth));
        }
        runner.printer.remark(&format!("replaced: {}", table::line(&outcome, nth)));
    }
    Ok(Case::Unclear)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Arguments;

    /// One of each kind of change (a limit raised, a cost cut, a fault removed, a row spread): the case hits what it aims at, and the
    /// verdict names that.
    #[test]
    fn what_a_scenario_aims_at_is_what_binds_and_what_is_named() {
        let printer = Printer::new(&Arguments::parse_from(["plimsoll", "--quiet", "catalog"]));
        let runner = Runner { host: this_machine(), interrupt: Interrupt::default(), printer };
        for (class, number) in [
            (Class::LogWrite, 0),
            (Class::Cpu, 1),
            (Class::Memory, 4),
            (Class::Client, 0),
            (Class::Device, 0),
            (Class::Locks, 0),
            (Class::Nothing, 0),
        ] {
            let scenario = case(Half::Developing, class, number, 0);
            let outcome = runner.truth(&scenario).unwrap_or_else(|error| panic!("{}", error.message));
            let line = table::line(&outcome, 0);
            assert!(outcome.is_clear(), "{line}");
            assert_eq!((outcome.bottleneck(), outcome.verdict()), (vec![class.name()], vec![class.name()]), "{line}");
        }
    }
}
