//! Data sets: tables of the family, named by seed, schema and size. A run makes its own and removes it; with
//! `--keep-data` the set stays for later runs, which verify and share it. A load that was interrupted goes on by table.

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::work::TableData;
use plimsoll_engine::{
    ClaimMode, ColumnType, Error, ErrorKind, Lease, Result, Row, RowSource, Session, Table, Value, Workspace,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::generate::{Family, Rows};
use crate::parameters::Parameters;
use crate::schema::{self, Width};
use crate::step::context::{Keep, Target};

/// What a data set consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatasetSpec {
    pub tables: u64,
    pub rows: u64,
    pub width: Width,
    pub seed: u64,
    /// Size of the engine's pages: a set in other pages is another set.
    pub page_bytes: u64,
}

/// A data set at the target, ready to be read.
pub(crate) struct Dataset {
    /// Where it is: the run's own place, or one that is kept.
    pub workspace: Workspace,
    /// Its tables with what is in them.
    pub tables: Vec<(Table, RowSummary)>,
    /// The lease that keeps others from removing a kept set.
    pub lease: Option<Box<dyn Lease>>,
    /// True if it had been there before.
    pub reused: bool,
    /// True if others may be reading it.
    pub shared: bool,
}

/// Bump when rows of a seed or marks change: kept sets of older programs are then no longer found.
const FORMAT: u32 = 2;

impl DatasetSpec {
    /// The data set that parameters ask for.
    pub fn wanted(parameters: &Parameters, page_bytes: u64) -> Self {
        let (tables, width) = (parameters.tables(), Width::from_name(parameters.choice("row")));
        let rows = (parameters.bytes("volume") / tables / width.row_bytes()).max(1);
        Self { tables, rows, width, seed: parameters.count("seed"), page_bytes }
    }

    /// Its tables with their rows, for a target that knows its limits.
    pub(crate) fn table_data<'a>(self) -> impl Iterator<Item = TableData<'a>> {
        (0..self.tables).map(move |number| {
            let rows = Box::new(self.generator(number, 1, self.rows));
            TableData { table: self.table(number), rows }
        })
    }

    /// All of the database that holds it: first the list of its tables. The few bytes of that list are no part of a figure.
    pub(crate) fn whole<'a>(self) -> Vec<TableData<'a>> {
        let list = Manifest { next: 0, tables: self.tables };
        let list = TableData { table: manifest(), rows: Box::new(list) };
        std::iter::once(list).chain(self.table_data()).collect()
    }

    /// Content bytes of a table, by the mean row.
    pub fn table_bytes(&self) -> u64 {
        self.rows * self.width.row_bytes()
    }

    /// The place under which such a set is kept.
    pub fn workspace(&self) -> Workspace {
        let columns = schema::family("t", self.width).columns;
        let name = format!("{FORMAT} {columns:?} {} {} {} {}", self.tables, self.rows, self.seed, self.page_bytes);
        Workspace::data(xxh3_64(name.as_bytes()))
    }

    pub fn table(&self, number: u64) -> Table {
        schema::family(&format!("table{number}"), self.width)
    }

    /// The rows of a table with keys from `first` to `last`.
    pub fn generator(&self, number: u64, first: u64, last: u64) -> Rows {
        Rows::new(Family::Typed(self.width), self.seed, number, first, last)
    }
}

/// Finds, completes or makes the data set. `alone` asks for a kept set that no other run reads, because it will be written anew
/// to make it cold. If others read it, it is shared and that can't be done.
pub(crate) fn prepare(target: &Target<'_>, keep: &mut Keep<'_>, wanted: DatasetSpec, alone: bool) -> Result<Dataset> {
    let kept = wanted.workspace();
    let places = target.database.workspaces()?;
    let exists = places.iter().any(|status| status.workspace == kept && status.not_ours.is_none());
    if exists || target.keep_data {
        let claimed = match target.database.claim(&kept, ClaimMode::Exclusive) {
            // A set with something of others in it is not touched, and who keeps no data does without it.
            Err(error) if error.kind == ErrorKind::Safety && !target.keep_data => {
                keep.warn(format!("{}; so this run loaded its own", error.message));
                let tables = load(target, keep, target.workspace, wanted)?;
                let workspace = target.workspace.clone();
                return Ok(Dataset { workspace, tables, lease: None, reused: false, shared: false });
            }
            claimed => claimed?,
        };
        if let Some(mut lease) = claimed {
            let reused = if exists { verify(target, keep, &kept, wanted)? } else { None };
            let is_reused = reused.is_some();
            let tables = match reused {
                // Incomplete or damaged: a run that keeps data repairs it, every other leaves it alone.
                None if target.keep_data => Some(load(target, keep, &kept, wanted)?),
                reused => reused,
            };
            if let Some(tables) = tables {
                if !alone {
                    lease.share()?;
                }
                let lease = Some(lease);
                return Ok(Dataset { workspace: kept, tables, lease, reused: is_reused, shared: !alone });
            }
        } else if let Some(lease) = target.database.claim(&kept, ClaimMode::Shared)?
            && let Some(tables) = verify(target, keep, &kept, wanted)?
        {
            return Ok(Dataset { workspace: kept, tables, lease: Some(lease), reused: true, shared: true });
        } else if target.keep_data {
            keep.warn("another run works with the same data set, so this run made its own and did not keep it");
        }
    }
    let tables = load(target, keep, target.workspace, wanted)?;
    Ok(Dataset { workspace: target.workspace.clone(), tables, lease: None, reused: false, shared: false })
}

/// The list of finished tables within a place; a table that isn't in it is unfinished.
fn manifest() -> Table {
    let columns = [
        ("Number", ColumnType::Int),
        ("RowCount", ColumnType::BigInt),
        ("ContentBytes", ColumnType::BigInt),
        ("RowSum", ColumnType::BigInt),
    ];
    Table::new("plimsoll_manifest", &columns)
}

/// The rows of the list, in the room that they take.
struct Manifest {
    next: u64,
    tables: u64,
}

impl RowSource for Manifest {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.next >= self.tables {
            return Ok(false);
        }
        row.push(Value::Int(check_rows(self.next)?));
        (1..manifest().columns.len()).for_each(|_| row.push(Value::BigInt(i64::MAX)));
        self.next += 1;
        Ok(true)
    }
}

/// What the manifest says of each table; `None` if there is no manifest.
fn finished(session: &mut dyn Session, tables: u64) -> Result<Option<Vec<Option<RowSummary>>>> {
    let mut found = vec![None; tables as usize];
    let manifest = manifest();
    let sql = session.dialect().read_rows(&manifest);
    let range = [Value::Int(0), Value::Int(i32::MAX)];
    let read = session.query(&sql, &range, &manifest.types(), &mut |row| {
        if let (Value::Int(number), Value::BigInt(rows), Value::BigInt(content), Value::BigInt(sum)) =
            (row.get(0), row.get(1), row.get(2), row.get(3))
            && let Some(workspace) = found.get_mut(number as usize)
        {
            *workspace = Some(RowSummary { rows: rows as u64, content_bytes: content as u64, checksum: sum as u64 });
        }
        Ok(())
    });
    match read {
        Ok(()) => Ok(Some(found)),
        Err(error) if is_no_answer(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// True if an error says nothing about the table that was asked for.
fn is_no_answer(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled | ErrorKind::Permission | ErrorKind::Busy)
}

/// Makes the tables of a data set that are not in a place yet.
pub(crate) fn load(
    target: &Target<'_>,
    keep: &mut Keep<'_>,
    workspace: &Workspace,
    wanted: DatasetSpec,
) -> Result<Vec<(Table, RowSummary)>> {
    let (mut session, _watched) = target.session(workspace)?;
    let session = session.as_mut();
    let (manifest, known) = (manifest(), finished(session, wanted.tables)?);
    if known.is_none() {
        session.create_table(&manifest)?;
    }
    let known = known.unwrap_or_else(|| vec![None; wanted.tables as usize]);
    let mut tables = Vec::with_capacity(known.len());
    for (number, known) in (0..wanted.tables).zip(known) {
        let table = wanted.table(number);
        if let Some(kept) = kept(session, wanted, number, known)? {
            tables.push(kept);
            continue;
        }
        let dialect = session.dialect();
        session.check_table(&table)?;
        session.remove_table(&table)?;
        let (manifest, key) = (dialect.table(&manifest.name), dialect.column(manifest.key()));
        session.execute(&format!("DELETE FROM {manifest} WHERE {key} = {number}"), &[])?;
        session.create_table(&table)?;
        let row_summary = keep.load(session, &table, wanted.generator(number, 1, wanted.rows), wanted.table_bytes())?;
        session.settle_table(&table)?;
        let note = format!(
            "INSERT INTO {manifest} VALUES ({number}, {}, {}, {})",
            row_summary.rows, row_summary.content_bytes, row_summary.checksum as i64
        );
        session.execute(&note, &[])?;
        tables.push((table, row_summary));
    }
    if !session.checkpoint()? {
        keep.warn("no permission for a checkpoint: dirty pages of the load may be written during the test");
    }
    Ok(tables)
}

/// The tables of a complete set, if its samples agree with the generator.
pub(crate) fn verify(
    target: &Target<'_>,
    keep: &mut Keep<'_>,
    workspace: &Workspace,
    wanted: DatasetSpec,
) -> Result<Option<Vec<(Table, RowSummary)>>> {
    keep.log.activity("verifying the kept data set");
    let (mut session, _watched) = target.session(workspace)?;
    let Some(known) = finished(session.as_mut(), wanted.tables)? else { return Ok(None) };
    let session = session.as_mut();
    (0..wanted.tables).zip(known).map(|(number, known)| kept(session, wanted, number, known)).collect()
}

/// A table with what the list says of it, if that is there and agrees with the generator.
fn kept(
    session: &mut dyn Session,
    wanted: DatasetSpec,
    number: u64,
    known: Option<RowSummary>,
) -> Result<Option<(Table, RowSummary)>> {
    let table = wanted.table(number);
    let agrees = known.is_some() && segments_agree(session, wanted, number, &table)?;
    Ok(known.filter(|_| agrees).map(|row_summary| (table, row_summary)))
}

/// Compares the row count and three segments of a kept table (first, middle, last) with what the generator makes.
fn segments_agree(session: &mut dyn Session, wanted: DatasetSpec, number: u64, table: &Table) -> Result<bool> {
    const SEGMENT: u64 = 500;
    let count = match session.query_count(&session.dialect().count_rows(table), &[]) {
        Ok(count) => count,
        Err(error) if is_no_answer(&error) => return Err(error),
        Err(_) => return Ok(false),
    };
    if count != wanted.rows {
        return Ok(false);
    }
    for first in [1, (wanted.rows / 2).max(1), wanted.rows.saturating_sub(SEGMENT).max(1)] {
        let last = (first + SEGMENT - 1).min(wanted.rows);
        if checksum(session, table, first, last)? != wanted.generator(number, first, last).summary() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads rows back and tallies them in the canonical encoding: equal on all engines for a seed.
pub fn checksum(session: &mut dyn Session, table: &Table, first: u64, last: u64) -> Result<RowSummary> {
    let sql = session.dialect().read_rows(table);
    let key = |number: u64| check_rows(number).map(Value::Int);
    let mut row_summary = RowSummary::default();
    session.query(&sql, &[key(first)?, key(last)?], &table.types(), &mut |row| {
        row_summary.add(row);
        Ok(())
    })?;
    Ok(row_summary)
}

/// Keys have 32 bits, as in the reference: a table of so many rows has them.
pub(crate) fn check_rows(rows: u64) -> Result<i32> {
    i32::try_from(rows).map_err(|_| too_many_rows())
}

pub(crate) fn too_many_rows() -> Error {
    Error::new(ErrorKind::Usage, "a table would need more than 2^31 rows").hint("ask for less with --set volume=...")
}
