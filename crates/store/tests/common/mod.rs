//! Records to be stored.

use std::collections::BTreeMap;

use plimsoll_measurement::{Definition, Figure, Host, Point, Repetition, RunRecord, Verdict};

/// A run that has just begun.
pub fn begun(run_id: &str) -> RunRecord {
    RunRecord {
        schema_version: "1.0".into(),
        run_id: run_id.into(),
        test: "read-scan".into(),
        target: "postgres://reader@db.example/sales".into(),
        engine: "postgresql".into(),
        engine_version: "17.2".into(),
        clock: "real".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        ended_at: None,
        campaign: None,
        parameters: BTreeMap::from([("sessions".into(), 4.into()), ("volume".into(), "1GiB".into())]),
        definition: Definition { hash: "0123456789abcdef".into(), text: "name = \"read-scan\"\n".into() },
        target_fingerprint: "fingerprint-of-sales".into(),
        environment: BTreeMap::new(),
        catalog_edition: None,
        build: "0.1.0".into(),
        repetitions: Vec::new(),
        result: None,
        results: Vec::new(),
        cpu_table: None,
        truth: None,
        verdict: Verdict::default(),
        warnings: Vec::new(),
        error: None,
        host: Host { platform: "linux x86_64".into(), cpus: 2, ..Host::default() },
    }
}

pub fn repetition(label: &str, points: Vec<Point>) -> Repetition {
    Repetition { label: label.into(), complete: true, started_seconds: 0.5, cold: None, points, minutes: Vec::new() }
}

pub fn point(index: u32) -> Point {
    let seconds = 0.1 + f64::from(index) / 3.0;
    Point { index, label: Some(format!("t{index}")), seconds, content_bytes: Some(1 << 20), ..Point::default() }
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
    };
    RunRecord {
        ended_at: Some("2026-01-02T03:14:05Z".into()),
        repetitions: vec![repetition("a", vec![point(0), point(1)]), repetition("b", vec![point(0)])],
        result: Some(figure.clone()),
        results: vec![figure],
        ..begun(run_id)
    }
}
