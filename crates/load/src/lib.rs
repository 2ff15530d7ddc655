//! The load engine. It runs operations of several kinds from many slots, as fast as they complete or on a schedule.
//! Times count from when an operation was meant to start. It knows no database: what an operation is, its [`lane`]
//! says.

pub mod arrivals;
pub mod client;
pub mod keys;
pub mod lane;
pub mod mix;
pub mod monitor;
pub mod phases;
pub mod recorder;
pub mod schedule;
pub mod search;
mod stall;
pub mod think;
pub mod worker;
