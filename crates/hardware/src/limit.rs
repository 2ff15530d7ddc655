//! Limits as data: a rate, a burst on top of it, and the set of limits that a disk, a governor or a cap has.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Units (I/Os or bytes) a second, kept as an integer of thousandths so that dividing by it is exact everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Rate(u64);

impl TryFrom<u64> for Rate {
    type Error = String;

    fn try_from(milli: u64) -> Result<Self, Self::Error> {
        Self::from_milli(milli).ok_or_else(|| format!("a rate of {milli} thousandths a second cannot be"))
    }
}

impl From<Rate> for u64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The rate while there is credit.
    #[serde(rename = "peak_milli_per_second")]
    pub peak: Rate,
    /// The most credit that can be saved, in the limit's units.
    pub credit: u64,
}

impl Burst {
    /// A burst with a full credit that lasts this long at the peak. Credit = (peak - base) x time, since the base rate
    /// goes on filling it meanwhile (managed disks: "a full bucket lasts 30 minutes at maximum burst").
    pub fn lasting(base: Rate, peak: Rate, lasts: Duration) -> Self {
        let milli = u128::from(peak.0.saturating_sub(base.0));
        let credit = milli.saturating_mul(lasts.as_nanos()) / 1_000_000_000_000;
        Self { peak, credit: u64::try_from(credit).unwrap_or(u64::MAX) }
    }
}

/// A ceiling on units a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What can be had for ever.
    #[serde(rename = "milli_per_second")]
    pub rate: Rate,
    /// What can be had for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// What a limit counts, and which I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Reads and writes, I/Os.
    Iops,
    /// Reads, I/Os.
    ReadIops,
    /// Writes, I/Os.
    WriteIops,
    /// Reads and writes, bytes.
    Bandwidth,
    /// Reads, bytes.
    ReadBandwidth,
    /// Writes, bytes.
    WriteBandwidth,
}

impl LimitKind {
    /// All of them, in the order of [`Limits::named`].
    pub const ALL: [Self; Limits::KINDS] =
        [Self::Iops, Self::ReadIops, Self::WriteIops, Self::Bandwidth, Self::ReadBandwidth, Self::WriteBandwidth];

    /// Whether bytes are counted, and not I/Os.
    pub const fn is_of_bytes(self) -> bool {
        matches!(self, Self::Bandwidth | Self::ReadBandwidth | Self::WriteBandwidth)
    }
}

/// The limits of one disk, governor or cap. All that apply to an I/O bind it; none set means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Reads and writes together, I/Os a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<Limit>,
    /// Reads, I/Os a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<Limit>,
    /// Writes, I/Os a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<Limit>,
    /// Reads and writes together, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Limit>,
    /// Reads, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bandwidth: Option<Limit>,
    /// Writes, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
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

    /// Those that are set, with their kinds, to change them.
    pub fn set_mut(&mut self) -> impl Iterator<Item = (LimitKind, &mut Limit)> {
        let Self { iops, read_iops, write_iops, bandwidth, read_bandwidth, write_bandwidth } = self;
        let all = [iops, read_iops, write_iops, bandwidth, read_bandwidth, write_bandwidth];
        LimitKind::ALL.into_iter().zip(all).filter_map(|(kind, limit)| Some((kind, limit.as_mut()?)))
    }

    /// The limit of a kind.
    pub fn of(&self, kind: LimitKind) -> Option<Limit> {
        self.named()[kind as usize].1
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
