//! One rule of the diff after the other, on servers of a few rows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_profile::{
    Delta, Edge, Evictions, Item, Known, Measure, Reason, Refusal, Row, RowId, Server, Slot, Snapshot, Source, Status,
    Total, Values, diff,
};

const S: i64 = 1_000_000;
const SLOT: u64 = 60_000_000;

/// A row with so many executions of 10 ms, which read twice as many pages.
fn row(id: u128, executions: u64) -> Row {
    let values = [
        (Measure::Executions, executions),
        (Measure::ElapsedUs, executions * 10_000),
        (Measure::LogicalReadPages, 2 * executions),
    ];
    Row {
        id: RowId(id),
        item: Item(id),
        plan: None,
        created_us: None,
        values: Values::of(values),
        longest_us: Some(10_000),
        is_nested: false,
    }
}

fn created(second: i64, row: &Row) -> Row {
    Row { created_us: Some(second * S), ..*row }
}

/// A complete read at a second by the server's clock, which is ours as well. The server was started and its counters began at second 10.
fn read(second: i64, rows: &[Row]) -> Snapshot {
    let edge = Edge {
        clock_us: second * S,
        server: Server { identity: "a".to_owned(), version: "1".to_owned(), started_us: 10 * S },
        reset_us: Some(10 * S),
        are_stamps_derived: false,
        evictions: Evictions::Counted(0),
        total: None,
    };
    Snapshot {
        source: Source::Queries,
        start: edge.clone(),
        end: edge,
        own_us: Some((second * S) as u64),
        is_complete: true,
        total_of: Measure::ElapsedUs,
        rows: rows.to_vec(),
    }
}

/// Changes both ends of a read.
fn with(mut snapshot: Snapshot, change: impl Fn(&mut Edge)) -> Snapshot {
    change(&mut snapshot.start);
    change(&mut snapshot.end);
    snapshot
}

fn partial(snapshot: Snapshot) -> Snapshot {
    Snapshot { is_complete: false, ..snapshot }
}

/// The slots of reads, one after the other.
fn slots(reads: &[Snapshot]) -> Vec<Slot> {
    let mut known = Known::default();
    reads.iter().map(|read| diff(&mut known, read, SLOT).unwrap()).collect()
}

fn last(reads: &[Snapshot]) -> Slot {
    slots(reads).pop().unwrap()
}

/// Rows, executions and status of deltas.
fn told(slot: &Slot) -> Vec<(u128, Option<u64>, Status)> {
    let told = |delta: &Delta| (delta.row.0, delta.values.get(Measure::Executions), delta.status);
    slot.deltas.iter().map(told).collect()
}

fn reasons(slot: &Slot) -> Vec<(Reason, Option<u128>)> {
    slot.unknown.iter().map(|unknown| (unknown.reason, unknown.row.map(|row| row.0))).collect()
}

#[test]
fn the_first_read_is_a_point_to_start_from() {
    let slot = last(&[read(60, &[row(1, 500)])]);
    assert_eq!((slot.event, slot.status, slot.interval_us), (Some(Reason::First), Status::BASELINE, None));
    assert_eq!(told(&slot), []);
}

#[test]
fn the_growth_of_a_row_is_exact_and_its_interval_measured() {
    let slot = last(&[read(60, &[row(1, 500), row(2, 7)]), read(123, &[row(1, 520), row(2, 7)])]);
    assert_eq!(told(&slot), [(1, Some(20), Status::EXACT)], "a row that did nothing has no delta");
    assert_eq!((slot.interval_us, slot.deltas[0].interval_us), (Some(63_000_000), Some(63_000_000)));
    assert_eq!((slot.deltas[0].longest_us, slot.deltas[0].longest_at_most_us), (None, Some(10_000)));
    assert_eq!(reasons(&slot), []);
}

#[test]
fn a_new_row_is_credited_where_the_read_before_had_all_rows() {
    let slot = last(&[read(60, &[row(1, 5)]), read(120, &[row(1, 5), row(2, 9)])]);
    assert_eq!(told(&slot), [(2, Some(9), Status::CREDITED)]);
    assert_eq!(slot.deltas[0].longest_us, Some(10_000));
}

/// An hourly query that a read with a cap shows for the first time is no spike of all that it ever did.
#[test]
fn after_a_partial_read_a_new_row_needs_a_stamp() {
    let second = |row: &Row| last(&[partial(read(60, &[])), read(120, &[*row])]);
    let old = second(&row(1, 9_000));
    assert_eq!((told(&old), reasons(&old)), (vec![], vec![(Reason::FirstSight, Some(1))]));
    let old = second(&created(60, &row(1, 9_000)));
    assert_eq!((told(&old), reasons(&old)), (vec![], vec![(Reason::FirstSight, Some(1))]));
    assert_eq!(told(&second(&created(61, &row(1, 3)))), [(1, Some(3), Status::CREDITED)]);
    let future = second(&created(121, &row(1, 9_000)));
    assert_eq!(told(&future), [], "a stamp from the future proves nothing");
}

#[test]
fn one_counter_that_fell_is_a_new_life() {
    let mut returned = row(1, 600);
    returned.values.set(Measure::LogicalReadPages, 3);
    let slot = last(&[read(60, &[row(1, 500)]), read(120, &[returned])]);
    assert_eq!(told(&slot), [(1, Some(600), Status::LOWER_BOUND)]);
    assert_eq!(reasons(&slot), [(Reason::Ended, Some(1)), (Reason::Reset, None)]);
}

/// A wait of all tables is less after a table was dropped, and did not begin anew.
#[test]
fn a_sum_that_fell_is_no_growth() {
    let waits = |read: Snapshot| Snapshot { source: Source::Waits, ..read };
    let slot = last(&[waits(read(60, &[row(1, 500)])), waits(read(120, &[row(1, 400)]))]);
    assert_eq!((told(&slot), reasons(&slot)), (vec![], vec![(Reason::Contradiction, Some(1))]));
}

/// A wait that an instrument does not count for a while is not listed, and never counts twice what was counted before.
#[test]
fn a_sum_that_was_not_listed_for_a_while_goes_on_where_it_was() {
    let waits = |second, rows: &[Row]| {
        with(Snapshot { source: Source::Waits, ..read(second, rows) }, |edge| {
            edge.evictions = Evictions::Never;
        })
    };
    let first = waits(60, &[row(1, 500), row(2, 7)]);
    let without = waits(120, &[row(2, 7)]);
    let slot = last(&[first.clone(), without.clone(), waits(180, &[row(1, 600), row(2, 7)])]);
    assert_eq!(told(&slot), [(1, Some(100), Status::LOWER_BOUND | Status::GAP)]);
    let slot = last(&[first, without, waits(180, &[row(1, 80), row(2, 7)])]);
    assert_eq!((told(&slot), reasons(&slot)), (vec![], vec![(Reason::Contradiction, Some(1))]));
}

/// A view that is reset alone has a stamp of its own in each row; the others go on.
#[test]
fn a_sum_with_another_stamp_began_anew_and_the_others_did_not() {
    let files = |second, rows: &[Row]| {
        with(Snapshot { source: Source::Files, ..read(second, rows) }, |edge| {
            edge.evictions = Evictions::Never;
        })
    };
    let slot = last(&[
        files(60, &[created(20, &row(1, 500)), created(20, &row(2, 7))]),
        files(120, &[created(90, &row(1, 30)), created(20, &row(2, 9))]),
    ]);
    assert_eq!(told(&slot), [(1, Some(30), Status::LOWER_BOUND), (2, Some(2), Status::EXACT)]);
    assert_eq!(reasons(&slot), [(Reason::Reset, Some(1))]);
}

#[test]
fn a_stamp_tells_a_new_life_that_overtook_the_old_one() {
    let slot = last(&[read(60, &[created(20, &row(1, 5))]), read(120, &[created(70, &row(1, 8))])]);
    assert_eq!(told(&slot), [(1, Some(8), Status::LOWER_BOUND)]);
    let slot = last(&[read(60, &[created(20, &row(1, 5))]), read(120, &[created(20, &row(1, 4))])]);
    assert_eq!((told(&slot), reasons(&slot)[0]), (vec![], (Reason::Contradiction, Some(1))));
}

#[test]
fn without_stamps_growth_is_a_lower_bound_where_rows_were_dropped() {
    let evicted = |read: Snapshot| with(read, |edge| edge.evictions = Evictions::Counted(2));
    let slot = last(&[read(60, &[row(1, 5)]), evicted(read(120, &[row(1, 8)]))]);
    assert_eq!((slot.evictions, told(&slot)), (Some(2), vec![(1, Some(3), Status::LOWER_BOUND)]));
    assert_eq!(reasons(&slot), [(Reason::Eviction, None)]);
    let slot = last(&[read(60, &[created(20, &row(1, 5))]), evicted(read(120, &[created(20, &row(1, 8))]))]);
    assert_eq!(told(&slot), [(1, Some(3), Status::EXACT)]);
    // They were dropped while a read missed the row: what is hidden may be of the slot after.
    let missed = evicted(partial(read(120, &[])));
    let slot = last(&[read(60, &[row(1, 5)]), missed, evicted(read(180, &[row(1, 8)]))]);
    assert_eq!(told(&slot), [(1, Some(3), Status::LOWER_BOUND | Status::GAP)]);
    assert_eq!((slot.unknown[0].from_us, reasons(&slot)), (60 * S, vec![(Reason::Eviction, Some(1))]));
}

/// The first read may have seen the row before it was dropped, or after.
#[test]
fn rows_that_are_dropped_while_they_are_read_are_no_certain_growth() {
    let mut before = read(60, &[row(1, 5)]);
    before.end.evictions = Evictions::Counted(1);
    let after = with(read(120, &[row(1, 8)]), |edge| edge.evictions = Evictions::Counted(1));
    assert_eq!(told(&last(&[before, after])), [(1, Some(3), Status::LOWER_BOUND)]);
}

#[test]
fn a_row_that_a_complete_read_does_not_have_has_ended() {
    let reads = [read(60, &[row(1, 5)]), read(120, &[]), read(180, &[row(1, 7)])];
    let slots = slots(&reads);
    assert_eq!(reasons(&slots[1])[0], (Reason::Ended, Some(1)));
    assert_eq!(told(&slots[2]), [(1, Some(7), Status::CREDITED)]);
    // One that comes back with its old stamp was there all the time.
    let row = |executions| created(20, &row(1, executions));
    let slot = last(&[read(60, &[row(5)]), read(120, &[]), read(180, &[row(7)])]);
    assert_eq!(told(&slot), [(1, Some(2), Status::GAP)]);
}

#[test]
fn a_row_that_partial_reads_miss_is_remembered() {
    let reads = [read(60, &[row(1, 5)]), partial(read(120, &[])), partial(read(180, &[])), read(240, &[row(1, 8)])];
    let slots = slots(&reads);
    assert_eq!((slots[1].status, reasons(&slots[1])), (Status::PARTIAL, vec![(Reason::Partial, None)]));
    assert_eq!(told(&slots[3]), [(1, Some(3), Status::GAP)]);
    assert_eq!((slots[3].deltas[0].since_us, slots[3].deltas[0].interval_us), (60 * S, Some(180_000_000)));
    // A third of it is of the last slot.
    assert_eq!((slots[3].coverage.explained_us, slots[3].coverage.late_us), (Some(10_000), 20_000));
    assert!(slots[3].status.has(Status::ESTIMATED));
}

#[test]
fn a_missed_read_is_one_long_interval() {
    let slot = last(&[read(60, &[row(1, 5)]), read(240, &[row(1, 8), row(2, 1)])]);
    assert_eq!(told(&slot), [(1, Some(3), Status::GAP), (2, Some(1), Status::GAP | Status::CREDITED)]);
    assert_eq!((slot.status, slot.interval_us), (Status::GAP, Some(180_000_000)));
}

#[test]
fn what_was_stored_goes_on_with_a_gap_of_its_true_length() {
    let mut known = Known::default();
    diff(&mut known, &read(60, &[row(1, 5)]), SLOT).unwrap();
    let mut known: Known = serde_json::from_str(&serde_json::to_string(&known).unwrap()).unwrap();
    // Our clock began anew.
    let later = Snapshot { own_us: Some(3), ..read(3660, &[row(1, 8)]) };
    let slot = diff(&mut known, &later, SLOT).unwrap();
    assert_eq!((told(&slot), slot.interval_us), (vec![(1, Some(3), Status::GAP)], Some(3_600_000_000)));
}

#[test]
fn after_a_reset_everything_counts_from_zero_and_the_end_before_is_lost() {
    let reset =
        |second: i64| with(read(120, &[row(1, 800), created(30, &row(2, 9))]), |edge| edge.reset_us = Some(second * S));
    let before = || read(60, &[row(1, 500)]);
    let slot = last(&[before(), reset(90)]);
    assert_eq!(
        (slot.event, slot.epoch, told(&slot)),
        (Some(Reason::Reset), 2, vec![(1, Some(800), Status::LOWER_BOUND)])
    );
    assert_eq!(reasons(&slot), [(Reason::Reset, None), (Reason::FirstSight, Some(2))], "a row is older than the reset");
    // The stamp is no news: the clock was set, or somebody lies.
    let slot = last(&[before(), reset(55)]);
    assert_eq!((slot.event, told(&slot)), (Some(Reason::Reset), vec![]));
    assert!(slot.status.has(Status::BASELINE));
    let slot = last(&[before(), reset(55), with(read(180, &[row(1, 803)]), |edge| edge.reset_us = Some(55 * S))]);
    assert_eq!(told(&slot), [(1, Some(3), Status::EXACT)]);
}

#[test]
fn a_restart_is_a_new_epoch_unless_counters_outlived_it() {
    let restarted = |reset: i64| {
        with(read(120, &[row(1, 800)]), |edge| (edge.server.started_us, edge.reset_us) = (100 * S, Some(reset * S)))
    };
    let before = read(60, &[row(1, 500)]);
    let slot = last(&[before.clone(), restarted(100)]);
    assert_eq!((slot.event, told(&slot)), (Some(Reason::Restart), vec![(1, Some(800), Status::LOWER_BOUND)]));
    let slot = last(&[before.clone(), restarted(10)]);
    assert_eq!((slot.event, slot.epoch, told(&slot)), (Some(Reason::Restart), 1, vec![(1, Some(300), Status::EXACT)]));
    let silent = with(restarted(100), |edge| edge.reset_us = None);
    assert_eq!(told(&last(&[before, silent])), [], "nobody says when counters began");
}

#[test]
fn another_node_or_version_is_never_compared() {
    let rows = [row(1, 800), created(100, &row(2, 9))];
    let before = read(60, &[row(1, 500)]);
    let other = with(read(120, &rows), |edge| (edge.server.identity, edge.reset_us) = ("b".to_owned(), Some(90 * S)));
    let slot = last(&[before.clone(), other]);
    assert_eq!((slot.event, told(&slot)), (Some(Reason::Failover), vec![]), "its clock is another one as well");
    let newer = with(read(120, &rows), |edge| edge.server.version = "2".to_owned());
    let slot = last(&[before, newer]);
    assert_eq!((slot.event, told(&slot)), (Some(Reason::Upgrade), vec![(2, Some(9), Status::CREDITED)]));
}

#[test]
fn a_clock_that_is_set_back_changes_no_delta() {
    // By ours a minute went by; by the server's it is an hour earlier.
    let back = |executions| Snapshot { own_us: Some(7260 * S as u64), ..read(3660, &[row(1, executions)]) };
    let slot = last(&[read(7200, &[row(1, 5)]), back(8)]);
    assert_eq!(told(&slot), [(1, Some(3), Status::EXACT)]);
    assert_eq!((slot.interval_us, slot.clock_step_us), (Some(60_000_000), Some(-3600 * S)));
    let blind = Snapshot { own_us: None, ..back(8) };
    let slot = last(&[read(7200, &[row(1, 5)]), blind]);
    assert_eq!((told(&slot), slot.interval_us), (vec![(1, Some(3), Status::GAP)], None));
    // Until the clock is where it was, stamps prove nothing: this row was created before the first read.
    let reads = [partial(read(7200, &[])), partial(read(3600, &[])), read(7190, &[created(7180, &row(2, 9_000))])];
    let reads = reads.map(|read| Snapshot { own_us: None, ..read });
    assert_eq!(told(&last(&reads)), []);
    // It is set back in the middle of a read.
    let mut first = partial(read(3600, &[]));
    first.start.clock_us = 7200 * S;
    assert_eq!(told(&last(&[first, read(7190, &[created(7180, &row(2, 9_000))])])), []);
}

/// Waits of a server that says its uptime: the start moves with the clock, and rows have no stamps.
#[test]
fn a_start_that_moves_with_the_clock_is_no_restart() {
    let started = |second: i64, own: Option<u64>, executions: u64, start: i64| {
        let snapshot = Snapshot { own_us: own, source: Source::Waits, ..read(second, &[row(1, executions)]) };
        with(snapshot, |edge| {
            edge.are_stamps_derived = true;
            (edge.server.started_us, edge.reset_us) = (start * S, Some(start * S));
        })
    };
    let before = |own| started(7200, own, 500, 100);
    let slot = last(&[before(Some(0)), started(10_860, Some(60_000_000), 520, 3701)]);
    assert_eq!((slot.event, told(&slot)), (None, vec![(1, Some(20), Status::EXACT)]));
    // Without a clock of ours it may be a restart. It is no spike, whichever way the clock was set.
    assert_eq!(told(&last(&[before(None), started(7000, None, 520, -100)])), []);
    assert_eq!(told(&last(&[before(None), started(97_260, None, 520, 90_100)])), []);
    // A row of a moment at which the clock was ahead proves nothing then.
    let ahead = |snapshot: Snapshot| Snapshot { rows: vec![created(90_000, &row(1, 500))], ..snapshot };
    assert_eq!(told(&last(&[ahead(before(None)), ahead(started(97_260, None, 0, 90_100))])), []);
    let restarted = started(7260, Some(60_000_000), 3, 7230);
    assert_eq!(told(&last(&[before(Some(0)), restarted])), [(1, Some(3), Status::LOWER_BOUND)]);
}

#[test]
fn reads_that_are_no_use_change_nothing() {
    let mut known = Known::default();
    let mut torn = read(120, &[row(1, 1)]);
    torn.end.reset_us = Some(119 * S);
    assert_eq!(diff(&mut known, &torn, SLOT), Err(Refusal::Torn));
    diff(&mut known, &read(60, &[row(1, 5)]), SLOT).unwrap();
    assert_eq!(diff(&mut known, &torn, SLOT), Err(Refusal::Torn));
    assert_eq!(diff(&mut known, &read(59, &[row(1, 4)]), SLOT), Err(Refusal::OutOfOrder));
    let other = Snapshot { source: Source::Files, ..read(120, &[]) };
    assert_eq!(diff(&mut known, &other, SLOT), Err(Refusal::OtherSource));
    assert_eq!(told(&diff(&mut known, &read(120, &[row(1, 8)]), SLOT).unwrap()), [(1, Some(3), Status::EXACT)]);
}

#[test]
fn two_rows_of_one_identity_are_told() {
    let slot = last(&[read(60, &[row(1, 5)]), read(120, &[row(1, 8), row(1, 90)])]);
    assert_eq!((told(&slot), reasons(&slot)), (vec![(1, Some(3), Status::EXACT)], vec![(Reason::Duplicate, Some(1))]));
}

#[test]
fn what_is_not_measured_is_absent() {
    let timed = |us| {
        let mut row = row(1, 5 + us);
        row.values.set(Measure::IoReadUs, us);
        row
    };
    let reads = [read(60, &[row(1, 5)]), read(120, &[timed(7)]), read(180, &[timed(9)])];
    let io: Vec<Option<u64>> =
        slots(&reads)[1..].iter().map(|slot| slot.deltas[0].values.get(Measure::IoReadUs)).collect();
    assert_eq!(io, [None, Some(2)]);
}

#[test]
fn coverage_is_what_deltas_explain_of_the_servers_total() {
    let total = |snapshot: Snapshot, start: u64, end: u64| {
        let of = |us| Some(Total { us, began_us: None });
        let (mut first, mut last) = (snapshot.start.clone(), snapshot.end.clone());
        (first.total, last.total) = (of(start), of(end));
        Snapshot { start: first, end: last, ..snapshot }
    };
    let before = || total(read(60, &[row(1, 5)]), 1_000_000, 1_000_000);
    let nested = Row { is_nested: true, ..row(2, 4) };
    // 30 ms of 100 ms; what a caller has counted does not count again.
    let slot = last(&[before(), total(read(120, &[row(1, 8), nested]), 1_100_000, 1_100_000)]);
    assert_eq!((slot.coverage.percent(), slot.coverage.unknown_us()), (Some(30.0), Some(70_000)));
    assert_eq!(reasons(&slot), [(Reason::Unexplained, None)]);
    // The total grew by 20 to 40 ms while rows were read, so that all may be explained.
    let slot = last(&[before(), total(read(120, &[row(1, 8)]), 1_020_000, 1_040_000)]);
    assert_eq!((slot.coverage.percent(), slot.coverage.range_percent()), (Some(100.0), Some((75.0, 100.0))));
    assert_eq!(reasons(&slot), []);
    // Nothing to explain; a total that fell; none.
    let idle = last(&[before(), total(read(120, &[row(1, 5)]), 1_000_000, 1_000_000)]);
    assert_eq!(idle.coverage.percent(), Some(100.0));
    let fell = last(&[before(), total(read(120, &[row(1, 8)]), 40_000, 40_000)]);
    assert_eq!((fell.coverage.percent(), fell.coverage.explained_us), (None, Some(30_000)));
    assert_eq!(last(&[before(), read(120, &[row(1, 8)])]).coverage.unknown_us(), None);
    // A stamp of a clock that was ahead credits more to the slot than the total grew. It was unknown before.
    let capped = partial(total(read(120, &[row(1, 8)]), 1_080_000, 1_080_000));
    let ahead = total(read(180, &[row(1, 8), created(150, &row(2, 6))]), 1_090_000, 1_090_000);
    let slot = last(&[before(), capped, ahead]);
    assert_eq!((slot.coverage.explained_us, slot.coverage.late_us), (Some(10_000), 50_000));
    assert!(slot.status.has(Status::ESTIMATED) && slot.coverage.percent() == Some(100.0));
    // Where a row does not say how long its work took, nobody can say how much is explained.
    let mut untimed = row(2, 9);
    untimed.values = Values::of([(Measure::Executions, 9)]);
    let slot = last(&[before(), total(read(120, &[row(1, 8), untimed]), 1_100_000, 1_100_000)]);
    assert_eq!((slot.coverage.percent(), slot.coverage.explained_us, slot.deltas.len()), (None, None, 2));
    let restarted = with(total(read(120, &[row(1, 8)]), 9_000_000, 9_000_000), |edge| edge.server.started_us = 99 * S);
    assert_eq!(last(&[before(), restarted]).coverage.percent(), None, "it overtook the one of before the restart");
    let other = with(total(read(120, &[row(1, 8)]), 9_000_000, 9_000_000), |edge| edge.server.identity.push('b'));
    assert_eq!(last(&[before(), other]).coverage.percent(), None, "it is another server's");
}
