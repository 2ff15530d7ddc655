//! Reads what a server has counted of waits, files and its other work at the end of each slot, behind the statements. Each is read for
//! itself: one that can't be read is missing alone, with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::foreign::shown;
use plimsoll_engine::{CountedViews, Error, ErrorKind, QuerySampler, Result};
use plimsoll_profile::{AboutCounted, Counted, Known, Record, Refusal, Snapshot, Source, Thing, diff, views};

/// What is read, in this order.
const SOURCES: [Source; 3] = [Source::Waits, Source::Files, Source::Counters];

/// What was read of each source that the server has.
pub type OfSlot = BTreeMap<Source, (AboutCounted, Counted)>;

/// What is known of these sources so far. It is not kept: whoever begins to watch has a point to start from, and no figures before it.
pub struct Counters {
    clock: Arc<dyn Clock>,
    known: BTreeMap<Source, Known>,
    /// Those that could not be read the last time, which was said.
    failing: BTreeSet<Source>,
}

impl Counters {
    pub const fn of(clock: Arc<dyn Clock>) -> Self {
        Self { clock, known: BTreeMap::new(), failing: BTreeSet::new() }
    }

    /// Reads all of them. What can't be read is warned of once, until it can.
    pub fn read(&mut self, sampler: &mut dyn QuerySampler, slot_us: u64, mut warn: impl FnMut(&str)) -> OfSlot {
        let mut read = OfSlot::new();
        let mut away: Option<Error> = None;
        for source in SOURCES {
            // Who can't be connected to is not asked three times.
            let one = away.clone().map_or_else(|| self.one(sampler, source, slot_us), Err);
            match one {
                Ok(Some(counted)) => {
                    self.failing.remove(&source);
                    read.insert(source, counted);
                }
                Ok(None) => {}
                Err(error) => {
                    if self.failing.insert(source) {
                        warn(&format!(
                            "{} could not be read, so that they are missing in this slot: {error}",
                            name(source)
                        ));
                    }
                    read.insert(source, (AboutCounted::absent(error.message.clone()), Counted::default()));
                    away = Some(error).filter(|error| error.kind == ErrorKind::Connect).or(away);
                }
            }
        }
        read
    }

    /// Reads one of them, and again if the server was set back or restarted in the middle of it.
    fn one(
        &mut self,
        sampler: &mut dyn QuerySampler,
        source: Source,
        slot_us: u64,
    ) -> Result<Option<(AboutCounted, Counted)>> {
        let mut refused = Refusal::Torn;
        for _ in 0..2 {
            let Some(CountedViews { start, end, views }) = sampler.counted(source)? else { return Ok(None) };
            let own_us = Some(self.clock.now().as_nanos() / 1_000);
            let (rows, things) = views::rows(source, &views);
            let total_of = views::time_of(source);
            let snapshot = Snapshot { source, start, end, own_us, is_complete: true, total_of, rows };
            match diff(self.known.entry(source).or_default(), &snapshot, slot_us) {
                Ok(slot) => {
                    let plain =
                        |thing: Thing| Thing { name: shown(&thing.name), database: shown(&thing.database), ..thing };
                    let things = things.into_iter().map(|(item, thing)| (item, plain(thing))).collect();
                    return Ok(Some((AboutCounted::of(&slot), Counted::of(&slot, &things))));
                }
                Err(refusal) => refused = refusal,
            }
        }
        Err(Error::new(ErrorKind::NoResult, refused.to_string()))
    }
}

/// What a source is called in a sentence.
const fn name(source: Source) -> &'static str {
    match source {
        Source::Queries => "statements",
        Source::Waits => "waits",
        Source::Files => "reads and writes of files",
        Source::Counters => "counters of the server's work",
    }
}

/// Puts what was read into the record of its slot.
pub fn put(record: &mut Record, read: &OfSlot) {
    for (source, (about, counted)) in read {
        record.about.counted.insert(*source, about.clone());
        if *counted != Counted::default() {
            record.counted.insert(*source, counted.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_clock::VirtualClock;
    use plimsoll_engine::QueryText;
    use plimsoll_measurement::counters::{Edge, Evictions, Item, Measure, Server};
    use plimsoll_measurement::{CounterRow, FileRow, Views};

    use super::*;

    /// A server whose files fail at the second reading, and that counts three checkpoints between two readings.
    struct Fake {
        reads: BTreeMap<Source, u64>,
    }

    impl QuerySampler for Fake {
        fn snapshot(&mut self) -> Result<Snapshot> {
            Err(Error::new(ErrorKind::NoResult, "not asked here"))
        }

        fn own(&self) -> Vec<Item> {
            Vec::new()
        }

        fn warnings(&self) -> Vec<String> {
            Vec::new()
        }

        fn texts(&mut self, _: &[Item]) -> Result<Vec<QueryText>> {
            Ok(Vec::new())
        }

        fn counted(&mut self, source: Source) -> Result<Option<CountedViews>> {
            let read = self.reads.entry(source).or_default();
            *read += 1;
            let edge = Edge {
                clock_us: 1_000_000 * read.cast_signed(),
                server: Server { identity: "s".to_owned(), version: "1".to_owned(), started_us: 5 },
                reset_us: Some(5),
                are_stamps_derived: false,
                evictions: Evictions::Never,
                total: None,
            };
            let mut views = Views::default();
            match source {
                Source::Files if *read == 2 => return Err(Error::new(ErrorKind::Statement, "it took too long")),
                Source::Files => {
                    let reads = Some(10 * *read);
                    views.files.push(FileRow { name: "data".to_owned(), kind: "data", reads, ..FileRow::default() });
                }
                Source::Counters => {
                    let name = "checkpoints".to_owned();
                    views.counters.push(CounterRow { name, count: 3 * *read, began_us: Some(5) });
                }
                _ => return Ok(None),
            }
            Ok(Some(CountedViews { start: edge.clone(), end: edge, views }))
        }
    }

    #[test]
    fn what_can_not_be_read_is_missing_alone_and_is_counted_later() {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let mut counters = Counters::of(clock);
        let mut server = Fake { reads: BTreeMap::new() };
        let mut warned = Vec::new();
        let mut read = || counters.read(&mut server, 1_000_000, |warning| warned.push(warning.to_owned()));
        assert!(read().values().all(|(about, counted)| about.covered_us == 0 && counted.sums.is_empty()));
        let second = read();
        assert!(!second.contains_key(&Source::Waits), "the server has none");
        assert_eq!(second[&Source::Files].0.absent.as_deref(), Some("it took too long"));
        let value = |read: &OfSlot, source, measure| {
            read[&source].1.sums.values().next().and_then(|sum| sum.values.get(measure))
        };
        assert_eq!(value(&second, Source::Counters, Measure::Count), Some(3));
        let third = read();
        assert_eq!(value(&third, Source::Files, Measure::Reads), Some(20), "of both slots");
        assert_eq!(third[&Source::Files].0.absent, None);
        assert!(warned.len() == 1 && warned[0].contains("it took too long"), "{warned:?}");
    }
}
