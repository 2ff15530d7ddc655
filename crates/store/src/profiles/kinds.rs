//! What the profiles' part of the store takes and gives.

use plimsoll_profile::{Changes, Item, Record};

/// The lengths of buckets of the tiers above slots, in microseconds: a minute, a quarter of an hour, an hour.
pub const LENGTHS_US: [u64; 3] = plimsoll_profile::bucket::TIERS_US;

/// A slot shorter than this is kept for a short time only, and then as a part of its minute.
pub(crate) const MINUTE_US: u64 = LENGTHS_US[0];

const DAY_US: i64 = 24 * 3_600_000_000;

/// How long what is kept of a target is kept, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// By tier, in microseconds: slots shorter than a minute, minutes and longer slots, quarters of an hour, hours.
    pub us: [i64; 4],
    /// Ages are counted to no later moment than this, in microseconds since 1970: a server's clock may be wrong by years for a while, and
    /// what was kept of it before is not old by that.
    pub now_us: i64,
    /// About so many bytes of one target. Beyond that the finest and oldest goes first.
    pub most_bytes: u64,
    /// So many statements of each measure are listed in a quarter of an hour and in an hour; the others are an exact sum.
    pub top: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self { us: [DAY_US, 14 * DAY_US, 90 * DAY_US, 400 * DAY_US], now_us: i64::MAX, most_bytes: 512 << 20, top: 200 }
    }
}

/// A target that was watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its number in this store.
    pub number: i64,
    /// The target, without secrets.
    pub target: String,
    /// The engine.
    pub engine: String,
    /// From and to, in microseconds since 1970 by the server's clock; `None` if nothing is kept of it.
    pub span_us: Option<(i64, i64)>,
    /// Time of which figures are kept, in microseconds.
    pub covered_us: u64,
    /// Statements that were seen.
    pub statements: u64,
}

/// What is known of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The statement.
    pub item: Item,
    /// The database that it ran in.
    pub database: Option<String>,
    /// Its text, without values.
    pub text: Option<String>,
    /// The procedure or function that it stands in; empty for none, `None` where nobody says it.
    pub object: Option<String>,
}

/// Something that happened to the watching or to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// From when.
    pub from_us: i64,
    /// To when.
    pub to_us: i64,
    /// What, in a word.
    pub kind: String,
    /// What else is to say.
    pub note: String,
}

/// What is saved together: all of it, or nothing.
#[derive(Debug)]
pub struct Save<'s> {
    /// The number of the read that was saved last: if another process has saved meanwhile, nothing is.
    pub reads_before: u64,
    /// The number of the last read now.
    pub reads: u64,
    /// What changed of what is known.
    pub changes: &'s Changes,
    /// Slots that are not saved.
    pub records: &'s [Record],
    /// Texts that are not saved.
    pub texts: &'s [Text],
    /// Events that are not saved.
    pub events: &'s [Happened],
    /// What goes.
    pub keep: Keep,
}

/// A part of what is kept: a tier from one moment to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub tier: usize,
    /// Only what was rolled up, or only what was not; `None` for both.
    pub is_rolled: Option<bool>,
    pub from_us: i64,
    pub to_us: i64,
}
