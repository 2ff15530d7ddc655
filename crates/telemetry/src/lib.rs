//! What the engine and the machine say about themselves while a test runs.
//!
//! [`host`] reads the machine, when the server is on it or when it is about ourselves: cumulative counters, each with the window in
//! which it was read. [`deltas`] turns two readings into rates and use of limits. Nothing here has a thread or a schedule of its own.

pub mod deltas;
pub mod host;
