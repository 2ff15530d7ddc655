//! What of the waits that the model does not give back at the source belongs to the log, and so goes where the log is another.
//!
//! A run says how long its requests waited for the log, and how long a write of it took. The model of group commit gives the wait that follows
//! from the write. What the run waited beyond that (locks of the log, being woken, a write that many wait for) changes with the time of a write:
//! not at all or in proportion, or anything between.

use plimsoll_hardware::{Io, Kind, Machine, Role};
use plimsoll_measurement::Moment;

use super::counted::{Counted, LOG};
use super::demand::Demand;
use super::evidence::{Evidence, What};
use super::hardware::{Hardware, Prices};

/// Less of something than this is none.
const NONE: f64 = 1e-9;

/// A part of the response time from which on it is worth a word.
const LARGE: f64 = 0.1;

/// Writes that a mean time is taken of, and how far they are apart, so that none waits for another.
const PROBES: u64 = 64;
const APART_NS: u64 = 10_000_000_000;

/// Waits for the log that are among those that the model misses at the source.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogRest {
    /// Seconds of a request.
    pub seconds: f64,
    /// Bytes of a write of the log.
    bytes: u64,
    /// Seconds that such a write takes on the source's hardware; absent where the run does not say it.
    pub write_s: Option<f64>,
    /// Part of the response time.
    part: f64,
}

impl LogRest {
    /// Of a run and what was simulated of it. Hardware that is the model itself has none.
    pub(super) fn of(
        evidence: &Evidence,
        hardware: &Hardware,
        demand: &Demand,
        missing_s: f64,
        simulated: &[Counted],
    ) -> Self {
        if hardware.prices == Prices::Engine || demand.commits <= NONE || simulated.is_empty() {
            return Self::default();
        }
        let whole = evidence.whole();
        let requests: u64 = simulated.iter().map(Counted::requests).sum();
        let modelled = simulated.iter().map(|one| one.waits_ns[LOG] as f64).sum::<f64>() / requests.max(1) as f64 / 1e9;
        let writes = whole.each(What::LogWrites).unwrap_or(demand.commits).max(NONE);
        let bytes = (demand.log_bytes * (demand.commits / writes).max(1.0)) as u64;
        let write_s = whole.total(What::LogStall).filter(|seconds| *seconds > 0.0);
        let write_s = write_s.map(|_| write_s_on(hardware, bytes));
        let missing = missing_s.max(0.0);
        let seconds = match (whole.each(What::LogWait), write_s) {
            (Some(waited), _) => (waited - modelled).clamp(0.0, missing),
            (None, Some(_)) => 0.0,
            // Nobody says how long the log took: all that has no other name may have been it.
            (None, None) => missing + demand.other_s,
        };
        let response_s = f64::from(evidence.load.sessions) / whole.rate();
        Self { seconds, bytes, write_s, part: seconds / response_s }
    }

    /// Seconds by which a request waits less on some hardware; less than none where its log is slower.
    pub(super) fn gone_s(&self, of_log: f64, on: &Hardware) -> f64 {
        if self.seconds <= NONE {
            return 0.0;
        }
        self.seconds * of_log * (1.0 - self.slower(on))
    }

    /// How many times as long a write of the log takes on some hardware. Where it is not known for the source it is taken as none, so that
    /// everything from all to nothing of the wait may stay.
    fn slower(&self, on: &Hardware) -> f64 {
        let Some(write_s) = self.write_s else { return 0.0 };
        if write_s > NONE { write_s_on(on, self.bytes) / write_s } else { 1.0 }
    }

    /// What is not known of the log on some hardware.
    pub(super) fn unknown_on(&self, on: &Hardware, measured: f64) -> Option<String> {
        if self.part < LARGE || measured <= 0.0 {
            return None;
        }
        let ms = self.seconds * 1e3;
        match self.write_s {
            None => Some(format!(
                "how long a write of its log took: anything up to {ms:.3} ms of a request may have been the log, and go with it"
            )),
            Some(_) if (self.slower(on) - 1.0).abs() < LARGE => None,
            Some(write_s) => Some(format!(
                "how much of {ms:.3} ms, for which a request waited for the log beyond its write of {:.3} ms, goes with the time of a write",
                write_s * 1e3
            )),
        }
    }
}

/// Mean seconds of a write of the log that finds no queue.
fn write_s_on(hardware: &Hardware, bytes: u64) -> f64 {
    let mut machine = Machine::new(&hardware.spec, 1).unmetered();
    let device = machine.device(Role::Log);
    let sum: u64 = (0..PROBES)
        .map(|at| {
            let now = at * APART_NS;
            let io = Io { kind: Kind::Write, offset: at * bytes, bytes: bytes.max(1) };
            machine.submit(Moment::from_nanos(now), device, io).at.as_nanos().saturating_sub(now)
        })
        .sum();
    sum as f64 / PROBES as f64 / 1e9
}
