//! The hosts of a URL, and where they are.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_engine::server::names;
use plimsoll_engine::server::socket::Address;
use plimsoll_engine::server::url;
use plimsoll_engine::{Error, ErrorKind, Result, Secret};

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
    /// Its user's password there: a password file has one for each host.
    pub(super) password: Option<Secret>,
}

/// Who let us in. With several hosts sessions may move from one to another.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Each once, with the address that answered: one name may lead to several servers.
    hosts: Vec<Host>,
    /// The last one.
    pub(super) last: Option<(Address, Host)>,
}

impl Reached {
    pub(super) fn note(&mut self, address: Address, host: &Host) {
        let host = host.at(&address);
        if !self.hosts.contains(&host) {
            self.hosts.push(host.clone());
        }
        self.last = Some((address, host));
    }

    /// All but the last one.
    pub(super) fn others(&self) -> impl Iterator<Item = &Host> {
        let last = self.last.as_ref().map(|(_, host)| host);
        self.hosts.iter().filter(move |host| Some(*host) != last)
    }
}

impl Host {
    /// One of the addresses that its name leads to.
    pub(super) fn at(&self, address: &Address) -> Self {
        match address {
            Address::Tcp(address) => Self { address: Some(address.ip()), ..self.clone() },
            Address::Unix(_) => self.clone(),
        }
    }

    /// Its name, as certificates and password files have it: its address where it has none.
    pub(super) fn searched(&self) -> String {
        if self.name.is_empty() { self.address.map_or_else(String::new, |a| a.to_string()) } else { self.name.clone() }
    }

    /// How it is called: `host:port` with the address that is meant, or the folder of a socket.
    pub(super) fn shown(&self) -> String {
        let address = self.address.map(|address| address.to_string());
        match address {
            Some(address) if self.name.is_empty() || self.name == address => url::address(&address, self.port),
            Some(address) => format!("{} at {address}", url::address(&self.name, self.port)),
            None => url::address(&self.name, self.port),
        }
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
            password: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A name may lead to several servers, and sessions may have been at each.
    #[test]
    fn of_each_address_it_is_known_that_sessions_were_there() {
        let host = Host { name: "db".to_owned(), address: None, port: 5432, password: None };
        let mut reached = Reached::default();
        for address in ["10.0.0.1:5432", "10.0.0.2:5432", "10.0.0.1:5432"] {
            reached.note(Address::Tcp(address.parse().unwrap()), &host);
        }
        let others: Vec<String> = reached.others().map(Host::shown).collect();
        assert_eq!(others, ["db:5432 at 10.0.0.2"]);
        assert_eq!(host.shown(), "db:5432");
    }
}
