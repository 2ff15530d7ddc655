//! Whether what is asked for fits into the space of the instance, and into the blobs that it may have.

use crate::advice::{Advice, Finding, of};
use crate::file::DatabaseFile;
use crate::judgement::sizes;
use crate::limits::Limits;
use crate::storage::Storage;

/// Files of other sizes than they have.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What all files come to, in GB, were each as large as is asked for.
    pub files_gb: f64,
    /// And their blobs.
    pub blobs_gb: f64,
    /// The files that fit, each before those behind it.
    pub first: Vec<usize>,
    /// What is left for more files then, in GB; unknown is no bound.
    pub left_gb: f64,
    /// The same for their blobs.
    pub left_blobs_gb: f64,
}

impl Fit {
    /// Takes so many GB of files and of their blobs for what is added; false if they have no room.
    pub fn add(&mut self, gb: f64, blobs_gb: f64) -> bool {
        let has_room = gb <= self.left_gb && blobs_gb <= self.left_blobs_gb;
        if has_room {
            (self.files_gb, self.blobs_gb) = (self.files_gb + gb, self.blobs_gb + blobs_gb);
            (self.left_gb, self.left_blobs_gb) = (self.left_gb - gb, self.left_blobs_gb - blobs_gb);
        }
        has_room
    }

    /// Whether all of so many files do.
    pub fn is_all(&self, wanted: usize) -> bool {
        self.first.len() == wanted
    }
}

/// Which of the wanted sizes such an instance can have at most, the first first. Those that stand together fit together or not at all.
pub fn fit(files: &[DatabaseFile], limits: &Limits, storage: &Storage<'_>, wanted: &[Vec<(usize, f64)>]) -> Fit {
    let add = |sum: (f64, f64), more: (f64, f64)| (sum.0 + more.0, sum.1 + more.1);
    let more_gb = |together: &Vec<(usize, f64)>| {
        let of = |(at, size_gb): &(usize, f64)| {
            let blob_now = limits.files[*at].blob_gb.unwrap_or(0.0);
            (size_gb - files[*at].size_gb, storage.blob_gb(*size_gb).unwrap_or(blob_now) - blob_now)
        };
        together.iter().map(of).fold((0.0, 0.0), add)
    };
    let now = (limits.file_gb, limits.blob_gb);
    let (files_gb, blobs_gb) = wanted.iter().map(more_gb).fold(now, add);
    let most_gb = storage.most_gb().or(storage.space_gb()).unwrap_or(f64::INFINITY);
    let most_blobs_gb = storage.blobs_gb().unwrap_or(f64::INFINITY);
    let (mut all_gb, mut all_blobs_gb) = now;
    let mut first = Vec::new();
    for together in wanted {
        let (gb, blobs_gb) = add((all_gb, all_blobs_gb), more_gb(together));
        if gb <= most_gb && blobs_gb <= most_blobs_gb {
            (all_gb, all_blobs_gb) = (gb, blobs_gb);
            first.extend(together.iter().map(|(at, _)| *at));
        }
    }
    Fit { files_gb, blobs_gb, first, left_gb: most_gb - all_gb, left_blobs_gb: most_blobs_gb - all_blobs_gb }
}

/// That the space has to be raised first, or that it can't be: then which files come first, and what has more.
/// Other files can give back `back_gb` and keep their limits.
pub fn short(fit: &Fit, storage: &Storage<'_>, grown: &[Advice], back_gb: f64) -> Option<Advice> {
    let wanted: Vec<(usize, f64)> = sizes(grown).collect();
    let adds = |one: &Advice| matches!(one.finding, Finding::Add { elsewhere: None, .. });
    if wanted.is_empty() && !grown.iter().any(adds) {
        return None;
    }
    let needed_gb = fit.files_gb;
    let most_gb = storage.most_gb().or(storage.space_gb());
    if fit.is_all(wanted.len()) {
        let (space_gb, most_gb) = (storage.space_gb().filter(|space| needed_gb > *space)?, most_gb?);
        let files = wanted.iter().map(|(at, _)| *at).collect();
        return of("space-first", files, Finding::Space { needed_gb, space_gb, most_gb, back_gb });
    }
    let blobs_gb = [Some(fit.blobs_gb), storage.blobs_gb()];
    let finding = Finding::Short {
        files_gb: [Some(needed_gb), most_gb],
        blobs_gb,
        wanted: wanted.len(),
        back_gb,
        elsewhere: storage.elsewhere(needed_gb, fit.blobs_gb),
    };
    of("space-short", fit.first.clone(), finding)
}
