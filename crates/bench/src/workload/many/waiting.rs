//! Waiting for many answers at once, by epoll(7): which sessions have something to be heard, and how late that is picked up.

use std::os::fd::OwnedFd;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_clock::cpu::RunQueue;
use plimsoll_engine::{Error, ErrorKind, Requester, Result};
use plimsoll_measurement::Moment;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;

/// Answers that are taken in at once.
const AT_ONCE: usize = 256;
/// How late answers are picked up is looked at once in so many waits.
const WAITS_BETWEEN_LOOKS: u32 = 16;

/// The sessions that are waited for, by their numbers.
pub struct Waiting<'a> {
    clock: &'a dyn Clock,
    epoll: OwnedFd,
    /// Those that have something to be heard.
    heard: Vec<epoll::Event>,
    waits: u32,
    picked_up: Moment,
    /// How late the next answer is picked up, where that was looked at.
    late: Option<Duration>,
    /// What this thread waits for a CPU.
    queue: Option<RunQueue>,
}

fn failed(error: Errno) -> Error {
    Error::new(ErrorKind::Internal, format!("answers can't be waited for: {error}"))
}

impl<'a> Waiting<'a> {
    /// Nobody is waited for yet.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn new(clock: &'a dyn Clock) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let (heard, queue) = (Vec::with_capacity(AT_ONCE), RunQueue::of_this_thread());
        Ok(Self { clock, epoll, heard, waits: 0, picked_up: clock.now(), late: None, queue })
    }

    /// This session too, until its line is closed.
    ///
    /// # Errors
    /// If it can't be waited for.
    pub fn add(&self, requester: &dyn Requester, number: usize) -> Result<()> {
        let descriptor = requester.descriptor().ok_or_else(|| failed(Errno::NOTSUP))?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(number as u64), flags).map_err(failed)
    }

    /// Waits for a session that has something to be heard, until a moment.
    ///
    /// # Errors
    /// The system's.
    pub fn until(&mut self, moment: Moment) -> Result<()> {
        self.waits = self.waits.wrapping_add(1);
        if !self.waits.is_multiple_of(WAITS_BETWEEN_LOOKS) {
            self.take(self.left(moment))?;
            if (self.waits + 1).is_multiple_of(WAITS_BETWEEN_LOOKS) {
                self.picked_up = self.clock.now();
            }
            return Ok(());
        }
        // What came while the last ones were handled has waited for us, at most since those were picked up.
        self.take(Some(Duration::ZERO))?;
        if !self.heard.is_empty() {
            self.late = Some(self.clock.now().since(self.picked_up));
            return Ok(());
        }
        let before = self.queue.as_ref().and_then(RunQueue::waited);
        self.take(self.left(moment))?;
        let queue = self.queue.as_ref().zip(before);
        self.late = queue.and_then(|(queue, before)| Some(queue.waited()?.saturating_sub(before)));
        Ok(())
    }

    /// How late an answer was picked up, which is told once.
    pub fn late(&mut self) -> Option<Duration> {
        self.late.take()
    }

    /// The number of one that has something to be heard, as long as there are any, and whether that is the last that will ever come.
    pub fn heard(&mut self) -> Option<(usize, bool)> {
        let event = self.heard.pop()?;
        let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let flags = event.flags;
        Some((event.data.u64() as usize, flags.intersects(ends)))
    }

    /// How long it is until a moment; `None` for ever.
    fn left(&self, moment: Moment) -> Option<Duration> {
        (moment.as_nanos() != u64::MAX).then(|| moment.since(self.clock.now()))
    }

    /// The system's own wait for many counts milliseconds. What is shorter is waited for by another call.
    fn take(&mut self, left: Option<Duration>) -> Result<()> {
        let spec = |left: Duration| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut timeout = left;
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&spec(left))) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => timeout = Some(Duration::ZERO),
                Err(error) => return Err(failed(error)),
            }
        }
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.heard), timeout.map(spec).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
        // The first is taken from the end.
        self.heard.reverse();
        Ok(())
    }
}
