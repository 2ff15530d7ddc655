//! The pages of the buffer pool that requests change, and the background writer that writes them.
//!
//! A page is clean, dirty, or being written. Pages are striped over the data files. The writer starts when more than a share of the pages
//! is dirty and stops some way below (as indirect checkpoints do, which keep the number of dirty pages under a target). It goes round the
//! files, in each in the order of the pages, and takes neighbouring dirty pages into one write. Only so many writes are under way.
//! A change of a page that is being written waits for the write. Which pages are read from disk is not modelled here: how many a request
//! misses is a part of the workload.

use crate::random::Stream;
use crate::scenario::PoolSpec;

/// The page is in no write.
const NO_WRITE: u32 = u32::MAX;

/// Straight lines that stand for the curve u^skew: a power for each draw would be a fifth of a run's time.
const LINES: usize = 4_096;

/// A write of the background writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWrite {
    /// Its slot, by which it is told that it is done.
    pub slot: u32,
    /// The data file.
    pub file: usize,
    /// The first page within the file.
    pub first: u32,
    /// How many pages.
    pub pages: u32,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The page is dirty now.
    Done,
    /// The page is being written. The change is made when the write is done, and the session is told then.
    Blocked,
}

#[derive(Debug, Clone)]
struct FilePages {
    count: u32,
    /// A bit for each dirty page.
    dirty: Vec<u64>,
    dirty_count: u32,
    /// Where the writer goes on.
    cursor: u32,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    file: usize,
    first: u32,
    pages: u32,
    /// Sessions that want to change a page of it, each with the page.
    waiting: Vec<(u32, u32)>,
}

/// The pages and the writer.
#[derive(Debug, Clone)]
pub struct Pool {
    spec: PoolSpec,
    /// The page at the start of each line, and the end of the last.
    lines: Vec<f64>,
    files: Vec<FilePages>,
    /// The write that each page is in, by file and page.
    in_write: Vec<Vec<u32>>,
    dirty: u32,
    start_above: u32,
    stop_at: u32,
    is_writing: bool,
    next_file: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_flight: u32,
}

impl Pool {
    /// A pool whose dirty pages are as many as make the writer start, drawn as requests would draw them: a run that began with none would
    /// spend its time filling them.
    pub fn new(spec: PoolSpec, files: usize, random: &mut Stream) -> Self {
        let count_of =
            |file: usize| (spec.pages as usize / files + usize::from(file < spec.pages as usize % files)) as u32;
        let of_file = |file| FilePages {
            count: count_of(file),
            dirty: vec![0; count_of(file).div_ceil(64) as usize],
            dirty_count: 0,
            cursor: 0,
        };
        let start_above = (f64::from(spec.pages) * spec.dirty_share) as u32;
        let page_at = |line: usize| f64::from(spec.pages) * libm::pow(line as f64 / LINES as f64, spec.skew);
        let mut pool = Self {
            spec,
            lines: (0..=LINES).map(page_at).collect(),
            files: (0..files).map(of_file).collect(),
            in_write: (0..files).map(|file| vec![NO_WRITE; count_of(file) as usize]).collect(),
            dirty: 0,
            start_above,
            stop_at: (f64::from(start_above) * (1.0 - spec.hysteresis)) as u32,
            is_writing: false,
            next_file: 0,
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
        };
        // Rare pages may never be drawn: a bound keeps that from taking for ever.
        for _ in 0..u64::from(spec.pages) * 16 {
            if pool.dirty >= start_above {
                break;
            }
            let page = pool.draw(random);
            pool.mark(page);
        }
        pool
    }

    /// A page as requests choose it.
    pub fn draw(&self, random: &mut Stream) -> u32 {
        let along = random.unit() * LINES as f64;
        let line = along as usize;
        let (from, to) = (self.lines[line], self.lines[line + 1]);
        ((from + (to - from) * (along - line as f64)) as u32).min(self.spec.pages - 1)
    }

    /// A session changes a page.
    pub fn change(&mut self, page: u32, session: u32) -> Change {
        let (file, at) = self.place(page);
        let write = self.in_write[file][at as usize];
        if write == NO_WRITE {
            self.mark(page);
            return Change::Done;
        }
        self.slots[write as usize].waiting.push((session, page));
        Change::Blocked
    }

    /// The next write, if the writer is at work and may begin one.
    pub fn next_write(&mut self) -> Option<PageWrite> {
        self.is_writing |= self.dirty > self.start_above;
        if self.dirty <= self.stop_at {
            self.is_writing = false;
        }
        if !self.is_writing || self.in_flight >= self.spec.writes_in_flight {
            return None;
        }
        let file = self.file_with_dirty_pages()?;
        let (first, pages) = self.files[file].take(self.spec.pages_per_write)?;
        self.dirty -= pages;
        self.in_flight += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.in_write[file][first as usize..(first + pages) as usize].fill(slot);
        let kept = &mut self.slots[slot as usize];
        (kept.file, kept.first, kept.pages) = (file, first, pages);
        Some(PageWrite { slot, file, first, pages })
    }

    /// A write is done, and the changes that waited for it are made. Their sessions go to `woken`.
    pub fn written(&mut self, slot: u32, woken: &mut Vec<u32>) {
        let done = &mut self.slots[slot as usize];
        self.in_write[done.file][done.first as usize..(done.first + done.pages) as usize].fill(NO_WRITE);
        let mut waiting = std::mem::take(&mut done.waiting);
        for (session, page) in waiting.drain(..) {
            self.mark(page);
            woken.push(session);
        }
        // Given back, so that its room is used again.
        self.slots[slot as usize].waiting = waiting;
        self.free.push(slot);
        self.in_flight -= 1;
    }

    fn file_with_dirty_pages(&mut self) -> Option<usize> {
        let files = self.files.len();
        let found =
            (0..files).map(|step| (self.next_file + step) % files).find(|file| self.files[*file].dirty_count > 0)?;
        self.next_file = (found + 1) % files;
        Some(found)
    }

    fn place(&self, page: u32) -> (usize, u32) {
        let files = self.files.len() as u32;
        ((page % files) as usize, page / files)
    }

    fn mark(&mut self, page: u32) {
        let (file, at) = self.place(page);
        let pages = &mut self.files[file];
        let (word, bit) = (&mut pages.dirty[(at / 64) as usize], 1_u64 << (at % 64));
        if *word & bit == 0 {
            *word |= bit;
            pages.dirty_count += 1;
            self.dirty += 1;
        }
    }
}

impl FilePages {
    /// Takes the next dirty page from the cursor on, round the end, with dirty neighbours behind it, up to `most`.
    fn take(&mut self, most: u32) -> Option<(u32, u32)> {
        let first = self.next_dirty(self.cursor).or_else(|| self.next_dirty(0))?;
        let mut pages = 0;
        while pages < most && first + pages < self.count && self.is_dirty(first + pages) {
            let at = first + pages;
            self.dirty[(at / 64) as usize] &= !(1 << (at % 64));
            pages += 1;
        }
        self.dirty_count -= pages;
        self.cursor = first + pages;
        Some((first, pages))
    }

    fn is_dirty(&self, at: u32) -> bool {
        self.dirty[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    fn next_dirty(&self, from: u32) -> Option<u32> {
        if from >= self.count {
            return None;
        }
        let word = (from / 64) as usize;
        let rest = self.dirty[word] & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(word as u32 * 64 + rest.trailing_zeros());
        }
        let found = self.dirty[word + 1..].iter().position(|word| *word != 0)?;
        let word = word + 1 + found;
        Some(word as u32 * 64 + self.dirty[word].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PoolSpec {
        PoolSpec {
            pages: 300,
            page_bytes: 8192,
            skew: 1.0,
            dirty_share: 0.1,
            hysteresis: 0.5,
            pages_per_write: 3,
            writes_in_flight: 2,
        }
    }

    /// A pool without a dirty page.
    fn clean() -> Pool {
        Pool::new(PoolSpec { dirty_share: 0.0, ..spec() }, 3, &mut Stream::new(1, 0))
    }

    #[test]
    fn neighbours_of_a_file_go_into_one_write_and_few_writes_are_under_way() {
        let mut pool = clean();
        // Every third page is of the same file: 30, 33, 36, 39 are its pages 10 to 13.
        for page in [30, 33, 36, 39, 31] {
            assert_eq!(pool.change(page, 0), Change::Done);
        }
        assert_eq!(pool.next_write(), Some(PageWrite { slot: 0, file: 0, first: 10, pages: 3 }));
        assert_eq!(pool.next_write(), Some(PageWrite { slot: 1, file: 1, first: 10, pages: 1 }));
        assert_eq!(pool.next_write(), None, "two are under way");
        pool.written(1, &mut Vec::new());
        assert_eq!(pool.next_write(), Some(PageWrite { slot: 1, file: 0, first: 13, pages: 1 }));
        pool.written(0, &mut Vec::new());
        assert_eq!(pool.next_write(), None, "nothing is dirty");
    }

    #[test]
    fn a_change_waits_for_the_write_of_its_page() {
        let mut pool = clean();
        pool.change(30, 0);
        let write = pool.next_write().unwrap();
        assert_eq!((pool.change(30, 7), pool.change(33, 8)), (Change::Blocked, Change::Done));
        let mut woken = Vec::new();
        pool.written(write.slot, &mut woken);
        assert_eq!((woken, pool.files[0].is_dirty(10)), (vec![7], true));
    }

    #[test]
    fn the_writer_starts_above_its_share_and_stops_below() {
        let mut pool = Pool::new(spec(), 3, &mut Stream::new(1, 0));
        assert_eq!(pool.dirty, 30);
        assert_eq!(pool.next_write(), None);
        let page = (0..300).find(|page| !pool.files[*page as usize % 3].is_dirty(page / 3)).unwrap();
        pool.change(page, 0);
        let mut written = 0;
        while let Some(write) = pool.next_write() {
            written += write.pages;
            pool.written(write.slot, &mut Vec::new());
        }
        assert!(pool.dirty <= 15 && pool.dirty + written == 31, "{written} written, {} left", pool.dirty);
    }

    #[test]
    fn skew_prefers_the_first_pages() {
        let pool = Pool::new(PoolSpec { skew: 4.0, ..spec() }, 3, &mut Stream::new(1, 0));
        let mut random = Stream::new(2, 0);
        let low = (0..10_000).filter(|_| pool.draw(&mut random) < 30).count() as f64 / 10_000.0;
        // A tenth of the pages gets 0.1^(1/4) of the changes.
        assert!((low - 0.1_f64.powf(0.25)).abs() < 0.02, "{low}");
    }
}
