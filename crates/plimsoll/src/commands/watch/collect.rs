//! A server is watched: slot by slot it is read, subtracted, shown and kept.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind, Intents, QuerySampler, QueryText, Result};
use plimsoll_measurement::counters::{Item, Measure};
use plimsoll_measurement::{Moment, exit, units};
use plimsoll_profile::{Known, Record, Refusal, Slot, Snapshot, diff};

use super::activity::{Activity, SPACING};
use super::alerts::Alert;
use super::keeper::Keeper;
use super::sums::Sums;
use super::{show, shown};
use crate::args::Watch;
use crate::commands::report::try_path;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// How often an interrupt is looked for between two readings.
const LOOK_FOR_INTERRUPT: Duration = Duration::from_millis(100);

/// So many texts are asked for in a slot, at once.
const MOST_TEXTS_OF_A_SLOT: usize = 100;

/// So many texts are remembered, beside those that are needed.
const MOST_TEXTS_KEPT: usize = 5_000;

/// The longest slot, and the longest time to watch.
const LONGEST_SLOT: Duration = Duration::from_hours(1);
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// How long and how often.
#[derive(Debug, Clone, Copy)]
struct Pace {
    slot: Duration,
    time: Option<Duration>,
}

/// Watches until the time is over or somebody interrupts, and then says what costs most.
pub fn watch(url: &str, options: &Watch, settings: &Settings, printer: &Printer) -> std::result::Result<u8, Failure> {
    let pace = pace(options)?;
    let alerts = options.fail_if.iter().map(|text| Alert::parse(text)).collect::<std::result::Result<_, _>>()?;
    let target = engines::parse(url, settings, printer)?;
    options.html.as_deref().map_or(Ok(()), try_path)?;
    // A store that can't be used is said before anything is read.
    let store = if options.no_store { None } else { Some(settings.open_store()?) };
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, &options.access, &Intents::default(), &interrupt, printer);
    let clock = opened.clock.clone();
    let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
    let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let sampler = database.query_sampler().map_err(|error| signals::failure(&interrupt, error))?.ok_or_else(|| {
        let message = format!("{} shows no statistics of statements that Plimsoll reads", target.display());
        Error::new(ErrorKind::Unsupported, message)
            .hint("so far 'plimsoll watch' reads PostgreSQL from version 14 on, MySQL and MariaDB (docs/WATCH.md)")
    })?;
    let engine = database.description().engine.clone();
    let begun = store.map(|store| Keeper::begin(&store, &clock, (target.display(), &engine))).transpose()?;
    let (keeper, known) = begun.map_or_else(|| (None, Known::default()), |(keeper, known)| (Some(keeper), known));
    let mut collector = Collector {
        sampler,
        clock: clock.as_ref(),
        slot_us: u64::try_from(pace.slot.as_micros()).unwrap_or(u64::MAX),
        known,
        texts: keeper.as_ref().map_or_else(BTreeMap::new, Keeper::texts),
        keeper,
        of_sessions: BTreeSet::new(),
        activity: Activity::of(database.description().cpus),
        has_samples: !options.no_samples,
        alerts,
        all: Sums::default(),
        slots: 0,
        missed: 0,
        is_lost: false,
    };
    let begin = clock.now();
    // The first reading is what the first slot begins with. Without it there is nothing to watch.
    let mut server = collector.first(printer).map_err(|error| signals::failure(&interrupt, error))?;
    let from_us = server.server_us;
    let said = collector.sampler.warnings();
    for warning in &said {
        printer.warning(warning);
    }
    if !options.json {
        let stored = if collector.keeper.is_some() {
            "'plimsoll watch show' shows what is stored."
        } else {
            "Nothing is stored."
        };
        printer.remark(&format!("A line is printed for each slot; Ctrl-C ends it with the summary. {stored}"));
    }
    loop {
        let end = pace.time.map(|time| begin.after(time));
        collector.wait(server, end, &interrupt, printer);
        let is_last = interrupt.signal().is_some() || end.is_some_and(|end| clock.now() >= end);
        match collector.read(printer) {
            Ok(reading) => {
                server = reading.seen;
                collector.show(&reading, options, is_last, printer);
            }
            Err(error) => collector.miss(&error, printer),
        }
        if is_last {
            break;
        }
    }
    // What spoiled the readings meanwhile, such as a right that was taken away.
    for warning in collector.sampler.warnings().iter().filter(|warning| !said.contains(warning)) {
        printer.warning(warning);
    }
    collector.summary(options, target.display(), printer);
    drop(pulse);
    let unsaved = collector.keeper.as_ref().and_then(Keeper::unsaved);
    if let Some(sentence) = &unsaved {
        printer.warning(sentence);
    }
    if let Some(path) = &options.html {
        let range = from_us..server.server_us.max(from_us) + 1;
        shown::page(target.display(), &range, options.top, path, settings, printer)?;
    }
    for alert in &collector.alerts {
        printer.remark(&format!("{}.", alert.summary(collector.slots)));
    }
    let is_negative = collector.alerts.iter().any(|alert| alert.slots() > 0);
    let code = match (collector.is_lost || unsaved.is_some(), is_negative) {
        (true, _) => exit::INCOMPLETE,
        (false, true) => exit::NEGATIVE,
        (false, false) => exit::DONE,
    };
    Ok(signals::exit_code(&interrupt).unwrap_or(code))
}

fn pace(options: &Watch) -> std::result::Result<Pace, Failure> {
    let of = |option: &str, text: &str, [low, high]: [Duration; 2]| {
        let wrong = |problem: String| {
            Failure::usage(format!("{option} {text}: {problem}")).hint("such as --every 60s --for 2h")
        };
        let time = units::parse_duration(text).map_err(|error| wrong(error.to_string()))?;
        if time < low || time > high {
            let [low, high] = [low, high].map(|time| units::format_seconds(time.as_secs_f64()));
            return Err(wrong(format!("it is from {low} to {high}")));
        }
        Ok(time)
    };
    let slot = of("--every", &options.every, [Duration::from_secs(1), LONGEST_SLOT])?;
    let time = options.time.as_deref().map(|text| of("--for", text, [Duration::from_secs(1), LONGEST])).transpose()?;
    Ok(Pace { slot, time })
}

/// A moment by the server's clock, in microseconds since 1970, and by ours.
#[derive(Debug, Clone, Copy)]
struct Seen {
    server_us: i64,
    own: Moment,
}

/// What was read, the slot that it ends, and where the read ended.
struct Reading {
    slot: Slot,
    seen: Seen,
    snapshot: Snapshot,
}

/// When the next slot begins: at a whole multiple of its length by the server's clock, as it was seen last. A reading that took longer leaves
/// out the slots that it covered.
fn next_begin(seen: Seen, now: Moment, slot_us: u64) -> Moment {
    let slot = i64::try_from(slot_us).unwrap_or(i64::MAX).max(1);
    let passed = i64::try_from(now.since(seen.own).as_micros()).unwrap_or(i64::MAX);
    let server_now = seen.server_us.saturating_add(passed);
    now.after(Duration::from_micros((slot - server_now.rem_euclid(slot)).unsigned_abs()))
}

/// What is watched, and what is known of it so far.
struct Collector<'a> {
    sampler: Box<dyn QuerySampler>,
    clock: &'a dyn Clock,
    slot_us: u64,
    known: Known,
    texts: BTreeMap<Item, QueryText>,
    /// Statements whose text is that of a session, and not the one that is counted by.
    of_sessions: BTreeSet<Item>,
    keeper: Option<Keeper>,
    activity: Activity,
    has_samples: bool,
    alerts: Vec<Alert>,
    all: Sums,
    slots: u64,
    missed: u64,
    /// Whether the last reading failed.
    is_lost: bool,
}

impl Collector<'_> {
    /// What the first slot begins with. What happened since a server was watched the last time is kept and not shown.
    fn first(&mut self, printer: &Printer) -> Result<Seen> {
        let reading = self.read(printer)?;
        let (slot, own) = (&reading.slot, self.sampler.own());
        self.activity.close(&mut Record::of(slot, &own, self.slot_us), slot, reading.snapshot.start.clock_us, &own);
        let record = Record::of(slot, &self.sampler.own(), self.slot_us);
        self.look_up(&Sums::of_record(&record), 0, printer);
        self.keep(record, &reading.snapshot, false, printer);
        Ok(reading.seen)
    }

    fn keep(&mut self, record: Record, snapshot: &Snapshot, is_last: bool, printer: &Printer) {
        let Some(keeper) = &mut self.keeper else { return };
        let own = self.sampler.own();
        let (known, texts, length) = (&mut self.known, &self.texts, (&own[..], self.slot_us));
        let record = keeper.take_over(known, snapshot, length, is_last, printer).unwrap_or(record);
        keeper.keep(known, record, texts, is_last, printer);
        // Whoever was overtaken only now may be left alone by the other one as well.
        if let Some(record) = is_last.then(|| keeper.take_over(known, snapshot, length, is_last, printer)).flatten() {
            keeper.keep(known, record, texts, is_last, printer);
        }
    }

    /// Reads once, and again if the server was reset or restarted in the middle of it, or has ended our session since the last time. Sessions
    /// are looked at right before and right after.
    fn read(&mut self, printer: &Printer) -> Result<Reading> {
        let mut refused = Refusal::Torn;
        for attempt in 0..2 {
            self.sample(printer);
            let snapshot = match self.sampler.snapshot() {
                Err(error) if error.kind == ErrorKind::Lost && attempt == 0 => continue,
                snapshot => snapshot?,
            };
            let seen = Seen { server_us: snapshot.end.clock_us, own: self.clock.now() };
            match diff(&mut self.known, &snapshot, self.slot_us) {
                Ok(slot) => {
                    self.sample(printer);
                    return Ok(Reading { slot, seen, snapshot });
                }
                Err(refusal) => refused = refusal,
            }
        }
        Err(Error::new(ErrorKind::NoResult, refused.to_string()))
    }

    /// Looks at the sessions once. Without that there are slots all the same.
    fn sample(&mut self, printer: &Printer) {
        if !self.has_samples {
            return;
        }
        match self.sampler.sessions() {
            Ok(Some(sample)) => self.activity.take(&sample, self.clock.now()),
            Ok(None) => self.has_samples = false,
            Err(error) if error.kind == ErrorKind::Lost => {}
            Err(error) => {
                printer.warning(&format!("sessions can't be looked at, so that nothing is known of waits: {error}"));
                self.has_samples = false;
            }
        }
    }

    fn wait(&mut self, seen: Seen, end: Option<Moment>, interrupt: &Interrupt, printer: &Printer) {
        let next = next_begin(seen, self.clock.now(), self.slot_us);
        let next = end.filter(|end| *end < next).unwrap_or(next);
        let mut due = self.activity.due(self.clock.now());
        while self.clock.now() < next && interrupt.signal().is_none() {
            if self.has_samples && self.clock.now() >= due {
                self.sample(printer);
                // A server that does not answer is asked once a second as well.
                due = self.clock.now().after(SPACING);
                continue;
            }
            let wake = if self.has_samples { next.min(due) } else { next };
            self.clock.sleep(wake.since(self.clock.now()).min(LOOK_FOR_INTERRUPT));
        }
    }

    fn miss(&mut self, error: &Error, printer: &Printer) {
        self.missed += 1;
        if !self.is_lost {
            printer.warning(&format!("{error}; the next slot that can be read covers this time as well"));
        }
        self.is_lost = true;
        if let Some(keeper) = &mut self.keeper {
            keeper.missed(self.known.read_us());
        }
    }

    fn show(&mut self, reading: &Reading, options: &Watch, is_last: bool, printer: &Printer) {
        self.is_lost = false;
        self.slots += 1;
        let (slot, own) = (&reading.slot, self.sampler.own());
        let mut record = Record::of(slot, &own, self.slot_us);
        self.activity.close(&mut record, slot, reading.snapshot.start.clock_us, &own);
        let sums = Sums::of_record(&record);
        let top = if options.json { usize::from(options.top) } else { 1 };
        self.look_up(&sums, top, printer);
        self.all.add(&sums);
        let alerts: Vec<String> = self.alerts.iter_mut().filter_map(|alert| alert.judge(&sums, &self.texts)).collect();
        if let Some(keeper) = self.keeper.as_mut().filter(|_| !alerts.is_empty()) {
            keeper.alert((slot.start_us, slot.end_us), &alerts.join("; "));
        }
        // What was told is in the store, also after a kill.
        self.keep(record, &reading.snapshot, is_last, printer);
        if options.json {
            printer.json(&show::json(slot, &sums, &self.texts, (top, &alerts)));
        } else {
            printer.result(&show::line(slot, &sums, &self.texts, printer.style.width));
        }
        for alert in &alerts {
            printer.warning(alert);
        }
    }

    /// Reads the texts that are about to be shown and not known. A slot without them is still one.
    fn look_up(&mut self, sums: &Sums, top: usize, printer: &Printer) {
        let ranked = sums.ranked();
        // What is kept should have its text as well.
        let top = if self.keeper.is_some() { usize::MAX } else { top };
        let held_up = sums.about.blockers.iter().filter_map(|blocker| blocker.item);
        let shown = held_up.chain(ranked.iter().take(top).map(|((item, _), _)| *item));
        // What was never counted has no text but that of its session.
        let has_ended = |item: &Item| {
            let sum = sums.by_query.get(&(*item, false));
            sum.is_some_and(|sum| sum.values.get(Measure::Executions).is_some_and(|executions| executions > 0))
        };
        let is_wanted =
            |item: &Item| !self.texts.contains_key(item) || self.of_sessions.contains(item) && has_ended(item);
        let mut missing: Vec<Item> = shown.filter(is_wanted).collect();
        missing.dedup();
        missing.truncate(MOST_TEXTS_OF_A_SLOT);
        let of_sessions = self.activity.texts();
        if missing.is_empty() {
            return;
        }
        if self.texts.len() > MOST_TEXTS_KEPT {
            self.texts.clear();
            self.of_sessions.clear();
        }
        match self.sampler.texts(&missing) {
            Ok(found) => {
                for text in found {
                    self.of_sessions.remove(&text.item);
                    self.texts.insert(text.item, text);
                }
            }
            Err(error) => printer.warning(&format!("texts of statements could not be read: {error}")),
        }
        for (item, text) in of_sessions.into_iter().filter(|(item, _)| missing.contains(item)) {
            if let Entry::Vacant(place) = self.texts.entry(item) {
                place.insert(text);
                self.of_sessions.insert(item);
            }
        }
    }

    fn summary(&mut self, options: &Watch, target: &str, printer: &Printer) {
        let all = std::mem::take(&mut self.all);
        let top = usize::from(options.top);
        if !options.json && !self.is_lost {
            for _ in 0..top.div_ceil(MOST_TEXTS_OF_A_SLOT) {
                self.look_up(&all, top, printer);
            }
        }
        let cost = show::own_cost(&all);
        if options.json {
            printer.remark(&cost);
            return;
        }
        let counts = show::Counts { slots: self.slots, missed: self.missed, is_lost: self.is_lost };
        let report = show::summary(target, &all, &self.texts, top, counts);
        printer.result(&plimsoll_report::terminal::report(&report, printer.style));
        if self.keeper.is_some() {
            printer.remark("What changed since an earlier time: plimsoll watch compare FROM..TO, such as -2h..-1h");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_begin_at_whole_multiples_by_the_servers_clock() {
        let own = Moment::from_nanos(5_000_000_000);
        let seen = Seen { server_us: 1_700_000_039_500_000, own };
        let wait = |later_ms| {
            let now = own.after(Duration::from_millis(later_ms));
            next_begin(seen, now, 60_000_000).since(now).as_millis()
        };
        // 1,700,000,040 is a whole minute.
        assert_eq!((wait(0), wait(200), wait(500), wait(61_000)), (500, 300, 60_000, 59_500));
    }
}
