//! The whole path on a real MariaDB: complete runs, proofs, every way to be refused, and what is left after a kill.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::sync::OnceLock;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use serde_json::Value;

const PLANTED: &str = "planted-pa55word";

/// One server for the tests of this file that don't count what is on it.
fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = server_of_its_own();
        let users = format!(
            "CREATE USER owner@'127.0.0.1', visitor@'127.0.0.1', reader@'127.0.0.1' IDENTIFIED BY '{PLANTED}'; \
             GRANT ALL ON `plimsoll\\_%`.* TO owner@'127.0.0.1'; GRANT SELECT ON test.* TO owner@'127.0.0.1'; \
             SET PASSWORD FOR owner@'127.0.0.1' = PASSWORD('{PLANTED}'); \
             SET PASSWORD FOR visitor@'127.0.0.1' = PASSWORD('{PLANTED}')"
        );
        server.sql(&users).unwrap();
        server
    })
}

fn server_of_its_own() -> MariaDb {
    MariaDb::builder().buffer_pool_mb(256).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

fn over_tcp(user: &str, database: &str) -> String {
    format!("mariadb://{user}@127.0.0.1:{}/{database}", server().port())
}

/// Databases of ours on a server.
fn databases(server: &MariaDb) -> String {
    server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn points(record: &Value) -> impl Iterator<Item = &Value> {
    record["repetitions"].as_array().unwrap().iter().flat_map(|repetition| repetition["points"].as_array().unwrap())
}

/// Matches by N, whoever timed it.
fn matches(record: &Value) -> std::collections::BTreeMap<u64, u64> {
    points(record)
        .map(|point| (point["metrics"]["join_rows"].as_u64().unwrap(), point["metrics"]["matches"].as_u64().unwrap()))
        .collect()
}

/// Misses come to the pages; the server reads ahead by whole extents. Where the device can be seen, it delivered them.
fn proved_cold(record: &Value) {
    for repetition in record["repetitions"].as_array().unwrap() {
        let cold = &repetition["cold"];
        assert!((98.0..=125.0).contains(&number(&cold["engine_miss_percent"])), "{cold}");
        if common::on_a_device(std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))) {
            assert!(number(&cold["device_read_percent"]) >= 98.0 && cold["verified"] == true, "{cold}");
        }
    }
}

#[test]
fn every_test_is_complete_and_proved_and_agrees_with_sqlite() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    for (test, sets) in [
        ("read-scan", &["--set", "volume=128MiB"][..]),
        ("read-scan-weak", &["--set", "volume=40MiB"]),
        ("client-read", &["--set", "volume=40MiB"]),
        (
            "write-chunk",
            &["--set", "volume=20MiB", "--set", "chunk=2MiB", "--set", "source=256KiB", "--set", "at_least=0s"],
        ),
        ("cpu-join", &["--set", "rows=2000", "--set", "stop_after=1m"]),
        ("memory", &[]),
        ("insert-latency", &["--set", "commits=500"]),
        ("mix-b", &["--set", "duration=2s", "--set", "volume=20MiB"]),
        ("bulk-load", &["--set", "duration=2s", "--set", "volume=20MiB"]),
    ] {
        let words = ["run", test, "--target", &target, "--short", "--json", "--repetitions", "2"];
        let said = scene.say(&[&words[..], sets].concat());
        assert_eq!(said.code, 0, "{test}: {said:#?}");
        let record = said.json().remove(0);
        assert_eq!(record["engine"], "mariadb");
        assert_eq!(record["repetitions"].as_array().unwrap().iter().filter(|r| r["complete"] == true).count(), 2);
        match test {
            "read-scan" | "client-read" => proved_cold(&record),
            "read-scan-weak" => assert!(!record["warnings"].to_string().contains("no effect"), "{record}"),
            "write-chunk" => points(&record).for_each(|point| {
                assert!(number(&point["metrics"]["log_bytes"]) > number(&point["metrics"]["content_bytes"]));
                assert!(number(&point["metrics"]["page_bytes"]) > number(&point["metrics"]["content_bytes"]));
            }),
            "cpu-join" => {
                let local =
                    scene.say(&[&["run", test, "--target", &scene.sqlite(), "--short", "--json"][..], sets].concat());
                assert_eq!(matches(&record), matches(&local.json()[0]), "a join has the same matches on both engines");
            }
            "memory" => {
                let found = number(&record["result"]["value"]);
                assert!((found / 256.0 - 1.0).abs() <= 0.1, "{found} MB of a buffer pool of 256 MB");
            }
            _ => {
                let failed = record["repetitions"][0]["requests"].as_array().into_iter().flatten();
                assert!(failed.clone().count() > 0, "{record}");
                for kind in failed {
                    assert!(kind["operations"].as_u64().unwrap() > 0, "{kind}");
                }
            }
        }
        assert_eq!(databases(&server), "", "{test} left something");
    }
    // The same by restarts.
    let words =
        ["run", "read-scan", "--target", &target, "--short", "--json", "--repetitions", "2", "--set", "volume=40MiB"];
    let said = scene.say(&[&words[..], &["--restart-command", &server.restart_command()]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let record = &said.json()[0];
    assert_eq!(record["repetitions"][0]["cold"]["methods"][0], "restart");
    proved_cold(record);
}

#[test]
fn whoever_cannot_get_in_is_told_why_and_no_password_is_seen_anywhere() {
    let scene = Scene::new();
    std::fs::write(scene.path("right"), format!("{PLANTED}\n")).unwrap();
    std::fs::write(scene.path("wrong"), format!("{PLANTED}-not\n")).unwrap();
    let run = |target: &str, more: &[&str]| {
        let words = ["run", "read-scan", "--target", target, "--short", "--json", "--set", "volume=8MiB"];
        scene.say(&[&words[..], more].concat())
    };
    let right = &["--password-file", "right"][..];
    let mut all: Vec<Said> = Vec::new();
    let mut expect = |said: Said, code: i32, words: &[&str]| {
        said.failed(code, words);
        assert_eq!(said.json()[0]["error"]["exit_code"], code);
        all.push(said);
    };
    expect(run("mysql://u@127.0.0.1:1/db", right), 4, &["127.0.0.1:1"]);
    expect(run("mysql://u@no.such.host.invalid/db", right), 4, &["no.such.host.invalid"]);
    expect(run(&over_tcp("owner", ""), &["--password-file", "wrong"]), 4, &["owner"]);
    expect(run(&over_tcp("owner", ""), &[]), 4, &["password"]);
    expect(run(&over_tcp("owner", "plimsoll_nowhere"), right), 4, &["plimsoll_nowhere"]);
    expect(run(&over_tcp("visitor", ""), right), 5, &["GRANT ALL ON `plimsoll\\_%`.*"]);
    let inline = format!("mariadb://owner:{PLANTED}@127.0.0.1:{}/test?connect-timeout=9", server().port());
    let said = run(&inline, &["--repetitions", "1"]);
    assert!(said.code == 0 && said.err.contains("the URL holds a password"), "{said:#?}");
    all.push(said);
    all.push(run(&over_tcp("owner", "test"), &[right, &["--repetitions", "1"]].concat()));
    assert_eq!(all.last().unwrap().code, 0, "{all:#?}");
    all.push(scene.say(&["doctor", &over_tcp("owner", ""), "--password-file", "right"]));
    assert_eq!(all.last().unwrap().code, 0, "{all:#?}");
    all.push(scene.say(&["report", "latest", "--html", "-", "--markdown", "-", "--csv", "-"]));
    all.push(scene.say(&["show", "latest", "--json"]));
    for said in &all {
        assert!(!said.out.contains(PLANTED) && !said.err.contains(PLANTED), "{said:#?}");
    }
}

#[test]
fn single_rows_are_asked_for_by_procedures_where_that_is_wanted() {
    let scene = Scene::new();
    let few = ["--set", "volume=2MiB", "--set", "duration=2s", "--set", "sessions=2", "--set", "procedures=yes"];
    let run = |target: &str| {
        let words = ["run", "mix-a", "--target", target, "--json", "--repetitions", "1", "--short", "--quiet"];
        scene.say(&[&words[..], &few].concat())
    };
    let server = server_of_its_own();
    let said = run(&server.socket_url(""));
    assert_eq!(said.code, 0, "{said:#?}");
    let record = &said.json()[0];
    assert_eq!(record["parameters"]["by_procedure"], true);
    for kind in record["repetitions"][0]["requests"].as_array().unwrap() {
        assert!(kind["operations"].as_u64().unwrap() > 0 && kind["errors"].as_u64().unwrap_or(0) == 0, "{kind}");
    }
    assert_eq!(databases(&server), "");
    let refused = run(&format!("sqlite:{}", scene.path("x.db").display()));
    refused.failed(2, &["stored procedures", "procedures=yes"]);
}

/// A definition of one's own: with a parameter that stands there twice, on tables of its own and on those that are there.
#[test]
fn requests_of_ones_own_are_made() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let example = |name: &str| root.join(name).canonicalize().unwrap().display().to_string();
    let target = server.socket_url("test");
    let run = |test: &str, more: &[&str]| {
        let words = ["run", test, "--target", &target, "--json", "--repetitions", "1", "--set", "duration=2s"];
        let said = scene.say(&[&words[..], more].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        let kind = said.json()[0]["repetitions"][0]["requests"][0].clone();
        assert!(kind["operations"].as_u64().unwrap() > 0, "{kind}");
        kind
    };
    let few = ["--set", "table_size=1000", "--set", "sessions=2"];
    run(&example("sysbench-read-write.toml"), &few);
    assert_eq!(databases(&server), "");
    // Tables that are there, which a session that only reads finds in the URL's database.
    for number in 1..=8 {
        let columns = "id int PRIMARY KEY, k int, c char(120) NOT NULL DEFAULT '', pad char(60)";
        server.sql(&format!("CREATE TABLE sbtest{number} ({columns})")).unwrap();
        server.sql(&format!("INSERT INTO sbtest{number} (id, c) SELECT seq, 'c' FROM seq_1_to_1000")).unwrap();
    }
    let kind = run(&example("sysbench-point-select.toml"), &few);
    assert_eq!(kind["rows"], kind["operations"]);
    assert_eq!(kind["content_bytes"], kind["operations"], "a char comes without the blanks at its end");
    let text = "name = \"twice\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\nname = \"twice\"\n\
                statements = [{ postgresql = \"SELECT wrong\", mysql = \"SELECT k FROM sbtest1 WHERE id = :id AND :id < id + 1 + :other - :other\" }]\n\
                [request.parameters]\nid = { uniform = [1, 1000] }\nother = { uniform = [1, 9] }\n";
    std::fs::write(scene.path("own.toml"), text).unwrap();
    let kind = run(&scene.path("own.toml").display().to_string(), &[]);
    assert_eq!(kind["rows"], kind["operations"]);
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let scene = Scene::new();
    let server = MariaDb::builder().start().unwrap();
    let target = server.socket_url("test");
    server.sql("CREATE DATABASE plimsoll_run_somebody; CREATE TABLE plimsoll_run_somebody.t (a int)").unwrap();
    let words = ["run", "cpu-join", "--target", &target, "--short", "--set", "rows=1000", "--repetitions", "1"];
    assert_eq!(scene.say(&words).code, 0);
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert_eq!(databases(&server), "plimsoll_run_somebody");
}

#[test]
fn kept_data_is_shared_and_an_interrupted_load_goes_on_by_table() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    let words = ["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=200MiB"];
    let keep = [&words[..], &["--keep-data", "--repetitions", "1"]].concat();
    let manifest = || -> i64 {
        let workspace =
            databases(&server).lines().find(|line| line.starts_with("plimsoll_data")).unwrap_or_default().to_owned();
        let counted = server.sql(&format!("SELECT count(*) FROM {workspace}.plimsoll_manifest"));
        counted.ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let mut child = scene.spawn(&keep);
    wait_until(|| manifest() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let finished = manifest();
    assert!((3..10).contains(&finished), "{finished} tables were finished");
    let made = || server.sql("SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_NAME = 'table0'").unwrap();
    let oldest = made();
    let said = scene.say(&keep);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(manifest(), 10);
    assert_eq!(made(), oldest, "a finished table is not loaded again");
    let again = scene.say(&[&words[..], &["--repetitions", "1"]].concat());
    assert_eq!(again.json()[0]["parameters"]["data_reused"], true);
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert!(databases(&server).starts_with("plimsoll_data_"));
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert_eq!(databases(&server), "");
}

fn stored_points(scene: &Scene) -> i64 {
    rusqlite::Connection::open(scene.store())
        .and_then(|store| store.query_row("SELECT count(*) FROM event WHERE kind = 'point'", [], |row| row.get(0)))
        .unwrap_or(0)
}

#[test]
fn a_killed_run_leaves_orphans_that_clean_ends_while_a_neighbour_lives_on() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    // One long statement: the server does not notice that its client is gone.
    let words = ["run", "cpu-join", "--target", &target, "--set", "rows=100000", "--set", "stop_after=10m"];
    let mut child = scene.spawn(&words);
    wait_until(|| stored_points(&scene) >= 3);
    let seen = stored_points(&scene);
    let neighbour =
        scene.spawn(&["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=60MiB"]);
    // Sessions that join: none of the neighbour's does.
    let joining = || -> i64 {
        let sql = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%STRAIGHT_JOIN `cpu` t2%' AND ID <> CONNECTION_ID()";
        server.sql(sql).unwrap().parse().unwrap()
    };
    wait_until(|| databases(&server).lines().count() >= 2 && joining() >= 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let cleaned = scene.say(&["clean", &target]);
    assert_eq!(cleaned.code, 0, "{cleaned:#?}");
    wait_until(|| joining() == 0);
    let neighbour = common::said(&neighbour.wait_with_output().unwrap());
    assert_eq!(neighbour.code, 0, "{neighbour:#?}");
    assert_eq!(databases(&server), "");
    let killed = scene.say(&["runs", "--json", "--test", "cpu-join"]).json().remove(0);
    let record = scene.say(&["show", killed["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
    assert!(points(&record).count() >= seen as usize);
}

#[test]
fn an_interrupt_ends_a_run_and_leaves_nothing() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    let words = ["run", "cpu-join", "--target", &target, "--json", "--set", "rows=100000", "--set", "stop_after=10m"];
    let child = scene.spawn(&words);
    wait_until(|| stored_points(&scene) >= 3);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    assert!(points(&said.json()[0]).count() >= 3);
    assert_eq!(databases(&server), "");
}

#[test]
fn a_server_that_dies_in_mid_run_ends_it_with_what_was_measured() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    let words = ["run", "write-chunk", "--target", &target, "--short", "--json", "--set", "at_least=10m"];
    let child = scene.spawn(&words);
    wait_until(|| stored_points(&scene) >= 2);
    server.kill().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    said.failed(7, &[]);
    let record = &said.json()[0];
    assert_eq!(record["error"]["kind"], "connection-lost", "{record}");
    assert!(points(record).count() >= 2);
    assert!(record["warnings"].to_string().contains("plimsoll clean"), "{record}");
}

/// The sessions keep their right to the tables, so that the run is whole; what it made can't be removed.
#[test]
fn what_stays_at_the_target_is_said_with_a_code_and_the_command_that_removes_it() {
    let (scene, server) = (Scene::new(), server_of_its_own());
    let user = "CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'a'; GRANT ALL ON `plimsoll\\_%`.* TO owner@'127.0.0.1'";
    server.sql(user).unwrap();
    let target = server.tcp_url("owner", "a", "");
    let words = ["run", "insert", "--target", &target, "--short", "--json", "--repetitions", "1"];
    let child = scene.spawn(&[&words[..], &["--set", "duration=5s", "--set", "volume=1MiB"]].concat());
    let working = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'owner' AND info LIKE 'INSERT%'";
    wait_until(|| server.sql(working).unwrap().trim() != "0");
    server.sql("REVOKE ALL ON `plimsoll\\_%`.* FROM owner@'127.0.0.1'").unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    said.failed(5, &["was not removed", "plimsoll clean 'mariadb://owner"]);
    let record = &said.json()[0];
    assert!(record["error"].is_null() && record["left_behind"]["exit_code"] == 5, "{record}");
    assert!(!record["results"].as_array().unwrap().is_empty(), "{record}");
    assert!(databases(&server).contains("plimsoll_run"));
    let cleaned = scene.say(&["clean", &server.socket_url("")]);
    assert_eq!((cleaned.code, databases(&server).as_str()), (0, ""), "{cleaned:?}");
}

/// The same while data are loaded, before there is any repetition.
#[test]
fn what_stays_is_said_of_a_run_that_only_loaded() {
    let (scene, server) = (Scene::new(), server_of_its_own());
    let user = "CREATE USER loader@'127.0.0.1' IDENTIFIED BY 'a'; GRANT ALL ON `plimsoll\\_%`.* TO loader@'127.0.0.1'";
    server.sql(user).unwrap();
    let target = server.tcp_url("loader", "a", "");
    let child = scene.spawn(&["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=400MiB"]);
    let loading =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'loader' AND info LIKE 'LOAD DATA%'";
    wait_until(|| server.sql(loading).unwrap().trim() != "0");
    server.sql("REVOKE ALL ON `plimsoll\\_%`.* FROM loader@'127.0.0.1'").unwrap();
    // A session in the database has kept its rights; the next one has none.
    let said = common::said(&child.wait_with_output().unwrap());
    said.failed(5, &["plimsoll clean 'mariadb://loader"]);
    assert!(said.json()[0]["left_behind"]["exit_code"] == 5, "{said:#?}");
    assert!(databases(&server).contains("plimsoll_run"));
}

#[test]
fn a_server_that_comes_back_leaves_a_gap_in_the_requests() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("");
    let words = ["run", "direct-select", "--target", &target, "--json", "--repetitions", "1", "--set", "duration=12s"];
    let child = scene.spawn(&[&words[..], &["--set", "volume=10MiB", "--set", "sessions=4"]].concat());
    let asking = || -> i64 {
        server.sql("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").unwrap().rsplit('\t').next().unwrap().parse().unwrap()
    };
    wait_until(|| asking() > 2_000);
    server.restart().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    let record = &said.json()[0];
    // More than 1 % of the requests may have failed while it was away, which makes the run invalid and no less known.
    assert!(said.code == 0 || said.code == 7, "{said:#?}");
    assert!(record["warnings"].to_string().contains("came back"), "{record}");
    assert_eq!(databases(&server), "");
}

#[test]
fn a_full_disk_is_refused_before_and_survived_during_a_run() {
    let Some(disk) = common::Tmpfs::mount(500) else {
        let _ = writeln!(std::io::stderr(), "a full disk was not tried: mounting a small one needs root");
        return;
    };
    let scene = Scene::new();
    let small = MariaDb::builder().data_dir_in(&disk.path).setting("innodb_log_file_size", "16M");
    let server = small.buffer_pool_mb(32).start().unwrap();
    let target = server.socket_url("");
    let words = ["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=2GiB"];
    scene.say(&words).failed(6, &["free"]);
    assert_eq!(databases(&server), "");
}

/// Each of two servers is asked for by the other's protocol. MariaDB speaks first, and PostgreSQL waits for its client.
#[test]
fn a_port_of_another_kind_of_server_is_named_as_such() {
    let (scene, postgres) = (Scene::new(), Postgres::builder().shared_buffers_mb(16).start().unwrap());
    let maria = server().tcp_url("u", "p", "d").replace("mariadb://", "postgres://");
    let another = "a server of another kind may listen there";
    for mode in ["disable", "prefer", "require", "verify-full"] {
        scene.say(&["doctor", &format!("{maria}?sslmode={mode}")]).failed(4, &[another]);
    }
    for encrypt in ["false", "true", "strict"] {
        scene
            .say(&["doctor", &format!("{}?encrypt={encrypt}", maria.replace("postgres://", "mssql://"))])
            .failed(4, &["the protocol of SQL Server", another]);
    }
    let target = postgres.tcp_url("u", "p", "d").replace("postgres://", "mariadb://");
    scene.say(&["doctor", &format!("{target}?connect-timeout=1")]).failed(4, &["did not answer within 1 s", another]);
}
