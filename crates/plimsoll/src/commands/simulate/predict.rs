//! `plimsoll simulate --from RUN`: what the requests of a stored run would get on other hardware.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_lab::{Address, level};
use plimsoll_measurement::{Basis, RunRecord, Subject, exit};
use plimsoll_simulate::calibrate::{
    Calibrated, CalibrationError, Evidence, Hardware, LimitGain, Prediction, Telling, predicted,
};
use plimsoll_simulate::record::About;

use plimsoll_store::{Filter, LATEST, RunStore};

use crate::args::Simulate;
use crate::commands::compare::predictions;
use crate::commands::run::{build, present, this_machine};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::Settings;

/// What targets of the lab begin with.
const LAB: &str = "lab:";

/// Factors by which limits are raised for their gains.
const RAISED: [f64; 3] = [1.1, 1.5, 2.0];

/// Where a prediction is for.
struct Target {
    hardware: Hardware,
    name: String,
    edition: (Option<String>, Option<String>),
}

/// The run that is meant: the newest is the newest that was measured, as a prediction is a run as well.
fn named(run: &str, store: &RunStore) -> Result<String, Failure> {
    if run != LATEST {
        return Ok(run.to_owned());
    }
    let all = store.summaries(&Filter::default())?;
    let measured = all.into_iter().filter(|one| one.basis == Basis::Measured).max_by(|a, b| a.run_id.cmp(&b.run_id));
    Ok(measured.map_or_else(|| run.to_owned(), |one| one.run_id))
}

/// Predicts, keeps the prediction as a run, and shows it.
pub fn predict(run: &str, options: &Simulate, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    if options.on.is_none() && !options.gains {
        return Err(Failure::usage("--from RUN does not say what to predict")
            .hint("add --on SERVICE/LEVEL, --on MACHINE.toml or --gains; plimsoll catalog lists levels"));
    }
    let store = settings.read_store()?;
    let source = store.record(&named(run, &store)?)?;
    let clock = RealClock::new();
    let started_at = now(&clock);
    let evidence = Evidence::of(&source).map_err(|error| failure(&error))?;
    let (own, scale) = hardware(&source, &evidence)?;
    let target = match &options.on {
        Some(on) => target(on, &own, scale, &source)?,
        None => Target {
            hardware: own.clone(),
            name: source.target.clone(),
            edition: (source.catalog_edition.clone(), source.catalog_edition_date.clone()),
        },
    };
    let Computed { calibrated, prediction, gains } = watched(printer, |done| {
        let calibrated = Calibrated::of(&source, evidence, own, done).map_err(|error| failure(&error))?;
        let prediction = calibrated.predict(&target.hardware).map_err(|error| failure(&error))?;
        let gains = if options.gains { calibrated.gains(&prediction.hardware, &RAISED) } else { Vec::new() };
        Ok(Computed { calibrated, prediction, gains })
    })?;
    let about = About {
        run_id: uuid::Uuid::now_v7().simple().to_string(),
        started_at,
        ended_at: now(&clock),
        build: build(),
        campaign: options.campaign.clone(),
        text: source.definition.text.clone(),
        host: this_machine(),
    };
    let score = predictions::score(&store, Some(&source.engine))?;
    drop(store);
    let telling = Telling {
        source: &source,
        calibrated: &calibrated,
        prediction: &prediction,
        target: target.name,
        edition: target.edition,
        gains: &gains,
        score,
    };
    let Some((events, record)) = predicted(&about, &telling) else {
        return Err(Failure::usage("the prediction came to no run").code(exit::INTERNAL));
    };
    let store = settings.open_store()?;
    store.append(&events)?;
    present(&record, options.json, printer)?;
    Ok(exit::DONE)
}

/// What the model says.
struct Computed {
    calibrated: Calibrated,
    prediction: Prediction,
    gains: Vec<LimitGain>,
}

/// Computes in a thread of its own, and says how many simulations are done.
fn watched(
    printer: &Printer,
    compute: impl FnOnce(&Arc<AtomicU64>) -> Result<Computed, Failure> + Send,
) -> Result<Computed, Failure> {
    let done = Arc::default();
    std::thread::scope(|scope| {
        let (sender, computed) = mpsc::channel();
        let counter = Arc::clone(&done);
        // Whoever waits is there until it is told.
        scope.spawn(move || drop(sender.send(compute(&counter))));
        let mut progress = Progress::new(printer, "simulate".to_owned(), Subject::Database, 1);
        loop {
            match computed.recv_timeout(LOOK_EVERY) {
                Ok(computed) => return computed,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    progress.says(&format!("{} simulations are done", done.load(Ordering::Relaxed)));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::usage("the prediction came to no end").code(exit::INTERNAL));
                }
            }
        }
    })
}

/// How often is said how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The hardware of a run, and by what its volumes were divided. That of the lab is known; of a real server it is what the run saw of it.
fn hardware(source: &RunRecord, evidence: &Evidence) -> Result<(Hardware, u64), Failure> {
    if !source.target.starts_with(LAB) {
        return Ok((Hardware::observed(source, evidence), 1));
    }
    let address = Address::parse(&source.target)?;
    if !address.faults.is_empty() {
        return Err(Failure::usage("the run had faults of the lab on purpose, which no hardware has")
            .hint("predict from a run without ?fault="));
    }
    let level = level::find(&address)?;
    let hardware = Hardware::described(source, level.spec).map_err(|error| failure(&error))?;
    Ok((hardware, address.scale))
}

/// A scale as targets have it.
fn written(scale: u64) -> String {
    if scale > 1 { format!("1/{scale}") } else { "1".to_owned() }
}

/// The hardware that is meant, at the scale of the run.
fn target(on: &str, own: &Hardware, scale: u64, source: &RunRecord) -> Result<Target, Failure> {
    let on = on.strip_prefix(LAB).unwrap_or(on);
    if on.split(['?', '&']).any(|option| option.starts_with("scale=")) {
        return Err(Failure::usage(format!("--on {on}: the scale is that of the run")).hint("leave it out"));
    }
    let (subject, options) =
        on.split_once('?').map_or((on, String::new()), |(subject, options)| (subject, format!("&{options}")));
    let address = Address::parse(&format!("{LAB}{subject}?scale={}{options}", written(scale)))?;
    let level = level::find(&address)?;
    let hardware = own.moved_to(&level.spec, level.disk.is_some());
    let scheme = if source.target.starts_with(LAB) { LAB } else { "hardware:" };
    Ok(Target { hardware, name: format!("{scheme}{on}"), edition: (level.edition, level.edition_date) })
}

fn failure(error: &CalibrationError) -> Failure {
    let message =
        if error.lacks_evidence { format!("there is not enough evidence: {error}") } else { error.to_string() };
    let code = if error.lacks_evidence { exit::INCOMPLETE } else { exit::USAGE };
    Failure::usage(message).hint(error.hint.clone()).code(code)
}

/// The time of day, as records keep it.
pub fn now(clock: &RealClock) -> String {
    format!("{:.3}", clock.timestamp(clock.now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_of_a_run_is_one_of_a_target() {
        for scale in [1, 2, 10, 16, 64, 128, 4096] {
            let address = Address::parse(&format!("{LAB}azure-sql-db/S2?scale={}", written(scale))).unwrap();
            assert_eq!(address.scale, scale);
        }
    }
}
