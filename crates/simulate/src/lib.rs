//! A discrete-event model of a database server: what it delivers on other storage, with other sessions, or with another log.
//!
//! Pure: no I/O, no clock, no global randomness. A scenario and a seed give the same result, to the last bit. A [`scenario`] says what to
//! simulate, [`server`] is the model, [`grid`] puts replications together, and [`record`] makes a run record of them. [`calibrate`] makes
//! the demand from a measured run instead, and predicts it on other hardware. [`events`] is the
//! event loop, [`station`] a queue with servers, [`network`] queueing networks whose answers [`analytic`] knows exactly.
//! `docs/SIMULATE.md` explains the model and how far to trust it.

pub mod analytic;
mod answered;
pub mod calibrate;
pub mod events;
pub mod grid;
pub mod network;
pub mod random;
pub mod record;
pub mod scenario;
pub mod server;
pub mod station;
