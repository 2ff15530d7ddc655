//! Bulk loads: what a server receives is what was made, or nothing.

use std::sync::atomic::{AtomicI64, Ordering};

use plimsoll_testbed::tds::{Column, Datum, Kind, Reply, Request, TdsServer};

use super::super::*;
use super::{cancelling_when, connect};

/// A table with a column of each type that we load, nullable or not.
fn loaded_table(can_be_null: bool) -> (Vec<Column>, Vec<ColumnType>) {
    let kinds = [
        (Kind::Bit, Kind::BitNull, ColumnType::Bit),
        (Kind::Integer(1), Kind::IntegerNull(1), ColumnType::TinyInt),
        (Kind::Integer(2), Kind::IntegerNull(2), ColumnType::SmallInt),
        (Kind::Integer(4), Kind::IntegerNull(4), ColumnType::Int),
        (Kind::Integer(8), Kind::IntegerNull(8), ColumnType::BigInt),
        (Kind::Float(8), Kind::FloatNull(8), ColumnType::Float),
        (Kind::Money, Kind::MoneyNull(8), ColumnType::Money),
        (Kind::DateTime2(3), Kind::DateTime2(3), ColumnType::DateTime),
        (Kind::VarChar(Some(30)), Kind::VarChar(Some(30)), ColumnType::Text(30)),
    ];
    let column = |((fixed, nullable, _), number): (&(Kind, Kind, ColumnType), i32)| {
        Column::new(&format!("c{number}"), if can_be_null { *nullable } else { *fixed })
    };
    (kinds.iter().zip(1..).map(column).collect(), kinds.iter().map(|(.., kind)| *kind).collect())
}

/// Makes so many rows, and then nothing more or an error.
struct Source {
    left: i64,
    fails: bool,
    nulls: bool,
}

impl RowSource for Source {
    fn next(&mut self, row: &mut Row) -> plimsoll_engine::error::Result<bool> {
        if self.left == 0 {
            let error = Error::new(ErrorKind::Internal, "no more rows can be made");
            return if self.fails { Err(error) } else { Ok(false) };
        }
        let number = self.left;
        self.left -= 1;
        if self.nulls && number % 2 == 0 {
            (0..9).for_each(|_| row.push(Value::Null));
            return Ok(true);
        }
        let small = (number % 200) as u8;
        for value in [
            Value::Bit(number % 3 == 0),
            Value::TinyInt(small),
            Value::SmallInt(-i16::from(small)),
            Value::Int(number as i32),
            Value::BigInt(-number),
            Value::Float(number as f64 / 4.0),
            Value::Money(-number * 12_345),
            Value::DateTime(-number * 1001),
            Value::Text(&"abcdefghij"[..usize::from(small % 10)]),
        ] {
            row.push(value);
        }
        Ok(true)
    }
}

/// What the server should have got for such a row.
fn received(number: i64, nulls: bool) -> Vec<Datum> {
    if nulls && number % 2 == 0 {
        return vec![Datum::Null; 9];
    }
    let (small, milliseconds) = (number % 200, -number * 1001);
    let days = 719_162 + milliseconds.div_euclid(86_400_000);
    vec![
        Datum::Bit(number % 3 == 0),
        Datum::Integer(small),
        Datum::Integer(-small),
        Datum::Integer(number),
        Datum::Integer(-number),
        Datum::Float(number as f64 / 4.0),
        Datum::Money(-number * 12_345),
        Datum::DateTime2(days as u32, milliseconds.rem_euclid(86_400_000) as u64),
        Datum::from(&"abcdefghij"[..(small % 10) as usize]),
    ]
}

fn loading_server(can_be_null: bool) -> TdsServer {
    let builder = TdsServer::builder().tables(move |name| (name == "[p].[t]").then(|| loaded_table(can_be_null).0));
    let answer = |request: &Request| match request {
        Request::Bulk(bulk) => Reply::count(bulk.rows.len() as u64),
        _ => Reply::count(1),
    };
    builder.start(move |request, _| answer(request)).unwrap()
}

#[test]
fn loaded_rows_arrive_as_they_were_made() {
    for nulls in [false, true] {
        let server = loading_server(nulls);
        let mut client = connect(&server);
        for table_lock in [false, true] {
            let mut source = Source { left: 3000, fails: false, nulls };
            let row_summary = client.load("[p].[t]", Loading { table_lock, batch_rows: 0 }, &mut source).unwrap();
            let Some(Request::Bulk(bulk)) = server.requests().pop() else { panic!("no rows were sent") };
            assert_eq!((row_summary.rows, bulk.rows.len()), (3000, 3000));
            // The driver gives every value a length, also where the column has none.
            assert_eq!(bulk.columns, loaded_table(true).0);
            assert_eq!(bulk.announcement.contains("TABLOCK"), table_lock);
            for (row, number) in bulk.rows.iter().zip((1..=3000).rev()) {
                assert_eq!(*row, received(number, nulls));
            }
        }
        assert_eq!(client.run("x"), Ok(1));
        assert!(server.server_errors().is_empty(), "{:?}", server.server_errors());
    }
}

#[test]
fn loads_may_be_made_of_batches() {
    let server = loading_server(false);
    let mut client = connect(&server);
    let loading = Loading { table_lock: true, batch_rows: 1000 };
    let row_summary = client.load("[p].[t]", loading, &mut Source { left: 2500, fails: false, nulls: false }).unwrap();
    assert_eq!(row_summary.rows, 2500);
    let batches = |server: &TdsServer| -> Vec<usize> {
        let rows = |request: Request| match request {
            Request::Bulk(bulk) => Some(bulk.rows.len()),
            _ => None,
        };
        server.requests().into_iter().filter_map(rows).collect()
    };
    assert_eq!(batches(&server), [1000, 1000, 500]);
    // Whole batches stay of a load that can't go on.
    let fault = client.load("[p].[t]", loading, &mut Source { left: 1500, fails: true, nulls: false }).unwrap_err();
    assert!(matches!(fault, Fault::Ours(_)) && !client.is_dead(), "{fault:?}");
    assert_eq!(batches(&server), [1000, 1000, 500, 1000]);
}

#[test]
fn a_load_that_can_not_go_on_leaves_nothing_and_the_line_usable() {
    let server = loading_server(false);
    let mut client = connect(&server);
    let loading = Loading { table_lock: true, batch_rows: 0 };
    let mut failing = Source { left: 2000, fails: true, nulls: false };
    let fault = client.load("[p].[t]", loading, &mut failing).unwrap_err();
    assert!(matches!(&fault, Fault::Ours(error) if error.message == "no more rows can be made"), "{fault:?}");
    let mut null = Source { left: 2000, fails: false, nulls: true };
    let fault = client.load("[p].[t]", loading, &mut null).unwrap_err();
    assert!(matches!(&fault, Fault::Ours(error) if error.message.ends_with("the column c1")), "{fault:?}");
    assert!(!server.requests().iter().any(|request| matches!(request, Request::Bulk(_))));
    assert!(server.attentions() == 2 && !client.is_dead());
    let fault = client.load("[p].[missing]", loading, &mut null).unwrap_err();
    assert!(matches!(&fault, Fault::Server(server_errors) if server_errors[0].number == 208), "{fault:?}");
    let mut good = Source { left: 10, fails: false, nulls: false };
    assert_eq!(client.load("[p].[t]", loading, &mut good).unwrap().rows, 10);
}

/// Makes rows for ever, and counts them.
struct Endless<'a>(&'a AtomicI64);

impl RowSource for Endless<'_> {
    fn next(&mut self, row: &mut Row) -> plimsoll_engine::error::Result<bool> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Source { left: number + 1, fails: false, nulls: false }.next(row)
    }
}

/// A server that lets a load begin and then listens no more takes what fits into the line, and says nothing.
#[test]
fn a_load_that_stalls_is_given_up() {
    let loading = Loading { table_lock: false, batch_rows: 0 };
    let stalled = |timeout_s: u32, cancel: Option<fn(&dyn Cancel)>| {
        let builder = TdsServer::builder().tables(|_| Some(loaded_table(false).0)).stalls_loads();
        let server = builder.start(|_, _| Reply::count(1)).unwrap();
        let mut client = connect(&server);
        client.command_timeout_for_tests(timeout_s);
        let made = AtomicI64::new(0);
        // It stalls once no more rows are asked for.
        let mut last = -1;
        let stalls = || {
            let now = made.load(Ordering::SeqCst);
            now > 0 && now == std::mem::replace(&mut last, now)
        };
        let fault = match cancel {
            None => client.load("[p].[t]", loading, &mut Endless(&made)).unwrap_err(),
            Some(cancel) => cancelling_when(stalls, cancel, &mut client, |client| {
                client.load("[p].[t]", loading, &mut Endless(&made)).unwrap_err()
            }),
        };
        assert!(client.is_dead() && client.run("x").is_err(), "{fault:?}");
        fault
    };
    assert_eq!(stalled(0, Some(|cancel| cancel.cancel())), Fault::Cancelled);
    assert_eq!(stalled(1, None), Fault::TimedOut);
    assert!(matches!(stalled(0, Some(|cancel| cancel.sever())), Fault::Closed(_)));
}

/// Rows go onto the line as they are made: memory does not grow with them.
#[test]
fn loads_stream_in_little_memory() {
    let builder = TdsServer::builder().tables(|_| Some(loaded_table(false).0)).forgets();
    let server = builder.start(|_, _| Reply::count(1)).unwrap();
    let mut client = connect(&server);
    let before = super::most_memory();
    let mut source = Source { left: 1_500_000, fails: false, nulls: false };
    let row_summary = client.load("[p].[t]", Loading { table_lock: true, batch_rows: 0 }, &mut source).unwrap();
    assert!(row_summary.rows == 1_500_000 && server.server_errors().is_empty(), "{:?}", server.server_errors());
    // 75 MB went by; other tests run in this process, too.
    let grown = super::most_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
}
