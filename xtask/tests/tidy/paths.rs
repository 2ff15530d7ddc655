//! Documents name files and folders that are there.

use std::path::Path;

use crate::{File, assert_none, repository};

/// Paths that a document names in backticks: of sources, or from the root of the repository.
fn named(document: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_path = |word: &&str| {
        let from_root = ["crates/", "xtask/", "examples/"].iter().any(|folder| word.starts_with(folder));
        let is_source = Path::new(word).extension().is_some_and(|extension| extension == "rs");
        (from_root || is_source) && !word.contains([' ', '*', '<', '{', '…'])
    };
    let lines = document.text.lines().enumerate();
    lines.flat_map(move |(index, line)| {
        line.split('`').skip(1).step_by(2).filter(is_path).map(move |word| (index + 1, word))
    })
}

fn missing(files: &[File]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_there = |path: &str| {
        let (file, folder) = (format!("/{path}"), format!("{}/", path.trim_end_matches('/')));
        files.iter().any(|one| one.path == path || one.path.ends_with(&file) || one.path.starts_with(&folder))
            || root.join(path).exists()
    };
    let documents = files.iter().filter(|file| Path::new(&file.path).extension().is_some_and(|end| end == "md"));
    let offence = |document: &File, (line, path)| format!("{}:{line}: there is no {path}", document.path);
    documents
        .filter(|document| document.path != "CHANGELOG.md")
        .flat_map(|document| named(document).filter(|(_, path)| !is_there(path)).map(|path| offence(document, path)))
        .collect()
}

#[test]
fn documents_name_what_is_there() {
    let planted = [
        File::new("docs/A.md", "`b.rs`, `src/b.rs`, `crates/a/src`, `crates/a`, `tests/x`\n`c.rs` and `crates/b`\n"),
        File::new("crates/a/src/b.rs", "//! B.\n"),
    ];
    assert_eq!(missing(&planted), ["docs/A.md:2: there is no c.rs", "docs/A.md:2: there is no crates/b"]);
    assert_none("a document names what is not there", &missing(&repository()));
}
