//! A campaign: the same tests on several targets, versions and dates in one table, a row for each test and a column for
//! each target. Where a target was measured in several versions, or on several days, a column for each of these.

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_analysis::compare::{Summary, Terms, compare_summaries};
use plimsoll_measurement::{Figure, RunRecord};

use super::order::distinct;
use super::short::shortened;
use super::words::{bound, limit_in_a_cell, value};
use crate::model::format::{plain, title};
use crate::model::{Cell, Table, Value, number, text};

/// What was measured, and what that is of the first column.
pub struct Campaign {
    /// Rows: columns that don't bear their target's own name, and that.
    pub columns: Option<Table>,
    /// Rows: the tests. Headlines with their intervals, and beside them what bound where that is known.
    pub values: Table,
    /// The first column.
    pub base: String,
    /// The values in percent of the first column's, with their intervals; `None` if no test ran there and elsewhere.
    pub shares: Option<Table>,
    /// The same as figures, each with its name.
    pub bars: Vec<(String, Value)>,
}

/// The runs as a table, where there are at least two tests that have a headline in at least two columns. Of several runs of
/// one test in one column the last counts.
pub fn campaign(records: &[RunRecord]) -> Option<Campaign> {
    let columns = columns(records);
    let kinds = distinct(records.iter().filter_map(Kind::of));
    let found = |kind: Kind<'_>, column: &Column<'_>| -> Option<(&RunRecord, &Figure)> {
        let of = |record: &&RunRecord| column.holds(record) && Kind::of(record) == Some(kind);
        records.iter().rev().find(of).and_then(|record| Some((record, record.result.as_ref()?)))
    };
    let shared = |kind: &&Kind<'_>| columns.iter().filter(|column| found(**kind, column).is_some()).count() > 1;
    if columns.len() < 2 || kinds.iter().filter(shared).count() < 2 {
        return None;
    }
    let names = names(records, &columns);
    let grid = |titles: &[String]| {
        let columns = titles.iter().map(|title| number(title.clone(), "").bare());
        Table::with([text("Test"), text("Figure")].into_iter().chain(columns))
    };
    let row = |kind: Kind<'_>, unit: &str, cells: Vec<Cell>| {
        let figure = format!("{}, {}", title(kind.metric), plain(unit));
        [plain(kind.test).into(), figure.into()].into_iter().chain(cells).collect::<Vec<Cell>>()
    };
    // Beside each column what bound there, if that is known of one run at least.
    let limit =
        |(record, _): (&RunRecord, &Figure)| limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also);
    let pair = |name: &String| [number(name.clone(), "").bare(), text("Bottleneck")];
    let mut values = Table::with([text("Test"), text("Figure")].into_iter().chain(names.iter().flat_map(pair)));
    let (mut shares, mut bars) = (grid(&names[1..]), Vec::new());
    for kind in &kinds {
        let cells: Vec<_> = columns.iter().map(|column| found(*kind, column)).collect();
        let in_cells = |cell: &Option<(&RunRecord, &Figure)>| {
            [cell.map(|(record, figure)| value(record, figure)).into(), cell.and_then(limit).into()]
        };
        let in_cells = cells.iter().flat_map(in_cells).collect();
        values.row(row(*kind, kind.unit, in_cells));
        // A bound is nothing that others could be parts of.
        let is_estimate = |(record, _): &(&RunRecord, &Figure)| bound(record, kind.unit).is_none();
        let Some(base) = cells[0].filter(is_estimate) else { continue };
        let of_base: Vec<Option<(&RunRecord, Figure)>> = cells[1..]
            .iter()
            .map(|cell| cell.and_then(|(record, figure)| Some((record, share(base.1, figure)?))))
            .collect();
        for (name, (record, figure)) in
            names[1..].iter().zip(&of_base).filter_map(|(name, share)| Some((name, share.as_ref()?)))
        {
            bars.push((format!("{}: {name}", plain(kind.test)), value(record, figure)));
        }
        if of_base.iter().any(Option::is_some) {
            let cell = |(record, figure): &(&RunRecord, Figure)| Value {
                bound: bound(record, kind.unit),
                ..value(record, figure)
            };
            let cells = of_base.iter().map(|share| share.as_ref().map(cell).into());
            shares.row(row(*kind, "%", cells.collect()));
        }
    }
    let renamed = names.iter().zip(&columns).filter(|(name, column)| **name != plain(column.target));
    let legend = Table::of(
        renamed,
        &[
            (text("Column"), &|(name, _)| name.as_str().into()),
            (text("Target"), &|(_, column)| plain(column.target).into()),
        ],
    );
    let base = names[0].clone();
    Some(Campaign {
        columns: legend,
        base,
        values: values.compact()?,
        shares: (!shares.rows.is_empty()).then_some(shares),
        bars,
    })
}

/// A figure in percent of another. With the interval of the ratio where both have one.
fn share(base: &Figure, figure: &Figure) -> Option<Figure> {
    let side = |figure: &Figure| Summary {
        value: figure.value,
        high: figure.high,
        confidence: figure.confidence,
        repetitions: figure.repetitions,
    };
    // What is good is not asked here.
    let terms = Terms { higher_is_better: true, margin: 0.0, confidence: DEFAULT_CONFIDENCE };
    let compared = compare_summaries(side(base), side(figure), terms);
    let percent = |ratio: f64| 100.0 * ratio;
    let value =
        compared.map(|compared| compared.ratio).or_else(|| (base.value > 0.0).then(|| figure.value / base.value))?;
    Some(Figure {
        metric: figure.metric.clone(),
        value: percent(value),
        unit: "%".to_owned(),
        low: compared.and_then(|compared| compared.low).map(percent),
        high: compared.and_then(|compared| compared.high).map(percent),
        confidence: DEFAULT_CONFIDENCE,
        point_cv_percent: None,
        note: None,
        values: Vec::new(),
        expected: None,
        ..figure.clone()
    })
}

/// A target, or a part of what was measured there.
#[derive(Clone, Copy)]
struct Column<'a> {
    target: &'a str,
    /// Given where it was measured in several versions.
    version: Option<&'a str>,
    /// Given where one test was run on several days.
    day: Option<&'a str>,
}

impl Column<'_> {
    fn holds(&self, record: &RunRecord) -> bool {
        record.target == self.target
            && self.version.is_none_or(|version| record.engine_version.as_deref() == Some(version))
            && self.day.is_none_or(|wanted| day(record) == Some(wanted))
    }
}

/// The day of a run; the calendar of a model is none.
fn day(record: &RunRecord) -> Option<&str> {
    if record.clock == "virtual" { None } else { record.started_at.get(..10) }
}

/// The columns in the order in which targets, then versions, then days appear.
fn columns(records: &[RunRecord]) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    for target in distinct(records.iter().map(|record| record.target.as_str())) {
        let whole = Column { target, version: None, day: None };
        let measured = |column: Column<'_>| -> Vec<&RunRecord> {
            records.iter().filter(|record| column.holds(record) && record.result.is_some()).collect()
        };
        let versions = distinct(measured(whole).into_iter().filter_map(|record| record.engine_version.as_deref()));
        let parts = if versions.len() > 1 {
            versions.into_iter().map(|version| Column { version: Some(version), ..whole }).collect()
        } else {
            vec![whole]
        };
        for part in parts {
            let runs = measured(part);
            let of_kind = |kind: Kind<'_>| {
                let own = runs.iter().filter(|record| Kind::of(record) == Some(kind));
                distinct(own.filter_map(|record| day(record))).len()
            };
            if distinct(runs.iter().filter_map(|record| Kind::of(record))).into_iter().any(|kind| of_kind(kind) > 1) {
                let days = distinct(runs.iter().filter_map(|record| day(record)));
                columns.extend(days.into_iter().map(|day| Column { day: Some(day), ..part }));
            } else {
                columns.push(part);
            }
        }
    }
    columns
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

/// Engine and version where these tell the columns apart, else the targets themselves; with the day where there are several.
fn names(records: &[RunRecord], columns: &[Column<'_>]) -> Vec<String> {
    // What a packager adds says nothing here.
    let number = |version: &str| version.split([' ', '-']).next().map(str::to_owned);
    let dated = |name: String, column: &Column<'_>| match column.day {
        Some(day) => format!("{name}, {}", plain(day)),
        None => name,
    };
    let short = |column: &Column<'_>, target: &dyn Fn(&Column<'_>) -> String| {
        // A lab's version is that of SQLite, and its name says more.
        let of = records.iter().rev().find(|record| column.holds(record) && record.engine != "lab");
        let version = of.and_then(|record| Some((record, number(record.engine_version.as_ref()?)?)));
        let version = version.map(|(record, version)| format!("{} {version}", record.engine));
        dated(version.map_or_else(|| target(column), |version| plain(&version)), column)
    };
    let targets = shortened(&columns.iter().map(|column| plain(column.target)).collect::<Vec<_>>());
    let target = |column: &Column<'_>| {
        let at = columns.iter().position(|other| other.target == column.target);
        at.map_or_else(|| plain(column.target), |at| targets[at].clone())
    };
    let short = |column: &Column<'_>| short(column, &target);
    let names: Vec<String> = columns.iter().map(short).collect();
    if distinct(names.iter()).len() == columns.len() {
        return names;
    }
    let long = |column: &Column<'_>| {
        let version = column.version.map_or_else(String::new, |version| format!(", {}", plain(version)));
        dated(format!("{}{version}", target(column)), column)
    };
    columns.iter().map(long).collect()
}
