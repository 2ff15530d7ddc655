//! `plimsoll watch` as people and scripts use it, on a PostgreSQL with a known load.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use common::Scene;
use plimsoll_testbed::Postgres;
use serde_json::Value;
use watched::{begun, interrupted, load, server};

#[test]
fn scripts_get_every_execution_of_a_known_load_in_some_slot() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, lines, first) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    load(&server, 40);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("of the server's time"), "{err}");
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(serde_json::from_str::<Value>(&first).unwrap()["slot_start"].as_str().unwrap().ends_with('Z'));
    let queries = |slot: &Value| slot["queries"].as_array().unwrap().clone();
    let all: Vec<Value> = slots.iter().flat_map(queries).collect();
    let is_ours = |query: &&Value| query["text"].as_str().is_some_and(|text| text.contains("INSERT INTO held"));
    let sum = |name: &str| all.iter().filter(is_ours).map(|query| query[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("executions"), sum("rows")), (40, 120), "{out}");
    assert!(!out.contains("/* plimsoll watch */"), "{out}");
    for slot in &slots {
        assert!(slot["status"] == "exact" && slot["seconds"].as_f64().unwrap() > 0.0, "{slot}");
        assert!(slot["coverage_percent"].as_f64().is_some() && slot["own_us"].as_u64().unwrap() > 0, "{slot}");
    }
}

#[test]
fn people_get_a_line_for_each_slot_and_the_answer_at_the_end() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let html = scene.path("load.html");
    let (child, lines, first) = begun(&scene, &["watch", &url, "--every", "1s", "--html", html.to_str().unwrap()]);
    assert!(first.contains(" active ") && first.contains("exact"), "{first}");
    load(&server, 2_000);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("'plimsoll watch show'"), "{err}");
    assert!(out.contains("'INSERT INTO held SELECT generate_series($1, $2)' costs most: "), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of the database time, in 2,000 executions of "), "{out}");
    let row = out.lines().rfind(|line| line.trim_start().starts_with("INSERT INTO held")).unwrap();
    assert!(row.contains("2,000") && row.contains("6,000") && row.contains("exact"), "{row}");
    assert!(out.contains("these statements are left out") && !out.contains("plimsoll watch */"), "{out}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("INSERT INTO held") && page.contains("2,000") && page.contains("<svg"), "{}", page.len());
    scene.say(&["watch", &url, "--html", "/nowhere/x.html"]).failed(2, &["/nowhere"]);
}

#[test]
fn what_is_missing_has_its_exit_code_and_a_next_step() {
    let scene = Scene::new();
    let bare = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let url = bare.socket_url("postgres");
    scene.say(&["watch", &url]).failed(3, &["pg_stat_statements", "shared_preload_libraries"]);
    scene.say(&["watch", &url, "--every", "100ms"]).failed(2, &["--every", "it is from"]);
    scene.say(&["watch", &url, "--for", "soon"]).failed(2, &["--for"]);
    scene.say(&["watch", &scene.sqlite()]).failed(2, &["no statistics of statements"]);
}

#[test]
fn a_server_that_is_away_for_a_while_leaves_a_gap_and_no_spike() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    load(&server, 10);
    // A start that is nearer than two seconds to the one before is taken for the same.
    server.psql("SELECT pg_sleep(2.5)").unwrap();
    server.restart().unwrap();
    load(&server, 5);
    // Two more slots: the second was begun after the load.
    let mut out = String::new();
    lines.read_line(&mut out).unwrap();
    lines.read_line(&mut out).unwrap();
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    out.push_str(&rest);
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(slots.iter().any(|slot| slot["event"] == "restart"), "{out}");
    let executions = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap()).filter_map(|query| {
        query["text"].as_str()?.contains("INSERT INTO held").then(|| query["executions"].as_u64())?
    });
    assert_eq!(executions.sum::<u64>(), 15, "{out}");
}

#[test]
fn sessions_are_looked_at_again_when_a_server_is_back() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (mut child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    server.stop_immediate().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // Nobody could connect by then.
    while !line.contains("covers this time as well") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0);
    }
    child.stderr = Some(said.into_inner());
    server.restart().unwrap();
    load(&server, 5);
    let mut out = String::new();
    lines.read_line(&mut out).unwrap();
    lines.read_line(&mut out).unwrap();
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    let last: Value = serde_json::from_str((out + &rest).lines().last().unwrap()).unwrap();
    assert!(last["sessions"]["samples"].as_u64() >= Some(2), "{last}: {err}");
}

/// Executions and rows of the load, in all slots that are kept.
fn inserted(scene: &Scene) -> (u64, u64) {
    let rows = scene.say(&["watch", "export", "--json"]).json();
    let is_meant = |row: &&Value| row["text"].as_str().is_some_and(|text| text.starts_with("INSERT INTO held"));
    let sum = |name: &str| rows.iter().filter(is_meant).filter_map(|row| row[name].as_u64()).sum();
    (sum("executions"), sum("rows"))
}

/// Counts and lengths of what is kept, by the store's own tables.
fn kept(scene: &Scene, sql: &str) -> Vec<(i64, i64)> {
    let connection = rusqlite::Connection::open(scene.store()).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.try_into()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn what_is_watched_is_kept_and_goes_on_after_a_kill() {
    let (scene, server) = (Scene::new(), server());
    server.psql("CREATE ROLE someone PASSWORD 'a secret value'").unwrap();
    let url = server.socket_url("postgres");
    for _ in 0..3 {
        let (mut child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s"]);
        load(&server, 10);
        server.psql("ALTER ROLE someone PASSWORD 'another secret value'").unwrap();
        lines.read_line(&mut String::new()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        load(&server, 7);
    }
    let (child, lines, _) = begun(&scene, &["watch", &url, "--every", "1s"]);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    // What ran while nobody watched is kept, and not shown as if it had been watched.
    assert!(!out.contains("in 51 executions"), "{out}");
    assert_eq!(inserted(&scene), (51, 153));
    let slots =
        kept(&scene, "SELECT start_us, document ->> '$.end_us' FROM watched_slot WHERE tier = 0 ORDER BY start_us");
    assert!(slots.windows(2).all(|pair| pair[0].1 == pair[1].0), "each begins where the one before ended: {slots:?}");
    let secrets =
        kept(&scene, "SELECT count(*), sum(text LIKE '%secret%') FROM watched_text WHERE text LIKE 'ALTER ROLE%'");
    assert_eq!(secrets, [(1, 0)]);
}

/// A kill in the moment in which a slot was told: it is in the store.
#[test]
fn a_slot_that_was_told_is_kept_whenever_the_kill_comes() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    for _ in 0..3 {
        let (mut child, _lines, told) = begun(&scene, &["watch", &url, "--every", "1s", "--json", "--no-samples"]);
        child.kill().unwrap();
        child.wait().unwrap();
        let slot: Value = serde_json::from_str(&told).unwrap();
        let (start, seconds) = (slot["slot_start"].as_str().unwrap(), &slot["seconds"]);
        let sql = format!(
            "SELECT count(*), 0 FROM watched_slot WHERE tier = 0 AND abs(start_us - (julianday('{start}') - 2440587.5) * 86400e6) < 2e3
             AND abs((document ->> '$.end_us') - start_us - 1e6 * {seconds}) < 2e3"
        );
        assert_eq!(kept(&scene, &sql), [(1, 0)], "{told}");
    }
}

/// Two watch for one store: one keeps slots at a time, and the first goes on when the second has ended.
#[test]
fn the_first_watch_keeps_slots_again_once_a_second_has_ended() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let words = ["watch", &url, "--every", "1s"];
    let (mut first, mut of_first, _) = begun(&scene, &words);
    load(&server, 10);
    let run = [
        "run",
        "insert",
        "--target",
        &url,
        "--short",
        "--set",
        "duration=1s",
        "--repetitions",
        "1",
        "--label",
        "marked",
    ];
    assert_eq!(scene.say(&run).code, 0);
    let (second, of_second, _) = begun(&scene, &words);
    load(&server, 7);
    let (code, _, err) = interrupted(second, of_second);
    assert_eq!(code, 130, "{err}");
    load(&server, 5);
    let mut said = BufReader::new(first.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("keeps them again") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0);
    }
    first.stderr = Some(said.into_inner());
    load(&server, 3);
    of_first.read_line(&mut String::new()).unwrap();
    let (code, _, err) = interrupted(first, of_first);
    assert_eq!(code, 130, "{err}");
    assert_eq!(inserted(&scene), (25, 75));
    // The run stands among what happened.
    let shown = scene.say(&["watch", "show", "--json"]).json().remove(0);
    let events: Vec<&Value> = shown["events"].as_array().unwrap().iter().collect();
    let runs: Vec<&&Value> = events.iter().filter(|event| event["kind"] == "run").collect();
    assert!(runs.len() == 1 && runs[0]["note"].as_str().unwrap().starts_with("insert, marked ("), "{events:?}");
    let slots =
        kept(&scene, "SELECT start_us, document ->> '$.end_us' FROM watched_slot WHERE tier = 0 ORDER BY start_us");
    assert!(slots.windows(2).all(|pair| pair[0].1 == pair[1].0), "each begins where the one before ended: {slots:?}");
}

/// Whoever stands by and ends right after the one that kept slots has nothing told that is not in the store.
#[test]
fn who_stands_by_saves_what_it_told_at_its_end() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let words = ["watch", &url, "--every", "2s"];
    let (first, mut of_first, _) = begun(&scene, &words);
    let (second, of_second, _) = begun(&scene, &words);
    load(&server, 7);
    of_first.read_line(&mut String::new()).unwrap();
    assert_eq!(interrupted(second, of_second).0, 130);
    load(&server, 5);
    of_first.read_line(&mut String::new()).unwrap();
    let (code, _, err) = interrupted(first, of_first);
    assert!(code == 130 && !err.contains("not in the store"), "{err}");
    assert_eq!(inserted(&scene), (12, 36));
}

/// A store that can't take slots until the end, or is not there any more: that is the last word, and the exit code.
#[test]
fn what_is_not_saved_at_the_end_is_said() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let watch = || scene.spawn(&["watch", &url, "--every", "1s", "--for", "4s"]);
    let end = |child: Child| common::said(&child.wait_with_output().unwrap());
    let mut child = watch();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    std::fs::rename(scene.store(), scene.path("elsewhere.db")).unwrap();
    lines.read_to_string(&mut String::new()).unwrap();
    let said = end(child);
    assert!(said.code == 7 && said.err.contains("nothing is saved any more"), "{said:#?}");
    assert!(said.err.contains("not in the store: ") && !said.err.contains("another process"), "{said:#?}");
}

#[test]
fn a_store_that_fails_stops_nothing_and_leaves_no_hole() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s"]);
    let busy = rusqlite::Connection::open(scene.store()).unwrap();
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    load(&server, 10);
    // The wait for the store is longer than a slot: one is late, and the next ones are not.
    for _ in 0..3 {
        lines.read_line(&mut String::new()).unwrap();
    }
    load(&server, 5);
    busy.execute_batch("ROLLBACK").unwrap();
    lines.read_line(&mut String::new()).unwrap();
    lines.read_line(&mut String::new()).unwrap();
    let (code, _, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("watching goes on") && err.contains("takes slots again"), "{err}");
    let slots =
        kept(&scene, "SELECT start_us, document ->> '$.end_us' FROM watched_slot WHERE tier = 0 ORDER BY start_us");
    assert!(slots.len() > 4 && slots.windows(2).all(|pair| pair[0].1 == pair[1].0), "{slots:?}");
    assert_eq!(inserted(&scene), (15, 45));
}

#[test]
fn what_is_kept_is_listed_shown_compared_and_exported() {
    let (scene, server) = (Scene::new(), server());
    scene.say(&["watch", "show"]).failed(4, &["no result store"]);
    let url = server.socket_url("postgres");
    server.psql("CREATE DATABASE other").unwrap();
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s"]);
    load(&server, 10);
    lines.read_line(&mut String::new()).unwrap();
    lines.read_line(&mut String::new()).unwrap();
    // What runs from now on is in slots that end after this moment.
    let between =
        server.psql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')").unwrap();
    lines.read_line(&mut String::new()).unwrap();
    load(&server, 30);
    server.psql("DROP TABLE IF EXISTS fresh; CREATE TABLE fresh AS SELECT generate_series(1, 5)").unwrap();
    lines.read_line(&mut String::new()).unwrap();
    lines.read_line(&mut String::new()).unwrap();
    assert_eq!(interrupted(child, lines).0, 130);

    let list = scene.say(&["watch", "list", "--json"]).json();
    assert_eq!((list.len(), list[0]["engine"].as_str()), (1, Some("postgresql")), "{list:?}");
    assert!(scene.say(&["watch", "list"]).out.contains("Known"));

    let shown = scene.say(&["watch", "show", "--json", "--top", "100"]).json().remove(0);
    let rows = shown["rows"].as_array().unwrap();
    let insert = rows.iter().find(|row| row["text"].as_str().is_some_and(|text| text.starts_with("INSERT"))).unwrap();
    assert_eq!((insert["executions"].as_u64(), insert["rows"].as_u64()), (Some(40), Some(120)), "{shown}");
    assert_eq!((insert["database"].as_str(), shown["unit"].as_str()), (Some("postgres"), Some("total")));
    assert!(shown["coverage_percent"].as_f64().is_some() && shown["seconds"].as_f64().unwrap() > 3.0, "{shown}");
    let share = |words: &[&str]| {
        let words: Vec<&str> = ["watch", "show", "--json"].iter().chain(words).copied().collect();
        scene.say(&words).json().remove(0)
    };
    let per_call = share(&["--unit", "execution", "--where", "text=insert into held"]);
    assert_eq!(per_call["rows"][0]["rows"].as_f64(), Some(3.0), "{per_call}");
    assert_eq!(per_call["rows"].as_array().unwrap().len(), 1, "{per_call}");
    let by_database = share(&["--by", "database", "--sort", "executions"]);
    assert_eq!(by_database["rows"][0]["database"], "postgres", "{by_database}");
    let by_instance = share(&["--by", "instance", "--unit", "share"]);
    assert_eq!(by_instance["rows"][0]["executions"].as_f64(), Some(100.0), "{by_instance}");
    let page = scene.path("watch.html");
    let said = scene.say(&["watch", "show", "--html", page.to_str().unwrap(), "--top", "2"]);
    assert!(said.out.contains("costs most") && said.out.contains("others"), "{said:?}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"), "a chart");

    let between = between.trim();
    let compared = scene.say(&["watch", "compare", &format!("..{between}"), "--json", "--top", "100"]).json().remove(0);
    let changes = compared["changes"].as_array().unwrap();
    let find = |begin: &str| {
        let is_meant = |change: &&Value| change["text"].as_str().is_some_and(|text| text.starts_with(begin));
        changes.iter().find(is_meant).unwrap()
    };
    assert_eq!(find("CREATE TABLE fresh")["kind"], "new", "{compared}");
    let insert = find("INSERT");
    let rate = |name: &str| insert[name].as_f64().unwrap();
    assert_eq!(insert["kind"], "both");
    let parts = rate("called_more_per_second") + rate("slower_per_second");
    assert!((parts - (rate("after_per_second") - rate("before_per_second"))).abs() < 1.0, "{compared}");
    assert!(compared["before"]["coverage_percent"].as_f64().is_some(), "{compared}");
    let said = scene.say(&["watch", "compare", &format!("..{between}"), &format!("{between}..")]);
    assert!(said.out.contains("The largest change is") && said.out.contains("Known: "), "{said:?}");

    let rows = scene.say(&["watch", "export", "--json"]).json();
    let inserts = rows.iter().filter(|row| row["text"].as_str().is_some_and(|text| text.starts_with("INSERT")));
    assert_eq!(inserts.map(|row| row["executions"].as_u64().unwrap()).sum::<u64>(), 40);
    let csv = scene.say(&["watch", "export", "--csv", "-"]).out;
    assert_eq!(csv.lines().count(), rows.len() + 1, "{csv}");
    assert!(csv.starts_with(
        "slot_start,slot_end,seconds,slot_status,coverage_percent,id,database,nested,executions,elapsed_us"
    ));

    // A statement of a table that was made anew is another one to the server, and the same to people.
    let by_query = scene.say(&["watch", "compare", &format!("..{between}"), "--by", "query"]);
    assert_eq!(by_query.code, 0, "{by_query:?}");
    scene.say(&["watch", "compare", "-9000s..-5000s", "-5000s.."]).failed(2, &["nothing is known"]);

    scene.say(&["watch", "show", "postgres://nobody/nothing"]).failed(2, &["nothing is kept of"]);
    scene.say(&["watch", "show", "--sort", "beauty"]).failed(2, &["no metric"]);
    scene.say(&["watch", "show", "--where", "colour=red"]).failed(2, &["colour"]);
    scene.say(&["watch", "compare", "soon"]).failed(2, &["no range"]);
    scene.say(&["watch", "compare", "2020-01-01..2020-01-02"]).failed(2, &["nothing is known"]);
}

/// A client that stays, and its input.
fn client(server: &Postgres, sql: &str) -> (Child, std::process::ChildStdin) {
    let mut client = server.client("postgres");
    let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{sql};\n").as_bytes()).unwrap();
    input.flush().unwrap();
    (child, input)
}

fn is_true(server: &Postgres, sql: &str) -> bool {
    server.psql(sql).unwrap().trim() == "t"
}

#[test]
fn what_has_not_ended_is_seen_and_counts_once() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--json", "--top", "100"]);
    let (mut holder, mut holding) = client(&server, "BEGIN; SELECT pg_advisory_xact_lock(7)");
    let is_held = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted";
    common::wait_until(|| is_true(&server, is_held));
    let (mut waiter, waiting) = client(&server, "SELECT pg_advisory_lock(7)");
    let (mut doomed, doom) = client(&server, "SELECT count(*) FROM pg_sleep(100000)");
    let is_working = "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event IN ('advisory', 'PgSleep')";
    common::wait_until(|| is_true(&server, is_working));
    let mut slots: Vec<Value> = Vec::new();
    let mut read = |lines: &mut BufReader<ChildStdout>, count: usize| {
        for _ in 0..count {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            slots.push(serde_json::from_str(&line).unwrap());
        }
    };
    read(&mut lines, 4);
    holding.write_all(b"COMMIT;\n").unwrap();
    drop(holding);
    holder.wait().unwrap();
    drop(waiting);
    waiter.wait().unwrap();
    server.psql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100000)%' AND pid <> pg_backend_pid()").unwrap();
    drop(doom);
    doomed.wait().unwrap();
    // It may have ended after its row was read: then it is given up in the slot after that.
    read(&mut lines, 3);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    slots.extend(out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    let of = |part: &str, name: &str| -> Vec<u64> {
        let rows = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
        let meant = rows.filter(|row| row["text"].as_str().is_some_and(|text| text.contains(part)));
        meant.filter_map(|row| row[name].as_u64()).collect()
    };
    let sum = |part, name| of(part, name).iter().sum::<u64>();
    let lock = "SELECT pg_advisory_lock";
    assert_eq!(sum(lock, "executions"), 1, "{slots:#?}");
    assert_eq!(sum(lock, "active_us"), sum(lock, "elapsed_us"), "{slots:#?}");
    assert!(of(lock, "active_us").iter().filter(|us| **us > 0).count() >= 3, "it is seen while it runs: {slots:#?}");
    assert_eq!(of(lock, "elapsed_us").iter().filter(|us| **us > 0).count(), 1);
    let unseen = sum("pg_sleep", "unseen_us");
    assert!(sum("pg_sleep", "executions") == 0 && unseen > 0 && sum("pg_sleep", "active_us") == unseen, "{slots:#?}");
    // Who held it up is known by the statement that it ran last.
    let sessions: Vec<&Value> = slots.iter().filter_map(|slot| slot.get("sessions")).collect();
    let blocker = sessions.iter().flat_map(|one| one["blockers"].as_array().unwrap()).next().unwrap();
    assert!(blocker["text"].as_str().unwrap().contains("pg_advisory_xact_lock"), "{blocker}");
    assert_eq!((blocker["state"].as_str(), blocker["most_blocked"].as_u64()), (Some("idle in transaction"), Some(1)));
    let waits: Vec<&Value> = sessions.iter().flat_map(|one| one["waits"].as_array().unwrap()).collect();
    assert!(waits.iter().any(|wait| wait["class"] == "locks of other sessions" && wait["wait"] == "Lock advisory"));
    assert!(waits.iter().any(|wait| wait["class"] == "sleep"), "{waits:?}");

    let shown = scene.say(&["watch", "show"]).out;
    assert!(shown.contains("The nearest limit is locks of other sessions"), "{shown}");
    assert!(shown.contains("Others waited") && shown.contains("pg_advisory_xact_lock"), "{shown}");
    assert!(shown.contains("Ended unseen") && shown.contains("counted nowhere"), "{shown}");
}

/// What may change at the server at any time is looked at again and again.
#[test]
fn statements_that_are_not_counted_are_said() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    let mut last = |count: usize| -> Value {
        let slot = |_| {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        (0..count).map(slot).last().unwrap()
    };
    server.psql("ALTER SYSTEM SET pg_stat_statements.track = 'none'").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let off = last(4);
    assert!(off["status"].as_str().unwrap().contains("partial"), "{off:#}");
    server.psql("ALTER SYSTEM RESET pg_stat_statements.track").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let on = last(5);
    assert!(!on["status"].as_str().unwrap().contains("partial"), "{on:#}");
    server.psql("CREATE ROLE uncounted; ALTER ROLE uncounted SET pg_stat_statements.track = 'None'").unwrap();
    last(2);
    let (_, _, err) = interrupted(child, lines);
    assert!(err.contains("for a part of the time not all statements were counted: pg_stat_statements.track"), "{err}");
    assert!(err.contains("statements of some sessions are not counted") && err.contains("role uncounted;"), "{err}");
    server.psql("DROP ROLE uncounted").unwrap();
}
