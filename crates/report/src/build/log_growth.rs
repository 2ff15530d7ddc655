//! How fast logs grow, held against what an instance lets them: what was seen, whether part of it was read, and what helps.

use plimsoll_plan::DatabaseFile;
use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::storage::Cores;

use crate::model::format::quantity;

/// A log that does so many times what logs may grow by was read, too.
pub(super) const READ_TIMES: f64 = 1.1;

/// What is loaded elsewhere first, or written shorter, takes less of the log.
pub(super) const LESS_LOG: &str = "load into tempdb first, or use clustered columnstore indexes, which log less";

/// What else raises the rate of the log.
pub(super) fn by_cores(cores: Cores) -> String {
    match cores {
        Cores::Nothing => String::new(),
        Cores::Unknown => "; more vCores raise the rate (--vcores says how many there are)".to_owned(),
        Cores::Faster(vcores, rate) => {
            format!("; more vCores raise the rate ({vcores} have {})", quantity(rate, "MB/s"))
        }
        Cores::OneLog(rate) => format!(
            "; the log of one database has {} at most at any number of vCores, so that a load divided over several databases has more",
            quantity(rate, "MB/s")
        ),
    }
}

/// Whether of all of these files, of which anything is known, it is known what was written.
pub(super) fn are_parted(files: &[DatabaseFile], mut places: impl Iterator<Item = usize>) -> bool {
    places.all(|at| files[at].written_mb_per_s.is_some() || files[at].mb_per_s.is_none())
}

/// How fast the logs grow: each at its busiest, which need not have been at one time.
pub(super) fn log_rate(
    (first, read, is_parted): (&str, usize, bool),
    [all, largest, limit]: [f64; 3],
    cores: Cores,
) -> String {
    let mb = |rate: f64| quantity(rate, "MB/s");
    let together = if is_parted { "" } else { " (what was read among it, as that is not known apart)" };
    if read > 0 {
        let why = if is_parted { "" } else { "part of it was read, as by backups, or " };
        return format!(
            "{first} did {}{}, and the logs of the instance may grow by {} together: so {why}the instance has other limits{}.",
            if read > 1 { "up to " } else { "" },
            mb(largest),
            mb(limit),
            if cores == Cores::Nothing { "" } else { ", as of other vCores" }
        );
    }
    if let Cores::OneLog(most) = cores {
        return format!(
            "{first} grows by up to {}{together} of the {} that the log of one database may, whatever the size of its file: {LESS_LOG}{}.",
            mb(largest),
            mb(most),
            by_cores(cores)
        );
    }
    if all > limit {
        return format!(
            "The busiest times of all logs come to {}, and the instance lets them grow by {} together, whatever the size of log files. So they \
             were not at once{}{}. Where it has to be at once: {LESS_LOG}{}.",
            mb(all),
            mb(limit),
            if is_parted { "" } else { ", or part of it was read" },
            if largest >= 0.9 * limit { format!("; {first} alone came to {}", mb(largest)) } else { String::new() },
            by_cores(cores)
        );
    }
    format!(
        "The logs grow by up to {}{together} of the {} that the instance lets them, whatever the size of log files: {LESS_LOG}{}.",
        mb(all),
        mb(limit),
        by_cores(cores)
    )
}

/// That sessions wait for the governor of the log's rate. It holds back what is written for a moment, and rates are means.
pub(super) fn governor(percent: &str, named: &str, logs_mb_per_s: [Option<f64>; 2], cores: Cores) -> String {
    let seen = below_rate(logs_mb_per_s).filter(|_| !matches!(cores, Cores::OneLog(_)));
    let held = match (named, &seen) {
        ("", _) => String::new(),
        (_, None) => format!(" A larger {named} brings nothing now."),
        (_, Some(_)) => format!(" As long as it does, a larger {named} brings nothing."),
    };
    let helps = format!("no size of a log file changes that: {LESS_LOG}{}.{held}", by_cores(cores));
    // Where one log has nearly all that its own may, that is the rate that holds.
    match seen {
        None => format!("Sessions wait for the governor of the log's rate, in {percent} of their waits, and {helps}"),
        Some(seen) => format!(
            "Sessions wait for the governor of the log's rate, in {percent} of their waits, and {seen} Where the governor holds them back, {helps}"
        ),
    }
}

/// What was seen of the logs where that is not the rate by which they may grow: `None` where it is.
pub(super) fn below_rate(logs_mb_per_s: [Option<f64>; 2]) -> Option<String> {
    let mb = |rate: f64| quantity(rate, "MB/s");
    match logs_mb_per_s {
        [None, _] => Some("how fast the logs grow was not seen.".to_owned()),
        [Some(seen), None] => Some(format!(
            "the logs were seen to grow by {} at most; by how much they may goes by the vCores (--vcores).",
            mb(seen)
        )),
        [Some(seen), Some(limit)] if 100.0 * seen < AT_LIMIT_PERCENT * limit => Some(format!(
            "the logs were seen to grow by {} at most of the {} by which they may. That was seen as means over time: shorter bursts may have \
             reached it, or the waits are of another time. Looks at shorter intervals would say it.",
            mb(seen),
            mb(limit)
        )),
        _ => None,
    }
}
