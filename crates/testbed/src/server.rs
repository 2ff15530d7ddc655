//! A running test server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::account::{Account, command_as};
use crate::error::run;
use crate::guard::Guard;
use crate::{Binaries, Builder, TestbedError};

/// The superuser of every test server.
pub(crate) const SUPERUSER: &str = "plimsoll";

/// A server that is down is started by it just so, once it has been up.
const RESTART: [&str; 5] = ["restart", "--silent", "--wait", "--timeout=60", "--mode=fast"];
const FIRST_START: [&str; 4] = ["start", "--silent", "--wait", "--timeout=60"];

/// Lines of the server's log that an error quotes.
const LOG_LINES_QUOTED: usize = 12;

/// A private PostgreSQL. Dropped, it is stopped at once and its directory removed.
///
/// Over the socket every role is trusted; over TCP (127.0.0.1 only) a password is asked for (`scram-sha-256`).
#[derive(Debug)]
pub struct Postgres {
    // Fields are dropped in this order: the guard needs the directory.
    #[expect(dead_code, reason = "it is held for what its drop does")]
    pub(crate) guard: Guard,
    pub(crate) directory: TempDir,
    pub(crate) binaries: Binaries,
    pub(crate) account: Option<Account>,
    pub(crate) password: String,
    pub(crate) port: u16,
}

impl Postgres {
    /// A server to be described further.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// URL of a database for the superuser over the socket, without a password.
    pub fn socket_url(&self, database: &str) -> String {
        let host = self.directory.path().display();
        format!("postgres://{SUPERUSER}@/{database}?host={host}&port={}", self.port)
    }

    /// URL of a database over TCP.
    pub fn tcp_url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Name of the superuser.
    pub fn superuser(&self) -> &'static str {
        SUPERUSER
    }

    /// The superuser's password over TCP.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port on 127.0.0.1, which is also part of the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder that holds the socket.
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// The cluster's folder.
    pub fn data_directory(&self) -> PathBuf {
        self.directory.path().join("data")
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
        let mut psql = Command::new(&self.binaries.psql);
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]);
        run(psql.arg("--dbname").arg(self.socket_url(database)).arg("--command").arg(sql))
    }

    /// Stops the server if it runs, ending its sessions, and starts it again; returns when it answers.
    pub fn restart(&self) -> Result<(), TestbedError> {
        self.pg_ctl(&RESTART)
    }

    pub(crate) fn first_start(&self) -> Result<(), TestbedError> {
        self.pg_ctl(&FIRST_START)
    }

    /// Kills the server like a crash would: no checkpoint, sessions lost. [`Postgres::restart`] brings it back.
    pub fn stop_immediate(&self) -> Result<(), TestbedError> {
        self.pg_ctl(&["stop", "--silent", "--wait", "--mode=immediate"])
    }

    /// A line for a POSIX shell, to be run by whoever made the server, that does what [`Postgres::restart`] does.
    pub fn restart_command(&self) -> String {
        let mut words = Vec::new();
        if let Some(Account { uid, gid }) = self.account {
            words.extend(["setpriv".to_owned(), format!("--reuid={uid}"), format!("--regid={gid}")]);
            words.push("--clear-groups".to_owned());
        }
        words.push(self.binaries.pg_ctl.to_string_lossy().into_owned());
        words.extend(RESTART.map(str::to_owned));
        words.push(format!("--pgdata={}", self.data_directory().display()));
        words.push(format!("--log={}", self.log_file().display()));
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        format!("cd / && {}", quoted.join(" "))
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Result<(), TestbedError> {
        let mut command = command_as(self.account, &self.binaries.pg_ctl);
        command.args(arguments).arg("--pgdata").arg(self.data_directory()).arg("--log").arg(self.log_file());
        run(command.current_dir(self.directory.path())).map(drop).map_err(|error| self.with_log(error))
    }

    fn log_file(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn with_log(&self, error: TestbedError) -> TestbedError {
        match error {
            TestbedError::Command { program, message } => {
                TestbedError::Command { program, message: format!("{message}\n{}", end_of(&self.log())) }
            }
            other => other,
        }
    }
}

/// The last lines of a log.
pub(crate) fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES_QUOTED)..].join("\n")
}

/// A word for a POSIX shell: what is between single quotes means itself.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.=".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_shell_as_they_are() {
        for word in ["/usr/bin/pg_ctl", "it's here", "$HOME `x` \"y\"", "a\\b"] {
            let said = run(Command::new("sh").arg("-c").arg(format!("printf %s {}", quote(word)))).unwrap();
            assert_eq!(said, word);
        }
    }
}
