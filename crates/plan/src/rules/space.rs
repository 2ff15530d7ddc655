//! Whether what the advice asks for fits into the space of the instance, and into the blobs that it may have.

use super::case::Case;
use super::growth;
use crate::advice::{Advice, Finding, of};
use crate::storage::GB_OF_TB;

/// What all files come to once they are as large as they should be, and their blobs, in GB.
pub fn needed_gb(case: &Case<'_>, grown: &[Advice]) -> (f64, f64) {
    growth::sizes(grown).fold((case.limits.file_gb, case.limits.blob_gb), |sum, (at, size_gb)| {
        let more = more_gb(case, at, size_gb);
        (sum.0 + more.0, sum.1 + more.1)
    })
}

/// By how much a file of another size and its blob grow.
fn more_gb(case: &Case<'_>, at: usize, size_gb: f64) -> (f64, f64) {
    let blob_now = case.limits.files[at].blob_gb.unwrap_or(0.0);
    (size_gb - case.files[at].size_gb, case.storage.blob_gb(size_gb).unwrap_or(blob_now) - blob_now)
}

/// That the space has to be raised first, or that it can't be: then which files come first.
pub fn short(case: &Case<'_>, grown: &[Advice]) -> Option<Advice> {
    let (needed_gb, blobs_gb) = needed_gb(case, grown);
    let wanted: Vec<(usize, f64)> = growth::sizes(grown).collect();
    let (space_gb, most_blobs_gb) = (case.storage.space_gb(), case.storage.blobs_gb());
    let most_gb = case.storage.most_gb().or(space_gb);
    let is_over = |needed: f64, most: Option<f64>| most.is_some_and(|most| needed > most);
    if wanted.is_empty() {
        return None;
    }
    if !is_over(needed_gb, most_gb) && !is_over(blobs_gb, most_blobs_gb) {
        let (space_gb, most_gb) = (space_gb.filter(|space| needed_gb > *space)?, most_gb?);
        let files = wanted.iter().map(|(at, _)| *at).collect();
        return of("space-first", files, Finding::Space { needed_gb, space_gb, most_gb });
    }
    let (mut all_gb, mut all_blobs_gb) = (case.limits.file_gb, case.limits.blob_gb);
    let mut first = Vec::new();
    for (at, size_gb) in &wanted {
        let more = more_gb(case, *at, *size_gb);
        if !is_over(all_gb + more.0, most_gb) && !is_over(all_blobs_gb + more.1, most_blobs_gb) {
            (all_gb, all_blobs_gb) = (all_gb + more.0, all_blobs_gb + more.1);
            first.push(*at);
        }
    }
    let elsewhere_gb = case.storage.tier.space_tib(None).map(|tib| tib * GB_OF_TB);
    let finding = Finding::Short {
        files_gb: [Some(needed_gb), most_gb],
        blobs_gb: [Some(blobs_gb), most_blobs_gb],
        wanted: wanted.len(),
        elsewhere_gb: elsewhere_gb.filter(|gb| most_gb.is_some_and(|most| *gb > most)),
    };
    of("space-short", first, finding)
}
