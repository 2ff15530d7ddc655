//! The event loop and its stations against theory: 240 seeded runs, of which at least 90 % must have an interval of 95 % that covers the
//! exact value, without bias; and the operational laws as assertions in every run.

#![expect(clippy::print_stdout, reason = "the figures of all models, for the documents")]

use plimsoll_simulate::analytic::{
    Centre, customers, deterministic_wait, exponential_wait, mean_value_analysis, utilisation,
};
use plimsoll_simulate::network::{Network, Observed, Servers, Service, Source, simulate};

const SEEDS: u64 = 20;

/// What 20 runs of a model came to: how many intervals covered the exact value, and the bias of their mean.
struct Checked {
    covered: usize,
    bias: f64,
}

fn check(network: &Network, length: u64, exact: f64, of: impl Fn(&Observed) -> (f64, bool)) -> Checked {
    let (mut covered, mut sum) = (0, 0.0);
    for seed in 1..=SEEDS {
        let observed = simulate(network, length, seed).expect("a network with customers");
        assert_laws(network, &observed);
        let (value, covers) = of(&observed);
        covered += usize::from(covers);
        sum += value;
    }
    Checked { covered, bias: sum / SEEDS as f64 / exact - 1.0 }
}

/// U = X S / c and L = X W, within 0.3 %: what differs are the customers that are in a station at both ends.
fn assert_laws(network: &Network, observed: &Observed) {
    let rate = observed.throughput.value;
    for ((servers, used), service_s) in network.stations.iter().zip(&observed.utilisation).zip(&observed.service_s) {
        let law = utilisation(rate, *service_s, servers.count);
        assert!((used / law - 1.0).abs() < 0.003, "U = {used}, X S / c = {law}");
    }
    let law = customers(rate, observed.response_s);
    assert!((observed.customers / law - 1.0).abs() < 0.003, "L = {}, X W = {law}", observed.customers);
}

fn open(servers: u32, rho: f64, service: Service, length: u64) -> Checked {
    let rate = rho * f64::from(servers);
    let network = Network { source: Source::Open { rate }, stations: vec![Servers { count: servers, service }] };
    let exact = match service {
        Service::Exponential(mean) => exponential_wait(servers, rate, mean),
        Service::Constant(time) => deterministic_wait(servers, rate, time),
    };
    let exact = exact.expect("not saturated");
    check(&network, length, exact, |observed| (observed.wait_s.value, observed.wait_s.covers(exact)))
}

#[test]
fn intervals_cover_the_exact_value_and_there_is_no_bias() {
    let (exponential, constant) = (Service::Exponential(1.0), Service::Constant(1.0));
    let models = [
        (1, 0.5, exponential, 200_000, 0.01),
        (1, 0.8, exponential, 600_000, 0.01),
        (1, 0.9, exponential, 1_000_000, 0.02),
        (8, 0.8, exponential, 600_000, 0.01),
        (1, 0.5, constant, 200_000, 0.01),
        (1, 0.8, constant, 600_000, 0.01),
        (1, 0.9, constant, 1_000_000, 0.02),
        (4, 0.8, constant, 600_000, 0.01),
        (8, 0.9, constant, 1_000_000, 0.02),
    ];
    let (mut covered, mut runs) = (0, 0);
    let mut figures = Vec::new();
    for (servers, rho, service, length, most_bias) in models {
        let checked = open(servers, rho, service, length);
        covered += checked.covered;
        runs += SEEDS as usize;
        figures.push(format!(
            "{service:?} c {servers} rho {rho}: {} of 20, bias {:+.2} %",
            checked.covered,
            checked.bias * 100.0
        ));
        assert!(checked.bias.abs() <= most_bias, "{figures:#?}");
    }
    for (sessions, bias) in [10, 100, 118].map(|sessions| (sessions, closed(sessions))) {
        covered += bias.covered;
        runs += SEEDS as usize;
        figures.push(format!("closed N {sessions}: {} of 20, bias {:+.3} %", bias.covered, bias.bias * 100.0));
        assert!(bias.bias.abs() <= 0.001, "the rate must agree with mean value analysis within 0.1 %: {figures:#?}");
    }
    figures.push(format!("{covered} of {runs} intervals cover"));
    assert_eq!(runs, 240);
    assert!(covered * 10 >= runs * 9, "{figures:#?}");
    println!("{}", figures.join("\n"));
}

/// Three stations, one of them with eight servers, and think time.
fn closed(sessions: u32) -> Checked {
    let think_s = 8.0;
    let centres = [(0.5, 8), (0.04, 1), (0.06, 1)].map(|(demand_s, servers)| Centre { demand_s, servers });
    let exact = mean_value_analysis(sessions, think_s, &centres).rate;
    let stations =
        centres.map(|centre| Servers { count: centre.servers, service: Service::Exponential(centre.demand_s) });
    let network = Network { source: Source::Closed { customers: sessions, think_s }, stations: stations.to_vec() };
    check(&network, 300_000, exact, |observed| (observed.throughput.value, observed.throughput.covers(exact)))
}

#[test]
fn a_seed_decides_every_bit_and_another_seed_another_run() {
    let network = Network {
        source: Source::Open { rate: 0.8 },
        stations: vec![Servers { count: 1, service: Service::Exponential(1.0) }],
    };
    let run = |seed| simulate(&network, 10_000, seed);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(simulate(&network, 100, 1), None);
}
