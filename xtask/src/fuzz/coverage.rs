//! Which lines of what a target reads with its inputs reach, by valgrind: a build of tests with all its lines, and few inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Target;
use crate::tasks;
use xtask::shape::lexical::Bare;

/// Lines by the file that they are in.
type Lines = BTreeMap<String, BTreeSet<u32>>;

/// What inputs reached of a target's files.
pub struct Coverage {
    /// Lines with code that the program has.
    pub lines: usize,
    /// Those that were run.
    pub reached: usize,
    /// The others: file and lines.
    pub missed: Vec<String>,
}

/// Runs a target with so many inputs.
pub fn measure(target: &Target, program: &str, inputs: u64) -> Result<Coverage, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let costs = folder.path().join("costs");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", costs.display())).arg(program).args([target.test, "--exact"]);
    command.env("PLIMSOLL_FUZZ_INPUTS", inputs.to_string()).env("PLIMSOLL_FUZZ_SECONDS", "1000");
    let run = command.stdin(Stdio::null()).output().map_err(|error| format!("valgrind: {error}"))?;
    if !run.status.success() {
        return Err(format!("{} failed under valgrind:\n{}", target.name, String::from_utf8_lossy(&run.stdout)));
    }
    let costs = std::fs::read_to_string(costs).map_err(|error| error.to_string())?;
    let table = Command::new("objdump").args(["--dwarf=decodedline", program]).stderr(Stdio::null()).output();
    let table = table.map_err(|error| format!("objdump: {error}"))?;
    let is_ours = |path: &str| target.sources.iter().any(|source| path.starts_with(source));
    let reached = run_lines(&costs, &is_ours);
    let mut coverage = Coverage { lines: 0, reached: 0, missed: Vec::new() };
    for (file, lines) in code_lines(&String::from_utf8_lossy(&table.stdout), &is_ours) {
        let others = other_lines(&tasks::root().join(&file))?;
        let lines: BTreeSet<u32> = lines.difference(&others).copied().collect();
        let none = BTreeSet::new();
        let missed: BTreeSet<u32> = lines.difference(reached.get(&file).unwrap_or(&none)).copied().collect();
        coverage.lines += lines.len();
        coverage.reached += lines.len() - missed.len();
        if !missed.is_empty() {
            let missed: Vec<String> = missed.iter().map(ToString::to_string).collect();
            coverage.missed.push(format!("{file}: {}", missed.join(" ")));
        }
    }
    if coverage.lines == 0 { Err(format!("{} has no lines", target.name)) } else { Ok(coverage) }
}

/// The path within the repository of a source that the compiler names in full or from there.
fn within(path: &str) -> Option<&str> {
    path.rfind("crates/").filter(|at| *at == 0 || path[..*at].ends_with('/')).map(|at| &path[at..])
}

/// Lines that were run, out of callgrind's file: `fl=`, `fi=` and `fe=` name the file of the lines that follow.
fn run_lines(costs: &str, is_ours: &dyn Fn(&str) -> bool) -> Lines {
    let (mut found, mut file) = (Lines::new(), None);
    for line in costs.lines() {
        if let Some(path) = ["fl=", "fi=", "fe="].iter().find_map(|mark| line.strip_prefix(mark)) {
            file = within(path).filter(|path| is_ours(path));
        } else if let (Some(file), Some(number)) = (file, line.split(' ').next().and_then(|word| word.parse().ok())) {
            found.entry(file.to_owned()).or_default().insert(number);
        }
    }
    found
}

/// Lines that have code, out of objdump's table: a path and a colon, then a name, a line and an address in each line.
fn code_lines(table: &str, is_ours: &dyn Fn(&str) -> bool) -> Lines {
    let (mut found, mut file) = (Lines::new(), None);
    for line in table.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(path), None, None) if path.ends_with(':') => {
                file = within(path.trim_end_matches(':')).filter(|path| is_ours(path));
            }
            (Some(_), Some(number), Some(address)) if address.starts_with("0x") => {
                if let (Some(file), Ok(number @ 1..)) = (file, number.parse()) {
                    found.entry(file.to_owned()).or_default().insert(number);
                }
            }
            _ => {}
        }
    }
    found
}

/// Lines of a file that are tests, or attributes, whose code is the compiler's.
fn other_lines(path: &Path) -> Result<BTreeSet<u32>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let before = |at: usize| text.chars().take(at).filter(|c| *c == '\n').count() as u32 + 1;
    let attributes =
        text.lines().zip(1..).filter(|(line, _)| line.trim_start().starts_with("#[")).map(|(_, number)| number);
    Ok(Bare::of(&text).tests.iter().flat_map(|(start, end)| before(*start)..=before(*end)).chain(attributes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_out_of_what_the_programs_print() {
        let is_ours = |path: &str| path.starts_with("crates/a/src");
        let costs = "fl=/x/crates/a/src/lib.rs\nfn=one\n12 3\ncalls=1 0\n13 9\nfi=/rustc/core.rs\n7 1\nfe=/x/crates/a/src/b.rs\n4 1\n";
        let expected = [("crates/a/src/b.rs", vec![4]), ("crates/a/src/lib.rs", vec![12, 13])];
        let expected: Lines =
            expected.into_iter().map(|(file, lines)| (file.to_owned(), lines.into_iter().collect())).collect();
        assert_eq!(run_lines(costs, &is_ours), expected);
        let table = "crates/a/src/b.rs:\nb.rs   4   0x10   x\nb.rs   0   0x12\n\n/rustc/core.rs:\ncore.rs  9  0x20  x\n\
                     /x/crates/a/src/lib.rs:\nlib.rs  12  0x30 x\nlib.rs 13 0x31\n";
        assert_eq!(code_lines(table, &is_ours), expected);
    }
}
