//! What keeps a larger file from doing more. It is decided here alone: advice, table, statements and layouts all go by it.

use super::case::Case;
use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::FileKind;
use crate::gain::{Bound, nearest};
use crate::hindrance::Hindrance;
use crate::storage::Cores;

/// Less than this is no gain, in percent.
pub const LEAST_GAIN_PERCENT: f64 = 1.0;

/// Which part of what all logs do nearly all of it is.
const NEARLY_ALL: f64 = 0.9;

/// Why a larger file would do no more; `None` where it may.
pub fn held(at: usize, case: &Case<'_>) -> Option<Hindrance> {
    match case.files[at].kind {
        FileKind::Container => Some(Hindrance::Container),
        _ if case.files[at].is_of_model() => Some(Hindrance::Model),
        _ if case.is_cpu_busy => Some(Hindrance::Cpu),
        FileKind::Log if case.waits_for_governor => Some(Hindrance::Governor),
        kind => {
            let is_nothing = |times: f64| 100.0 * (times - 1.0) < LEAST_GAIN_PERCENT;
            let by_rate = log_rate(at, case).filter(|(_, times)| is_nothing(*times));
            let by_waits = case.waited_percent(kind).filter(|percent| is_nothing(times_without(*percent)));
            by_rate
                .map(|(limit_mb_per_s, _)| Hindrance::LogRate {
                    limit_mb_per_s,
                    is_of_database: of_database(case).is_some(),
                })
                .or_else(|| by_waits.map(|percent| Hindrance::Unwaited { percent }))
        }
    }
}

/// How many times what it does a file can do at most, whatever its size. The other logs need not be busy at the same time.
pub fn most_times(at: usize, case: &Case<'_>) -> (f64, Bound) {
    let by_rate = log_rate(at, case).map_or(f64::INFINITY, |(_, times)| times.max(1.0));
    let by_waits = case.waited_percent(case.files[at].kind).map_or(f64::INFINITY, times_without);
    nearest((by_rate, Bound::LogRate), (by_waits, Bound::Waits))
}

/// How many times as much sessions do at most where so many percent of their waits are gone, and they do nothing but wait.
fn times_without(percent: f64) -> f64 {
    if percent < 100.0 { 100.0 / (100.0 - percent) } else { f64::INFINITY }
}

/// How fast a log may grow, and how many times what it does that is. A log that does far more was read, or has another limit: then nothing
/// follows for it.
fn log_rate(at: usize, case: &Case<'_>) -> Option<(f64, f64)> {
    let file = &case.files[at];
    let own = file.grew_mb_per_s().filter(|rate| *rate > 0.0 && file.kind == FileKind::Log)?;
    let limit = case.storage.log_of_database_mb_per_s()?;
    (100.0 * own <= ABOVE_PERCENT * limit).then_some((limit, limit / own))
}

/// How fast the log of one database may grow where that is less than all logs of the instance may: so it is at any number of virtual cores.
fn of_database(case: &Case<'_>) -> Option<f64> {
    let of_instance = case.storage.tier.log_mb_per_second(case.storage.wishes.vcores).unwrap_or(f64::INFINITY);
    case.storage.log_of_database_mb_per_s().filter(|rate| *rate < of_instance)
}

/// The log that does nearly all that logs do, and comes nearer to the rate of one database, at which it stands, than all to that of the instance.
pub fn alone(case: &Case<'_>) -> Option<usize> {
    let limit = of_database(case)?;
    let of_instance = case.storage.tier.log_mb_per_second(case.storage.wishes.vcores).unwrap_or(f64::INFINITY);
    let rate = |at: &usize| case.files[*at].grew_mb_per_s().unwrap_or(0.0);
    let most = case.logs().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let (own, all) = (rate(&most), case.logs_mb_per_s());
    let stands = (AT_LIMIT_PERCENT..=ABOVE_PERCENT).contains(&(100.0 * own / limit));
    (stands && own >= NEARLY_ALL * all && own / limit >= all / of_instance).then_some(most)
}

/// What more virtual cores bring the logs: nothing where one stands at what its database may have.
pub fn cores(case: &Case<'_>) -> Cores {
    let one = alone(case).and_then(|_| of_database(case));
    one.map_or_else(|| case.storage.cores(), Cores::OneLog)
}

/// Files at a limit whose size brings nothing, and logs that do what one may, by why. CPU and waits say it of their own, and so does the rate of
/// all logs together where that is no more than one may have.
pub fn told(case: &Case<'_>) -> Vec<Advice> {
    let mut all: Vec<(Hindrance, Vec<usize>)> = Vec::new();
    let is_full =
        |at: &usize| held(*at, case).is_some_and(|why| matches!(why, Hindrance::LogRate { is_of_database: true, .. }));
    let logs: Vec<usize> = case.logs().filter(|at| !case.at_limit.contains(at)).filter(is_full).collect();
    for at in case.at_limit.iter().chain(&logs) {
        let Some(why) = held(*at, case).filter(|why| !matches!(why, Hindrance::Cpu | Hindrance::Governor)) else {
            continue;
        };
        match all.iter_mut().find(|(other, _)| *other == why) {
            Some((_, files)) => files.push(*at),
            None => all.push((why, vec![*at])),
        }
    }
    all.into_iter().filter_map(|(why, files)| of("size-of-no-use", files, Finding::NoUse { why })).collect()
}
