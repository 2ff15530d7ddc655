//! Snapshots that an event of the server makes of what the Performance Schema has counted: the statements that install it, and what reads them
//! later. Whoever reads needs nothing but the right to read the tables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::queries::LONGEST_TEXT;
use plimsoll_engine::snapshots::{
    FORMAT, KeptSnapshot, SnapshotColumn, SnapshotContent, SnapshotJob, SnapshotSource, SnapshotTables,
};
use plimsoll_engine::{Error, ErrorKind, QueryText, Result};
use plimsoll_measurement::counters::Item;
use plimsoll_measurement::units::format_seconds;

use super::connect::Connector;
use super::connection::{Connection, Rows};
use super::describe::ServerFacts;
use super::error::statement as fault;
use super::queries::{edge_of, facts::CONSUMERS, name_of, query_text, row_of, text_of_rest};
use super::statements::{QUOTING, fill, quoted, text};

const NAME: &str = "plimsoll watch";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(5);

/// What stands before the stamps of a snapshot's end, behind what says which it is.
const FACTS: usize = 2;

/// An end of a snapshot: the columns of "stamps of statements" come last. Types are those that the server says of a table.
const SNAPSHOT_COLUMNS: [SnapshotColumn; 11] = [
    ("snapshot_id", "bigint"),
    ("edge", "int"),
    ("format", "int"),
    ("every_us", "bigint"),
    ("row_count", "bigint"),
    ("counts_all", "int"),
    ("identity", "varchar"),
    ("clock_us", "bigint"),
    ("uptime_s", "varchar"),
    ("version", "varchar"),
    ("total_ps", "decimal"),
];

/// The columns of "counters of statements", behind the snapshot. Times in picoseconds may need all 64 bits.
const ROW_COLUMNS: [SnapshotColumn; 11] = [
    ("snapshot_id", "bigint"),
    ("schema_name", "varchar"),
    ("digest", "varchar"),
    ("first_us", "bigint"),
    ("executions", "bigint"),
    ("elapsed_ps", "decimal"),
    ("row_count", "bigint"),
    ("examined", "bigint"),
    ("spills", "bigint"),
    ("errors", "bigint"),
    ("longest_ps", "decimal"),
];

/// The columns of "texts of statements", behind the time.
const TEXT_COLUMNS: [SnapshotColumn; 4] =
    [("taken_us", "bigint"), ("schema_name", "varchar"), ("digest", "varchar"), ("text", "text")];

/// A column as it is made.
fn typed((name, kind): &SnapshotColumn) -> String {
    let kind = match *kind {
        "varchar" => "VARCHAR(255)",
        "decimal" => "DECIMAL(40, 0)",
        kind => kind,
    };
    let null = if matches!(*name, "snapshot_id" | "edge") { " NOT NULL" } else { "" };
    format!("{} {kind}{null}", quoted(name))
}

fn list(columns: &[SnapshotColumn], of: impl Fn(&SnapshotColumn) -> String, between: &str) -> String {
    columns.iter().map(of).collect::<Vec<_>>().join(between)
}

/// The statements that install a job, for whoever looks after the server.
pub(super) fn job(connector: &Arc<Connector>, job: &SnapshotJob) -> Result<String> {
    let SnapshotJob { tables, every_s, keep_s } = job;
    let database = database_of(connector, tables)?;
    let product = connector.connect(NAME)?.server.product;
    let name = |name: &str| format!("{}.{}", quoted(&database), quoted(name));
    let names = tables.names();
    let [snapshots, rows, texts] = names.clone().map(|table| name(&table));
    // Names have letters, digits and _.
    let [snapshots_mark, rows_mark, texts_mark] = names.map(|name| format!("'{}'", SnapshotTables::mark(&name)));
    let stamp_columns = format!(
        "`q`.`plimsoll watch`, `q`.`uptime`, `q`.`version`,\n    `q`.`total` - COALESCE((SELECT `SUM_TIMER_WAIT` FROM \
         `performance_schema`.`events_statements_summary_by_program`\n    WHERE `OBJECT_TYPE` = 'EVENT' AND `OBJECT_SCHEMA` = {} AND \
         `OBJECT_NAME` = '{}'), 0)",
        QUOTING.text(&database),
        tables.job()
    );
    let typed = |columns: &[SnapshotColumn]| list(columns, typed, ",\n  ");
    Ok(format!(
        include_str!("../data/job.sql"),
        snapshots = snapshots,
        rows = rows,
        texts = texts,
        snapshots_mark = snapshots_mark,
        rows_mark = rows_mark,
        texts_mark = texts_mark,
        format = FORMAT,
        keep = format_seconds(*keep_s as f64),
        snapshot_columns = typed(&SNAPSHOT_COLUMNS),
        row_columns = typed(&ROW_COLUMNS),
        text_columns = typed(&TEXT_COLUMNS),
        event = name(&tables.job()),
        every_s = every_s,
        every_us = every_s * 1_000_000,
        keep_us = keep_s * 1_000_000,
        stamp_columns = stamp_columns,
        stamps = product.text("stamps of statements"),
        counters = text("counters of statements"),
        statistics = text("statistics of statements"),
        identity = product.text("identity"),
        consumers = CONSUMERS,
        most = LONGEST_TEXT,
    ))
}

fn database_of(connector: &Connector, tables: &SnapshotTables) -> Result<String> {
    if tables.schema.is_some() {
        let message = format!("{} names a schema, and tables there are in none", tables.shown());
        return Err(
            Error::new(ErrorKind::Usage, message).hint("name the table alone: it is in the database of the URL")
        );
    }
    connector.database().map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorKind::Usage, "the URL names no database, in which snapshots could be")
            .hint("name one behind the server: mysql://me@db.example/mine")
    })
}

/// Reads the tables; after a loss it connects again at the next question.
pub(super) struct SnapshotTablesSource {
    connector: Arc<Connector>,
    facts: ServerFacts,
    database: String,
    tables: SnapshotTables,
    connection: Option<Connection>,
    /// Databases and digests of statements in the snapshots that were read.
    known: BTreeMap<Item, (String, String)>,
}

impl SnapshotTablesSource {
    /// Connects, and sees whether the tables are what they should be.
    pub(super) fn open(connector: &Arc<Connector>, facts: ServerFacts, tables: &SnapshotTables) -> Result<Self> {
        let mut source = Self {
            connector: Arc::clone(connector),
            facts,
            database: database_of(connector, tables)?,
            tables: tables.clone(),
            connection: None,
            known: BTreeMap::new(),
        };
        source.connected()?;
        Ok(source)
    }

    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = self.connector.connect_in(&self.database, NAME)?;
            connection.link.set_timeout(Some(PATIENCE));
            connection.set(text("settings of a session that reads"))?;
            // They may be others by now.
            let wanted: [&[SnapshotColumn]; 3] = [&SNAPSHOT_COLUMNS, &ROW_COLUMNS, &TEXT_COLUMNS];
            for (name, wanted) in self.tables.names().iter().zip(wanted) {
                let kept = if self.facts.lowers_names { name.to_lowercase() } else { name.clone() };
                let words = [("database", self.database.as_str()), ("table", kept.as_str())];
                let found = connection.ask(&fill("columns of what is saved", &words))?;
                let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
                let found: Vec<[String; 3]> = found.iter().map(|row| [0, 1, 2].map(|at| text(row, at))).collect();
                self.tables.check(name, &found, wanted)?;
            }
            self.connection = Some(connection);
        }
        let errors = &self.connector.errors;
        self.connection.as_mut().ok_or_else(|| errors.lost("it was given up"))
    }

    /// Asks, and gives the connection up if it was lost.
    fn ask(&mut self, sql: &str) -> Result<Rows> {
        let connection = self.connected()?;
        let answer = connection.ask(sql);
        if connection.link.alive().is_err() {
            self.connection = None;
        }
        answer
    }

    fn names(&self) -> [String; 3] {
        self.tables.names().map(|name| format!("{}.{}", quoted(&self.database), quoted(&name)))
    }
}

impl SnapshotSource for SnapshotTablesSource {
    fn made(&mut self) -> Result<Vec<KeptSnapshot>> {
        let [snapshots, ..] = self.names();
        let rows = self.ask(&format!(
            "SELECT `snapshot_id` AS `plimsoll watch`, `format`, `every_us`, `row_count`, `clock_us` FROM {snapshots} WHERE `edge` = 1 \
             ORDER BY `snapshot_id`"
        ))?;
        let made = |row: &Vec<Option<String>>| {
            let text = |at: usize| row.get(at)?.as_deref();
            Some(KeptSnapshot {
                number: text(0)?.parse().ok()?,
                format: text(1)?.parse().ok()?,
                every_us: text(2)?.parse().ok()?,
                rows: text(3)?.parse().ok()?,
                end_us: text(4)?.parse().ok()?,
            })
        };
        let all: Option<Vec<KeptSnapshot>> = rows.iter().map(made).collect();
        all.ok_or_else(|| fault("the snapshots can't be read: a value is missing"))
    }

    fn read(&mut self, number: i64) -> Result<Option<SnapshotContent>> {
        let [snapshots, rows, texts] = self.names();
        let name = |(name, _): &SnapshotColumn| quoted(name);
        let columns = list(&SNAPSHOT_COLUMNS[5..], name, ", ");
        let ends = self.ask(&format!(
            "SELECT {columns}, 1 AS `plimsoll watch` FROM {snapshots} WHERE `snapshot_id` = {number} ORDER BY `edge`"
        ))?;
        let [start, end] = &ends[..] else { return Ok(None) };
        let counts_all = end.first().is_some_and(|value| value.as_deref() == Some("1"));
        let edge = |row: &[Option<String>]| {
            edge_of(row.get(FACTS..).unwrap_or_default(), row.get(1).and_then(Option::as_deref).unwrap_or_default())
        };
        let (start, end) = (edge(start)?, edge(end)?);
        let columns = list(&ROW_COLUMNS[1..], name, ", ");
        let found =
            self.ask(&format!("SELECT {columns}, 1 AS `plimsoll watch` FROM {rows} WHERE `snapshot_id` = {number}"))?;
        self.known.extend(found.iter().map(|row| name_of(row)));
        let rows = found.iter().map(|row| Some(row_of(row))).collect();
        let ours = self.ask(&format!(
            "SELECT `schema_name` AS `plimsoll watch`, `digest` FROM {texts} WHERE `text` LIKE '%`plimsoll watch`%'"
        ))?;
        let own = ours.iter().map(|row| name_of(row).0).collect();
        Ok(Some(SnapshotContent { start, end, counts_all, rows, own }))
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let [_, _, texts] = self.names();
        let names = items.iter().filter_map(|item| self.known.get(item));
        // Digests have hexadecimal digits.
        let is_digest = |digest: &&String| digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digests: Vec<String> =
            names.map(|(_, digest)| digest).filter(is_digest).map(|digest| QUOTING.text(digest)).collect();
        // A list has one at least.
        let digests = if digests.is_empty() { "NULL".to_owned() } else { digests.join(", ") };
        let rows = self.ask(&format!(
            "SELECT `schema_name` AS `plimsoll watch`, `digest`, `text` FROM {texts} WHERE `digest` IN ({digests}) ORDER BY `taken_us`"
        ))?;
        // A text that was taken again is the same.
        let found = rows.iter().filter_map(|row| query_text(row)).chain([text_of_rest()]);
        let wanted = found.filter(|text| items.contains(&text.item));
        let by_item: BTreeMap<Item, QueryText> = wanted.map(|text| (text.item, text)).collect();
        Ok(by_item.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::STATEMENTS;

    #[test]
    fn tables_have_what_a_reading_has() {
        let has = |name: &str| STATEMENTS.get(name).answer.len();
        assert_eq!(SNAPSHOT_COLUMNS.len() - 5 - FACTS, has("stamps of statements of MySQL"));
        assert_eq!(SNAPSHOT_COLUMNS.len() - 5 - FACTS, has("stamps of statements of MariaDB"));
        assert_eq!(ROW_COLUMNS.len() - 1, has("counters of statements"));
        assert_eq!(TEXT_COLUMNS.len() - 1, has("texts of statements"));
    }
}
