//! What is kept of a time: its sums, what happened in it and what may be missing, what sessions waited for and who held them up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bucket::{self, Bucket};
use crate::counted::{AboutCounted, Counted, LISTED};
use crate::slot::{Reason, Slot};
use crate::snapshot::{Item, Source};

/// So many root blockers of a time are kept, those that cost most.
const MOST_BLOCKERS: usize = 20;

/// A slot or several, as they are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The sums, without statements of ours.
    pub bucket: Bucket,
    /// What else is known of the time.
    pub about: About,
    /// Time of active sessions by statement and by what they waited for, in microseconds. Without a statement where the server does not
    /// say it.
    pub waits: BTreeMap<(Option<Item>, String), u64>,
    /// What the server itself counted of waits, files and other counters.
    pub counted: BTreeMap<Source, Counted>,
}

/// What is known of a time beside its sums.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    /// When it ended, by the server's clock.
    pub end_us: i64,
    /// Slots that it is made of.
    pub slots: u64,
    /// What happened at the server.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub events: BTreeSet<Reason>,
    /// Times that the server dropped rows; `None` where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evictions: Option<u64>,
    /// What may be missing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<Reason>,
    /// Time of our own statements, in microseconds.
    pub own_us: u64,
    /// What samples of sessions say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Sessions at the head of a chain of others that waited for locks, those that cost most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// What is known of what the server counted itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<Source, AboutCounted>,
}

/// What samples of sessions say of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sampled {
    /// Samples.
    pub samples: u64,
    /// The time that they stand for, in microseconds.
    pub us: u64,
    /// The most sessions that were connected at a time, active or not.
    pub most_sessions: u64,
    /// How many the server lets in; `None` where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_limit: Option<u64>,
    /// How many CPUs the server has; `None` where nobody says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The most sessions that worked at a time without waiting.
    #[serde(default)]
    pub most_on_cpu: u64,
}

/// A session that others waited for, and that waited for nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// Its statement, or its last one; `None` if the server does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// What it did: `active`, `idle in transaction`, `prepared transaction`.
    pub state: String,
    /// Time that others waited, directly or behind others, in microseconds.
    pub blocked_us: u64,
    /// The most sessions that waited at a time.
    pub most_blocked: u64,
    /// When that was.
    pub at_us: i64,
}

impl Record {
    /// A slot without statements of ours.
    pub fn of(slot: &Slot, own: &[Item], length_us: u64) -> Self {
        let (ours, theirs): (Vec<_>, Vec<_>) = slot.deltas.iter().copied().partition(|delta| own.contains(&delta.item));
        let elapsed = |delta: &crate::slot::Delta| delta.values.get(crate::Measure::ElapsedUs).unwrap_or(0);
        let about = About {
            end_us: slot.end_us,
            slots: 1,
            events: slot.event.into_iter().collect(),
            evictions: slot.evictions,
            unknown: slot.unknown.iter().map(|unknown| unknown.reason).collect(),
            own_us: ours.iter().filter(|delta| !delta.is_nested).map(elapsed).sum(),
            ..About::default()
        };
        let bucket = Bucket::of(&Slot { deltas: theirs, ..slot.clone() }, slot.start_us, length_us);
        Self { bucket, about, waits: BTreeMap::new(), counted: BTreeMap::new() }
    }
}

impl About {
    /// Adds what is known of a later time.
    pub fn add(&mut self, more: &Self) {
        self.end_us = self.end_us.max(more.end_us);
        self.slots = self.slots.saturating_add(more.slots);
        self.events.extend(&more.events);
        // Nothing was read before the first slot.
        self.evictions = match (self.evictions, more.evictions) {
            (Some(all), Some(more)) => Some(all.saturating_add(more)),
            (all, more) => all.or(more),
        };
        self.unknown.extend(&more.unknown);
        self.own_us = self.own_us.saturating_add(more.own_us);
        self.sampled = match (self.sampled, more.sampled) {
            (Some(all), Some(more)) => Some(Sampled {
                samples: all.samples.saturating_add(more.samples),
                us: all.us.saturating_add(more.us),
                most_sessions: all.most_sessions.max(more.most_sessions),
                session_limit: more.session_limit.or(all.session_limit),
                cpus: more.cpus.or(all.cpus),
                most_on_cpu: all.most_on_cpu.max(more.most_on_cpu),
            }),
            (all, more) => all.or(more),
        };
        self.block(&more.blockers);
        for (source, about) in &more.counted {
            self.counted.entry(*source).or_default().add(about);
        }
    }

    /// Adds blockers; those with the same statement in the same state are one.
    pub fn block(&mut self, more: &[Blocker]) {
        for one in more {
            match self.blockers.iter_mut().find(|known| known.item == one.item && known.state == one.state) {
                Some(known) => {
                    known.blocked_us = known.blocked_us.saturating_add(one.blocked_us);
                    if one.most_blocked > known.most_blocked {
                        (known.most_blocked, known.at_us) = (one.most_blocked, one.at_us);
                    }
                }
                None => self.blockers.push(one.clone()),
            }
        }
        self.blockers.sort_by_key(|blocker| std::cmp::Reverse(blocker.blocked_us));
        self.blockers.truncate(MOST_BLOCKERS);
    }
}

/// Sums records up to longer ones, as [`bucket::roll_up`] does with their sums.
pub fn roll_up(finer: &[Record], length_us: u64, top: usize) -> Vec<Record> {
    let buckets: Vec<Bucket> = finer.iter().map(|record| record.bucket.clone()).collect();
    let rolled = bucket::roll_up(&buckets, length_us, top).into_iter();
    let whole = |bucket: Bucket| {
        let time = bucket.start_us..bucket.start_us.saturating_add_unsigned(length_us);
        let parts = finer.iter().filter(|record| time.contains(&record.bucket.start_us));
        let mut record = Record { bucket, about: About::default(), waits: BTreeMap::new(), counted: BTreeMap::new() };
        for part in parts {
            record.about.add(&part.about);
            for (wait, us) in &part.waits {
                let sum = record.waits.entry(wait.clone()).or_default();
                *sum = sum.saturating_add(*us);
            }
            for (source, counted) in &part.counted {
                record.counted.entry(*source).or_default().add(counted);
            }
        }
        record.counted.values_mut().for_each(|counted| counted.cut(LISTED));
        record
    };
    rolled.map(whole).collect()
}
