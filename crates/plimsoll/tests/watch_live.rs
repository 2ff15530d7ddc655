//! `plimsoll watch --live` in a terminal: a pseudo-terminal, and what a terminal makes of what is written there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use common::Scene;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use watched::{load, server};

/// So long is waited for what has to come.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal with a program in it.
struct Terminal {
    child: Child,
    keys: File,
    program: OwnedFd,
    written: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

impl Terminal {
    fn of(scene: &Scene, words: &[&str]) -> Self {
        Self::with_errors(scene, words, None)
    }

    /// One in which errors go to a file.
    fn with_errors(scene: &Scene, words: &[&str], errors: Option<File>) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let program = OwnedFd::from(File::options().read(true).write(true).open(path).unwrap());
        let mut command = scene.command(words);
        command.env("TERM", "xterm-256color").env_remove("COLUMNS");
        let end = || program.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(errors.map_or_else(end, OwnedFd::from));
        let keys = File::from(keys);
        resize(&keys, (60, 120));
        let child = command.spawn().unwrap();
        let (told, written) = channel();
        let mut reader = keys.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            // Once the program has ended, and we have let go of it too, there is an error.
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || told.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, program, written, parser: vt100::Parser::new(60, 120, 0) }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen is like that.
    #[track_caller]
    fn until(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is(self.parser.screen()) {
            match self.written.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(error) => panic!("{error} before {what}:\n{}", self.parser.screen().contents()),
            }
        }
    }

    #[track_caller]
    fn until_shown(&mut self, words: &str) {
        self.until(words, |screen| screen.contents().contains(words));
    }

    /// What stands on the screen once the program has ended, and its exit code. The terminal is as it was before.
    #[track_caller]
    fn ended(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap();
        let modes = tcgetattr(&self.program).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        drop(self.program);
        loop {
            match self.written.recv_timeout(PATIENCE) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the terminal was not let go of"),
            }
        }
        let screen = self.parser.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        (code, screen.contents())
    }
}

fn resize(terminal: &File, (rows, columns): (u16, u16)) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

#[test]
fn a_live_view_shows_what_costs_most_and_leaves_the_terminal_as_it_was() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let mut terminal = Terminal::of(&scene, &["watch", &url, "--every", "1s", "--live"]);
    terminal.until("the view", |screen| screen.alternate_screen() && screen.contents().contains("? help"));
    load(&server, 2_000);
    terminal.until_shown("INSERT INTO held SELECT generate_series($1, $2)");
    terminal.until_shown("costs most: ");
    terminal.press(" ");
    terminal.until_shown("PAUSED");
    terminal.press(" m");
    terminal.until_shown("Name of the present moment");
    terminal.press("release 12\r");
    terminal.until_shown("'release 12' is ");
    resize(&terminal.keys, (24, 80));
    terminal.parser.screen_mut().set_size(24, 80);
    terminal.until("the smaller view", |screen| screen.rows(0, 80).last().is_some_and(|last| last.contains("? help")));
    resize(&terminal.keys, (60, 120));
    terminal.parser.screen_mut().set_size(60, 120);
    terminal.until("the larger view", |screen| screen.rows(0, 120).last().is_some_and(|last| last.contains("? help")));
    terminal.press("q");
    let (code, shown) = terminal.ended();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("'INSERT INTO held SELECT generate_series($1, $2)' costs most: "), "{shown}");
    assert!(shown.contains("in 2,000 executions of "), "{shown}");
    let marks = scene.say(&["watch", "show", "--json"]).json().remove(0)["events"].to_string();
    assert!(marks.contains("release 12"), "{marks}");
}

#[test]
fn signals_end_it_with_their_code_and_warnings_come_at_the_end() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let words = ["watch", &url, "--every", "1s", "--live", "--fail-if", "active >= 0"];
    for (way, expected) in [("key", 130), ("signal", 143)] {
        let mut terminal = Terminal::of(&scene, &words);
        // A warning is shown in the view.
        terminal.until_shown("warning: 'active >= 0' is true: ");
        match way {
            "key" => terminal.press("\u{3}"),
            _ => kill_process(Pid::from_child(&terminal.child), Signal::TERM).unwrap(),
        }
        let (code, shown) = terminal.ended();
        assert_eq!(code, expected, "{shown}");
        assert!(shown.contains("warning: 'active >= 0' is true: ") && shown.contains("The workload of "), "{shown}");
        assert!(shown.contains("'active >= 0' was true in "), "{shown}");
    }
}

/// Whoever has hang-ups ignored wants the watch to outlive the terminal: it goes on without the view, and without spinning.
#[test]
fn a_terminal_that_is_gone_ends_the_view_and_not_the_watch() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let errors = scene.path("errors");
    let mut terminal = Terminal::with_errors(
        &scene,
        &["watch", &url, "--every", "1s", "--for", "6s", "--live"],
        Some(File::create(&errors).unwrap()),
    );
    terminal.until("the view", vt100::Screen::alternate_screen);
    let Terminal { mut child, keys, program, written, .. } = terminal;
    drop((keys, program, written));
    // The result could not be shown to anybody.
    let code = child.wait().unwrap().code();
    let said = std::fs::read_to_string(&errors).unwrap();
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("the live view ended, as the terminal can't be used: it is gone"), "{said}");
}

#[test]
fn without_a_terminal_it_is_said_what_to_use_instead() {
    let scene = Scene::new();
    let words = ["watch", "postgres://nowhere.invalid/d", "--live"];
    scene.say(&words).failed(2, &["--live", "no terminal", "--json"]);
    let both = scene.say(&[&words[..], &["--json"]].concat());
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{both:#?}");
}
