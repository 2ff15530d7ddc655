//! Chunked writes: one INSERT ... SELECT and one transaction per chunk, from a source in the engine's cache (reference,
//! 2.10, A18). The source is small and selected several times over, because a large scan goes through a ring buffer or
//! evicts itself, and would be read from outside every time.

use std::time::Duration;

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::work::{Expected, TableData, Work};
use plimsoll_engine::{Error, ErrorKind, Need, Result, Session, Table, Workspace};
use plimsoll_measurement::{Counter, Metric, Point, units};

use crate::figures::series::rate;
use crate::generate::{Family, Rows};
use crate::parameters::shared::{CHUNK, DAY, ROW, SEED, SOURCE, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::schema::{self, Width};
use crate::step::context::{Context, Keep, Target, Time};
use crate::step::kind::{Ask, Measure, Measures, Ran, StepKind, contradiction, pages};
use crate::step::probe::Probe;
use crate::step::transfer::source::Size;

/// Stage of the scan of what was written.
pub(crate) const SCAN: &str = "scan";

/// Fewest chunks of a repetition (reference, A19).
const FEWEST_CHUNKS: u64 = 10;

/// No repetition writes more than this many times the volume that was asked for, however fast the target is.
const MOST_VOLUMES: u64 = 20;

/// Most parts of one statement: SQLite takes 500 in a compound select.
const MOST_PARTS: u64 = 400;

const AT_LEAST: Parameter = Parameter::new(
    "at_least",
    Kind::Duration(Duration::ZERO, DAY),
    "Shortest time of a repetition. A fast target writes more chunks than the volume asks for.",
);

/// A source has to be proved to be in the cache.
pub(super) const NEEDS: &[Need] = &[Need::Counted(Counter::CacheMissPages)];

/// Chunked writes (2.10).
pub(super) const KIND: StepKind = StepKind {
    expects,
    space_bytes: |parameters, _| {
        let chunks = parameters.bytes("volume").max(10 * parameters.bytes("chunk"));
        let logs = parameters.bytes("chunk").saturating_mul(2);
        pages(chunks).saturating_add(pages(logs)).saturating_add(parameters.bytes("source").saturating_mul(2))
    },
    compares_volumes: true,
    needs: NEEDS,
    ..StepKind::new(
        "write",
        &[&VOLUME, &ROW, &CHUNK, &SOURCE, &AT_LEAST, &SEED],
        || Measures::AtDatabase(Box::<Write>::default()),
        |measured| vec![rate("write_rate", &measured.points)],
    )
};

fn expects(ran: &Ran<'_>, ask: Ask<'_>) -> Result<Vec<Expected>> {
    let (table, rows) = source_rows(ran.parameters, None);
    let row_summary = rows.clone().summary();
    // A target that could not keep this source was given a smaller one.
    let used = ran.record.parameters.get("source_bytes").and_then(serde_json::Value::as_u64);
    if used != Some(row_summary.content_bytes) {
        return Ok(Vec::new());
    }
    let Shape { times, chunks, .. } = Shape::of(ran.parameters, row_summary);
    let source = TableData { table, rows: Box::new(rows) };
    Ok(ask(Work::Write { source, times, chunks })?.into_iter().collect())
}

#[derive(Default)]
pub(super) struct Write {
    /// Size of the source for the next repetition, once one has shown that the engine does not keep a larger one.
    source_bytes: Option<u64>,
    /// Where it writes within another step, and beside the move of which of several databases.
    within: Option<(Workspace, Option<Size>)>,
    scans: bool,
}

impl Write {
    /// A write within another step, in a repetition that has begun.
    pub(super) fn within(workspace: Workspace, beside: Option<Size>) -> Self {
        Self { within: Some((workspace, beside)), ..Self::default() }
    }

    /// The same with a scan of what was written, from wherever it lies by then.
    #[must_use]
    pub(super) fn and_scan(self) -> Self {
        Self { scans: true, ..self }
    }
}

/// Parameters of a short write beside something of this volume: a quarter of it.
pub(super) fn brief(parameters: &Parameters, volume: u64) -> Parameters {
    let chunk = (volume / (4 * FEWEST_CHUNKS)).max(1 << 16);
    let parameters = parameters.clone().with_bytes(&VOLUME, FEWEST_CHUNKS * chunk);
    parameters.with_bytes(&CHUNK, chunk).with_bytes(&SOURCE, chunk.min(1 << 20))
}

/// What a repetition writes, once its source is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How often a chunk selects the source.
    pub times: u64,
    /// Rows of a chunk.
    pub rows: u64,
    /// Content of a chunk.
    pub chunk_bytes: u64,
    /// Chunks that make up the volume.
    pub chunks: u64,
}

impl Shape {
    /// With a source of this many rows and bytes.
    pub fn of(parameters: &Parameters, source: RowSummary) -> Self {
        let source_bytes = source.content_bytes.max(1);
        let times = ((parameters.bytes("chunk") + source_bytes / 2) / source_bytes).clamp(1, MOST_PARTS);
        let chunk_bytes = times * source_bytes;
        let chunks = parameters.bytes("volume").div_ceil(chunk_bytes).max(FEWEST_CHUNKS);
        Self { times, rows: times * source.rows, chunk_bytes, chunks }
    }
}

/// The source that is asked for: its table, and its rows if they are to have this much content.
pub(crate) fn source_rows(parameters: &Parameters, content_bytes: Option<u64>) -> (Table, Rows) {
    let width = Width::from_name(parameters.choice("row"));
    let asked = parameters.bytes("source").min(parameters.bytes("chunk"));
    let rows = (content_bytes.unwrap_or(asked) / width.row_bytes()).max(10);
    (schema::family("source", width), Rows::new(Family::Typed(width), parameters.count("seed"), 0, 1, rows))
}

struct Source {
    table: Table,
    name: String,
    row_summary: RowSummary,
}

impl Measure for Write {
    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        self.write(&context.target, context.parameters, context.keep)
    }
}

impl Write {
    /// The source is made in the measuring session: on some engines it lives in that session's memory.
    pub(super) fn write(&mut self, target: &Target<'_>, parameters: &Parameters, keep: &mut Keep<'_>) -> Result<()> {
        let Time { clock, interrupt, .. } = keep.time;
        let (workspace, beside) = self.within.clone().unwrap_or_else(|| (target.workspace.clone(), None));
        let (mut session, _watched) = target.session(&workspace)?;
        let session = session.as_mut();
        let source = make_source(parameters, keep, session, self.source_bytes)?;
        let table = schema::family("chunks", Width::from_name(parameters.choice("row")));
        session.drop_table(&table)?;
        session.create_table(&table)?;
        session.checkpoint()?;

        let Shape { times, rows, chunk_bytes, chunks: asked } = Shape::of(parameters, source.row_summary);
        // Keys have 32 bits, as in the reference.
        let possible = i32::MAX as u64 / rows;
        if asked > possible {
            return Err(crate::dataset::too_many_rows());
        }
        if chunk_bytes < parameters.bytes("chunk") / 4 * 3 {
            let size = units::format_bytes(chunk_bytes);
            keep.warn(format!("chunks are only {size}: the source is too small to be selected often enough"));
        }
        keep.fact("chunk_bytes", chunk_bytes);
        keep.fact("source_bytes", source.row_summary.content_bytes);
        keep.fact("source_selected_times", times);

        let mut probe = Probe::new(target.database);
        let mut size = session.table_size(&table)?;
        keep.log.activity("writing chunks");
        if self.within.is_none() {
            keep.begin(Some(target.database));
        }
        let begun = clock.now();
        let (first_point, mut written_bytes) = (keep.repetition.points.len(), 0);
        for chunk in 0.. {
            let run_for = clock.now().since(begun);
            let enough = chunk >= asked && run_for >= parameters.duration("at_least");
            let room = fits(target, chunk_bytes);
            if chunk < asked && !room {
                let message = format!("the target's disk has no room for chunk {}", chunk + 1);
                return Err(Error::new(ErrorKind::DiskFull, message));
            }
            if enough || chunk >= (asked.saturating_mul(MOST_VOLUMES)).min(possible) || !room {
                break;
            }
            interrupt.check()?;
            let first_key = chunk * rows + 1;
            let sql = session.dialect().copy_chunk(&table, &source.name, source.row_summary.rows, times, first_key);
            // Where the engine counts by table, those of the chunk itself; elsewhere those of a scan of the source just before it.
            let misses_before = session.table_misses(&source.table)?;
            let of_a_read = misses_before.map_or_else(|| misses_of_a_read(session, &source).map(Some), |_| Ok(None))?;
            probe.start(session)?;
            let start = clock.now();
            let written = session.execute(&sql, &[])?;
            let end = clock.now();
            probe.stop(session)?;
            if written != rows {
                return Err(contradiction(format!("a chunk of {rows} rows wrote {written}")));
            }
            let source_miss_pages = match misses_before {
                Some(before) => session.table_misses(&source.table)?.and_then(|after| after.checked_sub(before)),
                None => of_a_read,
            };
            let size_before = std::mem::replace(&mut size, session.table_size(&table)?);
            let page_bytes = size.zip(size_before).and_then(|(size, before)| size.bytes().checked_sub(before.bytes()));
            let label = Size::label(beside.as_ref(), &format!("chunk {}", chunk + 1));
            let mut point = keep
                .from_to(label, start, end)
                .with(Metric::Rows, rows)
                .with_content(chunk_bytes)
                .with(Metric::PageBytes, page_bytes)
                .with(Metric::DeviceBytes, probe.count(Counter::DeviceWriteBytes))
                .with(Metric::LogBytes, probe.count(Counter::LogWriteBytes))
                .with(Metric::CpuSeconds, probe.growth(Counter::EngineCpuSeconds))
                .with(Metric::SourceMissPages, source_miss_pages);
            point.volume_bytes = beside.as_ref().map(|size| size.bytes);
            if source_miss_pages.is_some_and(|pages| pages > 0) {
                point.flags.push("source-read".to_owned());
                keep.warn("some chunks read their source from outside the engine's cache (flag source-read)");
            }
            keep.point(point)?;
            written_bytes += chunk_bytes;
        }
        if self.scans {
            let size = session.table_size(&table)?.map(|size| size.table_bytes);
            read_again(target, keep, session, &table, (written_bytes, size))?;
        }
        if keep.repetition.points[first_point..]
            .iter()
            .any(|point| point.count(Metric::SourceMissPages).is_some_and(|pages| pages > 0))
        {
            self.source_bytes = Some(source.row_summary.content_bytes / 2);
        }
        session.drop_table(&table)?;
        drop_source(session, &source.table)?;
        Ok(())
    }
}

/// Scans what was written, so many bytes of content in so many of pages, once the pages are where they belong.
fn read_again(
    target: &Target<'_>,
    keep: &mut Keep<'_>,
    session: &mut dyn Session,
    table: &Table,
    (bytes, page_bytes): (u64, Option<u64>),
) -> Result<()> {
    session.checkpoint()?;
    let mut probe = Probe::new(target.database);
    let (start, end, misses) = probe.scan(session, table, false, keep.time.clock.as_ref())?;
    keep.point(
        Point { stage: Some(SCAN.to_owned()), ..keep.from_to(SCAN, start, end) }
            .with_content(bytes)
            .with(Metric::PageBytes, page_bytes)
            .with(Metric::DeviceBytes, probe.count(Counter::DeviceReadBytes))
            .with(Metric::CacheMissPages, misses),
    )
}

/// A source gives no room back: it may lie in the session's memory.
fn drop_source(session: &mut dyn Session, source: &Table) -> Result<()> {
    session.check_table(source)?;
    session.remove_table(source)
}

/// True while another chunk, its log and as much again fit on the target's disk, or that can't be known.
fn fits(target: &Target<'_>, chunk_bytes: u64) -> bool {
    target.database.free_bytes().is_none_or(|free| free > chunk_bytes.saturating_mul(4))
}

/// Loads a source and halves it until scanning it a second time misses nothing. Chunks may still drive it out later, which
/// flags them; the next repetition then takes a smaller one.
fn make_source(
    parameters: &Parameters,
    keep: &mut Keep<'_>,
    session: &mut dyn Session,
    known: Option<u64>,
) -> Result<Source> {
    let asked = parameters.bytes("source").min(parameters.bytes("chunk"));
    let mut bytes = known.unwrap_or(asked);
    loop {
        let (table, rows) = source_rows(parameters, Some(bytes));
        let name = session.dialect().source_table(&table.name);
        let table = table.named(name.clone());
        drop_source(session, &table)?;
        session.create_table(&table)?;
        let row_summary = keep.load(session, &table, rows, bytes)?;
        session.settle_table(&table)?;
        let source = Source { table, name, row_summary };
        read_through(session, &source)?;
        let misses = misses_of_a_read(session, &source)?;
        if misses == 0 {
            return Ok(source);
        }
        if bytes < 1 << 17 {
            let message = "the engine keeps not even a source of 64 KB in its cache";
            return Err(Error::new(ErrorKind::Statement, message).hint("give the engine a larger cache"));
        }
        bytes /= 2;
    }
}

fn read_through(session: &mut dyn Session, source: &Source) -> Result<()> {
    let sql = session.dialect().scan(&source.name, false);
    session.query_count(&sql, &[]).map(|_| ())
}

/// Misses of one scan of the source: by the table's own counter, or by all of the session's.
fn misses_of_a_read(session: &mut dyn Session, source: &Source) -> Result<u64> {
    let before = source_misses(session, source)?;
    read_through(session, source)?;
    Ok(source_misses(session, source)?.saturating_sub(before))
}

fn source_misses(session: &mut dyn Session, source: &Source) -> Result<u64> {
    if let Some(pages) = session.table_misses(&source.table)? {
        return Ok(pages);
    }
    let readings = session.sample()?;
    let misses = readings.iter().find(|reading| reading.metric == Counter::CacheMissPages);
    misses.map(|reading| reading.value as u64).ok_or_else(|| contradiction("cache misses are not counted any more"))
}
