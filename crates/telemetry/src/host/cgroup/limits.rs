//! Limits and counters in the files of a control group: the kernel's admin-guide/cgroup-v2 and admin-guide/cgroup-v1,
//! scheduler/sched-bwc.
//!
//! Every function takes the texts of the files that are there. A file that is not there limits nothing and counts nothing.

use super::super::disk::DeviceNumber;
use super::super::fields::{Fields, named};

/// The limit of a group's CPU, and how often it held back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuGroup {
    /// The group, as a path from the root of its tree.
    pub path: String,
    /// CPUs that it may use; `None` is no limit.
    pub limit_cpus: Option<f64>,
    /// Periods of the limit in which somebody was ready to run.
    pub periods: Option<u64>,
    /// Of these, those in which the limit was reached.
    pub throttled_periods: Option<u64>,
}

/// What is limited of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoKind {
    /// Bytes read.
    ReadBytes,
    /// Bytes written.
    WriteBytes,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// So much of I/O at a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoLimit {
    /// The device.
    pub device: DeviceNumber,
    /// What is meant.
    pub kind: IoKind,
    /// How much.
    pub value: u64,
}

/// The limits of a group's I/O.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoGroup {
    /// The group.
    pub path: String,
    /// Limits for a second.
    pub limits: Vec<IoLimit>,
    /// What the group has done at devices since it was made, as its limits count it: the value is a sum.
    pub done: Vec<IoLimit>,
}

/// The limit of a group's memory, pages of files that the system keeps for its processes among it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryGroup {
    /// The group.
    pub path: String,
    /// Bytes that it may use; `None` is no limit.
    pub limit_bytes: Option<u64>,
    /// Bytes that it uses.
    pub used_bytes: Option<u64>,
}

/// The texts of a group's files, by name.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'t>(pub &'t [(&'static str, Option<String>)]);

impl<'t> Texts<'t> {
    /// The text of a file; `None` if it is not there.
    fn get(self, file: &str) -> Option<&'t str> {
        self.0.iter().find(|(name, _)| *name == file)?.1.as_deref()
    }

    /// The only number in a file.
    fn number(self, file: &str) -> Option<u64> {
        self.get(file)?.trim().parse().ok()
    }

    fn named(self, file: &str, name: &str) -> Option<u64> {
        named(self.get(file)?, name)
    }
}

pub const CPU_TWO: &[&str] = &["cpu.max", "cpu.stat"];

pub fn cpu_two(path: &str, texts: Texts) -> CpuGroup {
    let limit = texts.get("cpu.max").and_then(|text| {
        let mut fields = Fields::of(text);
        // No limit is "max".
        let (quota, period) = (fields.number()?, fields.number()?);
        (period > 0).then(|| quota as f64 / period as f64)
    });
    let count = |name: &str| texts.named("cpu.stat", name);
    CpuGroup {
        path: path.to_owned(),
        limit_cpus: limit,
        periods: count("nr_periods"),
        throttled_periods: count("nr_throttled"),
    }
}

pub const CPU_ONE: &[&str] = &["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"];
pub fn cpu_one(path: &str, texts: Texts) -> CpuGroup {
    // No limit is -1.
    let quota = texts.number("cpu.cfs_quota_us");
    let period = texts.number("cpu.cfs_period_us").filter(|period| *period > 0);
    let count = |name: &str| texts.named("cpu.stat", name);
    CpuGroup {
        path: path.to_owned(),
        limit_cpus: quota.zip(period).map(|(quota, period)| quota as f64 / period as f64),
        periods: count("nr_periods"),
        throttled_periods: count("nr_throttled"),
    }
}

pub const IO_TWO: &[&str] = &["io.max", "io.stat"];

pub fn io_two(path: &str, texts: Texts) -> IoGroup {
    const LIMITS: [(&str, IoKind); 4] = [
        ("rbps", IoKind::ReadBytes),
        ("wbps", IoKind::WriteBytes),
        ("riops", IoKind::Reads),
        ("wiops", IoKind::Writes),
    ];
    const DONE: [(&str, IoKind); 4] = [
        ("rbytes", IoKind::ReadBytes),
        ("wbytes", IoKind::WriteBytes),
        ("rios", IoKind::Reads),
        ("wios", IoKind::Writes),
    ];
    let text = |file: &str| texts.get(file).unwrap_or_default();
    IoGroup { path: path.to_owned(), limits: keyed(text("io.max"), &LIMITS), done: keyed(text("io.stat"), &DONE) }
}

/// Lines like `8:0 rbps=max wbps=1048576`. Some kernels put a device without figures in front of another on the same line.
fn keyed(text: &str, kinds: &[(&str, IoKind)]) -> Vec<IoLimit> {
    let mut figures = Vec::new();
    for line in text.lines() {
        let mut device = None;
        for field in line.split_ascii_whitespace() {
            match field.split_once('=') {
                Some((key, value)) => figures.extend(device.and_then(|device| {
                    let (_, kind) = kinds.iter().find(|(name, _)| *name == key)?;
                    Some(IoLimit { device, kind: *kind, value: value.parse().ok()? })
                })),
                None => device = DeviceNumber::parse(field).or(device),
            }
        }
    }
    figures
}

pub const IO_ONE: &[&str] = &[
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "blkio.throttle.io_service_bytes",
    "blkio.throttle.io_serviced",
];

pub fn io_one(path: &str, texts: Texts) -> IoGroup {
    const KINDS: [IoKind; 4] = [IoKind::ReadBytes, IoKind::WriteBytes, IoKind::Reads, IoKind::Writes];
    let text = |file: &str| texts.get(file).unwrap_or_default();
    IoGroup {
        path: path.to_owned(),
        limits: IO_ONE.iter().zip(KINDS).flat_map(|(file, kind)| lines(text(file), kind)).collect(),
        done: [
            done(text("blkio.throttle.io_service_bytes"), [IoKind::ReadBytes, IoKind::WriteBytes]),
            done(text("blkio.throttle.io_serviced"), [IoKind::Reads, IoKind::Writes]),
        ]
        .concat(),
    }
}

/// Lines like `8:0 Read 123` and `8:0 Write 4`, among others.
fn done(text: &str, [read, write]: [IoKind; 2]) -> Vec<IoLimit> {
    let one = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let device = DeviceNumber::parse(fields.next()?)?;
        let kind = match fields.next()? {
            "Read" => read,
            "Write" => write,
            _ => return None,
        };
        Some(IoLimit { device, kind, value: fields.next()?.parse().ok()? })
    };
    text.lines().filter_map(one).collect()
}

pub const MEMORY_TWO: &[&str] = &["memory.max", "memory.current"];

pub fn memory_two(path: &str, texts: Texts) -> MemoryGroup {
    // No limit is "max".
    let (limit_bytes, used_bytes) = (texts.number("memory.max"), texts.number("memory.current"));
    MemoryGroup { path: path.to_owned(), limit_bytes, used_bytes }
}

pub const MEMORY_ONE: &[&str] = &["memory.limit_in_bytes", "memory.usage_in_bytes"];

pub fn memory_one(path: &str, texts: Texts) -> MemoryGroup {
    // No limit is as many pages as a signed number can count.
    let limit = texts.number("memory.limit_in_bytes").filter(|limit| *limit < NO_LIMIT);
    MemoryGroup { path: path.to_owned(), limit_bytes: limit, used_bytes: texts.number("memory.usage_in_bytes") }
}

const NO_LIMIT: u64 = 1 << 60;

/// Lines like `8:0 1048576`.
fn lines(text: &str, kind: IoKind) -> impl Iterator<Item = IoLimit> {
    text.lines().filter_map(move |line| {
        let (device, rest) = line.split_once(' ')?;
        let value = rest.trim().parse().ok()?;
        Some(IoLimit { device: DeviceNumber::parse(device)?, kind, value })
    })
}

#[cfg(test)]
mod tests;
