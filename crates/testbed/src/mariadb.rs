//! A private MariaDB or MySQL server.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::account::{Account, command_as};
use crate::builder::{PORT_ATTEMPTS, free_port, make_directory, random_word};
use crate::error::run;
use crate::guard::Guard;
use crate::programs::Programs;
use crate::server::{SUPERUSER, end_of, quote};
use crate::{Installation, Product, TestbedError};

/// Starts, stops and kills the server of a directory: `$1` is what is to be done, `$2` the directory, `$3` the server's
/// program, `$4` the client program that asks whether it answers. A killed server may stay a zombie, as nobody may wait for it; MySQL
/// would take it for a living one that holds the lock of its socket.
const CONTROL: &str = r#"pid=$(cat "$2/pid" 2>/dev/null)
lives() { test -n "$pid" && test -d "/proc/$pid" && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; }
stop() {
    lives && kill "-$1" "$pid"
    while lives; do sleep 0.02; done
    rm -f "$2/pid" "$2/socket.lock"
}
start() {
    setsid "$2" --defaults-file="$1/my.cnf" >>"$1/log" 2>&1 </dev/null &
    started=$!
    for attempt in $(seq 1200); do
        "$3" --no-defaults --connect-timeout=5 --socket="$1/socket" --user=root --execute='DO 0' >/dev/null 2>&1 && exit 0
        kill -0 "$started" 2>/dev/null || exit 1
        sleep 0.05
    done
    exit 1
}
case "$1" in
    start) start "$2" "$3" "$4" ;;
    restart) stop TERM "$2"; start "$2" "$3" "$4" ;;
    kill) stop KILL "$2" ;;
esac"#;

/// What the guard does: `$1` is the server's directory.
const STOP: &str = r#"sh "$1/control" kill "$1""#;

/// Describes a MariaDB or MySQL server; [`MariaDbBuilder::start`] makes it.
#[derive(Debug, Clone, Default)]
pub struct MariaDbBuilder {
    durable: bool,
    parent: Option<PathBuf>,
    settings: Vec<(String, String)>,
    installation: Option<Installation>,
}

impl MariaDbBuilder {
    /// The server of this installation, whatever the environment chooses.
    #[must_use]
    pub fn installed(mut self, installation: Installation) -> Self {
        self.installation = Some(installation);
        self
    }

    /// Memory for the server's own cache, in MB (2^20 bytes). Without it the server's default applies.
    #[must_use]
    pub fn buffer_pool_mb(self, megabytes: u32) -> Self {
        self.setting("innodb_buffer_pool_size", &format!("{megabytes}M"))
    }

    /// Any setting of the server's option file, as text; the last one of a name counts, also against the defaults made here.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder in which the server's directory is made, instead of the system's temporary folder. An empty server needs
    /// about 150 MB. The path must be short, as a socket's name has at most 107 bytes.
    #[must_use]
    pub fn data_dir_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parent = Some(folder.into());
        self
    }

    /// Whether commits have to reach the disk. Off by default: then they survive a crash of the server, not of the machine.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Makes the server and returns when it answers. There is an empty database `test`.
    pub fn start(self) -> Result<MariaDb, TestbedError> {
        let programs = self.installation.as_ref().map_or_else(Programs::find, Programs::of)?;
        let account = Account::for_server("mysql")?;
        let directory = make_directory(self.parent.as_deref(), account)?;
        write(&directory.path().join("control"), CONTROL)?;
        let guard = Guard::new(account, STOP, &programs.server, directory.path())?;
        let mut install = programs.install(account, directory.path());
        run(install.current_dir(directory.path()))?;
        let mut server = MariaDb { guard, directory, programs, account, password: random_word(), port: 0 };
        let mut attempt = 1;
        loop {
            server.port = free_port()?;
            write(&server.directory.path().join("my.cnf"), &self.options(&server))?;
            match server.control("start") {
                Ok(()) => break,
                Err(_) if attempt < PORT_ATTEMPTS && server.log().contains("Address already in use") => attempt += 1,
                Err(error) => return Err(error),
            }
        }
        server.make_users()?;
        Ok(server)
    }

    /// The server's option file.
    fn options(&self, server: &MariaDb) -> String {
        let directory = server.directory.path();
        let path = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let flush = if self.durable { "1" } else { "2" };
        let ours = [
            ("datadir", path("data")),
            ("socket", path("socket")),
            ("pid-file", path("pid")),
            ("tmpdir", directory.to_string_lossy().into_owned()),
            ("bind-address", "127.0.0.1".to_owned()),
            ("port", server.port.to_string()),
            // With it an account of localhost is one of the socket only.
            ("skip-name-resolve", "ON".to_owned()),
            ("innodb_flush_log_at_trx_commit", flush.to_owned()),
            // A restart is for a cold start.
            ("innodb_buffer_pool_dump_at_shutdown", "OFF".to_owned()),
            ("innodb_buffer_pool_load_at_startup", "OFF".to_owned()),
            ("max_connections", "400".to_owned()),
        ];
        let theirs = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let products = server.programs.product_settings(self.durable);
        let all = ours.iter().map(|(name, value)| (*name, value.as_str())).chain(products).chain(theirs);
        all.fold("[mysqld]\n".to_owned(), |mut text, (name, value)| {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{name} = {value}");
            text
        })
    }
}

fn write(path: &Path, text: &str) -> Result<(), TestbedError> {
    fs::write(path, text).map_err(TestbedError::io(format!("write {}", path.display())))
}

/// A private MariaDB or MySQL. Dropped, it is stopped at once and its directory removed.
///
/// Over the socket the superuser is trusted; over TCP (127.0.0.1 only) a password is asked for.
#[derive(Debug)]
pub struct MariaDb {
    // Fields are dropped in this order: the guard needs the directory.
    #[expect(dead_code, reason = "it is held for what its drop does")]
    guard: Guard,
    directory: TempDir,
    programs: Programs,
    account: Option<Account>,
    password: String,
    port: u16,
}

impl MariaDb {
    /// A server to be described further.
    pub fn builder() -> MariaDbBuilder {
        MariaDbBuilder::default()
    }

    /// What the server is.
    pub fn product(&self) -> Product {
        self.programs.product
    }

    /// Whether it offers TLS as it is: later versions make a certificate of their own.
    pub fn has_tls(&self) -> Result<bool, TestbedError> {
        let sql = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'have_ssl' AND Value = 'YES' \
                   OR Variable_name = 'ssl_cert' AND Value <> ''";
        Ok(!self.sql(sql)?.is_empty())
    }

    /// An error if MariaDB's programs are not on this machine.
    pub fn find_programs() -> Result<(), TestbedError> {
        Programs::find().map(drop)
    }

    /// URL of a database for the superuser over the socket, without a password.
    pub fn socket_url(&self, database: &str) -> String {
        format!("{}://{SUPERUSER}@/{database}?socket={}", self.product().name(), self.socket().display())
    }

    /// URL of a database over TCP.
    pub fn tcp_url(&self, user: &str, password: &str, database: &str) -> String {
        format!("{}://{user}:{password}@127.0.0.1:{}/{database}", self.product().name(), self.port)
    }

    /// Name of the superuser.
    pub fn superuser(&self) -> &'static str {
        SUPERUSER
    }

    /// The superuser's password over TCP.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// The folder with all that is the server's.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Process id of the server; `None` if it isn't running.
    pub fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.directory.path().join("pid")).ok()?.trim().parse().ok()
    }

    /// Runs SQL in the database `test`; columns are separated by tabs, without headings.
    pub fn sql(&self, sql: &str) -> Result<String, TestbedError> {
        self.sql_as(SUPERUSER, "test", sql)
    }

    fn sql_as(&self, user: &str, database: &str, sql: &str) -> Result<String, TestbedError> {
        let mut client = self.client();
        run(client.arg(format!("--user={user}")).args(["--batch", "--skip-column-names", "--execute", sql, database]))
    }

    /// The client program, connected by the socket; whoever runs it names user, database and what is to be done.
    pub fn client(&self) -> Command {
        let mut client = Command::new(&self.programs.client);
        client.arg("--no-defaults").arg(format!("--socket={}", self.socket().display()));
        client
    }

    /// Stops the server if it runs, and starts it again; returns when it answers.
    pub fn restart(&self) -> Result<(), TestbedError> {
        self.control("restart")
    }

    /// Kills the server like a crash would. [`MariaDb::restart`] brings it back.
    pub fn kill(&self) -> Result<(), TestbedError> {
        self.control("kill")
    }

    /// A line for a POSIX shell, to be run by whoever made the server, that does what [`MariaDb::restart`] does.
    pub fn restart_command(&self) -> String {
        let mut words = Vec::new();
        if let Some(Account { uid, gid }) = self.account {
            words.extend(["setpriv".to_owned(), format!("--reuid={uid}"), format!("--regid={gid}")]);
            words.push("--clear-groups".to_owned());
        }
        words.push("sh".to_owned());
        words.extend(self.control_words("restart").iter().map(|word| word.to_string_lossy().into_owned()));
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        format!("cd / && {}", quoted.join(" "))
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn control_words(&self, what: &str) -> [OsString; 5] {
        let directory = self.directory.path();
        let script = directory.join("control");
        [&script, Path::new(what), directory, &self.programs.server, &self.programs.client].map(Into::into)
    }

    fn control(&self, what: &str) -> Result<(), TestbedError> {
        let mut command = command_as(self.account, "sh");
        command.args(self.control_words(what)).current_dir(self.directory.path()).stdin(Stdio::null());
        run(&mut command).map(drop).map_err(|error| match error {
            TestbedError::Command { message, .. } => {
                let message = format!("{message}\n{}", end_of(&self.log()));
                TestbedError::Command { program: format!("{} ({what})", self.programs.server.display()), message }
            }
            other => other,
        })
    }

    /// The superuser: trusted over the socket, with a password over TCP. Nobody else gets in.
    fn make_users(&self) -> Result<(), TestbedError> {
        // Of MySQL's accounts none but root can log in.
        let others = match self.product() {
            Product::MySql => "",
            _ => "DELETE FROM mysql.global_priv WHERE Host <> 'localhost' OR User = ''; FLUSH PRIVILEGES;",
        };
        let sql = format!(
            "{others} CREATE USER {SUPERUSER}@localhost, {SUPERUSER}@'127.0.0.1' IDENTIFIED BY '{}'; \
             GRANT ALL ON *.* TO {SUPERUSER}@localhost WITH GRANT OPTION; \
             GRANT ALL ON *.* TO {SUPERUSER}@'127.0.0.1' WITH GRANT OPTION; CREATE DATABASE test",
            self.password
        );
        self.sql_as("root", "mysql", &sql).map(drop)
    }
}
