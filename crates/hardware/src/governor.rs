//! A set of limits at work: the limits of a disk, a log-rate or data-I/O governor, a storage-account or VM cap.
//!
//! An I/O is booked on every limit that applies to it at the same moment, and through at the latest of their ends. A
//! limit with burst is two buckets: the sustained rate with its credit, and the peak rate without any.
//! Left out: a governor that adapts to load or shares by priority; what it delays is delayed in the order of booking.
//! A log-rate governor is a write bandwidth on the log; a data-I/O governor is I/Os and bytes of reads and writes together.

use crate::bucket::Bucket;
use crate::meter::Busy;
use crate::neighbour::{Neighbour, Timeline};
use crate::time::Ps;
use crate::{Kind, Limit, Limits};

/// What an I/O asks of limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub kind: Kind,
    /// I/Os as the limits count them.
    pub ios: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone)]
struct Throttle {
    sustained: Bucket,
    peak: Option<Bucket>,
}

impl Throttle {
    fn new(limit: Limit, neighbour: Option<&Neighbour>, seed: u64) -> Self {
        let timeline = |rate| Timeline::new(rate, neighbour, seed);
        let sustained = Bucket::new(timeline(limit.rate), limit.burst.map_or(0, |burst| burst.credit));
        Self { sustained, peak: limit.burst.map(|burst| Bucket::new(timeline(burst.peak), 0)) }
    }

    fn book(&mut self, now: Ps, units: u64) -> Busy {
        let Some(peak) = &mut self.peak else {
            let from = self.sustained.free_at(now);
            let to = self.sustained.book(now, units);
            return Busy { from, to, work: to - from };
        };
        let from = peak.free_at(now);
        let to = peak.book(now, units).max(self.sustained.book(now, units));
        Busy { from, to, work: self.sustained.cost(units) }
    }

    /// Starts at `now` with what was booked on another.
    fn take_over(&mut self, now: Ps, other: Option<&Self>) {
        self.sustained.skip_to(now);
        let Some(other) = other else { return };
        self.sustained.take_over(&other.sustained);
        if let Some(peak) = &mut self.peak {
            peak.take_over(other.peak.as_ref().unwrap_or(&other.sustained));
        }
    }
}

/// The state of [`Limits`]; a lane of a meter for each.
#[derive(Debug, Clone)]
pub(crate) struct Governor {
    throttles: [Option<Throttle>; Limits::KINDS],
    neighbour: Option<Neighbour>,
    seed: u64,
}

impl Governor {
    /// Lanes a governor needs in a meter.
    pub(crate) const LANES: usize = Limits::KINDS;

    pub(crate) fn new(limits: &Limits, neighbour: Option<&Neighbour>, seed: u64) -> Self {
        let throttles = limits.named().map(|(_, limit)| limit.map(|limit| Throttle::new(limit, neighbour, seed)));
        Self { throttles, neighbour: neighbour.cloned(), seed }
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.throttles.iter().all(Option::is_none)
    }

    /// Books an I/O; when all limits have let it through. `record` gets the lane and span of each limit.
    pub(crate) fn book(&mut self, now: Ps, load: Load, mut record: impl FnMut(usize, Busy)) -> Ps {
        let mut end = now;
        for (lane, throttle) in self.throttles.iter_mut().enumerate() {
            let Some(throttle) = throttle else { continue };
            // The order of `Limits::named`: first I/Os, then bytes; each for both kinds, reads, writes.
            let applies = match lane % 3 {
                0 => true,
                1 => load.kind == Kind::Read,
                _ => load.kind == Kind::Write,
            };
            if applies {
                let span = throttle.book(now, if lane < 3 { load.ios } else { load.bytes });
                record(lane, span);
                end = end.max(span.to);
            }
        }
        end
    }

    /// From now on other limits; what is booked stays booked.
    pub(crate) fn set(&mut self, now: Ps, limits: &Limits) {
        for (throttle, (_, limit)) in self.throttles.iter_mut().zip(limits.named()) {
            let Some(limit) = limit else {
                *throttle = None;
                continue;
            };
            let mut new = Throttle::new(limit, self.neighbour.as_ref(), self.seed);
            new.take_over(now, throttle.as_ref());
            *throttle = Some(new);
        }
    }

    /// Starts at `now` with what was booked on another.
    pub(crate) fn take_over(&mut self, now: Ps, other: &Self) {
        for (throttle, other) in self.throttles.iter_mut().zip(&other.throttles) {
            if let Some(throttle) = throttle {
                throttle.take_over(now, other.as_ref());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::PS_PER_SECOND;
    use crate::{Burst, Rate};

    fn rate(units: f64) -> Rate {
        Rate::per_second(units).unwrap()
    }

    fn load(kind: Kind, ios: u64, bytes: u64) -> Load {
        Load { kind, ios, bytes }
    }

    fn book(governor: &mut Governor, now: Ps, load: Load) -> Ps {
        governor.book(now, load, |_, _| ())
    }

    #[test]
    fn the_tightest_limit_that_applies_binds() {
        let limits = Limits {
            iops: Limit::per_second(100.0),
            read_bandwidth: Limit::per_second(1_000.0),
            write_bandwidth: Limit::per_second(500.0),
            ..Limits::default()
        };
        let mut governor = Governor::new(&limits, None, 0);
        assert_eq!(book(&mut governor, 0, load(Kind::Read, 1, 1_000)), PS_PER_SECOND);
        assert_eq!(book(&mut governor, 0, load(Kind::Write, 1, 1_000)), 2 * PS_PER_SECOND);
        assert_eq!(book(&mut governor, 0, load(Kind::Read, 1, 0)), PS_PER_SECOND);
        assert_eq!(book(&mut governor, 0, load(Kind::Read, 297, 0)), 3 * PS_PER_SECOND);
    }

    /// 120 a second, 3,500 a second for 30 minutes: the published credit model of small premium disks.
    #[test]
    fn a_burst_lasts_as_long_as_it_says_and_then_the_base_rate_is_all() {
        let (base, peak) = (rate(120.0), rate(3_500.0));
        let burst = Burst::lasting(base, peak, std::time::Duration::from_mins(30));
        let limits = Limits { iops: Some(Limit { rate: base, burst: Some(burst) }), ..Limits::default() };
        let mut governor = Governor::new(&limits, None, 0);
        let minutes = |minutes: u128| minutes * 60 * PS_PER_SECOND;
        assert_eq!(book(&mut governor, 0, load(Kind::Read, 3_500 * 1_800, 0)), minutes(30));
        assert_eq!(book(&mut governor, minutes(30), load(Kind::Read, 120 * 60, 0)), minutes(31));
        // Ten idle minutes save 120 a second, which is 72,000 I/Os: (3,500 - 120) t = 72,000 at the peak.
        let seconds = 72_000.0 / 3_380.0;
        let ios = (seconds * 3_500.0) as u64;
        let end = book(&mut governor, minutes(41), load(Kind::Read, ios, 0)) - minutes(41);
        assert!((end as f64 / 1e12 - seconds).abs() < 0.01, "{end}");
        let after = book(&mut governor, minutes(41) + end, load(Kind::Read, 1_200, 0)) - minutes(41) - end;
        assert!((after as f64 / 1e12 - 10.0).abs() < 0.1, "{after}");
    }

    #[test]
    fn new_limits_keep_the_backlog() {
        let limits = |iops| Limits { iops: Limit::per_second(iops), ..Limits::default() };
        let mut governor = Governor::new(&limits(10.0), None, 0);
        book(&mut governor, 0, load(Kind::Read, 20, 0));
        governor.set(PS_PER_SECOND, &limits(100.0));
        assert_eq!(book(&mut governor, PS_PER_SECOND, load(Kind::Read, 100, 0)), 3 * PS_PER_SECOND);
    }
}
