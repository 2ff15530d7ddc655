//! Records of the first release are read: what they say stays what it was, under the names of version 2.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::float_cmp, reason = "what is read has to be what was written, to the last bit")]

use plimsoll_measurement::version::{VersionError, upgrade_point, upgrade_record, upgrade_repetition};
use plimsoll_measurement::{Basis, Metric, Point, Repetition, RunRecord, Subject};
use serde_json::{Value, json};

/// A record as version 1.0 wrote it, from `plimsoll run insert --target 'lab:azure-sql-db/S2@v12-ga-2015-01' --short --json`.
fn insert() -> Value {
    serde_json::from_str(include_str!("version1/insert.json")).unwrap()
}

fn upgraded(mut document: Value) -> RunRecord {
    upgrade_record(&mut document).unwrap();
    let once = document.clone();
    upgrade_record(&mut document).unwrap();
    assert_eq!(document, once, "upgrading twice changes nothing");
    let record: RunRecord = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(&record).unwrap(), document, "nothing is lost and nothing is made up");
    record
}

#[test]
fn a_record_of_version_1_says_the_same_in_version_2() {
    let old = insert();
    let record = upgraded(old.clone());
    assert_eq!(
        (record.schema_version.as_str(), record.subject, record.basis),
        ("2.0", Subject::Database, Basis::Measured)
    );
    let (old_point, point) = (&old["repetitions"][0]["points"][0], &record.repetitions[0].points[0]);
    assert_eq!(point.count(Metric::Rows), old_point["rows"].as_u64());
    assert_eq!(point.get(Metric::MbPerMinute), old_point["mb_per_minute"].as_f64());
    let us = point.get(Metric::LatencyUsP99).unwrap();
    assert_eq!(us, (old_point["latency_ms_p99"].as_f64().unwrap() * 1e6).round() / 1e3);
    let seconds = &record.repetitions[0].seconds;
    assert_eq!(seconds.latency_us_p50.len(), seconds.operations.len());
    assert!(seconds.latency_us_p50[0].unwrap() > 1000.0);
    assert_eq!(record.verdict.gains.len(), old["verdict"]["lifts"].as_array().unwrap().len());
    assert_eq!(record.results.len(), old["results"].as_array().unwrap().len());
    assert_eq!(record.result.unwrap().value, old["result"]["value"].as_f64().unwrap());
}

#[test]
fn the_parts_that_a_store_keeps_are_upgraded_each_by_itself() {
    let whole = upgraded(insert());
    let mut repetition = insert()["repetitions"][1].take();
    let points = repetition["points"].take();
    repetition["points"] = json!([]);
    repetition["silences"] = json!([{"started_seconds": 1.0, "seconds": 0.5}]);
    upgrade_repetition(&mut repetition);
    let mut repetition: Repetition = serde_json::from_value(repetition).unwrap();
    assert_eq!((repetition.stalls.len(), repetition.stalls[0].seconds), (1, 0.5));
    for point in points.as_array().unwrap() {
        let mut point = point.clone();
        upgrade_point(&mut point);
        repetition.points.push(serde_json::from_value::<Point>(point).unwrap());
    }
    repetition.stalls.clear();
    assert_eq!(repetition, whole.repetitions[1]);
}

#[test]
fn stages_and_volumes_stood_in_labels() {
    let cases = [
        ("tables", Some("tables"), None),
        ("restore, minute 12", Some("restore"), None),
        ("2.0 GB: copy, minute 1", Some("copy"), Some(2 << 30)),
        ("64.0 MB of 1.5 GB: backup", Some("backup"), Some(64 << 20)),
        ("64.0 MB: chunk 1", None, Some(64 << 20)),
        ("level change back", Some("level change back"), None),
        ("N = 500, sessions = 2", None, None),
        ("table3", None, None),
    ];
    for (label, stage, volume_bytes) in cases {
        let mut point = json!({"index": 0, "label": label, "started_seconds": 0.0, "seconds": 1.0});
        upgrade_point(&mut point);
        let point: Point = serde_json::from_value(point).unwrap();
        assert_eq!((point.stage.as_deref(), point.volume_bytes), (stage, volume_bytes), "{label}");
        assert_eq!(point.label.as_deref(), Some(label));
    }
}

#[test]
fn what_can_not_be_read_is_said() {
    let mut newer = json!({"schema_version": "3.1"});
    let error = upgrade_record(&mut newer).unwrap_err();
    assert_eq!(error, VersionError::Newer { found: "3.1".to_owned() });
    assert!(error.to_string().contains("3.1") && error.to_string().contains("2.0"), "{error}");
    for said in [json!({}), json!({"schema_version": 1}), json!({"schema_version": "one"}), json!([])] {
        assert!(matches!(upgrade_record(&mut said.clone()), Err(VersionError::Unknown { .. })), "{said}");
    }
}

/// Documents that are damaged come through, and fail where they are read as a record.
#[test]
fn damage_is_no_panic() {
    for point in [json!(null), json!(7), json!({"rows": "many", "latency_ms_p50": "slow"})] {
        upgrade_point(&mut point.clone());
        upgrade_repetition(&mut json!({"points": [point], "seconds": {"latency_ms_p50": [null, "x"]}}));
        let _ = upgrade_record(
            &mut json!({"schema_version": "1.0", "repetitions": point, "verdict": point, "results": point}),
        );
    }
}
