//! Times in which no session was answered. A device that stands still for a tenth of a second is not seen in rates by the
//! second. But samples show that no session at all had an answer for so long.

use plimsoll_measurement::Stall;

/// Length of a slot in milliseconds.
const SLOT_MS: u64 = 10;
/// A stall has so many slots at least.
const LEAST_SLOTS: u64 = 3;
/// ... and so many times the mean time between two answers: by chance alone that happens once in three million.
const LEAST_GAPS: f64 = 15.0;
/// Stalls that are kept.
const MOST: usize = 1000;
/// Slots beyond which nothing is noted: a week, in which a bit for each takes 7 MB.
const MOST_SLOTS: u64 = 7 * 24 * 3600 * 1000 / SLOT_MS;

/// In which slots a session was answered, a bit for each.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    bits: Vec<u64>,
    count: u64,
}

impl Slots {
    /// A session was answered so many nanoseconds after the start.
    pub fn answered(&mut self, nanos: u64) {
        let slot = (nanos / (SLOT_MS * 1_000_000)).min(MOST_SLOTS);
        let word = (slot / 64) as usize;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (slot % 64);
        self.count += 1;
    }

    /// Adds what another noted.
    pub fn merge(&mut self, other: &Self) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, more)| *bits |= more);
        self.count += other.count;
    }

    fn is_silent(&self, slot: u64) -> bool {
        self.bits.get((slot / 64) as usize).is_none_or(|bits| bits & (1 << (slot % 64)) == 0)
    }

    /// Stalls between two times, in seconds after the start. With `due`, which says how many operations were due up to
    /// a second, there is no stall while hardly any was. A rate that rises from zero begins with such a time.
    pub fn stalls(&self, from_seconds: f64, to_seconds: f64, due: Option<&dyn Fn(f64) -> f64>) -> Vec<Stall> {
        let slot = |seconds: f64| ((seconds * 1e3) as u64).div_ceil(SLOT_MS).min(MOST_SLOTS);
        let (from, to) = (slot(from_seconds.max(0.0)), slot(to_seconds.max(0.0)));
        if self.count == 0 || to <= from {
            return Vec::new();
        }
        let gap_slots = (to - from) as f64 / self.count as f64;
        let least = LEAST_SLOTS.max((LEAST_GAPS * gap_slots).ceil() as u64);
        let seconds = |slots: u64| (slots * SLOT_MS) as f64 / 1e3;
        let was_due = |from: u64, to: u64| due.is_none_or(|due| due(seconds(to)) - due(seconds(from)) >= LEAST_GAPS);
        let mut stalls = Vec::new();
        let mut begun = None;
        for slot in from..=to {
            let silent = slot < to && self.is_silent(slot);
            match (silent, begun) {
                (true, None) => begun = Some(slot),
                (false, Some(start)) => {
                    if slot - start >= least && was_due(start, slot) {
                        stalls.push(Stall { started_seconds: seconds(start), seconds: seconds(slot - start) });
                    }
                    begun = None;
                }
                _ => {}
            }
        }
        if stalls.len() > MOST {
            stalls.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
            stalls.truncate(MOST);
            stalls.sort_by(|a, b| a.started_seconds.total_cmp(&b.started_seconds));
        }
        stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers every millisecond but in these times, in milliseconds.
    fn slots(milliseconds: u64, silent: &[std::ops::Range<u64>]) -> Slots {
        let mut slots = Slots::default();
        for at in (0..milliseconds).filter(|at| !silent.iter().any(|range| range.contains(at))) {
            slots.answered(at * 1_000_000);
        }
        slots
    }

    #[test]
    fn a_tenth_of_a_second_without_an_answer_is_found_and_noise_is_not() {
        let found = slots(10_000, &[2_000..2_100, 5_003..5_015]).stalls(0.0, 10.0, None);
        assert_eq!(found, [Stall { started_seconds: 2.0, seconds: 0.1 }]);
        // One answer every 40 ms: 300 ms are nothing strange, a second is.
        let mut rare = Slots::default();
        (0..250_u64)
            .filter(|at| !(50..57).contains(at) && !(100..130).contains(at))
            .for_each(|at| rare.answered(at * 40_000_000));
        let found = rare.stalls(0.0, 10.0, None);
        assert_eq!(found.len(), 1);
        assert!(
            (found[0].started_seconds - 3.97).abs() < 0.011 && (found[0].seconds - 1.23).abs() < 0.011,
            "{found:?}"
        );
    }

    #[test]
    fn what_another_session_was_answered_breaks_a_silence() {
        let mut all = slots(4_000, &[1_000..2_000, 4_000..4_000]);
        let mut other = Slots::default();
        other.answered(1_500_000_000);
        all.merge(&other);
        let found: Vec<f64> = all.stalls(0.0, 4.0, None).iter().map(|stall| stall.seconds).collect();
        assert_eq!(found, [0.5, 0.49]);
    }

    #[test]
    fn without_an_answer_or_a_time_there_is_nothing_to_say() {
        assert_eq!(Slots::default().stalls(0.0, 10.0, None), []);
        assert_eq!(slots(100, &[]).stalls(5.0, 1.0, None), []);
        let mut late = Slots::default();
        late.answered(u64::MAX);
        assert!(late.stalls(0.0, 1.0, None).len() <= 1);
    }

    #[test]
    fn a_rate_that_rises_from_zero_is_no_stall() {
        // 0 to 400 a second in ten seconds, each answered at once: the n-th is due after the root of n / 20 seconds.
        let mut slots = Slots::default();
        let at = |number: u32| (f64::from(number) / 20.0).sqrt();
        (1..2000).for_each(|number| slots.answered((at(number) * 1e9) as u64));
        let due = |seconds: f64| 20.0 * seconds * seconds;
        assert!(!slots.stalls(0.0, 10.0, None).is_empty(), "by the mean rate alone it seems to be one");
        assert_eq!(slots.stalls(0.0, 10.0, Some(&due)), []);
        // What stands still while much is due is one.
        let mut stalled = Slots::default();
        (1..2000)
            .filter(|number| !(5.0..5.5).contains(&at(*number)))
            .for_each(|number| stalled.answered((at(number) * 1e9) as u64));
        let found = stalled.stalls(0.0, 10.0, Some(&due));
        assert_eq!((found.len(), found[0].seconds), (1, 0.5), "{found:?}");
    }
}
