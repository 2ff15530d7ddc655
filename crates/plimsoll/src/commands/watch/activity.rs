//! What runs between completions: sessions are looked at again and again, a ledger sees to it that no time counts twice, and waits and
//! blockers are added up by slot.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_engine::QueryText;
use plimsoll_engine::queries::{SeenSession, SessionSample, WaitClass};
use plimsoll_measurement::Moment;
use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_profile::bucket::{Key, Sum};
use plimsoll_profile::ledger::{Active, Closed, Sample};
use plimsoll_profile::{About, Blocker, Ledger, Record, Sampled, Slot, Status};

/// A look stands for no longer time than this.
const LONGEST_US: u64 = 10_000_000;

/// What samples showed since the last slot was closed, and what is under way.
#[derive(Default)]
pub struct Activity {
    ledger: Ledger,
    last: Option<Moment>,
    cpus: Option<u32>,
    sampled: Sampled,
    waits: BTreeMap<(Option<Item>, String), u64>,
    blockers: About,
    /// Texts of statements that were seen, as clients wrote them.
    texts: BTreeMap<Item, QueryText>,
}

impl Activity {
    /// Of a server with so many CPUs, where that is known.
    pub fn of(cpus: Option<u32>) -> Self {
        Self { cpus, ..Self::default() }
    }

    /// When the next look is due, so long after the last.
    pub fn due(&self, now: Moment, spacing: Duration) -> Moment {
        self.last.map_or(now, |last| last.after(spacing))
    }

    /// Takes a look that was made at a moment of our own clock.
    pub fn take(&mut self, sample: &SessionSample, at: Moment) {
        let spacing = self.last.map(|last| u64::try_from(at.since(last).as_micros()).unwrap_or(u64::MAX));
        self.last = Some(at);
        let active = |session: &SeenSession| {
            let start_us = session.start_us?;
            let (item, may_be_counted) = (session.item, session.may_be_counted);
            session.is_active.then_some(Active { session: session.identity, start_us, item, may_be_counted })
        };
        let active = sample.sessions.iter().filter_map(active).collect();
        self.ledger.sample(&Sample { at_us: sample.at_us, spacing_us: spacing, active });
        self.sampled.samples += 1;
        self.sampled.most_sessions = self.sampled.most_sessions.max(sample.connected);
        self.sampled.session_limit = sample.limit.or(self.sampled.session_limit);
        for session in &sample.sessions {
            let Some(item) = session.item.filter(|item| !self.texts.contains_key(item)) else { continue };
            let (database, text) = (session.database.clone(), session.text.clone());
            self.texts.insert(item, QueryText { item, database, text, object: None });
        }
        let working = sample.sessions.iter().filter(|session| session.is_active);
        let on_cpu = working.clone().filter(|session| session.wait.is_none()).count() as u64;
        self.sampled.most_on_cpu = self.sampled.most_on_cpu.max(on_cpu);
        // Of a time in which nobody looked no more is claimed.
        let Some(spacing) = spacing.map(|us| us.min(LONGEST_US)) else { return };
        self.sampled.us += spacing;
        for session in working {
            *self.waits.entry((session.item, wait_name(session))).or_default() += spacing;
        }
        block(&mut self.blockers, sample, spacing);
    }

    /// Texts of statements that were seen since the last time that somebody asked.
    pub fn texts(&mut self) -> BTreeMap<Item, QueryText> {
        std::mem::take(&mut self.texts)
    }

    /// Adds to a slot what samples showed in it, and settles what ended.
    pub fn close(&mut self, record: &mut Record, slot: &Slot, read_start_us: i64, own: &[Item]) {
        let closed = self.ledger.close(slot, read_start_us);
        let sampled = std::mem::take(&mut self.sampled);
        let (waits, blockers) = (std::mem::take(&mut self.waits), std::mem::take(&mut self.blockers));
        // Of a time without two looks nothing is known.
        if sampled.samples < 2 {
            return;
        }
        record.about.sampled = Some(Sampled { cpus: self.cpus, ..sampled });
        record.about.block(&blockers.blockers);
        record.waits = waits;
        let mut seen: BTreeMap<Item, u64> = BTreeMap::new();
        for ((item, _), us) in &record.waits {
            if let Some(item) = item {
                let sum = seen.entry(*item).or_default();
                *sum = sum.saturating_add(*us);
            }
        }
        if record.bucket.covered_us > 0 {
            // Our own statements end in each slot, so that what the server counts is known though nobody else's do.
            let counted = slot.deltas.iter().flat_map(|delta| delta.values.iter().map(|(measure, _)| measure));
            add(record, &closed, &seen, (own, counted.collect()));
        }
    }
}

/// The class of what a session waits for, and what the server calls it.
fn wait_name(session: &SeenSession) -> String {
    match &session.wait {
        None => WaitClass::Cpu.name().to_owned(),
        Some(wait) => format!("{}: {}", wait.class.name(), wait.name),
    }
}

/// The time by activity of each statement, and that of executions that ended unseen.
fn add(record: &mut Record, closed: &Closed, seen: &BTreeMap<Item, u64>, (own, counted): (&[Item], BTreeSet<Measure>)) {
    let sums = &mut record.bucket.sums;
    let items: BTreeSet<Item> = closed.items.keys().chain(seen.keys()).copied().collect();
    for item in items.into_iter().filter(|item| !own.contains(item)) {
        let activity = closed.items.get(&item).copied().unwrap_or_default();
        let has_any = activity.by_activity_us() > 0 || activity.ended_unseen_us > 0 || seen.contains_key(&item);
        let is_listed = sums.keys().any(|key| key.item == item && !key.is_nested);
        if !is_listed && has_any {
            // A statement that runs on has completed nothing: that is a known zero of what the server counts.
            let values = Values::of(counted.iter().map(|measure| (*measure, 0)));
            let key = Key { is_nested: false, item, plan: None };
            sums.insert(key, Sum { values, status: Status::EXACT, longest_us: None });
        }
    }
    let mut last = None;
    for (key, sum) in sums.iter_mut().filter(|(key, _)| !key.is_nested) {
        // Nobody sees by which plan a session works: of several plans the first one has all of the statement.
        let is_first = last.replace(key.item) != Some(key.item);
        let activity = closed.items.get(&key.item).copied().filter(|_| is_first).unwrap_or_default();
        let seen_us = seen.get(&key.item).copied().filter(|_| is_first).unwrap_or(0);
        sum.values.set(Measure::ActiveUs, activity.by_activity_us());
        sum.values.set(Measure::UnseenUs, activity.ended_unseen_us);
        sum.values.set(Measure::SampledUs, seen_us);
    }
}

/// Adds the sessions that hold up others: those at the head of a chain, which wait for no lock themselves.
fn block(blockers: &mut About, sample: &SessionSample, spacing_us: u64) {
    let by_number: BTreeMap<i64, &SeenSession> =
        sample.sessions.iter().map(|session| (session.number, session)).collect();
    let mut blocked: BTreeMap<i64, u64> = BTreeMap::new();
    for session in sample.sessions.iter().filter(|session| !session.blocked_by.is_empty()) {
        for root in roots(session, &by_number) {
            *blocked.entry(root).or_default() += 1;
        }
    }
    for (root, count) in blocked {
        let session = by_number.get(&root);
        let state = match (root, session) {
            (0, _) => "prepared transaction".to_owned(),
            (_, Some(session)) => session.state.clone(),
            (_, None) => "not seen".to_owned(),
        };
        blockers.block(&[Blocker {
            item: session.and_then(|session| session.item),
            state,
            blocked_us: count.saturating_mul(spacing_us),
            most_blocked: count,
            at_us: sample.at_us,
        }]);
    }
}

/// Where the chains end that a session waits behind. Sessions that wait for each other in a circle have no end.
fn roots(session: &SeenSession, by_number: &BTreeMap<i64, &SeenSession>) -> BTreeSet<i64> {
    let (mut roots, mut seen, mut next) = (BTreeSet::new(), BTreeSet::new(), session.blocked_by.clone());
    while let Some(number) = next.pop() {
        if !seen.insert(number) {
            continue;
        }
        match by_number.get(&number).filter(|session| !session.blocked_by.is_empty()) {
            Some(session) => next.extend(&session.blocked_by),
            None => drop(roots.insert(number)),
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::queries::Wait;
    use plimsoll_measurement::counters::Plan;
    use plimsoll_profile::Bucket;

    fn session(number: i64, item: u128, blocked_by: &[i64]) -> SeenSession {
        let wait = Wait { class: WaitClass::Locks, name: "Lock tuple".to_owned() };
        SeenSession {
            number,
            identity: number.cast_unsigned(),
            is_active: true,
            state: "active".to_owned(),
            start_us: Some(0),
            item: Some(Item(item)),
            text: None,
            database: None,
            wait: (!blocked_by.is_empty()).then_some(wait),
            may_be_counted: false,
            blocked_by: blocked_by.to_vec(),
        }
    }

    fn sample(at_us: i64, sessions: Vec<SeenSession>) -> SessionSample {
        SessionSample { at_us, connected: 7, limit: Some(100), sessions }
    }

    #[test]
    fn a_chain_is_counted_to_its_root() {
        let holder = SeenSession { is_active: false, state: "idle in transaction".to_owned(), ..session(1, 11, &[]) };
        let sessions =
            vec![holder, session(2, 12, &[1]), session(3, 13, &[2]), session(4, 14, &[3, 0]), session(5, 15, &[])];
        let mut blockers = About::default();
        block(&mut blockers, &sample(5, sessions.clone()), 10);
        block(&mut blockers, &sample(6, sessions[..3].to_vec()), 10);
        let of = |state: &str| {
            let blocker = blockers.blockers.iter().find(|blocker| blocker.state == state).unwrap();
            (blocker.item, blocker.blocked_us, blocker.most_blocked, blocker.at_us)
        };
        assert_eq!(of("idle in transaction"), (Some(Item(11)), 50, 3, 5));
        assert_eq!(of("prepared transaction"), (None, 10, 1, 5));
        assert_eq!(blockers.blockers.len(), 2);
        let mut none = About::default();
        block(&mut none, &sample(5, vec![session(1, 1, &[2]), session(2, 2, &[1])]), 10);
        assert_eq!(none.blockers, [], "a deadlock has no root");
    }

    #[test]
    fn what_was_seen_of_a_statement_counts_once_whatever_plans_it_has() {
        let key = |plan| Key { is_nested: false, item: Item(1), plan: Some(Plan(plan)) };
        let sum = Sum { values: Values::of([(Measure::Executions, 3)]), status: Status::EXACT, longest_us: None };
        let bucket = Bucket {
            start_us: 0,
            length_us: 1,
            covered_us: 1,
            status: Status::EXACT,
            explained_us: None,
            total_us: None,
            sums: BTreeMap::from([(key(7), sum), (key(8), sum)]),
            other: None,
            other_nested: None,
        };
        let mut record = Record { bucket, about: About::default(), waits: BTreeMap::new(), counted: BTreeMap::new() };
        let seen = plimsoll_profile::ledger::Activity { in_flight_us: 40, ..Default::default() };
        let closed = Closed { items: BTreeMap::from([(Item(1), seen)]), ..Closed::default() };
        add(&mut record, &closed, &BTreeMap::from([(Item(1), 50)]), (&[], BTreeSet::new()));
        let sum = |measure| record.bucket.sum(measure);
        assert_eq!(
            (sum(Measure::ActiveUs), sum(Measure::SampledUs), sum(Measure::Executions)),
            (Some(40), Some(50), Some(6))
        );
    }

    #[test]
    fn waits_are_weighed_by_the_time_between_two_looks() {
        let mut activity = Activity::of(Some(4));
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        activity.take(&sample(0, vec![session(1, 11, &[])]), at(1));
        assert!(activity.waits.is_empty(), "one look is of no time");
        activity.take(&sample(0, vec![session(1, 11, &[]), session(2, 12, &[1])]), at(3));
        assert_eq!(activity.waits[&(Some(Item(11)), "CPU".to_owned())], 2_000_000);
        assert_eq!(activity.waits[&(Some(Item(12)), "locks of other sessions: Lock tuple".to_owned())], 2_000_000);
        let sampled = activity.sampled;
        assert_eq!((sampled.most_sessions, sampled.most_on_cpu, sampled.us), (7, 1, 2_000_000));
        assert_eq!(activity.due(at(3), Duration::from_secs(1)), at(4));
    }
}
