//! Layouts under load, on the models of their blobs: operations come at random at the rates that were seen, and each file is a disk with its own
//! limits and latency. It is a check of the wait by which layouts are searched, with an interval over seeds.

use plimsoll_analysis::interval::{Interval, interval};
use plimsoll_catalog::DiskLevel;
use plimsoll_hardware::{BoughtVolume, Io, Kind, Layout as Disks, Machine, Role};
use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use crate::layout::{Layout, Need, Rules};
use crate::storage::{Step, Storage};

/// Bytes in a MB.
const MB: f64 = (1 << 20) as f64;

/// Load of so many seconds: some thousand operations even of a quiet log.
const SECONDS: f64 = 20.0;

const CONFIDENCE: f64 = 0.95;

/// Seeds over which an interval goes.
pub const SEEDS: u64 = 5;

/// How long operations of a layout take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// At the data files, in ms, over the seeds. Absent where nothing is read or written there.
    pub data_ms: Option<Interval>,
    /// At the log, likewise.
    pub log_ms: Option<Interval>,
}

/// Tries a layout with seeds from `first` on.
pub fn trial(need: &Need, layout: &Layout, storage: &Storage<'_>, rules: &Rules, first: u64) -> Trial {
    let seeds = || first..first + SEEDS;
    let over = |means: Vec<Option<f64>>| {
        let means: Vec<f64> = means.into_iter().flatten().collect();
        interval(&means, CONFIDENCE)
    };
    Trial {
        data_ms: over(seeds().map(|seed| data_ms(need, layout, storage, rules, seed)).collect()),
        // What holds such a log is not in the model.
        log_ms: over(
            seeds()
                .filter(|_| !need.is_log_held)
                .map(|seed| file_ms(need.log, &layout.log_step, storage, seed))
                .collect(),
        ),
    }
}

/// Mean time of an operation at the data files: the busiest does more than the others.
fn data_ms(need: &Need, layout: &Layout, storage: &Storage<'_>, rules: &Rules, seed: u64) -> Option<f64> {
    let files = f64::from(layout.data_files);
    let busiest = if layout.data_files > 1 { rules.imbalance / files } else { 1.0 };
    let others = if layout.data_files > 1 { (1.0 - busiest) / (files - 1.0) } else { 0.0 };
    let mut all = (0.0, 0.0);
    for file in 0..layout.data_files {
        let share = if file == 0 { busiest } else { others };
        let of_file = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(file));
        let ms = file_ms(need.data.map(|rate| rate * share), &layout.data_step, storage, of_file)?;
        all = (all.0 + share * ms, all.1 + share);
    }
    Some(all.0 / all.1)
}

/// Mean time of an operation at a file, in ms. `None` where nothing is done there, or no model is known.
pub fn file_ms([iops, mb_per_s]: [f64; 2], step: &Step, storage: &Storage<'_>, seed: u64) -> Option<f64> {
    if iops <= 0.0 {
        return None;
    }
    let mut machine = machine(level(step, storage)?, seed)?;
    let device = machine.device(Role::Data);
    let io = Io { kind: Kind::Write, offset: 0, bytes: (mb_per_s * MB / iops).max(512.0) as u64 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut now_s, mut count, mut waited_s) = (0.0, 0_u64, 0.0);
    loop {
        // The time to the next of independent operations is exponential.
        let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        now_s -= (1.0 - part).ln() / iops;
        if now_s > SECONDS {
            break;
        }
        let now = Moment::from_nanos((now_s * 1e9) as u64);
        let done = machine.submit(now, device, io);
        waited_s += done.at.since(now).as_secs_f64();
        count += 1;
    }
    (count > 0).then(|| 1e3 * waited_s / count as f64)
}

fn level<'s>(step: &Step, storage: &'s Storage<'_>) -> Option<&'s DiskLevel> {
    storage.files.levels.iter().find(|level| ((level.size_bytes >> 30) as f64 - step.blob_gb).abs() < 0.5)
}

fn machine(level: &DiskLevel, seed: u64) -> Option<Machine> {
    let volume = BoughtVolume { disk: level, count: 1, layout: Disks::Single, vm: None, account: None };
    let spec = volume.spec().ok()?;
    Some(Machine::new(&spec, seed).unmetered())
}
