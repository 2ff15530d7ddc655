//! Another level of service, and back: how long it takes until it is in effect, proved by a short write and a scan before and
//! after. The target ends at the level that it had.

mod figures;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_engine::work::Work;
use plimsoll_engine::{Error, ErrorKind, LevelCommands, Levels, Result};
use plimsoll_measurement::{Metric, Moment, Point, units};

use self::figures::{AFTER, BEFORE, CHANGE, CHANGE_BACK, level_change};
use crate::dataset::{self, DatasetSpec};
use crate::parameters::shared::{CHUNK, DAY, ROW, SEED, SOURCE, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::step::context::{Context, Keep, LevelWords, Target, Time};
use crate::step::kind::{Consent, Measure, Measures, StepKind, contradiction, pages};
use crate::step::write::{self, Write};

const LEVEL: Parameter = Parameter::new(
    "level",
    Kind::Text,
    "Level of service to request, as the target or the command calls it. Required.",
)
.or("");
const POLL: Parameter = Parameter::new(
    "poll",
    Kind::Duration(Duration::from_millis(1), Duration::from_mins(1)),
    "How often to ask the target whether the level is in effect.",
)
.or("1s");
const TIMEOUT: Parameter = Parameter::new(
    "timeout",
    Kind::Duration(Duration::from_secs(1), DAY),
    "Time-out: how long a level may take to be in effect.",
)
.or("1h")
.formerly("give_up", &[]);

/// Another level of service, and back.
pub(super) const KIND: StepKind = StepKind {
    expects: |ran, ask| Ok(ask(Work::LevelChange(ran.parameters.choice("level")))?.into_iter().collect()),
    // Its probes write as much again, with their log.
    space_bytes: |parameters, _| pages(parameters.bytes("volume")).saturating_mul(3),
    check: |parameters| {
        if parameters.choice("level").is_empty() {
            return Err("it has to be told which level to ask for, such as --set level=S3".to_owned());
        }
        Ok(())
    },
    consent: |_| Some(Consent::Level),
    needs: write::NEEDS,
    ..StepKind::new(
        "level-change",
        &[&VOLUME, &ROW, &TABLES, &CHUNK, &SOURCE, &LEVEL, &POLL, &TIMEOUT, &SEED],
        || Measures::AtDatabase(Box::<LevelChange>::default()),
        |measured| level_change(&measured.repetitions, measured.page_bytes),
    )
};

#[derive(Default)]
struct LevelChange {
    levels: Option<Box<dyn Levels>>,
    /// Set while the way back is gone, which an interrupt should not end.
    going_back: Arc<AtomicBool>,
}

impl Measure for LevelChange {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, levels: words, .. } = context;
        let levels = if let Some(levels) = target.database.levels()? {
            levels
        } else {
            let words = words.ok_or_else(|| no_levels(&target.database.description().engine))?;
            self.by_commands(words, parameters.duration("timeout"), keep.time)
        };
        let levels = self.levels.insert(levels);
        let (there, asked) = (present(levels.as_mut())?, parameters.choice("level"));
        if there.eq_ignore_ascii_case(asked) {
            return Err(Error::new(ErrorKind::Usage, format!("the target is at level {asked} already"))
                .hint("ask for another one with --set level=..."));
        }
        keep.fact("level_before", there);
        // A provider moves what a database holds, so there has to be something.
        let wanted = DatasetSpec::wanted(parameters, target.page_bytes());
        dataset::load(target, keep, target.workspace, wanted)?;
        if let Some(bytes) = levels.moves_bytes(asked) {
            keep.fact("moves_bytes", bytes);
        }
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let Some(levels) = self.levels.as_deref_mut() else {
            return Err(contradiction("a level was changed before it was known"));
        };
        let there = present(levels)?;
        keep.begin(Some(target.database));
        probe(target, parameters, keep, BEFORE)?;
        let (timeout, poll) = (parameters.duration("timeout"), parameters.duration("poll"));
        let change = Change { level: parameters.choice("level"), is_back: false, waits: true, timeout, poll };
        let outcome = change.make(target, keep, levels).and_then(|()| probe(target, parameters, keep, AFTER));
        self.going_back.store(true, Ordering::SeqCst);
        if outcome.is_err() {
            keep.warn(format!(
                "the target is asked for level {there} again as soon as it takes that; whoever ends this before has to do it by \
                 hand"
            ));
            keep.log
                .activity(&format!("going back to level {there}, which has to be asked for by hand if this is ended"));
        }
        // Another level may cost money: an interrupt does not cut the way back short.
        let hold = keep.time.interrupt.hold();
        let back = Change { level: &there, is_back: true, waits: outcome.is_ok(), ..change }.make(target, keep, levels);
        self.going_back.store(false, Ordering::SeqCst);
        drop(hold);
        if let Err(error) = &back {
            keep.warn(format!(
                "the target may not be at level {there} again: look at it, and ask for that level by hand ({error})"
            ));
        }
        outcome.and(back)
    }
}

impl LevelChange {
    fn by_commands(&self, words: &LevelWords, timeout: Duration, time: Time<'_>) -> Box<dyn Levels> {
        let (interrupt, going_back) = (time.interrupt.clone(), Arc::clone(&self.going_back));
        let of_hurry = interrupt.clone();
        Box::new(LevelCommands {
            command: words.command.clone(),
            check: words.check.clone(),
            patience: timeout,
            clock: Arc::clone(time.clock),
            interrupted: Box::new(move || if going_back.load(Ordering::SeqCst) { Ok(()) } else { interrupt.check() }),
            is_hurried: Box::new(move || of_hurry.signal().is_some()),
        })
    }
}

fn no_levels(engine: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("'{engine}' has no levels of service that could be asked for here")).hint(
        "give --level-command, which asks for the level in PLIMSOLL_LEVEL, and --level-check, which prints the one in effect",
    )
}

/// The level in effect, which has to be known for coming back to it.
fn present(levels: &mut dyn Levels) -> Result<String> {
    levels.current()?.ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the target does not say at which level it is")
            .hint("a --level-check has to print it")
    })
}

/// A short write in the run's own place, and a scan of what was written.
fn probe(target: &Target<'_>, parameters: &Parameters, keep: &mut Keep<'_>, name: &'static str) -> Result<()> {
    let mut write = Write::within(target.workspace.clone(), None).and_scan();
    keep.within(name, |keep| write.write(target, parameters, keep))
}

/// After an interrupt, how long to look whether the level before is in effect again.
const LOOK_AROUND: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
struct Change<'a> {
    level: &'a str,
    is_back: bool,
    /// False for the way back after a failure, which is asked for and hardly waited for.
    waits: bool,
    timeout: Duration,
    poll: Duration,
}

impl Change<'_> {
    /// Asks for the level and waits until it is in effect.
    fn make(self, target: &mut Target<'_>, keep: &mut Keep<'_>, levels: &mut dyn Levels) -> Result<()> {
        let Time { clock, interrupt, .. } = keep.time;
        let (level, stage) = (self.level, if self.is_back { CHANGE_BACK } else { CHANGE });
        let start = clock.now();
        keep.log.activity(&format!("{stage}: {level}"));
        self.ask(keep.time, levels, start)?;
        keep.mark(format!("level {level} was asked for"));
        let mut looks = 0_u64;
        loop {
            let effective = in_effect(levels, level)?;
            looks += 1;
            let now = clock.now();
            // Sessions may have ended, and the lease with them; what let us in for the look may not do so again at once.
            if effective && comes_back(target.lease.renew())? {
                keep.mark(format!("level {level} is in effect"));
                // Between two looks it is not known.
                let point = keep.from_to(stage, start, now).with(Metric::Operations, looks);
                return keep.point(Point { stage: Some(stage.to_owned()), ..point });
            }
            if !self.is_back {
                interrupt.check()?;
            }
            let waited = now.since(start);
            if waited >= self.timeout || (!self.waits && waited >= LOOK_AROUND) {
                let waited = units::format_seconds(waited.as_secs_f64());
                let message = format!("level {level} was asked for and is not in effect after {waited}");
                return Err(Error::new(ErrorKind::Busy, message)
                    .hint("--set timeout=... waits longer; see at the provider what became of it"));
            }
            clock.sleep(self.poll);
        }
    }

    /// A change that has just been asked for may stand in the way of the next for a while, and so may a server that is away.
    fn ask(self, time: Time<'_>, levels: &mut dyn Levels, start: Moment) -> Result<()> {
        loop {
            match levels.ask(self.level) {
                Err(error) if self.is_back && passes(&error) && time.clock.now().since(start) < self.timeout => {
                    time.clock.sleep(self.poll);
                }
                outcome => return outcome,
            }
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

/// False for a server that is away again for a moment.
fn comes_back(renewed: Result<()>) -> Result<bool> {
    match renewed {
        Ok(()) => Ok(true),
        Err(error) if error.retry_after.is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

/// True of errors that pass by themselves while a level changes.
fn passes(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Busy)
}
