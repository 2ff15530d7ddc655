//! Connections: where to, as which user, how protected.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::bounds::question;
use plimsoll_engine::server::canceller::{CANCEL_PATIENCE, Canceller};
use plimsoll_engine::server::lines::{Lines, Pulse};
use plimsoll_engine::server::link::Refused;
use plimsoll_engine::server::names;
use plimsoll_engine::server::socket::{Address, KeepAlive, Socket};
use plimsoll_engine::server::tls::{self, Protection};
use plimsoll_engine::server::tool::Told;
use plimsoll_engine::server::url::{address, is_loopback};
use plimsoll_engine::{Credentials, Environment, Error, ErrorKind, Intents, Result, Secret};
use rustls::ClientConfig;

use super::connection::{Connection, Failed};
use super::counter_queries::Ours;
use super::error::Errors;
use super::login::{self, Login};
use super::password;
use super::product::Product;
use super::statements::{fill, text};
use super::url::Location;
use super::wire_connection::WireConnection;

/// How long a server may take to answer and let us in, if the URL doesn't say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PORT: u16 = 3306;
/// The system asks whether the other side still lives, and gives up after half a minute.
const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Duration::from_secs(10), interval: Some(Duration::from_secs(5)), retries: Some(3) };
const SEND_PATIENCE: Duration = Duration::from_secs(25);
/// Where servers put their sockets.
const SOCKETS: [&str; 3] = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

#[derive(Clone)]
pub(super) struct Connector {
    pub(super) clock: Arc<dyn Clock>,
    host: String,
    port: u16,
    socket: Option<PathBuf>,
    user: String,
    password: Option<Secret>,
    /// The database of the URL.
    database: Option<String>,
    mode: Protection,
    ssl_ca: Option<String>,
    tls: Arc<ClientConfig>,
    timeout: Duration,
    pub(super) errors: Errors,
    /// True at a socket or a loopback address.
    pub(super) loopback: bool,
    pub(super) warnings: Vec<String>,
    /// Numbers of our connections that are open: by them our sessions are told from others'.
    pub(super) ours: Arc<Mutex<Ours>>,
    pub(super) lines: Arc<Lines>,
    /// The password as its programs find it.
    told: Told,
    /// What is about to be made there is noted here.
    pub(super) intents: Intents,
    /// The server's own name for itself, once it is known: behind an address that moves another one may answer later.
    pub(super) identity: Option<String>,
}

impl Connector {
    /// Settles everything that a connection needs; connects to nobody.
    pub(super) fn new(
        location: Location,
        credentials: &Credentials,
        environment: Environment<'_>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let found = password::find(credentials, location.defaults_file.as_deref(), environment)?;
        let user = location.user.or(found.user);
        let user = user.or_else(|| ["USER", "LOGNAME"].into_iter().find_map(environment)).unwrap_or_default();
        let password = location.password.or(found.password);
        let is_local = location.host.as_deref().is_none_or(|host| host == "localhost");
        // As with the servers' own clients, localhost is the socket unless a port is named.
        let usual = || SOCKETS.into_iter().find(|path| Path::new(path).exists()).map(str::to_owned);
        let usual = if is_local && location.port.is_none() { usual() } else { None };
        let socket = location.socket.or(usual).map(PathBuf::from);
        let host = location.host.unwrap_or_else(|| "localhost".to_owned());
        let port = location.port.unwrap_or(PORT);
        let loopback = socket.is_some() || is_loopback(&host);
        let mode = location.ssl_mode.unwrap_or(Protection::usual(loopback));
        let tls = Arc::new(tls::config(mode.trust(), location.ssl_ca.as_deref(), "ssl-ca")?);
        let address = socket.as_ref().map_or_else(|| address(&host, port), |path| path.display().to_string());
        Ok(Self {
            clock,
            errors: Errors { address, user: user.clone(), has_password: password.is_some() },
            host,
            port,
            socket,
            user,
            password,
            ssl_ca: location.ssl_ca,
            database: location.database,
            mode,
            tls,
            timeout: location.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
            loopback,
            warnings: found.warning.into_iter().collect(),
            ours: Arc::default(),
            lines: Arc::default(),
            told: Told::default(),
            intents: credentials.intents.clone(),
            identity: None,
        })
    }

    /// A connection to the database of the URL, or to none, that asks.
    pub(super) fn connect(&self, name: &str) -> Result<Connection> {
        let mut connection = self.connect_to(self.database.as_deref(), name, self.timeout)?;
        connection.set(text("settings of a session that reads"))?;
        Ok(connection)
    }

    /// A connection to no database. Filters of replication go by the database that a session is in: in that of the URL, what is done to one of
    /// ours would reach replicas that don't have it, and stop them.
    pub(super) fn connect_apart(&self, name: &str) -> Result<Connection> {
        self.connect_to(None, name, self.timeout)
    }

    /// A connection to no database, which need not be there any more; it is given up sooner if need be.
    pub(super) fn connect_within(&self, name: &str, patience: Duration) -> Result<Connection> {
        self.connect_to(None, name, self.timeout.min(patience))
    }

    /// A connection with statements that work in a database.
    pub(super) fn connect_in(&self, database: &str, name: &str) -> Result<Connection> {
        self.connect_to(Some(database), name, self.timeout)
    }

    /// The same user's connections to a server of ours that has nothing but this socket.
    pub(super) fn at_socket(&self, socket: &Path) -> Self {
        Self {
            errors: Errors { address: socket.display().to_string(), ..self.errors.clone() },
            socket: Some(socket.to_owned()),
            mode: Protection::Off,
            ssl_ca: None,
            loopback: true,
            warnings: Vec::new(),
            ours: Arc::default(),
            identity: None,
            ..self.clone()
        }
    }

    /// Tells a client program how to connect, before anything else: the password by a file, which is the only option file that it
    /// reads. What the run does must not depend on others.
    pub(super) fn configure(&self, program: &mut Command, product: Product) -> Result<()> {
        match &self.password {
            Some(password) => {
                let text = password::option_file(password.expose()).ok_or_else(|| {
                    let message = "the server's programs can't be told a password with both kinds of quotes in it";
                    Error::new(ErrorKind::Unsupported, message).hint("give the user another password for this test")
                })?;
                program.arg(format!("--defaults-file={}", self.told.path(&text)?.display()));
            }
            None => drop(program.arg("--no-defaults")),
        }
        match &self.socket {
            Some(socket) => program.arg("--protocol=socket").arg("--socket").arg(socket),
            None => program.args(["--protocol=tcp", "--host", &self.host, "--port", &self.port.to_string()]),
        };
        program.args(["--user", &self.user]).args(product.protection(self.mode));
        program.args(self.ssl_ca.iter().map(|file| format!("--ssl-ca={file}")));
        Ok(())
    }

    /// The database of the URL, if it names one.
    pub(super) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// What the user calls things: no report has it.
    pub(super) fn names(&self) -> Vec<String> {
        let socket = self.socket.as_ref().map(|path| path.display().to_string());
        [Some(self.user.clone()), Some(self.host.clone()), self.database.clone(), socket]
            .into_iter()
            .flatten()
            .collect()
    }

    fn connect_to(&self, database: Option<&str>, name: &str, timeout: Duration) -> Result<Connection> {
        let refused = |refused: Refused| refused.into_error(&self.errors.address, "MySQL or MariaDB", timeout);
        // At a server that is known a database is entered once it is sure that it is this one.
        let at_login = database.filter(|_| self.identity.is_none());
        let (mut connection, start) = self.enter(at_login, name, timeout).map_err(refused)?;
        // What the server lets each session begin with (init_connect) comes after the log-in. It may lead the session elsewhere, put
        // temporary tables in place of ours, or begin a transaction.
        connection.begin_anew()?;
        connection.set(text("character set of a session"))?;
        if let Some(found) = self.refuse_another(&mut connection)? {
            let _ = start.set(found);
        }
        if let Some(database) = database {
            connection.set(&fill("database of a session", &[("workspace", database)]))?;
        }
        Ok(connection)
    }

    /// A connection, and where its server's start is to be noted, without which its statements are cancelled unchecked.
    fn enter(
        &self,
        database: Option<&str>,
        name: &str,
        timeout: Duration,
    ) -> std::result::Result<(Connection, Arc<OnceLock<String>>), Refused> {
        let addresses = if let Some(path) = &self.socket {
            vec![Address::Unix(path.clone())]
        } else {
            names::addresses(&self.host, self.port, timeout)?
        };
        let mut failed = io::Error::other("its name has no address");
        for address in addresses {
            let socket = match Socket::connect(&address, timeout, &self.lines) {
                Ok(socket) => socket,
                Err(error) => {
                    failed = error;
                    continue;
                }
            };
            socket.keep_alive(Some(KEEP_ALIVE), Some(SEND_PATIENCE))?;
            let breaker = socket.breaker();
            let mut line = WireConnection::new(socket);
            let login = Login {
                user: &self.user,
                password: self.password.as_ref(),
                database,
                host: &self.host,
                mode: self.mode,
                tls: &self.tls,
                is_socket: self.socket.is_some(),
                name,
            };
            let welcome = login::log_in(&mut line, &login, &self.errors)?;
            line.stream.socket().clear_timeout()?;
            line.trust();
            let (connector, id, start) = (self.clone(), welcome.id, Arc::<OnceLock<String>>::default());
            let of_session = Arc::clone(&start);
            let canceller =
                Canceller::new(breaker, &self.lines, move || connector.kill(id, of_session.get().map(String::as_str)));
            let (errors, ours) = (self.errors.clone(), Arc::clone(&self.ours));
            return Ok((Connection::new(line, errors, welcome, (canceller, ours), question(self.timeout)), start));
        }
        Err(failed.into())
    }

    /// Fails at another server, which may have databases of the same names and sessions of the same numbers. Gives the start of the server: after
    /// a restart numbers begin anew. It is empty where the session has another number than the greeting said, as behind a pooler: that
    /// number is somebody else's. Whoever may not ask any more is taken at his word.
    fn refuse_another(&self, connection: &mut Connection) -> Result<Option<String>> {
        let text = connection.server.product.text("identity");
        let Some([Some(found), start, session]) = connection
            .ask(text)
            .ok()
            .and_then(|rows| rows.into_iter().next())
            .and_then(|row| <[Option<String>; 3]>::try_from(row).ok())
        else {
            return Ok(None);
        };
        if self.identity.as_ref().is_none_or(|known| *known == found) {
            // The greeting has 32 bits of it.
            let number = session.and_then(|session| session.parse::<u64>().ok());
            let is_own = number.is_none_or(|number| number & u64::from(u32::MAX) == u64::from(connection.id));
            return Ok(start.as_deref().map(|start| if is_own { start_of(start) } else { String::new() }));
        }
        let message =
            format!("{}: another server answers there now, and not the one that was measured", self.errors.address);
        Err(Error::new(ErrorKind::Connect, message)
            .hint("give the address of one server, which neither moves nor spreads sessions over several"))
    }

    /// The start of the server, asked by a session that ends at once.
    pub(super) fn started_at(&self) -> Result<Option<String>> {
        let mut connection = self.connect("plimsoll control")?;
        self.refuse_another(&mut connection)
    }

    /// A connection to a server that may stand still, protected like the others.
    fn hurried(&self) -> io::Result<(Connection, Option<String>)> {
        let (mut connection, _) = self.enter(None, "plimsoll cancel", CANCEL_PATIENCE).map_err(Refused::into_io)?;
        connection.link.set_timeout(Some(CANCEL_PATIENCE));
        let start = self.refuse_another(&mut connection).map_err(io::Error::other)?;
        Ok((connection, start))
    }

    /// Kills the statement of a connection over another one. Of a server that was started anew since, the number is somebody else's.
    fn kill(&self, id: u32, start: Option<&str>) -> io::Result<()> {
        let (mut connection, now) = self.hurried()?;
        if start.is_some_and(|start| start.is_empty() || now.as_deref() != Some(start)) {
            return Ok(());
        }
        match connection.query(&fill("end a statement", &[("session", &id.to_string())]), &mut |_| Ok(false)) {
            Err(Failed::Wire(error)) => Err(error),
            // One that has ended can't be killed.
            _ => Ok(()),
        }
    }

    /// Whether the server hears at all.
    pub(super) fn pulse(&self) -> Pulse {
        let connector = self.clone();
        Pulse::new(&self.lines, move || connector.hurried().map(drop))
    }
}

/// The part of a UUID that a server makes up when it is started.
fn start_of(uuid: &str) -> String {
    uuid.splitn(4, '-').nth(3).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::target::Target;

    fn connector(url: &str) -> Connector {
        let location = Location::parse(&Target::parse(url).unwrap()).unwrap();
        Connector::new(
            location,
            &Credentials::default(),
            &|name| (name == "USER").then(|| "ann".to_owned()),
            Arc::new(plimsoll_clock::RealClock::new()),
        )
        .unwrap()
    }

    #[test]
    fn tls_is_verified_unless_the_server_is_here() {
        let far = connector("mysql://db.example/d");
        assert!(!far.loopback && far.mode == Protection::Host && far.socket.is_none());
        for near in ["mysql://127.0.0.1/d", "mysql://localhost:3306/d", "mysql://[::1]/d", "mysql:///d?socket=/tmp/x"] {
            let near = connector(near);
            assert!(near.loopback && near.mode == Protection::IfPossible);
        }
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let connector = connector("mysql://h1/");
        assert_eq!((connector.errors.address.as_str(), connector.user.as_str()), ("h1:3306", "ann"));
        assert_eq!((connector.timeout, connector.database), (CONNECT_TIMEOUT, None));
    }
}
