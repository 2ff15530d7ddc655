//! The load generator: requests of several kinds, by weight, from many sessions, as fast as they are answered or on a
//! schedule, with times that count from when a request was meant to start.

pub mod client;
pub mod keys;
pub mod mix;
pub mod own;
pub mod phases;
pub mod recorder;
pub mod request;
pub mod rows;
pub mod schedule;
mod silence;
pub mod think;
pub mod watch;
pub mod worker;
