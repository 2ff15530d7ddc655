//! The whole server through the eyes of a sampler: counters, and what its sessions do now, over a connection of its own.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use plimsoll_clock::windowed;
use plimsoll_engine::{Error, Result, Sampler};
use plimsoll_measurement::{Counter, FileRow, Files, Reading, Views, WaitClass, WaitRow, Window};

use super::connect::Connector;
use super::connection::{Connection, Rows};
use super::counter_queries::{self, Beside, Follow, Ours, OwnReads, Status, TIMER};
use super::counters;
use super::describe::ServerFacts;
use super::product::Product;
use super::statements::text;

const NAME: &str = "plimsoll sampler";
/// What waits for row locks are called, which have no state of their own.
const ROW_LOCK: &str = "InnoDB row lock";
/// What waits for a thread of MariaDB's pool are called, during which a session looks idle.
const POOL: &str = "queue of the thread pool";
/// What waits in front of MySQL's InnoDB are called, during which a session looks as if it worked.
const IN_FRONT_OF_INNODB: &str = "queue of innodb_thread_concurrency";
/// The redo log among files.
pub(super) const REDO_LOG: &str = "redo log";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reads a server; after a loss it connects again at the next reading.
pub(super) struct ServerSampler {
    connector: Arc<Connector>,
    facts: ServerFacts,
    connection: Option<Connection>,
    /// Whether the Performance Schema counts files here, and lets us see it.
    sees_files: bool,
    /// Whether transactions of all may be seen.
    sees_transactions: bool,
    /// Whether the server limits its threads at work, so that sessions may wait in a queue.
    limits_threads: bool,
    follow: Follow,
    own_reads: OwnReads,
    /// Waits of ours at the last reading.
    seen: Vec<(String, f64)>,
}

impl ServerSampler {
    pub(super) fn open(connector: &Arc<Connector>, facts: ServerFacts) -> Result<Self> {
        let mut sampler = Self {
            connector: Arc::clone(connector),
            facts,
            connection: None,
            sees_files: false,
            sees_transactions: false,
            limits_threads: false,
            follow: Follow::default(),
            own_reads: OwnReads::default(),
            seen: Vec::new(),
        };
        sampler.connected()?;
        Ok(sampler)
    }

    /// Connects if there is no connection, and finds out what may be asked.
    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = self.connector.connect_within(NAME, PATIENCE)?;
            connection.link.set_timeout(Some(PATIENCE));
            // A server that ends idle sessions within the second would be connected to anew each time.
            connection.set(text("settings of a session that reads"))?;
            self.connection = Some(connection);
            self.sees_files = self.ask(text("files"))?.is_ok_and(|rows| !rows.is_empty());
            self.sees_transactions = self.ask(text("transactions"))?.is_ok();
            self.limits_threads = self.ask(text("limit of threads"))?.is_ok_and(|rows| !rows.is_empty());
        }
        let errors = &self.connector.errors;
        self.connection.as_mut().ok_or_else(|| errors.lost("it was given up"))
    }

    /// Asks over the connection that is there. The inner error is the server's, after which the connection works on; else it
    /// is given up.
    fn ask(&mut self, sql: &str) -> Result<std::result::Result<Rows, Error>> {
        let Some(connection) = &mut self.connection else { return Err(self.connector.errors.lost("it was given up")) };
        let answer = connection.ask(sql);
        if let Err(error) = connection.link.alive() {
            self.connection = None;
            return Err(error);
        }
        Ok(answer)
    }

    /// What sessions do at this moment.
    fn sessions(&mut self, status: &Status, readings: &mut Vec<Reading>) -> Result<()> {
        let connection = self.connected()?;
        let (product, own) = (connection.server.product, connection.id);
        let transactions = if self.sees_transactions { self.rows(text("transactions"))? } else { None };
        if let Some((rows, window)) = self.rows(product.text("sessions"))? {
            let ours = self.connector.ours.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let is_ours = |row: &[Option<String>]| number(row, 0).is_some_and(|id| ours.contains(&(id as u32)));
            let counted = |of_ours: bool, waits: f64| {
                let rows = transactions.as_ref()?.0.iter().filter(|row| is_ours(row) == of_ours);
                Some(rows.filter(|row| number(row, 1) == Some(waits)).count() as f64)
            };
            // Without transactions there are no others, or nothing is said of sessions at all.
            let row_locks = counted(true, 1.0).or_else(|| counter_queries::of(status, "Innodb_row_lock_current_waits"));
            let in_front = if product == Product::MySql { self.in_front_of_innodb()? } else { None };
            let beside = Beside {
                own,
                connected: counter_queries::of(status, "Threads_connected").filter(|_| !self.sees_transactions),
                row_locks: [row_locks, counted(false, 1.0)].map(Option::unwrap_or_default),
                idle_in_transaction: counted(true, 0.0),
                pending_reads: counter_queries::of(status, "Innodb_data_pending_reads").unwrap_or(0.0),
                in_front,
            };
            self.seen = counter_queries::waits(&rows, &ours, own);
            let gauges = counter_queries::gauges(&rows, &ours, beside, &mut self.own_reads).unwrap_or_default();
            put(readings, &gauges, window);
            let log = counter_queries::redo_log_percent(status).map(|percent| (Counter::RedoLogPercent, percent));
            put(readings, &log.into_iter().collect::<Vec<_>>(), window);
            if let Some((_, queued)) = gauges.iter().find(|(gauge, _)| *gauge == Counter::SessionsWaitingForWorkers) {
                self.seen.extend((*queued > 0.0).then(|| (IN_FRONT_OF_INNODB.to_owned(), *queued)));
            }
            if self.limits_threads
                && product == Product::MariaDb
                && let Some((rows, window)) = self.rows(text("queue of the pool of MariaDB"))?
            {
                let queued = rows.iter().filter(|row| is_ours(row)).count() as f64;
                put(readings, &[(Counter::SessionsWaitingForWorkers, queued)], window);
                self.seen.extend((queued > 0.0).then(|| (POOL.to_owned(), queued)));
            }
            if !gauges.is_empty() {
                let of_tables = gauges.iter().find(|(gauge, _)| *gauge == Counter::SessionsWaitingForTableLocks);
                let waiting = [beside.row_locks[0], of_tables.map_or(0.0, |(_, sessions)| *sessions)];
                let blocked = self.blocked(product, &ours, waiting)?;
                put(
                    readings,
                    &blocked
                        .map(|sessions| (Counter::SessionsBlockedByOthers, sessions))
                        .into_iter()
                        .collect::<Vec<_>>(),
                    window,
                );
            }
        }
        Ok(())
    }

    /// How many statements of all users wait until InnoDB lets them in, where it lets in only so many at a time.
    fn in_front_of_innodb(&mut self) -> Result<Option<f64>> {
        if !self.limits_threads {
            return Ok(None);
        }
        let Some((rows, _)) = self.rows(text("queue of InnoDB of MySQL"))? else { return Ok(None) };
        Ok(rows.first().and_then(|row| row.get(2)?.as_deref()).and_then(counter_queries::in_front_of_innodb))
    }

    /// How many of our sessions wait for locks of others' sessions, of so many that wait for rows and for tables. The waits for rows get
    /// their name. MariaDB does not say who holds a table.
    fn blocked(&mut self, product: Product, ours: &Ours, [for_rows, for_tables]: [f64; 2]) -> Result<Option<f64>> {
        if for_rows > 0.0 {
            self.seen.push((ROW_LOCK.to_owned(), for_rows));
        }
        let waiting = if product == Product::MariaDb { for_rows } else { for_rows + for_tables };
        if waiting <= 0.0 {
            return Ok(Some(0.0));
        }
        let Some((rows, _)) = self.rows(product.text("holders of locks"))? else { return Ok(None) };
        let pairs = rows.iter().filter_map(|row| Some((number(row, 0)? as u32, number(row, 1)? as u32)));
        Ok(counter_queries::blocked_by_others(&pairs.collect::<Vec<_>>(), ours, waiting))
    }

    /// Rows of an answer with their window; none if the server refuses it.
    fn rows(&mut self, sql: &str) -> Result<Option<Answer>> {
        let clock = Arc::clone(&self.connector.clock);
        let (answer, window) = windowed(clock.as_ref(), || self.ask(sql));
        Ok(answer?.ok().map(|rows| (rows, window)))
    }
}

/// Rows that came back, and when.
type Answer = (Rows, Window);

fn number(row: &[Option<String>], index: usize) -> Option<f64> {
    row.get(index)?.as_ref()?.parse().ok()
}

/// Adds values of a window; they go before what was there of the same.
fn put(readings: &mut Vec<Reading>, values: &[(Counter, f64)], window: Window) {
    readings.retain(|reading| values.iter().all(|(metric, _)| *metric != reading.metric));
    readings.extend(values.iter().map(|(metric, value)| Reading { metric: *metric, value: *value, window }));
}

/// A time of the Performance Schema in seconds; if it counts without taking times, there is none.
fn seconds(row: &[Option<String>], count: usize, timer: usize) -> Option<f64> {
    let timer = number(row, timer)?;
    (timer > 0.0 || number(row, count)? == 0.0).then_some(timer * TIMER)
}

/// What a row of the statement "files" counts.
fn file_values(row: &[Option<String>]) -> Vec<(Counter, f64)> {
    let event = row.first().and_then(Option::as_deref).unwrap_or_default();
    // What else is done to a log than to write it is mostly to sync it.
    let values = match event {
        "wait/io/file/innodb/innodb_data_file" => vec![
            (Counter::DataReads, number(row, 1)),
            (Counter::DataReadStallSeconds, seconds(row, 1, 2)),
            (Counter::DataWrites, number(row, 3)),
            (Counter::DataWriteStallSeconds, seconds(row, 3, 4)),
        ],
        "wait/io/file/innodb/innodb_log_file" => vec![
            (Counter::LogWrites, number(row, 3)),
            (Counter::LogWriteStallSeconds, seconds(row, 3, 4)),
            (Counter::LogSyncs, number(row, 5)),
            (Counter::LogSyncStallSeconds, seconds(row, 5, 6)),
        ],
        "wait/io/file/sql/binlog" => {
            vec![(Counter::BinaryLogSyncs, number(row, 5)), (Counter::BinaryLogSyncStallSeconds, seconds(row, 5, 6))]
        }
        _ => Vec::new(),
    };
    values.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect()
}

/// A row of the statement "files by name": a table's file with its database in front.
pub(super) fn file_row(row: &[Option<String>]) -> Option<FileRow> {
    let count = |index| number(row, index).map(|count| count as u64);
    let path = row.first()?.as_ref()?;
    let mut parts = path.rsplit('/');
    let file = parts.next()?;
    let is_table = Path::new(file).extension().is_some_and(|extension| extension == "ibd");
    let database = parts.next().filter(|_| is_table).map(str::to_owned);
    let name = database.as_ref().map_or_else(|| file.to_owned(), |folder| format!("{folder}/{file}"));
    Some(FileRow {
        name,
        database,
        path: Some(path.clone()).filter(|path| path.contains('/')),
        kind: if number(row, 1) == Some(1.0) { "data" } else { "log" },
        reads: count(2),
        read_bytes: count(3),
        read_stall_seconds: seconds(row, 2, 4),
        writes: count(5),
        write_bytes: count(6),
        write_stall_seconds: seconds(row, 5, 7),
        ..FileRow::default()
    })
}

/// What a wait is for, by the instruments of MySQL 9.7. Those of the log are its files': what sessions wait for until the log's threads
/// are done is off as a rule, and would count the same time again. MariaDB 11.4 has no instrument for its redo log, so nothing is said
/// there.
fn class_of(wait: &str, product: Product) -> Option<WaitClass> {
    let class = match wait {
        "io/file/innodb/innodb_log_file" | "io/file/sql/binlog" => WaitClass::LogWrite,
        "lock/table/sql/handler" | "lock/metadata/sql/mdl" => WaitClass::Lock,
        _ => WaitClass::Other,
    };
    (product == Product::MySql).then_some(class)
}

/// A row of the statement "waits".
pub(super) fn wait_row(row: &[Option<String>], product: Product) -> Option<WaitRow> {
    let name = row.first()?.as_ref()?;
    let name = name.strip_prefix("wait/").unwrap_or(name).to_owned();
    let class = class_of(&name, product);
    let time = |column| number(row, column).map(|ticks| ticks * TIMER);
    Some(WaitRow {
        name,
        class,
        count: number(row, 1)? as u64,
        seconds: time(2)?,
        longest_seconds: time(3),
        ..WaitRow::default()
    })
}

impl Sampler for ServerSampler {
    /// What the server or the user has not got is left out.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        let connection = self.connected()?;
        let product = connection.server.product;
        let mut readings = Vec::with_capacity(24);
        let Some((rows, window)) = self.rows(text("status"))? else { return Ok(readings) };
        let status: Status = counters::status_of(rows);
        put(&mut readings, &counter_queries::counters(&status, product, self.facts.is_direct), window);
        put(&mut readings, &self.follow.next(&status), window);
        self.sessions(&status, &mut readings)?;
        if self.sees_files
            && let Some((rows, window)) = self.rows(text("files"))?
        {
            for row in &rows {
                put(&mut readings, &file_values(row), window);
            }
        }
        Ok(readings)
    }

    /// Asks for the sessions, and for what the status tells of them.
    fn glance(&mut self) -> Option<Result<Vec<Reading>>> {
        // A connection that was lost is made anew by the next reading.
        self.connection.as_ref()?;
        let mut readings = Vec::new();
        let looked = self.rows(text("status of sessions")).and_then(|answer| {
            let status = answer.map(|(rows, _)| counters::status_of(rows)).unwrap_or_default();
            self.sessions(&status, &mut readings)
        });
        Some(looked.map(|()| readings))
    }

    fn seen(&mut self) -> Vec<(String, f64)> {
        std::mem::take(&mut self.seen)
    }

    fn all_files(&mut self) -> Result<Option<Files>> {
        self.connected()?;
        if !self.sees_files {
            return Ok(None);
        }
        let files = self.rows(text("files by name"))?;
        Ok(files.map(|(rows, window)| Files { rows: rows.iter().filter_map(|row| file_row(row)).collect(), window }))
    }

    /// Files and waits by the Performance Schema; without it, what the status has of the log.
    fn views(&mut self) -> Result<Views> {
        let product = self.connected()?.server.product;
        let mut views = Views::default();
        if self.sees_files {
            let files = self.ask(text("files by name"))?.unwrap_or_default();
            views.files = files.iter().filter_map(|row| file_row(row)).collect();
            let waits = self.ask(text("waits"))?.unwrap_or_default();
            views.waits = waits.iter().filter_map(|row| wait_row(row, product)).collect();
        }
        // MariaDB counts its binary log there, and not its redo log.
        if views.files.iter().all(|file| file.name != REDO_LOG) {
            let status = self.ask(product.text("status of the log"))?.unwrap_or_default();
            views.files.extend(counters::log_rows(&counters::status_of(status)));
        }
        Ok(views)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn times_that_nobody_takes_are_absent() {
        let timed =
            file_values(&row(&["wait/io/file/innodb/innodb_data_file", "4", "2000000000000", "0", "0", "9", "9"]));
        assert_eq!(
            timed,
            [
                (Counter::DataReads, 4.0),
                (Counter::DataReadStallSeconds, 2.0),
                (Counter::DataWrites, 0.0),
                (Counter::DataWriteStallSeconds, 0.0),
            ]
        );
        let untimed = file_values(&row(&["wait/io/file/innodb/innodb_log_file", "0", "0", "5", "0", "3", "0"]));
        assert_eq!(untimed, [(Counter::LogWrites, 5.0), (Counter::LogSyncs, 3.0)]);
        let binary = file_values(&row(&["wait/io/file/sql/binlog", "0", "0", "5", "0", "3", "3000000000000"]));
        assert_eq!(binary, [(Counter::BinaryLogSyncs, 3.0), (Counter::BinaryLogSyncStallSeconds, 3.0)]);
    }

    #[test]
    fn a_tables_file_has_its_database_in_its_name() {
        let name = |path: &str| file_row(&row(&[path, "1", "1", "1", "1", "1", "1", "1"])).unwrap().name;
        assert_eq!(name("/data/plimsoll_run_a/dense.ibd"), "plimsoll_run_a/dense.ibd");
        assert_eq!(name("/data/ibdata1"), "ibdata1");
    }
}
