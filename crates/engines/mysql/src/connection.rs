//! A connection after the log-in: statements as texts, prepared statements, and files that are sent to the server.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_engine::server::bounds::{Allowance, ORDER};
use plimsoll_engine::server::canceller::Canceller;
use plimsoll_engine::server::link::{self, Link};
use plimsoll_engine::statements::AnswerColumn;
use plimsoll_engine::{Error, ErrorKind, Result, Value};

use super::binary;
use super::counter_queries::Ours;
use super::error::{Errors, statement as fault};
use super::login::Welcome;
use super::packet::{Reader, malformed};
use super::product::Server;
use super::rows::{self, Column};
use super::wire_connection::{END, ERROR, LOCAL_INFILE, OK, ServerError, WireConnection};

/// Commands by their numbers in the protocol.
mod command {
    pub(super) const QUERY: u8 = 0x03;
    pub(super) const PING: u8 = 0x0e;
    pub(super) const PREPARE: u8 = 0x16;
    pub(super) const EXECUTE: u8 = 0x17;
    pub(super) const CLOSE: u8 = 0x19;
    pub(super) const RESET_CONNECTION: u8 = 0x1f;
}

/// Said of a command that somebody does not know.
const UNKNOWN_COMMAND: u16 = 1047;

/// The server says that more results follow.
const MORE_RESULTS: u16 = 0x0008;

/// Why an exchange came to nothing.
pub(super) type Failed = link::Failed<ServerError>;

pub(super) type Outcome<T> = std::result::Result<T, Failed>;

/// How a statement without rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Done {
    pub(super) rows: u64,
    pub(super) warnings: u16,
}

#[derive(Debug, Default)]
pub(super) struct Prepared {
    id: u32,
    pub(super) parameters: u16,
    pub(super) columns: Vec<Column>,
}

/// Rows of values, all as texts; none for NULL.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// A row's bytes in the protocol's binary form, with its columns.
pub(super) type Each<'a> = &'a mut dyn FnMut(&[Column], &[u8]) -> Result<()>;

pub(super) struct Connection {
    pub(super) link: Link<WireConnection>,
    pub(super) errors: Errors,
    pub(super) server: Server,
    /// The number by which it is killed.
    pub(super) id: u32,
    caches_metadata: bool,
    /// Numbers of all of our connections to this server.
    ours: Arc<Mutex<Ours>>,
    /// How long an answer to a question of ours may take.
    patience: Duration,
}

impl Connection {
    pub(super) fn new(
        line: WireConnection,
        errors: Errors,
        welcome: Welcome,
        (canceller, ours): (Canceller, Arc<Mutex<Ours>>),
        patience: Duration,
    ) -> Self {
        let Welcome { server, id, caches_metadata } = welcome;
        ours.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        Self { link: Link::new(line, canceller), errors, server, id, caches_metadata, ours, patience }
    }

    pub(super) fn fail(&mut self, failed: Failed) -> Error {
        self.link.fail(failed, &self.errors.address, |server_error| self.errors.answered(server_error))
    }

    /// Does something that an interrupt may cancel.
    fn fenced<T>(&mut self, work: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.link.canceller.begin();
        let outcome = work(self);
        // A receiver that has had enough goes on by cancelling the rest.
        match outcome {
            Err(Failed::Receiver(_)) => {}
            Err(Failed::Wire(_)) => self.link.canceller.lose(),
            _ => self.link.canceller.end(),
        }
        outcome
    }

    /// Does something that has to be over within so long.
    fn within<T>(&mut self, patience: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        self.link.end_within(patience);
        let done = work(self);
        self.link.lift_end();
        done
    }

    /// Whether the server still answers.
    pub(super) fn ping(&mut self) -> bool {
        if self.link.alive().is_err() {
            return false;
        }
        self.within(self.patience, |own| {
            let line = &mut own.link.line;
            line.command(command::PING);
            let answer = line.send().and_then(|()| line.receive().map(|packet| packet.first() == Some(&OK)));
            answer.unwrap_or(false)
        })
    }

    /// Takes back what was done in this session before: transactions, locks, temporary tables, settings. What stands between us and the
    /// server may not know how.
    pub(super) fn begin_anew(&mut self) -> Result<()> {
        self.link.alive()?;
        let begin = |own: &mut Self| {
            own.link.line.command(command::RESET_CONNECTION);
            own.link.line.send()?;
            match own.receive() {
                Err(Failed::Server(server_error)) if server_error.code != UNKNOWN_COMMAND => {
                    Err(Failed::Server(server_error))
                }
                Err(Failed::Server(_)) | Ok(_) => Ok(()),
                Err(failed) => Err(failed),
            }
        };
        self.within(self.patience, |own| own.fenced(begin)).map_err(|failed| self.fail(failed))
    }

    /// Runs a statement of ours as a text. It has an hour, and returns next to nothing, which is passed over; a file that the server
    /// wants is refused.
    pub(super) fn run(&mut self, sql: &str) -> Result<Done> {
        self.order(ORDER, sql)
    }

    /// Settles what holds for this connection, which takes no time.
    pub(super) fn set(&mut self, sql: &str) -> Result<Done> {
        self.order(self.patience, sql)
    }

    fn order(&mut self, patience: Duration, sql: &str) -> Result<Done> {
        self.link.alive()?;
        let mut returned = Allowance::passed_over();
        let done = self.within(patience, |own| {
            own.fenced(|own| own.query_now(sql, &mut |_| Err(no_files()), &mut |bytes| returned.take(bytes)))
        });
        done.map_err(|failed| self.fail(failed))
    }

    /// The same for what lasts as long as its data is large. Rows that come of it are passed over.
    pub(super) fn work(&mut self, sql: &str) -> Result<Done> {
        self.link.alive()?;
        self.query(sql, &mut |_| Err(no_files())).map_err(|failed| self.fail(failed))
    }

    /// Runs a statement as a text. If the server wants a file, it gets what `fill` appends to packets until that says false.
    pub(super) fn query(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool>) -> Outcome<Done> {
        self.fenced(|own| own.query_now(sql, fill, &mut |_| Ok(())))
    }

    /// `passed_over` hears of the bytes of each packet.
    fn query_now(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool>,
        passed_over: &mut dyn FnMut(usize) -> io::Result<()>,
    ) -> Outcome<Done> {
        self.link.line.command(command::QUERY).extend_from_slice(sql.as_bytes());
        let sent = self.link.line.send();
        let mut sum = Done::default();
        let mut filled = Ok(());
        loop {
            let packet = match self.link.line.receive() {
                Ok(packet) => packet,
                // A server that refuses us says why before the line breaks.
                Err(error) => return Err(Failed::Wire(sent.err().unwrap_or(error))),
            };
            passed_over(packet.len())?;
            let status = match packet {
                [OK, ..] => {
                    let (done, status) = finished(packet)?;
                    sum = Done { rows: sum.rows.saturating_add(done.rows), warnings: sum.warnings.max(done.warnings) };
                    status
                }
                [ERROR, ..] => {
                    let server_error = ServerError::of(packet)?;
                    return Err(filled.err().map_or(Failed::Server(server_error), Failed::Ours));
                }
                [LOCAL_INFILE, ..] => {
                    filled = self.send_file(fill)?;
                    continue;
                }
                _ => self.pass_over(&mut sum, passed_over)?,
            };
            if status & MORE_RESULTS == 0 {
                return filled.map(|()| sum).map_err(Failed::Ours);
            }
        }
    }

    /// Reads the rows of a text result to their end; gives the status.
    fn pass_over(&mut self, sum: &mut Done, passed_over: &mut dyn FnMut(usize) -> io::Result<()>) -> Outcome<u16> {
        // Columns come before the rows without anything between them, and nobody looks at either.
        loop {
            let packet = self.receive()?;
            passed_over(packet.len())?;
            if packet.first() == Some(&END) && packet.len() < 0xff_ffff {
                let (done, status) = finished(packet)?;
                sum.warnings = sum.warnings.max(done.warnings);
                return Ok(status);
            }
        }
    }

    /// Sends a file. An error of its source ends it early and is the inner error: what has been sent is then there.
    fn send_file(&mut self, fill: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool>) -> Outcome<Result<()>> {
        let outcome = loop {
            let out = self.link.line.packet();
            let before = out.len();
            let more = fill(out);
            // An empty packet is the end.
            if out.len() > before && more.is_ok() {
                self.link.line.send()?;
            }
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.link.line.packet();
        self.link.line.send()?;
        Ok(outcome)
    }

    /// Asks something small as a text.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Rows> {
        self.link.alive()?;
        let asked = self.within(self.patience, |own| own.fenced(|own| own.texts(sql, &mut |_| Ok(()))));
        asked.map_err(|failed| self.fail(failed))
    }

    /// The same, with what describes the columns.
    pub(super) fn ask_described(&mut self, sql: &str) -> Outcome<(Vec<AnswerColumn>, Rows)> {
        let mut columns = Vec::new();
        let mut describe = |packet: &[u8]| {
            columns.push(rows::described(packet)?);
            Ok(())
        };
        let rows = self.within(self.patience, |own| own.fenced(|own| own.texts(sql, &mut describe)))?;
        Ok((columns, rows))
    }

    /// The values that come of [`Connection::ask`], as for a single column; none is NULL.
    pub(super) fn column(&mut self, sql: &str) -> Result<Vec<String>> {
        Ok(self.ask(sql)?.into_iter().flatten().flatten().collect())
    }

    /// The first value that comes of [`Connection::ask`], if there is one that isn't NULL.
    pub(super) fn ask_one(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(self.ask(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Rows of a text result. What describes each column goes to `column`.
    fn texts(&mut self, sql: &str, column: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Outcome<Rows> {
        self.link.line.command(command::QUERY).extend_from_slice(sql.as_bytes());
        self.link.line.send()?;
        let caches_metadata = self.caches_metadata;
        let packet = self.receive()?;
        if packet.first() == Some(&OK) {
            return Ok(Vec::new());
        }
        let mut reader = Reader(packet);
        let (columns, follow) = (count_of_columns(&mut reader)?, !caches_metadata || reader.u8()? == 1);
        for _ in 0..if follow { columns } else { 0 } {
            column(self.link.line.receive()?)?;
        }
        let (mut rows, mut allowance) = (Vec::new(), Allowance::kept());
        loop {
            let packet = self.receive()?;
            if packet.first() == Some(&END) && packet.len() < 9 {
                return Ok(rows);
            }
            allowance.take_row(columns as usize, packet.len())?;
            let mut reader = Reader(packet);
            let mut row = Vec::with_capacity(columns as usize);
            for _ in 0..columns {
                if let [LOCAL_INFILE, rest @ ..] = reader.0 {
                    reader.0 = rest;
                    row.push(None);
                } else {
                    row.push(Some(String::from_utf8_lossy(reader.text()?).into_owned()));
                }
            }
            rows.push(row);
        }
    }

    pub(super) fn prepare(&mut self, sql: &str) -> Outcome<Prepared> {
        let prepare = |own: &mut Self| {
            own.link.line.command(command::PREPARE).extend_from_slice(sql.as_bytes());
            own.link.line.send()?;
            let mut reader = Reader(own.receive()?.get(1..).ok_or_else(malformed)?);
            let (id, columns, parameters) = (reader.u32()?, reader.u16()?, reader.u16()?);
            for _ in 0..parameters {
                own.link.line.receive()?;
            }
            Ok(Prepared { id, parameters, columns: own.columns(columns.into())? })
        };
        self.within(self.patience, |own| own.fenced(prepare))
    }

    /// The next packet that is no error.
    fn receive(&mut self) -> Outcome<&[u8]> {
        match self.link.line.receive()? {
            packet @ [ERROR, ..] => Err(Failed::Server(ServerError::of(packet)?)),
            packet => Ok(packet),
        }
    }

    /// The next packets, one for each column.
    fn columns(&mut self, count: u64) -> io::Result<Vec<Column>> {
        (0..count).map(|_| Column::of(self.link.line.receive()?)).collect()
    }

    /// Forgets a prepared statement; the server doesn't answer.
    pub(super) fn close(&mut self, prepared: &Prepared) -> io::Result<()> {
        self.link.line.command(command::CLOSE).extend_from_slice(&prepared.id.to_le_bytes());
        self.link.line.send()
    }

    /// Executes a prepared statement. Every row goes to `each`; if that has enough, the rest of the rows is still to come.
    pub(super) fn execute(
        &mut self,
        prepared: &mut Prepared,
        parameters: &[Value<'_>],
        each: Each<'_>,
    ) -> Outcome<Done> {
        if parameters.len() != usize::from(prepared.parameters) {
            let (given, wanted) = (parameters.len(), prepared.parameters);
            return Err(Failed::Ours(fault(format_args!("a statement has {wanted} parameters and was given {given}"))));
        }
        let out = self.link.line.command(command::EXECUTE);
        out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor, and once.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        binary::put_parameters(parameters, out).map_err(Failed::Ours)?;
        self.fenced(|own| {
            let sent = own.link.line.send();
            match own.answer(prepared, each) {
                Err(Failed::Wire(error)) => Err(Failed::Wire(sent.err().unwrap_or(error))),
                answer => answer,
            }
        })
    }

    fn answer(&mut self, prepared: &mut Prepared, each: Each<'_>) -> Outcome<Done> {
        let caches_metadata = self.caches_metadata;
        let packet = self.receive()?;
        let columns = match packet {
            [OK, ..] => {
                let (done, status) = finished(packet)?;
                self.pass_over_others(status)?;
                return Ok(done);
            }
            [LOCAL_INFILE, ..] => {
                // The server goes on when it has had a file, be it an empty one.
                self.link.line.packet();
                self.link.line.send()?;
                return self.receive().and(Err(Failed::Ours(no_files())));
            }
            _ => {
                let mut reader = Reader(packet);
                let columns = count_of_columns(&mut reader)?;
                (!caches_metadata || reader.u8()? == 1).then_some(columns)
            }
        };
        if let Some(columns) = columns {
            prepared.columns = self.columns(columns)?;
        }
        loop {
            match self.receive()? {
                [OK, row @ ..] => each(&prepared.columns, row).map_err(Failed::Receiver)?,
                packet => {
                    let (done, status) = finished(packet)?;
                    self.pass_over_others(status)?;
                    return Ok(Done { rows: 0, ..done });
                }
            }
        }
    }

    /// Reads and forgets further results, as procedures have them.
    fn pass_over_others(&mut self, mut status: u16) -> Outcome<()> {
        while status & MORE_RESULTS != 0 {
            status = match self.receive()? {
                packet @ [OK, ..] => finished(packet)?.1,
                _ => self.pass_over(&mut Done::default(), &mut |_| Ok(()))?,
            };
        }
        Ok(())
    }

    /// Reads and forgets the rest of an answer of which a part was read.
    pub(super) fn drain(&mut self) -> Outcome<()> {
        self.fenced(|own| {
            loop {
                let packet = own.receive()?;
                // A procedure has more results.
                if packet.first() == Some(&END) {
                    let (_, status) = finished(packet)?;
                    return own.pass_over_others(status);
                }
            }
        })
    }
}

/// What a statement is told that asks for a file of this machine, which only loads of ours may.
fn no_files() -> Error {
    Error::new(ErrorKind::Unsupported, "the statement asks for a local file, and local files are not read")
        .hint("leave out LOCAL, so that the server reads a file of its own; or INSERT the rows")
}

/// More columns than this no server has ("Limits on Table Column Count and Row Size").
const MOST_COLUMNS: u64 = 4096;

fn count_of_columns(reader: &mut Reader<'_>) -> io::Result<u64> {
    Some(reader.length()?).filter(|columns| *columns <= MOST_COLUMNS).ok_or_else(malformed)
}

/// What an OK packet says of rows and warnings, and its status.
fn finished(packet: &[u8]) -> io::Result<(Done, u16)> {
    let mut reader = Reader(packet.get(1..).ok_or_else(malformed)?);
    let rows = reader.length()?;
    reader.length()?;
    let status = reader.u16()?;
    Ok((Done { rows, warnings: reader.u16()? }, status))
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
