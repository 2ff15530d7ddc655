//! Ctrl-C while the server stands still: the run ends soon, whatever it waits for, with what was measured. How soon is for
//! `measured_ten_times`, which says it for each phase; the other tests leave a slow machine room.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Scene, said, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The bar of the measurement.
const BAR: Duration = Duration::from_secs(2);
/// What a machine with other things to do may take, also where a log-in is on its way, which has ten seconds. Waiting for the
/// server's answer without end would take longer.
const GENEROUS: Duration = Duration::from_secs(20);
const TIMES: usize = 10;

/// What a run is doing when its server freezes.
struct Phase {
    name: &'static str,
    run: &'static [&'static str],
    /// What its statements begin with, perhaps behind settings, on PostgreSQL and on the other two.
    statements: [&'static str; 2],
    /// True if something has been measured by the second of these statements.
    measures: bool,
}

const PHASES: [Phase; 5] = [
    Phase {
        name: "load",
        run: &["read-scan", "--set", "volume=400MiB", "--set", "tables=8"],
        statements: ["COPY", "LOAD DATA"],
        measures: false,
    },
    Phase {
        name: "scan",
        run: &["read-scan", "--set", "volume=160MiB", "--set", "tables=4", "--set", "cache=warm"],
        statements: ["SELECT count", "SELECT count"],
        measures: true,
    },
    Phase {
        name: "chunk",
        run: &["write-chunk", "--set", "volume=800MiB"],
        statements: ["INSERT", "INSERT"],
        measures: true,
    },
    Phase {
        name: "request",
        run: &["mix-b", "--set", "volume=2MiB", "--set", "duration=10m"],
        statements: ["UPDATE", "UPDATE"],
        measures: false,
    },
    Phase {
        name: "import",
        run: &["import", "--allow-create-database", "--set", "volume=200MiB", "--set", "tables=4"],
        statements: ["COPY", "INSERT"],
        measures: true,
    },
];

enum Server {
    Postgres(Postgres),
    Other(MariaDb),
}

impl Server {
    fn postgres() -> Self {
        let builder = Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR"));
        Self::Postgres(builder.start().unwrap())
    }

    fn mariadb() -> Self {
        Self::Other(MariaDb::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap())
    }

    fn target(&self) -> String {
        match self {
            Self::Postgres(server) => server.socket_url("postgres"),
            Self::Other(server) => server.socket_url("test"),
        }
    }

    /// The statements that run now: how they begin, and what tells one from the other.
    fn statements(&self) -> Vec<String> {
        let said = match self {
            Self::Postgres(server) => server.psql(
                "SELECT concat(left(replace(query, chr(10), ' '), 60), md5(query)) FROM pg_stat_activity \
                 WHERE state = 'active' AND application_name LIKE 'plimsoll%' AND query NOT LIKE '%TO stdout%'",
            ),
            Self::Other(server) => server
                .sql("SELECT CONCAT(LEFT(REPLACE(INFO, '\\n', ' '), 60), MD5(INFO)) FROM information_schema.PROCESSLIST WHERE INFO > ''"),
        };
        said.unwrap().lines().map(str::to_owned).collect()
    }

    /// Its processes.
    fn pids(&self) -> Vec<Pid> {
        let number = match self {
            Self::Postgres(server) => server.pid(),
            Self::Other(server) => server.pid(),
        };
        let parent = number.unwrap().to_string();
        let children = Command::new("pgrep").args(["--parent", &parent]).stdout(Stdio::piped()).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let all = children.lines().chain([parent.as_str()]);
        all.filter_map(|pid| Pid::from_raw(pid.trim().parse().unwrap())).collect()
    }
}

/// All processes of a server, which stand still until it is dropped.
struct Frozen(Vec<Pid>);

impl Frozen {
    fn of(server: &Server) -> Self {
        // The one that starts others comes first: then there are no more.
        let parent = *server.pids().last().unwrap();
        kill_process(parent, Signal::STOP).unwrap();
        let frozen = Self(server.pids());
        frozen.signal(Signal::STOP);
        frozen
    }

    fn signal(&self, signal: Signal) {
        for pid in &self.0 {
            // One that has ended is of no interest.
            let _ = kill_process(*pid, signal);
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

/// Interrupts a run whose server was frozen in the middle of a phase; how long it went on.
fn interrupted(server: &Server, phase: &Phase) -> Duration {
    let scene = Scene::new();
    let target = server.target();
    let words = [&["run"], phase.run, &["--target", &target, "--short", "--json", "--repetitions", "2"]].concat();
    let child = scene.spawn(&words);
    let words_of_it = phase.statements[usize::from(matches!(server, Server::Other(_)))];
    let mut seen = BTreeSet::new();
    wait_until(|| {
        let now: Vec<String> = server.statements().into_iter().filter(|text| text.contains(words_of_it)).collect();
        let others = seen.len();
        seen.extend(now);
        seen.len() > others.max(usize::from(phase.measures))
    });
    let frozen = Frozen::of(server);
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = said(&child.wait_with_output().unwrap());
    let took = begun.elapsed();
    assert_eq!(said.code, 130, "{said:#?}");
    let record = said.json().remove(0);
    assert_eq!(record["error"]["kind"], "interrupted", "{record}");
    let points = |repetition: &Value| repetition["points"].as_array().unwrap().len();
    let measured: usize = record["repetitions"].as_array().unwrap().iter().map(points).sum();
    assert!(measured > 0 || !phase.measures, "{}: {record}", phase.name);
    let shown = scene.say(&["show", "latest", "--json"]);
    assert_eq!(shown.json()[0]["repetitions"], record["repetitions"]);
    drop(frozen);
    let clean = || {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        scene.say(&["clean", &target]).out.contains("nothing")
    };
    wait_until(clean);
    took
}

fn ends_soon(server: &Server) {
    for phase in &PHASES {
        let took = interrupted(server, phase);
        let _ = writeln!(std::io::stderr(), "{}: {took:.2?}", phase.name);
        assert!(took < GENEROUS, "{}: {took:?}", phase.name);
    }
}

#[test]
fn a_frozen_postgresql_holds_nothing_up() {
    ends_soon(&Server::postgres());
}

#[test]
fn a_frozen_mariadb_holds_nothing_up() {
    ends_soon(&Server::mariadb());
}

/// The figures of the bar `frozen`. `PLIMSOLL_TEST_SERVERS` chooses other versions.
#[test]
#[ignore = "takes many minutes and a quiet machine"]
fn measured_ten_times() {
    let mut missed = Vec::new();
    for (name, server) in [("PostgreSQL", Server::postgres()), ("MariaDB or MySQL", Server::mariadb())] {
        for phase in &PHASES {
            let mut times: Vec<Duration> = (0..TIMES).map(|_| interrupted(&server, phase)).collect();
            times.sort();
            let (median, worst) = (times[TIMES / 2], times[TIMES - 1]);
            let line = format!("{name}, {}: median {median:.2?}, worst {worst:.2?}", phase.name);
            let _ = writeln!(std::io::stderr(), "{line}");
            missed.extend((worst > BAR).then_some(line));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
