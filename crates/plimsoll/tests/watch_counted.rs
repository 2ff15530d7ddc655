//! Waits, files and other counters of the server that `plimsoll watch` reads beside statements, held against the server's own views.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdout, Stdio};

use common::Scene;
use plimsoll_testbed::{MariaDb, Postgres, Product};
use serde_json::Value;
use watched::{begun, interrupted};

fn postgres() -> Postgres {
    let builder = Postgres::builder().setting("shared_preload_libraries", "pg_stat_statements").shared_buffers_mb(8);
    let builder = builder.setting("track_io_timing", "on").setting("track_wal_io_timing", "on");
    // Nothing but the test reads and writes.
    let builder = builder.setting("autovacuum", "off").setting("fsync", "on");
    let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    server.psql("CREATE EXTENSION pg_stat_statements").unwrap();
    server.psql("CREATE TABLE held AS SELECT k, repeat('x', 100) t FROM generate_series(1, 100000) k").unwrap();
    server.psql("VACUUM held").unwrap();
    server.psql("CHECKPOINT").unwrap();
    server
}

/// So many inserts, each in a transaction of its own, which the log is synced for.
fn insert(server: &Postgres, times: usize) {
    let mut client = server.client("postgres").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    input.write_all("INSERT INTO held VALUES (1, 'y');\n".repeat(times).as_bytes()).unwrap();
    drop(input);
    assert!(client.wait().unwrap().success());
}

/// Reads of data, and writes, bytes and syncs of the log, by the server's own views.
fn by_views(server: &Postgres) -> [f64; 4] {
    let version: u32 = server.psql("SHOW server_version_num").unwrap().trim().parse().unwrap();
    let reads = if version < 160_000 { "sum(blks_read) FROM pg_stat_database" } else { "sum(reads) FROM pg_stat_io" };
    let log = if version < 180_000 {
        "wal_write, greatest(wal_bytes, wal_write * current_setting('wal_block_size')::numeric), wal_sync FROM pg_stat_wal"
    } else {
        "sum(writes), sum(write_bytes), sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'"
    };
    let ask = |sql: &str| -> Vec<f64> {
        let text = server.psql(&format!("SELECT {sql}")).unwrap();
        text.trim().split('|').map(|number| number.parse().unwrap()).collect()
    };
    let (reads, log) = (ask(reads), ask(log));
    [reads[0], log[0], log[1], log[2]]
}

/// Changes and scans, so that there is much to count.
fn work(server: &Postgres) {
    for _ in 0..4 {
        server.psql("UPDATE held SET k = k + 1; SELECT count(*) FROM held").unwrap();
        server.psql("CHECKPOINT").unwrap();
    }
    insert(server, 300);
}

/// The slots of what a watch has said.
fn slots(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read_slots(lines: &mut BufReader<ChildStdout>, count: usize) -> String {
    let mut out = String::new();
    for _ in 0..count {
        lines.read_line(&mut out).unwrap();
    }
    out
}

/// The sum of a figure over rows of a source of all slots, whose names or kinds are meant; the rest is none of these.
fn sum(slots: &[Value], source: &str, figure: &str, is_meant: impl Fn(&Value) -> bool) -> f64 {
    let rows = slots.iter().filter_map(|slot| slot[source]["rows"].as_array()).flatten();
    rows.filter(|row| is_meant(row)).filter_map(|row| row[figure].as_f64()).sum()
}

fn is_log(row: &Value) -> bool {
    row["kind"] == "log"
}

/// The same four figures from slots.
fn by_slots(slots: &[Value]) -> [f64; 4] {
    let log = |figure| sum(slots, "files", figure, is_log);
    [sum(slots, "files", "reads", |_| true), log("writes"), log("write_bytes"), log("syncs")]
}

fn near(found: f64, expected: f64, what: &str) {
    assert!(expected > 0.0 && (found - expected).abs() <= expected / 100.0, "{what}: {found} is not {expected}");
}

#[test]
fn files_and_the_log_are_what_the_servers_own_views_say() {
    let (scene, server) = (Scene::new(), postgres());
    let url = server.socket_url("postgres");
    let html = scene.path("load.html");
    let words = ["watch", &url, "--every", "1s", "--json", "--top", "100", "--html", html.to_str().unwrap()];
    let (child, mut lines, first) = begun(&scene, &words);
    let before = by_views(&server);
    work(&server);
    let mut out = read_slots(&mut lines, 2);
    let after = by_views(&server);
    let (code, rest, err) = interrupted(child, lines);
    out.push_str(&rest);
    assert_eq!(code, 130, "{err}");
    let told = slots(&out);
    let found = by_slots(&told);
    for (at, what) in ["reads", "writes of the log", "bytes of the log", "syncs of the log"].into_iter().enumerate() {
        near(found[at], after[at] - before[at], what);
    }
    let means = told.iter().filter_map(|slot| slot["files"]["rows"].as_array()).flatten();
    let means: Vec<f64> = means.filter_map(|row| row["read_ms"].as_f64()).collect();
    assert!(!means.is_empty() && means.iter().all(|ms| (0.0..1_000.0).contains(ms)), "{means:?}");
    let checkpoints = sum(&told, "counters", "count", |row| row["name"] == "checkpoints on request");
    assert!((checkpoints - 4.0).abs() < 0.5, "{out}");
    assert!(!out.contains("plimsoll watch */"), "our own statements are left out: {out}");
    for slot in &told {
        assert!(slot["files"]["status"] == "exact" && slot["files"]["unknown"] == Value::Array(Vec::new()), "{slot}");
        assert!(slot.get("waits").is_none(), "PostgreSQL adds up no waits: {slot}");
    }

    // What is kept is the same.
    let all = slots(&(first + &out));
    let shown = scene.say(&["watch", "show", "--by", "file", "--top", "100", "--json"]).json().remove(0);
    let of_log = |rows: &Value| {
        rows.as_array()
            .unwrap()
            .iter()
            .filter(|row| is_log(row))
            .map(|row| row["writes"].as_f64().unwrap())
            .sum::<f64>()
    };
    near(of_log(&shown["rows"]), sum(&all, "files", "writes", is_log), "what is kept");
    let said = scene.say(&["watch", "show", "--by", "file"]).out;
    assert!(said.contains("takes most of the time of files") && said.contains("Mean read"), "{said}");
    let filtered = scene.say(&["watch", "show", "--by", "file", "--where", "text=log", "--sort", "writes", "--json"]);
    assert!(filtered.json()[0]["rows"].as_array().unwrap().iter().all(is_log), "{filtered:?}");
    let counters = scene.say(&["watch", "show", "--by", "counter", "--unit", "minute"]).out;
    assert!(counters.contains("checkpoints on request") && counters.contains("Count/min"), "{counters}");
    scene.say(&["watch", "show", "--by", "wait"]).failed(2, &["nothing is kept of the waits"]);
    scene.say(&["watch", "show", "--by", "file", "--unit", "execution"]).failed(2, &["files are not executed"]);
    scene.say(&["watch", "show", "--by", "file", "--sort", "rows"]).failed(2, &["no metric of files is 'rows'"]);
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("Latency of files over time") && page.contains("Files, by time"), "{}", page.len());
}

#[test]
fn counters_that_are_set_back_are_said_to_be_and_make_no_spike() {
    let (scene, server) = (Scene::new(), postgres());
    let url = server.socket_url("postgres");
    let words = ["watch", &url, "--every", "1s", "--json", "--top", "100"];
    let (child, mut lines, _) = begun(&scene, &words);
    let before = by_views(&server);
    work(&server);
    let reset = by_views(&server);
    server.psql("SELECT pg_stat_reset_shared('wal'), pg_stat_reset_shared('bgwriter')").unwrap();
    if server.psql("SHOW server_version_num").unwrap().trim() >= "160000" {
        server.psql("SELECT pg_stat_reset_shared('io')").unwrap();
    }
    insert(&server, 50);
    let mut out = read_slots(&mut lines, 2);
    let after = by_views(&server);
    let (code, rest, err) = interrupted(child, lines);
    out.push_str(&rest);
    assert_eq!(code, 130, "{err}");
    let told = slots(&out);
    let [_, writes, bytes, _] = by_slots(&told);
    // What was counted until the reset may be lost, and what was counted after it is not.
    for (found, at) in [(writes, 1), (bytes, 2)] {
        let most = (reset[at] - before[at]) + after[at];
        assert!(found <= most * 1.01 && found >= after[at] * 0.99, "{found} of {most} and {}: {out}", after[at]);
    }
    let says = |slot: &&Value| {
        let unknown = slot["files"]["unknown"].as_array().unwrap();
        unknown.iter().any(|reason| reason == "reset") && slot["files"]["status"] != "exact"
    };
    assert!(told.iter().any(|slot| says(&slot)), "{out}");
    let shown = scene.say(&["watch", "show", "--by", "file"]).out;
    assert!(shown.contains("Some of it may be missing: a reset."), "{shown}");
}

#[test]
fn a_restart_is_no_spike_either() {
    let (scene, server) = (Scene::new(), postgres());
    let url = server.socket_url("postgres");
    let words = ["watch", &url, "--every", "1s", "--json", "--top", "100"];
    let (child, mut lines, _) = begun(&scene, &words);
    let before = by_views(&server);
    work(&server);
    // A start that is nearer than two seconds to the one before is taken for the same.
    server.psql("SELECT pg_sleep(2.5)").unwrap();
    server.restart().unwrap();
    insert(&server, 50);
    let mut out = read_slots(&mut lines, 5);
    let after = by_views(&server);
    let (code, rest, err) = interrupted(child, lines);
    out.push_str(&rest);
    assert_eq!(code, 130, "{err}");
    let told = slots(&out);
    let [_, writes, bytes, syncs] = by_slots(&told);
    // Counters outlive a restart in order, and with them what happened around it.
    for (found, at) in [(writes, 1), (bytes, 2), (syncs, 3)] {
        near(found, after[at] - before[at], "around a restart");
    }
}

/// Reads, writes and written bytes of data files, and all waits for files, by the Performance Schema.
fn by_schema(server: &MariaDb) -> Vec<f64> {
    let files = "SELECT SUM(COUNT_READ), SUM(COUNT_WRITE), SUM(SUM_NUMBER_OF_BYTES_WRITE) FROM performance_schema.file_summary_by_instance \
                 WHERE EVENT_NAME IN ('wait/io/file/innodb/innodb_data_file', 'wait/io/file/innodb/innodb_dblwr_file')";
    let waits = "SELECT SUM(COUNT_STAR) FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME \
                 = 'wait/io/file/innodb/innodb_data_file'";
    let text = [files, waits].map(|sql| server.sql(sql).unwrap()).join(" ");
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// The same once the server writes no pages in the background any more.
fn at_rest(server: &MariaDb) -> Vec<f64> {
    let mut last = by_schema(server);
    common::wait_until(|| {
        server.sql("SELECT SLEEP(1.2)").unwrap();
        let now = by_schema(server);
        std::mem::replace(&mut last, now.clone()) == now
    });
    last
}

#[test]
fn mariadbs_files_and_waits_are_what_the_performance_schema_says() {
    let builder = MariaDb::builder().buffer_pool_mb(16).setting("performance_schema", "ON");
    let builder = builder.setting("innodb_max_dirty_pages_pct_lwm", "0").setting("innodb_max_dirty_pages_pct", "0");
    let (scene, server) = (Scene::new(), builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap());
    server.sql("CREATE TABLE held (k INT AUTO_INCREMENT PRIMARY KEY, t CHAR(200)) ENGINE = InnoDB").unwrap();
    server
        .sql("INSERT INTO held (t) SELECT REPEAT('x', 200) FROM seq_1_to_1000")
        .unwrap_or_else(|_| server.sql("INSERT INTO held (t) VALUES ('x')").unwrap());
    at_rest(&server);
    let url = server.socket_url("test");
    let (child, mut lines, first) = begun(&scene, &["watch", &url, "--every", "1s", "--json", "--top", "100"]);
    let before = at_rest(&server);
    for _ in 0..4 {
        server.sql("INSERT INTO held (t) SELECT REPEAT('y', 200) FROM held a LIMIT 40000").unwrap();
    }
    for _ in 0..6 {
        server.sql("UPDATE held SET t = CONCAT(LEFT(t, 100), 'z')").unwrap();
    }
    let after = at_rest(&server);
    let mut out = read_slots(&mut lines, 2);
    let (code, rest, err) = interrupted(child, lines);
    out.push_str(&rest);
    assert_eq!(code, 130, "{err}");
    let told = slots(&out);
    let is_data = |row: &Value| row["kind"] == "data";
    let grown = |at: usize| after[at] - before[at];
    for (at, figure) in [(1, "writes"), (2, "write_bytes")] {
        near(sum(&told, "files", figure, is_data), grown(at), figure);
    }
    let is_wait = |row: &Value| row["name"] == "io/file/innodb/innodb_data_file";
    near(sum(&told, "waits", "waits", is_wait), grown(3), "waits");
    if server.product() == Product::MariaDb {
        assert!(sum(&told, "files", "writes", |row| row["name"] == "redo log writes") > 0.0, "{out}");
    }
    let texts = told.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let ours = texts.filter(|row| row["text"].as_str().is_some_and(|text| text.contains("plimsoll watch")));
    assert_eq!(ours.count(), 0, "our own are left out: {out}");

    let all = slots(&(first + &out));
    let shown = scene.say(&["watch", "show", "--by", "wait", "--top", "100", "--json"]).json().remove(0);
    let kept = shown["rows"].as_array().unwrap().iter().find(|row| is_wait(row)).unwrap();
    near(kept["waits"].as_f64().unwrap(), sum(&all, "waits", "waits", is_wait), "what is kept");
    let said = scene.say(&["watch", "show", "--by", "wait", "--unit", "second"]).out;
    assert!(said.contains("is waited for most") && said.contains("Waits/s"), "{said}");
}
