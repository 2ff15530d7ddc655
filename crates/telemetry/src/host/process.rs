//! What the kernel counts for a process: proc(5), `/proc/PID/stat`.
//!
//! CPU time of a child is added to its parent's when the parent has waited for it, so the sum over a process and
//! those below it goes on when one of them ends.

/// A process, by its number and the time of its start: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since the machine was.
    pub start_ticks: u64,
}

/// What processes used: cumulative CPU time, and how many there are now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProcessUse {
    /// Processes now.
    pub processes: u32,
    /// CPU time.
    pub cpu_seconds: f64,
    /// Time that their threads waited for a CPU since they are watched; `None` where the kernel doesn't count it.
    pub waited_seconds: Option<f64>,
}

/// The line of `/proc/PID/stat`, as far as it is used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatLine {
    pub parent: u32,
    /// Whether it is stopped: states T and t.
    pub is_stopped: bool,
    /// Whether that is by a debugger or a tracer: state t.
    pub is_traced: bool,
    /// Whether it is a thread of the kernel itself.
    pub is_kernel: bool,
    /// CPU time as a program and in the kernel, with that of ended children, in clock ticks.
    pub cpu_ticks: u64,
    pub start_ticks: u64,
}

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`; programs get that bit to see since 2.6.27.
const KERNEL_THREAD: u64 = 0x0020_0000;

pub fn parse_stat(text: &str) -> Option<StatLine> {
    // The second field is the command in parentheses and may hold blanks and parentheses: count from behind the last one.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |position: usize| fields.get(position)?.parse::<u64>().ok();
    // Times of children are signed in the kernel.
    let cpu_ticks = (11..=14).try_fold(0_u64, |sum, position| sum.checked_add(number(position)?))?;
    Some(StatLine {
        parent: fields.get(1)?.parse().ok()?,
        is_stopped: fields.first()?.eq_ignore_ascii_case("T"),
        is_traced: *fields.first()? == "t",
        is_kernel: number(6)? & KERNEL_THREAD != 0,
        cpu_ticks,
        start_ticks: number(19)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "4711 (post) gres: (x) S 4700 4711 4711 0 -1 4194560 5120 90 3 1 1200 340 50 10 20 0 12 0 987654 230000000 4096 \
        18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    #[test]
    fn a_command_may_hold_anything() {
        let line = parse_stat(STAT).unwrap();
        assert_eq!((line.parent, line.cpu_ticks), (4700, 1600));
        assert_eq!(line.start_ticks, 987_654);
        assert!(!line.is_stopped && parse_stat(&STAT.replace(") S ", ") T ")).unwrap().is_stopped);
        assert!(!line.is_kernel && parse_stat(&STAT.replace("4194560", "69238880")).unwrap().is_kernel);
        for text in ["", "1 (a", "1 (a) S 2 3", ")", &STAT[..60], &STAT.replace(" 1200 ", " -5 ")] {
            assert_eq!(parse_stat(text), None, "{text}");
        }
        assert_eq!(parse_stat(&STAT.replace(" 1200 ", &format!(" {} ", u64::MAX))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([()SR]| |\n|[0-9]{1,22}|-){0,60}") {
            let _ = parse_stat(&text);
        }
    }
}
