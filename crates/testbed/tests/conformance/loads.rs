//! Loads: whole or not at all.

use plimsoll_engine::{Error, ErrorKind, Value};

use crate::beds::{Bed, Bench};
use crate::rows::{Dense, List, count, dense, read_table, row_summary};

pub fn a_load_is_whole_or_leaves_nothing(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "whole");
    let session = bench.session.as_mut();
    let table = dense();
    session.create_table(&table).unwrap();
    let loaded = session.load(&table, &mut Dense::new(1, 20_000)).unwrap();
    assert_eq!(loaded, row_summary(&mut Dense::new(1, 20_000)));
    assert_eq!(read_table(session, &table), loaded);

    // The source fails.
    let row = vec![vec![Value::Int(60_000), Value::Money(0), Value::Text("x")]];
    let planned = Error::new(ErrorKind::Internal, "planned");
    assert_eq!(session.load(&table, &mut List::failing(&row, planned.clone())).unwrap_err(), planned);
    // The engine fails: the last key is taken.
    let row = |id| vec![Value::Int(id), Value::Money(0), Value::Text("x")];
    let rows: Vec<_> = (30_000..30_100).chain([20_000]).map(row).collect();
    let error = session.load(&table, &mut List::new(&rows)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement, "{error}");
    assert_eq!(read_table(session, &table), loaded);
    // The session works on.
    assert_eq!(session.load(&table, &mut Dense::new(20_001, 20_010)).unwrap().rows, 10);
    assert_eq!(session.load(&table, &mut List::new(&[])).unwrap().rows, 0);
    assert_eq!(count(session, &table), 20_010);
}

pub fn a_loaded_table_is_as_large_as_its_rows_at_least(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "large");
    let page_bytes = bench.database.description().page_bytes;
    let session = bench.session.as_mut();
    let table = dense();
    session.create_table(&table).unwrap();
    let loaded = session.load(&table, &mut Dense::new(1, 20_000)).unwrap();
    session.settle_table(&table).unwrap();
    session.checkpoint().unwrap();
    let size = session.table_size(&table).unwrap().unwrap();
    assert!(size.table_bytes > loaded.content_bytes && size.table_bytes < 2 * loaded.content_bytes, "{size:?}");
    assert!(size.table_bytes.is_multiple_of(page_bytes) && size.index_bytes < size.table_bytes, "{size:?}");
    // It grows with what is written.
    let other = table.named("other");
    session.create_table(&other).unwrap();
    let before = session.table_size(&other).unwrap().unwrap();
    let copy = session.dialect().copy_chunk(&other, "dense", 20_000, 2, 1);
    assert_eq!(session.execute(&copy, &[]).unwrap(), 40_000);
    session.checkpoint().unwrap();
    let after = session.table_size(&other).unwrap().unwrap();
    assert!(after.table_bytes - before.table_bytes > 2 * loaded.content_bytes, "{before:?} {after:?}");
}

pub fn a_row_that_is_not_the_tables_is_a_fault_of_ours(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "unfit");
    let session = bench.session.as_mut();
    session.create_table(&dense()).unwrap();
    let short = vec![vec![Value::Int(1)]];
    assert_eq!(session.load(&dense(), &mut List::new(&short)).unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(count(session, &dense()), 0);
}
