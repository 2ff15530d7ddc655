//! The same hardware with one limit raised: what would lift it is found by running it again.

use super::description::Spec;
use crate::{Burst, Limit, LimitHolder, Limits, Rate, Role};

/// A limit of the hardware that can be raised by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raise {
    /// The CPU quota.
    Cpu,
    /// I/Os a second of the data device.
    DataIops,
    /// Bytes a second of the data device.
    DataBandwidth,
    /// I/Os and bytes a second of the log device.
    LogWrite,
    /// Memory for pages.
    Memory,
    /// The client: its cost of a statement becomes less.
    Client,
}

impl Spec {
    /// This hardware with one limit `factor` times as high, in whatever places on its way it stands: governor, disks, caps (which
    /// other devices may share). What is not limited stays so. Latencies and prices stay, but for the client's cost.
    #[must_use]
    pub fn raised(&self, what: Raise, factor: f64) -> Self {
        let mut spec = self.clone();
        let times = |number: u64| (number as f64 * factor).round() as u64;
        match what {
            Raise::Cpu => spec.cpu.cores *= factor,
            Raise::Memory => spec.memory = spec.memory.map(|bytes| times(bytes / spec.page_bytes) * spec.page_bytes),
            Raise::Client => {
                if let Some(client) = &mut spec.client {
                    client.request_ps = ((client.request_ps as f64 / factor).round() as u64).max(1);
                }
            }
            Raise::DataIops => spec.raise(Role::Data, &[false], factor),
            Raise::DataBandwidth => spec.raise(Role::Data, &[true], factor),
            Raise::LogWrite => spec.raise(Role::Log, &[false, true], factor),
        }
        // What is raised is no longer what its source says.
        let raised = match what {
            Raise::Cpu => Some(LimitHolder::Cpu),
            Raise::Memory => Some(LimitHolder::Memory),
            Raise::Client => Some(LimitHolder::Client),
            Raise::DataIops | Raise::DataBandwidth | Raise::LogWrite => None,
        };
        spec.origins.retain(|origin| Some(&origin.holder) != raised.as_ref());
        spec
    }

    /// Raises every limit of bytes, of I/Os or of both on the way to the device of a role.
    fn raise(&mut self, role: Role, of_bytes: &[bool], factor: f64) {
        let change = |limits: &mut Limits| {
            let meant = limits.set_mut().filter(|(kind, _)| of_bytes.contains(&kind.is_of_bytes()));
            meant.for_each(|(_, limit)| raise(limit, factor));
        };
        let device = self.device_mut(role);
        change(&mut device.governor);
        for disk in &mut device.volume.disks {
            change(&mut disk.limits);
            disk.blob.iter_mut().flat_map(|blob| &mut blob.tiers).for_each(|tier| change(&mut tier.limits));
        }
        let (name, caps) = (device.name.clone(), device.caps.clone());
        self.caps.iter_mut().filter(|cap| caps.contains(&cap.name)).for_each(|cap| change(&mut cap.limits));
        self.origins.retain(|origin| {
            let is_on_the_way = match &origin.holder {
                LimitHolder::Disks(device) | LimitHolder::Governor(device) => *device == name,
                LimitHolder::Cap(cap) => caps.contains(cap),
                LimitHolder::Memory | LimitHolder::Cpu | LimitHolder::Client => false,
            };
            !is_on_the_way || origin.kind.is_some_and(|kind| !of_bytes.contains(&kind.is_of_bytes()))
        });
    }
}

fn raise(limit: &mut Limit, factor: f64) {
    let rate = |rate: Rate| Rate::per_second(rate.as_per_second() * factor).unwrap_or(Rate::MAX);
    let credit = |credit: u64| (credit as f64 * factor).round() as u64;
    limit.burst = limit.burst.map(|burst| Burst { peak: rate(burst.peak), credit: credit(burst.credit) });
    limit.rate = rate(limit.rate);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        memory = "1MiB"
        [cpu]
        cores = 2
        statement_time = "40us"
        [client]
        request_time = "100us"
        [caps.vm]
        iops = 2000
        [data]
        disks = 2
        caps = ["vm"]
        governor = { bandwidth = "20MiB/s" }
        [data.disk]
        iops = { rate = 500, burst = { rate = 1000, credit = 100 } }
        read_latency = "2ms"
        [log]
        write_bandwidth = "1MiB/s"
        iops = 100
    "#;

    #[test]
    fn one_limit_is_raised_and_all_others_stay() {
        let spec = Spec::parse("t.toml", TEXT).unwrap();
        let raised = |what| spec.raised(what, 1.25);
        let mut expected = spec.clone();
        expected.cpu.cores = 2.5;
        assert_eq!(raised(Raise::Cpu), expected);
        let mut expected = spec.clone();
        expected.memory = Some(320 * 4096);
        assert_eq!(raised(Raise::Memory), expected);
        let mut expected = spec.clone();
        expected.client.as_mut().unwrap().request_ps = 80_000_000;
        assert_eq!(raised(Raise::Client), expected);
        let mut expected = spec.clone();
        expected.device_mut(Role::Data).governor.bandwidth = Limit::per_second(25.0 * 1_048_576.0);
        assert_eq!(raised(Raise::DataBandwidth), expected);
        let mut expected = spec.clone();
        expected.caps[0].limits.iops = Limit::per_second(2500.0);
        let burst = Burst { peak: Rate::per_second(1250.0).unwrap(), credit: 125 };
        for disk in &mut expected.device_mut(Role::Data).volume.disks {
            disk.limits.iops = Some(Limit { rate: Rate::per_second(625.0).unwrap(), burst: Some(burst) });
        }
        assert_eq!(raised(Raise::DataIops), expected);
        let mut expected = spec.clone();
        let log = &mut expected.device_mut(Role::Log).volume.disks[0].limits;
        log.write_bandwidth = Limit::per_second(1.25 * 1_048_576.0);
        log.iops = Limit::per_second(125.0);
        assert_eq!(raised(Raise::LogWrite), expected);
        assert_eq!(expected.check(), Ok(()));
    }

    #[test]
    fn what_is_not_limited_can_not_be_raised() {
        let spec = Spec::unlimited("none");
        for what in [Raise::DataIops, Raise::DataBandwidth, Raise::LogWrite, Raise::Memory, Raise::Client] {
            assert_eq!(spec.raised(what, 1.2), spec);
        }
    }
}
