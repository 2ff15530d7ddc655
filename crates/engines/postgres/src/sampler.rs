//! The whole server through the eyes of a sampler: counters, and what its sessions do now, over a line of its own.
//!
//! A reading is one write and mostly one read. The questions follow one another in transactions of their own, so that each sees
//! the statistics of now and not of the one before, and one that is refused takes none of the others with it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::database::Sampler;
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_measurement::{Counter, FileRow, Moment, Reading, Views, Window};
use postgres::fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{DATA_ROW_TAG, ERROR_RESPONSE_TAG, Message, READY_FOR_QUERY_TAG};
use postgres_protocol::message::frontend;

use super::connect::Connector;
use super::counter_queries::{self, ACTIVITY, Column, GAUGES, Source};
use super::counters::{self, FLUSH_VERSION};
use super::wire_connection::{ServerError, WireConnection, parse};
use super::workspace;

/// Name of its session.
const NAME: &str = "plimsoll sampler";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a session publishes its counts at most, in versions that can't be told to.
const PUBLISHING: Duration = Duration::from_millis(500);

/// Rows of an answer, as texts.
type Rows = Vec<Vec<Option<String>>>;

/// Reads a server; after a loss it connects again at the next reading.
pub(super) struct ServerSampler {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    version: u32,
    sources: Vec<Source>,
    line: Option<WireConnection>,
    /// Transactions of our own so far.
    own_commits: u64,
    /// Those of them that a server without a flush has published, and when it did so last.
    published: u64,
    published_at: Option<Moment>,
}

impl ServerSampler {
    /// Connects.
    pub(super) fn open(connector: &Arc<Connector>, clock: &Arc<dyn Clock>, version: u32) -> Result<Self> {
        let (connector, clock) = (Arc::clone(connector), Arc::clone(clock));
        let sources = counter_queries::sources(version);
        let mut sampler =
            Self { connector, clock, version, sources, line: None, own_commits: 0, published: 0, published_at: None };
        sampler.connected()?;
        Ok(sampler)
    }

    /// What is asked at a reading.
    fn questions(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.sql.as_str()).chain([ACTIVITY])
    }

    /// Connects if there is no line, and prepares the questions. Those that this server or user has no answer to fail each
    /// time, and cost next to nothing.
    fn connected(&mut self) -> Result<()> {
        if self.line.is_some() {
            return Ok(());
        }
        let mut line = self.connector.connect_hurried(NAME, PATIENCE)?;
        let mut settings = workspace::staying().to_vec();
        settings.push(("client_min_messages", "error".to_owned()));
        let encoded = frontend::query(&workspace::setting(&settings), &mut line.out).and_then(|()| {
            for (number, sql) in self.questions().enumerate() {
                frontend::parse(&name(number), sql, [], &mut line.out)?;
                frontend::sync(&mut line.out);
            }
            Ok(())
        });
        encoded.map_err(super::error::statement)?;
        let count = 1 + self.questions().count();
        self.line = Some(line);
        self.published_at = None;
        let prepared = self.exchange(count)?;
        self.count(&prepared);
        // From the second reading on each finds the same ones of ours counted.
        let first = self.ask(None)?;
        self.count(&first);
        Ok(())
    }

    /// Our own transactions that a reading has among the commits: all of those before it, if it flushes them.
    fn own_in_reading(&self) -> u64 {
        if self.version >= FLUSH_VERSION { self.own_commits } else { self.published }
    }

    /// Counts our own transactions. Without a flush a session publishes what it has when a transaction ends, unless it did so less
    /// than half a second ago (`PGSTAT_STAT_INTERVAL`): the first of an exchange is published with all before it.
    fn count(&mut self, answers: &[std::result::Result<Rows, Error>]) {
        let now = self.clock.now();
        if self.published_at.is_none_or(|last| now.since(last) >= PUBLISHING) {
            self.published = self.own_commits + 1;
            self.published_at = Some(now);
        }
        self.own_commits += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
    }

    /// Sends what is in the line's buffer and takes this many answers. The line is given up when it fails, or when the server
    /// says that it goes away.
    fn exchange(&mut self, count: usize) -> Result<Vec<std::result::Result<Rows, Error>>> {
        let errors = self.connector.errors.clone();
        let Some(line) = &mut self.line else { return Err(errors.lost("it was given up")) };
        let mut answers = Vec::with_capacity(count);
        let mut fate = line.send();
        let mut farewell = None;
        while fate.is_ok() && answers.len() < count {
            let answer = receive(line);
            let complained = answer.map(|answer| answer.map_err(|server_error| server_error.error(&errors)));
            match complained {
                Ok(Err(error)) if error.kind == ErrorKind::Lost => farewell = Some(error.clone()),
                Ok(answer) => answers.push(answer),
                Err(error) => fate = Err(error),
            }
            if farewell.is_some() {
                break;
            }
        }
        if let Some(error) = farewell.or_else(|| fate.err().map(|error| errors.lost(&error.to_string()))) {
            self.line = None;
            return Err(error);
        }
        Ok(answers)
    }

    /// Asks the prepared questions, or others.
    fn ask(&mut self, texts: Option<&[&str]>) -> Result<Vec<std::result::Result<Rows, Error>>> {
        let count = texts.map_or_else(|| self.questions().count(), <[&str]>::len);
        let Some(line) = &mut self.line else { return Err(self.connector.errors.lost("it was given up")) };
        let out = &mut line.out;
        let mut encode = || -> io::Result<()> {
            for number in 0..count {
                if let Some(texts) = texts {
                    frontend::query(texts[number], out)?;
                    continue;
                }
                let bound = frontend::bind(
                    "",
                    &name(number),
                    [],
                    [(); 0],
                    |(), _| Ok(postgres_protocol::IsNull::Yes),
                    [0],
                    out,
                );
                bound.map_err(|_| io::Error::other("a statement can't be bound"))?;
                frontend::execute("", 0, out)?;
                frontend::sync(out);
            }
            Ok(())
        };
        encode().map_err(super::error::statement)?;
        self.exchange(count)
    }
}

/// Name of a prepared question.
fn name(number: usize) -> String {
    format!("q{number}")
}

/// Reads an answer to its end. The inner error is the server's, after which the line goes on.
fn receive(line: &mut WireConnection) -> io::Result<std::result::Result<Rows, ServerError>> {
    let mut answer = Ok(Vec::new());
    loop {
        match line.receive() {
            Ok((READY_FOR_QUERY_TAG, _)) => return Ok(answer),
            Ok((ERROR_RESPONSE_TAG, message)) => answer = Err(ServerError::of(message)?),
            Ok((DATA_ROW_TAG, message)) => {
                if let Ok(rows) = &mut answer {
                    rows.push(texts(message)?);
                }
            }
            Ok(_) => {}
            // Who is sent away is told why before the line breaks.
            Err(error) => return if answer.is_err() { Ok(answer) } else { Err(error) },
        }
    }
}

/// A row's values.
fn texts(message: &[u8]) -> io::Result<Vec<Option<String>>> {
    let Message::DataRow(row) = parse(message)? else { return Ok(Vec::new()) };
    let text = |range: std::ops::Range<usize>| {
        row.buffer().get(range).map(|value| String::from_utf8_lossy(value).into_owned())
    };
    row.ranges().map(|range| Ok(range.and_then(text))).collect()
}

fn number(row: &[Option<String>], index: usize) -> Option<f64> {
    row.get(index)?.as_ref()?.parse().ok()
}

impl Sampler for ServerSampler {
    /// What the server or the user has not got is left out. So is what sessions count and publish late, as long as one of them
    /// works on a transaction that is older than a second: what it has done by now would seem not to have happened.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        self.connected()?;
        let clock = Arc::clone(&self.clock);
        let (answers, window) = windowed(clock.as_ref(), || self.ask(None));
        let answers = answers?;
        let own_before = self.own_in_reading();
        self.count(&answers);
        let activity = answers.last().and_then(|answer| answer.as_ref().ok()).map(|rows| Activity::of(rows));
        let is_late = activity.as_ref().is_some_and(|activity| activity.late > 0.0);
        let mut readings = Vec::with_capacity(20);
        for (source, answer) in self.sources.iter().zip(&answers) {
            let Some(row) = answer.as_ref().ok().and_then(|rows| rows.first()) else { continue };
            for (index, column) in source.columns.iter().enumerate() {
                let Some(value) = number(row, index) else { continue };
                let (metric, value) = match *column {
                    Column::Fresh(metric) => (metric, value),
                    Column::Late(metric) if !is_late => (metric, value),
                    Column::Late(_) => continue,
                    Column::Commits => (Counter::Commits, value - own_before as f64),
                };
                readings.push(Reading { metric, value, window });
            }
        }
        readings.extend(activity.into_iter().flat_map(|activity| activity.readings(window)));
        Ok(readings)
    }

    /// Who wrote pages of data files, and writes of the log.
    fn views(&mut self) -> Result<Views> {
        let log = counters::files_sql(self.version);
        let texts: Vec<&str> = std::iter::once(counter_queries::writers(self.version)).chain(log.as_deref()).collect();
        self.connected()?;
        let answers = self.ask(Some(&texts))?;
        self.count(&answers);
        let row = |index: usize| answers.get(index)?.as_ref().ok()?.first();
        let mut files = Vec::new();
        if let Some(writers) = row(0) {
            let names = ["data files by checkpoints", "data files by the background writer", "data files by sessions"];
            let writes = |index| number(writers, index).map(|pages| pages as u64);
            files.extend(names.into_iter().enumerate().map(|(index, name)| FileRow {
                name: name.to_owned(),
                kind: "data",
                writes: writes(index),
                ..FileRow::default()
            }));
        }
        files.retain(|file| file.writes.is_some());
        if let Some(log) = row(1) {
            files.extend(counters::file_rows(&|index| number(log, index)));
        }
        Ok(Views { files, ..Views::default() })
    }
}

/// What sessions do now.
#[derive(Debug, Default, PartialEq)]
struct Activity {
    /// Sessions of ours by gauge; `None` if there are some of which nothing can be seen.
    gauges: Option<[f64; GAUGES.len()]>,
    /// Sessions of others that are at work; `None` likewise.
    others: Option<f64>,
    /// Sessions whose counts are late.
    late: f64,
}

impl Activity {
    fn of(rows: &[Vec<Option<String>>]) -> Self {
        let (mut gauges, mut others, mut late) = (Some([0.0; GAUGES.len()]), Some(0.0), 0.0);
        for row in rows {
            let text = |index: usize| row.get(index).and_then(Option::as_deref);
            let (is_ours, is_hidden) = (text(0) == Some("t"), text(1) == Some("t"));
            let count = number(row, 5).unwrap_or(0.0);
            late += number(row, 6).unwrap_or(0.0);
            match counter_queries::gauge(text(2), text(3).zip(text(4))) {
                _ if is_hidden && is_ours => gauges = None,
                _ if is_hidden => others = None,
                Some(metric) if is_ours => {
                    let place = GAUGES.iter().position(|gauge| *gauge == metric);
                    if let Some((gauges, place)) = gauges.as_mut().zip(place) {
                        gauges[place] += count;
                    }
                }
                Some(metric) if !metric.is_rest() => others = others.map(|others| others + count),
                _ => {}
            }
        }
        Self { gauges, others, late }
    }

    fn readings(&self, window: Window) -> impl Iterator<Item = Reading> + use<> {
        let values = GAUGES.into_iter().zip(self.gauges.into_iter().flatten());
        let others = self.others.map(|others| (Counter::SessionsOfOthers, others));
        values.chain(others).map(move |(metric, value)| Reading { metric, value, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: [&str; 7]) -> Vec<Option<String>> {
        texts.map(|text| (!text.is_empty()).then(|| text.to_owned())).to_vec()
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
        let gauges = Some([3.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
        assert_eq!(activity, Activity { gauges, others: Some(11.0), late: 4.0 });
        assert_eq!(activity.readings(Window { start: Moment::default(), end: Moment::default() }).count(), 8);
        assert_eq!(Activity::of(&[]), Activity { gauges: Some([0.0; 7]), others: Some(0.0), late: 0.0 });
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
}
