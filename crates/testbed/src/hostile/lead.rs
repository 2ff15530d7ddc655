//! How a peer behaves until it doesn't.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::ServerConfig;

use super::what::{Protocol, Stage};
use super::{mysql, postgres, tds};
use crate::tds::Pipe;

/// Leads a client to a stage.
pub(super) fn lead(
    client: TcpStream,
    protocol: Protocol,
    stage: Stage,
    tls: Option<&Arc<ServerConfig>>,
) -> io::Result<Pipe> {
    match protocol {
        Protocol::Postgres => by_postgres(client, stage, tls),
        Protocol::MySql => by_mysql(client, stage, tls),
        Protocol::Tds => by_tds(client, stage, tls),
    }
}

fn say(pipe: &mut Pipe, bytes: &[u8]) -> io::Result<()> {
    pipe.write_all(bytes)?;
    pipe.flush()
}

/// A message of which the first bytes hold its length; `head` is so long, and `length` reads it.
fn hear(pipe: &mut Pipe, head: usize, length: impl Fn(&[u8]) -> usize) -> io::Result<Vec<u8>> {
    let mut message = vec![0; head];
    pipe.read_exact(&mut message)?;
    let rest = length(&message).saturating_sub(head);
    message.resize(head + rest, 0);
    pipe.read_exact(&mut message[head..])?;
    Ok(message)
}

fn by_postgres(client: TcpStream, stage: Stage, tls: Option<&Arc<ServerConfig>>) -> io::Result<Pipe> {
    const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();
    let length = |head: &[u8]| u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut pipe = Pipe::Plain(client);
    let first = hear(&mut pipe, 4, length)?;
    if stage == Stage::First {
        return Ok(pipe);
    }
    if first[4..] == SSL_REQUEST {
        say(&mut pipe, if tls.is_some() { b"S" } else { b"N" })?;
        if stage == Stage::Handshake {
            return Ok(pipe);
        }
        pipe = secured(pipe, tls, false)?;
        hear(&mut pipe, 4, length)?;
    }
    if stage == Stage::Authentication {
        return Ok(pipe);
    }
    say(&mut pipe, postgres::LET_IN)?;
    if stage == Stage::LogIn {
        return Ok(pipe);
    }
    say(&mut pipe, postgres::READY)?;
    hear(&mut pipe, 5, |head| u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize + 1)?;
    Ok(pipe)
}

fn by_mysql(client: TcpStream, stage: Stage, tls: Option<&Arc<ServerConfig>>) -> io::Result<Pipe> {
    const SSL: u8 = 1 << 3;
    let length = |head: &[u8]| u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize + 4;
    let mut pipe = Pipe::Plain(client);
    if stage == Stage::First {
        return Ok(pipe);
    }
    say(&mut pipe, &mysql::greeting("8.0.36", tls.is_some()))?;
    let first = hear(&mut pipe, 4, length)?;
    if stage == Stage::Handshake {
        return Ok(pipe);
    }
    if first[5] & SSL != 0 {
        pipe = secured(pipe, tls, false)?;
        hear(&mut pipe, 4, length)?;
    }
    if stage == Stage::Authentication {
        return Ok(pipe);
    }
    say(&mut pipe, &mysql::packet(2, b"\xfemysql_native_password\0aaaaaaaaaaaaaaaaaaaa\0"))?;
    hear(&mut pipe, 4, length)?;
    if stage == Stage::LogIn {
        return Ok(pipe);
    }
    say(&mut pipe, mysql::OK)?;
    hear(&mut pipe, 4, length)?;
    Ok(pipe)
}

fn by_tds(client: TcpStream, stage: Stage, tls: Option<&Arc<ServerConfig>>) -> io::Result<Pipe> {
    const NONE: u8 = 2;
    const REQUIRED: u8 = 3;
    let length = |head: &[u8]| usize::from(u16::from_be_bytes([head[2], head[3]]));
    let mut pipe = Pipe::Plain(client);
    hear(&mut pipe, 8, length)?;
    if stage == Stage::First {
        return Ok(pipe);
    }
    say(&mut pipe, &tds::prelogin(if tls.is_some() { REQUIRED } else { NONE }))?;
    if stage == Stage::Handshake {
        return Ok(pipe);
    }
    if tls.is_some() {
        pipe = secured(pipe, tls, true)?;
    }
    hear(&mut pipe, 8, length)?;
    if stage == Stage::Authentication {
        return Ok(pipe);
    }
    say(&mut pipe, &tds::packets(&tds::let_in(), false))?;
    if stage == Stage::LogIn {
        return Ok(pipe);
    }
    say(&mut pipe, &tds::ready())?;
    hear(&mut pipe, 8, length)?;
    Ok(pipe)
}

fn secured(pipe: Pipe, tls: Option<&Arc<ServerConfig>>, wraps: bool) -> io::Result<Pipe> {
    match (pipe, tls) {
        (Pipe::Plain(socket), Some(tls)) => Pipe::secure(socket, tls, wraps),
        (pipe, _) => Ok(pipe),
    }
}
