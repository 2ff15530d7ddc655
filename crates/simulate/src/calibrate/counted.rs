//! What is counted while requests run on modelled hardware.

use plimsoll_measurement::LatencyHistogram;

/// Slots of the measured time, for the course of the rate.
pub const SLOTS: usize = 20;

/// What was counted.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The seed.
    pub seed: u64,
    /// Seconds that were counted.
    pub seconds: f64,
    /// Requests that were answered, by slot.
    pub answered: [u64; SLOTS],
    /// Response times.
    pub times: LatencyHistogram,
    /// Their sum.
    pub response_ns: u128,
    /// Waits for CPU, data, log and all else, own use of the CPU included.
    pub waits_ns: [u128; 4],
    /// CPU time.
    pub cpu_ns: f64,
    /// The client's CPU time.
    pub client_ns: f64,
    /// Reads and writes of the data, and writes of the log: how many, as limits count them, bytes, and their times.
    pub io: [IoCount; 3],
    /// Events that were handled.
    pub events: u64,
    /// Writes of data that came to be due and were still to be made at the end, beyond those of two passes, as a part of all.
    pub piled_up: f64,
}

/// I/Os of a kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct IoCount {
    /// As they were made.
    pub count: u64,
    /// As limits count them.
    pub units: u64,
    /// Bytes.
    pub bytes: u64,
    /// From asking to done, summed up.
    pub ns: u128,
}

impl Counted {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            seconds: 0.0,
            answered: [0; SLOTS],
            times: LatencyHistogram::new(),
            response_ns: 0,
            waits_ns: [0; 4],
            cpu_ns: 0.0,
            client_ns: 0.0,
            io: [IoCount::default(); 3],
            events: 0,
            piled_up: 0.0,
        }
    }

    /// The same in another time: the model takes so much less of it than the run did. What each I/O took is the device's and stays.
    #[must_use]
    pub(super) fn slowed(self, factor: f64) -> Self {
        let longer = |ns: u128| (ns as f64 * factor) as u128;
        Self {
            seconds: self.seconds * factor,
            response_ns: longer(self.response_ns),
            waits_ns: self.waits_ns.map(longer),
            ..self
        }
    }

    /// The same with so many seconds of each request's other waits named as the log's.
    #[must_use]
    pub(super) fn with_log_waits(mut self, seconds: f64) -> Self {
        let ns = (seconds.max(0.0) * 1e9 * self.requests() as f64) as u128;
        let moved = ns.min(self.waits_ns[ELSE]);
        self.waits_ns[ELSE] -= moved;
        self.waits_ns[LOG] += moved;
        self
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.answered.iter().sum()
    }

    /// Mean seconds from a request to its answer.
    pub fn response_s(&self) -> f64 {
        self.response_ns as f64 / 1e9 / self.requests().max(1) as f64
    }

    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests() as f64 / self.seconds
    }
}

/// Places in [`Counted::waits_ns`].
pub const CPU: usize = 0;
/// Waits for data.
pub const DATA: usize = 1;
/// Waits for the log.
pub const LOG: usize = 2;
/// Waits for the turn, the client, and what the run does not name.
pub const ELSE: usize = 3;
