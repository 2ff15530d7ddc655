//! Two runs that are held against each other, as builders are given them.

use plimsoll_measurement::{Basis, Figure, RunRecord};

use super::kinds::{Kind, by_kind};
use crate::model::format;

/// A run against the first one, which is called A.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared<'a> {
    /// What counts as 1.
    pub baseline: &'a RunRecord,
    /// What is held against it.
    pub candidate: &'a RunRecord,
    /// The figures that both have, the headline first.
    pub figures: Vec<Comparison>,
    /// What differs beside what was measured.
    pub differences: Vec<Differs>,
    /// What has to be known of either before a ratio is trusted.
    pub notes: [Vec<String>; 2],
    /// The runs of each side that count once each; one where its repetitions do.
    pub rounds: [Vec<&'a RunRecord>; 2],
}

impl Compared<'_> {
    /// Whether runs count once each, and not repetitions.
    pub(super) fn has_rounds(&self) -> bool {
        self.rounds.iter().all(|runs| runs.len() > 1)
    }
}

/// A setting or a condition that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// Its name.
    pub what: String,
    /// Its values in both; absent where it is not known.
    pub values: [Option<String>; 2],
}

/// One figure of a run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared: `read_rate`, ...
    pub metric: String,
    /// The figure in both; absent where a run has none.
    pub figures: [Option<Figure>; 2],
    /// Candidate over baseline; absent if either side has no figure.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Confidence of the interval, 0.95 for 95 %.
    pub confidence: f64,
    /// What it means, in a word: `better`, `worse`, `equivalent` or `undecided`.
    pub verdict: String,
    /// Why there is no verdict, or what would give one.
    pub why: Option<String>,
    /// Whether there is none as the figures are not to be judged, however clear the ratio is.
    pub is_withheld: bool,
}

/// The kinds of requests that both runs made, and what they came to in each.
pub(super) fn shared_kinds(one: &Compared<'_>) -> Vec<[Kind; 2]> {
    let others = by_kind(one.candidate);
    let partner = |kind: Kind| others.iter().find(|other| other.kind == kind.kind).cloned().map(|other| [kind, other]);
    by_kind(one.baseline).into_iter().filter_map(partner).collect()
}

/// How many times as long requests of a kind take in the second run, at a percentile.
pub(super) fn ratio_at([a, b]: &[Kind; 2], percent: f64) -> Option<f64> {
    let [a, b] = [a, b].map(|kind| kind.ms(percent, |kind| Some(&kind.times)));
    Some(b? / a.filter(|a| *a > 0.0)?).filter(|ratio| ratio.is_finite())
}

/// A ratio as it is shown.
pub(super) fn times(ratio: f64) -> Option<String> {
    format::number(ratio).filter(|_| ratio.is_finite())
}

/// Whether both were measured in real time. In virtual time nothing differs from run to run.
pub(super) fn is_real(one: &Compared<'_>) -> bool {
    [one.baseline, one.candidate].iter().all(|run| run.clock != "virtual" && run.basis == Basis::Measured)
}
