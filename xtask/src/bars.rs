//! The bars that the project holds itself to, by subject: the figure, the bar, and whether it holds. What takes long or needs
//! more than the sources is not run here; the command that does is named.

mod answers;
mod bounds;
mod planning;
mod truth;
mod watching;

use std::fmt::Write as _;

use xtask::shape::{self, Source, circles, twins};

use crate::tasks::{self, Outcome};
use crate::{complain, say};

/// About the lines that the product had in release v0.1.0: 72,167, counted as here.
const PRODUCT_LINES: usize = 72_000;

/// A bar.
struct Bar {
    subject: &'static str,
    name: &'static str,
    /// What has to be.
    goal: &'static str,
    check: Check,
}

/// How it is found out whether a bar holds.
enum Check {
    /// From the product's sources, in a moment.
    Sources(fn(&[Source]) -> Figure),
    /// By a command of its own, for this reason.
    Command { command: &'static str, reason: &'static str },
    /// From what such a command has kept, if it was run.
    Kept { kept: fn() -> Option<Figure>, command: &'static str, reason: &'static str },
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
struct Figure {
    text: String,
    holds: bool,
    /// One line for each offence.
    offences: Vec<String>,
}

const MINUTES: &str = "takes minutes and a quiet machine";
const SERVER: &str = "needs a server, named by PLIMSOLL_TEST_MSSQL_URL";

const BARS: &[Bar] = &[
    Bar {
        subject: "house",
        name: "kept",
        goal: "the store of v0.1.0 says the same; the lab's records agree value by value, but for what is listed",
        check: Check::Command { command: "cargo test -p plimsoll --test kept", reason: "runs the program" },
    },
    Bar { subject: "house", name: "product-lines", goal: "at most 72,000", check: Check::Sources(product_lines) },
    Bar { subject: "house", name: "file-lines", goal: "no file over 500", check: Check::Sources(file_lines) },
    Bar { subject: "house", name: "circles", goal: "no circle of files", check: Check::Sources(circles_of_files) },
    Bar { subject: "house", name: "twins", goal: "no twins over 12 lines", check: Check::Sources(twins_of_code) },
    Bar {
        subject: "house",
        name: "fifth-engine",
        goal: "an engine in memory, in the testbed, of at most 500 lines passes the conformance suite; one line elsewhere names it",
        check: Check::Command {
            command: "cargo test --workspace --test conformance memory",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "house",
        name: "new-test",
        goal: "a modelled device with 32 operations in flight is one folder and one line; stored, compared, reported, drawn",
        check: Check::Command {
            command: "cargo test --workspace --test new_kind",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "house",
        name: "fold",
        goal: "a run killed at 200 random events and one finished fold to the same record up to that event",
        check: Check::Command {
            command: "cargo test -p plimsoll-measurement --lib fold",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "house",
        name: "client-cpu",
        goal: "client CPU a request at 8 sessions <= 1.0 x v0.1.0",
        check: Check::Command { command: "cargo xtask bench request", reason: MINUTES },
    },
    Bar {
        subject: "house",
        name: "recording",
        goal: "recording a request, without reading the clock, <= 50 ns",
        check: Check::Command { command: "cargo xtask bench recording recording-scheduled", reason: MINUTES },
    },
    Bar {
        subject: "house",
        name: "lab-verify",
        goal: "CPU of `lab verify`, of one level, <= 1.0 x v0.1.0",
        check: Check::Command { command: "cargo xtask bench lab-verify", reason: MINUTES },
    },
    Bar {
        subject: "house",
        name: "scale-test",
        goal: "CPU of the 120-minute scale test on the lab <= 1.0 x v0.1.0",
        check: Check::Command { command: "cargo xtask bench scale", reason: MINUTES },
    },
    Bar {
        subject: "house",
        name: "list",
        goal: "a list of 10,000 runs <= 50 ms",
        check: Check::Command { command: "cargo xtask bench list", reason: MINUTES },
    },
    Bar {
        subject: "house",
        name: "frozen",
        goal: "Ctrl-C ends a run whose server is frozen in <= 2 s with what was measured, ten times in each phase",
        check: Check::Command {
            command: "PLIMSOLL_FROZEN=10 cargo test --workspace --test frozen -- --nocapture --test-threads=1",
            reason: "needs servers and a quiet machine",
        },
    },
    Bar {
        subject: "house",
        name: "fuzz",
        goal: "10^7 inputs for parsers of bytes, 10^5 records on all faces: no panic, no hang over 1 s, <= 256 MB",
        check: Check::Command { command: "cargo xtask fuzz", reason: "takes hours" },
    },
    Bar {
        subject: "house",
        name: "package",
        goal: "the product builds from its packages alone",
        check: Check::Command { command: "cargo xtask package --build", reason: MINUTES },
    },
    Bar {
        subject: "disk",
        name: "beside-fio",
        goal: "random reads and writes of 8K, sequential reads of 256K and writes of 64K, durable writes: IOPS >= 1.0 x fio's; CPU of the \
               process for an I/O <= 0.75 x fio's, but for durable writes one at a time",
        check: Check::Command {
            command: "cargo xtask bench disk",
            reason: "takes minutes and a quiet machine with fio",
        },
    },
    Bar {
        subject: "safety",
        name: "ownership",
        goal: "10,000 look-alikes an engine (PostgreSQL, MySQL, MariaDB, SQLite, TDS): all that is ours goes, nothing else is touched",
        check: Check::Command {
            command: "PLIMSOLL_LOOKALIKES=10000 cargo test -p plimsoll-testbed --test lookalikes -- --nocapture --test-threads=1",
            reason: "takes hours; MySQL's with PLIMSOLL_TEST_SERVERS=mysql-9 as well",
        },
    },
    Bar {
        subject: "simulate",
        name: "pairs",
        goal: "40 drawn pairs of hardware: predicted from a run on one within 10 % of the run on the other in 32, the limit right in 36, the \
               run inside the interval in 36",
        check: Check::Command {
            command: "PLIMSOLL_PAIRS=40 cargo test --release -p plimsoll --test predicted -- --nocapture",
            reason: "takes minutes",
        },
    },
    Bar {
        subject: "simulate",
        name: "foretold",
        goal: "on PostgreSQL under quotas of CPU, reads and log writes: what half as much again brings is predicted within 20 %, or inside an \
               interval of 30 % at most to each side",
        check: Check::Command {
            command: "cargo xtask foretold",
            reason: "takes minutes, root and a machine that does nothing else",
        },
    },
    Bar {
        subject: "simulate",
        name: "layouts",
        goal: "rows 1 to 4 of the published layouts: requests/s within 10 %, log writes within 6 %, the longest wait right; row 5 held out",
        check: Check::Command {
            command: "cargo test --release -p plimsoll-simulate --test layouts",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "simulate",
        name: "queueing",
        goal: "networks whose answers are known: 95 % intervals cover in 90 % of 240 runs, bias <= 1 % (2 % at 0.9)",
        check: Check::Command {
            command: "cargo test --release -p plimsoll-simulate --test queueing",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "sqlserver",
        name: "grammar",
        goal: "every statement and 5,000 generated ones parse; ten planted errors are each caught",
        check: Check::Command {
            command: "cargo test -p plimsoll-mssql --lib grammar -- --nocapture",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "sqlserver",
        name: "every-test",
        goal: "every test runs or says what is absent; rows that the server counts are those of the record",
        check: Check::Command { command: "cargo xtask trial", reason: SERVER },
    },
    Bar {
        subject: "sqlserver",
        name: "two-clients",
        goal: "ten rounds of two clients: lease held, killed, taken, cleaned; never two in a workspace, nothing left",
        check: Check::Command { command: "cargo xtask trial a_lease_keeps", reason: SERVER },
    },
    Bar {
        subject: "sqlserver",
        name: "rights",
        goal: "with few rights each reading is there, or absent with the right that it needs",
        check: Check::Command {
            command: "cargo test -p plimsoll-mssql --lib tests::rights",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "sqlserver",
        name: "azure",
        goal: "what Azure refuses for a while is tried again, counted, and told apart",
        check: Check::Command {
            command: "cargo test -p plimsoll-mssql --lib tests::azure && cargo test -p plimsoll --test transient",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "sqlserver",
        name: "select-cpu",
        goal: "client CPU a point select <= 2.0 x our PostgreSQL path",
        check: Check::Command {
            command: "cargo bench -p plimsoll-bench --bench tds -- select 10 5 5000",
            reason: MINUTES,
        },
    },
    Bar {
        subject: "sqlserver",
        name: "self-test",
        goal: "at most 120 s",
        check: Check::Command { command: "plimsoll doctor mssql://... --self-test --allow-workspace", reason: SERVER },
    },
];

/// The bars of all files.
fn all() -> impl Iterator<Item = &'static Bar> {
    BARS.iter().chain(answers::BARS).chain(bounds::BARS).chain(planning::BARS).chain(truth::BARS).chain(watching::BARS)
}

/// Prints the bars of a subject or of a name, or all of them. Bars that are missed are told, and are no failure of the command.
pub fn bars(arguments: &[&str]) -> Outcome {
    let name = match arguments {
        [] => None,
        [name] => Some(*name),
        _ => {
            complain("cargo xtask bars [NAME]");
            return Err(tasks::USAGE);
        }
    };
    let chosen: Vec<&Bar> =
        all().filter(|bar| name.is_none_or(|name| name == bar.subject || name == bar.name)).collect();
    if chosen.is_empty() {
        let mut subjects: Vec<&str> = all().map(|bar| bar.subject).collect();
        subjects.dedup();
        let names: Vec<&str> = all().map(|bar| bar.name).collect();
        complain(&format!("subjects are {}; bars are {}", subjects.join(", "), names.join(", ")));
        return Err(tasks::USAGE);
    }
    let sources = shape::product(&tasks::root()).map_err(|error| {
        complain(&error);
        tasks::INTERNAL
    })?;
    say(&table(&chosen, &sources));
    Ok(())
}

fn table(bars: &[&Bar], sources: &[Source]) -> String {
    let mut text = String::new();
    let mut counts = [0, 0, 0];
    for bar in bars {
        let (found, command, reason) = match &bar.check {
            Check::Sources(measure) => (Some(measure(sources)), "", ""),
            Check::Command { command, reason } => (None, *command, *reason),
            Check::Kept { kept, command, reason } => (kept(), *command, *reason),
        };
        let (kind, state, figure, offences) = match found {
            Some(Figure { text, holds, offences }) => {
                (usize::from(!holds), if holds { "pass" } else { "FAIL" }, text, offences)
            }
            None => (2, "not run", format!("{reason}: {command}"), Vec::new()),
        };
        counts[kind] += 1;
        let _ = writeln!(text, "{:<8} {} {}: {figure}; bar: {}", state, bar.subject, bar.name, bar.goal);
        for offence in offences {
            let _ = writeln!(text, "           {offence}");
        }
    }
    let _ = writeln!(text, "{} pass, {} fail, {} not run", counts[0], counts[1], counts[2]);
    text
}

fn product_lines(sources: &[Source]) -> Figure {
    let lines: usize = sources.iter().map(Source::product_lines).sum();
    Figure { text: format!("{lines} lines"), holds: lines <= PRODUCT_LINES, offences: Vec::new() }
}

fn file_lines(sources: &[Source]) -> Figure {
    let offences = shape::too_long(sources);
    Figure { text: format!("{} files are longer", offences.len()), holds: offences.is_empty(), offences }
}

fn circles_of_files(sources: &[Source]) -> Figure {
    let found = circles::circles(sources);
    let files: usize = found.iter().map(Vec::len).sum();
    let offences = found.iter().flat_map(|circle| circles::told(circle)).collect();
    Figure { text: format!("{} circles of {files} files", found.len()), holds: found.is_empty(), offences }
}

fn twins_of_code(sources: &[Source]) -> Figure {
    let found = twins::twins(sources, twins::LONGEST_TWIN_LINES);
    let offences = found.iter().map(ToString::to_string).collect();
    Figure { text: format!("{} twins", found.len()), holds: found.is_empty(), offences }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_told_apart_from_subjects() {
        let mut names: Vec<&str> = all().map(|bar| bar.name).chain(["house", "sqlserver"]).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        let benches: Vec<&str> = BARS
            .iter()
            .filter_map(|bar| match bar.check {
                Check::Command { command, .. } => command.strip_prefix("cargo xtask bench "),
                Check::Sources(_) | Check::Kept { .. } => None,
            })
            .flat_map(|names| names.split(' '))
            .filter(|name| *name != "disk")
            .collect();
        assert_eq!(benches, crate::baseline::names());
    }

    #[test]
    fn what_is_missed_is_told_with_its_offences() {
        let long = Source { path: "crates/a/src/b.rs".to_owned(), text: "// b\n".repeat(501) };
        let bars: Vec<&Bar> =
            BARS.iter().filter(|bar| ["file-lines", "product-lines", "fold"].contains(&bar.name)).collect();
        let text = table(&bars, &[long]);
        assert!(text.contains("FAIL     house file-lines: 1 files are longer; bar: no file over 500\n           crates/a/src/b.rs: 501 lines\n"), "{text}");
        assert!(
            text.contains("pass     house product-lines: 501 lines") && text.ends_with("1 pass, 1 fail, 1 not run\n"),
            "{text}"
        );
    }

    #[test]
    fn the_bars_of_the_sources_can_be_measured() {
        let sources = shape::product(&tasks::root()).unwrap();
        assert!(sources.iter().any(|file| file.path == "crates/store/src/lib.rs"));
        let figure = product_lines(&sources);
        assert!(sources.len() > 100 && figure.text != "0 lines", "{figure:?}");
    }
}
