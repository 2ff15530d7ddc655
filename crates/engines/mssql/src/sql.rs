//! Every text that we send to a server, each with the products it is for. Written to Microsoft's documentation; a test holds
//! the columns of system views against `data/mssql-views.toml`, and each text is a golden file.
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

/// A text and what it is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    /// Its name among the golden files.
    pub(super) name: &'static str,
    /// The products on which it is sent.
    pub(super) products: &'static [Product],
    /// The text.
    pub(super) sql: &'static str,
}

const ALL: &[Product] = &[Product::Server, Product::Database, Product::Instance];
const AZURE_DATABASE: &[Product] = &[Product::Database];
const SERVER: &[Product] = &[Product::Server];
const INSTANCE: &[Product] = &[Product::Instance];
const OWN_FILES: &[Product] = &[Product::Server, Product::Instance];

macro_rules! texts {
    ($($constant:ident $name:literal $products:ident $sql:expr;)+) => {
        $(pub(super) const $constant: Text = Text { name: $name, products: $products, sql: $sql };)+

        /// All of them.
        #[cfg(test)]
        pub(super) const TEXTS: &[Text] = &[$($constant),+];
    };
}

texts! {
    // Who the server is. Every value may be NULL on a server that only speaks the language.
    IDENTITY "identity" ALL
        "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('Edition') AS nvarchar(128)), \
         CAST(SERVERPROPERTY('EngineEdition') AS int), CAST(@@VERSION AS nvarchar(400)), CAST(@@SERVERNAME AS nvarchar(256)), \
         CAST(DB_NAME() AS nvarchar(256))";
    // READ_ONLY also for a replica of a database that can be written elsewhere.
    UPDATEABILITY "whether the database can be written" ALL
        "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(60))";
    // The driver learns a table's columns by putting their names together so before it loads rows; not every server can.
    PUTS_TOGETHER "whether names are put together" ALL
        "DECLARE @names nvarchar(100); SELECT @names = COALESCE(@names + N',', N'') + v.name FROM (VALUES (N'a'), (N'b')) v(name); \
         SELECT @names";
    DATABASE_SETTINGS "database settings" ALL
        "SELECT CAST(d.recovery_model_desc AS nvarchar(60)), CAST(d.is_read_committed_snapshot_on AS int), \
         CAST(d.snapshot_isolation_state_desc AS nvarchar(60)), CAST(d.delayed_durability_desc AS nvarchar(60)), \
         CAST(d.compatibility_level AS int), CAST(d.collation_name AS nvarchar(128)), \
         CAST(d.page_verify_option_desc AS nvarchar(60)), CAST(d.is_auto_shrink_on AS int), CAST(d.is_encrypted AS int), \
         CAST(d.is_read_only AS int) FROM sys.databases d WHERE d.name = DB_NAME()";
    FILES "file layout" ALL
        "SELECT CAST(f.name AS nvarchar(128)), CAST(f.type_desc AS nvarchar(60)), CAST(f.size AS bigint) * 8192, \
         CAST(f.max_size AS bigint), CAST(f.growth AS bigint), CAST(f.is_percent_growth AS int) \
         FROM sys.database_files f ORDER BY f.file_id";
    // By its name: in Azure SQL Database a database's number may be another one in these views than DB_ID() says.
    OBJECTIVE "service objective" AZURE_DATABASE
        "SELECT CAST(o.edition AS nvarchar(60)), CAST(o.service_objective AS nvarchar(60)), \
         CAST(o.elastic_pool_name AS nvarchar(128)), CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128)) \
         FROM sys.databases d JOIN sys.database_service_objectives o ON o.database_id = d.database_id WHERE d.name = DB_NAME()";
    GOVERNANCE "resource governance" AZURE_DATABASE
        "SELECT CAST(g.slo_name AS nvarchar(128)), CAST(g.dtu_limit AS int), CAST(g.cpu_limit AS float), CAST(g.max_dop AS int), \
         CAST(g.max_sessions AS int), CAST(g.primary_group_max_workers AS int), CAST(g.primary_max_log_rate AS bigint), \
         CAST(g.primary_group_max_io AS bigint), CAST(g.pool_max_io AS bigint), CAST(g.max_transaction_size AS bigint) \
         FROM sys.dm_user_db_resource_governance g WHERE g.database_id = DB_ID()";
    LARGEST_SIZE "largest size" AZURE_DATABASE
        "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint), \
         (SELECT SUM(CAST(FILEPROPERTY(f.name, 'SpaceUsed') AS bigint)) * 8192 FROM sys.database_files f WHERE f.type = 0)";
    FREE_SPACE "free space" OWN_FILES
        "SELECT MIN(CAST(v.available_bytes AS bigint)) FROM sys.database_files f \
         CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) v";
    SCHEDULERS "schedulers" ALL
        "SELECT COUNT_BIG(*) FROM sys.dm_os_schedulers s WHERE s.status = 'VISIBLE ONLINE'";
    TARGET_MEMORY "target server memory" ALL
        "SELECT CAST(c.cntr_value AS bigint) FROM sys.dm_os_performance_counters c \
         WHERE c.counter_name = N'Target Server Memory (KB)' AND c.object_name LIKE N'%Memory Manager%'";
    STARTED "when it was started" OWN_FILES
        "SELECT CAST(i.sqlserver_start_time AS datetime2(3)) FROM sys.dm_os_sys_info i";
    // NULL for a permission that a version does not know. The columns of both mean the same.
    PERMISSIONS "permissions" OWN_FILES
        "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE SCHEMA'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE TABLE'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CHECKPOINT'), \
         HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE'), \
         HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY CONNECTION'), HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SERVER STATE'), \
         IS_SRVROLEMEMBER('sysadmin'), CAST(SERVERPROPERTY('ProductMajorVersion') AS int)";
    MAY_MAKE_PROCEDURES "whether procedures may be made" ALL
        "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE PROCEDURE')";
    AZURE_PERMISSIONS "permissions in Azure" AZURE_DATABASE
        "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE SCHEMA'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE TABLE'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CHECKPOINT'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DATABASE STATE'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DATABASE PERFORMANCE STATE'), \
         HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'KILL DATABASE CONNECTION'), \
         IS_SRVROLEMEMBER('##MS_ServerStateManager##'), IS_SRVROLEMEMBER('##MS_ServerStateReader##'), CAST(NULL AS int)";

    // Counters.
    FILE_STATISTICS "file statistics" ALL
        "SELECT CAST(f.name AS nvarchar(128)), CAST(f.type AS int), CAST(v.num_of_reads AS bigint), CAST(v.num_of_bytes_read AS bigint), \
         CAST(v.io_stall_read_ms AS bigint), CAST(v.num_of_writes AS bigint), CAST(v.num_of_bytes_written AS bigint), \
         CAST(v.io_stall_write_ms AS bigint) FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) v \
         JOIN sys.database_files f ON f.file_id = v.file_id ORDER BY f.file_id";
    // With the time of the server, by which the counts are this old, and the file's pages. A file that is a blob has an URL for a path.
    FILE_STATISTICS_TIMED "file statistics and their time" ALL
        "SELECT CAST(f.name AS nvarchar(128)), CAST(f.type AS int), CAST(v.num_of_reads AS bigint), CAST(v.num_of_bytes_read AS bigint), \
         CAST(v.io_stall_read_ms AS bigint), CAST(v.num_of_writes AS bigint), CAST(v.num_of_bytes_written AS bigint), \
         CAST(v.io_stall_write_ms AS bigint), CAST(v.sample_ms AS bigint), CAST(f.size AS bigint), \
         CAST(CASE WHEN f.physical_name LIKE N'http%' THEN 1 ELSE 0 END AS int) FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) v \
         JOIN sys.database_files f ON f.file_id = v.file_id ORDER BY f.file_id";
    // Waits that have ended. Those of the server's own threads for work are of no use and most of the time.
    SERVER_WAITS "waits of the server" OWN_FILES
        "SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint) \
         FROM sys.dm_os_wait_stats w WHERE w.waiting_tasks_count > 0 AND w.wait_type NOT LIKE N'%QUEUE' \
         AND w.wait_type NOT LIKE N'%SLEEP%' AND w.wait_type NOT LIKE N'%IDLE%' AND w.wait_type NOT LIKE N'XE%' \
         AND w.wait_type NOT LIKE N'SQLTRACE%' AND w.wait_type NOT LIKE N'BROKER%' AND w.wait_type NOT LIKE N'DIRTY_PAGE%' \
         AND w.wait_type NOT LIKE N'QDS%' AND w.wait_type NOT LIKE N'HADR_WORK%' AND w.wait_type NOT LIKE N'HADR_TIMER%' \
         ORDER BY w.wait_type";
    DATABASE_WAITS "waits of the database" AZURE_DATABASE
        "SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint) \
         FROM sys.dm_db_wait_stats w WHERE w.waiting_tasks_count > 0 ORDER BY w.wait_type";
    // Sessions of users but this one that have a request, or an open transaction without one.
    SESSIONS "what sessions do" ALL
        "SELECT CAST(COALESCE(r.status, s.status) AS nvarchar(60)), CAST(r.wait_type AS nvarchar(60)), COUNT_BIG(*), \
         MAX(CAST(r.wait_time AS bigint)), CAST(CASE WHEN s.program_name LIKE N'plimsoll %' THEN 1 ELSE 0 END AS int) \
         FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id \
         WHERE s.is_user_process = 1 AND s.session_id <> @@SPID AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0) \
         GROUP BY COALESCE(r.status, s.status), r.wait_type, CASE WHEN s.program_name LIKE N'plimsoll %' THEN 1 ELSE 0 END";
    // A row is known by its end.
    NEWEST_RESOURCES "newest resource use" AZURE_DATABASE
        "SELECT TOP (1) CONVERT(nvarchar(23), r.end_time, 126), CAST(DATEDIFF(millisecond, r.end_time, GETUTCDATE()) AS bigint), \
         CAST(r.avg_cpu_percent AS float), CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float), \
         CAST(r.avg_memory_usage_percent AS float) FROM sys.dm_db_resource_stats r ORDER BY r.end_time DESC";
    // In master: means of five minutes, of the last day.
    RESOURCES_OF_DAYS "resource use of the last day" AZURE_DATABASE
        "SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float), \
         CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float), CAST(NULL AS float) \
         FROM sys.resource_stats r WHERE r.database_name = @P1 AND r.end_time > DATEADD(day, -1, GETUTCDATE()) ORDER BY r.end_time";
    // In master: of the last hour. What is I/O there is no percentage.
    INSTANCE_RESOURCES "resource use of an instance" INSTANCE
        "SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float), \
         CAST(NULL AS float), CAST(NULL AS float), CAST(NULL AS float) \
         FROM sys.server_resource_stats r WHERE r.end_time > DATEADD(hour, -1, GETUTCDATE()) ORDER BY r.end_time";
    OWN_CPU "CPU of the session" ALL
        "SELECT CAST(s.cpu_time AS bigint) FROM sys.dm_exec_sessions s WHERE s.session_id = @@SPID";
    OWN_WAITS "waits of the session" ALL
        "SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint) \
         FROM sys.dm_exec_session_wait_stats w WHERE w.session_id = @@SPID AND w.waiting_tasks_count > 0 ORDER BY w.wait_type";
    RESOURCES "resource use" AZURE_DATABASE
        "SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float), \
         CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float), CAST(r.avg_memory_usage_percent AS float) \
         FROM sys.dm_db_resource_stats r ORDER BY r.end_time";
    // The newest average of fifteen seconds.
    MEMORY_IN_USE "memory in use" AZURE_DATABASE
        "SELECT TOP (1) CAST(r.avg_memory_usage_percent AS float) FROM sys.dm_db_resource_stats r ORDER BY r.end_time DESC";
    // The text that is looked for is a parameter: a statement that names the table, and not this one. The blank lets a name end
    // the statement.
    PLAN_READS "physical reads by plan" ALL
        "SELECT COUNT_BIG(*), CAST(SUM(q.total_physical_reads) AS bigint) FROM sys.dm_exec_query_stats q \
         CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t WHERE t.text + N' ' LIKE @P1 AND t.text NOT LIKE '%dm_exec_query_stats%'";
    // The newest plan of the very text; what is prepared has its parameters' declarations in front.
    PLAN "plan of a statement" ALL
        "SELECT TOP (1) CAST(q.last_dop AS bigint), CAST(p.query_plan AS nvarchar(max)) FROM sys.dm_exec_query_stats q \
         CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t CROSS APPLY sys.dm_exec_query_plan(q.plan_handle) p \
         WHERE t.text LIKE @P1 AND t.text NOT LIKE '%dm_exec_query_stats%' ORDER BY q.last_execution_time DESC";
    // Pages of the rows, and of other indexes; of one's own tables everybody may see that.
    TABLE_SIZE "size of a table" ALL
        "SELECT CAST(SUM(CASE WHEN p.index_id < 2 THEN u.total_pages ELSE 0 END) AS bigint) * 8192, \
         CAST(SUM(CASE WHEN p.index_id > 1 THEN u.total_pages ELSE 0 END) AS bigint) * 8192 FROM sys.partitions p \
         JOIN sys.allocation_units u ON u.container_id = CASE WHEN u.type = 2 THEN p.partition_id ELSE p.hobt_id END \
         WHERE p.object_id = OBJECT_ID(@P1)";
    TABLE_IS_THERE "whether a table is there" ALL "SELECT CAST(OBJECT_ID(@P1) AS bigint)";

    // Places. The mark is an extended property of the schema.
    OWNER "owner of a schema" ALL
        "SELECT CAST(COUNT_BIG(p.name) AS int) FROM sys.schemas s LEFT JOIN sys.extended_properties p \
         ON p.class = 3 AND p.major_id = s.schema_id AND p.name = N'plimsoll' WHERE s.name = @P1 GROUP BY s.schema_id";
    PLACES "our schemas" ALL
        "SELECT CAST(s.name AS nvarchar(128)) FROM sys.schemas s JOIN sys.extended_properties p \
         ON p.class = 3 AND p.major_id = s.schema_id AND p.name = N'plimsoll' WHERE LEFT(s.name, 9) = N'plimsoll_' ORDER BY s.name";
    TABLES "tables of a schema" ALL
        "SELECT CAST(t.name AS nvarchar(128)) FROM sys.tables t WHERE t.schema_id = SCHEMA_ID(@P1) ORDER BY t.name";
    PROCEDURES "our procedures in a schema" ALL
        "SELECT CAST(o.name AS nvarchar(128)) FROM sys.objects o WHERE o.schema_id = SCHEMA_ID(@P1) AND RTRIM(o.type) = 'P' \
         AND LEFT(o.name, 9) = N'plimsoll_' ORDER BY o.name";
    STRANGERS "what else is in a schema" ALL
        "SELECT CAST(o.type_desc AS nvarchar(60)) + N' ' + CAST(o.name AS nvarchar(128)) FROM sys.objects o \
         WHERE o.schema_id = SCHEMA_ID(@P1) AND o.parent_object_id = 0 AND RTRIM(o.type) <> 'U' \
         AND NOT (RTRIM(o.type) = 'P' AND LEFT(o.name, 9) = N'plimsoll_') \
         UNION ALL SELECT N'FOREIGN KEY ' + CAST(k.name AS nvarchar(128)) FROM sys.foreign_keys k \
         JOIN sys.objects o ON o.object_id = k.referenced_object_id \
         WHERE o.schema_id = SCHEMA_ID(@P1) AND k.schema_id <> o.schema_id";
    IS_FREE "whether a lease is free" ALL
        "SELECT APPLOCK_TEST('public', @P1, 'Exclusive', 'Session')";
    // Of this database only: application locks are per database, so here nobody can tell whether a run in another one lives.
    WORKING_SESSIONS "sessions that work for runs" ALL
        "SELECT CAST(s.session_id AS int), CAST(s.program_name AS nvarchar(128)) FROM sys.dm_exec_sessions s \
         WHERE s.is_user_process = 1 AND s.database_id = DB_ID() AND s.program_name LIKE N'plimsoll work %' ORDER BY s.session_id";
    IS_WORKING "whether a session still works for a run" ALL
        "SELECT COUNT_BIG(*) FROM sys.dm_exec_sessions s WHERE s.session_id = @P1 AND s.program_name = @P2 \
         AND s.database_id = DB_ID()";

    // Whole databases of our own. On a machine their mark is the name of their first file, which is there from the first
    // moment on and goes with backups; in Azure it is an extended property.
    COPIES "our databases" SERVER
        "SELECT CAST(d.name AS nvarchar(128)) FROM sys.databases d JOIN sys.master_files f ON f.database_id = d.database_id \
         WHERE f.file_id = 1 AND LEFT(d.name, 14) = N'plimsoll_copy_' AND f.name = @P1 ORDER BY d.name";
    FIRST_FILE "first file of a database" SERVER
        "SELECT CAST(COALESCE(f.name, N'') AS nvarchar(128)) FROM sys.databases d \
         LEFT JOIN sys.master_files f ON f.database_id = d.database_id AND f.file_id = 1 WHERE d.name = @P1";
    // Of the kind that we make, and in files with nothing else in them: others back up our databases too.
    BACKUP_FILES "backups of a database" SERVER
        "SELECT DISTINCT CAST(m.physical_device_name AS nvarchar(260)) FROM msdb.dbo.backupset b \
         JOIN msdb.dbo.backupmediafamily m ON m.media_set_id = b.media_set_id WHERE b.database_name = @P1 \
         AND b.is_copy_only = 1 AND m.device_type = 2 AND NOT EXISTS (SELECT 1 FROM msdb.dbo.backupset o \
         WHERE o.media_set_id = b.media_set_id AND o.backup_set_id <> b.backup_set_id)";
    // Nobody else may remove files by xp_delete_file and what msdb knows of them.
    IS_ADMINISTRATOR "whether backups may be removed" SERVER "SELECT IS_SRVROLEMEMBER('sysadmin')";
    DONE_PERCENT "how far a session is" SERVER
        "SELECT CAST(r.percent_complete AS float) FROM sys.dm_exec_requests r WHERE r.session_id = @P1";
    AZURE_COPIES "databases with names of ours in Azure" AZURE_DATABASE
        "SELECT CAST(d.name AS nvarchar(128)) FROM sys.databases d WHERE LEFT(d.name, 14) = N'plimsoll_copy_' ORDER BY d.name";
    STATE "state of a database" AZURE_DATABASE
        "SELECT CAST(d.state_desc AS nvarchar(60)) FROM sys.databases d WHERE d.name = @P1";
    COPYING "how far a copy is" AZURE_DATABASE
        "SELECT CAST(c.percent_complete AS float), CAST(c.partner_database AS nvarchar(128)) FROM sys.dm_database_copies c \
         JOIN sys.databases d ON d.database_id = c.database_id WHERE d.name = @P1";
    OPERATION "how far an operation is" AZURE_DATABASE
        "SELECT TOP (1) CAST(o.percent_complete AS float) FROM sys.dm_operation_status o \
         WHERE CAST(o.major_resource_id AS nvarchar(128)) = @P1 ORDER BY o.start_time DESC";
    MARK "mark of a database" AZURE_DATABASE
        "SELECT CAST(p.value AS nvarchar(128)) FROM sys.extended_properties p WHERE p.class = 0 AND p.name = N'plimsoll'";
    OTHERS_WITHIN "what else is in a database" AZURE_DATABASE
        "SELECT COUNT_BIG(*) FROM sys.objects o WHERE o.is_ms_shipped = 0 AND o.schema_id <> COALESCE(SCHEMA_ID(@P1), -1)";
    USED "used bytes of a database" ALL
        "SELECT SUM(CAST(FILEPROPERTY(f.name, 'SpaceUsed') AS bigint)) * 8192 FROM sys.database_files f WHERE f.type = 0";
    OWN_NUMBER "number of the session" ALL "SELECT CAST(@@SPID AS int)";
    LEVEL "level in effect" AZURE_DATABASE
        "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128)), \
         CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint)";
    HOME_LEVEL "level of the target" AZURE_DATABASE
        "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'Edition') AS nvarchar(128)), \
         CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128)), \
         CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint), CAST(o.elastic_pool_name AS nvarchar(128)) \
         FROM sys.databases d LEFT JOIN sys.database_service_objectives o ON o.database_id = d.database_id \
         WHERE d.name = DB_NAME()";
    // Whole seconds, and none before what was written by now.
    NOW "time of the server" AZURE_DATABASE "SELECT CONVERT(nvarchar(19), DATEADD(second, 1, SYSUTCDATETIME()), 126)";

    // Life of a session.
    SETTINGS "settings of a session" ALL
        "SET NOCOUNT OFF; SET XACT_ABORT OFF; SET LOCK_TIMEOUT 60000; SET ARITHABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    // Nobody who only asks or tidies up is to wait for a lock for ever.
    PATIENCE "patience of a session" ALL "SET LOCK_TIMEOUT 60000";
    ROLLBACK "roll back what there is" ALL "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";
    CHECKPOINT "checkpoint" ALL "CHECKPOINT";
    DROP_BUFFERS "drop clean buffers" ALL "DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS";
    // The procedure takes nvarchar and nothing else.
    CHECK "check a statement" ALL
        "DECLARE @text nvarchar(max) = @P1; EXEC sys.sp_describe_undeclared_parameters @tsql = @text";
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

/// Drops tables of a place.
pub(super) fn drop_tables(workspace: &str, tables: &[String]) -> String {
    let names: Vec<String> = tables.iter().map(|table| format!("{}.{}", quoted(workspace), quoted(table))).collect();
    format!("DROP TABLE {}", names.join(", "))
}

/// Drops procedures of a place.
pub(super) fn drop_procedures(workspace: &str, procedures: &[String]) -> String {
    let names: Vec<String> = procedures.iter().map(|name| format!("{}.{}", quoted(workspace), quoted(name))).collect();
    format!("DROP PROCEDURE {}", names.join(", "))
}

/// Drops a procedure that may be there from an earlier repetition.
pub(super) fn drop_procedure(name: &str) -> String {
    format!("DROP PROCEDURE IF EXISTS {name}")
}

/// Drops the schema of a place, which has to be empty.
pub(super) fn drop_workspace(workspace: &str) -> String {
    format!("DROP SCHEMA {}", quoted(workspace))
}

/// Ends a session.
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

/// Where a new database in Azure is put.
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
