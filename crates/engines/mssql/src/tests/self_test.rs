//! A self-test of the statements against a server of our own that speaks TDS.

use plimsoll_clock::RealClock;
use plimsoll_engine::{Database as _, SelfTest};
use plimsoll_testbed::tds::{Column, Datum, Kind, Refusal, Reply, Request, TdsServer, answers};

use super::*;
use crate::database::MssqlDatabase;
use crate::sql::{self, STATEMENTS};

fn server() -> TdsServer {
    let script = |request: &Request| match request.sql() {
        sql if sql.contains("ORIGINAL_LOGIN") => {
            let names = ["planted login", "dbo", "H1", "planted machine", ""];
            answers::one(names.map(Datum::from).to_vec())
        }
        sql if sql.contains("growth") => {
            let columns = vec![Column::new("", Kind::NVarChar(Some(256))), Column::new("size", Kind::IntegerNull(8))];
            Reply::rows(columns, vec![vec![Datum::from("sales"), Datum::Null], vec![Datum::from("log"), Datum::Null]])
        }
        sql if sql.contains("dm_os_schedulers") => Reply::error(Refusal::new(300, "VIEW SERVER STATE was denied.")),
        _ => answers::usual(request),
    };
    TdsServer::builder().start(move |request, _| script(request)).unwrap()
}

fn opened(server: &TdsServer) -> Box<dyn SelfTest> {
    let url = format!("mssql://ann:pl4nted@127.0.0.1:{}/sales?encrypt=false", server.port());
    let location = crate::url::Location::parse(&plimsoll_engine::Target::parse(&url).unwrap()).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let dial = Box::new(crate::connect::ByDriver);
    let credentials = plimsoll_engine::Credentials::default();
    let connector = Connector::new(location, &credentials, &|_| None, dial, &clock).unwrap();
    MssqlDatabase::open(connector).unwrap().self_test().unwrap().unwrap()
}

#[test]
fn statements_are_sent_and_their_answers_looked_at() {
    let server = server();
    let mut tester = opened(&server);
    assert_eq!(tester.edition(), Some("2022"));
    for name in ["ann", "127.0.0.1", "sales", "H1", "planted login", "planted machine", "dbo"] {
        assert!(tester.names().iter().any(|known| known == name), "{name}: {:?}", tester.names());
    }
    assert!(!tester.names().iter().any(|name| name.is_empty() || name.contains("pl4nted")));

    let entry = |text: sql::Text| STATEMENTS.get(text.name());
    let shape = tester.send(entry(sql::FILES), sql::FILES.sql(), &[]).unwrap().unwrap();
    let kinds: Vec<_> = shape.columns.iter().map(|column| (column.name.as_str(), column.kind.as_str())).collect();
    assert_eq!(kinds, [("", "nvarchar"), ("size", "bigint")]);
    assert_eq!((shape.rows, shape.filled), (2, vec![true, false]));

    let refused = tester.send(entry(sql::SCHEDULERS), sql::SCHEDULERS.sql(), &[]).unwrap().unwrap_err();
    assert_eq!((refused.code.as_str(), refused.at), ("300", Some(1)));
    assert_eq!(refused.error.kind, ErrorKind::Permission);
    // What answers nothing has no columns, and values go with a statement that has parameters.
    let shape = tester.send(entry(sql::ROLLBACK), sql::ROLLBACK.sql(), &[]).unwrap().unwrap();
    assert_eq!(shape, plimsoll_engine::Shape::default());
    let shape = tester.send(entry(sql::IS_FREE), sql::IS_FREE.sql(), &[Text("plimsoll lease x")]).unwrap();
    assert!(shape.is_ok(), "{shape:?}");
    assert_eq!(server.logins().last().unwrap().application, "plimsoll self-test");
}

#[test]
fn a_server_that_goes_ends_the_test() {
    let (_, clock) = clock();
    let script = everything().on("f.growth", [Said::Rows(Vec::new()), Said::Fault(Fault::Closed("reset".to_owned()))]);
    let database = MssqlDatabase::open(script.connector(URL, &clock)).unwrap();
    let mut tester = database.self_test().unwrap().unwrap();
    let error = tester.send(STATEMENTS.get(sql::FILES.name()), sql::FILES.sql(), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Lost);
    // A time-out of ours says how long it was.
    let slow = everything().on("f.growth", [Said::Rows(Vec::new()), Said::Fault(Fault::TimedOut)]);
    let database = MssqlDatabase::open(slow.connector(URL, &clock)).unwrap();
    let mut tester = database.self_test().unwrap().unwrap();
    let refused = tester.send(STATEMENTS.get(sql::FILES.name()), sql::FILES.sql(), &[]).unwrap().unwrap_err();
    assert!(refused.code.is_empty() && refused.error.message.contains("more than 15 s"), "{refused:?}");
}
