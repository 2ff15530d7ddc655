//! Every text that we send to a server, each with the products it is for: what is always the same in `data/texts.sql`, and here
//! what names are put into. Written to Microsoft's documentation; a test holds the columns of system views against
//! `data/mssql-views.toml`, and each text that is made here is a golden file.
//!
//! Columns of system views are written with their view's alias throughout, so that the test can find them. Values of type
//! `sql_variant` are cast, as their own types vary by product.

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

#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    /// Its name among the golden files.
    pub(super) name: &'static str,
    /// The products on which it is sent.
    pub(super) products: &'static [Product],
    pub(super) sql: &'static str,
}

const ALL: &[Product] = &[Product::Server, Product::Database, Product::Instance];
const AZURE_DATABASE: &[Product] = &[Product::Database];
const SERVER: &[Product] = &[Product::Server];
const INSTANCE: &[Product] = &[Product::Instance];
const OWN_FILES: &[Product] = &[Product::Server, Product::Instance];

/// The texts by their names.
pub(super) const FILE: &str = include_str!("../data/texts.sql");

/// A text of the file, found while we are compiled: behind a line with its name and comments of ours, up to the next name.
const fn text_of(name: &str) -> &'static str {
    let (file, name) = (FILE.as_bytes(), name.as_bytes());
    let mut at = 0;
    // Past the line with its name, and past comments.
    while !(starts(file, at, b"\n--- ") && starts(file, at + 5, name) && file[at + 5 + name.len()] == b'\n') {
        at += 1;
    }
    at += 1;
    while starts(file, at, b"--") {
        while file[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    let mut end = at;
    while end < file.len() && !starts(file, end, b"\n--- ") {
        end += 1;
    }
    FILE.split_at(end).0.split_at(at).1.trim_ascii_end()
}

/// True if the bytes from there on begin so.
const fn starts(bytes: &[u8], at: usize, with: &[u8]) -> bool {
    let mut index = 0;
    while index < with.len() {
        if at + index >= bytes.len() || bytes[at + index] != with[index] {
            return false;
        }
        index += 1;
    }
    true
}

macro_rules! texts {
    ($($constant:ident $name:literal $products:ident;)+) => {
        $(pub(super) const $constant: Text = Text { name: $name, products: $products, sql: text_of($name) };)+

        /// All of them.
        #[cfg(test)]
        pub(super) const TEXTS: &[Text] = &[$($constant),+];
    };
}

texts! {
    IDENTITY "identity" ALL;
    UPDATEABILITY "whether the database can be written" ALL;
    PUTS_TOGETHER "whether names are put together" ALL;
    DATABASE_SETTINGS "database settings" ALL;
    FILES "file layout" ALL;
    OBJECTIVE "service objective" AZURE_DATABASE;
    GOVERNANCE "resource governance" AZURE_DATABASE;
    LARGEST_SIZE "largest size" AZURE_DATABASE;
    FREE_SPACE "free space" OWN_FILES;
    SCHEDULERS "schedulers" ALL;
    TARGET_MEMORY "target server memory" ALL;
    STARTED "when it was started" OWN_FILES;
    PERMISSIONS "permissions" OWN_FILES;
    MAY_MAKE_PROCEDURES "whether procedures may be made" ALL;
    AZURE_PERMISSIONS "permissions in Azure" AZURE_DATABASE;
    FILE_STATISTICS "file statistics" ALL;
    FILE_STATISTICS_TIMED "file statistics and their time" ALL;
    SERVER_WAITS "waits of the server" OWN_FILES;
    DATABASE_WAITS "waits of the database" AZURE_DATABASE;
    SESSIONS "what sessions do" ALL;
    NEWEST_RESOURCES "newest resource use" AZURE_DATABASE;
    RESOURCES_OF_DAYS "resource use of the last day" AZURE_DATABASE;
    INSTANCE_RESOURCES "resource use of an instance" INSTANCE;
    OWN_CPU "CPU of the session" ALL;
    OWN_WAITS "waits of the session" ALL;
    RESOURCES "resource use" AZURE_DATABASE;
    MEMORY_IN_USE "memory in use" AZURE_DATABASE;
    PLAN_READS "physical reads by plan" ALL;
    PLAN "plan of a statement" ALL;
    TABLE_SIZE "size of a table" ALL;
    TABLE_IS_THERE "whether a table is there" ALL;
    OWNER "owner of a schema" ALL;
    PLACES "our schemas" ALL;
    TABLES "tables of a schema" ALL;
    PROCEDURES "our procedures in a schema" ALL;
    STRANGERS "what else is in a schema" ALL;
    IS_FREE "whether a lease is free" ALL;
    WORKING_SESSIONS "sessions that work for runs" ALL;
    IS_WORKING "whether a session still works for a run" ALL;
    COPIES "our databases" SERVER;
    FIRST_FILE "first file of a database" SERVER;
    BACKUP_FILES "backups of a database" SERVER;
    IS_ADMINISTRATOR "whether backups may be removed" SERVER;
    DONE_PERCENT "how far a session is" SERVER;
    AZURE_COPIES "databases with names of ours in Azure" AZURE_DATABASE;
    STATE "state of a database" AZURE_DATABASE;
    COPYING "how far a copy is" AZURE_DATABASE;
    OPERATION "how far an operation is" AZURE_DATABASE;
    MARK "mark of a database" AZURE_DATABASE;
    OTHERS_WITHIN "what else is in a database" AZURE_DATABASE;
    USED "used bytes of a database" ALL;
    OWN_NUMBER "number of the session" ALL;
    LEVEL "level in effect" AZURE_DATABASE;
    HOME_LEVEL "level of the target" AZURE_DATABASE;
    NOW "time of the server" AZURE_DATABASE;
    SETTINGS "settings of a session" ALL;
    PATIENCE "patience of a session" ALL;
    ROLLBACK "roll back what there is" ALL;
    CHECKPOINT "checkpoint" ALL;
    DROP_BUFFERS "drop clean buffers" ALL;
    CHECK "check a statement" ALL;
}

/// Makes the schema of a place with its mark, or nothing.
pub(super) fn create_workspace(workspace: &str) -> String {
    format!(
        "SET XACT_ABORT ON; BEGIN TRANSACTION; EXEC(N'CREATE SCHEMA [{workspace}]'); \
         EXEC sp_addextendedproperty @name = N'plimsoll', @value = N'measurement data, may be removed', \
         @level0type = N'SCHEMA', @level0name = N'{workspace}'; COMMIT TRANSACTION; SET XACT_ABORT OFF"
    )
}

/// What makes a schema ours after all.
pub(super) fn mark(workspace: &str) -> String {
    format!("EXEC sp_addextendedproperty N'plimsoll', N'measurement data, may be removed', N'SCHEMA', N'{workspace}'")
}

/// Takes an application lock of this session, and answers with a number below zero if it was not to be had in that time.
pub(super) fn take_lock(resource: &str, shared: bool, patience_ms: u32) -> String {
    let mode = if shared { "Shared" } else { "Exclusive" };
    format!(
        "DECLARE @taken int; EXEC @taken = sp_getapplock @Resource = N'{resource}', @LockMode = '{mode}', \
         @LockOwner = 'Session', @LockTimeout = {patience_ms}, @DbPrincipal = 'public'; SELECT @taken"
    )
}

/// Gives back an application lock of this session.
pub(super) fn give_lock_back(resource: &str) -> String {
    format!("EXEC sp_releaseapplock @Resource = N'{resource}', @LockOwner = 'Session', @DbPrincipal = 'public'")
}

/// Drops objects of a kind (`TABLE`, `PROCEDURE`) in a place.
pub(super) fn drop_objects(kind: &str, workspace: &str, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{}.{}", quoted(workspace), quoted(name))).collect();
    format!("DROP {kind} {}", names.join(", "))
}

/// Drops a procedure that may be there from an earlier repetition.
pub(super) fn drop_procedure(name: &str) -> String {
    format!("DROP PROCEDURE IF EXISTS {name}")
}

/// Drops the schema of a place, which has to be empty.
pub(super) fn drop_workspace(workspace: &str) -> String {
    format!("DROP SCHEMA {}", quoted(workspace))
}

pub(super) fn kill(session: i64) -> String {
    format!("KILL {session}")
}

/// Statistics of a table after a load.
pub(super) fn settle(workspace: &str, table: &str) -> String {
    format!("UPDATE STATISTICS {}.{}", quoted(workspace), quoted(table))
}

/// The name of the first file of a database of ours that was made from this one, by which it is known; and of its log.
pub(super) fn file_marks(home: &str) -> [String; 2] {
    // A file's name has 128 characters at most.
    let home: String = home.chars().take(100).collect();
    [format!("plimsoll of {home}"), format!("plimsoll log of {home}")]
}

/// A text in quotes.
pub(super) fn text(words: &str) -> String {
    format!("N'{}'", words.replace('\'', "''"))
}

/// Makes a database on a machine, with its mark, among the server's other ones.
pub(super) fn create_database(copy: &str, home: &str) -> String {
    let [data, log] = file_marks(home).map(|mark| quoted(&mark).replace('\'', "''"));
    format!(
        "DECLARE @data nvarchar(260) = REPLACE(CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(260)), N'''', N''''''), \
         @log nvarchar(260) = REPLACE(CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(260)), N'''', N''''''); \
         EXEC(N'CREATE DATABASE [{copy}] ON PRIMARY (NAME = {data}, FILENAME = N''' + @data + N'{copy}.mdf'') \
         LOG ON (NAME = {log}, FILENAME = N''' + @log + N'{copy}_log.ldf'')')"
    )
}

/// Backs up a database into a file of its name in the server's own folder for backups, which replaces one of that name.
pub(super) fn back_up(copy: &str) -> String {
    format!("BACKUP DATABASE [{copy}] TO DISK = N'{copy}.bak' WITH COPY_ONLY, FORMAT, NO_COMPRESSION, STATS = 5")
}

/// Restores that backup as another database.
pub(super) fn restore(from: &str, to: &str, home: &str) -> String {
    let [data, log] = file_marks(home).map(|mark| text(&mark));
    format!(
        "DECLARE @data nvarchar(260) = CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(260)) + N'{to}.mdf', \
         @log nvarchar(260) = CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(260)) + N'{to}_log.ldf'; \
         RESTORE DATABASE [{to}] FROM DISK = N'{from}.bak' WITH MOVE {data} TO @data, MOVE {log} TO @log, STATS = 5"
    )
}

/// Removes a backup that the server has written.
pub(super) fn delete_backup(file: &str) -> String {
    format!("EXEC master.sys.xp_delete_file 0, {}", text(file))
}

/// Has the server forget backups of a database.
pub(super) fn forget_backups(copy: &str) -> String {
    format!("EXEC msdb.dbo.sp_delete_database_backuphistory @database_name = N'{copy}'")
}

/// Drops a database on a machine with the sessions that are in it. One that a restore left unfinished takes nobody in.
pub(super) fn drop_database(copy: &str) -> String {
    format!(
        "IF DATABASEPROPERTYEX(N'{copy}', 'Status') = 'ONLINE' ALTER DATABASE [{copy}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; \
         DROP DATABASE [{copy}]"
    )
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Level {
    /// Into an elastic pool.
    Pool(String),
    /// On its own: an edition, a service objective, and the largest size in bytes where it is known.
    Own { edition: String, objective: String, max_bytes: Option<u64> },
}

/// Makes a database in Azure, of this level: without saying so it would get the server's usual one.
pub(super) fn create_azure_database(copy: &str, level: &Level) -> String {
    match level {
        Level::Pool(pool) => {
            format!("CREATE DATABASE [{copy}] (SERVICE_OBJECTIVE = ELASTIC_POOL(name = {}))", quoted(pool))
        }
        Level::Own { edition, objective, max_bytes } => {
            let size = max_size(edition, *max_bytes);
            format!("CREATE DATABASE [{copy}] (EDITION = '{edition}', {size}SERVICE_OBJECTIVE = '{objective}')")
        }
    }
}

/// The words for a largest size; none for Hyperscale, which takes none, and for sizes that can't be asked for.
fn max_size(edition: &str, bytes: Option<u64>) -> String {
    let bytes = bytes.filter(|bytes| *bytes > 0 && edition != HYPERSCALE);
    let words = bytes.and_then(|bytes| {
        let units = [(30, "GB"), (20, "MB")].into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift));
        units.map(|(shift, name)| format!("MAXSIZE = {} {name}, ", bytes >> shift))
    });
    words.unwrap_or_default()
}

/// Copies a database in Azure; its mark goes with it.
pub(super) fn copy_azure_database(from: &str, to: &str) -> String {
    format!("CREATE DATABASE [{to}] AS COPY OF [{from}]")
}

/// Drops a database in Azure, also one that is being made.
pub(super) fn drop_azure_database(copy: &str) -> String {
    format!("DROP DATABASE [{copy}]")
}

/// Marks the database at hand, if it is not marked yet.
pub(super) fn mark_database(home: &str) -> String {
    format!(
        "IF NOT EXISTS (SELECT 1 FROM sys.extended_properties p WHERE p.class = 0 AND p.name = N'plimsoll') \
         EXEC sp_addextendedproperty @name = N'plimsoll', @value = {}",
        text(home)
    )
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

/// Asks for a level; of another edition with the largest size that the database has, which would else become that edition's
/// usual one.
pub(super) fn ask_for_level(database: &str, level: &str, across: bool, max_bytes: Option<u64>) -> String {
    let options = match edition_of(level).filter(|_| across) {
        Some(edition) => format!("EDITION = '{edition}', {}", max_size(edition, max_bytes)),
        None => String::new(),
    };
    format!("ALTER DATABASE {} MODIFY ({options}SERVICE_OBJECTIVE = '{level}')", quoted(database))
}

/// A name in brackets.
pub(super) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// The name under which a lease on a place is known, and that of its gate. Never to change, as programs of different versions
/// must respect each other's leases.
pub(super) fn resource(workspace: &str) -> [String; 2] {
    [format!("plimsoll lease {workspace}"), format!("plimsoll gate {workspace}")]
}
