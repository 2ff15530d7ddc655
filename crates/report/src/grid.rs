//! A table as every output understands it: built once from a record, then drawn as text, Markdown or HTML.

use crate::words::{UNKNOWN, flag_symbol};

/// Columns and rows; all rows have as many cells as there are columns.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The rows from top to bottom.
    pub rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its heading, with the unit.
    pub title: String,
    /// Block of columns it belongs to; empty without one.
    pub group: &'static str,
    /// Whether it holds numbers, which are set flush right.
    pub numeric: bool,
}

/// One cell: a text, or nothing where the value is unknown, and flags that mark it.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The text; `None` is shown as an en dash.
    pub text: Option<String>,
    /// Reasons to read the cell with care.
    pub flags: Vec<String>,
}

impl Cell {
    /// The text with the signs of its flags, or the sign of the unknown.
    pub fn marked(&self) -> String {
        let mut text = self.text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        for flag in &self.flags {
            text.push(' ');
            text.push_str(flag_symbol(flag));
        }
        text
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        Self { text, flags: Vec::new() }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Some(text).into()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Grid {
    /// Adds a column of texts.
    #[must_use]
    pub fn text(self, title: impl Into<String>) -> Self {
        self.column(title, false, "")
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn number(self, title: impl Into<String>) -> Self {
        self.column(title, true, "")
    }

    /// Adds a column of numbers to a block of columns.
    #[must_use]
    pub fn number_in(self, group: &'static str, title: impl Into<String>) -> Self {
        self.column(title, true, group)
    }

    fn column(mut self, title: impl Into<String>, numeric: bool, group: &'static str) -> Self {
        self.columns.push(Column { title: title.into(), group, numeric });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has a cell for every column");
        self.rows.push(cells);
    }

    /// The grid without the columns about which nothing is known; `None` if there are no rows.
    pub fn compact(mut self) -> Option<Self> {
        if self.rows.is_empty() {
            return None;
        }
        let known: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| row[at].text.is_some())).collect();
        let mut keep = known.iter();
        self.columns.retain(|_| *keep.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut keep = known.iter();
            row.retain(|_| *keep.next().unwrap_or(&true));
        }
        Some(self)
    }

    /// Characters in the longest line if columns stand two apart.
    pub fn width(&self) -> usize {
        let widest = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| row[at].marked().chars().count());
            2 + cells.chain([column.title.chars().count()]).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(widest).sum()
    }

    /// Takes the column of this title away, if there is one.
    pub fn drop_column(&mut self, title: &str) {
        if let Some(at) = self.columns.iter().position(|column| column.title == title) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }

    /// Takes the columns of these titles away where they have nothing but zeros, which say nothing.
    pub fn drop_zeros(&mut self, titles: &[&str]) {
        for title in titles {
            let Some(at) = self.columns.iter().position(|column| column.title == *title) else { continue };
            if self.rows.iter().all(|row| row[at].text.as_deref().is_none_or(|text| text == "0")) {
                self.drop_column(title);
            }
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

    #[test]
    fn columns_without_any_value_are_left_out_and_gaps_stay_gaps() {
        let mut grid = Grid::default().text("a").number("b").number("c");
        grid.row(vec!["x".into(), None.into(), "1".into()]);
        grid.row(vec!["y".into(), None.into(), None.into()]);
        let grid = grid.compact().unwrap();
        assert_eq!(grid.columns.iter().map(|c| c.title.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(grid.rows[1][1].marked(), UNKNOWN);
        assert!(Grid::default().text("a").compact().is_none());
    }

    #[test]
    fn a_column_of_zeros_goes_and_a_zero_among_others_stays() {
        let mut grid = Grid::default().text("a").number("b").number("c");
        grid.row(vec!["0".into(), "0".into(), "0".into()]);
        grid.row(vec!["0".into(), "0".into(), "7".into()]);
        grid.drop_zeros(&["b", "c", "d"]);
        assert_eq!(grid.columns.iter().map(|c| c.title.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(grid.rows[0][1].marked(), "0");
    }
}
