//! Failovers and redirects as Microsoft documents them, played by the server that speaks TDS.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use plimsoll_engine::{ClaimMode, Database, ErrorKind, Lease, RequestAccess, Sessions, Workspaces};
use plimsoll_testbed::tds::{Datum, LoginRequest, Outcome as Said, Reply, Request, TdsServer, answers};

use super::azure::{admitting, ask, away, patient, run};
use super::clock;
use super::scripted::Counted;
use crate::control::Control;
use crate::database::MssqlDatabase;

/// A gateway before servers that may be away or change.
struct Played {
    gateway: TdsServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The server that connections are sent on to, if they are.
    node: Option<u16>,
    /// Connections of generations before this one are cut at their next request.
    generation: usize,
    /// From then on log-ins are granted.
    away_until: Duration,
}

impl Played {
    fn start(counted: &Arc<Counted>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (admits, routes) = (Arc::clone(&state), Arc::clone(&state));
        let counted = Arc::clone(counted);
        let gateway = TdsServer::builder()
            .admission(move |_| away(counted.waited() < admits.lock().unwrap().away_until))
            .routes(move |_| routes.lock().unwrap().node.map(|port| ("127.0.0.1".to_owned(), port)))
            .start(serve(&state))
            .unwrap();
        Self { gateway, state }
    }

    fn node(&self) -> TdsServer {
        TdsServer::builder().start(serve(&self.state)).unwrap()
    }

    /// All connections end, and nobody is let in before so long has been waited for.
    fn fails_over(&self, until: Duration, node: Option<u16>) {
        let mut state = self.state.lock().unwrap();
        state.generation += 1;
        (state.away_until, state.node) = (until, node);
    }
}

/// Answers a connection as long as it is of the present generation, which is part of its name in these tests.
fn serve(state: &Arc<Mutex<State>>) -> impl Fn(&Request, &LoginRequest) -> Reply + Send + Sync + use<> {
    let state = Arc::clone(state);
    let seen: Mutex<Vec<(String, usize)>> = Mutex::default();
    move |request, login| {
        let generation = state.lock().unwrap().generation;
        let mut seen = seen.lock().unwrap();
        // The first statement of a session says when it began.
        let begins = request.sql().contains("SET LOCK_TIMEOUT");
        seen.retain(|(name, _)| !(begins && *name == login.application));
        if begins || !seen.iter().any(|(name, _)| *name == login.application) {
            seen.push((login.application.clone(), generation));
        }
        let began = seen.iter().find(|(name, _)| *name == login.application).map(|(_, began)| *began);
        if began < Some(generation) {
            return Reply(vec![Said::CutAfter(0), Said::Done]);
        }
        if request.sql().contains("sys.extended_properties") {
            return answers::one(vec![Datum::from(super::mark())]);
        }
        answers::usual(request)
    }
}

/// Sessions and the lease are cut, and the server lets nobody in for some seconds: whoever comes back hears how long to wait.
#[test]
fn a_failover_is_waited_for_and_told() {
    let (counted, clock) = clock();
    let played = Played::start(&counted);
    let database = MssqlDatabase::open(patient(&played.gateway, &clock)).unwrap();
    let mut lease = claimed(&database);
    let open = || database.replacement(&run(), &run(), RequestAccess::OWN);
    let mut requester = open().unwrap();
    ask(requester.as_mut(), "SELECT 1").unwrap();
    played.fails_over(Duration::from_secs(12), None);
    let error = ask(requester.as_mut(), "SELECT 1").unwrap_err();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::Lost, None));
    // Nobody waits here: the caller does.
    let error = open().err().unwrap();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::Lost, Some(Duration::from_secs(5))), "{error:?}");
    let error = lease.renew().unwrap_err();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::Lost, Some(Duration::from_secs(5))), "{error:?}");
    assert!(counted.waited() < Duration::from_secs(1));
    clock.sleep(Duration::from_secs(12));
    lease.renew().unwrap();
    let mut requester = open().unwrap();
    ask(requester.as_mut(), "SELECT 1").unwrap();
    let told = database.warnings();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("unavailable: ") && told[0].contains("2 log-ins refused, by error 40613: 2"),
        "{told:?}"
    );
    assert!(told[1].starts_with("cut: the server ended 2 connections without a word"), "{told:?}");
    // A database that stays away is lost, as it was there before.
    played.fails_over(Duration::from_hours(1), None);
    let error = Control::connect(&patient(&played.gateway, &clock), "plimsoll").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Connect);
    let before = counted.waited();
    for _ in 0..2 {
        let error = database.session(&run(), &run()).err().unwrap();
        assert!(error.kind == ErrorKind::Lost && error.kind.exit_code() == 7 && error.hint.is_some(), "{error:?}");
    }
    // What comes next, such as to clean up, does not wait once more.
    assert_eq!(counted.waited().saturating_sub(before), Duration::from_secs(75));
}

fn claimed(database: &MssqlDatabase) -> Box<dyn Lease> {
    database.claim(&run(), ClaimMode::Exclusive).unwrap().unwrap()
}

#[test]
fn a_redirect_is_followed_and_told_when_it_changes() {
    let (counted, clock) = clock();
    let played = Played::start(&counted);
    let nodes = [played.node(), played.node()];
    played.state.lock().unwrap().node = Some(nodes[0].port());
    let database = MssqlDatabase::open(patient(&played.gateway, &clock)).unwrap();
    assert_eq!(database.description().settings["connection_policy"], "redirect");
    assert!(played.gateway.requests().is_empty() && !nodes[0].requests().is_empty());
    let open = || database.replacement(&run(), &run(), RequestAccess::OWN);
    let mut requester = open().unwrap();
    ask(requester.as_mut(), "SELECT 1").unwrap();
    assert!(database.warnings().is_empty());
    // The database moves to another node.
    played.fails_over(Duration::ZERO, Some(nodes[1].port()));
    assert_eq!(ask(requester.as_mut(), "SELECT 1").unwrap_err().kind, ErrorKind::Lost);
    for _ in 0..2 {
        ask(open().unwrap().as_mut(), "SELECT 1").unwrap();
    }
    assert!(!nodes[1].requests().is_empty());
    let told = database.warnings();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("cut: the server ended 1 connection "), "{told:?}");
    assert!(told[1].starts_with("redirected: the gateway sent 1 connection on to another server"), "{told:?}");
    // A server that no gateway stands before says nothing of it.
    let (_, clock) = super::clock();
    let database = MssqlDatabase::open(patient(&nodes[0], &clock)).unwrap();
    assert!(!database.description().settings.contains_key("connection_policy"));
}

/// Gateways may stand one behind the other, but not in a circle; and where the last server does not answer, it is the one to be named.
#[test]
fn a_redirect_that_leads_nowhere_is_named() {
    let (_, clock) = clock();
    let open = |server: &TdsServer| MssqlDatabase::open(patient(server, &clock)).map(|_| ());
    let mut last = TdsServer::builder().start(|request, _| answers::usual(request)).unwrap();
    for _ in 0..3 {
        let next = last.port();
        last = TdsServer::builder().sends_on_to("127.0.0.1", next).start(|_, _| Reply::default()).unwrap();
    }
    open(&last).unwrap();

    let own = Arc::new(OnceLock::new());
    let port = Arc::clone(&own);
    let circle = TdsServer::builder()
        .routes(move |_| port.get().map(|port| ("127.0.0.1".to_owned(), *port)))
        .start(|_, _| Reply::default())
        .unwrap();
    own.set(circle.port()).unwrap();
    let error = open(&circle).unwrap_err();
    assert!(error.kind == ErrorKind::Connect && error.message.contains("without end"), "{error:?}");
    assert!(error.hint.unwrap().contains("gateways"));
    assert!(circle.logins().len() <= 12, "{}", circle.logins().len());

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let gateway = TdsServer::builder().sends_on_to("127.0.0.1", port).start(|_, _| Reply::default()).unwrap();
    let error = open(&gateway).unwrap_err();
    let words = format!("sends connections on to 127.0.0.1:{port}: cannot connect to 127.0.0.1:{port}");
    assert!(error.kind == ErrorKind::Connect && error.message.contains(&words), "{error:?}");
    assert!(error.hint.unwrap().contains("11000 to 11999"));

    // What the server behind the gateway refuses for a while is tried again through the gateway.
    let tries = AtomicUsize::new(0);
    let node = admitting(move |_| (tries.fetch_add(1, Ordering::SeqCst) == 0).then_some(40613));
    let gateway = TdsServer::builder().sends_on_to("127.0.0.1", node.port()).start(|_, _| Reply::default()).unwrap();
    open(&gateway).unwrap();
    assert_eq!((gateway.logins().len(), node.logins().len()), (2, 2));
}
