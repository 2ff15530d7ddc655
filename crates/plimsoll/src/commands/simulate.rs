//! `plimsoll simulate`: what a database server would deliver, by a model of it, for one scenario or a grid of cases, or from a measured run.

mod predict;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use plimsoll_bench::Interrupt;
use plimsoll_clock::RealClock;
use plimsoll_engine::files;
use plimsoll_measurement::{RunRecord, Subject, exit};
use plimsoll_report::{simulated, terminal};
use plimsoll_simulate::analytic::Scalability;
use plimsoll_simulate::grid::Replicated;
use plimsoll_simulate::record::{self, About};
use plimsoll_simulate::scenario::{Case, Document, Scenario, ScenarioError, Variation};
use plimsoll_simulate::server::{Replication, simulate_until};

use self::predict::now;
use super::run::{build, present, this_machine};
use crate::args::Simulate;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals;

/// A scenario of a thousand cases has a fifth of that.
const MOST_BYTES: u64 = 1 << 20;

/// Simulates all cases, keeps each as a run, and shows them.
pub fn simulate(options: &Simulate, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    if let Some(run) = &options.from {
        return predict::predict(run, options, settings, printer);
    }
    // Everything that can be wrong with the scenario is found before anything is kept.
    let document = document(options)?;
    let cases = document.scenarios().map_err(|error| failure(&error))?;
    let store = settings.open_store()?;
    let clock = RealClock::new();
    let started_at = now(&clock);
    let host = this_machine();
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let _hurries = interrupt.watch(Arc::new(signals::Hurries(Arc::clone(&store))));
    let mut records: Vec<Option<RunRecord>> = cases.iter().map(|_| None).collect();
    let mut keep = |at: usize, replications: Vec<Replication>| {
        let (case, scenario) = &cases[at];
        let about = About {
            run_id: uuid::Uuid::now_v7().simple().to_string(),
            started_at: started_at.clone(),
            ended_at: now(&clock),
            build: build(),
            campaign: options.campaign.clone(),
            text: document.text_of(case),
            host: host.clone(),
        };
        let Some((events, record)) = record::run(&about, case, scenario, &Replicated::new(replications)) else {
            return Err(Failure::usage("the simulation came to no run").code(exit::INTERNAL));
        };
        store.append(&events)?;
        records[at] = Some(record);
        Ok(())
    };
    replicate_all(&cases, (host.cpus as usize, &interrupt, printer), &mut keep)?;
    let records: Vec<RunRecord> = records.into_iter().flatten().collect();
    if let Some(code) = signals::exit_code(&interrupt) {
        printer.remark(&format!("{} of {} cases were simulated to their end and are kept", records.len(), cases.len()));
        if !records.is_empty() {
            show(&records, &[], options.json, printer)?;
        }
        return Ok(code);
    }
    let remarks: Vec<String> = scalability(&cases, &records).into_iter().collect();
    show(&records, &remarks, options.json, printer)?;
    let lacks_evidence = records.iter().any(|record| record.result.is_none());
    Ok(if lacks_evidence { exit::INCOMPLETE } else { exit::DONE })
}

fn document(options: &Simulate) -> Result<Document, Failure> {
    let Some(path) = &options.scenario else {
        return Err(Failure::usage("no scenario was named").hint("examples/mi-layout.toml is one"));
    };
    let text = files::read_text(path, MOST_BYTES).map_err(|error| {
        Failure::usage(format!("cannot read the scenario {}: {error}", path.display()))
            .hint("examples/mi-layout.toml is one; docs/SIMULATE.md lists the keys")
    })?;
    let mut document = Document::parse(&name(path), &text).map_err(|error| failure(&error))?;
    for pair in &options.set {
        let (key, value) = split(pair, "--set", "sessions=200")?;
        document.set(key, value).map_err(|error| failure(&error))?;
    }
    for pair in &options.vary {
        let (key, values) = split(pair, "--vary", "log=32GB,512GB")?;
        let values = values.split(',').map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let variation = Variation { key: key.to_owned(), values: values.collect() };
        document.vary(&variation).map_err(|error| failure(&error))?;
    }
    Ok(document)
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn split<'a>(pair: &'a str, option: &str, example: &str) -> Result<(&'a str, &'a str), Failure> {
    let split = pair.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    split.ok_or_else(|| {
        Failure::usage(format!("{option} {pair} is not of the form key=value"))
            .hint(format!("such as {option} {example}"))
    })
}

fn failure(error: &ScenarioError) -> Failure {
    Failure::usage(error.to_string()).hint(error.hint.clone())
}

/// Makes the replications of all cases on so many threads. Each case is handed on, with its replications in the order of their seeds, as soon
/// as all of them are there. After an interrupt no more come.
fn replicate_all(
    cases: &[(Case, Scenario)],
    (threads, interrupt, printer): (usize, &Interrupt, &Printer),
    keep: &mut dyn FnMut(usize, Vec<Replication>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let work: Vec<(usize, usize, u64)> = (0..)
        .zip(cases)
        .flat_map(|(case, (_, scenario))| (0..).zip(&scenario.run.seeds).map(move |(at, seed)| (case, at, *seed)))
        .collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (done, all_done) = sync_channel(threads);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            let (done, next, work, failed) = (done.clone(), &next, &work, &failed);
            scope.spawn(move || {
                while let Some((case, at, seed)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let stopped = || interrupt.signal().is_some() || failed.load(Ordering::Relaxed);
                    let Some(replication) = simulate_until(&cases[*case].1, *seed, stopped) else { break };
                    if done.send((*case, *at, replication)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let mut progress = Progress::new(printer, "simulate".to_owned(), Subject::Database, 1);
        let mut open: BTreeMap<usize, Vec<(usize, Replication)>> = BTreeMap::new();
        for (number, (case, at, replication)) in (1..).zip(all_done) {
            progress.says(&format!("{number} of {} replications are done", work.len()));
            let replications = open.entry(case).or_default();
            replications.push((at, replication));
            if replications.len() == cases[case].1.run.seeds.len() {
                let mut replications = open.remove(&case).unwrap_or_default();
                replications.sort_by_key(|(at, _)| *at);
                let kept = keep(case, replications.into_iter().map(|(_, replication)| replication).collect());
                kept.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
        }
        Ok(())
    })
}

/// How the rate grows with sessions, where nothing but their number differs between the cases.
fn scalability(cases: &[(Case, Scenario)], records: &[RunRecord]) -> Option<String> {
    let is_of_sessions = |key: &str| key == "sessions" || key == "workload.sessions";
    if !cases.iter().all(|(case, _)| !case.set.is_empty() && case.set.iter().all(|(key, _)| is_of_sessions(key))) {
        return None;
    }
    let pairs = cases.iter().zip(records);
    let points =
        pairs.map(|((_, scenario), record)| Some((f64::from(scenario.sessions), record.result.as_ref()?.value)));
    let points = points.collect::<Option<Vec<_>>>()?;
    let law = Scalability::fit(&points)?;
    let miss = law.misses_percent(&points);
    let turn = law.turn(&points);
    let best = turn.map_or_else(String::new, |turn| format!("; by this law {turn:.0} sessions give the most"));
    let (one, contention, coherence) = (law.one_per_s, law.contention, law.coherence);
    Some(format!(
        "The universal scalability law through these cases has {one:.1} 1/s for one session, contention {contention:.2e} and coherence \
         {coherence:.2e}{best}. It misses the cases by up to {miss:.1} %."
    ))
}

fn show(records: &[RunRecord], remarks: &[String], json: bool, printer: &Printer) -> Result<(), Failure> {
    if json || records.len() == 1 {
        return records.iter().try_for_each(|record| present(record, json, printer));
    }
    printer.result(&terminal::report(&simulated(records, remarks), printer.style));
    let ids: Vec<&str> = records.iter().map(|record| record.run_id.as_str()).collect();
    printer.remark(&format!("kept as runs {}; 'plimsoll show ID' shows one", ids.join(", ")));
    Ok(())
}
