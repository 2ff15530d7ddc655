//! Databases that are moved one after another, in a way that each kind of step says.

use plimsoll_engine::transfer::Move;
use plimsoll_engine::work::{Expected, TableData, Work};
use plimsoll_engine::{Database, Error, ErrorKind, Result, Transfer, Workspace};
use plimsoll_measurement::units;

use super::source::{Size, Source};
use crate::dataset::DatasetSpec;
use crate::figures::series::{Measured, Series};
use crate::interrupt::Interrupt;
use crate::parameters::shared::{LARGEST, ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::scratch::Scratch;
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

/// How databases are moved.
pub(crate) struct Moving {
    /// What is done with them.
    pub what: Move,
    /// Looks at the parameters, what the target can, and the engine's name before anything is made.
    pub check: fn(&Parameters, &dyn Transfer, &str) -> Result<()>,
    /// Looks at all databases once they are made.
    pub weigh: fn(&mut Keep<'_>, &mut dyn Transfer, &mut [Source]) -> Result<()>,
    /// Moves one and looks at what has become of it. The scratch folder is dropped when that is removed.
    pub move_one: fn(&mut At<'_, '_>, &mut Keep<'_>, &Source, &mut Option<Scratch>) -> Result<()>,
}

pub(crate) struct At<'a, 'b> {
    pub target: &'a mut Target<'b>,
    pub parameters: &'a Parameters,
    pub transfer: &'a mut dyn Transfer,
}

/// A kind of step that moves databases. Of several databases the largest is the one that figures are of.
pub(crate) const fn kind(
    name: &'static str,
    measure: fn() -> Measures,
    figures: fn(&Measured<'_>) -> Vec<Series>,
) -> StepKind {
    StepKind {
        // All that is moved, and the new database, its log and the dump or backup of the largest on the same disk.
        space_bytes: |parameters, _| {
            let volumes = volumes(parameters);
            let largest = volumes.iter().copied().max().unwrap_or(0).saturating_mul(3);
            pages(volumes.into_iter().fold(largest, u64::saturating_add))
        },
        consent: |_| Some(Consent::Databases { backups: false }),
        ..StepKind::new(name, &[&VOLUME, &SIZES, &ROW, &TABLES, &SEED], measure, figures)
    }
}

/// What each kind of work on the largest database should show.
pub(crate) fn expects<'a>(
    works: &[fn(Vec<TableData<'a>>) -> Work<'a>],
    ran: &Ran<'_>,
    ask: Ask<'_>,
) -> Result<Vec<Expected>> {
    let largest = volumes(ran.parameters).into_iter().max().unwrap_or(0);
    let wanted = DatasetSpec::wanted(&ran.parameters.clone().with_bytes(&VOLUME, largest), ran.page_bytes);
    works.iter().filter_map(|work| ask(work(wanted.whole())).transpose()).collect()
}

/// Two outcomes as one, with what both errors say.
pub(crate) fn both(one: Result<()>, other: Result<()>) -> Result<()> {
    match (one, other) {
        (Err(one), Err(other)) if one.message != other.message => {
            Err(Error { message: format!("{}; {}", one.message, other.message), ..one })
        }
        (one, other) => one.and(other),
    }
}

struct Moves {
    how: &'static Moving,
    transfer: Option<Box<dyn Transfer>>,
    sources: Vec<Source>,
}

pub(crate) fn measure(how: &'static Moving) -> Measures {
    Measures::AtDatabase(Box::new(Moves { how, transfer: None, sources: Vec::new() }))
}

impl Measure for Moves {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let (engine, scale) = (&target.database.description().engine, target.database.description().scale);
        let mut transfer = target.database.transfer(target.workspace)?.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("whole databases can't be moved on '{engine}' yet"))
                .hint("PostgreSQL, MariaDB, SQLite, SQL Server on a machine, Azure SQL Database and the lab can")
        })?;
        (self.how.check)(parameters, transfer.as_ref(), engine)?;
        let tools = transfer.find_tools(self.how.what)?;
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
                page_bytes: None,
                own: None,
            });
            if let Some(source) = self.sources.last_mut() {
                // Indexes are made after the rows have come in.
                source.fill(target, keep, transfer.as_mut(), self.how.what == Move::Import)?;
            }
        }
        (self.how.weigh)(keep, transfer.as_mut(), &mut self.sources)
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let transfer =
            self.transfer.as_mut().ok_or_else(|| contradiction("a database was moved before it was made"))?;
        keep.begin(Some(target.database));
        for source in &self.sources {
            let mut scratch = None;
            let mut at = At { target: &mut *target, parameters, transfer: transfer.as_mut() };
            let moved = (self.how.move_one)(&mut at, keep, source, &mut scratch);
            let removed = transfer.remove(&source.target);
            if let Some(Err(error)) = scratch.map(Scratch::remove) {
                keep.left.get_or_insert(error);
            }
            moved.and(removed).map_err(|error| match error.kind {
                // It has answered before.
                ErrorKind::Connect => Error { kind: ErrorKind::Lost, ..error },
                _ => error,
            })?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &dyn Database, workspace: &Workspace, _: &Interrupt) -> Result<()> {
        let Some(mut transfer) = self.transfer.take() else { return Ok(()) };
        let all = self.sources.drain(..).map(|source| source.workspace).chain([workspace.copy(TARGET)]);
        // Each is tried, whatever became of the others.
        all.map(|workspace| transfer.remove(&workspace)).fold(Ok(()), both)
    }
}
