//! What a scale makes of hardware. Every volume is divided by it, and so is the time that a neighbour stays, since runs
//! over smaller volumes are shorter. But no stay becomes shorter than [`SHORTEST_STAY`]. Rates, latencies and CPU stay.

use std::time::Duration;

use plimsoll_hardware::{Disk, Limits, Neighbour, Spec};

/// The smallest pool: 16 pages of 4 KiB.
const LEAST_MEMORY: u64 = 64 << 10;

/// The shortest stay of a neighbour: below it the I/Os of one stay are too few to show it. A stay that was shorter from the
/// start is left as it is.
const SHORTEST_STAY: Duration = Duration::from_millis(100);

/// The hardware at a scale of 1 to `divisor`.
pub fn shrink(mut spec: Spec, divisor: u64) -> Spec {
    spec.memory = spec.memory.map(|bytes| (bytes / divisor).max(LEAST_MEMORY));
    for device in &mut spec.devices {
        shrink_limits(&mut device.governor, divisor);
        for disk in &mut device.volume.disks {
            shrink_disk(disk, divisor);
        }
    }
    for cap in &mut spec.caps {
        shrink_limits(&mut cap.limits, divisor);
    }
    spec
}

fn shrink_disk(disk: &mut Disk, divisor: u64) {
    let smaller = |bytes: u64| (bytes / divisor).max(1);
    shrink_limits(&mut disk.limits, divisor);
    disk.bytes = disk.bytes.map(smaller);
    if let Some(blob) = &mut disk.blob {
        blob.file_bytes /= divisor;
        for tier in &mut blob.tiers {
            tier.up_to = smaller(tier.up_to);
            shrink_limits(&mut tier.limits, divisor);
        }
    }
    match &mut disk.neighbour {
        Some(Neighbour::TwoState { dwell, .. }) => shorten(dwell, divisor),
        Some(Neighbour::Drift { every, .. }) => shorten(std::slice::from_mut(every), divisor),
        None => {}
    }
}

/// Divides all stays by the same number, so that the shares of time stay.
fn shorten(stays: &mut [Duration], divisor: u64) {
    let shortest = stays.iter().min().copied().unwrap_or_default();
    let most = (shortest.as_nanos() / SHORTEST_STAY.as_nanos()).max(1);
    let divisor = u32::try_from(most.min(divisor.into())).unwrap_or(u32::MAX);
    for stay in stays {
        *stay /= divisor;
    }
}

/// The credit of a burst is a volume.
fn shrink_limits(limits: &mut Limits, divisor: u64) {
    for burst in limits.set_mut().filter_map(|(_, limit)| limit.burst.as_mut()) {
        burst.credit = (burst.credit / divisor).max(1);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_hardware::Role;

    use super::*;

    #[test]
    fn stays_keep_their_proportion_and_a_length() {
        let shortened = |millis: [u64; 2], divisor| {
            let mut stays = millis.map(Duration::from_millis);
            shorten(&mut stays, divisor);
            stays.map(|stay| stay.as_millis())
        };
        assert_eq!(shortened([6_400, 64_000], 64), [100, 1_000]);
        assert_eq!(shortened([6_400, 64_000], 16), [400, 4_000]);
        assert_eq!(shortened([64_000, 800], 64), [8_000, 100]);
        assert_eq!(shortened([50, 9_000], 64), [50, 9_000]);
    }

    #[test]
    fn volumes_shrink_and_rates_stay() {
        let text = r#"
            memory = "2GiB"
            [data]
            neighbour = { rates = [0.5, 1.0], dwell = "64s" }
            bandwidth = { rate = "10MiB/s", burst = { rate = "20MiB/s", credit = "640MiB" } }
            read_latency = "5ms"
            [log.blob]
            file_size = "64GiB"
            tiers = [{ name = "P10", up_to = "128GiB", iops = 500 }]
        "#;
        let full = Spec::parse("t.toml", text).unwrap();
        let small = shrink(full.clone(), 64);
        assert_eq!(small.memory, Some(32 << 20));
        let (before, after) = (&full.device(Role::Data).volume.disks[0], &small.device(Role::Data).volume.disks[0]);
        assert_eq!(after.read_latency, before.read_latency);
        let (before, after) = (before.limits.bandwidth.unwrap(), after.limits.bandwidth.unwrap());
        assert_eq!((after.rate, after.burst.unwrap().peak), (before.rate, before.burst.unwrap().peak));
        assert_eq!(after.burst.unwrap().credit, 10 << 20);
        let Some(Neighbour::TwoState { dwell, .. }) = &small.device(Role::Data).volume.disks[0].neighbour else {
            panic!()
        };
        assert_eq!(dwell[0].as_secs(), 1);
        let blob = small.device(Role::Log).volume.disks[0].blob.as_ref().unwrap();
        assert_eq!((blob.file_bytes, blob.tiers[0].up_to), (1 << 30, 2 << 30));
        assert_eq!(blob.tiers[0].limits, full.device(Role::Log).volume.disks[0].blob.as_ref().unwrap().tiers[0].limits);
    }
}
