//! What limits the way to a device, read off the description. These are the disks that work at a time all together, the
//! governor in front of them, and the caps that the device shares. Of each kind of limit the smallest is what can be
//! had for ever.
//!
//! Left out: what a burst adds for a while, and what a neighbour or other devices behind the same cap take.

use plimsoll_measurement::Provenance;

use crate::{Cap, DeviceId, LimitHolder, LimitKind, Limits, Spec};

/// A limit on the way to a device.
#[derive(Debug, Clone, PartialEq)]
pub struct WayLimit {
    /// The owner of the limit.
    pub holder: LimitHolder,
    /// What it counts.
    pub kind: LimitKind,
    /// I/Os or bytes a second that it lets through for ever.
    pub per_second: f64,
    /// The number of disks that share these limits; 1 for a governor or a cap.
    pub disks: usize,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// All limits on the way to a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Disks first, then the governor, then caps in the order of the description.
    pub limits: Vec<WayLimit>,
    /// Whether one of them has a burst.
    pub bursts: bool,
}

impl Way {
    /// The limits of these kinds.
    pub fn of(&self, kinds: &[LimitKind]) -> impl Iterator<Item = &WayLimit> {
        self.limits.iter().filter(|limit| kinds.contains(&limit.kind))
    }

    /// The smallest of the limits of these kinds, of equals the first; `None` where nothing of them is limited.
    pub fn smallest(&self, kinds: &[LimitKind]) -> Option<&WayLimit> {
        self.of(kinds).min_by(|one, other| one.per_second.total_cmp(&other.per_second))
    }
}

impl Spec {
    /// What limits the way to a device with a file of this size on it.
    ///
    /// # Panics
    /// If the device is that of another machine and there are fewer here.
    pub fn way(&self, device: DeviceId, file_bytes: u64) -> Way {
        let device = &self.devices[device.0];
        let on_disks: Vec<&Limits> = device.volume.disks.iter().map(|disk| disk.limits_of_file(file_bytes)).collect();
        let at_work = &on_disks[..device.volume.disks_of_file(file_bytes).min(on_disks.len())];
        let caps: Vec<&Cap> = self.caps.iter().filter(|cap| device.caps.contains(&cap.name)).collect();
        let mut limits = Vec::new();
        let mut add = |holder: &LimitHolder, kind, per_second: Option<f64>, disks| {
            limits.extend(per_second.map(|per_second| WayLimit {
                holder: holder.clone(),
                kind,
                per_second,
                disks,
                provenance: self.provenance(holder, Some(kind)),
            }));
        };
        let rate = |limits: &Limits, kind| limits.of(kind).map(|limit| limit.rate.as_per_second());
        for kind in LimitKind::ALL {
            // A disk that has no limit lets everything through.
            let together = at_work.iter().map(|limits| rate(limits, kind)).sum();
            add(&LimitHolder::Disks(device.name.clone()), kind, together, at_work.len());
            add(&LimitHolder::Governor(device.name.clone()), kind, rate(&device.governor, kind), 1);
            for cap in &caps {
                add(&LimitHolder::Cap(cap.name.clone()), kind, rate(&cap.limits, kind), 1);
            }
        }
        let has_burst =
            |limits: &Limits| LimitKind::ALL.iter().any(|kind| limits.of(*kind).is_some_and(|l| l.burst.is_some()));
        let bursts = has_burst(&device.governor)
            || on_disks.into_iter().any(has_burst)
            || caps.iter().any(|cap| has_burst(&cap.limits));
        Way { limits, bursts }
    }
}
