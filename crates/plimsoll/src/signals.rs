//! Ctrl-C and termination: the first one stops the run, keeps what was measured and removes what was made. The second
//! waits for nothing at the target any more, and the third ends the program wherever it is.

use std::thread;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_measurement::exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::printer::Printer;

/// Statements are cancelled again in this rhythm, because one may start just after it was cancelled.
const AGAIN: Duration = Duration::from_millis(200);

/// A server that hasn't obeyed after so long is no longer waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is measured is kept within so long after the second signal.
const GRACE: Duration = Duration::from_secs(2);

/// The exit code of a program that was interrupted; `None` if it wasn't.
pub fn exit_code(interrupt: &Interrupt) -> Option<u8> {
    interrupt.signal().map(|signal| if signal == SIGTERM { exit::TERMINATED } else { exit::INTERRUPTED })
}

/// Listens for signals until the program ends, and hands them to the interrupt.
pub fn listen(interrupt: &Interrupt, printer: &Printer) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::usage(format!("cannot listen for signals: {error}")))?;
    let (interrupt, printer) = (interrupt.clone(), printer.clone());
    thread::spawn(move || {
        for (before, signal) in signals.forever().enumerate() {
            if interrupt.signal().is_some() {
                // While it is cleaned up all that was measured is kept already.
                if before > 1 || interrupt.is_shielded() {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                printer.remark("ending: what was made at the target is left to 'plimsoll clean'");
                let hurried = interrupt.clone();
                thread::spawn(move || hurried.hurry());
                thread::spawn(move || {
                    thread::sleep(GRACE);
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                });
                continue;
            }
            printer.remark("stopping: what was measured is kept, what was made is removed (again to end at once)");
            let signal = if signal == SIGHUP { SIGTERM } else { signal };
            interrupt.trigger(signal);
            let repeated = interrupt.clone();
            thread::spawn(move || {
                while !repeated.is_shielded() {
                    repeated.cancel_running();
                    thread::sleep(AGAIN);
                }
            });
            let last = interrupt.clone();
            thread::spawn(move || {
                thread::sleep(PATIENCE);
                if !last.is_shielded() {
                    last.sever_running();
                }
            });
        }
    });
    Ok(())
}
