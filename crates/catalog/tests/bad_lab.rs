//! Broken files of what the lab adds: each rule with its message and line, and the rules that no built-in level needs.

use plimsoll_catalog::{Basis, Catalog, Files};

const EDITIONS: [(&str, &str); 2] = [
    (
        "one.toml",
        r#"service = "cloud-db"
edition = "one"
generation = "first"
as_of = 2015-01-01
description = "First"
source = "somebody"
[[levels]]
name = "S2"
tier = "standard"
dtu = { value = 50, basis = "printed", source = "page 1" }
[[levels.figures]]
metric = "read_rate"
test = "read-scan"
value = 600
unit = "MB/min"
counts = "data-content"
basis = "printed"
source = "page 1"
[[levels.figures]]
metric = "read_rate"
test = "read-scan"
label = "two rates"
low = 300
high = 900
unit = "MB/min"
counts = "data-content"
basis = "printed"
source = "page 1"
"#,
    ),
    (
        "two.toml",
        r#"service = "cloud-db"
edition = "two"
generation = "second"
as_of = 2015-02-01
description = "Second"
source = "somebody"
[[levels]]
name = "S2"
tier = "standard"
"#,
    ),
];

/// A valid file; its lines are counted below.
const GOOD: &str = r#"service = "cloud-db"
[scan_cpu]
edition = "one"
level = "S2"
rule = "CPU there"
[[statements]]
edition = "two"
level = "S2"
quantity = "read_rate"
factor = 2
of = { edition = "one", level = "S2" }
basis = "derived"
rule = "twice as fast"
source = "page 2"
[[values]]
tier = "standard"
quantity = "memory"
value = 1000
rule = "a guess"
source = "choice"
[[values]]
level = "S2"
quantity = "write_rate"
value = 77
rule = "another guess"
source = "choice"
[[neighbours]]
level = "S2"
edition = "one"
metric = "read_rate"
label = "two rates"
applies_to = "read"
low_dwell_seconds = 60
high_dwell_seconds = 60
rule = "as seen"
[[tiers]]
tiers = ["standard"]
rule = "5 ms"
source = "choice"
data_read_ms = { p0 = 1, p50 = 2, p90 = 3, p99 = 4, p100 = 5 }
data_write_ms = { p0 = 1, p50 = 2, p90 = 3, p99 = 4, p100 = 5 }
log_write_ms = { p0 = 1, p50 = 2, p90 = 3, p99 = 4, p100 = 5 }
iops_per_dtu = { value = 4, rule = "x" }
"#;

fn read(text: &str) -> Result<Catalog, String> {
    let files = Files { editions: &EDITIONS, lab: &[("lab.toml", text)], ..Files::default() };
    Catalog::read(&files).map_err(|error| error.to_string())
}

/// A value for the tier, one for the level, and at last what another generation had.
#[test]
fn what_nothing_in_the_generation_gives_is_assumed_or_taken_from_another() {
    let level = read(GOOD).unwrap().lab_level("cloud-db", "S2", None).unwrap();
    assert_eq!(level.edition, "two");
    assert_eq!((level.memory_mb.value, level.memory_mb.rule.as_str()), (1_000.0, "a guess"));
    assert_eq!((level.write_rate.value, level.write_rate.rule.as_str()), (77.0, "another guess"));
    assert_eq!((level.read_rate.value, level.read_rate.basis), (1_200.0, Basis::Derived));
    assert_eq!((level.dtu.value, level.dtu.rule.as_str()), (50.0, "carried over from one: 50 DTU, printed"));
    let numbers = [level.memory_mb, level.write_rate, level.read_rate, level.dtu];
    assert!(numbers.iter().all(|number| !number.published_here));
    // Without its statement the read rate, too, is that of the other generation.
    let start = GOOD.find("[[statements]]").unwrap();
    let text = [&GOOD[..start], &GOOD[GOOD.find("[[values]]").unwrap()..]].concat();
    let level = read(&text).unwrap().lab_level("cloud-db", "S2", None).unwrap();
    assert_eq!(level.read_rate.rule, "carried over from one: 600 MB/min; data IO not stated, 100 % assumed");
    assert_eq!((level.read_rate.value, level.read_rate.basis), (600.0, Basis::Assumed));
}

#[test]
fn what_cannot_be_completed_says_what_is_missing() {
    let text =
        GOOD.replacen("tier = \"standard\"\nquantity = \"memory\"", "tier = \"standard\"\nquantity = \"dtu\"", 1);
    let error = read(&text).unwrap().lab_level("cloud-db", "S2", Some("one")).unwrap_err().to_string();
    let expected = "level 'S2' of edition 'one' of service 'cloud-db' cannot be completed: nothing gives its memory";
    assert_eq!(error, expected);
}

#[test]
fn each_rule_names_the_place() {
    for (from, to, expected) in [
        ("\"cloud-db\"", "\"cloud-bd\"", "lab.toml:1: no edition of service 'cloud-bd'"),
        ("rule = \"CPU there\"", "rule = \"\"", "lab.toml:2: rule is empty"),
        (
            "edition = \"one\"",
            "edition = \"three\"",
            "lab.toml:2: names edition 'three', which the service does not have",
        ),
        (
            "edition = \"one\"",
            "edition = \"two\"",
            "lab.toml:2: level 'S2' of edition 'two' lacks a read rate or its DTU",
        ),
        ("factor = 2", "factor = 0", "lab.toml:6: factor 0 is not a positive number"),
        (
            "edition = \"two\"",
            "edition = \"one\"",
            "lab.toml:6: level 'S2' has a figure, which a statement must not replace",
        ),
        (
            "of = { edition = \"one\"",
            "of = { edition = \"two\"",
            "lab.toml:6: level 'S2' of edition 'two' has no such figure",
        ),
        (
            "of = { edition = \"one\", level = \"S2\"",
            "of = { edition = \"one\", level = \"S3\"",
            "lab.toml:6: names level 'S3', which edition 'one' does not have",
        ),
        ("quantity = \"read_rate\"", "quantity = \"dtu\"", "lab.toml:6: a DTU is not stated but assumed"),
        ("value = 1000", "value = -1", "lab.toml:15: value -1 is not a positive number"),
        ("tier = \"standard\"", "tier = \"premium\"", "lab.toml:15: no edition of the service has 'premium'"),
        ("tier = \"standard\"\n", "", "lab.toml:15: expected either level or tier"),
        ("tier = \"standard\"", "tier = \"standard\"\nlevel = \"S2\"", "lab.toml:15: expected either level or tier"),
        (
            "low_dwell_seconds = 60",
            "low_dwell_seconds = inf",
            "lab.toml:27: low_dwell_seconds inf is not a positive number",
        ),
        ("\"two rates\"", "\"three\"", "lab.toml:27: level 'S2' has no main figure and none with two rates 'three'"),
        (
            "data_read_ms = { p0 = 1",
            "data_read_ms = { p0 = 0",
            "lab.toml:36: data_read_ms: p0 0 is not a positive number",
        ),
        ("p99 = 4, p100 = 5", "p99 = 6, p100 = 5", "lab.toml:36: data_read_ms: quantiles fall"),
        ("{ value = 4", "{ value = 0", "lab.toml:36: iops_per_dtu 0 is not a positive number"),
    ] {
        assert!(GOOD.contains(from), "the fixture has no {from:?}");
        assert_eq!(read(&GOOD.replacen(from, to, 1)).unwrap_err(), expected, "{to:?}");
    }
    let error = read(&GOOD.replacen("p99 = 4", "p98 = 4", 1)).unwrap_err();
    assert!(error.starts_with("lab.toml:40: unknown field `p98`"), "{error}");
    let files = Files { editions: &EDITIONS, lab: &[("a.toml", GOOD), ("b.toml", GOOD)], ..Files::default() };
    assert_eq!(Catalog::read(&files).unwrap_err().to_string(), "b.toml:1: duplicate service 'cloud-db'");
}
