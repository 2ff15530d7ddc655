//! How often a server is read: as often as was asked for, and half as often where that costs it too much.

use std::time::Duration;

use plimsoll_measurement::units::format_seconds;

/// From one look at the sessions to the next.
const SPACING: Duration = Duration::from_secs(1);

/// The longest time from one look to the next, and the longest slot.
const LONGEST_SPACING: Duration = Duration::from_secs(8);
const LONGEST_SLOT: Duration = Duration::from_hours(1);

/// What is read may take this part of the time until it is read again.
const MOST: f64 = 0.25;

/// So many readings in a row that take longer are no chance.
const IN_A_ROW: u32 = 5;

/// Something that is read again and again.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    every: Duration,
    longest: Duration,
    slow: u32,
}

impl Repeated {
    /// Takes how long it took; true if it is read half as often from now on.
    fn took(&mut self, time: Duration) -> bool {
        self.slow = if time > self.every.mul_f64(MOST) { self.slow + 1 } else { 0 };
        if self.slow < IN_A_ROW || self.every >= self.longest {
            return false;
        }
        self.slow = 0;
        self.every = (self.every * 2).min(self.longest);
        true
    }
}

/// Slots, and looks at sessions.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    slots: Repeated,
    looks: Repeated,
}

impl Pace {
    /// Slots of this length, and a look a second.
    pub fn of(slot: Duration) -> Self {
        let slots = Repeated { every: slot, longest: LONGEST_SLOT.max(slot), slow: 0 };
        Self { slots, looks: Repeated { every: SPACING, longest: LONGEST_SPACING, slow: 0 } }
    }

    /// The length of a slot, in microseconds.
    pub fn slot_us(&self) -> u64 {
        u64::try_from(self.slots.every.as_micros()).unwrap_or(u64::MAX)
    }

    /// From one look at the sessions to the next.
    pub const fn spacing(&self) -> Duration {
        self.looks.every
    }

    /// Takes how long the counters of all statements took; a sentence if slots are longer from now on.
    pub fn read(&mut self, time: Duration) -> Option<String> {
        self.slots.took(time).then(|| {
            format!(
                "the server takes {} to list what it has counted, so that slots of {} are too many for it: they are {} long from now on",
                said(time),
                said(self.slots.every / 2),
                said(self.slots.every)
            )
        })
    }

    /// Takes how long a look at the sessions took; a sentence if there are fewer looks from now on.
    pub fn looked(&mut self, time: Duration) -> Option<String> {
        self.looks.took(time).then(|| {
            format!(
                "the server takes {} to list its sessions: they are looked at every {} from now on",
                said(time),
                said(self.looks.every)
            )
        })
    }
}

fn said(time: Duration) -> String {
    format_seconds(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_read_half_as_often() {
        let mut pace = Pace::of(Duration::from_secs(2));
        let (slow, fast) = (Duration::from_millis(600), Duration::from_millis(400));
        // One that is quick in between makes it a chance.
        for time in [slow, slow, slow, slow, fast, slow, slow, slow, slow] {
            assert_eq!(pace.read(time), None);
        }
        let said = pace.read(slow).unwrap();
        assert!(said.contains("600 ms") && said.contains("slots of 2.0 s") && said.contains("4.0 s long"), "{said}");
        assert_eq!((pace.slot_us(), pace.spacing()), (4_000_000, SPACING));
        // Of four seconds it is a small part.
        assert!((0..20).all(|_| pace.read(slow).is_none()));
        let told = (0..100).filter_map(|_| pace.looked(Duration::from_secs(30))).count();
        assert_eq!((told, pace.spacing(), pace.slot_us()), (3, LONGEST_SPACING, 4_000_000));
    }
}
