//! Tables of ours in a database of the user's, who named them and allowed it: rows are added to them, and nothing else is done. They are made
//! if they are missing. One that is not ours, or has other columns, is left as it is.

use crate::error::{Error, ErrorKind, Result};
use crate::mark;
use crate::session::Session;
use crate::table::ColumnType;
use crate::table_name;
use crate::value::{Row, Value};

/// What the mark of such a table names in place of a workspace.
const MAKER: &str = "plimsoll watch";

/// Rows go in batches of so many, the largest first: a server knows a statement for each.
const BATCHES: [usize; 3] = [50, 10, 1];

/// What a column of such a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedType {
    /// True or false.
    Flag,
    /// 64 bits, signed.
    Whole,
    /// 64 bits, floating.
    Float,
    /// At most 100 signs of ASCII. It may be in a key.
    Word,
    /// Any text.
    Text,
}

/// A column of such a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedColumn {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What it holds.
    pub kind: SavedType,
}

/// A table that rows are added to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedTable {
    /// The schema that it is in; `None` for the engine's usual one.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<SavedColumn>,
    /// So many of them, from the first on, are its key. The others may be NULL.
    pub key: usize,
}

impl SavedTable {
    /// The schema and the name in what a user wrote: `name` or `schema.name`, of ASCII letters, digits and `_`. `longest` bytes are left for
    /// the name.
    ///
    /// # Errors
    /// If it is no such thing.
    pub fn parse(text: &str, longest: usize) -> Result<(Option<String>, String)> {
        table_name::parse(text, longest)
    }

    /// Its name with that of its schema, as the user wrote it.
    pub fn shown(&self) -> String {
        self.schema.as_ref().map_or_else(|| self.name.clone(), |schema| format!("{schema}.{}", self.name))
    }

    /// What it is marked with.
    pub fn mark(&self) -> String {
        mark::of_part("table", &self.name, MAKER)
    }

    /// Rows that are added once to see whether they may be, and then taken back.
    fn trial(&self, count: usize) -> Vec<Row> {
        let mut row = Row::default();
        for (column, at) in self.columns.iter().zip(0..) {
            row.push(match column.kind {
                _ if at >= self.key => Value::Null,
                SavedType::Flag => Value::Bit(false),
                SavedType::Whole => Value::BigInt(0),
                SavedType::Float => Value::Float(0.0),
                SavedType::Word | SavedType::Text => Value::Text(""),
            });
        }
        vec![row; count]
    }
}

/// What an engine gives for it: a session where the user's own tables are, and what its SQL has of its own.
pub trait SavingSession: Send {
    /// The session.
    fn session(&mut self) -> &mut dyn Session;

    /// Whether a table may be in a schema that is named.
    fn has_schemas(&self) -> bool {
        false
    }

    /// An error if no table of ours may be made there, whoever could make it.
    ///
    /// # Errors
    /// That, or those of a session.
    fn check_making(&mut self) -> Result<()> {
        Ok(())
    }

    /// An error if what rows are added to is not where the URL says any more, as a file that somebody removed.
    ///
    /// # Errors
    /// That.
    fn check_place(&mut self) -> Result<()> {
        Ok(())
    }

    /// The type of a column as it stands in a statement, and as the server says it of a table.
    fn type_of(&self, kind: SavedType) -> [&'static str; 2];

    /// A column's name as it stands in a statement.
    fn column(&self, name: &str) -> String;

    /// The table's name as it stands in a statement.
    fn table(&self, table: &SavedTable) -> String;

    /// Asks for the columns of whatever has the name of the table, with values for its parameters: the name of each, its type, and what the
    /// table is marked with.
    fn question<'t>(&self, table: &'t SavedTable, mark: &'t str) -> (String, Vec<Value<'t>>);

    /// The same for who only reads: the table may be another user's.
    fn question_to_read<'t>(&self, table: &'t SavedTable, mark: &'t str) -> (String, Vec<Value<'t>>) {
        self.question(table, mark)
    }

    /// The statements that make a table, with its mark: all of it, or nothing.
    fn create(&self, table: &SavedTable, columns: &str, mark: &str) -> String;

    /// What makes an INSERT pass over rows that are there.
    fn passing_over(&self, table: &SavedTable) -> String;
}

/// An error if a table's name has a schema where tables are in none.
pub(crate) fn check_schema(place: &dyn SavingSession, table: &SavedTable) -> Result<()> {
    if table.schema.is_none() || place.has_schemas() {
        return Ok(());
    }
    let message = format!("{} names a schema, and tables there are in none", table.shown());
    Err(Error::new(ErrorKind::Usage, message).hint("name the table alone: it is in the database of the URL"))
}

/// What a table is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To add rows to it.
    Add,
    /// To read it.
    Read,
}

/// Whether a table is there and ours.
pub(crate) fn is_there(place: &mut dyn SavingSession, table: &SavedTable, wish: Wish) -> Result<bool> {
    let mark = table.mark();
    let ((sql, values), hint) = match wish {
        Wish::Add => (place.question(table, &mark), "name another table with --table; this one was left as it is"),
        Wish::Read => {
            (place.question_to_read(table, &mark), "name the table that 'plimsoll watch --save-to' was given")
        }
    };
    let (mut found, mut is_marked) = (Vec::new(), true);
    let text = |value: Value<'_>| if let Value::Text(text) = value { text.to_owned() } else { String::new() };
    place.session().query(&sql, &values, &[ColumnType::Text(u16::MAX); 3], &mut |row| {
        found.push([0, 1].map(|at| text(row.get(at))));
        is_marked &= row.get(2) == Value::Text(&mark);
        Ok(())
    })?;
    let wanted: Vec<[String; 2]> =
        table.columns.iter().map(|column| [column.name.to_owned(), place.type_of(column.kind)[1].to_owned()]).collect();
    let problem = match () {
        () if found.is_empty() => return Ok(false),
        () if !is_marked => "is there and was not made by 'plimsoll watch'",
        () if found != wanted => "has other columns than those that are saved",
        () => return Ok(true),
    };
    Err(Error::new(ErrorKind::Safety, format!("{} {problem}", table.shown())).hint(hint))
}

/// Adds rows to tables of ours.
pub struct Saving {
    place: Box<dyn SavingSession>,
}

impl Saving {
    /// By a session.
    pub fn of(place: Box<dyn SavingSession>) -> Self {
        Self { place }
    }

    /// Makes the tables that are missing, and sees whether rows can be added to all of them.
    ///
    /// # Errors
    /// If one of that name is there that is not ours or has other columns: nothing is made then. Or if the user may not make them, or not
    /// add rows.
    pub fn begin(&mut self, tables: &[&SavedTable]) -> Result<()> {
        let mut missing = Vec::new();
        for table in tables {
            check_schema(self.place.as_ref(), table)?;
            if !is_there(self.place.as_mut(), table, Wish::Add)? {
                missing.push(*table);
            }
        }
        if !missing.is_empty() {
            self.place.check_making()?;
        }
        for table in missing {
            let sql = self.place.create(table, &self.columns(table), &table.mark());
            self.place.session().execute(&sql, &[])?;
        }
        self.transaction(
            |own| {
                tables
                    .iter()
                    .try_for_each(|table| BATCHES.iter().try_for_each(|count| own.insert(table, &table.trial(*count))))
            },
            "ROLLBACK",
        )
    }

    /// Adds rows in one transaction: all of them, or none on an error. Those that are there already are passed over.
    ///
    /// # Errors
    /// Those of a session. If it was lost at the end, the rows may be there all the same.
    pub fn add(&mut self, parts: &[(&SavedTable, &[Row])]) -> Result<()> {
        self.place.check_place()?;
        self.transaction(|own| parts.iter().try_for_each(|(table, rows)| own.insert_all(table, rows)), "COMMIT")
    }

    fn transaction(&mut self, work: impl FnOnce(&mut Self) -> Result<()>, end: &str) -> Result<()> {
        let session = self.place.session();
        let begin = session.dialect().begin(true);
        session.execute(begin, &[])?;
        if let Err(error) = work(self) {
            // Where that fails as well, the session is lost, and its transaction with it.
            let _ = self.place.session().execute("ROLLBACK", &[]);
            return Err(error);
        }
        self.place.session().execute(end, &[]).map(drop)
    }

    /// What a new table has in its parentheses.
    fn columns(&self, table: &SavedTable) -> String {
        let column = |(column, at): (&SavedColumn, usize)| {
            let [kind, _] = self.place.type_of(column.kind);
            let null = if at < table.key { "NOT NULL" } else { "NULL" };
            format!("{} {kind} {null}", self.place.column(column.name))
        };
        let columns: Vec<String> = table.columns.iter().zip(0..).map(column).collect();
        let key: Vec<String> = table.columns[..table.key].iter().map(|column| self.place.column(column.name)).collect();
        format!("{}, PRIMARY KEY ({})", columns.join(", "), key.join(", "))
    }

    fn insert_all(&mut self, table: &SavedTable, mut rows: &[Row]) -> Result<()> {
        for count in BATCHES {
            while let Some((batch, rest)) = rows.split_at_checked(count) {
                self.insert(table, batch)?;
                rows = rest;
            }
        }
        Ok(())
    }

    /// The comment is the one by which a sampler knows statements of ours, where a server keeps comments.
    fn insert(&mut self, table: &SavedTable, rows: &[Row]) -> Result<()> {
        let (name, ending) = (self.place.table(table), self.place.passing_over(table));
        let columns: Vec<String> = table.columns.iter().map(|column| self.place.column(column.name)).collect();
        let session = self.place.session();
        let (dialect, mut numbers) = (session.dialect(), 1..);
        let places = |_: &Row| {
            let numbers = numbers.by_ref().take(columns.len());
            let places: Vec<String> = numbers.map(|number| dialect.placeholder(number)).collect();
            format!("({})", places.join(", "))
        };
        let places: Vec<String> = rows.iter().map(places).collect();
        let (columns, places) = (columns.join(", "), places.join(", "));
        let values: Vec<Value<'_>> = rows.iter().flat_map(Row::values).collect();
        let sql = format!("INSERT /* plimsoll watch */ INTO {name} ({columns}) VALUES {places} {ending}");
        session.execute(&sql, &values).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let parse = |text| SavedTable::parse(text, 57).map_err(|error| error.kind);
        assert_eq!(parse("watched"), Ok((None, "watched".to_owned())));
        assert_eq!(parse("own.Watched_2"), Ok((Some("own".to_owned()), "Watched_2".to_owned())));
        let long = "w".repeat(58);
        for text in ["", ".", "a.", ".a", "a.b.c", "1a", "a b", "a\"b", "a`b", "a;b", "ä", &long] {
            assert_eq!(parse(text), Err(ErrorKind::Usage), "{text}");
        }
    }

    /// Part of the contract between versions: by it a table is known as ours.
    #[test]
    fn the_mark_of_a_table_never_changes() {
        let table =
            SavedTable { schema: Some("own".to_owned()), name: "watched".to_owned(), columns: Vec::new(), key: 0 };
        assert_eq!(
            (table.mark().as_str(), table.shown().as_str()),
            ("plimsoll: table watched of plimsoll watch", "own.watched")
        );
    }
}
