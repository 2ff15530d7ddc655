//! A server that is not the one that was measured any more: at its address there is another one, or it was started again.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use plimsoll_clock::RealClock;
use plimsoll_engine::{
    ClaimMode, Credentials, Database, Engine as _, ErrorKind, RequestAccess, Requester, Statement, Target, Workspace,
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

/// Passes on what both sides say, and not that the server's side has ended: so is a host that lost its power. It greets with the number of
/// `session` where that is one, as what shares sessions between clients may do.
fn between(port: u16, session: &Arc<AtomicU32>) -> u16 {
    let session = Arc::clone(session);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut from_client, &mut to_server));
            let (mut from_server, mut to_client) = (server, client);
            let session = session.load(Ordering::SeqCst);
            thread::spawn(move || {
                let mut greeting = [0; 1024];
                let read = from_server.read(&mut greeting).unwrap();
                // Behind the header and the protocol's version comes the server's version, which ends with a zero.
                let number = 5 + greeting[5..read].iter().position(|byte| *byte == 0).unwrap() + 1;
                if session > 0 {
                    greeting[number..number + 4].copy_from_slice(&session.to_le_bytes());
                }
                to_client.write_all(&greeting[..read]).unwrap();
                let _ = io::copy(&mut from_server, &mut to_client);
                thread::park();
            });
        }
    });
    own
}

/// Holds a lock for which others wait, until it is dropped.
fn holder(url: &str, workspace: &Workspace) -> Box<dyn Requester> {
    let mut holder = open(url).requester(workspace, workspace, RequestAccess::OWN).unwrap();
    let take = Statement { number: 0, sql: "SELECT GET_LOCK('held', 0)".to_owned(), columns: None };
    holder.ask(&take, &[]).unwrap();
    holder
}

/// What a stranger waits for, and its answer: its number, and 1 unless it was interrupted.
const WAITS: &str = "SELECT CONNECTION_ID(), GET_LOCK('held', 600)";

/// A server that was started again gives the numbers of our sessions to others.
#[test]
fn no_statement_of_another_start_of_the_server_is_cancelled() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    // How many numbers a start takes for itself is up to the machine.
    assert!([60, 150, 400].into_iter().any(|least| is_left_alone(&server, least)), "the numbers were taken each time");
}

/// Whether a stranger who got the number of a session of ours, of `least` or more, works on; false if somebody else has got it.
fn is_left_alone(server: &MariaDb, least: u32) -> bool {
    let number = |sql: &str| -> u32 { server.sql(sql).unwrap().trim().parse().unwrap() };
    let next = || number("SELECT CONNECTION_ID()");
    while next() < least {}
    let url = server.tcp_url(server.superuser(), server.password(), "test");
    let port: u16 = url.rsplit_once(':').unwrap().1.split('/').next().unwrap().parse().unwrap();
    let database = open(&url.replace(&format!(":{port}/"), &format!(":{}/", between(port, &Arc::default()))));
    let workspace = Workspace::run(&format!("restarted{least}")).unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
    let canceller = requester.canceller();
    let sleep = Statement { number: 0, sql: "SELECT SLEEP(600)".to_owned(), columns: None };
    thread::spawn(move || requester.ask(&sleep, &[]));
    let ours = "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'";
    let id = std::iter::repeat_with(|| number(ours)).find(|id| *id > 0).unwrap();
    // Nobody else takes numbers.
    drop(lease);
    server.restart().unwrap();
    let held = holder(&url, &workspace);
    while next() < id - 3 {}
    let waiting =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT CONNECTION_ID(), GET_LOCK%'";
    thread::scope(|scope| {
        let strangers: Vec<_> = (0..6).map(|_| scope.spawn(|| server.sql(WAITS).unwrap_or_default())).collect();
        while number(waiting) < 6 {}
        canceller.cancel();
        drop(held);
        let said: Vec<String> = strangers.into_iter().map(|stranger| stranger.join().unwrap()).collect();
        let said: Vec<Vec<&str>> = said.iter().map(|said| said.split_whitespace().collect()).collect();
        assert!(said.iter().all(|said| said.get(1) == Some(&"1")), "one was interrupted: {said:?}");
        said.iter().any(|said| said[0] == id.to_string())
    })
}

/// A number that is not our session's is nothing to cancel by.
#[test]
fn no_statement_of_the_session_that_a_greeting_names_is_cancelled() {
    let server = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    let url = server.tcp_url(server.superuser(), server.password(), "test");
    let port: u16 = url.rsplit_once(':').unwrap().1.split('/').next().unwrap().parse().unwrap();
    let strangers = Arc::new(AtomicU32::new(0));
    let database = open(&url.replace(&format!(":{port}/"), &format!(":{}/", between(port, &strangers))));
    let workspace = Workspace::run("shared").unwrap();
    let _lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let number = |sql: &str| -> u32 { server.sql(sql).unwrap().trim().parse().unwrap() };
    let id = |text: &str| {
        let sql = format!("SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE INFO = '{text}'");
        std::iter::repeat_with(|| number(&sql)).find(|id| *id > 0).unwrap()
    };
    let held = holder(&url, &workspace);
    thread::scope(|scope| {
        let stranger = scope.spawn(|| server.sql(WAITS).unwrap_or_default());
        strangers.store(id(&WAITS.replace('\'', "''")), Ordering::SeqCst);
        let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
        strangers.store(0, Ordering::SeqCst);
        let canceller = requester.canceller();
        let sleep = Statement { number: 0, sql: "SELECT SLEEP(600)".to_owned(), columns: None };
        let sleeper = scope.spawn(move || drop(requester.ask(&sleep, &[])));
        id("SELECT SLEEP(600)");
        canceller.cancel();
        drop(held);
        let said = stranger.join().unwrap();
        canceller.sever();
        sleeper.join().unwrap();
        assert!(said.trim().ends_with("\t1"), "it was interrupted: {said}");
    });
}
