//! Marks of ownership, and the intents that go before them.
//!
//! A *mark* is a text that can't be somewhere by accident: it names the object that bears it, and has a random token with a
//! checksum of both. An *intent* is a note in our own store that an object is about to be made; it is there before the object
//! is. So an object is ours if its mark names it, whichever store knows of it. It is ours as well if it has no mark yet and our
//! store has an intent for it that was never completed. A name alone says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;

/// What marks begin with. The name of the object, the token and the checksum follow, with a space before each.
const BEGINNING: &str = "plimsoll: measurement data, may be removed; the mark of";

/// The mark of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    object: String,
    token: String,
}

impl Mark {
    /// A new mark, with a token that nobody can guess.
    #[must_use]
    pub fn new(object: &str) -> Self {
        // Each state has keys from the system's random numbers.
        let half = || RandomState::new().hash_one(());
        Self { object: object.to_owned(), token: format!("{:016x}{:016x}", half(), half()) }
    }

    /// The mark of that object by its token.
    #[must_use]
    pub fn of(object: &str, token: &str) -> Self {
        Self { object: object.to_owned(), token: token.to_owned() }
    }

    /// The mark in a text, if it is one and whole.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        // From the end, as names of files may have spaces.
        let mut words = text.strip_prefix(BEGINNING)?.strip_prefix(' ')?.rsplitn(3, ' ');
        let (checksum, token) = (words.next()?, words.next()?);
        let mark = Self::of(words.next()?, token);
        (checksum == mark.checksum() && mark.token.len() == 32).then_some(mark)
    }

    /// True if a text is a whole mark that names this object.
    #[must_use]
    pub fn names(text: &str, object: &str) -> bool {
        Self::read(text).is_some_and(|mark| mark.object == object)
    }

    /// The object that it names.
    #[must_use]
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Its random part.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A number of 31 bits made from all of it, for places that hold no more; never zero.
    #[must_use]
    pub fn number(&self) -> i32 {
        (xxh3_64(self.to_string().as_bytes()) & 0x7fff_ffff).max(1) as i32
    }

    fn checksum(&self) -> String {
        format!("{:016x}", xxh3_64(format!("{} {}", self.object, self.token).as_bytes()))
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGINNING} {} {} {}", self.object, self.token, self.checksum())
    }
}

/// What marks a part of a place of ours, such as a table: its own name and that of the place. What somebody made like one of ours
/// bears the name of another.
#[must_use]
pub fn of_part(kind: &str, name: &str, place: &str) -> String {
    format!("plimsoll: {kind} {name} of {place}")
}

/// A note about an object that we make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// What tells its target from others.
    pub target: String,
    /// Its name there.
    pub object: String,
    /// The token of its mark.
    pub token: String,
    /// True once it bears the mark: from then on the mark alone says that it is ours.
    pub made: bool,
}

/// What a run is about to make in its place, by a definition's own statements: a table without a mark of ours, a view, a procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// `table`, `view`, `procedure`, ...
    pub kind: String,
    /// Its name, as the statement writes it.
    pub name: String,
    /// The table that it is put on, such as a trigger's; empty where there is none.
    pub on: String,
}

impl Part {
    /// True if an object of this kind and name is it. Engines differ in whether case counts; within a place of ours it doesn't.
    pub fn is(&self, kind: &str, name: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind) && self.plain().to_lowercase() == name.to_lowercase()
    }

    /// Its name without the signs around it.
    pub fn plain(&self) -> &str {
        self.name.trim_matches(['"', '`', '[', ']'])
    }
}

/// What stands between the parts of a note, and what within one: no name that we can make use of has them.
const BETWEEN: char = '\n';
const WITHIN: char = '\t';

/// Where intents are kept: on disk before a call returns.
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Keeps a note in place of an earlier one about that object.
    ///
    /// # Errors
    /// If it can't be kept. Then nothing may be made.
    fn keep(&self, intent: &Intent) -> Result<()>;

    /// The note about an object.
    ///
    /// # Errors
    /// If it can't be read.
    fn find(&self, target: &str, object: &str) -> Result<Option<Intent>>;

    /// The notes about objects whose names begin so.
    ///
    /// # Errors
    /// If they can't be read.
    fn beginning(&self, target: &str, beginning: &str) -> Result<Vec<Intent>>;

    /// Drops the note about an object, which is gone.
    ///
    /// # Errors
    /// If that can't be written.
    fn forget(&self, target: &str, object: &str) -> Result<()>;
}

/// Notes that end with this process, for programs without a store.
#[derive(Debug, Default)]
struct Remembered(Mutex<BTreeMap<(String, String), Intent>>);

impl Remembered {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<(String, String), Intent>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ledger for Remembered {
    fn keep(&self, intent: &Intent) -> Result<()> {
        let key = (intent.target.clone(), intent.object.clone());
        self.with(|kept| kept.insert(key, intent.clone()));
        Ok(())
    }

    fn find(&self, target: &str, object: &str) -> Result<Option<Intent>> {
        Ok(self.with(|kept| kept.get(&(target.to_owned(), object.to_owned())).cloned()))
    }

    fn beginning(&self, target: &str, beginning: &str) -> Result<Vec<Intent>> {
        let is_it = |intent: &&Intent| intent.target == target && intent.object.starts_with(beginning);
        Ok(self.with(|kept| kept.values().filter(is_it).cloned().collect()))
    }

    fn forget(&self, target: &str, object: &str) -> Result<()> {
        self.with(|kept| kept.remove(&(target.to_owned(), object.to_owned())));
        Ok(())
    }
}

/// The intents of one target.
#[derive(Debug, Clone)]
pub struct Intents {
    ledger: Arc<dyn Ledger>,
    target: String,
    /// What this process has made and not removed.
    here: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Default for Intents {
    fn default() -> Self {
        Self::new(Arc::new(Remembered::default()))
    }
}

impl Intents {
    /// Those in a ledger, of no target yet.
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, target: String::new(), here: Arc::default() }
    }

    /// Those of a target, by what tells it from others.
    #[must_use]
    pub fn at(&self, target: &str) -> Self {
        Self { target: target.to_owned(), ..self.clone() }
    }

    /// Notes that an object is about to be made, and gives the mark that it is to bear. Ask before whether there is one of that
    /// name.
    ///
    /// # Errors
    /// If the note can't be kept. Then nothing may be made.
    pub fn begin(&self, object: &str) -> Result<Mark> {
        let mark = Mark::new(object);
        self.note(&mark, false)?;
        self.with_here(BTreeSet::insert, object);
        Ok(mark)
    }

    /// True if this process made an object, and nobody was alone with it since.
    pub fn is_made_here(&self, object: &str) -> bool {
        self.with_here(|here, key| here.contains(&key), object)
    }

    fn with_here<T>(
        &self,
        work: impl FnOnce(&mut BTreeSet<(String, String)>, (String, String)) -> T,
        object: &str,
    ) -> T {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut here, (self.target.clone(), object.to_owned()))
    }

    /// Notes that an object bears its mark now.
    ///
    /// # Errors
    /// If the note can't be kept.
    pub fn made(&self, mark: &Mark) -> Result<()> {
        self.note(mark, true)
    }

    /// The mark of an object that was begun and that never got it.
    ///
    /// # Errors
    /// If the notes can't be read.
    pub fn begun(&self, object: &str) -> Result<Option<Mark>> {
        let open = self.ledger.find(&self.target, object)?.filter(|intent| !intent.made);
        Ok(open.map(|intent| Mark::of(object, &intent.token)))
    }

    /// Notes that an object is about to lose its mark and to go: what stays of it, if that fails, is known by the note.
    ///
    /// # Errors
    /// If the note can't be kept. Then nothing may go.
    pub fn leaving(&self, object: &str) -> Result<()> {
        self.note(&Mark::new(object), false)
    }

    /// Notes what is about to be made in a place, in this order.
    ///
    /// # Errors
    /// If the notes can't be kept. Then nothing may be made.
    pub fn expect(&self, place: &str, parts: &[Part]) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        // One note, as each is synced.
        let list = parts.iter().fold(place.to_owned(), |list, Part { kind, name, on }| {
            format!("{list}{BETWEEN}{kind}{WITHIN}{name}{WITHIN}{on}")
        });
        self.note(&Mark::new(&list), false)
    }

    /// What was to be made in a place, the last first.
    ///
    /// # Errors
    /// If the notes can't be read.
    pub fn expected(&self, place: &str) -> Result<Vec<Part>> {
        let notes = self.ledger.beginning(&self.target, &format!("{place}{BETWEEN}"))?;
        let part = |text: &str| {
            let mut words = text.split(WITHIN).map(str::to_owned);
            Some(Part { kind: words.next()?, name: words.next()?, on: words.next()? })
        };
        let of_note = |note: &Intent| note.object.split(BETWEEN).skip(1).filter_map(part).collect::<Vec<_>>();
        Ok(notes.iter().flat_map(of_note).rev().collect())
    }

    /// Drops the note about an object that is gone. What was to be made in it stays known: another server, which stood for this one, may
    /// have it as well. A note that stays does no harm, as the names of runs never come again.
    pub fn over(&self, object: &str) {
        let _ = self.ledger.forget(&self.target, object);
        self.with_here(|here, key| here.remove(&key), object);
    }

    fn note(&self, mark: &Mark, made: bool) -> Result<()> {
        let (target, object, token) = (self.target.clone(), mark.object.clone(), mark.token.clone());
        self.ledger.keep(&Intent { target, object, token, made })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_own_object_and_is_whole_or_none() {
        let mark = Mark::new("plimsoll_run_a");
        let text = mark.to_string();
        assert_eq!(Mark::read(&text).as_ref(), Some(&mark));
        assert!(Mark::names(&text, "plimsoll_run_a") && !Mark::names(&text, "plimsoll_run_b"));
        assert_ne!(mark.token(), Mark::new("plimsoll_run_a").token());
        for end in 0..text.len() {
            assert_eq!(Mark::read(&text[..end]), None, "{end}");
        }
        let renamed = text.replace("plimsoll_run_a", "plimsoll_run_b");
        assert_eq!((Mark::read(&renamed), Mark::read(&format!("{text} "))), (None, None));
        assert!(text.len() < 200 && mark.number() > 0, "{text}");
    }

    /// Part of the contract between versions.
    #[test]
    fn the_form_of_a_mark_never_changes() {
        let mark = Mark::of("plimsoll_data_1", "00112233445566778899aabbccddeeff");
        assert_eq!(
            mark.to_string(),
            "plimsoll: measurement data, may be removed; the mark of plimsoll_data_1 00112233445566778899aabbccddeeff \
             b7f104ca074defbf"
        );
        assert_eq!(mark.number(), 17_260_534);
        assert_eq!(of_part("table", "t", "plimsoll_run_a"), "plimsoll: table t of plimsoll_run_a");
    }

    #[test]
    fn an_intent_is_open_until_its_object_is_marked() {
        let intents = Intents::default().at("here");
        assert_eq!(intents.begun("a").unwrap(), None);
        let mark = intents.begin("a").unwrap();
        assert_eq!(intents.begun("a").unwrap(), Some(mark.clone()));
        assert_eq!(intents.at("elsewhere").begun("a").unwrap(), None);
        intents.made(&mark).unwrap();
        assert_eq!(intents.begun("a").unwrap(), None);
        intents.begin("a").unwrap();
        intents.over("a");
        assert_eq!(intents.begun("a").unwrap(), None);
    }

    #[test]
    fn what_is_to_be_made_in_a_place_is_known_also_when_the_place_is_gone_at_one_server() {
        let intents = Intents::default().at("here");
        let part = |kind: &str, name: &str, on: &str| Part { kind: kind.into(), name: name.into(), on: on.into() };
        let parts = [part("table", "\"T\"", ""), part("trigger", "r", "t")];
        intents.expect("a", &parts).unwrap();
        intents.expect("ab", &[part("view", "v", "")]).unwrap();
        assert_eq!(intents.expected("a").unwrap(), [parts[1].clone(), parts[0].clone()]);
        assert!(parts[0].is("table", "t") && !parts[0].is("view", "t") && !parts[0].is("table", "u"));
        intents.over("a");
        assert_eq!((intents.expected("a").unwrap().len(), intents.expected("ab").unwrap().len()), (2, 1));
    }
}
