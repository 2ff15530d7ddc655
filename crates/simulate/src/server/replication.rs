//! What a run of a scenario came to: rates, waits, latencies of files, and how far each resource was used.

use plimsoll_analysis::segments::{Pattern, Steady, Terms, Unsteady, segments};
use plimsoll_hardware::{Kind, LimitKind};
use plimsoll_measurement::LatencyHistogram;

use super::counts::{Counts, IoCounts, Wait};
use crate::events::SECOND;
use crate::scenario::Scenario;

/// What changes by less than this share of the mean keeps its level. Bursts of the background writer last about as long as a slot.
const TOLERANCE: f64 = 0.03;

/// What a resource was used for, and what it has.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// `cpu`, or the name of the volume or cap with what it counts.
    pub name: String,
    /// What is counted: `cores`, `I/Os/s`, `bytes/s`.
    pub unit: &'static str,
    /// The name of such a limit in verdicts: `cpu`, `data_iops`, `log_write`, ...
    pub limit: &'static str,
    /// Used on average, in the unit.
    pub used: f64,
    /// What there is, in the unit.
    pub ceiling: f64,
    /// Share of the response times in which sessions waited for the files behind it, in percent; absent for the CPU, whose use is no wait.
    pub waited_percent: Option<f64>,
}

impl Resource {
    /// Utilisation in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.used / self.ceiling
    }
}

/// Shares of the time for which sessions waited, in percent; absent where nobody waited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// For a core.
    pub cpu: f64,
    /// For pages: reads, and writes of pages that are to be changed.
    pub page: f64,
    /// For the log.
    pub log: f64,
    /// Other waits.
    pub other: f64,
}

/// What was read from and written to a group of files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFigures {
    /// The group: its name in the scenario.
    pub name: String,
    /// Files in it.
    pub files: usize,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Writes a second.
    pub writes_per_s: f64,
    /// Bytes read a second.
    pub read_bytes_per_s: f64,
    /// Bytes written a second.
    pub write_bytes_per_s: f64,
    /// Mean time of a read; absent where there were none.
    pub read_ms: Option<f64>,
    /// Mean time of a write; absent where there were none.
    pub write_ms: Option<f64>,
}

/// One replication of a scenario.
#[derive(Debug, Clone)]
pub struct Replication {
    /// Its seed.
    pub seed: u64,
    /// Events that were handled, also before what is counted here.
    pub events: u64,
    /// Simulated seconds that the figures are of.
    pub seconds: f64,
    /// Seconds that were left out at the start of the measured time, because the rate still changed.
    pub transient_s: f64,
    /// Why no part of the run is steady; absent where one is.
    pub unsteady: Option<Unsteady>,
    /// Requests a second.
    pub requests_per_s: f64,
    /// The same slot by slot, the transient included: seconds after the measured time began, and the rate.
    pub course: Vec<(f64, f64)>,
    /// Mean response time in milliseconds.
    pub response_ms: f64,
    /// All response times.
    pub times: LatencyHistogram,
    /// Requests under way or in the queue on average.
    pub present: f64,
    /// Mean wait of a request in milliseconds, by kind.
    pub wait_ms: Shares,
    /// How the waits are shared out, in percent.
    pub wait_percent: Option<Shares>,
    /// The groups of files.
    pub files: Vec<FileFigures>,
    /// All resources, the most used first.
    pub resources: Vec<Resource>,
}

impl Replication {
    pub(super) fn of(scenario: &Scenario, seed: u64, slots: &[Counts], slot_s: f64, events: u64) -> Self {
        let rates: Vec<f64> = slots.iter().map(|slot| slot.requests as f64 / slot_s).collect();
        let present: Vec<f64> = slots.iter().map(|slot| slot.present_ns as f64 / slot_s / SECOND as f64).collect();
        // The rate of a saturated open system is steady while its queue grows.
        let judged = [steady_from(&rates), steady_from(&present)];
        let unsteady = judged.iter().find_map(|judged| judged.err());
        let from = judged.iter().filter_map(|judged| judged.ok()).max().unwrap_or(0);
        let mut sum = Counts::new(slots.first().map_or(0, |slot| slot.files.len()));
        for slot in &slots[from..] {
            sum.merge(slot);
        }
        let seconds = (slots.len() - from) as f64 * slot_s;
        let wait = |wait: Wait| sum.waits_ns[wait as usize] as f64;
        let shares = |factor: f64| Shares {
            cpu: wait(Wait::Cpu) * factor,
            page: wait(Wait::Page) * factor,
            log: wait(Wait::Log) * factor,
            other: wait(Wait::Other) * factor,
        };
        let waited: f64 = sum.waits_ns.iter().map(|ns| *ns as f64).sum();
        let requests = sum.requests as f64;
        Self {
            seed,
            events,
            seconds,
            transient_s: from as f64 * slot_s,
            unsteady,
            requests_per_s: requests / seconds,
            course: (1..).zip(&rates).map(|(slot, rate)| (f64::from(slot) * slot_s, *rate)).collect(),
            response_ms: sum.response_ns as f64 / requests / 1e6,
            present: sum.present_ns as f64 / seconds / SECOND as f64,
            wait_ms: shares(1.0 / requests / 1e6),
            wait_percent: (waited > 0.0).then(|| shares(100.0 / waited)),
            files: groups(scenario, &sum, seconds),
            resources: resources(scenario, &sum, seconds),
            times: sum.times,
        }
    }

    /// The resource that is used most, and the one after it.
    pub fn first_and_second_limit(&self) -> (Option<&Resource>, Option<&Resource>) {
        (self.resources.first(), self.resources.get(1))
    }
}

/// From which slot on a series keeps its level. Regular bursts are a steady state of their own.
fn steady_from(series: &[f64]) -> Result<usize, Unsteady> {
    let Some(found) = segments(series, Terms { tolerance: TOLERANCE, ..Terms::default() }) else { return Ok(0) };
    match (found.steady, found.pattern) {
        (Steady::Reached { from, .. }, _) => Ok(from),
        (Steady::Never(Unsteady::Flips), Pattern::TwoLevel(_)) => Ok(0),
        (Steady::Never(why), _) => Err(why),
    }
}

fn groups(scenario: &Scenario, sum: &Counts, seconds: f64) -> Vec<FileFigures> {
    let files = scenario.storage.files().zip(&sum.files);
    let mut groups: Vec<(String, usize, [IoCounts; 2])> = Vec::new();
    for (file, counts) in files {
        let found = groups.iter().position(|(name, ..)| *name == file.group);
        let at = found.unwrap_or_else(|| {
            groups.push((file.group.clone(), 0, [IoCounts::default(); 2]));
            groups.len() - 1
        });
        groups[at].1 += 1;
        for (sum, more) in groups[at].2.iter_mut().zip(counts) {
            sum.count += more.count;
            sum.bytes += more.bytes;
            sum.latency_ns += more.latency_ns;
        }
    }
    let mean_ms = |counts: IoCounts| (counts.count > 0).then(|| counts.latency_ns as f64 / counts.count as f64 / 1e6);
    let group = |(name, files, [read, write]): (String, usize, [IoCounts; 2])| FileFigures {
        name,
        files,
        reads_per_s: read.count as f64 / seconds,
        writes_per_s: write.count as f64 / seconds,
        read_bytes_per_s: read.bytes as f64 / seconds,
        write_bytes_per_s: write.bytes as f64 / seconds,
        read_ms: mean_ms(read),
        write_ms: mean_ms(write),
    };
    groups.into_iter().map(group).collect()
}

fn resources(scenario: &Scenario, sum: &Counts, seconds: f64) -> Vec<Resource> {
    let cores = f64::from(scenario.cores);
    let cpu = Resource {
        name: "CPU".to_owned(),
        unit: "cores",
        limit: "cpu",
        used: sum.cpu_ns as f64 / seconds / SECOND as f64,
        ceiling: cores,
        waited_percent: None,
    };
    let log = sum.files.len() - 1;
    let mut all = vec![cpu];
    for ceiling in &scenario.storage.ceilings {
        let count = |file: usize, kind: Kind| {
            let counts = sum.files[file][usize::from(kind == Kind::Write)];
            (if ceiling.kind.is_of_bytes() { counts.bytes } else { counts.units }) as f64
        };
        let kinds: &[Kind] = match ceiling.kind {
            LimitKind::Iops | LimitKind::Bandwidth => &[Kind::Read, Kind::Write],
            LimitKind::ReadIops | LimitKind::ReadBandwidth => &[Kind::Read],
            LimitKind::WriteIops | LimitKind::WriteBandwidth => &[Kind::Write],
        };
        let used: f64 = ceiling.files.iter().flat_map(|file| kinds.iter().map(|kind| count(*file, *kind))).sum();
        let waits =
            [(Wait::Log, ceiling.files.contains(&log)), (Wait::Page, ceiling.files.iter().any(|file| *file != log))];
        let waited: u128 =
            waits.iter().filter(|(_, is_behind)| *is_behind).map(|(wait, _)| sum.waits_ns[*wait as usize]).sum();
        all.push(Resource {
            name: ceiling.name.clone(),
            unit: if ceiling.kind.is_of_bytes() { "bytes/s" } else { "I/Os/s" },
            limit: ceiling.limit,
            used: used / seconds,
            ceiling: ceiling.per_s,
            waited_percent: Some(100.0 * waited as f64 / sum.response_ns as f64),
        });
    }
    all.sort_by(|one, other| other.percent().total_cmp(&one.percent()));
    all
}
