//! `plimsoll watch` on a SQL Server, by a server of our own that speaks TDS and plays the history of a plan cache: plans that are compiled anew,
//! evicted, and come back, and a cache that is emptied. Microsoft's own server was not tried.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::Scene;
use plimsoll_testbed::tds::{Column, Datum, Kind, Refusal, Reply, Request, TdsServer, answers};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// When the server was started, in microseconds since 1970, and when it was first asked.
const STARTED: i64 = 1_760_000_000_000_000;
const BEGAN: i64 = 1_761_000_000_000_000;

/// A plan: its handle, the hash of its statement, when it was made, and what it has counted: executions, and microseconds.
type Made = (&'static str, &'static str, i64, i64, i64);

const ORDERS: &str = "0x00000000000000A1";
const OTHERS: &str = "0x00000000000000B2";

/// What is in the cache at each reading.
const HISTORY: [&[Made]; 6] = [
    &[("0x0600A1", ORDERS, BEGAN - 9_000_000, 100, 50_000)],
    // Ten more, and a second plan of the same statement, made since then.
    &[("0x0600A1", ORDERS, BEGAN - 9_000_000, 110, 60_000), ("0x0600A2", ORDERS, BEGAN + 500_000, 7, 9_000)],
    // The first one is gone with what it counted last, and another statement comes.
    &[("0x0600A2", ORDERS, BEGAN + 500_000, 12, 14_000), ("0x0600B1", OTHERS, BEGAN + 1_500_000, 3, 900_000)],
    // The same plan compiled anew counts from zero.
    &[("0x0600A2", ORDERS, BEGAN + 2_500_000, 4, 5_000), ("0x0600B1", OTHERS, BEGAN + 1_500_000, 3, 900_000)],
    // Somebody emptied the cache.
    &[],
    &[("0x0600A1", ORDERS, BEGAN + 4_500_000, 2, 3_000)],
];

fn rows(kinds: &[Kind], rows: Vec<Vec<Datum>>) -> Reply {
    Reply::rows(kinds.iter().map(|kind| Column::new("", *kind)).collect(), rows)
}

const fn whole() -> Kind {
    Kind::IntegerNull(8)
}

const fn text() -> Kind {
    Kind::NVarChar(Some(800))
}

/// The answers at a step of the history. A slot of a second goes by with each.
fn answer(request: &Request, step: &AtomicUsize) -> Reply {
    let sql = request.sql();
    let at = || step.load(Ordering::SeqCst).min(HISTORY.len() - 1);
    if !sql.contains("/* plimsoll watch */") {
        return answers::usual(request);
    }
    if sql.contains("sqlserver_start_time") {
        let clock = BEGAN + 1_000_000 * at() as i64;
        return rows(&[whole(), whole(), text()], vec![vec![clock.into(), STARTED.into(), "16.0.1000.6".into()]]);
    }
    if sql.contains("plan_generation_num") {
        let made = HISTORY[at()];
        step.fetch_add(1, Ordering::SeqCst);
        let row = |(plan, hash, created, executions, us): &Made| -> Vec<Datum> {
            let first = ["0x0200".into(), 0.into(), (-1).into(), (*plan).into(), 1.into()];
            let hashes: [Datum; 2] = [(*hash).into(), (*plan).into()];
            let counts =
                [*created, *executions, us / 2, *us, us / executions, 3 * executions, 0, 0, 0].map(Datum::from);
            first.into_iter().chain(hashes).chain(counts).collect()
        };
        let mut kinds = vec![text(), whole(), whole(), text(), whole(), text(), text()];
        kinds.resize(16, whole());
        return rows(&kinds, made.iter().map(row).collect());
    }
    if sql.contains("DISTINCT") {
        return rows(&[text()], vec![vec!["0x00000000000000FF".into()]]);
    }
    if sql.contains("dm_exec_plan_attributes") {
        let texts = [(ORDERS, "SELECT o.total FROM orders o WHERE o.id = 17"), (OTHERS, "EXEC nothing")];
        let row = |(hash, sql): &(&str, &str)| vec![(*hash).into(), (*sql).into(), "sales".into()];
        return rows(&[text(), text(), text()], texts.iter().map(row).collect());
    }
    answers::none()
}

#[test]
fn plans_that_come_and_go_lose_nothing_that_was_counted_and_invent_nothing() {
    let (scene, step) = (Scene::new(), Arc::new(AtomicUsize::new(0)));
    let of_server = Arc::clone(&step);
    let server = TdsServer::builder().start(move |request, _| answer(request, &of_server)).unwrap();
    let url = format!("mssql://ann@localhost:{}/sales?encrypt=false", server.port());
    let mut command = scene.command(&["watch", &url, "--every", "1s", "--json"]);
    let command = command.env("PLIMSOLL_PASSWORD", "x").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut out = String::new();
    // The first reading has no slot.
    for _ in 1..HISTORY.len() {
        lines.read_line(&mut out).unwrap();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{out}");
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queries = || slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    let sum = |hash: &str, name: &str| -> u64 {
        queries()
            .filter(|query| query["id"].as_str().unwrap().ends_with(hash))
            .filter_map(|query| query[name].as_u64())
            .sum()
    };
    // 10 of the first plan and 7 of the second, 5 more, 4 of the second compiled anew, and 2 at last; what the first one did before it went is not known.
    assert_eq!(
        (sum("a1", "executions"), sum("a1", "elapsed_us")),
        (28, 10_000 + 9_000 + 5_000 + 5_000 + 3_000),
        "{out}"
    );
    assert_eq!((sum("b2", "executions"), sum("b2", "elapsed_us")), (3, 900_000), "{out}");
    assert_eq!(sum("ff", "executions"), 0, "our own statements are left out: {out}");
    let orders = queries().find(|query| query["id"].as_str().unwrap().ends_with("a1")).unwrap();
    assert_eq!(
        (orders["text"].as_str(), orders["database"].as_str()),
        (Some("SELECT o.total FROM orders o WHERE o.id = ?"), Some("sales"))
    );
    // Nobody is told that all is known where plans went.
    let unknown = |slot: &&Value| slot["unknown"].as_array().is_some_and(|all| !all.is_empty());
    assert!(slots.iter().filter(unknown).count() >= 3, "{out}");
}

#[test]
fn without_the_right_to_see_what_others_ran_it_is_said_what_gives_it() {
    let scene = Scene::new();
    let server = TdsServer::builder()
        .start(|request, _| {
            let is_hidden = request.sql().contains("dm_exec_query_stats");
            let refusal = || Refusal {
                class: 14,
                ..Refusal::new(297, "The user does not have permission to perform this action.")
            };
            if is_hidden { Reply::error(refusal()) } else { answers::usual(request) }
        })
        .unwrap();
    let url = format!("mssql://ann@localhost:{}/sales?encrypt=false", server.port());
    let said = scene.command(&["watch", &url]).env("PLIMSOLL_PASSWORD", "x").output().unwrap();
    common::said(&said).failed(5, &["may not see what others ran", "GRANT VIEW SERVER STATE"]);
}
