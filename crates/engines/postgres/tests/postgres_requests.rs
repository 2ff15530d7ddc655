//! Requests to PostgreSQL over a line of our own, against servers of our own and beside the ordinary session.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;

use plimsoll_clock::RealClock;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Answer, ClaimMode, ColumnType, Credentials, Database, Engine as _, Error, ErrorKind, Lease, RequestAccess,
    Requester, Result, Row, RowSource, Session, Statement, Table, Target, Value, Workspace,
};
use plimsoll_postgres::Postgres as Engine;
use plimsoll_testbed::Postgres;

/// One server for all tests that leave it running; each test has a place of its own.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::builder().shared_buffers_mb(64).start().unwrap())
}

fn open(url: &str) -> Box<dyn Database> {
    Engine.open(&Target::parse(url).unwrap(), &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// A claimed place, an ordinary session in it and one for requests.
struct Bench {
    session: Box<dyn Session>,
    requester: Box<dyn Requester>,
    /// Held to the end.
    lease: Box<dyn Lease>,
    database: Box<dyn Database>,
    workspace: Workspace,
}

fn bench_at(url: &str, name: &str) -> Bench {
    let (database, workspace) = (open(url), Workspace::run(name).unwrap());
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let session = database.session(&workspace, &workspace).unwrap();
    let requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
    Bench { session, requester, lease, database, workspace }
}

fn bench(name: &str) -> Bench {
    bench_at(&server().socket_url("postgres"), name)
}

fn statement(number: u32, sql: &str, columns: Option<&[ColumnType]>) -> Statement {
    Statement { number, sql: sql.to_owned(), columns: columns.map(<[_]>::to_vec) }
}

/// A statement that returns nothing.
fn change(number: u32, sql: &str) -> Statement {
    statement(number, sql, Some(&[]))
}

struct List<'a>(std::slice::Iter<'a, Vec<Value<'a>>>, Option<Error>);

impl RowSource for List<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        match (self.0.next(), self.1.take()) {
            (Some(values), error) => {
                self.1 = error;
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

fn everything() -> (Table, Vec<Vec<Value<'static>>>) {
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
    let row = |id: i32, money: i64, ms: i64, text: &'static str| {
        vec![
            Value::Int(id),
            Value::Bit(id > 0),
            Value::TinyInt(200),
            Value::SmallInt(i16::MIN),
            Value::BigInt(i64::MAX),
            Value::Float(-0.25),
            Value::Money(money),
            Value::DateTime(ms),
            Value::Text(text),
        ]
    };
    let rows = vec![row(-1, 1, -86_400_001, ""), row(1, i64::MIN, 946_684_799_999, "x y"), row(2, 0, 0, "~ 'q\\~")];
    (Table::new("everything", &columns), rows)
}

/// What the ordinary session makes of a query.
fn read(session: &mut dyn Session, sql: &str, types: &[ColumnType]) -> RowSummary {
    let mut row_summary = RowSummary::default();
    let mut each = |row: &mut Row| {
        row_summary.add(row);
        Ok(())
    };
    session.query(sql, &[], types, &mut each).unwrap();
    row_summary
}

#[test]
fn every_value_goes_and_counts_as_with_the_ordinary_session() {
    let mut bench = bench("reqtypes");
    let (table, rows) = everything();
    bench.session.create_table(&table).unwrap();
    let dialect = bench.session.dialect();
    let insert = change(0, &dialect.insert_row(&table));
    for row in &rows[..2] {
        assert_eq!(bench.requester.ask(&insert, row).unwrap(), Answer { rows: 1, content_bytes: 0 });
    }
    // A load goes over the same line.
    let loaded = bench.requester.load_batch(&table, &mut List(rows[2..].iter(), None)).unwrap();
    assert_eq!(loaded.rows, 1);
    let mut expected = RowSummary::default();
    for values in &rows {
        let mut row = Row::default();
        for value in values {
            row.push(*value);
        }
        expected.add(&mut row);
    }
    assert_eq!(read(&mut *bench.session, "SELECT * FROM everything", &table.types()), expected);
    let all = statement(1, "SELECT * FROM everything", Some(&table.types()));
    let answer = Answer { rows: 3, content_bytes: expected.content_bytes };
    assert_eq!(bench.requester.ask(&all, &[]).unwrap(), answer);
    let one = statement(2, &dialect.read_row(&table), Some(&table.types()));
    let sizes = 4 + 1 + 1 + 2 + 4 * 8;
    assert_eq!(bench.requester.ask(&one, &[Value::Int(1)]).unwrap(), Answer { rows: 1, content_bytes: sizes + 3 });
    assert_eq!(bench.requester.ask(&one, &[Value::Int(9)]).unwrap(), Answer::default());
    // NULL has no content, and columns that nobody asked for count nothing.
    let nulls =
        statement(5, "SELECT NULL::bigint, NULL::text, 7::int", Some(&[ColumnType::BigInt, ColumnType::Text(9)]));
    assert_eq!(bench.requester.ask(&nulls, &[]).unwrap(), Answer { rows: 1, content_bytes: 0 });
    let first = statement(3, "SELECT * FROM everything", Some(&[ColumnType::Int]));
    assert_eq!(bench.requester.ask(&first, &[]).unwrap(), Answer { rows: 3, content_bytes: 12 });
    // TinyInt is a smallint here and money a numeric: as nobody says so, they count by what is stated.
    let unknown = statement(4, "SELECT RowId, Bit1, TinyInt1, Float1, DateTime1, 'abc', 12.50 FROM everything", None);
    assert_eq!(
        bench.requester.ask(&unknown, &[]).unwrap(),
        Answer { rows: 3, content_bytes: 3 * (4 + 1 + 2 + 8 + 8 + 3 + 5) }
    );
    let traffic = bench.requester.traffic().unwrap();
    assert!(traffic.sent_bytes > 500 && traffic.received_bytes > 500, "{traffic:?}");
}

#[test]
fn changes_are_counted_and_transactions_hold() {
    let mut bench = bench("reqchange");
    let asked = &mut *bench.requester;
    let mut ask = |number: u32, sql: &str| asked.ask(&statement(number, sql, None), &[]);
    ask(0, "CREATE TABLE t (a int PRIMARY KEY, b text)").unwrap();
    assert_eq!(ask(1, "INSERT INTO t SELECT n, 'b' FROM generate_series(1, 5) n").unwrap().rows, 5);
    assert_eq!(ask(2, "UPDATE t SET b = 'cc' WHERE a > 2").unwrap().rows, 3);
    assert_eq!(ask(3, "DELETE FROM t WHERE a = 5 RETURNING b").unwrap(), Answer { rows: 1, content_bytes: 2 });
    assert_eq!(ask(4, "BEGIN").unwrap(), Answer::default());
    assert_eq!(ask(5, "DELETE FROM t").unwrap().rows, 4);
    let error = ask(6, "INSERT INTO t VALUES (1, 'x'), (1, 'x')").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement);
    // Nothing works until the transaction ends, and then everything does.
    assert!(ask(7, "SELECT count(*) FROM t").is_err());
    assert_eq!(ask(8, "ROLLBACK").unwrap(), Answer::default());
    assert_eq!(ask(9, "SELECT b FROM t").unwrap(), Answer { rows: 4, content_bytes: 2 + 4 });
    assert_eq!(ask(10, "COPY t TO STDOUT").unwrap().rows, 4);
    let copied = ask(11, "COPY t FROM STDIN").unwrap_err();
    assert!(copied.kind == ErrorKind::Statement && copied.hint.unwrap().contains("no rows for COPY"));
    assert_eq!(ask(12, "").unwrap(), Answer::default());
    assert_eq!(ask(9, "SELECT b FROM t").unwrap().rows, 4);
}

#[test]
fn errors_have_the_class_and_words_of_the_ordinary_session() {
    let mut bench = bench("reqerrors");
    bench.session.execute("CREATE TABLE t (a int PRIMARY KEY)", &[]).unwrap();
    let wrong = [
        "SELEC 1",
        "SELECT * FROM nowhere",
        "SELECT 1/0",
        "SELECT no_such_function(1)",
        "INSERT INTO t VALUES (1), (1)",
        "SET ROLE nobody_of_this_name",
        "CREATE SCHEMA pg_own",
    ];
    for (sql, number) in wrong.into_iter().zip(0..) {
        let expected = bench.session.execute(sql, &[]).unwrap_err();
        for _ in 0..2 {
            assert_eq!(bench.requester.ask(&change(number, sql), &[]).unwrap_err(), expected, "{sql}");
        }
    }
    let add = change(90, "INSERT INTO t VALUES ($1)");
    for bad in [&[][..], &[Value::Int(1), Value::Int(2)]] {
        assert_eq!(bench.requester.ask(&add, bad).unwrap_err().kind, ErrorKind::Statement);
    }
    for bad in [Value::Text("x"), Value::BigInt(i64::MAX)] {
        let error = bench.requester.ask(&add, &[bad]).unwrap_err();
        assert!(error.kind == ErrorKind::Usage && error.message.contains("parameter 1"), "{error}");
    }
    assert_eq!(bench.requester.ask(&change(91, "SELECT '\0'"), &[]).unwrap_err().kind, ErrorKind::Statement);
    let misread = statement(92, "SELECT 'x'", Some(&[ColumnType::Int]));
    assert_eq!(bench.requester.ask(&misread, &[]).unwrap_err().kind, ErrorKind::Statement);
    let missing = statement(93, "SELECT 1", Some(&[ColumnType::Int, ColumnType::Int]));
    assert!(bench.requester.ask(&missing, &[]).unwrap_err().message.contains("fewer columns"));
    assert_eq!(bench.requester.ask(&add, &[Value::Int(7)]).unwrap().rows, 1);
    let table = Table::new("t", &[("a", ColumnType::Int)]);
    // A lock that is not to be had.
    bench.session.execute("BEGIN", &[]).unwrap();
    bench.session.execute("LOCK TABLE t", &[]).unwrap();
    bench.requester.ask(&change(94, "SET lock_timeout = 20"), &[]).unwrap();
    let error = bench.requester.ask(&add, &[Value::Int(8)]).unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.hint.unwrap().contains("wait 60 s for a lock"));
    bench.session.execute("ROLLBACK", &[]).unwrap();
    // A load comes to all or nothing, and the session goes on.
    let rows = [vec![Value::Int(20)], vec![Value::Int(21)]];
    let stopped = Error::new(ErrorKind::Cancelled, "stopped");
    assert_eq!(bench.requester.load_batch(&table, &mut List(rows.iter(), Some(stopped.clone()))).unwrap_err(), stopped);
    let twice = [vec![Value::Int(30)], vec![Value::Int(30)]];
    assert_eq!(
        bench.requester.load_batch(&table, &mut List(twice.iter(), None)).unwrap_err().kind,
        ErrorKind::Statement
    );
    let nowhere = Table::new("nowhere", &[("a", ColumnType::Int)]);
    assert_eq!(
        bench.requester.load_batch(&nowhere, &mut List(rows.iter(), None)).unwrap_err().kind,
        ErrorKind::Statement
    );
    let unfit = [vec![Value::Text("x")]];
    assert_eq!(
        bench.requester.load_batch(&table, &mut List(unfit.iter(), None)).unwrap_err().kind,
        ErrorKind::Internal
    );
    assert_eq!(bench.requester.load_batch(&table, &mut List(rows.iter(), None)).unwrap().rows, 2);
    assert_eq!(bench.session.query_count("SELECT count(*) FROM t", &[]).unwrap(), 3);
}

#[test]
fn a_statement_whose_prepared_form_is_stale_is_prepared_anew() {
    let mut bench = bench("reqstale");
    let make = |session: &mut dyn Session, columns: &str| {
        session.execute("DROP TABLE IF EXISTS t", &[]).unwrap();
        session.execute(&format!("CREATE TABLE t ({columns})"), &[]).unwrap();
        session.execute("INSERT INTO t VALUES (1, 2)", &[]).unwrap();
    };
    make(&mut *bench.session, "a int, b int");
    let all = statement(0, "SELECT * FROM t WHERE a = $1", None);
    assert_eq!(bench.requester.ask(&all, &[Value::Int(1)]).unwrap().content_bytes, 8);
    make(&mut *bench.session, "a bigint, b smallint");
    assert_eq!(bench.requester.ask(&all, &[Value::Int(1)]).unwrap().content_bytes, 10);
    bench.requester.ask(&change(1, "DEALLOCATE ALL"), &[]).unwrap();
    assert_eq!(bench.requester.ask(&all, &[Value::Int(1)]).unwrap().content_bytes, 10);
    // In a transaction the request fails, as that has failed with it; the next one works.
    bench.requester.ask(&change(2, "BEGIN"), &[]).unwrap();
    make(&mut *bench.session, "a int, b int");
    assert!(bench.requester.ask(&all, &[Value::Int(1)]).is_err());
    bench.requester.ask(&change(3, "ROLLBACK"), &[]).unwrap();
    assert_eq!(bench.requester.ask(&all, &[Value::Int(1)]).unwrap().content_bytes, 8);
}

#[test]
fn large_rows_and_many_of_them_are_read_in_little_memory() {
    let mut bench = bench("reqlarge");
    let columns = [ColumnType::Text(u16::MAX)];
    let one = statement(0, "SELECT repeat('x', $1)", Some(&columns));
    for length in [1, 8_000, 8_188, 8_192, 8_200, 3_000_000, 5] {
        let answer = bench.requester.ask(&one, &[Value::Int(length)]).unwrap();
        assert_eq!(answer, Answer { rows: 1, content_bytes: length as u64 });
    }
    let many = statement(1, "SELECT repeat('x', n % 20000) FROM generate_series(1, 1000) n", None);
    assert_eq!(bench.requester.ask(&many, &[]).unwrap(), Answer { rows: 1000, content_bytes: 500_500 });
    let text = "y".repeat(3_000_000);
    let length = statement(2, "SELECT length($1)", Some(&[ColumnType::Int]));
    assert_eq!(bench.requester.ask(&length, &[Value::Text(&text)]).unwrap(), Answer { rows: 1, content_bytes: 4 });
}

fn sleeps() -> &'static str {
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'plimsoll work plimsoll_run_"
}

/// Has a requester sleep in another thread until somebody ends that; returns when it sleeps.
fn asleep(
    server: &Postgres,
    name: &str,
    mut requester: Box<dyn Requester>,
) -> thread::JoinHandle<(Box<dyn Requester>, Error)> {
    let sleeper = thread::spawn(move || {
        let error = requester.ask(&change(50, "SELECT pg_sleep(600)"), &[]).unwrap_err();
        (requester, error)
    });
    while server.psql(&format!("{}{name}'", sleeps())).unwrap() != "1" {
        thread::yield_now();
    }
    sleeper
}

#[test]
fn a_request_is_cancelled_from_another_thread() {
    let Bench { requester, lease: _lease, .. } = bench("reqcancel");
    let canceller = requester.canceller();
    let sleeper = asleep(server(), "reqcancel", requester);
    canceller.cancel();
    let (mut requester, error) = sleeper.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert_eq!(requester.ask(&statement(0, "SELECT 1", None), &[]).unwrap().rows, 1);
    // Nothing runs: nothing happens.
    canceller.cancel();
    assert_eq!(requester.ask(&statement(0, "SELECT 1", None), &[]).unwrap().rows, 1);
}

#[test]
fn a_line_that_is_broken_from_our_side_is_lost() {
    let Bench { requester, lease: _lease, .. } = bench("reqsever");
    let canceller = requester.canceller();
    let sleeper = asleep(server(), "reqsever", requester);
    canceller.sever();
    let (mut requester, error) = sleeper.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Lost, "{error}");
    assert_eq!(requester.ask(&statement(0, "SELECT 1", None), &[]).unwrap_err().kind, ErrorKind::Lost);
    // Its session still sleeps at the server.
    canceller.cancel();
    canceller.sever();
}

#[test]
fn a_session_that_was_ended_is_lost_and_stays_so() {
    let Bench { requester, lease, database, workspace, .. } = bench("reqlost");
    let sleeper = asleep(server(), "reqlost", requester);
    server()
        .psql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'plimsoll work plimsoll_run_reqlost' AND wait_event = 'PgSleep'")
        .unwrap();
    let (mut requester, error) = sleeper.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Lost, "{error}");
    for _ in 0..2 {
        let error = requester.ask(&statement(0, "SELECT 1", None), &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lost, "{error}");
        assert!(error.hint.is_some());
    }
    let table = Table::new("t", &[("a", ColumnType::Int)]);
    assert_eq!(requester.load_batch(&table, &mut List([].iter(), None)).unwrap_err().kind, ErrorKind::Lost);
    // A new one works; while it is idle it is one of those that are ended with their run.
    let requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
    drop((requester, lease));
}

#[test]
fn a_server_that_is_killed_is_lost() {
    let server = Postgres::builder().start().unwrap();
    let Bench { requester, database, workspace, .. } =
        bench_at(&server.tcp_url("plimsoll", server.password(), "postgres"), "reqkill");
    let sleeper = asleep(&server, "reqkill", requester);
    server.stop_immediate().unwrap();
    let (_, error) = sleeper.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Lost, "{error}");
    let error = database.requester(&workspace, &workspace, RequestAccess::OWN).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Connect, "{error}");
    assert!(error.hint.is_some());
}

#[test]
fn passwords_of_all_kinds_are_taken() {
    let server = Postgres::builder().start().unwrap();
    server
        .psql(
            "SET password_encryption = 'md5'; CREATE ROLE old SUPERUSER LOGIN PASSWORD 'old''s'; \
             SET password_encryption = 'scram-sha-256'; CREATE ROLE plain SUPERUSER LOGIN PASSWORD 'plain one'; \
             CREATE ROLE new SUPERUSER LOGIN PASSWORD 'new'",
        )
        .unwrap();
    let rules = "host all old 127.0.0.1/32 md5\nhost all plain 127.0.0.1/32 password\nhost all new 127.0.0.1/32 scram-sha-256\nlocal all all trust\n";
    server
        .psql(&format!(
            "COPY (SELECT line FROM regexp_split_to_table(E'{}', '\\n') line) TO '{}/pg_hba.conf'",
            rules.trim().replace('\n', "\\n"),
            server.data_directory().display()
        ))
        .unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let workspace = Workspace::run("reqwords").unwrap();
    let socket = open(&server.socket_url("postgres"));
    let _lease = socket.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    for (user, word) in [("old", "old's"), ("plain", "plain%20one"), ("new", "new")] {
        let database = open(&server.tcp_url(user, word, "postgres"));
        let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
        let who = statement(0, "SELECT 1 WHERE current_user = $1", None);
        assert_eq!(requester.ask(&who, &[Value::Text(user)]).unwrap().rows, 1);
        // A password that is changed meanwhile is refused as with every session.
        server.psql(&format!("ALTER ROLE {user} PASSWORD 'another'")).unwrap();
        let error = database.requester(&workspace, &workspace, RequestAccess::OWN).err().unwrap();
        assert_eq!((error.kind, error.hint.is_some()), (ErrorKind::Authenticate, true), "{user}");
    }
}

#[test]
fn a_line_may_be_under_tls() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("server.crt"), path("server.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost", "-keyout", &key, "-out", &certificate]);
    assert!(openssl.output().unwrap().status.success());
    let server = Postgres::builder().start().unwrap();
    let data = server.data_directory();
    for (source, name) in [(&certificate, "server.crt"), (&key, "server.key")] {
        let text = fs::read_to_string(source).unwrap();
        let lines = format!("SELECT line FROM regexp_split_to_table($x${}$x$, '\\n') line", text.trim());
        server.psql(&format!("COPY ({lines}) TO '{}/{name}'", data.display())).unwrap();
    }
    server
        .psql(&format!("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; chmod 0600 {}/server.key'", data.display()))
        .unwrap();
    server.psql("ALTER SYSTEM SET ssl = on").unwrap();
    server.restart().unwrap();

    let url = server.tcp_url("plimsoll", server.password(), "postgres").replace("127.0.0.1", "localhost");
    // Channel binding shows that the log-in knows of the encryption beneath it.
    let url = format!("{url}?sslmode=verify-full&sslrootcert={certificate}&channel_binding=require&hostaddr=127.0.0.1");
    let Bench { mut requester, mut session, lease: _lease, .. } = bench_at(&url, "reqtls");
    let encrypted = statement(0, "SELECT 1 FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl", None);
    assert_eq!(requester.ask(&encrypted, &[]).unwrap().rows, 1);
    let many = statement(1, "SELECT repeat('x', n % 20000) FROM generate_series(1, 1000) n", None);
    assert_eq!(requester.ask(&many, &[]).unwrap(), Answer { rows: 1000, content_bytes: 500_500 });
    let (table, rows) = everything();
    session.create_table(&table).unwrap();
    assert_eq!(requester.load_batch(&table, &mut List(rows.iter(), None)).unwrap().rows, 3);
    assert!(requester.traffic().unwrap().received_bytes > 500_500);
    let canceller = requester.canceller();
    let sleeper = asleep(&server, "reqtls", requester);
    canceller.cancel();
    let (requester, error) = sleeper.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    drop(requester);
    server.stop_immediate().unwrap();
}

#[test]
fn hosts_are_tried_in_order_and_by_what_is_asked_of_them() {
    let server = server();
    let folder = server.directory().display();
    let port = server.port();
    let workspace = Workspace::run("reqhosts").unwrap();
    let database = open(&format!(
        "postgres://plimsoll@/postgres?host=/nowhere,{folder}&port={port}&target_session_attrs=read-write"
    ));
    let _lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
    let named = statement(0, "SELECT 1 WHERE current_setting('application_name') = $1", None);
    let name = format!("plimsoll work {workspace}");
    assert_eq!(requester.ask(&named, &[Value::Text(&name)]).unwrap().rows, 1);
    // The settings are those of an ordinary session.
    let mut session = database.session(&workspace, &workspace).unwrap();
    let settings = ["search_path", "jit", "lock_timeout", "statement_timeout", "client_connection_check_interval"];
    for (setting, number) in settings.into_iter().zip(1..) {
        let sql = format!("SELECT current_setting('{setting}')");
        let usual = read(&mut *session, &sql, &[ColumnType::Text(99)]);
        let answer = requester.ask(&statement(number, &sql, None), &[]).unwrap();
        assert_eq!(answer.content_bytes, usual.content_bytes, "{setting}");
    }
}

/// Two servers of their own, and a URL that names both.
fn two() -> (Postgres, Postgres, String) {
    let start = || Postgres::builder().shared_buffers_mb(16).start().unwrap();
    let (first, second) = (start(), start());
    let list = |of: fn(&Postgres) -> String| format!("{},{}", of(&first), of(&second));
    let hosts = list(|server| server.directory().display().to_string());
    let ports = list(|server| server.port().to_string());
    let url = format!("postgres://plimsoll@/postgres?host={hosts}&port={ports}");
    (first, second, url)
}

/// Where the first of several hosts falls silent, the next one may be of another cluster: nothing of the run is there.
#[test]
fn another_server_is_not_taken_for_the_one_that_was_measured() {
    let (first, _second, url) = two();
    let database = open(&url);
    let workspace = Workspace::run("twohosts").unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    assert_eq!(database.workspaces().unwrap().len(), 1);
    first.stop_immediate().unwrap();
    drop(lease);
    let error = database.session(&workspace, &workspace).err().unwrap();
    assert!(error.kind == ErrorKind::Connect && error.message.contains("another server answers"), "{error:?}");
    assert!(database.workspaces().is_err() && database.remove(&workspace).is_err());
}

#[test]
fn another_database_of_the_name_is_not_taken_for_the_one_that_was_measured() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    server.psql("CREATE DATABASE sales").unwrap();
    let database = open(&server.socket_url("sales"));
    let workspace = Workspace::run("swapped").unwrap();
    drop(database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap());
    for sql in ["ALTER DATABASE sales RENAME TO before", "CREATE DATABASE sales TEMPLATE before"] {
        server.psql(sql).unwrap();
    }
    for error in [database.remove(&workspace).unwrap_err(), database.session(&workspace, &workspace).err().unwrap()] {
        assert!(error.kind == ErrorKind::Connect && error.message.contains("another database"), "{error:?}");
    }
}

/// The second host is of the same cluster, and works where the first one fails: what was made is in two places.
#[test]
fn what_is_left_at_one_of_several_hosts_is_told_and_removed_once_it_works() {
    let (first, second, url) = two();
    let database = open(&url);
    let workspace = Workspace::run("twoplaces").unwrap();
    drop(database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap());
    for server in [&first, &second] {
        server.stop_immediate().unwrap();
    }
    // How it is started, and where it listens, is its own.
    let own = ["postgresql.conf", "postmaster.opts"].map(|name| second.data_directory().join(name));
    let texts = own.each_ref().map(|path| fs::read(path).unwrap());
    let [from, to] = [&first, &second].map(Postgres::data_directory);
    fs::remove_dir_all(&to).unwrap();
    assert!(Command::new("cp").arg("-a").args([&from, &to]).status().unwrap().success());
    for (path, text) in own.iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    second.restart().unwrap();
    let error = database.remove(&workspace).unwrap_err();
    let place = first.directory().display().to_string();
    assert!(
        error.kind == ErrorKind::Connect && error.message.contains(&format!("sessions were at {place}")),
        "{error:?}"
    );
    second.stop_immediate().unwrap();
    first.restart().unwrap();
    assert!(database.remove(&workspace).is_err(), "the other one does not work now");
    second.restart().unwrap();
    assert!(database.remove(&workspace).unwrap());
    for server in [&first, &second] {
        assert_eq!(
            server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap().trim(),
            "0"
        );
    }
}

/// A primary that is promoted once more stands for its standby: of the same cluster, on a timeline of its own.
#[test]
fn what_stays_at_the_primary_before_a_standby_was_promoted_is_told() {
    let server = Postgres::builder().setting("restore_command", "false").start().unwrap();
    let database = open(&server.socket_url("postgres"));
    let claim = |name| {
        let workspace = Workspace::run(name).unwrap();
        drop(database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap());
        workspace
    };
    let before = claim("restarted");
    server.restart().unwrap();
    assert!(database.remove(&before).unwrap(), "a restart changes nothing");
    let before = claim("promoted");
    server.stop_immediate().unwrap();
    fs::write(server.data_directory().join("recovery.signal"), "").unwrap();
    server.restart().unwrap();
    let error = database.remove(&before).unwrap_err();
    assert!(error.kind == ErrorKind::Lost && error.message.contains("a standby was promoted"), "{error:?}");
    assert!(database.workspaces().unwrap().is_empty(), "here it is gone");
}

#[test]
fn existing_tables_are_reached_and_written_to_only_where_that_is_allowed() {
    let bench = bench("reqexist");
    server().psql("CREATE TABLE theirs (a int); INSERT INTO theirs VALUES (1)").unwrap();
    let with = |access| bench.database.requester(&bench.workspace, &bench.workspace, access).unwrap();
    let read = statement(0, "SELECT a FROM theirs", None);
    let write = statement(1, "INSERT INTO theirs VALUES (2)", None);
    assert!(with(RequestAccess::OWN).ask(&read, &[]).is_err());
    let mut reader = with(RequestAccess { existing: true, writes: false });
    assert_eq!(reader.ask(&read, &[]).unwrap().rows, 1);
    assert_eq!(reader.ask(&write, &[]).unwrap_err().kind, ErrorKind::Permission);
    let mut writer = with(RequestAccess { existing: true, writes: true });
    assert_eq!(writer.ask(&write, &[]).unwrap().rows, 1);
    server().psql("DROP TABLE theirs").unwrap();
}
