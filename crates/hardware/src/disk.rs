//! One disk: its limits, its latency, its neighbour.
//!
//! end = max over the limits' ends; done = end + latency. Where the latency is that of a whole I/O, as a measured one is, what the I/O
//! itself takes of the slowest limit is a part of it. An I/O larger than the disk's largest counts as several
//! against I/O limits (`ceil(bytes / largest)`), as the documentation of managed disks counts it (I/O unit of 256 KiB),
//! and has one latency. That limits queue instead of failing is how throttled cloud disks behave: latency of hundreds of ms.
//! Left out: seeks, a cache of the disk's own, and a cost of switching between reads and writes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use serde::{Deserialize, Serialize};

use crate::governor::{Governor, Load};
use crate::meter::Busy;
use crate::time::{Ps, stream};
use crate::{Blob, Kind, Latency, Limits, Neighbour};

/// An I/O of more bytes counts as several: cloud block storage counts units of 256 KiB.
pub const LARGEST_IO_BYTES: u64 = 256 * 1024;

/// What one disk delivers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Its limits; with a `blob`, that one's tiers decide instead.
    pub limits: Limits,
    /// What a read takes beside the limits.
    pub read_latency: Latency,
    /// What a write takes beside the limits.
    pub write_latency: Latency,
    /// Whether the latencies are those of whole I/Os, so that an I/O that finds no queue takes no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_latency_whole: bool,
    /// The neighbour that takes from the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<Neighbour>,
    /// An I/O of more bytes counts as several.
    pub largest_io_bytes: u64,
    /// Its size in bytes, where the layout has to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Limits that follow the size of the file on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
}

impl Default for Disk {
    /// Unlimited, without latency.
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            read_latency: Latency::default(),
            write_latency: Latency::default(),
            is_latency_whole: false,
            neighbour: None,
            largest_io_bytes: LARGEST_IO_BYTES,
            bytes: None,
            blob: None,
        }
    }
}

impl Disk {
    /// The limits for a file of this size, where at least the size that the description sets aside counts. A file that is too
    /// large for every tier has the limits of the largest.
    pub fn limits_of_file(&self, file_bytes: u64) -> &Limits {
        let tier = self.blob.as_ref().and_then(|blob| {
            blob.snap_up(file_bytes.max(blob.file_bytes)).or(blob.tiers.last()).map(|tier| &tier.limits)
        });
        tier.unwrap_or(&self.limits)
    }

    /// The limits in force: the blob's tier for its file, else the disk's own.
    fn limits_for(&self, file_bytes: u64) -> Option<&Limits> {
        match &self.blob {
            None => Some(&self.limits),
            Some(blob) => blob.snap_up(file_bytes).map(|tier| &tier.limits),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.limits.check()?;
        self.read_latency.check().map_err(|problem| format!("read_latency: {problem}"))?;
        self.write_latency.check().map_err(|problem| format!("write_latency: {problem}"))?;
        self.neighbour.iter().try_for_each(Neighbour::check)?;
        self.blob.iter().try_for_each(Blob::check)?;
        if self.blob.is_some() && !self.limits.is_unlimited() {
            return Err("a blob's limits come from its tiers, the disk cannot have its own".to_owned());
        }
        if self.largest_io_bytes < 512 {
            return Err("largest_io must be at least 512 bytes".to_owned());
        }
        if self.bytes == Some(0) { Err("size must be more than 0".to_owned()) } else { Ok(()) }
    }
}

/// How many I/Os so many bytes count as; an empty one (a flush) is one too.
pub(crate) fn ios(bytes: u64, largest: u64) -> u64 {
    bytes.div_ceil(largest.max(1)).max(1)
}

#[derive(Debug, Clone)]
pub(crate) struct DiskState {
    spec: Disk,
    limits: Governor,
    /// The limits in force, to see whether another file size has others.
    present: Limits,
    random: Xoshiro256PlusPlus,
}

impl DiskState {
    pub(crate) fn new(spec: &Disk, seed: u64) -> Self {
        let limits = spec.blob.as_ref().and_then(|blob| spec.limits_for(blob.file_bytes)).unwrap_or(&spec.limits);
        Self {
            present: *limits,
            limits: Governor::new(limits, spec.neighbour.as_ref(), stream(seed, 1)),
            random: Xoshiro256PlusPlus::seed_from_u64(stream(seed, 0)),
            spec: spec.clone(),
        }
    }

    pub(crate) fn is_limited(&self) -> bool {
        !self.limits.is_unlimited() || self.spec.blob.is_some()
    }

    pub(crate) fn has_latency(&self) -> bool {
        !(self.spec.read_latency.is_zero() && self.spec.write_latency.is_zero())
    }

    /// Books an I/O: when the limits have let it through, the latency to add, and how much of its own transfer passes within a whole latency.
    pub(crate) fn book(
        &mut self,
        now: Ps,
        kind: Kind,
        bytes: u64,
        mut record: impl FnMut(usize, Busy),
    ) -> (Ps, Ps, Ps) {
        let ios = ios(bytes, self.spec.largest_io_bytes);
        let (mut last, mut own) = (now, 0);
        let end = self.limits.book(now, Load { kind, ios, bytes }, |lane, span| {
            if span.to >= last {
                (last, own) = (span.to, span.to - span.from);
            }
            record(lane, span);
        });
        let latency = match kind {
            Kind::Read => &self.spec.read_latency,
            Kind::Write => &self.spec.write_latency,
        };
        let latency = latency.draw(&mut self.random);
        let within = if self.spec.is_latency_whole { latency.min(own) } else { 0 };
        (end, latency - within, within)
    }

    /// Starts at `now` with what was booked on another.
    pub(crate) fn take_over(&mut self, now: Ps, other: &Self) {
        self.limits.take_over(now, &other.limits);
    }

    /// The file on a blob has another size. False if no tier holds it; then nothing changes.
    pub(crate) fn resize(&mut self, now: Ps, file_bytes: u64) -> bool {
        match (&self.spec.blob, self.spec.limits_for(file_bytes)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(limits)) if *limits == self.present => true,
            (Some(_), Some(limits)) => {
                self.present = *limits;
                self.limits.set(now, limits);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::time::PS_PER_SECOND;
    use crate::{Limit, Limits};

    /// 500 I/Os a second take 2 ms each, the latency is 5 ms: whole, it is the time of an I/O that finds no queue.
    #[test]
    fn a_whole_latency_has_the_own_transfer_in_it_and_queues_come_on_top() {
        let done = |is_latency_whole| {
            let spec = Disk {
                limits: Limits { iops: Limit::per_second(500.0), ..Limits::default() },
                read_latency: Latency::Constant(Duration::from_millis(5)),
                is_latency_whole,
                ..Disk::default()
            };
            let mut disk = DiskState::new(&spec, 1);
            [(); 3].map(|()| {
                let (end, latency, _) = disk.book(0, Kind::Read, 8192, |_, _| {});
                (end + latency) * 1_000 / PS_PER_SECOND
            })
        };
        assert_eq!((done(true), done(false)), ([5, 7, 9], [7, 9, 11]));
    }
}
