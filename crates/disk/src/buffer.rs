//! Memory for operations: aligned for `O_DIRECT`, and filled with what no device can compress.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// `O_DIRECT` asks for memory that begins at a multiple of the device's logical block, which is a page at most.
pub const ALIGNMENT: usize = 4096;

/// A write changes a number in every part of so many bytes, so that no two blocks on the device are alike.
const STAMP_EVERY: usize = 4096;

/// Buffers of one size, one for each slot of a lane.
#[derive(Debug)]
pub struct Buffers {
    memory: Vec<u8>,
    /// Where the first begins.
    first: usize,
    /// From the beginning of one to that of the next.
    stride: usize,
    bytes: usize,
    count: usize,
    /// The number of the last write.
    stamp: u64,
}

impl Buffers {
    /// So many buffers of so many bytes, with random content that depends on the seed alone.
    pub fn new(count: usize, bytes: usize, seed: u64) -> Self {
        let stride = bytes.next_multiple_of(ALIGNMENT);
        let mut memory = vec![0; stride * count + ALIGNMENT];
        // A vector's memory does not move as long as it does not grow, and this one never does.
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        fill(&mut memory[first..], seed);
        Self { memory, first, stride, bytes, count, stamp: seed }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The buffer of a slot.
    pub fn slot(&mut self, slot: usize) -> &mut [u8] {
        let from = self.first + slot * self.stride;
        &mut self.memory[from..from + self.bytes]
    }

    /// The same before it is written: what no write had before is in each of its pages.
    pub fn fresh(&mut self, slot: usize) -> &mut [u8] {
        self.stamp = self.stamp.wrapping_add(1);
        let stamp = self.stamp.to_le_bytes();
        let buffer = self.slot(slot);
        for page in buffer.chunks_mut(STAMP_EVERY) {
            let length = stamp.len().min(page.len());
            page[..length].copy_from_slice(&stamp[..length]);
        }
        buffer
    }
}

/// Fills memory with what depends on the seed alone and can't be compressed.
pub fn fill(memory: &mut [u8], seed: u64) {
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(memory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_apart_and_never_the_same() {
        let mut buffers = Buffers::new(3, 8192 + 512, 7);
        for slot in 0..3 {
            let buffer = buffers.slot(slot);
            assert_eq!((buffer.as_ptr().align_offset(ALIGNMENT), buffer.len()), (0, 8192 + 512));
        }
        let before = buffers.slot(1).to_vec();
        let (one, two) = (buffers.fresh(1).to_vec(), buffers.fresh(1).to_vec());
        for page in 0..3 {
            let part = |bytes: &[u8]| bytes[page * STAMP_EVERY..].iter().take(512).copied().collect::<Vec<u8>>();
            assert!(part(&one) != part(&two) && part(&one) != part(&before), "page {page}");
        }
        assert!(buffers.slot(0) == Buffers::new(3, 8192 + 512, 7).slot(0), "the seed alone decides");
        // As many bits are set as not: nothing to compress.
        let ones: u32 = before.iter().map(|byte| byte.count_ones()).sum();
        assert!((f64::from(ones) / (before.len() as f64 * 4.0) - 1.0).abs() < 0.02, "{ones}");
    }
}
