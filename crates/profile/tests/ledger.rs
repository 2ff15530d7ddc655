//! The ledger on stories of a few statements.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_profile::ledger::{Active, Activity, Closed, Sample};
use plimsoll_profile::{
    Edge, Evictions, Item, Known, Ledger, Measure, Row, RowId, Server, Slot, Snapshot, Source, Values, diff,
};

const S: i64 = 1_000_000;
const SECOND: u64 = 1_000_000;
const Q: Item = Item(7);

/// Reads a row of the query: executions, their seconds, and the longest.
struct Story {
    ledger: Ledger,
    known: Known,
    now: i64,
    active: Vec<(u64, i64)>,
    counted: (u64, u64, u64),
    commits: bool,
    is_complete: bool,
}

impl Story {
    fn new() -> Self {
        let mut story = Self {
            ledger: Ledger::default(),
            known: Known::default(),
            now: 0,
            active: Vec::new(),
            counted: (0, 0, 0),
            commits: false,
            is_complete: true,
        };
        story.close();
        story
    }

    fn sample(&mut self, spacing_us: Option<u64>) {
        let may_be_counted = self.commits;
        let active =
            |&(session, start): &(u64, i64)| Active { session, start_us: start * S, item: Some(Q), may_be_counted };
        let active = self.active.iter().map(active).collect();
        self.ledger.sample(&Sample { at_us: self.now * S, spacing_us, active });
    }

    /// Lets seconds pass.
    fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now += 1;
            self.sample(Some(SECOND));
        }
    }

    fn start(&mut self, session: u64) {
        self.active.push((session, self.now));
    }

    /// A statement ends, and is counted unless it was killed.
    fn end(&mut self, session: u64, is_counted: bool) {
        let place = self.active.iter().position(|(other, _)| *other == session).unwrap();
        let seconds = (self.now - self.active.remove(place).1) as u64;
        if is_counted {
            let (executions, sum, longest) = self.counted;
            self.counted = (executions + 1, sum + seconds, longest.max(seconds));
        }
    }

    fn slot(&mut self) -> Slot {
        let edge = Edge {
            clock_us: self.now * S,
            server: Server { identity: "a".to_owned(), version: "1".to_owned(), started_us: -9 * S },
            reset_us: None,
            are_stamps_derived: false,
            evictions: Evictions::Never,
            total: None,
        };
        let (executions, seconds, longest) = self.counted;
        let row = Row {
            id: RowId(1),
            item: Q,
            plan: None,
            created_us: Some(-5 * S),
            values: Values::of([(Measure::Executions, executions), (Measure::ElapsedUs, seconds * SECOND)]),
            longest_us: Some(longest * SECOND),
            is_nested: false,
        };
        let snapshot = Snapshot {
            source: Source::Queries,
            start: edge.clone(),
            end: edge,
            own_us: None,
            is_complete: self.is_complete,
            total_of: Measure::ElapsedUs,
            rows: if self.is_complete { vec![row] } else { vec![] },
        };
        diff(&mut self.known, &snapshot, 60 * SECOND).unwrap()
    }

    /// A read and the sample after it.
    fn close(&mut self) -> Closed {
        let slot = self.slot();
        self.sample(Some(0));
        self.ledger.close(&slot, self.now * S)
    }

    /// Of the query, in seconds: completed, by activity, ended unseen.
    fn told(&mut self) -> (Option<u64>, u64, u64) {
        let closed = self.close();
        let of = closed.items.get(&Q).copied().unwrap_or_default();
        let seconds = |us: u64| us / SECOND;
        (of.completed_us.map(seconds), seconds(of.by_activity_us()), seconds(of.ended_unseen_us))
    }
}

#[test]
fn a_statement_of_minutes_shows_when_it_runs_and_is_counted_once() {
    let mut story = Story::new();
    story.pass(30);
    story.start(1);
    story.pass(30);
    assert_eq!(story.told(), (None, 30, 0));
    story.pass(60);
    assert_eq!(story.told(), (None, 60, 0));
    story.pass(15);
    story.end(1, true);
    story.pass(45);
    // All 105 s are completed here, and the last 15 s ran here.
    assert_eq!(story.told(), (Some(105), 15, 0));
    assert_eq!((story.ledger.open(), story.ledger.open_us()), (0, 0));
}

#[test]
fn a_statement_that_commits_for_long_was_counted_before() {
    let mut story = Story::new();
    story.pass(10);
    // The server counts it when it ends, and its session waits for the log for minutes.
    story.start(1);
    story.commits = true;
    story.counted = (1, 1, 1);
    story.pass(30);
    assert_eq!(story.told(), (Some(1), 30, 0));
    story.pass(60);
    assert_eq!(story.told(), (None, 60, 0));
    story.end(1, false);
    story.pass(5);
    assert_eq!((story.told(), story.ledger.open()), ((None, 0, 0), 0));
    // One that began and ended its commit within a slot.
    story.start(2);
    story.pass(6);
    story.counted = (2, 2, 1);
    story.end(2, false);
    story.pass(5);
    assert_eq!(story.told(), (Some(1), 6, 0));
    // Who was cancelled while it wrote the log was counted nowhere.
    story.start(3);
    story.pass(6);
    assert_eq!(story.told(), (None, 6, 0));
    story.end(3, false);
    story.pass(5);
    assert_eq!(story.told().2, 6);
}

#[test]
fn statements_between_samples_are_in_the_remainder() {
    let mut story = Story::new();
    story.pass(10);
    story.counted = (100, 5, 1);
    story.pass(50);
    assert_eq!(story.told(), (Some(5), 5, 0));
}

#[test]
fn a_statement_that_was_killed_ended_unseen() {
    let mut story = Story::new();
    story.start(1);
    story.pass(40);
    story.end(1, false);
    // Others of the same query took long as well, but none as long as it.
    story.counted = (30, 60, 3);
    story.pass(20);
    assert_eq!(story.told(), (Some(60), 100, 40));
}

#[test]
fn what_ended_while_rows_were_read_is_looked_for_once_more() {
    let mut story = Story::new();
    story.start(1);
    story.pass(60);
    let slot = story.slot();
    story.end(1, true);
    story.sample(Some(0));
    let closed = story.ledger.close(&slot, story.now * S);
    assert_eq!(closed.items[&Q].ended_unseen_us, 0);
    story.pass(60);
    assert_eq!(story.told(), (Some(60), 0, 0), "it ran in the slot before");
    // But only once.
    story.start(1);
    story.pass(60);
    let slot = story.slot();
    story.end(1, false);
    story.sample(Some(0));
    story.ledger.close(&slot, story.now * S);
    story.pass(60);
    assert_eq!(story.told(), (None, 0, 60));
}

/// Between the last sample before a read and the read itself there is time, too.
#[test]
fn what_was_seen_right_before_a_read_may_have_ended_behind_it() {
    let mut story = Story::new();
    story.start(1);
    story.start(2);
    story.pass(30);
    story.end(2, false);
    story.pass(30);
    story.now += 1;
    let slot = story.slot();
    story.end(1, true);
    story.sample(Some(SECOND));
    let closed = story.ledger.close(&slot, story.now * S);
    assert_eq!(closed.items[&Q].ended_unseen_us, 30 * SECOND, "that of the other session, which was killed");
    story.pass(59);
    assert_eq!(story.told(), (Some(61), 1, 0));
}

#[test]
fn a_read_without_the_row_is_waited_for() {
    let mut story = Story::new();
    story.start(1);
    story.pass(30);
    story.end(1, true);
    story.pass(30);
    story.is_complete = false;
    assert_eq!(story.told(), (None, 30, 0));
    story.pass(60);
    story.is_complete = true;
    assert_eq!(story.told(), (Some(30), 0, 0));
}

#[test]
fn what_ran_before_the_first_sample_belongs_to_no_slot() {
    let mut story = Story::new();
    story.ledger = Ledger::default();
    story.active.push((1, -100));
    story.sample(None);
    story.pass(20);
    story.end(1, true);
    story.pass(40);
    let closed = story.close();
    let expected = Activity {
        completed_us: Some(120 * SECOND),
        remainder_us: 0,
        in_flight_us: 20 * SECOND,
        ended_unseen_us: 0,
        shown_us: 20 * SECOND,
        before_us: 100 * SECOND,
    };
    assert_eq!(closed.items[&Q], expected);
}

#[test]
fn each_sample_stands_for_the_time_since_the_one_before() {
    let mut story = Story::new();
    story.start(1);
    story.now += 7;
    story.sample(Some(7 * SECOND));
    // A statement that began meanwhile did not run all the time.
    story.now += 4;
    story.start(2);
    story.now += 1;
    story.sample(Some(5 * SECOND));
    // The server's clock is set back by an hour.
    story.now -= 3598;
    story.sample(Some(2 * SECOND));
    assert_eq!(story.told(), (None, 7 + 5 + 1 + 2 + 2, 0));
}

#[test]
fn a_session_whose_query_is_not_told_is_in_no_sum() {
    let mut story = Story::new();
    let active = vec![Active { session: 1, start_us: 0, item: None, may_be_counted: false }];
    story.ledger.sample(&Sample { at_us: 3 * S, spacing_us: Some(3 * SECOND), active });
    let closed = story.close();
    assert_eq!((closed.unattributed_us, closed.items.len(), story.ledger.open()), (3 * SECOND, 0, 0));
}
