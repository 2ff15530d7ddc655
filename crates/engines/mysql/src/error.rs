//! What the server's errors mean for us: a table by number (MySQL's "Server Error Message Reference", MariaDB's "Error
//! Codes").

use std::fmt;
use std::sync::Arc;

use ErrorKind::{Authenticate, Busy, Cancelled, Connect, DiskFull, Lost, Missing, Permission, Unsupported};
use plimsoll_engine::error::{Error, ErrorKind};

use super::wire_connection::ServerError;

/// Errors that have a meaning of their own for us.
const MEANINGS: &[(u16, ErrorKind)] = &[
    (1021, DiskFull),     // the disk is full
    (1040, Connect),      // too many connections
    (1044, Permission),   // no access to the database
    (1045, Authenticate), // wrong password
    (1049, Missing),      // no such database
    (1053, Lost),         // shutdown
    (1077, Lost),
    (1079, Lost),
    (1114, DiskFull),     // the table is full
    (1129, Connect),      // the host is blocked
    (1130, Authenticate), // the host may not connect
    (1142, Permission),   // no right to the table
    (1143, Permission),   // to the column
    (1152, Lost),
    (1158, Lost), // the network, in four ways
    (1159, Lost),
    (1160, Lost),
    (1161, Lost),
    (1184, Lost),
    (1203, Connect),     // too many connections of this user
    (1205, Busy),        // waited too long for a lock
    (1213, Busy),        // deadlock
    (1226, Connect),     // the user's share is used up
    (1227, Permission),  // a privilege is missing
    (1235, Unsupported), // not supported yet
    (1251, Authenticate),
    (1290, Permission),   // the server is read-only
    (1305, Unsupported),  // no such function
    (1317, Cancelled),    // KILL QUERY
    (1370, Permission),   // no right to the routine
    (1524, Authenticate), // unknown plugin
    (1698, Authenticate), // wrong user of the socket
    (1792, Permission),   // the transaction is read-only
    (1820, Authenticate), // the password has to be changed first
    (1836, Permission),   // the server is read-only
    (1862, Authenticate),
    (1927, Lost),         // MariaDB: the connection was killed
    (1969, Cancelled),    // MariaDB: max_statement_time
    (3024, Cancelled),    // MySQL: max_execution_time
    (3118, Authenticate), // MySQL: the account is locked
    (3159, Authenticate), // only by TLS
    (3169, Lost),         // MySQL: the session was killed
    (3572, Busy),         // NOWAIT
    (4031, Lost),         // MySQL: it was idle for too long
    (4151, Authenticate), // MariaDB: the account is locked
];

/// Errors of a file; the message has the system's number.
const FILE_ERRORS: [u16; 5] = [3, 1026, 1030, 1878, 3675];
/// The system's number of a full disk, as messages show it.
const NO_SPACE: [&str; 3] = ["error 28 ", "errno: 28", "No space left"];

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
    user: String,
    has_password: bool,
}

impl Errors {
    /// Errors of the connections to this address (`host:port`, or a socket) by this user.
    pub(super) fn new(address: String, user: String, has_password: bool) -> Self {
        Self(Arc::new(Names { address, user, has_password }))
    }

    /// `host:port`, or the socket.
    pub(super) fn address(&self) -> &str {
        &self.0.address
    }

    /// A complaint while the connection was being made.
    pub(super) fn connecting(&self, server_error: &ServerError) -> Error {
        let Names { address, user, has_password } = self.0.as_ref();
        let kind = match meaning(server_error) {
            Authenticate if server_error.code == 1045 && !has_password => {
                return Error::new(ErrorKind::PasswordNeeded, format!("{address} asks user '{user}' for a password"))
                    .hint("give it by --password-file, by PLIMSOLL_PASSWORD or MYSQL_PWD, by [client] in ~/.my.cnf (mode 0600) or at the prompt");
            }
            // Nobody has been connected yet, so nothing can have been lost.
            Lost => Connect,
            kind => kind,
        };
        let message = format!("{address} refuses the connection: {}", sentence(&server_error.message));
        let error = self.with_hint(Error::new(kind, message), server_error.code);
        if error.hint.is_some() { error } else { error.hint("see what the server's log says of it") }
    }

    /// No server there, or nothing that answers as a server would.
    pub(super) fn unreachable(&self, cause: &str) -> Error {
        Error::new(Connect, format!("cannot connect to {}: {cause}", self.address()))
            .hint("check that the server runs, that host and port are right and that no firewall stands between")
    }

    /// A connection that was not made in time.
    pub(super) fn too_slow(&self, seconds: u64) -> Error {
        Error::new(Connect, format!("{} did not answer within {seconds} s", self.address()))
            .hint("check host, port and firewall")
    }

    /// No line that nobody else can read, where one was wanted.
    pub(super) fn unsafe_line(&self, cause: &str) -> Error {
        Error::new(Connect, format!("no safe connection to {}: {}", self.address(), sentence(cause))).hint(
            "name the server's authority by ssl-ca=FILE; or, at your own risk, ssl-mode=REQUIRED encrypts without \
             verifying who answers and ssl-mode=DISABLED does not encrypt",
        )
    }

    /// A way to log in that is not known here, or not on such a line.
    pub(super) fn no_way_in(&self, cause: &str) -> Error {
        let Names { address, user, .. } = self.0.as_ref();
        Error::new(Authenticate, format!("{address} and we agree on no way to log '{user}' in: {cause}"))
            .hint("give the user a password by mysql_native_password or caching_sha2_password, the latter over TLS")
    }

    /// What the server said of a statement.
    pub(super) fn answered(&self, server_error: &ServerError) -> Error {
        self.with_hint(Error::new(meaning(server_error), sentence(&server_error.message)), server_error.code)
    }

    /// The connection is gone.
    pub(super) fn lost(&self, cause: &str) -> Error {
        Error::new(Lost, format!("the connection to {} was lost: {}", self.address(), sentence(cause))).hint(AFTER_LOSS)
    }

    fn with_hint(&self, error: Error, code: u16) -> Error {
        let user = &self.0.user;
        let hint = match code {
            1044 | 1142 | 1143 | 1227 | 1370 => format!(
                "GRANT ALL ON `plimsoll\\_%`.* TO the account of '{user}' lets it make databases of our own and touch no others"
            ),
            1290 | 1792 | 1836 => {
                "connect to the primary, or to a server that may be written to, as a user who may write".to_owned()
            }
            1049 => "the URL's path names a database that exists, or none at all".to_owned(),
            1045 | 1698 | 1130 => {
                "check user, password and the host that the account is for; MYSQL_PWD and ~/.my.cnf are heeded after the URL"
                    .to_owned()
            }
            3159 => "ssl-mode=REQUIRED may be asked for".to_owned(),
            1040 | 1203 | 1226 => "use fewer sessions, or raise max_connections or the user's limit".to_owned(),
            _ => match error.kind {
                DiskFull => "free space on the disk of the server's data directory, or measure a smaller volume".to_owned(),
                Busy => AFTER_BUSY.to_owned(),
                Lost => AFTER_LOSS.to_owned(),
                Permission => "ask for the right, or connect as another user".to_owned(),
                _ => return error,
            },
        };
        error.hint(hint)
    }
}

/// The class of a complaint.
fn meaning(server_error: &ServerError) -> ErrorKind {
    let is_full = |message: &str| NO_SPACE.iter().any(|words| message.contains(words));
    if FILE_ERRORS.contains(&server_error.code) && is_full(&server_error.message) {
        return DiskFull;
    }
    MEANINGS.iter().find(|(code, _)| *code == server_error.code).map_or(ErrorKind::Statement, |(_, kind)| *kind)
}

/// One sentence without a full stop.
fn sentence(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().trim_end_matches('.').to_owned()
}

/// A fault of ours or of the engine that no number tells.
pub(super) fn statement(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Statement, message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(code: u16, message: &str) -> ServerError {
        ServerError { code, message: message.to_owned() }
    }

    #[test]
    fn numbers_have_a_class_and_strangers_are_statements() {
        assert_eq!(meaning(&server_error(1213, "")), Busy);
        assert_eq!(meaning(&server_error(1064, "")), ErrorKind::Statement);
        assert_eq!(meaning(&server_error(1030, "Got error 28 \"No space left\" from storage engine")), DiskFull);
        assert_eq!(meaning(&server_error(1030, "Got error 168 from storage engine")), ErrorKind::Statement);
        assert!(MEANINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn whoever_can_do_something_hears_what() {
        let errors = Errors::new("h:1".to_owned(), "u".to_owned(), true);
        for (code, kind) in MEANINGS {
            let error = errors.answered(&server_error(*code, "x"));
            assert!(error.hint.is_some() || matches!(kind, Authenticate | Cancelled | Unsupported | Connect), "{code}");
            assert!(errors.connecting(&server_error(*code, "x")).hint.is_some(), "{code}");
        }
        let open = Errors::new("h:1".to_owned(), "u".to_owned(), false);
        assert_eq!(open.connecting(&server_error(1045, "x")).kind, ErrorKind::PasswordNeeded);
        assert_eq!(errors.connecting(&server_error(1053, "x")).kind, Connect);
    }

    #[test]
    fn messages_are_one_sentence() {
        assert_eq!(sentence("Try this.\nOr that."), "Try this");
    }
}
