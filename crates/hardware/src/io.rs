//! A request to a device, and when it is done.

use std::time::Duration;

use plimsoll_measurement::Moment;

/// What a device does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes from the device.
    Read,
    /// Bytes to the device.
    Write,
}

/// One request to a device. Without bytes (a flush) it counts as one I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Its direction.
    pub kind: Kind,
    /// Address on the device, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// When a request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// When the answer is there; never before the request.
    pub at: Moment,
    /// How long limits held it beyond what it would have taken without them: its queue, and its own transfer at the limited rate as far as that
    /// does not pass within the disk's latency. The rest is that latency.
    pub throttled: Duration,
}
