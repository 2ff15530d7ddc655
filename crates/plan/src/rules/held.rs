//! What keeps a larger file from doing more. It is decided here alone: advice, table, statements and layouts all go by it.

use super::case::Case;
use crate::advice::{ABOVE_PERCENT, Advice, Finding, of};
use crate::file::FileKind;
use crate::hindrance::Hindrance;

/// Less than this is no gain, in percent.
const LEAST_GAIN_PERCENT: f64 = 1.0;

/// Why a larger file would do no more; `None` where it may.
pub fn held(at: usize, case: &Case<'_>) -> Option<Hindrance> {
    match case.files[at].kind {
        FileKind::Container => Some(Hindrance::Container),
        _ if case.is_cpu_busy => Some(Hindrance::Cpu),
        FileKind::Data => None,
        FileKind::Log if case.waits_for_governor => Some(Hindrance::Governor),
        FileKind::Log => {
            let (limit_mb_per_s, times) = log_rate(at, case)?;
            (100.0 * (times - 1.0) < LEAST_GAIN_PERCENT).then_some(Hindrance::LogRate { limit_mb_per_s })
        }
    }
}

/// How many times what it does a file can do at most, whatever its size. The other logs need not be busy at the same time.
pub fn most_times(at: usize, case: &Case<'_>) -> f64 {
    log_rate(at, case).map_or(f64::INFINITY, |(_, times)| times.max(1.0))
}

/// How fast a log may grow, and how many times what it does that is. A log that does far more was read, or has another limit: then nothing
/// follows for it.
fn log_rate(at: usize, case: &Case<'_>) -> Option<(f64, f64)> {
    let file = &case.files[at];
    let own = file.mb_per_s.filter(|rate| *rate > 0.0 && file.kind == FileKind::Log)?;
    let limit = case.storage.log_of_database_mb_per_s()?;
    (100.0 * own <= ABOVE_PERCENT * limit).then_some((limit, limit / own))
}

/// Files at a limit whose size brings nothing, by why. CPU and waits say it of their own.
pub fn told(case: &Case<'_>) -> Vec<Advice> {
    let mut all: Vec<(Hindrance, Vec<usize>)> = Vec::new();
    for at in &case.at_limit {
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
