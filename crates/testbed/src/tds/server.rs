//! The server itself: a thread for each client, which logs it in and answers by the script.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use super::bytes::bad;
use super::login::{self, LoginRequest, Prelogin, encrypt};
use super::packet::{self, Cutting, Message, Writer, kind};
use super::pipe::Pipe;
use super::request::{self, Bulk, Call, Request, procedure};
use super::sending::Sending;
use super::settings::{Attention, Encryption, Shared, locked};
use super::syntax;
use super::token::{self, DONE, DONE_IN_PROC, DONE_PROC, Outcome, Refusal, Reply, done};
use super::types::{Column, Datum, Kind};

/// How long a server looks away before it looks whether its client still lives.
const GLANCE: Duration = Duration::from_millis(20);

/// More bytes of rows than this are sent before the rest is made.
const MUCH: usize = 256 * 1024;

/// Serves a client until it goes.
pub(super) fn serve(shared: &Shared, socket: TcpStream) -> io::Result<()> {
    let settings = &shared.settings;
    socket.set_nodelay(true)?;
    let tls = || shared.tls.as_ref().ok_or_else(|| bad("TLS is wanted and there is no certificate"));
    let mut pipe = match settings.encryption {
        Encryption::Strict => Pipe::secure(socket, tls()?, false)?,
        _ => Pipe::Plain(socket),
    };
    let Some(first) = packet::read(&mut pipe)? else { return Ok(()) };
    if first.kind != kind::PRELOGIN {
        return Err(bad("the first message is no PRELOGIN"));
    }
    let prelogin = Prelogin::read(&first.body)?;
    let encryption = match (settings.encryption, prelogin.encryption) {
        (Encryption::None | Encryption::Strict, _) => encrypt::NOT_SUPPORTED,
        (Encryption::LoginOnly, encrypt::OFF) => encrypt::OFF,
        (Encryption::LoginOnly | Encryption::Full, encrypt::ON) => encrypt::ON,
        _ => encrypt::REQUIRED,
    };
    send(&mut pipe, Cutting::PLAIN, &prelogin.answer(encryption))?;
    if encryption != encrypt::NOT_SUPPORTED {
        let Pipe::Plain(socket) = pipe else { return Err(bad("TLS within TLS")) };
        pipe = Pipe::secure(socket, tls()?, true)?;
    }
    let Some(message) = packet::read(&mut pipe)? else { return Ok(()) };
    if message.kind != kind::LOGIN {
        return Err(bad("the second message is no LOGIN7"));
    }
    let login = LoginRequest::read(&message.body)?;
    if encryption == encrypt::OFF {
        // Only the log-in was to be encrypted.
        pipe = Pipe::Plain(pipe.socket().try_clone()?);
    }
    locked(&shared.record).logins.push(login.clone());
    if let Err(refusal) = (settings.admission)(&login) {
        return send(&mut pipe, settings.cutting, &login::refused(&refusal));
    }
    let next = (settings.routes)(&login);
    let next = next.as_ref().map(|(host, port)| (host.as_str(), *port));
    let granted = login::granted(&login, settings.cutting.packet_bytes.max(512), next);
    send(&mut pipe, settings.cutting, &granted)?;
    Session { shared, pipe, login, statements: HashMap::new(), next_handle: 1, announcement: String::new() }.run()
}

fn send(pipe: &mut Pipe, cutting: Cutting, body: &[u8]) -> io::Result<()> {
    let mut writer = Writer::new(pipe, kind::RESPONSE, cutting);
    writer.put(body)?;
    writer.end()
}

struct Session<'a> {
    shared: &'a Shared,
    pipe: Pipe,
    login: LoginRequest,
    statements: HashMap<i64, (String, String)>,
    next_handle: i64,
    announcement: String,
}

/// How an answer to a call is framed.
#[derive(Debug, Clone, Copy, Default)]
struct Framing {
    is_call: bool,
    /// A handle that the client learns.
    handle: Option<i64>,
}

enum Ended {
    Whole,
    Cancelled,
    Gone,
}

impl Session<'_> {
    fn run(mut self) -> io::Result<()> {
        let forgets = self.shared.settings.forgets;
        while let Some(message) = packet::read_keeping(&mut self.pipe, |kind| !forgets || kind != kind::BULK)? {
            match self.answer(&message)? {
                Ended::Whole => {}
                Ended::Cancelled => self.confirm()?,
                Ended::Gone => {
                    let _ = self.pipe.socket().shutdown(Shutdown::Both);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, message: &Message) -> io::Result<Ended> {
        match message.kind {
            kind::ATTENTION => {
                locked(&self.shared.record).attentions += 1;
                Ok(Ended::Cancelled)
            }
            kind::BATCH => {
                let sql = request::batch(&message.body)?;
                if let Some(reply) = syntax::refusal(self.shared, &sql, "") {
                    return self.reply(reply, Framing::default());
                }
                if let Some(reply) = self.about_table(&sql) {
                    return self.reply(reply, Framing::default());
                }
                if sql.trim_start().to_ascii_uppercase().starts_with("INSERT BULK") {
                    self.announcement = sql;
                    let ended = self.reply(Reply(vec![Outcome::Done]), Framing::default())?;
                    if self.shared.settings.stalls_loads {
                        loop {
                            thread::park();
                        }
                    }
                    return Ok(ended);
                }
                self.ask(Request::Batch(sql), Framing::default())
            }
            kind::BULK => {
                let (columns, rows) =
                    if self.shared.settings.forgets { Default::default() } else { request::bulk(&message.body)? };
                let announcement = std::mem::take(&mut self.announcement);
                self.ask(Request::Bulk(Bulk { announcement, columns, rows }), Framing::default())
            }
            kind::RPC => self.call(&message.body),
            kind::TRANSACTION => self.reply(Reply(vec![Outcome::Done]), Framing::default()),
            other => Err(bad(&format!("message 0x{other:02X} is not known here"))),
        }
    }

    /// What the driver asks of a table before it loads rows into it: their types, and the collations of its texts.
    fn about_table(&self, sql: &str) -> Option<Reply> {
        let name = sql.split_once("N' FROM ")?.1.split_once("')")?.0;
        if !sql.starts_with("SELECT @@TRANCOUNT") {
            return None;
        }
        let Some(columns) = (self.shared.settings.tables)(name) else {
            return Some(Reply::error(Refusal::new(208, &format!("Invalid object name '{name}'."))));
        };
        let collation = |column: &Column| match column.kind {
            Kind::VarChar(_) | Kind::Char(_) | Kind::NVarChar(_) => Datum::from("SQL_Latin1_General_CP1_CI_AS"),
            _ => Datum::Null,
        };
        let collations: Vec<Vec<Datum>> = columns
            .iter()
            .zip(1_i64..)
            .map(|(column, number)| {
                vec![Datum::from(number), Datum::from(column.name.as_str()), Datum::Null, collation(column)]
            })
            .collect();
        let of_collations = vec![
            Column::new("colid", Kind::Integer(4)),
            Column::new("name", Kind::NVarChar(Some(256))),
            Column::new("tds_collation", Kind::VarBinary(Some(5))),
            Column::new("collation", Kind::NVarChar(Some(256))),
        ];
        let count = vec![Column::new("", Kind::Integer(4))];
        Some(Reply(vec![
            Outcome::Rows(count, Box::new([vec![Datum::from(0)]].into_iter())),
            Outcome::Rows(columns, Box::new(std::iter::empty())),
            Outcome::Rows(of_collations, Box::new(collations.into_iter())),
        ]))
    }

    fn call(&mut self, body: &[u8]) -> io::Result<Ended> {
        let call = request::call(body)?;
        let value = |index: usize| call.parameters.get(index).map(|parameter| parameter.value.clone());
        let text = |index: usize| match value(index) {
            Some(Datum::Text(text)) => Ok(text),
            _ => Err(bad("a call has no text where it should have one")),
        };
        let rest = |from: usize| {
            let parameters = call.parameters.get(from..).unwrap_or_default();
            parameters.iter().map(|parameter| (parameter.name.clone(), parameter.value.clone())).collect()
        };
        let framing = Framing { is_call: true, handle: None };
        match call.procedure.clone() {
            Ok(procedure::PREPARE_AND_EXECUTE) => {
                let (declarations, sql) = (text(1)?, text(2)?);
                let handle = self.next_handle;
                self.next_handle += 1;
                self.statements.insert(handle, (sql.clone(), declarations.clone()));
                let call = Call { sql, declarations, parameters: rest(3), by_handle: false };
                self.ask(Request::Call(call), Framing { is_call: true, handle: Some(handle) })
            }
            Ok(procedure::EXECUTE) => {
                let Some(Datum::Integer(handle)) = value(0) else { return Err(bad("a call has no handle")) };
                let Some((sql, declarations)) = self.statements.get(&handle).cloned() else {
                    let refusal = Refusal::new(8179, "Could not find prepared statement with that handle.");
                    return self.reply(Reply::error(refusal), framing);
                };
                let call = Call { sql, declarations, parameters: rest(1), by_handle: true };
                self.ask(Request::Call(call), framing)
            }
            Ok(procedure::EXECUTE_SQL) => {
                let call = Call { sql: text(0)?, declarations: text(1)?, parameters: rest(2), by_handle: false };
                self.ask(Request::Call(call), framing)
            }
            Ok(procedure::UNPREPARE) => {
                if let Some(Datum::Integer(handle)) = value(0) {
                    self.statements.remove(&handle);
                }
                self.reply(Reply(vec![Outcome::Done]), framing)
            }
            Err(name) => {
                let call = Call { sql: name, declarations: String::new(), parameters: rest(0), by_handle: false };
                self.ask(Request::Call(call), framing)
            }
            Ok(other) => Err(bad(&format!("procedure {other} is not known here"))),
        }
    }

    fn ask(&mut self, request: Request, framing: Framing) -> io::Result<Ended> {
        let refusal = match &request {
            Request::Call(call) if !call.by_handle => syntax::refusal(self.shared, &call.sql, &call.declarations),
            _ => None,
        };
        let reply = refusal.unwrap_or_else(|| (self.shared.script)(&request, &self.login));
        if !self.shared.settings.forgets {
            locked(&self.shared.record).requests.push(request);
        }
        self.reply(reply, framing)
    }

    /// Sends what a request comes to. Every statement but the last says that there is more.
    fn reply(&mut self, reply: Reply, framing: Framing) -> io::Result<Ended> {
        let Self { shared, pipe, .. } = self;
        let mut sending = Sending { cut_after: None, sent: 0, cutting: shared.settings.cutting, body: Vec::new() };
        let statement_end = if framing.is_call { DONE_IN_PROC } else { DONE };
        let mut outcomes = reply.0.into_iter().peekable();
        let (mut had_error, mut hangs_up) = (false, false);
        while let Some(outcome) = outcomes.next() {
            let more = if framing.is_call || outcomes.peek().is_some() { done::MORE } else { 0 };
            let mut out = Vec::new();
            let put = if matches!(outcome, Outcome::Rows(..)) { token::put_row } else { token::put_row_without_nulls };
            match outcome {
                Outcome::Rows(columns, rows) | Outcome::RowsWithoutNulls(columns, rows) => {
                    token::put_columns(&columns, &mut out);
                    let mut count = 0;
                    for row in rows {
                        put(&columns, &row, &mut out)?;
                        count += 1;
                        if out.len() > MUCH && sending.put(&out) {
                            out.clear();
                            sending.break_off(pipe)?;
                        }
                    }
                    token::put_done(statement_end, more | done::COUNT, token::SELECT, count, &mut out);
                }
                Outcome::Count(count) => {
                    token::put_done(statement_end, more | done::COUNT, token::INSERT, count, &mut out);
                }
                Outcome::Done => token::put_done(statement_end, more, 0, 0, &mut out),
                Outcome::Message(message) => {
                    let message = Refusal { number: 0, state: 1, class: 0, message };
                    token::put_message(0xAB, &message, &mut out);
                    token::put_done(statement_end, more, 0, 0, &mut out);
                }
                Outcome::Error(refusal) => {
                    had_error = true;
                    token::put_message(0xAA, &refusal, &mut out);
                    token::put_done(statement_end, more | done::ERROR, 0, 0, &mut out);
                }
                Outcome::HangUp => hangs_up = true,
                Outcome::CutAfter(bytes) => sending.cut_after = Some(sending.sent + sending.body.len() + bytes),
                Outcome::Wait(time) => {
                    sending.break_off(pipe)?;
                    let mut waited = Duration::ZERO;
                    let is_over = || {
                        waited += GLANCE;
                        time.is_some_and(|time| waited > time)
                    };
                    if let Some(ended) = wait(shared, pipe, is_over)? {
                        return Ok(ended);
                    }
                }
                Outcome::WaitForFile(path) => {
                    sending.break_off(pipe)?;
                    if let Some(ended) = wait(shared, pipe, || path.exists())? {
                        return Ok(ended);
                    }
                }
            }
            if !sending.put(&out) {
                sending.break_off(pipe)?;
                return Ok(Ended::Gone);
            }
        }
        let mut out = Vec::new();
        if framing.is_call {
            // RETURNSTATUS, and the handle where one was made.
            out.extend_from_slice(&[0x79, 0, 0, 0, 0]);
            if let Some(handle) = framing.handle {
                out.extend_from_slice(&[0xAC, 0, 0, 0, 1]);
                out.extend_from_slice(&[0; 6]);
                Kind::IntegerNull(4).put(&mut out);
                Kind::IntegerNull(4).put_value(&Datum::Integer(handle), &mut out)?;
            }
            token::put_done(DONE_PROC, if had_error { done::ERROR } else { 0 }, 0, 0, &mut out);
        } else if sending.sent + sending.body.len() == 0 {
            token::put_done(DONE, 0, 0, 0, &mut out);
        }
        if !sending.put(&out) {
            sending.break_off(pipe)?;
            return Ok(Ended::Gone);
        }
        sending.end(pipe)?;
        Ok(if hangs_up { Ended::Gone } else { Ended::Whole })
    }

    /// Confirms an attention, as the script wants it.
    fn confirm(&mut self) -> io::Result<()> {
        match self.shared.settings.attention {
            Attention::Ignored => return Ok(()),
            Attention::Late(time) => thread::sleep(time),
            Attention::Confirmed => {}
        }
        let mut out = Vec::new();
        token::put_done(DONE, done::ATTENTION, 0, 0, &mut out);
        send(&mut self.pipe, self.shared.settings.cutting, &out)
    }
}

/// Looks at the client until the wait is over; what ended it before, if anything did.
fn wait(shared: &Shared, pipe: &mut Pipe, mut is_over: impl FnMut() -> bool) -> io::Result<Option<Ended>> {
    while !is_over() {
        if let Some(ended) = glance(shared, pipe)? {
            return Ok(Some(ended));
        }
    }
    Ok(None)
}

/// Looks whether an attention has come, or the client has gone; `None` if nothing has happened.
fn glance(shared: &Shared, pipe: &mut Pipe) -> io::Result<Option<Ended>> {
    pipe.flush()?;
    pipe.socket().set_read_timeout(Some(GLANCE))?;
    let read = packet::read(pipe);
    pipe.socket().set_read_timeout(None)?;
    match read {
        Ok(Some(message)) if message.kind == kind::ATTENTION => {
            locked(&shared.record).attentions += 1;
            Ok((shared.settings.attention != Attention::Ignored).then_some(Ended::Cancelled))
        }
        Ok(Some(_)) => Err(bad("a client asks while it waits")),
        Ok(None) => Ok(Some(Ended::Gone)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
        Err(error) => Err(error),
    }
}
