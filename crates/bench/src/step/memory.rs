//! Memory that an engine can really use as cache (reference, 2.13, A16): sets of pages are read by key in random order,
//! without repeats, pass after pass until the misses stand still. As long as a set fits, the last pass misses nothing;
//! the usable memory is where misses begin. Settings are never looked at.
//!
//! What engines do that would spoil it: a sequential scan of a large table goes through a ring buffer (PostgreSQL) and
//! read-ahead loads neighbours, so pages are read one at a time by key and in random order. A page read once may enter
//! the cache in the middle or with the lowest rank (midpoint insertion, clock sweep), and pages from the load may still
//! be ranked higher, so a set is read over again until another pass would change nothing. InnoDB ranks a page higher only if
//! it is used again after it has rested for a second (`innodb_old_blocks_time`), so passes that still miss are that far apart.

use plimsoll_analysis::memory::{Memory as Estimate, SetMisses, knee};
use plimsoll_engine::{Error, ErrorKind, Result, Session, Table, TableSize, Value};
use plimsoll_measurement::{Counter, Metric, Point};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use super::{Context, Measure, Probe, contradiction};
use crate::generate::{Family, Rows, mix};
use crate::schema::{self, Width};

/// Pages are what counts, not what is in them.
const WIDTH: Width = Width::Seeds;

/// Keys read by one statement. More would only save round trips; fewer would make them the test.
const KEYS_PER_STATEMENT: usize = 64;

/// Most passes over one set.
const MOST_PASSES: u32 = 8;

/// Growth of the set from one point to the next, while everything still fits.
const GROWTH: f64 = 1.25;

/// A set counts as fitting while the counted pass misses at most this share of its pages: a server's own bookkeeping
/// uses a few pages now and then.
const CLEAN: f64 = 0.01;

/// The search ends when the largest set that fits and the smallest that doesn't are this close.
const CLOSE: f64 = 0.015;

#[derive(Default)]
pub(super) struct Memory {
    /// Rows loaded so far; the table grows as sets do.
    rows: u64,
    size: TableSize,
    /// The largest set that the first repetition saw fit: later ones begin near it.
    fits: Option<f64>,
}

impl Measure for Memory {
    fn prepare(&mut self, context: &mut Context<'_>) -> Result<()> {
        let workspace = context.workspace.clone();
        let (mut session, _watched) = context.session(&workspace)?;
        session.create_table(&table())?;
        let first = context.parameters.bytes("first_set").saturating_mul(4);
        self.grow(context, session.as_mut(), first)
    }

    fn repeat(&mut self, context: &mut Context<'_>) -> Result<()> {
        let workspace = context.workspace.clone();
        let (mut session, _watched) = context.session(&workspace)?;
        let session = session.as_mut();
        let mut search = Search::new(context.parameters.bytes("first_set") as f64, self.fits);
        let mut order = Order::new(context.parameters.count("seed"), &context.repetition.label);
        context.begin();
        while let Some(set_bytes) = search.next_set() {
            let largest = context.parameters.bytes("largest_set") as f64;
            let set_bytes = set_bytes.min(largest);
            if !self.reach(context, session, set_bytes)? {
                break;
            }
            let (point, seen) = self.read_set(context, session, &mut order, set_bytes)?;
            context.keep(point)?;
            search.learn(&seen);
            if set_bytes >= largest && search.smallest_over.is_none() {
                break;
            }
        }
        self.fits = search.largest_fit;
        let scale = context.database.description().scale;
        let largest = (search.largest_fit.unwrap_or(0.0) as u64).saturating_mul(scale);
        if search.smallest_over.is_none() {
            context.warn(format!(
                "every set fitted, so the memory is at least {}; raise --set largest_set to find its end",
                plimsoll_measurement::units::format_bytes(largest)
            ));
        }
        Ok(())
    }
}

/// The estimate of a repetition from its points, in pages of this size; settings have no way into it.
pub(crate) fn estimate(points: &[&Point], page_bytes: u64) -> Option<Estimate> {
    let sets: Vec<SetMisses> = points
        .iter()
        .filter_map(|point| {
            let set_bytes = point.count(Metric::SetBytes)?;
            Some(SetMisses {
                set_bytes,
                miss_pages: point.count(Metric::CacheMissPages)?,
                set_pages: set_bytes.div_ceil(page_bytes),
            })
        })
        .collect();
    knee(&sets)
}

fn table() -> Table {
    schema::family("memory", WIDTH)
}

impl Memory {
    /// Loads more rows until the table's pages make up a set of this size. False if the disk has no room for them.
    fn reach(&mut self, context: &mut Context<'_>, session: &mut dyn Session, set_bytes: f64) -> Result<bool> {
        while (self.pages_bytes() as f64) < set_bytes {
            let more = (self.pages_bytes() / 2).max(set_bytes as u64 - self.pages_bytes());
            if context.database.free_bytes().is_some_and(|free| free < more.saturating_mul(4)) {
                context.warn_of_machine(
                    "the target's disk has no room for a larger set, so the memory may be more than was found",
                );
                return Ok(false);
            }
            if self.rows + more / WIDTH.row_bytes() >= i32::MAX as u64 {
                context.warn("keys of 32 bits allow no larger set, so the memory may be more than was found");
                return Ok(false);
            }
            self.grow(context, session, more)?;
        }
        Ok(true)
    }

    fn grow(&mut self, context: &mut Context<'_>, session: &mut dyn Session, bytes: u64) -> Result<()> {
        let table = table();
        let last = self.rows + (bytes / WIDTH.row_bytes()).max(1000);
        if i32::try_from(last).is_err() {
            return Err(crate::dataset::too_many_rows());
        }
        let rows = Rows::new(Family::Typed(WIDTH), context.parameters.count("seed"), 0, self.rows + 1, last);
        context.load(session, &table, rows, bytes)?;
        session.settle_table(&table)?;
        session.checkpoint()?;
        self.rows = last;
        self.size = session.table_size(&table)?;
        Ok(())
    }

    fn pages_bytes(&self) -> u64 {
        self.size.table_bytes + self.size.index_bytes
    }

    /// Reads the set pass after pass and counts the misses of the last.
    fn read_set(
        &self,
        context: &mut Context<'_>,
        session: &mut dyn Session,
        order: &mut Order,
        set_bytes: f64,
    ) -> Result<(Point, Seen)> {
        let page = context.database.description().page_bytes;
        let rows = ((self.rows as f64 * set_bytes / self.pages_bytes() as f64) as u64).clamp(1, self.rows);
        // Every page of the set is touched: keys are as far apart as the fewest rows that a page holds.
        let pages = (self.size.table_bytes / page).max(1);
        let stride = (self.rows / pages).max(1);
        let set_bytes = (self.pages_bytes() as f64 * rows as f64 / self.rows as f64) as u64;
        let set_pages = set_bytes.div_ceil(page);
        context.log.activity(&format!(
            "reading a set of {} in random order",
            plimsoll_measurement::units::format_bytes(set_bytes)
        ));
        let mut probe = Probe::with_memory(context.database);
        let start = context.clock.now();
        let mut seconds;
        let (mut passes, mut last_misses) = (0, u64::MAX);
        let rest = context.database.description().rest_before_reuse;
        let (misses, accesses) = loop {
            let keys = order.shuffled(rows, stride);
            probe.start(session)?;
            let pass_start = context.clock.now();
            lookup_keys(context, session, &keys)?;
            seconds = context.clock.now().since(pass_start).as_secs_f64();
            probe.stop(session)?;
            passes += 1;
            let misses = probe.count(Counter::CacheMissPages).ok_or_else(|| {
                Error::new(
                    ErrorKind::Unsupported,
                    "the engine does not count cache misses, so its memory can't be found",
                )
            })?;
            // The first pass warms. After it, another one is worth while only if this one missed far less than the last. Where
            // pages have to rest, what a pass raises is first seen in the next but one.
            let first_that_tells = if rest.is_zero() { 2 } else { 4 };
            let still_falling = passes < first_that_tells || misses as f64 <= 0.8 * last_misses as f64;
            last_misses = misses;
            if passes > 1 && (misses == 0 || !still_falling || passes == MOST_PASSES) {
                break (misses, keys.len() as u64);
            }
            // Where a page that is used twice in a moment counts as used once, the set would never push out what is older.
            if passes > 1 {
                context.wait(rest)?;
            }
        };
        let cpu_seconds = probe.growth(Counter::EngineCpuSeconds);
        let age = context.database.description().memory_report_age;
        if !age.is_zero() && probe.now(Counter::MemoryPercent).is_some() {
            // What it says now is of a time before this set was read.
            context.wait(age)?;
            probe.stop(session)?;
        }
        let seen = Seen { set_bytes: set_bytes as f64, share: misses as f64 / set_pages as f64 };
        let point = Point {
            label: Some(plimsoll_measurement::units::format_bytes(set_bytes)),
            started_seconds: context.seconds_since_start(start),
            seconds,
            ..Point::default()
        }
        .with(Metric::Rows, rows)
        .with(Metric::SetBytes, set_bytes)
        .with(Metric::Accesses, accesses)
        .with(Metric::Passes, passes)
        .with(Metric::CacheMissPages, misses)
        .with(Metric::MemoryPercent, probe.now(Counter::MemoryPercent))
        .with(Metric::CpuSeconds, cpu_seconds);
        Ok((point, seen))
    }
}

fn lookup_keys(context: &Context<'_>, session: &mut dyn Session, keys: &[i32]) -> Result<()> {
    let table = table();
    let mut chunks = keys.chunks_exact(KEYS_PER_STATEMENT);
    let full = session.dialect().lookup_keys(&table, KEYS_PER_STATEMENT);
    let read = |session: &mut dyn Session, sql: &str, keys: &[i32]| {
        let values: Vec<Value<'_>> = keys.iter().map(|key| Value::Int(*key)).collect();
        let found = session.query_count(sql, &values)?;
        if found == keys.len() as u64 {
            Ok(())
        } else {
            Err(contradiction(format!("{} keys of the set found {found} rows", keys.len())))
        }
    };
    for (number, chunk) in chunks.by_ref().enumerate() {
        if number.is_multiple_of(256) {
            context.interrupt.check()?;
        }
        read(session, &full, chunk)?;
    }
    let rest = chunks.remainder();
    if rest.is_empty() {
        return Ok(());
    }
    let sql = session.dialect().lookup_keys(&table, rest.len());
    read(session, &sql, rest)
}

/// A new random order for every pass: a fixed one would let an LRU miss everything as soon as one page is too many, and
/// the rise of the misses would tell nothing.
struct Order(Xoshiro256PlusPlus);

impl Order {
    fn new(seed: u64, repetition: &str) -> Self {
        let label = repetition.bytes().next().map_or(0, u64::from);
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ label << 32)))
    }

    /// Every `stride`-th key up to `rows`, each once (Fisher and Yates).
    fn shuffled(&mut self, rows: u64, stride: u64) -> Vec<i32> {
        let mut keys: Vec<i32> = (1..=rows).step_by(stride as usize).map(|key| key as i32).collect();
        for last in (1..keys.len()).rev() {
            let other = ((u128::from(self.0.next_u64()) * (last as u128 + 1)) >> 64) as usize;
            keys.swap(last, other);
        }
        keys
    }
}

/// What a set showed.
struct Seen {
    set_bytes: f64,
    /// Misses of the counted pass over the set's pages.
    share: f64,
}

/// Which set to read next: larger ones until misses begin, then closer and closer around the beginning.
struct Search {
    next: f64,
    largest_fit: Option<f64>,
    smallest_over: Option<f64>,
    started_near: bool,
}

impl Search {
    fn new(first: f64, near: Option<f64>) -> Self {
        // A later repetition starts below what the first one found, and still finds its own way up or down.
        let next = near.map_or(first, |near| near * 0.6);
        Self { next, largest_fit: None, smallest_over: None, started_near: near.is_some() }
    }

    fn next_set(&self) -> Option<f64> {
        match (self.largest_fit, self.smallest_over) {
            (Some(fit), Some(over)) if over / fit <= 1.0 + CLOSE => None,
            (None, Some(over)) if over < 65_536.0 => None,
            _ => Some(self.next),
        }
    }

    fn learn(&mut self, seen: &Seen) {
        if seen.share <= CLEAN {
            self.largest_fit = Some(self.largest_fit.map_or(seen.set_bytes, |fit| fit.max(seen.set_bytes)));
        } else {
            self.smallest_over = Some(self.smallest_over.map_or(seen.set_bytes, |over| over.min(seen.set_bytes)));
        }
        let step = if self.started_near { 1.1 } else { GROWTH };
        self.next = match (self.largest_fit, self.smallest_over) {
            (Some(fit), None) => fit * step,
            (None, Some(over)) => over / 2.0,
            (Some(fit), Some(over)) if fit < over => (fit * over).sqrt(),
            // Misses came and went: a set that fits is larger than one that did not. The fitting one counts.
            (Some(fit), Some(_)) => {
                self.smallest_over = None;
                fit * 1.1
            }
            (None, None) => self.next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks the search against a cache of which only the misses are seen.
    fn find(capacity: f64, first: f64) -> (f64, f64, usize) {
        let mut search = Search::new(first, None);
        let mut sets = 0;
        while let Some(set_bytes) = search.next_set() {
            let share = if set_bytes <= capacity { 0.0 } else { (set_bytes - capacity) / set_bytes };
            search.learn(&Seen { set_bytes, share });
            sets += 1;
            assert!(sets < 100, "the search does not end");
        }
        (search.largest_fit.unwrap(), search.smallest_over.unwrap(), sets)
    }

    #[test]
    fn the_search_closes_in_from_far_below_and_from_above() {
        for capacity in [3e6, 1e8, 5.3e8] {
            let (fit, over, sets) = find(capacity, 1e6);
            assert!(fit <= capacity * 1.02 && over > capacity && over / fit <= 1.02, "{fit} {over} of {capacity}");
            assert!(sets >= 10, "a repetition has at least ten points");
        }
        let (fit, over, _) = find(1e5, 1e6);
        assert!(fit <= 1.02e5 && over > 1e5);
    }

    #[test]
    fn an_order_has_every_key_once_and_differs_from_pass_to_pass() {
        let mut order = Order::new(1, "a");
        let (one, mut two) = (order.shuffled(1000, 10), order.shuffled(1000, 10));
        assert_ne!(one, two);
        two.sort_unstable();
        assert_eq!(two, (1..=1000).step_by(10).collect::<Vec<i32>>());
    }
}
