//! Scenarios with a limit that is known: hardware, faults and a workload, drawn from a seed, and the same with one thing changed
//! that a limit could be. What binds is not what a scenario aims at but what reruns show (*counterfactual*: a limit binds if
//! more of it gives a higher rate), so a scenario need not hit. They are what the tool's verdicts are held against.
//!
//! How one is drawn: a rate, a workload with what a request of it demands of each resource ([`demand`]), and for each
//! resource a headroom over rate x demand. The resource that is aimed at has none. In a part of the cases one other has
//! 6 to 10 %, others are in use by 60 to 90 %, and the rest is ample. Sessions are enough to reach the rate. Latencies,
//! prices and sizes are drawn from what levels and disks of clouds have.
//!
//! Pure: a function of half, family, class and seed.

mod class;
mod demand;
mod draw;
mod drawn;
mod family;
mod pair;
mod workload;

use plimsoll_hardware::{Raise, Spec};

pub use class::{Class, Half};
pub use family::Family;
pub use pair::{Pair, pair};

use crate::fault::Fault;

/// Virtual seconds for which requests are made.
pub const SECONDS: u32 = 12;

/// How much a limit is raised: by 20 %. The client's cost is cut by 20 % instead, which is a quarter more of it.
const RAISED: f64 = 1.2;
const CLIENT_RAISED: f64 = 1.25;

/// How far seeds are apart that make for another luck.
const OTHER_LUCK: u64 = 500_000_000;

/// Rows over which a hot one is spread.
const SPREAD: u64 = 100;

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its half.
    pub half: Half,
    /// Its workload.
    pub family: Family,
    /// What it aims at.
    pub aims_at: Class,
    /// Seed by which it was drawn.
    pub seed: u64,
    /// Seed of everything that is random when it runs.
    pub luck: u64,
    /// The hardware, as a file of one's own would say it.
    pub hardware: String,
    /// The same, read, and with what was changed.
    pub spec: Spec,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Keys that transactions lock; 0 if they lock none.
    pub locked_keys: u64,
    /// The definition of the test, with `{keys}` for the locked keys and `{luck}` for the seed.
    test: String,
}

impl Scenario {
    /// The definition of the test.
    pub fn test(&self) -> String {
        self.test.replace("{keys}", &self.locked_keys.to_string()).replace("{luck}", &self.luck.to_string())
    }

    /// The same with other luck: how far its rate is a matter of chance.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { luck: self.luck + OTHER_LUCK, ..self.clone() }
    }

    /// The same with what could bind raised or taken away; `None` if there is nothing of that kind to change.
    pub fn without(&self, class: Class) -> Option<Self> {
        let raise = |what, factor| {
            let spec = self.spec.raised(what, factor);
            (spec != self.spec).then(|| Self { spec, ..self.clone() })
        };
        match class {
            Class::LogWrite => raise(Raise::LogWrite, RAISED),
            Class::DataIops => raise(Raise::DataIops, RAISED),
            Class::DataBandwidth => raise(Raise::DataBandwidth, RAISED),
            Class::Cpu if self.spec.cpu.is_limited() => raise(Raise::Cpu, RAISED),
            Class::Memory => raise(Raise::Memory, RAISED),
            Class::Client => raise(Raise::Client, CLIENT_RAISED),
            Class::Device if self.faults.iter().any(|fault| matches!(fault, Fault::DeviceFreeze(..))) => {
                let mut faults = self.faults.clone();
                faults.retain(|fault| !matches!(fault, Fault::DeviceFreeze(..)));
                Some(Self { faults, ..self.clone() })
            }
            Class::Locks if (1..SPREAD).contains(&self.locked_keys) => {
                Some(Self { locked_keys: SPREAD, ..self.clone() })
            }
            Class::Cpu | Class::Device | Class::Locks | Class::Nothing => None,
        }
    }
}

/// Of the seeds of a case: the first, and those that stand in for one that is not clear.
pub const MOST_SEEDS: u64 = 12;

/// The case of a number (from 0 on) of a class in a half, at its n-th seed. Families that can aim at the class take turns.
pub fn case(half: Half, class: Class, number: u64, nth: u64) -> Scenario {
    let families: Vec<Family> = Family::of(half).filter(|family| family.aims_at(class)).collect();
    let family = families[(number % families.len() as u64) as usize];
    let base = match half {
        Half::Developing => 1_000_000,
        Half::HeldOut => 79_000_000,
    };
    let seed = base + 100_000 * class as u64 + 100 * number + nth;
    family.scenario(half, class, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Scenario> {
        Half::ALL.into_iter().flat_map(|half| {
            Class::ALL.iter().flat_map(move |class| (0..12).map(move |number| case(half, *class, number, 0)))
        })
    }

    #[test]
    fn scenarios_are_a_function_of_their_seed_and_differ_between_the_halves() {
        for scenario in all() {
            let again = scenario.family.scenario(scenario.half, scenario.aims_at, scenario.seed);
            assert_eq!(again, scenario);
            assert_eq!(Spec::parse("again.toml", &scenario.hardware).unwrap(), scenario.spec);
        }
        let of = |half| Family::of(half).map(Family::name).collect::<Vec<_>>();
        assert!(of(Half::Developing).iter().all(|name| !of(Half::HeldOut).contains(name)));
        let mut seeds: Vec<u64> = all().map(|scenario| scenario.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 216);
    }

    #[test]
    fn what_a_scenario_aims_at_can_be_changed_and_changes_nothing_else() {
        for scenario in all() {
            let aim = scenario.aims_at;
            assert_eq!(scenario.without(aim).is_some(), aim != Class::Nothing, "{scenario:?}");
            for class in Class::ALL.iter().copied() {
                let Some(changed) = scenario.without(class) else { continue };
                let differs = [
                    changed.spec != scenario.spec,
                    changed.faults != scenario.faults,
                    changed.test() != scenario.test(),
                ];
                assert_eq!(differs.iter().filter(|differs| **differs).count(), 1, "{class:?} of {scenario:?}");
            }
        }
    }

    #[test]
    fn scenarios_have_distractions() {
        let all: Vec<Scenario> = all().collect();
        let share =
            |has: fn(&Scenario) -> bool| all.iter().filter(|scenario| has(scenario)).count() as f64 / all.len() as f64;
        let neighbours = share(|scenario| scenario.hardware.contains("neighbour"));
        let clients = share(|scenario| scenario.spec.client.is_some() && scenario.aims_at != Class::Client);
        assert!((0.05..0.6).contains(&neighbours) && (0.2..0.8).contains(&clients), "{neighbours} {clients}");
    }
}
