//! The line against a server of our own that speaks TDS (`plimsoll_testbed::tds`), written from the protocol's document.

mod answers;
mod loads;
mod refusals;

use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::target::Secret;
use plimsoll_testbed::tds::{
    Attention, Column, Datum, Encryption, Identity, Kind, Outcome as Said, Refusal, Reply, Request, TdsBuilder,
    TdsServer,
};

use super::*;

fn endpoint(server: &TdsServer) -> Endpoint {
    Endpoint { host: "127.0.0.1".to_owned(), port: Some(server.port()), instance: None }
}

fn login() -> Login {
    Login {
        database: "sales".to_owned(),
        auth: Auth::Password { user: "ann".to_owned(), password: Secret::new("pl4nted ä") },
        encrypt: Encrypt::Optional,
        trust_server_certificate: false,
        host_name_in_certificate: None,
        server_certificate: None,
        connect_timeout_s: 20,
        command_timeout_s: 0,
        packet_size: 8000,
        multi_subnet_failover: false,
        read_only: false,
    }
}

fn connect(server: &TdsServer) -> Client {
    Client::connect(&endpoint(server), &login(), "plimsoll test").unwrap()
}

/// A server with these settings that always says the same.
fn saying(builder: TdsBuilder, reply: impl Fn() -> Reply + Send + Sync + 'static) -> (TdsServer, Client) {
    let server = builder.start(move |_, _| reply()).unwrap();
    let client = connect(&server);
    (server, client)
}

/// One column and value for each type that we read, with what it is to us.
fn types() -> Vec<(Kind, Datum, ColumnType, Value<'static>)> {
    let day = 719_162;
    vec![
        (Kind::Bit, Datum::Bit(true), ColumnType::Bit, Value::Bit(true)),
        (Kind::BitNull, Datum::Bit(false), ColumnType::Bit, Value::Bit(false)),
        (Kind::Integer(1), Datum::Integer(200), ColumnType::TinyInt, Value::TinyInt(200)),
        (Kind::Integer(2), Datum::Integer(-300), ColumnType::SmallInt, Value::SmallInt(-300)),
        (Kind::Integer(4), Datum::Integer(-70_000), ColumnType::Int, Value::Int(-70_000)),
        (Kind::Integer(8), Datum::Integer(i64::MIN), ColumnType::BigInt, Value::BigInt(i64::MIN)),
        (Kind::IntegerNull(4), Datum::Integer(7), ColumnType::BigInt, Value::BigInt(7)),
        (Kind::Decimal(38, 0), Datum::Decimal(-12), ColumnType::BigInt, Value::BigInt(-12)),
        (Kind::Decimal(9, 2), Datum::Decimal(150), ColumnType::Float, Value::Float(1.5)),
        (Kind::Float(4), Datum::Float(0.5), ColumnType::Float, Value::Float(0.5)),
        (Kind::FloatNull(8), Datum::Float(-1e300), ColumnType::Float, Value::Float(-1e300)),
        (Kind::Money, Datum::Money(-12_345), ColumnType::Money, Value::Money(-12_345)),
        (Kind::MoneyNull(8), Datum::Money(i64::MAX), ColumnType::Money, Value::Money(i64::MAX)),
        (Kind::MoneyNull(4), Datum::Money(-1), ColumnType::Money, Value::Money(-1)),
        (Kind::DateTime, Datum::DateTime(25_567, 1), ColumnType::DateTime, Value::DateTime(3)),
        (Kind::Date, Datum::DateTime2(day + 1, 0), ColumnType::DateTime, Value::DateTime(86_400_000)),
        (Kind::DateTime2(3), Datum::DateTime2(day, 1), ColumnType::DateTime, Value::DateTime(1)),
        (Kind::DateTime2(7), Datum::DateTime2(day - 1, 863_999_990_000), ColumnType::DateTime, Value::DateTime(-1)),
        (Kind::DateTime2(0), Datum::DateTime2(day, 2), ColumnType::DateTime, Value::DateTime(2000)),
        (Kind::VarChar(Some(20)), Datum::from("varchar"), ColumnType::Text(20), Value::Text("varchar")),
        (Kind::Char(3), Datum::from("abc"), ColumnType::Text(3), Value::Text("abc")),
        (Kind::NVarChar(Some(40)), Datum::from("zwölf €"), ColumnType::Text(40), Value::Text("zwölf €")),
        (Kind::NVarChar(None), Datum::from("longest"), ColumnType::Text(40), Value::Text("longest")),
        (Kind::VarChar(None), Datum::from("long"), ColumnType::Text(40), Value::Text("long")),
        (Kind::IntegerNull(8), Datum::Null, ColumnType::BigInt, Value::Null),
        (Kind::FloatNull(8), Datum::Null, ColumnType::Float, Value::Null),
        (Kind::MoneyNull(8), Datum::Null, ColumnType::Money, Value::Null),
        (Kind::DateTime2(3), Datum::Null, ColumnType::DateTime, Value::Null),
        (Kind::VarChar(Some(9)), Datum::Null, ColumnType::Text(9), Value::Null),
        (Kind::NVarChar(None), Datum::Null, ColumnType::Text(9), Value::Null),
    ]
}

fn columns_and_row() -> (Vec<Column>, Vec<Datum>) {
    let columns =
        types().iter().zip(1..).map(|((kind, ..), number)| Column::new(&format!("c{number}"), *kind)).collect();
    (columns, types().into_iter().map(|(_, datum, ..)| datum).collect())
}

fn check_all_types(client: &mut Client, parameters: &[Value<'_>]) {
    let asked: Vec<ColumnType> = types().iter().map(|(.., asked, _)| *asked).collect();
    let rows = client.rows("SELECT everything", parameters, &asked).unwrap();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        for (index, (kind, .., expected)) in types().iter().enumerate() {
            assert_eq!(row.get(index), *expected, "{kind:?}");
        }
    }
}

fn two_rows() -> Reply {
    let (columns, row) = columns_and_row();
    Reply::rows(columns, vec![row.clone(), row])
}

#[test]
fn who_logs_in_says_who_it_is_and_no_more() {
    let (server, mut client) = saying(TdsServer::builder(), Reply::default);
    client.run("SELECT 1").unwrap();
    let login = server.logins().remove(0);
    assert_eq!((login.user.as_str(), login.password.as_str()), ("ann", "pl4nted ä"));
    assert_eq!((login.application.as_str(), login.workstation.as_str()), ("plimsoll test", "plimsoll"));
    assert_eq!((login.database.as_str(), login.packet_bytes, login.read_only), ("sales", 8000, false));
    assert!(!client.is_dead());
}

#[test]
fn every_type_is_read_by_text_and_by_call_with_nulls_in_bits_or_not() {
    let (_server, mut client) = saying(TdsServer::builder(), two_rows);
    check_all_types(&mut client, &[]);
    for _ in 0..3 {
        check_all_types(&mut client, &[Value::Int(1)]);
    }
    let (_server, mut client) = saying(TdsServer::builder(), || {
        let (columns, row) = columns_and_row();
        Reply(vec![Said::RowsWithoutNulls(columns, Box::new(vec![row.clone(), row].into_iter()))])
    });
    check_all_types(&mut client, &[]);
    check_all_types(&mut client, &[Value::Null]);
}

#[test]
fn answers_may_be_cut_at_every_byte() {
    let (_server, mut client) = saying(TdsServer::builder().trickles(), two_rows);
    check_all_types(&mut client, &[]);
    // Longer than a row, so that every place within one is the end of a packet.
    for bytes in 1..420 {
        let (_server, mut client) = saying(TdsServer::builder().first_packet_ends_after(bytes), two_rows);
        check_all_types(&mut client, &[Value::Int(1)]);
    }
    for bytes in [9, 10, 11, 15, 63] {
        let (_server, mut client) = saying(TdsServer::builder().packet_bytes(bytes), two_rows);
        check_all_types(&mut client, &[]);
    }
}

#[test]
fn statements_are_prepared_once_for_each_kind_of_values() {
    let (server, mut client) = saying(TdsServer::builder(), || Reply::count(3));
    let values = [
        Value::Bit(true),
        Value::TinyInt(255),
        Value::SmallInt(-1),
        Value::Int(-2),
        Value::BigInt(i64::MAX),
        Value::Float(0.25),
        Value::Money(-12_345),
        Value::DateTime(1),
        Value::Text("it's"),
        Value::Text("ä"),
        Value::Null,
    ];
    for value in values {
        for _ in 0..2 {
            assert_eq!(client.query("UPDATE t SET a = @P1", &[value], &[], &mut |_| Ok(())).unwrap(), 3);
            assert_eq!(client.ask("UPDATE t SET a = @P1", &[value], Some(&[])).unwrap().rows, 3);
        }
    }
    let mut seen = Vec::new();
    for request in server.requests() {
        let Request::Call(call) = request else { panic!("{request:?}") };
        assert_eq!(call.sql, "UPDATE t SET a = @P1");
        assert_eq!(call.parameters[0].0, "@P1");
        seen.push((call.declarations, call.parameters[0].1.clone(), call.by_handle));
    }
    let expected = [
        // The driver sends a bit as a whole number and declares it as a bit.
        ("@P1 bit", Datum::Integer(1)),
        ("@P1 tinyint", Datum::Integer(255)),
        ("@P1 smallint", Datum::Integer(-1)),
        ("@P1 int", Datum::Integer(-2)),
        ("@P1 bigint", Datum::Integer(i64::MAX)),
        ("@P1 float", Datum::Float(0.25)),
        ("@P1 money", Datum::Money(-12_345)),
        ("@P1 datetime2(3)", Datum::DateTime2(719_162, 1)),
        ("@P1 varchar(8000)", Datum::from("it's")),
        ("@P1 nvarchar(4000)", Datum::from("ä")),
        ("@P1 nvarchar(4000)", Datum::Null),
    ];
    for ((declaration, datum), seen) in expected.iter().zip(seen.chunks(4)) {
        for (index, (declared, value, by_handle)) in seen.iter().enumerate() {
            assert_eq!((declared.trim_end(), value), (*declaration, datum));
            assert_eq!(*by_handle, index > 0, "{declaration}");
        }
    }
}

#[test]
fn procedures_are_called_by_their_names() {
    let (server, mut client) = saying(TdsServer::builder(), two_rows);
    let asked: Vec<ColumnType> = types().iter().map(|(.., asked, _)| *asked).collect();
    let values = [Value::Int(7), Value::Text("x"), Value::Null];
    for _ in 0..2 {
        let answer = client.ask("EXEC [p].[read] @P1, @P2, @P3", &values, Some(&asked)).unwrap();
        assert_eq!(answer.rows, 2);
    }
    let rows = client.query("EXEC [p].[read] @P1, @P2, @P3", &values, &asked, &mut |_| Ok(())).unwrap();
    assert_eq!(rows, 0);
    for request in server.requests() {
        let Request::Call(call) = request else { panic!("{request:?}") };
        assert_eq!((call.sql.as_str(), call.declarations.as_str()), ("[p].[read]", ""));
        let seen: Vec<(&str, &Datum)> = call.parameters.iter().map(|(name, value)| (name.as_str(), value)).collect();
        assert_eq!(seen, [("", &Datum::Integer(7)), ("", &Datum::from("x")), ("", &Datum::Null)]);
    }
    // Whatever else is in a text makes it a statement.
    for sql in ["EXEC [p].[read] @P2, @P1", "EXEC [p].[read] @P1, @P2; SELECT 1", "EXEC [p].[read] @P1"] {
        client.ask(sql, &[Value::Int(7), Value::Int(8)], Some(&asked)).unwrap();
        let Some(Request::Call(call)) = server.requests().pop() else { panic!("no call") };
        assert_eq!(call.sql, sql);
    }
}

#[test]
fn long_texts_go_as_large_objects() {
    let (server, mut client) = saying(TdsServer::builder(), || Reply::count(1));
    let (narrow, wide) = ("x".repeat(20_000), "ä".repeat(5_000));
    for text in ["short", &narrow, "ä", &wide, "short again"] {
        client.query("UPDATE t SET a = @P1", &[Value::Text(text)], &[], &mut |_| Ok(())).unwrap();
    }
    let mut seen = Vec::new();
    for request in server.requests() {
        let Request::Call(call) = request else { panic!("{request:?}") };
        let Datum::Text(text) = &call.parameters[0].1 else { panic!("{call:?}") };
        seen.push((call.declarations.trim_end().to_lowercase(), text.chars().count()));
    }
    let declared =
        ["@p1 varchar(8000)", "@p1 varchar(max)", "@p1 nvarchar(4000)", "@p1 nvarchar(max)", "@p1 varchar(8000)"];
    assert_eq!(seen, declared.map(str::to_owned).into_iter().zip([5, 20_000, 1, 5_000, 11]).collect::<Vec<_>>());
}

/// Bytes of memory that this process has at most had for itself so far.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Rows are handed over as they arrive, and loaded as they are made: memory does not grow with them.
#[test]
fn rows_stream_in_little_memory() {
    const ROWS: u64 = 200_000;
    let columns = || vec![Column::new("a", Kind::Integer(8)), Column::new("b", Kind::VarChar(Some(400)))];
    let server = TdsServer::builder().start(move |_, _| {
        let row = |number: u64| vec![Datum::Integer(number as i64), Datum::Text("x".repeat(400))];
        Reply(vec![Said::Rows(columns(), Box::new((0..ROWS).map(row)))])
    });
    let mut client = connect(&server.unwrap());
    let before = most_memory();
    let mut seen = 0;
    let types = [ColumnType::BigInt, ColumnType::Text(400)];
    client
        .query("SELECT everything", &[], &types, &mut |row| {
            assert_eq!(row.get(0), Value::BigInt(seen));
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen as u64, ROWS);
    // 80 MB went by; other tests run in this process, too.
    let grown = most_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
}

#[test]
fn a_gateway_may_send_us_on() {
    let server = TdsServer::builder().start(|_, _| Reply::count(1)).unwrap();
    let gateway = TdsServer::builder().sends_on_to("127.0.0.1", server.port()).start(|_, _| Reply::default()).unwrap();
    let mut client = connect(&gateway);
    assert_eq!(client.run("x"), Ok(1));
    assert_eq!((gateway.logins().len(), server.logins().len()), (1, 1));
}

#[test]
fn results_and_counts_of_several_statements_come_together() {
    let (_server, mut client) = saying(TdsServer::builder(), || {
        let (columns, row) = (vec![Column::new("a", Kind::Integer(4))], vec![Datum::Integer(5)]);
        Reply(vec![
            Said::Message("be patient".to_owned()),
            Said::Count(2),
            Said::Rows(columns.clone(), Box::new([row.clone()].into_iter())),
            Said::Count(3),
            Said::Rows(columns, Box::new([row.clone(), row].into_iter())),
        ])
    });
    let mut seen = 0;
    let changed = client.query("x", &[], &[ColumnType::Int], &mut |row| {
        assert_eq!(row.get(0), Value::Int(5));
        seen += 1;
        Ok(())
    });
    assert_eq!((changed, seen), (Ok(5), 3));
    assert_eq!(client.ask("x", &[], None).unwrap(), Answer { rows: 8, content_bytes: 12 });
    assert_eq!(client.ask("x", &[], Some(&[ColumnType::BigInt])).unwrap(), Answer { rows: 8, content_bytes: 24 });
}

#[test]
fn an_error_leaves_the_line_usable_wherever_it_comes() {
    let server = TdsServer::builder().start(|request, _| {
        let rows = || {
            let columns = vec![Column::new("a", Kind::Integer(4))];
            Said::Rows(columns, Box::new([vec![Datum::Integer(5)]].into_iter()))
        };
        let error = Said::Error(Refusal::new(1205, "You lost."));
        match request.sql() {
            "first" => Reply(vec![error]),
            "later" => Reply(vec![rows(), error]),
            "middle" => Reply(vec![rows(), error, rows()]),
            _ => Reply(vec![rows()]),
        }
    });
    let mut client = connect(&server.unwrap());
    for parameters in [&[][..], &[Value::Int(1)]] {
        for sql in ["first", "later", "middle"] {
            let server_error =
                ServerError { number: 1205, state: 1, class: 16, line: Some(1), message: "You lost.".to_owned() };
            let expected = Fault::Server(vec![server_error]);
            assert_eq!(
                client.query(sql, parameters, &[ColumnType::Int], &mut |_| Ok(())),
                Err(expected.clone()),
                "{sql}"
            );
            assert!(!client.is_dead(), "{sql}");
            assert_eq!(client.ask(sql, parameters, Some(&[ColumnType::Int])), Err(expected), "{sql}");
            let answer = client.ask("good", parameters, Some(&[ColumnType::Int])).unwrap();
            assert_eq!(answer, Answer { rows: 1, content_bytes: 4 }, "{sql}");
        }
    }
}

#[test]
fn whoever_has_enough_gets_no_more_and_the_line_goes_on() {
    let (server, mut client) = saying(TdsServer::builder(), || {
        let columns = vec![Column::new("a", Kind::VarChar(Some(900)))];
        let row = vec![Datum::Text("x".repeat(900))];
        Reply::rows(columns, vec![row; 5000])
    });
    let mut seen = 0;
    let enough = Error::new(ErrorKind::Statement, "enough");
    let outcome = client.query("x", &[], &[ColumnType::Text(900)], &mut |_| {
        seen += 1;
        if seen == 3 { Err(enough.clone()) } else { Ok(()) }
    });
    assert_eq!((outcome, seen), (Err(Fault::Ours(enough)), 3));
    assert!(!client.is_dead() && server.attentions() == 1);
    assert_eq!(client.ask("x", &[], None).unwrap().rows, 5000);
}

#[test]
fn a_value_that_was_not_asked_for_is_said_and_nothing_is_guessed() {
    let (_server, mut client) = saying(TdsServer::builder(), || {
        Reply::rows(vec![Column::new("a", Kind::Guid)], vec![vec![Datum::Bytes(vec![0; 16])]])
    });
    let fault = client.rows("x", &[], &[ColumnType::Int]).unwrap_err();
    assert_eq!(fault, Fault::Driver("a value of type uniqueidentifier can't be read as Int".to_owned()));
    let fault = client.rows("x", &[], &[ColumnType::Int, ColumnType::Int]).unwrap_err();
    assert!(matches!(fault, Fault::Driver(_)) && !client.is_dead());
    assert_eq!(client.ask("x", &[], None).unwrap(), Answer { rows: 1, content_bytes: 16 });
}

#[test]
fn content_is_what_the_server_has_of_it() {
    // As DATALENGTH has it: an nvarchar takes two bytes for a character, and one beyond the basic plane four.
    let (_server, mut client) = saying(TdsServer::builder(), || {
        let columns =
            vec![Column::new("wide", Kind::NVarChar(Some(20))), Column::new("narrow", Kind::VarChar(Some(20)))];
        Reply::rows(columns, vec![vec![Datum::from("aä😀"), Datum::from("abc")]])
    });
    assert_eq!(client.ask("x", &[], None).unwrap(), Answer { rows: 1, content_bytes: 8 + 3 });
}

/// A server that answers `slow` only when it is stopped.
fn slow(attention: Attention) -> (TdsServer, Client) {
    let server = TdsServer::builder().attention(attention).start(|request, _| match request.sql() {
        "slow" => Reply(vec![Said::Wait(None)]),
        "slow rows" => {
            let columns = vec![Column::new("a", Kind::Integer(4))];
            let rows = [vec![Datum::Integer(1)]].into_iter();
            Reply(vec![Said::Rows(columns, Box::new(rows)), Said::Wait(None)])
        }
        _ => Reply::count(1),
    });
    let server = server.unwrap();
    let client = connect(&server);
    (server, client)
}

/// Cancels as soon as the server has got the request.
fn cancelling<T: Send>(server: &TdsServer, client: &mut Client, work: impl FnOnce(&mut Client) -> T + Send) -> T {
    let before = server.requests().len();
    cancelling_when(|| server.requests().len() > before, |cancel| cancel.cancel(), client, work)
}

/// Cancels in one way or another once something has happened.
fn cancelling_when<T: Send>(
    mut happened: impl FnMut() -> bool + Send,
    cancel: fn(&dyn Cancel),
    client: &mut Client,
    work: impl FnOnce(&mut Client) -> T + Send,
) -> T {
    let canceller = client.canceller();
    std::thread::scope(|scope| {
        let cancelling = scope.spawn(move || {
            let clock = RealClock::new();
            while !happened() {
                clock.sleep(Duration::from_millis(50));
            }
            cancel(canceller.as_ref());
        });
        let done = work(client);
        cancelling.join().unwrap();
        done
    })
}

#[test]
fn a_cancelled_statement_ends_and_the_line_goes_on() {
    for attention in [Attention::Confirmed, Attention::Late(Duration::from_millis(300))] {
        let (server, mut client) = slow(attention);
        for (sql, parameters) in
            [("slow", &[][..]), ("slow", &[Value::Int(1)]), ("slow rows", &[]), ("slow rows", &[Value::Int(1)])]
        {
            let outcome = cancelling(&server, &mut client, |client| {
                client.query(sql, parameters, &[ColumnType::Int], &mut |_| Ok(()))
            });
            assert_eq!(outcome, Err(Fault::Cancelled), "{sql}");
            assert!(!client.is_dead(), "{sql}");
            assert_eq!(client.run("quick"), Ok(1), "{sql}");
        }
        // Whoever cancels when nothing runs does no harm.
        client.canceller().cancel();
        assert_eq!(client.run("quick"), Ok(1));
    }
}

#[test]
fn a_statement_that_hangs_is_given_up_in_time_and_the_session_known_to_be_dead() {
    let clock = RealClock::new();
    for sql in ["slow", "slow rows"] {
        let (server, mut client) = slow(Attention::Ignored);
        client.command_timeout_for_tests(1);
        let start = clock.now();
        let fault = client.query(sql, &[], &[ColumnType::Int], &mut |_| Ok(())).unwrap_err();
        let taken = clock.now().since(start);
        assert!(taken >= Duration::from_secs(1), "{taken:?}");
        assert!(matches!(fault, Fault::TimedOut | Fault::Closed(_)), "{fault:?}");
        assert!(client.is_dead());
        assert_eq!(server.attentions(), 1);
        assert!(client.run("quick").is_err());
    }

    let (_server, mut client) = slow(Attention::Confirmed);
    client.command_timeout_for_tests(1);
    assert_eq!(client.run("slow"), Err(Fault::TimedOut));
    assert!(!client.is_dead());
    assert_eq!(client.run("quick"), Ok(1));
}

#[test]
fn a_line_may_be_broken_off_by_us() {
    for sql in ["slow", "slow rows"] {
        let (server, mut client) = slow(Attention::Ignored);
        let fault = cancelling_when(
            || server.requests().len() == 1,
            |cancel| cancel.sever(),
            &mut client,
            |client| client.query(sql, &[], &[ColumnType::Int], &mut |_| Ok(())).unwrap_err(),
        );
        assert!(matches!(fault, Fault::Closed(_)), "{fault:?}");
        assert!(client.is_dead() && server.attentions() == 0);
        assert!(client.run("quick").is_err());
    }
    // Also while nothing runs on it: who works on it next learns of it.
    let (server, mut client) = slow(Attention::Confirmed);
    client.canceller().sever();
    assert!(matches!(client.run("quick"), Err(Fault::Closed(_))));
    assert!(client.is_dead() && server.requests().is_empty());
}

#[test]
fn a_line_that_is_cut_is_dead_wherever_that_happens() {
    for bytes in [0, 1, 7, 30, 100, 300] {
        let (_server, mut client) = saying(TdsServer::builder(), move || {
            let Reply(mut said) = two_rows();
            said.insert(0, Said::CutAfter(bytes));
            Reply(said)
        });
        let fault = client.rows("x", &[], &[ColumnType::Bit]).unwrap_err();
        assert!(matches!(fault, Fault::Closed(_)), "{bytes}: {fault:?}");
        assert!(client.is_dead(), "{bytes}");
    }
}

#[test]
fn a_refused_login_is_told_by_number() {
    let refusal = Refusal { number: 18456, state: 1, class: 14, message: "Login failed for user 'ann'.".to_owned() };
    let builder = TdsServer::builder().admission(move |_| Err(refusal.clone()));
    let server = builder.start(|_, _| Reply::default()).unwrap();
    let fault = Client::connect(&endpoint(&server), &login(), "x").err().unwrap();
    let Fault::Server(server_errors) = fault else { panic!("{fault:?}") };
    assert_eq!((server_errors[0].number, server_errors[0].class, server_errors[0].state), (18456, 14, 1));
}

#[test]
fn nobody_there_is_no_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port: Some(port), instance: None };
    let fault = Client::connect(&endpoint, &login(), "x").err().unwrap();
    assert!(matches!(&fault, Fault::Closed(why) if why.contains("refused")), "{fault:?}");
}

#[test]
fn a_server_that_says_nothing_is_left_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port: Some(port), instance: None };
    let login = Login { connect_timeout_s: 1, ..login() };
    assert_eq!(Client::connect(&endpoint, &login, "x").err(), Some(Fault::TimedOut));
}

#[test]
fn an_address_may_be_of_the_longer_kind() {
    // Not every machine has them.
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
    let port = listener.local_addr().unwrap().port();
    let endpoint = Endpoint { host: "::1".to_owned(), port: Some(port), instance: None };
    let login = Login { connect_timeout_s: 1, ..login() };
    // Somebody is there, and says nothing.
    assert_eq!(Client::connect(&endpoint, &login, "x").err(), Some(Fault::TimedOut));
}

#[test]
fn a_token_logs_in_without_a_password() {
    let server = TdsServer::builder().start(|_, _| Reply::count(1)).unwrap();
    let login = Login { auth: Auth::Token(Secret::new("planted.token")), read_only: true, ..login() };
    let mut client = Client::connect(&endpoint(&server), &login, "x").unwrap();
    assert_eq!(client.run("x"), Ok(1));
    let login = server.logins().remove(0);
    assert_eq!((login.token.as_deref(), login.user.as_str(), login.password.as_str()), (Some("planted.token"), "", ""));
    assert!(login.read_only);
}

#[test]
fn tls_is_verified_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    for (encryption, encrypt) in [
        (Encryption::Full, Encrypt::Mandatory),
        (Encryption::Full, Encrypt::Optional),
        (Encryption::Strict, Encrypt::Strict),
    ] {
        let identity = Identity::make("localhost", folder.path()).unwrap();
        let server = TdsServer::builder().encryption(encryption, identity).start(|_, _| two_rows()).unwrap();
        let endpoint = Endpoint { host: "localhost".to_owned(), port: Some(server.port()), instance: None };
        let verified = Login { encrypt, ..login() };
        let fault = Client::connect(&endpoint, &verified, "x").err().unwrap();
        assert!(matches!(&fault, Fault::Tls(why) if why.contains("certificate")), "{encryption:?}: {fault:?}");
        assert!(server.logins().is_empty());
        let trusting = Login { trust_server_certificate: true, ..verified.clone() };
        let pinned =
            Login { server_certificate: Some(folder.path().join("certificate.pem").display().to_string()), ..verified };
        // With TDS 8 the certificate is verified whatever somebody wants.
        let accepted = if encrypt == Encrypt::Strict { vec![pinned] } else { vec![pinned, trusting] };
        for login in accepted {
            let mut client = Client::connect(&endpoint, &login, "x").unwrap();
            check_all_types(&mut client, &[Value::Int(1)]);
        }
    }
}

#[test]
fn only_the_login_may_be_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::make("localhost", folder.path()).unwrap();
    let server = TdsServer::builder().encryption(Encryption::LoginOnly, identity).start(|_, _| two_rows()).unwrap();
    let mut client = connect(&server);
    check_all_types(&mut client, &[]);
    assert_eq!(server.logins()[0].user, "ann");
}

#[test]
fn a_server_without_tls_is_no_safe_one() {
    let server = TdsServer::builder().start(|_, _| Reply::default()).unwrap();
    for encrypt in [Encrypt::Mandatory, Encrypt::Strict] {
        let login = Login { encrypt, connect_timeout_s: 5, ..login() };
        assert!(Client::connect(&endpoint(&server), &login, "x").is_err(), "{encrypt:?}");
        assert!(server.logins().is_empty(), "{encrypt:?}");
    }
}
