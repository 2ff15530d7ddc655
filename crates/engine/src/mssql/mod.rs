//! SQL Server and Azure SQL, by TDS.
#![expect(dead_code, reason = "places and sessions above the line are still to come")]

mod ado;
mod connect;
mod error;
mod numbers;
mod token;
mod url;
mod wire;
