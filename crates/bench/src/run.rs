//! The life cycle of a run: prepare, repeat, clean up. Whatever happens in between (an error, Ctrl-C, a lost server),
//! what was measured is kept and what was made at the target is removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::bottleneck;
use plimsoll_analysis::consistency::minutes;
use plimsoll_analysis::ladder::{Anchor, cpu_table};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{ClaimMode, Cold, Database, Error, ErrorKind, Lease, Result, Workspace, WorkspaceKind, process};
use plimsoll_measurement::event::{Kind, head, repetition_head};
use plimsoll_measurement::{
    AbsentFigure, Basis, Host, Repetition, RunFailure, RunRecord, Subject, Verdict, exit, run::SCHEMA_VERSION, units,
};

use crate::definition::Definition;
use crate::events::{EventLog, Sinks};
use crate::figures::{Measured, Series, doubt_client, series, steady};
use crate::interrupt::Interrupt;
use crate::parameters::Parameters;
use crate::sampling::Sampling;
use crate::scratch;
use crate::step::{Context, LevelWords, Measure, Step, scan};
use crate::truth;

/// How long a target may take to answer after an interrupt before it is left alone.
const ANSWER_PATIENCE: Duration = Duration::from_millis(1_300);

/// What to run, and how.
pub struct Plan<'a> {
    /// The test.
    pub definition: &'a Definition,
    /// Its parameters as the user wants them, for full volumes.
    pub parameters: Parameters,
    /// How often to repeat it, 1 to 26.
    pub repetitions: u32,
    /// How long to wait between provisioning and each repetition.
    pub settle: Duration,
    /// What may be done to make the cache cold.
    pub cold: Cold,
    /// Commands that change the level of a target that can't do so itself.
    pub levels: Option<LevelWords>,
    /// Whether to keep the data set.
    pub keep_data: bool,
    /// Whether to leave the engine and its machine unwatched while measuring.
    pub without_samples: bool,
    /// The campaign it belongs to.
    pub campaign: Option<String>,
    /// The target's URL without secrets.
    pub target: String,
    /// Run that counts as 1 in the ladder's second block: its id and repetitions.
    pub reference: Option<(String, Vec<Repetition>)>,
    /// What the ladder's third block is anchored to.
    pub anchor: Option<Anchor<'a>>,
    /// Edition of the catalogue behind the anchor, if it comes from there.
    pub catalog_edition: Option<String>,
    /// Version of the program.
    pub build: String,
    /// The machine that measures: what is known of it before the run.
    pub host: Host,
}

/// Volumes beyond this are refused where the free space can't be known.
const LARGEST_UNCHECKED_BYTES: u64 = 64 << 40;

/// Room that is left on the target's disk whatever a test asks for.
const RESERVE_BYTES: u64 = 16 << 20;

/// Runs a test on a target. The record always comes back, complete or with its error; it is what its events make of it.
pub fn execute(
    plan: &Plan<'_>,
    database: &dyn Database,
    clock: &Arc<dyn Clock>,
    interrupt: &Interrupt,
    sinks: Sinks,
) -> RunRecord {
    let real = RealClock::new();
    let (start, real_start) = (clock.now(), real.now());
    let parameters = plan.parameters.scaled(database.description().scale);
    let mut record = new_record(plan, &parameters, database, clock);
    let mut log = EventLog::new(&record.run_id, clock, sinks);
    let cpu_before = process::own_cpu_seconds();
    let outcome = log.tell(Kind::Begun(Box::new(record.clone()))).and_then(|()| {
        let outcome = measure(plan, &parameters, database, clock, interrupt, &mut log, &mut record);
        interrupt.shield();
        log.activity("cleaning up");
        outcome
    });
    record.repetitions = log.record().map(|so_far| so_far.repetitions).unwrap_or_default();
    if interrupt.signal().is_some() {
        // A second signal ends the program at once, also while it cleans up.
        let mut so_far = record.clone();
        conclude(plan, &parameters, database, clock, interrupt, &outcome, &mut so_far);
        so_far.ended_at = Some(log.now());
        // If it can't be kept now, the end says so.
        let _ = log.tell(Kind::Finished(Box::new(head(&so_far))));
    }
    let removed = if interrupt.is_silent() {
        Err(Error::new(ErrorKind::Lost, "the server was not waited for any longer"))
    } else {
        Workspace::run(&record.run_id).and_then(|workspace| remove_own(database, &workspace))
    };
    if let Err(error) = removed {
        let later = "what the run made at the target could not be removed; 'plimsoll clean' does it later";
        record.warnings.push(format!("{later} ({error})"));
    }
    interrupt.unshield();
    conclude(plan, &parameters, database, clock, interrupt, &outcome, &mut record);
    record.ended_at = Some(log.now());
    record.virtual_seconds = (clock.kind() == "virtual").then(|| clock.now().since(start).as_secs_f64());
    record.host.real_seconds = Some(real.now().since(real_start).as_secs_f64());
    record.host.client_cpu_seconds = Some(process::own_cpu_seconds() - cpu_before);
    if let Err(error) = log.tell(Kind::Finished(Box::new(head(&record)))) {
        let failure = failure(&error, interrupt, &record.repetitions);
        record.error.get_or_insert(failure);
        // Perhaps there is room now. If not, nobody but the caller learns of it.
        let _ = log.tell(Kind::Finished(Box::new(head(&record))));
    }
    log.record().unwrap_or(record)
}

/// What the repetitions come to: figures, truth, verdict, warnings, and the error if there was one.
fn conclude(
    plan: &Plan<'_>,
    parameters: &Parameters,
    database: &dyn Database,
    clock: &Arc<dyn Clock>,
    interrupt: &Interrupt,
    outcome: &Result<()>,
    record: &mut RunRecord,
) {
    let target = Measured { page_bytes: database.description().page_bytes, scale: database.description().scale };
    let mut series = series(&plan.definition.steps, &record.repetitions, target);
    doubt_client(&mut series, record);
    record.results = series.iter().filter_map(Series::figure).collect();
    let absent = |series: &Series| {
        let reason = series.absent.as_ref()?;
        Some(AbsentFigure { metric: series.metric.to_owned(), reason: reason.clone() })
    };
    record.absent = series.iter().filter_map(absent).collect();
    for (metric, doubt) in series.iter().filter_map(|series| Some((series.metric, series.doubt.as_ref()?))) {
        record.warnings.push(format!("{metric}: {doubt}"));
    }
    if let Err(error) = truth::tell(&plan.definition.steps, parameters, database, record) {
        record.warnings.push(format!("what the target should show can't be computed: {error}"));
    }
    record.result = record.results.first().cloned();
    record.verdict = bottleneck::record::verdict(record);
    let has_modelled_client = record.ceilings.iter().any(|ceiling| ceiling.resource == "client_cpu");
    if clock.kind() == "virtual" && has_modelled_client {
        // It is part of the scenario, and the samples tell of it; our own takes no time there.
        record.host.client = None;
    }
    if plan.definition.steps.contains(&Step::Join) {
        let reference = plan.reference.as_ref().map(|(id, repetitions)| (id.as_str(), repetitions.as_slice()));
        let mut table = cpu_table(&record.repetitions, reference, plan.anchor);
        for row in &mut table.rows {
            row.growth_exponent = row.growth_exponent.map(steady);
        }
        record.cpu_table = (!table.rows.is_empty()).then_some(table);
    }
    match record.repetitions.iter().filter(|repetition| repetition.complete).count() {
        1 => record.warnings.push("one complete repetition only: the figures have no interval".to_owned()),
        2 => record
            .warnings
            .push("two complete repetitions only: the intervals are very wide, a third narrows them".to_owned()),
        _ => {}
    }
    record.error = outcome.as_ref().err().map(|error| failure(error, interrupt, &record.repetitions));
}

/// The record of a run that never reached its target, so that scripts get an object for it all the same.
pub fn not_started(plan: &Plan<'_>, engine: &str, clock: &Arc<dyn Clock>, error: &Error) -> RunRecord {
    let now = Some(format!("{:.3}", clock.timestamp(clock.now())));
    let failure = failure(error, &Interrupt::default(), &[]);
    RunRecord { ended_at: now, error: Some(failure), ..blank_record(plan, &plan.parameters, engine, clock) }
}

/// The record's error: an interrupt hides behind whatever a cancelled statement said.
fn failure(error: &Error, interrupt: &Interrupt, repetitions: &[Repetition]) -> RunFailure {
    let is_empty = |repetition: &Repetition| repetition.points.is_empty() && repetition.requests.is_empty();
    let how =
        if repetitions.iter().all(is_empty) { " before anything was measured" } else { "; what was measured is kept" };
    match interrupt.signal() {
        Some(signal) => RunFailure {
            kind: ErrorKind::Cancelled.name().to_owned(),
            message: format!("the run was interrupted{how}"),
            hint: None,
            exit_code: if signal == 15 { exit::TERMINATED } else { exit::INTERRUPTED },
        },
        None => RunFailure {
            kind: error.kind.name().to_owned(),
            message: error.message.clone(),
            hint: error.hint.clone().or_else(|| Some(next_step(error.kind).to_owned())),
            exit_code: error.kind.exit_code(),
        },
    }
}

/// What to do about an error that does not say it itself.
pub fn next_step(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage | ErrorKind::Unsupported => "see 'plimsoll run --help' and 'plimsoll tests show TEST'",
        ErrorKind::ToolMissing => "install the engine's client programs on this machine",
        ErrorKind::Connect | ErrorKind::Missing => "check the URL; 'plimsoll doctor URL' tries it",
        ErrorKind::Authenticate => {
            "check user and password, which comes from --password-file FILE, PLIMSOLL_PASSWORD or a prompt; 'plimsoll doctor \
             URL' tries it"
        }
        ErrorKind::PasswordNeeded => {
            "give it by --password-file FILE or PLIMSOLL_PASSWORD, or run on a terminal to be asked"
        }
        ErrorKind::Permission => "'plimsoll doctor URL' tells what this user may do",
        ErrorKind::Safety | ErrorKind::DiskFull => "free some space, or ask for less with --set volume=...",
        ErrorKind::Lost => "see whether the server is up and why it ended the session, then run the test again",
        ErrorKind::Busy => "wait for whoever holds the lock, then run the test again",
        ErrorKind::Cancelled => "run the test again",
        ErrorKind::Statement => "'plimsoll doctor URL' tells what works on the target",
        ErrorKind::Internal => "please report it with the command and 'plimsoll doctor'",
    }
}

/// Removes the run's own place. A lease that still stands on it is the server's, which has not noticed our end yet.
fn remove_own(database: &dyn Database, workspace: &Workspace) -> Result<()> {
    if database.remove(workspace)? || !database.workspaces()?.iter().any(|status| status.workspace == *workspace) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Busy, "its lease still stands"))
}

fn new_record(plan: &Plan<'_>, parameters: &Parameters, database: &dyn Database, clock: &Arc<dyn Clock>) -> RunRecord {
    let description = database.description();
    let mut record = RunRecord {
        catalog_edition: plan.catalog_edition.clone().or_else(|| description.edition.clone()),
        engine_version: Some(description.version.clone()),
        target_fingerprint: Some(description.fingerprint.clone()),
        environment: description.settings.clone(),
        warnings: description.warnings.clone(),
        ..blank_record(plan, parameters, &description.engine, clock)
    };
    if description.scale > 1 {
        record.parameters.insert("scale".to_owned(), description.scale.into());
    }
    record
}

fn blank_record(plan: &Plan<'_>, parameters: &Parameters, engine: &str, clock: &Arc<dyn Clock>) -> RunRecord {
    let group = plan.definition.group.iter().map(|group| ("group".to_owned(), group.as_str().into()));
    let variables = plan.definition.own.iter().flat_map(|own| &own.variables);
    RunRecord {
        schema_version: SCHEMA_VERSION.to_owned(),
        run_id: uuid::Uuid::now_v7().simple().to_string(),
        test: plan.definition.name.clone(),
        target: plan.target.clone(),
        subject: Subject::Database,
        basis: Basis::Measured,
        engine: engine.to_owned(),
        engine_version: None,
        clock: clock.kind().to_owned(),
        started_at: format!("{:.3}", clock.timestamp(clock.now())),
        ended_at: None,
        virtual_seconds: None,
        campaign: plan.campaign.clone(),
        parameters: parameters
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_json()))
            .chain(group)
            .chain(variables.map(|(name, value)| (name.clone(), (*value).into())))
            .collect(),
        definition: plimsoll_measurement::Definition {
            hash: plan.definition.hash(),
            text: plan.definition.text.clone(),
        },
        target_fingerprint: None,
        environment: BTreeMap::new(),
        catalog_edition: plan.catalog_edition.clone(),
        build: plan.build.clone(),
        ceilings: Vec::new(),
        repetitions: Vec::new(),
        result: None,
        results: Vec::new(),
        absent: Vec::new(),
        cpu_table: None,
        expected: None,
        verdict: Verdict::default(),
        warnings: Vec::new(),
        error: None,
        host: plan.host.clone(),
    }
}

fn measure(
    plan: &Plan<'_>,
    parameters: &Parameters,
    database: &dyn Database,
    clock: &Arc<dyn Clock>,
    interrupt: &Interrupt,
    log: &mut EventLog,
    record: &mut RunRecord,
) -> Result<()> {
    interrupt.check()?;
    plan.parameters.check_scale(database.description().scale)?;
    guard_space(plan, parameters, database)?;
    log.activity("looking for leftovers of killed runs");
    if plan.definition.steps.contains(&Step::Restore) {
        scratch::remove_leftovers();
    }
    let is_virtual = clock.kind() == "virtual";
    // What others left or do at a target is of this machine and this moment: no part of a run in virtual time.
    remove_leftovers(database, if is_virtual { &mut record.host.warnings } else { &mut record.warnings })?;
    let workspace = Workspace::run(&record.run_id)?;
    let mut lease = database
        .claim(&workspace, ClaimMode::Exclusive)?
        .ok_or_else(|| Error::new(ErrorKind::Busy, "somebody else holds the lease on this run's own place"))?;
    let (start, real) = (clock.now(), RealClock::new());
    let several = plan.definition.steps.len() > 1;
    let mut measures: Vec<(Step, Box<dyn Measure>)> =
        plan.definition.steps.iter().map(|step| (*step, step.measure())).collect();
    let page_bytes = database.description().page_bytes;
    let mut facts = BTreeMap::from([
        ("page_bytes".to_owned(), page_bytes.into()),
        ("settle_seconds".to_owned(), plan.settle.as_secs_f64().into()),
    ]);
    let mut sampling = Sampling::new(plan.without_samples);
    let mut outcome = Ok(());
    // Preparing is repetition zero: it has the same context and no points.
    for number in 0..=plan.repetitions {
        let label = (b'a' + number.saturating_sub(1) as u8) as char;
        let begun = clock.now();
        let real_begun = real.now();
        let mut time_zero = begun;
        let mut repetition = Repetition {
            label: label.to_string(),
            started_seconds: begun.since(start).as_secs_f64(),
            ..Repetition::default()
        };
        if number > 0 {
            log.tell(Kind::Repetition(Box::new(repetition.clone())))?;
        }
        outcome = measures.iter_mut().try_for_each(|(step, measure)| {
            let mut context = Context {
                database,
                workspace: &workspace,
                lease: lease.as_mut(),
                parameters,
                mix: &plan.definition.mix,
                own: plan.definition.own.as_ref(),
                keep_data: plan.keep_data,
                cold: &plan.cold,
                levels: plan.levels.as_ref(),
                settle: plan.settle,
                clock,
                interrupt,
                log: &mut *log,
                repetition: &mut repetition,
                run_id: &record.run_id,
                repetition_start: time_zero,
                phase: several.then(|| step.name()),
                warnings: &mut record.warnings,
                client: &mut record.host.client,
                cpus: record.host.cpus,
                host_warnings: &mut record.host.warnings,
                sampling: &mut sampling,
                facts: &mut facts,
            };
            if number == 0 {
                return measure.prepare(&mut context);
            }
            // A cold scan waits between making cold and scanning, which is what settling is for.
            if !plan.settle.is_zero() && !step.settles_itself(parameters) {
                context.log.activity("settling");
                context.wait(plan.settle)?;
            }
            let outcome = measure.repeat(&mut context);
            context.end();
            time_zero = context.repetition_start;
            outcome
        });
        if number == 0 {
            record.host.preparation_seconds = Some(real.now().since(real_begun).as_secs_f64());
        } else {
            repetition.complete = outcome.is_ok();
            repetition.minutes = minutes(&repetition.points);
            let kept = log.tell(Kind::Repetition(Box::new(repetition_head(&repetition))));
            outcome = outcome.and(kept);
        }
        record.parameters.extend(facts.clone());
        if outcome.is_err() {
            break;
        }
    }
    let is_silent = interrupt.settle_silence(|| database.answers(ANSWER_PATIENCE));
    // A measure that can't give anything back leaves its sessions to their end.
    for (_, measure) in measures.iter_mut().filter(|_| !is_silent) {
        if let Err(error) = measure.finish(database, &workspace) {
            record.warnings.push(format!("not everything was given back at the target: {error}"));
            outcome = outcome.and(Err(error));
        }
    }
    record.ceilings = std::mem::take(&mut sampling.ceilings);
    record.host.sampling = sampling.cost();
    record.warnings.extend(database.warnings());
    // The lease falls here, after the last session of the run is closed: only then may the place be removed.
    give_back(lease, is_silent);
    outcome
}

/// Lets a lease fall; where the server is silent in a thread of its own, since that waits for an answer.
fn give_back(lease: Box<dyn Lease>, is_silent: bool) {
    if is_silent {
        let _ = std::thread::Builder::new().name("lease".to_owned()).spawn(move || drop(lease));
    }
}

/// Removes the places of runs whose lease has fallen. Kept data sets stay; they are for `plimsoll clean --data`.
fn remove_leftovers(database: &dyn Database, warnings: &mut Vec<String>) -> Result<()> {
    let mut removed = 0;
    if database.end_orphans()? > 0 {
        warnings.push("sessions of a killed run were still working on the target and were ended".to_owned());
    }
    let workspaces = database.workspaces()?;
    if workspaces.iter().any(|status| status.workspace.kind() == WorkspaceKind::Run && status.leased) {
        warnings.push("another run was working on the target at the start: the two measure each other".to_owned());
    }
    for status in workspaces {
        if status.workspace.kind() != WorkspaceKind::Data && !status.leased {
            match database.remove(&status.workspace) {
                Ok(gone) => removed += u32::from(gone),
                // Another user's leftovers must not stand in our way.
                Err(error) => {
                    warnings.push(format!("{} of a killed run could not be removed: {error}", status.workspace));
                }
            }
        }
    }
    if removed > 0 {
        warnings.push(format!(
            "leftovers of {removed} killed run{} were removed first",
            if removed == 1 { "" } else { "s" }
        ));
    }
    Ok(())
}

/// Refuses what would not fit, before anything is changed.
fn guard_space(plan: &Plan<'_>, parameters: &Parameters, database: &dyn Database) -> Result<()> {
    let kept = scan::wanted(parameters, database.description().page_bytes).workspace();
    let kept = plan.definition.steps.contains(&Step::Scan)
        && database.workspaces()?.iter().any(|status| status.workspace == kept);
    let needed = plan.definition.steps.iter().map(|step| step.space_bytes(parameters, kept));
    let needed = needed.fold(0, u64::saturating_add);
    let hint = "ask for less with --set volume=..., or free some space";
    match database.free_bytes() {
        Some(free) if needed.saturating_add(RESERVE_BYTES) > free => {
            let (needed, free) = (units::format_bytes(needed), units::format_bytes(free));
            Err(Error::new(ErrorKind::Safety, format!("the test may take {needed}, but only {free} are free"))
                .hint(hint))
        }
        None if needed > LARGEST_UNCHECKED_BYTES => {
            let needed = units::format_bytes(needed);
            Err(Error::new(
                ErrorKind::Safety,
                format!("the test may take {needed}, and the target's free space can't be seen from here"),
            )
            .hint(hint))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::Point;

    #[test]
    fn an_interrupt_claims_to_keep_only_what_there_is() {
        let interrupt = Interrupt::default();
        interrupt.trigger(2);
        let error = Error::new(ErrorKind::Cancelled, "cancelled");
        let said = |repetitions: &[Repetition]| failure(&error, &interrupt, repetitions).message;
        assert_eq!(said(&[Repetition::default()]), "the run was interrupted before anything was measured");
        let measured = Repetition { points: vec![Point::default()], ..Repetition::default() };
        assert_eq!(said(&[measured]), "the run was interrupted; what was measured is kept");
    }
}
