//! What a plan does not know of files that stand at no limit: unknown is not nothing.

use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::hindrance::Hindrance;
use plimsoll_plan::rules::{NORMAL_MS, is_of_storage, used};
use plimsoll_plan::storage::Cores;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Settled};

use super::brings::MOST_NAMED;
use super::log_growth::{are_parted, below_rate};
use super::of_plan::Plan;
use crate::model::format::{listed, quantity};

/// Which file comes nearest to a limit, and that larger files bring nothing where nothing speaks against that. `None` where nobody said what
/// files do.
pub fn nothing_to_gain(plan: &Plan<'_>) -> Option<String> {
    let (files, limits) = (plan.files, plan.limits);
    let busiest = files.iter().zip(&limits.files).filter_map(|(file, of)| Some((file, used(file, of)?)));
    let (file, (percent, of)) = busiest.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    if percent <= 0.0 {
        return Some("No file did anything in what was seen.".to_owned());
    }
    let nearest = format!("with {} of its {}", quantity(percent, "%"), of.name());
    let doubts = doubts(plan);
    Some(if doubts.is_empty() {
        format!("Larger files would bring nothing: {} comes nearest to a limit, {nearest}.", file.label())
    } else {
        format!(
            "No file is known to stand at a limit; {} comes nearest, {nearest}. Whether larger files bring more is open: {}.",
            file.label(),
            doubts.join("; ")
        )
    })
}

/// That nobody said what files do, so none can be named that is held back.
pub fn nothing_seen(files: &[DatabaseFile]) -> Option<String> {
    let is_unseen = |file: &DatabaseFile| {
        file.iops.is_none() && file.mb_per_s.is_none() && file.read_ms.is_none() && file.write_ms.is_none()
    };
    files.iter().all(is_unseen).then(|| {
        "Which file is held back is not known, as the list does not say what files do: columns iops and mb_per_s say it, those at the \
         busiest time, and read_ms and write_ms."
            .to_owned()
    })
}

/// What sessions wait for, where no part of storage has as much of it as everything else together.
pub fn not_storage(plan: &Plan<'_>) -> Option<String> {
    let waits = plan.observed.waits?;
    let of_storage = waits.data + waits.log + waits.governor;
    if is_of_storage(&waits) {
        return None;
    }
    if of_storage >= 50.0 {
        let [data, log, governor] = [waits.data, waits.log, waits.governor].map(|percent| quantity(percent, "%"));
        return Some(format!(
            "Of what sessions wait for, pages of data files have {data}, the log {log} and the governor of its rate {governor}: no part of storage has \
             as much as everything else together, so all of it counts."
        ));
    }
    Some(format!(
        "Sessions wait for pages of data files and for the log in {} of their waits, and mostly for something else, such as locks: see to that first. What larger files \
         bring, as said here, they bring once that is gone.",
        quantity(of_storage, "%")
    ))
}

/// A part of all waits from which on it is told, in percent.
const WORTH_TELLING_PERCENT: f64 = 10.0;

/// That sessions wait for the governor of the log's rate as well, where something else has more of their waits.
pub fn governor(plan: &Plan<'_>) -> Option<String> {
    let percent = plan.observed.waits?.governor;
    let is_told = plan.advised.iter().any(|one| one.rule.id == "log-governor-waits");
    let logs = plan.files.iter().filter(|file| file.kind == FileKind::Log && !file.is_of_tempdb());
    let seen = logs.filter_map(DatabaseFile::grew_mb_per_s).reduce(|sum, rate| sum + rate);
    let seen = below_rate([seen, plan.storage.tier.log_mb_per_second(plan.storage.wishes.vcores)]);
    (!is_told && percent >= WORTH_TELLING_PERCENT).then(|| {
        format!(
            "The governor of the log's rate has {} of all waits, and {}",
            quantity(percent, "%"),
            seen.unwrap_or_else(|| "the logs were seen to grow as fast as they may.".to_owned())
        )
    })
}

/// Why a larger file may bring more all the same.
fn doubts(plan: &Plan<'_>) -> Vec<String> {
    let named = |is_so: &dyn Fn(usize) -> bool| {
        let own = (0..plan.files.len()).filter(|at| !plan.files[*at].is_of_tempdb() && is_so(*at));
        own.map(|at| plan.files[at].label()).collect::<Vec<_>>()
    };
    let unknown = named(&|at| {
        let (file, step) = (&plan.files[at], &plan.limits.files[at].step);
        let has_limits = step.as_ref().is_some_and(|step| step.iops.is_some() && step.mb_per_s.is_some());
        file.iops.is_none() || file.mb_per_s.is_none() || !has_limits
    });
    let counted = named(&|at| plan.files[at].at_limit.is_some_and(|seen| seen.intervals > 0));
    let governed = named(&|at| log_of_database(plan, &plan.files[at]).is_some_and(|percent| percent < ALL_PERCENT));
    let percent = |at: usize| used(&plan.files[at], &plan.limits.files[at]).map(|(percent, _)| percent);
    let near = named(&|at| percent(at).is_some_and(|percent| percent * (1.0 + SPARE_PERCENT / 100.0) > 100.0));
    let slow = named(&|at| {
        let file = &plan.files[at];
        file.read_ms.into_iter().chain(file.write_ms).any(|ms| ms > NORMAL_MS)
    });
    let databases = incomplete(plan.files);
    let all = [
        ("the list lacks files of", databases.iter().map(|(database, _)| (*database).to_owned()).collect()),
        ("less than 25 % is to spare at", near),
        ("reads or writes take longer than unthrottled at", slow),
        ("rates or limits are not known of", unknown),
        ("intervals at a limit were counted of", counted),
        ("the size may hold the rate of the log of", governed),
    ];
    let known = all.into_iter().filter(|(_, names)| !names.is_empty());
    known.map(|(text, names)| format!("{text} {}", listed(&names, MOST_NAMED))).collect()
}

/// What a file has to spare where bursts between two looks are no matter, in percent.
const SPARE_PERCENT: f64 = 25.0;

/// A log that does more than this of what one may grow by was read, in percent.
pub const MOST_PERCENT: f64 = 110.0;

/// From here on a log does all that any size lets it, in percent.
pub const ALL_PERCENT: f64 = 99.0;

/// How much a log does of the most that one of a database may grow by, in percent, where it comes near the least or is above: which size has
/// how much was not published.
pub fn log_of_database(plan: &Plan<'_>, file: &DatabaseFile) -> Option<f64> {
    let [rate] = plan.storage.tier.log_rate.as_slice() else { return None };
    let (low, high) = rate.database_low.zip(plan.storage.log_of_database_mb_per_s())?;
    let of_instance = plan.storage.tier.log_mb_per_second(plan.storage.wishes.vcores);
    // Where all logs together may do less, that binds.
    let binds = file.kind == FileKind::Log && !file.is_of_tempdb() && of_instance.is_none_or(|rate| rate > low);
    let seen = file.grew_mb_per_s().filter(|seen| binds && 100.0 * seen >= AT_LIMIT_PERCENT * low)?;
    Some(100.0 * seen / high)
}

/// Databases of users of which the list has not all that each has, with what is missing: a log, a data file, the first of them. A list of data
/// files alone, or of logs alone, is one on purpose.
fn incomplete(files: &[DatabaseFile]) -> Vec<(&str, &'static str)> {
    if [FileKind::Data, FileKind::Log].iter().any(|kind| files.iter().all(|file| file.kind != *kind)) {
        return Vec::new();
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for file in files.iter().filter(|file| !file.is_of_tempdb() && !file.is_of_system()) {
        if seen.iter().any(|database| database.eq_ignore_ascii_case(&file.database)) {
            continue;
        }
        seen.push(&file.database);
        let own = || files.iter().filter(|other| other.is_beside(file));
        let mut data = own().filter(|other| other.kind == FileKind::Data).peekable();
        if data.peek().is_none() {
            all.push((file.database.as_str(), "data file"));
        } else if data.all(|other| other.is_primary == Some(false)) {
            all.push((file.database.as_str(), "primary data file"));
        }
        if !own().any(|other| other.kind == FileKind::Log) {
            all.push((file.database.as_str(), "log"));
        }
    }
    all
}

/// That the list has not all files of a database.
pub fn missing(files: &[DatabaseFile]) -> Option<String> {
    let all = incomplete(files);
    let named = |what: &str| {
        let own = all.iter().filter(|(_, missing)| *missing == what);
        let names: Vec<&str> = own.map(|(database, _)| *database).collect();
        (!names.is_empty()).then(|| format!("no {what} of {}", listed(&names, MOST_NAMED)))
    };
    let parts: Vec<String> = ["data file", "primary data file", "log"].into_iter().filter_map(named).collect();
    // Only its lists say the limits of files.
    let is_of_script = files.iter().any(|file| file.said.iter().any(Option::is_some));
    let script = if is_of_script {
        " The published script leaves out files that are larger than its own table of limits."
    } else {
        ""
    };
    (!parts.is_empty()).then(|| {
        format!("The list has {}: nothing is known of that, nor is its space counted.{script}", parts.join(", and "))
    })
}

/// That logs grow as fast as they may, which no size of a file changes.
pub fn log_at_rate(plan: &Plan<'_>) -> Option<String> {
    let logs = (0..plan.files.len()).filter(|at| plan.files[*at].kind == FileKind::Log);
    let together = if are_parted(plan.files, logs) { "" } else { ", as far as it was written" };
    let of = |one: &Advice| match one.finding {
        Finding::LogRate { largest_mb_per_s, cores: Cores::OneLog(most), .. } => Some(format!(
            "{} stands at the rate by which the log of one database may grow: {} of {}{together}.",
            plan.files[*one.files.first()?].label(),
            quantity(largest_mb_per_s, "MB/s"),
            quantity(most, "MB/s")
        )),
        // More than that was not at one time, or was read.
        Finding::LogRate { mb_per_s, limit_mb_per_s, .. } if mb_per_s <= limit_mb_per_s => Some(format!(
            "The logs together stand at the rate by which those of the instance may grow: {} of {}{together}.",
            quantity(mb_per_s, "MB/s"),
            quantity(limit_mb_per_s, "MB/s")
        )),
        Finding::NoUse { why: Hindrance::LogRate { limit_mb_per_s, .. } } => Some(format!(
            "{} stands at the rate by which a log may grow: {}{together}.",
            listed(&one.files.iter().map(|at| plan.files[*at].label()).collect::<Vec<_>>(), MOST_NAMED),
            quantity(limit_mb_per_s, "MB/s")
        )),
        _ => None,
    };
    plan.advised.iter().find_map(of)
}

/// Files that were seen above their limits, and count as standing at them.
pub fn inexact(plan: &Plan<'_>) -> Option<String> {
    let of = |one: &Settled| {
        let unit = one.of.name();
        format!("{} {} of {}", plan.files[one.file].label(), quantity(one.seen, unit), quantity(one.limit, unit))
    };
    let names: Vec<String> = plan.settled.iter().filter(|one| one.seen >= WORTH_A_WORD * one.limit).map(of).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Rates of a second or so are not exact: a moment above a limit counts as standing at it ({}). Where a file does that all the time other \
             limits hold, as on next-generation General Purpose.",
            listed(&names, MOST_NAMED)
        )
    })
}

/// So many times its limit a file was seen to do for a word about it.
const WORTH_A_WORD: f64 = 1.05;

/// Whether intervals at a limit were counted that the highest rates don't reach, by the limits of whoever counted them.
fn is_contradiction(plan: &Plan<'_>, at: usize) -> bool {
    let (file, step) = (&plan.files[at], &plan.limits.files[at].step);
    let limit = |place: usize, here: Option<f64>| file.said[place].or(here);
    let of = |seen: Option<f64>, limit: Option<f64>| Some(100.0 * seen? / limit?);
    let step = step.as_ref();
    let percents = [
        of(file.iops, limit(0, step.and_then(|step| step.iops))),
        of(file.mb_per_s, limit(1, step.and_then(|step| step.mb_per_s))),
    ];
    let most = percents.into_iter().collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().reduce(f64::max));
    file.at_limit.is_some_and(|seen| seen.intervals > 0) && most.is_some_and(|percent| percent < AT_LIMIT_PERCENT)
}

/// That counts and rates of a list do not go together.
pub fn contradiction(plan: &Plan<'_>) -> Option<String> {
    let names: Vec<String> = (0..plan.files.len())
        .filter(|at| is_contradiction(plan, *at))
        .filter_map(|at| Some(format!("{} ({})", plan.files[at].label(), plan.files[at].at_limit?.intervals)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "The list counts intervals at a limit that its highest rates do not reach: {}. One of both is of another time; let the script run again.",
            listed(&names, MOST_NAMED)
        )
    })
}
