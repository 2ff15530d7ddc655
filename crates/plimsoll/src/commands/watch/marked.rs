//! `plimsoll watch mark`: a moment gets a name, such as that of a release, and is a time for the other commands from then on.

use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_measurement::exit;
use plimsoll_measurement::foreign::plain;
use plimsoll_store::Happened;

use super::ranges::{self, shown};
use super::stored::{Kept, MARK};
use crate::args::WatchMark;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// A mark is a name and no story.
const LONGEST: usize = 100;

pub fn mark(options: &WatchMark, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let text = plain(options.text.trim());
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
    // That it is there is found out before the store is opened to write, which would make one.
    let kept = Kept::find(options.target.as_deref(), settings)?;
    let clock = RealClock::new();
    let at_us = clock.timestamp(clock.now()).as_microsecond();
    let happened = Happened { from_us: at_us, to_us: at_us, kind: MARK.to_owned(), note: text.clone() };
    plimsoll_store::ProfileStore::of(settings.open_store()?).note(kept.watched.number, &happened)?;
    printer.result(&format!("'{text}' is {} at {}.", shown(at_us), kept.watched.target));
    printer.remark(&format!("What changed since then: plimsoll watch compare '..{text}' '{text}..'"));
    Ok(exit::DONE)
}
