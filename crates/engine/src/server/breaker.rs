//! What breaks a socket from another thread.

use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};

/// The stream beneath a socket.
#[derive(Debug)]
pub(super) enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Breaks a socket that another thread may be waiting on.
#[derive(Debug, Clone)]
pub struct Breaker(Arc<Kind>);

impl Breaker {
    /// Of this stream.
    pub(super) fn of(kind: &Arc<Kind>) -> Self {
        Self(Arc::clone(kind))
    }

    /// Nothing more comes or goes.
    pub fn shut(&self) {
        // One that is no longer connected is as good as broken.
        let _ = match &*self.0 {
            Kind::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Kind::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    pub(super) fn weak(&self) -> WeakBreaker {
        WeakBreaker(Arc::downgrade(&self.0))
    }
}

/// The same without keeping the socket open.
#[derive(Debug)]
pub(super) struct WeakBreaker(Weak<Kind>);

impl WeakBreaker {
    pub(super) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    pub(super) fn shut(&self) {
        if let Some(kind) = self.0.upgrade() {
            Breaker(kind).shut();
        }
    }
}
