//! Requests by procedure, and the plans of statements.

use plimsoll_engine::value::Value::{self, BigInt, Text};
use plimsoll_engine::{
    ColumnType, Database as _, Dialect, ErrorKind, RequestAccess, Requester, Result, Row, RowSource, Session,
    Sessions as _, SingleRow, Statement, Table, Workspace,
};

use super::scripted::{Said, Script};
use super::{URL, clock, described, everything, granting};
use crate::database::MssqlDatabase;
use crate::dialect;
use crate::session::MssqlSession;
use crate::workspace;

/// A session in the place of a run, at a server that answers so.
fn session(script: &Script) -> MssqlSession {
    let (_, clock) = clock();
    let script = script.clone().on("SET NOCOUNT", [Said::Rows(Vec::new())]);
    let abilities = described(&script).unwrap().abilities;
    let connector = script.connector(URL, &clock);
    let workspace = Workspace::run("a1").unwrap();
    MssqlSession::open(&connector, &workspace, &workspace, RequestAccess::OWN, abilities).unwrap()
}

fn table() -> Table {
    Table::new("t", &[("RowId", ColumnType::Int), ("Int1", ColumnType::Int)])
}

#[test]
fn single_rows_are_asked_for_by_procedures_of_our_own() {
    let done = || [Said::Rows(Vec::new())];
    let script = granting()
        .on("DROP PROCEDURE", done())
        .on("CREATE PROCEDURE", done())
        .on("EXEC [plimsoll_run_a1].[plimsoll_update_t] @P1, @P2", [Said::Rows(vec![vec![BigInt(1)]])]);
    let mut session = session(&script);
    let before = script.asked().len();
    assert!(session.make_procedures(&table()).unwrap());
    let made: Vec<String> = script.asked().split_off(before);
    assert_eq!(made.len(), 8);
    assert_eq!(made[2], "DROP PROCEDURE IF EXISTS [plimsoll_run_a1].[plimsoll_update_t]");
    // The key is the last parameter, and the tables have their place.
    assert_eq!(
        made[3],
        "CREATE PROCEDURE [plimsoll_run_a1].[plimsoll_update_t] @P1 int, @P2 int AS \
         UPDATE [plimsoll_run_a1].[t] SET [Int1] = @P1 WHERE [RowId] = @P2"
    );
    assert!(made[7].ends_with("@P1 int AS SELECT [RowId], [Int1] FROM [plimsoll_run_a1].[t] WHERE [RowId] = @P1"));
    let sql = dialect::of(true).call(SingleRow::Update, &table()).unwrap();
    let statement = Statement { number: 0, sql, columns: Some(Vec::new()) };
    let answer = Requester::ask(&mut session, &statement, &[Value::Int(1), Value::Int(2)]).unwrap();
    assert_eq!(answer.rows, 1);
    // Somebody else's procedures are nothing to us, and are not reached.
    assert!(session.execute("EXEC other @P1", &[Value::Int(1)]).is_err());
    assert_eq!(script.asked().last().unwrap(), "EXEC [plimsoll_run_a1].other @P1");
}

/// The library of the protocol has no hint for the order of rows, which a load whose time is measured says. It says as well
/// if the server can't take rows by that protocol.
#[test]
fn a_measured_load_says_how_its_rows_went() {
    struct Nothing;
    impl RowSource for Nothing {
        fn next(&mut self, _: &mut Row) -> Result<bool> {
            Ok(false)
        }
    }
    let (_, clock) = clock();
    for (concatenated, said) in [("a,b", "hint of their order"), ("b", "INSERT statements of many rows")] {
        let done = || [Said::Rows(Vec::new())];
        let script =
            granting().row("DECLARE @names", &[Text(concatenated)]).on("LOAD", done()).on("SET NOCOUNT", done());
        let script = script.on("TRANSACTION", done());
        let database = MssqlDatabase::open(script.connector(URL, &clock)).unwrap();
        let workspace = Workspace::run("a1").unwrap();
        let mut session = database.session_with(&workspace, &workspace, RequestAccess::OWN).unwrap();
        Session::load(session.as_mut(), &table(), &mut Nothing).unwrap();
        assert_eq!(database.warnings(), Vec::<String>::new());
        let mut requester = database.requester(&workspace, &workspace, RequestAccess::OWN).unwrap();
        requester.load_batch(&table(), &mut Nothing).unwrap();
        assert!(database.warnings().len() == 1 && database.warnings()[0].contains(said), "{:?}", database.warnings());
    }
}

#[test]
fn who_may_not_make_procedures_asks_by_texts() {
    let script = granting().row("CREATE PROCEDURE'", &[BigInt(0)]);
    let mut session = session(&script);
    let before = script.asked().len();
    assert!(!session.make_procedures(&table()).unwrap());
    assert_eq!(script.asked().len(), before);
    assert!(
        described(&script).unwrap().description.warnings.iter().any(|warning| warning.contains("CREATE PROCEDURE"))
    );
}

#[test]
fn procedures_of_a_place_go_with_it() {
    let (_, clock) = clock();
    let names = |names: &[&'static str]| [Said::Rows(names.iter().map(|name| vec![Text(name)]).collect())];
    let within = |names: &[&'static str]| {
        [Said::Rows(names.iter().map(|name| vec![Text("SQL_STORED_PROCEDURE"), Text(name)]).collect())]
    };
    let script = everything()
        .row("sys.extended_properties", &[Text(super::mark())])
        .on("UNION ALL SELECT N'FOREIGN KEY", within(&["plimsoll_insert_t", "plimsoll_read_t"]))
        .on("sys.tables", names(&["t"]))
        .on("k.parent_object_id", [Said::Rows(vec![vec![Text("t"), Text("k")]])])
        .on("sys.sql_expression_dependencies", names(&[]))
        .on("DROP", [Said::Rows(Vec::new())])
        .on("TRANSACTION", [Said::Rows(Vec::new())])
        .on("SET LOCK_TIMEOUT", [Said::Rows(Vec::new())]);
    let connector = script.connector(URL, &clock);
    let drop_schema = || workspace::drop_schema(&mut super::control(&connector), &Workspace::run("a1").unwrap());
    drop_schema().unwrap();
    let dropped: Vec<String> = script.asked().into_iter().filter(|sql| sql.contains("DROP ")).collect();
    assert_eq!(
        dropped,
        [
            "IF EXISTS (SELECT 1 FROM sys.foreign_keys k WHERE k.schema_id = SCHEMA_ID(N'plimsoll_run_a1') AND k.name = N'k')\n  \
             ALTER TABLE [plimsoll_run_a1].[t] DROP CONSTRAINT [k]",
            "DROP TABLE IF EXISTS [plimsoll_run_a1].[t]",
            "DROP PROCEDURE IF EXISTS [plimsoll_run_a1].[plimsoll_insert_t]",
            "DROP PROCEDURE IF EXISTS [plimsoll_run_a1].[plimsoll_read_t]",
            "DROP SCHEMA [plimsoll_run_a1]",
        ]
    );
    assert_eq!(script.asked().last().map(String::as_str), Some("COMMIT TRANSACTION"));
    // Something of which nobody told us keeps one of the tables, and so all.
    let script = script.on("DROP SCHEMA", [Said::Fault(super::scripted::refusal(3729)), Said::Rows(Vec::new())]);
    assert_eq!(drop_schema().unwrap_err().code.as_deref(), Some("3729"));
    assert!(script.asked().last().is_some_and(|sql| sql.ends_with("ROLLBACK TRANSACTION")));
    // Nothing of others goes with it, be it inside or elsewhere.
    let mut script = script
        .on("sys.sql_expression_dependencies", [Said::Rows(vec![vec![Text("VIEW"), Text("elsewhere")]])])
        .on("UNION ALL SELECT N'FOREIGN KEY", [Said::Rows(vec![vec![Text("VIEW"), Text("theirs")]])]);
    let before = script.asked().len();
    let error = drop_schema().unwrap_err();
    assert!(error.kind == ErrorKind::Safety, "{error:?}");
    assert!(error.message.contains("VIEW theirs") && error.message.contains("VIEW elsewhere"), "{error:?}");
    assert!(!script.asked().iter().skip(before).any(|sql| sql.starts_with("DROP")));
    // Nor what the server may take for one of ours by its name.
    for theirs in ["PLIMSOLL_READ_T", "plimsöll_read_t"] {
        script = script.on("UNION ALL SELECT N'FOREIGN KEY", within(&["plimsoll_read_t", theirs]));
        let error = drop_schema().unwrap_err();
        assert!(error.message.contains(theirs) && !error.message.contains("plimsoll_read_t"), "{error:?}");
    }
}

#[test]
fn the_plan_of_a_statement_is_read_back() {
    const XML: &str = include_str!("plans/parallel.xml");
    let plans = |row: Vec<Value<'static>>| granting().on("q.last_dop", [Said::Rows(vec![row])]);
    let sql = dialect::of(true).join_in_parallel("cpu").unwrap();
    let script = plans(vec![BigInt(8), Text(XML)]);
    let plan = session(&script).plan(&sql).unwrap().unwrap();
    assert_eq!(plan.degree, Some(8));
    assert!(plan.joins_by_loops && plan.shape.starts_with("Compute Scalar ("), "{plan:?}");
    // What is no plan, or is none for us, is absent.
    assert_eq!(session(&plans(vec![BigInt(8), Value::Null])).plan(&sql).unwrap(), None);
    assert_eq!(session(&granting().on("q.last_dop", [Said::Rows(Vec::new())])).plan(&sql).unwrap(), None);
    assert_eq!(session(&granting().refuses("dm_exec_query_stats", 300)).plan(&sql).unwrap(), None);
}
