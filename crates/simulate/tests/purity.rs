//! The crate is pure: no source file uses I/O, threads, global randomness or the order of a hash.

use std::path::{Path, PathBuf};

const FORBIDDEN: &[&str] =
    &["std::fs", "std::net", "std::io", "std::env", "std::thread", "HashMap", "HashSet", "from_os_rng", "println!"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { sources(&path, found) } else { found.push(path) }
    }
}

#[test]
fn no_source_reaches_outside() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        for word in FORBIDDEN {
            assert!(!text.contains(word), "{} uses {word}", file.display());
        }
    }
}
