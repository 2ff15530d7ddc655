//! All lines to one server, those too on which somebody is just logging in: when it stands still they are broken together.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_measurement::Moment;

use super::breaker::{Breaker, Open};
use crate::database::Cancel;

/// What a server's answer takes to reach us, at most, once it has given up to wait for a lock.
const ANSWER: Duration = Duration::from_secs(1);

/// Lines to a server.
#[derive(Debug)]
pub struct Lines {
    open: Mutex<Vec<Weak<Open>>>,
    /// True after an interrupt that was not heard, or not obeyed in time: nobody waits for this server any more.
    stands_still: AtomicBool,
    /// True once a statement was answered since a pulse was last felt for.
    has_answered: AtomicBool,
    /// When nobody will any more, after an interrupt.
    end: Mutex<Option<Moment>>,
    clock: RealClock,
}

impl Default for Lines {
    fn default() -> Self {
        let (open, end) = (Mutex::default(), Mutex::default());
        let (stands_still, has_answered) = (AtomicBool::default(), AtomicBool::default());
        Self { open, stands_still, has_answered, end, clock: RealClock::new() }
    }
}

impl Lines {
    /// How long something may take that usually has so long: after an interrupt only what is left.
    pub fn patience(&self, usual: Duration) -> Duration {
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.map_or(usual, |end| usual.min(end.since(self.clock.now())))
    }

    /// How long the server may wait for a lock, in whole seconds: a little less than is left, so that it can still say that it did not
    /// get it. It is never zero, by which servers mean for ever or nothing at all.
    pub fn patience_for_locks(&self, usual: Duration) -> Duration {
        let left = self.patience(usual.saturating_add(ANSWER)).saturating_sub(ANSWER);
        Duration::from_secs(left.as_secs().max(1))
    }

    /// A statement on one of them was answered.
    #[inline]
    pub(super) fn answered(&self) {
        // Each request passes here, on all processors: whoever writes takes the line of memory from all others.
        if !self.has_answered() {
            self.has_answered.store(true, Ordering::SeqCst);
        }
    }

    /// True if the server works, however busy it may be: one that is busy with a thousand sessions needs seconds to let one more in.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::SeqCst)
    }

    fn hurry(&self, left: Duration) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clock.now().after(left));
        if left.is_zero() {
            self.stands_still.store(true, Ordering::SeqCst);
            self.shut_all();
        }
    }

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
        if self.is_unheard() {
            return;
        }
        self.lines.has_answered.store(false, Ordering::SeqCst);
        let was_late = (self.ask)().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        if was_late && !self.lines.has_answered() {
            self.lines.stands_still.store(true, Ordering::SeqCst);
        }
    }

    fn sever(&self) {
        if self.is_unheard() {
            self.lines.shut_all();
        }
    }

    /// Nothing is left of the server's lines when nothing is left of the time, however well it hears.
    fn hurry(&self, left: Duration) {
        self.lines.hurry(left);
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
    fn a_server_that_answers_while_it_is_asked_is_waited_for() {
        let lines = Arc::new(Lines::default());
        // What was answered before the question counts for nothing.
        lines.answered();
        let (of_pulse, answers) = (Arc::clone(&lines), Arc::new(AtomicBool::new(true)));
        let is_answering = Arc::clone(&answers);
        let pulse = Pulse::new(&lines, move || {
            if is_answering.load(Ordering::SeqCst) {
                of_pulse.answered();
            }
            Err(io::ErrorKind::TimedOut.into())
        });
        pulse.cancel();
        assert!(!pulse.is_unheard());
        answers.store(false, Ordering::SeqCst);
        pulse.cancel();
        assert!(pulse.is_unheard());
    }

    #[test]
    fn a_server_that_hears_is_waited_for_no_longer_than_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let lines = Arc::new(Lines::default());
        let (usual, second) = (Duration::from_mins(1), Duration::from_secs(1));
        let connect = || Socket::connect(&address, usual, &lines);
        let pulse = Pulse::new(&lines, || Ok(()));
        let mut socket = connect().unwrap();
        assert_eq!((lines.patience(usual), lines.patience_for_locks(usual)), (usual, usual));
        pulse.hurry(Duration::from_secs(50));
        let left = lines.patience(usual);
        assert!(left > Duration::from_secs(1) && left <= Duration::from_secs(50), "{left:?}");
        assert!(lines.patience_for_locks(usual) < left && lines.patience(second) == second);
        drop(connect().unwrap());
        pulse.hurry(Duration::ZERO);
        assert_eq!((lines.patience(usual), lines.patience_for_locks(usual)), (Duration::ZERO, second));
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
