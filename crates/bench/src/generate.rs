//! Test rows from a seed. Every row depends on (seed, table, key) alone, so any part of a table can be made again. That serves to
//! go on with an interrupted load, or to verify a segment of a kept one.

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{Result, Row, RowSource, Value};
use plimsoll_load::keys::{below, unit};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use crate::schema::Width;

/// Which columns a generator fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// [`crate::schema::family`].
    Typed(Width),
    /// [`crate::schema::cpu`].
    Cpu,
}

/// The rows of one table with keys from `next` to `last`.
#[derive(Debug, Clone)]
pub struct Rows {
    family: Family,
    stream: u64,
    next: u64,
    last: u64,
}

impl Rows {
    /// The rows `first..=last` of table number `table` under `seed`.
    pub fn new(family: Family, seed: u64, table: u64, first: u64, last: u64) -> Self {
        Self { family, stream: mix(mix(seed) ^ table), next: first, last }
    }

    /// Fills the next row; false after the last.
    pub fn fill(&mut self, row: &mut Row) -> bool {
        if self.next > self.last {
            return false;
        }
        let key = self.next;
        self.next += 1;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(mix(self.stream ^ key));
        row.clear();
        row.push(Value::Int(key as i32));
        match self.family {
            Family::Typed(width) => typed(&mut random, row, width),
            Family::Cpu => cpu(&mut random, row),
        }
        true
    }

    /// What is in the rows that are left.
    pub fn summary(mut self) -> RowSummary {
        let (mut row, mut summary) = (Row::default(), RowSummary::default());
        while self.fill(&mut row) {
            summary.add(&mut row);
        }
        summary
    }
}

impl RowSource for Rows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        Ok(self.fill(row))
    }
}

/// Ranges follow the published scan predicate, which most rows meet but not all: `TinyInt1` between 10 and 240,
/// `Int3` between 100,000 and 2,000,000,000, `Money2` between 0 and 10,000,000.
fn typed(random: &mut Xoshiro256PlusPlus, row: &mut Row, width: Width) {
    let small = random.next_u64();
    for bit in 0..4 {
        row.push(Value::Bit(small >> bit & 1 == 1));
    }
    row.push(Value::TinyInt((small >> 8) as u8));
    row.push(Value::TinyInt((small >> 16) as u8));
    row.push(Value::SmallInt((small >> 24) as i16));
    row.push(Value::SmallInt((small >> 40) as i16));
    let (one, two, three) = (random.next_u64(), random.next_u64(), random.next_u64());
    row.push(Value::Int(one as i32));
    row.push(Value::Int((one >> 32) as i32));
    row.push(Value::Int((two as u32 >> 1) as i32));
    row.push(Value::Int((two >> 32) as i32));
    row.push(Value::Int((three >> 32) as i32));
    row.push(Value::Float(unit(random) * 1e6));
    row.push(Value::Float((unit(random) - 0.5) * 1e12));
    row.push(Value::Money(below(random, 2_000_000_000_000) as i64 - 1_000_000_000_000));
    row.push(Value::Money(below(random, 105_000_000_000) as i64));
    row.push(Value::Money(below(random, 2_000_000) as i64 - 1_000_000));
    // 2000-01-01 to about 2030, and a narrower range, in milliseconds.
    row.push(Value::DateTime(946_684_800_000 + below(random, 946_080_000_000) as i64));
    row.push(Value::DateTime(1_388_534_400_000 + below(random, 31_536_000_000) as i64));
    let lengths = random.next_u64();
    for column in 0..4 {
        let (shortest, longest) = width.text_bytes();
        let span = u64::from(longest - shortest) + 1;
        let length = u64::from(shortest) + (((lengths >> (16 * column) & 0xffff) * span) >> 16);
        // Room for the width's longest text and the ten characters of a last draw.
        row.push_text(|buffer| match width {
            Width::Seeds => push_text::<130>(random, length as usize, buffer),
            Width::Wide => push_text::<320>(random, length as usize, buffer),
        });
    }
}

/// The published join condition on integers that cannot overflow 32 bits (reference, A14).
fn cpu(random: &mut Xoshiro256PlusPlus, row: &mut Row) {
    for span in [1_000, 1_000, 1_000_000, 1_000_000] {
        row.push(Value::Int(below(random, 2 * span + 1) as i32 - span as i32));
    }
    row.push(Value::Int(below(random, 1_000_001) as i32));
}

/// Letters and digits with two signs that need no quoting anywhere: 64 characters, six bits each, so that text does
/// not compress below three quarters of its size.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Two characters for every twelve bits.
const PAIRS: [[u8; 2]; 4096] = {
    let mut pairs = [[0; 2]; 4096];
    let mut index = 0;
    while index < 4096 {
        pairs[index] = [ALPHABET[index >> 6], ALPHABET[index & 63]];
        index += 1;
    }
    pairs
};

fn push_text<const ROOM: usize>(random: &mut Xoshiro256PlusPlus, length: usize, buffer: &mut String) {
    // Ten characters from each draw; what is too much is cut off.
    let mut text = [0_u8; ROOM];
    for ten in text.chunks_exact_mut(10).take(length.div_ceil(10)) {
        let mut bits = random.next_u64();
        for pair in ten.chunks_exact_mut(2) {
            pair.copy_from_slice(&PAIRS[(bits & 0xfff) as usize]);
            bits >>= 12;
        }
    }
    buffer.push_str(str::from_utf8(&text[..length]).unwrap_or_default());
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): spreads neighbouring seeds over all bits.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    fn row_summary(family: Family, seed: u64, table: u64, first: u64, last: u64) -> RowSummary {
        Rows::new(family, seed, table, first, last).summary()
    }

    const TYPED: Family = Family::Typed(Width::Seeds);

    #[test]
    fn a_row_has_the_stated_size_and_the_schemas_types() {
        let mut row = Row::default();
        for (width, name) in [Width::Seeds, Width::Wide].into_iter().zip(Width::NAMES) {
            assert_eq!((width.row_bytes().to_string().as_str(), Width::from_name(name)), (name, width));
            let row_summary = row_summary(Family::Typed(width), 1, 0, 1, 20_000);
            let mean = row_summary.content_bytes as f64 / row_summary.rows as f64;
            assert!((mean - width.row_bytes() as f64).abs() < 3.0, "{mean}");
            Rows::new(Family::Typed(width), 1, 0, 1, 1).fill(&mut row);
            assert_eq!(row.len(), schema::family("t", width).columns.len());
        }
        Rows::new(Family::Cpu, 1, 0, 1, 1).fill(&mut row);
        assert_eq!(row.len(), schema::cpu("t").columns.len());
    }

    /// Kept data sets and other engines rely on it: a seed's rows never change.
    #[test]
    fn a_seed_gives_the_same_rows_for_ever() {
        assert_eq!(format!("{:016x}", row_summary(TYPED, 1, 0, 1, 1000).checksum), "32f99aaaaec3a39a");
        assert_eq!(format!("{:016x}", row_summary(Family::Cpu, 1, 0, 1, 1000).checksum), "ff55e1cb155ca045");
    }

    #[test]
    fn parts_add_up_and_seeds_and_tables_differ() {
        let whole = row_summary(TYPED, 7, 3, 1, 500);
        let (a, b) = (row_summary(TYPED, 7, 3, 1, 200), row_summary(TYPED, 7, 3, 201, 500));
        assert_eq!(whole.checksum, a.checksum.wrapping_add(b.checksum));
        assert_ne!(whole.checksum, row_summary(TYPED, 8, 3, 1, 500).checksum);
        assert_ne!(whole.checksum, row_summary(TYPED, 7, 4, 1, 500).checksum);
    }

    #[test]
    fn the_scan_predicate_accepts_most_rows_and_rejects_some() {
        let (mut rows, mut row, mut met) = (Rows::new(TYPED, 1, 0, 1, 10_000), Row::default(), 0);
        while rows.fill(&mut row) {
            let (Value::TinyInt(tiny), Value::Int(int), Value::Money(money)) = (row.get(5), row.get(11), row.get(17))
            else {
                panic!("the columns have moved");
            };
            met += u32::from(
                (10..=240).contains(&tiny) && (100_000..=2_000_000_000).contains(&int) && money <= 100_000_000_000,
            );
        }
        assert!((7_000..9_000).contains(&met), "{met}");
    }

    #[test]
    fn the_join_matches_a_few_pairs_in_a_million() {
        let mut rows = Rows::new(Family::Cpu, 1, 0, 1, 2000);
        let (mut row, mut table) = (Row::default(), Vec::new());
        while rows.fill(&mut row) {
            let ints: Vec<i32> = row.values().map(|v| if let Value::Int(i) = v { i } else { 0 }).collect();
            table.push(ints);
        }
        let matches = table.iter().flat_map(|a| table.iter().map(move |b| (a, b))).filter(|(a, b)| {
            ((a[1] * b[2] + a[3]) - (b[1] * a[2] + b[4])).abs() < 17 && ((a[5] % 5).pow(3) - b[5] % 25).abs() < 7
        });
        let per_million = matches.count() as f64 / 4.0;
        assert!((1.0..20.0).contains(&per_million), "{per_million}");
    }
}
