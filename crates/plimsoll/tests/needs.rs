//! Tests that can't do without something that the server does not show: they end before anything is loaded, and say what gives it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use plimsoll_testbed::Postgres;

#[test]
fn a_server_that_counts_nothing_stops_what_rests_on_counts() {
    let scene = Scene::new();
    let server = Postgres::builder().shared_buffers_mb(16).setting("track_counts", "off").start().unwrap();
    let target = server.socket_url("postgres");
    for test in ["memory", "write-chunk", "retest"] {
        let said = scene.say(&["run", test, "--short", "--json", "--target", &target]);
        said.failed(2, &["cache miss pages", "track_counts", "ALTER SYSTEM SET track_counts = on"]);
        assert!(said.json()[0]["repetitions"].as_array().unwrap().is_empty(), "{said:#?}");
    }
    let sql = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'";
    assert_eq!(server.psql(sql).unwrap().trim(), "0");
    let doctor = scene.say(&["doctor", &target]);
    // It stands among the settings as well.
    let line = doctor.out.lines().find(|line| line.starts_with("--") && line.contains("track_counts")).unwrap();
    assert!(line.contains("; write-chunk, memory, retest, import, level-change can't run"), "{line}");
    // What does without counts runs, and has none.
    let said = scene.say(&["run", "read-scan", "--short", "--json", "--set", "volume=5MiB", "--target", &target]);
    assert_eq!(said.code, 0, "{said:#?}");
    let point = &said.json()[0]["repetitions"][0]["points"][0];
    assert!(point["metrics"]["mb_per_minute"].is_number() && point["metrics"]["cache_miss_pages"].is_null(), "{point}");
}

#[test]
fn doctor_says_each_thing_once() {
    let scene = Scene::new();
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    for target in [server.socket_url("postgres"), scene.sqlite(), "lab:azure-sql-db/S2@v12-ga-2015-01".to_owned()] {
        let said = scene.say(&["doctor", &target]);
        assert_eq!(said.code, 0, "{said:#?}");
        let about_target = said.out.split("\n\n").nth(1).unwrap();
        let lines = about_target.lines().filter(|line| line.starts_with("ok") || line.starts_with("--"));
        let mut things: Vec<&str> = lines.map(|line| line[4..26].trim()).collect();
        let all = things.len();
        things.sort_unstable();
        things.dedup();
        assert!(all > 8 && things.len() == all, "{said:#?}");
    }
}
