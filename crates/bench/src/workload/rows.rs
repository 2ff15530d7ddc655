//! Requests on rows of our own tables (reference, 2.1 to 2.6, 2.8): single rows and ranges that are read and changed, whole
//! tables that are read.

use plimsoll_engine::{Dialect, Error, ErrorKind, Requester, Result, Row, SingleRow, Statement, Table, Value};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::mix::{Kind, Mix, scan_size};
use super::request::{Making, RequestGenerator, Workload, amount, ask};
use crate::generate::{Family, Rows, mix as spread};
use plimsoll_load::keys::{Keys, LiveKeys, below};
use plimsoll_load::lane::Amount;

/// Columns that an indirect select may restrict as well, with a range of values that most rows or few lie in
/// (reference, 2.4).
const OTHER_COLUMNS: [(&str, i64, i64); 4] = [
    ("TinyInt1", 0, 255),
    ("SmallInt2", -32_768, 32_767),
    ("Int5", -2_147_483_648, 2_147_483_647),
    ("Int3", 0, 2_147_483_647),
];

/// A table that requests work on.
#[derive(Debug)]
pub struct Target {
    pub table: Table,
    pub live: LiveKeys,
    pub number: u64,
    insert: Statement,
    delete: Statement,
    update: Statement,
    select: Statement,
    select_all: Statement,
    ranges: Vec<Statement>,
}

impl Target {
    const STATEMENTS: u32 = 5 + OTHER_COLUMNS.len() as u32;

    /// A table with rows 1 to `rows`; new ones with keys up to `remembered` may be asked for later. Single rows are asked for by
    /// procedures where those were made, as the seeds did (reference, 2.2 to 2.6).
    pub fn new(
        table: Table,
        number: u64,
        (rows, remembered): (u64, u64),
        dialect: &dyn Dialect,
        by_procedure: bool,
    ) -> Self {
        let mut next = number as u32 * Self::STATEMENTS;
        let mut statement = |sql: String, columns: Vec<_>| {
            next += 1;
            Statement { number: next - 1, sql, columns: Some(columns) }
        };
        let types = table.types();
        let single = |request| {
            let call = dialect.call(request, &table).filter(|_| by_procedure);
            call.unwrap_or_else(|| dialect.single_row(request, &table))
        };
        Self {
            live: LiveKeys::new(rows, remembered),
            number,
            insert: statement(single(SingleRow::Insert), Vec::new()),
            delete: statement(single(SingleRow::Delete), Vec::new()),
            update: statement(single(SingleRow::Update), Vec::new()),
            select: statement(single(SingleRow::Read), types.clone()),
            select_all: statement(dialect.read_all(&table), types.clone()),
            ranges: OTHER_COLUMNS
                .iter()
                .map(|(column, ..)| statement(dialect.read_range(&table, column), types.clone()))
                .collect(),
            table,
        }
    }
}

/// Requests on rows, of all sessions.
#[derive(Debug)]
pub struct OnRows<'a> {
    pub mix: &'a Mix,
    /// The tables; a request takes one of them, all alike.
    pub targets: &'a [Target],
    /// Positions of single rows.
    pub single: Keys,
    /// Positions at which ranges begin.
    pub ranges: Keys,
    pub batch_rows: u64,
    pub seed: u64,
    pub family: Family,
}

impl Workload for OnRows<'_> {
    fn kinds(&self) -> Vec<String> {
        self.mix.kinds().iter().map(|kind| kind.name().to_owned()).collect()
    }

    fn generator(&self, number: u64, label: u64) -> Box<dyn RequestGenerator + '_> {
        let random = Xoshiro256PlusPlus::seed_from_u64(spread(self.seed ^ spread(number << 8 | label)));
        Box::new(Session {
            work: self,
            kinds: self.mix.kinds(),
            before: random.clone(),
            random,
            new_key: None,
            row: Row::default(),
        })
    }
}

struct Session<'a> {
    work: &'a OnRows<'a>,
    kinds: Vec<Kind>,
    random: Xoshiro256PlusPlus,
    /// The state before the request's draws: an attempt that is made again is the same request.
    before: Xoshiro256PlusPlus,
    /// The first new key of the request, once it has one.
    new_key: Option<u64>,
    row: Row,
}

impl RequestGenerator for Session<'_> {
    fn draw(&mut self) -> usize {
        let kind = self.work.mix.draw(&mut self.random);
        (self.before, self.new_key) = (self.random.clone(), None);
        kind
    }

    fn make<'a>(&'a mut self, kind: usize, requester: &'a mut dyn Requester) -> Making<'a, Result<Option<Amount>>> {
        Box::pin(self.attempt(kind, requester))
    }
}

impl Session<'_> {
    async fn attempt(&mut self, kind: usize, requester: &mut dyn Requester) -> Result<Option<Amount>> {
        let work = self.work;
        self.random = self.before.clone();
        let at = below(&mut self.random, work.targets.len() as u64) as usize;
        let target = &work.targets[at];
        let kind = self.kinds[kind];
        match kind {
            Kind::Insert => return self.insert(target, requester).await.map(Some),
            Kind::BulkLoad => return self.load(target, requester).map(Some),
            Kind::TableSelect => {
                let answer = ask(requester, &target.select_all, &[]).await?;
                return Ok(Some(amount(answer, answer.rows)));
            }
            _ => {}
        }
        let keys = if kind.is_single() { &work.single } else { &work.ranges };
        let Some(key) = target.live.pick(keys, &mut self.random) else { return Ok(None) };
        let id = Value::Int(key as i32);
        match kind {
            Kind::Delete => {
                // Two sessions may have picked it; one of them has it.
                if !target.live.take(key) {
                    return Ok(None);
                }
                let outcome = ask(requester, &target.delete, &[id]).await;
                if outcome.is_err() {
                    target.live.insert(key);
                }
                outcome.map(|answer| Some(Amount { rows_examined: 1, rows: answer.rows, content_bytes: 0 }))
            }
            Kind::Update => {
                // New values for all columns but the key: those of another row of the generator.
                let version = self.random.next_u64() >> 40;
                Rows::new(work.family, spread(work.seed ^ version), target.number, key, key).fill(&mut self.row);
                let mut values: Vec<Value<'_>> = self.row.values().skip(1).collect();
                values.push(id);
                let answer = ask(requester, &target.update, &values).await?;
                let content_bytes = self.row.content_bytes();
                Ok(Some(Amount { rows_examined: 1, rows: answer.rows, content_bytes }))
            }
            Kind::DirectSelect => {
                let answer = ask(requester, &target.select, &[id]).await?;
                Ok(Some(amount(answer, 1)))
            }
            _ => self.range(target, key, requester).await.map(Some),
        }
    }

    async fn insert(&mut self, target: &Target, requester: &mut dyn Requester) -> Result<Amount> {
        let work = self.work;
        let key = self.new_keys(target, 1)?;
        Rows::new(work.family, work.seed, target.number, key, key).fill(&mut self.row);
        let values: Vec<Value<'_>> = self.row.values().collect();
        ask(requester, &target.insert, &values).await?;
        target.live.insert(key);
        Ok(Amount { rows_examined: 1, rows: 1, content_bytes: self.row.content_bytes() })
    }

    fn load(&mut self, target: &Target, requester: &mut dyn Requester) -> Result<Amount> {
        let (work, rows) = (self.work, self.work.batch_rows);
        let first = self.new_keys(target, rows)?;
        let last = first + rows - 1;
        let mut batch = Rows::new(work.family, work.seed, target.number, first, last);
        let row_summary = requester.load_batch(&target.table, &mut batch)?;
        (first..=last).for_each(|key| target.live.insert(key));
        Ok(Amount { rows_examined: rows, rows, content_bytes: row_summary.content_bytes })
    }

    fn new_keys(&mut self, target: &Target, rows: u64) -> Result<u64> {
        if let Some(key) = self.new_key {
            return Ok(key);
        }
        let used_up = || Error::new(ErrorKind::Statement, format!("{} has no more keys", target.table.name));
        let key = target.live.next(rows).ok_or_else(used_up)?;
        self.new_key = Some(key);
        Ok(key)
    }

    async fn range(&mut self, target: &Target, first: u64, requester: &mut dyn Requester) -> Result<Amount> {
        let rows_examined = scan_size(&mut self.random);
        let column = (self.random.next_u64() >> 32) as usize % OTHER_COLUMNS.len();
        let (_, low, high) = OTHER_COLUMNS[column];
        let mut draw = || low + below(&mut self.random, (high - low + 1) as u64) as i64;
        let (a, b) = (draw(), draw());
        let last = (first + rows_examined - 1).min(i32::MAX as u64) as i32;
        let values = [Value::Int(first as i32), Value::Int(last), Value::BigInt(a.min(b)), Value::BigInt(a.max(b))];
        let answer = ask(requester, &target.ranges[column], &values).await?;
        Ok(amount(answer, rows_examined))
    }
}
