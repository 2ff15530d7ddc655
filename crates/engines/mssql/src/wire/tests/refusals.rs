//! The server of the tests refuses what is no T-SQL.

use super::*;

/// A text that can't be parsed fails a test, whatever the client makes of the error.
#[test]
fn the_testbeds_server_refuses_what_the_grammar_refuses() {
    let run = |builder: TdsBuilder, sql: &str, values: &[Value<'_>]| {
        let server = builder.start(|_, _| Reply::count(7)).unwrap();
        let mut client = connect(&server);
        let outcome = client.query(sql, values, &[], &mut |_| Ok(()));
        (outcome, server)
    };
    for (sql, number, message) in [
        ("CREATE TABLE t (RowCount int)", 156, "Incorrect syntax near the keyword 'RowCount'."),
        ("SELECT a FROM t ORDER BY a LIMIT 5", 102, "Incorrect syntax near 'LIMIT'."),
    ] {
        for values in [&[][..], &[Value::Int(1)]] {
            let (outcome, server) = run(TdsServer::builder(), sql, values);
            let Err(Fault::Server(errors)) = outcome else { panic!("{outcome:?}") };
            let found: Vec<_> =
                errors.iter().map(|error| (error.number, error.class, error.message.as_str())).collect();
            assert_eq!(found, [(number, 15, message)], "{sql}");
            assert_eq!(server.refused().len(), 1);
            let (outcome, _) = run(TdsServer::builder().takes_anything(), sql, values);
            assert_eq!(outcome, Ok(7), "{sql}");
        }
    }
}
