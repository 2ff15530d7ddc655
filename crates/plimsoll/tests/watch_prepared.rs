//! `plimsoll watch` on MariaDB, where statements that clients prepared have no digest: how much that is is said.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::io::BufRead as _;
use std::sync::Arc;

use common::Scene;
use plimsoll_clock::RealClock;
use plimsoll_engine::{
    Credentials, Engine as _, Row, SavedColumn, SavedTable, SavedType, Saving, Target, Value, target,
};
use plimsoll_mysql::MySql;
use plimsoll_testbed::{MariaDb, Product};
use watched::{begun, interrupted};

const SAID: &str = "by statements that clients prepared (binary protocol)";

fn server() -> MariaDb {
    let builder = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON");
    let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    server.sql("CREATE TABLE held (k INT)").unwrap();
    server
}

/// What adds rows by statements that it prepares, and the table.
fn preparing(server: &MariaDb) -> (Saving, SavedTable) {
    target::register(vec![MySql.notation()]);
    let url = Target::parse(&server.socket_url("test")).unwrap();
    let database = MySql.open(&url, &Credentials::default(), Arc::new(RealClock::new())).unwrap();
    let columns = vec![SavedColumn { name: "k", kind: SavedType::Whole }];
    let table = SavedTable { schema: None, name: "kept".to_owned(), columns, key: 1 };
    let mut saving = database.saving().unwrap().unwrap();
    saving.begin(&[&table]).unwrap();
    (saving, table)
}

fn add(saving: &mut Saving, table: &SavedTable, times: usize) {
    let mut row = Row::default();
    row.push(Value::BigInt(1));
    (0..times).for_each(|_| saving.add(&[(table, std::slice::from_ref(&row))]).unwrap());
}

#[test]
fn executions_that_are_in_no_row_are_said() {
    let (scene, server) = (Scene::new(), server());
    let (url, is_mariadb) = (server.socket_url("test"), server.product() == Product::MariaDb);
    let (mut saving, table) = preparing(&server);
    let plain = || drop(server.sql(&"INSERT INTO held VALUES (1); ".repeat(200)).unwrap());
    // What is prepared and seldom executed is nothing: making the table took a moment of the time.
    plain();
    server.sql("DO SLEEP(3)").unwrap();
    assert!(!scene.say(&["watch", "check", &url]).out.contains(SAID));
    let words = ["watch", &url, "--every", "1s", "--json"];
    let (child, lines, _) = begun(&scene, &words);
    plain();
    let (code, _, err) = interrupted(child, lines);
    assert!(code == 130 && !err.contains(SAID), "{err}");
    let (child, mut lines, _) = begun(&scene, &words);
    add(&mut saving, &table, 400);
    lines.read_line(&mut String::new()).unwrap();
    let (code, _, err) = interrupted(child, lines);
    assert_eq!((code, err.contains(SAID)), (130, is_mariadb), "{err}");
    if is_mariadb {
        let line = err.lines().find(|line| line.contains(SAID)).unwrap();
        let percent: f64 = line.split_once(": ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
        // Each has a `BEGIN` and a `COMMIT` beside it.
        assert!((20.0..=34.0).contains(&percent) && line.contains("of the time"), "{line}");
    }
    let checked = scene.say(&["watch", "check", &url, "--json"]).json();
    let warned = checked[0]["warnings"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().contains(SAID));
    assert_eq!(warned, is_mariadb, "{checked:#?}");
    let said = scene.say(&["watch", "check", &url]).out;
    assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(SAID), is_mariadb, "{said}");
}

/// What the count of the binary protocol is made of, and why the status variable is another one.
#[test]
fn the_event_counts_what_clients_prepared_and_the_status_more() {
    let server = server();
    if server.product() == Product::MySql {
        return;
    }
    let counted = || {
        let event = "(SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_global_by_event_name \
                     WHERE EVENT_NAME IN ('statement/com/Execute', 'statement/com/Bulk_execute'))";
        let status =
            "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_STMT_EXECUTE')";
        let digests = "(SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest \
                       WHERE DIGEST_TEXT LIKE '%kept%' OR DIGEST_TEXT LIKE 'EXECUTE%')";
        let said = server.sql(&format!("SELECT {event}, {status}, {digests}")).unwrap();
        let numbers: Vec<i64> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
        [numbers[0], numbers[1], numbers[2]]
    };
    let (mut saving, table) = preparing(&server);
    let grown = |work: &mut dyn FnMut()| {
        let before = counted();
        work();
        let after = counted();
        [0, 1, 2].map(|at| after[at] - before[at])
    };
    add(&mut saving, &table, 1);
    assert_eq!(grown(&mut || add(&mut saving, &table, 30)), [30, 30, 0]);
    let text = "PREPARE held FROM 'SELECT k FROM held'; EXECUTE held; EXECUTE held; EXECUTE held";
    assert_eq!(grown(&mut || drop(server.sql(text).unwrap())), [0, 3, 3]);
}
