//! Peers that mean harm, at every stage of every protocol: the program ends by its time-outs, in little memory, without a panic, and shows
//! neither the secret nor a control character.
//!
//! `PLIMSOLL_HOSTILE=all cargo test -p plimsoll --test hostile -- --nocapture` tries all of them and prints the figures; without that, some.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::Scene;
use plimsoll_measurement::foreign::is_harmful;
use plimsoll_testbed::hostile::{Act, Case, Peer, Protocol, Stage, Tls, cases, encoded};
use plimsoll_testbed::tds::Identity;
use rustix::process::{Pid, Signal, kill_process};

/// Everybody knows it, and nobody may see it.
const SECRET: &str = "pl4nted/s3cret@&1";
/// The bars: memory, and the time after Ctrl-C.
const MOST_BYTES: u64 = 256 << 20;
const AFTER_CTRL_C: Duration = Duration::from_secs(2);
/// Seconds of a log-in, as the target says, and of a question after it, which has thirty times as long.
const LOG_IN: u64 = 1;
const QUESTION: u64 = 30 * LOG_IN;
/// What starting, ending, and a machine with other things to do may take beyond that.
const MARGIN: Duration = Duration::from_secs(20);
/// Programs at a time.
const AT_ONCE: usize = 6;

/// What a program came to.
struct Met {
    took: Duration,
    bytes: u64,
    offences: Vec<String>,
}

/// How the line is protected: the parameters of the target, and whether the peer has TLS.
fn modes(protocol: Protocol, certificate: &str) -> Vec<(String, bool)> {
    let mode = |parameters: &str, has_tls| (parameters.to_owned(), has_tls);
    match protocol {
        Protocol::Postgres => vec![mode("sslmode=disable", false), mode("sslmode=require", true)],
        Protocol::MySql => vec![mode("ssl-mode=DISABLED", false), mode("ssl-mode=REQUIRED", true)],
        Protocol::Tds => vec![
            mode("encrypt=false", false),
            mode("encrypt=true&trustServerCertificate=true", true),
            mode(&format!("encrypt=true&serverCertificate={certificate}"), true),
        ],
    }
}

fn url(protocol: Protocol, port: u16, parameters: &str) -> String {
    let (scheme, timeout) = match protocol {
        Protocol::Postgres => ("postgres", "connect_timeout"),
        Protocol::MySql => ("mysql", "connect-timeout"),
        Protocol::Tds => ("mssql", "connectTimeout"),
    };
    format!("{scheme}://ann@127.0.0.1:{port}/d?{timeout}={LOG_IN}&{parameters}")
}

/// The most memory that a process has had so far.
fn most_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // For a moment it is still a copy of this test.
    if !status.starts_with("Name:\tplimsoll\n") {
        return None;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Follows a program to its end, which has to come in time.
fn follow(child: &mut Child, most: Duration) -> (Duration, u64, Option<i32>) {
    let (start, mut bytes) = (Instant::now(), 0);
    loop {
        bytes = most_bytes(child.id()).unwrap_or(0).max(bytes);
        if let Some(status) = child.try_wait().unwrap() {
            return (start.elapsed(), bytes, status.code());
        }
        if start.elapsed() > most {
            child.kill().unwrap();
            child.wait().unwrap();
            return (start.elapsed(), bytes, None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn start(scene: &Scene, words: &[&str]) -> Child {
    let mut command = scene.command(words);
    command.env("PLIMSOLL_PASSWORD", SECRET);
    let output = |name: &str| Stdio::from(File::create(scene.path(name)).unwrap());
    command.stdout(output("out")).stderr(output("err")).spawn().unwrap()
}

/// What is wrong with what was printed and kept.
fn seen(scene: &Scene) -> Vec<String> {
    let mut offences = Vec::new();
    let encoded = encoded(SECRET);
    for entry in fs::read_dir(scene.folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if text.contains(SECRET) || text.to_uppercase().contains(&encoded) {
            offences.push(format!("{name} has the secret"));
        }
        if ["out", "err"].contains(&name.as_str()) {
            let harmful = text.chars().find(|c| is_harmful(*c) && *c != '\n');
            offences.extend(harmful.map(|c| format!("{name} has {c:?}")));
            offences.extend(text.contains("panicked").then(|| format!("{name}: {text}")));
            offences.extend((text.len() > 100_000).then(|| format!("{name} has {} bytes", text.len())));
        }
    }
    offences
}

/// Looks at a peer as anybody would, and waits for the end.
fn look(case: &Case, parameters: &str, tls: Option<Arc<Tls>>) -> Met {
    let scene = Scene::new();
    let peer = Peer::start(case, tls).unwrap();
    let url = url(case.protocol, peer.port(), parameters);
    let seconds = if case.stage == Stage::Answer { QUESTION } else { LOG_IN };
    let mut child = start(&scene, &["doctor", &url]);
    let (took, bytes, code) = follow(&mut child, Duration::from_secs(seconds) + MARGIN);
    let mut offences = seen(&scene);
    match code {
        Some(2..=7) => {}
        Some(code) => offences.push(format!("exit code {code}: {}", fs::read_to_string(scene.path("err")).unwrap())),
        None => offences.push("it did not end".to_owned()),
    }
    offences.extend((bytes > MOST_BYTES).then(|| format!("{} MB", bytes >> 20)));
    Met { took, bytes, offences }
}

/// Runs a test at a peer, and ends it by Ctrl-C when it waits.
fn interrupt(case: &Case, parameters: &str, tls: Option<Arc<Tls>>) -> Met {
    let scene = Scene::new();
    let peer = Peer::start(case, tls).unwrap();
    let url = url(case.protocol, peer.port(), parameters).replace("imeout=1", "imeout=60");
    let mut child = start(&scene, &["run", "read-scan", "--target", &url, "--json"]);
    // It has come to where it waits, or is over.
    thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (took, bytes, code) = follow(&mut child, MARGIN);
    let mut offences = seen(&scene);
    offences.extend(code.is_none().then(|| "it did not end".to_owned()));
    offences.extend((bytes > MOST_BYTES).then(|| format!("{} MB", bytes >> 20)));
    Met { took, bytes, offences }
}

/// True for who lets us wait for the time that a question has.
fn is_patient(case: &Case) -> bool {
    case.stage == Stage::Answer && matches!(case.act, Act::Nothing | Act::Once(_) | Act::Trickle(_))
}

/// Does something with all of these, several at a time, and gives what came of each.
fn all<T: Send, R: Send>(jobs: Vec<T>, work: impl Fn(&T) -> R + Sync) -> Vec<(T, R)> {
    let (jobs, done) = (Mutex::new(VecDeque::from(jobs)), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(job) = jobs.lock().unwrap().pop_front() else { return };
                    let result = work(&job);
                    done.lock().unwrap().push((job, result));
                }
            });
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn whoever_answers_takes_neither_our_time_nor_our_memory_nor_our_secret() {
    let is_all = std::env::var_os("PLIMSOLL_HOSTILE").is_some();
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::make("127.0.0.1", folder.path()).unwrap();
    let config = identity.config(false).unwrap();
    let certificate = folder.path().join("certificate.pem").display().to_string();
    let mut jobs = Vec::new();
    for protocol in Protocol::ALL {
        for case in cases(protocol, SECRET).into_iter().map(Arc::new) {
            for (parameters, has_tls) in modes(protocol, &certificate) {
                if has_tls || case.stage != Stage::Handshake {
                    jobs.push((Arc::clone(&case), parameters, has_tls.then(|| Arc::clone(&config))));
                }
            }
        }
    }
    let count = jobs.len();
    if !is_all {
        let few = jobs.into_iter().enumerate().filter(|(number, (case, ..))| number % 13 == 0 && !is_patient(case));
        jobs = few.map(|(_, job)| job).collect();
    }
    let tried = jobs.len();
    let waiting = |case: &Case| matches!(case.name, "silence" | "a message in trickles" | "notices without end");
    let waiters: Vec<_> = jobs.iter().filter(|(case, ..)| is_all && waiting(case)).cloned().collect();

    let met = all(jobs, |(case, parameters, tls)| look(case, parameters, tls.clone()));
    let stopped = all(waiters, |(case, parameters, tls)| interrupt(case, parameters, tls.clone()));
    let longest = |stage: fn(Stage) -> bool| {
        met.iter().filter(|((case, ..), _)| stage(case.stage)).map(|(_, met)| met.took).max().unwrap_or_default()
    };
    let most = met.iter().chain(&stopped).map(|(_, met)| met.bytes).max().unwrap_or_default();
    let slowest = stopped.iter().map(|(_, met)| met.took).max().unwrap_or_default();
    let _ = writeln!(
        io::stdout(),
        "{tried} of {count} cases: at most {} MB; log-ins ended within {:.1} s of {LOG_IN}, questions within {:.1} s of {QUESTION}; \
         {} interrupted within {:.1} s",
        most >> 20,
        longest(|stage| stage != Stage::Answer).as_secs_f64(),
        longest(|stage| stage == Stage::Answer).as_secs_f64(),
        stopped.len(),
        slowest.as_secs_f64(),
    );
    let mut offences: Vec<String> = Vec::new();
    for ((case, parameters, _), met) in met.iter().chain(&stopped) {
        let named =
            |offence: &String| format!("{:?} {:?} {} ({parameters}): {offence}", case.protocol, case.stage, case.name);
        offences.extend(met.offences.iter().map(named));
    }
    for ((case, parameters, _), met) in stopped.iter().filter(|(_, met)| met.took > AFTER_CTRL_C) {
        let took = met.took.as_secs_f64();
        offences.push(format!(
            "{:?} {:?} {} ({parameters}): Ctrl-C took {took:.1} s",
            case.protocol, case.stage, case.name
        ));
    }
    assert!(offences.is_empty(), "{} offences:\n{}", offences.len(), offences.join("\n"));
}
