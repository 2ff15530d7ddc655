//! The way of all words out of the program. Whoever reads them may stop, as a terminal that stands still or a pager that is not scrolled. Then
//! they are waited for, but not for ever after a signal: what is to be removed would stay.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::TermLike;

use crate::heard;

/// How often is looked whether there was a signal. Once nobody read, nothing is waited for longer than that.
const AGAIN: Duration = Duration::from_millis(200);
/// How long somebody waits who has other things to do.
const SHORT: Duration = Duration::from_millis(500);
/// True once words were given up.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// One of the program's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlet {
    /// Results.
    Output,
    /// All else.
    Errors,
}

/// How long readers are waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// For ever, and after a signal as long as for a server.
    #[default]
    UntilSignal,
    /// Half a second, by who has other things to do.
    Short,
}

impl Outlet {
    /// Writes these words and waits until they are read, or at least under way to whoever reads.
    ///
    /// # Errors
    /// If they could not be written, or nobody read them.
    pub fn say(self, words: &str, patience: Patience) -> io::Result<()> {
        let words = words.to_owned();
        in_time(move || self.write(&words), patience)
    }

    fn write(self, words: &str) -> io::Result<()> {
        match self {
            Self::Output => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(words.as_bytes())?;
                stdout.flush()
            }
            Self::Errors => io::stderr().write_all(words.as_bytes()),
        }
    }
}

/// Writes to a pipe or a device, of which nobody knows when it takes words.
///
/// # Errors
/// As [`Outlet::say`].
pub fn pour(file: File, words: &str) -> io::Result<()> {
    let words = words.to_owned();
    in_time(move || (&file).write_all(words.as_bytes()), Patience::UntilSignal)
}

/// Lets a thread write, and waits for it.
fn in_time(write: impl Fn() -> io::Result<()> + Send + Sync + 'static, patience: Patience) -> io::Result<()> {
    if !heard::listens() {
        // A signal ends the program by itself.
        return write();
    }
    let Ok((told, end)) = told() else { return write() };
    let (write, (done, result)) = (Arc::new(write), channel());
    let of_teller = Arc::clone(&write);
    let teller = thread::Builder::new().name("words".to_owned()).spawn(move || {
        let _ = done.send(of_teller());
        drop(end);
    });
    if teller.is_err() {
        return write();
    }
    if told.wait(patience) {
        return result.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    }
    UNREAD.fetch_or(patience == Patience::UntilSignal, Ordering::Relaxed);
    Err(io::ErrorKind::TimedOut.into())
}

/// What a thread that writes to readers is waited for by. Whoever waits for a lock, a channel or a thread would stop a virtual clock, which sees
/// that from outside.
#[derive(Debug)]
pub struct Told(UnixStream);

/// The same, and what ends the wait when it is dropped.
///
/// # Errors
/// If this process may have no more files open.
pub fn told() -> io::Result<(Told, UnixStream)> {
    let (here, end) = UnixStream::pair()?;
    here.set_read_timeout(Some(AGAIN))?;
    Ok((Told(here), end))
}

impl Told {
    /// Waits for the end; false if it did not come in time.
    pub fn wait(mut self, patience: Patience) -> bool {
        let since = Instant::now();
        loop {
            match self.0.read(&mut [0]) {
                Ok(_) => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if is_over(since, patience) => return false,
                Err(_) => {}
            }
        }
    }
}

fn is_over(since: Instant, patience: Patience) -> bool {
    let is_short = patience == Patience::Short && since.elapsed() >= SHORT;
    UNREAD.load(Ordering::Relaxed) || heard::is_past_patience(since) || is_short
}

/// A terminal at the standard error, on which progress is drawn.
#[derive(Debug, Default)]
pub struct Terminal(Mutex<String>);

impl Terminal {
    fn draw(&self, signs: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(signs);
    }

    fn moved(&self, by: usize, way: char) {
        if by > 0 {
            self.draw(&format!("\u{1b}[{by}{way}"));
        }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        // Some terminals say none.
        rustix::termios::tcgetwinsize(io::stderr())
            .ok()
            .map(|size| size.ws_col)
            .filter(|width| *width > 0)
            .unwrap_or(80)
    }

    fn move_cursor_up(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, by: usize) -> io::Result<()> {
        self.moved(by, 'D');
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.draw(&format!("{line}\n"));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.draw(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw("\r\u{1b}[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Outlet::Errors.say(&drawn, Patience::UntilSignal)
    }
}
