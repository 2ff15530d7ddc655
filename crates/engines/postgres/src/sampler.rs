//! The whole server through the eyes of a sampler: counters, and what its sessions do now, over a line of its own.
//!
//! A reading is one write and mostly one read. The questions follow one another in transactions of their own, so that each sees
//! the statistics of now. One that is refused takes none of the others with it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::windowed;
use plimsoll_engine::telemetry::SESSION_GAUGES as GAUGES;
use plimsoll_engine::{ErrorKind, Result, Sampler};
use plimsoll_measurement::{Counter, FileRow, Files, Moment, Reading, Views, Window};

use super::connect::Connector;
use super::connection::{Connection, Texts};
use super::counter_queries::{self, Column, Source};
use super::counters::{self, FLUSH_VERSION};
use super::statements::sql;
use super::workspace;

const NAME: &str = "plimsoll sampler";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a session publishes its counts at most, in versions that can't be told to.
const PUBLISHING: Duration = Duration::from_millis(500);

/// The rows of an answer, or what the server has against the question.
type Answer = Result<Vec<Texts>>;

/// Reads a server; after a loss it connects again at the next reading.
pub(super) struct ServerSampler {
    connector: Arc<Connector>,
    version: u32,
    sources: Vec<Source>,
    connection: Option<Connection>,
    /// Transactions of our own so far.
    own_commits: u64,
    /// Those of them that a server without a flush has published, and when it did so last.
    published: u64,
    published_at: Option<Moment>,
    /// What the server last said of all commits, and what was told of those that are not ours.
    told: Option<(f64, f64)>,
    /// Waits of ours at the last reading.
    seen: Vec<(String, f64)>,
}

impl ServerSampler {
    pub(super) fn open(connector: &Arc<Connector>, version: u32) -> Result<Self> {
        let connector = Arc::clone(connector);
        let sources = counter_queries::sources(version);
        let mut sampler = Self {
            connector,
            version,
            sources,
            connection: None,
            own_commits: 0,
            published: 0,
            published_at: None,
            told: None,
            seen: Vec::new(),
        };
        sampler.connected()?;
        Ok(sampler)
    }

    fn questions(&self) -> impl Iterator<Item = &'static str> {
        self.sources.iter().map(|source| source.sql).chain([counter_queries::activity(), counter_queries::holders()])
    }

    /// The connection. A new one has its questions prepared; those that this server or user has no answer to fail each time, and
    /// cost next to nothing.
    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = self.connector.connect_hurried(NAME, PATIENCE)?;
            let settings = format!("{}; {}", workspace::staying(), sql("no messages"));
            self.published_at = None;
            let prepared = connection.prepare_questions(&settings, self.questions())?;
            self.connection = Some(connection);
            self.count(&prepared);
            // From the second reading on each finds the same ones of ours counted.
            let first = self.ask(0..self.sources.len() + 1)?;
            self.count(&first);
        }
        self.connection.as_mut().ok_or_else(|| self.connector.errors.lost("it was given up"))
    }

    /// Our own transactions that a reading has among the commits: all of those before it, if it flushes them.
    fn own_in_reading(&self) -> u64 {
        if self.version >= FLUSH_VERSION { self.own_commits } else { self.published }
    }

    /// Counts our own transactions. Without a flush a session publishes its counts when a transaction ends, unless it did so
    /// less than half a second ago (`PGSTAT_STAT_INTERVAL`). So the first of an exchange is published with all before it.
    fn count(&mut self, answers: &[Answer]) {
        let now = self.connector.clock.now();
        if self.published_at.is_none_or(|last| now.since(last) >= PUBLISHING) {
            self.published = self.own_commits + 1;
            self.published_at = Some(now);
        }
        self.own_commits += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
    }

    /// How many of our sessions wait for a lock of somebody else. Where both hold some, it is their part of the holders.
    fn blocked(&mut self, activity: &Activity, window: Window) -> Option<Reading> {
        let waiting = activity.waiting_for_locks()?;
        let metric = Counter::SessionsBlockedByOthers;
        if waiting <= 0.0 {
            return Some(Reading { metric, value: 0.0, window });
        }
        let last = self.sources.len() + 1;
        let answers = self.ask(last..last + 1).ok()?;
        self.count(&answers);
        let holders = answers.first()?.as_ref().ok()?.first()?;
        let (others, all): (f64, f64) = (holders.get(0)?, holders.get(1)?);
        // They may be gone by then.
        (all > 0.0).then(|| Reading { metric, value: waiting * others / all, window })
    }

    /// A row for each kind of files.
    fn kinds_of_files(&mut self) -> Result<Vec<FileRow>> {
        let Some(sql) = counter_queries::files_by_kind(self.version) else { return Ok(Vec::new()) };
        let answer = self.connected()?.rows(sql, &[]);
        if answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Lost) {
            self.connection = None;
        }
        self.count(std::slice::from_ref(&answer));
        Ok(answer?.iter().filter_map(kind_of_files).collect())
    }

    /// Asks the prepared questions. The connection is given up when it fails, or when the server says that it goes away.
    fn ask(&mut self, numbers: Range<usize>) -> Result<Vec<Answer>> {
        let answers = match &mut self.connection {
            Some(connection) => connection.ask(numbers),
            None => Err(self.connector.errors.lost("it was given up")),
        };
        if answers.is_err() {
            self.connection = None;
        }
        answers
    }
}

/// Commits that are not our own, of which it is known what the server last said of all, and what was told. The server may publish ours later
/// than we count them: a moment with none of others would look like a restart then, at which its own count begins anew.
fn of_others(last: &mut Option<(f64, f64)>, all: f64, own: f64) -> f64 {
    let least = last.filter(|(before, _)| all >= *before).map(|(_, told)| told);
    let told = least.map_or(all - own, |least| (all - own).max(least));
    *last = Some((all, told));
    told
}

impl Sampler for ServerSampler {
    /// What the server or the user has not got is left out. Late counts are left out while a session works on a transaction
    /// that is older than a second. What it has done by now would seem not to have happened.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        self.connected()?;
        let clock = Arc::clone(&self.connector.clock);
        let (answers, window) = windowed(clock.as_ref(), || self.ask(0..self.sources.len() + 1));
        let answers = answers?;
        let own_before = self.own_in_reading();
        self.count(&answers);
        let activity = answers.last().and_then(|answer| answer.as_ref().ok()).map(|rows| Activity::of(rows));
        let is_late = activity.as_ref().is_some_and(|activity| activity.late > 0.0);
        let mut readings = Vec::with_capacity(20);
        for (source, answer) in self.sources.iter().zip(&answers) {
            let Some(row) = answer.as_ref().ok().and_then(|rows| rows.first()) else { continue };
            for (index, column) in source.columns.iter().enumerate() {
                let Some(value) = row.get(index) else { continue };
                let (metric, value) = match *column {
                    Column::Fresh(metric) => (metric, value),
                    Column::Late(metric) if !is_late => (metric, value),
                    Column::Late(_) => continue,
                    Column::Commits => (Counter::Commits, of_others(&mut self.told, value, own_before as f64)),
                };
                readings.push(Reading { metric, value, window });
            }
        }
        if let Some(activity) = activity {
            readings.extend(activity.readings(window));
            readings.extend(self.blocked(&activity, window));
            self.seen = activity.waits;
        }
        Ok(readings)
    }

    /// Asks for the sessions alone.
    fn glance(&mut self) -> Option<Result<Vec<Reading>>> {
        // A connection that was lost is made anew by the next reading.
        self.connection.as_ref()?;
        let clock = Arc::clone(&self.connector.clock);
        let last = self.sources.len();
        let (answers, window) = windowed(clock.as_ref(), || self.ask(last..last + 1));
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => return Some(Err(error)),
        };
        self.count(&answers);
        let activity = answers.first().and_then(|answer| answer.as_ref().ok()).map(|rows| Activity::of(rows))?;
        let readings = activity.readings(window).chain(self.blocked(&activity, window)).collect();
        self.seen = activity.waits;
        Some(Ok(readings))
    }

    fn seen(&mut self) -> Vec<(String, f64)> {
        std::mem::take(&mut self.seen)
    }

    /// Data files of all databases together, and the log: nobody counts by file.
    fn all_files(&mut self) -> Result<Option<Files>> {
        let clock = Arc::clone(&self.connector.clock);
        let (files, window) = windowed(clock.as_ref(), || self.kinds_of_files());
        let rows = files?;
        Ok((!rows.is_empty()).then_some(Files { rows, window }))
    }

    /// Pages of data files by the kind of process that wrote them, and writes of the log.
    fn views(&mut self) -> Result<Views> {
        let log = counters::files_sql(self.version);
        let mut rows = [None, None];
        for (row, sql) in rows.iter_mut().zip([counter_queries::writers(self.version), log]) {
            let Some(sql) = sql else { continue };
            let answer = self.connected()?.rows(sql, &[]);
            if let Err(error) = &answer
                && error.kind == ErrorKind::Lost
            {
                self.connection = None;
                return Err(error.clone());
            }
            self.count(std::slice::from_ref(&answer));
            *row = answer.ok().and_then(|rows| rows.into_iter().next());
        }
        let mut files = Vec::new();
        if let Some(writers) = &rows[0] {
            let names = ["data files by checkpoints", "data files by the background writer", "data files by sessions"];
            let writes = |index| writers.get::<f64>(index).map(|pages| pages as u64);
            files.extend(names.into_iter().enumerate().map(|(index, name)| FileRow {
                name: name.to_owned(),
                kind: "data",
                writes: writes(index),
                ..FileRow::default()
            }));
        }
        files.retain(|file| file.writes.is_some());
        if let Some(log) = &rows[1] {
            files.extend(counters::file_rows(&|index| log.get(index)));
        }
        Ok(Views { files, ..Views::default() })
    }
}

/// A row of the statement "files by kind".
fn kind_of_files(row: &Texts) -> Option<FileRow> {
    let count = |index| row.get::<f64>(index).map(|count| count as u64);
    Some(FileRow {
        name: row.text(0)?.to_owned(),
        kind: if row.text(1) == Some("log") { "log" } else { "data" },
        reads: count(2),
        read_bytes: count(3),
        read_stall_seconds: row.get(4),
        writes: count(5),
        write_bytes: count(6),
        write_stall_seconds: row.get(7),
        handle: Some(format!("{} {}", row.text(0)?, row.text(8)?)),
        ..FileRow::default()
    })
}

#[derive(Debug, Default, PartialEq)]
struct Activity {
    /// Sessions of ours by gauge; `None` if there are some of which nothing can be seen.
    gauges: Option<[f64; GAUGES.len()]>,
    /// Sessions of others that are at work; `None` likewise.
    others: Option<f64>,
    /// Those of ours that write or sync the log themselves; known as `gauges` are.
    flushing: f64,
    late: f64,
    /// What those of ours that work on a statement wait for: kind and event.
    waits: Vec<(String, f64)>,
}

impl Activity {
    /// A session whose parallel workers work for it is one, and does what they do: each of them a part of it.
    fn of(rows: &[Texts]) -> Self {
        let (mut others, mut late) = (Some(0.0), 0.0);
        let mut is_hidden_from_us = false;
        let mut seen: Vec<(Counter, Option<String>, f64, bool)> = Vec::new();
        let mut leaders = 0.0;
        for row in rows {
            let (is_ours, is_hidden, is_worker) = (row.is_true(0), row.is_true(1), row.is_true(7));
            let count = row.get(5).unwrap_or(0.0);
            late += row.get(6).unwrap_or(0.0);
            let wait = row.text(3).zip(row.text(4));
            let gauge = counter_queries::gauge(row.text(2), wait);
            match gauge {
                _ if is_hidden && is_ours => is_hidden_from_us = true,
                _ if is_hidden => others = None,
                Some(metric) if is_ours => {
                    seen.push((metric, wait.map(|(kind, event)| format!("{kind}/{event}")), count, is_worker));
                }
                None if is_ours && !is_worker && row.text(2) == Some("active") => leaders += count,
                Some(metric) if !metric.is_rest() => others = others.map(|others| others + count),
                _ => {}
            }
        }
        let workers: f64 = seen.iter().filter(|(.., is_worker)| *is_worker).map(|(_, _, count, _)| count).sum();
        let of_worker = if workers > 0.0 { (leaders / workers).min(1.0) } else { 0.0 };
        let mut activity = Self { others, late, ..Self::default() };
        let mut gauges = [0.0; GAUGES.len()];
        for (metric, wait, count, is_worker) in seen {
            let count = if is_worker { count * of_worker } else { count };
            if let Some(place) = GAUGES.iter().position(|gauge| *gauge == metric) {
                gauges[place] += count;
            }
            let Some(name) = wait.filter(|_| count > 0.0) else { continue };
            if name.split_once('/').is_some_and(|(kind, event)| counter_queries::flushes(kind, event)) {
                activity.flushing += count;
            }
            match activity.waits.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => activity.waits.push((name, count)),
            }
        }
        activity.gauges = (!is_hidden_from_us).then_some(gauges);
        activity
    }

    /// Sessions of ours that wait for locks of the engine's list of locks.
    fn waiting_for_locks(&self) -> Option<f64> {
        let place = GAUGES.iter().position(|gauge| *gauge == Counter::SessionsWaitingForLocks)?;
        Some(self.gauges?[place])
    }

    fn readings(&self, window: Window) -> impl Iterator<Item = Reading> + use<> {
        let values = GAUGES.into_iter().zip(self.gauges.into_iter().flatten());
        let others = self.others.map(|others| (Counter::SessionsOfOthers, others));
        let flushing = self.gauges.map(|_| (Counter::SessionsFlushingLog, self.flushing));
        values.chain(others).chain(flushing).map(move |(metric, value)| Reading { metric, value, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: [&str; 7]) -> Texts {
        of_process(texts, "f")
    }

    fn of_process(texts: [&str; 7], is_worker: &str) -> Texts {
        let texts = texts.into_iter().chain([is_worker]);
        Texts(texts.map(|text| (!text.is_empty()).then(|| text.to_owned())).collect())
    }

    #[test]
    fn parallel_workers_are_what_their_session_does() {
        // Four sessions: two wait for their workers, of which one reads; one reads beside a worker of its own, and one computes.
        let rows = [
            row(["t", "f", "active", "IPC", "ExecuteGather", "2", "0"]),
            row(["t", "f", "active", "IO", "DataFileRead", "1", "0"]),
            row(["t", "f", "active", "", "", "1", "0"]),
            of_process(["t", "f", "active", "", "", "3", "0"], "t"),
            of_process(["t", "f", "active", "IO", "DataFileRead", "1", "0"], "t"),
        ];
        let activity = Activity::of(&rows);
        assert_eq!(activity.gauges, Some([2.5, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
        assert_eq!(activity.waits, [("IO/DataFileRead".to_owned(), 1.5)]);
    }

    #[test]
    fn sessions_are_counted_by_whose_they_are_and_what_they_wait_for() {
        let rows = [
            row(["t", "f", "active", "", "", "3", "1"]),
            row(["t", "f", "active", "IO", "DataFileRead", "2", "2"]),
            row(["t", "f", "active", "IPC", "ExecuteGather", "1", "0"]),
            row(["t", "f", "idle in transaction", "Client", "ClientRead", "4", "0"]),
            row(["f", "f", "active", "", "", "5", "1"]),
            row(["f", "f", "active", "IO", "DataFileRead", "6", "0"]),
            row(["f", "f", "active", "Timeout", "PgSleep", "7", "0"]),
            row(["f", "f", "active", "Lock", "transactionid", "9", "0"]),
            row(["f", "f", "idle in transaction", "Client", "ClientRead", "8", "0"]),
        ];
        let activity = Activity::of(&rows);
        let gauges = Some([3.0, 2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
        let waits =
            [("IO/DataFileRead", 2.0), ("Client/ClientRead", 4.0)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(activity, Activity { gauges, others: Some(11.0), flushing: 0.0, late: 4.0, waits: waits.into() });
        assert_eq!(activity.readings(Window { start: Moment::default(), end: Moment::default() }).count(), 10);
        assert_eq!(
            Activity::of(&[]),
            Activity { gauges: Some([0.0; 8]), others: Some(0.0), flushing: 0.0, late: 0.0, waits: Vec::new() }
        );
    }

    #[test]
    fn sessions_that_cannot_be_seen_leave_nothing_to_count() {
        let seen = row(["t", "f", "active", "", "", "3", "0"]);
        let of_others = Activity::of(&[seen.clone(), row(["f", "t", "", "", "", "1", "0"])]);
        assert_eq!((of_others.gauges.map(|gauges| gauges[0]), of_others.others), (Some(3.0), None));
        // Nobody is told what we do ourselves.
        let ours = Activity::of(&[seen, row(["t", "t", "disabled", "", "", "1", "0"])]);
        assert_eq!((ours.gauges, ours.others), (None, Some(0.0)));
    }

    #[test]
    fn commits_go_backwards_with_the_servers_own_count_alone() {
        let mut last = None;
        let mut told = |all, own| of_others(&mut last, all, own) as i64;
        assert_eq!(told(100.0, 5.0), 95);
        assert_eq!(told(102.0, 9.0), 95, "ours were not published yet");
        assert_eq!(told(130.0, 12.0), 118);
        assert_eq!(told(3.0, 14.0), -11, "the server had begun anew");
        assert_eq!(told(20.0, 16.0), 4);
    }
}
