//! Figures of a volume: of each cell the operations a second and the response times, over the repetitions.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_bench::figures::series::{Measured, Series};
use plimsoll_measurement::cell::KNEE_RATE;
use plimsoll_measurement::histogram::enough;
use plimsoll_measurement::{Metric, Point};

use crate::sweep::{self, Step};
use crate::{commits, plan};

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
        all.extend(times(&points, &key));
    }
    all.extend(commits::series(&measured.points));
    if let Some(knee) = knee(measured) {
        // A sweep is made for it; elsewhere the headline stays the first cell.
        let place = if first.iter().any(|point| Step::of(point).is_some()) { 0 } else { all.len() };
        all.splice(place..place, knee);
    }
    all
}

/// The rate at the knee of a sweep, or of the first work that has one, and the response times there. Where the knee is, the means of
/// the repetitions decide.
fn knee(measured: &Measured<'_>) -> Option<[Series; 3]> {
    let of_place = |place: usize| measured.points.iter().filter_map(move |points| points.get(place).copied());
    let places = measured.points.iter().map(Vec::len).min()?;
    let first = &measured.points.first()?[..places];
    let way = sweep::way(first);
    let mean = |place: usize| -> Option<Step> {
        let steps: Vec<Step> = of_place(place).filter_map(Step::of_any).collect();
        // The mean that its figure has.
        let rates = Series::new("iops", "1/s", steps.iter().map(|step| step.iops).collect());
        Some(Step { iops: rates.figure()?.value, ..*steps.first()? }).filter(|step| step.iops > 0.0)
    };
    let steps: Vec<Step> = way.iter().map(|place| mean(*place)).collect::<Option<_>>()?;
    let found = sweep::knee(&steps)?;
    let place = way[steps.iter().position(|step| *step == found)?];
    let cell = first[place].cell.as_ref()?;
    let mut note =
        if sweep::is_step(cell) { sweep::findings(&steps)? } else { sweep::coarse_findings(&steps, &cell.work())? };
    // Rates differ from one repetition to the next, and so may the knee.
    let of_one = |points: &Vec<&Point>| {
        let steps: Option<Vec<Step>> = way.iter().map(|place| Step::of_any(points.get(*place)?)).collect();
        Some(sweep::knee(&steps?)?.under_way())
    };
    let numbers: BTreeSet<u64> = measured.points.iter().filter_map(of_one).collect();
    if numbers.len() > 1 {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        note = format!("{note}; the repetitions do not agree: each by itself, they say {}", numbers.join(" or "));
    }
    let points: Vec<&Point> = of_place(place).collect();
    let rates = points.iter().filter_map(|point| point.get(Metric::Iops)).collect();
    // A time is one of so many under way: beside another number it says nothing.
    let [half, most] =
        times(&points, "knee").map(|times| Series { note: Some(format!("at {found} (threads x depth)")), ..times });
    Some([Series { note: Some(note), ..Series::new(KNEE_RATE, "1/s", rates) }, half, most])
}

/// The response times of a cell over the repetitions, as figures whose names begin with `key`.
fn times(points: &[&Point], key: &str) -> [Series; 2] {
    [(Metric::LatencyUsP50, "latency_p50", 50.0), (Metric::LatencyUsP99, "latency_p99", 99.0)].map(
        |(metric, name, percent)| {
            let ms = points.iter().filter_map(|point| Some(point.get(metric)? / US_OF_A_MS)).collect();
            let series = Series::new(format!("{key}_{name}"), "ms", ms);
            // Of a mean over some of the repetitions nobody would know what it is.
            let fewest = points.iter().filter_map(|point| point.count(Metric::Operations)).min().unwrap_or(0);
            let is_whole = series.values.len() == points.len();
            let absent = enough(fewest, percent).err().map(|few| few.to_string());
            if is_whole { series } else { Series { values: Vec::new(), absent, ..series } }
        },
    )
}

/// Whether somebody wrote this rate: it has three decimals at most.
fn is_written(rate: f64) -> bool {
    let thousandths = rate * 1e3;
    (thousandths - thousandths.round()).abs() <= 1e-9 * thousandths
}

/// The beginning of the names of a cell's figures; of several that do the same, the second has a number, and so on.
fn name(point: &Point, seen: &mut BTreeMap<String, u32>) -> String {
    // Runs are compared by names, and a rate that follows from what a disk made differs from one to the next.
    let rate = point.get(Metric::AskedPerSecond).filter(|rate| is_written(*rate));
    let key = point.cell.as_ref().map_or_else(|| format!("cell_{}", point.index), |cell| plan::key(cell, rate));
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

    #[test]
    fn of_a_sweep_the_knee_is_the_headline() {
        let step = |depth: u32, iops: f64| {
            let mut point = point(iops, Some(f64::from(depth) * 1000.0));
            let cell = point.cell.as_mut().unwrap();
            (cell.label, cell.threads, cell.queue_depth) = ("sweep".to_owned(), 1, depth);
            point
        };
        // In one repetition the second step has the knee, in the mean of both the third.
        let made = made(&[
            vec![step(1, 100.0), step(2, 200.0), step(4, 201.0), step(8, 202.0)],
            vec![step(1, 100.0), step(2, 150.0), step(4, 199.0), step(8, 202.0)],
        ]);
        assert_eq!((made[0].metric.as_str(), made[0].values.as_slice()), ("knee_iops", &[201.0, 199.0][..]));
        assert_eq!((made[2].metric.as_str(), made[2].values.as_slice()), ("knee_latency_p99", &[4.0, 4.0][..]));
        let note = made[0].note.as_ref().unwrap();
        assert!(note.starts_with("at 1 x 4 "), "{note}");
        assert!(note.ends_with("; the repetitions do not agree: each by itself, they say 2 or 4"), "{note}");
        assert_eq!(made[2].note.as_deref(), Some("at 1 x 4 (threads x depth)"));
        assert_eq!(made[3].metric, "sweep_random_read_8k_t1_q1_iops");
    }

    #[test]
    fn of_other_suites_the_knee_follows_the_cells() {
        let of = |threads: u32, depth: u32, iops: f64| {
            let mut point = point(iops, Some(f64::from(depth) * 1000.0));
            let cell = point.cell.as_mut().unwrap();
            (cell.threads, cell.queue_depth) = (threads, depth);
            point
        };
        let cells = |full: f64| vec![of(2, 32, full), of(1, 1, 100.0), of(1, 4, 390.0), of(2, 8, 990.0)];
        let made = made(&[cells(1000.0), cells(1010.0)]);
        assert_eq!(made[0].metric, "random_read_8k_t2_q32_iops", "the first cell is the headline");
        let last: Vec<&str> = made[made.len() - 3..].iter().map(|series| series.metric.as_str()).collect();
        assert_eq!(last, ["knee_iops", "knee_latency_p50", "knee_latency_p99"]);
        let knee = &made[made.len() - 3];
        assert_eq!(knee.values, [990.0, 990.0]);
        assert!(
            knee.note.as_ref().unwrap().starts_with("random read 8 KiB needs more than 4 and at most 16"),
            "{knee:?}"
        );
        assert!(!knee.note.as_ref().unwrap().contains("do not agree"), "{knee:?}");
    }
}
