//! What the server's errors mean for us: a table by number (MySQL's "Server Error Message Reference", MariaDB's "Error
//! Codes").

use std::fmt;

use ErrorKind::{Authenticate, Busy, Cancelled, Connect, DiskFull, Lost, Missing, Permission, Unsupported};
use plimsoll_engine::error::{Error, ErrorKind};
use plimsoll_engine::server::errors::{self, AFTER_BUSY, AFTER_LOSS, sentence};

use super::wire_connection::ServerError;

/// Errors that have a meaning of their own for us.
const MEANINGS: &[(ErrorKind, &[u16])] = &[
    // Too many connections, of all and of this user; the host is blocked; the user's share is used up.
    (Connect, &[1040, 1203, 1129, 1226]),
    // A wrong password; the host may not connect; an unknown plugin; the wrong user of the socket; the password has to be changed
    // first; MySQL's and MariaDB's account is locked; only by TLS.
    (Authenticate, &[1045, 1130, 1251, 1524, 1698, 1820, 1862, 3118, 4151, 3159]),
    (Missing, &[1049]),
    // No right to the database, the table, the column, the routine; a privilege is missing; the server or the transaction is
    // read-only.
    (Permission, &[1044, 1142, 1143, 1370, 1227, 1290, 1836, 1792]),
    // The disk is full, or the table.
    (DiskFull, &[1021, 1114]),
    // Waited too long for a lock; a deadlock; NOWAIT.
    (Busy, &[1205, 1213, 3572]),
    // KILL QUERY; MariaDB's max_statement_time; MySQL's max_execution_time.
    (Cancelled, &[1317, 1969, 3024]),
    // Not supported yet; no such function.
    (Unsupported, &[1235, 1305]),
    // A shutdown, in three ways; a lost connection; the network, in four ways; an aborted one; MariaDB's and MySQL's connection was
    // killed; MySQL's was idle for too long.
    (Lost, &[1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031]),
];

/// Errors of a file; the message has the system's number.
const FILE_ERRORS: [u16; 5] = [3, 1026, 1030, 1878, 3675];
/// The system's number of a full disk, as messages show it.
const NO_SPACE: [&str; 3] = ["error 28 ", "errno: 28", "No space left"];

/// Makes errors that name the server, and nothing secret.
#[derive(Debug, Clone)]
pub(super) struct Errors {
    /// `host:port`, or the socket.
    pub(super) address: String,
    pub(super) user: String,
    pub(super) has_password: bool,
}

impl Errors {
    /// A complaint while the connection was being made.
    pub(super) fn connecting(&self, server_error: &ServerError) -> Error {
        let Self { address, user, has_password } = self;
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

    /// No line that nobody else can read, where one was wanted.
    pub(super) fn unsafe_line(&self, cause: &str) -> Error {
        Error::new(Connect, format!("no safe connection to {}: {}", self.address, sentence(cause))).hint(
            "name the server's authority by ssl-ca=FILE; or, at your own risk, ssl-mode=REQUIRED encrypts without \
             verifying the server and ssl-mode=DISABLED does not encrypt",
        )
    }

    /// A way to log in that is not known here, or not on such a line.
    pub(super) fn no_way_in(&self, cause: &str) -> Error {
        self.disagreed(
            cause,
            "give the user a password by mysql_native_password or caching_sha2_password, the latter over TLS",
        )
    }

    /// The server wants the password itself, and others could read it on the way.
    pub(super) fn unencrypted(&self) -> Error {
        self.disagreed(
            "it wants the password itself, and the line is not encrypted",
            "log in over TLS (ssl-mode=REQUIRED, or no ssl-mode at all) or through the server's socket; a server without TLS knows the \
             password by itself for a while after the user has logged in with another client",
        )
    }

    fn disagreed(&self, cause: &str, hint: &str) -> Error {
        let Self { address, user, .. } = self;
        Error::new(Authenticate, format!("{address} and we agree on no way to log '{user}' in: {cause}")).hint(hint)
    }

    pub(super) fn answered(&self, server_error: &ServerError) -> Error {
        let error = Error::new(meaning(server_error), sentence(&server_error.message));
        self.with_hint(error.code(server_error.code.to_string()), server_error.code)
    }

    pub(super) fn lost(&self, cause: &str) -> Error {
        errors::lost(&self.address, &sentence(cause))
    }

    fn with_hint(&self, error: Error, code: u16) -> Error {
        let user = &self.user;
        let hint = match code {
            1044 | 1142 | 1143 | 1227 | 1370 => format!(
                "GRANT ALL ON `plimsoll\\_%`.* TO the account of '{user}' lets it make databases of our own and touch no others"
            ),
            1290 if !error.message.to_ascii_lowercase().replace('_', "-").contains("read-only") => {
                "an option of the server that the message names forbids it: change that option, or ask for a user whom it lets".to_owned()
            }
            1792 => "sessions of this user begin read-only (transaction_read_only): connect to the primary, or have it set off".to_owned(),
            1290 | 1836 => {
                "connect to the primary, or to a server that may be written to, as a user with the right to write".to_owned()
            }
            1049 => "the URL's path names a database that exists, or none at all".to_owned(),
            1045 | 1698 | 1130 => {
                "check user, password and the host that the account is for; MYSQL_PWD and ~/.my.cnf are heeded after the URL"
                    .to_owned()
            }
            1205 => format!(
                "{AFTER_BUSY}; our sessions wait 60 s for a table (lock_wait_timeout) and for a row as long as the server's \
                 innodb_lock_wait_timeout says"
            ),
            // ER_DB_DROP_RMDIR: the server removed its own.
            1010 => "a file of somebody else's lies in the database's folder on the server: look into the folder of its name below the server's \
                     datadir, and run 'plimsoll clean' again"
                .to_owned(),
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

fn meaning(server_error: &ServerError) -> ErrorKind {
    let is_full = |message: &str| NO_SPACE.iter().any(|words| message.contains(words));
    if FILE_ERRORS.contains(&server_error.code) && is_full(&server_error.message) {
        return DiskFull;
    }
    let known = MEANINGS.iter().find(|(_, codes)| codes.contains(&server_error.code));
    known.map_or(ErrorKind::Statement, |(kind, _)| *kind)
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
        let all: Vec<u16> = MEANINGS.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
        assert!(all.iter().all(|code| all.iter().filter(|other| *other == code).count() == 1));
    }

    #[test]
    fn whoever_can_do_something_hears_what() {
        let errors = Errors { address: "h:1".to_owned(), user: "u".to_owned(), has_password: true };
        for (kind, code) in MEANINGS.iter().flat_map(|(kind, codes)| codes.iter().map(move |code| (kind, code))) {
            let error = errors.answered(&server_error(*code, "x"));
            assert!(error.hint.is_some() || matches!(kind, Authenticate | Cancelled | Unsupported | Connect), "{code}");
            assert!(errors.connecting(&server_error(*code, "x")).hint.is_some(), "{code}");
        }
        let hint = |message: &str| errors.answered(&server_error(1290, message)).hint.unwrap();
        assert!(hint("running with the --read-only option so it cannot execute this statement").contains("primary"));
        assert!(hint("running with the --max-session-mem-used option so it cannot").contains("option of the server"));
        let open = Errors { address: "h:1".to_owned(), user: "u".to_owned(), has_password: false };
        assert_eq!(open.connecting(&server_error(1045, "x")).kind, ErrorKind::PasswordNeeded);
        assert_eq!(errors.connecting(&server_error(1053, "x")).kind, Connect);
    }
}
