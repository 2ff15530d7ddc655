//! Limits and counters in the files of a control group: the kernel's admin-guide/cgroup-v2 and admin-guide/cgroup-v1,
//! scheduler/sched-bwc.
//!
//! Every function takes the texts of the files that are there. A file that is not there limits nothing and counts nothing.

use super::super::disk::DeviceNumber;
use super::super::fields::{Fields, named};

/// CPU time of a group, with its limit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuGroup {
    /// The group, as a path from the root of its tree.
    pub path: String,
    /// CPUs that it may use; `None` is no limit.
    pub limit_cpus: Option<f64>,
    /// CPU time of its processes and of all groups below.
    pub used_seconds: Option<f64>,
    /// Periods of the limit in which somebody was ready to run.
    pub periods: Option<u64>,
    /// Of these, those in which the limit was reached.
    pub throttled_periods: Option<u64>,
    /// Time that its threads had to wait for the next period; counted for each CPU.
    pub throttled_seconds: Option<f64>,
}

/// Memory of a group, with its limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryGroup {
    /// The group.
    pub path: String,
    /// Memory that it may have; `None` is no limit.
    pub limit_bytes: Option<u64>,
    /// Memory above which it is slowed down; version 2 only.
    pub high_bytes: Option<u64>,
    /// Memory that it has now, with the files that are cached for it.
    pub used_bytes: Option<u64>,
    /// How often it reached its limit.
    pub limit_hits: Option<u64>,
    /// How often it was slowed down; version 2 only.
    pub high_hits: Option<u64>,
    /// Processes that were killed for want of memory.
    pub kills: Option<u64>,
}

/// What is limited and counted of I/O.
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

/// A limit, or a cumulative count, of I/O at a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFigure {
    /// The device.
    pub device: DeviceNumber,
    /// What is meant.
    pub kind: IoKind,
    /// How much; a limit is for one second.
    pub value: u64,
}

/// I/O of a group, with its limits.
///
/// In version 1 what is written through the cache is nobody's, unless the writer itself waits for it by `fsync`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoGroup {
    /// The group.
    pub path: String,
    /// Limits for a second.
    pub limits: Vec<IoFigure>,
    /// What it did; of version 2 with all groups below.
    pub done: Vec<IoFigure>,
}

impl IoGroup {
    /// What it did of one kind at a device.
    pub fn done_at(&self, device: DeviceNumber, kind: IoKind) -> Option<u64> {
        self.done.iter().find(|figure| figure.device == device && figure.kind == kind).map(|figure| figure.value)
    }
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

    /// The number behind a name in a file.
    fn named(self, file: &str, name: &str) -> Option<u64> {
        named(self.get(file)?, name)
    }
}

/// CPU in version 2: files.
pub const CPU_TWO: &[&str] = &["cpu.max", "cpu.stat"];

/// CPU in version 2.
pub fn cpu_two(path: &str, texts: Texts) -> CpuGroup {
    let limit = texts.get("cpu.max").and_then(|text| {
        let mut fields = Fields::of(text);
        // No limit is "max".
        let (quota, period) = (fields.number()?, fields.number()?);
        (period > 0).then(|| quota as f64 / period as f64)
    });
    let count = |name: &str| texts.named("cpu.stat", name);
    let seconds = |name: &str| Some(count(name)? as f64 / 1e6);
    CpuGroup {
        path: path.to_owned(),
        limit_cpus: limit,
        used_seconds: seconds("usage_usec"),
        periods: count("nr_periods"),
        throttled_periods: count("nr_throttled"),
        throttled_seconds: seconds("throttled_usec"),
    }
}

/// CPU in version 1: files. The last one may be in another tree.
pub const CPU_ONE: &[&str] = &["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"];
/// CPU in version 1: what counts CPU time.
pub const CPU_ONE_USED: &str = "cpuacct.usage";

/// CPU in version 1.
pub fn cpu_one(path: &str, texts: Texts) -> CpuGroup {
    // No limit is -1.
    let quota = texts.number("cpu.cfs_quota_us");
    let period = texts.number("cpu.cfs_period_us").filter(|period| *period > 0);
    let count = |name: &str| texts.named("cpu.stat", name);
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    CpuGroup {
        path: path.to_owned(),
        limit_cpus: quota.zip(period).map(|(quota, period)| quota as f64 / period as f64),
        used_seconds: texts.number(CPU_ONE_USED).map(seconds),
        periods: count("nr_periods"),
        throttled_periods: count("nr_throttled"),
        throttled_seconds: count("throttled_time").map(seconds),
    }
}

/// Memory in version 2: files.
pub const MEMORY_TWO: &[&str] = &["memory.max", "memory.high", "memory.current", "memory.events"];

/// Memory in version 2.
pub fn memory_two(path: &str, texts: Texts) -> MemoryGroup {
    // No limit is "max".
    let count = |name: &str| texts.named("memory.events", name);
    MemoryGroup {
        path: path.to_owned(),
        limit_bytes: texts.number("memory.max"),
        high_bytes: texts.number("memory.high"),
        used_bytes: texts.number("memory.current"),
        limit_hits: count("max"),
        high_hits: count("high"),
        kills: count("oom_kill"),
    }
}

/// Memory in version 1: files.
pub const MEMORY_ONE: &[&str] =
    &["memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "memory.oom_control"];

/// Memory in version 1.
pub fn memory_one(path: &str, texts: Texts) -> MemoryGroup {
    // No limit is the largest number of pages there is, or of bytes.
    const NO_LIMIT_BYTES: u64 = 1 << 60;
    MemoryGroup {
        path: path.to_owned(),
        limit_bytes: texts.number("memory.limit_in_bytes").filter(|bytes| *bytes < NO_LIMIT_BYTES),
        high_bytes: None,
        used_bytes: texts.number("memory.usage_in_bytes"),
        limit_hits: texts.number("memory.failcnt"),
        high_hits: None,
        kills: texts.named("memory.oom_control", "oom_kill"),
    }
}

/// I/O in version 2: files.
pub const IO_TWO: &[&str] = &["io.max", "io.stat"];

/// I/O in version 2.
pub fn io_two(path: &str, texts: Texts) -> IoGroup {
    const LIMITS: [(&str, IoKind); 4] = [
        ("rbps", IoKind::ReadBytes),
        ("wbps", IoKind::WriteBytes),
        ("riops", IoKind::Reads),
        ("wiops", IoKind::Writes),
    ];
    const COUNTS: [(&str, IoKind); 4] = [
        ("rbytes", IoKind::ReadBytes),
        ("wbytes", IoKind::WriteBytes),
        ("rios", IoKind::Reads),
        ("wios", IoKind::Writes),
    ];
    let figures = |file: &str, kinds| keyed(texts.get(file).unwrap_or_default(), kinds);
    IoGroup { path: path.to_owned(), limits: figures("io.max", &LIMITS), done: figures("io.stat", &COUNTS) }
}

/// Lines like `8:0 rbps=max wbps=1048576`. Some kernels put a device without figures in front of another on the same line.
fn keyed(text: &str, kinds: &[(&str, IoKind)]) -> Vec<IoFigure> {
    let mut figures = Vec::new();
    for line in text.lines() {
        let mut device = None;
        for field in line.split_ascii_whitespace() {
            match field.split_once('=') {
                Some((key, value)) => figures.extend(device.and_then(|device| {
                    let (_, kind) = kinds.iter().find(|(name, _)| *name == key)?;
                    Some(IoFigure { device, kind: *kind, value: value.parse().ok()? })
                })),
                None => device = DeviceNumber::parse(field).or(device),
            }
        }
    }
    figures
}

/// I/O in version 1: files.
pub const IO_ONE: &[&str] = &[
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "blkio.throttle.io_service_bytes",
    "blkio.throttle.io_serviced",
];

/// I/O in version 1.
pub fn io_one(path: &str, texts: Texts) -> IoGroup {
    const KINDS: [IoKind; 4] = [IoKind::ReadBytes, IoKind::WriteBytes, IoKind::Reads, IoKind::Writes];
    const COUNTS: [(&str, &str, IoKind); 4] = [
        ("blkio.throttle.io_service_bytes", "Read", IoKind::ReadBytes),
        ("blkio.throttle.io_service_bytes", "Write", IoKind::WriteBytes),
        ("blkio.throttle.io_serviced", "Read", IoKind::Reads),
        ("blkio.throttle.io_serviced", "Write", IoKind::Writes),
    ];
    let text = |file: &str| texts.get(file).unwrap_or_default();
    IoGroup {
        path: path.to_owned(),
        limits: IO_ONE.iter().zip(KINDS).flat_map(|(file, kind)| lines(text(file), "", kind)).collect(),
        done: COUNTS.iter().flat_map(|(file, word, kind)| lines(text(file), word, *kind)).collect(),
    }
}

/// Lines like `8:0 1048576`, or with a word between like `8:0 Read 4096`.
fn lines<'t>(text: &'t str, word: &'t str, kind: IoKind) -> impl Iterator<Item = IoFigure> + 't {
    text.lines().filter_map(move |line| {
        let (device, rest) = line.split_once(' ')?;
        let value = rest.strip_prefix(word)?.trim().parse().ok()?;
        Some(IoFigure { device: DeviceNumber::parse(device)?, kind, value })
    })
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
