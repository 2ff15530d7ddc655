//! What `pg_stat_statements` has counted by statement, over a line of its own. Nothing is made at the server: whoever owns it makes the
//! extension.

mod counted;
mod extension;
mod sessions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::queries::{Counting, LONGEST_TEXT, MOST_TEXTS, SessionSample, without_values};
use plimsoll_engine::{CountedViews, Error, ErrorKind, QuerySampler, QueryText, Result, foreign};
use plimsoll_measurement::counters::{
    Edge, Evictions, Item, Measure, Row, RowId, Server, Snapshot, Source, Total, Values,
};
use postgres_protocol::message::backend::DATA_ROW_TAG;
use postgres_protocol::message::frontend;
use xxhash_rust::xxh3::xxh3_128;

use super::connect::Connector;
use super::connection::{Connection, Outcome, Texts};
use super::error::{NO_TEXT, statement as fault};
use super::statements::{QUOTING, filled_for, sql};
use super::workspace;
use counted::Began;
pub(super) use extension::Extension;

const NAME: &str = "plimsoll watch";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many statements are read. The server holds them in memory that it shares.
const MOST_ROWS: usize = 500_000;
/// From this part of the room on it is nearly full.
const NEARLY_FULL_PERCENT: usize = 90;

/// SQLSTATEs of a check that fails, and of what is not there any more: a table, a schema, a function.
const GONE: [&str; 4] = ["22012", "42P01", "3F000", "42883"];

/// Reads the statistics; after a loss it connects again at the next reading.
pub(super) struct StatementSampler {
    connector: Arc<Connector>,
    version: u32,
    extension: Extension,
    identity: String,
    connection: Option<Connection>,
    /// Statements of ours.
    own: BTreeSet<Item>,
    /// Statements at the last reading, and the drops until then.
    found: Option<(usize, Evictions)>,
    /// Whether some of them were hidden from us then.
    hidden: bool,
    counting: Counting,
    began: Began,
    /// Whether a text is none that the server can give.
    has_foreign_text: bool,
}

impl StatementSampler {
    pub(super) fn open(connector: &Arc<Connector>, version: u32) -> Result<Self> {
        let mut connection = connect(connector)?;
        let extension = Extension::find(&mut connection, version)?;
        let identity = connector.identity.cluster.clone().unwrap_or_else(|| connector.errors.address.clone());
        let (connector, own) = (Arc::clone(connector), BTreeSet::new());
        let mut sampler = Self {
            connector,
            version,
            extension,
            identity,
            connection: None,
            own,
            found: None,
            hidden: false,
            counting: Counting::default(),
            began: Began::default(),
            has_foreign_text: false,
        };
        sampler.counting.read(sampler.extension.is_off().map(str::to_owned));
        sampler.prepare(connection)?;
        Ok(sampler)
    }

    fn text(&self, name: &str) -> String {
        let words = self.extension.words();
        let most = LONGEST_TEXT.to_string();
        let words: Vec<(&str, &str)> =
            words.iter().map(|(gap, word)| (*gap, word.as_str())).chain([("most", most.as_str())]).collect();
        filled_for(name, self.version, &words)
    }

    /// Prepares the question about sessions, and asks all of them once: so the server knows all of ours by the time that they are looked for.
    fn prepare(&mut self, mut connection: Connection) -> Result<()> {
        // With texts, and without them.
        let sessions = [LONGEST_TEXT, 0]
            .map(|most| filled_for("sessions at work", self.version, &[("most", most.to_string().as_str())]));
        // Whatever is called changes nothing.
        let before = format!("{}; {}", workspace::staying(), sql("no writes"));
        let prepared = connection.prepare_questions(&before, sessions.iter().map(String::as_str))?;
        prepared.into_iter().try_for_each(|answer| answer.map(drop))?;
        self.connection = Some(connection);
        self.texts(&[])?;
        self.edge()?;
        self.rows()?;
        for source in [Source::Files, Source::Counters] {
            // Whoever refuses them is told of it when they are wanted.
            match self.counted(source) {
                Err(error) if self.connection.is_none() => return Err(error),
                _ => {}
            }
        }
        self.ask_of_sessions()?;
        let own = self.text("own statements");
        self.of_texts(&own)?;
        let found = self.of_texts(&own)?;
        self.own.extend(found.iter().filter_map(|row| item_of(row, 0)));
        Ok(())
    }

    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = connect(&self.connector)?;
            // It may have been updated, or moved, meanwhile.
            self.extension = Extension::find(&mut connection, self.version)?;
            self.prepare(connection)?;
        }
        self.connection.as_mut().ok_or_else(|| self.connector.errors.lost("it was given up"))
    }

    /// Whether all statements were counted since the last reading.
    fn was_counting(&mut self) -> Result<bool> {
        let version = self.version;
        self.extension = Extension::find(self.connected()?, version)?;
        Ok(self.counting.read(self.extension.is_off().map(str::to_owned)))
    }

    /// Gives the line up if it was lost.
    fn checked<T>(&mut self, answer: Result<T>) -> Result<T> {
        if answer.as_ref().is_err_and(|error| error.kind == ErrorKind::Lost) {
            self.connection = None;
        }
        answer
    }

    /// What sessions do, without the texts of their statements where one is no text in this database's encoding.
    fn ask_of_sessions(&mut self) -> Result<Vec<Texts>> {
        match self.ask_prepared(0) {
            Err(error) if is_no_text(&error) => self.ask_prepared(1),
            answer => answer,
        }
    }

    fn ask_prepared(&mut self, number: usize) -> Result<Vec<Texts>> {
        let answers = self.connected()?.ask(number..number + 1);
        let answer = answers.and_then(|mut answers| answers.pop().unwrap_or_else(|| Ok(Vec::new())));
        self.checked(answer)
    }

    /// Asks what calls functions of the extension, as one text and so one transaction: a lock on its view keeps it from being dropped or
    /// moved meanwhile, and the text breaks off before the question if what this would call is not the extension's.
    fn guarded_each(&mut self, question: &str, mut each: impl FnMut(&Texts)) -> Result<()> {
        let mut connection = self.connection.take().ok_or_else(|| self.connector.errors.lost("it was given up"))?;
        let view = format!("{}.pg_stat_statements", QUOTING.name(&self.extension.schema));
        let check = self.text("functions are those of the extension");
        let text = format!(
            "LOCK /* plimsoll watch */ TABLE {view} IN ACCESS SHARE MODE; \
             SELECT /* plimsoll watch */ 1 / c.they::int4 FROM ({check}) c (they); {question}"
        );
        let mut is_checked = false;
        let put = connection.put(|out| Ok(frontend::query(&text, out)?));
        let read = put.and_then(|()| {
            connection.within(PATIENCE, |own| {
                own.exchange(|tag, message| {
                    if tag == DATA_ROW_TAG {
                        let row = Texts::of(message)?;
                        // The first row is that of the check.
                        if std::mem::replace(&mut is_checked, true) {
                            each(&row);
                        }
                    }
                    Outcome::Ok(())
                })
            })
        });
        let answer = read.map_err(|failed| connection.fail(failed));
        self.connection = Some(connection);
        self.checked(answer).map_err(|error| {
            if error.kind == ErrorKind::Permission {
                return error.hint(format!("GRANT SELECT ON {view} TO the user of the URL"));
            }
            // What is checked is locked.
            if is_checked || !error.code.as_deref().is_some_and(|code| GONE.contains(&code)) {
                return error;
            }
            // The next reading looks for it anew.
            self.connection = None;
            let message = "the extension pg_stat_statements was dropped or moved while it was watched";
            Error::new(ErrorKind::ToolMissing, message)
                .hint("its owner runs CREATE EXTENSION pg_stat_statements in this database")
        })
    }

    /// The same of texts. The server gives none of them where one is of a database with another encoding and is none in this one's: then there
    /// are no texts, and that is said.
    fn of_texts(&mut self, question: &str) -> Result<Vec<Texts>> {
        match self.guarded(question) {
            Err(error) if is_no_text(&error) => {
                self.has_foreign_text = true;
                Ok(Vec::new())
            }
            answer => answer,
        }
    }

    fn guarded(&mut self, question: &str) -> Result<Vec<Texts>> {
        let mut rows = Vec::new();
        self.guarded_each(question, |row| rows.push(row.clone()))?;
        Ok(rows)
    }

    /// Rows one by one, as there may be many. False if some are hidden from us.
    fn rows(&mut self) -> Result<(Vec<Row>, bool)> {
        let (mut rows, mut is_complete, mut count) = (Vec::new(), true, 0_usize);
        let question = self.text("counters of statements");
        self.guarded_each(&question, |row| {
            count += 1;
            match row_of(row) {
                Some(row) if count <= MOST_ROWS => rows.push(row),
                _ => is_complete = false,
            }
        })?;
        Ok((rows, is_complete))
    }

    fn edge(&mut self) -> Result<Edge> {
        let question = self.text("stamps of statements");
        let rows = self.guarded(&question)?;
        let row = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        edge_of(row, &self.identity, &self.extension.version)
    }
}

fn connect(connector: &Connector) -> Result<Connection> {
    connector.connect_hurried(NAME, PATIENCE)
}

/// The statement whose database and number stand in a row from this place on. Statements of several users are one.
pub(super) fn item_of(row: &Texts, at: usize) -> Option<Item> {
    let (database, number): (u32, i64) = (row.get(at)?, row.get(at + 1)?);
    Some(Item(u128::from(database) << 64 | u128::from(number.cast_unsigned())))
}

/// The database and the number of a statement.
pub(super) fn parts_of(item: Item) -> (u32, i64) {
    ((item.0 >> 64) as u32, (item.0 as u64).cast_signed())
}

/// Milliseconds as the server writes them, in microseconds.
fn us(row: &Texts, at: usize) -> Option<u64> {
    row.get::<f64>(at).map(|ms| (ms * 1_000.0).round() as u64)
}

/// A row of the statement "stamps of statements", of a server with this identity and an extension of this version.
pub(super) fn edge_of(row: &Texts, identity: &str, extension: &str) -> Result<Edge> {
    let unreadable = || fault("the stamps of pg_stat_statements can't be read");
    Ok(Edge {
        clock_us: row.get(0).ok_or_else(unreadable)?,
        server: Server {
            identity: identity.to_owned(),
            version: format!("{}, pg_stat_statements {extension}", row.text(6).unwrap_or_default()),
            started_us: row.get(1).ok_or_else(unreadable)?,
        },
        reset_us: row.get(2),
        are_stamps_derived: false,
        evictions: row.get(3).map_or(Evictions::Untold, Evictions::Counted),
        total: row.get(4).map(|us| Total { us, began_us: row.get(5) }),
    })
}

/// A row of the statement "texts of statements".
pub(super) fn text_of(row: &Texts) -> Option<QueryText> {
    // The server leaves values where it makes no plan, as in what makes a user.
    let (database, text) = (row.text(2).map(foreign::masked), row.text(3).map(without_values));
    Some(QueryText { item: item_of(row, 0)?, database, text, object: None })
}

/// A row of the statement "counters of statements"; `None` if the server hides whose it is.
pub(super) fn row_of(row: &Texts) -> Option<Row> {
    let identity = [row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?].join(" ");
    let found: Option<u64> = row.get(8);
    let read: Option<u64> = row.get(9);
    let values = [
        (Measure::Executions, row.get(4)),
        (Measure::ElapsedUs, us(row, 5)),
        (Measure::IoReadUs, us(row, 13)),
        (Measure::IoWriteUs, us(row, 14)),
        (Measure::Rows, row.get(7)),
        (Measure::LogicalReadPages, found.zip(read).map(|(found, read)| found.saturating_add(read))),
        (Measure::PhysicalReadPages, read),
        (Measure::LogicalWritePages, row.get(10)),
        (Measure::TempPages, row.get(11)),
        (Measure::LogBytes, row.get(12)),
    ];
    let known = values.into_iter().filter_map(|(measure, value)| Some((measure, value?)));
    Some(Row {
        id: RowId(xxh3_128(identity.as_bytes())),
        item: item_of(row, 1)?,
        plan: None,
        created_us: row.get(15),
        values: Values::of(known),
        longest_us: us(row, 6),
        // What a function runs is in the time of the statement that called it.
        is_nested: !row.is_true(3),
    })
}

fn is_no_text(error: &Error) -> bool {
    error.code.as_deref().is_some_and(|code| NO_TEXT.contains(&code))
}

impl QuerySampler for StatementSampler {
    fn snapshot(&mut self) -> Result<Snapshot> {
        self.connected()?;
        let start = self.edge()?;
        let (rows, is_complete) = self.rows()?;
        let end = self.edge()?;
        let own_us = self.connector.clock.now().as_nanos() / 1_000;
        self.found = Some((rows.len(), end.evictions));
        self.hidden = !is_complete;
        let is_complete = self.was_counting()? && is_complete;
        let (source, total_of) = (Source::Queries, Measure::ElapsedUs);
        Ok(Snapshot { source, start, end, own_us: Some(own_us), is_complete, total_of, rows })
    }

    fn own(&self) -> Vec<Item> {
        self.own.iter().copied().collect()
    }

    fn room(&self) -> Option<u64> {
        self.extension.most.and_then(|most| u64::try_from(most).ok())
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.hidden {
            let text = "some statements are hidden from this user, so what they cost is not known: GRANT pg_read_all_stats TO the user of the URL";
            warnings.push(text.to_owned());
        }
        if self.has_foreign_text {
            let text = "the texts of statements can't be read, and our own are counted as well: one of them was run in a database of another encoding \
                        and is no text in this one's; pg_stat_statements_reset() empties the list";
            warnings.push(text.to_owned());
        }
        warnings.extend(self.counting.warning());
        warnings.extend(self.extension.left_out());
        let Some(((count, evictions), most)) = self.found.zip(self.extension.most) else { return warnings };
        if let Evictions::Counted(times) = evictions
            && times > 0
        {
            warnings.push(format!(
                "pg_stat_statements has room for {most} statements, and has dropped rare ones {times} times since its counts began: a larger \
                 pg_stat_statements.max (it needs a restart) keeps more, and values as parameters make fewer statements"
            ));
        } else if count.saturating_mul(100) >= most.saturating_mul(NEARLY_FULL_PERCENT) {
            warnings.push(format!(
                "pg_stat_statements is nearly full with {count} of {most} statements, and will drop rare ones: raise pg_stat_statements.max \
                 (it needs a restart)"
            ));
        }
        warnings
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let items = &items[..items.len().min(MOST_TEXTS)];
        let parts = items.iter().map(|item| parts_of(*item));
        let (databases, numbers): (Vec<String>, Vec<String>) =
            parts.map(|(database, number)| (database.to_string(), number.to_string())).unzip();
        let lists = [databases, numbers].map(|list| format!("{{{}}}", list.join(",")));
        self.connected()?;
        // Numbers of ours stand in the text, as all of it is one.
        let [databases, numbers] = lists.map(|list| format!("'{list}'"));
        let question = self.text("texts of statements").replace("$1", &databases).replace("$2", &numbers);
        let rows = self.of_texts(&question)?;
        Ok(rows.iter().filter_map(text_of).collect())
    }

    /// Nobody adds waits up here.
    fn counted(&mut self, source: Source) -> Result<Option<CountedViews>> {
        let (version, identity, mut began) = (self.version, self.identity.clone(), self.began);
        let answer = counted::of(self.connected()?, source, (version, &identity), &mut began);
        self.began = began;
        self.checked(answer)
    }

    fn sessions(&mut self) -> Result<Option<SessionSample>> {
        let rows = self.ask_of_sessions()?;
        let first = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        let clock = first.get(0).ok_or_else(|| fault("the clock of the server can't be read"))?;
        Ok(Some(SessionSample {
            at_us: clock,
            connected: first.get(1).unwrap_or(0),
            limit: first.get(2),
            sessions: rows.iter().filter_map(sessions::of_row).collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: [&str; 16]) -> Texts {
        Texts(texts.map(|text| (!text.is_empty()).then(|| text.to_owned())).to_vec())
    }

    #[test]
    fn a_row_is_read_with_what_is_not_known_left_out() {
        let texts =
            ["10", "5", "-7", "f", "3", "1.2345", "0.9", "12", "40", "2", "1", "0", "8192", "", "", "1700000000000000"];
        let read = row_of(&row(texts)).unwrap();
        assert!(read.is_nested && read.created_us == Some(1_700_000_000_000_000) && read.longest_us == Some(900));
        assert_eq!(parts_of(read.item), (5, -7));
        let value = |measure| read.values.get(measure);
        assert_eq!((value(Measure::Executions), value(Measure::ElapsedUs)), (Some(3), Some(1_235)));
        assert_eq!((value(Measure::LogicalReadPages), value(Measure::PhysicalReadPages)), (Some(42), Some(2)));
        assert_eq!((value(Measure::IoReadUs), value(Measure::LogBytes)), (None, Some(8_192)));
        let mut hidden = texts;
        hidden[2] = "";
        assert!(row_of(&row(hidden)).is_none(), "its number is hidden");
        // Each part of the identity makes another row; users share an item.
        for (at, other) in [(0, "11"), (1, "6"), (2, "7"), (3, "t")] {
            let mut texts = texts;
            texts[at] = other;
            let another = row_of(&row(texts)).unwrap();
            assert!(another.id != read.id && (another.item == read.item) == matches!(at, 0 | 3), "{at}");
        }
    }
}
