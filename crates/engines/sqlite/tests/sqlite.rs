//! The SQLite driver against real files.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, in its helpers too")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    ClaimMode, Cold, ColumnType, Credentials, Database, Engine, Error, ErrorKind, Lease, Mark, Result, Row, RowSource,
    Session, Table, Target, Unfollowed, Value, Workspace, WorkspaceStatus,
};
use plimsoll_measurement::Counter;
use plimsoll_measurement::reading::growth;
use plimsoll_sqlite::Sqlite;
use tempfile::TempDir;

fn try_open(url: &str) -> Result<Box<dyn Database>> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    Sqlite.open(&Target::parse(url)?, &Credentials::default(), clock)
}

fn open(folder: &Path, query: &str) -> Box<dyn Database> {
    try_open(&format!("sqlite:{}/user.db{query}", folder.display())).unwrap()
}

fn run() -> Workspace {
    Workspace::run("0a1").unwrap()
}

/// A place of ours.
fn status(workspace: &Workspace, leased: bool) -> WorkspaceStatus {
    WorkspaceStatus { workspace: workspace.clone(), leased, not_ours: None }
}

fn claim(database: &dyn Database, mode: ClaimMode) -> Option<Box<dyn Lease>> {
    database.claim(&run(), mode).unwrap()
}

/// A target with a claimed place and a session in it.
struct Bench {
    session: Box<dyn Session>,
    lease: Box<dyn Lease>,
    database: Box<dyn Database>,
    folder: TempDir,
}

impl Bench {
    fn new(query: &str) -> Self {
        Self::within(tempfile::tempdir().unwrap(), query)
    }

    fn within(folder: TempDir, query: &str) -> Self {
        let database = open(folder.path(), query);
        let lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
        let session = database.session(&run(), &run()).unwrap();
        Self { session, lease, database, folder }
    }
}

fn family(name: &str) -> Table {
    use ColumnType::{BigInt, Bit, DateTime, Float, Int, Money, SmallInt, Text, TinyInt};
    let columns = [
        ("RowId", Int),
        ("Bit1", Bit),
        ("TinyInt1", TinyInt),
        ("SmallInt1", SmallInt),
        ("BigInt1", BigInt),
        ("Int3", Int),
        ("Float1", Float),
        ("Money2", Money),
        ("DateTime1", DateTime),
        ("Text1", Text(300)),
    ];
    Table::new(name, &columns)
}

/// Rows of the family, all values derived from the key.
struct Rows {
    next: i32,
    last: i32,
}

impl RowSource for Rows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        let key = self.next;
        self.next += 1;
        let wide = i64::from(key) * 1_000_003;
        row.push(Value::Int(key));
        row.push(Value::Bit(key % 3 == 0));
        row.push(Value::TinyInt((key % 256) as u8));
        row.push(Value::SmallInt((wide % 30_000) as i16));
        row.push(Value::BigInt(-wide));
        row.push(Value::Int((wide % 2_000_000_000) as i32));
        row.push(Value::Float(wide as f64 / 7.0));
        row.push(Value::Money(wide % 1_000_000));
        row.push(Value::DateTime(1_700_000_000_000 + wide));
        row.push_text(|text| text.extend(std::iter::repeat_n('x', 200 + (key % 90) as usize)));
        Ok(true)
    }
}

fn rows(last: i32) -> Rows {
    Rows { next: 1, last }
}

fn read_all(session: &mut dyn Session, table: &Table) -> RowSummary {
    let mut row_summary = RowSummary::default();
    let sql = session.dialect().read_rows(table);
    let range = [Value::BigInt(0), Value::BigInt(i64::MAX)];
    session
        .query(&sql, &range, &table.types(), &mut |row| {
            row_summary.add(row);
            Ok(())
        })
        .unwrap();
    row_summary
}

fn count(session: &mut dyn Session, table: &Table) -> u64 {
    session.query_count(&format!("SELECT count(*) FROM {}", table.name), &[]).unwrap()
}

#[test]
fn a_target_says_who_it_is_and_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), "?cache_size=-640&page_size=8192&synchronous=off");
    let description = database.description();
    assert_eq!((description.engine.as_str(), description.page_bytes), ("sqlite", 8192));
    assert!(description.version.starts_with("3.") && description.local && description.cpus.unwrap() > 0);
    let setting = |name: &str| description.settings[name].as_str();
    assert_eq!((setting("cache_size"), setting("journal_mode"), setting("synchronous")), ("-640", "wal", "off"));
    assert_eq!((setting("mmap_size"), setting("wal_autocheckpoint"), setting("threadsafe")), ("0", "1000", "1"));
    assert!(description.warnings.iter().any(|warning| warning.starts_with("synchronous=off")));
    assert_eq!(description.fingerprint, open(folder.path(), "").description().fingerprint);
    assert!(database.free_bytes().unwrap() > 0 && database.process_sampler().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_can_not_be_a_target_is_refused_by_class() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "remember the milk").unwrap();
    let kind = |url: &str| try_open(&url.replace("DIR", folder.path().to_str().unwrap())).err().unwrap().kind;
    assert_eq!(kind("sqlite:DIR/notes.txt"), ErrorKind::Usage);
    assert_eq!(kind("sqlite:DIR"), ErrorKind::Usage);
    assert_eq!(kind("sqlite:DIR/none/file.db"), ErrorKind::Missing);
    assert_eq!(kind("sqlite:DIR/file.db?page_size=100"), ErrorKind::Usage);
}

#[test]
fn types_come_back_as_they_went() {
    let mut bench = Bench::new("");
    let session = bench.session.as_mut();
    let columns: Vec<String> = (0..9).map(|number| format!("c{number}")).collect();
    session.execute(&format!("CREATE TABLE n ({})", columns.join(", ")), &[]).unwrap();
    let table = Table::new("f", &[("RowId", ColumnType::Int), ("Float", ColumnType::Float)]);
    session.create_table(&table).unwrap();

    let types = [
        ColumnType::Bit,
        ColumnType::TinyInt,
        ColumnType::SmallInt,
        ColumnType::Int,
        ColumnType::BigInt,
        ColumnType::Money,
        ColumnType::DateTime,
        ColumnType::Float,
        ColumnType::Text(9),
    ];
    let low = [
        Value::Bit(false),
        Value::TinyInt(0),
        Value::SmallInt(i16::MIN),
        Value::Int(i32::MIN),
        Value::BigInt(i64::MIN),
        Value::Money(i64::MIN),
        Value::DateTime(i64::MIN),
        Value::Float(f64::MIN),
        Value::Text(""),
    ];
    let high = [
        Value::Bit(true),
        Value::TinyInt(255),
        Value::SmallInt(i16::MAX),
        Value::Int(i32::MAX),
        Value::BigInt(i64::MAX),
        Value::Money(i64::MAX),
        Value::DateTime(i64::MAX),
        Value::Float(f64::INFINITY),
        Value::Text("~ '\"!"),
    ];
    let insert = "INSERT INTO n VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    for values in [low, high, [Value::Null; 9]] {
        assert_eq!(session.execute(insert, &values).unwrap(), 1);
        let (mut seen, mut back) = (0, Vec::new());
        session
            .query("SELECT * FROM n", &[], &types, &mut |row| {
                seen += 1;
                back = row.values().map(|value| format!("{value:?}")).collect();
                Ok(())
            })
            .unwrap();
        let expected: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        assert_eq!((seen, back), (1, expected));
        assert_eq!(session.execute("DELETE FROM n", &[]).unwrap(), 1);
    }

    let floats =
        [0.0, 0.1, 1.0 / 3.0, -1.5, 5e-324, f64::MIN_POSITIVE, f64::MAX, 9_007_199_254_740_993.0, f64::NEG_INFINITY];
    for (key, float) in floats.into_iter().enumerate() {
        session.execute("INSERT INTO f VALUES (?1, ?2)", &[Value::Int(key as i32), Value::Float(float)]).unwrap();
    }
    let mut bits = Vec::new();
    let sql = session.dialect().read_rows(&table);
    session
        .query(&sql, &[Value::Int(0), Value::Int(99)], &table.types(), &mut |row| {
            let Value::Float(float) = row.get(1) else { panic!("no float: {:?}", row.get(1)) };
            bits.push(float.to_bits());
            Ok(())
        })
        .unwrap();
    assert_eq!(bits, floats.map(f64::to_bits));
    let nan = session.execute("INSERT INTO f VALUES (100, ?1)", &[Value::Float(f64::NAN)]).unwrap_err();
    assert_eq!(nan.kind, ErrorKind::Unsupported);
}

#[test]
fn a_load_brings_the_rows_and_their_checksum_in_every_mode() {
    for query in
        ["", "?journal_mode=delete", "?journal_mode=off", "?journal_mode=memory&page_size=512", "?mmap_size=1048576"]
    {
        let mut bench = Bench::new(query);
        let session = bench.session.as_mut();
        let table = family("t");
        session.create_table(&table).unwrap();
        let row_summary = session.load(&table, &mut rows(5_000)).unwrap();
        assert_eq!(row_summary.rows, 5_000);
        session.settle_table(&table).unwrap();
        assert_eq!(read_all(session, &table), row_summary, "{query}");
        let copy = table.named("copy");
        session.create_table(&copy).unwrap();
        let sql = session.dialect().copy_chunk(&copy, "t", 5_000, 2, 1);
        assert_eq!(session.execute(&sql, &[]).unwrap(), 10_000);
        assert_eq!(count(session, &copy), 10_000);
        let scanned = session.query_count(&session.dialect().scan("t", false), &[]).unwrap();
        assert!((1..5_000).contains(&scanned), "{scanned}");
    }
}

#[test]
fn a_load_that_fails_leaves_nothing() {
    struct Failing(Rows);
    impl RowSource for Failing {
        fn next(&mut self, row: &mut Row) -> Result<bool> {
            if self.0.next == 3_000 { Err(Error::new(ErrorKind::Safety, "enough")) } else { self.0.next(row) }
        }
    }
    struct Short;
    impl RowSource for Short {
        fn next(&mut self, row: &mut Row) -> Result<bool> {
            row.push(Value::Int(1));
            Ok(true)
        }
    }
    let mut bench = Bench::new("");
    let session = bench.session.as_mut();
    let (table, other) = (family("t"), family("other"));
    for each in [&table, &other] {
        session.create_table(each).unwrap();
    }
    let row_summary = session.load(&other, &mut rows(2_000)).unwrap();
    let error = session.load(&table, &mut Failing(rows(9_000))).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Safety, "enough"));
    assert_eq!(count(session, &table), 0);
    let doubled = session.load(&other, &mut Rows { next: 2_000, last: 2_010 }).unwrap_err();
    assert_eq!(doubled.kind, ErrorKind::Statement);
    assert_eq!(read_all(session, &other), row_summary);
    let short = session.load(&table, &mut Short).unwrap_err();
    assert_eq!(short.kind, ErrorKind::Internal);
}

#[test]
fn the_source_of_a_chunk_is_in_memory() {
    let mut bench = Bench::new("?cache_size=10");
    let session = bench.session.as_mut();
    let source = family(&session.dialect().source_table("source"));
    session.create_table(&source).unwrap();
    let row_summary = session.load(&source, &mut rows(5_000)).unwrap();
    session.settle_table(&source).unwrap();
    let target = family("chunks");
    session.create_table(&target).unwrap();
    let before = session.sample().unwrap();
    assert_eq!(read_all(session, &source), row_summary);
    let after = session.sample().unwrap();
    assert_eq!(growth(Counter::CacheMissPages, &before, &after), Some(0.0));
    assert!(session.table_size(&source).unwrap().unwrap().table_bytes > row_summary.content_bytes);

    let sql = session.dialect().copy_chunk(&target, &source.name, 5_000, 3, 1);
    session.execute(&sql, &[]).unwrap();
    let written = growth(Counter::LogWriteBytes, &after, &session.sample().unwrap()).unwrap();
    let size = session.table_size(&target).unwrap().unwrap().table_bytes as f64;
    assert!(written >= size && written < 1.2 * size, "{written} bytes of log for {size} bytes of table");
}

#[test]
fn a_session_finds_no_statement_that_is_wrong() {
    let mut bench = Bench::new("");
    let session = bench.session.as_mut();
    for (sql, parameters) in [("SELEC 1", &[][..]), ("DELETE FROM nowhere", &[]), ("SELECT ?1", &[])] {
        let error = session.execute(sql, parameters).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "{sql}");
        assert!(!error.message.ends_with('.'));
    }
    assert!(session.query_count("SELECT 1, 2", &[]).is_err() && session.query_count("SELECT 'a'", &[]).is_err());
    assert!(session.table_size(&family("nowhere")).unwrap_err().message.contains("nowhere"));
    assert_eq!(session.query_count("SELECT ?1 + 1", &[Value::BigInt(41)]).unwrap(), 42);
}

#[test]
fn leases_exclude_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path(), ""), open(folder.path(), ""));
    assert!(claim(one.as_ref(), ClaimMode::Shared).is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let mut first = claim(one.as_ref(), ClaimMode::Exclusive).unwrap();
    assert!(claim(two.as_ref(), ClaimMode::Exclusive).is_none());
    assert!(claim(two.as_ref(), ClaimMode::Shared).is_none());
    assert!(!two.remove(&run()).unwrap());
    first.renew().unwrap();
    first.share().unwrap();
    let second = claim(two.as_ref(), ClaimMode::Shared).unwrap();
    assert!(claim(two.as_ref(), ClaimMode::Exclusive).is_none() && !two.remove(&run()).unwrap());
    assert_eq!(two.workspaces().unwrap(), [status(&run(), true)]);
    drop(first);
    assert!(claim(one.as_ref(), ClaimMode::Exclusive).is_none());
    drop(second);
    assert_eq!(one.workspaces().unwrap(), [status(&run(), false)]);
    drop(claim(one.as_ref(), ClaimMode::Exclusive).unwrap());
    assert_eq!(one.end_orphans().unwrap(), 0);
    assert!(two.remove(&run()).unwrap() && two.remove(&run()).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_place_keeps_its_tables_and_another_page_size_is_noticed() {
    let Bench { mut session, lease, database, folder } = Bench::new("");
    session.create_table(&family("t")).unwrap();
    let row_summary = session.load(&family("t"), &mut rows(100)).unwrap();
    drop((session, lease, database));
    let database = open(folder.path(), "?journal_mode=truncate");
    let _lease = claim(database.as_ref(), ClaimMode::Shared).unwrap();
    let mut session = database.session(&run(), &run()).unwrap();
    assert_eq!(read_all(session.as_mut(), &family("t")), row_summary);
    let error = open(folder.path(), "?page_size=1024").session(&run(), &run()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert_eq!(database.session(&Workspace::data(7), &run()).err().unwrap().kind, ErrorKind::Missing);
}

#[test]
fn what_is_not_ours_is_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), "");
    let file = folder.path().join("user.db.plimsoll_run_0a1.db");
    let lock = folder.path().join("user.db.plimsoll_run_0a1.lock");
    let foreign = |content: &str| {
        fs::write(&file, content).unwrap();
        assert_eq!(database.remove(&run()).unwrap_err().kind, ErrorKind::Safety);
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    };
    foreign("the only copy of a novel");
    assert!(!lock.exists());
    foreign("");
    assert_eq!(database.claim(&run(), ClaimMode::Exclusive).err().unwrap().kind, ErrorKind::Safety);
    assert!(!lock.exists() && fs::read(&file).unwrap().is_empty());
    assert_eq!(database.session(&run(), &run()).err().unwrap().kind, ErrorKind::Missing);

    fs::remove_file(&file).unwrap();
    let theirs = rusqlite::Connection::open(&file).unwrap();
    theirs.execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)").unwrap();
    drop(theirs);
    let content = fs::read(&file).unwrap();
    assert_eq!(database.remove(&run()).unwrap_err().kind, ErrorKind::Safety);
    assert_eq!(database.session(&run(), &run()).err().unwrap().kind, ErrorKind::Safety);
    for mode in [ClaimMode::Exclusive, ClaimMode::Shared] {
        assert_eq!(database.claim(&run(), mode).err().unwrap().kind, ErrorKind::Safety);
    }
    assert_eq!(fs::read(&file).unwrap(), content);
}

#[test]
fn a_statement_is_cancelled_from_another_thread() {
    let mut bench = Bench::new("");
    let canceller = bench.session.canceller();
    canceller.cancel();
    let (started, wait) = mpsc::channel();
    let other = std::thread::spawn(move || {
        wait.recv().unwrap();
        canceller.cancel();
        canceller.cancel();
    });
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";
    let query = bench.session.query(endless, &[], &[ColumnType::BigInt], &mut |row| {
        if row.get(0) == Value::BigInt(1) {
            started.send(()).unwrap();
        }
        Ok(())
    });
    assert_eq!(query.unwrap_err().kind, ErrorKind::Cancelled);
    other.join().unwrap();
    assert_eq!(bench.session.query_count("SELECT 1", &[]).unwrap(), 1);
}

#[test]
fn a_load_is_cancelled_between_two_rows() {
    struct Cancelling(Rows, Arc<dyn plimsoll_engine::Cancel>);
    impl RowSource for Cancelling {
        fn next(&mut self, row: &mut Row) -> Result<bool> {
            if self.0.next == 1_000 {
                self.1.cancel();
            }
            self.0.next(row)
        }
    }
    let mut bench = Bench::new("");
    let table = family("t");
    bench.session.create_table(&table).unwrap();
    let canceller = bench.session.canceller();
    let error = bench.session.load(&table, &mut Cancelling(rows(5_000), canceller)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert_eq!(count(bench.session.as_mut(), &table), 0);
    assert_eq!(bench.session.load(&table, &mut rows(50)).unwrap().rows, 50);
}

#[test]
fn a_size_is_that_of_the_tree_and_costs_no_scan() {
    for query in ["", "?page_size=512", "?page_size=65536", "?journal_mode=delete"] {
        let mut bench = Bench::new(query);
        let session = bench.session.as_mut();
        let table = family("t");
        session.create_table(&table).unwrap();
        let page_bytes = bench.database.description().page_bytes;
        assert_eq!(session.table_size(&table).unwrap().unwrap().table_bytes, page_bytes);
        session.load(&table, &mut rows(20_000)).unwrap();
        let before = session.sample().unwrap();
        let size = session.table_size(&table).unwrap().unwrap();
        let after = session.sample().unwrap();
        assert!(growth(Counter::CacheMissPages, &before, &after).unwrap() <= 2.0);
        let by_reading = "SELECT pgsize FROM dbstat WHERE name = 't' AND aggregate = TRUE";
        assert_eq!(size.table_bytes, session.query_count(by_reading, &[]).unwrap(), "{query}");
        assert_eq!(size.index_bytes, 0);
        session.execute("DELETE FROM t WHERE RowId > 100", &[]).unwrap();
        assert!(session.table_size(&table).unwrap().unwrap().table_bytes < size.table_bytes / 10);
    }
}

/// Scans a table that was made cold and gives misses and device bytes in percent of the table.
fn scan_cold(bench: Bench) -> (f64, Option<f64>) {
    let Bench { mut session, lease: _lease, database, folder: _folder } = bench;
    let table = family("t");
    session.create_table(&table).unwrap();
    session.load(&table, &mut rows(100_000)).unwrap();
    session.settle_table(&table).unwrap();
    assert!(session.checkpoint().unwrap());
    drop(session);
    let methods =
        database.make_cold(&run(), &run(), std::slice::from_ref(&table), &Cold::default(), &mut Unfollowed).unwrap();
    assert_eq!(methods, ["reopen", "drop-os-cache"]);
    let mut session = database.session(&run(), &run()).unwrap();
    let size = session.table_size(&table).unwrap().unwrap().table_bytes as f64;
    let before = session.sample().unwrap();
    let counted = session.query_count(&session.dialect().scan("t", false), &[]).unwrap();
    assert!(counted > 0);
    let after = session.sample().unwrap();
    let percent = |bytes: f64| 100.0 * bytes / size;
    let page_bytes = database.description().page_bytes as f64;
    let misses = percent(growth(Counter::CacheMissPages, &before, &after).unwrap() * page_bytes);
    assert!(session.table_misses(&table).unwrap().is_none());
    (misses, growth(Counter::DeviceReadBytes, &before, &after).map(percent))
}

#[test]
fn a_cold_scan_misses_every_page_and_reads_it_from_the_device() {
    // The build folder is on a disk even where the folder for temporary files is in memory.
    let bench = Bench::within(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), "");
    let in_memory = bench.database.description().warnings.iter().any(|warning| warning.contains("in memory"));
    let (misses, device) = scan_cold(bench);
    assert!((98.0..102.0).contains(&misses), "misses {misses} %");
    match device {
        Some(percent) if !in_memory => assert!(percent >= 98.0, "device {percent} %"),
        _ => say("device bytes not checked: the build folder is in memory or the system does not count"),
    }
}

#[test]
fn there_is_no_server_to_restart() {
    let Bench { session, lease: _lease, database, folder: _folder } = Bench::new("");
    drop(session);
    let cold = Cold { restart_command: Some("true".to_owned()), shared: false };
    assert_eq!(database.make_cold(&run(), &run(), &[], &cold, &mut Unfollowed).unwrap_err().kind, ErrorKind::Usage);
}

/// Writes past the harness, which would hold a test's words back unless it fails.
fn say(text: &str) {
    let mut out = std::io::stderr();
    writeln!(out, "{text}").unwrap();
}

const CHILD_FOLDER: &str = "PLIMSOLL_TEST_CHILD_FOLDER";
const READY: &str = "the child is ready";

/// Starts one of the tests below in a process of its own and waits until it is ready.
fn child(test: &str, folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", test])
        .env(CHILD_FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(std::result::Result::ok).any(|line| line.ends_with(READY)), "the child ended early");
    child
}

/// Tells the parent, and stays until it is killed.
fn ready_to_die() {
    let mut out = std::io::stdout();
    writeln!(out, "{READY}").unwrap();
    out.flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "the process that is killed by the test below"]
fn child_holds_a_lease() {
    let folder = std::env::var_os(CHILD_FOLDER).unwrap();
    let database = open(Path::new(&folder), "");
    let _lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
    ready_to_die();
}

#[test]
fn a_lease_falls_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let child = child("child_holds_a_lease", folder.path());
    let database = open(folder.path(), "");
    assert!(claim(database.as_ref(), ClaimMode::Exclusive).is_none() && !database.remove(&run()).unwrap());
    kill(child);
    drop(claim(database.as_ref(), ClaimMode::Exclusive).unwrap());
    assert!(database.remove(&run()).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "the process that is killed by the test below"]
fn child_dies_in_a_load() {
    struct Stopping(Rows);
    impl RowSource for Stopping {
        fn next(&mut self, row: &mut Row) -> Result<bool> {
            if self.0.next == 40_000 {
                ready_to_die();
            }
            self.0.next(row)
        }
    }
    let folder = std::env::var_os(CHILD_FOLDER).unwrap();
    let mode = fs::read_to_string(Path::new(&folder).join("mode")).unwrap();
    let database = open(Path::new(&folder), &format!("?journal_mode={mode}"));
    let _lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
    let mut session = database.session(&run(), &run()).unwrap();
    for name in ["before", "t"] {
        session.create_table(&family(name)).unwrap();
    }
    session.load(&family("before"), &mut rows(1_000)).unwrap();
    session.load(&family("t"), &mut Stopping(rows(80_000))).unwrap();
}

#[test]
fn a_killed_load_leaves_the_earlier_tables() {
    for mode in ["wal", "delete", "memory", "off"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mode"), mode).unwrap();
        kill(child("child_dies_in_a_load", folder.path()));
        let database = open(folder.path(), &format!("?journal_mode={mode}"));
        let _lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
        let mut session = database.session(&run(), &run()).unwrap();
        assert_eq!(read_all(session.as_mut(), &family("before")).rows, 1_000, "{mode}");
        assert_eq!(count(session.as_mut(), &family("t")), 0, "{mode}");
        let types = [ColumnType::Text(2)];
        let mut verdict = String::new();
        session
            .query("PRAGMA integrity_check", &[], &types, &mut |row| {
                verdict = format!("{:?}", row.get(0));
                Ok(())
            })
            .unwrap();
        assert_eq!(verdict, "Text(\"ok\")", "{mode}");
    }
}

/// A file system of its own, unmounted at the end.
struct Disk(TempDir);

impl Disk {
    fn mount(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_folder_that_is_not_writable_is_refused() {
    let Some(disk) = Disk::mount("ro") else {
        say("the read-only folder not checked: mounting one needs root");
        return;
    };
    let error = try_open(&format!("sqlite:{}/file.db", disk.0.path().display())).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Permission);
}

fn is_full_with_a_next_step(error: &Error) {
    assert_eq!(error.kind, ErrorKind::DiskFull, "{error}");
    assert!(error.hint.as_ref().is_some_and(|hint| hint.starts_with("free space")), "{error:?}");
}

/// The disk fills up in a load, in a copy from memory as the write tests make it, and in one from a table.
#[test]
fn a_disk_that_fills_up_has_its_own_class_and_a_next_step() {
    for mode in ["wal", "delete", "truncate", "off"] {
        let Some(disk) = Disk::mount("size=8m") else {
            say("the full disk not checked: mounting one needs root");
            return;
        };
        let database = open(disk.0.path(), &format!("?journal_mode={mode}"));
        let lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
        let mut session = database.session(&run(), &run()).unwrap();
        let (table, copy) = (family("t"), family("copy"));
        let source = family(&session.dialect().source_table("source"));
        for each in [&table, &copy, &source] {
            session.create_table(each).unwrap();
        }
        session.load(&source, &mut rows(5_000)).unwrap();
        is_full_with_a_next_step(&session.load(&table, &mut rows(100_000)).unwrap_err());
        let sql = session.dialect().copy_chunk(&copy, &source.name, 5_000, 20, 1);
        is_full_with_a_next_step(&session.execute(&sql, &[]).unwrap_err());
        drop(session);
        drop(lease);
        assert!(database.remove(&run()).unwrap(), "{mode}");
    }
}

#[test]
#[ignore = "the process of another user that the test below starts"]
fn child_is_another_user() {
    let folder = std::env::var_os(CHILD_FOLDER).unwrap();
    let database = open(Path::new(&folder), "");
    let (kept, other) = (Workspace::data(7), Workspace::run("0b2").unwrap());
    let found = database.workspaces().unwrap();
    assert_eq!(found.iter().map(|status| &status.workspace).collect::<Vec<_>>(), [&kept, &run(), &other]);
    for status in &found[..2] {
        let reason = status.not_ours.as_ref().unwrap();
        assert!(!status.is_left() && reason.kind == ErrorKind::Permission && reason.hint.is_some(), "{status:?}");
    }
    assert_eq!(found[2], status(&other, false));
    for mode in [ClaimMode::Exclusive, ClaimMode::Shared] {
        assert!(database.claim(&kept, mode).unwrap().is_none());
    }
    let error = database.remove(&run()).unwrap_err();
    assert!(error.kind == ErrorKind::Permission && error.hint.is_some(), "{error:?}");
    assert!(database.remove(&other).unwrap());
}

/// The lock of another user can't be opened: its place stays, with the reason, and the others are listed and removed.
#[test]
fn a_place_of_another_user_stops_nothing() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let lock = |workspace: &Workspace, mode| {
        let path = folder.path().join(format!("user.db.{workspace}.lock"));
        fs::write(&path, Mark::new(&format!("user.db.{workspace}")).to_string()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    fs::write(folder.path().join(format!("user.db.{}.db", Workspace::data(7))), "").unwrap();
    let theirs = [lock(&run(), 0o0), lock(&Workspace::data(7), 0o0)];
    let other = lock(&Workspace::run("0b2").unwrap(), 0o666);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "child_is_another_user"]).env(CHILD_FOLDER, folder.path());
    // Nothing is forbidden to root, so root starts the child as somebody else.
    if fs::read(&theirs[0]).is_ok() {
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            assert!(theirs.iter().all(|lock| lock.exists()) && !other.exists());
        }
        Err(error) => say(&format!("the place of another user not checked: {error}")),
    }
}

#[test]
fn a_full_disk_has_its_own_class() {
    let Some(disk) = Disk::mount("size=8m") else {
        say("the full disk not checked: mounting one needs root");
        return;
    };
    let database = open(disk.0.path(), "");
    assert!(database.description().warnings.iter().any(|warning| warning.contains("in memory")));
    let lease = claim(database.as_ref(), ClaimMode::Exclusive).unwrap();
    let mut session = database.session(&run(), &run()).unwrap();
    let table = family("t");
    session.create_table(&table).unwrap();
    let row_summary = session.load(&table, &mut rows(2_000)).unwrap();
    let full = session.load(&table, &mut Rows { next: 2_001, last: 100_000 }).unwrap_err();
    assert_eq!(full.kind, ErrorKind::DiskFull, "{full}");
    let full = session.execute("CREATE TABLE copy AS SELECT a.* FROM t a, t b", &[]).unwrap_err();
    assert_eq!(full.kind, ErrorKind::DiskFull, "{full}");
    assert_eq!(read_all(session.as_mut(), &table), row_summary);
    drop((session, lease));
    assert!(database.remove(&run()).unwrap());
}

/// A test makes its tables anew in each repetition, of which it knows the names alone.
#[test]
fn a_table_that_is_made_anew_is_ours_and_nothing_of_others_is_on_it() {
    let Bench { mut session, lease: _lease, database: _database, folder: _folder } = Bench::new("");
    let table = family("dense");
    for (put, take) in [
        ("CREATE TABLE Dense (theirs int)", "DROP TABLE dense"),
        ("CREATE TRIGGER theirs BEFORE DELETE ON dense BEGIN SELECT 1; END", "DROP TRIGGER theirs"),
    ] {
        if put.contains("TRIGGER") {
            session.create_table(&table).unwrap();
        }
        session.execute(put, &[]).unwrap();
        let error = session.drop_table(&table).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Safety, "{put}: {error:?}");
        session.execute(take, &[]).unwrap();
        session.drop_table(&table).unwrap();
    }
}
