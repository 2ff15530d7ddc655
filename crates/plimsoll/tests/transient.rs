//! What Azure refuses for a while in the middle of a run, as the program meets it: figures are kept, what was tried again is counted,
//! and the run says what it was. By a server of our own that speaks TDS and plays the documented errors; pauses are as documented,
//! so these tests take some seconds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Said, Scene};
use plimsoll_testbed::tds::{Datum, LoginRequest, Outcome, Refusal, Reply, Request, TdsServer, answers};
use serde_json::Value;

const NOT_AVAILABLE: &str =
    "Database 'sales' on server 's' is not currently available. Please retry the connection later.";
const FAILING: &str =
    "The service has encountered an error processing your request. Please try again. Error code 40143.";
const BUSY: &str = "The service is currently busy. Retry the request after 10 seconds. Incident ID: 1. Code: 2.";
const AT_LIMIT: &str = "Resource ID: 1. The request limit for the database is 30 and has been reached.";

fn refusal(number: u32, class: u8, text: &str) -> Refusal {
    Refusal { class, ..Refusal::new(number, text) }
}

fn run(scene: &Scene, server: &TdsServer, test: &str, seconds: u64) -> (Said, Value) {
    let target = format!("mssql://ann@localhost:{}/sales?encrypt=false", server.port());
    let duration = format!("duration={seconds}s");
    let mut words = vec!["run", test, "--short", "--json", "--repetitions", "1", "--set", "volume=1MiB", "--target"];
    words.push(&target);
    if test == "direct-select" {
        words.extend(["--set", &duration]);
    }
    let said = common::said(&scene.command(&words).env("PLIMSOLL_PASSWORD", "planted").output().unwrap());
    let record = said.json().remove(0);
    (said, record)
}

fn sum(numbers: &Value) -> u64 {
    numbers.as_array().map_or(0, |numbers| numbers.iter().map(|number| number.as_u64().unwrap()).sum())
}

/// The warning that begins so.
fn warning(record: &Value, begin: &str) -> String {
    let warnings = record["warnings"].as_array().unwrap();
    let found = warnings.iter().filter_map(Value::as_str).find(|warning| warning.starts_with(begin));
    found.unwrap_or_else(|| panic!("no warning '{begin}': {warnings:#?}")).to_owned()
}

/// The mark of the schema that a request asks for.
fn mark_of(request: &Request) -> String {
    let Request::Call(call) = request else { panic!("{request:?}") };
    let named = call.parameters.iter().find_map(|(_, value)| match value {
        Datum::Text(name) => Some(name.as_str()),
        _ => None,
    });
    plimsoll_engine::Mark::new(named.unwrap()).to_string()
}

/// Whoever takes the lease again has to find the schema of the run with its mark.
fn asks_for_owner(request: &Request) -> bool {
    request.sql().contains("sys.extended_properties") && request.sql().contains("GROUP BY")
}

#[test]
fn what_is_refused_in_mid_run_is_tried_again_counted_and_told_apart() {
    let scene = Scene::new();
    let (reads, loads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Log-ins that are still to be refused.
    let to_refuse = Arc::new(Mutex::new(0));
    let admits = Arc::clone(&to_refuse);
    let server = TdsServer::builder()
        .tables(|_| Some(answers::family()))
        .forgets()
        .admission(move |login: &LoginRequest| {
            let mut left = admits.lock().unwrap();
            if *left == 0 || !login.application.starts_with("plimsoll work") {
                return Ok(());
            }
            *left -= 1;
            Err(refusal(40613, 17, NOT_AVAILABLE))
        })
        .start(move |request, _| {
            if matches!(request, Request::Bulk(_)) && loads.fetch_add(1, Ordering::SeqCst) == 0 {
                return Reply::error(refusal(10929, 16, AT_LIMIT));
            }
            if !answers::is_point_select(request) {
                return answers::working(request);
            }
            match reads.fetch_add(1, Ordering::SeqCst) {
                // Held to its limits, by a connection that stays.
                500 => Reply::error(refusal(10928, 16, AT_LIMIT)),
                // A failover: the connection is cut behind the error, and the next log-in is refused.
                1000 => {
                    *to_refuse.lock().unwrap() = 1;
                    let error = Outcome::Error(refusal(40197, 17, FAILING));
                    Reply(vec![error, Outcome::CutAfter(0), Outcome::Done])
                }
                // Severity 20 ends the connection.
                1500 => Reply(vec![Outcome::HangUp, Outcome::Error(refusal(40501, 20, BUSY))]),
                _ => answers::working(request),
            }
        })
        .unwrap();
    let (said, record) = run(&scene, &server, "direct-select", 25);
    assert_eq!(said.code, 0, "{said:#?}");
    let kind = &record["repetitions"][0]["requests"][0];
    assert_eq!(kind["retries"], 1, "{kind}");
    assert_eq!(kind["errors"], serde_json::json!({ "connection-lost": 2 }), "{kind}");
    let operations = kind["operations"].as_u64().unwrap();
    assert!(operations > 2000, "{operations}");
    assert_eq!(kind["rows"], kind["operations"], "{kind}");
    assert!(record["result"]["value"].as_f64().unwrap() > 0.0);
    let throttled = warning(&record, "throttled: ");
    assert!(throttled.contains("3 statements refused, by error 10928: 1, 10929: 1, 40501: 1"), "{throttled}");
    let unavailable = warning(&record, "unavailable: ");
    let words = "1 log-in and 1 statement refused, by error 40197 with 40143: 1, 40613: 1";
    assert!(unavailable.contains(words), "{unavailable}");
    warning(&record, "tables of a repetition were loaded anew");
    warning(&record, "sessions lost the server during a repetition and came back");
}

#[test]
fn a_failover_leaves_a_gap() {
    let scene = Scene::new();
    // All connections end at their next request, and nobody is let in for some seconds.
    let failover: Arc<Mutex<Option<Instant>>> = Arc::default();
    let refused = Arc::new(AtomicUsize::new(0));
    let (admits, refuses, reads) = (Arc::clone(&failover), Arc::clone(&refused), AtomicUsize::new(0));
    let is_within =
        |since: Option<Instant>, seconds| since.is_some_and(|since| since.elapsed() < Duration::from_secs(seconds));
    let server = TdsServer::builder()
        .tables(|_| Some(answers::family()))
        .forgets()
        .admission(move |_| {
            if !is_within(*admits.lock().unwrap(), 4) {
                return Ok(());
            }
            refuses.fetch_add(1, Ordering::SeqCst);
            Err(refusal(40613, 17, NOT_AVAILABLE))
        })
        .start(move |request, _| {
            let mut failover = failover.lock().unwrap();
            if answers::is_point_select(request) && reads.fetch_add(1, Ordering::SeqCst) == 2000 {
                *failover = Some(Instant::now());
            }
            if is_within(*failover, 3) {
                return Reply(vec![Outcome::CutAfter(0), Outcome::Done]);
            }
            if failover.is_some() && asks_for_owner(request) {
                return answers::one(vec![Datum::from(mark_of(request).as_str())]);
            }
            drop(failover);
            answers::working(request)
        })
        .unwrap();
    let (said, record) = run(&scene, &server, "direct-select", 20);
    assert_eq!(said.code, 0, "{said:#?}");
    let repetition = &record["repetitions"][0];
    let lost = sum(&repetition["seconds"]["errors_by_class"]["connection-lost"]);
    assert_eq!(lost, 8, "each session loses one request");
    let operations: Vec<u64> =
        repetition["seconds"]["operations"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert!(operations.contains(&0), "there is a gap: {operations:?}");
    assert!(operations[operations.len() - 2] > 0, "and work after it: {operations:?}");
    let unavailable = warning(&record, "unavailable: ");
    let count = refused.load(Ordering::SeqCst);
    assert!(count >= 8 && unavailable.contains(&format!("by error 40613: {count})")), "{count} {unavailable}");
    assert!(warning(&record, "cut: ").contains("connections without a word"));
    warning(&record, "sessions lost the server during a repetition and came back");
}

/// What can't be begun again by itself ends with what the server said, and what to do.
#[test]
fn a_load_that_is_throttled_ends_the_run() {
    let scene = Scene::new();
    let server = TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| {
        if matches!(request, Request::Bulk(_)) {
            return Reply(vec![Outcome::HangUp, Outcome::Error(refusal(40501, 20, BUSY))]);
        }
        answers::working(request)
    });
    let (said, record) = run(&scene, &server.unwrap(), "read-scan", 0);
    said.failed(7, &["The service is currently busy", "error 40501", "lower rate"]);
    assert_eq!(record["error"]["kind"], "connection-lost", "{record}");
    assert!(warning(&record, "throttled: ").contains("1 statement refused, by error 40501: 1"));
}

/// An administrator ends the session of the lease, or a firewall forgets it: it is taken again while all others work on.
#[test]
fn a_lease_whose_session_alone_is_lost_is_taken_again_and_told() {
    let scene = Scene::new();
    let looks = AtomicUsize::new(0);
    let server = TdsServer::builder().tables(|_| Some(answers::family())).forgets().start(move |request, _| {
        if request.sql() == "SELECT 1" && looks.fetch_add(1, Ordering::SeqCst) == 0 {
            return Reply(vec![Outcome::CutAfter(0), Outcome::Done]);
        }
        if looks.load(Ordering::SeqCst) > 0 && asks_for_owner(request) {
            return answers::one(vec![Datum::from(mark_of(request).as_str())]);
        }
        answers::working(request)
    });
    let (said, record) = run(&scene, &server.unwrap(), "direct-select", 15);
    assert_eq!(said.code, 0, "{said:#?}");
    warning(&record, "the server ended the session with this run's lease, which was taken again");
    assert!(record["repetitions"][0]["seconds"]["errors_by_class"]["connection-lost"].is_null(), "{record}");
}

/// After Ctrl-C a server that answers nobody any more is not waited for.
#[test]
fn a_server_that_hangs_is_left_after_an_interrupt() {
    let scene = Scene::new();
    let (hangs, works) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_hanging, at_work) = (Arc::clone(&hangs), Arc::clone(&works));
    let server = TdsServer::builder().tables(|_| Some(answers::family())).forgets().start(move |request, _| {
        while is_hanging.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
        }
        at_work.fetch_or(answers::is_point_select(request), Ordering::SeqCst);
        answers::working(request)
    });
    let target = format!("mssql://ann@localhost:{}/sales?encrypt=false", server.unwrap().port());
    let words =
        ["run", "direct-select", "--json", "--set", "volume=1MiB", "--set", "duration=10m", "--target", &target];
    let mut command = scene.command(&words);
    command.env("PLIMSOLL_PASSWORD", "planted").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    common::wait_until(|| works.load(Ordering::SeqCst));
    hangs.store(true, Ordering::SeqCst);
    let interrupted = Instant::now();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    // A lock of the server's would be waited for a minute, a question thirty times the time-out.
    assert!(interrupted.elapsed() < Duration::from_secs(45), "{:?}", interrupted.elapsed());
    assert!(said.err.contains("plimsoll clean"), "{said:#?}");
    hangs.store(false, Ordering::SeqCst);
}
