//! The memory that a database can use for its cache, from two sides. Reference: section 2.13, choice A16.
//!
//! *Knee*: working sets of growing size are read again until their misses stand still; the limit is where misses begin.
//! How they begin depends on the engine. Exact LRU under a cyclic scan goes from no misses to nothing but misses at
//! once (Mattson and others, Evaluation techniques for storage hierarchies, IBM Systems Journal 9 (1970) 78-117: the
//! stack distance of every access is the set's size). Random order and random replacement rise gradually: of a set of
//! size S a memory of size K can't hold the share 1 - K/S. So two-phase regression (Hinkley, Inference in two-phase
//! regression, JASA 66 (1971) 736-743) is fitted to the rise. It has a constant floor, and above the knee K a multiple
//! of 1 - K/S.
//!
//! *Slope*: where the engine reports its use in percent of an unknown limit, known amounts of cached data give it.

use crate::summary;

/// Miss ratio up to which a set counts as held in memory; it leaves room for the engine's own pages.
pub const CLEAN_MISS_RATIO: f64 = 0.01;

/// Percent of memory from which on the engine may be full, so that more data doesn't raise it.
pub const SATURATED_PERCENT: f64 = 95.0;

/// How much lower the miss ratio of a larger set may be than that of a smaller one by chance. Whatever replaces pages, a larger set
/// misses no smaller a share once a smaller one misses.
pub const NOISE: f64 = 0.1;

/// Miss ratios beyond this are no part of the rise: a cyclic scan jumps past it, and most gradual rises bend before.
const RISE_MISS_RATIO: f64 = 0.5;

/// Places within the bracket at which the knee is tried.
const STEPS: u32 = 500;

/// A working set and its misses in the counted pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetMisses {
    /// Size of the set, in bytes of pages.
    pub set_bytes: u64,
    /// Pages that were not in memory.
    pub miss_pages: u64,
    /// Pages that were asked for: those of the set.
    pub set_pages: u64,
}

/// What the working sets say about memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Misses begin within the measured sizes.
    Found(Knee),
    /// Every set was held: memory is at least the largest, in bytes.
    AtLeast(u64),
    /// No set was held: memory is less than the smallest, in bytes.
    AtMost(u64),
}

/// Where misses begin, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knee {
    /// Estimate; lies within the bracket.
    pub bytes: u64,
    /// Lower end of the bracket: the largest set with at most [`CLEAN_MISS_RATIO`] misses. Under a gradual rise it may
    /// exceed the true limit by about that ratio.
    pub low: u64,
    /// Upper end of the bracket: the next larger set, which had more.
    pub high: u64,
    /// True if all sets below the bracket were clean as well. If not, something else disturbed the cache.
    pub clean_below: bool,
}

/// Finds the knee. Sets may come in any order; those of one size are pooled, those without pages are passed over.
///
/// The estimate is the change point of the hinge with the least squares, searched within the bracket, over the clean sets
/// and those of the rise. Where the rise has fewer than two sets there is nothing to fit (a cyclic scan under LRU), and
/// the estimate is the geometric middle of the bracket. `None` without a usable set.
pub fn knee(points: &[SetMisses]) -> Option<Memory> {
    let sets = miss_ratios(points);
    let (smallest, largest) = (sets.first()?.bytes, sets.last()?.bytes);
    let Some(last_clean) = sets.iter().rposition(Set::is_clean) else {
        return Some(Memory::AtMost(smallest));
    };
    let Some(first_missing) = sets.get(last_clean + 1) else {
        return Some(Memory::AtLeast(largest));
    };
    let (low, high) = (sets[last_clean].bytes, first_missing.bytes);
    let rise = sets[last_clean + 1..].iter().take_while(|set| set.ratio <= RISE_MISS_RATIO);
    let rise: Vec<Set> = rise.copied().collect();
    let clean: Vec<Set> = sets[..=last_clean].iter().filter(|set| set.is_clean()).copied().collect();

    let estimate = if rise.len() >= 2 { change_point(&[clean, rise].concat(), low, high) } else { None };
    let estimate = estimate.unwrap_or_else(|| (low as f64 * high as f64).sqrt());
    let bytes = (estimate.round() as u64).clamp(low, high);
    let clean_below = sets[..last_clean].iter().all(Set::is_clean);
    Some(Memory::Found(Knee { bytes, low, high, clean_below }))
}

/// A set of which a smaller share was missed than of a smaller one, by more than [`NOISE`]: something else used the cache meanwhile.
/// Gives the two, the first that are as far apart.
pub fn fall(points: &[SetMisses]) -> Option<(Set, Set)> {
    let sets = miss_ratios(points);
    let mut highest = *sets.first()?;
    for set in sets {
        if set.ratio + NOISE < highest.ratio {
            return Some((highest, set));
        }
        if set.ratio > highest.ratio {
            highest = set;
        }
    }
    None
}

/// A size of working sets and what was missed of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Set {
    /// The size.
    pub bytes: u64,
    /// Pages that were missed, of those that were asked for.
    pub ratio: f64,
}

impl Set {
    fn is_clean(&self) -> bool {
        self.ratio <= CLEAN_MISS_RATIO
    }
}

/// Miss ratios by growing size, one for each size.
fn miss_ratios(points: &[SetMisses]) -> Vec<Set> {
    let mut points: Vec<SetMisses> = points.iter().filter(|point| point.set_pages > 0).copied().collect();
    points.sort_by_key(|point| point.set_bytes);
    let pooled = points.chunk_by(|a, b| a.set_bytes == b.set_bytes).map(|same| {
        let misses: f64 = same.iter().map(|point| point.miss_pages as f64).sum();
        let pages: f64 = same.iter().map(|point| point.set_pages as f64).sum();
        Set { bytes: same[0].set_bytes, ratio: misses / pages }
    });
    pooled.collect()
}

/// The knee between `low` and `high` with the hinge that leaves the smallest squares; `None` if no hinge rises.
fn change_point(sets: &[Set], low: u64, high: u64) -> Option<f64> {
    let (low, high) = (low as f64, high as f64);
    let places = (0..STEPS).map(|step| low + (high - low) * f64::from(step) / f64::from(STEPS));
    let fits = places.filter_map(|knee| Some((knee, hinge_squares(sets, knee)?)));
    fits.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(knee, _)| knee)
}

/// Sum of squares that a hinge at `knee` leaves. `None` where it doesn't rise.
fn hinge_squares(sets: &[Set], knee: f64) -> Option<f64> {
    let line: Vec<(f64, f64)> = sets.iter().map(|set| ((1.0 - knee / set.bytes as f64).max(0.0), set.ratio)).collect();
    let (floor, rise) = least_squares(&line)?;
    let squares = line.iter().map(|(share, ratio)| (ratio - floor - rise * share).powi(2)).sum();
    (rise > 0.0).then_some(squares)
}

/// The limit of memory in MB from what the engine reports: points of (MB of cached content, percent used).
///
/// Least squares of percent on MB, over the points below [`SATURATED_PERCENT`]; what the engine uses for other things is
/// the intercept. `None` with fewer than two different contents, or where the percentage doesn't rise with the content.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let below = points.iter().filter(|(mb, percent)| mb.is_finite() && *percent < SATURATED_PERCENT);
    let (_, percent_per_mb) = least_squares(&below.copied().collect::<Vec<_>>())?;
    let limit = 100.0 / percent_per_mb;
    (percent_per_mb > 0.0 && limit.is_finite()).then_some(limit)
}

/// The line y = intercept + slope x through points (x, y), as (intercept, slope). `None` if the xs don't differ.
fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mean_of = |pick: fn(&(f64, f64)) -> f64| summary::mean(&points.iter().map(pick).collect::<Vec<_>>());
    let (mean_x, mean_y) = (mean_of(|point| point.0)?, mean_of(|point| point.1)?);
    let squares: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let products: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = products / squares;
    (squares > 0.0 && slope.is_finite()).then_some((mean_y - slope * mean_x, slope))
}

#[cfg(test)]
mod tests;
