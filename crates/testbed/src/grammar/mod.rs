//! An independent grammar of T-SQL: sqlfluff's dialect in a process of Python, with rules of ours for what that dialect lets pass.
//! The reserved words, types and limits are those of Microsoft's documentation (`data/tsql`).
//!
//! Parsing takes milliseconds a text, so verdicts are kept: in memory, and in a file beside the grammar. `cargo xtask test` puts
//! the grammar into its folder.

mod facts;
mod offence;
mod parser;
mod place;
mod verdicts;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::TestbedError;
pub use facts::{Facts, Gap};
pub use offence::Offence;
use parser::Parser;
pub use place::{FOLDER, Place};
use verdicts::{Verdicts, key};

/// Processes that parse, as many as CI has cores.
const PARSERS: usize = 2;

/// The grammar of this process.
#[derive(Debug)]
pub struct Grammar {
    place: Place,
    parsers: [Mutex<Option<Parser>>; PARSERS],
    next: AtomicUsize,
    verdicts: Verdicts,
    parsed: AtomicUsize,
}

/// The one that all tests of a process share. Its processes end when ours does, as their input ends then.
static SHARED: Mutex<Option<Arc<Grammar>>> = Mutex::new(None);

impl Grammar {
    /// The grammar, which all tests of a process share.
    ///
    /// # Errors
    /// If it is not in its folder.
    pub fn shared() -> Result<Arc<Self>, TestbedError> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grammar) = shared.as_ref() {
            return Ok(Arc::clone(grammar));
        }
        let grammar = Arc::new(Self::of(Place::find()?));
        *shared = Some(Arc::clone(&grammar));
        Ok(grammar)
    }

    /// The grammar of a place.
    fn of(place: Place) -> Self {
        let verdicts = Verdicts::of(&place);
        Self { place, parsers: Default::default(), next: AtomicUsize::new(0), verdicts, parsed: AtomicUsize::new(0) }
    }

    /// What is wrong with a text that is sent as one batch; nothing for one that is well.
    ///
    /// # Errors
    /// If the grammar can't be started or ended by itself.
    pub fn check(&self, sql: &str) -> Result<Vec<Offence>, TestbedError> {
        let key = key(sql);
        if let Some(known) = self.verdicts.get(key) {
            return Ok(known);
        }
        let found = self.parse(sql)?;
        self.verdicts.keep(key, &found);
        Ok(found)
    }

    /// The same for many texts, by all processes at once; the answers are in the order of the texts.
    ///
    /// # Errors
    /// As [`Grammar::check`].
    pub fn check_all(&self, texts: &[String]) -> Result<Vec<Vec<Offence>>, TestbedError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(text) = texts.get(at) else { return Ok(found) };
                found.push((at, self.check(text)?));
            }
        };
        let parts: Result<Vec<Vec<_>>, TestbedError> = thread::scope(|scope| {
            let threads: Vec<_> = (0..PARSERS).map(|_| scope.spawn(work)).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(TestbedError::Grammar("a thread ended by itself".to_owned())))
            };
            threads.into_iter().map(join).collect()
        });
        let mut all: Vec<_> = parts?.into_iter().flatten().collect();
        all.sort_by_key(|(at, _)| *at);
        Ok(all.into_iter().map(|(_, found)| found).collect())
    }

    /// Texts that had to be parsed so far, as no verdict on them was kept.
    pub fn parsed(&self) -> usize {
        self.parsed.load(Ordering::Relaxed)
    }

    /// Has a process parse a text: one that is free, if there is one.
    fn parse(&self, sql: &str) -> Result<Vec<Offence>, TestbedError> {
        self.parsed.fetch_add(1, Ordering::Relaxed);
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % PARSERS;
        let free = self.parsers.iter().find_map(|parser| parser.try_lock().ok());
        let mut parser = free.unwrap_or_else(|| self.parsers[turn].lock().unwrap_or_else(PoisonError::into_inner));
        // One that has failed is not asked again.
        let mut running = match parser.take() {
            Some(running) => running,
            None => Parser::start(&self.place)?,
        };
        let found = running.check(sql)?;
        *parser = Some(running);
        Ok(found)
    }
}

/// The reserved words of T-SQL, as documented.
pub fn reserved_words() -> BTreeSet<String> {
    Facts::documented().reserved.into_iter().collect()
}

/// Statements that the dialect does not know and that are held against a form instead.
pub fn gaps() -> Vec<Gap> {
    Facts::documented().gaps
}
