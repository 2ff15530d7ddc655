//! Who watches a run: the store that keeps each finished point, and whatever shows progress. The binary wires them.

use plimsoll_engine::Result;
use plimsoll_measurement::{Point, Repetition, RunRecord};

/// How far a piece of long work is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress<'a> {
    /// What is done: "loading table3", "repetition b".
    pub activity: &'a str,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all; 0 where that isn't known.
    pub total: u64,
}

/// How requests go at a moment, about once a second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Live<'a> {
    /// What is tried at the moment: `200/s`, `4 sessions`; empty where there is nothing to choose.
    pub phase: &'a str,
    /// Seconds of the repetition that have passed.
    pub elapsed_seconds: f64,
    /// Seconds that it lasts; absent where that isn't known.
    pub total_seconds: Option<f64>,
    /// Answers a second, since the last look.
    pub rate: f64,
    /// Response time that half of the requests since the last look did not exceed; absent if none was answered.
    pub latency_ms_p50: Option<f64>,
    /// The same for 99 in 100.
    pub latency_ms_p99: Option<f64>,
    /// Answers in all.
    pub answered: u64,
    /// Failed requests in all.
    pub failed: u64,
    /// Requests that are due and not begun; absent without a schedule.
    pub backlog: Option<u64>,
    /// Sessions that have lost the server at the moment.
    pub lost_sessions: u64,
}

/// Hears of a run's progress. An error stops the run: a point that can't be kept must not be followed by another.
pub trait Observer {
    /// The run exists; nothing has been measured.
    fn run_started(&mut self, run: &RunRecord) -> Result<()>;

    /// Something else is being done now.
    fn activity(&mut self, text: &str);

    /// The present activity has come this far.
    fn progress(&mut self, progress: &Progress<'_>);

    /// Requests go like this now.
    fn live(&mut self, live: &Live<'_>) {
        let _ = live;
    }

    /// A repetition has begun (without points) or ended.
    fn repetition(&mut self, run_id: &str, repetition: &Repetition) -> Result<()>;

    /// A point is finished. It must be on disk when this returns.
    fn point(&mut self, run_id: &str, repetition: &str, point: &Point) -> Result<()>;

    /// The run has ended, well or not.
    fn run_finished(&mut self, run: &RunRecord) -> Result<()>;
}

/// Nobody watches.
#[derive(Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn run_started(&mut self, _: &RunRecord) -> Result<()> {
        Ok(())
    }
    fn activity(&mut self, _: &str) {}
    fn progress(&mut self, _: &Progress<'_>) {}
    fn repetition(&mut self, _: &str, _: &Repetition) -> Result<()> {
        Ok(())
    }
    fn point(&mut self, _: &str, _: &str, _: &Point) -> Result<()> {
        Ok(())
    }
    fn run_finished(&mut self, _: &RunRecord) -> Result<()> {
        Ok(())
    }
}
