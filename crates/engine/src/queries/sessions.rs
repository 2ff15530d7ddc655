//! What the sessions of a server do at one moment: which statement, what they wait for, and who holds them up.

use plimsoll_measurement::counters::Item;

/// All sessions that work, and those that hold a transaction open, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSample {
    /// The server's clock.
    pub at_us: i64,
    /// Sessions that are connected, whatever they do, with ours.
    pub connected: u64,
    /// How many the server lets in.
    pub limit: Option<u64>,
    /// Without ours.
    pub sessions: Vec<SeenSession>,
}

/// What a session does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSession {
    /// A number that no other session has at the same time.
    pub number: i64,
    /// One that is not used again soon.
    pub identity: u64,
    /// Whether it executes a statement. If not, it holds a transaction open.
    pub is_active: bool,
    /// What it does, in the server's words.
    pub state: String,
    /// When its statement, or its last one, began.
    pub start_us: Option<i64>,
    /// The statement; `None` if the server does not say it.
    pub item: Option<Item>,
    /// The text of the statement without values, as the client wrote it, and the database. Of a statement that never ended nothing else has it.
    pub text: Option<String>,
    /// The database.
    pub database: Option<String>,
    /// What it waits for; `None` if it does not wait, as far as the server says.
    pub wait: Option<Wait>,
    /// Whether its statement may have been counted though the session is still at work on it, as in its commit.
    pub may_be_counted: bool,
    /// The numbers of sessions that hold what it waits for.
    pub blocked_by: Vec<i64>,
}

/// What a session waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What would lift it.
    pub class: WaitClass,
    /// What the server calls it.
    pub name: String,
}

/// What sessions wait for, by what would lift it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitClass {
    /// Nothing: a session computes, or waits for a CPU, or for something that the server does not tell.
    Cpu,
    /// Reads of tables and indexes.
    DataReads,
    /// Writes of tables and indexes.
    DataWrites,
    /// The log.
    LogWrites,
    /// Temporary files.
    Temporary,
    /// Locks that other sessions hold, on rows and tables.
    Locks,
    /// The server's own locks in memory.
    InternalLocks,
    /// Another server that has to confirm.
    Replication,
    /// The client.
    Client,
    /// A time that was asked for.
    Sleep,
    /// Anything else.
    Other,
}

impl WaitClass {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Cpu,
        Self::DataReads,
        Self::DataWrites,
        Self::LogWrites,
        Self::Temporary,
        Self::Locks,
        Self::InternalLocks,
        Self::Replication,
        Self::Client,
        Self::Sleep,
        Self::Other,
    ];

    /// Its name, as it is shown and kept.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::DataReads => "data reads",
            Self::DataWrites => "data writes",
            Self::LogWrites => "log writes",
            Self::Temporary => "temporary files",
            Self::Locks => "locks of other sessions",
            Self::InternalLocks => "internal locks",
            Self::Replication => "replication",
            Self::Client => "the client",
            Self::Sleep => "sleep",
            Self::Other => "other waits",
        }
    }
}
