//! The identity that the server states.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_engine::{Description, Result, WeakIsolation, cpus_of_machine};
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::connection::Connection;
use super::counters;
use super::load::Way;
use super::statements::text;

/// What a crash can cost with such a value, or what it makes of a measurement.
const DOUBTS: &[(&str, &[&str], &str)] = &[
    (
        "innodb_flush_log_at_trx_commit",
        &["0", "2"],
        "innodb_flush_log_at_trx_commit is not 1: commits are faster than they could safely be, and a crash loses the last ones",
    ),
    (
        "innodb_doublewrite",
        &["OFF", "0"],
        "innodb_doublewrite is off: writes are faster than they could safely be, and a crash can ruin pages",
    ),
    (
        "innodb_file_per_table",
        &["OFF", "0"],
        "innodb_file_per_table is off: the system tablespace grows by what a run writes and stays so; with it on, the space comes back",
    ),
    (
        "local_infile",
        &["OFF", "0"],
        "local_infile is off: rows are loaded by INSERT, which is slower than the server could be",
    ),
    (
        "innodb_buffer_pool_load_at_startup",
        &["ON", "1"],
        "innodb_buffer_pool_load_at_startup is on: after a restart the server reads again what it had cached, so a \
         restart alone makes nothing cold",
    ),
    (
        "query_cache_type",
        &["ON", "1"],
        "the query cache is on: repeated requests may be answered from it; query_cache_type = OFF switches it off",
    ),
];

/// Sessions of ours send no more at once, loads included.
const PACKET_BYTES: u64 = 1 << 20;

/// `innodb_old_blocks_time`, if the server doesn't say.
const OLD_BLOCKS_MS: u64 = 1_000;
/// The server's clock and ours need not go alike.
const REST_MARGIN: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy)]
pub(super) struct ServerFacts {
    pub(super) page_bytes: u64,
    pub(super) way: Way,
    /// No cache of the system is between it and its files.
    pub(super) is_direct: bool,
    /// It has names of tables in lower case, whatever they are called.
    pub(super) lowers_names: bool,
}

/// A server as it was when the target was opened.
pub(super) struct Described {
    pub(super) description: Description,
    pub(super) facts: ServerFacts,
    /// Where tables are, for a server on this machine.
    pub(super) data_directory: Option<PathBuf>,
    /// Where its redo log is, likewise.
    pub(super) log_directory: Option<PathBuf>,
    /// What its settings hold it to.
    pub(super) ceilings: Vec<Ceiling>,
    /// Its own name for itself.
    pub(super) identity: Option<String>,
}

pub(super) fn describe(connection: &mut Connection, connector: &Connector) -> Result<Described> {
    let pair = |row| match <[Option<String>; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) => Some((name, value)),
        _ => None,
    };
    let settings: BTreeMap<String, String> =
        connection.ask(text("settings of the server"))?.into_iter().filter_map(pair).collect();
    let is = |name: &str, values: &[&str]| settings.get(name).is_some_and(|value| values.contains(&value.as_str()));
    let way = if is("local_infile", &["ON", "1"]) { Way::File } else { Way::Insert };
    // MariaDB names the two halves of this since version 11, and each may be direct by itself.
    let is_direct = is("innodb_flush_method", &["O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT"]);
    let page_bytes = settings.get("innodb_page_size").and_then(|size| size.parse().ok()).unwrap_or(16_384);
    let product = connection.server.product;
    let identity = connection.ask_one(product.text("identity"))?;
    let local = counters::process_of(connection, connector.loopback).is_some();
    let directory = if local { connection.ask_one(text("data directory"))? } else { None };
    let mut warnings = connector.warnings.clone();
    warnings.extend(DOUBTS.iter().filter(|(name, values, _)| is(name, values)).map(|(_, _, text)| (*text).to_owned()));
    let packet_bytes = settings.get("max_allowed_packet").and_then(|bytes| bytes.parse::<u64>().ok());
    warnings.extend(packet_bytes.filter(|bytes| *bytes < PACKET_BYTES).map(|bytes| {
        format!(
            "max_allowed_packet is {bytes} bytes: the server ends a connection that sends more at once, as loads do; a value of \
             {PACKET_BYTES} suffices"
        )
    }));
    let weak_isolation = WeakIsolation::Effective("READ UNCOMMITTED".to_owned());
    let description = Description {
        relative: product.relative(),
        local,
        cpus: cpus_of_machine().filter(|_| local),
        rest_before_reuse: rest_before_reuse(settings.get("innodb_old_blocks_time")),
        fingerprint: identity.clone().unwrap_or_else(|| connector.errors.address.clone()),
        warnings,
        settings,
        ..Description::new(product.name(), connection.server.version.clone(), page_bytes, weak_isolation)
    }
    .shown();
    let lowers_names = connection.ask_one(text("case of names"))?.as_deref() == Some("1");
    let facts = ServerFacts { page_bytes, way, is_direct, lowers_names };
    let data_directory = directory.map(PathBuf::from).filter(|path| path.is_dir());
    let log_directory = data_directory.as_ref().and_then(|data| {
        // Mostly "./", below the other.
        let log = connection.ask_one(text("log directory")).ok()??;
        Some(data.join(log)).filter(|path| path.is_dir())
    });
    Ok(Described { description, facts, data_directory, log_directory, ceilings: ceilings(connection), identity })
}

fn rest_before_reuse(old_blocks_ms: Option<&String>) -> Duration {
    let rest = Duration::from_millis(old_blocks_ms.and_then(|ms| ms.parse().ok()).unwrap_or(OLD_BLOCKS_MS));
    if rest.is_zero() { rest } else { rest + REST_MARGIN }
}

/// The server's own cache, and the sessions that it lets in.
fn ceilings(connection: &mut Connection) -> Vec<Ceiling> {
    let values = connection.ask(text("ceilings")).unwrap_or_default().into_iter().flatten();
    let settings = [("memory", "innodb_buffer_pool_size"), ("sessions", "max_connections")];
    let ceiling = |((resource, name), value): ((&str, &str), Option<String>)| {
        Ceiling::new(resource, value?.parse().ok()?, format!("setting {name}"))
    };
    settings.into_iter().zip(values).filter_map(ceiling).collect()
}
