//! Single-row inserts by one session, each its own transaction (reference, 2.16). The table has one column that may be NULL
//! and no index, so that hardly more is left than the waits of a commit. The session's waits and the files' I/O are looked at
//! before and after.

use plimsoll_engine::work::Work;
use plimsoll_engine::{
    ColumnType, Database, Error, ErrorKind, RequestAccess, Requester, Result, Sampler, Session, Statement, Table, Value,
};
use plimsoll_measurement::{FileRow, LatencyHistogram, Metric, Point, Repetition, RequestKind, Seconds, Views};

use crate::figures::series::{Measured, Series, latencies, log_wait_percent};
use crate::parameters::{Kind, Parameter};
use crate::step::context::{Context, Keep, Time};
use crate::step::kind::{Measure, Measures, StepKind};
use plimsoll_telemetry::views;

const POINTS: u64 = 10;
/// Inserts of a loop in the server. A driver may take more answers without rows for an attack; a way to the server and back for so many
/// counts for nothing.
const LONGEST_LOOP: usize = 2_000;

const ROW_BYTES: u64 = 4;

const COMMITS: Parameter =
    Parameter::new("commits", Kind::Count(10, 100_000_000), "Number of rows to insert, each in its own transaction.");

const LOOP: Parameter = Parameter::new(
    "loop",
    Kind::Choice(&["server", "client"]),
    "Where the loop runs: in the server, so that only its work is timed, or in the client, with a round trip for each row. An engine \
     without a loop of its own uses the client's, and the run says so.",
);

/// Single-row inserts and what they wait for (2.16).
pub(super) const KIND: StepKind = StepKind {
    expects: |ran, ask| Ok(ask(Work::Commits(ran.parameters.count("commits")))?.into_iter().collect()),
    // Each commit's log is a page or so, and a log is used again after a few thousand of them.
    space_bytes: |parameters, _| parameters.count("commits").saturating_mul(200).saturating_add(64 << 20),
    ..StepKind::new("commits", &[&COMMITS, &LOOP], || Measures::AtDatabase(Box::new(Commits)), figures)
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
    let waits: Vec<f64> = repetitions.iter().filter_map(share).collect();
    let unseen = || "the server does not show what the session waited for".to_owned();
    let figures = [
        Series::new("insert_time", "s", repetitions.iter().map(seconds).collect()),
        Series::new("insert_latency", "ms", repetitions.iter().map(each).collect()),
        Series { absent: waits.is_empty().then(unseen), ..Series::new("log_wait_share", "%", waits) },
    ];
    let single = repetitions.iter().flat_map(|repetition| &repetition.requests).any(|kind| kind.times.count > 0);
    let untimed = |series: Series| match series.absent {
        Some(_) if !single => Series {
            absent: Some("the loop ran in the server, which times no single insert: --set loop=client does".to_owned()),
            ..series
        },
        _ => series,
    };
    figures.into_iter().chain(latencies(repetitions).map(untimed)).collect()
}

struct Commits;

impl Measure for Commits {
    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let table = Table::new("commits", &[("Number", ColumnType::Int)]).heap();
        let (mut session, _watched) = target.session(target.workspace)?;
        session.drop_table(&table)?;
        let dialect = session.dialect();
        session.create_table(&table)?;
        session.checkpoint()?;
        let commits = parameters.count("commits");
        let in_server = parameters.choice("loop") == "server" && dialect.insert_in_loop(&table, 1).is_some();
        keep.fact("loop", if in_server { "server" } else { "client" });
        let mut server = target.database.process_sampler();
        let mut made = Inserts::default();
        if in_server {
            let before = views(&mut server, session.as_mut())?;
            let outcome = made.in_server(commits, (keep, target.database), session.as_mut(), &table);
            made.keep(keep);
            outcome?;
            made.check(session.as_mut(), &table)?;
            let after = views(&mut server, session.as_mut())?;
            keep_views(keep, &before, &after, target.workspace.name());
        } else {
            let insert = Statement { number: 0, sql: dialect.insert_row(&table), columns: Some(Vec::new()) };
            let (mut requester, watched) = target.requesters(target.workspace, RequestAccess::OWN)()?;
            let mut before = requester.views()?;
            // A session that knows of its files has said all; a server knows all of it soon after the session has ended.
            let own_files = !before.files.is_empty();
            if !own_files {
                before.files = files(&mut server, session.as_mut())?;
            }
            let outcome = made.by_client(commits, (keep, target.database), requester.as_mut(), &insert);
            made.keep(keep);
            outcome?;
            let mut after = requester.views()?;
            drop((requester, watched));
            if !own_files {
                after.files = keep.time.until_still(|| files(&mut server, session.as_mut()))?;
            }
            keep_views(keep, &before, &after, target.workspace.name());
        }
        session.drop_table(&table)
    }
}

/// What the session shows of its waits, with files as the server shows them, if it does.
fn views(server: &mut Option<Box<dyn Sampler>>, session: &mut dyn Session) -> Result<Views> {
    let mut views = session.views()?;
    if views.files.is_empty() {
        views.files = files(server, session)?;
    }
    Ok(views)
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

/// What was inserted.
#[derive(Default)]
struct Inserts {
    inserted: u64,
    /// Of each insert, if the client timed it.
    times: LatencyHistogram,
    seconds: Seconds,
}

impl Inserts {
    /// The part with this number: from which row to which.
    fn part(commits: u64, part: u64) -> (u64, u64) {
        (part * commits / POINTS, (part + 1) * commits / POINTS)
    }

    fn in_server(
        &mut self,
        commits: u64,
        (keep, database): (&mut Keep<'_>, &dyn Database),
        session: &mut dyn Session,
        table: &Table,
    ) -> Result<()> {
        let Time { clock, interrupt, .. } = keep.time;
        keep.begin(Some(database));
        for part in 0..POINTS {
            keep.log.activity(&format!("inserting, {part} of {POINTS} parts are done"));
            interrupt.check()?;
            let (first, end) = Self::part(commits, part);
            let start = clock.now();
            for begun in (first..end).step_by(LONGEST_LOOP) {
                let rows = (end - begun).min(LONGEST_LOOP as u64);
                let Some(sql) = session.dialect().insert_in_loop(table, rows) else { return Ok(()) };
                session.execute(&sql, &[])?;
            }
            let now = clock.now();
            self.inserted = end;
            let label = format!("inserts {} to {end}", first + 1);
            keep.point(inserts(keep.from_to(label, start, now), end - first))?;
        }
        Ok(())
    }

    fn by_client(
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
            let (first, end) = Self::part(commits, part);
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
            self.inserted += times.count();
            let us = |percent| Some(times.percentile(percent)?.as_nanos() as f64 / 1e3);
            if times.count() > 0 {
                let label = format!("inserts {} to {}", first + 1, first + times.count());
                let point = inserts(keep.from_to(label, start, now), times.count());
                keep.point(point.with(Metric::LatencyUsP50, us(50.0)).with(Metric::LatencyUsP99, us(99.0)))?;
            }
            outcome?;
        }
        Ok(())
    }

    /// Keeps what was inserted, however it ended.
    fn keep(&mut self, keep: &mut Keep<'_>) {
        keep.repetition.requests = vec![RequestKind {
            kind: "insert".to_owned(),
            operations: self.inserted,
            rows_examined: self.inserted,
            rows: self.inserted,
            content_bytes: ROW_BYTES * self.inserted,
            times: self.times.to_data(),
            ..RequestKind::default()
        }];
        keep.repetition.seconds = std::mem::take(&mut self.seconds);
    }

    /// A loop says nothing of its rows: the table is asked.
    fn check(&self, session: &mut dyn Session, table: &Table) -> Result<()> {
        let found = session.query_count(&session.dialect().count_rows(table), &[])?;
        if found == self.inserted {
            return Ok(());
        }
        let message = format!("the table has {found} rows after {} inserts of a loop in the server", self.inserted);
        Err(Error::new(ErrorKind::Statement, message).hint("--set loop=client inserts row by row from here"))
    }
}

/// Keeps what was waited for and what was done to files.
fn keep_views(keep: &mut Keep<'_>, before: &Views, after: &Views, workspace: &str) {
    let elapsed = keep.repetition.points.iter().map(|point| point.seconds).sum();
    let waits = views::waits(&before.waits, &after.waits, elapsed);
    waits.warning("waits").into_iter().for_each(|warning| keep.warn(warning));
    keep.repetition.waits = waits.rows;
    let files = views::files(&before.files, &after.files, elapsed, workspace);
    files.warning("reads and writes").into_iter().for_each(|warning| keep.warn(warning));
    keep.repetition.files = files.rows;
}

/// A point of so many inserts by one session.
fn inserts(point: Point, count: u64) -> Point {
    point.with(Metric::Rows, count).with(Metric::Operations, count).with(Metric::Sessions, 1_u64)
}
