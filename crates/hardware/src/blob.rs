//! Blobs: a database file, with limits that its size decides.
//!
//! Rule ("Storage performance best practices for Azure SQL DB Managed Instance General Purpose", MSDN 2018): the file
//! is one page blob of the smallest tier that holds it, bounds included. Growing past a bound moves it up, shrinking
//! moves it down. So a file just over a bound gets the next tier's limits, and all sizes within a tier are equal. The
//! table of tiers is data: it changed over time. Left out: the moment of the move itself, which is instant here, and
//! the sum of all blobs an account may hold.

use serde::{Deserialize, Serialize};

use crate::Limits;

/// One blob size and what it delivers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// Its name, for messages.
    pub name: String,
    /// The largest file it holds, in bytes.
    pub up_to: u64,
    /// What a file in it gets.
    pub limits: Limits,
}

/// A file on a table of tiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blob {
    /// Smallest first.
    pub tiers: Vec<Tier>,
    /// The file's size at the start, in bytes.
    pub file_bytes: u64,
}

impl Blob {
    /// The smallest tier that holds a file of this size; `None` if none does.
    pub fn snap_up(&self, file_bytes: u64) -> Option<&Tier> {
        self.tiers.iter().find(|tier| file_bytes <= tier.up_to)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(pair) = self.tiers.windows(2).find(|pair| pair[1].up_to <= pair[0].up_to) {
            return Err(format!("tier '{}' must hold more than '{}' before it", pair[1].name, pair[0].name));
        }
        for tier in &self.tiers {
            tier.limits.check().map_err(|problem| format!("tier '{}': {problem}", tier.name))?;
        }
        match self.tiers.last() {
            None => Err("a blob needs at least one tier".to_owned()),
            Some(last) if last.up_to < self.file_bytes => {
                Err(format!("the file is larger than the largest tier '{}' holds", last.name))
            }
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    const GIB: u64 = 1 << 30;

    fn blob(sizes: &[u64]) -> Blob {
        let tier = |size: &u64| Tier {
            name: size.to_string(),
            up_to: size * GIB,
            limits: Limits { iops: Limit::per_second(*size as f64), ..Limits::default() },
        };
        Blob { tiers: sizes.iter().map(tier).collect(), file_bytes: GIB }
    }

    #[test]
    fn a_file_snaps_up_to_the_smallest_tier_that_holds_it() {
        let blob = blob(&[128, 256, 512, 1_024, 2_048, 4_096, 8_192]);
        let cases = [(32, 128), (128, 128), (150, 256), (256, 256), (257, 512), (900, 1_024), (5_000, 8_192)];
        for (file, tier) in cases {
            assert_eq!(blob.snap_up(file * GIB).map(|tier| tier.up_to / GIB), Some(tier), "{file}");
        }
        assert_eq!(blob.snap_up(1_126 * GIB + GIB * 2 / 5).map(|tier| tier.up_to / GIB), Some(2_048));
        assert_eq!(blob.snap_up(8_192 * GIB + 1), None);
    }

    #[test]
    fn tiers_must_rise_and_hold_the_file() {
        assert!(blob(&[256, 128]).check().unwrap_err().contains("'128' must hold more"));
        assert!(blob(&[]).check().unwrap_err().contains("at least one"));
        assert!(Blob { file_bytes: 129 * GIB, ..blob(&[128]) }.check().unwrap_err().contains("larger than"));
        assert_eq!(blob(&[128, 256]).check(), Ok(()));
    }
}
