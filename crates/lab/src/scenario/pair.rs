//! Pairs of hardware for one workload, drawn from a seed: what a run on the first says is held against a run on the second. In every other
//! pair another limit is aimed at on the second.
//!
//! Workloads are those of the scenarios that wait for no locks: a lock is no hardware. Prices, latencies, limits and their headrooms are
//! drawn anew for each of the two, and in some pairs the second has other memory.

use plimsoll_hardware::Spec;

use super::class::{Class, Half};
use super::demand::{Demand, Hardware, Headroom, Prices};
use super::draw::Draw;
use super::family::Family;
use super::workload::Workload;
use super::{SECONDS, Scenario};

/// What draws of a pair begin at, so that no scenario has its numbers.
const BASE: u64 = 311_000_000;

/// Kinds of workloads that wait for no locks.
const FAMILIES: [Family; 11] = [
    Family::PointReads,
    Family::Updates,
    Family::Mixed,
    Family::Lookups,
    Family::Inserts,
    Family::LargePages,
    Family::IndexReads,
    Family::IndexedUpdates,
    Family::Documents,
    Family::Feed,
    Family::RangeScans,
];

/// The same workload on two kinds of hardware.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What is measured.
    pub a: Scenario,
    /// What is predicted.
    pub b: Scenario,
    /// Whether another limit is aimed at on the second.
    pub changes: bool,
}

/// How a workload is run, whatever the hardware.
struct Load {
    sessions: f64,
    think_s: f64,
    most_per_s: f64,
}

/// The pair of a number, at its n-th seed.
pub fn pair(number: u64, nth: u64) -> Pair {
    let seed = BASE + 1000 * number + nth;
    let mut draw = Draw::new(seed);
    let family = FAMILIES[(number % FAMILIES.len() as u64) as usize];
    let changes = number.is_multiple_of(2);
    let workload = Workload::of(family, &mut draw, Class::DataIops);
    let used = used(&workload.demand);
    let aims: Vec<Class> = used.iter().copied().chain([Class::Nothing]).collect();
    let first = draw.one(&aims);
    let others: Vec<Class> = aims.iter().copied().filter(|aim| *aim != first).collect();
    let second = if changes { draw.one(&others) } else { first };
    let is_scan = family == Family::RangeScans;
    let thinks = [first, second].contains(&Class::Nothing) || draw.chance(0.3);
    let load = Load {
        sessions: if is_scan { 8.0 } else { draw.between(12.0, 32.0).round() },
        think_s: if thinks { draw.scale(0.012, 0.06) * if is_scan { 8.0 } else { 1.0 } } else { 0.0 },
        most_per_s: if is_scan { draw.scale(25.0, 60.0) } else { draw.scale(300.0, 1200.0) },
    };
    let memory = if draw.chance(0.3) { draw.scale(0.7, 1.5) } else { 1.0 };
    let test = test(&workload, &load, family, seed);
    let scenario = |aims_at, which: &str, beside: u64, memory: f64| {
        let text = hardware(&mut draw.beside(beside), &workload, &load, aims_at, memory).text(&format!("pair-{which}"));
        Scenario {
            half: Half::Developing,
            family,
            aims_at,
            seed,
            luck: seed + beside,
            // A text that could not be read would be a mistake above, which the tests of this module would show.
            spec: Spec::parse("pair.toml", &text).unwrap_or_else(|_| Spec::unlimited("pair")),
            hardware: text,
            faults: Vec::new(),
            locked_keys: 0,
            test: test.clone(),
        }
    };
    Pair { a: scenario(first, "a", 1, 1.0), b: scenario(second, "b", 2, memory), changes }
}

/// Limits that a workload can meet.
fn used(demand: &Demand) -> Vec<Class> {
    let mut used = vec![Class::Cpu, Class::Client];
    if demand.reads > 0.0 {
        used.extend([Class::DataIops, Class::DataBandwidth]);
    }
    if demand.log_bytes > 0.0 {
        used.push(Class::LogWrite);
    }
    used
}

fn hardware(draw: &mut Draw, workload: &Workload, load: &Load, aims_at: Class, memory: f64) -> Hardware {
    let demand = workload.demand;
    let prices = Prices::draw(draw);
    let free_per_s = load.sessions / (load.think_s + prices.seconds(&demand));
    let mut room = Headroom::draw(draw, aims_at, &used(&demand));
    let rate = if aims_at == Class::Nothing {
        // A limit takes part in the time of every request: it has to be far away.
        room.times(8.0);
        free_per_s
    } else {
        load.most_per_s.min(free_per_s / draw.between(2.2, 4.0))
    };
    Hardware {
        page_bytes: workload.page_bytes,
        memory_bytes: ((workload.memory_pages * memory).round() as u64).max(64) * workload.page_bytes,
        rate,
        demand,
        prices,
        room,
        neighbour: None,
        log_by_number: draw.chance(0.4),
    }
}

fn test(workload: &Workload, load: &Load, family: Family, seed: u64) -> String {
    let think = if load.think_s > 0.0 {
        format!("think = \"{:.3}ms\"\narrivals = \"poisson\"\n", load.think_s * 1e3)
    } else {
        String::new()
    };
    let seconds = if family == Family::RangeScans { 5 * SECONDS } else { 2 * SECONDS };
    format!(
        "name = \"pair-{seed}\"\ntitle = \"{} from {} sessions\"\nsteps = [\"requests\"]\ncopies = {}\n\n{}\n[parameters]\nsessions = {}\nduration = \"{seconds}s\"\nseed = {{luck}}\n{think}",
        family.name(),
        load.sessions,
        workload.copies,
        workload.text,
        load.sessions,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_a_function_of_their_number_and_half_of_them_change_the_limit() {
        let pairs: Vec<Pair> = (0..40).map(|number| pair(number, 0)).collect();
        assert_eq!(pairs.iter().filter(|pair| pair.changes).count(), 20);
        for (number, pair) in (0..).zip(&pairs) {
            assert_eq!(super::pair(number, 0), *pair);
            assert_eq!(pair.a.aims_at != pair.b.aims_at, pair.changes);
            for scenario in [&pair.a, &pair.b] {
                assert_eq!(Spec::parse("again.toml", &scenario.hardware).unwrap(), scenario.spec);
            }
        }
    }
}
