//! What a test asks of a session: which kinds of requests there are, and how one is made. When requests are made and what
//! becomes of their times is [`worker`](super::worker)'s.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Answer, Cancel, Error, ErrorKind, Requester, Result, RowSource, Sampler, Statement, Table, Value,
};
use plimsoll_load::lane::Amount;

/// The requests of a test, shared by its sessions.
pub trait Workload: Sync {
    /// Names of the kinds of requests.
    fn kinds(&self) -> Vec<String>;

    /// Makes the requests of session `number` of the repetition `label`. All its choices follow from these and the seed.
    fn generator(&self, number: u64, label: u64) -> Box<dyn RequestGenerator + '_>;
}

/// What an answer moved, for which the target looked at so many rows.
pub fn amount(answer: Answer, rows_examined: u64) -> Amount {
    Amount { rows_examined, rows: answer.rows, content_bytes: answer.content_bytes }
}

/// Makes the requests of one session.
pub trait RequestGenerator {
    /// The kind of the next request, as a position in [`Workload::kinds`].
    fn draw(&mut self) -> usize;

    /// Makes a request of this kind; `None` if there was nothing to make it of, such as a row to delete. It pends only where the
    /// requester does.
    ///
    /// # Errors
    /// What the engine says. After an error that passes it is called again for the same request.
    fn make<'a>(&'a mut self, kind: usize, requester: &'a mut dyn Requester) -> Making<'a, Result<Option<Amount>>>;
}

/// Something that is made, step by step.
pub type Making<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Asks a statement.
///
/// # Errors
/// The engine's.
pub async fn ask(requester: &mut dyn Requester, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
    poll_fn(|context| requester.poll_ask(context, statement, parameters)).await
}

/// A session that waits for each answer, so that nothing pends.
pub struct Waits<'a>(pub &'a mut dyn Requester);

impl Sampler for Waits<'_> {}

impl Requester for Waits<'_> {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.0.ask(statement, parameters)
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.0.load_batch(table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.0.canceller()
    }
}

/// What comes of something in which nothing pends, as it is made of a session that [`Waits`].
///
/// # Errors
/// Its own; a fault of ours if it pends.
pub fn at_once<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(made) => made,
        Poll::Pending => Err(Error::new(ErrorKind::Internal, "a session that waits by itself did not wait")),
    }
}
