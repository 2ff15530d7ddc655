//! Ctrl-C and termination: the first one stops the run, keeps what was measured and removes what was made, all of it in the time that a
//! server is waited for. The second waits for nothing at the target any more, and the third ends the program wherever it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use plimsoll_bench::Interrupt;
use plimsoll_engine::{Cancel, Error};
use plimsoll_measurement::exit;
use plimsoll_store::RunStore;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::heard::{self, PATIENCE};
use crate::printer::Printer;

/// Statements are cancelled again in this rhythm, because one may start just after it was cancelled. So often it is also told how much
/// time is left.
const AGAIN: Duration = Duration::from_millis(200);

/// What is measured is kept, and what is left is said, within so long after the second signal.
const GRACE: Duration = Duration::from_secs(2);

/// What is written beyond a limit of the shell on the size of files is an error from now on, as on a full disk, and no end.
pub fn survive_large_files() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// The exit code of a program that was interrupted; `None` if it wasn't.
pub fn exit_code(interrupt: &Interrupt) -> Option<u8> {
    interrupt.signal().map(exit::of_signal)
}

/// After a signal, and once all is done: what is still to be said has been given up by then, and the program ends as the signal ends it.
pub fn leave_in_time(interrupt: &Interrupt) {
    if let Some(signal) = interrupt.signal() {
        // Without a thread for it the end has no bound.
        let _ = start("leave", move || {
            thread::sleep(PATIENCE + GRACE);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        });
    }
}

/// A store that waits no longer for another process once there is a signal.
pub struct Hurries(pub Arc<RunStore>);

impl Cancel for Hurries {
    fn cancel(&self) {
        self.0.hurry();
    }
}

/// An error as the program's end, with the code of the signal if there was one.
pub fn failure(interrupt: &Interrupt, error: Error) -> Failure {
    let failure = Failure::from(error);
    match exit_code(interrupt) {
        Some(code) => failure.code(code),
        None => failure,
    }
}

/// Listens for signals until the program ends, and hands them to the interrupt. The threads for what is to be done then are there from the
/// beginning: when they are needed there may be none to be had.
pub fn listen(interrupt: &Interrupt, printer: &Printer) -> Result<(), Failure> {
    // Who had it ignored from the beginning (nohup) wants the run to outlive the terminal.
    let heard = if is_ignored(SIGHUP) { &[SIGINT, SIGTERM][..] } else { &[SIGINT, SIGTERM, SIGHUP] };
    let mut signals = Signals::new(heard).map_err(|error| {
        Failure::usage(format!("cannot listen for signals: {error}"))
            .code(exit::INCOMPLETE)
            .hint("see the limits of this shell: 'ulimit -a'")
    })?;
    heard::begin();
    // The system wakes the thread that began the program, if that may be woken for a signal, and one that waits for a disk that stands
    // still does not wake. So no thread may but one that waits for nothing else.
    let ours = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    let failed = |error: nix::Error| Failure::usage(format!("cannot choose who gets signals: {error}"));
    ours.thread_block().map_err(failed)?;
    let (stop, stopped) = channel::<()>();
    let (give_up, given_up) = channel::<i32>();
    // Whoever reads nothing must not keep signals from being heard.
    let printer = printer.hurried();
    let (of_cancels, of_time, of_end) = (interrupt.clone(), interrupt.clone(), (interrupt.clone(), printer.clone()));
    start("cancels", move || {
        if stopped.recv().is_ok() {
            while !of_cancels.is_shielded() {
                of_cancels.cancel_running();
                thread::sleep(AGAIN);
            }
        }
    })?;
    let (stop_time, time_stopped) = channel::<()>();
    start("time that is left", move || {
        if time_stopped.recv().is_ok() {
            wait(&of_time);
        }
    })?;
    start("end", move || {
        if let Ok(signal) = given_up.recv() {
            let (interrupt, printer) = &of_end;
            interrupt.give_up();
            thread::sleep(GRACE);
            end(interrupt, printer, signal);
        }
    })?;
    let interrupt = interrupt.clone();
    start("signals", move || {
        // If it can't be, signals wait, as they would for a disk.
        let _ = ours.thread_unblock();
        for (before, signal) in signals.forever().enumerate() {
            if interrupt.signal().is_some() {
                if before > 1 {
                    end(&interrupt, &printer, signal);
                }
                heard::note(signal);
                let _ = give_up.send(signal);
                printer.remark("ending at once: what may stay at the target is named, and 'plimsoll clean' removes it");
                continue;
            }
            heard::note(signal);
            interrupt.trigger(signal);
            let _ = (stop.send(()), stop_time.send(()));
            printer.remark("stopping, which may take some seconds (again to end at once)");
        }
    })
}

/// Whether a signal is ignored since before the program began, as far as the system shows that.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| {
        Failure::usage(format!("cannot start a thread: {error}"))
            .code(exit::INCOMPLETE)
            .hint("this user or container may have no more threads: see 'ulimit -u' and the limit of its tasks")
    })
}

/// Says how much time is left until there is none. While something must not be cut short none of it passes.
fn wait(interrupt: &Interrupt) {
    let mut end = Instant::now() + PATIENCE;
    while !interrupt.is_over() {
        if interrupt.is_held() {
            end = Instant::now() + PATIENCE;
        }
        let left = end.saturating_duration_since(Instant::now());
        interrupt.hurry(left);
        thread::sleep(left.min(AGAIN));
    }
}

/// Ends the program as the signal does by itself, and says before what may be left.
fn end(interrupt: &Interrupt, printer: &Printer, signal: i32) {
    if let Some(owed) = interrupt.owed() {
        printer.warning(&owed);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
