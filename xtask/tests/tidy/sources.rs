//! Rules on the text of sources and documents.

use crate::{File, assert_none, repository};

const PRINTING: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];
/// Only the binary's printer speaks; and the tasks, which are a program too.
const MAY_PRINT: &[&str] = &["crates/plimsoll/src/printer.rs", "xtask/"];

const REAL_TIME: &[&str] = &["Instant", "SystemTime", "thread::sleep", "Timestamp::now", "Zoned::now", "park_timeout"];
/// Who may look at the wall clock or sleep, and why. Everybody else asks a `Clock`, so that time can be virtual.
const MAY_USE_REAL_TIME: &[(&str, &str)] = &[
    ("crates/clock/", "is the one that makes real time a Clock"),
    ("crates/fuzz/", "ends what hangs; not part of the product"),
    ("crates/testbed/", "waits for real servers; not part of the product"),
    ("xtask/", "runs real programs; not part of the product"),
    ("crates/plimsoll/src/progress.rs", "shows a person how fast things go; nothing measured depends on it"),
    ("crates/plimsoll/src/signals.rs", "signals come from the real world"),
    ("crates/plimsoll/src/heard.rs", "signals come from the real world"),
    ("crates/plimsoll/src/outlet.rs", "so do readers"),
    ("crates/plimsoll/src/commands/report.rs", "dates the report"),
    ("crates/plimsoll/tests/", "waits for real processes"),
    ("crates/engines/postgres/tests/", "waits for real servers"),
    ("crates/bench/benches/", "measures our own speed"),
    ("crates/load/benches/", "measures our own speed"),
    ("crates/lab/benches/", "measures our own speed"),
    ("crates/store/benches/", "measures our own speed"),
    ("crates/hardware/tests/purity.rs", "names what it forbids"),
];

/// How a test is marked that another test starts as a process of its own, to kill it or as another user.
const CHILD_PROCESS: &str = "#[ignore = \"the process ";

/// What is unfinished or switched off.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "#[ignore", "#[allow("];

/// The rules name what they forbid.
const RULES: &str = "xtask/tests/tidy/";

/// The lines of code with their numbers from 1; comments count as empty.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, if is_comment(line) || line.starts_with(CHILD_PROCESS) { "" } else { line }))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Whether a word stands in a line as a word: `print!` is not in `eprint!`, `Instant` is not in `Instantaneous`.
fn has_word(line: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(in_word) && word.starts_with(in_word);
        let after = line[at + word.len()..].chars().next().is_some_and(in_word) && word.ends_with(in_word);
        !before && !after
    })
}

/// Lines of code with one of the words, in the files that `counts` accepts.
fn lines_with(files: &[File], words: &[&str], counts: impl Fn(&File) -> bool) -> Vec<String> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.path.starts_with(RULES) && counts(file)) {
        for (number, line) in code(file) {
            offences.extend(
                words.iter().filter(|word| has_word(line, word)).map(|w| format!("{}:{number}: {w}", file.path)),
            );
        }
    }
    offences
}

fn prints(files: &[File]) -> Vec<String> {
    lines_with(files, PRINTING, |file| file.is_source() && !MAY_PRINT.iter().any(|place| file.path.starts_with(place)))
}

fn uses_real_time(files: &[File]) -> Vec<String> {
    lines_with(files, REAL_TIME, |file| !MAY_USE_REAL_TIME.iter().any(|(place, _)| file.path.starts_with(place)))
}

fn without_header(files: &[File]) -> Vec<String> {
    let modules = files.iter().filter(|file| file.is_rust());
    modules.filter(|file| !file.text.starts_with("//! ")).map(|file| file.path.clone()).collect()
}

fn with_stray_blanks(files: &[File]) -> Vec<String> {
    let mut offences = Vec::new();
    for file in files {
        let stray = |line: &str| line.contains('\t') || line.ends_with([' ', '\r']);
        let lines = file.text.split('\n').enumerate().filter(|(_, line)| stray(line));
        offences.extend(lines.map(|(index, _)| format!("{}:{}", file.path, index + 1)));
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            offences.push(format!("{}: no line end at the end", file.path));
        }
    }
    offences
}

#[test]
fn words_are_whole() {
    assert!(has_word("    print!(\"x\")", "print!") && !has_word("eprint!(\"x\")", "print!"));
    assert!(has_word("use std::time::{Duration, Instant};", "Instant") && !has_word("Instantly", "Instant"));
    assert!(has_word("#[ignore = \"slow\"]", "#[ignore"));
}

#[test]
fn every_module_says_what_it_is_for() {
    let planted = [File::new("crates/a/src/lib.rs", "use std::fs;"), File::new("xtask/src/b.rs", "//! The b.")];
    assert_eq!(without_header(&planted), ["crates/a/src/lib.rs"]);
    assert_none("a module starts with //! and says what it is for", &without_header(&repository()));
}

#[test]
fn only_the_binary_prints() {
    let planted = [
        File::new("crates/store/src/a.rs", "//! A.\n// println! in words\nfn f() { eprintln!(\"x\") }"),
        File::new("crates/store/tests/a.rs", "println!()"),
        File::new("crates/plimsoll/src/printer.rs", "println!()"),
    ];
    assert_eq!(prints(&planted), ["crates/store/src/a.rs:3: eprintln!"]);
    assert_none("only the binary prints", &prints(&repository()));
}

#[test]
fn time_is_a_parameter() {
    let planted = [
        File::new("crates/bench/src/a.rs", "let t = Instant::now();\nstd::thread::sleep(t);"),
        File::new("crates/clock/src/lib.rs", "Instant::now()"),
    ];
    assert_eq!(
        uses_real_time(&planted),
        ["crates/bench/src/a.rs:1: Instant", "crates/bench/src/a.rs:2: thread::sleep"]
    );
    assert_none("whoever needs time asks a Clock", &uses_real_time(&repository()));
}

#[test]
fn nothing_is_unfinished_or_switched_off() {
    let planted = [File::new("crates/a/tests/a.rs", "#[ignore]\nfn a() { todo!() }")];
    assert_eq!(
        lines_with(&planted, UNFINISHED, |_| true),
        ["crates/a/tests/a.rs:1: #[ignore", "crates/a/tests/a.rs:2: todo!"]
    );
    assert_none("nothing unfinished, nothing switched off", &lines_with(&repository(), UNFINISHED, |_| true));
}

#[test]
fn no_tabs_and_no_blanks_at_line_ends() {
    let planted = [File::new("docs/a.md", "fine\nbad \n\tbad\nbad\r\nend")];
    let expected = ["docs/a.md:2", "docs/a.md:3", "docs/a.md:4", "docs/a.md: no line end at the end"];
    assert_eq!(with_stray_blanks(&planted), expected);
    assert_none("no tabs, no blanks at line ends", &with_stray_blanks(&repository()));
}
