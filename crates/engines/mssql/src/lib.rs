//! SQL Server and Azure SQL, by TDS: places are schemas, leases are application locks, rows are loaded by the bulk protocol.
//!
//! Written to Microsoft's documentation. Only [`wire`] knows the driver.

mod abilities;
mod ado;
mod cold;
mod connect;
mod control;
mod copies;
mod counters;
mod database;
mod describe;
mod dialect;
mod error;
mod error_codes;
#[cfg(test)]
mod fuzz;
mod identity;
mod inserts;
mod level;
mod patience;
mod pieces;
mod plan;
mod program;
mod qualify;
mod queries;
mod sampler;
mod seen;
mod self_test;
mod session;
mod sql;
#[cfg(test)]
mod tests;
mod token;
mod transfer;
mod url;
mod waits;
mod wire;
mod workspace;

pub use waits::class_of as class_of_wait;

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::{Credentials, Database, Engine, Notation, Result, Target};

/// The engine SQL Server, from 2016 on, and Azure SQL.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mssql;

impl Engine for Mssql {
    fn products(&self) -> &'static [&'static str] {
        &[describe::NAME]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mssql", "sqlserver"]
    }

    fn notation(&self) -> Notation {
        Notation { schemes: self.schemes(), is_path: false, shown: url::SHOWN, pairs: Some(ado::PAIRS) }
    }

    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        let location = url::Location::parse(target)?;
        let environment = |name: &str| std::env::var(name).ok();
        let dial = Box::new(connect::ByDriver);
        let connector = connect::Connector::new(location, credentials, &environment, dial, &clock)?;
        Ok(Box::new(database::MssqlDatabase::open(connector)?))
    }
}
