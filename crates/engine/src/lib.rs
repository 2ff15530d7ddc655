//! One interface to every database: what a test needs of an engine, and the drivers that give it.
//!
//! Drivers are blocking and one [`Session`] belongs to one thread. A session never prints and never logs a credential.

pub mod capability;
pub mod database;
pub mod dialect;
pub mod error;
mod inbox;
pub mod level;
pub mod mover;
pub mod mssql;
pub mod mysql;
pub mod postgres;
pub mod process;
pub mod request;
mod restart;
mod restored;
mod shell;
mod socket;
pub mod sqlite;
pub mod table;
pub mod target;
mod tls;
mod tool;
pub mod value;
pub mod work;

pub use capability::Capability;
pub use database::{
    Cancel, ClaimMode, Cold, ColdFollower, Database, Description, Engine, Lease, Place, PlaceKind, PlaceStatus, Plan,
    RowSource, Sampler, Session, TableSize, Unfollowed, WeakIsolation,
};
pub use dialect::{Dialect, SingleRow};
pub use error::{Error, ErrorKind, Result};
pub use level::{LevelCommands, Levels};
pub use mover::{Follow, Move, Mover, Restored};
pub use request::{Answer, RequestAccess, Requester, Statement, Traffic};
pub use table::{Column, ColumnType, Table};
pub use target::{Credentials, Secret, Target};
pub use value::{Row, Value};
pub use work::{Expected, Stock, Work};
