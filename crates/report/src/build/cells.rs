//! What a record says about a volume: a sentence about its first cell, a bar and a row for each.

use std::collections::BTreeMap;

use plimsoll_analysis::summary;
use plimsoll_measurement::cell::KNEE_RATE;
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Basis, Cell, Figure, Metric, Point, RunRecord};

use super::limits::Limits;
use super::words;
use crate::model::format::{capital, count, ends, plain, quantity, value as shown};
use crate::model::{Bar, BarChart, Bound, Cell as TableCell, Picture, Table, Value, number, text};

/// A cell of the suite, with what all repetitions made of it.
pub struct Row<'a> {
    /// The cell.
    pub(super) cell: &'a Cell,
    /// Whether others ran at the same time.
    pub(super) is_among_others: bool,
    pub(super) points: Vec<&'a Point>,
    /// Operations a second, with an interval where there are complete repetitions enough.
    pub(super) iops: Value,
    /// Milliseconds in which half of the operations ended, and 99 of 100, where they are figures of the run.
    times: [Option<f64>; 2],
    /// CPU time of the client's whole process for each operation.
    cpu_us: Option<f64>,
}

/// The cells in the order of the suite; none in a record of something else.
pub fn rows(record: &RunRecord) -> Vec<Row<'_>> {
    let mut points: BTreeMap<u32, Vec<&Point>> = BTreeMap::new();
    for point in record.repetitions.iter().flat_map(|repetition| &repetition.points) {
        points.entry(point.index).or_default().push(point);
    }
    let figures: Vec<&Figure> = record.results.iter().filter(|figure| is_of_cell(figure)).collect();
    let cell = |points: &[&'_ Point]| points.first().and_then(|point| point.cell.clone());
    let cells: Vec<Option<Cell>> = points.values().map(|points| cell(points)).collect();
    let next = (1..).map(|place| cells.get(place).and_then(Option::as_ref));
    let row = |((index, points), next)| row(record, index, figures.get(index as usize), (points, next));
    points.into_iter().zip(next).filter_map(row).collect()
}

/// True for a rate of one cell. That of the knee is one of them again.
fn is_of_cell(figure: &Figure) -> bool {
    figure.metric.ends_with("_iops") && figure.metric != KNEE_RATE
}

/// A cell by its place, its figure and its points with the cell behind it; `None` for points of something else.
fn row<'a>(
    record: &RunRecord,
    index: u32,
    figure: Option<&&Figure>,
    (points, next): (Vec<&'a Point>, Option<&Cell>),
) -> Option<Row<'a>> {
    let cell = points.first()?.cell.as_ref()?;
    let values: Vec<f64> = points.iter().filter_map(|point| point.get(Metric::Iops)).collect();
    let phases = record.host.client.iter().flat_map(|client| &client.phases);
    // A rate that was asked for is what it is: a faster client gets no more.
    let is_asked = points.iter().any(|point| point.get(Metric::AskedPerSecond).is_some());
    let was_the_limit = phases.filter(|phase| phase.phase == index).any(|phase| phase.was_the_limit && !is_asked);
    let bound = was_the_limit.then_some(Bound::AtLeast);
    let value = |value, low, high| Value { value, low, high, bound, unit: UNIT.to_owned() };
    let iops = match figure {
        Some(figure) => value(figure.value, figure.low, figure.high),
        None => value(summary::mean(&values)?, None, None),
    };
    let times = ["latency_p50", "latency_p99"].map(|end| {
        let name = format!("{}{end}", figure?.metric.strip_suffix("iops")?);
        record.results.iter().find(|figure| figure.metric == name).map(|figure| figure.value)
    });
    Some(Row { cell, is_among_others: cell.is_among_others(next), points, iops, times, cpu_us: cpu_us(record, index) })
}

const UNIT: &str = "IOPS";

/// What an operation of the cell cost, over the repetitions that tell.
fn cpu_us(record: &RunRecord, index: u32) -> Option<f64> {
    let phases = record.host.client.iter().flat_map(|client| &client.phases).filter(|phase| phase.phase == index);
    summary::mean(&phases.filter_map(|phase| phase.cpu_us_per_operation).collect::<Vec<f64>>())
}

impl Row<'_> {
    /// How much of what was bought it delivered, in percent.
    pub(super) fn percent_of(&self, limits: &Limits<'_>) -> Option<f64> {
        limits.percent_of(self.cell, self.iops.value, self.bytes_per_s())
    }

    /// How much of the limit of operations and of the limit of bytes it delivered, in percent.
    pub(super) fn percents_of(&self, limits: &Limits<'_>) -> [Option<f64>; 2] {
        limits.percents_of(self.cell, self.iops.value, self.bytes_per_s())
    }

    /// Whether it could not do all that the disk can: it was asked for a rate, or ran beside others.
    pub(super) fn is_held(&self) -> bool {
        let is_asked = self.points.iter().any(|point| point.get(Metric::AskedPerSecond).is_some());
        is_asked || self.is_among_others
    }

    /// Operations under way.
    pub(super) fn under_way(&self) -> u64 {
        u64::from(self.cell.threads) * u64::from(self.cell.queue_depth)
    }

    /// What it is called where several stand together: by its class and block, where the suite has classes.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.together(), plain(&self.cell.name()))
    }

    /// The class that its suite puts it in.
    fn class(&self) -> Option<String> {
        (self.cell.label != self.cell.work()).then(|| plain(&self.cell.label))
    }

    /// Before what ran at the same time as the row above.
    fn together(&self) -> &'static str {
        if self.cell.beside.is_some() { "+ " } else { "" }
    }

    /// Over all repetitions; `None` if one has no value, as nobody would know what a mean of the others is.
    fn mean(&self, metric: Metric) -> Option<f64> {
        summary::mean(&self.points.iter().map(|point| point.get(metric)).collect::<Option<Vec<f64>>>()?)
    }

    /// Bytes a second at the rate that the row has: as many for each operation as in all repetitions together.
    fn bytes_per_s(&self) -> Option<f64> {
        let iops = self.mean(Metric::Iops).filter(|iops| *iops > 0.0)?;
        Some(self.iops.value * self.mean(Metric::BytesPerS)? / iops)
    }

    pub(super) fn ms(&self, metric: Metric) -> Option<f64> {
        let figure = match metric {
            Metric::LatencyUsP50 => self.times[0],
            Metric::LatencyUsP99 => self.times[1],
            _ => None,
        };
        figure.or_else(|| self.mean(metric).map(|us| us / 1e3))
    }
}

/// The first cell in a sentence, with its spread; `None` for a record of something else.
pub fn headline(record: &RunRecord) -> Option<String> {
    // The knee of a sweep has words of its own.
    record.result.as_ref().is_none_or(is_of_cell).then_some(())?;
    let rows = rows(record);
    let first = rows.first()?;
    let under_way = first.under_way();
    let at_a_time = if under_way == 1 { "one at a time".to_owned() } else { format!("{under_way} under way") };
    let beside = if first.is_among_others { ", beside others" } else { "" };
    let work = capital(&plain(&first.cell.work()));
    let known = first.iops.low.zip(first.iops.high);
    let interval = interval(first.iops.value, known, "", record.result.as_ref());
    let half = first.ms(Metric::LatencyUsP50).map(|ms| format!("half within {}", quantity(ms, "ms")));
    let most = first.ms(Metric::LatencyUsP99).map(|ms| format!("99 of 100 within {}", quantity(ms, "ms")));
    let times: Vec<String> = [half, most].into_iter().flatten().collect();
    let times = if times.is_empty() { String::new() } else { format!(", {}", times.join(", ")) };
    let repetitions = count(first.points.len(), "repetition");
    Some(format!("{work}, {at_a_time}{beside}: {}{interval}{times}, over {repetitions}.", shown(&first.iops)))
}

/// What 'at least' means at cells that have it.
pub fn bounds(record: &RunRecord) -> Option<String> {
    let is_bound = rows(record).iter().any(|row| row.iops.bound.is_some());
    let said = "Where 'at least' stands in the table, this machine's CPU held the client back, and the disk may do more than that.";
    is_bound.then(|| said.to_owned())
}

/// How much has to be under way for as good as the highest rate, where cells of a suite tell it; of a sweep it is the headline.
pub fn knee(record: &RunRecord) -> Option<String> {
    let is_headline = record.result.as_ref().is_some_and(|figure| figure.metric == KNEE_RATE);
    let figure = record.results.iter().find(|figure| figure.metric == KNEE_RATE).filter(|_| !is_headline)?;
    // A sweep makes random reads.
    let is_of_reads = figure.note.as_ref().is_some_and(|note| note.to_lowercase().starts_with("random read"));
    let finer = if record.basis == Basis::Measured && is_of_reads { "; --sweep finds it more finely" } else { "" };
    Some(format!("{}{finer}.", capital(&plain(figure.note.as_ref()?))))
}

/// The spread behind a value, in parentheses.
pub(super) fn interval(value: f64, known: Option<(f64, f64)>, unit: &str, figure: Option<&Figure>) -> String {
    let Some(text) = known.and_then(|(low, high)| ends(value, low, high)) else {
        return " (without an interval)".to_owned();
    };
    format!(" ({})", format!("{} {text} {unit}", words::interval_of(figure)).trim_end())
}

/// Operations a second of each cell.
pub fn chart(record: &RunRecord) -> Option<Picture> {
    let rows = rows(record);
    let bar = |row: &Row<'_>| Bar { label: row.name(), value: row.iops.clone(), expected: None };
    let bars: Vec<Bar> = rows.iter().map(bar).collect();
    let title = "Operations a second: kind, block, threads x operations under way of each";
    (!bars.is_empty()).then(|| Picture::Bars(BarChart::plain(title, "IOPS".to_owned(), bars)))
}

/// Rows: the cells.
pub fn table(record: &RunRecord) -> Option<Table> {
    let rows = rows(record);
    let bought = Limits::of(record);
    let errors = |row: &Row<'_>| row.points.iter().filter_map(|point| point.count(Metric::Errors)).sum::<u64>();
    Table::of(
        rows.iter(),
        &[
            (text("Class"), &|row| row.class().map(|class| format!("{}{class}", row.together())).into()),
            (text("Work"), &|row| plain(&row.cell.work()).into()),
            (text("Threads x depth"), &|row| format!("{} x {}", row.cell.threads, row.cell.queue_depth).into()),
            (number(super::facts::with_interval(record.result.as_ref()).replace("Value", "IOPS"), ""), &|row| {
                TableCell::from(Value { unit: String::new(), ..row.iops.clone() })
            }),
            (number("Of limit", "%").spare(1), &|row| row.percent_of(&bought).into()),
            (number("MB/s", ""), &|row| row.bytes_per_s().map(|bytes| bytes / MB as f64).into()),
            (number("p50", "ms").page("STATISTICS.md"), &|row| row.ms(Metric::LatencyUsP50).into()),
            (number("p99", "ms"), &|row| row.ms(Metric::LatencyUsP99).into()),
            (number("mean", "ms").spare(3), &|row| row.ms(Metric::LatencyUsMean).into()),
            (number("CPU per I/O", "us").spare(3), &|row| row.cpu_us.into()),
            (number("Failed", "").unless_zero(), &|row| errors(row).into()),
        ],
    )
}

#[cfg(test)]
pub(super) mod tests {
    use plimsoll_measurement::{Access, Client, ClientPhase, Offsets, Operation, Repetition, SyncMode};

    use super::*;

    pub fn cell(label: &str, threads: u32) -> Cell {
        Cell {
            label: label.to_owned(),
            operation: Operation::Read.into(),
            read_percent: 100,
            access: Access::Random.into(),
            offsets: Offsets::Shared.into(),
            sync: SyncMode::None.into(),
            block_bytes: 8192,
            threads,
            queue_depth: 32,
            writes_per_sync: 1,
            beside: None,
        }
    }

    pub fn record(repetitions: u32) -> RunRecord {
        let point = |index: u32, repetition: u32| {
            let iops = f64::from(10_000 * (index + 1) + 100 * repetition);
            Point { index, cell: Some(cell("OR", index + 1)), ..Point::default() }
                .with(Metric::Iops, iops)
                .with(Metric::BytesPerS, iops * 8192.0)
                .with(Metric::LatencyUsP50, 800.0)
                .with(Metric::LatencyUsP99, 1900.0)
        };
        let one = |repetition: u32| Repetition {
            points: (0..2).map(|at| point(at, repetition)).collect(),
            ..Repetition::default()
        };
        let phase = |phase: u32| ClientPhase {
            phase,
            cpu_us_per_operation: Some(f64::from(phase + 2)),
            ..ClientPhase::default()
        };
        let mut record = RunRecord { repetitions: (0..repetitions).map(one).collect(), ..RunRecord::default() };
        record.host.client = Some(Client { phases: vec![phase(0), phase(1)], ..Client::default() });
        record
    }

    fn figure(metric: &str, value: f64) -> Figure {
        Figure {
            metric: metric.to_owned(),
            value,
            unit: "1/s".to_owned(),
            low: None,
            high: None,
            confidence: 0.95,
            values: vec![value],
            repetitions: 2,
            point_cv_percent: None,
            note: None,
            expected: None,
        }
    }

    #[test]
    fn a_row_has_one_kind_of_mean() {
        let mut record = record(2);
        // A mean of logarithms, which is none of the points'.
        record.results = vec![figure("or_iops", 5_000.0), figure("or_latency_p50", 0.7)];
        let first = &rows(&record)[0];
        assert_eq!((first.bytes_per_s(), first.ms(Metric::LatencyUsP50)), (Some(5_000.0 * 8192.0), Some(0.7)));
        assert_eq!(first.ms(Metric::LatencyUsP99), Some(1.9), "that is no figure of this run");
    }

    #[test]
    fn each_cell_is_a_row_with_what_it_cost() {
        let record = record(2);
        let rows = rows(&record);
        let seen: Vec<(f64, Option<f64>)> = rows.iter().map(|row| (row.iops.value, row.cpu_us)).collect();
        assert_eq!(seen, [(10_050.0, Some(2.0)), (20_050.0, Some(3.0))]);
        assert_eq!(rows[1].name(), "OR 8 KiB, 2 x 32");
        let mut limited = record.clone();
        limited
            .host
            .client
            .iter_mut()
            .flat_map(|client| &mut client.phases)
            .for_each(|phase| phase.was_the_limit = true);
        let asked = limited.repetitions[0].points[1].clone().with(Metric::AskedPerSecond, 20_000.0);
        limited.repetitions[0].points[1] = asked;
        let bounds: Vec<_> = super::rows(&limited).into_iter().map(|row| row.iops.bound).collect();
        assert_eq!(bounds, [Some(Bound::AtLeast), None]);
        assert!(super::bounds(&limited).is_some_and(|said| said.starts_with("Where 'at least' stands in the table")));
        assert_eq!(super::bounds(&record), None);
        assert_eq!((rows[0].ms(Metric::LatencyUsP99), rows[0].ms(Metric::LatencyUsMean)), (Some(1.9), None));
        let mut some = record.clone();
        some.repetitions[0].points[0] = Point { index: 0, cell: Some(cell("OR", 1)), ..Point::default() };
        assert_eq!(super::rows(&some)[0].ms(Metric::LatencyUsP99), None, "one repetition has too few for it");
        assert_eq!(table(&record).map(|table| table.rows.len()), Some(2));
        let Some(Picture::Bars(chart)) = chart(&record) else { panic!("no bars") };
        assert_eq!(chart.bars().count(), 2);
    }

    #[test]
    fn the_knee_of_a_suite_is_a_sentence_of_its_own() {
        let figure = |metric: &str, note: &str| Figure { note: Some(note.to_owned()), ..figure(metric, 19_000.0) };
        let mut record = record(1);
        assert_eq!(knee(&record), None);
        let knees = figure("knee_iops", "random read 8 KiB needs at most 16 under way");
        record.results = vec![figure("or_iops", ""), knees.clone()];
        record.result = record.results.first().cloned();
        let expected = "Random read 8 KiB needs at most 16 under way; --sweep finds it more finely.";
        assert_eq!(knee(&record).as_deref(), Some(expected));
        assert_eq!(rows(&record).len(), 2, "it is no cell");
        record.result = Some(knees);
        assert_eq!(knee(&record), None, "of a sweep the headline says it");
    }

    #[test]
    fn the_sentence_says_how_many_were_under_way_and_what_half_took() {
        let sentence = headline(&record(1)).unwrap();
        let expected = "Random read 8 KiB, 32 under way: 10,000 IOPS (without an interval), half within 0.800 ms, 99 of 100 within \
                        1.90 ms, over 1 repetition.";
        assert_eq!(sentence, expected);
        assert_eq!(headline(&RunRecord::default()), None, "a database has no cells");
        let mut narrow = record(3);
        for point in narrow.repetitions.iter_mut().flat_map(|one| &mut one.points) {
            *point = point.clone().with(Metric::Iops, 5_000.0);
        }
        narrow.results = vec![Figure { low: Some(4_999.9), high: Some(5_000.1), ..figure("or_iops", 5_000.0) }];
        let sentence = headline(&narrow).unwrap();
        assert!(sentence.contains(": 5,000 IOPS (95 % interval ±<1), half within"), "{sentence}");
    }
}
