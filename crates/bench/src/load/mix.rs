//! Kinds of requests and how often each is drawn.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

/// A kind of request (reference, 2.1 to 2.6, 2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One new row, with the next key.
    Insert,
    /// One row goes, by its key.
    Delete,
    /// One row is read by its key.
    DirectSelect,
    /// The rows of a range of keys that also lie in a range of another column.
    IndirectSelect,
    /// All columns of a row but its key get new values.
    Update,
    /// A whole table is read into the client.
    TableSelect,
    /// A batch of new rows, by the engine's fast path and in one transaction.
    BulkLoad,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Insert,
        Self::Delete,
        Self::DirectSelect,
        Self::IndirectSelect,
        Self::Update,
        Self::TableSelect,
        Self::BulkLoad,
    ];

    /// The name in definitions and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::DirectSelect => "direct-select",
            Self::IndirectSelect => "indirect-select",
            Self::Update => "update",
            Self::TableSelect => "table-select",
            Self::BulkLoad => "bulk-load",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// True if it makes new rows.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Insert | Self::BulkLoad)
    }

    /// True if its rows are chosen one by one, not as ranges.
    pub const fn is_single(self) -> bool {
        !matches!(self, Self::IndirectSelect | Self::TableSelect)
    }
}

/// Kinds with their weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mix(Vec<(Kind, f64)>);

impl Mix {
    /// A mix of these weights.
    ///
    /// # Errors
    /// A sentence if there is no kind with a weight above 0.
    pub fn new(weights: Vec<(Kind, f64)>) -> Result<Self, String> {
        if let Some((kind, weight)) = weights.iter().find(|(_, weight)| !(*weight >= 0.0 && weight.is_finite())) {
            return Err(format!("the weight {weight} of {} is not a number from 0 on", kind.name()));
        }
        if weights.iter().all(|(_, weight)| *weight <= 0.0) {
            return Err("a mix needs a kind of request with a weight above 0".to_owned());
        }
        Ok(Self(weights))
    }

    /// The kinds, in the order of the definition.
    pub fn kinds(&self) -> Vec<Kind> {
        self.0.iter().map(|(kind, _)| *kind).collect()
    }

    /// The index of the kind of the next request.
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let sum: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut draw = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        for (index, (_, weight)) in self.0.iter().enumerate() {
            draw -= weight;
            if draw < 0.0 {
                return index;
            }
        }
        self.0.iter().rposition(|(_, weight)| *weight > 0.0).unwrap_or(0)
    }
}

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
    fn kinds_come_by_their_weights() {
        let mix = Mix::new(vec![(Kind::Insert, 20.0), (Kind::Update, 0.0), (Kind::DirectSelect, 60.0)]).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut seen = [0_u32; 3];
        (0..100_000).for_each(|_| seen[mix.draw(&mut random)] += 1);
        assert!((24_500..25_500).contains(&seen[0]) && seen[1] == 0, "{seen:?}");
        for bad in [vec![], vec![(Kind::Insert, 0.0)], vec![(Kind::Insert, -1.0)], vec![(Kind::Insert, f64::NAN)]] {
            assert!(Mix::new(bad).is_err());
        }
    }

    #[test]
    fn ranges_have_the_published_mean() {
        let mean: f64 = SCAN_SIZES.iter().map(|(rows, share)| *rows as f64 * *share as f64 / 100.0).sum();
        assert!((mean - 660.0).abs() < 1e-9 && SCAN_SIZES.iter().map(|(_, share)| share).sum::<u64>() == 100);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: u64 = (0..100_000).map(|_| scan_size(&mut random)).sum();
        assert!((drawn as f64 / 100_000.0 / 660.0 - 1.0).abs() < 0.02, "{drawn}");
    }
}
