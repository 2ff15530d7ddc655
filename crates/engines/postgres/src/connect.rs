//! Connections: where to, as which user, how protected, and under which name.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::bounds::question;
use plimsoll_engine::server::canceller::{CANCEL_PATIENCE, Canceller};
use plimsoll_engine::server::errors::unreachable;
use plimsoll_engine::server::lines::Pulse;
use plimsoll_engine::server::link::Refused;
use plimsoll_engine::server::socket::{Address, KeepAlive};
use plimsoll_engine::server::tls::{self, Protection, Trust};
use plimsoll_engine::server::tool::Told;
use plimsoll_engine::{Credentials, Environment, Error, ErrorKind, Intents, Result, Secret};

use super::connection::Connection;
use super::error::Errors;
use super::hosts::{Host, Reached, address, hosts, is_loopback, unfit, usual_host};
use super::identity::Identity;
use super::login::{self, ChannelRule, Login, Route};
use super::statements::sql;
use super::url::{Location, SSL_MODES};
use super::wire_connection::WireConnection;
use super::{password, pooler};

/// How long a server may take to answer and let us in, if the URL doesn't say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After this much silence the system asks whether the other side still lives...
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// ... so often...
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// ... and gives up after so many questions without an answer.
pub(super) const KEEPALIVE_RETRIES: u32 = 3;
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) clock: Arc<dyn Clock>,
    hosts: Vec<Host>,
    /// The first host is any of them.
    any_first: bool,
    /// Whether the server has to write, or must not.
    writes: Option<bool>,
    /// A pooler may stand between, as long as it gives each client a session of its own.
    may_be_pooled: bool,
    pub(super) route: Route,
    login: Login,
    database: String,
    timeout: Duration,
    pub(super) errors: Errors,
    /// True if all hosts are sockets or loopback addresses.
    pub(super) loopback: bool,
    pub(super) warnings: Vec<String>,
    /// What libpq's programs are to be told, as their environment; the password is not among it.
    tool_environment: Vec<(&'static str, String)>,
    /// Whose passwords they find in a file.
    tool_hosts: Vec<Host>,
    told: Told,
    reached: Arc<Mutex<Reached>>,
    /// What is about to be made there is noted here.
    pub(super) intents: Intents,
    /// Who was found there first: with several hosts, or behind an address that moves, another one may answer later.
    pub(super) identity: Identity,
}

impl Connector {
    /// Settles everything that a connection needs; connects to nobody.
    pub(super) fn new(
        mut location: Location,
        credentials: &Credentials,
        environment: Environment<'_>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
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

        // No host gets the password of another one.
        let mut hosts = hosts(&location)?;
        let given = location.get("password").map(Secret::new);
        for host in &mut hosts {
            let (name, port) = (host.searched(), host.port.to_string());
            let login = password::Login { host: &name, port: &port, database: &database, user: &user };
            let find = || password::find(login, credentials, location.passfile.as_deref(), environment);
            let found = given.clone().map_or_else(find, password::Found::from);
            host.password = found.password;
            warnings.extend(found.warning.filter(|warning| !warnings.contains(warning)));
        }

        let mode = location.ssl_mode.unwrap_or(Protection::usual(loopback));
        // A root certificate makes `require` verify the authority, as in libpq.
        let trust = match (mode, &location.ssl_root_cert) {
            (Protection::Encrypted, Some(_)) => Trust::Authority,
            (mode, _) => mode.trust(),
        };
        let is_direct = one_of(&location, "sslnegotiation", &[("postgres", false), ("direct", true)])?.unwrap_or(false);
        if is_direct && mode == Protection::IfPossible {
            return Err(unfit("sslnegotiation"));
        }
        let seconds = |key, usual| {
            let given: Option<i64> = number(&location, key)?;
            let given = given.and_then(|given| u64::try_from(given).ok()).filter(|given| *given > 0);
            Ok::<_, Error>(given.map_or(usual, Duration::from_secs))
        };
        let keep_alive = KeepAlive {
            idle: seconds("keepalives_idle", KEEPALIVE_IDLE)?,
            interval: Some(seconds("keepalives_interval", KEEPALIVE_INTERVAL)?),
            retries: Some(number(&location, "keepalives_retries")?.unwrap_or(KEEPALIVE_RETRIES)),
        };
        let route = Route {
            mode,
            tls: Arc::new(tls::config(trust, location.ssl_root_cert.as_deref(), "sslrootcert")?),
            is_direct,
            keep_alive: (number(&location, "keepalives")? != Some(0)).then_some(keep_alive),
            send_patience: seconds("tcp_user_timeout", KEEPALIVE_IDLE + KEEPALIVE_INTERVAL * KEEPALIVE_RETRIES)?,
            lines: Arc::default(),
        };
        let rules =
            [("disable", ChannelRule::Never), ("prefer", ChannelRule::IfPossible), ("require", ChannelRule::Always)];
        let login = Login {
            user: user.clone(),
            password: None,
            options: location.get("options").map(str::to_owned),
            channel: one_of(&location, "channel_binding", &rules)?.unwrap_or(ChannelRule::IfPossible),
        };
        let attributes = [("any", None), ("read-write", Some(true)), ("read-only", Some(false))];
        let libpq = [
            ("PGHOST", "host"),
            ("PGHOSTADDR", "hostaddr"),
            ("PGPORT", "port"),
            ("PGTARGETSESSIONATTRS", "target_session_attrs"),
        ];
        let mut tool_environment: Vec<(&str, String)> =
            libpq.iter().filter_map(|(name, key)| Some((*name, location.get(key)?.to_owned()))).collect();
        tool_environment.extend([("PGUSER", user.clone()), ("PGSSLMODE", SSL_MODES[mode as usize].to_owned())]);
        // Our certificates are those that the system trusts; libpq has to be told, and can be from version 16 on.
        let verified = (mode == Protection::Host).then(|| "system".to_owned());
        tool_environment.extend(location.ssl_root_cert.clone().or(verified).map(|file| ("PGSSLROOTCERT", file)));
        Ok(Self {
            clock,
            hosts: hosts.clone(),
            any_first: one_of(&location, "load_balance_hosts", &[("disable", false), ("random", true)])?
                .unwrap_or(false),
            writes: one_of(&location, "target_session_attrs", &attributes)?.flatten(),
            may_be_pooled: one_of(&location, "pooler", &[("session", true)])?.is_some(),
            route,
            login,
            timeout: seconds("connect_timeout", CONNECT_TIMEOUT)?,
            errors: Errors { address: address(&host, &port), database: database.clone(), user },
            database,
            loopback,
            warnings,
            tool_environment,
            tool_hosts: hosts,
            told: Told::default(),
            reached: Arc::default(),
            intents: credentials.intents.clone(),
            identity: Identity::default(),
        })
    }

    /// Names of the user and of the server, as they may stand in what it says.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = vec![self.errors.address.clone(), self.database.clone(), self.login.user.clone()];
        for host in &self.hosts {
            names.push(host.name.clone());
            names.extend(host.address.map(|address| address.to_string()));
        }
        names
    }

    /// The same server's connections to another database.
    pub(super) fn to(&self, database: &str) -> Self {
        let errors = Errors { database: database.to_owned(), ..self.errors.clone() };
        let identity = Identity { database: None, ..self.identity.clone() };
        Self { database: database.to_owned(), errors, identity, warnings: Vec::new(), ..self.clone() }
    }

    /// The same user's connections to a server of ours that has nothing but a socket in this folder.
    pub(super) fn at_socket(&self, folder: &Path, port: u16) -> Self {
        let name = folder.display().to_string();
        Self {
            errors: Errors { address: name.clone(), ..self.errors.clone() },
            hosts: vec![Host {
                name,
                address: None,
                port,
                password: self.hosts.first().and_then(|host| host.password.clone()),
            }],
            writes: None,
            route: Route { mode: Protection::Off, ..self.route.clone() },
            login: Login { options: None, ..self.login.clone() },
            loopback: true,
            warnings: Vec::new(),
            tool_environment: Vec::new(),
            tool_hosts: Vec::new(),
            reached: Arc::default(),
            intents: self.intents.clone(),
            identity: Identity::default(),
            ..self.clone()
        }
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&self, host: &Host) -> Self {
        Self {
            errors: Errors { address: host.shown(), ..self.errors.clone() },
            hosts: vec![host.clone()],
            writes: None,
            reached: Arc::default(),
            ..self.clone()
        }
    }

    /// The hosts where sessions have been, but the last, each by itself.
    pub(super) fn left(&self) -> Vec<Self> {
        self.reached().others().map(|host| self.alone(host)).collect()
    }

    /// The hosts of the URL, each by itself at each address that its name leads to, whatever server is there, but for the address that
    /// answered last. With whether another one of the name's did.
    pub(super) fn elsewhere(&self) -> Vec<(bool, Vec<Self>)> {
        let last = self.reached().last.as_ref().map(|(address, _)| address.clone());
        let alone = |host: &Host| Self { identity: Identity::default(), ..self.alone(host) };
        let of_host = |host: &Host| {
            let Ok(addresses) = host.addresses(self.timeout) else { return (false, vec![alone(host)]) };
            let others = addresses.iter().filter(|address| Some(*address) != last.as_ref());
            let others: Vec<Self> = others.map(|address| alone(&host.at(address))).collect();
            (others.len() < addresses.len(), others)
        };
        self.hosts.iter().map(of_host).collect()
    }

    /// Tells one of libpq's programs how to connect: the password by a file, as the program's own children would keep its environment.
    pub(super) fn configure(&self, program: &mut Command) -> Result<()> {
        // Nothing of the user's environment may send it, or the password, elsewhere.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            program.env_remove(name);
        }
        program.env("PGAPPNAME", "plimsoll tool");
        program.envs(self.tool_environment.iter().map(|(name, value)| (name, value)));
        let lines = password::lines(&self.tool_hosts).ok_or_else(|| {
            let message = "the server's programs can't be told a password with a new line in it";
            Error::new(ErrorKind::Unsupported, message).hint("give the user another password for this test")
        })?;
        if !lines.is_empty() {
            program.env("PGPASSFILE", self.told.path(&lines)?);
        }
        Ok(())
    }

    /// A connection under a name that `pg_stat_activity` shows. Like all of them it notices within half a minute that the other
    /// side is gone.
    pub(super) fn connect(&self, name: &str) -> Result<Connection> {
        self.connect_within(name, self.timeout)
    }

    /// A connection that waits no longer than this for anything.
    pub(super) fn connect_hurried(&self, name: &str, patience: Duration) -> Result<Connection> {
        let connection = self.connect_within(name, self.timeout.min(patience))?;
        connection.link.set_timeout(Some(patience));
        Ok(connection)
    }

    /// Connects to the first host that lets us in; to find its addresses may take so long, and each of them.
    fn connect_within(&self, name: &str, timeout: Duration) -> Result<Connection> {
        let refused = |refused: Refused| refused.into_error(&self.errors.address, "PostgreSQL", timeout);
        let unfit = |cause: &str| unreachable(&self.errors.address, cause);
        let mut failed = unfit("no host is named");
        let count = self.hosts.len();
        let first = if self.any_first { RandomState::new().build_hasher().finish() as usize % count.max(1) } else { 0 };
        for host in self.hosts.iter().cycle().skip(first).take(count) {
            let addresses = match host.addresses(timeout) {
                Ok(addresses) => addresses,
                Err(error) => {
                    failed = refused(error.into());
                    continue;
                }
            };
            for address in addresses {
                match self.enter(&address, host, name, timeout) {
                    Ok((mut connection, number)) => match self.misfit(&mut connection, number, (&address, host)) {
                        Ok(None) => {
                            self.reached().note(address, host);
                            return Ok(connection);
                        }
                        Ok(Some(reason)) => failed = unfit(reason),
                        Err(error) => failed = error,
                    },
                    Err(error) => failed = refused(error),
                }
            }
        }
        Err(failed)
    }

    /// Whether the server that let us in last hears at all.
    pub(super) fn pulse(&self) -> Pulse {
        let connector = self.clone();
        Pulse::new(&self.route.lines, move || {
            let last = connector.reached().last.clone();
            let Some((address, host)) = last else { return Ok(()) };
            let entered = connector.enter(&address, &host, "plimsoll cancel", CANCEL_PATIENCE);
            entered.map(drop).map_err(Refused::into_io)
        })
    }

    fn enter(
        &self,
        address: &Address,
        host: &Host,
        name: &str,
        timeout: Duration,
    ) -> std::result::Result<(Connection, i32), Refused> {
        let Self { route, login, errors, database, .. } = self;
        // Without a name it is the address that a certificate has to be for.
        let name_of_host = host.searched();
        let mut line = WireConnection::new(route.open(address, &name_of_host, timeout, errors)?);
        let login = Login { password: host.password.clone(), ..login.clone() };
        let numbers = login::log_in(&mut line, &login, database, name, errors)?;
        line.stream.socket().clear_timeout()?;
        line.trust();
        let breaker = line.stream.socket().breaker();
        let (way, address, of_cancel) = (route.clone(), address.clone(), errors.clone());
        let ask = move || way.cancel((&address, &name_of_host), numbers, CANCEL_PATIENCE, &of_cancel);
        let canceller = Canceller::new(breaker, &route.lines, ask);
        let connection = Connection::new(line, errors.clone(), canceller, question(self.timeout));
        Ok((connection, numbers.0))
    }

    /// Why the session is none on a server that is wanted; `number` was given at log-in.
    ///
    /// # Errors
    /// If the session is not the server's own.
    fn misfit(
        &self,
        connection: &mut Connection,
        number: i32,
        (address, host): (&Address, &Host),
    ) -> Result<Option<&'static str>> {
        let is_known = self.reached().last.as_ref().is_some_and(|(known, _)| known == address);
        if !is_known {
            let another = || self.enter(address, host, "plimsoll", self.timeout).map(|(another, _)| another);
            pooler::refuse(connection, number, self.may_be_pooled, another)?;
        }
        // A database's owner says where its sessions look for names: nothing else is asked before.
        connection.row(sql("names of the system alone"), &[])?;
        if let Some(reason) = self.identity.is_anothers(connection) {
            return Ok(Some(reason));
        }
        let is_wanted = self.is_wanted(connection)?;
        Ok((!is_wanted).then_some("the server is not one of the target_session_attrs asked for"))
    }

    /// Whether the server writes, or does not, as the URL wants it.
    fn is_wanted(&self, connection: &mut Connection) -> Result<bool> {
        let Some(writes) = self.writes else { return Ok(true) };
        Ok(connection.row(sql("whether it can be written"), &[])?.text(0) == Some(if writes { "off" } else { "on" }))
    }
}

fn one_of<T: Copy>(location: &Location, key: &str, words: &[(&str, T)]) -> Result<Option<T>> {
    let Some(given) = location.get(key) else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == given).ok_or_else(|| unfit(key))?;
    Ok(Some(found.1))
}

fn number<T: FromStr>(location: &Location, key: &str) -> Result<Option<T>> {
    location.get(key).map(|given| given.parse().map_err(|_| unfit(key))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::target::Target;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(plimsoll_clock::RealClock::new())
    }

    fn connector(url: &str) -> Connector {
        let location = Location::parse(&Target::parse(url).unwrap()).unwrap();
        Connector::new(location, &Credentials::default(), &|name| (name == "USER").then(|| "ann".to_owned()), clock())
            .unwrap()
    }

    #[test]
    fn tls_is_verified_unless_the_server_is_here() {
        let far = connector("postgres://db.example/d");
        assert!(!far.loopback && far.route.mode == Protection::Host);
        for near in
            ["postgres://127.0.0.1/d", "postgres://localhost/d", "postgres://[::1]/d", "postgres:///d?host=/tmp"]
        {
            let near = connector(near);
            assert!(near.loopback && near.route.mode == Protection::IfPossible);
        }
        assert!(!connector("postgres://localhost,db.example/d").loopback);
        assert!(!connector("postgres://localhost/d?hostaddr=10.0.0.1").loopback);
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let connector = connector("postgres://h1:1,h2/?application_name=x");
        assert_eq!(connector.errors.address, "h1:1,h2:5432");
        assert_eq!(connector.login.user, "ann");
        assert_eq!(connector.timeout, CONNECT_TIMEOUT);
        assert_eq!(connector.warnings.len(), 1);
    }

    #[test]
    fn each_host_has_its_port_and_address() {
        let found = |url: &str| {
            let hosts = connector(url).hosts.into_iter();
            hosts.map(|host| format!("{} {:?} {}", host.name, host.address, host.port)).collect::<Vec<_>>()
        };
        assert_eq!(found("postgres://a:1,b/d"), ["a None 1", "b None 5432"]);
        assert_eq!(found("postgres://a,b:2/d?hostaddr=10.0.0.1,::1"), ["a Some(10.0.0.1) 5432", "b Some(::1) 2"]);
        assert_eq!(found("postgres:///d?host=/tmp&port=7"), ["/tmp None 7"]);
        let refused = |more: &str| {
            let location = Location::parse(&Target::parse(&format!("postgres://u@a,b/d?{more}")).unwrap()).unwrap();
            Connector::new(location, &Credentials::default(), &|_| None, clock()).err().unwrap()
        };
        for more in [
            "hostaddr=::1",
            "hostaddr=x,y",
            "port=1,2,3",
            "connect_timeout=soon",
            "keepalives=x",
            "channel_binding=no",
            "target_session_attrs=fast",
            "load_balance_hosts=1",
            "sslnegotiation=x",
        ] {
            let error = refused(more);
            let key = more.split_once('=').unwrap().0;
            assert!(error.kind == ErrorKind::Usage && error.message.contains(key), "{error}");
        }
    }

    #[test]
    fn no_host_gets_the_password_of_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a:1:*:*:of a\nb:*:*:*:of b\n").unwrap();
        let url = |more: &str| format!("postgres://u@a:1,a:2,b/d?passfile={}{more}", file.path().display());
        let of = |url: &str| {
            let hosts = connector(url).hosts;
            hosts.iter().map(|host| host.password.as_ref().map(|p| p.expose().to_owned())).collect::<Vec<_>>()
        };
        let [a, b] = ["of a", "of b"].map(|text| Some(text.to_owned()));
        assert_eq!(of(&url("")), [a, None, b]);
        assert_eq!(of(&url("&password=one")), vec![Some("one".to_owned()); 3]);
    }

    #[test]
    fn a_password_is_what_it_was_and_nobody_sees_it() {
        let connector = connector("postgres://u:a'b%5Cc%20d@h/d");
        assert_eq!(connector.hosts[0].password.as_ref().unwrap().expose(), "a'b\\c d");
        assert!(!format!("{:?}", connector.errors).contains("a'b"));
    }
}
