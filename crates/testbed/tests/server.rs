//! A test server from its start to its end; needs PostgreSQL's programs.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_testbed::{Postgres, TestbedError};

fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn ask(url: &str, sql: &str) -> Option<String> {
    let output =
        Command::new("psql").args(["-X", "-w", "-A", "-t", "-d", url, "-c", sql]).output().expect("psql starts");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn a_server_answers_and_is_gone_after_drop() {
    let server = Postgres::builder().shared_buffers_mb(16).setting("work_mem", "3MB").start().unwrap();
    assert_eq!(server.psql("select 1").unwrap(), "1");
    assert_eq!(server.psql("show shared_buffers").unwrap(), "16MB");
    assert_eq!(server.psql("show work_mem").unwrap(), "3MB");
    assert_eq!(server.psql("show fsync").unwrap(), "off");
    let (port, directory) = (server.port(), server.directory().to_owned());
    assert!(answers(port) && directory.exists() && server.pid().is_some());
    drop(server);
    assert!(!answers(port));
    assert!(!directory.exists());
}

#[test]
fn the_password_matters_over_tcp_only() {
    let server = Postgres::builder().durable(true).start().unwrap();
    assert_eq!(server.psql("show fsync").unwrap(), "on");
    let url = |password: &str| server.tcp_url(server.superuser(), password, "postgres");
    assert_eq!(ask(&url(server.password()), "select 2").as_deref(), Some("2"));
    assert_eq!(ask(&url("wrong"), "select 2"), None);
    assert_eq!(ask(&server.socket_url("postgres"), "select current_user").as_deref(), Some("plimsoll"));
}

#[test]
fn a_server_comes_back_after_a_restart_a_crash_and_the_command_for_users() {
    let server = Postgres::builder().start().unwrap();
    server.psql("create table kept(n int)").unwrap();
    server.psql("insert into kept values (7)").unwrap();
    let first = server.pid().unwrap();
    server.restart().unwrap();
    let second = server.pid().unwrap();
    assert_ne!(first, second);

    server.stop_immediate().unwrap();
    assert_eq!(server.pid(), None);
    assert!(matches!(server.psql("select 1"), Err(TestbedError::Command { .. })));
    server.restart().unwrap();
    let third = server.pid().unwrap();

    assert!(Command::new("sh").arg("-c").arg(server.restart_command()).status().unwrap().success());
    assert_ne!(server.pid(), Some(third));
    assert_eq!(server.psql("select n from kept").unwrap(), "7");
}

#[test]
fn a_setting_the_server_refuses_is_quoted_and_nothing_stays() {
    let parent = tempfile::Builder::new().permissions(open_to_all()).tempdir().unwrap();
    let error = Postgres::builder().setting("work_mem", "plenty").data_dir_in(parent.path()).start().unwrap_err();
    assert!(error.to_string().contains("work_mem"), "{error}");
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_killed_owner_leaves_nothing_behind() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_plimsoll-testbed"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut printed = BufReader::new(owner.stdout.take().unwrap());
    printed.read_line(&mut url).unwrap();
    assert_eq!(ask(url.trim(), "select 3").as_deref(), Some("3"));
    let (_, directory) = url.split_once("?host=").unwrap();
    let directory = Path::new(directory.split_once('&').unwrap().0);
    assert!(directory.exists());

    owner.kill().unwrap();
    // The guard holds the other end of this pipe until it has done its work.
    owner.stderr.take().unwrap().read_to_string(&mut String::new()).unwrap();
    owner.wait().unwrap();
    assert_eq!(ask(url.trim(), "select 3"), None);
    assert!(!directory.exists());
}

/// The server may run as another user, who has to get through and write here.
fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o777)
}
