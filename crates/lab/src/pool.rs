//! The buffer pool as book-keeping: which pages of which files are in memory, in which version, since when. The bytes
//! stay in the files, which the operating system caches; what counts here is when a page has to come from a device.
//!
//! Replacement is exact LRU. A page has one entry, its newest version; a reader with an older snapshot gets an entry of
//! that version beside it, which counts against the limit like any other.

use std::collections::BTreeMap;

use plimsoll_measurement::Moment;

/// A page of a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageOf {
    pub file: u32,
    pub page: u32,
}

/// Versions count up over all pages; a page that was never written since its file was opened has version 0.
pub type Version = u64;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Entry {
    of: PageOf,
    version: Version,
    /// When its read is done; a session that comes before that waits for the same read.
    ready: Moment,
    newer: u32,
    older: u32,
    /// False for a version that only an older snapshot needs.
    newest: bool,
    /// True for a page that was read ahead, until somebody asks for it.
    unread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// When its read is done.
    pub ready: Moment,
    /// True if it was read ahead and nobody has asked for it before.
    pub unread: bool,
}

#[derive(Debug, Default)]
pub struct Pool {
    /// Most entries; `None` is without limit.
    limit: Option<usize>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    head: Option<u32>,
    tail: Option<u32>,
    /// By file and page: the entry of its newest version.
    newest: Vec<Vec<u32>>,
    old: BTreeMap<(PageOf, Version), u32>,
}

impl Pool {
    /// An empty pool of at most this many pages.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.map(|pages| (pages as usize).max(1)), ..Self::default() }
    }

    pub fn pages(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Most pages that it holds; `None` without limit.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// From now on it holds at most this many pages, and pushes out what is too much.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit.map(|pages| (pages as usize).max(1));
        self.push_out();
    }

    /// Looks a version of a page up and makes it the most recently used.
    pub fn touch(&mut self, of: PageOf, version: Version) -> Option<Found> {
        let index = self.find(of, version)?;
        self.use_now(index);
        let entry = &mut self.entries[index as usize];
        Some(Found { ready: entry.ready, unread: std::mem::take(&mut entry.unread) })
    }

    pub fn insert_ahead(&mut self, of: PageOf, version: Version, ready: Moment) {
        self.insert(of, version, ready);
        if let Some(index) = self.slot(of) {
            self.entries[index as usize].unread = true;
        }
    }

    /// True if the page is in the pool in this version.
    pub fn holds(&self, of: PageOf, version: Version) -> bool {
        self.find(of, version).is_some()
    }

    /// True if the page is in the pool in some version.
    pub fn holds_any(&self, of: PageOf) -> bool {
        self.slot(of).is_some()
    }

    /// Takes a page in that was read from a device or just written, and pushes others out for it.
    pub fn insert(&mut self, of: PageOf, version: Version, ready: Moment) {
        let current = self.slot(of);
        match current.map(|index| (index, self.entries[index as usize].version)) {
            Some((index, there)) if there <= version => {
                let entry = &mut self.entries[index as usize];
                entry.version = version;
                entry.ready = ready;
                self.use_now(index);
            }
            Some(_) => {
                let index =
                    self.add(Entry { of, version, ready, newer: NONE, older: NONE, newest: false, unread: false });
                self.old.insert((of, version), index);
            }
            None => {
                // It may have been read for an older snapshot, and what was newer has been pushed out since.
                if let Some(index) = self.old.remove(&(of, version)) {
                    self.discard(index);
                }
                let index =
                    self.add(Entry { of, version, ready, newer: NONE, older: NONE, newest: true, unread: false });
                self.set_slot(of, index);
            }
        }
        self.push_out();
    }

    fn push_out(&mut self) {
        while self.limit.is_some_and(|limit| self.pages() > limit) {
            self.evict();
        }
    }

    /// Forgets a page in all versions: it was written past the pool.
    pub fn forget(&mut self, of: PageOf) {
        if let Some(index) = self.slot(of) {
            self.remove(index);
        }
        let range = (of, 0)..=(of, Version::MAX);
        let old: Vec<u32> = self.old.range(range).map(|(_, index)| *index).collect();
        for index in old {
            self.remove(index);
        }
    }

    pub fn forget_file(&mut self, file: u32) {
        let indices: Vec<u32> = (0..self.entries.len() as u32)
            .filter(|index| self.is_live(*index) && self.entries[*index as usize].of.file == file)
            .collect();
        for index in indices {
            self.remove(index);
        }
    }

    /// Forgets everything, as a restart does.
    pub fn clear(&mut self) {
        *self = Self { limit: self.limit, ..Self::default() };
    }

    fn find(&self, of: PageOf, version: Version) -> Option<u32> {
        match self.slot(of) {
            Some(index) if self.entries[index as usize].version == version => Some(index),
            _ if self.old.is_empty() => None,
            _ => self.old.get(&(of, version)).copied(),
        }
    }

    fn slot(&self, of: PageOf) -> Option<u32> {
        let index = *self.newest.get(of.file as usize)?.get(of.page as usize)?;
        (index != NONE).then_some(index)
    }

    fn set_slot(&mut self, of: PageOf, index: u32) {
        let (file, page) = (of.file as usize, of.page as usize);
        if self.newest.len() <= file {
            self.newest.resize_with(file + 1, Vec::new);
        }
        let pages = &mut self.newest[file];
        if pages.len() <= page {
            pages.resize((page + 1).next_power_of_two(), NONE);
        }
        pages[page] = index;
    }

    fn add(&mut self, entry: Entry) -> u32 {
        let index = if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.link(index);
        index
    }

    fn is_live(&self, index: u32) -> bool {
        let entry = &self.entries[index as usize];
        self.find(entry.of, entry.version) == Some(index)
    }

    fn evict(&mut self) {
        if let Some(tail) = self.tail {
            self.remove(tail);
        }
    }

    fn remove(&mut self, index: u32) {
        let Entry { of, version, newest, .. } = self.entries[index as usize];
        if newest {
            self.set_slot(of, NONE);
        } else {
            self.old.remove(&(of, version));
        }
        self.discard(index);
    }

    fn discard(&mut self, index: u32) {
        self.unlink(index);
        self.free.push(index);
    }

    fn use_now(&mut self, index: u32) {
        if self.head != Some(index) {
            self.unlink(index);
            self.link(index);
        }
    }

    fn link(&mut self, index: u32) {
        let head = self.head.replace(index);
        let entry = &mut self.entries[index as usize];
        entry.newer = NONE;
        entry.older = head.unwrap_or(NONE);
        match head {
            Some(head) => self.entries[head as usize].newer = index,
            None => self.tail = Some(index),
        }
    }

    fn unlink(&mut self, index: u32) {
        let Entry { newer, older, .. } = self.entries[index as usize];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.head = (older != NONE).then_some(older),
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.tail = (newer != NONE).then_some(newer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(page: u32) -> PageOf {
        PageOf { file: 0, page }
    }

    const NOW: Moment = Moment::from_nanos(0);

    #[test]
    fn the_least_recently_used_page_goes_first() {
        let mut pool = Pool::new(Some(3));
        for page in [1, 2, 3] {
            pool.insert(at(page), 0, NOW);
        }
        assert!(pool.touch(at(1), 0).is_some());
        pool.insert(at(4), 0, NOW);
        assert!(!pool.holds(at(2), 0) && pool.holds(at(1), 0) && pool.holds(at(3), 0) && pool.pages() == 3);
    }

    #[test]
    fn a_new_version_takes_the_place_of_the_old_one() {
        let mut pool = Pool::new(Some(10));
        pool.insert(at(7), 0, NOW);
        pool.insert(at(7), 5, NOW);
        assert!(pool.pages() == 1 && pool.holds(at(7), 5) && !pool.holds(at(7), 0));
        // An older snapshot reads the old version from the device, and both count.
        pool.insert(at(7), 0, NOW);
        assert!(pool.pages() == 2 && pool.holds(at(7), 5) && pool.touch(at(7), 0).is_some());
        pool.forget(at(7));
        assert!(pool.pages() == 0 && !pool.holds(at(7), 5) && !pool.holds(at(7), 0));
    }

    #[test]
    fn a_version_that_was_old_and_is_read_again_counts_once() {
        let mut pool = Pool::new(Some(3));
        pool.insert(at(1), 9, NOW);
        pool.insert(at(1), 4, NOW);
        for page in [2, 3] {
            assert!(pool.touch(at(1), 4).is_some());
            pool.insert(at(page), 0, NOW);
        }
        // Version 9 has been pushed out; 4 is read ahead as the one in the file.
        assert!(!pool.holds_any(at(1)) && pool.holds(at(1), 4));
        pool.insert(at(1), 4, NOW);
        assert_eq!((pool.pages(), pool.holds(at(1), 4), pool.old.len()), (3, true, 0));
        pool.forget_file(0);
        assert_eq!((pool.pages(), pool.head, pool.tail), (0, None, None));
    }

    #[test]
    fn files_are_apart_and_memory_is_used_again() {
        let mut pool = Pool::new(Some(100));
        for page in 1..=50 {
            pool.insert(at(page), 0, NOW);
            pool.insert(PageOf { file: 3, page }, 0, NOW);
        }
        pool.forget_file(0);
        assert_eq!((pool.pages(), pool.holds(at(9), 0), pool.holds(PageOf { file: 3, page: 9 }, 0)), (50, false, true));
        for page in 1..=50 {
            pool.insert(at(page), 2, NOW);
        }
        assert_eq!((pool.pages(), pool.entries.len()), (100, 100));
        pool.clear();
        assert_eq!((pool.pages(), pool.limit()), (0, Some(100)));
    }
}
