//! What disks did that databases are to move from, and which files on Managed Instance would carry it.

use plimsoll_plan::activity::BUSY_MS;
use plimsoll_plan::layout::Rules;
use plimsoll_plan::rules::more::more;
use plimsoll_plan::sources::Disks;
use plimsoll_plan::{Activity, Demand, FileKind, Step, Storage};

use super::brings::has;
use super::plots_files::over_time;
use crate::model::format::{count, gigabytes, listed, quantity, whole};
use crate::model::{Part, Rank, Report, Table, Tone, number, text};

/// Disks that are named in the answer; the table has all.
const MOST_NAMED: usize = 4;

/// The share of the time that a percentile leaves out is 5 %.
const MOST_OF_TIME: f64 = 95.0;

/// The smallest file that carries what a disk did with so much to spare, in percent, and its size in GB.
pub fn carried<'s>(disk: &Activity, storage: &'s Storage<'_>, headroom_percent: f64) -> Option<(&'s Step, f64)> {
    let wanted = |demand: &Demand| demand.highest().map(|rate| rate * (1.0 + headroom_percent / 100.0));
    let (iops, mb_per_s) = (wanted(&disk.iops), wanted(&disk.mb_per_s));
    iops.or(mb_per_s)?;
    storage.carries(iops.unwrap_or(0.0), mb_per_s.unwrap_or(0.0))
}

/// The report: which file carries each disk, what disks did over time, and a row for each.
pub fn report(all: &Disks, storage: &Storage<'_>, headroom_percent: f64) -> Report {
    let mut report = Report::new(format!(
        "What {} counted, and files on {} of {}",
        all.program, storage.tier.title, storage.instance.as_of
    ));
    let mut answer = Part::of(Rank::Answer);
    // Of a side alone nothing follows but how much was written.
    let known = |disk: &Activity| [&disk.iops, &disk.mb_per_s].iter().any(|one| one.highest().is_some());
    let mut busiest: Vec<&Activity> = all.disks.iter().filter(|disk| known(disk)).collect();
    busiest.sort_by(|a, b| b.iops.highest().unwrap_or(0.0).total_cmp(&a.iops.highest().unwrap_or(0.0)));
    for (at, disk) in busiest.iter().take(MOST_NAMED).enumerate() {
        let tone = if at == 0 { Tone::Headline } else { Tone::Plain };
        answer.say(tone, sentence(disk, storage, headroom_percent));
    }
    let names = |of: &dyn Fn(&Activity) -> bool| -> Vec<&str> {
        all.disks.iter().filter(|disk| of(disk)).map(|disk| disk.name.as_str()).collect()
    };
    let slow = all.disks.iter().filter(|disk| disk.slow > 0);
    let slow: Vec<String> = slow.map(|disk| format!("{} (in {})", disk.name, intervals(disk.slow))).collect();
    if !slow.is_empty() {
        let slow = listed(&slow, MOST_NAMED);
        let said = format!(
            "Reads or writes took {BUSY_MS} ms and more on {slow}: a disk may be at a limit of its own then, and the load want more."
        );
        answer.say(Tone::Warning, said);
    }
    let unsized_ones = names(&|disk| !disk.are_sizes_known);
    if !unsized_ones.is_empty() {
        let names = listed(&unsized_ones, MOST_NAMED);
        answer.say(Tone::Warning, format!("Bytes were not counted of {names}: reads and writes of more than 256 KB count as several, and may be more than said."));
    }
    let halves = names(&|disk| !known(disk));
    if !halves.is_empty() {
        let names = listed(&halves, MOST_NAMED);
        answer.say(
            Tone::Warning,
            format!("Of {names} reads or writes alone were counted: what a file has to carry there is not known, and counters of both are needed."),
        );
    }
    let uncounted = names(&|disk| known(disk) && disk.iops.highest().is_none());
    if !uncounted.is_empty() {
        let names = listed(&uncounted, MOST_NAMED);
        answer.say(
            Tone::Warning,
            format!("Of {names} not all reads and writes were counted, so whether a file carries them is said by MB/s alone."),
        );
    }
    answer.say(Tone::Plain, log_rate(all, storage, headroom_percent));
    for remark in &all.remarks {
        answer.say(Tone::Quiet, remark.clone());
    }
    let mut picture = Part::of(Rank::Picture);
    picture.pictures(over_time(&all.disks));
    let mut table = Part::of(Rank::Table);
    table.table("", rows(all, storage, headroom_percent));
    report.add_all([answer, picture, table]);
    report
}

fn sentence(disk: &Activity, storage: &Storage<'_>, headroom_percent: f64) -> String {
    let highest = [
        disk.iops.highest().map(|rate| quantity(rate, "IOPS")),
        disk.mb_per_s.highest().map(|rate| quantity(rate, "MB/s")),
    ];
    let highest: Vec<String> = highest.into_iter().flatten().collect();
    let did = format!(
        "{} did {} in its busiest of {}",
        disk.name,
        highest.join(" and "),
        intervals(disk.iops.known().count().max(disk.mb_per_s.known().count()))
    );
    let spare = quantity(headroom_percent, "%");
    match carried(disk, storage, headroom_percent) {
        Some((step, size_gb)) if size_gb <= 1.0 => format!(
            "{did}: any file carries that with {spare} to spare, as the smallest has {}.",
            has(step).unwrap_or_default()
        ),
        Some((step, size_gb)) => format!(
            "{did}: a file of {} carries that with {spare} to spare, as it has {}.",
            gigabytes(size_gb),
            has(step).unwrap_or_default()
        ),
        None => {
            let rules = Rules { headroom_percent, ..Rules::default() };
            let rates = [&disk.iops, &disk.mb_per_s].map(|demand| demand.highest().unwrap_or(0.0));
            let several = more(rates, 0.0, &[], (storage, &rules)).map_or_else(
                || "more than eight".to_owned(),
                |more| format!("several, at least {} of {}", count(more.added, "data file"), gigabytes(more.size_gb)),
            );
            format!(
                "{did}: no single file is known to carry that with {spare} to spare, so it takes {several}, or Business Critical."
            )
        }
    }
}

/// Whether logs grow slower than an instance lets them, as far as it is known what they wrote.
fn log_rate(all: &Disks, storage: &Storage<'_>, headroom_percent: f64) -> String {
    let is_log = |disk: &&Activity| disk.kind == Some(FileKind::Log);
    let are_logs = all.disks.iter().any(|disk| is_log(&disk));
    let counted: Vec<&Activity> = all.disks.iter().filter(|disk| !are_logs || is_log(disk)).collect();
    let names = |of: &[&Activity]| listed(&of.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), MOST_NAMED);
    let limit = storage.tier.log_mb_per_second(storage.wishes.vcores);
    let may = limit.map_or_else(
        || "How fast logs may grow on an instance goes by its vCores (--vcores)".to_owned(),
        |limit| {
            format!("All logs of an instance together may grow by {}, whatever their size", quantity(limit, "MB/s"))
        },
    );
    let (known, unknown): (Vec<&Activity>, Vec<&Activity>) =
        counted.into_iter().partition(|disk| disk.written().is_some());
    if !unknown.is_empty() {
        return format!(
            "{may}. Whether that is enough is not known, as bytes written were not counted apart on {}.",
            names(&unknown)
        );
    }
    let sum: f64 = known.iter().filter_map(|disk| disk.written()).sum();
    let written = format!("{} wrote up to {}", names(&known), quantity(sum, "MB/s"));
    let each = if known.len() > 1 { " together, each at its busiest" } else { "" };
    let is_enough = limit.is_some_and(|limit| sum * (1.0 + headroom_percent / 100.0) <= limit);
    let follows = match (is_enough, are_logs, limit) {
        (true, true, _) => "which that carries",
        (true, false, _) => "which that carries even if all of it was log",
        (false, true, Some(limit)) if sum > limit => "which is more",
        (false, true, _) => "so that little or nothing may be to spare",
        (false, false, _) => "and how much of that was log is not known",
    };
    let follows = if are_logs && limit.is_none() { String::new() } else { format!(", {follows}") };
    format!("{may}: {written}{each}{follows}.")
}

/// `3,738 intervals`.
fn intervals(number: usize) -> String {
    format!("{} interval{}", whole(number as u64), if number == 1 { "" } else { "s" })
}

fn rows(all: &Disks, storage: &Storage<'_>, headroom_percent: f64) -> Option<Table> {
    let carried =
        |disk: &&Activity| carried(disk, storage, headroom_percent).map(|(step, size_gb)| (step.clone(), size_gb));
    Table::of(
        all.disks.iter(),
        &[
            (text("disk"), &|disk: &&Activity| disk.name.as_str().into()),
            (number("highest", "IOPS"), &|disk: &&Activity| disk.iops.highest().into()),
            (number("95 % of the time at most", "IOPS"), &|disk: &&Activity| disk.iops.at_percent(MOST_OF_TIME).into()),
            (number("highest", "MB/s"), &|disk: &&Activity| disk.mb_per_s.highest().into()),
            (number("95 % of the time at most", "MB/s"), &|disk: &&Activity| {
                disk.mb_per_s.at_percent(MOST_OF_TIME).into()
            }),
            (number("a read", "ms"), &|disk: &&Activity| disk.read_ms.into()),
            (number("a write", "ms"), &|disk: &&Activity| disk.write_ms.into()),
            (number("time known", "%"), &|disk: &&Activity| {
                let known = [&disk.iops, &disk.mb_per_s].into_iter().filter_map(Demand::coverage_percent);
                known.reduce(f64::max).into()
            }),
            (number("file that carries it", "GB"), &|disk: &&Activity| carried(disk).map(|(_, gb)| gb).into()),
            (number("it has", "IOPS"), &|disk: &&Activity| carried(disk).and_then(|(step, _)| step.iops).into()),
            (number("it has", "MB/s"), &|disk: &&Activity| carried(disk).and_then(|(step, _)| step.mb_per_s).into()),
        ],
    )
}
