//! Connections: where to, as whom, how protected, and under which name.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::target::Credentials;
use postgres::Client;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode as DriverSslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::Errors;
use super::password::{self, Environment, Login};
use super::tls;
use super::url::{Location, SslMode};
use super::wire_connection::{self, WireCancel, WireConnection};

/// How long a server may take to answer and let us in, if the URL doesn't say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After this much silence the system asks whether the other side still lives...
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// ... so often...
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// ... and gives up after so many questions without an answer.
pub(super) const KEEPALIVE_RETRIES: u32 = 3;
/// Folders where servers put their sockets.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Makes connections to one database.
pub(super) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    timeout: Duration,
    pub(super) errors: Errors,
    /// True if all hosts are sockets or loopback addresses.
    pub(super) loopback: bool,
    pub(super) warnings: Vec<String>,
    /// What libpq's programs are to be told, as their environment; it may hold the password.
    tool_environment: Vec<(&'static str, String)>,
}

impl Connector {
    /// Settles everything that a connection needs; connects to nobody.
    pub(super) fn new(mut location: Location, credentials: &Credentials, environment: Environment<'_>) -> Result<Self> {
        let mut default = |key: &str, value: Option<String>| {
            if let (None, Some(value)) = (location.get(key), value) {
                location.parameters.push((key.to_owned(), value));
            }
        };
        default("user", ["PGUSER", "USER", "LOGNAME"].into_iter().find_map(environment));
        default("port", Some("5432".to_owned()));
        let port = location.get("port").unwrap_or_default().to_owned();
        if location.get("host").is_none() && location.get("hostaddr").is_none() {
            location.parameters.push(("host".to_owned(), usual_host(&port)));
        }
        let get = |key: &str| location.get(key).unwrap_or_default().to_owned();
        let (user, host) = (get("user"), location.get("host").map_or_else(|| get("hostaddr"), str::to_owned));
        let database = location.get("dbname").map_or_else(|| user.clone(), str::to_owned);
        let loopback =
            host.split(',').all(is_loopback) && get("hostaddr").split(',').all(|a| a.is_empty() || is_loopback(a));
        let mut warnings = Vec::new();
        if location.named {
            warnings.push("application_name of the URL is not used: sessions are named by what they do".to_owned());
        }

        if location.get("password").is_none() {
            let first = |list: &str| list.split(',').next().unwrap_or_default().to_owned();
            let (host, port) = (first(&host), first(&port));
            let login = Login { host: &host, port: &port, database: &database, user: &user };
            let found = password::find(login, credentials, location.passfile.as_deref(), environment);
            warnings.extend(found.warning);
            if let Some(password) = found.password {
                location.parameters.push(("password".to_owned(), password.expose().to_owned()));
            }
        }

        // Verified by default; on this machine there is nobody in between, and a server there seldom has a certificate.
        let mode = location.ssl_mode.unwrap_or(if loopback { SslMode::Prefer } else { SslMode::VerifyFull });
        let tls = tls::connector(mode, location.ssl_root_cert.as_deref())?;
        let mut config = driver_config(&location.parameters)?;
        config.ssl_mode(match mode {
            SslMode::Disable => DriverSslMode::Disable,
            SslMode::Prefer => DriverSslMode::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => DriverSslMode::Require,
        });
        let timeout = *config.get_connect_timeout().unwrap_or(&CONNECT_TIMEOUT);
        config.connect_timeout(timeout);
        let libpq = [
            ("PGHOST", "host"),
            ("PGHOSTADDR", "hostaddr"),
            ("PGPORT", "port"),
            ("PGPASSWORD", "password"),
            ("PGTARGETSESSIONATTRS", "target_session_attrs"),
        ];
        let mut tool_environment: Vec<(&str, String)> =
            libpq.iter().filter_map(|(name, key)| Some((*name, location.get(key)?.to_owned()))).collect();
        tool_environment.extend([("PGUSER", user.clone()), ("PGSSLMODE", mode.name().to_owned())]);
        // Our certificates are those that the system trusts; libpq has to be told, and can be from version 16 on.
        let verified = (mode == SslMode::VerifyFull).then(|| "system".to_owned());
        tool_environment.extend(location.ssl_root_cert.clone().or(verified).map(|file| ("PGSSLROOTCERT", file)));
        let errors = Errors::new(address(&host, &port), database, user);
        Ok(Self { config, tls, timeout, errors, loopback, warnings, tool_environment })
    }

    /// The same server's connections to another database.
    pub(super) fn to(&self, database: &str) -> Self {
        let mut config = self.config.clone();
        config.dbname(database);
        let (tls, errors) = (self.tls.clone(), self.errors.at(database));
        let (warnings, tool_environment) = (Vec::new(), self.tool_environment.clone());
        Self { config, tls, timeout: self.timeout, errors, loopback: self.loopback, warnings, tool_environment }
    }

    /// The same user's connections to a server of ours that has nothing but a socket in this folder.
    pub(super) fn at_socket(&self, folder: &Path, port: u16) -> Self {
        let mut config = Config::new();
        config.host_path(folder).port(port).ssl_mode(DriverSslMode::Disable).connect_timeout(self.timeout);
        if let Some(user) = self.config.get_user() {
            config.user(user);
        }
        if let Some(password) = self.config.get_password() {
            config.password(password);
        }
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        config.dbname(database);
        let address = folder.display().to_string();
        let errors = Errors::new(address, database.to_owned(), self.config.get_user().unwrap_or_default().to_owned());
        let (tls, warnings, tool_environment) = (self.tls.clone(), Vec::new(), Vec::new());
        Self { config, tls, timeout: self.timeout, errors, loopback: true, warnings, tool_environment }
    }

    /// Tells one of libpq's programs how to connect. The environment of a program can be read by its user alone.
    pub(super) fn configure(&self, program: &mut Command) {
        // Nothing of the user's environment may send it, or the password, elsewhere.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            program.env_remove(name);
        }
        program.env("PGAPPNAME", "plimsoll tool");
        program.envs(self.tool_environment.iter().map(|(name, value)| (name, value)));
    }

    /// A connection under a name that `pg_stat_activity` shows.
    pub(super) fn connect(&self, application_name: &str) -> Result<Client> {
        self.connect_with(self.config.clone(), application_name)
    }

    /// A connection that notices within half a minute that the other side is gone.
    pub(super) fn connect_alive(&self, application_name: &str) -> Result<Client> {
        self.connect_with(self.alive(), application_name)
    }

    /// A connection for requests; it notices within half a minute that the other side is gone.
    pub(super) fn connect_wire(&self, application_name: &str) -> Result<(WireConnection, WireCancel)> {
        let mut config = self.alive();
        config.application_name(application_name);
        wire_connection::connect(&config, &self.tls, self.timeout, &self.errors)
    }

    /// A connection that waits no longer than this for anything.
    pub(super) fn connect_hurried(&self, application_name: &str, patience: Duration) -> Result<WireConnection> {
        let mut config = self.config.clone();
        config.application_name(application_name);
        let (mut line, _) = wire_connection::connect(&config, &self.tls, self.timeout.min(patience), &self.errors)?;
        line.set_timeout(patience).map_err(|error| self.errors.lost(&error.to_string()))?;
        Ok(line)
    }

    fn alive(&self) -> Config {
        let mut config = self.config.clone();
        config
            .keepalives(true)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(KEEPALIVE_IDLE + KEEPALIVE_INTERVAL * KEEPALIVE_RETRIES);
        config
    }

    /// The TLS side, for cancel requests.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// The driver limits the time of the TCP connection only; a server that accepts and says nothing would hold us for
    /// ever, so the whole takes place in a thread that we can leave behind.
    fn connect_with(&self, mut config: Config, application_name: &str) -> Result<Client> {
        config.application_name(application_name);
        let tls = self.tls.clone();
        let (sender, receiver) = mpsc::channel();
        let spawned = thread::Builder::new().name("connect".to_owned()).spawn(move || {
            // If nobody waits any more, the connection is dropped and thereby closed.
            let _ = sender.send(postgres::Config::from(config).connect(tls));
        });
        spawned.map_err(|error| Error::new(ErrorKind::Connect, format!("a thread could not be started: {error}")))?;
        match receiver.recv_timeout(self.timeout + Duration::from_millis(500)) {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(self.errors.connecting(&error)),
            Err(_) => Err(self.errors.too_slow(self.timeout.as_secs())),
        }
    }
}

/// The driver's form of the parameters. Its complaint names the parameter and not the value, and is kept short all the same.
fn driver_config(parameters: &[(String, String)]) -> Result<Config> {
    let quoted = |(key, value): &(String, String)| {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{key}='{value}'")
    };
    let all: Vec<String> = parameters.iter().map(quoted).collect();
    all.join(" ").parse().map_err(|_| {
        let bad = parameters.iter().find(|parameter| quoted(parameter).parse::<Config>().is_err());
        let key = bad.map_or("?", |(key, _)| key);
        Error::new(ErrorKind::Usage, format!("the value of '{key}' in the URL can't be used"))
            .hint("the PostgreSQL manual lists the values under 'Parameter Key Words'")
    })
}

/// Where a server is found if nobody says: at its socket, else at the loopback address.
fn usual_host(port: &str) -> String {
    let socket = SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists());
    socket.unwrap_or("localhost").to_owned()
}

fn is_loopback(host: &str) -> bool {
    host.starts_with('/') || host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `host:port` of every host; sockets by their folder.
fn address(hosts: &str, ports: &str) -> String {
    let ports: Vec<&str> = ports.split(',').collect();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or("5432");
    let name = |host: &str| if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let all: Vec<String> =
        hosts.split(',').enumerate().map(|(i, host)| format!("{}:{}", name(host), port(i))).collect();
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::target::Target;

    fn connector(url: &str) -> Connector {
        let location = Location::parse(&Target::parse(url).unwrap()).unwrap();
        Connector::new(location, &Credentials::default(), &|name| (name == "USER").then(|| "ann".to_owned())).unwrap()
    }

    #[test]
    fn tls_is_verified_unless_the_server_is_here() {
        let far = connector("postgres://db.example/d");
        assert!(!far.loopback && far.config.get_ssl_mode() == DriverSslMode::Require);
        for near in
            ["postgres://127.0.0.1/d", "postgres://localhost/d", "postgres://[::1]/d", "postgres:///d?host=/tmp"]
        {
            let near = connector(near);
            assert!(near.loopback && near.config.get_ssl_mode() == DriverSslMode::Prefer);
        }
        assert!(!connector("postgres://localhost,db.example/d").loopback);
        assert!(!connector("postgres://localhost/d?hostaddr=10.0.0.1").loopback);
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let connector = connector("postgres://h1:1,h2/?application_name=x");
        assert_eq!(connector.errors.address(), "h1:1,h2:5432");
        assert_eq!(connector.config.get_user(), Some("ann"));
        assert_eq!(connector.timeout, CONNECT_TIMEOUT);
        assert_eq!(connector.warnings.len(), 1);
    }

    #[test]
    fn quotes_reach_the_driver_as_they_are() {
        let connector = connector("postgres://u:a'b%5Cc%20d@h/d");
        assert_eq!(connector.config.get_password(), Some(&b"a'b\\c d"[..]));
        assert!(!format!("{:?}{:?}", connector.config, connector.errors).contains("a'b"));
    }
}
