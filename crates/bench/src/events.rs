//! The events of a run that is measured here: one log numbers them, folds them, has them kept, and feeds followers.
//!
//! What keeps them may refuse, which stops the run: a point that can't be kept must not be followed by another. A follower
//! never holds the run up: events that find no room in a feed are skipped, and are there where events are kept.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, Result};
use plimsoll_measurement::event::{Activity, Event, Kind, MAIN};
use plimsoll_measurement::{Fold, Moment, RunRecord};

/// Events that may wait until they are kept, in real time: a killed program loses no more.
const MOST_WAITING: usize = 10;

/// The same in virtual time, where a second takes no time and a disk does.
const MOST_WAITING_VIRTUAL: usize = 500;

/// Events that a feed holds for a slow follower.
const FEED: usize = 4096;

/// Progress is told at least so often.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Keeps events. They are safe when a call returns; those that it refused come again with the next.
pub trait Keeper: Send {
    /// Keeps these events.
    ///
    /// # Errors
    /// If they can't be kept: the run stops.
    fn keep(&mut self, events: &[Event]) -> Result<()>;
}

/// Where a run's events go; nowhere by default.
#[derive(Default)]
pub struct Sinks {
    /// Keeps them.
    pub keeper: Option<Box<dyn Keeper>>,
    /// Tell others of them.
    pub feeds: Vec<Feed>,
}

/// Events for a follower that may be slow.
#[derive(Debug)]
pub struct Feed(SyncSender<Event>);

/// A feed, and the end where its events come out. The run's last event is followed by none.
pub fn feed() -> (Feed, Receiver<Event>) {
    let (sender, receiver) = sync_channel(FEED);
    (Feed(sender), receiver)
}

/// The log of one run.
pub struct EventLog {
    run_id: String,
    clock: Arc<dyn Clock>,
    next: u64,
    fold: Fold,
    sinks: Sinks,
    waiting: Vec<Event>,
    /// What a call that can't fail has met; the next that can tells it.
    refused: Option<Error>,
    /// The progress that was told last, in bytes, and when.
    told: (u64, Moment),
}

impl EventLog {
    /// The log of a run of which nothing is told yet.
    pub fn new(run_id: &str, clock: &Arc<dyn Clock>, sinks: Sinks) -> Self {
        Self {
            run_id: run_id.to_owned(),
            clock: Arc::clone(clock),
            next: 0,
            fold: Fold::new(run_id),
            sinks,
            waiting: Vec::new(),
            refused: None,
            told: (0, Moment::default()),
        }
    }

    /// Tells an event. One that must not be lost is kept when this returns.
    ///
    /// # Errors
    /// If it can't be kept, or an earlier one couldn't; what is no point and no phase is part of the record all the same.
    pub fn tell(&mut self, kind: Kind) -> Result<()> {
        let event =
            Event { run_id: self.run_id.clone(), source: MAIN.to_owned(), sequence: self.next, at: self.now(), kind };
        self.next += 1;
        let kept = self.keep(&event);
        // What was measured and can't be kept is not told either: the store has no less than the record.
        if kept.is_ok() || !matches!(event.kind, Kind::Point(_) | Kind::Phase(_)) {
            self.fold.apply(event.clone());
        }
        if kept.is_ok() {
            for feed in &self.sinks.feeds {
                // A follower that is slow or gone misses it.
                let _ = feed.0.try_send(event.clone());
            }
        }
        kept.and(self.refused.take().map_or(Ok(()), Err))
    }

    /// Tells an event where nothing can be done about a refusal; the next that can fail does.
    pub fn note(&mut self, kind: Kind) {
        if let Err(error) = self.tell(kind) {
            self.refused.get_or_insert(error);
        }
    }

    fn keep(&mut self, event: &Event) -> Result<()> {
        let Some(keeper) = &mut self.sinks.keeper else { return Ok(()) };
        self.waiting.push(event.clone());
        let most = if self.clock.kind() == "virtual" { MOST_WAITING_VIRTUAL } else { MOST_WAITING };
        if event.kind.is_urgent() || self.waiting.len() >= most {
            keeper.keep(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Something else is being done now.
    pub fn activity(&mut self, text: &str) {
        self.told = (0, self.clock.now());
        self.note(Kind::Activity(Activity { text: text.to_owned(), ..Activity::default() }));
    }

    /// It has come so far. May be called as often as one likes: a percent or a second is told, and nothing in between.
    pub fn progress(&mut self, text: &str, done_bytes: u64, total_bytes: u64) {
        let now = self.clock.now();
        let has_moved = done_bytes.saturating_sub(self.told.0) > total_bytes / 100;
        if has_moved || now.since(self.told.1) >= PROGRESS_EVERY {
            self.told = (done_bytes, now);
            let (done_bytes, total_bytes) = (Some(done_bytes), Some(total_bytes));
            self.note(Kind::Activity(Activity { text: text.to_owned(), done_bytes, total_bytes }));
        }
    }

    /// True if the events are kept, so that what a killed program leaves is worth telling.
    pub fn is_kept(&self) -> bool {
        self.sinks.keeper.is_some()
    }

    /// The present moment as records have it.
    pub fn now(&self) -> String {
        format!("{:.3}", self.clock.timestamp(self.clock.now()))
    }

    /// The record as it stands.
    pub fn record(&self) -> Option<RunRecord> {
        self.fold.record()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use plimsoll_clock::VirtualClock;
    use plimsoll_engine::ErrorKind;
    use plimsoll_measurement::Point;
    use plimsoll_measurement::event::PointMeasured;

    use super::*;

    /// Keeps as many events as there is room for.
    struct Shelf {
        kept: Arc<Mutex<Vec<Event>>>,
        room: usize,
    }

    impl Keeper for Shelf {
        fn keep(&mut self, events: &[Event]) -> Result<()> {
            let mut kept = self.kept.lock().unwrap();
            if kept.len() + events.len() > self.room {
                return Err(Error::new(ErrorKind::DiskFull, "no room"));
            }
            kept.extend_from_slice(events);
            Ok(())
        }
    }

    fn log(room: usize) -> (EventLog, Arc<Mutex<Vec<Event>>>, Receiver<Event>) {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let kept = Arc::new(Mutex::default());
        let (feed, told) = feed();
        let keeper = Box::new(Shelf { kept: Arc::clone(&kept), room });
        (EventLog::new("run-1", &clock, Sinks { keeper: Some(keeper), feeds: vec![feed] }), kept, told)
    }

    fn point(index: u32) -> Kind {
        Kind::Point(PointMeasured { repetition: "a".into(), point: Point { index, ..Point::default() } })
    }

    #[test]
    fn what_must_not_be_lost_takes_the_rest_along_and_is_kept_before_it_is_told() {
        let (mut log, kept, told) = log(100);
        log.activity("loading");
        assert_eq!((kept.lock().unwrap().len(), told.try_iter().count()), (0, 1));
        log.tell(point(0)).unwrap();
        let numbers: Vec<u64> = kept.lock().unwrap().iter().map(|event| event.sequence).collect();
        assert_eq!((numbers, told.try_iter().count()), (vec![0, 1], 1));
    }

    #[test]
    fn what_was_refused_is_not_told_and_comes_again() {
        let (mut log, kept, told) = log(1);
        log.activity("loading");
        assert_eq!(log.tell(point(0)).unwrap_err().kind, ErrorKind::DiskFull);
        assert_eq!((kept.lock().unwrap().len(), told.try_iter().count()), (0, 1));
        log.sinks.keeper = Some(Box::new(Shelf { kept: Arc::clone(&kept), room: 9 }));
        log.tell(point(1)).unwrap();
        assert_eq!(kept.lock().unwrap().len(), 3);
    }

    #[test]
    fn a_record_has_no_point_that_could_not_be_kept() {
        let (mut log, kept, _told) = log(2);
        log.tell(Kind::Begun(Box::default())).unwrap();
        log.tell(point(0)).unwrap();
        assert_eq!(log.tell(point(1)).unwrap_err().kind, ErrorKind::DiskFull);
        let points: Vec<u32> =
            log.record().unwrap().repetitions.iter().flat_map(|one| &one.points).map(|point| point.index).collect();
        assert_eq!((points, kept.lock().unwrap().len()), (vec![0], 2));
    }

    #[test]
    fn a_refusal_that_nobody_heard_of_is_told_by_the_next() {
        let (mut log, _, _) = log(0);
        log.note(point(0));
        log.sinks.keeper = None;
        assert_eq!(log.tell(point(1)).unwrap_err().kind, ErrorKind::DiskFull);
        log.tell(point(2)).unwrap();
    }

    #[test]
    fn who_does_not_listen_holds_nobody_up_and_takes_no_memory() {
        let (mut log, _, told) = log(usize::MAX);
        (0..3 * FEED as u32).for_each(|index| log.tell(point(index)).unwrap());
        assert_eq!(told.try_iter().count(), FEED);
        drop(told);
        log.tell(point(0)).unwrap();
    }

    #[test]
    fn progress_is_told_by_the_percent() {
        let (mut log, _, told) = log(usize::MAX);
        log.activity("loading");
        (0..10_000).for_each(|done| log.progress("loading", done, 10_000));
        let all: Vec<_> = told.try_iter().collect();
        assert_eq!(all.len(), 1 + 99);
    }
}
