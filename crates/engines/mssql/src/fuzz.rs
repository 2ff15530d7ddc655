//! What reads texts of users, with anything for a text.

use plimsoll_engine::target::register;
use plimsoll_engine::{Engine, Target};

use crate::ado;
use crate::qualify::{KnownTables, OwnObjects, changes_tables, first_write_keyword, qualify};
use crate::url::Location;

#[test]
fn urls() {
    register(vec![crate::Mssql.notation()]);
    let (urls, pairs) =
        (include_str!("../../../fuzz/corpus/targets.txt"), include_str!("../../../fuzz/corpus/ado.txt"));
    let words = ["mssql://", "encrypt=", "database=", "user id=", "{", "}"];
    plimsoll_fuzz::Target::new("mssql-urls", 10_000).lines(urls).lines(pairs).words(words).texts(|text| {
        if let Ok(target) = Target::parse(text) {
            // It may be refused, in words that can be shown.
            assert!(Location::parse(&target).err().is_none_or(|error| !error.to_string().is_empty()));
        }
    });
}

#[test]
fn connection_strings() {
    let corpus = include_str!("../../../fuzz/corpus/ado.txt");
    let words = ["{", "}", "\"\"", "''", "tcp:"];
    plimsoll_fuzz::Target::new("connection-strings", 20_000).lines(corpus).words(words).texts(|text| {
        for (name, value) in ado::pairs(text).unwrap_or_default() {
            assert!(name.len() + value.len() <= 3 * text.len());
            let _ = ado::server(&value);
        }
        let _ = ado::server(text);
    });
}

#[test]
fn statements() {
    let corpus = include_str!("../../../fuzz/corpus/tsql.txt");
    let words = [
        "FROM ", "JOIN ", "UPDATE ", "MERGE ", "WITH ", "AS ", "(", ")", "[", "]]", "/*", "*/", "--", "'", "\"", ";",
        "@t", "#t",
    ];
    let known = KnownTables::These(["t".to_owned(), "u".to_owned()].into());
    plimsoll_fuzz::Target::new("statements", 10_000).lines(corpus).words(words).texts(|sql| {
        for known in [&KnownTables::All, &known] {
            let qualified = qualify(sql, "plimsoll_place", known, &OwnObjects::default());
            let without = |text: &str| text.replace("[plimsoll_place].", "");
            assert_eq!(without(&qualified), without(sql), "text is lost");
        }
        assert!(first_write_keyword(sql).is_none_or(|word| sql.contains(word)));
        changes_tables(sql);
    });
}
