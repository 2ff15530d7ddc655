//! The driver's statements one by one, as a self-test sends them.

use std::sync::Arc;

use plimsoll_engine::server::place::CONTROL;
use plimsoll_engine::{AnswerColumn, Cancel, Entry, Refused, Result, SelfTest, Shape, Statements, Value};
use postgres_protocol::message::backend::{COMMAND_COMPLETE_TAG, DATA_ROW_TAG, ROW_DESCRIPTION_TAG};
use postgres_protocol::message::frontend;
use postgres_types::Type;

use super::connect::Connector;
use super::connection::{Connection, Failed, Outcome, bind_texts};
use super::prepared::known;
use super::queries::Extension;
use super::statements::{STATEMENTS, edition};
use super::wire_connection::Reader;

pub(super) struct PostgresSelfTest {
    connection: Connection,
    edition: &'static str,
    names: Vec<String>,
    /// The extension that counts statements, if it can be read.
    extension: Option<Extension>,
}

impl PostgresSelfTest {
    pub(super) fn open(connector: &Connector, version: u32) -> Result<Self> {
        let mut connection = connector.connect(CONTROL)?;
        let extension = Extension::find(&mut connection, version).ok();
        let mut names = connector.names();
        names.extend(extension.iter().map(|extension| extension.schema.clone()));
        Ok(Self { connection, edition: edition(version), names, extension })
    }

    /// A statement without values goes as a text, as a run sends it.
    fn shape(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<Shape> {
        let texts: Vec<String> = values.iter().map(text).collect();
        self.connection.put(|out| {
            if values.is_empty() {
                return Ok(frontend::query(sql, out)?);
            }
            frontend::parse("", sql, [], out)?;
            frontend::describe(b'S', "", out)?;
            bind_texts("", &texts.iter().map(String::as_str).collect::<Vec<_>>(), out)
        })?;
        let (mut shape, mut is_over) = (Shape::default(), false);
        self.connection.exchange(|tag, message| {
            match tag {
                ROW_DESCRIPTION_TAG if !is_over => {
                    shape.columns = columns(message)?;
                    shape.filled = vec![false; shape.columns.len()];
                }
                DATA_ROW_TAG if !is_over => {
                    shape.rows += 1;
                    let mut reader = Reader::of(message);
                    reader.u16()?;
                    for filled in &mut shape.filled {
                        *filled |= reader.value()?.is_some();
                    }
                }
                COMMAND_COMPLETE_TAG => is_over = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(shape)
    }
}

impl SelfTest for PostgresSelfTest {
    fn statements(&self) -> &'static Statements {
        &STATEMENTS
    }

    fn edition(&self) -> Option<&str> {
        Some(self.edition)
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn words(&self) -> Vec<(&'static str, String)> {
        self.extension.iter().flat_map(Extension::words).collect()
    }

    fn lacks(&self, entry: &Entry) -> bool {
        self.extension.is_none() && entry.sql.contains("{[extension]}")
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(self.connection.link.cancel())
    }

    fn send(&mut self, _: &Entry, sql: &str, values: &[Value<'_>]) -> Result<std::result::Result<Shape, Refused>> {
        self.connection.link.alive()?;
        let failed = match self.shape(sql, values) {
            Ok(shape) => return Ok(Ok(shape)),
            Err(failed) => failed,
        };
        let said = if let Failed::Server(said) = &failed { Some((said.code.clone(), said.position)) } else { None };
        let error = self.connection.fail(failed);
        // The server may say why before it breaks the line.
        self.connection.link.alive()?;
        let (code, at) = said.unwrap_or_default();
        Ok(Err(Refused { code, at, error }))
    }
}

fn text(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => (*text).to_owned(),
        Value::Bit(bit) => bit.to_string(),
        Value::Float(number) => number.to_string(),
        other => other.whole().map(|number| number.to_string()).unwrap_or_default(),
    }
}

/// The columns of a `RowDescription`.
fn columns(message: &[u8]) -> std::io::Result<Vec<AnswerColumn>> {
    let mut reader = Reader::of(message);
    let count = reader.u16()?;
    let column = |_| {
        let name = String::from_utf8_lossy(reader.text()?).into_owned();
        // Its table and number there come before its type, its size, modifier and format behind it.
        reader.bytes(6)?;
        let ty = known(reader.u32()?);
        reader.bytes(8).map(|_| AnswerColumn { name, kind: type_name(&ty).to_owned() })
    };
    (0..count).map(column).collect()
}

/// A type as the manual calls it.
fn type_name(ty: &Type) -> &str {
    match *ty {
        Type::BOOL => "boolean",
        Type::INT2 => "smallint",
        Type::INT4 => "integer",
        Type::INT8 => "bigint",
        Type::FLOAT4 => "real",
        Type::FLOAT8 => "double precision",
        Type::VARCHAR => "character varying",
        Type::BPCHAR => "character",
        Type::TIMESTAMP => "timestamp without time zone",
        Type::TIMESTAMPTZ => "timestamp with time zone",
        _ => ty.name(),
    }
}
