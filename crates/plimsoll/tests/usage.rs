//! What the command line says for itself, and what it says to wrong calls. Nothing here needs a server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use common::{Scene, Tmpfs, is_in, said};
use plimsoll_store::RunStore;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn help_version_completions_and_manual_are_results() {
    let scene = Scene::new();
    for words in [&["--help"][..], &["run", "--help"], &["--version"], &["completions", "bash"], &["man"]] {
        let said = scene.say(words);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{words:?}");
        assert!(!said.out.is_empty());
    }
    assert!(scene.say(&["man"]).out.contains("PLIMSOLL_STORE"));
}

/// What a shell offers after these words.
fn offered(scene: &Scene, words: &[&str]) -> Vec<String> {
    let all: Vec<&str> = ["--", "plimsoll"].into_iter().chain(words.iter().copied()).collect();
    let said = said(&scene.command(&all).env("PLIMSOLL_COMPLETE", "fish").output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    said.out.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn shells_offer_tests_runs_and_levels() {
    let scene = Scene::new();
    // Before there is a store, too.
    assert!(offered(&scene, &["show", "la"]).is_empty() && !scene.store().exists());
    let words = ["run", "insert", "--short", "--set", "duration=1s", "--repetitions", "1", "--label", "mine"];
    let run = scene.say(&[&words[..], &["--target", "lab:azure-sql-db/S2", "--json"]].concat());
    let id = run.json()[0]["run_id"].as_str().unwrap().to_owned();
    // A label that a shell would expand or run is not offered.
    let words = ["run", "insert", "--short", "--set", "duration=1s", "--repetitions", "1", "--label", "mine$(touch x)"];
    assert_eq!(scene.say(&[&words[..], &["--target", "lab:azure-sql-db/S2"]].concat()).code, 0);
    std::fs::write(scene.path("own.toml"), "").unwrap();
    let tests = offered(&scene, &["run", ""]);
    assert!(["read-scan", "mix-b", "own.toml"].iter().all(|test| tests.iter().any(|one| one == test)), "{tests:?}");
    assert_eq!(offered(&scene, &["run", "read-scan-"]), ["read-scan-weak"]);
    let runs = offered(&scene, &["show", ""]);
    assert!(runs[0] == "latest" && runs.contains(&"mine".to_owned()) && runs.contains(&id), "{runs:?}");
    assert_eq!(offered(&scene, &["compare", "latest", "mi"]), ["mine"]);
    assert!(offered(&scene, &["run", "insert", "--target", "lab:"]).contains(&"lab:azure-sql-db/S2".to_owned()));
}

#[test]
fn the_tests_are_listed_and_a_shown_definition_is_a_definition() {
    let scene = Scene::new();
    insta::assert_snapshot!(scene.say(&["tests"]).out);
    insta::assert_snapshot!(scene.say(&["tests", "keys"]).out);
    let shown = scene.say(&["tests", "show", "write-chunk"]);
    std::fs::write(scene.path("mine.toml"), shown.out.replace("write-chunk", "mine")).unwrap();
    let words =
        ["run", "mine.toml", "--short", "--target", &scene.sqlite(), "--set", "volume=1MiB", "--set", "chunk=100KiB"];
    let said = scene.say(&[&words[..], &["--set", "at_least=0s", "--repetitions", "2", "--json"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(said.json()[0]["test"], "mine");
}

#[test]
fn the_catalogue_answers_and_names_what_it_has() {
    let scene = Scene::new();
    let said = scene.say(&["catalog", "S2@v12-ga-2015-01"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("azure-sql-db/S2@v12-ga-2015-01") && said.out.contains("printed"), "{}", said.out);
    assert!(scene.say(&["catalog", "P2"]).out.contains("at 100 % instead of 70 %: 27,857 MB/min"));
    scene.say(&["catalog", "S99"]).failed(2, &["S99", "editions are"]);
    let kinds = scene.say(&["catalog"]).out;
    for kind in ["65,536      400,000       10,000", "backup, rare", "aws-ebs/gp2"] {
        assert!(kinds.contains(kind), "{kind}: {kinds}");
    }
    let bought = scene.say(&["catalog", "azure-managed-disk/PV2?iops=14740&mb_per_s=313"]);
    assert!(bought.out.contains("14740 IOPS, 313 MB/s") && bought.out.contains("0.6 ms for a write"), "{bought:?}");
    assert!(scene.say(&["catalog", "E8bds_v5"]).out.contains("44200 IOPS and 1200 MB/s"));
    assert!(scene.say(&["catalog", "gp2"]).out.contains("has 3 IOPS for each GiB (at least 100, at most 16000)"));
    scene.say(&["catalog", "aws-ebs/gp2?iops=5"]).failed(2, &["the limits follow from the size", "?size_gib=1024"]);
}

#[test]
fn wrong_calls_name_the_place_and_the_next_step() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let run = |words: &[&str]| scene.say(&[&["run"], words, &["--target", &target]].concat());
    run(&["read-scam"]).failed(2, &["read-scam", "did you mean 'read-scan'"]);
    run(&["missing.toml"]).failed(2, &["missing.toml"]);
    run(&["read-scan", "--set", "volme=1GiB"]).failed(2, &["volme", "did you mean 'volume'"]);
    run(&["read-scan", "--set", "volume=0"]).failed(2, &["volume = 0", "between"]);
    run(&["read-scan", "--set", "rows=5000"]).failed(2, &["does not use parameter 'rows'"]);
    run(&["read-scan", "--set", "volume"]).failed(2, &["key=value"]);
    let three = ["bulk-load", "--set", "rate=1,2", "--set", "sessions=1,2", "--set", "batch=1,2"];
    run(&three).failed(2, &["all have several values"]);
    run(&["mix-a", "--set", "rate=1", "--set", "think=1s"]).failed(2, &["'think'", "'rate'"]);
    run(&["mix-a", "--set", "batch=10"]).failed(2, &["mix-a does not use it"]);
    run(&["mix-a", "--set", "think=-5ms"]).failed(2, &["'-5ms' does not start with a digit"]);
    scene.say(&["run", "--target", &target, "mix-a"]).failed(2, &["tests come first"]);
    assert_eq!(scene.say(&["runs", "--json"]).json().len(), 0, "a wrong call is no run");
    run(&["read-scan", "--settle", "soon"]).failed(2, &["--settle"]);
    run(&["cpu-join", "--anchor", "fifty"]).failed(2, &["RUN=DTU"]);
    run(&["cpu-join", "--reference", "0123456"]).failed(2, &["0123456"]);
    scene.say(&["run", "read-scan", "--target", "oracle://h/db"]).failed(2, &["oracle", "sqlite"]);
    scene.say(&["run", "read-scan", "--target", "data.db"]).failed(2, &["scheme"]);
    scene.say(&["show", "0123456"]).failed(2, &["0123456"]);
    // A URL in the wrong place is repeated without its password.
    for words in [&["postgres://u:s3cretpw@h/db"][..], &["doctor", "sqlite:x", "postgres://u:s3cretpw@h/db"]] {
        let said = scene.say(words);
        assert!(said.code == 2 && !said.err.contains("s3cretpw"), "{said:#?}");
    }
    run(&["postgres://u:s3cretpw@h/db"]).failed(2, &["***"]);
    scene.say(&["compare", "latest", "latest", "--margin", "x"]).failed(2, &["--margin"]);
    run(&["mix-a", "--set", "rate=100..10"]).failed(2, &["a ramp rises: 10..100"]);
    for url in ["postgres://u@h:99999/db", "mysql://u@h:99999/db", "mssql://u@h:99999/db"] {
        scene.say(&["run", "read-scan", "--target", url]).failed(2, &["a number from 1 to 65535"]);
    }
    for words in [&["demo", "--html"][..], &["lab", "verify", "--markdown"]] {
        scene.say(&[words, &["gone/x"]].concat()).failed(2, &["gone/x", "no such folder", "make the folder"]);
    }
    // The page that nobody named takes the place of none that somebody else made.
    std::fs::write(scene.path("plimsoll-demo.html"), "<p>mine</p>").unwrap();
    scene.say(&["demo"]).failed(2, &["plimsoll-demo.html is there", "--html"]);
    assert_eq!(std::fs::read_to_string(scene.path("plimsoll-demo.html")).unwrap(), "<p>mine</p>");
    let odd = scene.say(&["show", "\u{1b}[31m\u{7f}\u{202e}"]);
    odd.failed(2, &["[31m"]);
    assert!(!odd.err.contains(['\u{1b}', '\u{7f}', '\u{202e}']), "{odd:?}");
    assert_eq!(scene.say(&["lab", "verify", "--verdicts", "developing", "--limit", "0"]).code, 2);
    assert_eq!(scene.say(&["run"]).code, 2);
    assert_eq!(scene.say(&["frobnicate"]).code, 2);
    assert_eq!(scene.say(&["run", "read-scan", "--target", &target, "--repetitions", "0"]).code, 2);
}

#[test]
fn a_definition_with_an_unknown_key_is_an_error_with_file_line_and_suggestion() {
    let scene = Scene::new();
    let text = scene.say(&["tests", "show", "read-scan"]).out;
    std::fs::write(scene.path("bad.toml"), text.replace("repetitions =", "repetitons =")).unwrap();
    let said = scene.say(&["run", "bad.toml", "--target", &scene.sqlite()]);
    said.failed(2, &["bad.toml:7", "unknown key 'repetitons'", "did you mean 'repetitions'"]);
    std::fs::write(scene.path("empty.toml"), "").unwrap();
    scene.say(&["run", "empty.toml", "--target", &scene.sqlite()]).failed(2, &["empty.toml:1", "name"]);
    std::fs::write(scene.path("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    scene.say(&["run", "binary.toml", "--target", &scene.sqlite()]).failed(2, &["binary.toml"]);
}

#[test]
fn stores_that_cannot_be_used_are_refused_and_left_alone() {
    let scene = Scene::new();
    let show = |store: &std::path::Path| scene.say(&["runs", "--store", store.to_str().unwrap()]);
    std::fs::write(scene.path("text.db"), "this is not a database, and long enough to look like something else")
        .unwrap();
    show(&scene.path("text.db")).failed(7, &["text.db", "not an SQLite file"]);
    show(scene.folder()).failed(7, &["directory"]);
    let newer = scene.path("newer.db");
    drop(RunStore::open(&newer).unwrap());
    assert_eq!(show(&newer).code, 0);
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    show(&newer).failed(7, &["newer release", "99"]);
    std::fs::write(scene.path("zero.db"), "").unwrap();
    show(&scene.path("zero.db")).failed(4, &["no result store at", "zero.db, only an empty file"]);
}

#[test]
fn who_only_reads_makes_no_store() {
    let scene = Scene::new();
    for words in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", "latest"],
        &["compare", "latest", "1234"],
        &["history", "read-scan"],
        &["report", "latest", "--html", "-"],
    ] {
        let said = scene.say(&[words, &["--store", "some/where/runs.db"]].concat());
        said.failed(4, &["there is no result store at some/where/runs.db", "plimsoll run"]);
    }
    let doctor = scene.say(&["doctor", "--store", "some/where/runs.db"]);
    assert!(doctor.code == 0 && doctor.out.contains("the first run creates it"), "{doctor:#?}");
    let left = std::fs::read_dir(scene.folder()).unwrap().count();
    assert_eq!(left, 0, "nothing was made");
}

#[test]
fn a_store_that_may_not_be_written_can_be_read() {
    let scene = Scene::new();
    let target = scene.sqlite();
    // Root may write everywhere but on a disk that nobody may write to.
    let disk = Tmpfs::mount(8);
    let folder = disk.as_ref().map_or_else(|| scene.path("odd name?#%"), |disk| disk.path.join("odd name?#%"));
    std::fs::create_dir(&folder).unwrap();
    let store = folder.join("runs.db");
    let store = store.to_str().unwrap();
    let short = ["--short", "--repetitions", "1", "--set", "volume=1MiB", "--store", store];
    let said = scene.say(&[&["run", "read-scan", "--target", &target], &short[..]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let writable = |is_writable: bool| {
        if let Some(disk) = &disk {
            return disk.remount(is_writable);
        }
        let mode = if is_writable { 0o700 } else { 0o500 };
        std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(store, Permissions::from_mode(mode & 0o600)).unwrap();
    };
    writable(false);
    let listed = scene.say(&["runs", "--store", store]);
    let shown = scene.say(&["show", "latest", "--json", "--store", store]);
    let run = scene.say(&[&["run", "read-scan", "--target", &target], &short[..]].concat());
    writable(true);
    assert!(listed.code == 0 && listed.out.contains("read-scan"), "{listed:#?}");
    assert_eq!(shown.json()[0]["test"], "read-scan");
    run.failed(7, &["no permission to read and write"]);
}

/// At a server that says nothing, a run is stopped before it has begun.
#[test]
fn who_is_terminated_while_connecting_ends_with_the_code_of_that() {
    let (scene, silent) = (Scene::new(), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let target = format!("postgres://u@{}/d?sslmode=disable", silent.local_addr().unwrap());
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        if is_in("SigIgn:", "self", signal) {
            // Who began the tests wants them to outlive it (nohup), and so it is with their programs.
            continue;
        }
        let mut run = scene.command(&["run", "read-scan", "--target", &target, "--json"]);
        let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let connected = silent.accept().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let said = said(&child.wait_with_output().unwrap());
        assert_eq!((said.code, said.json()[0]["error"]["exit_code"].as_i64()), (code, Some(code.into())), "{said:?}");
        drop(connected);
    }
}
