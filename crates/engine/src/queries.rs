//! What a server has counted by statement, as a profiler reads it again and again.

mod counting;
mod sessions;
mod share;
mod values;

use plimsoll_measurement::Views;
use plimsoll_measurement::counters::{Edge, Item, Snapshot, Source};

use crate::error::Result;

pub use counting::Counting;
pub use sessions::{SeenSession, SessionSample, Wait, WaitClass};
pub use share::share_in_words;
pub use values::without_values;

/// What a statement's text says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryText {
    /// The statement.
    pub item: Item,
    /// The database that it ran in; `None` if that is gone.
    pub database: Option<String>,
    /// Its text with signs in place of values ([`without_values`]), cut after [`LONGEST_TEXT`] characters. `None` if the server has lost it.
    pub text: Option<String>,
    /// The procedure or function that it stands in; empty for one that stands in none. `None` where the server does not say it.
    pub object: Option<String>,
}

/// Plans of one kind in a server's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedPlans {
    /// What was planned, in the server's word.
    pub kind: String,
    /// How many there are.
    pub plans: u64,
    /// The memory that they take.
    pub bytes: u64,
    /// How often they were looked up, all together.
    pub uses: u64,
    /// How many of them were used once.
    pub once: u64,
    /// The memory that these take.
    pub once_bytes: u64,
}

/// What a server has counted of waits, files or other counters, and at both ends of the read what tells whether two such reads can be
/// compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedViews {
    /// Before the first row.
    pub start: Edge,
    /// After the last row.
    pub end: Edge,
    /// What was counted of the source that was asked for.
    pub views: Views,
}

/// Snapshots of a job at the server that wait to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub count: usize,
    /// From one to the next, as the job was asked for; `None` if none was ever made.
    pub every_us: Option<u64>,
}

/// So many characters of a text are read.
pub const LONGEST_TEXT: usize = 2_000;

/// So many texts are read at a time.
pub const MOST_TEXTS: usize = 100;

/// A reader of the server's own statistics of statements, over a connection of its own. After a loss it connects again at the next
/// reading.
pub trait QuerySampler: Send {
    /// Reads the counters of all statements, and what tells whether two reads can be compared, before the first and after the last.
    ///
    /// # Errors
    /// If the server is lost, or does not let us read any more. The next reading may work again.
    fn snapshot(&mut self) -> Result<Snapshot>;

    /// Statements of our own that readings are made by, so that whoever shows a workload can leave them out. Known after a reading.
    fn own(&self) -> Vec<Item>;

    /// What may spoil the readings, in a sentence each, with what mends it: as the last reading found it.
    fn warnings(&self) -> Vec<String>;

    /// How much of the work is in no row, though the server counts it, if that is worth a word: since the first reading, and after a single
    /// one since its counters began.
    fn unlisted(&self) -> Option<String> {
        None
    }

    /// Reads the texts of these statements; more than [`MOST_TEXTS`] are left out. It costs a server more than the counters do, so that
    /// it is asked for few of them.
    ///
    /// # Errors
    /// If the server is lost, or does not let us read any more.
    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>>;

    /// How many statements the server has room for, as the last reading found it; `None` where it does not say.
    fn room(&self) -> Option<u64> {
        None
    }

    /// What the server's cache of plans holds, by the kind of what was planned. Nothing where it does not say it.
    ///
    /// # Errors
    /// If the server is lost, or does not let us look.
    fn cached_plans(&mut self) -> Result<Vec<CachedPlans>> {
        Ok(Vec::new())
    }

    /// The snapshots of a job at the server that wait to be read, after the one that ended at this moment. `None` where each reading makes its own.
    ///
    /// # Errors
    /// If the server is lost, or what the job made can't be read.
    fn waiting(&mut self, read_us: Option<i64>) -> Result<Option<Waiting>> {
        let _ = read_us;
        Ok(None)
    }

    /// Whether it sees the statements of all programs, and not only of this one.
    fn sees_all(&self) -> bool {
        true
    }

    /// Reads all that the server has counted of waits, of files or of other counters, of whatever it does. `None` where it counts nothing of
    /// the kind, or does not let us see it.
    ///
    /// # Errors
    /// If the server is lost, or does not answer this question. Others may be answered.
    fn counted(&mut self, source: Source) -> Result<Option<CountedViews>> {
        let _ = source;
        Ok(None)
    }

    /// What all sessions do now. `None` where the engine does not say it.
    ///
    /// # Errors
    /// If the server is lost, or does not let us look any more.
    fn sessions(&mut self) -> Result<Option<SessionSample>> {
        Ok(None)
    }
}
