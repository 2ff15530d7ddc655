//! Adds rows to tables of ours in the database of the URL, and reads them.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::{Result, SavedReading, SavedTable, SavedType, Saving, SavingSession, Session, Value};

use super::connect::Connector;
use super::describe::ServerFacts;
use super::session::{MySqlSession, Outside};
use super::statements::{fill, quoted};

const NAME: &str = "plimsoll watch";
/// What takes longer is given up, and done again later: somebody may hold a lock on the table.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows of months may take a while to be gathered.
const PATIENCE_TO_READ: Duration = Duration::from_mins(10);

struct MySqlSaving {
    session: MySqlSession,
    database: String,
}

/// Connects.
pub(super) fn open(connector: &Arc<Connector>, facts: ServerFacts) -> Result<Saving> {
    let (session, database) = MySqlSession::outside(connector, facts, Outside::Writes, (NAME, PATIENCE))?;
    Ok(Saving::of(Box::new(MySqlSaving { session, database })))
}

/// Connects to read, and to change nothing.
pub(super) fn read(connector: &Arc<Connector>, facts: ServerFacts) -> Result<SavedReading> {
    let (session, database) = MySqlSession::outside(connector, facts, Outside::Reads, (NAME, PATIENCE_TO_READ))?;
    Ok(SavedReading::of(Box::new(MySqlSaving { session, database })))
}

impl SavingSession for MySqlSaving {
    fn session(&mut self) -> &mut dyn Session {
        &mut self.session
    }

    fn type_of(&self, kind: SavedType) -> [&'static str; 2] {
        match kind {
            SavedType::Flag => ["boolean", "tinyint"],
            SavedType::Whole => ["bigint", "bigint"],
            SavedType::Float => ["double", "double"],
            SavedType::Word => ["varchar(100) CHARACTER SET ascii COLLATE ascii_bin", "varchar"],
            SavedType::Text => ["text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "text"],
        }
    }

    fn column(&self, name: &str) -> String {
        quoted(name)
    }

    fn table(&self, table: &SavedTable) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&table.name))
    }

    fn question<'t>(&self, table: &'t SavedTable, _: &'t str) -> (String, Vec<Value<'t>>) {
        let kept = self.session.kept_name(&table.name);
        (fill("columns of what is saved", &[("database", &self.database), ("table", &kept)]), Vec::new())
    }

    fn create(&self, table: &SavedTable, columns: &str, mark: &str) -> String {
        format!("CREATE TABLE {} ({columns}) ENGINE = InnoDB COMMENT = '{mark}'", self.table(table))
    }

    /// Digests keep no comments, so that a name in the statement says that it is ours. Nothing is set: a key is never NULL.
    fn passing_over(&self, table: &SavedTable) -> String {
        let key = table.columns.first().map_or_else(String::new, |column| self.column(column.name));
        format!("ON DUPLICATE KEY UPDATE {key} = COALESCE({key}, (SELECT '' AS `plimsoll watch`))")
    }
}
