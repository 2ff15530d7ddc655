//! The identity that the server states.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_engine::{Description, Result, WeakIsolation, cpus_of_machine};
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::connection::{Connection, Texts};
use super::counters;
use super::identity::Identity;
use super::statements::sql;

/// Name of the engine in run records.
pub(super) const NAME: &str = "postgresql";

const SETTINGS: &str = "{autovacuum,block_size,checkpoint_timeout,commit_delay,data_checksums,effective_cache_size,effective_io_concurrency,\
                        fsync,full_page_writes,huge_pages,jit,lock_timeout,maintenance_work_mem,max_parallel_workers_per_gather,max_wal_size,\
                        shared_buffers,statement_timeout,synchronous_commit,transaction_timeout,wal_compression,wal_level,work_mem}";

/// They end transactions (version 17 and later) and statements, and what they would end.
const TIMEOUTS: [(&str, &str); 2] =
    [("transaction_timeout", "a test's transactions"), ("statement_timeout", "a test's statements")];

/// What a crash can cost if one of these is off.
const DURABLE: &[(&str, &str)] = &[
    ("fsync", "fsync is off: writes are faster than they could safely be, and a crash can ruin the database"),
    (
        "synchronous_commit",
        "synchronous_commit is off: commits are faster than they could safely be, and a crash loses the last ones",
    ),
    (
        "full_page_writes",
        "full_page_writes is off: writes are faster than they could safely be, and a crash can ruin pages",
    ),
];

/// A server as it was when the target was opened.
pub(super) struct Server {
    pub(super) description: Description,
    /// As `server_version_num`: 150004 is 15.4.
    pub(super) version: u32,
    /// The cluster's folder, for a server on this machine if we may know and read it.
    pub(super) data_directory: Option<PathBuf>,
    /// Where new tables go, for a server on this machine: the tablespace's folder, or the cluster's.
    pub(super) table_directory: Option<PathBuf>,
    pub(super) identity: Identity,
    /// What its settings hold it to.
    pub(super) ceilings: Vec<Ceiling>,
}

pub(super) fn describe(connection: &mut Connection, connector: &Connector) -> Result<Server> {
    let rows = connection.rows(sql("settings"), &[SETTINGS])?;
    let pair = |row: &Texts| Some((row.text(0)?.to_owned(), row.text(1)?.to_owned()));
    let settings: BTreeMap<String, String> = rows.iter().filter_map(pair).collect();
    let row = connection.row(sql("identity"), &[])?;
    let (version, database) = (row.text(0).unwrap_or_default().to_owned(), row.text(2).unwrap_or_default());

    let local = counters::postmaster(connection, connector.loopback).is_some();
    let identity = Identity::of(connection);
    // For some users only; an error means that we are not among them.
    let directory = if local { connection.value::<String>(sql("folder of the cluster"), &[]).ok() } else { None };
    let data_directory = directory.map(PathBuf::from).filter(|directory| directory.join("PG_VERSION").is_file());
    let tablespace = if local { tablespace_directory(connection) } else { None };
    let table_directory = tablespace.or_else(|| data_directory.clone());

    let mut warnings = connector.warnings.clone();
    let off = |name: &str| settings.get(name).is_some_and(|value| value == "off");
    warnings.extend(DURABLE.iter().filter(|(name, _)| off(name)).map(|(_, text)| (*text).to_owned()));
    for (name, what) in TIMEOUTS {
        let limit = settings.get(name).filter(|limit| !limit.starts_with("0 "));
        warnings
            .extend(limit.map(|limit| {
                format!("{name} of {limit} is set aside in sessions of Plimsoll: {what} may last longer")
            }));
    }
    let page_bytes = settings.get("block_size").and_then(|size| size.parse().ok()).unwrap_or(8_192);
    let weak_isolation = WeakIsolation::NoEffect("PostgreSQL treats READ UNCOMMITTED as READ COMMITTED".to_owned());
    let description = Description {
        settings,
        local,
        cpus: cpus_of_machine().filter(|_| local),
        fingerprint: format!(
            "{}/{database}",
            identity.cluster.clone().unwrap_or_else(|| connector.errors.address.clone())
        ),
        warnings,
        ..Description::new(NAME, version, page_bytes, weak_isolation)
    }
    .shown();
    let ceilings = ceilings(connection);
    Ok(Server { description, version: row.get(1).unwrap_or(0), data_directory, table_directory, identity, ceilings })
}

/// The server's own cache, and the sessions that it lets in of users without privileges. The system's cache holds pages as well,
/// and of that the server knows nothing.
fn ceilings(connection: &mut Connection) -> Vec<Ceiling> {
    let Ok(row) = connection.row(sql("ceilings"), &[]) else { return Vec::new() };
    let names = row.text(2).unwrap_or_default();
    let memory = row.get(0).and_then(|value| Ceiling::new("memory", value, "setting shared_buffers"));
    let sessions = row.get(1).and_then(|value| Ceiling::new("sessions", value, format!("settings {names}")));
    memory.into_iter().chain(sessions).collect()
}

/// The folder of the tablespace that new tables are made in; `None` for the default one, which lies in the cluster's folder.
fn tablespace_directory(connection: &mut Connection) -> Option<PathBuf> {
    let location: String = connection.value(sql("folder of the tablespace"), &[]).ok()?;
    (!location.is_empty()).then(|| PathBuf::from(location))
}
