//! A user with certain rights, as a server treats it: what the user is told of them, and by which errors it is refused. Written from
//! Microsoft's documents of permissions (relational-databases/security/permissions-database-engine) and of the errors 262, 297 and 300.

use super::answers;
use super::request::Request;
use super::token::{Outcome, Refusal, Reply};
use super::types::Datum;

/// Rights that come with others.
const COVERED: [(&str, &[&str]); 5] = [
    ("VIEW SERVER STATE", &["sysadmin", "##MS_ServerStateReader##"]),
    ("VIEW SERVER PERFORMANCE STATE", &["VIEW SERVER STATE"]),
    ("VIEW DATABASE STATE", &["VIEW SERVER STATE", OWNER]),
    ("VIEW DATABASE PERFORMANCE STATE", &["VIEW DATABASE STATE", "VIEW SERVER PERFORMANCE STATE"]),
    ("##MS_ServerStateReader##", &["##MS_ServerStateManager##"]),
];
/// The role of a database that may do everything in it.
pub const OWNER: &str = "db_owner";
/// What it may do there beside what others cover.
const IN_DATABASE: [&str; 5] =
    ["CREATE SCHEMA", "CREATE TABLE", "CREATE PROCEDURE", "CHECKPOINT", "KILL DATABASE CONNECTION"];
/// Rights that versions before 2022 do not know.
const SINCE_2022: [&str; 2] = ["VIEW SERVER PERFORMANCE STATE", "VIEW DATABASE PERFORMANCE STATE"];
const VERSION_2022: i64 = 16;

/// The rights of a user at a server of this major version, or at a database in Azure.
#[derive(Debug, Clone)]
pub struct Rights {
    version: Option<i64>,
    held: Vec<String>,
}

impl Rights {
    /// At a server of this major version.
    pub fn at_server(version: i64, held: &[&str]) -> Self {
        Self { version: Some(version), held: held.iter().map(|right| (*right).to_owned()).collect() }
    }

    /// At a database in Azure.
    pub fn in_azure(held: &[&str]) -> Self {
        Self { version: None, ..Self::at_server(0, held) }
    }

    /// True if the user has this right, by itself or with another.
    pub fn has(&self, right: &str) -> bool {
        let is_held = self.held.iter().any(|held| held == right || (held == OWNER && IN_DATABASE.contains(&right)));
        let covering = COVERED.iter().find(|(covered, _)| *covered == right).map_or(&[][..], |(_, by)| *by);
        is_held || covering.iter().any(|other| self.has(other))
    }

    /// What a statement comes to that needs this right, if the user has not got it: the right is named by the first of two errors.
    pub fn refusal(&self, right: &str) -> Option<Reply> {
        if self.has(right) {
            return None;
        }
        let first = if right.contains("SERVER") {
            let text = format!("{right} permission was denied on object 'server', database 'master'.");
            Refusal { class: 14, ..Refusal::new(300, &text) }
        } else {
            Refusal { class: 14, ..Refusal::new(262, &format!("{right} permission denied in database 'sales'.")) }
        };
        let second = Refusal::new(297, "The user does not have permission to perform this action.");
        Some(Reply(vec![Outcome::Error(first), Outcome::Error(second)]))
    }

    /// What the server answers to questions about the user's rights, and its own version beside them; `None` for others.
    pub fn told(&self, request: &Request) -> Option<Reply> {
        let sql = request.sql();
        if !sql.contains("HAS_PERMS_BY_NAME") && !sql.contains("IS_SRVROLEMEMBER") {
            return None;
        }
        let list = sql.trim_start().strip_prefix("SELECT")?;
        Some(answers::one(expressions(list).into_iter().map(|expression| self.value(expression)).collect()))
    }

    fn value(&self, expression: &str) -> Datum {
        let last = expression.rsplit('\'').nth(1).unwrap_or_default();
        if expression.contains("ProductMajorVersion") {
            return self.version.map_or(Datum::Null, Datum::from);
        }
        let is_unknown = SINCE_2022.contains(&last) && self.version.is_some_and(|version| version < VERSION_2022);
        if last.is_empty() || is_unknown {
            return Datum::Null;
        }
        Datum::from(i64::from(self.has(last)))
    }
}

/// The expressions of a list; commas within parentheses separate none.
fn expressions(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, sign) in list.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[from..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greater_rights_cover_smaller_ones() {
        let all = Rights::at_server(16, &["VIEW SERVER STATE"]);
        for right in ["VIEW SERVER PERFORMANCE STATE", "VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE"] {
            assert!(all.has(right), "{right}");
        }
        let small = Rights::at_server(16, &["VIEW SERVER PERFORMANCE STATE"]);
        assert!(small.has("VIEW DATABASE PERFORMANCE STATE") && !small.has("VIEW DATABASE STATE"));
        let owner = Rights::in_azure(&[OWNER]);
        assert!(owner.has("CREATE TABLE") && owner.has("VIEW DATABASE STATE") && !owner.has("VIEW SERVER STATE"));
        assert!(Rights::in_azure(&["##MS_ServerStateManager##"]).has("VIEW DATABASE STATE"));
    }

    #[test]
    fn a_server_tells_what_it_knows_of_rights() {
        let sql = "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'CREATE TABLE'), \
                   HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE'), IS_SRVROLEMEMBER('sysadmin'), \
                   CAST(SERVERPROPERTY('ProductMajorVersion') AS int), CAST(NULL AS int)";
        let told = |rights: Rights| {
            let Some(Reply(mut outcomes)) = rights.told(&Request::Batch(sql.to_owned())) else {
                panic!("nothing told")
            };
            let Some(Outcome::Rows(_, mut rows)) = outcomes.pop() else { panic!("no row") };
            rows.next().unwrap()
        };
        let number = Datum::Integer;
        assert_eq!(told(Rights::at_server(15, &[OWNER])), [number(1), Datum::Null, number(0), number(15), Datum::Null]);
        assert_eq!(told(Rights::at_server(16, &[])), [number(0), number(0), number(0), number(16), Datum::Null]);
        assert!(Rights::in_azure(&[]).told(&Request::Batch("SELECT 1".to_owned())).is_none());
    }
}
