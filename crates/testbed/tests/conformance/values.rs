//! Values of every type, their ends, and NULL.

use plimsoll_engine::{ColumnType, Table, Value};

use crate::beds::{Bed, Bench};
use crate::rows::{List, count, everything, read_table, row_summary};

/// Values at the ends of the types, and in between where a sign, a leap year or a quote could go wrong.
fn extremes(all_floats: bool) -> Vec<Vec<Value<'static>>> {
    let row = |id, bit, tiny, small, cast_to_bigint, float, money, ms, text| {
        vec![
            Value::Int(id),
            Value::Bit(bit),
            Value::TinyInt(tiny),
            Value::SmallInt(small),
            Value::BigInt(cast_to_bigint),
            Value::Float(float),
            Value::Money(money),
            Value::DateTime(ms),
            Value::Text(text),
        ]
    };
    let (infinite, zero) = if all_floats { (f64::NEG_INFINITY, -0.0) } else { (f64::MIN, 0.0) };
    vec![
        row(i32::MIN, false, 0, i16::MIN, i64::MIN, zero, i64::MIN, -86_400_001, ""),
        row(i32::MAX, true, 255, i16::MAX, i64::MAX, f64::MAX, i64::MAX, 946_684_799_999, "~ 20 characters 'q\\~"),
        row(0, true, 128, -1, 0, f64::MIN_POSITIVE, -1, -2_208_988_800_000, "x"),
        row(7, false, 9, 9, 9, infinite, 0, 4_102_444_800_123, "\\N"),
        row(8, true, 1, -9, -9, 0.1, 1, 951_782_400_000, "\"a\" \\t, NULL"),
        row(9, true, 1, -9, -9, -1.0 / 3.0, 12_345, 0, "%00%s;--"),
    ]
}

pub fn every_value_comes_back_as_it_went(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "types");
    let session = bench.session.as_mut();
    let (table, rows) = (everything(), extremes(bed.has_all_floats()));
    session.create_table(&table).unwrap();
    let expected = row_summary(&mut List::new(&rows));
    assert_eq!(session.load(&table, &mut List::new(&rows)).unwrap(), expected);
    assert_eq!(read_table(session, &table), expected);

    // The same by parameters, which are prepared once.
    let insert = session.dialect().insert_row(&table);
    assert_eq!(session.execute("DELETE FROM everything", &[]).unwrap(), rows.len() as u64);
    for row in &rows {
        assert_eq!(session.execute(&insert, row).unwrap(), 1);
    }
    assert_eq!(read_table(session, &table), expected);
}

pub fn null_is_carried_in_every_type(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "nulls");
    let session = bench.session.as_mut();
    let table = Table { columns: everything().columns.split_off(1), ..Table::new("nulls", &[]) };
    let dialect = session.dialect();
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{} {} NULL", column.name, dialect.type_name(column.kind))).collect();
    session.execute(&format!("CREATE TABLE nulls ({})", columns.join(", ")), &[]).unwrap();
    session.adopt_tables().unwrap();
    let nulls = vec![vec![Value::Null; table.columns.len()]];
    let loaded = session.load(&table, &mut List::new(&nulls)).unwrap();
    assert_eq!((loaded.rows, loaded.content_bytes), (1, 0));
    assert_eq!(read_table(session, &table), loaded);
    assert_eq!(session.execute(&dialect.insert_row(&table), &nulls[0]).unwrap(), 1);
    assert_eq!(read_table(session, &table), row_summary(&mut List::new(&[nulls[0].clone(), nulls[0].clone()])));
}

pub fn texts_may_be_as_long_as_their_column(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "texts");
    let session = bench.session.as_mut();
    let table = Table::new("texts", &[("RowId", ColumnType::Int), ("Text1", ColumnType::Text(4000))]);
    session.create_table(&table).unwrap();
    let texts: Vec<String> = [0, 1, 250, 251, 255, 256, 3999, 4000].map(|length| "t".repeat(length)).into();
    let rows: Vec<Vec<Value<'_>>> =
        texts.iter().zip(1..).map(|(text, id)| vec![Value::Int(id), Value::Text(text)]).collect();
    let loaded = session.load(&table, &mut List::new(&rows)).unwrap();
    assert_eq!(read_table(session, &table), loaded);
    session.execute("DELETE FROM texts", &[]).unwrap();
    let insert = session.dialect().insert_row(&table);
    for row in &rows {
        session.execute(&insert, row).unwrap();
    }
    assert_eq!(read_table(session, &table), loaded);
}

pub fn numbers_beyond_their_column_are_refused(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "beyond");
    let session = bench.session.as_mut();
    let table = Table::new("beyond", &[("RowId", ColumnType::Int), ("Small", ColumnType::SmallInt)]);
    session.create_table(&table).unwrap();
    let insert = session.dialect().insert_row(&table);
    let outcome = session.execute(&insert, &[Value::Int(1), Value::BigInt(i64::MAX)]);
    // SQLite's columns hold what they are given; nobody may store another number.
    match outcome {
        Err(_) => assert_eq!(count(session, &table), 0),
        Ok(_) => assert_eq!(
            session.query_count("SELECT count(*) FROM beyond WHERE Small = 9223372036854775807", &[]).unwrap(),
            1
        ),
    }
}
