//! What is done in a cell by lanes of one kind, on a part of the file: the cell's own operations, or some beside them.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_load::phases::Phase;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::{Rate, Schedule};
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Needed, Shared, State, work};
use plimsoll_measurement::{Moment, Phase as PhaseRecord, Stall, SyncMode};

use crate::buffer::Buffers;
use crate::engine::IoEngine;
use crate::lanes::{ModelledLane, PoolLane, kinds};
use crate::medium::{Medium, Opened};
use crate::modelled::Volume;
use crate::offsets::{Draw, Region};
use crate::plan::CellPlan;

/// What the operations of one kind came to.
pub struct Came {
    /// All operations that count.
    pub recorder: Recorder,
    /// The same as the record keeps it.
    pub record: PhaseRecord,
    /// Times in which no operation completed.
    pub stalls: Vec<Stall>,
    /// What each thread needed, warm-up included.
    pub needed: Vec<Needed>,
}

/// What all cells of a run have in common.
pub struct Conditions<'a> {
    /// What they work on.
    pub medium: &'a Medium,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Whether what is read is checked against what was written.
    pub verify: bool,
}

/// The moments of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// When its repetition began.
    pub repetition_start: Moment,
    /// When its operations begin.
    pub begin: Moment,
    /// From when on they count.
    pub from: Moment,
    /// When no more of them begins.
    pub end: Moment,
}

/// A lane before its thread begins.
pub enum Start<'a> {
    /// On the test file.
    File { file: Arc<File>, engine: IoEngine, buffers: Buffers, draw: Draw },
    /// On a modelled volume, for all threads of the cell.
    Modelled { volume: &'a Volume, draws: Vec<Draw> },
}

/// Lanes of one kind, with what records them.
pub struct Member<'a> {
    pub plan: &'a CellPlan,
    /// What each lane begins with, until it is given to its thread.
    pub starts: Vec<Start<'a>>,
    pub recorders: Vec<Mutex<Recorder>>,
    pub schedule: Option<Schedule>,
    seed: u64,
    /// A recorder that nothing was recorded with.
    empty: Recorder,
}

impl<'a> Member<'a> {
    /// Lanes on a part of the file, given by its beginning and its bytes. What they draw depends on the seed and on `place`.
    pub fn new(conditions: &Conditions<'a>, plan: &'a CellPlan, part: (u64, u64), place: u64) -> Result<Self> {
        let starts = starts(conditions, plan, part, place)?;
        let (recorders, empty) = (Vec::new(), Recorder::default());
        Ok(Self { plan, starts, recorders, schedule: None, seed: conditions.seed, empty })
    }

    /// Makes what depends on when operations begin.
    pub fn begins(&mut self, moments: Moments, seed: u64) {
        let Moments { repetition_start, begin, from, end } = moments;
        let schedule = |rate| Schedule::new(begin, end.since(begin), rate, self.plan.arrivals, seed);
        self.schedule = self.plan.rate_per_s.map(Rate::constant).map(schedule);
        let names = kinds(&self.plan.cell);
        self.empty = Recorder::new(repetition_start, end, &names, self.schedule.is_some()).counting_from(from);
        self.recorders = self.starts.iter().map(|_| Mutex::new(self.empty.clone())).collect();
    }

    /// What its workers share.
    pub fn shared<'b>(&'b self, clock: &'b dyn Clock, moments: Moments) -> Shared<'b> {
        Shared {
            clock,
            schedule: self.schedule.as_ref(),
            think: Think { mean: Duration::ZERO, arrivals: self.plan.arrivals, seed: self.seed },
            start: moments.begin,
            end: moments.end,
            recorders: &self.recorders,
            state: State::of(self.recorders.len() as u64),
        }
    }

    /// The same in the words of the load engine.
    pub fn phase(&self, lasts: Duration) -> Phase {
        let cell = &self.plan.cell;
        Phase {
            label: Some(cell.label.clone()),
            sessions: u64::from(cell.threads) * u64::from(cell.queue_depth),
            rate: self.plan.rate_per_s.map(Rate::constant),
            batch_rows: 1,
            lasts,
        }
    }

    /// What it came to, with what its threads needed.
    pub fn came(&self, phase: &Phase, moments: Moments, stopped: Moment, needed: Vec<Needed>) -> Came {
        let Moments { repetition_start, begin, from, .. } = moments;
        let mut recorder = self.empty.clone();
        for part in &self.recorders {
            recorder.merge(&part.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let schedule = self.schedule.as_ref();
        let started = from.since(repetition_start).as_secs_f64();
        let seconds = stopped.since(from).as_secs_f64();
        let before = begin.since(repetition_start).as_secs_f64();
        let due = |at: f64| schedule.map_or(f64::INFINITY, |schedule| schedule.due(at - before));
        let stalls = recorder.stalls(started, started + seconds, schedule.is_some().then_some(&due));
        let record = phase.record(&recorder, started, seconds, schedule.map(|schedule| schedule.backlog(stopped)));
        Came { recorder, record, stalls, needed }
    }
}

/// Lanes with all that can be made before their time runs: a thread's ring, or a thread for each operation under way.
fn starts<'a>(conditions: &Conditions<'a>, plan: &CellPlan, part: (u64, u64), place: u64) -> Result<Vec<Start<'a>>> {
    let (cell, medium) = (&plan.cell, conditions.medium);
    let alignment = medium.alignment();
    if !cell.block_bytes.is_multiple_of(alignment) {
        return Err(misaligned(cell.block_bytes, alignment));
    }
    let regions = Region::of(cell, part.0, part.1).ok_or_else(|| {
        let message = format!("the test file is too small for {} threads of {cell}", cell.threads);
        Error::new(ErrorKind::Usage, message).hint("ask for a larger file with --size, or for fewer threads")
    })?;
    let seed_of = |lane: u64| conditions.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place ^ lane << 48;
    let (file, engine) = match medium.open(cell.sync.known().unwrap_or(SyncMode::None))? {
        Opened::File(file, engine) => (file, engine),
        Opened::Modelled(volume) => {
            let draw = |(region, thread)| Draw::new(cell, region, seed_of(thread) ^ 1);
            return Ok(vec![Start::Modelled { volume, draws: regions.into_iter().zip(0..).map(draw).collect() }]);
        }
    };
    let (lanes, slots) = match engine {
        IoEngine::Uring => (1, cell.queue_depth as usize),
        IoEngine::Pool => (cell.queue_depth, 1),
    };
    let of_thread = |(thread, region): (usize, Arc<Region>)| {
        let file = Arc::clone(&file);
        (0..lanes).map(move |lane| {
            let seed = seed_of(u64::from(lane) + u64::from(lanes) * thread as u64);
            let buffers = Buffers::new(slots, cell.operation_bytes() as usize, seed);
            Start::File {
                file: Arc::clone(&file),
                engine,
                buffers: if conditions.verify { buffers.verified(conditions.seed) } else { buffers },
                draw: Draw::new(cell, Arc::clone(&region), seed ^ 1),
            }
        })
    };
    Ok(regions.into_iter().enumerate().flat_map(of_thread).collect())
}

/// Why a block can't be used past the page cache.
pub fn misaligned(block_bytes: u64, alignment: u64) -> Error {
    let plural = if block_bytes == 1 { "" } else { "s" };
    let message = format!(
        "blocks of {block_bytes} byte{plural} can't pass the page cache (O_DIRECT), which takes multiples of {alignment}"
    );
    Error::new(ErrorKind::Usage, message)
        .hint("choose another block, or measure through the page cache with --buffered")
}

/// The work of a thread.
pub fn lane_of(shared: &Shared<'_>, plan: &CellPlan, start: Start<'_>, lane: u64) -> (Result<()>, Needed) {
    let (clock, cell) = (shared.clock, &plan.cell);
    let (file, engine, buffers, draw) = match start {
        Start::File { file, engine, buffers, draw } => (file, engine, buffers, draw),
        Start::Modelled { volume, draws } => {
            return work(shared, &mut ModelledLane::new(clock, cell, volume, draws), lane);
        }
    };
    match engine {
        IoEngine::Pool => work(shared, &mut PoolLane::new(clock, cell, file, buffers, draw), lane),
        #[cfg(target_os = "linux")]
        IoEngine::Uring => {
            let own = file.try_clone().map_err(|error| {
                Error::new(ErrorKind::Statement, format!("cannot use the test file: {error}")).hint("see 'ulimit -n'")
            });
            let ring = own.and_then(|own| crate::lanes::UringLane::new(clock, cell, own, buffers, draw));
            match ring {
                Ok(mut ring) => work(shared, &mut ring, lane),
                Err(error) => {
                    shared.state.no_lane();
                    (Err(error), Needed::default())
                }
            }
        }
        #[cfg(not(target_os = "linux"))]
        IoEngine::Uring => (Err(crate::lanes::no_ring()), Needed::default()),
    }
}
