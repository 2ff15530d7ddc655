//! The CPU ladder: a forced nested loop join of the first N rows with themselves, N rising until a join takes too long
//! (reference, 2.11, A14). Engines whose plan stays on one CPU get the join split over ranges of the outer rows, in one
//! session per CPU; both figures are kept, the single session's and the whole machine's. Where an engine takes a parallel plan
//! and shows that it did, the whole machine's figure is that of one session with such a plan, as the seeds' was.

use std::any::Any;
use std::sync::Arc;

use plimsoll_clock::{Clock, in_threads};
use plimsoll_engine::{Error, ErrorKind, Result, Session, Value, Workspace};
use plimsoll_measurement::{Counter, Metric, Moment, Point};

use super::{Context, Measure, Probe, contradiction};
use crate::generate::{Family, Rows};
use crate::interrupt::CancelGuard;
use crate::parameters::ParameterValue;
use crate::schema;

/// The seeds' ladder as far as it is known, with even steps between.
const RUNGS: [u64; 12] = [500, 1000, 2000, 3000, 4000, 5000, 7500, 10_000, 12_500, 15_000, 17_500, 20_000];

/// Most sessions that are tried to find out how many CPUs a server elsewhere has.
const MOST_SESSIONS: u64 = 128;

#[derive(Default)]
pub(super) struct Join {
    sessions: u64,
    /// True if one session has a plan that works on so many CPUs.
    in_parallel: bool,
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
        let workspace = context.workspace.clone();
        let (mut session, _watched) = context.session(&workspace)?;
        session.create_table(&table)?;
        let source = Rows::new(Family::Cpu, context.parameters.count("seed"), 0, 1, rows);
        context.load(session.as_mut(), &table, source, rows * 24)?;
        session.settle_table(&table)?;
        session.checkpoint()?;
        let parallel = session.dialect().join_in_parallel("cpu");
        drop(session);
        let known = context.database.description().cpus.map(u64::from);
        let asked = context.parameters.count("sessions");
        let degree = match parallel {
            Some(sql) if asked == 0 => parallel_degree(context, &sql)?,
            _ => None,
        };
        let lack = degree.and_then(|degree| short_of(degree, known));
        let degree = degree.filter(|_| lack.is_none());
        if let Some(warning) = lack {
            context.warn(warning);
        }
        self.in_parallel = degree.is_some();
        self.sessions = match (degree, asked, known) {
            (Some(degree), ..) => degree,
            (None, 0, Some(cpus)) => cpus,
            (None, 0, None) => find_sessions(context)?,
            (None, asked, _) => asked,
        };
        context.facts.insert("sessions".to_owned(), self.sessions.into());
        let split = if self.in_parallel {
            "one session, by the engine's parallel plan"
        } else {
            "ranges of the outer rows, one session per CPU"
        };
        context.facts.insert("join_split".to_owned(), split.into());
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let mut workers = Workers::open(context, if self.in_parallel { 1 } else { self.sessions })?;
        workers.in_parallel = self.in_parallel;
        workers.warm(context.parameters.count("rows"))?;
        let mut probe = Probe::new(context.database);
        let stop_after = context.parameters.duration("stop_after").as_secs_f64();
        let (mut single, mut whole) = (true, self.sessions > 1);
        context.begin();
        for rung in rungs(context.parameters.count("rows")) {
            // The whole machine first: its time tells what one session would take.
            for (sessions, goes_on) in [(self.sessions, &mut whole), (1, &mut single)] {
                if *goes_on {
                    context.log.activity(&format!("joining {rung} rows in {sessions} sessions"));
                    let point = workers.time(context, &mut probe, rung, sessions)?;
                    *goes_on = point.seconds <= stop_after;
                    context.keep(point)?;
                }
            }
            if !single && !whole {
                break;
            }
        }
        workers.note_plans(context)
    }
}

fn rungs(rows: u64) -> impl Iterator<Item = u64> {
    let further = std::iter::successors(Some(25_000_u64), |rung| Some(rung * 5 / 4));
    RUNGS.into_iter().chain(further).take_while(move |rung| *rung <= rows)
}

/// Rows of the join that is made to see how an engine works on it.
const PROBE_ROWS: u64 = 2000;

/// CPUs that the engine's own parallel plan works on; `None` if it has none, takes none, or doesn't say.
fn parallel_degree(context: &mut Context<'_>, sql: &str) -> Result<Option<u64>> {
    let mut workers = Workers::open(context, 1)?;
    let (session, _) = &mut workers.sessions[0];
    let keys = [1, PROBE_ROWS, PROBE_ROWS].map(|key| Value::Int(key as i32));
    match session.query_count(sql, &keys) {
        Ok(_) => {}
        // A server that does not know the hint.
        Err(error) if matches!(error.kind, ErrorKind::Statement | ErrorKind::Unsupported) => {
            let message =
                format!("the join is split over sessions, as the server refuses a parallel plan: {}", error.message);
            context.warn(message);
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let degree = session.plan(sql)?.and_then(|plan| plan.degree).filter(|degree| *degree > 1);
    Ok(degree.map(u64::from))
}

/// Why a plan of this degree is not the whole machine's, if it isn't: a limit of the server (MAXDOP) may keep it from the other
/// CPUs.
fn short_of(degree: u64, known: Option<u64>) -> Option<String> {
    let cpus = known.filter(|cpus| degree < *cpus)?;
    Some(format!("the join is split over sessions, as the server's parallel plan works on {degree} of its {cpus} CPUs"))
}

/// Doubles the sessions as long as that shortens a join by at least a fifth: then they have CPUs of their own.
fn find_sessions(context: &mut Context<'_>) -> Result<u64> {
    let mut best: Option<(u64, f64)> = None;
    let mut sessions = 1;
    while sessions <= MOST_SESSIONS {
        let mut workers = Workers::open(context, sessions)?;
        workers.warm(PROBE_ROWS)?;
        let mut shortest = f64::INFINITY;
        for _ in 0..3 {
            context.interrupt.check()?;
            let joined = workers.join(context.clock, PROBE_ROWS, sessions)?;
            shortest = shortest.min(joined.end.since(joined.start).as_secs_f64());
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
    sessions: Vec<(Box<dyn Session>, CancelGuard)>,
    /// True if a session counts the CPU of its own thread, as engines within our process do.
    count_cpu: bool,
    /// True if the first session works on the whole machine by itself.
    in_parallel: bool,
}

/// What a join came to, over all its sessions.
struct Joined {
    matches: u64,
    /// Sum over the sessions, where they count their own CPU.
    cpu_seconds: Option<f64>,
    /// When the first began with the join itself and the last was done, without the counters around.
    start: Moment,
    end: Moment,
}

impl Joined {
    /// Both together, as they ran side by side.
    fn with(self, other: &Self) -> Self {
        Self {
            matches: self.matches + other.matches,
            cpu_seconds: self.cpu_seconds.zip(other.cpu_seconds).map(|(one, other)| one + other),
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl Workers {
    fn open(context: &Context<'_>, sessions: u64) -> Result<Self> {
        let workspace: &Workspace = context.workspace;
        let mut sessions = (0..sessions.max(1)).map(|_| context.session(workspace)).collect::<Result<Vec<_>>>()?;
        for (session, _) in &mut sessions {
            if let Some(statement) = session.dialect().without_parallelism() {
                session.execute(statement, &[])?;
            }
        }
        Ok(Self { sessions, count_cpu: false, in_parallel: false })
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
        let joined = self.join(context.clock, rung, sessions)?;
        let (start, seconds) = (joined.start, joined.end.since(joined.start).as_secs_f64());
        probe.stop(self.sessions[0].0.as_mut())?;
        // An engine within our own process counts by thread; a server's processes are counted all together.
        let cpu_seconds = joined.cpu_seconds.or_else(|| probe.growth(Counter::EngineCpuSeconds));
        // More sessions than CPUs share them.
        let cpus = context.database.description().cpus.map_or(sessions, |cpus| sessions.min(cpus.into()));
        Ok(Point {
            label: Some(format!("N = {rung}, sessions = {sessions}")),
            started_seconds: context.seconds_since_start(start),
            seconds,
            ..Point::default()
        }
        .with(Metric::Rows, rung * rung)
        .with(Metric::JoinRows, rung)
        .with(Metric::Matches, joined.matches)
        .with(Metric::Sessions, sessions as u32)
        .with(Metric::CpuSeconds, cpu_seconds)
        .with(Metric::CpuPercent, cpu_seconds.map(|cpu| 100.0 * cpu / (seconds * cpus as f64))))
    }

    /// Keeps how the engine ran the last joins, where it says so, and warns if that was no loop join or not on all CPUs.
    fn note_plans(&mut self, context: &mut Context<'_>) -> Result<()> {
        let (session, _) = &mut self.sessions[0];
        let dialect = session.dialect();
        let parallel = dialect.join_in_parallel("cpu").filter(|_| self.in_parallel);
        for (fact, sql) in [("join_plan", Some(dialect.join("cpu"))), ("join_plan_parallel", parallel)] {
            let Some(sql) = sql else { continue };
            let Some(plan) = session.plan(&sql)? else { continue };
            if !plan.joins_by_loops {
                context.warn(format!("the server did not run the join as nested loops: {}", plan.shape));
            }
            let degree = plan.degree.map_or(serde_json::Value::Null, Into::into);
            context.facts.insert(format!("{fact}_degree"), degree);
            context.facts.insert(fact.to_owned(), plan.shape.into());
        }
        Ok(())
    }

    /// One join, split over `count` sessions.
    fn join(&mut self, clock: &Arc<dyn Clock>, rung: u64, count: u64) -> Result<Joined> {
        let count_cpu = self.count_cpu;
        if self.in_parallel && count > 1 {
            let (session, _) = &mut self.sessions[0];
            let sql = session.dialect().join_in_parallel("cpu");
            let sql = sql.ok_or_else(|| contradiction("an engine has lost its parallel join".to_owned()))?;
            return slice(clock, session.as_mut(), &sql, ((1, rung), rung), count_cpu);
        }
        let workers = self.sessions.iter_mut().take(count as usize).zip(0_u64..);
        let jobs = workers.map(|((session, _), part)| {
            let range = (part * rung / count + 1, (part + 1) * rung / count);
            let sql = session.dialect().join("cpu");
            (format!("join {}", part + 1), move || slice(clock, session.as_mut(), &sql, (range, rung), count_cpu))
        });
        let ended = |why: Box<dyn Any + Send>| match why.downcast::<String>() {
            Ok(why) => contradiction(format!("a session of the join failed: {why}"))
                .hint("ask for fewer sessions with --set sessions=..."),
            Err(_) => contradiction("a session of the join ended unexpectedly".to_owned()),
        };
        let parts = in_threads(clock, jobs.collect()).into_iter();
        let mut parts = parts.map(|part| part.unwrap_or_else(|why| Err(ended(why))));
        let first = parts.next().unwrap_or_else(|| Err(contradiction("a join without sessions".to_owned())))?;
        parts.try_fold(first, |sum, part| Ok(sum.with(&part?)))
    }
}

/// One session's part: outer rows of a range of keys against the first `rung` rows.
fn slice(
    clock: &Arc<dyn Clock>,
    session: &mut dyn Session,
    sql: &str,
    ((first, last), rung): ((u64, u64), u64),
    count_cpu: bool,
) -> Result<Joined> {
    let cpu = |session: &mut dyn Session| if count_cpu { thread_cpu(session) } else { Ok(None) };
    let before = cpu(session)?;
    let start = clock.now();
    let matches = session.query_count(sql, &[first, last, rung].map(|key| Value::Int(key as i32)))?;
    let end = clock.now();
    let after = cpu(session)?;
    Ok(Joined { matches, cpu_seconds: after.zip(before).map(|(after, before)| after - before), start, end })
}

/// CPU time of the calling thread as the session counts it; servers don't.
fn thread_cpu(session: &mut dyn Session) -> Result<Option<f64>> {
    let readings = session.sample()?;
    Ok(readings.iter().find(|reading| reading.metric == Counter::EngineCpuSeconds).map(|reading| reading.value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A figure called the whole machine's is none of a part that MAXDOP leaves.
    #[test]
    fn a_plan_on_some_of_the_cpus_is_not_the_whole_machine() {
        assert_eq!((short_of(8, Some(8)), short_of(8, None)), (None, None));
        let warning = short_of(4, Some(16)).unwrap();
        assert!(warning.contains("4 of its 16 CPUs"), "{warning}");
    }

    #[test]
    fn sessions_side_by_side_take_from_the_first_start_to_the_last_end() {
        let zero = Moment::from_nanos(1 << 40);
        let part = |start, end, cpu_seconds| Joined {
            matches: 5,
            cpu_seconds,
            start: zero.after(Duration::from_secs(start)),
            end: zero.after(Duration::from_secs(end)),
        };
        let both = part(3, 9, Some(1.0)).with(&part(2, 7, Some(0.5)));
        assert_eq!((both.matches, both.cpu_seconds), (10, Some(1.5)));
        assert_eq!(both.end.since(both.start), Duration::from_secs(7));
        assert_eq!(both.with(&part(1, 2, None)).cpu_seconds, None);
    }
}
