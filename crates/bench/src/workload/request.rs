//! What a test asks of a session: which kinds of requests there are, and how one is made. When requests are made and what
//! becomes of their times is [`worker`](super::worker)'s.

use plimsoll_engine::{Answer, Requester, Result};
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

    /// Makes a request of this kind; `None` if there was nothing to make it of, such as a row to delete.
    ///
    /// # Errors
    /// What the engine says. After an error that passes it is called again for the same request.
    fn make(&mut self, kind: usize, requester: &mut dyn Requester) -> Result<Option<Amount>>;
}
