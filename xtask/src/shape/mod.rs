//! The shape of the product's sources: their length, files that import each other in a circle, and code that stands twice.

pub mod circles;
pub mod lexical;
pub mod twins;

use std::fs;
use std::path::Path;

use lexical::Bare;

/// A source of the product.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is, from the root of the repository, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// Longer files are split by noun.
pub const LONGEST_FILE_LINES: usize = 500;

/// Crates that are no part of the product.
const ASIDE: &[&str] = &["crates/fuzz/"];

impl Source {
    /// What stands before `/src/`: the folder of the crate.
    pub fn crate_folder(&self) -> &str {
        self.path.split_once("/src/").map_or("", |(folder, _)| folder)
    }

    /// `crates/a/src/b/mod.rs` and `crates/a/src/b.rs` are `["b"]`, the root of a crate is empty.
    pub fn module(&self) -> Vec<String> {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside).trim_end_matches(".rs");
        let mut steps: Vec<String> = inside.split('/').map(str::to_owned).collect();
        if matches!(steps.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            steps.pop();
        }
        steps
    }

    /// Its lines without those of its tests.
    pub fn product_lines(&self) -> usize {
        self.text.lines().count() - Bare::of(&self.text).test_lines()
    }
}

/// The sources of all crates, without files that hold nothing but tests.
pub fn product(root: &Path) -> Result<Vec<Source>, String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<Source>) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                walk(&path, root, found)?;
            } else if is_product(&relative) {
                found.push(Source { path: relative, text: fs::read_to_string(&path)? });
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(&root.join("crates"), root, &mut found).map_err(|error| format!("the sources can't be read: {error}"))?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The files that are too long, the longest first.
pub fn too_long(sources: &[Source]) -> Vec<String> {
    let lines = sources.iter().map(|file| (file.text.lines().count(), file.path.as_str()));
    let mut long: Vec<(usize, &str)> = lines.filter(|(lines, _)| *lines > LONGEST_FILE_LINES).collect();
    long.sort_by(|a, b| b.cmp(a));
    long.iter().map(|(lines, path)| format!("{path}: {lines} lines")).collect()
}

fn is_product(path: &str) -> bool {
    let Some((folder, inside)) = path.split_once("/src/") else { return false };
    let is_test = |step: &str| matches!(step, "tests" | "tests.rs" | "fuzz.rs");
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
        && !ASIDE.iter().any(|aside| path.starts_with(aside))
        && !folder.split('/').chain(inside.split('/')).any(is_test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_no_product() {
        assert!(is_product("crates/store/src/lib.rs") && is_product("crates/engines/mysql/src/url.rs"));
        for path in [
            "crates/a/tests/b.rs",
            "crates/a/src/b/tests/c.rs",
            "crates/a/src/tests.rs",
            "crates/a/src/fuzz.rs",
            "crates/fuzz/src/lib.rs",
        ] {
            assert!(!is_product(path), "{path}");
        }
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n".to_owned();
        assert_eq!(Source { path: "crates/a/src/b.rs".to_owned(), text }.product_lines(), 2);
    }

    #[test]
    fn modules_are_named_by_their_files() {
        let module = |path: &str| Source { path: path.to_owned(), text: String::new() }.module();
        assert_eq!(module("crates/a/src/lib.rs"), Vec::<String>::new());
        assert_eq!(module("crates/a/src/b/mod.rs"), ["b"]);
        assert_eq!(module("crates/engines/a/src/b/c.rs"), ["b", "c"]);
    }
}
