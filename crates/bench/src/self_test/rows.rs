//! The table of a self-test: a column of every type, and rows of which it is known what each statement makes of them.

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{ColumnType, Result, Row, RowSource, Table, Value};

/// Rows of the table.
pub(super) const ROWS: u32 = 300;

/// Every type, and the columns that the dialects' statements name.
pub(super) fn table(name: &str) -> Table {
    use ColumnType::{BigInt, Bit, DateTime, Float, Int, Money, SmallInt, Text, TinyInt};
    Table::new(
        name,
        &[
            ("RowId", Int),
            ("Bit1", Bit),
            ("TinyInt1", TinyInt),
            ("SmallInt1", SmallInt),
            ("Int1", Int),
            ("Int2", Int),
            ("Int3", Int),
            ("Int4", Int),
            ("Int5", Int),
            ("BigInt1", BigInt),
            ("Float1", Float),
            ("Money2", Money),
            ("DateTime1", DateTime),
            ("VarChar1", Text(60)),
        ],
    )
}

/// Five numbers that make the predicates of scan and join true for some rows and not for others.
fn numbers(id: i64) -> [i64; 5] {
    [id % 7, id % 5 + 1, 99_980 + id, 99_985 + id % 40, id * 31 - 900]
}

/// The row with this key, into an empty one.
fn fill(row: &mut Row, id: i64) {
    let signs = ["", "'", "\"", "\\", "%_", "[x]", "{}", "~ #"];
    row.push(Value::Int(id as i32));
    row.push(Value::Bit(id % 2 == 0));
    row.push(Value::TinyInt((id * 5 % 256) as u8));
    row.push(Value::SmallInt((id * 321 % 60_000 - 30_000) as i16));
    for number in numbers(id) {
        row.push(Value::Int(number as i32));
    }
    row.push(Value::BigInt(i64::MAX - id));
    row.push(Value::Float(id as f64 / 8.0));
    row.push(Value::Money((id - 5) * 10_000 + id % 10_000));
    row.push(Value::DateTime(946_684_800_000 + id * 86_400_123));
    row.push_text(|text| {
        text.push_str("row ");
        text.push_str(&id.to_string());
        // A text does not end with a blank.
        text.push_str(signs[id as usize % signs.len()]);
    });
}

/// Rows with keys from one to another.
pub(super) struct Rows {
    next: u32,
    last: u32,
}

impl Rows {
    /// From `first` to `last`.
    pub const fn new(first: u32, last: u32) -> Self {
        Self { next: first, last }
    }

    /// What is in them.
    pub fn summary(mut self) -> Result<RowSummary> {
        let (mut row, mut summary) = (Row::default(), RowSummary::default());
        while self.next(&mut row)? {
            summary.add(&mut row);
        }
        Ok(summary)
    }
}

impl RowSource for Rows {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if self.next > self.last {
            return Ok(false);
        }
        fill(row, self.next.into());
        self.next += 1;
        Ok(true)
    }
}

/// The row with this key.
pub(super) fn row(id: u32) -> Row {
    let mut row = Row::default();
    fill(&mut row, id.into());
    row
}

/// How many rows the scan's predicate is true for.
pub(super) fn scanned() -> u64 {
    let is_scanned = |id: &i64| {
        (10..=240).contains(&(id * 5 % 256)) && (100_000..=2_000_000_000).contains(&numbers(*id)[2]) && *id >= 5
    };
    (1..=i64::from(ROWS)).filter(is_scanned).count() as u64
}

/// Bounds of a join: outer rows from one key to another, inner rows up to a third.
pub(super) const JOINED: [i32; 3] = [4, 60, 80];

/// How many pairs of rows within [`JOINED`] the join's predicate is true for.
pub(super) fn joined() -> u64 {
    let [first, last, inner] = JOINED.map(i64::from);
    let is_pair = |a: [i64; 5], b: [i64; 5]| {
        (((a[0] * b[1]) + a[2]) - ((b[0] * a[1]) + b[3])).abs() < 17 && ((a[4] % 5).pow(3) - b[4] % 25).abs() < 7
    };
    let pairs = (first..=last).flat_map(|one| (1..=inner).map(move |other| (numbers(one), numbers(other))));
    pairs.filter(|(one, other)| is_pair(*one, *other)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_are_true_for_some_rows_and_not_for_others() {
        let pairs = u64::from((JOINED[1] - JOINED[0] + 1).unsigned_abs() * JOINED[2].unsigned_abs());
        assert!(scanned() > 10 && scanned() < u64::from(ROWS) - 10);
        assert!(joined() > 10 && joined() < pairs - 10);
        let row = row(7);
        assert!(row.values().zip(table("t").types()).all(|(value, kind)| match (value, kind) {
            (Value::Text(text), ColumnType::Text(longest)) => text.len() <= longest.into() && !text.ends_with(' '),
            (value, kind) => value.kind() == Some(kind),
        }));
    }
}
