//! The workload profiler's arithmetic: cumulative counters of a server in, what happened between two looks out, with a status on
//! each figure and with what is not known said aloud.
//!
//! - [`snapshot`] is what a collector reads: rows of counters by the server's own row identity, and the stamps of the server.
//! - [`mod@diff`] turns what was known and a snapshot into a [`Slot`] of deltas. It is the only place where counters are subtracted.
//! - [`coverage`] says which share of the server's database time the deltas explain.
//! - [`ledger`] adds what runs between completions, and counts nothing twice.
//! - [`bucket`] sums slots by query, and rolls minutes up to hours; [`record`] is what is kept of them; [`mod@compare`] holds two ranges
//!   against each other.
//! - [`views`] makes rows of waits, files and other counters; [`counted`] sums them by name.
//!
//! Pure: no I/O, no clock, no randomness. Time is microseconds (`_us`): a moment of the server's clock since 1970 in UTC as `i64`, and a
//! duration or a counter as `u64`. What is unknown is absent, never zero. Rates are for whoever shows a figure: every figure has its
//! interval.

pub mod bucket;
pub mod compare;
pub mod counted;
pub mod coverage;
pub mod diff;
mod epoch;
pub mod known;
pub mod ledger;
pub mod record;
pub mod slot;
pub mod status;
pub mod views;

pub use plimsoll_measurement::counters::{
    Edge, Evictions, Item, Measure, Plan, Row, RowId, Server, Snapshot, Source, Total, Values, measure, snapshot,
};

pub use bucket::{Bucket, Sum, roll_up};
pub use compare::{Comparison, compare};
pub use counted::{AboutCounted, Counted};
pub use coverage::Coverage;
pub use diff::{Refusal, diff};
pub use known::{Changes, Head, KeptRow, Known};
pub use ledger::Ledger;
pub use record::{About, Blocker, Record, Sampled};
pub use slot::{Delta, Reason, Slot, Unknown};
pub use status::Status;
pub use views::Thing;
