//! Runs the tests that make inputs out of valid ones, with many inputs and strict limits.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// A target: the crate that it is a test of, the test binary, and the test.
struct Target {
    name: &'static str,
    package: &'static str,
    /// A file of tests; else the tests inside the crate.
    file: Option<&'static str>,
    test: &'static str,
    /// Whether it reads plain text or bytes, of which many more can be tried.
    is_parser: bool,
}

const fn outside(name: &'static str, package: &'static str, is_parser: bool) -> Target {
    Target { name, package, file: Some("fuzz"), test: name, is_parser }
}

const fn inside(name: &'static str, package: &'static str, test: &'static str) -> Target {
    Target { name, package, file: None, test, is_parser: true }
}

const TARGETS: &[Target] = &[
    outside("sizes", "plimsoll-measurement", true),
    outside("targets", "plimsoll-engine", true),
    inside("postgres-urls", "plimsoll-postgres", "fuzz::urls"),
    inside("mysql-urls", "plimsoll-mysql", "fuzz::urls"),
    inside("mysql-answers", "plimsoll-mysql", "fuzz::answers"),
    inside("mssql-urls", "plimsoll-mssql", "fuzz::urls"),
    inside("connection-strings", "plimsoll-mssql", "fuzz::connection_strings"),
    inside("statements", "plimsoll-mssql", "fuzz::statements"),
    outside("definitions", "plimsoll-bench", true),
    outside("parameters", "plimsoll-bench", true),
    outside("hardware", "plimsoll-hardware", true),
    outside("records", "plimsoll-report", false),
];

/// Inputs of parsers, and records that are drawn on all faces, where nothing else is said.
const INPUTS: (u64, u64) = (10_000_000, 100_000);
/// What an input may take, and the process in the end.
const LIMITS: [(&str, &str); 2] = [("PLIMSOLL_FUZZ_SECONDS", "1"), ("PLIMSOLL_FUZZ_MEMORY_MB", "256")];

#[derive(Debug, PartialEq, Eq, Default)]
struct Options<'a> {
    target: Option<&'a str>,
    inputs: Option<u64>,
    seed: u64,
}

fn parse<'a>(arguments: &[&'a str]) -> Option<Options<'a>> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--inputs" => options.inputs = Some(rest.next()?.parse().ok()?),
            "--seed" => options.seed = rest.next()?.parse().ok()?,
            name => options.target = Some(TARGETS.iter().find(|target| target.name == name)?.name),
        }
    }
    Some(options)
}

/// Tries all targets or one; an error if any of them finds a fault.
pub fn fuzz(arguments: &[&str]) -> Outcome {
    let Some(options) = parse(arguments) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        complain(&format!("cargo xtask fuzz [TARGET] [--inputs N] [--seed N]\ntargets: {}", names.join(", ")));
        return Err(tasks::USAGE);
    };
    let mut faults = 0;
    for target in TARGETS.iter().filter(|target| options.target.is_none_or(|name| name == target.name)) {
        let inputs = options.inputs.unwrap_or(if target.is_parser { INPUTS.0 } else { INPUTS.1 });
        let program = built(target)?;
        let mut command = Command::new(program);
        command.args([target.test, "--exact"]).envs(LIMITS);
        command.env("PLIMSOLL_FUZZ_INPUTS", inputs.to_string()).env("PLIMSOLL_FUZZ_SEED", options.seed.to_string());
        let output = command.stdin(Stdio::null()).output().map_err(|_| tasks::INTERNAL)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let holds = output.status.success() && said.contains("1 passed");
        say(&format!(
            "{}: {inputs} inputs, seed {}: {}\n",
            target.name,
            options.seed,
            if holds { "none failed" } else { "FAULTS" }
        ));
        if !holds {
            faults += 1;
            say(&format!("{said}{}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    if faults == 0 { Ok(()) } else { Err(1) }
}

/// Builds the tests of a target, fast and with all checks.
fn built(target: &Target) -> Result<String, u8> {
    let mut command = tasks::cargo();
    command.args(["test", "--profile", "fuzz", "--no-run", "--message-format", "json", "-p", target.package]);
    match target.file {
        Some(file) => command.args(["--test", file]),
        None => command.arg("--lib"),
    };
    let output = command.stderr(Stdio::inherit()).output().map_err(|_| tasks::INTERNAL)?;
    let built = String::from_utf8_lossy(&output.stdout).lines().rev().find_map(executable);
    built.ok_or_else(|| {
        complain(&format!("the tests of {} can't be built", target.package));
        tasks::INTERNAL
    })
}

/// What cargo says that it has built.
fn executable(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    message["executable"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn arguments_are_read() {
        let options = parse(&["records", "--inputs", "12", "--seed", "7"]);
        assert_eq!(options, Some(Options { target: Some("records"), inputs: Some(12), seed: 7 }));
        assert_eq!(parse(&[]), Some(Options::default()));
        assert!(parse(&["unknown"]).is_none() && parse(&["--inputs", "x"]).is_none());
    }

    /// A target that is missing here would never be tried with many inputs.
    #[test]
    fn every_target_is_known_by_the_name_it_has_in_its_test() {
        let mut found = Vec::new();
        let mut folders = vec![tasks::root().join("crates")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("fuzz.rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let names = text.split("Target::new(").skip(1).filter_map(|rest| rest.split('"').nth(1));
                    found.extend(names.map(str::to_owned));
                }
            }
        }
        found.sort();
        let mut known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
