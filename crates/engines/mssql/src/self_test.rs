//! The statements of the catalogue, sent one by one to a server that somebody has.

use plimsoll_engine::{Entry, Error, ErrorKind, Refused, Result, SelfTest, Shape, Statements, Value};

use super::connect::Connector;
use super::control::{Control, text_of};
use super::describe::Server;
use super::error;
use super::sql::{self, STATEMENTS};
use super::wire::Fault;

const NAME: &str = "plimsoll self-test";
/// How long a statement may take: each of them is asked for a moment's state.
const PATIENCE_S: u32 = 15;

pub(super) struct MssqlSelfTest {
    control: Control,
    edition: Option<&'static str>,
    names: Vec<String>,
}

impl MssqlSelfTest {
    pub(super) fn open(connector: &Connector, server: &Server) -> Result<Self> {
        let mut control = Control::connect(&connector.hurried(PATIENCE_S), NAME)?;
        let mut names = connector.names();
        names.extend([server.name.clone(), server.database.clone()]);
        match control.rows(sql::NAMES, &[]) {
            Ok(rows) => {
                let stated = rows.iter().flat_map(|row| (0..row.len()).filter_map(|index| text_of(row, index)));
                names.extend(stated);
            }
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // A server without such functions has said its names already.
            Err(_) => {}
        }
        // What the server calls its product by is told; a server of that name has none of its own.
        let product = server.description.version.to_lowercase();
        let words: Vec<&str> = product.split(|c: char| !c.is_alphanumeric()).collect();
        names.retain(|name| !name.trim().is_empty() && !words.contains(&name.to_lowercase().as_str()));
        names.sort_unstable();
        names.dedup();
        Ok(Self { control, edition: server.edition, names })
    }
}

impl SelfTest for MssqlSelfTest {
    fn statements(&self) -> &'static Statements {
        &STATEMENTS
    }

    fn edition(&self) -> Option<&str> {
        self.edition
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn send(&mut self, _: &Entry, sql: &str, values: &[Value<'_>]) -> Result<std::result::Result<Shape, Refused>> {
        let fault = match self.control.wire.shape(sql, values) {
            Ok(shape) => return Ok(Ok(shape)),
            Err(fault) => fault,
        };
        let (code, at) = match &fault {
            Fault::Server(server_errors) => {
                let (told, _) = error::telling(server_errors);
                (told.number.to_string(), told.line)
            }
            _ => (String::new(), None),
        };
        let error: Error = self.control.errors.running(fault, self.control.wire.is_dead());
        match error.kind {
            ErrorKind::Lost | ErrorKind::Cancelled => Err(error),
            _ => Ok(Err(Refused { code, at, error })),
        }
    }
}
