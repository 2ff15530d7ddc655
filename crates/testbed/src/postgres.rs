//! A private PostgreSQL server.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::{Account, command_as, give_to};
use crate::error::run;
use crate::server::SUPERUSER;
use crate::{Binaries, Builder, Server, TestbedError};

/// What the guard does: `$1` is the server's directory, `$2` is `pg_ctl`.
const STOP: &str =
    r#"test -f "$1/data/postmaster.pid" && "$2" stop --silent --wait --mode=immediate --pgdata="$1/data""#;

/// A server that is down is started by it just so, once it has been up.
const RESTART: [&str; 5] = ["restart", "--silent", "--wait", "--timeout=60", "--mode=fast"];
const FIRST_START: [&str; 4] = ["start", "--silent", "--wait", "--timeout=60"];

/// A private PostgreSQL. Over TCP every role is asked for a password (`scram-sha-256`).
pub type Postgres = Server<Binaries>;

impl Builder<Binaries> {
    /// Memory for the server's own cache, in MB (2^20 bytes). Without it the server's default applies.
    #[must_use]
    pub fn shared_buffers_mb(self, megabytes: u32) -> Self {
        self.setting("shared_buffers", &format!("{megabytes}MB"))
    }

    /// The folder in which the log's directory is made, instead of the server's: a full disk then stops statements and not
    /// the server. It is the caller's to remove.
    #[must_use]
    pub fn wal_dir_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wal_parent = Some(folder.into());
        self
    }

    /// Lets everybody in over TCP without a password, so that log-ins cost a client nothing. Off by default.
    #[must_use]
    pub fn trusting(mut self, trusting: bool) -> Self {
        self.trusting = trusting;
        self
    }

    /// Makes the server and returns when it answers.
    pub fn start(self) -> Result<Postgres, TestbedError> {
        let binaries = self.installation.as_ref().map_or_else(Binaries::find, Binaries::of)?;
        let (account, pg_ctl) = (Account::for_server("postgres")?, binaries.pg_ctl.clone());
        let mut server = self.place(account, binaries, STOP, &pg_ctl)?;
        self.initialise(&server)?;
        server.start_at_free_port(|server| self.configure(server), |server| server.pg_ctl(&FIRST_START))?;
        Ok(server)
    }

    /// Makes the cluster. Its files belong to the user that the server runs as; over TCP it asks for a password.
    fn initialise(&self, server: &Postgres) -> Result<(), TestbedError> {
        let password_file = server.path("password");
        fs::write(&password_file, &server.password).map_err(TestbedError::io("write the password file"))?;
        let mut initdb = command_as(server.account, &server.programs.initdb);
        initdb.args(["--username", SUPERUSER, "--auth-local=trust"]);
        initdb.arg(if self.trusting { "--auth-host=trust" } else { "--auth-host=scram-sha-256" });
        // The same order of texts and the same messages on every machine.
        initdb.args(["--no-locale", "--encoding=UTF8"]);
        if !self.durable {
            initdb.arg("--no-sync");
        }
        if let Some(parent) = &self.wal_parent {
            give_to(server.account, parent).map_err(TestbedError::io("give the log's folder away"))?;
            initdb.arg("--waldir").arg(parent.join("wal"));
        }
        initdb.arg("--pwfile").arg(&password_file).arg("--pgdata").arg(server.data_directory());
        run(initdb.current_dir(server.directory()))?;
        fs::remove_file(&password_file).map_err(TestbedError::io("remove the password file"))
    }

    /// Adds our settings to the cluster's file.
    fn configure(&self, server: &Postgres) -> Result<(), TestbedError> {
        let (port, folder) = (server.port.to_string(), server.directory().display().to_string());
        let ours = [
            ("listen_addresses", "127.0.0.1"),
            ("port", &port),
            ("unix_socket_directories", &folder),
            ("fsync", if self.durable { "on" } else { "off" }),
            // A checkpoint in the middle of a load would make tests of rates depend on the machine.
            ("max_wal_size", "4GB"),
        ];
        let text = self.lines(&ours, |name, value| format!("{name} = '{}'\n", value.replace('\'', "''")));
        let file = fs::OpenOptions::new().append(true).open(server.data_directory().join("postgresql.conf"));
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(TestbedError::io("write postgresql.conf"))
    }
}

impl Server<Binaries> {
    /// URL of a database for the superuser over the socket, without a password.
    pub fn socket_url(&self, database: &str) -> String {
        let host = self.directory().display();
        format!("postgres://{SUPERUSER}@/{database}?host={host}&port={}", self.port)
    }

    /// URL of a database over TCP.
    pub fn tcp_url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The cluster's folder.
    pub fn data_directory(&self) -> PathBuf {
        self.path("data")
    }

    /// Process id of the postmaster; `None` if the server isn't running.
    pub fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(self.data_directory().join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// Runs SQL in the database `postgres`; the result unaligned, without headings.
    pub fn psql(&self, sql: &str) -> Result<String, TestbedError> {
        self.psql_in("postgres", sql)
    }

    /// Runs SQL in a database; the result unaligned, without headings.
    pub fn psql_in(&self, database: &str, sql: &str) -> Result<String, TestbedError> {
        run(self.client(database).arg("--command").arg(sql))
    }

    /// The client program, connected to a database by the socket; whoever runs it says what is to be done.
    pub fn client(&self, database: &str) -> Command {
        let mut psql = Command::new(&self.programs.psql);
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]);
        psql.arg("--dbname").arg(self.socket_url(database));
        psql
    }

    /// Stops the server if it runs, ending its sessions, and starts it again; returns when it answers.
    pub fn restart(&self) -> Result<(), TestbedError> {
        self.pg_ctl(&RESTART)
    }

    /// Kills the server like a crash would: no checkpoint, sessions lost. [`Postgres::restart`] brings it back.
    pub fn stop_immediate(&self) -> Result<(), TestbedError> {
        self.pg_ctl(&["stop", "--silent", "--wait", "--mode=immediate"])
    }

    /// A line for a POSIX shell, to be run by whoever made the server, that does what [`Postgres::restart`] does.
    pub fn restart_command(&self) -> String {
        let program = self.programs.pg_ctl.to_string_lossy().into_owned();
        self.shell_line([program].into_iter().chain(RESTART.map(str::to_owned)).chain(self.places()))
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Result<(), TestbedError> {
        let program: &Path = &self.programs.pg_ctl;
        let mut command = self.control_command(program);
        self.work(command.args(arguments).args(self.places()), program.display().to_string())
    }

    /// What `pg_ctl` has to be told about places.
    fn places(&self) -> [String; 2] {
        [("pgdata", "data"), ("log", "log")].map(|(name, place)| format!("--{name}={}", self.path(place).display()))
    }
}
