//! PostgreSQL: places are schemas, leases are advisory locks, rows are loaded by binary COPY.

mod answer;
mod capabilities;
mod cold;
mod connect;
mod connection;
mod copies;
mod copy;
mod counter_queries;
mod counters;
mod database;
mod describe;
mod dialect;
mod displace;
mod error;
#[cfg(test)]
mod fuzz;
mod hosts;
mod identity;
mod login;
mod password;
mod pooler;
mod prepared;
mod queries;
mod removal;
mod requester;
mod restore;
mod sampler;
mod saving;
mod self_test;
mod session;
mod snapshots;
mod statements;
mod transfer;
mod url;
mod wire;
mod wire_connection;
mod workspace;

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::server::errors::with_search;
use plimsoll_engine::{Credentials, Database, Engine, Notation, Result, Target};

/// The engine PostgreSQL, version 12 or later.
#[derive(Debug, Clone, Copy, Default)]
pub struct Postgres;

impl Engine for Postgres {
    fn products(&self) -> &'static [&'static str] {
        &[describe::NAME]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn notation(&self) -> Notation {
        Notation {
            schemes: self.schemes(),
            shown: "application_name connect_timeout dbname host hostaddr passfile port sslmode sslrootcert user",
            ..Notation::default()
        }
    }

    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        let location = url::Location::parse(target)?;
        let connector = connect::Connector::new(location, credentials, &|name| std::env::var(name).ok(), clock)?;
        let warnings = connector.warnings.clone();
        let opened = database::PostgresDatabase::open(connector).map_err(|error| with_search(error, &warnings))?;
        Ok(Box::new(opened))
    }
}
