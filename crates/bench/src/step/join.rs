//! The CPU ladder: a forced nested loop join of the first N rows with themselves, N rising until a join takes too long
//! (reference, 2.11, A14). Engines whose plan stays on one CPU get the join split over ranges of the outer rows, in one
//! session per CPU; both figures are kept, the single session's and the whole machine's.

use std::any::Any;
use std::sync::Arc;

use plimsoll_clock::{Clock, in_threads};
use plimsoll_engine::{Error, ErrorKind, Place, Result, Session, Value};
use plimsoll_measurement::{Metric, Point};

use super::{Context, Measure, Probe, contradiction};
use crate::generate::{Family, Rows};
use crate::interrupt::Watched;
use crate::parameters::ParameterValue;
use crate::schema;

/// The seeds' ladder as far as it is known, with even steps between.
const RUNGS: [u64; 12] = [500, 1000, 2000, 3000, 4000, 5000, 7500, 10_000, 12_500, 15_000, 17_500, 20_000];

/// Most sessions that are tried to find out how many CPUs a server elsewhere has.
const MOST_SESSIONS: u64 = 128;

#[derive(Default)]
pub(super) struct Join {
    sessions: u64,
}

impl Measure for Join {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        if !matches!(context.parameters.value("sessions"), Some(ParameterValue::Levels(levels)) if levels.len() == 1) {
            return Err(Error::new(ErrorKind::Usage, "the ladder is climbed with one number of sessions, not several"));
        }
        let table = schema::cpu("cpu");
        let rows = context.parameters.count("rows");
        if i32::try_from(rows).is_err() {
            return Err(crate::dataset::too_many_rows());
        }
        let place = context.place.clone();
        let (mut session, _watched) = context.session(&place)?;
        session.create_table(&table)?;
        let source = Rows::new(Family::Cpu, context.parameters.count("seed"), 0, 1, rows);
        context.load(session.as_mut(), &table, source, rows * 24)?;
        session.settle_table(&table)?;
        session.checkpoint()?;
        drop(session);
        let known = context.database.description().cpus.map(u64::from);
        self.sessions = match (context.parameters.count("sessions"), known) {
            (0, Some(cpus)) => cpus,
            (0, None) => find_sessions(context)?,
            (asked, _) => asked,
        };
        context.facts.insert("sessions".to_owned(), self.sessions.into());
        context.facts.insert("join_split".to_owned(), "ranges of the outer rows, one session per CPU".into());
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let mut workers = Workers::open(context, self.sessions)?;
        workers.warm(context.parameters.count("rows"))?;
        let mut probe = Probe::new(context.database);
        let stop_after = context.parameters.duration("stop_after").as_secs_f64();
        let (mut single, mut whole) = (true, self.sessions > 1);
        context.repetition_start = context.clock.now();
        for rung in rungs(context.parameters.count("rows")) {
            // The whole machine first: its time tells what one session would take.
            for (sessions, goes_on) in [(self.sessions, &mut whole), (1, &mut single)] {
                if *goes_on {
                    context.observer.activity(&format!("joining {rung} rows in {sessions} sessions"));
                    let point = workers.time(context, &mut probe, rung, sessions)?;
                    *goes_on = point.seconds <= stop_after;
                    context.keep(point)?;
                }
            }
            if !single && !whole {
                break;
            }
        }
        Ok(())
    }
}

fn rungs(rows: u64) -> impl Iterator<Item = u64> {
    let further = std::iter::successors(Some(25_000_u64), |rung| Some(rung * 5 / 4));
    RUNGS.into_iter().chain(further).take_while(move |rung| *rung <= rows)
}

/// Doubles the sessions as long as that shortens a join by at least a fifth: then they have CPUs of their own.
fn find_sessions(context: &mut Context<'_>) -> Result<u64> {
    const PROBE_ROWS: u64 = 2000;
    let mut best: Option<(u64, f64)> = None;
    let mut sessions = 1;
    while sessions <= MOST_SESSIONS {
        let mut workers = Workers::open(context, sessions)?;
        workers.warm(PROBE_ROWS)?;
        let mut shortest = f64::INFINITY;
        for _ in 0..3 {
            context.interrupt.check()?;
            let start = context.clock.now();
            workers.join(context.clock, PROBE_ROWS, sessions)?;
            shortest = shortest.min(context.clock.now().since(start).as_secs_f64());
        }
        match best {
            Some((_, seconds)) if shortest > 0.8 * seconds => break,
            _ => best = Some((sessions, shortest)),
        }
        sessions *= 2;
    }
    let found = best.map_or(1, |(sessions, _)| sessions);
    context.warn(format!(
        "the server's CPUs can't be counted from here; {found} sessions were the most that still shortened a join"
    ));
    Ok(found)
}

/// The sessions of one repetition.
struct Workers {
    sessions: Vec<(Box<dyn Session>, Watched)>,
    /// True if a session counts the CPU of its own thread, as engines within our process do.
    count_cpu: bool,
}

/// What a join came to, over all its sessions.
struct Joined {
    matches: u64,
    /// Sum over the sessions, where they count their own CPU.
    cpu_seconds: Option<f64>,
}

impl Workers {
    fn open(context: &Context<'_>, sessions: u64) -> Result<Self> {
        let place: &Place = context.place;
        let mut sessions = (0..sessions.max(1)).map(|_| context.session(place)).collect::<Result<Vec<_>>>()?;
        for (session, _) in &mut sessions {
            if let Some(statement) = session.dialect().serial() {
                session.execute(statement, &[])?;
            }
        }
        Ok(Self { sessions, count_cpu: false })
    }

    /// Reads the table in every session, so that it is in whatever cache a session has.
    fn warm(&mut self, rows: u64) -> Result<()> {
        let sql = format!("SELECT count(*) FROM cpu t WHERE t.Int1 + t.Int5 > -2000000000 AND t.RowId <= {rows}");
        for (session, _) in &mut self.sessions {
            session.query_count(&sql, &[])?;
            self.count_cpu = thread_cpu(session.as_mut())?.is_some();
        }
        Ok(())
    }

    fn time(&mut self, context: &mut Context<'_>, probe: &mut Probe, rung: u64, sessions: u64) -> Result<Point> {
        context.interrupt.check()?;
        probe.start(self.sessions[0].0.as_mut())?;
        let start = context.clock.now();
        let joined = self.join(context.clock, rung, sessions)?;
        let seconds = context.clock.now().since(start).as_secs_f64();
        probe.stop(self.sessions[0].0.as_mut())?;
        // An engine within our own process counts by thread; a server's processes are counted all together.
        let cpu_seconds = joined.cpu_seconds.or_else(|| probe.growth(Metric::EngineCpuSeconds));
        // More sessions than CPUs share them.
        let cpus = context.database.description().cpus.map_or(sessions, |cpus| sessions.min(cpus.into()));
        Ok(Point {
            label: Some(format!("N = {rung}, sessions = {sessions}")),
            started_seconds: context.seconds_since_start(start),
            seconds,
            rows: Some(rung * rung),
            join_rows: Some(rung),
            matches: Some(joined.matches),
            sessions: Some(sessions as u32),
            cpu_seconds,
            cpu_percent: cpu_seconds.map(|cpu| 100.0 * cpu / (seconds * cpus as f64)),
            ..Point::default()
        })
    }

    /// One join, split over `count` sessions.
    fn join(&mut self, clock: &Arc<dyn Clock>, rung: u64, count: u64) -> Result<Joined> {
        let count_cpu = self.count_cpu;
        let workers = self.sessions.iter_mut().take(count as usize).zip(0_u64..);
        let jobs = workers.map(|((session, _), part)| {
            let range = (part * rung / count + 1, (part + 1) * rung / count);
            (format!("join {}", part + 1), move || slice(session.as_mut(), range, rung, count_cpu))
        });
        let ended = |why: Box<dyn Any + Send>| match why.downcast::<String>() {
            Ok(why) => contradiction(format!("a session of the join failed: {why}"))
                .hint("ask for fewer sessions with --set sessions=..."),
            Err(_) => contradiction("a session of the join ended unexpectedly".to_owned()),
        };
        let parts = in_threads(clock, jobs.collect()).into_iter();
        let mut parts = parts.map(|part| part.unwrap_or_else(|why| Err(ended(why))));
        parts.try_fold(Joined { matches: 0, cpu_seconds: Some(0.0) }, |sum, part| {
            let part = part?;
            let cpu_seconds = sum.cpu_seconds.zip(part.cpu_seconds).map(|(sum, more)| sum + more);
            Ok(Joined { matches: sum.matches + part.matches, cpu_seconds })
        })
    }
}

/// One session's part: outer rows of a range of keys against the first `rung` rows.
fn slice(session: &mut dyn Session, (first, last): (u64, u64), rung: u64, count_cpu: bool) -> Result<Joined> {
    let sql = session.dialect().join("cpu");
    let cpu = |session: &mut dyn Session| if count_cpu { thread_cpu(session) } else { Ok(None) };
    let before = cpu(session)?;
    let matches = session.query_count(&sql, &[first, last, rung].map(|key| Value::Int(key as i32)))?;
    let after = cpu(session)?;
    Ok(Joined { matches, cpu_seconds: after.zip(before).map(|(after, before)| after - before) })
}

/// CPU time of the calling thread as the session counts it; servers don't.
fn thread_cpu(session: &mut dyn Session) -> Result<Option<f64>> {
    let readings = session.sample()?;
    Ok(readings.iter().find(|reading| reading.metric == Metric::EngineCpuSeconds).map(|reading| reading.value))
}
