//! Disks as their intervals come, whoever counted them.

use plimsoll_measurement::foreign;

use crate::activity::{Activity, is_slow};
use crate::demand::Interval;
use crate::sheet::ListError;

/// More intervals of all disks than these are a month of many.
pub(super) const MOST_INTERVALS: usize = 1_000_000;

/// What disks did over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Disks {
    /// The program that counted it.
    pub program: String,
    /// Each disk that did anything.
    pub disks: Vec<Activity>,
    /// What is to be known of the series.
    pub remarks: Vec<String>,
}

/// The figures of a disk in an interval; absent where they were not counted or are none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub reads: Option<f64>,
    pub writes: Option<f64>,
    /// Both together, where a program counts only that.
    pub ios: Option<f64>,
    pub read_bytes: Option<f64>,
    pub write_bytes: Option<f64>,
    pub bytes: Option<f64>,
    pub read_ms: Option<f64>,
    pub write_ms: Option<f64>,
}

const MB: f64 = (1 << 20) as f64;

impl Figures {
    /// Reads and writes a second as storage counts them: at least so many.
    pub fn iops(&self, unit_bytes: u64) -> Option<f64> {
        let least =
            |rate: f64, bytes: Option<f64>| rate.max(bytes.map_or(0.0, |bytes| bytes / unit_bytes.max(1) as f64));
        let reads = self.reads.map(|rate| least(rate, self.read_bytes));
        let writes = self.writes.map(|rate| least(rate, self.write_bytes));
        reads.zip(writes).map(|(reads, writes)| reads + writes).or_else(|| self.ios.map(|all| least(all, self.bytes)))
    }

    pub fn mb_per_s(&self) -> Option<f64> {
        let both = self.read_bytes.zip(self.write_bytes).map(|(read, written)| read + written);
        both.or(self.bytes).map(|bytes| bytes / MB)
    }
}

/// A disk as its intervals come.
pub(super) struct Series {
    pub activity: Activity,
    unit_bytes: u64,
    /// Whether it did anything of what was counted.
    did_any: bool,
    /// Sums of rate times ms, and of rates, of reads and of writes.
    waited: [(f64, f64); 2],
}

impl Series {
    pub fn new(name: &str, unit_bytes: u64) -> Self {
        let activity = Activity { name: foreign::plain(name), are_sizes_known: true, ..Activity::default() };
        Self { activity, unit_bytes, did_any: false, waited: [(0.0, 0.0); 2] }
    }

    pub fn add(&mut self, start_s: f64, seconds: f64, figures: &Figures) {
        let interval = Interval { start_s, seconds, rate: None, is_bounded: false };
        let (iops, mb_per_s) = (figures.iops(self.unit_bytes), figures.mb_per_s());
        let Figures { reads, writes, ios, read_bytes, write_bytes, bytes, .. } = *figures;
        let counted = [reads, writes, ios, read_bytes, write_bytes, bytes];
        self.did_any |= counted.into_iter().flatten().any(|value| value > 0.0);
        self.activity.are_sizes_known &= iops.is_none() || mb_per_s.is_some();
        self.activity.iops.intervals.push(Interval { rate: iops, ..interval });
        let written = figures.write_bytes.map(|bytes| bytes / MB);
        self.activity.mb_per_s.intervals.push(Interval { rate: mb_per_s, ..interval });
        self.activity.written_mb_per_s.intervals.push(Interval { rate: written, ..interval });
        let did = |rate: Option<f64>, ms: Option<f64>| ms.filter(|_| rate.is_none_or(|rate| rate > 0.0));
        let is_slow = is_slow(did(figures.reads, figures.read_ms), did(figures.writes, figures.write_ms));
        self.activity.slow += usize::from(is_slow);
        let both = [(figures.reads, figures.read_ms), (figures.writes, figures.write_ms)];
        for (sums, (rate, ms)) in self.waited.iter_mut().zip(both) {
            if let (Some(rate), Some(ms)) = (rate, ms) {
                sums.0 += rate * seconds * ms;
                sums.1 += rate * seconds;
            }
        }
    }

    fn done(mut self) -> Activity {
        let [read, write] = self.waited.map(|(waited, count)| (count > 0.0).then(|| waited / count));
        (self.activity.read_ms, self.activity.write_ms) = (read, write);
        self.activity
    }
}

/// Disks that did anything: a machine has many that nobody uses.
pub(super) fn busy(all: Vec<Series>, program: &'static str, remarks: Vec<String>) -> Result<Disks, ListError> {
    let disks: Vec<Activity> = all.into_iter().filter(|one| one.did_any).map(Series::done).collect();
    if disks.is_empty() {
        return Err(ListError::whole(format!("no disk did anything in what {program} counted")));
    }
    Ok(Disks { program: program.to_owned(), disks, remarks })
}
