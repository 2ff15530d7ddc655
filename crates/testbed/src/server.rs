//! A running test server, of whatever product.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::account::{Account, command_as};
use crate::error::run;
use crate::guard::Guard;
use crate::{Builder, TestbedError};

/// The superuser of every test server.
pub(crate) const SUPERUSER: &str = "plimsoll";

/// Somebody else may take the port between its choice and the server's start; then another one is tried.
const PORT_ATTEMPTS: u32 = 3;

/// Lines of the server's log that an error quotes.
const LOG_LINES_QUOTED: usize = 12;

/// A private server of the product with the programs `P`. Dropped, it is stopped at once and its directory removed.
///
/// Over the socket its superuser is trusted; over TCP (127.0.0.1 only) a password is asked for.
#[derive(Debug)]
pub struct Server<P> {
    // Fields are dropped in this order: the guard needs the directory.
    #[expect(dead_code, reason = "it is held for what its drop does")]
    guard: Guard,
    directory: TempDir,
    pub(crate) programs: P,
    pub(crate) account: Option<Account>,
    environment: Vec<(String, String)>,
    pub(crate) password: String,
    pub(crate) port: u16,
}

impl<P> Server<P> {
    /// A server to be described further.
    pub fn builder() -> Builder<P> {
        Builder::default()
    }

    pub(crate) fn new(
        guard: Guard,
        directory: TempDir,
        programs: P,
        account: Option<Account>,
        environment: Vec<(String, String)>,
    ) -> Self {
        // Sixteen hexadecimal digits that differ from server to server: enough for one that only this machine can reach.
        let password = format!("{:016x}", RandomState::new().build_hasher().finish());
        Self { guard, directory, programs, account, environment, password, port: 0 }
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

    /// The folder with all that is the server's, the socket too.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// A command that starts or stops the server, as its user and with its environment.
    pub(crate) fn control_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command_as(self.account, program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the server for the first time, at a port that nobody uses at the moment.
    pub(crate) fn start_at_free_port(
        &mut self,
        configure: impl Fn(&Self) -> Result<(), TestbedError>,
        start: impl Fn(&Self) -> Result<(), TestbedError>,
    ) -> Result<(), TestbedError> {
        let mut attempt = 1;
        loop {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
            self.port = free.map_err(TestbedError::io("find a free port"))?.port();
            configure(self)?;
            match start(self) {
                Err(_) if attempt < PORT_ATTEMPTS && self.log().contains("Address already in use") => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    /// Runs a command in the server's directory. Its error names this program and quotes the end of the server's log.
    pub(crate) fn work(&self, command: &mut Command, program: String) -> Result<(), TestbedError> {
        run(command.current_dir(self.directory())).map(drop).map_err(|error| match error {
            TestbedError::Command { message, .. } => {
                let log = self.log();
                let lines: Vec<&str> = log.lines().collect();
                let end = lines[lines.len().saturating_sub(LOG_LINES_QUOTED)..].join("\n");
                TestbedError::Command { program, message: format!("{message}\n{end}") }
            }
            other => other,
        })
    }

    /// A line for a POSIX shell that runs these words as the user that the server runs as.
    pub(crate) fn shell_line(&self, words: impl IntoIterator<Item = String>) -> String {
        let mut all = Vec::new();
        if let Some(Account { uid, gid }) = self.account {
            all.extend(["setpriv".to_owned(), format!("--reuid={uid}"), format!("--regid={gid}")]);
            all.push("--clear-groups".to_owned());
        }
        all.extend(words);
        let quoted: Vec<String> = all.iter().map(|word| quote(word)).collect();
        format!("cd / && {}", quoted.join(" "))
    }
}

/// A word for a POSIX shell: what is between single quotes means itself.
fn quote(word: &str) -> String {
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
