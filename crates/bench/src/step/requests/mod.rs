//! Requests from outside, one by one, as an application makes them (reference, 2.1 to 2.8, 2.12): tables that are loaded
//! anew for every repetition, sessions that work for a given time in every phase, and what their requests came to.

mod tables;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::in_threads_while;
use plimsoll_engine::{Database, Error, ErrorKind, RequestAccess, Requester, Result, Workspace};
use plimsoll_measurement::event::{Kind, Second};
use plimsoll_measurement::{LatencyHistogram, Moment, Phase as PhaseRecord, RequestKind, Stall, units};

use self::tables::{on_rows, provision, rehearsal, wanted};
use super::custom::Prepared;
use super::{Context, Measure, contradiction};
use crate::interrupt::Interrupt;
use crate::load::custom::Ready;
use crate::load::mix::Kind as RequestClass;
use crate::load::plan::{plan, search};
use crate::load::rehearsal::rehearse;
use crate::load::request::Workload;
use crate::load::rows::Target;
use crate::load::session::{Losses, SessionLane, Sessions, Slot};
use plimsoll_load::client::{ClientMonitor, Told, Where};
use plimsoll_load::monitor::{LOOK_EVERY, Monitor};
use plimsoll_load::phases::Phase;
use plimsoll_load::recorder::{AllTimes, Recorder, Sums};
use plimsoll_load::schedule::{Arrivals, Rate, Schedule};
use plimsoll_load::think::Think;
use plimsoll_load::worker::{Needed, Shared, State, work};

/// A run in which more requests fail is not valid (reference, A20).
const MOST_FAILED_PERCENT: f64 = 1.0;

/// Recorders that the sessions share at most: few, so that 2,000 sessions need no more memory than these.
const MOST_RECORDERS: u64 = 16;

/// Where the target's free space can be seen, requests end before less is left.
const LEAST_FREE: u64 = 256 << 20;

/// Real time that threads have to start before the first request is due: so much, and so much for each.
const LEAD: Duration = Duration::from_millis(10);
const LEAD_OF_A_SESSION: Duration = Duration::from_micros(50);

/// The last answers are waited for as long as the requests were made, but at least so long...
const LEAST_PATIENCE: Duration = Duration::from_mins(1);
/// ... and are looked for in this rhythm.
const LOOK_FOR_ANSWERS: Duration = Duration::from_millis(5);

/// Said of a phase in which sessions lost the server, once it is there again: an error says that it stayed away.
const CAME_BACK: &str = "sessions lost the server during a repetition and came back: there is a gap in its series";

#[derive(Default)]
pub(super) struct Requests {
    client: ClientMonitor,
    own: Option<Prepared>,
}

impl Measure for Requests {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let phases = plan(context.parameters).map_err(|problem| Error::new(ErrorKind::Usage, problem))?;
        if let Some(own) = context.own {
            self.own.insert(Prepared::new(own)).prepare(context)?;
        } else {
            let wanted = wanted(context);
            if i32::try_from(wanted.rows).is_err() {
                return Err(crate::dataset::too_many_rows());
            }
            context.facts.insert("tables".to_owned(), wanted.tables.into());
            context.facts.insert("rows_per_table".to_owned(), wanted.rows.into());
        }
        let is_virtual = context.clock.kind() == "virtual";
        let idle_ns = if is_virtual { None } else { self.rehearse(context, &phases[0])? };
        let is_embedded = context.database.description().embedded;
        self.client = ClientMonitor::new(Where { is_virtual, is_embedded, cpus: context.cpus }, idle_ns);
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let (own, access, targets) = match &self.own {
            Some(prepared) => (Some(prepared.ready()?), prepared.access(), settled(context)?),
            None => (None, RequestAccess::OWN, provision(context)?),
        };
        let phases = plan(context.parameters).map_err(contradiction)?;
        let most = phases.iter().map(|phase| phase.sessions).max().unwrap_or(1);
        let connect = context.requesters(access);
        let mut slots = (0..most).map(|_| connect().map(Slot::new)).collect::<Result<Vec<_>>>()?;
        context.begin();
        let names = match own {
            Some(own) => own.kinds(),
            None => on_rows(context.mix, context.parameters, &targets, &phases[0])?.kinds(),
        };
        let scheduled = phases[0].rate.is_some() || !context.parameters.duration("goal").is_zero();
        let mut sum = Recorder::new(context.repetition_start, Moment::from_nanos(u64::MAX), &names, scheduled);
        let mut percentiles = Vec::new();
        let mut outcome = Ok(());
        let mut search = search(context.parameters);
        let mut rest = phases.iter();
        let mut tried = 0;
        let are_batches = phases.iter().any(|phase| phase.batch_rows > 1);
        // Of a search those phases alone that held: the others were to break.
        let mut judged = Sums::default();
        // Of a search the highest rate that held in all its tries.
        let mut found: Option<(f64, Vec<RequestKind>)> = None;
        while outcome.is_ok() {
            let phase = match &mut search {
                Some(search) => search.propose().map(|rate| phases[0].at_rate(rate)),
                None => rest.next().cloned(),
            };
            let Some(phase) = phase else { break };
            let rows;
            let workload: &dyn Workload = if let Some(own) = own {
                own
            } else {
                rows = on_rows(context.mix, context.parameters, &targets, &phase)?;
                &rows
            };
            tried += 1;
            let of_phase = run(context, &phase, (workload, access), &mut slots, tried);
            let (recorder, mut record) = (&of_phase.recorder, of_phase.record);
            let mut held = None;
            if let (Some(search), Some(rate)) = (&mut search, phase.rate) {
                let holds = search.holds(&recorder.times().times, record.backlog.unwrap_or(0), record.errors);
                record.holds = Some(holds);
                held = Some(search.tell(rate.mean(), holds));
                if held == Some(true) && found.as_ref().is_none_or(|(best, _)| record.rate > *best) {
                    found = Some((record.rate, recorder.kinds()));
                }
            } else if let Some(backlog) = record.backlog.filter(|backlog| *backlog > 0) {
                let rate = phase.rate.map(|rate| rate.to_string()).unwrap_or_default();
                let rate = rate.trim_end_matches("/s");
                context.warn(format!(
                    "the target was too slow for {rate} requests a second: {backlog} of a repetition were due and not begun \
                     at the end"
                ));
            }
            let rank = if are_batches { record.mb_per_minute.unwrap_or(0.0) } else { record.rate };
            let repetition = context.repetition.label.as_str();
            let told = Told { repetition, phase: context.repetition.phases.len(), seconds: record.seconds, rank, held };
            let lags = [recorder.lag().map(|lag| &lag.slept), recorder.pickup()];
            self.client.phase(told, &of_phase.needed, lags);
            if record.holds != Some(false) {
                judged = judged.plus(recorder.sums());
            }
            sum.merge(recorder);
            let first = record.started_seconds as usize;
            percentiles.resize(first.max(percentiles.len()), (None, None));
            percentiles.truncate(first);
            percentiles.extend(of_phase.percentiles);
            context.repetition.stalls.extend(of_phase.stalls);
            outcome = of_phase.outcome.and(context.keep_phase(record));
        }
        if search.is_some() && found.is_none() {
            let label = context.repetition.label.clone();
            context.warn(format!("no rate that was tried in repetition {label} met the goal in all its tries"));
        }
        for slot in &slots {
            let traffic = slot.requester.as_deref().and_then(Requester::traffic);
            self.client.traffic(traffic.map(|traffic| (traffic.sent_bytes, traffic.received_bytes)));
        }
        drop(slots);
        *context.client = Some(self.client.client());
        context.repetition.requests = found.map_or_else(|| sum.kinds(), |(_, kinds)| kinds);
        context.repetition.seconds = sum.seconds(&percentiles);
        outcome?;
        context.interrupt.check()?;
        for kind in own.into_iter().flat_map(Ready::seeking) {
            let found = context.repetition.requests.iter().find(|found| found.kind == kind);
            if let Some(found) = found.filter(|found| found.rows < found.operations / 2) {
                context.warn(format!(
                    "most requests '{kind}' touched no row ({} rows for {} requests): do its parameters draw what is in the tables?",
                    found.rows, found.operations
                ));
            }
        }
        valid(&sum, judged).map_err(|error| match own.and_then(Ready::server_error) {
            Some(first) => Error { message: format!("{}; the first: {first}", error.message), ..error },
            None => error,
        })
    }

    fn finish(&mut self, database: &dyn Database, workspace: &Workspace) -> Result<()> {
        self.own.take().map_or(Ok(()), |own| own.clean_up(database, workspace))
    }
}

impl Requests {
    /// What a request costs the client by itself.
    fn rehearse(&self, context: &Context<'_>, phase: &Phase) -> Result<Option<f64>> {
        if let Some(own) = &self.own {
            return Ok(rehearse(own.rehearsal()?));
        }
        let targets = [rehearsal(context)?];
        Ok(rehearse(&on_rows(context.mix, context.parameters, &targets, phase)?))
    }
}

/// Tables of the user's own are not loaded anew: nothing is to be done but to wait.
fn settled(context: &mut Context<'_>) -> Result<Vec<Target>> {
    if !context.settle.is_zero() {
        context.wait(context.settle)?;
    }
    Ok(Vec::new())
}

/// What a phase came to.
struct Ran {
    recorder: Recorder,
    record: PhaseRecord,
    stalls: Vec<Stall>,
    percentiles: Vec<(Option<f64>, Option<f64>)>,
    needed: Vec<Needed>,
    outcome: Result<()>,
}

/// Runs a phase to its end: no request is under way any more, and what was due and not begun is given up.
fn run(
    context: &mut Context<'_>,
    phase: &Phase,
    (workload, access): (&dyn Workload, RequestAccess),
    slots: &mut [Slot],
    number: u64,
) -> Ran {
    let parameters = context.parameters;
    let (clock, interrupt) = (Arc::clone(context.clock), context.interrupt);
    let (seed, lasts) = (parameters.count("seed"), parameters.duration("duration"));
    let label = context.repetition.label.bytes().next().map_or(0, u64::from);
    let is_virtual = clock.kind() == "virtual";
    let lead = if is_virtual { Duration::ZERO } else { LEAD + LEAD_OF_A_SESSION * phase.sessions as u32 };
    let (repetition_start, start) = (context.repetition_start, clock.now().after(lead));
    let end = start.after(lasts);
    let arrivals = if parameters.choice("arrivals") == "poisson" { Arrivals::Poisson } else { Arrivals::Constant };
    let schedule_seed = seed ^ label << 32 ^ number << 40;
    let schedule = phase.rate.map(|rate| Schedule::new(start, lasts, rate, arrivals, schedule_seed));
    let names = workload.kinds();
    let new = || Recorder::new(repetition_start, end, &names, schedule.is_some());
    let recorders: Vec<_> = (0..phase.sessions.min(MOST_RECORDERS)).map(|_| Mutex::new(new())).collect();
    let connect = context.requesters(access);
    let shared = Shared {
        clock: clock.as_ref(),
        schedule: schedule.as_ref(),
        think: Think { mean: parameters.duration("think"), arrivals, seed: schedule_seed },
        start,
        end,
        recorders: &recorders,
        state: State::of(phase.sessions),
    };
    let sessions = Sessions {
        clock: clock.as_ref(),
        interrupt,
        connect: &connect,
        end,
        kinds: &names,
        waits_for_answers: !is_virtual && !context.database.description().embedded,
        losses: Losses::default(),
    };
    let (shared, sessions) = (&shared, &sessions);
    let jobs: Vec<_> = slots
        .iter_mut()
        .take(phase.sessions as usize)
        .zip(0..)
        .map(|(slot, session)| {
            // Each phase draws anew.
            (format!("session {session}"), move || {
                let generator = workload.generator(session, label | number << 48);
                work(shared, &mut SessionLane::new(sessions, &shared.state, generator, slot), session)
            })
        })
        .collect();
    let mut monitor = Monitor::new(phase, &recorders, schedule.as_ref(), (repetition_start, start));
    let mut watched = Ok(());
    let ended = in_threads_while(&clock, jobs, || {
        watched = watch_over(context, shared, sessions, (&mut monitor, &names));
        if watched.is_err() {
            shared.state.stop();
        }
        watched = std::mem::replace(&mut watched, Ok(())).and(await_answers(shared, interrupt, lasts));
    });
    // A session that waits for its last answer may outlast the phase, and one that has nothing more to do may be done before: the
    // phase ends when it was to end, but where it was stopped.
    if !shared.state.is_stopped() {
        clock.sleep_until(end);
    }
    let stopped = if shared.state.is_stopped() { shared.state.ended().min(end) } else { end };
    let (last, point) = monitor.look(stopped, true);
    if last.operations + last.errors > 0 {
        tell_second(context, shared, sessions, last);
    }
    let kept = point.map_or(Ok(()), |point| context.keep(point));
    let mut recorder = new();
    for part in &recorders {
        recorder.merge(&part.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let seconds = stopped.since(start).as_secs_f64();
    let backlog = schedule.as_ref().map(|schedule| schedule.backlog(stopped));
    let mut needed = Vec::with_capacity(ended.len());
    let mut outcome = watched.and(kept);
    for ended in ended {
        let (of_session, own) = ended
            .unwrap_or_else(|_| (Err(contradiction("a session ended unexpectedly".to_owned())), Needed::default()));
        outcome = outcome.and(of_session);
        needed.push(own);
    }
    let started = start.since(repetition_start).as_secs_f64();
    if outcome.is_ok() && sessions.losses.count() > 0 {
        context.warn(CAME_BACK);
    }
    let record = record(phase, &recorder, started, seconds, backlog);
    let due = |at: f64| schedule.as_ref().map_or(f64::INFINITY, |schedule| schedule.due(at - started));
    let stalls = recorder.stalls(started, started + seconds, schedule.is_some().then_some(&due));
    Ran { recorder, record, stalls, percentiles: monitor.percentiles, needed, outcome }
}

/// Looks after a phase while the sessions work: shows how it goes, keeps what is finished, and takes the lease again when
/// the server was lost and is back.
fn watch_over(
    context: &mut Context<'_>,
    shared: &Shared<'_>,
    sessions: &Sessions<'_>,
    (monitor, kinds): (&mut Monitor<'_>, &[String]),
) -> Result<()> {
    let clock = Arc::clone(context.clock);
    let is_bulk = context.mix.kinds().contains(&RequestClass::BulkLoad);
    let at_most = context.parameters.bytes("at_most");
    let (mut losses, mut lost_since) = (0, None);
    let mut look = shared.start.after(LOOK_EVERY);
    while shared.state.is_working() && look <= shared.end {
        clock.sleep_until(look);
        // What a killed program leaves, by kind; its seconds have at least as much. In virtual time a minute is over at once.
        let is_told = clock.kind() != "virtual" && context.log.is_kept() && monitor.is_to_be_kept();
        let so_far = is_told.then(|| monitor.so_far(kinds, context.repetition));
        let (second, point) = monitor.look(look, false);
        tell_second(context, shared, sessions, second);
        context.samples_so_far();
        if let Some(so_far) = so_far {
            context.log.tell(Kind::Repetition(Box::new(so_far)))?;
        }
        if let Some(point) = point {
            context.keep(point)?;
        }
        if is_bulk && monitor.content_bytes() > at_most {
            let (loaded, seconds) = (units::format_bytes(monitor.content_bytes()), look.since(shared.start).as_secs());
            context.warn(format!(
                "bulk loads ended after {seconds} s: they had added {loaded}, and 'at_most' sets a limit"
            ));
            shared.state.stop();
            return Ok(());
        }
        if let Some(free) = context.database.free_bytes().filter(|free| *free < LEAST_FREE) {
            let free = units::format_bytes(free);
            return Err(Error::new(ErrorKind::DiskFull, format!("only {free} are left on the target's disk"))
                .hint("new rows took the rest: free some space, or make requests for a shorter time"));
        }
        let lost = sessions.losses.count();
        if lost > losses {
            let since = *lost_since.get_or_insert(look);
            match context.lease.renew() {
                Ok(()) => {
                    losses = lost;
                    sessions.losses.renewed(lost);
                    lost_since = None;
                    context.gap(since, clock.now(), "sessions lost the server");
                    context.warn(CAME_BACK);
                }
                // Not back yet.
                Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect) => {}
                Err(error) => return Err(error),
            }
        }
        look = look.after(LOOK_EVERY);
    }
    Ok(())
}

fn tell_second(context: &mut Context<'_>, shared: &Shared<'_>, sessions: &Sessions<'_>, second: Second) {
    let repetition = context.repetition.label.clone();
    let total_seconds = Some(shared.end.since(shared.start).as_secs_f64());
    let lost_sessions = sessions.losses.lost();
    context.log.note(Kind::Second(Second { repetition, total_seconds, lost_sessions, ..second }));
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

fn record(phase: &Phase, recorder: &Recorder, started: f64, seconds: f64, backlog: Option<u64>) -> PhaseRecord {
    let sums = recorder.sums();
    let AllTimes { times, without_waits, uncorrected } = recorder.times();
    PhaseRecord {
        label: phase.label.clone(),
        started_seconds: started,
        seconds,
        sessions: phase.sessions as u32,
        rate_asked: phase.rate.map(Rate::mean),
        batch_rows: (phase.batch_rows > 1).then_some(phase.batch_rows),
        operations: sums.answered,
        drained: sums.drained,
        errors: sums.failed,
        rate: if seconds > 0.0 { sums.answered as f64 / seconds } else { 0.0 },
        mb_per_minute: units::mb_per_minute(sums.content_bytes, seconds),
        backlog,
        times: times.to_data(),
        times_without_waits: without_waits.as_ref().map(LatencyHistogram::to_data),
        times_uncorrected: uncorrected.as_ref().map(LatencyHistogram::to_data),
        start_lag: recorder.lag().map(|lag| lag.all.to_data()),
        holds: None,
    }
}

fn valid(recorder: &Recorder, judged: Sums) -> Result<()> {
    let percent = judged.failed_percent();
    if percent <= MOST_FAILED_PERCENT {
        return Ok(());
    }
    let kinds = recorder.kinds();
    let classes = kinds
        .iter()
        .flat_map(|kind| kind.errors.iter().map(move |(class, count)| format!("{} {class}: {count}", kind.kind)));
    let classes = classes.collect::<Vec<_>>().join(", ");
    Err(Error::new(ErrorKind::Statement, format!("{percent:.1} % of the requests failed ({classes})"))
        .hint("a run with more than 1 % of errors is not valid; see what the server says about them"))
}
