//! Whether our own program stood still: a thread that wants to wake a hundred times a second notes when it could not. Whoever stops or freezes
//! our program stops its looks at the server as well, and what sessions did not get an answer in that time looks like the server's silence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::{Clock, spawn};
use plimsoll_measurement::{Moment, SampleColumn, Samples};

use crate::host::run_queue::OwnQueue;

/// How often it wakes.
const EVERY: Duration = Duration::from_millis(10);
/// A wake that is later than this is noted. What the thread waited for a CPU in that time is left out: it is nobody's stop.
const LATE: Duration = Duration::from_millis(20);
/// The same where the kernel does not say what threads wait for a CPU. A quota of CPU holds a thread back for less: for one of its periods of
/// 100 ms.
const LATE_OR_QUEUED: Duration = Duration::from_millis(120);
/// So many times are kept.
const MOST: usize = 10_000;

/// From when to when nobody woke.
pub(crate) type Gaps = Arc<Mutex<Vec<(Moment, Moment)>>>;

/// Begins to wake until it is over; modelled time never stands still.
pub(crate) fn start(clock: &Arc<dyn Clock>, over: &Arc<AtomicBool>) -> Gaps {
    let gaps = Gaps::default();
    if clock.kind() == "real" {
        let (theirs, ticks, over) = (Arc::clone(&gaps), Arc::clone(clock), Arc::clone(over));
        // It ends by itself, as the samples' own thread does.
        let _ = spawn(clock, "pulse", move || {
            let mut queue = OwnQueue::of_this_thread();
            let mut before = queue.waited();
            while !over.load(Ordering::Relaxed) {
                let due = ticks.now().after(EVERY);
                ticks.sleep_until(due);
                let late = ticks.now().since(due);
                let waited = queue.waited();
                let queued = before.zip(waited).map(|(before, after)| after.saturating_sub(before));
                before = waited;
                let mut gaps = theirs.lock();
                if let Some(stood) = stood_still(late, queued).filter(|_| gaps.len() < MOST) {
                    gaps.push((due, due.after(stood)));
                }
            }
        });
    }
    gaps
}

/// How long our program stood still, if a thread wakes so late and has waited so long for a CPU meanwhile.
fn stood_still(late: Duration, queued: Option<Duration>) -> Option<Duration> {
    let stood = late.saturating_sub(queued.unwrap_or_default());
    (stood >= if queued.is_some() { LATE } else { LATE_OR_QUEUED }).then_some(stood)
}

/// The part of each interval in which our program stood still, in percent.
pub(crate) fn column(samples: &Samples, gaps: &[(Moment, Moment)], from: Moment) -> Option<SampleColumn> {
    if gaps.is_empty() {
        return None;
    }
    let seconds = |at: Moment| if at >= from { at.since(from).as_secs_f64() } else { -from.since(at).as_secs_f64() };
    let still = |(start, end): (f64, f64)| {
        let inside =
            |(begin, until): &(Moment, Moment)| (seconds(*until).min(end) - seconds(*begin).max(start)).max(0.0);
        let all: f64 = gaps.iter().map(inside).sum();
        (end > start).then(|| (10_000.0 * all / (end - start)).round() / 100.0)
    };
    Some(SampleColumn {
        metric: "client_stood_still".to_owned(),
        source: "host".to_owned(),
        unit: "%".to_owned(),
        values: samples.intervals().map(still).collect(),
        ..SampleColumn::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_for_a_cpu_does_not_stand_still() {
        let ms = Duration::from_millis;
        assert_eq!(stood_still(ms(60), Some(ms(1))), Some(ms(59)));
        assert_eq!(stood_still(ms(60), Some(ms(55))), None);
        assert_eq!((stood_still(ms(60), None), stood_still(ms(130), None)), (None, Some(ms(130))));
    }

    #[test]
    fn a_gap_falls_into_the_intervals_that_it_lies_in() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let samples = Samples { seconds: vec![1.0, 2.0, 3.0], ..Samples::default() };
        let column = column(&samples, &[(at(10_800), at(11_300)), (at(12_500), at(12_600))], at(10_000)).unwrap();
        assert_eq!(column.values, [Some(20.0), Some(30.0), Some(10.0)]);
        assert_eq!(super::column(&samples, &[], at(0)), None);
    }
}
