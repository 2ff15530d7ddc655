//! The texts that this driver sends, by their names (`data/statements`). What the dialect makes for tests, and rows of a load,
//! are made where they are needed.

use std::sync::LazyLock;

use plimsoll_engine::{Quoting, Statements, Workspace};

/// How names and texts are written.
pub(super) const QUOTING: Quoting = Quoting { name: ('`', '`') };

pub(super) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    let files = [
        include_str!("../data/statements/sessions.toml"),
        include_str!("../data/statements/readings.toml"),
        include_str!("../data/statements/queries.toml"),
        include_str!("../data/statements/workspaces.toml"),
        include_str!("../data/statements/tables.toml"),
    ];
    Statements::parse(&files, QUOTING)
});

/// A statement that has no gaps.
pub(super) fn text(name: &str) -> &'static str {
    &STATEMENTS.get(name).sql
}

/// A statement with its gaps filled.
pub(super) fn fill(name: &str, words: &[(&str, &str)]) -> String {
    STATEMENTS.fill(name, words)
}

/// A statement about a database of ours.
pub(super) fn of_place(name: &str, workspace: &Workspace) -> String {
    fill(name, &[("workspace", workspace.name())])
}

/// A statement about a table in a database of ours.
pub(super) fn of_table(name: &str, workspace: &Workspace, table: &str) -> String {
    fill(name, &[("workspace", workspace.name()), ("table", table)])
}

/// A name between backquotes.
pub(super) fn quoted(name: &str) -> String {
    QUOTING.name(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::product::Product;

    /// The calls that take a statement's name, and whether its text has gaps.
    const CALLS: [(&str, bool); 5] =
        [("fill", true), ("of_place", true), ("of_table", true), ("named", true), ("text", false)];

    /// What stands in quotes as the first argument of a call.
    fn arguments<'a>(source: &'a str, call: &str) -> Vec<&'a str> {
        let call = format!("{call}(");
        let is_whole = |at: usize| !source[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let calls = source.match_indices(&call).filter(|(at, _)| is_whole(*at));
        let behind = calls.map(|(at, _)| source[at + call.len()..].trim_start());
        behind.filter_map(|rest| rest.strip_prefix('"')?.split('"').next()).collect()
    }

    /// Names are looked up when they are needed, so this is where one is found that isn't there, or that nobody needs.
    #[test]
    fn names_in_the_code_are_those_in_the_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files =
            fs::read_dir(folder.join("src")).unwrap().map(|file| file.unwrap().path()).filter(|file| file.is_file());
        let sources: Vec<String> = files.map(|path| fs::read_to_string(path).unwrap()).collect();
        let mut used = BTreeSet::new();
        for (call, has_gaps) in CALLS {
            for name in sources.iter().flat_map(|source| arguments(source, call)) {
                used.insert(name.to_owned());
                let of_products = [Product::MariaDb, Product::MySql].map(|product| product.named(name));
                let is_there = |name: &str| STATEMENTS.entries().iter().any(|entry| entry.name == name);
                for name in if is_there(name) { vec![name.to_owned()] } else { of_products.to_vec() } {
                    assert_eq!(STATEMENTS.get(&name).sql.contains('{'), has_gaps, "{name}");
                }
            }
        }
        assert!(used.len() > 30, "{used:?}");
        let everything = sources.concat() + include_str!("../data/privileges.toml");
        for entry in STATEMENTS.entries() {
            let name = entry.name.strip_suffix(" of MariaDB").or_else(|| entry.name.strip_suffix(" of MySQL"));
            let is_used = |name: &str| everything.contains(&format!("\"{name}\""));
            assert!(is_used(&entry.name) || name.is_some_and(is_used), "nobody needs {}", entry.name);
        }
    }

    #[test]
    fn entries_are_complete() {
        for entry in STATEMENTS.entries() {
            let name = &entry.name;
            let text = STATEMENTS.example(entry, &[]).unwrap_or_else(|gap| panic!("'{name}' has nothing for {gap}"));
            assert!(!text.contains('{') && !text.ends_with(char::is_whitespace), "{text}");
            assert!(!entry.purpose.is_empty(), "{name}");
            for page in entry.source.split(", ") {
                assert!(
                    ["dev.mysql.com/doc/", "mariadb.com/docs/"].iter().any(|root| page.starts_with(root)),
                    "{page}"
                );
            }
            let of_products = name.ends_with(" of MariaDB") || name.ends_with(" of MySQL");
            assert_eq!(entry.editions.is_empty(), !of_products, "{name}");
            assert!(entry.editions.iter().all(|edition| crate::product::is_edition(edition)), "{name}");
            // The text protocol has no parameters.
            assert!(entry.values.is_empty(), "{name}");
        }
    }
}
