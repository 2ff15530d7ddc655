//! Disks as they are bought: from what the catalogue says of one to a machine with so many of them, their layout, and the limits that
//! they share.

use std::time::Duration;

use plimsoll_catalog::{Basis, CapAt, DiskLatency, DiskLevel, SharedLimit};
use plimsoll_measurement::{LimitBasis, LimitScope, Provenance};

use crate::{
    Burst, Cap, DeviceSpec, Disk, LARGEST_IO_BYTES, Latency, Layout, Limit, LimitHolder, Limits, Origin, Rate, Role,
    Spec, Volume,
};

/// Mean latency of a disk of which none is stated, in ms.
const ASSUMED_DISK_MS: f64 = 5.0;

/// Name of the cap of a virtual machine.
pub const VM: &str = "vm";

/// Name of the cap of a storage account.
pub const ACCOUNT: &str = "account";

/// A mean latency with how it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownLatency {
    /// The mean in milliseconds.
    pub ms: f64,
    /// How it is known.
    pub basis: Basis,
    /// The same in words.
    pub rule: &'static str,
}

/// A disk of the catalogue as a model, with what is known of its latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct BoughtDisk {
    /// The model.
    pub disk: Disk,
    /// Mean latency of its reads.
    pub read: KnownLatency,
    /// Mean latency of its writes.
    pub write: KnownLatency,
}

impl BoughtDisk {
    /// The disk of a level: its limits with a burst that has an end, and latencies around the mean that is stated.
    pub fn of(level: &DiskLevel) -> Self {
        let limit = |base: f64, peak: Option<f64>| {
            let base = Rate::per_second(base)?;
            let seconds = level.burst.as_ref().and_then(|burst| burst.seconds);
            let peak = peak.and_then(Rate::per_second).filter(|peak| *peak > base);
            let burst =
                peak.zip(seconds).map(|(peak, seconds)| Burst::lasting(base, peak, Duration::from_secs_f64(seconds)));
            Some(Limit { rate: base, burst })
        };
        let limits = Limits {
            iops: limit(level.iops, level.burst.as_ref().map(|burst| burst.iops)),
            bandwidth: limit(level.bandwidth_bytes_per_second(), level.burst_bytes_per_second()),
            ..Limits::default()
        };
        let [read, write] = latencies(level.latency.as_ref());
        let spread = |known: KnownLatency| {
            // As parts of the mean: the shape that the tiers are given too. The mean of these is 1.02.
            let quantiles = [(0.0, 0.5), (0.5, 0.86), (0.9, 1.4), (0.99, 2.6), (1.0, 7.0)];
            Latency::Quantiles(
                quantiles.map(|(share, of)| (share, Duration::from_secs_f64(known.ms * of / 1e3))).to_vec(),
            )
        };
        let disk = Disk {
            limits,
            read_latency: spread(read),
            write_latency: spread(write),
            // What is published, and what is measured, is the time of a whole I/O.
            is_latency_whole: true,
            largest_io_bytes: level.io_unit_bytes.unwrap_or(LARGEST_IO_BYTES),
            ..Disk::default()
        };
        Self { disk, read, write }
    }
}

/// Mean latencies of reads and of writes. What is not stated of one is taken from the other.
fn latencies(stated: Option<&DiskLatency>) -> [KnownLatency; 2] {
    let middle = |low: Option<f64>, high: Option<f64>| {
        let ms = f64::midpoint(low?, high?);
        Some(KnownLatency { ms, basis: Basis::Derived, rule: "derived: the middle of what is stated" })
    };
    let measured = |ms| KnownLatency { ms, basis: Basis::Printed, rule: "measured" };
    let read = stated.and_then(|latency| middle(latency.read_ms_low, latency.read_ms_high));
    let write = stated.and_then(|latency| latency.measured_write_ms.map(measured));
    let write = write.or_else(|| stated.and_then(|latency| middle(latency.write_ms_low, latency.write_ms_high)));
    let from = |other: Option<KnownLatency>, rule| {
        let unknown = KnownLatency { ms: ASSUMED_DISK_MS, basis: Basis::Assumed, rule: "assumed" };
        other.map_or(unknown, |known| KnownLatency { ms: known.ms, basis: Basis::Assumed, rule })
    };
    [
        read.unwrap_or_else(|| from(write, "assumed: as for writes")),
        write.unwrap_or_else(|| from(read, "assumed: as for reads")),
    ]
}

/// What the catalogue prints is published.
pub const fn known_as(basis: Basis) -> LimitBasis {
    match basis {
        Basis::Printed => LimitBasis::Published,
        Basis::Derived => LimitBasis::Derived,
        Basis::Assumed => LimitBasis::Assumed,
    }
}

/// Disks of one kind, put together to a volume, at a machine and in an account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoughtVolume<'a> {
    /// The kind of disk.
    pub disk: &'a DiskLevel,
    /// How many of them.
    pub count: usize,
    /// How they are put together.
    pub layout: Layout,
    /// The machine that has them.
    pub vm: Option<CapAt<'a>>,
    /// The account that they are in.
    pub account: Option<CapAt<'a>>,
}

impl BoughtVolume<'_> {
    /// The machine with the volume as its data device.
    ///
    /// # Errors
    /// A sentence that says which of these things don't go together.
    pub fn spec(&self) -> Result<Spec, String> {
        let Self { disk: level, count, layout, .. } = *self;
        let name = format!("{count} x {}/{}@{}", level.service, level.name, level.edition);
        if let Some(most) = self.vm.and_then(|vm| vm.size.data_disks).filter(|most| (*most as usize) < count) {
            let vm = &self.vm.map(|vm| vm.size.name.as_str()).unwrap_or_default();
            return Err(format!("{vm} takes {most} data disks, not {count}"));
        }
        let disk = Disk { bytes: Some(level.size_bytes), ..BoughtDisk::of(level).disk };
        let volume = Volume { layout, disks: vec![disk; count] };
        volume.check()?;
        let device = LimitHolder::Disks(Role::Data.name().to_owned());
        let of_disks = Origin {
            holder: device,
            kind: None,
            provenance: Provenance {
                scope: Some(LimitScope::Device),
                basis: known_as(level.basis),
                source: level.source.clone(),
                date: Some(level.as_of.to_string()),
            },
        };
        let mut spec = Spec { origins: vec![of_disks], ..Spec::unlimited(name) };
        let mut names = Vec::new();
        let caps = [(VM, LimitScope::Vm, self.vm), (ACCOUNT, LimitScope::Account, self.account)];
        for (name, scope, at) in caps {
            let Some(at) = at else { continue };
            let limit = at.size.limit_of(&level.class).ok_or_else(|| {
                format!("the catalogue has no limit of {} for disks of the class {}", at.size.name, level.class)
            })?;
            names.push(name.to_owned());
            spec.caps.push(Cap { name: name.to_owned(), scope, limits: shared(limit, at) });
            spec.origins.push(Origin {
                holder: LimitHolder::Cap(name.to_owned()),
                kind: None,
                provenance: Provenance {
                    scope: Some(scope),
                    basis: LimitBasis::Published,
                    source: at.class.source.clone(),
                    date: Some(at.class.as_of.to_string()),
                },
            });
        }
        Ok(spec.with(Role::Data, DeviceSpec { caps: names, ..DeviceSpec::from(volume) }))
    }
}

fn shared(limit: SharedLimit, at: CapAt<'_>) -> Limits {
    let mb = at.edition.mb_bytes as f64;
    let with_burst = |rate: f64, peak: Option<f64>| {
        let rate = Rate::per_second(rate)?;
        let peak = peak.and_then(Rate::per_second).filter(|peak| *peak > rate).zip(at.edition.burst_seconds);
        let burst = peak.map(|(peak, seconds)| Burst::lasting(rate, peak, Duration::from_secs_f64(seconds)));
        Some(Limit { rate, burst })
    };
    let bytes = |rate: Option<f64>| rate.map(|rate| rate * mb);
    Limits {
        iops: with_burst(limit.iops, limit.burst_iops),
        bandwidth: bytes(limit.mb_per_second).and_then(|rate| with_burst(rate, bytes(limit.burst_mb_per_second))),
        ..Limits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_that_nobody_stated_is_assumed() {
        let stated = |read: Option<f64>, measured_write_ms| DiskLatency {
            claim: "low".to_owned(),
            read_ms_low: read,
            read_ms_high: read,
            write_ms_low: None,
            write_ms_high: None,
            measured_write_ms,
            measured_inserts_s: None,
            measured_source: None,
        };
        let known = |latency: Option<&DiskLatency>| latencies(latency).map(|known| (known.ms, known.basis));
        let [nothing, read, both] = [None, Some(stated(Some(3.0), None)), Some(stated(Some(3.0), Some(4.0)))];
        assert_eq!(known(nothing.as_ref()), [(5.0, Basis::Assumed); 2]);
        assert_eq!(known(read.as_ref()), [(3.0, Basis::Derived), (3.0, Basis::Assumed)]);
        assert_eq!(known(both.as_ref()), [(3.0, Basis::Derived), (4.0, Basis::Printed)]);
    }
}
