//! How long one session takes to write chunks: one `INSERT ... SELECT` and one transaction each, from a source in memory.
//!
//! A chunk costs its CPU, then its log (by the rule of [`crate::records`], written at once), and the latency of the log
//! once. Nothing of this overlaps within a session. Checkpoints go on beside the chunks. Only a data device that is about
//! as slow as the log makes itself felt, because no chunk is durable before the checkpoint that it follows. So the chunks
//! are gone through one by one, with the checkpoints beside them.

use plimsoll_engine::Result;
use plimsoll_engine::work::TableData;
use plimsoll_hardware::{Cap, Kind, Role, Spec};

use super::device::{Device, Load};
use super::rows::each;
use super::steps::{copied_row, cpu_seconds, statement_seconds};
use super::tree::Tree;
use crate::checkpointer::{is_last, threshold};
use crate::readahead::Sizes;

/// Pages that every transaction changes outside of the table: the first of the file, which says how long it is.
const SHARED_PAGES: u64 = 1;

/// The chunks as the log has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunks {
    /// Frames of each: pages that a checkpoint copies.
    pub frames: Vec<u64>,
    /// Bytes of log of each.
    pub log_bytes: Vec<u64>,
    /// Pages of the table in the end.
    pub pages: u64,
    pub rows: u64,
    pub content_bytes: u64,
    /// Steps of SQLite's virtual machine for a row.
    pub steps_per_row: u64,
}

impl Chunks {
    /// Adds the transaction of what was added to a table since the last one.
    pub fn add(&mut self, tree: &mut Tree) {
        self.frames.push(tree.take_frames());
        self.log_bytes.push(tree.take_log());
    }
}

/// The time of chunks and how it comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteTime {
    /// Seconds for all chunks.
    pub seconds: f64,
    /// What binds: `log_write`, `cpu`, `data_io` or `latency`.
    pub limit: &'static str,
    pub log_bytes: f64,
    /// Seconds that the log takes for them without latency.
    pub log_seconds: f64,
    pub cpu_seconds: f64,
}

/// What chunks of a source make of a table; `None` if its rows do not fit into a page.
pub fn chunks(source: TableData<'_>, times: u64, count: u64, page_bytes: u64) -> Result<Option<Chunks>> {
    let steps_per_row = copied_row(&source.table);
    let (mut payloads, mut content) = (Vec::new(), 0);
    each(source, |_, payload, bytes| {
        payloads.push(payload);
        content += bytes;
    })?;
    let mut tree = Tree::new(page_bytes);
    let (mut fits, mut key, mut frames, mut log_bytes) = (true, 0, Vec::new(), Vec::new());
    for _ in 0..count {
        for payload in (0..times).flat_map(|_| &payloads) {
            key += 1;
            fits &= tree.append(key, *payload);
        }
        frames.push(tree.take_changed() + SHARED_PAGES);
        log_bytes.push(tree.take_log());
    }
    let rows = count * times * payloads.len() as u64;
    let content_bytes = count * times * content;
    let chunks = Chunks { frames, log_bytes, pages: tree.pages(), rows, content_bytes, steps_per_row };
    Ok(fits.then_some(chunks))
}

pub fn time(spec: &Spec, chunks: &Chunks) -> WriteTime {
    let frames: u64 = chunks.frames.iter().sum();
    let count = chunks.frames.len() as f64;
    let (log, data) = (Device::of(spec, Role::Log, 0), Device::of(spec, Role::Data, chunks.pages * spec.page_bytes));
    let log_bytes = chunks.log_bytes.iter().sum::<u64>() as f64;
    let of_log = Load { kind: Kind::Write, bytes: log_bytes, io_bytes: log_bytes / count };
    let log_seconds = log.span(&[of_log]).seconds();
    let page_bytes = spec.page_bytes as f64;
    let io_bytes = f64::from(Sizes::of(spec.page_bytes, spec.memory).io_pages) * page_bytes;
    let all_data = frames as f64 * page_bytes;
    let of_data = Load { kind: Kind::Write, bytes: all_data, io_bytes };
    let data_frame = data.span(&[of_data]).seconds() / frames.max(1) as f64;
    let steps = (chunks.rows * chunks.steps_per_row) as f64;
    let cpu = cpu_seconds(spec, steps, 0.0) / count + statement_seconds(spec);

    let steady = Steady {
        cpu,
        log_byte: log_seconds / log_bytes.max(1.0),
        log_latency: log.write_latency(log_bytes / count),
        data_frame,
        data_latency: data.write_latency(io_bytes),
        threshold: threshold(spec.memory.map(|bytes| (bytes / spec.page_bytes) as usize)) as u64,
    };
    let undisturbed = count * (cpu + steady.log_latency) + log_seconds;
    let seconds = steady.run(chunks).max(shared(spec, &data, [of_log, of_data]));
    let latencies = count * steady.log_latency;
    let limit = if seconds > 1.02 * undisturbed {
        "data_io"
    } else if count * cpu > log_seconds.max(latencies) {
        "cpu"
    } else if latencies > log_seconds {
        "latency"
    } else {
        "log_write"
    };
    WriteTime { seconds, limit, log_bytes, log_seconds, cpu_seconds: count * cpu }
}

/// Time for the log and the checkpoints together at what they share: caps, or the device that both lie on.
fn shared(spec: &Spec, data: &Device<'_>, [of_log, of_data]: [Load; 2]) -> f64 {
    let on_device = if spec.is_apart(Role::Log) { 0.0 } else { data.span(&[of_log, of_data]).seconds() };
    let behind = |role, cap: &Cap| spec.device(role).caps.contains(&cap.name);
    let caps = spec.caps.iter().filter(|cap| behind(Role::Log, cap) && behind(Role::Data, cap));
    let bytes = of_log.bytes + of_data.bytes;
    let seconds = caps.flat_map(|cap| [cap.limits.bandwidth, cap.limits.write_bandwidth]).flatten();
    seconds.map(|limit| bytes / limit.rate.as_per_second()).fold(on_device, f64::max)
}

/// What a chunk and its checkpoint take, in seconds.
#[derive(Debug, Clone, Copy)]
struct Steady {
    cpu: f64,
    log_byte: f64,
    log_latency: f64,
    data_frame: f64,
    data_latency: f64,
    threshold: u64,
}

impl Steady {
    /// Goes through chunks. A checkpoint's passes are beside the writer until little is left; the last
    /// holds the writer's turn without waiting, and no later log is durable before it is.
    fn run(&self, chunks: &Chunks) -> f64 {
        let (mut now, mut gate, mut data_free) = (0.0_f64, 0.0_f64, 0.0_f64);
        // Frames in the log, and those of them that came during a checkpoint's pass, with that pass's end.
        let (mut in_log, mut pass): (u64, Option<(f64, u64)>) = (0, None);
        for (frames, log_bytes) in chunks.frames.iter().zip(&chunks.log_bytes) {
            let logged = now + self.cpu;
            let durable = (logged + *log_bytes as f64 * self.log_byte + self.log_latency).max(gate);
            in_log += frames;
            match &mut pass {
                Some((end, since)) => {
                    *since += frames;
                    if *end <= durable && !is_last(self.threshold, *since, in_log) {
                        data_free = durable.max(data_free) + *since as f64 * self.data_frame;
                        pass = Some((data_free + self.data_latency, 0));
                    } else if *end <= durable {
                        let begin = end.max(durable);
                        data_free = begin.max(data_free) + *since as f64 * self.data_frame;
                        gate = data_free + self.data_latency;
                        (in_log, pass) = (0, None);
                    }
                }
                None if in_log >= self.threshold => {
                    data_free = durable.max(data_free) + in_log as f64 * self.data_frame;
                    pass = Some((data_free + self.data_latency, 0));
                }
                None => {}
            }
            now = durable;
        }
        now
    }
}
