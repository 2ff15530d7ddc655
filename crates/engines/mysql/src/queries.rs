//! What the Performance Schema has counted by statement, over a connection of its own. Nothing is made or set at the server.
//!
//! A row is a digest in a database. The server drops none: what it has no room for is counted in one row without a digest.

pub(super) mod facts;
mod prepared;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::queries::{
    Counting, LONGEST_TEXT, MOST_TEXTS, SeenSession, SessionSample, WaitClass, without_values,
};
use plimsoll_engine::{CountedViews, ErrorKind, QuerySampler, QueryText, Result, foreign};
use plimsoll_measurement::Views;
use plimsoll_measurement::counters::{
    Edge, Evictions, Item, Measure, Row, RowId, Server, Snapshot, Source, Total, Values,
};

use super::connect::Connector;
use super::connection::{Connection, Rows};
use super::counters;
use super::error::statement as fault;
use super::product::Product;
use super::sampler::{REDO_LOG, file_row, wait_row};
use super::statements::{fill, text};
use facts::Facts;
use prepared::{Counted, Prepared};
use sessions::{Begun, begun, item_of, number, session_of, text_of, us};

const NAME: &str = "plimsoll watch";
/// How long a server may keep silent before it is given up until the next reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the row without a digest is called. Ours can't be told apart in it.
const WITHOUT_ROOM: &str =
    "-- all statements that the Performance Schema had no room for, those of this program among them";
/// From this part of the room on it is nearly full.
const NEARLY_FULL_PERCENT: u64 = 90;

/// Reads the statistics; after a loss it connects again at the next reading.
pub(super) struct DigestSampler {
    connector: Arc<Connector>,
    identity: String,
    connection: Option<Connection>,
    facts: Facts,
    /// Databases and digests of statements at the last reading.
    known: BTreeMap<Item, (String, String)>,
    /// Statements of ours: they have the same digests again after a restart, or once somebody emptied the table.
    own: BTreeSet<Item>,
    /// Whether the connection is new, and the server may give them others.
    is_new: bool,
    /// When the statements of sessions began, as it was computed when they were first seen.
    begun: BTreeMap<i64, Begun>,
    listed: Listed,
    counting: Counting,
    prepared: Prepared,
    /// Whether sessions that wait for row locks are seen.
    sees_transactions: bool,
}

/// Statements at the last reading, and whether some had no room.
#[derive(Debug, Clone, Copy, Default)]
struct Listed {
    found: u64,
    is_full: bool,
}

/// A row of the statement "stamps of statements", of a server with this identity.
pub(super) fn edge_of(row: &[Option<String>], identity: &str) -> Result<Edge> {
    let unreadable = || fault("the stamps of the server can't be read");
    let clock_us = number(row, 0).and_then(|us| i64::try_from(us).ok()).ok_or_else(unreadable)?;
    let up_s = number(row, 1).and_then(|seconds| i64::try_from(seconds).ok()).ok_or_else(unreadable)?;
    let started_us = clock_us.saturating_sub(up_s.saturating_mul(1_000_000));
    // A sum of all statements may be more than a counter of one holds.
    let total = text_of(row, 3).and_then(|ps| ps.parse::<u128>().ok());
    let total = total.and_then(|ps| u64::try_from(ps / u128::from(sessions::PS_OF_US)).ok());
    Ok(Edge {
        clock_us,
        server: Server {
            identity: identity.to_owned(),
            version: text_of(row, 2).unwrap_or_default().to_owned(),
            started_us,
        },
        // Counters are in memory, and begin with the server. Who empties them leaves no stamp: rows that are gone, or began anew, show it.
        reset_us: Some(started_us),
        are_stamps_derived: true,
        evictions: Evictions::Never,
        total: total.map(|us| Total { us, began_us: None }),
    })
}

/// The database and the digest of a row that begins with them.
pub(super) fn name_of(row: &[Option<String>]) -> (Item, (String, String)) {
    let [database, digest] = [0, 1].map(|at| text_of(row, at).unwrap_or_default().to_owned());
    (item_of(&database, &digest), (database, digest))
}

/// A row of the statement "texts of statements".
pub(super) fn query_text(row: &[Option<String>]) -> Option<QueryText> {
    let (database, digest) = (text_of(row, 0).unwrap_or_default(), text_of(row, 1)?);
    let item = item_of(database, digest);
    let database = Some(database).filter(|name| !name.is_empty()).map(foreign::masked);
    Some(QueryText { item, database, text: text_of(row, 2).map(without_values), object: None })
}

/// The text of the row without a digest.
pub(super) fn text_of_rest() -> QueryText {
    QueryText { item: item_of("", ""), database: None, text: Some(WITHOUT_ROOM.to_owned()), object: None }
}

/// A row of the statement "counters of statements".
pub(super) fn row_of(row: &[Option<String>]) -> Row {
    let item = item_of(text_of(row, 0).unwrap_or_default(), text_of(row, 1).unwrap_or_default());
    let values = [
        (Measure::Executions, number(row, 3)),
        (Measure::ElapsedUs, us(row, 4)),
        // A server whose count went below zero says so with a number that no table has.
        (Measure::Rows, number(row, 5).filter(|rows| i64::try_from(*rows).is_ok())),
        (Measure::Spills, number(row, 7)),
        (Measure::Errors, number(row, 8)),
    ];
    Row {
        id: RowId(item.0),
        item,
        plan: None,
        created_us: number(row, 2).and_then(|us| i64::try_from(us).ok()),
        values: Values::of(values.into_iter().filter_map(|(measure, value)| Some((measure, value?)))),
        longest_us: us(row, 9),
        is_nested: false,
    }
}

impl DigestSampler {
    pub(super) fn open(connector: &Arc<Connector>, identity: String) -> Result<Self> {
        let mut sampler = Self {
            connector: Arc::clone(connector),
            identity,
            connection: None,
            facts: Facts::default(),
            known: BTreeMap::new(),
            own: BTreeSet::new(),
            is_new: true,
            begun: BTreeMap::new(),
            listed: Listed::default(),
            counting: Counting::default(),
            prepared: Prepared::default(),
            sees_transactions: true,
        };
        // All questions are asked once: so the server knows all of ours by the time that they are looked for.
        sampler.facts = Facts::of(sampler.ask(text("statistics of statements")))?;
        sampler.counting.read(sampler.facts.leaves_out());
        sampler.edge()?;
        sampler.rows()?;
        sampler.texts(&[])?;
        sampler.sessions()?;
        sampler.holders()?;
        sampler.executed_prepared()?;
        for source in [Source::Waits, Source::Files] {
            match sampler.counted(source) {
                Err(error) if error.kind == ErrorKind::Lost => return Err(error),
                _ => {}
            }
        }
        // This question is one of them.
        sampler.find_own()?;
        sampler.is_new = true;
        Ok(sampler)
    }

    fn connected(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = self.connector.connect_within(NAME, PATIENCE)?;
            connection.link.set_timeout(Some(PATIENCE));
            // A server that ends idle sessions within a slot would be connected to anew each time.
            connection.set(text("settings of a session that reads"))?;
            connection.set(text("times in UTC"))?;
            self.connection = Some(connection);
            self.is_new = true;
        }
        let errors = &self.connector.errors;
        self.connection.as_mut().ok_or_else(|| errors.lost("it was given up"))
    }

    /// Asks, and gives the connection up if it was lost.
    fn ask(&mut self, sql: &str) -> Result<Rows> {
        let connection = self.connected()?;
        let answer = connection.ask(sql);
        if connection.link.alive().is_err() {
            self.connection = None;
        }
        answer
    }

    fn product(&mut self) -> Result<Product> {
        Ok(self.connected()?.server.product)
    }

    fn edge(&mut self) -> Result<Edge> {
        let sql = self.product()?.text("stamps of statements");
        let rows = self.ask(sql)?;
        let row = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        edge_of(row, &self.identity)
    }

    fn rows(&mut self) -> Result<Vec<Row>> {
        let rows = self.ask(text("counters of statements"))?;
        self.known = rows.iter().map(|row| name_of(row)).collect();
        self.listed = Listed { found: rows.len() as u64, is_full: rows.iter().any(|row| text_of(row, 1).is_none()) };
        Ok(rows.iter().map(|row| row_of(row)).collect())
    }

    /// Looks for statements of ours over a new connection.
    fn find_own(&mut self) -> Result<()> {
        if !self.is_new {
            return Ok(());
        }
        let rows = self.ask(text("own statements"))?;
        self.own.extend(rows.iter().map(|row| name_of(row).0));
        self.is_new = false;
        Ok(())
    }

    /// Sessions that wait for row locks, or hold a transaction open and run nothing; nothing where the user may not see them.
    fn transactions(&mut self) -> Result<Vec<(i64, bool)>> {
        let answer = match self.ask(text("open transactions")) {
            Err(error) if error.kind == ErrorKind::Lost => return Err(error),
            answer => answer,
        };
        // Another error than that of a missing right says nothing of the right.
        if !matches!(&answer, Err(error) if error.kind != ErrorKind::Permission) {
            self.sees_transactions = answer.is_ok();
        }
        let of = |row: &Vec<Option<String>>| Some((i64::try_from(number(row, 0)?).ok()?, number(row, 1)? == 1));
        Ok(answer.unwrap_or_default().iter().filter_map(of).collect())
    }

    /// What the server executed by the binary protocol, if it gives that no digest.
    fn executed_prepared(&mut self) -> Result<Option<Counted>> {
        if self.product()? != Product::MariaDb {
            return Ok(None);
        }
        let rows = self.ask(text("prepared statements of MariaDB"))?;
        let row = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        Ok(number(row, 0).zip(us(row, 1)).map(|(executions, us)| Counted::of(executions, us)))
    }

    /// Whether all statements were counted since the last reading.
    fn was_counting(&mut self) -> Result<bool> {
        let why = match Facts::of(self.ask(text("statistics of statements"))) {
            Ok(facts) => {
                self.facts = facts;
                facts.leaves_out()
            }
            Err(error) if error.kind == ErrorKind::ToolMissing => Some(error.to_string()),
            Err(error) => return Err(error),
        };
        Ok(self.counting.read(why))
    }

    /// Who waits for whom.
    fn holders(&mut self) -> Result<Vec<(i64, i64)>> {
        let sql = self.product()?.text("holders of locks");
        let rows = match self.ask(sql) {
            Err(error) if error.kind == ErrorKind::Lost => return Err(error),
            answer => answer.unwrap_or_default(),
        };
        let of = |row: &Vec<Option<String>>| {
            Some((i64::try_from(number(row, 0)?).ok()?, i64::try_from(number(row, 1)?).ok()?))
        };
        Ok(rows.iter().filter_map(of).collect())
    }
}

impl QuerySampler for DigestSampler {
    fn snapshot(&mut self) -> Result<Snapshot> {
        let mut start = self.edge()?;
        let rows = self.rows()?;
        let mut end = self.edge()?;
        if let Some(counted) = self.executed_prepared()? {
            self.prepared.read(counted.with(&rows, end.total));
        }
        let is_complete = self.was_counting()?;
        if !is_complete {
            // What is not counted by statement is not in the sum of all of them either.
            (start.total, end.total) = (None, None);
        }
        let own_us = self.connector.clock.now().as_nanos() / 1_000;
        self.find_own()?;
        let (source, total_of) = (Source::Queries, Measure::ElapsedUs);
        Ok(Snapshot { source, start, end, own_us: Some(own_us), is_complete, total_of, rows })
    }

    fn own(&self) -> Vec<Item> {
        self.own.iter().copied().collect()
    }

    fn unlisted(&self) -> Option<String> {
        self.prepared.sentence()
    }

    fn room(&self) -> Option<u64> {
        Some(self.facts.room).filter(|room| *room > 0)
    }

    fn warnings(&self) -> Vec<String> {
        let Facts { room, sees_current, .. } = self.facts;
        let mut warnings = Vec::from_iter(self.counting.warning());
        if !self.sees_transactions {
            let text = "row locks and idle transactions are not seen, so that a session at work may wait for a row lock: GRANT PROCESS ON *.* \
                        TO the user of the URL";
            warnings.push(text.to_owned());
        }
        if !sees_current {
            let text = "sessions are seen without the statements that they run: UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' \
                        WHERE NAME = 'events_statements_current'";
            warnings.push(text.to_owned());
        }
        if self.listed.is_full {
            warnings.push(format!(
                "the Performance Schema has room for {room} statements, and counts all others as one: a larger \
                 performance_schema_digests_size (it needs a restart) tells them apart"
            ));
        } else if room > 0 && self.listed.found.saturating_mul(100) >= room.saturating_mul(NEARLY_FULL_PERCENT) {
            warnings.push(format!(
                "the Performance Schema is nearly full with {} of {room} statements, and will count all others as one: raise \
                 performance_schema_digests_size (it needs a restart)",
                self.listed.found
            ));
        }
        warnings
    }

    fn texts(&mut self, items: &[Item]) -> Result<Vec<QueryText>> {
        let items = &items[..items.len().min(MOST_TEXTS)];
        let names: Vec<&(String, String)> = items.iter().filter_map(|item| self.known.get(item)).collect();
        let digests: Vec<&str> = names.iter().map(|(_, digest)| digest.as_str()).collect();
        let sql = fill("texts of statements", &[("most", &LONGEST_TEXT.to_string()), ("digests", &digests.join(","))]);
        let rows = self.ask(&sql)?;
        let rest = self.listed.is_full.then(text_of_rest);
        let found = rows.iter().filter_map(|row| query_text(row)).chain(rest);
        Ok(found.filter(|text| items.contains(&text.item)).collect())
    }

    /// Waits and files that the Performance Schema counts, as samplers of runs read them, and the log of MariaDB, which it does not count.
    fn counted(&mut self, source: Source) -> Result<Option<CountedViews>> {
        if !matches!(source, Source::Waits | Source::Files) {
            return Ok(None);
        }
        let product = self.product()?;
        let mut start = self.edge()?;
        let mut views = Views::default();
        if source == Source::Waits {
            let rows = self.ask(text("waits"))?;
            views.waits = rows.iter().filter_map(|row| wait_row(row, product)).collect();
        } else {
            let rows = self.ask(text("files by name"))?;
            views.files = rows.iter().filter_map(|row| file_row(row)).collect();
            if views.files.iter().all(|file| file.name != REDO_LOG) {
                let status = self.ask(product.text("status of the log"))?;
                views.files.extend(counters::log_rows(&counters::status_of(status)));
            }
        }
        let mut end = self.edge()?;
        // The sum of all statements' time says nothing of these.
        (start.total, end.total) = (None, None);
        let is_counted = !(views.waits.is_empty() && views.files.is_empty());
        Ok(is_counted.then_some(CountedViews { start, end, views }))
    }

    fn sessions(&mut self) -> Result<Option<SessionSample>> {
        let transactions = self.transactions()?;
        let open: Vec<String> =
            transactions.iter().filter(|(_, waits)| !waits).map(|(session, _)| session.to_string()).collect();
        let sql = fill("sessions at work", &[("most", &LONGEST_TEXT.to_string()), ("open", &open.join(","))]);
        let rows = self.ask(&sql)?;
        let first = rows.first().ok_or_else(|| fault("a question came back without an answer"))?;
        let at_us = number(first, 0).and_then(|us| i64::try_from(us).ok());
        let at_us = at_us.ok_or_else(|| fault("the clock of the server can't be read"))?;
        let connected = number(first, 1).unwrap_or(0);
        let began: BTreeMap<i64, Begun> = rows.iter().filter_map(|row| begun(row, at_us)).collect();
        let known = std::mem::take(&mut self.begun);
        let first_seen = began.into_iter().map(|(session, now)| {
            (session, known.get(&session).filter(|before| before.is_same(&now)).copied().unwrap_or(now))
        });
        self.begun = first_seen.collect();
        let seen = rows
            .iter()
            .filter_map(|row| session_of(row, self.sees_transactions.then_some(&transactions[..]), &self.begun));
        let mut sessions: Vec<SeenSession> = seen.collect();
        // What the table had no room for is counted in the row of all those.
        for one in sessions.iter_mut().filter(|_| self.listed.is_full) {
            if one.item.is_some_and(|item| !self.known.contains_key(&item)) {
                (one.item, one.text, one.database) = (Some(item_of("", "")), None, None);
            }
        }
        let waits = sessions.iter().any(|one| one.wait.as_ref().is_some_and(|wait| wait.class == WaitClass::Locks));
        if waits {
            for (waiting, holding) in self.holders()? {
                for one in sessions.iter_mut().filter(|one| one.number == waiting) {
                    one.blocked_by.push(holding);
                }
            }
        }
        Ok(Some(SessionSample { at_us, connected, limit: self.facts.session_limit, sessions }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
    }

    #[test]
    fn a_row_is_a_digest_in_a_database() {
        let texts = ["shop", "ab", "1700000000000000", "3", "1234567890", "12", "40", "2", "1", "900000000"];
        let read = row_of(&row(&texts));
        assert_eq!((read.created_us, read.longest_us, read.is_nested), (Some(1_700_000_000_000_000), Some(900), false));
        let value = |measure| read.values.get(measure);
        assert_eq!((value(Measure::Executions), value(Measure::ElapsedUs)), (Some(3), Some(1_234)));
        assert_eq!(
            (value(Measure::Rows), value(Measure::Spills), value(Measure::Errors)),
            (Some(12), Some(2), Some(1))
        );
        let mut elsewhere = texts;
        elsewhere[0] = "other";
        assert_ne!(row_of(&row(&elsewhere)).item, read.item);
        // What there was no room for is one row without a digest.
        let rest = row_of(&row(&["", "", "1700000000000000", "7", "9000000", "0", "0", "0", "0", "1"]));
        assert_eq!((rest.item, rest.values.get(Measure::Executions)), (item_of("", ""), Some(7)));
    }
}
