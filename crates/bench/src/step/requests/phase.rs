//! A phase of requests, from the first that is due to the last answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::in_threads_while;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_load::monitor::{LOOK_EVERY, Monitor};
use plimsoll_load::phases::Phase;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::schedule::Schedule;
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Needed, Shared, State};
use plimsoll_measurement::event::{Kind, Second};
use plimsoll_measurement::{Moment, Phase as PhaseRecord, Stall, units};

use super::conditions::Conditions;
use super::plan::arrivals;
use super::threads::{jobs, threads};
use crate::interrupt::Interrupt;
use crate::step::context::{Keep, Target};
use crate::step::kind::{LEAST_FREE_BYTES, unfinished};
use crate::workload::many::Returns;
use crate::workload::request::Workload;
use crate::workload::session::{Losses, Sessions, Slot};

/// Recorders that the sessions share at most: few, so that 2,000 sessions need no more memory than these.
const MOST_RECORDERS: u64 = 16;

/// Real time that threads have to start before the first request is due: so much, and so much for each.
const LEAD: Duration = Duration::from_millis(10);
const LEAD_OF_A_SESSION: Duration = Duration::from_micros(50);

/// The last answers are waited for as long as the requests were made, but at least so long...
const LEAST_PATIENCE: Duration = Duration::from_mins(1);
/// ... and are looked for in this rhythm.
const LOOK_FOR_ANSWERS: Duration = Duration::from_millis(5);

/// How often it is looked whether an interrupt has ended the sessions.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// Said where few threads were asked for and can't serve all sessions.
const EACH_ITS_OWN: &str = "each session has a thread of its own: few threads serve sessions on PostgreSQL without TLS, in real time on \
                            Linux, and only where no whole tables are loaded or read";

/// Said of a phase in which sessions lost the server, once it is there again: an error says that it stayed away.
const CAME_BACK: &str = "sessions lost the server during a repetition and came back: there is a gap in its series";

pub(super) struct Ran {
    pub recorder: Recorder,
    pub record: PhaseRecord,
    pub stalls: Vec<Stall>,
    pub percentiles: Vec<(Option<f64>, Option<f64>)>,
    pub needed: Vec<Needed>,
    pub outcome: Result<()>,
}

/// Runs a phase to its end: no request is under way any more, and what was due and not begun is given up.
pub(super) fn run(
    target: &mut Target<'_>,
    keep: &mut Keep<'_>,
    conditions: &Conditions<'_>,
    phase: &Phase,
    workload: &dyn Workload,
    slots: &mut [Slot],
    number: u64,
) -> Ran {
    let parameters = conditions.parameters;
    let (clock, interrupt) = (Arc::clone(keep.time.clock), keep.time.interrupt);
    let (seed, lasts) = (parameters.count("seed"), phase.lasts);
    let (label, is_virtual) = (keep.number(), keep.time.is_virtual());
    let lead = if is_virtual { Duration::ZERO } else { LEAD + LEAD_OF_A_SESSION * phase.sessions as u32 };
    let (repetition_start, start) = (keep.repetition_start, clock.now().after(lead));
    let end = start.after(lasts);
    let arrivals = arrivals(parameters);
    let schedule_seed = seed ^ label << 32 ^ number << 40;
    let schedule = phase.rate.map(|rate| Schedule::new(start, lasts, rate, arrivals, schedule_seed));
    let names = workload.kinds();
    let new = || Recorder::new(repetition_start, end, &names, schedule.is_some());
    let recorders: Vec<_> = (0..phase.sessions.min(MOST_RECORDERS)).map(|_| Mutex::new(new())).collect();
    let is_real = !is_virtual && !target.database.description().embedded;
    let slots = &mut slots[..phase.sessions as usize];
    let threads = threads(conditions, phase, slots, is_real);
    if threads.is_none() && parameters.choice("threads") == "few" {
        keep.warn(EACH_ITS_OWN);
    }
    let connect = target.replacements(target.workspace, conditions.access);
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: schedule.as_ref(),
        think: Think { mean: parameters.duration("think"), arrivals, seed: schedule_seed },
        start,
        end,
        recorders: &recorders,
        state: State::of(threads.unwrap_or(phase.sessions)),
    };
    let sessions = Sessions {
        clock: clock.as_ref(),
        interrupt,
        connect: &connect,
        end,
        kinds: &names,
        waits_for_answers: is_real,
        losses: Losses::default(),
    };
    let (shared, sessions) = (&shared, &sessions);
    let returns: Vec<Returns> = (0..threads.unwrap_or(0)).map(|_| Returns::default()).collect();
    // Each phase draws anew.
    let generator = |session| workload.generator(session, label | number << 48);
    let jobs = jobs(shared, sessions, slots, &returns, &generator);
    let mut monitor = Monitor::new(phase, &recorders, schedule.as_ref(), (repetition_start, start));
    let mut watched = Ok(());
    let ended = in_threads_while(&clock, jobs, || {
        watched = watch_over(target, keep, conditions, (shared, sessions), (&mut monitor, &names));
        if watched.is_err() {
            shared.state.stop();
        }
        watched = std::mem::replace(&mut watched, Ok(())).and(await_answers(shared, interrupt, lasts));
    });
    if ended.iter().any(std::result::Result::is_err) {
        shared.state.stop();
    }
    // A session that waits for its last answer may outlast the phase, and one without more to do may be done before. The phase
    // ends when it was to end, but where it was stopped.
    if !shared.state.is_stopped() {
        clock.sleep_until(end);
    }
    let stopped = if shared.state.is_stopped() { shared.state.ended().min(end) } else { end };
    let (last, point) = monitor.look(stopped, true);
    if last.operations + last.errors > 0 {
        tell_second(keep, shared, sessions, last);
    }
    let kept = point.map_or(Ok(()), |point| keep.point(point));
    let mut recorder = new();
    for part in &recorders {
        recorder.merge(&part.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let seconds = stopped.since(start).as_secs_f64();
    let backlog = schedule.as_ref().map(|schedule| schedule.backlog(stopped));
    let mut needed = Vec::with_capacity(ended.len());
    let mut outcome = watched.and(kept);
    for ended in ended {
        let (of_session, own) = ended.unwrap_or_else(|why| (Err(unfinished(why)), Needed::default()));
        outcome = outcome.and(of_session);
        // Who only connects sessions again makes no requests.
        if own.slots > 0 {
            needed.push(own);
        }
    }
    let started = start.since(repetition_start).as_secs_f64();
    if outcome.is_ok() && sessions.losses.count() > 0 {
        keep.warn(CAME_BACK);
    }
    let record = phase.record(&recorder, started, seconds, backlog);
    let due = |at: f64| schedule.as_ref().map_or(f64::INFINITY, |schedule| schedule.due(at - started));
    let stalls = recorder.stalls(started, started + seconds, schedule.is_some().then_some(&due));
    Ran { recorder, record, stalls, percentiles: monitor.percentiles, needed, outcome }
}

/// Looks after a phase while the sessions work: shows how it goes, keeps what is finished, and takes the lease again when
/// the server was lost and is back.
fn watch_over(
    target: &mut Target<'_>,
    keep: &mut Keep<'_>,
    conditions: &Conditions<'_>,
    (shared, sessions): (&Shared<'_>, &Sessions<'_>),
    (monitor, kinds): (&mut Monitor<'_>, &[String]),
) -> Result<()> {
    let clock = Arc::clone(keep.time.clock);
    let at_most = conditions.parameters.bytes("at_most");
    let (mut losses, mut lost_since, mut next_try) = (0, None, shared.start);
    let mut look = shared.start.after(LOOK_EVERY);
    while shared.state.is_working() && look <= shared.end {
        sleep_until(look, shared, sessions.interrupt);
        // What a killed program leaves, by kind; its seconds have at least as much. In virtual time a minute is over at once.
        let is_told = clock.kind() != "virtual" && keep.log.is_kept() && monitor.is_to_be_kept();
        let so_far = is_told.then(|| monitor.so_far(kinds, keep.repetition));
        let (second, point) = monitor.look(look, false);
        tell_second(keep, shared, sessions, second);
        keep.samples_so_far();
        if let Some(so_far) = so_far {
            keep.log.tell(Kind::Repetition(Box::new(so_far)))?;
        }
        if let Some(point) = point {
            keep.point(point)?;
        }
        if conditions.is_bulk && monitor.content_bytes() > at_most {
            let (loaded, seconds) = (units::format_bytes(monitor.content_bytes()), look.since(shared.start).as_secs());
            keep.warn(format!(
                "bulk loads ended after {seconds} s: they had added {loaded}, and 'at_most' sets a limit"
            ));
            shared.state.stop();
            return Ok(());
        }
        if let Some(free) = target.database.free_bytes().filter(|free| *free < LEAST_FREE_BYTES) {
            let free = units::format_bytes(free);
            return Err(Error::new(ErrorKind::DiskFull, format!("only {free} are left on the target's disk"))
                .hint("free some space; if the requests took it, make them for a shorter time"));
        }
        keep.tell_losses(target.lease)?;
        let lost = sessions.losses.count();
        if lost > losses && clock.now() >= next_try {
            let since = *lost_since.get_or_insert(look);
            match target.lease.renew() {
                Ok(()) => {
                    losses = lost;
                    sessions.losses.renewed(lost);
                    lost_since = None;
                    keep.gap(since, clock.now(), "sessions lost the server");
                    keep.warn(CAME_BACK);
                }
                // Not back yet.
                Err(error)
                    if error.retry_after.is_some() || matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect) =>
                {
                    next_try = clock.now().after(error.retry_after.unwrap_or_default());
                }
                Err(error) => return Err(error),
            }
        }
        look = look.after(LOOK_EVERY);
    }
    Ok(())
}

/// Sleeps until the next look, unless an interrupt has ended the sessions.
fn sleep_until(look: Moment, shared: &Shared<'_>, interrupt: &Interrupt) {
    let clock = shared.clock;
    while clock.kind() != "virtual" && clock.now().after(INTERRUPT_EVERY) < look {
        clock.sleep(INTERRUPT_EVERY);
        if interrupt.signal().is_some() && !shared.state.is_working() {
            return;
        }
    }
    clock.sleep_until(look);
}

fn tell_second(keep: &mut Keep<'_>, shared: &Shared<'_>, sessions: &Sessions<'_>, second: Second) {
    let repetition = keep.repetition.label.clone();
    let total_seconds = Some(shared.end.since(shared.start).as_secs_f64());
    let lost_sessions = sessions.losses.lost();
    keep.log.note(Kind::Second(Second { repetition, total_seconds, lost_sessions, ..second }));
}

/// Waits for the last answers, and breaks the sessions' lines where they don't come: a server may be frozen. On modelled
/// hardware every answer comes, and to wait for it would take its time.
fn await_answers(shared: &Shared<'_>, interrupt: &Interrupt, lasts: Duration) -> Result<()> {
    if shared.clock.kind() == "virtual" {
        return Ok(());
    }
    let patience = lasts.max(LEAST_PATIENCE);
    let last = shared.end.after(patience);
    while shared.state.is_working() && shared.clock.now() < last {
        shared.clock.sleep(LOOK_FOR_ANSWERS);
    }
    if !shared.state.is_working() {
        return Ok(());
    }
    shared.state.stop();
    interrupt.sever_running();
    let message = format!("the server did not answer within {} s after the end of the requests", patience.as_secs());
    Err(Error::new(ErrorKind::Lost, message)
        .hint("see why the server hangs; requests that take so long need a 'duration' that is longer than they do"))
}
