//! The statements that we send to a server (`data/statements`), by constants; and the little about them that is no text: which
//! kinds of server there are, what a level is called, and the names of what is ours.
//!
//! They are written to Microsoft's documentation. Tests hold them against the constants, and their columns of system views against
//! `data/mssql-views.toml`. Such columns are written with their view's alias, so that the test can find them. Values of type
//! `sql_variant` are cast, as their own types vary by product.

use std::sync::LazyLock;

use plimsoll_engine::ColumnType;
use plimsoll_engine::statements::{AnswerColumn, Entry, Quoting, Statements};

/// A kind of server, by `SERVERPROPERTY('EngineEdition')`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// SQL Server on a machine: Personal, Standard, Enterprise, Express.
    Server,
    /// Azure SQL Database (5), and SQL database in Fabric (12).
    Database,
    /// Azure SQL Managed Instance (8).
    Instance,
}

/// The releases of SQL Server that the driver is for, with their major versions.
const RELEASES: [(i64, &str); 5] = [(13, "2016"), (14, "2017"), (15, "2019"), (16, "2022"), (17, "2025")];
const AZURE_DATABASE: &str = "azure-sql-database";
const INSTANCE: &str = "managed-instance";

impl Product {
    /// The name that statements have for a server of this kind and major version; `None` for a version that is not known.
    pub(super) fn edition(self, major: Option<i64>) -> Option<&'static str> {
        match self {
            Self::Database => Some(AZURE_DATABASE),
            Self::Instance => Some(INSTANCE),
            Self::Server => RELEASES.iter().find(|(number, _)| Some(*number) == major).map(|(_, name)| *name),
        }
    }
}

/// How names are written: a bracket within is doubled.
pub(super) const QUOTING: Quoting = Quoting { name: ('[', ']') };

/// All of them, in the order of the files.
pub(super) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    let files = [
        include_str!("../data/statements/identity.toml"),
        include_str!("../data/statements/permissions.toml"),
        include_str!("../data/statements/sessions.toml"),
        include_str!("../data/statements/telemetry.toml"),
        include_str!("../data/statements/queries.toml"),
        include_str!("../data/statements/workspaces.toml"),
        include_str!("../data/statements/copies.toml"),
        include_str!("../data/statements/azure.toml"),
    ];
    Statements::parse(&files, QUOTING)
});

/// A statement, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text(&'static str);

impl Text {
    pub(super) const fn name(self) -> &'static str {
        self.0
    }

    fn entry(self) -> &'static Entry {
        STATEMENTS.get(self.0)
    }

    /// Its text, for one without gaps.
    pub(super) fn sql(self) -> &'static str {
        &self.entry().sql
    }

    /// Its text with these words in its gaps.
    pub(super) fn filled(self, words: &[(&str, &str)]) -> String {
        STATEMENTS.fill(self.0, words)
    }

    /// The types by which we read its answer.
    pub(super) fn columns(self) -> Vec<ColumnType> {
        self.entry().answer.iter().map(read_as).collect()
    }

    /// True if it is sent to this kind of server.
    pub(super) fn is_for(self, product: Product) -> bool {
        let editions = &self.entry().editions;
        let is_of_product = |edition: &String| match product {
            Product::Database => edition == AZURE_DATABASE,
            Product::Instance => edition == INSTANCE,
            Product::Server => RELEASES.iter().any(|(_, name)| edition == name),
        };
        editions.is_empty() || editions.iter().any(is_of_product)
    }

    /// How many parameters it has.
    pub(super) fn parameters(self) -> usize {
        self.entry().values.len()
    }
}

/// The type by which a column is read. Whole numbers of every width are read alike.
fn read_as(column: &AnswerColumn) -> ColumnType {
    let (kind, length) = column.kind.split_once('(').unwrap_or((&column.kind, ""));
    match kind {
        "bit" => ColumnType::Bit,
        "tinyint" | "smallint" | "int" | "bigint" => ColumnType::BigInt,
        "float" => ColumnType::Float,
        "datetime2" => ColumnType::DateTime,
        _ => ColumnType::Text(length.trim_end_matches(')').parse().unwrap_or(u16::MAX)),
    }
}

macro_rules! texts {
    ($($constant:ident $name:literal;)+) => {
        $(pub(super) const $constant: Text = Text($name);)+

        /// All of them.
        #[cfg(test)]
        pub(super) const TEXTS: &[Text] = &[$($constant),+];
    };
}

texts! {
    IDENTITY "identity";
    NAMES "names of the user and the machine";
    UPDATEABILITY "whether the database can be written";
    PUTS_TOGETHER "whether names are put together";
    DATABASE_SETTINGS "database settings";
    FILES "file layout";
    OBJECTIVE "service objective";
    GOVERNANCE "resource governance";
    LARGEST_SIZE "largest size";
    FREE_SPACE "free space";
    SCHEDULERS "schedulers";
    TARGET_MEMORY "target server memory";
    STARTED "when it was started";
    PERMISSIONS "permissions";
    PERMISSIONS_2022 "permissions from 2022 on";
    AZURE_PERMISSIONS "permissions in Azure";
    MAY_MAKE_PROCEDURES "whether procedures may be made";
    IS_ADMINISTRATOR "whether backups may be removed";
    SETTINGS "settings of a session";
    PATIENCE "patience of a session";
    ANSWERS "whether the server answers";
    OWN_NUMBER "number of the session";
    BEGIN "begin a transaction";
    COMMIT "commit a transaction";
    ROLLBACK "roll back what there is";
    CHECK "check a statement";
    CHECKPOINT "checkpoint";
    DROP_BUFFERS "drop clean buffers";
    KILL "end a session";
    FILE_STATISTICS "file statistics";
    ALL_FILES "file statistics of all databases";
    FILE_STATISTICS_TIMED "file statistics and their time";
    SERVER_WAITS "waits of the server";
    DATABASE_WAITS "waits of the database";
    SESSIONS "what sessions do";
    NEWEST_RESOURCES "newest resource use";
    RESOURCES "resource use";
    RESOURCES_OF_DAYS "resource use of the last day";
    INSTANCE_RESOURCES "resource use of an instance";
    MEMORY_IN_USE "memory in use";
    OWN_CPU "CPU of the session";
    OWN_WAITS "waits of the session";
    PLAN_READS "physical reads by plan";
    PLAN "plan of a statement";
    STATEMENT_STAMPS "stamps of statements";
    STATEMENT_COUNTERS "counters of statements";
    OWN_STATEMENTS "own statements";
    STATEMENT_TEXTS "texts of statements";
    CACHED_PLANS "plans in the cache";
    SESSIONS_AT_WORK "sessions at work";
    WORKING_SESSIONS "sessions that work for runs";
    IS_WORKING "whether a session still works for a run";
    PLACES "our schemas";
    IS_FREE "whether a lease is free";
    TAKE_LOCK "take a lock";
    GIVE_LOCK_BACK "give a lock back";
    MAKE_SCHEMA "make a schema";
    MARK_SCHEMA "mark a schema";
    OWNER "owner of a schema";
    TABLES "tables of a schema";
    STRANGERS "what else is in a schema";
    DEPENDENTS "what depends on a schema";
    TABLE_SIZE "size of a table";
    TABLE_IS_THERE "whether a table is there";
    SETTLE "settle a table";
    DROP_PROCEDURE "drop a procedure";
    DROP_PART "drop a part of a schema";
    FOREIGN_KEYS "foreign keys of a schema";
    DROP_FOREIGN_KEY "drop a foreign key";
    DROP_TABLE "drop a table";
    DROP_SCHEMA "drop a schema";
    COPIES "our databases";
    FIRST_FILE "first file of a database";
    USED "used bytes of a database";
    DONE_PERCENT "how far a session is";
    MAKE_DATABASE "make a database";
    BACK_UP "back up a database";
    RESTORE "restore a database";
    BACKUP_FILES "backups of a database";
    DELETE_BACKUP "delete a backup";
    FORGET_BACKUPS "forget backups";
    DROP_DATABASE "drop a database";
    AZURE_COPIES "databases with names of ours in Azure";
    STATE "state of a database";
    COPYING "how far a copy is";
    OPERATION "how far an operation is";
    MARK "mark of a database";
    OTHERS_WITHIN "what else is in a database";
    LEVEL "level in effect";
    HOME_LEVEL "level of the target";
    NOW "time of the server";
    MAKE_AZURE_DATABASE "make a database in Azure";
    MAKE_SIZED_AZURE_DATABASE "make a database of a size in Azure";
    MAKE_POOLED_DATABASE "make a database in a pool";
    COPY_AZURE_DATABASE "copy a database in Azure";
    MARK_DATABASE "mark a database";
    DROP_AZURE_DATABASE "drop a database in Azure";
    ASK_FOR_LEVEL "ask for a level";
    ASK_FOR_OTHER_EDITION "ask for a level of another edition";
    ASK_FOR_OTHER_EDITION_AND_SIZE "ask for a level of another edition and a size";
}

/// The name of the first file of a database of ours that was made from this one, by which it is known; and of its log.
pub(super) fn file_marks(home: &str) -> [String; 2] {
    // A file's name has 128 characters at most.
    let home: String = home.chars().take(100).collect();
    [format!("plimsoll of {home}"), format!("plimsoll log of {home}")]
}

/// The file of a database's backup, in the server's own folder for backups.
pub(super) fn backup_file(copy: &str) -> String {
    format!("{copy}.bak")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Level {
    /// Into an elastic pool.
    Pool(String),
    /// On its own: an edition, a service objective, and the largest size in bytes where it is known.
    Own { edition: String, objective: String, max_bytes: Option<u64> },
}

/// Makes a database in Azure, of this level: without saying so it would get the server's usual one.
pub(super) fn make_azure_database(copy: &str, level: &Level) -> String {
    match level {
        Level::Pool(pool) => MAKE_POOLED_DATABASE.filled(&[("copy", copy), ("pool", pool)]),
        Level::Own { edition, objective, max_bytes } => {
            let words = [("copy", copy), ("edition", edition), ("objective", objective)];
            let size = max_size(edition, *max_bytes);
            of_size(MAKE_AZURE_DATABASE, MAKE_SIZED_AZURE_DATABASE, words, size)
        }
    }
}

/// Asks for a level; of another edition with the largest size that the database has.
pub(super) fn ask_for_level(database: &str, level: &str, across: bool, max_bytes: Option<u64>) -> String {
    match edition_of(level).filter(|_| across) {
        Some(edition) => {
            let words = [("database", database), ("edition", edition), ("objective", level)];
            let size = max_size(edition, max_bytes);
            of_size(ASK_FOR_OTHER_EDITION, ASK_FOR_OTHER_EDITION_AND_SIZE, words, size)
        }
        None => ASK_FOR_LEVEL.filled(&[("database", database), ("objective", level)]),
    }
}

/// One of two statements: without a largest size, or with one.
fn of_size(without: Text, with: Text, words: [(&str, &str); 3], size: Option<(u64, &str)>) -> String {
    let Some((number, unit)) = size else { return without.filled(&words) };
    let [a, b, c] = words;
    with.filled(&[a, b, c, ("size", &number.to_string()), ("unit", unit)])
}

/// A largest size and its unit; none for Hyperscale, which takes none, and for sizes that can't be asked for.
fn max_size(edition: &str, bytes: Option<u64>) -> Option<(u64, &'static str)> {
    let bytes = bytes.filter(|bytes| *bytes > 0 && edition != HYPERSCALE)?;
    let (shift, unit) = [(30, "GB"), (20, "MB")].into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift))?;
    Some((bytes >> shift, unit))
}

const HYPERSCALE: &str = "Hyperscale";

/// The edition that a service objective is of, as far as its name says so.
pub(super) fn edition_of(objective: &str) -> Option<&'static str> {
    match objective {
        "Basic" => Some("Basic"),
        _ if objective.starts_with("GP_") => Some("GeneralPurpose"),
        _ if objective.starts_with("BC_") => Some("BusinessCritical"),
        _ if objective.starts_with("HS_") => Some(HYPERSCALE),
        _ if objective.starts_with('S') => Some("Standard"),
        _ if objective.starts_with('P') => Some("Premium"),
        _ => None,
    }
}

/// True for a level of Hyperscale, by the beginning of its name.
pub(super) fn is_hyperscale(objective: &str) -> bool {
    edition_of(objective) == Some(HYPERSCALE)
}

/// A name in brackets.
pub(super) fn quoted(name: &str) -> String {
    QUOTING.name(name)
}

/// A table or a procedure in its schema, both in brackets.
pub(super) fn in_schema(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// The name under which a lease on a place is known, and that of its gate. Never to change, as programs of different versions
/// must respect each other's leases.
pub(super) fn resource(workspace: &str) -> [String; 2] {
    [format!("plimsoll lease {workspace}"), format!("plimsoll gate {workspace}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_made_of_its_level_and_size() {
        let own = |edition: &str, objective: &str, max_bytes| Level::Own {
            edition: edition.to_owned(),
            objective: objective.to_owned(),
            max_bytes,
        };
        for (level, expected) in [
            (
                own("Standard", "S2", Some(250 << 30)),
                "(EDITION = 'Standard', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'S2')",
            ),
            (
                own("Basic", "Basic", Some(500 << 20)),
                "(EDITION = 'Basic', MAXSIZE = 500 MB, SERVICE_OBJECTIVE = 'Basic')",
            ),
            (own("Standard", "S2", None), "(EDITION = 'Standard', SERVICE_OBJECTIVE = 'S2')"),
            (
                own("Hyperscale", "HS_Gen5_2", Some(1 << 40)),
                "(EDITION = 'Hyperscale', SERVICE_OBJECTIVE = 'HS_Gen5_2')",
            ),
            (Level::Pool("p]1".to_owned()), "(SERVICE_OBJECTIVE = ELASTIC_POOL(name = [p]]1]))"),
        ] {
            assert_eq!(make_azure_database("c", &level), format!("CREATE DATABASE [c] {expected}"));
        }
    }

    #[test]
    fn a_level_of_another_edition_keeps_the_largest_size() {
        for (level, across, max_bytes, expected) in [
            ("S3", false, Some(250 << 30), "SERVICE_OBJECTIVE = 'S3'"),
            ("P1", true, None, "EDITION = 'Premium', SERVICE_OBJECTIVE = 'P1'"),
            ("Basic", true, Some(1 << 31), "EDITION = 'Basic', MAXSIZE = 2 GB, SERVICE_OBJECTIVE = 'Basic'"),
        ] {
            let sql = ask_for_level("sa]les", level, across, max_bytes);
            assert_eq!(sql, format!("ALTER DATABASE [sa]]les] MODIFY ({expected})"));
        }
    }
}
