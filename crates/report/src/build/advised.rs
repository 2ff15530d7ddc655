//! What each piece of advice says of files, in sentences, and those that are to grow as a table.

use plimsoll_plan::gain::Brings;
use plimsoll_plan::rules::NORMAL_MS;
use plimsoll_plan::statements::Steps;
use plimsoll_plan::storage::LimitOf;
use plimsoll_plan::{Advice, DatabaseFile, Finding, Step};

use crate::model::format::{capital, count, listed, quantity};
use crate::model::{Table, number, text};

/// Files that are named in a sentence; a table has all.
const MOST_NAMED: usize = 5;

/// An instance's space comes in multiples of so many GB (resource limits, 2022-06-02).
const SPACE_STEP_GB: f64 = 32.0;

/// What is loaded elsewhere first, or written shorter, takes less of the log.
const LESS_LOG: &str = "load into tempdb first, or use clustered columnstore indexes, which log less";

/// What one piece of advice says.
pub fn advice(one: &Advice, files: &[DatabaseFile]) -> String {
    let names = |all: &[usize]| listed(&all.iter().map(|at| files[*at].label()).collect::<Vec<_>>(), MOST_NAMED);
    let named = || names(&one.files);
    let stands = |percent: f64, of: LimitOf| {
        let often = one.files.first().and_then(|at| intervals(&files[*at])).unwrap_or_default();
        format!("{} uses {} of its {}{often}", named(), quantity(percent, "%"), of.name())
    };
    let gb = |size: f64| quantity(size, "GB");
    match &one.finding {
        Finding::LogRate { mb_per_s, largest_mb_per_s, limit_mb_per_s, held } => {
            let first = one.files.first().map_or("", |at| files[*at].name.as_str());
            let rates = [*mb_per_s, *largest_mb_per_s, *limit_mb_per_s];
            let held = if held.is_empty() {
                String::new()
            } else {
                format!(" Before that a larger {} brings nothing.", names(held))
            };
            log_rate(first, rates) + &held
        }
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
        Finding::Space { needed_gb, space_gb, most_gb } => format!(
            "Raise the space of the instance to {} first: with what follows files take {}, it has {}, and can have {}.",
            gb((needed_gb / SPACE_STEP_GB).ceil() * SPACE_STEP_GB),
            gb(*needed_gb),
            gb(*space_gb),
            gb(*most_gb)
        ),
        Finding::Short { files_gb, blobs_gb, wanted, elsewhere_gb } => {
            short(&named(), one.files.len(), [*files_gb, *blobs_gb], *wanted, *elsewhere_gb)
        }
        Finding::LogFirst => {
            let databases: Vec<&str> = one.files.iter().map(|at| files[*at].database.as_str()).collect();
            let databases = listed(&databases, MOST_NAMED);
            format!("Of {databases} enlarge the log before the data files: where much is written, commits wait for it.")
        }
        Finding::Grow { used_percent, of, size_gb, step, brings } => {
            let then = has(step).unwrap_or_default();
            let brings = brings.as_ref().map(gains).unwrap_or_default();
            format!("{}: with {} it would have {then}{brings}.", stands(*used_percent, *of), gb(*size_gb))
        }
        Finding::Add { used_percent, of, size_gb, step } => format!(
            "{}, and no size is known to have enough: each data file of {} has {}, once the rows are spread over all.",
            stands(*used_percent, *of),
            gb(*size_gb),
            has(step).unwrap_or_default()
        ),
        Finding::Elsewhere { used_percent, of } => format!(
            "{}, and no size is known to have enough: Business Critical, or a machine with disks of its own, has other limits.",
            stands(*used_percent, *of)
        ),
        Finding::Equal { smallest_gb, largest_gb, more_gb } if largest_gb > smallest_gb => format!(
            "Files of a filegroup should be of one size, as rows are spread by free space: of {} the smallest has {}, and the largest {}. All as \
             large would take {} more.",
            named(),
            gb(*smallest_gb),
            gb(*largest_gb),
            gb(*more_gb)
        ),
        Finding::Equal { .. } => format!("Let {} grow by the same: else they are soon of several sizes.", named()),
        Finding::Fewer { files, size_gb, iops, iops_now } => format!(
            "{} in place of {} would have {} together in place of {}: each of many small files stands at its limit sooner.",
            capital(&format!("{} of {}", count(*files, "data file"), gb(*size_gb))),
            named(),
            quantity(*iops, "IOPS"),
            quantity(*iops_now, "IOPS")
        ),
        Finding::Cpu { percent } => format!(
            "CPU holds it back, with {} in use: larger files help only once there are more vCores.",
            quantity(*percent, "%")
        ),
        Finding::Waits { percent, slowest_ms } => waits(one, &quantity(*percent, "%"), *slowest_ms, named),
        Finding::Slow { ms, next } => {
            let grow = next
                .as_ref()
                .and_then(|next| Some(format!(": with {} it would have {}", gb(next.size_gb), has(&next.step)?)));
            format!(
                "Reads or writes of {} take {}, and unthrottled {NORMAL_MS} ms at most: it probably stands at a limit for parts of the time{}.",
                named(),
                quantity(*ms, "ms"),
                grow.unwrap_or_default()
            )
        }
        Finding::Shrink { size_gb } => format!("{} has the same limits with {}.", named(), gb(*size_gb)),
    }
}

/// In how many intervals a file was seen near a limit, where that is known.
fn intervals(file: &DatabaseFile) -> Option<String> {
    let seen = file.at_limit.filter(|seen| seen.intervals > 0)?;
    let of = seen.of.map(|of| format!(" of {of}")).unwrap_or_default();
    let many = if seen.of.unwrap_or(seen.intervals) == 1 { "interval" } else { "intervals" };
    Some(format!(", and stood at a limit in {}{of} {many}", seen.intervals))
}

/// How fast the logs grow: each at its busiest, which need not have been at one time.
fn log_rate(first: &str, [all, largest, limit]: [f64; 3]) -> String {
    let mb = |rate: f64| quantity(rate, "MB/s");
    if largest > 1.1 * limit {
        return format!(
            "{first} did {}, and the log of the instance may grow by {}: much of it was read, as by backups, or the instance has other vCores.",
            mb(largest),
            mb(limit)
        );
    }
    if all > limit {
        return format!(
            "Were all logs busiest at once they would grow by up to {}, and the instance lets them {}, whatever the size of log files: {LESS_LOG}.",
            mb(all),
            mb(limit)
        );
    }
    format!(
        "The logs grow by up to {} of the {} that the instance lets them, whatever the size of log files: {LESS_LOG}.",
        mb(all),
        mb(limit)
    )
}

/// That there is not so much space to be had, and what comes first.
fn short(
    named: &str,
    fit: usize,
    [files_gb, blobs_gb]: [[Option<f64>; 2]; 2],
    wanted: usize,
    elsewhere_gb: Option<f64>,
) -> String {
    let gb = |size: f64| quantity(size, "GB");
    let over = |[needed, most]: [Option<f64>; 2]| needed.zip(most).filter(|(needed, most)| needed > most);
    let all = if wanted == 1 { "its enlargement".to_owned() } else { format!("all {wanted} enlargements") };
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
        1 => format!("By use {named} comes first, and no more fits."),
        _ => format!("By use these {fit} come first, and no more fits: {named}."),
    };
    let cores = elsewhere_gb.map(|most| format!("more vCores (up to {}), ", gb(most))).unwrap_or_default();
    format!("{too_much} {first} What is left needs {cores}several instances, or Business Critical.")
}

/// What a larger file brings: an interval, as nobody knows how much more is wanted.
fn gains(brings: &Brings) -> String {
    let rate = format!(", and do 0 to {} more, by how much is wanted", quantity(brings.most_percent, "%"));
    let times = brings.ms.map(|[now, least, most]| {
        let between = format!("{} to {}", quantity(least, "ms"), quantity(most, "ms"));
        format!("; with as many under way, a read or write would take {between} in place of {}", quantity(now, "ms"))
    });
    rate + &times.unwrap_or_default()
}

/// What sessions wait for most, and what follows.
fn waits(one: &Advice, percent: &str, slowest_ms: Option<f64>, named: impl Fn() -> String) -> String {
    let slow = |what: &str| {
        slowest_ms.map(|ms| format!(", and {what} there takes {} on average", quantity(ms, "ms"))).unwrap_or_default()
    };
    match one.rule.id {
        "log-governor-waits" => format!(
            "Sessions wait for the governor of the log's rate, in {percent} of their waits, and no size of a log file changes that: {LESS_LOG}; \
             Business Critical has a higher rate."
        ),
        "waits-for-log" => format!(
            "Sessions wait for the log, in {percent} of their waits{}: {} comes first, and then fewer and larger commits.",
            slow("a write"),
            named()
        ),
        _ => format!(
            "Sessions wait for pages of data files, in {percent} of their waits{}. What holds them back: {}.",
            slow("a read or write"),
            named()
        ),
    }
}

/// The statements that enlarge them, as far as they fit at all. None where CPU holds back.
pub fn statements(advised: &[Advice], files: &[DatabaseFile], free_gb: Option<f64>) -> String {
    let mut steps = Steps::default();
    let short = advised.iter().find(|one| matches!(one.finding, Finding::Short { .. }));
    if advised.iter().any(|one| matches!(one.finding, Finding::Cpu { .. })) {
        return String::new();
    }
    for one in advised.iter().filter(|one| !one.is_alternative) {
        let (Finding::Grow { size_gb, of, .. }, Some(at)) = (&one.finding, one.files.first()) else { continue };
        if short.is_none_or(|short| short.files.contains(at)) {
            steps.enlarge(&files[*at], *size_gb, &format!("It stands at its limit of {}.", of.name()));
        }
    }
    steps.text(free_gb)
}

/// The files that are to grow, those that come first above: how large they are, how large they should be, and what that brings.
pub(super) fn table(advised: &[Advice], files: &[DatabaseFile]) -> Option<Table> {
    struct Row<'a> {
        file: &'a DatabaseFile,
        used_percent: f64,
        of: LimitOf,
        size_gb: f64,
        step: Step,
        most_percent: Option<f64>,
        fits: Option<&'static str>,
    }
    let short = advised.iter().find(|one| matches!(one.finding, Finding::Short { .. }));
    let row = |one: &Advice| {
        let Advice { files: places, finding: Finding::Grow { used_percent, of, size_gb, step, brings }, .. } = one
        else {
            return None;
        };
        let at = places.first()?;
        let (used_percent, of, size_gb) = (*used_percent, *of, *size_gb);
        let most_percent = brings.map(|brings| brings.most_percent);
        let fits = short.map(|short| if short.files.contains(at) { "yes" } else { "no" });
        Some(Row { file: &files[*at], used_percent, of, size_gb, step: step.clone(), most_percent, fits })
    };
    Table::of(
        advised.iter().filter(|one| !one.is_alternative).filter_map(row),
        &[
            (text("database"), &|row: &Row<'_>| row.file.database.as_str().into()),
            (text("file"), &|row: &Row<'_>| row.file.name.as_str().into()),
            (number("used", "%"), &|row: &Row<'_>| row.used_percent.into()),
            (text("of its"), &|row: &Row<'_>| row.of.name().into()),
            (number("now", "GB"), &|row: &Row<'_>| row.file.size_gb.into()),
            (number("enlarge to", "GB"), &|row: &Row<'_>| row.size_gb.into()),
            (number("then", "IOPS"), &|row: &Row<'_>| row.step.iops.into()),
            (number("then", "MB/s").spare(1), &|row: &Row<'_>| row.step.mb_per_s.into()),
            (number("more, up to", "%"), &|row: &Row<'_>| row.most_percent.into()),
            (text("fits"), &|row: &Row<'_>| row.fits.map(str::to_owned).into()),
        ],
    )
}

/// `2,300 IOPS and 150 MB/s`.
pub(super) fn has(step: &Step) -> Option<String> {
    let parts = [step.iops.map(|iops| quantity(iops, "IOPS")), step.mb_per_s.map(|rate| quantity(rate, "MB/s"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}
