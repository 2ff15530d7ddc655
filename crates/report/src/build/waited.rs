//! What sessions waited for beside the limit that a verdict names. Where most of their time goes there, less of that wait may bring more than more of
//! the limit: a faster log lets a CPU that is nearly full do more, as sessions and cores wait for it together.

use plimsoll_measurement::RunRecord;

use super::work::mean;

/// A wait in words, the columns that it is seen in, and the limits that say as much.
type Wait = (&'static str, &'static [&'static str], &'static [&'static str]);

const DATA: &[&str] = &["data_io", "data_iops", "data_bandwidth", "memory", "device"];

const WAITS: [Wait; 6] = [
    ("reads of data", &["waiting_for_data_read"], DATA),
    ("writes of data", &["waiting_for_data_write"], DATA),
    ("the log", &["waiting_for_log_write", "waiting_for_log_governor"], &["log_write", "device"]),
    ("locks", &["waiting_for_lock", "waiting_for_table_lock"], &["locks"]),
    ("a thread of the server", &["waiting_for_worker"], &["workers"]),
    ("other things inside the server", &["waiting_for_others"], &[]),
];

/// Where else sessions are: at work, with their client, or asleep.
const ELSEWHERE: [&str; 4] = ["on_cpu", "waiting_for_turn", "waiting_for_client", "sleeping"];

const FULL_PERCENT: f64 = 95.0;

/// From this part of their time on it is worth a word.
const WORTH_A_WORD: f64 = 0.4;

/// For what sessions waited in a large part of their time that is none of the limits that are named, and in how many percent of it.
pub fn beside(run: &RunRecord) -> Option<(&'static str, f64)> {
    let named: Vec<&str> = run.verdict.limits().collect();
    // A limit that is full makes sessions wait wherever they are.
    let is_full = run.verdict.utilisation_percent.is_some_and(|percent| percent >= FULL_PERCENT);
    if named.is_empty() || named == ["none"] || is_full {
        return None;
    }
    let sum = |columns: &[&str]| columns.iter().filter_map(|column| mean(run, column)).sum::<f64>();
    let all = sum(&ELSEWHERE) + WAITS.iter().map(|(_, columns, _)| sum(columns)).sum::<f64>();
    let of = |(words, columns, limits): &Wait| (*words, sum(columns), limits.iter().any(|limit| named.contains(limit)));
    let (words, sessions, is_named) = WAITS.iter().map(of).max_by(|one, other| one.1.total_cmp(&other.1))?;
    (!is_named && sessions >= WORTH_A_WORD * all && sessions > 0.0).then(|| (words, 100.0 * sessions / all))
}
