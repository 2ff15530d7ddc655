//! Databases that are moved one after another, in a way that each kind of step says.

use plimsoll_engine::transfer::Move;
use plimsoll_engine::work::{Expected, TableData, Work};
use plimsoll_engine::{Database, Error, ErrorKind, Result, Transfer, Workspace};
use plimsoll_measurement::{Repetition, units};

use super::figures::Largest;
use super::size::Size;
use super::source::Source;
use crate::dataset::DatasetSpec;
use crate::figures::series::{Measured, Series};
use crate::parameters::shared::{LARGEST, ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::scratch::{self, Scratch};
use crate::step::context::{Context, Keep, Target};
use crate::step::kind::{Ask, Consent, Measure, Measures, Ran, StepKind, contradiction, pages};

/// Letters of the databases that are moved; the new one is always `b`.
const TARGET: char = 'b';
const SOURCES: &str = "acdefghijklm";

/// Several databases in place of one.
pub(crate) const SIZES: Parameter = Parameter::new(
    "sizes",
    Kind::Sizes(1 << 20, LARGEST),
    "Sizes of databases to transfer one after another in a repetition, instead of one database of the volume.",
)
.scaling()
.or("");

/// The volumes that are moved one after another.
pub(crate) fn volumes(parameters: &Parameters) -> Vec<u64> {
    match parameters.sizes("sizes") {
        [] => vec![parameters.bytes("volume")],
        sizes => sizes.to_vec(),
    }
}

/// A kind of step that moves databases.
pub(crate) trait TransferKind: Copy + Sync + 'static {
    /// The name in definitions.
    const NAME: &'static str;

    /// What it does.
    const WHAT: Move;

    /// The parameters that it knows.
    const PARAMETERS: &'static [&'static Parameter] = &[&VOLUME, &SIZES, &ROW, &TABLES, &SEED];

    /// Whether backups are made on this machine.
    const BACKUPS: bool = false;

    /// What each kind of work on a database should show.
    fn works<'a>(self) -> Vec<fn(Vec<TableData<'a>>) -> Work<'a>>;

    /// The figures of what it measured.
    fn figures(self, of_size: &Largest<'_>, repetitions: &[&Repetition]) -> Vec<Series>;

    /// Looks before anything is made.
    fn check(self, _: &Parameters, _: &dyn Transfer, _engine: &str) -> Result<()> {
        Ok(())
    }

    /// Looks at all databases once they are made.
    fn weigh(self, _: &mut Keep<'_>, _: &mut dyn Transfer, _: &mut [Source]) -> Result<()> {
        Ok(())
    }

    /// Moves one and looks at what has become of it. What it gives back is dropped when that is removed.
    fn move_one(
        self,
        at: (&mut Target<'_>, &Parameters),
        keep: &mut Keep<'_>,
        transfer: &mut dyn Transfer,
        source: &Source,
        scratch: &mut Option<Scratch>,
    ) -> Result<()>;
}

impl<M: TransferKind> StepKind for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn parameters(&self) -> &'static [&'static Parameter] {
        M::PARAMETERS
    }

    fn measure(&self) -> Measures {
        Measures::AtDatabase(Box::new(Moves { kind: *self, transfer: None, sources: Vec::new() }))
    }

    fn figures(&self, measured: &Measured<'_>) -> Vec<Series> {
        TransferKind::figures(*self, &Largest::of(&measured.points), &measured.repetitions)
    }

    /// Of several databases the largest is the one that figures are of.
    fn expects(&self, ran: &Ran<'_>, ask: Ask<'_>) -> Result<Vec<Expected>> {
        let largest = volumes(ran.parameters).into_iter().max().unwrap_or(0);
        let wanted = DatasetSpec::wanted(&ran.parameters.clone().with_bytes(&VOLUME, largest), ran.page_bytes);
        self.works().into_iter().filter_map(|work| ask(work(wanted.whole())).transpose()).collect()
    }

    /// All that is moved, and the new database, its log and the dump or backup of the largest on the same disk.
    fn space_bytes(&self, parameters: &Parameters, _: bool) -> u64 {
        let volumes = volumes(parameters);
        let largest = volumes.iter().copied().max().unwrap_or(0).saturating_mul(3);
        pages(volumes.into_iter().fold(largest, u64::saturating_add))
    }

    fn consent(&self) -> Option<Consent> {
        Some(Consent::Databases { backups: M::BACKUPS })
    }

    fn tidy_machine(&self) {
        if M::BACKUPS {
            scratch::remove_leftovers();
        }
    }
}

/// What is moved, and how.
struct Moves<M> {
    kind: M,
    transfer: Option<Box<dyn Transfer>>,
    sources: Vec<Source>,
}

impl<M: TransferKind> Measure for Moves<M> {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let (engine, scale) = (&target.database.description().engine, target.database.description().scale);
        let mut transfer = target.database.transfer(target.workspace)?.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("whole databases can't be moved on '{engine}' yet"))
                .hint("PostgreSQL, MariaDB, SQLite, SQL Server on a machine, Azure SQL Database and the lab can")
        })?;
        TransferKind::check(self.kind, parameters, transfer.as_ref(), engine)?;
        let tools = transfer.find_tools(M::WHAT)?;
        if !tools.is_empty() {
            keep.fact("tools", tools.join(", "));
        }
        let volumes = volumes(parameters);
        let several = volumes.len() > 1;
        let transfer = self.transfer.insert(transfer);
        for (volume, letter) in volumes.into_iter().zip(SOURCES.chars()) {
            let wanted = (*parameters).clone().with_bytes(&VOLUME, volume);
            let size = several.then(|| Size { bytes: volume.saturating_mul(scale), along: None });
            let name = Size::label(size.as_ref(), "");
            if self.sources.iter().any(|source| Size::label(source.size.as_ref(), "") == name) {
                let full = units::format_bytes(volume.saturating_mul(scale));
                let message = format!("sizes: two of them are called {full}, and could not be told apart");
                return Err(Error::new(ErrorKind::Usage, message).hint("choose sizes that lie further apart"));
            }
            self.sources.push(Source {
                size,
                wanted: DatasetSpec::wanted(&wanted, target.page_bytes()),
                workspace: target.workspace.copy(letter),
                target: target.workspace.copy(TARGET),
                volume,
                content_bytes: 0,
                page_bytes: 0,
                own: None,
            });
            if let Some(source) = self.sources.last_mut() {
                // Indexes are made after the rows have come in.
                source.fill(target, keep, transfer.as_mut(), M::WHAT == Move::Import)?;
            }
        }
        self.kind.weigh(keep, transfer.as_mut(), &mut self.sources)
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let transfer =
            self.transfer.as_mut().ok_or_else(|| contradiction("a database was moved before it was made"))?;
        keep.begin(Some(target.database));
        for source in &self.sources {
            let mut scratch = None;
            let moved = self.kind.move_one((target, parameters), keep, transfer.as_mut(), source, &mut scratch);
            let removed = transfer.remove(&source.target);
            moved.and(removed).map_err(|error| match error.kind {
                // It has answered before.
                ErrorKind::Connect => Error { kind: ErrorKind::Lost, ..error },
                _ => error,
            })?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &dyn Database, workspace: &Workspace) -> Result<()> {
        let Some(mut transfer) = self.transfer.take() else { return Ok(()) };
        let all = self.sources.drain(..).map(|source| source.workspace).chain([workspace.copy(TARGET)]);
        // Each is tried, whatever became of the others.
        all.map(|workspace| transfer.remove(&workspace)).fold(Ok(()), Result::and)
    }
}
