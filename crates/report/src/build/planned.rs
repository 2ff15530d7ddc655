//! Files of databases on a storage whose limits follow from their size: whether they fit, what each has, and what more would bring.

use plimsoll_plan::advice::LimitOf;
use plimsoll_plan::rules::{NORMAL_MS, Observed, used};
use plimsoll_plan::{
    Activity, Advice, Broken, DatabaseFile, Demand, FileKind, FileLimits, Finding, Limits, RULES, Step, Storage,
};

use super::layouts::{self, Found};
use crate::model::format::{capital, count, listed, quantity};
use crate::model::{Axis, Kind, Line, Look, Part, Picture, Rank, Report, Spot, Table, Tone, number, text};

/// Files that are named in a sentence; a table has all.
const MOST_NAMED: usize = 5;

/// Pieces of advice that belong to the answer.
const MOST_ADVICE: usize = 6;

/// Files that are drawn over time; a table has all.
const MOST_DRAWN: usize = 5;

/// A plan of files, as it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The files.
    pub files: &'a [DatabaseFile],
    /// Where they are to be.
    pub storage: &'a Storage<'a>,
    /// What each of them has there.
    pub limits: &'a Limits,
    /// What to change.
    pub advised: &'a [Advice],
    /// Layouts that were searched.
    pub layouts: Option<&'a Found>,
    /// What each file did, in the same order; empty where that was not sampled.
    pub activity: &'a [Activity],
    /// What sessions waited for, and CPU.
    pub observed: &'a Observed,
    /// What is to be known of where it comes from.
    pub remarks: &'a [String],
}

/// The report: the answer, where the files stand on the staircase of limits or what they did over time, and a row for each.
pub fn report(plan: &Plan<'_>) -> Report {
    let Plan { files, storage, limits, advised, layouts: found, .. } = *plan;
    let mut report = Report::new(format!("Files on {} of {}", storage.tier.title, storage.instance.as_of));
    let mut answer = Part::of(Rank::Answer);
    answer.say(Tone::Headline, headline(files, storage, limits));
    // The headline says the first.
    for sentence in over_limits(limits, files).into_iter().skip(1) {
        answer.say(Tone::Plain, sentence);
    }
    let (first, rest) = advised.split_at(advised.len().min(MOST_ADVICE));
    for one in first {
        answer.say(Tone::Plain, advice(one, files));
    }
    if advised.is_empty() {
        answer.say(Tone::Plain, nothing_to_gain(files, limits));
    }
    answer.say(Tone::Plain, found.map(|found| layouts::sentence(found, storage)));
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in unknown(files, storage, limits).into_iter().chain(lower_bounds(plan)) {
        answer.say(Tone::Warning, sentence);
    }
    for remark in plan.remarks {
        answer.say(Tone::Quiet, remark.clone());
    }
    let stairs = staircase(files, storage, limits);
    let used = used_over_time(plan);
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
    table.table("", rows(files, limits));
    let mut further = Part::detail("What else to change");
    for one in rest {
        further.say(Tone::Plain, advice(one, files));
    }
    let mut more = Part::detail("What was published");
    more.table("Limits of a file by its size", steps(storage));
    for source in sources(storage) {
        more.say(Tone::Quiet, source);
    }
    let mut rules = Part::detail("The rules of the advice");
    rules.table("", rules_table());
    report.add_all([answer, picture, table]);
    report.add_all(found.map(layouts::parts).unwrap_or_default());
    report.add_all([further, other, more, rules]);
    report
}

/// Files that stood at a limit where they were counted: they may have wanted more.
fn lower_bounds(plan: &Plan<'_>) -> Option<String> {
    let is_bounded = |one: &&Activity| one.iops.bounded() + one.mb_per_s.bounded() > 0;
    let names: Vec<String> =
        plan.activity.iter().filter(is_bounded).filter_map(Activity::file).map(|file| name(&file)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "At a limit a file does no more than that, however much is wanted: what was seen of {} is the least.",
            listed(&names, MOST_NAMED)
        )
    })
}

/// The limit that a file comes nearer to, as the part of it that is used over time, of the busiest files.
fn used_over_time(plan: &Plan<'_>) -> Option<Picture> {
    let nearest = |at: usize| {
        let (activity, step) = (plan.activity.get(at)?, plan.limits.files.get(at)?.step.as_ref()?);
        let (_, of) = used(&plan.files[at], &plan.limits.files[at])?;
        let (demand, limit) = match of {
            LimitOf::Iops => (&activity.iops, step.iops?),
            LimitOf::Bandwidth => (&activity.mb_per_s, step.mb_per_s?),
        };
        Some((demand, 100.0 / limit))
    };
    let mut busiest: Vec<(f64, usize)> = (0..plan.activity.len())
        .filter_map(|at| Some((used(&plan.files[at], &plan.limits.files[at])?.0, at)))
        .collect();
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0));
    busiest.truncate(MOST_DRAWN);
    let mut lines: Vec<Line> = busiest
        .iter()
        .enumerate()
        .filter_map(|(place, (_, at))| Some(course(name(&plan.files[*at]), place, nearest(*at)?)))
        .collect();
    let ends =
        lines.iter().flat_map(|line| &line.spots).map(|spot| spot.x).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let guide = [0.0, ends].map(|x| Spot { x, y: 100.0, ..Spot::default() }).to_vec();
    lines.push(Line { name: "limit".to_owned(), look: Look::Guide, spots: guide });
    let (x, y) = (Axis::new("s", Kind::Elapsed), Axis::new("used of the limit, %", Kind::FromZero));
    (lines.len() > 1).then(|| Picture::lines("How much of its limit each file used", x, y, lines))
}

/// Rates of the busiest over time.
pub(super) fn over_time<'a>(
    all: &'a [Activity],
    title: &str,
    unit: &str,
    of: impl Fn(&'a Activity) -> Option<(&'a Demand, f64)>,
) -> Option<Picture> {
    let highest = |one: &Activity| one.iops.highest().unwrap_or(0.0);
    let mut busiest: Vec<&Activity> = all.iter().collect();
    busiest.sort_by(|a, b| highest(b).total_cmp(&highest(a)));
    busiest.truncate(MOST_DRAWN);
    let lines = busiest.into_iter().enumerate().filter_map(|(at, one)| Some(course(one.name.clone(), at, of(one)?)));
    let picture =
        Picture::lines(title, Axis::new("s", Kind::Elapsed), Axis::new(unit, Kind::FromZero), lines.collect());
    (!picture.is_empty()).then_some(picture)
}

/// A rate over time as steps; where it is not known the line is broken.
fn course(name: String, place: usize, (demand, scale): (&Demand, f64)) -> Line {
    let spots = demand.intervals.iter().flat_map(|interval| {
        let y = interval.rate.map_or(f64::NAN, |rate| rate * scale);
        [interval.start_s, interval.start_s + interval.seconds].map(|x| Spot { x, y, ..Spot::default() })
    });
    Line { name, look: Look::Measured(place), spots: spots.collect() }
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
    let space = storage.space_gb().map(|gb| format!("All files together have {}", quantity(gb, "GB")));
    let blobs = storage.blobs_gb().map(|gb| format!("their blobs {}", quantity(gb, "GB")));
    let both: Vec<String> = space.into_iter().chain(blobs).collect();
    answer.say(Tone::Headline, (!both.is_empty()).then(|| format!("{}.", capital(&both.join(", and ")))));
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in unknown(&[], storage, &Limits::default()) {
        answer.say(Tone::Warning, sentence);
    }
    let mut table = Part::of(Rank::Table);
    table.table("", steps(storage));
    for source in sources(storage) {
        answer.say(Tone::Quiet, source);
    }
    report.add_all([answer, table]);
    report
}

fn headline(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> String {
    if let Some(broken) = limits.broken.first() {
        return format!("These files do not fit: {}", over(broken, files));
    }
    let of = |limit: Option<f64>| limit.map(|gb| format!(" of {}", quantity(gb, "GB"))).unwrap_or_default();
    let (all, blobs, fit) = match files.len() {
        1 => ("The file has".to_owned(), "its blob", "It fits."),
        many => (format!("The {} together have", count(many, "file")), "their blobs", "All fit."),
    };
    format!(
        "{all} {}{}, and {blobs} {}{}. {fit}",
        quantity(limits.file_gb, "GB"),
        of(storage.space_gb()),
        quantity(limits.blob_gb, "GB"),
        of(storage.blobs_gb()),
    )
}

/// What does not fit, a sentence each.
pub fn over_limits(limits: &Limits, files: &[DatabaseFile]) -> Vec<String> {
    limits.broken.iter().map(|broken| capital(&over(broken, files))).collect()
}

fn over(broken: &Broken, files: &[DatabaseFile]) -> String {
    match broken {
        Broken::Space { file_gb, space_gb } => format!(
            "all files take {}, those of tempdb among them, and the instance has {}.",
            quantity(*file_gb, "GB"),
            quantity(*space_gb, "GB")
        ),
        Broken::Blobs { blob_gb, most_gb } => format!(
            "their blobs take {}, and all blobs of an instance may take {}: fewer and larger files have smaller blobs together.",
            quantity(*blob_gb, "GB"),
            quantity(*most_gb, "GB")
        ),
        Broken::Files { files, most } => format!("there are {files} files, and an instance may have {most}."),
        Broken::Size { file, most_gb } => format!(
            "{} has {}, and a {} file may have {}.",
            name(&files[*file]),
            quantity(files[*file].size_gb, "GB"),
            files[*file].kind.name(),
            quantity(*most_gb, "GB")
        ),
    }
}

/// What one piece of advice says.
pub fn advice(one: &Advice, files: &[DatabaseFile]) -> String {
    let named = || listed(&one.files.iter().map(|at| name(&files[*at])).collect::<Vec<_>>(), MOST_NAMED);
    let stands =
        |percent: f64, of: LimitOf| format!("{} uses {} of its {}", named(), quantity(percent, "%"), of.name());
    let gb = |size: f64| quantity(size, "GB");
    match &one.finding {
        Finding::LogRate { mb_per_s, limit_mb_per_s } => format!(
            "The logs grow by {} of the {} that the instance lets them, and no size of a log file changes that: load into tempdb first, or use \
             clustered columnstore indexes, which log less.",
            quantity(*mb_per_s, "MB/s"),
            quantity(*limit_mb_per_s, "MB/s")
        ),
        Finding::Space { needed_gb, space_gb, most_gb } => format!(
            "Raise the space of the instance first: what follows takes {}, it has {}, and can have {}.",
            gb(*needed_gb),
            gb(*space_gb),
            gb(*most_gb)
        ),
        Finding::LogFirst => {
            let database = one.files.first().map_or("", |at| files[*at].database.as_str());
            format!("Of {database} enlarge the log before the data files: where much is written, commits wait for it.")
        }
        Finding::Grow { used_percent, of, size_gb, step } => {
            let then = has(step).unwrap_or_default();
            format!("{}: with {} it would have {then}.", stands(*used_percent, *of), gb(*size_gb))
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
        Finding::Equal { smallest_gb, largest_gb } if largest_gb > smallest_gb => format!(
            "Make {} of one size, {}: rows are spread by free space, and the file of {} holds back the others.",
            named(),
            gb(*largest_gb),
            gb(*smallest_gb)
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
            "CPU holds it back, with {} in use: larger files bring nothing before there are more vCores.",
            quantity(*percent, "%")
        ),
        Finding::Waits { percent, slowest_ms } => waits(one, &quantity(*percent, "%"), *slowest_ms, named),
        Finding::Slow { ms, next } => {
            let grow = next
                .as_ref()
                .and_then(|next| Some(format!(": with {} it would have {}", gb(next.size_gb), has(&next.step)?)));
            format!(
                "Reads or writes of {} take {}, and unthrottled {NORMAL_MS} ms at most: it stands at a limit for parts of the time{}.",
                named(),
                quantity(*ms, "ms"),
                grow.unwrap_or_default()
            )
        }
        Finding::Shrink { size_gb } => format!("{} has the same limits with {}.", named(), gb(*size_gb)),
    }
}

/// What sessions wait for most, and what follows.
fn waits(one: &Advice, percent: &str, slowest_ms: Option<f64>, named: impl Fn() -> String) -> String {
    let slow = |what: &str| {
        slowest_ms.map(|ms| format!(", and {what} there takes {} on average", quantity(ms, "ms"))).unwrap_or_default()
    };
    match one.rule.id {
        "log-governor-waits" => format!(
            "Sessions wait for the governor of the log's rate, in {percent} of their waits, and no size of a log file changes that: load into \
             tempdb first, or use clustered columnstore indexes, which log less; Business Critical has a higher rate."
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

/// That nothing is to be gained: no file comes near a limit. `None` where nobody said what files do.
fn nothing_to_gain(files: &[DatabaseFile], limits: &Limits) -> Option<String> {
    let busiest = files.iter().zip(&limits.files).filter_map(|(file, of)| Some((file, used(file, of)?)));
    let (file, (percent, of)) = busiest.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    Some(format!(
        "Larger files would bring nothing: {} comes nearest to a limit, with {} of its {}.",
        name(file),
        quantity(percent, "%"),
        of.name()
    ))
}

/// `2,300 IOPS and 150 MB/s`.
pub(super) fn has(step: &Step) -> Option<String> {
    let parts = [step.iops.map(|iops| quantity(iops, "IOPS")), step.mb_per_s.map(|rate| quantity(rate, "MB/s"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn log_rate(storage: &Storage<'_>) -> Option<String> {
    let rate = storage.tier.log_mb_per_second(storage.wishes.vcores)?;
    Some(format!(
        "The log of the instance may grow by {} at most, however large log files are.",
        quantity(rate, "MB/s")
    ))
}

/// What nobody published, and what would say it.
fn unknown(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Vec<String> {
    let mut all = Vec::new();
    if storage.space_gb().is_none() {
        all.push("How much space an instance has is not published for this day: --space says it.".to_owned());
    } else if storage.wishes.space_gb.is_none() {
        all.push(
            "The space is the most that such an instance can have: --space says how much it was given.".to_owned(),
        );
    }
    let without =
        files.iter().zip(&limits.files).filter(|(_, of)| of.step.as_ref().is_some_and(|step| step.iops.is_none()));
    let names: Vec<String> = without.map(|(file, _)| name(file)).collect();
    if !names.is_empty() {
        let names = listed(&names, MOST_NAMED);
        all.push(format!("Limits of files so large were not published for this day: {names}."));
    }
    all
}

fn name(file: &DatabaseFile) -> String {
    format!("{}.{}", file.database, file.name)
}

fn rows(files: &[DatabaseFile], limits: &Limits) -> Option<Table> {
    type Row<'a> = (&'a DatabaseFile, &'a FileLimits);
    let step = |row: &Row<'_>| row.1.step.clone();
    let next = |row: &Row<'_>| row.1.next.clone();
    let used_percent = |row: &Row<'_>| used(row.0, row.1).map(|(percent, _)| percent);
    Table::of(
        files.iter().zip(&limits.files),
        &[
            (text("database"), &|row: &Row<'_>| row.0.database.as_str().into()),
            (text("file"), &|row: &Row<'_>| row.0.name.as_str().into()),
            (text("type"), &|row: &Row<'_>| row.0.kind.name().into()),
            (number("size", "GB"), &|row: &Row<'_>| row.0.size_gb.into()),
            (number("blob", "GB").spare(3), &|row: &Row<'_>| step(row).map(|step| step.blob_gb).into()),
            (number("limit", "IOPS"), &|row: &Row<'_>| step(row).and_then(|step| step.iops).into()),
            (number("limit", "MB/s"), &|row: &Row<'_>| step(row).and_then(|step| step.mb_per_s).into()),
            (number("used", "%"), &|row: &Row<'_>| used_percent(row).into()),
            (number("highest", "IOPS"), &|row: &Row<'_>| row.0.iops.into()),
            (number("highest", "MB/s"), &|row: &Row<'_>| row.0.mb_per_s.into()),
            (number("at a limit", "intervals"), &|row: &Row<'_>| row.0.at_limit.map(|seen| seen.intervals).into()),
            (number("of", "intervals").spare(1), &|row: &Row<'_>| row.0.at_limit.and_then(|seen| seen.of).into()),
            (number("a read", "ms").spare(1), &|row: &Row<'_>| row.0.read_ms.into()),
            (number("a write", "ms").spare(1), &|row: &Row<'_>| row.0.write_ms.into()),
            (number("same limits up to", "GB").spare(2), &|row: &Row<'_>| {
                row.1.step.as_ref().map(|_| row.0.size_gb + row.1.same_gb).into()
            }),
            (number("more from", "GB"), &|row: &Row<'_>| next(row).map(|next| next.size_gb).into()),
            (number("then", "IOPS"), &|row: &Row<'_>| next(row).and_then(|next| next.step.iops).into()),
            (number("then", "MB/s").spare(3), &|row: &Row<'_>| next(row).and_then(|next| next.step.mb_per_s).into()),
        ],
    )
}

fn steps(storage: &Storage<'_>) -> Option<Table> {
    Table::of(
        storage.steps.iter(),
        &[
            (number("file up to", "GB"), &|step: &&Step| step.blob_gb.into()),
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

/// Operations a second by the size of a file, with the files on it.
fn staircase(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Picture {
    let known: Vec<(f64, f64)> = storage.steps.iter().filter_map(|step| Some((step.blob_gb, step.iops?))).collect();
    let smallest = files.iter().map(|file| file.size_gb).fold(32.0_f64, f64::min).max(1.0);
    let begins = std::iter::once(smallest).chain(known.iter().map(|(blob_gb, _)| *blob_gb));
    let stairs = begins.zip(&known).flat_map(|(from, (to, iops))| [(from, *iops), (*to, *iops)]);
    let spot = |(x, y): (f64, f64)| Spot { x, y, ..Spot::default() };
    let mut lines =
        vec![Line { name: "limit by size".to_owned(), look: Look::Guide, spots: stairs.map(spot).collect() }];
    for (number, kind) in [FileKind::Data, FileKind::Log].into_iter().enumerate() {
        let mut spots: Vec<Spot> = files
            .iter()
            .zip(&limits.files)
            .filter(|(file, _)| file.kind == kind)
            .filter_map(|(file, of)| {
                let y = of.step.as_ref()?.iops?;
                Some(Spot { x: file.size_gb.max(smallest), y, label: name(file), ..Spot::default() })
            })
            .collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        // Files are no course: nothing leads from one to the next.
        let apart = spots.into_iter().flat_map(|spot| {
            let gap = Spot { x: spot.x, y: f64::NAN, ..Spot::default() };
            [spot, gap]
        });
        lines.push(Line {
            name: format!("{} files", kind.name()),
            look: Look::Measured(number),
            spots: apart.collect(),
        });
    }
    let (x, y) = (Axis::new("size of the file, GB", Kind::Log), Axis::new("limit, IOPS", Kind::FromZero));
    Picture::lines("What files have by their size", x, y, lines)
}
