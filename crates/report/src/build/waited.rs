//! What sessions waited for beside the limit that a verdict names. Where most of their time goes there, less of that wait may bring more than more of
//! the limit: a faster log lets a CPU that is nearly full do more, as sessions and cores wait for it together.

use plimsoll_measurement::RunRecord;

use super::work::mean;

/// A wait in words, the columns that it is seen in, and the limits that say as much.
type Wait = (&'static str, &'static [&'static str], &'static [&'static str]);

const DATA: &[&str] = &["data_io", "data_iops", "data_bandwidth", "memory", "device"];

const READS: &str = "reads of data";
/// What a wait for reads is that the device did not see: neither a faster disk nor more cores spare it.
const CACHED_READS: &str =
    "reads of data that came from the operating system's cache, which a larger buffer pool spares";

const WAITS: [Wait; 6] = [
    (READS, &["waiting_for_data_read"], DATA),
    ("writes of data", &["waiting_for_data_write"], DATA),
    ("the log", &["waiting_for_log_write", "waiting_for_log_governor"], &["log_write", "device"]),
    ("locks", &["waiting_for_lock", "waiting_for_table_lock"], &["locks"]),
    ("a thread of the server", &["waiting_for_worker"], &["workers"]),
    ("other things inside the server", &["waiting_for_others"], &[]),
];

/// Where else sessions are: at work, with their client, or asleep.
const ELSEWHERE: [&str; 4] = ["on_cpu", "waiting_for_turn", "waiting_for_client", "sleeping"];

/// Threads of the server and of our client that run or are ready to.
const RUNNABLE: [&str; 4] = ["server_cpu", "server_cpu_queue", "client_cpu", "client_cpu_queue"];

const FULL_PERCENT: f64 = 95.0;

/// From this part of their time on it is worth a word.
const WORTH_A_WORD: f64 = 0.3;

/// For what sessions waited in a large part of their time that is none of the limits that are named, and in how many percent of it.
pub fn beside(run: &RunRecord) -> Option<(&'static str, f64)> {
    let named: Vec<&str> = run.verdict.limits().collect();
    // A limit that is full makes sessions wait wherever they are.
    let is_full = run.verdict.utilisation_percent.is_some_and(|percent| percent >= FULL_PERCENT);
    if named.is_empty() || named == ["none"] || is_full {
        return None;
    }
    let sum = |columns: &[&str]| columns.iter().filter_map(|column| mean(run, column)).sum::<f64>();
    // Between two requests a session is nowhere in the server.
    let sessions = run.repetitions.iter().flat_map(|one| &one.phases).map(|phase| f64::from(phase.sessions));
    let seen = sum(&ELSEWHERE) + WAITS.iter().map(|(_, columns, _)| sum(columns)).sum::<f64>();
    let all = sessions.fold(seen, f64::max);
    // A thread whose wait is over looks as if it waited until it gets a CPU: so waits are no more than work and threads without a CPU leave of the
    // sessions. The verdict cuts them alike.
    let waiting = WAITS.iter().map(|(_, columns, _)| sum(columns)).sum::<f64>();
    let left = mean(run, "server_cpu_queue").map(|_| (all - sum(&RUNNABLE)).max(0.0));
    let part = left.filter(|left| *left < waiting).map_or(1.0, |left| left / waiting);
    let of = |(words, columns, limits): &Wait| {
        (*words, part * sum(columns), limits.iter().any(|limit| named.contains(limit)))
    };
    let (words, sessions, is_named) = WAITS.iter().map(of).max_by(|one, other| one.1.total_cmp(&other.1))?;
    let words = if words == READS && are_cached(run) { CACHED_READS } else { words };
    (!is_named && sessions >= WORTH_A_WORD * all && sessions > 0.0).then(|| (words, 100.0 * sessions / all))
}

/// Whether the server read far more pages than its device did.
fn are_cached(run: &RunRecord) -> bool {
    let known = mean(run, "data_reads").zip(mean(run, "disk_reads"));
    known.is_some_and(|(server, device)| server >= LEAST_READS && device <= MOST_OF_DEVICE * server)
}

/// Reads a second that are worth telling apart, and the part of them that the device may have done.
const LEAST_READS: f64 = 20.0;
const MOST_OF_DEVICE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Phase, Repetition, SampleColumn, Samples, Verdict};

    use super::*;

    fn run(limit: &str, percent: f64, sessions: &[(&str, f64)]) -> RunRecord {
        let column = |(metric, value): &(&str, f64)| SampleColumn {
            metric: (*metric).to_owned(),
            values: vec![Some(*value); 2],
            ..SampleColumn::default()
        };
        let columns = sessions.iter().map(column).collect();
        let samples = Samples { seconds: vec![1.0, 2.0], columns, ..Samples::default() };
        let phase = Phase { started_seconds: 0.0, seconds: 2.0, operations: 9, sessions: 8, ..Phase::default() };
        let repetition = Repetition { phases: vec![phase], samples: vec![samples], ..Repetition::default() };
        let verdict =
            Verdict { limit: Some(limit.to_owned()), utilisation_percent: Some(percent), ..Verdict::default() };
        RunRecord { repetitions: vec![repetition], verdict, ..RunRecord::default() }
    }

    #[test]
    fn a_long_wait_beside_the_limit_is_told_where_the_limit_is_not_full() {
        let sessions = [
            ("on_cpu", 1.5),
            ("waiting_for_log_write", 4.0),
            ("waiting_for_log_governor", 0.5),
            ("waiting_for_client", 2.0),
        ];
        assert_eq!(beside(&run("cpu", 81.0, &sessions)), Some(("the log", 56.25)));
        // It is the limit, the limit is full, no limit is named, or it is a small part.
        assert_eq!(beside(&run("log_write", 81.0, &sessions)), None);
        assert_eq!(beside(&run("cpu", 99.0, &sessions)), None);
        assert_eq!(beside(&run("none", 81.0, &sessions)), None);
        assert_eq!(beside(&run("cpu", 81.0, &[("on_cpu", 3.0), ("waiting_for_lock", 2.0)])), None);
        assert_eq!(beside(&run("cpu", 81.0, &[])), None);
    }

    #[test]
    fn who_has_no_cpu_does_not_wait_for_anything_else() {
        let told = |queue: f64| {
            let sessions = [("waiting_for_log_write", 6.0), ("server_cpu", 1.4), ("server_cpu_queue", queue)];
            beside(&run("cpu", 84.0, &sessions))
        };
        assert_eq!((told(0.2), told(5.0)), (Some(("the log", 75.0)), None));
        // Of eight sessions 5.6 run or are ready to, or wait: 3.6 are left for the log.
        assert_eq!(told(3.0).map(|(words, percent)| (words, percent.round())), Some(("the log", 45.0)));
    }

    #[test]
    fn reads_that_the_device_did_not_do_are_of_the_systems_cache() {
        let told = |device: &[(&str, f64)]| {
            let sessions = [("on_cpu", 2.0), ("waiting_for_data_read", 5.0), ("data_reads", 900.0)];
            beside(&run("cpu", 81.0, &[&sessions[..], device].concat())).unwrap().0
        };
        assert!(told(&[("disk_reads", 3.0)]).contains("operating system's cache"));
        // The device did them, or nobody looked at it.
        assert_eq!((told(&[("disk_reads", 700.0)]), told(&[])), ("reads of data", "reads of data"));
    }
}
