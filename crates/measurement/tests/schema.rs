//! The published JSON Schema of a run record and the published table of metrics are those of the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_measurement::Metric;
use plimsoll_measurement::metric::markdown;
use plimsoll_measurement::run::json_schema;
use plimsoll_measurement::vocabulary::Vocabulary;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn is_published(name: &str, made: &str) {
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        std::fs::write(docs(name), made).unwrap();
    }
    let published = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(
        published == made,
        "docs/{name} is stale: PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-measurement --test schema"
    );
}

#[test]
fn the_published_schema_is_up_to_date() {
    is_published("run.schema.json", &(serde_json::to_string_pretty(&json_schema()).unwrap() + "\n"));
}

#[test]
fn the_published_table_of_metrics_is_up_to_date() {
    is_published("METRICS.md", &markdown());
}

#[test]
fn every_page_that_explains_a_metric_is_there() {
    let pages: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.declared().page).collect();
    for page in pages {
        let (name, anchor) = page.split_once('#').unwrap();
        let text = std::fs::read_to_string(docs(name)).unwrap();
        let anchors = text.lines().filter_map(|line| line.strip_prefix("## ")).map(|title| {
            let letters = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-'));
            letters.collect::<String>().to_lowercase().replace(' ', "-")
        });
        assert!(anchors.into_iter().any(|found| found == anchor), "{page}");
    }
}
