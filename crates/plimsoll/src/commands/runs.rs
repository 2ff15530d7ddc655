//! `plimsoll runs` and `plimsoll show`: what is in the store.

use plimsoll_bench::Definition;
use plimsoll_bench::figures::so_far;
use plimsoll_disk::{step, suite};
use plimsoll_engine::Target;
use plimsoll_measurement::{RunRecord, Subject, exit};
use plimsoll_report::model::Value;
use plimsoll_report::terminal::{self, Style};
use plimsoll_store::{Filter, RunStore, RunSummary, StoreError};

use super::compare::short;
use super::multiples;
use crate::args::{Runs, Show};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Lists runs, the newest first.
pub fn runs(options: &Runs, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let store = if let Some(other) = &options.merge {
        let store = settings.open_store()?;
        let taken = RunStore::open_unchanged(other).and_then(|other| store.merge_from(&other));
        let failed = |error: StoreError| Failure::usage(error.to_string()).code(exit::INCOMPLETE);
        let taken = taken.map_err(|error| failed(error).hint("--merge takes the file of a store"))?;
        printer.remark(&format!("copied {taken} runs from {}", other.display()));
        store
    } else {
        settings.read_store()?
    };
    // A password in the URL would keep it from being found, and must not be looked for.
    let target = options.target.as_deref().map(Target::parse).transpose()?.map(|target| target.display().to_owned());
    let filter = Filter { test: options.test.clone(), target, campaign: options.campaign.clone(), ..Filter::default() };
    let mut found = store.summaries(&filter)?;
    let (all, limit) = (found.len(), options.limit as usize);
    if limit > 0 && all > limit {
        found.truncate(limit);
        printer.remark(&format!("{limit} of {all} runs; --limit 0 shows all"));
    }
    if options.json {
        // Written at once: of ten thousand lines each by itself, the writing would take longer than the reading.
        let mut lines = Vec::new();
        for run in &found {
            serde_json::to_writer(&mut lines, run).map_err(|error| Failure::usage(error.to_string()))?;
            lines.push(b'\n');
        }
        printer.json(&String::from_utf8_lossy(&lines));
    } else if found.is_empty() {
        let any = store.summaries(&Filter { limit: Some(1), ..Filter::default() })?;
        printer.remark(&if any.is_empty() {
            format!("no runs in {}; 'plimsoll demo' makes some", settings.store.display())
        } else {
            "no run matches".to_owned()
        });
    } else {
        let rows: Vec<plimsoll_report::RunSummary> = found.iter().map(row).collect();
        printer.result(&terminal::runs(&rows, printer.style));
    }
    Ok(exit::DONE)
}

fn row(run: &RunSummary) -> plimsoll_report::RunSummary {
    let headline = run.result.as_ref().map(|figure| {
        let limits = run.limit.iter().chain(&run.also).map(String::as_str);
        let bound = plimsoll_report::bound_by(limits, run.client_verdict.as_deref(), &figure.unit);
        Value { value: figure.value, unit: figure.unit.clone(), bound, ..Value::default() }
    });
    plimsoll_report::RunSummary {
        run_id: short(&run.run_id).to_owned(),
        started_at: run.started_at.clone(),
        test: run.test.clone(),
        basis: run.basis,
        target: run.target.clone(),
        label: run.label.clone(),
        headline,
        limit: plimsoll_report::limit_in_a_cell(run.limit.as_deref(), &run.also),
        state: plimsoll_report::ended(run.error_kind.as_deref(), run.ended_at.is_some(), run.complete),
    }
}

/// A stored run. One that has no end has the figures of its complete repetitions.
pub fn stored(store: &RunStore, run: &str) -> Result<RunRecord, StoreError> {
    let mut record = store.record(run)?;
    if record.ended_at.is_none() && record.results.is_empty() {
        let (name, text) = ("stored definition", &record.definition.text);
        let definition = match record.subject {
            Subject::Volume => suite::parse(name, text).ok().and_then(|suite| step::definition(&suite).ok()),
            Subject::Database => Definition::parse(name, text).ok(),
            Subject::Workload => None,
        };
        // Of a later release it may be one that can't be read.
        if let Some(definition) = definition {
            so_far(&mut record, &definition.steps);
        }
    }
    Ok(record)
}

/// Shows one run.
pub fn show(options: &Show, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let store = settings.read_store()?;
    let mut record = stored(&store, &options.run)?;
    multiples::apply(&options.multiples, store.as_ref(), std::slice::from_mut(&mut record))?;
    if options.json {
        let line = plimsoll_report::json_line(&record).map_err(|error| Failure::usage(error.to_string()))?;
        printer.json(&line);
    } else {
        printer.result(&terminal::run(&record, Style { full: options.full, ..printer.style }));
    }
    Ok(exit::DONE)
}
