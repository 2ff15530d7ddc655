//! A process of Python that parses. It is told a text as a line of JSON and answers by a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::facts::Facts;
use super::offence::Offence;
use super::place::Place;
use crate::TestbedError;

/// What it runs.
pub(super) const SCRIPT: &str = include_str!("../../data/tsql/grammar.py");

#[derive(Debug)]
pub(super) struct Parser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Parser {
    pub(super) fn start(place: &Place) -> Result<Self, TestbedError> {
        let mut child = Command::new(place.python())
            // Isolated from settings of the user's, who may have such packages too.
            .args(["-I", "-c", SCRIPT])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(TestbedError::io("start the grammar of T-SQL"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| TestbedError::Grammar("it has no pipes".to_owned()))?;
        let mut parser = Self { child, input, output: BufReader::new(output) };
        parser.tell(&Facts::documented().told())?;
        Ok(parser)
    }

    /// What is wrong with a text.
    pub(super) fn check(&mut self, sql: &str) -> Result<Vec<Offence>, TestbedError> {
        self.tell(&serde_json::Value::from(sql).to_string())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(TestbedError::io("hear the grammar of T-SQL"))?;
        // What it complained about went to our own standard error.
        serde_json::from_str(&answer).map_err(|_| TestbedError::Grammar(format!("'{}' to '{sql}'", answer.trim())))
    }

    fn tell(&mut self, line: &str) -> Result<(), TestbedError> {
        writeln!(self.input, "{line}").map_err(TestbedError::io("ask the grammar of T-SQL"))
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        // It may have ended by itself; nobody is left to hear of it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
