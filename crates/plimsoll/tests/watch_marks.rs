//! What should not be true of a workload, moments with a name, a workload that is run again, and a run that is watched, on a PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::BufRead as _;

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::Scene;
use serde_json::Value;
use watched::{begun, interrupted, load, server, server_with_room};

fn events(scene: &Scene, kind: &str) -> Vec<String> {
    let shown: Value = serde_json::from_str(&scene.say(&["watch", "show", "--json"]).out).unwrap();
    let all = shown["events"].as_array().unwrap().iter();
    all.filter(|event| event["kind"] == kind).map(|event| event["note"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn slots_of_which_a_condition_is_true_are_told_and_marked() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let words = ["--fail-if", "share(query) > 0.1 %", "--fail-if", "mean(query) > 1h", "--json", "--every", "1s"];
    let (child, lines, _) = begun(&scene, &[&["watch", &url], &words[..]].concat());
    load(&server, 2_000);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "Ctrl-C is what ended it: {err}");
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let alerts: Vec<&str> = slots
        .iter()
        .filter_map(|slot| slot["alerts"].as_array())
        .flatten()
        .map(|text| text.as_str().unwrap())
        .collect();
    let of_load = "'share(query) > 0.1 %' is true: 'INSERT INTO held SELECT generate_series($1, $2)' has ";
    assert!(alerts.iter().any(|alert| alert.starts_with(of_load)), "{out}");
    assert!(!out.contains("mean(query)"), "{out}");
    assert!(err.contains(of_load) && err.contains("'mean(query) > 1h' was true in none of "), "{err}");
    assert!(events(&scene, "alert").iter().any(|note| note.starts_with(of_load)));
}

#[test]
fn a_condition_that_was_true_has_its_exit_code() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let watch = |condition: &str| scene.say(&["watch", &url, "--every", "1s", "--for", "1s", "--fail-if", condition]);
    let always = watch("active >= 0");
    assert_eq!(always.code, 1, "{always:#?}");
    assert!(
        always.err.contains("warning: 'active >= 0' is true: ") && always.err.contains("' was true in "),
        "{always:#?}"
    );
    let never = watch("known > 100 %");
    assert!(never.code == 0 && never.err.contains("'known > 100 %' was true in none of "), "{never:#?}");
    let scene = Scene::new();
    for (condition, problem) in [
        ("speed > 3", "a slot has no figure 'speed'"),
        ("mean(query) > 20", "'20' is not a time"),
        ("known", "none of >"),
    ] {
        scene.say(&["watch", "postgres://nowhere.invalid/d", "--fail-if", condition]).failed(2, &[problem]);
    }
}

#[test]
fn a_mark_is_a_time_for_other_commands() {
    let scene = Scene::new();
    scene.say(&["watch", "mark", "release 12"]).failed(4, &["there is no result store"]);
    assert!(!scene.store().exists(), "a mark makes no store");
    let server = server();
    let url = server.socket_url("postgres");
    let watch = || assert_eq!(scene.say(&["watch", &url, "--every", "1s", "--for", "2s"]).code, 0);
    watch();
    for (text, problem) in
        [("", "needs a text"), ("14:00", "is no time"), ("a..b", "no range"), (&"x".repeat(101), "100")]
    {
        scene.say(&["watch", "mark", text]).failed(2, &[problem]);
    }
    let said = scene.say(&["watch", "mark", "release 12"]);
    assert!(said.code == 0 && said.out.starts_with("'release 12' is 20"), "{said:#?}");
    watch();
    assert_eq!(events(&scene, "mark"), ["release 12"]);
    let said = scene.say(&["watch", "compare", "..release 12", "release 12..", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let from = |words: &[&str]| {
        let said = scene.say(&[&["watch", "show", "--json"], words].concat());
        serde_json::from_str::<Value>(&said.out).unwrap()["from"].clone()
    };
    assert_ne!(from(&["--from", "release 12"]), from(&[]));
    scene.say(&["watch", "show", "--from", "release 13"]).failed(2, &["'release 13' is no time", "or a mark"]);
}

#[test]
fn a_workload_that_was_watched_runs_once_its_values_are_filled_in() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s"]);
    server.psql(&"INSERT INTO held VALUES (2); ".repeat(5)).unwrap();
    server.psql(&"SELECT count(*) FROM held WHERE k = 2; BEGIN; COMMIT; ".repeat(20)).unwrap();
    // What ran is in the slot that ends next, or in the one after it.
    for _ in 0..2 {
        lines.read_line(&mut String::new()).unwrap();
    }
    assert_eq!(interrupted(child, lines).0, 130);
    let file = scene.path("watched.toml");
    let path = file.to_str().unwrap();
    let said = scene.say(&["watch", "export", "--workload", path]);
    assert!(
        said.out.contains("1 value is not known") && said.out.contains("that neither ask for rows nor change them"),
        "{said:?}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    for wanted in [
        "name = \"select-held\"\nweight = 20\n",
        "name = \"insert-held\"\nweight = 5\n",
        "p1 = { column = \"held.k\" }",
        "writes = true",
        "WHERE k = :p1",
        "# p1 = { uniform",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // What is not known is not made up.
    scene.say(&["run", path, "--target", &url, "--allow-writes"]).failed(2, &["p1"]);
    let filled = text.replace("# p1 = { uniform = [1, 1000] }", "p1 = { uniform = [1, 2] } #");
    std::fs::write(&file, filled).unwrap();
    let ran = scene.say(&["run", path, "--target", &url, "--allow-writes", "--set", "duration=1s", "--set", "rate=50"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    scene
        .say(&["watch", "export", "--workload", path, "--from", "2020-01-01", "--to", "2020-01-02"])
        .failed(2, &["no statement ended"]);
}

#[test]
fn a_run_says_which_statements_made_up_its_load() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let run =
        ["run", "insert-latency", "--short", "--set", "loop=client", "--set", "commits=300", "--watch", "--target"];
    let said = scene.say(&[&run[..], &[&url, "--repetitions", "2"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let rows: Vec<&str> = said.out.lines().filter(|line| line.trim_start().starts_with("INSERT INTO")).collect();
    // Both repetitions have made a table of that name, and are one row.
    assert!(rows.len() == 1 && rows[0].contains(" 600 ") && rows[0].contains("exact"), "{said:?}");
    assert!(said.out.contains("these statements are left out"), "{said:?}");
    let json = scene.say(&[&run[..], &[&url, "--repetitions", "1", "--json"]].concat());
    assert!(json.json().len() == 1 && json.json()[0]["test"] == "insert-latency", "{json:?}");
    assert!(json.err.contains(&format!("'plimsoll watch show --target {url} --json'")), "{json:?}");
    let shown: Value = serde_json::from_str(&scene.say(&["watch", "show", "--json", "--by", "text"]).out).unwrap();
    let of_inserts = |row: &&Value| row["text"].as_str().is_some_and(|text| text.starts_with("INSERT INTO"));
    let inserts: Vec<&Value> = shown["rows"].as_array().unwrap().iter().filter(of_inserts).collect();
    assert_eq!(inserts.iter().map(|row| row["executions"].as_u64().unwrap()).sum::<u64>(), 900, "{shown}");
}

#[test]
fn a_run_in_our_own_process_is_counted_by_ourselves() {
    let scene = Scene::new();
    let run =
        ["run", "insert-latency", "--short", "--set", "loop=client", "--set", "commits=300", "--watch", "--target"];
    for target in [&scene.sqlite(), "lab:azure-sql-db/S2"] {
        let said = scene.say(&[&run[..], &[target, "--repetitions", "2"]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        let rows: Vec<&str> = said.out.lines().filter(|line| line.trim_start().starts_with("INSERT INTO")).collect();
        assert!(rows.len() == 1 && rows[0].contains(" 600 ") && rows[0].contains("exact"), "{said:?}");
        assert!(said.out.contains("explains 100 % of the database time"), "{said:?}");
    }
    // Its slots would be those of a clock that begins anew with each run, or of no server.
    scene.say(&["watch", "show"]).failed(2, &["nothing was watched yet"]);
    scene.say(&["watch", &scene.sqlite()]).failed(2, &["no statistics of statements", "run --watch"]);
}

#[test]
fn a_server_says_how_far_its_counts_can_be_relied_on() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    load(&server, 50);
    let check = |words: &[&str]| scene.say(&[&["watch", "check", &url], words].concat());
    let said = check(&[]);
    assert!(
        said.code == 0 && said.out.contains("All statements that ran since ") && said.out.contains(" of 5,000 places"),
        "{said:?}"
    );
    assert!(
        said.out.lines().any(|line| line.trim_start().starts_with("INSERT INTO held") && line.contains(" 50 ")),
        "{said:?}"
    );
    let json = check(&["--json", "--top", "1"]).json().remove(0);
    assert_eq!(
        (&json["state"], &json["evictions"], json["top"].as_array().unwrap().len()),
        (&"normal".into(), &0.into(), 1)
    );
    // More statements than it has room for, of which the extension forgets the rarest.
    let server = server_with_room(100);
    let url = server.socket_url("postgres");
    let early = scene.say(&["watch", "check", &url, "--json", "--nearly-full", "2"]);
    assert_eq!(early.json()[0]["state"], "nearly full", "{early:?}");
    let texts: Vec<String> = (0..150).map(|n| format!("CREATE TABLE t{n} (); SELECT FROM t{n}")).collect();
    server.psql(&texts.join("; ")).unwrap();
    let check = |words: &[&str]| scene.say(&[&["watch", "check", &url], words].concat());
    let json = check(&["--json"]).json().remove(0);
    assert_eq!(json["state"], "dropping", "{json}");
    let said = check(&[]);
    assert!(said.out.contains("Statements were dropped "), "{said:?}");
    scene.say(&["watch", "check", &scene.sqlite()]).failed(2, &["no statistics of statements"]);
}

#[test]
fn what_is_not_meant_is_added_up_from_the_beginning() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let only = ["--only", "text=insert into HELD", "--only", "database=postgres", "--json", "--every", "1s"];
    let (child, lines, first) = begun(&scene, &[&["watch", &url], &only[..]].concat());
    load(&server, 30);
    server.psql("SELECT count(*) FROM held").unwrap();
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    let slots: Vec<Value> =
        [first.as_str(), &out].concat().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queries: Vec<&Value> = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap()).collect();
    assert!(queries.iter().all(|query| query["text"].as_str().unwrap().starts_with("INSERT INTO held")), "{out}");
    assert_eq!(queries.iter().map(|query| query["executions"].as_u64().unwrap()).sum::<u64>(), 30, "{out}");
    let others = |slot: &Value| slot["other"]["executions"].as_u64().unwrap_or(0);
    assert!(slots.iter().map(others).sum::<u64>() >= 1, "{out}");
    let kept = scene.say(&["watch", "export", "--json"]).json();
    let texts: Vec<&str> = kept.iter().filter_map(|row| row["text"].as_str()).collect();
    assert!(!texts.is_empty() && texts.iter().all(|text| text.starts_with("INSERT INTO held")), "{texts:?}");
    scene.say(&["watch", &url, "--only", "colour=red"]).failed(2, &["--only colour=red: nothing is filtered by"]);
}
