//! The hosts of a URL, and where they are.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_engine::server::names;
use plimsoll_engine::server::socket::Address;
use plimsoll_engine::server::url;
use plimsoll_engine::{Error, ErrorKind, Result};

use super::url::Location;

/// Folders where servers put their sockets.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    /// Its name, or the folder of its socket.
    pub(super) name: String,
    /// What the name leads to, if that is said.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

/// Who let us in. With several hosts sessions may move from one to another.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Each once.
    hosts: Vec<Host>,
    /// The last one.
    pub(super) last: Option<(Address, Host)>,
}

impl Reached {
    pub(super) fn note(&mut self, address: Address, host: &Host) {
        if !self.hosts.contains(host) {
            self.hosts.push(host.clone());
        }
        self.last = Some((address, host.clone()));
    }

    /// All but the last one.
    pub(super) fn others(&self) -> impl Iterator<Item = &Host> {
        let last = self.last.as_ref().map(|(_, host)| host);
        self.hosts.iter().filter(move |host| Some(*host) != last)
    }
}

impl Host {
    /// How it is called: `host:port`, or the folder of a socket.
    pub(super) fn shown(&self) -> String {
        let name = self.address.filter(|_| self.name.is_empty()).map(|address| address.to_string());
        url::address(name.as_deref().unwrap_or(&self.name), self.port)
    }

    /// Its addresses; a name may have several.
    pub(super) fn addresses(&self, timeout: Duration) -> io::Result<Vec<Address>> {
        Ok(match self.address {
            Some(address) => vec![Address::Tcp(SocketAddr::new(address, self.port))],
            None if self.name.starts_with('/') => {
                vec![Address::Unix(PathBuf::from(&self.name).join(format!(".s.PGSQL.{}", self.port)))]
            }
            None => names::addresses(&self.name, self.port, timeout)?,
        })
    }
}

/// The hosts of a URL, with their ports and addresses where these are said.
pub(super) fn hosts(location: &Location) -> Result<Vec<Host>> {
    let list = |key: &str| -> Vec<&str> { location.get(key).into_iter().flat_map(|list| list.split(',')).collect() };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len());
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(unfit("hostaddr"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(unfit("port"));
    }
    let host = |index: usize| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or_default();
        Ok(Host {
            name: names.get(index).copied().unwrap_or_default().to_owned(),
            address: match addresses.get(index) {
                None | Some(&"") => None,
                Some(address) => Some(address.parse().map_err(|_| unfit("hostaddr"))?),
            },
            port: if port.is_empty() { 5432 } else { port.parse().map_err(|_| unfit("port"))? },
        })
    };
    (0..count).map(host).collect()
}

/// The complaint names the parameter and not the value.
pub(super) fn unfit(key: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("the value of '{key}' in the URL can't be used"))
        .hint("the PostgreSQL manual lists the values under 'Parameter Key Words'")
}

/// Where a server is found if nobody says: at its socket, else at the loopback address.
pub(super) fn usual_host(port: &str) -> String {
    let socket = SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists());
    socket.unwrap_or("localhost").to_owned()
}

pub(super) fn is_loopback(host: &str) -> bool {
    host.starts_with('/') || url::is_loopback(host)
}

/// `host:port` of every host; sockets by their folder.
pub(super) fn address(hosts: &str, ports: &str) -> String {
    let ports: Vec<&str> = ports.split(',').collect();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or("5432");
    let all: Vec<String> = hosts.split(',').enumerate().map(|(i, host)| url::address(host, port(i))).collect();
    all.join(",")
}
