//! Requests: the lean sessions, beside the ordinary ones.

use plimsoll_engine::{Answer, ColumnType, Error, ErrorKind, SingleRow, Statement, Value};

use crate::beds::{Bed, Bench};
use crate::rows::{Dense, List, count, dense, everything, read_table, row_summary};

fn statement(number: u32, sql: &str, columns: Option<&[ColumnType]>) -> Statement {
    Statement { number, sql: sql.to_owned(), columns: columns.map(<[_]>::to_vec) }
}

/// A statement that returns nothing.
fn change(number: u32, sql: &str) -> Statement {
    statement(number, sql, Some(&[]))
}

pub fn requests_come_to_what_sessions_do(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqrows");
    let mut requester = bench.requester();
    let table = everything();
    bench.session.create_table(&table).unwrap();
    let row = |id: i32, money: i64, ms: i64, text: &'static str| {
        vec![
            Value::Int(id),
            Value::Bit(id > 0),
            Value::TinyInt(200),
            Value::SmallInt(i16::MIN),
            Value::BigInt(i64::MAX),
            Value::Float(-0.25),
            Value::Money(money),
            Value::DateTime(ms),
            Value::Text(text),
        ]
    };
    let rows = [row(-1, 1, -86_400_001, ""), row(1, i64::MIN, 946_684_799_999, "x y"), row(2, 0, 0, "~ 'q\\~")];
    let dialect = bench.session.dialect();
    let insert = change(0, &dialect.insert_row(&table));
    for row in &rows[..2] {
        assert_eq!(requester.ask(&insert, row).unwrap(), Answer { rows: 1, content_bytes: 0 });
    }
    assert_eq!(requester.load_batch(&table, &mut List::new(&rows[2..])).unwrap().rows, 1);
    let expected = row_summary(&mut List::new(&rows));
    assert_eq!(read_table(bench.session.as_mut(), &table), expected);
    let all = statement(1, &dialect.read_all(&table), Some(&table.types()));
    for _ in 0..2 {
        let answer = Answer { rows: 3, content_bytes: expected.content_bytes };
        assert_eq!(requester.ask(&all, &[]).unwrap(), answer);
    }
    let one = statement(2, &dialect.read_row(&table), Some(&table.types()));
    let sizes = 4 + 1 + 1 + 2 + 4 * 8;
    assert_eq!(requester.ask(&one, &[Value::Int(1)]).unwrap(), Answer { rows: 1, content_bytes: sizes + 3 });
    assert_eq!(requester.ask(&one, &[Value::Int(9)]).unwrap(), Answer::default());
    let sums = Answer { rows: 1, content_bytes: 8 };
    let counted = statement(3, "SELECT count(*) FROM everything", Some(&[ColumnType::BigInt]));
    assert_eq!(requester.ask(&counted, &[]).unwrap(), sums);
}

pub fn procedures_do_what_texts_do(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqcalls");
    let mut requester = bench.requester();
    let (table, dialect) = (dense(), bench.session.dialect());
    bench.session.create_table(&table).unwrap();
    let has_procedures = dialect.call(SingleRow::Read, &table).is_some();
    // Twice: a table that is made anew brings its procedures with it.
    for _ in 0..2 {
        assert_eq!(bench.session.make_procedures(&table).unwrap(), has_procedures);
    }
    let new = [Value::Int(7), Value::Money(-15), Value::Text("it's 'new'")];
    let changed = [Value::Money(3), Value::Text("changed"), Value::Int(7)];
    let [one, none] = [1, 0].map(|rows| Answer { rows, content_bytes: 0 });
    let row = |bytes: u64| Answer { rows: 1, content_bytes: 4 + 8 + bytes };
    let steps = [
        (SingleRow::Read, &new[..1], Answer::default()),
        (SingleRow::Insert, &new[..], one),
        (SingleRow::Read, &new[..1], row(10)),
        (SingleRow::Update, &changed[..], one),
        (SingleRow::Read, &new[..1], row(7)),
        (SingleRow::Delete, &new[..1], one),
        (SingleRow::Delete, &new[..1], none),
    ];
    for (called, number) in [(false, 0), (has_procedures, 10)] {
        for (request, parameters, expected) in &steps {
            let text = dialect.call(*request, &table).filter(|_| called);
            let text = text.unwrap_or_else(|| dialect.single_row(*request, &table));
            let columns = if *request == SingleRow::Read { table.types() } else { Vec::new() };
            let statement = statement(number + *request as u32, &text, Some(&columns));
            assert_eq!(requester.ask(&statement, parameters).unwrap(), *expected, "{text}");
        }
    }
    assert_eq!(count(bench.session.as_mut(), &table), 0);
}

pub fn changes_count_their_rows(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqchange");
    let mut requester = bench.requester();
    bench.session.create_table(&dense()).unwrap();
    assert_eq!(requester.load_batch(&dense(), &mut Dense::new(1, 500)).unwrap(), row_summary(&mut Dense::new(1, 500)));
    let mut ask = |number, sql: &str| requester.ask(&change(number, sql), &[]).unwrap();
    assert_eq!(ask(0, "UPDATE dense SET Money1 = 7 WHERE RowId > 400"), Answer { rows: 100, content_bytes: 0 });
    assert_eq!(ask(1, "UPDATE dense SET Money1 = 7 WHERE RowId > 400").rows, 100);
    assert_eq!(ask(2, "DELETE FROM dense WHERE RowId > 499").rows, 1);
    assert_eq!(ask(3, "DELETE FROM dense WHERE RowId > 499").rows, 0);
    assert_eq!(count(bench.session.as_mut(), &dense()), 499);
}

pub fn a_failed_load_of_a_request_leaves_nothing(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqload");
    let mut requester = bench.requester();
    bench.session.create_table(&dense()).unwrap();
    let row = |id| vec![Value::Int(id), Value::Money(0), Value::Text("x")];
    let rows = [row(1), row(2)];
    let stopped = Error::new(ErrorKind::Cancelled, "stopped");
    assert_eq!(requester.load_batch(&dense(), &mut List::failing(&rows, stopped.clone())).unwrap_err(), stopped);
    let twice = [row(3), row(3)];
    assert_eq!(requester.load_batch(&dense(), &mut List::new(&twice)).unwrap_err().kind, ErrorKind::Statement);
    let nowhere = dense().named("nowhere");
    assert!(requester.load_batch(&nowhere, &mut List::new(&rows)).is_err());
    let short = [vec![Value::Int(1)]];
    assert_eq!(requester.load_batch(&dense(), &mut List::new(&short)).unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(count(bench.session.as_mut(), &dense()), 0);
    assert_eq!(requester.load_batch(&dense(), &mut List::new(&rows)).unwrap().rows, 2);
    assert_eq!(count(bench.session.as_mut(), &dense()), 2);
}

pub fn a_request_that_fails_leaves_the_session_usable(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqfail");
    let mut requester = bench.requester();
    bench.session.create_table(&dense()).unwrap();
    let insert = change(0, &bench.session.dialect().insert_row(&dense()));
    let row = [Value::Int(1), Value::Money(0), Value::Text("x")];
    assert_eq!(requester.ask(&insert, &row).unwrap().rows, 1);
    let wrong = ["SELEC 1", "DELETE FROM nowhere", "SELECT no_such_column FROM dense"];
    for (sql, number) in wrong.into_iter().zip(1..) {
        let expected = bench.session.execute(sql, &[]).unwrap_err();
        for _ in 0..2 {
            let error = requester.ask(&change(number, sql), &[]).unwrap_err();
            assert_eq!(error.kind, expected.kind, "{sql}: {error}");
        }
    }
    // A key that is taken, and a number of parameters that is wrong.
    for bad in [&row[..], &row[..1], &[]] {
        assert_eq!(requester.ask(&insert, bad).unwrap_err().kind, ErrorKind::Statement);
    }
    assert_eq!(requester.ask(&insert, &[Value::Int(2), Value::Money(0), Value::Text("x")]).unwrap().rows, 1);
    assert_eq!(count(bench.session.as_mut(), &dense()), 2);
}

pub fn transactions_hold(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "reqhold");
    let mut requester = bench.requester();
    bench.session.create_table(&dense()).unwrap();
    bench.session.load(&dense(), &mut Dense::new(1, 10)).unwrap();
    let begin = bench.session.dialect().begin(true);
    let mut ask = |number, sql: &str| requester.ask(&change(number, sql), &[]).unwrap();
    for (end, left) in [("ROLLBACK", 10), ("COMMIT", 5)] {
        ask(0, begin);
        assert_eq!(ask(1, "DELETE FROM dense WHERE RowId > 5").rows, 5);
        ask(if left == 10 { 2 } else { 3 }, end);
        assert_eq!(count(bench.session.as_mut(), &dense()), left);
    }
}
