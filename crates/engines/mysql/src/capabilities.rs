//! What the server lets this user do, found out by asking: its grants, a table, a setting.

use std::sync::LazyLock;

use plimsoll_engine::data::rows;
use plimsoll_engine::{Capability, ErrorKind, Need, Result, Workspace};
use serde::Deserialize;

use super::connection::Connection;
use super::statements::{fill, text};

/// Something that a measurement can use (`data/privileges.toml`).
#[derive(Deserialize)]
struct Privilege {
    name: String,
    found: Found,
    cost: String,
    remedy: String,
    #[serde(default)]
    gives: Vec<Need>,
}

#[derive(Deserialize)]
enum Found {
    /// The user may make databases of our names.
    Places,
    /// The user has this privilege on everything.
    Grant(String),
    /// The statement of this name is allowed.
    Query(String),
    /// The statement of this name gives 1.
    Setting(String),
}

static PRIVILEGES: LazyLock<Vec<Privilege>> = LazyLock::new(|| rows(include_str!("../data/privileges.toml")));

/// What is given to the user, and what is taken away of that again: with `partial_revokes` of MySQL a right on everything may leave out some
/// databases.
fn grants(connection: &mut Connection) -> Result<[Vec<Grant>; 2]> {
    let lines = connection.ask(text("grants"))?;
    let of = |kind| lines.iter().flatten().flatten().filter_map(|line| Grant::parse(line, kind)).collect();
    Ok([of(GIVEN), of(TAKEN)])
}

/// How lines of `SHOW GRANTS` begin, and what stands before the account.
const GIVEN: [&str; 2] = ["GRANT ", " TO "];
const TAKEN: [&str; 2] = ["REVOKE ", " FROM "];

/// What shows all views, and keys between tables as well.
pub(super) const SEES_ELSEWHERE: &str = "GRANT SELECT, SHOW VIEW, EVENT, TRIGGER ON *.*";
/// What shows everything in a database.
const SEES: [&str; 4] = ["SELECT", "EVENT", "EXECUTE", "TRIGGER"];

/// The grants without which something in a database, or that depends on it, might not be seen.
pub(super) fn unseen(connection: &mut Connection, workspace: &Workspace) -> Result<Vec<String>> {
    let [grants, taken] = grants(connection)?;
    let mut unseen = Vec::new();
    let applying = applying(connection, &grants, workspace.name())?;
    let missing: Vec<&str> =
        SEES.into_iter().filter(|privilege| !applying.iter().any(|grant| grant.allows(privilege))).collect();
    if !missing.is_empty() {
        unseen.push(format!("GRANT {} ON `plimsoll\\_%`.*", missing.join(", ")));
    }
    let elsewhere = ["SELECT", "SHOW VIEW", "EVENT", "TRIGGER"];
    let mut theirs = taken.iter().filter(|taken| !taken.is_of_server());
    let is_partial = theirs.any(|taken| elsewhere.iter().any(|right| taken.allows(right)));
    if is_partial || !elsewhere.into_iter().all(|privilege| everywhere(&grants, privilege)) {
        unseen.push(SEES_ELSEWHERE.to_owned());
    }
    Ok(unseen)
}

fn everywhere(grants: &[Grant], privilege: &str) -> bool {
    grants.iter().any(|grant| grant.scope == "*.*" && grant.allows(privilege))
}

/// Asks for all of them.
pub(super) fn detect(connection: &mut Connection) -> Result<Vec<Capability>> {
    let [grants, _] = grants(connection)?;
    let mut capabilities = Vec::new();
    for Privilege { name, found, cost, remedy, gives } in PRIVILEGES.iter() {
        let works = match found {
            Found::Places => makes_places(connection, &grants)?,
            Found::Grant(privilege) => everywhere(&grants, privilege),
            Found::Query(name) => match connection.ask(text(name)) {
                Ok(_) => true,
                Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Statement) => false,
                Err(error) => return Err(error),
            },
            Found::Setting(name) => connection.ask_one(text(name))?.is_some_and(|value| value == "1"),
        };
        capabilities.push(Capability { name, works, cost, remedy: Some(remedy.clone()), gives });
    }
    Ok(capabilities)
}

/// What has to be allowed in a database of ours.
const FOR_PLACES: [&str; 5] = ["CREATE", "DROP", "INSERT", "SELECT", "UPDATE"];

/// Whether the grants are enough for databases of our names. The server itself compares a name with a pattern.
fn makes_places(connection: &mut Connection, grants: &[Grant]) -> Result<bool> {
    let applying = applying(connection, grants, "plimsoll_run_a")?;
    Ok(FOR_PLACES.iter().all(|privilege| applying.iter().any(|grant| grant.allows(privilege))))
}

/// The grants for all that is in a database.
fn applying<'a>(connection: &mut Connection, grants: &'a [Grant], database: &str) -> Result<Vec<&'a Grant>> {
    let mut applying = Vec::new();
    for grant in grants {
        if let Some(pattern) = grant.database() {
            let sql = fill("database of a grant", &[("database", database), ("pattern", &pattern)]);
            if pattern == "*" || connection.ask_one(&sql)?.is_some_and(|value| value == "1") {
                applying.push(grant);
            }
        }
    }
    Ok(applying)
}

/// A line of `SHOW GRANTS`.
#[derive(Debug, PartialEq, Eq)]
struct Grant {
    privileges: Vec<String>,
    /// As `*.*` or with names in backticks.
    scope: String,
}

impl Grant {
    /// `None` for a line of another kind, such as a role that is given.
    fn parse(line: &str, [begin, end]: [&str; 2]) -> Option<Self> {
        let (privileges, rest) = line.strip_prefix(begin)?.split_once(" ON ")?;
        let (scope, _) = rest.split_once(end)?;
        let privileges = privileges.split(',').map(|privilege| privilege.trim().to_ascii_uppercase()).collect();
        Some(Self { privileges, scope: scope.to_owned() })
    }

    /// Whether it is for a database of the server's own, whose views read nobody's tables by name.
    fn is_of_server(&self) -> bool {
        let name = self.database().unwrap_or_default();
        ["mysql", "sys", "performance_schema", "information_schema"].contains(&name.as_str())
    }

    fn allows(&self, privilege: &str) -> bool {
        self.privileges.iter().any(|granted| granted == "ALL PRIVILEGES" || granted == privilege)
    }

    /// The pattern of databases that it is for, if it is for all their tables.
    fn database(&self) -> Option<String> {
        let pattern = self.scope.strip_suffix(".*")?;
        let bare = pattern.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(pattern);
        Some(bare.replace("``", "`"))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn lines_of_grants_are_read() {
        let all =
            Grant::parse("GRANT ALL PRIVILEGES ON `plimsoll\\_%`.* TO `bench`@`%` WITH GRANT OPTION", GIVEN).unwrap();
        assert_eq!(all.database().as_deref(), Some("plimsoll\\_%"));
        assert!(all.allows("CREATE"));
        let taken = Grant::parse("REVOKE SELECT, SHOW VIEW ON `app`.* FROM `bench`@`%`", TAKEN).unwrap();
        assert!(taken.allows("SHOW VIEW") && !taken.allows("EVENT") && !taken.is_of_server());
        assert!(Grant::parse("REVOKE INSERT ON `mysql`.* FROM `bench`@`%`", TAKEN).unwrap().is_of_server());
        assert_eq!(Grant::parse("GRANT SELECT ON *.* TO `bench`@`%`", TAKEN), None);
        let some =
            Grant::parse("GRANT RELOAD, PROCESS ON *.* TO `bench`@`%` IDENTIFIED BY PASSWORD '*AB'", GIVEN).unwrap();
        assert_eq!((some.database().as_deref(), some.scope.as_str()), (Some("*"), "*.*"));
        assert!(some.allows("PROCESS") && !some.allows("CREATE"));
        assert_eq!(Grant::parse("GRANT `reader` TO `bench`@`%`", GIVEN), None);
        let table = Grant::parse("GRANT SELECT (a, b) ON `mysql`.`user` TO `bench`@`%`", GIVEN).unwrap();
        assert_eq!(table.database(), None);
    }

    #[test]
    fn the_documents_have_the_table_of_capabilities() {
        let mut table = "| capability | without it | what gives it |\n|---|---|---|\n".to_owned();
        for Privilege { name, cost, remedy, .. } in PRIVILEGES.iter() {
            let remedy = if remedy.contains('`') { format!("``{remedy}``") } else { remedy.to_owned() };
            let _ = writeln!(table, "| {name} | {cost} | {remedy} |");
        }
        let document = include_str!("../../../../docs/ENGINES.md");
        assert!(document.contains(&table), "docs/ENGINES.md should have this table:\n{table}");
    }
}
