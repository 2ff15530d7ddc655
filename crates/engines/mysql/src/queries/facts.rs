//! What the server counts of statements, and what it leaves out, as its settings say.

use plimsoll_engine::{Error, ErrorKind, Result};

use super::super::connection::Rows;
use super::super::error::statement as fault;
use super::sessions::number;

/// Consumers that statements have to pass to be counted by digest.
pub const CONSUMERS: u64 = 3;

/// What the server counts, as it was found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    pub room: u64,
    pub session_limit: Option<u64>,
    /// Whether it is known which statement a session runs.
    pub sees_current: bool,
    /// Whether it counts the statements of each user.
    pub counts_all_users: bool,
    /// How many kinds of statements, or of steps on the way to one, are not counted or not timed.
    pub instruments_off: u64,
}

/// Why some users are not counted.
const SOME_USERS: &str = "performance_schema.setup_actors leaves out some users, and counts all with an enabled row ('%', '%', '%') and no \
                          disabled one; sessions that began meanwhile stay out until they end";

impl Facts {
    /// From the answer to "statistics of statements".
    pub(super) fn of(answer: Result<Rows>) -> Result<Self> {
        let grant = "GRANT SELECT ON performance_schema.* TO the user of the URL";
        let rows = answer.map_err(|error| match error.kind {
            ErrorKind::Permission => error.hint(grant),
            _ => error,
        })?;
        let row = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        let missing = |message: &str, hint: &str| Err(Error::new(ErrorKind::ToolMissing, message).hint(hint));
        if number(row, 0) != Some(1) {
            return missing(
                "the Performance Schema is off, which counts statements",
                "add performance_schema = ON to the server's option file, and restart the server",
            );
        }
        if number(row, 3).is_none_or(|consumers| consumers < CONSUMERS) {
            return missing(
                "the Performance Schema does not count statements by digest",
                "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ('global_instrumentation', \
                 'thread_instrumentation', 'statements_digest')",
            );
        }
        if number(row, 4).is_none_or(|instruments| instruments == 0) {
            return missing(
                "the Performance Schema does not take times of statements",
                "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'statement/%'",
            );
        }
        Ok(Self {
            room: number(row, 1).unwrap_or(0),
            session_limit: number(row, 2),
            sees_current: number(row, 5) == Some(1),
            counts_all_users: number(row, 6) > Some(0) && number(row, 7) == Some(0) && number(row, 8) == Some(0),
            instruments_off: number(row, 9).unwrap_or(0),
        })
    }

    /// What it does not count; `None` if it counts all.
    pub(super) fn leaves_out(&self) -> Option<String> {
        let off = self.instruments_off;
        let kinds = || {
            format!(
                "{off} of the instruments 'statement/%', without those of steps within procedures, are off or not timed in \
                 performance_schema.setup_instruments"
            )
        };
        let users = (!self.counts_all_users).then(|| SOME_USERS.to_owned());
        users.or_else(|| (off > 0).then(kinds))
    }
}
