//! Experiments with a known truth: how often the statistics err. The tests run a part of them, `examples/experiments.rs`
//! all of them; docs/STATISTICS.md shows what came out.
//!

pub mod histories;
pub mod means;
pub mod patterns;
pub mod random;
pub mod ratios;
pub mod series;

/// The seed the methods were developed on, chosen before the first run. The other one is known to the example only.
pub const DEVELOPING: u64 = 20_140_701;

/// How often something happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Cases in which it did.
    pub hits: usize,
    /// All cases.
    pub of: usize,
}

impl Count {
    /// Counts a case.
    pub fn add(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.of += 1;
    }

    /// Share of the cases in percent; not a number without any.
    pub fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.of as f64
    }

    /// As a cell of a table.
    pub fn cell(self) -> String {
        if self.of == 0 { "–".to_owned() } else { format!("{:.1} % of {}", self.percent(), self.of) }
    }
}

impl FromIterator<bool> for Count {
    fn from_iter<All: IntoIterator<Item = bool>>(all: All) -> Self {
        let mut count = Self::default();
        all.into_iter().for_each(|hit| count.add(hit));
        count
    }
}

/// A Markdown table: first column to the left, the others to the right.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head_cells: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule: Vec<String> = (0..head.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect();
    line(&head_cells) + &line(&rule) + &rows.iter().map(|row| line(row)).collect::<String>()
}
