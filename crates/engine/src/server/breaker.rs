//! What breaks a socket from another thread.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::net::{Shutdown, shutdown};

/// Breaks a socket that another thread may be waiting on.
#[derive(Debug, Clone)]
pub struct Breaker(pub(super) Arc<OwnedFd>);

impl Breaker {
    /// Nothing more comes or goes.
    pub fn shut(&self) {
        // One that is no longer connected is as good as broken.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}
