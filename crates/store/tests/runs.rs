//! What happens to a run in the store, from its beginning to lists of many.

mod common;

use common::{begun, finished, point, repetition};
use plimsoll_measurement::{Repetition, RunFailure, RunRecord};
use plimsoll_store::{Filter, SqliteStore, Store, StoreError};
use tempfile::TempDir;

fn store() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path().join("runs.db")).expect("a store");
    (folder, store)
}

fn ids(store: &SqliteStore, filter: &Filter) -> Vec<String> {
    store.list(filter).expect("a list").into_iter().map(|run| run.run_id).collect()
}

#[test]
fn a_finished_point_is_there_for_others_before_the_next_begins() {
    let (_folder, mut writer) = store();
    let reader = SqliteStore::open(writer.path()).unwrap();
    writer.begin(&begun("run-1")).unwrap();
    writer.repetition("run-1", &Repetition { complete: false, ..repetition("a", Vec::new()) }).unwrap();
    for index in 0..3 {
        writer.point("run-1", "a", &point(index)).unwrap();
        let seen = reader.load("run-1").unwrap();
        assert_eq!(seen.repetitions[0].points, (0..=index).map(point).collect::<Vec<_>>());
    }
    writer.repetition("run-1", &repetition("a", Vec::new())).unwrap();
    writer.repetition("run-1", &Repetition { complete: false, ..repetition("b", Vec::new()) }).unwrap();
    drop(writer);

    let killed = reader.load("run-1").unwrap();
    assert_eq!(killed.ended_at, None);
    let shape: Vec<_> = killed.repetitions.iter().map(|r| (r.label.as_str(), r.complete, r.points.len())).collect();
    assert_eq!(shape, [("a", true, 3), ("b", false, 0)]);
}

#[test]
fn the_finished_record_takes_the_place_of_what_was_written_on_the_way() {
    let (_folder, mut store) = store();
    let run = finished("run-1");
    store.begin(&begun("run-1")).unwrap();
    for repetition in &run.repetitions {
        store.repetition("run-1", repetition).unwrap();
        for point in &repetition.points {
            store.point("run-1", &repetition.label, point).unwrap();
        }
    }
    assert_eq!(store.load("run-1").unwrap().repetitions, run.repetitions);
    store.finish(&run).unwrap();
    assert_eq!(store.load("run-1").unwrap(), run);
}

#[test]
fn nothing_is_added_to_what_was_not_begun_and_nothing_begins_twice() {
    let (_folder, mut store) = store();
    let message = |result: Result<(), StoreError>| result.unwrap_err().to_string();
    assert_eq!(message(store.finish(&finished("run-1"))), "run run-1 was never begun");
    assert_eq!(message(store.repetition("run-1", &repetition("a", Vec::new()))), "run run-1 was never begun");
    store.begin(&begun("run-1")).unwrap();
    assert_eq!(message(store.point("run-1", "a", &point(0))), "repetition a of run run-1 was never begun");
    assert!(matches!(store.begin(&begun("run-1")), Err(StoreError::RunExists { run_id }) if run_id == "run-1"));
}

#[test]
fn a_record_that_could_not_be_loaded_changes_nothing() {
    let (_folder, mut store) = store();
    store.begin(&begun("run-1")).unwrap();
    let mut broken = finished("run-1");
    broken.repetitions[1].points[0].seconds = f64::NAN;
    assert!(matches!(store.finish(&broken), Err(StoreError::Document { what: "point", .. })));
    assert_eq!(store.load("run-1").unwrap(), begun("run-1"));

    let mut twice_a = finished("run-1");
    twice_a.repetitions[1].label = "a".into();
    assert!(matches!(store.finish(&twice_a), Err(StoreError::Sqlite { .. })));
    assert_eq!(store.load("run-1").unwrap(), begun("run-1"));
}

#[test]
fn a_run_is_found_by_its_id_its_beginning_or_as_the_latest() {
    let (_folder, mut store) = store();
    let error = |store: &SqliteStore, wanted: &str| store.load(wanted).unwrap_err().to_string();
    assert_eq!(error(&store, "latest"), "no run 'latest' in the store; it holds none yet");
    for id in ["0190-aaaa", "0190-aabb", "0191-cccc", "019"] {
        store.begin(&begun(id)).unwrap();
    }
    let found = |wanted: &str| store.load(wanted).unwrap().run_id;
    assert_eq!(found("latest"), "0191-cccc");
    assert_eq!(found("0190-aab"), "0190-aabb");
    assert_eq!(found("0191"), "0191-cccc");
    assert_eq!(found("019"), "019", "a whole id may be short");
    assert_eq!(error(&store, "0190-aa"), "several runs begin with '0190-aa': 0190-aabb, 0190-aaaa");
    assert_eq!(error(&store, "01"), "'01' is too short for a run id: give at least 4 characters");
    let newest = "0191-cccc, 0190-aabb, 0190-aaaa, 019";
    assert_eq!(error(&store, "0190-%"), format!("no run '0190-%' in the store; the newest: {newest}"));
}

#[test]
fn lists_are_filtered_and_the_newest_come_first() {
    let (_folder, mut store) = store();
    let failure = RunFailure { kind: "disk-full".into(), message: "no space".into(), hint: None, exit_code: 7 };
    let runs = [
        RunRecord { campaign: Some("spring".into()), ..finished("r1") },
        RunRecord { test: "memory".into(), ..begun("r2") },
        RunRecord { target: "sqlite:/data/a.db".into(), target_fingerprint: Some("a".into()), ..finished("r3") },
        RunRecord { campaign: Some("spring".into()), error: Some(failure), ..finished("r4") },
    ];
    for run in &runs {
        store.begin(run).unwrap();
    }
    let all = Filter::default();
    assert_eq!(ids(&store, &all), ["r4", "r3", "r2", "r1"]);
    assert_eq!(ids(&store, &Filter { limit: Some(2), ..all.clone() }), ["r4", "r3"]);
    assert_eq!(ids(&store, &Filter { test: Some("memory".into()), ..all.clone() }), ["r2"]);
    assert_eq!(ids(&store, &Filter { target: Some("sqlite:/data/a.db".into()), ..all.clone() }), ["r3"]);
    assert_eq!(ids(&store, &Filter { target: Some("a".into()), ..all.clone() }), ["r3"]);
    let spring = Filter { campaign: Some("spring".into()), test: Some("read-scan".into()), ..all.clone() };
    assert_eq!(ids(&store, &spring), ["r4", "r1"]);

    let summaries = store.list(&all).unwrap();
    let complete: Vec<bool> = summaries.iter().map(|run| run.complete).collect();
    assert_eq!(complete, [false, true, false, true]);
    assert_eq!(summaries[0].error_kind.as_deref(), Some("disk-full"));
    assert_eq!(summaries[1].result, runs[2].result);
    assert_eq!(summaries[2].ended_at, None);
}

#[test]
fn an_incomplete_repetition_makes_a_run_incomplete_in_lists() {
    let (_folder, mut store) = store();
    let mut run = finished("r1");
    run.repetitions[1].complete = false;
    store.begin(&run).unwrap();
    assert!(!store.list(&Filter::default()).unwrap()[0].complete);
}

#[test]
fn two_stores_write_at_the_same_time() {
    const RUNS: usize = 20;
    let (_folder, store) = store();
    std::thread::scope(|scope| {
        for writer in ["left", "right"] {
            let mut store = SqliteStore::open(store.path()).unwrap();
            scope.spawn(move || {
                for n in 0..RUNS {
                    let run = finished(&format!("{writer}-{n:02}"));
                    store.begin(&begun(&run.run_id)).unwrap();
                    store.repetition(&run.run_id, &run.repetitions[0]).unwrap();
                    store.point(&run.run_id, "a", &point(0)).unwrap();
                    store.finish(&run).unwrap();
                }
            });
        }
    });
    assert_eq!(ids(&store, &Filter::default()).len(), 2 * RUNS);
    assert_eq!(store.load("left-07").unwrap(), finished("left-07"));
}
