//! Places on servers: whose they are, removal, and what a run that died left at work. A server's driver says how each step is asked for
//! ([`Keeper`]); in which order and under which lock they are done is the same everywhere, and stands here.

use std::time::Duration;

use plimsoll_clock::Clock;

use crate::error::{Error, ErrorKind, Result};
use crate::mark::{Intents, Mark, Part};
use crate::workspace::Workspace;

/// How long ended sessions may take to go: they undo what they were doing, which takes about as long as doing it.
const END_PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked whether ended sessions have gone, in the first seconds and after these.
const END_PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
const SOON: Duration = Duration::from_secs(5);

/// Name of the sessions that neither work nor hold a lease.
pub const CONTROL: &str = "plimsoll";
/// What names of working sessions begin with; the run's place follows.
pub const WORK: &str = "plimsoll work ";

/// Name of the sessions that hold a lease.
pub fn lease_name(workspace: &Workspace) -> String {
    format!("plimsoll lease {workspace}")
}

/// The owner of an object with the name of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// There is nothing of that name.
    Nobody,
    /// It bears a whole mark that names it.
    We,
    /// It has the name and no mark, and nothing that can be seen is in it. It is ours only if we meant to make it.
    Unfinished,
    /// It is not ours, for this reason.
    Somebody(String),
}

impl Owner {
    /// The owner of an object that is there, by the text where its mark would be.
    #[must_use]
    pub fn by_mark(text: Option<&str>, object: &str) -> Self {
        match text.filter(|text| !text.is_empty()) {
            None => Self::Somebody(UNMARKED.to_owned()),
            Some(text) if Mark::names(text, object) => Self::We,
            Some(text) => Self::Somebody(match Mark::read(text) {
                Some(mark) => format!("it bears the mark of {}", mark.object()),
                None => "what stands in place of a mark is none of ours, or not whole".to_owned(),
            }),
        }
    }
}

/// Why an object without a mark is not ours.
pub(super) const UNMARKED: &str = "it bears no mark, and this store has no note of having begun it";

/// Opens sessions that look after places.
pub trait Keepers: Send + Sync {
    /// Such a session.
    type Keeper: Keeper;

    /// The time that they live by.
    fn clock(&self) -> &dyn Clock;

    /// Where it is noted what is about to be made.
    fn intents(&self) -> &Intents;

    /// A session under a name.
    ///
    /// # Errors
    /// If the server can't be reached.
    fn keeper(&self, name: &str) -> Result<Self::Keeper>;

    /// The same in place of one that was lost, and tried once: whoever lost it tries again.
    ///
    /// # Errors
    /// If the server can't be reached at the moment.
    fn replacement(&self, name: &str) -> Result<Self::Keeper> {
        self.keeper(name)
    }
}

/// A session that looks after places. Locks are its own, and fall when it dies.
pub trait Keeper: Send {
    /// How long the server may take to notice that a connection was lost, and holds its locks until then.
    const RENEW_PATIENCE: Duration;

    /// What the place is on this server: `schema`, `database`.
    fn noun(workspace: &Workspace) -> &'static str;

    /// The owner of the place.
    fn owner(&mut self, workspace: &Workspace) -> Result<Owner>;

    /// Makes the place with its mark, or marks what is unfinished.
    fn make(&mut self, workspace: &Workspace, is_there: bool, mark: &Mark) -> Result<()>;

    /// The statement that would mark the place.
    fn marking(workspace: &Workspace, mark: &Mark) -> String;

    /// Takes the lock of a place unless another session's stands against it.
    fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool>;

    /// Turns an exclusive lock into a shared one; false if it was lost on the way.
    fn lower(&mut self, workspace: &Workspace) -> Result<bool>;

    /// Gives back an exclusive lock.
    fn unlock(&mut self, workspace: &Workspace) -> Result<()>;

    /// Gives back whatever it holds on a place, if the server still hears it.
    fn leave(&mut self, workspace: &Workspace);

    /// True if the server still answers, in a time that the caller can wait.
    fn answers(&mut self) -> bool;

    /// The working sessions that may be seen, by their runs.
    fn working(&mut self) -> Result<Vec<(Workspace, Vec<i64>)>>;

    /// Ends one of them; false if it has gone, or is not ours to end.
    fn end(&mut self, run: &Workspace, session: i64) -> Result<bool>;

    /// What is not known to be ours in a place of ours, or tied to it: kinds and names.
    fn strangers(&mut self, workspace: &Workspace) -> Result<Vec<String>>;

    /// Who else owns a place, or something in it, on servers where objects have owners. What another user owns may do anything in the
    /// name of who uses it: by a default, a trigger, or an index.
    fn other_owners(&mut self, _workspace: &Workspace) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Gives tables of these names in a place of ours the marks that they lack, so that what belongs to them is known as well.
    fn adopt(&mut self, workspace: &Workspace, parts: &[Part]) -> Result<()>;

    /// Drops what a definition's own statement made in a place of ours, if it is there and nothing uses it. What the server refuses to drop
    /// stays as it is, and is found when the place is looked through.
    fn take(&mut self, workspace: &Workspace, part: &Part) -> Result<()>;

    /// True while one of them still works for that run.
    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool>;
}

/// Removes a place as [`Workspaces::remove`](crate::Workspaces::remove) promises; `drop` does it, under the lock, and looks at the
/// mark and at what is in the place again.
///
/// # Errors
/// If it is not ours, or something in it isn't.
pub fn remove<K: Keepers>(
    keepers: &K,
    workspace: &Workspace,
    drop: impl FnOnce(&mut K::Keeper) -> Result<bool>,
) -> Result<bool> {
    let lease = workspace.leased_by();
    let mut keeper = keepers.keeper(&lease_name(&lease))?;
    let intents = keepers.intents();
    if !is_there_and_ours(&mut keeper, intents, workspace)? {
        intents.over(workspace.name());
        return Ok(true);
    }
    if !keeper.try_lock(&lease, false)? {
        return Ok(false);
    }
    end_orphans(&mut keeper, keepers.clock())?;
    // Asked again under the lock.
    let removed = match is_there_and_ours(&mut keeper, intents, workspace) {
        Ok(true) => take_expected(&mut keeper, intents, workspace).and_then(|()| drop(&mut keeper)),
        gone => gone.map(|_| true),
    };
    // The session's end would do the same, a moment later.
    let _ = keeper.unlock(&lease);
    if matches!(removed, Ok(true)) {
        intents.over(workspace.name());
    }
    removed
}

/// Drops what definitions made in a place, by the notes about it; the last goes first, as it may use what came before. With anything else
/// there all of it stays.
fn take_expected<K: Keeper>(keeper: &mut K, intents: &Intents, workspace: &Workspace) -> Result<()> {
    let parts = intents.expected(workspace.name())?;
    if parts.is_empty() {
        return Ok(());
    }
    keeper.adopt(workspace, &parts)?;
    if !keeper.strangers(workspace)?.iter().all(|what| is_expected(what, &parts)) {
        return Ok(());
    }
    // An older object may have been changed to use a younger one: that is free once the older one is gone.
    (0..PASSES).try_for_each(|_| parts.iter().try_for_each(|part| keeper.take(workspace, part)))
}

/// How often all parts of a place are tried in turn.
const PASSES: usize = 3;

/// True if something that a server calls so is one of these parts: `view v`, `function s.f(integer)`, `trigger r on table t`.
fn is_expected(what: &str, parts: &[Part]) -> bool {
    let what = what.split('(').next().unwrap_or_default();
    let what = what.split(" on ").next().unwrap_or_default().to_lowercase();
    let (named, is_quoted) = (what.trim_end_matches('"'), what.ends_with('"'));
    // Names may have blanks: before them come a quotation mark, a schema or a kind (`SQL_STORED_PROCEDURE p`).
    let is_it = |part: &Part| {
        let Some(before) = named.strip_suffix(&part.plain().to_lowercase()) else { return false };
        let kind = || before.strip_suffix(' ')?.rsplit(' ').next()?.contains(&part.kind).then_some(());
        if is_quoted { before.ends_with('"') } else { before.ends_with('.') || kind().is_some() }
    };
    parts.iter().any(is_it)
}

/// True if a place is there; an error if it is not ours.
fn is_there_and_ours<K: Keeper>(keeper: &mut K, intents: &Intents, workspace: &Workspace) -> Result<bool> {
    match keeper.owner(workspace)? {
        Owner::Nobody => Ok(false),
        owner => match why_not_ours(&owner, intents, workspace)? {
            None => Ok(true),
            Some(reason) => Err(foreign::<K>(workspace, &reason)),
        },
    }
}

/// Why something that is there is not ours; `None` if it is.
///
/// # Errors
/// If our notes can't be read.
pub fn why_not_ours(owner: &Owner, intents: &Intents, workspace: &Workspace) -> Result<Option<String>> {
    Ok(match owner {
        Owner::Somebody(reason) => Some(reason.clone()),
        Owner::Unfinished if intents.begun(workspace.name())?.is_none() => Some(UNMARKED.to_owned()),
        _ => None,
    })
}

/// Ends the working sessions of dead runs; returns how many. What we may not see or end stays.
///
/// # Errors
/// If the server can't be asked, or one of them still undoes what it was doing.
pub fn end_orphans<K: Keeper>(keeper: &mut K, clock: &dyn Clock) -> Result<u32> {
    let mut ended = 0;
    for (run, sessions) in keeper.working()? {
        // The run's lease says whether it lives, and nobody can start to work for that run while we hold its lock.
        if keeper.try_lock(&run, false)? {
            let count = end_all(keeper, clock, &run, sessions);
            keeper.unlock(&run)?;
            ended += count?;
        }
    }
    Ok(ended)
}

fn end_all<K: Keeper>(keeper: &mut K, clock: &dyn Clock, run: &Workspace, sessions: Vec<i64>) -> Result<u32> {
    let mut ended = 0;
    for session in sessions {
        if !keeper.end(run, session)? {
            continue;
        }
        let start = clock.now();
        while keeper.is_working(run, session)? {
            let waited = clock.now().since(start);
            if waited >= END_PATIENCE {
                let message =
                    format!("session {session} of the dead run {run} has not ended within {} s", waited.as_secs());
                return Err(Error::new(ErrorKind::Busy, message)
                    .hint("the server may still roll back a large transaction, or the session's process stands still; try again in some minutes"));
            }
            clock.sleep(END_PAUSES[usize::from(waited >= SOON)]);
        }
        ended += 1;
    }
    Ok(ended)
}

/// The error that keeps us off what isn't ours.
pub fn foreign<K: Keeper>(workspace: &Workspace, reason: &str) -> Error {
    let noun = K::noun(workspace);
    let marking = K::marking(workspace, &Mark::new(workspace.name()));
    Error::new(ErrorKind::Safety, format!("the {noun} {workspace} is not ours and not touched: {reason}"))
        .hint(format!("if it is ours after all: {marking}"))
}

/// Why a data set that is ours must not be used, if so: nobody's tables are loaded anew but ours, and nobody's code runs by ours.
pub(super) fn unfit<K: Keeper>(keeper: &mut K, workspace: &Workspace) -> Result<Option<String>> {
    let owners = keeper.other_owners(workspace)?;
    if !owners.is_empty() {
        return Ok(Some(format!("belongs to another user ({})", listed(&owners))));
    }
    let others = keeper.strangers(workspace)?;
    Ok((!others.is_empty()).then(|| format!("has what is not known to be ours: {}", listed(&others))))
}

pub(super) fn unusable<K: Keeper>(workspace: &Workspace, reason: &str) -> Error {
    Error::new(ErrorKind::Safety, unusable_words(K::noun(workspace), workspace, reason)).hint(UNUSABLE_HINT)
}

/// The sentence about a kept data set that is not used.
pub fn unusable_words(noun: &str, workspace: &Workspace, reason: &str) -> String {
    format!("the kept data set is not used, as the {noun} {workspace} {reason}")
}

/// What to do about it.
pub const UNUSABLE_HINT: &str =
    "drop or move that; or run plimsoll clean --data as the user that kept it; or leave out --keep-data";

/// An error if a place has to be kept for the sake of what is not ours: all of it is named.
///
/// # Errors
/// [`ErrorKind::Safety`] unless there are no such objects.
pub fn without_others<K: Keeper>(workspace: &Workspace, others: &[String]) -> Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let noun = K::noun(workspace);
    let message = format!(
        "the {noun} {workspace} is kept, as it would take along what is not known to be ours: {}",
        listed(others)
    );
    Err(Error::new(ErrorKind::Safety, message)
        .hint("drop or move that, also if statements of a definition made it, then run plimsoll clean"))
}

/// Names in a sentence; of very many only how many more there are.
pub fn listed(names: &[String]) -> String {
    let shown = names.len().min(MOST_LISTED);
    let more = if shown < names.len() { format!(" (and {} more)", names.len() - shown) } else { String::new() };
    names[..shown].join(", ") + &more
}

/// Names that a sentence has at most.
const MOST_LISTED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_by_its_name() {
        let part = |kind: &str, name: &str| Part { kind: kind.into(), name: name.into(), on: String::new() };
        let parts = [part("view", "v"), part("function", "\"F\""), part("trigger", "r"), part("view", "`My V`")];
        for what in [
            "view v",
            "VIEW V",
            "SQL_TRIGGER r",
            "view place.\"My V\"",
            "materialized view place.v",
            "function place.f(integer, text)",
            "trigger r on table t",
        ] {
            assert!(is_expected(what, &parts), "{what}");
        }
        for what in [
            "view w",
            "view other v",
            "view place.\"other v\"",
            "function place.g(v)",
            "trigger s on table v",
            "v",
            "",
            "default for column v of table t",
        ] {
            assert!(!is_expected(what, &parts), "{what}");
        }
    }
}
