//! How fast the server model runs: events a second of CPU time on one core, and simulated time against CPU time. The bars are 5 million
//! events a second, and 300 times real time for the fastest layout of `examples/mi-layout.toml`.
//!
//! `cargo bench -p plimsoll-simulate --bench speed`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use plimsoll_clock::cpu::thread_cpu_seconds;
use plimsoll_simulate::events::SECOND;
use plimsoll_simulate::scenario::Document;
use plimsoll_simulate::server::simulate;

const ROUNDS: u64 = 5;

fn main() {
    let document = Document::parse("mi-layout.toml", include_str!("../../../examples/mi-layout.toml"));
    let scenarios = document.and_then(|document| document.scenarios()).expect("the example is right");
    for (case, scenario) in scenarios {
        let simulated = (scenario.run.warm_up_ns + scenario.run.duration_ns) as f64 / SECOND as f64;
        let mut rounds: Vec<(f64, u64)> = (1..=ROUNDS)
            .map(|seed| {
                let before = thread_cpu_seconds();
                let replication = simulate(&scenario, seed);
                (thread_cpu_seconds() - before, replication.events)
            })
            .collect();
        rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (seconds, events) = rounds[rounds.len() / 2];
        println!(
            "{}: {:.2} million events/s of CPU time, {:.0} x real time (median of {ROUNDS}; {:.2} to {:.2} s of CPU)",
            case.name,
            events as f64 / seconds / 1e6,
            simulated / seconds,
            rounds[0].0,
            rounds[rounds.len() - 1].0
        );
    }
}
