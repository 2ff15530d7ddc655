//! `plimsoll disk` with the real binary: what it prints and keeps, what it leaves behind, and what it never touches.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Failing, Said, Scene, Tmpfs, said, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The file that a test makes.
const NAME: &str = "plimsoll_disk_test.bin";

/// Three short cells: a rate, a mixture, and durable writes.
const CELLS: &str = "\
name = 'my-cells'
title = 'My cells'
file = '8MiB'
repetitions = 2
[every]
duration = '60ms'
warm_up = '20ms'
[[cell]]
label = 'OLTP'
operation = 'mixed'
block = '8KiB'
threads = 2
queue_depth = 4
[[cell]]
operation = 'write'
access = 'sequential'
block = '4KiB'
sync = 'fdatasync'
[[cell]]
operation = 'read'
block = '64KiB'
rate = 500
";

struct Disk {
    scene: Scene,
    folder: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let scene = Scene::new();
        let folder = scene.path("volume");
        fs::create_dir(&folder).unwrap();
        fs::write(scene.path("cells.toml"), CELLS).unwrap();
        Self { scene, folder }
    }

    /// On any file system: one in memory may have no `O_DIRECT`.
    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let folder = self.folder.to_str().unwrap();
        let direct = if common::on_a_device(&self.folder) { [].as_slice() } else { &["--buffered"] };
        [&["disk", folder, "--suite", "cells.toml"], direct, more].concat()
    }

    fn say(&self, more: &[&str]) -> Said {
        self.scene.say(&self.words(more))
    }

    fn file(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// True once the file is complete.
    fn is_ready(&self) -> bool {
        fs::read(self.file())
            .is_ok_and(|content| String::from_utf8_lossy(&content[..content.len().min(4096)]).contains("state=ready"))
    }

    fn is_clean(&self) -> bool {
        fs::read_dir(&self.folder).unwrap().next().is_none()
    }
}

fn points(record: &Value) -> Vec<&Value> {
    let repetitions = record["repetitions"].as_array().unwrap();
    repetitions.iter().flat_map(|repetition| repetition["points"].as_array().unwrap()).collect()
}

#[test]
fn a_record_has_a_point_for_each_cell_whatever_makes_the_operations() {
    for engine in ["auto", "pool"] {
        let disk = Disk::new();
        // A cell is 60 ms, and a disk that others use may do nothing for so long.
        let mut record = Value::Null;
        wait_until(|| {
            let said = disk.say(&["--engine", engine, "--json"]);
            assert_eq!(said.code, 0, "{said:#?}");
            record = said.json().remove(0);
            points(&record).iter().all(|point| point["metrics"]["operations"] != 0)
        });
        assert_eq!(
            (&record["test"], &record["subject"], &record["basis"]),
            (&"my-cells".into(), &"volume".into(), &"measured".into())
        );
        assert_eq!(record["target"], format!("disk:{}", disk.folder.display()));
        assert_eq!(record["parameters"]["size"], 8 << 20);
        if engine == "pool" {
            assert_eq!(record["parameters"]["io_engine"], "pool");
        }
        let points = points(&record);
        assert_eq!(points.len(), 6);
        for point in &points {
            let metrics = &point["metrics"];
            let rate = metrics["operations"].as_f64().unwrap() / point["seconds"].as_f64().unwrap();
            assert!((metrics["iops"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9 && rate > 0.0, "{point}");
            let bytes = metrics["bytes_per_s"].as_f64().unwrap() / metrics["iops"].as_f64().unwrap();
            assert!((bytes / point["cell"]["block_bytes"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{point}");
            assert_eq!(metrics["errors"], 0);
        }
        let cell = &points[0]["cell"];
        let expected = serde_json::json!({
            "label": "OLTP", "operation": "mixed", "read_percent": 70, "access": "random", "offsets": "shared", "sync": "none",
            "block_bytes": 8192, "threads": 2, "queue_depth": 4
        });
        assert_eq!(cell, &expected);
        assert_eq!((&points[1]["cell"]["sync"], &points[1]["cell"]["offsets"]), (&"fdatasync".into(), &"own".into()));
        assert_eq!(points[2]["metrics"]["asked_per_s"], 500.0);
        // Reads and writes of a mixture are kinds of their own.
        let kinds: Vec<&str> = record["repetitions"][0]["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|kind| kind["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["OLTP: read", "OLTP: write", "sequential write 4 KiB fdatasync", "random read 64 KiB"]);
        assert_eq!(record["result"]["metric"], "oltp_random_read70_8k_t2_q4_iops");
        assert_eq!(record["result"]["values"].as_array().unwrap().len(), 2);
        let phases = record["host"]["client"]["phases"].as_array().unwrap();
        assert!(phases.iter().all(|phase| phase["cpu_us_per_operation"].as_f64().unwrap() > 0.0), "{phases:?}");
        assert!(disk.is_clean(), "the test file is gone");
    }
}

#[test]
fn a_run_is_stored_listed_shown_compared_and_drawn() {
    let disk = Disk::new();
    let ids: Vec<String> =
        (0..2).map(|_| disk.say(&["--json"]).json()[0]["run_id"].as_str().unwrap().to_owned()).collect();
    let say = |words: &[&str]| {
        let said = disk.scene.say(words);
        assert_eq!(said.code, 0, "{words:?}: {said:#?}");
        said.out
    };
    let target = format!("disk:{}", disk.folder.display());
    assert_eq!(say(&["runs", "--target", &target, "--json"]).lines().count(), 2);
    let shown = say(&["show", &ids[0]]);
    for part in
        ["Random 70 % read 8 KiB, 8 under way: ", "OLTP 8 KiB, 2 x 4", "sequential write 4 KiB fdatasync", "Cells"]
    {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    let compared = say(&["compare", &ids[0], &ids[1], "--json"]);
    let rows: Vec<Value> = compared.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // A disk that is busy with other tests may make too few operations for all of them: then that is said.
    for (end, may_lack) in [("_iops", false), ("_latency_p50", true)] {
        let is_told = |row: &Value| row["ratio"].is_f64() || may_lack && row["note"].is_string();
        let is_compared = |row: &Value| row["metric"].as_str().unwrap().ends_with(end) && is_told(row);
        assert!(rows.iter().any(is_compared), "{end}: {compared}");
    }
    let html = say(&["report", &ids[0], "--html", "-"]);
    assert!(html.contains("<svg") && html.contains("Operations a second"), "nothing is drawn");
    let page = disk.scene.path("disk.html");
    assert_eq!(disk.say(&["--html", page.to_str().unwrap()]).code, 0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("Operations a second") && page.contains("my-cells"), "{page}");
    let csv = say(&["report", &ids[0], "--csv", "-", "--rows", "points"]);
    assert!(csv.contains("iops") && csv.contains("\"random 70 % read 8 KiB, 2 x 4\""), "{csv}");
}

#[test]
fn what_runs_beside_a_cell_has_points_of_its_own_at_the_same_time() {
    let disk = Disk::new();
    let cells = "name = 'my-database'\ntitle = 'Database'\nfile = '8MiB'\nrepetitions = 2\n[every]\nduration = '300ms'\n\
                 [[cell]]\nlabel = 'log'\noperation = 'write'\naccess = 'sequential'\nblock = '4KiB'\nsync = 'o_dsync'\n\
                 [[cell]]\nlabel = 'reads'\noperation = 'read'\nblock = '4KiB'\nqueue_depth = 2\n\
                 [[cell]]\nlabel = 'both'\noperation = 'write'\naccess = 'sequential'\nblock = '4KiB'\nsync = 'o_dsync'\n\
                 [[cell.beside]]\nlabel = 'reads'\noperation = 'read'\nblock = '4KiB'\nrate_percent = 10\nrate_of = 'reads'\n\
                 [[cell.beside]]\noperation = 'write'\nblock = '4KiB'\nsync = 'fsync'\nwrites_per_sync = 4\nrate = 50\n";
    fs::write(disk.scene.path("cells.toml"), cells).unwrap();
    for engine in ["auto", "pool"] {
        let said = disk.say(&["--engine", engine, "--json"]);
        assert_eq!(said.code, 0, "{said:#?}");
        let record = said.json().remove(0);
        let points = points(&record);
        assert_eq!(points.len(), 10);
        let [_, alone, both, reads, checkpoint] = points[..5] else { panic!("{points:?}") };
        let asked = reads["metrics"]["asked_per_s"].as_f64().unwrap();
        assert!((asked / alone["metrics"]["iops"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{reads}");
        assert_eq!(points[8]["metrics"]["asked_per_s"], asked, "all repetitions ask for the same");
        for beside in [reads, checkpoint] {
            assert_eq!(beside["cell"]["beside"], "both");
            assert_eq!((&beside["started_seconds"], &beside["seconds"]), (&both["started_seconds"], &both["seconds"]));
        }
        assert_eq!((&checkpoint["cell"]["writes_per_sync"], &both["cell"]["beside"]), (&4.into(), &Value::Null));
        let [rate, bytes] = ["iops", "bytes_per_s"].map(|name| checkpoint["metrics"][name].as_f64().unwrap());
        assert!((bytes - rate * 16384.0).abs() < 1e-6 * bytes.max(1.0), "{checkpoint}");
        let figures = record["results"].as_array().unwrap();
        let named = |name: &str| figures.iter().find(|figure| figure["metric"] == name);
        for name in ["reads_random_read_4k_t1_q1_beside_both_iops", "random_write_4x4k_fsync_t1_q1_beside_both_iops"] {
            assert!(named(name).is_some(), "{name}: {figures:?}");
        }
        let commits = &named("commits_50000_time").unwrap()["values"];
        let log = named("log_sequential_write_4k_o_dsync_t1_q1_iops").unwrap()["values"][0].as_f64().unwrap();
        assert!((commits[0].as_f64().unwrap() * log / 50_000.0 - 1.0).abs() < 1e-9, "{commits}");
        let shown = disk.scene.say(&["show", record["run_id"].as_str().unwrap()]);
        // A disk that is busy with other tests may make too few writes for a percentile.
        let is_log = |point: &&&Value| point["cell"]["sync"] == "o_dsync";
        let has_times = points.iter().filter(is_log).all(|point| !point["metrics"]["latency_us_p50"].is_null());
        let longest = if has_times { "in 'both', beside" } else { "Cells" };
        for part in ["50,000 commits of one session wait", "premium-ssd-v2 36 s", longest, "+ reads"] {
            let words: Vec<&str> = shown.out.split_whitespace().collect();
            assert!(words.join(" ").contains(part), "'{part}' is missing: {}", shown.out);
        }
    }
    let unknown = cells.replace("rate_of = 'reads'", "rate_of = 'raeds'");
    fs::write(disk.scene.path("cells.toml"), unknown).unwrap();
    disk.say(&[]).failed(2, &["cells.toml:18", "rate_of = 'raeds'", "no cell before"]);
    assert!(disk.is_clean());
}

#[test]
fn a_sweep_measures_the_same_cells_in_each_repetition_and_names_the_knee() {
    let disk = Disk::new();
    let cells = "name = 'my-sweep'\ntitle = 'Sweep'\nfile = '8MiB'\nrepetitions = 2\n[sweep]\nmost_threads = 2\nmost_queue_depth = 4\n\
                 [[cell]]\noperation = 'read'\nblock = '4KiB'\nduration = '40ms'\n";
    fs::write(disk.scene.path("cells.toml"), cells).unwrap();
    let said = disk.say(&["--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let record = said.json().remove(0);
    let under_way =
        |point: &Value| (point["cell"]["threads"].as_u64().unwrap(), point["cell"]["queue_depth"].as_u64().unwrap());
    let steps = |repetition: &Value| {
        let mut steps: Vec<_> = repetition["points"].as_array().unwrap().iter().map(under_way).collect();
        // A step in which a busy disk did nothing is made again.
        steps.dedup();
        steps
    };
    let [one, two] = [0, 1].map(|at| steps(&record["repetitions"][at]));
    assert_eq!(one, two);
    assert_eq!(one[..2], [(1, 1), (1, 2)]);
    assert!(one.iter().all(|(threads, depth)| *threads <= 2 && *depth <= 4), "{one:?}");
    let knee = &record["result"];
    assert_eq!((&knee["metric"], knee["values"].as_array().unwrap().len()), (&"knee_iops".into(), 2));
    assert!(knee["note"].as_str().unwrap().contains("one operation at a time reaches"), "{knee}");
    let shown = disk.scene.say(&["show", record["run_id"].as_str().unwrap()]);
    assert!(shown.out.contains("The knee IOPS is") && shown.out.contains("(threads x depth)"), "{shown:#?}");
    assert_eq!(disk.scene.say(&["disk", "/tmp", "--sweep", "--suite", "quick"]).code, 2, "one or the other");
}

#[test]
fn a_file_that_is_kept_is_used_again() {
    let disk = Disk::new();
    let reused = |more: &[&str]| {
        let said = disk.say(&[&["--repetitions", "1", "--json"], more].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        said.json()[0]["parameters"]["file_reused"].as_bool().unwrap()
    };
    assert!(!reused(&["--keep-file"]));
    assert_eq!(fs::metadata(disk.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(reused(&["--keep-file"]));
    assert!(!reused(&["--keep-file", "--set", "seed=2"]), "its content would be another");
    assert!(reused(&["--set", "seed=2"]));
    assert!(disk.is_clean(), "the last run was not to keep it");
}

#[test]
fn what_runs_left_in_a_folder_is_cleaned_on_request() {
    let disk = Disk::new();
    let folder = disk.folder.to_str().unwrap();
    let clean = |target: &str, more: &[&str]| {
        let said = disk.scene.say(&[&["clean", target], more].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        format!("{}{}", said.out, said.err)
    };
    assert!(clean(folder, &[]).contains("has no test file of Plimsoll"));
    assert_eq!(disk.say(&["--keep-file", "--repetitions", "1"]).code, 0);
    let target = format!("disk:{folder}");
    assert!(clean(&target, &[]).contains("is complete: a later test can use it, and --data removes it"));
    assert!(clean(&target, &["--data", "--dry-run"]).contains("would remove"));
    assert!(disk.file().exists());
    // One of which nobody can use anything goes without being asked for.
    let file = OpenOptions::new().read(true).write(true).open(disk.file()).unwrap();
    let mut mark = vec![0; 4096];
    file.read_exact_at(&mut mark, 0).unwrap();
    let text = String::from_utf8(mark).unwrap().replace("state=ready", "state=laying-out");
    file.write_all_at(&text.as_bytes()[..4096], 0).unwrap();
    drop(file);
    assert!(clean(folder, &[]).contains("removed "));
    assert!(!disk.file().exists());
    fs::write(disk.file(), "a letter").unwrap();
    disk.scene.say(&["clean", folder, "--data"]).failed(6, &["is not ours"]);
    assert_eq!(fs::read_to_string(disk.file()).unwrap(), "a letter");
    disk.scene.say(&["clean", "disk:/nowhere/at/all"]).failed(4, &["/nowhere/at/all"]);
}

#[test]
fn what_was_read_is_checked_and_the_first_wrong_page_is_named() {
    let disk = Disk::new();
    for engine in ["auto", "pool"] {
        // A disk that others keep busy may answer nothing for a while.
        fs::write(disk.scene.path("cells.toml"), CELLS.replace("'60ms'", "'600ms'")).unwrap();
        assert_eq!(disk.say(&["--engine", engine, "--keep-file", "--repetitions", "1"]).code, 0);
        // What the writes of a run left that checks nothing is no reason to mistrust the disk: the file is made anew.
        let checked = disk.say(&["--engine", engine, "--set", "verify=yes", "--json"]);
        assert_eq!(checked.code, 0, "{checked:#?}");
        let parameters = &checked.json()[0]["parameters"];
        assert_eq!((&parameters["verify"], &parameters["file_reused"]), (&"yes".into(), &false.into()));
        let reads = "name = 'my-reads'\ntitle = 'Reads'\nfile = '8MiB'\nrepetitions = 1\nverify = true\n[[cell]]\n\
                     operation = 'read'\naccess = 'sequential'\nblock = '64KiB'\nqueue_depth = 2\nduration = '60s'\n";
        fs::write(disk.scene.path("cells.toml"), reads).unwrap();
        let child = disk.scene.spawn(&disk.words(&["--engine", engine, "--json"]));
        wait_until(|| disk.is_ready());
        let file = OpenOptions::new().read(true).write(true).open(disk.file()).unwrap();
        let page = (1 << 20) + 5 * 4096;
        let mut byte = [0];
        file.read_exact_at(&mut byte, page + 77).unwrap();
        file.write_all_at(&[byte[0] ^ 1], page + 77).unwrap();
        let said = said(&child.wait_with_output().unwrap());
        assert_eq!(said.code, 7, "{said:#?}");
        assert_eq!(said.json()[0]["error"]["kind"], "no-result");
        assert!(said.err.contains(&format!("at byte {page} of the test file")), "{said:#?}");
        assert!(disk.is_clean());
    }
}

#[test]
fn what_a_killed_run_left_is_known_by_its_mark_and_goes_with_the_next() {
    let disk = Disk::new();
    let mut child = disk.scene.spawn(&disk.words(&["--set", "duration=10m"]));
    // It measures once the first event of a second is kept; what counts is that the file is complete and locked.
    wait_until(|| disk.is_ready());
    let second = disk.say(&[]);
    second.failed(7, &["another run works with"]);
    assert!(disk.file().exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(disk.file().exists(), "nobody could remove it");
    let said = disk.say(&["--repetitions", "1", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.json()[0]["parameters"]["file_reused"].as_bool().unwrap());
    assert!(disk.is_clean());
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_removes_the_file() {
    let disk = Disk::new();
    // The first cell is over at once, the second never.
    fs::write(
        disk.scene.path("cells.toml"),
        CELLS.replace("sync = 'fdatasync'", "sync = 'fdatasync'\nduration = '10m'"),
    )
    .unwrap();
    let mut command = disk.scene.command(&disk.words(&["--json", "--verbose"]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("OLTP 8 KiB, ") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut told, &mut line).unwrap(), 0, "it ended before the first cell did");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let drained = std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
    let said = said(&child.wait_with_output().unwrap());
    drained.join().unwrap().unwrap();
    assert_eq!(said.code, 130, "{said:#?}");
    let record = said.json().remove(0);
    assert_eq!(record["error"]["kind"], "interrupted");
    assert_eq!(points(&record)[0]["label"], "OLTP");
    assert_eq!(record["repetitions"][0]["complete"], false);
    assert!(disk.is_clean());
}

#[test]
fn what_is_not_ours_is_neither_written_nor_removed() {
    let disk = Disk::new();
    fs::write(disk.file(), "the user's own").unwrap();
    disk.say(&[]).failed(6, &["is not ours", NAME]);
    assert_eq!(fs::read_to_string(disk.file()).unwrap(), "the user's own");
    fs::remove_file(disk.file()).unwrap();
    let elsewhere = disk.scene.path("elsewhere");
    fs::write(&elsewhere, "another").unwrap();
    std::os::unix::fs::symlink(&elsewhere, disk.file()).unwrap();
    disk.say(&[]).failed(6, &["is not ours"]);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "another");
    for (path, what) in [("/dev/null", "a device"), (elsewhere.to_str().unwrap(), "no folder")] {
        disk.scene.say(&["disk", path]).failed(6, &[what]);
    }
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "another");
}

#[test]
fn a_wrong_call_is_refused_before_anything_is_made() {
    let disk = Disk::new();
    let folder = disk.folder.to_str().unwrap();
    let with = |from: &str, to: &str| {
        fs::write(disk.scene.path("wrong.toml"), CELLS.replace(from, to)).unwrap();
        disk.scene.say(&["disk", folder, "--suite", "wrong.toml"])
    };
    with("block = '4KiB'", "block = '3B'").failed(2, &["blocks of 3 bytes", "multiples of 512", "--buffered"]);
    with("block = '4KiB'", "block = '0B'").failed(2, &["wrong.toml:14", "block = '0B'"]);
    with("operation = 'mixed'", "operation = 'mix'").failed(2, &["wrong.toml:8", "read, write, mixed"]);
    with("name = 'my-cells'", "name = 'disk-quick'").failed(2, &["the name of a built-in test"]);
    for (words, code, needles) in [
        (&["disk", folder, "--size", "0"][..], 2, &["size = 0", "must lie between"][..]),
        (&["disk", folder, "--size", "many"], 2, &["size = many"]),
        (&["disk", folder, "--suite", "quikc"], 2, &["there is no suite 'quikc'", "log-write"]),
        (&["disk", folder, "--engine", "aio"], 2, &["engine = aio", "uring"]),
        (&["disk", folder, "--set", "volume=1GiB"], 2, &["volume"]),
        (
            &["disk", folder, "--set", "duration=0s"],
            2,
            &["duration=0s", "in no time nothing is measured", "leave it out"],
        ),
        (&["disk", folder, "--html", folder], 2, &["is a folder"]),
        (&["disk", "/nowhere/at/all"], 4, &["cannot use /nowhere/at/all"]),
        (&["disk", folder, "--size", "1024TiB"], 6, &["does not fit", "--size"]),
    ] {
        disk.scene.say(words).failed(code, needles);
    }
    assert!(disk.is_clean());
}

#[test]
fn a_full_disk_ends_the_run_and_the_file_goes() {
    let disk = Disk::new();
    // The shell's limit: 2 MiB in blocks of 512 bytes or of 1 KiB, as shells count.
    let words: Vec<String> = disk.words(&["--json"]).iter().map(|word| format!("'{word}'")).collect();
    let line = format!("ulimit -f 2048; exec '{}' {}", env!("CARGO_BIN_EXE_plimsoll"), words.join(" "));
    let command = disk.scene.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).current_dir(disk.scene.folder()).stdin(Stdio::null());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = said(&shell.output().unwrap());
    assert_eq!(said.code, 7, "{said:#?}");
    assert!(disk.is_clean(), "{said:#?}");
}

#[test]
fn a_volume_in_memory_says_so_and_one_that_is_read_only_is_refused() {
    let disk = Disk::new();
    let Some(tmpfs) = Tmpfs::mount(40) else { return };
    let folder = tmpfs.path.to_str().unwrap();
    let words =
        |more: &[&str]| disk.scene.say(&[&["disk", folder, "--suite", "cells.toml", "--buffered"], more].concat());
    let said = words(&["--json", "--repetitions", "1"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let warnings = said.json()[0]["warnings"].to_string();
    assert!(warnings.contains("in memory") && warnings.contains("fits into this machine's memory"), "{warnings}");
    words(&["--size", "30MiB"]).failed(6, &["does not fit"]);
    tmpfs.remount(false);
    words(&[]).failed(5, &["read-only"]);
    assert!(fs::read_dir(Path::new(folder)).unwrap().next().is_none());
}

#[test]
fn errors_of_the_device_are_counted_and_end_the_run() {
    let disk = Disk::new();
    let Some(device) = Failing::mount(128) else { return };
    let reads = "name = 'reads'\ntitle = 'Reads'\nfile = '8MiB'\nrepetitions = 1\n[every]\nduration = '60ms'\nwarm_up = '0ms'\n\
                 [[cell]]\noperation = 'read'\nblock = '8KiB'\n[[cell]]\noperation = 'read'\nblock = '64KiB'\n";
    fs::write(disk.scene.path("reads.toml"), reads).unwrap();
    let folder = device.path.to_str().unwrap();
    let say = || disk.scene.say(&["disk", folder, "--suite", "reads.toml", "--size", "48MiB", "--keep-file", "--json"]);
    let said = say();
    assert_eq!(said.code, 0, "{said:#?}");
    device.ends_after(36);
    let said = say();
    said.failed(7, &["% of the operations of", "failed", "the kernel's log"]);
    let record = &said.json()[0];
    assert_eq!(record["parameters"]["file_reused"], true, "{record}");
    let phases = record["repetitions"][0]["phases"].as_array().unwrap();
    assert!(
        phases.iter().all(|phase| phase["errors"].as_u64() > Some(0) && phase["operations"].as_u64() > Some(0)),
        "{record}"
    );
}

#[test]
fn a_file_that_somebody_cuts_short_makes_no_figures_of_what_was_not_read() {
    let disk = Disk::new();
    assert_eq!(disk.say(&["--keep-file", "--repetitions", "1"]).code, 0);
    let length = fs::metadata(disk.file()).unwrap().len();
    OpenOptions::new().write(true).open(disk.file()).unwrap().set_len(length - 4).unwrap();
    let said = disk.say(&["--keep-file", "--repetitions", "1", "--json"]);
    assert_eq!((said.code, said.json()[0]["parameters"]["file_reused"].as_bool()), (0, Some(false)), "{said:#?}");
    // One byte of its mark, and it is the user's.
    OpenOptions::new().write(true).open(disk.file()).unwrap().write_all_at(b"t", 0).unwrap();
    disk.say(&[]).failed(6, &["no mark"]);
    assert_eq!(fs::metadata(disk.file()).unwrap().len(), length);
}
