//! What an engine adds that runs SQLite on modelled hardware: a VFS of its own, and a follower for each session that
//! charges statements to the model. The driver itself stays the same.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_engine::error::Result;
use plimsoll_measurement::{Reading, Views};
use rusqlite::Connection;

/// Hardware that is modelled beneath SQLite.
pub trait Modelled: Debug + Send + Sync {
    /// Name of the VFS that files are opened by.
    fn vfs(&self) -> &str;

    /// Prepares a new session on the file at `path`: pragmas, handlers, and the follower of its statements. `cancelled`
    /// is true from a cancellation on until the next statement begins: waiting must end then.
    fn follow(
        &self,
        path: &Path,
        connection: &mut Connection,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Follower>>;
}

/// Follows the statements of one session. Dropping it ends the session's part in the model.
pub trait Follower: Debug + Send {
    /// Before the first step of a statement; `writes` if it is not read-only.
    fn begin(&mut self, sql: &str, writes: bool) -> Result<()>;

    /// After the last step: how many steps of SQLite's virtual machine it took (`SQLITE_STMTSTATUS_VM_STEP`), and
    /// whether the session is out of any transaction now. Always follows a [`Follower::begin`] that gave no error.
    fn end(&mut self, steps: u64, autocommit: bool) -> Result<()>;

    /// Reads a page of the file as the last commit left it, outside the model.
    fn read_page(&self, number: u32, into: &mut [u8]) -> Result<()>;

    /// Counters of this session.
    fn sample(&mut self) -> Vec<Reading>;

    /// What this session waited for.
    fn views(&mut self) -> Views;
}
