//! A server whose data and log lie on devices of their own, with a table for the causes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_testbed::{MariaDb, Postgres, TestbedError};

use super::causes::{Product, ROWS};
use super::limits::SlowDevice;
use super::slow::Slow;
use crate::servers;

/// Memory for the server's own cache, in MB.
const CACHE_MB: u32 = 16;

enum Kind {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

/// The server.
pub struct Server {
    // It is dropped before its devices.
    kind: Kind,
    /// What it is.
    pub product: Product,
    /// The device of its data.
    pub data: SlowDevice,
    /// The device of its log.
    pub log: SlowDevice,
    /// Delays of its calls on files.
    pub slow: Slow,
}

fn said(error: &TestbedError) -> String {
    let mut text = error.to_string();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Server {
    /// Starts it and fills its table. An error says what is missing.
    pub fn start(product: Product) -> Result<Self, String> {
        let (data, log, slow) = (SlowDevice::make()?, SlowDevice::make()?, Slow::make()?);
        let logs = log.folder().join("log");
        fs::create_dir(&logs).map_err(|error| error.to_string())?;
        let kind = match product {
            Product::PostgreSql => Kind::Postgres(Self::postgres(&data, &logs, &slow)?),
            Product::MariaDb | Product::MySql => Kind::MariaDb(Self::mariadb(product, &data, &logs, &slow)?),
        };
        let server = Self { kind, product, data, log, slow };
        server.fill()?;
        Ok(server)
    }

    fn postgres(data: &SlowDevice, logs: &Path, slow: &Slow) -> Result<Postgres, String> {
        let mut builder = Postgres::builder().shared_buffers_mb(CACHE_MB).durable(true).trusting(true);
        for (name, value) in slow.environment() {
            builder = builder.environment(name, &value);
        }
        builder.data_dir_in(data.folder()).wal_dir_in(logs).start().map_err(|error| said(&error))
    }

    fn mariadb(product: Product, data: &SlowDevice, logs: &Path, slow: &Slow) -> Result<MariaDb, String> {
        let mut builder = MariaDb::builder().buffer_pool_mb(CACHE_MB).durable(true).data_dir_in(data.folder());
        // The library sees plain calls alone.
        builder = builder.setting("innodb_use_native_aio", "OFF").redo_dir(logs);
        if product == Product::MySql {
            builder = builder.installed(servers::installation("mysql-9")?);
        }
        for (name, value) in slow.environment() {
            builder = builder.environment(name, &value);
        }
        builder.start().map_err(|error| said(&error))
    }

    fn fill(&self) -> Result<(), String> {
        let table = "CREATE TABLE ACCOUNTS (aid int PRIMARY KEY, balance int NOT NULL, filler char(200) NOT NULL)";
        let (rows, after) = match self.product {
            Product::PostgreSql => {
                (format!("SELECT n, 0, 'x' FROM generate_series(1, {ROWS}) n"), "VACUUM ANALYZE ACCOUNTS")
            }
            Product::MariaDb => (format!("SELECT seq, 0, 'x' FROM seq_1_to_{ROWS}"), "ANALYZE TABLE ACCOUNTS"),
            Product::MySql => (
                format!(
                    "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                     SELECT (a.i - 1) * 1000 + b.i, 0, 'x' FROM n a JOIN n b WHERE a.i <= {}",
                    ROWS / 1000
                ),
                "ANALYZE TABLE ACCOUNTS",
            ),
        };
        let fill = format!("INSERT INTO ACCOUNTS {rows}");
        for statement in [table, fill.as_str(), after] {
            self.run(statement)?;
        }
        Ok(())
    }

    /// Runs a statement; ACCOUNTS stands for the table.
    pub fn run(&self, statement: &str) -> Result<String, String> {
        let statement = statement.replace("ACCOUNTS", self.product.table());
        match &self.kind {
            Kind::Postgres(server) => server.psql(&statement).map_err(|error| said(&error)),
            Kind::MariaDb(server) => server.sql(&statement).map_err(|error| said(&error)),
        }
    }

    /// A client of the server's own that reads statements from its standard input.
    pub fn client(&self) -> Command {
        match &self.kind {
            Kind::Postgres(server) => server.client("postgres"),
            Kind::MariaDb(server) => {
                let mut client = server.client();
                client.args([&format!("--user={}", server.superuser()), "test"]);
                client
            }
        }
    }

    /// Ends what sessions of such clients still do.
    pub fn end_clients(&self) -> Result<(), String> {
        if let Kind::Postgres(server) = &self.kind {
            let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE application_name = 'psql' AND pid <> pg_backend_pid()";
            return server.psql(all).map(drop).map_err(|error| said(&error));
        }
        let list = "SELECT id FROM information_schema.processlist WHERE user <> 'system user' AND user <> 'event_scheduler' \
                    AND id <> connection_id()";
        for session in self.run(list)?.lines() {
            // It may have ended by itself.
            let _ = self.run(&format!("KILL {session}"));
        }
        Ok(())
    }

    /// The URL; with a port, over TCP by this one.
    pub fn target(&self, port: Option<u16>) -> String {
        match &self.kind {
            Kind::Postgres(server) => {
                let port = port.unwrap_or(server.port());
                format!("postgres://{}@127.0.0.1:{port}/postgres?sslmode=disable", server.superuser())
            }
            Kind::MariaDb(server) => match port {
                None => server.socket_url("test"),
                Some(port) => {
                    format!("{}://{}@127.0.0.1:{port}/test", server.product().name(), server.superuser())
                }
            },
        }
    }

    /// The superuser's password over TCP.
    pub fn password(&self) -> &str {
        match &self.kind {
            Kind::Postgres(server) => server.password(),
            Kind::MariaDb(server) => server.password(),
        }
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        match &self.kind {
            Kind::Postgres(server) => server.port(),
            Kind::MariaDb(server) => server.port(),
        }
    }

    /// Its first process.
    pub fn pid(&self) -> Result<u32, String> {
        let pid = match &self.kind {
            Kind::Postgres(server) => server.pid(),
            Kind::MariaDb(server) => server.pid(),
        };
        pid.ok_or_else(|| "the server's process is not known".to_owned())
    }

    /// Gives settings values. What comes back gives them their earlier ones by [`Server::run`].
    pub fn set(&self, settings: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let mut back = Vec::new();
        for (name, value) in settings {
            match self.product {
                Product::PostgreSql => {
                    self.run(&format!("ALTER SYSTEM SET {name} = '{value}'"))?;
                    back.push(format!("ALTER SYSTEM RESET {name}"));
                }
                Product::MariaDb | Product::MySql => {
                    let before = self.run(&format!("SELECT @@GLOBAL.{name}"))?;
                    self.run(&format!("SET GLOBAL {name} = {value}"))?;
                    back.push(format!("SET GLOBAL {name} = {before}"));
                }
            }
        }
        self.restart_for(settings)?;
        Ok(back)
    }

    /// Takes settings back.
    pub fn reset(&self, back: &[String]) -> Result<(), String> {
        for statement in back {
            self.run(statement)?;
        }
        if back.is_empty() { Ok(()) } else { self.restart_for(&BTreeMap::from([(String::new(), String::new())])) }
    }

    /// Some of PostgreSQL's settings count from a restart on only. The others' are those of sessions that begin later.
    fn restart_for(&self, settings: &BTreeMap<String, String>) -> Result<(), String> {
        match &self.kind {
            Kind::Postgres(server) if !settings.is_empty() => server.restart().map_err(|error| said(&error)),
            _ => Ok(()),
        }
    }
}
