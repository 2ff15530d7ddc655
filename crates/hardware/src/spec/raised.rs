//! The same hardware with one limit raised: what would lift it is found by running it again.

use super::Spec;
use crate::{Burst, DeviceSpec, Limit, Limits, Rate};

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
            Raise::DataIops => spec.raise(true, |limits| raise(ios(limits), factor)),
            Raise::DataBandwidth => spec.raise(true, |limits| raise(bytes(limits), factor)),
            Raise::LogWrite => spec.raise(false, |limits| {
                raise(ios(limits), factor);
                raise(bytes(limits), factor);
            }),
        }
        spec
    }

    /// Changes every set of limits on the way to the data device, or to that of the log.
    fn raise(&mut self, data: bool, mut change: impl FnMut(&mut Limits)) {
        let device: &mut DeviceSpec = if data { &mut self.data } else { &mut self.log };
        change(&mut device.governor);
        for disk in &mut device.volume.disks {
            change(&mut disk.limits);
            disk.blob.iter_mut().flat_map(|blob| &mut blob.tiers).for_each(|tier| change(&mut tier.limits));
        }
        for cap in self.caps.iter_mut().filter(|cap| device.caps.contains(&cap.name)) {
            change(&mut cap.limits);
        }
    }
}

fn ios(limits: &mut Limits) -> [&mut Option<Limit>; 3] {
    [&mut limits.iops, &mut limits.read_iops, &mut limits.write_iops]
}

fn bytes(limits: &mut Limits) -> [&mut Option<Limit>; 3] {
    [&mut limits.bandwidth, &mut limits.read_bandwidth, &mut limits.write_bandwidth]
}

fn raise(limits: [&mut Option<Limit>; 3], factor: f64) {
    let rate = |rate: Rate| Rate::per_second(rate.as_per_second() * factor).unwrap_or(Rate::MAX);
    for limit in limits.into_iter().flatten() {
        let credit = |credit: u64| (credit as f64 * factor).round() as u64;
        limit.burst = limit.burst.map(|burst| Burst { peak: rate(burst.peak), credit: credit(burst.credit) });
        limit.rate = rate(limit.rate);
    }
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
        expected.data.governor.bandwidth = Limit::per_second(25.0 * 1_048_576.0);
        assert_eq!(raised(Raise::DataBandwidth), expected);
        let mut expected = spec.clone();
        expected.caps[0].limits.iops = Limit::per_second(2500.0);
        let burst = Burst { peak: Rate::per_second(1250.0).unwrap(), credit: 125 };
        for disk in &mut expected.data.volume.disks {
            disk.limits.iops = Some(Limit { rate: Rate::per_second(625.0).unwrap(), burst: Some(burst) });
        }
        assert_eq!(raised(Raise::DataIops), expected);
        let mut expected = spec.clone();
        let log = &mut expected.log.volume.disks[0].limits;
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
