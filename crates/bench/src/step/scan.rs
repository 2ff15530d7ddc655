//! Table scans: one query per table, tables in order, one session (reference, 2.9; weakest isolation: 2.9, NOLOCK variant).
//! Into the client several sessions may read (2.8): that is [`read`](super::read)'s.

use plimsoll_engine::{Cold, Database, Error, ErrorKind, Result, TableSize, WeakIsolation, Workspace};
use plimsoll_measurement::{ColdStart, Counter, Metric, Point, units};

use super::read::Read;
use super::{Context, Follower, Measure, Probe};
use crate::dataset::{self, Dataset, DatasetSpec, too_many_rows};
use crate::parameters::Parameters;
use crate::schema::Width;

/// Fewest points of a repetition: below, a series shows nothing (reference, A19).
const FEWEST_TABLES: u64 = 10;

/// How many tables the volume is spread over: as asked for, else one per GB as the seeds had, at least ten.
pub(crate) fn tables(parameters: &Parameters) -> u64 {
    match parameters.count("tables") {
        0 => parameters.bytes("volume").div_ceil(1 << 30).max(FEWEST_TABLES),
        tables => tables,
    }
}

/// The data set that these parameters ask for.
pub(crate) fn wanted(parameters: &Parameters, page_bytes: u64) -> DatasetSpec {
    let tables = tables(parameters);
    let width = Width::from_name(parameters.choice("row"));
    let rows = (parameters.bytes("volume") / tables / width.row_bytes()).max(1);
    DatasetSpec { tables, rows, width, seed: parameters.count("seed"), page_bytes }
}

#[derive(Default)]
pub(super) struct Scan {
    dataset: Option<Dataset>,
    sizes: Vec<TableSize>,
}

impl Measure for Scan {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let page_bytes = context.database.description().page_bytes;
        let wanted = wanted(context.parameters, page_bytes);
        if i32::try_from(wanted.rows).is_err() {
            return Err(too_many_rows().hint("spread the volume over more tables with --set tables=..."));
        }
        let into_client = context.parameters.choice("into") == "client";
        if into_client && context.parameters.choice("isolation") == "weakest" {
            let message = "what is read into the client has the engine's default isolation";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("leave out --set isolation=weakest, or add --set into=engine"));
        }
        if context.parameters.choice("isolation") == "weakest"
            && let WeakIsolation::NoEffect(reason) = &context.database.description().weak_isolation
        {
            let note = format!("no effect: {reason}");
            context.facts.insert("weakest_isolation".to_owned(), note.clone().into());
            context.warn(format!("the weakest isolation has {note}; the figures are those of read-scan"));
        }
        let is_cold = context.parameters.choice("cache") == "cold";
        let dataset = dataset::prepare(context, wanted, is_cold && context.cold.restart_command.is_none())?;
        context.facts.insert("tables".to_owned(), wanted.tables.into());
        context.facts.insert("rows_per_table".to_owned(), wanted.rows.into());
        context.facts.insert("data_reused".to_owned(), dataset.reused.into());
        let (mut session, _watched) = context.session(&dataset.workspace)?;
        self.sizes = dataset.tables.iter().map(|(table, _)| session.table_size(table)).collect::<Result<_>>()?;
        self.dataset = Some(dataset);
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let cold = context.parameters.choice("cache") == "cold";
        let methods = if cold { self.make_cold(context)? } else { Vec::new() };
        let dataset = self.dataset.as_ref().ok_or_else(not_prepared)?;
        if context.parameters.choice("into") == "client" {
            let sums = Read { dataset, sizes: &self.sizes }.repeat(context)?;
            finish(context, cold, &sums, methods);
            return Ok(());
        }
        let weak = context.parameters.choice("isolation") == "weakest";
        let page_bytes = context.database.description().page_bytes;
        let (mut session, _watched) = context.session(&dataset.workspace)?;
        let session = session.as_mut();
        if let Some(statement) = session.dialect().weak_isolation().filter(|_| weak) {
            session.execute(statement, &[])?;
        }
        let mut probe = Probe::new(context.database);
        let mut sum = Sums::default();
        context.log.activity("scanning");
        context.begin();
        for ((table, row_summary), size) in dataset.tables.iter().zip(&self.sizes) {
            context.interrupt.check()?;
            let sql = session.dialect().scan(&table.name, weak);
            let misses_before = session.table_misses(table)?;
            probe.start(session)?;
            let start = context.clock.now();
            session.query_count(&sql, &[])?;
            let seconds = context.clock.now().since(start).as_secs_f64();
            probe.stop(session)?;
            let misses = probe.misses(misses_before, session.table_misses(table)?);
            let device_bytes = probe.count(Counter::DeviceReadBytes);
            sum.add(size.table_bytes, misses.map(|pages| pages * page_bytes), device_bytes);
            let point = Point {
                label: Some(table.name.clone()),
                started_seconds: context.seconds_since_start(start),
                seconds,
                ..Point::default()
            }
            .with(Metric::Rows, row_summary.rows)
            .with(Metric::ContentBytes, row_summary.content_bytes)
            .with(Metric::MbPerMinute, units::mb_per_minute(row_summary.content_bytes, seconds))
            .with(Metric::PageBytes, size.table_bytes)
            .with(Metric::DeviceBytes, device_bytes)
            .with(Metric::CacheMissPages, misses)
            .with(Metric::CpuSeconds, probe.growth(Counter::EngineCpuSeconds));
            context.keep(point)?;
        }
        finish(context, cold, &sum, methods);
        Ok(())
    }

    fn finish(&mut self, _: &dyn Database, _: &Workspace) -> Result<()> {
        self.dataset = None;
        Ok(())
    }
}

impl Scan {
    fn make_cold(&mut self, context: &mut Context<'_>) -> Result<Vec<String>> {
        let dataset = self.dataset.as_mut().ok_or_else(not_prepared)?;
        context.log.activity("making the cache cold");
        let tables: Vec<_> = dataset.tables.iter().map(|(table, _)| table.clone()).collect();
        let cold = Cold { shared: dataset.shared, ..context.cold.clone() };
        let leases = [Some(&mut *context.lease), dataset.lease.as_deref_mut()];
        let mut follower = Follower::new(context.interrupt, leases);
        let methods =
            context.database.make_cold(&dataset.workspace, context.workspace, &tables, &cold, &mut follower)?;
        for warning in follower.into_warnings() {
            context.warn(warning);
        }
        if dataset.shared && context.cold.restart_command.is_none() {
            context.warn("other runs may be reading the kept data set, so it was not written anew to make it cold");
        }
        let (mut session, _watched) = context.session(&dataset.workspace)?;
        for (size, table) in self.sizes.iter_mut().zip(&tables) {
            *size = session.table_size(table)?;
        }
        drop(session);
        if !context.settle.is_zero() {
            context.log.activity("settling");
            context.wait(context.settle)?;
        }
        Ok(methods)
    }
}

/// Says how a cold start was made and what proves it.
fn finish(context: &mut Context<'_>, cold: bool, sum: &Sums, methods: Vec<String>) {
    if cold {
        let proof = sum.proof(methods, context.settle.as_secs_f64());
        judge(context, &proof);
        context.record_cold(proof);
    }
}

fn not_prepared() -> Error {
    Error::new(ErrorKind::Internal, "the scan was not prepared")
}

/// What was read in all, to prove that the start was cold.
#[derive(Default)]
pub(super) struct Sums {
    /// Bytes of the tables' pages.
    pub pages: u64,
    /// Bytes that the engine did not have in its cache.
    pub missed: Option<u64>,
    /// Bytes that came from the device.
    pub device: Option<u64>,
    tables: u32,
}

impl Sums {
    pub fn add(&mut self, pages: u64, missed: Option<u64>, device: Option<u64>) {
        let join = |sum: Option<u64>, more: Option<u64>, first: bool| match (sum, more) {
            (None, more) if first => more,
            (Some(sum), Some(more)) => Some(sum + more),
            _ => None,
        };
        self.missed = join(self.missed, missed, self.tables == 0);
        self.device = join(self.device, device, self.tables == 0);
        self.pages += pages;
        self.tables += 1;
    }

    fn proof(&self, methods: Vec<String>, settle_seconds: f64) -> ColdStart {
        let percent =
            |bytes: Option<u64>| bytes.filter(|_| self.pages > 0).map(|bytes| 100.0 * bytes as f64 / self.pages as f64);
        let (engine, device) = (percent(self.missed), percent(self.device));
        let verified = engine.is_some_and(|percent| percent >= 98.0) && device.is_some_and(|percent| percent >= 98.0);
        ColdStart { methods, engine_miss_percent: engine, device_read_percent: device, verified, settle_seconds }
    }
}

fn judge(context: &mut Context<'_>, proof: &ColdStart) {
    if proof.engine_miss_percent.is_some_and(|percent| percent < 98.0) {
        context
            .warn("not cold: part of the data was in the engine's own cache, so the rate is not the storage's alone");
    }
    match proof.device_read_percent {
        Some(percent) if percent < 98.0 => {
            context
                .warn("the operating system's cache served part of the reads, so the rate is not the device's alone");
        }
        None => context
            .warn("the device's reads can't be seen from here: the operating system's cache may have served some"),
        Some(_) => {}
    }
}
