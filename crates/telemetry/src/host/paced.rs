//! Figures that would cost too much if they were read each time.

use plimsoll_clock::{Clock, windowed};

use super::Sampled;

/// A figure that is not read each time if it costs much. In between its last reading stands, with the window in which that was
/// taken.
#[derive(Debug)]
pub(super) struct Paced<T> {
    last: Option<Sampled<T>>,
    rest: usize,
}

impl<T> Default for Paced<T> {
    fn default() -> Self {
        Self { last: None, rest: 0 }
    }
}

impl<T: Copy> Paced<T> {
    /// Reads it, or not. `read` says how many things it had to read; so many as `each_time` may be read every time.
    pub(super) fn read(
        &mut self,
        clock: &dyn Clock,
        each_time: usize,
        read: impl FnOnce() -> (Result<T, String>, usize),
    ) -> Result<Sampled<T>, String> {
        if let (Some(last), Some(rest)) = (&self.last, self.rest.checked_sub(1)) {
            self.rest = rest;
            return Ok(*last);
        }
        let ((value, things), window) = windowed(clock, read);
        self.last = None;
        let sampled = Sampled { value: value?, window };
        self.rest = things.saturating_sub(1) / each_time;
        self.last = Some(sampled);
        Ok(sampled)
    }
}
