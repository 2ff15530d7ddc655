//! Places: schemas that bear our mark, and the lock that stands for the lease on each.

use plimsoll_engine::database::{Workspace, WorkspaceStatus};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::connect::{Connector, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES};
use super::connection::{Connection, Failed};

/// The comment on our schemas: whoever finds one knows what it is, and we never touch one without it.
const MARK: &str = "plimsoll: measurement data, may be removed";
/// Tables dropped in one transaction: each takes some locks (table, TOAST table, indexes) of a table of a few thousand.
const TABLES_PER_DROP: usize = 64;
/// SQLSTATE of what RESTRICT refuses.
const DEPENDENT_OBJECTS: &str = "2BP01";

/// Whose a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// There is no such schema.
    Nobody,
    /// It bears our mark.
    We,
    /// It has the name and not the mark.
    Somebody,
}

/// The number under which PostgreSQL knows the lease on a place: XXH3-64 of its name, never to change, as programs of
/// different versions must respect each other's leases.
pub(super) fn lock_key(workspace: &Workspace) -> i64 {
    xxh3_64(workspace.name().as_bytes()) as i64
}

/// Name of the sessions that hold leases.
pub(super) fn lease_name(workspace: &Workspace) -> String {
    format!("plimsoll lease {workspace}")
}

/// Prefix of the names of working sessions; the run's place follows.
pub(super) const WORK: &str = "plimsoll work ";

/// Settings that keep the server from ending an idle session, and make it notice a dead client. Those that a version does
/// not know, and tcp settings on a socket, change nothing.
pub(super) fn staying() -> [(&'static str, String); 6] {
    [
        ("statement_timeout", "0".to_owned()),
        ("idle_session_timeout", "0".to_owned()),
        ("idle_in_transaction_session_timeout", "0".to_owned()),
        ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().to_string()),
        ("tcp_keepalives_interval", KEEPALIVE_INTERVAL.as_secs().to_string()),
        ("tcp_keepalives_count", KEEPALIVE_RETRIES.to_string()),
    ]
}

/// A connection that stays connected; see [`staying`].
pub(super) fn staying_connection(connector: &Connector, name: &str) -> Result<Connection> {
    let mut connection = connector.connect(name)?;
    connection.run(&setting(&staying()))?;
    Ok(connection)
}

/// The statement that sets what a server knows of a list of settings.
pub(super) fn setting(settings: &[(&str, String)]) -> String {
    let pairs: Vec<String> = settings.iter().map(|(name, value)| format!("('{name}', '{value}')")).collect();
    format!(
        "SELECT set_config(s.name, v.value, false) FROM (VALUES {}) v (name, value) JOIN pg_catalog.pg_settings s \
         ON s.name = v.name",
        pairs.join(", ")
    )
}

/// A connection on which the lease of a place can be taken.
pub(super) fn lease_connection(connector: &Connector, workspace: &Workspace) -> Result<Connection> {
    staying_connection(connector, &lease_name(workspace))
}

/// Takes a lock for this session unless another session's stands against it.
pub(super) fn try_lock(connection: &mut Connection, workspace: &Workspace, shared: bool) -> Result<bool> {
    let function = if shared { "pg_try_advisory_lock_shared" } else { "pg_try_advisory_lock" };
    let row = connection.row(&format!("SELECT {function}($1)"), &[&lock_key(workspace).to_string()])?;
    Ok(row.is_true(0))
}

/// True if a session in any database of the server holds a lock of this name. Locks are those of a database, while
/// [copies](plimsoll_engine::WorkspaceKind::Copy) are seen from all.
pub(super) fn is_locked_anywhere(connection: &mut Connection, workspace: &Workspace) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
               AND pid <> pg_backend_pid() AND ((classid::bigint << 32) | objid::bigint) = $1)";
    Ok(connection.row(sql, &[&lock_key(workspace).to_string()])?.is_true(0))
}

/// Gives back an exclusive lock of this session.
pub(super) fn unlock(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    connection.rows("SELECT pg_advisory_unlock($1)", &[&lock_key(workspace).to_string()]).map(drop)
}

/// Whose the schema of a place is.
pub(super) fn owner(connection: &mut Connection, workspace: &Workspace) -> Result<Owner> {
    let sql = "SELECT coalesce(obj_description(oid, 'pg_namespace') = $2, false) FROM pg_namespace WHERE nspname = $1";
    Ok(match connection.rows(sql, &[workspace.name(), MARK])?.first() {
        None => Owner::Nobody,
        Some(row) if row.is_true(0) => Owner::We,
        Some(_) => Owner::Somebody,
    })
}

/// The error that keeps us off a schema that isn't ours.
pub(super) fn foreign(workspace: &Workspace) -> Error {
    Error::new(ErrorKind::Safety, format!("the schema {workspace} does not bear our mark, so it is not touched"))
        .hint(format!("if it is ours after all: COMMENT ON SCHEMA {workspace} IS '{MARK}'"))
}

/// Makes the schema of a place; it has its mark from the first moment.
pub(super) fn create(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    // Two statements in one message are one transaction.
    let sql = format!("CREATE SCHEMA {workspace}; COMMENT ON SCHEMA {workspace} IS '{MARK}'");
    connection.run(&sql).map(drop)
}

/// Every schema with a name and a mark of ours, and whether anybody holds a lock on its name.
pub(super) fn list(connection: &mut Connection) -> Result<Vec<WorkspaceStatus>> {
    let schemas = "SELECT nspname::text FROM pg_namespace \
                   WHERE nspname LIKE 'plimsoll\\_%' AND obj_description(oid, 'pg_namespace') = $1 ORDER BY 1";
    let locks = "SELECT DISTINCT (classid::bigint << 32) | objid::bigint FROM pg_locks \
                 WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let keys: Vec<i64> = connection.rows(locks, &[])?.iter().filter_map(|row| row.get(0)).collect();
    let found = connection.rows(schemas, &[MARK])?;
    let found = found.iter().filter_map(|row| Workspace::from_name(row.text(0)?));
    Ok(found.map(|workspace| WorkspaceStatus { leased: keys.contains(&lock_key(&workspace)), workspace }).collect())
}

/// Drops the schema of a place with its tables, many of them in several transactions. Only tables are ours: if anything
/// else is in the schema or depends on a table in it, nothing is dropped.
pub(super) fn drop_schema(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    let others = unowned_objects(connection, workspace)?;
    if let Some(first) = others.first() {
        return Err(kept(workspace, first, others.len() - 1));
    }
    let sql = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')";
    let rows = connection.rows(sql, &[workspace.name()])?;
    let tables: Vec<&str> = rows.iter().filter_map(|row| row.text(0)).collect();
    for tables in tables.chunks(TABLES_PER_DROP) {
        drop_own(connection, workspace, &format!("DROP TABLE IF EXISTS {} RESTRICT", tables.join(", ")))?;
    }
    drop_own(connection, workspace, &format!("DROP SCHEMA {workspace} RESTRICT"))
}

/// What is not ours and would have to go with the place: everything in the schema but its owner's tables and the sequences
/// that belong to their columns, and everything
/// that depends on one of these, their indexes or row types (`pg_depend` of kind `n`, which RESTRICT heeds).
fn unowned_objects(connection: &mut Connection, workspace: &Workspace) -> Result<Vec<String>> {
    let sql = "WITH place AS (SELECT oid, nspowner FROM pg_namespace WHERE nspname = $1), \
               tables AS (SELECT c.oid, c.reltype FROM pg_class c JOIN place ON c.relnamespace = place.oid \
                          WHERE c.relkind IN ('r', 'p') AND c.relowner = place.nspowner), \
               sequences AS (SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND deptype IN ('a', 'i') \
                             AND refclassid = 'pg_class'::regclass AND refobjid IN (SELECT oid FROM tables)), \
               ours AS (SELECT 'pg_class'::regclass AS class, oid FROM tables \
                        UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM tables) \
                        UNION ALL SELECT 'pg_type'::regclass, reltype FROM tables \
                        UNION ALL SELECT 'pg_type'::regclass, typarray FROM pg_type WHERE oid IN (SELECT reltype FROM tables) \
                        UNION ALL SELECT 'pg_namespace'::regclass, oid FROM place) \
               SELECT DISTINCT coalesce(pg_describe_object('pg_class'::regclass, r.ev_class, 0), \
                                        pg_describe_object(d.classid, d.objid, d.objsubid)) \
               FROM pg_depend d JOIN ours ON d.refclassid = ours.class AND d.refobjid = ours.oid \
               LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid \
               WHERE d.deptype = 'n' \
               AND NOT (d.classid = 'pg_class'::regclass AND (d.objid IN (SELECT oid FROM tables) OR d.objid IN (SELECT objid FROM sequences))) ORDER BY 1";
    // Without a description it has gone in the meantime.
    let rows = connection.rows(sql, &[workspace.name()])?;
    Ok(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
}

/// The error that keeps a place for the sake of what is not ours.
fn kept(workspace: &Workspace, first: &str, more: usize) -> Error {
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    Error::new(
        ErrorKind::Safety,
        format!("the schema {workspace} is kept, as it would take along what is not ours: {first}{more}"),
    )
    .hint("drop or move what depends on our tables or lies in our schema, then run plimsoll clean")
}

/// Drops something. If it can't be, somebody was faster with a view, or the place is another user's.
fn drop_own(connection: &mut Connection, workspace: &Workspace, sql: &str) -> Result<()> {
    let Err(failed) = connection.try_run(sql) else { return Ok(()) };
    if let Failed::Server(server_error) = &failed
        && server_error.code == DEPENDENT_OBJECTS
    {
        let mut lines = server_error.detail.as_deref().unwrap_or_default().lines();
        return Err(kept(workspace, lines.next().unwrap_or(&server_error.message), lines.count()));
    }
    let error = connection.fail(failed);
    if error.kind != ErrorKind::Permission {
        return Err(error);
    }
    Err(Error::new(ErrorKind::Permission, format!("the schema {workspace} is another user's and can't be removed"))
        .hint("run plimsoll clean as the user who made it, or as a superuser"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of the contract between versions.
    #[test]
    fn keys_never_change() {
        assert_eq!(lock_key(&Workspace::data(1)), -915_352_293_635_228_647);
        assert_ne!(lock_key(&Workspace::data(1)), lock_key(&Workspace::data(2)));
    }
}
