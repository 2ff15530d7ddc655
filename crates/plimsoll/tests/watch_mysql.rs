//! `plimsoll watch` on MariaDB and MySQL, on a server with a known load.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use common::Scene;
use plimsoll_testbed::{MariaDb, Product};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ROOM: &str = "200";

fn server() -> MariaDb {
    let builder = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON");
    let builder = builder.setting("performance_schema_digests_size", ROOM);
    let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    server
        .sql(
            "CREATE TABLE held (k INT) ENGINE = InnoDB; CREATE TABLE single (k INT PRIMARY KEY, n INT) ENGINE = InnoDB",
        )
        .unwrap();
    let current =
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_statements_current'";
    server.sql(&format!("INSERT INTO single VALUES (1, 0), (2, 0); {current}")).unwrap();
    server
}

/// A watch that has begun, and its first line: what happens from now on is in the others.
fn begun(scene: &Scene, words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = scene.spawn(words);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    (child, lines)
}

/// Ctrl-C, and what was still said.
fn interrupted(mut child: Child, mut lines: BufReader<ChildStdout>) -> (Vec<Value>, String) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    lines.read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{err}");
    (out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), err)
}

fn slots(lines: &mut BufReader<ChildStdout>, count: usize) -> Vec<Value> {
    let slot = |_| {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    (0..count).map(slot).collect()
}

fn load(server: &MariaDb, times: usize) {
    server.sql(&"INSERT INTO held VALUES (1), (2), (3); ".repeat(times)).unwrap();
}

/// What statements with this text have come to in all slots.
fn sum(slots: &[Value], begin: &str, name: &str) -> u64 {
    let rows = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let meant = rows.filter(|row| row["text"].as_str().is_some_and(|text| text.starts_with(begin)));
    meant.filter_map(|row| row[name].as_u64()).sum()
}

/// A client that stays, and its input.
fn client(server: &MariaDb, sql: &str) -> (Child, ChildStdin) {
    let mut client = server.client();
    let client = client.args(["--user=plimsoll", "--batch", "--unbuffered", "test"]);
    let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{sql};\n").as_bytes()).unwrap();
    input.flush().unwrap();
    (child, input)
}

const INSERT: &str = "INSERT INTO `held`";

#[test]
fn every_execution_of_a_known_load_is_in_some_slot() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("test");
    let words = ["watch", &url, "--every", "1s", "--json", "--top", "100"];
    let (child, mut lines) = begun(&scene, &words);
    load(&server, 40);
    let mut all = slots(&mut lines, 2);
    // What runs within a procedure is in the time of its call.
    server.sql("CREATE PROCEDURE inner_work() INSERT INTO held SELECT SLEEP(0.2)").unwrap();
    server.sql("CALL inner_work()").unwrap();
    all.extend(slots(&mut lines, 1));
    let (rest, err) = interrupted(child, lines);
    all.extend(rest);
    assert_eq!((sum(&all, INSERT, "executions") / 40, sum(&all, INSERT, "rows") / 120), (1, 1), "{all:#?}");
    assert!(err.contains("of the server's time"), "{err}");
    let ours = all.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let ours: Vec<&Value> =
        ours.filter(|row| row["text"].as_str().is_some_and(|text| text.contains("plimsoll watch"))).collect();
    assert!(ours.is_empty(), "our own are left out: {ours:#?}");
    assert_eq!(sum(&all, "CALL", "executions"), 1, "{all:#?}");
    for slot in &all {
        let coverage = slot["coverage_percent"].as_f64();
        assert!(coverage.is_none_or(|percent| percent < 101.0), "nothing explains more than there was: {slot:#}");
    }
}

/// After a kill, and after somebody emptied the table, what is kept is the load, and what may be missing is said.
#[test]
fn what_is_emptied_is_said_and_what_was_killed_goes_on() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("test");
    let (mut child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s"]);
    load(&server, 10);
    lines.read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    load(&server, 7);
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    slots(&mut lines, 1);
    server.sql("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest").unwrap();
    load(&server, 5);
    let mut all = slots(&mut lines, 2);
    let (rest, _) = interrupted(child, lines);
    all.extend(rest);
    assert!(all.iter().any(|slot| slot["unknown"].as_array().is_some_and(|all| !all.is_empty())), "{all:#?}");
    let mut texts =
        all.iter().flat_map(|slot| slot["queries"].as_array().unwrap()).filter_map(|row| row["text"].as_str());
    assert!(!texts.any(|text| text.contains("plimsoll watch")), "our own are left out: {all:#?}");
    let rows = scene.say(&["watch", "export", "--json"]).json();
    let kept = rows.iter().filter(|row| row["text"].as_str().is_some_and(|text| text.starts_with(INSERT)));
    assert_eq!(kept.filter_map(|row| row["executions"].as_u64()).sum::<u64>(), 22, "{rows:#?}");
}

#[test]
fn who_waits_for_a_row_is_seen_with_who_holds_it() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("test");
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json", "--top", "100"]);
    let (mut holder, mut holding) = client(&server, "BEGIN; UPDATE single SET n = n + 1 WHERE k = 1");
    // Whoever asks for transactions ten times a second gets the same answer each time.
    let is_free = "SELECT k FROM single WHERE k = 1 FOR UPDATE SKIP LOCKED";
    common::wait_until(|| server.sql(is_free).unwrap().trim().is_empty());
    let (mut waiter, waiting) = client(&server, "UPDATE single SET n = n + 2 WHERE k = 1");
    let mut all = slots(&mut lines, 4);
    holding.write_all(b"COMMIT;\n").unwrap();
    drop((holding, waiting));
    holder.wait().unwrap();
    waiter.wait().unwrap();
    all.extend(slots(&mut lines, 2));
    let (rest, _) = interrupted(child, lines);
    all.extend(rest);
    let update = "UPDATE `single`";
    assert_eq!(sum(&all, update, "executions"), 2, "{all:#?}");
    for table in ["INNODB_LOCK_WAITS", "data_lock_waits"] {
        let names = all.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
        let mut texts = names.filter_map(|row| row["text"].as_str());
        assert!(!texts.any(|text| text.contains(table)), "our own are left out: {all:#?}");
    }
    assert_eq!(sum(&all, update, "active_us"), sum(&all, update, "elapsed_us"), "{all:#?}");
    // MariaDB knows the digest of a statement when it ends.
    let least = if server.product() == Product::MySql { 3 } else { 1 };
    let rows = all.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let seen = rows.filter(|row| row["text"].as_str().is_some_and(|text| text.starts_with(update)));
    assert!(
        seen.filter(|row| row["active_us"].as_u64() > Some(0)).count() >= least,
        "it is seen while it runs: {all:#?}"
    );
    let sessions: Vec<&Value> = all.iter().filter_map(|slot| slot.get("sessions")).collect();
    let waits: Vec<&Value> = sessions.iter().flat_map(|one| one["waits"].as_array().unwrap()).collect();
    assert!(waits.iter().any(|wait| wait["class"] == "locks of other sessions"), "{waits:#?}");
    let blocker = sessions.iter().flat_map(|one| one["blockers"].as_array().unwrap()).next().unwrap();
    assert_eq!((blocker["state"].as_str(), blocker["most_blocked"].as_u64()), (Some("idle in transaction"), Some(1)));
    let shown = scene.say(&["watch", "show"]).out;
    assert!(shown.contains("The nearest limit is locks of other sessions"), "{shown}");
}

/// Statements that there is no room for are counted as one, which is said; nothing of the total is missing.
#[test]
fn what_has_no_room_is_counted_as_one() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("test");
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json", "--top", "100"]);
    let many: Vec<String> = (0..400).map(|at| format!("SELECT k AS a{at} FROM held LIMIT 1; ")).collect();
    server.sql(&many.concat()).unwrap();
    let mut all = slots(&mut lines, 2);
    let (rest, err) = interrupted(child, lines);
    all.extend(rest);
    let rows = all.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let others = all.iter().filter_map(|slot| slot["other"]["executions"].as_u64()).sum::<u64>();
    let counted = others + rows.filter_map(|row| row["executions"].as_u64()).sum::<u64>();
    assert!(counted >= 400, "{counted} {err}");
    assert!(err.contains("performance_schema_digests_size"), "{err}");
}

#[test]
fn what_is_missing_has_its_exit_code_and_a_next_step() {
    let scene = Scene::new();
    let bare = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "OFF");
    let bare = bare.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    scene
        .say(&["watch", &bare.socket_url("test")])
        .failed(3, &["Performance Schema is off", "performance_schema = ON"]);
    let server = server();
    server.sql("CREATE USER nobody@localhost").unwrap();
    let url = server.socket_url("").replace("plimsoll@", "nobody@");
    scene.say(&["watch", &url]).failed(5, &["GRANT SELECT ON performance_schema"]);
    server
        .sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest'")
        .unwrap();
    scene.say(&["watch", &server.socket_url("test")]).failed(3, &["setup_consumers", "statements_digest"]);
}

/// A slot in which one statement runs and nothing ends has no executions, and that is known.
#[test]
fn a_statement_alone_is_counted_when_it_ends() {
    let (scene, server) = (Scene::new(), server());
    server.sql("SET GLOBAL autocommit = 0").unwrap();
    let url = server.socket_url("test");
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    let (mut sleeper, input) = client(&server, "SELECT SLEEP(3.5)");
    let mut all = slots(&mut lines, 2);
    // Nothing of what we read is held until the end.
    server.sql("SET lock_wait_timeout = 1; TRUNCATE TABLE performance_schema.events_waits_history").unwrap();
    all.extend(slots(&mut lines, 3));
    drop(input);
    sleeper.wait().unwrap();
    all.extend(slots(&mut lines, 2));
    let (rest, _) = interrupted(child, lines);
    all.extend(rest);
    let shown = scene.say(&["watch", "show", "--json", "--top", "100"]).json();
    let rows = shown[0]["rows"].as_array().unwrap();
    let sleep = "SELECT `SLEEP`";
    let of = |row: &&Value| row["text"].as_str().is_some_and(|text| text.replace(' ', "").starts_with("SELECT`SLEEP`"));
    let kept: Vec<&Value> = rows.iter().filter(of).collect();
    assert_eq!(kept.iter().filter_map(|row| row["executions"].as_u64()).sum::<u64>(), 1, "{sleep}: {shown:#?}");
    let us = |name: &str| kept.iter().filter_map(|row| row[name].as_u64()).sum::<u64>();
    assert!(us("elapsed_us") >= 3_500_000 && us("ended_unseen_us") == 0, "{kept:#?}");
    let whole = scene.say(&["watch", "show", "--by", "instance", "--json"]).json();
    assert!(whole[0]["rows"][0]["executions"].as_u64() >= Some(1), "{whole:#?}");
}

/// What may change at the server at any time is looked at again and again.
#[test]
fn statements_that_are_not_counted_are_not_known() {
    let (scene, server) = (Scene::new(), server());
    let consumer = |state: &str| {
        let name = "NAME = 'statements_digest'";
        server.sql(&format!("UPDATE performance_schema.setup_consumers SET ENABLED = '{state}' WHERE {name}")).unwrap();
    };
    let url = server.socket_url("test");
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    slots(&mut lines, 1);
    consumer("NO");
    load(&server, 20);
    let off = slots(&mut lines, 2).pop().unwrap();
    assert!(off["status"].as_str().unwrap().contains("partial"), "{off:#}");
    assert!(off["coverage_percent"].is_null(), "{off:#}");
    consumer("YES");
    let on = slots(&mut lines, 3).pop().unwrap();
    assert!(!on["status"].as_str().unwrap().contains("partial"), "{on:#}");
    let users = |state: &str| {
        server.sql(&format!("UPDATE performance_schema.setup_actors SET ENABLED = '{state}'")).unwrap();
    };
    users("NO");
    load(&server, 20);
    let left_out = slots(&mut lines, 2).pop().unwrap();
    assert!(left_out["status"].as_str().unwrap().contains("partial"), "{left_out:#}");
    users("YES");
    slots(&mut lines, 2);
    let instruments = |state: &str| {
        let named = "NAME LIKE 'statement/abstract/%' OR NAME LIKE 'statement/com/%'";
        server
            .sql(&format!("UPDATE performance_schema.setup_instruments SET ENABLED = '{state}' WHERE {named}"))
            .unwrap();
    };
    instruments("NO");
    load(&server, 20);
    let unseen = slots(&mut lines, 2).pop().unwrap();
    assert!(unseen["status"].as_str().unwrap().contains("partial"), "{unseen:#}");
    instruments("YES");
    slots(&mut lines, 2);
    let (_, err) = interrupted(child, lines);
    assert!(err.contains("for a part of the time not all statements were counted"), "{err}");
    assert!(err.contains("performance_schema.setup_actors leaves out some users"), "{err}");
}

#[test]
fn a_user_who_may_not_see_row_locks_is_told_so() {
    let (scene, server) = (Scene::new(), server());
    server
        .sql("CREATE USER reader@localhost; GRANT SELECT ON performance_schema.* TO reader@localhost; GRANT SELECT ON test.* TO reader@localhost")
        .unwrap();
    let url = server.socket_url("test").replace("plimsoll@", "reader@");
    let (child, mut lines) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    let (mut holder, mut holding) = client(&server, "BEGIN; UPDATE single SET n = n + 1 WHERE k = 1");
    let is_free = "SELECT k FROM single WHERE k = 1 FOR UPDATE SKIP LOCKED";
    common::wait_until(|| server.sql(is_free).unwrap().trim().is_empty());
    let (mut waiter, waiting) = client(&server, "UPDATE single SET n = n + 2 WHERE k = 1");
    let all = slots(&mut lines, 3);
    holding.write_all(b"COMMIT;\n").unwrap();
    drop((holding, waiting));
    holder.wait().unwrap();
    waiter.wait().unwrap();
    let (_, err) = interrupted(child, lines);
    assert!(err.contains("GRANT PROCESS ON *.*"), "{err}");
    let waits = all.iter().filter_map(|slot| slot.get("sessions")).flat_map(|one| one["waits"].as_array().unwrap());
    let waits: Vec<&Value> = waits.collect();
    assert!(waits.iter().any(|wait| wait["wait"] == "CPU or a row lock"), "{waits:#?}");
}
