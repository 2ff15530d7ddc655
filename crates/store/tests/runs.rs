//! What happens to a run in the store, from its beginning to lists of many.

mod common;

use common::{begun, finished, keep, step_by_step};
use plimsoll_measurement::event::{Event, Kind};
use plimsoll_measurement::{Fold, RunFailure, RunRecord};
use plimsoll_store::{Filter, RunStore, StoreError};
use tempfile::TempDir;

fn store() -> (TempDir, RunStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = RunStore::open(folder.path().join("runs.db")).expect("a store");
    (folder, store)
}

fn ids(store: &RunStore, filter: &Filter) -> Vec<String> {
    store.summaries(filter).expect("a list").into_iter().map(|run| run.run_id).collect()
}

#[test]
fn a_finished_point_is_there_for_others_before_the_next_begins() {
    let (_folder, writer) = store();
    let reader = RunStore::open(writer.path()).unwrap();
    let events = step_by_step(&finished("run-1"));
    for (told, event) in events.iter().enumerate() {
        assert_eq!(writer.append(std::slice::from_ref(event)).unwrap(), 1);
        let expected = Fold::of("run-1", events[..=told].iter().cloned()).record().unwrap();
        assert_eq!(reader.record("run-1").unwrap(), expected, "after event {told}");
    }
    assert_eq!(reader.record("run-1").unwrap(), finished("run-1"));
}

#[test]
fn events_that_come_again_change_nothing_also_when_the_run_is_over() {
    let (_folder, store) = store();
    let events = step_by_step(&finished("run-1"));
    assert_eq!(store.append(&events).unwrap(), events.len());
    for _ in 0..2 {
        store.append(&events).unwrap();
        assert_eq!(store.record("run-1").unwrap(), finished("run-1"));
        let kept = store.events("run-1", 0, 100).unwrap();
        assert_eq!(kept.len(), 6, "what nobody needs any more is dropped: {kept:?}");
    }
    assert_eq!(ids(&store, &Filter::default()), ["run-1"]);
}

#[test]
fn events_may_come_in_any_order() {
    let (_folder, store) = store();
    for event in step_by_step(&finished("run-1")).iter().rev() {
        store.append(std::slice::from_ref(event)).unwrap();
    }
    assert_eq!(store.record("run-1").unwrap(), finished("run-1"));
    assert_eq!(store.summaries(&Filter::default()).unwrap()[0].result, finished("run-1").result);

    // A run of which the begin has not come is not listed yet, and nothing of it is lost.
    let late = step_by_step(&finished("run-2"));
    store.append(&late[1..4]).unwrap();
    assert_eq!(ids(&store, &Filter::default()), ["run-1"]);
    assert!(matches!(store.record("run-2"), Err(StoreError::UnknownRun { .. })));
    store.append(&late[..1]).unwrap();
    assert_eq!(store.record("run-2").unwrap().repetitions[0].points.len(), 2);
}

#[test]
fn who_follows_catches_up_from_where_it_was() {
    let (_folder, store) = store();
    let events = step_by_step(&finished("run-1"));
    let mut fold = Fold::new("run-1");
    let mut position = 0;
    for some in events.chunks(3) {
        store.append(some).unwrap();
        loop {
            let page = store.events("run-1", position, 2).unwrap();
            let Some(last) = page.last() else { break };
            position = last.position;
            for kept in page {
                assert!(fold.apply(kept.event));
            }
        }
        assert_eq!(fold.record().unwrap(), store.record("run-1").unwrap());
    }
    assert_eq!(fold.record().unwrap(), finished("run-1"));
    assert_eq!(store.events("run-2", 0, 2).unwrap(), []);
}

#[test]
fn kinds_of_a_later_release_are_kept() {
    let (_folder, store) = store();
    let tide = Kind::Other { name: "tide".into(), document: serde_json::json!({"metres": 2.5}) };
    let mut events = step_by_step(&finished("run-1"));
    let sequence = events.len() as u64;
    events.push(Event { sequence, kind: tide.clone(), ..events[0].clone() });
    store.append(&events).unwrap();
    assert_eq!(store.record("run-1").unwrap(), finished("run-1"));
    assert_eq!(store.events("run-1", 0, 100).unwrap().pop().unwrap().event.kind, tide);
}

#[test]
fn an_event_that_could_not_be_read_again_changes_nothing() {
    let (_folder, store) = store();
    keep(&store, &begun("run-1")).unwrap();
    let mut events = step_by_step(&finished("run-1"));
    let Kind::Point(measured) = &mut events[2].kind else { panic!("{:?}", events[2]) };
    measured.point.seconds = f64::NAN;
    let refused = store.append(&events).unwrap_err();
    assert_eq!(refused.to_string(), "an event 'point' of run run-1 is no valid document");
    assert_eq!(store.record("run-1").unwrap(), begun("run-1"));
}

#[test]
fn a_run_is_found_by_its_id_its_beginning_or_as_the_latest() {
    let (_folder, store) = store();
    let error = |store: &RunStore, wanted: &str| store.record(wanted).unwrap_err().to_string();
    assert_eq!(error(&store, "latest"), "no run 'latest' in the store; it holds none yet");
    for id in ["0190-aaaa", "0190-aabb", "0191-cccc", "019"] {
        keep(&store, &begun(id)).unwrap();
    }
    let found = |wanted: &str| store.record(wanted).unwrap().run_id;
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
    let (_folder, store) = store();
    let failure = RunFailure { kind: "disk-full".into(), message: "no space".into(), hint: None, exit_code: 7 };
    let runs = [
        RunRecord { campaign: Some("spring".into()), ..finished("r1") },
        RunRecord { test: "memory".into(), ..begun("r2") },
        RunRecord { target: "sqlite:/data/a.db".into(), target_fingerprint: Some("a".into()), ..finished("r3") },
        RunRecord { campaign: Some("spring".into()), error: Some(failure), ..finished("r4") },
    ];
    for run in &runs {
        keep(&store, run).unwrap();
    }
    let all = Filter::default();
    assert_eq!(ids(&store, &all), ["r4", "r3", "r2", "r1"]);
    assert_eq!(ids(&store, &Filter { limit: Some(2), ..all.clone() }), ["r4", "r3"]);
    assert_eq!(ids(&store, &Filter { after: Some("r3".into()), limit: Some(1), ..all.clone() }), ["r2"]);
    assert_eq!(ids(&store, &Filter { after: Some("r1".into()), ..all.clone() }), Vec::<String>::new());
    assert_eq!(ids(&store, &Filter { test: Some("memory".into()), ..all.clone() }), ["r2"]);
    assert_eq!(ids(&store, &Filter { target: Some("sqlite:/data/a.db".into()), ..all.clone() }), ["r3"]);
    assert_eq!(ids(&store, &Filter { target: Some("a".into()), ..all.clone() }), ["r3"]);
    let spring = Filter { campaign: Some("spring".into()), test: Some("read-scan".into()), ..all.clone() };
    assert_eq!(ids(&store, &spring), ["r4", "r1"]);

    let summaries = store.summaries(&all).unwrap();
    let complete: Vec<bool> = summaries.iter().map(|run| run.complete).collect();
    assert_eq!(complete, [false, true, false, true]);
    assert_eq!(summaries[0].error_kind.as_deref(), Some("disk-full"));
    assert_eq!(summaries[1].result, runs[2].result);
    assert_eq!(summaries[2].ended_at, None);
}

#[test]
fn an_incomplete_repetition_makes_a_run_incomplete_in_lists() {
    let (_folder, store) = store();
    let mut run = finished("r1");
    run.repetitions[1].complete = false;
    keep(&store, &run).unwrap();
    assert!(!store.summaries(&Filter::default()).unwrap()[0].complete);
}

#[test]
fn many_write_and_read_at_the_same_time() {
    const RUNS: usize = 20;
    let (_folder, store) = store();
    let other = RunStore::open(store.path()).unwrap();
    std::thread::scope(|scope| {
        // Two threads that share a store, and one that has it open itself.
        for (writer, store) in [("left", &store), ("middle", &store), ("right", &other)] {
            scope.spawn(move || {
                for n in 0..RUNS {
                    let run = finished(&format!("{writer}-{n:02}"));
                    for some in step_by_step(&run).chunks(2) {
                        store.append(some).unwrap();
                    }
                    assert_eq!(store.record(&run.run_id).unwrap(), run);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| (0..RUNS).for_each(|_| drop(store.summaries(&Filter::default()).unwrap())));
        }
    });
    assert_eq!(ids(&store, &Filter::default()).len(), 3 * RUNS);
    assert_eq!(other.record("left-07").unwrap(), finished("left-07"));
}
