//! `plimsoll watch --live`: what costs most now, on the whole terminal. The server is read as without it; the view has a thread of its own,
//! so that keys are heard while the server is waited for.

mod chart;
mod data;
mod detail;
mod help;
mod lines;
mod picture;
mod rows;
mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use plimsoll_bench::Interrupt;

pub use self::screen::Mark;
use self::screen::Shared;
pub use self::view::{LiveView, Setup};
use super::collector::Told;
use crate::failure::Failure;
use crate::outlet::{self, Patience};
use crate::printer::Printer;

/// An error if standard output is no terminal that can be drawn on.
pub fn check() -> Result<(), Failure> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if is_dumb || !std::io::stdout().is_terminal() {
        return Err(no_terminal("standard output is no terminal that can be drawn on"));
    }
    Ok(())
}

fn no_terminal(problem: &str) -> Failure {
    Failure::usage(format!("--live: {problem}"))
        .hint("without --live a line is printed for each slot, and with --json an object")
}

/// A view that is shown.
pub struct Live {
    shared: Arc<Shared>,
    /// The end of its thread.
    ended: Option<outlet::Told>,
}

impl Live {
    /// Takes the terminal and shows the view until the end, or until somebody asks for it by a key: the interrupt is triggered then. What
    /// the printer and its copies say meanwhile is held back, and shown in the view.
    ///
    /// # Errors
    /// If the terminal can't be drawn on.
    pub fn begin(
        view: LiveView,
        mark: Option<Mark>,
        interrupt: &Interrupt,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| no_terminal(&format!("the terminal can't be used: {error}"));
        let (ended, end) = outlet::told().map_err(failed)?;
        let shared = Arc::new(Shared {
            view: Mutex::new(view),
            mark,
            interrupt: interrupt.clone(),
            printer: printer.clone(),
            is_over: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
        });
        let terminal = screen::take().map_err(failed)?;
        printer.hold();
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("live view".to_owned()).spawn(move || {
            screen::show(terminal, &of_thread);
            drop(end);
        });
        thread.map_err(|error| {
            screen::give_back();
            printer.release();
            failed(error)
        })?;
        Ok(Self { shared, ended: Some(ended) })
    }

    /// Shows a slot as well.
    pub fn take(&self, told: &Told<'_>) {
        self.shared.view().take(told);
    }

    /// Gives the terminal back, and says what was held back. True if somebody asked for the end by a key that is no signal.
    pub fn end(mut self) -> bool {
        self.close();
        self.shared.is_asked.load(Ordering::SeqCst)
    }

    fn close(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        if let Some(ended) = self.ended.take() {
            ended.wait(Patience::UntilSignal);
        }
        self.shared.printer.release();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}
