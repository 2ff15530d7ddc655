//! Counts the work of a server by the kernel's own counters while a cause is tried, by code of its own, and holds what the record of the
//! run says against it: every figure of the CPU and of devices in a sentence of evidence is a mean of such columns.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use plimsoll_measurement::{RunRecord, Samples};
use serde::{Deserialize, Serialize};

use super::limits::tree;

/// How often the counters are read.
const EVERY: Duration = Duration::from_millis(50);
/// Bytes of a sector in the kernel's statistics of devices (Documentation/block/stat.rst).
const SECTOR_BYTES: f64 = 512.0;
/// Ticks in a second, in which the kernel tells CPU times (`USER_HZ` of Linux).
const TICKS: f64 = 100.0;
/// Means below these are too small to be compared: cores, and operations or MB a second.
const LEAST: [f64; 2] = [0.05, 5.0];

/// A mean over all of a run's samples, as the record has it and as the kernel counted it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compared {
    /// The column.
    pub column: String,
    /// What the record says.
    pub said: f64,
    /// What the kernel counted.
    pub counted: f64,
}

impl Compared {
    /// How far they are apart, in percent of what was counted.
    pub fn apart_percent(&self) -> f64 {
        100.0 * (self.said / self.counted - 1.0).abs()
    }
}

/// Counters in a moment: CPU seconds, then reads, writes and MB of both for the data's device and for the log's.
#[derive(Debug, Clone, Copy)]
struct Counters {
    at: SystemTime,
    values: [f64; COLUMNS.len()],
}

const COLUMNS: [&str; 9] = [
    "server_cpu",
    "disk_reads",
    "disk_writes",
    "disk_read_rate",
    "disk_write_rate",
    "log_disk_reads",
    "log_disk_writes",
    "log_disk_read_rate",
    "log_disk_write_rate",
];

/// A thread that counts until it is asked.
pub struct Watch {
    ended: Arc<AtomicBool>,
    counted: Arc<Mutex<Vec<Counters>>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Counts the work of this process and all below it, and of devices by their numbers.
    pub fn start(pid: u32, devices: [String; 2]) -> Self {
        let (ended, counted) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (is_over, into) = (Arc::clone(&ended), Arc::clone(&counted));
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if let Some(counters) = read(pid, &devices) {
                    into.lock().unwrap_or_else(PoisonError::into_inner).push(counters);
                }
                thread::sleep(EVERY);
            }
        });
        Self { ended, counted, thread: Some(thread) }
    }

    /// The columns of a record of that time that are large enough to be compared.
    pub fn compared(&self, record: &RunRecord) -> Vec<Compared> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut sums = [(0.0, 0.0, 0.0); COLUMNS.len()];
        for repetition in &record.repetitions {
            let Some(start) = repetition.started_at.as_ref().and_then(|text| text.parse::<Timestamp>().ok()) else {
                continue;
            };
            for samples in &repetition.samples {
                add(&mut sums, samples, start, &counted);
            }
        }
        let mean = |(column, (said, counted, seconds)): (&&str, (f64, f64, f64))| {
            (seconds > 0.0).then(|| Compared {
                column: (*column).to_owned(),
                said: said / seconds,
                counted: counted / seconds,
            })
        };
        let is_enough = |held: &Compared| held.counted >= if held.column == COLUMNS[0] { LEAST[0] } else { LEAST[1] };
        COLUMNS.iter().zip(sums).filter_map(mean).filter(is_enough).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Adds the intervals of which both sides know something: what was said, what was counted, and seconds.
fn add(sums: &mut [(f64, f64, f64)], samples: &Samples, start: Timestamp, counted: &[Counters]) {
    let moment = |seconds: f64| SystemTime::from(start).checked_add(Duration::from_secs_f64(seconds.max(0.0)));
    for (place, column) in COLUMNS.iter().enumerate() {
        let Some(values) = samples.columns.iter().find(|one| one.metric == *column).map(|one| &one.values) else {
            continue;
        };
        let mut from = samples.started_seconds;
        for (value, to) in values.iter().zip(&samples.seconds) {
            let ends = moment(from).zip(moment(*to));
            let grown = ends.and_then(|(from, to)| Some(at(counted, place, to)? - at(counted, place, from)?));
            if let (Some(value), Some(grown)) = (value, grown) {
                let seconds = to - from;
                let sum = &mut sums[place];
                *sum = (sum.0 + value * seconds, sum.1 + grown, sum.2 + seconds);
            }
            from = *to;
        }
    }
}

/// A counter in a moment between two readings.
fn at(counted: &[Counters], place: usize, moment: SystemTime) -> Option<f64> {
    let next = counted.partition_point(|counters| counters.at < moment);
    let (before, after) = (counted.get(next.checked_sub(1)?)?, counted.get(next)?);
    let whole = after.at.duration_since(before.at).ok()?.as_secs_f64();
    let part = moment.duration_since(before.at).ok()?.as_secs_f64() / whole;
    Some(before.values[place] + part * (after.values[place] - before.values[place]))
}

fn read(pid: u32, devices: &[String; 2]) -> Option<Counters> {
    let at = SystemTime::now();
    let mut values = [0.0; COLUMNS.len()];
    let ticks: f64 = tree(pid).into_iter().filter_map(|process| cpu_ticks(process, process == pid)).sum();
    values[0] = ticks / TICKS;
    for (device, place) in devices.iter().zip([1, 5]) {
        let text = fs::read_to_string(format!("/sys/dev/block/{device}/stat")).ok()?;
        let fields: Vec<f64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let megabytes = |sectors: f64| sectors * SECTOR_BYTES / f64::from(1 << 20);
        let [reads, of_reads, writes, of_writes] = [0, 2, 4, 6].map(|field| fields.get(field).copied());
        values[place..place + 4].copy_from_slice(&[reads?, writes?, megabytes(of_reads?), megabytes(of_writes?)]);
    }
    Some(Counters { at, values })
}

/// CPU time of a process, with that of its children that ended where it is their first one (`proc_pid_stat(5)`).
fn cpu_ticks(pid: u32, with_ended: bool) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may have blanks and brackets.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let of = |field: usize| fields.get(field).and_then(|field| field.parse::<f64>().ok());
    let ended = if with_ended { of(13)? + of(14)? } else { 0.0 };
    Some(of(11)? + of(12)? + ended)
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Repetition, SampleColumn};

    use super::*;

    #[test]
    fn what_a_record_says_is_held_against_what_was_counted() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        // Half a core is at work all the time, and 100 writes a second.
        let counted = (0..100).map(|tenth| {
            let at = SystemTime::from(start) + Duration::from_millis(100 * tenth);
            let mut values = [0.0; COLUMNS.len()];
            (values[0], values[2]) = (0.05 * tenth as f64, 10.0 * tenth as f64);
            Counters { at, values }
        });
        let watch = Watch { ended: Arc::default(), counted: Arc::new(Mutex::new(counted.collect())), thread: None };
        let column = |metric: &str, values: &[f64]| SampleColumn {
            metric: metric.to_owned(),
            values: values.iter().copied().map(Some).collect(),
            ..SampleColumn::default()
        };
        let samples = Samples {
            started_seconds: 1.0,
            seconds: vec![2.0, 3.0],
            columns: vec![column("server_cpu", &[0.6, 0.5]), column("disk_writes", &[100.0, 100.0])],
            ..Samples::default()
        };
        let repetition = Repetition {
            started_at: Some("2026-01-01T00:00:00Z".to_owned()),
            samples: vec![samples],
            ..Repetition::default()
        };
        let held = watch.compared(&RunRecord { repetitions: vec![repetition], ..RunRecord::default() });
        assert_eq!(held.iter().map(|one| one.column.as_str()).collect::<Vec<_>>(), ["server_cpu", "disk_writes"]);
        assert!((held[0].apart_percent() - 10.0).abs() < 0.1, "{held:?}");
        assert!(held[1].apart_percent() < 0.1, "{held:?}");
    }
}
