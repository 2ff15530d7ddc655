//! A simulated run as a record with the basis *simulated*: told by the same events as a measured one, so that it is stored, listed, compared
//! and drawn like one.

use plimsoll_analysis::interval::Interval;
use plimsoll_hardware::LimitKind;
use plimsoll_measurement::event::{Event, Kind, MAIN, PointMeasured};
use plimsoll_measurement::run::SCHEMA_VERSION;
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{
    AbsentFigure, Basis, Ceiling, Definition, Expected, Figure, FileDelta, Fold, Host, Metric, Phase, Point,
    Repetition, RequestKind, RunRecord, Subject, Verdict, WaitClass, WaitDelta,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::answered::Answered;
use crate::grid::{Replicated, Used};
use crate::scenario::{Case, Scenario, Source};
use crate::server::{FileFigures, Replication, Resource};

/// A limit that is used to less than this did not hold the rate back by itself.
const BOUND_PERCENT: f64 = 90.0;
/// Nor did one for whose files sessions wait in less than this share of their time: it could not give as much as a limit that binds.
const WAITED_PERCENT: f64 = 3.3;

/// What the name of a target begins with.
pub const SCHEME: &str = "scenario";

/// What is known of the simulation itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Id of the run.
    pub run_id: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: String,
    /// Version of this program.
    pub build: String,
    /// The campaign that the run belongs to.
    pub campaign: Option<String>,
    /// The scenario's text with all that was set.
    pub text: String,
    /// The real machine.
    pub host: Host,
}

/// A figure of a replication, and what it is called in records and where it was published.
type Read = (&'static str, &'static str, Option<&'static str>, fn(&Replication) -> Option<f64>);

/// The figures, the headline first.
const FIGURES: [Read; 10] = [
    ("request_rate", "1/s", Some("requests_per_s"), |one| Some(one.requests_per_s)),
    ("latency_mean", "ms", None, |one| Some(one.response_ms).filter(|ms| ms.is_finite())),
    ("latency_p99", "ms", None, |one| one.times.to_data().percentile_us(99.0).map(|us| us / 1e3)),
    ("cpu_used", "%", Some("cpu_percent"), |one| {
        one.resources.iter().find(|known| known.limit == "cpu").map(Resource::percent)
    }),
    ("log_wait_share", "%", Some("log_wait_percent"), |one| Some(one.wait_percent?.log)),
    ("page_wait_share", "%", Some("page_wait_percent"), |one| Some(one.wait_percent?.page)),
    ("cpu_wait_share", "%", None, |one| Some(one.wait_percent?.cpu)),
    ("data_read_latency", "ms", None, |one| data_file(one)?.read_ms),
    ("data_write_latency", "ms", Some("data_write_ms"), |one| data_file(one)?.write_ms),
    ("log_write_latency", "ms", Some("log_write_ms"), |one| one.files.last()?.write_ms),
];

/// The first group of data files; the log is the last of all groups.
fn data_file(replication: &Replication) -> Option<&FileFigures> {
    replication.files.split_last()?.1.first()
}

/// The events of a run with these replications, and the record that they come to. `None` without replications.
pub fn run(
    about: &About,
    case: &Case,
    scenario: &Scenario,
    replicated: &Replicated,
) -> Option<(Vec<Event>, RunRecord)> {
    let case_name = if case.name.is_empty() { String::new() } else { format!("/{}", case.name) };
    let simulated: f64 = replicated.replications.iter().map(|one| one.seconds + one.transient_s).sum();
    let beyond = Answered::beyond(scenario.source, scenario.sessions, replicated, &used(replicated));
    let unsteady = replicated.unsteady().map(|reason| beyond.clone().unwrap_or(reason));
    let begun = RunRecord {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: about.run_id.clone(),
        test: "simulate".to_owned(),
        target: format!("{SCHEME}:{}{case_name}", scenario.name),
        subject: Subject::Database,
        basis: Basis::Simulated,
        engine: "model".to_owned(),
        clock: "virtual".to_owned(),
        started_at: about.started_at.clone(),
        campaign: about.campaign.clone(),
        parameters: parameters(case, scenario),
        definition: Definition { hash: format!("{:016x}", xxh3_64(about.text.as_bytes())), text: about.text.clone() },
        build: about.build.clone(),
        ceilings: ceilings(scenario),
        environment: (1..)
            .zip(&scenario.storage.described)
            .map(|(n, text)| (format!("files {n}"), text.clone()))
            .collect(),
        warnings: warnings(replicated, beyond.is_some()),
        host: about.host.clone(),
        ..RunRecord::default()
    };
    let repetitions: Vec<Repetition> = replicated
        .replications
        .iter()
        .zip('a'..='z')
        .map(|(one, label)| repetition(scenario.sessions, one, label))
        .collect();
    let figures = if unsteady.is_some() { Vec::new() } else { figures(case, replicated) };
    let absent = unsteady.iter().map(|reason| AbsentFigure { metric: FIGURES[0].0.to_owned(), reason: reason.clone() });
    let finished = RunRecord {
        ended_at: Some(about.ended_at.clone()),
        virtual_seconds: Some(simulated),
        result: figures.first().cloned(),
        results: figures,
        absent: absent.collect(),
        verdict: verdict(scenario, replicated, unsteady, beyond.is_some()),
        ..begun.clone()
    };
    told(about, begun, repetitions, finished)
}

/// The events that tell of a run, and the record that they come to.
pub(crate) fn told(
    about: &About,
    begun: RunRecord,
    repetitions: Vec<Repetition>,
    finished: RunRecord,
) -> Option<(Vec<Event>, RunRecord)> {
    let mut kinds = vec![Kind::Begun(Box::new(begun))];
    for repetition in repetitions {
        let measured =
            |point: &Point| Kind::Point(PointMeasured { repetition: repetition.label.clone(), point: point.clone() });
        let points: Vec<Kind> = repetition.points.iter().map(measured).collect();
        kinds.push(Kind::Repetition(Box::new(Repetition { points: Vec::new(), ..repetition })));
        kinds.extend(points);
    }
    kinds.push(Kind::Finished(Box::new(finished)));
    let event = |(sequence, kind)| Event {
        run_id: about.run_id.clone(),
        source: MAIN.to_owned(),
        sequence,
        at: about.ended_at.clone(),
        kind,
    };
    let events: Vec<Event> = (0..).zip(kinds).map(event).collect();
    let record = Fold::of(&about.run_id, events.iter().cloned()).record()?;
    Some((events, record))
}

fn parameters(case: &Case, scenario: &Scenario) -> std::collections::BTreeMap<String, serde_json::Value> {
    let mut parameters = std::collections::BTreeMap::new();
    let mut set = |key: &str, value: serde_json::Value| parameters.insert(key.to_owned(), value);
    set("sessions", scenario.sessions.into());
    set("seeds", scenario.run.seeds.clone().into());
    match scenario.source {
        Source::Closed { think_ns } => set("think_time_ms", (think_ns / 1e6).into()),
        Source::Open { per_s } => set("rate", per_s.into()),
    };
    for (key, value) in &case.set {
        set(key, as_json(value));
    }
    parameters
}

fn as_json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Integer(whole) => (*whole).into(),
        toml::Value::Float(real) => (*real).into(),
        toml::Value::Boolean(yes) => (*yes).into(),
        toml::Value::String(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

fn warnings(replicated: &Replicated, is_beyond: bool) -> Vec<String> {
    let mut warnings = vec![
        "this was simulated: a model computed it, and nothing was measured; docs/SIMULATE.md says what it leaves out"
            .to_owned(),
    ];
    let unsteady = replicated.replications.iter().filter(|one| one.unsteady.is_some()).count();
    if unsteady > 0 && !is_beyond {
        let all = replicated.replications.len();
        warnings
            .push(format!("{unsteady} of {all} replications did not become steady: raise run.warm_up or run.duration"));
    }
    warnings
}

fn figures(case: &Case, replicated: &Replicated) -> Vec<Figure> {
    let figure = |(metric, unit, published, of): Read| {
        let Interval { value, low, high, confidence } = replicated.figure(of)?;
        let published = published.and_then(|name| case.published.get(name));
        Some(Figure {
            metric: metric.to_owned(),
            value,
            unit: unit.to_owned(),
            low,
            high,
            confidence,
            values: replicated.values(of)?,
            repetitions: replicated.replications.len() as u32,
            point_cv_percent: None,
            note: None,
            expected: published.map(|published| Expected {
                value: *published,
                unit: unit.to_owned(),
                basis: "printed".to_owned(),
                published: true,
                limit: None,
                reason: None,
                error_percent: (*published > 0.0).then(|| 100.0 * (value / published - 1.0)),
            }),
        })
    };
    FIGURES.into_iter().filter_map(figure).collect()
}

/// The limits of data and log, where one group of files has them.
fn ceilings(scenario: &Scenario) -> Vec<Ceiling> {
    let given = "the scenario".to_owned();
    let cores = f64::from(scenario.cores);
    let mut all = vec![Ceiling {
        resource: "cpu".to_owned(),
        value: cores,
        unit: "cores".to_owned(),
        source: given,
        ..Ceiling::default()
    }];
    for ceiling in &scenario.storage.ceilings {
        let is_bytes = ceiling.kind.is_of_bytes();
        let both_ways = matches!(ceiling.kind, LimitKind::Iops | LimitKind::Bandwidth | LimitKind::WriteBandwidth);
        let part = if ceiling.limit == "log_write" { "log" } else { "data" };
        let resource = format!("{part}_{}", if is_bytes { "bandwidth" } else { "iops" });
        if !both_ways || all.iter().any(|known| known.resource == resource) {
            continue;
        }
        all.push(Ceiling {
            resource,
            value: if is_bytes { ceiling.per_s / MB as f64 } else { ceiling.per_s },
            unit: if is_bytes { "MB/s" } else { "1/s" }.to_owned(),
            source: ceiling.provenance.source.clone(),
            scope: ceiling.provenance.scope,
            basis: Some(ceiling.provenance.basis),
            date: ceiling.provenance.date.clone(),
            io_bytes: None,
            stripe: None,
        });
    }
    all
}

/// What a replication with so many sessions came to, as a repetition.
pub(crate) fn repetition(sessions: u32, one: &Replication, label: char) -> Repetition {
    let times = one.times.to_data();
    let operations = (one.requests_per_s * one.seconds).round() as u64;
    let slot = one.course.first().map_or(0.0, |(end, _)| *end);
    let points = (0..).zip(&one.course).map(|(index, (end, rate))| {
        let point = Point { index, started_seconds: end - slot, seconds: slot, ..Point::default() };
        point.with(Metric::Operations, (rate * slot).round() as u64)
    });
    let of_all = f64::from(sessions);
    let wait = |wait: &str, class: WaitClass, ms: f64| {
        let seconds = ms / 1e3 * one.requests_per_s * one.seconds;
        WaitDelta {
            wait: wait.to_owned(),
            class: Some(class.into()),
            seconds,
            elapsed_percent: 100.0 * seconds / one.seconds / of_all,
            ..WaitDelta::default()
        }
    };
    let mut waits = vec![
        wait("page", WaitClass::DataRead, one.wait_ms.page),
        wait("log write", WaitClass::LogWrite, one.wait_ms.log),
        wait("CPU", WaitClass::Cpu, one.wait_ms.cpu),
        wait("other", WaitClass::Other, one.wait_ms.other),
    ];
    waits.retain(|wait| wait.seconds > 0.0);
    waits.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    Repetition {
        label: label.to_string(),
        complete: true,
        points: points.collect(),
        requests: vec![RequestKind {
            kind: "request".to_owned(),
            operations,
            times: times.clone(),
            ..RequestKind::default()
        }],
        phases: vec![Phase {
            label: "all".to_owned(),
            started_seconds: one.transient_s,
            seconds: one.seconds,
            sessions,
            operations,
            rate: one.requests_per_s,
            times,
            ..Phase::default()
        }],
        waits,
        files: one.files.iter().map(|file| delta(file, one.seconds)).collect(),
        ..Repetition::default()
    }
}

fn delta(file: &FileFigures, seconds: f64) -> FileDelta {
    let total = |per_s: f64| Some((per_s * seconds).round() as u64);
    let stall = |per_s: f64, ms: Option<f64>| ms.map(|ms| per_s * seconds * ms / 1e3);
    FileDelta {
        file: if file.files > 1 { format!("{} ({} files)", file.name, file.files) } else { file.name.clone() },
        elapsed_seconds: Some(seconds),
        reads: total(file.reads_per_s),
        writes: total(file.writes_per_s),
        read_bytes: total(file.read_bytes_per_s),
        write_bytes: total(file.write_bytes_per_s),
        read_stall_seconds: stall(file.reads_per_s, file.read_ms),
        write_stall_seconds: stall(file.writes_per_s, file.write_ms),
        read_mb_per_second: Some(file.read_bytes_per_s / MB as f64),
        write_mb_per_second: Some(file.write_bytes_per_s / MB as f64),
        read_latency_ms: file.read_ms,
        write_latency_ms: file.write_ms,
        ..FileDelta::default()
    }
}

/// Sentences about the two resources that are used most.
pub(crate) fn first_and_second(used: &[Used]) -> Vec<String> {
    used.iter()
        .zip(["The first limit", "The second limit"])
        .map(|((name, _, percent, ceiling), which)| format!("{which} is {name}: {percent:.0} % of {ceiling} are used."))
        .collect()
}

/// Mean use of all resources over the replications, the most used first.
pub(crate) fn used(replicated: &Replicated) -> Vec<Used> {
    let Some(first) = replicated.replications.first() else { return Vec::new() };
    let of = |resource: &Resource| {
        let percent = replicated.used_percent(&resource.name)?.value;
        let (value, unit) = match resource.unit {
            "bytes/s" => (resource.ceiling / MB as f64, "MB/s"),
            unit => (resource.ceiling, unit),
        };
        let ceiling = format!("{} {unit}", plimsoll_measurement::units::format_significant(value));
        Some((resource.name.clone(), resource.limit, percent, ceiling))
    };
    let mut all: Vec<_> = first.resources.iter().filter_map(of).collect();
    all.sort_by(|one, other| other.2.total_cmp(&one.2));
    all
}

fn verdict(scenario: &Scenario, replicated: &Replicated, unsteady: Option<String>, is_beyond: bool) -> Verdict {
    let used = used(replicated);
    if let Some(reason) = unsteady {
        let mut evidence = vec![format!("{reason}: raise run.warm_up or run.duration.")];
        if is_beyond {
            evidence = vec![format!("{reason}.")];
            evidence.extend(first_and_second(&used));
        }
        return Verdict { evidence, ..Verdict::default() };
    }
    let mut evidence = first_and_second(&used);
    let share = |of: fn(&Replication) -> Option<f64>| replicated.figure(of).map(|found| found.value);
    let shares = [
        ("pages", share(|one| Some(one.wait_percent?.page))),
        ("the log", share(|one| Some(one.wait_percent?.log))),
        ("a CPU", share(|one| Some(one.wait_percent?.cpu))),
        ("other things", share(|one| Some(one.wait_percent?.other))),
    ];
    let longest = shares.iter().filter_map(|(what, share)| Some((*what, (*share)?))).max_by(|a, b| a.1.total_cmp(&b.1));
    evidence.extend(
        longest.map(|(what, share)| format!("Sessions wait for {what} in {share:.0} % of the time that they wait.")),
    );
    let waited = |name: &str| {
        let of = |one: &Replication| one.resources.iter().find(|known| known.name == name)?.waited_percent;
        replicated.figure(of).map(|found| found.value)
    };
    let is_full = |(_, _, percent, _): &&Used| *percent >= BOUND_PERCENT;
    let is_felt = |name: &str| waited(name).is_none_or(|percent| percent >= WAITED_PERCENT);
    let felt: Vec<(f64, bool)> = used.iter().map(|(name, _, percent, _)| (*percent, is_felt(name))).collect();
    let answered = Answered::of(scenario.source, scenario.sessions, replicated, &felt);
    if let Some(text) = answered.sentence() {
        evidence.insert(0, text);
    }
    // Requests that come at a rate are all answered in a steady state: whatever is raised, no more come.
    let all_answered = matches!(answered, Answered::All | Answered::AllSoFar);
    let quiet = used.iter().filter(is_full).find(|(name, ..)| !is_felt(name));
    evidence.extend(quiet.map(|(name, ..)| {
        format!(
            "Work in the background fills {name}: sessions wait for it in {:.1} % of their time.",
            waited(name).unwrap_or(0.0)
        )
    }));
    let bound = |one: &&Used| is_full(one) && is_felt(&one.0) && !all_answered;
    let limit = used.iter().find(bound);
    let mut also: Vec<String> = used.iter().filter(bound).skip(1).map(|(_, limit, ..)| (*limit).to_owned()).collect();
    also.dedup();
    also.retain(|other| limit.is_some_and(|(_, limit, ..)| limit != other));
    // Too few are answered, and nothing that is known is full: what holds them back is not known.
    let is_known = limit.is_some() || !matches!(answered, Answered::Fewer { .. });
    Verdict {
        limit: is_known.then(|| limit.map_or("none", |(_, limit, ..)| *limit).to_owned()),
        also,
        utilisation_percent: limit.or(used.first()).map(|(_, _, percent, _)| *percent),
        evidence,
        ..Verdict::default()
    }
}
