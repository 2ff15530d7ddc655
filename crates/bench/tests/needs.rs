//! What tests can't do without: the documents say it, and where it is missing a test ends before it begins.

use std::collections::BTreeMap;

use plimsoll_bench::definition;

/// Names of tests by what they need, as the table of docs/ENGINES.md has it.
#[test]
fn the_documents_say_what_tests_need() {
    let document = include_str!("../../../docs/ENGINES.md");
    let table = document.split("| test | needs |\n|---|---|\n").nth(1).unwrap();
    let mut documented = BTreeMap::new();
    for line in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        for test in cells[0].split(", ") {
            documented.insert(test.to_owned(), cells[1].to_owned());
        }
    }
    let mut needs = BTreeMap::new();
    for test in definition::builtin() {
        let mut words: Vec<String> =
            test.steps.iter().flat_map(|step| step.needs.iter().map(|need| need.words())).collect();
        words.sort();
        words.dedup();
        if !words.is_empty() {
            needs.insert(test.name, words.join(", "));
        }
    }
    assert_eq!(documented, needs);
}
