//! What a scenario may say, what is refused, and that a seed decides everything.

use plimsoll_measurement::LatencyHistogram;
use plimsoll_simulate::analytic::{Centre, mean_value_analysis};
use plimsoll_simulate::scenario::{Document, Variation};
use plimsoll_simulate::server::{Replication, simulate};

const SMALL: &str = r#"
[workload]
sessions = 20
think_time = "5ms"
cpu_time = "1ms"
reads = 0.5
changes = 0.5
log_size = "1KiB"

[cpu]
cores = 2

[buffer_pool]
pages = 2_000

[disks.data]
disk = "azure-managed-disk/P30"
date = 2026-09-01
caps = ["vm"]

[disks.log]
iops = 2_000
bandwidth = "100MB/s"
latency = "1ms"

[caps.vm]
iops = 4_000

[files.data]
disk = "data"
size = "100GB"
count = 2

[files.log]
disk = "log"
size = "10GB"

[run]
warm_up = "2s"
duration = "20s"
"#;

fn with(sets: &[(&str, &str)]) -> Result<Document, String> {
    let told = |error: plimsoll_simulate::scenario::ScenarioError| format!("{error} ({})", error.hint);
    let mut document = Document::parse("small.toml", SMALL).map_err(told)?;
    for (key, value) in sets {
        document.set(key, value).map_err(told)?;
    }
    document.scenarios().map_err(told)?;
    Ok(document)
}

fn run(sets: &[(&str, &str)], seed: u64) -> Replication {
    let scenarios = with(sets).and_then(|document| document.scenarios().map_err(|error| error.to_string()));
    let scenarios = scenarios.expect("a scenario");
    simulate(&scenarios[0].1, seed)
}

/// Everything that is not a histogram, to the last bit.
fn bits(replication: &Replication) -> String {
    format!(
        "{:?} {:?}",
        replication.times.percentile(99.0),
        Replication { times: LatencyHistogram::default(), ..replication.clone() }
    )
}

#[test]
fn a_seed_decides_every_bit_on_any_thread() {
    let first = bits(&run(&[], 7));
    let others: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| bits(&run(&[], 7)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(others.iter().all(|other| *other == first));
    assert_ne!(bits(&run(&[], 8)), first);
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_to_do() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("files.log.size", "0GB")], "small.toml: files.log.size: a file of no size can hold nothing"),
        (&[("log", "0GB")], "files.log.size"),
        (&[("files.data.disk", "nowhere")], "files.data.disk: unknown disk 'nowhere' (known: data, log)"),
        (&[("disks.data.disk", "azure-managed-disk/P31")], "disks.data.disk: unknown level 'P31'"),
        (&[("disks.data.disk", "azure-disk/P30")], "unknown service 'azure-disk'"),
        (
            &[("disks.data.date", "2001-01-01")],
            "disks.data.date: the catalogue knows nothing of azure-managed-disk on 2001-01-01",
        ),
        (&[("disks.data.iops", "100")], "disks.data: it has limits of its own beside those of the catalogue"),
        (&[("disks.log.iops", "0")], "disks.log.iops: 0 a second is no limit"),
        (&[("disks.log.latency", "0ms")], "no read latency above 0"),
        (&[("data", "2TB")], "files.data.size: 4096 GiB of files do not fit on 1024 GiB"),
        (&[("workload.rate", "100")], "workload: rate and think_time exclude each other"),
        (&[("sessions", "0")], "workload.sessions: 0 is not possible (give a whole number from 1"),
        (&[("duration", "0s")], "run.duration"),
        (&[("block_size", "512")], "expected text with a unit"),
        (&[("block_size", "512B")], "log.block_size: it is smaller than the log of one commit"),
        (&[("dirty_share", "nan")], "background_writer.dirty_share"),
        (
            &[("writes_in_flight", "4")],
            "several tables have such a key (write one of background_writer.writes_in_flight, log.",
        ),
        (&[("sesions", "4")], "sesions: there is no such key"),
        (&[("workload.sesions", "4")], "unknown field `sesions`"),
        (&[("rate_limit", "22")], "expected text with a unit"),
        (&[("files.log.disk", "data"), ("rate_limit", "22MB/s")], "log.rate_limit: it would hold back data files"),
        (&[("disks.data.caps", "[\"none\"]")], "unknown cap 'none'"),
    ];
    for (sets, expected) in cases {
        let told = with(sets).expect_err(expected);
        assert!(told.contains(expected), "{told}\nshould contain: {expected}");
    }
    let error = Document::parse("x.toml", &SMALL.replace("cores = 2", "cores = \"two\"")).unwrap_err();
    assert!(error.place == "x.toml:11", "{error}");
    let published = format!("{SMALL}\n[[cases]]\nname = \"a\"\npublished = {{ requests_per_s = nan }}\n");
    let error = Document::parse("x.toml", &published).unwrap_err();
    assert!(
        error.place.contains("cases 'a'") && error.problem.contains("requests_per_s = NaN is no figure"),
        "{error}"
    );
    assert!(Document::parse("x.toml", "[workload]\n").unwrap_err().problem.contains("missing field"));
}

#[test]
fn variations_make_a_grid() {
    let mut document = with(&[]).unwrap();
    let vary = |key: &str, values: &[&str]| Variation {
        key: key.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    document.vary(&vary("sessions", &["10", "20"])).unwrap();
    document.vary(&vary("log", &["1GB", "2GB", "3GB"])).unwrap();
    let grid = document.scenarios().unwrap();
    let names: Vec<&str> = grid.iter().map(|(case, _)| case.name.as_str()).collect();
    assert_eq!(names[0], "sessions 10, log 1GB");
    assert_eq!((names.len(), grid[5].1.sessions, grid[5].1.storage.log.bytes), (6, 20, 3 << 30));
    assert!(document.text_of(&grid[5].0).contains("size = \"3GB\""));
    assert!(document.vary(&vary("log", &[])).is_err());
}

#[test]
fn limits_hold_and_the_busiest_comes_first() {
    // Two commits at a time at the least: far more than the log's 100 writes a second would take.
    let replication = run(&[("disks.log.iops", "100"), ("log.writes_in_flight", "1"), ("think_time", "0ms")], 1);
    let log = replication.files.iter().find(|file| file.name == "log").unwrap();
    assert!((log.writes_per_s / 100.0 - 1.0).abs() < 0.01, "{log:?}");
    let (first, second) = replication.first_and_second_limit();
    assert_eq!(first.map(|resource| (resource.name.as_str(), resource.limit)), Some(("log, IOPS", "log_write")));
    assert!(first.unwrap().percent() > 99.0 && second.unwrap().percent() < first.unwrap().percent());
    // The cap of the machine is below the disk's own limit.
    let replication = run(&[("caps.vm.iops", "500"), ("reads", "20.0")], 1);
    let used = replication.resources.iter().find(|resource| resource.name == "vm, IOPS").unwrap();
    assert!((99.0..101.0).contains(&used.percent()), "{used:?}");
}

#[test]
fn an_open_loop_gives_the_rate_that_comes_or_no_evidence() {
    let open = |rate: &str| {
        let text = SMALL.replace("think_time = \"5ms\"", &format!("rate = {rate}"));
        let document = Document::parse("open.toml", &text).unwrap();
        simulate(&document.scenarios().unwrap()[0].1, 1)
    };
    let light = open("1000");
    assert_eq!(light.unsteady, None);
    // Five standard errors of a Poisson count.
    assert!(
        (light.requests_per_s / 1000.0 - 1.0).abs() < 5.0 / (1000.0 * light.seconds).sqrt(),
        "{}",
        light.requests_per_s
    );
    let heavy = open("3000");
    assert!(heavy.unsteady.is_some(), "two cores of 1 ms each take 2000 a second, so the queue grows for ever");
}

/// 50,000 inserts of a row, each committed before the next, with the log on four kinds of disks: the published seconds follow within 2 %
/// from the wait for the log of an insert and 0.04 ms for all else.
#[test]
fn single_inserts_take_the_published_time_on_four_disks() {
    let limits = |iops: u32, mb: u32| format!("iops = {iops}\nbandwidth = \"{mb}MB/s\"");
    // A P10 has 500 I/Os a second and credit for more.
    let premium = "disk = \"azure-managed-disk/P10\"\ndate = 2026-09-01".to_owned();
    let disks = [
        ("Premium SSD v2", limits(14_740, 313), 34.048, 36.0),
        ("Ultra", limits(14_740, 1_024), 42.762, 45.0),
        ("Premium SSD", premium, 102.157, 104.0),
        ("Standard HDD", limits(500, 60), 207.050, 212.0),
    ];
    for (name, disk, log_wait_s, published_s) in disks {
        let latency_ns = (log_wait_s / 50_000.0 * 1e9_f64).round();
        let text = format!(
            "[workload]\nsessions = 1\ncpu_time = \"40us\"\nlog_size = \"500B\"\n[cpu]\ncores = 4\n[disks.log]\n{disk}\n\
             latency = \"{latency_ns}ns\"\n[files.log]\ndisk = \"log\"\nsize = \"10GB\"\n[run]\nwarm_up = \"1s\"\nduration = \"60s\"\n"
        );
        let document = Document::parse("inserts.toml", &text).unwrap();
        let replication = simulate(&document.scenarios().unwrap()[0].1, 1);
        let seconds = 50_000.0 / replication.requests_per_s;
        assert!((seconds / published_s - 1.0_f64).abs() < 0.02, "{name}: {seconds:.1} s for {published_s} s");
    }
}

/// A server whose log takes next to no time is a closed network of one station with four servers and pauses, which mean value analysis
/// solves.
#[test]
fn a_server_that_is_a_closed_network_agrees_with_mean_value_analysis() {
    for sessions in [4, 20, 60] {
        let text =
            SMALL.replace("reads = 0.5\nchanges = 0.5\n", "other_wait = \"2ms\"\n").replace("iops = 2_000\n", "");
        let text = text.replace("bandwidth = \"100MB/s\"\nlatency = \"1ms\"", "latency = \"1ns\"");
        let mut document = Document::parse("closed.toml", &text).unwrap();
        let sets = [
            ("sessions", sessions.to_string()),
            ("cores", "4".to_owned()),
            ("log.writes_in_flight", "1000".to_owned()),
        ];
        for (key, value) in sets.iter().chain(&[("duration", "120s".to_owned())]) {
            document.set(key, value).unwrap();
        }
        let scenario = &document.scenarios().unwrap()[0].1;
        let rates: Vec<f64> = (1..=5).map(|seed| simulate(scenario, seed).requests_per_s).collect();
        let mean = rates.iter().sum::<f64>() / 5.0;
        // Think time and other waits are pauses of 7 ms together.
        let exact = mean_value_analysis(sessions, 7e-3, &[Centre { demand_s: 1e-3, servers: 4 }]).rate;
        assert!((mean / exact - 1.0).abs() < 0.002, "{sessions} sessions: {mean} for {exact}");
    }
}

/// The case would win, and nobody would see that nothing was set.
#[test]
fn what_a_case_sets_is_not_set_beside_it() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mi-layout.toml")).unwrap();
    let mut document = Document::parse("mi-layout.toml", &text).unwrap();
    for key in ["log", "files.log.size"] {
        let error = document.set(key, "64GB").unwrap_err();
        assert!(error.to_string().contains("sets it as well"), "{error}");
    }
    document.set("cpu_time", "0.5ms").unwrap();
}
