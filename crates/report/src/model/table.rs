//! Tables of the report model: columns with unit and alignment, cells that keep their value, its interval and its flags.

use plimsoll_measurement::foreign::page;

/// Columns and rows; all rows have as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows; empty where its part says so.
    pub title: String,
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The rows from top to bottom.
    pub rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Column {
    /// Its heading, without the unit.
    pub label: String,
    /// Unit of its values; empty where each cell bears its own, or they have none.
    pub unit: String,
    /// Block of columns it belongs to; empty without one.
    pub group: &'static str,
    /// On which side its cells are flush.
    pub align: Align,
    /// The document that explains it.
    pub page: Option<&'static str>,
    /// How its values are shown.
    pub form: Form,
    /// Where there is little room the column with the highest number goes first; 0 stays.
    pub spare: u8,
    /// True where a column of nothing but zeros says nothing.
    unless_zero: bool,
}

/// How the values of a column are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// In the unit of the column; with a unit of their own where they have another one.
    #[default]
    Plain,
    /// In a unit that fits their size: `1.20 GB`, `2 min 05 s`.
    Scaled,
    /// As differences, with their sign.
    Signed,
    /// Without a unit, which stands elsewhere in their row.
    Bare,
    /// As they were given, with up to three decimals.
    Given,
}

/// On which side cells are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Texts.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What is in it.
    pub content: Content,
    /// Reasons to read it with care.
    pub flags: Vec<String>,
    /// The report in the same document that it leads to.
    pub link: Option<String>,
}

/// What is in a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Content {
    /// Nobody knows.
    #[default]
    Absent,
    /// Words.
    Text(String),
    /// A moment, RFC 3339 in UTC.
    Time(String),
    /// An exact number of things, or of bytes.
    Count(u64),
    /// A finite figure.
    Value(Value),
}

/// A figure, and between which ends it lies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Value {
    /// The figure.
    pub value: f64,
    /// Its unit; empty without one.
    pub unit: String,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// On which side of the figure the target's own lies, where it is no estimate.
    pub bound: Option<Bound>,
}

/// On which side of a figure the target's own lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Above it.
    AtLeast,
    /// Below it.
    AtMost,
}

impl Cell {
    /// A figure with its unit; absent if it is not finite.
    pub fn quantity(value: f64, unit: impl Into<String>) -> Self {
        Value { value, unit: unit.into(), ..Value::default() }.into()
    }

    /// A moment.
    pub fn time(at: &str) -> Self {
        Self { content: Content::Time(at.to_owned()), ..Self::default() }
    }

    /// The same with these flags.
    #[must_use]
    pub fn flagged(self, flags: &[String]) -> Self {
        Self { flags: flags.to_vec(), ..self }
    }

    fn is_zero(&self) -> bool {
        match &self.content {
            Content::Absent => true,
            Content::Count(count) => *count == 0,
            Content::Value(value) => value.value == 0.0,
            Content::Text(text) => text == "0",
            Content::Time(_) => false,
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        let content = if value.value.is_finite() { Content::Value(value) } else { Content::Absent };
        Self { content, ..Self::default() }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::quantity(value, "")
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self { content: Content::Count(count), ..Self::default() }
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        u64::from(count).into()
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        (count as u64).into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        // It may be of others, such as a name of theirs in a statement: no colour in it is ours.
        Self { content: Content::Text(page(text)), ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(known: Option<T>) -> Self {
        known.map_or_else(Self::default, Into::into)
    }
}

/// A column of texts.
pub fn text(label: impl Into<String>) -> Column {
    Column { label: label.into(), ..Column::default() }
}

/// A column of numbers in this unit.
pub fn number(label: impl Into<String>, unit: impl Into<String>) -> Column {
    Column { unit: unit.into(), align: Align::Right, ..text(label) }
}

/// A column of numbers that are shown in a unit that fits their size: `s` or `bytes`.
pub fn scaled(label: impl Into<String>, unit: &str) -> Column {
    Column { form: Form::Scaled, ..number(label, unit) }
}

impl Column {
    /// Its values are differences.
    #[must_use]
    pub fn signed(self) -> Self {
        Self { form: Form::Signed, ..self }
    }

    /// The unit of its values stands elsewhere in their row.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { form: Form::Bare, ..self }
    }

    /// Its values are shown as they were given.
    #[must_use]
    pub fn given(self) -> Self {
        Self { form: Form::Given, ..self }
    }

    /// It belongs to a block of columns.
    #[must_use]
    pub fn within(self, group: &'static str) -> Self {
        Self { group, ..self }
    }

    /// It can be spared where there is little room, the highest number first.
    #[must_use]
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// It goes where it has nothing but zeros.
    #[must_use]
    pub fn unless_zero(self) -> Self {
        Self { unless_zero: true, ..self }
    }

    /// It is explained in this document.
    #[must_use]
    pub fn page(self, page: &'static str) -> Self {
        Self { page: Some(page), ..self }
    }
}

/// A column, and what is in it of each thing that has a row.
pub type Part<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

impl Table {
    /// A table without rows.
    pub fn with(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// A row for each of these, without the columns that say nothing; `None` without rows.
    pub fn of<T>(all: impl IntoIterator<Item = T>, parts: &[Part<'_, T>]) -> Option<Self> {
        let mut table = Self::with(parts.iter().map(|(column, _)| column.clone()));
        all.into_iter().for_each(|one| table.row(parts.iter().map(|(_, part)| part(&one)).collect()));
        table.compact()
    }

    /// Adds a row. Values without a unit are in that of their column.
    pub fn row(&mut self, mut cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has a cell for every column");
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            match &mut cell.content {
                Content::Value(value) if value.unit.is_empty() => value.unit.clone_from(&column.unit),
                _ => {}
            }
        }
        self.rows.push(cells);
    }

    /// The table without the columns that say nothing; `None` if there are no rows.
    pub fn compact(mut self) -> Option<Self> {
        if self.rows.is_empty() {
            return None;
        }
        let says = |(at, column): (usize, &Column)| {
            let mut cells = self.rows.iter().map(|row| &row[at]);
            if column.unless_zero {
                cells.any(|cell| !cell.is_zero())
            } else {
                cells.any(|cell| cell.content != Content::Absent)
            }
        };
        let keep: Vec<bool> = self.columns.iter().enumerate().map(says).collect();
        self.retain(&keep);
        Some(self)
    }

    /// Keeps the columns at these places.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.columns.retain(|_| *kept.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut kept = keep.iter();
            row.retain(|_| *kept.next().unwrap_or(&true));
        }
    }

    /// The flags that occur, each once, in order of appearance.
    pub fn flags(&self) -> Vec<&str> {
        let mut seen = Vec::new();
        for flag in self.rows.iter().flatten().flat_map(|cell| &cell.flags) {
            if !seen.contains(&flag.as_str()) {
                seen.push(flag.as_str());
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|column| column.label.as_str()).collect()
    }

    #[test]
    fn no_text_of_others_colours_a_terminal() {
        let cell = Cell::from("a\u{1b}[31mb");
        assert_eq!(cell.content, Content::Text("a\u{fffd}[31mb".to_owned()));
    }

    #[test]
    fn columns_without_any_value_are_left_out_and_gaps_stay_gaps() {
        let mut table = Table::with([text("a"), number("b", "s"), number("c", "s")]);
        table.row(vec!["x".into(), f64::NAN.into(), 1.0.into()]);
        table.row(vec!["y".into(), Option::<f64>::None.into(), Cell::default()]);
        let table = table.compact().unwrap();
        assert_eq!(labels(&table), ["a", "c"]);
        assert_eq!(table.rows[1][1].content, Content::Absent);
        assert_eq!(table.rows[0][1], Cell::quantity(1.0, "s"), "a value has the unit of its column");
        assert!(Table::of(None::<u8>, &[(text("a"), &|_| Cell::default())]).is_none());
    }

    #[test]
    fn a_column_of_zeros_goes_and_a_zero_among_others_stays() {
        let mut table = Table::with([text("a"), number("b", "").unless_zero(), number("c", "").unless_zero()]);
        table.row(vec!["0".into(), 0_u64.into(), 0_u64.into()]);
        table.row(vec!["0".into(), 0.0.into(), 7_u64.into()]);
        let table = table.compact().unwrap();
        assert_eq!(labels(&table), ["a", "c"]);
        assert_eq!(table.rows[0][1].content, Content::Count(0));
    }
}
