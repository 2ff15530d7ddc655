//! Read-ahead: SQLite has none, and one session at 5 ms a page would read less than 1 MB a second whatever the bandwidth.
//! Cloud databases read ahead, so the lab does.
//!
//! After a few pages in order the next window is asked for without waiting, in large I/Os. The window is wider than
//! half the fan-out of an inner page, because that is how far ahead of its leaves an inner page can lie. Were it
//! outside, each would cost one latency.

/// Pages in order that make a scan.
pub const START: u32 = 4;

/// Bytes of one I/O: the largest that counts as one (see the hardware's `LARGEST_IO_BYTES`).
const IO_BYTES: u64 = 256 << 10;

/// Bytes that are asked for ahead: 256 pages of 4 KiB.
const WINDOW_BYTES: u64 = 1 << 20;

/// Read-ahead takes one part in so many of the memory at most.
const PART_OF_MEMORY: u64 = 3;

/// Pages out of order that a scan survives before it counts as another: inner pages between the leaves.
const STRAYS: u32 = 4;

/// A session's way through a file.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    next: u32,
    run: u32,
    ahead: u32,
    strays: u32,
}

/// How far is read ahead, and in which steps, with pages of this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub io_pages: u32,
    pub window_pages: u32,
}

impl Sizes {
    /// The sizes for pages of so many bytes. An inner page's fan-out grows with the page, and so does the window. But
    /// it takes no more than a part of the memory, or pages would be pushed out before they are asked for.
    pub fn of(page_bytes: u64, memory_bytes: Option<u64>) -> Self {
        let room = memory_bytes
            .map_or(u32::MAX, |bytes| u32::try_from(bytes / page_bytes / PART_OF_MEMORY).unwrap_or(u32::MAX));
        let io_pages = ((IO_BYTES / page_bytes) as u32).min(room / 2).max(1);
        let half_fan_out = (page_bytes / 16) as u32;
        let window_pages = ((WINDOW_BYTES / page_bytes) as u32).max(half_fan_out).next_multiple_of(io_pages);
        Self { io_pages, window_pages: window_pages.min(room / io_pages * io_pages).max(io_pages) }
    }

    /// The window of a scan that has read so many pages since it counts as one. It is an I/O at first, and twice as
    /// much after each, so that a short range does not push out what others need.
    pub fn window_after(self, pages: u32) -> u32 {
        let doublings = (pages / self.io_pages).min(31);
        self.io_pages.saturating_mul(1 << doublings).min(self.window_pages)
    }
}

impl Stream {
    /// Notes that `page` is read; gives the pages to ask for now, from the first to before the last. `came` says that it
    /// came from a device, just now or read ahead: pages that were in memory anyway begin no scan.
    pub fn advance(&mut self, page: u32, came: bool, sizes: Sizes) -> Option<(u32, u32)> {
        let in_order = page == self.next || (self.run >= START && page > self.next && page - self.next <= STRAYS);
        if in_order {
            self.run += u32::from(came || self.run >= START);
            self.strays = 0;
            self.next = page + 1;
        } else if self.run < START || self.strays >= STRAYS {
            *self = Self { next: page + 1, run: u32::from(came), ahead: page + 1, strays: 0 };
        } else {
            self.strays += 1;
            return None;
        }
        if self.run < START {
            return None;
        }
        self.ahead = self.ahead.max(page + 1);
        let wanted = (page + 1).saturating_add(sizes.window_after(self.run - START)).saturating_sub(self.ahead);
        let whole = wanted / sizes.io_pages * sizes.io_pages;
        if whole == 0 {
            return None;
        }
        let from = self.ahead;
        self.ahead += whole;
        Some((from, self.ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_soon_a_window_ahead_and_asks_for_each_page_once() {
        let sizes = Sizes::of(4096, None);
        assert_eq!(sizes, Sizes { io_pages: 64, window_pages: 256 });
        let (mut stream, mut asked) = (Stream::default(), 14);
        for page in 10..2000 {
            // An inner page now and then does not break the scan.
            if page % 300 == 0 {
                assert_eq!(stream.advance(5, true, sizes), None);
            }
            if let Some((from, to)) = stream.advance(page, true, sizes) {
                assert!(from == asked && (to - from).is_multiple_of(64), "{from} {asked}");
                asked = to;
            }
            if page >= 13 {
                // One I/O, two, and then as many as make up the window.
                let window = [64, 128, 256][((page - 13) / 64).min(2) as usize];
                assert!(asked > page + window - 64 && asked <= page + window + 1, "{page} {asked}");
            }
        }
    }

    #[test]
    fn pages_in_memory_make_no_scan() {
        let (mut stream, sizes) = (Stream::default(), Sizes::of(4096, None));
        assert!((1..500).all(|page| stream.advance(page, false, sizes).is_none()));
        let asked: Vec<_> = (500..504).map(|page| stream.advance(page, true, sizes)).collect();
        assert_eq!(asked, [None, None, None, Some((504, 568))]);
    }

    #[test]
    fn random_reads_ask_for_nothing() {
        let mut stream = Stream::default();
        for step in 0..1000_u32 {
            assert_eq!(
                stream.advance(step.wrapping_mul(2_654_435_761) % 100_000 + 1, true, Sizes::of(4096, None)),
                None
            );
        }
    }

    #[test]
    fn the_window_reaches_over_half_a_fan_out() {
        assert_eq!(Sizes::of(8192, None), Sizes { io_pages: 32, window_pages: 512 });
        assert_eq!(Sizes::of(65536, None).io_pages, 4);
        // A third of the memory at most.
        assert_eq!(Sizes::of(4096, Some(4 << 20)), Sizes { io_pages: 64, window_pages: 256 });
        assert_eq!(Sizes::of(4096, Some(1 << 20)), Sizes { io_pages: 42, window_pages: 84 });
        assert_eq!(Sizes::of(4096, Some(64 << 10)), Sizes { io_pages: 2, window_pages: 4 });
    }
}
