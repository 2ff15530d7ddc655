//! All lines to one server, those too on which somebody is just logging in: when it stands still they are broken together.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::breaker::Breaker;
use crate::database::Cancel;

/// Lines to a server.
#[derive(Debug, Default)]
pub struct Lines {
    open: Mutex<Vec<Weak<OwnedFd>>>,
    /// True after an interrupt that was not heard: nobody waits for this server any more.
    stands_still: AtomicBool,
}

impl Lines {
    /// One more, which may not even be connected yet.
    ///
    /// # Errors
    /// A time-out where the server stands still.
    pub(super) fn add(&self, line: &Breaker) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stands_still.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        open.retain(|line| line.strong_count() > 0);
        open.push(Arc::downgrade(&line.0));
        Ok(())
    }

    fn shut_all(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().filter_map(Weak::upgrade).for_each(|line| Breaker(line).shut());
    }
}

/// Finds out at an interrupt whether a server still hears. One that doesn't is not waited for a second time, whatever its lines
/// are waiting for.
pub struct Pulse {
    lines: Arc<Lines>,
    ask: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
}

impl Pulse {
    /// Of these lines' server. `ask` gets an answer over a line of its own: a time-out if that takes longer than
    /// [`CANCEL_PATIENCE`](super::canceller::CANCEL_PATIENCE).
    pub fn new(lines: &Arc<Lines>, ask: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { lines: Arc::clone(lines), ask: Box::new(ask) }
    }
}

impl Cancel for Pulse {
    /// Cancels nothing: that is for sessions that work.
    fn cancel(&self) {
        // A server that refuses us has heard us, and one that is gone has nothing that would be waited for.
        if !self.is_unheard() && (self.ask)().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            self.lines.stands_still.store(true, Ordering::SeqCst);
        }
    }

    fn sever(&self) {
        if self.is_unheard() {
            self.lines.shut_all();
        }
    }

    fn is_unheard(&self) -> bool {
        self.lines.stands_still.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{SocketAddr, TcpListener};
    use std::thread;
    use std::time::Duration;

    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

    use super::*;
    use crate::server::socket::{Address, Socket};

    #[test]
    fn lines_to_a_server_that_does_not_hear_are_broken_and_no_more_are_made() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let lines = Arc::new(Lines::default());
        let connect = || Socket::connect(&address, Duration::from_mins(1), &lines);
        let mut socket = connect().unwrap();
        for kind in [io::ErrorKind::ConnectionRefused, io::ErrorKind::TimedOut] {
            // Its lines are as they were.
            drop(connect().unwrap());
            let pulse = Pulse::new(&lines, move || Err(kind.into()));
            pulse.sever();
            pulse.cancel();
            pulse.sever();
        }
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
        assert_eq!(connect().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_connection_that_nobody_accepts_is_broken_too() {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&listener, 0).unwrap();
        let address = Address::Tcp(getsockname(&listener).unwrap().try_into().unwrap());
        let lines = Lines::default();
        let soon = || Socket::connect(&address, Duration::from_millis(100), &lines);
        let mut queue = Vec::new();
        while let Ok(socket) = soon() {
            queue.push(socket);
        }
        assert_eq!(soon().unwrap_err().kind(), io::ErrorKind::TimedOut);
        thread::scope(|scope| {
            let connecting = scope.spawn(|| Socket::connect(&address, Duration::from_mins(1), &lines));
            while !connecting.is_finished() {
                lines.shut_all();
            }
            assert_ne!(connecting.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
