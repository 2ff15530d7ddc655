//! The published JSON Schema of a run record is the one that the program writes.

use std::path::Path;

#[test]
fn the_published_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.schema.json");
    let made = serde_json::to_string_pretty(&plimsoll_measurement::run::json_schema()).unwrap() + "\n";
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == made,
        "docs/run.schema.json is stale: PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-measurement --test schema"
    );
}
