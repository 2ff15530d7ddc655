//! The life cycle of a run: prepare, repeat, clean up. Whatever happens in between (an error, Ctrl-C, a lost server),
//! what was measured is kept and what was made at the target is removed.

pub mod needs;
pub mod place;
pub mod plan;
pub mod record;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_analysis::bottleneck;
use plimsoll_analysis::consistency::minutes;
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::capability::MAKING_WORKSPACES;
use plimsoll_engine::work::Work;
use plimsoll_engine::{
    ClaimMode, Database, Description, Error, ErrorKind, Lease, Result, Row, RowSource, Workspace, process,
};
use plimsoll_measurement::event::{Kind, head, repetition_head};
use plimsoll_measurement::run::NOT_AVAILABLE;
use plimsoll_measurement::{AbsentFigure, Client, Expected, Repetition, RunRecord};

use self::place::{ANSWER_PATIENCE, give_back, guard_space, is_gone, remove_leftovers, remove_own, stays};
use self::record::{failure, left_behind, left_here, may_stay, new_record, not_kept, stayed};
use crate::definition::Definition;
use crate::events::{EventLog, Sinks};
use crate::figures::of_run::{doubt_client, own_verdict, series};
use crate::figures::series::Series;
use crate::interrupt::Interrupt;
use crate::parameters::Parameters;
use crate::sampling::Sampling;
use crate::step::context::{Context, Keep, Target, Time};
use crate::step::kind::{Asked, Measures, Ran, Step, contradiction};

pub use self::plan::{On, Plan};
pub use self::record::{next_step, not_started};

/// Runs a test on a target. The record always comes back, complete or with its error; it is what its events make of it.
pub fn execute<'a>(
    plan: &Plan<'_>,
    on: impl Into<On<'a>>,
    clock: &Arc<dyn Clock>,
    interrupt: &Interrupt,
    sinks: Sinks,
) -> RunRecord {
    let (on, real) = (on.into(), RealClock::new());
    let (start, real_start) = (clock.now(), real.now());
    let parameters = &plan.parameters.scaled(on.description.scale);
    let has_place = Cell::new(false);
    let run = Run { plan, parameters, on, clock, interrupt, has_place: &has_place };
    let mut record = new_record(plan, parameters, on, clock);
    let mut log = EventLog::new(&record.run_id, clock, sinks);
    let cpu_before = process::own_cpu_seconds();
    // Until the end: an interrupt gives the cleaning too no more than its time.
    let pulse = on.database.and_then(Database::pulse).map(|pulse| interrupt.watch(pulse));
    let outcome = log.tell(Kind::Begun(Box::new(record.clone()))).and_then(|()| {
        let outcome = run.measure(&mut log, &mut record);
        interrupt.shield();
        log.activity("cleaning up");
        outcome
    });
    record.repetitions = log.record().map(|so_far| so_far.repetitions).unwrap_or_default();
    let outcome = outcome.and_then(|()| {
        let mut invalid =
            plan.definition.steps.iter().filter_map(|step| (step.invalid)(parameters, &record.repetitions));
        invalid.next().map_or(Ok(()), Err)
    });
    if interrupt.signal().is_some() {
        // A second signal ends the program at once, also while it cleans up.
        let mut so_far = record.clone();
        run.conclude(&outcome, &mut so_far);
        so_far.ended_at = Some(log.now());
        // If it can't be kept now, the end says so.
        let _ = log.tell(Kind::Finished(Box::new(head(&so_far))));
    }
    // A run that could not even begin has made nothing.
    let has_begun = outcome.is_ok() || has_place.get() || !record.repetitions.is_empty();
    if has_begun {
        // It had a place of its own, whatever the server says of its user's rights.
        let refuted = format!("{MAKING_WORKSPACES}{NOT_AVAILABLE}");
        record.warnings.retain(|warning| !warning.starts_with(&refuted));
    }
    let removed = match on.database {
        Some(database) => Workspace::run(&record.run_id).and_then(|workspace| {
            let is_gone = has_begun && is_gone(database, &workspace, interrupt);
            remove_own(database, &workspace, interrupt, clock.as_ref())?;
            // Who may not see it any more may not remove it either.
            if is_gone {
                record.warnings.push(format!(
                    "{workspace} was not at the target any more at the end: somebody moved, renamed or removed it; what was moved or \
                     renamed stays, as plimsoll does not know its new name"
                ));
            }
            Ok(())
        }),
        None => Ok(()),
    };
    drop(pulse);
    if let Some(error) = stays(removed, has_begun, &outcome) {
        let later = if error.kind == ErrorKind::Safety { "" } else { "; 'plimsoll clean' does it later" };
        record.warnings.push(format!("what the run made at the target could not be removed{later} ({error})"));
        let left = left_behind(&error, &record, plan);
        record.left_behind.get_or_insert(left);
    } else if record.left_behind.is_none() {
        interrupt.owe(None);
    }
    interrupt.unshield();
    run.conclude(&outcome, &mut record);
    record.ended_at = Some(log.now());
    record.virtual_seconds = (clock.kind() == "virtual").then(|| clock.now().since(start).as_secs_f64());
    record.host.real_seconds = Some(real.now().since(real_start).as_secs_f64());
    record.host.client_cpu_seconds = Some(process::own_cpu_seconds() - cpu_before);
    if let Err(error) = log.tell(Kind::Finished(Box::new(head(&record)))) {
        // An interrupt is no reason; whatever else failed came before.
        if interrupt.signal().is_some() || record.error.is_none() {
            record.error = Some(not_kept(&error, interrupt, &record.repetitions));
        }
        // Perhaps there is room now. If not, only the caller learns of it.
        let _ = log.tell(Kind::Finished(Box::new(head(&record))));
    }
    log.record().unwrap_or(record)
}

/// Rows until somebody interrupts.
struct UntilInterrupted<'a> {
    rows: Box<dyn RowSource + 'a>,
    interrupt: Interrupt,
}

impl RowSource for UntilInterrupted<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        self.interrupt.check()?;
        self.rows.next(row)
    }
}

/// Lets a measure give back what it holds, if it has begun at all.
fn finish(measures: &mut Measures, at: Option<(&dyn Database, &Workspace)>, interrupt: &Interrupt) -> Result<()> {
    match (measures, at) {
        (Measures::AtDatabase(measure), Some((database, workspace))) => measure.finish(database, workspace, interrupt),
        (Measures::AtDatabase(_), None) => Ok(()),
        (Measures::Alone(alone), _) => alone.finish(),
    }
}

/// A place of the run's own, and the lease on it.
type Place = (Workspace, Box<dyn Lease>);

#[derive(Clone, Copy)]
struct Run<'a> {
    plan: &'a Plan<'a>,
    /// Its parameters on this target.
    parameters: &'a Parameters,
    on: On<'a>,
    clock: &'a Arc<dyn Clock>,
    interrupt: &'a Interrupt,
    /// Whether the run has a place of its own by now.
    has_place: &'a Cell<bool>,
}

impl Run<'_> {
    /// What the repetitions come to: figures, truth, verdict, warnings, and the error if there was one.
    fn conclude(self, outcome: &Result<()>, record: &mut RunRecord) {
        let Self { plan, on, clock, interrupt, .. } = self;
        let Description { page_bytes, scale, .. } = on.description;
        let mut series = series(&plan.definition.steps, &record.repetitions, (*page_bytes, *scale));
        doubt_client(&mut series, record);
        record.results = series.iter().filter_map(Series::figure).collect();
        let absent = |series: &Series| {
            let reason = series.absent.as_ref()?;
            Some(AbsentFigure { metric: series.metric.clone(), reason: reason.clone() })
        };
        record.absent = series.iter().filter_map(absent).collect();
        for (metric, doubt) in series.iter().filter_map(|series| Some((&series.metric, series.doubt.as_ref()?))) {
            record.warnings.push(format!("{metric}: {doubt}"));
        }
        let expected = self.expect(record);
        if let Err(error) = &expected {
            record.warnings.push(format!("what the target should show can't be computed: {error}"));
        }
        record.result = record.results.first().cloned();
        let own = own_verdict(&plan.definition.steps, &record.repetitions, (*page_bytes, *scale));
        record.verdict = own.unwrap_or_else(|| bottleneck::record::verdict(record));
        let has_modelled_client = record.ceilings.iter().any(|ceiling| ceiling.resource == "client_cpu");
        // A modelled one is part of the scenario, and the samples tell of it; our own takes no time there. Without a figure there is
        // nothing that it could have held back.
        if (clock.kind() == "virtual" && has_modelled_client) || record.results.is_empty() {
            record.host.client = None;
        }
        let reference = plan.reference.as_ref().map(|(id, repetitions)| (id.as_str(), repetitions.as_slice()));
        let mut steps = plan.definition.steps.iter();
        record.cpu_table = steps.find_map(|step| (step.cpu_table)(&record.repetitions, reference, plan.anchor));
        match record.repetitions.iter().filter(|repetition| repetition.complete).count() {
            1 => record.warnings.push("one complete repetition only: the figures have no interval".to_owned()),
            2 => record.warnings.push(
                "two complete repetitions only: their range stands in place of an interval, a third gives one"
                    .to_owned(),
            ),
            _ => {}
        }
        // A run that was interrupted only here has all its figures, and did not come to its end all the same.
        let cut_short = expected.as_ref().err().filter(|_| interrupt.signal().is_some());
        let error = outcome.as_ref().err().or(cut_short);
        record.error = error.map(|error| failure(error, interrupt, &record.repetitions));
    }

    /// Puts what figures should be beside them, where the target or a step can say it.
    fn expect(self, record: &mut RunRecord) -> Result<()> {
        let Self { plan, parameters, on, .. } = self;
        // Rows of large volumes take a while to go through: not for a run that was interrupted before it had a figure.
        if record.results.is_empty() {
            return Ok(());
        }
        let interrupt = self.interrupt.clone();
        let mut ask = |work: Work<'_>| {
            let work = work.with_rows(&|rows| Box::new(UntilInterrupted { rows, interrupt: interrupt.clone() }));
            on.database.map_or(Ok(None), |database| database.expect(work))
        };
        let mut all = Vec::new();
        for step in plan.definition.steps.iter() {
            let ran = Ran { parameters, record, page_bytes: on.description.page_bytes };
            all.extend((step.expects)(&ran, &mut ask)?);
        }
        for expected in all {
            let own = record.results.iter_mut().find(|figure| figure.metric == expected.metric);
            let Some(figure) = own else { continue };
            figure.expected = Some(Expected {
                value: expected.value,
                unit: figure.unit.clone(),
                basis: expected.basis,
                published: expected.published,
                limit: Some(expected.limit.to_owned()),
                reason: Some(expected.reason),
                error_percent: (expected.value > 0.0).then(|| 100.0 * (figure.value - expected.value) / expected.value),
            });
        }
        record.expected = record.results.first().and_then(|headline| headline.expected.clone());
        Ok(())
    }

    fn measure(self, log: &mut EventLog, record: &mut RunRecord) -> Result<()> {
        let Self { plan, parameters, on, clock, interrupt, has_place } = self;
        interrupt.check()?;
        let description = on.description;
        plan.parameters.check_scale(description.scale)?;
        let steps = &plan.definition.steps;
        let mut measures: Vec<(Step, Measures)> = steps.iter().map(|step| (*step, (step.measure)())).collect();
        let needs_place = measures.iter().any(|(_, measures)| matches!(measures, Measures::AtDatabase(_)));
        let database = on.database.filter(|_| needs_place);
        let mut place = match database {
            Some(database) => {
                let place = self.claim(database, log, record)?;
                has_place.set(true);
                Some(place)
            }
            None if needs_place => return Err(Error::new(ErrorKind::Usage, "the test needs a database")),
            None => None,
        };
        let workspace = place.as_ref().map(|(workspace, _)| workspace.clone());
        if let Some((database, workspace)) = database.zip(workspace.as_ref()) {
            let needs = steps.iter().map(|step| (plan.definition.name.as_str(), step.needs));
            needs.into_iter().try_for_each(|needs| needs::check(database, workspace, interrupt, needs))?;
        }
        let name = workspace.as_ref().map_or("", Workspace::name);
        let (start, real) = (clock.now(), RealClock::new());
        let time = Time { clock, interrupt, settle: plan.settle };
        let mut facts = BTreeMap::from([("settle_seconds".to_owned(), plan.settle.as_secs_f64().into())]);
        let mut sampling = Sampling::new(plan.without_samples);
        let (mut outcome, mut left) = (Ok(()), None);
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
            if number > 0
                && let Err(error) = log.tell(Kind::Repetition(Box::new(repetition.clone())))
            {
                // What was made for it is given back below.
                outcome = Err(error);
                break;
            }
            outcome = measures.iter_mut().try_for_each(|(step, measures)| {
                let mut keep = Keep {
                    time,
                    log: &mut *log,
                    repetition: &mut repetition,
                    repetition_start: time_zero,
                    phase: (steps.len() > 1).then_some(step.name),
                    warnings: &mut record.warnings,
                    host_warnings: &mut record.host.warnings,
                    facts: &mut facts,
                    left: &mut left,
                    sampling: &mut sampling,
                };
                if number > 0 && !plan.settle.is_zero() && !(step.settles_itself)(parameters) {
                    keep.log.activity("settling");
                    time.wait(plan.settle)?;
                }
                let host = (record.host.cpus, &mut record.host.client);
                let at = database.zip(place.as_mut());
                let outcome = self.work(measures, number == 0, at, &mut keep, host);
                if number > 0 {
                    keep.end(name);
                    time_zero = keep.repetition_start;
                }
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
        record.left_behind = left.map(|error| left_here(&error, record));
        let is_silent = interrupt.settle_silence(|| database.is_none_or(|database| database.answers(ANSWER_PATIENCE)));
        interrupt.shield();
        // A measure that can't give anything back leaves its sessions to their end.
        let back = measures.iter_mut().filter(|_| !is_silent).map(|(_, measures)| measures);
        outcome = outcome.and(self.give_all_back(back, database.zip(workspace.as_ref()), record));
        record.ceilings.append(&mut sampling.ceilings);
        record.host.sampling = sampling.cost();
        record.warnings.extend(database.map(Database::warnings).unwrap_or_default());
        // The lease falls here, after the last session of the run is closed: only then may the place be removed.
        if let Some((_, lease)) = place {
            give_back(lease, is_silent);
        }
        outcome
    }

    /// Lets all measures give back what they hold. What stays is in the record; another error is returned.
    fn give_all_back<'m>(
        self,
        all: impl Iterator<Item = &'m mut Measures>,
        at: Option<(&dyn Database, &Workspace)>,
        record: &mut RunRecord,
    ) -> Result<()> {
        let mut outcome = Ok(());
        for measures in all {
            let Err(error) = finish(measures, at, self.interrupt) else { continue };
            record.warnings.push(format!("not everything was given back at the target: {error}"));
            match stayed(&error, record, self.plan, at.is_some()) {
                None => outcome = outcome.and(Err(error)),
                stayed => record.left_behind = stayed,
            }
        }
        outcome
    }

    /// Prepares or measures a step, with what it needs.
    fn work(
        self,
        measures: &mut Measures,
        prepares: bool,
        at: Option<(&dyn Database, &mut Place)>,
        keep: &mut Keep<'_>,
        (cpus, client): (u32, &mut Option<Client>),
    ) -> Result<()> {
        let Self { plan, parameters, interrupt, .. } = self;
        match (measures, at) {
            (Measures::AtDatabase(measure), Some((database, (workspace, lease)))) => {
                let Plan { cold, keep_data, .. } = plan;
                let target =
                    Target { database, workspace, lease: lease.as_mut(), cold, keep_data: *keep_data, interrupt };
                let Definition { mix, own, .. } = plan.definition;
                let (own, levels) = (own.as_ref(), plan.levels.as_ref());
                let mut context = Context { target, parameters, keep: &mut *keep, mix, own, cpus, client, levels };
                let outcome = if prepares { measure.prepare(&mut context) } else { measure.repeat(&mut context) };
                outcome.and(keep.tell_losses(lease.as_mut()))
            }
            (Measures::Alone(alone), _) => {
                let Plan { definition, target, keep_data, .. } = plan;
                let (definition, keep_data) = (definition.text.as_str(), *keep_data);
                let asked = Asked { parameters, definition, target, keep_data, cpus };
                let outcome = if prepares { alone.prepare(&asked, keep) } else { alone.repeat(&asked, keep) };
                *client = alone.client().or_else(|| client.take());
                outcome
            }
            (Measures::AtDatabase(_), None) => Err(contradiction("a step has no place")),
        }
    }

    /// Takes a place of the run's own, once there is room for it and nothing of killed runs beside it.
    fn claim(self, database: &dyn Database, log: &mut EventLog, record: &mut RunRecord) -> Result<Place> {
        guard_space(self.plan, self.parameters, database)?;
        log.activity("looking for leftovers of killed runs");
        self.plan.definition.steps.iter().for_each(|step| (step.tidy_machine)());
        let is_virtual = self.clock.kind() == "virtual";
        // What others left or do at a target is of this machine and this moment: no part of a run in virtual time.
        remove_leftovers(database, if is_virtual { &mut record.host.warnings } else { &mut record.warnings })?;
        let workspace = Workspace::run(&record.run_id)?;
        self.interrupt.owe(Some(may_stay(&workspace, &record.target, self.plan)));
        let lease = database
            .claim(&workspace, ClaimMode::Exclusive)?
            .ok_or_else(|| Error::new(ErrorKind::Busy, "somebody else holds the lease on this run's own place"))?;
        Ok((workspace, lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Endless;

    impl RowSource for Endless {
        fn next(&mut self, _: &mut Row) -> Result<bool> {
            Ok(true)
        }
    }

    #[test]
    fn what_the_target_should_show_is_computed_until_somebody_interrupts() {
        let interrupt = Interrupt::default();
        let mut rows = UntilInterrupted { rows: Box::new(Endless), interrupt: interrupt.clone() };
        let mut row = Row::default();
        assert!(rows.next(&mut row).unwrap());
        interrupt.trigger(2);
        assert_eq!(rows.next(&mut row).unwrap_err().kind, ErrorKind::Cancelled);
    }
}
