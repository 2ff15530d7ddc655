//! What is said of requests that come at a rate, below, at and beyond what the server can do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_measurement::RunRecord;
use plimsoll_simulate::grid::Replicated;
use plimsoll_simulate::record::{About, run};
use plimsoll_simulate::scenario::Document;
use plimsoll_simulate::server::simulate;

/// One core, and requests of 1 ms: 1,000 a second at most.
const ONE_CORE: &str = r#"
[workload]
sessions = 500
rate = 500
cpu_time = "1ms"
log_size = "1KiB"

[cpu]
cores = 1

[disks.log]
iops = 1_000_000
bandwidth = "10GB/s"
latency = "1us"

[files.data]
disk = "log"
size = "10GB"

[files.log]
disk = "log"
size = "10GB"

[run]
warm_up = "1s"
duration = "5s"
replications = 5
seed = 1
"#;

fn simulated(rate: &str, duration: &str) -> RunRecord {
    let mut document = Document::parse("one.toml", ONE_CORE).unwrap();
    document.set("rate", rate).unwrap();
    document.set("run.duration", duration).unwrap();
    of(&document)
}

fn of(document: &Document) -> RunRecord {
    let (case, scenario) = document.scenarios().unwrap().remove(0);
    let replications = scenario.run.seeds.iter().map(|seed| simulate(&scenario, *seed)).collect();
    let about = About { run_id: "1".to_owned(), ..About::default() };
    run(&about, &case, &scenario, &Replicated::new(replications)).unwrap().1
}

#[test]
fn a_rate_beyond_what_the_server_can_do_is_never_said_to_be_answered() {
    for (rate, duration) in [("1000", "20s"), ("1005", "200s"), ("1020", "20s"), ("1050", "5s")] {
        let record = simulated(rate, duration);
        let said = record.verdict.evidence.join(" ");
        assert!(!said.contains("at the rate at which they come"), "{rate}: {said}");
        match record.verdict.limit.as_deref() {
            None => assert_eq!(record.result, None, "{rate}: {said}"),
            limit => {
                assert_eq!(limit, Some("cpu"), "{rate}: {said}");
                let is_told = ["the queue grows without end", "next to all that the server can do"];
                assert!(is_told.iter().any(|words| said.contains(words)), "{rate}: {said}");
                // At 99.5 % of its capacity nobody has seen a queue grow.
                assert!(rate != "1050" || said.contains(is_told[0]), "{said}");
            }
        }
    }
}

#[test]
fn a_rate_that_leaves_room_is_answered() {
    let record = simulated("500", "20s");
    assert_eq!(record.verdict.limit.as_deref(), Some("none"));
    assert!(record.verdict.evidence[0].starts_with("Requests are answered at the rate at which they come"));
}

#[test]
fn a_rate_far_beyond_what_the_server_can_do_has_a_reason_and_no_figures() {
    let record = simulated("2000", "20s");
    let said = &record.verdict.evidence[0];
    assert!(said.contains("Requests come at 2,000 a second") && said.contains("the queue grows without end"), "{said}");
    assert!(said.ends_with("there is no steady state to have figures of."), "{said}");
    assert_eq!((record.result, record.verdict.limit), (None, None));
    assert!(!record.warnings.iter().any(|warning| warning.contains("raise run.")), "{:?}", record.warnings);
}

/// A log that gathers commits takes all that reads leave of the disk that both share, and nobody waits long.
#[test]
fn a_full_disk_whose_queue_stays_short_is_not_said_to_fall_behind() {
    let mut document = Document::parse("one.toml", ONE_CORE).unwrap();
    for (key, value) in [
        ("rate", "80"),
        ("cpu_time", "1us"),
        ("reads", "1"),
        ("log.writes_in_flight", "1"),
        ("disks.log.iops", "100"),
        ("run.warm_up", "50s"),
        ("run.duration", "500s"),
    ] {
        document.set(key, value).unwrap();
    }
    let record = of(&document);
    let said = record.verdict.evidence.join(" ");
    assert!(record.result.is_some() && !said.contains("without end"), "{said}");
}
