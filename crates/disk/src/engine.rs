//! By what operations are made: io_uring, or threads that block. Containers often forbid io_uring; then threads do the work, and the
//! record says so.

use std::fmt;

use plimsoll_engine::{Error, ErrorKind, Result};

/// By what operations are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// One ring for each thread, with all its operations under way.
    Uring,
    /// A thread for each operation under way.
    Pool,
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uring => "uring",
            Self::Pool => "pool",
        })
    }
}

/// What was chosen, and why not the other where that is worth saying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// By what operations are made.
    pub engine: IoEngine,
    /// Why there is no io_uring, where it was looked for.
    pub reason: Option<String>,
}

/// Words for `--engine`.
pub const WORDS: &[&str] = &["auto", "uring", "pool"];

/// Chooses by a word of [`WORDS`].
///
/// # Errors
/// If io_uring is asked for and can't be had, with the reason.
pub fn choose(word: &str) -> Result<Choice> {
    choose_by(word, available)
}

fn choose_by(word: &str, available: impl FnOnce() -> std::result::Result<(), String>) -> Result<Choice> {
    let chosen = |engine| Ok(Choice { engine, reason: None });
    match (word, available) {
        ("pool", _) => chosen(IoEngine::Pool),
        (word, available) => match available() {
            Ok(()) => chosen(IoEngine::Uring),
            Err(reason) if word == "uring" => {
                Err(Error::new(ErrorKind::Unsupported, format!("io_uring is not available: {reason}"))
                    .hint("--engine pool makes operations by threads that block"))
            }
            Err(reason) => Ok(Choice { engine: IoEngine::Pool, reason: Some(reason) }),
        },
    }
}

#[cfg(target_os = "linux")]
fn available() -> std::result::Result<(), String> {
    crate::ring::probe().map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => "this container or the setting kernel.io_uring_disabled forbids it (EPERM)".to_owned(),
        Some(libc::ENOSYS) => "the kernel has none (ENOSYS)".to_owned(),
        Some(libc::ENOMEM) => "the limit of locked memory is too low for it (ENOMEM)".to_owned(),
        _ => error.to_string(),
    })
}

#[cfg(not(target_os = "linux"))]
fn available() -> std::result::Result<(), String> {
    Err("it exists on Linux only".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_ring_threads_do_the_work_and_the_reason_is_kept() {
        let forbidden = || Err("forbidden (EPERM)".to_owned());
        let choice = choose_by("auto", forbidden).unwrap();
        assert_eq!((choice.engine, choice.reason.as_deref()), (IoEngine::Pool, Some("forbidden (EPERM)")));
        let error = choose_by("uring", forbidden).unwrap_err();
        assert_eq!(error.message, "io_uring is not available: forbidden (EPERM)");
        assert_eq!(choose_by("pool", || unreachable!("nobody asks")).unwrap().engine, IoEngine::Pool);
        assert_eq!(choose_by("auto", || Ok(())).unwrap(), Choice { engine: IoEngine::Uring, reason: None });
    }
}
