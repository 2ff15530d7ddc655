//! A password that is typed at a terminal. Signals count meanwhile, and however it ends the terminal shows again what is typed.

use std::fs::File;
use std::io::ErrorKind::Interrupted;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_engine::{Error, Secret};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::heard;

/// How often a signal is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The terminal as it was.
struct Terminal(Option<(File, Termios)>);

impl Terminal {
    fn now() -> Self {
        let terminal = File::open("/dev/tty").ok();
        Self(terminal.and_then(|file| tcgetattr(&file).ok().map(|was| (file, was))))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some((file, was)) = &self.0 {
            // One that is closed shows nothing anyway.
            let _ = tcsetattr(file, OptionalActions::Now, was);
        }
    }
}

/// Signals that end the program by themselves, held off as long as this lives.
struct HeldOff {
    is_over: Arc<AtomicBool>,
    came: Arc<AtomicUsize>,
}

impl HeldOff {
    fn new() -> Self {
        let held = Self { is_over: Arc::default(), came: Arc::default() };
        let by_themselves = if heard::listens() { &[SIGQUIT][..] } else { &[SIGINT, SIGTERM, SIGHUP, SIGQUIT] };
        for signal in by_themselves {
            // What can't be held off ends the program at once.
            let _ = flag::register_conditional_default(*signal, Arc::clone(&held.is_over));
            let _ = flag::register_usize(*signal, Arc::clone(&held.came), *signal as usize);
        }
        held
    }

    /// The one that came.
    fn came(&self) -> Option<i32> {
        i32::try_from(self.came.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }
}

impl Drop for HeldOff {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// Asks for a password; `unknown` is the error if none is typed.
///
/// # Errors
/// That, and an interrupt.
pub fn password(question: String, interrupt: &Interrupt, unknown: Error) -> Result<Secret, Error> {
    let terminal = Terminal::now();
    let held_off = HeldOff::new();
    let (sender, typed) = mpsc::channel();
    // It waits for a key for ever; a program that ends does not wait for it.
    let asks = move || drop(sender.send(rpassword::prompt_password(question)));
    if thread::Builder::new().name("prompt".to_owned()).spawn(asks).is_err() {
        return Err(unknown);
    }
    loop {
        match typed.recv_timeout(LOOK_EVERY) {
            Ok(Ok(typed)) => return Ok(Secret::new(typed)),
            Ok(Err(error)) if error.kind() == Interrupted => {
                drop((terminal, held_off));
                return stop(interrupt, SIGINT, unknown);
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(unknown),
            Err(RecvTimeoutError::Timeout) => interrupt.check()?,
        }
        if let Some(signal) = held_off.came() {
            drop((terminal, held_off));
            return stop(interrupt, signal, unknown);
        }
    }
}

/// Ends the program as the signal does.
fn stop<T>(interrupt: &Interrupt, signal: i32, unknown: Error) -> Result<T, Error> {
    if heard::listens() && signal == SIGINT {
        interrupt.trigger(signal);
        interrupt.check()?;
    }
    let _ = low_level::emulate_default_handler(signal);
    Err(unknown)
}
