//! Azure's edges as Microsoft documents them, played by the server that speaks TDS: what is refused for a while at the log-in and in
//! the middle of work, and a serverless database that wakes. Pauses go through a clock that never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{
    Check, Credentials, Database, Error, ErrorKind, RequestAccess, Requester, Result, Sessions, Statement, Target,
    Workspace,
};
use plimsoll_testbed::tds::{Outcome as Said, Refusal, Reply, TdsServer, answers};

use super::{clock, control};
use crate::connect::{ByDriver, Connector};
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

pub(super) fn refusal(number: u32) -> Refusal {
    let known = PASSING.iter().find(|(known, ..)| *known == number);
    let (class, text) = known.map_or((16, "text"), |(_, class, text, ..)| (*class, *text));
    Refusal { class, ..Refusal::new(number, text) }
}

pub(super) fn away(is_away: bool) -> std::result::Result<(), Refusal> {
    if is_away { Err(refusal(40613)) } else { Ok(()) }
}

fn connector(server: &TdsServer, clock: &Arc<dyn Clock>, check: Check) -> Connector {
    let url = format!("mssql://ann:pl4nted@127.0.0.1:{}/sales?encrypt=false", server.port());
    let location = Location::parse(&Target::parse(&url).unwrap()).unwrap();
    let credentials = Credentials { check, ..Credentials::default() };
    Connector::new(location, &credentials, &|_| None, Box::new(ByDriver), clock).unwrap()
}

pub(super) fn patient(server: &TdsServer, clock: &Arc<dyn Clock>) -> Connector {
    connector(server, clock, Check::default())
}

/// Lets in whom the script lets in, and answers as a server does.
pub(super) fn admitting(admit: impl Fn(usize) -> Option<u32> + Send + Sync + 'static) -> TdsServer {
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

/// Who was let into one database may have no business in another: that is no failover.
#[test]
fn a_database_that_never_let_us_in_is_not_waited_for() {
    let (counted, clock) = clock();
    let server = TdsServer::builder()
        .admission(|login| if login.database == "sales" { Ok(()) } else { Err(refusal(4060)) })
        .start(|request, _| answers::usual(request))
        .unwrap();
    let connector = patient(&server, &clock);
    let database = MssqlDatabase::open(connector.clone()).unwrap();
    let error = connector.to("master").connect("plimsoll").err().unwrap();
    assert_eq!((error.kind, error.retry_after), (ErrorKind::Missing, None), "{error:?}");
    assert!(error.hint.unwrap().contains("[master]"));
    assert!(database.warnings().is_empty() && counted.waited() == Duration::ZERO);
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

pub(super) fn ask(requester: &mut dyn Requester, sql: &str) -> Result<u64> {
    let statement = Statement { number: 0, sql: sql.to_owned(), columns: Some(Vec::new()) };
    requester.ask(&statement, &[]).map(|answer| answer.rows)
}

pub(super) fn run() -> Workspace {
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
