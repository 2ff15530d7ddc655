//! A server that is not the one that was measured any more: at its address there is another one, or it was started again.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::{io, thread};

use plimsoll_clock::RealClock;
use plimsoll_engine::{
    ClaimMode, Credentials, Database, Engine as _, ErrorKind, RequestAccess, Statement, Target, Workspace,
};
use plimsoll_mysql::MySql;
use plimsoll_testbed::MariaDb;

fn open(url: &str) -> Box<dyn Database> {
    MySql.open(&Target::parse(url).unwrap(), &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// An address that leads to another server in mid-run, as after a fail-over: nothing is done there, and no session of its is ended.
#[test]
fn another_server_is_not_taken_for_the_one_that_was_measured() {
    let [first, second] = [(); 2].map(|()| MariaDb::builder().buffer_pool_mb(16).start().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("mysql.sock");
    std::os::unix::fs::symlink(first.socket(), &link).unwrap();
    let url = first.socket_url("test").replace(&first.socket().display().to_string(), &link.display().to_string());
    assert!(url.contains("mysql.sock"), "{url}");
    let database = open(&url);
    let workspace = Workspace::run("moved").unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    // The other one has a database of the same name, which is nobody's of ours.
    second.sql(&format!("CREATE DATABASE {}", workspace.name())).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(second.socket(), &link).unwrap();
    let errors = [
        database.session(&workspace, &workspace).err().unwrap(),
        database.remove(&workspace).unwrap_err(),
        database.workspaces().unwrap_err(),
    ];
    for error in errors {
        let is_so = error.kind == ErrorKind::Connect && error.message.contains("another server answers");
        assert!(is_so && error.hint.is_some(), "{error:?}");
    }
    assert!(second.sql("SHOW DATABASES").unwrap().contains(workspace.name()));
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(first.socket(), &link).unwrap();
    drop(lease);
    assert!(database.remove(&workspace).unwrap());
}

/// Passes on what both sides say, and not that the server's side has ended: so is a host that lost its power.
fn silent_ends(port: u16) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut from_client, &mut to_server));
            let (mut from_server, mut to_client) = (server, client);
            thread::spawn(move || {
                let _ = io::copy(&mut from_server, &mut to_client);
                thread::park();
            });
        }
    });
    own
}

/// A server that was started again gives the numbers of our sessions to others.
#[test]
fn no_statement_of_another_start_of_the_server_is_cancelled() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let number = |sql: &str| -> u32 { server.sql(sql).unwrap().trim().parse().unwrap() };
    // Numbers that a server has again soon after its start.
    while number("SELECT CONNECTION_ID()") < 60 {}
    let url = server.tcp_url(server.superuser(), server.password(), "test");
    let port: u16 = url.rsplit_once(':').unwrap().1.split('/').next().unwrap().parse().unwrap();
    let url = url.replace(&format!(":{port}/"), &format!(":{}/", silent_ends(port)));
    let database = open(&url);
    let workspace = Workspace::run("restarted").unwrap();
    let _lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
    let canceller = requester.canceller();
    let sleep = Statement { number: 0, sql: "SELECT SLEEP(600)".to_owned(), columns: None };
    thread::spawn(move || requester.ask(&sleep, &[]));
    let ours = "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'";
    let id = std::iter::repeat_with(|| number(ours)).find(|id| *id > 0).unwrap();
    server.restart().unwrap();
    while number("SELECT CONNECTION_ID()") < id - 1 {}
    thread::scope(|scope| {
        let stranger = scope.spawn(|| server.sql("SELECT CONNECTION_ID(), SLEEP(3)").unwrap());
        while number(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT CONNECTION_ID(), SLEEP%'",
        ) == 0
        {}
        canceller.cancel();
        let said = stranger.join().unwrap();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(said, [id.to_string().as_str(), "0"], "it was interrupted, or has another number");
    });
}
