//! What each piece of advice says of files, in sentences, and those that are to grow as a table.

use plimsoll_plan::advice::{AT_LIMIT_PERCENT, Larger};
use plimsoll_plan::gain::{Bound, Brings};
use plimsoll_plan::hindrance::Hindrance;
use plimsoll_plan::rules::{NORMAL_MS, are_unequal, used};
use plimsoll_plan::statements::SPACE_STEP_GB;
use plimsoll_plan::storage::{Cores, Elsewhere, LimitOf};
use plimsoll_plan::{Advice, DatabaseFile, FileKind, FileLimits, Finding, Limits, Step};

use crate::model::format::{count, listed, quantity};

/// Files that are named in a sentence; a table has all.
const MOST_NAMED: usize = 5;

/// A log that does so many times what logs may grow by was read, too.
const READ_TIMES: f64 = 1.1;

/// What is loaded elsewhere first, or written shorter, takes less of the log.
const LESS_LOG: &str = "load into tempdb first, or use clustered columnstore indexes, which log less";

/// What one piece of advice says.
pub fn advice(one: &Advice, files: &[DatabaseFile], limits: &Limits) -> String {
    let names = |all: &[usize]| listed(&all.iter().map(|at| files[*at].label()).collect::<Vec<_>>(), MOST_NAMED);
    let named = || names(&one.files);
    let stands = |percent: f64, of: LimitOf| stands(&named(), &one.files, (files, limits), percent, of);
    let gb = |size: f64| quantity(size, "GB");
    match &one.finding {
        Finding::LogRate { mb_per_s, largest_mb_per_s, limit_mb_per_s, cores } => {
            let is_read = |at: &usize| files[*at].mb_per_s.is_some_and(|rate| rate > READ_TIMES * limit_mb_per_s);
            let read: Vec<usize> = one.files.iter().copied().filter(is_read).collect();
            let first = names(if read.is_empty() { &one.files[..one.files.len().min(1)] } else { &read });
            log_rate((&first, read.len()), [*mb_per_s, *largest_mb_per_s, *limit_mb_per_s], *cores)
        }
        Finding::NoUse { why } => held(*why, &named()),
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
        Finding::Short { files_gb, blobs_gb, larger, added, back_gb, elsewhere } => {
            short(&named(), one.files.len(), [*files_gb, *blobs_gb], ([*larger, *added], *back_gb), elsewhere)
        }
        Finding::LogFirst => {
            let databases: Vec<&str> = one.files.iter().map(|at| files[*at].database.as_str()).collect();
            let databases = listed(&databases, MOST_NAMED);
            format!("In {databases} enlarge the log before the data files: where much is written, commits wait for it.")
        }
        Finding::Grow { .. } => grow(one, files, limits),
        Finding::Add { used_percent, of, shrunk, larger, .. } => {
            let first = shrunk.iter().map(|(at, size_gb)| format!("{} to {}", files[*at].label(), gb(*size_gb)));
            let first = first.collect::<Vec<_>>();
            let first = if first.is_empty() {
                String::new()
            } else {
                format!(" First shrink {} (DBCC SHRINKFILE), which keeps its limits.", listed(&first, MOST_NAMED))
            };
            let larger = larger.as_ref().map(|larger| larger_files(larger, files)).unwrap_or_default();
            more_files(&stands(*used_percent, *of), &one.finding, one.files.len()) + &first + &larger
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
            format!(
                "{}, and no size is known to have enough{nor}: Business Critical, or a machine with disks of its own, has other limits.",
                stands(*used_percent, *of)
            )
        }
        Finding::Equal { smallest_gb, largest_gb, more_gb } if are_unequal(*smallest_gb, *largest_gb) => format!(
            "Files of a filegroup should be of one size, as rows are spread by free space: of {} the smallest has {}, and the largest {}. All as \
             large would take {} more.",
            named(),
            gb(*smallest_gb),
            gb(*largest_gb),
            gb(*more_gb)
        ),
        Finding::Equal { .. } => format!("Let {} grow by the same: else they are soon of several sizes.", named()),
        Finding::Fewer { files: number, size_gb, iops, iops_now, mb_per_s, mb_per_s_now, are_grown } => fewer(
            &format!("{} of {}", count(*number, "data file"), gb(*size_gb)),
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
        Finding::Waits { percent, slowest_ms, first, cores } => {
            waits(one.rule.id, &quantity(*percent, "%"), *slowest_ms, [&named(), &names(first)], *cores)
        }
        Finding::Slow { ms, held: None } => {
            format!("{}, and no larger size has more.", slow(&named(), one.files.len(), *ms))
        }
        Finding::Slow { ms, held: Some(why) } => {
            format!("{}. {}", slow(&named(), one.files.len(), *ms), held(*why, &named()))
        }
        Finding::Shrink { size_gb } => format!("{} has the same limits with {}.", named(), gb(*size_gb)),
    }
}

/// That files are to grow, why, and what it brings.
fn grow(one: &Advice, files: &[DatabaseFile], limits: &Limits) -> String {
    let Finding::Grow { used, slow_ms, size_gb, step, fits, brings } = &one.finding else { return String::new() };
    let names: Vec<String> = one.files.iter().map(|at| files[*at].label()).collect();
    let named = || listed(&names, MOST_NAMED);
    let stands = |percent: f64, of: LimitOf| stands(&named(), &one.files, (files, limits), percent, of);
    let gb = |size: f64| quantity(size, "GB");
    let why = match (slow_ms, used) {
        (Some(ms), _) => slow(&named(), one.files.len(), *ms),
        (None, Some((percent, of))) => stands(*percent, *of),
        (None, None) => {
            let grow = if one.files.len() > 1 { "grow" } else { "grows" };
            format!("{} {grow} as well, as rows are spread over all of the filegroup", named())
        }
    };
    let is_same = one.files.iter().all(|at| limits.files[*at].step.as_ref() == Some(step));
    if is_same && used.is_none() && slow_ms.is_none() {
        return format!("{why}: to {}, which leaves its limits as they are.", gb(*size_gb));
    }
    let log = brings.as_ref().and_then(|brings| log_next(one.files[0], (files, limits), brings.most_percent));
    let unknown = slow_ms.map(|_| "; by how much that helps is not known".to_owned());
    let brings = brings.as_ref().map(gains).or(unknown).unwrap_or_default();
    let room = if *fits { "" } else { ". There is no room for that" };
    let it = if one.files.len() > 1 { "each" } else { "it" };
    let has = has(step).unwrap_or_default();
    format!("{why}: with {} {it} would have {has}{brings}{room}.{}", gb(*size_gb), log.unwrap_or_default())
}

/// From this part of its limits on a log is soon the next one.
const BUSY_PERCENT: f64 = 50.0;

/// When the log of a data file's database stands at its limits, where that is before what the data file brings is used up.
fn log_next(at: usize, (files, limits): (&[DatabaseFile], &Limits), most_percent: f64) -> Option<String> {
    let is_own = |other: &usize| files[*other].kind == FileKind::Log && files[*other].is_beside(&files[at]);
    let log = (0..files.len()).find(is_own).filter(|_| files[at].kind == FileKind::Data)?;
    let by_file = used(&files[log], &limits.files[log]).map(|(percent, of)| (percent, format!("at its {}", of.name())));
    // A log that does more than that was read as well.
    let by_rate = files[log]
        .mb_per_s
        .zip(limits.log_mb_per_s)
        .map(|(seen, most)| (100.0 * seen / most, format!("at {}, by which logs may grow,", quantity(most, "MB/s"))));
    let nearest = by_file.into_iter().chain(by_rate).max_by(|a, b| a.0.total_cmp(&b.0));
    let (used_percent, stands) = nearest.filter(|(percent, _)| (BUSY_PERCENT..AT_LIMIT_PERCENT).contains(percent))?;
    let more_percent = 100.0 * (100.0 / used_percent - 1.0);
    (more_percent < most_percent).then(|| {
        let (label, more) = (files[log].label(), quantity(more_percent, "%"));
        format!(" Where as much more is written, the log {label} stands {stands} after {more}.")
    })
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
    let gb = |size: f64| quantity(size, "GB");
    let back = if needed_gb - back_gb <= space_gb {
        format!(", or give back {} that bring nothing (below)", gb(back_gb))
    } else {
        String::new()
    };
    format!(
        "Raise the space of the instance to {} first{back}: with what follows files take {}, it has {}, and can have {}.",
        gb((needed_gb / SPACE_STEP_GB).ceil() * SPACE_STEP_GB),
        gb(needed_gb),
        gb(space_gb),
        gb(most_gb)
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

/// What else raises the rate of the log.
fn by_cores(cores: Cores) -> String {
    match cores {
        Cores::Nothing => String::new(),
        Cores::Unknown => "; more vCores raise the rate (--vcores says how many there are)".to_owned(),
        Cores::Faster(vcores, rate) => {
            format!("; more vCores raise the rate ({vcores} have {})", quantity(rate, "MB/s"))
        }
    }
}

/// How fast the logs grow: each at its busiest, which need not have been at one time.
fn log_rate((first, read): (&str, usize), [all, largest, limit]: [f64; 3], cores: Cores) -> String {
    let mb = |rate: f64| quantity(rate, "MB/s");
    if read > 0 {
        return format!(
            "{first} did {}{}, and the logs of the instance may grow by {} together: so part of it was read, as by backups{}.",
            if read > 1 { "up to " } else { "" },
            mb(largest),
            mb(limit),
            if cores == Cores::Nothing { "" } else { ", or the instance has other vCores" }
        );
    }
    if all > limit {
        return format!(
            "The busiest times of all logs come to {}, and the instance lets them grow by {} together, whatever the size of log files. So they \
             were not at once, or part of it was read{}. Where it has to be at once: {LESS_LOG}{}.",
            mb(all),
            mb(limit),
            if largest >= 0.9 * limit { format!("; {first} alone came to {}", mb(largest)) } else { String::new() },
            by_cores(cores)
        );
    }
    format!(
        "The logs grow by up to {} of the {} that the instance lets them, whatever the size of log files: {LESS_LOG}{}.",
        mb(all),
        mb(limit),
        by_cores(cores)
    )
}

/// That there is not so much space to be had, and what comes first.
fn short(
    named: &str,
    fit: usize,
    [files_gb, blobs_gb]: [[Option<f64>; 2]; 2],
    ([larger, added], back_gb): ([usize; 2], f64),
    elsewhere: &[Elsewhere],
) -> String {
    let gb = |size: f64| quantity(size, "GB");
    let over = |[needed, most]: [Option<f64>; 2]| needed.zip(most).filter(|(needed, most)| needed > most);
    let all = match (larger, added) {
        (0, _) => format!("{}, all", count(added, "more data file")),
        (1, 0) => "the enlargement below".to_owned(),
        (2, 0) => "both enlargements".to_owned(),
        (_, 0) => format!("all {larger} enlargements"),
        _ => format!("{} and {}, all", count(larger, "enlargement"), count(added, "more data file")),
    };
    let too_much = match (over(files_gb), over(blobs_gb)) {
        (Some((needed, most)), _) => {
            format!("With {all} files take {}, and such an instance can have {}.", gb(needed), gb(most))
        }
        (None, blobs) => {
            let (needed, most) = blobs.unwrap_or_default();
            format!("With {all} the blobs take {}, and those of an instance may take {}.", gb(needed), gb(most))
        }
    };
    let first = match fit {
        0 => "None of it fits.".to_owned(),
        1 => format!("{named} comes first, and no more fits."),
        _ => format!("These {fit} come first, in this order, and no more fits: {named}."),
    };
    let given = over(files_gb).filter(|(needed, most)| needed - back_gb <= *most);
    let mut others: Vec<String> =
        given.map(|_| format!("{} given back that bring nothing (below)", gb(back_gb))).into_iter().collect();
    others.extend(elsewhere.iter().map(has_more));
    others.push("several instances".to_owned());
    others.extend(over(files_gb).map(|(needed, most)| format!("{} less in other files", gb((needed - most).ceil()))));
    others.extend(over(blobs_gb).filter(|_| over(files_gb).is_none()).map(|_| "fewer and larger files".to_owned()));
    let what = if fit == 0 { "It takes" } else { "The rest takes" };
    format!("{too_much} {first} {what} one of these: {}.", others.join("; "))
}

/// Further data files, or none where those that are there have enough once their rows are spread over all.
fn more_files(stands: &str, found: &Finding, at_limit: usize) -> String {
    let Finding::Add { added, all, others_full, size_gb, step, brings, fits, larger, .. } = found else { return String::new() };
    let (gb, has) = (quantity(*size_gb, "GB"), has(step).unwrap_or_default());
    let (brings, room) = (brings.as_ref().map(gains).unwrap_or_default(), room(*fits));
    let over =
        if *others_full { format!("these {all}, as others of the filegroup are full,") } else { format!("all {all}") };
    if *added == 0 {
        return format!(
            "{stands}. Spread over all {all} of the filegroup by their sizes, the rows are carried as seen with 25 % to spare (indexes are rebuilt for \
             that){brings}.{room}"
        );
    }
    let why = match (larger, at_limit) {
        (Some(_), _) => "",
        (None, 1) => ", and no size is known to have enough",
        (None, _) => ", and no size is known to have enough for all of them",
    };
    let each = if *added == 1 { "" } else { " each" };
    format!(
        "{stands}{why}. Add {} of {gb}, with {has}{each}: once the rows are spread over {over} by their sizes (indexes \
         are rebuilt for that), they carry what was seen with 25 % to spare{brings}.{room}",
        count(*added, "data file")
    )
}

/// Larger files that have enough as well, and take more space.
fn larger_files(larger: &Larger, files: &[DatabaseFile]) -> String {
    let more_gb: f64 = larger.sizes.iter().map(|(at, size_gb)| size_gb - files[*at].size_gb).sum();
    let names: Vec<String> =
        larger.sizes.iter().map(|(at, size_gb)| format!("{} to {}", files[*at].label(), quantity(*size_gb, "GB"))).collect();
    let (names, more) = (listed(&names, MOST_NAMED), quantity(more_gb, "GB"));
    if !larger.fits {
        return format!(" Larger files move no rows, and take {more} more than there are now, which is more than is free: {names}.");
    }
    let brings = larger.brings.as_ref().map(gains).unwrap_or_default();
    format!(" Or enlarge files, which moves no rows and takes {more}: {names}. They would have enough as well{brings}.")
}

/// That there is no room for more, where that is so.
const fn room(fits: bool) -> &'static str {
    if fits { "" } else { " Such an instance has no room for that." }
}

/// What has more.
fn has_more(one: &Elsewhere) -> String {
    let most = quantity(one.most_gb, "GB");
    let on = one.hardware.as_ref().map(|hardware| format!(" on {hardware}")).unwrap_or_default();
    let cores = one.vcores.map(|vcores| format!("{vcores} vCores or more"));
    match (&one.title, cores) {
        (None, cores) => format!("{}{on} (from {most} on)", cores.unwrap_or_default()),
        (Some(title), Some(cores)) => format!("{title} with {cores}{on} (from {most} on)"),
        (Some(title), None) => format!("{title}{on} (up to {most})"),
    }
}

/// That a larger file would do no more.
fn held(why: Hindrance, named: &str) -> String {
    match why {
        Hindrance::LogRate { limit_mb_per_s } => format!(
            "As far as what {named} did was written, that is as fast as a log may grow, {}: a larger file changes nothing of that.",
            quantity(limit_mb_per_s, "MB/s")
        ),
        Hindrance::Container => {
            format!("{named} is a container, as of tables in memory: its size can't be set, so none is advised.")
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

/// What a larger file brings: an interval, as nobody knows how much more is wanted.
pub(super) fn gains(brings: &Brings) -> String {
    let why = match brings.bound {
        Bound::Limit => String::new(),
        Bound::Other(of) => format!(" (then its {} are used up)", of.name()),
        Bound::UnderWay => " (as many under way make no more)".to_owned(),
        Bound::LogRate => " (the log may grow no faster)".to_owned(),
        Bound::Waits => " (sessions wait for it no more than that)".to_owned(),
        Bound::Neighbours => " (then others of its filegroup stand at their limits)".to_owned(),
    };
    let rate =
        format!(", and do 0 to {} more, depending on how much is wanted{why}", quantity(brings.most_percent, "%"));
    let times = brings.ms.map(|[now, least, most]| {
        let [least, most] = [least, most].map(|ms| quantity(ms, "ms"));
        let between = if least == most { least } else { format!("{least} to {most}") };
        format!("; with as many under way, a read or write would take {between} in place of {}", quantity(now, "ms"))
    });
    rate + &times.unwrap_or_default()
}

/// What sessions wait for most, and what follows. Named are the files that do much, and those of them that are to grow.
fn waits(rule: &str, percent: &str, slowest_ms: Option<f64>, [named, first]: [&str; 2], cores: Cores) -> String {
    let takes = |what: &str| {
        slowest_ms.map(|ms| format!(", and {what} there takes up to {}", quantity(ms, "ms"))).unwrap_or_default()
    };
    match rule {
        "log-governor-waits" => {
            let held = if named.is_empty() { String::new() } else { format!(" A larger {named} brings nothing now.") };
            format!(
                "Sessions wait for the governor of the log's rate, in {percent} of their waits, and no size of a log file changes that: \
                 {LESS_LOG}{}.{held}",
                by_cores(cores)
            )
        }
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
    let name = |(at, size_gb): &(usize, f64)| format!("{} with {}", files[*at].label(), quantity(*size_gb, "GB"));
    let back_gb = all.iter().fold(0.0, |sum, (at, size_gb)| sum + files[*at].size_gb - size_gb);
    let names = listed(&all.iter().map(name).collect::<Vec<_>>(), MOST_NAMED);
    let has = if all.len() == 1 { "has" } else { "have" };
    (!all.is_empty()).then(|| {
        format!(
            "Gigabytes that bring nothing: {names} {has} the same limits, which gives {} back.",
            quantity(back_gb, "GB")
        )
    })
}

/// `2,300 IOPS and 150 MB/s`.
pub(super) fn has(step: &Step) -> Option<String> {
    let parts = [step.iops.map(|iops| quantity(iops, "IOPS")), step.mb_per_s.map(|rate| quantity(rate, "MB/s"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}
