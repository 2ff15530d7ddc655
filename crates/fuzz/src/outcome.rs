//! What came of the inputs of a target: where it panicked, and how long it took.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::json::Mutated;

/// Whoever takes so long by the wall's clock hangs, and is ended with the whole process.
const HANGS: Duration = Duration::from_mins(2);
/// Inputs that a shorter one is looked for with.
const SHRINKING: u32 = 2000;
/// Faults that are told.
const MOST_FAULTS: usize = 12;

thread_local! {
    /// `Some` while a target is tried in this thread: where it panicked and why.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics of targets quiet, as they are told in the end, and leaves all others as they are.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours = PANIC.with_borrow_mut(|heard| {
                let is_ours = heard.is_some();
                if let Some(heard) = heard {
                    let place = info.location().map(ToString::to_string).unwrap_or_default();
                    let message = info.payload_as_str().unwrap_or("a panic without words");
                    *heard = format!("{place}: {message}");
                }
                is_ours
            });
            if !is_ours {
                usual(info);
            }
        }));
    });
}

type Running = Arc<Mutex<Option<(Instant, String)>>>;

/// The inputs of a target, one after the other.
pub struct Trial {
    name: &'static str,
    seconds: f64,
    memory_mb: Option<f64>,
    /// Inputs by what went wrong with them.
    faults: BTreeMap<String, String>,
    running: Running,
}

impl Trial {
    pub fn new(name: &'static str, seconds: f64, memory_mb: Option<f64>) -> Self {
        hear_panics();
        let running = Running::default();
        let watched = Arc::downgrade(&running);
        thread::spawn(move || {
            while let Some(running) = watched.upgrade() {
                let hangs =
                    running.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|(since, input)| {
                        (since.elapsed() > HANGS).then(|| format!("{name} hangs with this input:\n{input}\n"))
                    });
                drop(running);
                if let Some(text) = hangs {
                    // Past the capture of the tests' output, which an abort would throw away.
                    drop(std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()));
                    std::process::abort();
                }
                thread::sleep(Duration::from_millis(500));
            }
        });
        Self { name, seconds, memory_mb, faults: BTreeMap::new(), running }
    }

    pub fn bytes(&mut self, input: &[u8], check: &impl Fn(&[u8])) {
        if let Some(fault) = self.fault(|| shown(input), || check(input)) {
            let kind = kind(&fault);
            if !self.faults.contains_key(&kind) {
                let short = self.shrunk(input, &kind, check);
                self.faults.insert(kind, format!("{fault}\n  {}", shown(&short)));
            }
        }
    }

    pub fn value(&mut self, input: &Mutated, check: &impl Fn(&Value)) {
        let show = || format!("changed: {}", input.changes.join("; "));
        if let Some(fault) = self.fault(show, || check(&input.value)) {
            self.faults.entry(kind(&fault)).or_insert_with(|| format!("{fault}\n  {}", show()));
        }
    }

    /// Fails if anything went wrong.
    ///
    /// # Panics
    /// With one input for each place that panicked.
    pub fn end(mut self) {
        if let (Some(most), Some(peak)) = (self.memory_mb, peak_mb())
            && peak > most
        {
            self.faults.insert("memory".to_owned(), format!("{peak:.0} MB of memory were taken, {most:.0} MB at most"));
        }
        let told: Vec<String> = self.faults.values().take(MOST_FAULTS).cloned().collect();
        assert!(told.is_empty(), "{}: {} faults:\n{}", self.name, self.faults.len(), told.join("\n"));
    }

    /// What goes wrong with an input.
    fn fault(&self, show: impl Fn() -> String, check: impl FnOnce()) -> Option<String> {
        let set = |now| *self.running.lock().unwrap_or_else(PoisonError::into_inner) = now;
        set(Some((Instant::now(), show())));
        PANIC.set(Some(String::new()));
        let start = cpu_seconds();
        let outcome = panic::catch_unwind(AssertUnwindSafe(check));
        let seconds = cpu_seconds() - start;
        let heard = PANIC.take();
        set(None);
        match outcome {
            Err(_) => heard,
            Ok(()) if seconds > self.seconds => Some(format!("slow: {seconds:.1} s of CPU time")),
            Ok(()) => None,
        }
    }

    /// The input without whatever can be left out so that the same goes wrong.
    fn shrunk(&self, input: &[u8], kind: &str, check: &impl Fn(&[u8])) -> Vec<u8> {
        let mut short = input.to_vec();
        let mut tries = if kind == SLOW { 0 } else { SHRINKING };
        let mut part = short.len().div_ceil(2);
        while part > 0 && tries > 0 {
            let mut at = 0;
            while at < short.len() && tries > 0 {
                tries -= 1;
                let mut shorter = short.clone();
                shorter.drain(at..(at + part).min(short.len()));
                let same =
                    self.fault(|| shown(&shorter), || check(&shorter)).is_some_and(|fault| self::kind(&fault) == kind);
                if same {
                    short = shorter;
                } else {
                    at += part;
                }
            }
            part /= 2;
        }
        short
    }
}

const SLOW: &str = "slow";

/// Faults in the same place are one.
fn kind(fault: &str) -> String {
    let parts = if fault.starts_with(SLOW) { 1 } else { 2 };
    fault.split(':').take(parts).collect::<Vec<_>>().join(":")
}

/// As a literal, so that it can be pasted into a test.
fn shown(input: &[u8]) -> String {
    match str::from_utf8(input) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("b\"{}\"", input.escape_ascii()),
    }
}

/// CPU time of this thread: how busy the machine is does not count.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    time.unwrap_or_default().as_secs_f64()
}

/// The most memory that this process ever had, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use crate::Target;

    fn faults(check: impl Fn(&str)) -> Option<String> {
        let target = Target::new("planted", 20_000).lines("size=10MB\nname=x").words(["size"]);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.texts(check)));
        outcome.err().map(|payload| payload.downcast_ref::<String>().expect("words").clone())
    }

    #[test]
    fn planted_faults_are_found_with_a_short_input() {
        assert_eq!(faults(|_| ()), None);
        let told = faults(|text| assert!(!text.contains("=-1"), "negative")).expect("found");
        assert!(told.contains("planted: 1 faults") && told.contains("negative\n  \"=-1\""), "{told}");
        let number = |text: &str| text.split('=').nth(1)?.trim_end_matches("MB").parse::<u64>().ok();
        let told = faults(|text| {
            let _ = number(text).map(|size| size.checked_mul(1 << 20).expect("overflow"));
        })
        .expect("found");
        assert!(told.contains("overflow") && told.contains("outcome.rs"), "{told}");
        let told = faults(|text| {
            let _ = text.char_indices().nth(4).map(|_| &text[..4]);
        })
        .expect("a cut through a character");
        assert!(told.contains("char boundary"), "{told}");
        let told = faults(|text| {
            assert!(!text.starts_with("size=size"), "one");
            assert!(!text.ends_with('\0'), "two");
        });
        assert!(told.expect("found").contains("2 faults"));
    }
}
