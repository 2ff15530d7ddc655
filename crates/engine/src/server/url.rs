//! URLs of servers: `scheme://user:password@host:port/database?parameter=value`, taken apart and decoded. Nothing of what is
//! wrong with one is repeated, as it may be a piece of a password.

use std::fmt;
use std::net::IpAddr;

use crate::error::{Error, ErrorKind, Result};
use crate::target::unescape;

/// A URL's parts.
pub struct Parts<'a> {
    /// The user; empty where there is none.
    pub user: String,
    /// The password; empty where there is none.
    pub password: String,
    /// Hosts with their ports, as they stand there.
    pub hosts: &'a str,
    /// What follows the first slash.
    pub path: String,
    /// Parameters in their order.
    pub parameters: Vec<(String, String)>,
    /// True if a parameter may be the end of a password that was not escaped.
    pub doubtful: bool,
}

impl<'a> Parts<'a> {
    /// Takes a URL apart. `usage` makes an error of a sentence, and `start` is the one on a URL that doesn't begin as it should.
    ///
    /// # Errors
    /// Those of `usage`.
    pub fn of(url: &'a str, start: &'static str, usage: impl Fn(&'static str) -> Error) -> Result<Self> {
        let rest = url.split_once(':').and_then(|(_, rest)| rest.strip_prefix("//")).ok_or_else(|| usage(start))?;
        let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
        let (authority, path) = before.split_once('/').unwrap_or((before, ""));
        // Such a '@' follows a password with an unescaped '/': whatever would be read of it could be the password's end.
        if path.contains('@') {
            return Err(usage("the URL's user or password holds an unescaped '/'"));
        }
        let decode = |text: &str| unescape(text).map_err(&usage);
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (user, password, path) = (decode(user)?, decode(password)?, decode(path)?);
        let doubtful = query.is_some_and(|query| query.contains('@'));
        let mut parameters = Vec::new();
        for pair in query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| usage("a parameter of the URL has no value"))?;
            parameters.push((decode(key)?, decode(value)?));
        }
        Ok(Self { user, password, hosts, path, parameters, doubtful })
    }
}

/// The error on a URL of this scheme that can't be read.
pub fn usage(scheme: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message).hint(format!(
        "write {scheme}://user@host:port/database?parameter=value, with '/', '?', '@', '&' and '%' of a user or password as %2F, \
         %3F, %40, %26 and %25"
    ))
}

/// A host, decoded and perhaps empty, and its port: `name`, `name:port`, `[address]:port`.
///
/// # Errors
/// Those of `usage`.
pub fn host_and_port(host: &str, usage: impl Fn(&'static str) -> Error) -> Result<(String, Option<u16>)> {
    let (name, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    // What is no number may be a password behind a user part that did not end where it should.
    let number = |port: &str| port.parse().map_err(|_| usage("a port in the URL is not a number from 1 to 65535"));
    Ok((unescape(name).map_err(&usage)?, port.map(number).transpose()?))
}

/// True for a host that is this machine.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `host:port`, or `[address]:port`.
pub fn address(host: &str, port: impl fmt::Display) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The error on a parameter that an engine doesn't know. Its name is repeated where `is_plain` holds for all of it and it can't be
/// the end of a password.
pub fn unknown_parameter(name: &str, doubtful: bool, is_plain: impl Fn(u8) -> bool, known: &str) -> Error {
    let is_safe = !doubtful && !name.is_empty() && name.bytes().all(is_plain);
    let what = if is_safe { format!("parameter '{name}'") } else { "a parameter".to_owned() };
    Error::new(ErrorKind::Usage, format!("{what} of the target is unknown")).hint(format!("known names: {known}"))
}
