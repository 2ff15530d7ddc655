//! What the sessions of this process did, by statement, for who watches a run: SQLite keeps no statistics of its own. Nothing is counted before
//! somebody asks for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::queries::without_values;
use plimsoll_engine::{QuerySampler, QueryText, Result};
use plimsoll_measurement::counters::{
    Edge, Evictions, Item, Measure, Row, RowId, Server, Snapshot, Source, Total, Values,
};
use xxhash_rust::xxh3::xxh3_128;

/// So many texts are told apart. What else runs is in the total alone.
const MOST_TEXTS: usize = 5_000;

/// The counts of all sessions of a target.
#[derive(Debug, Default)]
pub(super) struct Counted {
    is_on: AtomicBool,
    statements: Mutex<Statements>,
}

#[derive(Debug, Default)]
struct Statements {
    by_text: HashMap<String, Sums>,
    total: Duration,
}

/// What a text came to.
#[derive(Debug, Clone, Copy)]
struct Sums {
    item: Item,
    executions: u64,
    time: Duration,
    longest: Duration,
}

impl Counted {
    /// Whether anybody asked.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts a statement that has ended after this time. One that failed is in the total alone, as at servers.
    pub(super) fn note(&self, sql: &str, time: Duration, is_done: bool) {
        let mut statements = self.statements();
        let Statements { by_text, total } = &mut *statements;
        *total += time;
        if !is_done {
            return;
        }
        if let Some(sums) = by_text.get_mut(sql) {
            sums.executions += 1;
            sums.time += time;
            sums.longest = sums.longest.max(time);
        } else if by_text.len() < MOST_TEXTS {
            let item = Item(xxh3_128(without_values(sql).as_bytes()));
            by_text.insert(sql.to_owned(), Sums { item, executions: 1, time, longest: time });
        }
    }

    fn statements(&self) -> MutexGuard<'_, Statements> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the counts.
pub(super) struct StatementSampler {
    counted: Arc<Counted>,
    clock: Arc<dyn Clock>,
    file: String,
    started_us: i64,
}

impl StatementSampler {
    /// Counts from now on.
    pub(super) fn begin(counted: &Arc<Counted>, clock: &Arc<dyn Clock>, file: String) -> Self {
        counted.is_on.store(true, Ordering::Relaxed);
        let started_us = clock.timestamp(clock.now()).as_microsecond();
        Self { counted: Arc::clone(counted), clock: Arc::clone(clock), file, started_us }
    }

    fn edge(&self, total: Duration) -> Edge {
        Edge {
            clock_us: self.clock.timestamp(self.clock.now()).as_microsecond(),
            server: Server {
                identity: self.file.clone(),
                version: rusqlite::version().to_owned(),
                started_us: self.started_us,
            },
            reset_us: Some(self.started_us),
            are_stamps_derived: false,
            evictions: Evictions::Never,
            total: Some(Total { us: us(total), began_us: Some(self.started_us) }),
        }
    }
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl QuerySampler for StatementSampler {
    fn snapshot(&mut self) -> Result<Snapshot> {
        let statements = self.counted.statements();
        let row = |(text, sums): (&String, &Sums)| Row {
            id: RowId(xxh3_128(text.as_bytes())),
            item: sums.item,
            plan: None,
            created_us: None,
            values: Values::of([(Measure::Executions, sums.executions), (Measure::ElapsedUs, us(sums.time))]),
            longest_us: Some(us(sums.longest)),
            is_nested: false,
        };
        let start = self.edge(statements.total);
        let rows = statements.by_text.iter().map(row).collect();
        let end = self.edge(statements.total);
        let own_us = Some(self.clock.now().as_nanos() / 1_000);
        let (source, total_of) = (Source::Queries, Measure::ElapsedUs);
        Ok(Snapshot { source, start, end, own_us, is_complete: true, total_of, rows })
    }

    /// Reading takes no statement.
    fn own(&self) -> Vec<Item> {
        Vec::new()
    }

    fn warnings(&self) -> Vec<String> {
        let is_full = self.counted.statements().by_text.len() >= MOST_TEXTS;
        let text = format!(
            "more than {MOST_TEXTS} texts of statements ran: the others are in the time of all statements alone"
        );
        is_full.then_some(text).into_iter().collect()
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let statements = self.counted.statements();
        let mut texts: Vec<QueryText> = Vec::new();
        for (text, sums) in &statements.by_text {
            if items.contains(&sums.item) && texts.iter().all(|known| known.item != sums.item) {
                let text = Some(without_values(text));
                texts.push(QueryText { item: sums.item, database: Some(self.file.clone()), text, object: None });
            }
        }
        Ok(texts)
    }

    fn sees_all(&self) -> bool {
        false
    }
}
