//! What Linux says of a server's processes.

use std::sync::Arc;

use plimsoll_clock::{Clock, windowed};
use plimsoll_measurement::{Counter, Reading};

use crate::error::Result;
use crate::process;
use crate::telemetry::Sampler;

/// Processes come and go while they are read; after so many disturbed readings the last one counts.
const READ_ATTEMPTS: u32 = 3;

/// Sums over a server's processes. A process that ends passes its counts on to its parent, so the sums only rise.
#[derive(Debug)]
pub struct ProcessSampler {
    clock: Arc<dyn Clock>,
    parent: u32,
    last: Sums,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    device_read_bytes: Option<u64>,
    device_write_bytes: Option<u64>,
    cpu_seconds: Option<f64>,
}

impl ProcessSampler {
    /// A sampler of the first of these processes and those below it; `None` without one, or without the right to read
    /// anything of it.
    pub fn of(clock: &Arc<dyn Clock>, pids: &[u32]) -> Option<Box<dyn Sampler>> {
        let parent = *pids.first()?;
        let last = read(parent);
        (last != Sums::default()).then(|| Box::new(Self { clock: Arc::clone(clock), parent, last }) as Box<dyn Sampler>)
    }
}

impl Sampler for ProcessSampler {
    /// Leaves out what can't be read any more, such as everything when the server was restarted.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        let (sums, window) = windowed(self.clock.as_ref(), || read(self.parent));
        // A process that was counted and then ended is in the parent's counts as well; later readings have it once.
        let most = |now: Option<u64>, last: Option<u64>| now.max(last.filter(|_| now.is_some()));
        self.last = Sums {
            device_read_bytes: most(sums.device_read_bytes, self.last.device_read_bytes),
            device_write_bytes: most(sums.device_write_bytes, self.last.device_write_bytes),
            cpu_seconds: sums.cpu_seconds.map(|seconds| seconds.max(self.last.cpu_seconds.unwrap_or(0.0))),
        };
        let values = [
            (Counter::DeviceReadBytes, self.last.device_read_bytes.map(|bytes| bytes as f64)),
            (Counter::DeviceWriteBytes, self.last.device_write_bytes.map(|bytes| bytes as f64)),
            (Counter::EngineCpuSeconds, self.last.cpu_seconds),
        ];
        Ok(values.into_iter().filter_map(|(metric, value)| Some(Reading { metric, value: value?, window })).collect())
    }
}

/// Reads all processes, children before parents, so that no counts are passed over; again if one that was counted
/// has ended by then, as its counts might be there twice.
fn read(parent: u32) -> Sums {
    let mut sums = Sums::default();
    for _ in 0..READ_ATTEMPTS {
        let tree = process::tree(parent);
        sums = Sums::default();
        for pid in tree.iter().rev() {
            if let Some(counters) = process::of_process(*pid) {
                *sums.device_read_bytes.get_or_insert(0) += counters.device_read_bytes;
                *sums.device_write_bytes.get_or_insert(0) += counters.device_write_bytes;
            }
            if let Some(seconds) = process::cpu_seconds(*pid) {
                *sums.cpu_seconds.get_or_insert(0.0) += seconds;
            }
        }
        let now = process::tree(parent);
        if tree.iter().all(|pid| now.contains(pid)) {
            break;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_hold_what_ended_children_did() {
        let own = std::process::id();
        let before = read(own).cpu_seconds.unwrap();
        // Work that the counter, which goes in hundredths of a second, must notice.
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        assert!(child.status().unwrap().success());
        assert!(read(own).cpu_seconds.unwrap() > before);
    }

    #[test]
    fn of_nobody_nothing_is_known() {
        assert_eq!(read(u32::MAX), Sums::default());
    }
}
