//! Single-row inserts by one session, each its own transaction (reference, 2.16). The table has one column that may be NULL
//! and no index, so that hardly more is left than the waits of a commit. The session's waits and the files' I/O are looked at
//! before and after.

use plimsoll_engine::work::Work;
use plimsoll_engine::{
    ColumnType, Database, RequestAccess, Requester, Result, Sampler, Session, Statement, Table, Value,
};
use plimsoll_measurement::{FileRow, LatencyHistogram, Metric, Repetition, RequestKind, Seconds};

use crate::figures::series::{Measured, Series, latencies, log_wait_percent};
use crate::parameters::{Kind, Parameter};
use crate::step::context::{Context, Keep, Time};
use crate::step::kind::{Measure, Measures, StepKind};
use plimsoll_telemetry::views;

const POINTS: u64 = 10;

const ROW_BYTES: u64 = 4;

const COMMITS: Parameter =
    Parameter::new("commits", Kind::Count(10, 100_000_000), "Number of rows to insert, each in its own transaction.");

/// Single-row inserts and what they wait for (2.16).
pub(super) const KIND: StepKind = StepKind {
    expects: |ran, ask| Ok(ask(Work::Commits(ran.parameters.count("commits")))?.into_iter().collect()),
    // Each commit's log is a page or so, and a log is used again after a few thousand of them.
    space_bytes: |parameters, _| parameters.count("commits").saturating_mul(200).saturating_add(64 << 20),
    ..StepKind::new("commits", &[&COMMITS], || Measures::AtDatabase(Box::new(Commits)), figures)
};

/// Time of all inserts and of each, and how much of it was waited for the log.
fn figures(measured: &Measured<'_>) -> Vec<Series> {
    let repetitions = &measured.repetitions;
    let seconds = |repetition: &&Repetition| repetition.points.iter().map(|point| point.seconds).sum::<f64>();
    let each = |repetition: &&Repetition| {
        let inserted: u64 = repetition.points.iter().filter_map(|point| point.count(Metric::Operations)).sum();
        1e3 * seconds(repetition) / inserted.max(1) as f64
    };
    let share = |repetition: &&Repetition| log_wait_percent(&repetition.waits);
    let figures = [
        Series::new("insert_time", "s", repetitions.iter().map(seconds).collect()),
        Series::new("insert_latency", "ms", repetitions.iter().map(each).collect()),
        Series::new("log_wait_share", "%", repetitions.iter().filter_map(share).collect()),
    ];
    figures.into_iter().chain(latencies(repetitions)).collect()
}

struct Commits;

impl Measure for Commits {
    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let table = Table::new("commits", &[("Number", ColumnType::Int)]);
        let (mut session, _watched) = target.session(target.workspace)?;
        session.drop_table(&table)?;
        let dialect = session.dialect();
        let (number, kind) = (dialect.column(table.key()), dialect.type_name(ColumnType::Int));
        session.execute(&format!("CREATE TABLE {} ({number} {kind} NULL)", dialect.table(&table.name)), &[])?;
        session.checkpoint()?;
        let insert = Statement { number: 0, sql: session.dialect().insert_row(&table), columns: Some(Vec::new()) };
        let (mut requester, watched) = target.requesters(target.workspace, RequestAccess::OWN)()?;
        let mut server = target.database.process_sampler();
        let own = requester.views()?;
        let before = if own.files.is_empty() { files(&mut server, session.as_mut())? } else { own.files };

        let mut made = Prepared::default();
        let outcome = made.insert(parameters.count("commits"), (keep, target.database), requester.as_mut(), &insert);
        let elapsed = keep.repetition.points.iter().map(|point| point.seconds).sum();
        let operations = made.times.count();
        keep.repetition.requests = vec![RequestKind {
            kind: "insert".to_owned(),
            operations,
            rows_examined: operations,
            rows: operations,
            content_bytes: ROW_BYTES * operations,
            times: made.times.to_data(),
            ..RequestKind::default()
        }];
        keep.repetition.seconds = made.seconds;
        outcome?;
        let own_after = requester.views()?;
        let waits = views::waits(&own.waits, &own_after.waits, elapsed);
        waits.warning("waits").into_iter().for_each(|warning| keep.warn(warning));
        keep.repetition.waits = waits.rows;
        // A session that knows of its files has said all; a server knows all of it soon after the session has ended.
        drop((requester, watched));
        let after = if own_after.files.is_empty() {
            keep.time.until_still(|| files(&mut server, session.as_mut()))?
        } else {
            own_after.files
        };
        let files = views::files(&before, &after, target.workspace.name());
        files.warning("reads and writes").into_iter().for_each(|warning| keep.warn(warning));
        keep.repetition.files = files.rows;
        session.drop_table(&table)
    }
}

/// The files as the server shows them, else a session.
fn files(server: &mut Option<Box<dyn Sampler>>, session: &mut dyn Session) -> Result<Vec<FileRow>> {
    if let Some(server) = server {
        let files = server.views()?.files;
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Ok(session.views()?.files)
}

#[derive(Default)]
struct Prepared {
    times: LatencyHistogram,
    seconds: Seconds,
}

impl Prepared {
    fn insert(
        &mut self,
        commits: u64,
        (keep, database): (&mut Keep<'_>, &dyn Database),
        requester: &mut dyn Requester,
        insert: &Statement,
    ) -> Result<()> {
        let Time { clock, interrupt, .. } = keep.time;
        keep.begin(Some(database));
        for part in 0..POINTS {
            keep.log.activity(&format!("inserting, {part} of {POINTS} parts are done"));
            let (first, end) = (part * commits / POINTS, (part + 1) * commits / POINTS);
            let mut times = LatencyHistogram::new();
            let start = clock.now();
            let mut now = start;
            let mut outcome = Ok(());
            for _ in first..end {
                outcome = interrupt.check().and_then(|()| requester.ask(insert, &[Value::Int(1)]).map(drop));
                if outcome.is_err() {
                    break;
                }
                let begun = std::mem::replace(&mut now, clock.now());
                times.record(now.since(begun));
                let second = now.since(keep.repetition_start).as_secs() as usize;
                self.seconds.answered(second, 1, 1, ROW_BYTES);
            }
            self.times.merge(&times);
            let (us, inserted) = (|percent| Some(times.percentile(percent)?.as_nanos() as f64 / 1e3), times.count());
            if inserted > 0 {
                let label = format!("inserts {} to {}", first + 1, first + inserted);
                keep.point(
                    keep.from_to(label, start, now)
                        .with(Metric::Rows, inserted)
                        .with(Metric::Operations, inserted)
                        .with(Metric::Sessions, 1_u64)
                        .with(Metric::LatencyUsP50, us(50.0))
                        .with(Metric::LatencyUsP99, us(99.0)),
                )?;
            }
            outcome?;
        }
        Ok(())
    }
}
