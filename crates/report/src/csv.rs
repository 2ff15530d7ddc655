//! CSV by RFC 4180: tables of rows for scripts, with every digit of their values. Unknown values are empty cells.

use plimsoll_measurement::{RunRecord, foreign};

pub use crate::build::ROWS;
use crate::model::{Cell, CellContent, Table};

/// All rows of a kind, of all repetitions of the runs, below one line of column names. Lines end with CR LF. `None` for a
/// kind that is none of [`ROWS`].
pub fn table(records: &[RunRecord], kind: &str) -> Option<String> {
    ROWS.iter().find(|(name, ..)| *name == kind).map(|(.., rows)| text(&rows(records)))
}

/// Any table.
pub fn text(table: &Table) -> String {
    let names = line(table.columns.iter().map(|column| column.label.clone()));
    foreign::page(table.rows.iter().fold(names, |text, row| text + &line(row.iter().map(raw))))
}

fn raw(cell: &Cell) -> String {
    match &cell.content {
        CellContent::Absent => String::new(),
        CellContent::Text(text) => harmless(text),
        CellContent::Time(text) => text.clone(),
        CellContent::Count(count) => count.to_string(),
        CellContent::Value(value) => value.value.to_string(),
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(quoted).collect();
    cells.join(",") + "\r\n"
}

/// What others named could be a formula where a spreadsheet reads it: an apostrophe makes a text of it.
fn harmless(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t']) { format!("'{text}") } else { text.to_owned() }
}

/// A cell with a comma, a quotation mark or an end of line is put in quotation marks, and those within are doubled.
fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_only_where_they_must() {
        assert_eq!(quoted("a b".into()), "a b");
        assert_eq!((harmless("=1+1").as_str(), harmless("a=1").as_str()), ("'=1+1", "a=1"));
        assert_eq!(quoted("a,\"b\"\r\n".into()), "\"a,\"\"b\"\"\r\n\"");
    }
}
