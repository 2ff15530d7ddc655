//! Volumes: which disks the bytes of an I/O fall on.
//!
//! *Striped* (as Storage Spaces' simple layout does it): the address space is cut into slabs of `columns` x 256 MiB;
//! within one, consecutive stripe units lie on consecutive columns. Slab after slab goes to the next `columns` disks,
//! so with fewer columns than disks one stretch of addresses uses only some of them. An I/O is split at unit borders.
//! What falls on one disk is one I/O there, and the whole is done when its last part is. *Spanned*: the disks are
//! filled one after another, so a file smaller than one disk has the limits of one disk. Left out: parity and mirrors,
//! and the fact that an allocator may place slabs elsewhere.

use serde::{Deserialize, Serialize};

use crate::Disk;

/// What Storage Spaces allocates at a time on each disk.
pub const SLAB_BYTES: u64 = 256 << 20;

/// How a volume lies on its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One disk.
    Single,
    /// Stripes over columns.
    Striped {
        /// Disks that a stripe covers.
        columns: usize,
        /// Bytes on one disk before the next has its turn.
        unit_bytes: u64,
    },
    /// One disk after another; all but the last need a size.
    Spanned,
}

/// Disks and how they are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// How the bytes lie on the disks.
    pub layout: Layout,
    /// The disks, in order.
    pub disks: Vec<Disk>,
}

impl Volume {
    /// A volume on one disk.
    pub fn single(disk: Disk) -> Self {
        Self { layout: Layout::Single, disks: vec![disk] }
    }

    /// A stripe over all of these disks.
    pub fn striped(disks: Vec<Disk>, unit_bytes: u64) -> Self {
        Self { layout: Layout::Striped { columns: disks.len(), unit_bytes }, disks }
    }

    /// Disks filled one after another.
    pub fn spanned(disks: Vec<Disk>) -> Self {
        Self { layout: Layout::Spanned, disks }
    }

    /// On how many disks a file of so many bytes lies that begins at the volume's first byte: of a stripe on the columns of its slabs, of
    /// a span on those that it fills. All of them work where operations are spread over the file; those in one place use one slab.
    pub fn disks_of_file(&self, file_bytes: u64) -> usize {
        let disks = self.disks.len();
        match self.layout {
            Layout::Single => 1,
            Layout::Spanned => {
                let mut end = 0_u64;
                let is_left = |disk: &&Disk| {
                    end = end.saturating_add(disk.bytes.unwrap_or(u64::MAX));
                    end < file_bytes
                };
                (1 + self.disks.iter().take_while(is_left).count()).min(disks)
            }
            Layout::Striped { columns, .. } => {
                let slabs = file_bytes.div_ceil(SLAB_BYTES.saturating_mul(columns as u64).max(1)).max(1);
                usize::try_from(slabs).unwrap_or(disks).saturating_mul(columns).min(disks)
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let disks = self.disks.len();
        match self.layout {
            _ if disks == 0 => return Err("a volume needs at least one disk".to_owned()),
            Layout::Single if disks > 1 => return Err(format!("a single layout has one disk, not {disks}")),
            Layout::Striped { columns: 0, .. } => return Err("columns must be more than 0".to_owned()),
            Layout::Striped { columns, .. } if columns > disks => {
                return Err(format!("{columns} columns need {columns} disks, but there are {disks}"));
            }
            Layout::Striped { unit_bytes, .. } if !unit_bytes.is_power_of_two() || unit_bytes > SLAB_BYTES => {
                return Err("the stripe unit must be a power of two, at most 256MiB".to_owned());
            }
            Layout::Spanned if self.disks.iter().rev().skip(1).any(|disk| disk.bytes.is_none()) => {
                return Err("spanned disks need a size, else no address is on the second".to_owned());
            }
            _ => {}
        }
        self.disks.iter().try_for_each(Disk::check)
    }
}

/// Where addresses lie. Plain numbers rather than a layout: each is set whatever the layout, so that nothing that is
/// read before the layout is known can be memory that nobody wrote.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    /// Disks next to each other in a stripe; 0 where the volume is not striped.
    columns: u64,
    unit_bytes: u64,
    /// Ends of the disks' address ranges, where they are spanned.
    ends: Vec<u64>,
    disks: usize,
}

impl Map {
    pub(crate) fn new(volume: &Volume) -> Self {
        let (columns, unit_bytes) = match volume.layout {
            Layout::Striped { columns, unit_bytes } => (columns as u64, unit_bytes),
            Layout::Single | Layout::Spanned => (0, 1),
        };
        let mut end = 0_u64;
        let ends = volume.disks.iter().map(|disk| {
            end = end.saturating_add(disk.bytes.unwrap_or(u64::MAX));
            end
        });
        Self { columns, unit_bytes, ends: ends.collect(), disks: volume.disks.len() }
    }

    /// Adds up what of an I/O falls on each disk: calls `part` with disk and bytes, neighbouring pieces one by one.
    pub(crate) fn split(&self, offset: u64, bytes: u64, mut part: impl FnMut(usize, u64)) {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        loop {
            let (disk, border) = self.locate(at);
            let to = end.min(border);
            part(disk, to - at);
            // Also ends an I/O without bytes, which falls on the disk of its address.
            if to >= end {
                return;
            }
            at = to;
        }
    }

    /// The disk of an address, and where the piece that lies on it ends.
    fn locate(&self, at: u64) -> (usize, u64) {
        if self.columns > 0 {
            let stripe = at / self.unit_bytes;
            let slab = SLAB_BYTES.saturating_mul(self.columns);
            let first = (at / slab).wrapping_mul(self.columns);
            let disk = first.wrapping_add(stripe % self.columns) % self.disks.max(1) as u64;
            return (disk as usize, (stripe + 1).saturating_mul(self.unit_bytes));
        }
        let disk = self.ends.partition_point(|end| *end <= at).min(self.disks.saturating_sub(1));
        // What lies beyond the last disk's end is still on the last disk; a single disk takes all.
        let border = if disk + 1 == self.disks { u64::MAX } else { self.ends[disk] };
        (disk, border)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: u64 = 1024;

    fn disks(count: usize, bytes: u64) -> Vec<Disk> {
        vec![Disk { bytes: Some(bytes), ..Disk::default() }; count]
    }

    fn parts(volume: &Volume, offset: u64, bytes: u64) -> Vec<(usize, u64)> {
        let mut parts = Vec::new();
        Map::new(volume).split(offset, bytes, |disk, bytes| parts.push((disk, bytes)));
        parts
    }

    #[test]
    fn stripes_go_round_the_columns() {
        let volume = Volume::striped(disks(4, 1 << 40), 64 * KIB);
        assert_eq!(parts(&volume, 0, 64 * KIB), [(0, 64 * KIB)]);
        assert_eq!(parts(&volume, 60 * KIB, 8 * KIB), [(0, 4 * KIB), (1, 4 * KIB)]);
        let units = [(3, 64 * KIB), (0, 64 * KIB), (1, 64 * KIB)];
        assert_eq!(parts(&volume, 3 * 64 * KIB, 192 * KIB), units);
        assert_eq!(parts(&volume, 128 * KIB, 0), [(2, 0)]);
    }

    #[test]
    fn fewer_columns_than_disks_use_the_others_only_in_the_next_slab() {
        let layout = Layout::Striped { columns: 2, unit_bytes: 64 * KIB };
        let volume = Volume { layout, disks: disks(4, 1 << 40) };
        let disk_at = |offset| parts(&volume, offset, 1)[0].0;
        assert_eq!([0, 64 * KIB, 128 * KIB, 192 * KIB].map(disk_at), [0, 1, 0, 1]);
        let slab = 2 * SLAB_BYTES;
        assert_eq!([slab, slab + 64 * KIB, 2 * slab].map(disk_at), [2, 3, 0]);
    }

    #[test]
    fn spanned_disks_are_filled_one_after_another() {
        let volume = Volume::spanned(disks(3, 100));
        assert_eq!(parts(&volume, 0, 100), [(0, 100)]);
        assert_eq!(parts(&volume, 90, 120), [(0, 10), (1, 100), (2, 10)]);
        assert_eq!(parts(&volume, 290, 1_000), [(2, 1_000)]);
    }

    #[test]
    fn layouts_that_cannot_be_are_said() {
        let striped = |columns, unit_bytes| {
            Volume { layout: Layout::Striped { columns, unit_bytes }, disks: disks(4, 1) }.check()
        };
        assert!(striped(5, 65_536).unwrap_err().contains("5 columns need 5 disks, but there are 4"));
        assert!(striped(0, 65_536).unwrap_err().contains("more than 0"));
        assert!(striped(4, 65_537).unwrap_err().contains("power of two"));
        assert_eq!(striped(4, 65_536), Ok(()));
        assert!(Volume::spanned(vec![Disk::default(); 2]).check().unwrap_err().contains("need a size"));
        assert!(Volume::spanned(vec![]).check().unwrap_err().contains("at least one disk"));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(
            count in 1_usize..20,
            columns in 1_usize..20,
            offset in 0_u64..1 << 45,
            bytes in 0_u64..1 << 24,
        ) {
            let layout = Layout::Striped { columns: columns.min(count), unit_bytes: 64 * KIB };
            for volume in [Volume { layout, disks: disks(count, 1 << 40) }, Volume::spanned(disks(count, 1 << 41))] {
                let parts = parts(&volume, offset, bytes);
                prop_assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), bytes);
                prop_assert!(parts.iter().all(|part| part.0 < count));
            }
        }
    }
}
