//! Verdicts beside what is true: a line for each case, and how often each verdict was given for each truth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_lab::scenario::Class;

use super::truth::{Case, Outcome};

/// All cases so far.
#[derive(Default)]
pub struct Table {
    cases: Vec<(Outcome, u64)>,
    unclear: usize,
}

/// The columns of [`line`].
const HEADER: &str = "half        family           aims at        seed      rate/s  truth                     verdict";

/// A case in a line: what it is, its rate, what binds, what the tool says, and how much each change gives.
pub fn line(outcome: &Outcome, replaced: u64) -> String {
    let scenario = &outcome.scenario;
    let gains: Vec<String> =
        outcome.gains.iter().map(|(class, gain)| format!("{} {:+.1} %", class.name(), 100.0 * gain)).collect();
    let near = if outcome.has_second() { ", another near" } else { "" };
    let after = if replaced > 0 { format!(", seed {} of the case", replaced + 1) } else { String::new() };
    format!(
        "{:<11} {:<16} {:<14} {:<9} {:>6.0}  {:<25} {:<25} ({}, by chance {:+.1} %{near}{after})",
        scenario.half.name(),
        scenario.family.name(),
        scenario.aims_at.name(),
        scenario.seed,
        outcome.rate,
        joined(&outcome.bottleneck()),
        verdict(outcome),
        gains.join(", "),
        100.0 * outcome.by_chance
    )
}

/// Names in a fixed order, so that two sets are equal if their texts are.
fn joined(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.join("+")
}

fn verdict(outcome: &Outcome) -> String {
    if outcome.verdict().is_empty() { "abstains".to_owned() } else { joined(&outcome.verdict()) }
}

impl Table {
    /// Adds what became of a case.
    pub fn add(&mut self, case: Case) {
        match case {
            Case::Clear(outcome, replaced) => self.cases.push((*outcome, replaced)),
            Case::Unclear => self.unclear += 1,
        }
    }

    fn count(&self, of: impl Fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|(outcome, _)| of(outcome)).count()
    }

    /// Whether as many are right, and as few wrong or without a verdict, as has to be.
    pub fn is_right(&self) -> bool {
        let (all, abstained, wrong) = (self.cases.len(), self.count(abstains), self.count(is_wrong));
        abstained * 10 <= all && wrong * 100 <= all
    }

    /// The cases, the matrix, and what it comes to.
    pub fn text(&self) -> String {
        let mut cases: Vec<&(Outcome, u64)> = self.cases.iter().collect();
        let key = |outcome: &Outcome| (outcome.scenario.half.name(), outcome.scenario.seed);
        cases.sort_by_key(|(outcome, _)| key(outcome));
        let mut text = format!("{HEADER}\n");
        for (outcome, replaced) in cases {
            let _ = writeln!(text, "{}", line(outcome, *replaced));
        }
        text.push_str(&self.matrix());
        let all = self.cases.len();
        let replaced: u64 = self.cases.iter().map(|(_, replaced)| replaced).sum();
        let percent = |count: usize| 100.0 * count as f64 / all.max(1) as f64;
        let (abstained, wrong) = (self.count(abstains), self.count(is_wrong));
        let named = all - abstained;
        let right = named - wrong;
        let _ = writeln!(
            text,
            "\n{all} cases, {} of them with another limit within 10 % ({:.0} %); {replaced} unclear seeds were replaced, {} cases have no clear seed",
            self.count(Outcome::has_second),
            percent(self.count(Outcome::has_second)),
            self.unclear
        );
        let _ = writeln!(
            text,
            "{abstained} without a verdict ({:.1} %), {wrong} wrong ({:.1} %), {right} of {named} that were named are right ({:.1} %)",
            percent(abstained),
            percent(wrong),
            100.0 * right as f64 / named.max(1) as f64
        );
        let _ = writeln!(text, "cases by class: {}", self.by_class());
        text
    }

    /// A class with how many cases it is true of, and how many of them are right.
    fn by_class(&self) -> String {
        let of = |class: Class| {
            let is = |outcome: &Outcome| outcome.bottleneck().contains(&class.name());
            let right = self.count(|outcome| is(outcome) && !is_wrong(outcome) && !abstains(outcome));
            format!("{} {right} of {}", class.name(), self.count(is))
        };
        Class::ALL.iter().copied().map(of).collect::<Vec<_>>().join(", ")
    }

    /// Rows are truths, columns verdicts.
    fn matrix(&self) -> String {
        let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (outcome, _) in &self.cases {
            let row = counts.entry(joined(&outcome.bottleneck())).or_default();
            *row.entry(verdict(outcome)).or_default() += 1;
        }
        let mut columns: Vec<&String> = counts.values().flat_map(BTreeMap::keys).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut text = format!("\n{:<25}", "truth \\ verdict");
        for column in &columns {
            let _ = write!(text, "  {column}");
        }
        text.push('\n');
        for (truth, row) in &counts {
            let _ = write!(text, "{truth:<25}");
            for column in &columns {
                let count = row.get(*column).map_or_else(|| "-".to_owned(), usize::to_string);
                let _ = write!(text, "  {count:>width$}", width = column.chars().count());
            }
            text.push('\n');
        }
        text
    }
}

fn abstains(outcome: &Outcome) -> bool {
    outcome.verdict().is_empty()
}

/// A verdict was given and it is another than what binds: all that bind together have to be in it, and nothing else.
fn is_wrong(outcome: &Outcome) -> bool {
    !abstains(outcome) && joined(&outcome.verdict()) != joined(&outcome.bottleneck())
}
