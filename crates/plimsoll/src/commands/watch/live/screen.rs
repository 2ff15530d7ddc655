//! The terminal of a live view: it is taken, drawn on, asked for keys, and given back in every case.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_bench::Interrupt;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Position, Rect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use super::picture::picture;
use super::view::{LiveView, Press, Wish};
use crate::failure::Failure;
use crate::printer::Printer;

/// So long is a key waited for. News and the end are looked for as often.
const WAIT_FOR_KEY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Some thread has panicked, and the terminal was given back for what it says.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Keeps the present moment under a name, and says when it is.
pub type Mark = Box<dyn Fn(&str) -> Result<i64, Failure> + Send + Sync>;

/// What the view's thread and the one that watches have in common.
pub struct Shared {
    pub view: Mutex<LiveView>,
    /// `None` if nothing is kept.
    pub mark: Option<Mark>,
    pub interrupt: Interrupt,
    pub printer: Printer,
    /// Watching is over.
    pub is_over: AtomicBool,
    /// Somebody asked for the end, by no signal.
    pub is_asked: AtomicBool,
}

impl Shared {
    pub fn view(&self) -> MutexGuard<'_, LiveView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let is = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        is(&self.is_over) || is(&PANICKED) || self.interrupt.signal().is_some()
    }
}

/// Takes the terminal. A panic of any thread gives it back before it says anything.
///
/// # Errors
/// If it can't be drawn on.
pub fn take() -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init().inspect_err(|_| give_back())?;
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICKED.store(true, Ordering::SeqCst);
        before(panic);
    }));
    Ok(terminal)
}

/// Gives the terminal back as it was, as far as it can be.
pub fn give_back() {
    let _ = ratatui::try_restore();
}

/// Gives the terminal back, and says what was held back meanwhile.
struct Taken<'s>(&'s Printer);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !PANICKED.load(Ordering::SeqCst) {
            give_back();
        }
        self.0.release();
    }
}

/// Shows the view until watching is over or somebody asks for its end.
pub fn show(mut terminal: DefaultTerminal, shared: &Shared) {
    let taken = Taken(&shared.printer);
    let ended = run(&mut terminal, shared);
    match &ended {
        // The cursor is shown again.
        Ok(()) => drop(terminal),
        // It would say by itself that it can't show it.
        Err(_) => std::mem::forget(terminal),
    }
    drop(taken);
    if let Err(error) = ended {
        shared.printer.warning(&format!(
            "the live view ended, as the terminal can't be used: {error}; watching goes on, and Ctrl-C ends it with the summary"
        ));
    }
}

fn run(terminal: &mut DefaultTerminal, shared: &Shared) -> io::Result<()> {
    let mut heard = 0;
    while !shared.is_over() {
        let news = shared.printer.look(&mut heard);
        let area = Rect::from((Position::ORIGIN, terminal.size()?));
        // A terminal that stands still holds up nobody who has something to show.
        let drawn = {
            let mut view = shared.view();
            for message in &news {
                view.say(message);
            }
            view.resize(area);
            view.take_change().then(|| picture(&view))
        };
        if let Some(picture) = drawn {
            terminal.draw(|frame| {
                // One that was resized meanwhile is drawn with the next look.
                if frame.area() == picture.area {
                    *frame.buffer_mut() = picture;
                }
            })?;
        }
        wait_for_key()?;
        // Several may have come at once.
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && let Some(press) = press(key)
            {
                let wish = shared.view().press(press);
                if let Some(wish) = wish
                    && grant(wish, shared)?
                {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Waits for a key, but not long. A terminal that is gone is an error: who reads keys there would never come back.
fn wait_for_key() -> io::Result<()> {
    let (input, output) = (io::stdin(), io::stdout());
    let terminal = if input.is_terminal() { input.as_fd() } else { output.as_fd() };
    let mut looked_at = [PollFd::new(&terminal, PollFlags::IN)];
    match poll(&mut looked_at, Some(&WAIT_FOR_KEY)) {
        Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) if looked_at[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
            Err(io::Error::other("it is gone"))
        }
        Ok(_) => Ok(()),
    }
}

/// Does what a key asked for; true if that is the end.
fn grant(wish: Wish, shared: &Shared) -> io::Result<bool> {
    match wish {
        Wish::End => {
            shared.is_asked.store(true, Ordering::SeqCst);
            shared.interrupt.trigger(Signal::INT.as_raw());
            Ok(true)
        }
        // As if the terminal had sent it.
        Wish::Interrupt => kill_process(getpid(), Signal::INT).map(|()| true).map_err(io::Error::from),
        Wish::Mark(text) => {
            let marked = shared.mark.as_ref().map(|mark| mark(&text));
            let mut view = shared.view();
            match marked {
                Some(Ok(at_us)) => view.mark(at_us, &text),
                Some(Err(failure)) => view.say(&format!("error: {}", failure.message)),
                None => {}
            }
            Ok(false)
        }
    }
}

/// What a key means to the view; `None` if nothing.
fn press(key: KeyEvent) -> Option<Press> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if is_control => Press::Interrupt,
        KeyCode::Char(_) if is_control || key.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(sign) => Press::Sign(sign),
        KeyCode::Up => Press::Up,
        KeyCode::Down => Press::Down,
        KeyCode::PageUp => Press::PageUp,
        KeyCode::PageDown => Press::PageDown,
        KeyCode::Enter => Press::Enter,
        KeyCode::Esc => Press::Escape,
        KeyCode::Backspace => Press::Backspace,
        _ => return None,
    })
}
