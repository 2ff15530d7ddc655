//! Whether what is asked for fits into the space of the instance, and into the blobs that it may have.

use std::collections::BTreeMap;

use super::case::Case;
use super::sizes::databases;
use crate::advice::{Advice, Finding, Lack, of};
use crate::file::DatabaseFile;
use crate::judgement::sizes;
use crate::limits::Limits;
use crate::statements::in_steps;
use crate::storage::Storage;

/// GB of files, and of their blobs.
type Room = (f64, f64);

const NOTHING: Room = (0.0, 0.0);

/// What is of use only together: files of other sizes than they have, and further ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bundle {
    /// The files that it is for, by their places in the list.
    pub files: Vec<usize>,
    /// Files that are to grow, and their sizes then, in GB.
    pub sizes: Vec<(usize, f64)>,
    /// How many files are added, and how large each is, in GB.
    pub added: Vec<(usize, f64)>,
    /// Files that give space back first, and their sizes then, in GB.
    pub shrunk: Vec<(usize, f64)>,
}

/// What has room.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What all files come to, in GB, with all that is wanted.
    pub files_gb: f64,
    /// And their blobs.
    pub blobs_gb: f64,
    /// Of each that is wanted whether it fits, after those before it.
    pub fits: Vec<bool>,
    /// The files of those that fit.
    pub first: Vec<usize>,
    /// What files take now, and the most that they may.
    now: Room,
    most: Room,
    /// What each of the wanted gives back, as less than nothing, and what it takes.
    given: Vec<Room>,
    taken: Vec<Room>,
}

impl Fit {
    /// Whether all of it fits.
    pub fn is_all(&self) -> bool {
        self.fits.iter().all(|fits| *fits)
    }

    /// GB of files and of blobs that are left beside those that fit.
    pub fn left(&self) -> [f64; 2] {
        let own = self.fits.iter().zip(self.given.iter().zip(&self.taken)).filter(|(fits, _)| **fits);
        let (files_gb, blobs_gb) = own.fold(self.now, |sum, (_, (given, taken))| add(sum, add(*given, *taken)));
        [self.most.0 - files_gb, self.most.1 - blobs_gb]
    }

    /// The files of those that fit once other files gave so many GB back, besides all that fit now.
    pub fn after(&self, wanted: &[Bundle], back_gb: f64) -> Vec<usize> {
        let then = self.which(back_gb);
        // What takes its room from one that comes later is no gain.
        let are_all = self.fits.iter().zip(&then).all(|(now, then)| *then || !*now);
        let is_more = |(now, then): (&bool, &bool)| are_all && *then && !*now;
        let more = wanted.iter().zip(self.fits.iter().zip(&then)).filter(|(_, both)| is_more(*both));
        more.flat_map(|(one, _)| one.files.clone()).collect()
    }

    /// Of each that is wanted whether it fits, after those before it, where other files give so many GB back.
    fn which(&self, back_gb: f64) -> Vec<bool> {
        let mut giving = self.given.clone();
        loop {
            let mut sum = giving.iter().copied().fold((self.now.0 - back_gb, self.now.1), add);
            let has_room = |more: &Room| {
                let all = add(sum, *more);
                // What takes nothing has room wherever it is.
                let has_room = *more == NOTHING || (all.0 <= self.most.0 && all.1 <= self.most.1);
                sum = if has_room { all } else { sum };
                has_room
            };
            let fits: Vec<bool> = self.taken.iter().map(has_room).collect();
            // Nothing is given back for what has no room.
            let vain: Vec<usize> = (0..fits.len()).filter(|at| !fits[*at] && giving[*at] != NOTHING).collect();
            if vain.is_empty() {
                return fits;
            }
            for at in vain {
                giving[at] = NOTHING;
            }
        }
    }
}

/// What there is too little of for these sizes in place of what is wanted at `own`, beside all else that fits. `smaller` are the sizes that other
/// files can have and keep their limits.
pub fn lack(
    fit: &Fit,
    own: usize,
    sizes: &[(usize, f64)],
    smaller: &[(usize, f64)],
    (files, limits, storage): (&[DatabaseFile], &Limits, &Storage<'_>),
) -> Option<Lack> {
    let others = (0..fit.fits.len()).filter(|at| *at != own && fit.fits[*at]);
    let beside = others.map(|at| add(fit.given[at], fit.taken[at])).fold(fit.now, add);
    let larger = add(beside, resized(sizes, files, limits, storage));
    let advised = add(beside, add(fit.given[own], fit.taken[own]));
    if larger.1 > fit.most.1 {
        return Some(Lack::Blobs);
    }
    let missing_gb = larger.0 - fit.most.0;
    if missing_gb > 0.0 {
        let gives = |(at, size_gb): &(usize, f64)| files[*at].size_gb - size_gb;
        let mut others: Vec<&(usize, f64)> =
            smaller.iter().filter(|(at, _)| !sizes.iter().any(|(own, _)| own == at)).collect();
        others.sort_by(|a, b| gives(b).total_cmp(&gives(a)));
        let (mut left_gb, mut by) = (missing_gb, Vec::new());
        for one in others {
            if left_gb <= 0.0 {
                break;
            }
            left_gb -= gives(one);
            by.push(one.0);
        }
        return Some(if left_gb > 0.0 { Lack::Space } else { Lack::Given { gb: missing_gb, by } });
    }
    let space_gb = storage.space_gb()?;
    let is_more = advised.0 > space_gb;
    let raised_gb = if is_more { in_steps(advised.0) } else { space_gb };
    (larger.0 > raised_gb).then(|| Lack::Raised { gb: in_steps(larger.0) - raised_gb, is_more })
}

/// What is wanted by advice: of a filegroup, over which rows are spread, all or nothing. With the places of its advice.
pub fn wanted(grown: &[Advice], files: &[DatabaseFile]) -> Vec<(Vec<usize>, Bundle)> {
    let groups = databases(files);
    let group_of = |one: &Advice| groups.iter().position(|places| one.files.iter().any(|at| places.contains(at)));
    let mut all: Vec<(Option<usize>, Vec<usize>, Bundle)> = Vec::new();
    for (at, one) in grown.iter().enumerate() {
        if !matches!(one.finding, Finding::Grow { .. } | Finding::Add { .. }) {
            continue;
        }
        let group = group_of(one);
        let own = all.iter().position(|(other, ..)| group.is_some() && *other == group).unwrap_or_else(|| {
            all.push((group, Vec::new(), Bundle::default()));
            all.len() - 1
        });
        let (_, advice, wanted) = &mut all[own];
        advice.push(at);
        let new = one.files.iter().filter(|at| !wanted.files.contains(at)).copied().collect::<Vec<_>>();
        wanted.files.extend(new);
        wanted.sizes.extend(sizes([one]));
        if let Finding::Add { added, size_gb, shrunk, .. } = &one.finding {
            wanted.added.push((*added, *size_gb));
            wanted.shrunk.extend(shrunk);
        }
    }
    all.into_iter().map(|(_, advice, wanted)| (advice, wanted)).collect()
}

/// Which of the wanted such an instance can have at most, the first first. What they give back is there before anything grows.
pub fn fit(files: &[DatabaseFile], limits: &Limits, storage: &Storage<'_>, wanted: &[Bundle]) -> Fit {
    let given: Vec<Room> = wanted.iter().map(|one| resized(&one.shrunk, files, limits, storage)).collect();
    let taken: Vec<Room> = wanted.iter().map(|one| taken(one, files, limits, storage)).collect();
    let now = (limits.file_gb, limits.blob_gb);
    let (files_gb, blobs_gb) = given.iter().chain(&taken).copied().fold(now, add);
    let most_gb = storage.most_gb().or(storage.space_gb()).unwrap_or(f64::INFINITY);
    let most = (most_gb, storage.blobs_gb().unwrap_or(f64::INFINITY));
    let mut fit = Fit { files_gb, blobs_gb, now, most, given, taken, fits: Vec::new(), first: Vec::new() };
    fit.fits = fit.which(0.0);
    // Rows that are spread over what is there take no place in the order.
    let takes_any = |one: &Bundle| !one.sizes.is_empty() || !one.added.is_empty();
    let places = wanted.iter().zip(&fit.fits).filter(|(one, fits)| **fits && takes_any(one));
    fit.first = places.flat_map(|(one, _)| one.files.clone()).collect();
    fit
}

fn add(sum: Room, more: Room) -> Room {
    (sum.0 + more.0, sum.1 + more.1)
}

/// What files take more, or give back, with other sizes.
fn resized(sizes: &[(usize, f64)], files: &[DatabaseFile], limits: &Limits, storage: &Storage<'_>) -> Room {
    let more = sizes.iter().map(|(at, size_gb)| {
        let blob_now = limits.files[*at].blob_gb.unwrap_or(0.0);
        (size_gb - files[*at].size_gb, storage.blob_gb(*size_gb).unwrap_or(blob_now) - blob_now)
    });
    more.fold(NOTHING, add)
}

/// What larger files and further ones take.
fn taken(one: &Bundle, files: &[DatabaseFile], limits: &Limits, storage: &Storage<'_>) -> Room {
    let new = one
        .added
        .iter()
        .map(|(count, size_gb)| (*count as f64 * size_gb, *count as f64 * storage.blob_gb(*size_gb).unwrap_or(0.0)));
    new.fold(resized(&one.sizes, files, limits, storage), add)
}

/// What files take of which nothing is wanted.
fn others_gb(wanted: &[Bundle], files: &[DatabaseFile]) -> f64 {
    let is_wanted = |at: &usize| wanted.iter().any(|one| one.files.contains(at));
    (0..files.len()).filter(|at| !is_wanted(at)).map(|at| files[at].size_gb).sum()
}

/// What the database takes that takes most, with what is wanted: no instance can have a part of it.
fn largest_gb(wanted: &[Bundle], files: &[DatabaseFile]) -> f64 {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |at: usize, gb: f64| *all.entry(files[at].database.to_lowercase()).or_default() += gb;
    (0..files.len()).filter(|at| !files[*at].is_of_tempdb()).for_each(|at| add(at, files[at].size_gb));
    for one in wanted {
        one.sizes.iter().chain(&one.shrunk).for_each(|(at, size_gb)| add(*at, size_gb - files[*at].size_gb));
        let added_gb: f64 = one.added.iter().map(|(count, size_gb)| *count as f64 * size_gb).sum();
        if let Some(at) = one.files.first() {
            add(*at, added_gb);
        }
    }
    all.into_values().fold(0.0, f64::max)
}

/// That the space has to be raised first, or that it can't be: then which files come first, and what has more.
/// Other files can give back `back_gb` and keep their limits.
pub fn short(fit: &Fit, case: &Case<'_>, wanted: &[Bundle], back_gb: f64) -> Option<Advice> {
    let storage = case.storage;
    if wanted.is_empty() {
        return None;
    }
    let needed_gb = fit.files_gb;
    let most_gb = storage.most_gb().or(storage.space_gb());
    if fit.is_all() {
        let (space_gb, most_gb) = (storage.space_gb().filter(|space| needed_gb > *space)?, most_gb?);
        return of("space-first", fit.first.clone(), Finding::Space { needed_gb, space_gb, most_gb, back_gb });
    }
    let blobs_gb = [Some(fit.blobs_gb), storage.blobs_gb()];
    let of_disks = || case.files.iter().filter(|file| !file.is_of_tempdb());
    let sum = |of: fn(&DatabaseFile) -> Option<f64>| of_disks().filter_map(of).sum::<f64>();
    let rates = [sum(|file| file.iops), sum(|file| file.mb_per_s)];
    let finding = Finding::Short {
        after: fit.after(wanted, back_gb),
        files_gb: [Some(needed_gb), most_gb],
        blobs_gb,
        larger: wanted.iter().map(|one| one.sizes.len()).sum(),
        added: wanted.iter().flat_map(|one| &one.added).map(|(count, _)| count).sum(),
        back_gb,
        others_and_largest_gb: [others_gb(wanted, case.files), largest_gb(wanted, case.files)],
        elsewhere: storage.elsewhere([needed_gb, fit.blobs_gb], rates),
    };
    of("space-short", fit.first.clone(), finding)
}
