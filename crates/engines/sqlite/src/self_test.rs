//! The statements, sent one by one to a database in memory: SQLite is built in, so there is no server that could have others.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_engine::statements::{AnswerColumn, EXAMPLE_TABLE};
use plimsoll_engine::{
    Cancel, ColumnType, Dialect as _, Entry, Refused, Result, SelfTest, Shape, Statements, Table, Value,
};
use rusqlite::types::Type;
use rusqlite::{Connection, Error as Failure};

use super::SqliteDialect;
use super::errors::from_sqlite;
use super::location::Location;
use super::options::Options;
use super::statements::Canceller;
use super::texts::STATEMENTS;
use super::values::bind;

pub(super) struct SqliteSelfTest {
    connection: Connection,
    /// The user's file, and its folder.
    paths: [PathBuf; 2],
}

impl SqliteSelfTest {
    pub(super) fn open(location: &Location, options: &Options) -> Result<Self> {
        let table = SqliteDialect.create_table(&Table::new(EXAMPLE_TABLE, &[("RowId", ColumnType::Int)]));
        let prepared = Connection::open_in_memory().and_then(|connection| {
            options.apply(&connection)?;
            connection.execute_batch(&table)?;
            Ok(connection)
        });
        let connection = prepared.map_err(|error| from_sqlite(error, location.folder()))?;
        Ok(Self { connection, paths: [location.named(), location.folder().to_owned()] })
    }

    fn shape(&self, sql: &str, values: &[Value<'_>]) -> rusqlite::Result<Shape> {
        let mut statement = self.connection.prepare(sql)?;
        for (value, number) in values.iter().zip(1..) {
            bind(&mut statement, number, *value)?;
        }
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut kinds = vec![Type::Null; names.len()];
        let (mut rows, mut count) = (statement.raw_query(), 0);
        while let Some(row) = rows.next()? {
            count += 1;
            for (index, kind) in kinds.iter_mut().enumerate() {
                let value = row.get_ref(index)?.data_type();
                *kind = if value == Type::Null { *kind } else { value };
            }
        }
        let column = |(name, kind): (String, &Type)| AnswerColumn { name, kind: kind.to_string().to_lowercase() };
        Ok(Shape {
            columns: names.into_iter().zip(&kinds).map(column).collect(),
            rows: count,
            filled: kinds.iter().map(|kind| *kind != Type::Null).collect(),
        })
    }
}

impl SelfTest for SqliteSelfTest {
    fn statements(&self) -> &'static Statements {
        &STATEMENTS
    }

    fn edition(&self) -> Option<&str> {
        Some(rusqlite::version())
    }

    fn names(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.display().to_string()).collect()
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(Canceller { handle: self.connection.get_interrupt_handle(), cancelled: Arc::default() }))
    }

    fn send(&mut self, _: &Entry, sql: &str, values: &[Value<'_>]) -> Result<std::result::Result<Shape, Refused>> {
        Ok(self.shape(sql, values).map_err(|error| {
            let (failure, at) = match &error {
                Failure::SqliteFailure(failure, _) => (Some(failure), None),
                Failure::SqlInputError { error, offset, .. } => (Some(error), u32::try_from(*offset).ok()),
                _ => (None, None),
            };
            let code = failure.map(|failure| failure.extended_code.to_string()).unwrap_or_default();
            Refused { code, at, error: from_sqlite(error, &self.paths[1]) }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::ErrorKind;

    fn open(folder: &std::path::Path) -> SqliteSelfTest {
        SqliteSelfTest::open(&Location::find(&folder.join("user.db")).unwrap(), &Options::default()).unwrap()
    }

    #[test]
    fn every_statement_works_and_answers_as_documented() {
        let folder = tempfile::tempdir().unwrap();
        let mut test = open(folder.path());
        for entry in STATEMENTS.entries() {
            let sql = STATEMENTS.example(entry, &[]).unwrap();
            let texts = entry.values.iter().map(|value| Value::Text(value.as_str().unwrap()));
            let shape = test.send(entry, &sql, &texts.collect::<Vec<_>>()).unwrap().unwrap();
            assert_eq!(shape.columns, entry.answer, "{}", entry.name);
            assert!(shape.filled.iter().all(|is_filled| *is_filled), "{}: {shape:?}", entry.name);
        }
        // Nothing came of it outside.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(
            test.names(),
            [folder.path().join("user.db").display().to_string(), folder.path().display().to_string()]
        );
    }

    #[test]
    fn a_refusal_has_its_code_and_place() {
        let folder = tempfile::tempdir().unwrap();
        let mut test = open(folder.path());
        let entry = STATEMENTS.get("shrink");
        let refused = test.send(entry, "SELECT nosuch", &[]).unwrap().unwrap_err();
        assert_eq!((refused.code.as_str(), refused.at, refused.error.kind), ("1", Some(7), ErrorKind::Statement));
    }
}
