//! What the plan cache has counted by statement, over a line of its own: `sys.dm_exec_query_stats` and what its sessions do. Nothing is made or
//! changed at the server. Written to Microsoft's documentation.
//!
//! A row is one statement of one plan, and goes with the plan: what is evicted takes its counts along, and the server does not say so. A plan that is
//! compiled anew has a new row. So rows are subtracted one by one, and summed by the hash of the query after that.

use std::collections::BTreeSet;

use plimsoll_engine::queries::{CachedPlans, MOST_TEXTS, SeenSession, SessionSample, Wait, WaitClass, without_values};
use plimsoll_engine::{CountedViews, Error, ErrorKind, QuerySampler, QueryText, Result, Row as Answer, foreign};
use plimsoll_measurement::counters::{
    Edge, Evictions, Item, Measure, Plan, Row, RowId, Server, Snapshot, Source, Values,
};
use plimsoll_measurement::{Views, WaitClass as Class};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::abilities::{Abilities, Ability};
use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::sql::{self, Product, Text};
use super::wire::Wire;
use super::{counters, describe, waits};

const NAME: &str = "plimsoll watch";
/// Where a statement stands whose hash is that of several.
const SEVERAL_OBJECTS: &str = "several procedures";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE_S: u32 = 5;

/// Reads the statistics; after a loss it connects again at the next reading.
pub(super) struct PlanCacheSampler {
    connector: Connector,
    product: Product,
    abilities: Abilities,
    identity: String,
    database: String,
    wire: Option<Box<dyn Wire>>,
    own: BTreeSet<Item>,
    /// Whether the connection is new, and its own statements were not looked for yet.
    is_new: bool,
}

impl PlanCacheSampler {
    pub(super) fn open(connector: &Connector, server: &describe::Server) -> Result<Self> {
        if !server.abilities.has(Ability::SeePlans) {
            let message = "the user may not see what others ran (sys.dm_exec_query_stats)";
            let hint = match server.product {
                Product::Database => "GRANT VIEW DATABASE STATE TO the user of the URL",
                _ => {
                    "in master: GRANT VIEW SERVER STATE TO the user of the URL; from 2022 on GRANT VIEW SERVER PERFORMANCE STATE does"
                }
            };
            return Err(Error::new(ErrorKind::Permission, message).hint(hint));
        }
        let mut sampler = Self {
            connector: connector.hurried(PATIENCE_S),
            product: server.product,
            abilities: server.abilities,
            identity: server.description.fingerprint.clone(),
            database: server.database.clone(),
            wire: None,
            own: BTreeSet::new(),
            is_new: true,
        };
        sampler.with_control(|_| Ok(()))?;
        Ok(sampler)
    }

    /// Asks something over the connection, which is made if it isn't there and given up if it breaks or is too slow.
    fn with_control<T>(&mut self, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        let wire = if let Some(wire) = self.wire.take() {
            wire
        } else {
            self.is_new = true;
            self.connector.connect_once(NAME)?
        };
        let mut control = Control::on(wire, &self.connector);
        let done = work(&mut control);
        let is_broken = control.wire.is_dead() || done.as_ref().is_err_and(|error| error.kind == ErrorKind::Lost);
        self.wire = (!is_broken).then_some(control.wire);
        done
    }

    fn rows(&mut self, text: Text) -> Result<Vec<Answer>> {
        self.with_control(|control| control.rows(text, &[]))
    }

    fn edge(&mut self) -> Result<Edge> {
        let rows = self.rows(sql::STATEMENT_STAMPS)?;
        let unreadable = || Error::new(ErrorKind::Statement, "the stamps of the server can't be read");
        let row = rows.first().ok_or_else(unreadable)?;
        let started_us = whole(row, 1).ok_or_else(unreadable)?;
        Ok(Edge {
            clock_us: whole(row, 0).ok_or_else(unreadable)?,
            server: Server {
                identity: self.identity.clone(),
                version: text_of(row, 2).unwrap_or_default(),
                started_us,
            },
            // The cache is in memory, and begins with the server. Who empties it leaves no stamp: rows that are gone show it.
            reset_us: Some(started_us),
            are_stamps_derived: false,
            evictions: Evictions::Untold,
            total: None,
        })
    }

    /// Looks for statements of ours over a new connection, once they have all been asked.
    fn find_own(&mut self) -> Result<()> {
        if !self.is_new {
            return Ok(());
        }
        self.sessions()?;
        self.texts(&[])?;
        for source in [Source::Waits, Source::Files] {
            match self.counted(source) {
                Err(error) if self.wire.is_none() => return Err(error),
                _ => {}
            }
        }
        self.rows(sql::OWN_STATEMENTS)?;
        // The question itself is in the answer to its second asking.
        let rows = self.rows(sql::OWN_STATEMENTS)?;
        self.own.extend(rows.iter().filter_map(|row| text_of(row, 0)).map(|hash| item_of(&hash)));
        self.is_new = false;
        Ok(())
    }
}

impl PlanCacheSampler {
    /// The question for a source that the user may see.
    fn question(&self, source: Source) -> Option<Text> {
        let is_database = matches!(self.product, Product::Database);
        match source {
            Source::Waits if self.abilities.has(Ability::SeeWaits) => {
                Some(if is_database { sql::DATABASE_WAITS } else { sql::SERVER_WAITS })
            }
            Source::Files if self.abilities.has(Ability::SeeFiles) => {
                Some(if is_database { sql::FILE_STATISTICS } else { sql::ALL_FILES })
            }
            _ => None,
        }
    }
}

/// The statement of a hash, which the server makes of its text without values. The hash is in the last 16 digits of the item.
fn item_of(hash: &str) -> Item {
    let digits = hash.strip_prefix("0x").unwrap_or(hash);
    u64::from_str_radix(digits, 16)
        .ok()
        .filter(|number| *number > 0)
        .map_or_else(|| Item(xxh3_128(hash.as_bytes())), |number| Item(number.into()))
}

/// A row of the statement "counters of statements".
fn row_of(row: &Answer) -> Option<Row> {
    let texts = [0, 3].map(|at| text_of(row, at).unwrap_or_default());
    let numbers = [1, 2, 4, 7].map(|at| whole(row, at).unwrap_or_default());
    let identity = format!("{texts:?} {numbers:?}");
    let hash = text_of(row, 5).unwrap_or_else(|| identity.clone());
    let plan = text_of(row, 6).and_then(|hash| u64::from_str_radix(hash.trim_start_matches("0x"), 16).ok()).map(Plan);
    let value = |at: usize| whole(row, at).and_then(|value| u64::try_from(value).ok());
    let values = [
        (Measure::Executions, value(8)),
        (Measure::CpuUs, value(9)),
        (Measure::ElapsedUs, value(10)),
        (Measure::Rows, value(12)),
        (Measure::LogicalReadPages, value(13)),
        (Measure::PhysicalReadPages, value(14)),
        (Measure::LogicalWritePages, value(15)),
    ];
    Some(Row {
        id: RowId(xxh3_128(identity.as_bytes())),
        item: item_of(&hash),
        plan,
        created_us: Some(whole(row, 7)?),
        values: Values::of(values.into_iter().filter_map(|(measure, value)| Some((measure, value?)))),
        longest_us: value(11),
        is_nested: false,
    })
}

/// What a wait is for.
const fn class_of(class: Class) -> WaitClass {
    match class {
        Class::DataRead => WaitClass::DataReads,
        Class::DataSpill => WaitClass::Temporary,
        Class::LogWrite | Class::LogRateGovernor => WaitClass::LogWrites,
        Class::Lock => WaitClass::Locks,
        Class::Client => WaitClass::Client,
        Class::Sleep | Class::Idle => WaitClass::Sleep,
        // A request that waits for its other threads works.
        Class::Cpu | Class::Parallelism => WaitClass::Cpu,
        Class::Workers | Class::Other => WaitClass::Other,
    }
}

/// A row of the statement "sessions at work".
fn session_of(row: &Answer) -> Option<SeenSession> {
    let number = whole(row, 2)?;
    let request = text_of(row, 5);
    // Who is ready to run waits for a CPU, whatever it waited for before.
    let waits = request.as_deref().is_some_and(|status| !matches!(status, "running" | "runnable"));
    let wait = text_of(row, 6).filter(|_| waits).map(|name| Wait { class: class_of(waits::class_of(&name)), name });
    let wait = wait.filter(|wait| wait.class != WaitClass::Cpu);
    let blocker = whole(row, 7).filter(|blocker| *blocker != 0 && *blocker != number);
    Some(SeenSession {
        number,
        identity: xxh3_64(format!("{number} {}", whole(row, 3).unwrap_or_default()).as_bytes()),
        is_active: request.is_some(),
        state: request.or_else(|| text_of(row, 4)).unwrap_or_default(),
        start_us: whole(row, 9),
        item: text_of(row, 8).map(|hash| item_of(&hash)),
        text: None,
        database: text_of(row, 10).map(|name| foreign::masked(&name)),
        wait,
        may_be_counted: false,
        // Below zero are reasons without a session: an orphan, a latch, a deferred recovery.
        blocked_by: blocker.filter(|blocker| *blocker > 0).into_iter().collect(),
    })
}

impl QuerySampler for PlanCacheSampler {
    fn snapshot(&mut self) -> Result<Snapshot> {
        let start = self.edge()?;
        let answers = self.rows(sql::STATEMENT_COUNTERS)?;
        let end = self.edge()?;
        self.find_own()?;
        let rows: Vec<Row> = answers.iter().filter_map(row_of).collect();
        let own_us = Some(self.connector.clock.now().as_nanos() / 1_000);
        let is_complete = rows.len() == answers.len();
        Ok(Snapshot { source: Source::Queries, start, end, own_us, is_complete, total_of: Measure::ElapsedUs, rows })
    }

    fn own(&self) -> Vec<Item> {
        self.own.iter().copied().collect()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = vec![
            "SQL Server keeps counts as long as the plan is in its cache, and does not say what it drops: statements that are compiled anew for each \
             execution (OPTION (RECOMPILE)) or whose plans are dropped at once are not seen, and there is no total to hold the others against"
                .to_owned(),
        ];
        if matches!(self.product, Product::Database) {
            warnings.push("Azure SQL Database shows the statements of the database of the URL alone".to_owned());
        }
        warnings
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let hashes: Vec<String> = items
            .iter()
            .take(MOST_TEXTS)
            .filter_map(|item| Some(format!("0x{:016X}", u64::try_from(item.0).ok()?)))
            .collect();
        let hashes = hashes.join(" ");
        let rows = self.with_control(|control| control.rows_filled(sql::STATEMENT_TEXTS, &[("hashes", &hashes)]))?;
        let mut texts: Vec<QueryText> = Vec::new();
        for row in &rows {
            let Some(item) = text_of(row, 0).map(|hash| item_of(&hash)) else { continue };
            let object = text_of(row, 3).map(|name| foreign::masked(&name));
            // Plans of one query differ in their values alone, and in where it stands.
            if let Some(known) = texts.iter_mut().find(|known| known.item == item) {
                if known.object != object {
                    known.object = Some(SEVERAL_OBJECTS.to_owned());
                }
                continue;
            }
            let database = match self.product {
                Product::Database => Some(self.database.clone()),
                _ => text_of(row, 2),
            };
            let text = text_of(row, 1).map(|text| without_values(text.trim()));
            texts.push(QueryText { item, database: database.map(|name| foreign::masked(&name)), text, object });
        }
        Ok(texts)
    }

    fn cached_plans(&mut self) -> Result<Vec<CachedPlans>> {
        let rows = self.rows(sql::CACHED_PLANS)?;
        let plans = |row: &Answer| {
            let count = |at: usize| whole(row, at).and_then(|count| u64::try_from(count).ok());
            Some(CachedPlans {
                kind: text_of(row, 0)?,
                plans: count(1)?,
                bytes: count(2)?,
                uses: count(3)?,
                once: count(4)?,
                once_bytes: count(5)?,
            })
        };
        Ok(rows.iter().filter_map(plans).collect())
    }

    /// Waits that have ended, and files, as samplers of runs read them.
    fn counted(&mut self, source: Source) -> Result<Option<CountedViews>> {
        let Some(question) = self.question(source) else { return Ok(None) };
        let start = self.edge()?;
        let rows = self.rows(question)?;
        let end = self.edge()?;
        let mut views = Views::default();
        match source {
            Source::Waits => views.waits = rows.iter().filter_map(counters::wait_row).collect(),
            _ if matches!(self.product, Product::Database) => views.files = counters::own_files(&rows),
            _ => views.files = counters::files_anywhere(&rows),
        }
        // Somebody has always waited for something, and read something: a view without rows shows nothing to us.
        let is_seen = !(views.waits.is_empty() && views.files.is_empty());
        let never = |edge: Edge| Edge { evictions: Evictions::Never, ..edge };
        Ok(is_seen.then(|| CountedViews { start: never(start), end: never(end), views }))
    }

    fn sessions(&mut self) -> Result<Option<SessionSample>> {
        let rows = self.rows(sql::SESSIONS_AT_WORK)?;
        let at = |at: usize| rows.first().and_then(|row| whole(row, at));
        // Without a session at work there is no row, and the clock is ours to ask.
        let Some(at_us) = at(0) else {
            let edge = self.edge()?;
            return Ok(Some(SessionSample { at_us: edge.clock_us, connected: 0, limit: None, sessions: Vec::new() }));
        };
        let connected = at(1).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        let sessions = rows.iter().filter_map(session_of).collect();
        Ok(Some(SessionSample { at_us, connected, limit: None, sessions }))
    }
}
