//! Restarting a server by a command of its user's.

use std::time::Duration;

use plimsoll_clock::Clock;

use crate::error::{Error, ErrorKind, Result};
use crate::server::shell::Script;
use crate::workspace::{Cold, ColdFollower};

/// How long the command may take, and then the server to answer.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(100);

/// Runs the command of a cold start if it has one. Waits until a server answers that was started since, tells the follower, and
/// says what was done. `started_at` asks the server when it was started, in its own words.
pub fn restart(
    cold: &Cold,
    clock: &dyn Clock,
    follower: &mut dyn ColdFollower,
    started_at: impl Fn() -> Result<String>,
) -> Result<Vec<String>> {
    follower.check()?;
    let Some(command) = &cold.restart_command else { return Ok(Vec::new()) };
    let before = started_at()?;
    let script = Script { ends_all: false, ..Script::new("restart command", command, PATIENCE) };
    script.run(clock, &mut || follower.check())?;
    let give_up = clock.now().after(PATIENCE);
    loop {
        let failure = match started_at() {
            Ok(started) if started != before => return follower.restarted().map(|()| vec!["restart".to_owned()]),
            Ok(_) => Error::new(ErrorKind::Statement, "the restart command ended and the server was not restarted")
                .hint("the command has to restart the server of the given URL, and return when it is up"),
            Err(error) => error,
        };
        if clock.now() >= give_up {
            return Err(failure);
        }
        follower.check()?;
        clock.sleep(PAUSE);
    }
}
