//! Table scans: one query per table, tables in order, one session (reference, 2.9; weakest isolation: 2.9, NOLOCK variant).
//! Into the client several sessions may read (2.8): that is [`read`]'s.

mod copied;
mod proof;
mod read;

use plimsoll_engine::work::{Expected, Work};
use plimsoll_engine::{Database, Error, ErrorKind, Result, TableSize, WeakIsolation, Workspace};
use plimsoll_measurement::{ColdStart, Counter, Metric, Point, units};

use self::copied::Copied;
use self::proof::{Sums, judge};
use self::read::Read;
use crate::dataset::{self, Dataset, DatasetSpec, check_rows};
use crate::figures::series::{Measured, Series, rate};
use crate::interrupt::Interrupt;
use crate::parameters::shared::{CACHE, ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::step::context::{Context, Keep, Target, Time};
use crate::step::kind::{Ask, Consent, Measure, Measures, Ran, StepKind, pages};
use crate::step::probe::Probe;

const ISOLATION: Parameter = Parameter::new(
    "isolation",
    Kind::Choice(&["default", "weakest"]),
    "Isolation level of the scan: the engine's default, or the weakest that it offers.",
);
const INTO: Parameter = Parameter::new(
    "into",
    Kind::Choice(&["engine", "client"]),
    "Where the rows of a scan go: the engine counts them, or the client reads all of them.",
)
.or("engine");
const READERS: Parameter = Parameter::new(
    "readers",
    Kind::Count(1, 1_000),
    "Number of sessions that read tables into the client. Each takes the next unread table.",
)
.or("1");

const COLD_BY: Parameter = Parameter::new(
    "cold_by",
    Kind::Choice(&["usual", "copy"]),
    "How a cache is made cold: as the engine lets us, or by reading a new copy of the database (Azure SQL Database, lab).",
)
.or("usual");

/// Table scans (reference, 2.9).
pub(super) const KIND: StepKind = StepKind {
    expects,
    // A log of one table, and for one table at a time a copy to make it cold.
    space_bytes: |parameters, kept| {
        let volume = parameters.bytes("volume");
        if is_copied(parameters) {
            return pages(volume.saturating_mul(2));
        }
        let load = if kept { 0 } else { pages(volume) };
        load.saturating_add(pages(volume / parameters.tables()).saturating_mul(2))
    },
    kept_data: |parameters, page_bytes| Some(DatasetSpec::wanted(parameters, page_bytes).workspace()),
    // A cold scan waits between making cold and scanning, which is what settling is for.
    settles_itself: |parameters| parameters.choice("cache") == "cold",
    consent: |parameters| is_copied(parameters).then_some(Consent::Databases { backups: false }),
    check: |parameters| {
        let is_warm = parameters.choice("cache") != "cold";
        if is_copied(parameters) && is_warm { Err("cold_by = copy needs cache = cold".to_owned()) } else { Ok(()) }
    },
    compares_volumes: true,
    ..StepKind::new(
        "scan",
        &[&VOLUME, &ROW, &TABLES, &ISOLATION, &CACHE, &COLD_BY, &INTO, &READERS, &SEED],
        || Measures::AtDatabase(Box::<Scan>::default()),
        figures,
    )
};

fn is_copied(parameters: &Parameters) -> bool {
    parameters.choice("cold_by") == "copy"
}

/// Where several sessions read at a time: over the time from the first beginning to the last end.
fn figures(measured: &Measured<'_>) -> Vec<Series> {
    let repetitions = &measured.points;
    let several = |point: &&Point| point.count(Metric::Sessions).is_some_and(|sessions| sessions > 1);
    if !repetitions.iter().flatten().any(several) {
        return vec![rate("read_rate", repetitions)];
    }
    let rates = repetitions.iter().filter_map(|points| {
        let begun = points.iter().map(|point| point.started_seconds).reduce(f64::min)?;
        let ended = points.iter().map(|point| point.ended_seconds()).reduce(f64::max)?;
        let content = points.iter().filter_map(|point| point.count(Metric::ContentBytes)).sum();
        units::mb_per_minute(content, ended - begun).filter(|rate| *rate > 0.0)
    });
    vec![Series::new("read_rate", "MB/min", rates.collect())]
}

/// What a warm cache holds depends on what was there before, and how several readers share a device's queue is not gone
/// through.
fn expects(ran: &Ran<'_>, ask: Ask<'_>) -> Result<Vec<Expected>> {
    if ran.parameters.choice("cache") != "cold" {
        return Ok(Vec::new());
    }
    let tables = || DatasetSpec::wanted(ran.parameters, ran.page_bytes).table_data().collect();
    let work = match (ran.parameters.choice("into"), ran.parameters.count("readers")) {
        ("client", 1) => Work::Read(tables()),
        ("client", _) => return Ok(Vec::new()),
        _ => Work::Scan(tables()),
    };
    Ok(ask(work)?.into_iter().collect())
}

#[derive(Default)]
struct Scan {
    dataset: Option<Dataset>,
    copied: Option<Copied>,
    sizes: Vec<Option<TableSize>>,
}

impl Measure for Scan {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let wanted = DatasetSpec::wanted(parameters, target.page_bytes());
        check_rows(wanted.rows)
            .map_err(|error| error.hint("spread the volume over more tables with --set tables=..."))?;
        let into_client = parameters.choice("into") == "client";
        if into_client && parameters.choice("isolation") == "weakest" {
            let message = "what is read into the client has the engine's default isolation";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("leave out --set isolation=weakest, or add --set into=engine"));
        }
        if parameters.choice("isolation") == "weakest"
            && let WeakIsolation::NoEffect(reason) = &target.database.description().weak_isolation
        {
            let note = format!("no effect: {reason}");
            keep.fact("weakest_isolation", note.clone());
            keep.warn(format!("the weakest isolation has {note}; the figures are those of read-scan"));
        }
        let is_cold = parameters.choice("cache") == "cold";
        let dataset = if is_copied(parameters) {
            self.copied.insert(Copied::new(target)?).load(target, keep, wanted)?
        } else {
            dataset::prepare(target, keep, wanted, is_cold && target.cold.restart_command.is_none())?
        };
        keep.fact("tables", wanted.tables);
        keep.fact("rows_per_table", wanted.rows);
        keep.fact("data_reused", dataset.reused);
        let (mut session, _watched) = target.session(&dataset.workspace)?;
        self.sizes = dataset.tables.iter().map(|(table, _)| session.table_size(table)).collect::<Result<_>>()?;
        self.dataset = Some(dataset);
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let cold = parameters.choice("cache") == "cold";
        let methods = if cold { self.make_cold(target, keep)? } else { Vec::new() };
        let copy = self.copied.as_ref().and_then(Copied::database);
        let target = &target.at(copy.unwrap_or(target.database));
        let dataset = self.dataset.as_ref().ok_or_else(not_prepared)?;
        let memory_percent_before = if cold { memory_percent(target, &dataset.workspace)? } else { None };
        let sums = if parameters.choice("into") == "client" {
            Read { dataset, sizes: &self.sizes, readers: parameters.count("readers").max(1) }.repeat(target, keep)?
        } else {
            self.scan(dataset, parameters, target, keep)?
        };
        if cold {
            let settled = keep.time.settle.as_secs_f64();
            let proof = ColdStart { memory_percent_before, ..sums.proof(methods, settled) };
            judge(keep, &proof);
            keep.repetition.cold = Some(proof);
        }
        Ok(())
    }

    fn finish(&mut self, _: &dyn Database, _: &Workspace, _: &Interrupt) -> Result<()> {
        self.dataset = None;
        self.copied.take().map_or(Ok(()), |mut copied| copied.remove())
    }
}

impl Scan {
    fn scan(
        &self,
        dataset: &Dataset,
        parameters: &Parameters,
        target: &Target<'_>,
        keep: &mut Keep<'_>,
    ) -> Result<Sums> {
        let Time { clock, interrupt, .. } = keep.time;
        let weak = parameters.choice("isolation") == "weakest";
        let page_bytes = target.page_bytes();
        let (mut session, _watched) = target.session(&dataset.workspace)?;
        let session = session.as_mut();
        if let Some(statement) = session.dialect().weak_isolation().filter(|_| weak) {
            session.execute(statement, &[])?;
        }
        let mut probe = Probe::new(target.database);
        let mut sum = Sums::default();
        keep.log.activity("scanning");
        keep.begin(Some(target.database));
        for ((table, row_summary), size) in dataset.tables.iter().zip(&self.sizes) {
            interrupt.check()?;
            let (start, end, misses) = probe.scan(session, table, weak, clock.as_ref())?;
            let device_bytes = probe.count(Counter::DeviceReadBytes);
            let pages = size.map(|size| size.table_bytes);
            sum.add(pages, misses.map(|pages| pages * page_bytes), device_bytes);
            let point = keep
                .from_to(&*table.name, start, end)
                .with(Metric::Rows, row_summary.rows)
                .with_content(row_summary.content_bytes)
                .with(Metric::PageBytes, pages)
                .with(Metric::DeviceBytes, device_bytes)
                .with(Metric::CacheMissPages, misses)
                .with(Metric::CpuSeconds, probe.growth(Counter::EngineCpuSeconds));
            keep.point(point)?;
        }
        Ok(sum)
    }

    fn make_cold(&mut self, target: &mut Target<'_>, keep: &mut Keep<'_>) -> Result<Vec<String>> {
        let dataset = self.dataset.as_mut().ok_or_else(not_prepared)?;
        keep.log.activity("making the cache cold");
        let tables: Vec<_> = dataset.tables.iter().map(|(table, _)| table.clone()).collect();
        let methods = if let Some(copied) = &mut self.copied {
            dataset.workspace = copied.renew(target, keep)?;
            vec!["database-copy".to_owned()]
        } else {
            let place = (&dataset.workspace, dataset.lease.as_deref_mut());
            let (methods, warnings) = target.make_cold(place, &tables, dataset.shared)?;
            keep.warn_all(warnings);
            // They were written anew.
            let (mut session, _watched) = target.session(&dataset.workspace)?;
            for (size, table) in self.sizes.iter_mut().zip(&tables) {
                *size = session.table_size(table)?;
            }
            methods
        };
        if dataset.shared && target.cold.restart_command.is_none() {
            keep.warn("other runs may be reading the kept data set, so it was not written anew to make it cold");
        }
        if !keep.time.settle.is_zero() {
            keep.log.activity("settling");
            keep.time.wait(keep.time.settle)?;
        }
        Ok(methods)
    }
}

/// What the service says of the memory in use before anything is read, in percent of the level's.
fn memory_percent(target: &Target<'_>, workspace: &Workspace) -> Result<Option<f64>> {
    let (mut session, _watched) = target.session(workspace)?;
    let memory = session.sample_memory()?.filter(|reading| reading.metric == Counter::MemoryPercent);
    Ok(memory.map(|reading| reading.value))
}

fn not_prepared() -> Error {
    Error::new(ErrorKind::Internal, "the scan was not prepared")
}
