//! What a shell offers while somebody types an argument: names of tests, runs of the store, levels of the catalogue.
//!
//! The shell calls the program for it (`plimsoll completions SHELL` prints how). Nothing of it writes, and what can't be read offers nothing.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, PathCompleter, ValueCompleter as _};
use plimsoll_bench::definition;
use plimsoll_catalog::Catalog;
use plimsoll_engine::foreign::shown;
use plimsoll_store::{Filter, LATEST, RunStore};

use crate::settings::Settings;

/// The variable by which the shell's own function asks.
pub const VARIABLE: &str = "PLIMSOLL_COMPLETE";

/// So many runs are offered, the newest.
const MOST_RUNS: u32 = 50;

/// Tests and files with definitions.
pub fn tests() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let files = PathCompleter::file().filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
        let mut all = of(current, named());
        all.extend(files.complete(current));
        all
    })
}

/// Tests and groups of them by name.
pub fn names() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let groups = definition::groups().into_iter().map(|group| (group.name, "group of tests".to_owned()));
        of(current, named().chain(groups))
    })
}

/// Runs of the store: the last one, names that their users gave, ids.
pub fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| of(current, stored().into_iter()))
}

/// Levels that the lab has, as URLs.
pub fn targets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        of(current, levels().into_iter().map(|(name, title)| (format!("lab:{name}"), title)))
    })
}

/// Levels that the catalogue knows.
pub fn hardware() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| of(current, levels().into_iter()))
}

/// Those that go on as what is typed begins.
fn of(current: &OsStr, all: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let begun = current.to_string_lossy();
    // What stands in a store may be anybody's, and a shell puts it into the line as it is: what it would expand or run is not offered.
    let all = all.filter(|(value, _)| value.starts_with(&*begun) && value.chars().all(is_literal));
    all.map(|(value, about)| CompletionCandidate::new(value).help(Some(shown(&about).into()))).collect()
}

/// Whether every shell takes the letter for itself, wherever it stands.
fn is_literal(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '/' | ':' | '@' | '+')
}

fn named() -> impl Iterator<Item = (String, String)> {
    definition::builtin().into_iter().map(|definition| (definition.name, definition.title))
}

fn stored() -> Vec<(String, String)> {
    let store = Settings::of(None).ok().and_then(|settings| RunStore::open_to_read(&settings.store).ok());
    // Who types waits for nobody.
    if let Some(store) = &store {
        store.hurry();
    }
    let filter = Filter { limit: Some(MOST_RUNS), ..Filter::default() };
    let runs = store.and_then(|store| store.summaries(&filter).ok()).unwrap_or_default();
    let mut all: Vec<(String, String)> = Vec::new();
    for run in runs {
        let about = format!("{} on {}, {}", run.test, run.target, run.started_at);
        let names = run.label.into_iter().chain([run.run_id]);
        if all.is_empty() {
            all.push((LATEST.to_owned(), about.clone()));
        }
        for name in names {
            // Of runs with one name the newest is meant.
            if all.iter().all(|(other, _)| *other != name) {
                all.push((name, about.clone()));
            }
        }
    }
    all
}

fn levels() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for at in Catalog::builtin().into_iter().flat_map(Catalog::lab_levels) {
        let name = format!("{}/{}", at.edition.service, at.level.name);
        if all.iter().all(|(other, _)| *other != name) {
            all.push((name, at.level.tier.clone()));
        }
    }
    all
}
