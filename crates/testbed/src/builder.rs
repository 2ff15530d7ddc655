//! How a test server is to be: settings, place, durability; and the steps that make it so.

use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::account::{Account, command_as};
use crate::error::run;
use crate::guard::Guard;
use crate::server::SUPERUSER;
use crate::{Binaries, Installation, Postgres, TestbedError};

/// Somebody else may take the port between its choice and the server's start; then another one is tried.
pub(crate) const PORT_ATTEMPTS: u32 = 3;

/// What the guard does: `$1` is the server's directory, `$2` is `pg_ctl`.
const STOP: &str =
    r#"test -f "$1/data/postmaster.pid" && "$2" stop --silent --wait --mode=immediate --pgdata="$1/data""#;

/// Describes a server; [`Builder::start`] makes it.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    durable: bool,
    trusting: bool,
    parent: Option<PathBuf>,
    wal_parent: Option<PathBuf>,
    settings: Vec<(String, String)>,
    installation: Option<Installation>,
}

impl Builder {
    /// The server of this installation, whatever the environment chooses.
    #[must_use]
    pub fn installed(mut self, installation: Installation) -> Self {
        self.installation = Some(installation);
        self
    }

    /// Memory for the server's own cache, in MB (2^20 bytes). Without it the server's default applies.
    #[must_use]
    pub fn shared_buffers_mb(self, megabytes: u32) -> Self {
        self.setting("shared_buffers", &format!("{megabytes}MB"))
    }

    /// Any setting of `postgresql.conf`, as text; the last one of a name counts, also against the defaults made here.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder in which the server's directory is made, instead of the system's temporary folder. It may be a small
    /// tmpfs: an empty server needs about 60 MB. The path must be short, as a socket's name has at most 107 bytes.
    #[must_use]
    pub fn data_dir_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parent = Some(folder.into());
        self
    }

    /// The folder in which the log's directory is made, instead of the server's: a full disk then stops statements and not
    /// the server. It is the caller's to remove.
    #[must_use]
    pub fn wal_dir_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wal_parent = Some(folder.into());
        self
    }

    /// Whether commits have to reach the disk (`fsync`). Off by default: tests are faster, and no test survives a power cut.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
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
        let account = Account::for_server("postgres")?;
        let directory = make_directory(self.parent.as_deref(), account)?;
        let guard = Guard::new(account, STOP, &binaries.pg_ctl, directory.path())?;
        let password = random_word();
        self.initialise(&binaries, account, directory.path(), &password)?;
        let mut server = Postgres { guard, directory, binaries, account, password, port: 0 };
        let mut attempt = 1;
        loop {
            server.port = free_port()?;
            self.configure(&server)?;
            match server.first_start() {
                Ok(()) => return Ok(server),
                Err(_) if attempt < PORT_ATTEMPTS && server.log().contains("Address already in use") => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the cluster. Its files belong to the user that the server runs as; over TCP it asks for a password.
    fn initialise(
        &self,
        binaries: &Binaries,
        account: Option<Account>,
        directory: &Path,
        password: &str,
    ) -> Result<(), TestbedError> {
        let password_file = directory.join("password");
        fs::write(&password_file, password).map_err(TestbedError::io("write the password file"))?;
        let mut initdb = command_as(account, &binaries.initdb);
        initdb.args(["--username", SUPERUSER, "--auth-local=trust"]);
        initdb.arg(if self.trusting { "--auth-host=trust" } else { "--auth-host=scram-sha-256" });
        // The same order of texts and the same messages on every machine.
        initdb.args(["--no-locale", "--encoding=UTF8"]);
        if !self.durable {
            initdb.arg("--no-sync");
        }
        if let Some(parent) = &self.wal_parent {
            if let Some(Account { uid, gid }) = account {
                chown(parent, Some(uid), Some(gid)).map_err(TestbedError::io("give the log's folder away"))?;
            }
            initdb.arg("--waldir").arg(parent.join("wal"));
        }
        initdb.arg("--pwfile").arg(&password_file).arg("--pgdata").arg(directory.join("data")).current_dir(directory);
        run(&mut initdb)?;
        fs::remove_file(&password_file).map_err(TestbedError::io("remove the password file"))
    }

    /// Adds our settings to the cluster's file; what stands later counts.
    fn configure(&self, server: &Postgres) -> Result<(), TestbedError> {
        let socket_directory = server.directory.path().to_string_lossy().into_owned();
        let port = server.port.to_string();
        let ours = [
            ("listen_addresses", "127.0.0.1"),
            ("port", &port),
            ("unix_socket_directories", &socket_directory),
            ("fsync", if self.durable { "on" } else { "off" }),
            // A checkpoint in the middle of a load would make tests of rates depend on the machine.
            ("max_wal_size", "4GB"),
        ];
        let theirs = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let text = ours.into_iter().chain(theirs).fold(String::new(), |mut text, (name, value)| {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{name} = '{}'", value.replace('\'', "''"));
            text
        });
        let path = server.data_directory().join("postgresql.conf");
        fs::OpenOptions::new()
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(TestbedError::io("write postgresql.conf"))
    }
}

/// A directory for a server, owned by the user that it runs as.
pub(crate) fn make_directory(parent: Option<&Path>, account: Option<Account>) -> Result<TempDir, TestbedError> {
    let mut names = tempfile::Builder::new();
    names.prefix("plimsoll-");
    let made = match parent {
        Some(parent) => names.tempdir_in(parent),
        None => names.tempdir(),
    };
    let directory = made.map_err(TestbedError::io("make a directory for the server"))?;
    if let Some(Account { uid, gid }) = account {
        chown(directory.path(), Some(uid), Some(gid)).map_err(TestbedError::io("give the directory away"))?;
    }
    Ok(directory)
}

/// A port of the loopback interface that nobody uses at the moment.
pub(crate) fn free_port() -> Result<u16, TestbedError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(TestbedError::io("find a free port"))
}

/// Sixteen hexadecimal digits that differ from server to server: enough for a server that only this machine can reach.
pub(crate) fn random_word() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
