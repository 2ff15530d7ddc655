//! A modelled device: a volume behind a governor and behind caps that it shares with other devices.
//!
//! throttled until = max over the ends of governor, caps and disk limits; done = the last part's end + its latency. A
//! queue is a limit's backlog, so that throttling shows as latency. The governor sees the I/O as the engine issued it;
//! caps lie below the volume and see the disks' parts, each of which counts in units of [`LARGEST_IO_BYTES`].

use std::time::Duration;

use plimsoll_measurement::{LimitScope, Moment};
use serde::{Deserialize, Serialize};

use crate::disk::{DiskState, ios};
use crate::governor::{Governor, Load};
use crate::meter::Meter;
use crate::time::{Ps, from_moment, stream, to_duration, to_moment};
use crate::volume::Map;
use crate::{Disk, Done, Io, LARGEST_IO_BYTES, Limits, Volume};

/// What a device consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceSpec {
    /// The name by which files are placed on it, unique in its machine. [`crate::Spec::with`] gives it.
    pub name: String,
    /// The disks and how they are used.
    pub volume: Volume,
    /// Limits in front of the volume: a log-rate or data-I/O governor.
    #[serde(default)]
    pub governor: Limits,
    /// Names of caps that this device shares with others, each named once.
    #[serde(default)]
    pub caps: Vec<String>,
}

impl DeviceSpec {
    /// A device of one disk.
    pub fn single(disk: Disk) -> Self {
        Self::from(Volume::single(disk))
    }

    /// A device without limits and without latency.
    pub fn unlimited() -> Self {
        Self::single(Disk::default())
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.governor.check().map_err(|problem| format!("governor: {problem}"))?;
        self.volume.check()
    }
}

impl From<Volume> for DeviceSpec {
    fn from(volume: Volume) -> Self {
        Self { name: String::new(), volume, governor: Limits::default(), caps: Vec::new() }
    }
}

/// Limits that several devices share: those of a storage account, a virtual machine or an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cap {
    /// The name by which devices refer to it.
    pub name: String,
    /// What it holds back as a whole.
    pub scope: LimitScope,
    /// What all of them together get.
    pub limits: Limits,
}

#[derive(Debug, Clone)]
pub(crate) struct CapState {
    pub name: String,
    limits: Governor,
}

impl CapState {
    pub(crate) fn new(spec: &Cap) -> Self {
        Self { name: spec.name.clone(), limits: Governor::new(&spec.limits, None, 0) }
    }

    /// Starts at `now` with what was booked on another.
    pub(crate) fn take_over(&mut self, now: Moment, other: &Self) {
        self.limits.take_over(from_moment(now), &other.limits);
    }
}

/// A device at work. Its meter shows its own use of each limit on the way, a cap's included.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    governor: Governor,
    map: Map,
    disks: Vec<DiskState>,
    caps: Vec<usize>,
    parts: Vec<Option<u64>>,
    /// No limit and no latency anywhere: nothing to book.
    free: bool,
    pub meter: Meter,
}

impl Device {
    /// `user` tells the random streams of one machine's devices apart.
    pub(crate) fn new(spec: &DeviceSpec, caps: &[CapState], seed: u64, user: u64) -> Self {
        let seed = stream(seed, user);
        let disks = spec.volume.disks.iter().zip(0..).map(|(disk, index)| DiskState::new(disk, stream(seed, index)));
        let disks: Vec<DiskState> = disks.collect();
        let governor = Governor::new(&spec.governor, None, 0);
        let used: Vec<usize> = (0..caps.len()).filter(|cap| spec.caps.contains(&caps[*cap].name)).collect();
        let limited = !governor.is_unlimited()
            || disks.iter().any(DiskState::is_limited)
            || used.iter().any(|cap| !caps[*cap].limits.is_unlimited());
        Self {
            free: !limited && !disks.iter().any(DiskState::has_latency),
            meter: Meter::new(limited),
            map: Map::new(&spec.volume),
            parts: vec![None; disks.len()],
            caps: used,
            governor,
            disks,
        }
    }

    pub(crate) fn submit(&mut self, now: Moment, io: Io, caps: &mut [CapState]) -> Done {
        if self.free {
            return Done { at: now, throttled: Duration::ZERO };
        }
        let start = from_moment(now);
        self.parts.fill(None);
        let parts = &mut self.parts;
        self.map.split(io.offset, io.bytes, |disk, bytes| {
            let part = parts[disk].unwrap_or(0);
            parts[disk] = Some(part + bytes);
        });
        let above = self.book_above(start, io, caps);
        // The part that is done last decides, of equals the first.
        let (mut done, mut end, mut unheld) = (above, above, 0);
        for (disk, part) in self.parts.iter().enumerate() {
            let Some(bytes) = part else { continue };
            let (meter, lanes) = (&mut self.meter, Governor::LANES * (1 + disk));
            let record = |lane: usize, span| meter.add(start, lanes + lane, span);
            let (through, latency, within) = self.disks[disk].book(start, io.kind, *bytes, record);
            let through = through.max(above);
            if through.saturating_add(latency) > done {
                (done, end, unheld) = (through.saturating_add(latency), through, within);
            }
        }
        Done { at: to_moment(done), throttled: to_duration((end - start).saturating_sub(unheld)) }
    }

    /// Books the whole on the governor and its parts on the caps.
    fn book_above(&mut self, start: Ps, io: Io, caps: &mut [CapState]) -> Ps {
        let Io { kind, bytes, .. } = io;
        let meter = &mut self.meter;
        let load = Load { kind, bytes, ios: ios(bytes, LARGEST_IO_BYTES) };
        let mut end = self.governor.book(start, load, |lane, span| meter.add(start, lane, span));
        if self.caps.is_empty() {
            return end;
        }
        let below = Load { ios: self.parts.iter().flatten().map(|part| ios(*part, LARGEST_IO_BYTES)).sum(), ..load };
        for (place, cap) in self.caps.iter().enumerate() {
            let lanes = Governor::LANES * (1 + self.disks.len() + place);
            let through = caps[*cap].limits.book(start, below, |lane, span| meter.add(start, lanes + lane, span));
            end = end.max(through);
        }
        end
    }

    /// Starts at `now` with what was booked on another: disk by disk where there are as many.
    pub(crate) fn take_over(&mut self, now: Moment, other: &Self) {
        self.governor.take_over(from_moment(now), &other.governor);
        if self.disks.len() == other.disks.len() {
            for (disk, other) in self.disks.iter_mut().zip(&other.disks) {
                disk.take_over(from_moment(now), other);
            }
        }
        self.meter.take_over(&other.meter);
    }

    /// The file on the device has another size; false if a blob has no tier that holds it.
    pub(crate) fn resize(&mut self, now: Moment, file_bytes: u64) -> bool {
        let mut fits = true;
        for disk in &mut self.disks {
            fits &= disk.resize(from_moment(now), file_bytes);
        }
        fits
    }
}
