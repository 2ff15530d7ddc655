//! The log-in: greeting, TLS, and proofs by whatever plugin the account has (MySQL internals, "Connection Phase").

use std::sync::Arc;

use plimsoll_engine::server::errors::unreachable;
use plimsoll_engine::server::link::Refused;
use plimsoll_engine::server::tls::Protection;
use plimsoll_engine::target::Secret;
use rustls::ClientConfig;

use super::auth;
use super::error::Errors;
use super::packet::{Reader, malformed, put_text};
use super::product::{Product, Server};
use super::wire_connection::{ERROR, OK, ServerError, WireConnection};

/// What can be agreed on, by the protocol's numbers.
mod capability {
    pub(super) const MYSQL: u32 = 1;
    pub(super) const FOUND_ROWS: u32 = 1 << 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const LOCAL_FILES: u32 = 1 << 7;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const SSL: u32 = 1 << 11;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(super) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const CONNECT_ATTRS: u32 = 1 << 20;
    pub(super) const DEPRECATE_EOF: u32 = 1 << 24;
    /// MariaDB's own, in a field of their own: columns that are known are not sent again.
    pub(super) const CACHE_METADATA: u32 = 1 << 4;
}

/// Without these there is no talking.
const NEEDED: u32 = capability::PROTOCOL_41
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH
    | capability::DEPRECATE_EOF
    | capability::TRANSACTIONS;
/// Rows that an UPDATE found count, as on other engines, and not those that it made different.
const WANTED: u32 = NEEDED
    | capability::FOUND_ROWS
    | capability::LONG_FLAG
    | capability::LOCAL_FILES
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::CONNECT_ATTRS;

/// `utf8mb4_general_ci`, which both products have under this number.
const CHARSET: u8 = 45;
const LARGEST_PACKET: u32 = 1 << 30;
/// Bytes of a greeting's proof that the password is hashed with.
const NONCE: usize = 20;

/// The user that logs in, and how the line is to be protected.
pub(super) struct Login<'a> {
    pub(super) user: &'a str,
    pub(super) password: Option<&'a Secret>,
    pub(super) database: Option<&'a str>,
    pub(super) host: &'a str,
    pub(super) mode: Protection,
    pub(super) tls: &'a Arc<ClientConfig>,
    /// True on a socket of this machine, along which nobody can read.
    pub(super) is_socket: bool,
    /// The session's name among the attributes of its connection.
    pub(super) name: &'a str,
}

pub(super) struct Welcome {
    pub(super) server: Server,
    /// The number by which it is killed.
    pub(super) id: u32,
    /// Columns of a prepared statement are sent only when they have changed.
    pub(super) caches_metadata: bool,
}

struct Greeting {
    server: Server,
    id: u32,
    nonce: Vec<u8>,
    capabilities: u32,
    extended: u32,
    plugin: String,
}

type Outcome<T> = Result<T, Refused>;

pub(super) fn log_in(line: &mut WireConnection, login: &Login<'_>, errors: &Errors) -> Outcome<Welcome> {
    let greeting = greet(line, errors)?;
    if greeting.capabilities & NEEDED != NEEDED {
        return Err(Refused::Error(unreachable(&errors.address, "the server's protocol is too old")));
    }
    let has_tls = greeting.capabilities & capability::SSL != 0;
    let encrypts = match login.mode {
        Protection::Off => false,
        Protection::IfPossible => has_tls && !login.is_socket,
        _ if !has_tls => return Err(Refused::Error(errors.unsafe_line("the server has no TLS"))),
        _ => true,
    };
    let mut agreed = WANTED & greeting.capabilities;
    let caches_metadata = greeting.extended & capability::CACHE_METADATA != 0;
    // A server that speaks MariaDB's extensions leaves this out, and so does a client that wants them.
    agreed |= if caches_metadata { 0 } else { capability::MYSQL & greeting.capabilities };
    agreed |= login.database.map_or(0, |_| capability::CONNECT_WITH_DB);
    agreed |= if encrypts { capability::SSL } else { 0 };
    let extended = if caches_metadata { capability::CACHE_METADATA } else { 0 };
    let header = |out: &mut Vec<u8>| {
        out.extend_from_slice(&agreed.to_le_bytes());
        out.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
        out.push(CHARSET);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&extended.to_le_bytes());
    };
    if encrypts {
        header(line.packet());
        line.send()?;
        let protected = line.protect(login.tls, login.host);
        protected.map_err(|error| Refused::of_tls(error, |cause| errors.unsafe_line(cause)))?;
    }
    let password = login.password.map_or("", Secret::expose);
    let (plugin, proof) = match greeting.plugin.as_str() {
        known @ "caching_sha2_password" => (known, auth::caching_sha2(password, &greeting.nonce)),
        // Another plugin's proof is asked for if this isn't the account's.
        _ => ("mysql_native_password", auth::native(password, &greeting.nonce)),
    };
    let out = line.packet();
    header(out);
    out.extend_from_slice(login.user.as_bytes());
    out.push(0);
    out.push(proof.len() as u8);
    out.extend_from_slice(&proof);
    if let Some(database) = login.database {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    if agreed & capability::CONNECT_ATTRS != 0 {
        let mut attributes = Vec::new();
        put_text(&mut attributes, b"program_name");
        put_text(&mut attributes, login.name.as_bytes());
        put_text(out, &attributes);
    }
    line.send()?;
    prove(line, login, plugin, errors)?;
    Ok(Welcome { server: greeting.server, id: greeting.id, caches_metadata })
}

fn greet(line: &mut WireConnection, errors: &Errors) -> Outcome<Greeting> {
    let packet = line.receive()?;
    if packet.first() == Some(&ERROR) {
        return Err(Refused::Error(errors.connecting(&ServerError::of(packet)?)));
    }
    let mut reader = Reader(packet);
    if reader.u8()? != 10 {
        return Err(Refused::Wire(malformed()));
    }
    let version = String::from_utf8_lossy(reader.until_zero()).into_owned();
    let id = reader.u32()?;
    let mut nonce = reader.bytes(8)?.to_vec();
    reader.u8()?;
    let low = reader.u16()?;
    reader.u8()?;
    reader.u16()?;
    let capabilities = u32::from(low) | u32::from(reader.u16()?) << 16;
    let length = usize::from(reader.u8()?);
    reader.bytes(6)?;
    let extended = reader.u32()?;
    let rest = length.saturating_sub(8).max(13);
    nonce.extend_from_slice(reader.bytes(rest.min(reader.0.len()))?);
    nonce.truncate(NONCE);
    let plugin = String::from_utf8_lossy(reader.until_zero()).into_owned();
    let server = Server::from_version(&version).map_err(Refused::Error)?;
    let is_mariadb = server.product == Product::MariaDb && capabilities & capability::MYSQL == 0;
    let extended = if is_mariadb { extended } else { 0 };
    Ok(Greeting { server, id, nonce, capabilities, extended, plugin })
}

/// Answers what the server asks until it lets us in.
fn prove(line: &mut WireConnection, login: &Login<'_>, plugin: &str, errors: &Errors) -> Outcome<()> {
    let password = login.password.map_or("", Secret::expose);
    let nobody_reads = line.stream.is_protected() || login.is_socket;
    // A server that wants the bare password at once has to be known; the servers' own clients don't give it away at all.
    let is_verified = matches!(login.mode, Protection::Authority | Protection::Host);
    let is_known = login.is_socket || (line.stream.is_protected() && is_verified);
    let refused = |cause: &str| Refused::Error(errors.no_way_in(cause));
    let mut plugin = plugin.to_owned();
    loop {
        let packet = line.receive()?;
        let answer = match packet {
            [OK, ..] => return Ok(()),
            [ERROR, ..] => return Err(Refused::Error(errors.connecting(&ServerError::of(packet)?))),
            // Another plugin.
            [0xfe, rest @ ..] => {
                let mut reader = Reader(rest);
                plugin = String::from_utf8_lossy(reader.until_zero()).into_owned();
                let nonce = reader.0.get(..NONCE).unwrap_or(reader.0);
                match plugin.as_str() {
                    "mysql_native_password" => auth::native(password, nonce),
                    "caching_sha2_password" => auth::caching_sha2(password, nonce),
                    "mysql_clear_password" | "dialog" if is_known => auth::clear(password),
                    "mysql_clear_password" | "dialog" => {
                        return Err(refused(
                            "its plugin wants the password itself, and the server is not known by a verified certificate",
                        ));
                    }
                    other => return Err(refused(&format!("the plugin {other} is unknown here"))),
                }
            }
            // More of the same plugin: 3 means that the proof was enough, 4 that the password itself is wanted.
            [0x01, 3] if plugin == "caching_sha2_password" => continue,
            [0x01, 4] if plugin == "caching_sha2_password" && nobody_reads => auth::clear(password),
            [0x01, 4] if plugin == "caching_sha2_password" => {
                return Err(Refused::Error(errors.unencrypted()));
            }
            _ => return Err(Refused::Wire(malformed())),
        };
        line.packet().extend_from_slice(&answer);
        line.send()?;
    }
}
