//! `plimsoll simulate`: what a database server would deliver, by a model of it, for one scenario or a grid of cases.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_engine::files;
use plimsoll_measurement::{RunRecord, exit};
use plimsoll_report::{simulated, terminal};
use plimsoll_simulate::analytic::Scalability;
use plimsoll_simulate::grid::Replicated;
use plimsoll_simulate::record::{self, About};
use plimsoll_simulate::scenario::{Case, Document, Scenario, ScenarioError, Variation};
use plimsoll_simulate::server::{Replication, simulate as replicate};

use super::run::{build, present, this_machine};
use crate::args::Simulate;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Simulates all cases, keeps each as a run, and shows them.
pub fn simulate(options: &Simulate, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    // Everything that can be wrong with the scenario is found before anything is kept.
    let document = document(options)?;
    let cases = document.scenarios().map_err(|error| failure(&error))?;
    let store = settings.open_store()?;
    let clock = RealClock::new();
    let started_at = now(&clock);
    let host = this_machine();
    // An interrupt ends the program at once: nothing is kept before all is done, and nothing is touched outside.
    let all = replications(&cases, host.cpus as usize);
    let mut records = Vec::new();
    for ((case, scenario), replications) in cases.iter().zip(all) {
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
        records.push(record);
    }
    let remarks: Vec<String> = scalability(&cases, &records).into_iter().collect();
    show(&records, &remarks, options.json, printer)?;
    let lacks_evidence = records.iter().any(|record| record.result.is_none());
    Ok(if lacks_evidence { exit::INCOMPLETE } else { exit::DONE })
}

fn document(options: &Simulate) -> Result<Document, Failure> {
    let path = &options.scenario;
    let text = files::read_text(path, files::LARGE).map_err(|error| {
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

/// The time of day, as records keep it.
fn now(clock: &RealClock) -> String {
    format!("{:.3}", clock.timestamp(clock.now()))
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

/// The replications of each case in the order of their seeds, whichever thread makes them.
fn replications(cases: &[(Case, Scenario)], threads: usize) -> Vec<Vec<Replication>> {
    let work: Vec<(usize, u64)> = (0..)
        .zip(cases)
        .flat_map(|(case, (_, scenario))| scenario.run.seeds.iter().map(move |seed| (case, *seed)))
        .collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Replication)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, work.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, seed)) = work.get(at) else { break };
                    let replication = replicate(&cases[*case].1, *seed);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, replication));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    let mut all: Vec<Vec<Replication>> = cases.iter().map(|_| Vec::new()).collect();
    for (at, replication) in done {
        all[work[at].0].push(replication);
    }
    all
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
    let law = Scalability::fit(&points.collect::<Option<Vec<_>>>()?)?;
    let best =
        law.best_sessions().map_or_else(String::new, |best| format!("; by this law {best:.0} sessions give the most"));
    let (one, contention, coherence) = (law.one_per_s, law.contention, law.coherence);
    Some(format!(
        "The universal scalability law through these cases has {one:.1} 1/s for one session, contention {contention:.2e} and coherence \
         {coherence:.2e}{best}."
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
