//! Memory of the machine, from `/proc/meminfo` (proc(5)), and time lost for want of a resource, from `/proc/pressure` or a control
//! group's files of the same form (the kernel's accounting/psi).

use super::fields::named;

/// Memory now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All that the kernel manages.
    pub total_bytes: u64,
    /// In no use at all.
    pub free_bytes: u64,
    /// What programs could get without swapping, by the kernel's estimate; since 3.14.
    pub available_bytes: Option<u64>,
    /// Files that are cached, with shared memory.
    pub cached_bytes: Option<u64>,
    /// Of these, not yet written.
    pub dirty_bytes: Option<u64>,
    /// Of these, being written now.
    pub writeback_bytes: Option<u64>,
    /// Memory that several processes share, such as PostgreSQL's buffers; since 2.6.32.
    pub shared_bytes: Option<u64>,
    /// Swap space.
    pub swap_total_bytes: Option<u64>,
    /// Of this, free.
    pub swap_free_bytes: Option<u64>,
}

/// Reads the text of `/proc/meminfo`. `None` without the total and what is free.
pub fn parse(text: &str) -> Option<Memory> {
    let bytes = |name: &str| named(text, name)?.checked_mul(1024);
    Some(Memory {
        total_bytes: bytes("MemTotal:")?,
        free_bytes: bytes("MemFree:")?,
        available_bytes: bytes("MemAvailable:"),
        cached_bytes: bytes("Cached:"),
        dirty_bytes: bytes("Dirty:"),
        writeback_bytes: bytes("Writeback:"),
        shared_bytes: bytes("Shmem:"),
        swap_total_bytes: bytes("SwapTotal:"),
        swap_free_bytes: bytes("SwapFree:"),
    })
}

/// Time in which work stood still for want of a resource, cumulative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// At least one thread waited.
    pub some_seconds: f64,
    /// All threads that had something to do waited. For CPU it says nothing of the whole machine, and kernels before 5.13
    /// have none.
    pub full_seconds: Option<f64>,
}

/// Stalls by resource; `None` where the kernel doesn't count them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pressure {
    /// For a CPU.
    pub cpu: Option<Stall>,
    /// For memory that had to be freed first.
    pub memory: Option<Stall>,
    /// For I/O.
    pub io: Option<Stall>,
}

/// Reads a text like that of `/proc/pressure/io`.
pub fn parse_pressure(text: &str) -> Option<Stall> {
    let total = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        let micros: u64 = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()?;
        Some(micros as f64 / 1e6)
    };
    Some(Stall { some_seconds: total("some")?, full_seconds: total("full") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KERNEL_6: &str = "\
MemTotal:       24684096 kB
MemFree:        16625092 kB
MemAvailable:   23308072 kB
Buffers:           18988 kB
Cached:          6685492 kB
SwapCached:            0 kB
SwapTotal:       1000000 kB
SwapFree:         900000 kB
Dirty:              4096 kB
Writeback:            64 kB
Shmem:            131072 kB
HugePages_Total:       0
";

    #[test]
    fn memory_is_bytes() {
        let memory = parse(KERNEL_6).unwrap();
        assert_eq!((memory.total_bytes, memory.free_bytes), (24_684_096 << 10, 16_625_092 << 10));
        assert_eq!((memory.available_bytes, memory.cached_bytes), (Some(23_308_072 << 10), Some(6_685_492 << 10)));
        assert_eq!(
            (memory.dirty_bytes, memory.writeback_bytes, memory.shared_bytes),
            (Some(4 << 20), Some(64 << 10), Some(128 << 20))
        );
        assert_eq!((memory.swap_total_bytes, memory.swap_free_bytes), (Some(1_024_000_000), Some(921_600_000)));
        let old = parse("MemTotal: 10 kB\nMemFree: 4 kB\n").unwrap();
        assert_eq!((old.available_bytes, old.shared_bytes), (None, None));
        assert_eq!(parse("MemTotal: 10 kB\n"), None);
        assert_eq!(parse(&format!("MemTotal: {} kB\nMemFree: 1 kB", u64::MAX)), None);
    }

    #[test]
    fn stalls_are_seconds() {
        let text = "some avg10=0.12 avg60=0.05 avg300=0.01 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n";
        assert_eq!(parse_pressure(text), Some(Stall { some_seconds: 1.5, full_seconds: Some(0.25) }));
        // CPU before 5.13.
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_pressure(text), Some(Stall { some_seconds: 7e-6, full_seconds: None }));
        for text in ["", "some", "some total=x", "full avg10=0.00 total=5", "something total=5"] {
            assert_eq!(parse_pressure(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(MemTotal:|MemFree:|some |full |total=|kB| |\n|[0-9]{1,22}|-){0,40}") {
            let _ = (parse(&text), parse_pressure(&text));
        }
    }
}
