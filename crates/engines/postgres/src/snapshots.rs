//! Snapshots that a job at the server makes of `pg_stat_statements`: the statements that install it, and what reads them later. Whoever reads
//! needs nothing but the right to read the tables.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::queries::LONGEST_TEXT;
use plimsoll_engine::snapshots::{
    FORMAT, KeptSnapshot, SnapshotColumn, SnapshotContent, SnapshotJob, SnapshotSource, SnapshotTables,
};
use plimsoll_engine::{ErrorKind, QueryText, Result};
use plimsoll_measurement::counters::Item;
use plimsoll_measurement::units::format_seconds;
use postgres_protocol::message::backend::DATA_ROW_TAG;
use postgres_protocol::message::frontend;

use super::connect::Connector;
use super::connection::{Connection, Outcome, Texts};
use super::error::statement as fault;
use super::queries::{Extension, edge_of, item_of, parts_of, row_of, text_of};
use super::statements::{QUOTING, filled, filled_for, sql};
use super::workspace;

const NAME: &str = "plimsoll watch";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// The schema that tables are in if none is named.
const USUAL_SCHEMA: &str = "public";

/// What stands before the stamps of a snapshot's end.
const FACTS: usize = 2;

/// An end of a snapshot: the columns of "stamps of statements" come last.
const SNAPSHOT_COLUMNS: [SnapshotColumn; 15] = [
    ("snapshot_id", "bigint"),
    ("edge", "integer"),
    ("format", "integer"),
    ("every_us", "bigint"),
    ("row_count", "bigint"),
    ("counts_all", "boolean"),
    ("identity", "text"),
    ("extension", "text"),
    ("clock_us", "bigint"),
    ("started_us", "bigint"),
    ("reset_us", "bigint"),
    ("drops", "bigint"),
    ("active_us", "bigint"),
    ("active_since_us", "bigint"),
    ("version", "text"),
];

/// The columns of "counters of statements", behind the snapshot.
const ROW_COLUMNS: [SnapshotColumn; 17] = [
    ("snapshot_id", "bigint"),
    ("user_id", "oid"),
    ("database_id", "oid"),
    ("query_id", "bigint"),
    ("is_top", "boolean"),
    ("executions", "bigint"),
    ("elapsed_ms", "double precision"),
    ("longest_ms", "double precision"),
    ("row_count", "bigint"),
    ("pages_found", "bigint"),
    ("pages_read", "bigint"),
    ("pages_changed", "bigint"),
    ("temp_pages", "bigint"),
    ("log_bytes", "numeric"),
    ("read_ms", "double precision"),
    ("write_ms", "double precision"),
    ("since_us", "bigint"),
];

/// The columns of "texts of statements", behind the time.
const TEXT_COLUMNS: [SnapshotColumn; 5] = [
    ("taken_us", "bigint"),
    ("database_id", "oid"),
    ("query_id", "bigint"),
    ("database_name", "text"),
    ("text", "text"),
];

fn schema(tables: &SnapshotTables) -> &str {
    tables.schema.as_deref().unwrap_or(USUAL_SCHEMA)
}

/// A name of the tables' schema, as it stands in a statement.
fn named(tables: &SnapshotTables, name: &str) -> String {
    format!("{}.{}", QUOTING.name(schema(tables)), QUOTING.name(name))
}

fn quoted(columns: &[SnapshotColumn]) -> String {
    let columns: Vec<String> = columns.iter().map(|(name, _)| QUOTING.name(name)).collect();
    columns.join(", ")
}

/// The statements that install a job, for whoever looks after the server.
pub(super) fn job(connection: &mut Connection, version: u32, job: &SnapshotJob) -> Result<String> {
    let (extension, _) = Extension::look(connection, version)?;
    let words = extension.words();
    let words: Vec<(&str, &str)> = words.iter().map(|(gap, word)| (*gap, word.as_str())).collect();
    let [stamps, counters] =
        ["stamps of statements", "counters of statements"].map(|name| filled_for(name, version, &words));
    let typed = |columns: &[SnapshotColumn]| {
        let column = |(name, kind): &SnapshotColumn| format!("{} {kind}", QUOTING.name(name));
        columns.iter().map(column).collect::<Vec<_>>().join(",\n  ")
    };
    let SnapshotJob { tables, every_s, keep_s } = job;
    let names = tables.names();
    let [snapshots, rows, texts] = names.clone().map(|name| named(tables, &name));
    let [snapshots_mark, rows_mark, texts_mark] = names.map(|name| QUOTING.text(&SnapshotTables::mark(&name)));
    let cluster = sql("number of the cluster").replacen("system_identifier", "system_identifier::text", 1);
    Ok(format!(
        include_str!("../data/job.sql"),
        snapshots = snapshots,
        rows = rows,
        texts = texts,
        snapshots_mark = snapshots_mark,
        rows_mark = rows_mark,
        texts_mark = texts_mark,
        stamps = stamps,
        counters = counters,
        format = FORMAT,
        keep = format_seconds(*keep_s as f64),
        every = format_seconds(*every_s as f64),
        snapshot_columns = typed(&SNAPSHOT_COLUMNS),
        row_columns = typed(&ROW_COLUMNS),
        text_columns = typed(&TEXT_COLUMNS),
        function = named(tables, &tables.job()),
        facts = format_args!("({cluster}), (SELECT extversion FROM pg_extension WHERE extname = 'pg_stat_statements')"),
        every_us = every_s * 1_000_000,
        keep_us = keep_s * 1_000_000,
        most = LONGEST_TEXT,
        extension = QUOTING.name(&extension.schema),
        schema = QUOTING.name(schema(tables)),
        job = QUOTING.text(&tables.job()),
        schedule = schedule(*every_s),
    ))
}

/// How `pg_cron` says how often.
fn schedule(every_s: u64) -> String {
    match (every_s, every_s / 60) {
        (seconds @ ..60, _) => format!("{seconds} seconds"),
        (_, 1) => "* * * * *".to_owned(),
        (_, 60) => "0 * * * *".to_owned(),
        (_, minutes) => format!("*/{minutes} * * * *"),
    }
}

/// Reads the tables; after a loss it connects again at the next question.
pub(super) struct SnapshotTablesSource {
    connector: Arc<Connector>,
    connection: Option<Connection>,
    tables: SnapshotTables,
}

impl SnapshotTablesSource {
    /// Connects, and sees whether the tables are what they should be.
    pub(super) fn open(connector: &Arc<Connector>, tables: &SnapshotTables) -> Result<Self> {
        let mut source = Self { connector: Arc::clone(connector), connection: None, tables: tables.clone() };
        source.connected()?;
        Ok(source)
    }

    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = self.connector.connect_hurried(NAME, PATIENCE)?;
            // Whatever is called changes nothing.
            connection.set(&format!("{}; {}", workspace::staying(), sql("no writes")))?;
            // They may be others by now.
            let wanted: [&[SnapshotColumn]; 3] = [&SNAPSHOT_COLUMNS, &ROW_COLUMNS, &TEXT_COLUMNS];
            for (name, wanted) in self.tables.names().iter().zip(wanted) {
                let words = [("schema", schema(&self.tables)), ("table", name.as_str())];
                let found = connection.rows(&filled("columns of snapshots", &words), &[])?;
                let text = |row: &Texts, at: usize| row.text(at).unwrap_or_default().to_owned();
                let found: Vec<[String; 3]> = found.iter().map(|row| [0, 1, 2].map(|at| text(row, at))).collect();
                self.tables.check(name, &found, wanted)?;
            }
            self.connection = Some(connection);
        }
        self.connection.as_mut().ok_or_else(|| self.connector.errors.lost("it was given up"))
    }

    /// Asks, row by row, as there may be many.
    fn ask(&mut self, question: &str) -> Result<Vec<Texts>> {
        let mut rows = Vec::new();
        let connection = self.connected()?;
        let put = connection.put(|out| Ok(frontend::query(question, out)?));
        let read = put.and_then(|()| {
            connection.within(PATIENCE, |own| {
                own.exchange(|tag, message| {
                    if tag == DATA_ROW_TAG {
                        rows.push(Texts::of(message)?);
                    }
                    Outcome::Ok(())
                })
            })
        });
        let answer = read.map_err(|failed| connection.fail(failed));
        if answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Lost) {
            self.connection = None;
        }
        match answer {
            Err(error) if error.kind == ErrorKind::Permission => {
                let [snapshots, rows, texts] = self.names();
                Err(error.hint(format!("GRANT SELECT ON {snapshots}, {rows}, {texts} TO the user of the URL")))
            }
            answer => answer.map(|()| rows),
        }
    }

    fn names(&self) -> [String; 3] {
        self.tables.names().map(|name| named(&self.tables, &name))
    }

    /// Those of the job's owner and of who reads: nobody else's are hidden by a comment.
    fn own(&mut self, number: i64) -> Result<Vec<Item>> {
        let [snapshots, rows, texts] = self.names();
        let question = format!(
            "SELECT /* plimsoll watch */ DISTINCT r.database_id, r.query_id FROM {texts} t JOIN {rows} r ON r.database_id = t.database_id \
             AND r.query_id = t.query_id WHERE r.snapshot_id = {number} AND t.text LIKE '%/* plimsoll watch */%' AND r.user_id IN \
             ((SELECT oid FROM pg_roles WHERE rolname = current_user), (SELECT relowner FROM pg_class WHERE oid = {}::regclass))",
            QUOTING.text(&snapshots)
        );
        Ok(self.ask(&question)?.iter().filter_map(|row| item_of(row, 0)).collect())
    }
}

impl SnapshotSource for SnapshotTablesSource {
    fn made(&mut self) -> Result<Vec<KeptSnapshot>> {
        let [snapshots, ..] = self.names();
        let rows = self.ask(&format!(
            "SELECT /* plimsoll watch */ snapshot_id, format, every_us, row_count, clock_us FROM {snapshots} WHERE edge = 1 ORDER BY snapshot_id"
        ))?;
        let made = |row: &Texts| {
            Some(KeptSnapshot {
                number: row.get(0)?,
                format: row.get(1)?,
                every_us: row.get(2)?,
                rows: row.get(3)?,
                end_us: row.get(4)?,
            })
        };
        let all: Option<Vec<KeptSnapshot>> = rows.iter().map(made).collect();
        all.ok_or_else(|| fault("the snapshots can't be read: a value is missing"))
    }

    fn read(&mut self, number: i64) -> Result<Option<SnapshotContent>> {
        let [snapshots, rows, _] = self.names();
        let columns = quoted(&SNAPSHOT_COLUMNS[5..]);
        let ends = self.ask(&format!(
            "SELECT /* plimsoll watch */ {columns} FROM {snapshots} WHERE snapshot_id = {number} ORDER BY edge"
        ))?;
        let [start, end] = &ends[..] else { return Ok(None) };
        let counts_all = end.is_true(0);
        let edge = |row: &Texts| {
            let stamps = Texts(row.0.iter().skip(1 + FACTS).cloned().collect());
            edge_of(&stamps, row.text(1).unwrap_or_default(), row.text(2).unwrap_or_default())
        };
        let (start, end) = (edge(start)?, edge(end)?);
        let columns = quoted(&ROW_COLUMNS[1..]);
        let rows = self
            .ask(&format!("SELECT /* plimsoll watch */ {columns} FROM {rows} WHERE snapshot_id = {number}"))?
            .iter()
            .map(row_of)
            .collect();
        Ok(Some(SnapshotContent { start, end, counts_all, rows, own: self.own(number)? }))
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let [_, _, texts] = self.names();
        let pairs: Vec<String> = items
            .iter()
            .map(|item| {
                let (database, number) = parts_of(*item);
                format!("({database}, {number})")
            })
            .collect();
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        // The last one that was taken, as a name of a database may change.
        let rows = self.ask(&format!(
            "SELECT /* plimsoll watch */ DISTINCT ON (database_id, query_id) database_id, query_id, database_name, text FROM {texts} \
             WHERE (database_id, query_id) IN ({}) ORDER BY database_id, query_id, taken_us DESC",
            pairs.join(", ")
        ))?;
        Ok(rows.iter().filter_map(text_of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::STATEMENTS;

    #[test]
    fn tables_have_what_a_reading_has() {
        let has = |name: &str| STATEMENTS.get_for(name, "15").unwrap().answer.len();
        assert_eq!(SNAPSHOT_COLUMNS.len() - 6 - FACTS, has("stamps of statements"));
        assert_eq!(ROW_COLUMNS.len() - 1, has("counters of statements"));
        assert_eq!(TEXT_COLUMNS.len() - 1, has("texts of statements"));
        // The types of rows are those of the answer.
        let entry = STATEMENTS.get_for("counters of statements", "15").unwrap();
        let types = ROW_COLUMNS[1..].iter().map(|(_, kind)| *kind);
        assert!(types.eq(entry.answer.iter().map(|column| column.kind.as_str())));
    }

    #[test]
    fn a_scheduler_is_told_seconds_and_minutes() {
        let all = [1, 59, 60, 300, 3600].map(schedule);
        assert_eq!(all, ["1 seconds", "59 seconds", "* * * * *", "*/5 * * * *", "0 * * * *"]);
    }
}
