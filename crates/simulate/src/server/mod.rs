//! The database server: sessions, CPU, buffer pool, log, background writer, and files on modelled disks.

mod counts;
pub(crate) mod log;
mod model;
mod pool;
mod replication;

pub use model::{simulate, simulate_until};
pub use replication::{FileFigures, Replication, Resource, Shares};
