//! The record of a run as a fold of its events. Events may come late, twice and in any order: the same set of events makes
//! the same record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::{Event, Kind, SamplesTaken, Second, Warning};
use crate::point::Point;
use crate::requests::{Phase, Seconds};
use crate::run::{Repetition, RunRecord};
use crate::samples::{SampleGap, Samples, TimedMark};

/// Seconds of a repetition beyond these (eleven days) are not looked at.
const MOST_SECONDS: u32 = 1_000_000;

/// Which event it is; the greater of two that tell the same counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    source: Arc<str>,
    sequence: u64,
}

/// Events of a run, folded.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    run_id: String,
    seen: BTreeMap<Arc<str>, Seen>,
    begun: Option<(Order, Box<RunRecord>)>,
    finished: Option<(Order, Box<RunRecord>)>,
    warnings: BTreeMap<Order, Warning>,
    repetitions: BTreeMap<String, Parts>,
}

/// Sequence numbers of a source that have come.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// All below it have.
    next: u64,
    beyond: BTreeSet<u64>,
}

/// What is known of a repetition.
#[derive(Debug, Clone, Default)]
struct Parts {
    head: Option<(Order, Box<Repetition>)>,
    points: BTreeMap<u32, (Order, Point)>,
    phases: BTreeMap<Order, Phase>,
    seconds: BTreeMap<(u32, Order), Second>,
    samples: BTreeMap<Order, SamplesTaken>,
    marks: BTreeMap<Order, TimedMark>,
    gaps: BTreeMap<Order, SampleGap>,
}

impl Seen {
    /// Adds a number; false if it was there.
    fn insert(&mut self, sequence: u64) -> bool {
        if sequence < self.next || !self.beyond.insert(sequence) {
            return false;
        }
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        true
    }
}

impl Fold {
    /// A run of which nothing is known.
    pub fn new(run_id: &str) -> Self {
        Self { run_id: run_id.to_owned(), ..Self::default() }
    }

    /// A run by these events.
    pub fn of(run_id: &str, events: impl IntoIterator<Item = Event>) -> Self {
        let mut fold = Self::new(run_id);
        for event in events {
            fold.apply(event);
        }
        fold
    }

    /// Adds an event; false if it was there, or belongs to another run, and nothing has changed.
    pub fn apply(&mut self, event: Event) -> bool {
        if event.run_id != self.run_id {
            return false;
        }
        let known = self.seen.get_key_value(event.source.as_str()).map(|(source, _)| Arc::clone(source));
        let source = known.unwrap_or_else(|| event.source.into());
        if !self.seen.entry(Arc::clone(&source)).or_default().insert(event.sequence) {
            return false;
        }
        self.add(Order { source, sequence: event.sequence }, event.kind);
        true
    }

    fn add(&mut self, order: Order, kind: Kind) {
        match kind {
            Kind::Begun(record) => keep_later(&mut self.begun, order, record),
            Kind::Finished(record) => keep_later(&mut self.finished, order, record),
            Kind::Repetition(head) => keep_later(&mut self.parts(&head.label.clone()).head, order, head),
            Kind::Phase(ended) => drop(self.parts(&ended.repetition).phases.insert(order, *ended.phase)),
            Kind::Point(measured) => {
                let points = &mut self.parts(&measured.repetition).points;
                let index = measured.point.index;
                if points.get(&index).is_none_or(|(known, _)| *known < order) {
                    points.insert(index, (order, measured.point));
                }
            }
            // No test goes on for longer: a damaged number must not take all memory.
            Kind::Second(second) if second.second >= MOST_SECONDS => {}
            Kind::Second(second) => {
                drop(self.parts(&second.repetition).seconds.insert((second.second, order), second));
            }
            Kind::Samples(taken) => drop(self.parts(&taken.repetition).samples.insert(order, taken)),
            Kind::Warning(warning) => drop(self.warnings.insert(order, warning)),
            Kind::Mark(marked) => drop(self.parts(&marked.repetition).marks.insert(order, marked.mark)),
            Kind::Gap(gap) => drop(self.parts(&gap.repetition).gaps.insert(order, gap.gap)),
            Kind::Activity(_) | Kind::Other { .. } => {}
        }
    }

    fn parts(&mut self, label: &str) -> &mut Parts {
        self.repetitions.entry(label.to_owned()).or_default()
    }

    /// True if the run's end has come.
    pub fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// The record as these events make it; `None` before the run's begin is known.
    pub fn record(&self) -> Option<RunRecord> {
        let (_, head) = self.finished.as_ref().or(self.begun.as_ref())?;
        let mut record = RunRecord::clone(head);
        for warning in self.warnings.values() {
            let list = if warning.is_host { &mut record.host.warnings } else { &mut record.warnings };
            if !list.contains(&warning.text) {
                list.push(warning.text.clone());
            }
        }
        record.repetitions = self.repetitions.iter().map(|(label, parts)| parts.repetition(label)).collect();
        Some(record)
    }

    /// False for an event that changes no record any more, whatever else comes: another tells all that it told.
    pub fn needs(&self, event: &Event) -> bool {
        let is_newest = |newest: Option<&Order>| {
            newest.is_none_or(|newest| (&*newest.source, newest.sequence) <= (event.source.as_str(), event.sequence))
        };
        let parts = |label: &str| self.repetitions.get(label);
        match &event.kind {
            Kind::Begun(_) | Kind::Activity(_) => self.finished.is_none(),
            Kind::Finished(_) => is_newest(self.finished.as_ref().map(|(order, _)| order)),
            Kind::Repetition(head) => {
                is_newest(parts(&head.label).and_then(|parts| parts.head.as_ref()).map(|(order, _)| order))
            }
            Kind::Second(second) => parts(&second.repetition).is_none_or(|parts| !parts.has_all_seconds()),
            Kind::Samples(taken) if taken.is_part => {
                let samples = parts(&taken.repetition).map(|parts| &parts.samples);
                !samples.into_iter().flatten().any(|(order, whole)| {
                    !whole.is_part
                        && whole.samples.phase == taken.samples.phase
                        && *order.source == *event.source
                        && order.sequence > event.sequence
                })
            }
            _ => true,
        }
    }
}

/// Keeps the later of two that tell the same.
fn keep_later<T>(kept: &mut Option<(Order, T)>, order: Order, value: T) {
    if kept.as_ref().is_none_or(|(known, _)| *known < order) {
        *kept = Some((order, value));
    }
}

impl Parts {
    /// True if the head has the seconds as they were counted in the end.
    fn has_all_seconds(&self) -> bool {
        self.head.as_ref().is_some_and(|(_, head)| !head.seconds.is_empty())
    }

    fn repetition(&self, label: &str) -> Repetition {
        let mut repetition = match &self.head {
            Some((_, head)) => Repetition::clone(head),
            None => Repetition { label: label.to_owned(), ..Repetition::default() },
        };
        // A head of an earlier release has its phases and samples in it.
        repetition.points.extend(self.points.values().map(|(_, point)| point.clone()));
        repetition.phases.extend(self.phases.values().cloned());
        repetition.samples.extend(self.samples());
        repetition.marks.extend(self.marks.values().cloned());
        repetition.gaps.extend(self.gaps.values().cloned());
        if !self.has_all_seconds() {
            repetition.seconds = self.seconds();
        }
        repetition
    }

    /// All samples of each step, or the parts that have come of it.
    fn samples(&self) -> Vec<Samples> {
        let mut all: Vec<Samples> = Vec::new();
        let mut parts: Vec<(&str, Samples)> = Vec::new();
        for (order, taken) in &self.samples {
            let source = &*order.source;
            let of_step = parts.iter().position(|(from, part)| *from == source && part.phase == taken.samples.phase);
            match (taken.is_part, of_step) {
                (true, Some(at)) => parts[at].1.append(&taken.samples),
                (true, None) => parts.push((source, taken.samples.clone())),
                (false, at) => {
                    at.map(|at| parts.remove(at));
                    all.push(taken.samples.clone());
                }
            }
        }
        all.extend(parts.into_iter().map(|(_, samples)| samples));
        all
    }

    /// The seconds as they were seen while they passed. Those that no event tells of have counts of zero.
    fn seconds(&self) -> Seconds {
        let Some(((last, _), _)) = self.seconds.last_key_value() else { return Seconds::default() };
        let all = *last as usize + 1;
        let counts = || vec![0; all];
        let mut seconds = Seconds {
            operations: counts(),
            rows: counts(),
            content_bytes: counts(),
            errors: counts(),
            rows_examined: counts(),
            latency_us_p50: vec![None; all],
            latency_us_p99: vec![None; all],
            ..Seconds::default()
        };
        let mut before = None;
        for ((second, _), seen) in &self.seconds {
            let at = *second as usize;
            for (column, more) in [
                (&mut seconds.operations, seen.operations),
                (&mut seconds.rows, seen.rows),
                (&mut seconds.content_bytes, seen.content_bytes),
                (&mut seconds.errors, seen.errors),
                (&mut seconds.rows_examined, seen.rows_examined),
            ] {
                column[at] = column[at].saturating_add(more);
            }
            // Percentiles of parts make none together.
            let is_only = before.replace(second) != Some(second);
            seconds.latency_us_p50[at] = seen.latency_us_p50.filter(|_| is_only);
            seconds.latency_us_p99[at] = seen.latency_us_p99.filter(|_| is_only);
        }
        seconds
    }
}

#[cfg(test)]
mod tests;
