//! What the sessions of a scenario do: tables and requests as the text of a definition of one's own, and what a request demands.

use super::class::Class;
use super::demand::{Demand, PAGE};
use super::draw::Draw;
use super::family::Family;
use crate::records::{RECORD_BYTES, TRANSACTION_BYTES};

pub struct Workload {
    pub demand: Demand,
    pub page_bytes: u64,
    pub memory_pages: f64,
    pub text: String,
    /// How many copies `{n}` stands for.
    pub copies: u64,
    /// How many keys its transactions lock; 0 if they lock none.
    pub locked_keys: u64,
}

/// Bytes of a page where a workload does not want larger ones, and of a text of which two are in one.
const PAGE_BYTES: u64 = 4096;
const ROW_BYTES: u64 = 1700;

/// Demand of one statement that reads so often, pages of so many bytes.
fn reads(reads: f64, page_bytes: f64) -> Demand {
    Demand { statements: 1.0, steps: 14.0, reads, read_bytes: reads * page_bytes, ..Demand::default() }
}

/// Bytes of a row that a counter in it changes: its last digit, before and after.
const COUNTED: f64 = 2.0;

/// Demand of a transaction of so many statements that leaves so many frames in the log, and changes so many rows and entries
/// of an index by so many bytes in all.
fn writes(statements: f64, frames: f64, (changes, bytes): (f64, f64)) -> Demand {
    let log_bytes = TRANSACTION_BYTES as f64 + changes * RECORD_BYTES as f64 + bytes;
    Demand { statements, steps: 40.0, commits: 1.0, log_bytes, dirty_pages: frames, ..Demand::default() }
}

impl Workload {
    /// The workload of a family for scenarios that aim at a class.
    pub fn of(family: Family, draw: &mut Draw, aims_at: Class) -> Self {
        match family {
            Family::PointReads | Family::Lookups | Family::LargePages | Family::IndexReads | Family::Documents => {
                by_key(family, draw, aims_at)
            }
            Family::RangeScans => scans(draw),
            Family::Updates | Family::IndexedUpdates => updates(family, draw),
            Family::Inserts => inserts(draw),
            Family::HotRows | Family::Transfers | Family::Reservations => locking(family, draw, aims_at),
            Family::Mixed | Family::Feed => mixed(family, draw, aims_at),
        }
    }

    /// One on pages of the usual size, without copies and locks.
    fn plain(demand: Demand, memory_pages: f64, text: String) -> Self {
        Self { demand, page_bytes: PAGE_BYTES, memory_pages, text, copies: 1, locked_keys: 0 }
    }
}

fn by_key(family: Family, draw: &mut Draw, aims_at: Class) -> Workload {
    let (row, page_bytes, in_a_page) = match family {
        Family::LargePages => (7400, 16_384, 2.0),
        Family::Documents => (7400, 8192, 1.0),
        _ => (ROW_BYTES, PAGE_BYTES, 2.0),
    };
    let (memory, pages) = memory_and_pages(draw, aims_at, page_bytes > PAGE_BYTES);
    let rows = in_a_page * pages;
    // Some pages have the addresses of others.
    let misses = (1.0 - (memory - pages / 100.0 - 8.0) / pages).clamp(0.0, 1.0);
    let read = |statement: &str, setup: String| {
        format!(
            "{setup}\n[[request]]\nname = \"read\"\nstatements = [\"{statement}\"]\n[request.parameters]\nid = {{ uniform = [1, {rows:.0}] }}\n"
        )
    };
    match family {
        Family::Lookups => Workload::plain(reads(2.0 * misses, PAGE), memory, lookups(rows / 2.0, row)),
        Family::IndexReads => {
            let text = read("SELECT c FROM t WHERE n = :id", setup(&[("t", rows, row)], &indexed("t", rows)));
            Workload::plain(Demand { steps: 20.0, ..reads(misses, PAGE) }, memory, text)
        }
        _ => {
            let text = read("SELECT c FROM t WHERE id = :id", setup(&[("t", rows, row)], &[]));
            Workload { page_bytes, ..Workload::plain(reads(misses, page_bytes as f64), memory, text) }
        }
    }
}

fn scans(draw: &mut Draw) -> Workload {
    let pages = draw.between(100.0, 150.0).round();
    let text = format!(
        "{}\n[[request]]\nname = \"scan\"\nstatements = [\"SELECT sum(n) FROM t{{n}}\"]\n",
        setup(&[("t{n}", pages, 3900)], &[])
    );
    let read_bytes = (pages + 2.0) * PAGE;
    let demand = Demand { statements: 1.0, steps: 9.0 * pages, reads: 9.0, read_bytes, ..Demand::default() };
    Workload { copies: 60, ..Workload::plain(demand, 560.0, text) }
}

/// An index of a few pages has an entry taken from one and put into another, mostly.
fn updates(family: Family, draw: &mut Draw) -> Workload {
    let pages = draw.scale(300.0, 900.0).round();
    let rows = 2.0 * pages;
    let is_indexed = family == Family::IndexedUpdates;
    let (value, more, frames, changes) = if is_indexed {
        // Two bytes of the number before and after, and an entry of seven for each.
        (":n", indexed("t", rows), 2.7, (3.0, 18.0))
    } else {
        ("n + 1", Vec::new(), 1.0, (1.0, COUNTED))
    };
    let number = if is_indexed { format!("n = {{ uniform = [1, {rows:.0}] }}\n") } else { String::new() };
    let text = format!(
        "{}\n[[request]]\nname = \"update\"\nstatements = [\"UPDATE t SET n = {value} WHERE id = :id\"]\n[request.parameters]\nid = {{ uniform = [1, {rows:.0}] }}\n{number}",
        setup(&[("t", rows, ROW_BYTES)], &more)
    );
    Workload::plain(writes(1.0, frames, changes), pages * draw.between(3.0, 6.0) + 300.0, text)
}

/// A new page at the end changes its parent and the first page beside itself.
fn inserts(draw: &mut Draw) -> Workload {
    let row = draw.between(1100.0, 3800.0) as u64;
    let in_a_page = (4080 / (row + 10)) as f64;
    let text = format!(
        "{}\n[[request]]\nname = \"insert\"\nstatements = [\"INSERT INTO t (n, c) VALUES (:number, :text)\"]\n[request.parameters]\nnumber = {{ uniform = [1, 1000000] }}\ntext = {{ text = {row} }}\n",
        setup(&[("t", 200.0, row)], &[])
    );
    Workload::plain(writes(1.0, 1.0 + 2.0 / in_a_page, (1.0, row as f64 + 12.0)), 4000.0, text)
}

fn locking(family: Family, draw: &mut Draw, aims_at: Class) -> Workload {
    let keys = if aims_at == Class::Locks { draw.one(&[1, 1, 1, 2]) } else { 1000 };
    let (statements, demand) = match family {
        // The second key is one of another range, and higher than any of the first.
        Family::Transfers => (
            "[\"SELECT lab_lock(:one)\", \"SELECT lab_lock(:other)\", \"UPDATE t SET n = n - 1 WHERE id = :one\", \
             \"UPDATE t SET n = n + 1 WHERE id = :other\"]\n[request.parameters]\none = { uniform = [1, {keys}] }\n\
             other = { plus = [\"one\", {keys}] }\n",
            writes(6.0, 2.0, (2.0, 2.0 * COUNTED)),
        ),
        Family::Reservations => (
            "[\"SELECT lab_lock(:id)\", \"UPDATE t SET n = n - 1 WHERE id = :id\", \"SELECT n FROM t WHERE id = :id\"]\n\
             [request.parameters]\nid = { uniform = [1, {keys}] }\n",
            writes(5.0, 1.0, (1.0, COUNTED)),
        ),
        _ => (
            "[\"SELECT lab_lock(:id)\", \"UPDATE t SET n = n + 1 WHERE id = :id\"]\n[request.parameters]\n\
             id = { uniform = [1, {keys}] }\n",
            writes(4.0, 1.0, (1.0, COUNTED)),
        ),
    };
    let text = format!(
        "{}\n[[request]]\nname = \"change\"\nstatements = {statements}",
        setup(&[("t", 2000.0, ROW_BYTES)], &[])
    );
    Workload { locked_keys: keys, ..Workload::plain(demand, 4000.0, text) }
}

fn mixed(family: Family, draw: &mut Draw, aims_at: Class) -> Workload {
    let (memory, pages) = memory_and_pages(draw, aims_at, false);
    let share = draw.between(0.15, 0.5);
    let (rows, small) = (2.0 * pages, (memory * 0.25).round().max(40.0));
    let (select, change, more) = if family == Family::Feed {
        let change = "INSERT INTO u (id, n, c) VALUES (:id, 1, '') ON CONFLICT (id) DO UPDATE SET n = n + 1";
        ("SELECT c FROM t WHERE n = :id", change, indexed("t", rows))
    } else {
        ("SELECT c FROM t WHERE id = :id", "UPDATE u SET n = n + 1 WHERE id = :id", Vec::new())
    };
    let text = format!(
        "{}\n[[request]]\nname = \"read\"\nweight = {:.3}\nstatements = [\"{select}\"]\n[request.parameters]\nid = {{ uniform = [1, {rows:.0}] }}\n\n[[request]]\nname = \"write\"\nweight = {share:.3}\nstatements = [\"{change}\"]\n[request.parameters]\nid = {{ uniform = [1, {small:.0}] }}\n",
        setup(&[("t", rows, ROW_BYTES), ("u", small, ROW_BYTES)], &more),
        1.0 - share,
    );
    // The pages that are changed stay in memory.
    let misses = (1.0 - memory * 0.7 / pages).clamp(0.0, 1.0);
    let (read, write) = (reads(misses, PAGE), writes(1.0, 1.0, (1.0, COUNTED)));
    let of = |part: fn(&Demand) -> f64| (1.0 - share) * part(&read) + share * part(&write);
    let demand = Demand {
        statements: 1.0,
        steps: of(|demand| demand.steps),
        reads: of(|demand| demand.reads),
        read_bytes: of(|demand| demand.read_bytes),
        commits: share,
        log_bytes: of(|demand| demand.log_bytes),
        dirty_pages: of(|demand| demand.dirty_pages),
    };
    Workload::plain(demand, memory, text)
}

/// Pages of memory and of the tables. A little more memory matters only where the working set is meant not to fit.
fn memory_and_pages(draw: &mut Draw, aims_at: Class, is_large: bool) -> (f64, f64) {
    let fits = |draw: &mut Draw| {
        let pages = draw.scale(250.0, 800.0).round();
        (pages * draw.between(1.3, 2.0) + 50.0, pages)
    };
    match aims_at {
        Class::Memory => {
            let pages = draw.scale(600.0, 1200.0).round();
            (pages * draw.between(0.5, 0.88), pages)
        }
        Class::Cpu | Class::Client if draw.chance(0.5) => fits(draw),
        _ => {
            let memory = if is_large { draw.between(90.0, 130.0) } else { draw.between(160.0, 240.0) };
            (memory, (memory / draw.between(0.05, 0.08)).round())
        }
    }
}

/// Tables of so many rows with texts of so many bytes, and what is done to them then.
fn setup(tables: &[(&str, f64, u64)], more: &[String]) -> String {
    let tables = tables.iter().map(|(name, rows, bytes)| {
        format!(
            "    \"CREATE TABLE {name} (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, c TEXT NOT NULL)\",\n    \"INSERT INTO {name} WITH RECURSIVE s(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM s WHERE id < {rows:.0}) SELECT id, 1000, printf('%.*c', {bytes}, 'x') FROM s\",\n"
        )
    });
    let more = more.iter().map(|statement| format!("    \"{statement}\",\n"));
    format!("[setup]\nstatements = [\n{}]\n", tables.chain(more).collect::<String>())
}

/// Every number once, in no order of the keys.
fn numbered(table: &str, rows: f64) -> String {
    format!("UPDATE {table} SET n = 1 + (id * 7919) % {rows:.0}")
}

/// The same, with an index on the numbers.
fn indexed(table: &str, rows: f64) -> Vec<String> {
    vec![numbered(table, rows), format!("CREATE INDEX {table}_n ON {table} (n)")]
}

/// Two tables of the same size; a row of one names a row of the other.
fn lookups(rows: f64, row: u64) -> String {
    let setup = setup(&[("orders", rows, row), ("customers", rows, row)], &[numbered("orders", rows)]);
    format!(
        "{setup}\n[[request]]\nname = \"lookup\"\nstatements = [\"SELECT o.c, c.c FROM orders o JOIN customers c ON c.id = o.n WHERE o.id = :id\"]\n[request.parameters]\nid = {{ uniform = [1, {rows:.0}] }}\n"
    )
}
