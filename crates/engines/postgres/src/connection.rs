//! A connection after the log-in: statements as texts, prepared statements, and rows that are copied to the server.

use std::io;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_engine::server::bounds::{Allowance, ORDER};
use plimsoll_engine::server::canceller::Canceller;
use plimsoll_engine::server::link::{self, Link};
use plimsoll_engine::{Error, ErrorKind, Result, Value};
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{
    COMMAND_COMPLETE_TAG, COPY_DATA_TAG, COPY_IN_RESPONSE_TAG, DATA_ROW_TAG, ERROR_RESPONSE_TAG, NOTICE_RESPONSE_TAG,
    NOTIFICATION_RESPONSE_TAG, PARAMETER_STATUS_TAG, READY_FOR_QUERY_TAG, ROW_DESCRIPTION_TAG,
};
use postgres_protocol::message::frontend::{self, BindError};
use postgres_types::Type;
use postgres_types::private::BytesMut;

use super::error::{Errors, ServerError, statement as fault};
use super::prepared::{Prepared, columns, rows_changed};
use super::wire;
use super::wire_connection::{HEADER, Reader, WireConnection, malformed};

/// Formats by their numbers in the protocol.
pub(super) const TEXT: i16 = 0;
pub(super) const BINARY: i16 = 1;

/// Why an exchange came to nothing.
pub(super) type Failed = link::Failed<Box<ServerError>>;

pub(super) type Outcome<T> = std::result::Result<T, Failed>;

/// A row of a small answer, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Texts(pub(super) Vec<Option<String>>);

impl Texts {
    pub(super) fn of(row: &[u8]) -> io::Result<Self> {
        let mut reader = Reader::of(row);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        (0..reader.u16()?).map(|_| Ok(reader.value()?.map(text))).collect::<io::Result<_>>().map(Self)
    }

    /// A value; `None` for NULL, and where there is none.
    pub(super) fn text(&self, index: usize) -> Option<&str> {
        self.0.get(index)?.as_deref()
    }

    /// A value of another type; `None` if it isn't one.
    pub(super) fn get<T: FromStr>(&self, index: usize) -> Option<T> {
        self.text(index)?.parse().ok()
    }

    pub(super) fn is_true(&self, index: usize) -> bool {
        self.text(index) == Some("t")
    }
}

/// An answer of which a part may have been read.
pub(super) struct Answering {
    server_error: Option<Box<ServerError>>,
    aside: Allowance,
}

impl Default for Answering {
    fn default() -> Self {
        Self { server_error: None, aside: Allowance::passed_over() }
    }
}

pub(super) struct Connection {
    pub(super) link: Link<WireConnection>,
    pub(super) errors: Errors,
    pub(super) is_in_transaction: bool,
    /// How long an answer to a question of ours may take.
    patience: Duration,
}

impl Connection {
    pub(super) fn new(line: WireConnection, errors: Errors, canceller: Canceller, patience: Duration) -> Self {
        Self { link: Link::new(line, canceller), errors, is_in_transaction: false, patience }
    }

    /// Does something that has to be over within so long.
    pub(super) fn within<T>(&mut self, patience: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        self.link.end_within(patience);
        let done = work(self);
        self.link.lift_end();
        done
    }

    pub(super) fn fail(&mut self, failed: Failed) -> Error {
        self.link.fail(failed, &self.errors.address, |server_error| self.errors.answered(server_error))
    }

    /// Puts messages into the line's buffer: all of them, or none.
    pub(super) fn put(
        &mut self,
        messages: impl FnOnce(&mut BytesMut) -> std::result::Result<(), BindError>,
    ) -> Outcome<()> {
        let out = &mut self.link.line.out;
        messages(out).map_err(|error| {
            out.clear();
            Failed::Ours(match error {
                BindError::Conversion(error) => Error::new(ErrorKind::Usage, error.to_string()),
                BindError::Serialization(error) => fault(error),
            })
        })
    }

    fn send(&mut self) -> io::Result<()> {
        self.link.canceller.begin();
        self.link.line.send()
    }

    /// Reads until the server is ready again; each message but the last goes to `each`.
    fn answer(&mut self, each: impl FnMut(u8, &[u8]) -> Outcome<()>) -> Outcome<()> {
        self.read_on(&mut Answering::default(), WireConnection::receive, each)
    }

    /// Reads on in an answer, of which `receive` gives the messages.
    fn read_on(
        &mut self,
        answering: &mut Answering,
        receive: impl Fn(&mut WireConnection) -> io::Result<(u8, &[u8])>,
        mut each: impl FnMut(u8, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let Answering { server_error, aside } = answering;
        loop {
            match receive(&mut self.link.line) {
                Ok((READY_FOR_QUERY_TAG, message)) => {
                    self.is_in_transaction = message.get(HEADER) != Some(&b'I');
                    self.link.canceller.end();
                    return server_error.take().map_or(Ok(()), |server_error| Err(Failed::Server(server_error)));
                }
                Ok((ERROR_RESPONSE_TAG, message)) => {
                    aside.take(message.len())?;
                    *server_error = Some(Box::new(ServerError::of(message)?));
                }
                // Nobody asked for these.
                Ok((NOTICE_RESPONSE_TAG | PARAMETER_STATUS_TAG | NOTIFICATION_RESPONSE_TAG, message)) => {
                    aside.take(message.len())?;
                }
                Ok((COPY_IN_RESPONSE_TAG, message)) => {
                    aside.take(message.len())?;
                    // Here there is nothing to copy, and Sync was not heard.
                    frontend::copy_fail("no rows were given", &mut self.link.line.out)?;
                    frontend::sync(&mut self.link.line.out);
                    self.link.line.send()?;
                }
                Ok((tag, message)) => each(tag, message)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(Failed::Wire(error)),
                // A server that refuses us says why before the line breaks.
                Err(error) => return Err(server_error.take().map_or(Failed::Wire(error), Failed::Server)),
            }
        }
    }

    /// Reads on in the answer to what [`Connection::begin`] has sent, without waiting.
    pub(super) fn go_on(
        &mut self,
        answering: &mut Answering,
        each: impl FnMut(u8, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        self.read_on(answering, WireConnection::receive_now, each)
    }

    /// Begins to send what is in the line's buffer; false if there is no room for all of it yet.
    pub(super) fn begin(&mut self) -> Outcome<bool> {
        self.link.canceller.begin();
        Ok(self.link.line.send_now()?)
    }

    /// Sends what is in the line's buffer and reads its answer.
    pub(super) fn exchange(&mut self, each: impl FnMut(u8, &[u8]) -> Outcome<()>) -> Outcome<()> {
        let sent = self.send();
        self.answer(each).map_err(|failed| match (failed, sent) {
            (Failed::Wire(_), Err(error)) => Failed::Wire(error),
            (failed, _) => failed,
        })
    }

    /// Gives up the rest of an answer of which a part was read: it would still be sent, and the next statement would have to
    /// wait for all of it.
    pub(super) fn abandon(&mut self) {
        self.link.cancel().cancel();
        if let Err(failed @ Failed::Wire(_)) = self.answer(|_, _| Ok(())) {
            self.fail(failed);
        }
    }

    /// Runs statements of ours as a text and gives the rows that the last one changed. They have an hour, and return next to
    /// nothing, which is passed over.
    pub(super) fn run(&mut self, sql: &str) -> Result<u64> {
        self.link.alive()?;
        self.try_run(sql).map_err(|failed| self.fail(failed))
    }

    /// The same, with the server's own words if it refuses.
    pub(super) fn try_run(&mut self, sql: &str) -> Outcome<u64> {
        let mut returned = Allowance::passed_over();
        self.within(ORDER, |own| own.text(sql, |bytes| returned.take(bytes)))
    }

    /// The same for what lasts as long as its data is large. Rows that come of it are passed over.
    pub(super) fn work(&mut self, sql: &str) -> Result<u64> {
        self.link.alive()?;
        self.text(sql, |_| Ok(())).map_err(|failed| self.fail(failed))
    }

    /// Settles what holds for this connection, which takes no time.
    pub(super) fn set(&mut self, sql: &str) -> Result<u64> {
        self.link.alive()?;
        let mut returned = Allowance::passed_over();
        let done = self.within(self.patience, |own| own.text(sql, |bytes| returned.take(bytes)));
        done.map_err(|failed| self.fail(failed))
    }

    /// Runs statements as a text. `passed_over` hears of the bytes of each message.
    fn text(&mut self, sql: &str, mut passed_over: impl FnMut(usize) -> io::Result<()>) -> Outcome<u64> {
        self.put(|out| Ok(frontend::query(sql, out)?))?;
        let mut changed = 0;
        self.exchange(|tag, message| {
            passed_over(message.len())?;
            if tag == COMMAND_COMPLETE_TAG {
                changed = rows_changed(message);
            }
            Ok(())
        })?;
        Ok(changed)
    }

    /// Asks something small: all values are texts, the parameters' too.
    pub(super) fn rows(&mut self, sql: &str, parameters: &[&str]) -> Result<Vec<Texts>> {
        self.link.alive()?;
        let put = self.put(|out| {
            frontend::parse("", sql, [], out)?;
            bind_texts("", parameters, out)
        });
        let mut rows = Kept::default();
        let asked =
            put.and_then(|()| self.within(self.patience, |own| own.exchange(|tag, message| rows.keep(tag, message))));
        asked.map(|()| rows.rows).map_err(|failed| self.fail(failed))
    }

    /// The first row of [`Connection::rows`]; an error if there is none.
    pub(super) fn row(&mut self, sql: &str, parameters: &[&str]) -> Result<Texts> {
        let first = self.rows(sql, parameters)?.into_iter().next();
        first.ok_or_else(|| fault("a question came back without an answer"))
    }

    /// The first value of [`Connection::row`]; an error if it isn't of this type.
    pub(super) fn value<T: FromStr>(&mut self, sql: &str, parameters: &[&str]) -> Result<T> {
        let row = self.row(sql, parameters)?;
        row.get(0).ok_or_else(|| fault(format_args!("an answer can't be read: {:?}", row.text(0))))
    }

    /// Prepares questions without parameters for [`Connection::ask`], under numbers, behind a statement as a text. Those that the
    /// server refuses fail now and each time, and cost next to nothing.
    pub(super) fn prepare_questions<'a>(
        &mut self,
        before: &str,
        questions: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Result<Vec<Texts>>>> {
        let mut count = 1;
        let put = self.put(|out| {
            frontend::query(before, out)?;
            for (number, sql) in questions.enumerate() {
                frontend::parse(&format!("q{number}"), sql, [], out)?;
                frontend::sync(out);
                count += 1;
            }
            Ok(())
        });
        self.answers(put, count)
    }

    /// Asks some of the prepared questions. An inner error is the server's, after which the line goes on.
    pub(super) fn ask(&mut self, mut numbers: Range<usize>) -> Result<Vec<Result<Vec<Texts>>>> {
        let count = numbers.len();
        let put = self.put(|out| numbers.try_for_each(|number| bind_texts(&format!("q{number}"), &[], out)));
        self.answers(put, count)
    }

    fn answers(&mut self, put: Outcome<()>, count: usize) -> Result<Vec<Result<Vec<Texts>>>> {
        put.map_err(|failed| self.fail(failed))?;
        self.within(self.patience, |own| {
            own.send().map_err(|error| own.fail(error.into()))?;
            let mut answers = Vec::with_capacity(count);
            let mut rows = Kept::default();
            for _ in 0..count {
                let answer = own.answer(|tag, message| rows.keep(tag, message));
                let rows = std::mem::take(&mut rows.rows);
                answers.push(answer.map(|()| rows).map_err(|failed| own.fail(failed)));
                own.link.alive()?;
            }
            Ok(answers)
        })
    }

    /// Puts what prepares a statement, in place of one that has this name.
    pub(super) fn put_prepare(&mut self, name: &str, sql: &str) -> Outcome<()> {
        self.put(|out| {
            frontend::close(b'S', name, out)?;
            frontend::parse(name, sql, [], out)?;
            frontend::describe(b'S', name, out)?;
            frontend::sync(out);
            Ok(())
        })
    }

    /// Prepares a statement, in place of one that has this name.
    pub(super) fn prepare(&mut self, name: &str, sql: &str) -> Outcome<Prepared> {
        self.put_prepare(name, sql)?;
        let mut prepared = Prepared::new(name.to_owned());
        self.within(self.patience, |own| own.exchange(|tag, message| Ok(prepared.learn(tag, message)?)))?;
        Ok(prepared)
    }

    /// Executes a prepared statement. Every row's message goes to `each`; gives the rows that were changed.
    pub(super) fn execute(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value<'_>],
        format: i16,
        mut each: impl FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<u64> {
        self.put_execute(prepared, parameters, format)?;
        let mut changed = 0;
        self.exchange(|tag, message| {
            match tag {
                DATA_ROW_TAG => each(message)?,
                COMMAND_COMPLETE_TAG => changed = rows_changed(message),
                _ => {}
            }
            Ok(())
        })?;
        Ok(changed)
    }

    /// Puts what executes a prepared statement.
    pub(super) fn put_execute(&mut self, prepared: &Prepared, parameters: &[Value<'_>], format: i16) -> Outcome<()> {
        if parameters.len() != prepared.parameters.len() {
            let (given, wanted) = (parameters.len(), prepared.parameters.len());
            return Err(Failed::Ours(fault(format_args!("a statement has {wanted} parameters and was given {given}"))));
        }
        self.put(|out| {
            let mut position = 0;
            let values = parameters.iter().zip(&prepared.parameters);
            let put = |(value, ty): (&Value<'_>, &Type), out: &mut BytesMut| {
                position += 1;
                let put = wire::put(*value, ty, out);
                put.map_err(|error| format!("parameter {position} of the statement: {error}").into())
            };
            frontend::bind("", &prepared.name, [BINARY], values, put, [format], out)?;
            frontend::execute("", 0, out)?;
            frontend::sync(out);
            Ok(())
        })
    }

    /// Runs a query without parameters in one round trip. Every row's message goes to `each`, with its columns.
    pub(super) fn query(&mut self, sql: &str, mut each: impl FnMut(&[Type], &[u8]) -> Outcome<()>) -> Outcome<()> {
        self.put(|out| {
            frontend::parse("", sql, [], out)?;
            frontend::bind("", "", [], [(); 0], |(), _| Ok(IsNull::Yes), [BINARY], out)?;
            frontend::describe(b'P', "", out)?;
            frontend::execute("", 0, out)?;
            frontend::sync(out);
            Ok(())
        })?;
        let mut found = Box::default();
        self.exchange(|tag, message| {
            match tag {
                ROW_DESCRIPTION_TAG => found = columns(message)?,
                DATA_ROW_TAG => each(&found, message)?,
                _ => {}
            }
            Ok(())
        })
    }

    /// Runs a COPY statement: sends what `fill` appends to its buffer, a piece at a time, until it says that this was all. An
    /// error of it ends the statement without an effect.
    pub(super) fn copy(&mut self, sql: &str, fill: &mut dyn FnMut(&mut BytesMut) -> Result<bool>) -> Result<()> {
        self.link.alive()?;
        self.try_copy(sql, fill).map_err(|failed| self.fail(failed))
    }

    fn try_copy(&mut self, sql: &str, fill: &mut dyn FnMut(&mut BytesMut) -> Result<bool>) -> Outcome<()> {
        self.put(|out| Ok(frontend::query(sql, out)?))?;
        self.send()?;
        let mut server_error = None;
        loop {
            match self.link.line.receive()? {
                (COPY_IN_RESPONSE_TAG, _) => break,
                (ERROR_RESPONSE_TAG, message) => server_error = Some(Box::new(ServerError::of(message)?)),
                (READY_FOR_QUERY_TAG, _) => {
                    self.link.canceller.end();
                    return Err(server_error.map_or_else(|| malformed().into(), Failed::Server));
                }
                _ => {}
            }
        }
        let filled = loop {
            let out = &mut self.link.line.out;
            out.extend_from_slice(&[COPY_DATA_TAG, 0, 0, 0, 0]);
            let more = fill(out);
            if more.is_ok() {
                let length = (out.len() - 1) as u32;
                out[1..HEADER].copy_from_slice(&length.to_be_bytes());
            }
            match more {
                Ok(true) => self.link.line.send()?,
                Ok(false) => {
                    frontend::copy_done(out);
                    break Ok(());
                }
                Err(error) => {
                    out.clear();
                    frontend::copy_fail("the rows could not be made", out)?;
                    break Err(Failed::Ours(error));
                }
            }
        };
        let sent = self.link.line.send();
        let ended = self.answer(|_, _| Ok(()));
        filled?;
        ended.and_then(|()| Ok(sent?))
    }
}

/// Puts Bind, Execute and Sync for values that are texts all.
pub(super) fn bind_texts(name: &str, parameters: &[&str], out: &mut BytesMut) -> std::result::Result<(), BindError> {
    let put = |text: &&str, out: &mut BytesMut| {
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    };
    frontend::bind("", name, [TEXT], parameters, put, [TEXT], out)?;
    frontend::execute("", 0, out)?;
    frontend::sync(out);
    Ok(())
}

/// The rows of answers to questions.
struct Kept {
    rows: Vec<Texts>,
    allowance: Allowance,
}

impl Default for Kept {
    fn default() -> Self {
        Self { rows: Vec::new(), allowance: Allowance::kept() }
    }
}

impl Kept {
    fn keep(&mut self, tag: u8, message: &[u8]) -> Outcome<()> {
        if tag != DATA_ROW_TAG {
            return Ok(self.allowance.take(message.len())?);
        }
        let texts = Reader::of(message).u16()?;
        self.allowance.take_row(texts.into(), message.len())?;
        self.rows.push(Texts::of(message)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
