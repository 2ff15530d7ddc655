//! How far a figure can be believed: bits that may combine. None of them is an exact figure.

use serde::{Deserialize, Serialize};

/// The status of a delta or of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Status(u8);

impl Status {
    /// The growth of one counter from one look to the next.
    pub const EXACT: Self = Self(0);
    /// The row is new, and its counters began at zero after the look before: all that it counted is of this slot.
    pub const CREDITED: Self = Self(1);
    /// At least this: the counters began anew since the look before, and what they had counted until then is lost.
    pub const LOWER_BOUND: Self = Self(2);
    /// The interval is longer than the slot: reads failed or missed the row.
    pub const GAP: Self = Self(4);
    /// Only the starting point is known, so that nothing is in the sums. It is a status of slots.
    pub const BASELINE: Self = Self(8);
    /// The read did not return all rows, so that some may be missing.
    pub const PARTIAL: Self = Self(16);
    /// Derived, not counted by the server.
    pub const ESTIMATED: Self = Self(32);

    const NAMES: [(Self, &str); 6] = [
        (Self::CREDITED, "credited"),
        (Self::LOWER_BOUND, "lower_bound"),
        (Self::GAP, "gap"),
        (Self::BASELINE, "baseline"),
        (Self::PARTIAL, "partial"),
        (Self::ESTIMATED, "estimated"),
    ];

    /// Whether all bits of the other are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits as they are stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From stored bits; those that are not known are left out.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 63)
    }

    /// The status of these words, as it says itself; `None` if a word is none of them.
    pub fn of_words(words: &str) -> Option<Self> {
        let bit = |word: &str| Self::NAMES.iter().find(|(_, name)| *name == word).map(|(bit, _)| *bit);
        if words == "exact" {
            return Some(Self::EXACT);
        }
        words.split('+').try_fold(Self::EXACT, |all, word| Some(all | bit(word)?))
    }

    /// This status where it holds, else an exact one.
    pub(crate) const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::EXACT }
    }
}

impl std::ops::BitOr for Status {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Status {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// `exact`, or the names of the bits, as `gap+partial`.
impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "exact".to_owned() } else { names.join("+") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_combine_and_say_their_names() {
        let status = Status::GAP | Status::CREDITED;
        assert!(status.has(Status::GAP) && !status.has(Status::PARTIAL) && status.has(Status::EXACT));
        assert_eq!((status.to_string().as_str(), Status::EXACT.to_string().as_str()), ("credited+gap", "exact"));
        assert_eq!((Status::of_words("credited+gap"), Status::of_words("exact")), (Some(status), Some(Status::EXACT)));
        assert_eq!((Status::of_words(""), Status::of_words("gap+lost")), (None, None));
        assert_eq!((Status::from_bits(status.bits()), Status::from_bits(64)), (status, Status::EXACT));
    }
}
