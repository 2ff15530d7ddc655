//! Blocking sockets: TCP or Unix, with a limit on how long a vanished server is waited for, and bytes that are counted.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with};

use super::breaker::Breaker;
use super::lines::Lines;
use crate::request::Traffic;

/// Where a server listens.
#[derive(Debug, Clone)]
pub enum Address {
    /// An address of the network.
    Tcp(SocketAddr),
    /// A socket's file.
    Unix(PathBuf),
}

/// How the system asks whether the other side still lives.
#[derive(Debug, Clone, Copy)]
pub struct KeepAlive {
    /// After this much silence...
    pub idle: Duration,
    /// ... so often...
    pub interval: Option<Duration>,
    /// ... and for the last time after so many questions.
    pub retries: Option<u32>,
}

/// A socket.
#[derive(Debug)]
pub struct Socket {
    fd: Arc<OwnedFd>,
    is_tcp: bool,
    traffic: Traffic,
}

impl Socket {
    /// Connects as one of these lines, and waits no longer than this for the connection and for each answer until
    /// [`Socket::clear_timeout`].
    pub fn connect(address: &Address, timeout: Duration, lines: &Lines) -> io::Result<Self> {
        let family = match address {
            Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let fd = Arc::new(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?);
        let socket = Self { fd, is_tcp: family != AddressFamily::UNIX, traffic: Traffic::default() };
        // Also for the connection itself: a server may not answer, or its queue of connections may be full.
        socket.set_timeout(Some(timeout))?;
        lines.add(&socket.breaker())?;
        let connected = match address {
            Address::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket.fd, true)?;
                connect(&socket.fd, address)
            }
            Address::Unix(path) => connect(&socket.fd, &SocketAddrUnix::new(path)?),
        };
        connected.map_err(|error| if error == Errno::INPROGRESS { ErrorKind::TimedOut.into() } else { late(error) })?;
        Ok(socket)
    }

    /// From now on an answer may take as long as it takes.
    pub fn clear_timeout(&self) -> io::Result<()> {
        self.set_timeout(None)
    }

    /// Breaks it from another thread.
    pub fn breaker(&self) -> Breaker {
        Breaker(Arc::clone(&self.fd))
    }

    /// How long an answer may take from now on; as long as it takes if this isn't said.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let set = |which| sockopt::set_socket_timeout(&self.fd, which, timeout);
        Ok(set(Timeout::Recv).and_then(|()| set(Timeout::Send))?)
    }

    /// Makes the system ask whether the other side still lives, after so much silence and so often, and give up a send that
    /// nobody takes after `patience`.
    pub fn keep_alive(&self, keep_alive: Option<KeepAlive>, patience: Option<Duration>) -> io::Result<()> {
        if !self.is_tcp {
            return Ok(());
        }
        let socket = &self.fd;
        if let Some(patience) = patience {
            sockopt::set_tcp_user_timeout(socket, patience.as_millis() as u32)?;
        }
        if let Some(KeepAlive { idle, interval, retries }) = keep_alive {
            sockopt::set_socket_keepalive(socket, true)?;
            sockopt::set_tcp_keepidle(socket, idle)?;
            if let Some(interval) = interval {
                sockopt::set_tcp_keepintvl(socket, interval)?;
            }
            if let Some(retries) = retries {
                sockopt::set_tcp_keepcnt(socket, retries)?;
            }
        }
        Ok(())
    }

    /// What went over it.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }
}

impl From<UnixStream> for Socket {
    /// A connection that is there already.
    fn from(stream: UnixStream) -> Self {
        Self { fd: Arc::new(stream.into()), is_tcp: false, traffic: Traffic::default() }
    }
}

/// A timeout is called by its name.
fn late(error: Errno) -> io::Error {
    if error == Errno::WOULDBLOCK { ErrorKind::TimedOut.into() } else { error.into() }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = rustix::io::read(&self.fd, buffer).map_err(late)?;
        self.traffic.received_bytes += count as u64;
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = send(&self.fd, bytes, SendFlags::NOSIGNAL).map_err(late)?;
        self.traffic.sent_bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
