//! What SQL Server's line costs the client, beside our PostgreSQL path for the same rows (the reference row of 410 bytes), and how
//! much memory loads and scans take. SQL Server is a TDS server of our own in a process of its own, so that the CPU and the
//! memory of this process are the client's alone; PostgreSQL is a real one.
//!
//! ```text
//! cargo bench -p plimsoll-bench --bench tds -- select [PAIRS] [SECONDS] [RATE]   CPU a point select at a like rate, bar 2.0; RATE 0: as fast as possible
//! cargo bench -p plimsoll-bench --bench tds -- load [PAIRS] [ROWS]               CPU a loaded row, bar 1.5
//! cargo bench -p plimsoll-bench --bench tds -- memory [LOADED] [SCANNED]         growth of memory in MB, bar 64
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use plimsoll_analysis::summary;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{
    ClaimMode, ColumnType, Credentials, Database, Engine, Lease, RequestAccess, Row, RowSource as _, Session,
    Statement, Target, Value, Workspace,
};
use plimsoll_mssql::Mssql;
use plimsoll_postgres::Postgres as PostgresEngine;
use plimsoll_testbed::Postgres;
use plimsoll_testbed::tds::{Column, Datum, Kind, Outcome as Said, Reply, Request, TdsServer, answers};
use rustix::time::{ClockId, clock_gettime};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SESSIONS: u32 = 8;
/// Rows of the table in PostgreSQL: few enough to stay in its cache.
const KEYS: u64 = 100_000;
/// Rows that the TDS server has made beforehand, and sends again and again.
const READY: usize = 1000;
/// Rows of a scan, where the client doesn't say.
const SCANNED: u64 = 1_000_000;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |index: usize, usual: u64| words.get(index).and_then(|word| word.parse().ok()).unwrap_or(usual);
    match words.first().map(String::as_str) {
        Some("serve") => serve(number(1, SCANNED)),
        Some("select") => select(number(1, 10), number(2, 5), number(3, 5000)),
        Some("load") => load(number(1, 10), number(2, 500_000)),
        Some("memory") => memory(number(1, 10_000_000), number(2, SCANNED)),
        _ => {
            select(3, 4, 5000)?;
            load(3, 200_000)?;
            memory(1_000_000, SCANNED)
        }
    }
}

/// The other process: a server that says the same again and again, until its input ends.
fn serve(scanned: u64) -> Outcome<()> {
    let rows = Arc::new(ready_rows());
    let columns = columns();
    let server = TdsServer::builder().takes_anything().packet_bytes(8000).forgets().tables({
        let columns = columns.clone();
        move |_| Some(columns.clone())
    });
    let server = server.start(move |request, _| {
        let sql = request.sql();
        if !matches!(request, Request::Bulk(_)) && sql.starts_with("SELECT [RowId]") {
            let count = if matches!(request, Request::Call(_)) { 1 } else { scanned };
            let rows = Arc::clone(&rows);
            let each = move |number: u64| rows[number as usize % READY].clone();
            return Reply(vec![Said::Rows(columns.clone(), Box::new((0..count).map(each)))]);
        }
        answers::usual(request)
    })?;
    println!("{}", server.port());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn columns() -> Vec<Column> {
    let kind = |kind: ColumnType| match kind {
        ColumnType::Bit => Kind::Bit,
        ColumnType::TinyInt => Kind::Integer(1),
        ColumnType::SmallInt => Kind::Integer(2),
        ColumnType::Int => Kind::Integer(4),
        ColumnType::BigInt => Kind::Integer(8),
        ColumnType::Float => Kind::Float(8),
        ColumnType::Money => Kind::Money,
        ColumnType::DateTime => Kind::DateTime2(3),
        ColumnType::Text(length) => Kind::VarChar(Some(length)),
    };
    let table = schema::family("rows", Width::Seeds);
    table.columns.iter().map(|column| Column::new(&column.name, kind(column.kind))).collect()
}

fn ready_rows() -> Vec<Vec<Datum>> {
    let mut source = Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, READY as u64);
    let mut row = Row::default();
    let mut rows = Vec::new();
    while source.fill(&mut row) {
        rows.push(row.values().map(datum).collect());
        row.clear();
    }
    rows
}

fn datum(value: Value<'_>) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Bit(bit) => Datum::Bit(bit),
        Value::TinyInt(number) => Datum::Integer(number.into()),
        Value::SmallInt(number) => Datum::Integer(number.into()),
        Value::Int(number) => Datum::Integer(number.into()),
        Value::BigInt(number) => Datum::Integer(number),
        Value::Float(number) => Datum::Float(number),
        Value::Money(units) => Datum::Money(units),
        Value::DateTime(milliseconds) => {
            let days = 719_162 + milliseconds.div_euclid(86_400_000);
            Datum::DateTime2(days as u32, milliseconds.rem_euclid(86_400_000) as u64)
        }
        Value::Text(text) => Datum::from(text),
    }
}

/// The other process, which ends with this.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(scanned: u64) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", &scanned.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, port: line.trim().parse()? })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A database with a place of ours in it.
struct Bed {
    database: Box<dyn Database>,
    workspace: Workspace,
    _lease: Box<dyn Lease>,
}

impl Bed {
    fn open(engine: &dyn Engine, url: &str) -> Outcome<Self> {
        let database = engine.open(&Target::parse(url)?, &Credentials::default(), Arc::new(RealClock::new()))?;
        let workspace = Workspace::run("tdsbench")?;
        let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
        Ok(Self { database, workspace, _lease: lease })
    }

    fn tds(served: &Served) -> Outcome<Self> {
        Self::open(&Mssql, &format!("mssql://ann:word@127.0.0.1:{}/sales?encrypt=false", served.port))
    }

    fn session(&self) -> Outcome<Box<dyn Session>> {
        Ok(self.database.session(&self.workspace, &self.workspace)?)
    }

    /// Makes selects for so long; gives CPU microseconds a request, and requests a second.
    fn select(&self, seconds: u64, rate: u64) -> Outcome<(f64, f64)> {
        let table = schema::family("rows", Width::Seeds);
        let dialect = self.session()?.dialect();
        let sql = dialect.read_row(&table);
        let columns = Some(table.columns.iter().map(|column| column.kind).collect());
        let statement = Statement { number: 0, sql, columns };
        let mut requesters = Vec::new();
        for _ in 0..SESSIONS {
            let mut requester = self.database.requester(&self.workspace, &self.workspace, RequestAccess::OWN)?;
            requester.ask(&statement, &[Value::Int(1)])?;
            requesters.push(requester);
        }
        let clock = RealClock::new();
        let (start, cpu) = (clock.now(), cpu_seconds());
        let end = start.after(Duration::from_secs(seconds));
        let pause = Duration::from_secs_f64(f64::from(SESSIONS) / rate.max(1) as f64);
        let made: Outcome<Vec<u64>> = thread::scope(|scope| {
            let ask = |(mut requester, number): (Box<dyn plimsoll_engine::Requester>, u32)| {
                let (clock, statement) = (&clock, &statement);
                scope.spawn(move || -> Outcome<u64> {
                    let mut due = start.after(pause * number / SESSIONS);
                    let (mut made, mut key) = (0, u64::from(number) * 7919);
                    while clock.now() < end {
                        if rate > 0 {
                            clock.sleep_until(due);
                            due = due.after(pause);
                        }
                        key = (key + 61_211) % KEYS;
                        let answer = requester.ask(statement, &[Value::Int(key as i32 + 1)])?;
                        if answer.rows != 1 || answer.content_bytes < 200 {
                            return Err(format!("a select gave {answer:?}").into());
                        }
                        made += 1;
                    }
                    Ok(made)
                })
            };
            let threads: Vec<_> = requesters.into_iter().zip(0..).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a session panicked")?).collect()
        });
        let (made, cpu) = (made?.iter().sum::<u64>() as f64, cpu_seconds() - cpu);
        Ok((cpu * 1e6 / made, made / clock.now().since(start).as_secs_f64()))
    }

    /// Loads rows; gives CPU microseconds a row.
    fn load(&self, rows: u64) -> Outcome<f64> {
        let table = schema::family("rows", Width::Seeds);
        let mut session = self.session()?;
        session.execute("DROP TABLE IF EXISTS rows", &[])?;
        session.create_table(&table)?;
        let mut source = Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, rows);
        let cpu = cpu_seconds();
        let row_summary = session.load(&table, &mut source)?;
        assert_eq!(row_summary.rows, rows);
        Ok((cpu_seconds() - cpu) * 1e6 / rows as f64)
    }
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A PostgreSQL whose commits and checkpoints don't get in the way.
fn postgres() -> Outcome<(Postgres, Bed)> {
    let server = Postgres::builder().shared_buffers_mb(256).setting("max_wal_size", "4GB").start()?;
    let bed = Bed::open(&PostgresEngine, &server.tcp_url(server.superuser(), server.password(), "postgres"))?;
    Ok((server, bed))
}

/// Prints figures of pairs, of which the first does not count.
fn print(what: &str, bar: f64, pairs: &[(f64, f64)]) {
    let pairs = if pairs.len() > 1 { &pairs[1..] } else { pairs };
    let of = |each: fn(&(f64, f64)) -> f64| summary::median(&pairs.iter().map(each).collect::<Vec<_>>()).unwrap_or(0.0);
    println!(
        "{what}: SQL Server {:.2} us, PostgreSQL {:.2} us, median ratio of {} pairs {:.3} (bar {bar})",
        of(|pair| pair.0),
        of(|pair| pair.1),
        pairs.len(),
        of(|pair| pair.0 / pair.1),
    );
}

fn select(pairs: u64, seconds: u64, rate: u64) -> Outcome<()> {
    let served = Served::start(SCANNED)?;
    let ours = Bed::tds(&served)?;
    let (_server, theirs) = postgres()?;
    theirs.load(KEYS)?;
    theirs.session()?.settle_table(&schema::family("rows", Width::Seeds))?;
    let mut found = Vec::new();
    for pair in 0..=pairs {
        let (tds, postgres) = if pair.is_multiple_of(2) {
            let tds = ours.select(seconds, rate)?;
            (tds, theirs.select(seconds, rate)?)
        } else {
            let postgres = theirs.select(seconds, rate)?;
            (ours.select(seconds, rate)?, postgres)
        };
        println!("{:.2} us at {:.0}/s, {:.2} us at {:.0}/s", tds.0, tds.1, postgres.0, postgres.1);
        found.push((tds.0, postgres.0));
    }
    print("client CPU a point select", 2.0, &found);
    Ok(())
}

fn load(pairs: u64, rows: u64) -> Outcome<()> {
    let served = Served::start(SCANNED)?;
    let ours = Bed::tds(&served)?;
    let (_server, theirs) = postgres()?;
    let mut source = Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, rows);
    let (mut row, cpu) = (Row::default(), cpu_seconds());
    while source.next(&mut row)? {
        row.clear();
    }
    println!("making a row: {:.2} us, which both have in them", (cpu_seconds() - cpu) * 1e6 / rows as f64);
    let mut found = Vec::new();
    for pair in 0..=pairs {
        let (tds, postgres) = if pair.is_multiple_of(2) {
            let tds = ours.load(rows)?;
            (tds, theirs.load(rows)?)
        } else {
            let postgres = theirs.load(rows)?;
            (ours.load(rows)?, postgres)
        };
        println!("{tds:.2} us, {postgres:.2} us");
        found.push((tds, postgres));
    }
    print("client CPU a loaded row", 1.5, &found);
    Ok(())
}

/// Resident memory, and the most that it was since it was last asked to forget that.
fn resident() -> Outcome<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Ok((of("VmRSS").ok_or("no VmRSS")?, of("VmHWM").ok_or("no VmHWM")?))
}

fn memory(loaded: u64, scanned: u64) -> Outcome<()> {
    let served = Served::start(scanned)?;
    let bed = Bed::tds(&served)?;
    let table = schema::family("rows", Width::Seeds);
    // Forgets the highest mark.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let (before, _) = resident()?;
    bed.load(loaded)?;
    let (after, most) = resident()?;
    println!(
        "a bulk load of {loaded} rows: {:.1} MB before, {:.1} at most, {:.1} after (bar 64)",
        before as f64 / 1024.0,
        most as f64 / 1024.0,
        after as f64 / 1024.0
    );
    std::fs::write("/proc/self/clear_refs", "5")?;
    let types: Vec<ColumnType> = table.columns.iter().map(|column| column.kind).collect();
    let mut session = bed.session()?;
    let sql = session.dialect().read_all(&table);
    let (mut rows, cpu) = (0_u64, cpu_seconds());
    session.query(&sql, &[], &types, &mut |_| {
        rows += 1;
        Ok(())
    })?;
    assert_eq!(rows, scanned);
    let (_, most) = resident()?;
    println!(
        "a scan of {scanned} rows into the client: {:.1} MB at most (bar 64), {:.2} us a row",
        most as f64 / 1024.0,
        (cpu_seconds() - cpu) * 1e6 / scanned as f64
    );
    Ok(())
}
