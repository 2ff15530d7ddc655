//! The tasks of the repository: tests, checks, bars, and comparisons with others and with earlier releases.

mod bars;
mod baseline;
mod child;
mod commits;
mod disks;
mod fuzz;
mod generators;
mod grammar;
mod induced;
mod matrix;
mod package;
mod pairs;
mod quiet;
mod sampling;
mod servers;
mod sessions;
mod stall;
mod tasks;
mod watched;

use std::env;
use std::process::ExitCode;

const HELP: &str = "\
The tasks of the repository.

  cargo xtask test [-- ARGUMENTS]   makes sure that PostgreSQL, MariaDB and the grammar of T-SQL are there, then runs
                                    `cargo test --workspace ARGUMENTS`; without ARGUMENTS, then the suites of all engines and
                                    of samplers on servers of other versions
  cargo xtask test --servers fast   the suites of all engines and of samplers on servers of other versions alone
  cargo xtask test --servers all|NAME,...
                                    everything of a driver on these servers, fetched before if need be
  cargo xtask test --engine mssql   the suite of all engines against the SQL Server of PLIMSOLL_TEST_MSSQL_URL
  cargo xtask trial [ARGUMENTS]     every test, counts by the server, and leases of two clients on the SQL Server of
                                    PLIMSOLL_TEST_MSSQL_URL; prints tables
  cargo xtask servers [--refresh] [NAME,...]
                                    fetches servers of other versions into a cache folder (PLIMSOLL_SERVERS) and starts each once
  cargo xtask grammar               fetches the grammar of T-SQL that tests use into a cache folder (PLIMSOLL_GRAMMAR)
  cargo xtask check                 formatting, lints, and licences where cargo-deny is installed
  cargo xtask memcheck              the lab's file system layer under valgrind
  cargo xtask package [--build] [ARGUMENTS OF cargo package]
                                    an archive of all packages; --build builds it in an empty folder
  cargo xtask bars [NAME]           the bars that the project holds itself to, of a subject or one by its name: figure, bar,
                                    pass, fail or not run
  cargo xtask bench [--baseline REVISION] [--pairs N] [--programs NOW BEFORE] [NAME...]
                                    speed beside that of an earlier commit, v0.1.0 if none is named, in interleaved pairs;
                                    1 if a bar is missed
  cargo xtask bench disk [--pairs N] [--seconds S] [--folder FOLDER] [CASE...]
                                    `plimsoll disk` beside fio on the same file, in interleaved pairs: operations a second, CPU
                                    for each, response times; 1 if a bar is missed
  cargo xtask bench commits [--pairs N] [--folder FOLDER]
                                    durable writes of a disk beside the commits of PostgreSQL on it, in interleaved pairs
  cargo xtask fuzz [TARGET] [--inputs N] [--seed N] [--coverage | --planted]
                                    tries inputs that are made out of valid ones: 10^7 for parsers, 10^5 records on all faces
                                    if not said; 1 if there is a panic, more than 1 s for an input, or more than 256 MB;
                                    --coverage says which lines of a target few inputs reach, by valgrind;
                                    --planted puts known faults into a copy of the sources and has them found
  cargo xtask compare-generators [--pairs N] [--seconds S] [--write] [--only TEXT]
                                    what a request costs the client, beside pgbench and sysbench, in interleaved pairs;
                                    --write puts the table into docs/GENERATORS.md
  cargo xtask sessions              memory of a session, with 2,000 of them on a stub and 200 on a real server
  cargo xtask stall                 the stall test: a frozen server, and what the percentiles say of it
  cargo xtask induced [--program FILE] [--seeds N,...] [--busy] [--minutes N] [--only TEXT] [--records FOLDER] [--tables]
                                    causes that are induced on real servers, with controls, and whether verdicts name them; needs
                                    root; a later call goes on with what was not tried; --busy with builds beside it;
                                    --tables shows what is known
  cargo xtask differences [--program FILE] [--seeds N,...] [--minutes N] [--only TEXT] [--tables]
                                    pairs of runs that differ by one thing, and of runs that don't, on real servers: whether the first
                                    forty lines of `compare` say which is better, what differs and what held the slower one back;
                                    needs root; a later call goes on
  cargo xtask foretold [--program FILE] [--only TEXT]
                                    what half as much again of a limit brings on PostgreSQL, predicted and measured; needs root;
                                    1 if a prediction is off
  cargo xtask matrix [--program FILE] [--write] [NAME,...]
                                    every test on every server, short and once, and requests against the server's own counts;
                                    --write puts the tables into docs/ENGINES.md
  cargo xtask sampling [--program FILE]
                                    what looking at a server once a second costs its throughput, in interleaved pairs
  cargo xtask watched [--program FILE]
                                    what `plimsoll watch` costs a server that knows 5,000 statements: its CPU time, how long questions
                                    take, and the throughput that is left
  cargo xtask help                  this text

Exit codes: that of the step that failed; 2 for wrong usage; 3 if something has to be installed first.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", "--engine", "mssql", rest @ ..] => tasks::test_mssql(rest),
        ["trial", rest @ ..] => tasks::trial(rest),
        ["test", "--servers", "fast"] => servers::fast(),
        ["test", "--servers", names] => servers::full(names),
        ["servers", rest @ ..] => servers::servers(rest),
        ["test", "--", rest @ ..] | ["test", rest @ ..] => tasks::test(rest),
        ["grammar"] => grammar::provide(),
        ["check"] => tasks::check(),
        ["package", rest @ ..] => package::package(rest),
        ["bars", rest @ ..] => bars::bars(rest),
        ["bench", "commits", rest @ ..] => commits::bench(rest),
        ["bench", "disk", rest @ ..] => disks::bench(rest),
        ["bench", rest @ ..] => baseline::bench(rest),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["memcheck"] => tasks::memcheck(),
        ["compare-generators", rest @ ..] => generators::compare(rest),
        ["sessions"] => sessions::sessions(),
        ["stall"] => stall::stall(),
        ["induced", rest @ ..] => induced::induced(rest),
        ["differences", rest @ ..] => induced::differences(rest),
        ["foretold", rest @ ..] => induced::foretold(rest),
        ["matrix", rest @ ..] => matrix::matrix(rest),
        ["sampling", rest @ ..] => sampling::sampling(rest),
        ["watched", rest @ ..] => watched::watched(rest),
        ["help" | "-h" | "--help"] => {
            say(HELP);
            Ok(())
        }
        _ => {
            complain(&format!("what is 'cargo xtask {}'?\n\n{HELP}", words.join(" ")));
            Err(tasks::USAGE)
        }
    };
    outcome.map_or_else(ExitCode::from, |()| ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "what was asked for goes to standard output")]
fn say(text: &str) {
    print!("{text}");
}

/// Tells the person in front of the terminal what is going on.
#[expect(clippy::print_stderr, reason = "a task talks to the person who started it")]
fn complain(text: &str) {
    eprintln!("{}", text.trim_end());
}
