//! How many pages a table takes, without reading them all. Only the inner pages of its tree are visited (one page in
//! some hundreds). The reason is that asking for a size must neither warm a cache nor take the time of a scan. The
//! layout is that of "B-tree Pages" in SQLite's description of its file format.

use plimsoll_engine::{ColumnType, Error, ErrorKind, Result, Table};

const INNER_PAGE: u8 = 5;
const LEAF_PAGE: u8 = 13;

/// Bytes before the cell pointers of an inner page.
const INNER_HEADER_BYTES: usize = 12;

/// No tree is deeper: 2^32 pages with at least four children each.
const MAX_DEPTH: usize = 17;

/// Pages of the table's tree below and including `root`. `read` fills the buffer with the page of that number. All
/// leaves lie at one depth, so of the lowest level only the first page is read.
pub(super) fn pages(root: u32, page_bytes: u64, mut read: impl FnMut(u32, &mut [u8]) -> Result<()>) -> Result<u64> {
    let damaged = || Error::new(ErrorKind::Statement, "a page of the table is not where its tree says");
    let mut page = vec![0; page_bytes as usize];
    let (mut level, mut total) = (vec![root], 0);
    for _ in 0..MAX_DEPTH {
        total += level.len() as u64;
        let mut below = Vec::new();
        for number in &level {
            read(*number, &mut page)?;
            match page[0] {
                LEAF_PAGE if below.is_empty() => return Ok(total),
                INNER_PAGE => add_children(&page, &mut below).ok_or_else(damaged)?,
                _ => return Err(damaged()),
            }
        }
        level = below;
    }
    Err(damaged())
}

fn add_children(page: &[u8], children: &mut Vec<u32>) -> Option<()> {
    let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
    for pointer in page.get(INNER_HEADER_BYTES..INNER_HEADER_BYTES + 2 * cells)?.chunks_exact(2) {
        children.push(number_at(page, usize::from(u16::from_be_bytes([pointer[0], pointer[1]])))?);
    }
    children.push(number_at(page, 8)?);
    Some(())
}

fn number_at(page: &[u8], offset: usize) -> Option<u32> {
    page.get(offset..offset + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// True if every row of the table fits into a leaf, so that there are no overflow pages beside the tree. A leaf holds up
/// to the page size less 35 bytes of a record; a record's header takes up to three bytes for itself and each column.
pub(super) fn rows_fit(table: &Table, page_bytes: u64) -> bool {
    let most = |kind: &ColumnType| match kind {
        ColumnType::Text(bytes) => 3 + u64::from(*bytes),
        _ => 3 + 8,
    };
    3 + table.columns.iter().map(|column| most(&column.kind)).sum::<u64>() <= page_bytes - 35
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of three levels: root 1, inner pages 2 and 3, and their leaves.
    fn file() -> Vec<Vec<u8>> {
        let inner = |children: &[u32]| {
            let mut page = vec![0; 64];
            page[0] = INNER_PAGE;
            let (right, cells) = children.split_last().unwrap();
            page[4] = cells.len() as u8;
            page[8..12].copy_from_slice(&right.to_be_bytes());
            for (index, child) in cells.iter().enumerate() {
                let at = 60 - 4 * index;
                page[13 + 2 * index] = at as u8;
                page[at..at + 4].copy_from_slice(&child.to_be_bytes());
            }
            page
        };
        let mut leaf = vec![0; 64];
        leaf[0] = LEAF_PAGE;
        let mut pages = vec![inner(&[2, 3]), inner(&[4, 5, 6]), inner(&[7, 8])];
        pages.resize(8, leaf);
        pages
    }

    #[test]
    fn only_the_first_leaf_is_read() {
        let (file, mut seen) = (file(), Vec::new());
        let read = |number: u32, page: &mut [u8]| {
            seen.push(number);
            page.copy_from_slice(&file[number as usize - 1]);
            Ok(())
        };
        assert_eq!(pages(1, 64, read).unwrap(), 8);
        assert_eq!(seen, [1, 2, 3, 4]);
    }

    #[test]
    fn a_damaged_tree_is_an_error_and_not_a_loop() {
        let file = file();
        let cycle = |_: u32, page: &mut [u8]| {
            page.copy_from_slice(&file[0]);
            page[4] = 0;
            Ok(())
        };
        assert_eq!(pages(1, 64, cycle).unwrap_err().kind, ErrorKind::Statement);
        assert!(pages(1, 64, |_, _| Ok(())).is_err());
        let mut wild = file[0].clone();
        wild[3] = 0xff;
        assert!(add_children(&wild, &mut Vec::new()).is_none());
    }

    #[test]
    fn long_rows_may_overflow() {
        let table = |text| Table::new("t", &[("RowId", ColumnType::Int), ("T", ColumnType::Text(text))]);
        assert!(rows_fit(&table(400), 512) && !rows_fit(&table(470), 512) && rows_fit(&table(470), 1024));
    }
}
