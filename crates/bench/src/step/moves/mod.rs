//! Whole databases on the move (reference, 2.14): a dump and its import by the engine's own tools, copies by the server, and
//! restores of physical backups. The time that counts for an import is that of loading rows; making indexes comes after and
//! is a stage of its own.

mod evidence;
mod restore;
mod watch;

use plimsoll_engine::transfer::Move;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{Database, Error, ErrorKind, Result, Table, Transfer, Workspace, process};
use plimsoll_measurement::units;

use self::watch::Watch;
use super::{Context, Measure, contradiction, scan, write};
use crate::dataset::{self, DatasetSpec};
use crate::parameters::Parameters;

/// Stage that an import begins with: the dump is written.
pub(crate) const DUMP: &str = "dump";

/// Stage that a restore begins with: the backup is made.
pub(crate) const BACKUP: &str = "backup";

/// Points of the chunked write that an import is compared with.
pub(crate) const WRITE: &str = "import-write";

/// Bytes of this machine's temporary folder that a backup leaves free: the server may have its files on the same disk.
pub(crate) const FREE_RESERVE: u64 = 256 << 20;

/// Between a size and a stage in a label.
pub(crate) const AFTER_SIZE: &str = ": ";

/// Letters of the databases that are moved; the new one is always `b`.
const TARGET: char = 'b';
const SOURCES: &str = "acdefghijklm";

/// The volumes that are moved one after another.
pub(crate) fn volumes(parameters: &Parameters) -> Vec<u64> {
    match parameters.sizes("sizes") {
        [] => vec![parameters.bytes("volume")],
        sizes => sizes.to_vec(),
    }
}

/// The data set of the database that the figures are of: of several the largest.
pub(crate) fn wanted(parameters: &Parameters, page_bytes: u64) -> DatasetSpec {
    let largest = volumes(parameters).into_iter().max().unwrap_or(0);
    scan::wanted(&parameters.clone().with_bytes("volume", largest), page_bytes)
}

/// What is moved, and how.
pub(super) struct Moves {
    what: Move,
    transfer: Option<Box<dyn Transfer>>,
    sources: Vec<Source>,
}

/// A database to be moved.
struct Source {
    /// What its points' labels begin with.
    prefix: String,
    wanted: DatasetSpec,
    workspace: Workspace,
    target: Workspace,
    volume: u64,
    /// Content of all that is moved, and its pages: where an engine backs up whole servers, as much as these would have.
    content_bytes: u64,
    page_bytes: u64,
    /// Content and bytes of the database alone, where those are of all that its server has.
    own: Option<(u64, u64)>,
}

impl Moves {
    /// Imports, copies or restores.
    pub(super) fn new(what: Move) -> Self {
        Self { what, transfer: None, sources: Vec::new() }
    }

    /// Each in its turn.
    fn move_all(&mut self, context: &mut Context<'_>) -> Result<()> {
        let unready = || contradiction("a database was moved before it was made".to_owned());
        let transfer = self.transfer.as_mut().ok_or_else(unready)?.as_mut();
        context.begin();
        for source in &mut self.sources {
            if self.what == Move::Restore {
                restore::restore(context, transfer, source)?;
                continue;
            }
            let import = self.what == Move::Import;
            let outcome = if import { import_dump(context, transfer, source) } else { copy(context, transfer, source) };
            let written = outcome.and_then(|()| if import { write_beside(context, source) } else { Ok(()) });
            let checked = written.and_then(|()| verify(context, source.wanted, &source.target));
            let removed = transfer.remove(&source.target);
            checked.and(removed)?;
        }
        Ok(())
    }
}

impl Measure for Moves {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let engine = &context.database.description().engine;
        let mut transfer = context.database.transfer(context.workspace)?.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("whole databases can't be moved on '{engine}' yet"))
                .hint("PostgreSQL, MariaDB, SQLite, SQL Server on a machine, Azure SQL Database and the lab can")
        })?;
        if self.what == Move::Import {
            let needed = volumes(context.parameters).into_iter().max().unwrap_or(0).saturating_mul(2);
            guard_folder("dump", needed)?;
        }
        let tools = transfer.find_tools(self.what)?;
        if !tools.is_empty() {
            context.facts.insert("tools".to_owned(), tools.join(", ").into());
        }
        let way = context.parameters.choice("way");
        if self.what == Move::Copy && way != "usual" && !transfer.methods().contains(&way) {
            let methods = transfer.methods().join(", ");
            return Err(Error::new(ErrorKind::Usage, format!("way = {way}: '{engine}' copies by {methods}"))
                .hint("leave it out for the usual way"));
        }
        let description = context.database.description();
        let (page_bytes, scale) = (description.page_bytes, description.scale);
        let volumes = volumes(context.parameters);
        let several = volumes.len() > 1;
        let transfer = self.transfer.insert(transfer);
        for (volume, letter) in volumes.into_iter().zip(SOURCES.chars()) {
            let parameters = context.parameters.clone().with_bytes("volume", volume);
            let full = units::format_bytes(volume.saturating_mul(scale));
            let prefix = if several { format!("{full}{AFTER_SIZE}") } else { String::new() };
            if self.sources.iter().any(|source| source.prefix == prefix) {
                let message = format!("sizes: two of them are called {full}, and could not be told apart");
                return Err(Error::new(ErrorKind::Usage, message).hint("choose sizes that lie further apart"));
            }
            self.sources.push(Source {
                prefix,
                wanted: scan::wanted(&parameters, page_bytes),
                workspace: context.workspace.copy(letter),
                target: context.workspace.copy(TARGET),
                volume,
                content_bytes: 0,
                page_bytes: 0,
                own: None,
            });
            if let Some(source) = self.sources.last_mut() {
                fill(context, transfer.as_mut(), source, self.what)?;
            }
        }
        if self.what == Move::Restore {
            // Where a backup is of all that a server has, it has all of them.
            self.sources.iter_mut().try_for_each(|source| restore::weigh(context, transfer.as_mut(), source))?;
            if let Some(largest) = self.sources.last() {
                restore::tell(context, largest);
            }
        }
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        self.move_all(context).map_err(|error| match error.kind {
            // It has answered before.
            ErrorKind::Connect => Error { kind: ErrorKind::Lost, ..error },
            _ => error,
        })
    }

    fn finish(&mut self, _: &dyn Database, workspace: &Workspace) -> Result<()> {
        let Some(mut transfer) = self.transfer.take() else { return Ok(()) };
        let all = self.sources.drain(..).map(|source| source.workspace).chain([workspace.copy(TARGET)]);
        // Each is tried, whatever became of the others.
        all.map(|workspace| transfer.remove(&workspace)).fold(Ok(()), Result::and)
    }
}

/// Makes a database and fills it.
fn fill(context: &mut Context<'_>, transfer: &mut dyn Transfer, source: &mut Source, what: Move) -> Result<()> {
    transfer.make(&source.workspace)?;
    let empty = transfer.bytes(&source.workspace).unwrap_or(0);
    let tables = dataset::load(context, &source.workspace, source.wanted)?;
    source.content_bytes = content(&tables);
    source.page_bytes = if what == Move::Import {
        // Indexes are made after the rows have come in.
        let (mut session, _watched) = context.session(&source.workspace)?;
        let sizes = tables.iter().map(|(table, _)| session.table_size(table).map(|size| size.table_bytes));
        sizes.sum::<Result<u64>>()?
    } else {
        transfer.bytes(&source.workspace).unwrap_or(0).saturating_sub(empty)
    };
    source.page_bytes = source.page_bytes.max(1);
    context.facts.insert("tables".to_owned(), source.wanted.tables.into());
    context.facts.insert("content_bytes".to_owned(), source.content_bytes.into());
    Ok(())
}

/// The new database has to hold what the first one does.
fn verify(context: &mut Context<'_>, wanted: DatasetSpec, target: &Workspace) -> Result<()> {
    context.log.activity("comparing the new database with the first");
    match dataset::verify(context, target, wanted)? {
        Some(_) => Ok(()),
        None => Err(contradiction("the new database does not hold what the first one does".to_owned())),
    }
}

/// A dump is made on this machine, where texts take more room than rows; so are backups.
fn guard_folder(what: &str, needed: u64) -> Result<()> {
    let folder = std::env::temp_dir();
    match process::free_bytes(&folder) {
        Some(free) if free < needed => Err(Error::new(
            ErrorKind::Safety,
            format!(
                "the {what} may take {}, and {} has only {} free",
                units::format_bytes(needed),
                folder.display(),
                units::format_bytes(free)
            ),
        )
        .hint("let TMPDIR name a folder with more room, or move less with --set volume=...")),
        _ => Ok(()),
    }
}

fn content(tables: &[(Table, RowSummary)]) -> u64 {
    tables.iter().map(|(_, row_summary)| row_summary.content_bytes).sum()
}

fn import_dump(context: &mut Context<'_>, transfer: &mut dyn Transfer, source: &Source) -> Result<()> {
    // It has no name, so nothing of it is left whatever happens.
    let file = tempfile::tempfile().map_err(|error| {
        Error::new(ErrorKind::Permission, format!("no file for the dump can be made: {error}"))
            .hint("TMPDIR names the folder in which it is made")
    })?;
    let mut watch = Watch::new(context, source);
    watch.begin(DUMP)?;
    transfer.dump(&source.workspace, &file, &mut watch)?;
    // A dump that is still in memory is none yet.
    file.sync_data().map_err(|error| Error::new(ErrorKind::DiskFull, format!("the dump can't be kept: {error}")))?;
    transfer.import(&file, &source.target, &mut watch)?;
    watch.end()
}

/// Writes chunks into the new database, so that the import can be held against what the same server writes without a client.
fn write_beside(context: &mut Context<'_>, source: &Source) -> Result<()> {
    let parameters = write::brief(context.parameters, source.volume);
    let mut context = context.within(context.database, &parameters, Some(WRITE));
    let prefix = source.prefix.clone();
    match write::Write::within(source.target.clone(), prefix).repeat(&mut context) {
        // The import counts without it.
        Err(error) if error.kind == ErrorKind::Unsupported => {
            context.warn(format!("there is no chunked write to hold the import against: {error}"));
            Ok(())
        }
        outcome => outcome,
    }
}

fn copy(context: &mut Context<'_>, transfer: &mut dyn Transfer, source: &Source) -> Result<()> {
    let asked = context.parameters.choice("way");
    let way = if asked == "usual" { transfer.methods()[0] } else { asked };
    context.facts.insert("way".to_owned(), way.into());
    let mut watch = Watch::new(context, source);
    transfer.copy(&source.workspace, &source.target, way, &mut watch)?;
    watch.end()
}
