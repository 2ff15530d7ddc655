//! Servers of given versions, each in a folder of its own.
//!
//! Such a folder has a `bin` with programs that start as they are: whoever filled it has seen to their libraries and their
//! loader. `cargo xtask servers` fills them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TestbedError;
use crate::error::run;

/// Environment variable with the servers that tests use, separated by commas, such as `postgresql-16,mysql-9`. A product
/// that is not named is the one of the machine's distribution.
pub const CHOICE: &str = "PLIMSOLL_TEST_SERVERS";

/// Environment variable with the folder of the servers that were fetched.
pub const FOLDER: &str = "PLIMSOLL_SERVERS";

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// PostgreSQL.
    PostgreSql,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Product {
    /// How names of installations begin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// The program that serves.
    const fn server(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgres",
            Self::MariaDb => "mariadbd",
            Self::MySql => "mysqld",
        }
    }
}

/// A server of a version in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// What it is.
    pub product: Product,
    /// The version that is wanted, as far as it matters: `16`, `11.4`.
    pub version: String,
    /// Where it is.
    pub folder: PathBuf,
}

impl Installation {
    /// The one of a name, such as `mariadb-11.4`, in the folder of those that were fetched. It need not be there.
    pub fn named(name: &str) -> Result<Self, TestbedError> {
        let known = [Product::PostgreSql, Product::MariaDb, Product::MySql];
        let product = known.into_iter().find(|product| name.split('-').next() == Some(product.name()));
        let parts = product.zip(name.split_once('-'));
        let Some((product, (_, version))) = parts.filter(|(_, (_, version))| is_version(version)) else {
            return Err(TestbedError::UnknownServer(name.to_owned()));
        };
        Ok(Self { product, version: version.to_owned(), folder: fetched()?.join(name) })
    }

    /// The one of these products that the environment chooses, if it chooses any.
    pub fn chosen(products: &[Product]) -> Result<Option<Self>, TestbedError> {
        let names = env::var(CHOICE).unwrap_or_default();
        Self::among(&names, products)
    }

    fn among(names: &str, products: &[Product]) -> Result<Option<Self>, TestbedError> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let all = names.map(Self::named).collect::<Result<Vec<_>, _>>()?;
        Ok(all.into_iter().find(|one| products.contains(&one.product)))
    }

    /// The version that its program states; an error unless it is the one that is wanted.
    pub fn stated_version(&self) -> Result<String, TestbedError> {
        let program = self.program(self.product.server());
        if !program.is_file() {
            return Err(TestbedError::NotFetched(self.folder.clone()));
        }
        let said = run(Command::new(program).arg("--version"))?;
        let stated = version_in(&said).unwrap_or_default().to_owned();
        if is_of(&stated, &self.version) {
            return Ok(stated);
        }
        Err(TestbedError::OtherVersion { wanted: self.version.clone(), stated })
    }

    /// The folder of its programs.
    pub fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs().join(name)
    }
}

/// The folder of the servers that were fetched.
pub fn fetched() -> Result<PathBuf, TestbedError> {
    cache(FOLDER, "servers")
}

/// The folder that a variable names, else one of this name in the cache. Root's own cache is closed to the users that servers
/// run as.
pub(crate) fn cache(variable: &'static str, name: &str) -> Result<PathBuf, TestbedError> {
    let of = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = of(variable) {
        return Ok(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Ok(Path::new("/var/cache/plimsoll").join(name));
    }
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("plimsoll").join(name)).ok_or(TestbedError::NoCache(variable))
}

/// Numbers between dots.
fn is_version(text: &str) -> bool {
    text.split('.').all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first word that begins with a digit.
fn version_in(said: &str) -> Option<&str> {
    said.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

/// Whether a version is one of a series: `9.7.4-2` is one of `9` and of `9.7`, and `90.1` is not.
fn is_of(version: &str, series: &str) -> bool {
    let rest = version.strip_prefix(series);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_product_and_version() {
        let one = Installation::named("mariadb-11.4").unwrap();
        assert_eq!((one.product, one.version.as_str()), (Product::MariaDb, "11.4"));
        assert!(one.folder.ends_with("mariadb-11.4"));
        for wrong in
            ["", "postgresql", "postgresql-", "postgresql-new", "mysql-9.", "mysql-../9", "sqlite-3", "mysqlx-9"]
        {
            assert!(matches!(Installation::named(wrong), Err(TestbedError::UnknownServer(_))), "{wrong}");
        }
    }

    #[test]
    fn each_product_is_chosen_by_itself() {
        let chosen = |names: &str, products: &[Product]| {
            Installation::among(names, products).unwrap().map(|one| format!("{}-{}", one.product.name(), one.version))
        };
        let names = "postgresql-16, mysql-9";
        assert_eq!(chosen(names, &[Product::PostgreSql]).as_deref(), Some("postgresql-16"));
        assert_eq!(chosen(names, &[Product::MariaDb, Product::MySql]).as_deref(), Some("mysql-9"));
        assert_eq!(chosen("", &[Product::PostgreSql]), None);
        assert_eq!(chosen("mysql-9", &[Product::PostgreSql]), None);
        assert!(Installation::among("oracle-23", &[Product::PostgreSql]).is_err());
    }

    #[test]
    fn versions_are_those_that_programs_state() {
        for (said, version) in [
            ("postgres (PostgreSQL) 14.24", "14.24"),
            ("/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "9.7.4-2"),
            ("bin/mariadbd  Ver 11.4.5-MariaDB for linux-systemd on x86_64", "11.4.5-MariaDB"),
        ] {
            assert_eq!(version_in(said), Some(version));
        }
        assert!(is_of("9.7.4-2", "9") && is_of("11.4.5-MariaDB", "11.4") && is_of("18beta1", "18"));
        assert!(!is_of("90.1", "9") && !is_of("11.40.1", "11.4") && !is_of("8.4", "9") && !is_of("", "9"));
    }

    #[test]
    fn another_version_or_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let one = Installation { product: Product::MySql, version: "9".to_owned(), folder: folder.path().to_owned() };
        assert!(matches!(one.stated_version(), Err(TestbedError::NotFetched(_))));
        std::fs::create_dir(one.programs()).unwrap();
        let program = one.program("mysqld");
        std::fs::write(&program, "#!/bin/sh\necho mysqld Ver 10.0.1 for Linux\n").unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = one.stated_version().unwrap_err();
        assert_eq!(error.to_string(), "version 9 was wanted, and what came is 10.0.1");
    }
}
