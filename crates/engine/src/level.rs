//! The level of service that a target has, and asking for another.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;

use crate::error::{Error, ErrorKind, Result};
use crate::server::shell::Script;

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

/// The variable in which a command finds the level that is asked for.
pub const LEVEL_VARIABLE: &str = "PLIMSOLL_LEVEL";

/// How long the command that tells the level may take.
const CHECK_PATIENCE: Duration = Duration::from_mins(2);

/// Levels by commands of the user's: one asks for the level in [`LEVEL_VARIABLE`], the other prints the one in effect.
pub struct LevelCommands {
    /// Asks for a level.
    pub command: String,
    /// Prints the level in effect as its last line; it fails while nobody can say.
    pub check: String,
    /// How long the first may take.
    pub patience: Duration,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Called several times a second; an error ends the command.
    pub interrupted: Box<dyn FnMut() -> Result<()> + Send>,
}

impl Levels for LevelCommands {
    fn current(&mut self) -> Result<Option<String>> {
        let script = Script::new("level check", &self.check, CHECK_PATIENCE);
        match script.run(self.clock.as_ref(), &mut self.interrupted) {
            Ok(said) => Ok(crate::server::shell::last_line(&said)),
            // As if the server were away.
            Err(error) if error.kind == ErrorKind::Statement => Err(Error { kind: ErrorKind::Lost, ..error }),
            Err(error) => Err(error),
        }
    }

    fn ask(&mut self, level: &str) -> Result<()> {
        let variable = Some((LEVEL_VARIABLE, level));
        let script = Script { variable, ..Script::new("level command", &self.command, self.patience) };
        script.run(self.clock.as_ref(), &mut self.interrupted).map(drop)
    }
}
