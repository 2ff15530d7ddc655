//! Requests from outside, one by one, as an application makes them (reference, 2.1 to 2.6, 2.8, 2.12): tables that are
//! loaded anew for every repetition, sessions that work for a given time, and what their requests came to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::in_threads_while;
use plimsoll_engine::{Cold, Error, ErrorKind, Result};
use plimsoll_measurement::{Moment, Point, units};

use super::{Context, Follower, Measure, contradiction};
use crate::dataset::Wanted;
use crate::generate::Family;
use crate::load::keys::{D1, D2, Keys, Pieces, Zipf};
use crate::load::recorder::Recorder;
use crate::load::schedule::{Arrivals, Schedule};
use crate::load::worker::{Shared, Target, work};
use crate::schema::Width;

/// The exponent of the zipf choice of keys.
const THETA: f64 = 0.99;

/// A run in which more requests fail is not valid (reference, A20).
const MOST_FAILED_PERCENT: f64 = 1.0;

/// Recorders that the sessions share at most: few, so that 2,000 sessions need no more memory than these.
const MOST_RECORDERS: u64 = 16;

/// How often a person hears of the progress.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keys that are set aside for new rows: as many as all sessions may insert in a second, for each second.
const NEW_KEYS_A_SECOND: u64 = 50_000;

#[derive(Default)]
pub(super) struct Requests;

impl Measure for Requests {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let wanted = wanted(context);
        if i32::try_from(wanted.rows).is_err() {
            return Err(crate::dataset::too_many_rows());
        }
        context.facts.insert("tables".to_owned(), wanted.tables.into());
        context.facts.insert("rows_per_table".to_owned(), wanted.rows.into());
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let targets = provision(context)?;
        let parameters = context.parameters;
        let label = context.repetition.label.bytes().next().map_or(0, u64::from);
        let (single, ranges) = keys(parameters.choice("keys")).map_err(contradiction)?;
        let place = context.place.clone();
        let count = parameters.count("sessions").max(1);
        let mut sessions = (0..count).map(|_| context.session(&place)).collect::<Result<Vec<_>>>()?;
        let (rate, seed) = (parameters.count("rate"), parameters.count("seed"));
        let start = context.clock.now();
        let lasts = parameters.duration("duration");
        let arrivals = if parameters.choice("arrivals") == "poisson" { Arrivals::Poisson } else { Arrivals::Constant };
        let schedule = (rate > 0).then(|| Schedule::new(start, lasts, rate as f64, arrivals, seed ^ label << 32));
        let names: Vec<&'static str> = context.mix.kinds().iter().map(|kind| kind.name()).collect();
        let recorder = || Mutex::new(Recorder::new(start, &names, schedule.is_some()));
        let recorders: Vec<_> = (0..count.min(MOST_RECORDERS)).map(|_| recorder()).collect();
        context.repetition_start = start;
        let working = AtomicU64::new(count);
        let shared = Shared {
            clock: context.clock.as_ref(),
            interrupt: context.interrupt,
            mix: context.mix,
            targets: &targets,
            single: &single,
            ranges: &ranges,
            schedule: schedule.as_ref(),
            think: parameters.duration("think"),
            end: start.after(lasts),
            seed,
            family: Family::Typed(Width::Seeds),
            recorders: &recorders,
            working: &working,
        };
        let shared = &shared;
        let jobs: Vec<_> = sessions
            .iter_mut()
            .zip(0..)
            .map(|((session, _), number)| {
                (format!("session {number}"), move || work(shared, session.as_mut(), number, label))
            })
            .collect();
        let (clock, observer) = (Arc::clone(context.clock), &mut *context.observer);
        let ended = in_threads_while(&clock, jobs, || {
            while working.load(Ordering::Relaxed) > 0 && clock.now() < shared.end {
                let look = clock.now().after(LOOK_EVERY).min(shared.end);
                clock.sleep_until(look);
                observer.activity(&progress(&recorders, schedule.as_ref(), look, start, shared.end));
            }
        });
        let recorder = merged(&recorders, start, &names, schedule.is_some());
        let backlog = schedule.as_ref().map(|schedule| schedule.backlog(shared.end));
        drop(sessions);
        keep(context, &recorder, start, lasts)?;
        if let Some(backlog) = backlog.filter(|backlog| *backlog > 0) {
            context.warn(format!(
                "the target was too slow for the rate: {backlog} requests of a repetition were due and not begun at its end"
            ));
        }
        for outcome in ended {
            outcome.unwrap_or_else(|_| Err(contradiction("a session ended unexpectedly".to_owned())))?;
        }
        context.interrupt.check()?;
        valid(&recorder)
    }
}

fn wanted(context: &Context<'_>) -> Wanted {
    let parameters = context.parameters;
    let tables = match parameters.count("tables") {
        0 => 1,
        tables => tables,
    };
    let width = Width::Seeds;
    let rows = (parameters.bytes("volume") / tables / width.row_bytes()).max(100);
    let page_bytes = context.database.description().page_bytes;
    Wanted { tables, rows, width, seed: parameters.count("seed"), page_bytes }
}

/// Positions of single rows, and of ranges: D1 has D2 beside it (reference, 2.12).
fn keys(choice: &str) -> std::result::Result<(Keys, Keys), String> {
    Ok(match choice {
        "zipf" => (Keys::Zipf(Zipf::new(THETA)?), Keys::Zipf(Zipf::new(THETA)?)),
        "newest" => (Keys::Table(Pieces::new(&D1)?), Keys::Table(Pieces::new(&D2)?)),
        _ => (Keys::Uniform, Keys::Uniform),
    })
}

/// Loads the tables anew: requests have changed those of the last repetition. Warm tables are read once.
fn provision(context: &mut Context<'_>) -> Result<Vec<Target>> {
    let wanted = wanted(context);
    let place = context.place.clone();
    let lasts = context.parameters.duration("duration").as_secs().max(1);
    let is_cold = context.parameters.choice("cache") == "cold";
    let mut targets = Vec::new();
    {
        let (mut session, _watched) = context.session(&place)?;
        let session = session.as_mut();
        // All of them first: new tables in the gaps of old ones would not lie in order.
        for number in 0..wanted.tables {
            session.drop_table(&wanted.table(number))?;
        }
        for number in 0..wanted.tables {
            let table = wanted.table(number);
            session.create_table(&table)?;
            context.load(session, &table, wanted.generator(number, 1, wanted.rows), wanted.table_bytes())?;
            session.settle_table(&table)?;
            if !is_cold {
                session.query_count(&session.dialect().scan(&table.name, false), &[])?;
            }
            let most = wanted.rows.saturating_add(lasts.saturating_mul(NEW_KEYS_A_SECOND)).min(i32::MAX as u64);
            targets.push(Target::new(table, number, wanted.rows, most, session.dialect()));
        }
        session.checkpoint()?;
    }
    if is_cold {
        context.observer.activity("making the cache cold");
        let tables: Vec<_> = targets.iter().map(|target| target.table.clone()).collect();
        let cold = Cold { shared: false, ..context.cold.clone() };
        let mut follower = Follower::new(context.interrupt, [Some(&mut *context.lease), None]);
        context.database.make_cold(&place, &place, &tables, &cold, &mut follower)?;
    }
    if !context.settle.is_zero() {
        context.wait(context.settle)?;
    }
    Ok(targets)
}

/// A line for whoever watches.
fn progress(
    recorders: &[Mutex<Recorder>],
    schedule: Option<&Schedule>,
    now: Moment,
    start: Moment,
    end: Moment,
) -> String {
    let (mut answered, mut failed) = (0, 0);
    let whole = (now.since(start).as_secs() as usize).saturating_sub(1);
    let mut last = 0;
    for recorder in recorders {
        let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = recorder.counts();
        answered += counts.0;
        failed += counts.1;
        last += recorder.seconds().operations.get(whole).copied().unwrap_or(0);
    }
    let backlog = schedule.map_or(0, |schedule| schedule.backlog(now));
    let late = if backlog > 0 { format!(", {backlog} waiting for their turn") } else { String::new() };
    let (passed, all) = (now.since(start).as_secs(), end.since(start).as_secs());
    format!("{passed} of {all} s: {last} requests a second, {answered} answered, {failed} failed{late}")
}

fn merged(recorders: &[Mutex<Recorder>], start: Moment, names: &[&'static str], scheduled: bool) -> Recorder {
    let mut sum = Recorder::new(start, names, scheduled);
    for recorder in recorders {
        sum.merge(&recorder.lock().unwrap_or_else(PoisonError::into_inner));
    }
    sum
}

/// Keeps what the requests came to, and a point for every minute.
fn keep(context: &mut Context<'_>, recorder: &Recorder, start: Moment, lasts: Duration) -> Result<()> {
    let seconds = recorder.seconds().clone();
    let took = lasts.as_secs_f64().min(context.clock.now().since(start).as_secs_f64());
    for (minute, operations) in seconds.operations.chunks(60).enumerate() {
        let from = minute * 60;
        let of_minute = |column: &[u64]| column[from..from + operations.len()].iter().sum::<u64>();
        let seconds_of_it = (took - from as f64).clamp(0.0, 60.0);
        if seconds_of_it <= 0.0 {
            break;
        }
        let content = of_minute(&seconds.content_bytes);
        context.keep(Point {
            label: Some(format!("minute {}", minute + 1)),
            started_seconds: from as f64,
            seconds: seconds_of_it,
            rows: Some(of_minute(&seconds.rows)),
            content_bytes: Some(content),
            mb_per_minute: units::mb_per_minute(content, seconds_of_it),
            operations: Some(of_minute(&seconds.operations)),
            errors: Some(of_minute(&seconds.errors)),
            sessions: Some(context.parameters.count("sessions").max(1) as u32),
            ..Point::default()
        })?;
    }
    context.repetition.requests = recorder.kinds();
    context.repetition.seconds = seconds;
    Ok(())
}

fn valid(recorder: &Recorder) -> Result<()> {
    let (answered, failed) = recorder.counts();
    let percent = 100.0 * failed as f64 / (answered + failed).max(1) as f64;
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
