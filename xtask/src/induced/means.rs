//! What is done to a server and to our client while a cause is tried. All of it ends when the value is dropped.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::causes::{Means, Other, Product};
use super::limits::{self, Group, Limit};
use super::proxy::{Manner, Proxy};
use super::server::Server;

/// How long others have something to do, in ms: longer than a run takes.
const OTHERS_MS: f64 = 60_000.0;

/// The means at work.
pub struct InForce<'a> {
    server: &'a Server,
    client: Group,
    proxy: Option<Proxy>,
    stops: Option<Stops>,
    others: Vec<Child>,
    back: Vec<String>,
    /// The server's groups.
    groups: Option<Group>,
}

impl<'a> InForce<'a> {
    /// Sets all of it up.
    pub fn set(server: &'a Server, means: &Means, seed: u64) -> Result<Self, String> {
        let none = std::collections::BTreeMap::new();
        let mut back = server.set(means.settings.get(server.product.family()).unwrap_or(&none))?;
        for statement in &means.statements {
            server.run(statement)?;
        }
        back.extend(means.undo.get(server.product.family()).cloned());
        let (data, log) = (Some(&server.data), Some(&server.log));
        let rates = [
            means.server_cpus.map(|cpus| (Limit::Cpus(cpus), None)),
            means.server_cores.map(|cores| (Limit::Cores(cores), None)),
            means.data_reads.map(|rate| (Limit::Reads(rate), data)),
            means.data_read_mb.map(|mb| (Limit::ReadBytes(mb * 1e6), data)),
            means.log_writes.map(|rate| (Limit::Writes(rate), log)),
            means.log_write_mb.map(|mb| (Limit::WriteBytes(mb * 1e6), log)),
            means.memory_mb.map(|mb| (Limit::MemoryMb(mb), None)),
        ];
        let groups = Group::hold("server", &rates.into_iter().flatten().collect::<Vec<_>>())?;
        groups.take(server.pid()?)?;
        let quota: Vec<_> = means.client_cpus.map(|cpus| (Limit::Cpus(cpus), None)).into_iter().collect();
        let client = Group::hold("client", &quota)?;
        if means.memory_mb.is_some() {
            limits::forget_cache()?;
        }
        let proxy = Self::proxy(server, means)?;
        let mut held = Self { server, client, proxy, stops: None, others: Vec::new(), back, groups: Some(groups) };
        server.slow.set(means)?;
        for (other, number) in means.others.iter().zip(1..) {
            held.others.push(works(server, other, seed.wrapping_mul(31) + number)?);
        }
        for statement in &means.warms {
            server.run(statement)?;
        }
        if let (Some(stop), Some(rest)) = (means.stop_ms, means.stop_rest_ms) {
            let (server, of_client) = (server.pid()?, means.stops_client);
            let who = move || if of_client { clients() } else { limits::tree(server) };
            held.stops = Some(Stops::start(who, stop, rest, seed));
        }
        Ok(held)
    }

    fn proxy(server: &Server, means: &Means) -> Result<Option<Proxy>, String> {
        if means.proxy_ms.is_none() && means.proxy_mb_per_s.is_none() {
            return Ok(None);
        }
        let manner = Manner {
            delay: Duration::from_secs_f64(means.proxy_ms.unwrap_or(0.0) / 2e3),
            bytes_per_s: means.proxy_mb_per_s.map(|mb| mb * 1e6),
            pool: means.proxy_pool,
        };
        Proxy::start(server.port(), manner).map(Some).map_err(|error| format!("no proxy: {error}"))
    }

    /// The target as our client sees it.
    pub fn target(&self) -> String {
        self.server.target(self.proxy.as_ref().map(Proxy::port))
    }

    /// A command that is held to the client's limits.
    pub fn command(&self, program: &std::path::Path) -> Command {
        let mut command = self.client.command(program);
        if self.proxy.is_some() {
            // Over the socket nobody is asked for one.
            command.env("PLIMSOLL_PASSWORD", self.server.password());
        }
        command
    }
}

impl Drop for InForce<'_> {
    fn drop(&mut self) {
        self.stops = None;
        self.groups = None;
        for other in &mut self.others {
            let _ = other.kill();
            let _ = other.wait();
        }
        // What fails here shows in the next run, which says so.
        let _ = self.server.slow.set(&Means::default());
        if !self.others.is_empty() {
            let _ = self.server.end_clients();
        }
        let _ = self.server.reset(&self.back);
    }
}

/// A session of somebody else at work.
fn works(server: &Server, other: &Other, seed: u64) -> Result<Child, String> {
    let sleep = |ms: f64| match server.product {
        Product::PostgreSql => format!("SELECT pg_sleep({:.4});\n", ms / 1e3),
        Product::MariaDb | Product::MySql => format!("DO SLEEP({:.4});\n", ms / 1e3),
    };
    let mut drawn = Drawn(seed);
    let (mut script, mut lasts) = (String::new(), 0.0);
    while lasts < OTHERS_MS {
        let (hold, rest) = if other.random {
            (other.hold_ms * drawn.half_to_more(), other.rest_ms * drawn.half_to_more())
        } else {
            (other.hold_ms, other.rest_ms)
        };
        // Writing to a String can't fail.
        let _ = writeln!(script, "{};", other.statements);
        if !other.release.is_empty() {
            let _ = writeln!(script, "{}{};", sleep(hold), other.release);
        }
        script.push_str(&sleep(rest));
        lasts += hold + rest;
    }
    let script = script.replace("ACCOUNTS", server.product.table());
    let said = |error: io::Error| format!("no other session: {error}");
    let mut file = tempfile::tempfile().map_err(said)?;
    io::Write::write_all(&mut file, script.as_bytes()).map_err(said)?;
    io::Seek::rewind(&mut file).map_err(said)?;
    server.client().stdin(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(said)
}

/// Random numbers by Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003) 14.
struct Drawn(u64);

impl Drawn {
    fn half_to_more(&mut self) -> f64 {
        self.0 ^= 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(self.0 | 1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        0.5 + (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn of(pid: u32) -> Option<Pid> {
    Pid::from_raw(pid.cast_signed())
}

/// The processes of our own program that run beside us.
fn clients() -> Vec<u32> {
    let is_ours =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("plimsoll"));
    limits::tree(std::process::id()).into_iter().filter(is_ours).collect()
}

/// Stops all processes of a server, or of our client, again and again.
struct Stops {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stops {
    fn start(who: impl Fn() -> Vec<u32> + Send + 'static, stop_ms: f64, rest_ms: f64, seed: u64) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        let mut drawn = Drawn(seed + 7);
        let thread = thread::spawn(move || {
            let signal = |signal| {
                for process in who() {
                    // One that has just ended needs no signal.
                    let _ = of(process).map(|process| kill_process(process, signal));
                }
            };
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_secs_f64(rest_ms * drawn.half_to_more() / 1e3));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                signal(Signal::STOP);
                thread::sleep(Duration::from_secs_f64(stop_ms * drawn.half_to_more() / 1e3));
                signal(Signal::CONT);
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Neighbours on the machine: a build at nice 19 and one at 0, without end until they are dropped.
pub struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Starts them.
    pub fn start(folder: &std::path::Path) -> Result<Self, String> {
        let source = folder.join("part.c");
        let mut text = String::new();
        for number in 0..2_000 {
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "int f{number}(int n) {{ int s = {number}; for (int i = 0; i < n; i++) s += s * i ^ (i % {}); return s; }}",
                number + 3
            );
        }
        fs::write(&source, text).map_err(|error| format!("no build beside: {error}"))?;
        let line = format!("while :; do cc -O2 -c -o /dev/null '{}'; done", source.display());
        let start = |nice: &str| {
            let mut command = Command::new("nice");
            // A group of its own, so that the compiler ends as well.
            command.args(["-n", nice, "sh", "-c", &line]).process_group(0).stdin(Stdio::null());
            command.spawn().map_err(|error| format!("no build beside: {error}"))
        };
        ["19", "0"].into_iter().map(start).collect::<Result<_, _>>().map(Self)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = of(child.id()).map(|group| kill_process_group(group, Signal::KILL));
            let _ = child.wait();
        }
    }
}
