//! A private MariaDB or MySQL server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::account::{Account, give_to};
use crate::error::run;
use crate::programs::Programs;
use crate::server::SUPERUSER;
use crate::{Builder, Product, Server, TestbedError};

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

/// A private MariaDB or MySQL.
pub type MariaDb = Server<Programs>;

impl Builder<Programs> {
    /// Memory for the server's own cache, in MB (2^20 bytes). Without it the server's default applies.
    #[must_use]
    pub fn buffer_pool_mb(self, megabytes: u32) -> Self {
        self.setting("innodb_buffer_pool_size", &format!("{megabytes}M"))
    }

    /// The folder of the redo log, instead of the server's. Its user may write there. It is the caller's to remove.
    #[must_use]
    pub fn redo_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wal_parent = Some(folder.into());
        self
    }

    /// Makes the server and returns when it answers. There is an empty database `test`.
    pub fn start(self) -> Result<MariaDb, TestbedError> {
        let programs = self.installation.as_ref().map_or_else(Programs::find, Programs::of)?;
        let (account, program) = (Account::for_server("mysql")?, programs.server.clone());
        let mut server = self.place(account, programs, STOP, &program)?;
        write(&server.path("control"), CONTROL)?;
        let mut install = server.programs.install(account, server.directory());
        if let Some(folder) = &self.wal_parent {
            give_to(account, folder).map_err(TestbedError::io("give the log's folder away"))?;
            install.arg(format!("--innodb-log-group-home-dir={}", folder.display()));
        }
        run(install.current_dir(server.directory()))?;
        let configure = |server: &MariaDb| write(&server.path("my.cnf"), &self.options(server));
        server.start_at_free_port(configure, |server| server.control("start"))?;
        server.make_users()?;
        Ok(server)
    }

    /// The server's option file. Commits that don't have to reach the disk survive a crash of the server, not of the machine.
    fn options(&self, server: &MariaDb) -> String {
        let [data, socket, pid] = ["data", "socket", "pid"].map(|name| server.path(name).display().to_string());
        let (folder, port) = (server.directory().display().to_string(), server.port.to_string());
        let mut ours = vec![
            ("datadir", data.as_str()),
            ("socket", &socket),
            ("pid-file", &pid),
            ("tmpdir", &folder),
            ("bind-address", "127.0.0.1"),
            ("port", &port),
            // With it an account of localhost is one of the socket only.
            ("skip-name-resolve", "ON"),
            ("innodb_flush_log_at_trx_commit", if self.durable { "1" } else { "2" }),
            // A restart is for a cold start.
            ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
            ("innodb_buffer_pool_load_at_startup", "OFF"),
            ("max_connections", "400"),
        ];
        ours.extend(server.programs.product_settings(self.durable));
        let redo = self.wal_parent.as_ref().map(|folder| folder.display().to_string());
        ours.extend(redo.as_deref().map(|folder| ("innodb_log_group_home_dir", folder)));
        format!("[mysqld]\n{}", self.lines(&ours, |name, value| format!("{name} = {value}\n")))
    }
}

fn write(path: &Path, text: &str) -> Result<(), TestbedError> {
    fs::write(path, text).map_err(TestbedError::io(format!("write {}", path.display())))
}

impl Server<Programs> {
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

    /// An error if MariaDB's programs are not on this machine, or their user is not.
    pub fn find_programs() -> Result<(), TestbedError> {
        Programs::find()?;
        Account::has_server_user("mysql")
    }

    /// URL of a database for the superuser over the socket, without a password.
    pub fn socket_url(&self, database: &str) -> String {
        format!("{}://{SUPERUSER}@/{database}?socket={}", self.product().name(), self.socket().display())
    }

    /// URL of a database over TCP.
    pub fn tcp_url(&self, user: &str, password: &str, database: &str) -> String {
        format!("{}://{user}:{password}@127.0.0.1:{}/{database}", self.product().name(), self.port)
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// Process id of the server; `None` if it isn't running.
    pub fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.path("pid")).ok()?.trim().parse().ok()
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
        // Whatever the shell's locale is, texts are what they are in Rust.
        client
            .args(["--no-defaults", "--default-character-set=utf8mb4"])
            .arg(format!("--socket={}", self.socket().display()));
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
        let words = self.control_words("restart").map(|word| word.to_string_lossy().into_owned());
        self.shell_line(["sh".to_owned()].into_iter().chain(words))
    }

    fn control_words(&self, what: &str) -> [OsString; 5] {
        let Programs { server, client, .. } = &self.programs;
        [&self.path("control"), Path::new(what), self.directory(), server, client].map(Into::into)
    }

    fn control(&self, what: &str) -> Result<(), TestbedError> {
        let mut command = self.control_command("sh");
        command.args(self.control_words(what)).stdin(Stdio::null());
        self.work(&mut command, format!("{} ({what})", self.programs.server.display()))
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
