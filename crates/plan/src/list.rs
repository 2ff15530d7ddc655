//! A list of files as CSV with a header: `database,file,type,size_gb[,used_gb,growth_gb,iops,mb_per_s,read_ms,write_ms]`. Columns may
//! come in any order, and others are passed over. The output of the script that the makers of the service published has the same under
//! other names.

use std::collections::HashSet;

use csv::StringRecord;
use plimsoll_measurement::foreign;

use crate::file::{AtLimit, DatabaseFile, FileKind};
use crate::sheet::{LONGEST_NAME, ListError, Sheet, line_of, shown, text_of};

/// Columns that a list must have, with the names of the published script's.
const NEEDED: [&[&str]; 4] =
    [&["database", "DatabaseName"], &["file", "FileLogicalName"], &["type"], &["size_gb", "FileSizeGB"]];

/// Columns of numbers that it may have.
const OPTIONAL: [&[&str]; 6] = [
    &["used_gb"],
    &["growth_gb"],
    &["iops", "MaxIOPS"],
    &["mb_per_s", "MaxThroughputMBPS"],
    &["read_ms"],
    &["write_ms"],
];

/// In how many intervals the script saw a file near a limit.
const NEAR: [&str; 2] = ["IOPSNearLimitCount", "ThroughputNearLimitCount"];

/// The limits by which it did so.
const LIMITS: [&str; 2] = ["IOPSLimit", "ThroughputLimitMBPS"];

/// Where the script has the file; its ending says what is in it.
const PATH: &str = "FilePhysicalName";

/// More files than these are no instance's: the largest may have some thousands.
const MOST_FILES: usize = 20_000;

/// Reads a list of files.
///
/// # Errors
/// The first thing that is wrong, with its line: no header, a missing column, a number that is none, a file that is listed twice.
pub fn read(bytes: &[u8]) -> Result<Vec<DatabaseFile>, ListError> {
    of_text(&text_of(bytes)?)
}

pub(crate) fn of_text(text: &str) -> Result<Vec<DatabaseFile>, ListError> {
    let sheet = Sheet::read(text, MOST_FILES)?;
    let columns = Columns::of(&sheet)?;
    let mut files: Vec<DatabaseFile> = Vec::new();
    let mut known = HashSet::new();
    for record in &sheet.rows {
        let row = Row { record, line: line_of(record), sheet: &sheet, columns: &columns };
        let file = row.file()?;
        if !known.insert((file.database.to_lowercase(), file.name.to_lowercase())) {
            return Err(row.wrong(format!("file '{}' of '{}' is listed twice", file.name, file.database)));
        }
        files.push(file);
    }
    if files.is_empty() {
        return Err(ListError::whole("it lists no file"));
    }
    Ok(files)
}

/// Where each column is.
struct Columns {
    needed: [Option<usize>; 4],
    optional: [Option<usize>; 6],
    near: [Option<usize>; 2],
    limits: [Option<usize>; 2],
    path: Option<usize>,
}

impl Columns {
    fn of(sheet: &Sheet) -> Result<Self, ListError> {
        let path = sheet.column(&[PATH]);
        let needed = NEEDED.map(|names| sheet.column(names));
        let is_missing =
            |(names, at): &(&[&str], Option<usize>)| at.is_none() && (path.is_none() || names[0] != "type");
        let missing: Vec<&str> = NEEDED.into_iter().zip(needed).filter(is_missing).map(|(names, _)| names[0]).collect();
        if !missing.is_empty() {
            let all = NEEDED.map(|names| names[0]).join(", ");
            let is_headless = sheet.headers.iter().any(|header| header.parse::<f64>().is_ok());
            let advice = if is_headless {
                "; its first line has numbers: let the program that writes it include column headers"
            } else {
                ""
            };
            let problem = format!("the header has no column {}: it must have {all}{advice}", missing.join(", "));
            return Err(ListError::at(1, problem));
        }
        let optional = OPTIONAL.map(|names| sheet.column(names));
        Ok(Self {
            needed,
            optional,
            near: NEAR.map(|name| sheet.column(&[name])),
            limits: LIMITS.map(|name| sheet.column(&[name])),
            path,
        })
    }
}

struct Row<'a> {
    record: &'a StringRecord,
    line: u64,
    sheet: &'a Sheet,
    columns: &'a Columns,
}

impl Row<'_> {
    fn file(&self) -> Result<DatabaseFile, ListError> {
        let [database, file, _, size] = self.columns.needed;
        let numbers = |at: usize| self.number(self.columns.optional[at], OPTIONAL[at][0]);
        let size_gb = self.number(size, "size_gb")?.ok_or_else(|| self.wrong("size_gb is empty"))?;
        if size_gb <= 0.0 {
            return Err(self.wrong(format!("size_gb {size_gb} is not above 0")));
        }
        let used_gb = numbers(0)?;
        if let Some(used) = used_gb.filter(|used| *used > size_gb) {
            return Err(self.wrong(format!("used_gb {used} is above size_gb {size_gb}")));
        }
        let near = [0, 1].map(|at| self.number(self.columns.near[at], NEAR[at]));
        let [near_iops, near_rate] = near;
        let near = near_iops?.into_iter().chain(near_rate?).reduce(f64::max);
        let [iops_limit, rate_limit] = [0, 1].map(|at| self.number(self.columns.limits[at], LIMITS[at]));
        Ok(DatabaseFile {
            said: [iops_limit?, rate_limit?],
            database: self.name(database, "database")?,
            name: self.name(file, "file")?,
            kind: self.kind()?,
            size_gb,
            used_gb,
            growth_gb: numbers(1)?,
            iops: numbers(2)?,
            mb_per_s: numbers(3)?,
            read_ms: numbers(4)?,
            write_ms: numbers(5)?,
            at_limit: near.map(|intervals| AtLimit { intervals: intervals as u64, of: None }),
        })
    }

    fn wrong(&self, problem: impl Into<String>) -> ListError {
        ListError::at(self.line, problem)
    }

    fn text(&self, column: Option<usize>) -> &str {
        column.and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    fn name(&self, at: Option<usize>, column: &str) -> Result<String, ListError> {
        let name = self.text(at);
        if name.is_empty() {
            return Err(self.wrong(format!("{column} is empty")));
        }
        if name.chars().count() > LONGEST_NAME {
            return Err(self.wrong(format!("{column} has more than {LONGEST_NAME} characters")));
        }
        Ok(foreign::plain(name))
    }

    /// The word of this list, and those of the engine's own views; else what the file's ending says.
    fn kind(&self) -> Result<FileKind, ListError> {
        let [.., kind, _] = self.columns.needed;
        if kind.is_none() {
            let path = self.text(self.columns.path).to_ascii_lowercase();
            let is_log = path.rsplit_once('.').is_some_and(|(_, ending)| ending == "ldf");
            return Ok(if is_log { FileKind::Log } else { FileKind::Data });
        }
        match self.text(kind).to_ascii_lowercase().as_str() {
            "data" | "rows" => Ok(FileKind::Data),
            "log" => Ok(FileKind::Log),
            other => Err(self.wrong(format!("type '{}' is neither data nor log", shown(other)))),
        }
    }

    fn number(&self, column: Option<usize>, name: &str) -> Result<Option<f64>, ListError> {
        self.sheet.number(self.text(column)).map_err(|problem| self.wrong(format!("{name} {problem}")))
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

    /// As the management studio saves the grid of the published script.
    #[test]
    fn the_published_scripts_output_is_a_list() {
        let text = "DatabaseName,FileLogicalName,FilePhysicalName,FileSizeGB,BlobSizeGB,IOPSLimit,MaxIOPS,IOPSNearLimitCount,\
                    ThroughputLimitMBPS,MaxThroughputMBPS,ThroughputNearLimitCount\n\
                    shop,data_0,https://x.blob.core.windows.net/a/data_0.mdf,150.0000,513,2300,2288.51,7,150,31.20,0\n\
                    shop,log,https://x.blob.core.windows.net/a/log.LDF,8.5000,129,500,20.00,0,100,99.10,11\n";
        for text in [text.to_owned(), text.replace(',', "\t")] {
            let files = read(text.as_bytes()).unwrap();
            assert_eq!((files[0].kind, files[0].size_gb, files[0].iops), (FileKind::Data, 150.0, Some(2288.51)));
            assert_eq!(files[0].at_limit, Some(AtLimit { intervals: 7, of: None }));
            assert_eq!((files[1].kind, files[1].mb_per_s), (FileKind::Log, Some(99.1)));
            assert_eq!(files[1].at_limit, Some(AtLimit { intervals: 11, of: None }));
        }
        let (_, rows) = text.split_once('\n').unwrap();
        assert!(said(rows).ends_with("let the program that writes it include column headers"), "{}", said(rows));
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
        assert_eq!(said(both), "line 2: used_gb '1,5' has another decimal sign than the numbers before it");
        let many: Vec<String> = (0..20_001).map(|number| format!("a,{number},data,1,,")).collect();
        assert_eq!(said(&format!("{HEADER}{}\n", many.join("\n"))), "line 20002: it has more than 20000 rows");
    }
}
