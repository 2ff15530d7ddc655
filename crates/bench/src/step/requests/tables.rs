//! The tables that requests on rows work on: loaded anew for every repetition, warm or cold.

use plimsoll_engine::{Error, ErrorKind, Result, Session, Table, TableSize};

use crate::dataset::DatasetSpec;
use crate::generate::Family;
use crate::parameters::Parameters;
use crate::schema::Width;
use crate::step::context::{Keep, Target as At};
use crate::step::kind::contradiction;
use crate::workload::mix::{Kind, Mix};
use crate::workload::rows::{OnRows, Target};
use plimsoll_load::keys::{D1, D2, Keys, Pieces, Zipf};
use plimsoll_load::phases::Phase;

/// The exponent of the zipf choice of keys.
const THETA: f64 = 0.99;

/// Keys that are set aside for new rows of which some are asked for again: as many as all sessions may insert in a
/// second, for each second.
const NEW_KEYS_A_SECOND: u64 = 50_000;

/// Loads that a server breaks off are begun so often, and it is tried so often to come back.
const MOST_LOADS: u32 = 3;
const MOST_TRIES: u32 = 5;

/// Rows of a table for requests without a server, and room for new ones.
const REHEARSAL_ROWS: u64 = 100_000;
const REHEARSAL_KEYS: u64 = 10_000_000;

/// Requests on rows, as a phase makes them.
pub(super) fn on_rows<'a>(
    mix: &'a Mix,
    parameters: &Parameters,
    targets: &'a [Target],
    phase: &Phase,
) -> Result<OnRows<'a>> {
    let (single, ranges) = keys(parameters.choice("keys")).map_err(contradiction)?;
    Ok(OnRows {
        mix,
        targets,
        single,
        ranges,
        batch_rows: phase.batch_rows,
        seed: parameters.count("seed"),
        family: Family::Typed(Width::Seeds),
    })
}

/// The tables that requests begin with.
pub(super) fn wanted(parameters: &Parameters, page_bytes: u64) -> DatasetSpec {
    let tables = match parameters.count("tables") {
        0 => 1,
        tables => tables,
    };
    let width = Width::Seeds;
    let rows = (parameters.bytes("volume") / tables / width.row_bytes()).max(100);
    DatasetSpec { tables, rows, width, seed: parameters.count("seed"), page_bytes }
}

/// Positions of single rows, and of ranges: D1 has D2 beside it (reference, 2.12).
fn keys(choice: &str) -> std::result::Result<(Keys, Keys), String> {
    Ok(match choice {
        "zipf" => (Keys::Zipf(Zipf::new(THETA)?), Keys::Zipf(Zipf::new(THETA)?)),
        "newest" => (Keys::Table(Pieces::new(&D1)?), Keys::Table(Pieces::new(&D2)?)),
        _ => (Keys::Uniform, Keys::Uniform),
    })
}

/// Loads the tables anew: requests have changed those of the last repetition. Warm tables are read once.
pub(super) fn provision(
    target: &mut At<'_>,
    parameters: &Parameters,
    mix: &Mix,
    keep: &mut Keep<'_>,
) -> Result<Vec<Target>> {
    let is_cold = parameters.choice("cache") == "cold";
    let mut loads = 1;
    let targets = loop {
        match load(target, parameters, mix, keep, is_cold) {
            Err(error) if loads < MOST_LOADS => {
                await_server(target, keep, error)?;
                loads += 1;
            }
            loaded => break loaded?,
        }
    };
    if is_cold {
        keep.log.activity("making the cache cold");
        let tables: Vec<_> = targets.iter().map(|target| target.table.clone()).collect();
        let (_, warnings) = target.make_cold((target.workspace, None), &tables, false)?;
        keep.warn_all(warnings);
    }
    Ok(targets)
}

/// Makes and fills the tables in place of those that may be there.
fn load(
    target: &At<'_>,
    parameters: &Parameters,
    mix: &Mix,
    keep: &mut Keep<'_>,
    is_cold: bool,
) -> Result<Vec<Target>> {
    let wanted = wanted(parameters, target.page_bytes());
    let lasts = parameters.duration("duration").as_secs().max(1);
    let asks_again = mix.kinds().into_iter().any(|kind| !kind.is_new() && kind != Kind::TableSelect);
    let asks_for_rows = mix.kinds().into_iter().any(|kind| kind.is_single() && kind != Kind::BulkLoad);
    let new_keys = if asks_again { lasts.saturating_mul(NEW_KEYS_A_SECOND) } else { 0 };
    let remembered = wanted.rows.saturating_add(new_keys).min(i32::MAX as u64);
    let mut targets = Vec::new();
    let (mut session, _watched) = target.session(target.workspace)?;
    let session = session.as_mut();
    // All of them first: new tables in the gaps of old ones would not lie in order.
    for number in 0..wanted.tables {
        session.drop_table(&wanted.table(number))?;
    }
    for number in 0..wanted.tables {
        let table = wanted.table(number);
        session.create_table(&table)?;
        keep.load(session, &table, wanted.generator(number, 1, wanted.rows), wanted.table_bytes())?;
        session.settle_table(&table)?;
        if !is_cold {
            session.query_count(&session.dialect().scan(&table.name, false), &[])?;
        }
        let by_procedure =
            asks_for_rows && by_procedure(target, parameters.choice("procedures"), keep, session, &table)?;
        targets.push(Target::new(table, number, (wanted.rows, remembered), session.dialect(), by_procedure));
    }
    session.checkpoint()?;
    // How much of it more memory would hold follows from its size. An engine in the program itself says that of its file.
    if !target.database.description().embedded {
        let sizes = targets.iter().map(|target| session.table_size(&target.table));
        let sizes: Option<Vec<TableSize>> = sizes.collect::<Result<_>>()?;
        if let Some(sizes) = sizes {
            keep.sampling.set_data(sizes.into_iter().map(TableSize::bytes).sum());
        }
    }
    Ok(targets)
}

/// Waits until a server that broke off a load for a reason that passes takes it again, which is begun anew then. The reason is in the
/// error, or in what the server says to whoever comes back; where it says none, somebody may have ended the load on purpose.
fn await_server(target: &mut At<'_>, keep: &mut Keep<'_>, error: Error) -> Result<()> {
    let mut pause = error.retry_after;
    if pause.is_none() && error.kind != ErrorKind::Lost {
        return Err(error);
    }
    for tries in 0..MOST_TRIES {
        keep.time.wait(pause.unwrap_or_default().saturating_mul(1 << tries))?;
        match target.lease.renew() {
            Ok(()) if pause.is_some() => {
                keep.warn(format!(
                    "tables of a repetition were loaded anew, as the server broke that off: {}",
                    error.message
                ));
                return Ok(());
            }
            Err(again) if again.retry_after.is_some() => pause = again.retry_after,
            _ => break,
        }
    }
    Err(error)
}

/// Whether procedures make the requests for single rows of a table; then they are there.
fn by_procedure(
    target: &At<'_>,
    asked: &str,
    keep: &mut Keep<'_>,
    session: &mut dyn Session,
    table: &Table,
) -> Result<bool> {
    let wanted = asked == "yes" || (asked == "usual" && session.dialect().prefers_procedures());
    let made = wanted && session.make_procedures(table)?;
    if asked == "yes" && !made {
        let engine = &target.database.description().engine;
        return Err(Error::new(ErrorKind::Unsupported, format!("no stored procedures can be made on '{engine}' here"))
            .hint("leave out procedures=yes, or let the user make them where the engine has them"));
    }
    if made {
        keep.fact("by_procedure", true);
    }
    Ok(made)
}

/// A table that isn't there, for requests without a server.
pub(super) fn rehearsal(parameters: &Parameters, target: &At<'_>) -> Result<Target> {
    let (session, _watched) = target.session(target.workspace)?;
    let table = wanted(parameters, target.page_bytes()).table(0);
    Ok(Target::new(table, 0, (REHEARSAL_ROWS, REHEARSAL_KEYS), session.dialect(), false))
}
