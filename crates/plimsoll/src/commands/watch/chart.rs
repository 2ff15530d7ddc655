//! A metric over time: the statements that have most of it, and all others, on top of each other.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_measurement::counters::Item;
use plimsoll_report::model::{Axis, Gap, Kind, Panel, Picture, Series, Shape, Strip};

use super::filters::Filters;
use super::metrics::Metric;
use super::names;
use super::stored::Kept;
use crate::failure::Failure;

/// So many statements have a colour of their own.
pub const TOP: usize = 5;

/// So many pieces a chart is drawn in.
const PIECES: usize = 240;

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
