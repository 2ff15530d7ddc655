//! What reads a server slot by slot, subtracts, looks texts up and keeps.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_clock::Clock;
use plimsoll_engine::queries::Waiting;
use plimsoll_engine::{Error, ErrorKind, QuerySampler, QueryText, Result};
use plimsoll_measurement::Moment;
use plimsoll_measurement::counters::{Item, Measure};
use plimsoll_profile::{Known, Record, Refusal, Slot, Snapshot, diff};

use super::activity::Activity;
use super::alerts::Alert;
use super::counters::{self, Counters};
use super::filters::Filters;
use super::keeper::Keeper;
use super::pace::Pace;
use super::show::Counts;
use super::sums::Sums;
use crate::printer::Printer;

/// How often an interrupt is looked for between two readings.
const LOOK_FOR_INTERRUPT: Duration = Duration::from_millis(100);

/// From one look for new snapshots to the next, at most.
const LOOK_FOR_SNAPSHOTS: Duration = Duration::from_secs(10);

/// So many texts are asked for in a slot, at once: of a server, which reads all of them for that, and of what a job has kept of them.
const MOST_TEXTS_OF_A_SLOT: usize = 100;
const MOST_TEXTS_OF_A_SNAPSHOT: usize = 2_000;

/// So many texts are remembered, beside those that are needed.
const MOST_TEXTS_KEPT: usize = 5_000;

/// A moment by the server's clock, in microseconds since 1970, and by ours.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub server_us: i64,
    own: Moment,
}

/// What there is to tell of a slot.
pub struct Told<'t> {
    pub slot: &'t Slot,
    pub sums: &'t Sums,
    pub texts: &'t BTreeMap<Item, QueryText>,
    /// What should not have been true of it.
    pub alerts: &'t [String],
    /// Waits, files and other counters of the server.
    pub counted: &'t counters::OfSlot,
}

/// How a server is to be watched.
pub struct Manner {
    /// The length of a slot, in microseconds.
    pub slot_us: u64,
    /// Whether sessions are looked at.
    pub has_samples: bool,
    /// So many statements of each slot are shown, with their texts.
    pub listed: usize,
    /// What should not be true of a slot.
    pub alerts: Vec<Alert>,
    /// The statements that are listed; the others are added up.
    pub only: Filters,
    /// Whether slots go elsewhere than into the store, with their texts.
    pub saves: bool,
}

/// What was read, the slot that it ends, and where the read ended.
struct Reading {
    slot: Slot,
    seen: Seen,
    /// How long the counters took.
    took: Duration,
    snapshot: Snapshot,
    counted: counters::OfSlot,
}

/// Whether a server may answer again later.
const fn is_away(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect)
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
pub struct Collector {
    sampler: Box<dyn QuerySampler>,
    clock: Arc<dyn Clock>,
    manner: Manner,
    pace: Pace,
    known: Known,
    counters: Counters,
    texts: BTreeMap<Item, QueryText>,
    /// Statements whose text is that of a session, and not the one that is counted by.
    of_sessions: BTreeSet<Item>,
    keeper: Option<Keeper>,
    activity: Activity,
    all: Sums,
    slots: u64,
    missed: u64,
    /// Whether the last reading failed.
    is_lost: bool,
    /// What the sampler warned of at the beginning.
    said: Vec<String>,
    /// So many texts are asked for at once.
    most_texts: usize,
}

impl Collector {
    /// Watches by a sampler of a server with so many CPUs, where that is known. What is read is kept by the keeper, from what it knows on.
    pub fn of(
        sampler: Box<dyn QuerySampler>,
        clock: &Arc<dyn Clock>,
        cpus: Option<u32>,
        begun: Option<(Keeper, Known)>,
        manner: Manner,
    ) -> Self {
        let (keeper, known) = begun.map_or_else(|| (None, Known::default()), |(keeper, known)| (Some(keeper), known));
        Self {
            sampler,
            clock: Arc::clone(clock),
            pace: Pace::of(Duration::from_micros(manner.slot_us)),
            manner,
            known,
            counters: Counters::of(Arc::clone(clock)),
            texts: keeper.as_ref().map_or_else(BTreeMap::new, Keeper::texts),
            of_sessions: BTreeSet::new(),
            keeper,
            activity: Activity::of(cpus),
            all: Sums::default(),
            slots: 0,
            missed: 0,
            is_lost: false,
            said: Vec::new(),
            most_texts: MOST_TEXTS_OF_A_SLOT,
        }
    }

    /// What the first slot begins with. What happened since a server was watched the last time is kept and not shown.
    ///
    /// # Errors
    /// If the server can't be read: there is nothing to watch then.
    pub fn first(&mut self, printer: &Printer) -> Result<Seen> {
        let reading = self.read(printer)?;
        let (slot, own) = (&reading.slot, self.sampler.own());
        self.activity.close(
            &mut Record::of(slot, &own, self.pace.slot_us()),
            slot,
            reading.snapshot.start.clock_us,
            &own,
        );
        let mut record = Record::of(slot, &self.sampler.own(), self.pace.slot_us());
        self.look_up(&Sums::of_record(&record), 0, printer);
        self.manner.only.leave_out(&mut record, &self.texts);
        self.keep(record, &reading, false, printer);
        self.warn(printer);
        Ok(reading.seen)
    }

    /// Reads slot after slot until the time is over or somebody interrupts, and gives the end of the last that could be read.
    pub fn go_on(
        &mut self,
        mut server: Seen,
        end: Option<Moment>,
        interrupt: &Interrupt,
        printer: &Printer,
        mut told: impl FnMut(&Told<'_>),
    ) -> Seen {
        loop {
            self.wait(server, end, interrupt, printer);
            let is_last = interrupt.signal().is_some() || end.is_some_and(|end| self.clock.now() >= end);
            match self.read(printer) {
                Ok(reading) => {
                    server = reading.seen;
                    self.take(&reading, is_last, printer, &mut told);
                }
                Err(error) => self.miss(&error, printer),
            }
            if is_last {
                break;
            }
        }
        // What spoiled the readings meanwhile, such as a right that was taken away.
        self.warn(printer);
        self.sampler.unlisted().iter().for_each(|sentence| printer.warning(sentence));
        server
    }

    /// Reads the snapshots that a job at the server has made since the last one that is known, the oldest first; where it follows, also those that
    /// come until the time is over. Gives the time of the slots that were told, if there were any.
    ///
    /// # Errors
    /// If the job's tables can't be read. A snapshot that can't be read is passed over.
    pub fn read_made(
        &mut self,
        (follows, end): (bool, Option<Moment>),
        interrupt: &Interrupt,
        printer: &Printer,
        mut told: impl FnMut(&Told<'_>),
    ) -> Result<Option<Range<i64>>> {
        let mut range: Option<Range<i64>> = None;
        self.most_texts = MOST_TEXTS_OF_A_SNAPSHOT;
        self.warn(printer);
        while interrupt.signal().is_none() {
            let read = match self.sampler.waiting(self.known.read_us()) {
                Ok(Some(Waiting { count: 1.., .. })) if self.known.reads() == 0 => {
                    // The first one of all is only a point to start from.
                    self.first(printer).map(|_| {
                        self.is_lost = false;
                        true
                    })
                }
                Ok(Some(Waiting { count: count @ 1.., .. })) => self.read(printer).map(|mut reading| {
                    // How long it takes to read one says nothing of what it takes to make one.
                    reading.took = Duration::ZERO;
                    let slot = &reading.slot;
                    range = Some(range.take().map_or(slot.start_us, |range| range.start)..slot.end_us);
                    self.take(&reading, !follows && count == 1, printer, &mut told);
                    true
                }),
                Ok(_) => Ok(false),
                Err(error) if range.is_none() || !is_away(&error) => return Err(error),
                Err(error) => Err(error),
            };
            let goes_on = match read {
                Ok(is_read) => is_read,
                Err(error) => {
                    self.miss(&error, printer);
                    !is_away(&error)
                }
            };
            if goes_on {
                continue;
            }
            if !follows || end.is_some_and(|end| self.clock.now() >= end) {
                break;
            }
            let next = self.clock.now().after(Duration::from_micros(self.pace.slot_us() / 4).min(LOOK_FOR_SNAPSHOTS));
            let next = end.filter(|end| *end < next).unwrap_or(next);
            while self.clock.now() < next && interrupt.signal().is_none() {
                self.clock.sleep(next.since(self.clock.now()).min(LOOK_FOR_INTERRUPT));
            }
        }
        self.warn(printer);
        Ok(range)
    }

    /// Says what may spoil the readings and was not said yet.
    fn warn(&mut self, printer: &Printer) {
        for warning in self.sampler.warnings() {
            if !self.said.contains(&warning) {
                printer.warning(&warning);
                self.said.push(warning);
            }
        }
    }

    /// Whether slots are kept.
    pub const fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    /// The number under which slots are kept; `None` if they are not.
    pub fn number(&self) -> Option<i64> {
        self.keeper.as_ref().map(Keeper::number)
    }

    /// What was warned of when watching began.
    pub fn said(&self) -> &[String] {
        &self.said
    }

    /// Whether the last reading failed.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// How many slots that were told are not in the store, and why; `None` if all are.
    pub fn unsaved(&self) -> Option<String> {
        self.keeper.as_ref().and_then(Keeper::unsaved)
    }

    /// How many slots were read.
    pub const fn slots(&self) -> u64 {
        self.slots
    }

    /// In how many slots each condition was true of what should not be.
    pub fn alerts(&self) -> &[Alert] {
        &self.manner.alerts
    }

    /// All that was watched, with the texts of the statements with most of it.
    pub fn summed(&mut self, top: usize, printer: &Printer) -> (&Sums, &BTreeMap<Item, QueryText>, Counts) {
        if !self.is_lost {
            let all = std::mem::take(&mut self.all);
            for _ in 0..top.div_ceil(MOST_TEXTS_OF_A_SLOT) {
                self.look_up(&all, top, printer);
            }
            self.all = all;
        }
        (&self.all, &self.texts, Counts { slots: self.slots, missed: self.missed, is_lost: self.is_lost })
    }

    fn keep(&mut self, record: Record, reading: &Reading, is_last: bool, printer: &Printer) {
        let Some(keeper) = &mut self.keeper else { return };
        let snapshot = &reading.snapshot;
        let own = self.sampler.own();
        let (known, texts, length) = (&mut self.known, &self.texts, (&own[..], self.pace.slot_us()));
        let with_counted = |mut record: Record| {
            counters::put(&mut record, &reading.counted);
            record
        };
        let taken = keeper.take_over(known, snapshot, length, is_last, printer).map(with_counted);
        let mut record = taken.unwrap_or(record);
        self.manner.only.leave_out(&mut record, texts);
        keeper.keep(known, record, texts, is_last, printer);
        // Whoever was overtaken only now may be left alone by the other one as well.
        let taken = is_last.then(|| keeper.take_over(known, snapshot, length, is_last, printer)).flatten();
        if let Some(mut record) = taken.map(with_counted) {
            self.manner.only.leave_out(&mut record, texts);
            keeper.keep(known, record, texts, is_last, printer);
        }
    }

    /// Reads once, and again if the server was reset or restarted in the middle of it, or has ended our session since the last time. Sessions
    /// are looked at right before and right after.
    fn read(&mut self, printer: &Printer) -> Result<Reading> {
        let mut refused = Refusal::Torn;
        for attempt in 0..2 {
            self.sample(printer);
            let begun = self.clock.now();
            let snapshot = match self.sampler.snapshot() {
                Err(error) if error.kind == ErrorKind::Lost && attempt == 0 => continue,
                snapshot => snapshot?,
            };
            let seen = Seen { server_us: snapshot.end.clock_us, own: self.clock.now() };
            let took = seen.own.since(begun);
            match diff(&mut self.known, &snapshot, self.pace.slot_us()) {
                Ok(slot) => {
                    self.sample(printer);
                    let begun = self.clock.now();
                    let warn = |warning: &str| printer.warning(warning);
                    let counted = self.counters.read(self.sampler.as_mut(), self.pace.slot_us(), warn);
                    let took = took + self.clock.now().since(begun);
                    return Ok(Reading { slot, seen, took, snapshot, counted });
                }
                Err(refusal) => refused = refusal,
            }
        }
        Err(Error::new(ErrorKind::NoResult, refused.to_string()))
    }

    /// Looks at the sessions once. Without that there are slots all the same.
    fn sample(&mut self, printer: &Printer) {
        if !self.manner.has_samples {
            return;
        }
        let begun = self.clock.now();
        match self.sampler.sessions() {
            Ok(Some(sample)) => {
                let now = self.clock.now();
                self.activity.take(&sample, now);
                self.pace.looked(now.since(begun)).iter().for_each(|sentence| printer.warning(sentence));
            }
            Ok(None) => self.manner.has_samples = false,
            // A server that is away is looked at again when it is back.
            Err(error) if is_away(&error) => {}
            Err(error) => {
                printer.warning(&format!("sessions can't be looked at, so that nothing is known of waits: {error}"));
                self.manner.has_samples = false;
            }
        }
    }

    fn wait(&mut self, seen: Seen, end: Option<Moment>, interrupt: &Interrupt, printer: &Printer) {
        let next = next_begin(seen, self.clock.now(), self.pace.slot_us());
        let next = end.filter(|end| *end < next).unwrap_or(next);
        let mut due = self.activity.due(self.clock.now(), self.pace.spacing());
        while self.clock.now() < next && interrupt.signal().is_none() {
            if self.manner.has_samples && self.clock.now() >= due {
                self.sample(printer);
                // A server that does not answer is asked as often.
                due = self.clock.now().after(self.pace.spacing());
                continue;
            }
            let wake = if self.manner.has_samples { next.min(due) } else { next };
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

    fn take(&mut self, reading: &Reading, is_last: bool, printer: &Printer, told: &mut impl FnMut(&Told<'_>)) {
        self.is_lost = false;
        self.slots += 1;
        let (slot, own) = (&reading.slot, self.sampler.own());
        let mut record = Record::of(slot, &own, self.pace.slot_us());
        self.activity.close(&mut record, slot, reading.snapshot.start.clock_us, &own);
        self.look_up(&Sums::of_record(&record), self.manner.listed, printer);
        self.manner.only.leave_out(&mut record, &self.texts);
        counters::put(&mut record, &reading.counted);
        let sums = Sums::of_record(&record);
        self.all.add(&sums);
        let judged = self.manner.alerts.iter_mut().filter_map(|alert| alert.judge(&sums, &self.texts));
        let alerts: Vec<String> = judged.collect();
        if let Some(keeper) = self.keeper.as_mut().filter(|_| !alerts.is_empty()) {
            keeper.alert((slot.start_us, slot.end_us), &alerts.join("; "));
        }
        // What was told is in the store, also after a kill.
        self.keep(record, reading, is_last, printer);
        told(&Told { slot, sums: &sums, texts: &self.texts, alerts: &alerts, counted: &reading.counted });
        for warning in alerts.iter().chain(&self.pace.read(reading.took)) {
            printer.warning(warning);
        }
    }

    /// Reads the texts that are about to be shown and not known. A slot without them is still one.
    fn look_up(&mut self, sums: &Sums, top: usize, printer: &Printer) {
        let ranked = sums.ranked();
        // What is kept should have its text as well.
        let needs_all = self.keeper.is_some() || self.manner.saves || !self.manner.only.is_empty();
        let top = if needs_all { usize::MAX } else { top };
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
        missing.truncate(self.most_texts);
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
