//! Where MariaDB's and MySQL's programs are, and what each product wants to be told.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::{Account, command_as};
use crate::{Installation, Product, TestbedError};

/// Where distributions put servers beside PATH, which for others than root often leaves these out.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mariadb/bin"];

/// The programs of one of the two on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    pub(crate) product: Product,
    pub(crate) server: PathBuf,
    pub(crate) client: PathBuf,
    /// What makes the server's own tables.
    installer: PathBuf,
}

impl Programs {
    /// Those that the environment chooses, else MariaDB's on this machine.
    pub(crate) fn find() -> Result<Self, TestbedError> {
        if let Some(chosen) = Installation::chosen(&[Product::MariaDb, Product::MySql])? {
            return Self::of(&chosen);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from)).collect();
        Self::in_folders(Product::MariaDb, &folders).ok_or(TestbedError::MissingMariaDb)
    }

    /// Those of an installation.
    pub(crate) fn of(installation: &Installation) -> Result<Self, TestbedError> {
        installation.stated_version()?;
        Self::in_folders(installation.product, &[installation.programs()])
            .ok_or_else(|| TestbedError::NotFetched(installation.folder.clone()))
    }

    fn in_folders(product: Product, folders: &[PathBuf]) -> Option<Self> {
        let [server, client, installer] = match product {
            Product::MySql => ["mysqld", "mysql", "mysqld"],
            _ => ["mariadbd", "mariadb", "mariadb-install-db"],
        };
        let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        Some(Self { product, server: find(server)?, client: find(client)?, installer: find(installer)? })
    }

    /// Makes the server's own tables in the folder `data` of its directory. Root is then let in without a password.
    pub(crate) fn install(&self, account: Option<Account>, directory: &Path) -> Command {
        let mut install = command_as(account, &self.installer);
        install.arg("--no-defaults");
        if self.product == Product::MySql {
            install.args(["--initialize-insecure", "--log-error-verbosity=1"]);
        } else {
            install.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
            install.arg(format!("--tmpdir={}", directory.display()));
        }
        install.arg(format!("--datadir={}", directory.join("data").display()));
        install
    }

    /// Settings that only this product has: the same start as MariaDB's, and no folder or port of the whole machine's.
    pub(crate) fn product_settings(&self, durable: bool) -> Vec<(&'static str, &'static str)> {
        if self.product != Product::MySql {
            return Vec::new();
        }
        let sync_binlog = ("sync_binlog", if durable { "1" } else { "0" });
        vec![("mysqlx", "OFF"), ("secure_file_priv", "NULL"), ("local_infile", "ON"), sync_binlog]
    }
}
