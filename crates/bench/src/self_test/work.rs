//! The operations of a self-test, in the order in which tests do them: a table is made, loaded, read, changed and looked at.

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Answer, ColumnType, Dialect, MOST_SAMPLED, Requester, Result, Row, Session, SingleRow, Statement, Table, Value,
};
use plimsoll_measurement::{Counter, Reading};

use super::operations::{Found, Operations};
use super::rows::{JOINED, ROWS, Rows, joined, row, scanned, table};

/// Rows of a chunk's source, and how often a chunk has them.
const SOURCE_ROWS: u32 = 20;
const TIMES: u64 = 3;

/// Keys of rows that are not there yet.
const NEW: u32 = ROWS + 1;

/// So few rows are all in a sample.
const _: () = assert!(ROWS < MOST_SAMPLED);

/// Does all of them with a table of this name, which stays. False if it could not be made or loaded.
pub(super) fn all(on: &mut Operations<'_, '_>, name: &str) -> bool {
    let table = table(name);
    let made = on.with_session("make a table", "a table with a column of every type", |session| {
        session.create_table(&table)?;
        Ok(Found::Fine)
    });
    if !made {
        on.break_off("the table could not be made");
    }
    let loaded = on.with_session("load rows", "rows by the engine's fast path", |session| {
        Ok(Found::equal(&session.load(&table, &mut Rows::new(1, ROWS))?, &Rows::new(1, ROWS).summary()?))
    });
    if made && !loaded {
        on.break_off("the rows could not be loaded");
    }
    reads(on, &table);
    writes(on, &table);
    requests(on, &table);
    looks(on, &table);
    made && loaded
}

/// Statements that read the whole table, and what makes it ready for them.
fn reads(on: &mut Operations<'_, '_>, table: &Table) {
    on.with_session("read all rows", "every value, as it was loaded", |session| {
        let (mut row_summary, sql) = (RowSummary::default(), session.dialect().read_all(table));
        session.query(&sql, &[], &table.types(), &mut |row| {
            row_summary.add(row);
            Ok(())
        })?;
        Ok(Found::equal(&row_summary, &Rows::new(1, ROWS).summary()?))
    });
    on.with_session("settle", "statistics and visibility after a load", |session| {
        session.settle_table(table)?;
        Ok(Found::Fine)
    });
    on.with_session("checkpoint", "dirty pages are written before a test", |session| {
        Ok(if session.checkpoint()? { Found::Fine } else { Found::Lacks("checkpoint") })
    });
    on.with_session("scan", "the predicate of read-scan", |session| counted(session, table, false));
    on.with_session("scan, weakest isolation", "the predicate of read-scan-weak", |session| {
        if let Some(weak) = session.dialect().weak_isolation() {
            session.execute(weak, &[])?;
        }
        counted(session, table, true)
    });
    let join = |session: &mut dyn Session, sql: &str| {
        Ok(Found::equal(&session.query_count(sql, &JOINED.map(Value::Int))?, &joined()))
    };
    on.with_session("join, one CPU", "the forced loop join of cpu-join", |session| {
        if let Some(alone) = session.dialect().without_parallelism() {
            session.execute(alone, &[])?;
        }
        let sql = session.dialect().join(&table.name);
        join(session, &sql)
    });
    on.with_session("join, all CPUs", "the same, spread by the engine", |session| {
        match session.dialect().join_in_parallel(&table.name) {
            Some(sql) => join(session, &sql),
            None => Ok(Found::NotHere("the engine is not made to")),
        }
    });
    on.with_session("look up keys", "the statement of memory", |session| {
        let sql = session.dialect().lookup_keys(table, 3);
        let keys = [Value::Int(3), Value::Int(ROWS as i32), Value::Int(NEW as i32)];
        Ok(Found::equal(&session.query_count(&sql, &keys)?, &2))
    });
    on.with_session("read a range", "the statement of indirect-select", |session| {
        let sql = session.dialect().read_range(table, "TinyInt1");
        let bounds = [Value::Int(1), Value::Int(ROWS as i32), Value::BigInt(0), Value::BigInt(100)];
        let expected = (1..=ROWS).filter(|id| id * 5 % 256 <= 100).count();
        Ok(Found::equal(&rows_of(session, &sql, &bounds, &table.types())?, &expected))
    });
    on.with_session("read rows in order", "the statement of verification", |session| {
        let sql = session.dialect().read_rows(table);
        Ok(Found::equal(&rows_of(session, &sql, &[Value::Int(11), Value::Int(30)], &table.types())?, &20))
    });
    on.with_session("sample columns", "values for custom workloads, of every type", |session| {
        sampled(session, table, |dialect, column| Some(dialect.sample_column(&table.name, column, 1)))
    });
    on.with_session("sample long columns", "the same, of types that need it", |session| {
        sampled(session, table, |dialect, column| dialect.sample_long_column(&table.name, column, 1))
    });
}

fn counted(session: &mut dyn Session, table: &Table, weak: bool) -> Result<Found> {
    let sql = session.dialect().scan(&table.name, weak);
    Ok(Found::equal(&session.query_count(&sql, &[])?, &scanned()))
}

fn rows_of(session: &mut dyn Session, sql: &str, values: &[Value<'_>], types: &[ColumnType]) -> Result<usize> {
    let mut rows = 0;
    session.query(sql, values, types, &mut |_| {
        rows += 1;
        Ok(())
    })?;
    Ok(rows)
}

/// Samples every column for which there is a statement: small as the table is, all of its values come.
fn sampled(
    session: &mut dyn Session,
    table: &Table,
    sql: impl Fn(&dyn Dialect, &str) -> Option<String>,
) -> Result<Found> {
    let text = ColumnType::Text(u16::MAX);
    let mut tried = 0;
    for column in &table.columns {
        let Some(sql) = sql(session.dialect(), &column.name) else { continue };
        let rows = rows_of(session, &sql, &[], &[text, text])?;
        if rows != ROWS as usize {
            return Ok(Found::Differs(format!("{rows} values of {} instead of {ROWS}", column.name)));
        }
        tried += 1;
    }
    Ok(if tried == 0 { Found::NotHere("there are no such types") } else { Found::Fine })
}

/// A chunk, and transactions.
fn writes(on: &mut Operations<'_, '_>, of: &Table) {
    on.with_session("copy a chunk", "the statement of write-chunk", |session| {
        let dialect = session.dialect();
        let (source, target) = (of.named(dialect.source_table("source")), of.named("copied"));
        for table in [&source, &target] {
            session.create_table(table)?;
        }
        session.load(&source, &mut Rows::new(1, SOURCE_ROWS))?;
        let written = session.execute(&dialect.copy_chunk(&target, &source.name, SOURCE_ROWS.into(), TIMES, 1), &[])?;
        let there = session.query_count(&format!("SELECT count(*) FROM {}", target.name), &[])?;
        let found = Found::equal(&[written, there], &[u64::from(SOURCE_ROWS) * TIMES; 2]);
        session.drop_table(&target)?;
        session.execute(&format!("DROP TABLE {}", source.name), &[])?;
        Ok(found)
    });
    on.with_session("transactions", "a row that is deleted and comes back", |session| {
        let dialect = session.dialect();
        session.execute(dialect.begin(true), &[])?;
        let deleted = session.execute(&dialect.delete_row(of), &[Value::Int(1)])?;
        session.execute("ROLLBACK", &[])?;
        let there = session.query_count(&format!("SELECT count(*) FROM {}", of.name), &[])?;
        Ok(Found::equal(&(deleted, there), &(1, ROWS.into())))
    });
    on.with_session("prepare only", "a statement is checked without being run", |session| {
        session.check(&session.dialect().read_row(of))?;
        Ok(if session.check("SELECT no_such_column FROM no_such_table").is_ok() {
            Found::Differs("a statement on a table that is not there was accepted".to_owned())
        } else {
            Found::Fine
        })
    });
}

/// Requests for single rows, as texts and by procedures, and a load as a request.
fn requests(on: &mut Operations<'_, '_>, table: &Table) {
    let mut dialect = None;
    let by_text = "requests for single rows, as texts";
    on.with_session("single rows by a session", by_text, |session| {
        let known = session.dialect();
        dialect = Some(known);
        single_rows(table, |request, values| {
            let (sql, mut rows) = (known.single_row(request, table), 0);
            if request != SingleRow::Read {
                return session.execute(&sql, values);
            }
            session.query(&sql, values, &table.types(), &mut |_| {
                rows += 1;
                Ok(())
            })?;
            Ok(rows)
        })
    });
    let Some(dialect) = dialect else { return };
    let ask = |requester: &mut dyn Requester, number: u32, sql: String, request: SingleRow, values: &[Value<'_>]| {
        let columns = Some(if request == SingleRow::Read { table.types() } else { Vec::new() });
        let answer = requester.ask(&Statement { number: number + request as u32, sql, columns }, values)?;
        Ok(answer.rows)
    };
    on.with_requester("single rows by requests", by_text, |requester| {
        single_rows(table, |request, values| ask(requester, 0, dialect.single_row(request, table), request, values))
    });
    let mut has_procedures = false;
    on.with_session("make procedures", "procedures for requests for single rows", |session| {
        if dialect.call(SingleRow::Read, table).is_none() {
            return Ok(Found::NotHere("tests use none here"));
        }
        has_procedures = session.make_procedures(table)?;
        Ok(if has_procedures { Found::Fine } else { Found::Lacks("stored procedures") })
    });
    if has_procedures {
        on.with_requester("single rows by procedures", "the same, by procedures", |requester| {
            single_rows(table, |request, values| {
                let sql = dialect.call(request, table).unwrap_or_default();
                ask(requester, 10, sql, request, values)
            })
        });
    }
    on.with_requester("load as a request", "the request of bulk-load", |requester| {
        let loaded = requester.load_batch(table, &mut Rows::new(NEW, NEW + 9))?;
        let delete = Statement { number: 20, sql: dialect.delete_row(table), columns: Some(Vec::new()) };
        let mut deleted = Answer::default();
        for id in NEW..NEW + 10 {
            deleted.rows += requester.ask(&delete, &[Value::Int(id as i32)])?.rows;
        }
        Ok(Found::equal(&(loaded, deleted.rows), &(Rows::new(NEW, NEW + 9).summary()?, 10)))
    });
}

/// A row comes, is read, changed and goes; `ask` makes a request and says how many rows it came to.
fn single_rows(table: &Table, mut ask: impl FnMut(SingleRow, &[Value<'_>]) -> Result<u64>) -> Result<Found> {
    let (new, other): (Row, Row) = (row(NEW), row(NEW + 1));
    let values: Vec<Value<'_>> = new.values().collect();
    // The key comes last.
    let mut changed: Vec<Value<'_>> = other.values().skip(1).collect();
    changed.push(values[0]);
    debug_assert_eq!(changed.len(), table.columns.len());
    let seen = [
        ask(SingleRow::Read, &values[..1])?,
        ask(SingleRow::Insert, &values)?,
        ask(SingleRow::Read, &values[..1])?,
        ask(SingleRow::Update, &changed)?,
        ask(SingleRow::Delete, &values[..1])?,
        ask(SingleRow::Delete, &values[..1])?,
    ];
    Ok(Found::equal(&seen, &[0, 1, 1, 1, 1, 0]))
}

/// What is to be seen of a table, of a session and of the server.
fn looks(on: &mut Operations<'_, '_>, table: &Table) {
    on.with_session("size of a table", "pages behind a scan", |session| {
        let content = Rows::new(1, ROWS).summary()?.content_bytes;
        let Some(bytes) = session.table_size(table)?.map(|size| size.table_bytes) else {
            return Ok(Found::NotHere("not to be seen"));
        };
        Ok(if bytes < content {
            Found::Differs(format!("{bytes} bytes of pages hold {content} bytes of content"))
        } else {
            Found::Fine
        })
    });
    on.with_session("cache misses of a table", "the proof of a cold start", |session| {
        let misses = session.table_misses(table)?;
        Ok(misses.map_or(Found::NotHere("not counted by table, or not to be seen"), |_| Found::Fine))
    });
    on.with_session("plan of a statement", "how the engine ran it", |session| {
        let sql = session.dialect().scan(&table.name, false);
        Ok(session.plan(&sql)?.map_or(Found::NotHere("not told, or not to be seen"), |plan| Found::Said(plan.shape)))
    });
    on.with_session("counters of a session", "what a test's session did", |session| {
        let mut readings = session.sample()?;
        readings.extend(session.sample_memory()?);
        Ok(names(&readings))
    });
    on.with_session("files and waits of a session", "what its time went into", |session| {
        let views = session.views()?;
        Ok(Found::Said(format!("{} files, {} waits", views.files.len(), views.waits.len())))
    });
    let database = on.course.database;
    on.at_database("counters of the server", "what samples are made of", || {
        let Some(mut sampler) = database.server_sampler()? else {
            return Ok(Found::NotHere("nothing is to be seen"));
        };
        // The first reading of some is only the beginning.
        sampler.sample()?;
        Ok(names(&sampler.sample()?))
    });
}

/// The counters that are there.
fn names(readings: &[Reading]) -> Found {
    let names: Vec<&str> = readings.iter().map(|reading| Counter::name(reading.metric)).collect();
    if names.is_empty() { Found::NotHere("none is to be seen") } else { Found::Said(names.join(", ")) }
}
