//! Requests over a line of our own. The first use of a statement prepares it; from then on a request is one write of
//! Bind, Execute and Sync, and an answer whose rows are counted and not decoded. The general driver costs three times
//! as much CPU, which would be taken for the server's.

use std::io;
use std::sync::Arc;

use plimsoll_engine::database::{Cancel, RowSource, Sampler, Workspace};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::request::{Answer, RequestAccess, Requester, Statement, Traffic};
use plimsoll_engine::table::Table;
use plimsoll_engine::value::{RowSummary, Value};
use postgres::fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{
    COMMAND_COMPLETE_TAG, COPY_DATA_TAG, COPY_IN_RESPONSE_TAG, DATA_ROW_TAG, ERROR_RESPONSE_TAG, Message,
    PARAMETER_DESCRIPTION_TAG, READY_FOR_QUERY_TAG, ROW_DESCRIPTION_TAG,
};
use postgres_protocol::message::frontend::{self, BindError};
use postgres_protocol::{IsNull, Oid};
use postgres_types::{IsNull as DriverIsNull, ToSql as _, Type};

use super::answer::{self, Size};
use super::connect::Connector;
use super::copy::{self, Carrier, Fill};
use super::error::{Errors, statement as fault};
use super::session;
use super::wire::Parameter;
use super::wire_connection::{ServerError, WireCancel, WireConnection, parse};
use super::workspace::WORK;

/// Formats by their numbers in the protocol.
const TEXT: i16 = 0;
const BINARY: i16 = 1;

/// SQLSTATEs of statements whose prepared form is no longer one: it is gone, or its table was made anew with other columns.
const NO_SUCH_STATEMENT: &str = "26000";
const REVALIDATE: &str = "RevalidateCachedQuery";

/// What is known of a statement since it was prepared.
struct Prepared {
    name: String,
    parameters: Box<[Type]>,
    sizes: Box<[Size]>,
    result_format: i16,
    returns_rows: bool,
}

/// Why an exchange came to nothing.
enum Failed {
    Wire(io::Error),
    Server(ServerError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Wire(error)
    }
}

/// Makes requests over a line.
pub(super) struct WireRequester {
    line: WireConnection,
    errors: Errors,
    canceller: Arc<WireCancel>,
    prepared: Vec<Option<Box<Prepared>>>,
    is_in_transaction: bool,
    /// Why there is no line any more.
    lost: Option<Error>,
}

impl WireRequester {
    /// Connects under the name of the run.
    pub(super) fn open(
        connector: &Connector,
        workspace: &Workspace,
        run: &Workspace,
        access: RequestAccess,
    ) -> Result<Self> {
        let (line, canceller) = connector.connect_wire(&format!("{WORK}{run}"))?;
        let mut requester = Self {
            line,
            errors: connector.errors.clone(),
            canceller: Arc::new(canceller),
            prepared: Vec::new(),
            is_in_transaction: false,
            lost: None,
        };
        requester.run(&session::preparation(workspace, access))?;
        requester.line.shrink();
        Ok(requester)
    }

    /// An exchange's failure as an error; a line that broke stays broken.
    fn fail(&mut self, failed: Failed) -> Error {
        match failed {
            Failed::Server(server_error) => server_error.error(&self.errors),
            Failed::Wire(error) => {
                let error = self.errors.lost(&error.to_string());
                self.lost = Some(error.clone());
                error
            }
        }
    }

    fn alive(&self) -> Result<()> {
        self.lost.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Sends what is in the line's buffer and reads until the server is ready again; each message but the last goes to `each`.
    fn exchange(&mut self, mut each: impl FnMut(u8, &[u8]) -> io::Result<()>) -> std::result::Result<(), Failed> {
        let sent = self.line.send();
        let mut server_error = None;
        loop {
            match self.line.receive() {
                Ok((READY_FOR_QUERY_TAG, message)) => {
                    self.is_in_transaction = message.get(5) != Some(&b'I');
                    return server_error.map_or(Ok(()), |server_error| Err(Failed::Server(server_error)));
                }
                Ok((ERROR_RESPONSE_TAG, message)) => server_error = Some(ServerError::of(message)?),
                Ok((COPY_IN_RESPONSE_TAG, _)) => {
                    // Of requests there is nothing to copy, and Sync was not heard.
                    frontend::copy_fail("no rows were given", &mut self.line.out)?;
                    frontend::sync(&mut self.line.out);
                    self.line.send()?;
                }
                Ok((tag, message)) => each(tag, message)?,
                // Who is sent away is told why before the line breaks.
                Err(error) => {
                    return Err(server_error.map_or(Failed::Wire(sent.err().unwrap_or(error)), Failed::Server));
                }
            }
        }
    }

    /// Prepares a statement and learns its types.
    fn prepare(&mut self, statement: &Statement) -> Result<()> {
        let name = format!("s{}", statement.number);
        let out = &mut self.line.out;
        let encoded = frontend::close(b'S', &name, out)
            .and_then(|()| frontend::parse(&name, &statement.sql, [], out))
            .and_then(|()| frontend::describe(b'S', &name, out));
        if let Err(error) = encoded {
            out.clear();
            return Err(fault(error));
        }
        frontend::sync(out);
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        let described = self.exchange(|tag, message| {
            match tag {
                PARAMETER_DESCRIPTION_TAG => {
                    if let Message::ParameterDescription(body) = parse(message)? {
                        parameters = body.parameters().map(|oid| Ok(known(oid))).collect()?;
                    }
                }
                ROW_DESCRIPTION_TAG => {
                    if let Message::RowDescription(body) = parse(message)? {
                        columns = body.fields().map(|field| Ok(known(field.type_oid()))).collect()?;
                    }
                }
                _ => {}
            }
            Ok(())
        });
        described.map_err(|failed| self.fail(failed))?;
        let prepared = Prepared {
            name,
            parameters: parameters.into(),
            sizes: answer::sizes(statement.columns.as_deref(), &columns)?,
            result_format: if statement.columns.is_some() { BINARY } else { TEXT },
            returns_rows: statement.columns.as_ref().map_or(!columns.is_empty(), |asked| !asked.is_empty()),
        };
        let number = statement.number as usize;
        if self.prepared.len() <= number {
            self.prepared.resize_with(number + 1, || None);
        }
        self.prepared[number] = Some(Box::new(prepared));
        Ok(())
    }

    /// Makes a request of a prepared statement. The inner error is the server's, after which the session goes on.
    fn request(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value<'_>],
    ) -> Result<std::result::Result<Answer, Failed>> {
        encode(prepared, parameters, &mut self.line)?;
        let mut answer = Answer::default();
        let mut changed = 0;
        let outcome = self.exchange(|tag, message| {
            match tag {
                DATA_ROW_TAG => {
                    answer.rows += 1;
                    answer.content_bytes += answer::content_bytes(&message[5..], &prepared.sizes)
                        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a row is not as it should be"))?;
                }
                COMMAND_COMPLETE_TAG => changed = rows_changed(message),
                _ => {}
            }
            Ok(())
        });
        if !prepared.returns_rows {
            answer = Answer { rows: changed, content_bytes: 0 };
        }
        Ok(outcome.map(|()| answer))
    }
}

impl Sampler for WireRequester {}

impl Requester for WireRequester {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.alive()?;
        let number = statement.number as usize;
        let mut was_stale = false;
        loop {
            let Some(prepared) = self.prepared.get_mut(number).and_then(Option::take) else {
                self.prepare(statement)?;
                continue;
            };
            let outcome = self.request(&prepared, parameters)?;
            self.line.shrink();
            match outcome {
                Ok(answer) => {
                    self.prepared[number] = Some(prepared);
                    return Ok(answer);
                }
                // It is prepared anew; in a transaction that failed with it, only by the next request.
                Err(Failed::Server(server_error))
                    if is_stale(&server_error) && !self.is_in_transaction && !was_stale =>
                {
                    was_stale = true;
                }
                Err(failed) => {
                    if !matches!(&failed, Failed::Server(server_error) if may_be_stale(server_error)) {
                        self.prepared[number] = Some(prepared);
                    }
                    return Err(self.fail(failed));
                }
            }
        }
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.alive()?;
        let loaded = copy::load(self, table, rows);
        self.line.shrink();
        loaded
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::clone(&self.canceller) as Arc<dyn Cancel>
    }

    fn traffic(&self) -> Option<Traffic> {
        Some(self.line.traffic())
    }
}

impl Carrier for WireRequester {
    fn run(&mut self, sql: &str) -> Result<()> {
        self.alive()?;
        frontend::query(sql, &mut self.line.out).map_err(fault)?;
        self.exchange(|_, _| Ok(())).map_err(|failed| self.fail(failed))
    }

    fn copy(&mut self, sql: &str, buffer: &mut Vec<u8>, fill: Fill<'_>) -> Result<()> {
        self.alive()?;
        frontend::query(sql, &mut self.line.out).map_err(fault)?;
        let begun = self.begin_copy().map_err(|failed| self.fail(failed))?;
        if let Some(server_error) = begun {
            return Err(server_error.error(&self.errors));
        }
        let filled = loop {
            let more = fill(buffer);
            if let Ok(more) = more {
                self.line.out.reserve(buffer.len() + 5);
                self.line.out.extend_from_slice(&[COPY_DATA_TAG]);
                self.line.out.extend_from_slice(&(buffer.len() as i32 + 4).to_be_bytes());
                self.line.out.extend_from_slice(buffer);
                buffer.clear();
                if more {
                    let sent = self.line.send();
                    sent.map_err(|error| self.fail(error.into()))?;
                    continue;
                }
                frontend::copy_done(&mut self.line.out);
            } else {
                frontend::copy_fail("the rows could not be made", &mut self.line.out).map_err(fault)?;
            }
            break more;
        };
        let ended = self.exchange(|_, _| Ok(())).map_err(|failed| self.fail(failed));
        filled.and(ended)
    }
}

impl WireRequester {
    /// Sends a COPY statement and waits until the server wants rows; what it has against it is an inner error.
    fn begin_copy(&mut self) -> std::result::Result<Option<ServerError>, Failed> {
        self.line.send()?;
        let mut server_error = None;
        loop {
            match self.line.receive()? {
                (COPY_IN_RESPONSE_TAG, _) => return Ok(None),
                (ERROR_RESPONSE_TAG, message) => server_error = Some(ServerError::of(message)?),
                (READY_FOR_QUERY_TAG, _) => return Ok(server_error),
                _ => {}
            }
        }
    }
}

/// A type by its number. Those of extensions have none here, and take parameters as texts.
fn known(oid: Oid) -> Type {
    Type::from_oid(oid).unwrap_or(Type::UNKNOWN)
}

/// Puts Bind, Execute and Sync into the line's buffer.
fn encode(prepared: &Prepared, parameters: &[Value<'_>], line: &mut WireConnection) -> Result<()> {
    if parameters.len() != prepared.parameters.len() {
        let (given, wanted) = (parameters.len(), prepared.parameters.len());
        return Err(fault(format_args!("a statement has {wanted} parameters and was given {given}")));
    }
    let mut position = 0;
    let bound = frontend::bind(
        "",
        &prepared.name,
        [BINARY],
        parameters.iter().zip(&prepared.parameters),
        |(value, ty), out| {
            position += 1;
            match Parameter(*value).to_sql(ty, out)? {
                DriverIsNull::Yes => Ok(IsNull::Yes),
                DriverIsNull::No => Ok(IsNull::No),
            }
        },
        [prepared.result_format],
        &mut line.out,
    );
    let executed = bound.map_err(|error| match error {
        BindError::Conversion(error) => {
            Error::new(ErrorKind::Usage, format!("parameter {position} of the statement: {error}"))
        }
        BindError::Serialization(error) => fault(error),
    });
    let executed = executed.and_then(|()| frontend::execute("", 0, &mut line.out).map_err(fault));
    match executed {
        Ok(()) => frontend::sync(&mut line.out),
        Err(_) => line.out.clear(),
    }
    executed
}

/// The number at the end of a `CommandComplete` (`INSERT 0 5`, `UPDATE 3`); 0 where there is none.
fn rows_changed(message: &[u8]) -> u64 {
    let digits = message.strip_suffix(&[0]).unwrap_or(message).rsplit(|byte| *byte == b' ').next();
    digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0)
}

/// The server has said that the prepared form, and not the statement, is at fault.
fn is_stale(server_error: &ServerError) -> bool {
    server_error.code == NO_SUCH_STATEMENT || (server_error.code == "0A000" && server_error.routine == REVALIDATE)
}

/// Errors about tables, columns and types, after which the prepared form is not relied on.
fn may_be_stale(server_error: &ServerError) -> bool {
    is_stale(server_error) || server_error.code.starts_with("42") || server_error.code.starts_with("22P03")
}
