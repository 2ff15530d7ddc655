//! What is in a database of ours, and which of it is ours: plain tables and procedures that bear our mark with their own names.
//!
//! The server takes names that differ by case or accents for the same where it compares them in its own views, and for different ones
//! where it keeps them. So what it lists is compared here, byte by byte.

use plimsoll_engine::server::place::Owner;
use plimsoll_engine::{Result, Workspace, mark};

use super::connection::Connection;
use super::statements::{of_place, text};

/// A table of this name, with a comment of ours, is in each of our databases. It says what a database is for, and we never touch
/// one without it.
pub(super) const MARK_TABLE: &str = "plimsoll_mark";
/// Kinds of what we make, as the statements call them.
pub(super) const TABLE: &str = "table";
pub(super) const PROCEDURE: &str = "procedure";
/// The kind of the database itself, which is listed if it is there, with the number of this server.
const DATABASE: &str = "database";
/// The kind of what says where the mark was made.
const SERVER: &str = "server";

struct Object {
    kind: String,
    name: String,
    comment: String,
}

/// What is in a database.
pub(super) struct Contents {
    place: Workspace,
    is_there: bool,
    /// The server that we ask, and the one that made the mark, if that says so.
    servers: [String; 2],
    objects: Vec<Object>,
}

impl Contents {
    /// Those of a database, as far as this user may see them.
    pub(super) fn of(connection: &mut Connection, workspace: &Workspace) -> Result<Self> {
        let mut contents = Self {
            place: workspace.leased_by(),
            is_there: false,
            servers: [const { String::new() }; 2],
            objects: Vec::new(),
        };
        let mut rows = connection.ask(&of_place("what is in a database", workspace))?;
        let there: Option<u64> =
            connection.ask_one(text("whether there are libraries"))?.and_then(|there| there.parse().ok());
        if there.is_some_and(|there| there > 0) {
            rows.extend(connection.ask(&of_place("libraries in a database of MySQL", workspace))?);
        }
        for row in rows {
            let text = |index: usize| row.get(index).cloned().flatten().unwrap_or_default();
            if text(1) != workspace.name() {
                continue;
            }
            let object = Object { kind: text(0), name: text(2), comment: text(3) };
            match object.kind.as_str() {
                DATABASE => (contents.is_there, contents.servers[0]) = (true, object.comment),
                SERVER => contents.servers[1] = object.comment,
                _ => contents.objects.push(object),
            }
        }
        Ok(contents)
    }

    /// Whose the database is, by the table that marks it; `None` if it is not listed.
    pub(super) fn owner(&self, workspace: &Workspace) -> Option<Owner> {
        let marking = self.objects.iter().find(|object| object.is_marking());
        Some(match marking {
            _ if !self.is_there => return None,
            Some(_) if self.came_from_elsewhere() => Owner::Somebody(self.origin()),
            Some(marking) => Owner::by_mark(Some(&marking.comment), workspace.name()),
            None if self.objects.is_empty() => Owner::Unfinished,
            None => Owner::by_mark(None, workspace.name()),
        })
    }

    /// True if replication brought it: it is removed where it was made.
    fn came_from_elsewhere(&self) -> bool {
        let [here, there] = &self.servers;
        !there.is_empty() && here != there
    }

    fn origin(&self) -> String {
        let [here, there] = &self.servers;
        format!(
            "it was made at a server with server_id {there}, and this one has {here}: replication brought it, or this server got another number; clean it \
             there, or drop it by hand if it was made here or this server has taken its place"
        )
    }

    fn is_ours(&self, object: &Object) -> bool {
        [TABLE, PROCEDURE].contains(&object.kind.as_str())
            && object.comment == mark::of_part(&object.kind, &object.name, self.place.name())
    }

    /// True if an object of ours of that name is in it.
    pub(super) fn has_own(&self, kind: &str, name: &str) -> bool {
        self.objects.iter().any(|object| object.kind == kind && object.name == name && self.is_ours(object))
    }

    /// Names of the tables, without the one that marks it, by whether they are ours.
    pub(super) fn tables(&self, ours: bool) -> impl Iterator<Item = &str> {
        let tables = self.objects.iter().filter(|object| object.kind == TABLE && !object.is_marking());
        tables.filter(move |object| self.is_ours(object) == ours).map(|object| object.name.as_str())
    }

    /// A table of that name that is not ours, in words.
    pub(super) fn strangers_at(&self, table: &str) -> Vec<String> {
        let named = self.objects.iter().filter(|object| object.name == table && object.kind != "trigger");
        let strangers = named.filter(|object| object.kind != PROCEDURE && !self.is_ours(object));
        strangers.map(|object| format!("{} {}", object.kind, object.name)).collect()
    }

    /// What is not ours in it, in words.
    pub(super) fn strangers(&self) -> Vec<String> {
        let strangers = self.objects.iter().filter(|object| !object.is_marking() && !self.is_ours(object));
        strangers.map(|object| format!("{} {}", object.kind, object.name)).collect()
    }
}

impl Object {
    fn is_marking(&self) -> bool {
        self.kind == TABLE && self.name == MARK_TABLE
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_engine::Mark;

    use super::*;

    fn contents(objects: &[[&str; 3]]) -> Contents {
        let object = |[kind, name, comment]: &[&str; 3]| Object {
            kind: (*kind).into(),
            name: (*name).into(),
            comment: (*comment).into(),
        };
        let servers = ["2".to_owned(), String::new()];
        Contents { place: Workspace::data(1), is_there: true, servers, objects: objects.iter().map(object).collect() }
    }

    #[test]
    fn names_and_marks_are_compared_byte_by_byte() {
        let place = Workspace::data(1);
        let mark = Mark::new(place.name()).to_string();
        let ours = format!("plimsoll: table t of {place}");
        for (kind, name, comment) in [
            (TABLE, "T", ours.as_str()),
            (TABLE, "ť", &ours),
            (TABLE, "t", &format!("{ours} ")),
            (TABLE, "t", &ours.to_uppercase()),
            ("view", "t", &ours),
            ("sequence", "t", &ours),
            (PROCEDURE, "t", &ours),
            (TABLE, "PLIMSOLL_MARK", &mark),
            (TABLE, "plimsoll_märk", &mark),
            ("view", MARK_TABLE, ""),
        ] {
            let contents = contents(&[[TABLE, "t", &ours], [TABLE, MARK_TABLE, &mark], [kind, name, comment]]);
            assert_eq!(contents.strangers(), [format!("{kind} {name}")]);
            assert_eq!(contents.tables(true).collect::<Vec<_>>(), ["t"]);
            assert_eq!(contents.owner(&place), Some(Owner::We));
        }
        for marking in [["view", MARK_TABLE, &mark], [TABLE, "Plimsoll_Mark", &mark]] {
            assert!(matches!(contents(&[marking]).owner(&place), Some(Owner::Somebody(_))), "{marking:?}");
        }
        assert_eq!(contents(&[]).owner(&place), Some(Owner::Unfinished));
        let mut marked = contents(&[[TABLE, MARK_TABLE, &mark]]);
        for (server, is_ours) in [("", true), ("2", true), ("22", false), ("1", false)] {
            marked.servers[1] = server.to_owned();
            assert_eq!(marked.owner(&place) == Some(Owner::We), is_ours, "{server}");
        }
    }
}
