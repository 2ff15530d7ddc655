//! How long modelled devices take for a load that goes on and on: the slowest of its limits decides. Arithmetic on the
//! specification; the buckets of the hardware at work have no part in it.

use plimsoll_hardware::{
    Cap, DeviceSpec, Kind, LARGEST_IO_BYTES, Latency, Layout, Limit, LimitKind, Limits, Neighbour, Role, Spec,
};

/// A load: bytes in I/Os of one size.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub kind: Kind,
    pub bytes: f64,
    pub io_bytes: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    Bytes,
    Ios,
}

/// How long the slowest limits take, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// The slowest of those that count bytes.
    pub bytes: f64,
    /// The slowest of those that count I/Os.
    pub ios: f64,
}

impl Span {
    pub const fn seconds(self) -> f64 {
        self.bytes.max(self.ios)
    }

    pub fn counts(self) -> Counts {
        if self.ios > self.bytes { Counts::Ios } else { Counts::Bytes }
    }

    const fn max(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), ios: self.ios.max(other.ios) }
    }
}

/// A device of a specification.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    spec: &'a DeviceSpec,
    caps: &'a [Cap],
    /// Size of the file on it, which decides about the tier of a blob.
    file_bytes: u64,
}

impl<'a> Device<'a> {
    /// The device of a role with a file of this size.
    pub fn of(spec: &'a Spec, role: Role, file_bytes: u64) -> Self {
        Self { spec: spec.device(role), caps: &spec.caps, file_bytes }
    }

    /// Time for loads that are asked for in time and go on beside each other. Limits of both directions count all of them.
    pub fn span(&self, loads: &[Load]) -> Span {
        let mut all: Vec<Gate> = Vec::new();
        for load in loads {
            let gates = self.gates(*load);
            if all.is_empty() {
                all = gates;
                continue;
            }
            for (sum, gate) in all.iter_mut().zip(gates) {
                sum.units += gate.units;
            }
        }
        all.iter().fold(Span::default(), |span, gate| span.max(gate.span()))
    }

    /// Every limit on the way of a load, with how much of it the load takes; the same limits in the same order for each.
    fn gates(&self, load: Load) -> Vec<Gate> {
        let ios = |bytes: f64, largest: u64| (bytes / largest as f64).ceil().max(1.0);
        let parts = load.bytes / load.io_bytes;
        let mut gates = gates_of(&self.spec.governor, load, parts * ios(load.io_bytes, LARGEST_IO_BYTES), 1.0);
        let (disks, touched) = self.share(load.io_bytes);
        // An I/O that falls on several disks is one on each of them.
        let below = touched * ios(load.io_bytes / touched, LARGEST_IO_BYTES);
        for cap in self.caps.iter().filter(|cap| self.spec.caps.contains(&cap.name)) {
            gates.extend(gates_of(&cap.limits, load, parts * below, 1.0));
        }
        let on_one = Load { bytes: load.bytes / disks as f64, ..load };
        for disk in self.spec.volume.disks.iter().take(disks) {
            let ios = parts * touched / disks as f64 * ios(load.io_bytes / touched, disk.largest_io_bytes);
            gates.extend(gates_of(disk.limits_of_file(self.file_bytes), on_one, ios, factor(disk.neighbour.as_ref())));
        }
        gates
    }

    /// Mean latency of a read of so many bytes beside its transfer, in seconds.
    pub fn read_latency(&self, io_bytes: f64) -> f64 {
        let own = self.own(Kind::Read, io_bytes);
        self.spec.volume.disks.first().map_or(0.0, |disk| mean_beyond(&disk.read_latency, own))
    }

    /// The latency beside its transfer that this share of all reads of so many bytes stays below, in seconds.
    pub fn read_quantile(&self, share: f64, io_bytes: f64) -> f64 {
        let own = self.own(Kind::Read, io_bytes);
        self.spec.volume.disks.first().map_or(0.0, |disk| (quantile(&disk.read_latency, share) - own).max(0.0))
    }

    /// Mean latency of a write of so many bytes beside its transfer, in seconds.
    pub fn write_latency(&self, io_bytes: f64) -> f64 {
        let own = self.own(Kind::Write, io_bytes);
        self.spec.volume.disks.first().map_or(0.0, |disk| mean_beyond(&disk.write_latency, own))
    }

    /// What a disk's own limits take for one I/O, where its latency has that in it.
    fn own(&self, kind: Kind, io_bytes: f64) -> f64 {
        let Some(disk) = self.spec.volume.disks.first().filter(|disk| disk.is_latency_whole) else { return 0.0 };
        let (_, touched) = self.share(io_bytes);
        let bytes = io_bytes / touched;
        let ios = (bytes / disk.largest_io_bytes as f64).ceil().max(1.0);
        let load = Load { kind, bytes, io_bytes: bytes };
        let gates = gates_of(disk.limits_of_file(self.file_bytes), load, ios, factor(disk.neighbour.as_ref()));
        gates.iter().fold(Span::default(), |span, gate| span.max(gate.span())).seconds()
    }

    /// A note on the neighbour that takes from the limits.
    pub fn neighbour(&self) -> Option<f64> {
        let neighbour = self.spec.volume.disks.first()?.neighbour.as_ref()?;
        Some(factor(Some(neighbour)))
    }

    /// Size of the file by which its limits go, if it is one blob.
    pub fn blob_bytes(&self) -> Option<u64> {
        let [disk] = &self.spec.volume.disks[..] else { return None };
        Some(self.file_bytes.max(disk.blob.as_ref()?.file_bytes))
    }

    /// On how many disks a stretch of addresses lies, and on how many an I/O falls on average. Of a stripe only its columns
    /// work at a time, of a span one disk.
    fn share(&self, io_bytes: f64) -> (usize, f64) {
        match self.spec.volume.layout {
            Layout::Single | Layout::Spanned => (1, 1.0),
            Layout::Striped { columns, unit_bytes } => {
                // Offsets are multiples of a page and not of a unit: on average a unit more is touched, less one sector.
                let units = (io_bytes / unit_bytes as f64 + 1.0).floor();
                (columns, units.clamp(1.0, columns as f64))
            }
        }
    }
}

/// The mean of what a latency has beyond so many seconds.
fn mean_beyond(latency: &Latency, own: f64) -> f64 {
    if own <= 0.0 {
        return latency.mean();
    }
    let beyond = |seconds: f64| (seconds - own).max(0.0);
    let points = match latency {
        Latency::Constant(latency) => return beyond(latency.as_secs_f64()),
        Latency::Quantiles(points) => points,
    };
    // Below the first quantile and above the last it is constant, between two a straight line.
    let ends =
        |at: Option<&(f64, std::time::Duration)>| at.map_or((0.0, 0.0), |(share, time)| (*share, time.as_secs_f64()));
    let ((first, least), (last, most)) = (ends(points.first()), ends(points.last()));
    let line = |pair: &[(f64, std::time::Duration)]| {
        let ((from, low), (to, high)) = (ends(pair.first()), ends(pair.last()));
        let mean = if low >= own || high <= own || high <= low {
            f64::midpoint(beyond(low), beyond(high))
        } else {
            beyond(high) * beyond(high) / (high - low) / 2.0
        };
        (to - from) * mean
    };
    first * beyond(least) + points.windows(2).map(line).sum::<f64>() + (1.0 - last) * beyond(most)
}

/// Linear between the quantiles that are given, constant outside of them.
fn quantile(latency: &Latency, share: f64) -> f64 {
    let points = match latency {
        Latency::Constant(latency) => return latency.as_secs_f64(),
        Latency::Quantiles(points) => points,
    };
    let above = points.partition_point(|(at, _)| *at <= share);
    match (above.checked_sub(1).and_then(|below| points.get(below)), points.get(above)) {
        (Some((from, low)), Some((to, high))) => {
            let part = (share - from) / (to - from);
            low.as_secs_f64() * (1.0 - part) + high.as_secs_f64() * part
        }
        (Some((_, only)), None) | (None, Some((_, only))) => only.as_secs_f64(),
        (None, None) => 0.0,
    }
}

/// A limit on the way, and how much of it is taken.
struct Gate {
    limit: Limit,
    counts: Counts,
    /// What a neighbour leaves of it.
    factor: f64,
    units: f64,
}

impl Gate {
    fn span(&self) -> Span {
        let seconds = seconds(self.limit, self.units, self.factor);
        match self.counts {
            Counts::Bytes => Span { bytes: seconds, ..Span::default() },
            Counts::Ios => Span { ios: seconds, ..Span::default() },
        }
    }
}

/// Limits of the other direction stand there and nothing of them is taken.
fn gates_of(limits: &Limits, load: Load, ios: f64, factor: f64) -> Vec<Gate> {
    let gate = |kind: LimitKind| {
        let (counts, units) = if kind.is_of_bytes() { (Counts::Bytes, load.bytes) } else { (Counts::Ios, ios) };
        let is_taken = match kind {
            LimitKind::Iops | LimitKind::Bandwidth => true,
            LimitKind::ReadIops | LimitKind::ReadBandwidth => load.kind == Kind::Read,
            LimitKind::WriteIops | LimitKind::WriteBandwidth => load.kind == Kind::Write,
        };
        Some(Gate { limit: limits.of(kind)?, counts, factor, units: if is_taken { units } else { 0.0 } })
    };
    LimitKind::ALL.into_iter().filter_map(gate).collect()
}

/// With a burst: at its peak until the credit is spent, full at the start and filled at the base rate all the while.
fn seconds(limit: Limit, units: f64, factor: f64) -> f64 {
    let base = limit.rate.as_per_second() * factor;
    match limit.burst {
        None => units / base,
        Some(burst) => {
            let peak = burst.peak.as_per_second() * factor;
            (units / peak).max((units - burst.credit as f64) / base)
        }
    }
}

/// What a neighbour leaves of the limits on average over time: two states by their stays, a walk the middle of its bounds.
fn factor(neighbour: Option<&Neighbour>) -> f64 {
    match neighbour {
        None => 1.0,
        Some(Neighbour::TwoState { rates, dwell }) => {
            let [first, second] = dwell.map(|stay| stay.as_secs_f64());
            (rates[0] * first + rates[1] * second) / (first + second)
        }
        Some(Neighbour::Drift { low, high, .. }) => f64::midpoint(*low, *high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that a load takes and what decides, for a file of no size.
    fn takes(text: &str, kind: Kind, (bytes, io_bytes): (f64, f64), (seconds, counts): (f64, Counts)) {
        let spec = Spec::parse("t.toml", text).unwrap();
        let span = Device::of(&spec, Role::Data, 0).span(&[Load { kind, bytes, io_bytes }]);
        assert!((span.seconds() - seconds).abs() < 1e-9 && span.counts() == counts, "{span:?} on {text}");
    }

    const MIB: f64 = 1_048_576.0;
    const IO: f64 = 262_144.0;

    #[test]
    fn the_tightest_limit_decides() {
        let one = "[data]\nbandwidth = \"10MiB/s\"\niops = 500\nwrite_bandwidth = \"4MiB/s\"";
        takes(one, Kind::Read, (100.0 * MIB, IO), (10.0, Counts::Bytes));
        takes(one, Kind::Write, (100.0 * MIB, IO), (25.0, Counts::Bytes));
        takes(one, Kind::Read, (5000.0 * 4096.0, 4096.0), (10.0, Counts::Ios));
        // An I/O of 1 MiB counts as four.
        takes("[data]\niops = 100", Kind::Read, (100.0 * MIB, MIB), (4.0, Counts::Ios));
        takes("", Kind::Read, (MIB, IO), (0.0, Counts::Bytes));
    }

    #[test]
    fn stripes_add_up_and_governors_and_caps_hold_them_back() {
        let disks = "disks = 4\nlayout = \"striped\"\ncolumns = 4\nstripe_unit = \"64KiB\"";
        let stripe = format!("[data]\n{disks}\n[data.disk]\nbandwidth = \"10MiB/s\"");
        takes(&stripe, Kind::Read, (100.0 * MIB, IO), (2.5, Counts::Bytes));
        let governed =
            format!("[data]\n{disks}\ngovernor = {{ bandwidth = \"20MiB/s\" }}\n[data.disk]\nbandwidth = \"10MiB/s\"");
        takes(&governed, Kind::Read, (100.0 * MIB, IO), (5.0, Counts::Bytes));
        let capped = format!("[caps.vm]\niops = 100\n[data]\n{disks}\ncaps = [\"vm\"]");
        takes(&capped, Kind::Read, (100.0 * MIB, IO), (16.0, Counts::Ios));
        let spanned = "[data]\ndisks = 2\nlayout = \"spanned\"\n[data.disk]\nsize = \"1GiB\"\nbandwidth = \"10MiB/s\"";
        takes(spanned, Kind::Read, (100.0 * MIB, IO), (10.0, Counts::Bytes));
    }

    #[test]
    fn bursts_neighbours_and_blobs_change_the_rate() {
        let burst = "[data]\nbandwidth = { rate = \"10MiB/s\", burst = { rate = \"20MiB/s\", credit = \"100MiB\" } }";
        takes(burst, Kind::Read, (200.0 * MIB, IO), (10.0, Counts::Bytes));
        takes(burst, Kind::Read, (300.0 * MIB, IO), (20.0, Counts::Bytes));
        let neighbour = "[data]\nbandwidth = \"10MiB/s\"\nneighbour = { rates = [0.5, 1.0], dwell = \"4s\" }";
        takes(neighbour, Kind::Read, (75.0 * MIB, IO), (10.0, Counts::Bytes));
        let blob = "[data.blob]\nfile_size = \"1GiB\"\ntiers = [{ name = \"a\", up_to = \"2GiB\", iops = 10 }, { name = \"b\", up_to = \"4GiB\", iops = 20 }]";
        let spec = Spec::parse("t.toml", blob).unwrap();
        let load = Load { kind: Kind::Read, bytes: 100.0 * IO, io_bytes: IO };
        for (file_bytes, seconds) in [(0, 10.0), (3 << 30, 5.0)] {
            assert!(
                (Device::of(&spec, Role::Data, file_bytes).span(&[load]).seconds() - seconds).abs() < 1e-9,
                "{file_bytes}"
            );
        }
    }

    #[test]
    fn reads_and_writes_beside_each_other_share_what_counts_both() {
        let text = "[data]\nbandwidth = \"10MiB/s\"\nread_bandwidth = \"4MiB/s\"\nwrite_iops = 16";
        let spec = Spec::parse("t.toml", text).unwrap();
        let device = Device::of(&spec, Role::Data, 0);
        let span = |reads: f64, writes: f64| {
            let load = |kind, bytes: f64| Load { kind, bytes: bytes * MIB, io_bytes: IO };
            device.span(&[load(Kind::Read, reads), load(Kind::Write, writes)])
        };
        assert_eq!((span(30.0, 70.0).seconds(), span(30.0, 70.0).ios), (17.5, 17.5));
        assert_eq!((span(10.0, 30.0).bytes, span(60.0, 10.0).bytes), (4.0, 15.0));
    }

    #[test]
    fn the_mean_of_a_latencys_quantiles_is_its_mean() {
        let text =
            "[data]\nread_latency = { min = \"1ms\", p50 = \"2ms\", p90 = \"3ms\", p99 = \"8ms\", max = \"20ms\" }";
        let spec = Spec::parse("t.toml", text).unwrap();
        let device = Device::of(&spec, Role::Data, 0);
        let sum: f64 = (0..10_000).map(|step| device.read_quantile((f64::from(step) + 0.5) / 1e4, 4096.0)).sum();
        assert!((sum / 1e4 - device.read_latency(4096.0)).abs() < 1e-7, "{sum} {}", device.read_latency(4096.0));
        assert!((device.read_quantile(0.99, 4096.0) - 0.008).abs() < 1e-12);
        // A page takes 2.5 ms at this bandwidth, which are in the latency.
        let spec = Spec::parse("t.toml", &format!("{text}\nbandwidth = \"1600KiB/s\"")).unwrap();
        let device = Device::of(&spec, Role::Data, 0);
        let sum: f64 = (0..100_000).map(|step| device.read_quantile((f64::from(step) + 0.5) / 1e5, 4096.0)).sum();
        assert!((sum / 1e5 - device.read_latency(4096.0)).abs() < 1e-7, "{sum} {}", device.read_latency(4096.0));
        assert!((device.read_quantile(0.99, 4096.0) - 0.0055).abs() < 1e-9);
    }
}
