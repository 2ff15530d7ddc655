//! The hardware of a source or a target as the model runs it: a machine description, and what its CPU is priced in.

use plimsoll_hardware::{
    CpuSpec, DeviceSpec, Disk, Latency, Limit, LimitHolder, LimitKind, Limits, Role, Spec, WayLimit,
};
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Ceiling, RunRecord};
use std::time::Duration;

use super::error::CalibrationError;
use super::evidence::{Evidence, What};
use super::statements::Statements;

/// Ceilings of a record and of a description that differ by less are the same.
const SAME: f64 = 0.01;

/// What CPU work is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prices {
    /// Statements, steps and pages at the prices of the description.
    Engine,
    /// Nanoseconds of a core.
    Nanoseconds,
}

/// Hardware with what is known beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// The description.
    pub spec: Spec,
    /// What CPU work is counted in.
    pub prices: Prices,
    /// Statements of a request, by the definition of its test.
    pub statements: Statements,
    /// Bytes of the data, where they are known.
    pub data_bytes: Option<f64>,
}

impl Hardware {
    /// That of a run whose hardware is known by its description, as the lab's is.
    ///
    /// # Errors
    /// If the description has other limits than the run was held against.
    pub fn described(record: &RunRecord, spec: Spec) -> Result<Self, CalibrationError> {
        let data_bytes = ceiling(record, "data").map(|ceiling| ceiling.value * MB as f64);
        let bytes = data_bytes.unwrap_or(0.0) as u64;
        let now = spec.ceilings("", bytes, 1);
        let differs = |then: &&Ceiling| {
            let same = now.iter().find(|now| now.resource == then.resource);
            then.resource != "data" && same.is_some_and(|now| (now.value / then.value - 1.0).abs() > SAME)
        };
        if let Some(then) = record.ceilings.iter().find(differs) {
            let value = now.iter().find(|now| now.resource == then.resource).map_or(0.0, |now| now.value);
            return Err(CalibrationError::unfit(
                format!(
                    "the hardware of the run is not what it was: {} is {value:.4} {}, and was {:.4} in the run",
                    then.resource, then.unit, then.value
                ),
                "measure the run again on what the hardware is now",
            ));
        }
        Ok(Self { spec, prices: Prices::Engine, statements: Statements::of(record), data_bytes })
    }

    /// That of a run on a real server: its ceilings as far as they are known, and the latencies that were measured.
    pub fn observed(record: &RunRecord, evidence: &Evidence) -> Self {
        let whole = evidence.whole();
        let latency = |stall, count| {
            let ms = Some(whole.total(stall)? / whole.total(count)?)
                .filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
            Some(Latency::Constant(Duration::from_secs_f64(ms?.min(60.0))))
        };
        let value = |name: &str| {
            let found = ceiling(record, name)?;
            Some(if found.unit == "MB/s" { found.value * MB as f64 } else { found.value })
        };
        let limit = |names: &[&str]| Limit::per_second(names.iter().find_map(|name| value(name))?);
        let data = Disk {
            limits: Limits {
                iops: limit(&["data_iops"]),
                bandwidth: limit(&["data_bandwidth"]),
                read_iops: limit(&["data_read_iops", "disk_read_iops"]),
                write_iops: limit(&["data_write_iops", "disk_write_iops"]),
                read_bandwidth: limit(&["data_read_bandwidth", "disk_read_bandwidth"]),
                write_bandwidth: limit(&["data_write_bandwidth", "disk_write_bandwidth"]),
            },
            read_latency: latency(What::ReadStall, What::Reads).unwrap_or_default(),
            is_latency_whole: true,
            ..Disk::default()
        };
        // A limit of the log's device counts its own writes, of which one of the engine's may be several.
        let of_device = |name: &str, engines: What, devices: What| {
            let share = whole.total(engines).zip(whole.total(devices)).map_or(1.0, |(own, all)| own / all);
            let share = if share.is_finite() && share > 0.0 { share } else { 1.0 };
            Limit::per_second(value(name)? * share)
        };
        let log = Disk {
            limits: Limits {
                write_iops: limit(&["log_iops"])
                    .or_else(|| of_device("log_disk_write_iops", What::LogWrites, What::LogDeviceWrites)),
                write_bandwidth: limit(&["log_bandwidth"])
                    .or_else(|| of_device("log_disk_write_bandwidth", What::LogBytes, What::LogDeviceBytes)),
                ..Limits::default()
            },
            write_latency: latency(What::LogStall, What::LogWrites).unwrap_or_default(),
            is_latency_whole: true,
            ..Disk::default()
        };
        let cores = ceiling(record, "cpu").map_or(f64::from(record.host.cpus.max(1)), |ceiling| ceiling.value);
        let memory = ceiling(record, "memory").map(|ceiling| (ceiling.value * MB as f64) as u64);
        let spec = Spec { memory, cpu: in_nanoseconds(cores), ..Spec::unlimited(record.target.clone()) };
        let spec = spec.with(Role::Data, DeviceSpec::single(data)).with(Role::Log, DeviceSpec::single(log));
        let data_bytes = ceiling(record, "data").map(|ceiling| ceiling.value * MB as f64);
        Self { spec, prices: Prices::Nanoseconds, statements: Statements::of(record), data_bytes }
    }

    /// Other hardware for the same requests. `is_disk` says that it is a disk alone: the server stays what it was.
    #[must_use]
    pub fn moved_to(&self, target: &Spec, is_disk: bool) -> Self {
        let mut spec = target.clone();
        if is_disk {
            (spec.cpu, spec.memory, spec.client, spec.page_bytes) =
                (self.spec.cpu, self.spec.memory, self.spec.client, self.spec.page_bytes);
        } else if self.prices == Prices::Nanoseconds {
            // The same cores, as many as the target has.
            spec.cpu =
                in_nanoseconds(if target.cpu.is_limited() { target.cpu.cores } else { f64::from(u16::MAX) / 64.0 });
        }
        Self { spec, ..self.clone() }
    }

    /// The same with another description.
    #[must_use]
    pub fn with(&self, spec: Spec) -> Self {
        Self { spec, ..self.clone() }
    }

    /// Whether one of its devices gives more for a while than for ever.
    pub fn bursts(&self) -> bool {
        let bytes = self.data_bytes.unwrap_or(0.0) as u64;
        [(Role::Data, bytes), (Role::Log, 0)]
            .iter()
            .any(|(role, bytes)| self.spec.way(self.spec.device_for(*role), *bytes).bursts)
    }

    /// Writes of so many bytes that the data's device takes a second; without end where no limit holds them.
    pub fn writes_per_s(&self, bytes: f64) -> f64 {
        let of_writes = |kind: LimitKind| !matches!(kind, LimitKind::ReadIops | LimitKind::ReadBandwidth);
        let limits = self.limits(Role::Data).into_iter().filter(|limit| of_writes(limit.kind));
        let a_second = limits.map(|limit| if limit.kind.is_of_bytes() { limit.per_s / bytes } else { limit.per_s });
        a_second.fold(f64::INFINITY, f64::min)
    }

    /// Whether the log has no limit that it does not share with the data: both lie on one device, or behind one cap that is less than theirs.
    pub fn log_has_none_of_its_own(&self) -> bool {
        self.limits(Role::Log).iter().all(|limit| limit.is_shared)
    }

    /// The limits of a role's device, of each kind the smallest.
    pub fn limits(&self, role: Role) -> Vec<RoleLimit> {
        let smallest = |role, kind| {
            let bytes = if role == Role::Data { self.data_bytes.unwrap_or(0.0) as u64 } else { 0 };
            self.spec.way(self.spec.device_for(role), bytes).smallest(&[kind]).cloned()
        };
        let other = if role == Role::Data { Role::Log } else { Role::Data };
        let of = |kind| {
            let found: WayLimit = smallest(role, kind)?;
            let is_one = self.spec.device_for(role) == self.spec.device_for(other);
            let is_shared = is_one || smallest(other, kind).is_some_and(|one| one.holder == found.holder);
            Some(RoleLimit { kind, per_s: found.per_second, is_shared, credit: self.credit(role, &found) })
        };
        LimitKind::ALL.into_iter().filter_map(of).collect()
    }

    /// The full credit of a limit of disks that give more for a while.
    fn credit(&self, role: Role, limit: &WayLimit) -> Option<f64> {
        let device = self.spec.device(role);
        let disk = device.volume.disks.first().filter(|_| limit.holder == LimitHolder::Disks(device.name.clone()))?;
        let own = disk.limits_of_file(self.data_bytes.unwrap_or(0.0) as u64).of(limit.kind)?;
        Some(own.burst?.credit as f64 * limit.disks as f64)
    }
}

/// A limit of the data's or the log's device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoleLimit {
    /// What it counts.
    pub kind: LimitKind,
    /// I/Os or bytes a second that can be had for ever.
    pub per_s: f64,
    /// Whether it holds the other of the two as well.
    pub is_shared: bool,
    /// I/Os or bytes that can be had beyond that with a full credit; absent without a burst.
    pub credit: Option<f64>,
}

/// CPU whose steps are nanoseconds.
const fn in_nanoseconds(cores: f64) -> CpuSpec {
    CpuSpec { cores, step_ps: Some(1000), page_ps: 0, statement_ps: 0 }
}

fn ceiling<'a>(record: &'a RunRecord, resource: &str) -> Option<&'a Ceiling> {
    record.ceilings.iter().find(|ceiling| ceiling.resource == resource && ceiling.value > 0.0)
}
