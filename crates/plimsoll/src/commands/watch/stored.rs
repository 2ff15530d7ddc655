//! What is kept of a target, as the commands that show it read it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use plimsoll_engine::{QueryText, Target};
use plimsoll_measurement::Basis;
use plimsoll_measurement::counters::Item;
use plimsoll_profile::Record;
use plimsoll_store::{Filter, Happened, Profile, ProfileStore, RunStore, RunSummary, Text};

use super::plans::Plans;
use super::ranges;
use super::reopened::{Place, Reopened};
use super::sums::Sums;
use crate::args::WatchSource;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// The kind of an event that somebody set.
pub const MARK: &str = "mark";

/// Where what was watched is read from.
enum Source {
    Store(Arc<RunStore>, ProfileStore),
    Saved(Box<Reopened>),
}

/// A target that was watched, and where that is kept.
pub struct Kept {
    source: Source,
    pub watched: Profile,
    /// From and to, in microseconds.
    pub whole: Range<i64>,
    pub texts: BTreeMap<Item, QueryText>,
}

/// All that was watched.
pub fn all(settings: &Settings) -> Result<(Arc<RunStore>, Vec<Profile>), Failure> {
    let store = settings.read_store()?;
    let watched = ProfileStore::of(Arc::clone(&store)).watched()?;
    Ok((store, watched))
}

impl Kept {
    /// The target that is meant: the one of this URL, or the one that was watched last.
    pub fn find(wanted: Option<&str>, settings: &Settings) -> Result<Self, Failure> {
        let (runs, mut watched) = all(settings)?;
        let store = ProfileStore::of(Arc::clone(&runs));
        watched.retain(|one| one.span_us.is_some());
        let nothing = |message: String| {
            Failure::usage(message)
                .hint("'plimsoll watch list' lists what was watched; 'plimsoll watch URL' watches a server")
        };
        let name = wanted.map(|wanted| {
            Target::parse(wanted).map_or_else(|_| wanted.to_owned(), |target| target.display().to_owned())
        });
        let found = match &name {
            None => watched.into_iter().next(),
            Some(name) => watched.into_iter().find(|one| one.target == *name),
        };
        let Some(watched) = found else {
            return Err(nothing(
                name.map_or_else(|| "nothing was watched yet".to_owned(), |name| format!("nothing is kept of {name}")),
            ));
        };
        let (from_us, to_us) = watched.span_us.unwrap_or_default();
        let text = |Text { item, database, text, object }| (item, QueryText { item, database, text, object });
        let texts = store.texts(watched.number)?.into_iter().map(text).collect();
        Ok(Self { source: Source::Store(runs, store), watched, whole: from_us..to_us, texts })
    }

    /// The same of what options name: a file that was exported, tables that slots were saved in, or the store.
    pub fn open(
        wanted: Option<&str>,
        from: &WatchSource,
        settings: &Settings,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let Some(place) = Place::open(from, settings, printer)? else { return Self::find(wanted, settings) };
        let (saved, target, texts) = place.choose(wanted, from)?;
        let whole = saved.span_us();
        let watched = Profile {
            number: 0,
            target,
            engine: String::new(),
            span_us: Some((whole.start, whole.end)),
            covered_us: 0,
            statements: texts.len() as u64,
        };
        Ok(Self { source: Source::Saved(Box::new(saved)), watched, whole, texts })
    }

    /// Whether it is a file or a table, which have less than the store.
    pub const fn is_reopened(&self) -> bool {
        matches!(self.source, Source::Saved(_))
    }

    /// A moment: a time, or the text of a mark.
    pub fn moment(&self, text: &str) -> Result<i64, Failure> {
        ranges::moment(text, self.whole.end).or_else(|wrong| self.marked(text)?.ok_or(wrong))
    }

    /// `FROM..TO`, where either may be missing.
    pub fn range(&self, text: &str) -> Result<Range<i64>, Failure> {
        ranges::range(text, &self.whole, |text| self.moment(text))
    }

    /// When a mark was set, the last of that text.
    fn marked(&self, text: &str) -> Result<Option<i64>, Failure> {
        let Source::Store(_, store) = &self.source else { return Ok(None) };
        let events = store.events(self.watched.number, (i64::MIN, i64::MAX))?;
        let mark = events.into_iter().rfind(|event| event.kind == MARK && event.note == text.trim());
        Ok(mark.map(|mark| mark.from_us))
    }

    /// The sums of a range and what is known of plans, without statements that a filter leaves out.
    pub fn sums(&self, range: &Range<i64>, is_meant: impl Fn(Item) -> bool) -> Result<(Sums, Plans), Failure> {
        let (mut all, mut plans) = (Sums::default(), Plans::default());
        self.records(range, |record| {
            all.add(&Sums::of_record(&record));
            plans.add(&record);
        })?;
        all.keep_only(&is_meant);
        plans.keep_only(is_meant);
        Ok((all, plans))
    }

    /// Each record of a range.
    pub fn records(&self, range: &Range<i64>, each: impl FnMut(Record)) -> Result<(), Failure> {
        match &self.source {
            Source::Store(_, store) => Ok(store.records(self.watched.number, (range.start, range.end), each)?),
            Source::Saved(saved) => saved.records(range, each),
        }
    }

    /// When each statement was first seen, in microseconds; `None` where that is not known.
    pub fn first_seen(&self) -> Result<Option<Vec<(Item, i64)>>, Failure> {
        match &self.source {
            Source::Store(_, store) => Ok(Some(store.first_seen(self.watched.number)?)),
            Source::Saved(_) => Ok(None),
        }
    }

    /// What the server counted of waits, files and its other work in a range, record by record. Files and tables have statements alone.
    pub fn counted(&self, range: &Range<i64>) -> Result<Vec<Record>, Failure> {
        match &self.source {
            Source::Store(_, store) => Ok(store.counted(self.watched.number, (range.start, range.end))?),
            Source::Saved(_) => Ok(Vec::new()),
        }
    }

    /// What happened in a range, and which runs in the same store measured the server then, in order.
    pub fn events(&self, range: &Range<i64>) -> Result<Vec<Happened>, Failure> {
        let Source::Store(runs, store) = &self.source else { return Ok(Vec::new()) };
        let mut all = store.events(self.watched.number, (range.start, range.end))?;
        let filter = Filter { target: Some(self.watched.target.clone()), ..Filter::default() };
        let runs = runs.summaries(&filter)?;
        all.extend(runs.into_iter().filter_map(mark).filter(|run| run.from_us < range.end && run.to_us > range.start));
        all.sort_by_key(|one| one.from_us);
        Ok(all)
    }
}

/// A run as something that happened at the server. One that was killed, or goes on, is known by its beginning alone.
fn mark(run: RunSummary) -> Option<Happened> {
    let from_us = ranges::moment(&run.started_at, 0).ok()?;
    let to_us = run.ended_at.and_then(|at| ranges::moment(&at, 0).ok()).unwrap_or(from_us + 1);
    let label = run.label.map(|label| format!(", {label}")).unwrap_or_default();
    (run.basis == Basis::Measured).then(|| Happened {
        from_us,
        to_us,
        kind: "run".to_owned(),
        note: format!("{}{label} ({})", run.test, run.run_id),
    })
}
