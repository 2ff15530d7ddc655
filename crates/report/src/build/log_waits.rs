//! What a commit waits for on a disk: the log by itself, and beside other work.

use plimsoll_measurement::cell::{COMMITS, COMMITS_TIME};
use plimsoll_measurement::{Figure, Metric, RunRecord};

use super::cells::{Row, interval, rows};
use crate::model::format::{plain, quantity, rounded};

/// Seconds that a commit of one row takes at most beside its wait for the log: 40 us follow from a published table of SQL Server.
const WORK_S: f64 = 60e-6;

/// An interval whose ends are so many times apart is not told.
const MOST_APART: f64 = 10.0;

/// How long many commits wait for the log here, and what is known of other disks; `None` where no log was written.
pub fn commits(record: &RunRecord) -> Option<String> {
    let figure = record.results.iter().find(|figure| figure.metric == COMMITS_TIME)?;
    // Few repetitions that lie apart have an interval that says nothing: what each came to says more.
    let is_narrow = |(low, high): &(f64, f64)| high <= &(MOST_APART * low);
    let told = figure.low.zip(figure.high).filter(is_narrow);
    let (low, high) = told.unwrap_or_else(|| spread(figure));
    let interval = match told {
        None if figure.values.len() > 1 => {
            format!(" ({} to {} in the repetitions)", quantity(low, "s"), quantity(high, "s"))
        }
        told => interval(figure.value, told, "s", Some(figure)),
    };
    let note = figure.note.as_ref().map(|note| format!("; {}", plain(note))).unwrap_or_default();
    let commits = rounded(f64::from(COMMITS));
    // At best a database adds nothing.
    // Few a second are told as they are: rounded, the range would not have them.
    let shown = |rate: f64| if rate < 100.0 { quantity(rate, "").trim_end().to_owned() } else { rounded(rate) };
    let most = shown(f64::from(COMMITS) / low);
    let least = shown(1.0 / (high / f64::from(COMMITS) + WORK_S));
    Some(format!(
        "{commits} commits of one session wait {}{interval} for the log on this disk{note}. With the work of a \
         database itself, at most 60 us a commit, that is {least} to {most} commits a second while a CPU is free for it.",
        quantity(figure.value, "s")
    ))
}

/// The least and the most of the repetitions.
fn spread(figure: &Figure) -> (f64, f64) {
    figure.values.iter().fold((figure.value, figure.value), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// What a durable write takes by itself and at most beside other work; `None` where nothing ran beside one.
pub fn beside(record: &RunRecord) -> Option<String> {
    let rows = rows(record);
    let is_log = |row: &&Row<'_>| row.cell.is_log() && row.cell.beside.is_none();
    let alone = rows.iter().filter(is_log).find(|row| !row.is_among_others)?;
    let took = |row: &Row<'_>| {
        let half = row.ms(Metric::LatencyUsP50)?;
        let most = row.ms(Metric::LatencyUsP99).map(|ms| format!(", {} in 99 of 100", quantity(ms, "ms")));
        let rate = quantity(row.iops.value, "a second");
        Some(format!("within {} in half of all cases{}, {rate} in all", quantity(half, "ms"), most.unwrap_or_default()))
    };
    let mean = |row: &Row<'_>| 1.0 / row.iops.value;
    let most =
        rows.iter().filter(is_log).filter(|row| row.is_among_others).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let (alone_ms, most_ms) = (took(alone)?, took(most)?);
    let label = plain(&most.cell.label);
    // A share in a label is one of what another cell made: here is what it came to.
    let beside = rows.iter().filter(|row| row.cell.beside.as_ref() == Some(&most.cell.label));
    let beside = beside.map(|row| format!("{} ({})", plain(&row.cell.work()), quantity(row.iops.value, "a second")));
    let beside = beside.collect::<Vec<String>>().join(" and ");
    let takes = if mean(most) > mean(alone) {
        "It takes longest"
    } else {
        "It takes no longer beside others, and most of these"
    };
    Some(format!("By itself a durable write ends {alone_ms}. {takes} in '{label}', beside {beside}: {most_ms}."))
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Access, Cell, Offsets, Operation, Point, Repetition, SyncMode};

    use super::*;

    fn cell(label: &str) -> Cell {
        Cell {
            label: label.to_owned(),
            operation: Operation::Read.into(),
            read_percent: 100,
            access: Access::Random.into(),
            offsets: Offsets::Shared.into(),
            sync: SyncMode::None.into(),
            writes_per_sync: 1,
            block_bytes: 8192,
            threads: 1,
            queue_depth: 32,
            beside: None,
        }
    }

    #[test]
    fn commits_and_the_worst_company_of_a_log_have_a_sentence_each() {
        let log = |label: &str| Cell {
            operation: Operation::Write.into(),
            access: Access::Sequential.into(),
            sync: SyncMode::ODsync.into(),
            queue_depth: 1,
            ..cell(label)
        };
        let point = |index: u32, cell: Cell, iops: f64| {
            Point { index, cell: Some(cell), ..Point::default() }
                .with(Metric::Iops, iops)
                .with(Metric::LatencyUsP50, 5e5 / iops)
        };
        let reads = |main: &str| Cell { beside: Some(main.to_owned()), ..cell("reads") };
        let points = vec![
            point(0, log("log"), 1000.0),
            point(1, log("log, reads"), 500.0),
            point(2, reads("log, reads"), 9000.0),
            point(3, log("log, more"), 800.0),
            point(4, reads("log, more"), 20_000.0),
        ];
        let figure = Figure {
            metric: COMMITS_TIME.to_owned(),
            value: 50.0,
            unit: "s".to_owned(),
            low: Some(40.0),
            high: Some(60.0),
            confidence: 0.95,
            repetitions: 3,
            point_cv_percent: None,
            note: Some("elsewhere 36 s".to_owned()),
            values: vec![45.0, 50.0, 55.0],
            expected: None,
        };
        let repetitions = vec![Repetition { points, ..Repetition::default() }];
        let record = RunRecord { repetitions, results: vec![figure], ..RunRecord::default() };
        assert_eq!(
            commits(&record).unwrap(),
            "50,000 commits of one session wait 50.0 s (95 % interval 40.0 to 60.0 s) for the log on this disk; elsewhere 36 s. \
             With the work of a database itself, at most 60 us a commit, that is 794 to 1,250 commits a second while a CPU is free for it."
        );
        let expected = "By itself a durable write ends within 0.500 ms in half of all cases, 1,000 a second in all. It takes longest in 'log, reads', beside random read 8 KiB (9,000 a second): within 1.00 ms in half of all \
             cases, 500 a second in all.";
        assert_eq!(beside(&record).unwrap(), expected);
        assert_eq!(rows(&record)[2].name(), "+ reads 8 KiB, 1 x 32");
        assert_eq!((commits(&RunRecord::default()), beside(&RunRecord::default())), (None, None));
    }

    #[test]
    fn repetitions_that_lie_far_apart_have_no_interval() {
        let figure = Figure {
            metric: COMMITS_TIME.to_owned(),
            value: 11.6,
            unit: "s".to_owned(),
            low: Some(0.001),
            high: Some(113_264.0),
            confidence: 0.95,
            repetitions: 2,
            point_cv_percent: None,
            note: None,
            values: vec![5.0, 26.0],
            expected: None,
        };
        let said =
            |figure: &Figure| commits(&RunRecord { results: vec![figure.clone()], ..RunRecord::default() }).unwrap();
        let wide = said(&figure);
        assert!(
            wide.contains("wait 11.6 s (5.00 s to 26.0 s in the repetitions)")
                && wide.ends_with("that is 1,724 to 10,000 commits a second while a CPU is free for it."),
            "{wide}"
        );
        let slow = said(&Figure { value: 17_850.0, low: Some(17_800.0), high: Some(17_900.0), ..figure.clone() });
        assert!(slow.ends_with("that is 2.79 to 2.81 commits a second while a CPU is free for it."), "{slow}");
        let one = said(&Figure { low: None, high: None, values: vec![11.6], repetitions: 1, ..figure });
        assert!(
            one.contains("wait 11.6 s (without an interval)")
                && one.ends_with("that is 3,425 to 4,310 commits a second while a CPU is free for it."),
            "{one}"
        );
    }
}
