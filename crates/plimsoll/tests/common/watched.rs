//! A PostgreSQL that counts its statements, and a watch of it.

#![allow(dead_code, reason = "every test file uses its own part of it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout};

use plimsoll_testbed::Postgres;
use rustix::process::{Pid, Signal, kill_process};

use super::common::Scene;

pub fn server() -> Postgres {
    server_with_room(5_000)
}

/// One that keeps so many statements.
pub fn server_with_room(most: usize) -> Postgres {
    let builder = Postgres::builder().setting("shared_preload_libraries", "pg_stat_statements");
    let builder = builder.setting("pg_stat_statements.max", &most.to_string());
    let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    server.psql("CREATE EXTENSION pg_stat_statements; CREATE TABLE held (k int)").unwrap();
    server
}

/// A watch that has begun, and its first line: what happens from now on is in the others.
pub fn begun(scene: &Scene, words: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = scene.spawn(words);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    (child, lines, first)
}

/// Ctrl-C, and what was still said.
pub fn interrupted(mut child: Child, mut lines: BufReader<ChildStdout>) -> (i32, String, String) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    lines.read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap(), out, err)
}

pub fn load(server: &Postgres, times: usize) {
    server.psql(&"INSERT INTO held SELECT generate_series(1, 3); ".repeat(times)).unwrap();
}
