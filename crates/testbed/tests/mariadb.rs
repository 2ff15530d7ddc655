//! A MariaDB test server from its start to its end; needs MariaDB's programs.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_testbed::{MariaDb, TestbedError};

fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn a_server_answers_comes_back_and_is_gone_after_drop() {
    let server = MariaDb::builder().buffer_pool_mb(16).setting("sort_buffer_size", "3M").start().unwrap();
    assert_eq!(server.sql("SELECT @@innodb_buffer_pool_size >> 20, @@sort_buffer_size >> 20").unwrap(), "16\t3");
    server.sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)").unwrap();
    let first = server.pid().unwrap();
    server.restart().unwrap();
    let second = server.pid().unwrap();
    assert_ne!(first, second);
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(matches!(server.sql("SELECT 1"), Err(TestbedError::Command { .. })));
    server.restart().unwrap();
    let third = server.pid().unwrap();
    assert!(Command::new("sh").arg("-c").arg(server.restart_command()).status().unwrap().success());
    assert_ne!(server.pid(), Some(third));
    assert_eq!(server.sql("SELECT n FROM kept").unwrap(), "7");
    let (port, directory) = (server.port(), server.directory().to_owned());
    assert!(answers(port) && directory.exists());
    drop(server);
    assert!(!answers(port));
    assert!(!directory.exists());
}

#[test]
fn the_password_matters_over_tcp_only() {
    let server = MariaDb::builder().durable(true).start().unwrap();
    assert_eq!(server.sql("SELECT @@innodb_flush_log_at_trx_commit").unwrap(), "1");
    let ask = |password: &str| {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--host=127.0.0.1", "--batch", "--skip-column-names", "--execute=SELECT 2"]);
        client.arg(format!("--port={}", server.port())).arg(format!("--user={}", server.superuser()));
        let output = client.arg(format!("--password={password}")).output().expect("the client starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    assert_eq!(ask(server.password()).as_deref(), Some("2"));
    assert_eq!(ask("wrong"), None);
}

#[test]
fn a_setting_the_server_refuses_is_quoted_and_nothing_stays() {
    let parent = tempfile::Builder::new().permissions(open_to_all()).tempdir().unwrap();
    let error = MariaDb::builder().setting("no_such_setting", "1").data_dir_in(parent.path()).start().unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_killed_owner_leaves_nothing_behind() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_plimsoll-testbed"))
        .arg("mariadb")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut printed = BufReader::new(owner.stdout.take().unwrap());
    printed.read_line(&mut url).unwrap();
    let (_, socket) = url.trim().split_once("?socket=").unwrap();
    let directory = Path::new(socket).parent().unwrap();
    assert!(directory.join("data").exists());
    owner.kill().unwrap();
    // The guard holds the other end of this pipe until it has done its work.
    owner.stderr.take().unwrap().read_to_string(&mut String::new()).unwrap();
    owner.wait().unwrap();
    assert!(!directory.exists());
}

/// The server may run as another user, who has to get through and write here.
fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o777)
}
