//! Where the next operation goes: drawn at random, or one block after the other, in a region of a thread or in the whole file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_measurement::{Access, Cell, Offsets, Operation};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Blocks in a row, of which the next is taken by whoever asks first.
#[derive(Debug)]
pub struct Region {
    /// Byte of the file at which it begins.
    from: u64,
    blocks: u64,
    next: AtomicU64,
}

impl Region {
    /// The regions of the threads: of each its own, or one for all. `None` if a thread would have no block.
    pub fn of(cell: &Cell, from: u64, bytes: u64) -> Option<Vec<Arc<Self>>> {
        let threads = u64::from(cell.threads);
        let region = |from: u64, bytes: u64| {
            let blocks = bytes / cell.block_bytes;
            (blocks > 0).then(|| Arc::new(Self { from, blocks, next: AtomicU64::new(0) }))
        };
        if cell.offsets == Offsets::Own {
            let each = bytes / cell.block_bytes / threads * cell.block_bytes;
            return (0..threads).map(|thread| region(from + thread * each, each)).collect();
        }
        let shared = region(from, bytes)?;
        Some((0..threads).map(|_| Arc::clone(&shared)).collect())
    }
}

/// Parts of the file for what works on it at the same time: where each begins, and its bytes.
pub fn parts(from: u64, bytes: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let each = if count == 1 { bytes } else { bytes / count / PART_UNIT * PART_UNIT };
    (0..count).map(move |part| (from + part * each, each))
}

/// Parts begin at multiples of so many bytes, which any device takes.
const PART_UNIT: u64 = 4096;

/// Draws the operations of one lane.
#[derive(Debug)]
pub struct Draw {
    region: Arc<Region>,
    block_bytes: u64,
    is_random: bool,
    read_percent: u64,
    random: Xoshiro256PlusPlus,
}

/// What a lane does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Byte of the file.
    pub offset: u64,
    /// A write, or else a read.
    pub writes: bool,
}

impl Draw {
    /// Draws for a lane in this region; the same seed draws the same.
    pub fn new(cell: &Cell, region: Arc<Region>, seed: u64) -> Self {
        let read_percent = match cell.operation.known() {
            Some(Operation::Read) => 100,
            Some(Operation::Write) => 0,
            _ => u64::from(cell.read_percent),
        };
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { region, block_bytes: cell.block_bytes, is_random: cell.access == Access::Random, read_percent, random }
    }

    /// The next operation.
    pub fn next(&mut self) -> Next {
        let block = if self.is_random {
            below(&mut self.random, self.region.blocks)
        } else {
            self.region.next.fetch_add(1, Ordering::Relaxed) % self.region.blocks
        };
        let writes = match self.read_percent {
            100 => false,
            0 => true,
            percent => below(&mut self.random, 100) >= percent,
        };
        Next { offset: self.region.from + block * self.block_bytes, writes }
    }
}

/// A whole number below another, all alike often: the high half of a product. It errs by less than one in 2^64 / n.
fn below(random: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::suite::cell_of;

    fn cell(text: &str) -> Cell {
        cell_of(text)
    }

    #[test]
    fn a_thread_that_works_in_a_region_of_its_own_stays_in_it() {
        let cell = cell("operation = 'write'\naccess = 'sequential'\nblock = '4KiB'\nthreads = 3");
        let regions = Region::of(&cell, 1 << 20, 10 * 4096).unwrap();
        let offsets = |region: &Arc<Region>| {
            let mut draw = Draw::new(&cell, Arc::clone(region), 1);
            (0..4).map(|_| (draw.next().offset - (1 << 20)) / 4096).collect::<Vec<u64>>()
        };
        let all: Vec<_> = regions.iter().map(offsets).collect();
        assert_eq!(all, [[0, 1, 2, 0], [3, 4, 5, 3], [6, 7, 8, 6]], "the tenth block is nobody's");
        assert!(Region::of(&cell, 0, 2 * 4096).is_none(), "three threads need three blocks");
    }

    #[test]
    fn threads_that_share_the_file_take_turns() {
        let cell = cell("operation = 'read'\naccess = 'sequential'\noffsets = 'shared'\nblock = '4KiB'\nthreads = 2");
        let regions = Region::of(&cell, 0, 4 * 4096).unwrap();
        let mut draws: Vec<Draw> = regions.into_iter().map(|region| Draw::new(&cell, region, 1)).collect();
        let taken: Vec<u64> = (0..6).map(|turn: usize| draws[turn % 2].next().offset / 4096).collect();
        assert_eq!(taken, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn parts_of_the_file_do_not_overlap() {
        assert_eq!(parts(1 << 20, 10_001, 1).collect::<Vec<_>>(), [(1 << 20, 10_001)], "one has all of it");
        assert_eq!(parts(4096, 5 * 4096, 2).collect::<Vec<_>>(), [(4096, 8192), (3 * 4096, 8192)]);
    }

    #[test]
    fn random_blocks_are_all_drawn_and_the_seed_decides() {
        let cell = cell("operation = 'mixed'\nread_percent = 70\nblock = '8KiB'\nthreads = 1");
        let draw = |seed: u64| {
            let region = Region::of(&cell, 4096, 64 * 8192).unwrap().remove(0);
            let mut draw = Draw::new(&cell, region, seed);
            (0..4000).map(|_| draw.next()).collect::<Vec<Next>>()
        };
        let drawn = draw(1);
        assert_eq!((&drawn, drawn == draw(2)), (&draw(1), false));
        let blocks: BTreeSet<u64> = drawn.iter().map(|next| (next.offset - 4096) / 8192).collect();
        assert_eq!(blocks, (0..64).collect());
        assert!(drawn.iter().all(|next| (next.offset - 4096).is_multiple_of(8192)));
        let reads = drawn.iter().filter(|next| !next.writes).count();
        assert!((reads as f64 / 4000.0 - 0.7).abs() < 0.03, "{reads}");
    }
}
