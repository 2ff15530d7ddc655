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
    /// Seed of the file's content, where each write writes what belongs there and reads are checked.
    verified: Option<u64>,
}

impl Buffers {
    /// So many buffers of so many bytes, with random content that depends on the seed alone.
    pub fn new(count: usize, bytes: usize, seed: u64) -> Self {
        let stride = bytes.next_multiple_of(ALIGNMENT);
        let mut memory = vec![0; stride * count + ALIGNMENT];
        // A vector's memory does not move as long as it does not grow, and this one never does.
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        fill(&mut memory[first..], seed);
        Self { memory, first, stride, bytes, count, stamp: seed, verified: None }
    }

    /// The same, but writes have the content that belongs where they go, by the file's seed, and reads can be checked.
    #[must_use]
    pub fn verified(self, file_seed: u64) -> Self {
        Self { verified: Some(file_seed), ..self }
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

    /// The same before it is written, a part of it at each of these bytes of the file. What no write had before is in each of its pages,
    /// unless it is what belongs there.
    pub fn fresh(&mut self, slot: usize, offsets: &[u64]) -> &mut [u8] {
        if let Some(seed) = self.verified {
            let buffer = self.slot(slot);
            let part = buffer.len() / offsets.len();
            for (part, offset) in buffer.chunks_mut(part).zip(offsets) {
                place(part, seed, *offset);
            }
            return buffer;
        }
        self.stamp = self.stamp.wrapping_add(1);
        let stamp = self.stamp.to_le_bytes();
        let buffer = self.slot(slot);
        for page in buffer.chunks_mut(STAMP_EVERY) {
            let length = stamp.len().min(page.len());
            page[..length].copy_from_slice(&stamp[..length]);
        }
        buffer
    }

    /// The first part that is not what belongs there, after a read of the buffer from this byte of the file: its byte of the file. `None`
    /// if all is right, or if nobody can know.
    pub fn first_wrong(&mut self, slot: usize, offset: u64) -> Option<u64> {
        let seed = self.verified?;
        let mut page = [0; STAMP_EVERY];
        let mut at = offset;
        for read in self.slot(slot).chunks(STAMP_EVERY) {
            let right = &mut page[..read.len()];
            place(right, seed, at);
            if right != read {
                return Some(at);
            }
            at += read.len() as u64;
        }
        None
    }
}

/// Fills memory with what belongs at a byte of the test file: each page of the file has content of its own.
pub fn place(memory: &mut [u8], seed: u64, offset: u64) {
    let unit = STAMP_EVERY as u64;
    let (mut rest, mut at) = (memory, offset);
    while !rest.is_empty() {
        let (page, skipped) = (at / unit, (at % unit) as usize);
        let length = rest.len().min(STAMP_EVERY - skipped);
        let (part, after) = rest.split_at_mut(length);
        let of_page = seed ^ (page + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if length == STAMP_EVERY {
            fill(part, of_page);
        } else {
            let mut whole = [0; STAMP_EVERY];
            fill(&mut whole, of_page);
            part.copy_from_slice(&whole[skipped..skipped + length]);
        }
        (rest, at) = (after, at + length as u64);
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
    fn what_belongs_at_a_place_does_not_depend_on_how_it_is_read() {
        let mut all = vec![0; 4 * 4096];
        place(&mut all, 7, 8192);
        for (offset, length) in [(8192, 4096), (8192 + 512, 1024), (12_288 - 512, 5000), (8192 + 16_000, 384)] {
            let mut part = vec![0; length];
            place(&mut part, 7, offset as u64);
            assert!(part == all[offset - 8192..][..length], "{offset}");
        }
        let mut buffers = Buffers::new(2, 8192, 1).verified(7);
        assert_eq!(buffers.fresh(0, &[8192]), &all[..8192]);
        assert_eq!(buffers.fresh(1, &[16_384, 8192]), [&all[8192..12_288], &all[..4096]].concat());
        assert_eq!(
            (buffers.first_wrong(0, 8192), buffers.first_wrong(0, 0)),
            (None, Some(0)),
            "one block at two places"
        );
        buffers.slot(0)[5000] ^= 1;
        assert_eq!(buffers.first_wrong(0, 8192), Some(12_288), "the page with the wrong byte");
        assert_eq!(Buffers::new(1, 4096, 1).first_wrong(0, 0), None, "nobody knows");
    }

    #[test]
    fn buffers_are_aligned_apart_and_never_the_same() {
        let mut buffers = Buffers::new(3, 8192 + 512, 7);
        for slot in 0..3 {
            let buffer = buffers.slot(slot);
            assert_eq!((buffer.as_ptr().align_offset(ALIGNMENT), buffer.len()), (0, 8192 + 512));
        }
        let before = buffers.slot(1).to_vec();
        let (one, two) = (buffers.fresh(1, &[0]).to_vec(), buffers.fresh(1, &[0]).to_vec());
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
