//! What a suite is: its cells, its test file, and how long each takes.

use std::time::Duration;

use plimsoll_load::schedule::Arrivals;
use plimsoll_measurement::Cell;

use crate::sweep::{Step, Sweep};

/// What is done in one cell, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPlan {
    /// What is done.
    pub cell: Cell,
    /// How long it is measured.
    pub duration: Duration,
    /// How long the same is done before, without being counted.
    pub warm_up: Duration,
    /// Operations a second of all threads together; without it each begins when the last in its slot has completed.
    pub rate_per_s: Option<f64>,
    /// How the starts are spread, with a rate.
    pub arrivals: Arrivals,
    /// The rate as a part of what another cell makes. It is known once that one is measured.
    pub share: Option<Share>,
    /// What is done at the same time, each on a part of the file of its own. Their times are the cell's.
    pub beside: Vec<CellPlan>,
}

/// Memory for the buffers of a cell at most: the program takes no more than 256 MB.
pub const MOST_BUFFER_BYTES: u64 = 128 << 20;

/// A rate in percent of the rate of a cell that comes before.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Percent of the other cell's operations a second.
    pub percent: f64,
    /// The other cell's label.
    pub of: String,
}

impl CellPlan {
    /// All that is done at the same time: its own operations first.
    pub fn members(&self) -> impl Iterator<Item = &CellPlan> {
        std::iter::once(self).chain(&self.beside)
    }

    /// Operations that it has under way, with those beside it.
    pub fn under_way(&self) -> u64 {
        self.members().map(|plan| operations(&plan.cell)).sum()
    }

    /// Memory for them: each has a buffer.
    pub fn buffer_bytes(&self) -> u64 {
        let of = |plan: &CellPlan| operations(&plan.cell).saturating_mul(plan.cell.operation_bytes());
        self.members().map(of).fold(0, u64::saturating_add)
    }

    /// The same with each share as a rate, where `rate_of` knows what the cell with a label came to.
    ///
    /// # Errors
    /// The label of a cell that came to nothing.
    pub fn with_rates(&self, rate_of: &dyn Fn(&str) -> Option<f64>) -> Result<Self, String> {
        let of_share = |share: &Share| {
            let rate = rate_of(&share.of).map(|rate| rate * share.percent / 100.0).filter(|rate| *rate > 0.0);
            rate.ok_or_else(|| share.of.clone())
        };
        let rate = self.share.as_ref().map(of_share).transpose()?;
        let beside: Result<Vec<Self>, String> = self.beside.iter().map(|plan| plan.with_rates(rate_of)).collect();
        // Once it is known it stays, whatever the other cell comes to later.
        Ok(Self { rate_per_s: rate.or(self.rate_per_s), share: None, beside: beside?, ..self.clone() })
    }

    /// The beginning of the names of its figures.
    pub fn key(&self) -> String {
        key(&self.cell, self.rate_per_s)
    }
}

/// Operations that a cell has under way by itself.
fn operations(cell: &Cell) -> u64 {
    u64::from(cell.threads) * u64::from(cell.queue_depth)
}

/// The beginning of the names of the figures of a cell. What runs beside another is known by that one: its rate may follow from what
/// the disk makes, and two disks are compared by names.
pub fn key(cell: &Cell, rate_per_s: Option<f64>) -> String {
    match rate_per_s.filter(|_| cell.beside.is_none()) {
        Some(rate) => format!("{}_at_{rate}", cell.key()),
        None => cell.key(),
    }
}

/// The cells of a disk test.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The name of the test in records.
    pub name: String,
    /// A few words for tables and charts.
    pub title: String,
    /// What it does and why.
    pub about: String,
    /// How often it is repeated, unless the user says otherwise.
    pub repetitions: u32,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
    /// True if the file may be smaller where less is free: a quarter of that.
    pub shrinks: bool,
    /// True if what is read is to be checked against what was written.
    pub verify: bool,
    /// What the file that it was made from asks for and it does not do: a sentence each.
    pub left_out: Vec<String>,
    /// What is done once before the first repetition, in order.
    pub warm_up: Vec<CellPlan>,
    /// How far the one cell goes, where operations under way are swept.
    pub sweep: Option<Sweep>,
    /// What is measured, in order.
    pub cells: Vec<CellPlan>,
    /// The TOML text.
    pub text: String,
}

impl Suite {
    /// The cell at this place after others: of a sweep it follows from what those came to.
    pub fn next(&self, place: usize, done: &[Step]) -> Option<CellPlan> {
        let Some(sweep) = self.sweep else { return self.cells.get(place).cloned() };
        let (threads, queue_depth) = sweep.next(done)?;
        let base = self.cells.first()?;
        let plan = CellPlan { cell: Cell { threads, queue_depth, ..base.cell.clone() }, ..base.clone() };
        // A sweep ends where it would need more.
        Some(plan).filter(|plan| plan.buffer_bytes() <= MOST_BUFFER_BYTES)
    }

    /// Operations under way at most at a time, of a cell with those beside it.
    pub fn under_way(&self) -> u64 {
        self.warm_up.iter().chain(&self.cells).map(CellPlan::under_way).max().unwrap_or(0)
    }

    /// Blocks of all cells.
    pub fn block_bytes(&self) -> impl Iterator<Item = u64> {
        self.warm_up.iter().chain(&self.cells).flat_map(CellPlan::members).map(|plan| plan.cell.block_bytes)
    }

    /// How long one repetition measures and warms up, where cells last as they say divided by `factor`.
    pub fn repetition_lasts(&self, duration: Option<Duration>, factor: u32) -> Duration {
        self.cells.iter().map(|cell| duration.unwrap_or(cell.duration / factor) + cell.warm_up / factor).sum()
    }
}
