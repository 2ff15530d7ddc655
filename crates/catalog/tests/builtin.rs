//! The built-in catalogue: that it loads, that it says what the reference says, and that it is found.

use plimsoll_catalog::{Basis, Catalog, CatalogError, Figure, Level, Metric};
use proptest::prelude::*;

const SERVICE: &str = "azure-sql-db";

fn catalog() -> &'static Catalog {
    Catalog::builtin().expect("the built-in catalogue is valid")
}

fn level(name: &str, edition: &str) -> &'static Level {
    catalog().level(SERVICE, name, Some(edition)).expect("the level is in the edition").level
}

fn value(name: &str, edition: &str, metric: Metric) -> Option<f64> {
    level(name, edition).figure(metric)?.value
}

fn cpu_seconds(name: &str, join_rows: u64) -> f64 {
    let of_rows = |figure: &&Figure| figure.join_rows == Some(join_rows);
    let figure = level(name, "v12-ga-2015-01").figures_of(Metric::CpuSeconds).find(of_rows);
    figure.and_then(|figure| figure.value).expect("the ladder has the rung")
}

fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not within {tolerance} of {expected}");
}

#[test]
fn editions_stand_in_the_order_of_time() {
    let names: Vec<_> = catalog().editions().iter().map(|edition| edition.name.as_str()).collect();
    let expected = [
        "v11-2014-07",
        "v11-2014-11",
        "v12-preview-2014-12",
        "v11-2015-01",
        "v12-ga-2015-01",
        "v12-ga-2015-02",
        "v12-retest",
    ];
    assert_eq!(names, expected);
    assert_eq!(catalog().editions()[4].as_of.to_string(), "2015-01-31");
    // The day of the retest isn't known, and the catalogue says so.
    assert!(catalog().edition(SERVICE, "v12-retest").unwrap().as_of_note.is_some());
}

/// Source and basis are required by the type; here they also have to say something a reader can follow.
#[test]
fn every_figure_has_an_amount_a_source_and_a_basis() {
    let mut figures = 0;
    for at in catalog().levels() {
        for figure in &at.level.figures {
            figures += 1;
            let place = format!("{} {} {}", at.edition.name, at.level.name, figure.metric.name());
            assert!(figure.source.contains("Bailiss"), "{place}: {}", figure.source);
            assert_ne!(figure.basis, Basis::Assumed, "{place}");
            assert_ne!(figure.to_string(), "unknown", "{place}");
            let low = figure.value.or(figure.low).or(figure.at_least).unwrap();
            assert!(low > 0.0 && figure.high.is_none_or(|high| high >= low), "{place}");
        }
    }
    // As counted in the reference's tables: 22 + 7 + 8 + 6 + 18 + 10 + 6. None may get lost.
    assert_eq!(figures, 77);
}

/// Reference 3.1, 3.3, 3.5, 3.6.
#[test]
fn spot_values_are_those_of_the_reference() {
    use Metric::{ClientReadRate, ImportRate, Memory, ReadRate, RestoreRate, WeakReadRate, WriteRate};
    for (name, edition, metric, expected) in [
        ("WB", "v11-2014-07", ReadRate, 550.0),
        ("WB", "v11-2014-07", WriteRate, 100.0),
        ("Basic", "v11-2014-07", ReadRate, 40.0),
        ("S1", "v11-2014-07", ReadRate, 30.0),
        ("S2", "v11-2014-07", WriteRate, 38.0),
        ("P2", "v11-2014-07", ReadRate, 770.0),
        ("P1", "v11-2014-07", ImportRate, 54.4),
        ("Basic", "v11-2014-07", RestoreRate, 150.0),
        ("S2", "v11-2014-11", Memory, 512.0),
        ("P1", "v11-2014-11", Memory, 9.0 * 1024.0),
        ("S2", "v12-preview-2014-12", Memory, 2560.0),
        ("P2", "v12-preview-2014-12", ReadRate, 14.0 * 1024.0),
        ("P1", "v12-preview-2014-12", ClientReadRate, 1.5 * 1024.0),
        ("S3", "v12-ga-2015-01", ReadRate, 900.0),
        ("Basic", "v12-ga-2015-01", WriteRate, 45.0),
        ("S0", "v12-ga-2015-02", ReadRate, 292.0),
        ("S2", "v12-ga-2015-02", WeakReadRate, 750.0),
        ("S0", "v12-retest", WriteRate, 24.0),
        ("S1", "v12-retest", Memory, 990.0),
    ] {
        assert_eq!(value(name, edition, metric), Some(expected), "{name} {edition} {}", metric.name());
    }
    let business = level("W/B", "v11-2014-11").figure(Memory).unwrap();
    assert_eq!((business.value, business.at_least), (None, Some(5120.0)));
    let s2 = level("S2", "v12-ga-2015-01").figure(ReadRate).unwrap();
    assert_eq!((s2.low, s2.high, s2.utilisation_percent), (Some(550.0), Some(580.0), Some(90.0)));
    assert_eq!(s2.to_string(), "~550 to 580 MB/min");
}

/// "Nearly 3 x v11" and the like are notes, not figures.
#[test]
fn what_carries_no_number_is_absent() {
    for name in ["S1", "Basic"] {
        assert_eq!(level(name, "v12-ga-2015-01").figure(Metric::ReadRate), None);
    }
    for name in ["S2", "P1", "P2"] {
        let level = level(name, "v12-ga-2015-01");
        assert_eq!(level.figure(Metric::WriteRate), None);
        assert!(level.notes.iter().any(|note| note.starts_with("Writes")), "{name}");
    }
}

/// Runs that disagree are all kept: P2 on 2 February, with NOLOCK 53 to 76 % faster (reference 3.3, 7 A22).
#[test]
fn runs_are_never_averaged() {
    let values = |metric| {
        let figures = level("P2", "v12-ga-2015-02").figures_of(metric);
        figures.filter_map(|figure| figure.value).collect::<Vec<_>>()
    };
    let (plain, weak) = (values(Metric::ReadRate), values(Metric::WeakReadRate));
    assert_eq!((plain.as_slice(), weak.as_slice()), ([39_200.0, 39_800.0].as_slice(), [69_000.0, 60_900.0].as_slice()));
    assert_near((weak[0] / plain[0] - 1.0) * 100.0, 76.0, 0.5);
    assert_near((weak[1] / plain[1] - 1.0) * 100.0, 53.0, 0.5);
}

/// Reference 3.11-3: import rates as shares of Web and Business, as printed to the nearest percent.
#[test]
fn tier_shares_follow_from_the_figures() {
    let rate = |name| value(name, "v11-2014-07", Metric::ImportRate).expect("an import rate");
    let share = |name, step: f64| (rate(name) / step).round() * step / rate("WB") * 100.0;
    assert_near(share("Basic", 0.1), 8.5, 0.05);
    // The table rounds 21.8 and 54.4 to whole MB/min before taking the share.
    assert_near(share("S1", 1.0), 19.0, 0.5);
    assert_near(share("P1", 1.0), 47.0, 0.5);
}

/// What is called derived is the arithmetic it claims (reference 3.2, 3.5, 3.11-4, 3.11-9).
#[test]
fn derived_figures_follow_from_printed_ones() {
    for name in ["P1", "P2"] {
        let measured = level(name, "v12-ga-2015-01").figure(Metric::ReadRate).unwrap();
        let full = measured.value.unwrap() / (measured.utilisation_percent.unwrap() / 100.0);
        let theoretical = level(name, "v12-ga-2015-01").figure(Metric::TheoreticalReadRate).unwrap();
        assert_near(theoretical.value.unwrap(), full, 0.5);
        assert_eq!(theoretical.basis, Basis::Derived);
    }
    let restores: Vec<_> = level("Basic", "v11-2014-07").figures_of(Metric::RestoreRate).collect();
    assert_eq!(restores[1].value, restores[0].value.map(|rate| 2.0 * rate));
    assert_near(value("WB", "v11-2015-01", Metric::ClientReadRate).unwrap(), 37.0 * 1024.0 / 170.0, 0.05);
    let half_of_business = value("WB", "v11-2014-07", Metric::WriteRate).map(|rate| rate / 2.0);
    assert_eq!(value("S3", "v12-ga-2015-01", Metric::WriteRate), half_of_business);
}

/// Reference 3.7 and 3.11-5: the fit follows from the S2 rungs, and gives the DTU multiples of the self-check.
#[test]
fn the_anchor_gives_the_multiples_of_the_reference() {
    let anchor = catalog().dtu_anchor().unwrap();
    assert_eq!((anchor.level.as_str(), anchor.edition.as_str(), anchor.dtu), ("S2", "v12-ga-2015-01", 50.0));
    let rungs = [5_000_u64, 7_500, 10_000];
    let mean = rungs.map(|rows| cpu_seconds("S2", rows) / (rows as f64).powi(2)).iter().sum::<f64>() / 3.0;
    assert_near(anchor.coefficient_seconds, mean, 0.005e-7);
    for (name, rows, dtu) in [("S0", 3_000, 11.5), ("S3", 7_500, 102.0), ("P2", 15_000, 153.0), ("P2", 17_500, 202.0)] {
        assert_near(anchor.dtu_of(rows, cpu_seconds(name, rows)).unwrap(), dtu, 0.5);
    }
    assert_eq!(anchor.dtu_of(3_000, 0.0), None);
    // The anchor's level has the same DTU in its own edition.
    assert_eq!(level("S2", "v12-ga-2015-01").dtu.as_ref().map(|dtu| dtu.value), Some(anchor.dtu));
}

#[test]
fn without_an_edition_the_newest_that_has_the_level_answers() {
    for (name, edition) in
        [("s2", "v12-retest"), ("P2", "v12-ga-2015-02"), ("S3", "v12-ga-2015-01"), ("business", "v11-2015-01")]
    {
        let found = catalog().level("AZURE-SQL-DB", name, None).unwrap();
        assert_eq!(found.edition.name, edition, "{name}");
    }
    let at = catalog().level(SERVICE, "S2", Some("V12-GA-2015-01")).unwrap();
    assert_eq!((at.level.name.as_str(), at.edition.name.as_str()), ("S2", "v12-ga-2015-01"));
}

#[test]
fn what_is_unknown_is_answered_with_what_is_known() {
    let message = |error: CatalogError| error.to_string();
    assert_eq!(
        message(catalog().level("azure-sql-bd", "S2", None).unwrap_err()),
        "unknown service 'azure-sql-bd'; known services: azure-sql-db; did you mean 'azure-sql-db'?"
    );
    assert_eq!(
        message(catalog().level(SERVICE, "Basik", None).unwrap_err()),
        "unknown level 'Basik' of service 'azure-sql-db'; \
         known levels: WB, Basic, S1, S2, P1, P2, S0, S3; did you mean 'Basic'?"
    );
    let error = message(catalog().level(SERVICE, "S2", Some("v12-ga-2015-03")).unwrap_err());
    assert!(
        error.starts_with("unknown edition 'v12-ga-2015-03' of service 'azure-sql-db'; known editions: v11-2014-07, ")
    );
    let error = message(catalog().edition(SERVICE, "v12retest").unwrap_err());
    assert!(error.ends_with("; did you mean 'v12-retest'?"), "{error}");
    assert_eq!(
        message(catalog().level(SERVICE, "S3", Some("v12-retest")).unwrap_err()),
        "edition 'v12-retest' of service 'azure-sql-db' has no level 'S3'; it has S0, S1, S2; \
         'S3' is in v12-preview-2014-12, v12-ga-2015-01"
    );
    assert_eq!(Catalog::parse(&[]).unwrap().dtu_anchor(), Err(CatalogError::NoDtuAnchor));
}

/// Levels found, as `level@edition`.
fn found(query: &str) -> Vec<String> {
    catalog().search(query).iter().map(|hit| format!("{}@{}", hit.level.name, hit.edition.name)).collect()
}

#[test]
fn search_finds_levels_by_what_people_type() {
    assert_eq!(catalog().search("").len(), catalog().levels().count());
    assert_eq!(found("s2@v12-ga-2015-01"), ["S2@v12-ga-2015-01"]);
    assert_eq!(found("azure-sql-db/S2"), found("S2"));
    assert_eq!(found("azure-sql-db/W/B"), found("business"));
    assert_eq!(found("S2").len(), 6);
    assert_eq!(found("s3"), ["S3@v12-preview-2014-12", "S3@v12-ga-2015-01"]);
    assert_eq!(
        found("BASIC"),
        ["v11-2014-07", "v11-2014-11", "v12-preview-2014-12", "v12-ga-2015-01"].map(|e| format!("Basic@{e}"))
    );
    assert_eq!(found("premium preview"), ["P1@v12-preview-2014-12", "P2@v12-preview-2014-12"]);
    assert_eq!(found("hyperscale"), Vec::<String>::new());
    assert_eq!(found("S2@v99"), Vec::<String>::new());
}

#[test]
fn words_about_figures_choose_among_them() {
    let hits = catalog().search("read");
    assert!(!hits.is_empty());
    for hit in &hits {
        assert!(!hit.figures.is_empty());
        assert!(hit.figures.iter().all(|figure| figure.metric.name().contains("read") || figure.test.contains("read")));
    }
    let hits = catalog().search("S2 cpu @v12-ga-2015-01");
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].figures.len(), 3);
    // Words about the level leave all its figures.
    assert_eq!(catalog().search("S2@v12-retest")[0].figures.len(), 2);
}

proptest! {
    #[test]
    fn no_query_makes_search_panic(query in "\\PC{0,40}") {
        prop_assert!(catalog().search(&query).len() <= catalog().levels().count());
    }

    /// Made of what queries are made of, so that every branch is met; a word more never finds more.
    #[test]
    fn a_word_more_never_finds_more(
        words in prop::collection::vec(prop::sample::select(
            vec!["s2", "P1", "W/B", "azure", "read", "basic", "2015", "cpu", "memory", "/", "é", "nothing"]), 0..4),
        edition in prop::sample::select(vec!["", "@", "@v12", "@v11-2014-07", "@@", "@é"]),
    ) {
        let narrow = catalog().search(&format!("{}{edition}", words.join(" "))).len();
        let wide = catalog().search(&format!("{}{edition}", words[..words.len().saturating_sub(1)].join(" "))).len();
        prop_assert!(narrow <= wide, "{narrow} > {wide}");
    }
}
