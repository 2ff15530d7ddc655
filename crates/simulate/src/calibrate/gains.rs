//! What each limit of some hardware brings if it is raised.

use plimsoll_hardware::Raise;

use super::hardware::Hardware;
use super::predict::{BINDS, Calibrated, mean};
use super::rate::{LimitGain, Rate};
use super::sets::Set;

/// Sets that gains are found with: each is simulated with a limit as it is and raised, by the same random numbers.
const SETS_OF_GAINS: usize = 5;

/// Of a gain the model misses so much on the lab, where another limit comes near that the run shows little of: up to 12 % of it in 24 gains of a half
/// (docs/SIMULATE.md).
const ERROR_OF_GAIN: f64 = 0.15;

/// Percent that the rate of changes may get less with a faster device that has their checkpoints alone: up to 8 were seen on the lab.
const OF_CHECKPOINTS: f64 = 10.0;

/// Fewer reads of a request than this are none.
const FEW_READS: f64 = 0.02;

/// A limit with what it is called in verdicts.
pub const RAISES: [(Raise, &str, &str); 6] = [
    (Raise::Cpu, "cpu", "CPU"),
    (Raise::DataIops, "data_iops", "data I/Os a second"),
    (Raise::DataBandwidth, "data_bandwidth", "data bandwidth"),
    (Raise::LogWrite, "log_write", "log writes"),
    (Raise::Memory, "memory", "memory"),
    (Raise::Client, "client", "client CPU"),
];

impl Calibrated {
    /// Whether the device of the data has nothing but checkpoints.
    pub(super) fn writes_data_alone(&self) -> bool {
        let demand = &self.derived.demand;
        self.manner.has_passes && demand.writes > 0.0 && demand.reads < FEW_READS
    }

    /// What each limit of some hardware gives if it is raised, the largest first.
    pub fn gains(&self, on: &Hardware, factors: &[f64]) -> Vec<LimitGain> {
        let Ok(span) = self.span_on(on) else { return Vec::new() };
        let sets = &self.sets[..SETS_OF_GAINS.min(self.sets.len())];
        let before: Vec<f64> = sets.iter().map(|set| self.run(on, set, span).rate()).collect();
        let mut gains = Vec::new();
        for (raise, limit, words) in RAISES {
            if raise == Raise::Cpu && !on.spec.cpu.is_limited() {
                continue;
            }
            // What data and log share is one limit, under the name of the data's.
            if raise == Raise::LogWrite && on.log_has_none_of_its_own() {
                continue;
            }
            for factor in factors {
                let raised = on.spec.raised(raise, *factor);
                if raised == on.spec {
                    continue;
                }
                let raised = on.with(raised);
                let percent = |before: f64, after: f64| if before > 0.0 { 100.0 * (after / before - 1.0) } else { 0.0 };
                let mut at_most = f64::NEG_INFINITY;
                let gained = sets.iter().zip(&before).map(|(set, before)| {
                    if raise != Raise::Memory {
                        return percent(*before, self.run(&raised, set, span).rate());
                    }
                    // What more memory finds at least: a gain that may not be there is none. It may be what it finds at most.
                    let [least, most] = [0.0, 1.0].map(|luck| Set { luck, ..set.clone() });
                    let least_before = self.run(on, &least, span).rate();
                    if !self.is_exact(&raised.spec) {
                        at_most = at_most.max(percent(*before, self.run(&raised, &most, span).rate()));
                    }
                    percent(least_before, self.run(&raised, &least, span).rate())
                });
                let gained: Vec<f64> = gained.collect();
                let value = mean(&gained);
                let room = self.room_of_change() * value.abs();
                let low = gained.iter().copied().fold(value - room, f64::min);
                let high = gained.iter().copied().fold(value + room, f64::max).max(at_most);
                // What the model misses may be gone with a limit that binds, or grow with it.
                let missed = if value < 100.0 * BINDS { 1.0 } else { self.missed() };
                let by = |percent: f64, factor: f64| 100.0 * ((1.0 + percent / 100.0) * factor - 1.0);
                let (low, high) = (low.min(by(low, missed.recip()).max(0.0)), by(high, missed));
                let part = if value < 100.0 * BINDS { 0.0 } else { ERROR_OF_GAIN };
                let (low, high) = (low * (1.0 - part), high * (1.0 + part));
                // Faster checkpoints come more often and gather fewer changes, so that the rate may get less.
                let is_data = matches!(raise, Raise::DataIops | Raise::DataBandwidth);
                let low = if is_data && self.writes_data_alone() { low - OF_CHECKPOINTS } else { low };
                let change = format!("{:.0} % more {words}", 100.0 * (factor - 1.0));
                gains.push(LimitGain { limit, change, percent: Rate { value, low, high } });
            }
        }
        gains.sort_by(|one, other| other.percent.value.total_cmp(&one.percent.value));
        gains
    }
}
