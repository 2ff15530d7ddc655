//! The statements of the driver, sent to a server of our own: each works, and answers as it is documented.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, OnceLock};
use std::thread;

use plimsoll_clock::RealClock;
use plimsoll_engine::statements::{EXAMPLE_NEW_PLACE, EXAMPLE_PLACE, EXAMPLE_TABLE};
use plimsoll_engine::{
    ClaimMode, ColumnType, Credentials, Database, Engine as _, Entry, ErrorKind, Refused, Row, RowSource, SelfTest,
    Shape, Table, Target, Touches, Value, Workspace,
};
use plimsoll_mysql::MySql;
use plimsoll_testbed::{MariaDb, Product};

/// One server for all tests; MySQL's Performance Schema is on by itself.
fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON").start().unwrap())
}

fn open(url: &str) -> Box<dyn Database> {
    MySql.open(&Target::parse(url).unwrap(), &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// Places of ours: the one that is there, and one that isn't, as examples call them and as they are called here.
const PLACES: [(&str, &str); 2] =
    [(EXAMPLE_PLACE, "plimsoll_run_statements"), (EXAMPLE_NEW_PLACE, "plimsoll_run_statementsb")];

fn send(test: &mut dyn SelfTest, entry: &Entry) -> Result<Shape, Box<Refused>> {
    let rename = |word: &String| PLACES.iter().fold(word.clone(), |word, (from, to)| word.replace(from, to));
    let words: Vec<(&str, String)> = entry.example.iter().map(|(gap, word)| (gap.as_str(), rename(word))).collect();
    let words: Vec<(&str, &str)> = words.iter().map(|(gap, word)| (*gap, word.as_str())).collect();
    let sql = test.statements().example(entry, &words).unwrap();
    test.send(entry, &sql, &[]).unwrap().map_err(Box::new)
}

/// Some rows.
struct Numbers(std::ops::Range<i32>);

impl RowSource for Numbers {
    fn next(&mut self, row: &mut Row) -> plimsoll_engine::Result<bool> {
        Ok(self.0.next().inspect(|number| row.push(Value::Int(*number))).is_some())
    }
}

/// The statements that a server of this edition has, in the order of a self-test: those that need no place go first.
fn entries(test: &dyn SelfTest) -> Vec<&'static Entry> {
    let of = |touches| {
        let entries = test.statements().entries().iter();
        entries.filter(move |entry| entry.touches == touches && entry.is_in(test.edition()))
    };
    of(Touches::Nothing).chain(of(Touches::Workspace)).collect()
}

#[test]
fn every_statement_works_and_answers_as_documented() {
    let database = open(&server().socket_url("test"));
    let workspace = Workspace::from_name(PLACES[0].1).unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&workspace, &workspace).unwrap();
    let table = Table::new(EXAMPLE_TABLE, &[("RowId", ColumnType::Int)]);
    session.create_table(&table).unwrap();
    session.load(&table, &mut Numbers(1..1_000)).unwrap();
    let mut test = database.self_test().unwrap().unwrap();
    let mut wrong = Vec::new();
    let entries = entries(&*test);
    assert!(entries.len() > 45, "{}", entries.len());
    let mut empty = Vec::new();
    for entry in entries {
        match send(&mut *test, entry) {
            Ok(shape) if shape.columns == entry.answer => {
                if shape.rows == 0 && !entry.answer.is_empty() {
                    empty.push(entry.name.as_str());
                }
            }
            other => wrong.push(format!("{}: {other:#?}", entry.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each session has a thread, nobody waits, everything is ours, and nothing went wrong.
    let is_mysql = empty.contains(&"holders of locks of MySQL");
    let mut expected = vec!["limit of threads"];
    expected.extend((!is_mysql).then_some("queue of the pool of MariaDB"));
    expected
        .extend(["transactions", if is_mysql { "holders of locks of MySQL" } else { "holders of locks of MariaDB" }]);
    // The text of no digest is asked for, and nobody is in a transaction.
    expected.extend(["texts of statements", "open transactions"]);
    expected.extend(is_mysql.then_some("libraries in a database of MySQL"));
    expected.extend([
        "triggers of a table",
        "what depends on a database",
        "views that can't be read",
        "foreign keys of a database",
        "warnings",
    ]);
    assert_eq!(empty, expected);
    drop((session, test, lease));
    assert!(database.remove(&workspace).unwrap());
}

/// What a user without any right is refused has the right in its row, and the driver knows what the refusal means.
#[test]
fn what_needs_a_right_says_which() {
    server().sql("CREATE USER nobody@localhost").unwrap();
    let database = open(&server().socket_url("").replace("plimsoll@", "nobody@"));
    let mut test = database.self_test().unwrap().unwrap();
    let mut refused = Vec::new();
    for entry in entries(&*test) {
        if let Err(answer) = send(&mut *test, entry) {
            let Refused { code, error, .. } = *answer;
            assert!(entry.permission.is_some(), "{}: {code} {error}", entry.name);
            assert_eq!(error.kind, ErrorKind::Permission, "{}: {code} {error}", entry.name);
            refused.push(entry.name.as_str());
        }
    }
    let product = if server().product() == Product::MySql { "MySQL" } else { "MariaDB" };
    let size = format!("size of a database of {product}");
    for name in ["transactions", "waits", "right to see pages of tables", "flush a table", "load", &size] {
        assert!(refused.contains(&name), "{name}: {refused:?}");
    }
}

#[test]
fn a_refusal_has_the_servers_number_and_the_line() {
    let mut test = open(&server().socket_url("test")).self_test().unwrap().unwrap();
    let entry = test.statements().get("status");
    let refused = test.send(entry, "SELECT 1,\nFROM 2", &[]).unwrap().unwrap_err();
    assert_eq!((refused.code.as_str(), refused.at, refused.error.kind), ("1064", Some(2), ErrorKind::Statement));
    // Another one goes on after it.
    assert!(send(&mut *test, entry).is_ok());
}

#[test]
fn a_statement_that_takes_too_long_is_cancelled_and_refused() {
    let mut test = open(&server().socket_url("test")).self_test().unwrap().unwrap();
    let (entry, canceller) = (test.statements().get("status"), test.canceller().unwrap());
    let endless = "WITH RECURSIVE d (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 1000) \
                   SELECT COUNT(*) FROM d a, d b, d c, d e, d f";
    let worker = thread::spawn(move || {
        let refused = test.send(entry, endless, &[]).unwrap().unwrap_err();
        (refused.code, refused.error.kind, send(&mut *test, entry).is_ok())
    });
    let working = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'WITH RECURSIVE d (n)%'";
    while server().sql(working).unwrap().trim() != "1" {
        thread::yield_now();
    }
    canceller.cancel();
    assert_eq!(worker.join().unwrap(), ("1317".to_owned(), ErrorKind::Cancelled, true));
}

#[test]
fn what_a_report_must_not_have_is_known() {
    let test = open(&server().tcp_url("plimsoll", server().password(), "test")).self_test().unwrap().unwrap();
    let names = test.names();
    for name in ["plimsoll", "127.0.0.1", "test"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let host = server().sql("SELECT @@hostname").unwrap();
    assert!(names.contains(&host), "{host}: {names:?}");
    assert!(names.iter().all(|name| !name.contains(server().password())));
}
