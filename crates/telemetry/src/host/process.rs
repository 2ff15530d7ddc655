//! What the kernel counts for a process: proc(5), `/proc/PID/stat`, `io` and `status`.
//!
//! CPU time and device bytes of a child are added to its parent's when the parent has waited for it. So the sum over a
//! process and those below it goes on when one of them ends.

use super::fields::{Fields, named};

/// A process, by its number and the time of its start: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since the machine was.
    pub start_ticks: u64,
}

/// What processes used: cumulative CPU time, and what they have now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessUse {
    /// Processes now.
    pub processes: u32,
    /// Their threads now.
    pub threads: u64,
    /// CPU time as a program.
    pub user_seconds: f64,
    /// CPU time in the kernel.
    pub system_seconds: f64,
    /// Memory that is mapped now. What processes share, such as PostgreSQL's buffers, is counted for each.
    pub resident_bytes: u64,
}

impl ProcessUse {
    /// CPU time.
    pub fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

/// Bytes at block devices, cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessIo {
    /// Bytes that were fetched from a device.
    pub read_bytes: u64,
    /// Bytes that were sent, or will be, to a device.
    pub write_bytes: u64,
}

/// Context switches, cumulative. Those of a thread since the last reading before its end are lost, so it is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// The thread had to wait for something.
    pub voluntary: u64,
    /// The thread had to let another run.
    pub involuntary: u64,
}

impl Switches {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_add(other.voluntary),
            involuntary: self.involuntary.saturating_add(other.involuntary),
        }
    }
}

/// The line of `/proc/PID/stat`, as far as it is used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatLine {
    /// Number of the parent.
    pub parent: u32,
    /// Whether it is a thread of the kernel itself.
    pub is_kernel: bool,
    /// CPU time as a program, with that of ended children, in clock ticks.
    pub user_ticks: u64,
    /// CPU time in the kernel, with that of ended children.
    pub system_ticks: u64,
    /// Threads now.
    pub threads: u64,
    /// When it was started.
    pub start_ticks: u64,
    /// Pages that are mapped now.
    pub resident_pages: u64,
}

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`; programs get that bit to see since 2.6.27.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Reads the text of `/proc/PID/stat`.
pub fn parse_stat(text: &str) -> Option<StatLine> {
    // The second field is the command in parentheses and may hold blanks and parentheses: count from behind the last one.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |position: usize| fields.get(position)?.parse::<u64>().ok();
    // Times of children are signed in the kernel.
    let with_children = |own: usize, children: usize| number(own)?.checked_add(number(children)?);
    Some(StatLine {
        parent: fields.get(1)?.parse().ok()?,
        is_kernel: number(6)? & KERNEL_THREAD != 0,
        user_ticks: with_children(11, 13)?,
        system_ticks: with_children(12, 14)?,
        threads: number(17)?,
        start_ticks: number(19)?,
        // 0 for what has no memory of its own any more; negative by a race in the kernel.
        resident_pages: number(21).unwrap_or(0),
    })
}

/// Reads the text of `/proc/PID/io`.
pub fn parse_io(text: &str) -> Option<ProcessIo> {
    Some(ProcessIo { read_bytes: named(text, "read_bytes:")?, write_bytes: named(text, "write_bytes:")? })
}

/// Reads the text of `/proc/PID/status` or that of a thread; since 2.6.23.
pub fn parse_switches(text: &str) -> Option<Switches> {
    // They are the last two lines of sixty.
    let count = |name: &str| text.lines().rev().find_map(|line| Fields::of(line).after(name))?.number();
    Some(Switches { voluntary: count("voluntary_ctxt_switches:")?, involuntary: count("nonvoluntary_ctxt_switches:")? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "4711 (post) gres: (x) S 4700 4711 4711 0 -1 4194560 5120 90 3 1 1200 340 50 10 20 0 12 0 987654 230000000 4096 \
        18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const IO: &str =
        "rchar: 999\nwchar: 888\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n";
    const STATUS: &str = "Name:\tpostgres\nState:\tS (sleeping)\nThreads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";

    #[test]
    fn a_command_may_hold_anything() {
        let line = parse_stat(STAT).unwrap();
        assert_eq!((line.parent, line.user_ticks, line.system_ticks), (4700, 1250, 350));
        assert_eq!((line.threads, line.start_ticks, line.resident_pages), (12, 987_654, 4096));
        assert!(!line.is_kernel && parse_stat(&STAT.replace("4194560", "69238880")).unwrap().is_kernel);
        for text in ["", "1 (a", "1 (a) S 2 3", ")", &STAT[..60], &STAT.replace(" 1200 ", " -5 ")] {
            assert_eq!(parse_stat(text), None, "{text}");
        }
        assert_eq!(parse_stat(&STAT.replace(" 1200 ", &format!(" {} ", u64::MAX))), None);
    }

    #[test]
    fn device_bytes_and_switches_are_read() {
        assert_eq!(parse_io(IO), Some(ProcessIo { read_bytes: 4096, write_bytes: 8192 }));
        assert_eq!(parse_io("rchar: 1\n"), None);
        assert_eq!(parse_switches(STATUS), Some(Switches { voluntary: 150, involuntary: 7 }));
        assert_eq!(parse_switches("voluntary_ctxt_switches: 1\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([()SR]|read_bytes:|write_bytes:| |\n|[0-9]{1,22}|-){0,60}") {
            let _ = (parse_stat(&text), parse_io(&text), parse_switches(&text));
        }
    }
}
