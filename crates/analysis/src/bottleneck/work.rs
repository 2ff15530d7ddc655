//! What a repetition did, as its verdict needs it: the load of a phase, and the work of each second.

use plimsoll_measurement::{Client, Metric, Phase, Repetition, RunRecord};

use super::Load;

/// What is known of the target, and of requests that were made more than once.
pub(super) fn of_target(record: &RunRecord, phase: &Phase) -> Load {
    let value = |name: &str| record.environment.get(name)?.split_whitespace().next()?.parse::<f64>().ok();
    let is_on = |(delay, least): &&(&str, &str)| {
        value(delay).is_some_and(|value| value > 0.0)
            && (least.is_empty() || value(least).is_some_and(|least| least > 0.0))
    };
    let delay = COMMIT_DELAYS.iter().find(is_on);
    let commit_delay =
        delay.and_then(|(name, _)| Some(format!("the setting {name} = {}", record.environment.get(*name)?)));
    let between_attempts = if phase.times.sum_us > 0.0 { between_us(phase) / phase.times.sum_us } else { 0.0 };
    Load { between_attempts, commit_delay, embedded: record.engine == "sqlite", ..Load::default() }
}

/// Settings that make commits wait for others, so that one sync of the log serves many; and one that has to be above 0 as well.
const COMMIT_DELAYS: [(&str, &str); 3] = [
    ("commit_delay", ""),
    ("binlog_commit_wait_usec", "binlog_commit_wait_count"),
    ("binlog_group_commit_sync_delay", ""),
];

/// Part of the sessions' time that the client needed in a phase; where needs are not known by phase, that of all.
pub(super) fn need(client: &Client, repetition: &str, place: usize) -> Option<f64> {
    let own = client.phases.iter().find(|need| need.repetition == repetition && need.phase as usize == place);
    own.map(|need| need.busy_percent).or(client.busy_percent).map(|percent| percent / 100.0)
}

/// Sessions that waited for an answer, on average: the sum of all response times by the time that passed, which is Little's law. Between two
/// attempts of a request that failed our client waits, and no answer is under way.
pub(super) fn busy(phase: &Phase) -> Option<f64> {
    let times = phase.times_uncorrected.as_ref().unwrap_or(&phase.times);
    let waited_us = times.sum_us - between_us(phase);
    (times.count > 0 && phase.seconds > 0.0).then(|| waited_us.max(0.0) / 1e6 / phase.seconds)
}

/// Microseconds of requests that passed between two attempts.
fn between_us(phase: &Phase) -> f64 {
    phase.times_without_waits.as_ref().map_or(0.0, |without| (phase.times.sum_us - without.sum_us).max(0.0))
}

/// Attempts that were made again for each request that was answered.
pub(super) fn made_again(repetition: &Repetition) -> f64 {
    let again: u64 = repetition.requests.iter().map(|request| request.retries).sum();
    let answered: u64 = repetition.requests.iter().map(|request| request.operations).sum();
    if answered > 0 { again as f64 / answered as f64 } else { 0.0 }
}

/// Requests of each second.
pub(super) fn operations(repetition: &Repetition) -> Vec<f64> {
    repetition.seconds.operations.iter().map(|count| *count as f64).collect()
}

/// What a step has done, in the order in which it counts.
const WORK: [Metric; 5] = [Metric::ContentBytes, Metric::PageBytes, Metric::Operations, Metric::Rows, Metric::Matches];

/// The points of a step, spread evenly over the seconds that they took: bytes, else rows, else pairs of rows.
pub(super) fn spread(repetition: &Repetition, phase: Option<&str>) -> Vec<f64> {
    let mut seconds: Vec<f64> = Vec::new();
    for point in repetition.points.iter().filter(|point| point.phase.as_deref() == phase && point.seconds > 0.0) {
        let Some(work) = WORK.iter().find_map(|metric| point.count(*metric)).filter(|work| *work > 0) else { continue };
        let (start, end) = (point.started_seconds.max(0.0), point.started_seconds + point.seconds);
        // Longer than any run: a record that says so is not believed.
        if !(end.is_finite() && end < MOST_SECONDS) {
            continue;
        }
        if seconds.len() <= end as usize {
            seconds.resize(end as usize + 1, 0.0);
        }
        let first = start as usize;
        for (done, second) in seconds[first..=end as usize].iter_mut().zip(first..) {
            let part = (end.min(second as f64 + 1.0) - start.max(second as f64)).max(0.0);
            *done += work as f64 * part / point.seconds;
        }
    }
    seconds
}

const MOST_SECONDS: f64 = 1e7;
