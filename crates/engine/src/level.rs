//! The level of service that a target has, and asking for another.

use crate::error::Result;

/// Changes the level of a target and tells which is in effect.
pub trait Levels: Send {
    /// The level in effect now, by a new connection if need be; `None` where that can't be said. While a level changes a
    /// server may be away: an error of the kinds [`ErrorKind::Connect`](crate::ErrorKind::Connect) and
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) passes by itself.
    fn current(&mut self) -> Result<Option<String>>;

    /// Asks for another level, and returns as soon as that was accepted: it may take effect later.
    fn ask(&mut self, level: &str) -> Result<()>;

    /// Bytes that have to move for the change, where the target says so.
    fn moves_bytes(&mut self, level: &str) -> Option<u64> {
        let _ = level;
        None
    }
}
