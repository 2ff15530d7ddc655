//! What a server says (MS-TDS 2.2.7): results, counts, errors and the ends of them.

use std::io;
use std::time::Duration;

use super::bytes::{put_short_text, put_text};
use super::types::{Column, Datum};

/// States of DONE tokens.
pub(super) mod done {
    pub(in super::super) const MORE: u16 = 0x01;
    pub(in super::super) const ERROR: u16 = 0x02;
    pub(in super::super) const COUNT: u16 = 0x10;
    pub(in super::super) const ATTENTION: u16 = 0x20;
}

/// The ends of statements in texts, in procedures, and of procedures.
pub(super) const DONE: u8 = 0xFD;
pub(super) const DONE_PROC: u8 = 0xFE;
pub(super) const DONE_IN_PROC: u8 = 0xFF;
/// The commands that a DONE names: a SELECT, and one that changes rows.
pub(super) const SELECT: u16 = 0xC1;
pub(super) const INSERT: u16 = 0xC3;

/// An error of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its number.
    pub number: u32,
    /// Its state.
    pub state: u8,
    /// Its severity.
    pub class: u8,
    /// Its text.
    pub message: String,
}

impl Refusal {
    /// An error of severity 16 and state 1.
    pub fn new(number: u32, message: &str) -> Self {
        Self { number, state: 1, class: 16, message: message.to_owned() }
    }
}

/// Rows that are made while they are sent.
pub type Rows = Box<dyn Iterator<Item = Vec<Datum>> + Send>;

/// What one statement comes to.
pub enum Outcome {
    /// Rows.
    Rows(Vec<Column>, Rows),
    /// The same, without NULLs in the row's values but in a list in front of them (`NBCROW`).
    RowsWithoutNulls(Vec<Column>, Rows),
    /// So many rows were changed.
    Count(u64),
    /// Done, and there is nothing to count.
    Done,
    /// A text for whoever reads messages.
    Message(String),
    /// An error.
    Error(Refusal),
    /// The server thinks for so long, or for ever; an attention wakes it.
    Wait(Option<Duration>),
    /// The server closes the connection after so many bytes of what it has to say from here on.
    CutAfter(usize),
    /// The server closes the connection when it has said everything.
    HangUp,
    /// The server waits until the file is there.
    WaitForFile(std::path::PathBuf),
}

/// What a request comes to, statement by statement.
#[derive(Default)]
pub struct Reply(pub Vec<Outcome>);

impl Reply {
    /// One set of rows.
    pub fn rows(columns: Vec<Column>, rows: Vec<Vec<Datum>>) -> Self {
        Self(vec![Outcome::Rows(columns, Box::new(rows.into_iter()))])
    }

    /// One error.
    pub fn error(refusal: Refusal) -> Self {
        Self(vec![Outcome::Error(refusal)])
    }

    /// A count of changed rows.
    pub fn count(count: u64) -> Self {
        Self(vec![Outcome::Count(count)])
    }
}

/// `COLMETADATA`.
pub(super) fn put_columns(columns: &[Column], out: &mut Vec<u8>) {
    out.push(0x81);
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    for column in columns {
        out.extend_from_slice(&0_u32.to_le_bytes());
        // May be NULL, and may be updated.
        let flags = u16::from(column.kind.can_be_null()) | 0x08;
        out.extend_from_slice(&flags.to_le_bytes());
        column.kind.put(out);
        put_short_text(out, &column.name);
    }
}

/// `ROW`.
pub(super) fn put_row(columns: &[Column], row: &[Datum], out: &mut Vec<u8>) -> io::Result<()> {
    out.push(0xD1);
    columns.iter().zip(row).try_for_each(|(column, value)| column.kind.put_value(value, out))
}

/// `NBCROW`: a bit for each column that is NULL, and the others' values.
pub(super) fn put_row_without_nulls(columns: &[Column], row: &[Datum], out: &mut Vec<u8>) -> io::Result<()> {
    out.push(0xD2);
    let mut nulls = vec![0_u8; columns.len().div_ceil(8)];
    for (index, value) in row.iter().enumerate() {
        nulls[index / 8] |= u8::from(*value == Datum::Null) << (index % 8);
    }
    out.extend_from_slice(&nulls);
    let mut there = columns.iter().zip(row).filter(|(_, value)| **value != Datum::Null);
    there.try_for_each(|(column, value)| column.kind.put_value(value, out))
}

/// A DONE token of one of the three kinds.
pub(super) fn put_done(token: u8, state: u16, command: u16, count: u64, out: &mut Vec<u8>) {
    out.push(token);
    out.extend_from_slice(&state.to_le_bytes());
    out.extend_from_slice(&command.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
}

/// A token behind which its length stands.
pub(super) fn put_counted(token: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(token);
    out.extend_from_slice(&(body.len() as u16).to_le_bytes());
    out.extend_from_slice(body);
}

/// `ERROR` (0xAA) or `INFO` (0xAB).
pub(super) fn put_message(token: u8, refusal: &Refusal, out: &mut Vec<u8>) {
    let mut body = refusal.number.to_le_bytes().to_vec();
    body.extend_from_slice(&[refusal.state, refusal.class]);
    put_text(&mut body, &refusal.message);
    put_short_text(&mut body, "testbed");
    put_short_text(&mut body, "");
    body.extend_from_slice(&1_u32.to_le_bytes());
    put_counted(token, &body, out);
}

/// `ENVCHANGE` of a text.
pub(super) fn put_change(kind: u8, new: &str, old: &str, out: &mut Vec<u8>) {
    let mut body = vec![kind];
    put_short_text(&mut body, new);
    put_short_text(&mut body, old);
    put_counted(0xE3, &body, out);
}

/// `ENVCHANGE` that sends the client on to another server (type 20: TCP, port, name).
pub(super) fn put_route(host: &str, port: u16, out: &mut Vec<u8>) {
    let mut value = vec![0];
    value.extend_from_slice(&port.to_le_bytes());
    put_text(&mut value, host);
    let mut body = Vec::new();
    put_counted(20, &value, &mut body);
    body.extend_from_slice(&[0, 0]);
    put_counted(0xE3, &body, out);
}

/// `ENVCHANGE` of the collation.
pub(super) fn put_collation(collation: [u8; 5], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xE3, 8, 0, 7, 5]);
    out.extend_from_slice(&collation);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::super::types::{COLLATION, Kind};
    use super::*;

    /// MS-TDS 4.7: the column has flags of its own: one row of `select 'foo' as 'bar'`.
    #[test]
    fn a_result_is_the_documents() {
        let columns = [Column::new("bar", Kind::VarChar(Some(3)))];
        let mut out = Vec::new();
        put_columns(&columns, &mut out);
        put_row(&columns, &[Datum::from("foo")], &mut out).unwrap();
        put_done(DONE, done::COUNT, SELECT, 1, &mut out);
        let document = [
            0x81, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0xA7, 0x03, 0x00, 0x09, 0x04, 0xD0, 0x00, 0x34, 0x03,
            0x62, 0x00, 0x61, 0x00, 0x72, 0x00, 0xD1, 0x03, 0x00, 0x66, 0x6F, 0x6F, 0xFD, 0x10, 0x00, 0xC1, 0x00, 0x01,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        ];
        // A computed column there (0x20), one that can be NULL and updated here (0x09).
        let mut ours = out;
        assert_eq!(ours[7], 0x09);
        ours[7] = 0x20;
        assert_eq!(ours, document);
    }

    /// MS-TDS 4.4: the change of the database, of the collation and of the packet size.
    #[test]
    fn changes_are_the_documents() {
        let mut out = Vec::new();
        put_change(1, "master", "master", &mut out);
        put_collation(COLLATION, &mut out);
        put_change(4, "4096", "4096", &mut out);
        let document = [
            0xE3, 0x1B, 0x00, 0x01, 0x06, 0x6D, 0x00, 0x61, 0x00, 0x73, 0x00, 0x74, 0x00, 0x65, 0x00, 0x72, 0x00, 0x06,
            0x6D, 0x00, 0x61, 0x00, 0x73, 0x00, 0x74, 0x00, 0x65, 0x00, 0x72, 0x00, 0xE3, 0x08, 0x00, 0x07, 0x05, 0x09,
            0x04, 0xD0, 0x00, 0x34, 0x00, 0xE3, 0x13, 0x00, 0x04, 0x04, 0x34, 0x00, 0x30, 0x00, 0x39, 0x00, 0x36, 0x00,
            0x04, 0x34, 0x00, 0x30, 0x00, 0x39, 0x00, 0x36, 0x00,
        ];
        assert_eq!(out, document);
    }

    #[test]
    fn a_row_without_nulls_has_their_bits() {
        let columns = [Column::new("a", Kind::IntegerNull(4)), Column::new("b", Kind::IntegerNull(1))];
        let mut out = Vec::new();
        put_row_without_nulls(&columns, &[Datum::Null, Datum::Integer(7)], &mut out).unwrap();
        assert_eq!(out, [0xD2, 0x01, 0x01, 0x07]);
    }
}
