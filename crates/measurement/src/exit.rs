//! The exit codes of the program, as the contract with scripts has them.

/// Done.
pub const DONE: u8 = 0;
/// A negative verdict: `compare --fail-on worse`, `lab verify`.
pub const NEGATIVE: u8 = 1;
/// Usage or configuration.
pub const USAGE: u8 = 2;
/// A tool or package is missing.
pub const MISSING_PREREQUISITE: u8 = 3;
/// Cannot connect or authenticate; the database or path is missing.
pub const CANNOT_CONNECT: u8 = 4;
/// A permission is missing for a requested measurement.
pub const NO_PERMISSION: u8 = 5;
/// Stopped by a safety guard before the start: not ours, too little space, no consent.
pub const SAFETY: u8 = 6;
/// The result is incomplete or invalid after the start, or the store can't be read.
pub const INCOMPLETE: u8 = 7;
/// A fault of ours.
pub const INTERNAL: u8 = 70;
/// Interrupted by SIGHUP: the terminal is gone.
pub const HUNG_UP: u8 = 129;
/// Interrupted by SIGINT.
pub const INTERRUPTED: u8 = 130;
/// Interrupted by SIGTERM.
pub const TERMINATED: u8 = 143;

/// The code of a program that this signal interrupted, as shells have it.
pub const fn of_signal(signal: i32) -> u8 {
    match signal {
        1 => HUNG_UP,
        15 => TERMINATED,
        _ => INTERRUPTED,
    }
}
