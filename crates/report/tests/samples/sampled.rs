//! Records of runs that were watched: samples with gaps, ceilings, and verdicts by segments.

use plimsoll_measurement::{
    Ceiling, Gain, Point, RunRecord, SampleColumn, SampleGap, Samples, SamplingCost, Segment, Verdict, WaitDelta,
};

use super::{bare, figure, moved, read_scan, repetition, requests, wobble};

/// A column; `value` is asked for each interval by its number.
fn column(
    source: &str,
    metric: &str,
    unit: &str,
    intervals: usize,
    value: impl Fn(usize) -> Option<f64>,
) -> SampleColumn {
    let (metric, source, unit) = (metric.into(), source.into(), unit.into());
    SampleColumn { metric, source, unit, values: (0..intervals).map(value).collect(), ..SampleColumn::default() }
}

fn lift(limit: &str, change: &str, gain_percent: f64) -> Gain {
    Gain { limit: limit.into(), change: change.into(), gain_percent, ..Gain::default() }
}

fn ceiling(resource: &str, value: f64, source: &str) -> Ceiling {
    Ceiling::new(resource, value, source).expect("a known resource")
}

fn stretch(
    repetition: &str,
    (from_seconds, to_seconds): (f64, f64),
    limit: Option<&str>,
    used: Option<f64>,
    why: &str,
) -> Segment {
    Segment {
        repetition: repetition.into(),
        from_seconds,
        to_seconds,
        limit: limit.map(str::to_owned),
        utilisation_percent: used,
        evidence: vec![why.into()],
        ..Segment::default()
    }
}

/// What the engine and the machine say of a mix of `length` seconds that the log holds back more and more; the server is
/// away in the seconds of `lost`.
fn of_mix(length: usize, seed: u32, lost: &std::ops::Range<usize>) -> Samples {
    let noise = |at: usize, salt: u32| wobble(seed + salt * 10_007 + at as u32);
    let load = |at: usize| 1.0 - 0.7 / (1.0 + 12.0 * at as f64 / length as f64);
    let engine = |metric: &str, unit: &str, salt: u32, value: &dyn Fn(usize) -> f64| {
        column("engine", metric, unit, length, |at| {
            (!lost.contains(&at)).then(|| (value(at) * (1.0 + 0.08 * noise(at, salt))).max(0.0))
        })
    };
    let host = |metric: &str, unit: &str, salt: u32, value: &dyn Fn(usize) -> f64| {
        column("host", metric, unit, length, |at| Some(value(at) * (1.0 + 0.1 * noise(at, salt))))
    };
    let mut disk = host("disk_busy", "%", 20, &|at| 30.0 * load(at));
    disk.of = Some("sda".into());
    Samples {
        seconds: (1..=length).map(|second| second as f64).collect(),
        columns: vec![
            engine("cpu", "cores", 1, &|at| 1.1 * load(at)),
            engine("data_reads", "1/s", 2, &|at| 130.0 * load(at)),
            engine("data_writes", "1/s", 3, &|at| 40.0 + 30.0 * load(at)),
            engine("log_write_rate", "MB/s", 4, &|at| (5.9 * load(at)).min(5.2)),
            engine("memory_percent", "%", 5, &|at| (40.0 + 90.0 * at as f64 / length as f64).min(83.0)),
            engine("commits", "1/s", 6, &|at| 90.0 * load(at)),
            engine("data_read_latency", "ms", 7, &|_| 4.1),
            engine("log_write_latency", "ms", 8, &|at| 1.2 + 9.0 * (load(at) - 0.75).max(0.0) * 4.0),
            engine("on_cpu", "sessions", 9, &|at| 1.2 * load(at)),
            engine("waiting_for_data_read", "sessions", 10, &|at| 0.9 * load(at)),
            engine("waiting_for_log_write", "sessions", 11, &|at| 0.8 + 3.0 * (load(at) - 0.7).max(0.0)),
            engine("waiting_for_log_governor", "sessions", 12, &|at| 14.0 * (load(at) - 0.75).max(0.0)),
            engine("waiting_for_lock", "sessions", 13, &|at| if at % 61 < 9 { 1.4 } else { 0.2 }),
            engine("waiting_for_client", "sessions", 14, &|_| 0.6),
            engine("waiting_for_worker", "sessions", 15, &|_| 0.0),
            host("machine_cpu", "%", 21, &|at| 34.0 * load(at)),
            disk,
            host("server_cpu", "cores", 22, &|at| 1.15 * load(at)),
            host("network_sent", "MB/s", 23, &|at| 2.2 * load(at)),
            host("client_cpu", "cores", 24, &|at| 0.4 * load(at)),
            column("engine", "plan_<b>cache</b>_hits", "hits/s", length, |at| Some(900.0 + at as f64)),
            column("host", "temperature", "°C", length, |_| None),
        ],
        gaps: if lost.is_empty() {
            Vec::new()
        } else {
            let (from_seconds, to_seconds) = (lost.start as f64, lost.end as f64);
            let reason = "the server was away: <connection> reset".into();
            vec![SampleGap { from_seconds, to_seconds, source: "engine".into(), reason }]
        },
        ..Samples::default()
    }
}

/// A mix that was watched: first nothing binds, then the log; in the second repetition the server is away for a while.
pub fn mix(target: &str, length: usize) -> RunRecord {
    let mut record = requests::mix(target, length);
    let (early, whole) = (length as f64 * 0.2, length as f64);
    let lost = length * 55 / 100..length * 60 / 100;
    let mut segments = Vec::new();
    for (at, repetition) in record.repetitions.iter_mut().enumerate() {
        let away = if at == 1 { lost.clone() } else { 0..0 };
        repetition.samples = vec![of_mix(length, at as u32 * 7919, &away)];
        repetition.waits = ["log governor", "log write"]
            .iter()
            .enumerate()
            .map(|(at, wait)| WaitDelta {
                wait: (*wait).into(),
                seconds: whole * (2.0 - at as f64 * 0.9),
                count: Some(length as u64 * 40),
                elapsed_percent: 200.0 - at as f64 * 90.0,
                ..WaitDelta::default()
            })
            .collect();
        let label = repetition.label.as_str();
        segments.push(stretch(
            label,
            (0.0, early),
            Some("none"),
            Some(71.0),
            "no resource stood above 80 % of its ceiling",
        ));
        let why = "log writes stood at 98 % of 5.3 MB/s, and 2.8 of 6 sessions waited for the log's governor";
        if at == 1 {
            let (gone, back) = (lost.start as f64, lost.end as f64);
            segments.push(stretch(label, (early, gone), Some("log_write"), Some(97.9), why));
            segments.push(stretch(label, (gone, back), None, None, "the server could not be asked"));
            segments.push(stretch(label, (back, whole), Some("log_write"), Some(98.3), why));
        } else {
            segments.push(stretch(label, (early, whole), Some("log_write"), Some(98.1), why));
        }
    }
    let catalogue = "catalogue, S2 of v12-ga-2015-01";
    record.ceilings = vec![
        ceiling("cpu", 2.0, "cgroup cpu.max"),
        ceiling("data_iops", 320.0, catalogue),
        ceiling("log_bandwidth", 5.3, catalogue),
        ceiling("client_cpu", 2.0, "CPUs of the client"),
    ];
    record.verdict = Verdict {
        limit: Some("log_write".into()),
        also: Vec::new(),
        utilisation_percent: Some(98.1),
        theoretical_gain_percent: None,
        evidence: vec![
            "log writes stood at 98 % of 5.3 MB/s for 80 % of the time".into(),
            "2.8 of 6 sessions waited for the log's governor, more than for anything else".into(),
            "a log write took 9.1 ms, against 1.2 ms while the log was not full".into(),
        ],
        gains: vec![
            lift("log_write", "20 % more log writes", 14.6),
            lift("locks", "the same rows spread over a hundred", 1.9),
        ],
        segments,
    };
    record.host.sampling = Some(SamplingCost { looks: length as u32 * 3, cpu_seconds: 0.9, core_percent: 0.12 });
    record
}

/// A scan of twenty tables that the data IO holds back, watched every fifteen seconds.
pub fn scan(target: &str, rate: f64) -> RunRecord {
    let mut record = read_scan(target, rate);
    for (at, repetition) in record.repetitions.iter_mut().enumerate() {
        let end = repetition.points.last().map_or(0.0, |point| point.started_seconds + point.seconds);
        let count = (end / 15.0).ceil() as usize;
        let used =
            |index: usize| 93.0 + 4.0 * wobble((at * 4001 + index) as u32) - if index % 17 == 3 { 21.0 } else { 0.0 };
        repetition.samples = vec![Samples {
            seconds: (1..=count).map(|index| (index as f64 * 15.0).min(end)).collect(),
            columns: vec![
                column("engine", "data_io_percent", "%", count, |index| Some(used(index))),
                column("engine", "cpu_percent", "%", count, |index| Some(11.0 + 2.0 * wobble(index as u32))),
                column("engine", "log_write_percent", "%", count, |_| Some(0.0)),
            ],
            ..Samples::default()
        }];
    }
    record.verdict = Verdict { limit: Some("data_bandwidth".into()), also: vec!["data_iops".into()], ..record.verdict };
    record
}

/// An import of databases of three sizes, twice.
pub fn import(target: &str) -> RunRecord {
    let mut record = bare("import", target);
    for (at, label) in ["a", "b"].iter().enumerate() {
        let mut points = Vec::new();
        let mut started = 0.0;
        for (size, megabytes) in [("256 MB", 256), ("1 GB", 1024), ("4 GB", 4096)] {
            for (stage, rate) in [("dump", 900.0), ("load", 300.0 + 20.0 * at as f64 - megabytes as f64 / 100.0)] {
                let point = Point {
                    label: Some(format!("{size}: {stage}")),
                    ..moved(points.len() as u32, megabytes, rate, started)
                };
                started += point.seconds;
                points.push(point);
            }
        }
        record.repetitions.push(repetition(label, points));
    }
    record.result = Some(figure("import_rate", 280.0, "MB/min", Some(12.0)));
    record.results = record.result.iter().cloned().collect();
    record
}

/// One of each, as a page shows them.
pub fn all() -> Vec<RunRecord> {
    vec![
        mix("lab:azure-sql-db/S2@v12-ga-2015-01", 360),
        scan("lab:azure-sql-db/S2@v12-ga-2015-01", 354.0),
        scan("lab:azure-sql-db/S3@v12-ga-2015-01", 702.0),
        import("postgres://db.example/shop"),
    ]
}
