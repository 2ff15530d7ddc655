//! Broken files: each rule with the message a person gets, and the line it names.

use plimsoll_catalog::{Catalog, CatalogError};

/// A small valid edition; line 8 opens the level, line 12 the figure, line 13 is its metric.
const GOOD: &str = r#"service = "cloud-db"
edition = "v1"
as_of = 2015-01-31
description = "First"
source = "somebody, 2015"
notes = []

[[levels]]
name = "S2"
tier = "standard"

[[levels.figures]]
metric = "read_rate"
test = "read-scan"
value = 550
unit = "MB/min"
counts = "data-content"
basis = "printed"
source = "page 1"
utilisation_percent = 90
"#;

/// The error's text after one replacement in [`GOOD`].
fn error_after(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the fixture has no {from:?}");
    match Catalog::parse(&[("my.toml", &GOOD.replacen(from, to, 1))]) {
        Ok(_) => panic!("accepted {to:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_fixture_itself_is_good() {
    let catalog = Catalog::parse(&[("my.toml", GOOD)]).unwrap();
    assert_eq!(catalog.level("cloud-db", "S2", None).unwrap().level.figures.len(), 1);
}

#[test]
fn what_serde_refuses_has_file_and_line() {
    for (from, to, expected) in [
        ("basis =", "bassis =", "my.toml:18: unknown field `bassis`"),
        ("tier =", "teer =", "my.toml:10: unknown field `teer`"),
        ("description =", "descryption =", "my.toml:4: unknown field `descryption`"),
        ("source = \"page 1\"\n", "", "my.toml:12: missing field `source`"),
        ("source = \"somebody, 2015\"\n", "", "my.toml:1: missing field `source`"),
        ("\"read_rate\"", "\"reed_rate\"", "my.toml:13: unknown variant `reed_rate`, expected one of `read_rate`"),
        ("\"printed\"", "\"guessed\"", "my.toml:18: unknown variant `guessed`"),
        ("2015-01-31", "\"2015-01-31\"", "my.toml:3: invalid type: string \"2015-01-31\", expected a TOML datetime"),
        ("2015-01-31", "2015-01-31T10:00:00Z", "my.toml:3: '2015-01-31T10:00:00Z' is not a date"),
        ("2015-01-31", "2015-02-30", "my.toml:3: "),
        ("value = 550", "value = ", "my.toml:15: "),
        ("value = 550", "value = \"550\"", "my.toml:15: invalid type: string \"550\", expected f64"),
    ] {
        let error = error_after(from, to);
        assert!(error.starts_with(expected), "{to:?}: {error}");
    }
}

#[test]
fn what_a_rule_refuses_names_the_thing_and_its_line() {
    let figure = |problem: &str| format!("my.toml:12: read_rate of level 'S2': {problem}");
    for (from, to, expected) in [
        ("value = 550", "value = 0", figure("value 0 is not a positive number")),
        ("value = 550", "value = -5", figure("value -5 is not a positive number")),
        ("value = 550", "value = nan", figure("value NaN is not a positive number")),
        ("value = 550", "value = inf", figure("value inf is not a positive number")),
        ("value = 550", "low = 0\nhigh = 1", figure("low 0 is not a positive number")),
        ("value = 550", "low = 580\nhigh = 550", figure("low 580 is above high 550")),
        ("value = 550", "low = 580", figure("expected either value, or low and high, or at_least")),
        ("value = 550\n", "", figure("expected either value, or low and high, or at_least")),
        ("value = 550", "value = 550\nat_least = 5", figure("expected either value, or low and high, or at_least")),
        ("MB/min", "GB/min", figure("unit 'GB/min' is not the metric's own, expected 'MB/min'")),
        ("= 90", "= 100.5", figure("utilisation_percent 100.5 is not above 0 and up to 100")),
        ("= 90", "= -1", figure("utilisation_percent -1 is not above 0 and up to 100")),
        ("\"page 1\"", "\" \"", figure("source is empty")),
        ("\"read-scan\"", "\"\"", figure("test is empty")),
        ("value = 550", "value = 550\njoin_rows = 5", figure("join_rows belongs to cpu_seconds only")),
        ("value = 550", "value = 550\nsessions = 0", figure("sessions is zero")),
        ("\"somebody, 2015\"", "\"\"", "my.toml:5: source is empty".into()),
        (
            "\"cloud-db\"",
            "\"cloud/db\"",
            "my.toml:1: service 'cloud/db' is not a plain name of letters, digits, '-', '_' and '.'".into(),
        ),
        ("\"S2\"", "\"S 2\"", "my.toml:8: level 'S 2' is not a plain name of letters, digits, '-', '_' and '.'".into()),
        ("tier =", "aliases = [\"s2\"]\ntier =", "my.toml:8: duplicate level 's2'".into()),
        (
            "tier = \"standard\"",
            "tier = \"standard\"\ndtu = { value = 0, basis = \"printed\", source = \"x\" }",
            "my.toml:8: dtu of level 'S2': value 0 is not a positive number".into(),
        ),
    ] {
        assert_eq!(error_after(from, to), expected);
    }
}

#[test]
fn a_join_time_needs_its_rows() {
    let good = GOOD.replace("\"read_rate\"", "\"cpu_seconds\"").replace("MB/min", "s");
    for text in [good.clone(), good.replace("value = 550", "value = 550\njoin_rows = 0")] {
        let error = Catalog::parse(&[("my.toml", &text)]).unwrap_err().to_string();
        assert_eq!(error, "my.toml:12: cpu_seconds of level 'S2': join_rows is missing or zero");
    }
    let text = good.replace("value = 550", "value = 550\njoin_rows = 5000");
    assert!(Catalog::parse(&[("my.toml", &text)]).is_ok());
}

#[test]
fn nothing_may_be_said_twice() {
    let level = format!("{GOOD}\n[[levels]]\nname = \"s2\"\ntier = \"standard\"\n");
    let figure = format!("{GOOD}{}", &GOOD[GOOD.find("[[levels.figures]]").unwrap()..]);
    for (text, expected) in [
        (level, "my.toml:22: duplicate level 's2'"),
        (figure, "my.toml:21: read_rate of level 'S2': duplicate figure: same test, label and join_rows as one above"),
    ] {
        assert_eq!(Catalog::parse(&[("my.toml", &text)]).unwrap_err().to_string(), expected);
    }
    let again = GOOD.replace("\"v1\"", "\"V1\"");
    let error = Catalog::parse(&[("my.toml", GOOD), ("your.toml", &again)]).unwrap_err();
    let problem = "duplicate edition 'V1' of service 'cloud-db'".to_owned();
    assert_eq!(error, CatalogError::Invalid { file: "your.toml".into(), line: 2, problem });
}

#[test]
fn a_fit_belongs_to_a_level_of_its_edition() {
    let with_fit = |level: &str, coefficient: &str| {
        let fit = format!(
            "level = \"{level}\"\ncoefficient_seconds = {coefficient}\ndtu = 50\nbasis = \"derived\"\nsource = \"x\""
        );
        Catalog::parse(&[("my.toml", &format!("{GOOD}\n[cpu_fit]\n{fit}\n"))])
    };
    let seconds = with_fit("S2", "1e-6").unwrap().dtu_anchor().unwrap().seconds(1_000);
    assert!((seconds - 1.0).abs() < 1e-12, "{seconds}");
    let error = with_fit("S7", "1e-6").unwrap_err().to_string();
    assert_eq!(error, "my.toml:22: cpu_fit names level 'S7', which the edition does not have");
    let error = with_fit("S2", "-1.0").unwrap_err().to_string();
    assert_eq!(error, "my.toml:22: coefficient_seconds -1 is not a positive number");
}
