//! Holds slots against what was truly done.

use std::collections::{HashMap, HashSet};

use plimsoll_profile::measure::Values;
use plimsoll_profile::slot::{Reason, Slot};
use plimsoll_profile::snapshot::RowId;
use plimsoll_profile::{Delta, Edge, Measure, Status};

pub use super::figures::Figures;
use super::load::World;
use super::server::{Execution, Told};
use super::{PARTS, Reading};

/// The state of one history's check.
#[derive(Default)]
pub struct Check {
    /// The reads that were used, without their rows.
    reads: Vec<Read>,
    /// For each life, how many of its executions are dealt with: counted, or left to what is declared unknown.
    done: HashMap<usize, usize>,
    pub counted: HashSet<usize>,
    declared: Vec<Declared>,
    run: Option<Run>,
    /// Whether our clock began anew since the read before, so that nobody can tell a server's clock that was set from a restart.
    pub is_blind: bool,
    pub figures: Figures,
}

/// Slots in a row: the total at the ends of the read before, and what is told since.
struct Run {
    first: (u64, u64),
    sum: i128,
}

struct Read {
    is_complete: bool,
    start: i64,
    end: i64,
    clock_us: i64,
    parts: [i64; PARTS],
}

/// Something that is said not to be known, by true times.
struct Declared {
    row: Option<RowId>,
    from: i64,
    to: i64,
}

fn sum(executions: &[Execution]) -> Values {
    let zero = Values::of(Measure::ALL.map(|measure| (measure, 0)));
    executions.iter().fold(zero, |sum, execution| sum.plus(&execution.values))
}

impl Check {
    /// Takes a read that was used, and its slot.
    pub fn take(&mut self, world: &World, reading: &Reading, slot: &Slot) {
        let at = |text: usize| reading.parts[text % PARTS];
        let (start, clock_us) = (reading.start, reading.snapshot.start.clock_us);
        let is_complete = reading.snapshot.is_complete;
        self.reads.push(Read { is_complete, start, end: reading.end, clock_us, parts: reading.parts });
        let deltas: HashMap<RowId, &Delta> = slot.deltas.iter().map(|delta| (delta.row, delta)).collect();
        assert_eq!(deltas.len(), slot.deltas.len(), "a row has one delta");
        for (row, life) in &reading.lives {
            self.row(world, *life, deltas.get(row).copied(), at);
        }
        assert!(deltas.keys().all(|row| reading.lives.contains_key(row)), "a delta is of a row that was read");
        let read_of = |clock_us: i64| self.reads.iter().rfind(|read| read.clock_us == clock_us);
        for unknown in &slot.unknown {
            let from = read_of(unknown.from_us).expect("the unknown begins at a read").start;
            assert_eq!(unknown.to_us, slot.end_us);
            self.declared.push(Declared { row: unknown.row, from, to: reading.end });
        }
        if slot.event == Some(Reason::First) {
            assert!(slot.deltas.is_empty(), "the first read is a point to start from");
            self.amounts(reading, slot);
            return;
        }
        self.coverage(world, reading, slot);
    }

    /// A row that was read, and what is said of it.
    fn row(&mut self, world: &World, life: usize, delta: Option<&Delta>, at: impl Fn(usize) -> i64) {
        let places = &world.log.lives[life].executions;
        let from = self.done.get(&life).copied().unwrap_or(0);
        let to = from
            + places[from..]
                .iter()
                .take_while(|place| {
                    let execution = &world.log.executions[**place];
                    execution.at <= at(execution.text)
                })
                .count();
        self.done.insert(life, to);
        let Some(delta) = delta else { return };
        let executions: Vec<Execution> = places[from..to].iter().map(|place| world.log.executions[*place]).collect();
        let truth = sum(&executions);
        let differs = |(measure, value): &(Measure, u64)| truth.get(*measure) != Some(*value);
        self.figures.deltas += 1;
        if !delta.values.iter().any(|value| differs(&value)) {
            self.counted.extend(&places[from..to]);
            let longest = executions.iter().map(|one| one.values.get(Measure::ElapsedUs).unwrap()).max();
            assert!(delta.longest_us.is_none_or(|us| Some(us) == longest), "{delta:?} {longest:?}");
            assert!(delta.longest_at_most_us >= longest);
            return;
        }
        // Less than the truth may be said if it is said to be less.
        self.figures.lower_bounds += 1;
        let is_less =
            |(measure, value): (Measure, u64)| truth.get(measure).is_some_and(|true_value| value <= true_value);
        let is_allowed = delta.status.has(Status::LOWER_BOUND) && delta.values.iter().all(is_less);
        assert!(is_allowed, "{delta:?}\nis in truth {truth:?}, of {} executions", executions.len());
    }

    fn coverage(&mut self, world: &World, reading: &Reading, slot: &Slot) {
        let [before, now] = &self.reads[self.reads.len() - 2..] else { panic!("two reads") };
        let is_due = |text: usize, at: i64| before.parts[text % PARTS] < at && at <= now.parts[text % PARTS];
        let visible: HashSet<usize> = reading.lives.values().copied().collect();
        let (mut total, mut seen) = (0, 0);
        for execution in world.log.executions.iter().rev().take_while(|one| !one.is_ours || one.at > before.start) {
            if execution.is_ours && is_due(execution.text, execution.at) {
                let us = execution.values.get(Measure::ElapsedUs).unwrap();
                total += us;
                seen += if visible.contains(&execution.life) { us } else { 0 };
            }
        }
        total += world.log.killed.iter().filter(|(text, at, _)| is_due(*text, *at)).map(|(_, _, us)| us).sum::<u64>();
        let truth = if total == 0 { 100.0 } else { 100.0 * seen as f64 / total as f64 };
        let class = world.class(before.start, now.end, before.is_complete && now.is_complete);
        let stated = slot.coverage.percent();
        let is_near = stated.is_some_and(|stated| (stated - truth).abs() <= 2.0);
        for at in 0..=class {
            self.figures.slots[at] += 1;
            self.figures.near[at] += u64::from(is_near);
        }
        // Where nothing was lost, nothing may be said to be.
        if class == 2 && world.server.kind.evictions != Told::Nothing && !self.is_blind {
            assert!(slot.unknown.is_empty() && !slot.deltas.iter().any(|one| one.status.has(Status::LOWER_BOUND)));
        }
        self.figures.without_coverage += u64::from(stated.is_none());
        self.is_blind = false;
        self.amounts(reading, slot);
    }

    /// Over slots in a row whose total is known, explained and unknown time are the server's total, as far as it is known at the two ends.
    fn amounts(&mut self, reading: &Reading, slot: &Slot) {
        let of = |edge: &Edge| edge.total.expect("a total").us;
        let ends = (of(&reading.snapshot.start), of(&reading.snapshot.end));
        let coverage = slot.coverage;
        let (Some(run), Some(total), Some(unknown)) = (&mut self.run, coverage.total_us, coverage.unknown_us()) else {
            self.run = Some(Run { first: ends, sum: 0 });
            return;
        };
        // What is explained late was unknown before.
        run.sum += i128::from(coverage.explained_us.expect("a time") + unknown);
        let (least, most) = (ends.0 - run.first.1, ends.1 - run.first.0);
        let is_told = (i128::from(least)..=i128::from(most)).contains(&run.sum);
        assert!(is_told, "{} is not from {least} to {most}: {coverage:?}", run.sum);
        let (low, high) = coverage.total_range_us.expect("a range");
        assert!(low <= total && total <= high, "{coverage:?}");
    }

    /// At the end: what is in no delta is declared unknown.
    pub fn finish(&mut self, world: &World) {
        let (Some(first), Some(last)) = (self.reads.first(), self.reads.last()) else { return };
        let mut is_needed = vec![false; self.declared.len()];
        for (place, execution) in world.log.executions.iter().enumerate() {
            let part = execution.text % PARTS;
            if !execution.is_ours || execution.at <= first.parts[part] || execution.at > last.parts[part] {
                assert!(!self.counted.contains(&place), "{execution:?} is not of the watched time");
                continue;
            }
            self.figures.executions += 1;
            if self.counted.contains(&place) {
                self.figures.counted += 1;
                continue;
            }
            let row = world.log.lives[execution.life].row;
            let covers = |one: &Declared| {
                one.row.is_none_or(|of| of == row) && one.from < execution.at && execution.at <= one.to
            };
            let mut is_declared = false;
            for (declared, is_needed) in self.declared.iter().zip(&mut is_needed) {
                if covers(declared) {
                    (is_declared, *is_needed) = (true, true);
                }
            }
            assert!(is_declared, "{execution:?} of {row:?} is in no delta, and nobody says so");
        }
        self.figures.declared += self.declared.len() as u64;
        self.figures.needed += is_needed.iter().filter(|is_needed| **is_needed).count() as u64;
    }
}
