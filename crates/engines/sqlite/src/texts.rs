//! The texts that this driver sends, by their names (`data/statements.toml`).

use std::sync::LazyLock;

use plimsoll_engine::{Quoting, Statements};

pub(super) static STATEMENTS: LazyLock<Statements> =
    LazyLock::new(|| Statements::parse(&[include_str!("../data/statements.toml")], Quoting { name: ('"', '"') }));

/// A statement, none of which has gaps.
pub(super) fn text(name: &str) -> &'static str {
    &STATEMENTS.get(name).sql
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are looked up when they are needed, so this is where one is found that isn't there, or that nobody needs.
    #[test]
    fn names_in_the_code_are_those_in_the_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let sources: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let asked = sources.split("(text(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let asked: std::collections::BTreeSet<&str> = asked.collect();
        let there = STATEMENTS.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(asked, there);
        assert!(STATEMENTS.entries().iter().all(|entry| !entry.sql.contains('{')));
    }
}
