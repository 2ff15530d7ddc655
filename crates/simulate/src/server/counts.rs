//! What is counted in a slot of a run. A run has many slots, so that what is not steady yet can be left out afterwards.

use plimsoll_hardware::Kind;
use plimsoll_measurement::LatencyHistogram;

use crate::events::Nanos;

/// What a session waits for. CPU that it uses is no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A free core.
    Cpu,
    /// A page: a read, or the write of a page that it wants to change.
    Page,
    /// The log, from the commit to its acknowledgement.
    Log,
    /// What the scenario gives as other waits.
    Other,
}

/// I/Os of a file in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IoCounts {
    /// As the server issued them.
    pub count: u64,
    /// As limits count them: a large one is several.
    pub units: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From issue to answer, summed up.
    pub latency_ns: u128,
}

/// Counts of a slot, or of several.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Requests that were answered.
    pub requests: u64,
    /// Their response times, summed up.
    pub response_ns: u128,
    /// The same one by one.
    pub times: LatencyHistogram,
    /// Waits that ended, by [`Wait`].
    pub waits_ns: [u128; 4],
    /// Time that cores were busy.
    pub cpu_ns: u128,
    /// Requests under way or in the queue for a session, integrated over time.
    pub present_ns: u128,
    /// Reads and writes of each file: the data files, then the log.
    pub files: Vec<[IoCounts; 2]>,
}

impl Counts {
    pub(super) fn new(files: usize) -> Self {
        Self {
            requests: 0,
            response_ns: 0,
            times: LatencyHistogram::new(),
            waits_ns: [0; 4],
            cpu_ns: 0,
            present_ns: 0,
            files: vec![[IoCounts::default(); 2]; files],
        }
    }

    pub(super) fn wait(&mut self, wait: Wait, span: Nanos) {
        self.waits_ns[wait as usize] += u128::from(span);
    }

    pub(super) fn io(&mut self, file: usize, kind: Kind, bytes: u64, units: u64, latency: Nanos) {
        let counts = &mut self.files[file][usize::from(kind == Kind::Write)];
        counts.count += 1;
        counts.units += units;
        counts.bytes += bytes;
        counts.latency_ns += u128::from(latency);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.response_ns += other.response_ns;
        self.times.merge(&other.times);
        self.cpu_ns += other.cpu_ns;
        self.present_ns += other.present_ns;
        for (sum, more) in self.waits_ns.iter_mut().zip(other.waits_ns) {
            *sum += more;
        }
        for (sum, more) in self.files.iter_mut().flatten().zip(other.files.iter().flatten()) {
            sum.count += more.count;
            sum.units += more.units;
            sum.bytes += more.bytes;
            sum.latency_ns += more.latency_ns;
        }
    }
}
