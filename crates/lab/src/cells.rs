//! What a page of SQLite holds ("B-tree Pages" in the description of its file format): the rows of a table, the entries of
//! an index, or the rest of a long row.

/// Bytes of the database's own header, at the beginning of its first page.
const FILE_HEADER: usize = 100;

/// A row, or an entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The key of a row; an entry has none.
    pub key: Option<u64>,
    pub bytes: &'a [u8],
}

#[derive(Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// In the order of their keys.
    Cells(Vec<Cell<'a>>),
    /// A table's page above its leaves: it holds no rows.
    AboveRows,
    /// Any other page, such as the rest of a long row.
    Bytes(&'a [u8]),
}

impl<'a> Content<'a> {
    /// What a page holds. A page that is no tree's is taken as bytes.
    pub fn of(page: &'a [u8], is_first: bool) -> Self {
        let header = if is_first { FILE_HEADER } else { 0 };
        match page.get(header) {
            Some(5) => Self::AboveRows,
            _ => cells(page, header).map_or(Self::Bytes(page), Self::Cells),
        }
    }
}

fn cells(page: &[u8], header: usize) -> Option<Vec<Cell<'_>>> {
    let is_row = match page.get(header)? {
        13 => true,
        2 | 10 => false,
        _ => return None,
    };
    // An inner page of an index has entries as a leaf has them, each behind the number of a child.
    let (child, pointers) = if page[header] == 2 { (4, header + 12) } else { (0, header + 8) };
    let two_bytes = |at: usize| Some(u16::from_be_bytes(page.get(at..at + 2)?.try_into().ok()?) as usize);
    let count = two_bytes(header + 3)?;
    let mut cells = Vec::with_capacity(count.min(page.len() / 4));
    for number in 0..count {
        let from = two_bytes(pointers + 2 * number)? + child;
        let (payload, mut length) = varint(page, from)?;
        let key = if is_row {
            let (key, bytes) = varint(page, from + length)?;
            length += bytes;
            Some(key)
        } else {
            None
        };
        length += on_page(payload, page.len(), is_row);
        cells.push(Cell { key, bytes: page.get(from..from + length)? });
    }
    Some(cells)
}

/// Bytes of a record that lie on the page itself, with the number of the page where the rest is.
fn on_page(payload: u64, page_bytes: usize, is_row: bool) -> usize {
    let payload = usize::try_from(payload).unwrap_or(usize::MAX);
    let most = if is_row { page_bytes - 35 } else { (page_bytes - 12) * 64 / 255 - 23 };
    if payload <= most {
        return payload;
    }
    let least = (page_bytes - 12) * 32 / 255 - 23;
    let whole_pages_beside = least + (payload - least) % (page_bytes - 4);
    4 + if whole_pages_beside <= most { whole_pages_beside } else { least }
}

/// An integer of variable length, and how many bytes it takes.
fn varint(page: &[u8], from: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, byte) in page.get(from..)?.iter().take(9).enumerate() {
        if index == 8 {
            return Some((value << 8 | u64::from(*byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// Every page of a database as SQLite makes it: rows short and long, an index, and a schema.
    #[test]
    fn every_row_and_every_entry_is_found() {
        for page_bytes in [512_usize, 4096, 65_536] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let connection = Connection::open(&path).unwrap();
            connection.pragma_update(None, "page_size", page_bytes as i64).unwrap();
            let sql = "CREATE TABLE t (k INTEGER PRIMARY KEY, x TEXT); CREATE INDEX i ON t (x);
                       INSERT INTO t WITH RECURSIVE s(k) AS (SELECT -500 UNION ALL SELECT k + 1 FROM s WHERE k < 499)
                       SELECT k * 1000003, printf('%.*c', 10 + (k * 7919) % 3000, 'x') || k FROM s;";
            connection.execute_batch(sql).unwrap();
            let data = std::fs::read(&path).unwrap();
            let (mut rows, mut entries) = (Vec::new(), 0);
            for (page, number) in data.chunks(page_bytes).zip(0..) {
                if let Content::Cells(cells) = Content::of(page, number == 0) {
                    entries += cells.iter().filter(|cell| cell.key.is_none()).count();
                    rows.extend(cells.iter().filter_map(|cell| cell.key));
                }
            }
            rows.sort_unstable_by_key(|key| *key as i64);
            // Two rows are of the schema.
            assert_eq!((rows.len(), entries), (1002, 1000), "pages of {page_bytes}");
            assert_eq!((rows[0] as i64, rows[1001]), (-500 * 1_000_003, 499 * 1_000_003));
        }
    }

    #[test]
    fn pages_of_no_tree_are_bytes() {
        for first in [0, 1, 13, 10] {
            let mut page = [0xff; 512];
            page[0] = first;
            assert_eq!(Content::of(&page, false), Content::Bytes(&page), "{first}");
        }
        assert_eq!(Content::of(&[13, 0, 0, 0, 0, 0, 0, 0], false), Content::Cells(Vec::new()));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!((varint(&[0x81, 0], 0), varint(&[0x81], 0)), (Some((128, 2)), None));
    }
}
