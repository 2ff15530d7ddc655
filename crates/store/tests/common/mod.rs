//! Records to be stored.
#![allow(dead_code, reason = "every file of tests uses a part of it")]

use plimsoll_measurement::event::{Event, Kind, MAIN, PointMeasured, events_of, head, repetition_head};
use plimsoll_measurement::{Figure, Metric, Point, Repetition, RunRecord};
use plimsoll_store::{RunStore, StoreError};

/// A run that has just begun; from JSON, as records may gain fields.
pub fn begun(run_id: &str) -> RunRecord {
    let record = serde_json::json!({
        "schema_version": "2.0",
        "subject": "database",
        "basis": "measured",
        "run_id": run_id,
        "test": "read-scan",
        "target": "postgres://reader@db.example/sales",
        "engine": "postgresql",
        "engine_version": "17.2",
        "clock": "real",
        "started_at": "2026-01-02T03:04:05Z",
        "parameters": {"sessions": 4, "volume": "1GiB"},
        "definition": {"hash": "0123456789abcdef", "text": "name = \"read-scan\"\n"},
        "target_fingerprint": "fingerprint-of-sales",
        "build": "0.1.0",
        "repetitions": [],
        "verdict": {"limit": null, "evidence": []},
        "warnings": [],
        "host": {"platform": "linux x86_64", "cpus": 2},
    });
    serde_json::from_value(record).expect("a record")
}

pub fn repetition(label: &str, points: Vec<Point>) -> Repetition {
    Repetition { label: label.into(), complete: true, started_seconds: 0.5, points, ..Repetition::default() }
}

pub fn point(index: u32) -> Point {
    let seconds = 0.1 + f64::from(index) / 3.0;
    Point { index, label: Some(format!("t{index}")), seconds, ..Point::default() }.with(Metric::ContentBytes, 1 << 20)
}

/// A run that has come to its end.
pub fn finished(run_id: &str) -> RunRecord {
    let figure = Figure {
        metric: "read_rate".into(),
        value: 1234.5,
        unit: "MB/min".into(),
        low: Some(1200.0),
        high: Some(1270.0),
        confidence: 0.95,
        repetitions: 2,
        point_cv_percent: None,
        note: None,
        values: Vec::new(),
        expected: None,
    };
    RunRecord {
        ended_at: Some("2026-01-02T03:14:05Z".into()),
        repetitions: vec![repetition("a", vec![point(0), point(1)]), repetition("b", vec![point(0)])],
        result: Some(figure.clone()),
        results: vec![figure],
        ..begun(run_id)
    }
}

/// Keeps a whole run at once.
pub fn keep(store: &RunStore, run: &RunRecord) -> Result<usize, StoreError> {
    store.append(&events_of(run, MAIN))
}

/// The events of a finished run as they come: its begin, each repetition with its points, its end.
pub fn step_by_step(run: &RunRecord) -> Vec<Event> {
    let begun = RunRecord { ended_at: None, result: None, results: Vec::new(), error: None, ..head(run) };
    let mut kinds = vec![Kind::Begun(Box::new(begun))];
    for repetition in &run.repetitions {
        let begun = Repetition { complete: false, ..repetition_head(repetition) };
        kinds.push(Kind::Repetition(Box::new(begun)));
        kinds.extend(
            repetition
                .points
                .iter()
                .cloned()
                .map(|point| Kind::Point(PointMeasured { repetition: repetition.label.clone(), point })),
        );
        kinds.push(Kind::Repetition(Box::new(repetition_head(repetition))));
    }
    kinds.push(Kind::Finished(Box::new(head(run))));
    let event = |(sequence, kind)| Event {
        run_id: run.run_id.clone(),
        source: MAIN.into(),
        sequence,
        at: run.started_at.clone(),
        kind,
    };
    (0..).zip(kinds).map(event).collect()
}
