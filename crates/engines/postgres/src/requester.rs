//! Requests over a line of our own. The first use of a statement prepares it. From then on a request is one write of
//! Bind, Execute and Sync, and an answer with rows that are counted and not decoded. A driver that decodes them costs three
//! times as much CPU, which would be taken for the server's.

use std::sync::Arc;

use plimsoll_engine::{
    Answer, Cancel, RequestAccess, Requester, Result, RowSource, RowSummary, Sampler, Statement, Table, Traffic, Value,
    Workspace,
};

use super::answer::{self, Size};
use super::connect::Connector;
use super::connection::{BINARY, Connection, Failed, Outcome, Prepared, TEXT};
use super::error::ServerError;
use super::wire_connection::{HEADER, malformed};
use super::{copy, session};

/// SQLSTATEs of statements without a valid prepared form: it is gone, or its table was made anew with other columns.
const NO_SUCH_STATEMENT: &str = "26000";
const REVALIDATE: &str = "RevalidateCachedQuery";

/// What is known of a statement since it was prepared.
struct Ready {
    prepared: Prepared,
    sizes: Box<[Size]>,
    result_format: i16,
    returns_rows: bool,
}

pub(super) struct WireRequester {
    connection: Connection,
    prepared: Vec<Option<Box<Ready>>>,
}

impl WireRequester {
    pub(super) fn open(
        connector: &Connector,
        workspace: &Workspace,
        run: &Workspace,
        access: RequestAccess,
    ) -> Result<Self> {
        let mut connection = session::connect(connector, workspace, run, access)?;
        connection.link.line.shrink();
        Ok(Self { connection, prepared: Vec::new() })
    }

    fn prepare(&mut self, statement: &Statement) -> Result<()> {
        let prepared = self.connection.prepare(&format!("s{}", statement.number), &statement.sql);
        let prepared = prepared.map_err(|failed| self.connection.fail(failed))?;
        let columns = &prepared.columns;
        let ready = Ready {
            sizes: answer::sizes(statement.columns.as_deref(), columns)?,
            result_format: if statement.columns.is_some() { BINARY } else { TEXT },
            returns_rows: statement.columns.as_ref().map_or(!columns.is_empty(), |asked| !asked.is_empty()),
            prepared,
        };
        let number = statement.number as usize;
        if self.prepared.len() <= number {
            self.prepared.resize_with(number + 1, || None);
        }
        self.prepared[number] = Some(Box::new(ready));
        Ok(())
    }

    fn request(&mut self, ready: &Ready, parameters: &[Value<'_>]) -> Outcome<Answer> {
        let mut answer = Answer::default();
        let changed = self.connection.execute(&ready.prepared, parameters, ready.result_format, |message| {
            answer.rows += 1;
            answer.content_bytes += answer::content_bytes(&message[HEADER..], &ready.sizes).ok_or_else(malformed)?;
            Ok(())
        })?;
        Ok(if ready.returns_rows { answer } else { Answer { rows: changed, content_bytes: 0 } })
    }
}

impl Sampler for WireRequester {}

impl Requester for WireRequester {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.connection.link.alive()?;
        let number = statement.number as usize;
        let mut was_stale = false;
        loop {
            let Some(ready) = self.prepared.get_mut(number).and_then(Option::take) else {
                self.prepare(statement)?;
                continue;
            };
            let outcome = self.request(&ready, parameters);
            self.connection.link.line.shrink();
            match outcome {
                Ok(answer) => {
                    self.prepared[number] = Some(ready);
                    return Ok(answer);
                }
                // It is prepared anew; in a transaction that failed with it, only by the next request.
                Err(Failed::Server(server_error))
                    if is_stale(&server_error) && !self.connection.is_in_transaction && !was_stale =>
                {
                    was_stale = true;
                }
                Err(failed) => {
                    if !matches!(&failed, Failed::Server(server_error) if may_be_stale(server_error)) {
                        self.prepared[number] = Some(ready);
                    }
                    return Err(self.connection.fail(failed));
                }
            }
        }
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.connection.link.alive()?;
        copy::load(&mut self.connection, table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.connection.link.cancel()
    }

    fn traffic(&self) -> Option<Traffic> {
        Some(self.connection.link.traffic())
    }
}

/// The server has said that the prepared form, and not the statement, is at fault.
fn is_stale(server_error: &ServerError) -> bool {
    server_error.code == NO_SUCH_STATEMENT || (server_error.code == "0A000" && server_error.routine == REVALIDATE)
}

/// Errors about tables, columns and types, after which the prepared form is not relied on.
fn may_be_stale(server_error: &ServerError) -> bool {
    is_stale(server_error) || server_error.code.starts_with("42") || server_error.code.starts_with("22P03")
}
