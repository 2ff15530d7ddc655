//! Requests over a line of our own. The first use of a statement prepares it. From then on a request is one write of
//! Bind, Execute and Sync, and an answer with rows that are counted and not decoded. A driver that decodes them costs three
//! times as much CPU, which would be taken for the server's.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_engine::server::link::Line as _;
use plimsoll_engine::{
    Answer, Cancel, RequestAccess, Requester, Result, RowSource, RowSummary, Sampler, Statement, Table, Traffic, Value,
    Workspace,
};
use postgres_protocol::message::backend::{COMMAND_COMPLETE_TAG, DATA_ROW_TAG};

use super::answer::{self, Size};
use super::connect::Connector;
use super::connection::{Answering, BINARY, Connection, Failed, Outcome, TEXT};
use super::error::ServerError;
use super::prepared::{Prepared, rows_changed};
use super::wire_connection::{HEADER, malformed};
use super::{copy, session};

/// SQLSTATEs of statements without a valid prepared form: it is gone, or its table was made anew with other columns.
const NO_SUCH_STATEMENT: &str = "26000";
const REVALIDATE: &str = "RevalidateCachedQuery";

/// Bytes of an answer that are heard before others have their turn.
const AT_ONCE: usize = 256 * 1024;

/// What is known of a statement since it was prepared.
struct Ready {
    prepared: Prepared,
    sizes: Box<[Size]>,
    result_format: i16,
    returns_rows: bool,
}

/// What a request is about to hear without waiting for it.
struct UnderWay {
    hears: Hears,
    answering: Answering,
    /// False as long as the server has not taken all of what was asked.
    is_sent: bool,
}

enum Hears {
    /// How a statement was prepared.
    Prepared(Prepared),
    /// What the request came to.
    Answer(Box<Ready>, Answer),
}

pub(super) struct WireRequester {
    connection: Connection,
    prepared: Vec<Option<Box<Ready>>>,
    under_way: Option<UnderWay>,
    /// True if the request's statement had to be prepared anew.
    was_stale: bool,
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
        Ok(Self { connection, prepared: Vec::new(), under_way: None, was_stale: false })
    }

    /// Takes what is known of a statement since it was prepared.
    fn take(&mut self, statement: &Statement) -> Option<Box<Ready>> {
        self.prepared.get_mut(statement.number as usize).and_then(Option::take)
    }

    fn keep(&mut self, statement: &Statement, ready: Box<Ready>) {
        let number = statement.number as usize;
        if self.prepared.len() <= number {
            self.prepared.resize_with(number + 1, || None);
        }
        self.prepared[number] = Some(ready);
    }

    fn prepare(&mut self, statement: &Statement) -> Result<()> {
        let prepared = self.connection.prepare(&name(statement), &statement.sql);
        let prepared = prepared.map_err(|failed| self.connection.fail(failed))?;
        self.keep(statement, Box::new(Ready::new(prepared, statement)?));
        Ok(())
    }

    /// What a request comes to after its exchange; `None` if it is to be made again, as its statement has to be prepared anew. In a
    /// transaction that failed with it only the next request does that.
    fn ended(&mut self, statement: &Statement, ready: Box<Ready>, outcome: Outcome<Answer>) -> Option<Result<Answer>> {
        self.connection.link.line.shrink();
        let failed = match outcome {
            Ok(answer) => {
                self.keep(statement, ready);
                return Some(Ok(answer));
            }
            Err(failed) => failed,
        };
        let (is_stale, may_be_stale) = match &failed {
            Failed::Server(server_error) => (is_stale(server_error), may_be_stale(server_error)),
            _ => (false, false),
        };
        if is_stale && !self.connection.is_in_transaction && !self.was_stale {
            self.was_stale = true;
            return None;
        }
        if !may_be_stale {
            self.keep(statement, ready);
        }
        Some(Err(self.connection.fail(failed)))
    }

    /// Begins what has to be asked next for a request.
    fn begin(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Outcome<UnderWay> {
        let hears = match self.take(statement) {
            None => {
                let name = name(statement);
                self.connection.put_prepare(&name, &statement.sql)?;
                Hears::Prepared(Prepared::new(name))
            }
            Some(ready) => {
                if let Err(failed) = self.connection.put_execute(&ready.prepared, parameters, ready.result_format) {
                    self.keep(statement, ready);
                    return Err(failed);
                }
                Hears::Answer(ready, Answer::default())
            }
        };
        // A line that breaks here tells at the first read, and the server perhaps why.
        let is_sent = self.connection.begin().unwrap_or(true);
        Ok(UnderWay { hears, answering: Answering::default(), is_sent })
    }

    /// Hears what there is to be heard: what the request came to, or nothing where more is to be asked for it.
    fn hear(
        &mut self,
        context: &mut Context<'_>,
        statement: &Statement,
        mut under_way: UnderWay,
    ) -> Poll<Option<Result<Answer>>> {
        let UnderWay { hears, answering, is_sent } = &mut under_way;
        if !*is_sent {
            *is_sent = self.connection.link.line.send_now().unwrap_or(true);
        }
        let mut heard = 0;
        let mut is_enough = |message: &[u8]| {
            heard += message.len();
            if heard > AT_ONCE { Err(Failed::Wire(io::ErrorKind::WouldBlock.into())) } else { Ok(()) }
        };
        let outcome = match hears {
            Hears::Prepared(prepared) => {
                self.connection.go_on(answering, |tag, message| Ok(prepared.learn(tag, message)?))
            }
            Hears::Answer(ready, answer) => self.connection.go_on(answering, |tag, message| {
                ready.count(answer, tag, message)?;
                is_enough(message)
            }),
        };
        if matches!(&outcome, Err(Failed::Wire(error)) if error.kind() == io::ErrorKind::WouldBlock) {
            if !*is_sent || heard > AT_ONCE {
                context.waker().wake_by_ref();
            }
            self.under_way = Some(under_way);
            return Poll::Pending;
        }
        Poll::Ready(match under_way.hears {
            Hears::Answer(ready, answer) => self.ended(statement, ready, outcome.map(|()| answer)),
            Hears::Prepared(prepared) => {
                let ready = match outcome {
                    Ok(()) => Ready::new(prepared, statement),
                    Err(failed) => Err(self.connection.fail(failed)),
                };
                match ready {
                    Ok(ready) => {
                        self.keep(statement, Box::new(ready));
                        None
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        })
    }
}

impl Ready {
    fn new(prepared: Prepared, statement: &Statement) -> Result<Self> {
        let columns = &prepared.columns;
        Ok(Self {
            sizes: answer::sizes(statement.columns.as_deref(), columns)?,
            result_format: if statement.columns.is_some() { BINARY } else { TEXT },
            returns_rows: statement.columns.as_ref().map_or(!columns.is_empty(), |asked| !asked.is_empty()),
            prepared,
        })
    }

    /// Counts a message of an answer.
    #[inline]
    fn count(&self, answer: &mut Answer, tag: u8, message: &[u8]) -> Outcome<()> {
        match tag {
            DATA_ROW_TAG => {
                answer.rows += u64::from(self.returns_rows);
                answer.content_bytes += answer::content_bytes(&message[HEADER..], &self.sizes).ok_or_else(malformed)?;
            }
            COMMAND_COMPLETE_TAG if !self.returns_rows => {
                *answer = Answer { rows: rows_changed(message), content_bytes: 0 };
            }
            _ => {}
        }
        Ok(())
    }
}

fn name(statement: &Statement) -> String {
    format!("s{}", statement.number)
}

impl Sampler for WireRequester {}

impl Requester for WireRequester {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.connection.link.alive()?;
        self.was_stale = false;
        loop {
            let Some(ready) = self.take(statement) else {
                self.prepare(statement)?;
                continue;
            };
            let mut answer = Answer::default();
            let put = self.connection.put_execute(&ready.prepared, parameters, ready.result_format);
            let executed =
                put.and_then(|()| self.connection.exchange(|tag, message| ready.count(&mut answer, tag, message)));
            if let Some(answer) = self.ended(statement, ready, executed.map(|()| answer)) {
                return answer;
            }
        }
    }

    fn poll_ask(
        &mut self,
        context: &mut Context<'_>,
        statement: &Statement,
        parameters: &[Value<'_>],
    ) -> Poll<Result<Answer>> {
        if self.under_way.is_none() {
            self.connection.link.alive()?;
            self.was_stale = false;
        }
        loop {
            let Some(under_way) = self.under_way.take() else {
                let begun = self.begin(statement, parameters).map_err(|failed| self.connection.fail(failed))?;
                if !begun.is_sent {
                    context.waker().wake_by_ref();
                }
                // No answer is there yet, and to look would cost as much as to hear it.
                self.under_way = Some(begun);
                return Poll::Pending;
            };
            match self.hear(context, statement, under_way) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(answer)) => return Poll::Ready(answer),
                Poll::Ready(None) => {}
            }
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let stream = self.connection.link.line.stream();
        (!stream.is_protected()).then(|| stream.socket().descriptor())
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
