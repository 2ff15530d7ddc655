//! The table of statements: which columns there are in how much room, and what stands in them.

use plimsoll_measurement::counters::{Measure, Values};
use plimsoll_report::model::format;

use super::super::metrics::{BY_SAMPLES, METRICS, Metric, Unit};
use super::super::names::{self, Texts};
use super::super::show;
use super::super::sums::{Key, Sum};
use super::chart::{OTHERS, TOP};
use super::data::Data;
use super::lines::width;

/// A statement is worth so many columns before figures are.
const LEAST_TEXT: usize = 18;

/// What is between two columns.
const BETWEEN: usize = 2;

/// The sign of the column that rows are sorted by.
const SORTED: &str = "▼";

/// A statement's text is asked for in no more columns.
const LONGEST_TEXT: usize = 400;

/// A column of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub label: String,
    pub is_text: bool,
    /// Which columns go first where there is little room; 0 stays.
    spare: u8,
    pub width: usize,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its statement; `None` of the others.
    pub key: Option<Key>,
    /// Its place among statements of clients, from 0, where it has one.
    pub place: Option<usize>,
    pub sign: String,
    pub text: String,
    /// A cell for each column.
    pub cells: Vec<String>,
}

/// All of it, in so much room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    pub columns: Vec<Column>,
    pub lines: Vec<Row>,
    /// Columns for the text of a statement.
    pub text_width: usize,
    pub sign_width: usize,
}

/// What rows are sorted by, in which unit figures are, and how many are listed.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// `None` for what says most of what costs most.
    pub sort: Option<Metric>,
    pub unit: Unit,
    pub top: usize,
}

impl Manner {
    /// What rows are sorted by.
    pub fn metric(&self, data: &Data) -> Metric {
        self.sort.unwrap_or_else(|| data.sums.best_metric())
    }

    /// The metric that comes after this one, of those of which there is any.
    pub fn next_sort(&self, data: &Data) -> Option<Metric> {
        let known: Vec<Metric> = METRICS.into_iter().filter(|metric| data.has(*metric)).collect();
        let place = self.sort.and_then(|sort| known.iter().position(|metric| *metric == sort));
        known.get(place.map_or(0, |place| place + 1)).copied()
    }
}

/// A figure in a unit.
pub fn figure(metric: Metric, unit: Unit, values: &Values, all: &Values, covered_us: u64) -> String {
    format::cell(&metric.cell(unit, values, all, covered_us), &metric.column(unit))
}

/// What stands above a figure.
pub fn heading(metric: Metric, unit: Unit) -> String {
    format::heading(&[metric.column(unit)], 0)
}

/// How long an execution took.
fn mean(sum: &Sum) -> String {
    show::mean_us(sum).map_or_else(|| format::UNKNOWN.to_owned(), |us| format::seconds(us / 1e6))
}

struct Table<'d> {
    data: &'d Data,
    manner: &'d Manner,
    metric: Metric,
    all: Values,
    /// The metric that rows are sorted by has no other column.
    has_own: bool,
}

impl Table<'_> {
    fn is_seen(&self) -> bool {
        self.data.sums.best_metric() == BY_SAMPLES
    }

    fn columns(&self) -> Vec<Column> {
        let unit = self.manner.unit;
        let of = |label: String, is_sorted: bool, spare: u8| {
            let label = if is_sorted { format!("{label} {SORTED}") } else { label };
            Column { width: width(&label), label, is_text: false, spare }
        };
        let is_by = |metric: Metric| self.manner.sort == Some(metric);
        let share = if self.is_seen() { "Seen" } else { "Share" };
        let [calls, rows] = [METRICS[0], METRICS[5]];
        let mut columns = vec![of(share.to_owned(), self.manner.sort.is_none(), 0)];
        if self.has_own {
            columns.push(of(heading(self.metric, unit), true, 0));
        }
        columns.push(of(heading(calls, unit), is_by(calls), 1));
        columns.push(of("Mean".to_owned(), false, 2));
        columns.push(of(heading(rows, unit), is_by(rows), 4));
        columns.push(Column { is_text: true, ..of("Status".to_owned(), false, 3) });
        columns
    }

    fn cells(&self, sum: &Sum, status: String) -> Vec<String> {
        let (unit, sums) = (self.manner.unit, &self.data.sums);
        let figure = |metric: Metric| figure(metric, unit, &sum.values, &self.all, sums.covered_us);
        let share = if self.is_seen() {
            show::seen_percent(sums, sum)
        } else {
            sum.values.get(Measure::ElapsedUs).and_then(|us| sums.share_percent(us))
        };
        let own = self.has_own.then(|| figure(self.metric));
        let share = share.map_or_else(|| format::UNKNOWN.to_owned(), |share| names::percent(Some(share)));
        [share].into_iter().chain(own).chain([figure(METRICS[0]), mean(sum), figure(METRICS[5]), status]).collect()
    }
}

/// The rows of the statements that are listed, and the sum of all others, in so many columns of a terminal.
pub fn of(data: &Data, ranked: &[(Key, Sum)], manner: &Manner, room: usize) -> Rows {
    let metric = manner.metric(data);
    let has_own = manner.sort.is_some_and(|sort| sort != METRICS[0] && sort != METRICS[5]);
    let table = Table { data, manner, metric, all: data.sums.all().values, has_own };
    let mut rows = Vec::new();
    let mut places = 0..;
    for (key, sum) in ranked.iter().take(manner.top) {
        let place = if key.1 { None } else { places.next() };
        let sign = place.map_or_else(String::new, |place: usize| (place + 1).to_string());
        let text = text(key, &data.texts);
        rows.push(Row {
            key: Some(*key),
            place,
            sign,
            text,
            cells: table.cells(sum, names::status(sum.status, key.1, false)),
        });
    }
    if let Some((count, sum)) = data.sums.others(ranked, manner.top) {
        let text = format!("others: {}", format::count(usize::try_from(count).unwrap_or(usize::MAX), "statement"));
        let cells = table.cells(&sum, sum.status.to_string());
        rows.push(Row { key: None, place: Some(TOP), sign: OTHERS.to_owned(), text, cells });
    }
    fitted(table.columns(), rows, room)
}

fn text(key: &Key, texts: &Texts) -> String {
    names::name(key.0, texts, LONGEST_TEXT)
}

/// Leaves columns out until a statement has enough room.
fn fitted(columns: Vec<Column>, mut rows: Vec<Row>, room: usize) -> Rows {
    let mut columns: Vec<Column> = columns
        .into_iter()
        .enumerate()
        .map(|(at, column)| {
            let widest = rows.iter().map(|row| width(&row.cells[at])).max().unwrap_or(0);
            Column { width: column.width.max(widest), ..column }
        })
        .collect();
    let sign_width = rows.iter().map(|row| width(&row.sign)).max().unwrap_or(0).max(1);
    loop {
        let taken: usize = columns.iter().map(|column| column.width + BETWEEN).sum();
        let text_width = room.saturating_sub(taken + sign_width + 1);
        let spare = columns.iter().map(|column| column.spare).max().unwrap_or(0);
        if text_width >= LEAST_TEXT || spare == 0 {
            return Rows { columns, lines: rows, text_width, sign_width };
        }
        columns = columns
            .into_iter()
            .enumerate()
            .filter_map(|(at, column)| {
                if column.spare == spare {
                    for row in &mut rows {
                        row.cells.remove(at);
                    }
                    return None;
                }
                Some(column)
            })
            .collect();
    }
}
