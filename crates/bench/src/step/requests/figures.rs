//! Figures of requests: of several phases the best one counts.

use plimsoll_analysis::summary;
use plimsoll_engine::{Error, ErrorKind};
use plimsoll_load::search::Goal;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Metric, Phase, Point, Repetition};

use crate::figures::series::{Series, percentile_ms};

/// Requests a second, their content a minute, and percentiles of the response times over all kinds; of batches alone their rows a second first. Of several phases the
/// one with the highest rate counts, of a search the highest rate of each repetition that held in all its tries.
pub(super) fn requests(repetitions: &[&Repetition]) -> Vec<Series> {
    let searched = repetitions.iter().any(|repetition| repetition.phases.iter().any(|phase| phase.holds.is_some()));
    let batches = repetitions.iter().any(|repetition| repetition.phases.iter().any(|phase| phase.batch_rows.is_some()));
    let best = if searched { None } else { best_phase(repetitions, batches) };
    let chosen: Vec<&Phase> = repetitions
        .iter()
        .filter_map(|repetition| {
            if let Some(place) = best {
                repetition.phases.get(place).filter(|phase| phase.operations + phase.drained > 0)
            } else {
                let held = repetition.phases.iter().filter(|phase| phase.operations > 0 && held(repetition, phase));
                held.max_by(|a, b| a.rate.total_cmp(&b.rate))
            }
        })
        .collect();
    let label = best.and_then(|place| repetitions.iter().find_map(|repetition| repetition.phases.get(place)));
    let label = label.map(|phase| &phase.label);
    let several = repetitions.iter().any(|repetition| repetition.phases.len() > 1);
    let note = match label {
        Some(label) if several => Some(format!(
            "at {label}, {}",
            if batches { "with the most MB a minute" } else { "with the most requests a second" }
        )),
        None if searched => Some("at the highest rate that met the goal".to_owned()),
        _ => None,
    };
    let of = |metric: &'static str, unit: &'static str, value: &dyn Fn(&Phase) -> Option<f64>| Series {
        note: note.clone(),
        ..Series::new(metric, unit, chosen.iter().filter_map(|phase| value(phase)).collect())
    };
    let percentile = |metric: &'static str, percent: f64| Series {
        note: note.clone(),
        ..percentile_ms(metric, percent, chosen.iter().map(|phase| phase.times.percentile(percent)))
    };
    let points = repetitions.iter().flat_map(|repetition| &repetition.points);
    let of_points: Vec<f64> = points.filter(|_| !several).filter_map(rate_of_point).collect();
    let drained: u64 = chosen.iter().map(|phase| phase.drained).sum();
    // What is slower than a phase is long has a rate, and the phase does not show it.
    let unseen = drained > 0 && chosen.iter().all(|phase| phase.operations == 0);
    let late = format!("no request was answered within its phase, {drained} were later");
    let rate = Series {
        point_cv_percent: summary::coefficient_of_variation_percent(&of_points),
        absent: unseen.then_some(late),
        ..of("request_rate", "1/s", &|phase| Some(phase.rate).filter(|_| !unseen))
    };
    // A batch is no measure of its own: whoever loads asks for rows.
    let loads = batches && repetitions.iter().all(|repetition| repetition.requests.iter().all(|one| one.kind == BULK));
    let rows = |phase: &Phase| Some(phase.rate * phase.batch_rows.unwrap_or(1) as f64).filter(|_| loads && !unseen);
    let mut all = vec![
        rate,
        percentile("latency_p50", 50.0),
        percentile("latency_p99", 99.0),
        percentile("latency_p99.9", 99.9),
        of("content_rate", "MB/min", &|phase| phase.mb_per_minute.filter(|rate| *rate > 0.0)),
        of("row_rate", "rows/s", &rows),
    ];
    if loads {
        all.rotate_right(1);
    }
    all
}

/// The kind of request that loads a batch.
const BULK: &str = "bulk-load";

/// True if a search found that a rate holds, in all its tries.
fn held(repetition: &Repetition, phase: &Phase) -> bool {
    let same = |other: &&Phase| other.rate_asked.map(f64::to_bits) == phase.rate_asked.map(f64::to_bits);
    phase.holds == Some(true) && repetition.phases.iter().filter(same).all(|other| other.holds != Some(false))
}

/// Why a search is no result: no rate met the goal in any repetition, and how near the lowest came.
pub(super) fn no_knee(goal: &Goal, repetitions: &[Repetition]) -> Option<Error> {
    let has_knee = |repetition: &Repetition| repetition.phases.iter().any(|phase| held(repetition, phase));
    if repetitions.iter().any(has_knee) {
        return None;
    }
    let Goal { percent, time, .. } = goal;
    let tried = repetitions.iter().flat_map(|repetition| &repetition.phases).filter(|phase| phase.rate_asked.is_some());
    let lowest = tried.min_by(|a, b| a.rate_asked.unwrap_or(0.0).total_cmp(&b.rate_asked.unwrap_or(0.0)))?;
    let ms = |us: f64| format_significant(us / 1e3);
    let mut seen = vec![match lowest.times.percentile(*percent) {
        Ok(us) => format!("p{percent} was {} ms", ms(us)),
        Err(too_few) => too_few.to_string(),
    }];
    let left = [(lowest.backlog.unwrap_or(0), "were due and not begun"), (lowest.errors, "failed")];
    let left = left.into_iter().filter(|(count, _)| *count > 0);
    seen.extend(left.map(|(count, what)| format!("{count} requests {what}")));
    let (label, goal, seen) = (&lowest.label, ms(time.as_secs_f64() * 1e6), seen.join(", "));
    let message =
        format!("no rate met the goal of {goal} ms for p{percent}: at {label}, the lowest that was tried, {seen}");
    Some(Error::new(ErrorKind::NoResult, message).hint(
        "see what slows the target down, or set a goal that allows more time; 'plimsoll show' has all that was tried",
    ))
}

/// Why a run without a search is no result: no request was answered within its phase, in any repetition.
pub(super) fn unanswered(repetitions: &[Repetition]) -> Option<Error> {
    let phases = || repetitions.iter().flat_map(|repetition| &repetition.phases);
    let failed = phases().any(|phase| phase.errors > 0);
    if failed || phases().next().is_none() || phases().any(|phase| phase.operations > 0) {
        return None;
    }
    let message = match phases().map(|phase| phase.drained).sum::<u64>() {
        0 => "no request was answered within its phase".to_owned(),
        late => format!("no request was answered within its phase, {late} were later"),
    };
    Some(Error::new(ErrorKind::NoResult, message).hint("--set duration=... makes a phase longer"))
}

fn rate_of_point(point: &Point) -> Option<f64> {
    Some(point.count(Metric::Operations)? as f64 / point.seconds).filter(|_| point.seconds > 0.0)
}

/// The place of the phase with the highest rate, of batches the one that loads most, by the mean over the repetitions that
/// have it. All repetitions try the same phases in the same order.
fn best_phase(repetitions: &[&Repetition], batches: bool) -> Option<usize> {
    let places = repetitions.iter().map(|repetition| repetition.phases.len()).max()?;
    let rate = |phase: &Phase| if batches { phase.mb_per_minute.unwrap_or(0.0) } else { phase.rate };
    let mean = |place: usize| {
        let rates = repetitions.iter().filter_map(|repetition| repetition.phases.get(place)).map(rate);
        summary::mean(&rates.collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    (0..places).max_by(|a, b| mean(*a).total_cmp(&mean(*b)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_load::schedule::Arrivals;
    use plimsoll_measurement::{LatencyHistogramData, RequestKind};

    use super::*;

    fn repetition(label: &str, complete: bool, points: Vec<Point>) -> Repetition {
        Repetition { label: label.to_owned(), complete, started_seconds: 0.0, points, ..Repetition::default() }
    }

    #[test]
    fn of_a_search_the_highest_rate_that_held_in_all_its_tries_counts() {
        let phase = |rate: f64, holds: bool| Phase {
            label: format!("{rate}/s"),
            rate_asked: Some(rate),
            operations: 1,
            rate,
            holds: Some(holds),
            ..Phase::default()
        };
        let mut searched = repetition("a", true, Vec::new());
        searched.phases = vec![phase(100.0, true), phase(200.0, false), phase(200.0, true), phase(400.0, false)];
        let found = requests(&[&searched]);
        assert_eq!((found[0].metric.as_str(), found[0].values[0]), ("request_rate", 100.0), "{found:?}");
    }

    #[test]
    fn a_search_that_found_nothing_is_no_result_and_says_how_near_the_lowest_came() {
        let phase = |rate: f64, holds: bool| Phase {
            label: format!("{rate}/s"),
            rate_asked: Some(rate),
            operations: 1,
            errors: 1,
            backlog: Some(3200),
            times: LatencyHistogramData { buckets: vec![(31_700.0, 10_000)], ..times(10_000) },
            holds: Some(holds),
            ..Phase::default()
        };
        let goal = Goal {
            time: Duration::from_millis(5),
            percent: 99.9,
            usual: Duration::from_secs(10),
            arrivals: Arrivals::Constant,
        };
        let mut nothing = repetition("a", true, Vec::new());
        nothing.phases = vec![phase(200.0, true), phase(200.0, false), phase(100.0, false)];
        let error = no_knee(&goal, &[nothing.clone()]).unwrap();
        let sentence = "no rate met the goal of 5.00 ms for p99.9: at 100/s, the lowest that was tried, p99.9 was 31.7 ms, 3200 \
                        requests were due and not begun, 1 requests failed";
        assert_eq!((error.message.as_str(), error.kind.exit_code()), (sentence, 7));
        let mut found = nothing.clone();
        found.phases.push(phase(50.0, true));
        assert_eq!(no_knee(&goal, &[nothing, found]), None, "one repetition has found something");
    }

    #[test]
    fn a_run_without_an_answer_is_no_result() {
        let of = |operations, drained, errors| Repetition {
            phases: vec![Phase { operations, drained, errors, ..Phase::default() }],
            ..Repetition::default()
        };
        let error = unanswered(&[of(0, 3, 0), of(0, 1, 0)]).unwrap();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::NoResult, "no request was answered within its phase, 4 were later")
        );
        assert_eq!(unanswered(&[of(0, 3, 0), of(1, 0, 0)]), None);
        // Failures have a rule of their own.
        assert_eq!((unanswered(&[of(0, 0, 9)]), unanswered(&[Repetition::default()])), (None, None));
    }

    #[test]
    fn what_takes_longer_than_its_phase_has_no_rate_of_zero() {
        let mut slow = repetition("a", true, Vec::new());
        slow.phases = vec![Phase { drained: 4, ..Phase::default() }];
        let rate = requests(&[&slow]).remove(0);
        assert!(rate.values.is_empty() && rate.absent.is_some_and(|why| why.contains("4 were later")));
        let mut fast = slow.clone();
        fast.phases = vec![Phase { operations: 10, rate: 5.0, ..Phase::default() }];
        assert_eq!(requests(&[&slow, &fast]).remove(0).values, [0.0, 5.0]);
    }

    fn times(count: u64) -> LatencyHistogramData {
        LatencyHistogramData { count, sum_us: 0.0, relative_error_percent: 1.0, buckets: vec![(1000.0, count)] }
    }

    #[test]
    fn a_percentile_with_too_few_times_is_absent_with_the_reason() {
        let mut one = repetition("a", true, Vec::new());
        one.phases = vec![Phase { operations: 7302, rate: 365.1, times: times(7302), ..Phase::default() }];
        let made = requests(&[&one]);
        let of = |metric: &str| made.iter().find(|series| series.metric == metric).unwrap();
        assert_eq!((of("latency_p99").values.as_slice(), &of("latency_p99").absent), (&[1.0][..], &None));
        let reason = "p99.9 needs 10000 response times, 10 of them beyond it; there are 7302";
        assert_eq!(of("latency_p99.9").absent.as_deref(), Some(reason));
        assert!(of("latency_p99.9").figure().is_none());
    }

    #[test]
    fn of_batches_the_rows_come_first() {
        let phase = |rows: Option<u64>, rate: f64, mb_per_minute: f64| Phase {
            batch_rows: rows,
            operations: 1,
            rate,
            mb_per_minute: Some(mb_per_minute),
            ..Phase::default()
        };
        let kind = |kind: &str| RequestKind { kind: kind.to_owned(), ..RequestKind::default() };
        let mut one = repetition("a", true, Vec::new());
        one.phases = vec![phase(None, 300.0, 7.0), phase(Some(1000), 20.0, 480.0)];
        one.requests = vec![kind(BULK)];
        let made = requests(&[&one]);
        assert_eq!(
            (made[0].metric.as_str(), made[0].unit.as_str(), made[0].values[0]),
            ("row_rate", "rows/s", 20_000.0)
        );
        assert_eq!((made[1].metric.as_str(), made[1].values[0]), ("request_rate", 20.0));
        // Beside others it is not known which of them were batches.
        one.requests.push(kind("update"));
        let mixed = requests(&[&one]);
        assert_eq!(mixed[0].metric, "request_rate");
        assert!(mixed.iter().all(|series| series.metric != "row_rate" || series.values.is_empty()));
    }

    #[test]
    fn phases_with_the_same_label_are_not_added_together() {
        let phase = |sessions: u32, rate: f64| Phase {
            label: format!("{sessions} sessions"),
            sessions,
            operations: 1,
            rate,
            ..Phase::default()
        };
        let mut one = repetition("a", true, Vec::new());
        one.phases = vec![phase(4, 100.0), phase(4, 110.0), phase(8, 150.0)];
        let made = requests(&[&one]);
        assert_eq!((made[0].metric.as_str(), made[0].values[0]), ("request_rate", 150.0), "{made:?}");
        assert!(made[0].note.as_ref().unwrap().starts_with("at 8 sessions"), "{made:?}");
    }
}
