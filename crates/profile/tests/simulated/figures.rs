//! What many histories came to, and the bars that it is held to.

use std::fmt;

/// Counts over histories. What is of slots is of all; of calm ones, in which nothing was dropped, reset or killed; and of calm ones
/// whose reads returned all rows.
#[derive(Debug, Default, Clone, Copy)]
pub struct Figures {
    /// Slots between two reads.
    pub slots: [u64; 3],
    /// Those whose coverage is within 2 points of the truth.
    pub near: [u64; 3],
    /// Those that state none.
    pub without_coverage: u64,
    /// Reads that were refused, as the server changed meanwhile.
    pub torn: u64,
    /// Executions of the watched time, and those that are in deltas.
    pub executions: u64,
    pub counted: u64,
    pub deltas: u64,
    /// Deltas that say less than the truth, and say that they do.
    pub lower_bounds: u64,
    /// What is declared unknown, and what of it was.
    pub declared: u64,
    pub needed: u64,
    /// Slots of activity, and those in which it is what can be known, within 2 percent.
    pub activity_slots: [u64; 3],
    pub activity_near: [u64; 3],
    /// Time of statements that ended unseen: as stated, and of those that are in no delta in truth.
    pub ended_unseen_us: [u64; 2],
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

impl Figures {
    pub fn add(&mut self, more: &Self) {
        let add = |all: &mut [u64], more: &[u64]| all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        add(&mut self.slots, &more.slots);
        add(&mut self.near, &more.near);
        add(&mut self.activity_slots, &more.activity_slots);
        add(&mut self.activity_near, &more.activity_near);
        add(&mut self.ended_unseen_us, &more.ended_unseen_us);
        self.without_coverage += more.without_coverage;
        self.torn += more.torn;
        self.executions += more.executions;
        self.counted += more.counted;
        self.deltas += more.deltas;
        self.lower_bounds += more.lower_bounds;
        self.declared += more.declared;
        self.needed += more.needed;
    }

    /// How often the stated coverage is near the truth.
    pub fn coverage(&self) -> String {
        let [all, calm, whole] = percents(self.near, self.slots);
        format!(
            "coverage within 2 points in {all:.2} % of slots, in {calm:.2} % of calm ones, in {whole:.2} % of whole ones"
        )
    }

    /// The bars.
    pub fn hold(&self) {
        let near = percents(self.near, self.slots);
        assert!(near[0] >= 95.0 && near[1] >= 99.0 && near[2] >= 99.9, "coverage is near in {near:?} % of slots");
        assert!(percent(self.counted, self.executions) >= 93.0, "too much is said to be unknown");
        let near = percents(self.activity_near, self.activity_slots);
        assert!(near[0] >= 95.0 && near[1] >= 95.0 && near[2] >= 99.0, "activity is near in {near:?} % of slots");
        let [stated, truth] = self.ended_unseen_us;
        assert!(stated.abs_diff(truth) <= truth / 10, "what ended unseen is {stated} and not {truth}");
    }
}

fn percents(parts: [u64; 3], of: [u64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|at| percent(parts[at], of[at]))
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, calm, whole] = self.slots;
        writeln!(f, "{all} slots, {calm} of them calm, {whole} of these read in whole; {} reads refused", self.torn)?;
        writeln!(f, "  {}", self.coverage())?;
        writeln!(f, "  no coverage in {:.2} %", percent(self.without_coverage, self.slots[0]))?;
        let counted = percent(self.counted, self.executions);
        writeln!(f, "  {} executions, {counted:.2} % of them in {} deltas", self.executions, self.deltas)?;
        writeln!(f, "  {} deltas are less than the truth and say so", self.lower_bounds)?;
        writeln!(f, "  {} times something was said to be unknown, and {} times it was", self.declared, self.needed)?;
        let [all, calm, whole] = percents(self.activity_near, self.activity_slots);
        writeln!(f, "  activity within 2 %: {all:.2} %, calm {calm:.2} %, whole {whole:.2} %")?;
        let [stated, truth] = self.ended_unseen_us.map(|us| us / 1_000_000);
        write!(f, "  {stated} s ended unseen, {truth} s of what was seen to run is in no delta")
    }
}
