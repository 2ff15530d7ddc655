//! The CPU quota: so many CPU-seconds a second for all sessions together, at most one core for each session.
//!
//! work = statements x cost of a statement + steps x cost of a step + pages x cost of a page; done = max(now + work,
//! the quota's end). The quota is a bucket like any other (picoseconds of CPU as units, `cores` x 10^12 of them a
//! second). With fewer busy sessions than cores each runs at full speed, with more the quota is shared in the order of
//! booking. Work that holds up others goes first, as in priority inheritance (source: Sha, Rajkumar and Lehoczky,
//! Priority inheritance protocols, IEEE Transactions on Computers 39 (1990) 1175-1185). Such work has a bucket with the
//! same quota that sees no other work, and the others' bucket sees all. Left out: the scheduler's time slices (a
//! booking is served as a whole), caches, frequency and hyper-threads.

use plimsoll_measurement::Moment;
use serde::{Deserialize, Serialize};

use crate::Rate;
use crate::bucket::Bucket;
use crate::meter::{Busy, Meter};
use crate::neighbour::Timeline;
use crate::time::{PS_PER_SECOND, Ps, from_moment, to_moment};

pub(crate) const MOST_CORES: f64 = 1024.0;
/// The most a step may cost: a millisecond.
pub(crate) const LONGEST_STEP: u64 = 1_000_000_000;
/// The most a page or a statement may cost: a second.
pub(crate) const LONGEST_PAGE: u64 = 1_000_000_000_000;

/// What CPU there is and what work costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuSpec {
    /// CPU-seconds a second for all sessions together; one session uses at most one core of it.
    pub cores: f64,
    /// Picoseconds for a step of the engine's virtual machine; `None` if steps take no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ps: Option<u64>,
    /// Picoseconds for a page that is read from a device.
    pub page_ps: u64,
    /// Picoseconds for each statement whatever it does: what a server needs to receive, plan and answer it.
    pub statement_ps: u64,
}

/// Work for the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuWork {
    /// Statements that begin.
    pub statements: u64,
    /// Steps of the engine's virtual machine.
    pub steps: u64,
    /// Pages that were read from a device.
    pub pages: u64,
}

impl CpuSpec {
    /// CPU without a limit.
    pub const fn unlimited() -> Self {
        Self { cores: 1.0, step_ps: None, page_ps: 0, statement_ps: 0 }
    }

    /// Whether any work takes time.
    pub const fn is_limited(&self) -> bool {
        self.step_ps.is_some() || self.statement_ps > 0
    }

    /// CPU time of one core for this work, in picoseconds.
    pub fn time_ps(&self, work: CpuWork) -> u128 {
        if !self.is_limited() {
            return 0;
        }
        u128::from(work.statements) * u128::from(self.statement_ps)
            + u128::from(work.steps) * u128::from(self.step_ps.unwrap_or(0))
            + u128::from(work.pages) * u128::from(self.page_ps)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if !(self.cores >= 0.001 && self.cores <= MOST_CORES) {
            return Err(format!("cores = {} must be between 0.001 and {MOST_CORES}", self.cores));
        }
        if self.step_ps.is_some_and(|step| step == 0 || step > LONGEST_STEP) {
            return Err("the time of a step must be more than 0 and at most 1ms".to_owned());
        }
        if self.page_ps > LONGEST_PAGE {
            return Err("the time of a page must be at most 1s".to_owned());
        }
        if self.statement_ps > LONGEST_PAGE {
            return Err("the time of a statement must be at most 1s".to_owned());
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    spec: CpuSpec,
    quota: Bucket,
    /// The same quota, as work that goes first sees it.
    first: Bucket,
    pub meter: Meter,
}

impl Cpu {
    pub(crate) fn new(spec: &CpuSpec) -> Self {
        // A specification that passed its check has such a rate.
        let rate = Rate::per_second(spec.cores * PS_PER_SECOND as f64).unwrap_or(Rate::MAX);
        let quota = Bucket::new(Timeline::new(rate, None, 0), 0);
        Self { spec: *spec, first: quota.clone(), quota, meter: Meter::new(spec.is_limited()) }
    }

    /// Starts at `now` with what was booked on another.
    pub(crate) fn take_over(&mut self, now: Moment, other: &Self) {
        for (ours, theirs) in [(&mut self.quota, &other.quota), (&mut self.first, &other.first)] {
            ours.skip_to(from_moment(now));
            ours.take_over(theirs);
        }
        self.meter.take_over(&other.meter);
    }

    /// Books the work of one session, before that of others if it holds them up.
    pub(crate) fn work(&mut self, now: Moment, work: CpuWork, goes_first: bool) -> Moment {
        if !self.spec.is_limited() {
            return now;
        }
        let work: Ps = self.spec.time_ps(work);
        let (start, units) = (from_moment(now), u64::try_from(work).unwrap_or(u64::MAX));
        let from = self.quota.free_at(start);
        let to = self.quota.book(start, units);
        self.meter.add(start, 0, Busy { from, to, work: to - from });
        let through = if goes_first { self.first.book(start, units) } else { to };
        to_moment(through.max(start.saturating_add(work)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(cores: f64) -> Cpu {
        Cpu::new(&CpuSpec { cores, step_ps: Some(25_000), page_ps: 10_000_000, statement_ps: 40_000_000 })
    }

    fn at_ms(ms: u64) -> Moment {
        Moment::from_nanos(ms * 1_000_000)
    }

    /// A session that works 10 ms at a time (400,000 steps of 25 ns).
    const TEN_MS: CpuWork = CpuWork { statements: 0, steps: 400_000, pages: 0 };

    #[test]
    fn one_session_uses_one_core_of_two() {
        let mut cpu = cpu(2.0);
        let mut now = Moment::default();
        for turn in 1..=100 {
            now = cpu.work(now, TEN_MS, false);
            assert_eq!(now, at_ms(turn * 10));
        }
    }

    #[test]
    fn three_sessions_share_two_cores() {
        let mut cpu = cpu(2.0);
        let mut sessions = [Moment::default(); 3];
        for _ in 0..200 {
            for session in &mut sessions {
                *session = cpu.work(*session, TEN_MS, false);
            }
        }
        // 600 pieces of 10 ms on two cores take three seconds.
        assert_eq!(sessions.iter().max(), Some(&at_ms(3_000)));
        assert!(sessions.iter().all(|end| *end >= at_ms(2_990)));
    }

    #[test]
    fn who_holds_up_others_goes_first_and_takes_no_more_than_there_is() {
        let mut cpu = cpu(0.5);
        for _ in 0..10 {
            cpu.work(Moment::default(), TEN_MS, false);
        }
        // Ten others have booked 200 ms of half a core; what goes first waits for none of it,
        assert_eq!(cpu.work(Moment::default(), TEN_MS, true), at_ms(20));
        // but for what went first before,
        assert_eq!(cpu.work(Moment::default(), TEN_MS, true), at_ms(40));
        // and the others wait for all.
        assert_eq!(cpu.work(Moment::default(), TEN_MS, false), at_ms(260));
    }

    #[test]
    fn part_of_a_core_is_slower_and_pages_cost_too() {
        assert_eq!(cpu(0.1).work(Moment::default(), TEN_MS, false), at_ms(100));
        assert_eq!(cpu(1.0).work(at_ms(5), CpuWork { pages: 1_000, ..TEN_MS }, false), at_ms(25));
        let most = CpuWork { statements: u64::MAX, steps: u64::MAX, pages: u64::MAX };
        assert_eq!(Cpu::new(&CpuSpec::unlimited()).work(at_ms(5), most, false), at_ms(5));
    }

    #[test]
    fn a_statement_has_a_price_of_its_own() {
        let hundred = CpuWork { statements: 100, ..CpuWork::default() };
        assert_eq!(cpu(1.0).work(at_ms(5), hundred, false), at_ms(9));
        // It alone makes a CPU that is limited.
        let spec = CpuSpec { statement_ps: 1_000_000_000, ..CpuSpec::unlimited() };
        assert_eq!(Cpu::new(&spec).work(at_ms(0), CpuWork { steps: 7, pages: 7, statements: 2 }, false), at_ms(2));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for cores in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let spec = CpuSpec { cores, ..CpuSpec::unlimited() };
            assert!(spec.check().unwrap_err().contains("between 0.001 and 1024"), "{cores}");
        }
        assert!(CpuSpec { statement_ps: LONGEST_PAGE + 1, ..CpuSpec::unlimited() }.check().is_err());
        assert!(CpuSpec { step_ps: Some(0), ..CpuSpec::unlimited() }.check().is_err());
        assert_eq!(CpuSpec::unlimited().check(), Ok(()));
    }
}
