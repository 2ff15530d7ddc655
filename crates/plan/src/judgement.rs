//! What was judged of files, for all that goes by it.

use crate::advice::{Advice, Finding};
use crate::file::DatabaseFile;
use crate::gain::{Bound, Unthrottled};
use crate::hindrance::Hindrance;

/// What was judged of files: what to change, and which of them a larger size brings nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// What to change, in the order in which it is to be done.
    pub advice: Vec<Advice>,
    /// Files of which more is wanted, by their places in the list, in the order in which they get it.
    pub order: Vec<usize>,
    /// Why a larger file would do no more, of each.
    pub(crate) held: Vec<Option<Hindrance>>,
    /// How many times what it does each can do at most, whatever its size.
    pub(crate) most_times: Vec<(f64, Bound)>,
    /// How long an operation takes below its limits.
    pub(crate) unthrottled_ms: Unthrottled,
}

impl Judgement {
    /// Why a larger file would do no more; `None` where it may.
    pub fn held(&self, at: usize) -> Option<Hindrance> {
        self.held.get(at).copied().flatten()
    }

    /// The size that is advised for a file, in GB.
    pub fn size_gb(&self, at: usize) -> Option<f64> {
        sizes(&self.advice).find(|(grown, _)| *grown == at).map(|(_, size_gb)| size_gb)
    }

    /// Whether a file is to grow because it is slow, which its rates do not say.
    pub fn is_slow(&self, at: usize) -> bool {
        let is_so = |one: &Advice| matches!(one.finding, Finding::Grow { slow_ms: Some(_), .. });
        self.advice.iter().any(|one| is_so(one) && one.files.contains(&at))
    }
}

/// GB that files give back which can be smaller.
pub fn back_gb<'a>(advised: impl IntoIterator<Item = &'a Advice>, files: &[DatabaseFile]) -> f64 {
    smaller(advised).map(|(at, size_gb)| files[at].size_gb - size_gb).fold(0.0, |sum, gb| sum + gb)
}

/// The files that can be smaller, and the sizes that they can have.
pub fn smaller<'a>(advised: impl IntoIterator<Item = &'a Advice>) -> impl Iterator<Item = (usize, f64)> {
    advised.into_iter().filter_map(|one| match &one.finding {
        Finding::Shrink { size_gb } => Some((*one.files.first()?, *size_gb)),
        _ => None,
    })
}

/// The sizes that files are to have, in the order of the advice.
pub fn sizes<'a>(grown: impl IntoIterator<Item = &'a Advice>) -> impl Iterator<Item = (usize, f64)> {
    grown.into_iter().flat_map(|one| match &one.finding {
        Finding::Grow { size_gb, .. } => one.files.iter().map(|at| (*at, *size_gb)).collect(),
        _ => Vec::new(),
    })
}
