//! `plimsoll watch mark`: a moment gets a name, such as that of a release, and is a time for the other commands from then on.

use std::sync::Arc;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_measurement::exit;
use plimsoll_measurement::foreign::plain;
use plimsoll_store::{Happened, ProfileStore, RunStore};

use super::ranges::{self, shown};
use super::stored::{Kept, MARK};
use crate::args::WatchMark;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// A mark is a name and no story.
pub const LONGEST: usize = 100;

pub fn mark(options: &WatchMark, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let text = name(&options.text)?;
    // That it is there is found out before the store is opened to write, which would make one.
    let kept = Kept::find(options.target.as_deref(), settings)?;
    let at_us = note(settings.open_store()?, kept.watched.number, &text, &RealClock::new())?;
    printer.result(&format!("'{text}' is {} at {}.", shown(at_us), kept.watched.target));
    printer.remark(&format!("What changed since then: plimsoll watch compare '..{text}' '{text}..'"));
    Ok(exit::DONE)
}

/// A text as the name of a moment.
///
/// # Errors
/// If it can't be one.
pub fn name(text: &str) -> Result<String, Failure> {
    let text = plain(text.trim());
    let wrong = |problem: &str| {
        Failure::usage(format!("a mark {problem}")).hint("plimsoll watch mark 'release 12' names the present moment")
    };
    if text.is_empty() {
        return Err(wrong("needs a text"));
    }
    if text.chars().count() > LONGEST {
        return Err(wrong(&format!("has {LONGEST} letters at most")));
    }
    if text.contains("..") || ranges::moment(&text, 0).is_ok() {
        return Err(wrong("is no time and no range: it stands for one in other commands"));
    }
    Ok(text)
}

/// Keeps the present moment under this name for what is watched under that number, and says when it is.
///
/// # Errors
/// If the store does not take it.
pub fn note(store: Arc<RunStore>, number: i64, text: &str, clock: &dyn Clock) -> Result<i64, Failure> {
    let at_us = clock.timestamp(clock.now()).as_microsecond();
    let happened = Happened { from_us: at_us, to_us: at_us, kind: MARK.to_owned(), note: text.to_owned() };
    ProfileStore::of(store).note(number, &happened)?;
    Ok(at_us)
}
