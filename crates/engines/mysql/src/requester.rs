//! Requests: the first use of a statement prepares it; from then on a request is one write, and the rows of its answer
//! are counted and not decoded.

use std::sync::Arc;

use plimsoll_engine::{
    Answer, Cancel, RequestAccess, Requester, Result, RowSource, RowSummary, Sampler, Statement, Table, Traffic, Value,
    Workspace,
};

use super::connect::Connector;
use super::connection::{Connection, Failed, Prepared};
use super::describe::ServerFacts;
use super::dialect::CALL;
use super::error;
use super::load;
use super::rows::{self, Column, Size};
use super::working::connect;
use super::workspace::NO_SUCH_TABLE;

/// Errors of statements without a valid prepared form: it is gone, or has to be made anew.
const STALE: [u16; 2] = [1243, 1615];
/// Errors about tables and columns, after which the prepared form is not relied on.
const MAYBE_STALE: [u16; 4] = [1054, NO_SUCH_TABLE, STALE[0], STALE[1]];
/// A statement that can't be prepared.
const NOT_PREPARABLE: u16 = 1295;

/// What is known of a statement since it was first made.
enum Form {
    Prepared(Box<Ready>),
    /// It is made as a text each time.
    Text,
}

struct Ready {
    prepared: Prepared,
    /// The columns that the sizes are for.
    columns: Vec<Column>,
    sizes: Box<[Size]>,
}

pub(super) struct MySqlRequester {
    connection: Connection,
    workspace: Workspace,
    facts: ServerFacts,
    forms: Vec<Option<Form>>,
}

impl MySqlRequester {
    pub(super) fn open(
        connector: &Arc<Connector>,
        facts: ServerFacts,
        workspace: &Workspace,
        run: &Workspace,
        access: RequestAccess,
    ) -> Result<Self> {
        let mut connection = connect(connector, workspace, run, access)?;
        connection.link.line.shrink();
        Ok(Self { connection, workspace: workspace.clone(), facts, forms: Vec::new() })
    }

    fn learn(&mut self, statement: &Statement) -> Result<Form> {
        let prepared = match self.connection.prepare(&statement.sql) {
            Ok(prepared) => prepared,
            Err(Failed::Server(server_error)) if server_error.code == NOT_PREPARABLE => return Ok(Form::Text),
            Err(failed) => return Err(self.connection.fail(failed)),
        };
        let columns = prepared.columns.clone();
        // What a procedure returns is known when it does.
        if columns.is_empty() && statement.sql.starts_with(CALL) {
            return Ok(Form::Prepared(Box::new(Ready { prepared, columns, sizes: Box::default() })));
        }
        match rows::sizes(statement.columns.as_deref(), &columns) {
            Ok(sizes) => Ok(Form::Prepared(Box::new(Ready { prepared, columns, sizes }))),
            Err(error) => {
                self.connection.close(&prepared).map_err(|error| self.connection.fail(error.into()))?;
                Err(error)
            }
        }
    }

    fn request(
        &mut self,
        statement: &Statement,
        ready: &mut Ready,
        parameters: &[Value<'_>],
    ) -> std::result::Result<Answer, Failed> {
        let Ready { prepared, columns: facts, sizes } = ready;
        let mut answer = Answer::default();
        let counts = statement.columns.as_ref().is_none_or(|asked| !asked.is_empty());
        let done = self.connection.execute(prepared, parameters, &mut |columns, row| {
            if answer.rows == 0 && columns != facts.as_slice() {
                *sizes = rows::sizes(statement.columns.as_deref(), columns)?;
                *facts = columns.to_vec();
            }
            answer.rows += 1;
            if counts {
                answer.content_bytes +=
                    rows::content_bytes(row, sizes).ok_or_else(|| error::statement("a row is not as it should be"))?;
            }
            Ok(())
        })?;
        Ok(if answer.rows == 0 || !counts { Answer { rows: done.rows, content_bytes: 0 } } else { answer })
    }

    /// Forgets a prepared form here and at the server.
    fn forget(&mut self, ready: &Ready) -> Result<()> {
        self.connection.close(&ready.prepared).map_err(|error| self.connection.fail(error.into()))
    }
}

/// What a request costs the server is seen at the server.
impl Sampler for MySqlRequester {}

impl Requester for MySqlRequester {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.connection.link.alive()?;
        let number = statement.number as usize;
        if self.forms.len() <= number {
            self.forms.resize_with(number + 1, || None);
        }
        let mut was_stale = false;
        loop {
            let form = match self.forms[number].take() {
                Some(form) => form,
                None => self.learn(statement)?,
            };
            let mut ready = match form {
                Form::Prepared(ready) => ready,
                Form::Text => {
                    self.forms[number] = Some(Form::Text);
                    return Ok(Answer { rows: self.connection.work(&statement.sql)?.rows, content_bytes: 0 });
                }
            };
            let outcome = self.request(statement, &mut ready, parameters);
            self.connection.link.line.shrink();
            let failed = match outcome {
                Ok(answer) => {
                    self.forms[number] = Some(Form::Prepared(ready));
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            match &failed {
                Failed::Server(server_error) if STALE.contains(&server_error.code) && !was_stale => {
                    was_stale = true;
                    self.forget(&ready)?;
                    continue;
                }
                Failed::Server(server_error) if MAYBE_STALE.contains(&server_error.code) => self.forget(&ready)?,
                Failed::Receiver(_) => {
                    let rest = self.connection.drain();
                    if let Err(Failed::Wire(error)) = rest {
                        return Err(self.connection.fail(Failed::Wire(error)));
                    }
                    self.forget(&ready)?;
                }
                Failed::Wire(_) => {}
                Failed::Server(_) | Failed::Ours(_) => self.forms[number] = Some(Form::Prepared(ready)),
            }
            return Err(self.connection.fail(failed));
        }
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        load::load(&mut self.connection, &self.workspace, table, rows, self.facts.way)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.connection.link.cancel()
    }

    fn traffic(&self) -> Option<Traffic> {
        Some(self.connection.link.traffic())
    }
}
