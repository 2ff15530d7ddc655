//! The CPU ladder: a forced nested loop join of the first N rows with themselves, N rising until a join takes too long
//! (reference, 2.11, A14). If an engine's plan stays on one CPU, the join is split over ranges of the outer rows, in one session
//! per CPU. Both figures are kept, the single session's and the whole machine's. Where an engine takes a parallel plan and
//! shows that it did, the whole machine's figure is that of one session with such a plan, as the seeds' was.

mod figures;
mod workers;

use std::time::Duration;

use plimsoll_analysis::ladder::cpu_table;
use plimsoll_engine::work::Work;
use plimsoll_engine::{Error, ErrorKind, Result, Value};

pub use self::figures::joins_at_common_rungs;
use self::figures::{join, join_rung};
use self::workers::Workers;
use crate::figures::series::steady;
use crate::generate::{Family, Rows};
use crate::parameters::shared::{DAY, SEED, SESSIONS};
use crate::parameters::{Kind, Parameter, ParameterValue};
use crate::schema;
use crate::step::context::{Context, Keep, Target};
use crate::step::kind::{Measure, Measures, StepKind};
use crate::step::probe::Probe;

/// The seeds' ladder as far as it is known, with even steps between.
const RUNGS: [u64; 12] = [500, 1000, 2000, 3000, 4000, 5000, 7500, 10_000, 12_500, 15_000, 17_500, 20_000];

/// Most sessions that are tried to find out how many CPUs a server elsewhere has.
const MOST_SESSIONS: u64 = 128;

const ROWS: Parameter = Parameter::new(
    "rows",
    Kind::Count(1_000, 100_000_000),
    "Number of rows of the table that the CPU ladder joins with itself.",
);
const STOP_AFTER: Parameter = Parameter::new(
    "stop_after",
    Kind::Duration(Duration::from_millis(1), DAY),
    "Longest time of a join. The ladder ends after the first join that takes longer.",
);

/// The CPU ladder (2.11).
pub(super) const KIND: StepKind = StepKind {
    // Nothing measured goes into it but the rung that the join was timed at.
    expects: |ran, ask| {
        let Some(rung) = join_rung(&ran.record.repetitions) else { return Ok(Vec::new()) };
        Ok(ask(Work::Join(rung))?.into_iter().collect())
    },
    space_bytes: |parameters, _| parameters.count("rows").saturating_mul(150),
    compares_volumes: true,
    cpu_table: |own, reference, anchor| {
        let mut table = cpu_table(own, reference, anchor);
        for row in &mut table.rows {
            row.growth_exponent = row.growth_exponent.map(steady);
        }
        (!table.rows.is_empty()).then_some(table)
    },
    ..StepKind::new(
        "join",
        &[&ROWS, &STOP_AFTER, &SESSIONS, &SEED],
        || Measures::AtDatabase(Box::<Join>::default()),
        |measured| join(&measured.points),
    )
};

#[derive(Default)]
struct Join {
    sessions: u64,
    /// True if one session has a plan that works on so many CPUs.
    in_parallel: bool,
}

impl Measure for Join {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        if !matches!(parameters.value("sessions"), Some(ParameterValue::Levels(levels)) if levels.len() == 1) {
            return Err(Error::new(ErrorKind::Usage, "the ladder is climbed with one number of sessions, not several"));
        }
        let table = schema::cpu("cpu");
        let rows = parameters.count("rows");
        crate::dataset::check_rows(rows)?;
        let (mut session, _watched) = target.session(target.workspace)?;
        session.create_table(&table)?;
        let source = Rows::new(Family::Cpu, parameters.count("seed"), 0, 1, rows);
        keep.load(session.as_mut(), &table, source, rows * 24)?;
        session.settle_table(&table)?;
        session.checkpoint()?;
        let parallel = session.dialect().join_in_parallel("cpu");
        drop(session);
        let known = target.database.description().cpus.map(u64::from);
        let asked = parameters.count("sessions");
        let degree = match parallel {
            Some(sql) if asked == 0 => parallel_degree(target, keep, &sql)?,
            _ => None,
        };
        let lack = degree.and_then(|degree| short_of(degree, known));
        let degree = degree.filter(|_| lack.is_none());
        if let Some(warning) = lack {
            keep.warn(warning);
        }
        self.in_parallel = degree.is_some();
        self.sessions = match (degree, asked, known) {
            (Some(degree), ..) => degree,
            (None, 0, Some(cpus)) => cpus,
            (None, 0, None) => find_sessions(target, keep)?,
            (None, asked, _) => asked,
        };
        keep.fact("sessions", self.sessions);
        let split = if self.in_parallel {
            "one session, by the engine's parallel plan"
        } else {
            "ranges of the outer rows, one session per CPU"
        };
        keep.fact("join_split", split);
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let mut workers = Workers::open(target, if self.in_parallel { 1 } else { self.sessions })?;
        workers.in_parallel = self.in_parallel;
        workers.warm(keep.time.clock, parameters.count("rows"))?;
        let mut probe = Probe::new(target.database);
        let stop_after = parameters.duration("stop_after").as_secs_f64();
        let (mut single, mut whole) = (true, self.sessions > 1);
        keep.begin(Some(target.database));
        for rung in rungs(parameters.count("rows")) {
            // The whole machine first: its time tells what one session would take.
            for (sessions, goes_on) in [(self.sessions, &mut whole), (1, &mut single)] {
                if *goes_on {
                    keep.log.activity(&format!("joining {rung} rows in {sessions} sessions"));
                    let point = workers.time((target, keep), &mut probe, rung, sessions)?;
                    *goes_on = point.seconds <= stop_after;
                    keep.point(point)?;
                }
            }
            if !single && !whole {
                break;
            }
        }
        workers.note_plans(keep)
    }
}

fn rungs(rows: u64) -> impl Iterator<Item = u64> {
    let further = std::iter::successors(Some(25_000_u64), |rung| Some(rung * 5 / 4));
    RUNGS.into_iter().chain(further).take_while(move |rung| *rung <= rows)
}

/// Rows of the join that is made to see how an engine works on it.
const PROBE_ROWS: u64 = 2000;

/// CPUs that the engine's own parallel plan works on; `None` if it has none, takes none, or doesn't say.
fn parallel_degree(target: &Target<'_>, keep: &mut Keep<'_>, sql: &str) -> Result<Option<u64>> {
    let mut workers = Workers::open(target, 1)?;
    let (session, _) = &mut workers.sessions[0];
    let keys = [1, PROBE_ROWS, PROBE_ROWS].map(|key| Value::Int(key as i32));
    match session.query_count(sql, &keys) {
        Ok(_) => {}
        // A server that does not know the hint.
        Err(error) if matches!(error.kind, ErrorKind::Statement | ErrorKind::Unsupported) => {
            let message =
                format!("the join is split over sessions, as the server refuses a parallel plan: {}", error.message);
            keep.warn(message);
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
fn find_sessions(target: &Target<'_>, keep: &mut Keep<'_>) -> Result<u64> {
    let mut best: Option<(u64, f64)> = None;
    let mut sessions = 1;
    while sessions <= MOST_SESSIONS {
        let mut workers = Workers::open(target, sessions)?;
        workers.warm(keep.time.clock, PROBE_ROWS)?;
        let mut shortest = f64::INFINITY;
        for _ in 0..3 {
            target.interrupt.check()?;
            let joined = workers.join(keep.time.clock, PROBE_ROWS, sessions)?;
            shortest = shortest.min(joined.end.since(joined.start).as_secs_f64());
        }
        match best {
            Some((_, seconds)) if shortest > 0.8 * seconds => break,
            _ => best = Some((sessions, shortest)),
        }
        sessions *= 2;
    }
    let found = best.map_or(1, |(sessions, _)| sessions);
    keep.warn(match found {
        1 => "the server does not say how many CPUs it has; two sessions did not shorten a join, so one makes it".to_owned(),
        found => format!(
            "the server does not say how many CPUs it has; more than {found} sessions did not shorten a join, so it is split over \
             these"
        ),
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure called the whole machine's is none of a part that MAXDOP leaves.
    #[test]
    fn a_plan_on_some_of_the_cpus_is_not_the_whole_machine() {
        assert_eq!((short_of(8, Some(8)), short_of(8, None)), (None, None));
        let warning = short_of(4, Some(16)).unwrap();
        assert!(warning.contains("4 of its 16 CPUs"), "{warning}");
    }
}
