//! Blocking sockets: TCP or Unix, with a limit on how long a vanished server is waited for, and bytes that are counted.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_measurement::Moment;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send, socket_with,
};

use super::breaker::{Breaker, Open};
use super::lines::Lines;
use crate::request::Traffic;

/// The shortest wait that is asked of the system, which counts microseconds and takes none of them for ever.
const LEAST: Duration = Duration::from_millis(1);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    fd: Arc<Open>,
    is_tcp: bool,
    traffic: Traffic,
    /// How long a single read or write may take, if that is said.
    idle: Cell<Option<Duration>>,
    /// When all of what goes on now has to be over, however busy the other side is.
    end: Cell<Option<End>>,
    clock: RealClock,
}

/// The end of a time.
#[derive(Debug, Clone, Copy)]
struct End {
    at: Moment,
    after: Duration,
}

impl End {
    fn is_over(self) -> io::Error {
        io::Error::new(ErrorKind::TimedOut, format!("it was not done within {} s", self.after.as_secs_f64()))
    }
}

impl Socket {
    /// Connects as one of these lines. The connection and all that comes until [`Socket::clear_timeout`] may take so long together:
    /// a peer that keeps talking gains nothing.
    pub fn connect(address: &Address, timeout: Duration, lines: &Lines) -> io::Result<Self> {
        let family = match address {
            Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Address::Unix(_) => AddressFamily::UNIX,
        };
        let fd = Arc::new(Open::from(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?));
        let socket = Self::over(fd, family != AddressFamily::UNIX);
        lines.add(&socket.breaker())?;
        let timeout = lines.patience(timeout).max(LEAST);
        // Also for the connection itself: a server may not answer, or its queue of connections may be full.
        socket.set_timeout(Some(timeout))?;
        socket.end_within(timeout);
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

    fn over(fd: Arc<Open>, is_tcp: bool) -> Self {
        let (traffic, idle, end) = (Traffic::default(), Cell::default(), Cell::default());
        Self { fd, is_tcp, traffic, idle, end, clock: RealClock::new() }
    }

    /// From now on an answer may take as long as it takes.
    pub fn clear_timeout(&self) -> io::Result<()> {
        self.end.set(None);
        self.set_timeout(None)
    }

    /// All that is read and written from now on has to be over within so long, until [`Socket::lift_end`].
    pub fn end_within(&self, after: Duration) {
        self.end.set(Some(End { at: self.clock.now().after(after), after }));
    }

    /// What was said by [`Socket::end_within`] holds no more.
    ///
    /// # Errors
    /// Those of the system.
    pub fn lift_end(&self) -> io::Result<()> {
        if self.end.take().is_some() { self.wait_for(self.idle.get()) } else { Ok(()) }
    }

    /// Where there is an end, nothing waits beyond it.
    #[inline]
    fn heed_end(&self) -> io::Result<()> {
        match self.end.get() {
            Some(end) => self.wait_until(end),
            None => Ok(()),
        }
    }

    /// An error of the system, by its name.
    #[cold]
    fn failed(&self, error: Errno) -> io::Error {
        match self
            .end
            .get()
            .filter(|end| error == Errno::WOULDBLOCK && (self.idle.get().is_none() || self.clock.now() >= end.at))
        {
            Some(end) => end.is_over(),
            None => late(error),
        }
    }

    #[cold]
    fn wait_until(&self, end: End) -> io::Result<()> {
        let left = end.at.since(self.clock.now());
        if left.is_zero() {
            return Err(end.is_over());
        }
        let left = left.max(LEAST);
        self.wait_for(Some(self.idle.get().map_or(left, |idle| idle.min(left))))
    }

    /// Breaks it from another thread.
    pub fn breaker(&self) -> Breaker {
        Breaker(Arc::clone(&self.fd))
    }

    /// How long an answer may take from now on; as long as it takes if this isn't said.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.idle.set(timeout);
        self.wait_for(timeout)
    }

    fn wait_for(&self, timeout: Option<Duration>) -> io::Result<()> {
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

    /// For a thread that waits for many.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if that is nothing; those of the system.
    #[inline]
    pub fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.fd.is_broken() {
            return Ok(0);
        }
        let (count, _) = recv(&self.fd, buffer, RecvFlags::DONTWAIT)?;
        self.traffic.received_bytes += count as u64;
        Ok(count)
    }

    /// Sends as much as there is room for.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if there is none; those of the system.
    #[inline]
    pub fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        self.traffic.sent_bytes += count as u64;
        Ok(count)
    }
}

impl From<UnixStream> for Socket {
    /// A connection that is there already.
    fn from(stream: UnixStream) -> Self {
        Self::over(Arc::new(Open::from(OwnedFd::from(stream))), false)
    }
}

/// A timeout is called by its name.
#[inline]
fn late(error: Errno) -> io::Error {
    if error == Errno::WOULDBLOCK { ErrorKind::TimedOut.into() } else { error.into() }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.heed_end()?;
        if self.fd.is_broken() {
            return Ok(0);
        }
        let count = rustix::io::read(&self.fd, buffer).map_err(|error| self.failed(error))?;
        self.traffic.received_bytes += count as u64;
        Ok(count)
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heed_end()?;
        let count = send(&self.fd, bytes, SendFlags::NOSIGNAL).map_err(|error| self.failed(error))?;
        self.traffic.sent_bytes += count as u64;
        Ok(count)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_peer_that_keeps_talking_is_heard_until_the_end_and_no_longer() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let talking = thread::spawn(move || while theirs.write_all(b"one more thing. ").is_ok() {});
        let mut socket = Socket::from(ours);
        socket.end_within(Duration::from_millis(100));
        let mut heard = 0;
        let error = loop {
            match socket.read(&mut [0; 64]) {
                Ok(count) => heard += count,
                Err(error) => break error,
            }
        };
        assert!(error.kind() == ErrorKind::TimedOut && heard > 0, "{error}");
        // An end that was lifted ends nothing.
        socket.lift_end().unwrap();
        assert!(socket.read(&mut [0; 64]).unwrap() > 0);
        drop(socket);
        talking.join().unwrap();
    }

    #[test]
    fn what_came_before_a_line_was_broken_is_not_heard() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"one more thing. ").unwrap();
        let mut socket = Socket::from(ours);
        assert_eq!(socket.read(&mut [0]).unwrap(), 1);
        socket.breaker().shut();
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn silence_is_waited_for_until_the_end() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut socket = Socket::from(ours);
        socket.end_within(Duration::from_millis(50));
        assert_eq!(socket.read(&mut [0; 64]).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
