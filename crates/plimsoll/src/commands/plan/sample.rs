//! Reads the files of a live server for a while: what each does between looks, by the server's own clock, and what sessions wait for.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_engine::{Error, ErrorKind, Result, Sampler};
use plimsoll_measurement::{Files, Moment, Subject, Views, WaitClass, Window, exit};
use plimsoll_plan::activity::{Activity, Watch};
use plimsoll_plan::rules::Observed;
use plimsoll_plan::waits;
use plimsoll_telemetry::views;

use crate::args::Access;
use crate::engines;
use crate::failure::Failure;
use crate::intents::known;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals;

/// How often an interrupt is looked for between two looks at files.
const LOOK_FOR_INTERRUPT: Duration = Duration::from_millis(100);

/// So many looks at one file are kept in all.
const MOST_VALUES: u128 = 200_000;

/// Files that appear meanwhile may double that.
const MOST_KEPT: usize = 400_000;

/// What was seen of a server.
pub struct Sampled {
    /// The server, as it calls itself.
    pub server: String,
    /// What each file did.
    pub activity: Vec<Activity>,
    /// Waits and CPU, as far as the server shows them.
    pub observed: Observed,
    /// What is to be known of the sampling.
    pub remarks: Vec<String>,
    /// The exit code of a sampling that was interrupted.
    pub interrupted: Option<u8>,
}

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From the first look to the last.
    pub time: Duration,
    /// From one look to the next.
    pub interval: Duration,
}

/// Looks at the files of a server until the time is over or somebody interrupts; what was seen until then counts.
pub fn sample(
    url: &str,
    (pace, unit_bytes): (Pace, u64),
    access: &Access,
    settings: &Settings,
    printer: &Printer,
) -> std::result::Result<Sampled, Failure> {
    let target = engines::parse(url, settings, printer)?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, access, &known(settings, printer), &interrupt, printer);
    let clock = opened.clock.clone();
    let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
    let description = database.description();
    let server = format!("{} {}", description.engine, description.version);
    let none = || {
        let missing = Error::new(ErrorKind::Usage, format!("{} shows no counters of files", target.display()));
        missing.hint(
            "SQL Server shows them with VIEW SERVER STATE, MySQL and MariaDB with the Performance Schema, PostgreSQL from version 14 on; a list \
             of files works everywhere (docs/PLAN.md)",
        )
    };
    let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let ended = |error| signals::failure(&interrupt, error);
    let mut sampler = database.server_sampler().map_err(ended)?.ok_or_else(none)?;
    let first = sampler.all_files().map_err(ended)?.filter(|files| !files.rows.is_empty()).ok_or_else(none)?;
    refuse_too_many(first.rows.len(), pace)?;
    let before = (clock.now(), sampler.views());
    let mut looks = Looks { watch: Watch::new(unit_bytes), count: 1, missed: 0 };
    looks.watch.take(first);
    let mut progress = Progress::new(printer, "plan mi".to_owned(), Subject::Volume, 1);
    let begin = clock.now();
    let mut next = begin;
    while clock.now().since(begin) < pace.time && interrupt.signal().is_none() && looks.watch.kept() <= MOST_KEPT {
        // A look that took longer leaves out those that it covered.
        while next <= clock.now() {
            next = next.after(pace.interval);
        }
        let end = begin.after(pace.time);
        let next = if next > end { end } else { next };
        while clock.now() < next && interrupt.signal().is_none() {
            clock.sleep(next.since(clock.now()).min(LOOK_FOR_INTERRUPT));
        }
        looks.take(sampler.as_mut(), clock.now());
        let passed = clock.now().since(begin).as_secs();
        progress.says(&format!("{passed} of {} s", pace.time.as_secs()));
    }
    drop(progress);
    let seconds = clock.now().since(begin).as_secs_f64();
    let after = (clock.now(), sampler.views());
    drop(pulse);
    let (observed, waits_remark) = observed(before, after);
    let Looks { watch, count, missed } = looks;
    let is_full = watch.kept() > MOST_KEPT;
    let activity = watch.done();
    let mut remarks = vec![format!("Sampled on {server}: {count} looks in {seconds:.0} s.")];
    if missed > 0 {
        remarks.push(format!("The server did not answer {missed} of them: what files did around these is not known."));
    }
    if is_full {
        remarks.push("It ended early: more files appeared meanwhile than can be kept.".to_owned());
    }
    remarks.extend(waits_remark);
    let interrupted = signals::exit_code(&interrupt);
    if interrupted.is_some() {
        remarks.push("The sampling was interrupted; this is what it saw until then.".to_owned());
    }
    let seen = activity.iter().any(|one| one.iops.known().next().is_some());
    if !seen {
        let code = interrupted.unwrap_or(exit::INCOMPLETE);
        if missed > 0 {
            let message =
                format!("the server did not answer {missed} of {count} looks, so nothing is known of what files do");
            return Err(Failure::usage(message)
                .code(code)
                .hint("see whether it is there and answers: plimsoll doctor URL"));
        }
        return Err(Failure::usage("no file could be looked at twice, so nothing is known of what they do")
            .code(code)
            .hint("let it sample for longer: --sample 30s"));
    }
    Ok(Sampled { server, activity, observed, remarks, interrupted })
}

/// Fails before anything is sampled that could not be kept.
fn refuse_too_many(files: usize, pace: Pace) -> std::result::Result<(), Failure> {
    let looks = pace.time.as_millis() / pace.interval.as_millis().max(1);
    if looks * files as u128 <= MOST_VALUES {
        return Ok(());
    }
    let seconds = (pace.time.as_secs_f64() * files as f64 / MOST_VALUES as f64).ceil();
    Err(Failure::usage(format!("{files} files at {looks} times are more than {MOST_VALUES} values"))
        .hint(format!("name a longer --interval, {seconds}s or more, or a shorter --sample")))
}

/// Looks at files.
struct Looks {
    watch: Watch,
    count: usize,
    missed: usize,
}

impl Looks {
    /// Looks once more. A server that does not answer is asked again the next time; in between nothing is known.
    fn take(&mut self, sampler: &mut dyn Sampler, now: Moment) {
        let look = sampler.all_files().ok().flatten();
        self.count += 1;
        self.missed += usize::from(look.is_none());
        let nothing = || Files { rows: Vec::new(), window: Window { start: now, end: now } };
        self.watch.take(look.unwrap_or_else(nothing));
    }
}

/// Shares of the waits between two looks, and the CPU at the second.
fn observed(
    (started, before): (Moment, Result<Views>),
    (ended, after): (Moment, Result<Views>),
) -> (Observed, Option<String>) {
    let (Ok(before), Ok(after)) = (before, after) else {
        return (Observed::default(), Some("What sessions wait for could not be read.".to_owned()));
    };
    let growth = views::waits(&before.waits, &after.waits, ended.since(started).as_secs_f64());
    let classes: BTreeMap<&str, WaitClass> =
        after.waits.iter().filter_map(|row| Some((row.name.as_str(), row.class?))).collect();
    let grown = growth.rows.iter().filter_map(|row| Some((*classes.get(row.wait.as_str())?, row.seconds)));
    let waits = waits::shares(grown);
    // Rows of an instance are means over 15 s; that of the last is of the sampling.
    let cpu_percent = after.resources_15_s.last().filter(|row| row.end >= started).and_then(|row| row.cpu_percent);
    (Observed { waits, cpu_percent }, growth.warning("What sessions wait for"))
}
