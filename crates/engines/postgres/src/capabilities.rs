//! What the server lets this user see of it while a test runs, found out by asking.

use std::sync::LazyLock;

use plimsoll_engine::data::rows;
use plimsoll_engine::{Capability, ErrorKind, Need, Result};
use serde::Deserialize;

use super::connection::Connection;
use super::statements::sql_for;

/// Something that a sampler uses (`data/privileges.toml`).
#[derive(Deserialize)]
struct Privilege {
    name: String,
    /// The statement that gives true if it is there. One that can't be asked is not.
    statement: String,
    cost: String,
    remedy: String,
    #[serde(default)]
    gives: Vec<Need>,
}

static PRIVILEGES: LazyLock<Vec<Privilege>> = LazyLock::new(|| rows(include_str!("../data/privileges.toml")));

/// Asks for all of them.
pub(super) fn detect(connection: &mut Connection, version: u32) -> Result<Vec<Capability>> {
    let mut capabilities = Vec::new();
    for Privilege { name, statement, cost, remedy, gives } in PRIVILEGES.iter() {
        let works = match sql_for(statement, version).map(|sql| connection.row(sql, &[])) {
            Some(Ok(row)) => row.is_true(0),
            Some(Err(error)) if error.kind == ErrorKind::Lost => return Err(error),
            Some(Err(_)) | None => false,
        };
        capabilities.push(Capability { name, works, cost, remedy: (!works).then(|| remedy.clone()), gives });
    }
    Ok(capabilities)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn the_documents_have_the_table_of_capabilities() {
        let mut table = "| capability | without it | what gives it |\n|---|---|---|\n".to_owned();
        for Privilege { name, cost, remedy, .. } in PRIVILEGES.iter() {
            let _ = writeln!(table, "| {name} | {cost} | {remedy} |");
        }
        let document = include_str!("../../../../docs/ENGINES.md");
        assert!(document.contains(&table), "docs/ENGINES.md should have this table:\n{table}");
    }
}
