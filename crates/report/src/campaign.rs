//! A campaign: the same tests on several targets in one table, a row for each test and a column for each target.

use plimsoll_measurement::{Figure, RunRecord};

use crate::grid::{Cell, Grid};
use crate::words::{bound, interval_ends, number, plain, title};

/// What was measured, and what that is of the first target.
pub struct Campaign {
    /// Rows: columns that don't bear their target's own name, and that.
    pub columns: Option<Grid>,
    /// Rows: the tests. Headlines with their intervals.
    pub values: Grid,
    /// The first target's column.
    pub base: String,
    /// The values in percent of the first target's; `None` if no test ran there and elsewhere.
    pub shares: Option<Grid>,
}

/// The runs as a table, where there are at least two tests that have a headline on at least two targets. Of several runs of
/// one test on one target the last counts.
pub fn campaign(records: &[RunRecord]) -> Option<Campaign> {
    let targets = distinct(records.iter().map(|record| record.target.as_str()));
    let kinds = distinct(records.iter().filter_map(Kind::of));
    let found = |kind: Kind<'_>, target: &str| -> Option<(&RunRecord, &Figure)> {
        let of = |record: &&RunRecord| record.target == target && Kind::of(record) == Some(kind);
        records.iter().rev().find(of).and_then(|record| Some((record, record.result.as_ref()?)))
    };
    let shared = |kind: &&Kind<'_>| targets.iter().filter(|target| found(**kind, target).is_some()).count() > 1;
    if targets.len() < 2 || kinds.iter().filter(shared).count() < 2 {
        return None;
    }
    let names = names(records, &targets);
    let grid = |titles: &[String]| {
        let grid = Grid::default().text("Test").text("Figure");
        titles.iter().fold(grid, |grid, title| grid.number(title.clone()))
    };
    let row = |kind: Kind<'_>, unit: &str, cells: Vec<Cell>| {
        let figure = format!("{}, {}", title(kind.metric), plain(unit));
        [plain(kind.test).into(), figure.into()].into_iter().chain(cells).collect::<Vec<Cell>>()
    };
    let (mut values, mut shares) = (grid(&names), grid(&names[1..]));
    for kind in &kinds {
        let cells: Vec<_> = targets.iter().map(|target| found(*kind, target)).collect();
        let shown = cells.iter().map(|cell| cell.and_then(|(record, figure)| shown(record, figure)).into());
        values.row(row(*kind, kind.unit, shown.collect()));
        let Some((_, base)) = cells[0].filter(|(_, base)| base.value > 0.0) else { continue };
        let share = |cell: &Option<(&RunRecord, &Figure)>| Some(100.0 * cell.as_ref()?.1.value / base.value);
        let of_base: Vec<Option<f64>> = cells[1..].iter().map(share).collect();
        if of_base.iter().any(Option::is_some) {
            shares.row(row(*kind, "%", of_base.into_iter().map(|share| share.and_then(number).into()).collect()));
        }
    }
    let mut columns = Grid::default().text("Column").text("Target");
    for (name, target) in names.iter().zip(&targets).filter(|(name, target)| **name != plain(target)) {
        columns.row(vec![name.clone().into(), plain(target).into()]);
    }
    let base = names[0].clone();
    Some(Campaign { columns: columns.compact(), base, values, shares: (!shares.rows.is_empty()).then_some(shares) })
}

/// What has to be the same for two headlines to stand in one row.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind<'a> {
    test: &'a str,
    metric: &'a str,
    unit: &'a str,
}

impl<'a> Kind<'a> {
    fn of(record: &'a RunRecord) -> Option<Self> {
        let figure = record.result.as_ref()?;
        Some(Self { test: &record.test, metric: &figure.metric, unit: &figure.unit })
    }
}

/// A value with its interval.
fn shown(record: &RunRecord, figure: &Figure) -> Option<String> {
    let value = format!("{}{}", bound(record, &figure.unit), number(figure.value)?);
    Some(interval_ends(figure).map_or_else(|| value.clone(), |interval| format!("{value} ({interval})")))
}

/// Engine and version where these tell the targets apart, else the targets themselves.
fn names(records: &[RunRecord], targets: &[&str]) -> Vec<String> {
    let name = |target: &&str| {
        // A lab's version is that of SQLite, and its name says more.
        let of = records.iter().rev().find(|record| record.target == *target && record.engine != "lab");
        // What a packager adds says nothing here.
        let number = |version: &str| version.split([' ', '-']).next().map(str::to_owned);
        let version = of.and_then(|record| Some((record, number(record.engine_version.as_ref()?)?)));
        let version = version.map(|(record, version)| format!("{} {version}", record.engine));
        version.map_or_else(|| plain(target), |version| plain(&version))
    };
    let names: Vec<String> = targets.iter().map(name).collect();
    if distinct(names.iter()).len() == targets.len() {
        names
    } else {
        targets.iter().map(|target| plain(target)).collect()
    }
}

/// Each once, in order of appearance.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
