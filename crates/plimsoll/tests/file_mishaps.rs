//! Mishaps of the file system: each command meets disks that are full or read-only, and places that are missing or of the wrong kind. It
//! ends with the documented code and one sentence that names the place, and what was stored is still there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use common::{Said, Scene, Tmpfs};

/// What is wrong with a place, and the name under which the scene has it.
const FULL: &str = "full";
const READ_ONLY: &str = "read-only";
const MISSING: &str = "missing";
const FOLDER: &str = "folder";
const PIPE: &str = "pipe";
const GARBAGE: &str = "garbage";
const DANGLING: &str = "dangling";

/// A scene with one stored run, and one place of each kind.
fn prepared(full: &Tmpfs, read_only: &Tmpfs) -> Scene {
    let scene = Scene::new();
    let said = scene.say(&run("sqlite:data.db", "runs.db"));
    assert_eq!(said.code, 0, "{said:#?}");
    // Zeros, as much as there is room for.
    let _ = fs::write(full.path.join("fill"), vec![0; 2 << 20]);
    fs::create_dir(read_only.path.join("sub")).unwrap();
    read_only.remount(false);
    symlink(&full.path, scene.path(FULL)).unwrap();
    symlink(&read_only.path, scene.path(READ_ONLY)).unwrap();
    fs::create_dir(scene.path(FOLDER)).unwrap();
    assert!(Command::new("mkfifo").arg(scene.path(PIPE)).status().unwrap().success());
    fs::write(scene.path(GARBAGE), [0xA5; 9000]).unwrap();
    symlink("/no/such/place", scene.path(DANGLING)).unwrap();
    scene
}

fn run<'a>(file: &'a str, store: &'a str) -> Vec<&'a str> {
    let test = ["run", "probe", "--short", "--quiet", "--repetitions", "1", "--set", "volume=1MiB"];
    [&test[..], &["--store", store, "--target", file]].concat()
}

/// What is wrong with the end of a command: it has this code and one sentence that names the place, and keeps what is stored.
fn wrong(scene: &Scene, said: &Said, code: i32, place: &str) -> Option<String> {
    let errors: Vec<&str> = said.err.lines().filter(|line| line.starts_with("error:")).collect();
    let is_told = errors.len() == 1 && errors[0].contains(place) && said.err.contains("hint:");
    let is_raw = said.err.contains("panicked") || said.err.contains("os error 28");
    let is_kept = scene.say(&["runs", "--json"]).json().len() == 1;
    (said.code != code || !is_told || is_raw || !is_kept)
        .then(|| format!("expected {code}: {} {}", said.code, said.err))
}

#[test]
fn every_command_names_the_place_and_loses_nothing() {
    let (Some(full), Some(read_only)) = (Tmpfs::mount(1), Tmpfs::mount(1)) else { return };
    let scene = prepared(&full, &read_only);
    let (mut cases, mut faults) = (0, Vec::new());
    let mut case = |words: &[&str], folder: Option<&str>, code: i32, place: &str| {
        let mut command = scene.command(words);
        command.envs(folder.map(|folder| ("TMPDIR", scene.path(folder))));
        let said = common::said(&command.output().unwrap());
        faults
            .extend(wrong(&scene, &said, code, place).map(|fault| format!("{} {folder:?}: {fault}", words.join(" "))));
        cases += 1;
    };
    for (store, for_run, for_list) in [
        ("full/new.db", 7, 4),
        ("read-only/new.db", 7, 4),
        (FOLDER, 7, 7),
        (PIPE, 7, 7),
        (GARBAGE, 7, 7),
        (DANGLING, 7, 4),
        ("/dev/zero", 7, 7),
        ("/dev/full", 7, 7),
        ("garbage/new.db", 7, 7),
    ] {
        case(&run("sqlite:other.db", store), None, for_run, store);
        case(&["runs", "--store", store], None, for_list, store);
        case(&["show", "latest", "--store", store], None, for_list, store);
        case(&["report", "latest", "--html", "r.html", "--store", store], None, for_list, store);
    }
    for (file, code) in [
        ("full/r", 7),
        ("read-only/r", 2),
        ("missing/r", 2),
        (FOLDER, 2),
        (PIPE, 2),
        ("/dev/full", 7),
        ("garbage/r", 2),
    ] {
        for format in ["--html", "--markdown", "--csv"] {
            case(&["report", "latest", format, file], None, code, file);
        }
    }
    // A full disk is no mishap for a clean that has nothing to remove.
    case(&["doctor", "sqlite:full/x.db"], None, 7, FULL);
    for (file, code, named) in [
        ("read-only/x.db", 5, "not writable"),
        ("missing/x.db", 4, MISSING),
        (FOLDER, 2, FOLDER),
        (PIPE, 2, PIPE),
        (GARBAGE, 2, GARBAGE),
        ("/dev/zero", 2, "/dev/zero"),
        ("garbage/x.db", 4, GARBAGE),
    ] {
        let target = format!("sqlite:{file}");
        case(&["doctor", &target], None, code, named);
        case(&["clean", &target], None, code, named);
    }
    for (file, code) in [(MISSING, 2), (FOLDER, 2), (PIPE, 2), ("/dev/zero", 2), (DANGLING, 2)] {
        case(&["doctor", "postgres://u@127.0.0.1:1/x", "--password-file", file], None, code, file);
    }
    for (folder, code) in [(FULL, 7), (READ_ONLY, 5), (MISSING, 2), (PIPE, 2), (GARBAGE, 2)] {
        case(&["run", "probe", "--target", "lab:azure-sql-db/S0", "--quiet"], Some(folder), code, folder);
    }
    let left: Vec<_> = fs::read_dir(&full.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["fill"], "nothing of ours stays where there was no room for it");
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
    assert!(cases >= 60, "{cases}");
}

#[test]
fn what_standard_output_does_not_take_is_an_error() {
    let scene = Scene::new();
    for words in [&["--help"][..], &["run", "--help"], &["--version"], &["tests"], &["catalog"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let said = common::said(&scene.command(words).stdout(full).output().unwrap());
        said.failed(7, &["could not be written in full"]);
    }
}

/// With few files that may be open each step meets the end of them in its turn.
#[test]
fn what_stays_with_few_open_files_is_named() {
    let scene = Scene::new();
    fs::create_dir(scene.path("tmp")).unwrap();
    let said = scene.say(&run("sqlite:data.db", "runs.db"));
    assert_eq!(said.code, 0, "{said:#?}");
    let move_it = "run import --target sqlite:data.db --short --quiet --allow-create-database --set sizes=1MiB";
    let mut refused = 0;
    for words in ["doctor sqlite:data.db", move_it] {
        for most in 6..26 {
            let line = format!("ulimit -n {most}; exec {} {words}", env!("CARGO_BIN_EXE_plimsoll"));
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(scene.path("."));
            shell.env("TMPDIR", scene.path("tmp")).env("PLIMSOLL_STORE", scene.path("runs.db"));
            let said = common::said(&shell.output().unwrap());
            assert!(!said.err.contains("panicked"), "{most}: {said:#?}");
            refused += u32::from(said.code != 0);
            for folder in [".", "tmp"] {
                for entry in fs::read_dir(scene.path(folder)).unwrap() {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    let place = name.strip_prefix("data.db.").unwrap_or(&name);
                    let place = place.split('.').next().unwrap();
                    let is_ours = place.starts_with("plimsoll");
                    assert!(!is_ours || said.err.contains(place), "{words}, {most} files: {name}: {said:#?}");
                }
            }
            scene.say(&["clean", "sqlite:data.db"]);
        }
    }
    assert!(refused > 5, "{refused}");
}

/// Somebody empties the store's log while a run is kept: "kept" is said of what the store gives back, and of nothing else.
#[test]
fn a_run_that_the_store_lost_is_not_called_kept() {
    let scene = Scene::new();
    let long = ["--set", "duration=3s", "--repetitions", "2"];
    let child = scene.spawn(&[&["run", "insert", "--target", "sqlite:data.db", "--short"][..], &long].concat());
    let log = scene.path("runs.db-wal");
    common::wait_until(|| fs::metadata(&log).is_ok_and(|there| there.len() > 50_000));
    fs::write(&log, "").unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    let is_there = scene.say(&["show", "latest"]).code == 0;
    assert!(is_there || (said.code == 7 && !said.err.contains("kept as run")), "{said:#?}");
}
