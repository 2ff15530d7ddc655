//! Connections: where to, as whom, how protected, under which name; and what is tried again.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use plimsoll_clock::Clock;

use super::error::{self, Errors};
use super::token::{self, Source, Tokens};
use super::url::{Authentication, Location};
use super::wire::{Auth, Client, Encrypt, Endpoint, Fault, Login, Outcome, Wire};
use crate::error::{Error, ErrorKind, Result};
use crate::target::{Credentials, Secret};

/// How long a server may take to let us in, if the target doesn't say.
const CONNECT_TIMEOUT_S: u32 = 15;
/// Pauses before a connection that met something transient is tried again; Microsoft advises five seconds at least, and more
/// each time.
const PAUSES: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20)];
/// Bytes of a packet that we propose; the server may answer with less.
const PACKET_SIZE: u16 = 8_000;
/// Domains of Azure's services, where a token of `az` is worth a try.
const AZURE: &str = ".database.windows.net";

/// Reads a variable of the environment.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Makes a connection under a name; another one in tests.
pub(super) trait Dial: Send + Sync {
    /// Connects to a server.
    fn dial(&self, endpoint: &Endpoint, login: &Login, application: &str) -> Outcome<Box<dyn Wire>>;
}

/// Dials by the driver.
pub(super) struct ByDriver;

impl Dial for ByDriver {
    fn dial(&self, endpoint: &Endpoint, login: &Login, application: &str) -> Outcome<Box<dyn Wire>> {
        Ok(Box::new(Client::connect(endpoint, login, application)?))
    }
}

/// Where the secret of a log-in comes from.
enum Secrets {
    Password(String, Secret),
    Tokens(Tokens),
}

/// A server that did not let us in, and why.
struct Failed<'a> {
    fault: Fault,
    endpoint: &'a Endpoint,
}

/// A connection, or what the last server said.
type Tried<'a> = std::result::Result<Box<dyn Wire>, Failed<'a>>;

/// Makes connections to one database.
pub(super) struct Connector {
    dial: Box<dyn Dial>,
    clock: Arc<dyn Clock>,
    endpoints: Vec<Endpoint>,
    login: Login,
    secrets: Secrets,
    retries: AtomicU32,
    /// True if the target says that the cache of the whole server may be emptied.
    pub(super) drop_clean_buffers: bool,
    pub(super) errors: Errors,
    pub(super) warnings: Vec<String>,
}

impl Connector {
    /// Settles everything that a connection needs; connects to nobody.
    pub(super) fn new(
        location: Location,
        credentials: &Credentials,
        environment: Environment<'_>,
        dial: Box<dyn Dial>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self> {
        let loopback = location.endpoints.iter().all(|endpoint| is_loopback(&endpoint.host));
        let address = addresses(&location.endpoints);
        let mut warnings: Vec<String> = location.warning.into_iter().map(str::to_owned).collect();
        let encrypt = location.encrypt.unwrap_or(Encrypt::Mandatory);
        if encrypt == Encrypt::Strict && location.trust_server_certificate {
            warnings.push(
                "trustServerCertificate has no effect with encrypt=strict: the certificate is verified".to_owned(),
            );
        } else if encrypt == Encrypt::Optional && !loopback {
            warnings.push("encrypt=false: what goes over the connection can be read on its way, unless the server wants otherwise".to_owned());
        } else if location.trust_server_certificate && !loopback {
            warnings.push("trustServerCertificate: nobody verifies who answers".to_owned());
        }
        let secrets = secrets(&location, credentials, environment, &address)?;
        let (user, auth) = match &secrets {
            Secrets::Password(user, password) => {
                (user.clone(), Auth::Password { user: user.clone(), password: password.clone() })
            }
            // Replaced at each connection.
            Secrets::Tokens(_) => ("the token's user".to_owned(), Auth::Token(Secret::new(""))),
        };
        let login = Login {
            database: location.database.clone(),
            auth,
            encrypt,
            trust_server_certificate: location.trust_server_certificate,
            host_name_in_certificate: location.host_name_in_certificate,
            server_certificate: location.server_certificate,
            connect_timeout_s: location.connect_timeout_s.filter(|seconds| *seconds > 0).unwrap_or(CONNECT_TIMEOUT_S),
            command_timeout_s: location.command_timeout_s,
            packet_size: location.packet_size.unwrap_or(PACKET_SIZE),
            multi_subnet_failover: location.multi_subnet_failover,
            read_only: location.read_only,
        };
        let errors = Errors::new(address, location.database, user, location.command_timeout_s);
        let drop_clean_buffers = location.drop_clean_buffers;
        let (endpoints, clock, retries) = (location.endpoints, Arc::clone(clock), AtomicU32::new(0));
        Ok(Self { dial, clock, endpoints, login, secrets, retries, drop_clean_buffers, errors, warnings })
    }

    /// A connection under a name that `sys.dm_exec_sessions` shows. The servers are tried in turn, and all of them again after
    /// a pause if the reason is one that passes.
    pub(super) fn connect(&self, application: &str) -> Result<Box<dyn Wire>> {
        let mut pauses = PAUSES.iter();
        loop {
            let Failed { fault, endpoint } = match self.try_all(application)? {
                Ok(wire) => return Ok(wire),
                Err(failed) => failed,
            };
            let (Some(number), Some(pause)) = (error::is_transient(&fault), pauses.next()) else {
                let is_strict = self.login.encrypt == Encrypt::Strict;
                let seconds = self.login.connect_timeout_s;
                return Err(self.errors.connecting(&address(endpoint), seconds, is_strict, fault));
            };
            self.retries.fetch_add(1, Ordering::Relaxed);
            tracing::info!(number, "the server is not ready to let us in; trying again");
            self.clock.sleep(*pause);
        }
    }

    /// The first server that lets us in, else what the last one said.
    fn try_all(&self, application: &str) -> Result<Tried<'_>> {
        let mut login = self.login.clone();
        if let Secrets::Tokens(tokens) = &self.secrets {
            login.auth = Auth::Token(tokens.get(self.clock.as_ref())?);
        }
        let mut failed = None;
        for endpoint in &self.endpoints {
            match self.dial.dial(endpoint, &login, application) {
                Ok(wire) => return Ok(Ok(wire)),
                Err(fault) => failed = Some(Failed { fault, endpoint }),
            }
        }
        failed.map(Err).ok_or_else(|| Error::new(ErrorKind::Usage, "the target names no server"))
    }

    /// How often a connection had to be tried again.
    pub(super) fn retries(&self) -> u32 {
        self.retries.load(Ordering::Relaxed)
    }

    /// The database that the target names; empty for the default one.
    pub(super) fn database(&self) -> &str {
        &self.login.database
    }
}

/// By password if there is a user, else by token from wherever one comes.
fn secrets(
    location: &Location,
    credentials: &Credentials,
    environment: Environment<'_>,
    address: &str,
) -> Result<Secrets> {
    let user = location.user.clone().or_else(|| environment("SQLCMDUSER")).filter(|user| !user.is_empty());
    let wants_token = location.authentication == Authentication::Token;
    if let (Some(user), false) = (user, wants_token) {
        let environment = || environment("SQLCMDPASSWORD").filter(|word| !word.is_empty()).map(Secret::new);
        let password = location.password.clone().or_else(|| credentials.password.clone()).or_else(environment);
        return match password {
            Some(password) => Ok(Secrets::Password(user, password)),
            None => Err(Error::new(ErrorKind::PasswordNeeded, format!("{address} asks user '{user}' for a password"))
                .hint("give it by --password-file, by PLIMSOLL_PASSWORD or SQLCMDPASSWORD, or at the prompt")),
        };
    }
    if location.authentication != Authentication::Password {
        let command = credentials.token_command.clone().map(Source::Command);
        let fixed = || {
            environment(token::VARIABLE).filter(|word| !word.is_empty()).map(|word| Source::Fixed(Secret::new(word)))
        };
        let is_azure = || wants_token || location.endpoints.iter().any(|endpoint| endpoint.host.ends_with(AZURE));
        let az = || {
            Some(environment("PATH"))
                .filter(|_| is_azure())
                .and_then(|path| token::find_az(path.as_deref()))
                .map(Source::Az)
        };
        if let Some(source) = command.or_else(fixed).or_else(az) {
            return Ok(Secrets::Tokens(Tokens::new(source)));
        }
    }
    Err(Error::new(ErrorKind::Usage, "the target names no user").hint(
        "write mssql://user@host/database, or give an access token of Microsoft Entra ID by --token-command, \
         PLIMSOLL_ACCESS_TOKEN or an installed az",
    ))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn address(endpoint: &Endpoint) -> String {
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
    match (&endpoint.instance, endpoint.port) {
        (Some(instance), None) => format!("{host}\\{instance}"),
        (_, port) => format!("{host}:{}", port.unwrap_or(1433)),
    }
}

fn addresses(endpoints: &[Endpoint]) -> String {
    let all: Vec<String> = endpoints.iter().map(address).collect();
    all.join(",")
}
