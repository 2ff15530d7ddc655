//! Charts of a workload: a metric over time as the statements that have most of it and all others on top of each other, bars of a range, and
//! executions against their mean time.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_measurement::counters::{Item, Measure};
use plimsoll_report::model::{
    Axis, Bar, BarChart, Cell, Disc, Gap, Kind, Panel, Picture, Scatter, Series, Shape, Strip, Table, Value, format,
    number, scaled, text,
};

use super::filters::Filters;
use super::metrics::Metric;
use super::names;
use super::rows::Row;
use super::stored::Kept;
use super::sums::Sum;
use crate::failure::Failure;

/// So many statements have a colour of their own.
pub const TOP: usize = 5;

/// So many pieces a chart is drawn in.
const PIECES: usize = 240;

/// More bars than this are no picture any more.
const MOST_BARS: usize = 20;

/// So many statements have a place among executions and mean times.
const MOST_DISCS: usize = 500;

/// What was counted in a record: from, to, how long that is known, by place in the list of statements, and the others last.
struct Step {
    from_us: i64,
    to_us: i64,
    covered_us: u64,
    values: Vec<u64>,
}

/// A metric by time, in a second; time as sessions that were active on average.
pub fn over_time(
    kept: &Kept,
    range: &Range<i64>,
    metric: Metric,
    top: &[Item],
    filters: &Filters,
) -> Result<Option<Picture>, Failure> {
    let places: BTreeMap<Item, usize> = top.iter().enumerate().map(|(place, item)| (*item, place)).collect();
    let mut steps = Vec::new();
    kept.records(range, |record| {
        let mut values = vec![0_u64; top.len() + 1];
        let listed =
            record.bucket.sums.iter().filter(|(key, _)| !key.is_nested && filters.takes(key.item, &kept.texts));
        let rest = record.bucket.other.filter(|_| filters.is_empty()).map(|other| other.sum.values);
        let values_of = listed.map(|(key, sum)| (places.get(&key.item).copied(), sum.values));
        for (place, sum) in values_of.chain(rest.map(|values| (None, values))) {
            let value = &mut values[place.unwrap_or(top.len())];
            *value = value.saturating_add(sum.get(metric.measure).unwrap_or(0));
        }
        let (from_us, to_us) = (record.bucket.start_us, record.about.end_us);
        steps.push(Step { from_us, to_us, covered_us: record.bucket.covered_us, values });
    })?;
    steps.sort_by_key(|step| step.from_us);
    let (unit, scale) = if metric.is_time() { ("active sessions", 1.0) } else { ("a second", 1e6) };
    let seconds = |us: i64| us.saturating_sub(range.start) as f64 / 1e6;
    let series = |place: usize| {
        let of = |step: &Step| {
            let value = step.values[place] as f64 / step.covered_us as f64 * scale;
            (seconds(step.from_us), seconds(step.to_us), if step.covered_us > 0 { value } else { f64::NAN })
        };
        let name = top.get(place).map_or_else(|| "others".to_owned(), |item| names::name(*item, &kept.texts, 28));
        let tone = (place < top.len()).then_some(place);
        Series { name, tone, variant: 0, steps: steps.iter().map(of).collect() }
    };
    let gaps = steps.iter().filter(|step| step.covered_us == 0).map(|step| Gap {
        from: seconds(step.from_us),
        to: seconds(step.to_us),
        reason: "nothing is known of this time".to_owned(),
    });
    let Some((first, last)) = steps.first().zip(steps.last()) else { return Ok(None) };
    let axis =
        Axis::new(if metric.is_time() { unit.to_owned() } else { format!("{} {unit}", metric.label) }, Kind::FromZero);
    let strip = Strip {
        axis,
        shape: Shape::Stack,
        mark: None,
        series: (0..=top.len()).map(series).collect(),
        gaps: gaps.filter(|gap| gap.from < gap.to).collect(),
    };
    Ok(Some(Picture::Strips(Panel {
        title: format!("{} over time, by statement", metric.label),
        span: (seconds(first.from_us), seconds(last.to_us)),
        bands: Vec::new(),
        bands_title: String::new(),
        strips: vec![strip],
        pieces: PIECES,
        notes: Vec::new(),
    })))
}

/// A metric of the range: a bar for each of the rows, and one for the others.
pub fn bars(rows: &[Row], others: Option<&(u64, Sum)>, metric: Metric) -> Option<Picture> {
    let value = |sum: &Sum| sum.values.get(metric.measure).filter(|value| *value > 0);
    let is_short = rows.iter().filter_map(|row| value(&row.sum)).all(|us| us < 1_000_000);
    let (unit, scale) = match (metric.is_time(), is_short) {
        (true, true) => ("ms", 1e3),
        (true, false) => ("s", 1e6),
        (false, _) => ("", 1.0),
    };
    let bar = |label: String, sum: &Sum| {
        let value = value(sum)? as f64 / scale;
        Some(Bar { label, value: Value { value, unit: unit.to_owned(), ..Value::default() }, expected: None })
    };
    let listed = rows.iter().filter(|row| !row.is_nested).take(MOST_BARS);
    let listed = listed.filter_map(|row| bar(row.label(), &row.sum));
    let others = others.filter(|_| rows.len() <= MOST_BARS);
    let others = others.and_then(|(count, sum)| bar(format!("{count} others"), sum));
    let axis = if metric.is_time() { format!("{} ({unit})", metric.label) } else { metric.label.to_owned() };
    let chart = BarChart::plain(format!("{} of the range", metric.label), axis, listed.chain(others));
    (chart.groups.len() > 1).then_some(Picture::Bars(chart))
}

/// Executions and the seconds of one, where both are known.
fn mean(sum: &Sum) -> Option<(u64, f64)> {
    let executions = sum.values.get(Measure::Executions).filter(|count| *count > 0)?;
    Some((executions, sum.values.get(Measure::ElapsedUs)? as f64 / executions as f64 / 1e6))
}

/// Executions against their mean time. Those that have a colour over time have the same one here.
pub fn scatter(rows: &[Row], top: &[Item]) -> Option<Picture> {
    let disc = |row: &Row| {
        let (executions, mean) = mean(&row.sum)?;
        let tone = row.item.and_then(|item| top.iter().position(|one| *one == item));
        let (name, all) = (row.label(), row.sum.elapsed_us() as f64 / 1e6);
        let about = format!(
            "{name}: {} executions of {} on average, {} together",
            format::whole(executions),
            format::seconds(mean),
            format::seconds(all)
        );
        Some(Disc { name, tone, x: executions as f64, y: mean * 1e3, area: all, about })
    };
    let discs: Vec<Disc> = rows.iter().filter(|row| !row.is_nested).filter_map(disc).take(MOST_DISCS).collect();
    (discs.len() > 1).then(|| {
        Picture::Scatter(Scatter {
            title: "Executions against their mean time, both axes logarithmic.".to_owned(),
            x: Axis::new("Executions", Kind::Log),
            y: Axis::new("Mean time (ms)", Kind::Log),
            area: "time of all executions together".to_owned(),
            discs,
        })
    })
}

/// The same as a table, of the rows with most.
pub fn means(rows: &[Row], top: usize) -> Option<Table> {
    let seconds = |value: Option<f64>| value.map_or_else(Cell::default, |value| Cell::quantity(value, "s"));
    Table::of(
        rows.iter().filter(|row| !row.is_nested && mean(&row.sum).is_some()).take(top),
        &[
            (text("Name"), &|row: &&Row| row.label().into()),
            (number("Executions", ""), &|row| mean(&row.sum).map(|(executions, _)| executions).into()),
            (scaled("Mean", "s"), &|row| seconds(mean(&row.sum).map(|(_, mean)| mean))),
            (scaled("Together", "s"), &|row| seconds(Some(row.sum.elapsed_us() as f64 / 1e6))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::super::metrics::BY_COMPLETION;
    use super::*;
    use plimsoll_measurement::counters::Values;
    use plimsoll_profile::Status;

    fn row(item: u128, executions: u64, us: u64, is_nested: bool) -> Row {
        let values = Values::of([(Measure::Executions, executions), (Measure::ElapsedUs, us)]);
        let sum = Sum { values, status: Status::EXACT };
        Row { name: format!("SELECT {item}"), item: Some(Item(item)), plan: None, is_nested, since: None, sum }
    }

    #[test]
    fn bars_and_discs_are_of_what_clients_ran() {
        let rows =
            [row(1, 4, 8_000_000, false), row(2, 9, 1_000_000, true), row(3, 0, 0, false), row(4, 1, 500_000, false)];
        let others = Some((7, row(9, 5, 250_000, false).sum));
        let Some(Picture::Bars(chart)) = bars(&rows, others.as_ref(), BY_COMPLETION) else { panic!("no bars") };
        let drawn: Vec<(&str, f64)> = chart.bars().map(|bar| (bar.label.as_str(), bar.value.value)).collect();
        assert_eq!(drawn, [("SELECT 1", 8.0), ("SELECT 4", 0.5), ("7 others", 0.25)]);
        assert!(bars(&rows[2..], None, BY_COMPLETION).is_none(), "one bar compares nothing");
        let Some(Picture::Scatter(chart)) = scatter(&rows, &[Item(4)]) else { panic!("no discs") };
        let drawn: Vec<_> = chart.discs.iter().map(|disc| (disc.x, disc.y, disc.area, disc.tone)).collect();
        assert_eq!(drawn, [(4.0, 2_000.0, 8.0, None), (1.0, 500.0, 0.5, Some(0))]);
        assert!(
            chart.discs[0].about.contains("4 executions of 2.0 s on average, 8.0 s together"),
            "{:?}",
            chart.discs[0]
        );
        assert_eq!(means(&rows, 10).unwrap().rows.len(), 2);
    }
}
