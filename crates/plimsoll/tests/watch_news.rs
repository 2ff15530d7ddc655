//! What averages hide: a statement that did not run at the same time of the day before, on a PostgreSQL, whose yesterday is put into the store by
//! the store's own means.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::sync::Arc;

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::Scene;
use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_profile::bucket::{Bucket, Key, Sum};
use plimsoll_profile::{About, Record, Status};
use plimsoll_store::{Keep, ProfileStore, RunStore, Save};
use serde_json::Value;
use watched::{begun, interrupted, load, server};

const LOAD: &str = "INSERT INTO held";
const MINUTE_US: i64 = 60_000_000;
const HOUR_US: i64 = 60 * MINUTE_US;

/// A minute in which nothing ran but some statements.
fn minute(start_us: i64, items: &[Item]) -> Record {
    let values = Values::of([(Measure::Executions, 1), (Measure::ElapsedUs, 1_000)]);
    let sum = Sum { values, status: Status::EXACT, longest_us: None };
    let key = |item: &Item| Key { is_nested: false, item: *item, plan: None };
    let bucket = Bucket {
        start_us,
        length_us: MINUTE_US.unsigned_abs(),
        covered_us: MINUTE_US.unsigned_abs(),
        status: Status::EXACT,
        explained_us: None,
        total_us: None,
        sums: items.iter().map(|item| (key(item), sum)).collect(),
        other: None,
        other_nested: None,
    };
    let about = About { end_us: start_us + MINUTE_US, slots: 1, ..About::default() };
    Record { bucket, about, waits: BTreeMap::new(), counted: BTreeMap::new() }
}

/// Keeps minutes of a time in which only statements ran that begin like this.
fn watch_then(scene: &Scene, target: &str, begin: &str, minutes: impl Iterator<Item = i64>) {
    let store = ProfileStore::of(Arc::new(RunStore::open(scene.store()).unwrap()));
    let (number, known) = store.begin(target, "postgresql").unwrap();
    let texts = store.texts(number).unwrap().into_iter();
    let meant = texts.filter(|text| text.text.as_ref().is_some_and(|text| text.starts_with(begin)));
    let items: Vec<Item> = meant.map(|text| text.item).collect();
    assert!(!items.is_empty());
    let records: Vec<Record> = minutes.map(|start_us| minute(start_us, &items)).collect();
    let (reads, changes) = (known.reads(), known.changes());
    let save = Save {
        reads_before: reads,
        reads,
        changes: &changes,
        records: &records,
        texts: &[],
        events: &[],
        keep: Keep::default(),
    };
    store.save(number, &save).unwrap();
}

fn shown(scene: &Scene, words: &[&str]) -> Value {
    let said = scene.say(&[&["watch", "show", "--json", "--top", "100"], words].concat());
    assert_eq!(said.code, 0, "{said:?}");
    said.json().remove(0)
}

/// Since when the statement that begins like this is new.
fn since(shown: &Value, begin: &str) -> Option<String> {
    let is_meant = |row: &&Value| row["text"].as_str().is_some_and(|text| text.starts_with(begin));
    let row = shown["rows"].as_array().unwrap().iter().find(is_meant).unwrap();
    row["new"].as_str().map(str::to_owned)
}

#[test]
fn a_statement_is_new_that_did_not_run_at_the_same_time_of_the_day_before() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let counting =
        |what: &str| server.psql(&format!("SELECT {what}(k) FROM generate_series(1, 300000) AS s (k)")).unwrap();
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--no-samples"]);
    counting("sum");
    let mut slots = |count: usize| {
        for _ in 0..count {
            lines.read_line(&mut String::new()).unwrap();
        }
    };
    slots(2);
    let between = server.psql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')");
    let between = between.unwrap().trim().to_owned();
    slots(1);
    load(&server, 300);
    counting("sum");
    counting("max");
    slots(2);
    let (code, out, err) = interrupted(child, lines);
    assert!(code == 130 && !out.contains("day before") && !out.contains("is new"), "{out} {err}");
    // Yesterday was not watched: nothing is known to be new.
    let today = shown(&scene, &[]);
    assert!(today.get("day_before").is_none() && since(&today, "SELECT max").is_none(), "{today}");
    let target = today["target"].as_str().unwrap().to_owned();
    let from_us = today["from"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond();
    // Up to three hours, as the last watch may be in the next hour, or be shown with the one before.
    let begin_us = (from_us.div_euclid(HOUR_US) - 24) * HOUR_US;
    let minutes = |from: i64, to: i64| (from..to).map(move |at| begin_us + at * MINUTE_US);
    watch_then(&scene, &target, LOAD, minutes(0, 20));
    assert!(shown(&scene, &[]).get("day_before").is_none(), "a part of the time is not enough");
    watch_then(&scene, &target, LOAD, minutes(20, 180));

    let after = shown(&scene, &["--from", &between]);
    assert!(after["day_before"]["from"].as_str().unwrap() < after["from"].as_str().unwrap(), "{after}");
    assert_eq!(since(&after, "INSERT INTO held"), None, "{after}");
    assert_eq!(since(&after, "SELECT sum").as_deref(), Some("since_day_before"), "{after}");
    assert_eq!(since(&after, "SELECT max").as_deref(), Some("never_seen_before"), "{after}");
    let by_text = shown(&scene, &["--from", &between, "--by", "text"]);
    assert_eq!(since(&by_text, "SELECT max").as_deref(), Some("never_seen_before"), "{by_text}");
    let said = scene.say(&["watch", "show", "--from", &between]).out;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "2 statements did not run at the same time of the day before, and 1 of them were never seen before"
        ),
        "{said}"
    );
    assert!(said.lines().any(|line| line.contains("SELECT max") && line.contains(" new")), "{said}");

    // Some work is that of a day of the week.
    watch_then(&scene, &target, "SELECT sum", minutes(0, 180).map(|start_us| start_us - 6 * 24 * HOUR_US));
    let weekly = shown(&scene, &["--from", &between]);
    assert_eq!(since(&weekly, "SELECT sum").as_deref(), Some("since_day_before"), "{weekly}");
    let rows = weekly["rows"].as_array().unwrap().iter().filter(|row| row["week_before"] == true);
    let texts: Vec<&str> = rows.map(|row| row["text"].as_str().unwrap()).collect();
    assert!(texts.len() == 1 && texts[0].starts_with("SELECT sum"), "{weekly}");
    let said = scene.say(&["watch", "show", "--from", &between]).out;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of the day before, and 1 of them did a week before"), "{said}");

    // The summary of a watch says it as well, and its page.
    let page = scene.path("new.html");
    let (child, mut lines, _) =
        begun(&scene, &["watch", &url, "--every", "1s", "--no-samples", "--html", page.to_str().unwrap()]);
    load(&server, 300);
    counting("min");
    for _ in 0..2 {
        lines.read_line(&mut String::new()).unwrap();
    }
    let (code, out, err) = interrupted(child, lines);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 130, "{err}");
    assert!(words.contains("'SELECT min(k) FROM generate_series($1, $2) AS s (k)' is new, with "), "{out}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(
        page.contains("is new, with ") && page.contains("never seen since the server is watched"),
        "{}",
        page.len()
    );
    // One picture stands open, the others below, and what they show is a table too.
    let (open, folded) = page.split_once("More charts</summary>").unwrap();
    assert_eq!((open.matches("<figure").count(), folded.matches("<figure").count()), (1, 2));
    assert!(folded.contains("<circle") && folded.contains("Executions and their mean time"), "{}", folded.len());
}

#[test]
fn what_a_server_does_not_tell_is_said_in_a_sentence() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--no-samples"]);
    load(&server, 20);
    server.psql("SELECT count(*) FROM held").unwrap();
    for _ in 0..2 {
        lines.read_line(&mut String::new()).unwrap();
    }
    assert_eq!(interrupted(child, lines).0, 130);
    scene.say(&["watch", "show", "--by", "plan"]).failed(2, &["has no plans", "SQL Server alone"]);
    scene.say(&["watch", "show", "--by", "object"]).failed(2, &["has no objects", "SQL Server alone"]);
    assert!(shown(&scene, &[]).get("plan_changes").is_none());
    let bars = scene.say(&["watch", "show", "--chart", "bars"]);
    assert!(bars.code == 0 && bars.out.contains("Time of the range"), "{bars:?}");
    let page = scene.say(&["watch", "show", "--chart", "scatter", "--html", "-"]);
    let (open, folded) = page.out.split_once("More charts</summary>").unwrap();
    assert!(open.contains("<circle") && !folded.contains("<circle"), "{}", page.out.len());
}
