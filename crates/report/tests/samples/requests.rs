//! Records of tests that make requests: a mix over two hours with a lost server, a ladder of rates, more sessions, larger
//! batches, and inserts one by one.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_measurement::histogram::{LatencyHistogram, LatencyHistogramData};
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Client, FileDelta, FileUse, Phase, RequestKind, RunRecord, Seconds, WaitDelta};

use super::{bare, figure, moved, repetition, wobble};

/// `count` times around `median_ms`, one in hundred of them ten times as long.
fn times(count: u32, median_ms: f64, seed: u32) -> LatencyHistogram {
    let mut times = LatencyHistogram::new();
    for at in 0..count {
        let near = median_ms * (1.0 + 0.4 * wobble(seed + at));
        let ms = if at % 100 == 7 { near * 10.0 } else { near };
        let ms = if at % 4000 == 1 { near * 60.0 } else { ms };
        times.record(Duration::from_secs_f64(ms / 1e3));
    }
    times
}

fn data(count: u32, median_ms: f64, seed: u32) -> LatencyHistogramData {
    times(count, median_ms, seed).to_data()
}

fn kind(name: &str, count: u32, median_ms: f64, rows: u64, seed: u32) -> RequestKind {
    RequestKind {
        kind: name.into(),
        operations: count.into(),
        rows_examined: u64::from(count) * rows,
        rows: u64::from(count) * rows,
        content_bytes: u64::from(count) * rows * 410,
        errors: BTreeMap::new(),
        retries: 0,
        drained: 0,
        times: data(count, median_ms, seed),
        times_uncorrected: None,
        times_without_waits: None,
    }
}

fn client(verdict: &str, evidence: &str) -> Client {
    Client { verdict: verdict.into(), evidence: vec![evidence.into()], ..Client::default() }
}

/// Requests of `length` seconds that rise to `rate`; nothing is answered in the seconds of `lost`.
fn seconds(length: usize, rate: f64, seed: u32, lost: std::ops::Range<usize>) -> Seconds {
    let mut seconds = Seconds::default();
    for at in 0..length {
        let gone = lost.contains(&at);
        let noise = wobble(seed + at as u32);
        let warm = 1.0 - 0.7 / (1.0 + 12.0 * at as f64 / length as f64);
        let operations = if gone { 0 } else { (rate * warm * (1.0 + 0.1 * noise)) as u64 };
        seconds.operations.push(operations);
        seconds.rows.push(operations * 4);
        seconds.rows_examined.push(operations * 4);
        seconds.content_bytes.push(operations * 4 * 410);
        seconds.errors.push(u64::from(gone) * 3);
        seconds.latency_us_p50.push((!gone).then_some(1900.0 / warm * (1.0 + 0.1 * noise)));
        seconds.latency_us_p99.push((!gone).then_some(14000.0 / warm * (1.0 + 0.5 * noise.abs())));
    }
    if !lost.is_empty() {
        seconds.errors_by_class.insert("lost".into(), seconds.errors.clone());
        let busy = (0..length).map(|at| u64::from(at % 97 == 5)).collect();
        seconds.errors_by_class.insert("busy".into(), busy);
    }
    seconds
}

/// Three repetitions of a mix; the server is away for a while in the second.
pub fn mix(target: &str, length: usize) -> RunRecord {
    let mut record = bare("mix-b", target);
    for (at, label) in ["a", "b", "c"].iter().enumerate() {
        let seed = at as u32 * 7919;
        let lost = if at == 1 { length * 55 / 100..length * 60 / 100 } else { 0..0 };
        let minute = |minute: usize| {
            let mut point = moved(minute as u32, 90, 90.0 + 3.0 * wobble(seed + minute as u32), minute as f64 * 60.0);
            point.label = Some(format!("minute {}", minute + 1));
            point
        };
        let mut one = repetition(label, (0..length.div_ceil(60)).map(minute).collect());
        one.requests = vec![
            kind("direct-select", 24_000, 1.1, 1, seed),
            kind("indirect-select", 9_000, 4.2, 60, seed + 1),
            kind("insert", 4_100, 2.3, 1, seed + 2),
            kind("update", 900, 2.9, 1, seed + 3),
        ];
        if at == 1 {
            one.requests[2].errors = BTreeMap::from([("lost".into(), 90), ("busy".into(), 12)]);
            one.requests[2].retries = 12;
        }
        one.seconds = seconds(length, 310.0, seed, lost);
        record.repetitions.push(one);
    }
    record.result = Some(figure("request_rate", 287.4, "1/s", Some(3.1)));
    record.results = vec![
        figure("request_rate", 287.4, "1/s", Some(3.1)),
        figure("latency_p50", 1.62, "ms", Some(0.02)),
        figure("latency_p99", 22.4, "ms", Some(0.9)),
    ];
    record.host.client = Some(client(
        "free",
        "its busiest session needed 3.2 % of its time for itself, and its threads 4.1 % of 2 CPUs",
    ));
    record
}

/// A search for the highest rate that holds, twice; the client could not make more.
pub fn ladder(target: &str) -> RunRecord {
    let mut record = bare("direct-select", target);
    record.clock = "real".into();
    record.virtual_seconds = None;
    for (at, label) in ["a", "b"].iter().enumerate() {
        let mut one = repetition(label, vec![moved(0, 20, 120.0, 0.0)]);
        for (step, rate) in [500.0, 1000.0, 2000.0, 4000.0, 3000.0, 3500.0].into_iter().enumerate() {
            let seed = (at * 100 + step) as u32;
            let most = 3200.0 + 60.0 * at as f64;
            let answered = if rate < most { rate } else { most } * (1.0 + 0.01 * wobble(seed));
            let late = if rate > most { 400.0 } else { 0.8 / (1.0 - rate / 3600.0) };
            one.phases.push(Phase {
                label: format!("{rate}/s"),
                started_seconds: step as f64 * 10.0,
                seconds: 10.0,
                sessions: 8,
                rate_asked: Some(rate),
                operations: (answered * 10.0) as u64,
                rate: answered,
                backlog: Some(if rate > most { ((rate - most) * 10.0) as u64 } else { 0 }),
                times: data(8000, late, seed),
                times_uncorrected: Some(data(8000, 0.8, seed)),
                start_lag: Some(data(8000, 0.05, seed)),
                holds: Some(rate < most),
                ..Phase::default()
            });
        }
        let mut selects = kind("direct-select", 8000, 300.0, 1, 5);
        selects.times_uncorrected = Some(data(8000, 0.8, 6));
        one.requests = vec![selects];
        one.seconds = seconds(60, 2600.0, at as u32, 0..0);
        record.repetitions.push(one);
    }
    record.result = Some(figure("knee_rate", 3000.0, "1/s", None));
    record.results = vec![figure("knee_rate", 3000.0, "1/s", None), figure("latency_p99", 4.1, "ms", None)];
    record.host.client = Some(client("was-the-limit", "its threads used 98 % of 2 CPUs"));
    record
}

/// What 1, 2, 4 and 8 sessions are answered.
pub fn scale(target: &str) -> RunRecord {
    let mut record = bare("scale", target);
    for (at, label) in ["a", "b", "c"].iter().enumerate() {
        let mut one = repetition(label, Vec::new());
        for (step, sessions) in [1_u32, 2, 4, 8].into_iter().enumerate() {
            let rate = 400.0 * f64::from(sessions) / (1.0 + 0.12 * f64::from(sessions)) * (1.0 + 0.06 * at as f64);
            one.phases.push(Phase {
                label: if sessions == 1 { "1 session".into() } else { format!("{sessions} sessions") },
                started_seconds: step as f64 * 60.0,
                seconds: 60.0,
                sessions,
                operations: (rate * 60.0) as u64,
                rate,
                mb_per_minute: Some(rate * 0.02),
                times: data(2000, 2.0 + f64::from(sessions) * 0.3, step as u32),
                ..Phase::default()
            });
        }
        one.requests = vec![kind("direct-select", 3000, 2.9, 1, 3)];
        one.seconds = seconds(240, 900.0, at as u32, 0..0);
        record.repetitions.push(one);
    }
    record.result = Some(figure("request_rate", 1630.0, "1/s", Some(30.0)));
    record.host.client = Some(client("near-its-limit", "its threads used 78 % of 2 CPUs"));
    record
}

/// Batches of 1 to 10,000 rows.
pub fn batches(target: &str) -> RunRecord {
    let mut record = bare("bulk-load", target);
    for (at, label) in ["a", "b", "c"].iter().enumerate() {
        let mut one = repetition(label, vec![moved(0, 300, 300.0, 0.0)]);
        for (step, rows) in [1_u64, 10, 100, 1000, 10_000].into_iter().enumerate() {
            let rate = 900.0 * rows as f64 / (rows as f64 + 90.0) * (1.0 + 0.05 * wobble(at as u32 * 31 + step as u32));
            one.phases.push(Phase {
                label: if rows == 1 { "1 row".into() } else { format!("{rows} rows") },
                seconds: 20.0,
                sessions: 1,
                batch_rows: Some(rows),
                operations: 500,
                rate: 25.0,
                mb_per_minute: Some(rate),
                times: data(500, 40.0, step as u32),
                ..Phase::default()
            });
        }
        one.requests = vec![kind("bulk-load", 2500, 40.0, 1000, 3)];
        record.repetitions.push(one);
    }
    record.result = Some(figure("content_rate", 880.0, "MB/min", Some(30.0)));
    record
}

/// 50,000 inserts, a commit each, with what they waited for.
pub fn insert_latency(target: &str) -> RunRecord {
    let mut record = bare("insert-latency", target);
    let wait = |wait: &str, seconds: f64, elapsed_percent: f64| WaitDelta {
        wait: wait.into(),
        class: None,
        seconds,
        count: Some(50_000),
        elapsed_percent,
        signal_seconds: Some(0.002 * seconds),
        longest_seconds: Some(0.031),
    };
    let mut one = repetition("a", vec![moved(0, 20, 33.0, 0.0)]);
    one.requests = vec![kind("insert", 50_000, 0.72, 1, 11)];
    one.seconds = seconds(36, 1400.0, 3, 0..0);
    one.waits = vec![wait("log_write", 34.05, 94.6), wait("cpu", 1.95, 5.4)];
    one.files = vec![
        FileDelta {
            file: "log".into(),
            database: Some("shop".into()),
            path: Some("F:\\log\\shop_log.ldf".into()),
            writes: Some(50_000),
            write_bytes: Some(200 * MB),
            write_stall_seconds: Some(34.05),
            write_mb_per_second: Some(5.56),
            write_latency_ms: Some(0.681),
            ..FileDelta::default()
        },
        FileDelta {
            file: "data".into(),
            database: Some("shop".into()),
            path: Some("D:\\data\\shop.mdf".into()),
            kind: Some("data".into()),
            size_bytes: Some(64 << 30),
            elapsed_seconds: Some(36.0),
            reads: Some(12),
            read_bytes: Some(98_304),
            read_stall_seconds: Some(0.0132),
            read_mb_per_second: Some(0.0026),
            read_latency_ms: Some(1.1),
            writes: Some(2600),
            write_bytes: Some(21 * MB),
            write_stall_seconds: Some(2.34),
            write_mb_per_second: Some(0.583),
            write_latency_ms: Some(0.9),
            limits: Some(FileUse {
                source: "azure-sql-mi-gp/129GiB@2026-08".into(),
                size_bytes: Some(64 << 30),
                limit_iops: Some(500.0),
                limit_mb_per_second: Some(100.0),
                highest_iops: Some(487.0),
                highest_mb_per_second: Some(3.8),
                intervals: 36,
                intervals_near_iops: 5,
                intervals_near_mb_per_second: 0,
            }),
        },
    ];
    record.repetitions.push(one);
    record.result = Some(figure("insert_time", 36.0, "s", None));
    record.host.client = Some(client("free", "its session needed 2 % of its time for itself"));
    record
}

/// One of each.
pub fn all() -> Vec<RunRecord> {
    let target = "lab:azure-sql-db/S2@v12-retest";
    vec![
        mix(target, 7200),
        ladder("postgres://db.example/shop"),
        scale(target),
        batches("postgres://db.example/shop"),
        insert_latency("lab:disk.toml"),
    ]
}
