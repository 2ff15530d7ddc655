//! The rules of the repository that no compiler checks. Each rule is a function from files to offences, tried on a
//! planted offence first, so that a rule that has gone blind is noticed.

mod manifests;
mod paths;
mod shape;
mod sources;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository: path from its root with `/`, and text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// `crates/store/src/lib.rs` belongs to `store`, and `crates/engines/sqlite/src/lib.rs` to `sqlite`.
    fn crate_name(&self) -> Option<&str> {
        let path = self.path.strip_prefix("crates/")?;
        path.strip_prefix(ENGINES).unwrap_or(path).split('/').next()
    }

    /// A driver's.
    fn is_engine(&self) -> bool {
        self.path.strip_prefix("crates/").is_some_and(|path| path.starts_with(ENGINES))
    }

    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Part of a program or library, not of its tests, examples or benchmarks.
    fn is_source(&self) -> bool {
        let mut parts = self.path.split('/').skip_while(|part| ["crates", "engines"].contains(part));
        let folder = parts.nth(1);
        self.is_rust() && folder == Some("src")
    }
}

/// The folder of the drivers, among the crates.
const ENGINES: &str = "engines/";
/// Folders below the root with products or with other people's work.
const SKIPPED: &[&str] = &["target", ".git"];
/// Written by us and read by people.
const TEXTS: &[&str] = &["rs", "toml", "md", "sh"];

/// Every text of ours.
fn repository() -> Vec<File> {
    fn walk(folder: &Path, root: &Path, files: &mut Vec<File>) {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).expect("folder").map(|e| e.expect("entry").path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                if folder != root || !SKIPPED.contains(&name.as_str()) {
                    walk(&path, root, files);
                }
            } else if path.extension().is_some_and(|e| TEXTS.iter().any(|text| e == *text)) || name == "run" {
                let relative = path.strip_prefix(root).expect("inside").to_string_lossy().replace('\\', "/");
                files.push(File { path: relative, text: fs::read_to_string(&path).expect("text") });
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the root");
    let mut files = Vec::new();
    walk(&root, &root, &mut files);
    assert!(files.iter().any(|file| file.path == "crates/store/src/lib.rs"), "the repository was not found");
    files
}

/// Fails with a list of what was found.
#[track_caller]
fn assert_none(rule: &str, offences: &[String]) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}
