//! How many pages SQLite makes of rows with rising keys, and which of them a transaction changes.
//!
//! A row goes into the last leaf if it fits there, else into a new leaf behind it, alone (`balance_quick` in SQLite's
//! btree.c): leaves are full. An inner page that overflows is shared out with up to two neighbours to its left over as
//! many pages as that takes, evenly (`balance_nonroot`). The root stays where it is and grows a level
//! (`balance_deeper`).

use std::collections::BTreeSet;

use super::record::{inner_cell_bytes, leaf_cell_bytes, logged_bytes};
use crate::records::TRANSACTION_BYTES;
use crate::wal::FRAME_HEADER_BYTES;

/// Bytes of a leaf's header, and of an inner page's.
const LEAF_HEADER: u64 = 8;
const INNER_HEADER: u64 = 12;

/// Most neighbours that are shared out together.
const SIBLINGS: usize = 3;

/// An inner page: the sizes of its cells. Its last child has none.
#[derive(Debug, Default)]
struct Inner {
    /// Its page, counted from the table's root, which is 0: in the order in which SQLite allocates them.
    page: u64,
    cells: Vec<u64>,
}

/// An inner page that a scan comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detour {
    /// The page that was read before it.
    pub after: u64,
    pub page: u64,
}

impl Inner {
    fn bytes(&self) -> u64 {
        self.cells.iter().sum()
    }
}

#[derive(Debug)]
pub struct Tree {
    page_bytes: u64,
    /// Pages of the leaves.
    leaves: Vec<u64>,
    room: u64,
    last_key: u64,
    /// Inner pages by level, from above the leaves to the root; empty as long as the root is a leaf.
    inner: Vec<Vec<Inner>>,
    changed_leaves: u64,
    changed_inner: BTreeSet<u64>,
    /// Bytes of the records of rows on the last leaf, and of those on leaves before it.
    last_leaf_log: u64,
    earlier_log: u64,
    /// Pages when it was last asked what changed.
    pages_before: u64,
}

impl Tree {
    pub fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            leaves: vec![0],
            room: page_bytes - LEAF_HEADER,
            last_key: 0,
            inner: Vec::new(),
            changed_leaves: 0,
            changed_inner: BTreeSet::new(),
            last_leaf_log: 0,
            earlier_log: 0,
            pages_before: 1,
        }
    }

    /// Adds a row behind the others. False if it needs overflow pages: such tables are not modelled.
    pub fn append(&mut self, key: u64, payload: u64) -> bool {
        let Some(cell) = leaf_cell_bytes(key, payload, self.page_bytes) else { return false };
        if cell <= self.room {
            self.changed_leaves = self.changed_leaves.max(1);
            self.room -= cell;
        } else {
            self.changed_leaves += 1;
            self.end_leaf_log();
            self.room = self.page_bytes - LEAF_HEADER - cell;
            if self.inner.is_empty() {
                // The root's rows move into a page of their own.
                self.leaves[0] = 1;
                self.inner.push(vec![Inner::default()]);
            }
            self.leaves.push(self.pages());
            self.add(0, inner_cell_bytes(self.last_key));
        }
        self.last_key = key;
        self.last_leaf_log += logged_bytes(key, payload);
        true
    }

    /// No more rows of this transaction go into the last leaf. A page costs no more in the log than itself.
    fn end_leaf_log(&mut self) {
        self.earlier_log += std::mem::take(&mut self.last_leaf_log).min(self.page_bytes + FRAME_HEADER_BYTES);
    }

    /// Bytes of log of a transaction that wrote what was added since this was asked before.
    pub fn take_log(&mut self) -> u64 {
        self.end_leaf_log();
        TRANSACTION_BYTES + std::mem::take(&mut self.earlier_log)
    }

    /// Inner pages, the root included.
    pub fn inner(&self) -> u64 {
        self.inner.iter().map(|level| level.len() as u64).sum()
    }

    pub fn pages(&self) -> u64 {
        self.leaves.len() as u64 + self.inner()
    }

    /// Pages that changed since this was asked before.
    pub fn take_changed(&mut self) -> u64 {
        let inner = std::mem::take(&mut self.changed_inner).len() as u64;
        std::mem::take(&mut self.changed_leaves) + inner
    }

    /// Frames of a transaction that wrote what changed since this was asked before: a file that grows says so on its first
    /// page.
    pub fn take_frames(&mut self) -> u64 {
        let pages = self.pages();
        let grown = u64::from(pages > std::mem::replace(&mut self.pages_before, pages));
        self.take_changed() + grown
    }

    /// The page of a leaf, counted from 0 like the leaves; `None` behind the last.
    pub fn leaf(&self, index: usize) -> Option<u64> {
        self.leaves.get(index).copied()
    }

    /// The inner pages below the root in the order in which a scan comes to them.
    pub fn detours(&self) -> Vec<Detour> {
        let mut detours = Vec::new();
        let below_root = self.inner.len().saturating_sub(1);
        // First leaves of the pages of each level, from the lowest on.
        let mut firsts: Vec<usize> = (0..self.leaves.len()).collect();
        for (height, level) in self.inner[..below_root].iter().enumerate() {
            let mut child = 0;
            let mut own = Vec::with_capacity(level.len());
            for inner in level {
                let first = firsts.get(child).copied().unwrap_or(0);
                own.push(first);
                child += inner.cells.len() + 1;
                let after = if first == 0 { 0 } else { self.leaves[first - 1] };
                detours.push((after, std::cmp::Reverse(height), inner.page));
            }
            firsts = own;
        }
        // Of those after the same leaf the higher comes first.
        detours.sort_unstable();
        detours.into_iter().map(|(after, _, page)| Detour { after, page }).collect()
    }

    const fn room_of_inner(&self) -> u64 {
        self.page_bytes - INNER_HEADER
    }

    /// Adds a cell to the last page of a level.
    fn add(&mut self, level: usize, cell: u64) {
        let room = self.room_of_inner();
        if let Some(page) = self.inner[level].last_mut() {
            page.cells.push(cell);
            self.changed_inner.insert(page.page);
            if page.bytes() > room {
                self.share_out(level);
            }
        }
    }

    /// The last page of a level is too full.
    fn share_out(&mut self, level: usize) {
        if level + 1 == self.inner.len() {
            // The root's content moves into a new page below it.
            let below = Inner { page: self.pages(), cells: Vec::new() };
            let mut root = std::mem::replace(&mut self.inner[level], vec![below]);
            if let (Some(root), Some(below)) = (root.first_mut(), self.inner[level].first_mut()) {
                below.cells = std::mem::take(&mut root.cells);
            }
            self.inner.push(root);
        }
        let Some(parent) = self.inner[level + 1].last_mut() else { return };
        let siblings = SIBLINGS.min(parent.cells.len() + 1);
        let dividers = parent.cells.split_off(parent.cells.len() + 1 - siblings);
        self.changed_inner.insert(parent.page);
        let first = self.inner[level].len() - siblings;
        let mut pages = self.inner[level].split_off(first);
        let (mut cells, mut ends) = (Vec::new(), Vec::new());
        for (index, page) in pages.iter_mut().enumerate() {
            cells.append(&mut page.cells);
            ends.push(cells.len());
            cells.extend(dividers.get(index));
        }
        let ends = shares(&cells, &ends, self.room_of_inner());
        let mut next = self.pages() + pages.len() as u64;
        let mut dividers = Vec::new();
        let mut from = 0;
        for (index, end) in ends.iter().enumerate() {
            let number = pages.get(index).map_or(next, |page| page.page);
            next += u64::from(index >= pages.len());
            let page = Inner { page: number, cells: cells[from..*end].to_vec() };
            self.changed_inner.insert(page.page);
            self.inner[level].push(page);
            dividers.extend(cells.get(*end));
            from = *end + 1;
        }
        for divider in dividers {
            self.add(level + 1, divider);
        }
    }
}

/// Where the cells of each page end when neighbours share them out: the cell at an end divides two pages and goes to the
/// parent. First as many as fit from the left on, then evened out from the right (`balance_nonroot`, "figure out the
/// number of pages needed" and "the packing computed by the previous block is biased").
fn shares(cells: &[u64], old_ends: &[usize], room: u64) -> Vec<usize> {
    let at = |index: usize| cells.get(index).copied().unwrap_or(0);
    let mut ends = old_ends.to_vec();
    let mut sizes: Vec<u64> = (0..ends.len())
        .map(|page| cells[if page == 0 { 0 } else { ends[page - 1] + 1 }..ends[page]].iter().sum())
        .collect();
    let mut page = 0;
    while page < ends.len() {
        while sizes[page] > room {
            if page + 1 >= ends.len() {
                sizes.push(0);
                ends.push(cells.len());
            }
            sizes[page] -= at(ends[page] - 1);
            sizes[page + 1] += at(ends[page]);
            ends[page] -= 1;
        }
        while ends[page] < cells.len() {
            let cell = at(ends[page]);
            if sizes[page] + cell > room {
                break;
            }
            sizes[page] += cell;
            ends[page] += 1;
            let next = at(ends[page]);
            if let Some(size) = sizes.get_mut(page + 1) {
                *size -= next;
            }
        }
        if ends[page] >= cells.len() {
            ends.truncate(page + 1);
            sizes.truncate(page + 1);
        }
        page += 1;
    }
    let last = ends.len() - 1;
    for page in (1..=last).rev() {
        let (mut right, mut left) = (sizes[page], sizes[page - 1]);
        while ends[page - 1] > 0 {
            // The divider goes to the right page, the left page's last cell becomes the divider.
            let (divider, moved) = (at(ends[page - 1]), at(ends[page - 1] - 1));
            let left_after = left - (moved - if page == last { 2 } else { 0 });
            if right != 0 && right + divider > left_after {
                break;
            }
            right += divider;
            left -= moved;
            ends[page - 1] -= 1;
        }
        (sizes[page], sizes[page - 1]) = (right, left);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// Leaves and inner pages of a table of texts of these lengths, as SQLite makes it.
    fn by_sqlite(page_bytes: u64, first_key: i64, lengths: &[usize]) -> (u64, u64) {
        let connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "page_size", page_bytes as i64).unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, x TEXT); BEGIN").unwrap();
        {
            let mut insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
            for (index, length) in lengths.iter().enumerate() {
                insert.execute((first_key + index as i64, "x".repeat(*length))).unwrap();
            }
        }
        let count = |kind: &str| {
            let sql = format!("SELECT count(*) FROM dbstat WHERE name = 't' AND pagetype = '{kind}'");
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64
        };
        (count("leaf"), count("internal"))
    }

    fn by_rule(page_bytes: u64, first_key: u64, lengths: &[usize]) -> (u64, u64) {
        let mut tree = Tree::new(page_bytes);
        for (index, length) in lengths.iter().enumerate() {
            let length = *length as u64;
            let header = 2 + super::super::record::varint_bytes(13 + 2 * length);
            assert!(tree.append(first_key + index as u64, header + length));
        }
        (tree.leaves.len() as u64, tree.inner())
    }

    #[test]
    fn pages_are_those_that_sqlite_makes() {
        // A fixed pattern of lengths: leaves differ in how many rows they hold.
        let lengths = |rows: usize, from: usize, span: usize| -> Vec<usize> {
            (0..rows).map(|row| from + row.wrapping_mul(2_654_435_761) / 7 % span).collect()
        };
        for (page_bytes, first_key, rows, from, span) in [
            (4096, 1, 1, 10, 1),
            (4096, 1, 200, 300, 200),
            (4096, 1, 30_000, 300, 200),
            (8192, 1, 20_000, 700, 300),
            (512, 1, 40_000, 50, 100),
            (512, 2_000_000_000, 20_000, 100, 50),
            (1024, 2_090_000, 30_000, 150, 50),
            (65_536, 1, 5_000, 300, 500),
        ] {
            let lengths = lengths(rows, from, span);
            let (made, computed) =
                (by_sqlite(page_bytes, first_key, &lengths), by_rule(page_bytes, first_key as u64, &lengths));
            assert_eq!(computed, made, "{rows} rows of {from} bytes and more in pages of {page_bytes}");
        }
    }

    /// The order of a scan by `dbstat`, with paths that say where a page hangs.
    #[test]
    fn inner_pages_lie_where_sqlite_puts_them() {
        let connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "page_size", 512).unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, x TEXT); BEGIN").unwrap();
        let mut tree = Tree::new(512);
        for key in 1..=20_000_u64 {
            connection.execute("INSERT INTO t VALUES (?, ?)", (key as i64, "x".repeat(200))).unwrap();
            assert!(tree.append(key, 3 + 1 + 200));
        }
        let root: u64 =
            connection.query_row("SELECT rootpage FROM sqlite_schema", [], |row| row.get::<_, i64>(0)).unwrap() as u64;
        let mut statement =
            connection.prepare("SELECT pageno, pagetype FROM dbstat WHERE name = 't' ORDER BY path").unwrap();
        let pages = statement.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64 - root, row.get::<_, String>(1)?)));
        let (mut made, mut leaves, mut after) = (Vec::new(), Vec::new(), 0);
        for (page, kind) in pages.unwrap().map(Result::unwrap) {
            if kind == "leaf" {
                leaves.push(page);
                after = page;
            } else if page != 0 {
                made.push(Detour { after, page });
            }
        }
        assert!(made.len() > 100 && tree.inner.len() > 2, "{} {}", made.len(), tree.inner.len());
        assert_eq!(tree.leaves, leaves);
        assert_eq!(tree.detours(), made);
    }

    #[test]
    fn a_chunk_changes_its_leaves_and_the_path_to_them() {
        let mut tree = Tree::new(4096);
        let mut append = |keys: std::ops::Range<u64>| {
            for key in keys {
                assert!(tree.append(key, 400));
            }
            (tree.leaves.len(), tree.take_changed())
        };
        // Ten rows to a leaf.
        assert_eq!(append(1..101), (10, 10 + 1));
        assert_eq!(append(101..201), (20, 10 + 1));
        // A row that begins a leaf leaves the one before as it was.
        assert_eq!(append(201..202), (21, 1 + 1));
        assert_eq!(append(202..203), (21, 1));
    }
}
