//! One cell: lanes on the load engine for as long as it lasts, first to warm up and then to be measured, without a pause between.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_bench::step::context::Keep;
use plimsoll_bench::step::kind::unfinished;
use plimsoll_clock::in_threads_while;
use plimsoll_engine::{Error, ErrorKind, Result, process};
use plimsoll_load::monitor::{LOOK_EVERY, Monitor};
use plimsoll_load::phases::Phase;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::{Rate, Schedule};
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Needed, Shared, State, work};
use plimsoll_measurement::event::{Kind, Second};
use plimsoll_measurement::{Moment, Phase as PhaseRecord, Stall};

use crate::buffer::Buffers;
use crate::engine::IoEngine;
use crate::file::{HEADER_BYTES, TestFile};
use crate::lanes::{PoolLane, kinds};
use crate::offsets::{Draw, Region};
use crate::plan::CellPlan;

/// Time that threads have to start and to make their rings: so much, and so much for each.
const LEAD: Duration = Duration::from_millis(20);
const LEAD_OF_A_THREAD: Duration = Duration::from_micros(100);

/// How often it is looked whether an interrupt ends the cell.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// What a cell came to.
pub struct Ran {
    /// All operations that count.
    pub recorder: Recorder,
    /// The same as the record keeps it.
    pub record: PhaseRecord,
    /// Times in which no operation completed.
    pub stalls: Vec<Stall>,
    /// Of each second, from the first that counts.
    pub percentiles: Vec<(Option<f64>, Option<f64>)>,
    /// What each thread needed, warm-up included.
    pub needed: Vec<Needed>,
    /// CPU time of our whole process while operations counted.
    pub cpu_seconds: f64,
    /// Whether it came to its end.
    pub outcome: Result<()>,
}

/// What all cells of a run have in common.
pub struct Conditions<'a> {
    /// The test file.
    pub file: &'a TestFile,
    /// By what operations are made.
    pub engine: IoEngine,
    /// Seed of all that is drawn.
    pub seed: u64,
}

/// A lane before its thread begins: what it needs, by number.
struct Start {
    buffers: Buffers,
    draw: Draw,
}

/// Runs a cell to its end.
///
/// # Errors
/// If it can't begin. What happens later is the outcome.
pub fn run(keep: &mut Keep<'_>, conditions: &Conditions<'_>, plan: &CellPlan, number: u64) -> Result<Ran> {
    let Conditions { file, engine, .. } = conditions;
    let cell = &plan.cell;
    let starts = starts(conditions, plan, keep.number() << 32 | number << 16)?;
    let opened = file.open(cell.sync.known().unwrap_or(plimsoll_measurement::SyncMode::None))?;
    // What an earlier cell left in memory would be read from there; past the page cache there is nothing in it.
    file.drop_cache();
    let clock = Arc::clone(keep.time.clock);
    let begin = clock.now().after(LEAD + LEAD_OF_A_THREAD * starts.len() as u32);
    let from = begin.after(plan.warm_up);
    let end = from.after(plan.duration);
    let rate = plan.rate_per_s.map(Rate::constant);
    let lasts = plan.warm_up + plan.duration;
    let schedule = rate.map(|rate| Schedule::new(begin, lasts, rate, plan.arrivals, conditions.seed ^ number));
    let names = kinds(cell);
    let new = || Recorder::new(keep.repetition_start, end, &names, schedule.is_some()).counting_from(from);
    let recorders: Vec<_> = starts.iter().map(|_| Mutex::new(new())).collect();
    let mut sum = new();
    let repetition_start = keep.repetition_start;
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: schedule.as_ref(),
        think: Think { mean: Duration::ZERO, arrivals: plan.arrivals, seed: conditions.seed },
        start: begin,
        end,
        recorders: &recorders,
        state: State::of(starts.len() as u64),
    };
    let opened = Arc::new(opened);
    let shared = &shared;
    let jobs: Vec<_> = starts
        .into_iter()
        .zip(0..)
        .map(|(start, lane)| {
            let file = Arc::clone(&opened);
            (format!("disk {lane}"), move || lane_of(shared, plan, *engine, file, start, lane))
        })
        .collect();
    let phase = Phase {
        label: Some(cell.label.clone()),
        sessions: u64::from(cell.threads) * u64::from(cell.queue_depth),
        rate,
        batch_rows: 1,
        lasts: plan.duration,
    };
    let mut monitor = Monitor::new(&phase, &recorders, schedule.as_ref(), (repetition_start, from));
    let (mut watched, mut cpu_seconds) = (Ok(()), 0.0);
    let ended = in_threads_while(&clock, jobs, || {
        watched = watch_over(keep, shared, (from, end), &mut monitor, &mut cpu_seconds);
        if watched.is_err() {
            shared.state.stop();
        }
    });
    let stopped = if shared.state.is_stopped() { shared.state.ended().max(from).min(end) } else { end };
    monitor.look(stopped, true);
    let (mut outcome, mut needed) = (watched, Vec::with_capacity(ended.len()));
    for ended in ended {
        let (of_lane, own) = ended.unwrap_or_else(|why| (Err(unfinished(why)), Needed::default()));
        outcome = outcome.and(of_lane);
        needed.push(own);
    }
    for part in &recorders {
        sum.merge(&part.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let (started, seconds) = (keep.seconds_since_start(from), stopped.since(from).as_secs_f64());
    let backlog = schedule.as_ref().map(|schedule| schedule.backlog(stopped));
    let before = begin.since(repetition_start).as_secs_f64();
    let due = |at: f64| schedule.as_ref().map_or(f64::INFINITY, |schedule| schedule.due(at - before));
    let stalls = sum.stalls(started, started + seconds, schedule.is_some().then_some(&due));
    let record = phase.record(&sum, started, seconds, backlog);
    let percentiles = monitor.percentiles;
    Ok(Ran { recorder: sum, record, stalls, percentiles, needed, cpu_seconds, outcome })
}

/// Lanes with all that can be made before their time runs: a thread's ring, or a thread for each operation under way.
fn starts(conditions: &Conditions<'_>, plan: &CellPlan, place: u64) -> Result<Vec<Start>> {
    let (cell, file) = (&plan.cell, conditions.file);
    let alignment = file.alignment();
    if !cell.block_bytes.is_multiple_of(alignment) {
        return Err(misaligned(cell.block_bytes, alignment));
    }
    let regions = Region::of(cell, HEADER_BYTES, file.bytes()).ok_or_else(|| {
        let message = format!("the test file is too small for {} threads of {cell}", cell.threads);
        Error::new(ErrorKind::Usage, message).hint("ask for a larger file with --size, or for fewer threads")
    })?;
    let (lanes, slots) = match conditions.engine {
        IoEngine::Uring => (1, cell.queue_depth as usize),
        IoEngine::Pool => (cell.queue_depth, 1),
    };
    let of_thread = |(thread, region): (usize, Arc<Region>)| {
        (0..lanes).map(move |lane| {
            let lane = u64::from(lane) + u64::from(lanes) * thread as u64;
            let seed = conditions.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place ^ lane << 48;
            Start {
                buffers: Buffers::new(slots, cell.block_bytes as usize, seed),
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
        "blocks of {block_bytes} byte{plural} can't pass the page cache (O_DIRECT): the file system takes multiples of {alignment}"
    );
    Error::new(ErrorKind::Usage, message)
        .hint("choose another block, or measure through the page cache with --buffered")
}

/// The work of a thread.
fn lane_of(
    shared: &Shared<'_>,
    plan: &CellPlan,
    engine: IoEngine,
    file: Arc<std::fs::File>,
    start: Start,
    lane: u64,
) -> (Result<()>, Needed) {
    let (clock, cell) = (shared.clock, &plan.cell);
    let Start { buffers, draw } = start;
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
                    shared.state.stop();
                    (Err(error), Needed::default())
                }
            }
        }
        #[cfg(not(target_os = "linux"))]
        IoEngine::Uring => (Err(crate::lanes::no_ring()), Needed::default()),
    }
}

/// Shows how the cell goes, looks for an interrupt, and says what the process needed from `from` to `end`.
fn watch_over(
    keep: &mut Keep<'_>,
    shared: &Shared<'_>,
    (from, end): (Moment, Moment),
    monitor: &mut Monitor<'_>,
    cpu_seconds: &mut f64,
) -> Result<()> {
    sleep_until(from, shared, keep)?;
    let before = process::own_cpu_seconds();
    let mut look = from;
    while look < end && !shared.state.is_stopped() {
        look = look.after(LOOK_EVERY).min(end);
        sleep_until(look, shared, keep)?;
        // Whoever looks at the end counts what is under way twice; the cell does so when all has ended.
        if look < end {
            let (second, _) = monitor.look(look, false);
            let repetition = keep.repetition.label.clone();
            let total_seconds = Some(end.since(from).as_secs_f64());
            keep.log.note(Kind::Second(Second { repetition, total_seconds, ..second }));
        }
    }
    *cpu_seconds = process::own_cpu_seconds() - before;
    Ok(())
}

fn sleep_until(moment: Moment, shared: &Shared<'_>, keep: &Keep<'_>) -> Result<()> {
    let clock = shared.clock;
    while clock.now() < moment && !shared.state.is_stopped() {
        keep.time.interrupt.check()?;
        clock.sleep_until(clock.now().after(INTERRUPT_EVERY).min(moment));
    }
    keep.time.interrupt.check()
}
