//! The words by which statements are read, each list with what it says.

/// Words that say that something is changed. A text without them reads.
pub(super) const CHANGES: &str = "insert into update delete merge replace truncate create alter drop exec execute call do grant revoke deny disable \
                       enable bulk copy load rename lock comment identity_insert vacuum analyze reindex cluster refresh reassign kill restore backup \
                       attach detach use dbcc handler import";
/// Those of them with which a text may still read from other places.
pub(super) const KEEPS_READING: &str = "insert into create analyze replace";
/// Words behind which something is changed: a name there is never that of a column.
pub(super) const TARGETS: &str = "insert into update delete merge replace truncate table view procedure proc function sequence synonym type trigger \
                       index statistics exec execute call references copy rename identity_insert";
/// Words that may stand between those and the name.
pub(super) const SKIPPED: &str =
    "only if not exists into from top table or concurrently low_priority delayed ignore quick lateral percent";
/// Schemas that are a session's own, and names that stand for the rows of a change.
pub(super) const OWN: &str = "temp pg_temp main tempdb inserted deleted excluded new old source values";
/// Schemas of a server's own: what they show may be read by anybody.
pub(super) const OF_THE_SERVER: &str = "information_schema pg_catalog sys performance_schema";
/// Kinds of things that a workspace can hold.
pub(super) const KINDS: &str =
    "table index view procedure proc function sequence synonym type trigger statistics domain policy column";
/// Words with which a statement may begin that works in a place. What begins otherwise may do anything.
pub(super) const BEGINS: &str = "select insert update delete merge replace with values table create alter drop truncate analyze vacuum explain show \
                      set pragma begin start commit rollback end savepoint save release call exec execute do declare if while print \
                      raiserror throw return waitfor goto lock unlock prepare fetch open close deallocate checkpoint describe desc";
/// Words behind which a SET within a body begins a statement.
pub(super) const BEFORE_STATEMENT: &str = "begin then else loop do as";
/// What a SET may change: what a session does by itself, and nothing that makes names mean something else.
pub(super) const SETTINGS: &str = "nocount xact_abort ansi_nulls ansi_warnings ansi_padding ansi_defaults quoted_identifier arithabort \
                        concat_null_yields_null numeric_roundabort transaction lock_timeout deadlock_priority statistics rowcount datefirst \
                        dateformat language identity_insert textsize implicit_transactions cursor_close_on_commit constraints work_mem \
                        maintenance_work_mem temp_buffers synchronous_commit commit_delay statement_timeout idle_in_transaction_session_timeout \
                        random_page_cost seq_page_cost effective_cache_size jit timezone time datestyle intervalstyle client_encoding \
                        client_min_messages characteristics default_transaction_isolation default_statistics_target plan_cache_mode join_collapse_limit \
                        from_collapse_limit max_parallel_workers_per_gather parallel_setup_cost parallel_tuple_cost \
                        min_parallel_table_scan_size names autocommit sql_mode foreign_key_checks unique_checks \
                        sql_safe_updates innodb_lock_wait_timeout max_execution_time max_statement_time tx_isolation \
                        transaction_isolation optimizer_switch join_buffer_size sort_buffer_size tmp_table_size max_heap_table_size";
/// Functions that change what no workspace holds, by the beginnings of their names (PostgreSQL).
pub(super) const FUNCTIONS: [&str; 12] = [
    "set_config",
    "lo_",
    "pg_create_",
    "pg_drop_",
    "pg_copy_",
    "pg_stat_reset",
    "pg_terminate_",
    "pg_cancel_",
    "pg_reload_",
    "pg_rotate_",
    "pg_switch_wal",
    "dblink",
];
/// Words between CREATE and the kind of what is made.
pub(super) const MODIFIERS: &str = "or replace alter global local temp temporary unlogged unique clustered nonclustered columnstore spatial fulltext \
                         materialized recursive virtual constraint definer algorithm sql security invoker aggregate if not exists primary xml online offline";
/// What a PRAGMA of SQLite must not set: the marks of a file, what guards it, and the memory of the whole process.
pub(super) const MARKS: &str = "user_version application_id writable_schema hard_heap_limit soft_heap_limit";
/// Words behind which no name stands for a table.
pub(super) const NO_ALIAS: &str = "select distinct where and or on set by not when then else in like between case having returning is null output \
                        limit offset escape values return print exists all any some add drop if while begin";
/// Words that begin a part of a statement.
pub(super) const CLAUSES: &str = "select set where having on by values from join using update returning into";
/// Words behind which a statement of a body begins.
pub(super) const BEFORE_BODY: &str = "begin atomic then else loop do sqlexception sqlwarning found";
/// Words with which no statement of a body may begin.
pub(super) const NEVER: &str = "reset copy grant revoke deny reassign comment discard shutdown flush install uninstall change purge kill xa load \
                     backup restore reindex cluster listen notify security import use attach detach refresh optimize rename handler \
                     cache stop reconfigure dbcc";
/// Settings that say what names without a schema stand for, and who asks.
pub(super) const NAMES_ANEW: &str = "search_path schema role session_authorization";
/// Words of a statement that makes a table, before what it takes from others.
pub(super) const MOST_COLUMNS: usize = 4096;
/// Words between CREATE and what is made.
pub(super) const MOST_KINDS: usize = 16;
/// What is made so that its name stands for something else.
pub(super) const STANDS_FOR: &str = "view synonym procedure proc function trigger rule";
/// Words of `CREATE UNIQUE NONCLUSTERED INDEX IF NOT EXISTS i ON` and the like.
pub(super) const MOST_BEFORE_ON: usize = 16;
