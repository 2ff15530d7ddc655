//! What every database gives: places of our own under a lease, sessions, counters.
//!
//! A *place* is a schema (servers) or a file (SQLite) that only we write to. A run claims a place for itself; a data set
//! that is kept has a place of its own, shared by runs that read it. The lease on a place is a lock held by a session
//! that runs no statement (or a kernel lock on a file), so it falls as soon as its client dies. What is ours and
//! leaseless may be removed; nothing else ever is.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_measurement::{Ceiling, Files, Reading, Views};

use crate::capability::Capability;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::level::Levels;
use crate::request::{Answer, BySession, RequestAccess, Requester, Statement};
use crate::table::{ColumnType, Table};
use crate::target::{Credentials, Notation, Target};
use crate::transfer::Transfer;
use crate::value::{Row, RowSummary, Value};
use crate::work::{Expected, Work};

/// A kind of database. The binary registers the engines; each opens the targets of its schemes.
pub trait Engine: Send + Sync {
    /// Names of what it drives, as [`Description::engine`] and run records have them: `postgresql`, `sqlite`.
    fn products(&self) -> &'static [&'static str];

    /// URL schemes that are this engine's.
    fn schemes(&self) -> &'static [&'static str];

    /// How its targets are written: by default as URLs with a server in them.
    fn notation(&self) -> Notation {
        Notation { schemes: self.schemes(), ..Notation::default() }
    }

    /// The clock that a target lives by: the machine's own unless it is modelled. `on_stall` hears of a thread that
    /// brings a virtual clock to a stop, in a sentence; nothing but ending the program helps then.
    ///
    /// # Errors
    /// If the URL can't be used.
    fn clock(&self, target: &Target, on_stall: Box<dyn Fn(&str) + Send + Sync>) -> Result<Arc<dyn Clock>> {
        let _ = (target, on_stall);
        Ok(Arc::new(RealClock::new()))
    }

    /// Connects and asks the target who it is.
    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>>;
}

/// An opened target.
pub trait Database: Send + Sync {
    /// Who it is.
    fn description(&self) -> &Description;

    /// What it lets us see and do, where the engine has found that out: one line each, whether it works or not.
    fn capabilities(&self) -> Vec<Capability> {
        Vec::new()
    }

    /// Takes the lease on a place, and makes the place when the claim is exclusive and it isn't there. `None` if
    /// somebody else's lease stands against it (or a shared claim finds nothing).
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>>;

    /// A new session that works in `workspace` for the run that holds the lease on `run`.
    fn session(&self, workspace: &Workspace, run: &Workspace) -> Result<Box<dyn Session>>;

    /// A new session that may reach existing tables as well.
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        if access.existing {
            let engine = &self.description().engine;
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the engine '{engine}' has no existing tables to make requests of"),
            )
            .hint("leave out 'existing = true' and make the tables under [setup]"));
        }
        self.session(workspace, run)
    }

    /// A new session that makes requests, in `workspace` for the run that holds the lease on `run`.
    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(BySession(self.session_with(workspace, run, access)?)))
    }

    /// Everything of ours at this target.
    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>>;

    /// Ends sessions of ours whose run's lease is gone; returns how many.
    fn end_orphans(&self) -> Result<u32>;

    /// Removes a place if it is ours and leaseless; false if a lease stands against it. Nothing is left of it.
    fn remove(&self, workspace: &Workspace) -> Result<bool>;

    /// Free bytes on the disk that holds the data; `None` where that can't be known.
    fn free_bytes(&self) -> Option<u64>;

    /// Makes the tables of `workspace` cold for the run that holds the lease on `run`, by the means that `cold` allows, and
    /// says what was done. No session may be open on the place. `follower` hears of everything that takes long.
    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>>;

    /// How long a page has to rest in the engine's cache before reading it again makes it one that is kept. Zero where
    /// every use counts.
    fn rest_before_reuse(&self) -> Duration {
        Duration::ZERO
    }

    /// How long after the fact [`Counter::MemoryPercent`](plimsoll_measurement::Counter::MemoryPercent) tells of it, where the
    /// engine averages over intervals. Zero where it is of now.
    fn memory_report_age(&self) -> Duration {
        Duration::ZERO
    }

    /// What was met at the target since it was opened, as far as a run should say it at its end.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What this work should show, where the limits are known; computed from them and from the rows, never measured.
    ///
    /// # Errors
    /// If the rows can't be made.
    fn expect(&self, work: Work<'_>) -> Result<Option<Expected>> {
        let _ = work;
        Ok(None)
    }

    /// What makes and moves whole databases for the run that holds the lease on `run`. `None` where that can't be done.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let _ = run;
        Ok(None)
    }

    /// What changes the level of service of this target. `None` where only its owner's commands can.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn levels(&self) -> Result<Option<Box<dyn Levels>>> {
        Ok(None)
    }

    /// A reader of the whole server's counters and gauges while something else works, over a line of its own. `None` where the engine
    /// has nothing to read, or the user may not; [`Database::capabilities`] says what is lost then.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(None)
    }

    /// Whether the engine still answers, and that within so long.
    fn answers(&self, patience: Duration) -> bool {
        let _ = patience;
        self.server_sampler().and_then(|sampler| sampler.map_or(Ok(Vec::new()), |mut sampler| sampler.sample())).is_ok()
    }

    /// The processes at the top of the engine's, if they are on this machine and may be looked at.
    fn server_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What the target's figures are held against, as far as somebody says so. Unknown ceilings are left out.
    fn ceilings(&self) -> Vec<Ceiling> {
        Vec::new()
    }

    /// Counters of the engine's processes: device bytes, CPU. `None` for a server elsewhere or without permission.
    fn process_sampler(&self) -> Option<Box<dyn Sampler>>;
}

/// A reader of counters.
pub trait Sampler: Send {
    /// Reads the counters. What can't be read is left out; only a lost source is an error.
    fn sample(&mut self) -> Result<Vec<Reading>>;

    /// Reads [`Counter::MemoryPercent`](plimsoll_measurement::Counter::MemoryPercent) where that takes a question of its own, which
    /// only those pay who want the answer; `None` where [`Sampler::sample`] has it, or nobody does.
    fn sample_memory(&mut self) -> Result<Option<Reading>> {
        Ok(None)
    }

    /// Files each of which has limits of its own, as the last [`Sampler::sample`] saw them; `None` where no file has any.
    fn files(&mut self) -> Option<Files> {
        None
    }

    /// Reads what the engine shows about itself beside counters. Empty where it shows nothing.
    fn views(&mut self) -> Result<Views> {
        Ok(Views::default())
    }
}

/// A session: one connection, one thread.
pub trait Session: Sampler {
    /// The engine's SQL.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Runs a statement that returns no rows; gives the number of rows it changed. Statements are prepared once and
    /// kept if they have parameters.
    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64>;

    /// Runs a query whose columns have these types and hands over its rows one by one.
    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()>;

    /// Has the engine read a statement without running it: an error says what is wrong with it, such as a table that is
    /// not there.
    fn check(&mut self, sql: &str) -> Result<()>;

    /// Makes a request; see [`Requester::ask`].
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        let Some(columns) = &statement.columns else {
            return Err(Error::new(ErrorKind::Unsupported, "this engine can't make requests of columns it isn't told"));
        };
        ask_for(self, &statement.sql, columns, parameters)
    }

    /// Removes a table if it is there, and what it leaves behind where that would be felt by the next one.
    fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.execute(&format!("DROP TABLE IF EXISTS {}", table.name), &[]).map(drop)
    }

    /// Makes an empty table in the session's place, with its clustered primary key (where the engine has one).
    fn create_table(&mut self, table: &Table) -> Result<()>;

    /// Makes stored procedures for requests for single rows of a table, which [`Dialect::call`] calls, in place of those that may be
    /// there. False where there are none or the user may not make them: then requests are texts.
    fn make_procedures(&mut self, table: &Table) -> Result<bool> {
        let _ = table;
        Ok(false)
    }

    /// Loads rows by the engine's fast path, in one transaction: all of them, or none on an error.
    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary>;

    /// Loads rows as a request: like [`Session::load`], but beside other sessions and as durable as any transaction, and on
    /// modelled hardware it is charged.
    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.load(table, rows)
    }

    /// Brings a loaded table to rest: statistics, visibility, everything that would else happen during a test.
    fn settle_table(&mut self, table: &Table) -> Result<()>;

    /// Writes what is dirty to the data files; false where the user may not ask for it.
    fn checkpoint(&mut self) -> Result<bool>;

    /// How large a table is.
    fn table_size(&mut self, table: &Table) -> Result<TableSize>;

    /// How the engine last ran a statement that this session made, where it tells that and lets us see it.
    fn plan(&mut self, sql: &str) -> Result<Option<Plan>> {
        let _ = sql;
        Ok(None)
    }

    /// Cumulative pages of the table and its index that the engine did not have in its cache. `None` where the engine
    /// doesn't count by table.
    fn table_misses(&mut self, table: &Table) -> Result<Option<u64>>;

    /// A handle that cancels the running statement from another thread.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// Runs a query that returns one row of one integer, such as a count.
    fn query_count(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let mut count = None;
        self.query(sql, parameters, &[ColumnType::BigInt], &mut |row| {
            if let Value::BigInt(value) = row.get(0) {
                count = u64::try_from(value).ok();
            }
            Ok(())
        })?;
        count.ok_or_else(|| Error::new(ErrorKind::Statement, "the engine returned no count"))
    }
}

/// Makes a request whose columns have these types; none means that no rows come back.
pub fn ask_for<S: Session + ?Sized>(
    session: &mut S,
    sql: &str,
    columns: &[ColumnType],
    parameters: &[Value<'_>],
) -> Result<Answer> {
    if columns.is_empty() {
        return Ok(Answer { rows: session.execute(sql, parameters)?, content_bytes: 0 });
    }
    let mut answer = Answer::default();
    session.query(sql, parameters, columns, &mut |row| {
        answer.rows += 1;
        answer.content_bytes += row.content_bytes();
        Ok(())
    })?;
    Ok(answer)
}

/// Where the rows of a load come from.
pub trait RowSource {
    /// Fills the next row; false at the end. An error aborts the load.
    fn next(&mut self, row: &mut Row) -> Result<bool>;
}

/// Cancels a statement from another thread. Doing so twice, or when nothing runs, does no harm.
pub trait Cancel: Send + Sync {
    /// Asks the engine to stop what the session is doing.
    fn cancel(&self);

    /// Breaks the session's line from our side, for a server that doesn't even hear [`Cancel::cancel`] any more: who waits
    /// for its answer gets [`ErrorKind::Lost`]. Nothing happens to a session without such a line.
    fn sever(&self) {}

    /// True if the engine did not hear [`Cancel::cancel`] in time.
    fn is_unheard(&self) -> bool {
        false
    }
}

/// A lease on a place; dropping it gives it back.
pub trait Lease: Send {
    /// Takes the lease again after the server was restarted. An error if somebody else was faster.
    fn renew(&mut self) -> Result<()>;

    /// Turns an exclusive lease into a shared one, without a gap.
    fn share(&mut self) -> Result<()>;
}

/// How a place is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimMode {
    /// For us alone; made if it isn't there.
    Exclusive,
    /// With others that read it; it has to be there.
    Shared,
}

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// Everything a run makes for itself.
    Run,
    /// A data set that is kept for later runs.
    Data,
    /// A whole database that a run makes to move it. It is under the lease of its run's place.
    Copy,
}

/// The name of a place: `plimsoll_run_<run id>`, `plimsoll_data_<hash>` or `plimsoll_copy_<run id><letter>`. Schemas,
/// databases and files are named by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workspace(String);

impl Workspace {
    const RUN: &'static str = "plimsoll_run_";
    const DATA: &'static str = "plimsoll_data_";
    const COPY: &'static str = "plimsoll_copy_";
    /// Letters and digits after the prefix: a run's id, and a copy's letter.
    const LONGEST: usize = 33;

    /// The place of a run.
    ///
    /// # Errors
    /// If the id holds anything but lower-case letters and digits: names go into SQL texts and paths.
    pub fn run(id: &str) -> Result<Self> {
        Self::from_name(&format!("{}{id}", Self::RUN))
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a run id may hold lower-case letters and digits only"))
    }

    /// The place of a data set, named by the hash of what is in it.
    pub fn data(hash: u64) -> Self {
        Self(format!("{}{hash:016x}", Self::DATA))
    }

    /// A database that the run of this place makes.
    #[must_use]
    pub fn copy(&self, letter: char) -> Self {
        let id = self.0.strip_prefix(Self::RUN).unwrap_or(&self.0);
        Self(format!("{}{id}{letter}", Self::COPY))
    }

    /// The place whose lease protects this one: itself, but for a copy that of its run.
    #[must_use]
    pub fn leased_by(&self) -> Self {
        match self.0.strip_prefix(Self::COPY) {
            Some(rest) => Self(format!("{}{}", Self::RUN, &rest[..rest.len() - 1])),
            None => self.clone(),
        }
    }

    /// The place of that name, if the name is one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        let prefixes = [Self::RUN, Self::DATA, Self::COPY];
        let rest = prefixes.into_iter().find_map(|prefix| name.strip_prefix(prefix))?;
        // A copy has a letter beside its run's id.
        let ours = rest.len() > usize::from(name.starts_with(Self::COPY))
            && rest.len() <= Self::LONGEST
            && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        ours.then(|| Self(name.to_owned()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// What it is for.
    pub fn kind(&self) -> WorkspaceKind {
        match self.0.as_str() {
            name if name.starts_with(Self::RUN) => WorkspaceKind::Run,
            name if name.starts_with(Self::COPY) => WorkspaceKind::Copy,
            _ => WorkspaceKind::Data,
        }
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place that was found at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// Its name.
    pub workspace: Workspace,
    /// True if somebody holds a lease on it.
    pub leased: bool,
}

/// Size of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableSize {
    /// Bytes of the pages that hold the rows (with a clustered key: the whole tree).
    pub table_bytes: u64,
    /// Bytes of the pages of a separate primary key index; 0 where the key is clustered.
    pub index_bytes: u64,
}

/// How a statement was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its operators by the engine's names, each with those that it takes rows from in parentheses behind it.
    pub shape: String,
    /// True if it joins by nested loops.
    pub joins_by_loops: bool,
    /// CPUs that worked on it at once; `None` where the engine doesn't say.
    pub degree: Option<u32>,
}

/// What may be done to make tables cold.
#[derive(Debug, Clone, Default)]
pub struct Cold {
    /// A shell command that restarts the server.
    pub restart_command: Option<String>,
    /// True if others may be reading the tables: then they are not written anew.
    pub shared: bool,
}

/// Follows a cold start, which may take minutes.
pub trait ColdFollower {
    /// A session works now; this cancels its statement. It replaces the handle that was given before.
    fn working(&mut self, cancel: Arc<dyn Cancel>);

    /// Called between steps and while waiting; an error ends the cold start.
    fn check(&mut self) -> Result<()>;

    /// The server was restarted and answers again: leases have fallen and must be renewed before anything else.
    fn restarted(&mut self) -> Result<()>;

    /// Something that the run should say of its cold start.
    fn warn(&mut self, _: String) {}
}

/// Nobody follows: a cold start that nothing interrupts, on a place whose lease needs no renewal.
#[derive(Debug, Default)]
pub struct Unfollowed;

impl ColdFollower for Unfollowed {
    fn working(&mut self, _: Arc<dyn Cancel>) {}
    fn check(&mut self) -> Result<()> {
        Ok(())
    }
    fn restarted(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What the weakest isolation of an engine does to a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WeakIsolation {
    /// It changes how the scan works; the isolation's name.
    Effective(String),
    /// It is accepted and changes nothing; the reason.
    NoEffect(String),
}

/// Who a target is, as it says itself.
#[derive(Debug, Clone)]
pub struct Description {
    /// The engine's name, one of [`Engine::products`].
    pub engine: String,
    /// Another engine whose SQL it reads as well: texts for that one will do where there are none for this one.
    pub relative: Option<&'static str>,
    /// The version that the server states.
    pub version: String,
    /// Settings that matter for a measurement, by their own names. They are printed and never used in an estimate.
    pub settings: BTreeMap<String, String>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// True if the engine works on this machine.
    pub local: bool,
    /// True if it works in the threads of its sessions.
    pub embedded: bool,
    /// CPUs the engine may use; `None` for a server elsewhere.
    pub cpus: Option<u32>,
    /// What `read-scan-weak` will see.
    pub weak_isolation: WeakIsolation,
    /// What identifies server and database without secrets (host, port, database; device and file).
    pub fingerprint: String,
    /// What a user should know, such as a durable setting that is off.
    pub warnings: Vec<String>,
    /// What the target's memory is divided by, and so the volumes of a test should be; 1 for everything real.
    pub scale: u64,
    /// The edition of the catalogue that the target is built on.
    pub edition: Option<String>,
}
