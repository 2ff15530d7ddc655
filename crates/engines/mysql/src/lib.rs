//! MySQL and MariaDB: places are databases, leases are named locks, rows are loaded by `LOAD DATA LOCAL INFILE`.
//!
//! The wire protocol is spoken here and not by a library. Requests have to cost the client next to nothing. With the
//! line at hand, loads stream from where their rows are made, and sessions, requests and loads have one mechanism. What
//! MySQL does otherwise than MariaDB stands in `product.rs`.

mod auth;
mod binary;
mod capabilities;
mod cold;
mod connect;
mod connection;
mod contents;
mod counter_queries;
mod counters;
mod database;
mod describe;
mod dialect;
mod error;
#[cfg(test)]
mod fuzz;
mod load;
mod login;
mod packet;
mod password;
mod product;
mod queries;
mod requester;
mod restore;
mod rows;
mod sampler;
mod saving;
mod self_test;
mod session;
mod snapshots;
mod statements;
mod time;
mod transfer;
mod url;
mod wire_connection;
mod working;
mod workspace;

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::server::errors::with_search;
use plimsoll_engine::{Credentials, Database, Engine, Notation, Result, Target};

/// The engine MySQL and its relative MariaDB: MySQL 8.0 or MariaDB 10.5, and later ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct MySql;

impl Engine for MySql {
    fn products(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn notation(&self) -> Notation {
        Notation {
            schemes: self.schemes(),
            shown: "connect-timeout database defaults-file host port socket ssl-ca ssl-mode user",
            ..Notation::default()
        }
    }

    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        let location = url::Location::parse(target)?;
        let connector = connect::Connector::new(location, credentials, &|name| std::env::var(name).ok(), clock)?;
        let warnings = connector.warnings.clone();
        let opened = database::MySqlDatabase::open(connector).map_err(|error| with_search(error, &warnings))?;
        Ok(Box::new(opened))
    }
}
