//! Requests of a definition's own, on a real PostgreSQL, on SQLite and on the lab; the examples; groups of tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use common::{Said, Scene};
use plimsoll_testbed::Postgres;
use serde_json::Value;

const LAB: &str = "lab:azure-sql-db/S2@v12-retest";

/// One server for all tests of this file.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
    })
}

/// A database of a test's own, with these statements run in it.
fn database(name: &str, sql: &str) -> String {
    server().psql(&format!("CREATE DATABASE {name}")).unwrap();
    server().psql_in(name, sql).unwrap();
    server().socket_url(name)
}

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples").join(name).canonicalize().unwrap().display().to_string()
}

/// Writes a definition into the scene.
fn definition(scene: &Scene, text: &str) -> String {
    let path: PathBuf = scene.path("own.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn run(scene: &Scene, test: &str, target: &str, more: &[&str]) -> Said {
    let words = ["run", test, "--target", target, "--json", "--quiet", "--repetitions", "1", "--set", "duration=1s"];
    scene.say(&[&words[..], more].concat())
}

fn kinds(record: &Value) -> Vec<Value> {
    record["repetitions"][0]["requests"].as_array().unwrap().clone()
}

fn operations(record: &Value) -> u64 {
    kinds(record).iter().map(|kind| kind["operations"].as_u64().unwrap()).sum()
}

/// Tables of the same shape as those of `pgbench -i -s 1`.
const PGBENCH: &str = "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88)); \
    CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84)); \
    CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84)); \
    CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)); \
    INSERT INTO pgbench_branches VALUES (1, 0, ''); \
    INSERT INTO pgbench_tellers SELECT g, 1, 0, '' FROM generate_series(1, 10) g; \
    INSERT INTO pgbench_accounts SELECT g, 1, 0, '' FROM generate_series(1, 100000) g";

/// Tables of the same shape as sysbench's.
fn sysbench() -> String {
    let table = |number: u32| {
        format!(
            "CREATE TABLE sbtest{number} (id serial PRIMARY KEY, k int NOT NULL, c char(120) NOT NULL, pad char(60) NOT NULL); \
             INSERT INTO sbtest{number} (k, c, pad) SELECT g, 'c', 'p' FROM generate_series(1, 1000) g"
        )
    };
    (1..=8).map(table).collect::<Vec<_>>().join("; ")
}

#[test]
fn pgbench_is_an_example_and_its_books_balance() {
    let scene = Scene::new();
    let target = database("pgbench", PGBENCH);
    let record = &run(&scene, &example("pgbench-select.toml"), &target, &["--set", "sessions=4"]).json()[0];
    assert!(record["error"].is_null() && operations(record) > 100, "{record}");
    let kind = &kinds(record)[0];
    assert_eq!((&kind["kind"], &kind["rows"]), (&"select".into(), &kind["operations"]));
    assert_eq!(record["parameters"]["scale"], 1);

    let write = example("pgbench-tpcb.toml");
    let refused = run(&scene, &write, &target, &[]);
    refused.failed(6, &["writes to existing tables", "--allow-writes"]);
    let count = || server().psql_in("pgbench", "SELECT count(*) FROM pgbench_history").unwrap().trim().to_owned();
    assert_eq!(count(), "0");
    let record = &run(&scene, &write, &target, &["--allow-writes", "--set", "sessions=4"]).json()[0];
    assert!(record["error"].is_null(), "{record}");
    // Every transaction that was counted is there, whole; one that the end cut off may be too.
    assert!(count().parse::<u64>().unwrap() >= operations(record));
    let books = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) \
                 AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches) \
                 AND (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)";
    assert_eq!(server().psql_in("pgbench", books).unwrap().trim(), "t");
}

#[test]
fn sysbench_is_an_example_on_every_engine() {
    let scene = Scene::new();
    let target = database("sysbench", &sysbench());
    let few = ["--set", "table_size=1000", "--set", "sessions=2"];
    let record = &run(&scene, &example("sysbench-point-select.toml"), &target, &few).json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!(kinds(record)[0]["rows"], kinds(record)[0]["operations"]);
    // A row of a char(120) each.
    let bytes = kinds(record)[0]["content_bytes"].as_u64().unwrap();
    assert_eq!(bytes, 120 * operations(record));

    let mixed = example("sysbench-read-write.toml");
    for target in [target.as_str(), &scene.sqlite(), LAB] {
        let record = &run(&scene, &mixed, target, &few).json()[0];
        assert!(record["error"].is_null() && operations(record) > 0, "{target}: {record}");
        assert!(!record["warnings"].to_string().contains("could not be removed"), "{record}");
    }
    let left = server().psql_in("sysbench", "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'");
    assert_eq!(left.unwrap().trim(), "0");
    assert_eq!(server().psql_in("sysbench", "SELECT max(k) FROM sbtest1").unwrap().trim(), "1000", "theirs");
    assert!(scene.leftovers().is_empty());
}

/// Each half of a transaction takes a row that the other half of another wants.
const CROSSING: &str = r#"
name = "crossing"
steps = ["requests"]
existing = true
writes = true
[setup]
statements = ["CREATE TABLE counts (id int PRIMARY KEY, n int)", "INSERT INTO counts VALUES (1, 0), (2, 0)"]
[[request]]
name = "up"
statements = ["UPDATE counts SET n = n + 1 WHERE id = 1", "SELECT :text::text", "UPDATE counts SET n = n + 1 WHERE id = 2"]
[request.parameters]
text = { text = 10 }
[[request]]
name = "down"
statements = ["UPDATE counts SET n = n + 1 WHERE id = 2", "UPDATE counts SET n = n + 1 WHERE id = 1"]
[cleanup]
statements = ["INSERT INTO public.seen SELECT * FROM counts"]
"#;

#[test]
fn deadlocks_are_rolled_back_and_tried_again_as_a_class_of_their_own() {
    let scene = Scene::new();
    let target = database("crossing", "CREATE TABLE seen (id int, n int)");
    server().psql("ALTER DATABASE crossing SET deadlock_timeout = '5ms'").unwrap();
    let record =
        &run(&scene, &definition(&scene, CROSSING), &target, &["--allow-writes", "--set", "sessions=4"]).json()[0];
    let kinds = kinds(record);
    let sum = |key: &str| kinds.iter().map(|kind| kind[key].as_u64().unwrap_or(0)).sum::<u64>();
    assert!(sum("retries") > 0, "{record}");
    for kind in &kinds {
        assert!(kind["errors"].as_object().is_none_or(|errors| errors.keys().all(|class| class == "busy")), "{kind}");
    }
    // What was rolled back left nothing: both rows were raised alike. The end may have cut off an answer for each session.
    let seen = server().psql_in("crossing", "SELECT min(n), max(n) FROM seen").unwrap();
    let (low, high) = seen.trim().split_once('|').unwrap();
    assert_eq!(low, high);
    let over = low.parse::<u64>().unwrap() - sum("operations");
    assert!(over <= 4, "{low} {record}");
}

/// Some of the requests fail by what they ask for.
const FAILING: &str = r#"
name = "failing"
steps = ["requests"]
existing = true

[[request]]
name = "good"
weight = 90
statements = ["SELECT 1"]

[[request]]
name = "bad"
weight = 10
statements = ["SELECT 1 / 0"]

[parameters]
sessions = 1
"#;

#[test]
fn failures_that_are_allowed_are_a_warning_and_others_end_the_run() {
    let scene = Scene::new();
    let target = database("failing", "SELECT 1");
    let own = definition(&scene, FAILING);
    run(&scene, &own, &target, &[]).failed(7, &["of the requests failed", "division by zero", "allowed_failures"]);
    let record = &run(&scene, &own, &target, &["--set", "allowed_failures=50"]).json()[0];
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("of the requests failed (bad") && warnings.contains("division by zero"), "{warnings}");
    assert!(record["error"].is_null() && record["verdict"].is_object(), "{record}");
}

#[test]
fn existing_tables_are_read_only_unless_writing_is_allowed() {
    let scene = Scene::new();
    let target = database(
        "existing",
        "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 10); CREATE SEQUENCE numbers",
    );
    let with = |statement: &str| {
        let text = format!(
            "name = \"x\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\nstatements = [\"{statement}\"]\n"
        );
        definition(&scene, &text)
    };
    // What says that it writes is refused by us, what hides it by the server.
    let said = run(&scene, &with("DELETE FROM t"), &target, &[]);
    said.failed(2, &["own.toml:5:", "writes"]);
    let hidden = "SELECT nextval('numbers')";
    let said = run(&scene, &with(hidden), &target, &[]);
    said.failed(7, &["read-only transaction"]);
    assert_eq!(server().psql_in("existing", "SELECT count(*) FROM t").unwrap().trim(), "10");
    let said = run(&scene, &with("SELECT id FROM missing_table"), &target, &[]);
    said.failed(7, &["missing_table", "request"]);
    let said = run(&scene, &with("SELECT id FROM t"), LAB, &[]);
    said.failed(2, &["existing"]);
}

/// Each session counts the response times of each kind by itself, and the program takes a limited part of the memory.
#[test]
fn more_kinds_of_requests_than_there_is_memory_for_are_refused_before_anything_is_done() {
    let scene = Scene::new();
    let kinds = |count: u32| -> String {
        let kind = |n| format!("[[request]]\nname = \"r{n}\"\nstatements = [\"SELECT 1\"]\n");
        let all = (0..count).map(kind).collect::<String>();
        definition(&scene, &format!("name = \"x\"\nsteps = [\"requests\"]\n{all}"))
    };
    let target = scene.sqlite();
    run(&scene, &kinds(700), &target, &["--set", "sessions=8"])
        .failed(2, &["700 kinds of requests in 8 sessions", "fewer sessions"]);
    let statement = format!(
        "name = \"x\"\nsteps = [\"requests\"]\n[[request]]\nstatements = [\"SELECT 1 -- {}\"]\n",
        "x".repeat(1 << 20)
    );
    run(&scene, &definition(&scene, &statement), &target, &[]).failed(2, &["own.toml:4:", "at most 1 MB"]);
    // Each session keeps all statements.
    let shorter = definition(&scene, &statement.replace(&"x".repeat(1 << 20), &"x".repeat(1_000_000)));
    run(&scene, &shorter, &target, &["--set", "sessions=200"]).failed(2, &["bytes of statements in 200 sessions"]);
    assert!(scene.leftovers().is_empty());
}

#[test]
fn parameters_that_do_not_fit_or_find_nothing_are_told() {
    let scene = Scene::new();
    let target = database("parameters", "CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 10)");
    let with = |draw: &str| {
        let text = format!(
            "name = \"x\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\nname = \"look\"\n\
             statements = [\"SELECT id FROM t WHERE id = :a\"]\n[request.parameters]\na = {{ {draw} }}\n"
        );
        definition(&scene, &text)
    };
    let said = run(&scene, &with("text = 8"), &target, &[]);
    said.failed(2, &["request 'look'", "parameter 1"]);
    let record = &run(&scene, &with("uniform = [100, 200]"), &target, &[]).json()[0];
    assert!(record["warnings"].to_string().contains("'look' touched no row"), "{record}");
    let record = &run(&scene, &with("uniform = [1, 10]"), &target, &[]).json()[0];
    assert!(!record["warnings"].to_string().contains("touched no row"), "{record}");
}

#[test]
fn sqlite_reads_the_file_that_is_named_and_never_writes_to_it() {
    let scene = Scene::new();
    let file = scene.path("data.db");
    let existing = "name = \"x\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\n\
                    statements = [\"SELECT a, b FROM words WHERE a = :a\"]\n[request.parameters]\na = { column = \"words.a\" }\n";
    run(&scene, &definition(&scene, existing), &scene.sqlite(), &[]).failed(4, &["does not exist"]);
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE words (a INTEGER, b TEXT); INSERT INTO words VALUES (7, 'abc')").unwrap();
    drop(connection);
    let before = std::fs::read(&file).unwrap();
    let record = &run(&scene, &definition(&scene, existing), &scene.sqlite(), &[]).json()[0];
    assert!(record["error"].is_null(), "{record}");
    // An integer and a text of three letters.
    assert_eq!(kinds(record)[0]["content_bytes"].as_u64().unwrap(), 11 * operations(record));
    let writing = existing.replace("existing = true", "existing = true\nwrites = true");
    run(&scene, &definition(&scene, &writing), &scene.sqlite(), &["--allow-writes"]).failed(2, &["never written to"]);
    assert!(std::fs::read(&file).unwrap() == before);
    // Of an empty file it would remove what lies beside it.
    let empty = scene.path("empty.db");
    std::fs::write(&empty, "").unwrap();
    std::fs::write(scene.path("empty.db-wal"), "foreign").unwrap();
    let target = format!("sqlite:{}", empty.display());
    run(&scene, &definition(&scene, existing), &target, &[]).failed(4, &["empty.db is empty"]);
    assert_eq!(std::fs::read_to_string(scene.path("empty.db-wal")).unwrap(), "foreign");
    for name in ["empty.db", "empty.db-wal"] {
        std::fs::remove_file(scene.path(name)).unwrap();
    }
    // SQLite would wait for ever for somebody to write to it.
    let pipe = scene.path("data.db-journal");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    run(&scene, &definition(&scene, existing), &scene.sqlite(), &[]).failed(6, &["data.db-journal is a FIFO"]);
    std::fs::remove_file(&pipe).unwrap();
    assert!(scene.leftovers().is_empty());
}

/// What a request makes is removed with all that comes along with it.
#[test]
fn a_virtual_table_goes_with_what_it_keeps() {
    let scene = Scene::new();
    let own = definition(
        &scene,
        "name = \"words\"\nsteps = [\"requests\"]\n[[request]]\nstatements = [\"CREATE VIRTUAL TABLE IF NOT EXISTS v USING fts5(x)\", \
         \"INSERT INTO v VALUES ('a')\"]\n",
    );
    let said = run(&scene, &own, &scene.sqlite(), &["--set", "sessions=1"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

const SMALL: &str = r#"
name = "small"
steps = ["requests"]
copies = 2
[variables]
size = 100
[setup]
statements = [
    "CREATE TABLE t{n} (id INTEGER PRIMARY KEY, n INTEGER, word TEXT)",
    { postgresql = "INSERT INTO t{n} SELECT g, 0, 'w' FROM generate_series(1, {size}) g", sqlite = "WITH RECURSIVE s(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < {size}) INSERT INTO t{n} SELECT g, 0, 'w' FROM s" },
]
[[request]]
name = "new"
statements = ["INSERT INTO t{n} VALUES (:id, :n, :word)"]
[request.parameters]
id = { sequence = "size + 1" }
n = { zipf = [1, 100] }
word = { text = 20 }
[[request]]
name = "both"
weight = 3
statements = ["SELECT * FROM t{n} WHERE id BETWEEN :low AND :high", "UPDATE t{n} SET n = n + 1 WHERE id = :low"]
[request.parameters]
low = { newest = [1, "size"] }
high = { plus = ["low", 9] }
"#;

#[test]
fn own_requests_are_the_same_twice_on_the_lab() {
    let scene = Scene::new();
    let own = definition(&scene, SMALL);
    let record = || {
        let mut record = run(&scene, &own, LAB, &["--set", "size=200", "--set", "duration=5s"]).json().remove(0);
        assert!(record["error"].is_null() && operations(&record) > 100, "{record}");
        for key in ["run_id", "host"] {
            record.as_object_mut().unwrap().remove(key);
        }
        record
    };
    let one = record();
    assert_eq!(one["parameters"]["size"], 200);
    assert_eq!(one, record());
}

#[test]
fn a_sequence_that_comes_to_the_end_of_the_numbers_ends_the_run() {
    let scene = Scene::new();
    let own = definition(&scene, &SMALL.replace("size + 1", "9223372036854775707"));
    run(&scene, &own, LAB, &["--set", "duration=1m"])
        .failed(2, &["request 'new'", "parameter 'id'", "the highest number"]);
}

/// A clean-up is made after an error and after an interrupt as well.
#[test]
fn clean_up_is_made_however_the_run_ends() {
    let scene = Scene::new();
    let target = database("cleanup", "CREATE TABLE log (word text)");
    let text = "name = \"x\"\nsteps = [\"requests\"]\nexisting = true\nwrites = true\n\
                [setup]\nstatements = [\"INSERT INTO log VALUES ('begun')\"]\n\
                [cleanup]\nstatements = [\"INSERT INTO log VALUES ('ended')\"]\n\
                [[request]]\nstatements = [\"SELECT word FROM log\"]\n";
    let words = || server().psql_in("cleanup", "SELECT string_agg(word, ' ') FROM log").unwrap().trim().to_owned();
    let wrong = definition(&scene, &text.replace("FROM log", "FROM lgo"));
    run(&scene, &wrong, &target, &["--allow-writes"]).failed(7, &["lgo"]);
    assert_eq!(words(), "begun ended");
    let own = definition(&scene, text);
    let child = scene.spawn(&["run", &own, "--target", &target, "--allow-writes", "--set", "duration=10m", "--json"]);
    let since = Instant::now();
    while words() != "begun ended begun" {
        assert!(since.elapsed() < Duration::from_mins(1), "the set-up was not made");
        thread::sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    assert_eq!(words(), "begun ended begun ended");
}

#[test]
fn a_group_says_how_its_tests_are_run() {
    let scene = Scene::new();
    let set = ["--group", "limited", "--short", "--set", "rate=50"];
    let record = &run(&scene, "insert", LAB, &set).json()[0];
    let parameters = &record["parameters"];
    assert_eq!((&parameters["group"], &parameters["rate"]), (&"limited".into(), &50.into()));
    assert_eq!((&parameters["duration"], &parameters["sessions"]), (&1.0.into(), &8.into()));
    run(&scene, "insert", LAB, &["--group", "limitd"]).failed(2, &["did you mean 'limited'"]);
    run(&scene, "read-scan", LAB, &["--group", "quick"]).failed(2, &["no test of the group 'quick'"]);
    let list = scene.say(&["tests"]).out;
    assert!(list.contains("Unlimited tests (UT)"), "{list}");
    let shown = scene.say(&["tests", "show", "limited"]).out;
    assert!(shown.contains("[test.mix-b]"), "{shown}");
    let both = scene.say(&["tests", "show", "scale"]).out;
    assert!(both.contains("[mix]") && both.contains("Scale tests (ST)"), "{both}");
}

#[test]
fn folders_of_killed_runs_go_and_one_that_holds_more_is_listed() {
    let scene = Scene::new();
    let temporary = scene.path("temporary");
    for name in ["plimsoll-lab-dead", "plimsoll-scratch-dead", "plimsoll-lab-more"] {
        let folder = temporary.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        drop(plimsoll_engine::temporary::Folder::claim(folder.clone()).unwrap());
    }
    std::fs::write(temporary.join("plimsoll-lab-more/letters"), "mine").unwrap();
    let clean = |words: &[&str]| common::said(&scene.command(words).env("TMPDIR", &temporary).output().unwrap());
    for target in [scene.sqlite().as_str(), "lab:azure-sql-db/S2"] {
        let said = clean(&["clean", "--dry-run", target]);
        for name in ["plimsoll-lab-dead", "plimsoll-scratch-dead"] {
            assert!(said.out.contains(&format!("would remove {}/{name}", temporary.display())), "{said:?}");
            assert!(temporary.join(name).exists());
        }
    }
    let said = clean(&["clean", &scene.sqlite()]);
    assert!(said.code == 0 && said.err.contains("removed 2 folders of killed runs"), "{said:?}");
    let left = format!("left alone {}/plimsoll-lab-more", temporary.display());
    assert!(said.err.contains(&left) && said.err.contains("holds something that is not ours"), "{said:?}");
    assert!(temporary.join("plimsoll-lab-more/letters").exists() && !temporary.join("plimsoll-lab-dead").exists());
}
