//! What the user reads. Results go to standard output, everything else to standard error.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::error::{ContextKind, ContextValue};
use plimsoll_engine::foreign::shown;
use plimsoll_engine::target::mask_urls;
use plimsoll_measurement::{exit, foreign};
use plimsoll_report::terminal::Style;

use crate::args::{Arguments, Color};
use crate::failure::Failure;
use crate::messages::Messages;
use crate::outlet::{Outlet, Patience};

/// Where results, remarks and errors go, and whether in colour.
#[derive(Debug, Clone)]
pub struct Printer {
    /// No remarks and no progress.
    pub quiet: bool,
    /// Every finished point is told.
    pub verbose: bool,
    /// How text for the terminal is drawn.
    pub style: Style,
    cut_off: Arc<AtomicBool>,
    /// What is held back while something else is on the screen.
    messages: Arc<Mutex<Option<Messages>>>,
    color_errors: bool,
    patience: Patience,
}

impl Printer {
    /// A printer by the user's wish, the environment and what the streams are.
    pub fn new(arguments: &Arguments) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forbidden = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let wanted = |terminal: bool| match arguments.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !forbidden && (terminal || set("CLICOLOR_FORCE")),
        };
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width =
            width.or_else(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col.into()));
        Self {
            quiet: arguments.quiet,
            verbose: arguments.verbose,
            cut_off: Arc::default(),
            messages: Arc::default(),
            style: Style {
                color: wanted(std::io::stdout().is_terminal()),
                width: width.filter(|width| *width >= 40).unwrap_or(110),
                full: false,
            },
            color_errors: wanted(std::io::stderr().is_terminal()),
            patience: Patience::default(),
        }
    }

    /// The same for who has other things to do than to wait for readers.
    pub fn hurried(&self) -> Self {
        Self { patience: Patience::Short, ..self.clone() }
    }

    /// True if progress can be drawn over itself.
    pub fn is_interactive() -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        std::io::stderr().is_terminal() && !dumb && !ci
    }

    /// A result as JSON. What is in it says the same, and drives no terminal.
    pub fn json(&self, document: &str) {
        self.write(&foreign::json(document));
    }

    /// A result. A reader that has gone away is no error.
    pub fn result(&self, text: &str) {
        self.write(&foreign::page_with_colours(text));
    }

    fn write(&self, text: &str) {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        if let Err(error) = Outlet::Output.say(&format!("{text}{end}"), self.patience)
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.cut_off.store(true, Ordering::Relaxed);
        }
    }

    /// Says a sentence, with a word in front of it that may have a colour, or holds it back.
    fn tell(&self, (label, color): (&str, &str), text: &str) {
        let plain = if label.is_empty() { text.to_owned() } else { format!("{label} {text}") };
        let line = if color.is_empty() || !self.color_errors {
            plain.clone()
        } else {
            format!("\u{1b}[{color}m{label}\u{1b}[0m {text}")
        };
        if let Some(held) = self.messages().as_mut() {
            held.push(plain, line);
            return;
        }
        self.write_error(&line);
    }

    fn write_error(&self, line: &str) {
        let _ = Outlet::Errors.say(&format!("{line}\n"), self.patience);
    }

    fn messages(&self) -> MutexGuard<'_, Option<Messages>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on remarks, warnings and errors of this printer and its copies are held back, as something else is on the screen.
    pub fn hold(&self) {
        self.messages().get_or_insert_default();
    }

    /// What was held back since the last look, without colours.
    pub fn look(&self, seen: &mut usize) -> Vec<String> {
        self.messages().as_ref().map_or_else(Vec::new, |held| held.since(seen))
    }

    /// The screen is free: says what was held back, and holds nothing back any more.
    pub fn release(&self) {
        let held = self.messages().take();
        held.iter().flat_map(Messages::lines).for_each(|line| self.write_error(&line));
    }

    /// True if a result could not be written in full.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::Relaxed)
    }

    /// A remark that isn't a result.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            self.tell(("", ""), &shown(text));
        }
    }

    /// A warning: shown even when quiet.
    pub fn warning(&self, text: &str) {
        self.tell(("warning:", "33"), &shown(text));
    }

    /// What the program, or one of several runs, failed with.
    pub fn failure(&self, failure: &Failure) {
        // What was typed may be repeated in it, and may hold a password, or anything.
        self.tell(("error:", "31"), &shown(&mask_urls(&failure.message)));
        if let Some(hint) = &failure.hint {
            self.tell(("hint:", ""), &shown(hint));
        }
    }

    /// A virtual clock has come to a stop: nothing would ever move again, so the program ends here.
    pub fn stalled(&self, sentence: &str) {
        let hint = "please report it with the command; 'plimsoll doctor' tells what works here";
        let failure = Failure::usage(format!("virtual time stands still: {sentence}")).code(exit::INTERNAL);
        self.failure(&failure.hint(hint));
        std::process::exit(exit::INTERNAL.into());
    }
}

/// Several values may follow `--target`, so that it takes the tests for some.
fn order_hint(error: &clap::Error) -> &'static str {
    let is_test = |value: &ContextValue| matches!(value, ContextValue::Strings(names) if names == &["<TEST>..."]);
    let lacks_test = error.kind() == clap::error::ErrorKind::MissingRequiredArgument
        && error.get(ContextKind::InvalidArg).is_some_and(is_test);
    if lacks_test {
        "hint: tests come first, as in 'plimsoll run TEST --target URL': what follows --target is taken for URLs\n"
    } else {
        ""
    }
}

/// What the argument parser says: help and version are results, the rest is an error of usage.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        let is_cut_off = printed.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe);
        if is_cut_off {
            let hint = "free some space on the disk of standard output";
            let _ = writeln!(std::io::stderr(), "error: the help could not be written in full\nhint: {hint}");
        }
        return ExitCode::from(if is_cut_off { exit::INCOMPLETE } else { exit::DONE });
    }
    // What was typed is repeated in it, and may hold a password.
    let _ = write!(std::io::stderr(), "{}{}", mask_urls(&error.render().to_string()), order_hint(error));
    ExitCode::from(exit::USAGE)
}
