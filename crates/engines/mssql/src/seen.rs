//! What passes by itself at a server: counted by its cause where it is met, and told in plain words at the end of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error_codes::{self, Cause};
use super::wire::ServerError;

/// An error of the server by its number, with the one that its text names as the reason (40197 does).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Code(u32, Option<u32>);

impl Code {
    fn of(server_error: &ServerError) -> Self {
        let reason = server_error.message.rsplit_once("Error code ").map(|(_, rest)| rest);
        let digits = reason.and_then(|rest| rest.split(|sign: char| !sign.is_ascii_digit()).next());
        Self(server_error.number, digits.and_then(|digits| digits.parse().ok()))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(reason) => write!(f, "{} with {reason}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    LogIn,
    Statement,
}

/// Counts since they were last told.
#[derive(Debug, Default)]
struct Counts {
    /// Log-ins and statements, by what refused them.
    refused: BTreeMap<Cause, (BTreeMap<Code, u64>, [u64; 2])>,
    /// Connections that ended without a word of the server.
    cut: u64,
    /// Connections that a gateway sent on to another server than the one before.
    moved: u64,
    /// How long the longest log-in was refused before it was let in.
    longest_log_in: Duration,
}

/// Shared by all connections of a target.
#[derive(Debug, Default)]
pub(super) struct Seen {
    counts: Mutex<Counts>,
    /// Where connections to each database that let us in are; empty for the server that the target names.
    places: Mutex<BTreeMap<String, String>>,
}

impl Seen {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A log-in or a statement was refused by this, if it is something that passes.
    pub(super) fn refused(&self, what: Refused, server_error: &ServerError) {
        let known = error_codes::find(server_error.number, server_error.state);
        let Some(cause) = known.and_then(|known| known.cause) else { return };
        let code = Code::of(server_error);
        tracing::info!(%code, ?what, ?cause, "refused for a while");
        let mut counts = self.counts();
        let (codes, sums) = counts.refused.entry(cause).or_default();
        *codes.entry(code).or_default() += 1;
        sums[what as usize] += 1;
    }

    /// A connection ended, and the server said nothing.
    pub(super) fn cut(&self) {
        self.counts().cut += 1;
    }

    /// A log-in to a database was let in after so long, at the server that a gateway sent it on to, if one did.
    pub(super) fn let_in(&self, database: &str, after: Duration, sent_on: Option<&str>) {
        let sent_on = sent_on.unwrap_or_default();
        let before = self.places().insert(database.to_owned(), sent_on.to_owned());
        let mut counts = self.counts();
        counts.moved += u64::from(before.is_some_and(|before| before != sent_on));
        counts.longest_log_in = counts.longest_log_in.max(after);
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once a log-in to this database was let in.
    pub(super) fn is_in(&self, database: &str) -> bool {
        self.places().contains_key(database)
    }

    /// True if a gateway sends connections on.
    pub(super) fn is_sent_on(&self) -> bool {
        self.places().values().any(|place| !place.is_empty())
    }

    /// What is to be said of the time since the last telling. `slept` is true for a database that may have been asleep until now.
    pub(super) fn told(&self, slept: bool) -> Vec<String> {
        let counts = std::mem::take(&mut *self.counts());
        let mut told = Vec::new();
        for (cause, (codes, sums)) in &counts.refused {
            let what = refused_words(*sums);
            let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
            let codes = codes.join(", ");
            told.push(match cause {
                Cause::Unavailable if slept => {
                    let seconds = counts.longest_log_in.as_secs();
                    format!("resumed: the serverless database was paused, and let us in after {seconds} s ({what}, by error {codes})")
                }
                Cause::Unavailable => {
                    format!("unavailable: the database was away for a while, as in a failover ({what} refused, by error {codes})")
                }
                Cause::Throttled => format!("throttled: the server held us to its limits ({what} refused, by error {codes})"),
            });
        }
        match counts.cut {
            0 => {}
            count => told.push(format!(
                "cut: the server ended {} without a word, as in a failover or when somebody ends sessions",
                counted(count, "connection")
            )),
        }
        match counts.moved {
            0 => {}
            count => told.push(format!(
                "redirected: the gateway sent {} on to another server than before, as after a failover",
                counted(count, "connection")
            )),
        }
        told
    }
}

/// What was refused, in words.
fn refused_words([log_ins, statements]: [u64; 2]) -> String {
    let parts = [(log_ins, "log-in"), (statements, "statement")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
    parts.join(" and ")
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(number: u32, message: &str) -> ServerError {
        ServerError { number, state: 1, class: 17, line: None, message: message.to_owned() }
    }

    #[test]
    fn causes_are_told_apart_and_counted_once() {
        let seen = Seen::default();
        assert!(seen.told(false).is_empty());
        let failing =
            "The service has encountered an error processing your request. Please try again. Error code 40143.";
        for _ in 0..2 {
            seen.refused(Refused::Statement, &server_error(40197, failing));
        }
        seen.refused(Refused::LogIn, &server_error(40613, "not available"));
        seen.refused(Refused::Statement, &server_error(40501, "Retry the request after 10 seconds. Code: 7."));
        // Whatever else is refused is no matter of time.
        seen.refused(Refused::Statement, &server_error(208, "Invalid object name."));
        seen.cut();
        assert_eq!(
            seen.told(false),
            [
                "unavailable: the database was away for a while, as in a failover (1 log-in and 2 statements refused, by \
                 error 40197 with 40143: 2, 40613: 1)",
                "throttled: the server held us to its limits (1 statement refused, by error 40501: 1)",
                "cut: the server ended 1 connection without a word, as in a failover or when somebody ends sessions",
            ]
        );
        assert!(seen.told(false).is_empty());
    }

    #[test]
    fn who_is_sent_elsewhere_has_moved() {
        let seen = Seen::default();
        assert!(!seen.is_in("sales") && !seen.is_sent_on());
        for place in [Some("a:11000"), Some("a:11000"), Some("b:11001"), Some("b:11001"), Some("b:11001")] {
            seen.let_in("sales", Duration::ZERO, place);
            // Other databases are elsewhere anyway.
            seen.let_in("master", Duration::ZERO, Some("c:11002"));
        }
        assert!(seen.is_in("sales") && !seen.is_in("other") && seen.is_sent_on());
        let told = seen.told(false);
        assert!(told.len() == 1 && told[0].starts_with("redirected: the gateway sent 1 connection on"), "{told:?}");
        // Behind no gateway nobody moves.
        let seen = Seen::default();
        (0..3).for_each(|_| seen.let_in("sales", Duration::ZERO, None));
        assert!(seen.is_in("sales") && !seen.is_sent_on() && seen.told(false).is_empty());
    }
}
