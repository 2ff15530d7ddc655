//! Whole databases on the move: imports, copies and restores on a real PostgreSQL, a real MariaDB and SQLite, and what may happen to
//! them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

fn server() -> Postgres {
    Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

fn run<'a>(test: &'a str, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["run", test, "--target", target, "--short", "--json", "--quiet", "--allow-create-database"];
    [&common, more].concat()
}

/// The databases of ours at a server.
fn databases(server: &Postgres) -> String {
    let sql = "SELECT coalesce(string_agg(datname, ' ' ORDER BY datname), '') FROM pg_database WHERE datname LIKE 'plimsoll%'";
    server.psql(sql).unwrap().trim().to_owned()
}

fn metrics(record: &Value) -> Vec<&str> {
    record["results"].as_array().unwrap().iter().map(|figure| figure["metric"].as_str().unwrap()).collect()
}

fn labels(record: &Value) -> Vec<&str> {
    let points = record["repetitions"][0]["points"].as_array().unwrap();
    points.iter().map(|point| point["label"].as_str().unwrap()).collect()
}

#[test]
fn postgresql_is_dumped_imported_and_copied() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    let small = ["--set", "volume=4MiB"];
    let refused = scene.say(&["run", "import", "--target", &target, "--short"]);
    refused.failed(6, &["--allow-create-database", "plimsoll_copy_"]);
    // What the user's environment says to libpq is nothing to our tools: there is nobody at that address.
    let mut command = scene.command(&run("import", &target, &small));
    let said = common::said(&command.envs([("PGHOSTADDR", "192.0.2.1"), ("PGPORT", "1")]).output().unwrap());
    let record = &said.json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert!(record["parameters"]["tools"].as_str().unwrap().starts_with("pg_dump (PostgreSQL)"), "{record}");
    assert_eq!(metrics(record), ["import_rate", "log_rate_limit", "write_rate", "index_time"]);
    assert_eq!(labels(record)[..4], ["dump", "definitions", "tables", "indexes"]);
    // The log of the imported rows was counted, and nobody was seen to wait for it.
    let tables = &record["repetitions"][2]["points"][2];
    let loaded = &tables["metrics"];
    assert!(loaded["log_bytes"].as_u64() > loaded["content_bytes"].as_u64(), "{tables}");
    let limit = record["results"][1]["note"].as_str().unwrap();
    assert!(
        limit.starts_with("at least") && limit.contains("; 1.") && limit.contains(" bytes of log for each"),
        "{limit}"
    );
    let moved = record["repetitions"][2]["points"][2]["metrics"]["content_bytes"].as_u64().unwrap();
    assert_eq!(moved, record["parameters"]["content_bytes"].as_u64().unwrap());
    for way in ["wal-log", "file-copy"] {
        let method = format!("copy_method={way}");
        let record = &scene.say(&run("copy", &target, &[&small[..], &["--set", &method]].concat())).json()[0];
        assert!(record["error"].is_null(), "{record}");
        assert_eq!((metrics(record), labels(record)), (vec!["copy_rate"], vec!["copy"]));
    }
    scene.say(&run("copy", &target, &["--set", "way=backup"])).failed(2, &["wal-log, file-copy"]);
    assert_eq!(databases(&server), "");
}

/// Three sizes of each move on a target, and what the report says of them.
fn three_sizes(scene: &Scene, target: &str, tests: &[(&str, &str)]) {
    for (test, metric) in tests {
        let more = ["--set", "sizes=4MiB,1MiB,2MiB", "--set", "tables=2", "--repetitions", "1"];
        let record = &scene.say(&run(test, target, &more)).json()[0];
        assert!(record["error"].is_null(), "{record}");
        assert_eq!(metrics(record)[0], *metric, "{record}");
        let mut sizes: Vec<&str> = labels(record).iter().map(|label| label.split(": ").next().unwrap()).collect();
        sizes.dedup();
        assert_eq!(sizes, ["1.00 MB", "2.00 MB", "4.00 MB"], "{record}");
        let shown = scene.say(&["show", record["run_id"].as_str().unwrap(), "--full"]).out;
        assert!(shown.contains("Sizes") && shown.contains("MB/min") && shown.contains("of 4.00 MB"), "{shown}");
    }
}

#[test]
fn sqlite_is_restored_and_moved_in_three_sizes() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let refused = scene.say(&["run", "restore", "--target", &target, "--short"]);
    refused.failed(6, &["--allow-create-database", "TMPDIR"]);
    three_sizes(&scene, &target, &[("import", "import_rate"), ("copy", "copy_rate"), ("restore", "restore_rate")]);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

/// A folder for backups that the servers' users may reach too.
fn reachable() -> TempDir {
    let folder = tempfile::Builder::new().prefix("b-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A call whose backups lie in this folder.
fn with_backups_in(scene: &Scene, folder: &TempDir, words: &[&str]) -> Command {
    let mut command = scene.command(words);
    command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_empty(folder: &TempDir) -> bool {
    fs::read_dir(folder.path()).unwrap().next().is_none()
}

/// Whether a server has a socket of this name in the folder of some restore.
fn has_socket(folder: &TempDir, name: &str) -> bool {
    let mut entries = fs::read_dir(folder.path()).unwrap().flatten();
    entries.any(|entry| entry.path().join("in/s").join(name).exists())
}

/// Processes that work in the folder.
fn workers(folder: &TempDir) -> usize {
    let inside = folder.path().canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let folders = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|work| work.starts_with(&inside)).count()
}

/// The segment of shared memory of the server that is restored there: the last number of a line of its `postmaster.pid`.
fn segment(folder: &TempDir) -> String {
    let mut entries = fs::read_dir(folder.path()).unwrap().flatten();
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("in/data/postmaster.pid")).ok();
    let said = entries.find_map(of).unwrap();
    said.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)).unwrap().to_owned()
}

/// Whether the system has a segment of that number.
fn has_segment(number: &str) -> bool {
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    all.lines().any(|line| line.split_whitespace().nth(1) == Some(number))
}

/// Restores in this folder, until one has a server with a socket of this name.
fn restoring(scene: &Scene, folder: &TempDir, target: &str, socket: &str) -> Child {
    let words = run("restore", target, &["--set", "volume=20MiB", "--repetitions", "26"]);
    let mut child = with_backups_in(scene, folder, &words).spawn().unwrap();
    wait_until(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        has_socket(folder, socket)
    });
    child
}

#[test]
fn postgresql_is_restored_and_nothing_stays() {
    let (server, scene, folder) = (server(), Scene::new(), reachable());
    let target = server.socket_url("postgres");
    // What the first server is told by its own settings is nothing to ours.
    server.psql("ALTER SYSTEM SET archive_command = '/bin/false'").unwrap();
    let words = run("restore", &target, &["--set", "sizes=4MiB,1MiB,2MiB", "--repetitions", "1"]);
    let said = common::said(&with_backups_in(&scene, &folder, &words).output().unwrap());
    let record = &said.json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!(metrics(record), ["restore_rate", "backup_rate", "start_time"]);
    // The whole server comes along.
    let stages: Vec<&str> = labels(record)[..3].iter().map(|label| label.split(": ").nth(1).unwrap()).collect();
    assert_eq!(stages, ["backup", "restore", "start"]);
    assert!(labels(record).iter().all(|label| label.contains("MB of ")), "{record}");
    assert_eq!(labels(record).len(), 9);
    assert!(record["parameters"]["backup_bytes"].as_u64() > record["parameters"]["content_bytes"].as_u64());
    assert!(record["warnings"].to_string().contains("all that its server has"), "{record}");
    assert_eq!((databases(&server).as_str(), is_empty(&folder), workers(&folder)), ("", true, 0));

    // Who may not read the whole cluster is told how to.
    server.psql("CREATE ROLE nobody_much LOGIN CREATEDB; GRANT CREATE ON DATABASE postgres TO nobody_much").unwrap();
    let refused = target.replace(&format!("//{}@", server.superuser()), "//nobody_much@");
    scene.say(&run("restore", &refused, &["--set", "volume=1MiB"])).failed(5, &["REPLICATION", "pg_hba.conf"]);
    assert_eq!(databases(&server), "");

    let mut child = restoring(&scene, &folder, &target, ".s.PGSQL.5432");
    let segment = segment(&folder);
    assert!(has_segment(&segment));
    child.kill().unwrap();
    child.wait().unwrap();
    // A server that is killed outright would leave it for good.
    wait_until(|| !has_segment(&segment));
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases(&server).is_empty() && is_empty(&folder) && workers(&folder) == 0
    });

    let child = restoring(&scene, &folder, &target, ".s.PGSQL.5432");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    // A machine with other things to do may take longer than is waited for: then it is said.
    let left = databases(&server);
    // The last letter numbers the databases of a run.
    let begin = left.trim().split_at(left.trim().len().saturating_sub(1)).0;
    assert!(left.is_empty() || said.err.contains(begin) && said.err.contains("plimsoll clean"), "{left}: {said:#?}");
    assert_eq!((is_empty(&folder), workers(&folder)), (true, 0));
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases(&server).is_empty()
    });

    let child = restoring(&scene, &folder, &target, ".s.PGSQL.5432");
    server.stop_immediate().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 7, "{said:#?}");
    assert!(is_empty(&folder) && workers(&folder) == 0);
}

/// The server's files are elsewhere from then on, and its log would lead the restored server to them.
#[test]
fn a_tablespace_that_is_made_during_a_backup_is_not_touched() {
    let (server, scene, folder, place) = (server(), Scene::new(), reachable(), reachable());
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let target = server.socket_url("postgres");
    let script = format!(
        "#!/bin/sh\nreal=$(ls /usr/lib/postgresql/*/bin/pg_basebackup | tail -1)\n[ \"$1\" = --version ] && exec $real --version\n\
         $real \"$@\" --max-rate=16M & until test -e backup/backup_label; do sleep 0.01; done\n\
         psql -q '{target}' -c \"CREATE TABLESPACE elsewhere LOCATION '{}'\" -c 'CREATE TABLE orders (id int) TABLESPACE elsewhere' \
         -c 'INSERT INTO orders SELECT generate_series(1, 9)' -c CHECKPOINT\nwait\n",
        place.path().join("files").display()
    );
    let files = place.path().join("files");
    fs::create_dir(&files).unwrap();
    assert!(
        Command::new("chown")
            .args(["--reference", &server.data_directory().display().to_string()])
            .arg(&files)
            .status()
            .unwrap()
            .success()
    );
    let program = scene.folder().join("pg_basebackup");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scene.folder().display(), std::env::var("PATH").unwrap());
    let words = run("restore", &target, &["--set", "volume=4MiB", "--repetitions", "1"]);
    let said = common::said(&with_backups_in(&scene, &folder, &words).env("PATH", path).output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    let text = format!("{said:?}");
    assert!(text.contains("tablespaces in other folders") || text.contains("leads out of it"), "{text}");
    assert_eq!(server.psql("SELECT count(*) FROM orders").unwrap().trim(), "9");
    assert_eq!((databases(&server).as_str(), is_empty(&folder), workers(&folder)), ("", true, 0));
}

#[test]
fn mariadb_is_restored_and_nothing_stays() {
    let server = MariaDb::builder().buffer_pool_mb(64).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let (scene, folder) = (Scene::new(), reachable());
    let target = server.tcp_url(server.superuser(), server.password(), "mysql");
    let databases = || server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap().trim().to_owned();
    let words = run("restore", &target, &["--set", "sizes=4MiB,1MiB,2MiB", "--repetitions", "1"]);
    let said = common::said(&with_backups_in(&scene, &folder, &words).output().unwrap());
    let record = &said.json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!(metrics(record), ["restore_rate", "backup_rate", "start_time"]);
    assert_eq!(labels(record).len(), 9);
    // The whole server comes along.
    assert!(labels(record).iter().all(|label| label.contains("MB of ")), "{record}");
    assert!(!format!("{said:?}").contains(server.password()), "{said:?}");
    assert_eq!((databases().as_str(), is_empty(&folder), workers(&folder)), ("", true, 0));
    // Programs of another version come first in PATH, and would not understand the files.
    for name in ["mariadbd", "mariadb-backup"] {
        let file = scene.folder().join(name);
        let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{name} Ver 5.1.2-MariaDB' && exit\nexit 9\n");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", scene.folder().display(), std::env::var("PATH").unwrap());
    let said = common::said(&with_backups_in(&scene, &folder, &words).env("PATH", path).output().unwrap());
    assert_eq!(
        (said.code, metrics(&said.json()[0])),
        (0, vec!["restore_rate", "backup_rate", "start_time"]),
        "{said:?}"
    );

    let mut child = restoring(&scene, &folder, &target, "socket");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases().is_empty() && is_empty(&folder) && workers(&folder) == 0
    });
}

#[test]
fn a_level_is_changed_by_commands_and_comes_back() {
    let scene = Scene::new();
    let (target, level) = (scene.sqlite(), scene.path("level"));
    let set = |text: &str| fs::write(&level, text).unwrap();
    let now = || fs::read_to_string(&level).unwrap().trim().to_owned();
    set("small");
    let common = ["run", "level-change", "--target", &target, "--short", "--json", "--quiet", "--repetitions", "1"];
    let small = ["--set", "volume=1MiB", "--set", "chunk=64KiB", "--set", "source=64KiB", "--set", "poll=10ms"];
    let allowed = ["--set", "level=large", "--allow-level-change"];
    let by = |command: &'static str| ["--level-command", command, "--level-check", "cat level"];
    let call =
        |parts: &[&[&str]]| -> Vec<String> { parts.iter().copied().flatten().map(|word| (*word).to_owned()).collect() };
    let say = |parts: &[&[&str]]| {
        let words = call(parts);
        scene.say(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    say(&[&common, &["--set", "level=large"]]).failed(6, &["--allow-level-change", "cost"]);
    say(&[&common, &["--allow-level-change"]]).failed(2, &["level"]);
    say(&[&common, &small, &allowed]).failed(2, &["--level-command", "--level-check"]);
    let changing = by("echo $PLIMSOLL_LEVEL >level");
    let record = &say(&[&common, &small, &allowed, &changing]).json()[0];
    assert!(record["error"].is_null(), "{record}");
    let figures = ["level_change_time", "rate_before", "rate_after", "scan_before", "scan_after", "level_back_time"];
    assert_eq!(metrics(record), figures);
    assert!(record["results"][2]["note"].as_str().unwrap().contains("times those before"), "{record}");
    assert_eq!((now().as_str(), &record["parameters"]["level_before"]), ("small", &"small".into()));
    // What is there already can't be measured, what fails or never takes effect is told, and the way back is asked for.
    say(&[&common, &small, &["--set", "level=small", "--allow-level-change"], &changing]).failed(2, &["already"]);
    say(&[&common, &small, &allowed, &by("test $PLIMSOLL_LEVEL = small || exit 3")]).failed(7, &["level command"]);
    // A command may need the variables of an engine's programs; what it says of them is hidden.
    let telling =
        call(&[&common, &small, &allowed, &by("echo \"no $PGPASSWORD$MYSQL_PWD$SQLCMDPASSWORD\" >&2; exit 1")]);
    let mut telling = scene.command(&telling.iter().map(String::as_str).collect::<Vec<_>>());
    let planted = ["PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD"].map(|name| (name, format!("planted-{name}")));
    let said = common::said(&telling.envs(planted).output().unwrap());
    said.failed(7, &["no *********"]);
    assert!(!format!("{said:?}").contains("planted"), "{said:?}");
    let never = by("echo $PLIMSOLL_LEVEL >asked");
    say(&[&common, &small, &allowed, &never, &["--set", "timeout=1s"]]).failed(7, &["not in effect"]);
    let asked = || fs::read_to_string(scene.path("asked")).unwrap_or_default().trim().to_owned();
    assert_eq!(asked(), "small");

    let words = call(&[&common, &small, &allowed, &never]);
    let child = scene.spawn(&words.iter().map(String::as_str).collect::<Vec<_>>());
    wait_until(|| asked() == "large");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!((said.code, asked().as_str()), (130, "small"), "{said:#?}");
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

#[test]
fn sqlite_is_dumped_imported_and_copied() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let small = ["--set", "volume=4MiB"];
    let record = &scene.say(&run("import", &target, &small)).json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!(metrics(record), ["import_rate", "log_rate_limit", "write_rate"]);
    let shown = scene.say(&["show", record["run_id"].as_str().unwrap(), "--full"]).out;
    assert!(shown.contains("Stages") && shown.contains("dump"), "{shown}");
    for way in ["backup", "file-copy", "vacuum-into"] {
        let method = format!("copy_method={way}");
        let record = &scene.say(&run("copy", &target, &[&small[..], &["--set", &method]].concat())).json()[0];
        assert!(record["error"].is_null(), "{record}");
        assert_eq!((metrics(record), record["parameters"]["copy_method"].as_str()), (vec!["copy_rate"], Some(way)));
    }
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
    // Without the shell there is no import.
    let mut command = scene.command(&run("import", &target, &small));
    let said = common::said(&command.env("PATH", scene.folder()).output().unwrap());
    said.failed(3, &["sqlite3", "install"]);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

/// On the lab it is known what each move should take.
#[test]
fn the_lab_moves_databases_as_fast_as_its_limits_say() {
    let scene = Scene::new();
    let target = "lab:azure-sql-db/S2@v11-2014-07";
    // As users write it.
    let change = ["--set", "level=p1", "--allow-level-change"];
    let size = ["--set", "volume=512MiB"];
    let moves = [("import", "import_rate"), ("copy", "copy_rate"), ("restore", "restore_rate")];
    for (test, metric) in moves.into_iter().chain([("level-change", "level_change_time")]) {
        let more = if test == "level-change" { &change[..] } else { &[] };
        let said = scene.say(&run(test, target, &[&size[..], more].concat()));
        assert_eq!(said.code, 0, "{said:#?}");
        let result = &said.json()[0]["result"];
        let number = |value: &Value| value.as_f64().unwrap();
        // A change of level is seen when it is next asked for, each second.
        let is_close = if test == "level-change" {
            (0.0..1.0).contains(&(number(&result["value"]) - number(&result["expected"]["value"])))
        } else {
            number(&result["expected"]["error_percent"]).abs() < 1.0
        };
        assert!(result["metric"] == metric && is_close, "{result}");
        if test == "import" {
            let log = &said.json()[0]["results"][1];
            // Checkpoints hold the import back a little, and the log takes what it took.
            let error = number(&log["expected"]["error_percent"]);
            assert!(log["metric"] == "log_rate_limit" && (-6.0..0.1).contains(&error), "{log}");
        }
        assert_eq!(result["repetitions"], 3, "{result}");
    }
    // Within a tier a level is in effect as soon as it was asked for: that is a time too.
    let within = ["--set", "volume=512MiB", "--set", "level=S1", "--allow-level-change", "--repetitions", "1"];
    let record = &scene.say(&run("level-change", target, &within)).json()[0];
    let result = &record["result"];
    assert_eq!((&result["metric"], &result["value"]), (&"level_change_time".into(), &Value::from(0.0)), "{record}");
    // Volumes are divided by 64, and sizes that would become one are not made so in secret.
    let sizes = ["--set", "sizes=16MiB,32MiB"];
    scene.say(&run("import", target, &sizes)).failed(2, &["sizes", "64.0 MB"]);
    let refused = scene.say(&["run", "level-change", "--target", target, "--set", "level=P1"]);
    refused.failed(6, &["--allow-level-change"]);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

/// Whoever puts something into a folder of ours keeps it, however the run ends; what is ours goes.
#[test]
fn what_others_put_into_a_folder_at_work_stays() {
    let scene = Scene::new();
    for signal in [Signal::INT, Signal::KILL] {
        let folder = reachable();
        let words = run("restore", "lab:azure-sql-db/S2@v11-2014-07", &["--repetitions", "26", "--set", "volume=4GiB"]);
        let mut child = with_backups_in(&scene, &folder, &words).spawn().unwrap();
        let of = |kind: &str| {
            let entries = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
            entries.filter(|path| path.join("lock").exists()).find(|path| path.to_string_lossy().contains(kind))
        };
        wait_until(|| {
            assert!(child.try_wait().unwrap().is_none(), "it ended");
            of("plimsoll-scratch-").is_some_and(|scratch| scratch.join("in").exists())
        });
        let (scratch, lab) = (of("plimsoll-scratch-").unwrap(), of("plimsoll-lab-").unwrap());
        for folder in [&scratch, &lab] {
            fs::write(folder.join("precious"), "mine").unwrap();
        }
        fs::create_dir(lab.join("lab.mine")).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        let holds = |folder: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        // What guards the programs goes a moment after the backups.
        wait_until(|| ["in", "programs"].iter().all(|name| !scratch.join(name).exists()));
        assert_eq!(holds(&scratch), ["lock", "precious"]);
        if signal == Signal::INT {
            assert_eq!(holds(&lab), ["lab.mine", "lock", "precious"]);
        }
        // Neither a look nor a cleaning nor the next run takes what somebody else has put there.
        let sqlite = scene.sqlite();
        for words in
            [&["clean", "--dry-run", &sqlite][..], &["clean", &sqlite], &run("insert", "lab:azure-sql-db/S2", &[])]
        {
            assert!(with_backups_in(&scene, &folder, words).output().unwrap().status.success());
            assert!(lab.join("precious").exists() && lab.join("lab.mine").exists());
        }
    }
}

/// A run that ends well says all the same that its folder stays.
#[test]
fn a_folder_that_stays_is_named_with_the_command_that_removes_it() {
    let (scene, folder) = (Scene::new(), reachable());
    let target = scene.sqlite();
    let words = run("restore", &target, &["--set", "volume=64MiB", "--repetitions", "6"]);
    let child = with_backups_in(&scene, &folder, &words).spawn().unwrap();
    let mut scratch = PathBuf::new();
    wait_until(|| {
        let mut made = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        let Some(found) = made.find(|path| path.join("in").exists()) else { return false };
        scratch = found;
        // One that goes at this moment is not the one.
        fs::write(scratch.join("precious"), "mine").is_ok() && scratch.join("precious").exists()
    });
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 7, "{said:#?}");
    let left = &said.json()[0]["left_behind"];
    let (message, hint) = (left["message"].as_str().unwrap(), left["hint"].as_str().unwrap());
    assert!(message.contains(&scratch.canonicalize().unwrap().display().to_string()), "{left}");
    assert!(hint.contains("plimsoll clean") && said.json()[0].get("error").is_none(), "{left}");
    assert_eq!(said.json()[0]["repetitions"].as_array().unwrap().len(), 6);
    let cleaned = with_backups_in(&scene, &folder, &["clean", &target]).output().unwrap();
    assert!(String::from_utf8_lossy(&cleaned.stderr).contains("left alone"), "{cleaned:?}");
    fs::remove_file(scratch.join("precious")).unwrap();
    assert!(with_backups_in(&scene, &folder, &["clean", &target]).output().unwrap().status.success());
    assert!(is_empty(&folder));
}

/// Databases that somebody uses meanwhile stay; the record says which, with the code and the command for later.
#[test]
fn copies_with_something_of_others_are_left_behind() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    let words = run("copy", &target, &["--set", "volume=20MiB", "--repetitions", "26"]);
    let mut child = scene.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        databases(&server).contains(' ')
    });
    let copies = databases(&server);
    for copy in copies.split(' ') {
        wait_until(|| server.psql_in(copy, "CREATE TABLE IF NOT EXISTS precious (a int)").is_ok());
    }
    let said = common::said(&child.wait_with_output().unwrap());
    let record = &said.json()[0];
    assert_eq!(said.code, 7, "{said:?}");
    let left = &record["left_behind"];
    assert_eq!(left["exit_code"], 7, "{record}");
    for words in copies.split(' ').chain(["precious"]) {
        assert!(left["message"].as_str().unwrap().contains(words), "{words}: {left}");
    }
    assert!(left["hint"].as_str().unwrap().contains("plimsoll clean 'postgres://"), "{left}");
    assert_eq!(databases(&server), copies);
}

/// The right that lacks is that to make databases, which no other grant gives.
#[test]
fn who_may_not_make_databases_is_told_the_right() {
    let (server, scene) = (server(), Scene::new());
    server.psql("CREATE ROLE small LOGIN; GRANT CREATE, CONNECT, TEMPORARY ON DATABASE postgres TO small").unwrap();
    let target = server.socket_url("postgres").replace("plimsoll@", "small@");
    let said = scene.say(&run("copy", &target, &["--set", "volume=1MiB", "--repetitions", "1"]));
    said.failed(5, &["ALTER ROLE \"small\" CREATEDB"]);
    assert_eq!(databases(&server), "");
}

/// What somebody has not committed yet can't be seen, and is not undone.
#[test]
fn a_session_of_somebody_elses_in_a_copy_is_not_ended() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    let words = run("copy", &target, &["--set", "volume=20MiB", "--repetitions", "26"]);
    let mut child = scene.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| !databases(&server).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let copy = databases(&server).split(' ').next().unwrap().to_owned();
    let mut visitor = Command::new("psql");
    visitor.args(["-qXd", &server.socket_url(&copy)]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut visitor = visitor.spawn().unwrap();
    let mut says = visitor.stdin.take().unwrap();
    writeln!(says, "BEGIN; CREATE TABLE precious AS SELECT 1;").unwrap();
    let open =
        format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{copy}' AND state = 'idle in transaction'");
    wait_until(|| server.psql(&open).unwrap().trim() == "1");
    let said = scene.say(&["clean", &target]);
    said.failed(6, &[&copy, "is kept, as sessions of others are in it", server.superuser()]);
    writeln!(says, "COMMIT; INSERT INTO precious VALUES (2);").unwrap();
    drop(says);
    assert!(visitor.wait().unwrap().success());
    assert_eq!(server.psql_in(&copy, "SELECT count(*) FROM precious").unwrap().trim(), "2");
    server.psql_in(&copy, "DROP TABLE precious").unwrap();
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert_eq!(databases(&server), "");
}

/// A new copy in each repetition, of which nothing is in memory. It takes consent, and nothing of it stays.
#[test]
fn a_scan_may_read_copies_to_be_cold() {
    let (scene, folder) = (Scene::new(), tempfile::tempdir().unwrap());
    let target = format!("lab:azure-sql-db/S2@v12-ga-2015-01?file={}", folder.path().join("lab.db").display());
    let cold = ["--cold", "copy", "--settle", "5h", "--set", "volume=3GiB"];
    scene.say(&[&["run", "read-scan", "--target", &target, "--short"], &cold[..]].concat()).failed(6, &["bill"]);
    let said = scene.say(&run("read-scan", &target, &cold));
    let record = &said.json()[0];
    let near =
        record["results"][0]["value"].as_f64().unwrap() / record["results"][0]["expected"]["value"].as_f64().unwrap();
    assert!((near - 1.0).abs() < 0.01, "{}", record["results"]);
    for repetition in record["repetitions"].as_array().unwrap() {
        let cold = &repetition["cold"];
        assert_eq!(
            (cold["verified"].as_bool(), cold["settle_seconds"].as_f64()),
            (Some(true), Some(18_000.0)),
            "{cold}"
        );
        assert_eq!(cold["methods"], serde_json::json!(["database-copy"]));
    }
    assert!(is_empty(&folder), "{:?}", fs::read_dir(folder.path()).unwrap().collect::<Vec<_>>());
    // Where a copy is in memory it proves nothing, and where nothing is to be cold there is no need.
    let sqlite = format!("sqlite:{}", folder.path().join("own.db").display());
    scene.say(&run("read-scan", &sqlite, &["--cold", "copy"])).failed(2, &["not known to be cold on 'sqlite'"]);
    scene
        .say(&run("read-scan", &target, &["--cold", "copy", "--set", "cache=warm"]))
        .failed(2, &["needs cache = cold"]);
    scene.say(&run("mix-a", &target, &["--cold", "copy"])).failed(2, &["--cold"]);
}

#[test]
fn mariadb_is_dumped_imported_and_copied_and_cleaned() {
    let server = MariaDb::builder().buffer_pool_mb(64).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let scene = Scene::new();
    // By the network: a password has to reach the tools.
    let target = server.tcp_url(server.superuser(), server.password(), "mysql");
    let databases = || server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap();
    let small = ["--set", "volume=4MiB"];
    // Options of the user's own that make the server's programs write into files.
    let (home, backup, notes) = (scene.path("home"), scene.path("backup.sql"), scene.path("notes"));
    fs::create_dir(&home).unwrap();
    fs::write(&backup, "all that I have\n").unwrap();
    let (result, tee) = (format!("result-file={}\n", backup.display()), format!("tee={}\n", notes.display()));
    let options = format!("[mysqldump]\n{result}[mariadb-dump]\n{result}[mysql]\n{tee}[mariadb]\n{tee}");
    fs::write(home.join(".my.cnf"), options).unwrap();
    let said = common::said(&scene.command(&run("import", &target, &small)).env("HOME", &home).output().unwrap());
    let record = &said.json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!(metrics(record), ["import_rate", "log_rate_limit", "write_rate"]);
    assert_eq!(labels(record)[..2], ["dump", "tables"]);
    assert!(!format!("{said:?}").contains(server.password()), "{said:?}");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "all that I have\n");
    assert!(!notes.exists());
    let record = &scene.say(&run("copy", &target, &small)).json()[0];
    assert!(record["error"].is_null(), "{record}");
    assert_eq!((metrics(record), &record["parameters"]["copy_method"]), (vec!["copy_rate"], &"insert-select".into()));
    assert_eq!(databases().trim(), "");
    // The note about it went with it: an empty database of its name is somebody else's.
    let name = format!("plimsoll_copy_{}a", record["run_id"].as_str().unwrap());
    server.sql(&format!("CREATE DATABASE {name}")).unwrap();
    let said = scene.say(&["clean", &target]);
    assert!(said.out.contains(&format!("left alone {name}")), "{said:#?}");
    server.sql(&format!("DROP DATABASE {name}")).unwrap();

    let target = server.socket_url("mysql");
    let tables = "SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'plimsoll_copy_%b' AND TABLE_NAME <> 'plimsoll_mark'";
    let mut child = started(&scene, &target, || server.sql(tables).unwrap().trim() != "0");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases().trim().is_empty()
    });
}

/// A run that has begun to fill its second database.
fn started(scene: &Scene, target: &str, has_begun: impl Fn() -> bool) -> Child {
    let mut child = scene.spawn(&run("import", target, &["--set", "volume=200MiB", "--repetitions", "26"]));
    wait_until(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        has_begun()
    });
    child
}

#[test]
fn a_killed_import_leaves_nothing_after_cleaning() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    // Somebody else's, by the mark that is not there.
    server.psql("CREATE DATABASE plimsoll_copy_theirsb").unwrap();
    // Removals that were cut short: of one of ours, by its mark, and of somebody else's.
    let mark = plimsoll_engine::Mark::new("plimsoll_copy_cutb");
    for sql in [
        "CREATE DATABASE plimsoll_copy_cutb".to_owned(),
        format!("COMMENT ON DATABASE plimsoll_copy_cutb IS '{mark}'"),
        "CREATE DATABASE plimsoll_copy_goneb".to_owned(),
        "UPDATE pg_database SET datconnlimit = -2 WHERE datname IN ('plimsoll_copy_cutb', 'plimsoll_copy_goneb')"
            .to_owned(),
    ] {
        server.psql(&sql).unwrap();
    }
    // The run itself removes leftovers first.
    let begun = || databases(&server).split(' ').filter(|name| name.len() > 40 && name.ends_with('b')).count() == 1;
    let mut child = started(&scene, &target, begun);
    child.kill().unwrap();
    child.wait().unwrap();
    // The server may notice a moment later that the lease's session has ended.
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases(&server) == "plimsoll_copy_goneb plimsoll_copy_theirsb"
    });
    assert_eq!(server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap().trim(), "0");

    let target = scene.sqlite();
    let mut child = started(&scene, &target, || scene.leftovers().iter().any(|name| name.ends_with("b.db")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

#[test]
fn a_server_that_goes_or_an_interrupt_ends_an_import() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    let begun = || databases(&server).split(' ').any(|name| name.ends_with('b'));
    let child = started(&scene, &target, begun);
    // Whoever cleans up from another database sees that the run goes on.
    server.psql("CREATE DATABASE next_door").unwrap();
    let before = databases(&server);
    let cleaned = scene.say(&["clean", &server.socket_url("next_door")]);
    assert!(cleaned.code == 0 && cleaned.err.contains("is in use"), "{cleaned:?}");
    assert!(before.split(' ').filter(|name| name.ends_with('a')).all(|name| databases(&server).contains(name)));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    assert_eq!(databases(&server), "");

    let child = started(&scene, &target, begun);
    server.stop_immediate().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 7, "{said:#?}");
    let left = said.json()[0]["left_behind"]["message"].to_string();
    assert!(left.contains("databases whose names begin with plimsoll_copy_"), "{left}");
    server.restart().unwrap();
    wait_until(|| {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        databases(&server).is_empty()
    });
}

/// What was made for a repetition goes also if that can't begin, as nothing can be kept of it.
#[test]
fn copies_go_where_the_store_has_gone() {
    let (server, scene) = (server(), Scene::new());
    let target = server.socket_url("postgres");
    let words = run("copy", &target, &["--set", "sizes=4MiB,8MiB"]);
    let child = scene.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| databases(&server).matches("plimsoll_copy_").count() == 2);
    fs::rename(scene.store(), scene.path("elsewhere.db")).unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    assert!(said.code == 7 && said.err.contains("was moved"), "{said:#?}");
    assert_eq!(databases(&server), "");
}
