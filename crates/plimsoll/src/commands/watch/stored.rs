//! What is kept of a target, as the commands that show it read it.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_engine::{QueryText, Target};
use plimsoll_measurement::counters::Item;
use plimsoll_profile::Record;
use plimsoll_store::{Happened, Profile, ProfileStore, Text};

use super::sums::Sums;
use crate::failure::Failure;
use crate::settings::Settings;

/// A target that was watched, and the store.
pub struct Kept {
    pub store: ProfileStore,
    pub watched: Profile,
    /// From and to, in microseconds.
    pub whole: Range<i64>,
    pub texts: BTreeMap<Item, QueryText>,
}

/// All that was watched.
pub fn all(settings: &Settings) -> Result<(ProfileStore, Vec<Profile>), Failure> {
    let store = ProfileStore::of(settings.read_store()?);
    let watched = store.watched()?;
    Ok((store, watched))
}

impl Kept {
    /// The target that is meant: the one of this URL, or the one that was watched last.
    pub fn find(wanted: Option<&str>, settings: &Settings) -> Result<Self, Failure> {
        let (store, mut watched) = all(settings)?;
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
        let text = |Text { item, database, text }| (item, QueryText { item, database, text });
        let texts = store.texts(watched.number)?.into_iter().map(text).collect();
        Ok(Self { store, watched, whole: from_us..to_us, texts })
    }

    /// The sums of a range, without statements that a filter leaves out.
    pub fn sums(&self, range: &Range<i64>, is_meant: impl Fn(Item) -> bool) -> Result<Sums, Failure> {
        let mut all = Sums::default();
        self.records(range, |record| all.add(&Sums::of_record(&record)))?;
        all.keep_only(is_meant);
        Ok(all)
    }

    /// Each record of a range.
    pub fn records(&self, range: &Range<i64>, each: impl FnMut(Record)) -> Result<(), Failure> {
        Ok(self.store.records(self.watched.number, (range.start, range.end), each)?)
    }

    /// What happened in a range.
    pub fn events(&self, range: &Range<i64>) -> Result<Vec<Happened>, Failure> {
        Ok(self.store.events(self.watched.number, (range.start, range.end))?)
    }
}
