//! The store in one SQLite file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use plimsoll_measurement::{Point, Repetition, RunRecord};
use rusqlite::{Connection, MAIN_DB, OpenFlags, Transaction, TransactionBehavior, params};

use crate::document::{self, head, without_points};
use crate::schema::{self, Owner};
use crate::{Filter, LATEST, RunSummary, SHORTEST_PREFIX, Store, StoreError};

/// Runs that an error names to help along.
const RUNS_NAMED: u32 = 5;

/// Runs in one SQLite file. Several processes may use it at the same time.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

impl SqliteStore {
    /// Opens the store, and makes it with its folder if there is none. An empty file counts as none.
    ///
    /// # Errors
    /// [`StoreError::Directory`], [`StoreError::NotSqlite`], [`StoreError::Foreign`] or [`StoreError::Newer`] if something
    /// else is in its place, which is left as it is; [`StoreError::Permission`] and others if it can't be read and written.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::io(&path))?;
        }
        let mut store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        match store.owner()? {
            Owner::Nobody => {}
            Owner::Plimsoll(found) => store.refuse_newer(found)?,
            Owner::Other(application_id) => return Err(StoreError::Foreign { path: store.path, application_id }),
        }
        schema::migrate(&mut store.connection).map_err(StoreError::sqlite(&store.path))?;
        Ok(store)
    }

    /// Opens a store that has to be there already, for its runs to be read. Neither makes files nor folders, and needs no right
    /// to write; with it, a store of an earlier release is brought up to date.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none, [`StoreError::Older`] if one of an earlier release may not be changed; else
    /// those of [`SqliteStore::open`].
    pub fn open_to_read(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let missing = |is_empty| StoreError::Missing { path: path.clone(), is_empty };
        match path.metadata() {
            Ok(there) if there.is_file() && there.len() == 0 => return Err(missing(true)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing(false)),
            there => there.map_err(StoreError::io(&path))?,
        };
        let (owner, mut store, may_write) = match Self::to_be_written(&path) {
            Ok((owner, store)) => (owner, store, true),
            Err(error @ (StoreError::Permission { .. } | StoreError::Open { .. } | StoreError::Sqlite { .. })) => {
                // Damage is damage, whoever looks.
                let store = Self::unchanging(&path).ok_or(error)?;
                (store.owner()?, store, false)
            }
            Err(other) => return Err(other),
        };
        let known = schema::VERSION;
        match owner {
            Owner::Plimsoll(found) if found < known && may_write => {
                schema::migrate(&mut store.connection).map_err(StoreError::sqlite(&store.path))?;
                Ok(store)
            }
            Owner::Plimsoll(found) if found < known => Err(StoreError::Older { path, found, known }),
            Owner::Plimsoll(found) => store.refuse_newer(found).map(|()| store),
            Owner::Nobody => Err(missing(false)),
            Owner::Other(application_id) => Err(StoreError::Foreign { path, application_id }),
        }
    }

    /// A store that is there, and whose it is, if we may write to it and its folder.
    fn to_be_written(path: &Path) -> Result<(Owner, Self), StoreError> {
        let store = Self::connect(path.to_owned(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if store.connection.is_readonly(MAIN_DB).map_err(StoreError::sqlite(path))? {
            return Err(StoreError::Permission { path: path.to_owned() });
        }
        Ok((store.owner()?, store))
    }

    /// A store beside which we may make no files, as SQLite does for a log even to read. Where somebody's log lies beside it, that
    /// is read too; where there is none, nobody writes, and the file stays as it is.
    fn unchanging(path: &Path) -> Option<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let has_log = Path::new(&log).metadata().is_ok_and(|log| log.len() > 0);
        let name = if has_log { path.to_owned() } else { immutable(path) };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(name, flags).ok()?;
        schema::prepare(&connection).ok()?;
        let store = Self { connection, path: path.to_owned() };
        store.owner().is_ok().then_some(store)
    }

    /// Opens a store that has to be there already, in this release's version, and never writes to it.
    pub(crate) fn open_for_reading(path: &Path) -> Result<Self, StoreError> {
        if !path.try_exists().map_err(StoreError::io(path))? {
            return Err(StoreError::Missing { path: path.to_owned(), is_empty: false });
        }
        let store = Self::connect(path.to_owned(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let (path, known) = (store.path.clone(), schema::VERSION);
        match store.owner()? {
            Owner::Plimsoll(found) if found >= known => store.refuse_newer(found).map(|()| store),
            Owner::Plimsoll(found) => Err(StoreError::Older { path, found, known }),
            Owner::Nobody => Err(StoreError::Foreign { path, application_id: 0 }),
            Owner::Other(application_id) => Err(StoreError::Foreign { path, application_id }),
        }
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, StoreError> {
        if path.is_dir() {
            return Err(StoreError::Directory { path });
        }
        // A store belongs to one thread, so SQLite needs no locks of its own.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(StoreError::sqlite(&path))?;
        schema::prepare(&connection).map_err(StoreError::sqlite(&path))?;
        Ok(Self { connection, path })
    }

    fn owner(&self) -> Result<Owner, StoreError> {
        schema::owner(&self.connection).map_err(StoreError::sqlite(&self.path))
    }

    fn refuse_newer(&self, found: i32) -> Result<(), StoreError> {
        let known = schema::VERSION;
        if found > known { Err(StoreError::Newer { path: self.path.clone(), found, known }) } else { Ok(()) }
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does `work` as one change: all of it is on disk afterwards, or nothing.
    fn change(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<(), StoreError> {
        let behavior = TransactionBehavior::Immediate;
        let result = self.connection.transaction_with_behavior(behavior).and_then(|transaction| {
            work(&transaction)?;
            transaction.commit()
        });
        result.map_err(StoreError::sqlite(&self.path))
    }

    fn exists(&self, sql: &str, key: &[&str]) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(StoreError::sqlite(&self.path))?;
        statement.exists(rusqlite::params_from_iter(key)).map_err(StoreError::sqlite(&self.path))
    }

    fn require_run(&self, run_id: &str) -> Result<(), StoreError> {
        if self.exists("SELECT 1 FROM run WHERE run_id = ?1", &[run_id])? {
            return Ok(());
        }
        Err(StoreError::NotBegun { what: format!("run {run_id}") })
    }

    /// The id that is meant by an id, by its beginning, or by `latest`.
    fn resolve(&self, wanted: &str) -> Result<String, StoreError> {
        let unknown = || -> Result<String, StoreError> {
            Err(StoreError::UnknownRun { wanted: wanted.to_owned(), newest: self.newest_with("")? })
        };
        if wanted == LATEST {
            return self.newest_with("")?.into_iter().next().map_or_else(unknown, Ok);
        }
        if self.exists("SELECT 1 FROM run WHERE run_id = ?1", &[wanted])? {
            return Ok(wanted.to_owned());
        }
        if wanted.chars().count() < SHORTEST_PREFIX {
            return Err(StoreError::PrefixTooShort { wanted: wanted.to_owned() });
        }
        match self.newest_with(wanted)?.as_slice() {
            [] => unknown(),
            [only] => Ok(only.clone()),
            several => Err(StoreError::AmbiguousRun { wanted: wanted.to_owned(), matching: several.to_vec() }),
        }
    }

    /// The newest runs whose id begins like this.
    fn newest_with(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT run_id FROM run WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY run_id DESC LIMIT ?2";
        let query = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare_cached(sql)?.query_map(params![prefix, RUNS_NAMED], |row| row.get(0))?.collect()
        };
        query().map_err(StoreError::sqlite(&self.path))
    }

    /// The documents that a query finds.
    fn documents(&self, sql: &str, key: &[&str]) -> Result<Vec<String>, StoreError> {
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(rusqlite::params_from_iter(key), |row| row.get(0))?.collect()
        };
        query().map_err(StoreError::sqlite(&self.path))
    }

    /// The head of a run with its repetitions, not their points.
    fn head_with_repetitions(&self, run_id: &str, head: &str) -> Result<RunRecord, StoreError> {
        let mut run: RunRecord = document::read(run_id, head)?;
        let sql = "SELECT document FROM repetition WHERE run_id = ?1 ORDER BY sequence";
        for text in self.documents(sql, &[run_id])? {
            run.repetitions.push(document::read(run_id, &text)?);
        }
        Ok(run)
    }

    /// Does `work` on one state of the store, whatever others write meanwhile.
    fn in_one_state<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let failed = StoreError::sqlite(&self.path);
        let transaction = self.connection.unchecked_transaction().map_err(&failed)?;
        let result = work()?;
        transaction.commit().map_err(&failed)?;
        Ok(result)
    }
}

impl Store for SqliteStore {
    fn begin(&mut self, run: &RunRecord) -> Result<(), StoreError> {
        if self.exists("SELECT 1 FROM run WHERE run_id = ?1", &[&run.run_id])? {
            return Err(StoreError::RunExists { run_id: run.run_id.clone() });
        }
        let rows = Rows::of(run)?;
        self.change(|transaction| rows.insert(transaction))
    }

    fn repetition(&mut self, run_id: &str, repetition: &Repetition) -> Result<(), StoreError> {
        self.require_run(run_id)?;
        let text = document::write(run_id, &without_points(repetition))?;
        let sql = "INSERT INTO repetition (run_id, label, sequence, document)
            VALUES (?1, ?2, (SELECT coalesce(max(sequence) + 1, 0) FROM repetition WHERE run_id = ?1), ?3)
            ON CONFLICT (run_id, label) DO UPDATE SET document = excluded.document";
        self.change(|transaction| {
            transaction.prepare_cached(sql)?.execute(params![run_id, repetition.label, text]).map(drop)
        })
    }

    fn point(&mut self, run_id: &str, repetition_label: &str, point: &Point) -> Result<(), StoreError> {
        self.require_run(run_id)?;
        if !self.exists("SELECT 1 FROM repetition WHERE run_id = ?1 AND label = ?2", &[run_id, repetition_label])? {
            return Err(StoreError::NotBegun { what: format!("repetition {repetition_label} of run {run_id}") });
        }
        let text = document::write(run_id, point)?;
        let sql = "INSERT INTO point (run_id, label, sequence, document) VALUES (?1, ?2,
            (SELECT coalesce(max(sequence) + 1, 0) FROM point WHERE run_id = ?1 AND label = ?2), ?3)";
        self.change(|transaction| {
            transaction.prepare_cached(sql)?.execute(params![run_id, repetition_label, text]).map(drop)
        })
    }

    fn finish(&mut self, run: &RunRecord) -> Result<(), StoreError> {
        self.require_run(&run.run_id)?;
        let rows = Rows::of(run)?;
        self.change(|transaction| {
            transaction.execute("DELETE FROM run WHERE run_id = ?1", [&run.run_id])?;
            rows.insert(transaction)
        })
    }

    fn load(&self, run_id_or_prefix: &str) -> Result<RunRecord, StoreError> {
        self.in_one_state(|| {
            let id = self.resolve(run_id_or_prefix)?;
            let sql = "SELECT document FROM run WHERE run_id = ?1";
            let text: String =
                self.connection.query_row(sql, [&id], |row| row.get(0)).map_err(StoreError::sqlite(&self.path))?;
            let mut run = self.head_with_repetitions(&id, &text)?;
            let sql = "SELECT document FROM point WHERE run_id = ?1 AND label = ?2 ORDER BY sequence";
            for repetition in &mut run.repetitions {
                for text in self.documents(sql, &[&id, &repetition.label])? {
                    repetition.points.push(document::read(&id, &text)?);
                }
            }
            Ok(run)
        })
    }

    fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        let sql = "SELECT run_id, document FROM run
            WHERE (?1 IS NULL OR test = ?1) AND (?2 IS NULL OR target = ?2 OR target_fingerprint = ?2)
              AND (?3 IS NULL OR campaign = ?3)
            ORDER BY run_id DESC LIMIT ?4";
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            let Filter { test, target, campaign, limit } = filter;
            // SQLite takes a negative limit for none.
            let limit = limit.map_or(-1, i64::from);
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![test, target, campaign, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.in_one_state(|| {
            let rows = query().map_err(StoreError::sqlite(&self.path))?;
            rows.iter().map(|(id, text)| self.head_with_repetitions(id, text).map(RunSummary::from)).collect()
        })
    }
}

/// The address of a file that is not going to change.
fn immutable(path: &Path) -> PathBuf {
    let encoded = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'_' | b'.' => char::from(*byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(*letter).to_string(),
        other => format!("%{other:02X}"),
    });
    PathBuf::from(format!("file:{}?immutable=1", encoded.collect::<String>()))
}

/// A record taken apart, all documents written before the store is touched.
struct Rows<'a> {
    run: &'a RunRecord,
    head: String,
    repetitions: Vec<(&'a str, String, Vec<String>)>,
}

impl<'a> Rows<'a> {
    fn of(run: &'a RunRecord) -> Result<Self, StoreError> {
        let id = &run.run_id;
        let apart = |repetition: &'a Repetition| {
            let points: Result<_, StoreError> =
                repetition.points.iter().map(|point| document::write(id, point)).collect();
            Ok((repetition.label.as_str(), document::write(id, &without_points(repetition))?, points?))
        };
        let repetitions: Result<_, StoreError> = run.repetitions.iter().map(apart).collect();
        Ok(Self { run, head: document::write(id, &head(run))?, repetitions: repetitions? })
    }

    fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let Self { run, head, repetitions } = self;
        transaction.execute(
            "INSERT INTO run (run_id, test, target, target_fingerprint, campaign, ended_at, document)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![run.run_id, run.test, run.target, run.target_fingerprint, run.campaign, run.ended_at, head],
        )?;
        let mut insert_repetition = transaction
            .prepare_cached("INSERT INTO repetition (run_id, label, sequence, document) VALUES (?1, ?2, ?3, ?4)")?;
        let mut insert_point = transaction
            .prepare_cached("INSERT INTO point (run_id, label, sequence, document) VALUES (?1, ?2, ?3, ?4)")?;
        for (sequence, (label, text, points)) in (0_i64..).zip(repetitions) {
            insert_repetition.execute(params![run.run_id, label, sequence, text])?;
            for (sequence, point) in (0_i64..).zip(points) {
                insert_point.execute(params![run.run_id, label, sequence, point])?;
            }
        }
        Ok(())
    }
}
