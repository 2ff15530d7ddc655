//! Rules on the shape of the product: how long its files are, who imports from whom, and what stands twice.

use std::path::Path;

use xtask::shape::{self, LONGEST_FILE_LINES, Source, circles, twins};

use crate::assert_none;

fn product() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the root");
    let sources = shape::product(&root).expect("the sources");
    assert!(sources.iter().any(|file| file.path == "crates/store/src/lib.rs"), "the product was not found");
    sources
}

fn planted(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn in_circles(sources: &[Source]) -> Vec<String> {
    circles::circles(sources).iter().flat_map(|circle| circles::told(circle)).collect()
}

fn standing_twice(sources: &[Source]) -> Vec<String> {
    twins::twins(sources, twins::LONGEST_TWIN_LINES).iter().map(ToString::to_string).collect()
}

#[test]
fn no_file_is_too_long() {
    let long = planted("crates/a/src/a.rs", &"x\n".repeat(LONGEST_FILE_LINES + 1));
    assert_eq!(shape::too_long(&[long]), ["crates/a/src/a.rs: 501 lines"]);
    assert_none("a file is split by noun before it grows this long", &shape::too_long(&product()));
}

#[test]
fn no_files_import_each_other() {
    let planted = [
        planted("crates/a/src/lib.rs", "mod b;\nmod c;"),
        planted("crates/a/src/b.rs", "use crate::c::C;"),
        planted("crates/a/src/c.rs", "use crate::b::B;"),
    ];
    let expected = [
        "a circle of 2 files:",
        "  crates/a/src/b.rs -> crates/a/src/c.rs",
        "  crates/a/src/c.rs -> crates/a/src/b.rs",
    ];
    assert_eq!(in_circles(&planted), expected);
    assert_none("what two files share is in a file below both", &in_circles(&product()));
}

#[test]
fn nothing_stands_twice() {
    let lines =
        (0..=twins::LONGEST_TWIN_LINES).map(|n| format!("    let x{n} = f({n});\n")).collect::<Vec<_>>().concat();
    let twin = |path: &str| planted(path, &format!("fn f() {{\n{lines}}}\n"));
    let found = standing_twice(&[twin("crates/a/src/a.rs"), twin("crates/b/src/b.rs")]);
    assert_eq!(found, ["crates/a/src/a.rs:1 and crates/b/src/b.rs:1: 14 lines"]);
    assert_none("what is the same has one place", &standing_twice(&product()));
}
