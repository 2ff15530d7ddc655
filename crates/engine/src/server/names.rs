//! The addresses of a host by its name. Whoever is asked for them may be silent for minutes, and nothing of the system's breaks that off.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::socket::Address;

/// All addresses of a name, or the one that it is.
///
/// # Errors
/// The system's, and [`io::ErrorKind::TimedOut`] after so long.
pub fn addresses(name: &str, port: u16, timeout: Duration) -> io::Result<Vec<Address>> {
    if let Ok(address) = name.parse() {
        return Ok(vec![Address::Tcp(SocketAddr::new(address, port))]);
    }
    let asked = (name.to_owned(), port);
    in_time(timeout, move || Ok(asked.to_socket_addrs()?.map(Address::Tcp).collect()))
}

/// What is found out within so long. Who still asks then is left behind.
fn in_time<T: Send + 'static>(
    timeout: Duration,
    ask: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, found) = mpsc::channel();
    thread::Builder::new().name("addresses".to_owned()).spawn(move || drop(sender.send(ask())))?;
    found.recv_timeout(timeout).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => io::ErrorKind::TimedOut.into(),
            RecvTimeoutError::Disconnected => io::Error::other("nobody said why a name has no address"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_nothing_is_not_waited_for() {
        let (_sender, never) = mpsc::channel::<()>();
        let asked = in_time(Duration::from_millis(20), move || never.recv().map_err(io::Error::other));
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn an_address_needs_nobody_to_be_asked() {
        let at = |name| addresses(name, 5, Duration::ZERO).unwrap();
        assert_eq!(at("::1"), [Address::Tcp("[::1]:5".parse().unwrap())]);
        assert_eq!(at("127.0.0.1"), [Address::Tcp("127.0.0.1:5".parse().unwrap())]);
        assert!(!addresses("localhost", 5, Duration::from_mins(1)).unwrap().is_empty());
    }
}
