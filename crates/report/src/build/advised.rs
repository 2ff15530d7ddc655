//! What each piece of advice says of files, in sentences, and those that are to grow as a table.

use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::hindrance::Hindrance;
use plimsoll_plan::rules::{NORMAL_MS, are_unequal};
use plimsoll_plan::statements::SPACE_STEP_GB;
use plimsoll_plan::storage::{Cores, LimitOf};
use plimsoll_plan::{Advice, DatabaseFile, FileKind, FileLimits, Finding, Limits};

use super::brings::{MOST_NAMED, gains, has};
use super::further::{larger_files, more_files, or_rebuild, short};
use super::layouts::{Found, better};
use super::log_growth::{LESS_LOG, READ_TIMES, are_parted, by_cores, governor, log_rate};
use super::log_next::log_next;
use super::of_plan::Plan;
use crate::model::format::{count, gigabytes, listed, quantity};

/// The rule of waits for the governor.
const GOVERNOR_WAITS: &str = "log-governor-waits";

/// What one piece of advice says, which is one of all.
pub fn advice(one: &Advice, plan: &Plan<'_>) -> String {
    let Plan { files, limits, advised: all, .. } = *plan;
    let names = |all: &[usize]| listed(&all.iter().map(|at| files[*at].label()).collect::<Vec<_>>(), MOST_NAMED);
    let named = || names(&one.files);
    let stands = |percent: f64, of: LimitOf| stands(&named(), &one.files, (files, limits), percent, of);
    match &one.finding {
        Finding::LogRate { mb_per_s, largest_mb_per_s, limit_mb_per_s, cores } => {
            let is_read =
                |at: &usize| files[*at].grew_mb_per_s().is_some_and(|rate| rate > READ_TIMES * limit_mb_per_s);
            let read: Vec<usize> = one.files.iter().copied().filter(is_read).collect();
            let first = names(if read.is_empty() { &one.files[..one.files.len().min(1)] } else { &read });
            let is_parted = are_parted(files, (0..files.len()).filter(|at| files[*at].kind == FileKind::Log));
            log_rate((&first, read.len(), is_parted), [*mb_per_s, *largest_mb_per_s, *limit_mb_per_s], *cores)
        }
        Finding::NoUse { why } => held(*why, &named(), are_parted(files, one.files.iter().copied())),
        Finding::Above { used_percent, of } => {
            let (who, it) = match one.files.as_slice() {
                [_] => (stands(*used_percent, *of), "it"),
                _ => (format!("{} do up to {} of their limits", named(), quantity(*used_percent, "%")), "they"),
            };
            format!(
                "{who}: under these limits {it} could not. Other limits hold there, as on next-generation General Purpose, where files share \
                 them, so no larger size is advised. Where that is what is wanted, and was not seen, --layouts says which files carry it."
            )
        }
        Finding::Space { needed_gb, space_gb, most_gb, back_gb } => raise(*needed_gb, *space_gb, *most_gb, *back_gb),
        Finding::Short { .. } => no_space(one, plan),
        Finding::LogFirst => log_first(one, files),
        Finding::Grow { .. } => grow(one, all, files, limits),
        Finding::Add { used_percent, of, shrunk, larger, brings, fits, .. } => {
            let first = shrunk_first(shrunk, *fits, files);
            let larger_words = larger.as_ref().map(|larger| larger_files(larger, files)).unwrap_or_default();
            let gains = brings.iter().chain(larger.iter().flat_map(|larger| &larger.brings));
            let most_percent = gains.map(|brings| brings.most_percent).reduce(f64::max);
            let log = most_percent.and_then(|most| log_next(one.files[0], all, (files, limits), most));
            let more = more_files(&stands(*used_percent, *of), &one.finding, one.files.len());
            let choices = if is_last_choice(one, all) { CHOICES } else { "" };
            more + &first + &larger_words + &log.unwrap_or_default() + choices
        }
        Finding::Elsewhere { used_percent, of } => {
            let is_data = one.files.iter().all(|at| files[*at].kind == FileKind::Data);
            let nor = match is_data {
                true if has_unknown_siblings(&one.files, files) => {
                    " (whether more data files have is open, as rates of others of the filegroup are not known)"
                }
                true => ", nor have 8 data files, and more of them are not advised",
                false => "",
            };
            let for_all = if one.files.len() > 1 { " for all of them" } else { "" };
            format!(
                "{}, and no size is known to have enough{for_all}{nor}: Business Critical, or a machine with disks of its own, has other limits.{}",
                stands(*used_percent, *of),
                larger_commits(&one.files, files, *of).unwrap_or_default()
            )
        }
        Finding::Equal { smallest_gb, largest_gb, more_gb } if are_unequal(*smallest_gb, *largest_gb) => format!(
            "Files of a filegroup should be of one size, as rows are spread by free space: of {} the smallest has {}, and the largest {}. All as \
             large would take {} more.",
            named(),
            gigabytes(*smallest_gb),
            gigabytes(*largest_gb),
            gigabytes(*more_gb)
        ),
        Finding::Equal { .. } => format!("Let {} grow by the same: else they are soon of several sizes.", named()),
        Finding::Fewer { files: number, size_gb, iops, iops_now, mb_per_s, mb_per_s_now, are_grown } => fewer(
            &format!("{} of {}", count(*number, "data file"), gigabytes(*size_gb)),
            &(named() + if *are_grown { ", as large as above," } else { "" }),
            [*iops, *iops_now],
            [*mb_per_s, *mb_per_s_now],
        ),
        Finding::Cpu { percent } => {
            let percent = quantity(*percent, "%");
            let after = if one.files.is_empty() {
                String::new()
            } else {
                format!(" After that it is the turn of {}.", named())
            };
            format!(
                "CPU holds it back, with {percent} in use: larger files help only once there are more vCores.{after}"
            )
        }
        Finding::Waits { percent, cores, logs_mb_per_s, .. } if one.rule.id == GOVERNOR_WAITS => {
            governor(&quantity(*percent, "%"), &named(), *logs_mb_per_s, *cores)
        }
        Finding::Waits { percent, slowest_ms, first, .. } => {
            waits(one.rule.id, &quantity(*percent, "%"), *slowest_ms, [&named(), &names(first)])
        }
        Finding::Slow { ms, held: None } => {
            format!("{}, and no size has more.", slow(&named(), one.files.len(), *ms))
        }
        Finding::Slow { ms, held: Some(why) } => {
            let held = held(*why, &named(), are_parted(files, one.files.iter().copied()));
            format!("{}. {held}", slow(&named(), one.files.len(), *ms))
        }
        Finding::Shrink { size_gb } => format!("{} has the same limits with {}.", named(), gigabytes(*size_gb)),
    }
}

/// Behind the last of several choices.
const CHOICES: &str = " Each of these larger files, and what gives back space for them, is counted beside what is advised, and not beside those of other filegroups.";

/// Whether it is the last advice of several that names larger files as another choice.
fn is_last_choice(one: &Advice, all: &[Advice]) -> bool {
    let has_choice = |one: &&Advice| matches!(one.finding, Finding::Add { larger: Some(_), .. });
    let mut choices = all.iter().filter(has_choice);
    let last = choices.next_back();
    last.is_some_and(|last| std::ptr::eq(last, one)) && choices.next().is_some()
}

/// Which files give space back before others are added.
fn shrunk_first(shrunk: &[(usize, f64)], fits: bool, files: &[DatabaseFile]) -> String {
    let names: Vec<String> =
        shrunk.iter().map(|(at, size_gb)| format!("{} to {}", files[*at].label(), gigabytes(*size_gb))).collect();
    let it = if names.len() == 1 { "it keeps its limits" } else { "they keep their limits" };
    let names = listed(&names, MOST_NAMED);
    match (shrunk, fits) {
        ([], _) => String::new(),
        (_, true) => format!(" First shrink {names} (DBCC SHRINKFILE): {it}."),
        // The sum of all that is wanted has it.
        (_, false) => format!(" That is with what can be given back first: {names} (DBCC SHRINKFILE)."),
    }
}

/// That logs come before the data files of their databases.
fn log_first(one: &Advice, files: &[DatabaseFile]) -> String {
    let databases: Vec<&str> = one.files.iter().map(|at| files[*at].database.as_str()).collect();
    let databases = listed(&databases, MOST_NAMED);
    format!("In {databases} enlarge the log before the data files: where much is written, commits wait for it.")
}

/// That there is not so much space to be had.
fn no_space(one: &Advice, plan: &Plan<'_>) -> String {
    let files = plan.files;
    let Finding::Short { files_gb, blobs_gb, larger, added, back_gb, others_and_largest_gb, after, elsewhere } =
        &one.finding
    else {
        return String::new();
    };
    let names = |places: &[usize]| listed(&places.iter().map(|at| files[*at].label()).collect::<Vec<_>>(), MOST_NAMED);
    let counts = ([*larger, *added], *back_gb, *others_and_largest_gb);
    let otherwise = plan.searched.and_then(|found| otherwise(found, plan));
    let fit = (one.files.len(), otherwise.as_deref());
    short([&names(&one.files), &names(after)], fit, [*files_gb, *blobs_gb], counts, elsewhere)
}

/// That other files carry databases which have no room for what is advised, and what else there is for the others.
fn otherwise(found: &Found, plan: &Plan<'_>) -> Option<String> {
    let carried = better(found, plan.advised, plan.files);
    let databases: Vec<&str> = carried.iter().map(|one| one.need.database.as_str()).collect();
    let is_out = |one: &&Advice| {
        matches!(one.finding, Finding::Grow { fits: false, .. } | Finding::Add { fits: false, .. })
            && !one.files.iter().any(|at| {
                let own = &plan.files[*at].database;
                databases.iter().any(|database| database.eq_ignore_ascii_case(own))
            })
    };
    let rest = if plan.advised.iter().any(|one| is_out(&one)) { "The rest" } else { "What is advised" };
    let names = listed(&databases, MOST_NAMED);
    (!databases.is_empty())
        .then(|| format!("Other files would carry {names} all the same, as is said below. {rest} takes"))
}

/// Half of what one write of a log may have, in KB: smaller ones leave room for more commits each.
const SMALL_KB: f64 = 30.0;

/// That a log with small writes needs fewer of them where commits are fewer and larger.
fn larger_commits(places: &[usize], files: &[DatabaseFile], of: LimitOf) -> Option<String> {
    let first = places.iter().map(|at| &files[*at]).find(|file| file.kind == FileKind::Log)?;
    let kb = first.mb_per_s.zip(first.iops).filter(|(_, iops)| *iops > 0.0).map(|(mb, iops)| mb * 1024.0 / iops);
    let is_small = of == LimitOf::Iops && kb.is_none_or(|kb| kb <= SMALL_KB);
    let now = kb.map(|kb| format!(", which have {} on average now", quantity(kb, "KB"))).unwrap_or_default();
    is_small.then(|| format!(" Fewer and larger commits take fewer writes{now}."))
}

/// That files are to grow, why, and what it brings.
fn grow(one: &Advice, all: &[Advice], files: &[DatabaseFile], limits: &Limits) -> String {
    let Finding::Grow { used, slow_ms, size_gb, step, fits, brings, rebuild } = &one.finding else {
        return String::new();
    };
    let names: Vec<String> = one.files.iter().map(|at| files[*at].label()).collect();
    let named = || listed(&names, MOST_NAMED);
    let stands = |percent: f64, of: LimitOf| stands(&named(), &one.files, (files, limits), percent, of);
    let why = match (slow_ms, used) {
        (Some(ms), _) => slow(&named(), one.files.len(), *ms),
        (None, Some((percent, of))) => stands(*percent, *of),
        (None, None) => {
            let grow = if one.files.len() > 1 { "grow" } else { "grows" };
            let more_gb: f64 = one.files.iter().map(|at| size_gb - files[*at].size_gb).sum();
            format!("{} {grow} by {}, as rows are spread over all of the filegroup", named(), gigabytes(more_gb))
        }
    };
    let is_same = one.files.iter().all(|at| limits.files[*at].step.as_ref() == Some(step));
    let room = if *fits { "" } else { ". There is no room for that" };
    if is_same && used.is_none() && slow_ms.is_none() {
        return format!("{why}: to {}, which leaves its limits as they are{room}.", gigabytes(*size_gb));
    }
    let log = brings.as_ref().and_then(|brings| log_next(one.files[0], all, (files, limits), brings.most_percent));
    let unknown = slow_ms.map(|_| "; by how much that helps is not known".to_owned());
    let brings = brings.as_ref().map(gains).or(unknown).unwrap_or_default();
    let it = if one.files.len() > 1 { "each" } else { "it" };
    let has = has(step).unwrap_or_default();
    let rebuild = rebuild.as_ref().map(or_rebuild).unwrap_or_default();
    let log = log.unwrap_or_default();
    format!("{why}: with {} {it} would have {has}{brings}{room}.{log}{rebuild}", gigabytes(*size_gb))
}

/// Whether rates of a data file that has rows of the same tables are not known.
fn has_unknown_siblings(places: &[usize], files: &[DatabaseFile]) -> bool {
    let is_beside = |one: &DatabaseFile, other: &DatabaseFile| {
        other.kind == FileKind::Data && one.is_beside(other) && one.filegroup == other.filegroup
    };
    let beside = |at: &usize| files.iter().filter(|other| is_beside(&files[*at], other)).collect::<Vec<_>>();
    !places.iter().all(|at| DatabaseFile::have_rates_alike(&beside(at)))
}

/// How much of its limits the first of these files uses, and how often it stood at one.
fn stands(
    named: &str,
    places: &[usize],
    (files, limits): (&[DatabaseFile], &Limits),
    percent: f64,
    of: LimitOf,
) -> String {
    let (uses, its, stood) =
        if places.len() > 1 { ("use up to", "their", "the first stood") } else { ("uses", "its", "stood") };
    let first = places.first().copied();
    let often = first.and_then(|at| intervals(&files[at])).map(|many| format!(", and {stood} at a limit in {many}"));
    let other = first.and_then(|at| other_limit(&files[at], &limits.files[at], of));
    let other = other.map(|(percent, name)| format!(" and {percent} of {its} {name}")).unwrap_or_default();
    let percent = quantity(percent, "%");
    format!("{named} {uses} {percent} of {its} {}{other}{}", of.name(), often.unwrap_or_default())
}

/// That the space has to be raised first, or that other files can give enough back.
fn raise(needed_gb: f64, space_gb: f64, most_gb: f64, back_gb: f64) -> String {
    let back = if needed_gb - back_gb <= space_gb {
        format!(", or give back {} that bring nothing", gigabytes(back_gb))
    } else {
        String::new()
    };
    format!(
        "Raise the space of the instance to {} first{back}: with what follows files take {}, it has {}, and can have {}.",
        gigabytes((needed_gb / SPACE_STEP_GB).ceil() * SPACE_STEP_GB),
        gigabytes(needed_gb),
        gigabytes(space_gb),
        gigabytes(most_gb)
    )
}

/// What fewer and larger files would have together, then and now.
fn fewer(files: &str, named: &str, [iops, iops_now]: [f64; 2], [mb_per_s, mb_per_s_now]: [f64; 2]) -> String {
    let [iops, iops_now] = [iops, iops_now].map(|rate| quantity(rate, "IOPS"));
    let less = if mb_per_s < mb_per_s_now {
        format!(", and {} in place of {}", quantity(mb_per_s, "MB/s"), quantity(mb_per_s_now, "MB/s"))
    } else {
        String::new()
    };
    format!(
        "{files} in place of {named} would have {iops} together in place of {iops_now}{less}: each of many small files stands at its limit sooner."
    )
}

/// In how many intervals a file was seen near a limit, where that is known.
fn intervals(file: &DatabaseFile) -> Option<String> {
    let seen = file.at_limit.filter(|seen| seen.intervals > 0)?;
    let of = seen.of.map(|of| format!(" of {of}")).unwrap_or_default();
    let many = if seen.of.unwrap_or(seen.intervals) == 1 { "interval" } else { "intervals" };
    let once = if seen.intervals == 1 && seen.of != Some(1) { " alone (see first whether it comes again)" } else { "" };
    Some(format!("{}{of} {many}{once}", seen.intervals))
}

/// That a larger file would do no more.
fn held(why: Hindrance, named: &str, is_parted: bool) -> String {
    match why {
        Hindrance::LogRate { limit_mb_per_s, is_of_database } => format!(
            "{}, that is as fast as a log may grow, {}: a larger file changes nothing of that. What helps: {LESS_LOG}{}.",
            if is_parted { format!("What {named} wrote") } else { format!("As far as what {named} did was written") },
            quantity(limit_mb_per_s, "MB/s"),
            by_cores(if is_of_database { Cores::OneLog(limit_mb_per_s) } else { Cores::Nothing })
        ),
        Hindrance::Container => {
            format!("{named} is a container, as of tables in memory: its size can't be set, so none is advised.")
        }
        Hindrance::Model => {
            format!(
                "New databases are copies of model: with a larger {named} each of them would be as large, so none is advised."
            )
        }
        Hindrance::Unwaited { percent } => format!(
            "Sessions wait for other storage, and in {} of their waits for files of the kind of {named}: a larger one brings them nothing now.",
            quantity(percent, "%")
        ),
        Hindrance::Cpu | Hindrance::Governor => format!("A larger {named} brings nothing now."),
    }
}

/// That a file takes longer than its rates say.
fn slow(named: &str, files: usize, ms: f64) -> String {
    let up_to = if files > 1 { "up to " } else { "" };
    format!(
        "Reads or writes of {named} take {up_to}{}, and unthrottled {NORMAL_MS} ms at most: it probably stands at a limit for parts of the time",
        quantity(ms, "ms")
    )
}

/// How much of its other limit a file uses that stands at that as well.
fn other_limit(file: &DatabaseFile, limits: &FileLimits, of: LimitOf) -> Option<(String, &'static str)> {
    let step = limits.step.as_ref()?;
    let (other, seen, limit) = match of {
        LimitOf::Iops => (LimitOf::Bandwidth, file.mb_per_s?, step.mb_per_s?),
        LimitOf::Bandwidth => (LimitOf::Iops, file.iops?, step.iops?),
    };
    let percent = 100.0 * seen / limit;
    (percent >= AT_LIMIT_PERCENT).then(|| (quantity(percent, "%"), other.name()))
}

/// What sessions wait for most, and what follows. Named are the files that do much, and those of them that are to grow.
fn waits(rule: &str, percent: &str, slowest_ms: Option<f64>, [named, first]: [&str; 2]) -> String {
    let takes = |what: &str| {
        slowest_ms.map(|ms| format!(", and {what} there takes up to {}", quantity(ms, "ms"))).unwrap_or_default()
    };
    match rule {
        "waits-for-log" => {
            let next = match slowest_ms {
                _ if !first.is_empty() => format!("{first} comes first, and then fewer and larger commits"),
                Some(ms) if ms <= NORMAL_MS => {
                    "that is normal, so fewer and larger commits help, and no larger file".to_owned()
                }
                Some(_) => "fewer and larger commits help".to_owned(),
                None => format!(
                    "look at {named} first. Fewer and larger commits help; whether a larger file does, write_ms in the list would say"
                ),
            };
            format!("Sessions wait for the log, in {percent} of their waits{}: {next}.", takes("a write"))
        }
        "waits-for-memory" => {
            let how = match slowest_ms {
                Some(ms) => format!("a read or write takes {} at most, which is normal", quantity(ms, "ms")),
                None => {
                    "no data file is known to stand at a limit, and read_ms in the list would say how long reads take"
                        .to_owned()
                }
            };
            format!(
                "Sessions wait for pages of data files, in {percent} of their waits, and {how}: more memory, which more vCores bring, and fewer pages \
                 to read, as by an index, help more than a larger file."
            )
        }
        _ => format!(
            "Sessions wait for pages of data files, in {percent} of their waits{}. What holds them back: {named}.",
            takes("a read or write")
        ),
    }
}

/// Files that can be smaller, in one sentence.
pub(super) fn smaller(all: &[&Advice], files: &[DatabaseFile]) -> Option<String> {
    let of = |one: &&Advice| match one.finding {
        Finding::Shrink { size_gb } => Some((*one.files.first()?, size_gb)),
        _ => None,
    };
    let all: Vec<(usize, f64)> = all.iter().filter_map(of).collect();
    let name = |(at, size_gb): &(usize, f64)| format!("{} with {}", files[*at].label(), gigabytes(*size_gb));
    let back_gb = all.iter().fold(0.0, |sum, (at, size_gb)| sum + files[*at].size_gb - size_gb);
    let names = listed(&all.iter().map(name).collect::<Vec<_>>(), MOST_NAMED);
    let has = if all.len() == 1 { "has" } else { "have" };
    (!all.is_empty()).then(|| {
        format!("Gigabytes that bring nothing: {names} {has} the same limits, which gives {} back.", gigabytes(back_gb))
    })
}
