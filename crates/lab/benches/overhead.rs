//! What the lab costs where its hardware has no limits, in real time, against plain SQLite: the same driver, private cache
//! (two pages, nothing spilled), page size, journal and synchronous mode on both sides; and against SQLite's default cache
//! of 2 MB, for information. The bar is a median ratio of at most 1.03 on point reads and on bulk inserts.
//!
//! How it is kept fair:
//! - Pairs are interleaved in ABBA order, in one process. A side opens its session for its half of a pair only, does the
//!   work once to warm up, and closes it again. The heap is never trimmed: the program starts itself anew with glibc's
//!   `MALLOC_TRIM_THRESHOLD_` set, since giving memory back and asking for it anew costs whoever's turn it is.
//! - Files are in memory (`/dev/shm`), so that a sync is asked for and takes no time. Without such a folder they are where
//!   temporary files are, and both sides work with `synchronous=OFF`.
//! - The lab copies its log in a thread of its own, SQLite within a commit, both after 1,000 frames. Here all threads share
//!   one core, and what counts is the CPU time of the whole process, which is the real time of a process that never waits;
//!   the other's builds on the machine don't disturb it. The real time is printed beside it.
//! - Every half ends with the log copied whole.
//!
//! `cargo bench -p plimsoll-lab --bench overhead -- [PAIRS] [reads] [inserts]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_analysis::{interval, summary};
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::{self, Width};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::process::own_cpu_seconds;
use plimsoll_engine::{ClaimMode, ColumnType, Database, Lease, Row, Session, Value, Workspace};
use plimsoll_hardware::Spec;
use plimsoll_lab::level::Level;
use plimsoll_lab::{Address, LabDatabase};
use plimsoll_sqlite::SqliteDatabase;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const FAMILY: Family = Family::Typed(Width::Seeds);
const BAR: f64 = 1.03;
const ROWS: u64 = 200_000;
const READS: u64 = 100_000;
/// Inserts of a half, and of a transaction.
const INSERTS: u64 = 40_000;
const BATCH: u64 = 1_000;
const TRIM: (&str, &str) = ("MALLOC_TRIM_THRESHOLD_", "4294967296");

fn main() -> Outcome<()> {
    if std::env::var_os(TRIM.0).is_none() {
        let error = Command::new(std::env::current_exe()?).args(std::env::args_os().skip(1)).env(TRIM.0, TRIM.1).exec();
        return Err(error.into());
    }
    let mut core = CpuSet::new();
    core.set(sched_getcpu());
    sched_setaffinity(None, &core)?;

    let words: Vec<String> = std::env::args().skip(1).collect();
    let pairs = words.iter().find_map(|word| word.parse::<u64>().ok()).unwrap_or(20);
    let is_named = |work: &Work| words.iter().any(|word| work.name().ends_with(word));
    let all = [Work::Reads, Work::Inserts];
    let named: Vec<Work> = all.into_iter().filter(is_named).collect();
    let memory = Path::new("/dev/shm");
    let in_memory = memory.is_dir();
    let folder = if in_memory { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let synchronous = if in_memory { "FULL" } else { "OFF" };
    println!("files in {}, synchronous={synchronous}, {pairs} pairs", folder.path().display());
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let mut sides = [
        Side::lab(folder.path(), &clock, synchronous)?,
        Side::plain(folder.path(), "plain", &clock, synchronous, Some(2))?,
        Side::plain(folder.path(), "default", &clock, synchronous, None)?,
    ];
    let mut worst: f64 = 0.0;
    for work in if named.is_empty() { all.to_vec() } else { named } {
        for (other, of) in [(1, "the same private cache"), (2, "SQLite's default cache")] {
            let (mut cpu, mut real) = (Vec::new(), Vec::new());
            for pair in 0..pairs {
                let mut halves = [Half::default(); 2];
                for turn in 0..2 {
                    let ours = (pair + turn).is_multiple_of(2);
                    halves[usize::from(ours)] = sides[if ours { 0 } else { other }].half(work)?;
                }
                cpu.push(halves[1].cpu / halves[0].cpu);
                real.push(halves[1].real / halves[0].real);
                let micros = halves.map(|half| half.cpu * 1e6 / work.operations() as f64);
                println!(
                    "  pair {:>2}: lab {:.3} us, plain {:.3} us, ratio {:.3}",
                    pair + 1,
                    micros[1],
                    micros[0],
                    cpu[cpu.len() - 1]
                );
            }
            let median = shown(&format!("{} against {of}, CPU", work.name()), &cpu)?;
            shown(&format!("{} against {of}, real", work.name()), &real)?;
            worst = if other == 1 { worst.max(median) } else { worst };
        }
    }
    if worst <= BAR { Ok(()) } else { Err(format!("a ratio of {worst:.3} is above the bar of {BAR}").into()) }
}

fn shown(what: &str, ratios: &[f64]) -> Outcome<f64> {
    let median = summary::median(ratios).ok_or("no pairs")?;
    let mean = interval::interval(ratios, 0.95).ok_or("no pairs")?;
    println!(
        "{what}: median {median:.3}, mean {:.3} ({:.3} to {:.3} with 95 %)",
        mean.value,
        mean.low.unwrap_or_default(),
        mean.high.unwrap_or_default()
    );
    Ok(median)
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Rows by random keys.
    Reads,
    /// Rows with rising keys, one statement each, a thousand to a transaction.
    Inserts,
}

impl Work {
    const fn name(self) -> &'static str {
        match self {
            Self::Reads => "point reads",
            Self::Inserts => "bulk inserts",
        }
    }

    const fn operations(self) -> u64 {
        match self {
            Self::Reads => READS,
            Self::Inserts => INSERTS,
        }
    }
}

/// Seconds that a side took.
#[derive(Clone, Copy, Default)]
struct Half {
    cpu: f64,
    real: f64,
}

/// A database.
struct Side {
    database: Box<dyn Database>,
    workspace: Workspace,
    pragmas: Vec<String>,
    next: u64,
    random: Xoshiro256PlusPlus,
    _lease: Box<dyn Lease>,
}

impl Side {
    fn lab(folder: &Path, clock: &Arc<dyn Clock>, synchronous: &str) -> Outcome<Self> {
        let spec = Spec::unlimited("unlimited");
        let level = Level {
            spec,
            name: "unlimited".into(),
            edition: None,
            edition_date: None,
            published: None,
            disk: None,
            provenance: [].into(),
        };
        let file = folder.join("lab");
        let address = Address::parse(&format!("lab:unlimited.toml?clock=real&scale=1&file={}", file.display()))?;
        let database = Box::new(LabDatabase::on(level, &address, Arc::clone(clock))?);
        // The private cache is of two pages and never spills: the lab's own settings.
        Self::new(database, vec![format!("PRAGMA synchronous = {synchronous}")])
    }

    fn plain(
        folder: &Path,
        name: &str,
        clock: &Arc<dyn Clock>,
        synchronous: &str,
        cache_pages: Option<u32>,
    ) -> Outcome<Self> {
        let url = format!("sqlite:{}", folder.join(name).display());
        let database = Box::new(SqliteDatabase::open(&url, Arc::clone(clock))?);
        let mut pragmas = vec![format!("PRAGMA synchronous = {synchronous}")];
        if let Some(pages) = cache_pages {
            pragmas.push(format!("PRAGMA cache_size = {pages}"));
            pragmas.push("PRAGMA cache_spill = OFF".to_owned());
        }
        Self::new(database, pragmas)
    }

    fn new(database: Box<dyn Database>, pragmas: Vec<String>) -> Outcome<Self> {
        let workspace = Workspace::run("overhead")?;
        let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let side = Self { database, workspace, pragmas, next: 1, random, _lease: lease };
        let mut session = side.session()?;
        let table = schema::family("source", Width::Seeds);
        session.create_table(&table)?;
        session.load(&table, &mut Rows::new(FAMILY, 1, 0, 1, ROWS))?;
        session.settle_table(&table)?;
        drop(session);
        Ok(side)
    }

    fn session(&self) -> Outcome<Box<dyn Session>> {
        let mut session = self.database.session(&self.workspace, &self.workspace)?;
        for pragma in &self.pragmas {
            session.execute(pragma, &[])?;
        }
        Ok(session)
    }

    fn half(&mut self, work: Work) -> Outcome<Half> {
        let mut session = self.session()?;
        let session = session.as_mut();
        match work {
            Work::Reads => {
                self.read(session, READS / 10)?;
                timed(|| self.read(session, READS))
            }
            Work::Inserts => {
                session.execute("DROP TABLE IF EXISTS target", &[])?;
                session.create_table(&schema::family("target", Width::Seeds))?;
                self.next = 1;
                self.insert(session, INSERTS / 10)?;
                session.checkpoint()?;
                timed(|| {
                    self.insert(session, INSERTS)?;
                    session.checkpoint().map(drop).map_err(Into::into)
                })
            }
        }
    }

    fn read(&mut self, session: &mut dyn Session, reads: u64) -> Outcome<()> {
        let types = [ColumnType::Int, ColumnType::Text(Width::Seeds.text_bytes().1)];
        let mut found = 0;
        for _ in 0..reads {
            let key = 1 + self.random.next_u64() % ROWS;
            let query = "SELECT Int1, VarChar1 FROM source WHERE RowId = ?1";
            session.query(query, &[Value::Int(key as i32)], &types, &mut |_| {
                found += 1;
                Ok(())
            })?;
        }
        if found == reads { Ok(()) } else { Err("rows are missing".into()) }
    }

    fn insert(&mut self, session: &mut dyn Session, inserts: u64) -> Outcome<()> {
        let placeholders = vec!["?"; schema::family("target", Width::Seeds).columns.len()].join(", ");
        let sql = format!("INSERT INTO target VALUES ({placeholders})");
        // One row again and again but for its key: making rows is not what is measured.
        let mut row = Row::default();
        Rows::new(FAMILY, 1, 1, 1, 1).fill(&mut row);
        let mut values: Vec<Value<'_>> = row.values().collect();
        for _ in 0..inserts / BATCH {
            session.execute("BEGIN IMMEDIATE", &[])?;
            for _ in 0..BATCH {
                values[0] = Value::Int(self.next as i32);
                self.next += 1;
                session.execute(&sql, &values)?;
            }
            session.execute("COMMIT", &[])?;
        }
        Ok(())
    }
}

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<Half> {
    let (start, cpu) = (Instant::now(), own_cpu_seconds());
    work()?;
    Ok(Half { cpu: own_cpu_seconds() - cpu, real: start.elapsed().as_secs_f64() })
}
