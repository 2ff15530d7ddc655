//! Reads what was saved in tables of ours in a database of the user's ([`crate::saving`]). Nothing is written, and the right to read them is
//! enough: they may be somebody else's.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::saving::{SavedColumn, SavedTable, SavedType, SavingSession, Wish, check_schema, is_there};
use crate::table::ColumnType;
use crate::value::{Row, Value};

/// Reads rows of tables of ours.
pub struct SavedReading {
    place: Box<dyn SavingSession>,
}

/// Which rows of a table are read: those with this text in a column, and of these the ones in which a number is in a range.
#[derive(Debug, Clone)]
pub struct SavedPart<'p> {
    /// A column, and what it holds.
    pub of: (&'p str, &'p str),
    /// A column of numbers, and from which one to which one, that one left out.
    pub within: (&'p str, Range<i64>),
}

/// The type that a column is read as.
const fn read_as(kind: SavedType) -> ColumnType {
    match kind {
        SavedType::Flag => ColumnType::Bit,
        SavedType::Whole => ColumnType::BigInt,
        SavedType::Float => ColumnType::Float,
        SavedType::Word | SavedType::Text => ColumnType::Text(u16::MAX),
    }
}

impl SavedReading {
    /// By a session.
    pub fn of(place: Box<dyn SavingSession>) -> Self {
        Self { place }
    }

    /// Sees whether the tables are there.
    ///
    /// # Errors
    /// If one is missing, is not ours, or has other columns.
    pub fn begin(&mut self, tables: &[&SavedTable]) -> Result<()> {
        for table in tables {
            check_schema(self.place.as_ref(), table)?;
            if !is_there(self.place.as_mut(), table, Wish::Read)? {
                return Err(Error::new(ErrorKind::Missing, format!("there is no table {}", table.shown()))
                    .hint("name the table that 'plimsoll watch --save-to' was given, and a user who may read it"));
            }
        }
        Ok(())
    }

    /// Values that columns hold together, each once, with the least number of one column and the largest of another.
    ///
    /// # Errors
    /// Those of a session.
    pub fn groups(
        &mut self,
        table: &SavedTable,
        columns: &[&str],
        [least, largest]: [&str; 2],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let by = self.list(columns);
        let [least, largest] = [least, largest].map(|name| self.place.column(name));
        let from = self.place.table(table);
        let sql = format!("SELECT /* plimsoll watch */ {by}, MIN({least}), MAX({largest}) FROM {from} GROUP BY {by}");
        let mut types = Self::types(table, columns);
        types.extend([ColumnType::BigInt; 2]);
        self.place.session().query(&sql, &[], &types, each)
    }

    /// Rows of a part with all their columns, in the order of their key.
    ///
    /// # Errors
    /// Those of a session.
    pub fn rows(
        &mut self,
        table: &SavedTable,
        part: &SavedPart<'_>,
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let all: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let (columns, order, from) = (self.list(&all), self.list(&all[..table.key]), self.place.table(table));
        let [of, within] = [part.of.0, part.within.0].map(|name| self.place.column(name));
        let dialect = self.place.session().dialect();
        let [one, two, three] = [1, 2, 3].map(|number| dialect.placeholder(number));
        let sql = format!(
            "SELECT /* plimsoll watch */ {columns} FROM {from} WHERE {of} = {one} AND {within} >= {two} AND {within} < {three} ORDER BY {order}"
        );
        let range = &part.within.1;
        let values = [Value::Text(part.of.1), Value::BigInt(range.start), Value::BigInt(range.end)];
        self.place.session().query(&sql, &values, &Self::types(table, &all), each)
    }

    /// All rows of a table with these columns, each once.
    ///
    /// # Errors
    /// Those of a session.
    pub fn distinct(
        &mut self,
        table: &SavedTable,
        columns: &[&str],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let (list, from) = (self.list(columns), self.place.table(table));
        let sql = format!("SELECT /* plimsoll watch */ DISTINCT {list} FROM {from}");
        self.place.session().query(&sql, &[], &Self::types(table, columns), each)
    }

    fn list(&self, columns: &[&str]) -> String {
        columns.iter().map(|name| self.place.column(name)).collect::<Vec<_>>().join(", ")
    }

    fn types(table: &SavedTable, columns: &[&str]) -> Vec<ColumnType> {
        let named = |name: &&str| table.columns.iter().find(|column: &&SavedColumn| *name == column.name);
        columns.iter().filter_map(named).map(|column| read_as(column.kind)).collect()
    }
}
