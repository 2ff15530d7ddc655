//! Figures of a volume: of each cell the operations a second and the response times, over the repetitions.

use std::collections::BTreeMap;

use plimsoll_bench::figures::series::{Measured, Series};
use plimsoll_measurement::histogram::enough;
use plimsoll_measurement::{Metric, Point};

/// Response times are told in milliseconds, as those of databases are.
const US_OF_A_MS: f64 = 1e3;

/// The figures of each cell in the order of the suite. Bytes a second are operations of one size, and no figure of their own.
pub(super) fn figures(measured: &Measured<'_>) -> Vec<Series> {
    let Some(first) = measured.points.first() else { return Vec::new() };
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut all = Vec::new();
    for (place, point) in first.iter().enumerate() {
        let points: Vec<&Point> = measured.points.iter().filter_map(|points| points.get(place).copied()).collect();
        let key = name(point, &mut seen);
        let values = |metric: Metric| points.iter().filter_map(|point| point.get(metric)).collect::<Vec<f64>>();
        all.push(Series::new(format!("{key}_iops"), "1/s", values(Metric::Iops)));
        for (metric, name, percent) in
            [(Metric::LatencyUsP50, "latency_p50", 50.0), (Metric::LatencyUsP99, "latency_p99", 99.0)]
        {
            let ms: Vec<f64> = values(metric).into_iter().map(|us| us / US_OF_A_MS).collect();
            let series = Series::new(format!("{key}_{name}"), "ms", ms);
            // Of a mean over some of the repetitions nobody would know what it is.
            let fewest = points.iter().filter_map(|point| point.count(Metric::Operations)).min().unwrap_or(0);
            let is_whole = series.values.len() == points.len();
            let absent = enough(fewest, percent).err().map(|few| few.to_string());
            all.push(if is_whole { series } else { Series { values: Vec::new(), absent, ..series } });
        }
    }
    all
}

/// The beginning of the names of a cell's figures; of several that do the same, the second has a number, and so on.
fn name(point: &Point, seen: &mut BTreeMap<String, u32>) -> String {
    let key = point.cell.as_ref().map_or_else(|| format!("cell_{}", point.index), plimsoll_measurement::Cell::key);
    let key = match point.get(Metric::AskedPerSecond) {
        Some(rate) => format!("{key}_at_{rate}"),
        None => key,
    };
    let count = seen.entry(key.clone()).or_default();
    *count += 1;
    if *count == 1 { key } else { format!("{key}_{count}") }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Repetition;

    use super::*;
    use crate::suite::cell_of;

    fn point(iops: f64, p99: Option<f64>) -> Point {
        let cell = cell_of("operation = 'read'\nblock = '8KiB'\nthreads = 2\nqueue_depth = 16");
        Point { cell: Some(cell), ..Point::default() }
            .with(Metric::Iops, iops)
            .with(Metric::Operations, 500_u64)
            .with(Metric::LatencyUsP50, 250.0)
            .with(Metric::LatencyUsP99, p99)
    }

    fn made(repetitions: &[Vec<Point>]) -> Vec<Series> {
        let whole = Repetition::default();
        let points = repetitions.iter().map(|points| points.iter().collect()).collect();
        figures(&Measured { repetitions: vec![&whole; repetitions.len()], points, page_bytes: 4096, scale: 1 })
    }

    #[test]
    fn each_cell_has_its_figures_over_the_repetitions() {
        let made = made(&[
            vec![point(100.0, Some(2000.0)), point(10.0, None)],
            vec![point(110.0, Some(3000.0)), point(11.0, Some(1.0))],
        ]);
        let of = |name: &str| made.iter().find(|series| series.metric == name).unwrap();
        assert_eq!(of("random_read_8k_t2_q16_iops").values, [100.0, 110.0]);
        assert_eq!(of("random_read_8k_t2_q16_latency_p99").values, [2.0, 3.0]);
        assert_eq!(of("random_read_8k_t2_q16_2_iops").values, [10.0, 11.0], "the same work again");
        let absent = of("random_read_8k_t2_q16_2_latency_p99");
        assert!(absent.values.is_empty() && absent.absent.as_ref().unwrap().contains("there are 500"), "{absent:?}");
        assert_eq!(made[0].metric, "random_read_8k_t2_q16_iops", "the first cell is the headline");
    }
}
