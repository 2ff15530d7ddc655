//! Two virtual hours of a busy S2: eight sessions without think time do 20/30/30/20 inserts, selects, updates and deletes
//! on a table of 36 GB at the default scale, 90 % of them on its newest 5 %, each durable when it is acknowledged. The
//! bar is 30 s of real time on two cores, preparation excluded, and the same trace in every run.
//!
//! `cargo bench -p plimsoll-lab --bench mix -- [MINUTES] [RUNS] [lab:URL]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_analysis::summary;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::{Clock, enter, in_threads};
use plimsoll_engine::process::own_cpu_seconds;
use plimsoll_engine::{
    ClaimMode, ColumnType, Credentials, Database, Engine as _, ErrorKind, Row, Session, Target, Value, Workspace,
};
use plimsoll_lab::Lab;
use plimsoll_measurement::reading::growth;
use plimsoll_measurement::{Counter, Moment, Reading};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const FAMILY: Family = Family::Typed(Width::Seeds);
const URL: &str = "lab:azure-sql-db/S2";
const SESSIONS: u64 = 8;
const ROWS: u64 = 1_473_000;
const SEED: u64 = 1;
/// The newest twentieth of the keys gets nine tenths of the work.
const HOT_SHARE: u64 = 20;
const BAR_SECONDS: f64 = 30.0;
const BAR_MINUTES: u64 = 120;
/// The resource view has rows of 15 seconds.
const SAMPLE: Duration = Duration::from_secs(15);
const KINDS: [&str; 4] = ["inserts", "selects", "updates", "deletes"];

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = words.iter().filter_map(|word| word.parse::<u64>().ok());
    let (minutes, runs) = (numbers.next().unwrap_or(BAR_MINUTES), numbers.next().unwrap_or(2));
    let url = words.iter().find(|word| word.starts_with("lab:")).map_or(URL, String::as_str);
    let (mut hashes, mut seconds) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        let result = measure(url, Duration::from_secs(60 * minutes))?;
        println!("run {run} of {runs}: {url}, {minutes} virtual minutes");
        result.print();
        hashes.push(result.hash);
        seconds.push(result.real);
    }
    if hashes.iter().any(|hash| *hash != hashes[0]) {
        return Err("the runs have different traces".into());
    }
    let median = summary::median(&seconds).unwrap_or_default();
    let bar = BAR_SECONDS * minutes as f64 / BAR_MINUTES as f64;
    println!("median {median:.1} s of real time for {minutes} virtual minutes; the bar is {bar:.1} s");
    if median <= bar { Ok(()) } else { Err("slower than the bar".into()) }
}

/// What a run came to.
struct Mix {
    prepared: f64,
    real: f64,
    cpu: f64,
    virtual_seconds: f64,
    counts: [u64; KINDS.len()],
    hash: u64,
    before: Vec<Reading>,
    after: Vec<Reading>,
    /// Means over the rows of the resource view.
    percents: BTreeMap<Counter, f64>,
}

impl Mix {
    fn print(&self) {
        let operations: u64 = self.counts.iter().sum();
        let (real, micros) = (self.real, self.real * 1e6 / operations as f64);
        println!("  prepared in {:.1} s; then {real:.2} s real, {:.2} s CPU", self.prepared, self.cpu);
        println!("  {operations} operations, {micros:.2} us each; {:.0} times real time", self.virtual_seconds / real);
        let kinds: Vec<String> = KINDS.iter().zip(self.counts).map(|(kind, count)| format!("{count} {kind}")).collect();
        println!("  {}; {:.1} a virtual second", kinds.join(", "), operations as f64 / self.virtual_seconds);
        let percents: Vec<String> =
            self.percents.iter().map(|(metric, percent)| format!("{} {percent:.1}", metric.name())).collect();
        println!("  mean of the resource view: {}", percents.join(", "));
        let per_second = |metric| growth(metric, &self.before, &self.after).unwrap_or_default() / self.virtual_seconds;
        println!(
            "  a virtual second: {:.1} data reads, {:.1} data writes, {:.1} log writes of {:.0} KiB in all",
            per_second(Counter::DataReads),
            per_second(Counter::DataWrites),
            per_second(Counter::LogWrites),
            per_second(Counter::LogWriteBytes) / 1024.0,
        );
        let waits = [
            Counter::DataReadWaitSeconds,
            Counter::LogWriteWaitSeconds,
            Counter::LogRateGovernorWaitSeconds,
            Counter::LockWaitSeconds,
            Counter::CpuWaitSeconds,
        ];
        let shares: Vec<String> = waits
            .iter()
            .map(|wait| format!("{} {:.1} %", wait.name(), 100.0 * per_second(*wait) / SESSIONS as f64))
            .collect();
        println!("  of the sessions' time: {}", shares.join(", "));
        println!("  trace {:016x}", self.hash);
    }
}

fn measure(url: &str, duration: Duration) -> Outcome<Mix> {
    let target = Target::parse(url)?;
    let clock = Lab.clock(&target, Box::new(|stall| panic!("{stall}")))?;
    let database = Lab.open(&target, &Credentials::default(), Arc::clone(&clock))?;
    let on_clock = enter(&clock, "preparation");
    let start = Instant::now();
    let workspace = Workspace::run("mix")?;
    let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
    let table = schema::family("rows", Width::Seeds);
    {
        let mut session = database.session(&workspace, &workspace)?;
        session.create_table(&table)?;
        session.load(&table, &mut Rows::new(FAMILY, SEED, 0, 1, ROWS))?;
        session.settle_table(&table)?;
    }
    let prepared = start.elapsed().as_secs_f64();
    let mut server = database.process_sampler().ok_or("the lab has no counters")?;
    let before = server.sample()?;

    let keys = Keys::new();
    let begin = clock.now();
    let end = begin.after(duration);
    let (start, cpu) = (Instant::now(), own_cpu_seconds());
    let percents = &Mutex::new(BTreeMap::<Counter, Vec<f64>>::new());
    let worker = |number: u64| {
        let (database, workspace, clock, keys) = (database.as_ref(), &workspace, clock.as_ref(), &keys);
        Box::new(move || Worker::new(database.session(workspace, workspace)?, number, keys, clock).work(end)) as Job<'_>
    };
    let sampler = {
        let (database, clock) = (database.as_ref(), clock.as_ref());
        Box::new(move || {
            sample(database, clock, end, percents)?;
            Ok(Trace::default())
        }) as Job<'_>
    };
    let sessions = (0..SESSIONS).map(|number| (format!("session {number}"), worker(number)));
    let jobs = sessions.chain([("sampler".to_owned(), sampler)]).collect();
    let ended = in_threads(&clock, jobs);
    let (real, cpu) = (start.elapsed().as_secs_f64(), own_cpu_seconds() - cpu);

    let (mut counts, mut hasher) = ([0; KINDS.len()], DefaultHasher::new());
    for trace in ended {
        let trace = trace.map_err(|_| "a session panicked")??;
        counts.iter_mut().zip(trace.counts).for_each(|(sum, count)| *sum += count);
        trace.hasher.finish().hash(&mut hasher);
    }
    clock.now().as_nanos().hash(&mut hasher);
    let after = server.sample()?;
    for reading in &after {
        reading.value.to_bits().hash(&mut hasher);
    }
    let percents = percents.lock().unwrap_or_else(PoisonError::into_inner);
    let percents = percents.iter().filter_map(|(metric, values)| Some((*metric, summary::mean(values)?))).collect();
    let virtual_seconds = clock.now().since(begin).as_secs_f64();
    drop(lease);
    drop(on_clock);
    let hash = hasher.finish();
    Ok(Mix { prepared, real, cpu, virtual_seconds, counts, hash, before, after, percents })
}

type Job<'a> = Box<dyn FnOnce() -> Outcome<Trace> + Send + 'a>;

/// Reads the resource view whenever it has a new row.
fn sample(
    database: &dyn Database,
    clock: &dyn Clock,
    end: Moment,
    percents: &Mutex<BTreeMap<Counter, Vec<f64>>>,
) -> Outcome<()> {
    let mut server = database.process_sampler().ok_or("the lab has no counters")?;
    let shown = [Counter::CpuPercent, Counter::DataIoPercent, Counter::LogWritePercent, Counter::MemoryPercent];
    loop {
        clock.sleep(SAMPLE);
        if clock.now() > end {
            return Ok(());
        }
        for reading in server.sample()?.into_iter().filter(|reading| shown.contains(&reading.metric)) {
            let mut percents = percents.lock().unwrap_or_else(PoisonError::into_inner);
            percents.entry(reading.metric).or_default().push(reading.value);
        }
    }
}

/// The keys of the rows that exist. Sessions share them; on the clock only one runs at a time.
struct Keys(Mutex<Vec<bool>>);

impl Keys {
    /// Those of the table as it was loaded.
    fn new() -> Self {
        Self(Mutex::new(vec![true; ROWS as usize]))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<bool>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A key for a new row, which nobody else is given before [`Keys::add`].
    fn reserve(&self) -> u64 {
        self.with(|exists| {
            exists.push(false);
            exists.len() as u64
        })
    }

    fn add(&self, key: u64) {
        self.with(|exists| exists[key as usize - 1] = true);
    }

    /// A key of a row, nine times of ten among the newest.
    fn pick(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        self.with(|exists| {
            let count = exists.len() as u64;
            loop {
                let is_hot = below(random, 10) > 0;
                let span = if is_hot { count / HOT_SHARE } else { count };
                let index = count - 1 - below(random, span);
                if exists[index as usize] {
                    return index + 1;
                }
            }
        })
    }

    /// The same, and nobody else gets it any more.
    fn take(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let key = self.pick(random);
        self.with(|exists| exists[key as usize - 1] = false);
        key
    }
}

fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// What a session did.
#[derive(Default)]
struct Trace {
    counts: [u64; KINDS.len()],
    /// Of kind, key and virtual time of each operation.
    hasher: DefaultHasher,
}

/// One session.
struct Worker<'a> {
    session: Box<dyn Session>,
    random: Xoshiro256PlusPlus,
    keys: &'a Keys,
    clock: &'a dyn Clock,
    insert: String,
    trace: Trace,
}

impl<'a> Worker<'a> {
    fn new(session: Box<dyn Session>, number: u64, keys: &'a Keys, clock: &'a dyn Clock) -> Self {
        let placeholders = vec!["?"; schema::family("rows", Width::Seeds).columns.len()].join(", ");
        let insert = format!("INSERT INTO rows VALUES ({placeholders})");
        let random = Xoshiro256PlusPlus::seed_from_u64(SEED << 32 | number);
        Self { session, random, keys, clock, insert, trace: Trace::default() }
    }

    fn work(mut self, end: Moment) -> Outcome<Trace> {
        while self.clock.now() < end {
            let kind = match below(&mut self.random, 10) {
                0..2 => 0,
                2..5 => 1,
                5..8 => 2,
                _ => 3,
            };
            let (key, rows) = self.operation(kind).map_err(|error| format!("{}: {error}", KINDS[kind]))?;
            self.trace.counts[kind] += 1;
            // Who has chosen a row first has the turn to write first, so it is still there.
            if rows != 1 {
                return Err(format!("{} of key {key} concerned {rows} rows", KINDS[kind]).into());
            }
            (kind, key, self.clock.now().as_nanos()).hash(&mut self.trace.hasher);
        }
        Ok(self.trace)
    }

    fn operation(&mut self, kind: usize) -> Result<(u64, u64), plimsoll_engine::Error> {
        let int = |key: u64| Value::Int(key as i32);
        Ok(match kind {
            0 => {
                let key = self.keys.reserve();
                let mut row = Row::default();
                Rows::new(FAMILY, SEED, 0, key, key).fill(&mut row);
                let values: Vec<Value<'_>> = row.values().collect();
                let rows = self.session.execute(&self.insert, &values)?;
                self.keys.add(key);
                (key, rows)
            }
            1 => {
                let key = self.keys.pick(&mut self.random);
                let mut found = 0;
                let types = [ColumnType::Int, ColumnType::Text(Width::Seeds.text_bytes().1)];
                let query = "SELECT Int1, VarChar1 FROM rows WHERE RowId = ?1";
                self.session.query(query, &[int(key)], &types, &mut |row| match row.get(0) {
                    Value::Int(_) => {
                        found += 1;
                        Ok(())
                    }
                    _ => Err(plimsoll_engine::Error::new(ErrorKind::Internal, "a column is empty")),
                })?;
                (key, found)
            }
            2 => {
                let key = self.keys.pick(&mut self.random);
                let value = Value::Int(self.random.next_u64() as i32);
                (key, self.session.execute("UPDATE rows SET Int1 = ?2 WHERE RowId = ?1", &[int(key), value])?)
            }
            _ => {
                let key = self.keys.take(&mut self.random);
                (key, self.session.execute("DELETE FROM rows WHERE RowId = ?1", &[int(key)])?)
            }
        })
    }
}
