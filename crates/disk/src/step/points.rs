//! What the operations of a cell are in the record: a point, and what they needed of the client. With too many that failed, no result.

use plimsoll_bench::parameters::Parameters;
use plimsoll_engine::{Error, ErrorKind};
use plimsoll_load::client::Told;
use plimsoll_load::worker::Needed;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Cell, Metric, Point, Repetition};

use crate::cell::Came;
use crate::error::MOST_FAILED_PERCENT;
use crate::plan::CellPlan;

/// The point of the operations of one kind.
pub(super) fn of_member(plan: &CellPlan, came: &Came) -> Point {
    let (sums, record) = (came.recorder.sums(), &came.record);
    let point = Point {
        label: Some(plan.cell.label.clone()),
        cell: Some(plan.cell.clone()),
        started_seconds: record.started_seconds,
        seconds: record.seconds,
        ..Point::default()
    };
    let per_second = |amount: u64| (record.seconds > 0.0).then(|| amount as f64 / record.seconds);
    point
        .with(Metric::LatencyUsP50, record.times.percentile_us(50.0))
        .with(Metric::LatencyUsP99, record.times.percentile_us(99.0))
        .with(Metric::Operations, sums.answered)
        .with(Metric::Errors, sums.failed)
        .with(Metric::AskedPerSecond, plan.rate_per_s)
        .with(Metric::Iops, per_second(sums.answered))
        .with(Metric::BytesPerS, per_second(sums.amount.content_bytes))
}

/// What they needed of the client, as the next phase of the repetition; CPU time of the whole process where it is theirs alone.
pub(super) fn client_phase(
    repetition: &Repetition,
    plan: &CellPlan,
    came: &Came,
    cpu_seconds: Option<f64>,
) -> (Told, Vec<Needed>) {
    let answered = Some(came.recorder.sums().answered).filter(|answered| *answered > 0);
    let told = Told {
        repetition: repetition.label.clone(),
        phase: repetition.phases.len(),
        seconds: came.record.seconds,
        // The headline is the first cell's.
        rank: if repetition.phases.is_empty() { 1.0 } else { 0.0 },
        held: None,
        cpu_us_per_operation: cpu_seconds.zip(answered).map(|(seconds, answered)| 1e6 * seconds / answered as f64),
    };
    (told, came.needed.iter().map(|needed| counted(needed, plan)).collect())
}

/// That operations had ended long before they were picked up, so that their times are in part our own client's.
pub(super) fn late(plan: &CellPlan, came: &Came) -> Option<String> {
    let late = came.recorder.pickup.as_deref()?.percentile(LATE_AT)?.as_nanos() as f64 / 1e3;
    let half = came.record.times.percentile_us(50.0)?;
    (late > LATE_PART * half).then(|| {
        format!(
            "a tenth of the operations of '{}' may have waited for this machine's CPU before they were picked up, for more than {:.0} % of \
             the median time: their times are in part the client's",
            plan.cell.name(),
            100.0 * LATE_PART
        )
    })
}

/// That operations took longer than the cell itself, or that none of them ended within it: rates and stalls tell nothing of what was still
/// under way at its end.
pub(super) fn overdue(plan: &CellPlan, came: &Came) -> Option<String> {
    let (sums, record) = (came.recorder.sums(), &came.record);
    let longest_s =
        record.times.buckets.iter().filter(|(_, count)| *count > 0).map(|(us, _)| us / 1e6).fold(0.0, f64::max);
    let label = plan.cell.name();
    let lasted = record.seconds;
    if sums.answered == 0 && sums.failed == 0 {
        let after =
            if sums.drained > 0 { format!(": those under way took up to {longest_s:.1} s") } else { String::new() };
        return Some(format!(
            "no operation of '{label}' was completed in the {lasted:.1} s that it was measured{after}"
        ));
    }
    (sums.drained > 0 && longest_s > lasted).then(|| {
        format!("an operation of '{label}' took {longest_s:.1} s, longer than it was measured ({lasted:.1} s): it is in no rate and no stall")
    })
}

/// That fewer operations were made than were asked for.
pub(super) fn too_slow(plan: &CellPlan, came: &Came) -> Option<String> {
    let asked = plan.rate_per_s?;
    let made = came.recorder.sums().answered as f64 / came.record.seconds;
    (made < asked && is_behind(plan, came.record.backlog?)).then(|| {
        format!(
            "'{}' made {} of the {} operations a second that were asked for: response times count from when each was due, so they \
             have the wait for its turn in them",
            plan.cell.name(),
            format_significant(made),
            format_significant(asked)
        )
    })
}

/// Whether so many operations that were due and not begun at the end are more than chance: starts that are drawn come in heaps, of which
/// as many may wait for a moment as there are places for them.
fn is_behind(plan: &CellPlan, backlog: u64) -> bool {
    let due = plan.rate_per_s.unwrap_or(0.0) * (plan.warm_up + plan.duration).as_secs_f64();
    let places = u64::from(plan.cell.threads) * u64::from(plan.cell.queue_depth);
    backlog > places && backlog as f64 > MISSED_PART * due
}

/// From this part of the operations that were due on, those that were not begun are told.
const MISSED_PART: f64 = 0.01;

/// The percentile of late pick-ups that counts, and the part of the median time from which it is said.
const LATE_AT: f64 = 90.0;
const LATE_PART: f64 = 0.1;

/// What a thread needed while operations counted: it worked as long again to warm up, and as hard.
fn counted(needed: &Needed, plan: &CellPlan) -> Needed {
    let all = plan.duration + plan.warm_up;
    let share = plan.duration.as_secs_f64() / all.as_secs_f64().max(1e-9);
    Needed {
        cpu_seconds: needed.cpu_seconds * share,
        run_queue_seconds: needed.run_queue_seconds.map(|seconds| seconds * share),
        requests: (needed.requests as f64 * share) as u64,
        slots: needed.slots,
    }
}

/// Why repetitions in which operations failed are no result.
pub(super) fn invalid(_: &Parameters, repetitions: &[Repetition]) -> Option<Error> {
    let points = || repetitions.iter().flat_map(|repetition| &repetition.points);
    let has_ended = points().any(|point| point.get(Metric::Operations).is_some_and(|operations| operations > 0.0));
    if !has_ended && repetitions.iter().any(|repetition| repetition.complete) {
        let message = "no operation ended while it was measured";
        return Some(Error::new(ErrorKind::NoResult, message).hint("--set duration=... measures each cell for longer"));
    }
    let failed = points().filter_map(|point| {
        let (failed, answered) = (point.get(Metric::Errors)?, point.get(Metric::Operations)?);
        let percent = 100.0 * failed / (failed + answered).max(1.0);
        (percent > MOST_FAILED_PERCENT).then_some((point, percent))
    });
    let (point, percent) = failed.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let label = point.cell.as_ref().map_or_else(|| "a cell".to_owned(), Cell::name);
    let message = format!("{percent:.1} % of the operations of '{label}' failed");
    Some(
        Error::new(ErrorKind::NoResult, message)
            .hint("see the kernel's log for errors of the device, and 'plimsoll show'"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::cell_of;

    #[test]
    fn a_rate_is_missed_where_more_was_due_than_begun() {
        let plan = |rate: f64| {
            let text = format!(
                "name = 'x'\ntitle = 'x'\nfile = '1GiB'\n[[cell]]\noperation = 'read'\nblock = '8KiB'\nqueue_depth = 8\nrate = {rate:?}\nduration = '10s'\n"
            );
            crate::suite::parse("x.toml", &text).unwrap().cells.remove(0)
        };
        assert!(is_behind(&plan(100.0), 40), "4 % of 1,000");
        assert!(!is_behind(&plan(100.0), 8), "there is place for so many");
        assert!(!is_behind(&plan(1000.0), 90), "0.9 % of 10,000");
        assert!(is_behind(&plan(1.0), 9));
    }

    #[test]
    fn a_repetition_with_failed_operations_is_no_result() {
        let point = |answered: u64, failed: u64| {
            Point { cell: Some(cell_of("operation = 'read'\nblock = '8KiB'")), ..Point::default() }
                .with(Metric::Operations, answered)
                .with(Metric::Errors, failed)
        };
        let run = |points| [Repetition { points, ..Repetition::default() }];
        let judge = |points| invalid(&Parameters::default(), &run(points));
        assert_eq!(judge(vec![point(1000, 0), point(1000, 10)]), None);
        let error = judge(vec![point(1000, 0), point(900, 100)]).unwrap();
        let message = "10.0 % of the operations of 'random read 8 KiB, 1 x 1' failed";
        assert_eq!((error.message.as_str(), error.kind.exit_code()), (message, 7));
        assert!(judge(vec![point(0, 5)]).is_some());
    }
}
