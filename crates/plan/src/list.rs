//! A list of files as CSV with a header: `database,file,type,size_gb[,used_gb,growth_gb,iops,mb_per_s,written_mb_per_s,read_ms,write_ms,filegroup]`. Columns may
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
const OPTIONAL: [&[&str]; 7] = [
    &["used_gb"],
    &["growth_gb"],
    &["iops", "MaxIOPS"],
    &["mb_per_s", "MaxThroughputMBPS"],
    &["written_mb_per_s"],
    &["read_ms"],
    &["write_ms"],
];

/// In how many intervals the script saw a file near a limit.
const NEAR: [&str; 2] = ["IOPSNearLimitCount", "ThroughputNearLimitCount"];

/// The limits by which it did so.
const LIMITS: [&str; 2] = ["IOPSLimit", "ThroughputLimitMBPS"];

/// Where the script has the file; its ending says what is in it.
const PATH: &str = "FilePhysicalName";

/// The columns of the published script's output, in their order.
const SCRIPT: [&str; 11] = [
    "DatabaseName",
    "FileLogicalName",
    PATH,
    "FileSizeGB",
    "BlobSizeGB",
    LIMITS[0],
    "MaxIOPS",
    NEAR[0],
    LIMITS[1],
    "MaxThroughputMBPS",
    NEAR[1],
];

/// A list of files, and what is to be known of how it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The files.
    pub files: Vec<DatabaseFile>,
    /// What was taken for granted.
    pub remarks: Vec<String>,
}

/// Files that are named in a remark.
const MOST_NAMED: usize = 5;

/// More files than these are no instance's: the largest may have some thousands.
const MOST_FILES: usize = 20_000;

/// Reads a list of files.
///
/// # Errors
/// The first thing that is wrong, with its line: no header, a missing column, a number that is none, a file that is listed twice.
pub fn read(bytes: &[u8]) -> Result<List, ListError> {
    of_text(&text_of(bytes)?)
}

pub(crate) fn of_text(text: &str) -> Result<List, ListError> {
    let sheet = Sheet::with(text, MOST_FILES, without_header)?;
    let columns = Columns::of(&sheet)?;
    let mut files: Vec<DatabaseFile> = Vec::new();
    let mut known = HashSet::new();
    let mut guessed = Vec::new();
    for record in &sheet.rows {
        let row = Row { record, line: line_of(record), sheet: &sheet, columns: &columns };
        let (file, is_guess) = row.file()?;
        if is_guess {
            guessed.push(format!("{} {}", file.label(), file.kind.name()));
        }
        if !known.insert((file.database.to_lowercase(), file.name.to_lowercase())) {
            return Err(row.wrong(format!("file '{}' of '{}' is listed twice", file.name, file.database)));
        }
        files.push(file);
    }
    if files.is_empty() {
        return Err(ListError::whole("it lists no file"));
    }
    let mut remarks = Vec::new();
    if !guessed.is_empty() {
        let more = guessed.len().saturating_sub(MOST_NAMED);
        guessed.truncate(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = "The endings of some paths do not say what is in the file. By their names they were taken as";
        remarks.push(format!("{text}: {}{more}.", guessed.join(", ")));
    }
    let [.., iops, mb_per_s, _, _, _] = columns.optional;
    let missing: Vec<&str> =
        [(iops, "iops"), (mb_per_s, "mb_per_s")].into_iter().filter(|one| one.0.is_none()).map(|one| one.1).collect();
    if let [missing] = missing.as_slice() {
        remarks.push(format!("The list has no column {missing}: a file that stands at that limit is not seen."));
    }
    Ok(List { files, remarks })
}

/// The columns of a script's output that was saved without its header.
fn without_header(first: &StringRecord) -> Option<StringRecord> {
    let is_number = |text: &str| text.replace(',', ".").parse::<f64>().is_ok() || text.eq_ignore_ascii_case("null");
    let is_one = first.len() == SCRIPT.len() && first.iter().skip(3).all(is_number);
    is_one.then(|| StringRecord::from(SCRIPT.to_vec()))
}

/// Where each column is.
struct Columns {
    needed: [Option<usize>; 4],
    optional: [Option<usize>; 7],
    near: [Option<usize>; 2],
    limits: [Option<usize>; 2],
    path: Option<usize>,
    filegroup: Option<usize>,
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
                "; its first line has numbers: tick \"Include column headers when copying or saving the results\" (Management Studio: Options, Query \
                 Results) or let the program that writes it include them"
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
            filegroup: sheet.column(&["filegroup"]),
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
    /// The file, and whether its kind is a guess.
    fn file(&self) -> Result<(DatabaseFile, bool), ListError> {
        let [database, file, _, size] = self.columns.needed;
        let numbers = |at: usize| self.number(self.columns.optional[at], OPTIONAL[at][0]);
        let size_gb = self.number(size, "size_gb")?.ok_or_else(|| self.wrong("size_gb is empty"))?;
        let (kind, is_guess) = self.kind()?;
        // A folder may have nothing in it.
        if size_gb <= 0.0 && kind != FileKind::Container {
            return Err(self.wrong(format!("size_gb {size_gb} is not above 0")));
        }
        let used_gb = numbers(0)?;
        if let Some(used) = used_gb.filter(|used| *used > size_gb) {
            return Err(self.wrong(format!("used_gb {used} is above size_gb {size_gb}")));
        }
        if let (Some(all), Some(written)) = (numbers(3)?, numbers(4)?)
            && written > all
        {
            return Err(self.wrong(format!("written_mb_per_s {written} is above mb_per_s {all}")));
        }
        let near = [0, 1].map(|at| self.number(self.columns.near[at], NEAR[at]));
        let [near_iops, near_rate] = near;
        let near = near_iops?.into_iter().chain(near_rate?).reduce(f64::max);
        let [iops_limit, rate_limit] = [0, 1].map(|at| self.number(self.columns.limits[at], LIMITS[at]));
        let file = DatabaseFile {
            said: [iops_limit?, rate_limit?],
            database: self.name(database, "database")?,
            name: self.name(file, "file")?,
            kind,
            filegroup: Some(self.text(self.columns.filegroup)).filter(|name| !name.is_empty()).map(foreign::plain),
            size_gb,
            used_gb,
            growth_gb: numbers(1)?,
            iops: numbers(2)?,
            mb_per_s: numbers(3)?,
            written_mb_per_s: numbers(4)?,
            read_ms: numbers(5)?,
            write_ms: numbers(6)?,
            is_primary: FileKind::is_primary(self.text(self.columns.path)),
            at_limit: near.map(|intervals| AtLimit { intervals: intervals as u64, of: None, above: None }),
        };
        Ok((file, is_guess))
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

    /// The word of this list, and those of the engine's own views; else what the file's path says, and whether that is a guess.
    fn kind(&self) -> Result<(FileKind, bool), ListError> {
        let [.., kind, _] = self.columns.needed;
        if kind.is_none() {
            let known = FileKind::of_path(self.text(self.columns.path));
            let is_log = || self.text(self.columns.needed[1]).to_ascii_lowercase().contains("log");
            let guess = || if is_log() { FileKind::Log } else { FileKind::Data };
            return Ok(known.map_or_else(|| (guess(), true), |kind| (kind, false)));
        }
        match self.text(kind).to_ascii_lowercase().as_str() {
            "data" | "rows" => Ok((FileKind::Data, false)),
            "log" => Ok((FileKind::Log, false)),
            "container" | "filestream" => Ok((FileKind::Container, false)),
            other => Err(self.wrong(format!("type '{}' is neither data, log nor container", shown(other)))),
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
        let files = read(b"Type,IOPS,size_gb,remark,file,database\nROWS,,150.5,old,f1,shop\nlog,20,8,,l1,shop\n")
            .unwrap()
            .files;
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
            assert_eq!(read(&bytes[2..]).unwrap(), expected, "without the mark");
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
            let files = read(text.as_bytes()).unwrap().files;
            assert_eq!((files[0].kind, files[0].size_gb, files[0].iops), (FileKind::Data, 150.0, Some(2288.51)));
            assert_eq!(files[0].at_limit, Some(AtLimit { intervals: 7, of: None, above: None }));
            assert_eq!((files[1].kind, files[1].mb_per_s), (FileKind::Log, Some(99.1)));
            assert_eq!(files[1].at_limit, Some(AtLimit { intervals: 11, of: None, above: None }));
        }
        let (_, rows) = text.split_once('\n').unwrap();
        assert_eq!(read(rows.as_bytes()).unwrap(), read(text.as_bytes()).unwrap(), "known by its eleven columns");
        let one = said("a,f,data,1\na,g,data,2\n");
        assert!(one.contains("tick \"Include column headers when copying or saving the results\""), "{one}");
    }

    /// As programs save tables: with lines that are none of it, and other names.
    #[test]
    fn what_programs_write_around_a_table_is_left_out() {
        let header = "database,file,type,size_gb";
        let expected = read(format!("{header}\na,f,data,1.5\n").as_bytes()).unwrap();
        for text in [
            format!("#TYPE System.Data.DataRow\n{header}\na,f,data,1.5\n"),
            format!("{header}\n--------,----,----,-------\na,f,data,1.5\n\n(1 rows affected)\n"),
            format!("{header}\na,f,data,1.5\n\n(1 row affected)\n\nCompletion time: 2026-11-28T12:51:00.1+01:00\n"),
            format!("\nsep=;\n{}\na;f;data;1,5\n", header.replace(',', ";")),
            "Database,FILE,type,Size GB\na,f,data,1.5\n".to_owned(),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert_eq!(said(&format!("#TYPE x\n{header}\na,f,data,ten\n")), "line 3: size_gb 'ten' is no number");
        let fixed = said("database file type size_gb\n-------- ---- ---- -------\na        f    data     1.5\n");
        assert!(fixed.contains("save the results as CSV"), "{fixed}");
        // Quoted, 1,5 is a number and 1,500 may be two of them.
        assert_eq!(read(format!("{header}\na,f,data,\"1,5\"\n").as_bytes()).unwrap(), expected);
        let thousand = said(&format!("{header}\na,f,data,\"1,500\"\n"));
        assert!(thousand.ends_with("the decimal sign is the point"), "{thousand}");
        let both = said(&format!("{header}\na,f,data,\"1,5\"\na,g,data,1.5\n"));
        assert!(both.contains("another decimal sign"), "{both}");
        assert!(said(&format!("{header}\na,f,data,1,5\n")).ends_with("the decimal sign is the point"));
    }

    #[test]
    fn what_was_taken_for_granted_is_said() {
        let text = "DatabaseName,FileLogicalName,FilePhysicalName,FileSizeGB,Max IOPS\n\
                    shop,shop,https://x/shop.mdf,1,2\nshop,shop_log,https://x/shop.xyz,1,2\nshop,rest,none,1,2\nshop,mem,https://x/a.xtp,0,2\n";
        let list = read(text.as_bytes()).unwrap();
        assert_eq!(
            list.files.iter().map(|file| file.kind).collect::<Vec<_>>(),
            [FileKind::Data, FileKind::Log, FileKind::Data, FileKind::Container]
        );
        assert_eq!(list.files[0].iops, Some(2.0));
        let [endings, rates] = list.remarks.as_slice() else { panic!("{:?}", list.remarks) };
        assert!(endings.ends_with("taken as: shop.shop_log log, shop.rest data."), "{endings}");
        assert!(rates.starts_with("The list has no column mb_per_s"), "{rates}");
        assert_eq!(read(b"database,file,type,size_gb\na,f,data,1\n").unwrap().remarks, [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let row = |row: &str| said(&format!("{HEADER}shop,a,data,1,,\n{row}\n"));
        assert_eq!(said(" \r\n"), "it is empty");
        assert_eq!(
            said("a\n"),
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
        assert_eq!(row("shop,b,index,1,,"), "line 3: type 'index' is neither data, log nor container");
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
        // Between semicolons a point may part thousands, unless some number can't be read so.
        let points =
            |iops: &str| said(&format!("database;file;type;size_gb;iops\na;b;data;1.024;{iops}\na;c;none;1;1\n"));
        let open =
            "line 2: size_gb '1.024' may be 1024 or 1,024: write the one without its point, and the other with a comma";
        assert_eq!([points("2.300"), points("100")], [open; 2]);
        assert_eq!([points("2.3"), points("0.300")], ["line 3: type 'none' is neither data, log nor container"; 2]);
        let many: Vec<String> = (0..20_001).map(|number| format!("a,{number},data,1,,")).collect();
        assert_eq!(said(&format!("{HEADER}{}\n", many.join("\n"))), "line 20002: it has more than 20000 rows");
    }
}
