//! The record of a run as it begins, and as it fails.

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind, Workspace};
use plimsoll_measurement::{Repetition, RunFailure, RunRecord, Subject, exit, run::SCHEMA_VERSION};

use super::plan::{On, Plan};
use crate::interrupt::Interrupt;
use crate::parameters::Parameters;
use crate::step::kind::{Consent, Step};

pub(super) fn new_record(plan: &Plan<'_>, parameters: &Parameters, on: On<'_>, clock: &Arc<dyn Clock>) -> RunRecord {
    let description = on.description;
    let mut record = RunRecord {
        catalog_edition: plan.catalog_edition.clone().or_else(|| description.edition.clone()),
        catalog_edition_date: description.edition_date.clone(),
        engine_version: Some(description.version.clone()),
        target_fingerprint: Some(description.fingerprint.clone()),
        environment: description.settings.clone(),
        subject: on.subject,
        warnings: parameters.notices().chain(description.warnings.iter().cloned()).collect(),
        ..blank_record(plan, parameters, &description.engine, clock)
    };
    // Known to whoever reads the record of a run that is killed.
    record.parameters.insert("page_bytes".to_owned(), description.page_bytes.into());
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
        engine: engine.to_owned(),
        clock: clock.kind().to_owned(),
        started_at: format!("{:.3}", clock.timestamp(clock.now())),
        campaign: plan.campaign.clone(),
        label: plan.label.clone(),
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
        catalog_edition: plan.catalog_edition.clone(),
        ceilings: plan.ceilings.clone(),
        build: plan.build.clone(),
        host: plan.host.clone(),
        ..RunRecord::default()
    }
}

/// The record of a run that never reached its target, so that scripts get an object for it all the same.
pub fn not_started(
    plan: &Plan<'_>,
    engine: &str,
    clock: &Arc<dyn Clock>,
    interrupt: &Interrupt,
    error: &Error,
) -> RunRecord {
    let now = Some(format!("{:.3}", clock.timestamp(clock.now())));
    let failure = failure(error, interrupt, &[]);
    RunRecord { ended_at: now, error: Some(failure), ..blank_record(plan, &plan.parameters, engine, clock) }
}

/// The place of a run as it is named where it may stay, with the databases beside it that tests of moves make.
fn named(place: &Workspace, plan: &Plan<'_>) -> String {
    let makes = |step: &Step| matches!((step.consent)(&plan.parameters), Some(Consent::Databases { .. }));
    if !plan.definition.steps.iter().any(makes) {
        return place.to_string();
    }
    let copy = place.copy('a').to_string();
    format!("{place}, and databases whose names begin with {}", copy.strip_suffix('a').unwrap_or(&copy))
}

/// What is said of a place that could not be removed.
pub(super) fn left_behind(error: &Error, record: &RunRecord, plan: &Plan<'_>) -> RunFailure {
    let place = Workspace::run(&record.run_id);
    let place = place.map_or_else(|_| String::new(), |place| format!(" ({})", named(&place, plan)));
    RunFailure {
        kind: error.kind.name().to_owned(),
        message: format!("what the run made at the target{place} was not removed: {}", error.message),
        hint: Some(match error.kind {
            ErrorKind::Safety => {
                format!(
                    "see to that first, where something has to be dropped or moved; then {}",
                    remedy(&record.target, record.subject)
                )
            }
            _ => after(error.hint.as_deref(), record),
        }),
        exit_code: if error.kind == ErrorKind::Permission { exit::NO_PERMISSION } else { exit::INCOMPLETE },
    }
}

/// What is said where a measure could not give everything back: of a file on this machine always, at a target where something of others or a missing
/// right is in the way. What was said before stays. `None` where it is an error like any other.
pub(super) fn stayed(error: &Error, record: &RunRecord, plan: &Plan<'_>, is_at_database: bool) -> Option<RunFailure> {
    if is_at_database {
        let is_in_the_way = matches!(error.kind, ErrorKind::Safety | ErrorKind::Permission);
        return is_in_the_way.then(|| left_behind(error, record, plan));
    }
    record.left_behind.clone().or_else(|| Some(left_here(error, record)))
}

/// What is said of a folder on this machine that could not be removed.
pub(super) fn left_here(error: &Error, record: &RunRecord) -> RunFailure {
    RunFailure {
        kind: error.kind.name().to_owned(),
        message: error.message.clone(),
        hint: Some(after(error.hint.as_deref(), record)),
        exit_code: exit::INCOMPLETE,
    }
}

/// What is said of a place by a program that is ended before it has removed it, or knows that it did.
pub(super) fn may_stay(place: &Workspace, target: &str, plan: &Plan<'_>) -> String {
    let changes_level =
        plan.definition.steps.iter().any(|step| (step.consent)(&plan.parameters) == Some(Consent::Level));
    let level = if changes_level {
        "; the level that it asked for may stay in effect, which may cost money: look, and ask for the old one"
    } else {
        ""
    };
    format!(
        "what the run made at the target ({}) may not be removed ({}){level}",
        named(place, plan),
        remedy(target, Subject::Database)
    )
}

/// A word as a shell reads it, whatever is in it.
pub fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What to do first, if there is something, and then the command that removes what stays, unless that is said with another target.
fn after(hint: Option<&str>, record: &RunRecord) -> String {
    let remedy = remedy(&record.target, record.subject);
    match hint {
        None => remedy,
        Some(hint) if hint.contains("plimsoll clean") => hint.to_owned(),
        Some(hint) => format!("{hint}; then {remedy}"),
    }
}

/// Of a volume's file nobody can tell later whether it was to be kept.
fn remedy(target: &str, subject: Subject) -> String {
    let data = if subject == Subject::Volume { "--data " } else { "" };
    format!("run: plimsoll clean {data}{}", in_shell(target))
}

/// The record's error where not all of it could be kept: an interrupt hides none of that.
pub(super) fn not_kept(error: &Error, interrupt: &Interrupt, repetitions: &[Repetition]) -> RunFailure {
    let failure = failure(error, &Interrupt::default(), repetitions);
    match interrupt.signal() {
        Some(_) => {
            let message =
                format!("the run was interrupted, and not all that was measured is kept: {}", failure.message);
            RunFailure { message, ..failure }
        }
        None => failure,
    }
}

/// The record's error: an interrupt hides behind whatever a cancelled statement said.
pub(super) fn failure(error: &Error, interrupt: &Interrupt, repetitions: &[Repetition]) -> RunFailure {
    let is_empty = |repetition: &Repetition| repetition.points.is_empty() && repetition.requests.is_empty();
    let has_begun = !repetitions.iter().all(is_empty);
    let how = if has_begun { "; what was measured is kept" } else { " before anything was measured" };
    match interrupt.signal() {
        Some(signal) => RunFailure {
            kind: ErrorKind::Cancelled.name().to_owned(),
            message: format!("the run was interrupted{how}"),
            hint: None,
            exit_code: exit::of_signal(signal),
        },
        // Whoever did it, it was not us.
        None if error.kind == ErrorKind::Cancelled => RunFailure {
            kind: ErrorKind::Statement.name().to_owned(),
            message: format!("the server ended a statement before it was done: {}", error.message),
            hint: Some(
                "lengthen its time limit for statements, or ask who ended it; then run the test again".to_owned(),
            ),
            exit_code: exit::INCOMPLETE,
        },
        None => RunFailure {
            kind: error.kind.name().to_owned(),
            message: error.message.clone(),
            hint: error.hint.clone().or_else(|| Some(next_step(error.kind).to_owned())),
            // A guard is what stops a run before it begins. What is gone in its midst is no wrong address.
            exit_code: match error.kind {
                ErrorKind::Safety | ErrorKind::Connect | ErrorKind::Missing if has_begun => exit::INCOMPLETE,
                kind => kind.exit_code(),
            },
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
        ErrorKind::Store => "name another store with --store FILE",
        ErrorKind::Cancelled => "start it again",
        ErrorKind::NoResult => "see what was tried, with 'plimsoll show'",
        ErrorKind::Statement => "'plimsoll doctor URL' tells what works on the target",
        ErrorKind::Internal => "please report it with the command and 'plimsoll doctor'",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::Point;

    /// A copy that may not be dropped any more is left, as one is in which something of others is.
    #[test]
    fn what_may_not_be_given_back_is_left_behind_with_its_command() {
        let definition = crate::definition::find_builtin("copy").unwrap();
        let plan = Plan {
            parameters: definition.parameters(true),
            definition: &definition,
            repetitions: 1,
            settle: std::time::Duration::ZERO,
            cold: plimsoll_engine::Cold::default(),
            levels: None,
            keep_data: false,
            without_samples: false,
            campaign: None,
            label: None,
            target: "postgres://h/d".to_owned(),
            reference: None,
            anchor: None,
            catalog_edition: None,
            ceilings: Vec::new(),
            build: "test".to_owned(),
            host: plimsoll_measurement::Host::default(),
        };
        let record = RunRecord { run_id: "abc".to_owned(), target: plan.target.clone(), ..RunRecord::default() };
        let of = |kind| stayed(&Error::new(kind, "must be owner of it"), &record, &plan, true);
        for kind in [ErrorKind::Permission, ErrorKind::Safety] {
            let left = of(kind).unwrap();
            assert!(left.message.contains("must be owner of it") && left.hint.unwrap().contains("plimsoll clean"));
        }
        assert!(of(ErrorKind::Statement).is_none());
    }

    #[test]
    fn an_interrupt_claims_to_keep_only_what_there_is() {
        let interrupt = Interrupt::default();
        interrupt.trigger(2);
        let error = Error::new(ErrorKind::Cancelled, "cancelled");
        let full = Error::new(ErrorKind::DiskFull, "the disk is full");
        let unkept = not_kept(&full, &interrupt, &[]);
        assert_eq!(unkept.message, "the run was interrupted, and not all that was measured is kept: the disk is full");
        assert_eq!(
            (unkept.kind.as_str(), unkept.exit_code),
            (ErrorKind::DiskFull.name(), ErrorKind::DiskFull.exit_code())
        );
        assert_eq!(in_shell("x'$(id)'y"), r"'x'\''$(id)'\''y'");
        let said = |repetitions: &[Repetition]| failure(&error, &interrupt, repetitions).message;
        assert_eq!(said(&[Repetition::default()]), "the run was interrupted before anything was measured");
        let measured = Repetition { points: vec![Point::default()], ..Repetition::default() };
        assert_eq!(said(&[measured]), "the run was interrupted; what was measured is kept");
        let theirs = failure(&error, &Interrupt::default(), &[]);
        assert_eq!((theirs.kind.as_str(), theirs.exit_code), ("statement", exit::INCOMPLETE));
    }
}
