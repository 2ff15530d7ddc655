//! One interface to every database: what a test needs of an engine. The drivers that give it have crates of their own, which
//! nobody but the binary names; what those for servers have in common is in [`server`].
//!
//! Drivers are blocking and one [`Session`] belongs to one thread. A session never prints and never logs a credential.

pub mod capability;
pub mod database;
pub mod dialect;
pub mod error;
pub mod level;
pub mod process;
pub mod request;
pub mod server;
pub mod table;
pub mod target;
pub mod transfer;
pub mod value;
pub mod work;

pub use capability::Capability;
pub use database::{
    Cancel, ClaimMode, Cold, ColdFollower, Database, Description, Engine, Lease, Plan, RowSource, Sampler, Session,
    TableSize, Unfollowed, WeakIsolation, Workspace, WorkspaceKind, WorkspaceStatus,
};
pub use dialect::{Dialect, SingleRow};
pub use error::{Error, ErrorKind, Result};
pub use level::{LevelCommands, Levels};
pub use request::{Answer, RequestAccess, Requester, Statement, Traffic};
pub use table::{Column, ColumnType, Table};
pub use target::{Check, Credentials, Secret, Target};
pub use transfer::{Follow, Move, Program, Restored, Transfer};
pub use value::{Row, Value};
pub use work::{Expected, TableData, Work};
