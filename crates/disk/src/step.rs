//! The kind of step that measures a volume: a point for each cell of its suite. The binary gives it to the life cycle of runs.

mod figures;
mod points;

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_analysis::rounds;
use plimsoll_bench::Definition;
use plimsoll_bench::parameters::shared::{DAY, LARGEST, SEED};
use plimsoll_bench::parameters::{Kind, Parameter, Parameters};
use plimsoll_bench::step::context::Keep;
use plimsoll_bench::step::kind::{Alone, Asked, Kinds, Measures, StepKind, Steps};
use plimsoll_bench::workload::mix::Mix;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_load::client::{ClientMonitor, Where};
use plimsoll_measurement::units::format_bytes;
use plimsoll_measurement::{Client, Metric, Point, Seconds};

use self::figures::figures;
use self::points::{client_phase, invalid, late, of_member, overdue, too_slow};
use crate::cell::{self, Conditions, Ran};
use crate::engine::{self, IoEngine};
use crate::file::{FileSpec, Origin, TestFile};
use crate::medium::Medium;
use crate::modelled::{self, Model};
use crate::plan::{CellPlan, Suite};
use crate::suite;
use crate::sweep::Step;
use crate::volume::{self, SCHEME};

/// Bytes of the smallest test file: a block for each of some hundred threads.
const LEAST_BYTES: u64 = 1 << 20;

/// The factor by which cells may be shortened.
const MOST_FACTOR: u64 = 10_000;

/// A cell that a user makes short lasts so long at least.
const SHORTEST_CELL: Duration = Duration::from_millis(10);

/// A cell that is shortened still lasts so long.
const SHORTEST: Duration = Duration::from_millis(100);

const SIZE: Parameter = Parameter::new(
    "size",
    Kind::Bytes(LEAST_BYTES, LARGEST),
    "Size of the test file. A file that fits into a cache on the way to the device measures that cache.",
)
.or("4GiB");

const DURATION: Parameter = Parameter::new(
    "duration",
    Kind::Duration(Duration::ZERO, DAY),
    "How long each cell is measured. Without it (0s), that is as long as the suite says.",
)
.or("0s");

const FACTOR: Parameter = Parameter::new(
    "factor",
    Kind::Count(1, MOST_FACTOR),
    "What the times of the suite are divided by, warm-up included.",
)
.or("1");

const ENGINE: Parameter = Parameter::new(
    "engine",
    Kind::Choice(engine::WORDS),
    "By what operations are made: io_uring, threads that block, or io_uring where it is allowed.",
)
.or("auto");

const BUFFERED: Parameter = Parameter::new(
    "buffered",
    Kind::Choice(&["no", "yes"]),
    "Whether operations go through the page cache of this machine.",
)
.or("no");

const VERIFY: Parameter = Parameter::new(
    "verify",
    Kind::Choice(&["no", "yes"]),
    "Whether what is read is checked against what was written. It costs the client time.",
)
.or("no");

const EXPECT: Parameter = Parameter::new(
    "expect",
    Kind::Count(0, MOST_EXPECTED_PERCENT),
    "Percent of the limits of what was bought that somebody expects. 0 means that nothing is said of it.",
)
.or("0");

const STEADY: Parameter = Parameter::new(
    "steady",
    Kind::Count(0, MOST_ROUNDS),
    "Rounds of each cell that do not count, at most: it counts when five in a row are steady by SNIA's rule. Each lasts as long as the cell. \
     0 means none.",
)
.or("0");

/// Where a round stands in the number of its cell, by which its offsets are drawn.
const ROUND_BITS: u64 = 32;

/// More rounds than these are a day's work of most cells.
const MOST_ROUNDS: u64 = 1_000;

/// More than the limits themselves is expected of a burst at most.
pub const MOST_EXPECTED_PERCENT: u64 = 1_000;

/// The kind of step.
pub const KIND: StepKind = StepKind {
    invalid,
    check: |parameters| {
        let (steady, duration) = (parameters.count("steady"), parameters.duration("duration"));
        if (1..rounds::WINDOW as u64).contains(&steady) {
            return Err(format!("steady = {steady}: five rounds in a row make it steady, so it is 0, or 5 and more"));
        }
        if !duration.is_zero() && duration < SHORTEST_CELL {
            return Err(format!("duration = {duration:?}: in less than {SHORTEST_CELL:?} nothing can be counted"));
        }
        Ok(())
    },
    ..StepKind::new(
        "disk",
        &[&SIZE, &DURATION, &FACTOR, &ENGINE, &BUFFERED, &VERIFY, &EXPECT, &STEADY, &SEED],
        || Measures::Alone(Box::<Disk>::default()),
        figures,
    )
};

/// The registry of this kind alone: definitions of databases know other kinds.
pub const KINDS: Kinds = Kinds(&[&KIND]);

/// Operations under way of threads that block: each has a thread, which takes some 100 kB.
const MOST_IN_POOL: u64 = 1024;

/// The next cell; a sweep by threads that block ends where it would need too many of them.
fn next_of(suite: &Suite, place: usize, done: &[Step], medium: Option<&Medium>) -> Option<CellPlan> {
    let is_pool = matches!(medium, Some(Medium::File(_, IoEngine::Pool)));
    suite.next(place, done).filter(|plan| !is_pool || plan.under_way() <= MOST_IN_POOL)
}

/// How long all cells of a repetition last together in the short form...
const SHORT: Duration = Duration::from_secs(20);
/// ... where a sweep has about so many...
const CELLS_OF_A_SWEEP: u32 = 16;
/// ... and one of them at least.
const SHORT_CELL: Duration = Duration::from_millis(500);

/// The suite as a definition of a test.
///
/// # Errors
/// If a value that the suite gives is none that the parameter takes.
pub fn definition(suite: &Suite) -> Result<Definition> {
    let steps = Steps { steps: vec![&KIND], kinds: KINDS };
    let mut parameters = Parameters::default();
    for parameter in KIND.parameters {
        parameters.set(parameter.name, parameter.default.unwrap_or_default(), &steps).map_err(usage)?;
    }
    parameters.set("size", &suite.file_bytes.to_string(), &steps).map_err(usage)?;
    parameters.set("verify", if suite.verify { "yes" } else { "no" }, &steps).map_err(usage)?;
    let mut short = Parameters::default();
    let cells = if suite.sweep.is_some() { CELLS_OF_A_SWEEP } else { suite.cells.len().max(1) as u32 };
    let each = (SHORT / cells).max(SHORT_CELL);
    // What begins once a second and is counted for 2.2 s would seem to begin more often: whole periods are measured.
    let rates = suite.cells.iter().flat_map(CellPlan::members).filter_map(|plan| plan.rate_per_s);
    let period = rates.map(|rate| 1.0 / rate).fold(0.0, f64::max);
    let periods = (each.as_secs_f64() / period).floor();
    let each = if periods >= 1.0 && periods.is_finite() { Duration::from_secs_f64(periods * period) } else { each };
    let longest = suite.cells.iter().map(|cell| cell.duration).max().unwrap_or(each);
    short.set("duration", &format!("{}ms", each.min(longest).as_millis()), &steps).map_err(usage)?;
    Ok(Definition {
        name: suite.name.clone(),
        title: suite.title.clone(),
        about: suite.about.clone(),
        steps,
        mix: Mix::default(),
        own: None,
        repetitions: suite.repetitions,
        parameters,
        short,
        scaled: Parameters::default(),
        group: None,
        text: suite.text.clone(),
    })
}

/// What a run has made and found.
#[derive(Default)]
struct Disk {
    suite: Option<Suite>,
    medium: Option<Medium>,
    client: Option<ClientMonitor>,
    /// The cells that the first repetition measured.
    path: Vec<CellPlan>,
}

impl Alone for Disk {
    fn prepare(&mut self, asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<()> {
        let parameters = asked.parameters;
        let suite = suite::parse("suite", asked.definition).map_err(usage)?;
        keep.warn_all(suite.left_out.iter().map(|sentence| format!("of the suite's file: {sentence}")).collect());
        let medium = if asked.target.starts_with(&format!("{}:", modelled::SCHEME)) {
            model(asked, keep)?
        } else {
            let medium = test_file(&suite, asked, keep)?;
            self.client = Some(ClientMonitor::new(Where { cpus: asked.cpus, ..Where::default() }, None));
            medium
        };
        // What can't be done is found before an hour of warming up.
        let alignment = medium.alignment();
        self.medium = Some(medium);
        if let Some(block) = suite.block_bytes().find(|block| !block.is_multiple_of(alignment)) {
            return Err(cell::misaligned(block, alignment));
        }
        for (number, plan) in (0..).zip(&suite.warm_up) {
            let plan = shortened(plan, parameters);
            keep.log.activity(&format!("warming up, {number} of {} cells are done", suite.warm_up.len()));
            self.cell(keep, parameters, &plan, number)?.outcome?;
        }
        self.suite = Some(suite);
        Ok(())
    }

    fn repeat(&mut self, asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<()> {
        let suite = self.suite.take().ok_or_else(not_prepared)?;
        keep.begin(None);
        let mut seconds = Seconds::default();
        let mut percentiles = Vec::new();
        let mut outcome = Ok(());
        let is_first = self.path.is_empty();
        let mut number = 0;
        loop {
            // All repetitions measure the same cells, so that each has a figure of all of them.
            let done: Vec<Step> = keep.repetition.points.iter().filter_map(Step::of).collect();
            let known = self.path.get(number as usize).cloned();
            let Some(plan) =
                known.or_else(|| next_of(&suite, number as usize, &done, self.medium.as_ref()).filter(|_| is_first))
            else {
                break;
            };
            let plan = with_rates(&plan, &keep.repetition.points)?;
            if is_first {
                self.path.push(plan.clone());
            }
            let plan = shortened(&plan, asked.parameters);
            let all: Vec<String> = plan.members().map(|plan| plan.cell.to_string()).collect();
            keep.log.activity(&format!("{}, {}", plan.cell.label, all.join(", and beside it ")));
            match self
                .settled(keep, asked.parameters, &plan, number)
                .and_then(|plan| self.cell(keep, asked.parameters, &plan, number))
            {
                Ok(ran) => {
                    // The seconds are those of the cell's own operations, as their percentiles are.
                    let own = &ran.members[0];
                    let second = own.record.started_seconds as usize;
                    percentiles.resize(second.max(percentiles.len()), (None, None));
                    percentiles.truncate(second);
                    percentiles.extend(&ran.percentiles);
                    seconds.merge(&own.recorder.seconds(&[]));
                    outcome = self.keep_cell(keep, &plan, ran);
                }
                Err(error) => outcome = Err(error),
            }
            if outcome.is_err() {
                break;
            }
            number += 1;
        }
        let of = |half: bool| {
            let all = (0..seconds.operations.len()).map(|second| percentiles.get(second).copied().unwrap_or_default());
            all.map(|(p50, p99)| if half { p50 } else { p99 }).collect()
        };
        (seconds.latency_us_p50, seconds.latency_us_p99) = (of(true), of(false));
        keep.repetition.seconds = seconds;
        self.suite = Some(suite);
        outcome
    }

    fn client(&self) -> Option<Client> {
        self.client.as_ref().map(ClientMonitor::client)
    }

    fn finish(&mut self) -> Result<()> {
        self.medium.take().map_or(Ok(()), |mut medium| medium.remove())
    }
}

impl Disk {
    /// Makes rounds of a cell until they are steady, where that is asked for. The cell that counts follows at once.
    fn settled(&self, keep: &mut Keep<'_>, parameters: &Parameters, plan: &CellPlan, number: u64) -> Result<CellPlan> {
        let most = parameters.count("steady");
        let mut rates = Vec::new();
        let mut next = plan.clone();
        for round in 1..=most {
            keep.log.activity(&format!("{}, round {round} of {most} at most until it is steady", plan.cell.name()));
            let ran = self.cell(keep, parameters, &next, number | round << ROUND_BITS)?;
            ran.outcome?;
            let own = &ran.members[0];
            rates.push(own.recorder.sums().answered as f64 / own.record.seconds.max(f64::MIN_POSITIVE));
            next.warm_up = Duration::ZERO;
            if rounds::is_steady(&rates) {
                return Ok(next);
            }
        }
        if most > 0 {
            let last: Vec<String> =
                rates.iter().rev().take(rounds::WINDOW).rev().map(|rate| format!("{rate:.0}")).collect();
            keep.warn(format!(
                "{} was not steady after {most} rounds: the last ones made {} operations a second",
                plan.cell.name(),
                last.join(", ")
            ));
        }
        Ok(next)
    }

    fn cell(&self, keep: &mut Keep<'_>, parameters: &Parameters, plan: &CellPlan, number: u64) -> Result<Ran> {
        let medium = self.medium.as_ref().ok_or_else(not_prepared)?;
        let conditions = Conditions { medium, seed: parameters.count("seed"), verify: verifies(parameters) };
        cell::run(keep, &conditions, plan, number)
    }

    /// Keeps what a cell came to, also where it did not come to its end: a point and a phase of its own operations, and of those of each
    /// kind beside them.
    fn keep_cell(&mut self, keep: &mut Keep<'_>, plan: &CellPlan, ran: Ran) -> Result<()> {
        let Ran { members, cpu_seconds, outcome, .. } = ran;
        let completed = |came: &cell::Came| came.recorder.sums().answered + came.recorder.sums().drained;
        if members.iter().all(|came| completed(came) + came.recorder.sums().failed == 0) {
            if outcome.is_ok() {
                keep.warn_all(overdue(plan, &members[0]).into_iter().collect());
            }
            return outcome;
        }
        // The process has one CPU time for all: with several kinds nobody knows which needed it.
        let is_alone = members.len() == 1 && outcome.is_ok();
        let mut kept = Ok(());
        for (plan, came) in plan.members().zip(members) {
            let cpu_seconds = (is_alone && completed(&came) > 0).then_some(cpu_seconds);
            let (told, needed) = client_phase(keep.repetition, plan, &came, cpu_seconds);
            let lags = [came.recorder.lag.as_ref().map(|lag| &lag.slept), came.recorder.pickup.as_deref()];
            keep.warn_all(
                late(plan, &came).into_iter().chain(overdue(plan, &came)).chain(too_slow(plan, &came)).collect(),
            );
            if let Some(client) = &mut self.client {
                client.phase(told, &needed, lags);
            }
            let point = of_member(plan, &came);
            keep.repetition.stalls.extend(came.stalls.into_iter().filter(|_| plan.cell.beside.is_none()));
            keep.repetition.requests.extend(came.recorder.kinds());
            kept = kept.and(keep.phase(came.record)).and(keep.point(point));
        }
        outcome.and(kept)
    }
}

/// The modelled volume that the target names.
fn model(asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<Medium> {
    let bytes = asked.parameters.bytes("size");
    keep.fact("io_engine", "modelled".to_owned());
    Ok(Medium::Modelled(Box::new(Model::parse(asked.target, bytes)?.at_work(bytes))))
}

/// The test file in the folder that the target names, laid out or used again.
fn test_file(suite: &Suite, asked: &Asked<'_>, keep: &mut Keep<'_>) -> Result<Medium> {
    let parameters = asked.parameters;
    let folder = asked.target.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(':'));
    let folder = folder.ok_or_else(|| usage(format!("{} is no volume", asked.target)))?;
    let choice = engine::choose(parameters.choice("engine"))?;
    keep.fact("io_engine", choice.engine.to_string());
    if let Some(reason) = &choice.reason {
        keep.warn(format!("operations are made by threads that block, as io_uring is not available: {reason}"));
    }
    let under_way = if suite.sweep.is_some() { 1 } else { suite.under_way() };
    if choice.engine == IoEngine::Pool && under_way > MOST_IN_POOL {
        let message = format!("{under_way} operations under way need as many threads, more than {MOST_IN_POOL}");
        return Err(usage(message).hint("choose fewer threads or a smaller queue depth, or a system with io_uring"));
    }
    let wanted = FileSpec {
        folder: PathBuf::from(folder),
        bytes: parameters.bytes("size"),
        seed: parameters.count("seed"),
        buffered: parameters.choice("buffered") == "yes",
        keep: asked.keep_data,
        anew: verifies(parameters),
    };
    if let Some(memory) = volume::memory_bytes().filter(|memory| wanted.buffered && wanted.bytes < *memory) {
        let [file, memory] = [wanted.bytes, memory].map(format_bytes);
        keep.warn(format!(
            "operations go through the page cache, and the test file ({file}) fits into this machine's memory ({memory}): reads show \
             memory"
        ));
    }
    keep.log.activity("laying out the test file");
    let file = wanted.folder.join(crate::file::NAME);
    let stays = format!("the test file {} may still be there (run: plimsoll disk '{folder}')", file.display());
    keep.time.interrupt.owe(Some(stays));
    let (file, origin) = TestFile::make(&wanted, &mut |done, all| {
        keep.time.interrupt.check()?;
        keep.log.progress("laying out the test file", done, all);
        Ok(())
    })?;
    keep.fact("file_reused", origin == Origin::Reused);
    keep.fact("alignment_bytes", file.alignment());
    Ok(Medium::File(file, choice.engine))
}

/// Whether what is read is checked.
fn verifies(parameters: &Parameters) -> bool {
    parameters.choice("verify") == "yes"
}

/// The cell with rates that were to be a part of what others came to.
fn with_rates(plan: &CellPlan, points: &[Point]) -> Result<CellPlan> {
    let is_by_itself = |point: &&Point| point.cell.as_ref().is_some_and(|cell| cell.beside.is_none());
    let alone = points.iter().filter(is_by_itself);
    let rate_of = |label: &str| alone.clone().find(|point| point.label.as_deref() == Some(label))?.get(Metric::Iops);
    plan.with_rates(&rate_of).map_err(|label| {
        Error::new(ErrorKind::NoResult, format!("the rate of '{label}' is not known: none of its operations completed"))
            .hint("give its cell more time")
    })
}

/// The cell as long as the user wants it.
fn shortened(plan: &CellPlan, parameters: &Parameters) -> CellPlan {
    let factor = parameters.count("factor").max(1) as u32;
    let chosen = parameters.duration("duration");
    let duration = if chosen.is_zero() { (plan.duration / factor).max(SHORTEST.min(plan.duration)) } else { chosen };
    let warm_up = (plan.warm_up / factor).min(duration);
    // What is beside it lasts as long.
    let beside = plan.beside.iter().map(|plan| CellPlan { duration, warm_up, ..plan.clone() }).collect();
    CellPlan { duration, warm_up, beside, ..plan.clone() }
}

fn usage(problem: String) -> Error {
    Error::new(ErrorKind::Usage, problem)
}

fn not_prepared() -> Error {
    Error::new(ErrorKind::Internal, "the test file was not made")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_shortens_all_and_a_duration_is_taken_as_it_is() {
        let suite = suite::built_in("sqlio").unwrap();
        let definition = definition(&suite).unwrap();
        let set = |name: &str, value: &str| {
            let mut parameters = definition.parameters(false);
            parameters.set_by_hand(name, value, &definition.steps).unwrap();
            shortened(&suite.cells[0], &parameters).duration
        };
        assert_eq!(set("factor", "60"), Duration::from_secs(5));
        assert_eq!(set("factor", "10k"), SHORTEST);
        assert_eq!(set("duration", "20ms"), Duration::from_millis(20));
        assert_eq!(set("seed", "2"), Duration::from_mins(5));
    }

    #[test]
    fn in_the_short_form_a_checkpoint_a_second_is_counted_in_whole_seconds() {
        let definition = definition(&suite::built_in("database").unwrap()).unwrap();
        assert_eq!(definition.parameters(true).duration("duration"), Duration::from_secs(2));
    }

    #[test]
    fn the_short_form_takes_about_twenty_seconds() {
        let definition = definition(&suite::built_in("sqlio").unwrap()).unwrap();
        let duration = definition.parameters(true).duration("duration");
        assert!((15.0..=20.5).contains(&(15.0 * duration.as_secs_f64())), "{duration:?}");
    }
}
