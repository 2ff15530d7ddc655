//! What the server's and the driver's errors mean for us: a table by SQLSTATE (PostgreSQL manual, appendix A).

use std::fmt;
use std::sync::Arc;

use plimsoll_engine::error::{Error, ErrorKind};

/// SQLSTATEs and classes of them (the first two characters) that have a meaning of their own for us.
const MEANINGS: &[(&str, ErrorKind)] = &[
    ("28", ErrorKind::Authenticate),
    ("3D000", ErrorKind::Missing),
    ("3F000", ErrorKind::Missing),
    ("42501", ErrorKind::Permission),
    ("25006", ErrorKind::Permission),
    ("53100", ErrorKind::DiskFull),
    ("53300", ErrorKind::Connect),
    ("57P01", ErrorKind::Lost),
    ("57P02", ErrorKind::Lost),
    ("57P03", ErrorKind::Lost),
    ("57P05", ErrorKind::Lost),
    ("08", ErrorKind::Lost),
    ("57014", ErrorKind::Cancelled),
    ("55P03", ErrorKind::Busy),
    ("55006", ErrorKind::Busy),
    ("40P01", ErrorKind::Busy),
    ("40001", ErrorKind::Busy),
    ("0A000", ErrorKind::Unsupported),
    ("42883", ErrorKind::Unsupported),
];

/// What to do when a connection is gone.
const AFTER_LOSS: &str = "look into the server's log for the reason, and start again when it answers";
/// What to do when a lock stands in the way.
const AFTER_BUSY: &str = "somebody else works on our tables or waits for them; try again";

/// Makes errors that name the server, and nothing secret.
#[derive(Debug, Clone)]
pub(super) struct Errors(Arc<Names>);

#[derive(Debug)]
struct Names {
    address: String,
    database: String,
    user: String,
}

impl Errors {
    /// Errors of the connections to this address (`host:port`) and database.
    pub(super) fn new(address: String, database: String, user: String) -> Self {
        Self(Arc::new(Names { address, database, user }))
    }

    /// Errors of the connections to another database there.
    pub(super) fn at(&self, database: &str) -> Self {
        let Names { address, user, .. } = self.0.as_ref();
        Self::new(address.clone(), database.to_owned(), user.clone())
    }

    /// `host:port`.
    pub(super) fn address(&self) -> &str {
        &self.0.address
    }

    /// An error of a connection that was being made.
    pub(super) fn connecting(&self, error: &postgres::Error) -> Error {
        let address = self.address();
        if let Some(answer) = error.as_db_error() {
            let kind = match meaning(answer.code().code()) {
                // Nobody has been connected yet, so nothing can have been lost.
                ErrorKind::Lost => ErrorKind::Connect,
                kind => kind,
            };
            let message = format!("{address} refuses the connection: {}", sentence(answer.message()));
            return self.with_hint(Error::new(kind, message), answer.code().code(), answer.hint());
        }
        let cause = cause(error);
        // The driver keeps the kind of its errors to itself and says it in words.
        match error.to_string().as_str() {
            "error performing TLS handshake" => self.tls(&cause),
            "invalid configuration" if cause == "password missing" => {
                Error::new(ErrorKind::PasswordNeeded, format!("{address} asks user '{}' for a password", self.0.user))
                    .hint("give it by --password-file, by PLIMSOLL_PASSWORD or PGPASSWORD, by ~/.pgpass (mode 0600) or at the prompt")
            }
            "invalid configuration" => Error::new(ErrorKind::Usage, format!("the URL can't be used: {cause}")),
            "authentication error" => {
                Error::new(ErrorKind::Authenticate, format!("{address} and we agree on no way to log in: {cause}"))
            }
            _ => self.unreachable(&cause),
        }
    }

    /// Nobody there, or nobody who answers as a server would.
    pub(super) fn unreachable(&self, cause: &str) -> Error {
        Error::new(ErrorKind::Connect, format!("cannot connect to {}: {cause}", self.address()))
            .hint("check that the server runs, that host and port are right and that no firewall stands between")
    }

    /// A connection that was not made in time.
    pub(super) fn too_slow(&self, seconds: u64) -> Error {
        Error::new(ErrorKind::Connect, format!("{} did not answer within {seconds} s", self.address()))
            .hint("check host, port and firewall")
    }

    /// An error of a connection that exists.
    pub(super) fn running(&self, error: &postgres::Error) -> Error {
        let Some(answer) = error.as_db_error() else {
            let cause = cause(error);
            return match error.to_string().as_str() {
                "connection closed" | "error communicating with the server" => self.lost(&cause),
                kind => Error::new(ErrorKind::Statement, format!("{kind}: {cause}")),
            };
        };
        self.answered(answer.code().code(), answer.message(), answer.hint())
    }

    /// What the server answered to a statement.
    pub(super) fn answered(&self, code: &str, message: &str, hint: Option<&str>) -> Error {
        self.with_hint(Error::new(meaning(code), sentence(message)), code, hint)
    }

    /// An error while rows were written; the driver wraps its own into the system's.
    pub(super) fn writing(&self, error: &std::io::Error) -> Error {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
            Some(inner) => self.running(inner),
            None => self.lost(&sentence(&error.to_string())),
        }
    }

    /// The connection is gone.
    pub(super) fn lost(&self, cause: &str) -> Error {
        Error::new(ErrorKind::Lost, format!("the connection to {} was lost: {cause}", self.address())).hint(AFTER_LOSS)
    }

    fn tls(&self, cause: &str) -> Error {
        let message = format!("no safe connection to {}: {}", self.address(), sentence(cause));
        Error::new(ErrorKind::Connect, message).hint(
            "name the server's authority by sslrootcert=FILE; or, at your own risk, sslmode=require encrypts without \
             verifying who answers and sslmode=disable does not encrypt",
        )
    }

    fn with_hint(&self, error: Error, code: &str, from_server: Option<&str>) -> Error {
        let Names { database, user, .. } = self.0.as_ref();
        let hint = match code {
            "3D000" => format!("CREATE DATABASE \"{database}\" makes it; psql --list shows those that exist"),
            "3F000" => "the place was removed while it was in use".to_owned(),
            "42501" => format!(
                "GRANT CREATE, CONNECT, TEMPORARY ON DATABASE \"{database}\" TO \"{user}\" lets the user make schemas of its own"
            ),
            "25006" => format!(
                "connect to the primary, or ALTER ROLE \"{user}\" SET default_transaction_read_only = off if the user may write; \
                 requests of existing tables write only if their definition says so"
            ),
            "28P01" => "check user and password, which comes from the URL, --password-file, PLIMSOLL_PASSWORD, PGPASSWORD, ~/.pgpass or a prompt".to_owned(),
            "28000" => "check the user's name, and pg_hba.conf for this user, database and address; sslmode=require may be asked for"
                .to_owned(),
            "53100" => "free space on the disk of the server's data directory, or measure a smaller volume".to_owned(),
            "53300" => "use fewer sessions, or raise max_connections".to_owned(),
            _ => match (from_server, error.kind) {
                (_, ErrorKind::Busy) => AFTER_BUSY.to_owned(),
                (Some(hint), _) => sentence(hint),
                (None, ErrorKind::Lost) => AFTER_LOSS.to_owned(),
                (None, _) => return error,
            },
        };
        error.hint(hint)
    }
}

/// The class of a SQLSTATE.
fn meaning(code: &str) -> ErrorKind {
    let found = MEANINGS.iter().find(|(prefix, _)| code == *prefix || (prefix.len() == 2 && code.starts_with(prefix)));
    found.map_or(ErrorKind::Statement, |(_, kind)| *kind)
}

/// One sentence without a full stop.
fn sentence(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().trim_end_matches('.').to_owned()
}

/// The innermost reason of an error, or the error itself.
fn cause(error: &postgres::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    sentence(&inner.to_string())
}

/// A fault of ours or of the engine that no SQLSTATE tells.
pub(super) fn statement(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Statement, message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_before_classes_and_strangers_are_statements() {
        assert_eq!(meaning("28P01"), ErrorKind::Authenticate);
        assert_eq!(meaning("08006"), ErrorKind::Lost);
        assert_eq!(meaning("57014"), ErrorKind::Cancelled);
        assert_eq!(meaning("57P99"), ErrorKind::Statement);
        assert_eq!(meaning("22003"), ErrorKind::Statement);
    }

    #[test]
    fn whoever_can_do_something_hears_what() {
        let errors = Errors::new("h:1".to_owned(), "d".to_owned(), "u".to_owned());
        let kinds = [ErrorKind::DiskFull, ErrorKind::Busy, ErrorKind::Lost, ErrorKind::Permission];
        for (code, kind) in MEANINGS.iter().filter(|(_, kind)| kinds.contains(kind)) {
            let error = errors.with_hint(Error::new(*kind, "x"), code, None);
            assert!(error.hint.is_some(), "{code}");
        }
        let error = errors.writing(&std::io::Error::other("gone."));
        assert_eq!((error.message.as_str(), error.hint.is_some()), ("the connection to h:1 was lost: gone", true));
    }

    #[test]
    fn messages_are_one_sentence() {
        assert_eq!(sentence("Try this.\nOr that."), "Try this");
    }
}
