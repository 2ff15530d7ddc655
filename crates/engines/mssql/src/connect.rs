//! Connections: where to, as which user, how protected, under which name; and what is tried again.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::bounds::question;
use plimsoll_engine::server::url::{self, is_loopback};
use plimsoll_engine::{Credentials, Environment, Error, ErrorKind, Intents, Result, Secret, files};

use super::error::Errors;
use super::patience::Patience;
use super::qualify::OwnObjects;
use super::token::{self, Source, Tokens};
use super::url::{Authentication, Location};
use super::wire::{Auth, Client, Encrypt, Endpoint, Fault, Login, Outcome, Wire};

/// How long a server may take to let us in, if the target doesn't say.
const CONNECT_TIMEOUT_S: u32 = 15;
/// Bytes of a packet that we propose; the server may answer with less.
const PACKET_SIZE: u16 = 8_000;
/// Domains of Azure's services for which a token of `az` is.
const AZURE: &[&str] = &[".database.windows.net", ".database.fabric.microsoft.com"];
/// Those of its clouds for which a token of the environment may be.
const AZURE_CLOUDS: &[&str] = &[
    ".database.windows.net",
    ".database.fabric.microsoft.com",
    ".sql.azuresynapse.net",
    ".database.usgovcloudapi.net",
    ".database.chinacloudapi.cn",
];

/// Makes a connection under a name; another one in tests.
pub(super) trait Dial: Send + Sync {
    fn dial(&self, endpoint: &Endpoint, login: &Login, application: &str) -> Outcome<Box<dyn Wire>>;
}

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

/// A connection, or the last server that did not let us in, and why.
type Tried<'a> = std::result::Result<Box<dyn Wire>, (Fault, &'a Endpoint)>;

#[derive(Clone)]
pub(super) struct Connector {
    dial: Arc<dyn Dial>,
    pub(super) clock: Arc<dyn Clock>,
    endpoints: Vec<Endpoint>,
    login: Login,
    secrets: Arc<Secrets>,
    pub(super) patience: Patience,
    /// True if the target says that the cache of the whole server may be emptied.
    pub(super) drop_clean_buffers: bool,
    /// Rows of a transaction when a table is loaded, and whether that locks the table, as the target says.
    pub(super) loads: (u32, Option<bool>),
    /// True once rows were loaded in a request, whose time is measured.
    pub(super) measures_loads: Arc<AtomicBool>,
    /// What definitions have made in their places beside tables.
    pub(super) made: Arc<Mutex<OwnObjects>>,
    pub(super) errors: Errors,
    pub(super) warnings: Vec<String>,
    /// What is about to be made there is noted here.
    pub(super) intents: Intents,
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
            warnings.push(
                "encrypt=false: what goes over the connection can be read on its way, unless the server wants otherwise; where the server \
                 has no TLS, the password too"
                    .to_owned(),
            );
        } else if location.trust_server_certificate && !loopback {
            warnings.push("trustServerCertificate: the server's certificate is not verified".to_owned());
        }
        if location.server_certificate.is_some() && location.host_name_in_certificate.is_some() {
            return Err(Error::new(ErrorKind::Usage, "serverCertificate and hostNameInCertificate exclude each other")
                .hint("with serverCertificate the server has to show just that certificate, whatever its name"));
        }
        if let Some(path) = &location.server_certificate {
            files::read(Path::new(path), files::SMALL).map_err(|error| {
                Error::new(ErrorKind::Usage, format!("the server's certificate in {path} can't be read: {error}"))
                    .hint("serverCertificate names a file with the certificate that the server shows, in PEM or DER")
            })?;
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
            connect_timeout_s: location.connect_timeout_s.unwrap_or(CONNECT_TIMEOUT_S),
            command_timeout_s: location.command_timeout_s,
            packet_size: location.packet_size.unwrap_or(PACKET_SIZE),
            multi_subnet_failover: location.multi_subnet_failover,
            read_only: location.read_only,
        };
        let (command_timeout_s, seen) = (location.command_timeout_s, Arc::default());
        let errors = Errors { address, database: location.database, user, command_timeout_s, seen };
        let drop_clean_buffers = location.drop_clean_buffers;
        let loads = (location.bulk_batch_rows, location.bulk_table_lock);
        let check = credentials.check.clone();
        let patience = Patience { clock: Arc::clone(clock), check, is_there: true, is_over: Arc::default() };
        let (endpoints, clock) = (location.endpoints, Arc::clone(clock));
        let (dial, secrets) = (Arc::from(dial), Arc::new(secrets));
        let (measures_loads, made) = (Arc::default(), Arc::default());
        Ok(Self {
            dial,
            clock,
            endpoints,
            login,
            secrets,
            patience,
            drop_clean_buffers,
            loads,
            measures_loads,
            made,
            errors,
            warnings,
            intents: credentials.intents.clone(),
        })
    }

    /// A connection under a name that `sys.dm_exec_sessions` shows. The servers are tried in turn, and all of them again after
    /// a pause if the reason is one that passes.
    pub(super) fn connect(&self, application: &str) -> Result<Box<dyn Wire>> {
        let began = self.clock.now();
        self.patience.again(
            |_| true,
            || {
                let wire = self.try_all(application)?.map_err(|failed| self.refused(failed))?;
                let took = self.clock.now().since(began);
                self.errors.seen.let_in(self.database(), took, wire.sent_on());
                Ok(wire)
            },
        )
    }

    /// A connection that is not tried again: the caller does so itself.
    pub(super) fn connect_once(&self, application: &str) -> Result<Box<dyn Wire>> {
        self.at_once().connect(application)
    }

    fn refused(&self, (fault, endpoint): (Fault, &Endpoint)) -> Error {
        let is_strict = self.login.encrypt == Encrypt::Strict;
        self.errors.connecting(&address(endpoint), self.login.connect_timeout_s, is_strict, fault)
    }

    /// The same, but nothing is tried again here.
    pub(super) fn at_once(&self) -> Self {
        Self { patience: Patience { is_there: false, ..self.patience.clone() }, ..self.clone() }
    }

    /// The same, but nothing takes longer than this.
    pub(super) fn hurried(&self, seconds: u32) -> Self {
        let mut other = self.at_once();
        other.login.connect_timeout_s = seconds.min(self.login.connect_timeout_s);
        other.login.command_timeout_s = seconds;
        other.errors.command_timeout_s = seconds;
        other
    }

    /// The first server that lets us in, else what the last one said.
    fn try_all(&self, application: &str) -> Result<Tried<'_>> {
        let mut login = self.login.clone();
        if let Secrets::Tokens(tokens) = self.secrets.as_ref() {
            login.auth = Auth::Token(tokens.get(self.clock.as_ref())?);
        }
        let mut failed = None;
        for endpoint in &self.endpoints {
            match self.dial.dial(endpoint, &login, application) {
                Ok(wire) => return Ok(Ok(wire)),
                Err(fault) => {
                    self.errors.count_refused(&fault);
                    failed = Some((fault, endpoint));
                }
            }
        }
        failed.map(Err).ok_or_else(|| Error::new(ErrorKind::Usage, "the target names no server"))
    }

    /// The same server, as the same user, in another database.
    pub(super) fn to(&self, database: &str) -> Self {
        let mut other = self.clone();
        database.clone_into(&mut other.login.database);
        database.clone_into(&mut other.errors.database);
        other
    }

    /// Seconds that a question about the server may take.
    pub(super) fn question_s(&self) -> u32 {
        question(Duration::from_secs(self.login.connect_timeout_s.into())).as_secs() as u32
    }

    /// The first server, by its name or address.
    pub(super) fn host(&self) -> &str {
        self.endpoints.first().map_or("", |endpoint| endpoint.host.as_str())
    }

    /// The names by which the target says where it is and who connects.
    pub(super) fn names(&self) -> Vec<String> {
        let hosts = self.endpoints.iter().map(|endpoint| endpoint.host.clone());
        let instances = self.endpoints.iter().filter_map(|endpoint| endpoint.instance.clone());
        let user = match self.secrets.as_ref() {
            Secrets::Password(user, _) => Some(user.clone()),
            Secrets::Tokens(_) => None,
        };
        hosts.chain(instances).chain(user).chain([self.login.database.clone()]).collect()
    }

    /// What a program needs to connect as we do, each with its value.
    pub(super) fn arguments(&self) -> Result<Vec<(&'static str, String)>> {
        let server = self.endpoints.first().map(Endpoint::data_source).unwrap_or_default();
        let yes = |yes: bool| if yes { "True" } else { "False" }.to_owned();
        let mut told = vec![
            ("ServerName", server),
            ("EncryptConnection", yes(self.login.encrypt != Encrypt::Optional)),
            ("TrustServerCertificate", yes(self.login.trust_server_certificate)),
        ];
        match self.secrets.as_ref() {
            Secrets::Password(user, password) => {
                told.push(("User", user.clone()));
                told.push(("Password", password.expose().to_owned()));
            }
            Secrets::Tokens(tokens) => {
                told.push(("AccessToken", tokens.get(self.clock.as_ref())?.expose().to_owned()));
            }
        }
        Ok(told)
    }

    /// The database that the target names; empty for the default one.
    pub(super) fn database(&self) -> &str {
        &self.login.database
    }
}

/// By password or by token. What the target or an option says goes before the environment, and a user that gives both
/// has to decide.
fn secrets(
    location: &Location,
    credentials: &Credentials,
    environment: Environment<'_>,
    address: &str,
) -> Result<Secrets> {
    let variable = |name: &str| environment(name).filter(|word| !word.is_empty());
    let wants_token = matches!(location.authentication, Authentication::Token | Authentication::GivenToken);
    let token_is_said = wants_token || credentials.token_command.is_some();
    let user_is_said = location.user.is_some() || location.authentication == Authentication::Password;
    if user_is_said && token_is_said {
        return Err(Error::new(
            ErrorKind::Usage,
            "the target has a user or wants one, and an access token is asked for as well",
        )
        .hint("a token names its user itself: leave out the user, or the token's command and 'authentication'"));
    }
    let user = location.user.clone().or_else(|| variable("SQLCMDUSER").filter(|_| !token_is_said));
    let token = variable(token::VARIABLE).filter(|_| !user_is_said && credentials.token_command.is_none());
    let Some(user) = user else {
        let source = token_source(location, credentials, token, environment)?;
        check_protection(location)?;
        return Ok(Secrets::Tokens(Tokens::new(source, credentials.check.clone())));
    };
    if token.is_some() {
        return Err(Error::new(ErrorKind::Usage, "the environment has both a user and an access token")
            .hint("unset SQLCMDUSER or PLIMSOLL_ACCESS_TOKEN, or name the user in the target"));
    }
    let password = || variable("SQLCMDPASSWORD").map(Secret::new);
    match location.password.clone().or_else(|| credentials.password.clone()).or_else(password) {
        Some(password) => Ok(Secrets::Password(user, password)),
        None => Err(Error::new(ErrorKind::PasswordNeeded, format!("{address} asks user '{user}' for a password"))
            .hint("give it by --password-file, by PLIMSOLL_PASSWORD or SQLCMDPASSWORD, or at the prompt")),
    }
}

/// Where a token comes from: a command, the environment, or `az`. Only a command's goes to any server, as somebody named
/// both; others go to Azure and nowhere else.
fn token_source(
    location: &Location,
    credentials: &Credentials,
    token: Option<String>,
    environment: Environment<'_>,
) -> Result<Source> {
    let is_in = |domains: &[&str]| location.endpoints.iter().all(|endpoint| ends_in(&endpoint.host, domains));
    if let Some(command) = &credentials.token_command {
        return Ok(Source::Command(command.clone()));
    }
    if let Some(token) = token {
        if is_in(AZURE_CLOUDS) {
            return Ok(Source::Fixed(Secret::new(token)));
        }
        return Err(Error::new(ErrorKind::Usage, "the environment's access token is not sent to a host outside Azure")
            .hint("name a user in the target, or give the token by --token-command, which sends it to any host"));
    }
    let may_use_az = matches!(location.authentication, Authentication::Usual | Authentication::Token);
    let az = || token::find_az(environment("PATH").as_deref()).map(Source::Az);
    if let Some(az) = az().filter(|_| may_use_az && is_in(AZURE)) {
        return Ok(az);
    }
    if location.authentication == Authentication::GivenToken {
        return Err(Error::new(ErrorKind::Unsupported, "this kind of 'authentication' is not supported by itself")
            .hint("give an access token by --token-command or PLIMSOLL_ACCESS_TOKEN, or write ActiveDirectoryDefault for that of az"));
    }
    Err(Error::new(ErrorKind::Usage, "the target names no user").hint(
        "write mssql://user@host/database, or give an access token of Microsoft Entra ID by --token-command, \
         PLIMSOLL_ACCESS_TOKEN or an installed az",
    ))
}

/// A token gives its holder the user's rights for an hour, so it goes only where the server's certificate was verified.
fn check_protection(location: &Location) -> Result<()> {
    if location.encrypt == Some(Encrypt::Optional) || location.trust_server_certificate {
        return Err(Error::new(
            ErrorKind::Usage,
            "an access token is only sent to a server with a verified certificate",
        )
        .hint(
            "leave out encrypt=false and trustServerCertificate=true; serverCertificate=FILE names the certificate",
        ));
    }
    Ok(())
}

fn ends_in(host: &str, domains: &[&str]) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    domains.iter().any(|domain| host.strip_suffix(domain).is_some_and(|name| !name.is_empty()))
}

fn address(endpoint: &Endpoint) -> String {
    match (&endpoint.instance, endpoint.port) {
        (Some(instance), None) => format!("{}\\{instance}", endpoint.host),
        (_, port) => url::address(&endpoint.host, port.unwrap_or(1433)),
    }
}

fn addresses(endpoints: &[Endpoint]) -> String {
    let all: Vec<String> = endpoints.iter().map(address).collect();
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::target::Target;

    const TOKEN: (&str, &str) = (token::VARIABLE, "planted-token");

    /// What a log-in would be made by, or what is against it.
    fn chosen(url: &str, command: Option<&str>, environment: &[(&str, &str)]) -> std::result::Result<String, Error> {
        let location = Location::parse(&Target::parse(url)?)?;
        let credentials = Credentials { token_command: command.map(str::to_owned), ..Credentials::default() };
        let find =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, word)| (*word).to_owned());
        Ok(match secrets(&location, &credentials, &find, "h")? {
            Secrets::Password(user, password) => format!("{user} by {}", password.expose()),
            Secrets::Tokens(tokens) => tokens.kind().to_owned(),
        })
    }

    #[test]
    fn what_is_said_goes_before_the_environment() {
        let azure = "mssql://h.database.windows.net/d";
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("az"), "").unwrap();
        let path = ("PATH", folder.path().to_str().unwrap());
        let word = ("SQLCMDPASSWORD", "w");
        for (url, command, environment, expected) in [
            ("mssql://u:p@h/d", None, &[TOKEN, word, ("SQLCMDUSER", "x")][..], "u by p"),
            ("mssql://h/d", None, &[("SQLCMDUSER", "x"), word], "x by w"),
            ("mssql://h/d", Some("c"), &[("SQLCMDUSER", "x"), word, TOKEN], "command"),
            ("mssql://h/d?encrypt=strict", Some("c"), &[], "command"),
            (azure, None, &[TOKEN, path], "environment"),
            ("mssql://h.DATABASE.usgovcloudapi.net./d", None, &[TOKEN], "environment"),
            (azure, None, &[path], "az"),
            (&format!("{azure}?authentication=ActiveDirectoryDefault"), None, &[path], "az"),
            (&format!("{azure}?authentication=Active Directory Managed Identity"), None, &[TOKEN], "environment"),
            (&format!("{azure}?authentication=ActiveDirectoryInteractive"), Some("c"), &[], "command"),
        ] {
            assert_eq!(chosen(url, command, environment).unwrap(), expected, "{url} {environment:?}");
        }
        let unsaid = ErrorKind::Usage;
        for (url, command, environment, kind) in [
            // Both.
            ("mssql://u:p@h/d", Some("c"), &[][..], unsaid),
            ("mssql://u:p@h.database.windows.net/d?authentication=ActiveDirectoryDefault", None, &[path], unsaid),
            ("mssql://h/d?authentication=SqlPassword", Some("c"), &[], unsaid),
            (azure, None, &[TOKEN, ("SQLCMDUSER", "x"), word], unsaid),
            // Kinds that we have not got.
            (&format!("{azure}?authentication=ActiveDirectoryInteractive"), None, &[path], ErrorKind::Unsupported),
            (&format!("{azure}?authentication=ActiveDirectoryServicePrincipal"), None, &[path], ErrorKind::Unsupported),
            // Somebody else.
            ("mssql://h.example/d", None, &[TOKEN], unsaid),
            ("mssql://h.database.windows.net.example/d", None, &[TOKEN], unsaid),
            ("mssql://h.database.windows.net,h.example/d", None, &[path], unsaid),
            ("mssql://h.example/d?authentication=ActiveDirectoryDefault", None, &[path], unsaid),
            ("mssql://h.database.usgovcloudapi.net/d", None, &[path], unsaid),
            // The server is not verified.
            (&format!("{azure}?encrypt=false"), None, &[TOKEN], unsaid),
            (&format!("{azure}?trustServerCertificate=true"), Some("c"), &[], unsaid),
            ("mssql://localhost/d?encrypt=false", Some("c"), &[], unsaid),
        ] {
            let error = chosen(url, command, environment).unwrap_err();
            assert!(error.kind == kind && error.hint.is_some(), "{url}: {error:?}");
            assert!(!format!("{error:?}").contains("planted"), "{error:?}");
        }
    }
}
