//! Parameters that several kinds of steps know.

use std::time::Duration;

use super::{Kind, Parameter};
use crate::schema::Width;

/// Sizes and numbers beyond this are none.
pub const LARGEST: u64 = i64::MAX as u64;

/// The longest time that a parameter takes.
pub const DAY: Duration = Duration::from_hours(24);

/// How much is read, written or moved.
pub const VOLUME: Parameter = Parameter::new(
    "volume",
    Kind::Bytes(1 << 20, LARGEST),
    "Data content to read, write or transfer in a repetition. For requests: size of the tables at the start.",
)
.scaling();

/// How wide rows are.
pub const ROW: Parameter = Parameter::new(
    "row",
    Kind::Choice(&Width::NAMES),
    "Mean data content of a row in bytes. Wider rows have longer texts.",
);

/// How many tables there are.
pub const TABLES: Parameter = Parameter::new(
    "tables",
    Kind::Count(0, 100_000),
    "Number of tables that share the volume. 0 means one per GB, at least ten (for requests: one).",
);

/// Whether the cache is cold.
pub const CACHE: Parameter = Parameter::new(
    "cache",
    Kind::Choice(&["cold", "warm"]),
    "Whether each repetition starts with a cold cache (and verifies it) or with the cache as it is.",
);

/// How much a chunk writes.
pub const CHUNK: Parameter = Parameter::new(
    "chunk",
    Kind::Bytes(1 << 16, 1 << 40),
    "Data content that one INSERT ... SELECT writes in one transaction.",
)
.scaling();

/// What a chunk is copied from.
pub const SOURCE: Parameter = Parameter::new(
    "source",
    Kind::Bytes(1 << 14, 1 << 40),
    "Size of the cached table that chunks are copied from. It is halved until it fits into the cache.",
)
.scaling();

/// How many sessions work.
pub const SESSIONS: Parameter = Parameter::new(
    "sessions",
    Kind::Levels(0, 10_000),
    "Number of sessions that make requests or share a join. Several values are measured in turn. 0 means one, or one per CPU of \
     the server.",
);

/// What all chance comes from.
pub const SEED: Parameter =
    Parameter::new("seed", Kind::Count(0, LARGEST), "Seed of the test data and of every random choice.").or("1");
