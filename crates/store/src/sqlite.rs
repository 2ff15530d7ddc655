//! The store in one SQLite file: how it is opened, and which process may use it when. One connection writes; each
//! reader has its own, and neither waits for the other.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_measurement::{Event, RunRecord};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::Access;

use crate::header::{Open, file_at, is_log_emptied};
use crate::schema::{self, Owner};
use crate::{Filter, Kept, Note, RunSummary, StoreError, events, header, intents, making, summary};

/// Runs or events that are read at a time where there may be many.
const PAGE: u32 = 1000;

/// Connections of readers that are kept for the next.
const MOST_IDLE: usize = 4;

/// Runs in one SQLite file. Threads share it, and several processes may use it at the same time.
#[derive(Debug)]
pub struct RunStore {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    address: Address,
    /// Device and number of the file that was opened, and of its log where we write one.
    file: Option<(u64, u64)>,
    log: Option<(u64, u64)>,
    /// How long the file was at most.
    bytes: AtomicU64,
    /// Another process was waited for in vain, and is not waited for as long again.
    was_busy: AtomicBool,
    /// Whoever waits for the end of this process has no time for that.
    is_hurried: AtomicBool,
    /// Falls after the connections.
    _open: Open,
}

/// Where SQLite has the log of a store: beside the file that a link leads to.
fn log_of(path: &Path) -> PathBuf {
    header::beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), "-wal")
}

#[derive(Debug, Clone)]
struct Address {
    name: PathBuf,
    flags: OpenFlags,
}

impl Address {
    /// A file, by a connection that one thread uses at a time, so that SQLite needs no locks of its own. SQLite takes `file:x` for a URI and
    /// `:memory:` for none at all, and we for names: a path from the root is none of both.
    fn new(path: &Path, flags: OpenFlags) -> Self {
        let name = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { name, flags: flags | OpenFlags::SQLITE_OPEN_NO_MUTEX }
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(&self.name, self.flags)?;
        schema::prepare(&connection)?;
        Ok(connection)
    }
}

struct Opened {
    connection: Connection,
    owner: Owner,
    address: Address,
    open: Open,
}

impl Opened {
    fn new(path: &Path, address: Address) -> Result<Self, StoreError> {
        let open = header::look(path)?;
        let failed = StoreError::sqlite(path);
        let connection = address.connect().map_err(&failed)?;
        let owner = schema::owner(&connection).map_err(failed)?;
        Ok(Self { connection, owner, address, open })
    }

    /// The store, if the file is ours and of no newer release.
    fn store(self, path: &Path) -> Result<RunStore, StoreError> {
        match self.owner {
            Owner::Plimsoll(found) if found > schema::VERSION => Err(StoreError::newer(path, found, schema::VERSION)),
            Owner::Other(application_id) => Err(StoreError::foreign(path, application_id)),
            Owner::Nobody | Owner::Plimsoll(_) => Ok(RunStore {
                path: path.to_owned(),
                writer: Mutex::new(self.connection),
                readers: Mutex::default(),
                address: self.address,
                file: file_at(path),
                log: None,
                bytes: AtomicU64::new(0),
                was_busy: AtomicBool::new(false),
                is_hurried: AtomicBool::new(false),
                _open: self.open,
            }),
        }
    }
}

/// Whether SQLite refused a text for what it says, such as to make a table that is there.
fn is_of_the_text(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqlInputError { .. }) || error.sqlite_error_code() == Some(ErrorCode::Unknown)
}

impl RunStore {
    /// Opens the store, and makes it with its folder if there is none. An empty file counts as none.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] or [`StoreError::Version`] if something else is in its place, which is left as it is;
    /// [`StoreError::Permission`] and others if it can't be read and written.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(StoreError::io(&path))?;
        }
        drop(header::look(&path)?);
        check_rights(&path)?;
        // SQLite would let everybody read it. One that is there keeps its rights.
        making::make_if_missing(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut store = Opened::new(&path, Address::new(&path, flags))?.store(&path)?;
        store.address = Address::new(&path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        store.migrate()
    }

    /// Opens a store that has to be there already, for its runs to be read. Neither makes files nor folders, and needs no right
    /// to write; with it, a store of an earlier release is brought up to date.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none, [`StoreError::Version`] if one of an earlier release may not be changed; else
    /// those of [`RunStore::open`].
    pub fn open_to_read(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        match path.metadata() {
            Ok(there) if there.is_file() && there.len() == 0 => return Err(StoreError::missing(&path, true)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(StoreError::missing(&path, false)),
            there => there.map_err(StoreError::io(&path))?,
        };
        let (opened, may_write) = match Self::to_be_written(&path) {
            Ok(opened) => (opened, true),
            Err(error @ (StoreError::Permission { .. } | StoreError::Failed { .. })) => {
                // Damage is damage for every reader.
                (Self::unchanging(&path).ok_or(error)?, false)
            }
            Err(other) => return Err(other),
        };
        match opened.owner {
            Owner::Nobody => Err(StoreError::missing(&path, false)),
            Owner::Plimsoll(found) if found < schema::VERSION && !may_write => {
                Err(StoreError::older(&path, found, schema::VERSION))
            }
            Owner::Plimsoll(found) if found < schema::VERSION => opened.store(&path)?.migrate(),
            _ => opened.store(&path),
        }
    }

    /// Opens a store that has to be there already, in this release's version, and never writes to it.
    ///
    /// # Errors
    /// As [`RunStore::open_to_read`]; [`StoreError::Version`] for any store of an earlier release.
    pub fn open_unchanged(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if !path.try_exists().map_err(StoreError::io(&path))? {
            return Err(StoreError::missing(&path, false));
        }
        let others = rustix::fs::access(&path, Access::WRITE_OK).is_err().then(|| Self::unchanging(&path));
        let opened = match others.flatten() {
            Some(opened) => opened,
            None => Opened::new(&path, Address::new(&path, OpenFlags::SQLITE_OPEN_READ_ONLY))?,
        };
        match opened.owner {
            Owner::Nobody => Err(StoreError::foreign(&path, 0)),
            Owner::Plimsoll(found) if found < schema::VERSION => Err(StoreError::older(&path, found, schema::VERSION)),
            _ => opened.store(&path),
        }
    }

    /// A store that is there, if we may write to it and its folder.
    fn to_be_written(path: &Path) -> Result<Opened, StoreError> {
        check_rights(path)?;
        let opened = Opened::new(path, Address::new(path, OpenFlags::SQLITE_OPEN_READ_WRITE))?;
        let is_readonly = opened.connection.is_readonly(MAIN_DB).map_err(StoreError::sqlite(path))?;
        if is_readonly { Err(StoreError::permission(path)) } else { Ok(opened) }
    }

    /// A store beside which we may make no files, as SQLite does for a log even to read. Where another process's log lies beside it, that
    /// is read too; where there is none, no process writes, and the file stays as it is.
    fn unchanging(path: &Path) -> Option<Opened> {
        let has_log = log_of(path).metadata().is_ok_and(|log| log.len() > 0);
        let mut address = Address::new(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        if !has_log {
            address.name = immutable(&address.name);
            address.flags |= OpenFlags::SQLITE_OPEN_URI;
        }
        Opened::new(path, address).ok()
    }

    fn migrate(mut self) -> Result<Self, StoreError> {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        match schema::migrate(writer) {
            Ok(()) => {
                self.log = file_at(&log_of(&self.path));
                Ok(self)
            }
            // A step that can't be made: what is there is not what the version says.
            Err(error) if is_of_the_text(&error) => Err(StoreError::mismatched(&self.path)),
            Err(error) => Err(StoreError::sqlite(&self.path)(error)),
        }
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does `work` as one change: all of it is on disk afterwards, or nothing.
    pub(crate) fn change<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = StoreError::sqlite(&self.path);
        let mut writer = lock(&self.writer);
        writer.busy_timeout(schema::LITTLE_PATIENCE).map_err(&failed)?;
        let mut waits = schema::PATIENCE.as_millis() / schema::LITTLE_PATIENCE.as_millis();
        loop {
            let begun = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed);
            let is_busy = matches!(begun, Err(StoreError::Busy(_)));
            waits -= 1;
            let [was_busy, is_hurried] = [&self.was_busy, &self.is_hurried].map(|flag| flag.load(Ordering::Relaxed));
            if is_busy && waits > 0 && !was_busy && !is_hurried {
                continue;
            }
            self.was_busy.store(is_busy, Ordering::Relaxed);
            let transaction = begun?;
            let result = work(&transaction)?;
            transaction.commit().map_err(failed)?;
            return Ok(result);
        }
    }

    /// From now on nobody waits long for another process that writes.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }

    /// Does `work` on one state of the store, whatever others write meanwhile.
    pub(crate) fn look<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = StoreError::sqlite(&self.path);
        let idle = lock(&self.readers).pop();
        let mut reader = idle.map_or_else(|| self.address.connect(), Ok).map_err(&failed)?;
        let transaction = reader.transaction().map_err(&failed)?;
        let result = work(&transaction)?;
        transaction.commit().map_err(failed)?;
        let mut readers = lock(&self.readers);
        if readers.len() < MOST_IDLE {
            readers.push(reader);
        }
        Ok(result)
    }
}

/// What a thread that panicked left is whole: a change that was not committed is none.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunStore {
    /// Keeps events, all or none; how many of them were not known. They are safe when it returns, and come back to the last bit.
    ///
    /// # Errors
    /// [`StoreError::Document`] for an event that could not be read again; others if there is no room or no right to write.
    pub fn append(&self, events: &[Event]) -> Result<usize, StoreError> {
        let rows = events::rows(events)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let kept = self.change(|transaction| events::append(transaction, &self.path, &rows));
        self.still_there()?;
        kept
    }

    /// An error if the file is another one than the one that we write to.
    pub(crate) fn still_there(&self) -> Result<(), StoreError> {
        let log = log_of(&self.path);
        // What is written to a file that nobody will open any more is lost.
        if file_at(&self.path) != self.file {
            return Err(StoreError::moved(&self.path, Some(&log)));
        }
        // Nobody makes the file shorter: it is never packed. It is not looked into, as whoever closes it gives up SQLite's locks.
        let bytes = self.path.metadata().map_or(u64::MAX, |there| there.len());
        if bytes < self.bytes.fetch_max(bytes, Ordering::Relaxed) {
            return Err(StoreError::emptied(&self.path));
        }
        if self.log.is_some() && file_at(&log) != self.log {
            // The store itself takes what the log has for as long as we have that open.
            let _ = lock(&self.writer).query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            return Err(StoreError::moved(&log, None));
        }
        if self.log.is_some() && is_log_emptied(&log) {
            return Err(StoreError::emptied(&log));
        }
        Ok(())
    }

    /// The record of a run, by its id, by its label (the newest), by a beginning of its id that no other run has, or by
    /// [`LATEST`](crate::LATEST).
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::AmbiguousRun`] or [`StoreError::PrefixTooShort`] if that isn't one run.
    pub fn record(&self, run_id_or_prefix: &str) -> Result<RunRecord, StoreError> {
        self.look(|transaction| {
            let run_id = summary::resolve(transaction, &self.path, run_id_or_prefix)?;
            let fold = events::fold(transaction, &self.path, &run_id)?;
            fold.record().ok_or(StoreError::NotBegun { run_id })
        })
    }

    /// The runs that a filter lets through, the newest first.
    pub fn summaries(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
        self.look(|transaction| summary::page(transaction, &self.path, filter))
    }

    /// Events of a run behind a position (0 for all), at most so many. A reader that has seen the earlier ones catches
    /// up by them: what was dropped meanwhile changes no record.
    pub fn events(&self, run_id: &str, after: u64, limit: u32) -> Result<Vec<Kept>, StoreError> {
        self.look(|transaction| events::page(transaction, &self.path, run_id, after, limit))
    }

    /// Takes over the runs of another store that are not here, or not finished here; how many. The other store is not
    /// changed. Each run comes whole.
    ///
    /// # Errors
    /// Those of both stores; what came before stays, and the next try takes the rest.
    pub fn merge_from(&self, other: &Self) -> Result<usize, StoreError> {
        let own = self.all_runs()?;
        let finished: BTreeSet<&str> =
            own.iter().filter(|run| run.ended_at.is_some()).map(|run| run.run_id.as_str()).collect();
        let mut taken = 0;
        for run in other.all_runs()?.into_iter().filter(|run| !finished.contains(run.run_id.as_str())) {
            let mut events = Vec::new();
            let mut position = 0;
            loop {
                let page = other.events(&run.run_id, position, PAGE)?;
                let Some(last) = page.last() else { break };
                position = last.position;
                events.extend(page.into_iter().map(|kept| kept.event));
            }
            taken += usize::from(self.append(&events)? > 0);
        }
        Ok(taken)
    }

    /// Keeps a note about an object at a target, in place of an earlier one. It is on disk when this returns.
    ///
    /// # Errors
    /// If there is no room or no right to write.
    pub fn keep_intent(&self, target: &str, object: &str, note: &Note) -> Result<(), StoreError> {
        let failed = StoreError::sqlite(&self.path);
        self.change(|transaction| intents::keep(transaction, target, object, note).map_err(failed))
    }

    /// The note about an object.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn intent(&self, target: &str, object: &str) -> Result<Option<Note>, StoreError> {
        let failed = StoreError::sqlite(&self.path);
        self.look(|transaction| intents::find(transaction, target, object).map_err(failed))
    }

    /// Objects whose names begin so, with the notes about them.
    ///
    /// # Errors
    /// If the store can't be read.
    pub fn intents_beginning(&self, target: &str, beginning: &str) -> Result<Vec<(String, Note)>, StoreError> {
        let failed = StoreError::sqlite(&self.path);
        self.look(|transaction| intents::beginning(transaction, target, beginning).map_err(failed))
    }

    /// Drops the note about an object, which is gone.
    ///
    /// # Errors
    /// If there is no right to write.
    pub fn forget_intent(&self, target: &str, object: &str) -> Result<(), StoreError> {
        let failed = StoreError::sqlite(&self.path);
        self.change(|transaction| intents::forget(transaction, target, object).map_err(failed))
    }

    fn all_runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let mut all: Vec<RunSummary> = Vec::new();
        loop {
            let after = all.last().map(|run| run.run_id.clone());
            let page = self.summaries(&Filter { after, limit: Some(PAGE), ..Filter::default() })?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }
}

/// An error if a file that is there may not be written: for SQLite it is enough to open it to lay files of ours beside it, which would
/// lock its owner out.
fn check_rights(path: &Path) -> Result<(), StoreError> {
    match rustix::fs::access(path, Access::WRITE_OK) {
        Err(error) if error != rustix::io::Errno::NOENT => Err(StoreError::permission(path)),
        _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_in_vain_or_has_no_time_does_not_wait_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let store = RunStore::open(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        let change = || store.change(|_| Ok(()));
        change().unwrap();
        // As after a wait of so long.
        store.was_busy.store(true, Ordering::Relaxed);
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(change(), Err(StoreError::Busy(_))));
        assert!(store.was_busy.load(Ordering::Relaxed));
        other.execute_batch("ROLLBACK").unwrap();
        change().unwrap();
        assert!(!store.was_busy.load(Ordering::Relaxed));
        // One wait, and not as many as there are.
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let waits = std::thread::scope(|scope| {
            let waiting = scope.spawn(change);
            store.hurry();
            waiting.join().unwrap()
        });
        assert!(matches!(waits, Err(StoreError::Busy(_))));
    }
}
