//! What was watched, beside the runs in the same file: slots with their sums, texts once, and what the next slot is subtracted from.
//!
//! A slot and the counters that it was subtracted to are one change. Whoever is killed between two changes goes on with a gap of its true
//! length, and no slot is there twice.

mod columns;
mod counted;
pub(crate) mod kinds;
mod read;
mod thin;
mod write;

use std::sync::Arc;

use plimsoll_profile::{Item, Known, Record};

use crate::{RunStore, StoreError};
use kinds::{Happened, Profile, Save, Text};
use write::Refused;

/// Profiles in the file of a run store.
#[derive(Debug, Clone)]
pub struct ProfileStore(Arc<RunStore>);

impl ProfileStore {
    /// Those in this store.
    pub const fn of(store: Arc<RunStore>) -> Self {
        Self(store)
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        StoreError::sqlite(self.0.path())
    }

    /// Everything that was watched, what was watched last first.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn watched(&self) -> Result<Vec<Profile>, StoreError> {
        self.0.look(|transaction| read::watched(transaction).map_err(self.failed()))
    }

    /// The number under which a target is kept, and what is known of it from the last time.
    ///
    /// # Errors
    /// If there is no room or no right to write.
    pub fn begin(&self, target: &str, engine: &str) -> Result<(i64, Known), StoreError> {
        self.0.change(|transaction| {
            write::begin(transaction, target, engine).map_err(self.failed())?;
            let known = read::known(transaction, target).map_err(self.failed())?;
            known.ok_or_else(|| StoreError::Overtaken(format!("{target} is not in the store")))
        })
    }

    /// Keeps slots with all that belongs to them: everything, or nothing. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] if another process saves slots of the same target; others if there is no room or no right to write.
    pub fn save(&self, number: i64, save: &Save<'_>) -> Result<(), StoreError> {
        let refused = |refused| match refused {
            Refused::Sqlite(error) => self.failed()(error),
            Refused::Document(error) => StoreError::unwritable(self.0.path(), error),
            Refused::Overtaken => StoreError::Overtaken("another process keeps slots of the same target".to_owned()),
        };
        self.0.change(|transaction| {
            write::save(transaction, number, save).map_err(refused)?;
            let starts = save.records.iter().map(|record| record.bucket.start_us);
            let ends = save.records.iter().map(|record| record.about.end_us);
            let Some((first_us, now_us)) = starts.min().zip(ends.max()) else { return Ok(()) };
            thin::thin(transaction, number, first_us, now_us, &save.keep).map_err(refused)
        })?;
        self.0.still_there()
    }

    /// Keeps something that happened, whoever keeps slots of the target. It is on disk when this returns.
    ///
    /// # Errors
    /// If there is no room or no right to write.
    pub fn note(&self, number: i64, happened: &Happened) -> Result<(), StoreError> {
        self.0.change(|transaction| write::event(transaction, number, happened).map_err(self.failed()))?;
        self.0.still_there()
    }

    /// Reads what statements and sessions did in a time, the finest that is kept, record by record: of one length in order of time.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn records(
        &self,
        number: i64,
        (from_us, to_us): (i64, i64),
        mut each: impl FnMut(Record),
    ) -> Result<(), StoreError> {
        self.0.look(|transaction| {
            let mut read = || -> rusqlite::Result<()> {
                let items = read::items(transaction, number)?;
                let kept = read::kept(transaction, number)?;
                let mut parts = read::parts(kept, from_us, to_us).into_iter();
                parts.try_for_each(|part| read::records(transaction, number, part, &items, &mut each))
            };
            read().map_err(self.failed())
        })
    }

    /// Reads what the server counted of waits, files and other counters in a time, the finest that there is, without what statements did: of
    /// one length in order of time.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn counted(&self, number: i64, (from_us, to_us): (i64, i64)) -> Result<Vec<Record>, StoreError> {
        self.0.look(|transaction| {
            let read = || -> rusqlite::Result<Vec<Record>> {
                let mut records = Vec::new();
                for part in read::parts(read::kept(transaction, number)?, from_us, to_us) {
                    records.extend(read::counted(transaction, number, part)?);
                }
                Ok(records)
            };
            read().map_err(self.failed())
        })
    }

    /// The texts of all statements of a target.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn texts(&self, number: i64) -> Result<Vec<Text>, StoreError> {
        self.0.look(|transaction| read::texts(transaction, number).map_err(self.failed()))
    }

    /// When each statement of a target was first seen, in microseconds since 1970: the begin of the slot.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn first_seen(&self, number: i64) -> Result<Vec<(Item, i64)>, StoreError> {
        self.0.look(|transaction| read::first_seen(transaction, number).map_err(self.failed()))
    }

    /// What happened in a time, in order.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn events(&self, number: i64, (from_us, to_us): (i64, i64)) -> Result<Vec<Happened>, StoreError> {
        self.0.look(|transaction| read::events(transaction, number, from_us, to_us).map_err(self.failed()))
    }
}
