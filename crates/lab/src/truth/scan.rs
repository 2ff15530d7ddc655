//! How long one session scans tables from a cold cache.
//!
//! The device transfers all pages and the CPU works on all rows and pages. Reading ahead they overlap, so the slower of
//! the two makes most of the time. On top of it come pages that are waited for: all of them before read-ahead begins, and
//! later inner pages that lie further ahead than it reaches. Read-ahead also covers latency only so far: a window holds
//! a few I/Os, so one of them that takes longer than the others keeps the scan waiting.
//!
//! That is gone through I/O by I/O: times of transfer, of CPU and of latency, and no queue but "after the one before".
//! Where latency is a distribution, what counts is the mean over many scans with draws of their own.
//!
//! Tables that were loaded one after another follow one another in the file, so read-ahead runs on into the next table.

use plimsoll_engine::Result;
use plimsoll_engine::work::TableData;
use plimsoll_hardware::{Kind, LARGEST_IO_BYTES, Role, Spec};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::device::{Counts, Device, Load, Span};
use super::rows::each;
use super::steps::{cpu_seconds, statement_seconds};
use super::tree::{Detour, Tree};
use crate::readahead::{START, Sizes};

/// How often the scan is gone through with other latencies: the mean of so many is known to a few hundredths of a percent.
const SCANS: u64 = 64;

/// A table as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    pub pages: u64,
    pub rows: u64,
    pub content_bytes: u64,
    /// Inner pages below the root, in the order of a scan.
    pub detours: Vec<Detour>,
    /// The first page that read-ahead asks for if the scan begins with this table.
    pub ahead_from: u64,
}

/// The time of a scan and how it comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanTime {
    /// Seconds for all tables.
    pub seconds: f64,
    /// What binds: `data_io`, `data_iops`, `cpu` or `latency`.
    pub limit: &'static str,
    /// Seconds that the limit which binds would take alone.
    pub bound_seconds: f64,
    /// Pages that are waited for one by one.
    pub waited: u64,
}

/// The shape of a table; `None` if its rows do not fit into a page.
pub fn shape(table_data: TableData<'_>, page_bytes: u64) -> Result<Option<Shape>> {
    let mut tree = Tree::new(page_bytes);
    let (mut fits, mut shape) = (true, Shape::default());
    each(table_data, |key, payload, content| {
        fits &= tree.append(key, payload);
        shape.rows += 1;
        shape.content_bytes += content;
    })?;
    shape.pages = tree.pages();
    shape.detours = tree.detours();
    // Leaves make a scan; the root is in order with them unless an inner page comes between.
    let leaves = START as usize - usize::from(shape.detours.is_empty());
    shape.ahead_from = tree.leaf(leaves - 1).map_or(shape.pages, |last| last + 1);
    Ok(fits.then_some(shape))
}

/// The time for tables of these shapes; each row takes so many steps of SQLite's virtual machine.
pub fn time(spec: &Spec, tables: &[Shape], row_steps: f64) -> ScanTime {
    let scan = Scan::new(spec, tables, row_steps);
    let runs: Vec<(f64, u64)> = (0..SCANS).map(|seed| scan.run(tables, seed)).collect();
    let seconds = runs.iter().map(|run| run.0).sum::<f64>() / SCANS as f64;
    let waited = runs.first().map_or(0, |run| run.1);
    let (io, cpu) = (scan.page.seconds(), scan.cpu_row_part + scan.cpu_page);
    let pages = scan.pages as f64;
    let io_pages = scan.io_pages as f64;
    // As many I/Os as a window holds are under way at a time.
    let in_turn = (scan.latency / io_pages + io + cpu) * io_pages / scan.window_pages as f64;
    let (limit, each) = if in_turn > io.max(cpu) {
        ("latency", in_turn)
    } else if cpu > io {
        ("cpu", cpu)
    } else {
        (scan.io_limit, io)
    };
    ScanTime { seconds, limit, bound_seconds: each * pages, waited }
}

/// What a page takes, in seconds.
#[derive(Debug)]
struct Scan<'a> {
    device: Device<'a>,
    io_limit: &'static str,
    /// Transfer of a page among others, and of one alone.
    page: Span,
    page_alone: Span,
    /// Mean latencies beside the transfer: of an I/O of read-ahead, and of a page alone.
    latency: f64,
    latency_alone: f64,
    /// CPU for the rows of a page, when they are read; for the page itself, when it is asked for.
    cpu_row_part: f64,
    cpu_page: f64,
    pages: u64,
    io_pages: u64,
    window_pages: u64,
    sizes: Sizes,
    page_bytes: f64,
}

impl<'a> Scan<'a> {
    fn new(spec: &'a Spec, tables: &[Shape], row_steps: f64) -> Self {
        let sizes = Sizes::of(spec.page_bytes, spec.memory);
        let pages: u64 = tables.iter().map(|table| table.pages).sum();
        let rows: u64 = tables.iter().map(|table| table.rows).sum();
        let device = Device::of(spec, Role::Data, pages * spec.page_bytes);
        let span = |pages: f64, io_pages: f64| {
            let page_bytes = spec.page_bytes as f64;
            device.span(&[Load { kind: Kind::Read, bytes: pages * page_bytes, io_bytes: io_pages * page_bytes }])
        };
        let all = span(pages as f64, f64::from(sizes.io_pages));
        Self {
            io_limit: match all.counts() {
                Counts::Bytes => "data_io",
                Counts::Ios => "data_iops",
            },
            page: Span { bytes: all.bytes / pages.max(1) as f64, ios: all.ios / pages.max(1) as f64 },
            page_alone: span(1.0, 1.0),
            latency: device.read_latency(f64::from(sizes.io_pages) * spec.page_bytes as f64),
            latency_alone: device.read_latency(spec.page_bytes as f64),
            page_bytes: spec.page_bytes as f64,
            // What the statements cost by themselves is spread over the pages: reading ahead goes on meanwhile.
            cpu_row_part: (cpu_seconds(spec, rows as f64 * row_steps, 0.0)
                + tables.len() as f64 * statement_seconds(spec))
                / pages.max(1) as f64,
            cpu_page: cpu_seconds(spec, 0.0, 1.0),
            pages,
            io_pages: sizes.io_pages.into(),
            window_pages: sizes.window_pages.into(),
            sizes,
            device,
        }
    }

    /// Goes through the scan; gives its time and how many pages were waited for.
    fn run(&self, tables: &[Shape], seed: u64) -> (f64, u64) {
        let mut detours = Vec::new();
        let mut root = 0;
        for table in tables {
            detours.extend(table.detours.iter().map(|to| Detour { after: root + to.after, page: root + to.page }));
            root += table.pages;
        }
        let first = tables.first().map_or(0, |table| table.ahead_from);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut walk = Walk { scan: self, now: 0.0, through: Span::default(), random, waited: 0 };
        // Before read-ahead: the pages up to its begin and the path to the first leaf. The last of them asks for more.
        let path = detours.iter().take_while(|to| to.after == 0).count();
        let alone = first + path as u64;
        for _ in 1..alone {
            walk.wait_for_page();
            walk.now += self.cpu_row_part;
        }
        let asked = walk.now;
        walk.wait_for_page();
        let seen = walk.now;
        walk.now = asked;
        let mut ahead = first;
        let mut early: Vec<u64> = detours[..path].iter().map(|to| to.page).collect();
        let mut ready = Vec::new();
        let window = |read: u64| u64::from(self.sizes.window_after(read as u32));
        while ahead < (first + window(0)).min(self.pages) {
            ready.push(walk.ask(&mut ahead, &early));
        }
        walk.now = walk.now.max(seen) + self.cpu_row_part;
        let mut detours = detours[path..].iter().peekable();
        let mut at = first;
        for number in 0.. {
            let Some(arrived) = ready.get(number) else { break };
            walk.now = walk.now.max(*arrived);
            let end = (first + (number as u64 + 1) * self.io_pages).min(self.pages);
            while let Some(to) = detours.next_if(|to| to.after < end) {
                let read = (to.after + 1).max(at) - at;
                walk.now += read as f64 * self.cpu_row_part;
                at += read;
                if to.page >= ahead {
                    walk.wait_for_page();
                    early.push(to.page);
                } else if let Some(arrived) = ready.get((to.page.saturating_sub(first) / self.io_pages) as usize) {
                    walk.now = walk.now.max(*arrived);
                }
            }
            walk.now += (end - at) as f64 * self.cpu_row_part;
            at = end;
            while ahead + self.io_pages <= end + window(end - first) && ahead < self.pages {
                ready.push(walk.ask(&mut ahead, &early));
            }
        }
        (walk.now, walk.waited)
    }
}

/// Where a scan has come to.
struct Walk<'a> {
    scan: &'a Scan<'a>,
    /// The session's time.
    now: f64,
    /// When the device's limits have let everything through that it was asked for.
    through: Span,
    random: Xoshiro256PlusPlus,
    waited: u64,
}

impl Walk<'_> {
    /// Of an I/O of so many pages, beside its transfer.
    fn latency(&mut self, pages: f64) -> f64 {
        // A share of the range of 53 bits, which a float holds exactly.
        let share = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.scan.device.read_quantile(share, pages * self.scan.page_bytes)
    }

    /// When the limits have let this much more through; an idle one begins now.
    fn transfer(&mut self, span: Span) -> f64 {
        self.through.bytes = self.through.bytes.max(self.now) + span.bytes;
        self.through.ios = self.through.ios.max(self.now) + span.ios;
        self.through.seconds()
    }

    fn wait_for_page(&mut self) {
        let through = self.transfer(self.scan.page_alone);
        self.now = through + self.scan.latency_alone + self.scan.cpu_page;
        self.waited += 1;
    }

    /// Asks for the next I/O, and pays for the CPU of its pages; gives when it has arrived.
    fn ask(&mut self, ahead: &mut u64, early: &[u64]) -> f64 {
        let scan = self.scan;
        let from = *ahead;
        *ahead = (from + scan.io_pages).min(scan.pages);
        // Pages that are there already part it.
        let mut there: Vec<u64> = early.iter().copied().filter(|page| (from..*ahead).contains(page)).collect();
        there.sort_unstable();
        let (mut begin, mut arrived, mut asked) = (from, self.now, 0.0);
        for end in there.into_iter().chain([*ahead]) {
            let pages = end.saturating_sub(begin) as f64;
            begin = end + 1;
            if pages > 0.0 {
                // A short one counts as one, like the others.
                let counted = if scan.io_pages as f64 * scan.page_bytes <= LARGEST_IO_BYTES as f64 {
                    scan.io_pages as f64
                } else {
                    pages
                };
                let through = self.transfer(Span { bytes: pages * scan.page.bytes, ios: counted * scan.page.ios });
                arrived = arrived.max(through + self.latency(pages));
                asked += pages;
            }
        }
        self.now += asked * scan.cpu_page;
        arrived
    }
}
