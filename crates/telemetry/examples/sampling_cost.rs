//! Reads this machine, ourselves and other processes 1,000 times and prints what a reading cost, by getrusage: microseconds of CPU,
//! and percent of a core at a reading a second. Numbers of processes to watch may be given.

#![expect(clippy::print_stdout, reason = "an example for a terminal")]

use std::sync::Arc;

use nix::sys::resource::{UsageWho, getrusage};
use plimsoll_clock::RealClock;
use plimsoll_telemetry::host::Sampler;

const READINGS: u32 = 1000;

fn cpu_micros() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("our own usage");
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    micros(usage.user_time()) + micros(usage.system_time())
}

fn main() {
    let mut sampler = Sampler::new(Arc::new(RealClock::new()));
    let pids: Vec<u32> = std::env::args().skip(1).filter_map(|pid| pid.parse().ok()).collect();
    let cost = |what: &str, sampler: &mut Sampler| {
        let first = cpu_micros();
        let mut snapshot = sampler.read();
        let start = cpu_micros();
        for _ in 0..READINGS {
            snapshot = sampler.read();
        }
        let each = (cpu_micros() - start) / f64::from(READINGS);
        println!(
            "{what}: {each:.0} us a reading, {:.3} % of a core at 1 s; the first {:.0} us",
            each / 1e4,
            start - first
        );
        snapshot
    };
    cost("the machine", &mut sampler);
    sampler.watch("client", &[std::process::id()]);
    cost("and ourselves", &mut sampler);
    sampler.watch("server", &pids);
    let snapshot = cost("and the processes given", &mut sampler);
    for group in &snapshot.groups {
        println!("{}: {:?}", group.name, group.processes.as_ref().map(|sampled| sampled.value.processes));
    }
    for missing in snapshot.missing() {
        println!("{}", missing.warning().unwrap_or_default());
    }
}
