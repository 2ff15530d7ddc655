//! What a measured run says that a prediction needs: how it was loaded, how many requests were answered, and what the server did meanwhile,
//! in blocks of time from which parameter sets are drawn.

use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Basis, Phase, Repetition, RunRecord, SampleColumn, Samples, Subject};

use super::error::CalibrationError;
use super::load::Load;

/// Blocks of a repetition: enough to see how much a figure varies, and each long enough to have requests.
const MOST_BLOCKS: usize = 12;

/// Intervals that are needed to say how much a figure varies.
const LEAST_INTERVALS: usize = 4;

/// What a server did, as totals over a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Seconds of the server's CPU.
    Cpu,
    /// Seconds of a modelled client's CPU.
    ClientCpu,
    /// Pages that were looked for in memory.
    Lookups,
    /// Pages of them that were not there, or were read ahead.
    Misses,
    /// Reads of data.
    Reads,
    /// Bytes that were read.
    ReadBytes,
    /// Writes of data.
    Writes,
    /// Bytes of data and log that were written.
    DeviceWriteBytes,
    /// Writes of the log.
    LogWrites,
    /// Bytes of log.
    LogBytes,
    /// Writes of the log's device: several may be one of the engine's.
    LogDeviceWrites,
    /// Bytes that they have.
    LogDeviceBytes,
    /// Transactions that wrote.
    Commits,
    /// Seconds that sessions waited for locks of others.
    LockWait,
    /// Seconds that sessions waited for the right to write.
    TurnWait,
    /// Seconds that sessions waited for data.
    ReadWait,
    /// Seconds that sessions waited for the log.
    LogWait,
    /// Seconds that sessions waited for CPU, their own use of it included.
    CpuWait,
    /// Seconds that sessions waited for their client.
    ClientWait,
    /// Seconds of all reads, one by one.
    ReadStall,
    /// The same of writes of the log, with their syncs.
    LogStall,
}

/// How a total follows from samples.
#[derive(Debug, Clone, Copy)]
enum Taken {
    /// A column that says how much a second, times this.
    Rate(&'static str, f64),
    /// Columns that say so together.
    Sum(&'static [&'static str]),
    /// A count a second times the milliseconds of each.
    Each(&'static str, &'static str),
    /// Several of these that come one after another: of a flush of the log its write and its sync.
    Parts(&'static [(&'static str, &'static str)]),
}

use Taken::{Each, Parts, Rate, Sum};

const MEGA: f64 = MB as f64;

/// Where each total comes from, the first that is known.
const COLUMNS: [(What, &[Taken]); 21] = [
    (What::Cpu, &[Rate("cpu", 1.0), Rate("server_cpu", 1.0)]),
    (What::ClientCpu, &[Rate("client_cpu", 1.0)]),
    (What::Lookups, &[Rate("cache_lookups", 1.0)]),
    (What::Misses, &[Rate("cache_misses", 1.0)]),
    (What::Reads, &[Rate("data_reads", 1.0), Rate("disk_reads", 1.0)]),
    (What::ReadBytes, &[Rate("device_read_rate", MEGA), Rate("disk_read_rate", MEGA)]),
    (What::Writes, &[Rate("data_writes", 1.0), Rate("disk_writes", 1.0)]),
    (What::DeviceWriteBytes, &[Rate("device_write_rate", MEGA), Rate("disk_write_rate", MEGA)]),
    (What::LogWrites, &[Rate("log_writes", 1.0), Rate("log_syncs", 1.0), Rate("log_disk_writes", 1.0)]),
    (What::LogBytes, &[Rate("log_write_rate", MEGA), Rate("log_disk_write_rate", MEGA)]),
    (What::LogDeviceWrites, &[Rate("log_disk_writes", 1.0)]),
    (What::LogDeviceBytes, &[Rate("log_disk_write_rate", MEGA)]),
    (What::Commits, &[Rate("commits", 1.0)]),
    (What::LockWait, &[Rate("waiting_for_lock", 1.0)]),
    (What::TurnWait, &[Rate("waiting_for_turn", 1.0)]),
    (What::ReadWait, &[Rate("waiting_for_data_read", 1.0)]),
    (What::LogWait, &[Sum(&["waiting_for_log_write", "waiting_for_log_governor"])]),
    (What::CpuWait, &[Rate("on_cpu", 1.0)]),
    (What::ClientWait, &[Rate("waiting_for_client", 1.0)]),
    (What::ReadStall, &[Each("data_reads", "data_read_latency")]),
    // Without times of its own a server shows how many sessions flush the log, which is how long that takes in a second (Little's law).
    (
        What::LogStall,
        &[Parts(&[("log_writes", "log_write_latency"), ("log_syncs", "log_sync_latency")]), Rate("flushing_log", 1.0)],
    ),
];

/// A time of a run: what was answered and done in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// How long it was.
    pub seconds: f64,
    /// Requests that were answered.
    pub requests: f64,
    /// Totals, in the order of [`COLUMNS`]; absent where nobody said it.
    totals: [Option<f64>; COLUMNS.len()],
}

impl Block {
    /// A total.
    pub fn total(&self, what: What) -> Option<f64> {
        self.totals[what as usize]
    }

    /// A total for each request; absent where it is not known or nothing was answered.
    pub fn each(&self, what: What) -> Option<f64> {
        let each = self.total(what)? / self.requests;
        each.is_finite().then_some(each)
    }

    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    /// The CPU of an engine that works in our own process is ours.
    fn of_engine(mut self, engine: &str) -> Self {
        if engine == "sqlite" && self.total(What::Cpu).is_none() {
            self.totals[What::Cpu as usize] = self.total(What::ClientCpu);
        }
        self
    }

    /// Several times as one. What one of them does not know is known in proportion to the others.
    pub fn together(blocks: &[&Self]) -> Self {
        let seconds: f64 = blocks.iter().map(|block| block.seconds).sum();
        let requests = blocks.iter().map(|block| block.requests).sum();
        let totals = std::array::from_fn(|at| {
            let known = blocks.iter().filter_map(|block| Some((block.totals[at]?, block.seconds)));
            let (sum, of) = known.fold((0.0, 0.0), |(sum, of), (total, seconds)| (sum + total, of + seconds));
            // What is known for less than half of the time is not known.
            (of > 0.0 && of >= seconds / 2.0).then(|| sum * seconds / of)
        });
        Self { seconds, requests, totals }
    }
}

/// What a run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// How requests came.
    pub load: Load,
    /// How long one repetition took requests.
    pub seconds: f64,
    /// Requests a second, of each complete repetition.
    pub rates: Vec<f64>,
    /// The blocks of all repetitions.
    pub blocks: Vec<Block>,
}

impl Evidence {
    /// Reads a record.
    ///
    /// # Errors
    /// If the run is no measurement of requests, or says too little.
    pub fn of(record: &RunRecord) -> Result<Self, CalibrationError> {
        check(record)?;
        let complete: Vec<&Repetition> = record.repetitions.iter().filter(|one| one.complete).collect();
        let first = complete.first().ok_or_else(|| {
            CalibrationError::not_enough("the run has no complete repetition", "run the test again, to its end")
        })?;
        let phase = only_phase(record, first)?;
        let load = Load::of(record, phase);
        let (mut blocks, mut rates) = (Vec::new(), Vec::new());
        for repetition in &complete {
            let phase = only_phase(record, repetition)?;
            rates.push(phase.rate);
            blocks.extend(blocks_of(repetition, phase).into_iter().map(|block| block.of_engine(&record.engine)));
        }
        let has_requests = rates.iter().all(|rate| *rate > 0.0);
        if !has_requests {
            return Err(CalibrationError::not_enough("no request was answered in the run", "run the test for longer"));
        }
        if blocks.is_empty() {
            let problem = format!("the run has no samples of what its server did, or fewer than {LEAST_INTERVALS}");
            let hint = "a prediction needs CPU, reads and log of each second: run the test again, for at least 10 s and with samples";
            return Err(CalibrationError::not_enough(problem, hint));
        }
        Ok(Self { load, seconds: phase.seconds, rates, blocks })
    }

    /// All of it as one.
    pub fn whole(&self) -> Block {
        Block::together(&self.blocks.iter().collect::<Vec<_>>())
    }
}

/// Refuses what is no measurement of requests.
fn check(record: &RunRecord) -> Result<(), CalibrationError> {
    let unfit = |problem: String| {
        let hint = "predictions are made from runs that Plimsoll measured, of tests that make requests: mix-a, update, a test of your own";
        Err(CalibrationError::unfit(problem, hint))
    };
    match (record.basis, record.subject) {
        (Basis::Measured, Subject::Database) => {}
        (Basis::Measured, Subject::Volume) => {
            return unfit("the run is of a disk, which answers no requests".to_owned());
        }
        (Basis::Measured, Subject::Workload) => return unfit("the run is a recorded workload".to_owned()),
        (Basis::Imported, _) => return unfit("the run was imported, and nothing is known of its server".to_owned()),
        (Basis::Simulated, _) => return unfit("the run was simulated itself".to_owned()),
        (Basis::Predicted, _) => return unfit("the run was predicted itself".to_owned()),
    }
    if let Some(error) = record.error.as_ref().filter(|_| record.repetitions.iter().all(|one| !one.complete)) {
        return Err(CalibrationError::not_enough(format!("the run failed: {}", error.message), "run the test again"));
    }
    if record.ended_at.is_none() {
        let hint = "run the test again, to its end";
        return Err(CalibrationError::not_enough("the run did not come to its end", hint));
    }
    if !record.results.iter().any(|figure| figure.metric == "request_rate") {
        return unfit(format!("the test {} is not made of requests: it has no rate of them", record.test));
    }
    Ok(())
}

/// The phase of a repetition that has one.
fn only_phase<'a>(record: &RunRecord, repetition: &'a Repetition) -> Result<&'a Phase, CalibrationError> {
    match repetition.phases.as_slice() {
        [phase] if phase.seconds > 0.0 => Ok(phase),
        [] | [_] => Err(CalibrationError::unfit(
            format!("the test {} is not made of requests: it has no phase of them", record.test),
            "plimsoll tests lists the tests that make requests",
        )),
        several => Err(CalibrationError::unfit(
            format!("the run has {} phases, each with a load of its own", several.len()),
            "run the test with one number of sessions and one rate: --set sessions=16 --set rate=0",
        )),
    }
}

fn blocks_of(repetition: &Repetition, phase: &Phase) -> Vec<Block> {
    let samples = repetition.samples.iter().filter(|samples| !samples.is_empty());
    let mut intervals: Vec<Block> = samples.flat_map(|samples| intervals_of(samples, repetition, phase)).collect();
    // Without a single total nothing was asked of the server.
    intervals.retain(|block| block.totals.iter().any(Option::is_some));
    if intervals.len() < LEAST_INTERVALS {
        return Vec::new();
    }
    let length = intervals.len().div_ceil(MOST_BLOCKS);
    intervals.chunks(length).map(|chunk| Block::together(&chunk.iter().collect::<Vec<_>>())).collect()
}

/// The whole intervals in which requests were taken.
fn intervals_of(samples: &Samples, repetition: &Repetition, phase: &Phase) -> Vec<Block> {
    let (from, to) = (phase.started_seconds, phase.started_seconds + phase.seconds);
    let inside = samples.intervals().enumerate().filter(|(_, (start, end))| {
        let within = end.min(to) - start.max(from);
        *end > *start && within >= 0.95 * (end - start)
    });
    let seconds_of_phase = &repetition.seconds.operations;
    let answered = |start: f64, end: f64| -> f64 {
        if seconds_of_phase.is_empty() {
            return phase.rate * (end - start);
        }
        // Each second's answers are spread evenly over it.
        let part = |second: usize| (end.min(second as f64 + 1.0) - start.max(second as f64)).max(0.0);
        let of = |second: usize| seconds_of_phase.get(second).map_or(0.0, |count| *count as f64 * part(second));
        (start.max(0.0) as usize..=end.max(0.0) as usize).map(of).sum()
    };
    let block = |(at, (start, end)): (usize, (f64, f64))| {
        let seconds = end - start;
        let mut totals = [None; COLUMNS.len()];
        for (what, from) in COLUMNS {
            totals[what as usize] = from.iter().find_map(|from| total(samples, *from, at)).map(|rate| rate * seconds);
        }
        Block { seconds, requests: answered(start, end), totals }
    };
    inside.map(block).collect()
}

/// How much a second.
fn total(samples: &Samples, from: Taken, at: usize) -> Option<f64> {
    let column = |name: &str| samples.column(name);
    let value = |column: &SampleColumn| column.values.get(at).copied().flatten();
    match from {
        Rate(name, times) => Some(value(column(name)?)? * times),
        Sum(names) => names.iter().filter_map(|name| value(column(name)?)).reduce(|a, b| a + b),
        Each(count, time) => {
            let count = value(column(count)?)?;
            // Of nothing there is no time.
            if count == 0.0 { Some(0.0) } else { Some(count * value(column(time)?)? / 1e3) }
        }
        Parts(parts) => {
            // A time without any of its columns is not known, also where nothing was counted.
            let known = parts.iter().filter(|(_, time)| column(time).is_some());
            known.filter_map(|(count, time)| total(samples, Each(count, time), at)).reduce(|a, b| a + b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_in_the_order_of_what_they_are_of() {
        for (at, (what, _)) in COLUMNS.iter().enumerate() {
            assert_eq!(*what as usize, at);
        }
    }

    #[test]
    fn what_a_block_does_not_know_is_known_from_the_others_if_they_are_most() {
        let block = |seconds, cpu| {
            let mut totals = [None; COLUMNS.len()];
            totals[What::Cpu as usize] = cpu;
            Block { seconds, requests: 100.0, totals }
        };
        let of = |blocks: [Block; 3]| Block::together(&blocks.iter().collect::<Vec<_>>()).total(What::Cpu);
        assert_eq!(of([block(1.0, Some(0.5)), block(1.0, Some(0.5)), block(2.0, None)]), Some(2.0));
        assert_eq!(of([block(1.0, Some(0.5)), block(1.0, None), block(2.0, None)]), None);
    }
}
