//! `cargo xtask matrix`: every built-in test on every server that can be had here, short and once. A table says what each came to, and
//! another one holds the requests of the record against those that the server itself counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_measurement::RunRecord;
use plimsoll_testbed::{Builder, MariaDb, Postgres, Product, TestbedError};

use crate::child::record;
use crate::generators::replace_section;
use crate::quiet::quiet;
use crate::tasks::{self, Outcome};
use crate::{complain, say, servers};

const HELP: &str = "cargo xtask matrix [--program FILE] [--write] [NAME,...]";

/// The servers in the order of the columns; the distribution's have no name to be fetched by.
const SERVERS: [(&str, Option<&str>, Product); 8] = [
    ("PostgreSQL 14", Some("postgresql-14"), Product::PostgreSql),
    ("PostgreSQL 15", None, Product::PostgreSql),
    ("PostgreSQL 16", Some("postgresql-16"), Product::PostgreSql),
    ("PostgreSQL 17", Some("postgresql-17"), Product::PostgreSql),
    ("PostgreSQL 18", Some("postgresql-18"), Product::PostgreSql),
    ("MariaDB 10.11", None, Product::MariaDb),
    ("MariaDB 11.4", Some("mariadb-11.4"), Product::MariaDb),
    ("MySQL 9", Some("mysql-9"), Product::MySql),
];

/// What tests need to be told beside their names.
const FLAGS: [(&str, &[&str]); 4] = [
    ("import", &["--allow-create-database"]),
    ("copy", &["--allow-create-database"]),
    ("restore", &["--allow-create-database"]),
    ("level-change", &["--allow-level-change", "--set", "level=S1"]),
];

/// Kinds of requests, and the statement that each is.
const VERBS: [(&str, &str); 5] = [
    ("insert", "INSERT"),
    ("update", "UPDATE"),
    ("delete", "DELETE"),
    ("direct-select", "SELECT"),
    ("indirect-select", "SELECT"),
];

/// Errors by which a test says that this server or this machine has not got what it needs.
const ABSENT: [&str; 3] = ["unsupported", "permission", "tool-missing"];

enum Kind {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

struct Server {
    kind: Kind,
    /// Its own programs, where they are not the machine's.
    programs: Option<PathBuf>,
}

impl Server {
    fn start(name: Option<&str>, product: Product) -> Result<Self, String> {
        let installation = name.map(servers::installation).transpose()?;
        let programs = installation.as_ref().map(plimsoll_testbed::Installation::programs);
        let said = |error: TestbedError| error.to_string();
        let kind = if product == Product::PostgreSql {
            let builder = Postgres::builder().setting("shared_preload_libraries", "pg_stat_statements");
            let builder = builder.setting("pg_stat_statements.track_utility", "off");
            let builder = installation.into_iter().fold(builder, Builder::installed);
            let server = builder.start().map_err(said)?;
            server.psql("CREATE EXTENSION pg_stat_statements").map_err(said)?;
            Kind::Postgres(server)
        } else {
            let builder = MariaDb::builder().setting("performance_schema", "ON");
            let builder = installation.into_iter().fold(builder, Builder::installed);
            Kind::MariaDb(builder.start().map_err(said)?)
        };
        Ok(Self { kind, programs })
    }

    fn target(&self) -> String {
        match &self.kind {
            Kind::Postgres(server) => server.socket_url("postgres"),
            Kind::MariaDb(server) => server.socket_url("test"),
        }
    }

    /// How often each verb was executed on a table of a test since the server began, by its own statistics of statements, without the scan
    /// that warms the table. MySQL and MariaDB count verbs of all sessions: of updates, deletes and executions of prepared statements nobody
    /// but the requests makes any, but for that scan.
    fn executed(&self) -> Result<BTreeMap<String, u64>, String> {
        let rows = match &self.kind {
            Kind::Postgres(server) => server.psql(
                "SELECT split_part(query, ' ', 1), sum(calls) FROM pg_stat_statements \
                 WHERE toplevel AND query ~ '(FROM|INTO|UPDATE) table[0-9]+ ' AND query NOT LIKE 'SELECT count(*)%' GROUP BY 1",
            ),
            Kind::MariaDb(server) => {
                server.sql("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_update', 'Com_delete', 'Com_stmt_execute')")
            }
        };
        let rows = rows.map_err(|error| error.to_string())?;
        let counts = rows.lines().filter_map(|row| {
            let (verb, count) = row.split_once(['|', '\t'])?;
            let verb = match verb {
                "Com_update" => "UPDATE",
                "Com_delete" => "DELETE",
                "Com_stmt_execute" => ALL,
                verb => verb,
            };
            Some((verb.to_owned(), count.trim().parse().ok()?))
        });
        Ok(counts.collect())
    }

    /// The requests as this server counts them.
    fn comparable(&self, requests: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        if matches!(self.kind, Kind::Postgres(_)) {
            return requests;
        }
        let all = requests.values().sum();
        let kept = requests.into_iter().filter(|(verb, _)| ["UPDATE", "DELETE"].contains(&verb.as_str()));
        kept.chain([(ALL.to_owned(), all)]).collect()
    }
}

/// All requests together, where a server has no count of each verb.
const ALL: &str = "all";

/// What a test came to on a server.
#[derive(Debug, Clone, Default)]
struct Cell {
    ended: String,
    /// Requests of the record and of the server, by verb.
    counts: Option<(BTreeMap<String, u64>, BTreeMap<String, u64>)>,
    failed: bool,
}

impl Cell {
    fn failed(why: impl Into<String>) -> Self {
        Self { ended: format!("**failed**: {}", why.into()), failed: true, ..Self::default() }
    }

    fn of(record: &RunRecord) -> Self {
        let ended = match (&record.error, &record.result) {
            (Some(error), _) if ABSENT.contains(&error.kind.as_str()) => error.kind.clone(),
            (Some(error), _) => return Self::failed(format!("{} ({})", error.message, error.kind)),
            (None, Some(figure)) => format!("{} {}", short(figure.value), figure.unit),
            (None, None) => "no figure".to_owned(),
        };
        Self { ended, ..Self::default() }
    }

    /// Whether the server counted what the record has; `None` where there is nothing to be held together.
    fn agrees(&self) -> Option<bool> {
        self.counts.as_ref().map(|(ours, theirs)| {
            let scans = |verb: &String| u64::from(verb == ALL);
            ours.keys().eq(theirs.keys())
                && ours
                    .iter()
                    .zip(theirs.values())
                    .all(|((verb, ours), theirs)| theirs.checked_sub(*ours).is_some_and(|more| more <= scans(verb)))
        })
    }
}

/// A number with three digits that count.
fn short(number: f64) -> String {
    if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.3}") }
}

/// Requests of a record by verb, with those that were answered after the end of the phase, which the server has done as well. `None`
/// for kinds that are more or other than one statement.
fn requested(record: &RunRecord) -> Option<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for kind in record.repetitions.iter().flat_map(|repetition| &repetition.requests) {
        let (_, verb) = VERBS.iter().find(|(name, _)| *name == kind.kind)?;
        *counts.entry((*verb).to_owned()).or_default() += kind.operations + kind.drained;
    }
    Some(counts).filter(|counts| !counts.is_empty())
}

fn run(program: &Path, folder: &Path, server: &Server, test: &str) -> Cell {
    let flags = FLAGS.iter().find(|(name, _)| *name == test).map_or(&[][..], |(_, flags)| flags);
    let mut command = Command::new(program);
    command.args(["run", test, "--short", "--repetitions", "1", "--json", "--quiet", "--target", &server.target()]);
    command.args(flags).arg("--store").arg(folder.join("runs.db"));
    if let Some(programs) = &server.programs {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
    }
    let before = server.executed();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Cell::failed(error.to_string()),
    };
    let record = match record(&String::from_utf8_lossy(&output.stdout)) {
        Ok(record) => record,
        Err(error) => return Cell::failed(error),
    };
    let mut cell = Cell::of(&record);
    // Commits of a loop inside the server are no statements of a session.
    let is_comparable = record.error.is_none() && test != "insert-latency";
    let Some(ours) = requested(&record).filter(|_| is_comparable) else { return cell };
    let ours = server.comparable(ours);
    let theirs = before.and_then(|before| {
        let since = |(verb, after): (String, u64)| {
            let count = after - before.get(&verb).copied().unwrap_or(0);
            (count > 0).then_some((verb, count))
        };
        Ok(server.executed()?.into_iter().filter_map(since).collect::<BTreeMap<_, _>>())
    });
    match theirs {
        Ok(theirs) => cell.counts = Some((ours, theirs)),
        Err(error) => return Cell::failed(format!("the server's counts: {error}")),
    }
    cell
}

/// Names of all built-in tests.
fn tests(program: &Path) -> Result<Vec<String>, String> {
    let listed = quiet(Command::new(program).arg("tests"))?;
    let names = listed.lines().take_while(|line| !line.is_empty());
    Ok(names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// A table with a row for each test that has anything to say, and a column for each server.
fn table(tests: &[String], columns: &[(String, Vec<Cell>)], say: impl Fn(&Cell) -> String) -> String {
    let heads: String = columns.iter().fold(String::new(), |heads, (name, _)| heads + " " + name + " |");
    let mut text = format!("| test |{heads}\n|---|{}\n", "---|".repeat(columns.len()));
    for (row, test) in tests.iter().enumerate() {
        let cells: Vec<String> = columns.iter().map(|(_, cells)| say(&cells[row]).replace('|', "/")).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "| {test} | {} |", cells.join(" | "));
        }
    }
    text
}

fn counted(cell: &Cell) -> String {
    let Some((ours, theirs)) = &cell.counts else { return String::new() };
    if cell.agrees() != Some(true) {
        return format!("**{ours:?}, server {theirs:?}**");
    }
    ours.get(ALL).copied().unwrap_or_else(|| ours.values().sum()).to_string()
}

/// Runs every test on the servers of these names, or on all.
pub fn matrix(arguments: &[&str]) -> Outcome {
    let (mut program, mut writes, mut names) = (None, false, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--program" => program = words.next().map(PathBuf::from),
            "--write" => writes = true,
            word if !word.starts_with('-') && names.is_none() => names = Some(word.to_owned()),
            _ => {
                complain(HELP);
                return Err(tasks::USAGE);
            }
        }
    }
    let program = program.map_or_else(tasks::released, Ok)?;
    let failed = |error: String| {
        complain(&error);
        tasks::INTERNAL
    };
    let tests = tests(&program).map_err(failed)?;
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let (mut columns, mut is_complete, mut is_right) = (Vec::new(), true, true);
    for (title, name, product) in SERVERS {
        let is_asked = |names: &String| names.split(',').any(|asked| asked == name.unwrap_or(title));
        if !names.as_ref().is_none_or(is_asked) {
            continue;
        }
        let server = match Server::start(name, product) {
            Ok(server) => server,
            Err(reason) => {
                complain(&format!("{title}: not run: {reason}"));
                is_complete = false;
                continue;
            }
        };
        let mut cells = Vec::new();
        for test in &tests {
            let cell = run(&program, folder.path(), &server, test);
            complain(&format!("{title}: {test}: {} {:?}", cell.ended, cell.agrees()));
            is_right &= !cell.failed && cell.agrees() != Some(false);
            cells.push(cell);
        }
        columns.push((title.to_owned(), cells));
    }
    let ended = table(&tests, &columns, |cell| cell.ended.clone());
    let text =
        format!("{ended}\nRequests, the same in the record and at the server:\n\n{}", table(&tests, &columns, counted));
    say(&text);
    if writes {
        replace_section(&tasks::root().join("docs/ENGINES.md"), &format!("\n{text}\n")).map_err(failed)?;
    }
    match (is_right, is_complete) {
        (false, _) => Err(1),
        (true, false) => Err(tasks::MISSING),
        (true, true) => Ok(()),
    }
}
