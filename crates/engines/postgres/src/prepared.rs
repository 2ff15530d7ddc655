//! What the server says of a statement that it has prepared, and of one that it has executed.

use std::io;

use postgres_protocol::Oid;
use postgres_protocol::message::backend::{PARAMETER_DESCRIPTION_TAG, ROW_DESCRIPTION_TAG};
use postgres_types::Type;

use super::wire_connection::Reader;

/// A statement that was prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) name: String,
    pub(super) parameters: Box<[Type]>,
    pub(super) columns: Box<[Type]>,
}

impl Prepared {
    /// By this name, of which nothing is known yet.
    pub(super) fn new(name: String) -> Self {
        Self { name, parameters: Box::default(), columns: Box::default() }
    }

    /// What the server says of it.
    pub(super) fn learn(&mut self, tag: u8, message: &[u8]) -> io::Result<()> {
        match tag {
            PARAMETER_DESCRIPTION_TAG => {
                let mut reader = Reader::of(message);
                self.parameters = (0..reader.u16()?).map(|_| reader.u32().map(known)).collect::<io::Result<_>>()?;
            }
            ROW_DESCRIPTION_TAG => self.columns = columns(message)?,
            _ => {}
        }
        Ok(())
    }
}

/// The types of a row's columns, out of a `RowDescription`.
pub(super) fn columns(message: &[u8]) -> io::Result<Box<[Type]>> {
    let mut reader = Reader::of(message);
    let count = reader.u16()?;
    let column = |_| {
        // Its name, table and number there come first, its size, modifier and format last.
        reader.text()?;
        reader.bytes(6)?;
        let ty = known(reader.u32()?);
        reader.bytes(8).map(|_| ty)
    };
    (0..count).map(column).collect()
}

/// A type by its number. Those of extensions have none here, and take parameters as texts.
pub(super) fn known(oid: Oid) -> Type {
    Type::from_oid(oid).unwrap_or(Type::UNKNOWN)
}

/// The number at the end of a `CommandComplete` (`INSERT 0 5`, `UPDATE 3`); 0 where there is none.
pub(super) fn rows_changed(message: &[u8]) -> u64 {
    let digits = message.strip_suffix(&[0]).unwrap_or(message).rsplit(|byte| *byte == b' ').next();
    digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0)
}
