--- The texts that are sent as they are. Each begins at a line with three dashes and its name; comments before its first word are ours.

--- identity
-- The identity of the server. Every value may be NULL on a server that only speaks the language.
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('Edition') AS nvarchar(128)),
  CAST(SERVERPROPERTY('EngineEdition') AS int), CAST(@@VERSION AS nvarchar(400)), CAST(@@SERVERNAME AS nvarchar(256)),
  CAST(DB_NAME() AS nvarchar(256))

--- whether the database can be written
-- READ_ONLY also for a replica of a database that can be written elsewhere.
SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(60))

--- whether names are put together
-- The driver learns a table's columns by putting their names together so before it loads rows; not every server can.
DECLARE @names nvarchar(100); SELECT @names = COALESCE(@names + N',', N'') + v.name FROM (VALUES (N'a'), (N'b')) v(name);
  SELECT @names

--- database settings
SELECT CAST(d.recovery_model_desc AS nvarchar(60)), CAST(d.is_read_committed_snapshot_on AS int),
  CAST(d.snapshot_isolation_state_desc AS nvarchar(60)), CAST(d.delayed_durability_desc AS nvarchar(60)),
  CAST(d.compatibility_level AS int), CAST(d.collation_name AS nvarchar(128)),
  CAST(d.page_verify_option_desc AS nvarchar(60)), CAST(d.is_auto_shrink_on AS int), CAST(d.is_encrypted AS int),
  CAST(d.is_read_only AS int) FROM sys.databases d WHERE d.name = DB_NAME()

--- file layout
SELECT CAST(f.name AS nvarchar(128)), CAST(f.type_desc AS nvarchar(60)), CAST(f.size AS bigint) * 8192,
  CAST(f.max_size AS bigint), CAST(f.growth AS bigint), CAST(f.is_percent_growth AS int)
  FROM sys.database_files f ORDER BY f.file_id

--- service objective
-- By its name: in Azure SQL Database a database's number may be another one in these views than DB_ID() says.
SELECT CAST(o.edition AS nvarchar(60)), CAST(o.service_objective AS nvarchar(60)),
  CAST(o.elastic_pool_name AS nvarchar(128)), CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128))
  FROM sys.databases d JOIN sys.database_service_objectives o ON o.database_id = d.database_id WHERE d.name = DB_NAME()

--- resource governance
SELECT CAST(g.slo_name AS nvarchar(128)), CAST(g.dtu_limit AS int), CAST(g.cpu_limit AS float), CAST(g.max_dop AS int),
  CAST(g.max_sessions AS int), CAST(g.primary_group_max_workers AS int), CAST(g.primary_max_log_rate AS bigint),
  CAST(g.primary_group_max_io AS bigint), CAST(g.pool_max_io AS bigint), CAST(g.max_transaction_size AS bigint)
  FROM sys.dm_user_db_resource_governance g WHERE g.database_id = DB_ID()

--- largest size
SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint),
  (SELECT SUM(CAST(FILEPROPERTY(f.name, 'SpaceUsed') AS bigint)) * 8192 FROM sys.database_files f WHERE f.type = 0)

--- free space
SELECT MIN(CAST(v.available_bytes AS bigint)) FROM sys.database_files f
  CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) v

--- schedulers
SELECT COUNT_BIG(*) FROM sys.dm_os_schedulers s WHERE s.status = 'VISIBLE ONLINE'

--- target server memory
SELECT CAST(c.cntr_value AS bigint) FROM sys.dm_os_performance_counters c
  WHERE c.counter_name = N'Target Server Memory (KB)' AND c.object_name LIKE N'%Memory Manager%'

--- when it was started
SELECT CAST(i.sqlserver_start_time AS datetime2(3)) FROM sys.dm_os_sys_info i

--- permissions
-- NULL for a permission that a version does not know. The columns of both mean the same.
SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE SCHEMA'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE TABLE'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CHECKPOINT'),
  HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE'),
  HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY CONNECTION'), HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SERVER STATE'),
  IS_SRVROLEMEMBER('sysadmin'), CAST(SERVERPROPERTY('ProductMajorVersion') AS int)

--- whether procedures may be made
SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE PROCEDURE')

--- permissions in Azure
SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE SCHEMA'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE TABLE'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CHECKPOINT'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DATABASE STATE'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DATABASE PERFORMANCE STATE'),
  HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'KILL DATABASE CONNECTION'),
  IS_SRVROLEMEMBER('##MS_ServerStateManager##'), IS_SRVROLEMEMBER('##MS_ServerStateReader##'), CAST(NULL AS int)

--- file statistics
-- Counters.
SELECT CAST(f.name AS nvarchar(128)), CAST(f.type AS int), CAST(v.num_of_reads AS bigint), CAST(v.num_of_bytes_read AS bigint),
  CAST(v.io_stall_read_ms AS bigint), CAST(v.num_of_writes AS bigint), CAST(v.num_of_bytes_written AS bigint),
  CAST(v.io_stall_write_ms AS bigint) FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) v
  JOIN sys.database_files f ON f.file_id = v.file_id ORDER BY f.file_id

--- file statistics and their time
-- With the time of the server, by which the counts are this old, and the file's pages. A file that is a blob has an URL for a path.
SELECT CAST(f.name AS nvarchar(128)), CAST(f.type AS int), CAST(v.num_of_reads AS bigint), CAST(v.num_of_bytes_read AS bigint),
  CAST(v.io_stall_read_ms AS bigint), CAST(v.num_of_writes AS bigint), CAST(v.num_of_bytes_written AS bigint),
  CAST(v.io_stall_write_ms AS bigint), CAST(v.sample_ms AS bigint), CAST(f.size AS bigint),
  CAST(CASE WHEN f.physical_name LIKE N'http%' THEN 1 ELSE 0 END AS int) FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) v
  JOIN sys.database_files f ON f.file_id = v.file_id ORDER BY f.file_id

--- waits of the server
-- Waits that have ended. Those of the server's own threads for work are of no use and most of the time.
SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint)
  FROM sys.dm_os_wait_stats w WHERE w.waiting_tasks_count > 0 AND w.wait_type NOT LIKE N'%QUEUE'
  AND w.wait_type NOT LIKE N'%SLEEP%' AND w.wait_type NOT LIKE N'%IDLE%' AND w.wait_type NOT LIKE N'XE%'
  AND w.wait_type NOT LIKE N'SQLTRACE%' AND w.wait_type NOT LIKE N'BROKER%' AND w.wait_type NOT LIKE N'DIRTY_PAGE%'
  AND w.wait_type NOT LIKE N'QDS%' AND w.wait_type NOT LIKE N'HADR_WORK%' AND w.wait_type NOT LIKE N'HADR_TIMER%'
  ORDER BY w.wait_type

--- waits of the database
SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint)
  FROM sys.dm_db_wait_stats w WHERE w.waiting_tasks_count > 0 ORDER BY w.wait_type

--- what sessions do
-- Sessions of users but this one that have a request, or an open transaction without one.
SELECT CAST(COALESCE(r.status, s.status) AS nvarchar(60)), CAST(r.wait_type AS nvarchar(60)), COUNT_BIG(*),
  MAX(CAST(r.wait_time AS bigint)), CAST(CASE WHEN s.program_name LIKE N'plimsoll %' THEN 1 ELSE 0 END AS int)
  FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id
  WHERE s.is_user_process = 1 AND s.session_id <> @@SPID AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0)
  GROUP BY COALESCE(r.status, s.status), r.wait_type, CASE WHEN s.program_name LIKE N'plimsoll %' THEN 1 ELSE 0 END

--- newest resource use
-- A row is known by its end.
SELECT TOP (1) CONVERT(nvarchar(23), r.end_time, 126), CAST(DATEDIFF(millisecond, r.end_time, GETUTCDATE()) AS bigint),
  CAST(r.avg_cpu_percent AS float), CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float),
  CAST(r.avg_memory_usage_percent AS float) FROM sys.dm_db_resource_stats r ORDER BY r.end_time DESC

--- resource use of the last day
-- In master: means of five minutes, of the last day.
SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float),
  CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float), CAST(NULL AS float)
  FROM sys.resource_stats r WHERE r.database_name = @P1 AND r.end_time > DATEADD(day, -1, GETUTCDATE()) ORDER BY r.end_time

--- resource use of an instance
-- In master: of the last hour. What is I/O there is no percentage.
SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float),
  CAST(NULL AS float), CAST(NULL AS float), CAST(NULL AS float)
  FROM sys.server_resource_stats r WHERE r.end_time > DATEADD(hour, -1, GETUTCDATE()) ORDER BY r.end_time

--- CPU of the session
SELECT CAST(s.cpu_time AS bigint) FROM sys.dm_exec_sessions s WHERE s.session_id = @@SPID

--- waits of the session
SELECT CAST(w.wait_type AS nvarchar(60)), CAST(w.waiting_tasks_count AS bigint), CAST(w.wait_time_ms AS bigint)
  FROM sys.dm_exec_session_wait_stats w WHERE w.session_id = @@SPID AND w.waiting_tasks_count > 0 ORDER BY w.wait_type

--- resource use
SELECT CAST(DATEDIFF(second, r.end_time, GETUTCDATE()) AS bigint), CAST(r.avg_cpu_percent AS float),
  CAST(r.avg_data_io_percent AS float), CAST(r.avg_log_write_percent AS float), CAST(r.avg_memory_usage_percent AS float)
  FROM sys.dm_db_resource_stats r ORDER BY r.end_time

--- memory in use
-- The newest average of fifteen seconds.
SELECT TOP (1) CAST(r.avg_memory_usage_percent AS float) FROM sys.dm_db_resource_stats r ORDER BY r.end_time DESC

--- physical reads by plan
-- The text that is looked for is a parameter: a statement that names the table, and not this one. The blank lets a name end
-- the statement.
SELECT COUNT_BIG(*), CAST(SUM(q.total_physical_reads) AS bigint) FROM sys.dm_exec_query_stats q
  CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t WHERE t.text + N' ' LIKE @P1 AND t.text NOT LIKE '%dm_exec_query_stats%'

--- plan of a statement
-- The newest plan of the very text; what is prepared has its parameters' declarations in front.
SELECT TOP (1) CAST(q.last_dop AS bigint), CAST(p.query_plan AS nvarchar(max)) FROM sys.dm_exec_query_stats q
  CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t CROSS APPLY sys.dm_exec_query_plan(q.plan_handle) p
  WHERE t.text LIKE @P1 AND t.text NOT LIKE '%dm_exec_query_stats%' ORDER BY q.last_execution_time DESC

--- size of a table
-- Pages of the rows, and of other indexes; of one's own tables everybody may see that.
SELECT CAST(SUM(CASE WHEN p.index_id < 2 THEN u.total_pages ELSE 0 END) AS bigint) * 8192,
  CAST(SUM(CASE WHEN p.index_id > 1 THEN u.total_pages ELSE 0 END) AS bigint) * 8192 FROM sys.partitions p
  JOIN sys.allocation_units u ON u.container_id = CASE WHEN u.type = 2 THEN p.partition_id ELSE p.hobt_id END
  WHERE p.object_id = OBJECT_ID(@P1)

--- whether a table is there
SELECT CAST(OBJECT_ID(@P1) AS bigint)

--- owner of a schema
-- Places. The mark is an extended property of the schema.
SELECT CAST(COUNT_BIG(p.name) AS int) FROM sys.schemas s LEFT JOIN sys.extended_properties p
  ON p.class = 3 AND p.major_id = s.schema_id AND p.name = N'plimsoll' WHERE s.name = @P1 GROUP BY s.schema_id

--- our schemas
SELECT CAST(s.name AS nvarchar(128)) FROM sys.schemas s JOIN sys.extended_properties p
  ON p.class = 3 AND p.major_id = s.schema_id AND p.name = N'plimsoll' WHERE LEFT(s.name, 9) = N'plimsoll_' ORDER BY s.name

--- tables of a schema
SELECT CAST(t.name AS nvarchar(128)) FROM sys.tables t WHERE t.schema_id = SCHEMA_ID(@P1) ORDER BY t.name

--- our procedures in a schema
SELECT CAST(o.name AS nvarchar(128)) FROM sys.objects o WHERE o.schema_id = SCHEMA_ID(@P1) AND RTRIM(o.type) = 'P'
  AND LEFT(o.name, 9) = N'plimsoll_' ORDER BY o.name

--- what else is in a schema
SELECT CAST(o.type_desc AS nvarchar(60)) + N' ' + CAST(o.name AS nvarchar(128)) FROM sys.objects o
  WHERE o.schema_id = SCHEMA_ID(@P1) AND o.parent_object_id = 0 AND RTRIM(o.type) <> 'U'
  AND NOT (RTRIM(o.type) = 'P' AND LEFT(o.name, 9) = N'plimsoll_')
  UNION ALL SELECT N'FOREIGN KEY ' + CAST(k.name AS nvarchar(128)) FROM sys.foreign_keys k
  JOIN sys.objects o ON o.object_id = k.referenced_object_id
  WHERE o.schema_id = SCHEMA_ID(@P1) AND k.schema_id <> o.schema_id

--- whether a lease is free
SELECT APPLOCK_TEST('public', @P1, 'Exclusive', 'Session')

--- sessions that work for runs
-- Of this database only: application locks are per database, so here nobody can tell whether a run in another one lives.
SELECT CAST(s.session_id AS int), CAST(s.program_name AS nvarchar(128)) FROM sys.dm_exec_sessions s
  WHERE s.is_user_process = 1 AND s.database_id = DB_ID() AND s.program_name LIKE N'plimsoll work %' ORDER BY s.session_id

--- whether a session still works for a run
SELECT COUNT_BIG(*) FROM sys.dm_exec_sessions s WHERE s.session_id = @P1 AND s.program_name = @P2
  AND s.database_id = DB_ID()

--- our databases
-- Whole databases of our own. On a machine their mark is the name of their first file, which is there from the first
-- moment on and goes with backups; in Azure it is an extended property.
SELECT CAST(d.name AS nvarchar(128)) FROM sys.databases d JOIN sys.master_files f ON f.database_id = d.database_id
  WHERE f.file_id = 1 AND LEFT(d.name, 14) = N'plimsoll_copy_' AND f.name = @P1 ORDER BY d.name

--- first file of a database
SELECT CAST(COALESCE(f.name, N'') AS nvarchar(128)) FROM sys.databases d
  LEFT JOIN sys.master_files f ON f.database_id = d.database_id AND f.file_id = 1 WHERE d.name = @P1

--- backups of a database
-- Of the kind that we make, and in files with nothing else in them: others back up our databases too.
SELECT DISTINCT CAST(m.physical_device_name AS nvarchar(260)) FROM msdb.dbo.backupset b
  JOIN msdb.dbo.backupmediafamily m ON m.media_set_id = b.media_set_id WHERE b.database_name = @P1
  AND b.is_copy_only = 1 AND m.device_type = 2 AND NOT EXISTS (SELECT 1 FROM msdb.dbo.backupset o
  WHERE o.media_set_id = b.media_set_id AND o.backup_set_id <> b.backup_set_id)

--- whether backups may be removed
-- Nobody else may remove files by xp_delete_file and what msdb knows of them.
SELECT IS_SRVROLEMEMBER('sysadmin')

--- how far a session is
SELECT CAST(r.percent_complete AS float) FROM sys.dm_exec_requests r WHERE r.session_id = @P1

--- databases with names of ours in Azure
SELECT CAST(d.name AS nvarchar(128)) FROM sys.databases d WHERE LEFT(d.name, 14) = N'plimsoll_copy_' ORDER BY d.name

--- state of a database
SELECT CAST(d.state_desc AS nvarchar(60)) FROM sys.databases d WHERE d.name = @P1

--- how far a copy is
SELECT CAST(c.percent_complete AS float), CAST(c.partner_database AS nvarchar(128)) FROM sys.dm_database_copies c
  JOIN sys.databases d ON d.database_id = c.database_id WHERE d.name = @P1

--- how far an operation is
SELECT TOP (1) CAST(o.percent_complete AS float) FROM sys.dm_operation_status o
  WHERE CAST(o.major_resource_id AS nvarchar(128)) = @P1 ORDER BY o.start_time DESC

--- mark of a database
SELECT CAST(p.value AS nvarchar(128)) FROM sys.extended_properties p WHERE p.class = 0 AND p.name = N'plimsoll'

--- what else is in a database
SELECT COUNT_BIG(*) FROM sys.objects o WHERE o.is_ms_shipped = 0 AND o.schema_id <> COALESCE(SCHEMA_ID(@P1), -1)

--- used bytes of a database
SELECT SUM(CAST(FILEPROPERTY(f.name, 'SpaceUsed') AS bigint)) * 8192 FROM sys.database_files f WHERE f.type = 0

--- number of the session
SELECT CAST(@@SPID AS int)

--- level in effect
SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128)),
  CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint)

--- level of the target
SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'Edition') AS nvarchar(128)),
  CAST(DATABASEPROPERTYEX(DB_NAME(), 'ServiceObjective') AS nvarchar(128)),
  CAST(DATABASEPROPERTYEX(DB_NAME(), 'MaxSizeInBytes') AS bigint), CAST(o.elastic_pool_name AS nvarchar(128))
  FROM sys.databases d LEFT JOIN sys.database_service_objectives o ON o.database_id = d.database_id
  WHERE d.name = DB_NAME()

--- time of the server
-- Whole seconds, and none before what was written by now.
SELECT CONVERT(nvarchar(19), DATEADD(second, 1, SYSUTCDATETIME()), 126)

--- settings of a session
-- Life of a session.
SET NOCOUNT OFF; SET XACT_ABORT OFF; SET LOCK_TIMEOUT 60000; SET ARITHABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED

--- patience of a session
-- A session that only asks or tidies up is not to wait for a lock for ever.
SET LOCK_TIMEOUT 60000

--- roll back what there is
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION

--- checkpoint
CHECKPOINT

--- drop clean buffers
DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS

--- check a statement
-- The procedure takes nvarchar and nothing else.
DECLARE @text nvarchar(max) = @P1; EXEC sys.sp_describe_undeclared_parameters @tsql = @text
