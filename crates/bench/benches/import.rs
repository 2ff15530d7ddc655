//! Bulk loading SQLite against the `.import` of SQLite's own shell, of the same rows from a text file: interleaved pairs in
//! ABBA order, an empty table with its primary key in place, the same page size, journal and synchronous mode, one
//! transaction. We make the rows while loading; the shell reads its file from a warm cache. The bar is a ratio of at most 1.
//!
//! `cargo bench -p plimsoll-bench --bench import -- [PAIRS] [MB]`; needs `sqlite3`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use plimsoll_analysis::compare::{Terms, compare};
use plimsoll_analysis::summary;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::RealClock;
use plimsoll_engine::{
    ClaimMode, Credentials, Database, Engine as _, RequestAccess, Result as EngineResult, Row, RowSource, Table,
    Target, Value, Workspace,
};
use plimsoll_sqlite::Sqlite;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

struct Source(Rows);

impl RowSource for Source {
    fn next(&mut self, row: &mut Row) -> EngineResult<bool> {
        Ok(self.0.fill(row))
    }
}

fn main() -> Outcome<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (pairs, megabytes) = (numbers.next().unwrap_or(10), numbers.next().unwrap_or(256));
    let rows = (megabytes << 20) / Width::Seeds.row_bytes();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let table = schema::family("rows", Width::Seeds);
    let file = folder.path().join("rows.csv");
    write_file(&file, rows)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        for turn in 0..2 {
            if (pair + turn).is_multiple_of(2) {
                ours.push(load(folder.path(), &table, rows)?);
            } else {
                theirs.push(import(folder.path(), &table, &file, rows)?);
            }
        }
        let (us, them) = (ours[ours.len() - 1], theirs[theirs.len() - 1]);
        println!("pair {:>2}: plimsoll {us:.2} s, .import {them:.2} s, ratio {:.3}", pair + 1, us / them);
    }
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(us, them)| us / them).collect();
    let terms = Terms { higher_is_better: false, margin: 0.05, confidence: 0.95 };
    let comparison = compare(&theirs, &ours, terms).ok_or("too few pairs")?;
    println!(
        "time ratio plimsoll / .import over {pairs} pairs of {megabytes} MB: median {:.3}, mean {:.3} ({:.3} to {:.3})",
        summary::median(&ratios).unwrap_or_default(),
        comparison.ratio,
        comparison.low.unwrap_or_default(),
        comparison.high.unwrap_or_default(),
    );
    Ok(())
}

/// The rows as the shell reads them: it converts texts by the columns' types.
fn write_file(file: &Path, rows: u64) -> Outcome<()> {
    let mut out = BufWriter::new(fs::File::create(file)?);
    let mut source = Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, rows);
    let (mut row, mut line) = (Row::default(), String::new());
    while source.fill(&mut row) {
        line.clear();
        for (index, value) in row.values().enumerate() {
            if index > 0 {
                line.push('|');
            }
            match value {
                Value::Null => {}
                Value::Bit(bit) => write!(line, "{}", u8::from(bit))?,
                Value::TinyInt(number) => write!(line, "{number}")?,
                Value::SmallInt(number) => write!(line, "{number}")?,
                Value::Int(number) => write!(line, "{number}")?,
                Value::BigInt(number) | Value::Money(number) | Value::DateTime(number) => write!(line, "{number}")?,
                Value::Float(number) => write!(line, "{number}")?,
                // The separators of `.mode csv` with `|`: texts that hold one are quoted.
                Value::Text(text) => write!(line, "\"{}\"", text.replace('"', "\"\""))?,
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(out.flush()?)
}

fn open(folder: &Path) -> Outcome<Box<dyn Database>> {
    let target = Target::parse(&format!("sqlite:{}", folder.join("x.db").display()))?;
    Ok(Sqlite.open(&target, &Credentials::default(), Arc::new(RealClock::new()))?)
}

fn load(folder: &Path, table: &Table, rows: u64) -> Outcome<f64> {
    let database = open(folder)?;
    let workspace = Workspace::run("importbench")?;
    let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
    let mut session = database.session(&workspace, &workspace)?;
    session.create_table(table)?;
    drop(session);
    let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN)?;
    let start = Instant::now();
    let row_summary =
        requester.load_batch(table, &mut Source(Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, rows)))?;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(row_summary.rows, rows);
    drop((requester, lease));
    database.remove(&workspace)?;
    Ok(seconds)
}

fn import(folder: &Path, table: &Table, file: &Path, rows: u64) -> Outcome<f64> {
    // The same settings as ours, as the driver states them.
    let database = open(folder)?;
    let settings = &database.description().settings;
    let path = folder.join("shell.db");
    let of = |name: &str| settings.get(name).cloned().unwrap_or_default();
    let sql = {
        let workspace = Workspace::run("importbench")?;
        let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
        let sql = database.session(&workspace, &workspace)?.dialect().create_table(table);
        drop(lease);
        database.remove(&workspace)?;
        sql
    };
    let pragmas = format!(
        "PRAGMA page_size={}; PRAGMA journal_mode={}; PRAGMA synchronous={}; PRAGMA cache_size={};",
        of("page_size"),
        of("journal_mode"),
        of("synchronous"),
        of("cache_size"),
    );
    shell(&path, &[&pragmas, &sql])?;
    let import = format!(".import '{}' {}", file.display(), table.name);
    let start = Instant::now();
    shell(&path, &[&pragmas, ".mode csv", ".separator |", &import])?;
    let seconds = start.elapsed().as_secs_f64();
    let counted = shell(&path, &["SELECT count(*) FROM rows;"])?;
    assert_eq!(counted.trim(), rows.to_string());
    for ending in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(format!("{}{ending}", path.display()));
    }
    Ok(seconds)
}

fn shell(path: &Path, commands: &[&str]) -> Outcome<String> {
    let mut shell = Command::new("sqlite3");
    shell.arg("-bail").arg(path).args(commands).stdin(Stdio::null());
    let output = shell.output().map_err(|error| format!("sqlite3 can't be run, is it installed? {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout)?)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}
