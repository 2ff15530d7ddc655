//! Runs the tests that make inputs out of valid ones, with many inputs and strict limits.

mod coverage;
mod planted;

use std::path::Path;
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
    /// What is to be reached by its inputs: files, or how their paths begin.
    sources: &'static [&'static str],
}

const fn outside(name: &'static str, package: &'static str, sources: &'static [&'static str]) -> Target {
    Target { name, package, file: Some("fuzz"), test: name, is_parser: true, sources }
}

const fn inside(
    name: &'static str,
    package: &'static str,
    test: &'static str,
    sources: &'static [&'static str],
) -> Target {
    Target { name, package, file: None, test, is_parser: true, sources }
}

const TARGETS: &[Target] = &[
    outside("sizes", "plimsoll-measurement", &["crates/measurement/src/units.rs"]),
    outside("targets", "plimsoll-testbed", &["crates/engine/src/target/"]),
    inside("postgres-urls", "plimsoll-postgres", "fuzz::urls", &["crates/engines/postgres/src/url.rs"]),
    inside(
        "postgres-answers",
        "plimsoll-postgres",
        "fuzz::answers",
        &[
            "crates/engines/postgres/src/answer.rs",
            "crates/engines/postgres/src/connection.rs",
            "crates/engines/postgres/src/login.rs",
            "crates/engines/postgres/src/wire_connection.rs",
        ],
    ),
    inside("mysql-urls", "plimsoll-mysql", "fuzz::urls", &["crates/engines/mysql/src/url.rs"]),
    inside(
        "mysql-answers",
        "plimsoll-mysql",
        "fuzz::answers",
        &[
            "crates/engines/mysql/src/login.rs",
            "crates/engines/mysql/src/packet.rs",
            "crates/engines/mysql/src/rows.rs",
            "crates/engines/mysql/src/connection.rs",
        ],
    ),
    inside("mssql-urls", "plimsoll-mssql", "fuzz::urls", &["crates/engines/mssql/src/url.rs"]),
    inside(
        "mssql-answers",
        "plimsoll-mssql",
        "wire::tests::answers::strange_answers_are_refused",
        &["crates/engines/mssql/src/wire/sink.rs"],
    ),
    inside("connection-strings", "plimsoll-mssql", "fuzz::connection_strings", &["crates/engines/mssql/src/ado.rs"]),
    inside("statements", "plimsoll-mssql", "fuzz::statements", &["crates/engines/mssql/src/qualify.rs"]),
    outside("definitions", "plimsoll-bench", &["crates/bench/src/definition"]),
    outside("parameters", "plimsoll-bench", &["crates/bench/src/parameters"]),
    outside(
        "hardware",
        "plimsoll-hardware",
        &["crates/hardware/src/spec/read.rs", "crates/hardware/src/spec/table.rs", "crates/hardware/src/spec/value.rs"],
    ),
    Target { is_parser: false, ..outside("records", "plimsoll-report", &["crates/report/src/"]) },
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
    coverage: bool,
    planted: bool,
}

/// The least part of a target's lines that its inputs are to reach.
const REACHED: f64 = 0.9;
/// Inputs of a parser and records, where lines are counted: that takes fifty times as long.
const COUNTED: (u64, u64) = (3_000, 40);

fn parse<'a>(arguments: &[&'a str]) -> Option<Options<'a>> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--planted" => options.planted = true,
            "--coverage" => options.coverage = true,
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
        complain(&format!(
            "cargo xtask fuzz [TARGET] [--inputs N] [--seed N] [--coverage | --planted]\ntargets: {}",
            names.join(", ")
        ));
        return Err(tasks::USAGE);
    };
    if options.planted {
        return planted::planted(TARGETS);
    }
    let mut faults = 0;
    for target in TARGETS.iter().filter(|target| options.target.is_none_or(|name| name == target.name)) {
        if options.coverage {
            let inputs = options.inputs.unwrap_or(if target.is_parser { COUNTED.0 } else { COUNTED.1 });
            faults += u32::from(!covers(target, inputs)?);
            continue;
        }
        let inputs = options.inputs.unwrap_or(if target.is_parser { INPUTS.0 } else { INPUTS.1 });
        let program = built(target, "fuzz", &tasks::root())?;
        let fault = tried(target, &program, inputs, options.seed)?;
        let outcome = if fault.is_none() { "none failed" } else { "FAULTS" };
        say(&format!("{}: {inputs} inputs, seed {}: {outcome}\n", target.name, options.seed));
        if let Some(said) = fault {
            faults += 1;
            say(&said);
        }
    }
    if faults == 0 { Ok(()) } else { Err(1) }
}

/// Says how many of a target's lines its inputs reach; whether they are enough.
fn covers(target: &Target, inputs: u64) -> Result<bool, u8> {
    let program = built(target, "dev", &tasks::root())?;
    let coverage = coverage::measure(target, &program, inputs).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    let part = coverage.reached as f64 / coverage.lines as f64;
    say(&format!(
        "{}: {inputs} inputs reach {} of {} lines, {:.1} %\n",
        target.name,
        coverage.reached,
        coverage.lines,
        part * 100.0
    ));
    for missed in coverage.missed {
        say(&format!("  not reached: {missed}\n"));
    }
    Ok(part >= REACHED)
}

/// Runs the test of a target with so many inputs; what it says if it found a fault.
fn tried(target: &Target, program: &str, inputs: u64, seed: u64) -> Result<Option<String>, u8> {
    let mut command = Command::new(program);
    command.args([target.test, "--exact"]).envs(LIMITS);
    command.env("PLIMSOLL_FUZZ_INPUTS", inputs.to_string()).env("PLIMSOLL_FUZZ_SEED", seed.to_string());
    let output = command.stdin(Stdio::null()).output().map_err(|_| tasks::INTERNAL)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let holds = output.status.success() && said.contains("1 passed");
    Ok((!holds).then(|| format!("{said}{}", String::from_utf8_lossy(&output.stderr))))
}

/// Builds the tests of a target in the sources below `root`: `fuzz` is fast and has all checks.
fn built(target: &Target, profile: &str, root: &Path) -> Result<String, u8> {
    let mut command = tasks::cargo();
    command.current_dir(root);
    command.args(["test", "--profile", profile, "--no-run", "--message-format", "json", "-p", target.package]);
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
        assert_eq!(options, Some(Options { target: Some("records"), inputs: Some(12), seed: 7, ..Options::default() }));
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
                } else if path.ends_with("fuzz.rs") || path.ends_with("answers.rs") {
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
