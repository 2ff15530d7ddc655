//! Cancelling what a session does from another thread: the statement that runs now and no later one, and the session itself if
//! the server doesn't hear.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::breaker::Breaker;
use super::lines::Lines;
use crate::database::Cancel;

/// How long a server may take to hear that it shall stop. With what comes after it has to stay below the two seconds in which an
/// interrupted run ends.
pub const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

/// Asks the server to cancel, and returns when it has passed that on: a time-out if that takes longer than
/// [`CANCEL_PATIENCE`].
type Ask = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// Cancels the statements of a session.
pub struct Canceller {
    ask: Ask,
    breaker: Breaker,
    lines: Arc<Lines>,
    /// Held while the server is asked.
    gate: Mutex<()>,
    is_asking: AtomicBool,
    works: AtomicBool,
    unheard: AtomicBool,
    has_asked: AtomicBool,
}

impl Canceller {
    /// Of the session on the line of this breaker, which is one of these.
    pub fn new(breaker: Breaker, lines: &Arc<Lines>, ask: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
        let [is_asking, works, unheard, has_asked] = std::array::from_fn(|_| AtomicBool::new(false));
        let lines = Arc::clone(lines);
        Self { ask: Box::new(ask), breaker, lines, gate: Mutex::new(()), is_asking, works, unheard, has_asked }
    }

    /// A statement is about to begin. One that is being cancelled has ended; that its cancelling has too is waited for here.
    #[inline]
    pub fn begin(&self) {
        // Each request passes here. Either a canceller that asks is seen, or it sees that this statement works.
        self.works.swap(true, Ordering::SeqCst);
        if self.is_asking.load(Ordering::SeqCst) {
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The statement was answered.
    #[inline]
    pub fn end(&self) {
        self.lose();
        self.lines.answered();
    }

    /// Whether a statement of this session was ever cancelled from here: if not, it was the server or somebody there.
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::SeqCst)
    }

    /// No answer comes any more.
    #[inline]
    pub fn lose(&self) {
        self.works.store(false, Ordering::Release);
    }
}

impl Cancel for Canceller {
    /// A request that was not heard in time may still be heard at any later time, so its session has come to its end.
    fn cancel(&self) {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_asking.store(true, Ordering::SeqCst);
        self.has_asked.store(true, Ordering::SeqCst);
        // A server that can't be reached has nothing to cancel, or will notice by itself that we are gone.
        if !self.unheard.load(Ordering::SeqCst)
            && self.works.load(Ordering::SeqCst)
            && (self.ask)().is_err_and(|error| matches!(error.kind(), io::ErrorKind::TimedOut))
        {
            self.unheard.store(true, Ordering::SeqCst);
            self.breaker.shut();
        }
        self.is_asking.store(false, Ordering::SeqCst);
    }

    fn sever(&self) {
        self.breaker.shut();
    }

    /// Where others were answered meanwhile, the server was busy, and it is this session alone that has come to its end.
    fn is_unheard(&self) -> bool {
        self.unheard.load(Ordering::SeqCst) && !self.lines.has_answered()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::server::socket::{Address, Socket};

    fn line() -> (TcpListener, Socket, Arc<Lines>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let lines = Arc::default();
        let socket = Socket::connect(&address, Duration::from_mins(1), &lines).unwrap();
        (listener, socket, lines)
    }

    #[test]
    fn a_statement_begins_when_the_cancelling_of_the_one_before_has_ended() {
        let (_listener, socket, lines) = line();
        let (asked, is_asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        let answered = Mutex::new(answered);
        let canceller = Arc::new(Canceller::new(socket.breaker(), &lines, move || {
            asked.send(()).unwrap();
            answered.lock().unwrap().recv().unwrap();
            Ok(())
        }));
        // Nothing works: nobody is asked.
        canceller.cancel();
        assert!(is_asked.try_recv().is_err());
        canceller.begin();
        let other = Arc::clone(&canceller);
        let cancelling = thread::spawn(move || other.cancel());
        is_asked.recv().unwrap();
        canceller.end();
        let (begun, has_begun) = mpsc::channel();
        let other = Arc::clone(&canceller);
        let next = thread::spawn(move || {
            other.begin();
            begun.send(()).unwrap();
        });
        assert!(has_begun.recv_timeout(Duration::from_millis(100)).is_err());
        answer.send(()).unwrap();
        has_begun.recv().unwrap();
        cancelling.join().unwrap();
        next.join().unwrap();
        assert!(!canceller.is_unheard());
    }

    #[test]
    fn a_line_whose_server_does_not_hear_is_broken() {
        let (_listener, mut socket, lines) = line();
        for (kind, is_unheard) in [(io::ErrorKind::ConnectionRefused, false), (io::ErrorKind::TimedOut, true)] {
            let canceller = Canceller::new(socket.breaker(), &lines, move || Err(kind.into()));
            canceller.begin();
            canceller.cancel();
            assert_eq!(canceller.is_unheard(), is_unheard);
        }
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_server_that_answers_others_is_busy_and_does_not_stand_still() {
        let (_listener, mut socket, lines) = line();
        let canceller = Canceller::new(socket.breaker(), &lines, || Err(io::ErrorKind::TimedOut.into()));
        let other = Canceller::new(socket.breaker(), &lines, || Ok(()));
        canceller.begin();
        other.begin();
        canceller.cancel();
        // The line of the other one broke.
        other.lose();
        assert!(canceller.is_unheard());
        other.begin();
        other.end();
        assert!(!canceller.is_unheard());
        // What it has not heard yet it may hear at any time, so the session has ended all the same.
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    }
}
