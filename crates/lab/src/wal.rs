//! Which frame of the write-ahead log holds which version of which page ("The WAL File Format" in SQLite's description
//! of its file format). A frame is 24 bytes of header and the page; the first four bytes are the page's number.

use std::collections::BTreeMap;

use plimsoll_measurement::Moment;

use crate::pool::Version;

pub const HEADER_BYTES: u64 = 32;

pub const FRAME_HEADER_BYTES: u64 = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub page: u32,
    pub version: Version,
    /// When it is durable; `None` until the log was synced.
    pub durable: Option<Moment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The log's header: a new generation of frames begins.
    Header,
    /// Header of frame `index`, from 0.
    FrameHeader(usize),
    /// Page of frame `index`.
    Page(usize),
    /// Header and page of frame `index` together, as recovery reads them.
    Whole(usize),
    Other,
}

/// The frames of the present generation.
#[derive(Debug, Default)]
pub struct Wal {
    page_bytes: u64,
    frames: Vec<Option<Frame>>,
    /// The newest frame of each page.
    newest: BTreeMap<u32, usize>,
    /// Frames from here on are not synced.
    synced: usize,
    /// The page of a frame with a header that was written and a page that was not yet.
    announced: Option<(usize, u32)>,
}

impl Wal {
    pub fn new(page_bytes: u64) -> Self {
        Self { page_bytes, ..Self::default() }
    }

    /// What `length` bytes at `offset` are.
    pub fn part(&self, offset: u64, length: usize) -> Part {
        if offset == 0 {
            return if length as u64 >= HEADER_BYTES { Part::Header } else { Part::Other };
        }
        let (frame, length) = (FRAME_HEADER_BYTES + self.page_bytes, length as u64);
        let Some(from_first) = offset.checked_sub(HEADER_BYTES) else { return Part::Other };
        let (index, within) = ((from_first / frame) as usize, from_first % frame);
        match (within, length) {
            (0, FRAME_HEADER_BYTES) => Part::FrameHeader(index),
            (0, whole) if whole == frame => Part::Whole(index),
            (FRAME_HEADER_BYTES, page) if page == self.page_bytes => Part::Page(index),
            _ => Part::Other,
        }
    }

    /// A frame's header was written: its page follows.
    pub fn announce(&mut self, index: usize, header: &[u8]) {
        self.cut(index);
        self.announced = page_number(header).map(|page| (index, page));
    }

    /// Frames from here on are written anew: a transaction that failed left them.
    fn cut(&mut self, index: usize) {
        if index >= self.frames.len() {
            return;
        }
        self.frames.truncate(index);
        self.newest.clear();
        let frames = self.frames.iter().zip(0..);
        self.newest.extend(frames.filter_map(|(frame, index)| Some((frame.as_ref()?.page, index))));
    }

    /// The page of a frame that was announced and is written now.
    pub fn announced(&self, index: usize) -> Option<u32> {
        self.announced.filter(|(announced, _)| *announced == index).map(|(_, page)| page)
    }

    /// The page of a frame was written: gives its number, and the frame is of this version from now on.
    pub fn write(&mut self, index: usize, version: Version) -> Option<u32> {
        let page = self.announced(index)?;
        self.announced = None;
        self.set(index, page, version);
        Some(page)
    }

    /// Notes a frame that was found in a log from before.
    pub fn set(&mut self, index: usize, page: u32, version: Version) {
        self.cut(index);
        self.frames.resize(index + 1, None);
        self.frames[index] = Some(Frame { page, version, durable: None });
        self.newest.insert(page, index);
        self.synced = self.synced.min(index);
    }

    pub fn frame(&self, index: usize) -> Option<Frame> {
        self.frames.get(index).copied().flatten()
    }

    /// All frames that were written since the last sync are durable at `moment`.
    pub fn synced(&mut self, moment: Moment) {
        for frame in self.frames.iter_mut().skip(self.synced).flatten() {
            frame.durable.get_or_insert(moment);
        }
        self.synced = self.frames.len();
    }

    /// A new generation begins: older frames are gone.
    pub fn restart(&mut self) {
        self.frames.clear();
        self.newest.clear();
        self.synced = 0;
        self.announced = None;
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The last page of the database that is in one of them; 0 if none is.
    pub fn last_page(&self) -> u32 {
        self.frames.iter().flatten().map(|frame| frame.page).max().unwrap_or(0)
    }

    /// Where the newest frame of a page has it in the file.
    pub fn newest(&self, page: u32) -> Option<u64> {
        Some(
            HEADER_BYTES
                + *self.newest.get(&page)? as u64 * (FRAME_HEADER_BYTES + self.page_bytes)
                + FRAME_HEADER_BYTES,
        )
    }
}

/// The page number that a frame's header begins with.
pub fn page_number(header: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(header.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_log_are_known_by_their_place() {
        let wal = Wal::new(4096);
        assert_eq!(wal.part(0, 32), Part::Header);
        assert_eq!(wal.part(32, 24), Part::FrameHeader(0));
        assert_eq!(wal.part(56, 4096), Part::Page(0));
        assert_eq!(wal.part(32 + 4120 * 7, 24), Part::FrameHeader(7));
        assert_eq!(wal.part(56 + 4120 * 7, 4096), Part::Page(7));
        assert_eq!(wal.part(32 + 4120, 4120), Part::Whole(1));
        assert_eq!(wal.part(33, 24), Part::Other);
        assert_eq!(wal.part(8, 24), Part::Other);
    }

    #[test]
    fn frames_are_durable_from_their_sync_on() {
        let mut wal = Wal::new(4096);
        for (index, page) in [(0, 9_u32), (1, 4), (2, 9)] {
            wal.announce(index, &page.to_be_bytes());
            assert_eq!(wal.write(index, index as u64 + 1), Some(page));
            if index == 1 {
                wal.synced(Moment::from_nanos(10));
            }
        }
        wal.synced(Moment::from_nanos(20));
        let durable: Vec<_> = (0..3).map(|index| wal.frame(index).unwrap().durable.unwrap().as_nanos()).collect();
        assert_eq!(durable, [10, 10, 20]);
        assert_eq!(wal.newest(9), Some(32 + 2 * 4120 + 24));
        assert_eq!(wal.newest(5), None);
        // Another transaction writes over what a failed one left.
        wal.announce(1, &9_u32.to_be_bytes());
        assert_eq!((wal.newest(9), wal.newest(4)), (Some(32 + 24), None));
        assert_eq!(wal.write(1, 4), Some(9));
        assert_eq!((wal.newest(9), wal.newest(4), wal.len()), (Some(32 + 4120 + 24), None, 2));
        wal.restart();
        assert!(wal.frame(0).is_none() && wal.len() == 0);
    }

    #[test]
    fn a_page_without_its_header_is_no_frame() {
        let mut wal = Wal::new(512);
        assert_eq!(wal.write(0, 1), None);
        wal.announce(1, &[0, 0, 0, 3]);
        assert_eq!(wal.write(0, 1), None);
    }
}
