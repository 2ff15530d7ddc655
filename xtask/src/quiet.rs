//! Commands whose output nobody wants to see unless they fail.

use std::process::Command;

/// A download that takes longer will not end.
const LONGEST_SECONDS: &str = "600";

/// A program that is given up after a while.
pub fn limited(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args([LONGEST_SECONDS, program]);
    command
}

/// Runs a command to its end; what it said, or the line with the reason why it failed.
pub fn quiet(command: &mut Command) -> Result<String, String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let name = words.map(|word| word.to_string_lossy()).find(|word| word != "timeout" && word != LONGEST_SECONDS);
    let name = name.unwrap_or_default().into_owned();
    let output = command.output().map_err(|error| format!("{name} could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(said.into_owned());
    }
    let all = format!("{}\n{said}", String::from_utf8_lossy(&output.stderr));
    Err(format!("{name} failed: {}", reason(&all)))
}

/// The line of a program's complaints that says most.
fn reason(said: &str) -> &str {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let begins = |line: &&str| ["[ERROR]", "E:", "error:"].iter().any(|begin| line.starts_with(begin));
    lines().find(begins).or_else(|| lines().next_back()).unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_its_own_words() {
        let error = quiet(limited("sh").args(["-c", "echo one; echo 'E: no such suite' >&2; echo two; exit 1"]));
        assert_eq!(error.unwrap_err(), "sh failed: E: no such suite");
        assert_eq!(quiet(limited("sh").args(["-c", "exit 1"])).unwrap_err(), "sh failed: it said nothing");
    }
}
