//! `plimsoll tests`: the built-in definitions, and what a definition may say.

use std::fmt::Write as _;

use plimsoll_bench::Definition;
use plimsoll_bench::definition::{self, KEYS, REQUEST_KEYS};
use plimsoll_bench::parameters::Known as _;
use plimsoll_bench::step::Step;
use plimsoll_bench::step::kinds::BUILT_IN;
use plimsoll_bench::workload::custom::draw::DRAWS;
use plimsoll_measurement::exit;

use crate::args::{Tests, TestsAction};
use crate::failure::Failure;
use crate::printer::Printer;

/// Lists or shows definitions.
pub fn tests(options: &Tests, printer: &Printer) -> Result<u8, Failure> {
    let text = match &options.action {
        None | Some(TestsAction::List) => list(),
        Some(TestsAction::Show { test }) => show(test)?,
        Some(TestsAction::Keys) => keys(),
    };
    printer.result(&text);
    Ok(exit::DONE)
}

fn list() -> String {
    let mut text = String::new();
    for definition in definition::builtin() {
        let _ = writeln!(text, "{:<16} {}", definition.name, definition.title);
    }
    text.push_str("\nGroups, for --group:\n");
    for group in definition::groups() {
        let _ = writeln!(text, "{:<16} {}", group.name, group.title);
    }
    text
}

/// A test, a group, or both where they have one name.
fn show(name: &str) -> Result<String, Failure> {
    let group = definition::find_group(name).ok();
    let test = match definition::find_builtin(name) {
        Err(problem) if group.is_none() => {
            return Err(Failure::usage(problem).hint("'plimsoll tests' lists tests and groups"));
        }
        found => found.ok(),
    };
    let mut text = test.as_ref().map_or_else(String::new, of_test);
    if let Some(group) = group {
        if test.is_some() {
            text.push_str("\n# The group of that name:\n");
        }
        text.push_str(&group.text);
    }
    Ok(text)
}

fn of_test(found: &Definition) -> String {
    let mut text = found.text.clone();
    text.push_str("\n# Parameters, for --set and for your own definitions:\n");
    for parameter in found.steps.own() {
        let _ = writeln!(text, "#   {:<10} {} ({})", parameter.name, parameter.about, parameter.kind.describe());
    }
    text
}

fn keys() -> String {
    let mut text = String::new();
    for (title, keys) in [
        ("Keys of a definition", KEYS),
        ("Keys of a [[request]]", REQUEST_KEYS),
        ("How a parameter of a request is drawn, under [request.parameters]", DRAWS),
    ] {
        let _ = writeln!(text, "{title}:");
        for (key, about) in keys {
            let _ = writeln!(text, "  {key:<12} {about}");
        }
        text.push('\n');
    }
    text.push_str("Parameters, under [parameters], [short] and [scaled]:\n");
    for parameter in BUILT_IN.parameters() {
        let knows = |step: &&Step| step.parameters.iter().any(|known| known.name == parameter.name);
        let steps: Vec<&str> = BUILT_IN.0.iter().filter(knows).map(|step| step.name).collect();
        let (name, kind, about) = (parameter.name, parameter.kind.describe(), parameter.about);
        let scales = if parameter.scales { "; shrinks with the target's scale" } else { "" };
        let default = parameter.default.map_or_else(String::new, |default| format!("; default {default}"));
        let _ = writeln!(text, "  {name:<14} {about} ({kind}; {}{scales}{default})", steps.join(", "));
    }
    text
}
