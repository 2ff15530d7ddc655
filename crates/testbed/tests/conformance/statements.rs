//! Statements: the dialect's, and what sessions make of any.

use plimsoll_engine::{ColumnType, Error, ErrorKind, Row, Session, Table, Value};

use crate::beds::{Bed, Bench};
use crate::rows::{Dense, List, count, dense, read, read_table};

/// Rows of the columns that the scan and the join look at.
const ROWS: i64 = 60;

fn source() -> Table {
    use ColumnType::{Bit, Int, Money, TinyInt};
    let columns = [
        ("RowId", Int),
        ("Bit1", Bit),
        ("TinyInt1", TinyInt),
        ("Int1", Int),
        ("Int2", Int),
        ("Int3", Int),
        ("Int4", Int),
        ("Int5", Int),
        ("Money2", Money),
    ];
    Table::new("source", &columns)
}

/// Five numbers that make the join's predicate true for some pairs and not for others, and the scan's for some rows.
fn numbers(id: i64) -> [i64; 5] {
    [id % 7, id % 5 + 1, 99_980 + id, 99_985 + id % 40, id * 31 - 900]
}

fn rows() -> Vec<Vec<Value<'static>>> {
    let row = |id: i64| {
        let mut row = vec![Value::Int(id as i32), Value::Bit(id % 2 == 0), Value::TinyInt((id * 5 % 256) as u8)];
        row.extend(numbers(id).map(|number| Value::Int(number as i32)));
        row.push(Value::Money((id - 5) * 10_000));
        row
    };
    (1..=ROWS).map(row).collect()
}

/// The scan's predicate.
fn is_scanned(id: i64) -> bool {
    (10..=240).contains(&(id * 5 % 256)) && (100_000..=2_000_000_000).contains(&numbers(id)[2]) && id >= 5
}

/// The join's predicate.
fn match_each_other(one: i64, other: i64) -> bool {
    let (a, b) = (numbers(one), numbers(other));
    (((a[0] * b[1]) + a[2]) - ((b[0] * a[1]) + b[3])).abs() < 17 && ((a[4] % 5).pow(3) - b[4] % 25).abs() < 7
}

pub fn the_dialects_statements_mean_the_same(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "dialect");
    let session = bench.session.as_mut();
    let table = source();
    session.create_table(&table).unwrap();
    session.load(&table, &mut List::new(&rows())).unwrap();
    let dialect = session.dialect();
    let target = table.named("target");
    session.create_table(&target).unwrap();
    let copy = dialect.copy_chunk(&target, "source", ROWS as u64, 3, 1);
    assert_eq!(session.execute(&copy, &[]).unwrap(), 3 * ROWS as u64);
    let scanned = (1..=ROWS).filter(|id| is_scanned(*id)).count() as u64;
    assert!(scanned > 0 && scanned < ROWS as u64);
    for weak in [false, true] {
        assert_eq!(session.query_count(&dialect.scan("target", weak), &[]).unwrap(), 3 * scanned);
    }
    let pairs = (4..=30).flat_map(|one| (1..=50).map(move |other| (one, other)));
    let matches = pairs.filter(|(one, other)| match_each_other(*one, *other)).count() as u64;
    assert!(matches > 10, "{matches}");
    if let Some(without_parallelism) = dialect.without_parallelism() {
        session.execute(without_parallelism, &[]).unwrap();
    }
    let bounds = [Value::Int(4), Value::Int(30), Value::Int(50)];
    assert_eq!(session.query_count(&dialect.join("source"), &bounds).unwrap(), matches);
    let keys = [Value::BigInt(3), Value::Int(180), Value::Int(181)];
    assert_eq!(session.query_count(&dialect.lookup_keys(&target, 3), &keys).unwrap(), 2);
    let types = target.types();
    let mut rows_of = |sql: &str, values: &[Value<'_>]| read(session, sql, values, &types).rows;
    assert_eq!(rows_of(&dialect.read_row(&target), &[Value::Int(61)]), 1);
    assert_eq!(rows_of(&dialect.read_rows(&target), &[Value::Int(61), Value::Int(70)]), 10);
    let range = [Value::Int(1), Value::Int(ROWS as i32), Value::BigInt(0), Value::BigInt(2)];
    let between = (1..=ROWS).filter(|id| (0..=2).contains(&numbers(*id)[0])).count() as u64;
    assert_eq!(rows_of(&dialect.read_range(&target, "Int1"), &range), between);

    // A row is changed and removed.
    let mut row = rows()[0].clone();
    row[1] = Value::Bit(true);
    row[2] = Value::TinyInt(77);
    let key = row.remove(0);
    row.push(key);
    assert_eq!(session.execute(&dialect.update_row(&target), &row).unwrap(), 1);
    // Nothing is changed, and yet a row was written to.
    assert_eq!(session.execute(&dialect.update_row(&target), &row).unwrap(), 1);
    assert_eq!(session.query_count("SELECT count(*) FROM target WHERE TinyInt1 = 77 AND RowId = 1", &[]).unwrap(), 1);
    assert_eq!(session.execute(&dialect.delete_row(&target), &[Value::Int(1)]).unwrap(), 1);
    assert_eq!(session.execute(&dialect.delete_row(&target), &[Value::Int(1)]).unwrap(), 0);
    session.drop_table(&target).unwrap();
    session.drop_table(&target).unwrap();
    assert!(session.execute("DELETE FROM target", &[]).is_err());
    let mut sample = Vec::new();
    let text = ColumnType::Text(u16::MAX);
    session
        .query(&dialect.sample_column("source", "Int3", 1), &[], &[text, text], &mut |row| {
            sample.push(format!("{:?}", row.get(0)));
            Ok(())
        })
        .unwrap();
    sample.sort();
    let mut expected: Vec<String> = (1..=ROWS).map(|id| format!("Text(\"{}\")", numbers(id)[2])).collect();
    expected.sort();
    assert_eq!(sample, expected);
}

pub fn a_table_that_was_made_anew_is_read_as_it_is(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "anew");
    let session = bench.session.as_mut();
    let make = |session: &mut dyn Session, kind: ColumnType, value: Value<'_>| {
        let table = Table::new("anew", &[("RowId", ColumnType::Int), ("Other", kind)]);
        session.drop_table(&table).unwrap();
        session.create_table(&table).unwrap();
        // The statement may be prepared anew by the second try at the latest.
        let insert = session.dialect().insert_row(&table);
        if session.execute(&insert, &[Value::Int(1), value]).is_err() {
            session.execute(&insert, &[Value::Int(1), value]).unwrap();
        }
        table
    };
    let key = |session: &mut dyn Session, table: &Table, value: Value<'_>| {
        let sql = format!("SELECT * FROM anew WHERE RowId = {}", session.dialect().placeholder(1));
        let mut seen = None;
        let mut each = |row: &mut Row| {
            seen = Some(format!("{:?}", row.get(1)));
            Ok(())
        };
        // As above.
        if session.query(&sql, &[Value::Int(1)], &table.types(), &mut each).is_err() {
            session.query(&sql, &[Value::Int(1)], &table.types(), &mut each).unwrap();
        }
        assert_eq!(seen, Some(format!("{value:?}")));
    };
    let table = make(session, ColumnType::Int, Value::Int(5));
    key(session, &table, Value::Int(5));
    let table = make(session, ColumnType::Text(9), Value::Text("five"));
    key(session, &table, Value::Text("five"));
    let table = make(session, ColumnType::BigInt, Value::BigInt(i64::MIN));
    key(session, &table, Value::BigInt(i64::MIN));
}

pub fn a_receiver_that_has_enough_does_not_wait_for_the_rest(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "enough");
    let session = bench.session.as_mut();
    session.create_table(&dense()).unwrap();
    let loaded = session.load(&dense(), &mut Dense::new(1, 3_000)).unwrap();
    let mut seen = 0;
    let mut each = |_: &mut Row| {
        seen += 1;
        if seen == 3 { Err(Error::new(ErrorKind::Internal, "enough")) } else { Ok(()) }
    };
    // Receiving all of these would take hours.
    let sql = "SELECT a.RowId FROM dense a CROSS JOIN dense b CROSS JOIN dense c";
    let error = session.query(sql, &[], &[ColumnType::Int], &mut each).unwrap_err();
    assert_eq!((error.message.as_str(), seen), ("enough", 3));
    assert_eq!(read_table(session, &dense()), loaded);
}

pub fn a_statement_is_checked_without_being_run(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "checked");
    let session = bench.session.as_mut();
    session.create_table(&dense()).unwrap();
    session.load(&dense(), &mut Dense::new(1, 3)).unwrap();
    session.check("DELETE FROM dense").unwrap();
    let parameter = session.dialect().placeholder(1);
    session.check(&format!("SELECT count(*) FROM dense WHERE RowId = {parameter}")).unwrap();
    assert!(session.check("SELECT no_such_column FROM dense").is_err());
    assert!(session.check("DELETE FROM nowhere").is_err());
    assert_eq!(count(session, &dense()), 3);
}
