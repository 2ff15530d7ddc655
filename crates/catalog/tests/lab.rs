//! Lab levels: that each is complete, and each rule of completion by hand.

use plimsoll_catalog::{Access, Basis, Catalog, CatalogError, Files, LabLevel, QuantilesMs, Sourced};

const SERVICE: &str = "azure-sql-db";

fn catalog() -> &'static Catalog {
    Catalog::builtin().expect("the built-in catalogue is valid")
}

fn level(name: &str, edition: &str) -> LabLevel {
    catalog().lab_level(SERVICE, name, Some(edition)).expect("the level is complete")
}

/// Value to one decimal, basis, and whether it was published here.
fn short(number: &Sourced) -> (f64, Basis, bool) {
    ((number.value * 10.0).round() / 10.0, number.basis, number.published_here)
}

#[test]
fn every_level_of_every_edition_is_complete() {
    let mut levels = 0;
    for at in catalog().levels() {
        levels += 1;
        let place = format!("{} {}", at.edition.name, at.level.name);
        let lab = catalog().lab_level(&at.edition.service, &at.level.name, Some(&at.edition.name)).unwrap();
        assert_eq!((lab.level.as_str(), lab.edition.as_str()), (at.level.name.as_str(), at.edition.name.as_str()));
        let iops = lab.iops.as_ref().expect("every tier has a rule for IOPS");
        for number in [&lab.read_rate, &lab.write_rate, &lab.memory_mb, &lab.dtu, iops] {
            assert!(number.value.is_finite() && number.value > 0.0, "{place}: {number:?}");
            assert!(!number.rule.is_empty() && !number.source.is_empty(), "{place}: {number:?}");
            assert!(!(number.published_here && number.rule.contains("carried over")), "{place}: {number:?}");
        }
        // In I/Os of 256 KB the data IO limit is never out of reach for want of operations.
        assert!(iops.value * 0.25 * 60.0 > lab.read_rate.value, "{place}");
    }
    // By edition: 6 + 7 + 7 + 1 + 7 + 4 + 3.
    assert_eq!(levels, 35);
}

/// Reference 3.3 and 3.5: rate over utilisation.
#[test]
fn printed_rates_are_limits_by_their_utilisation() {
    use Basis::{Assumed, Derived};
    let ga = "v12-ga-2015-01";
    let s0 = level("S0", ga);
    assert_eq!(short(&s0.read_rate), (324.4, Derived, true));
    assert_eq!(s0.read_rate.rule, "~292 MB/min at 90 % data IO");
    assert_eq!(short(&s0.write_rate), (45.9, Derived, true));
    let s2 = level("S2", ga);
    assert_eq!(short(&s2.read_rate), (627.8, Derived, true));
    assert_eq!(s2.read_rate.rule, "~550 to 580 MB/min at 90 % data IO, the middle of the range");
    assert_eq!(short(&level("P1", ga).read_rate), (14_750.0, Derived, true));
    assert_eq!(short(&level("P2", ga).read_rate), (27_857.1, Derived, true));
    let s3 = level("S3", ga);
    assert_eq!(short(&s3.read_rate), (900.0, Assumed, true));
    assert_eq!(s3.read_rate.rule, "~900 MB/min; data IO not stated, 100 % assumed");
    assert_eq!(short(&s3.write_rate), (51.0, Derived, false));
    assert_eq!(short(&level("S1", "v12-retest").write_rate), (36.0, Assumed, true));
    // Of two runs the first.
    assert_eq!(short(&level("P2", "v12-ga-2015-02").read_rate), (39_200.0, Assumed, true));
    let business = level("Business", "v11-2014-11");
    assert_eq!((business.level.as_str(), short(&business.memory_mb)), ("WB", (5_120.0, Assumed, false)));
    assert_eq!(business.memory_mb.rule, ">= 5120 MB, a lower bound taken as the value");
}

#[test]
fn statements_of_an_edition_become_numbers() {
    let p1 = level("P1", "v12-ga-2015-01").write_rate;
    assert_eq!(short(&p1), (141.0, Basis::Derived, false));
    assert_eq!(p1.rule, "writes nearly 3 x v11, taken as 3: 3 x 47 MB/min (P1 v11-2014-07)");
    // The source: above Web and Business, and above P2 on v11.
    assert!(p1.value > level("WB", "v11-2014-07").write_rate.value.max(level("P2", "v11-2014-07").write_rate.value));
    assert_eq!(short(&level("Basic", "v12-ga-2015-01").read_rate), (38.0, Basis::Assumed, false));
    for edition in ["v12-ga-2015-01", "v12-preview-2014-12"] {
        assert!(level("S2", edition).write_rate.value > level("S3", edition).write_rate.value, "{edition}");
    }
}

#[test]
fn the_same_level_is_carried_over_within_its_generation() {
    let retest = level("S0", "v12-retest").read_rate;
    assert_eq!(short(&retest), (292.0, Basis::Assumed, false));
    assert_eq!(retest.rule, "carried over from v12-ga-2015-02: 292 MB/min; data IO not stated, 100 % assumed");
    // The day of v12-retest isn't exact, so it is asked last: two days back, not one day on.
    assert_eq!(short(&level("S0", "v12-ga-2015-02").write_rate), (45.9, Basis::Assumed, false));
    assert_eq!(short(&level("S1", "v12-ga-2015-01").memory_mb), (1_024.0, Basis::Assumed, false));
    // v11 knows how fast S1 read, but not v12.
    assert!(level("S1", "v12-ga-2015-01").read_rate.rule.starts_with("scaled by DTU between S0 (324.4 MB/min at 10"));
}

#[test]
fn what_no_edition_of_the_generation_has_is_scaled_by_dtu() {
    // Between S0 and S2, a quarter of the way from 10 to 50 DTU.
    let s1 = level("S1", "v12-ga-2015-01").read_rate;
    assert_eq!(short(&s1), (400.3, Basis::Assumed, false));
    // On one side only: S3 from S2, twice the DTU. P1 is of another tier, with no level in it that has the number.
    for name in ["S3", "P1"] {
        let memory = level(name, "v12-ga-2015-01").memory_mb;
        assert_eq!(short(&memory), (5_120.0, Basis::Assumed, false));
        assert_eq!(memory.rule, "scaled by DTU from S2 (2560 MB at 50 DTU)");
    }
    assert_eq!(short(&level("S0", "v11-2014-11").read_rate), (20.0, Basis::Assumed, false));
}

#[test]
fn capacity_is_published_where_the_edition_prints_it_or_a_time() {
    use Basis::{Assumed, Derived, Printed};
    for (name, edition, expected) in [
        ("S2", "v12-ga-2015-01", (50.0, Printed, true)),
        ("S0", "v12-ga-2015-01", (10.0, Derived, true)),
        ("P2", "v12-ga-2015-01", (200.0, Derived, true)),
        ("S1", "v11-2014-07", (15.0, Printed, true)),
        ("S1", "v11-2014-11", (15.0, Assumed, false)),
        ("S1", "v12-retest", (20.0, Assumed, false)),
        ("Basic", "v12-ga-2015-01", (5.0, Assumed, false)),
        // Never stated for v11, so another generation's.
        ("P1", "v11-2014-07", (100.0, Assumed, false)),
    ] {
        assert_eq!(short(&level(name, edition).dtu), expected, "{name} {edition}");
    }
}

/// Means as the assumptions state them, and a long tail; no quantile of nothing.
#[test]
fn latencies_have_their_means_and_a_tail() {
    let near = |quantiles: &QuantilesMs, mean: f64| {
        assert!((quantiles.mean() / mean - 1.0).abs() < 0.02, "{quantiles:?}: {}", quantiles.mean());
        assert!(quantiles.p0 > 0.0);
        assert!((2.9..3.2).contains(&(quantiles.p99 / quantiles.p50)), "{quantiles:?}");
        assert!((7.5..8.5).contains(&(quantiles.p100 / quantiles.p50)), "{quantiles:?}");
    };
    for (name, means) in [("S2", [5.0, 10.0, 4.0]), ("P1", [1.0, 2.0, 1.5])] {
        let lab = level(name, "v12-ga-2015-01");
        for (latency, mean) in
            [&lab.data_read_latency, &lab.data_write_latency, &lab.log_write_latency].iter().zip(means)
        {
            near(&latency.ms, mean);
            assert_eq!(latency.basis, Basis::Assumed);
        }
    }
    // By hand: 0.5 x 1.5 + 0.4 x 2.5 + 0.09 x 3.5 + 0.01 x 6.
    let quantiles = QuantilesMs { p0: 1.0, p50: 2.0, p90: 3.0, p99: 4.0, p100: 8.0 };
    assert!((quantiles.mean() - 2.125).abs() < 1e-12);
}

/// Reference 3.4: in the engine Business flips between 200 and 800.
#[test]
fn business_has_a_neighbour_whose_mean_is_the_limit() {
    let lab = level("WB", "v11-2015-01");
    let neighbour = lab.neighbour.expect("Business flips");
    assert!((neighbour.low_factor * lab.read_rate.value - 200.0).abs() < 1e-9);
    assert!((neighbour.high_factor * lab.read_rate.value - 800.0).abs() < 1e-9);
    let (low, high) = (neighbour.low_dwell_seconds, neighbour.high_dwell_seconds);
    assert!(((low * 200.0 + high * 800.0) / (low + high) - lab.read_rate.value).abs() < 1e-9);
    assert_eq!(neighbour.applies_to, Access::Read);
    let earlier = level("WB", "v11-2014-07").neighbour.expect("taken for all editions");
    assert!(earlier.rule.starts_with("carried over from v11-2015-01: "), "{}", earlier.rule);
    assert_eq!(level("S2", "v12-ga-2015-01").neighbour, None);
}

#[test]
fn the_cpu_cost_of_a_scan_is_that_of_p1() {
    let scan = catalog().scan_mb_per_minute_at_100_dtu(SERVICE).unwrap();
    assert_eq!(short(&scan), (11_800.0, Basis::Derived, false));
    // Below its data IO limit, as the rule supposes.
    assert!(scan.value < level("P1", "v12-ga-2015-01").read_rate.value);
    assert!(matches!(catalog().scan_mb_per_minute_at_100_dtu("db"), Err(CatalogError::UnknownService { .. })));
}

#[test]
fn without_an_edition_the_newest_with_the_level_is_meant() {
    let s2 = catalog().lab_level(SERVICE, "s2", None).unwrap();
    assert_eq!((s2.level.as_str(), s2.edition.as_str()), ("S2", "v12-retest"));
    assert_eq!(catalog().lab_level(SERVICE, "S3", None).unwrap().edition, "v12-ga-2015-01");
}

#[test]
fn the_levels_worth_a_test_have_a_printed_figure() {
    let listed: Vec<_> = catalog().lab_levels().map(|at| format!("{}@{}", at.level.name, at.edition.name)).collect();
    assert_eq!(listed.len(), 35 - 2);
    // The preview printed nothing about S3, and of P1 only what a client read.
    for name in ["S3", "P1"] {
        assert!(!listed.contains(&format!("{name}@v12-preview-2014-12")), "{name}");
    }
    assert!(listed.contains(&"P2@v12-preview-2014-12".to_owned()));
}

#[test]
fn what_is_unknown_is_answered_with_the_nearest() {
    let error = |service, level, edition| catalog().lab_level(service, level, edition).unwrap_err().to_string();
    assert!(error("azure-sql-bd", "S2", None).ends_with("did you mean 'azure-sql-db'?"));
    assert!(error(SERVICE, "Basik", None).ends_with("did you mean 'Basic'?"));
    assert!(error(SERVICE, "S2", Some("v12retest")).ends_with("did you mean 'v12-retest'?"));
    assert!(error(SERVICE, "S3", Some("v12-retest")).contains("has no level 'S3'; it has S0, S1, S2"));
}

#[test]
fn an_edition_without_assumptions_is_not_completed() {
    let (name, text) = ("azure-sql-db.v12-retest.toml", include_str!("../data/azure-sql-db.v12-retest.toml"));
    let bare = Catalog::read(&Files { editions: &[(name, text)], ..Files::default() }).unwrap();
    let error = bare.lab_level(SERVICE, "S2", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "level 'S2' of edition 'v12-retest' of service 'azure-sql-db' cannot be completed: nothing gives its latencies"
    );
    let error = bare.scan_mb_per_minute_at_100_dtu(SERVICE).unwrap_err();
    assert!(error.to_string().ends_with("nothing gives its CPU cost of a scan"));
}

/// Restores of July 2014: the same in every tier, so also where no figure of the level is printed; of v12 nobody published it.
#[test]
fn what_the_service_moves_goes_with_its_generation() {
    let rate = |name: &str, edition: &str| level(name, edition).movement_rate.map(|rate| short(&rate));
    for name in ["WB", "Basic", "S1", "P1"] {
        assert_eq!(rate(name, "v11-2014-07"), Some((150.0, Basis::Printed, true)), "{name}");
    }
    for name in ["S2", "P2"] {
        assert_eq!(rate(name, "v11-2014-07"), Some((150.0, Basis::Derived, false)), "{name}");
    }
    assert_eq!(rate("S0", "v11-2014-11"), Some((150.0, Basis::Derived, false)));
    let rules = [("WB", "v11-2015-01"), ("P2", "v11-2014-11")].map(|(name, edition)| {
        let rate = level(name, edition).movement_rate.unwrap();
        assert_eq!(short(&rate), (150.0, Basis::Assumed, false));
        rate.rule
    });
    assert_eq!(rules[0], "carried over from v11-2014-07: ~150 MB/min");
    assert!(rules[1].starts_with("carried over from v11-2014-07: the same in every tier"), "{}", rules[1]);
    for at in catalog().levels().filter(|at| at.edition.name.starts_with("v12")) {
        assert_eq!(rate(&at.level.name, &at.edition.name), None, "{} {}", at.edition.name, at.level.name);
    }
}
