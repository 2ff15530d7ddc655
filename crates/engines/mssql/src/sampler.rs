//! The server through the eyes of a sampler: files, waits, sessions, and in Azure the use of the level's resources, over a connection
//! of its own. Written to Microsoft's documentation.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::windowed;
use plimsoll_engine::telemetry::SESSION_GAUGES as GAUGES;
use plimsoll_engine::{Error, ErrorKind, Result, Row, Sampler, Value};
use plimsoll_measurement::{Counter, Files, Moment, Reading, ResourceRow, Views, Window};

use super::abilities::{Abilities, Ability};
use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::counters;
use super::describe::Server;
use super::sql::{self, Product, Text};
use super::waits::{self, METRICS};
use super::wire::Wire;

const NAME: &str = "plimsoll sampler";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE_S: u32 = 3;
/// Rows of `sys.dm_db_resource_stats` are means over so long.
const RESOURCE_ROW: Duration = Duration::from_secs(15);
/// A wait that is older than this has been going on since before the reading before; only those that ended are counted.
const LATE_MS: i64 = 1_000;
/// The server's time and ours may come apart so far before they are put together anew, as after a pause of a machine.
const APART: Duration = Duration::from_secs(5);

/// Reads a server; after a loss it connects again at the next reading.
pub(super) struct ServerSampler {
    connector: Connector,
    product: Product,
    /// The database by the name that it has, by which `master` knows it.
    database: String,
    abilities: Abilities,
    wire: Option<Box<dyn Wire>>,
    /// A server that is away for a while is not asked again before.
    not_before: Option<(Moment, Error)>,
    server_time: ServerTime,
    /// The end of the last row of resources that was seen.
    last_resources: Option<String>,
    /// Files that have limits of their own, as they were last seen.
    last_files: Option<Files>,
    /// Waits of ours at the last reading.
    seen: Vec<(String, f64)>,
}

impl ServerSampler {
    pub(super) fn open(connector: &Connector, server: &Server) -> Result<Self> {
        let mut sampler = Self {
            connector: connector.hurried(PATIENCE_S),
            product: server.product,
            database: server.database.clone(),
            abilities: server.abilities,
            wire: None,
            not_before: None,
            server_time: ServerTime::default(),
            last_resources: None,
            last_files: None,
            seen: Vec::new(),
        };
        sampler.with_control(|_| Ok(()))?;
        Ok(sampler)
    }

    /// Asks something over the connection, which is made if it isn't there and given up if it breaks or is too slow.
    fn with_control<T>(&mut self, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        let wire = match self.wire.take() {
            Some(wire) => wire,
            None => self.connect()?,
        };
        let mut control = Control::on(wire, &self.connector);
        let done = work(&mut control);
        let is_broken = control.wire.is_dead() || done.as_ref().is_err_and(|error| error.kind == ErrorKind::Lost);
        self.wire = (!is_broken).then_some(control.wire);
        done
    }

    fn connect(&mut self) -> Result<Box<dyn Wire>> {
        let now = self.connector.clock.now();
        if let Some((moment, error)) = &self.not_before
            && now < *moment
        {
            return Err(error.clone());
        }
        let connected = self.connector.connect_once(NAME);
        let refused = connected.as_ref().err();
        self.not_before = refused.and_then(|error| error.retry_after.map(|pause| (now.after(pause), error.clone())));
        connected
    }

    /// Rows with the window of their question; `None` if the server refuses it by now.
    fn rows(&mut self, text: Text) -> Result<Option<(Vec<Row>, Window)>> {
        let clock = Arc::clone(&self.connector.clock);
        let (rows, window) = windowed(clock.as_ref(), || self.with_control(|control| control.rows(text, &[])));
        match rows {
            Ok(rows) => Ok(Some((rows, window))),
            Err(error) if self.wire.is_none() => Err(error),
            Err(error) => {
                tracing::debug!(text = text.name(), %error, "not read");
                Ok(None)
            }
        }
    }

    /// I/O of the database's files, in windows by the server's time.
    fn files(&mut self, readings: &mut Vec<Reading>) -> Result<()> {
        let Some((rows, window)) = self.rows(sql::FILE_STATISTICS_TIMED)? else { return Ok(()) };
        let Some(sampled_at) = rows.iter().filter_map(|row| whole(row, 8)).max() else { return Ok(()) };
        let window = self.server_time.window(sampled_at, window);
        let rows = counters::file_readings(&rows, |metric, value| readings.push(Reading { metric, value, window }));
        let has_limits = matches!(self.product, Product::Instance) && !rows.is_empty();
        self.last_files = has_limits.then_some(Files { rows, window });
        Ok(())
    }

    /// What sessions do now; gives the metrics of waits that have been going on for long.
    fn sessions(&mut self, readings: &mut Vec<Reading>) -> Result<Vec<Counter>> {
        let Some((rows, window)) = self.rows(sql::SESSIONS)? else { return Ok(Vec::new()) };
        let (mut gauges, mut others, mut late) = ([0.0; GAUGES.len()], 0.0, Vec::new());
        for row in &rows {
            let (Some(status), wait) = (text_of(row, 0).or_else(|| text_of(row, 5)), text_of(row, 1)) else { continue };
            let metric = waits::gauge_of(&status, wait.as_deref());
            let (count, is_ours) = (whole(row, 2).unwrap_or(0) as f64, whole(row, 4) == Some(1));
            match metric {
                Some(metric) if is_ours => {
                    if let Some(index) = GAUGES.iter().position(|gauge| *gauge == metric) {
                        gauges[index] += count;
                        self.seen.extend(wait.clone().map(|wait| (wait, count)));
                    }
                }
                Some(metric) if !metric.is_rest() => others += count,
                _ => {}
            }
            if whole(row, 3) > Some(LATE_MS) {
                late.extend(wait.as_deref().and_then(waits::metric_of));
            }
        }
        let all = GAUGES.into_iter().zip(gauges).chain([(Counter::SessionsOfOthers, others)]);
        readings.extend(all.map(|(metric, value)| Reading { metric, value, window }));
        Ok(late)
    }

    /// Waits that have ended, by what they were for; those that still go on for long are left out with their kind.
    fn waits(&mut self, readings: &mut Vec<Reading>, late: &[Counter]) -> Result<()> {
        let Some((rows, window)) = self.rows(self.waits_text())? else { return Ok(()) };
        // Somebody has always waited for something; a view without rows shows nothing to us.
        if rows.is_empty() {
            return Ok(());
        }
        let mut seconds = [0.0; METRICS.len()];
        for row in &rows {
            let metric = text_of(row, 0).and_then(|wait| waits::metric_of(&wait));
            if let Some(index) = metric.and_then(|metric| METRICS.iter().position(|known| *known == metric)) {
                seconds[index] += whole(row, 2).unwrap_or(0) as f64 / 1e3;
            }
        }
        let known = METRICS.into_iter().zip(seconds).filter(|(metric, _)| !late.contains(metric));
        readings.extend(known.map(|(metric, value)| Reading { metric, value, window }));
        Ok(())
    }

    const fn waits_text(&self) -> Text {
        if matches!(self.product, Product::Database) { sql::DATABASE_WAITS } else { sql::SERVER_WAITS }
    }

    /// The newest row of resources, once, in the window that it is of.
    fn resources(&mut self, readings: &mut Vec<Reading>) -> Result<()> {
        let Some((rows, window)) = self.rows(sql::NEWEST_RESOURCES)? else { return Ok(()) };
        let Some(row) = rows.first() else { return Ok(()) };
        let (Some(name), Some(ago)) = (text_of(row, 0), whole(row, 1)) else { return Ok(()) };
        if self.last_resources.as_ref() == Some(&name) {
            return Ok(());
        }
        let Some(window) = resource_window(window.end, ago) else { return Ok(()) };
        self.last_resources = Some(name);
        let metrics = [Counter::CpuPercent, Counter::DataIoPercent, Counter::LogWritePercent, Counter::MemoryPercent];
        for (index, metric) in metrics.into_iter().enumerate() {
            if let Value::Float(value) = row.get(index + 2) {
                readings.push(Reading { metric, value, window });
            }
        }
        Ok(())
    }

    /// Rows that only the database `master` has, where the user may go there.
    fn of_master(&self, text: Text) -> Option<Vec<Row>> {
        let master = self.connector.to("master");
        let wire = master.connect_once(NAME).ok()?;
        let mut control = Control::on(wire, &master);
        let values = vec![Value::Text(&self.database); text.parameters()];
        control.rows(text, &values).ok()
    }
}

/// The interval of a row that ended so many milliseconds before `now`.
fn resource_window(now: Moment, ago_ms: i64) -> Option<Window> {
    let ago = Duration::from_millis(u64::try_from(ago_ms).ok()?);
    let back = |moment: Moment, time: Duration| {
        Some(Moment::from_nanos(moment.as_nanos().checked_sub(u64::try_from(time.as_nanos()).ok()?)?))
    };
    let end = back(now, ago)?;
    Some(Window { start: back(end, RESOURCE_ROW).unwrap_or_default(), end })
}

/// The server's time since its machine was started, on our clock: rates between two readings are by its time, and no answer that
/// was long on its way changes them.
#[derive(Debug, Default)]
struct ServerTime {
    /// When the two were put together.
    anchor: Option<(i64, Moment)>,
}

impl ServerTime {
    fn window(&mut self, milliseconds: i64, ours: Window) -> Window {
        let mapped = self.anchor.and_then(|(then, moment)| {
            let since = u64::try_from(milliseconds.checked_sub(then)?).ok()?;
            Some(moment.after(Duration::from_millis(since)))
        });
        let close = |at: &Moment| at.since(ours.end) <= APART && ours.start.since(*at) <= APART;
        if let Some(at) = mapped.filter(close) {
            return Window { start: at, end: at };
        }
        self.anchor = Some((milliseconds, ours.end));
        Window { start: ours.end, end: ours.end }
    }
}

impl Sampler for ServerSampler {
    /// What the server or the user has not got is left out.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        self.last_files = None;
        self.seen.clear();
        self.with_control(|_| Ok(()))?;
        let mut readings = Vec::with_capacity(28);
        if self.abilities.has(Ability::SeeFiles) {
            self.files(&mut readings)?;
        }
        let late = if self.abilities.has(Ability::SeeSessions) { self.sessions(&mut readings)? } else { Vec::new() };
        if self.abilities.has(Ability::SeeWaits) {
            self.waits(&mut readings, &late)?;
        }
        if self.abilities.has(Ability::SeeResources) {
            self.resources(&mut readings)?;
        }
        Ok(readings)
    }

    fn seen(&mut self) -> Vec<(String, f64)> {
        std::mem::take(&mut self.seen)
    }

    fn files(&mut self) -> Option<Files> {
        self.last_files.take()
    }

    fn all_files(&mut self) -> Result<Option<Files>> {
        if !self.abilities.has(Ability::SeeFiles) || matches!(self.product, Product::Database) {
            return Ok(None);
        }
        let Some((rows, window)) = self.rows(sql::ALL_FILES)? else { return Ok(None) };
        let found = counters::all_files(&rows);
        Ok(found.map(|(rows, sampled_at)| Files { rows, window: self.server_time.window(sampled_at, window) }))
    }

    /// Files, waits of all, and the use of resources over finished intervals.
    fn views(&mut self) -> Result<Views> {
        let (clock, abilities, text) = (Arc::clone(&self.connector.clock), self.abilities, self.waits_text());
        let mut views = self.with_control(|control| counters::views(control, clock.as_ref(), abilities))?;
        views.waits.clear();
        if abilities.has(Ability::SeeWaits)
            && let Some((rows, _)) = self.rows(text)?
        {
            views.waits = rows.iter().filter_map(counters::wait_row).collect();
        }
        let rows = |rows: Option<Vec<Row>>| -> Vec<ResourceRow> {
            rows.iter().flatten().filter_map(|row| counters::resource_row(row, clock.now())).collect()
        };
        match self.product {
            Product::Database => views.resources_5_min = rows(self.of_master(sql::RESOURCES_OF_DAYS)),
            Product::Instance => views.resources_15_s = rows(self.of_master(sql::INSTANCE_RESOURCES)),
            Product::Server => {}
        }
        Ok(views)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: u64, end: u64) -> Window {
        let moment = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        Window { start: moment(start), end: moment(end) }
    }

    #[test]
    fn readings_are_as_far_apart_as_the_server_says() {
        let mut time = ServerTime::default();
        assert_eq!(time.window(500, window(1_000, 1_010)).end, window(0, 1_010).end);
        // An answer that came late.
        assert_eq!(time.window(1_500, window(2_000, 2_900)), window(2_010, 2_010));
        // A server that was started anew, and one that stood still.
        assert_eq!(time.window(20, window(3_000, 3_010)), window(3_010, 3_010));
        assert_eq!(time.window(1_020, window(90_000, 90_010)), window(90_010, 90_010));
        assert_eq!(time.window(2_020, window(91_000, 91_001)), window(91_010, 91_010));
    }

    #[test]
    fn a_row_of_resources_has_an_interval_of_its_own() {
        let now = window(0, 60_000).end;
        assert_eq!(resource_window(now, 10_000), Some(window(35_000, 50_000)));
        assert_eq!(resource_window(now, 70_000), None);
        assert_eq!(resource_window(now, -1), None);
    }
}
