//! Faults on demand: I/O errors, a full disk, torn writes, lost power, latency spikes and throttling storms, all drawn
//! from a seed. They are for tests of robustness, and for users that want to see what a fault looks like.
//!
//! Faults strike while statements and checkpoints work; opening, loading and cleaning up are spared, or nothing could be
//! tried. Lost power strikes everything from then on, until the power comes back.

mod form;

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::Clock;
use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use rusqlite::ffi;

pub use form::Fault;

use crate::charge;
use crate::raw::{Purpose, Raw};

/// Bytes that a device writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// An I/O that is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Read,
    /// A write of so many bytes.
    Write(u64),
    Sync,
}

/// What becomes of it. Codes are SQLite's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Go,
    /// It fails and changes nothing.
    Fail(c_int),
    /// It fails after half of it.
    Tear(c_int),
}

/// A file: its number, and true for its log.
type Of = (u32, bool);

/// A write that may be lost with the power.
#[derive(Debug)]
struct Write {
    of: Of,
    offset: u64,
    data: Vec<u8>,
    /// What was there before; shorter at the end of the file.
    before: Vec<u8>,
    /// The device does not begin with it before.
    not_before: Moment,
    /// When it is durable; `None` before its sync.
    durable: Option<Moment>,
}

#[derive(Debug)]
pub struct Faults {
    list: Vec<Fault>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Xoshiro256PlusPlus,
    operations: u64,
    written: u64,
    lost: Option<Moment>,
    writes: Vec<Write>,
    spent: bool,
}

impl Faults {
    /// These faults, drawn from a seed.
    pub fn new(faults: Vec<Fault>, seed: u64, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6661_756c_7473),
            operations: 0,
            written: 0,
            lost: None,
            writes: Vec::new(),
            spent: false,
        };
        Self { list: faults, clock, state: Mutex::new(state) }
    }

    /// True if power may be lost: then writes are noted.
    pub fn may_lose_power(&self) -> bool {
        self.list.iter().any(|fault| matches!(fault, Fault::PowerLoss(_)))
    }

    /// True if the power was lost before `moment`.
    pub fn power_was_lost_before(&self, moment: Moment) -> bool {
        !self.list.is_empty() && self.state.lock().lost.is_some_and(|lost| lost < moment)
    }

    pub fn is_dark(&self) -> bool {
        self.may_lose_power() && self.state.lock().lost.is_some()
    }

    /// Asks before an I/O what becomes of it.
    pub fn on(&self, what: What, purpose: Purpose) -> Act {
        if self.list.is_empty() {
            return Act::Go;
        }
        let mut state = self.state.lock();
        let code = match what {
            What::Read => ffi::SQLITE_IOERR_READ,
            What::Write(_) => ffi::SQLITE_IOERR_WRITE,
            What::Sync => ffi::SQLITE_IOERR_FSYNC,
        };
        if state.lost.is_some() {
            return Act::Fail(code);
        }
        if !charge::is_on() || purpose == Purpose::Temporary {
            return Act::Go;
        }
        state.operations += 1;
        if let What::Write(bytes) = what {
            state.written += bytes;
        }
        for fault in &self.list {
            match *fault {
                Fault::IoError(probability) if state.strikes(probability) => return Act::Fail(code),
                Fault::TornWrite(probability) if matches!(what, What::Write(_)) && state.strikes(probability) => {
                    return Act::Tear(code);
                }
                Fault::FullDisk(bytes) if matches!(what, What::Write(_)) && state.written > bytes => {
                    return Act::Fail(ffi::SQLITE_FULL);
                }
                Fault::PowerLoss(number) if state.operations == number && !state.spent => {
                    state.lost = Some(self.clock.now());
                    return Act::Fail(code);
                }
                _ => {}
            }
        }
        Act::Go
    }

    /// When an I/O is done that was asked for at `now` and would be done at `at`.
    pub fn delay(&self, now: Moment, at: Moment) -> Moment {
        let mut factor = 1.0;
        for fault in &self.list {
            match *fault {
                Fault::LatencySpike(probability, times) if self.state.lock().strikes(probability) => factor *= times,
                Fault::ThrottleStorm(every, lasts, times) if left(now, every, lasts).is_some() => factor *= times,
                _ => {}
            }
        }
        // Several faults together may ask for more than a duration can say.
        let slower = |wait: Duration| Duration::try_from_secs_f64(factor * wait.as_secs_f64()).unwrap_or(Duration::MAX);
        let at = if factor <= 1.0 { at } else { now.after(slower(at.since(now))) };
        self.after_freeze(now, at)
    }

    /// When an I/O is done that was asked for at `now` and would be done at `at`, of devices that stand still every so often:
    /// what is asked for or would be done meanwhile is not done before the end.
    fn after_freeze(&self, now: Moment, at: Moment) -> Moment {
        let mut done = at;
        for fault in &self.list {
            let Fault::DeviceFreeze(every, lasts) = *fault else { continue };
            for moment in [now, at] {
                done = left(moment, every, lasts).map_or(done, |left| done.max(moment.after(left)));
            }
        }
        done
    }

    /// True if everything may stand still.
    pub fn may_freeze(&self) -> bool {
        self.list.iter().any(|fault| matches!(fault, Fault::Freeze(..)))
    }

    /// When something goes on that would at `moment`: what begins or ends while everything stands still does so at the end.
    pub fn thaw(&self, moment: Moment) -> Moment {
        let freezes = self.list.iter().filter_map(|fault| match *fault {
            Fault::Freeze(at, lasts) => Some((Moment::default().after(at), Moment::default().after(at + lasts))),
            _ => None,
        });
        freezes.filter(|(from, to)| (*from..*to).contains(&moment)).map(|(_, to)| to).max().unwrap_or(moment)
    }

    /// Notes a write that is about to reach the file and may be lost.
    pub fn before_write(&self, raw: &mut dyn Raw, of: Of, data: &[u8], offset: u64, not_before: Moment) {
        if !self.may_lose_power() {
            return;
        }
        let length = raw.size().unwrap_or(0);
        let mut before = vec![0; length.saturating_sub(offset).min(data.len() as u64) as usize];
        raw.read(&mut before, offset);
        let write = Write { of, offset, data: data.to_vec(), before, not_before, durable: None };
        self.state.lock().writes.push(write);
    }

    /// Everything that was written to the file is durable at `durable`.
    pub fn synced(&self, of: Of, now: Moment, durable: Moment) {
        if !self.may_lose_power() {
            return;
        }
        let mut state = self.state.lock();
        for write in state.writes.iter_mut().filter(|write| write.of == of) {
            write.durable.get_or_insert(durable);
        }
        // Only from the front: a later write may lie over one that is still at stake.
        let safe = |write: &Write| write.durable.is_some_and(|durable| durable <= now);
        let done = state.writes.iter().take_while(|write| safe(write)).count();
        state.writes.drain(..done);
    }

    /// The file was cut or deleted, which counts as durable at once. A log that is emptied is in its file by then: whoever
    /// empties it is no part of the model and waits for nothing.
    pub fn cut(&self, of: Of, length: u64) {
        if !self.may_lose_power() {
            return;
        }
        let mut state = self.state.lock();
        state.writes.retain(|write| write.of != of || write.offset < length);
        if let ((file, true), 0) = (of, length) {
            let now = self.clock.now();
            for write in state.writes.iter_mut().filter(|write| write.of == (file, false)) {
                write.durable = Some(write.durable.map_or(now, |durable| durable.min(now)));
            }
        }
    }

    /// The file is gone, and another may come in its place.
    pub fn forget(&self, file: u32) {
        if self.may_lose_power() {
            self.state.lock().writes.retain(|write| write.of.0 != file);
        }
    }

    /// Decides what is left in a file after the power was lost. Durable data stays, data that the device had not begun
    /// is gone, and in between each write is kept, lost or torn: any of its sectors may be there.
    pub fn settle(&self, path: &Path, of: Of) -> io::Result<()> {
        let mut state = self.state.lock();
        let Some(now) = state.lost else { return Ok(()) };
        let (ours, others): (Vec<Write>, Vec<Write>) =
            std::mem::take(&mut state.writes).into_iter().partition(|write| write.of == of);
        state.writes = others;
        if ours.is_empty() {
            return Ok(());
        }
        let file = OpenOptions::new().write(true).read(true).create(true).truncate(false).open(path)?;
        // Back to before the first, then forward with what survives.
        let mut length = file.metadata()?.len();
        for write in ours.iter().rev() {
            file.write_all_at(&write.before, write.offset)?;
            if write.before.len() < write.data.len() {
                length = write.offset + write.before.len() as u64;
            }
        }
        file.set_len(length)?;
        for write in &ours {
            match write.durable {
                Some(durable) if durable <= now => file.write_all_at(&write.data, write.offset)?,
                _ if write.not_before > now => {}
                _ => state.keep_some(write, &file)?,
            }
        }
        Ok(())
    }

    /// The power is back, and is not lost again.
    pub fn power_on(&self) {
        let mut state = self.state.lock();
        state.lost = None;
        state.spent = true;
        state.writes.clear();
    }
}

/// What is left at a moment of what comes every so often for so long: in the last part of every period, so that a run begins in
/// calm. `None` while it is not there.
fn left(at: Moment, every: Duration, lasts: Duration) -> Option<Duration> {
    let left = every.as_nanos() - u128::from(at.as_nanos()) % every.as_nanos();
    (left <= lasts.as_nanos()).then(|| Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX)))
}

impl State {
    /// Writes what is left of a write that was cut off: nothing, all, the first sectors, or any of them.
    fn keep_some(&mut self, write: &Write, file: &File) -> io::Result<()> {
        let fate = self.random.next_u64() % 4;
        let first = self.random.next_u64() % (write.data.len().div_ceil(SECTOR_BYTES) as u64 + 1);
        // Sectors have their place in the file, wherever the write begins.
        let mut at = 0;
        for number in 0.. {
            let end =
                (at + SECTOR_BYTES - ((write.offset + at as u64) % SECTOR_BYTES as u64) as usize).min(write.data.len());
            if at == end {
                break;
            }
            let is_kept = match fate {
                0 => false,
                1 => true,
                2 => number < first,
                _ => self.random.next_u64() & 1 == 1,
            };
            if is_kept {
                file.write_all_at(&write.data[at..end], write.offset + at as u64)?;
            }
            at = end;
        }
        Ok(())
    }

    fn strikes(&mut self, probability: f64) -> bool {
        ((self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64) < probability
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_clock::RealClock;

    use super::*;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(RealClock::new())
    }

    #[test]
    fn what_falls_into_a_freeze_goes_on_at_its_end() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let faults = Faults::new(vec![Fault::parse("freeze:5s:500ms").unwrap()], 1, clock());
        for (would, goes_on) in [(4999, 4999), (5000, 5500), (5499, 5500), (5500, 5500), (9000, 9000)] {
            assert_eq!(faults.thaw(at(would)), at(goes_on));
        }
    }

    #[test]
    fn what_a_frozen_device_is_asked_for_is_done_at_the_end_at_the_earliest() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let faults = Faults::new(vec![Fault::parse("device-freeze:2s:500ms").unwrap()], 1, clock());
        // Asked for, done without a freeze, done with it.
        let cases = [
            (0, 5, 5),
            (1490, 1499, 1499),
            (1498, 1503, 2000),
            (1600, 1605, 2000),
            (1990, 2300, 2300),
            (2000, 2005, 2005),
        ];
        for (asked, would, done) in cases {
            assert_eq!(faults.delay(at(asked), at(would)), at(done), "{asked}");
        }
        // Statements go on meanwhile: only I/O waits.
        assert!(!faults.may_freeze());
        assert_eq!(faults.thaw(at(1600)), at(1600));
    }

    #[test]
    fn storms_and_spikes_make_things_slower() {
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        let faults = Faults::new(vec![Fault::parse("throttle-storm:60s:10s:5").unwrap()], 1, clock());
        assert_eq!(faults.delay(at(10), at(11)), at(11));
        assert_eq!(faults.delay(at(55), at(56)), at(60));
        let faults = Faults::new(vec![Fault::parse("latency-spike:0.25:3").unwrap()], 1, clock());
        let slow = (0..1000).filter(|_| faults.delay(at(0), at(1)) == at(3)).count();
        assert!((200..300).contains(&slow), "{slow}");
    }
}
