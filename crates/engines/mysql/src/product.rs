//! What MariaDB and MySQL do each in a way of its own.
//!
//! Tested on MariaDB 10.11 and 11.4 and on MySQL 9.7. What stands here for MySQL is written from the manual of 8.4, which was
//! tried on no server.

use std::path::Path;

use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::server::tls::Protection;
use plimsoll_engine::server::tool;

use super::statements::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    MariaDb,
    MySql,
}

/// A server's product and version, as its greeting has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) product: Product,
    /// The version as the server states it, such as `10.11.6-MariaDB-0+deb12u1`.
    pub(super) version: String,
    /// The release with long-term support that it is, or that it follows: what statements name by `editions`.
    pub(super) edition: &'static str,
}

/// Releases with long-term support, in their order. The first of a product is the oldest with everything that is needed.
const EDITIONS: [(Product, (u32, u32), &str); 8] = [
    (Product::MariaDb, (10, 5), "mariadb-10.5"),
    (Product::MariaDb, (10, 6), "mariadb-10.6"),
    (Product::MariaDb, (10, 11), "mariadb-10.11"),
    (Product::MariaDb, (11, 4), "mariadb-11.4"),
    (Product::MariaDb, (11, 8), "mariadb-11.8"),
    (Product::MySql, (8, 0), "mysql-8.0"),
    (Product::MySql, (8, 4), "mysql-8.4"),
    (Product::MySql, (9, 0), "mysql-9"),
];

/// What one of the product's programs says of its version. Options of the user's files count before that: `result-file` and `tee` would
/// empty files of theirs.
pub(super) fn version_of(program: &Path) -> Option<String> {
    tool::version_asked_by(program, &["--no-defaults", "--version"])
}

#[cfg(test)]
pub(super) fn is_edition(name: &str) -> bool {
    EDITIONS.iter().any(|(_, _, edition)| *edition == name)
}

impl Server {
    pub(super) fn from_version(greeting: &str) -> Result<Self> {
        // MariaDB 10 says so much before its own version, for the sake of old replicas.
        let version = greeting.strip_prefix("5.5.5-").unwrap_or(greeting);
        let product = if version.contains("MariaDB") { Product::MariaDb } else { Product::MySql };
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
        let stated = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let known = EDITIONS.iter().rev().find(|(of, from, _)| *of == product && *from <= stated);
        let Some((_, _, edition)) = known else {
            let message = format!("{} {version} is too old", product.name());
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("MySQL 8.0 and MariaDB 10.5 are the oldest that work")
            );
        };
        Ok(Self { product, version: version.to_owned(), edition })
    }
}

impl Product {
    /// Name of the engine in run records.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// Another product if it reads that product's SQL as well.
    pub(super) const fn relative(self) -> Option<&'static str> {
        match self {
            Self::MariaDb => Some(Self::MySql.name()),
            Self::MySql => None,
        }
    }

    /// The programs that dump and load, and the package that has them.
    pub(super) const fn client_programs(self) -> ([&'static str; 2], &'static str) {
        match self {
            Self::MariaDb => (["mariadb-dump", "mariadb"], "mariadb-client"),
            Self::MySql => (["mysqldump", "mysql"], "mysql-client"),
        }
    }

    /// What else a dump is told: nothing of it may change the state of the server that loads it.
    pub(super) const fn dumping(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &[],
            Self::MySql => &["--set-gtid-purged=OFF"],
        }
    }

    /// The statement's name of those that each product has in a text of its own.
    pub(super) fn named(self, name: &str) -> String {
        let product = match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        };
        format!("{name} of {product}")
    }

    /// Such a statement, if it has no gaps.
    pub(super) fn text(self, name: &str) -> &'static str {
        text(&self.named(name))
    }

    /// How a client program is told to protect its connection.
    pub(super) fn protection(self, mode: Protection) -> &'static [&'static str] {
        match (self, mode) {
            (Self::MySql, Protection::IfPossible) => &[],
            // From 11.4 on it would verify by itself.
            (Self::MariaDb, Protection::IfPossible) => &["--skip-ssl-verify-server-cert"],
            (Self::MariaDb, Protection::Off) => &["--skip-ssl"],
            (Self::MariaDb, Protection::Encrypted) => &["--ssl", "--skip-ssl-verify-server-cert"],
            // It knows no weaker check than that of the host.
            (Self::MariaDb, Protection::Authority | Protection::Host) => &["--ssl", "--ssl-verify-server-cert"],
            (Self::MySql, Protection::Off) => &["--ssl-mode=DISABLED"],
            (Self::MySql, Protection::Encrypted) => &["--ssl-mode=REQUIRED"],
            (Self::MySql, Protection::Authority) => &["--ssl-mode=VERIFY_CA"],
            (Self::MySql, Protection::Host) => &["--ssl-mode=VERIFY_IDENTITY"],
        }
    }

    pub(super) const fn process_names(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["mariadbd", "mysqld"],
            Self::MySql => &["mysqld"],
        }
    }

    /// What stands before and behind `INSERT` so that the statement alone joins by a nested loop, as sessions do by the statements
    /// of that name.
    pub(super) const fn insert_by_nested_loop(self) -> &'static str {
        match self {
            Self::MariaDb => "SET STATEMENT join_cache_level = 0 FOR INSERT",
            Self::MySql => "INSERT /*+ SET_VAR(optimizer_switch = 'block_nested_loop=off') */",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_tell_product_and_version() {
        let server = Server::from_version("5.5.5-10.11.6-MariaDB-0+deb12u1").unwrap();
        assert_eq!((server.product, server.version.as_str()), (Product::MariaDb, "10.11.6-MariaDB-0+deb12u1"));
        assert_eq!(Server::from_version("11.4.2-MariaDB").unwrap().product, Product::MariaDb);
        assert_eq!(Server::from_version("8.4.0").unwrap().product, Product::MySql);
        for (greeting, edition) in [
            ("5.5.5-10.5.29-MariaDB", "mariadb-10.5"),
            ("5.5.5-10.11.6-MariaDB-0+deb12u1", "mariadb-10.11"),
            // A short-lived one, and one that is newer than any.
            ("11.2.2-MariaDB", "mariadb-10.11"),
            ("12.1.2-MariaDB", "mariadb-11.8"),
            ("8.0.36-28", "mysql-8.0"),
            ("8.4.0", "mysql-8.4"),
            ("9.7.4-2", "mysql-9"),
        ] {
            assert_eq!(Server::from_version(greeting).unwrap().edition, edition, "{greeting}");
        }
        for old in ["5.7.44-log", "5.5.5-10.4.34-MariaDB", "5.5.68-MariaDB", ""] {
            assert_eq!(Server::from_version(old).unwrap_err().kind, ErrorKind::Unsupported, "{old}");
        }
    }
}
