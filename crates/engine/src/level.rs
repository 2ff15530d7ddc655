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

/// How long the command that tells the level may take, and how long once somebody waits for the end.
const CHECK_PATIENCE: Duration = Duration::from_mins(2);
const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// Levels by commands of the user's: one asks for the level in [`LEVEL_VARIABLE`], the other prints the one in effect.
pub struct LevelCommands {
    /// Asks for a level.
    pub command: String,
    /// Prints the level in effect as its last line; it fails while nobody can say.
    pub check: String,
    /// How long the first may take; the second no longer either.
    pub patience: Duration,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Called several times a second; an error ends the command.
    pub interrupted: Box<dyn FnMut() -> Result<()> + Send>,
    /// Whether somebody waits for the end, also where nothing is to end the command.
    pub is_hurried: Box<dyn Fn() -> bool + Send>,
}

impl Levels for LevelCommands {
    fn current(&mut self) -> Result<Option<String>> {
        let script = Script::new("level check", &self.check, CHECK_PATIENCE.min(self.patience));
        let late = self.clock.now().after(SHORT_PATIENCE);
        let mut check = || {
            (self.interrupted)()?;
            if (self.is_hurried)() && self.clock.now() >= late {
                return Err(Error::new(ErrorKind::Statement, "the level check did not end in time"));
            }
            Ok(())
        };
        match script.run(self.clock.as_ref(), &mut check) {
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
