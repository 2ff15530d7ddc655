//! `plimsoll tests`: the built-in definitions, and what a definition may say.

use std::fmt::Write as _;

use plimsoll_bench::definition::{self, KEYS};
use plimsoll_bench::parameters::PARAMETERS;
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
    text
}

fn show(test: &str) -> Result<String, Failure> {
    let found = definition::find_builtin(test).map_err(Failure::usage)?;
    let mut text = found.text.clone();
    text.push_str("\n# Parameters, for --set and for a definition of your own:\n");
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.steps.iter().any(|step| found.steps.contains(step)))
    {
        let _ = writeln!(text, "#   {:<10} {} ({})", parameter.name, parameter.about, parameter.kind.describe());
    }
    Ok(text)
}

fn keys() -> String {
    let mut text = String::from("Keys of a definition:\n");
    for (key, about) in KEYS {
        let _ = writeln!(text, "  {key:<12} {about}");
    }
    text.push_str("\nParameters, under [parameters], [short] and [scaled]:\n");
    for parameter in PARAMETERS {
        let steps: Vec<&str> = parameter.steps.iter().map(|step| step.name()).collect();
        let (name, kind, about) = (parameter.name, parameter.kind.describe(), parameter.about);
        let scales = if parameter.scales { "; shrinks with the target's scale" } else { "" };
        let _ = writeln!(text, "  {name:<12} {about} ({kind}; {}{scales})", steps.join(", "));
    }
    text
}
