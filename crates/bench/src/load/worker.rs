//! A session's work: request after request, each drawn from the mix, timed, and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{ColumnType, Dialect, Error, ErrorKind, Result, Row, Session, Table, Value};
use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::keys::{Keys, LiveKeys};
use super::mix::{Kind, Mix, scan_size};
use super::recorder::{Answered, Recorder};
use super::schedule::Schedule;
use crate::generate::{Family, Rows, mix as spread};
use crate::interrupt::Interrupt;

/// How often a request is tried again after an error that passes, and how long is waited before the first time; the
/// wait doubles.
const MOST_RETRIES: u32 = 5;
const FIRST_BACK_OFF: Duration = Duration::from_millis(5);

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
    /// The table.
    pub table: Table,
    /// Its keys.
    pub live: LiveKeys,
    /// Number of the table within its data set.
    pub number: u64,
    texts: Vec<String>,
    table_select: String,
}

/// What all sessions of a repetition share.
pub struct Shared<'a> {
    /// Time.
    pub clock: &'a dyn Clock,
    /// Requests to stop.
    pub interrupt: &'a Interrupt,
    /// Kinds and weights.
    pub mix: &'a Mix,
    /// The tables; a request takes one of them, all alike.
    pub targets: &'a [Target],
    /// Positions of single rows.
    pub single: &'a Keys,
    /// Positions at which ranges begin.
    pub ranges: &'a Keys,
    /// Intended starts; without one each request begins when the last is answered.
    pub schedule: Option<&'a Schedule>,
    /// Pause between an answer and the next request, without a schedule.
    pub think: Duration,
    /// When the repetition ends.
    pub end: Moment,
    /// Seed of the choices.
    pub seed: u64,
    /// Family of the rows.
    pub family: Family,
    /// Recorders; a session takes the one of its number.
    pub recorders: &'a [Mutex<Recorder>],
    /// Sessions that still work.
    pub working: &'a AtomicU64,
}

impl Target {
    /// A table with rows 1 to `rows`, and room for keys up to `most`.
    pub fn new(table: Table, number: u64, rows: u64, most: u64, dialect: &dyn Dialect) -> Self {
        let texts = OTHER_COLUMNS.iter().map(|(column, ..)| dialect.read_range(&table, column)).collect();
        let table_select = dialect.read_all(&table);
        Self { live: LiveKeys::new(rows, most), texts, table_select, number, table }
    }
}

/// A session's own part.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    random: Xoshiro256PlusPlus,
    row: Row,
    types: Vec<Vec<ColumnType>>,
    insert: Vec<String>,
    update: Vec<String>,
    delete: Vec<String>,
    select: Vec<String>,
}

/// Makes requests until the time is up. What fails is counted; only what ends the session is an error.
pub fn work(shared: &Shared<'_>, session: &mut dyn Session, number: u64, label: u64) -> Result<()> {
    let dialect = session.dialect();
    let text = |make: &dyn Fn(&Table) -> String| shared.targets.iter().map(|target| make(&target.table)).collect();
    let mut worker = Worker {
        shared,
        random: Xoshiro256PlusPlus::seed_from_u64(spread(shared.seed ^ spread(number << 8 | label))),
        row: Row::default(),
        types: shared.targets.iter().map(|target| target.table.types()).collect(),
        insert: text(&|table| dialect.insert_row(table)),
        update: text(&|table| dialect.update_row(table)),
        delete: text(&|table| dialect.delete_row(table)),
        select: text(&|table| dialect.read_row(table)),
    };
    let outcome = worker.run(session, number);
    shared.working.fetch_sub(1, Ordering::Relaxed);
    outcome
}

impl Worker<'_> {
    fn run(&mut self, session: &mut dyn Session, number: u64) -> Result<()> {
        let shared = self.shared;
        let recorder = &shared.recorders[number as usize % shared.recorders.len()];
        let kinds = shared.mix.kinds();
        loop {
            let intended = match shared.schedule {
                Some(schedule) => match schedule.next() {
                    Some(intended) => intended,
                    None => return Ok(()),
                },
                None => shared.clock.now(),
            };
            if intended >= shared.end {
                return Ok(());
            }
            shared.clock.sleep_until(intended);
            shared.interrupt.check()?;
            // Who is late for the schedule still makes the request; only the end of the time ends it.
            let started = shared.clock.now();
            if started >= shared.end {
                return Ok(());
            }
            let index = shared.mix.draw(&mut self.random);
            let answer = self.patiently(session, kinds[index], index, recorder);
            let ended = shared.clock.now();
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            match answer {
                Ok(Some(answer)) => recorder.answered(index, &Answered { intended, started, ended, ..answer }),
                Ok(None) => {}
                Err(error) if matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Lost | ErrorKind::Internal) => {
                    recorder.failed(index, ended, error.kind);
                    return Err(error);
                }
                Err(error) => recorder.failed(index, ended, error.kind),
            }
            drop(recorder);
            if shared.schedule.is_none() && !shared.think.is_zero() {
                shared.clock.sleep(shared.think);
            }
        }
    }

    /// Makes a request, and again after errors that pass.
    fn patiently(
        &mut self,
        session: &mut dyn Session,
        kind: Kind,
        index: usize,
        recorder: &Mutex<Recorder>,
    ) -> Result<Option<Answered>> {
        let mut back_off = FIRST_BACK_OFF;
        for _ in 0..MOST_RETRIES {
            match self.request(session, kind) {
                Err(error) if error.kind == ErrorKind::Busy => {
                    recorder.lock().unwrap_or_else(PoisonError::into_inner).retried(index);
                    self.shared.clock.sleep(back_off);
                    back_off *= 2;
                }
                answer => return answer,
            }
        }
        self.request(session, kind)
    }

    /// One request; `None` if there was no row to make it of.
    fn request(&mut self, session: &mut dyn Session, kind: Kind) -> Result<Option<Answered>> {
        let shared = self.shared;
        let place = ((u128::from(self.random.next_u64()) * shared.targets.len() as u128) >> 64) as usize;
        let target = &shared.targets[place];
        if kind == Kind::Insert {
            let Some(key) = target.live.next() else {
                return Err(Error::new(ErrorKind::Statement, format!("{} has no more keys", target.table.name)));
            };
            Rows::new(shared.family, shared.seed, target.number, key, key).fill(&mut self.row);
            let values: Vec<Value<'_>> = self.row.values().collect();
            session.execute(&self.insert[place], &values)?;
            target.live.insert(key);
            return Ok(Some(written(self.row.content_bytes())));
        }
        if kind == Kind::TableSelect {
            let (rows, bytes) = read(session, &target.table_select, &[], &self.types[place])?;
            return Ok(Some(answered(rows, rows, bytes)));
        }
        let keys = if kind.is_single() { shared.single } else { shared.ranges };
        let Some(key) = target.live.pick(keys, &mut self.random) else { return Ok(None) };
        let id = Value::Int(key as i32);
        match kind {
            Kind::Delete => {
                // Two sessions may have picked it; one of them has it.
                if !target.live.take(key) {
                    return Ok(None);
                }
                let outcome = session.execute(&self.delete[place], &[id]);
                if outcome.is_err() {
                    target.live.insert(key);
                }
                outcome.map(|rows| Some(answered(1, rows, 0)))
            }
            Kind::Update => {
                // New values for all columns but the key: those of another row of the generator.
                let version = self.random.next_u64() >> 40;
                Rows::new(shared.family, spread(shared.seed ^ version), target.number, key, key).fill(&mut self.row);
                let mut values: Vec<Value<'_>> = self.row.values().skip(1).collect();
                values.push(id);
                let rows = session.execute(&self.update[place], &values)?;
                Ok(Some(Answered { rows, ..written(self.row.content_bytes()) }))
            }
            Kind::DirectSelect => {
                let (rows, bytes) = read(session, &self.select[place], &[id], &self.types[place])?;
                Ok(Some(answered(1, rows, bytes)))
            }
            _ => {
                let examined = scan_size(&mut self.random);
                let column = (self.random.next_u64() >> 32) as usize % OTHER_COLUMNS.len();
                let (_, low, high) = OTHER_COLUMNS[column];
                let draw = |random: &mut Xoshiro256PlusPlus| {
                    low + ((u128::from(random.next_u64()) * (high - low + 1) as u128) >> 64) as i64
                };
                let (a, b) = (draw(&mut self.random), draw(&mut self.random));
                let last = Value::Int((key + examined - 1).min(i32::MAX as u64) as i32);
                let values = [id, last, Value::BigInt(a.min(b)), Value::BigInt(a.max(b))];
                let (rows, bytes) = read(session, &target.texts[column], &values, &self.types[place])?;
                Ok(Some(answered(examined, rows, bytes)))
            }
        }
    }
}

fn read(session: &mut dyn Session, sql: &str, values: &[Value<'_>], types: &[ColumnType]) -> Result<(u64, u64)> {
    let (mut rows, mut bytes) = (0, 0);
    session.query(sql, values, types, &mut |row| {
        rows += 1;
        bytes += row.content_bytes();
        Ok(())
    })?;
    Ok((rows, bytes))
}

fn answered(rows_examined: u64, rows: u64, content_bytes: u64) -> Answered {
    let now = Moment::default();
    Answered { intended: now, started: now, ended: now, rows_examined, rows, content_bytes }
}

fn written(content_bytes: u64) -> Answered {
    answered(1, 1, content_bytes)
}
