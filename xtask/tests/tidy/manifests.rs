//! Rules on what depends on what.

use crate::{File, assert_none, repository};

/// From top to bottom, as docs/ARCHITECTURE.md draws it: a crate depends on crates further down only.
const HOUSE: &[&str] = &[
    "plimsoll",
    "web",
    "report",
    "plan",
    "simulate",
    "disk",
    "bench",
    "load",
    "telemetry",
    "lab",
    "mssql",
    "mysql",
    "postgres",
    "sqlite",
    "engine",
    "hardware",
    "analysis",
    "store",
    "profile",
    "catalog",
    "clock",
    "measurement",
    "native-tls",
    "openssl",
    "tls",
];
/// Start servers and make inputs for tests; stand outside the house.
const FOR_TESTS: &[&str] = &["testbed", "fuzz"];
/// The result store is one SQLite file; the driver measures SQLite, and the lab models hardware beneath it.
const MAY_USE_SQLITE: &[&str] = &["store", "sqlite", "lab"];
/// Who may know a driver: the binary registers all, and the lab is built on one.
const MAY_KNOW_ENGINES: &[(&str, &str)] = &[("lab", "sqlite")];
const REGISTERS_ENGINES: &str = "plimsoll";

/// Names in the tables that decide what the product is built from; with `dev`, those of its tests.
fn dependencies(manifest: &File, dev: bool) -> Vec<String> {
    let table: toml::Table = manifest.text.parse().expect("a manifest is TOML");
    let kinds: &[&str] = if dev { &["dev-dependencies"] } else { &["dependencies", "build-dependencies"] };
    let targets = table.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table).chain([&table]);
    let names = tables.flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()));
    names.flat_map(toml::Table::keys).cloned().collect()
}

fn manifests(files: &[File]) -> impl Iterator<Item = (&str, &File)> {
    let of_crate = |file: &File| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml");
    files.iter().filter(move |file| of_crate(file)).filter_map(|file| Some((file.crate_name()?, file)))
}

fn arrows_that_point_upwards(files: &[File]) -> Vec<String> {
    let floor = |name: &str| HOUSE.iter().position(|known| *known == name);
    let mut offences = Vec::new();
    for (name, manifest) in manifests(files).filter(|(name, _)| !FOR_TESTS.contains(name)) {
        let Some(own_floor) = floor(name) else {
            offences.push(format!("{name} has no place in the house"));
            continue;
        };
        for used in dependencies(manifest, false).iter().filter_map(|used| used.strip_prefix("plimsoll-")) {
            if floor(used).is_none_or(|used_floor| used_floor <= own_floor) {
                offences.push(format!("{name} depends on {used}"));
            }
        }
    }
    offences
}

/// Crates that depend on a driver and are not the one that registers them.
fn acquaintances_of_engines(files: &[File]) -> Vec<String> {
    let engines: Vec<&str> = manifests(files).filter(|(_, file)| file.is_engine()).map(|(name, _)| name).collect();
    let mut offences = Vec::new();
    for (name, manifest) in manifests(files).filter(|(name, _)| *name != REGISTERS_ENGINES) {
        for used in dependencies(manifest, false).iter().filter_map(|used| used.strip_prefix("plimsoll-")) {
            if engines.contains(&used) && !MAY_KNOW_ENGINES.contains(&(name, used)) {
                offences.push(format!("{name} depends on {used}"));
            }
        }
    }
    offences
}

fn strangers_to_sqlite(files: &[File]) -> Vec<String> {
    let uses = |manifest: &File| dependencies(manifest, false).iter().any(|used| used == "rusqlite");
    let strangers = manifests(files).filter(|(name, manifest)| !MAY_USE_SQLITE.contains(name) && uses(manifest));
    strangers.map(|(name, _)| format!("{name} depends on rusqlite")).collect()
}

#[test]
fn arrows_point_downwards() {
    let planted = [
        File::new("crates/clock/Cargo.toml", "[dependencies]\nplimsoll-store.workspace = true"),
        File::new("crates/store/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nplimsoll-testbed = \"1\""),
        File::new("crates/engine/Cargo.toml", "[dev-dependencies]\nplimsoll-testbed.workspace = true"),
        File::new("crates/attic/Cargo.toml", ""),
    ];
    let expected = ["clock depends on store", "store depends on testbed", "attic has no place in the house"];
    assert_eq!(arrows_that_point_upwards(&planted), expected);
    assert_none("crates depend on crates below them only", &arrows_that_point_upwards(&repository()));
}

#[test]
fn only_the_binary_registers_engines() {
    let planted = [
        File::new("crates/engines/sqlite/Cargo.toml", ""),
        File::new("crates/engines/mysql/Cargo.toml", "[dependencies]\nplimsoll-sqlite.workspace = true"),
        File::new("crates/lab/Cargo.toml", "[dependencies]\nplimsoll-sqlite.workspace = true"),
        File::new("crates/bench/Cargo.toml", "[dependencies]\nplimsoll-mysql.workspace = true"),
        File::new("crates/plimsoll/Cargo.toml", "[dependencies]\nplimsoll-mysql.workspace = true"),
    ];
    assert_eq!(acquaintances_of_engines(&planted), ["mysql depends on sqlite", "bench depends on mysql"]);
    assert_none("drivers are known to the binary only", &acquaintances_of_engines(&repository()));
}

#[test]
fn not_even_tests_of_libraries_use_the_binary() {
    let looks_at_binary = |files: &[File]| {
        let tests =
            manifests(files).filter(|(_, manifest)| dependencies(manifest, true).iter().any(|d| d == "plimsoll"));
        tests.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let planted = [File::new("crates/store/Cargo.toml", "[dev-dependencies]\nplimsoll = \"1\"")];
    assert_eq!(looks_at_binary(&planted), ["store"]);
    assert_none("libraries know nothing of the command line", &looks_at_binary(&repository()));
}

#[test]
fn only_store_and_the_driver_use_sqlite() {
    let planted = [
        File::new("crates/report/Cargo.toml", "[dependencies]\nrusqlite = { version = \"1\" }"),
        File::new("crates/store/Cargo.toml", "[dependencies]\nrusqlite.workspace = true"),
    ];
    assert_eq!(strangers_to_sqlite(&planted), ["report depends on rusqlite"]);
    assert_none("only store and SQLite's driver may use SQLite", &strangers_to_sqlite(&repository()));
}

#[test]
fn no_crate_is_published_by_accident_and_all_obey_the_lints() {
    let loose = |files: &[File]| {
        let lax = |file: &File| !file.text.contains("publish") || !file.text.contains("[lints]\nworkspace = true");
        manifests(files).filter(|(_, file)| lax(file)).map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(loose(&[File::new("crates/new/Cargo.toml", "publish = false")]), ["new"]);
    assert_none("crates take their lints from the workspace and say whether they are published", &loose(&repository()));
}
