//! What clients ask: texts (MS-TDS 2.2.6.7), calls (2.2.6.6) and bulk loads (2.2.6.1).

use std::io;

use super::bytes::{Reader, bad, wide};
use super::types::{Column, Datum, Kind};

/// Procedures that a call names by a number.
pub(super) mod procedure {
    pub(in super::super) const EXECUTE_SQL: u16 = 10;
    pub(in super::super) const EXECUTE: u16 = 12;
    pub(in super::super) const PREPARE_AND_EXECUTE: u16 = 13;
    pub(in super::super) const UNPREPARE: u16 = 15;
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: Datum,
}

/// A call as it came.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawCall {
    /// The procedure's number, or its name.
    pub(super) procedure: Result<u16, String>,
    pub(super) parameters: Vec<Parameter>,
}

/// A statement with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its text, also where the client only named its handle; the name of a procedure where it called that.
    pub sql: String,
    /// The declarations of its parameters, as in `@P1 int`.
    pub declarations: String,
    /// Names and values of the parameters.
    pub parameters: Vec<(String, Datum)>,
    /// True if the client named the handle of a statement that was prepared before.
    pub by_handle: bool,
}

/// Rows that a client loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    /// The statement that announced them.
    pub announcement: String,
    /// Their columns as the client states them.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Datum>>,
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A text of statements.
    Batch(String),
    /// A statement with parameters.
    Call(Call),
    /// A bulk load, when its rows are there.
    Bulk(Bulk),
}

impl Request {
    /// The text of the statement, or that which announced a load.
    pub fn sql(&self) -> &str {
        match self {
            Self::Batch(sql) => sql,
            Self::Call(call) => &call.sql,
            Self::Bulk(bulk) => &bulk.announcement,
        }
    }
}

/// Passes over the headers that go before a text or a call.
fn skip_headers(reader: &mut Reader<'_>) -> io::Result<()> {
    let total = reader.u32()? as usize;
    reader.take(total.checked_sub(4).ok_or_else(|| bad("headers are shorter than their length"))?).map(drop)
}

pub(super) fn batch(body: &[u8]) -> io::Result<String> {
    let mut reader = Reader(body);
    skip_headers(&mut reader)?;
    wide(reader.0)
}

/// A call; of several in one message only the first.
pub(super) fn call(body: &[u8]) -> io::Result<RawCall> {
    let mut reader = Reader(body);
    skip_headers(&mut reader)?;
    let procedure = match reader.u16()? {
        0xFFFF => Ok(reader.u16()?),
        units => Err(reader.wide(units.into())?),
    };
    reader.u16()?;
    let mut parameters = Vec::new();
    while !reader.is_empty() {
        let units = reader.u8()?;
        if units == 0xFF {
            break;
        }
        let name = reader.wide(units.into())?;
        reader.u8()?;
        let kind = Kind::read(&mut reader)?;
        parameters.push(Parameter { name, value: kind.read_value(&mut reader)? });
    }
    Ok(RawCall { procedure, parameters })
}

/// Columns and rows of a bulk load.
pub(super) fn bulk(body: &[u8]) -> io::Result<(Vec<Column>, Vec<Vec<Datum>>)> {
    let mut reader = Reader(body);
    if reader.u8()? != 0x81 {
        return Err(bad("a bulk load does not begin with its columns"));
    }
    let count = reader.u16()?;
    let mut columns = Vec::with_capacity(count.into());
    for _ in 0..count {
        reader.u32()?;
        reader.u16()?;
        let kind = Kind::read(&mut reader)?;
        let units = reader.u8()?;
        columns.push(Column { kind, name: reader.wide(units.into())? });
    }
    let mut rows = Vec::new();
    loop {
        match reader.u8()? {
            0xD1 => {
                rows.push(columns.iter().map(|column| column.kind.read_value(&mut reader)).collect::<io::Result<_>>()?);
            }
            0xFD => break,
            other => return Err(bad(&format!("0x{other:02X} is no row of a bulk load"))),
        }
    }
    Ok((columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: [u8; 22] = [0x16, 0, 0, 0, 0x12, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0, 0];

    /// MS-TDS 4.6.
    #[test]
    fn a_text_is_the_documents() {
        let text = [
            0x0A, 0x00, 0x73, 0x00, 0x65, 0x00, 0x6C, 0x00, 0x65, 0x00, 0x63, 0x00, 0x74, 0x00, 0x20, 0x00, 0x27, 0x00,
            0x66, 0x00, 0x6F, 0x00, 0x6F, 0x00, 0x27, 0x00, 0x20, 0x00, 0x61, 0x00, 0x73, 0x00, 0x20, 0x00, 0x27, 0x00,
            0x62, 0x00, 0x61, 0x00, 0x72, 0x00, 0x27, 0x00, 0x0A, 0x00,
        ];
        assert_eq!(batch(&[&HEADERS[..], &text].concat()).unwrap(), "\nselect 'foo' as 'bar'\n");
    }

    /// MS-TDS 4.8: the procedure `foo3` with an integer that is NULL.
    #[test]
    fn a_call_is_the_documents() {
        let rest = [0x04, 0, 0x66, 0, 0x6F, 0, 0x6F, 0, 0x33, 0, 0, 0, 0x00, 0x02, 0x26, 0x02, 0x00];
        let found = call(&[&HEADERS[..], &rest].concat()).unwrap();
        let parameters = vec![Parameter { name: String::new(), value: Datum::Null }];
        assert_eq!(found, RawCall { procedure: Err("foo3".to_owned()), parameters });
    }

    /// MS-TDS 4.12: one column `c1` of type bit, and one row.
    #[test]
    fn a_load_is_the_documents() {
        let body = [
            0x81, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x32, 0x02, 0x63, 0x00, 0x31, 0x00, 0xD1, 0x00, 0xFD,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        ];
        let (columns, rows) = bulk(&body).unwrap();
        assert_eq!(columns, [Column::new("c1", Kind::Bit)]);
        assert_eq!(rows, [[Datum::Bit(false)]]);
    }
}
