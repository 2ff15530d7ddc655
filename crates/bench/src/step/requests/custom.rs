//! What requests of a definition's own need around them: set-up, a look at every statement, samples of columns, clean-up.

use plimsoll_engine::{ColumnType, Database, Error, ErrorKind, Part, RequestAccess, Result, Session, Value, Workspace};
use plimsoll_load::keys::below;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::interrupt::Interrupt;
use crate::parameters::Parameters;
use crate::step::context::{Keep, Target};
use crate::step::kind::contradiction;
use crate::workload::custom::makes::{self, makes};
use crate::workload::custom::{CustomWorkload, Draw, Literal, Ready, Request, ready, text};

/// Values that are kept of a column.
const SAMPLE: usize = 10_000;
/// Most bytes of such a sample, which is kept several times.
const MOST_KEPT_BYTES: usize = 16 << 20;

/// Requests of a definition's own, from the set-up to the clean-up.
pub(super) struct Prepared {
    own: CustomWorkload,
    /// The workload, and the same with sequences of its own for requests without a server.
    ready: Option<[Ready; 2]>,
}

impl Prepared {
    /// Nothing has been done at the target.
    pub(super) fn new(own: &CustomWorkload) -> Self {
        Self { own: own.clone(), ready: None }
    }

    /// What its sessions may reach.
    pub(super) fn access(&self) -> RequestAccess {
        RequestAccess { existing: self.own.existing, writes: self.own.writes }
    }

    /// The workload, and the same for requests without a server.
    pub(super) fn ready(&self) -> Result<&[Ready; 2]> {
        self.ready.as_ref().ok_or_else(|| contradiction("requests were made before they were prepared"))
    }

    /// Sets up, and tries every statement: what is wrong with one is known before anything is measured.
    pub(super) fn prepare(&mut self, target: &Target<'_>, parameters: &Parameters, keep: &mut Keep<'_>) -> Result<()> {
        let description = target.database.description();
        let seed = parameters.count("seed");
        let (mut session, _watched) = target.session_with(target.workspace, self.access())?;
        let session = session.as_mut();
        let script = ready::script(&self.own, &self.own.setup, description).map_err(unusable)?;
        let of_request = |request: &Request| {
            let texts = request.statements.iter();
            let texts = texts.filter_map(|asked| asked.text.for_engine(&description.engine, description.relative));
            let all = |sql: &str| -> Vec<String> {
                let copies = if sql.contains("{n}") && !makes(sql).is_empty() { request.copies } else { 1 };
                (1..=copies).map(|copy| text::filled(sql, copy, &self.own.variables)).collect()
            };
            texts.flat_map(all).collect::<Vec<_>>()
        };
        let asked = self.own.requests.iter().flat_map(of_request);
        let made: Vec<Part> = script.iter().cloned().chain(asked).flat_map(|sql| makes(&sql)).collect();
        target.database.expects(target.workspace, &made)?;
        for sql in &script {
            target.interrupt.check()?;
            keep.log.activity(&format!("setting up: {}", first_words(sql)));
            session.execute(sql, &[]).map_err(|error| of(error, "the set-up", sql))?;
            if sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create")) {
                session.adopt_tables()?;
            }
        }
        if script.iter().any(|sql| text::may_begin_a_transaction(sql)) {
            // What a transaction did that nobody ended would go with this session. Where all have ended this is an error or nothing.
            session.execute("COMMIT", &[]).or_else(|error| match error.kind {
                ErrorKind::Statement => Ok(0),
                _ => Err(of(error, "the set-up", "COMMIT")),
            })?;
        }
        let draws = self.own.requests.iter().flat_map(|request| &request.parameters);
        let mut samples = Vec::new();
        for draw in draws {
            if let (_, Draw::Column { table, column }) = draw {
                keep.log.activity(&format!("reading a sample of {table}.{column}"));
                samples.push(((table.clone(), column.clone()), sample(session, table, column, seed)?));
            }
        }
        let known = |table: &str, column: &str| {
            let found = samples.iter().find(|((of, name), _)| of == table && name == column);
            Ok(found.map(|(_, values)| values.clone()).unwrap_or_default())
        };
        let dialect = session.dialect();
        let new = || Ready::new(&self.own, description, dialect, seed, known).map_err(unusable);
        let ready = self.ready.insert([new()?, new()?]);
        let made: Vec<Part> = ready[0].statements().flat_map(|(_, statement)| makes(&statement.sql)).collect();
        for (request, statement) in ready[0].statements() {
            let checked = session.check(&statement.sql);
            // What a request makes itself is not there yet, which a server tells.
            if checked.as_ref().is_err_and(|error| error.kind == ErrorKind::Statement)
                && makes::names(&statement.sql, &made)
            {
                continue;
            }
            checked.map_err(|error| of(error, &format!("request '{request}'"), &statement.sql))?;
        }
        Ok(())
    }

    /// Cleans up on a session of its own: the others may be gone or cancelled. After an interrupt it ends with the time that is left.
    pub(super) fn clean_up(self, database: &dyn Database, workspace: &Workspace, interrupt: &Interrupt) -> Result<()> {
        if self.own.cleanup.is_empty() {
            return Ok(());
        }
        let script = ready::script(&self.own, &self.own.cleanup, database.description()).map_err(unusable)?;
        let mut session = database.session_with(workspace, workspace, self.access())?;
        let _watched = interrupt.watch(session.canceller());
        script
            .iter()
            .try_for_each(|sql| session.execute(sql, &[]).map(drop).map_err(|error| of(error, "the clean-up", sql)))
    }
}

/// Some values of a column, all alike: those that a reservoir holds in the end (Vitter's algorithm R).
fn sample(session: &mut dyn Session, table: &str, column: &str, seed: u64) -> Result<Vec<Literal>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut seen, mut kept, mut lengths, mut kept_bytes) = (0_u64, Vec::new(), Vec::new(), 0);
    let text = ColumnType::Text(u16::MAX);
    let (dialect, mut sql) = (session.dialect(), session.dialect().sample_column(table, column, seed));
    if let Some(other) = dialect.sample_long_column(table, column, seed)
        && session.check(&sql).is_err()
    {
        sql = other;
    }
    let read = session.query(&sql, &[], &[text, text], &mut |row| {
        if let Value::Text(kind) = row.get(1)
            && BINARY.contains(&kind)
        {
            return Err(unusable(format!("values of type {kind} can't be parameters")));
        }
        seen += 1;
        let at = below(&mut random, seen) as usize;
        let at = if kept.len() < SAMPLE { kept.len() } else { at };
        if at < SAMPLE
            && let (Value::Text(value), Value::Text(kind)) = (row.get(0), row.get(1))
        {
            let bytes = value.len();
            let value = literal(value, kind);
            if at < kept.len() {
                kept[at] = value;
                kept_bytes -= std::mem::replace(&mut lengths[at], bytes);
            } else {
                kept.push(value);
                lengths.push(bytes);
            }
            kept_bytes += bytes;
            if kept_bytes > MOST_KEPT_BYTES {
                let sample = "values of a sample have more than";
                return Err(unusable(format!(
                    "its values are too long to be drawn: {} {sample} {MOST_KEPT_BYTES} bytes",
                    kept.len()
                )));
            }
        }
        Ok(())
    });
    read.map_err(|error| of(error, "the sample of a column", &format!("{table}.{column}")))?;
    Ok(kept)
}

/// Types whose values are no texts.
const BINARY: [&str; 3] = ["binary", "varbinary", "image"];

/// A value by the engine's name of its type; what is no number goes back as a text.
fn literal(value: &str, kind: &str) -> Literal {
    let number = match kind {
        "integer" | "bigint" | "smallint" | "int" | "tinyint" => value.parse().ok().map(Literal::Integer),
        "real" | "double precision" | "float" => value.parse().ok().map(Literal::Float),
        "boolean" => Some(Literal::Bit(value == "true")),
        _ => None,
    };
    number.unwrap_or_else(|| Literal::Text(value.to_owned()))
}

fn unusable(problem: String) -> Error {
    Error::new(ErrorKind::Usage, problem).hint("'plimsoll tests keys' lists what a definition may say")
}

/// An error with the place in the definition that it comes from.
fn of(error: Error, workspace: &str, sql: &str) -> Error {
    let message = format!("{workspace}: {} (in: {})", error.message, first_words(sql));
    let hint = match error.kind {
        // The engine's own hint is about workspaces, and this one is there.
        ErrorKind::Permission => {
            "the user of the URL may not do what the definition's own statement asks for".to_owned()
        }
        _ => error.hint.unwrap_or_else(|| "correct the statement in the definition, or what it asks for".to_owned()),
    };
    Error { message, hint: Some(hint), ..error }
}

/// The beginning of a text, on one line.
fn first_words(sql: &str) -> String {
    const LENGTH: usize = 60;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_engine_are_known_by_the_names_of_their_types() {
        for kind in ["integer", "bigint", "smallint", "int", "tinyint"] {
            assert!(matches!(literal("-7", kind), Literal::Integer(-7)), "{kind}");
        }
        for kind in ["real", "double precision", "float"] {
            assert!(
                matches!(literal("1.5e-7", kind), Literal::Float(number) if number.to_bits() == 1.5e-7_f64.to_bits()),
                "{kind}"
            );
        }
        assert!(matches!(literal("true", "boolean"), Literal::Bit(true)));
        for (value, kind) in [("12.3400", "money"), ("x", "int"), ("2020-01-31T00:00:00", "datetime2"), ("1", "bit")] {
            assert!(matches!(literal(value, kind), Literal::Text(text) if text == value), "{kind}");
        }
    }
}
