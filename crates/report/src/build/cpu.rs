//! The CPU ladder as tables: one run in detail, and several runs side by side in the three blocks of the reference
//! (times, multiples of a reference machine, DTU).

use std::collections::BTreeMap;

use plimsoll_measurement::{CpuRow, CpuTable};

use crate::model::format::{self, plain};
use crate::model::{Cell, Table, Value, number};

/// Compare along a row, never down a column.
pub const HOW_TO_READ: &str = "N is the number of rows on each side of the join. Compare along a row, never down a column: \
    work grows with the square of N.";

/// Rows: rungs and sessions of one run. Columns: time, multiple of the reference, DTU, checks.
pub fn table(cpu: &CpuTable) -> Option<Table> {
    let median = |row: &CpuRow| {
        // Earlier releases gave a single timing a range.
        let (low, high) = row.seconds_range.filter(|_| row.timings > 1).unzip();
        Cell::from(Value { value: row.seconds, low, high, ..Value::default() }).flagged(&row.flags)
    };
    Table::of(
        &cpu.rows,
        &[
            (number("N", "").page("TESTS.md"), &|row| row.join_rows.into()),
            (number("Sessions", ""), &|row| row.sessions.into()),
            (number("Median (range)", "s").within("Time"), &|row| median(row)),
            (number("Mean", "s").within("Time").spare(12), &|row| row.seconds_mean.into()),
            (number("Timings", "").within("Time").spare(11), &|row| row.timings.into()),
            (number("Multiple", "").within("Reference"), &|row| row.reference_multiple.into()),
            (number("DTU", "").within("Anchor"), &|row| row.dtu_multiple.into()),
            (number("Exponent", "").within("Checks"), &|row| row.growth_exponent.into()),
            (number("CPU", "%").within("Checks"), &|row| row.cpu_percent.into()),
        ],
    )
}

/// What the second and third block are held against; empty without either.
pub fn anchors(cpu: &CpuTable) -> Vec<String> {
    let reference = cpu.reference_run.as_deref().map(|run| format!("Multiple 1 is {}.", plain(run)));
    let anchor = cpu.anchor.as_deref().map(|anchor| match cpu.anchor_dtu.and_then(format::number) {
        Some(dtu) => format!("DTU are anchored to {} = {dtu} DTU.", plain(anchor)),
        None => format!("DTU are anchored to {}.", plain(anchor)),
    });
    reference.into_iter().chain(anchor).collect()
}

/// The three blocks with a column for each run and a row for each rung and number of sessions. A block about which no
/// run knows anything is left out.
pub fn blocks(runs: &[(String, &CpuTable)]) -> Vec<(&'static str, Table)> {
    let block = |name, part: fn(&CpuRow) -> Option<f64>| Some((name, side_by_side(runs, part)?));
    [
        block("Time of the join, s (median)", |row| Some(row.seconds)),
        block("Multiple of the reference", |row| row.reference_multiple),
        block("DTU", |row| row.dtu_multiple),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn side_by_side(runs: &[(String, &CpuTable)], part: fn(&CpuRow) -> Option<f64>) -> Option<Table> {
    let mut ladder: BTreeMap<(u64, u32), Vec<Cell>> = BTreeMap::new();
    for (at, (_, cpu)) in runs.iter().enumerate() {
        for row in &cpu.rows {
            let Some(value) = part(row) else { continue };
            let cells =
                ladder.entry((row.join_rows, row.sessions)).or_insert_with(|| vec![Cell::default(); runs.len()]);
            cells[at] = Cell::from(value).flagged(&row.flags);
        }
    }
    let names = runs.iter().map(|(name, _)| number(name.clone(), ""));
    let mut grid = Table::with([number("N", ""), number("Sessions", "")].into_iter().chain(names));
    for ((rows, sessions), cells) in ladder {
        let start = [Cell::from(rows), sessions.into()];
        grid.row(start.into_iter().chain(cells).collect());
    }
    grid.compact()
}
