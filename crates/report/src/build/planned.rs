//! Files of databases on a storage whose limits follow from their size: whether they fit, what each has, and what more would bring.

use plimsoll_plan::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT};
use plimsoll_plan::exact::{self, OfList};
use plimsoll_plan::rules::used;
use plimsoll_plan::storage::LimitOf;
use plimsoll_plan::{Advice, Broken, DatabaseFile, FileLimits, Finding, Limits, RULES, Step, Storage};

pub use super::advised::advice;
pub use super::enlarged::statements;

use super::brings::MOST_NAMED;
pub use super::of_plan::Plan;
use super::{advised, against, doubts, enlarged, layouts, notes, plots_files};
use crate::model::format::{capital, count, gigabytes, listed, quantity};
use crate::model::{Block, Part, Rank, Report, Table, Tone, number, text};

/// Pieces of advice that belong to the answer.
const MOST_ADVICE: usize = 6;

/// Files that are to grow of which a sentence speaks; a table has all.
const MOST_GROWN: usize = 3;

/// How to read a plan, in sentences.
pub const HOW_TO_READ: &[&str] = &[
    "A file has the limits of its size, by the page of the day in the title. A blob is the disk that holds a file.",
    "IOPS are reads and writes a second. Used is what was seen at a file's busiest time, of the limit that it comes nearer to.",
    "A gain begins at nothing: a file at its limit does no more, and nobody knows how much more is wanted.",
    "GB and TB are binary, 2^30 and 2^40 bytes.",
];

/// The report: the answer, where the files stand on the staircase of limits or what they did over time, and a row for each.
pub fn report(plan: &Plan<'_>) -> Report {
    let Plan { files, storage, limits, advised, layouts: found, .. } = *plan;
    let mut report = Report::new(format!("Files on {} of {}", storage.tier.title, storage.instance.as_of));
    let mut answer = Part::of(Rank::Answer);
    let (at_limit, fits) = (at_limits(files, limits), Some(headline(files, storage, limits)));
    // Files that stand at limits of their own come before the rate of the log, which no file has.
    let stands = |(file, of)| used(file, of).is_some_and(|(percent, _)| percent >= AT_LIMIT_PERCENT);
    let by_rate = doubts::log_at_rate(plan).filter(|_| !files.iter().zip(&limits.files).any(stands));
    let sentences = if limits.broken.is_empty() { [by_rate, at_limit, fits] } else { [fits, by_rate, at_limit] };
    for (place, sentence) in sentences.into_iter().flatten().enumerate() {
        answer.say(if place == 0 { Tone::Headline } else { Tone::Plain }, sentence);
    }
    answer.say(Tone::Plain, doubts::nothing_seen(files));
    answer.say(Tone::Plain, doubts::not_storage(plan));
    answer.say(Tone::Plain, doubts::governor(plan));
    // The headline says the first.
    over_limits(limits, files).into_iter().skip(1).for_each(|sentence| answer.say(Tone::Plain, sentence));
    let grown: Vec<&Advice> = advised.iter().filter(|one| is_grown(one) && !one.is_alternative).collect();
    let (grown, rows_grown) = (grown.len(), enlarged::rows(plan));
    let (first, rest) = split(advised);
    let is_smaller = |one: &&Advice| matches!(one.finding, Finding::Shrink { .. });
    let (smaller, first): (Vec<&Advice>, Vec<&Advice>) = first.into_iter().partition(is_smaller);
    for one in first {
        answer.say(Tone::Plain, advice(one, plan));
    }
    answer.say(Tone::Plain, advised::smaller(&smaller, files));
    if grown > MOST_GROWN {
        // With layouts those that no advice is about come behind these.
        let first =
            if found.is_none() { ", first those of the database of which a file uses most of its limits" } else { "" };
        answer.say(Tone::Plain, format!("A table has all {} files that are to grow{first}.", rows_grown.len()));
    }
    if advised.is_empty() {
        answer.say(Tone::Plain, doubts::nothing_to_gain(plan));
    }
    answer.say(Tone::Plain, left_for_further(&rest, plan));
    for one in plan.searched.iter().flat_map(|found| layouts::better(found, advised, files)) {
        answer.say(Tone::Plain, one.sentence());
    }
    for sentence in found.iter().flat_map(|found| layouts::sentences(found, files, storage)) {
        answer.say(Tone::Plain, sentence);
    }
    answer.say(Tone::Plain, plan.against.as_ref().and_then(|(pool, against)| against::held(files, pool, against)));
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in too_large(files, limits)
        .into_iter()
        .chain(other_limits(plan))
        .chain(uncounted(plan))
        .chain(doubts::contradiction(plan))
        .chain(doubts::inexact(plan))
        .chain(plan.by_list.map(|day| {
            format!("Files of the list stopped at the limits that it says, those of {day}: so these are taken. --date takes others.")
        }))
        .chain(doubts::missing(files))
    {
        answer.say(Tone::Warning, sentence);
    }
    for sentence in notes::all(plan) {
        answer.say(Tone::Quiet, sentence);
    }
    let mut grow = Part::of(Rank::Table);
    grow.table("Files to enlarge", enlarged::table(&rows_grown));
    let statements = statements(advised, (files, limits), storage.space_gb().map(|space| space - limits.file_gb));
    if found.is_none() && !statements.is_empty() {
        grow.blocks.push(Block::Text(layouts::STATEMENTS.to_owned(), statements));
    }
    let stairs = plots_files::staircase(files, storage, limits);
    let used = plots_files::used_over_time(files, limits, plan.activity);
    let mut picture = Part::of(Rank::Picture);
    let mut other = Part::detail("Limits by size");
    match used {
        Some(used) => {
            picture.pictures([used]);
            other.pictures([stairs]);
        }
        None => picture.pictures([stairs]),
    }
    let mut table = Part::of(Rank::Table);
    table.table("All files", rows(files, limits));
    let mut further = Part::detail("What else to change");
    if rest.iter().any(|one| one.is_alternative) {
        let text = "Ways with the same files as above are alternatives: one of them is enough.";
        further.say(Tone::Quiet, text.to_owned());
    }
    for one in rest {
        further.say(Tone::Plain, advice(one, plan));
    }
    let mut more = Part::detail("What was published");
    more.table("Limits of a file by its size", steps(storage));
    for source in sources(storage) {
        more.say(Tone::Quiet, source);
    }
    if let Some((pool, _)) = &plan.against {
        for shared in [&pool.iops, &pool.mb_per_s].into_iter().flatten() {
            more.say(Tone::Quiet, format!("Limits of {}: {}", pool.name, shared.source));
        }
    }
    let mut rules = Part::detail("The rules of the advice");
    rules.table("", rules_table());
    report.add_all([answer, grow, picture, table]);
    report.add_all(found.map(layouts::parts).unwrap_or_default());
    report.add_all([further, other, more, rules]);
    report
}

/// Whether a file is to grow.
const fn is_grown(one: &Advice) -> bool {
    matches!(one.finding, Finding::Grow { .. })
}

/// The advice that belongs to the answer, and the rest of which no table speaks.
fn split(advised: &[Advice]) -> (Vec<&Advice>, Vec<&Advice>) {
    let (mut first, mut rest, mut grown) = (Vec::new(), Vec::new(), 0);
    for one in advised {
        grown += usize::from(is_grown(one) && !one.is_alternative);
        // All that can be smaller are one sentence.
        let is_smaller = matches!(one.finding, Finding::Shrink { .. });
        // What is added to a filegroup stands in no table.
        let has_place = is_smaller
            || matches!(one.finding, Finding::Add { .. })
            || (first.len() < MOST_ADVICE && !(is_grown(one) && grown > MOST_GROWN));
        if !one.is_alternative && has_place {
            first.push(one);
        } else if one.is_alternative || !is_grown(one) {
            rest.push(one);
        }
    }
    (first, rest)
}

/// Files at a limit whose advice is not among the first, and of which no table speaks.
fn left_for_further(rest: &[&Advice], plan: &Plan<'_>) -> Option<String> {
    let is_at_limit = |at: &usize| {
        used(&plan.files[*at], &plan.limits.files[*at]).is_some_and(|(percent, _)| percent >= AT_LIMIT_PERCENT)
    };
    let of_rest = rest.iter().filter(|one| !one.is_alternative && !is_grown(one)).flat_map(|one| &one.files);
    let names: Vec<String> = of_rest.filter(|at| is_at_limit(at)).map(|at| plan.files[*at].label()).collect();
    let text = format!("What holds for {} stands under 'What else to change'.", listed(&names, MOST_NAMED));
    (!names.is_empty()).then_some(text)
}

/// Limits that the list has and this day has not: what was near a limit there need not be so here.
fn other_limits(plan: &Plan<'_>) -> Option<String> {
    let differs = |(file, of): &(&DatabaseFile, &FileLimits)| {
        let step = of.step.as_ref()?;
        let pairs = [(file.said[0], step.iops, LimitOf::Iops), (file.said[1], step.mb_per_s, LimitOf::Bandwidth)];
        let (said, here, of) = pairs
            .into_iter()
            .filter_map(|(said, here, of)| Some((said?, here?, of)))
            .find(|(said, here, _)| (said - here).abs() > 0.5)?;
        let unit = of.name();
        Some(format!("{} {} there and {} here", file.label(), quantity(said, unit), quantity(here, unit)))
    };
    let all: Vec<String> = plan.files.iter().zip(&plan.limits.files).filter_map(|pair| differs(&pair)).collect();
    let named =
        |places: &[usize]| listed(&places.iter().map(|at| plan.files[*at].label()).collect::<Vec<_>>(), MOST_NAMED);
    let OfList { stopped, beyond } = exact::held(plan.files, plan.limits);
    let held = match (stopped.as_slice(), beyond.as_slice()) {
        ([], []) => String::new(),
        (_, [_, ..]) => format!(" More than those was done by {}, so that they hold no more.", named(&beyond)),
        (_, []) => format!(" By the list these stopped there: {}.", named(&stopped)),
    };
    let day = plan.said_on.map_or_else(String::new, |day| format!(" --date {day} has these limits."));
    let day = if day.is_empty() { " --date names the day whose limits count.".to_owned() } else { day };
    (!all.is_empty()).then(|| {
        format!(
            "The list was made by other limits than those of {}: {}.{held}{day}",
            plan.storage.files.as_of,
            listed(&all, MOST_NAMED)
        )
    })
}

fn rules_table() -> Option<Table> {
    Table::of(
        &RULES,
        &[
            (text("rule"), &|rule| rule.id.into()),
            (text("when"), &|rule| rule.condition.into()),
            (text("by"), &|rule| rule.formula.into()),
            (text("source"), &|rule| format!("{}, {}", rule.source, rule.date).into()),
        ],
    )
}

/// What was published of an instance of a day, without any files.
pub fn edition(storage: &Storage<'_>) -> Report {
    let mut report = Report::new(format!("{} of {}", storage.tier.title, storage.instance.as_of));
    let mut answer = Part::of(Rank::Answer);
    let space = storage.space_gb().map(|gb| format!("All files together have {}", gigabytes(gb)));
    let blobs = storage.blobs_gb().map(|gb| format!("their blobs {}", gigabytes(gb)));
    let both: Vec<String> = space.into_iter().chain(blobs).collect();
    answer.say(Tone::Headline, (!both.is_empty()).then(|| format!("{}.", capital(&both.join(", and ")))));
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in notes::unknown(storage) {
        answer.say(Tone::Quiet, sentence);
    }
    let mut table = Part::of(Rank::Table);
    table.table("", steps(storage));
    for source in sources(storage) {
        answer.say(Tone::Quiet, source);
    }
    report.add_all([answer, table]);
    report
}

/// Files that count as nothing where all are summed up.
fn uncounted(plan: &Plan<'_>) -> Option<String> {
    plan.against.as_ref()?;
    let is_so = |file: &&DatabaseFile| !file.is_of_tempdb() && file.iops.is_none() && file.mb_per_s.is_none();
    let names: Vec<String> = plan.files.iter().filter(is_so).map(DatabaseFile::label).collect();
    let text = format!("What {} does is not known, and counts as nothing on either side.", listed(&names, MOST_NAMED));
    (!names.is_empty()).then_some(text)
}

/// Which files stand at a limit, those that use most of it first; `None` where nobody said what files do.
fn at_limits(files: &[DatabaseFile], limits: &Limits) -> Option<String> {
    let mut known: Vec<(&DatabaseFile, f64)> =
        files.iter().zip(&limits.files).filter_map(|(file, of)| Some((file, used(file, of)?.0))).collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names = |is_so: fn(f64) -> bool| -> Vec<String> {
        known.iter().filter(|(_, percent)| is_so(*percent)).map(|(file, _)| file.label()).collect()
    };
    let above = names(|percent| percent >= ABOVE_PERCENT);
    let names = names(|percent| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&percent));
    let all = match known.len() {
        0 => return None,
        // tempdb's files have no limits of their own.
        many if many == files.len() => count(many, "file"),
        many if many == files.iter().filter(|file| !file.is_of_tempdb()).count() => {
            format!("{} outside tempdb", count(many, "file"))
        }
        many => format!("{} whose rates are known", count(many, "file")),
    };
    Some(match names.len() {
        0 if !above.is_empty() => format!("More than these limits allow was seen of {}.", listed(&above, MOST_NAMED)),
        0 if known.len() == 1 => format!("{} stands at no limit of its own.", known[0].0.label()),
        0 => format!("None of {all} stands at a limit of its own."),
        1 if known.len() == 1 => format!("{} stands at a limit of its own.", names[0]),
        1 => format!("1 of {all} stands at a limit of its own: {}.", names[0]),
        many => format!("{many} of {all} stand at limits of their own: {}.", listed(&names, MOST_NAMED)),
    })
}

fn headline(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> String {
    if let Some(broken) = limits.broken.first() {
        return format!("These files do not fit: {}", over(broken, files));
    }
    let of = |limit: Option<f64>| limit.map(|gb| format!(" of {}", gigabytes(gb))).unwrap_or_default();
    let (all, blobs, fit) = match files.len() {
        1 => ("The file has".to_owned(), "its blob", "It fits as it is."),
        many => (format!("The {} together have", count(many, "file")), "their blobs", "All fit as they are."),
    };
    format!(
        "{all} {}{}, and {blobs} {}{}. {fit}",
        gigabytes(limits.file_gb),
        of(storage.space_gb()),
        gigabytes(limits.blob_gb),
        of(storage.blobs_gb()),
    )
}

/// What does not fit, a sentence each.
pub fn over_limits(limits: &Limits, files: &[DatabaseFile]) -> Vec<String> {
    limits.broken.iter().map(|broken| capital(&over(broken, files))).collect()
}

fn over(broken: &Broken, files: &[DatabaseFile]) -> String {
    match broken {
        // What rounding hides is said as a difference.
        Broken::Space { file_gb, space_gb } if gigabytes(*file_gb) == gigabytes(*space_gb) => format!(
            "all files take {} more than the {} of the instance, those of tempdb among them.",
            gigabytes(file_gb - space_gb),
            gigabytes(*space_gb)
        ),
        Broken::Space { file_gb, space_gb } => format!(
            "all files take {}, those of tempdb among them, and the instance has {}.",
            gigabytes(*file_gb),
            gigabytes(*space_gb)
        ),
        Broken::Blobs { blob_gb, most_gb } => format!(
            "their blobs take {}, and all blobs of an instance may take {}: fewer and larger files have smaller blobs together.",
            gigabytes(*blob_gb),
            gigabytes(*most_gb)
        ),
        Broken::Files { files, most } => format!("there are {files} files, and an instance may have {most}."),
        Broken::Databases { databases, most } => {
            format!("there are {databases} databases of users, and an instance may have {most}.")
        }
        Broken::Tempdb { kind, file_gb, most_gb } => format!(
            "the {} files of tempdb take {}, and may take {}.",
            kind.name(),
            gigabytes(*file_gb),
            gigabytes(*most_gb)
        ),
        Broken::Size { file, most_gb } => format!(
            "the file {} has {}, and a {} file may have {}.",
            files[*file].label(),
            gigabytes(files[*file].size_gb),
            files[*file].kind.name(),
            gigabytes(*most_gb)
        ),
    }
}

fn log_rate(storage: &Storage<'_>) -> Option<String> {
    let rate = storage.tier.log_mb_per_second(storage.wishes.vcores)?;
    Some(format!(
        "The logs of all databases together may grow by {} at most, however large log files are.",
        quantity(rate, "MB/s")
    ))
}

/// Files whose limits nobody published.
fn too_large(files: &[DatabaseFile], limits: &Limits) -> Option<String> {
    let without =
        files.iter().zip(&limits.files).filter(|(_, of)| of.step.as_ref().is_some_and(|step| step.iops.is_none()));
    let names: Vec<String> = without.map(|(file, _)| file.label()).collect();
    let text = format!("Limits of files so large were not published for this day: {}.", listed(&names, MOST_NAMED));
    (!names.is_empty()).then_some(text)
}

fn rows(files: &[DatabaseFile], limits: &Limits) -> Option<Table> {
    type Row<'a> = (&'a DatabaseFile, &'a FileLimits);
    let step = |row: &Row<'_>| row.1.step.clone();
    let next = |row: &Row<'_>| row.1.next.clone();
    let used_percent = |row: &Row<'_>| used(row.0, row.1).map(|(percent, _)| percent);
    let state = |row: &Row<'_>| match used_percent(row)? {
        ABOVE_PERCENT.. => Some("above"),
        AT_LIMIT_PERCENT.. => Some("at limit"),
        _ => None,
    };
    let mut all: Vec<Row<'_>> = files.iter().zip(&limits.files).collect();
    all.sort_by(|a, b| used_percent(b).unwrap_or(-1.0).total_cmp(&used_percent(a).unwrap_or(-1.0)));
    Table::of(
        all,
        &[
            (text("database"), &|row: &Row<'_>| row.0.database.as_str().into()),
            (text("file"), &|row: &Row<'_>| row.0.name.as_str().into()),
            (text("type"), &|row: &Row<'_>| row.0.kind.name().into()),
            (number("size", "GB").given(), &|row: &Row<'_>| row.0.size_gb.into()),
            (number("blob", "GB").given().spare(3), &|row: &Row<'_>| row.1.blob_gb.into()),
            (number("limit", "IOPS"), &|row: &Row<'_>| step(row).and_then(|step| step.iops).into()),
            (number("limit", "MB/s"), &|row: &Row<'_>| step(row).and_then(|step| step.mb_per_s).into()),
            (number("used", "%"), &|row: &Row<'_>| used_percent(row).into()),
            (text("stands"), &|row: &Row<'_>| state(row).unwrap_or_default().into()),
            (number("highest", "IOPS"), &|row: &Row<'_>| row.0.iops.into()),
            (number("highest", "MB/s").spare(1), &|row: &Row<'_>| row.0.mb_per_s.into()),
            (number("at a limit", "intervals").spare(2), &|row: &Row<'_>| {
                row.0.at_limit.map(|seen| seen.intervals).into()
            }),
            (number("of", "intervals").spare(1), &|row: &Row<'_>| row.0.at_limit.and_then(|seen| seen.of).into()),
            (number("a read", "ms").spare(1), &|row: &Row<'_>| row.0.read_ms.into()),
            (number("a write", "ms").spare(1), &|row: &Row<'_>| row.0.write_ms.into()),
            (number("same limits up to", "GB").given().spare(2), &|row: &Row<'_>| {
                row.1.step.as_ref().map(|_| row.0.size_gb + row.1.same_gb).into()
            }),
            (number("more from", "GB").given(), &|row: &Row<'_>| next(row).map(|next| next.size_gb).into()),
            (number("then", "IOPS").spare(2), &|row: &Row<'_>| next(row).and_then(|next| next.step.iops).into()),
            (number("then", "MB/s").spare(3), &|row: &Row<'_>| next(row).and_then(|next| next.step.mb_per_s).into()),
        ],
    )
}

fn steps(storage: &Storage<'_>) -> Option<Table> {
    Table::of(
        storage.steps.iter(),
        &[
            (number("file up to", "GB").given(), &|step: &&Step| step.blob_gb.into()),
            (text("blob"), &|step: &&Step| step.name.clone().into()),
            (number("limit", "IOPS"), &|step: &&Step| step.iops.into()),
            (number("limit", "MB/s"), &|step: &&Step| step.mb_per_s.into()),
        ],
    )
}

fn sources(storage: &Storage<'_>) -> Vec<String> {
    let files = [format!("Limits of files: {}", storage.files.source)];
    let instance = [format!("Limits of instances: {}", storage.instance.source)];
    let notes = storage.files.notes.iter().chain(&storage.instance.notes).cloned();
    files.into_iter().chain(instance).chain(notes).collect()
}
