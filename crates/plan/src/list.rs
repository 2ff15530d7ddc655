//! A list of files as CSV with a header: `database,file,type,size_gb[,used_gb,growth_gb,iops,mb_per_s,read_ms,write_ms]`. Columns may
//! come in any order, and others are passed over. UTF-8, or UTF-16 with a byte-order mark, as Windows programs write it.

use std::cell::Cell;
use std::collections::HashSet;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::file::{DatabaseFile, FileKind};

/// Columns that a list must have.
const NEEDED: [&str; 4] = ["database", "file", "type", "size_gb"];

/// Columns of numbers that it may have.
const OPTIONAL: [&str; 6] = ["used_gb", "growth_gb", "iops", "mb_per_s", "read_ms", "write_ms"];

/// More files than these are no instance's: the largest may have some thousands.
const MOST_FILES: usize = 20_000;

/// Signs of a name: the server's own have 128.
const LONGEST_NAME: usize = 256;

/// No file and no rate is larger: a slip of the pen is.
const LARGEST: f64 = 1e9;

/// What is wrong with a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ListError {
    /// Its line, from 1; absent where it is of the whole list.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl ListError {
    fn whole(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }

    fn at(line: u64, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }
}

/// Reads a list of files.
///
/// # Errors
/// The first thing that is wrong, with its line: no header, a missing column, a number that is none, a file that is listed twice.
pub fn read(bytes: &[u8]) -> Result<Vec<DatabaseFile>, ListError> {
    let text = text_of(bytes)?;
    let first = text.lines().next().unwrap_or_default();
    // Where the comma is the decimal sign, lists have semicolons.
    let delimiter = if first.contains(';') && !first.contains(',') { b';' } else { b',' };
    let mut reader = ReaderBuilder::new().delimiter(delimiter).trim(Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| broken(&error))?.clone();
    let column = |name: &str| headers.iter().position(|header| header.eq_ignore_ascii_case(name));
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| column(name).is_none()).collect();
    if !missing.is_empty() {
        let problem = format!("the header has no column {}: it must have {}", missing.join(", "), NEEDED.join(", "));
        return Err(ListError::at(1, problem));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = headers.iter().find(|header| !header.is_empty() && !seen.insert(header.to_lowercase())) {
        return Err(ListError::at(
            1,
            format!("the header has the column {} twice", twice.chars().take(LONGEST_NAME).collect::<String>()),
        ));
    }
    let mut files: Vec<DatabaseFile> = Vec::new();
    let mut known = HashSet::new();
    // The decimal sign of a list with semicolons, once a number has shown it.
    let decimal = Cell::new(None);
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = Row { record: &record, line, decimal: (delimiter == b';').then_some(&decimal), column: &column };
        let file = row.file()?;
        if !known.insert((file.database.to_lowercase(), file.name.to_lowercase())) {
            return Err(ListError::at(line, format!("file '{}' of '{}' is listed twice", file.name, file.database)));
        }
        files.push(file);
        if files.len() > MOST_FILES {
            return Err(ListError::at(line, format!("it lists more than {MOST_FILES} files")));
        }
    }
    if files.is_empty() {
        return Err(ListError::whole("it lists no file"));
    }
    Ok(files)
}

struct Row<'a> {
    record: &'a StringRecord,
    line: u64,
    /// Where both signs may stand for it, that which does.
    decimal: Option<&'a Cell<Option<char>>>,
    column: &'a dyn Fn(&str) -> Option<usize>,
}

impl Row<'_> {
    fn file(&self) -> Result<DatabaseFile, ListError> {
        let [used_gb, growth_gb, iops, mb_per_s, read_ms, write_ms] = OPTIONAL.map(|name| self.number(name));
        let size_gb = self.number("size_gb")?.ok_or_else(|| ListError::at(self.line, "size_gb is empty"))?;
        if size_gb <= 0.0 {
            return Err(ListError::at(self.line, format!("size_gb {size_gb} is not above 0")));
        }
        let (used_gb, growth_gb) = (used_gb?, growth_gb?);
        if let Some(used) = used_gb.filter(|used| *used > size_gb) {
            return Err(ListError::at(self.line, format!("used_gb {used} is above size_gb {size_gb}")));
        }
        Ok(DatabaseFile {
            database: self.name("database")?,
            name: self.name("file")?,
            kind: self.kind()?,
            size_gb,
            used_gb,
            growth_gb,
            iops: iops?,
            mb_per_s: mb_per_s?,
            read_ms: read_ms?,
            write_ms: write_ms?,
        })
    }

    fn text(&self, name: &str) -> &str {
        (self.column)(name).and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    fn name(&self, column: &str) -> Result<String, ListError> {
        let name = self.text(column);
        if name.is_empty() {
            return Err(ListError::at(self.line, format!("{column} is empty")));
        }
        if name.chars().count() > LONGEST_NAME {
            return Err(ListError::at(self.line, format!("{column} has more than {LONGEST_NAME} characters")));
        }
        Ok(name.to_owned())
    }

    /// The word of this list, and those of the engine's own views.
    fn kind(&self) -> Result<FileKind, ListError> {
        match self.text("type").to_ascii_lowercase().as_str() {
            "data" | "rows" => Ok(FileKind::Data),
            "log" => Ok(FileKind::Log),
            other => Err(ListError::at(
                self.line,
                format!("type '{}' is neither data nor log", other.chars().take(LONGEST_NAME).collect::<String>()),
            )),
        }
    }

    /// A number that is not below 0; `None` where the column or its value is missing.
    fn number(&self, name: &str) -> Result<Option<f64>, ListError> {
        let text = self.text(name);
        if text.is_empty() || text.eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        let shown: String = text.chars().take(LONGEST_NAME).collect();
        if let (Some(decimal), Some(sign)) = (self.decimal, text.chars().find(|c| matches!(c, ',' | '.'))) {
            if decimal.get().is_some_and(|other| other != sign) {
                let problem = format!("{name} '{shown}' has another decimal sign than the numbers before it");
                return Err(ListError::at(self.line, problem));
            }
            decimal.set(Some(sign));
        }
        let plain = if self.decimal.is_some() { text.replace(',', ".") } else { text.to_owned() };
        let number: f64 =
            plain.parse().map_err(|_| ListError::at(self.line, format!("{name} '{shown}' is no number")))?;
        if !(0.0..=LARGEST).contains(&number) {
            return Err(ListError::at(self.line, format!("{name} {shown} is not from 0 to {LARGEST}")));
        }
        Ok(Some(number))
    }
}

fn broken(error: &csv::Error) -> ListError {
    let line = error.position().map(csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} values, and the header {expected_len}; a value with a comma needs quotes")
        }
        _ => format!("it can't be read as CSV: {error}"),
    };
    ListError { line, problem }
}

/// The text of a file, without its byte-order mark.
fn text_of(bytes: &[u8]) -> Result<String, ListError> {
    let wide = |pairs: &[u8], of: fn([u8; 2]) -> u16| {
        let (pairs, rest) = pairs.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
        let text = String::from_utf16(&units).ok().filter(|_| rest.is_empty());
        text.ok_or_else(|| ListError::whole("its byte-order mark says UTF-16, and it is none"))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            let text = String::from_utf8(rest.to_vec());
            text.map_err(|_| ListError::whole("it is neither UTF-8 nor UTF-16 with a byte-order mark"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "database,file,type,size_gb,used_gb,iops\n";

    fn said(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn columns_come_in_any_order_and_unknown_is_absent() {
        let files =
            read(b"Type,IOPS,size_gb,remark,file,database\nROWS,,150.5,old,f1,shop\nlog,20,8,,l1,shop\n").unwrap();
        assert_eq!((files[0].kind, files[0].size_gb, files[0].iops), (FileKind::Data, 150.5, None));
        assert_eq!((files[1].kind, files[1].iops, files[1].used_gb), (FileKind::Log, Some(20.0), None));
    }

    #[test]
    fn utf_16_and_decimal_commas_are_read() {
        let text = "database;file;type;size_gb\nshöp;f;data;1,5\n";
        let expected = read("database,file,type,size_gb\nshöp,f,data,1.5\n".as_bytes()).unwrap();
        for (mark, of) in [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)] {
            let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(of)).collect();
            assert_eq!(read(&bytes).unwrap(), expected);
            assert!(read(&bytes[..bytes.len() - 1]).unwrap_err().problem.contains("UTF-16"));
        }
        assert_eq!(read(&[b"\xef\xbb\xbf", text.as_bytes()].concat()).unwrap(), expected);
        assert!(read(b"\xe9,file").unwrap_err().problem.contains("neither UTF-8"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let row = |row: &str| said(&format!("{HEADER}shop,a,data,1,,\n{row}\n"));
        assert_eq!(
            said(""),
            "line 1: the header has no column database, file, type, size_gb: it must have database, file, type, size_gb"
        );
        assert_eq!(said(HEADER), "it lists no file");
        assert_eq!(row("shop,b,data,0,,"), "line 3: size_gb 0 is not above 0");
        assert_eq!(row("shop,b,data,-1,,"), "line 3: size_gb -1 is not from 0 to 1000000000");
        assert_eq!(row("shop,b,data,NaN,,"), "line 3: size_gb NaN is not from 0 to 1000000000");
        assert_eq!(row("shop,b,data,1e300,,"), "line 3: size_gb 1e300 is not from 0 to 1000000000");
        assert_eq!(row("shop,b,data,,,"), "line 3: size_gb is empty");
        assert_eq!(row("shop,b,data,ten,,"), "line 3: size_gb 'ten' is no number");
        assert_eq!(row("shop,b,data,1,2,"), "line 3: used_gb 2 is above size_gb 1");
        assert_eq!(row("shop,b,index,1,,"), "line 3: type 'index' is neither data nor log");
        assert_eq!(row(",b,data,1,,"), "line 3: database is empty");
        assert_eq!(row("SHOP,A,log,1,,"), "line 3: file 'A' of 'SHOP' is listed twice");
        assert!(row("shop,b,data,1,5,5,,").starts_with("line 3: it has 8 values, and the header 6"));
        assert_eq!(row(&format!("shop,{},data,1,,", "b".repeat(300))), "line 3: file has more than 256 characters");
        assert_eq!(
            said("file,database,type,size_gb,FILE\na,b,data,1,c\n"),
            "line 1: the header has the column FILE twice"
        );
        let both = "database;file;type;size_gb;used_gb\na;b;data;1.500;1,5\n";
        assert_eq!(said(both), "line 2: size_gb '1.500' has another decimal sign than the numbers before it");
        let many: Vec<String> = (0..20_001).map(|number| format!("a,{number},data,1,,")).collect();
        assert_eq!(said(&format!("{HEADER}{}\n", many.join("\n"))), "line 20002: it lists more than 20000 files");
    }
}
