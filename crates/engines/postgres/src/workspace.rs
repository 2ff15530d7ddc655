//! Places: schemas that bear our mark, and the lock that stands for the lease on each.

use plimsoll_engine::database::{Workspace, WorkspaceStatus};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use postgres::Client;
use postgres::error::SqlState;
use xxhash_rust::xxh3::xxh3_64;

use super::connect::{Connector, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES};
use super::error::Errors;
use super::transfer;

/// The comment on our schemas: whoever finds one knows what it is, and we never touch one without it.
const MARK: &str = "plimsoll: measurement data, may be removed";
/// Tables dropped in one transaction: each takes some locks (table, TOAST table, indexes) of a table of a few thousand.
const TABLES_PER_DROP: usize = 64;

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

/// A session that stays connected; see [`staying`].
pub(super) fn stay_connected(client: &mut Client, errors: &Errors) -> Result<()> {
    set(client, errors, &staying())
}

/// Sets what this server knows of a list of settings.
pub(super) fn set(client: &mut Client, errors: &Errors, settings: &[(&str, String)]) -> Result<()> {
    client.batch_execute(&setting(settings)).map_err(|error| errors.running(&error))
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
pub(super) fn lease_connection(connector: &Connector, workspace: &Workspace) -> Result<Client> {
    let mut client = connector.connect_alive(&lease_name(workspace))?;
    stay_connected(&mut client, &connector.errors)?;
    Ok(client)
}

/// Takes a lock for this session unless another session's stands against it.
pub(super) fn try_lock(client: &mut Client, errors: &Errors, workspace: &Workspace, shared: bool) -> Result<bool> {
    let function = if shared { "pg_try_advisory_lock_shared" } else { "pg_try_advisory_lock" };
    let row = client.query_one(&format!("SELECT {function}($1)"), &[&lock_key(workspace)]);
    row.and_then(|row| row.try_get(0)).map_err(|error| errors.running(&error))
}

/// True if a session in any database of the server holds a lock of this name. Locks are those of a database, while
/// [copies](plimsoll_engine::PlaceKind::Copy) are seen from all.
pub(super) fn is_locked_anywhere(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
               AND pid <> pg_backend_pid() AND ((classid::bigint << 32) | objid::bigint) = $1)";
    let row = client.query_one(sql, &[&lock_key(workspace)]);
    row.and_then(|row| row.try_get(0)).map_err(|error| errors.running(&error))
}

/// Gives back an exclusive lock of this session.
pub(super) fn unlock(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<()> {
    let row = client.query_one("SELECT pg_advisory_unlock($1)", &[&lock_key(workspace)]);
    row.map(drop).map_err(|error| errors.running(&error))
}

/// Whose the schema of a place is.
pub(super) fn owner(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<Owner> {
    let sql = "SELECT coalesce(obj_description(oid, 'pg_namespace') = $2, false) FROM pg_namespace WHERE nspname = $1";
    let row = client.query_opt(sql, &[&workspace.name(), &MARK]).map_err(|error| errors.running(&error))?;
    let ours = row.map(|row| row.try_get(0)).transpose().map_err(|error| errors.running(&error))?;
    Ok(ours.map_or(Owner::Nobody, |ours: bool| if ours { Owner::We } else { Owner::Somebody }))
}

/// The error that keeps us off a schema that isn't ours.
pub(super) fn foreign(workspace: &Workspace) -> Error {
    Error::new(ErrorKind::Safety, format!("the schema {workspace} does not bear our mark, so it is not touched"))
        .hint(format!("if it is ours after all: COMMENT ON SCHEMA {workspace} IS '{MARK}'"))
}

/// Makes the schema of a place; it has its mark from the first moment.
pub(super) fn create(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<()> {
    // Two statements in one message are one transaction.
    let sql = format!("CREATE SCHEMA {workspace}; COMMENT ON SCHEMA {workspace} IS '{MARK}'");
    client.batch_execute(&sql).map_err(|error| errors.running(&error))
}

/// Every schema with a name and a mark of ours, and whether anybody holds a lock on its name.
pub(super) fn list(client: &mut Client, errors: &Errors) -> Result<Vec<WorkspaceStatus>> {
    let failed = |error: postgres::Error| errors.running(&error);
    let schemas = "SELECT nspname::text FROM pg_namespace \
                   WHERE nspname LIKE 'plimsoll\\_%' AND obj_description(oid, 'pg_namespace') = $1 ORDER BY 1";
    let locks = "SELECT DISTINCT (classid::bigint << 32) | objid::bigint FROM pg_locks \
                 WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let keys = client.query(locks, &[]).map_err(failed)?;
    let keys: Vec<i64> =
        keys.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>().map_err(failed)?;
    let mut workspaces = Vec::new();
    for row in client.query(schemas, &[&MARK]).map_err(failed)? {
        if let Some(workspace) = Workspace::from_name(row.try_get(0).map_err(failed)?) {
            workspaces.push(WorkspaceStatus { leased: keys.contains(&lock_key(&workspace)), workspace });
        }
    }
    workspaces.extend(transfer::list(client, errors)?);
    Ok(workspaces)
}

/// Drops the schema of a place with its tables, many of them in several transactions. Only tables are ours: if anything
/// else is in the schema or depends on a table in it, nothing is dropped.
pub(super) fn drop_schema(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<()> {
    let others = unowned_objects(client, errors, workspace)?;
    if let Some(first) = others.first() {
        return Err(kept(workspace, first, others.len() - 1));
    }
    let failed = |error: postgres::Error| dropping(errors, workspace, &error);
    let sql = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')";
    let rows = client.query(sql, &[&workspace.name()]).map_err(|error| errors.running(&error))?;
    let tables: Vec<&str> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
    for tables in tables.chunks(TABLES_PER_DROP) {
        client.batch_execute(&format!("DROP TABLE IF EXISTS {} RESTRICT", tables.join(", "))).map_err(failed)?;
    }
    client.batch_execute(&format!("DROP SCHEMA {workspace} RESTRICT")).map_err(failed)
}

/// What is not ours and would have to go with the place: everything in the schema but its owner's tables and the sequences
/// that belong to their columns, and everything
/// that depends on one of these, their indexes or row types (`pg_depend` of kind `n`, which RESTRICT heeds).
fn unowned_objects(client: &mut Client, errors: &Errors, workspace: &Workspace) -> Result<Vec<String>> {
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
    let rows = client.query(sql, &[&workspace.name()]).map_err(|error| errors.running(&error))?;
    // Without a description it has gone in the meantime.
    let found: std::result::Result<Vec<Option<String>>, _> = rows.iter().map(|row| row.try_get(0)).collect();
    Ok(found.map_err(|error| errors.running(&error))?.into_iter().flatten().collect())
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

/// What an error of dropping means: somebody was faster with a view, or the place is another user's.
fn dropping(errors: &Errors, workspace: &Workspace, error: &postgres::Error) -> Error {
    match error.as_db_error() {
        Some(answer) if *answer.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST => {
            let mut lines = answer.detail().unwrap_or_default().lines();
            kept(workspace, lines.next().unwrap_or(answer.message()), lines.count())
        }
        Some(answer) if *answer.code() == SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::new(ErrorKind::Permission, format!("the schema {workspace} is another user's and can't be removed"))
                .hint("run plimsoll clean as the user who made it, or as a superuser")
        }
        _ => errors.running(error),
    }
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
