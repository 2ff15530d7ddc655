//! What the driver sends to a server, as data (`data/statements`), and the editions of the manual that it is written by. What depends on
//! a test, as requests and loads of a table, is made by the dialect and by `copy`.

use std::sync::LazyLock;

use plimsoll_engine::{Quoting, Statements};

/// How names are written.
pub(super) const QUOTING: Quoting = Quoting { name: ('"', '"') };

/// All of them, in the order in which a self-test sends them.
pub(super) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    let files = [
        include_str!("../data/statements/identity.toml"),
        include_str!("../data/statements/counters.toml"),
        include_str!("../data/statements/queries.toml"),
        include_str!("../data/statements/tables.toml"),
        include_str!("../data/statements/workspaces.toml"),
        include_str!("../data/statements/databases.toml"),
    ];
    Statements::parse(&files, QUOTING)
});

/// Major versions with a manual that was read, oldest first.
const EDITIONS: [(u32, &str); 7] = [
    (120_000, "12"),
    (130_000, "13"),
    (140_000, "14"),
    (150_000, "15"),
    (160_000, "16"),
    (170_000, "17"),
    (180_000, "18"),
];

/// The edition of a server by its `server_version_num`; of a newer one than any of them the newest.
pub(super) fn edition(version: u32) -> &'static str {
    EDITIONS.iter().rfind(|(first, _)| version >= *first).unwrap_or(&EDITIONS[0]).1
}

/// The text of a statement that every edition has, without gaps.
pub(super) fn sql(name: &str) -> &'static str {
    &STATEMENTS.get(name).sql
}

/// The text that a server has, without gaps; `None` where its edition has none.
pub(super) fn sql_for(name: &str, version: u32) -> Option<&'static str> {
    STATEMENTS.get_for(name, edition(version)).map(|entry| entry.sql.as_str())
}

/// The text of a statement that every edition has, with these words in its gaps.
pub(super) fn filled(name: &str, words: &[(&str, &str)]) -> String {
    STATEMENTS.fill(name, words)
}

/// The text that a server has, with these words in its gaps.
///
/// # Panics
/// If its edition has none.
pub(super) fn filled_for(name: &str, version: u32, words: &[(&str, &str)]) -> String {
    STATEMENTS.fill_for(name, edition(version), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edition_is_a_major_version() {
        let editions = [110_000, 120_000, 150_018, 180_006, 190_001].map(edition);
        assert_eq!(editions, ["12", "12", "15", "18", "18"]);
        assert_eq!(sql_for("writes of the log", 130_000), None);
        assert!(sql_for("writes of the log", 140_000).unwrap().contains("pg_stat_wal"));
    }

    #[test]
    fn every_statement_can_be_sent_and_says_where_it_comes_from() {
        for entry in STATEMENTS.entries() {
            let sql = STATEMENTS.example(entry, &[]).unwrap();
            assert!(!sql.contains(['{', '}']), "{sql}");
            assert_eq!(
                (1..9).filter(|number| sql.contains(&format!("${number}"))).count(),
                entry.values.len(),
                "{sql}"
            );
            let known = |edition: &String| EDITIONS.iter().any(|(_, name)| name == edition);
            assert!(entry.editions.iter().all(known), "{}", entry.name);
            let (edition, page) = entry.source.split_once('/').unwrap();
            assert!(known(&edition.to_owned()) && page.contains(".html"), "{}", entry.source);
            assert!(entry.is_in(Some(edition)), "{}: the source is of an edition that does not have it", entry.name);
        }
    }
}
