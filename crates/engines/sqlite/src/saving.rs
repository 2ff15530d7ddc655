//! Adds rows to tables of ours in the file that the URL names: the one case in which that is written to, or made. And reads them.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_engine::{
    Error, ErrorKind as Kind, RequestAccess, Result, SavedReading, SavedTable, SavedType, Saving, SavingSession,
    Session, Value,
};
use rusqlite::{Connection, OpenFlags};

use super::errors::{from_io, from_sqlite};
use super::existing;
use super::files::SqliteDatabase;
use super::location::left_alone;
use super::owner::kind_of_stranger;
use super::statements::SqliteSession;
use super::texts::text;

struct SqliteSaving {
    session: SqliteSession,
    file: PathBuf,
    /// The device and the number of the file that is open.
    opened: (u64, u64),
}

/// Opens the file; if there is none, makes one that nobody else may read.
pub(super) fn open(database: &SqliteDatabase) -> Result<Saving> {
    let file = database.location.named();
    let refused = |message: String| Error::safety(message).hint("move it away, or name another file");
    if let Some(kind) = kind_of_stranger(&file)? {
        return Err(refused(format!("{} is {kind}", file.display())));
    }
    let is_new = fs::metadata(&file).map_or(0, |there| there.len()) == 0;
    if is_new {
        // SQLite would take what lies beside it for its own, and remove it.
        if let Some(beside) = left_alone(&file).first() {
            return Err(refused(format!("{} lies beside a file that is empty or missing", beside.display())));
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
        if let Err(error) = made
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(from_io(&error, "make", &file));
        }
    }
    let connection = database.connect(&file, OpenFlags::empty())?;
    let failed = |error| from_sqlite(error, database.location.folder());
    database.options.apply(&connection).map_err(failed)?;
    if is_new {
        // With a log others read while rows are added. How a file of the user's is kept is the user's.
        connection.pragma_update(None, "page_size", database.options.page_bytes as i64).map_err(failed)?;
        database.check(&file, &connection)?;
    }
    saving(database, connection, file).map(|saving| Saving::of(Box::new(saving)))
}

/// Opens the file to read it, and makes none.
pub(super) fn read(database: &SqliteDatabase) -> Result<SavedReading> {
    let file = database.location.named();
    let is_there = fs::metadata(&file).is_ok_and(|there| there.is_file() && there.len() > 0);
    // What lies beside a file that is empty would be removed.
    if !is_there {
        return Err(Error::new(Kind::Missing, format!("{} holds no database", file.display()))
            .hint("name the file that 'plimsoll watch --save-to' was given"));
    }
    let connection = database.connect(&file, OpenFlags::empty())?;
    let failed = |error| from_sqlite(error, database.location.folder());
    connection.pragma_update(None, "query_only", true).map_err(failed)?;
    saving(database, connection, file).map(|saving| SavedReading::of(Box::new(saving)))
}

fn saving(database: &SqliteDatabase, connection: Connection, file: PathBuf) -> Result<SqliteSaving> {
    let failed = |error| from_sqlite(error, database.location.folder());
    existing::keep_others_out(&connection, RequestAccess::OWN).map_err(failed)?;
    let opened = identity(&file)?;
    let session = SqliteSession::new(connection, file.clone(), &database.options, Arc::clone(&database.clock));
    Ok(SqliteSaving { session, file, opened })
}

fn identity(file: &Path) -> Result<(u64, u64)> {
    let there = fs::metadata(file).map_err(|error| from_io(&error, "look at", file))?;
    Ok((there.dev(), there.ino()))
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

impl SavingSession for SqliteSaving {
    fn session(&mut self) -> &mut dyn Session {
        &mut self.session
    }

    /// Rows that are added to a file without a name are lost.
    fn check_place(&mut self) -> Result<()> {
        if identity(&self.file)? == self.opened {
            return Ok(());
        }
        Err(Error::new(Kind::Lost, format!("{} is another file than the one that was opened", self.file.display())))
    }

    fn type_of(&self, kind: SavedType) -> [&'static str; 2] {
        [match kind {
            SavedType::Flag | SavedType::Whole => "INTEGER",
            SavedType::Float => "REAL",
            SavedType::Word | SavedType::Text => "TEXT",
        }; 2]
    }

    fn column(&self, name: &str) -> String {
        quoted(name)
    }

    fn table(&self, table: &SavedTable) -> String {
        quoted(&table.name)
    }

    fn question<'t>(&self, table: &'t SavedTable, mark: &'t str) -> (String, Vec<Value<'t>>) {
        (text("columns of what is saved").to_owned(), vec![Value::Text(&table.name), Value::Text(mark)])
    }

    /// SQLite keeps the comment in the text of the table.
    fn create(&self, table: &SavedTable, columns: &str, mark: &str) -> String {
        format!("CREATE TABLE {} (/* {mark} */ {columns})", self.table(table))
    }

    fn passing_over(&self, _: &SavedTable) -> String {
        "ON CONFLICT DO NOTHING".to_owned()
    }
}
