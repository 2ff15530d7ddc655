//! Single-row inserts, each its own transaction (reference, 2.16): one session, a table of one column that may be NULL and
//! has no index, so that next to nothing is left but what a commit waits for. The session's waits and the files' I/O are
//! looked at before and after.

use std::time::Duration;

use plimsoll_engine::{ColumnType, RequestAccess, Requester, Result, Sampler, Session, Statement, Table, Value};
use plimsoll_measurement::{FileRow, LatencyHistogram, Metric, Point, RequestKind, Seconds};

use super::{Context, Measure};
use plimsoll_telemetry::views;

/// Points of a repetition.
const POINTS: u64 = 10;

/// Content of a row.
const ROW_BYTES: u64 = 4;

/// A server's statistics of a session that has ended may come late: they are read until they stand still, so often at most.
const MOST_LOOKS: u32 = 10;
const LOOK_PAUSE: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(super) struct Commits;

impl Measure for Commits {
    fn prepare(&mut self, _: &mut Context<'_>) -> Result<()> {
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let workspace = context.workspace.clone();
        let table = Table::new("commits", &[("Number", ColumnType::Int)]);
        let (mut session, _watched) = context.session(&workspace)?;
        session.drop_table(&table)?;
        let kind = session.dialect().type_name(ColumnType::Int);
        session.execute(&format!("CREATE TABLE {} (Number {kind} NULL)", table.name), &[])?;
        session.checkpoint()?;
        let insert = Statement { number: 0, sql: session.dialect().insert_row(&table), columns: Some(Vec::new()) };
        let (mut requester, watched) = context.requesters(RequestAccess::OWN)()?;
        let mut server = context.database.process_sampler();
        let own = requester.views()?;
        let files = if own.files.is_empty() { files(&mut server, session.as_mut())? } else { own.files };

        let mut made = Prepared::default();
        let outcome = made.insert(context, requester.as_mut(), &insert);
        let elapsed = context.repetition.points.iter().map(|point| point.seconds).sum();
        context.repetition.requests = vec![made.kind()];
        context.repetition.seconds = made.seconds;
        outcome?;
        let own_after = requester.views()?;
        let waits = views::waits(&own.waits, &own_after.waits, elapsed);
        waits.warning("waits").into_iter().for_each(|warning| context.warn(warning));
        context.repetition.waits = waits.rows;
        // A session that knows of its files has said all; a server knows all of it soon after the session has ended.
        drop((requester, watched));
        let after = if own_after.files.is_empty() {
            still_files(context, &mut server, session.as_mut())?
        } else {
            own_after.files
        };
        let files = views::files(&files, &after, workspace.name());
        files.warning("reads and writes").into_iter().for_each(|warning| context.warn(warning));
        context.repetition.files = files.rows;
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

/// The same, when they stand still.
fn still_files(
    context: &mut Context<'_>,
    server: &mut Option<Box<dyn Sampler>>,
    session: &mut dyn Session,
) -> Result<Vec<FileRow>> {
    let mut last = files(server, session)?;
    for _ in 0..MOST_LOOKS {
        context.wait(LOOK_PAUSE)?;
        let look = files(server, session)?;
        if look == last {
            break;
        }
        last = look;
    }
    Ok(last)
}

/// What the inserts came to.
#[derive(Default)]
struct Prepared {
    times: LatencyHistogram,
    seconds: Seconds,
}

impl Prepared {
    fn insert(&mut self, context: &mut Context<'_>, requester: &mut dyn Requester, insert: &Statement) -> Result<()> {
        let commits = context.parameters.count("commits");
        let clock = std::sync::Arc::clone(context.clock);
        context.begin();
        for part in 0..POINTS {
            context.log.activity(&format!("inserting, {part} of {POINTS} parts are done"));
            let (first, end) = (part * commits / POINTS, (part + 1) * commits / POINTS);
            let mut times = LatencyHistogram::new();
            let start = clock.now();
            let mut now = start;
            let mut outcome = Ok(());
            for _ in first..end {
                outcome = context.interrupt.check().and_then(|()| requester.ask(insert, &[Value::Int(1)]).map(drop));
                if outcome.is_err() {
                    break;
                }
                let begun = std::mem::replace(&mut now, clock.now());
                times.record(now.since(begun));
                let second = now.since(context.repetition_start).as_secs() as usize;
                self.seconds.answered(second, 1, 1, ROW_BYTES);
            }
            self.times.merge(&times);
            let (us, inserted) = (|percent| Some(times.percentile(percent)?.as_nanos() as f64 / 1e3), times.count());
            if inserted > 0 {
                context.keep(
                    Point {
                        label: Some(format!("inserts {} to {}", first + 1, first + inserted)),
                        started_seconds: context.seconds_since_start(start),
                        seconds: now.since(start).as_secs_f64(),
                        ..Point::default()
                    }
                    .with(Metric::Rows, inserted)
                    .with(Metric::Operations, inserted)
                    .with(Metric::Sessions, 1)
                    .with(Metric::LatencyUsP50, us(50.0))
                    .with(Metric::LatencyUsP99, us(99.0)),
                )?;
            }
            outcome?;
        }
        Ok(())
    }

    fn kind(&self) -> RequestKind {
        let operations = self.times.count();
        RequestKind {
            kind: "insert".to_owned(),
            operations,
            rows_examined: operations,
            rows: operations,
            content_bytes: ROW_BYTES * operations,
            times: self.times.to_data(),
            ..RequestKind::default()
        }
    }
}
