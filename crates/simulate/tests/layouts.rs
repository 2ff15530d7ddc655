//! The published layouts of Managed Instance (`examples/mi-layout.toml`) against what is simulated of them.

#![expect(clippy::print_stdout, reason = "the table of all layouts, for the documents")]

use plimsoll_simulate::grid::{Replicated, rate_by_law};
use plimsoll_simulate::scenario::{Case, Document, Scenario};
use plimsoll_simulate::server::{Replication, simulate};

fn document() -> Document {
    Document::parse("mi-layout.toml", include_str!("../../../examples/mi-layout.toml")).expect("the example is right")
}

fn replicated(scenario: &Scenario) -> Replicated {
    Replicated::new(scenario.run.seeds.iter().map(|seed| simulate(scenario, *seed)).collect())
}

fn write_ms(replication: &Replication, group: &str) -> Option<f64> {
    replication.files.iter().find(|file| file.name == group)?.write_ms
}

struct Row {
    case: Case,
    figures: [(&'static str, f64); 6],
}

fn rows() -> Vec<Row> {
    let scenarios = document().scenarios().expect("five scenarios");
    scenarios
        .into_iter()
        .map(|(case, scenario)| {
            let replicated = replicated(&scenario);
            assert_eq!(replicated.unsteady(), None, "{}", case.name);
            for replication in &replicated.replications {
                assert_operational_laws(&scenario, replication);
            }
            let mean = |of: &dyn Fn(&Replication) -> Option<f64>| replicated.figure(of).expect("a figure").value;
            let figures = [
                ("requests_per_s", mean(&|one| Some(one.requests_per_s))),
                ("cpu_percent", replicated.used_percent("CPU").expect("a CPU").value),
                ("log_wait_percent", mean(&|one| Some(one.wait_percent?.log))),
                ("page_wait_percent", mean(&|one| Some(one.wait_percent?.page))),
                ("data_write_ms", mean(&|one| write_ms(one, "data"))),
                ("log_write_ms", mean(&|one| write_ms(one, "log"))),
            ];
            Row { case, figures }
        })
        .collect()
}

/// U = X S / c, L = X W and X = N / (R + Z), within 0.3 %.
fn assert_operational_laws(scenario: &Scenario, replication: &Replication) {
    let near = |value: f64, law: f64, most: f64, what: &str| {
        assert!((value / law - 1.0).abs() < most, "{what}: {value} against {law}");
    };
    near(replication.present, replication.requests_per_s * replication.response_ms / 1e3, 0.003, "Little's law");
    // The CPU time of requests is drawn, so it has a spread of its own: five standard errors.
    let cpu = replication.resources.iter().find(|resource| resource.name == "CPU").expect("a CPU");
    let spread = 5.0 / (replication.requests_per_s * replication.seconds).sqrt();
    near(cpu.used, replication.requests_per_s * scenario.request.cpu_ns / 1e9, 0.003 + spread, "utilisation law");
    let law = rate_by_law(scenario, replication).expect("a closed loop");
    near(replication.requests_per_s, law, 0.003 + spread, "interactive response time law");
}

#[test]
fn the_published_layouts() {
    let rows = rows();
    for Row { case, figures } in &rows {
        let text = figures.map(|(name, value)| format!("{name} {value:.1} for {}", case.published[name]));
        println!("{}: {}", case.name, text.join(", "));
    }
    for Row { case, figures } in &rows {
        let off = |name: &str| {
            let (_, value) = figures.iter().find(|(known, _)| *known == name).expect("a figure");
            100.0 * (value / case.published[name] - 1.0)
        };
        assert!(off("requests_per_s").abs() <= 10.0, "{}: requests/s {:+.1} %", case.name, off("requests_per_s"));
        assert!(off("log_write_ms").abs() <= 6.0, "{}: log write {:+.1} %", case.name, off("log_write_ms"));
        let [_, _, (_, log), (_, page), ..] = figures;
        let published = case.published["log_wait_percent"] > case.published["page_wait_percent"];
        assert_eq!(log > page, published, "{}: the dominant wait", case.name);
    }
}
