//! Notes about what is about to be made at targets: on disk before it is made, and gone when it is.

use rusqlite::{Connection, OptionalExtension as _, params};

/// A note about an object at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The token of its mark.
    pub token: String,
    /// True once it bears the mark.
    pub made: bool,
}

pub(crate) fn keep(connection: &Connection, target: &str, object: &str, note: &Note) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO intent (target, object, token, made) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute(params![target, object, note.token, note.made]).map(drop)
}

pub(crate) fn find(connection: &Connection, target: &str, object: &str) -> rusqlite::Result<Option<Note>> {
    let sql = "SELECT token, made FROM intent WHERE target = ?1 AND object = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([target, object], |row| Ok(Note { token: row.get(0)?, made: row.get(1)? })).optional()
}

pub(crate) fn beginning(
    connection: &Connection,
    target: &str,
    beginning: &str,
) -> rusqlite::Result<Vec<(String, Note)>> {
    let sql = "SELECT object, token, made FROM intent WHERE target = ?1 AND substr(object, 1, length(?2)) = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement
        .query_map([target, beginning], |row| Ok((row.get(0)?, Note { token: row.get(1)?, made: row.get(2)? })))?;
    rows.collect()
}

pub(crate) fn forget(connection: &Connection, target: &str, object: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM intent WHERE target = ?1 AND object = ?2";
    connection.prepare_cached(sql)?.execute([target, object]).map(drop)
}
