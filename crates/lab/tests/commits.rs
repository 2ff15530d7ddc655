//! Single-row inserts on hardware whose log has a known latency, in virtual time.

mod running;

use running::on_hardware;

/// A log of this latency, and 0.04 ms of CPU for each insert.
fn log(latency: &str) -> String {
    include_str!("../../../examples/hardware/log-latency.toml").replace("\"0.681ms\"", &format!("\"{latency}\""))
}

/// The reference's four disks (3.9): 50,000 inserts take 50,000 x (latency + 0.04 ms), and all but the latter is waited for
/// the log.
#[test]
fn inserts_take_what_the_log_and_the_cpu_take() {
    for (latency_ms, seconds) in [(0.681, 36.0), (0.855, 44.8), (2.043, 104.2), (4.141, 209.1)] {
        let record = on_hardware(&log(&format!("{latency_ms}ms")), "insert-latency", &[]);
        let figure = |name: &str| record.results.iter().find(|figure| figure.metric == name).unwrap();
        let time = figure("insert_time");
        assert!((time.value / seconds - 1.0).abs() < 0.02, "{time:?}");
        let share = 100.0 * latency_ms / (latency_ms + 0.04);
        assert!((figure("log_wait_share").value - share).abs() < 1.0, "{:?}", figure("log_wait_share"));
        assert!((figure("insert_latency").value / (latency_ms + 0.04) - 1.0).abs() < 0.02);
        let truth = time.expected.as_ref().unwrap();
        assert!(truth.error_percent.unwrap().abs() < 0.1 && truth.limit.as_deref() == Some("latency"), "{truth:?}");

        let repetition = &record.repetitions[0];
        assert_eq!((repetition.points.len(), repetition.requests[0].operations), (10, 50_000));
        assert_eq!(repetition.requests[0].times.count, 50_000);
        let waited = &repetition.waits[0];
        assert_eq!((waited.wait.as_str(), waited.count), ("log_write", Some(50_000)));
        let written = repetition.files.iter().find(|file| file.file == "lab.run.db-wal").unwrap();
        // Its header is written anew whenever it begins again.
        assert!((50_000..50_100).contains(&written.writes.unwrap()), "{written:?}");
        assert!((written.write_latency_ms.unwrap() / latency_ms - 1.0).abs() < 0.001, "{written:?}");
    }
}

/// A level of the catalogue: what the log takes is drawn, and its mean is the truth.
#[test]
fn inserts_on_a_level_show_its_log() {
    let record = running::on_level("lab:azure-sql-db/S2@v12-retest?seed=1", "insert-latency", &[("commits", "20k")]);
    let truth = record.expected.unwrap();
    assert!(truth.error_percent.unwrap().abs() < 1.0, "{truth:?}");
}
