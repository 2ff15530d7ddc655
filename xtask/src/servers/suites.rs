//! The tests that run on fetched servers: for each version the ones whose statements depend on it, or all of its driver.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use plimsoll_testbed::{CHOICE, Product};

use super::{Ready, SERVERS, Server, Table, named, provide};
use crate::tasks::{INTERNAL, MISSING, Outcome, cargo};
use crate::{complain, say};

/// Tests of several engines, of which those of one are chosen by the name of their module.
const SHARED: [&str; 3] = ["conformance", "lookalikes", "samplers"];

/// Tests of the driver that use statements, accounts or defaults that MariaDB alone has.
const OF_MARIADB: [&str; 7] = [
    "a_load_is_longer_than_a_piece_and_a_row_than_a_packet",
    "a_server_says_who_it_is",
    "certificates_are_verified_as_far_as_asked",
    "every_way_to_prove_a_password_works",
    "requests_know_columns_that_nobody_named",
    "rights_that_are_missing_cost_what_depends_on_them_only",
    "what_is_the_users_is_never_removed",
];

/// What cargo said of the tests that it ran.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Adds a line such as `test result: ok. 3 passed; 1 failed; 0 ignored; …`; other lines count nothing.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for count in counts.split("; ") {
            let mut words = count.split(' ');
            let number = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// On every version the tests whose statements depend on it. One that can't be had is said, and no failure.
pub fn fast() -> Outcome {
    run(&SERVERS.iter().collect::<Vec<_>>(), false).map(drop)
}

/// On the servers of these names everything of their drivers; one that can't be had is a failure in the end.
pub fn full(names: &str) -> Outcome {
    let is_complete = run(&named(names)?, true)?;
    if is_complete { Ok(()) } else { Err(MISSING) }
}

fn run(servers: &[&'static Server], everything: bool) -> Result<bool, u8> {
    let mut table = Table::default();
    let mut worst = Ok(());
    for server in servers {
        let outcome = match provide(server, false) {
            Err(reason) => Err(reason),
            Ok(ready) => {
                let start = Instant::now();
                let mut counts = Counts::default();
                for words in invocations(ready.installation.product, everything) {
                    worst = worst.and(tests(&ready, server.name, &words, &mut counts));
                }
                let Counts { passed, failed, ignored } = counts;
                let ignored = if ignored == 0 { String::new() } else { format!(", {ignored} ignored") };
                let seconds = start.elapsed().as_secs_f64();
                Ok(format!("{:<18} {passed} passed, {failed} failed{ignored} in {seconds:.0} s", ready.version))
            }
        };
        table.add(server.name, outcome);
    }
    table.say("Tests on fetched servers");
    worst.map(|()| table.is_complete())
}

/// Arguments of cargo, a list for each time it is run.
fn invocations(product: Product, everything: bool) -> Vec<Vec<&'static str>> {
    let (module, own, left_out): (_, &[&str], &[&str]) = match product {
        Product::PostgreSql => ("postgres::", &["postgres", "postgres_requests"], &[]),
        Product::MariaDb => ("mariadb::", &["mysql", "mysql_statements", "mariadb"], &[]),
        Product::MySql => ("mariadb::", &["mysql", "mysql_statements"], &OF_MARIADB),
    };
    let choose = |names: &[&'static str]| {
        let tests = names.iter().flat_map(|name| ["--test", name]);
        // With the whole workspace, so that nothing is built another time with other features.
        ["test", "--workspace", "--no-fail-fast"].into_iter().chain(tests).collect::<Vec<_>>()
    };
    let mut all = vec![[choose(&SHARED), vec!["--", module]].concat()];
    if everything {
        let skipped = left_out.iter().flat_map(|name| ["--skip", name]);
        all.push(choose(own).into_iter().chain(["--"]).chain(skipped).collect());
    }
    all
}

/// Runs cargo with a server chosen, shows what it says and counts.
fn tests(ready: &Ready, name: &str, words: &[&str], counts: &mut Counts) -> Outcome {
    say(&format!("On {name}, {}: cargo {}\n", ready.version, words.join(" ")));
    let mut command = cargo();
    command.args(words).env(CHOICE, name).stdout(Stdio::piped());
    with_programs(&mut command, ready);
    let mut child = command.spawn().map_err(|error| {
        complain(&format!("could not start cargo: {error}"));
        INTERNAL
    })?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            counts.add(&line);
            say(&format!("{line}\n"));
        }
    }
    let code = child.wait().ok().and_then(|status| status.code());
    match code {
        Some(0) => Ok(()),
        code => Err(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(INTERNAL)),
    }
}

/// A server's own client programs come before those of the machine. PostgreSQL's come without any.
fn with_programs(command: &mut Command, ready: &Ready) {
    if ready.installation.product == Product::PostgreSql {
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(ready.installation.programs()).chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_by_what_cargo_says() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 28 passed; 0 failed; 1 ignored; 0 measured; 56 filtered out; finished in 14.79s",
            "test postgres::transactions_hold ... ok",
            "test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        ] {
            counts.add(line);
        }
        assert_eq!(counts, Counts { passed: 35, failed: 2, ignored: 1 });
    }

    #[test]
    fn everything_has_the_fast_part_in_it() {
        for product in [Product::PostgreSql, Product::MariaDb, Product::MySql] {
            let (fast, all) = (invocations(product, false), invocations(product, true));
            assert!(fast.len() == 1 && all.len() == 2 && fast[0] == all[0], "{all:?}");
            assert!(
                fast[0].ends_with(&["--", if product == Product::PostgreSql { "postgres::" } else { "mariadb::" }])
            );
        }
    }
}
