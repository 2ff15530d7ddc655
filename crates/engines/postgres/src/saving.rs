//! Adds rows to tables of ours among the user's own, each of which is named with its schema, and reads them.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::{Result, SavedReading, SavedTable, SavedType, Saving, SavingSession, Session, Value};

use super::connect::Connector;
use super::session::PostgresSession;
use super::statements::{QUOTING, filled, sql};

const NAME: &str = "plimsoll watch";
/// What takes longer is given up, and done again later: somebody may hold a lock on the table.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows of months may take a while to be gathered.
const PATIENCE_TO_READ: Duration = Duration::from_mins(10);
/// The schema that tables are in if none is named.
const USUAL_SCHEMA: &str = "public";

struct PostgresSaving(PostgresSession);

/// Connects.
pub(super) fn open(connector: &Arc<Connector>, version: u32) -> Result<Saving> {
    let session = PostgresSession::outside(connector, version, NAME, PATIENCE)?;
    Ok(Saving::of(Box::new(PostgresSaving(session))))
}

/// Connects to read, and to change nothing.
pub(super) fn read(connector: &Arc<Connector>, version: u32) -> Result<SavedReading> {
    let mut session = PostgresSession::outside(connector, version, NAME, PATIENCE_TO_READ)?;
    session.execute(sql("no writes"), &[])?;
    Ok(SavedReading::of(Box::new(PostgresSaving(session))))
}

fn schema(table: &SavedTable) -> &str {
    table.schema.as_deref().unwrap_or(USUAL_SCHEMA)
}

impl SavingSession for PostgresSaving {
    fn session(&mut self) -> &mut dyn Session {
        &mut self.0
    }

    fn has_schemas(&self) -> bool {
        true
    }

    /// Subscribers of a publication of all tables would stop at one that they lack.
    fn check_making(&mut self) -> Result<()> {
        self.0.check_unpublished()
    }

    fn type_of(&self, kind: SavedType) -> [&'static str; 2] {
        [match kind {
            SavedType::Flag => "boolean",
            SavedType::Whole => "bigint",
            SavedType::Float => "double precision",
            SavedType::Word | SavedType::Text => "text",
        }; 2]
    }

    fn column(&self, name: &str) -> String {
        QUOTING.name(name)
    }

    fn table(&self, table: &SavedTable) -> String {
        format!("{}.{}", QUOTING.name(schema(table)), QUOTING.name(&table.name))
    }

    fn question<'t>(&self, table: &'t SavedTable, _: &'t str) -> (String, Vec<Value<'t>>) {
        let words = [("schema", schema(table)), ("table", table.name.as_str())];
        (filled("columns of what is saved", &words), Vec::new())
    }

    fn question_to_read<'t>(&self, table: &'t SavedTable, _: &'t str) -> (String, Vec<Value<'t>>) {
        let words = [("schema", schema(table)), ("table", table.name.as_str())];
        (filled("columns of what is read", &words), Vec::new())
    }

    /// Statements of one text are one transaction.
    fn create(&self, table: &SavedTable, columns: &str, mark: &str) -> String {
        let words = [("schema", schema(table)), ("table", table.name.as_str()), ("mark", mark)];
        format!("CREATE TABLE {} ({columns}); {}", self.table(table), filled("mark a table", &words))
    }

    fn passing_over(&self, _: &SavedTable) -> String {
        "ON CONFLICT DO NOTHING".to_owned()
    }
}
