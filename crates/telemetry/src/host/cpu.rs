//! CPU time of the machine, from `/proc/stat`: proc(5).

use super::fields::Fields;

/// Time that all CPUs together spent, since the machine was started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTimes {
    /// Programs, also with low priority and as guests of virtual machines.
    pub user_seconds: f64,
    /// The kernel, with its interrupts.
    pub system_seconds: f64,
    /// Interrupts, of what the kernel used, as far as that is not within the time of processes too.
    pub interrupt_seconds: f64,
    /// Ready to run while the hypervisor ran others.
    pub steal_seconds: Option<f64>,
    /// CPUs that are online; `None` where the kernel doesn't list them.
    pub cpus: Option<u32>,
    /// Processes and threads that were started.
    pub started: Option<u64>,
}

/// Reads the text of `/proc/stat`. `None` without a usable line of all CPUs.
pub fn parse(text: &str, ticks_per_second: u64) -> Option<CpuTimes> {
    let line = |name: &str| text.lines().find_map(|line| Fields::of(line).after(name));
    let times: Vec<u64> = line("cpu")?.numbers().collect::<Option<_>>()?;
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second.max(1) as f64;
    let sum = |positions: &[usize]| {
        // Kernels before 2.6 lack the interrupts' fields; their time is in the system's there.
        let mut known = positions.iter().filter_map(|position| times.get(*position));
        known.try_fold(0_u64, |sum, ticks| sum.checked_add(*ticks)).map(seconds)
    };
    // A kernel that measures interrupts (IRQ_TIME_ACCOUNTING) takes them out of the time of the processes that they interrupted. One that
    // looks at each tick what is going on never sees an interrupt, as the tick is one itself, and leaves the rest of their work in there.
    let measures_interrupts = times.get(5).is_some_and(|hard| *hard > 0);
    // Idle, which every kernel has.
    times.get(3)?;
    let is_cpu =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let cpus = text.lines().filter(is_cpu).count() as u32;
    let count = |name: &str| line(name)?.numbers().next()?;
    Some(CpuTimes {
        user_seconds: sum(&[0, 1])?,
        system_seconds: sum(&[2, 5, 6])?,
        interrupt_seconds: if measures_interrupts { sum(&[5, 6])? } else { 0.0 },
        steal_seconds: times.get(7).copied().map(seconds),
        cpus: (cpus > 0).then_some(cpus),
        started: count("processes"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KERNEL_6: &str = "\
cpu  194000 6000 35000 98000 2300 100 900 4700 50 0
cpu0 97000 3000 17500 49000 1100 50 450 2300 25 0
cpu1 97000 3000 17500 49000 1200 50 450 2400 25 0
intr 15493677 0 9 0 0
ctxt 92786868
btime 1763798700
processes 20911
procs_running 3
procs_blocked 1
softirq 2719231 0 1 2
";
    /// 2.6.9: neither steal nor guests.
    const KERNEL_2_6: &str = "cpu  4705 150 1120 16250 520 30 45\ncpu0 4705 150 1120 16250 520 30 45\nctxt 1990473\n";
    /// 2.4: nothing but the first four.
    const KERNEL_2_4: &str = "cpu  4705 150 1120 16250\n";

    #[test]
    fn times_are_seconds_of_all_cpus() {
        let times = parse(KERNEL_6, 100).unwrap();
        assert_eq!((times.user_seconds, times.system_seconds, times.interrupt_seconds), (2000.0, 360.0, 10.0));
        let by_ticks = parse("cpu  194000 6000 35000 98000 2300 0 900\n", 100).unwrap();
        assert_eq!((by_ticks.system_seconds, by_ticks.interrupt_seconds), (359.0, 0.0));
        assert_eq!(times.steal_seconds, Some(47.0));
        assert_eq!((times.cpus, times.started), (Some(2), Some(20_911)));
    }

    #[test]
    fn what_old_kernels_do_not_count_is_absent() {
        let times = parse(KERNEL_2_6, 100).unwrap();
        assert_eq!((times.system_seconds, times.steal_seconds), (11.95, None));
        assert_eq!((times.cpus, times.started), (Some(1), None));
        let times = parse(KERNEL_2_4, 100).unwrap();
        assert_eq!((times.system_seconds, times.cpus), (11.2, None));
    }

    #[test]
    fn what_can_not_be_read_is_nothing() {
        for text in ["", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4", "cpu 1 2 3 x", "cpu 99999999999999999999 1 2 3"] {
            assert_eq!(parse(text, 100), None, "{text}");
        }
        assert_eq!(parse(&format!("cpu {} 1 2 3", u64::MAX), 100), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(cpu[0-9]?|ctxt| |\n|[0-9]{1,22}|x){0,40}", ticks in 0_u64..200) {
            let _ = parse(&text, ticks);
        }
    }
}
