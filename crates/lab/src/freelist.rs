//! Which free pages a transaction takes ("The Freelist" in SQLite's description of its file format). What is left on such a
//! page was deleted before, so that it is a new one for whoever takes it.

/// Where the file's header has the number of the first trunk, and behind it how many pages are free.
const FIRST: usize = 32;

fn number(page: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?))
}

/// Pages that were free before a transaction and may not be after it, by the file's first page before and after. `image`
/// copies a page as it was before. They are taken from the first trunks, and the trunks themselves are left out: they hold no rows.
pub fn taken(before: &[u8], after: &[u8], mut image: impl FnMut(u32, &mut [u8]) -> bool) -> Vec<u32> {
    let mut pages = Vec::new();
    let (Some(mut trunk), Some(first_after)) = (number(before, FIRST), number(after, FIRST)) else { return pages };
    if before[FIRST..FIRST + 8] == after[FIRST..FIRST + 8] {
        return pages;
    }
    let most = number(before, FIRST + 4).unwrap_or(0) as usize;
    let mut copy = vec![0; before.len()];
    while trunk != 0 && pages.len() < most && image(trunk, &mut copy) {
        let leaves = number(&copy, 4).unwrap_or(0) as usize;
        pages.extend((0..leaves.min(copy.len() / 4 - 2)).filter_map(|index| number(&copy, 8 + 4 * index)));
        if trunk == first_after {
            break;
        }
        trunk = number(&copy, 0).unwrap_or(0);
    }
    pages.sort_unstable();
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn pages_that_a_table_takes_were_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let connection = Connection::open(&path).unwrap();
        let insert = "INSERT INTO t WITH RECURSIVE s(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM s WHERE k < 5000)
                      SELECT k, printf('%.*c', 90, 'x') FROM s;";
        let create = "CREATE TABLE t (k INTEGER PRIMARY KEY, x TEXT);".to_owned() + insert;
        connection.execute_batch("PRAGMA page_size = 512").unwrap();
        connection.execute_batch(&create).unwrap();
        connection.execute_batch("DROP TABLE t").unwrap();
        for (change, least, most) in [("CREATE TABLE u (k)", 1, 128), (create.as_str(), 1000, 1300)] {
            let before = std::fs::read(&path).unwrap();
            connection.execute_batch(&format!("BEGIN; {change}; COMMIT")).unwrap();
            let after = std::fs::read(&path).unwrap();
            let image = |page: u32, into: &mut [u8]| {
                into.copy_from_slice(&before[(page as usize - 1) * 512..page as usize * 512]);
                true
            };
            let taken = taken(&before[..512], &after[..512], image);
            assert!((least..most).contains(&taken.len()), "{} for {change}", taken.len());
            // Everything that changed apart from the first page had been free, all but the trunks.
            let changed =
                |page: &u32| before.chunks(512).nth(*page as usize - 1) != after.chunks(512).nth(*page as usize - 1);
            let pages = before.len() as u32 / 512;
            let others = (2..=pages).filter(changed).filter(|page| taken.binary_search(page).is_err()).count();
            assert!((1..20).contains(&others), "{others} for {change}");
            assert!(taken.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn nothing_is_taken_where_the_list_stays() {
        let page = [0_u8; 512];
        assert!(taken(&page, &page, |_, _| true).is_empty());
        let mut after = page;
        after[39] = 1;
        assert!(taken(&page, &after, |_, _| true).is_empty());
    }
}
