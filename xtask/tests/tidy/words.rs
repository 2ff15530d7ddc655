//! The glossary's rule: a name that a term replaced does not come back in code.

use std::collections::BTreeMap;

use crate::{File, assert_none, repository};

const GLOSSARY: &str = "docs/GLOSSARY.md";

/// Names that were replaced, with the term that stands for each. A name may be bound to one folder: `crates/lab: pass`.
fn replaced(glossary: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for line in glossary.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [term, _, old] = cells.as_slice() else { continue };
        for name in old.split('`').skip(1).step_by(2) {
            names.insert(name.to_owned(), (*term).to_owned());
        }
    }
    names
}

/// Code with blanks in place of comments and of what strings say, line by line.
fn without_prose(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let prose = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '\'' if rest.starts_with("'\"'") || rest.starts_with("'\\") => {
                1 + rest[2..].find('\'').map_or(0, |end| end + 2)
            }
            '"' => end_of_string(rest),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            _ => 0,
        };
        if prose == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.push(' ');
            code.extend(rest[..prose].chars().filter(|c| *c == '\n'));
            rest = &rest[prose..];
        }
    }
    code
}

/// Where the string ends that begins here.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn come_back(files: &[File], glossary: &str) -> Vec<String> {
    let names = replaced(glossary);
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.is_source()) {
        for (index, line) in without_prose(&file.text).lines().enumerate() {
            for word in identifiers(line) {
                let scoped = file.crate_name().map(|of| format!("crates/{of}: {word}"));
                if let Some(term) = names.get(word).or_else(|| names.get(&scoped?)) {
                    offences.push(format!("{}:{}: {word} is called {term}", file.path, index + 1));
                }
            }
        }
    }
    offences
}

#[test]
fn names_that_a_term_replaced_stay_away() {
    let glossary = "| term | meaning | names |\n|---|---|---|\n| gain | More. | `Lift`, `crates/lab: pass` |\n";
    let planted = [
        File::new(
            "crates/a/src/a.rs",
            "//! A Lift.\nlet a = Lift { pass }; // Lift\nlet b = \"Lift \\\" \n Lift\"; // \"\n",
        ),
        File::new("crates/lab/src/a.rs", "//! A.\nlock.pass();\n"),
        File::new("crates/a/tests/a.rs", "//! A.\nLift"),
    ];
    let expected = ["crates/a/src/a.rs:2: Lift is called gain", "crates/lab/src/a.rs:2: pass is called gain"];
    assert_eq!(come_back(&planted, glossary), expected);
    let files = repository();
    let glossary = files.iter().find(|file| file.path == GLOSSARY).expect("the glossary");
    assert!(replaced(&glossary.text).contains_key("Seat"), "the table could not be read");
    assert_none("the glossary has a name for it", &come_back(&files, &glossary.text));
}
