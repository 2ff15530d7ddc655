//! What faults of the line mean: one sentence that names the server, and a hint from the table of numbers.

use std::sync::Arc;

use plimsoll_engine::error::{Error, ErrorKind};
use plimsoll_engine::server::errors::{self, AFTER_LOSS, sentence};
use plimsoll_engine::server::tls::NO_TLS;

use super::error_codes::{self, Cause, KnownError};
use super::seen::{Refused, Seen};
use super::sql::QUOTING;
use super::wire::{self, Fault, ServerError};

/// From this severity on an error ends the connection.
const FATAL_CLASS: i32 = 20;
/// What to do when a database that let us in is away for long.
const AWAY: &str = "the database let us in before, so it may be failing over; try again in some minutes";
/// What to do when the server to which a gateway sends us does not answer.
const OTHER_PORTS: &str = "let this machine reach that server as well: Azure's gateways send connections on to ports 11000 to 11999, unless the server's connection policy is Proxy";
/// Words of the driver's when it asks for the port of an instance.
const BROWSER: &str = "SQL Server Browser";
/// What to do when a log-in gets no further.
/// Of a server that answered.
const REFUSED: &str =
    "the server answers, and the error says why it refuses: check the user, the rights and the name of the database";
const NOBODY_THERE: &str = "check that the server runs and takes TCP connections, that host and port are right and that no firewall stands between";
/// Words of the driver's about what can't be an answer to it.
const NO_TDS: [&str; 3] = ["TDS packet length", "TDS packet type", "reading TDS packet header"];

/// Makes errors that name the server, and nothing secret.
#[derive(Debug, Clone)]
pub(super) struct Errors {
    /// `host:port` of each server.
    pub(super) address: String,
    pub(super) database: String,
    pub(super) user: String,
    pub(super) command_timeout_s: u32,
    /// What passes by itself, of all connections.
    pub(super) seen: Arc<Seen>,
}

impl Errors {
    /// A fault of a connection to `address` that was being made within so many seconds.
    pub(super) fn connecting(&self, address: &str, seconds: u32, is_strict: bool, fault: Fault) -> Error {
        match fault {
            Fault::Server(server_errors) => {
                let (server_error, known) = telling(&server_errors);
                let passing = self.passing(known);
                let message = format!("{address} refuses the connection: {}", worded(server_error));
                if let Some(known) = passing.filter(|known| known.cause == Some(Cause::Unavailable) && self.seen.is_in(&self.database)) {
                    return Error::new(ErrorKind::Lost, message).hint(AWAY).retry_after(known.pause());
                }
                let kind = match known.map(|known| known.class.kind()) {
                    // Nobody has been connected yet, so nothing can have been lost.
                    None | Some(ErrorKind::Lost) => ErrorKind::Connect,
                    Some(kind) => kind,
                };
                let error = self.hinted(Error::new(kind, message), known);
                match passing {
                    Some(known) => error.retry_after(known.pause()),
                    None => error,
                }
            }
            Fault::SentOn { to, fault } => self.sent_on(address, &to, (seconds, is_strict), *fault),
            Fault::Tls(why) if why.contains(NO_TLS) => errors::another_protocol(address, "SQL Server"),
            Fault::Tls(why) => Error::new(ErrorKind::Connect, format!("no safe connection to {address}: {}", sentence(&why)))
                .hint(
                    "let this machine trust the certificate's authority, or name the certificate by serverCertificate=FILE, or \
                     its host by hostNameInCertificate=NAME; or, at your own risk, trustServerCertificate=true encrypts without \
                     verifying the server",
                ),
            Fault::Closed(why) if is_strict && hung_up(&why) => {
                let message = format!("{address} hung up before the log-in: {}", plain(&why));
                Error::new(ErrorKind::Connect, message)
                    .hint("servers before 2022 know no encrypt=strict; encrypt=true encrypts there as well")
            }
            Fault::Closed(why) if why.contains(BROWSER) => errors::unreachable(address, &plain(&why)).hint(
                "start SQL Server Browser on that machine and open its UDP port 1434, or name the instance's own port: HOST:PORT in \
                 place of HOST\\INSTANCE",
            ),
            Fault::Closed(why) | Fault::Driver(why) if NO_TDS.iter().any(|words| why.contains(words)) => {
                errors::another_protocol(address, "SQL Server")
            }
            Fault::Closed(why) | Fault::Driver(why) => {
                let error = errors::unreachable(address, &plain(&why));
                if error.hint.as_deref() == Some(errors::NOBODY_THERE) { error.hint(NOBODY_THERE) } else { error }
            }
            Fault::TimedOut if is_strict => errors::too_slow(address, seconds.into()).hint(
                "servers before 2022 know no encrypt=strict and may keep silent; encrypt=true encrypts there as well; else check host, \
                 port and firewall",
            ),
            Fault::TimedOut => errors::too_slow(address, seconds.into())
                .hint("check host, port and firewall, and that it is SQL Server that listens there; connectTimeout=... gives it more seconds"),
            Fault::Cancelled => Error::new(ErrorKind::Cancelled, format!("connecting to {address} was cancelled")),
            Fault::Ours(error) => error,
        }
    }

    /// A fault of a connection to another server, to which the one that was asked for sent us.
    fn sent_on(&self, address: &str, to: &str, (seconds, is_strict): (u32, bool), fault: Fault) -> Error {
        if matches!(&fault, Fault::Driver(why) if why.contains(wire::TOO_FAR)) {
            let message = format!("{address} sends connections on without end, at last to {to}");
            return Error::new(ErrorKind::Connect, message)
                .hint("the gateways or replicas name each other: see how the server routes connections, or name in the target the one that has the database");
        }
        let is_line = matches!(fault, Fault::Closed(_) | Fault::TimedOut | Fault::Driver(_));
        let error = self.connecting(to, seconds, is_strict, fault);
        let message = format!("{address} sends connections on to {to}: {}", error.message);
        if is_line {
            return Error::new(error.kind, message).hint(OTHER_PORTS);
        }
        Error { message, ..error }
    }

    /// True for what passes by itself: a log-in that meets it is worth another try.
    fn passing(&self, known: Option<&'static KnownError>) -> Option<&'static KnownError> {
        known.filter(|known| known.cause.is_some() && (!known.once_in || self.seen.is_in(&self.database)))
    }

    /// Counts a log-in that was refused for a while.
    pub(super) fn count_refused(&self, fault: &Fault) {
        let Fault::Server(server_errors) = fault.at_last() else { return };
        let (server_error, known) = telling(server_errors);
        if self.passing(known).is_some() {
            self.seen.refused(Refused::LogIn, server_error);
        }
    }

    /// A fault of a connection that exists, or did until then.
    pub(super) fn running(&self, fault: Fault, is_dead: bool) -> Error {
        let error = match fault {
            Fault::Server(server_errors) => {
                let (server_error, known) = telling(&server_errors);
                let passing = known.filter(|known| known.cause.is_some() && !known.once_in);
                let mut kind = known.map_or(ErrorKind::Statement, |known| known.class.kind());
                // Another connection may find the database where it is now.
                let is_away = passing.is_some_and(|known| known.cause == Some(Cause::Unavailable));
                if server_error.class >= FATAL_CLASS || is_away {
                    kind = ErrorKind::Lost;
                } else if kind == ErrorKind::Connect {
                    // It is connected; what passes by itself in a while is a lock or a limit to us.
                    kind = ErrorKind::Busy;
                }
                let error = Error::new(kind, worded(server_error)).code(server_error.number.to_string());
                let error = self.hinted(error, known);
                match passing {
                    Some(known) => {
                        self.seen.refused(Refused::Statement, server_error);
                        error.retry_after(known.pause())
                    }
                    None => error,
                }
            }
            Fault::SentOn { fault, .. } => return self.running(*fault, is_dead),
            Fault::Closed(why) | Fault::Tls(why) => self.lost(&plain(&why)),
            // The target gives statements any time, so it was something around one.
            Fault::TimedOut if self.command_timeout_s == 0 => {
                Error::new(ErrorKind::Statement, "the server did not confirm in time that a statement has ended")
                    .hint("see in sys.dm_exec_requests what keeps it busy; then start again")
            }
            Fault::TimedOut => {
                let seconds = self.command_timeout_s;
                Error::new(ErrorKind::Statement, format!("a statement was cancelled as it took more than {seconds} s"))
                    .hint("commandTimeout=... in the URL gives it more seconds, and 0 any time")
            }
            Fault::Cancelled => Error::new(ErrorKind::Cancelled, "the statement was cancelled"),
            Fault::Driver(why) if is_dead => self.lost(&plain(&why)),
            Fault::Driver(why) => Error::new(ErrorKind::Statement, sentence(&why)),
            Fault::Ours(error) => return error,
        };
        match error.kind {
            // Whatever it was about, there is nobody left to be asked.
            ErrorKind::Statement | ErrorKind::Busy if is_dead => {
                Error { retry_after: error.retry_after, ..self.lost(&error.message) }
            }
            ErrorKind::Lost if error.hint.is_none() => error.hint(AFTER_LOSS),
            _ => error,
        }
    }

    pub(super) fn lost(&self, cause: &str) -> Error {
        errors::lost(&self.address, cause)
    }

    fn hinted(&self, error: Error, known: Option<&KnownError>) -> Error {
        match known {
            Some(known) => error.hint(self.filled(&known.hint)),
            None if error.kind == ErrorKind::Connect => error.hint(REFUSED),
            None => error,
        }
    }

    /// A hint with the names in it; without a database's name the words go without.
    pub(super) fn filled(&self, hint: &str) -> String {
        let database =
            if self.database.is_empty() { "the default one".to_owned() } else { QUOTING.name(&self.database) };
        hint.replace("[{user}]", &QUOTING.name(&self.user)).replace("[{database}]", &database)
    }
}

/// The complaint that says most: the first one with a meaning of its own, else the first.
pub(super) fn telling(server_errors: &[ServerError]) -> (&ServerError, Option<&'static KnownError>) {
    let find = |server_error: &ServerError| error_codes::find(server_error.number, server_error.state);
    let told = server_errors.iter().find(|server_error| find(server_error).is_some()).or(server_errors.first());
    told.map_or((&NOTHING, None), |server_error| (server_error, find(server_error)))
}

static NOTHING: ServerError = ServerError { number: 0, state: 0, class: 0, line: None, message: String::new() };

fn worded(server_error: &ServerError) -> String {
    let text = sentence(&server_error.message);
    if text.is_empty() {
        return format!("the server gives no reason (error {})", server_error.number);
    }
    format!("{text} (error {}, state {})", server_error.number, server_error.state)
}

/// The system's words without those that the driver puts in front.
fn plain(text: &str) -> String {
    let text = sentence(text);
    let inner = text.rsplit(": ").next().unwrap_or_default();
    // It may have stood in parentheses, of which only the second is left.
    let inner = if inner.contains('(') { inner } else { inner.trim_end_matches([')', '.']) };
    if inner.is_empty() { text } else { inner.to_owned() }
}

/// True if the other side ended the connection, rather than nobody being there.
fn hung_up(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    ["eof", "reset", "closed", "broken pipe", "corrupt"].iter().any(|word| why.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors() -> Errors {
        Errors {
            address: "h:1433".to_owned(),
            database: "sales".to_owned(),
            user: "ann".to_owned(),
            command_timeout_s: 30,
            seen: Arc::default(),
        }
    }

    fn server(number: u32, class: i32, message: &str) -> Fault {
        Fault::Server(vec![ServerError { number, state: 1, class, line: None, message: message.to_owned() }])
    }

    #[test]
    fn the_server_s_words_come_with_number_and_hint() {
        let error = errors().connecting("h:1433", 10, false, server(18456, 14, "Login failed for user 'ann'."));
        assert_eq!(error.kind, ErrorKind::Authenticate);
        assert_eq!(error.message, "h:1433 refuses the connection: Login failed for user 'ann' (error 18456, state 1)");
        assert!(error.hint.unwrap().contains("SQLCMDPASSWORD"));
        let error = errors().running(server(262, 14, "CREATE TABLE permission denied in database 'sales'."), false);
        assert_eq!((error.kind, error.code.as_deref()), (ErrorKind::Permission, Some("262")));
        assert!(error.hint.unwrap().contains("TO [ann] in database [sales]"));
    }

    #[test]
    fn who_keeps_silent_is_told_apart() {
        let why = "Error Locating Server/Instance Specified [h\\i]. Ensure the instance name is correct and SQL Server Browser service \
                   is running on the host. (Connection Error: SQL Server Browser did not respond within 1000ms. Verify that the SQL \
                   Server Browser service is running on '127.0.0.1'.)";
        let error = errors().connecting("h\\i", 10, false, Fault::Closed(why.to_owned()));
        let words = "cannot connect to h\\i: SQL Server Browser did not respond within 1000ms. Verify that the SQL Server Browser \
                     service is running on '127.0.0.1'";
        assert_eq!(error.message, words);
        assert!(error.hint.unwrap().contains("1434"));
        for why in [
            "TDS packet length 18477 exceeds negotiated max packet size 8000",
            "Connection closed by server while reading TDS packet header",
        ] {
            let error = errors().connecting("h:1433", 10, false, Fault::Driver(format!("protocol error: {why}")));
            let words = "what answers at h:1433 does not speak the protocol of SQL Server";
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Connect, words));
            assert!(error.hint.unwrap().contains("port"));
        }
        let strict = errors().connecting("h:1433", 10, true, Fault::TimedOut);
        assert!(strict.message.contains("within 10 s") && strict.hint.unwrap().contains("encrypt=true"));
        assert!(!errors().connecting("h:1433", 10, false, Fault::TimedOut).hint.unwrap().contains("encrypt"));
        // Without a time for statements none is named.
        let patient = Errors { command_timeout_s: 0, ..errors() };
        assert!(!patient.running(Fault::TimedOut, false).message.contains("0 s"));
        assert!(errors().running(Fault::TimedOut, false).message.contains("more than 30 s"));
    }

    #[test]
    fn the_complaint_that_says_most_is_told() {
        let server_error =
            |number| ServerError { number, state: 1, class: 16, line: None, message: format!("text {number}.") };
        let error = errors().running(Fault::Server(vec![server_error(3723), server_error(1205)]), false);
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Busy, "text 1205 (error 1205, state 1)"));
        let error = errors().running(Fault::Server(vec![server_error(3723), server_error(3724)]), false);
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Statement, "text 3723 (error 3723, state 1)"));
    }

    #[test]
    fn who_is_dead_is_lost() {
        let error = errors().running(server(823, 24, "I/O error"), false);
        assert_eq!(error.kind, ErrorKind::Lost);
        for fault in [Fault::TimedOut, Fault::Driver("x: unexpected end".to_owned()), Fault::Closed("a: b".to_owned())]
        {
            let error = errors().running(fault, true);
            assert_eq!(error.kind, ErrorKind::Lost);
            assert!(error.hint.is_some() && error.message.starts_with("the connection to h:1433 was lost"), "{error}");
        }
        assert_eq!(errors().running(Fault::TimedOut, false).kind, ErrorKind::Statement);
        assert_eq!(errors().running(Fault::Cancelled, true).kind, ErrorKind::Cancelled);
    }

    #[test]
    fn what_passes_is_known_by_its_number() {
        let errors = errors();
        let met = |fault| {
            let error = errors.connecting("h:1433", 10, false, fault);
            assert!(error.hint.is_some(), "{error:?}");
            (error.kind, error.retry_after.map(|pause| pause.as_secs()))
        };
        assert_eq!(met(server(40613, 17, "not available")), (ErrorKind::Connect, Some(5)));
        assert_eq!(met(server(40501, 20, "busy")), (ErrorKind::Busy, Some(10)));
        assert_eq!(met(server(18456, 14, "no")), (ErrorKind::Authenticate, None));
        assert_eq!(met(Fault::Closed("gone".to_owned())), (ErrorKind::Connect, None));
        // A name that was never right is not waited for; one that was may be away.
        assert_eq!(met(server(4060, 16, "no such database")), (ErrorKind::Missing, None));
        errors.seen.let_in("sales", std::time::Duration::ZERO, None);
        assert_eq!(met(server(4060, 16, "no such database")), (ErrorKind::Lost, Some(5)));
        assert_eq!(met(server(40613, 17, "not available")), (ErrorKind::Lost, Some(5)));
        assert_eq!(met(server(40501, 20, "busy")), (ErrorKind::Busy, Some(10)));
    }

    /// Where the database is away another connection is needed; where it is held to its limits the same one will do, if it is there.
    #[test]
    fn statements_meet_what_passes() {
        let errors = errors();
        for (number, class, is_dead, kind, pause_s) in [
            (40501, 20, false, ErrorKind::Lost, Some(10)),
            (40501, 16, false, ErrorKind::Busy, Some(10)),
            (10928, 16, false, ErrorKind::Busy, Some(5)),
            (10928, 16, true, ErrorKind::Lost, Some(5)),
            (49918, 16, false, ErrorKind::Busy, Some(5)),
            (40197, 17, false, ErrorKind::Lost, Some(5)),
            (40613, 17, true, ErrorKind::Lost, Some(5)),
            (1205, 13, false, ErrorKind::Busy, None),
            (4060, 16, false, ErrorKind::Missing, None),
            (208, 16, false, ErrorKind::Statement, None),
        ] {
            let error = errors.running(server(number, class, "text"), is_dead);
            let pause = error.retry_after.map(|pause| pause.as_secs());
            assert_eq!((error.kind, pause), (kind, pause_s), "{number} {error:?}");
            assert!(error.hint.is_some() || number == 208, "{error:?}");
        }
    }

    #[test]
    fn a_server_that_we_were_sent_to_is_named() {
        let sent_on = |fault| {
            let fault = Fault::SentOn { to: "n:11003".to_owned(), fault: Box::new(fault) };
            errors().connecting("h:1433", 10, false, fault)
        };
        let error = sent_on(Fault::Closed("os error: Connection refused".to_owned()));
        let words = "h:1433 sends connections on to n:11003: cannot connect to n:11003: Connection refused";
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Connect, words));
        assert!(error.hint.unwrap().contains("11000 to 11999"));
        let error = sent_on(server(18456, 14, "Login failed."));
        assert!(error.kind == ErrorKind::Authenticate && error.hint.unwrap().contains("password"));
        let error = sent_on(Fault::Driver(format!("Protocol Error: {}", wire::TOO_FAR)));
        assert_eq!(error.message, "h:1433 sends connections on without end, at last to n:11003");
        assert!(error.kind == ErrorKind::Connect && error.hint.is_some());
    }
}
