//! What is made where it is replicated: subscribers go on, and a replica's copy of it is nobody's to remove.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use rustix::process::{Pid, Signal, kill_process};

fn run(scene: &Scene, target: &str, more: &[&str]) -> Said {
    let words = ["run", "read-scan", "--repetitions", "1", "--set", "volume=1MiB", "--no-samples", "--quiet", "--json"];
    scene.say(&[&words[..], &["--target", target], more].concat())
}

#[test]
fn where_every_table_is_published_none_is_made() {
    let scene = Scene::new();
    let server = Postgres::builder().setting("wal_level", "logical").start().unwrap();
    server.psql("CREATE PUBLICATION \"All of it\" FOR ALL TABLES").unwrap();
    let target = server.socket_url("postgres");
    run(&scene, &target, &[]).failed(6, &["publication \"All of it\"", "another database"]);
    assert_eq!(server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap().trim(), "0");
    server.psql("CREATE DATABASE other").unwrap();
    assert_eq!(run(&scene, &server.socket_url("other"), &[]).code, 0);
    // One of named tables has nothing of ours.
    server.psql("DROP PUBLICATION \"All of it\"; CREATE TABLE public.mine (a int); CREATE PUBLICATION one FOR TABLE public.mine").unwrap();
    assert_eq!(run(&scene, &target, &[]).code, 0);
}

/// A server and one that gets its changes.
fn replicated() -> [MariaDb; 2] {
    let [first, second] = ["1", "2"]
        .map(|number| MariaDb::builder().setting("server_id", number).setting("log_bin", "bin").start().unwrap());
    first
        .sql("CREATE USER replica@'%' IDENTIFIED BY 'replica'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'")
        .unwrap();
    let url = first.tcp_url("replica", "replica", "");
    let port = url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let status = first.sql("SHOW MASTER STATUS").unwrap();
    let [file, position] = [0, 1].map(|column| status.split('\t').nth(column).unwrap().trim().to_owned());
    second
        .sql(&format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'replica', MASTER_PASSWORD = 'replica', \
             MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {position}; START SLAVE"
        ))
        .unwrap();
    [first, second]
}

#[test]
fn what_came_by_replication_is_removed_where_it_was_made() {
    let scene = Scene::new();
    let [first, second] = replicated();
    let [here, there] = [&first, &second].map(|server| server.socket_url("test"));
    let ours = |server: &MariaDb| server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap();
    let arrived = |row: u32| {
        first
            .sql(&format!("CREATE TABLE IF NOT EXISTS mine (a int PRIMARY KEY); INSERT INTO mine VALUES ({row})"))
            .unwrap();
        wait_until(|| {
            second.sql(&format!("SELECT a FROM test.mine WHERE a = {row}")).is_ok_and(|found| !found.is_empty())
        });
    };
    // A data set that was kept, and a run that was killed.
    assert_eq!(run(&scene, &here, &["--keep-data"]).code, 0);
    arrived(0);
    let words =
        ["run", "mix-b", "--target", &here, "--set", "volume=1MiB", "--set", "duration=10m", "--set", "sessions=2"];
    let mut child = scene.spawn(&words);
    wait_until(|| {
        second.sql("SELECT 1 FROM information_schema.TABLES WHERE TABLE_NAME = 'plimsoll_mark' AND TABLE_SCHEMA LIKE '%run%'").unwrap() != ""
    });
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    arrived(1);
    let made = ours(&first);
    assert_eq!(made.lines().count(), 2, "{made}");
    assert_eq!(ours(&second), made);
    // Neither a clean nor a run at the replica removes it, whatever the store.
    for store in ["runs.db", "another.db"] {
        let said = scene.say(&["clean", "--data", &there, "--store", scene.path(store).to_str().unwrap()]);
        assert_eq!(said.code, 0, "{said:#?}");
        assert_eq!(said.out.matches("left alone").count(), 2, "{said:#?}");
        assert!(said.out.contains("server_id 1") && said.out.contains("this one has 2"), "{said:#?}");
        assert_eq!(run(&scene, &there, &[]).code, 0);
    }
    arrived(2);
    assert_eq!(ours(&second), made);
    assert_eq!(scene.say(&["clean", "--data", &here]).code, 0);
    arrived(3);
    assert_eq!([ours(&first), ours(&second)], ["", ""]);
}
