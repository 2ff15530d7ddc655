//! The PostgreSQL driver against servers of our own.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Cancel, ClaimMode, Cold, ColdFollower, ColumnType, Credentials, Database, Engine as _, Error, ErrorKind, Lease,
    Mark, Result, Row, RowSource, Secret, Session, Table, Target, Unfollowed, Value, WeakIsolation, Workspace,
};
use plimsoll_measurement::{Counter, Reading};
use plimsoll_postgres::Postgres as Engine;
use plimsoll_testbed::Postgres;

/// A password that must be found nowhere.
const PLANTED: &str = "pl4nted-s3cret";

/// One server for all tests that leave it running; each test has places of its own.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::builder().shared_buffers_mb(64).start().unwrap())
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(RealClock::new())
}

fn try_open(url: &str, password: Option<&str>) -> Result<Box<dyn Database>> {
    let credentials = Credentials { password: password.map(Secret::new), ..Credentials::default() };
    Engine.open(&Target::parse(url)?, &credentials, clock())
}

fn open(server: &Postgres) -> Box<dyn Database> {
    try_open(&server.socket_url("postgres"), None).unwrap()
}

fn fails(url: &str, password: Option<&str>) -> Error {
    let error = try_open(url, password).err().unwrap();
    assert!(!format!("{error:?}").contains(PLANTED), "{error:?}");
    error
}

fn workspace(name: &str) -> Workspace {
    Workspace::run(name).unwrap()
}

/// A database of its own, for tests that end or count what others have in theirs.
fn separate(name: &str) -> Box<dyn Database> {
    server().psql(&format!("CREATE DATABASE {name}")).unwrap();
    try_open(&server().socket_url(name), None).unwrap()
}

/// A claimed place and a session in it.
fn session(database: &dyn Database, name: &str) -> (Box<dyn Lease>, Box<dyn Session>) {
    let workspace = workspace(name);
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    (lease, database.session(&workspace, &workspace).unwrap())
}

/// Rows of a list, then perhaps an error.
struct List<'a> {
    rows: std::slice::Iter<'a, Vec<Value<'a>>>,
    end: Option<Error>,
}

impl<'a> List<'a> {
    fn new(rows: &'a [Vec<Value<'a>>]) -> Self {
        Self { rows: rows.iter(), end: None }
    }
}

impl RowSource for List<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        match (self.rows.next(), self.end.take()) {
            (Some(values), end) => {
                self.end = end;
                for value in values {
                    row.push(*value);
                }
                Ok(true)
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(false),
        }
    }
}

/// Rows with dense keys and a text that makes them 200 bytes long or so.
struct Dense {
    next: i32,
    last: i32,
}

impl RowSource for Dense {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        row.push(Value::Int(self.next));
        row.push(Value::Money(i64::from(self.next) * 10_007 - 5));
        row.push_text(|text| {
            for part in 0..12 {
                let _ = write!(text, "{:014}", i64::from(self.next) * (part + 7919));
            }
        });
        self.next += 1;
        Ok(true)
    }
}

fn dense() -> Table {
    let columns = [("RowId", ColumnType::Int), ("Money1", ColumnType::Money), ("Text1", ColumnType::Text(200))];
    Table::new("dense", &columns)
}

fn read_back(session: &mut dyn Session, sql: &str, parameters: &[Value<'_>], types: &[ColumnType]) -> RowSummary {
    let mut row_summary = RowSummary::default();
    let mut each = |row: &mut Row| {
        row_summary.add(row);
        Ok(())
    };
    session.query(sql, parameters, types, &mut each).unwrap();
    row_summary
}

fn extremes() -> (Table, Vec<Vec<Value<'static>>>) {
    let columns = [
        ("RowId", ColumnType::Int),
        ("Bit1", ColumnType::Bit),
        ("TinyInt1", ColumnType::TinyInt),
        ("SmallInt1", ColumnType::SmallInt),
        ("BigInt1", ColumnType::BigInt),
        ("Float1", ColumnType::Float),
        ("Money1", ColumnType::Money),
        ("DateTime1", ColumnType::DateTime),
        ("Text1", ColumnType::Text(20)),
    ];
    let rows = vec![
        vec![
            Value::Int(i32::MIN),
            Value::Bit(false),
            Value::TinyInt(0),
            Value::SmallInt(i16::MIN),
            Value::BigInt(i64::MIN),
            Value::Float(-0.0),
            Value::Money(i64::MIN),
            Value::DateTime(-86_400_001),
            Value::Text(""),
        ],
        vec![
            Value::Int(i32::MAX),
            Value::Bit(true),
            Value::TinyInt(255),
            Value::SmallInt(i16::MAX),
            Value::BigInt(i64::MAX),
            Value::Float(f64::from_bits(0x7ff8_0000_0000_0001)),
            Value::Money(i64::MAX),
            Value::DateTime(946_684_799_999),
            Value::Text("~ 20 characters 'q\\~"),
        ],
        vec![
            Value::Int(0),
            Value::Bit(true),
            Value::TinyInt(128),
            Value::SmallInt(-1),
            Value::BigInt(0),
            Value::Float(f64::from_bits(1)),
            Value::Money(-1),
            Value::DateTime(-2_208_988_800_000),
            Value::Text("x"),
        ],
        vec![
            Value::Int(7),
            Value::Bit(false),
            Value::TinyInt(9),
            Value::SmallInt(9),
            Value::BigInt(9),
            Value::Float(f64::NEG_INFINITY),
            Value::Money(0),
            Value::DateTime(4_102_444_800_123),
            Value::Text("9"),
        ],
    ];
    (Table::new("extremes", &columns), rows)
}

#[test]
fn every_value_comes_back_as_it_went() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "types");
    let (table, rows) = extremes();
    session.create_table(&table).unwrap();
    let row_summary = session.load(&table, &mut List::new(&rows)).unwrap();
    assert_eq!(row_summary.rows, 4);
    let bounds = [Value::BigInt(i64::from(i32::MIN)), Value::Int(i32::MAX)];
    let sql = session.dialect().read_rows(&table);
    assert_eq!(read_back(&mut *session, &sql, &bounds, &table.types()), row_summary);

    // The same by parameters.
    session.execute("DELETE FROM extremes", &[]).unwrap();
    let placeholders: Vec<String> = (1..=table.columns.len()).map(|n| session.dialect().placeholder(n)).collect();
    let insert = format!("INSERT INTO extremes VALUES ({})", placeholders.join(", "));
    for row in &rows {
        assert_eq!(session.execute(&insert, row).unwrap(), 1);
    }
    assert_eq!(read_back(&mut *session, &sql, &bounds, &table.types()), row_summary);
    // The server means the same by them.
    let sql = "SELECT money1::text, datetime1::text FROM extremes WHERE rowid = 0";
    let mut seen = Vec::new();
    let mut each = |row: &mut Row| {
        seen.extend(row.values().map(|value| format!("{value:?}")));
        Ok(())
    };
    session.query(sql, &[], &[ColumnType::Text(50); 2], &mut each).unwrap();
    assert_eq!(seen, ["Text(\"-0.0001\")", "Text(\"1900-01-01 00:00:00\")"]);
}

#[test]
fn null_is_carried_in_every_type() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "null");
    let (mut table, _) = extremes();
    table.columns.remove(0);
    let columns: Vec<String> =
        table.columns.iter().map(|c| format!("{} {}", c.name, session.dialect().type_name(c.kind))).collect();
    session.execute(&format!("CREATE TABLE extremes ({})", columns.join(", ")), &[]).unwrap();
    let nulls = vec![vec![Value::Null; table.columns.len()]];
    let row_summary = session.load(&table, &mut List::new(&nulls)).unwrap();
    assert_eq!((row_summary.rows, row_summary.content_bytes), (1, 0));
    assert_eq!(read_back(&mut *session, "SELECT * FROM extremes", &[], &table.types()), row_summary);
    let sql = "SELECT count(*) FROM extremes WHERE $1::int IS NULL";
    assert_eq!(session.query_count(sql, &[Value::Null]).unwrap(), 1);
}

#[test]
fn a_load_is_whole_or_leaves_nothing() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "load");
    let table = dense();
    session.create_table(&table).unwrap();
    let row_summary = session.load(&table, &mut Dense { next: 1, last: 50_000 }).unwrap();
    session.settle_table(&table).unwrap();
    assert!(session.checkpoint().unwrap());
    let sql = session.dialect().read_rows(&table);
    assert_eq!(read_back(&mut *session, &sql, &[Value::Int(1), Value::Int(50_000)], &table.types()), row_summary);
    let size = session.table_size(&table).unwrap().unwrap();
    assert!(
        size.table_bytes > row_summary.content_bytes && size.index_bytes > 0 && size.index_bytes < size.table_bytes
    );

    // The source fails.
    let row = vec![vec![Value::Int(60_000), Value::Money(0), Value::Text("x")]];
    let mut source = List::new(&row);
    source.end = Some(Error::new(ErrorKind::Internal, "planned"));
    assert_eq!(session.load(&table, &mut source).unwrap_err().message, "planned");
    // The server fails: the key is taken.
    let mut source = Dense { next: 50_000, last: 90_000 };
    let error = session.load(&table, &mut source).unwrap_err();
    assert!(error.kind == ErrorKind::Statement && error.message.contains("duplicate"), "{error:?}");
    assert_eq!(session.query_count("SELECT count(*) FROM dense", &[]).unwrap(), 50_000);
    // The session works on.
    assert_eq!(session.load(&table, &mut Dense { next: 50_001, last: 50_010 }).unwrap().rows, 10);
}

#[test]
fn the_dialects_statements_run() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "dialect");
    let columns = [
        ("RowId", ColumnType::Int),
        ("Bit1", ColumnType::Bit),
        ("TinyInt1", ColumnType::TinyInt),
        ("Int1", ColumnType::Int),
        ("Int2", ColumnType::Int),
        ("Int3", ColumnType::Int),
        ("Int4", ColumnType::Int),
        ("Int5", ColumnType::Int),
        ("Money2", ColumnType::Money),
    ];
    let table = Table::new("source", &columns);
    session.create_table(&table).unwrap();
    let row = |id: i32| {
        let numbers = [id, 2, 3, 200_000, 5, id].into_iter().skip(1).map(Value::Int);
        let mut row = vec![Value::Int(id), Value::Bit(id % 2 == 0), Value::TinyInt(100)];
        row.extend(numbers);
        row.push(Value::Money(i64::from(id) * 10_000));
        row
    };
    let rows: Vec<_> = (1..=10).map(row).collect();
    session.load(&table, &mut List::new(&rows)).unwrap();
    let dialect = session.dialect();
    let target = table.named("target");
    session.create_table(&target).unwrap();
    assert_eq!(session.execute(&dialect.copy_chunk(&target, "source", 10, 3, 1), &[]).unwrap(), 30);
    assert_eq!(session.query_count(&dialect.scan("target", false), &[]).unwrap(), 30);
    let bounds = [Value::BigInt(1), Value::BigInt(10), Value::BigInt(10)];
    // Worked out by the definition of the predicate: |200001 - 5 ...| is far from 17, so no pair meets it.
    assert_eq!(session.query_count(&dialect.join("target"), &bounds).unwrap(), 0);
    let keys = [Value::BigInt(3), Value::Int(30), Value::Int(31)];
    assert_eq!(session.query_count(&dialect.lookup_keys(&target, 3), &keys).unwrap(), 2);
    // A statement that was prepared survives its table's replacement by another one.
    let sql = "SELECT * FROM target WHERE rowid = $1";
    read_back(&mut *session, sql, &[Value::Int(1)], &target.types());
    session.execute("DROP TABLE target", &[]).unwrap();
    session.execute("CREATE TABLE target (rowid bigint)", &[]).unwrap();
    assert!(session.query(sql, &[Value::Int(1)], &[ColumnType::BigInt], &mut |_| Ok(())).is_err());
    assert_eq!(read_back(&mut *session, sql, &[Value::Int(1)], &[ColumnType::BigInt]).rows, 0);
}

#[test]
fn a_receiver_that_has_enough_does_not_wait_for_the_rest() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "enough");
    let mut seen = 0;
    let mut each = |_: &mut Row| {
        seen += 1;
        if seen == 3 { Err(Error::new(ErrorKind::Internal, "enough")) } else { Ok(()) }
    };
    // Receiving all of these would take minutes.
    let sql = "SELECT generate_series(1, 1000000000::bigint)";
    let error = session.query(sql, &[], &[ColumnType::BigInt], &mut each).unwrap_err();
    assert_eq!((error.message.as_str(), seen), ("enough", 3));
    assert_eq!(session.query_count("SELECT 5::bigint", &[]).unwrap(), 5);
}

#[test]
fn a_lease_keeps_others_out_until_it_is_given_back() {
    let (one, two) = (open(server()), open(server()));
    let workspace = workspace("lease");
    let status = || one.workspaces().unwrap().into_iter().find(|status| status.workspace == workspace);
    assert!(two.claim(&workspace, ClaimMode::Shared).unwrap().is_none());
    assert_eq!(status(), None);
    let mut lease = one.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    assert!(status().unwrap().leased);
    assert!(two.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    assert!(two.claim(&workspace, ClaimMode::Shared).unwrap().is_none());
    assert!(!two.remove(&workspace).unwrap());
    lease.renew().unwrap();
    lease.share().unwrap();
    assert!(two.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    let shared = two.claim(&workspace, ClaimMode::Shared).unwrap().unwrap();
    drop(lease);
    assert!(!one.remove(&workspace).unwrap());
    drop(shared);
    assert!(!status().unwrap().leased);
    assert!(one.remove(&workspace).unwrap());
    assert_eq!(status(), None);
    // What is gone is gone: nothing is left to remove.
    assert!(one.remove(&workspace).unwrap());
}

fn terminate(application_name: &str) {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = '{application_name}'"
    );
    assert_eq!(server().psql(&sql).unwrap(), "1");
}

#[test]
fn a_lease_falls_with_its_connection_and_is_renewed() {
    let (one, two) = (open(server()), open(server()));
    let workspace = workspace("falls");
    let mut lease = one.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let is_leased = || two.workspaces().unwrap().iter().find(|status| status.workspace == workspace).unwrap().leased;
    // Whoever looks after the lease may be faster than this test.
    let lose = || terminate(&format!("plimsoll lease {workspace}"));
    lose();
    while is_leased() {
        lose();
    }
    lease.renew().unwrap();
    assert!(two.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    // It is taken again as well when nobody asks for that, and that is told once.
    lose();
    while lease.losses().unwrap() == 0 {
        thread::sleep(Duration::from_millis(50));
    }
    assert!(is_leased() && lease.losses().unwrap() == 0);
    // Somebody else removes it while the lease is lost.
    lose();
    while !two.remove(&workspace).unwrap() {
        lose();
    }
    assert_eq!(lease.renew().unwrap_err().kind, ErrorKind::Missing);
}

/// A table with a key and a text.
fn pair(name: &str) -> Table {
    Table::new(name, &[("a", ColumnType::Int), ("b", ColumnType::Text(9))])
}

#[test]
fn many_tables_are_removed_in_pieces() {
    let database = open(server());
    let (lease, mut session) = session(&*database, "many");
    for number in 0..200 {
        session.create_table(&pair(&format!("t{number}"))).unwrap();
    }
    drop((session, lease));
    assert!(database.remove(&workspace("many")).unwrap());
    assert_eq!(server().psql("SELECT count(*) FROM pg_class WHERE relname = 't150'").unwrap(), "0");
}

/// Names without the schema that users' own sessions look in.
fn bare(text: &str) -> String {
    text.replace("public.", "")
}

#[test]
fn what_is_the_users_is_never_removed() {
    let database = separate("keeps");
    let kept = Workspace::data(7);
    let lease = database.claim(&kept, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&kept, &kept).unwrap();
    // More than are dropped at once; the one that others depend on is in the last piece.
    for number in 0..70 {
        session.create_table(&pair(&format!("t{number:02}"))).unwrap();
    }
    drop((session, lease));
    let psql = |sql: &str| server().psql_in("keeps", sql).unwrap();
    let strangers = [
        ("CREATE VIEW mine AS SELECT a FROM plimsoll.t69", "view mine", "DROP VIEW mine"),
        ("CREATE TABLE mine (a int REFERENCES plimsoll.t69)", "table mine", "DROP TABLE mine"),
        ("CREATE TABLE mine (a plimsoll.t69)", "table mine", "DROP TABLE mine"),
        ("CREATE TABLE mine (a plimsoll.t69[])", "table mine", "DROP TABLE mine"),
        ("CREATE VIEW plimsoll.inside AS SELECT 1", "view plimsoll.inside", "DROP VIEW plimsoll.inside"),
        ("CREATE TABLE plimsoll.inside (a int)", "table plimsoll.inside", "DROP TABLE plimsoll.inside"),
        // It bears the mark of the one that it was made like.
        (
            "CREATE TABLE plimsoll.inside (LIKE plimsoll.t01 INCLUDING ALL); \
             COMMENT ON TABLE plimsoll.inside IS 'plimsoll: table t01 of plimsoll'",
            "table plimsoll.inside",
            "DROP TABLE plimsoll.inside",
        ),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
             CREATE TRIGGER g BEFORE INSERT ON plimsoll.t01 FOR EACH ROW EXECUTE FUNCTION f()",
            "trigger g on table plimsoll.t01",
            "DROP FUNCTION f() CASCADE",
        ),
        (
            "CREATE RULE r AS ON DELETE TO plimsoll.t01 DO NOTHING",
            "rule r on table plimsoll.t01",
            "DROP RULE r ON plimsoll.t01",
        ),
        ("CREATE POLICY p ON plimsoll.t01", "policy p on table plimsoll.t01", "DROP POLICY p ON plimsoll.t01"),
        (
            "CREATE STATISTICS plimsoll.s ON a, b FROM plimsoll.t01",
            "statistics object plimsoll.s",
            "DROP STATISTICS plimsoll.s",
        ),
        ("CREATE PUBLICATION p FOR TABLE plimsoll.t01", "publication", "DROP PUBLICATION p"),
        (
            "CREATE TABLE gen (x int, y boolean GENERATED ALWAYS AS (NULL::plimsoll.t01 IS NULL) STORED)",
            "column y of table gen",
            "DROP TABLE gen",
        ),
        (
            "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p WITH (connect = false, slot_name = NONE); \
             INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) \
             SELECT oid, 'plimsoll.t01'::regclass, 'i' FROM pg_subscription",
            "subscription s",
            "DROP SUBSCRIPTION s",
        ),
        ("CREATE TABLE child () INHERITS (plimsoll.t01)", "table child", "DROP TABLE child"),
        (
            "CREATE TABLE parent (LIKE plimsoll.t01) PARTITION BY LIST (a); ALTER TABLE parent ATTACH PARTITION plimsoll.t01 DEFAULT",
            "rows of table parent in table plimsoll.t01",
            "ALTER TABLE parent DETACH PARTITION plimsoll.t01; DROP TABLE parent",
        ),
        (
            "CREATE TABLE parent (a int); ALTER TABLE plimsoll.t01 INHERIT parent",
            "rows of table parent in table plimsoll.t01",
            "ALTER TABLE plimsoll.t01 NO INHERIT parent; DROP TABLE parent",
        ),
        (
            "ALTER EXTENSION plpgsql ADD SCHEMA plimsoll",
            "extension plpgsql",
            "ALTER EXTENSION plpgsql DROP SCHEMA plimsoll",
        ),
        ("CREATE TYPE plimsoll.y AS ENUM ('a')", "type plimsoll.y", "DROP TYPE plimsoll.y"),
        ("CREATE SEQUENCE plimsoll.inside", "sequence plimsoll.inside", "DROP SEQUENCE plimsoll.inside"),
        (
            "CREATE FUNCTION plimsoll.inside() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "function plimsoll.inside()",
            "DROP FUNCTION plimsoll.inside()",
        ),
    ];
    for (make, name, away) in strangers {
        let ours = |text: &str| {
            text.replace("plimsoll.", &format!("{kept}.")).replace("SCHEMA plimsoll", &format!("SCHEMA {kept}"))
        };
        psql(&ours(make));
        let error = database.remove(&kept).unwrap_err();
        assert!(
            error.kind == ErrorKind::Safety && bare(&error.message).contains(&bare(&ours(name))),
            "{make}: {error}"
        );
        assert!(error.hint.unwrap().contains("plimsoll clean"));
        psql(&ours(away));
    }
    // Not one table went.
    assert_eq!(psql(&format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{kept}'")), "70");
    assert!(!database.workspaces().unwrap()[0].leased);
    // What belongs to our tables goes with them.
    psql(&format!(
        "CREATE INDEX theirs ON {kept}.t01 (b); ALTER TABLE {kept}.t02 ADD CHECK (a > 0), ALTER b SET DEFAULT 'x'"
    ));
    assert!(database.remove(&kept).unwrap());
    assert!(database.workspaces().unwrap().is_empty());
}

#[test]
fn what_others_have_in_a_database_of_ours_keeps_it() {
    let server = Postgres::builder().setting("wal_level", "logical").start().unwrap();
    let (database, run) = (open(&server), workspace("mover"));
    let lease = database.claim(&run, ClaimMode::Exclusive).unwrap().unwrap();
    let copy = run.copy('a');
    database.transfer(&run).unwrap().unwrap().make(&copy).unwrap();
    let mut session = database.session(&copy, &run).unwrap();
    session.create_table(&pair("t")).unwrap();
    drop((session, lease));
    // What the server makes for a temporary table stays in its catalogues.
    server.psql_in(copy.name(), "CREATE TEMPORARY TABLE gone (a int PRIMARY KEY, b text)").unwrap();
    let strangers = [
        ("SELECT lo_create(4711)", "large object 4711", "SELECT lo_unlink(4711)"),
        (
            "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
            "default privileges on new relations",
            "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC",
        ),
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA RUN GRANT SELECT ON TABLES TO PUBLIC",
            "default privileges on new relations",
            "ALTER DEFAULT PRIVILEGES IN SCHEMA RUN REVOKE SELECT ON TABLES FROM PUBLIC",
        ),
        ("ALTER DATABASE COPY SET work_mem = '5MB'", "setting work_mem", "ALTER DATABASE COPY RESET ALL"),
        (
            "ALTER ROLE plimsoll IN DATABASE COPY SET jit = 'off'",
            "setting jit",
            "ALTER ROLE plimsoll IN DATABASE COPY RESET ALL",
        ),
        (
            "SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')",
            "replication slot theirs",
            "SELECT pg_drop_replication_slot('theirs')",
        ),
        (
            "ALTER OPERATOR FAMILY float_ops USING btree ADD OPERATOR 1 < (int4, int4)",
            "operator 1 (integer, integer)",
            "ALTER OPERATOR FAMILY float_ops USING btree DROP OPERATOR 1 (int4, int4)",
        ),
        ("CREATE EXTENSION lo", "extension lo", "DROP EXTENSION lo"),
        ("CREATE TABLE public.mine (a int PRIMARY KEY, b text)", "table mine", "DROP TABLE public.mine"),
        ("CREATE VIEW public.mine AS SELECT a FROM RUN.t", "view mine", "DROP VIEW public.mine"),
        ("CREATE TABLE RUN.mine (a int)", "table RUN.mine", "DROP TABLE RUN.mine"),
        (
            "CREATE TABLE public.mine (a int); ALTER TABLE RUN.t INHERIT public.mine",
            "rows of table mine in table RUN.t",
            "ALTER TABLE RUN.t NO INHERIT public.mine; DROP TABLE public.mine",
        ),
    ];
    for (make, name, away) in strangers {
        let own = |text: &str| text.replace("COPY", copy.name()).replace("RUN", run.name());
        server.psql_in(copy.name(), &own(make)).unwrap();
        let Err(error) = database.remove(&copy) else { panic!("{make} was not seen") };
        assert!(error.kind == ErrorKind::Safety && bare(&error.message).contains(&bare(&own(name))), "{make}: {error}");
        assert!(error.message.starts_with(&format!("the database {copy} is kept")), "{error}");
        server.psql_in(copy.name(), &own(away)).unwrap();
    }
    assert!(database.remove(&copy).unwrap() && database.remove(&run).unwrap());
}

#[test]
fn another_users_place_is_not_removed() {
    let database = separate("owners");
    let (lease, mut session) = session(&*database, "theirs");
    session.create_table(&dense()).unwrap();
    drop((session, lease));
    server().psql("CREATE ROLE neighbour LOGIN").unwrap();
    let url = server().socket_url("owners").replace("plimsoll@", "neighbour@");
    let neighbour = try_open(&url, None).unwrap();
    assert_eq!(neighbour.workspaces().unwrap().len(), 1);
    let error = neighbour.remove(&workspace("theirs")).unwrap_err();
    assert!(error.kind == ErrorKind::Permission && error.message.contains("another user"), "{error}");
    assert!(error.hint.is_some());
    assert!(database.remove(&workspace("theirs")).unwrap());
}

/// A session that sleeps in the server until it is ended.
fn sleeper(mut session: Box<dyn Session>) -> thread::JoinHandle<Result<u64>> {
    thread::spawn(move || session.execute("SELECT pg_sleep(600)", &[]))
}

fn wait_until_asleep(run: &Workspace) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plimsoll work {run}' AND wait_event = 'PgSleep'"
    );
    while server().psql(&sql).unwrap() != "1" {
        thread::yield_now();
    }
}

#[test]
fn orphans_are_ended_and_neighbours_live() {
    let database = separate("orphans");
    let (dead, alive) = (workspace("orphan"), workspace("neighbour"));
    let (dead_lease, orphan) = session(&*database, "orphan");
    let (_alive_lease, neighbour) = session(&*database, "neighbour");
    let cancel = neighbour.canceller();
    let (orphan, neighbour) = (sleeper(orphan), sleeper(neighbour));
    wait_until_asleep(&dead);
    wait_until_asleep(&alive);
    assert_eq!(database.end_orphans().unwrap(), 0);
    drop(dead_lease);
    assert_eq!(database.end_orphans().unwrap(), 1);
    assert_eq!(orphan.join().unwrap().unwrap_err().kind, ErrorKind::Lost);
    assert!(!neighbour.is_finished());
    cancel.cancel();
    assert_eq!(neighbour.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
}

#[test]
fn a_statement_that_the_server_cancels_is_no_interruption_of_ours() {
    let database = separate("hasty");
    let (_lease, session) = session(&*database, "cancelledthere");
    let asleep = sleeper(session);
    wait_until_asleep(&workspace("cancelledthere"));
    let cancel =
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = 'hasty' AND wait_event = 'PgSleep'";
    server().psql(cancel).unwrap();
    let error = asleep.join().unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement, "{error:?}");
    assert!(error.hint.unwrap().contains("the server cancelled it"));
    // A user's own time-out does not hold for the questions of ours that come first.
    server().psql("CREATE ROLE hasty LOGIN; ALTER ROLE hasty SET statement_timeout = '20ms'").unwrap();
    let url = server().socket_url("hasty").replace("plimsoll@", "hasty@");
    let hasty = try_open(&url, None).unwrap();
    assert!(hasty.free_bytes().is_none());
    hasty.remove(&workspace("nothing")).unwrap();
}

#[test]
fn removing_a_place_ends_its_orphans() {
    let database = separate("removed");
    let (lease, session) = session(&*database, "removed");
    let orphan = sleeper(session);
    wait_until_asleep(&workspace("removed"));
    drop(lease);
    assert!(database.remove(&workspace("removed")).unwrap());
    assert_eq!(orphan.join().unwrap().unwrap_err().kind, ErrorKind::Lost);
}

#[test]
fn a_schema_without_our_mark_is_never_touched() {
    let database = open(server());
    let workspace = workspace("foreign");
    server().psql(&format!("CREATE SCHEMA {workspace}; CREATE TABLE {workspace}.mine AS SELECT 42 AS answer")).unwrap();
    for mode in [ClaimMode::Exclusive, ClaimMode::Shared] {
        assert_eq!(database.claim(&workspace, mode).err().unwrap().kind, ErrorKind::Safety);
    }
    assert_eq!(database.remove(&workspace).unwrap_err().kind, ErrorKind::Safety);
    let own = Mark::new(workspace.name()).to_string();
    let others = Mark::new("plimsoll_run_other").to_string();
    let old = "plimsoll: measurement data, may be removed";
    for comment in
        ["somebody''s", old, &own[..own.len() - 1], &others, &own.replace(workspace.name(), "x"), &format!("{own} ")]
    {
        server().psql(&format!("COMMENT ON SCHEMA {workspace} IS '{comment}'")).unwrap();
        assert_eq!(database.remove(&workspace).unwrap_err().kind, ErrorKind::Safety);
        let status = database.workspaces().unwrap().into_iter().find(|status| status.workspace == workspace).unwrap();
        assert!(status.not_ours.is_some(), "{comment}");
    }
    assert_eq!(server().psql(&format!("SELECT answer FROM {workspace}.mine")).unwrap(), "42");
}

#[test]
fn who_may_not_connect_hears_why() {
    let server = server();
    let url = |user: &str, password: &str, database: &str| server.tcp_url(user, password, database);
    let error = fails(&url("plimsoll", PLANTED, "postgres"), None);
    assert_eq!(error.kind, ErrorKind::Authenticate);
    assert!(error.hint.unwrap().contains("PGPASSWORD"));

    let without = format!("postgres://plimsoll@127.0.0.1:{}/postgres?passfile=/nowhere", server.port());
    assert_eq!(fails(&without, None).kind, ErrorKind::PasswordNeeded);
    assert_eq!(fails(&without, Some(PLANTED)).kind, ErrorKind::Authenticate);
    assert!(try_open(&without, Some(server.password())).is_ok());

    let error = fails(&url("plimsoll", server.password(), "nosuch"), None);
    assert_eq!(error.kind, ErrorKind::Missing);
    assert!(error.hint.unwrap().contains("CREATE DATABASE \"nosuch\""));

    // Port 1 is nobody's.
    let error = fails(&format!("postgres://u:{PLANTED}@127.0.0.1:1/d"), None);
    assert_eq!(error.kind, ErrorKind::Connect);
    assert!(error.message.contains("127.0.0.1:1") && error.message.contains("refused"), "{error}");
    assert_eq!(fails(&format!("postgres://u:{PLANTED}@host.invalid/d"), None).kind, ErrorKind::Connect);
    assert_eq!(fails(&format!("postgres://u:{PLANTED}@h/d?nosuch=1"), None).kind, ErrorKind::Usage);
    assert_eq!(fails(&format!("postgres://u:{PLANTED}@h/d?port=x"), None).kind, ErrorKind::Usage);
    assert_eq!(
        fails(&format!("postgres://u:{PLANTED}@h/d?sslmode=verify-ca&sslrootcert=/nowhere"), None).kind,
        ErrorKind::Usage
    );
}

#[test]
fn a_server_without_tls_is_refused_where_it_was_asked_for() {
    let url = server().tcp_url("plimsoll", server().password(), "postgres");
    for mode in ["require", "verify-full"] {
        let error = fails(&format!("{url}?sslmode={mode}"), None);
        assert_eq!(error.kind, ErrorKind::Connect);
        assert!(error.hint.unwrap().contains("sslmode=disable"), "{mode}");
    }
    assert!(try_open(&format!("{url}?sslmode=disable"), None).is_ok());
}

#[test]
fn certificates_are_verified_as_far_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("server.crt"), path("server.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere.example"]);
    openssl.args(["-addext", "subjectAltName=DNS:elsewhere.example", "-keyout", &key, "-out", &certificate]);
    assert!(openssl.output().unwrap().status.success());
    let server = Postgres::builder().start().unwrap();
    // As the server's user, who need not be ours, wants them.
    let (data, text) = (server.data_directory(), |path: &str| std::fs::read_to_string(path).unwrap());
    let copy = |source: &str, name: &str| {
        server
            .psql(&format!(
                "COPY (SELECT line FROM regexp_split_to_table($x${}$x$, '\\n') line) TO '{}/{name}'",
                text(source).trim(),
                data.display()
            ))
            .unwrap();
    };
    copy(&certificate, "server.crt");
    copy(&key, "server.key");
    server
        .psql(&format!("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; chmod 0600 {}/server.key'", data.display()))
        .unwrap();
    server.psql("ALTER SYSTEM SET ssl = on").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    server.restart().unwrap();
    assert_eq!(server.psql("SHOW ssl").unwrap(), "on");

    let url = server.tcp_url("plimsoll", server.password(), "postgres");
    let with = |parameters: &str| try_open(&format!("{url}?{parameters}"), None).map(drop);
    let refused = |parameters: &str| {
        let error = with(parameters).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Connect, "{parameters}: {error}");
        assert!(error.hint.unwrap().contains("sslrootcert"));
    };
    with("sslmode=disable").unwrap();
    with("sslmode=prefer").unwrap();
    with("sslmode=require").unwrap();
    with(&format!("sslmode=require&sslrootcert={certificate}")).unwrap();
    with(&format!("sslmode=verify-ca&sslrootcert={certificate}")).unwrap();
    refused(&format!("sslmode=verify-full&sslrootcert={certificate}"));
    refused("sslmode=verify-full");
    // The name is what hostaddr leads to.
    let named = format!(
        "postgres://plimsoll:{}@elsewhere.example:{}/postgres?hostaddr=127.0.0.1",
        server.password(),
        server.port()
    );
    assert!(try_open(&format!("{named}&sslrootcert={certificate}"), None).is_ok());
    assert_eq!(fails(&named, None).kind, ErrorKind::Connect);

    // A cancel request goes the same protected way.
    let database = try_open(&format!("{url}?sslmode=require"), None).unwrap();
    let (_lease, session) = session(&*database, "tls");
    let cancel = session.canceller();
    let sleeper = sleeper(session);
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while server.psql(asleep).unwrap() != "1" {
        thread::yield_now();
    }
    cancel.cancel();
    cancel.cancel();
    assert_eq!(sleeper.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
}

#[test]
fn who_may_not_write_hears_what_to_grant() {
    let server = server();
    server
        .psql(
            "CREATE ROLE poor LOGIN; CREATE ROLE reader LOGIN SUPERUSER; \
             ALTER ROLE reader SET default_transaction_read_only = on",
        )
        .unwrap();
    let as_user = |user: &str| server.socket_url("postgres").replace("plimsoll@", &format!("{user}@"));
    let workspace = workspace("denied");
    let poor = try_open(&as_user("poor"), None).unwrap();
    let error = poor.claim(&workspace, ClaimMode::Exclusive).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Permission);
    assert!(error.hint.unwrap().contains("GRANT CREATE, CONNECT, TEMPORARY ON DATABASE \"postgres\" TO \"poor\""));
    let reader = try_open(&as_user("reader"), None).unwrap();
    let error = reader.claim(&workspace, ClaimMode::Exclusive).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Permission);
    assert!(error.hint.unwrap().contains("default_transaction_read_only"));

    // What needs more rights is absent or false, and no error.
    assert!(poor.free_bytes().is_none());
    let owned = Workspace::run("poorman").unwrap();
    server.psql("GRANT CREATE ON DATABASE postgres TO poor").unwrap();
    let lease = poor.claim(&owned, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = poor.session(&owned, &owned).unwrap();
    assert!(!session.checkpoint().unwrap());
    session.create_table(&dense()).unwrap();
    assert_eq!(session.table_misses(&dense()).unwrap(), Some(0));
    assert!(value(&session.sample().unwrap(), Counter::LogWriteBytes).is_some());
    drop(session);
    // Nobody writes gigabytes where the free space can't be seen.
    let done = poor.make_cold(&owned, &owned, &[dense()], &Cold::default(), &mut Unfollowed).unwrap();
    assert_eq!(done, ["copy"]);

    // Who may not write at the moment is no other user.
    drop(lease);
    server.psql("ALTER ROLE poor SET default_transaction_read_only = on").unwrap();
    let error = poor.remove(&owned).unwrap_err();
    assert!(error.message.contains("read-only") && error.hint.unwrap().contains("default_transaction_read_only"));
    server.psql("ALTER ROLE poor RESET default_transaction_read_only").unwrap();
    assert!(poor.remove(&owned).unwrap());
}

#[test]
fn a_full_disk_and_a_lost_server_are_told_apart() {
    let server = Postgres::builder().setting("temp_file_limit", "1MB").start().unwrap();
    let database = open(&server);
    let (mut lease, mut session) = session(&*database, "lost");
    session.create_table(&dense()).unwrap();
    assert_eq!(session.execute("SELECT nonsense(1)", &[]).unwrap_err().kind, ErrorKind::Unsupported);
    let raise = |code: &str| format!("DO $$ BEGIN RAISE EXCEPTION 'planned' USING ERRCODE = '{code}'; END $$");
    let kinds = [
        ("53100", ErrorKind::DiskFull),
        ("40P01", ErrorKind::Busy),
        ("55P03", ErrorKind::Busy),
        ("22012", ErrorKind::Statement),
    ];
    for (code, kind) in kinds {
        let error = session.execute(&raise(code), &[]).unwrap_err();
        assert_eq!((error.kind, error.hint.is_some()), (kind, kind != ErrorKind::Statement));
    }
    server.stop_immediate().unwrap();
    let error = session.load(&dense(), &mut Dense { next: 1, last: 9 }).unwrap_err();
    assert!(error.kind == ErrorKind::Lost && error.hint.is_some(), "{error}");
    assert_eq!(lease.renew().unwrap_err().kind, ErrorKind::Connect);
    server.restart().unwrap();
    lease.renew().unwrap();
    assert!(open(&server).claim(&workspace("lost"), ClaimMode::Exclusive).unwrap().is_none());
}

#[test]
fn a_server_says_who_it_is() {
    let database = open(server());
    let description = database.description();
    assert_eq!((description.engine.as_str(), description.page_bytes, description.local), ("postgresql", 8_192, true));
    assert_eq!(description.settings["shared_buffers"], "64MB");
    // Those that matter are there on every version, and with them what somebody has set, but for texts and what is no matter of speed.
    let has = |name: &str| description.settings.contains_key(name);
    assert!(["wal_level", "work_mem", "max_connections"].into_iter().all(has), "{:?}", description.settings);
    assert!(!["listen_addresses", "port", "log_min_messages"].into_iter().any(has), "{:?}", description.settings);
    // What our sessions set aside is as it is for others.
    assert_eq!(
        ["jit", "statement_timeout", "lock_timeout"].map(|name| description.settings[name].as_str()),
        ["on", "0 ms", "0 ms"]
    );
    assert!(description.warnings.iter().any(|warning| warning.starts_with("fsync is off")));
    assert!(matches!(&description.weak_isolation, WeakIsolation::NoEffect(_)));
    assert!(description.fingerprint.ends_with("/postgres") && description.cpus.is_some());
    assert!(database.free_bytes().unwrap() > 0);
    // Over TCP it is the same one.
    let tcp = try_open(&server().tcp_url("plimsoll", server().password(), "postgres"), None).unwrap();
    assert_eq!(tcp.description().fingerprint, description.fingerprint);
}

fn value(readings: &[Reading], metric: Counter) -> Option<f64> {
    readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

#[test]
fn counters_grow_by_what_was_done() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "counters");
    session.create_table(&dense()).unwrap();
    let mut processes = database.process_sampler().unwrap();
    let (before, engine) = (session.sample().unwrap(), processes.sample().unwrap());
    let row_summary = session.load(&dense(), &mut Dense { next: 1, last: 20_000 }).unwrap();
    let (after, later) = (session.sample().unwrap(), processes.sample().unwrap());
    let growth = |metric| plimsoll_measurement::reading::growth(metric, &before, &after).unwrap();
    assert!(growth(Counter::LogWriteBytes) > row_summary.content_bytes as f64);
    let cpu = plimsoll_measurement::reading::growth(Counter::EngineCpuSeconds, &engine, &later).unwrap();
    assert!(cpu > 0.0 && cpu < 60.0);
    assert!(value(&later, Counter::DeviceReadBytes).is_some() && value(&later, Counter::DeviceWriteBytes).is_some());
    // The next sampler reads other sessions' ends as well and never less.
    drop(session);
    let last = processes.sample().unwrap();
    assert!(value(&last, Counter::EngineCpuSeconds) >= value(&later, Counter::EngineCpuSeconds));
}

/// Follows a cold start by closures; renews a lease after a restart.
struct Follower<'a> {
    work: &'a dyn Fn(Arc<dyn Cancel>),
    check: &'a dyn Fn() -> Result<()>,
    lease: Option<&'a mut Box<dyn Lease>>,
    restarts: u32,
}

impl<'a> Follower<'a> {
    fn new(check: &'a dyn Fn() -> Result<()>) -> Self {
        Self { work: &|_| (), check, lease: None, restarts: 0 }
    }
}

impl ColdFollower for Follower<'_> {
    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        (self.work)(cancel);
    }

    fn check(&mut self) -> Result<()> {
        (self.check)()
    }

    fn restarted(&mut self) -> Result<()> {
        self.restarts += 1;
        self.lease.as_mut().map_or(Ok(()), |lease| lease.renew())
    }
}

fn planned() -> Error {
    Error::new(ErrorKind::Cancelled, "planned")
}

/// Two small tables in a place of their own.
fn two_tables(database: &dyn Database, name: &str) -> (Box<dyn Lease>, [Table; 2]) {
    let (lease, mut session) = session(database, name);
    let tables = ["one", "two"].map(|name| dense().named(name));
    for table in &tables {
        session.create_table(table).unwrap();
        session.load(table, &mut Dense { next: 1, last: 500 }).unwrap();
    }
    (lease, tables)
}

fn file_of(workspace: &Workspace, table: &Table) -> String {
    server().psql(&format!("SELECT pg_relation_filenode('{workspace}.{}')", table.name)).unwrap()
}

#[test]
fn a_cold_start_is_a_session_of_the_run_and_ends_between_tables() {
    let database = open(server());
    let (workspace, run) = (workspace("coldtables"), workspace("coldrun"));
    let (_lease, tables) = two_tables(&*database, "coldtables");
    let _run = database.claim(&run, ClaimMode::Exclusive).unwrap().unwrap();
    let before = [0, 1].map(|index: usize| file_of(&workspace, &tables[index]));
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plimsoll work {run}'");
    let check = || {
        if file_of(&workspace, &tables[0]) == before[0] {
            return Ok(());
        }
        assert_eq!(server().psql(&sessions).unwrap(), "1");
        Err(planned())
    };
    let mut follower = Follower::new(&check);
    let error = database.make_cold(&workspace, &run, &tables, &Cold::default(), &mut follower).unwrap_err();
    assert_eq!(error, planned());
    assert_ne!(file_of(&workspace, &tables[0]), before[0]);
    assert_eq!(file_of(&workspace, &tables[1]), before[1]);
}

#[test]
fn a_cold_start_is_cancelled_in_the_middle_of_a_table() {
    let database = open(server());
    let workspace = workspace("coldcancel");
    let (_lease, tables) = two_tables(&*database, "coldcancel");
    let mut reader = database.session(&workspace, &workspace).unwrap();
    // Whoever reads a table keeps it from being written anew.
    reader.execute("BEGIN; SELECT count(*) FROM two", &[]).unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'VACUUM (FULL%'";
    let work = |cancel: Arc<dyn Cancel>| {
        thread::spawn(move || {
            while server().psql(waiting).unwrap() != "1" {
                thread::yield_now();
            }
            cancel.cancel();
        });
    };
    let mut follower = Follower { work: &work, ..Follower::new(&|| Ok(())) };
    let error = database.make_cold(&workspace, &workspace, &tables, &Cold::default(), &mut follower).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
}

#[test]
fn tables_that_others_read_are_not_written_anew() {
    let database = open(server());
    let workspace = workspace("coldshared");
    let (_lease, tables) = two_tables(&*database, "coldshared");
    let before = [0, 1].map(|index: usize| file_of(&workspace, &tables[index]));
    let mut reader = database.session(&workspace, &workspace).unwrap();
    reader.execute("BEGIN; SELECT count(*) FROM two", &[]).unwrap();
    let cold = Cold { shared: true, ..Cold::default() };
    let done = database.make_cold(&workspace, &workspace, &tables, &cold, &mut Unfollowed).unwrap();
    assert_eq!(done, ["displace", "drop-os-cache"]);
    assert_eq!([0, 1].map(|index: usize| file_of(&workspace, &tables[index])), before);
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{workspace}'");
    assert_eq!(server().psql(&tables).unwrap(), "2");
}

#[test]
fn an_unfinished_restart_command_is_ended() {
    let database = open(server());
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let command = format!("echo $$ >'{}'; exec sleep 600", started.display());
    let pid = || std::fs::read_to_string(&started).ok()?.strip_suffix('\n').map(str::to_owned);
    let check = || pid().map_or(Ok(()), |_| Err(planned()));
    let (cold, run) = (Cold { restart_command: Some(command), shared: false }, workspace("coldhang"));
    let error = database.make_cold(&run, &run, &[], &cold, &mut Follower::new(&check)).unwrap_err();
    assert_eq!(error, planned());
    assert!(!std::path::Path::new(&format!("/proc/{}", pid().unwrap())).exists());
}

/// After `make_cold` a scan misses every page of the table and reads all of them from the device.
fn a_scan_is_cold(server: &Postgres, database: &dyn Database, cold: &Cold, expected: &[&str]) {
    let workspace = workspace("cold");
    let table = dense();
    let mut lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&workspace, &workspace).unwrap();
    session.create_table(&table).unwrap();
    session.load(&table, &mut Dense { next: 1, last: 150_000 }).unwrap();
    session.settle_table(&table).unwrap();
    // Warm: all of it fits into shared buffers.
    let scan = "SELECT count(*) FROM dense WHERE text1 <> '' AND money1 <> 0";
    session.query_count(scan, &[]).unwrap();
    drop(session);

    let mut follower = Follower { lease: Some(&mut lease), ..Follower::new(&|| Ok(())) };
    let done = database.make_cold(&workspace, &workspace, std::slice::from_ref(&table), cold, &mut follower).unwrap();
    assert_eq!(done, expected);
    assert_eq!(follower.restarts, u32::from(cold.restart_command.is_some()));
    assert!(open(server).claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    let mut session = database.session(&workspace, &workspace).unwrap();
    let pages = session.table_size(&table).unwrap().unwrap().table_bytes / database.description().page_bytes;
    assert!(pages > 3_000);
    let mut processes = database.process_sampler().unwrap();
    let (misses, device) = (session.table_misses(&table).unwrap().unwrap(), processes.sample().unwrap());
    assert_eq!(session.query_count(scan, &[]).unwrap(), 150_000);
    let misses = session.table_misses(&table).unwrap().unwrap() - misses;
    let read = plimsoll_measurement::reading::growth(Counter::DeviceReadBytes, &device, &processes.sample().unwrap());
    assert!(misses.abs_diff(pages) * 50 <= pages, "{misses} misses, {pages} pages");
    assert!(read.unwrap() >= 0.98 * 8_192.0 * pages as f64, "{read:?} bytes, {pages} pages");
    // And the second scan is warm.
    let before = session.table_misses(&table).unwrap().unwrap();
    session.query_count(scan, &[]).unwrap();
    assert!(session.table_misses(&table).unwrap().unwrap() - before < pages / 50);
    drop((session, lease));
    assert!(database.remove(&workspace).unwrap());
    assert_eq!(server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap(), "0");
}

#[test]
fn tables_are_made_cold() {
    // On a disk: memory file systems can't be cold.
    let server = Postgres::builder().shared_buffers_mb(256).start().unwrap();
    let database = open(&server);
    let restart = |command: String| Cold { restart_command: Some(command), shared: false };
    a_scan_is_cold(&server, &*database, &Cold::default(), &["copy", "displace", "drop-os-cache"]);
    a_scan_is_cold(&server, &*database, &restart(server.restart_command()), &["restart", "drop-os-cache"]);

    let workspace = workspace("cold");
    let failing = restart("echo starting; echo 'no such unit.' >&2; exit 5".to_owned());
    let error = database.make_cold(&workspace, &workspace, &[], &failing, &mut Unfollowed).unwrap_err();
    assert!(error.message.ends_with("failed: no such unit"), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let start = std::time::Instant::now();
    let error = fails(&format!("postgres://u:{PLANTED}@127.0.0.1:{port}/d?connect_timeout=1"), None);
    assert_eq!(error.kind, ErrorKind::Connect);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

/// A test makes its tables anew in each repetition, of which it knows the names alone.
#[test]
fn a_table_that_is_made_anew_is_ours_and_nothing_of_others_is_on_it() {
    let database = separate("anew");
    let (_lease, mut session) = session(database.as_ref(), "anew");
    let (table, place) = (dense(), workspace("anew"));
    let admin = |sql: &str| server().psql_in("anew", sql).unwrap();
    session.drop_table(&table).unwrap();
    for (put, take) in [
        ("CREATE TABLE plimsoll_run_anew.dense (theirs int)", "DROP TABLE plimsoll_run_anew.dense"),
        ("CREATE PUBLICATION theirs FOR TABLE plimsoll_run_anew.dense", "DROP PUBLICATION theirs"),
        (
            "CREATE STATISTICS public.theirs ON rowid, money1 FROM plimsoll_run_anew.dense",
            "DROP STATISTICS public.theirs",
        ),
        ("CREATE TABLE public.theirs () INHERITS (plimsoll_run_anew.dense)", "DROP TABLE public.theirs"),
        ("CREATE POLICY theirs ON plimsoll_run_anew.dense", "DROP POLICY theirs ON plimsoll_run_anew.dense"),
    ] {
        let is_their_own = put.ends_with("(theirs int)");
        if !is_their_own {
            session.drop_table(&table).unwrap();
            session.create_table(&table).unwrap();
        }
        admin(put);
        let error = session.drop_table(&table).unwrap_err();
        assert!(error.message.contains(place.name()), "{put}: {error:?}");
        assert_eq!(error.kind, ErrorKind::Safety, "{put}");
        admin(take);
    }
    session.drop_table(&table).unwrap();
    // Another table of somebody else's in the place is no hindrance until the end.
    admin("CREATE TABLE plimsoll_run_anew.other (theirs int)");
    session.create_table(&table).unwrap();
    session.drop_table(&table).unwrap();
    admin("DROP TABLE plimsoll_run_anew.other");
}

#[test]
fn rows_of_heirs_are_not_changed() {
    let database = separate("heirs");
    let (_lease, mut session) = session(database.as_ref(), "heirs");
    let table = dense();
    session.create_table(&table).unwrap();
    let admin = |sql: &str| server().psql_in("heirs", sql).unwrap();
    admin(
        "CREATE TABLE public.theirs () INHERITS (plimsoll_run_heirs.dense); INSERT INTO public.theirs VALUES (1, 2, 'x')",
    );
    let dialect = session.dialect();
    let (delete, update) = (dialect.delete_row(&table), dialect.update_row(&table));
    assert_eq!(session.execute(&delete, &[Value::Int(1)]).unwrap(), 0);
    assert_eq!(session.execute(&update, &[Value::Money(5), Value::Text("y"), Value::Int(1)]).unwrap(), 0);
    assert_eq!(admin("SELECT * FROM public.theirs").trim(), "1|2.0000|x");
    admin("DROP TABLE public.theirs");
}

/// An event trigger may change where names are looked for while our tables are made, loaded and removed.
#[test]
fn an_event_trigger_leads_no_statement_to_tables_of_others() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    server
        .psql(
            "CREATE SCHEMA victim; CREATE TABLE victim.led (rowid int); INSERT INTO victim.led VALUES (7); \
             CREATE FUNCTION victim.lead() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN SET search_path = victim; END $$; \
             CREATE EVENT TRIGGER lead_start ON ddl_command_start EXECUTE FUNCTION victim.lead(); \
             CREATE EVENT TRIGGER lead_end ON ddl_command_end EXECUTE FUNCTION victim.lead()",
        )
        .unwrap();
    let database = open(&server);
    let workspace = Workspace::run("led").unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&workspace, &workspace).unwrap();
    let table = Table::new("led", &[("RowId", ColumnType::Int)]);
    for _ in 0..2 {
        session.drop_table(&table).unwrap();
        session.create_table(&table).unwrap();
        session.load(&table, &mut Numbers(1..101)).unwrap();
        assert_eq!(session.query_count("SELECT count(*) FROM led", &[]).unwrap(), 100);
    }
    assert_eq!(server.psql("SELECT count(*), max(rowid) FROM victim.led").unwrap().trim(), "1|7");
    drop((session, lease));
    assert!(database.remove(&workspace).unwrap());
}

struct Numbers(std::ops::Range<i32>);

impl RowSource for Numbers {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        Ok(self.0.next().inspect(|number| row.push(Value::Int(*number))).is_some())
    }
}
