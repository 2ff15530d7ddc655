//! Records as the tests and the sample page need them. All values are made by fixed formulas.

pub mod requests;
pub mod sampled;

use std::collections::BTreeMap;

use plimsoll_measurement::units::MB;
use plimsoll_measurement::{
    Basis, ColdStart, CpuRow, CpuTable, Definition, Expected, Figure, Host, Metric, Minute, Point, Repetition,
    RunFailure, RunRecord, Subject, Verdict,
};

/// A record without repetitions and without a result.
pub fn bare(test: &str, target: &str) -> RunRecord {
    RunRecord {
        schema_version: "2.0".into(),
        subject: Subject::Database,
        basis: Basis::Measured,
        run_id: format!("0195-{test}"),
        test: test.into(),
        target: target.into(),
        engine: "sqlite".into(),
        engine_version: Some("3.50.4".into()),
        clock: "virtual".into(),
        started_at: "2026-03-01T10:00:00Z".into(),
        ended_at: Some("2026-03-01T11:00:00Z".into()),
        virtual_seconds: Some(3600.0),
        campaign: None,
        label: None,
        parameters: BTreeMap::from([("sessions".into(), 1.into()), ("volume".into(), "20GiB".into())]),
        definition: Definition { hash: "00c0ffee00c0ffee".into(), text: format!("name = \"{test}\"\nsessions = 1\n") },
        target_fingerprint: Some("sqlite-5f3c".into()),
        environment: BTreeMap::from([("page_size".into(), "8192".into()), ("journal_mode".into(), "wal".into())]),
        catalog_edition: None,
        catalog_edition_date: None,
        build: "0.1.0".into(),
        ceilings: Vec::new(),
        repetitions: Vec::new(),
        result: None,
        results: Vec::new(),
        absent: Vec::new(),
        cpu_table: None,
        expected: None,
        verdict: Verdict::default(),
        warnings: Vec::new(),
        error: None,
        left_behind: None,
        host: Host { platform: "linux x86_64".into(), cpus: 2, real_seconds: Some(14.2), ..Host::default() },
    }
}

pub fn figure(metric: &str, value: f64, unit: &str, spread: Option<f64>) -> Figure {
    Figure {
        metric: metric.into(),
        value,
        unit: unit.into(),
        low: spread.map(|spread| value - spread),
        high: spread.map(|spread| value + spread),
        confidence: 0.95,
        repetitions: if spread.is_some() { 3 } else { 1 },
        point_cv_percent: Some(3.4),
        note: None,
        values: Vec::new(),
        expected: None,
    }
}

/// A point of `megabytes` at `rate` MB per minute.
fn moved(index: u32, megabytes: u64, rate: f64, started_seconds: f64) -> Point {
    Point { index, started_seconds, seconds: megabytes as f64 / rate * 60.0, ..Point::default() }
        .with(Metric::Rows, megabytes * 1000)
        .with(Metric::ContentBytes, megabytes * MB)
        .with(Metric::MbPerMinute, rate)
        .with(Metric::PageBytes, megabytes * MB * 11 / 10)
}

fn repetition(label: &str, points: Vec<Point>) -> Repetition {
    Repetition { label: label.into(), complete: true, started_seconds: 0.0, points, ..Repetition::default() }
}

/// A number between -1 and 1 that looks like noise.
fn wobble(seed: u32) -> f64 {
    f64::from(seed.wrapping_mul(2_654_435_761) >> 16) / 32_768.0 - 1.0
}

/// `count` points one after the other, with the minutes they fill (one each, which is near enough here).
fn series(label: &str, count: u32, megabytes: u64, rate: impl Fn(u32) -> f64) -> Repetition {
    let mut points = Vec::new();
    let mut started = 0.0;
    for index in 0..count {
        let point = moved(index, megabytes, rate(index), started);
        started += point.seconds;
        points.push(point);
    }
    let minute =
        |minute: u32| Minute { minute, seconds: 60.0, content_bytes: megabytes * MB, mb_per_minute: rate(minute) };
    Repetition { minutes: (0..count.min(20)).map(minute).collect(), ..repetition(label, points) }
}

pub fn read_scan(target: &str, rate: f64) -> RunRecord {
    let mut record = bare("read-scan", target);
    for (at, label) in ["a", "b", "c"].iter().enumerate() {
        let seed = at as u32 * 1009;
        let dip = |index: u32| if at == 1 && index == 8 { 0.6 } else { 1.0 };
        let mut one = series(label, 20, 1024, |index| rate * dip(index) * (1.0 + 0.03 * wobble(seed + index)));
        for point in &mut one.points {
            point.label = Some(format!("table{}", point.index));
            let pages = point.count(Metric::PageBytes);
            point.metrics.set(Metric::DeviceBytes, pages.map(|bytes| bytes * 99 / 100));
            point.metrics.set(Metric::CpuPercent, 12.0);
        }
        if at == 1 {
            one.points[8].flags = vec!["source-read".into()];
        }
        one.cold = Some(ColdStart {
            methods: vec!["reopen".into(), "drop-os-cache".into()],
            memory_percent_before: None,
            engine_miss_percent: Some(99.8),
            device_read_percent: (at != 2).then_some(99.0),
            verified: at != 2,
            settle_seconds: 0.0,
        });
        record.repetitions.push(one);
    }
    record.result = Some(figure("read_rate", rate, "MB/min", Some(rate * 0.02)));
    record.results = record.result.iter().cloned().collect();
    let truth = Expected {
        value: rate * 1.01,
        unit: "MB/min".into(),
        basis: "printed".into(),
        published: rate < 300.0,
        limit: Some("data_io".into()),
        reason: Some("9.67 MiB/s at the device, 9 rows of 410 bytes to a page".into()),
        error_percent: Some(-0.99),
    };
    for figure in record.result.iter_mut().chain(&mut record.results) {
        figure.expected = Some(truth.clone());
    }
    record.expected = Some(truth);
    record.verdict = Verdict {
        limit: Some("data_io".into()),
        utilisation_percent: Some(91.2),
        evidence: vec!["data IO stood at 91 % of its limit for 58 of 60 minutes".into()],
        ..Verdict::default()
    };
    record.warnings = vec!["repetition c: the device could not be watched, so its cold start is not proven".into()];
    record
}

pub fn write_chunk(target: &str, chunks: u32) -> RunRecord {
    let mut record = bare("write-chunk", target);
    for (at, label) in ["a", "b", "c"].iter().enumerate() {
        let seed = at as u32 * 50_000;
        let mut one =
            series(label, chunks, 100, |index| 48.0 + 14.0 * wobble(seed + index) + f64::from(index % 25) * 0.3);
        for point in &mut one.points {
            let content = point.count(Metric::ContentBytes);
            point.metrics.set(Metric::LogBytes, content.map(|bytes| bytes * 12 / 10));
            point.metrics.set(Metric::SourceMissPages, 0);
        }
        record.repetitions.push(one);
    }
    record.result = Some(figure("write_rate", 51.6, "MB/min", Some(0.9)));
    record.results = vec![figure("write_rate", 51.6, "MB/min", Some(0.9)), figure("log_rate", 62.0, "MB/min", None)];
    record
}

fn cpu_row(join_rows: u64, sessions: u32, seconds: f64, exponent: Option<f64>, flags: &[&str]) -> CpuRow {
    CpuRow {
        join_rows,
        sessions,
        seconds,
        seconds_mean: seconds * 1.01,
        seconds_range: Some((seconds * 0.98, seconds * 1.05)),
        timings: 3,
        matches: join_rows * 7,
        reference_multiple: Some(join_rows as f64 * join_rows as f64 / 4e7 / seconds),
        dtu_multiple: (sessions > 1).then_some(50.0 * join_rows as f64 * join_rows as f64 / 2e7 / seconds),
        growth_exponent: exponent,
        cpu_percent: Some(if flags.contains(&"low-cpu") { 70.3 } else { 99.4 }),
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
    }
}

/// A ladder; `speed` 1 is a small machine.
pub fn cpu_join(target: &str, speed: f64) -> RunRecord {
    let mut record = bare("cpu-join", target);
    record.cpu_table = Some(CpuTable {
        reference_run: Some("0195-reference".into()),
        anchor: Some("azure-sql-db/S2".into()),
        anchor_dtu: Some(50.0),
        rows: vec![
            cpu_row(2000, 1, 1.31 / speed, None, &["short"]),
            cpu_row(5000, 1, 8.2 / speed, Some(2.0), &[]),
            cpu_row(10_000, 1, 32.6 / speed, Some(1.99), &[]),
            cpu_row(15_000, 1, 73.9 / speed, Some(2.02), &[]),
            cpu_row(17_500, 1, 76.0 / speed, Some(0.18), &["plan-change", "low-cpu"]),
            cpu_row(2000, 2, 0.9 / speed, None, &["short"]),
            cpu_row(5000, 2, 4.4 / speed, Some(1.73), &[]),
            cpu_row(10_000, 2, 16.9 / speed, Some(1.94), &[]),
        ],
    });
    let rung = |index: u32, rows: u64, seconds: f64| {
        Point { index, label: Some(format!("N {rows}")), seconds, ..Point::default() }
            .with(Metric::JoinRows, rows)
            .with(Metric::Matches, rows * 7)
            .with(Metric::Sessions, 1_u64)
            .with(Metric::CpuPercent, 99.4)
            .with(Metric::CpuSeconds, seconds)
    };
    let points = vec![rung(0, 2000, 1.31 / speed), rung(1, 5000, 8.2 / speed), rung(2, 10_000, 32.6 / speed)];
    record.repetitions = vec![repetition("a", points.clone()), repetition("b", points)];
    record.result = Some(figure("join_rate", 3.07 * speed, "Mpairs/s", Some(0.02)));
    record
}

pub fn memory(target: &str) -> RunRecord {
    let mut record = bare("memory", target);
    for (at, label) in ["a", "b"].iter().enumerate() {
        let sizes = [64_u64, 128, 256, 512, 1024, 1200, 1400, 2048, 4096];
        let point = |(index, size): (usize, &u64)| {
            let pages = size * 128;
            let missing = (*size as f64 - 1150.0 - 20.0 * at as f64).max(0.0) / *size as f64;
            Point {
                index: index as u32,
                label: Some(format!("{size} MB")),
                seconds: *size as f64 / 100.0,
                ..Point::default()
            }
            .with(Metric::SetBytes, size * MB)
            .with(Metric::Accesses, pages)
            .with(Metric::CacheMissPages, (pages as f64 * missing) as u64)
            .with(Metric::Passes, if missing > 0.0 { 4 } else { 2 })
            .with(Metric::MemoryPercent, (at == 0).then_some((*size as f64 / 12.0).min(96.0)))
        };
        record.repetitions.push(repetition(label, sizes.iter().enumerate().map(point).collect()));
    }
    record.result = Some(Figure { repetitions: 2, ..figure("memory", 1160.0, "MB", Some(40.0)) });
    record.results = record.result.iter().cloned().collect();
    record
}

/// Interrupted in the second repetition, with texts that try to break out.
pub fn failed() -> RunRecord {
    let mut record = read_scan("postgres://db.example/<script>alert('x')</script>?a=\"b\"&c=|d|", 114.0);
    record.run_id = "0195-failed".into();
    record.repetitions.truncate(2);
    record.repetitions[1].complete = false;
    record.repetitions[1].points.truncate(4);
    record.result = None;
    record.results.clear();
    record.expected = None;
    record.verdict = Verdict::default();
    record.ended_at = None;
    record.warnings = vec!["<script>warn()</script> | \u{1b}[31mred, \"quoted\",\nsecond line".into()];
    record.host.warnings = vec!["the client was busy".into()];
    record.error = Some(RunFailure {
        kind: "disk-full".into(),
        message: "the disk of <b>tables</b> is full".into(),
        hint: Some("free 3 GB or use --set volume=10GiB".into()),
        exit_code: 7,
    });
    record
}

/// A single repetition, so no interval.
pub fn single() -> RunRecord {
    let mut record = read_scan("sqlite:/data/small.db", 2880.0);
    record.repetitions.truncate(1);
    record.repetitions[0].points.truncate(1);
    record.repetitions[0].minutes.truncate(1);
    record.result = Some(Figure { point_cv_percent: None, ..figure("read_rate", 2880.0, "MB/min", None) });
    record.results.clear();
    record.expected = None;
    record.verdict = Verdict::default();
    record.warnings.clear();
    record
}

/// A repetition without points, and one whose point took no time.
pub fn empty() -> RunRecord {
    let mut record = bare("read-scan", "sqlite:/data/empty.db");
    let instant = Point::default().with(Metric::ContentBytes, MB);
    record.repetitions = vec![repetition("a", Vec::new()), repetition("b", vec![instant])];
    record
}

/// One of each, as a page shows them.
pub fn all() -> Vec<RunRecord> {
    let tier = |level: &str, rate: f64| {
        let mut record = read_scan(&format!("lab:azure-sql-db/{level}@v12-ga-2015-01"), rate);
        record.run_id = format!("0195-read-{level}");
        record
    };
    vec![
        tier("S0", 78.0),
        tier("S1", 162.0),
        tier("S2", 354.0),
        write_chunk("lab:azure-sql-db/S2@v12-ga-2015-01", 60),
        cpu_join("lab:azure-sql-db/S2@v12-ga-2015-01", 1.0),
        cpu_join("lab:azure-sql-db/S3@v12-ga-2015-01", 2.1),
        memory("lab:azure-sql-db/S2@v12-ga-2015-01"),
        failed(),
        single(),
        empty(),
    ]
}
