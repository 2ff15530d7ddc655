//! The search for the largest set that fits.

/// Growth of the set from one point to the next, while everything still fits.
const GROWTH: f64 = 1.25;

/// A set counts as fitting while the counted pass misses at most this share of its pages: a server's own bookkeeping
/// uses a few pages now and then.
const CLEAN: f64 = 0.01;

/// The search ends when the largest set that fits and the smallest that doesn't are this close.
const CLOSE: f64 = 0.015;

pub(super) struct Seen {
    pub set_bytes: f64,
    /// Misses of the counted pass over the set's pages.
    pub share: f64,
}

/// Which set to read next: larger ones until misses begin, then closer and closer around the beginning.
pub(super) struct Search {
    next: f64,
    pub largest_fit: Option<f64>,
    pub smallest_over: Option<f64>,
    started_near: bool,
}

impl Search {
    pub fn new(first: f64, near: Option<f64>) -> Self {
        // A later repetition starts below what the first one found, and still finds its own way up or down.
        let next = near.map_or(first, |near| near * 0.6);
        Self { next, largest_fit: None, smallest_over: None, started_near: near.is_some() }
    }

    pub fn next_set(&self) -> Option<f64> {
        match (self.largest_fit, self.smallest_over) {
            (Some(fit), Some(over)) if over / fit <= 1.0 + CLOSE => None,
            (None, Some(over)) if over < 65_536.0 => None,
            _ => Some(self.next),
        }
    }

    pub fn learn(&mut self, seen: &Seen) {
        if seen.share <= CLEAN {
            self.largest_fit = Some(self.largest_fit.map_or(seen.set_bytes, |fit| fit.max(seen.set_bytes)));
        } else {
            self.smallest_over = Some(self.smallest_over.map_or(seen.set_bytes, |over| over.min(seen.set_bytes)));
        }
        let step = if self.started_near { 1.1 } else { GROWTH };
        self.next = match (self.largest_fit, self.smallest_over) {
            (Some(fit), None) => fit * step,
            (None, Some(over)) => over / 2.0,
            (Some(fit), Some(over)) if fit < over => (fit * over).sqrt(),
            // Misses came and went: a set that fits is larger than one that did not. The fitting one counts.
            (Some(fit), Some(_)) => {
                self.smallest_over = None;
                fit * 1.1
            }
            (None, None) => self.next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks the search against a cache of which only the misses are seen.
    fn find(capacity: f64, first: f64) -> (f64, f64, usize) {
        let mut search = Search::new(first, None);
        let mut sets = 0;
        while let Some(set_bytes) = search.next_set() {
            let share = if set_bytes <= capacity { 0.0 } else { (set_bytes - capacity) / set_bytes };
            search.learn(&Seen { set_bytes, share });
            sets += 1;
            assert!(sets < 100, "the search does not end");
        }
        (search.largest_fit.unwrap(), search.smallest_over.unwrap(), sets)
    }

    #[test]
    fn the_search_closes_in_from_far_below_and_from_above() {
        for capacity in [3e6, 1e8, 5.3e8] {
            let (fit, over, sets) = find(capacity, 1e6);
            assert!(fit <= capacity * 1.02 && over > capacity && over / fit <= 1.02, "{fit} {over} of {capacity}");
            assert!(sets >= 10, "a repetition has at least ten points");
        }
        let (fit, over, _) = find(1e5, 1e6);
        assert!(fit <= 1.02e5 && over > 1e5);
    }
}
