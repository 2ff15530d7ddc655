//! Cells of a disk that were slower in later repetitions, as where a burst ended between two of them: no repetition shows that by itself.

use plimsoll_measurement::{Metric, RunRecord};

use super::cells::{Row, rows};
use crate::model::format::{plain, rounded};

/// Rates of later repetitions below this part of all earlier ones are no chance: a shared disk changes by a third.
const FALLEN_PART: f64 = 0.6;

/// More cells than this are counted.
const MOST_NAMED: usize = 2;

/// A sentence about the cells that fell, where any did.
pub fn between_repetitions(record: &RunRecord) -> Option<String> {
    let rows = rows(record);
    let fallen: Vec<(&Row<'_>, usize)> =
        rows.iter().filter(|row| !row.is_held()).filter_map(|row| Some((row, fell(&rates(row)?)?))).collect();
    let named = fallen.iter().take(MOST_NAMED).map(|(row, place)| {
        let mean = |rates: &[f64]| rounded(rates.iter().sum::<f64>() / rates.len() as f64);
        let rates = rates(row).unwrap_or_default();
        let label = record.repetitions.get(*place).map(|repetition| plain(&repetition.label)).unwrap_or_default();
        let (before, after) = rates.split_at(*place);
        format!("{} made {} IOPS, and {} from repetition {label} on", row.name(), mean(before), mean(after))
    });
    let named: Vec<String> = named.collect();
    let more = fallen.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and so {more} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!("Between repetitions {}{more}: a burst may have ended, and the figures cover both.", named.join("; "))
    })
}

/// The rate of each repetition; `None` if one has none.
fn rates(row: &Row<'_>) -> Option<Vec<f64>> {
    row.points.iter().map(|point| point.get(Metric::Iops)).collect()
}

/// The repetition from which on all rates are far below all before it.
fn fell(rates: &[f64]) -> Option<usize> {
    (1..rates.len()).find(|place| {
        let (before, after) = rates.split_at(*place);
        let least = before.iter().copied().fold(f64::INFINITY, f64::min);
        let most = after.iter().copied().fold(0.0, f64::max);
        most < FALLEN_PART * least
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Point, Repetition};

    use super::super::cells::tests::cell;
    use super::*;

    fn run(repetitions: &[(&str, f64, f64)]) -> Option<String> {
        let point = |index: u32, iops: f64| {
            Point { index, cell: Some(cell("OR", index + 1)), ..Point::default() }.with(Metric::Iops, iops)
        };
        let one = |(label, first, second): &(&str, f64, f64)| Repetition {
            label: (*label).to_owned(),
            points: vec![point(0, *first), point(1, *second)],
            ..Repetition::default()
        };
        between_repetitions(&RunRecord { repetitions: repetitions.iter().map(one).collect(), ..RunRecord::default() })
    }

    #[test]
    fn a_burst_that_ends_between_repetitions_is_told() {
        let ended = run(&[("a", 3000.0, 3000.0), ("b", 3000.0, 300.0), ("c", 300.0, 300.0)]).unwrap();
        assert_eq!(
            ended,
            "Between repetitions OR 8 KiB, 1 x 32 made 3,000 IOPS, and 300 from repetition c on; OR 8 KiB, 2 x 32 made 3,000 IOPS, and 300 \
             from repetition b on: a burst may have ended, and the figures cover both."
        );
        assert_eq!(
            run(&[("a", 3000.0, 900.0), ("b", 2100.0, 3000.0), ("c", 2900.0, 700.0)]),
            None,
            "that goes up and down"
        );
        assert_eq!(run(&[("a", 3000.0, 300.0)]), None);
    }
}
