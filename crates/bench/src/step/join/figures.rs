//! Figures of the CPU ladder, at a rung that all repetitions have.

use std::collections::BTreeSet;

use plimsoll_analysis::ladder::LOW_CPU_PERCENT;
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};

use crate::figures::series::Series;

/// How many times as long as one session several may take for a join before that is told: on a quota of CPU they take as long.
const SLOWER: f64 = 1.2;

/// Millions of row pairs a second at the largest N that every repetition has: for the whole machine, then for one
/// session.
pub(super) fn join(repetitions: &[Vec<&Point>]) -> Vec<Series> {
    let kinds = join_kinds(repetitions);
    kinds
        .iter()
        .filter_map(|(metric, sessions)| {
            join_at(repetitions, metric, *sessions, *rungs(repetitions, *sessions).last()?)
        })
        .collect()
}

/// Name and sessions of the ladders that were climbed.
fn join_kinds(repetitions: &[Vec<&Point>]) -> Vec<(&'static str, u64)> {
    let most = repetitions.iter().flatten().filter_map(|point| point.count(Metric::Sessions)).max().unwrap_or(1);
    let kinds = [("join_rate", most), ("join_rate_single", 1)];
    kinds.into_iter().take(if most > 1 { 2 } else { 1 }).collect()
}

/// The rungs that every repetition has, rising.
fn rungs(repetitions: &[Vec<&Point>], sessions: u64) -> Vec<u64> {
    let of = |points: &Vec<&Point>| -> BTreeSet<u64> {
        points
            .iter()
            .filter(|point| point.count(Metric::Sessions) == Some(sessions))
            .filter_map(|point| point.count(Metric::JoinRows))
            .collect()
    };
    let common = repetitions.iter().map(of).reduce(|a, b| a.intersection(&b).copied().collect());
    common.unwrap_or_default().into_iter().collect()
}

fn join_at(repetitions: &[Vec<&Point>], metric: &'static str, sessions: u64, rung: u64) -> Option<Series> {
    let at = |point: &&&Point| {
        point.count(Metric::Sessions) == Some(sessions) && point.count(Metric::JoinRows) == Some(rung)
    };
    let points: Vec<&Point> = repetitions.iter().flatten().filter(at).copied().collect();
    let pairs = rung as f64 * rung as f64;
    let seconds = points.iter().map(|point| point.seconds).filter(|seconds| *seconds > 0.0);
    let rates: Vec<f64> = seconds.map(|seconds| pairs / seconds / 1e6).collect();
    let idle = points
        .iter()
        .filter(|point| point.get(Metric::CpuPercent).is_some_and(|percent| percent < LOW_CPU_PERCENT))
        .count();
    let alone =
        |point: &&Point| point.count(Metric::Sessions) == Some(1) && point.count(Metric::JoinRows) == Some(rung);
    let alone =
        repetitions.iter().flatten().copied().filter(alone).map(|point| point.seconds).fold(f64::INFINITY, f64::min);
    let doubt = if 2 * idle > points.len() {
        Some("the CPUs were not fully used: something else bound the join".to_owned())
    } else {
        // Where one session did all of the work faster than several did their parts of it.
        let slower = points.iter().all(|point| point.seconds > SLOWER * alone);
        slower.then(|| format!("one session alone was faster than {sessions}: something other than CPU bound the join"))
    };
    let mut note = format!("at N = {rung}, {sessions} session{}", if sessions == 1 { "" } else { "s" });
    if let Some(doubt) = &doubt {
        note = format!("{note}; {doubt}");
    }
    (!rates.is_empty()).then(|| Series { note: Some(note), doubt, ..Series::new(metric, "Mpairs/s", rates) })
}

/// The N at which the repetitions' join rate is taken, if they were joins.
pub(super) fn join_rung(repetitions: &[Repetition]) -> Option<u64> {
    let points = complete(repetitions);
    let (_, sessions) = *join_kinds(&points).first()?;
    rungs(&points, sessions).last().copied()
}

/// The join rates of two runs at the largest N that both have, whole machine against whole machine: work grows with the
/// square of N, so only equal N compare.
pub fn joins_at_common_rungs(a: &RunRecord, b: &RunRecord) -> Vec<(Series, Series)> {
    let (a, b) = (complete(&a.repetitions), complete(&b.repetitions));
    let (ours, theirs) = (join_kinds(&a), join_kinds(&b));
    let pairs = ours.iter().filter_map(|(metric, sessions)| {
        let (_, others) = theirs.iter().find(|(name, _)| name == metric)?;
        let shared = rungs(&b, *others);
        let rung = *rungs(&a, *sessions).iter().rev().find(|rung| shared.contains(rung))?;
        Some((join_at(&a, metric, *sessions, rung)?, join_at(&b, metric, *others, rung)?))
    });
    pairs.collect()
}

fn complete(repetitions: &[Repetition]) -> Vec<Vec<&Point>> {
    repetitions
        .iter()
        .filter(|repetition| repetition.complete)
        .map(|repetition| repetition.points.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_join_rate_is_taken_at_the_largest_common_rung() {
        let rung = |rows: u64, sessions: u64, seconds: f64| {
            Point { seconds, ..Point::default() }.with(Metric::JoinRows, rows).with(Metric::Sessions, sessions)
        };
        let rungs = [rung(1000, 2, 0.5), rung(1000, 1, 1.0), rung(2000, 2, 2.0)];
        let made = join(&[rungs.iter().collect(), rungs[..2].iter().collect()]);
        let made: Vec<_> = made.iter().filter_map(Series::figure).collect();
        assert_eq!((made[0].metric.as_str(), made[0].value), ("join_rate", 2.0));
        assert_eq!((made[1].metric.as_str(), made[1].value), ("join_rate_single", 1.0));
        assert!(made.iter().all(|figure| figure.note.as_deref().is_some_and(|note| !note.contains("faster"))));
    }

    #[test]
    fn several_sessions_that_are_slower_than_one_are_no_whole_machine() {
        let rung = |sessions: u64, seconds: f64| {
            Point { seconds, ..Point::default() }.with(Metric::JoinRows, 500).with(Metric::Sessions, sessions)
        };
        let rungs = [rung(8, 2.4), rung(1, 0.03)];
        let made = join(&[rungs.iter().collect()]);
        assert_eq!(
            made[0].doubt.as_deref(),
            Some("one session alone was faster than 8: something other than CPU bound the join")
        );
        assert_eq!(made[1].doubt, None);
    }
}
