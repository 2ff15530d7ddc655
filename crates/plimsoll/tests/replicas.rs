//! What is made where it is replicated: subscribers go on, and a replica's copy of it is nobody's to remove.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Said, Scene, said, wait_until};
use plimsoll_clock::RealClock;
use plimsoll_engine::{ClaimMode, Credentials, Engine as _, Target, Workspace};
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
    server.psql("DROP PUBLICATION \"All of it\"").unwrap();
    // The same in the middle of a run that makes its tables anew.
    let words =
        ["run", "write-chunk", "--target", &target, "--set", "volume=1MiB", "--repetitions", "26", "--no-samples"];
    let child = scene.spawn(&words);
    wait_until(|| server.psql("SELECT 1 FROM pg_class WHERE relname = 'chunks'").unwrap() != "");
    server.psql("CREATE PUBLICATION \"All of it\" FOR ALL TABLES").unwrap();
    said(&child.wait_with_output().unwrap()).failed(7, &["publication \"All of it\""]);
    server.psql("CREATE DATABASE other").unwrap();
    assert_eq!(run(&scene, &server.socket_url("other"), &[]).code, 0);
    // One of named tables has nothing of ours.
    server.psql("DROP PUBLICATION \"All of it\"; CREATE TABLE public.mine (a int); CREATE PUBLICATION one FOR TABLE public.mine").unwrap();
    assert_eq!(run(&scene, &target, &[]).code, 0);
}

#[test]
fn where_commits_wait_for_a_standby_that_is_not_there_nothing_is_begun() {
    let scene = Scene::new();
    let server = Postgres::builder().start().unwrap();
    server.psql("ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    wait_until(|| server.psql("SHOW synchronous_standby_names").unwrap().trim() == "*");
    let target = server.socket_url("postgres");
    run(&scene, &target, &[]).failed(6, &["synchronous_standby_names = '*'", "none is connected", "local"]);
    let stay = "SET synchronous_commit = 'local'";
    server.psql(&format!("{stay}; ALTER ROLE CURRENT_USER {stay}")).unwrap();
    assert_eq!(run(&scene, &target, &[]).code, 0);
}

/// A server and one that gets its changes, all or those that it lets through.
fn replicated(filter: &[(&str, &str)]) -> [MariaDb; 2] {
    let builder = |number| MariaDb::builder().setting("server_id", number).setting("log_bin", "bin");
    let first = builder("1").start().unwrap();
    let second =
        filter.iter().fold(builder("2"), |builder, (name, value)| builder.setting(name, value)).start().unwrap();
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

/// Waits until a row that the first one gets is at the second.
fn arrives([first, second]: [&MariaDb; 2], row: u32) {
    first
        .sql(&format!("CREATE TABLE IF NOT EXISTS mine (a int PRIMARY KEY); INSERT INTO mine VALUES ({row})"))
        .unwrap();
    wait_until(|| second.sql(&format!("SELECT a FROM mine WHERE a = {row}")).is_ok_and(|found| !found.is_empty()));
}

#[test]
fn a_replica_of_the_urls_database_alone_goes_on() {
    let scene = Scene::new();
    let [first, second] = replicated(&[("replicate_do_db", "test")]);
    let target = first.socket_url("test");
    assert_eq!(run(&scene, &target, &["--keep-data"]).code, 0);
    let said = scene.say(&["doctor", "--self-test", "--allow-workspace", &target]);
    // All but procedures, which filters of tables would let through.
    assert!(said.out.contains("1 is refused") && said.out.contains("leave out procedures=yes"), "{said:#?}");
    assert_eq!(scene.say(&["clean", "--data", &target]).code, 0);
    let words = ["run", "update", "--target", &target, "--short", "--repetitions", "1", "--set", "procedures=yes"];
    scene.say(&words).failed(6, &["replicas are connected", "leave out procedures=yes"]);
    arrives([&first, &second], 1);
    for server in [&first, &second] {
        assert_eq!(server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap(), "");
    }
}

#[test]
fn what_came_by_replication_is_removed_where_it_was_made() {
    let scene = Scene::new();
    let [first, second] = replicated(&[]);
    let [here, there] = [&first, &second].map(|server| server.socket_url("test"));
    let ours = |server: &MariaDb| server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap();
    // A data set that was kept, and a run that was killed.
    assert_eq!(run(&scene, &here, &["--keep-data"]).code, 0);
    arrives([&first, &second], 0);
    let words =
        ["run", "mix-b", "--target", &here, "--set", "volume=1MiB", "--set", "duration=10m", "--set", "sessions=2"];
    let mut child = scene.spawn(&words);
    wait_until(|| {
        second.sql("SELECT 1 FROM information_schema.TABLES WHERE TABLE_NAME = 'plimsoll_mark' AND TABLE_SCHEMA LIKE '%run%'").unwrap() != ""
    });
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    arrives([&first, &second], 1);
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
    arrives([&first, &second], 2);
    // A server that has become a replica is left as it is, also by who could write there.
    first.sql("SET GLOBAL read_only = ON").unwrap();
    scene.say(&["clean", "--data", &here]).failed(5, &["read-only", "connect to the primary"]);
    run(&scene, &here, &[]).failed(5, &["read-only", "connect to the primary"]);
    first.sql("SET GLOBAL read_only = OFF").unwrap();
    assert_eq!(ours(&second), made);
    assert_eq!(scene.say(&["clean", "--data", &here]).code, 0);
    arrives([&first, &second], 3);
    assert_eq!([ours(&first), ours(&second)], ["", ""]);
}

/// Several hosts of a URL stand for each other, and each may have been the one where runs worked.
#[test]
fn each_host_of_the_url_is_cleaned_and_one_that_is_away_is_named() {
    let scene = Scene::new();
    let servers = [(); 2].map(|()| Postgres::builder().shared_buffers_mb(16).start().unwrap());
    let left = |server: &Postgres| {
        let target = Target::parse(&server.socket_url("postgres")).unwrap();
        let clock = Arc::new(RealClock::new());
        let database = plimsoll_postgres::Postgres.open(&target, &Credentials::default(), clock).unwrap();
        drop(database.claim(&Workspace::run("several").unwrap(), ClaimMode::Exclusive).unwrap());
    };
    let count =
        |server: &Postgres| server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap();
    servers.iter().for_each(left);
    let [hosts, ports] = [
        servers.each_ref().map(|s| s.directory().display().to_string()),
        servers.each_ref().map(|s| s.port().to_string()),
    ];
    let url = format!("postgres://plimsoll@/postgres?host={}&port={}", hosts.join(","), ports.join(","));
    let [first, second] = &servers;
    second.stop_immediate().unwrap();
    scene.say(&["clean", &url]).failed(4, &[&hosts[1], "once it works again"]);
    assert_eq!(count(first).trim(), "0");
    second.restart().unwrap();
    first.stop_immediate().unwrap();
    scene.say(&["clean", &url]).failed(4, &[&hosts[0]]);
    assert_eq!(count(second).trim(), "0");
    first.restart().unwrap();
    servers.iter().for_each(left);
    let said = scene.say(&["clean", &url]);
    assert!(said.code == 0 && said.out.matches("removed").count() == 2, "{said:#?}");
    assert_eq!(servers.each_ref().map(|server| count(server).trim().to_owned()), ["0", "0"]);
    // A server that takes no writes is no standby.
    left(second);
    second.psql("ALTER DATABASE postgres SET default_transaction_read_only = on").unwrap();
    scene.say(&["clean", &url]).failed(5, &["read-only"]);
    // A standby has nothing of its own, and one server behind two names is one.
    second.psql("BEGIN READ WRITE; ALTER DATABASE postgres RESET default_transaction_read_only; COMMIT").unwrap();
    second.stop_immediate().unwrap();
    std::fs::write(second.data_directory().join("standby.signal"), "").unwrap();
    second.restart().unwrap();
    let said = scene.say(&["clean", &url]);
    assert!(said.code == 0 && said.out.contains("this server is a standby"), "{said:#?}");
    let twice = format!("postgres://plimsoll@/postgres?host={0},{0}&port={1},{1}", hosts[0], ports[0]);
    let said = scene.say(&["clean", &twice]);
    assert!(said.code == 0 && said.out.matches("nothing to remove").count() == 1, "{said:#?}");
}
