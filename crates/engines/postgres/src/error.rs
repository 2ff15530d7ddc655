//! What the server's errors mean for us: a table by SQLSTATE (PostgreSQL manual, appendix A).

use std::borrow::Cow;
use std::{fmt, io};

use plimsoll_engine::error::{Error, ErrorKind};
use plimsoll_engine::server::errors::{self, AFTER_BUSY, AFTER_LOSS, sentence};

use super::{statements::QUOTING, wire_connection::Reader};

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

/// What the server said of an error: SQLSTATE, message, detail, hint and the place in its source.
#[derive(Debug, Default)]
pub(super) struct ServerError {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    pub(super) hint: Option<String>,
    /// Where in the server's own functions it happened.
    pub(super) context: Option<String>,
    pub(super) routine: String,
    /// The letter of the statement, from 1, that it is about.
    pub(super) position: Option<u32>,
}

impl ServerError {
    /// Takes an `ErrorResponse` apart.
    pub(super) fn of(message: &[u8]) -> io::Result<Self> {
        let mut server_error = Self::default();
        let mut reader = Reader::of(message);
        loop {
            let field = reader.u8()?;
            if field == 0 {
                // Some servers that only speak the protocol give a code alone.
                if server_error.message.is_empty() {
                    server_error.message = format!("error {} without a text", server_error.code);
                }
                return Ok(server_error);
            }
            let text = errors::words(reader.text()?);
            match field {
                b'C' => server_error.code = text,
                b'M' => server_error.message = text,
                b'D' => server_error.detail = Some(text),
                b'H' => server_error.hint = Some(text),
                b'W' => server_error.context = Some(text),
                b'R' => server_error.routine = text,
                b'P' => server_error.position = text.parse().ok(),
                _ => {}
            }
        }
    }

    /// The function of the server's users in which it happened, if it did in one.
    fn function(&self) -> Option<&str> {
        let context = self.context.as_deref()?;
        let is_theirs = |line: &&str| {
            line.contains("function ") && !line.contains("inline_code_block") && !line.contains("plimsoll_")
        };
        let line = context.lines().find(is_theirs)?;
        Some(line.split(" line ").next().unwrap_or(line))
    }
}

/// Makes errors that name the server, and nothing secret.
#[derive(Debug, Clone)]
pub(super) struct Errors {
    /// `host:port`.
    pub(super) address: String,
    pub(super) database: String,
    pub(super) user: String,
}

impl Errors {
    /// What the server says when it refuses a log-in.
    pub(super) fn connecting(&self, server_error: &ServerError) -> Error {
        let kind = match meaning(&server_error.code) {
            // Nobody has been connected yet, so nothing can have been lost.
            ErrorKind::Lost => ErrorKind::Connect,
            kind => kind,
        };
        let message = format!("{} refuses the connection: {}", self.address, sentence(&server_error.message));
        self.with_hint(Error::new(kind, message), &server_error.code, server_error.hint.as_deref())
    }

    /// The server wants a password, and there is none.
    pub(super) fn password_needed(&self) -> Error {
        let message = format!("{} asks user '{}' for a password", self.address, self.user);
        Error::new(ErrorKind::PasswordNeeded, message).hint(
            "give it by --password-file, by PLIMSOLL_PASSWORD or PGPASSWORD, by ~/.pgpass (mode 0600) or at the prompt",
        )
    }

    /// What the server wants to have proved can't be, or not like that.
    pub(super) fn no_way_in(&self, cause: &str) -> Error {
        let message = format!("{} and we agree on no way to log in: {}", self.address, sentence(cause));
        Error::new(ErrorKind::Authenticate, message)
    }

    pub(super) fn answered(&self, server_error: &ServerError) -> Error {
        let mut message = sentence(&without_bytes(server_error));
        if let Some(function) = server_error.function() {
            message = format!("{message} (in {function}, which may be of an event trigger or a trigger of yours)");
        }
        // We break it off ourselves, and the server calls that cancelled.
        if server_error.code == "57014" && server_error.routine.starts_with("Copy") {
            return Error::new(ErrorKind::Statement, message)
                .code(&server_error.code)
                .hint("a request has no rows for COPY ... FROM STDIN: INSERT, or COPY from a file of the server's");
        }
        let error = Error::new(meaning(&server_error.code), message).code(&server_error.code);
        self.with_hint(error, &server_error.code, server_error.hint.as_deref())
    }

    pub(super) fn lost(&self, cause: &str) -> Error {
        errors::lost(&self.address, &sentence(cause))
    }

    /// The line can't be protected as it should be.
    pub(super) fn unsafe_line(&self, cause: &str) -> Error {
        let message = format!("no safe connection to {}: {}", self.address, sentence(cause));
        Error::new(ErrorKind::Connect, message).hint(
            "name the server's authority by sslrootcert=FILE; or, at your own risk, sslmode=require encrypts without \
             verifying the server and sslmode=disable does not encrypt",
        )
    }

    fn with_hint(&self, error: Error, code: &str, from_server: Option<&str>) -> Error {
        let [database, user] = [&self.database, &self.user].map(|name| QUOTING.name(name));
        let hint = match code {
            "3D000" => format!("CREATE DATABASE {database} makes it; psql --list shows those that exist"),
            "22021" => "a name or a text in this database is no UTF-8: PGCLIENTENCODING=SQL_ASCII psql shows it; rename or remove it".to_owned(),
            "3F000" => "the place was removed while it was in use".to_owned(),
            "42501" => format!(
                "GRANT CREATE, CONNECT, TEMPORARY ON DATABASE {database} TO {user} lets the user make schemas of its own"
            ),
            "25006" => format!(
                "connect to the primary, or ALTER ROLE {user} SET default_transaction_read_only = off if the user may write; \
                 requests of existing tables write only if their definition says so"
            ),
            "28P01" => "check user and password, which comes from the URL, --password-file, PLIMSOLL_PASSWORD, PGPASSWORD, ~/.pgpass or a prompt".to_owned(),
            "28000" => "check the user's name, and pg_hba.conf for this user, database and address; sslmode=require may be asked for"
                .to_owned(),
            "55P03" => format!("{AFTER_BUSY}; our sessions wait 60 s for a lock, unless a statement sets lock_timeout"),
            "53100" => "free space on the disk of the server's data directory, or measure a smaller volume".to_owned(),
            "53300" if error.message.contains("for role") => {
                format!("use fewer sessions, or ALTER ROLE {user} CONNECTION LIMIT ...")
            }
            "53300" if error.message.contains("for database") => {
                format!("use fewer sessions, or ALTER DATABASE {database} CONNECTION LIMIT ...")
            }
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

/// SQLSTATEs of bytes that are no text in an encoding, of a text that has none there, and of two encodings without a way between them.
pub(super) const NO_TEXT: [&str; 3] = ["22021", "22P05", "42883"];

/// What the server says, without the bytes that are no text: they may be of what somebody else's statement has in it.
fn without_bytes(server_error: &ServerError) -> Cow<'_, str> {
    if !NO_TEXT.contains(&server_error.code.as_str()) {
        return Cow::Borrowed(&server_error.message);
    }
    let words = server_error.message.split(' ').filter(|word| !word.starts_with("0x"));
    Cow::Owned(words.collect::<Vec<_>>().join(" ").trim_end_matches(':').to_owned())
}

fn meaning(code: &str) -> ErrorKind {
    let found = MEANINGS.iter().find(|(prefix, _)| code == *prefix || (prefix.len() == 2 && code.starts_with(prefix)));
    found.map_or(ErrorKind::Statement, |(_, kind)| *kind)
}

/// A fault of ours or of the engine that no SQLSTATE tells.
pub(super) fn statement(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Statement, message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_servers_users_is_named() {
        let function = |context: &str| {
            let server_error = ServerError { context: Some(context.to_owned()), ..ServerError::default() };
            server_error.function().map(str::to_owned)
        };
        let theirs = "PL/pgSQL function public.audit_ddl() line 3 at SQL statement\nSQL statement \"CREATE TABLE\"";
        assert_eq!(function(theirs).as_deref(), Some("PL/pgSQL function public.audit_ddl()"));
        assert_eq!(function("PL/pgSQL function inline_code_block line 1 at RAISE"), None);
        assert_eq!(function("PL/pgSQL function plimsoll_run_a.load(integer) line 5 at COMMIT"), None);
        assert_eq!(function("COPY dense, line 1"), None);
    }

    #[test]
    fn bytes_of_a_text_that_is_none_are_not_repeated() {
        let said = |code: &str, message: &str| {
            let server_error =
                ServerError { code: code.to_owned(), message: message.to_owned(), ..ServerError::default() };
            without_bytes(&server_error).into_owned()
        };
        let invalid = "invalid byte sequence for encoding \"UTF8\"";
        assert_eq!(said("22021", &format!("{invalid}: 0xf0 0x5a 0x27")), invalid);
        assert_eq!(
            said(
                "22P05",
                "character with byte sequence 0xc3 0xa9 in encoding \"UTF8\" has no equivalent in encoding \"EUC_JP\""
            ),
            "character with byte sequence in encoding \"UTF8\" has no equivalent in encoding \"EUC_JP\""
        );
        assert_eq!(said("42601", "syntax error at 0x41"), "syntax error at 0x41");
    }

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
        let errors = Errors { address: "h:1".to_owned(), database: "d".to_owned(), user: "u".to_owned() };
        let kinds = [ErrorKind::DiskFull, ErrorKind::Busy, ErrorKind::Lost, ErrorKind::Permission];
        for (code, kind) in MEANINGS.iter().filter(|(_, kind)| kinds.contains(kind)) {
            let error = errors.with_hint(Error::new(*kind, "x"), code, None);
            assert!(error.hint.is_some(), "{code}");
        }
        let error = errors.lost("gone.");
        assert_eq!((error.message.as_str(), error.hint.is_some()), ("the connection to h:1 was lost: gone", true));
    }
}
