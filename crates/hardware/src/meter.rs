//! Utilisation over time, as a cloud database shows it: rows of 15 seconds for an hour (`sys.dm_db_resource_stats`),
//! rows of 5 minutes for 14 days (`sys.resource_stats`).
//!
//! A booking keeps a limit busy for a span, which may reach into the future; the span is spread over the slots it
//! covers. A resource with several limits has a lane for each; its percentage is that of the busiest lane, for that
//! one holds the resource back. A limit with burst credit counts against its sustained rate, at most 100 %.
//! Left out: bookings that reach more than 14 days ahead.

use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_measurement::Moment;

use crate::time::{PS_PER_NANO, PS_PER_SECOND, Ps};

/// How far a booking may reach ahead and still be remembered: 14 days.
const HORIZON: Ps = 14 * 24 * 3_600 * PS_PER_SECOND;

/// Which rows of a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// 15 seconds, kept for an hour.
    Fine,
    /// 5 minutes, kept for 14 days.
    Coarse,
}

impl Grain {
    /// The length of a row.
    pub const fn length(self) -> Duration {
        match self {
            Self::Fine => Duration::from_secs(15),
            Self::Coarse => Duration::from_mins(5),
        }
    }

    /// How many rows are kept.
    pub const fn rows_kept(self) -> u64 {
        match self {
            Self::Fine => 240,
            Self::Coarse => 14 * 24 * 12,
        }
    }

    const fn length_ps(self) -> Ps {
        self.length().as_nanos() * PS_PER_NANO
    }
}

/// A span in which a limit worked on a booking, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy {
    pub from: Ps,
    pub to: Ps,
    /// The time the booking takes of the limit's sustained rate; `to - from` where there is no burst.
    pub work: Ps,
}

/// How much of a resource was in use, row by row.
#[derive(Debug, Clone)]
pub struct Meter {
    limited: bool,
    is_off: bool,
    lanes: Vec<[Slots; 2]>,
}

impl Meter {
    /// A meter of a resource; one that is not limited has no percentage.
    pub(crate) fn new(limited: bool) -> Self {
        Self { limited, is_off: false, lanes: Vec::new() }
    }

    /// Whether the resource has a limit. Without one there are no rows: a percentage of nothing is unknown, not 0.
    pub fn is_limited(&self) -> bool {
        self.limited
    }

    /// The finished rows that are kept, oldest first: the end of each and its utilisation, 0 to 100 percent.
    pub fn rows(&self, now: Moment, grain: Grain) -> impl Iterator<Item = (Moment, f64)> {
        let length = u64::try_from(grain.length().as_nanos()).unwrap_or(u64::MAX);
        let finished = if self.limited { now.as_nanos() / length } else { 0 };
        (finished.saturating_sub(grain.rows_kept())..finished)
            .map(move |slot| (Moment::from_nanos((slot + 1) * length), self.percent(slot, grain)))
    }

    /// The utilisation of the row that starts at `slot` times the grain's length, so far; 0 where nothing was booked or
    /// the row is no longer kept.
    pub fn percent(&self, slot: u64, grain: Grain) -> f64 {
        let busiest = self.lanes.iter().map(|lane| lane[grain as usize].get(slot)).max().unwrap_or(0);
        (busiest as f64 * 100.0 / grain.length_ps() as f64).min(100.0)
    }

    /// Goes on from what another has seen.
    pub(crate) fn take_over(&mut self, other: &Self) {
        self.lanes.clone_from(&other.lanes);
    }

    /// From now on nothing is added.
    pub(crate) fn switch_off(&mut self) {
        self.is_off = true;
    }

    /// Adds a span of a lane. Rows that are too old at `now` are forgotten.
    pub(crate) fn add(&mut self, now: Ps, lane: usize, span: Busy) {
        if self.is_off {
            return;
        }
        while self.lanes.len() <= lane {
            self.lanes.push([Slots::new(Grain::Fine), Slots::new(Grain::Coarse)]);
        }
        for slots in &mut self.lanes[lane] {
            slots.add(now, span);
        }
    }
}

/// Busy picoseconds by slot, from slot `first` on.
#[derive(Debug, Clone)]
struct Slots {
    grain: Grain,
    first: u64,
    busy: VecDeque<u64>,
}

impl Slots {
    fn new(grain: Grain) -> Self {
        Self { grain, first: 0, busy: VecDeque::new() }
    }

    fn get(&self, slot: u64) -> u64 {
        let index = slot.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.busy.get(index)).copied().unwrap_or(0)
    }

    fn add(&mut self, now: Ps, span: Busy) {
        let length = self.grain.length_ps();
        self.forget((now / length) as u64);
        let to = span.to.min(now.saturating_add(HORIZON));
        if span.to <= span.from {
            self.put((span.from / length) as u64, span.work);
            return;
        }
        let mut from = span.from;
        while from < to {
            let slot = from / length;
            let end = to.min((slot + 1) * length);
            let part = end - from;
            let whole = span.to - span.from;
            let busy = if span.work == whole { part } else { span.work.saturating_mul(part) / whole };
            self.put(slot as u64, busy);
            from = end;
        }
    }

    fn put(&mut self, slot: u64, busy: Ps) {
        let Some(index) = slot.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else { return };
        if index as u64 > self.grain.rows_kept() + (HORIZON / self.grain.length_ps()) as u64 {
            return;
        }
        if self.busy.len() <= index {
            self.busy.resize(index + 1, 0);
        }
        self.busy[index] = self.busy[index].saturating_add(u64::try_from(busy).unwrap_or(u64::MAX));
    }

    fn forget(&mut self, present: u64) {
        let oldest = present.saturating_sub(self.grain.rows_kept());
        if oldest > self.first {
            let gone = usize::try_from(oldest - self.first).unwrap_or(usize::MAX).min(self.busy.len());
            self.busy.drain(..gone);
            self.first = oldest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::from_moment;

    const SECOND: Ps = PS_PER_SECOND;

    fn busy(from: Ps, to: Ps) -> Busy {
        Busy { from: from * SECOND, to: to * SECOND, work: (to - from) * SECOND }
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn percents(meter: &Meter, now: u64, grain: Grain) -> Vec<f64> {
        meter.rows(at(now), grain).map(|(_, percent)| percent).collect()
    }

    #[test]
    fn a_span_is_spread_over_the_rows_it_covers_also_ahead() {
        let mut meter = Meter::new(true);
        meter.add(0, 0, busy(12, 33));
        assert_eq!(percents(&meter, 14, Grain::Fine), Vec::<f64>::new());
        assert_eq!(percents(&meter, 45, Grain::Fine), [20.0, 100.0, 20.0]);
        assert_eq!(percents(&meter, 600, Grain::Coarse), [7.0, 0.0]);
        assert_eq!(meter.rows(at(31), Grain::Fine).last().map(|(end, _)| end), Some(at(30)));
    }

    #[test]
    fn the_busiest_lane_counts_and_nothing_is_more_than_all() {
        let mut meter = Meter::new(true);
        meter.add(0, 0, busy(0, 3));
        meter.add(0, 5, busy(0, 6));
        // Ten seconds' worth of the sustained rate in five seconds of burst, twice.
        for from in [15, 20] {
            let (from, to) = (from * SECOND, (from + 5) * SECOND);
            meter.add(0, 1, Busy { from, to, work: 10 * SECOND });
        }
        assert_eq!(percents(&meter, 30, Grain::Fine), [40.0, 100.0]);
    }

    #[test]
    fn work_of_a_burst_is_spread_evenly() {
        let mut meter = Meter::new(true);
        meter.add(0, 0, Busy { from: 10 * SECOND, to: 30 * SECOND, work: 4 * SECOND });
        assert_eq!(percents(&meter, 30, Grain::Fine), [100.0 / 15.0, 20.0]);
        // A booking without length counts where it is.
        meter.add(0, 0, Busy { from: 31 * SECOND, to: 31 * SECOND, work: 3 * SECOND });
        assert_eq!(percents(&meter, 45, Grain::Fine)[2].to_bits(), 20.0_f64.to_bits());
    }

    #[test]
    fn rows_are_kept_for_an_hour_and_for_fourteen_days() {
        let mut meter = Meter::new(true);
        for day in 0..20_u32 {
            let start = Ps::from(day) * 86_400;
            meter.add(start * SECOND, 0, busy(start, start + 15));
        }
        let now = 19 * 86_400 + 15;
        assert_eq!(percents(&meter, now, Grain::Fine).len(), 240);
        assert_eq!(percents(&meter, now, Grain::Fine).iter().sum::<f64>().to_bits(), 100.0_f64.to_bits());
        let coarse = percents(&meter, now, Grain::Coarse);
        assert_eq!(coarse.len(), 4_032);
        assert_eq!(coarse.iter().filter(|percent| **percent > 0.0).count(), 14);
        assert!(meter.lanes[0].iter().all(|slots| slots.busy.len() <= 4_033));
    }

    #[test]
    fn an_unlimited_resource_has_no_rows_and_absurd_spans_no_cost() {
        assert_eq!(Meter::new(false).rows(at(1_000), Grain::Fine).count(), 0);
        let mut meter = Meter::new(true);
        meter.add(0, 0, Busy { from: 0, to: Ps::MAX, work: Ps::MAX });
        meter.add(from_moment(Moment::from_nanos(u64::MAX)), 0, busy(0, 1));
        assert_eq!(percents(&meter, 15, Grain::Fine), [0.0]);
    }
}
