//! Verdicts that were reached before: in memory, and in a file that the tests of all processes share.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::facts::Facts;
use super::offence::Offence;
use super::parser;
use super::place::Place;

/// How the names of all that is ours begin. What follows differs from run to run.
const OURS: &str = "plimsoll_";

/// A text by its hash: of texts that differ in names of ours only, one is parsed.
pub(super) fn key(sql: &str) -> u128 {
    let mut text = String::with_capacity(sql.len());
    let mut parts = sql.split(OURS);
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        text.push_str(OURS);
        text.push_str(part.trim_start_matches(|sign: char| sign.is_ascii_alphanumeric() || sign == '_'));
    }
    xxh3_128(text.as_bytes())
}

#[derive(Debug)]
pub(super) struct Verdicts {
    /// Its name holds all that verdicts depend on.
    file: PathBuf,
    known: Mutex<HashMap<u128, Vec<Offence>>>,
}

impl Verdicts {
    /// Those of a grammar.
    pub(super) fn of(place: &Place) -> Self {
        let texts = [parser::SCRIPT, Place::REQUIREMENTS].into_iter().chain(Facts::TEXTS);
        let on = texts.fold(String::new(), |mut on, text| {
            // Writing to a String can't fail.
            let _ = write!(on, "{:016x}", xxh3_64(text.as_bytes()));
            on
        });
        Self::in_file(place.file(&format!("verdicts-{:016x}", xxh3_64(on.as_bytes()))))
    }

    fn in_file(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        // A line that was cut short is none.
        let known = text.lines().filter_map(|line| {
            let (key, found) = line.split_once(' ')?;
            Some((u128::from_str_radix(key, 16).ok()?, serde_json::from_str(found).ok()?))
        });
        Self { known: Mutex::new(known.collect()), file }
    }

    pub(super) fn get(&self, key: u128) -> Option<Vec<Offence>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    pub(super) fn keep(&self, key: u128, found: &[Offence]) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.to_vec());
        let line = serde_json::to_string(found).map(|found| format!("{key:032x} {found}\n")).unwrap_or_default();
        // Without the file the text is parsed again next time. A line is written at once, as other processes write too.
        let file = OpenOptions::new().append(true).create(true).open(&self.file);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_names_of_ours_only_are_one() {
        let one = key("DROP TABLE [plimsoll_run_0a1b].[t], [plimsoll_run_0a1b].[u]");
        assert_eq!(one, key("DROP TABLE [plimsoll_data_ff].[t], [plimsoll_run_7].[u]"));
        assert_ne!(one, key("DROP TABLE [plimsoll_run_0a1b].[t], [plimsoll_run_0a1b].[v]"));
        assert_ne!(one, key("DROP TABLE [plimsoll_run-0a1b].[t], [plimsoll_run_0a1b].[u]"));
        assert_ne!(key(""), key(OURS));
    }

    #[test]
    fn verdicts_are_found_again_and_a_line_that_was_cut_short_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verdicts");
        let offence = Offence {
            line: 1,
            position: 7,
            near: "'".to_owned(),
            is_keyword: false,
            what: "a quote is missing".to_owned(),
        };
        let verdicts = Verdicts::in_file(file.clone());
        verdicts.keep(1, &[]);
        verdicts.keep(2, std::slice::from_ref(&offence));
        verdicts.keep(3, &[]);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() - 2]).unwrap();
        let again = Verdicts::in_file(file);
        assert_eq!((again.get(1), again.get(2), again.get(3)), (Some(Vec::new()), Some(vec![offence]), None));
    }
}
