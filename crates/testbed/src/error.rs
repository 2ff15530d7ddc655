//! What can go wrong while a test server is made.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Why a test server could not be had.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// No PostgreSQL on this machine.
    #[error(
        "PostgreSQL's programs initdb, postgres, pg_ctl and psql are neither in PATH nor under /usr/lib/postgresql; \
         install the packages postgresql and postgresql-client"
    )]
    MissingBinaries,
    /// No MariaDB on this machine.
    #[error(
        "MariaDB's programs mariadbd, mariadb-install-db and mariadb are neither in PATH nor in /usr/sbin; \
         install the package mariadb-server"
    )]
    MissingMariaDb,
    /// A server of that name is none that can be chosen.
    #[error("'{0}' names no server; names are like postgresql-16, mariadb-11.4 and mysql-9")]
    UnknownServer(String),
    /// A server that was chosen is not there.
    #[error("there is no server in {}; cargo xtask servers fetches it", .0.display())]
    NotFetched(PathBuf),
    /// A server is of another version than it should be.
    #[error("version {wanted} was wanted, and what came is {stated}")]
    OtherVersion {
        /// The version that was asked for.
        wanted: String,
        /// The version that the program states.
        stated: String,
    },
    /// Nothing says where what was fetched is kept.
    #[error("neither {0} nor XDG_CACHE_HOME nor HOME says where to keep what is fetched")]
    NoCache(&'static str),
    /// The grammar of T-SQL is not there, or in another version.
    #[error("the grammar of T-SQL is not in {}; run `cargo xtask test` once, or `cargo xtask grammar`, which puts it there", .0.display())]
    MissingGrammar(PathBuf),
    /// The grammar's process said what it should not.
    #[error("the grammar of T-SQL has no answer: {0}")]
    Grammar(String),
    /// A server doesn't run as root, and the user of its package is missing.
    #[error(
        "root needs the user '{0}' to run this server, and /etc/passwd does not have it: install the server's package"
    )]
    NoAccount(&'static str),
    /// A file or process could not be handled.
    #[error("could not {doing}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program of a server's failed.
    #[error("{program} failed: {message}")]
    Command {
        /// Name of the program.
        program: String,
        /// What it wrote, and the end of the server's log.
        message: String,
    },
}

impl TestbedError {
    /// Wraps a system error; made for `map_err`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

/// Runs a command to its end; what it printed, trimmed, or what it complained about.
pub(crate) fn run(command: &mut Command) -> Result<String, TestbedError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } = command.output().map_err(TestbedError::io(format!("start {program}")))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).trim().to_owned());
    }
    let message = format!("{}{}", String::from_utf8_lossy(&stderr), String::from_utf8_lossy(&stdout));
    Err(TestbedError::Command { program, message: message.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_with_its_complaint() {
        let error = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 1"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: no such thing");
        let error = run(&mut Command::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.to_string(), "could not start /nowhere/at/all");
    }
}
