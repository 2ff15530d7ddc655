//! The driver of MySQL and MariaDB against MariaDB servers of our own: what is not alike on all engines.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use plimsoll_clock::RealClock;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Cancel, ClaimMode, Cold, ColdFollower, ColumnType, Credentials, Database, Engine as _, Error, ErrorKind, Intents,
    Lease, Mark, RequestAccess, Result, Row, RowSource, Secret, Session, Statement, Table, Target, Unfollowed, Value,
    WeakIsolation, Workspace,
};
use plimsoll_measurement::reading::growth;
use plimsoll_measurement::{Counter, Reading};
use plimsoll_mysql::MySql;
use plimsoll_testbed::{MariaDb, Product};

/// A password that must be found nowhere.
const PLANTED: &str = "pl4nted-s3cret";

/// One server for all tests that leave it running; each test has places of its own.
fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| MariaDb::builder().buffer_pool_mb(64).start().unwrap())
}

fn try_open(url: &str, password: Option<&str>) -> Result<Box<dyn Database>> {
    let credentials = Credentials { password: password.map(Secret::new), ..Credentials::default() };
    MySql.open(&Target::parse(url)?, &credentials, Arc::new(RealClock::new()))
}

fn open(server: &MariaDb) -> Box<dyn Database> {
    try_open(&server.socket_url("test"), None).unwrap()
}

fn fails(url: &str, password: Option<&str>) -> Error {
    let error = try_open(url, password).err().unwrap();
    assert!(error.hint.is_some() && !format!("{error:?}").contains(PLANTED), "{error:?}");
    error
}

fn workspace(name: &str) -> Workspace {
    Workspace::run(name).unwrap()
}

/// A claimed place and a session in it.
fn session(database: &dyn Database, name: &str) -> (Box<dyn Lease>, Box<dyn Session>) {
    let workspace = workspace(name);
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    (lease, database.session(&workspace, &workspace).unwrap())
}

/// Rows with dense keys, 200 bytes long or so.
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
            let _ = write!(text, "it's \\ a text\t{:0170}", self.next);
        });
        self.next += 1;
        Ok(true)
    }
}

fn dense() -> Table {
    let columns = [("RowId", ColumnType::Int), ("Money1", ColumnType::Money), ("Text1", ColumnType::Text(200))];
    Table::new("dense", &columns)
}

fn read_table(session: &mut dyn Session, table: &Table) -> RowSummary {
    let mut row_summary = RowSummary::default();
    let mut each = |row: &mut Row| {
        row_summary.add(row);
        Ok(())
    };
    let sql = session.dialect().read_all(table);
    session.query(&sql, &[], &table.types(), &mut each).unwrap();
    row_summary
}

fn value(readings: &[Reading], metric: Counter) -> Option<f64> {
    readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

#[test]
fn a_server_says_who_it_is() {
    let database = open(server());
    let description = database.description();
    assert_eq!((description.engine.as_str(), description.page_bytes, description.local), ("mariadb", 16_384, true));
    assert!(description.version.contains("MariaDB") && !description.version.starts_with("5.5.5"));
    assert_eq!(description.settings["innodb_buffer_pool_size"], (64 << 20).to_string());
    assert!(description.warnings.iter().any(|warning| warning.starts_with("innodb_flush_log_at_trx_commit")));
    assert_eq!(description.weak_isolation, WeakIsolation::Effective("READ UNCOMMITTED".to_owned()));
    assert!(description.cpus.is_some() && database.free_bytes().unwrap() > 0);
    // Over TCP it is the same one, and without a database as well.
    let tcp = try_open(&server().tcp_url("plimsoll", server().password(), ""), None).unwrap();
    assert_eq!(tcp.description().fingerprint, description.fingerprint);
}

#[test]
fn who_may_not_connect_hears_why() {
    let server = server();
    let without = format!("mysql://plimsoll@127.0.0.1:{}/test?defaults-file=/dev/null", server.port());
    assert_eq!(fails(&without.replace("/dev/null", "/nowhere"), None).kind, ErrorKind::Usage);
    assert_eq!(fails(&without, None).kind, ErrorKind::PasswordNeeded);
    assert_eq!(fails(&without, Some(PLANTED)).kind, ErrorKind::Authenticate);
    assert!(try_open(&without, Some(server.password())).is_ok());
    let url = server.tcp_url("plimsoll", server.password(), "test");
    assert_eq!(fails(&format!("{url}?ssl-ca=/nowhere&ssl-mode=VERIFY_CA"), None).kind, ErrorKind::Usage);
    assert!(fails(&format!("{url}?ssl-mode=VERIFY_IDENTITY"), None).hint.unwrap().contains("ssl-mode=DISABLED"));
    assert!(try_open(&format!("{url}?ssl-mode=DISABLED"), None).is_ok());
    // A server that accepts and says nothing is given up.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = fails(&format!("mysql://u:{PLANTED}@127.0.0.1:{port}/d?connect-timeout=1"), None);
    assert!(error.kind == ErrorKind::Connect && error.message.contains("within 1 s"), "{error}");
}

#[test]
fn every_way_to_prove_a_password_works() {
    let server = server();
    server
        .sql(
            "CREATE USER empty@'127.0.0.1'; CREATE USER native@'127.0.0.1' IDENTIFIED VIA mysql_native_password USING \
             PASSWORD('one''s'); CREATE USER odd@'127.0.0.1' IDENTIFIED VIA unix_socket; GRANT ALL ON *.* TO empty@'127.0.0.1', \
             native@'127.0.0.1'",
        )
        .unwrap();
    let url = |user: &str, word: &str| server.tcp_url(user, word, "test");
    assert!(try_open(&url("native", "one's"), None).is_ok());
    assert_eq!(fails(&url("native", PLANTED), None).kind, ErrorKind::Authenticate);
    assert!(try_open(&url("empty", ""), None).is_ok());
    assert_eq!(fails(&url("odd", PLANTED), None).kind, ErrorKind::Authenticate);
}

#[test]
fn a_password_that_is_wanted_itself_goes_over_a_protected_line_only() {
    let server = server();
    if server.product() != Product::MySql {
        return;
    }
    let user = "sha@'127.0.0.1'";
    server.sql(&format!("CREATE USER {user} IDENTIFIED WITH caching_sha2_password BY '{PLANTED}'")).unwrap();
    server.sql(&format!("GRANT ALL ON *.* TO {user}")).unwrap();
    let url = server.tcp_url("sha", PLANTED, "test");
    let bare = format!("{url}?ssl-mode=DISABLED");
    let error = fails(&bare, None);
    assert!(error.kind == ErrorKind::Authenticate && error.hint.unwrap().contains("ssl-mode=REQUIRED"));
    // From then on it knows a proof of it.
    assert!(try_open(&url, None).is_ok() && try_open(&bare, None).is_ok());
}

#[test]
fn certificates_are_verified_as_far_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("server.crt"), path("server.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost", "-keyout", &key, "-out", &certificate]);
    assert!(openssl.output().unwrap().status.success());
    // As the server's user, who need not be ours, reads them.
    for (path, mode) in [(folder.path(), 0o755), (key.as_ref(), 0o644)] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let server = MariaDb::builder().setting("ssl_cert", &certificate).setting("ssl_key", &key).start().unwrap();
    let url = |host: &str| server.tcp_url("plimsoll", server.password(), "test").replace("127.0.0.1", host);
    let with = |host: &str, parameters: &str| try_open(&format!("{}?{parameters}", url(host)), None);
    for parameters in ["ssl-mode=DISABLED", "ssl-mode=PREFERRED", "ssl-mode=REQUIRED"] {
        with("127.0.0.1", parameters).map(drop).unwrap();
    }
    with("127.0.0.1", &format!("ssl-mode=VERIFY_CA&ssl-ca={certificate}")).map(drop).unwrap();
    for parameters in [format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={certificate}"), "ssl-mode=VERIFY_CA".to_owned()] {
        let error = with("127.0.0.1", &parameters).err().unwrap();
        assert!(error.kind == ErrorKind::Connect && error.hint.unwrap().contains("ssl-ca"), "{parameters}");
    }
    // Everything goes the same protected way: sessions, requests, loads and cancellations.
    let database = with("localhost", &format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={certificate}")).unwrap();
    let (_lease, mut session) = session(&*database, "tls");
    session.create_table(&dense()).unwrap();
    let loaded = session.load(&dense(), &mut Dense { next: 1, last: 20_000 }).unwrap();
    assert_eq!(read_table(&mut *session, &dense()), loaded);
    let mut ciphers = 0;
    let sql =
        "SELECT 1 FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'SSL_CIPHER' AND VARIABLE_VALUE <> ''";
    session
        .query(sql, &[], &[ColumnType::Int], &mut |_| {
            ciphers += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(ciphers, 1);
    let mut requester = database.requester(&workspace("tls"), &workspace("tls"), RequestAccess::OWN).unwrap();
    let all = Statement { number: 0, sql: "SELECT * FROM dense".to_owned(), columns: Some(dense().types()) };
    assert_eq!(requester.ask(&all, &[]).unwrap().content_bytes, loaded.content_bytes);
    assert!(requester.traffic().unwrap().received_bytes > loaded.content_bytes);
    requester.canceller().cancel();
    assert_eq!(requester.ask(&all, &[]).unwrap().rows, 20_000);
}

#[test]
fn a_server_that_takes_no_files_gets_rows_by_insert() {
    let server = MariaDb::builder().buffer_pool_mb(64).setting("local_infile", "OFF").start().unwrap();
    let database = open(&server);
    assert!(database.description().warnings.iter().any(|warning| warning.starts_with("local_infile is off")));
    let (_lease, mut session) = session(&*database, "insert");
    session.create_table(&dense()).unwrap();
    let loaded = session.load(&dense(), &mut Dense { next: 1, last: 20_000 }).unwrap();
    assert_eq!(read_table(&mut *session, &dense()), loaded);
    let error = session.load(&dense(), &mut Dense { next: 20_000, last: 40_000 }).unwrap_err();
    assert!(error.kind == ErrorKind::Statement && error.message.contains("Duplicate"), "{error}");
    assert_eq!(read_table(&mut *session, &dense()), loaded);
}

#[test]
fn a_load_is_longer_than_a_piece_and_a_row_than_a_packet() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "long");
    session.create_table(&dense()).unwrap();
    // More than 64 MB in one transaction.
    let loaded = session.load(&dense(), &mut Dense { next: 1, last: 380_000 }).unwrap();
    assert!(loaded.content_bytes > 68 << 20);
    assert_eq!(read_table(&mut *session, &dense()), loaded);
    // A text in several packets comes back in one.
    let mut requester = database.requester(&workspace("long"), &workspace("long"), RequestAccess::OWN).unwrap();
    let text = Statement { number: 0, sql: "SELECT REPEAT('x', ?), 7".to_owned(), columns: None };
    server().sql("SET GLOBAL max_allowed_packet = 1 << 26").unwrap();
    for length in [1, 250, 251, 65_536, 8_000, 16_777_180, 16_777_215, 16_777_300, 40_000_000, 5] {
        let mut requester = database.requester(&workspace("long"), &workspace("long"), RequestAccess::OWN).unwrap();
        let answer = requester.ask(&text, &[Value::Int(length)]).unwrap();
        assert_eq!((answer.rows, answer.content_bytes), (1, length as u64 + 4), "{length}");
    }
    let argument = "y".repeat(20_000_000);
    let length = Statement { number: 1, sql: "SELECT LENGTH(?)".to_owned(), columns: Some(vec![ColumnType::Int]) };
    assert!(requester.ask(&length, &[Value::Text("abc")]).unwrap().rows == 1);
    let mut requester = database.requester(&workspace("long"), &workspace("long"), RequestAccess::OWN).unwrap();
    assert_eq!(requester.ask(&length, &[Value::Text(&argument)]).unwrap().rows, 1);
}

fn open_noting(server: &MariaDb, intents: &Intents) -> Box<dyn Database> {
    let credentials = Credentials { intents: intents.clone(), ..Credentials::default() };
    let target = Target::parse(&server.socket_url("test")).unwrap();
    MySql.open(&target, &credentials, Arc::new(RealClock::new())).unwrap()
}

#[test]
fn what_was_cut_short_is_ours_by_its_note_while_it_is_empty() {
    let intents = Intents::default();
    let database = open_noting(server(), &intents);
    let noted = intents.at(&database.description().fingerprint);
    server().sql("CREATE DATABASE plimsoll_run_cutshort; CREATE DATABASE plimsoll_run_cutlater").unwrap();
    let (cut, later) = (workspace("cutshort"), workspace("cutlater"));
    let status = |database: &dyn Database| {
        database.workspaces().unwrap().into_iter().find(|status| status.workspace == cut).unwrap()
    };
    // A name alone says nothing.
    assert!(status(&*database).not_ours.is_some());
    assert_eq!(database.remove(&cut).unwrap_err().kind, ErrorKind::Safety);
    assert_eq!(database.claim(&cut, ClaimMode::Exclusive).err().unwrap().kind, ErrorKind::Safety);
    // Whoever made it was killed before its mark was there, and had noted it.
    for workspace in [&cut, &later] {
        noted.begin(workspace.name()).unwrap();
    }
    assert!(status(&*open(server())).not_ours.is_some() && status(&*database).is_left());
    server().sql("CREATE TABLE plimsoll_run_cutshort.theirs (a int)").unwrap();
    assert_eq!(database.remove(&cut).unwrap_err().kind, ErrorKind::Safety);
    server().sql("DROP TABLE plimsoll_run_cutshort.theirs").unwrap();
    assert!(database.remove(&cut).unwrap());
    let (lease, mut session) = session(database.as_ref(), "cutlater");
    session.create_table(&dense()).unwrap();
    drop((lease, session));
    assert!(open(server()).remove(&later).unwrap(), "whoever takes it up marks it");
    assert_eq!(server().sql("SHOW DATABASES LIKE 'plimsoll_run_cut%'").unwrap().trim(), "");
}

/// The server drops all tables, the mark's among them, before it notices a file that it doesn't know.
#[test]
fn a_database_whose_folder_can_not_go_is_still_known_as_ours() {
    let intents = Intents::default();
    let (database, own) = (open_noting(server(), &intents), workspace("stuck"));
    let (lease, mut session) = session(database.as_ref(), "stuck");
    session.create_table(&dense()).unwrap();
    drop((lease, session));
    let folder = server().sql("SELECT @@datadir").unwrap();
    let file = Path::new(folder.trim()).join(own.name()).join("somebodys.txt");
    std::fs::write(&file, "1").unwrap();
    let error = database.remove(&own).unwrap_err();
    assert!(error.message.contains(own.name()), "{error:?}");
    let status = database.workspaces().unwrap().into_iter().find(|status| status.workspace == own).unwrap();
    assert!(status.is_left(), "{status:?}");
    std::fs::remove_file(&file).unwrap();
    assert!(database.remove(&own).unwrap());
}

#[test]
fn a_database_without_our_mark_is_never_touched() {
    let (database, own) = (open(server()), workspace("foreign"));
    let mark = Mark::new(own.name()).to_string();
    let others = Mark::new("plimsoll_run_other").to_string();
    let old = "plimsoll: measurement data, may be removed".to_owned();
    for comment in [&old, &mark[..mark.len() - 1].to_owned(), &others, &mark.replace(own.name(), "x"), &String::new()] {
        let make = format!("CREATE DATABASE {own}; CREATE TABLE {own}.plimsoll_mark (a int) COMMENT = '{comment}'");
        server().sql(&make).unwrap();
        assert_eq!(database.remove(&own).unwrap_err().kind, ErrorKind::Safety);
        let status = database.workspaces().unwrap().into_iter().find(|status| status.workspace == own).unwrap();
        assert!(status.not_ours.is_some(), "{comment}");
        server().sql(&format!("DROP DATABASE {own}")).unwrap();
    }
}

#[test]
fn a_line_that_is_broken_from_our_side_is_lost() {
    let database = open(server());
    let (_lease, _session) = session(database.as_ref(), "severed");
    let mut requester = database.requester(&workspace("severed"), &workspace("severed"), RequestAccess::OWN).unwrap();
    let canceller = requester.canceller();
    let sleep = Statement { number: 0, sql: "SELECT SLEEP(600) + 4711".to_owned(), columns: None };
    let sleeper = std::thread::spawn(move || requester.ask(&sleep, &[]).unwrap_err());
    let asleep = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(600) + 4711%'";
    while server().sql(asleep).unwrap().trim() != "1" {
        std::thread::yield_now();
    }
    canceller.sever();
    assert_eq!(sleeper.join().unwrap().kind, ErrorKind::Lost);
    canceller.cancel();
}

#[test]
fn what_is_the_users_is_never_removed() {
    let database = open(server());
    let kept = Workspace::data(7);
    let lease = database.claim(&kept, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&kept, &kept).unwrap();
    for number in 0..70 {
        let columns = [("a", ColumnType::Int), ("b", ColumnType::Text(9))];
        session.create_table(&Table::new(format!("t{number:02}"), &columns)).unwrap();
    }
    drop((session, lease));
    let strangers = [
        ("CREATE VIEW test.mine AS SELECT a FROM KEPT.t69", "view test.mine", "DROP VIEW test.mine"),
        (
            "CREATE TABLE test.mine (a int, FOREIGN KEY (a) REFERENCES KEPT.t69 (a))",
            "table test.mine",
            "DROP TABLE test.mine",
        ),
        ("CREATE TABLE KEPT.inside (a int)", "table inside", "DROP TABLE KEPT.inside"),
        ("CREATE TABLE KEPT.inside LIKE KEPT.t01", "table inside", "DROP TABLE KEPT.inside"),
        (
            "CREATE PROCEDURE KEPT.plimsoll_inside() SELECT 1",
            "procedure plimsoll_inside",
            "DROP PROCEDURE KEPT.plimsoll_inside",
        ),
        ("CREATE VIEW KEPT.inside AS SELECT 1", "view inside", "DROP VIEW KEPT.inside"),
        ("CREATE FUNCTION KEPT.inside() RETURNS int RETURN 1", "function inside", "DROP FUNCTION KEPT.inside"),
        ("CREATE PROCEDURE KEPT.inside() SELECT 1", "procedure inside", "DROP PROCEDURE KEPT.inside"),
        ("CREATE SEQUENCE KEPT.inside", "sequence inside", "DROP SEQUENCE KEPT.inside"),
        // Names that the server tells apart, and its own views don't; a table made like another bears its mark.
        ("CREATE TABLE KEPT.T01 LIKE KEPT.t01", "table T01", "DROP TABLE KEPT.T01"),
        ("CREATE TABLE KEPT.`tä01` LIKE KEPT.t01", "table tä01", "DROP TABLE KEPT.`tä01`"),
        ("CREATE TABLE KEPT.PLIMSOLL_MARK (a int)", "table PLIMSOLL_MARK", "DROP TABLE KEPT.PLIMSOLL_MARK"),
        (
            "CREATE TABLE KEPT.Plimsoll_Mark LIKE KEPT.plimsoll_mark",
            "table Plimsoll_Mark",
            "DROP TABLE KEPT.Plimsoll_Mark",
        ),
        ("CREATE TABLE KEPT.`plimsoll_märk` (a int)", "table plimsoll_märk", "DROP TABLE KEPT.`plimsoll_märk`"),
        ("CREATE VIEW KEPT.PLIMSOLL_MARK AS SELECT 1", "view PLIMSOLL_MARK", "DROP VIEW KEPT.PLIMSOLL_MARK"),
        ("CREATE SEQUENCE KEPT.PLIMSOLL_MARK", "sequence PLIMSOLL_MARK", "DROP SEQUENCE KEPT.PLIMSOLL_MARK"),
        (
            "CREATE DATABASE UPPER; CREATE TABLE UPPER.mine (a int, FOREIGN KEY (a) REFERENCES KEPT.t69 (a))",
            "table UPPER.mine",
            "DROP DATABASE UPPER",
        ),
        (
            "CREATE DATABASE UPPER; CREATE VIEW UPPER.mine AS SELECT a FROM KEPT.t69",
            "view UPPER.mine",
            "DROP DATABASE UPPER",
        ),
        ("CREATE EVENT KEPT.inside ON SCHEDULE EVERY 1 YEAR DO SELECT 1", "event inside", "DROP EVENT KEPT.inside"),
        (
            "CREATE TRIGGER KEPT.inside BEFORE INSERT ON KEPT.t01 FOR EACH ROW SET @a = 1",
            "trigger inside",
            "DROP TRIGGER KEPT.inside",
        ),
    ];
    let upper = kept.name().to_uppercase();
    let own = |text: &str| text.replace("KEPT", kept.name()).replace("UPPER", &upper);
    let sql = |text: &str| server().sql(&own(text)).unwrap();
    for (make, name, away) in strangers {
        sql(make);
        let error = database.remove(&kept).unwrap_err();
        assert!(error.kind == ErrorKind::Safety && error.message.contains(&own(name)), "{make}: {error}");
        assert!(error.hint.unwrap().contains("plimsoll clean"));
        sql(away);
    }
    // Not one table went, and the mark is still there.
    assert_eq!(sql("SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'KEPT'"), "71");
    assert!(database.remove(&kept).unwrap());
    assert!(database.workspaces().unwrap().iter().all(|status| status.workspace != kept));
}

/// Names of procedures are compared without their case by the server itself.
#[test]
fn a_procedure_that_is_somebodys_is_not_replaced() {
    let database = open(server());
    let (lease, mut session) = session(&*database, "callers");
    let own = workspace("callers");
    session.create_table(&dense()).unwrap();
    assert!(session.make_procedures(&dense()).unwrap() && session.make_procedures(&dense()).unwrap());
    let procedures =
        format!("SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{own}' LIMIT 1");
    let name = server().sql(&procedures).unwrap().trim().to_owned();
    let theirs = name.to_uppercase();
    server().sql(&format!("DROP PROCEDURE {own}.{name}; CREATE PROCEDURE {own}.{theirs}() SELECT 42")).unwrap();
    assert!(session.make_procedures(&dense()).is_err());
    let left = server().sql(&format!("CALL {own}.{name}()")).unwrap();
    assert_eq!(left.trim(), "42");
    drop((session, lease));
    assert!(database.remove(&own).unwrap_err().message.contains(&format!("procedure {theirs}")));
    server().sql(&format!("DROP PROCEDURE {own}.{name}")).unwrap();
    assert!(database.remove(&own).unwrap());
}

#[test]
fn where_names_are_kept_in_lower_case_marks_have_them_so() {
    // MySQL takes this setting only when its data directory is made.
    if server().product() == Product::MySql {
        return;
    }
    let server = MariaDb::builder().buffer_pool_mb(64).setting("lower_case_table_names", "1").start().unwrap();
    let database = open(&server);
    let (lease, mut session) = session(&*database, "lower");
    session.create_table(&Table::new("MixedCase", &[("RowId", ColumnType::Int)])).unwrap();
    drop((session, lease));
    assert!(database.remove(&workspace("lower")).unwrap());
}

#[test]
fn rights_that_are_missing_cost_what_depends_on_them_only() {
    let server = server();
    server
        .sql(
            "CREATE USER visitor@localhost, poor@localhost; GRANT SELECT ON test.* TO visitor@localhost; \
             GRANT ALL ON `plimsoll\\_%`.* TO poor@localhost",
        )
        .unwrap();
    let as_user = |user: &str| server.socket_url("").replace("plimsoll@", &format!("{user}@"));
    let allowed = |database: &dyn Database| -> Vec<&'static str> {
        database.capabilities().iter().filter(|capability| capability.works).map(|capability| capability.name).collect()
    };
    let visitor = try_open(&as_user("visitor"), None).unwrap();
    // MySQL has it on unless somebody switches it off.
    let on: &[&str] = if server.product() == Product::MySql { &["performance_schema"] } else { &[] };
    assert_eq!(allowed(&*visitor), [&["local_infile"], on].concat());
    assert_eq!(allowed(&*open(server)).len(), 7 + on.len());
    let error = visitor.claim(&workspace("denied"), ClaimMode::Exclusive).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Permission);
    assert!(error.hint.unwrap().contains("GRANT ALL ON `plimsoll\\_%`.* TO the account of 'visitor'"));

    let poor = try_open(&as_user("poor"), None).unwrap();
    assert_eq!(allowed(&*poor), [&["making workspaces", "local_infile"], on].concat());
    let (lease, mut session) = session(&*poor, "poorman");
    session.create_table(&dense()).unwrap();
    let loaded = session.load(&dense(), &mut Dense { next: 1, last: 5_000 }).unwrap();
    session.settle_table(&dense()).unwrap();
    assert!(!session.checkpoint().unwrap());
    assert!(session.table_size(&dense()).unwrap().unwrap().table_bytes > loaded.content_bytes);
    assert!(value(&session.sample().unwrap(), Counter::CacheMissPages).is_some());
    drop(session);
    poor.make_cold(&workspace("poorman"), &workspace("poorman"), &[dense()], &Cold::default(), &mut Unfollowed)
        .unwrap();
    assert_eq!(poor.end_orphans().unwrap(), 0);
    drop(lease);
    // What others may have built on it since is not to be seen by this user.
    let later = try_open(&as_user("poor"), None).unwrap();
    server.sql("CREATE VIEW test.poorview AS SELECT 1 AS one FROM plimsoll_run_poorman.dense").unwrap();
    let error = later.remove(&workspace("poorman")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
    assert!(error.hint.unwrap().contains("GRANT SELECT, SHOW VIEW, EVENT, TRIGGER ON *.*"));
    server.sql("GRANT SHOW VIEW, EVENT, TRIGGER ON *.* TO poor@localhost").unwrap();
    let error = later.remove(&workspace("poorman")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
    server.sql("GRANT SELECT ON *.* TO poor@localhost").unwrap();
    let error = later.remove(&workspace("poorman")).unwrap_err();
    assert!(error.kind == ErrorKind::Safety && error.message.contains("view test.poorview"), "{error}");
    // The text of a view that was made so has no quotes around names.
    let bare = "DROP VIEW test.poorview; SET SESSION sql_quote_show_create = 0; \
                CREATE VIEW test.bareview AS SELECT 1 AS one FROM plimsoll_run_poorman.dense";
    server.sql(bare).unwrap();
    let error = later.remove(&workspace("poorman")).unwrap_err();
    assert!(error.kind == ErrorKind::Safety && error.message.contains("view test.bareview"), "{error}");
    if server.product() == Product::MySql {
        // A right on everything that leaves out a database.
        server.sql("SET GLOBAL partial_revokes = ON; REVOKE SELECT ON test.* FROM poor@localhost").unwrap();
        let error = later.remove(&workspace("poorman")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Permission, "{error}");
        server.sql("GRANT SELECT ON test.* TO poor@localhost; SET GLOBAL partial_revokes = OFF").unwrap();
    }
    server.sql("DROP VIEW test.bareview").unwrap();
    assert!(later.remove(&workspace("poorman")).unwrap());

    // Its own process has held it since it was made, and nobody has had time to build on it.
    server.sql("REVOKE SELECT, SHOW VIEW, EVENT, TRIGGER ON *.* FROM poor@localhost").unwrap();
    drop(self::session(&*poor, "poorman"));
    assert!(poor.remove(&workspace("poorman")).unwrap());

    // Somebody else's place is seen by those who may see it, and stays if they may not remove it.
    let (lease, session) = self::session(&*open(server), "theirs");
    drop((session, lease));
    server.sql("CREATE USER reader@localhost; GRANT SELECT ON *.* TO reader@localhost").unwrap();
    let reader = try_open(&as_user("reader"), None).unwrap();
    assert!(reader.workspaces().unwrap().iter().any(|status| status.workspace == workspace("theirs")));
    assert_eq!(reader.remove(&workspace("theirs")).unwrap_err().kind, ErrorKind::Permission);
    assert!(open(server).remove(&workspace("theirs")).unwrap());
}

#[test]
fn existing_tables_are_reached_and_written_to_only_where_that_is_allowed() {
    let database = open(server());
    let (_lease, _session) = session(&*database, "existing");
    let workspace = workspace("existing");
    server().sql("CREATE TABLE theirs (a int); INSERT INTO theirs VALUES (1)").unwrap();
    let with = |access| database.requester(&workspace, &workspace, access).unwrap();
    let statement = |number, sql: &str| Statement { number, sql: sql.to_owned(), columns: None };
    let (read, write) = (statement(0, "SELECT a FROM theirs"), statement(1, "INSERT INTO test.theirs VALUES (2)"));
    assert!(with(RequestAccess::OWN).ask(&read, &[]).is_err());
    let mut reader = with(RequestAccess { existing: true, writes: false });
    assert_eq!(reader.ask(&read, &[]).unwrap().rows, 1);
    assert_eq!(reader.ask(&write, &[]).unwrap_err().kind, ErrorKind::Permission);
    assert!(reader.ask(&statement(2, "CREATE TABLE more (a int)"), &[]).is_err());
    let mut writer = with(RequestAccess { existing: true, writes: true });
    assert_eq!(writer.ask(&write, &[]).unwrap().rows, 1);
    assert_eq!(writer.ask(&statement(3, "SELECT a FROM test.theirs"), &[]).unwrap().rows, 2);
    server().sql("DROP TABLE theirs").unwrap();
}

#[test]
fn errors_have_their_class() {
    let database = open(server());
    let (_lease, mut one) = session(&*database, "classes");
    let mut two = database.session(&workspace("classes"), &workspace("classes")).unwrap();
    one.create_table(&dense()).unwrap();
    one.load(&dense(), &mut Dense { next: 1, last: 3 }).unwrap();
    assert_eq!(one.execute("SELECT no_such_function(1)", &[]).unwrap_err().kind, ErrorKind::Unsupported);
    let raise = |number: u32| format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'planned', MYSQL_ERRNO = {number}");
    for (number, kind) in [
        (1021, ErrorKind::DiskFull),
        (1114, ErrorKind::DiskFull),
        (1213, ErrorKind::Busy),
        (1290, ErrorKind::Permission),
        (1365, ErrorKind::Statement),
    ] {
        let error = one.execute(&raise(number), &[]).unwrap_err();
        assert_eq!((error.kind, error.hint.is_some()), (kind, kind != ErrorKind::Statement), "{number}");
    }
    // A lock that is not to be had.
    one.execute("BEGIN", &[]).unwrap();
    one.execute("UPDATE dense SET Money1 = 1 WHERE RowId = 1", &[]).unwrap();
    two.execute("SET SESSION innodb_lock_wait_timeout = 1", &[]).unwrap();
    let error = two.execute("UPDATE dense SET Money1 = 2 WHERE RowId = 1", &[]).unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.hint.unwrap().contains("innodb_lock_wait_timeout"));
    one.execute("ROLLBACK", &[]).unwrap();
}

#[test]
fn requests_know_columns_that_nobody_named() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "unnamed");
    let mut requester = database.requester(&workspace("unnamed"), &workspace("unnamed"), RequestAccess::OWN).unwrap();
    session
        .execute("CREATE TABLE t (a int, b tinyint, c double, d datetime, e decimal(9,2), f text, g json)", &[])
        .unwrap();
    session
        .execute(
            "INSERT INTO t VALUES (1, 2, 3, '2020-02-02', 12.50, 'abc', '[1]'), (1, NULL, 3, NULL, NULL, 'abc', NULL)",
            &[],
        )
        .unwrap();
    let mut ask = |number, sql: &str, columns: Option<&[ColumnType]>| {
        let statement = Statement { number, sql: sql.to_owned(), columns: columns.map(<[_]>::to_vec) };
        requester.ask(&statement, &[])
    };
    let answer = ask(0, "SELECT * FROM t", None).unwrap();
    assert_eq!((answer.rows, answer.content_bytes), (2, 4 + 1 + 8 + 8 + 5 + 3 + 3 + 4 + 8 + 3));
    // Columns that nobody asked for count nothing.
    assert_eq!(ask(1, "SELECT * FROM t", Some(&[ColumnType::Int])).unwrap().content_bytes, 8);
    assert!(ask(2, "SELECT 'x'", Some(&[ColumnType::Int])).is_err());
    assert!(
        ask(3, "SELECT 1", Some(&[ColumnType::Int, ColumnType::Int])).unwrap_err().message.contains("fewer columns")
    );
    // The table is made anew with other columns.
    session.execute("ALTER TABLE t DROP COLUMN f, MODIFY a bigint", &[]).unwrap();
    assert_eq!(ask(0, "SELECT * FROM t", None).unwrap().content_bytes, 8 + 1 + 8 + 8 + 5 + 3 + 8 + 8);
    assert_eq!(ask(1, "SELECT * FROM t", Some(&[ColumnType::Int])).unwrap().content_bytes, 8);
    // What can't be prepared, and what returns several results.
    assert_eq!(ask(4, "LOCK TABLES t READ", None).unwrap().rows, 0);
    assert_eq!(ask(5, "UNLOCK TABLES", None).unwrap().rows, 0);
    session.execute("CREATE PROCEDURE test.twice() BEGIN SELECT 1, 2; SELECT 'a'; END", &[]).unwrap();
    ask(6, "CALL test.twice()", None).unwrap();
    assert_eq!(ask(7, "SELECT 1", None).unwrap().rows, 1);
    server().sql("DROP PROCEDURE twice").unwrap();
}

#[test]
fn a_statement_that_asks_for_a_local_file_hears_that_none_is_read() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "files");
    let mut requester = database.requester(&workspace("files"), &workspace("files"), RequestAccess::OWN).unwrap();
    session.execute("CREATE TABLE t (a varchar(500))", &[]).unwrap();
    let sql = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t";
    let mut ask = |number, sql: &str| {
        let statement = Statement { number, sql: sql.to_owned(), columns: None };
        requester.ask(&statement, &[])
    };
    for error in [ask(0, sql).unwrap_err(), session.execute(sql, &[]).unwrap_err()] {
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error:?}");
        assert!(error.message.contains("local files are not read") && error.hint.is_some(), "{error:?}");
    }
    // Nothing came of it, and both go on.
    assert_eq!(ask(1, "SELECT a FROM t").unwrap().rows, 0);
    assert_eq!(session.query_count("SELECT count(*) FROM t", &[]).unwrap(), 0);
}

#[test]
fn counters_grow_by_what_was_done() {
    let database = open(server());
    let (_lease, mut session) = session(&*database, "counters");
    session.create_table(&dense()).unwrap();
    let mut processes = database.process_sampler().unwrap();
    let (before, engine) = (session.sample().unwrap(), processes.sample().unwrap());
    let files = session.views().unwrap().files;
    let row_summary = session.load(&dense(), &mut Dense { next: 1, last: 20_000 }).unwrap();
    let (after, later) = (session.sample().unwrap(), processes.sample().unwrap());
    assert!(growth(Counter::LogWriteBytes, &before, &after).unwrap() > row_summary.content_bytes as f64);
    let cpu = growth(Counter::EngineCpuSeconds, &engine, &later).unwrap();
    assert!(cpu > 0.0 && cpu < 60.0);
    assert!(value(&later, Counter::DeviceReadBytes).is_some() && value(&later, Counter::DeviceWriteBytes).is_some());
    // A table of a few pages is as large as its rows, and one of many.
    for rows in [300, 3_000] {
        let small = dense().named("small");
        session.drop_table(&small).unwrap();
        session.create_table(&small).unwrap();
        let content = session.load(&small, &mut Dense { next: 1, last: rows }).unwrap().content_bytes;
        let bytes = session.table_size(&small).unwrap().unwrap().table_bytes;
        assert!((content..3 * content).contains(&bytes), "{rows} rows of {content} bytes in {bytes}");
    }
    let log = session.views().unwrap().files;
    assert!(log[0].kind == "log" && log[0].write_bytes > files[0].write_bytes && log[0].writes > files[0].writes);
}

/// Follows a cold start; renews a lease after a restart.
struct Renewing<'a>(&'a mut dyn Lease);

impl ColdFollower for Renewing<'_> {
    fn working(&mut self, _: Arc<dyn Cancel>) {}

    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    fn restarted(&mut self) -> Result<()> {
        self.0.renew()
    }
}

/// After `make_cold` a scan misses every page of the table and reads all of them from the device.
fn a_scan_is_cold(database: &dyn Database, cold: &Cold, expected: &[&str]) {
    let workspace = workspace("cold");
    let table = dense();
    let (mut lease, mut session) = session(database, "cold");
    session.create_table(&table).unwrap();
    session.load(&table, &mut Dense { next: 1, last: 100_000 }).unwrap();
    session.settle_table(&table).unwrap();
    let scan = "SELECT count(*) FROM dense WHERE Text1 <> '' AND Money1 <> 0";
    // Warm: all of it fits into the pool.
    for _ in 0..2 {
        session.query_count(scan, &[]).unwrap();
    }
    drop(session);
    let mut follower = Renewing(lease.as_mut());
    let done = database.make_cold(&workspace, &workspace, std::slice::from_ref(&table), cold, &mut follower).unwrap();
    assert_eq!(done, expected);
    let mut session = database.session(&workspace, &workspace).unwrap();
    let pages = session.table_size(&table).unwrap().unwrap().table_bytes / database.description().page_bytes;
    assert!(pages > 1_000, "{pages}");
    let mut processes = database.process_sampler().unwrap();
    let (before, device) = (session.sample().unwrap(), processes.sample().unwrap());
    assert_eq!(session.query_count(scan, &[]).unwrap(), 100_000);
    let (after, device_after) = (session.sample().unwrap(), processes.sample().unwrap());
    let misses = growth(Counter::CacheMissPages, &before, &after).unwrap();
    let read = growth(Counter::DeviceReadBytes, &device, &device_after).unwrap();
    // The server reads ahead by whole extents, beyond the table's end too.
    assert!((0.98..1.15).contains(&(misses / pages as f64)), "{misses} misses, {pages} pages");
    assert!(read >= 0.98 * 16_384.0 * pages as f64, "{read} bytes, {pages} pages");
    // And the second scan is warm.
    session.query_count(scan, &[]).unwrap();
    let again = growth(Counter::CacheMissPages, &after, &session.sample().unwrap()).unwrap();
    assert!(again < 0.05 * pages as f64, "{again}");
    drop((session, lease));
    assert!(database.remove(&workspace).unwrap());
}

#[test]
fn tables_are_made_cold() {
    // On a disk: memory file systems can't be cold.
    let server = MariaDb::builder().buffer_pool_mb(128).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let database = open(&server);
    let restart = |command: String| Cold { restart_command: Some(command), shared: false };
    a_scan_is_cold(&*database, &Cold::default(), &["displace", "drop-os-cache"]);
    a_scan_is_cold(&*database, &restart(server.restart_command()), &["restart", "drop-os-cache"]);
    let workspace = workspace("cold");
    let failing = restart("echo starting; echo 'no such unit.' >&2; exit 5".to_owned());
    let error = database.make_cold(&workspace, &workspace, &[], &failing, &mut Unfollowed).unwrap_err();
    assert!(error.message.ends_with("failed: no such unit"), "{error}");
}

/// A test makes its tables anew in each repetition, of which it knows the names alone.
#[test]
fn a_table_that_is_made_anew_is_ours_and_nothing_of_others_is_on_it() {
    let database = open(server());
    let (_lease, mut session) = session(database.as_ref(), "anew");
    let (table, place) = (dense(), workspace("anew"));
    session.drop_table(&table).unwrap();
    for (put, take) in [
        ("CREATE TABLE plimsoll_run_anew.dense (theirs int)", "DROP TABLE plimsoll_run_anew.dense"),
        (
            "CREATE TRIGGER plimsoll_run_anew.theirs BEFORE DELETE ON plimsoll_run_anew.dense FOR EACH ROW SET @a = 1",
            "DROP TRIGGER plimsoll_run_anew.theirs",
        ),
        ("CREATE VIEW mysql.theirs AS SELECT * FROM plimsoll_run_anew.dense", "DROP VIEW mysql.theirs"),
    ] {
        if !put.ends_with("(theirs int)") {
            session.create_table(&table).unwrap();
        }
        server().sql(put).unwrap();
        let error = session.drop_table(&table).unwrap_err();
        assert!(error.message.contains(place.name()), "{put}: {error:?}");
        assert_eq!(error.kind, ErrorKind::Safety, "{put}");
        server().sql(take).unwrap();
        session.drop_table(&table).unwrap();
    }
}

/// The server's administrator may let each session begin with statements. They come after the log-in.
#[test]
fn a_session_is_where_it_was_led_whatever_sessions_begin_with() {
    let server = MariaDb::builder().buffer_pool_mb(64).start().unwrap();
    server
        .sql(
            "CREATE DATABASE victim; CREATE TABLE victim.dense (theirs int); INSERT INTO victim.dense VALUES (7); \
             CREATE USER led@localhost; GRANT ALL ON `plimsoll\\_%`.* TO led@localhost; GRANT ALL ON victim.* TO led@localhost",
        )
        .unwrap();
    let url = server.socket_url("").replace("plimsoll@", "led@");
    let temporary = "CREATE TEMPORARY TABLE IF NOT EXISTS plimsoll_run_led.dense LIKE victim.dense";
    let begins = [
        "USE victim",
        "SET collation_connection = ucs2_general_ci",
        "SET NAMES latin1",
        "START TRANSACTION",
        "SET autocommit = 0",
    ];
    for begin in begins.into_iter().chain([temporary]) {
        // The last one needs our place to be there, which is made by a session that begins with nothing.
        let is_temporary = begin == temporary;
        server.sql(&format!("SET GLOBAL init_connect = '{}'", if is_temporary { "" } else { begin })).unwrap();
        let database = try_open(&url, None).unwrap();
        let (lease, mut session) = session(&*database, "led");
        if is_temporary {
            server.sql(&format!("SET GLOBAL init_connect = '{begin}'")).unwrap();
            session = database.session(&workspace("led"), &workspace("led")).unwrap();
        }
        let table = dense();
        session.drop_table(&table).unwrap();
        session.create_table(&table).unwrap();
        let theirs = server.sql("SELECT theirs FROM victim.dense").unwrap();
        assert_eq!(theirs.trim(), "7", "{begin}");
        // Others see what a session did: it began no transaction.
        session.execute("INSERT INTO dense VALUES (1, 1.5, 'x')", &[]).unwrap();
        let mut other = database.session(&workspace("led"), &workspace("led")).unwrap();
        assert_eq!(other.query_count("SELECT count(*) FROM dense", &[]).unwrap(), 1, "{begin}");
        drop(other);
        let ours = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'dense' AND table_schema LIKE 'plimsoll%'";
        assert_eq!(server.sql(ours).unwrap().trim(), "1", "{begin}");
        drop((session, lease));
        assert!(database.remove(&workspace("led")).unwrap(), "{begin}");
    }
}

/// MySQL keeps code in libraries from 9.2 on, and makes none for us.
#[test]
fn a_library_of_somebody_elses_keeps_a_database() {
    let database = open(server());
    let (lease, session) = session(database.as_ref(), "library");
    let make =
        "CREATE LIBRARY plimsoll_run_library.theirs LANGUAGE JAVASCRIPT AS $$ export function f() { return 1 } $$";
    if server().sql(make).is_err() {
        // An older server, or MariaDB.
        return;
    }
    drop((session, lease));
    let error = database.remove(&workspace("library")).unwrap_err();
    assert!(error.message.contains("library theirs"), "{error:?}");
    server().sql("DROP LIBRARY plimsoll_run_library.theirs").unwrap();
    assert!(database.remove(&workspace("library")).unwrap());
}

/// The mark of a database that a self-test makes has the server's own number, as every mark has.
#[test]
fn a_self_test_marks_a_database_as_made_at_this_server() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("server_id", "8").start().unwrap();
    let test = open(&server).self_test().unwrap().unwrap();
    assert_eq!(test.words(), [("server", "8".to_owned())]);
}
