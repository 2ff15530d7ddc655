//! A line with answers that are written down, and a clock that never waits: for everything that stands above the line.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_clock::{Clock, Departure, RealClock, Ticket, Waiter};
use plimsoll_engine::{
    Answer, AnswerColumn, Cancel, ColumnType, Credentials, Row, RowSource, RowSummary, Shape, Target, Value,
};
use plimsoll_measurement::Moment;
use plimsoll_testbed::grammar::Grammar;

use crate::connect::{Connector, Dial};
use crate::url::Location;
use crate::wire::{EachRow, Endpoint, Fault, Loading, Login, Outcome, ServerError, Wire};

/// What is answered to the texts that hold certain words. A text that nobody has written an answer for is unknown there.
#[derive(Default, Clone)]
pub struct Script(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    answers: Vec<(String, VecDeque<Said>)>,
    asked: Vec<String>,
    /// The values that went with the last text that had some, as text.
    values: String,
    logins: VecDeque<Fault>,
    names: Vec<String>,
    databases: Vec<String>,
    cancels: usize,
    /// So many cancels a statement with these words waits for.
    waits: Option<(String, usize)>,
}

/// An answer.
#[derive(Debug, Clone)]
pub enum Said {
    Rows(Vec<Vec<Value<'static>>>),
    Fault(Fault),
}

/// An error of the server with this number.
pub fn refusal(number: u32) -> Fault {
    Fault::Server(vec![ServerError { number, state: 1, class: 16, line: None, message: format!("error {number}.") }])
}

impl Script {
    /// Answers texts with these words; several answers are given in turn, and the last one from then on.
    pub fn on(self, words: &str, said: impl IntoIterator<Item = Said>) -> Self {
        self.0.lock().unwrap().answers.insert(0, (words.to_owned(), said.into_iter().collect()));
        self
    }

    /// One row for texts with these words.
    pub fn row(self, words: &str, row: &[Value<'static>]) -> Self {
        self.on(words, [Said::Rows(vec![row.to_vec()])])
    }

    /// An error for texts with these words.
    pub fn refuses(self, words: &str, number: u32) -> Self {
        self.on(words, [Said::Fault(refusal(number))])
    }

    /// The next log-in fails so.
    pub fn login_fails(self, fault: Fault) -> Self {
        self.0.lock().unwrap().logins.push_back(fault);
        self
    }

    /// The texts that were asked, in their order.
    pub fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    /// The values that went with the last text that had some.
    pub fn values(&self) -> String {
        self.0.lock().unwrap().values.clone()
    }

    /// Statements with these words last until they were cancelled so often.
    pub fn lasts(self, words: &str, cancels: usize) -> Self {
        self.0.lock().unwrap().waits = Some((words.to_owned(), cancels));
        self
    }

    /// The names of the sessions that were made.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().names.clone()
    }

    /// The databases that they were to be in.
    pub fn databases(&self) -> Vec<String> {
        self.0.lock().unwrap().databases.clone()
    }

    /// What is no T-SQL has no answer.
    fn answer(&self, sql: &str) -> Outcome<Vec<Vec<Value<'static>>>> {
        let offences = Grammar::shared().and_then(|grammar| grammar.check(sql)).unwrap();
        assert!(offences.is_empty(), "not T-SQL: {sql}\n  {}", offences[0]);
        self.said(sql)
    }

    fn said(&self, sql: &str) -> Outcome<Vec<Vec<Value<'static>>>> {
        let mut inner = self.0.lock().unwrap();
        inner.asked.push(sql.to_owned());
        let Some((_, answers)) = inner.answers.iter_mut().find(|(words, _)| sql.contains(words.as_str())) else {
            return Err(refusal(208));
        };
        let said = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        match said {
            Said::Rows(rows) => Ok(rows),
            Said::Fault(fault) => Err(fault),
        }
    }

    /// A connector to it.
    pub fn connector(&self, url: &str, clock: &Arc<dyn Clock>) -> Connector {
        let location = Location::parse(&Target::parse(url).unwrap()).unwrap();
        let dial = Box::new(self.clone());
        Connector::new(location, &Credentials::default(), &|_| None, dial, clock).unwrap()
    }
}

impl Dial for Script {
    fn dial(&self, _: &Endpoint, login: &Login, application: &str) -> Outcome<Box<dyn Wire>> {
        let mut inner = self.0.lock().unwrap();
        inner.databases.push(login.database.clone());
        inner.names.push(application.to_owned());
        match inner.logins.pop_front() {
            Some(fault) => Err(fault),
            None => Ok(Box::new(self.clone())),
        }
    }
}

/// Counts the cancels.
struct Counting(Script);

impl Cancel for Counting {
    fn cancel(&self) {
        self.0.0.lock().unwrap().cancels += 1;
    }
}

impl Wire for Script {
    fn query(&mut self, sql: &str, values: &[Value<'_>], columns: &[ColumnType], each: EachRow<'_>) -> Outcome<u64> {
        if !values.is_empty() {
            self.0.lock().unwrap().values = format!("{values:?}");
        }
        let rows = self.answer(sql)?;
        loop {
            let inner = self.0.lock().unwrap();
            let Some((_, cancels)) = inner.waits.as_ref().filter(|(words, _)| sql.contains(words.as_str())) else {
                break;
            };
            if inner.cancels >= *cancels {
                return Err(Fault::Cancelled);
            }
            drop(inner);
            std::thread::yield_now();
        }
        for values in rows {
            let mut row = Row::default();
            values.iter().take(columns.len()).for_each(|value| row.push(*value));
            each(&mut row).map_err(Fault::Ours)?;
        }
        Ok(0)
    }

    fn ask(&mut self, sql: &str, _: &[Value<'_>], _: Option<&[ColumnType]>) -> Outcome<Answer> {
        Ok(Answer { rows: self.answer(sql)?.len() as u64, content_bytes: 0 })
    }

    /// A script knows no types: its columns are as many as its first row has values.
    fn shape(&mut self, sql: &str, _: &[Value<'_>]) -> Outcome<Shape> {
        let rows = self.answer(sql)?;
        let column = AnswerColumn { name: String::new(), kind: "a value of a script".to_owned() };
        let first = rows.first().map_or(&[][..], Vec::as_slice);
        let filled = first.iter().map(|value| *value != Value::Null).collect();
        Ok(Shape { columns: vec![column; first.len()], rows: rows.len() as u64, filled })
    }

    fn load(&mut self, table: &str, loading: Loading, rows: &mut dyn RowSource) -> Outcome<RowSummary> {
        self.said(&format!("LOAD {table} {loading:?}"))?;
        let (mut row, mut row_summary) = (Row::default(), RowSummary::default());
        while rows.next(&mut row).map_err(Fault::Ours)? {
            row_summary.add(&mut row);
            row.clear();
        }
        Ok(row_summary)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Counting(self.clone()))
    }

    fn is_dead(&self) -> bool {
        false
    }
}

/// A clock on which waiting takes no time and is counted.
#[derive(Debug)]
pub struct Counted(AtomicU64, RealClock);

impl Counted {
    pub fn new() -> Self {
        Self(AtomicU64::new(1 << 50), RealClock::new())
    }

    /// How long everybody has waited.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst) - (1 << 50))
    }
}

impl Clock for Counted {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, moment: Moment) {
        self.0.fetch_max(moment.as_nanos(), Ordering::SeqCst);
    }

    fn timestamp(&self, moment: Moment) -> jiff::Timestamp {
        self.1.timestamp(moment)
    }

    fn kind(&self) -> &'static str {
        "counted"
    }

    fn ticket(&self, name: &str) -> Ticket {
        self.1.ticket(name)
    }

    fn register(&self, ticket: Ticket) {
        self.1.register(ticket);
    }

    fn leave(&self) {
        self.1.leave();
    }

    fn waiter(&self) -> Waiter {
        self.1.waiter()
    }

    fn park(&self) {
        self.1.park();
    }

    fn await_departure(&self, departure: &Departure) {
        self.1.await_departure(departure);
    }
}
