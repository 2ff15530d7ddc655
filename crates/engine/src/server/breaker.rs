//! What breaks a socket from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::net::{Shutdown, shutdown};

/// An open socket, and whether it was broken.
#[derive(Debug)]
pub(super) struct Open {
    fd: OwnedFd,
    is_broken: AtomicBool,
}

impl Open {
    /// What has come already is not heard any more: of somebody who never stops to talk that would be much.
    #[inline]
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }
}

impl From<OwnedFd> for Open {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, is_broken: AtomicBool::new(false) }
    }
}

impl AsFd for Open {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Breaks a socket that another thread may be waiting on.
#[derive(Debug, Clone)]
pub struct Breaker(pub(super) Arc<Open>);

impl Breaker {
    /// Nothing more comes or goes.
    pub fn shut(&self) {
        self.0.is_broken.store(true, Ordering::Relaxed);
        // One that is no longer connected is as good as broken.
        let _ = shutdown(&self.0.fd, Shutdown::Both);
    }
}
