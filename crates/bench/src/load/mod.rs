//! The load generator: requests of several kinds, by weight, from many sessions, as fast as they are answered or on a
//! schedule, with times that count from when a request was meant to start.

pub mod keys;
pub mod mix;
pub mod recorder;
pub mod schedule;
pub mod worker;
