//! The watchings that a file or a table has rows of, and which of them are meant.

use std::collections::BTreeMap;

use plimsoll_engine::{QueryText, Target};
use plimsoll_measurement::counters::Item;

use super::super::ranges::shown;
use crate::failure::Failure;

pub type Texts = BTreeMap<Item, QueryText>;

/// A watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its number; a file that was exported from the store has none.
    pub id: Option<String>,
    /// The server; `None` in files of earlier releases.
    pub server: Option<String>,
    /// From and to, in microseconds by the server's clock.
    pub from_us: i64,
    pub to_us: i64,
}

impl Session {
    fn name(&self) -> String {
        let id = self.id.as_deref().unwrap_or("without a number");
        format!("{id} ({} to {})", shown(self.from_us), shown(self.to_us))
    }
}

/// Those that are meant, in order of time: all of one server, or the ones that begin with these numbers. Without a server it is the one that
/// was watched last.
///
/// # Errors
/// If there are none, or their times overlap, so that a statement would count twice.
pub fn chosen(
    all: &[Session],
    server: Option<&str>,
    wanted: &[String],
    place: &str,
    list: &str,
) -> Result<Vec<Session>, Failure> {
    for wanted in wanted {
        let is_meant = |session: &&Session| session.id.as_ref().is_some_and(|id| id.starts_with(wanted.as_str()));
        match all.iter().filter(is_meant).count() {
            1 => {}
            0 => return Err(Failure::usage(format!("{place} has no session {wanted}")).hint(list)),
            _ => return Err(Failure::usage(format!("several sessions begin with {wanted}")).hint(list)),
        }
    }
    let is_meant = |session: &&Session| {
        let id = session.id.as_deref().unwrap_or_default();
        wanted.is_empty() || wanted.iter().any(|wanted| id.starts_with(wanted.as_str()))
    };
    let mut meant: Vec<Session> = all.iter().filter(is_meant).cloned().collect();
    let name = server
        .map(|server| Target::parse(server).map_or_else(|_| server.to_owned(), |target| target.display().to_owned()));
    let last = meant.iter().max_by_key(|session| session.to_us).map(|session| session.server.clone());
    match &name {
        Some(name) => meant.retain(|session| session.server.as_ref().is_none_or(|server| server == name)),
        None => meant.retain(|session| Some(&session.server) == last.as_ref()),
    }
    meant.sort_by_key(|session| session.from_us);
    if meant.is_empty() {
        let of = name.map_or_else(String::new, |name| format!(" of {name}"));
        return Err(Failure::usage(format!("nothing{of} is in {place}")).hint(list));
    }
    if let Some((one, other)) = meant.iter().zip(meant.iter().skip(1)).find(|(one, other)| other.from_us < one.to_us) {
        let names = format!("{} and {}", one.name(), other.name());
        return Err(Failure::usage(format!("two watchings of one time would count twice: {names}"))
            .hint("name one of them with --session"));
    }
    Ok(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_one_server_are_meant_and_may_not_overlap() {
        let of = |id: &str, server: &str, from_us, to_us| Session {
            id: Some(id.to_owned()),
            server: Some(server.to_owned()),
            from_us,
            to_us,
        };
        let all = [of("b1", "y", 20, 30), of("a1", "x", 0, 10), of("b2", "y", 10, 20), of("a2", "x", 9, 12)];
        let ids = |server, wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|id| (*id).to_owned()).collect();
            let found = chosen(&all, server, &wanted, "t", "list");
            found.map(|found| found.into_iter().filter_map(|one| one.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(None, &[]).unwrap(), ["b2", "b1"]);
        assert_eq!(ids(Some("x"), &["a2"]).unwrap(), ["a2"]);
        assert_eq!(ids(None, &["a1"]).unwrap(), ["a1"]);
        for (server, wanted, said) in [
            (Some("x"), &[][..], "would count twice"),
            (Some("z"), &[], "nothing of z is in t"),
            (None, &["c"], "t has no session c"),
            (None, &["b"], "several sessions begin with b"),
        ] {
            let failure = ids(server, wanted).unwrap_err();
            assert!(failure.message.contains(said), "{failure:?}");
        }
    }
}
