//! Text and tables as Windows and Unix programs write them: UTF-8 or UTF-16; columns between commas, tabs, or
//! semicolons where the comma is the decimal sign.

mod trimmings;

use std::cell::Cell;
use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord, Trim};

/// Signs of a name that are read, and of a value that are shown: a server's own names have 128.
pub(crate) const LONGEST_NAME: usize = 256;

/// No file and no rate is larger: a slip of the pen is.
const LARGEST: f64 = 1e9;

/// Nor bytes a second, or ms that a server waited for.
const MOST: f64 = 1e18;

/// What is wrong with a list or a series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ListError {
    /// Its line, from 1; absent where it is of the whole list.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl ListError {
    pub(crate) fn whole(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }

    pub(crate) fn at(line: u64, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }
}

/// A table with a header.
pub(crate) struct Sheet {
    pub headers: StringRecord,
    pub rows: Vec<StringRecord>,
    /// Where both signs may stand for it, that which does once a number has shown it.
    decimal: Option<Cell<Option<char>>>,
    /// Whether points may part thousands: between semicolons, where no number shows that they are the decimal sign.
    are_points_open: bool,
}

impl Sheet {
    /// Reads a table of so many rows at most.
    pub fn read(text: &str, most_rows: usize) -> Result<Self, ListError> {
        Self::with(text, most_rows, |_| None)
    }

    /// The same, where a first line may be no header: `known` has the names of its columns then.
    pub fn with(
        text: &str,
        most_rows: usize,
        known: impl Fn(&StringRecord) -> Option<StringRecord>,
    ) -> Result<Self, ListError> {
        let (text, said) = trimmings::without(text).map_err(ListError::whole)?;
        if text.trim().is_empty() {
            return Err(ListError::whole("it is empty"));
        }
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let delimiter = said.unwrap_or(match (first.contains('\t'), first.contains(';') && !first.contains(',')) {
            (true, _) if !first.contains(',') => b'\t',
            (_, true) => b';',
            _ => b',',
        });
        let mut builder = ReaderBuilder::new();
        builder.delimiter(delimiter).trim(Trim::All).has_headers(false);
        let mut reader = builder.from_reader(text.as_bytes());
        let mut records = reader.records();
        let first = records.next().transpose().map_err(|error| broken(&error, delimiter))?.unwrap_or_default();
        let named = known(&first);
        let mut rows = Vec::new();
        let headers = match named {
            Some(headers) => {
                rows.push(first);
                headers
            }
            None => first,
        };
        let mut seen = HashSet::new();
        if let Some(twice) = headers.iter().find(|header| !header.is_empty() && !seen.insert(header.to_lowercase())) {
            return Err(ListError::at(1, format!("the header has the column {} twice", shown(twice))));
        }
        for record in records {
            let record = record.map_err(|error| broken(&error, delimiter))?;
            if rows.len() == most_rows {
                return Err(ListError::at(line_of(&record), format!("it has more than {most_rows} rows")));
            }
            rows.push(record);
        }
        // Where commas part the columns a value with one was quoted: it may be the decimal sign of all numbers.
        let is_comma = || rows.iter().flatten().any(|text| is_decimal(text, ','));
        let decimal = match delimiter {
            b',' => is_comma().then(|| Cell::new(Some(','))),
            _ => Some(Cell::new(None)),
        };
        let are_points_open =
            delimiter == b';' && !rows.iter().flatten().any(|text| is_decimal(text, '.') || is_decimal(text, ','));
        Ok(Self { headers, rows, decimal, are_points_open })
    }

    /// The place of a column by one of its names, in any case, with or without spaces: `Max IOPS` is `MaxIOPS`.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        let plain = |text: &str| text.replace([' ', '_'], "").to_lowercase();
        let is_one = |header: &str| names.iter().any(|name| plain(header) == plain(name));
        self.headers.iter().position(is_one)
    }

    /// A number that is not below 0 and no slip of the pen; `None` where its place is empty. The error says nothing of the line.
    pub fn number(&self, text: &str) -> Result<Option<f64>, String> {
        let number = self.parsed(text)?;
        let is_wrong = number.is_some_and(|number| !(0.0..=LARGEST).contains(&number));
        if is_wrong { Err(format!("{} is not from 0 to {LARGEST}", shown(text))) } else { Ok(number) }
    }

    /// The same of bytes, and of sums of years.
    pub fn large(&self, text: &str) -> Result<Option<f64>, String> {
        let number = self.parsed(text)?;
        let is_wrong = number.is_some_and(|number| !(0.0..=MOST).contains(&number));
        if is_wrong { Err(format!("'{}' is not from 0 to {MOST:e}", shown(text))) } else { Ok(number) }
    }

    fn parsed(&self, text: &str) -> Result<Option<f64>, String> {
        if text.is_empty() || text.eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        if self.are_points_open && parts_thousands(text, '.') {
            let text = shown(text);
            return Err(format!(
                "'{text}' may be {} or {}: write the one without its point, and the other with a comma",
                text.replace('.', ""),
                text.replace('.', ",")
            ));
        }
        let is_sign = |c: &char| matches!(c, ',' | '.');
        if let (Some(decimal), Some(sign)) = (&self.decimal, text.chars().find(is_sign)) {
            if decimal.get().is_some_and(|other| other != sign) {
                return Err(format!("'{}' has another decimal sign than the numbers before it", shown(text)));
            }
            decimal.set(Some(sign));
        }
        let plain = if self.decimal.is_some() { text.replace(',', ".") } else { text.to_owned() };
        let hint = if self.decimal.is_none() && text.contains(',') {
            ": where commas part the columns, the decimal sign is the point"
        } else {
            ""
        };
        plain.parse().map(Some).map_err(|_| format!("'{}' is no number{hint}", shown(text)))
    }
}

/// Digits on both sides of a sign.
fn parted(text: &str, sign: char) -> Option<(&str, &str)> {
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(sign).filter(|(whole, part)| is_digits(whole) && is_digits(part))
}

/// Whether a text is a number in which this sign may part thousands: `1,500`.
fn parts_thousands(text: &str, sign: char) -> bool {
    parted(text, sign).is_some_and(|(whole, part)| part.len() == 3 && whole.len() <= 3 && !whole.starts_with('0'))
}

/// Whether a text is a number with this decimal sign, and can be none whose thousands it parts: `0,5`, `1320,00`, not `1,500`.
fn is_decimal(text: &str, sign: char) -> bool {
    parted(text, sign).is_some() && !parts_thousands(text, sign)
}

/// The line of a row.
pub(crate) fn line_of(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// A foreign text, as far as errors show it.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

fn broken(error: &csv::Error, delimiter: u8) -> ListError {
    let line = error.position().map(csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let hint = if delimiter == b',' {
                "; a value with a comma needs quotes, and the decimal sign is the point"
            } else {
                ""
            };
            format!("it has {len} values, and the header {expected_len}{hint}")
        }
        _ => format!("it can't be read as CSV: {error}"),
    };
    ListError { line, problem }
}

/// The text of a file, without its byte-order mark.
pub(crate) fn text_of(bytes: &[u8]) -> Result<String, ListError> {
    let wide = |pairs: &[u8], of: fn([u8; 2]) -> u16| {
        let (pairs, rest) = pairs.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
        let text = String::from_utf16(&units).ok().filter(|_| rest.is_empty());
        text.ok_or_else(|| ListError::whole("it begins as UTF-16, and is none"))
    };
    match bytes {
        // Without a mark every other byte of plain letters is 0.
        [1..=255, 0, 1..=255, 0, ..] => wide(bytes, u16::from_le_bytes),
        [0, 1..=255, 0, 1..=255, ..] => wide(bytes, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            let text = String::from_utf8(rest.to_vec());
            text.map_err(|_| ListError::whole("it is neither UTF-8 nor UTF-16 with a byte-order mark"))
        }
    }
}
