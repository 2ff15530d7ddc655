//! How a test server is to be: settings, place, durability.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::account::{Account, give_to};
use crate::guard::Guard;
use crate::{Installation, Server, TestbedError};

/// Describes a server of the product with the programs `P`; `start` makes it.
#[derive(Debug)]
pub struct Builder<P> {
    pub(crate) durable: bool,
    pub(crate) trusting: bool,
    parent: Option<PathBuf>,
    pub(crate) wal_parent: Option<PathBuf>,
    settings: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    pub(crate) installation: Option<Installation>,
    product: PhantomData<P>,
}

impl<P> Default for Builder<P> {
    fn default() -> Self {
        Self {
            durable: false,
            trusting: false,
            parent: None,
            wal_parent: None,
            settings: Vec::new(),
            environment: Vec::new(),
            installation: None,
            product: PhantomData,
        }
    }
}

impl<P> Builder<P> {
    /// The server of this installation, whatever the environment chooses.
    #[must_use]
    pub fn installed(mut self, installation: Installation) -> Self {
        self.installation = Some(installation);
        self
    }

    /// Any setting of the server's configuration file, as text; the last one of a name counts, also against the defaults
    /// made here.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A variable of the environment that the server is started in.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder in which the server's directory is made, instead of the system's temporary folder. It may be a small
    /// tmpfs: an empty PostgreSQL needs about 60 MB, an empty MariaDB about 150 MB. The path must be short, as a socket's
    /// name has at most 107 bytes.
    #[must_use]
    pub fn data_dir_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.parent = Some(folder.into());
        self
    }

    /// Whether commits have to reach the disk. Off by default: tests are faster, and no test survives a power cut.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// A line for each of these settings and of the further ones; what stands later counts.
    pub(crate) fn lines(&self, ours: &[(&str, &str)], line: fn(&str, &str) -> String) -> String {
        let theirs = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        ours.iter().copied().chain(theirs).map(|(name, value)| line(name, value)).collect()
    }

    /// A server that is no more than a directory, owned by the user that it runs as. A guard with `program` watches over it.
    pub(crate) fn place(
        &self,
        account: Option<Account>,
        programs: P,
        stop: &str,
        program: &Path,
    ) -> Result<Server<P>, TestbedError> {
        let mut names = tempfile::Builder::new();
        let names = names.prefix("plimsoll-");
        let made = self.parent.as_ref().map_or_else(|| names.tempdir(), |parent| names.tempdir_in(parent));
        let directory = made.map_err(TestbedError::io("make a directory for the server"))?;
        give_to(account, directory.path()).map_err(TestbedError::io("give the directory away"))?;
        let guard = Guard::new(account, stop, program, directory.path())?;
        let environment = self.environment.clone();
        Ok(Server::new(guard, directory, programs, account, environment))
    }
}
