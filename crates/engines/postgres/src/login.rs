//! The way in: the network, TLS, and a proof that we know the password (PostgreSQL manual, 53.2.1 and 53.3).

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::lines::Lines;
use plimsoll_engine::server::link::Refused;
use plimsoll_engine::server::socket::{Address, KeepAlive, Socket};
use plimsoll_engine::server::stream::Stream;
use plimsoll_engine::server::tls::Protection;
use plimsoll_engine::target::Secret;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::backend::{
    AUTHENTICATION_TAG, BACKEND_KEY_DATA_TAG, ERROR_RESPONSE_TAG, READY_FOR_QUERY_TAG,
};
use postgres_protocol::message::frontend;
use postgres_types::private::BytesMut;
use ring::digest::{self, digest};
use rustls::ClientConfig;

use super::error::{Errors, ServerError};
use super::wire_connection::{Reader, WireConnection, malformed};

/// What a server may say when it is asked for TLS: yes, no, or an error of one that is too old to know the question.
const ANSWERS: &[u8] = b"SNE";

#[derive(Clone)]
pub(super) struct Route {
    pub(super) mode: Protection,
    pub(super) tls: Arc<ClientConfig>,
    /// TLS from the first byte on, without asking.
    pub(super) is_direct: bool,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) send_patience: Duration,
    /// All lines to the server.
    pub(super) lines: Arc<Lines>,
}

/// Whether the log-in has to be bound to the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChannelRule {
    Never,
    IfPossible,
    Always,
}

#[derive(Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    pub(super) options: Option<String>,
    pub(super) channel: ChannelRule,
}

type Outcome<T> = Result<T, Refused>;

impl Route {
    /// A line to an address, which is that of this host, protected as far as asked.
    pub(super) fn open(&self, address: &Address, host: &str, patience: Duration, errors: &Errors) -> Outcome<Stream> {
        let socket = Socket::connect(address, patience, &self.lines)?;
        socket.keep_alive(self.keep_alive, Some(self.send_patience))?;
        let mut stream = Stream::new(socket);
        // Nobody can listen at a socket of this machine, and servers have no TLS there.
        let is_local = matches!(address, Address::Unix(_));
        if self.mode == Protection::Off || (self.mode == Protection::IfPossible && is_local) {
            return Ok(stream);
        }
        if !self.is_direct {
            let mut out = BytesMut::new();
            frontend::ssl_request(&mut out);
            stream.write_all(&out)?;
            let mut answer = [0];
            stream.read_exact(&mut answer)?;
            if !ANSWERS.contains(&answer[0]) {
                return Err(malformed().into());
            }
            if answer != *b"S" {
                if self.mode == Protection::IfPossible {
                    return Ok(stream);
                }
                return Err(Refused::Error(errors.unsafe_line("server does not support TLS")));
            }
        }
        stream.protect(&self.tls, host).map_err(|error| Refused::of_tls(error, |cause| errors.unsafe_line(cause)))?;
        Ok(stream)
    }

    /// Asks the server to cancel what another line of ours does, and waits until it has passed that on.
    pub(super) fn cancel(
        &self,
        (address, host): (&Address, &str),
        (process, key): (i32, i32),
        patience: Duration,
        errors: &Errors,
    ) -> io::Result<()> {
        let mut stream = self.open(address, host, patience, errors).map_err(Refused::into_io)?;
        let mut out = BytesMut::new();
        frontend::cancel_request(process, key, &mut out);
        stream.write_all(&out)?;
        stream.flush()?;
        // It closes the line when it has done so.
        while stream.read(&mut [0; 64])? > 0 {}
        Ok(())
    }
}

/// Logs in on a fresh line; gives the numbers by which it is cancelled.
pub(super) fn log_in(
    line: &mut WireConnection,
    login: &Login,
    database: &str,
    name: &str,
    errors: &Errors,
) -> Outcome<(i32, i32)> {
    let parameters = [
        ("client_encoding", Some("UTF8")),
        ("user", Some(login.user.as_str())),
        ("database", Some(database)),
        ("options", login.options.as_deref()),
        ("application_name", Some(name)),
    ];
    let parameters = parameters.into_iter().filter_map(|(key, value)| Some((key, value?)));
    frontend::startup_message(parameters, &mut line.out)?;
    line.send()?;
    prove(line, login, errors)?;
    let mut numbers = (0, 0);
    loop {
        match next(line, errors)? {
            (BACKEND_KEY_DATA_TAG, message) => {
                let mut reader = Reader::of(message);
                numbers = (reader.u32()? as i32, reader.u32()? as i32);
            }
            (READY_FOR_QUERY_TAG, _) => return Ok(numbers),
            _ => {}
        }
    }
}

/// The next message, if it is not the server's refusal.
fn next<'a>(line: &'a mut WireConnection, errors: &Errors) -> Outcome<(u8, &'a [u8])> {
    match line.receive()? {
        (ERROR_RESPONSE_TAG, message) => Err(Refused::Error(errors.connecting(&ServerError::of(message)?))),
        other => Ok(other),
    }
}

/// Answers what the server asks until it lets us in.
fn prove(line: &mut WireConnection, login: &Login, errors: &Errors) -> Outcome<()> {
    let no_way = |cause: &str| Refused::Error(errors.no_way_in(cause));
    let needed = || login.password.as_ref().ok_or_else(|| Refused::Error(errors.password_needed()));
    let password = || needed().map(|password| password.expose().as_bytes());
    let hash = line.stream.certificate().and_then(end_point).filter(|_| login.channel != ChannelRule::Never);
    let (mut scram, mut is_bound, mut is_known) = (None, false, true);
    loop {
        let (AUTHENTICATION_TAG, message) = next(line, errors)? else { return Err(malformed().into()) };
        let mut reader = Reader::of(message);
        let mut out = BytesMut::new();
        match reader.u32()? {
            0 if login.channel == ChannelRule::Always && !is_bound => {
                return Err(no_way("server did not use channel binding"));
            }
            // A server that asked for a proof has to prove that it knows the password as well.
            0 if !is_known => return Err(malformed().into()),
            0 => return Ok(()),
            3 | 5 | 10 if login.channel == ChannelRule::Always && !offers_binding(message) => {
                return Err(no_way("server did not use channel binding"));
            }
            3 => frontend::password_message(password()?, &mut out)?,
            5 => {
                let salt = reader.u32()?.to_be_bytes();
                let hash = md5_hash(login.user.as_bytes(), password()?, salt);
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            10 => {
                is_bound = offers_binding(message) && hash.is_some();
                let (way, mechanism) = match &hash {
                    Some(hash) if is_bound => (ChannelBinding::tls_server_end_point(hash.clone()), SCRAM_SHA_256_PLUS),
                    _ if login.channel == ChannelRule::Always => {
                        return Err(no_way("server did not use channel binding"));
                    }
                    // We could, and it is told so, lest somebody in between has hidden that it could as well.
                    Some(_) => (ChannelBinding::unrequested(), SCRAM_SHA_256),
                    None => (ChannelBinding::unsupported(), SCRAM_SHA_256),
                };
                if !mechanisms(message).any(|offered| offered == mechanism.as_bytes()) {
                    return Err(no_way("unsupported SASL mechanism"));
                }
                is_known = false;
                let begun = scram.insert(ScramSha256::new(password()?, way));
                frontend::sasl_initial_response(mechanism, begun.message(), &mut out)?;
            }
            step @ (11 | 12) => {
                let scram: &mut ScramSha256 = scram.as_mut().ok_or_else(malformed)?;
                let data = reader.rest();
                let proved = if step == 11 { scram.update(data) } else { scram.finish(data) };
                proved.map_err(|error| no_way(&error.to_string()))?;
                is_known = step == 12;
                if is_known {
                    continue;
                }
                frontend::sasl_response(scram.message(), &mut out)?;
            }
            _ => return Err(no_way("unsupported authentication method")),
        }
        line.out = out;
        line.send()?;
    }
}

/// The ways of SASL that a server offers.
fn mechanisms(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    message.get(9..).unwrap_or_default().split(|byte| *byte == 0)
}

fn offers_binding(message: &[u8]) -> bool {
    mechanisms(message).any(|offered| offered == SCRAM_SHA_256_PLUS.as_bytes())
}

/// What the log-in is bound to (`tls-server-end-point`, RFC 5929): the certificate's hash, by the function with which it was
/// signed, where that is one of these; SHA-256 stands for what is weaker.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    // Certificate, in it what is signed, then the algorithm with its number as first field.
    let (certificate_fields, _) = der(certificate)?;
    let (_, behind) = der(certificate_fields)?;
    let (number, _) = der(der(behind)?.0)?;
    let (last, family) = number.split_last()?;
    let algorithm = match (family, last) {
        (RSA, 4 | 5 | 11) | (ECDSA, 2) => &digest::SHA256,
        (RSA, 12) | (ECDSA, 3) => &digest::SHA384,
        (RSA, 13) | (ECDSA, 4) => &digest::SHA512,
        _ => return None,
    };
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// The content of an element in DER, and what comes after the element.
fn der(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = bytes.get(1..)?.split_first()?;
    let digits = if first < 0x80 { 0 } else { usize::from(first & 0x7f) };
    let (long, rest) = rest.split_at_checked(digits)?;
    let length = match long.len() {
        0 => usize::from(first),
        1..=4 => long.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_certificate_is_hashed_as_it_was_signed() {
        let element = |tag: u8, content: &[u8]| [&[tag, 0x81, content.len() as u8], content].concat();
        let certificate = |number: &[u8]| {
            let algorithm = element(0x30, &element(0x06, number));
            element(0x30, &[element(0x30, b"what is signed"), algorithm, element(0x03, b"signature")].concat())
        };
        let bytes = |number: &[u8]| end_point(&certificate(number)).map(|hash| hash.len());
        // ecdsa-with-SHA384, sha256WithRSAEncryption, sha512WithRSAEncryption, Ed25519.
        assert_eq!(bytes(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3]), Some(48));
        assert_eq!(bytes(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]), Some(32));
        assert_eq!(bytes(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13]), Some(64));
        assert_eq!(bytes(&[0x2b, 0x65, 0x70]), None);
    }

    proptest! {
        #[test]
        fn strange_certificates_do_no_harm(bytes: Vec<u8>) {
            let _ = end_point(&bytes);
        }
    }
}
