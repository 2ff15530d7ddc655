//! Targets out of anything.

use plimsoll_engine::Target;
use plimsoll_engine::target::mask_urls;

#[test]
fn targets() {
    let corpus = include_str!("../../fuzz/corpus/targets.txt");
    let words = ["://", "password=", "pwd=", "user:pass@", "mssql:", ";", "%40"];
    plimsoll_fuzz::Target::new("targets", 10_000).lines(corpus).words(words).texts(|text| {
        assert!(mask_urls(text).len() <= 16 * text.len() + 16);
        if let Ok(target) = Target::parse(text) {
            assert!(!target.display().is_empty());
            // What is shown can be shown again in an error.
            assert!(!mask_urls(target.display()).is_empty());
        }
    });
}

/// Found by the target above: such URLs were shown with their passwords.
#[test]
fn properties_of_jdbc_are_not_shown() {
    for url in [
        "sqlserver://db.example;user=sa;password=Geheim",
        "sqlserver://db.example:1433;password=Geheim@x?Geheim",
        "sqlserver://db.example\\instance;database=db;password={a;Geheim}}c};encrypt=true",
    ] {
        let target = Target::parse(url).expect("a target");
        assert!(target.display().contains("db.example") && target.has_inline_password(), "{target:?}");
        assert!(!target.display().contains("Geheim") && !mask_urls(url).contains("Geheim"), "{}", target.display());
    }
    assert_eq!(
        Target::parse("postgres://me@db.example/a;b").expect("a target").display(),
        "postgres://me@db.example/a;b"
    );
}
