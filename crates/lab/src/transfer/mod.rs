//! Whole databases of the lab on the move. They are dumped and imported by SQL through its sessions, so that every byte
//! takes the way of any transaction. They are copied, backed up and restored page by page, past SQLite and past the
//! log.

mod errors;
mod pages;
mod text;

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_engine::transfer::{COPY, DEFINITIONS, INDEXES, RESTORE, TABLES};
use plimsoll_engine::{
    ColumnType, Follow, Move, Restored, Result, Row, RowSource, Session, Sessions as _, Table, Transfer, Value,
    Workspace,
};
use plimsoll_hardware::Role;
use plimsoll_sqlite::SqliteDatabase;

use crate::server::log_path;
use crate::session::Hardware;
use errors::{unreadable, unwritable};
use pages::{Flag, Way};
use text::Statements;

/// Rows of one transaction of an import. A commit waits for the log's latency once. With some hundred pages that is a
/// small part, and they are few enough to stay in the memory of the smallest level.
pub const IMPORT_ROWS: u64 = 2000;

/// The way in which the lab copies: as the server would, from the data device to the data device.
const WAYS: [&str; 1] = ["pages"];

const BACKUP: &str = "pages.backup";

pub struct LabTransfer {
    inner: SqliteDatabase,
    hardware: Arc<Hardware>,
    run: Workspace,
    cancelled: Arc<AtomicBool>,
    /// The session of the last import. Closing it waits for a checkpoint that goes on, which is no part of the import.
    last: Option<Box<dyn Session>>,
}

impl LabTransfer {
    /// A mover for the run that holds the lease on `run`.
    pub fn new(inner: SqliteDatabase, hardware: Arc<Hardware>, run: &Workspace) -> Self {
        Self { inner, hardware, run: run.clone(), cancelled: Arc::default(), last: None }
    }

    /// The file of a database, with all pages in it. Nothing of that is modelled: a server that is copied goes on.
    fn settled(&mut self, workspace: &Workspace) -> Result<PathBuf> {
        self.last = None;
        let mut session = self.inner.session(workspace, &self.run)?;
        session.checkpoint()?;
        drop(session);
        Ok(self.inner.path(workspace))
    }

    /// Moves all pages of a file into a new one.
    fn move_pages(&self, from: &Path, to: &Path, way: Way, follow: &mut dyn Follow) -> Result<()> {
        follow.working(Arc::new(Flag(Arc::clone(&self.cancelled))));
        let look = &mut |moved| follow.look(&mut || Some(moved));
        pages::move_file(&self.hardware.server, &self.cancelled, (from, to), way, look)
    }

    /// Makes room for the pages of a database.
    fn make_room(&mut self, workspace: &Workspace) -> Result<PathBuf> {
        self.remove(workspace)?;
        self.inner.begin_copy(workspace)?;
        Ok(self.inner.path(workspace))
    }

    /// Loads the rows of a table, some at a time.
    fn load_table(
        &self,
        session: &mut dyn Session,
        statements: &mut Statements<'_>,
        into: &Path,
        follow: &mut dyn Follow,
    ) -> Result<()> {
        let Some(name) = statements.table()?.map(str::to_owned) else { return Ok(()) };
        // Only the number of columns counts for an insert.
        let columns: Vec<(String, ColumnType)> =
            (0..statements.values()?).map(|n| (format!("c{n}"), ColumnType::BigInt)).collect();
        let columns: Vec<(&str, ColumnType)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        let table = Table::new(&name, &columns);
        while statements.table()? == Some(&name) {
            session.load_batch(&table, &mut Batch { statements, table: &name, left: IMPORT_ROWS })?;
            follow.look(&mut || Some(self.hardware.server.database_bytes(into)))?;
        }
        Ok(())
    }
}

impl Transfer for LabTransfer {
    fn methods(&self) -> &'static [&'static str] {
        &WAYS
    }

    /// None: it is all in this program.
    fn copies_are_cold(&self) -> bool {
        true
    }

    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>> {
        Ok(if for_what == Move::Import { vec!["SQL of this program".to_owned()] } else { Vec::new() })
    }

    fn make(&mut self, copy: &Workspace) -> Result<()> {
        self.remove(copy)?;
        self.inner.make_copy(copy)
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        self.last = None;
        self.inner.delete_copy(copy)?;
        self.hardware.server.forget(&self.inner.path(copy));
        Ok(())
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        Some(self.hardware.server.database_bytes(&self.inner.path(copy)))
    }

    /// Writes SQL: the tables, then their rows in the order of their keys, a statement and a line each, then the indexes.
    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let mut session = self.inner.session(from, &self.run)?;
        let session = session.as_mut();
        follow.working(session.canceller());
        let mut out = BufWriter::new(file);
        let tables = texts(session, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")?;
        for sql in texts(session, "SELECT sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")? {
            writeln!(out, "{sql};").map_err(|error| unwritable(&error))?;
        }
        for table in tables {
            let types = texts(session, &format!("SELECT type FROM pragma_table_info('{table}') ORDER BY cid"))?;
            let types: Vec<ColumnType> = types.iter().map(|name| stored_type(name)).collect();
            let mut line = String::new();
            session.query(&format!("SELECT * FROM {table}"), &[], &types, &mut |row| {
                text::write_row(&mut line, &table, row);
                out.write_all(line.as_bytes()).map_err(|error| unwritable(&error))?;
                follow.look(&mut || Some(file.metadata().ok()?.len()))
            })?;
        }
        for sql in texts(session, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY rowid")?
        {
            writeln!(out, "{sql};").map_err(|error| unwritable(&error))?;
        }
        out.flush().map_err(|error| unwritable(&error))
    }

    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        self.make(into)?;
        let mut file = file;
        file.rewind().map_err(|error| unreadable(&error))?;
        let mut reader = BufReader::new(file);
        let mut statements = Statements::new(&mut reader);
        let path = self.inner.path(into);
        let mut session = self.inner.session(into, &self.run)?;
        follow.working(session.canceller());
        follow.stage(DEFINITIONS)?;
        while let Some(sql) = statements.definition()? {
            session.execute(&sql, &[])?;
            follow.look(&mut || Some(self.hardware.server.database_bytes(&path)))?;
        }
        follow.stage(TABLES)?;
        while statements.table()?.is_some() {
            self.load_table(session.as_mut(), &mut statements, &path, follow)?;
        }
        let mut index = statements.definition()?;
        if index.is_some() {
            follow.stage(INDEXES)?;
        }
        while let Some(sql) = index {
            session.execute(&sql, &[])?;
            follow.look(&mut || Some(self.hardware.server.database_bytes(&path)))?;
            index = statements.definition()?;
        }
        self.last = Some(session);
        Ok(())
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, _way: &str, follow: &mut dyn Follow) -> Result<()> {
        let (source, target) = (self.settled(from)?, self.make_room(to)?);
        follow.stage(COPY)?;
        self.move_pages(&source, &target, Way { read: Some(Role::Data), write: Some(Role::Data) }, follow)?;
        self.inner.finish_copy(to)
    }

    /// Reads the pages from the data device; where backups are kept nothing is limited.
    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        let source = self.settled(from)?;
        self.move_pages(&source, &folder.join(BACKUP), Way { read: Some(Role::Data), write: None }, follow)
    }

    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let target = self.make_room(to)?;
        follow.stage(RESTORE)?;
        self.move_pages(&folder.join(BACKUP), &target, Way { read: None, write: Some(Role::Movement) }, follow)?;
        self.inner.finish_copy(to)?;
        Ok(Restored { elsewhere: None, workspace: to.clone(), keeper: None })
    }
}

impl crate::server::Server {
    /// Bytes of a database: of its file, or up to the last page that is in its log only.
    pub fn database_bytes(&self, path: &Path) -> u64 {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let in_file = length(path);
        if length(&log_path(path)) == 0 {
            return in_file;
        }
        let file = self.file(path);
        let last = self.state().files[file as usize].wal.last_page();
        in_file.max(u64::from(last) * self.page_bytes)
    }
}

/// The next rows of a table, of one transaction.
struct Batch<'a, 'b> {
    statements: &'a mut Statements<'b>,
    table: &'a str,
    left: u64,
}

impl RowSource for Batch<'_, '_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.left == 0 || self.statements.table()? != Some(self.table) {
            return Ok(false);
        }
        self.left -= 1;
        self.statements.take_row(row)?;
        Ok(true)
    }
}

/// What SQLite stores in a column that was declared so; the types that our tables have there.
fn stored_type(declared: &str) -> ColumnType {
    match declared {
        "INTEGER" => ColumnType::BigInt,
        "REAL" => ColumnType::Float,
        _ => ColumnType::Text(0),
    }
}

/// The rows of a query for texts.
fn texts(session: &mut dyn Session, sql: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    session.query(sql, &[], &[ColumnType::Text(0)], &mut |row| {
        if let Value::Text(text) = row.get(0) {
            texts.push(text.to_owned());
        }
        Ok(())
    })?;
    Ok(texts)
}
