//! Ctrl-C and termination: the first one stops the run, keeps what was measured and removes what was made, all of it in the time that a
//! server is waited for. The second waits for nothing at the target any more, and the third ends the program wherever it is.

use std::thread;
use std::time::{Duration, Instant};

use plimsoll_bench::Interrupt;
use plimsoll_measurement::exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::printer::Printer;

/// Statements are cancelled again in this rhythm, because one may start just after it was cancelled. So often it is also told how much
/// time is left.
const AGAIN: Duration = Duration::from_millis(200);

/// So long a server is waited for in all, whatever is still to be done there: stopping, giving back, removing.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is measured is kept, and what is left is said, within so long after the second signal.
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
                if before > 1 {
                    end(&interrupt, &printer, signal);
                }
                printer.remark("ending: what was made at the target is left to 'plimsoll clean'");
                let (hurried, printer) = (interrupt.clone(), printer.clone());
                thread::spawn(move || {
                    hurried.give_up();
                    thread::sleep(GRACE);
                    end(&hurried, &printer, signal);
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
            let waiting = interrupt.clone();
            thread::spawn(move || wait(&waiting));
        }
    });
    Ok(())
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
