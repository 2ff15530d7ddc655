//! A connection by Microsoft's driver, made to block: it lives in one thread at a time and has a runtime of its own.

use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mssql_tds::connection::bulk_copy::BulkCopy;
use mssql_tds::connection::tds_client::{
    BufferedRowPoll, ExecuteOptions, PreparedStatement, StatementResult, TdsClient,
};
use mssql_tds::connection_provider::tds_connection_provider::TdsConnectionProvider;
use mssql_tds::core::{CancelHandle, TdsResult};
use mssql_tds::error::Error as DriverError;
use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_engine::{Answer, Cancel, ColumnType, Error, ErrorKind, Row, RowSource, RowSummary, Shape, Value};
use plimsoll_measurement::Moment;
use tokio::runtime::{Builder, Runtime};

use super::bulk::{Form, Progress, Rows, Stop};
use super::cancel::{Abandoned, Canceller, SETTLE_SECONDS};
use super::fault::fault;
use super::guard::{TOO_MUCH, UNREADABLE, contained, guarded};
use super::login::{Endpoint, Login};
use super::sink::{IntoCount, IntoRow, Sink};
use super::{EachRow, Fault, Loading, Outcome, SEVERED, Wire, route, shape, values};
use crate::dialect::CALL;

/// Rows after which it is looked whether the time of a statement is over.
const ROWS_BETWEEN_LOOKS: u64 = 256;

pub(crate) struct Client {
    // Goes before the runtime that has its socket.
    driver: TdsClient,
    runtime: Runtime,
    statements: Statements,
    canceller: Arc<Canceller>,
    /// Seconds that a statement may take, as the target says; 0 for ever.
    command_timeout_s: u32,
    /// Seconds that what is asked now may take, if that is less.
    hurry_s: Option<u32>,
    clock: RealClock,
    /// Set when the driver has panicked.
    is_broken: bool,
    sent_on: Option<String>,
}

/// A statement for parameters of certain types.
struct Prepared {
    signature: Box<[u8]>,
    statement: PreparedStatement,
}

#[derive(Default)]
struct Statements {
    numbers: HashMap<String, usize>,
    forms: Vec<Vec<Prepared>>,
}

impl Statements {
    /// The prepared form of a statement for values of these types; at its first use it is prepared.
    fn find(&mut self, sql: &str, parameters: &[Value<'_>]) -> &mut PreparedStatement {
        let number = self.numbers.get(sql).copied().unwrap_or_else(|| {
            self.numbers.insert(sql.to_owned(), self.forms.len());
            self.forms.push(Vec::new());
            self.forms.len() - 1
        });
        let forms = &mut self.forms[number];
        let signature = || parameters.iter().map(values::signature);
        let found = forms.iter().position(|form| form.signature.iter().copied().eq(signature()));
        let index = found.unwrap_or_else(|| {
            forms.push(Prepared { signature: signature().collect(), statement: PreparedStatement::new(sql) });
            forms.len() - 1
        });
        &mut forms[index].statement
    }

    /// The procedure that a text does nothing but call, with all its parameters in their order: it is called by its name, which
    /// saves the server a statement.
    fn procedure<'a>(sql: &'a str, parameters: &[Value<'_>]) -> Option<&'a str> {
        let (name, rest) = sql.strip_prefix(CALL)?.split_once(' ')?;
        let mut placeholders = rest.split(", ");
        let in_order = (1..=parameters.len()).all(|number| {
            let placeholder = placeholders.next().and_then(|placeholder| placeholder.strip_prefix("@P"));
            placeholder.is_some_and(|placeholder| placeholder.parse() == Ok(number))
        });
        (in_order && placeholders.next().is_none()).then_some(name)
    }

    /// Takes out all forms of a statement.
    fn take(&mut self, sql: &str) -> Vec<Prepared> {
        self.numbers.get(sql).map(|number| std::mem::take(&mut self.forms[*number])).unwrap_or_default()
    }
}

impl Client {
    /// Connects and logs in under a name that the server shows.
    pub(crate) fn connect(endpoint: &Endpoint, login: &Login, application: &str) -> Outcome<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Fault::Driver(format!("no runtime could be started: {error}")))?;
        let provider = TdsConnectionProvider::new();
        let server = endpoint.data_source();
        let connecting = guarded(provider.create_client(login.context(application), &server, None));
        let (connected, sent_on) = route::followed(|| contained(|| runtime.block_on(connecting)));
        let unreadable = || Err(DriverError::ConnectionClosed(UNREADABLE.to_owned()));
        match connected.unwrap_or_else(unreadable) {
            Ok(driver) => Ok(Self {
                driver,
                runtime,
                statements: Statements::default(),
                canceller: Arc::default(),
                command_timeout_s: login.command_timeout_s,
                hurry_s: None,
                is_broken: false,
                clock: RealClock::new(),
                sent_on,
            }),
            Err(error) => {
                // A thread of the runtime may still wait for a name; nobody waits for that thread.
                runtime.shutdown_background();
                let fault = fault(error);
                Err(match sent_on {
                    Some(to) => Fault::SentOn { to, fault: Box::new(fault) },
                    None => fault,
                })
            }
        }
    }

    /// Gives statements another time than the log-in said.
    #[cfg(test)]
    pub(super) fn command_timeout_for_tests(&mut self, seconds: u32) {
        self.command_timeout_s = seconds;
    }

    /// Does something that can be cancelled, and says what became of it.
    fn cancellable<T>(&mut self, work: impl FnOnce(&mut Self, &CancelHandle) -> Outcome<T>) -> Outcome<T> {
        if self.canceller.is_severed() {
            return Err(self.abandoned(Abandoned::Severed));
        }
        let handle = self.canceller.begin();
        let outcome = work(self, &handle);
        let was_cancelled = self.canceller.end();
        match outcome {
            Err(_) if self.canceller.is_severed() => Err(self.abandoned(Abandoned::Severed)),
            // A cancelled statement may end in many ways, such as a connection that is given up.
            Err(Fault::Closed(_) | Fault::Driver(_) | Fault::TimedOut) if was_cancelled => Err(Fault::Cancelled),
            outcome => outcome,
        }
    }

    /// Closes the connection, however it stands. The server sees that and undoes what was not committed.
    fn give_up(&mut self) {
        if self.is_dead() {
            return;
        }
        let patience = Duration::from_secs(1);
        // Under TLS a farewell is sent, for which there may be no room.
        let closing = async { tokio::time::timeout(patience, self.driver.close_connection()).await };
        let _ = contained(|| self.runtime.block_on(closing));
    }

    /// What a line that was not waited for any longer comes to; nothing can be asked on it again.
    fn abandoned(&mut self, why: Abandoned) -> Fault {
        self.give_up();
        match why {
            Abandoned::Severed => Fault::Closed(SEVERED.to_owned()),
            Abandoned::Cancelled => Fault::Cancelled,
            Abandoned::TimedOut => Fault::TimedOut,
            Abandoned::TooMuch => Fault::Closed(TOO_MUCH.to_owned()),
            Abandoned::Unreadable => {
                self.is_broken = true;
                Fault::Closed(UNREADABLE.to_owned())
            }
        }
    }

    /// Seconds that a statement may take now; 0 for ever.
    fn timeout_s(&self) -> u32 {
        match (self.hurry_s, self.command_timeout_s) {
            (Some(hurry), 0) => hurry,
            (Some(hurry), seconds) => hurry.min(seconds),
            (None, seconds) => seconds,
        }
    }

    /// Seconds that are left of the time of a statement that began then; 0 for ever.
    fn left_s(&self, began: Moment) -> Outcome<u32> {
        match self.timeout_s() {
            0 => Ok(0),
            seconds => {
                let left = Duration::from_secs(seconds.into()).saturating_sub(self.clock.now().since(began));
                if left.is_zero() { Err(Fault::TimedOut) } else { Ok(left.as_secs() as u32 + 1) }
            }
        }
    }

    fn start(&mut self, sql: &str, parameters: &[Value<'_>], handle: &CancelHandle) -> Outcome<StatementResult> {
        let timeout_s = self.timeout_s();
        let Self { driver, runtime, statements, canceller, .. } = self;
        let options = ExecuteOptions::new().timeout_secs(timeout_s).cancel(handle);
        let starting = execute(driver, statements, sql, parameters, options);
        let started = run(runtime, canceller.patiently(timeout_s, starting));
        self.waited(started)
    }

    /// What became of something that was waited for.
    fn waited<T>(&mut self, outcome: Result<TdsResult<T>, Abandoned>) -> Outcome<T> {
        match outcome {
            Ok(done) => done.map_err(fault),
            Err(why) => Err(self.abandoned(why)),
        }
    }

    /// A statement that failed is prepared anew: its table may have been made again with other columns.
    fn forget(&mut self, sql: &str) {
        for prepared in self.statements.take(sql) {
            let mut statement = prepared.statement;
            if let Some(id) = statement.take_id()
                && !self.is_dead()
            {
                // What the server keeps of it goes with the connection at the latest.
                let options = ExecuteOptions::new().timeout_secs(SETTLE_SECONDS);
                let forgetting = self.driver.unprepare(id, options);
                let _ = contained(|| self.runtime.block_on(forgetting));
            }
        }
    }

    fn rows(&mut self, row: &mut Row, columns: &[ColumnType], each: EachRow<'_>, began: Moment) -> Outcome<()> {
        for number in 1_u64.. {
            // A server that never stops never lets us wait.
            if number.is_multiple_of(ROWS_BETWEEN_LOOKS) {
                self.left_s(began)?;
            }
            row.clear();
            let mut sink = Sink(IntoRow { columns, row, fault: None });
            // Rows that have arrived need no runtime.
            let buffered = contained(|| self.driver.try_next_buffered_row_into(&mut sink));
            let Some(buffered) = buffered else { return Err(self.abandoned(Abandoned::Unreadable)) };
            let there = match buffered.map_err(fault)? {
                BufferedRowPoll::Complete => true,
                BufferedRowPoll::Exhausted => false,
                BufferedRowPoll::Partial => {
                    let left_s = self.left_s(began)?;
                    let finishing = self.canceller.patiently(left_s, self.driver.finish_row_into(&mut sink));
                    let finished = run(&self.runtime, finishing);
                    self.waited(finished)?;
                    true
                }
                BufferedRowPoll::Pending => {
                    let left_s = self.left_s(began)?;
                    let waiting = self.canceller.patiently(left_s, self.driver.next_row_into(&mut sink));
                    let next = run(&self.runtime, waiting);
                    self.waited(next)?
                }
            };
            if !there {
                break;
            }
            if let Some(fault) = sink.0.fault.take() {
                return Err(Fault::Driver(fault));
            }
            if row.len() < columns.len() {
                return Err(Fault::Driver("a query returned fewer columns than were asked for".to_owned()));
            }
            each(row).map_err(Fault::Ours)?;
        }
        Ok(())
    }

    /// Goes through all results of a statement.
    fn stream(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        columns: &[ColumnType],
        each: EachRow<'_>,
        handle: &CancelHandle,
    ) -> Outcome<u64> {
        let began = self.clock.now();
        let mut result = self.start(sql, parameters, handle)?;
        let (mut changed, mut row) = (0, Row::default());
        loop {
            match result {
                StatementResult::Rows => self.rows(&mut row, columns, each, began)?,
                StatementResult::NoRows { rows_affected } => changed += rows_affected.unwrap_or(0),
                StatementResult::End => break,
            }
            let left_s = self.left_s(began)?;
            let advanced = run(&self.runtime, self.canceller.patiently(left_s, self.driver.advance()));
            result = self.waited(advanced)?;
        }
        let closed = run(&self.runtime, self.canceller.patiently(0, self.driver.close_query()));
        self.waited(closed)?;
        Ok(changed)
    }

    /// Counts what a statement returns, in one go.
    fn count(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        columns: Option<&[ColumnType]>,
        handle: &CancelHandle,
    ) -> Outcome<Answer> {
        let options = ExecuteOptions::new().timeout_secs(self.command_timeout_s).cancel(handle);
        let mut sink = Sink(IntoCount { columns, content_bytes: 0 });
        let (mut rows, mut changed, mut returned) = (0, 0, false);
        let Self { driver: client, runtime, statements, canceller, .. } = self;
        let counting = async {
            let mut result = guarded(execute(client, statements, sql, parameters, options)).await?;
            loop {
                match result {
                    StatementResult::Rows => {
                        returned = true;
                        // What has arrived is read without waiting, which costs less.
                        loop {
                            let there = match client.try_next_buffered_row_into(&mut sink)? {
                                BufferedRowPoll::Complete => true,
                                BufferedRowPoll::Exhausted => false,
                                BufferedRowPoll::Partial => {
                                    guarded(client.finish_row_into(&mut sink)).await?;
                                    true
                                }
                                BufferedRowPoll::Pending => guarded(client.next_row_into(&mut sink)).await?,
                            };
                            if !there {
                                break;
                            }
                            rows += 1;
                        }
                    }
                    StatementResult::NoRows { rows_affected } => changed += rows_affected.unwrap_or(0),
                    StatementResult::End => break,
                }
                result = guarded(client.advance()).await?;
            }
            client.close_query().await
        };
        // Each wait is guarded by itself: all of it may take hours, in which we grow for other reasons.
        let counted = run(runtime, canceller.patiently_unguarded(0, counting));
        self.waited(counted)?;
        let returned = columns.map_or(returned, |columns| !columns.is_empty());
        // A text of several statements may change rows and return others.
        Ok(if returned {
            Answer { rows: rows + changed, content_bytes: sink.0.content_bytes }
        } else {
            Answer { rows: changed, content_bytes: 0 }
        })
    }

    /// Runs a statement that can be cancelled. After a fault the line is brought to rest, where what is still to come is cancelled, and
    /// the statement is forgotten.
    fn settled<T>(&mut self, sql: &str, work: impl FnOnce(&mut Self, &CancelHandle) -> Outcome<T>) -> Outcome<T> {
        let outcome = self.cancellable(work);
        if outcome.is_ok() {
            return outcome;
        }
        if !self.is_dead() && self.driver.has_open_batch() {
            // If that fails the connection is given up, which is seen by asking whether it is dead.
            let settling = self.canceller.patiently(SETTLE_SECONDS, self.driver.cancel_query(SETTLE_SECONDS));
            if run(&self.runtime, settling).is_err() {
                self.give_up();
            }
        }
        self.forget(sql);
        outcome
    }
}

impl Wire for Client {
    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        columns: &[ColumnType],
        each: EachRow<'_>,
    ) -> Outcome<u64> {
        self.settled(sql, |client, handle| client.stream(sql, parameters, columns, each, handle))
    }

    fn ask(&mut self, sql: &str, parameters: &[Value<'_>], columns: Option<&[ColumnType]>) -> Outcome<Answer> {
        self.settled(sql, |client, handle| client.count(sql, parameters, columns, handle))
    }

    fn shape(&mut self, sql: &str, parameters: &[Value<'_>]) -> Outcome<Shape> {
        self.settled(sql, |client, handle| {
            let started = client.start(sql, parameters, handle)?;
            let read = run(&client.runtime, client.canceller.patiently(0, shape::read(&mut client.driver, started)));
            client.waited(read)
        })
    }

    fn load(&mut self, table: &str, loading: Loading, source: &mut dyn RowSource) -> Outcome<RowSummary> {
        self.cancellable(|client, _| {
            let Self { driver, runtime, canceller, command_timeout_s, .. } = client;
            match load(driver, runtime, (canceller, *command_timeout_s), table, loading, source) {
                Ok(outcome) => outcome,
                Err(why) => Err(client.abandoned(why)),
            }
        })
    }

    fn hurry(&mut self, seconds: Option<u32>) {
        self.hurry_s = seconds;
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::clone(&self.canceller) as Arc<dyn Cancel>
    }

    fn is_dead(&self) -> bool {
        self.is_broken || self.driver.is_connection_dead()
    }

    fn sent_on(&self) -> Option<&str> {
        self.sent_on.as_deref()
    }
}

/// Waits for something of the driver's.
fn run<T>(runtime: &Runtime, work: impl Future<Output = Result<T, Abandoned>>) -> Result<T, Abandoned> {
    contained(|| runtime.block_on(work)).unwrap_or(Err(Abandoned::Unreadable))
}

/// Begins a statement: as a text, as a call of a procedure by its name, or prepared.
async fn execute(
    driver: &mut TdsClient,
    statements: &mut Statements,
    sql: &str,
    parameters: &[Value<'_>],
    options: ExecuteOptions<'_>,
) -> TdsResult<StatementResult> {
    if parameters.is_empty() {
        driver.execute(sql.to_owned(), options).await
    } else if let Some(name) = Statements::procedure(sql, parameters) {
        let values = parameters.iter().map(values::unnamed).collect();
        driver.execute_stored_procedure(name.to_owned(), Some(values), None, options).await
    } else {
        let values = parameters.iter().zip(1..).map(|(value, number)| values::parameter(number, value)).collect();
        driver.execute_prepared(statements.find(sql, parameters), values, &mut None, options).await
    }
}

/// Loads rows. A cancellation takes effect between two of them, and where the server takes none any more.
fn load(
    driver: &mut TdsClient,
    runtime: &Runtime,
    (canceller, timeout_s): (&Canceller, u32),
    table: &str,
    loading: Loading,
    source: &mut dyn RowSource,
) -> Result<Outcome<RowSummary>, Abandoned> {
    let mut copy = BulkCopy::new(driver, table)
        .timeout(Duration::from_secs(timeout_s.into()))
        .table_lock(loading.table_lock)
        .batch_size(loading.batch_rows as usize)
        .keep_nulls(true);
    let columns = match run(runtime, canceller.patiently(timeout_s, copy.retrieve_destination_metadata()))? {
        Ok(columns) => columns,
        Err(error) => return Ok(Err(fault(error))),
    };
    let form = |column| {
        Form::of(column)
            .ok_or_else(|| Fault::Driver(format!("the column {} has a type that can't be loaded", column.column_name)))
    };
    let forms = match columns.iter().map(form).collect::<Outcome<Vec<_>>>() {
        Ok(forms) => forms,
        Err(fault) => return Ok(Err(fault)),
    };
    let progress = Rc::new(Progress::default());
    let rows = Rows {
        source,
        forms,
        row: Row::default(),
        progress: Rc::clone(&progress),
        canceller,
        has_ended: false,
        usual_bytes: 256,
    };
    let loaded = run(runtime, canceller.patiently_unguarded(timeout_s, copy.write_to_server_zerocopy(rows)))?;
    Ok(match (progress.stop.take(), loaded) {
        (Some(Stop::Source(error)), _) => Err(Fault::Ours(error)),
        (Some(Stop::Cancelled), _) => Err(Fault::Cancelled),
        (Some(Stop::Value(index)), _) => {
            let name = columns.get(index).map_or("beyond the last", |column| column.column_name.as_str());
            let message = format!("a row to be loaded has no value, or another type's, for the column {name}");
            Err(Fault::Ours(Error::new(ErrorKind::Internal, message)))
        }
        (None, Err(error)) => Err(fault(error)),
        (None, Ok(_)) => Ok(progress.row_summary.get()),
    })
}
