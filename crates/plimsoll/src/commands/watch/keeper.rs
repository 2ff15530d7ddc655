//! Slots go into the store as they are read. A save that fails stops nothing: it is said, and what was not saved is saved with the next
//! slot, or marked as not saved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::QueryText;
use plimsoll_measurement::counters::Item;
use plimsoll_profile::{Known, Record, Snapshot, diff};
use plimsoll_store::{Happened, Keep, ProfileStore, RunStore, Save, StoreError, Text};

use crate::printer::Printer;

/// So many slots wait for a store that takes them again.
const MOST_WAITING: usize = 1_440;

/// Another process has ended if it kept nothing in so many slots of ours: it may be late in one of them.
const IDLE_SLOTS: u32 = 2;

/// What is kept of a target, and what is not kept yet.
pub struct Keeper {
    store: ProfileStore,
    clock: Arc<dyn Clock>,
    target: String,
    engine: String,
    number: i64,
    /// The last read that is kept.
    reads: u64,
    waiting: Vec<Record>,
    events: Vec<Happened>,
    /// Statements whose text is kept, with the text where it is known.
    texts: BTreeMap<Item, QueryText>,
    /// From and to of what will never be kept.
    lost_us: Option<(i64, i64)>,
    is_failing: bool,
    /// The last read that another process kept of the same target, and in how many slots since then it kept none, while this one leaves it to
    /// that.
    of_another: Option<(u64, u32)>,
    /// Slots that will never be in the store, beside those that wait, and why the last ones could not be saved.
    unsaved: usize,
    why: String,
    /// The store is not where it was: nothing is saved any more.
    is_gone: bool,
    is_missing: bool,
}

impl Keeper {
    /// Goes on where the last one ended.
    pub fn begin(
        store: &Arc<RunStore>,
        clock: &Arc<dyn Clock>,
        (target, engine): (&str, &str),
    ) -> Result<(Self, Known), StoreError> {
        let profiles = ProfileStore::of(Arc::clone(store));
        let (number, known) = profiles.begin(target, engine)?;
        // The server is read while the store waits.
        store.hurry();
        let store = profiles;
        let text = |Text { item, database, text, object }| (item, QueryText { item, database, text, object });
        let known_texts = store.texts(number)?.into_iter().filter(|text| text.text.is_some()).map(text);
        let texts = known_texts.collect();
        let keeper = Self {
            store,
            clock: Arc::clone(clock),
            target: target.to_owned(),
            engine: engine.to_owned(),
            number,
            reads: known.reads(),
            waiting: Vec::new(),
            events: Vec::new(),
            texts,
            lost_us: None,
            is_failing: false,
            of_another: None,
            unsaved: 0,
            why: String::new(),
            is_gone: false,
            is_missing: false,
        };
        Ok((keeper, known))
    }

    /// How many slots that were shown are not in the store, and why; `None` if all are.
    pub fn unsaved(&self) -> Option<String> {
        let count = self.unsaved + self.waiting.len();
        let slots = if count == 1 {
            "1 slot that was shown is".to_owned()
        } else {
            format!("{count} slots that were shown are")
        };
        // One that is refused for what happened to the file may be in it nevertheless.
        let up_to = if self.is_gone { "up to " } else { "" };
        (count > 0).then(|| format!("{up_to}{slots} not in the store: {}", self.why))
    }

    /// The number under which the store keeps what is watched.
    pub const fn number(&self) -> i64 {
        self.number
    }

    /// Texts that are kept.
    pub fn texts(&self) -> BTreeMap<Item, QueryText> {
        self.texts.clone()
    }

    /// A reading failed after the one that ended at `read_us`.
    pub fn missed(&mut self, read_us: Option<i64>) {
        if let Some(read_us) = read_us.filter(|_| !self.is_missing) {
            self.event("missed", (read_us, read_us), "the server could not be read");
            self.is_missing = true;
        }
    }

    /// Something was true of a time that should not be. It is kept with the next slot.
    pub fn alert(&mut self, span_us: (i64, i64), note: &str) {
        if self.of_another.is_none() && !self.is_gone {
            self.event("alert", span_us, note);
        }
    }

    fn event(&mut self, kind: &str, (from_us, to_us): (i64, i64), note: &str) {
        self.events.push(Happened { from_us, to_us, kind: kind.to_owned(), note: note.to_owned() });
    }

    /// Goes on where another process ended, if that said so or has kept nothing for some slots: the slot from its last reading to this one, in
    /// place of ours. What sessions waited for in it is not known.
    pub fn take_over(
        &mut self,
        known: &mut Known,
        snapshot: &Snapshot,
        (own, slot_us): (&[Item], u64),
        is_last: bool,
        printer: &Printer,
    ) -> Option<Record> {
        let (seen, idle) = self.of_another?;
        // A store that can't be read now is asked again at the next slot.
        let (_, mut theirs) = self.store.begin(&self.target, &self.engine).ok()?;
        let reads = theirs.reads();
        let is_idle = reads == seen && idle + 1 >= IDLE_SLOTS;
        // At its own end it waits for nobody, as the other one may have been killed: if not, that goes on from here in turn.
        if !(is_idle || is_last || theirs.is_left()) {
            self.of_another = Some((reads, if reads == seen { idle + 1 } else { 0 }));
            return None;
        }
        let slot = diff(&mut theirs, snapshot, slot_us).ok()?;
        printer
            .remark("The other process keeps no slots any more: this one keeps them again, from where that one ended.");
        (self.of_another, self.reads, *known) = (None, reads, theirs);
        Some(Record::of(&slot, own, slot_us))
    }

    /// Keeps a slot, and all that waited before it.
    pub fn keep(
        &mut self,
        known: &mut Known,
        record: Record,
        texts: &BTreeMap<Item, QueryText>,
        is_last: bool,
        printer: &Printer,
    ) {
        if self.of_another.is_some() {
            return;
        }
        if self.is_gone {
            self.unsaved += 1;
            return;
        }
        self.is_missing = false;
        self.waiting.push(record);
        if self.waiting.len() > MOST_WAITING {
            let lost = self.waiting.remove(0);
            self.unsaved += 1;
            let (from_us, to_us) = (lost.bucket.start_us, lost.about.end_us);
            self.lost_us = Some((self.lost_us.map_or(from_us, |(from_us, _)| from_us), to_us));
        }
        if let Some(span) = self.lost_us {
            self.events.retain(|event| event.kind != "unsaved");
            self.event("unsaved", span, "these slots could not be saved");
        }
        let listed = self.waiting.iter().flat_map(|record| record.bucket.sums.keys()).map(|key| key.item);
        let blockers = self.waiting.iter().flat_map(|record| &record.about.blockers).filter_map(|blocker| blocker.item);
        let items: BTreeSet<Item> = listed.chain(blockers).collect();
        let new =
            items.iter().filter_map(|item| texts.get(item)).filter(|text| self.texts.get(&text.item) != Some(text));
        let new: Vec<QueryText> = new.cloned().collect();
        let text = |QueryText { item, database, text, object }: QueryText| Text { item, database, text, object };
        let new_texts: Vec<Text> = new.iter().cloned().map(text).collect();
        known.leave(is_last);
        let changes = known.changes();
        let save = Save {
            reads_before: self.reads,
            reads: known.reads(),
            changes: &changes,
            records: &self.waiting,
            texts: &new_texts,
            events: &self.events,
            keep: Keep { now_us: self.clock.timestamp(self.clock.now()).as_microsecond(), ..Keep::default() },
        };
        match self.store.save(self.number, &save) {
            Ok(()) => {
                known.was_kept();
                self.reads = known.reads();
                if std::mem::take(&mut self.is_failing) {
                    let count = self.waiting.len();
                    printer.remark(&format!("The store takes slots again; the last {count} are saved."));
                }
                self.waiting.clear();
                self.events.clear();
                self.lost_us = None;
                self.texts.extend(new.into_iter().filter(|text| text.text.is_some()).map(|text| (text.item, text)));
            }
            Err(StoreError::Overtaken(error)) => {
                // What waits is in what the other one keeps.
                self.waiting.clear();
                self.events.clear();
                (self.lost_us, self.is_failing) = (None, false);
                // A number that no read has: what is kept is looked at with the next slot.
                self.of_another = Some((0, 0));
                printer.warning(&format!("{error}: this one goes on without saving, until that one ends"));
            }
            Err(StoreError::Moved(error)) => {
                self.is_gone = true;
                self.unsaved += self.waiting.len();
                self.waiting.clear();
                printer.warning(&format!("{error}: watching goes on, and nothing is saved any more"));
                self.why = error;
            }
            Err(error) => {
                self.why = error.to_string();
                if !std::mem::replace(&mut self.is_failing, true) {
                    printer.warning(&format!(
                        "{error}; watching goes on, and what is not saved is saved with a later slot"
                    ));
                }
            }
        }
    }
}
