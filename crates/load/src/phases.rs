//! What is tried in a repetition, one phase after another: each combination of the rates, numbers of sessions and sizes of
//! batches that are asked for, or a ramp.

use std::time::Duration;

use plimsoll_measurement::{LatencyHistogram, Phase as PhaseRecord, units};

use crate::recorder::{AllTimes, Recorder};
use crate::schedule::Rate;

/// A part of a repetition. What is tried in it are its coordinates; the label is for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// What is tried in it: `200/s`, `4 sessions, 1000 rows`; nothing where there is nothing to choose.
    pub label: Option<String>,
    /// Sessions that make requests.
    pub sessions: u64,
    /// Requests a second; without one each session makes the next when the last is answered.
    pub rate: Option<Rate>,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// How long requests are made.
    pub lasts: Duration,
}

/// The values that are tried: each of one with each of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Axes {
    /// Numbers of sessions, one at least.
    pub sessions: Vec<u64>,
    /// Rates; none if sessions follow no schedule.
    pub rates: Vec<Rate>,
    /// Rows of a batch, one number at least.
    pub batch_rows: Vec<u64>,
    /// How long each combination lasts.
    pub lasts: Duration,
}

/// So many phases has a grid at most: each takes as long as the duration says.
const MOST_PHASES: usize = 400;

impl Axes {
    /// The phases, one at least: those of the first number of sessions first, among them those of the first rate.
    ///
    /// # Errors
    /// A sentence if more than two axes have several values, or if there are too many combinations.
    pub fn phases(&self) -> Result<Vec<Phase>, String> {
        let lengths = [("sessions", self.sessions.len()), ("rate", self.rates.len()), ("batch", self.batch_rows.len())];
        let several: Vec<&str> = lengths.iter().filter(|(_, length)| *length > 1).map(|(name, _)| *name).collect();
        if several.len() > 2 {
            return Err(
                "'sessions', 'rate' and 'batch' all have several values; give one of them a single one".to_owned()
            );
        }
        let rates: Vec<Option<Rate>> =
            if self.rates.is_empty() { vec![None] } else { self.rates.iter().copied().map(Some).collect() };
        let count = self.sessions.len() * rates.len() * self.batch_rows.len();
        if count > MOST_PHASES {
            return Err(format!("{count} combinations of {} are more than {MOST_PHASES}", several.join(" and ")));
        }
        let mut phases = Vec::with_capacity(count);
        for sessions in &self.sessions {
            for rate in &rates {
                for &batch_rows in &self.batch_rows {
                    let (label, lasts) = (self.label(*sessions, *rate, batch_rows), self.lasts);
                    phases.push(Phase { label, sessions: *sessions, rate: *rate, batch_rows, lasts });
                }
            }
        }
        Ok(phases)
    }

    fn label(&self, sessions: u64, rate: Option<Rate>, batch_rows: u64) -> Option<String> {
        let counted = |count: u64, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let parts = [
            (self.sessions.len() > 1).then(|| counted(sessions, "session")),
            rate.filter(|rate| self.rates.len() > 1 || rate.is_ramp()).map(|rate| rate.to_string()),
            (self.batch_rows.len() > 1).then(|| counted(batch_rows, "row")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Phase {
    /// What it is called.
    pub fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| "all".to_owned())
    }

    /// What it came to, as a run keeps it.
    pub fn record(&self, recorder: &Recorder, started: f64, seconds: f64, backlog: Option<u64>) -> PhaseRecord {
        let sums = recorder.sums();
        let AllTimes { times, without_waits, uncorrected } = recorder.times();
        PhaseRecord {
            label: self.name(),
            started_seconds: started,
            seconds,
            sessions: self.sessions as u32,
            rate_asked: self.rate.map(Rate::mean),
            batch_rows: (self.batch_rows > 1).then_some(self.batch_rows),
            operations: sums.answered,
            drained: sums.drained,
            errors: sums.failed,
            rate: if seconds > 0.0 { sums.answered as f64 / seconds } else { 0.0 },
            mb_per_minute: units::mb_per_minute(sums.amount.content_bytes, seconds),
            backlog,
            times: times.to_data(),
            times_without_waits: without_waits.as_ref().map(LatencyHistogram::to_data),
            times_uncorrected: uncorrected.as_ref().map(LatencyHistogram::to_data),
            start_lag: recorder.lag.as_ref().map(|lag| lag.all.to_data()),
            holds: None,
        }
    }

    /// The same at another rate, for another time.
    #[must_use]
    pub fn at_rate(&self, rate: f64, lasts: Duration) -> Self {
        let rate = Rate::constant(rate);
        Self { label: Some(rate.to_string()), rate: Some(rate), lasts, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(sessions: &[u64], rates: &[Rate], batch_rows: &[u64]) -> Result<Vec<String>, String> {
        let (sessions, rates, batch_rows) = (sessions.to_vec(), rates.to_vec(), batch_rows.to_vec());
        let axes = Axes { sessions, rates, batch_rows, lasts: Duration::from_secs(1) };
        Ok(axes.phases()?.into_iter().map(|phase| phase.name()).collect())
    }

    #[test]
    fn each_combination_is_a_phase() {
        let (slow, fast) = (Rate::constant(100.0), Rate::constant(200.0));
        assert_eq!(labels(&[4], &[], &[1]).unwrap(), ["all"]);
        assert_eq!(labels(&[1, 2], &[slow], &[1]).unwrap(), ["1 session", "2 sessions"]);
        assert_eq!(labels(&[1], &[Rate { from: 100.0, to: 200.0 }], &[1]).unwrap(), ["100 to 200/s"]);
        let grid = ["1 session, 100/s", "1 session, 200/s", "2 sessions, 100/s", "2 sessions, 200/s"];
        assert_eq!(labels(&[1, 2], &[slow, fast], &[1]).unwrap(), grid);
        assert_eq!(labels(&[1], &[slow, fast], &[1, 10]).unwrap()[1], "100/s, 10 rows");
        let (rates, lasts) = (vec![slow, fast], Duration::from_secs(3));
        let axes = Axes { sessions: vec![1, 2], rates, batch_rows: vec![7], lasts };
        let last = axes.phases().unwrap().pop().unwrap();
        assert_eq!((last.sessions, last.rate, last.batch_rows, last.lasts), (2, Some(fast), 7, lasts));
        assert!(labels(&[1, 2], &[slow, fast], &[1, 10]).is_err());
        assert!(labels(&[1; 21], &[slow; 20], &[1]).is_err());
    }
}
