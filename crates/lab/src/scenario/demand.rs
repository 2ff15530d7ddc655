//! What a request demands of each resource, and hardware with so much headroom over it.

use std::fmt::Write as _;

use super::class::Class;
use super::draw::Draw;

/// Bytes of a page.
pub const PAGE: f64 = 4096.0;

/// How many times what checkpoints write on average there is for them, or what they hold up would bind.
const AMPLE: f64 = 4.0;

/// Bytes a second of log that hardware has at the least: about a hundred commits.
const LEAST_LOG: f64 = 3e4;

/// What one request of a workload demands, on average.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    pub statements: f64,
    /// Steps of SQLite's virtual machine.
    pub steps: f64,
    /// Reads of the data device, and their bytes.
    pub reads: f64,
    pub read_bytes: f64,
    /// Writes of the log, and their bytes.
    pub commits: f64,
    pub log_bytes: f64,
    /// Pages that a checkpoint writes for it at the most.
    pub dirty_pages: f64,
}

/// What was drawn for a server before it is known what binds.
#[derive(Debug, Clone, Copy)]
pub struct Prices {
    pub statement_us: f64,
    pub step_ns: f64,
    pub page_us: f64,
    pub read_ms: f64,
    pub log_ms: f64,
}

impl Prices {
    pub fn draw(draw: &mut Draw) -> Self {
        Self {
            statement_us: draw.scale(40.0, 300.0),
            step_ns: draw.scale(2.0, 12.0),
            page_us: draw.scale(2.0, 15.0),
            read_ms: draw.scale(0.3, 6.0),
            log_ms: draw.scale(0.4, 6.0),
        }
    }

    /// CPU seconds of a request.
    pub fn cpu_seconds(&self, demand: &Demand) -> f64 {
        let pages = demand.read_bytes / PAGE;
        demand.statements * self.statement_us / 1e6 + demand.steps * self.step_ns / 1e9 + pages * self.page_us / 1e6
    }

    /// The same with CPU time that is so many times what else a request takes.
    pub fn with_cpu(mut self, demand: &Demand, times: f64) -> Self {
        let cpu = self.cpu_seconds(demand);
        let dearer = times * (self.seconds(demand) - cpu) / cpu;
        for price in [&mut self.statement_us, &mut self.step_ns, &mut self.page_us] {
            *price *= dearer;
        }
        self
    }

    /// Seconds that a request of a session takes where nothing is limited.
    pub fn seconds(&self, demand: &Demand) -> f64 {
        self.cpu_seconds(demand) + demand.reads * self.read_ms / 1e3 + demand.commits * self.log_ms / 1e3
    }
}

/// The headroom of each resource that rates are limited by.
#[derive(Debug, Clone, Copy)]
pub struct Headroom {
    pub cpu: f64,
    pub iops: f64,
    pub bandwidth: f64,
    pub log: f64,
    pub client: Option<f64>,
}

impl Headroom {
    /// None for what is aimed at; of the others that the workload uses one is busy, one may be close, and the rest is ample.
    pub fn draw(draw: &mut Draw, aims_at: Class, used: &[Class]) -> Self {
        let ample = |draw: &mut Draw| draw.scale(1.8, 5.0);
        let mut room = Self {
            cpu: ample(draw),
            iops: ample(draw),
            bandwidth: ample(draw),
            log: ample(draw),
            client: draw.chance(0.4).then(|| ample(draw)),
        };
        let others: Vec<Class> = used.iter().copied().filter(|class| *class != aims_at).collect();
        // In use by 60 to 90 %, or close to binding.
        room.set(draw.one(&others), draw.between(1.12, 1.6));
        if draw.chance(0.7) {
            room.set(draw.one(&others), draw.between(1.06, 1.1));
        }
        room.set(aims_at, 1.0);
        room
    }

    /// Sets the headroom of a resource; a client that is none stays none unless it is aimed at.
    pub fn set(&mut self, class: Class, to: f64) {
        *match class {
            Class::Cpu => &mut self.cpu,
            Class::DataIops => &mut self.iops,
            Class::DataBandwidth => &mut self.bandwidth,
            Class::LogWrite => &mut self.log,
            Class::Client => self.client.get_or_insert(1.0),
            Class::Memory | Class::Device | Class::Locks | Class::Nothing => return,
        } = to;
    }

    pub fn times(&mut self, factor: f64) {
        for place in [&mut self.cpu, &mut self.iops, &mut self.bandwidth, &mut self.log] {
            *place *= factor;
        }
        self.client = self.client.map(|room| room * factor);
    }
}

/// What hardware is written by.
#[derive(Debug)]
pub struct Hardware {
    pub page_bytes: u64,
    pub memory_bytes: u64,
    /// Requests a second that the headrooms are over.
    pub rate: f64,
    pub demand: Demand,
    pub prices: Prices,
    pub room: Headroom,
    /// The neighbour, and the device that it disturbs: `data` or `log`.
    pub neighbour: Option<&'static str>,
    /// A log that is limited by the number of its writes instead of their bytes.
    pub log_by_number: bool,
}

/// A latency as quantiles, as parts of its median: the shape that levels of clouds are given.
fn latency(ms: f64) -> String {
    let quantiles = [("p0", 0.6), ("p50", 0.95), ("p90", 1.25), ("p99", 2.2), ("max", 4.0)];
    let parts: Vec<String> = quantiles.iter().map(|(name, part)| format!("{name} = \"{:.4}ms\"", ms * part)).collect();
    format!("{{ {} }}", parts.join(", "))
}

impl Hardware {
    pub fn text(&self, name: &str) -> String {
        let Self { rate, demand, prices, room, .. } = self;
        let mut text = format!(
            "name = \"{name}\"\npage_size = \"{}B\"\nmemory = \"{}B\"\n\n[cpu]\ncores = {:.4}\nstatement_time = \"{:.3}us\"\nstep_time = \"{:.3}ns\"\npage_time = \"{:.3}us\"\n",
            self.page_bytes,
            self.memory_bytes,
            // A session has one core at the most: with less of them a request takes longer.
            rate * prices.cpu_seconds(demand) * room.cpu,
            prices.statement_us,
            prices.step_ns,
            prices.page_us,
        );
        // Checkpoints write beside the reads, all at once, and log waits for their ends.
        let dirty = demand.dirty_pages * AMPLE;
        let (reads, bytes) = (demand.reads + dirty, demand.read_bytes + dirty * self.page_bytes as f64);
        let (least_iops, least_bytes) = (150.0, 2e6);
        let iops = (rate * reads * room.iops).max(least_iops);
        let bandwidth = (rate * bytes * room.bandwidth).max(least_bytes);
        // It comes and goes so often that what it takes is the same in every run, whenever its requests begin.
        let neighbour = |device: &str| {
            let is = self.neighbour == Some(device);
            if is { "neighbour = { rates = [0.85, 1.0], dwell = \"100ms\" }\n" } else { "" }
        };
        let _ = write!(
            text,
            "\n[data]\niops = {iops:.1}\nbandwidth = \"{bandwidth:.0}B/s\"\nread_latency = {}\nwrite_latency = {}\n{}",
            latency(prices.read_ms),
            latency(prices.read_ms * 1.2),
            neighbour("data")
        );
        let (by_number, by_bytes) = if self.log_by_number { (1.0, 2.5) } else { (2.5, 1.0) };
        let log_iops = (rate * demand.commits * room.log * by_number).max(100.0);
        let log_bytes = (rate * demand.log_bytes * room.log * by_bytes).max(LEAST_LOG);
        let _ = write!(
            text,
            "\n[log]\nwrite_iops = {log_iops:.1}\nwrite_bandwidth = \"{log_bytes:.0}B/s\"\nwrite_latency = {}\n{}",
            latency(prices.log_ms),
            neighbour("log")
        );
        if let Some(client) = room.client {
            // So much CPU of half a core to four, at what a request may cost a driver.
            let seconds = (1.0 / (rate * demand.statements * client)) * self.client_cores();
            let _ = write!(
                text,
                "\n[client]\ncores = {:.4}\nrequest_time = \"{:.4}us\"\n",
                self.client_cores(),
                seconds * 1e6
            );
        }
        text
    }

    /// Cores of the client: few enough that a statement costs it less than half a millisecond.
    fn client_cores(&self) -> f64 {
        let statements = self.rate * self.demand.statements;
        (statements * 3e-4).clamp(0.1, 8.0)
    }
}
