//! `kill -9` at seeded moments of imports, copies, restores and cleans: the programs that a run has started end with it, and after one
//! `clean` the target, the temporary folder and the list of processes are as they were.
//!
//! `PLIMSOLL_KILLS=100 cargo test -p plimsoll --test killed_moves` takes some minutes; without it a few moments are tried.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use tempfile::TempDir;

fn kills() -> u64 {
    std::env::var("PLIMSOLL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4)
}

/// Moments below a longest one, spread by a fixed sequence.
fn moment(number: u64, longest_ms: u64) -> Duration {
    Duration::from_millis((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % longest_ms)
}

/// A call whose temporary files lie in this folder.
fn call(scene: &Scene, temporary: &TempDir, words: &[&str]) -> Command {
    let mut command = scene.command(words);
    command.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn killed(mut child: Child, after: Duration) {
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Processes that work in one of these folders, or whose words name it.
fn workers(folders: &[&Path]) -> Vec<String> {
    let of = |process: std::fs::DirEntry| {
        let place = std::fs::read_link(process.path().join("cwd")).unwrap_or_default();
        let words = String::from_utf8_lossy(&std::fs::read(process.path().join("cmdline")).ok()?).replace('\0', " ");
        let is_there = |folder: &&Path| place.starts_with(folder) || words.contains(&*folder.to_string_lossy());
        folders.iter().any(is_there).then_some(words)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Kills moves, and every second time a clean as well; then one clean has to leave nothing. `left` says what of ours is at the target.
fn after_each_kill_one_clean_suffices(target: &str, tests: &[&str], left: &dyn Fn(&Scene) -> String) {
    let scene = Scene::new();
    let temporary = tempfile::Builder::new().prefix("k-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // A restored server runs as a user of its own.
    std::fs::set_permissions(temporary.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let target = if target.is_empty() { scene.sqlite() } else { target.to_owned() };
    let sizes = ["--set", "volume=4MiB", "--repetitions", "26"];
    for number in 0..kills() {
        let test = tests[(number % tests.len() as u64) as usize];
        let words = ["run", test, "--target", &target, "--short", "--quiet", "--allow-create-database"];
        let run = call(&scene, &temporary, &[&words[..], &sizes].concat()).spawn().unwrap();
        killed(run, moment(number, 2500));
        // Whatever a run has started ends with it, without a clean.
        let folders = [temporary.path(), scene.folder()];
        wait_until(|| workers(&folders).is_empty());
        if number % 2 == 1 {
            killed(call(&scene, &temporary, &["clean", &target]).spawn().unwrap(), moment(number, 120));
        }
        // A server may notice a moment later that a session has ended, and says until then that it is in use.
        wait_until(|| {
            let cleaned = call(&scene, &temporary, &["clean", &target]).stderr(Stdio::piped()).output().unwrap();
            assert!(cleaned.status.success(), "kill {number}: {cleaned:?}");
            !String::from_utf8_lossy(&cleaned.stderr).contains("in use")
        });
        assert_eq!(left(&scene), "", "after kill {number}, of {test}");
        let in_folder = || std::fs::read_dir(temporary.path()).unwrap().flatten().map(|entry| entry.path());
        assert_eq!(in_folder().collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new(), "after kill {number}, of {test}");
    }
}

#[test]
fn on_sqlite() {
    let left = |scene: &Scene| scene.leftovers().join(" ");
    after_each_kill_one_clean_suffices("", &["import", "copy", "restore"], &left);
}

#[test]
fn on_postgresql() {
    let server = Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let sql = "SELECT coalesce(string_agg(name, ' '), '') FROM (SELECT datname AS name FROM pg_database UNION ALL \
               SELECT nspname FROM pg_namespace) AS names WHERE name LIKE 'plimsoll%'";
    let left = |_: &Scene| server.psql(sql).unwrap().trim().to_owned();
    after_each_kill_one_clean_suffices(&server.socket_url("postgres"), &["import", "copy", "restore"], &left);
}

#[test]
fn on_mariadb() {
    let server = MariaDb::builder().buffer_pool_mb(64).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let target = server.tcp_url(server.superuser(), server.password(), "mysql");
    let left = |_: &Scene| server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap().trim().to_owned();
    after_each_kill_one_clean_suffices(&target, &["import", "restore"], &left);
}

#[test]
fn a_tool_that_would_work_for_an_hour_ends_with_us() {
    let scene = Scene::new();
    let tool = scene.path("sqlite3");
    std::fs::write(&tool, "#!/bin/sh\ncase \"$*\" in *--version*) echo 3.40.1;; *) sleep 3600; exit 1;; esac\n")
        .unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["run", "import", "--target", &scene.sqlite(), "--short", "--allow-create-database"];
    let mut command = scene.command(&[&words[..], &["--set", "volume=1MiB"]].concat());
    let path = format!("{}:{}", scene.folder().display(), std::env::var("PATH").unwrap());
    let mut child = command.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_working = || workers(&[scene.folder()]).iter().any(|words| words.contains("sleep 3600"));
    wait_until(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        is_working()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| workers(&[scene.folder()]).is_empty());
}
