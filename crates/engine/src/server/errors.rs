//! Sentences that all drivers for servers say alike.

use crate::error::{Error, ErrorKind};
use crate::foreign::masked;

/// What to do when a connection is gone.
pub const AFTER_LOSS: &str = "look into the server's log for the reason, and start again when it answers";
/// What to do when a lock stands in the way.
pub const AFTER_BUSY: &str = "somebody else works on our tables or waits for them, or a prepared transaction holds them (pg_prepared_xacts, \
                              XA RECOVER); try again when that has ended";
/// What to do where nobody answers.
pub const NOBODY_THERE: &str =
    "check that the server runs, that host and port are right and that no firewall stands between";

/// What to do where this process may open nothing more.
const NO_MORE_FILES: &str =
    "this shell lets a program open few files: 'ulimit -n 4096' raises that, or use fewer sessions";

/// What to do where somebody else answers.
pub const ANOTHER_SERVER: &str = "check host and port: a server of another kind may listen there";

/// Bytes of a server's text that are read; what is shown of it is shorter still.
const MOST_WORDS: usize = 16 * 1024;

/// The beginning of what a server says, as text. It is searched for secrets before anything of it is cut.
pub fn words(bytes: &[u8]) -> String {
    masked(&String::from_utf8_lossy(bytes.get(..MOST_WORDS).unwrap_or(bytes)))
}

/// One sentence of somebody else's, without a full stop.
pub fn sentence(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().trim_end_matches('.').to_owned()
}

/// An error of a log-in that lacks the right password, with what was said of the places that it could have come from.
#[must_use]
pub fn with_search(error: Error, warnings: &[String]) -> Error {
    let is_of_password = matches!(error.kind, ErrorKind::Authenticate | ErrorKind::PasswordNeeded);
    if !is_of_password || warnings.is_empty() {
        return error;
    }
    let said = [warnings.join("; ")].into_iter().chain(error.hint.clone());
    let hint = said.collect::<Vec<_>>().join("; ");
    error.hint(hint)
}

/// No server there, or nothing that answers as a server would.
pub fn unreachable(address: &str, cause: &str) -> Error {
    let is_ours = cause.contains("os error 24") || cause.contains("os error 23");
    Error::new(ErrorKind::Connect, format!("cannot connect to {address}: {cause}")).hint(if is_ours {
        NO_MORE_FILES
    } else {
        NOBODY_THERE
    })
}

/// Somebody answers there, and not as the server would that we look for.
pub fn another_protocol(address: &str, server: &str) -> Error {
    Error::new(ErrorKind::Connect, format!("what answers at {address} does not speak the protocol of {server}"))
        .hint(ANOTHER_SERVER)
}

/// A connection that was not made in time. Servers of some kinds wait until the client speaks.
pub fn too_slow(address: &str, seconds: u64) -> Error {
    Error::new(ErrorKind::Connect, format!("{address} did not answer within {seconds} s"))
        .hint("check host, port and firewall; a server of another kind may listen there")
}

/// The connection is gone.
pub fn lost(address: &str, cause: &str) -> Error {
    // What the library of TLS says then is for programmers.
    let cause = if cause.contains("close_notify") { "the server closed it" } else { cause };
    Error::new(ErrorKind::Lost, format!("the connection to {address} was lost: {cause}")).hint(AFTER_LOSS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_password_hears_of_a_file_that_was_not_used() {
        let warnings = ["the file is not used".to_owned()];
        let with = |kind| with_search(Error::new(kind, "no").hint("check it"), &warnings).hint;
        assert_eq!(with(ErrorKind::Authenticate).as_deref(), Some("the file is not used; check it"));
        assert_eq!(with(ErrorKind::Connect).as_deref(), Some("check it"));
    }

    #[test]
    fn a_limit_of_ours_is_no_firewall() {
        let hint = |cause: &str| unreachable("h:1", cause).hint.unwrap();
        assert!(hint("Too many open files (os error 24)").contains("ulimit -n"));
        assert_eq!(hint("Connection refused (os error 111)"), NOBODY_THERE);
    }

    #[test]
    fn messages_are_one_sentence() {
        assert_eq!(sentence("Try this.\nOr that."), "Try this");
    }
}
