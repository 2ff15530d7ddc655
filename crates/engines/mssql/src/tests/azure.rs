//! Azure's edges as Microsoft documents them, played by the server that speaks TDS: what is refused for a while at the log-in and in
//! the middle of work, failovers, redirects, and a serverless database that wakes. Pauses go through a clock that never waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{
    Check, ClaimMode, Credentials, Database, Error, ErrorKind, Lease, RequestAccess, Requester, Result, Sessions,
    Statement, Target, Workspace, Workspaces,
};
use plimsoll_testbed::tds::{Datum, Outcome as Said, Refusal, Reply, Request, TdsServer, answers};

use super::scripted::Counted;
use super::{clock, control};
use crate::connect::{ByDriver, Connector};
use crate::control::Control;
use crate::database::MssqlDatabase;
use crate::url::Location;

/// What is refused for a while: number, severity and text as documented
/// (azure/azure-sql/database/troubleshoot-common-errors-issues), what the run calls it, and the first pause.
const PASSING: [(u32, u8, &str, &str, u64); 10] = [
    (
        40613,
        17,
        "Database 'sales' on server 's' is not currently available. Please retry the connection later.",
        AWAY,
        5,
    ),
    (
        40197,
        17,
        "The service has encountered an error processing your request. Please try again. Error code 40143.",
        AWAY,
        5,
    ),
    (
        4221,
        16,
        "Login to read-secondary failed due to long wait on 'HADR_DATABASE_WAIT_FOR_TRANSITION_TO_VERSIONING'.",
        AWAY,
        5,
    ),
    (
        40501,
        20,
        "The service is currently busy. Retry the request after 10 seconds. Incident ID: 1. Code: 2.",
        HELD,
        10,
    ),
    (10928, 20, "Resource ID: 1. The request limit for the database is 30 and has been reached.", HELD, 5),
    (10936, 20, "Resource ID: 1. The request limit for the elastic pool is 30 and has been reached.", HELD, 5),
    (
        10929,
        16,
        "Resource ID: 1. However, the server is currently too busy to support requests greater than 9.",
        HELD,
        5,
    ),
    (49918, 16, "Cannot process request. Not enough resources to process request.", HELD, 5),
    (49919, 16, "Cannot process create or update request. Too many create or update operations in progress.", HELD, 5),
    (49920, 16, "Cannot process request. Too many operations in progress for subscription.", HELD, 5),
];
const AWAY: &str = "unavailable: ";
const HELD: &str = "throttled: ";

fn refusal(number: u32) -> Refusal {
    let known = PASSING.iter().find(|(known, ..)| *known == number);
    let (class, text) = known.map_or((16, "text"), |(_, class, text, ..)| (*class, *text));
    Refusal { class, ..Refusal::new(number, text) }
}

fn away(is_away: bool) -> std::result::Result<(), Refusal> {
    if is_away { Err(refusal(40613)) } else { Ok(()) }
}

fn connector(server: &TdsServer, clock: &Arc<dyn Clock>, check: Check) -> Connector {
    let url = format!("mssql://ann:pl4nted@127.0.0.1:{}/sales?encrypt=false", server.port());
    let location = Location::parse(&Target::parse(&url).unwrap()).unwrap();
    let credentials = Credentials { check, ..Credentials::default() };
    Connector::new(location, &credentials, &|_| None, Box::new(ByDriver), clock).unwrap()
}

fn patient(server: &TdsServer, clock: &Arc<dyn Clock>) -> Connector {
    connector(server, clock, Check::default())
}

/// Lets in whom the script lets in, and answers as a server does.
fn admitting(admit: impl Fn(usize) -> Option<u32> + Send + Sync + 'static) -> TdsServer {
    let tries = AtomicUsize::new(0);
    TdsServer::builder()
        .admission(move |_| match admit(tries.fetch_add(1, Ordering::SeqCst)) {
            Some(number) => Err(refusal(number)),
            None => Ok(()),
        })
        .start(|request, _| answers::usual(request))
        .unwrap()
}

#[test]
fn a_log_in_is_tried_again_counted_and_told_apart() {
    for (number, _, _, word, pause) in PASSING {
        let (counted, clock) = clock();
        let server = admitting(move |tries| (tries < 2).then_some(number));
        let database = MssqlDatabase::open(patient(&server, &clock)).unwrap();
        // Each further pause is twice as long.
        assert_eq!(counted.waited(), Duration::from_secs(pause.max(5) + 10), "{number}");
        assert_eq!(server.logins().len(), 3, "{number}");
        let told: Vec<&String> =
            database.description().warnings.iter().filter(|warning| warning.contains("refused")).collect();
        assert!(told.len() == 1 && told[0].starts_with(word), "{number}: {told:?}");
        assert!(told[0].contains("2 log-ins refused") && told[0].contains(&format!("error {number}")), "{told:?}");
        // It is told once.
        assert!(database.warnings().is_empty());
    }
}

#[test]
fn nobody_waits_for_ever_nor_for_what_does_not_pass() {
    for (number, log_ins, waited, kind) in [
        (40613, 5, 75, ErrorKind::Connect),
        (40501, 5, 80, ErrorKind::Busy),
        (10929, 5, 75, ErrorKind::Busy),
        (4060, 1, 0, ErrorKind::Missing),
        (40532, 1, 0, ErrorKind::Authenticate),
        (18456, 1, 0, ErrorKind::Authenticate),
    ] {
        let (counted, clock) = clock();
        let server = admitting(move |_| Some(number));
        let error = MssqlDatabase::open(patient(&server, &clock)).err().unwrap();
        assert_eq!((error.kind, server.logins().len()), (kind, log_ins), "{error:?}");
        assert_eq!(counted.waited(), Duration::from_secs(waited), "{number}");
        assert!(error.message.contains(&format!("error {number}")) && error.hint.is_some(), "{error:?}");
        assert!(!format!("{error:?}").contains("pl4nted"));
    }
}

#[test]
fn an_interrupt_ends_a_pause() {
    let (counted, clock) = clock();
    let server = admitting(|_| Some(40613));
    let watch = Arc::clone(&counted);
    let check = Check::new(move || {
        let is_over = watch.waited() >= Duration::from_secs(7);
        if is_over { Err(Error::new(ErrorKind::Cancelled, "the run was interrupted")) } else { Ok(()) }
    });
    let error = MssqlDatabase::open(connector(&server, &clock, check)).err().unwrap();
    assert_eq!((error.kind, server.logins().len()), (ErrorKind::Cancelled, 2));
    assert_eq!(counted.waited(), Duration::from_secs(7));
}

/// The first log-in wakes the database, which takes a minute; a database of another tier is no sleeper.
#[test]
fn a_serverless_database_wakes() {
    for (objective, words) in [
        (
            "GP_S_Gen5_2",
            "resumed: the serverless database was paused, and let us in after 75 s (4 log-ins, by error 40613: 4)",
        ),
        (
            "GP_Gen5_2",
            "unavailable: the database was away for a while, as in a failover (4 log-ins refused, by error 40613: 4)",
        ),
    ] {
        let (counted, clock) = clock();
        let watch = Arc::clone(&counted);
        let server = TdsServer::builder()
            .admission(move |_| away(watch.waited() < Duration::from_mins(1)))
            .start(move |request, _| answers::azure(request, objective))
            .unwrap();
        let database = MssqlDatabase::open(patient(&server, &clock)).unwrap();
        assert_eq!(counted.waited(), Duration::from_secs(75));
        let warnings = &database.description().warnings;
        assert!(warnings.iter().any(|warning| warning == words), "{warnings:?}");
    }
}

/// How a refusal in the middle of work reaches us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The connection stays.
    Stays,
    /// It is closed when the answer is there.
    Closed,
    /// It is cut right behind the error.
    Cut,
}

fn refused(number: u32, way: Way) -> Reply {
    let error = Said::Error(refusal(number));
    Reply(match way {
        Way::Stays => vec![error],
        Way::Closed => vec![Said::HangUp, error],
        Way::Cut => vec![error, Said::CutAfter(0), Said::Done],
    })
}

fn ask(requester: &mut dyn Requester, sql: &str) -> Result<u64> {
    let statement = Statement { number: 0, sql: sql.to_owned(), columns: Some(Vec::new()) };
    requester.ask(&statement, &[]).map(|answer| answer.rows)
}

fn run() -> Workspace {
    Workspace::run("a1").unwrap()
}

/// Where the database is away, or the connection is gone, another one is made; where the server only holds us to its limits the same
/// one makes the request again. Both hear how long to wait.
#[test]
fn a_request_that_is_refused_says_how_it_goes_on() {
    for (number, class, _, word, pause) in PASSING {
        for way in [Way::Stays, Way::Closed, Way::Cut] {
            let what = format!("{number} {way:?}");
            let (counted, clock) = clock();
            let first = AtomicUsize::new(0);
            let server = TdsServer::builder().start(move |request, _| {
                let is_first = || first.fetch_add(1, Ordering::SeqCst) == 0;
                if request.sql().contains("of ours") && is_first() {
                    return refused(number, way);
                }
                answers::usual(request)
            });
            let server = server.unwrap();
            let database = MssqlDatabase::open(patient(&server, &clock)).unwrap();
            let open = || database.replacement(&run(), &run(), RequestAccess::OWN);
            let mut requester = open().unwrap();
            let error = ask(requester.as_mut(), "SELECT 'a request of ours'").unwrap_err();
            // That a whole answer was the last one shows at the next request.
            let stays = way != Way::Cut && class < 20 && word == HELD;
            assert_eq!(error.kind == ErrorKind::Busy, stays, "{what} {error:?}");
            assert_eq!(error.kind == ErrorKind::Lost, !stays, "{what} {error:?}");
            assert_eq!(error.retry_after, Some(Duration::from_secs(pause)), "{what} {error:?}");
            assert!(error.hint.is_some() && error.kind.exit_code() == 7, "{what} {error:?}");
            let is_closed = stays && way == Way::Closed;
            if is_closed {
                let error = ask(requester.as_mut(), "SELECT 'a request of ours'").unwrap_err();
                assert_eq!((error.kind, error.retry_after), (ErrorKind::Lost, None), "{what} {error:?}");
            }
            if !stays || is_closed {
                requester = open().unwrap();
            }
            ask(requester.as_mut(), "SELECT 'a request of ours'").unwrap();
            // The load engine waits, not the driver.
            assert_eq!(counted.waited(), Duration::ZERO, "{what}");
            let told = database.warnings();
            assert!(told[0].starts_with(word) && told.len() == 1 + usize::from(is_closed), "{what} {told:?}");
            assert!(told[0].contains("1 statement refused"), "{what} {told:?}");
        }
    }
}

/// What only asks or tidies up waits by itself, unless its connection is gone.
#[test]
fn a_statement_that_is_held_up_is_tried_again() {
    let (counted, clock) = clock();
    let tries = AtomicUsize::new(0);
    let server = TdsServer::builder().start(move |request, _| {
        if !request.sql().contains("CREATE SCHEMA") {
            return answers::usual(request);
        }
        match tries.fetch_add(1, Ordering::SeqCst) {
            0 => refused(10929, Way::Stays),
            1 => refused(49920, Way::Stays),
            2 => Reply::count(0),
            _ => refused(40501, Way::Closed),
        }
    });
    let server = server.unwrap();
    let connector = patient(&server, &clock);
    let mut asking = control(&connector);
    asking.run("CREATE SCHEMA [x]").unwrap();
    assert_eq!(counted.waited(), Duration::from_secs(15));
    let error = asking.run("CREATE SCHEMA [x]").unwrap_err();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::Lost, Some(Duration::from_secs(10))));
    assert_eq!(counted.waited(), Duration::from_secs(15));
    assert!(
        connector.errors.seen.told(false)[0].contains("3 statements refused, by error 10929: 1, 40501: 1, 49920: 1")
    );
}

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
fn serve(
    state: &Arc<Mutex<State>>,
) -> impl Fn(&Request, &plimsoll_testbed::tds::LoginRequest) -> Reply + Send + Sync + use<> {
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
            return answers::one(vec![Datum::from(1)]);
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
    let error = database.session(&run(), &run()).err().unwrap();
    assert!(error.kind == ErrorKind::Lost && error.kind.exit_code() == 7 && error.hint.is_some(), "{error:?}");
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
