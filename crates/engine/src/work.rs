//! What a test is about to do, in terms of rows. From it an engine with known limits says before the run, and without looking
//! at it, what the test should show.

use std::fmt;

use crate::request::RowSource;
use crate::table::Table;

/// Rows that a table holds, in the order of their keys.
pub struct TableData<'a> {
    /// The table.
    pub table: Table,
    /// Its rows.
    pub rows: Box<dyn RowSource + 'a>,
}

impl fmt::Debug for TableData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stock").field("table", &self.table.name).finish_non_exhaustive()
    }
}

/// What a test does in a repetition.
#[derive(Debug)]
pub enum Work<'a> {
    /// One session scans tables that were loaded one after another, each whole, from a cold cache.
    Scan(Vec<TableData<'a>>),
    /// The same, but all columns of all rows are read into the client.
    Read(Vec<TableData<'a>>),
    /// One session copies a source that lies outside the file so often into a new table, in one transaction, and again
    /// and again so often, with keys that rise.
    Write {
        /// The source.
        source: TableData<'a>,
        /// How often a chunk selects it.
        times: u64,
        /// Number of chunks.
        chunks: u64,
    },
    /// One session joins the first rows of a table in memory with themselves, so many on each side.
    Join(u64),
    /// One session reads sets of pages until they no longer fit into memory.
    Memory,
    /// One session inserts so many rows of one small integer into a table without a key, each in its own transaction.
    Commits(u64),
    /// A database of these tables is dumped and imported; the rate is that of loading rows.
    Import(Vec<TableData<'a>>),
    /// The same, as far as the log is concerned: the rate at which it takes the rows if nothing else holds them back.
    ImportLog(Vec<TableData<'a>>),
    /// A database of these tables is copied by the server.
    Copy(Vec<TableData<'a>>),
    /// A database of these tables is backed up and restored.
    Restore(Vec<TableData<'a>>),
    /// The target gets another level while nothing else goes on.
    LevelChange(&'a str),
}

impl<'a> Work<'a> {
    /// The same with rows that go through something else, such as a look whether they are still wanted.
    #[must_use]
    pub fn with_rows(self, through: &dyn Fn(Box<dyn RowSource + 'a>) -> Box<dyn RowSource + 'a>) -> Self {
        let one = |data: TableData<'a>| TableData { rows: through(data.rows), ..data };
        let all = |tables: Vec<TableData<'a>>| tables.into_iter().map(one).collect();
        match self {
            Self::Scan(tables) => Self::Scan(all(tables)),
            Self::Read(tables) => Self::Read(all(tables)),
            Self::Write { source, times, chunks } => Self::Write { source: one(source), times, chunks },
            Self::Import(tables) => Self::Import(all(tables)),
            Self::ImportLog(tables) => Self::ImportLog(all(tables)),
            Self::Copy(tables) => Self::Copy(all(tables)),
            Self::Restore(tables) => Self::Restore(all(tables)),
            Self::Join(_) | Self::Memory | Self::Commits(_) | Self::LevelChange(_) => self,
        }
    }
}

/// What a test should show on hardware with known limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The metric of the figure, as in a run's results.
    pub metric: &'static str,
    /// The value, in the unit of that figure: MB/min, MB, Mpairs/s, s.
    pub value: f64,
    /// How the limit that binds is known: `printed`, `derived`, `assumed`; `given` for a user's own hardware.
    pub basis: String,
    /// The limit that binds: `data_io`, `data_iops`, `log_write`, `cpu`, `memory`, `latency`.
    pub limit: &'static str,
    /// How the value comes about, in one sentence with the numbers in it.
    pub reason: String,
    /// True if it rests on a figure that was printed for this very level and edition.
    pub published: bool,
}
