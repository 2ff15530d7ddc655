//! A server that speaks TDS and answers by a script, for tests of the SQL Server driver. Written from the MS-TDS document, and
//! held against its byte examples; it shares no code with the driver, so that their mistakes are not the same.
//!
//! It knows packets, log-ins, TLS in both of its places, SQL texts, prepared calls, bulk loads and attentions; what it says
//! to them is the script's. It is no database. It refuses texts that are no T-SQL, by an independent [grammar](crate::grammar).

pub mod answers;
mod builder;
mod bytes;
mod login;
mod packet;
mod pipe;
mod request;
pub mod rights;
mod sending;
mod server;
mod settings;
mod syntax;
mod token;
mod types;

pub use builder::{TdsBuilder, TdsServer};
pub use login::LoginRequest;
pub use pipe::Identity;
pub(crate) use pipe::Pipe;
pub use request::{Bulk, Call, Request};
pub use settings::{Attention, Encryption};
pub use token::{Outcome, Refusal, Reply};
pub use types::{Column, Datum, Kind};
