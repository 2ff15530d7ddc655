//! What MariaDB and MySQL do each in a way of its own.
//!
//! Tested on MariaDB 10.11 and 11.4 and on MySQL 9.7. What stands here for MySQL is written from the manual of 8.4, which was
//! tried on no server.

use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::server::tls::Protection;

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
}

/// The oldest versions with everything that is needed.
const OLDEST: [(Product, (u32, u32)); 2] = [(Product::MariaDb, (10, 5)), (Product::MySql, (8, 0))];

impl Server {
    pub(super) fn from_version(greeting: &str) -> Result<Self> {
        // MariaDB 10 says so much before its own version, for the sake of old replicas.
        let version = greeting.strip_prefix("5.5.5-").unwrap_or(greeting);
        let product = if version.contains("MariaDB") { Product::MariaDb } else { Product::MySql };
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
        let stated = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let server = Self { product, version: version.to_owned() };
        match OLDEST.iter().find(|(of, _)| *of == product) {
            Some((_, oldest)) if stated < *oldest => {
                let message = format!("{} {version} is too old", product.name());
                Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("MySQL 8.0 and MariaDB 10.5 are the oldest that work"))
            }
            _ => Ok(server),
        }
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

    /// The view of InnoDB's files, with their sizes.
    pub(super) const fn tablespaces(self) -> &'static str {
        match self {
            Self::MariaDb => "INNODB_SYS_TABLESPACES",
            Self::MySql => "INNODB_TABLESPACES",
        }
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

    /// Settings of every session of ours that only this product has: nothing is ended for being slow, and what is asked of
    /// `information_schema` is as it is now.
    pub(super) const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::MariaDb => &[
                ("max_statement_time", "0"),
                ("idle_transaction_timeout", "0"),
                ("idle_readonly_transaction_timeout", "0"),
                ("idle_write_transaction_timeout", "0"),
            ],
            Self::MySql => &[("max_execution_time", "0"), ("information_schema_stats_expiry", "0")],
        }
    }

    /// Makes a session join by a nested loop, on one CPU. MariaDB joins through a buffer, on which a level of 0 puts an end
    /// ("Block-Based Join Algorithms"); MySQL does so by hashing, which goes by the old flag (8.4 manual, 10.2.1.4 and
    /// 10.9.2), and counts a table in several threads.
    pub(super) const fn nested_loop(self) -> &'static str {
        match self {
            Self::MariaDb => "SET SESSION join_cache_level = 0",
            Self::MySql => {
                "SET SESSION optimizer_switch = 'block_nested_loop=off,batched_key_access=off', \
                 innodb_parallel_read_threads = 1"
            }
        }
    }

    /// What stands before and behind `INSERT` so that the statement alone joins by a nested loop.
    pub(super) const fn insert_by_nested_loop(self) -> &'static str {
        match self {
            Self::MariaDb => "SET STATEMENT join_cache_level = 0 FOR INSERT",
            Self::MySql => "INSERT /*+ SET_VAR(optimizer_switch = 'block_nested_loop=off') */",
        }
    }

    /// The query that names a server for good.
    pub(super) const fn identity(self) -> &'static str {
        match self {
            Self::MariaDb => "SELECT CONCAT(@@hostname, ':', @@port)",
            Self::MySql => "SELECT @@server_uuid",
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
        for old in ["5.7.44-log", "5.5.5-10.4.34-MariaDB", "5.5.68-MariaDB", ""] {
            assert_eq!(Server::from_version(old).unwrap_err().kind, ErrorKind::Unsupported, "{old}");
        }
    }
}
