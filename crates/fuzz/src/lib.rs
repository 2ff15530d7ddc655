//! Makes inputs out of valid ones and hands them to whatever reads them, which may refuse them but must not panic, overflow or
//! take long. The inputs are a function of the target's name and a seed, so a failure is found again.
//!
//! A target is an ordinary test, which tries few inputs. `cargo xtask fuzz` runs the same tests with many, by the variables
//! [`INPUTS`], [`SEED`], [`SECONDS`] and [`MEMORY_MB`].

pub mod json;
mod mutate;
mod outcome;
mod random;

use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;

use json::Mutated;
use outcome::Trial;
pub use random::Random;

/// Variable: how many inputs a target tries.
pub const INPUTS: &str = "PLIMSOLL_FUZZ_INPUTS";
/// Variable: another seed makes other inputs.
pub const SEED: &str = "PLIMSOLL_FUZZ_SEED";
/// Variable: seconds of CPU time that an input may take.
pub const SECONDS: &str = "PLIMSOLL_FUZZ_SECONDS";
/// Variable: MB of memory that the process may have taken in the end.
pub const MEMORY_MB: &str = "PLIMSOLL_FUZZ_MEMORY_MB";

/// Seconds of CPU time for an input where nothing else is said: much, as builds for tests are slow.
const USUAL_SECONDS: f64 = 20.0;

/// What is tried: valid inputs, and words that mean something in them.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    inputs: u64,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Target {
    /// A target that tries so many inputs as an ordinary test.
    pub fn new(name: &'static str, inputs: u64) -> Self {
        Self { name, inputs, seeds: Vec::new(), words: Vec::new() }
    }

    /// Valid inputs.
    #[must_use]
    pub fn seeds<T: AsRef<[u8]>>(mut self, seeds: impl IntoIterator<Item = T>) -> Self {
        self.seeds.extend(seeds.into_iter().map(|seed| seed.as_ref().to_vec()));
        self
    }

    /// Each line of a text as a valid input, but for lines that begin with `#`.
    #[must_use]
    pub fn lines(self, text: &str) -> Self {
        self.seeds(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')))
    }

    /// Each line of a text as a valid input: a word and hexadecimal digits. The place of the word in `words` is the
    /// first byte, and the digits are further bytes.
    ///
    /// # Panics
    /// If a line is none.
    #[must_use]
    pub fn answers(self, text: &str, words: &[&str]) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        self.seeds(lines.map(|line| {
            let (word, digits) = line.split_once(' ').unwrap_or_else(|| panic!("no word: {line}"));
            let place = words.iter().position(|known| *known == word).unwrap_or_else(|| panic!("unknown: {word}"));
            let byte =
                |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or_else(|error| panic!("{error}: {line}"));
            let mut seed = vec![place as u8];
            seed.extend((0..digits.len()).step_by(2).map(byte));
            seed
        }))
    }

    /// Each file of a folder with this ending in its name, as a valid input.
    ///
    /// # Panics
    /// If the folder can't be read.
    #[must_use]
    pub fn files(self, folder: &Path, end: &str) -> Self {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(end));
        paths.sort();
        self.seeds(paths.iter().filter_map(|path| fs::read(path).ok()))
    }

    /// Words that get into inputs.
    #[must_use]
    pub fn words<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_bytes().to_vec()));
        self
    }

    /// Tries bytes. The seeds are tried first as they are.
    pub fn bytes(&self, check: impl Fn(&[u8])) {
        let mut trial = self.trial();
        for seed in &self.seeds {
            trial.bytes(seed, &check);
        }
        for number in 0..self.count() {
            let mut random = self.random(number);
            let input = mutate::bytes(&self.seeds, &self.words, &mut random);
            trial.bytes(&input, &check);
        }
        trial.end();
    }

    /// Tries texts.
    pub fn texts(&self, check: impl Fn(&str)) {
        self.bytes(|bytes| check(&String::from_utf8_lossy(bytes)));
    }

    /// Tries JSON values, which the seeds have to be.
    ///
    /// # Panics
    /// If a seed is no JSON.
    pub fn values(&self, check: impl Fn(&Value)) {
        let seeds: Vec<Value> =
            self.seeds.iter().map(|seed| serde_json::from_slice(seed).expect("a seed is JSON")).collect();
        let mut trial = self.trial();
        for seed in &seeds {
            trial.value(&Mutated { value: seed.clone(), changes: Vec::new() }, &check);
        }
        for number in 0..self.count() {
            let mut random = self.random(number);
            trial.value(&json::mutated(&seeds, &mut random), &check);
        }
        trial.end();
    }

    fn trial(&self) -> Trial {
        assert!(!self.seeds.is_empty(), "{} has no valid inputs", self.name);
        let number = |name: &str| env::var(name).ok()?.parse::<f64>().ok();
        Trial::new(self.name, number(SECONDS).unwrap_or(USUAL_SECONDS), number(MEMORY_MB))
    }

    fn count(&self) -> u64 {
        env::var(INPUTS).ok().and_then(|inputs| inputs.parse().ok()).unwrap_or(self.inputs)
    }

    /// Each input has a generator of its own, so that it is the same however many there are before it.
    fn random(&self, number: u64) -> Random {
        let seed = env::var(SEED).ok().and_then(|seed| seed.parse::<u64>().ok()).unwrap_or(0);
        let name = self.name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Random::new(name.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}
