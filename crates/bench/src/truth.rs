//! What a run should show, where the target knows its own limits: what each step did is told to the target in terms of
//! rows, and its answer stands beside the figure. Nothing measured goes into it but the rung a join was timed at.

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::work::{self, TableData, Work};
use plimsoll_engine::{Database, Result, Row};
use plimsoll_measurement::{Expected, Figure, RunRecord};

use crate::dataset::{DatasetSpec, Manifest};
use crate::figures::join_rung;
use crate::parameters::Parameters;
use crate::step::{Step, moves, scan, write};

/// Puts the truth beside every figure of the run that the target can say it of.
///
/// # Errors
/// If the target can't make the rows.
pub(crate) fn tell(
    steps: &[Step],
    parameters: &Parameters,
    database: &dyn Database,
    record: &mut RunRecord,
) -> Result<()> {
    // Rows of large volumes take a while to go through: not for a run that was interrupted before it had a figure.
    if record.results.is_empty() {
        return Ok(());
    }
    for step in steps {
        let tables = || whole(moves::wanted(parameters, database.description().page_bytes));
        let of_log = (*step == Step::Import).then(|| Work::ImportLog(tables()));
        for work in work(*step, parameters, database, record).into_iter().chain(of_log) {
            let Some(expected) = database.expect(work)? else { continue };
            if let Some(figure) = record.results.iter_mut().find(|figure| figure.metric == expected.metric) {
                figure.expected = Some(beside(figure, expected));
            }
        }
    }
    record.expected = record.results.first().and_then(|headline| headline.expected.clone());
    Ok(())
}

fn beside(figure: &Figure, expected: work::Expected) -> Expected {
    Expected {
        value: expected.value,
        unit: figure.unit.clone(),
        basis: expected.basis,
        published: expected.published,
        limit: Some(expected.limit.to_owned()),
        reason: Some(expected.reason),
        error_percent: (expected.value > 0.0).then(|| 100.0 * (figure.value - expected.value) / expected.value),
    }
}

/// What a step did, if the truth of it can be told.
fn work<'a>(step: Step, parameters: &'a Parameters, database: &dyn Database, record: &RunRecord) -> Option<Work<'a>> {
    let page_bytes = database.description().page_bytes;
    match step {
        // What a warm cache holds depends on what was there before.
        Step::Scan if parameters.choice("cache") == "cold" => {
            let tables = table_data(scan::wanted(parameters, page_bytes));
            match (parameters.choice("into"), parameters.count("readers")) {
                ("client", 1) => Some(Work::Read(tables)),
                // How several share the device's queue is not gone through.
                ("client", _) => None,
                _ => Some(Work::Scan(tables)),
            }
        }
        Step::Scan | Step::Requests => None,
        Step::Import => Some(Work::Import(whole(moves::wanted(parameters, page_bytes)))),
        Step::Copy => Some(Work::Copy(whole(moves::wanted(parameters, page_bytes)))),
        Step::Restore => Some(Work::Restore(whole(moves::wanted(parameters, page_bytes)))),
        Step::LevelChange => Some(Work::LevelChange(parameters.choice("level"))),
        Step::Write => {
            let (table, rows) = write::source_rows(parameters, None);
            let (mut counted, mut row, mut row_summary) = (rows.clone(), Row::default(), RowSummary::default());
            while counted.fill(&mut row) {
                row_summary.add(&mut row);
            }
            // A target that could not keep this source was given a smaller one.
            let used = record.parameters.get("source_bytes").and_then(serde_json::Value::as_u64);
            let shape = write::Shape::of(parameters, row_summary);
            (used == Some(row_summary.content_bytes)).then(|| Work::Write {
                source: TableData { table, rows: Box::new(rows) },
                times: shape.times,
                chunks: shape.chunks,
            })
        }
        Step::Join => join_rung(&record.repetitions).map(Work::Join),
        Step::Memory => Some(Work::Memory),
        Step::Commits => Some(Work::Commits(parameters.count("commits"))),
    }
}

/// The tables of a data set.
fn table_data<'a>(wanted: DatasetSpec) -> Vec<TableData<'a>> {
    let table = |number| {
        let rows = Box::new(wanted.generator(number, 1, wanted.rows));
        TableData { table: wanted.table(number), rows }
    };
    (0..wanted.tables).map(table).collect()
}

/// All of the database that holds a data set: a list of its tables comes first, whose few bytes are no part of the figure.
fn whole<'a>(wanted: DatasetSpec) -> Vec<TableData<'a>> {
    let list = Manifest::of(wanted.tables);
    let list = TableData { table: list.table(), rows: Box::new(list) };
    std::iter::once(list).chain(table_data(wanted)).collect()
}
