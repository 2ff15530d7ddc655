//! One interface to every database: what a test needs of an engine. The drivers that give it have crates of their own, which
//! nobody but the binary names; what those for servers have in common is in [`server`].
//!
//! Drivers are blocking and one [`Session`] belongs to one thread. A session never prints and never logs a credential.

pub mod capability;
pub mod confined;
pub mod data;
pub mod database;
pub mod description;
pub mod dialect;
pub mod error;
pub mod files;
pub mod foreign;
pub mod level;
pub mod mark;
pub mod process;
pub mod queries;
pub mod reading;
pub mod request;
pub mod saving;
pub mod self_test;
pub mod server;
pub mod session;
pub mod snapshots;
pub mod statements;
pub mod table;
pub mod table_name;
pub mod target;
pub mod telemetry;
pub mod temporary;
pub mod transfer;
pub mod value;
pub mod work;
pub mod workspace;

pub use capability::{Capability, Need};
pub use database::{Database, Elsewhere, Engine, Moves, Restored, Transfer};
pub use description::{Description, WeakIsolation, cpus_of_machine};
pub use dialect::{Dialect, MOST_SAMPLED, SingleRow, decimal};
pub use error::{Error, ErrorKind, Result};
pub use level::{LevelCommands, Levels};
pub use mark::{Intent, Intents, Ledger, Mark, Part};
pub use queries::{CountedViews, LONGEST_TEXT, MOST_TEXTS, QuerySampler, QueryText};
pub use reading::{SavedPart, SavedReading};
pub use request::{Answer, Cancel, RequestAccess, Requester, RowSource, Statement, Traffic};
pub use saving::{SavedColumn, SavedTable, SavedType, Saving, SavingSession};
pub use self_test::{Refused, SelfTest, Shape};
pub use session::{Plan, Session, Sessions, TableSize, ask_for};
pub use statements::{AnswerColumn, Entry, Quoting, Statements, Touches};
pub use table::{Column, ColumnType, Table};
pub use target::{Check, Credentials, Environment, Notation, Pairs, Secret, Target};
pub use telemetry::{Folders, Sampler, Telemetry};
pub use transfer::{Follow, Move, Program};
pub use value::{Row, RowSummary, Value};
pub use work::{Expected, TableData, Work};
pub use workspace::{
    ClaimMode, Cold, ColdFollower, Lease, Unfollowed, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};
