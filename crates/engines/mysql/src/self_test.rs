//! The statements, sent one by one to a server that somebody has.

use std::sync::Arc;

use plimsoll_engine::{Cancel, Entry, Refused, Result, SelfTest, Shape, Statements, Value};

use super::connect::Connector;
use super::connection::{Connection, Failed};
use super::statements::{STATEMENTS, text};
use super::wire_connection::ServerError;

const NAME: &str = "plimsoll self-test";

pub(super) struct MySqlSelfTest {
    connection: Connection,
    names: Vec<String>,
    /// The server's number, which the mark of a database bears.
    server: String,
}

impl MySqlSelfTest {
    pub(super) fn open(connector: &Connector) -> Result<Self> {
        let mut connection = connector.connect_apart(NAME)?;
        let answer = connection.column(text("names"))?;
        // Accounts are a user's name and a host's, both of which errors show by themselves.
        let parts = answer.iter().flat_map(|name| name.split('@')).map(str::to_owned);
        let names: Vec<String> = connector.names().into_iter().chain(parts).collect();
        let server = connection.ask(text("which server this is"))?.into_iter().flatten().nth(1).flatten();
        Ok(Self { connection, names, server: server.unwrap_or_default() })
    }

    fn shape(&mut self, entry: &Entry, sql: &str) -> std::result::Result<Shape, Failed> {
        if entry.answer.is_empty() {
            // A file that it asks for is empty.
            return self.connection.query(sql, &mut |_| Ok(false)).map(|_| Shape::default());
        }
        let (mut columns, rows) = self.connection.ask_described(sql)?;
        for column in &mut columns {
            // The one of `SHOW GRANTS` has the account in its name.
            if let Some((name, _)) = column.name.split_once(" for ") {
                column.name = name.to_owned();
            }
        }
        let filled = (0..columns.len()).map(|index| rows.iter().any(|row| row[index].is_some())).collect();
        Ok(Shape { columns, rows: rows.len() as u64, filled })
    }
}

/// The line that the server names in what it says of a text that it can't read.
fn line(server_error: &ServerError) -> Option<u32> {
    server_error.message.rsplit_once(" at line ").and_then(|(_, line)| line.parse().ok())
}

impl SelfTest for MySqlSelfTest {
    fn statements(&self) -> &'static Statements {
        &STATEMENTS
    }

    fn edition(&self) -> Option<&str> {
        Some(self.connection.server.edition)
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn words(&self) -> Vec<(&'static str, String)> {
        vec![("server", self.server.clone())]
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(self.connection.link.cancel())
    }

    /// No statement of this driver has parameters.
    fn send(&mut self, entry: &Entry, sql: &str, _: &[Value<'_>]) -> Result<std::result::Result<Shape, Refused>> {
        self.connection.link.alive()?;
        let (code, at, failed) = match self.shape(entry, sql) {
            Ok(shape) => return Ok(Ok(shape)),
            Err(Failed::Server(said)) => (said.code.to_string(), line(&said), Failed::Server(said)),
            Err(failed) => return Err(self.connection.fail(failed)),
        };
        let error = self.connection.fail(failed);
        // The server may say why before it breaks the line.
        self.connection.link.alive()?;
        Ok(Err(Refused { code, at, error }))
    }
}
