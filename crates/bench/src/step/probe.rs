//! Counters around something measured.

use plimsoll_clock::Clock;
use plimsoll_engine::{Database, Result, Sampler, Session, Table};
use plimsoll_measurement::{Counter, Moment, Reading, reading::growth};

/// Counters of the session and of the engine's processes around something measured.
pub struct Probe {
    process: Option<Box<dyn Sampler>>,
    before: Vec<Reading>,
    after: Vec<Reading>,
    /// True if the memory in use is asked for too.
    memory: bool,
}

impl Probe {
    /// A probe of the engine's processes; sessions are handed in at each reading.
    pub fn new(database: &dyn Database) -> Self {
        Self { process: database.process_sampler(), before: Vec::new(), after: Vec::new(), memory: false }
    }

    /// The same, which also asks how much memory is in use where that takes a question of its own.
    pub fn with_memory(database: &dyn Database) -> Self {
        Self { memory: true, ..Self::new(database) }
    }

    /// Reads the counters before the work.
    pub fn start(&mut self, session: &mut dyn Session) -> Result<()> {
        self.before = self.read(session)?;
        Ok(())
    }

    /// Reads them after it.
    pub fn stop(&mut self, session: &mut dyn Session) -> Result<()> {
        self.after = self.read(session)?;
        Ok(())
    }

    /// Scans a table: when that began and ended, and the pages that it missed.
    pub fn scan(
        &mut self,
        session: &mut dyn Session,
        table: &Table,
        weak: bool,
        clock: &dyn Clock,
    ) -> Result<(Moment, Moment, Option<u64>)> {
        let sql = session.dialect().scan(&table.name, weak);
        let misses_before = session.table_misses(table)?;
        self.start(session)?;
        let start = clock.now();
        session.query_count(&sql, &[])?;
        let end = clock.now();
        self.stop(session)?;
        Ok((start, end, self.misses(misses_before, session.table_misses(table)?)))
    }

    fn read(&mut self, session: &mut dyn Session) -> Result<Vec<Reading>> {
        // The processes' counters go first: where both know a metric, the whole server is meant.
        let mut readings = match &mut self.process {
            Some(process) => process.sample()?,
            None => Vec::new(),
        };
        let memory = if self.memory { session.sample_memory()? } else { None };
        for reading in session.sample()?.into_iter().chain(memory) {
            if !readings.iter().any(|known| known.metric == reading.metric) {
                readings.push(reading);
            }
        }
        Ok(readings)
    }

    /// What it counts.
    pub fn counted(&self) -> impl Iterator<Item = Counter> {
        self.before.iter().map(|reading| reading.metric)
    }

    /// How much a counter grew; `None` where it isn't known.
    pub fn growth(&self, metric: Counter) -> Option<f64> {
        growth(metric, &self.before, &self.after)
    }

    /// The same as a whole number.
    pub fn count(&self, metric: Counter) -> Option<u64> {
        self.growth(metric).map(|value| value as u64)
    }

    /// Pages that were not in the engine's cache: by the table's own counter before and after, where there is one, else of all
    /// that the session did.
    fn misses(&self, before: Option<u64>, after: Option<u64>) -> Option<u64> {
        match (before, after) {
            (Some(before), Some(after)) => after.checked_sub(before),
            _ => self.count(Counter::CacheMissPages),
        }
    }

    /// The present value of something that isn't cumulative.
    pub fn now(&self, metric: Counter) -> Option<f64> {
        self.after.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }
}
