//! One statement: its whole text, and what is known of it.

use plimsoll_engine::QueryText;
use plimsoll_report::model::format;

use super::super::limits;
use super::super::metrics::{METRICS, Unit};
use super::super::names;
use super::super::show;
use super::super::sums::{Key, Sum};
use super::data::Data;
use super::lines::{cut, width, wrap};
use super::rows::figure;

/// Columns of a figure, and of its name.
const FIGURE: usize = 12;
const NAME: usize = 14;

/// What each figure is shown as.
const UNITS: [(&str, Unit); 4] =
    [("total", Unit::Total), ("a second", Unit::Second), ("a call", Unit::Execution), ("share, %", Unit::Share)];

/// All that is known of a statement, in lines of so many columns.
pub fn lines(data: &Data, key: &Key, room: usize) -> Vec<String> {
    let known = data.texts.get(&key.0);
    let database = known.and_then(|known| known.database.as_deref());
    let mut lines = vec![cut(&format!("Statement {}{}", names::id(key.0), of_database(database)), room)];
    match known {
        Some(QueryText { text: Some(text), .. }) => lines.extend(wrap(text, room)),
        _ => lines.push(cut("The server has no text of it.", room)),
    }
    let mut said = vec![String::new()];
    match data.sums.by_query.get(key) {
        Some(sum) => said.extend(figures(data, key, sum)),
        None => said.push("It did nothing in this time.".to_owned()),
    }
    if let Some((wait, part)) = limits::most_of(&data.sums, key.0) {
        let part = names::percent(Some(part));
        said.push(format!("Sessions that were seen at work on it spent most of their time, {part}, in {wait}."));
    }
    lines.extend(said.iter().map(|line| cut(line, room)));
    lines
}

fn of_database(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(", database {name}"))
}

fn figures(data: &Data, key: &Key, sum: &Sum) -> Vec<String> {
    let all = data.sums.all().values;
    let row = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| flush_right(cell, FIGURE)).collect();
        format!("{name}{}{}", " ".repeat(NAME.saturating_sub(width(name))), cells.concat())
    };
    let heading = row("", UNITS.map(|(name, _)| name.to_owned()).to_vec());
    let known = METRICS.into_iter().filter(|metric| sum.values.get(metric.measure).is_some());
    let figures = known.map(|metric| {
        let cell = |(_, unit): (&str, Unit)| figure(metric, unit, &sum.values, &all, data.sums.covered_us);
        row(metric.label, UNITS.map(cell).to_vec())
    });
    let mean = show::mean_us(sum).map(|us| format!(", {} an execution", format::seconds(us / 1e6)));
    let status = format!("These figures are {}{}.", names::status(sum.status, key.1, false), mean.unwrap_or_default());
    [heading].into_iter().chain(figures).chain([status]).collect()
}

fn flush_right(text: &str, most: usize) -> String {
    format!("{}{text}", " ".repeat(most.saturating_sub(width(text))))
}
