//! Cold tables: nothing of them in the buffer pool, nor in the operating system's cache where that is in our power.
//!
//! Without a restart pages are displaced. A page that is made anew enters the pool at the young end of its list
//! (`buf_page_create` in `buf/buf0buf.cc`), whereas one that is read enters in the middle. So as many new pages as the
//! pool holds drive out every page that nobody asks for meanwhile, and reading any number of pages would not.

use std::path::Path;

use plimsoll_engine::mark;
use plimsoll_engine::process;
use plimsoll_engine::server::cold::{DISPLACER, fits, forget};
use plimsoll_engine::server::restart::restart;
use plimsoll_engine::{Cold, ColdFollower, RequestAccess, Result, Table, Workspace};

use super::connect::Connector;
use super::connection::Connection;
use super::contents::{Contents, TABLE};
use super::counters;
use super::error::statement;
use super::statements::{fill, of_table, text};
use super::working::connect;

/// Of the pool, in percent, so much is made anew: its own bookkeeping takes a part, but a page may be asked for once more.
const POOL_PERCENT: u64 = 125;
/// Two of these fill a page of 16 KB.
const ROW_BYTES: u64 = 8_000;
const ROWS_PER_INSERT: u64 = 10_000;
pub(super) struct ColdMaker<'a> {
    pub(super) connector: &'a std::sync::Arc<Connector>,
    pub(super) data_directory: Option<&'a Path>,
    /// Why a restart may not be enough.
    pub(super) loads_at_startup: bool,
    pub(super) follower: &'a mut dyn ColdFollower,
}

impl ColdMaker<'_> {
    /// By a restart if a command is given, else by displacing what is cached; then out of the operating system's cache.
    pub(super) fn make_cold(
        &mut self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
    ) -> Result<Vec<String>> {
        let connector = self.connector;
        let mut done =
            restart(cold, connector.clock.as_ref(), self.follower, || Ok(connector.started_at()?.unwrap_or_default()))?;
        let mut connection = connect(self.connector, workspace, run, RequestAccess::OWN)?;
        self.follower.working(connection.link.cancel());
        if (cold.restart_command.is_none() || self.loads_at_startup) && self.displace(&mut connection, run)? {
            done.push("displace".to_owned());
        }
        if self.drop_from_os_cache(&mut connection, workspace, tables)? {
            done.push("drop-os-cache".to_owned());
        }
        Ok(done)
    }

    /// Fills the buffer pool with pages of a table in the run's place that is gone afterwards; false if that would take too
    /// much space, or nobody knows.
    fn displace(&mut self, connection: &mut Connection, run: &Workspace) -> Result<bool> {
        let pool = connection.ask_one(text("buffer pool"))?;
        let pool: u64 = pool.and_then(|bytes| bytes.parse().ok()).ok_or_else(|| statement("the pool has no size"))?;
        let bytes = pool / 100 * POOL_PERCENT;
        let free = self.data_directory.and_then(process::free_bytes);
        if !fits(bytes, free) {
            return Ok(false);
        }
        let drop = of_table("remove a table", run, DISPLACER);
        // What a cold start left that was cut short.
        if Contents::of(connection, run)?.has_own(TABLE, DISPLACER) {
            connection.run(&drop)?;
        }
        connection.run(&of_displacer("make the table that displaces", run, 0))?;
        let filled = self.fill(connection, run, bytes / ROW_BYTES);
        let dropped = connection.run(&drop);
        filled?;
        dropped.map(|_| true)
    }

    fn fill(&mut self, connection: &mut Connection, run: &Workspace, rows: u64) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            self.follower.check()?;
            let now = left.min(ROWS_PER_INSERT);
            connection.work(&of_displacer("fill the table that displaces", run, now))?;
            left -= now;
        }
        Ok(())
    }

    /// Writes back and forgets the tables' files; false if not all of them are ours to read.
    fn drop_from_os_cache(
        &mut self,
        connection: &mut Connection,
        workspace: &Workspace,
        tables: &[Table],
    ) -> Result<bool> {
        let Some(directory) = self.data_directory else { return Ok(false) };
        self.follower.check()?;
        for table in tables {
            // Not everybody may; what a restart left is in the files already.
            counters::flush(connection, workspace, &table.name)?;
        }
        let folder = directory.join(workspace.name());
        Ok(tables.iter().all(|table| forget(&folder.join(format!("{}.ibd", table.name)))))
    }
}

fn of_displacer(name: &str, run: &Workspace, rows: u64) -> String {
    let (bytes, rows) = (ROW_BYTES.to_string(), rows.to_string());
    let mark = mark::of_part(TABLE, DISPLACER, run.name());
    fill(name, &[("workspace", run.name()), ("table", DISPLACER), ("bytes", &bytes), ("rows", &rows), ("mark", &mark)])
}
