//! `plimsoll plan`: on which storage files belong, by published limits.

use std::io::Read as _;
use std::path::Path;

use plimsoll_catalog::{Catalog, Date};
use plimsoll_engine::files;
use plimsoll_measurement::{exit, units};
use plimsoll_plan::layout::{self, Layout, Need, Rules};
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::advise;
use plimsoll_plan::statements::statements;
use plimsoll_plan::{Advice, DatabaseFile, Limits, Step, Storage, Wishes, list};
use plimsoll_report::layouts::Found;
use plimsoll_report::model::Report;
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{html, planned};
use serde_json::{Map, Value, json};

use super::report::{made_now, place, try_path, write};
use crate::args::PlanMi;
use crate::failure::Failure;
use crate::printer::Printer;

/// Plans files on Managed Instance, or shows what was published of an instance.
pub fn mi(options: &PlanMi, printer: &Printer) -> Result<u8, Failure> {
    if let Some(path) = &options.html {
        if options.files.as_ref().is_some_and(|files| place(files) == place(path)) {
            return Err(Failure::usage(format!("--html {} would be written over the list", path.display()))
                .hint("name another file for the page"));
        }
        try_path(path)?;
    }
    let catalog = Catalog::builtin()?;
    let storage = Storage::on(catalog, wishes(options)?).map_err(|error| {
        Failure::usage(error.to_string()).hint("'plimsoll plan mi' shows what is known; --date names a day")
    })?;
    let Some(path) = &options.files else {
        return show(&planned::edition(&storage), || edition(&storage), options, printer);
    };
    let files = read(path)?;
    let found = limits(&files, &storage);
    let advised = advise(&files, &storage, &found);
    let layouts = options.layouts.then(|| search(&files, &storage, options)).transpose()?;
    let report = planned::report(&files, &storage, (&found, &advised), layouts.as_ref());
    let json = || {
        let mut plan = plan(&files, &storage, &found, &advised);
        if let (Some(layouts), Value::Object(plan)) = (&layouts, &mut plan) {
            plan.insert("layouts".to_owned(), layouts_of(layouts));
        }
        plan
    };
    show(&report, json, options, printer)
}

fn show(report: &Report, json: impl FnOnce() -> Value, options: &PlanMi, printer: &Printer) -> Result<u8, Failure> {
    if let Some(path) = &options.html {
        let page = html::page(std::slice::from_ref(report), "a plan by published limits", &made_now("Storage plan"));
        write(path, &page, printer)?;
    }
    if options.json {
        printer.json(&json().to_string());
    } else {
        printer.result(&terminal::report(report, Style { full: options.full, ..printer.style }));
        if !options.full {
            printer.remark("--full prints all parts");
        }
    }
    Ok(exit::DONE)
}

/// Layouts that carry what the files were seen to do.
fn search(files: &[DatabaseFile], storage: &Storage<'_>, options: &PlanMi) -> Result<Found, Failure> {
    if !files.iter().any(|file| file.iops.is_some() || file.mb_per_s.is_some()) {
        return Err(Failure::usage("--layouts: the list does not say what the files do")
            .hint("add columns iops and mb_per_s, those at the busiest time"));
    }
    let headroom = options.headroom.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let headroom_percent = headroom.filter(|percent| (0.0..=1000.0).contains(percent)).ok_or_else(|| {
        Failure::usage(format!("--headroom {} is no percentage from 0 to 1000", options.headroom))
            .hint("such as --headroom 25%")
    })?;
    let most_wait = units::parse_duration(&options.most_wait).map_err(|error| {
        Failure::usage(format!("--most-wait {}: {error}", options.most_wait)).hint("such as --most-wait 1ms")
    })?;
    let most_wait_ms = most_wait.as_secs_f64() * 1e3;
    let rules = Rules { headroom_percent, most_files: options.most_files, most_wait_ms, ..Rules::default() };
    let needs = layout::needs(files);
    let fronts: Vec<_> = needs.iter().map(|need| layout::front(need, storage, &rules)).collect();
    // What has no layout here takes its room all the same.
    let is_apart = |file: &&DatabaseFile| !needs.iter().any(|need| need.database.eq_ignore_ascii_case(&file.database));
    let apart = files.iter().filter(is_apart);
    let (apart_gb, apart_files) = apart.fold((0.0, 0), |sum, file| (sum.0 + file.size_gb, sum.1 + 1));
    let of_system = files.iter().filter(|file| is_apart(file) && !file.is_of_tempdb());
    let apart_blobs: f64 = of_system.filter_map(|file| storage.step(file.size_gb)).map(|step| step.blob_gb).sum();
    let space_gb = storage.space_gb().map_or(f64::INFINITY, |space| space - apart_gb);
    let blobs_gb = storage.blobs_gb().map_or(f64::INFINITY, |blobs| blobs - apart_blobs);
    let most_files = storage.tier.files.unwrap_or(u32::MAX).saturating_sub(apart_files);
    let chosen = layout::together(&fronts, space_gb, blobs_gb, most_files);
    let mut found = Found { needs, fronts, chosen, rules, statements: String::new() };
    found.statements = found.pairs().map(|(need, layout)| statements(&need.database, files, layout)).collect();
    Ok(found)
}

fn layouts_of(found: &Found) -> Value {
    let of = |need: &Need, layout: &Layout| {
        json!({
            "database": need.database,
            "data_files": layout.data_files,
            "data_gb": layout.data_gb,
            "data_iops": layout.data_step.iops,
            "log_gb": layout.log_gb,
            "log_iops": layout.log_step.iops,
            "space_gb": layout.space_gb,
            "blob_gb": layout.blob_gb,
            "used_percent": layout.used_percent,
            "wait_ms": layout.wait_ms,
        })
    };
    let all = found.needs.iter().zip(&found.fronts).flat_map(|(need, front)| front.iter().map(move |one| (need, one)));
    json!({
        "chosen": found.pairs().map(|(need, layout)| of(need, layout)).collect::<Vec<_>>(),
        "all": all.map(|(need, layout)| of(need, layout)).collect::<Vec<_>>(),
        "statements": found.statements,
    })
}

fn wishes(options: &PlanMi) -> Result<Wishes, Failure> {
    let wrong = |option: &str, problem: String, example: &str| {
        Failure::usage(format!("{option}: {problem}")).hint(format!("such as {option} {example}"))
    };
    let day = options.date.as_deref().map(str::parse::<Date>).transpose();
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

fn read(path: &Path) -> Result<Vec<DatabaseFile>, Failure> {
    let is_input = path == Path::new("-");
    let name = if is_input { "standard input".to_owned() } else { path.display().to_string() };
    let failed = |problem: String| {
        Failure::usage(format!("{name}: {problem}"))
            .hint("docs/PLAN.md says what a list of files has, and how to get one")
    };
    let bytes = if is_input { input() } else { files::read(path, files::LARGE) };
    let bytes = bytes.map_err(|error| failed(format!("it can't be read: {error}")))?;
    list::read(&bytes).map_err(|error| failed(error.to_string()))
}

fn input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(files::LARGE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > files::LARGE {
        return Err(std::io::Error::other(format!("it has more than {} MB", files::LARGE >> 20)));
    }
    Ok(bytes)
}

/// What scripts get of a plan. Unknown is absent.
fn plan(all: &[DatabaseFile], storage: &Storage<'_>, found: &Limits, advised: &[Advice]) -> Value {
    let of = |(file, of): (&DatabaseFile, &plimsoll_plan::FileLimits)| {
        let next = of.next.as_ref().map(|next| {
            let mut more = limits_of(&next.step);
            more.insert("size_gb".to_owned(), json!(next.size_gb));
            Value::Object(more)
        });
        let mut one = of.step.as_ref().map(limits_of).unwrap_or_default();
        let known = [
            ("database", Some(json!(file.database))),
            ("file", Some(json!(file.name))),
            ("type", Some(json!(file.kind.name()))),
            ("size_gb", Some(json!(file.size_gb))),
            ("same_limits_gb", of.step.as_ref().map(|_| json!(of.same_gb))),
            ("next", next),
        ];
        one.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        Value::Object(one)
    };
    let mut instance = instance(storage);
    instance.insert("file_gb".to_owned(), json!(found.file_gb));
    instance.insert("blob_gb".to_owned(), json!(found.blob_gb));
    instance.insert("fits".to_owned(), json!(found.broken.is_empty()));
    instance.insert("over".to_owned(), json!(planned::over_limits(found, all)));
    json!({
        "files": all.iter().zip(&found.files).map(of).collect::<Vec<_>>(),
        "instance": instance,
        "advice": advised.iter().map(|one| advice_of(one, all)).collect::<Vec<_>>(),
    })
}

fn advice_of(one: &Advice, all: &[DatabaseFile]) -> Value {
    let files = one.files.iter().map(|at| format!("{}.{}", all[*at].database, all[*at].name));
    json!({
        "rule": one.rule.id,
        "files": files.collect::<Vec<_>>(),
        "text": planned::advice(one, all),
        "source": one.rule.source,
        "date": one.rule.date,
    })
}

fn edition(storage: &Storage<'_>) -> Value {
    let steps = storage.steps.iter().map(|step| Value::Object(limits_of(step)));
    json!({ "steps": steps.collect::<Vec<_>>(), "instance": instance(storage) })
}

fn limits_of(step: &Step) -> Map<String, Value> {
    let known = [
        ("blob_gb", Some(json!(step.blob_gb))),
        ("tier", step.name.as_ref().map(|name| json!(name))),
        ("iops", step.iops.map(|iops| json!(iops))),
        ("mb_per_s", step.mb_per_s.map(|rate| json!(rate))),
    ];
    known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn instance(storage: &Storage<'_>) -> Map<String, Value> {
    let known = [
        ("edition", Some(json!(storage.instance.name))),
        ("as_of", Some(json!(storage.instance.as_of.to_string()))),
        ("tier", Some(json!(storage.tier.name))),
        ("vcores", storage.wishes.vcores.map(|vcores| json!(vcores))),
        ("space_gb", storage.space_gb().map(|gb| json!(gb))),
        ("blobs_most_gb", storage.blobs_gb().map(|gb| json!(gb))),
        ("log_mb_per_s", storage.tier.log_mb_per_second(storage.wishes.vcores).map(|rate| json!(rate))),
    ];
    known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
