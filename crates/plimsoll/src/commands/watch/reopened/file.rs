//! Reads what `plimsoll watch export` wrote: a CSV table or JSON Lines, row by row, as often as it is asked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use serde_json::{Map, Value};

use super::row::{Field, Fields, SavedRow};
use crate::failure::Failure;

/// Without these columns a table is another one.
const NEEDED: [&str; 8] = ["slot_start", "slot_end", "seconds", "slot_status", "id", "nested", "status", "own_us"];

/// What spreadsheets write before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// A file that was exported.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    is_json: bool,
}

/// A line of a CSV table.
struct Cells<'c> {
    columns: &'c BTreeMap<String, usize>,
    cells: &'c StringRecord,
}

impl Fields for Cells<'_> {
    fn field(&self, name: &str) -> Option<Field> {
        let cell = self.cells.get(*self.columns.get(name)?)?;
        // Before what could be a formula stands an apostrophe.
        let plain = cell.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t']));
        Some(Field::Text(plain.unwrap_or(cell).to_owned()))
    }
}

impl Fields for Map<String, Value> {
    fn field(&self, name: &str) -> Option<Field> {
        match self.get(name)? {
            Value::Null => None,
            Value::Bool(flag) => Some(Field::Flag(*flag)),
            Value::String(text) => Some(Field::Text(text.clone())),
            Value::Number(number) => {
                number.as_u64().map(|number| Field::Whole(number.into())).or_else(|| number.as_f64().map(Field::Float))
            }
            other => Some(Field::Text(other.to_string())),
        }
    }
}

/// What to do about a file that is damaged.
const AGAIN: &str = "write it again with 'plimsoll watch export'";

impl SavedFile {
    /// Looks at the file.
    ///
    /// # Errors
    /// If it can't be read, is none that was exported, or is cut.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let mut saved = Self { path: path.to_owned(), is_json: false };
        if !path.metadata().map_err(|error| saved.unreadable(&error))?.is_file() {
            // It is read several times.
            return Err(Failure::usage(format!("{} is no file", path.display())).hint("name one that was exported"));
        }
        let mut file = saved.file()?;
        let mut head = [0; 64];
        let count = file.read(&mut head).map_err(|error| saved.unreadable(&error))?;
        saved.is_json = head[..count].trim_ascii_start().first() == Some(&b'{');
        let mut last = [0];
        let end = file.seek(SeekFrom::End(-1)).and_then(|_| file.read(&mut last));
        if end.is_err() || last[0] != b'\n' {
            let problem = if end.is_err() { "is empty" } else { "ends in the middle of a line" };
            return Err(Failure::usage(format!("{} {problem}", path.display())).hint(AGAIN));
        }
        Ok(saved)
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Failure::usage(format!("cannot read {}: {error}", self.path.display()))
            .hint("name a file that 'plimsoll watch export' wrote")
    }

    fn file(&self) -> Result<BufReader<File>, Failure> {
        let file = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        Ok(BufReader::new(file))
    }

    /// An error of a line.
    fn damaged(&self, line: u64, problem: &str) -> Failure {
        Failure::usage(format!("{}, line {line}: {problem}", self.path.display())).hint(AGAIN)
    }

    /// Each row, with what is wrong where it stands.
    ///
    /// # Errors
    /// If a line is damaged: it is named.
    pub fn rows(&self, each: &mut dyn FnMut(SavedRow) -> Result<(), String>) -> Result<(), Failure> {
        if self.is_json { self.lines(each) } else { self.cells(each) }
    }

    fn lines(&self, each: &mut dyn FnMut(SavedRow) -> Result<(), String>) -> Result<(), Failure> {
        for (line, number) in self.file()?.split(b'\n').zip(1..) {
            let line = line.map_err(|error| self.unreadable(&error))?;
            let object: Map<String, Value> = serde_json::from_slice(line.trim_ascii())
                .map_err(|error| self.damaged(number, &format!("it is no JSON object: {error}")))?;
            SavedRow::of(&object).and_then(&mut *each).map_err(|problem| self.damaged(number, &problem))?;
        }
        Ok(())
    }

    fn cells(&self, each: &mut dyn FnMut(SavedRow) -> Result<(), String>) -> Result<(), Failure> {
        let mut file = self.file()?;
        if file.fill_buf().map_err(|error| self.unreadable(&error))?.starts_with(MARK) {
            file.consume(MARK.len());
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file);
        let mut columns: BTreeMap<String, usize> = BTreeMap::new();
        let mut cells = StringRecord::new();
        loop {
            match reader.read_record(&mut cells) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let line = error.position().map_or(1, csv::Position::line);
                    let problem = match error.kind() {
                        csv::ErrorKind::Utf8 { .. } => "it is no UTF-8".to_owned(),
                        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                            format!("it has {len} cells, and the first line has {expected_len}")
                        }
                        _ => "it can't be read".to_owned(),
                    };
                    return Err(self.damaged(line, &problem));
                }
            }
            if columns.is_empty() {
                columns = cells.iter().map(str::to_owned).zip(0..).collect();
                if let Some(missing) = NEEDED.iter().find(|name| !columns.contains_key(**name)) {
                    return Err(Failure::usage(format!(
                        "{} was not written by 'plimsoll watch export': it has no column {missing}",
                        self.path.display()
                    ))
                    .hint("its columns have their names in the first line, and commas part them"));
                }
                continue;
            }
            let line = cells.position().map_or(1, csv::Position::line);
            let row = SavedRow::of(&Cells { columns: &columns, cells: &cells });
            row.and_then(&mut *each).map_err(|problem| self.damaged(line, &problem))?;
        }
        if columns.is_empty() { Err(self.damaged(1, "it has no columns")) } else { Ok(()) }
    }
}
