//! Rows that were inserted, changed and removed by requests, as the server counts them in its table, beside those of the record.

use plimsoll_engine::{ClaimMode, ColumnType, Session, Table, Workspace};
use serde_json::Value;

use crate::common::Scene;

/// Rows before the first request.
const ROWS: u64 = 200_000;

/// A workload on a table that is there already, which the record and the server both count.
const DEFINITION: &str = r#"
name = "counted"
steps = ["requests"]
existing = true
writes = true

[[request]]
name = "insert"
statements = ["INSERT INTO SCHEMA.[counted] ([RowId], [RowCount]) VALUES (:key, 0)"]
parameters = { key = { sequence = 1000001 } }

[[request]]
name = "update"
statements = ["UPDATE SCHEMA.[counted] SET [RowCount] = [RowCount] + 1 WHERE [RowId] = :key"]
parameters = { key = { uniform = [100001, 200000] } }

[[request]]
name = "delete"
statements = ["DELETE FROM SCHEMA.[counted] WHERE [RowId] = :key"]
parameters = { key = { sequence = 1 } }
"#;

fn table() -> Table {
    Table::new("counted", &[("RowId", ColumnType::Int), ("RowCount", ColumnType::Int)])
}

/// Fills the table by statements, so that no load is trusted here.
fn fill(session: &mut dyn Session) {
    session.create_table(&table()).unwrap();
    let digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))";
    let rows = format!(
        "INSERT INTO [counted] ([RowId], [RowCount]) SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n + 1, 0 \
         FROM {digits} a(n), {digits} b(n), {digits} c(n), {digits} d(n), {digits} e(n), (VALUES (0),(1)) f(n)"
    );
    session.execute(&rows, &[]).unwrap();
}

#[test]
fn the_server_counts_what_the_record_counts() {
    let (scene, database) = (Scene::new(), crate::open());
    let workspace = Workspace::run("trialcounts").unwrap();
    let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&workspace, &workspace).unwrap();
    fill(session.as_mut());
    let mut count = |what: &str| session.query_count(&format!("SELECT {what} FROM [counted]"), &[]).unwrap();
    assert_eq!(count("COUNT_BIG(*)"), ROWS);

    let file = scene.path("counted.toml");
    std::fs::write(&file, DEFINITION.replace("SCHEMA", &format!("[{workspace}]"))).unwrap();
    let (file, url) = (file.display().to_string(), crate::url());
    let words = ["run", &file, "--allow-writes", "--repetitions", "1", "--json", "--quiet", "--target", &url];
    let said = scene.say(&[&words[..], &["--set", "duration=10s", "--set", "sessions=8"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let record = said.json().into_iter().next().unwrap();
    let kinds = record["repetitions"][0]["requests"].as_array().unwrap();
    // Rates are without what was answered after the end of the phase; the server has done that as well.
    let of = |name: &str| {
        let kind = kinds.iter().find(|kind| kind["kind"] == name).unwrap_or_else(|| panic!("no {name}: {kinds:#?}"));
        kind["operations"].as_u64().unwrap() + kind["drained"].as_u64().unwrap_or(0)
    };
    // Deletes of rows that are gone change nothing, so keys end before the rows do.
    let rows = count("COUNT_BIG(*)");
    let (inserted, updated, deleted) = (
        count("SUM(CASE WHEN [RowId] > 1000000 THEN CAST(1 AS bigint) ELSE 0 END)"),
        count("SUM(CAST([RowCount] AS bigint))"),
        ROWS - count("SUM(CASE WHEN [RowId] <= 1000000 THEN CAST(1 AS bigint) ELSE 0 END)"),
    );
    println!("| kind | record | server |\n|---|---|---|");
    for (name, server) in [("insert", inserted), ("update", updated), ("delete", deleted)] {
        println!("| {name} | {} | {server} |", of(name));
    }
    assert_eq!(rows, ROWS + inserted - deleted);
    assert_eq!((of("insert"), of("update"), of("delete")), (inserted, updated, deleted));
    assert!(inserted > 0 && updated > 0 && deleted > 0, "{kinds:#?}");
    assert!(record["error"] == Value::Null);
    drop(session);
    drop(lease);
    assert!(database.remove(&workspace).unwrap());
}
