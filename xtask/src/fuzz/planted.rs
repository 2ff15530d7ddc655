//! Whether inputs find faults at all: known ones are planted in a copy of the sources, one after the other, and each has to be
//! found by its target.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Target, built, tried};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// A fault: the target that has to find it, and what of which file becomes what.
struct Fault {
    target: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn fault(target: &'static str, file: &'static str, from: &'static str, to: &'static str) -> Fault {
    Fault { target, file, from, to }
}

const FAULTS: &[Fault] = &[
    // An overflow, and a bound that is too wide.
    fault("sizes", "crates/measurement/src/units.rs", "whole.checked_mul(scale).filter", "Some(whole * scale).filter"),
    fault("sizes", "crates/measurement/src/units.rs", "value < 9.2e18", "value < 9.9e18"),
    // A word that doesn't end: it hangs.
    fault(
        "targets",
        "crates/engine/src/target/redact.rs",
        "rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())",
        "rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len())",
    ),
    // A text that is cut within a character.
    fault(
        "connection-strings",
        "crates/engines/mssql/src/ado.rs",
        "['\"', '\\''].contains(c)",
        "['\"', '\\'', 'é'].contains(c)",
    ),
    // Text that is lost.
    fault(
        "statements",
        "crates/engines/mssql/src/qualify.rs",
        "walk.run(&aliases).0\n",
        "walk.run(&aliases).0.replace('\\u{7f}', \"\")\n",
    ),
    // Lengths and counts that a server states are taken for granted.
    fault(
        "mysql-answers",
        "crates/engines/mysql/src/packet.rs",
        "self.0.split_at_checked(count).ok_or_else(malformed)?",
        "self.0.split_at(count)",
    ),
    fault(
        "mysql-answers",
        "crates/engines/mysql/src/connection.rs",
        ".filter(|columns| *columns <= MOST_COLUMNS)",
        ".filter(|columns| *columns <= u64::MAX)",
    ),
    fault(
        "postgres-answers",
        "crates/engines/postgres/src/wire_connection.rs",
        "self.0.split_at_checked(length).ok_or_else(malformed)?",
        "self.0.split_at(length)",
    ),
    // A check of the whole is left out.
    fault("hardware", "crates/hardware/src/spec/read.rs", "spec.check().map_err", "Ok(()).map_err"),
    // A division by nothing, at a scale that is more than a number of 32 bits holds.
    fault(
        "parameters",
        "crates/bench/src/parameters.rs",
        "u32::try_from(scale).unwrap_or(u32::MAX)",
        "u32::try_from(scale).unwrap_or(0)",
    ),
    // Sums that overflow on the faces.
    fault("records", "crates/report/src/build/kinds.rs", "*sum = sum.saturating_add(*count)", "*sum += *count"),
    fault(
        "records",
        "crates/report/src/build/plots_requests.rs",
        "counts_in(second).fold(0, u64::saturating_add)",
        "counts_in(second).sum::<u64>()",
    ),
];

/// Inputs of a parser and records that have to be enough.
const INPUTS: (u64, u64) = (300_000, 1_000);

/// Plants each fault and lets its target look for it; an error if one isn't found.
pub fn planted(targets: &[Target]) -> Outcome {
    let root = tasks::root();
    let copy = root.join("target/planted");
    copied(&root, &copy).map_err(|problem| {
        complain(&problem);
        tasks::INTERNAL
    })?;
    let mut missed = 0;
    for fault in FAULTS {
        let path = copy.join(fault.file);
        let text = fs::read_to_string(&path).map_err(|_| tasks::INTERNAL)?;
        let Some(target) = targets.iter().find(|target| target.name == fault.target) else {
            return Err(tasks::INTERNAL);
        };
        fs::write(&path, text.replacen(fault.from, fault.to, 1)).map_err(|_| tasks::INTERNAL)?;
        let inputs = if target.is_parser { INPUTS.0 } else { INPUTS.1 };
        let outcome = built(target, "fuzz", &copy).and_then(|program| tried(target, &program, inputs, 0));
        fs::write(&path, text).map_err(|_| tasks::INTERNAL)?;
        let is_found = outcome?.is_some();
        missed += u32::from(!is_found);
        say(&format!(
            "{}: {} -> {}: {}\n",
            fault.file,
            fault.from.trim(),
            fault.to.trim(),
            if is_found { "found" } else { "NOT FOUND" }
        ));
    }
    say(&format!("{} faults planted, {missed} not found\n", FAULTS.len()));
    if missed == 0 { Ok(()) } else { Err(1) }
}

/// The sources as they are, in a folder of their own; what is unchanged there keeps its time, so that little is built again.
fn copied(root: &Path, copy: &Path) -> Result<(), String> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z", "-co", "--exclude-standard"]).output();
    let listed = listed.map_err(|error| format!("git: {error}"))?;
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root.join(name), copy.join(name));
        let Ok(bytes) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        let folder = to.parent().unwrap_or(copy);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&to, bytes));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault that can't be planted would count as found by a build that fails.
    #[test]
    fn every_fault_has_its_place() {
        for fault in FAULTS {
            let text = fs::read_to_string(tasks::root().join(fault.file)).unwrap();
            assert!(text.contains(fault.from), "{} has no '{}'", fault.file, fault.from);
            assert!(super::super::TARGETS.iter().any(|target| target.name == fault.target), "{}", fault.target);
        }
        assert!(FAULTS.len() >= 10);
    }
}
