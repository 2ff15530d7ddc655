//! Reads what `plimsoll watch --save-to` keeps in tables of the user's own database.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use plimsoll_bench::Interrupt;
use plimsoll_bench::interrupt::CancelGuard;
use plimsoll_engine::{
    Error, ErrorKind, Intents, QueryText, Row, SavedColumn, SavedPart, SavedReading, SavedTable, Value,
};

use super::super::tables::Tables;
use super::row::{Field, Fields, SavedRow};
use super::session::{Session, Texts};
use crate::args::Access;
use crate::engines::{self, Opened};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// Tables that were opened.
pub struct SavedTables {
    reading: SavedReading,
    tables: Tables,
    /// Columns by their names.
    places: BTreeMap<&'static str, usize>,
    interrupt: Interrupt,
    _pulse: Option<CancelGuard>,
    _opened: Opened,
}

/// A row of the table.
struct Cells<'c> {
    places: &'c BTreeMap<&'static str, usize>,
    row: &'c Row,
}

/// What there is of a value.
fn field(value: Value<'_>) -> Option<Field> {
    Some(match value {
        Value::Bit(flag) => Field::Flag(flag),
        Value::Float(number) => Field::Float(number),
        Value::Text(text) => Field::Text(text.to_owned()),
        other => Field::Whole(other.whole()?.into()),
    })
}

impl Fields for Cells<'_> {
    fn field(&self, name: &str) -> Option<Field> {
        field(self.row.get(*self.places.get(name)?))
    }
}

fn word(row: &Row, at: usize) -> Option<String> {
    match row.get(at) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}

impl SavedTables {
    /// Connects, and sees whether the tables are there.
    ///
    /// # Errors
    /// If they can't be read, are missing, or are not ours.
    pub fn open(
        (url, table): (&str, &str),
        access: &Access,
        settings: &Settings,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let tables = Tables::named(table)?;
        let target = engines::parse(url, settings, printer)?;
        let interrupt = Interrupt::default();
        signals::listen(&interrupt, printer)?;
        let opened = engines::open(&target, access, &Intents::default(), &interrupt, printer);
        let failed = |error| signals::failure(&interrupt, error);
        let database = opened.database.as_ref().map_err(|error| failed(error.clone()))?;
        let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
        let unsupported = || {
            let message = format!("nothing is saved in {}", target.display());
            Error::new(ErrorKind::Unsupported, message).hint("name the database that --save-to was given")
        };
        let mut reading = database.saved_reading().map_err(failed)?.ok_or_else(unsupported)?;
        reading.begin(&[&tables.rows, &tables.texts]).map_err(failed)?;
        let places = tables.rows.columns.iter().map(|column: &SavedColumn| column.name).zip(0..).collect();
        Ok(Self { reading, tables, places, interrupt, _pulse: pulse, _opened: opened })
    }

    /// All watchings that are in it.
    pub fn sessions(&mut self) -> Result<Vec<Session>, Failure> {
        let mut all = Vec::new();
        let ends = ["slot_start_us", "slot_end_us"];
        let found = self.reading.groups(&self.tables.rows, &["session_id", "server"], ends, &mut |row| {
            let [from_us, to_us] = [2, 3].map(|at| row.get(at).whole().unwrap_or_default());
            all.push(Session { id: word(row, 0), server: word(row, 1), from_us, to_us });
            Ok(())
        });
        found.map_err(|error| signals::failure(&self.interrupt, error))?;
        Ok(all)
    }

    /// The texts of statements of these watchings.
    pub fn texts(&mut self, sessions: &[Session]) -> Result<Texts, Failure> {
        let failed = |error| signals::failure(&self.interrupt, error);
        let mut by_hash: HashMap<String, String> = HashMap::new();
        let columns: [&str; 2] = ["text_id", "text"];
        let keep = &mut |row: &mut Row| {
            by_hash.extend(word(row, 0).zip(word(row, 1)));
            Ok(())
        };
        self.reading.distinct(&self.tables.texts, &columns, keep).map_err(failed)?;
        let mut texts = Texts::new();
        let columns = ["session_id", "id", "database", "text_id"];
        let found = self.reading.distinct(&self.tables.rows, &columns, &mut |row| {
            let is_meant = sessions.iter().any(|session| session.id == word(row, 0));
            let item = word(row, 1).filter(|_| is_meant).and_then(|id| u128::from_str_radix(&id, 16).ok());
            if let Some(item) = item.map(plimsoll_measurement::counters::Item) {
                let (database, hash) = (word(row, 2), word(row, 3));
                let text = hash.and_then(|hash| by_hash.get(&hash).cloned());
                let known = texts.entry(item).or_insert(QueryText { item, database: None, text: None, object: None });
                // Its first rows may be older than its text.
                known.database = known.database.take().or(database);
                known.text = known.text.take().or(text);
            }
            Ok(())
        });
        found.map_err(failed)?;
        Ok(texts)
    }

    /// Each row of a watching in a time, in order.
    pub fn rows(
        &mut self,
        session: &str,
        range: &Range<i64>,
        each: &mut dyn FnMut(SavedRow) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let Self { reading, tables, places, interrupt, .. } = self;
        let table: &SavedTable = &tables.rows;
        let part = SavedPart { of: ("session_id", session), within: ("slot_start_us", range.clone()) };
        let read = reading.rows(table, &part, &mut |row| {
            let at = row.get(1).whole().unwrap_or_default();
            SavedRow::of(&Cells { places, row }).and_then(&mut *each).map_err(|problem| {
                let message = format!("{}, session {session}, slot {at}: {problem}", table.shown());
                Error::new(ErrorKind::Usage, message).hint("somebody changed the table: remove that slot from it")
            })
        });
        read.map_err(|error| signals::failure(interrupt, error))
    }
}
