//! Results of other tools in the store, held against what was bought, and their job files as suites.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Scene;

/// Runs of the reference: 16 disks of 500 I/Os a second, its own percentages.
const RUNS: [(&str, &str, u32, u32, f64); 5] = [
    ("writing", "random", 32, 8, 7_600.0),
    ("reading", "random", 32, 8, 6_160.0),
    ("writing", "sequential", 8, 8, 5_600.0),
    ("reading", "sequential", 8, 64, 4_000.0),
    ("writing", "sequential", 8, 64, 5_400.0),
];

fn log(factor: f64) -> String {
    let run = |(kind, pattern, outstanding, kb, iops): &(&str, &str, u32, u32, f64)| {
        let iops = (iops * factor * 100.0).round() / 100.0;
        let mb = iops * f64::from(*kb) / 1024.0;
        format!(
            "sqlio v1.5.SG\n32 threads {kind} for 180 secs to file e:\\testfile.dat\n\tusing {kb}KB {pattern} IOs\n\
             \tenabling multiple I/Os per thread with {outstanding} outstanding\n\
             using specified size: 65536 MB for file: e:\\testfile.dat\nIOs/sec: {iops:.2}\nMBs/sec: {mb:.2}\n\
             Min_Latency(ms): 1\nAvg_Latency(ms): 12\nMax_Latency(ms): 300\n%: {}100{}\n",
            "0 ".repeat(12),
            " 0".repeat(12)
        )
    };
    RUNS.iter().map(run).collect()
}

const BOUGHT: [&str; 4] = ["--as", "16 x azure-unmanaged-disk/standard@2014-06", "--expect", "75%"];

#[test]
fn a_log_of_sqlio_is_shown_in_percent_of_what_was_bought() {
    let scene = Scene::new();
    fs::write(scene.path("a.log"), log(1.0)).unwrap();
    let said = scene.say(&[&["disk", "import", "a.log"], &BOUGHT[..]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let answer = "Of the limit of 8,000 IOPS or 960 MB/s: OW 95 %, OR 77 %, SW 70 %, LR 50 %, LW 68 %.";
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(answer) && text.contains("Below the expected 75 %: SW ("), "{text}");
    let json = scene.say(&["disk", "import", "a.log", "--json"]).json();
    let record = &json[0];
    assert_eq!(
        (&record["basis"], &record["subject"], &record["engine"]),
        (&"imported".into(), &"volume".into(), &"sqlio".into())
    );
    let point = &record["repetitions"][0]["points"][1];
    assert_eq!(point["cell"]["label"], "OR");
    assert_eq!(
        (point["metrics"]["iops"].as_f64(), point["metrics"]["latency_us_mean"].as_f64()),
        (Some(6_160.0), Some(12_000.0))
    );
    assert!(scene.say(&["runs"]).out.contains("sqlio-imported"));
    let run = record["run_id"].as_str().unwrap();
    assert_eq!(scene.say(&["show", run]).code, 0);
    assert_eq!(scene.say(&["report", run, "--html", "r.html"]).code, 0);
}

#[test]
fn jobs_of_fio_that_ran_at_once_or_at_a_rate_are_not_held_against_what_is_expected() {
    let scene = Scene::new();
    let job = |name: &str, group: u32, options: &str, iops: u32| {
        format!(
            r#"{{"jobname": "{name}", "groupid": {group}, "error": 0, "job options": {{{options}}}, "read": {{"bw_bytes": {}, "bw": 0,
               "iops": {iops}, "runtime": 10000, "total_ios": {}}}}}"#,
            iops * 8192,
            iops * 10
        )
    };
    let jobs = [
        job("one", 0, "", 2_000),
        job("two", 0, "", 1_000),
        job("asked", 1, r#""rate_iops": "500", "stonewall": "1""#, 500),
        job("free", 2, r#""stonewall": "1""#, 7_000),
    ];
    let all = r#""rw": "randread", "bs": "8k", "iodepth": "32", "ioengine": "libaio", "size": "1g""#;
    let file = format!(r#"{{"fio version": "fio-3.33", "global options": {{{all}}}, "jobs": [{}]}}"#, jobs.join(","));
    fs::write(scene.path("fio.json"), file).unwrap();
    let said = scene.say(&[&["disk", "import", "fio.json"], &BOUGHT[..]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "IOPS or 960 MB/s: free 88 %; at a rate that was asked for or beside others: one 25 %, two 12 %, asked 6 %.",
        "All others are at 75 % or above, as expected.",
        "'asked' was asked for 500 operations a second, and not for as many as it could make",
        "'one', 'two' ran at the same time",
        "+ two",
    ] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    let record = scene.say(&["disk", "import", "fio.json", "--json"]).json().remove(0);
    let points = record["repetitions"][0]["points"].as_array().unwrap().clone();
    let starts: Vec<f64> = points.iter().map(|point| point["started_seconds"].as_f64().unwrap()).collect();
    assert_eq!(starts, [0.0, 0.0, 10.0, 20.0]);
    assert_eq!((&points[1]["cell"]["beside"], &points[2]["metrics"]["asked_per_s"]), (&"one".into(), &500.0.into()));
}

#[test]
fn files_may_be_repetitions_of_one_run_and_runs_are_compared() {
    let scene = Scene::new();
    for (name, factor) in [("a.log", 1.0), ("b.log", 0.98), ("c.log", 1.02), ("slow.log", 0.5)] {
        fs::write(scene.path(name), log(factor)).unwrap();
    }
    let one = scene.say(&["disk", "import", "a.log", "b.log", "c.log", "--one-run", "--json"]).json();
    assert_eq!((one.len(), one[0]["result"]["repetitions"].as_u64()), (1, Some(3)));
    assert!(one[0]["result"]["low"].as_f64().unwrap() < 7_600.0);
    fs::copy(scene.path("a.log"), scene.path("copy.log")).unwrap();
    scene
        .say(&["disk", "import", "a.log", "b.log", "copy.log", "--one-run"])
        .failed(2, &["files 1 and 3 have the very same results"]);
    let slow = scene.say(&["disk", "import", "slow.log", "--json"]).json();
    let ids = [&one[0], &slow[0]].map(|record| record["run_id"].as_str().unwrap().to_owned());
    let compared = scene.say(&["compare", &ids[0], &ids[1]]);
    assert_eq!(compared.code, 0, "{compared:#?}");
    fs::write(
        scene.path("other.log"),
        log(1.0)
            .replace("using 8KB random", "using 16KB random")
            .replace("MBs/sec: 59.38", "MBs/sec: 118.75")
            .replace("MBs/sec: 48.12", "MBs/sec: 96.25"),
    )
    .unwrap();
    scene.say(&["disk", "import", "a.log", "other.log", "--one-run"]).failed(2, &["other cells than the first"]);
}

#[test]
fn what_can_t_be_imported_leaves_nothing_in_the_store() {
    let scene = Scene::new();
    fs::write(scene.path("good.log"), log(1.0)).unwrap();
    fs::write(scene.path("bad.log"), log(1.0).replace("IOs/sec: 6160.00", "IOs/sec: 6999.00")).unwrap();
    fs::write(scene.path("empty.log"), "").unwrap();
    scene
        .say(&["disk", "import", "good.log", "bad.log"])
        .failed(2, &["bad.log:18: 48.12 MB/s are not 6999 I/Os a second"]);
    scene.say(&["disk", "import", "empty.log"]).failed(2, &["neither SQLIO's text"]);
    scene.say(&["disk", "import", "none.log"]).failed(2, &["none.log"]);
    scene.say(&["disk", "import", "/dev/zero"]).failed(2, &["/dev/zero"]);
    scene.say(&["disk", "import", "good.log", "--as", "3 x nothing"]).failed(2, &["SERVICE/NAME"]);
    let lone = scene.say(&["disk", "import", "good.log", "--vm", "E8bds_v5"]);
    assert!(lone.code == 2 && lone.err.contains("--as"), "{lone:?}");
    scene
        .say(&["disk", "import", "good.log", "--as", "azure-managed-disk/P30", "--expect", "x"])
        .failed(2, &["--expect x"]);
    assert!(!scene.store().exists());
}

#[test]
fn a_job_file_of_fio_runs_as_a_suite() {
    let scene = Scene::new();
    let job = "[global]\nsize=4m\nruntime=1\ndirect=1\nzonemode=none\nioengine=libaio\n[r]\nrw=randread\nbs=4k\niodepth=4\n[w]\nrw=write\nbs=64k\nfsync=1\n";
    fs::write(scene.path("jobs.fio"), job).unwrap();
    let said = scene.say(&["disk", ".", "--suite", "jobs.fio", "--set", "duration=100ms", "--buffered", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.err.contains("line 5: zonemode is not understood"), "{said:#?}");
    assert!(said.err.contains("run one after another here"), "{said:#?}");
    let record = &said.json()[0];
    assert!(
        record["warnings"].to_string().contains("of the suite's file: line 5: zonemode is not understood"),
        "{record}"
    );
    let shown = scene.say(&["show", record["run_id"].as_str().unwrap(), "--full"]);
    assert!(shown.out.contains("zonemode is not understood"), "{shown:#?}");
    assert_eq!(record["test"], "fio-jobs");
    let labels: Vec<_> =
        record["repetitions"][0]["points"].as_array().unwrap().iter().map(|point| &point["cell"]["label"]).collect();
    assert_eq!(labels, ["r", "w"]);
    assert!(record["repetitions"][0]["points"][1]["cell"]["sync"] == "fsync");
    fs::write(scene.path("bad.fio"), "[a]\nrw=fly\nsize=1m\n").unwrap();
    scene.say(&["disk", ".", "--suite", "bad.fio"]).failed(2, &["bad.fio:2: rw = fly"]);
}

#[test]
fn the_name_of_a_volume_keeps_no_password() {
    let scene = Scene::new();
    fs::write(scene.path("a.log"), log(1.0)).unwrap();
    for (target, shown) in [
        ("smb://u:SeKret99@h/x", "smb://u:***@h/x"),
        ("postgres://u@h/x?password=SeKret99", "postgres://u@h/x?password=***"),
        ("//srv/share,username=u,password=SeKret99", "//srv/share,username=u,password=***"),
        ("AccountName=x;AccountKey=SeKret99==", "AccountName=x;AccountKey=***"),
    ] {
        let said = scene.say(&["disk", "import", "a.log", "--target", target]);
        assert_eq!(said.code, 0, "{said:#?}");
        let listed = scene.say(&["runs"]);
        assert!(said.out.contains(shown) && listed.out.contains("***"), "{said:#?} {listed:#?}");
        assert!(!format!("{said:?}{listed:?}").contains("SeKret99"));
    }
    let kept = fs::read_dir(scene.path(".")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    assert!(kept.map(|path| fs::read(path).unwrap()).all(|bytes| !bytes.windows(8).any(|part| part == b"SeKret99")));
}

#[test]
fn job_files_with_secrets_tell_none() {
    let scene = Scene::new();
    let job = "[global]\nsize=4m\nruntime=1\nhttp_pass=SeKret99\n[postgres://u:SeKret99@h/db]\nrw=randread\nbs=4k\n[password=SeKret99]\nrw=write\n";
    fs::write(scene.path("jobs.fio"), job).unwrap();
    let said = scene.say(&["disk", ".", "--suite", "jobs.fio", "--set", "duration=100ms", "--buffered", "--json"]);
    assert!(said.code == 0 && said.err.contains("line 4: http_pass is not understood"), "{}", said.err);
    let record = &said.json()[0];
    let labels: Vec<_> =
        record["repetitions"][0]["points"].as_array().unwrap().iter().map(|point| &point["cell"]["label"]).collect();
    assert_eq!(labels, ["postgres://u:***@h/db", "password=***"]);
    let show = scene.say(&["show", record["run_id"].as_str().unwrap(), "--full"]);
    assert!(![said.out, said.err, show.out].concat().to_lowercase().contains("sekret99"));
}

#[test]
fn a_script_names_files_beside_it_alone() {
    let scene = Scene::new();
    fs::create_dir(scene.path("sub")).unwrap();
    fs::write(scene.path("other"), "a line of somebody\n").unwrap();
    for (name, quoted) in [("../other", false), ("other", true)] {
        fs::write(scene.path("sub/run.cmd"), format!("sqlio -kR -t1 -o1 -b8 -frandom -F{name}\n")).unwrap();
        fs::write(scene.path("sub/other"), "a line beside it\n").unwrap();
        let said = scene.say(&["disk", "sub", "--suite", "sub/run.cmd"]);
        assert_eq!(said.code, 2, "{said:#?}");
        assert!(!said.err.contains("of somebody") && said.err.contains("can't be read") != quoted, "{said:#?}");
    }
}

#[test]
fn many_lines_that_are_not_understood_are_counted() {
    let scene = Scene::new();
    let lines: Vec<_> = (0..400).map(|number| format!("strange_{number}=1")).collect();
    fs::write(scene.path("jobs.fio"), format!("[a]\nrw=randread\nbs=4k\nsize=1m\n{}\n", lines.join("\n"))).unwrap();
    let said = scene.say(&["disk", ".", "--suite", "jobs.fio", "--set", "duration=100ms", "--buffered", "--json"]);
    assert!(said.code == 0 && said.err.contains("382 more lines are not understood"), "{}", said.err);
    assert!(said.err.lines().count() < 30, "{}", said.err);
}

#[test]
fn jobs_that_ran_at_once_keep_disks_at_work_together() {
    let scene = Scene::new();
    let job = |name: &str, options: &str| {
        format!(
            r#"{{"jobname": "{name}", "groupid": 0, "error": 0, "job options": {{"rw": "randread", "bs": "8k"{options}}},
                "read": {{"bw_bytes": 819200, "bw": 800, "iops": 100.0, "runtime": 10000, "total_ios": 1000}}}}"#
        )
    };
    let said = |options: &str| {
        fs::write(scene.path("fio.json"), format!("{{\"jobs\": [{}, {}]}}", job("a", ""), job("b", options))).unwrap();
        let said = scene.say(&["disk", "import", "fio.json", "--as", "2 x azure-managed-disk/P30"]);
        assert_eq!(said.code, 0, "{said:#?}");
        said.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let at_once = said("");
    assert!(at_once.contains("one at a time, beside others: 100 IOPS"), "{at_once}");
    assert!(!at_once.contains("can't keep 2 disks at work"), "{at_once}");
    let alone = said(r#", "stonewall": "1""#);
    assert!(alone.contains("one operation under way can't keep 2 disks at work"), "{alone}");
    assert!(!alone.contains("beside others"), "{alone}");
}
