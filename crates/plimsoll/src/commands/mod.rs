//! The commands, one module each (or one for those that share everything).

pub mod catalog;
pub mod clean;
pub mod compare;
mod condition;
pub mod definitions;
pub mod demo;
pub mod disk;
pub mod doctor;
pub mod generated;
pub mod history;
pub mod multiples;
pub mod plan;
pub mod report;
pub mod run;
pub mod runs;
pub mod self_test;
pub mod simulate;
pub mod thresholds;
pub mod verdicts;
pub mod verify;
pub mod watch;
