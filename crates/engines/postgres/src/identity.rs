//! What tells a server from others that may answer at the same address.

use plimsoll_engine::{Error, ErrorKind, Result};

use super::connection::Connection;
use super::statements::sql;

/// How what stays is removed where no other URL leads to it.
pub(super) const ALONE: &str = "once that server works again, run plimsoll clean with a URL that names it alone";

const CLUSTER: &str = "number of the cluster";
const DATABASE: &str = "number of the database";
const TIMELINE: &str = "timeline";

/// What is absent is known to some users only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// The number of its cluster, which its standbys share.
    pub(super) cluster: Option<String>,
    /// The number of the database in it, which keeps that where it is renamed.
    pub(super) database: Option<String>,
    /// It begins anew where a standby is promoted. A standby has none: it may follow that of another primary.
    pub(super) timeline: Option<String>,
    /// When it was started: two copies of a cluster have all else in common.
    pub(super) started: Option<String>,
}

impl Identity {
    pub(super) fn of(connection: &mut Connection) -> Self {
        let [cluster, database, timeline, started] =
            [CLUSTER, DATABASE, TIMELINE, "when it was started"].map(|of| ask(connection, of));
        Self { cluster, database, timeline, started }
    }

    /// Why what is at the other end is not what was found first.
    pub(super) fn is_anothers(&self, connection: &mut Connection) -> Option<&'static str> {
        if differs(connection, self.cluster.as_deref(), CLUSTER) {
            return Some("another server answers there now, and not the one that was measured");
        }
        differs(connection, self.database.as_deref(), DATABASE)
            .then_some("another database has that name now, and not the one that was measured")
    }

    /// An error if the server at the other end was a standby when this one was found: what was made before it was promoted is in two places.
    pub(super) fn check_same(&self, connection: &mut Connection) -> Result<()> {
        if !differs(connection, self.timeline.as_deref(), TIMELINE) {
            return Ok(());
        }
        let message = "a standby was promoted meanwhile, and what was made before is still at the server that was the primary then";
        Err(Error::new(ErrorKind::Lost, message).hint(ALONE))
    }
}

/// Whoever may not ask any more is taken at his word.
fn differs(connection: &mut Connection, known: Option<&str>, statement: &str) -> bool {
    known.is_some_and(|known| ask(connection, statement).is_some_and(|found| found != known))
}

fn ask(connection: &mut Connection, statement: &str) -> Option<String> {
    connection.value(sql(statement), &[]).ok()
}
