//! Another level of service, and back: how long it takes until it is in effect, proved by a short write and a scan before and
//! after. The target ends at the level that it had.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_engine::{Error, ErrorKind, LevelCommands, Levels, Result};
use plimsoll_measurement::{Metric, Moment, Point, units};

use super::{Context, Measure, scan, write};
use crate::dataset;

/// Labels of the two changes, and names of the probes around the first.
pub(crate) const CHANGE: &str = "level change";
pub(crate) const CHANGE_BACK: &str = "level change back";
pub(crate) const BEFORE: &str = "before";
pub(crate) const AFTER: &str = "after";

/// Changes the level there and back.
#[derive(Default)]
pub(super) struct LevelChange {
    levels: Option<Box<dyn Levels>>,
    /// Set while the way back is gone, which an interrupt should not end.
    going_back: Arc<AtomicBool>,
}

impl Measure for LevelChange {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let levels = match context.database.levels()? {
            Some(levels) => levels,
            None => self.by_commands(context)?,
        };
        let levels = self.levels.insert(levels);
        let (there, asked) = (present(levels.as_mut())?, context.parameters.choice("level"));
        if there.eq_ignore_ascii_case(asked) {
            return Err(Error::new(ErrorKind::Usage, format!("the target is at level {asked} already"))
                .hint("ask for another one with --set level=..."));
        }
        context.facts.insert("level_before".to_owned(), there.into());
        // A provider moves what a database holds, so there has to be something.
        let wanted = scan::wanted(context.parameters, context.database.description().page_bytes);
        let workspace = context.workspace.clone();
        dataset::load(context, &workspace, wanted)?;
        if let Some(bytes) = levels.moves_bytes(asked) {
            context.facts.insert("moves_bytes".to_owned(), bytes.into());
        }
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let Some(levels) = self.levels.as_deref_mut() else {
            return Err(super::contradiction("a level was changed before it was known".to_owned()));
        };
        let asked = context.parameters.choice("level").to_owned();
        let there = present(levels)?;
        context.begin();
        probe(context, BEFORE)?;
        let outcome = change(context, levels, &asked, CHANGE, true).and_then(|()| probe(context, AFTER));
        self.going_back.store(true, Ordering::SeqCst);
        if outcome.is_err() {
            context.warn(format!(
                "the target is asked for level {there} again as soon as it takes that; whoever ends this before has to do it by \
                 hand"
            ));
            context
                .log
                .activity(&format!("going back to level {there}, which has to be asked for by hand if this is ended"));
        }
        let back = change(context, levels, &there, CHANGE_BACK, outcome.is_ok());
        self.going_back.store(false, Ordering::SeqCst);
        if let Err(error) = &back {
            context.warn(format!(
                "the target may not be at level {there} again: look at it, and ask for that level by hand ({error})"
            ));
        }
        outcome.and(back)
    }
}

impl LevelChange {
    fn by_commands(&self, context: &Context<'_>) -> Result<Box<dyn Levels>> {
        let Some(words) = context.levels else {
            let engine = &context.database.description().engine;
            let message = format!("'{engine}' has no levels of service that could be asked for here");
            return Err(Error::new(ErrorKind::Unsupported, message).hint(
                "give --level-command, which asks for the level in PLIMSOLL_LEVEL, and --level-check, which prints the one in \
                 effect",
            ));
        };
        let (interrupt, going_back) = (context.interrupt.clone(), Arc::clone(&self.going_back));
        Ok(Box::new(LevelCommands {
            command: words.command.clone(),
            check: words.check.clone(),
            patience: context.parameters.duration("give_up"),
            clock: Arc::clone(context.clock),
            interrupted: Box::new(move || if going_back.load(Ordering::SeqCst) { Ok(()) } else { interrupt.check() }),
        }))
    }
}

/// The level in effect, which has to be known for coming back to it.
fn present(levels: &mut dyn Levels) -> Result<String> {
    levels.current()?.ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the target does not say at which level it is")
            .hint("a --level-check has to print it")
    })
}

/// A short write in the run's own place, and a scan of what was written.
fn probe(context: &mut Context<'_>, name: &'static str) -> Result<()> {
    let parameters = context.parameters;
    let workspace = context.workspace.clone();
    let mut context = context.within(context.database, parameters, Some(name));
    write::Write::within(workspace, String::new()).and_scan().repeat(&mut context)
}

/// Asks for a level and waits until it is in effect. Whoever goes back after a failure asks only, and waits no longer than
/// it takes to see that the asking was not in vain.
fn change(
    context: &mut Context<'_>,
    levels: &mut dyn Levels,
    level: &str,
    label: &'static str,
    waits: bool,
) -> Result<()> {
    let start = context.clock.now();
    context.log.activity(&format!("{label}: {level}"));
    asked(context, levels, level, start, label)?;
    context.mark(format!("level {level} was asked for"));
    let mut looks = 0;
    loop {
        let effective = in_effect(levels, level)?;
        looks += 1;
        let now = context.clock.now();
        if effective {
            // Sessions may have ended, and the lease with them.
            context.lease.renew()?;
            context.mark(format!("level {level} is in effect"));
            return context.keep(
                Point {
                    label: Some(label.to_owned()),
                    started_seconds: context.seconds_since_start(start),
                    seconds: now.since(start).as_secs_f64(),
                    ..Point::default()
                }
                // Between two of them nobody knows.
                .with(Metric::Operations, looks),
            );
        }
        let interrupted = label == CHANGE && context.interrupt.signal().is_some();
        if interrupted {
            context.interrupt.check()?;
        }
        if now.since(start) >= context.parameters.duration("give_up") || (!waits && now.since(start) >= LOOK_AROUND) {
            let waited = units::format_seconds(now.since(start).as_secs_f64());
            let message = format!("level {level} was asked for and is not in effect after {waited}");
            return Err(Error::new(ErrorKind::Busy, message)
                .hint("--set give_up=... waits longer; see at the provider what became of it"));
        }
        context.clock.sleep(context.parameters.duration("poll"));
    }
}

/// How long somebody who was interrupted looks whether the level before is in effect again.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// A change that has just been asked for may stand in the way of the next for a while, and so may a server that is away.
fn asked(
    context: &Context<'_>,
    levels: &mut dyn Levels,
    level: &str,
    start: Moment,
    label: &'static str,
) -> Result<()> {
    loop {
        match levels.ask(level) {
            Err(error)
                if label == CHANGE_BACK
                    && passes(&error)
                    && context.clock.now().since(start) < context.parameters.duration("give_up") =>
            {
                context.clock.sleep(context.parameters.duration("poll"));
            }
            outcome => return outcome,
        }
    }
}

fn in_effect(levels: &mut dyn Levels, level: &str) -> Result<bool> {
    match levels.current() {
        // Users write levels as they like, and providers as they do.
        Ok(current) => Ok(current.is_some_and(|current| current.eq_ignore_ascii_case(level))),
        Err(error) if passes(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// True of errors that pass by themselves while a level changes.
fn passes(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Busy)
}
