//! Memory that an engine can really use as cache (reference, 2.13, A16). Sets of pages are read by key in random order, without
//! repeats, pass after pass until the misses stand still. As long as a set fits, the last pass misses nothing; the usable
//! memory is where misses begin. Settings are never looked at.
//!
//! A sequential scan of a large table goes through a ring buffer (PostgreSQL), and read-ahead loads neighbours. So pages are
//! read one at a time by key and in random order. A page read once may enter the cache in the middle or with the lowest rank
//! (midpoint insertion, clock sweep), below pages from the load. So a set is read again until another pass would change
//! nothing. InnoDB ranks a page higher only if it is used again after it has rested for a second (`innodb_old_blocks_time`).
//! So passes that still miss are that far apart.

mod figures;
mod search;

use plimsoll_engine::work::Work;
use plimsoll_engine::{Need, Result, Session, Table, TableSize, Value};
use plimsoll_load::keys::below;
use plimsoll_measurement::{Counter, Metric, Point, units};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use self::figures::{memory, verdict};
use self::search::{Search, Seen};
use crate::generate::{Family, Rows, mix};
use crate::interrupt::Interrupt;
use crate::parameters::shared::{LARGEST, SEED};
use crate::parameters::{Kind, Parameter};
use crate::schema::{self, Width};
use crate::step::context::{Context, Keep, Target};
use crate::step::kind::{Measure, Measures, StepKind, contradiction, pages};
use crate::step::probe::Probe;

/// Pages are what counts, not what is in them.
const WIDTH: Width = Width::Seeds;

/// Keys read by one statement. More would only save round trips; fewer would make them the test.
const KEYS_PER_STATEMENT: usize = 64;

const MOST_PASSES: u64 = 8;

const FIRST_SET: Parameter =
    Parameter::new("first_set", Kind::Bytes(1 << 16, 1 << 50), "Smallest working set of the memory test.").scaling();
const LARGEST_SET: Parameter = Parameter::new(
    "largest_set",
    Kind::Bytes(1 << 20, LARGEST),
    "Largest working set of the memory test. Sets stop growing when the memory is found.",
)
.scaling();

/// Memory that can be used (2.13).
pub(super) const KIND: StepKind = StepKind {
    expects: |_, ask| Ok(ask(Work::Memory)?.into_iter().collect()),
    // The set grows by doubling until the memory is found: what it starts with is known, the end is not.
    space_bytes: |parameters, _| pages(parameters.bytes("first_set").saturating_mul(8)),
    verdict,
    compares_volumes: true,
    needs: &[Need::Counted(Counter::CacheMissPages), Need::TableSizes],
    ..StepKind::new(
        "memory",
        &[&FIRST_SET, &LARGEST_SET, &SEED],
        || Measures::AtDatabase(Box::<Memory>::default()),
        memory,
    )
};

#[derive(Default)]
struct Memory {
    /// Rows loaded so far; the table grows as sets do.
    rows: u64,
    /// Its size as it was last seen.
    size: Option<TableSize>,
    /// The largest set that the first repetition saw fit: later ones begin near it.
    fits: Option<f64>,
}

impl Measure for Memory {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let (mut session, _watched) = target.session(target.workspace)?;
        session.create_table(&table())?;
        let first = parameters.bytes("first_set").saturating_mul(4);
        self.grow(parameters.count("seed"), keep, session.as_mut(), first)
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, .. } = context;
        let seed = parameters.count("seed");
        let (mut session, _watched) = target.session(target.workspace)?;
        let session = session.as_mut();
        let mut search = Search::new(parameters.bytes("first_set") as f64, self.fits);
        let mut order = Order::new(seed, keep.number());
        keep.begin(Some(target.database));
        while let Some(set_bytes) = search.next_set() {
            let largest = parameters.bytes("largest_set") as f64;
            let set_bytes = set_bytes.min(largest);
            if !self.reach(seed, (target, keep), session, set_bytes)? {
                break;
            }
            let (point, seen) = self.read_set(target, keep, session, &mut order, set_bytes)?;
            keep.point(point)?;
            search.learn(&seen);
            if set_bytes >= largest && search.smallest_over.is_none() {
                break;
            }
        }
        self.fits = search.largest_fit;
        let scale = target.database.description().scale;
        let largest = (search.largest_fit.unwrap_or(0.0) as u64).saturating_mul(scale);
        if search.smallest_over.is_none() {
            keep.warn(format!(
                "every set fitted, so the memory is at least {}; raise --set largest_set to find its end",
                units::format_bytes(largest)
            ));
        }
        Ok(())
    }
}

fn table() -> Table {
    schema::family("memory", WIDTH)
}

impl Memory {
    /// Loads more rows until the table's pages make up a set of this size. False if the disk has no room for them.
    fn reach(
        &mut self,
        seed: u64,
        (target, keep): (&Target<'_>, &mut Keep<'_>),
        session: &mut dyn Session,
        set_bytes: f64,
    ) -> Result<bool> {
        while (self.pages_bytes()? as f64) < set_bytes {
            let there = self.pages_bytes()?;
            let more = (there / 2).max(set_bytes as u64 - there);
            if target.database.free_bytes().is_some_and(|free| free < more.saturating_mul(4)) {
                keep.warn_of_machine(
                    "the target's disk has no room for a larger set, so the memory may be more than was found",
                );
                return Ok(false);
            }
            if self.rows + more / WIDTH.row_bytes() >= i32::MAX as u64 {
                keep.warn("keys of 32 bits allow no larger set, so the memory may be more than was found");
                return Ok(false);
            }
            self.grow(seed, keep, session, more)?;
            if self.pages_bytes()? <= there {
                return Err(contradiction("a table was loaded with more rows and has no more pages"));
            }
        }
        Ok(true)
    }

    fn grow(&mut self, seed: u64, keep: &mut Keep<'_>, session: &mut dyn Session, bytes: u64) -> Result<()> {
        let table = table();
        let last = self.rows + (bytes / WIDTH.row_bytes()).max(1000);
        crate::dataset::check_rows(last)?;
        let rows = Rows::new(Family::Typed(WIDTH), seed, 0, self.rows + 1, last);
        keep.load(session, &table, rows, bytes)?;
        session.settle_table(&table)?;
        session.checkpoint()?;
        self.rows = last;
        self.size = session.table_size(&table)?;
        Ok(())
    }

    fn size(&self) -> Result<TableSize> {
        self.size.ok_or_else(|| contradiction("the size of a table is not to be seen any more"))
    }

    fn pages_bytes(&self) -> Result<u64> {
        self.size().map(TableSize::bytes)
    }

    /// Reads the set pass after pass and counts the misses of the last.
    fn read_set(
        &self,
        target: &Target<'_>,
        keep: &mut Keep<'_>,
        session: &mut dyn Session,
        order: &mut Order,
        set_bytes: f64,
    ) -> Result<(Point, Seen)> {
        let (page, time, size) = (target.page_bytes(), keep.time, self.size()?);
        let rows = ((self.rows as f64 * set_bytes / size.bytes() as f64) as u64).clamp(1, self.rows);
        // Every page of the set is touched: keys are as far apart as the fewest rows that a page holds.
        let pages = (size.table_bytes / page).max(1);
        let stride = (self.rows / pages).max(1);
        let set_bytes = (size.bytes() as f64 * rows as f64 / self.rows as f64) as u64;
        let set_pages = set_bytes.div_ceil(page);
        keep.log.activity(&format!("reading a set of {} in random order", units::format_bytes(set_bytes)));
        let mut probe = Probe::with_memory(target.database);
        let start = time.clock.now();
        let mut seconds;
        let (mut passes, mut last_misses) = (0_u64, u64::MAX);
        let rest = target.database.description().rest_before_reuse;
        let (misses, accesses) = loop {
            let keys = order.shuffled(rows, stride);
            probe.start(session)?;
            let pass_start = time.clock.now();
            lookup_keys(target.interrupt, session, &keys)?;
            seconds = time.clock.now().since(pass_start).as_secs_f64();
            probe.stop(session)?;
            passes += 1;
            let misses = probe.count(Counter::CacheMissPages);
            let misses = misses.ok_or_else(|| contradiction("cache misses are not counted any more"))?;
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
                time.wait(rest)?;
            }
        };
        let cpu_seconds = probe.growth(Counter::EngineCpuSeconds);
        let age = target.database.description().memory_report_age;
        if !age.is_zero() && probe.now(Counter::MemoryPercent).is_some() {
            // What it says now is of a time before this set was read.
            time.wait(age)?;
            probe.stop(session)?;
        }
        let seen = Seen { set_bytes: set_bytes as f64, share: misses as f64 / set_pages as f64 };
        let point = Point {
            label: Some(units::format_bytes(set_bytes)),
            started_seconds: keep.seconds_since_start(start),
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

fn lookup_keys(interrupt: &Interrupt, session: &mut dyn Session, keys: &[i32]) -> Result<()> {
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
            interrupt.check()?;
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

/// A new random order for every pass. With a fixed one an LRU would miss everything as soon as one page is too many, and the
/// rise of the misses would tell nothing.
struct Order(Xoshiro256PlusPlus);

impl Order {
    fn new(seed: u64, repetition: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ repetition << 32)))
    }

    /// Every `stride`-th key up to `rows`, each once (Fisher and Yates).
    fn shuffled(&mut self, rows: u64, stride: u64) -> Vec<i32> {
        let mut keys: Vec<i32> = (1..=rows).step_by(stride as usize).map(|key| key as i32).collect();
        for last in (1..keys.len()).rev() {
            let other = below(&mut self.0, last as u64 + 1) as usize;
            keys.swap(last, other);
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_key_once_and_differs_from_pass_to_pass() {
        let mut order = Order::new(1, 97);
        let (one, mut two) = (order.shuffled(1000, 10), order.shuffled(1000, 10));
        assert_ne!(one, two);
        two.sort_unstable();
        assert_eq!(two, (1..=1000).step_by(10).collect::<Vec<i32>>());
    }
}
