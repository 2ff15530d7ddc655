//! Going through a table's rows for what the truth needs of them.

use plimsoll_engine::work::TableData;
use plimsoll_engine::{Result, Row, Value};

use super::record::payload_bytes;

/// Calls `visit` with key, bytes of the record and data content of each row, in order.
pub fn each(mut table_data: TableData<'_>, mut visit: impl FnMut(u64, u64, u64)) -> Result<()> {
    let mut row = Row::default();
    let mut next = 1;
    loop {
        row.clear();
        if !table_data.rows.next(&mut row)? {
            return Ok(());
        }
        // Keys are dense from 1 in every table of ours.
        let key = match row.values().next() {
            Some(Value::Int(key)) => u64::try_from(key).unwrap_or(next),
            _ => next,
        };
        next = key + 1;
        visit(key, payload_bytes(&row), row.content_bytes());
    }
}
