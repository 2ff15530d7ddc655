//! `plimsoll watch show|compare|export` of what was exported to a file, or saved in tables of the user's own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::fs;

use common::Scene;
use plimsoll_testbed::{MariaDb, Postgres};
use serde_json::{Map, Value};
use watched::{begun, interrupted, load, server};

/// What rows don't have, and the store has.
const OF_THE_STORE: [&str; 8] =
    ["absent", "events", "unknown", "server_events", "evictions", "sessions", "day_before", "plan_changes"];
fn mariadb() -> MariaDb {
    let builder = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON");
    builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

/// A server that is watched, with a load.
enum Watched<'w> {
    Postgres(&'w Postgres),
    MariaDb(&'w MariaDb),
}

impl Watched<'_> {
    fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.socket_url("postgres"),
            Self::MariaDb(server) => server.socket_url("test"),
        }
    }

    fn load(&self) {
        match self {
            Self::Postgres(server) => load(server, 20),
            Self::MariaDb(server) => {
                drop(server.sql(&"INSERT INTO held VALUES (1), (2), (3); ".repeat(20)).unwrap());
            }
        }
    }
}

/// Watches for some slots of a second that are saved, and gives the slots that were told.
fn watch(scene: &Scene, watched: &Watched<'_>, to: &str, table: &str) -> Vec<Value> {
    let url = watched.url();
    let words = ["watch", &url, "--every", "1s", "--json", "--save-to", to, "--table", table, "--allow-writes"];
    let (child, mut lines, mut all) = begun(scene, &words);
    watched.load();
    for _ in 0..3 {
        std::io::BufRead::read_line(&mut lines, &mut all).unwrap();
    }
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    all += &rest;
    all.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn one(scene: &Scene, words: &[&str]) -> Map<String, Value> {
    let said = scene.say(words);
    assert_eq!(said.code, 0, "{words:?} {said:?}");
    let Some(Value::Object(object)) = said.json().into_iter().next() else { panic!("{words:?} {said:?}") };
    object
}

/// What is shown, without what only the store has.
fn shown(scene: &Scene, words: &[&str]) -> Map<String, Value> {
    let all = ["watch", "show", "--json", "--sort", "elapsed_us", "--top", "100"];
    let mut object = one(scene, &[&all[..], words].concat());
    for name in OF_THE_STORE {
        object.remove(name);
    }
    if let Some(Value::Array(rows)) = object.get_mut("rows") {
        for row in rows {
            row.as_object_mut().unwrap().remove("new");
        }
    }
    object
}

/// A file has no sessions that were seen at work on no statement, of which the store's shares of looks are as well.
fn without_shares_of_looks(mut shown: Map<String, Value>, words: &[&str]) -> Map<String, Value> {
    if words.contains(&"share") {
        for row in shown["rows"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("sampled_us");
        }
    }
    shown
}

#[test]
fn what_was_exported_or_saved_shows_the_same_figures() {
    let (server, mariadb) = (server(), mariadb());
    mariadb.sql("CREATE TABLE held (k INT)").unwrap();
    let keeper = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    for (watched, name) in [(Watched::Postgres(&server), "of_postgres"), (Watched::MariaDb(&mariadb), "of_mariadb")] {
        let files = Scene::new();
        let sqlite = format!("sqlite:{}", files.path("saved.db").display());
        for to in [sqlite, keeper.socket_url("postgres"), mariadb.socket_url("test")] {
            let scene = Scene::new();
            let told = watch(&scene, &watched, &to, name);
            let [csv, lines] = ["slots.csv", "slots.jsonl"].map(|name| scene.path(name).display().to_string());
            assert_eq!(scene.say(&["watch", "export", "--csv", &csv]).code, 0);
            fs::write(&lines, scene.say(&["watch", "export", "--json"]).out).unwrap();
            for words in [
                &[][..],
                &["--by", "database", "--unit", "second"],
                &["--by", "text", "--unit", "execution", "--where", "text=INSERT"],
                &["--by", "instance", "--unit", "share", "--from", "-30m"],
            ] {
                let store = shown(&scene, words);
                assert!(!store["rows"].as_array().unwrap().is_empty(), "{store:#?}");
                let store = without_shares_of_looks(store, words);
                for file in [&csv, &lines] {
                    let of_file = without_shares_of_looks(shown(&scene, &[&["--file", file], words].concat()), words);
                    assert_eq!(store, of_file, "{file} {words:?}");
                }
            }
            // The table has what was told: what was before is in the store alone.
            let from = told[0]["slot_start"].as_str().unwrap();
            let store = shown(&scene, &["--from", from]);
            let saved = ["--saved", &to, "--table", name, "--from", from];
            assert_eq!(store, shown(&scene, &saved));
            // Rows that are written out of the table are those of the store, as far as it has them.
            let again = scene.path("again.csv").display().to_string();
            let words = ["watch", "export", "--csv", &again, "--saved", &to, "--table", name];
            assert_eq!(scene.say(&words).code, 0);
            let [table, file] = [&saved[..], &["--file", &again, "--from", from]].map(|words| shown(&scene, words));
            assert_eq!(table, file);
            let changes = |words: &[&str]| {
                let all = ["watch", "compare", "..-2s", "-2s..", "--json", "--sort", "elapsed_us"];
                one(&scene, &[&all[..], words].concat())
            };
            assert_eq!(changes(&[])["changes"], changes(&["--file", &csv])["changes"]);
        }
    }
}

#[test]
fn what_rows_lack_is_said_and_pages_are_written() {
    let (scene, server) = (Scene::new(), server());
    let file = format!("sqlite:{}", scene.path("saved.db").display());
    watch(&scene, &Watched::Postgres(&server), &file, "watched");
    let saved = ["--saved", &file, "--table", "watched"];
    let shown = one(&scene, &[&["watch", "show", "--json"][..], &saved].concat());
    let absent = shown["absent"].as_object().unwrap();
    for name in ["events", "sessions", "unknown", "plan_changes"] {
        assert!(absent.contains_key(name) && !shown.contains_key(name), "{name}: {shown:#?}");
    }
    let page = scene.path("page.html").display().to_string();
    let said = scene.say(&[&["watch", "show", "--html", &page][..], &saved].concat());
    assert!(said.out.contains("Not in what was read") && said.out.contains("INSERT INTO held"), "{said:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("<svg"));
    scene.say(&[&["watch", "show", "--by", "plan"][..], &saved].concat()).failed(2, &["has no plans"]);
    // The store is not needed.
    let elsewhere = Scene::new();
    assert_eq!(elsewhere.say(&[&["watch", "show"][..], &saved].concat()).code, 0);
}

#[test]
fn several_watchings_of_a_table_are_told_apart() {
    let (server, mariadb) = (server(), mariadb());
    mariadb.sql("CREATE TABLE held (k INT)").unwrap();
    let scene = Scene::new();
    let file = format!("sqlite:{}", scene.path("saved.db").display());
    let saved = ["--saved", &file, "--table", "watched"];
    let watched = [Watched::MariaDb(&mariadb), Watched::Postgres(&server), Watched::Postgres(&server)];
    for watched in &watched {
        watch(&Scene::new(), watched, &file, "watched");
    }
    let sessions = scene.say(&[&["watch", "list", "--json"][..], &saved].concat()).json();
    assert_eq!(sessions.len(), 3);
    let id = |at: usize| sessions[at]["session_id"].as_str().unwrap();
    let executions = |words: &[&str]| {
        let all =
            ["watch", "show", "--json", "--by", "instance", "--where", "text=INSERT INTO", "--from", "2000-01-01"];
        let object = one(&scene, &[&all[..], &saved, words].concat());
        (object["target"].clone(), object["rows"][0]["executions"].as_u64())
    };
    // The server that was watched last.
    assert_eq!(executions(&[]), (sessions[0]["target"].clone(), Some(40)));
    assert_eq!(executions(&["--session", id(0)]).1, Some(20));
    assert_eq!(executions(&["--session", id(0), "--session", id(1)]).1, Some(40));
    assert_eq!(executions(&[&watched[0].url()]).1, Some(20));
    assert_eq!(executions(&["--session", id(2)]), (sessions[2]["target"].clone(), Some(20)));
    let fails = |words: &[&str], said: &str| {
        scene.say(&[&["watch", "show"][..], &saved, words].concat()).failed(2, &[said]);
    };
    fails(&["--session", "x"], "has no session x");
    fails(&["postgres://nobody.example/none"], "nothing of postgres://nobody.example/none");
    scene.say(&["watch", "show", "--session", id(0)]).failed(2, &["--session is of what was exported or saved"]);
}

#[test]
fn the_right_to_read_is_enough_and_foreign_tables_are_refused() {
    let (scene, server, mariadb) = (Scene::new(), server(), mariadb());
    mariadb.sql("CREATE TABLE held (k INT)").unwrap();
    let [postgres, maria] = [server.socket_url("postgres"), mariadb.socket_url("test")];
    watch(&scene, &Watched::Postgres(&server), &postgres, "watched");
    watch(&scene, &Watched::MariaDb(&mariadb), &maria, "watched");
    server.psql("CREATE ROLE reader LOGIN").unwrap();
    mariadb.sql("CREATE USER reader@localhost").unwrap();
    let reader = postgres.replacen("postgres://", "postgres://reader@", 1).replacen("reader@plimsoll@", "reader@", 1);
    let readers = [reader, maria.replace("plimsoll@", "reader@")];
    let show = |url: &str, table: &str| scene.say(&["watch", "show", "--saved", url, "--table", table]);
    for url in &readers {
        assert!([4, 5].contains(&show(url, "watched").code), "{url}");
    }
    server.psql("GRANT SELECT ON watched, watched_texts TO reader").unwrap();
    mariadb
        .sql("GRANT SELECT ON test.watched TO reader@localhost; GRANT SELECT ON test.watched_texts TO reader@localhost")
        .unwrap();
    for url in &readers {
        let said = show(url, "watched");
        assert_eq!(said.code, 0, "{url} {said:?}");
    }
    for url in [&postgres, &maria] {
        show(url, "none").failed(4, &["there is no table none", "--save-to"]);
        show(url, "a b").failed(2, &["is no name for a table"]);
    }
    server.psql("CREATE TABLE mine (a INT); CREATE TABLE mine_texts (a INT)").unwrap();
    mariadb.sql("CREATE TABLE mine (a INT); CREATE TABLE mine_texts (a INT)").unwrap();
    show(&postgres, "mine").failed(6, &["mine is there", "--save-to"]);
    show(&maria, "mine").failed(6, &["mine is there"]);
    // A policy on rows could run what its maker chose.
    server.psql("ALTER TABLE watched ENABLE ROW LEVEL SECURITY").unwrap();
    show(&readers[0], "watched").failed(6, &["watched is there"]);
    show("lab:azure-sql-db/S2", "watched").failed(2, &["nothing is saved in"]);
    let none = scene.path("none.db");
    show(&format!("sqlite:{}", none.display()), "watched").failed(4, &["holds no database"]);
    assert!(!none.exists(), "nothing is made");
    // What somebody changed is damaged, and said where.
    mariadb.sql("UPDATE watched SET slot_status = 'good' LIMIT 1").unwrap();
    show(&maria, "watched").failed(2, &["watched, session ", "slot_status is no status: 'good'"]);
}

#[test]
fn a_damaged_line_is_named() {
    let scene = Scene::new();
    let head = "slot_start,slot_end,seconds,slot_status,total_us,id,database,nested,executions,elapsed_us,status,text,own_us,explained_us";
    let row = |second: u32, id: &str| {
        format!(
            "2026-03-01T14:00:0{second}Z,2026-03-01T14:00:0{}Z,1,exact,2000,{id},d,false,2,1000,exact,\"SELECT\n1\",0,1000",
            second + 1
        )
    };
    let path = scene.path("slots.csv").display().to_string();
    let show = |text: &str| {
        fs::write(&path, text).unwrap();
        scene.say(&["watch", "show", "--file", &path, "--json"])
    };
    // What a spreadsheet marked, with some of the columns.
    let all = format!("\u{feff}{head}\r\n{}\r\n{}\r\n", row(0, "0a"), row(1, "0a"));
    let said = show(&all);
    let shown = said.json().into_iter().next().unwrap_or_else(|| panic!("{said:?}"));
    assert_eq!((shown["rows"][0]["executions"].as_u64(), shown["coverage_percent"].as_f64()), (Some(4), Some(50.0)));
    assert_eq!((shown["target"].as_str(), shown["database_us"].as_u64()), (Some(path.as_str()), Some(4_000)));
    assert_eq!(show(&all.replace("\r\n", "\n")).code, 0);
    let lines = format!("{head}\n{}\n{}\n", row(0, "0a"), row(1, "0x"));
    show(&lines).failed(2, &["slots.csv, line 4: id is no statement: '0x'", "watch export"]);
    show(&format!("{head}\n{}\n1,2\n", row(0, "0a"))).failed(2, &["line 4: it has 2 cells"]);
    show(&format!("{head}\n{}", row(0, "0a"))).failed(2, &["ends in the middle of a line"]);
    show(&format!("{head}\n{}\n{}\n{}\n", row(0, "0a"), row(1, "0a"), row(0, "0b")))
        .failed(2, &["line 6: a slot stands there twice"]);
    show("database,file,type,size_gb\nd,f,data,1\n").failed(2, &["was not written by", "slot_start"]);
    show("").failed(2, &["is empty"]);
    show("{\"slot_start\": 5}\n").failed(2, &["line 1: slot_start is no time: '5'"]);
    show("{\"slot_start\"\n").failed(2, &["line 1: it is no JSON object"]);
    scene.say(&["watch", "show", "--file", "none.csv"]).failed(2, &["cannot read none.csv"]);
    let said = scene.say(&["watch", "show", "--saved", "sqlite:a.db"]);
    assert!(said.code == 2 && said.err.contains("--table"), "{said:?}");
}
