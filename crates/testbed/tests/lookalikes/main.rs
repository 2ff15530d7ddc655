//! Look-alikes of what is ours, from a seed: names, whole, partial and copied marks, contents of every kind, rights that are missing,
//! links. What `clean` does to a target is done to all of them: everything of ours goes, and nothing else is touched.
//!
//! `PLIMSOLL_LOOKALIKES` is how many each engine gets, some tens without it.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, in its helpers too")]

mod mariadb;
mod postgres;
mod sqlite;
mod tds;

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_clock::RealClock;
use plimsoll_engine::{
    ClaimMode, ColumnType, Credentials, Database, Engine, Intents, Lease, Mark, Session, Target, Value, Workspace,
};

/// As many are planted before everything is cleaned.
const BATCH: usize = 40;

/// How many look-alikes an engine gets.
fn count() -> usize {
    std::env::var("PLIMSOLL_LOOKALIKES").ok().and_then(|count| count.parse().ok()).unwrap_or(80)
}

/// Numbers from a seed (`SplitMix64`).
struct Luck(u64);

impl Luck {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of that many.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// One of these.
    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True one time in so many.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What stands where an object has its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marking {
    Whole,
    None,
    Partial,
    /// Of another object.
    Copied,
    /// With another name put in.
    Renamed,
    Altered,
    Prolonged,
    /// That of earlier releases.
    Old,
    Theirs,
}

impl Marking {
    const ALL: [Self; 9] = [
        Self::Whole,
        Self::None,
        Self::Partial,
        Self::Copied,
        Self::Renamed,
        Self::Altered,
        Self::Prolonged,
        Self::Old,
        Self::Theirs,
    ];

    /// Every other one is whole, as what else makes an object somebody's is seen only then.
    fn any(luck: &mut Luck) -> Self {
        if luck.once_in(2) { Self::Whole } else { *luck.one(&Self::ALL) }
    }

    /// The text of it for an object.
    fn text(self, object: &str, luck: &mut Luck) -> String {
        let mark = Mark::new(object).to_string();
        let other = Mark::new(&format!("{object}x")).to_string();
        match self {
            Self::Whole => mark,
            Self::None => String::new(),
            Self::Partial => mark[..=luck.below(mark.len() - 1)].to_owned(),
            Self::Copied => other,
            Self::Renamed => other.replace(&format!("{object}x"), object),
            Self::Altered => {
                let at = mark.len() - 1 - luck.below(49);
                let digit = if &mark[at..=at] == "0" { "1" } else { "0" };
                format!("{}{digit}{}", &mark[..at], &mark[at + 1..])
            }
            Self::Prolonged => format!("{mark} "),
            Self::Old => "plimsoll: measurement data, may be removed".to_owned(),
            Self::Theirs => "somebody's own".to_owned(),
        }
    }
}

/// What was planted.
#[derive(Debug)]
struct Planted {
    workspace: Workspace,
    /// True if all of it is ours.
    ours: bool,
    /// What it is, for whoever reads that it went wrong.
    what: String,
}

/// A target with look-alikes.
trait Field {
    fn database(&self) -> Box<dyn Database>;
    /// Makes one with this number.
    fn plant(&mut self, luck: &mut Luck, number: usize) -> Planted;
    /// Everything that is there, by places, so that a change is seen. What there is beside them is under names of no place.
    fn state(&mut self) -> BTreeMap<String, String>;
    /// Takes away what the user would, so that the next ones find room.
    fn clear(&mut self, planted: &[Planted]);
    /// Somebody who may not see or not remove what is there.
    fn restricted(&self) -> Option<Box<dyn Database>> {
        None
    }
}

fn open(engine: &dyn Engine, url: &str, intents: &Intents) -> Box<dyn Database> {
    let credentials = Credentials { intents: intents.clone(), ..Credentials::default() };
    engine.open(&Target::parse(url).unwrap(), &credentials, Arc::new(RealClock::new())).unwrap()
}

/// A run that is at work, which everybody leaves alone. Its session plants what others have.
struct Gardener {
    session: Box<dyn Session>,
    _lease: Box<dyn Lease>,
}

impl Gardener {
    fn at(database: &dyn Database) -> Self {
        let own = Workspace::run("gardener").unwrap();
        let lease = database.claim(&own, ClaimMode::Exclusive).unwrap().unwrap();
        Self { session: database.session(&own, &own).unwrap(), _lease: lease }
    }

    fn run(&mut self, sql: &str) {
        self.session.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Two columns of text: what there is, and how it is.
    fn state(&mut self, sql: &str) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        let types = [ColumnType::Text(400), ColumnType::Text(u16::MAX)];
        self.session
            .query(sql, &[], &types, &mut |row| {
                let text = |index| if let Value::Text(text) = row.get(index) { text.to_owned() } else { String::new() };
                state.insert(text(0), text(1));
                Ok(())
            })
            .unwrap();
        state
    }
}

/// What `plimsoll clean --data` does.
fn clean(database: &dyn Database) -> Vec<String> {
    database.end_orphans().unwrap();
    let mut refused = Vec::new();
    for status in database.workspaces().unwrap() {
        if status.is_left()
            && let Err(error) = database.remove(&status.workspace)
        {
            refused.push(format!("{}: {error}", status.workspace));
        }
    }
    refused
}

/// Plants, cleans and compares.
fn harvest(name: &str, field: &mut dyn Field) {
    let (total, mut luck) = (count(), Luck(0x706c_696d));
    let (mut ours, mut theirs, mut wrong) = (0, 0, Vec::new());
    let mut number = 0;
    while number < total {
        let planted: Vec<Planted> =
            (number..total.min(number + BATCH)).map(|number| field.plant(&mut luck, number)).collect();
        number += planted.len();
        let before = field.state();
        if let Some(restricted) = field.restricted() {
            clean(&*restricted);
            if field.state() != before {
                wrong.push(format!("{name}: a user with few rights changed something before {number}"));
            }
        }
        let before = field.state();
        let refused = clean(&*field.database());
        let after = field.state();
        for one in &planted {
            let name = one.workspace.name();
            let of = |state: &BTreeMap<String, String>| {
                state
                    .range(name.to_owned()..)
                    .take_while(|(key, _)| key.starts_with(name))
                    .map(|(key, text)| (key.clone(), text.clone()))
                    .collect::<Vec<_>>()
            };
            let (was, is) = (of(&before), of(&after));
            if one.ours && !is.is_empty() {
                wrong.push(format!("{one:?} stayed: {refused:?}"));
            } else if !one.ours && (was != is || was.is_empty()) {
                wrong.push(format!("{one:?} was {was:?} and is {is:?}"));
            }
        }
        // Nothing else either: whatever is gone or new belongs to one of ours.
        let of_ours = |key: &str| planted.iter().any(|one| one.ours && key.starts_with(one.workspace.name()));
        let rest = |state: &BTreeMap<String, String>| {
            state
                .iter()
                .filter(|(key, _)| !of_ours(key))
                .map(|(key, text)| (key.clone(), text.clone()))
                .collect::<Vec<_>>()
        };
        if rest(&before) != rest(&after) {
            wrong.push(format!("{name}: something else changed before {number}"));
        }
        ours += planted.iter().filter(|one| one.ours).count();
        theirs += planted.iter().filter(|one| !one.ours).count();
        field.clear(&planted);
    }
    let mut out = std::io::stderr();
    let line = format!("lookalikes {name}: {total} planted, {ours} ours, {theirs} not ours, {} wrong\n", wrong.len());
    std::io::Write::write_all(&mut out, line.as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(10)].join("\n"));
    assert!(ours > total / 20 && theirs > total / 4, "{ours} of {total}");
}
