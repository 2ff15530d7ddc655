//! `plimsoll watch` on a SQL Server, by a server of our own that speaks TDS and plays the history of a plan cache: plans that are compiled anew,
//! evicted, and come back, and a cache that is emptied. Microsoft's own server was not tried.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
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

/// Another plan takes the place of the one that a procedure was executed by, and takes fifty times as long.
const REPLACED: [&[Made]; 6] = [
    &[("0x0600A1", ORDERS, BEGAN - 9_000_000, 100, 50_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 5, 50_000)],
    &[("0x0600A1", ORDERS, BEGAN - 9_000_000, 110, 60_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 6, 60_000)],
    &[("0x0600A1", ORDERS, BEGAN - 9_000_000, 120, 70_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 7, 70_000)],
    &[("0x0600A2", ORDERS, BEGAN + 2_500_000, 4, 200_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 8, 80_000)],
    &[("0x0600A2", ORDERS, BEGAN + 2_500_000, 9, 450_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 9, 90_000)],
    &[("0x0600A2", ORDERS, BEGAN + 2_500_000, 10, 500_000), ("0x0600B1", OTHERS, BEGAN - 9_000_000, 9, 90_000)],
];

/// Waits at a step: ten more for the log in each, 40 ms together, and idle threads.
fn waits(step: i64) -> Reply {
    let row = |(name, waits): (&str, i64)| -> Vec<Datum> {
        [name.into()].into_iter().chain([waits, 4 * waits, waits / 5, 9].map(Datum::from)).collect()
    };
    let kinds = [text(), whole(), whole(), whole(), whole()];
    rows(&kinds, [("WRITELOG", 10 * step), ("LOGMGR_QUEUE", 9_000 * step)].map(row).into_iter().collect())
}

/// A log at a step: 100 writes more in each, until its database is closed and opened again, and 30 from then on.
fn files(step: i64) -> Reply {
    let (handle, writes) = if step < 4 { ("5:2:0x1", 100 * step) } else { ("5:2:0x2", 30 * (step - 3)) };
    let mut row: Vec<Datum> = vec!["sales_log".into()];
    row.extend([1, 0, 0, 0, writes, 8_192 * writes, 5 * writes].map(Datum::from));
    row.extend(["sales", "https://store/sales_log.ldf", handle].map(Datum::from));
    row.extend([1_000 * step, 4_096, 5].map(Datum::from));
    let mut kinds = vec![text()];
    kinds.resize(8, whole());
    kinds.extend([text(), text(), text(), whole(), whole(), whole()]);
    rows(&kinds, vec![row])
}

/// The answers at a step of a history. A slot of a second goes by with each.
fn answer(request: &Request, history: &[&[Made]], step: &AtomicUsize) -> Reply {
    let sql = request.sql();
    let at = || step.load(Ordering::SeqCst).min(history.len() - 1);
    if !sql.contains("/* plimsoll watch */") {
        return answers::usual(request);
    }
    if sql.contains("sqlserver_start_time") {
        let clock = BEGAN + 1_000_000 * step.load(Ordering::SeqCst) as i64;
        return rows(&[whole(), whole(), text()], vec![vec![clock.into(), STARTED.into(), "16.0.1000.6".into()]]);
    }
    if sql.contains("plan_generation_num") {
        let made = history[at()];
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
    if sql.contains("dm_os_wait_stats") {
        return waits(step.load(Ordering::SeqCst) as i64);
    }
    if sql.contains("master_files") {
        return files(step.load(Ordering::SeqCst) as i64);
    }
    if sql.contains("DISTINCT") {
        return rows(&[text()], vec![vec!["0x00000000000000FF".into()]]);
    }
    if sql.contains("dm_exec_plan_attributes") {
        let texts =
            [(ORDERS, "SELECT o.total FROM orders o WHERE o.id = 17", "dbo.find_order"), (OTHERS, "EXEC nothing", "")];
        let row = |(hash, sql, object): &(&str, &str, &str)| {
            vec![(*hash).into(), (*sql).into(), "sales".into(), (*object).into()]
        };
        return rows(&[text(), text(), text(), text()], texts.iter().map(row).collect());
    }
    if sql.contains("dm_exec_cached_plans") {
        let row = |(kind, counts): (&str, [i64; 5])| [kind.into()].into_iter().chain(counts.map(Datum::from)).collect();
        let plans = [("Proc", [10, 4_000_000, 900, 1, 100_000]), ("Adhoc", [300, 9_000_000, 360, 280, 8_000_000])];
        let kinds = [text(), whole(), whole(), whole(), whole(), whole()];
        return rows(&kinds, plans.map(row).into_iter().collect());
    }
    answers::none()
}

/// A server with this history, and its URL.
fn server(history: &'static [&'static [Made]]) -> (TdsServer, String) {
    let step = AtomicUsize::new(0);
    let server = TdsServer::builder().start(move |request, _| answer(request, history, &step)).unwrap();
    let url = format!("mssql://ann@localhost:{}/sales?encrypt=false", server.port());
    (server, url)
}

/// The slots of a watch of so many readings.
fn watched(scene: &Scene, url: &str, readings: usize) -> String {
    let mut command = scene.command(&["watch", url, "--every", "1s", "--json"]);
    let command = command.env("PLIMSOLL_PASSWORD", "x").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut out = String::new();
    // The first reading has no slot.
    for _ in 1..readings {
        lines.read_line(&mut out).unwrap();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{out}");
    out
}

/// What is shown of what was watched, as JSON.
fn shown(scene: &Scene, words: &[&str]) -> Value {
    let said = scene.say(&[&["watch"], words, &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    said.json().remove(0)
}

#[test]
fn a_query_whose_plan_changed_is_told_with_the_cost_of_an_execution_before_and_after() {
    let (scene, (_server, url)) = (Scene::new(), server(&REPLACED));
    watched(&scene, &url, REPLACED.len());
    let all = shown(&scene, &["show"]);
    let [change] = &all["plan_changes"].as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!(
        (&change["before"]["mean_us"], &change["after"]["mean_us"]),
        (&1_000.0.into(), &50_000.0.into()),
        "{all}"
    );
    // The slot that begins with the end of the third reading is the first with the new one.
    assert_eq!(
        (&change["at"], &change["after"]["plan"]),
        (&"2025-10-20T22:40:03Z".into(), &"0x00000000000600A2".into())
    );
    let said = scene.say(&["watch", "show"]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let cost = "an execution took 1 ms on average before, and 50 ms after.";
    assert!(words.contains(&format!("WHERE o.id = ?' changed at 2025-10-20T22:40:03Z: {cost}")), "{said:?}");
    assert!(said.out.contains("Plans that changed"), "{said:?}");

    let ranges = ["compare", "2025-10-20T22:40:00..2025-10-20T22:40:03", "2025-10-20T22:40:03.."];
    let compared = shown(&scene, &ranges);
    let changes = compared["changes"].as_array().unwrap();
    let changed: Vec<&Value> = changes.iter().filter_map(|change| change.get("plan_change")).collect();
    assert_eq!((changed.len(), &changed[0]["before"]["executions"]), (1, &20.into()), "{compared}");
    let said = scene.say(&[&["watch"], &ranges[..]].concat());
    assert!(said.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(cost), "{said:?}");
}

#[test]
fn waits_and_files_are_counted_by_slot_and_a_file_that_was_opened_anew_begins_at_zero() {
    let (scene, (_server, url)) = (Scene::new(), server(&REPLACED));
    let out = watched(&scene, &url, REPLACED.len());
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = |slot: &Value, source: &str| slot[source]["rows"].as_array().unwrap().first().unwrap().clone();
    for (at, slot) in slots.iter().enumerate() {
        let (wait, file) = (row(slot, "waits"), row(slot, "files"));
        assert_eq!((&wait["name"], &wait["kind"]), (&"WRITELOG".into(), &"log_write".into()), "{slot}");
        assert_eq!((&wait["waits"], &wait["wait_us"], &wait["wait_ms"]), (&10.into(), &40_000.into(), &4.0.into()));
        assert_eq!(slot["waits"]["rows"].as_array().unwrap().len(), 1, "idle threads wait for nothing: {slot}");
        let writes: u64 = if at < 2 { 100 } else { 30 };
        assert_eq!((file["writes"].as_u64(), &file["write_ms"]), (Some(writes), &5.0.into()), "{slot}");
        assert_eq!((&file["database"], &file["kind"]), (&"sales".into(), &"log".into()), "{slot}");
    }
    let shown = shown(&scene, &["show", "--by", "wait", "--where", "text=write"]);
    assert_eq!(shown["rows"][0]["waits"].as_u64(), Some(10 * slots.len() as u64), "{shown}");
    // A file that is a blob is held to what the provider says of its latency.
    let page = scene.path("page.html");
    assert_eq!(scene.say(&["watch", "show", "--by", "file", "--html", page.to_str().unwrap()]).code, 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("The line at 10 ms is what the provider says"), "{}", page.len());
}

#[test]
fn rows_are_plans_or_procedures_where_the_server_tells_them() {
    let (scene, (_server, url)) = (Scene::new(), server(&REPLACED));
    watched(&scene, &url, REPLACED.len());
    let rows = |by: &str| shown(&scene, &["show", "--by", by])["rows"].as_array().unwrap().clone();
    let of = |row: &Value, name: &str| (row[name].clone(), row["executions"].as_u64().unwrap());
    let plans: Vec<_> = rows("plan").iter().map(|row| of(row, "plan")).collect();
    assert_eq!(
        plans,
        [("0x00000000000600A2".into(), 10), ("0x00000000000600B1".into(), 4), ("0x00000000000600A1".into(), 20)]
    );
    let objects: Vec<_> = rows("object").iter().map(|row| of(row, "object")).collect();
    assert_eq!(objects, [("dbo.find_order".into(), 30), ("ad hoc statements".into(), 4)]);
    let queries = rows("query");
    assert_eq!((&queries[0]["object"], queries[1].get("object")), (&"dbo.find_order".into(), None));
    let said = scene.say(&["watch", "show", "--by", "plan"]).out;
    assert!(said.contains("Plan") && said.contains("0x00000000000600A2"), "{said}");
    assert!(scene.say(&["watch", "show", "--by", "object"]).out.contains("Procedure or function"));
}

#[test]
fn the_cache_of_plans_is_told_by_kind() {
    let (scene, (_server, url)) = (Scene::new(), server(&REPLACED));
    let check = |words: &[&str]| {
        let said = scene.command(&[&["watch", "check", &url], words].concat()).env("PLIMSOLL_PASSWORD", "x").output();
        common::said(&said.unwrap())
    };
    let json = check(&["--json"]).json().remove(0);
    // Those whose plans of one use take most memory first.
    let [ad_hoc, procedures] = &json["cached_plans"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!(
        (&ad_hoc["kind"], &ad_hoc["used_once"], &ad_hoc["used_once_bytes"]),
        (&"Adhoc".into(), &280.into(), &8_000_000.into())
    );
    assert_eq!((&procedures["kind"], &procedures["mean_uses"]), (&"Proc".into(), &90.0.into()));
    let said = check(&[]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("281 of 310 plans in the cache were used once, and take 8.10 MB"), "{said:?}");
    assert!(said.out.contains("Plans in the cache") && said.out.contains("Adhoc"), "{said:?}");
    let said = check(&["--many-once", "95"]);
    assert!(said.code == 0 && !said.out.contains("were used once, and take"), "{said:?}");
}

#[test]
fn plans_that_come_and_go_lose_nothing_that_was_counted_and_invent_nothing() {
    let (scene, (_server, url)) = (Scene::new(), server(&HISTORY));
    let out = watched(&scene, &url, HISTORY.len());
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
