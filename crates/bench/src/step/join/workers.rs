//! The sessions that join, and what a join came to.

use std::sync::Arc;

use plimsoll_clock::{Clock, in_threads};
use plimsoll_engine::{Result, Session, Value};
use plimsoll_measurement::{Counter, Metric, Moment, Point};

use crate::interrupt::CancelGuard;
use crate::step::context::{Keep, Target};
use crate::step::kind::{contradiction, unfinished};
use crate::step::probe::Probe;

/// Rows of the join that each session makes before it is timed.
const WARM_ROWS: u64 = 200;

pub(super) struct Workers {
    pub sessions: Vec<(Box<dyn Session>, CancelGuard)>,
    /// True if a session counts the CPU of its own thread, as engines within our process do.
    count_cpu: bool,
    /// True if the first session works on the whole machine by itself.
    pub in_parallel: bool,
}

/// What a join came to, over all its sessions.
pub(super) struct Joined {
    matches: u64,
    /// Sum over the sessions, where they count their own CPU.
    cpu_seconds: Option<f64>,
    /// When the first began with the join itself and the last was done, without the counters around.
    pub start: Moment,
    pub end: Moment,
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
    /// So many, one at least.
    pub fn open(target: &Target<'_>, sessions: u64) -> Result<Self> {
        let mut sessions =
            (0..sessions.max(1)).map(|_| target.session(target.workspace)).collect::<Result<Vec<_>>>()?;
        for (session, _) in &mut sessions {
            if let Some(statement) = session.dialect().without_parallelism() {
                session.execute(statement, &[])?;
            }
        }
        Ok(Self { sessions, count_cpu: false, in_parallel: false })
    }

    /// Reads the table in every session, so that it is in whatever cache a session has, and makes a small join: the first one of a
    /// session may take long for its plan alone, and the smallest rungs are short.
    pub fn warm(&mut self, clock: &Arc<dyn Clock>, rows: u64) -> Result<()> {
        for (session, _) in &mut self.sessions {
            let dialect = session.dialect();
            let [key, one, five] = ["RowId", "Int1", "Int5"].map(|name| dialect.column(name));
            let sql = format!(
                "SELECT count(*) FROM {} t WHERE t.{one} + t.{five} > -2000000000 AND t.{key} <= {rows}",
                dialect.table("cpu")
            );
            session.query_count(&sql, &[])?;
            self.count_cpu = thread_cpu(session.as_mut())?.is_some();
        }
        let all = if self.in_parallel { 2 } else { self.sessions.len() as u64 };
        for sessions in [all, 1] {
            self.join(clock, WARM_ROWS.min(rows), sessions)?;
        }
        Ok(())
    }

    /// Times a join.
    pub fn time(
        &mut self,
        (target, keep): (&Target<'_>, &Keep<'_>),
        probe: &mut Probe,
        rung: u64,
        sessions: u64,
    ) -> Result<Point> {
        target.interrupt.check()?;
        probe.start(self.sessions[0].0.as_mut())?;
        let joined = self.join(keep.time.clock, rung, sessions)?;
        let point = keep.from_to(format!("N = {rung}, sessions = {sessions}"), joined.start, joined.end);
        let seconds = point.seconds;
        probe.stop(self.sessions[0].0.as_mut())?;
        // An engine within our own process counts by thread; a server's processes are counted all together.
        let cpu_seconds = joined.cpu_seconds.or_else(|| probe.growth(Counter::EngineCpuSeconds));
        // More sessions than CPUs share them.
        let cpus = target.database.description().cpus.map_or(sessions, |cpus| sessions.min(cpus.into()));
        Ok(point
            .with(Metric::Rows, rung * rung)
            .with(Metric::JoinRows, rung)
            .with(Metric::Matches, joined.matches)
            .with(Metric::Sessions, sessions)
            .with(Metric::CpuSeconds, cpu_seconds)
            .with(Metric::CpuPercent, cpu_seconds.map(|cpu| 100.0 * cpu / (seconds * cpus as f64))))
    }

    /// Keeps how the engine ran the last joins, where it says so, and warns if that was no loop join or not on all CPUs.
    pub fn note_plans(&mut self, keep: &mut Keep<'_>) -> Result<()> {
        let (session, _) = &mut self.sessions[0];
        let dialect = session.dialect();
        let parallel = dialect.join_in_parallel("cpu").filter(|_| self.in_parallel);
        for (fact, sql) in [("join_plan", Some(dialect.join("cpu"))), ("join_plan_parallel", parallel)] {
            let Some(sql) = sql else { continue };
            let Some(plan) = session.plan(&sql)? else { continue };
            if !plan.joins_by_loops {
                keep.warn(format!("the server did not run the join as nested loops: {}", plan.shape));
            }
            let degree = plan.degree.map_or(serde_json::Value::Null, Into::into);
            keep.fact(&format!("{fact}_degree"), degree);
            keep.fact(fact, plan.shape);
        }
        Ok(())
    }

    /// One join, split over `count` sessions.
    pub fn join(&mut self, clock: &Arc<dyn Clock>, rung: u64, count: u64) -> Result<Joined> {
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
        let parts = in_threads(clock, jobs.collect()).into_iter();
        let mut parts = parts.map(|part| part.unwrap_or_else(|why| Err(unfinished(why))));
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
