//! Inputs as bytes: valid ones with a few changes.

use crate::Random;

/// Inputs are no longer than this.
const LONGEST: usize = 1 << 16;

/// What numbers are replaced by: ends of ranges, and what only looks like a number.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1",
    "00",
    "0x10",
    "1e308",
    "1e-320",
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "-inf",
    "NaN",
    ".",
    "1.",
    ".5",
    "0.1",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
];
/// Signs that many formats are made of.
const SIGNS: &[&str] = &[
    "\"", "'", "`", "[", "]", "{", "}", "(", ")", "<", ">", ",", ";", ":", "/", "\\", "@", "%", "%zz", "%00", "%ff",
    "%", "=", "&", "?", "#", "--", "/*", "*/", "..", ".", "\n", "\r\n", "\t", " ", "\0", "\u{1f}", "\u{7f}", "é", "ß",
    "İ", "ſ", "\u{202e}", "😀", "e\u{301}", "\u{feff}", "\u{2028}",
];

/// One of the seeds with one to eight changes.
pub fn bytes(seeds: &[Vec<u8>], words: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.of(seeds).clone();
    for _ in 0..=random.below(8) {
        change(&mut input, seeds, words, random);
        input.truncate(LONGEST);
    }
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let until = at + random.below((input.len() - at + 1).min(32));
    match random.below(12) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.bits() as u8,
        2 => drop(input.drain(at..until)),
        3 => input.truncate(at),
        4 => {
            let part = input[at..until].to_vec();
            insert(input, at, &part);
        }
        // Seldom much of the same, as deep nesting and quadratic time show then only.
        5 if random.once_in(4) => {
            let part = input[at..until].to_vec();
            let times = 1 << random.below(13);
            insert(input, at, &part.repeat(times));
        }
        6 => {
            let other = random.of(seeds);
            let start = random.below(other.len() + 1);
            let end = start + random.below(other.len() - start + 1);
            insert(input, at, &other[start..end]);
        }
        7 if !words.is_empty() => insert(input, at, random.of::<Vec<u8>>(words)),
        8 | 9 => number(input, random),
        _ => insert(input, at, (*random.of(SIGNS)).as_bytes()),
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    input.splice(at..at, part.iter().copied());
}

/// Replaces one of the numbers in the input.
fn number(input: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (0..input.len())
        .filter(|at| input[*at].is_ascii_digit() && (*at == 0 || !input[*at - 1].is_ascii_digit()))
        .collect();
    let new = (*random.of(NUMBERS)).as_bytes();
    if starts.is_empty() {
        let at = random.below(input.len() + 1);
        return insert(input, at, new);
    }
    let start = *random.of(&starts);
    let end = (start..input.len()).find(|at| !input[*at].is_ascii_digit()).unwrap_or(input.len());
    input.splice(start..end, new.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_a_function_of_the_seed_and_differ() {
        let seeds = [b"postgres://me@host:5432/db?connect_timeout=10".to_vec(), Vec::new()];
        let words = [b"sslmode".to_vec()];
        let all: Vec<Vec<u8>> = (0..2000).map(|seed| bytes(&seeds, &words, &mut Random::new(seed))).collect();
        let again: Vec<Vec<u8>> = (0..2000).map(|seed| bytes(&seeds, &words, &mut Random::new(seed))).collect();
        assert_eq!(all, again);
        let distinct: std::collections::BTreeSet<&Vec<u8>> = all.iter().collect();
        assert!(distinct.len() > 1500, "{}", distinct.len());
        assert!(all.iter().any(|input| input.len() > 1000) && all.iter().all(|input| input.len() <= LONGEST));
    }
}
