//! Kinds of requests on our own tables.

use std::fmt;

use plimsoll_measurement::vocabulary;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

vocabulary! {
    /// A kind of request (reference, 2.1 to 2.6, 2.8).
    Kind {
        /// One new row, with the next key.
        Insert = "insert",
        /// One row goes, by its key.
        Delete = "delete",
        /// One row is read by its key.
        DirectSelect = "direct-select",
        /// The rows of a range of keys that also lie in a range of another column.
        IndirectSelect = "indirect-select",
        /// All columns of a row but its key get new values.
        Update = "update",
        /// A whole table is read into the client.
        TableSelect = "table-select",
        /// A batch of new rows, by the engine's fast path and in one transaction.
        BulkLoad = "bulk-load",
    }
}

impl Kind {
    /// True if it makes new rows.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Insert | Self::BulkLoad)
    }

    /// True if its rows are chosen one by one, not as ranges.
    pub const fn is_single(self) -> bool {
        !matches!(self, Self::IndirectSelect | Self::TableSelect)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Kinds with their weights.
pub type Mix = plimsoll_load::mix::Mix<Kind>;

/// Rows that an indirect select looks at, with their shares in percent (reference, 2.4): 660 on average.
const SCAN_SIZES: [(u64, u64); 9] =
    [(100, 30), (200, 20), (300, 15), (400, 10), (600, 5), (800, 5), (1200, 5), (2500, 5), (5000, 5)];

/// How many rows the next indirect select looks at.
pub fn scan_size(random: &mut Xoshiro256PlusPlus) -> u64 {
    let mut draw = random.next_u64() % 100;
    for (rows, share) in SCAN_SIZES {
        if draw < share {
            return rows;
        }
        draw -= share;
    }
    SCAN_SIZES[0].0
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    #[test]
    fn ranges_have_the_published_mean() {
        let mean: f64 = SCAN_SIZES.iter().map(|(rows, share)| *rows as f64 * *share as f64 / 100.0).sum();
        assert!((mean - 660.0).abs() < 1e-9 && SCAN_SIZES.iter().map(|(_, share)| share).sum::<u64>() == 100);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: u64 = (0..100_000).map(|_| scan_size(&mut random)).sum();
        assert!((drawn as f64 / 100_000.0 / 660.0 - 1.0).abs() < 0.02, "{drawn}");
    }
}
