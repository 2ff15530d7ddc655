//! `plimsoll plan`: on which storage files belong, by published limits.

mod json;
mod layouts;
mod room;
mod sample;

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use plimsoll_catalog::{Catalog, Date};
use plimsoll_disk::bought::{Purchase, promise};
use plimsoll_engine::files;
use plimsoll_measurement::{exit, units};
use plimsoll_plan::against::{Pool, Shared, against};
use plimsoll_plan::exact;
use plimsoll_plan::layout::Rules;
use plimsoll_plan::limits::limits;
use plimsoll_plan::list::List;
use plimsoll_plan::rules::{Observed, bound_by, judge};
use plimsoll_plan::sources::{self, Disks, Source};
use plimsoll_plan::{Activity, DatabaseFile, ListError, Storage, Wishes, waits};
use plimsoll_report::model::Report;
use plimsoll_report::planned::{self, Plan};
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{disks, html};
use serde_json::Value;

use super::compare::short;
use super::report::{made_now, place, try_path, write};
use crate::args::PlanMi;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use sample::{Pace, Sampled};

/// Plans files on Managed Instance, or shows what was published of an instance.
pub fn mi(options: &PlanMi, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    if let Some(path) = &options.html {
        let inputs = [
            options.files.as_deref().map(Path::new),
            options.waits.as_deref(),
            options.access.password_file.as_deref(),
        ];
        if inputs.into_iter().flatten().any(|input| place(input) == place(path)) {
            return Err(Failure::usage(format!("--html {} would be written over what is read", path.display()))
                .hint("name another file for the page"));
        }
        try_path(path)?;
    }
    let catalog = Catalog::builtin()?;
    let storage = Storage::on(catalog, wishes(options)?).map_err(|error| {
        Failure::usage(error.to_string()).hint("'plimsoll plan mi' shows what is known; --date names a day")
    })?;
    // What is wrong with the options is said before anything is sampled.
    let headroom_percent = percent("--headroom", &options.headroom, 0.0..=1000.0)?;
    let rules = rules(options, headroom_percent)?;
    options.against.as_deref().map(|vm| pool(vm, options, &[])).transpose()?;
    let given = observed(options)?;
    let input = match (&options.files, &options.from) {
        (Some(url), _) if engines::names_one(url) => live(url, &storage, options, settings, printer)?,
        (Some(path), _) => {
            refuse_pace(options)?;
            of_file(Path::new(path), &storage)?
        }
        (None, Some(run)) => of_run(run, &storage, settings)?,
        (None, None) => return show(&planned::edition(&storage), || json::edition(&storage), options, printer),
    };
    let code = input.interrupted.unwrap_or(exit::DONE);
    if let Some(disks) = &input.disks {
        if options.layouts || options.against.is_some() {
            printer.warning("--layouts and --against take files with sizes, and what was read has none");
        }
        if given.waits.is_some() || given.cpu_percent.is_some() {
            printer.warning("--waits and --cpu are for files, and what was read has disks: they say nothing here");
        }
        let report = disks::report(disks, &storage, headroom_percent);
        return show(&report, || json::disks(disks, &storage, headroom_percent), options, printer).map(|_| code);
    }
    let observed = Observed {
        waits: given.waits.or(input.observed.waits),
        cpu_percent: given.cpu_percent.or(input.observed.cpu_percent),
    };
    let (mut files, activity) = (input.files, input.activity);
    let (storage, by_list) = by_list(catalog, &files, storage);
    let found = limits(&files, &storage);
    let settled = exact::settle(&mut files, &found);
    let mut judged = judge(&files, &storage, &found, &observed);
    let mut searched = None;
    let mut unasked = None;
    if options.layouts {
        let found = layouts::search((&files, &found), &storage, &judged, rules)?;
        searched = Some(layouts::tried(found, &storage));
    } else {
        unasked = layouts::unasked((&files, &found), &storage, &judged, rules);
    }
    if let Some(searched) = &searched {
        bound_by(&mut judged, &searched.grown, (&files, &found), &storage);
        layouts::answered(&mut judged.advice, &files, searched);
    }
    let pool = options.against.as_deref().map(|vm| pool(vm, options, &files)).transpose()?;
    let held = pool.as_ref().map(|pool| (pool, against(&files, &activity, (&storage, &found), pool)));
    if held.as_ref().is_some_and(|(_, held)| held.instance.is_none() || held.pool.is_none()) {
        let idle = files.iter().any(|file| file.iops.is_some() || file.mb_per_s.is_some());
        let problem = if idle { "the files did nothing" } else { "what was read does not say what the files do" };
        return Err(Failure::usage(format!("--against: {problem}"))
            .hint("iops and mb_per_s in the list are those at the busiest time"));
    }
    let said_on = said_on(catalog, &files, &storage);
    let plan = Plan {
        settled: &settled,
        by_list: by_list.as_deref(),
        said_on: said_on.as_deref(),
        against: held,
        files: &files,
        storage: &storage,
        limits: &found,
        advised: &judged.advice,
        layouts: searched.as_ref(),
        searched: unasked.as_ref(),
        activity: &activity,
        observed: &observed,
        remarks: &input.remarks,
    };
    show(&planned::report(&plan), || json::plan(&plan), options, printer).map(|_| code)
}

/// The storage of the day that has the limits of a list, where nobody named one and files stopped at those limits; with that day.
fn by_list<'c>(catalog: &'c Catalog, files: &[DatabaseFile], storage: Storage<'c>) -> (Storage<'c>, Option<String>) {
    let held = exact::held(files, &limits(files, &storage));
    let is_clear = storage.wishes.day.is_none() && !held.stopped.is_empty() && held.beyond.is_empty();
    let day = said_on(catalog, files, &storage).filter(|_| is_clear);
    let then = day.as_ref().and_then(|day| day.parse::<Date>().ok());
    match then.map(|day| Storage::on(catalog, Wishes { day: Some(day), ..storage.wishes })) {
        Some(Ok(then)) => (then, day),
        _ => (storage, None),
    }
}

/// The latest day on which files had the limits that the list says, where those are not the ones that are taken.
fn said_on(catalog: &Catalog, files: &[DatabaseFile], storage: &Storage<'_>) -> Option<String> {
    let has = |storage: &Storage<'_>| {
        files.iter().zip(&limits(files, storage).files).all(|(file, found)| {
            let Some(step) = &found.step else { return true };
            let pairs = file.said.iter().zip([step.iops, step.mb_per_s]);
            pairs
                .into_iter()
                .all(|(said, here)| said.is_none_or(|said| here.is_some_and(|here| (said - here).abs() <= 0.5)))
        })
    };
    if has(storage) {
        return None;
    }
    let days = catalog.instance_editions().iter().map(|edition| edition.as_of);
    let days = days.chain(catalog.disk_editions().iter().map(|edition| edition.as_of));
    let on = |day: &Date| Storage::on(catalog, Wishes { day: Some(*day), ..Wishes::default() });
    // The day of an edition of these files, and not of other disks that the catalogue has.
    let is_own = |storage: &Storage<'_>, day: &Date| [storage.files.as_of, storage.instance.as_of].contains(day);
    days.filter(|day| on(day).is_ok_and(|storage| is_own(&storage, day) && has(&storage)))
        .max()
        .map(|day| day.to_string())
}

/// What a plan is made from.
#[derive(Default)]
struct Input {
    files: Vec<DatabaseFile>,
    /// What each of them did, in the same order; empty where only their busiest times are known.
    activity: Vec<Activity>,
    observed: Observed,
    /// What disks did, where no file is known.
    disks: Option<Disks>,
    remarks: Vec<String>,
    interrupted: Option<u8>,
}

/// Samples a live server.
fn live(
    url: &str,
    storage: &Storage<'_>,
    options: &PlanMi,
    settings: &Settings,
    printer: &Printer,
) -> Result<Input, Failure> {
    let pace = pace(options)?;
    let sampled = sample::sample(url, (pace, storage.unit_bytes()), &options.access, settings, printer)?;
    of_activity(sampled, storage).ok_or_else(|| {
        Failure::usage("no file was read or written while it was sampled")
            .hint("sample for longer, or while somebody works there: --sample 10min")
    })
}

/// What files did in a stored run.
fn of_run(run: &str, storage: &Storage<'_>, settings: &Settings) -> Result<Input, Failure> {
    let record = settings.read_store()?.record(run)?;
    let activity = sources::of_run(&record, storage.unit_bytes());
    let waits = record.repetitions.iter().flat_map(|one| &one.waits);
    let classes = waits.filter_map(|wait| Some((wait.class.as_ref()?.known()?, wait.seconds)));
    let observed = Observed { waits: waits::shares(classes), cpu_percent: None };
    let server = format!("run {}", short(&record.run_id));
    let mut remarks = Vec::new();
    if !activity.is_empty() {
        remarks.push(format!(
            "Rates are those of {} on {}: means of its repetitions, or of the busiest time between two looks where the run has that.",
            record.test, record.target
        ));
    }
    of_activity(Sampled { server, activity, observed, remarks, interrupted: None }, storage)
        .ok_or_else(|| {
            Failure::usage(format!("run {} does not say what files did", short(&record.run_id)))
                .hint("runs on SQL Server, MySQL, MariaDB, PostgreSQL and the lab have it where the server shows it; 'plimsoll show RUN --full' lists files")
        })
}

/// What a plan is made from, by what files were seen to do; `None` if no file did anything.
fn of_activity(sampled: Sampled, storage: &Storage<'_>) -> Option<Input> {
    let Sampled { server, mut activity, observed, mut remarks, interrupted } = sampled;
    let has_sizes = activity.iter().any(|one| one.file().is_some());
    if !has_sizes {
        remarks.push(format!("{server} does not say how large its files are, so the plan is about what they do."));
        activity.retain(|one| one.iops.highest().is_some_and(|rate| rate > 0.0));
        let disks = Disks { program: server, disks: activity, remarks };
        let is_idle = disks.disks.is_empty();
        return (!is_idle).then(|| Input { disks: Some(disks), interrupted, ..Input::default() });
    }
    activity.retain(|one| one.file().is_some());
    let mut files: Vec<DatabaseFile> = activity.iter().filter_map(Activity::file).collect();
    let found = limits(&files, storage);
    for ((file, activity), limits) in files.iter_mut().zip(&mut activity).zip(&found.files) {
        activity.bound(limits);
        file.at_limit = activity.at_limit(limits);
    }
    Some(Input { files, activity, observed, remarks, interrupted, ..Input::default() })
}

/// Reads a list of files, or what another program counted of disks.
fn of_file(path: &Path, storage: &Storage<'_>) -> Result<Input, Failure> {
    let source = read(path, |bytes| sources::read(bytes, storage.unit_bytes()))?;
    Ok(match source {
        Source::Files(List { files, remarks }) => Input { files, remarks, ..Input::default() },
        Source::Disks(disks) => Input { disks: Some(disks), ..Input::default() },
    })
}

/// What the options say of waits and CPU.
fn observed(options: &PlanMi) -> Result<Observed, Failure> {
    let cpu_percent = options.cpu.as_deref().map(|text| percent("--cpu", text, 0.0..=100.0)).transpose()?;
    let Some(path) = &options.waits else { return Ok(Observed { waits: None, cpu_percent }) };
    let rows = read(path, waits::read)?;
    let classes = rows.iter().map(|(name, time)| (plimsoll_mssql::class_of_wait(name), *time));
    let waits = waits::shares(classes).ok_or_else(|| {
        Failure::usage(format!("{}: nobody waited for anything in it", path.display()))
            .hint("save the result of: SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats")
    })?;
    Ok(Observed { waits: Some(waits), cpu_percent })
}

fn percent(option: &str, text: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    if !text.contains('%') && number.is_some_and(|number| number > 0.0 && number < 1.0) {
        return Err(Failure::usage(format!("{option} {text} may be a part or a percentage"))
            .hint(format!("write {option} {text}%, or 100 times as much")));
    }
    number.filter(|percent| range.contains(percent)).ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        Failure::usage(format!("{option} {text} is no percentage from {low} to {high}"))
            .hint(format!("such as {option} 25%"))
    })
}

/// How long and how often a live server is looked at.
fn pace(options: &PlanMi) -> Result<Pace, Failure> {
    let of = |option: &str, text: &str, range: [Duration; 2]| {
        let wrong = |problem: String| {
            Failure::usage(format!("{option} {text}: {problem}")).hint("such as --sample 30s --interval 1s")
        };
        let time = units::parse_duration(text).map_err(|error| wrong(error.to_string()))?;
        if time < range[0] || time > range[1] {
            let [low, high] = range.map(|time| units::format_seconds(time.as_secs_f64()));
            return Err(wrong(format!("it is from {low} to {high}")));
        }
        Ok(time)
    };
    let sample = options.sample.as_deref().unwrap_or("30s");
    let time = of("--sample", sample, [Duration::from_millis(200), Duration::from_hours(24)])?;
    let interval = of("--interval", options.interval.as_deref().unwrap_or("1s"), [Duration::from_millis(100), time])?;
    Ok(Pace { time, interval })
}

/// The limits of the disks of a virtual machine, and of the machine.
fn pool(vm: &str, options: &PlanMi, files: &[DatabaseFile]) -> Result<Pool, Failure> {
    let disks = options.disks.clone().unwrap_or_default();
    let name = format!("{disks} of {vm}");
    let bytes = files.iter().map(|file| file.size_gb).sum::<f64>() * GB;
    let purchase = Purchase { disks, vm: Some(vm.to_owned()), ..Purchase::default() };
    let promise = promise(&purchase, bytes as u64)?;
    let of = |resource: &str| {
        let ceiling = promise.ceilings.iter().find(|ceiling| ceiling.resource == resource)?;
        Some(Shared { limit: ceiling.value, source: ceiling.source.clone(), io_bytes: ceiling.io_bytes })
    };
    let holds_gb = Some(promise.bytes as f64 / GB).filter(|gb| *gb > 0.0);
    Ok(Pool { name, iops: of("data_iops"), mb_per_s: of("data_bandwidth"), holds_gb })
}

/// Only a live server is sampled.
fn refuse_pace(options: &PlanMi) -> Result<(), Failure> {
    if options.sample.is_some() || options.interval.is_some() {
        return Err(Failure::usage("--sample and --interval are for a live server, and --files names a file")
            .hint("such as --files mssql://user@host/master"));
    }
    Ok(())
}

fn show(report: &Report, json: impl FnOnce() -> Value, options: &PlanMi, printer: &Printer) -> Result<u8, Failure> {
    if options.json {
        printer.json(&json().to_string());
    } else {
        printer.result(&terminal::report(report, Style { full: options.full, ..printer.style }));
        if !options.full {
            printer.remark("--full prints all parts");
        }
    }
    // Last: what was seen of a live server is nowhere else, and a page that can't be written takes nothing of it away.
    if let Some(path) = &options.html {
        let page = html::page_read_as(
            std::slice::from_ref(report),
            "a plan by published limits",
            planned::HOW_TO_READ,
            &made_now("Storage plan"),
        );
        write(path, &page, printer)?;
    }
    Ok(exit::DONE)
}

/// How layouts are chosen.
fn rules(options: &PlanMi, headroom_percent: f64) -> Result<Rules, Failure> {
    let most_wait = units::parse_duration(&options.most_wait).map_err(|error| {
        Failure::usage(format!("--most-wait {}: {error}", options.most_wait)).hint("such as --most-wait 1ms")
    })?;
    let most_wait_ms = most_wait.as_secs_f64() * 1e3;
    Ok(Rules { headroom_percent, most_files: options.most_files, most_wait_ms, ..Rules::default() })
}

fn wishes(options: &PlanMi) -> Result<Wishes, Failure> {
    let wrong = |option: &str, problem: String, example: &str| {
        Failure::usage(format!("{option}: {problem}")).hint(format!("such as {option} {example}"))
    };
    let day = options.date.as_deref().map(str::parse::<Date>).transpose();
    if let Some(bare) = options.space.as_deref().filter(|text| text.trim().parse::<f64>().is_ok_and(|bare| bare > 0.0))
    {
        return Err(wrong("--space", format!("{bare} has no unit"), "8TB"));
    }
    let bytes = options.space.as_deref().map(units::parse_bytes).transpose();
    let bytes = bytes.map_err(|error| wrong("--space", error.to_string(), "8TB"))?;
    if bytes == Some(0) {
        return Err(wrong("--space", "an instance has more than nothing".to_owned(), "8TB"));
    }
    Ok(Wishes {
        day: day.map_err(|problem| wrong("--date", problem, "2018-12-18"))?,
        vcores: options.vcores,
        space_gb: bytes.map(|bytes| bytes as f64 / GB),
    })
}

const GB: f64 = (1_u64 << 30) as f64;

fn read<T>(path: &Path, of: impl FnOnce(&[u8]) -> Result<T, ListError>) -> Result<T, Failure> {
    let is_input = path == Path::new("-");
    let name = if is_input { "standard input".to_owned() } else { path.display().to_string() };
    let failed = |problem: String| {
        Failure::usage(format!("{name}: {problem}")).hint("docs/PLAN.md says what can be read, and how to get it")
    };
    let bytes = if is_input { input() } else { files::read(path, files::LARGE) };
    let bytes = bytes.map_err(|error| failed(format!("it can't be read: {error}")))?;
    of(&bytes).map_err(|error| failed(error.to_string()))
}

fn input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(files::LARGE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > files::LARGE {
        return Err(std::io::Error::other(format!("it has more than {} MB", files::LARGE >> 20)));
    }
    Ok(bytes)
}
