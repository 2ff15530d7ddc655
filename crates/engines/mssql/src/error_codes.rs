//! Errors of SQL Server by their numbers: what each means for us, what we do about it, and what its reader can do. A table,
//! so that what is known of an error stands in one place.

use plimsoll_engine::error::ErrorKind;

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The log-in is refused.
    Login,
    /// The database can't be opened.
    NoDatabase,
    /// The address is not let in.
    Firewall,
    /// It passes by itself, within seconds to minutes.
    Transient,
    /// Some limit of the level is reached for the moment.
    Governor,
    /// Chosen as the victim of a deadlock, or in conflict with another transaction.
    Deadlock,
    /// A lock was not to be had in time.
    LockTimeout,
    /// The log is full.
    LogFull,
    /// The data files, or the database's largest size, are full.
    DatabaseFull,
    /// The right to do it is missing.
    Permission,
    /// The database can only be read.
    ReadOnly,
    /// No memory for the statement.
    Memory,
    /// The server, or somebody there, ends the session.
    Ended,
    /// Another server than SQL Server: this does not exist there.
    Unknown,
    /// The statement refers to what is not there.
    NoObject,
}

/// What is done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// A connection is tried again; a statement that meets it fails.
    Retry,
    /// The request counts as failed and the run goes on.
    Count,
    /// The run ends.
    Stop,
}

impl Class {
    /// The class that all engines know.
    pub(super) const fn kind(self) -> ErrorKind {
        match self {
            Self::Login => ErrorKind::Authenticate,
            Self::NoDatabase => ErrorKind::Missing,
            Self::NoObject => ErrorKind::Statement,
            Self::Firewall | Self::Transient => ErrorKind::Connect,
            Self::Governor | Self::Deadlock | Self::LockTimeout | Self::Memory => ErrorKind::Busy,
            Self::LogFull | Self::DatabaseFull => ErrorKind::DiskFull,
            Self::Permission | Self::ReadOnly => ErrorKind::Permission,
            Self::Ended => ErrorKind::Lost,
            Self::Unknown => ErrorKind::Unsupported,
        }
    }

    /// What is done about it.
    pub(super) const fn reaction(self) -> Reaction {
        match self {
            Self::Transient | Self::Governor => Reaction::Retry,
            Self::Deadlock | Self::LockTimeout | Self::Memory => Reaction::Count,
            _ => Reaction::Stop,
        }
    }
}

/// What is known of an error.
#[derive(Debug)]
pub(super) struct KnownError {
    pub(super) number: u32,
    /// Only with this state; `None` for all others.
    pub(super) state: Option<u8>,
    pub(super) class: Class,
    /// What to do next. `{user}` and `{database}` stand for their names.
    pub(super) hint: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for who reads the table, and its test"))]
    /// Where this is written, below `https://learn.microsoft.com/`.
    pub(super) source: &'static str,
}

const fn known(number: u32, class: Class, hint: &'static str, source: &'static str) -> KnownError {
    KnownError { number, state: None, class, hint, source }
}

const fn state(number: u32, state: u8, class: Class, hint: &'static str, source: &'static str) -> KnownError {
    KnownError { number, state: Some(state), class, hint, source }
}

const LOGIN_FAILED: &str = "sql/relational-databases/errors-events/mssqlserver-18456-database-engine-error";
const AZURE: &str = "azure/azure-sql/database/troubleshoot-common-errors-issues";
const EVENTS: &str = "sql/relational-databases/errors-events/database-engine-events-and-errors";
const GOVERNANCE: &str = "azure/azure-sql/database/resource-limits-logical-server";
const LOCKING: &str = "sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide";

const CHECK_PASSWORD: &str =
    "check user and password; --password-file, PLIMSOLL_PASSWORD and SQLCMDPASSWORD are heeded after the URL";
const LATER: &str = "the database is busy with itself, such as with a change of its level; try again in some minutes";
const LIMIT: &str = "a limit of the database's level is reached; use fewer sessions or a lower rate, or a higher level";
const BUSY: &str = "somebody else works on our tables or waits for them; try again";
const GRANT_PLACES: &str = "GRANT CREATE TABLE, CREATE SCHEMA, CREATE PROCEDURE TO [{user}] in database [{database}] lets the user make \
                            schemas of its own";
const GRANT_STATE: &str = "GRANT VIEW SERVER STATE TO [{user}] in master (from 2022 on VIEW SERVER PERFORMANCE STATE; in Azure \
                           SQL Database GRANT VIEW DATABASE STATE TO [{user}]) lets the user read the server's counters";
const GRANT_NAMED: &str = "the message names what is missing: places of ours take GRANT CREATE TABLE, CREATE SCHEMA, CREATE PROCEDURE TO \
                           [{user}] in database [{database}], databases of ours ALTER SERVER ROLE dbcreator ADD MEMBER [{user}] (in \
                           Azure SQL Database, in master: ALTER ROLE dbmanager ADD MEMBER [{user}])";
const SPACE: &str = "free space, let the files grow, or measure a smaller volume with --set volume=...";

/// The table. Of an error with several rows the one with its state counts.
pub(super) static KNOWN: &[KnownError] = &[
    known(18456, Class::Login, CHECK_PASSWORD, LOGIN_FAILED),
    state(18456, 2, Class::Login, "there is no such user; check its name", LOGIN_FAILED),
    state(18456, 5, Class::Login, "there is no such user; check its name", LOGIN_FAILED),
    state(18456, 6, Class::Login, "this is a Windows account; use a log-in of SQL Server's own", LOGIN_FAILED),
    state(18456, 7, Class::Login, "the log-in is disabled: ALTER LOGIN [{user}] ENABLE", LOGIN_FAILED),
    state(18456, 8, Class::Login, CHECK_PASSWORD, LOGIN_FAILED),
    state(
        18456,
        11,
        Class::Login,
        "the log-in is known and may not use this server: GRANT CONNECT SQL TO [{user}]",
        LOGIN_FAILED,
    ),
    state(
        18456,
        12,
        Class::Login,
        "the log-in is known and may not use this server: GRANT CONNECT SQL TO [{user}]",
        LOGIN_FAILED,
    ),
    state(18456, 13, Class::Transient, "the server is paused and takes nobody in", LOGIN_FAILED),
    state(18456, 18, Class::Login, "the password must be changed first", LOGIN_FAILED),
    state(
        18456,
        38,
        Class::NoDatabase,
        "the database [{database}] is not there, or the user may not open it",
        LOGIN_FAILED,
    ),
    state(
        18456,
        46,
        Class::NoDatabase,
        "the database [{database}] is not there, or the user may not open it",
        LOGIN_FAILED,
    ),
    state(
        18456,
        58,
        Class::Login,
        "the server takes Windows accounts only: set its authentication to mixed mode",
        LOGIN_FAILED,
    ),
    state(18456, 126, Class::NoDatabase, "the database [{database}] is not there", LOGIN_FAILED),
    known(18452, Class::Login, "the server takes Windows accounts only, or did not accept this one", EVENTS),
    known(18470, Class::Login, "the log-in is disabled: ALTER LOGIN [{user}] ENABLE", EVENTS),
    known(18486, Class::Login, "the log-in is locked: ALTER LOGIN [{user}] WITH PASSWORD = '...' UNLOCK", EVENTS),
    known(18487, Class::Login, "the password has expired and must be changed first", EVENTS),
    known(18488, Class::Login, "the password must be changed first", EVENTS),
    known(18401, Class::Transient, "the server is being upgraded; try again when it is done", EVENTS),
    known(40531, Class::NoDatabase, "the server's name is not known; check the host", AZURE),
    known(40532, Class::Login, "the server refuses this log-in; check the host's and the user's name", AZURE),
    known(40615, Class::Firewall, "the server's firewall does not let this address in: add a rule for it", AZURE),
    known(40914, Class::Firewall, "the server's virtual network rules do not let this address in", AZURE),
    known(
        4060,
        Class::NoDatabase,
        "check the name of the database [{database}], and that the user may open it (CREATE USER in it)",
        EVENTS,
    ),
    known(4063, Class::NoDatabase, "name a database in the URL: the log-in's own one can't be opened", EVENTS),
    known(4064, Class::NoDatabase, "name a database in the URL: the log-in's own one can't be opened", EVENTS),
    known(911, Class::NoDatabase, "check the name of the database [{database}]", EVENTS),
    known(
        916,
        Class::Permission,
        "CREATE USER [{user}] FOR LOGIN [{user}] in database [{database}] lets the user open it",
        EVENTS,
    ),
    known(40613, Class::Transient, LATER, AZURE),
    known(40197, Class::Transient, LATER, AZURE),
    known(40501, Class::Transient, LATER, AZURE),
    known(40143, Class::Transient, LATER, AZURE),
    known(40540, Class::Transient, LATER, AZURE),
    known(
        4221,
        Class::Transient,
        "the readable secondary waits for old transactions to end; try again in some minutes",
        AZURE,
    ),
    known(615, Class::Transient, LATER, AZURE),
    known(49918, Class::Transient, LATER, AZURE),
    known(
        49919,
        Class::Transient,
        "too many changes to databases of this subscription are under way; try again later",
        AZURE,
    ),
    known(49920, Class::Transient, "too much is under way in this subscription; try again later", AZURE),
    known(
        40802,
        Class::Transient,
        "another change of the database's level is under way; try again when it is done",
        AZURE,
    ),
    known(10928, Class::Governor, LIMIT, GOVERNANCE),
    known(10929, Class::Governor, LIMIT, GOVERNANCE),
    known(10936, Class::Governor, LIMIT, GOVERNANCE),
    known(
        40544,
        Class::DatabaseFull,
        "the database has reached its largest size: remove data, or ask for a larger one",
        AZURE,
    ),
    known(
        1132,
        Class::DatabaseFull,
        "the elastic pool has no storage left: remove data, or ask for a larger pool",
        AZURE,
    ),
    known(40549, Class::Governor, "the server ended the session for a long transaction", AZURE),
    known(40550, Class::Governor, "the server ended the session for holding too many locks", AZURE),
    known(40551, Class::Governor, "the server ended the session for its use of tempdb", AZURE),
    known(
        40552,
        Class::Governor,
        "the server ended the session for the log that its transaction took; ask for a smaller volume",
        AZURE,
    ),
    known(40553, Class::Governor, "the server ended the session for its use of memory", AZURE),
    known(1205, Class::Deadlock, BUSY, LOCKING),
    known(3960, Class::Deadlock, BUSY, LOCKING),
    known(1222, Class::LockTimeout, BUSY, LOCKING),
    known(
        9002,
        Class::LogFull,
        "back up the log or let it grow; sys.databases.log_reuse_wait_desc says what it waits for",
        EVENTS,
    ),
    known(1105, Class::DatabaseFull, SPACE, EVENTS),
    known(1101, Class::DatabaseFull, SPACE, EVENTS),
    known(5149, Class::DatabaseFull, SPACE, EVENTS),
    known(
        1204,
        Class::Memory,
        "the server has no locks left; use fewer sessions, or load in batches (bulkBatchRows in the target)",
        "sql/relational-databases/errors-events/mssqlserver-1204-database-engine-error",
    ),
    known(701, Class::Memory, "the server has no memory for the statement; use fewer sessions", EVENTS),
    known(802, Class::Memory, "the server has no memory for the statement; use fewer sessions", EVENTS),
    known(8645, Class::Memory, "the server has no memory for the statement; use fewer sessions", EVENTS),
    known(229, Class::Permission, GRANT_PLACES, EVENTS),
    known(230, Class::Permission, GRANT_PLACES, EVENTS),
    known(262, Class::Permission, GRANT_NAMED, EVENTS),
    known(297, Class::Permission, GRANT_STATE, EVENTS),
    known(300, Class::Permission, GRANT_STATE, EVENTS),
    known(371, Class::Permission, GRANT_STATE, EVENTS),
    known(1088, Class::Permission, "the object is not there, or the user may not change it", EVENTS),
    known(
        2571,
        Class::Permission,
        "the user may not run this DBCC command, which takes ALTER SERVER STATE or sysadmin",
        EVENTS,
    ),
    known(2760, Class::Permission, GRANT_PLACES, EVENTS),
    known(2759, Class::Permission, GRANT_PLACES, EVENTS),
    known(
        6102,
        Class::Permission,
        "GRANT ALTER ANY CONNECTION TO [{user}] in master lets the user end sessions",
        EVENTS,
    ),
    known(15247, Class::Permission, GRANT_PLACES, EVENTS),
    known(3906, Class::ReadOnly, "the database can only be read; connect to the primary", EVENTS),
    known(3908, Class::ReadOnly, "the database is being recovered; connect to the primary, or try again", EVENTS),
    known(
        976,
        Class::NoDatabase,
        "this replica of an availability group takes nobody in; connect to the primary",
        EVENTS,
    ),
    known(
        983,
        Class::Transient,
        "the replica of an availability group is changing its role; try again in some minutes",
        EVENTS,
    ),
    known(
        978,
        Class::ReadOnly,
        "this replica takes only readers (applicationIntent=ReadOnly); connect to the primary",
        EVENTS,
    ),
    known(596, Class::Ended, "somebody ended the session", EVENTS),
    known(6005, Class::Ended, "the server is shutting down; start again when it answers", EVENTS),
    known(64, Class::Ended, "look into the server's log for the reason, and start again when it answers", EVENTS),
    known(
        233,
        Class::Transient,
        "the server closed the connection before the log-in; it may have no room for more sessions",
        EVENTS,
    ),
    known(17809, Class::Governor, "the server has no room for more sessions", EVENTS),
    known(208, Class::NoObject, "the table was removed while it was in use, or its name is not right", EVENTS),
    known(2812, Class::Unknown, "this server has no such procedure", EVENTS),
];

/// What is known of an error with this number and state.
pub(super) fn find(number: u32, state: u8) -> Option<&'static KnownError> {
    let of_number = || KNOWN.iter().filter(move |known| known.number == number);
    of_number().find(|known| known.state == Some(state)).or_else(|| of_number().find(|known| known.state.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_goes_before_its_number() {
        assert_eq!(find(18456, 38).map(|known| known.class), Some(Class::NoDatabase));
        assert_eq!(find(18456, 1).map(|known| known.class), Some(Class::Login));
        assert!(find(18456, 7).unwrap().hint.contains("ENABLE"));
        assert!(find(50_000, 1).is_none());
    }

    #[test]
    fn every_row_is_reached_has_a_source_and_says_what_to_do() {
        for known in KNOWN {
            let found = find(known.number, known.state.unwrap_or(255)).unwrap();
            assert!(std::ptr::eq(found, known), "{} is there twice", known.number);
            assert!(known.source.starts_with("sql/") || known.source.starts_with("azure/"), "{}", known.number);
            let is_sentence = known.hint.ends_with('.') && !known.hint.ends_with("...");
            assert!(!known.hint.is_empty() && !is_sentence, "{}", known.number);
        }
    }

    /// The numbers that the product promises to know.
    #[test]
    fn reactions_are_as_promised() {
        let class = |number| find(number, 255).unwrap_or_else(|| panic!("{number}")).class;
        for number in [40613, 40197, 40501, 10928, 10929, 49918, 49919, 49920, 4221, 983] {
            assert_eq!(class(number).reaction(), Reaction::Retry, "{number}");
        }
        for number in [1205, 1222, 1204] {
            assert_eq!((class(number).reaction(), class(number).kind()), (Reaction::Count, ErrorKind::Busy));
        }
        for (number, kind) in [
            (18456, ErrorKind::Authenticate),
            (18452, ErrorKind::Authenticate),
            (4060, ErrorKind::Missing),
            (9002, ErrorKind::DiskFull),
            (40544, ErrorKind::DiskFull),
            (1132, ErrorKind::DiskFull),
            (976, ErrorKind::Missing),
            (262, ErrorKind::Permission),
            (229, ErrorKind::Permission),
            (297, ErrorKind::Permission),
            (300, ErrorKind::Permission),
        ] {
            assert_eq!((class(number).reaction(), class(number).kind()), (Reaction::Stop, kind), "{number}");
        }
    }
}
