//! How many pages are written for many changes. A page that is changed again before it is written is written once, so a pass over the changed
//! pages writes the fewer for each change, the more changes came before it.
//!
//! A run says how many pages were written for each request, at its own rate and on its own device. The rest is bounded from two sides: every change
//! may be on a page of its own, or all of them fall on pages that are changed alike, and the measured number says on how many. What is
//! between the two is a share of changes on pages of their own. Only what makes rows may have new ones without end: what changes rows falls on pages
//! that are there, and there are no more of them than the data has.

use plimsoll_hardware::Spec;

use super::hardware::Hardware;

/// More pages than this are as many as there are changes.
const MOST_PAGES: f64 = 1e9;

/// Steps in which the number of pages is found by halves.
const HALVINGS: u32 = 60;

/// The passes of a pass that begins anew while changes keep coming; it ends when the log is so many times as long as at its beginning.
pub const LONGEST: f64 = 4.0;

/// A pass ends if so small a part of a pass's changes came meanwhile.
pub const LITTLE: f64 = 1.0 / 8.0;

/// On how many pages changes fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gather {
    /// The part of the changes that are each on a page of their own: a new one.
    new: f64,
    /// The part of them that are on any page of the data.
    anywhere: f64,
    /// The pages of the data.
    data_pages: f64,
    /// The pages that all others fall on, each as likely as another.
    pages: f64,
}

/// What the source shows of its writes.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Pages that a request leaves to be written, if none was changed before.
    pub changes: f64,
    /// Pages that are written for a request.
    pub writes: f64,
    /// Bytes of such a write.
    pub write_bytes: f64,
    /// Requests a second.
    pub rate: f64,
    /// The part of the changes that make rows.
    pub making: f64,
}

impl Gather {
    /// Each change is a write of its own.
    pub const NONE: Self = Self { new: 1.0, anywhere: 0.0, data_pages: MOST_PAGES, pages: MOST_PAGES };

    /// Pages that are written for so many changes.
    pub fn written(self, changes: f64) -> f64 {
        let Self { new, anywhere, data_pages, pages } = self;
        new * changes + found(anywhere * changes, data_pages) + found((1.0 - new - anywhere) * changes, pages)
    }

    /// That with which the source writes what it was seen to write. `alone` from 0 to 1 says how much of that is not on the fewest pages.
    pub fn of(seen: Seen, on: &Hardware, alone: f64) -> Self {
        if seen.writes >= seen.changes || seen.changes <= 0.0 || seen.rate <= 0.0 {
            return Self::NONE;
        }
        let alone = alone * seen.writes / seen.changes;
        let data_pages = on.data_bytes.map_or(MOST_PAGES, |bytes| (bytes / on.spec.page_bytes as f64).max(1.0));
        let (new, anywhere) = (alone * seen.making, alone * (1.0 - seen.making));
        let (mut low, mut high) = (0.0, MOST_PAGES.ln());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let writes_less = Self { new, anywhere, data_pages, pages: middle.exp() }.writes(seen, on) < seen.writes;
            (low, high) = if writes_less { (middle, high) } else { (low, middle) };
        }
        Self { new, anywhere, data_pages, pages: low.exp() }
    }

    /// Writes of a request, as passes follow one another on a device that writes at its limit.
    fn writes(self, seen: Seen, on: &Hardware) -> f64 {
        let pass = pages_of_pass(&on.spec);
        let a_second = on.writes_per_s(seen.write_bytes);
        let (mut due, mut changes, mut writes) = (pass, pass, 0.0);
        loop {
            let now = self.written(due);
            writes += now;
            due = seen.rate * seen.changes * now / a_second;
            changes += due;
            if due <= LITTLE * pass || changes >= LONGEST * pass {
                return (writes + self.written(due)) * seen.changes / changes;
            }
        }
    }
}

/// Of n changes that choose alike among N pages each page is missed by all with the chance exp(-n/N).
fn found(changes: f64, pages: f64) -> f64 {
    if pages < MOST_PAGES { -pages * (-changes / pages).exp_m1() } else { changes }
}

/// The pages at which a pass over changed pages begins: a thousand, or a quarter of the memory.
pub fn pages_of_pass(spec: &Spec) -> f64 {
    spec.memory.map_or(1000, |bytes| (bytes / spec.page_bytes / 4).clamp(64, 1000)) as f64
}

#[cfg(test)]
mod tests {
    use super::super::hardware::Prices;
    use super::super::statements::Statements;
    use super::*;

    #[test]
    fn pages_that_are_changed_again_are_written_once() {
        assert_eq!(Gather::NONE.written(1000.0).to_bits(), 1000.0_f64.to_bits());
        let all = Gather { new: 0.0, anywhere: 0.0, data_pages: 1.0, pages: 100.0 };
        // By the table of the exponential function: 1 - e^-1 = 0.63212, 1 - e^-10 = 0.99995.
        assert!((all.written(100.0) - 63.212).abs() < 1e-3 && (all.written(1000.0) - 99.995).abs() < 1e-3);
        let half = Gather { new: 0.5, ..all };
        assert!((half.written(200.0) - 163.212).abs() < 1e-3);
        // Those of the data are no more than there are.
        let both = Gather { anywhere: 0.5, data_pages: 50.0, ..all };
        assert!((both.written(1e6) - 150.0).abs() < 1e-3 && both.written(100.0) < 80.0);
    }
    /// Reads and changes mixed on the lab, of which a log was made wider: what was counted at each of its widths.
    #[test]
    fn a_run_at_one_rate_says_what_was_written_at_others() {
        let text = "[data]\niops = 500\nwrite_latency = \"4ms\"";
        let hardware = |text: &str| Hardware {
            spec: Spec::parse("m.toml", text).unwrap(),
            prices: Prices::Engine,
            statements: Statements::ONE,
            data_bytes: None,
        };
        let on = hardware(text);
        let seen = Seen { changes: 0.7, writes: 0.308, write_bytes: 4096.0, rate: 1189.0, making: 1.0 };
        let gather = Gather::of(seen, &on, 0.0);
        for (rate, counted) in [(1189.0, 0.308), (1387.0, 0.273), (1671.0, 0.234), (1944.0, 0.204), (2122.0, 0.189)] {
            let writes = gather.writes(Seen { rate, ..seen }, &on);
            assert!((writes / counted - 1.0).abs() < 0.08, "{rate}: {writes} for {counted}");
        }
        // All on pages of their own stay as many, however many come; a disk that is no limit writes each page of a pass once.
        let alone = Gather::of(seen, &on, 1.0);
        assert!((alone.writes(Seen { rate: 2122.0, ..seen }, &on) / 0.308 - 1.0).abs() < 0.01);
        let free = gather.writes(seen, &hardware(""));
        assert!((free / (0.7 * gather.written(1000.0) / 1000.0) - 1.0).abs() < 1e-9, "{free}");
    }
}
