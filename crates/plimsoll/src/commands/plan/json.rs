//! What scripts get of a plan. Unknown is absent.

use plimsoll_analysis::interval::Interval as Confidence;
use plimsoll_plan::against::{Against, Breaks, Pool};
use plimsoll_plan::choice::{Enlarged, Gain};
use plimsoll_plan::demand::Interval;
use plimsoll_plan::sources::Disks;
use plimsoll_plan::{Activity, Advice, DatabaseFile, Demand, Step, Storage};
use plimsoll_report::disks;
use plimsoll_report::layouts::{Found, Row};
use plimsoll_report::planned::{self, Plan};
use serde_json::{Map, Value, json};

fn layouts_of(found: &Found, files: &[DatabaseFile]) -> Value {
    let time = |interval: Confidence| json!({ "mean": interval.value, "low": interval.low, "high": interval.high });
    let of = |(need, layout, trial): Row<'_>| {
        let mut one = json!({
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
        });
        for (key, interval) in
            [("data_io_ms", trial.and_then(|one| one.data_ms)), ("log_io_ms", trial.and_then(|one| one.log_ms))]
        {
            if let Some(interval) = interval {
                one[key] = time(interval);
            }
        }
        one
    };
    let enlarged = |one: &Enlarged| {
        let size = |(at, size_gb): &(usize, f64)| json!({ "file": files[*at].label(), "size_gb": size_gb });
        let files = one.files.iter().map(size).collect::<Vec<_>>();
        json!({ "database": one.database, "files": files, "further": one.further, "space_gb": one.space_gb })
    };
    let gain = |one: &Gain| json!({ "database": files[one.file].database, "type": files[one.file].kind.name(), "more_percent": [0.0, one.brings.most_percent], "ms": one.brings.ms });
    json!({
        "as_they_are": found.as_they_are,
        "held": found.held,
        "of_filegroups": found.of_groups,
        "of_unknown": found.of_unknown,
        "without_layout": found.without_layout.iter().chain(&found.without_log).collect::<Vec<_>>(),
        "gains": found.gains.iter().map(gain).collect::<Vec<_>>(),
        "without_room": found.without_room.iter().map(|at| files[*at].label()).collect::<Vec<_>>(),
        "enlarged": found.enlarged.iter().map(enlarged).collect::<Vec<_>>(),
        "out_of_reach": found.out_of_reach,
        "as_advised": found.advised.iter().map(enlarged).collect::<Vec<_>>(),
        "chosen": found.chosen_rows().map(of).collect::<Vec<_>>(),
        "all": found.rows().map(of).collect::<Vec<_>>(),
        "statements": found.statements,
    })
}

/// A plan of files.
pub fn plan(plan: &Plan<'_>) -> Value {
    let (all, found) = (plan.files, plan.limits);
    let of = |(at, (file, of)): (usize, (&DatabaseFile, &plimsoll_plan::FileLimits))| {
        let next = of.next.as_ref().map(|next| {
            let mut more = limits_of(&next.step);
            more.insert("size_gb".to_owned(), json!(next.size_gb));
            more.insert("blob_gb".to_owned(), json!(plan.storage.blob_gb(next.size_gb)));
            Value::Object(more)
        });
        let mut one = of.step.as_ref().map(limits_of).unwrap_or_default();
        let known = [
            ("database", Some(json!(file.database))),
            ("file", Some(json!(file.name))),
            ("type", Some(json!(file.kind.name()))),
            ("size_gb", Some(json!(file.size_gb))),
            ("highest_iops", file.iops.map(|rate| json!(rate))),
            ("highest_mb_per_s", file.mb_per_s.map(|rate| json!(rate))),
            ("written_mb_per_s", file.written_mb_per_s.map(|rate| json!(rate))),
            ("intervals_at_limit", file.at_limit.map(|seen| json!(seen.intervals))),
            ("intervals", file.at_limit.and_then(|seen| seen.of).map(|of| json!(of))),
            ("read_ms", file.read_ms.map(|ms| json!(ms))),
            ("write_ms", file.write_ms.map(|ms| json!(ms))),
            ("series", plan.activity.get(at).map(series)),
            ("blob_gb", of.blob_gb.map(|gb| json!(gb))),
            ("same_limits_gb", of.step.as_ref().map(|_| json!(file.size_gb + of.same_gb))),
            ("next", next),
        ];
        one.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        Value::Object(one)
    };
    let mut instance = instance(plan.storage);
    instance.insert("file_gb".to_owned(), json!(found.file_gb));
    instance.insert("blob_gb".to_owned(), json!(found.blob_gb));
    instance.insert("fits".to_owned(), json!(found.broken.is_empty()));
    instance.insert("over".to_owned(), json!(planned::over_limits(found, all)));
    let waits = plan.observed.waits.map(
        |waits| json!({ "data_percent": waits.data, "log_percent": waits.log, "governor_percent": waits.governor }),
    );
    let free_gb = plan.storage.space_gb().map(|space| space - found.file_gb);
    let statements = planned::statements(plan.advised, (all, found), free_gb);
    let known = [
        ("files", Some(json!(all.iter().zip(&found.files).enumerate().map(of).collect::<Vec<_>>()))),
        ("instance", Some(Value::Object(instance))),
        ("waits", waits),
        ("cpu_percent", plan.observed.cpu_percent.map(|percent| json!(percent))),
        ("advice", Some(json!(plan.advised.iter().map(|one| advice_of(one, plan)).collect::<Vec<_>>()))),
        ("remarks", Some(plan.remarks).filter(|all| !all.is_empty()).map(|all| json!(all))),
        (
            "statements",
            Some(statements).filter(|text| plan.layouts.is_none() && !text.is_empty()).map(|text| json!(text)),
        ),
        ("layouts", plan.layouts.map(|found| layouts_of(found, all))),
        ("against", plan.against.as_ref().map(|(pool, against)| against_of(plan, pool, against))),
    ];
    Value::Object(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

/// How far the load could grow on both sides.
fn against_of(plan: &Plan<'_>, pool: &Pool, against: &Against) -> Value {
    let of = |breaks: Option<Breaks>| {
        breaks.map(|breaks| json!({ "factor": breaks.factor, "before": plimsoll_report::against::bottleneck(plan.files, pool, breaks.what) }))
    };
    let known = [
        ("machine", Some(json!(pool.name))),
        ("iops", pool.iops.as_ref().map(|shared| json!({ "limit": shared.limit, "source": shared.source }))),
        ("mb_per_s", pool.mb_per_s.as_ref().map(|shared| json!({ "limit": shared.limit, "source": shared.source }))),
        ("on_instance", of(against.instance)),
        ("on_machine", of(against.pool)),
        ("on_machine_as_seen", of(against.pool_as_seen)),
    ];
    Value::Object(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

/// What a file did over time, in columns. Where a rate is not known it is null.
fn series(activity: &Activity) -> Value {
    let column =
        |demand: &Demand, of: fn(&Interval) -> Value| -> Vec<Value> { demand.intervals.iter().map(of).collect() };
    let rates = |demand: &Demand| column(demand, |one| json!(one.rate));
    let (iops, mb_per_s) = (&activity.iops, &activity.mb_per_s);
    let at_limit = iops.intervals.iter().zip(&mb_per_s.intervals).map(|(iops, mb)| iops.is_bounded || mb.is_bounded);
    json!({
        "start_s": column(iops, |one| json!(one.start_s)),
        "seconds": column(iops, |one| json!(one.seconds)),
        "iops": rates(iops),
        "mb_per_s": rates(mb_per_s),
        "at_limit": at_limit.collect::<Vec<bool>>(),
        "sizes_known": activity.are_sizes_known,
    })
}

/// What disks did, and the smallest file that carries each.
pub fn disks(all: &Disks, storage: &Storage<'_>, headroom_percent: f64) -> Value {
    let of = |disk: &Activity| {
        let carried = disks::carried(disk, storage, headroom_percent).map(|(step, size_gb)| {
            let mut one = limits_of(step);
            one.insert("size_gb".to_owned(), json!(size_gb));
            Value::Object(one)
        });
        let known = [
            ("name", Some(json!(disk.name))),
            ("database", disk.database.as_ref().map(|name| json!(name))),
            ("highest_iops", disk.iops.highest().map(|rate| json!(rate))),
            ("p95_iops", disk.iops.at_percent(95.0).map(|rate| json!(rate))),
            ("highest_mb_per_s", disk.mb_per_s.highest().map(|rate| json!(rate))),
            ("p95_mb_per_s", disk.mb_per_s.at_percent(95.0).map(|rate| json!(rate))),
            ("written_mb_per_s", disk.written().map(|rate| json!(rate))),
            ("intervals", Some(json!(disk.iops.known().count()))),
            ("known_percent", disk.iops.coverage_percent().map(|percent| json!(percent))),
            ("read_ms", disk.read_ms.map(|ms| json!(ms))),
            ("write_ms", disk.write_ms.map(|ms| json!(ms))),
            ("carried_by", carried),
        ];
        Value::Object(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    };
    json!({
        "program": all.program,
        "disks": all.disks.iter().map(of).collect::<Vec<_>>(),
        "remarks": all.remarks,
        "instance": instance(storage),
    })
}

fn advice_of(one: &Advice, plan: &Plan<'_>) -> Value {
    let files = one.files.iter().map(|at| format!("{}.{}", plan.files[*at].database, plan.files[*at].name));
    json!({
        "rule": one.rule.id,
        "files": files.collect::<Vec<_>>(),
        "text": planned::advice(one, plan),
        "is_alternative": one.is_alternative,
        "source": one.rule.source,
        "date": one.rule.date,
    })
}

/// What was published.
pub fn edition(storage: &Storage<'_>) -> Value {
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
