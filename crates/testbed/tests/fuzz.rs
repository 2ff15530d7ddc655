//! Targets out of anything.

use plimsoll_engine::target::{mask_urls, register, unescape};
use plimsoll_engine::{Engine, Target};
use plimsoll_mssql::Mssql;
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

/// What is hidden depends on how the engines' targets are written.
fn register_all() {
    let engines: [&dyn Engine; 4] = [&Mssql, &MySql, &Postgres, &Sqlite];
    register(engines.iter().map(|engine| engine.notation()).collect());
}

#[test]
fn targets() {
    register_all();
    let (urls, pairs) = (include_str!("../../fuzz/corpus/targets.txt"), include_str!("../../fuzz/corpus/ado.txt"));
    let words = ["://", "password=", "pwd=", "user:pass@", "mssql:", ";", "%40"];
    plimsoll_fuzz::Target::new("targets", 10_000).lines(urls).lines(pairs).words(words).texts(|text| {
        assert!(mask_urls(text).len() <= 16 * text.len() + 16);
        assert!(unescape(text).is_ok_and(|plain| plain.len() <= text.len()) || text.contains('%'));
        if let Ok(target) = Target::parse(text) {
            assert!(!target.display().is_empty());
            // What is shown can be shown again in an error.
            assert!(!mask_urls(target.display()).is_empty());
            assert!(target.url().expose() == text);
            assert!(!target.has_inline_password() || target.display().contains("***"));
            assert!(format!("{target:?}").contains("***"));
        }
    });
}

/// Found by the target above: such URLs were shown with their passwords.
#[test]
fn properties_of_jdbc_are_not_shown() {
    register_all();
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
