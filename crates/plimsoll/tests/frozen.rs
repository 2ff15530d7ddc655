//! Ctrl-C while the server stands still: the run ends soon, whatever it waits for, with what was measured.
//!
//! `PLIMSOLL_FROZEN=10 cargo test --workspace --test frozen -- --nocapture --test-threads=1` does so ten times in each phase, and holds
//! the times against the bar; once, a slow machine has room. `PLIMSOLL_TEST_SERVERS` chooses other versions, and MySQL, whose programs have
//! to come first in `PATH`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Scene, said, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The bar of the measurement.
const BAR: Duration = Duration::from_secs(2);
/// What a machine with other things to do may take, once. Waiting for a log-in, or for the server's answer without end, would take longer.
const GENEROUS: Duration = Duration::from_secs(8);

/// What a run is doing when its server freezes.
struct Phase {
    name: &'static str,
    run: &'static [&'static str],
    /// What its statements have in them on PostgreSQL and on the other two...
    statements: [&'static str; 2],
    /// ... and in so many looks at the server.
    looks: usize,
    /// How many points are to be in the store before.
    points: usize,
    /// True if a program of the server's own makes them.
    has_tool: bool,
}

const PHASES: [Phase; 5] = [
    Phase {
        name: "load",
        run: &["read-scan", "--set", "volume=400MiB", "--set", "tables=8"],
        statements: ["COPY", "LOAD DATA"],
        looks: 1,
        points: 0,
        has_tool: false,
    },
    Phase {
        name: "scan",
        run: &["read-scan", "--set", "volume=96MiB", "--set", "tables=2", "--set", "cache=warm"],
        statements: ["SELECT count", "SELECT count"],
        looks: 1,
        points: 1,
        has_tool: false,
    },
    Phase {
        name: "chunk",
        run: &["write-chunk", "--set", "volume=800MiB"],
        statements: ["INSERT", "INSERT"],
        looks: 1,
        points: 1,
        has_tool: false,
    },
    Phase {
        name: "request",
        run: &["mix-b", "--set", "volume=2MiB", "--set", "duration=10m"],
        statements: ["UPDATE", "UPDATE"],
        // The point of a phase is made at its end.
        looks: 3,
        points: 0,
        has_tool: false,
    },
    Phase {
        name: "import",
        run: &["import", "--allow-create-database", "--set", "volume=96MiB", "--set", "tables=2"],
        statements: ["COPY", "INSERT"],
        looks: 1,
        // Of the dump.
        points: 1,
        has_tool: true,
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

    /// True if a run has such a statement under way.
    fn works(&self, [postgres, others]: [&str; 2]) -> bool {
        let said = match self {
            Self::Postgres(server) => server.psql(&format!(
                "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND application_name LIKE 'plimsoll%' \
                 AND query LIKE '%{postgres}%' AND query NOT LIKE '%TO stdout%'",
            )),
            Self::Other(server) => server.sql(&format!(
                "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE '%{others}%' AND ID <> CONNECTION_ID()"
            )),
        };
        !said.unwrap().trim().is_empty()
    }

    /// Its processes.
    fn pids(&self) -> Vec<Pid> {
        let number = match self {
            Self::Postgres(server) => server.pid(),
            Self::Other(server) => server.pid(),
        };
        let parent = number.unwrap();
        children(parent).into_iter().chain(Pid::from_raw(parent.cast_signed())).collect()
    }
}

fn children(parent: u32) -> Vec<Pid> {
    let mut list = Command::new("pgrep");
    let children = list.args(["--parent", &parent.to_string()]).stdout(Stdio::piped()).output().unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    children.lines().filter_map(|pid| Pid::from_raw(pid.trim().parse().unwrap())).collect()
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

/// How many points a run has.
fn points(record: &Value) -> usize {
    let repetitions = record["repetitions"].as_array().unwrap();
    repetitions.iter().map(|repetition| repetition["points"].as_array().unwrap().len()).sum()
}

/// Waits until a run has come to a phase; its tools.
fn come_to(scene: &Scene, server: &Server, phase: &Phase, child: &mut Child) -> Vec<Pid> {
    let pid = child.id();
    let mut lives = || assert!(child.try_wait().unwrap().is_none(), "{}: the run ended", phase.name);
    wait_until(|| {
        lives();
        let stored = phase.points > 0 && !scene.say(&["runs", "--json", "--limit", "1"]).out.is_empty();
        phase.points == 0 || stored && points(&scene.say(&["show", "latest", "--json"]).json()[0]) >= phase.points
    });
    let (mut looks, mut tools) = (0, Vec::new());
    wait_until(|| {
        lives();
        let works = server.works(phase.statements);
        tools = if phase.has_tool && works { children(pid) } else { Vec::new() };
        looks += usize::from(works && tools.is_empty() != phase.has_tool);
        looks >= phase.looks
    });
    tools
}

/// Interrupts a run whose server was frozen in the middle of a phase; how long it went on.
fn interrupted(server: &Server, phase: &Phase) -> Duration {
    let scene = Scene::new();
    let target = server.target();
    let words = [&["run"], phase.run, &["--target", &target, "--short", "--json", "--repetitions", "26"]].concat();
    let mut child = scene.spawn(&words);
    let tools = come_to(&scene, server, phase, &mut child);
    let frozen = Frozen::of(server);
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = said(&child.wait_with_output().unwrap());
    let took = begun.elapsed();
    assert_eq!(said.code, 130, "{said:#?}");
    let record = said.json().remove(0);
    assert_eq!(record["error"]["kind"], "interrupted", "{record}");
    assert!(points(&record) > 0 || phase.name == "load", "{}: {record}", phase.name);
    let shown = scene.say(&["show", "latest", "--json"]);
    assert_eq!(shown.json()[0]["repetitions"], record["repetitions"]);
    for tool in tools {
        assert!(!Path::new(&format!("/proc/{tool}")).exists(), "the program {tool} outlived us");
    }
    drop(frozen);
    let clean = || {
        assert_eq!(scene.say(&["clean", &target]).code, 0);
        scene.say(&["clean", &target]).out.contains("nothing")
    };
    wait_until(clean);
    took
}

fn tell(line: &str) {
    let mut out = io::stderr();
    writeln!(out, "{line}").unwrap();
}

fn ends_soon(name: &str, server: &Server) {
    let times = std::env::var("PLIMSOLL_FROZEN").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let limit = if times > 1 { BAR } else { GENEROUS };
    let mut missed = Vec::new();
    for phase in &PHASES {
        let mut all: Vec<Duration> = (0..times).map(|_| interrupted(server, phase)).collect();
        all.sort();
        let (median, worst) = (all[times / 2], all[times - 1]);
        let line = format!("{name}, {}: median {median:.2?}, worst {worst:.2?}", phase.name);
        tell(&line);
        missed.extend((worst > limit).then_some(line));
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_frozen_postgresql_holds_nothing_up() {
    ends_soon("PostgreSQL", &Server::postgres());
}

#[test]
fn a_frozen_mariadb_holds_nothing_up() {
    ends_soon("MariaDB or MySQL", &Server::mariadb());
}
