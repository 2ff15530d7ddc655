//! Limits as data: a rate, a burst on top of it, and the set of limits that a disk, a governor or a cap has.

use std::time::Duration;

/// Units (I/Os or bytes) a second, kept as an integer of thousandths so that dividing by it is exact everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// The largest: 2^60 thousandths, about 1.15e15 units a second.
    pub const MAX: Self = Self(1 << 60);

    /// `None` for anything but a finite rate of at least a thousandth and at most [`Rate::MAX`].
    pub fn per_second(units: f64) -> Option<Self> {
        let milli = (units * 1000.0).round();
        (milli >= 1.0 && milli <= Self::MAX.0 as f64).then_some(Self(milli as u64))
    }

    /// `None` for 0 and beyond [`Rate::MAX`].
    pub const fn from_milli(milli: u64) -> Option<Self> {
        if milli >= 1 && milli <= Self::MAX.0 { Some(Self(milli)) } else { None }
    }

    /// Thousandths of a unit a second.
    pub const fn as_milli(self) -> u64 {
        self.0
    }

    /// Units a second.
    pub fn as_per_second(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// Credit for running faster than the rate: saved while the use is below the rate, full at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The rate while there is credit.
    pub peak: Rate,
    /// The most credit that can be saved, in the limit's units.
    pub credit: u64,
}

impl Burst {
    /// A burst whose full credit lasts this long at the peak: credit = (peak - base) x time, since the base rate goes on
    /// filling it meanwhile (managed disks: "a full bucket lasts 30 minutes at maximum burst").
    pub fn lasting(base: Rate, peak: Rate, lasts: Duration) -> Self {
        let milli = u128::from(peak.0.saturating_sub(base.0));
        let credit = milli.saturating_mul(lasts.as_nanos()) / 1_000_000_000_000;
        Self { peak, credit: u64::try_from(credit).unwrap_or(u64::MAX) }
    }
}

/// A ceiling on units a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What can be had for ever.
    pub rate: Rate,
    /// What can be had for a while.
    pub burst: Option<Burst>,
}

impl Limit {
    /// A limit without burst; `None` where [`Rate::per_second`] is.
    pub fn per_second(units: f64) -> Option<Self> {
        Rate::per_second(units).map(Self::from)
    }

    /// What breaks a rule, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.burst {
            Some(burst) if burst.peak <= self.rate => {
                Err("the burst's rate must be higher than the rate itself".to_owned())
            }
            Some(burst) if burst.credit == 0 => Err("the burst has no credit".to_owned()),
            _ => Ok(()),
        }
    }
}

impl From<Rate> for Limit {
    fn from(rate: Rate) -> Self {
        Self { rate, burst: None }
    }
}

/// The limits of one disk, governor or cap. All that apply to an I/O bind it; none set means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Reads and writes together, I/Os a second.
    pub iops: Option<Limit>,
    /// Reads, I/Os a second.
    pub read_iops: Option<Limit>,
    /// Writes, I/Os a second.
    pub write_iops: Option<Limit>,
    /// Reads and writes together, bytes a second.
    pub bandwidth: Option<Limit>,
    /// Reads, bytes a second.
    pub read_bandwidth: Option<Limit>,
    /// Writes, bytes a second.
    pub write_bandwidth: Option<Limit>,
}

impl Limits {
    /// How many limits there can be.
    pub const KINDS: usize = 6;

    /// All of them with their names, in the order in which governors keep them.
    pub fn named(&self) -> [(&'static str, Option<Limit>); Self::KINDS] {
        [
            ("iops", self.iops),
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
            ("bandwidth", self.bandwidth),
            ("read_bandwidth", self.read_bandwidth),
            ("write_bandwidth", self.write_bandwidth),
        ]
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        self.named().iter().all(|(_, limit)| limit.is_none())
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, limit) in self.named() {
            if let Some(limit) = limit {
                limit.check().map_err(|problem| format!("{name}: {problem}"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_finite_and_more_than_nothing() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e30] {
            assert_eq!(Rate::per_second(bad), None, "{bad}");
        }
        assert_eq!(Rate::from_milli(0), None);
        let mib = 0.8 * 1_048_576.0;
        assert_eq!(Rate::per_second(mib).unwrap().as_milli(), 838_860_800);
    }

    #[test]
    fn credit_is_what_the_peak_takes_beyond_the_base() {
        let (base, peak) = (Rate::per_second(120.0).unwrap(), Rate::per_second(3_500.0).unwrap());
        let burst = Burst::lasting(base, peak, Duration::from_mins(30));
        assert_eq!(burst.credit, (3_500 - 120) * 1_800);
    }
}
