//! Sums over time and comparisons: nothing is lost on the way up, and the parts of a change add up to it.

use std::collections::BTreeMap;

use plimsoll_profile::bucket::{Key, Other, Sum, TIERS_US};
use plimsoll_profile::compare::Kind;
use plimsoll_profile::{Bucket, Item, Measure, Plan, Status, Values, compare, roll_up};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

const MINUTE: u64 = 60_000_000;

fn key(item: u128) -> Key {
    Key { is_nested: false, item: Item(item), plan: None }
}

fn sum(executions: u64, elapsed_us: u64) -> Sum {
    let values = Values::of([(Measure::Executions, executions), (Measure::ElapsedUs, elapsed_us)]);
    Sum { values, status: Status::EXACT, longest_us: Some(elapsed_us) }
}

/// A minute with these sums.
fn minute(at: i64, sums: impl IntoIterator<Item = (Key, Sum)>) -> Bucket {
    Bucket {
        start_us: at * MINUTE as i64,
        length_us: MINUTE,
        covered_us: MINUTE,
        status: Status::EXACT,
        explained_us: Some(0),
        total_us: Some(0),
        sums: sums.into_iter().collect(),
        other: None,
        other_nested: None,
    }
}

fn minutes() -> impl Strategy<Value = Vec<Bucket>> {
    let one = (0..30_u128, any::<bool>(), proptest::option::of(0..3_u64), 1..100_u64, 0..1_000_000_u64, 0..64_u8);
    let one = one.prop_map(|(item, is_nested, plan, executions, us, bits)| {
        let key = Key { is_nested, item: Item(item), plan: plan.map(Plan) };
        (key, Sum { status: Status::from_bits(bits), ..sum(executions, us) })
    });
    let parts = (proptest::collection::vec(one, 0..20), 0..MINUTE, proptest::option::of(0..MINUTE));
    proptest::collection::vec(parts, 1..150).prop_map(|minutes| {
        let numbered = minutes.into_iter().zip(0..);
        let made = numbered.map(|((sums, covered_us, total_us), at)| {
            let status = Status::from_bits(at as u8);
            Bucket { covered_us, total_us, explained_us: Some(covered_us / 2), status, ..minute(at - 40, sums) }
        });
        made.collect()
    })
}

/// All sums of buckets, listed or not, of what is nested or not.
fn all(buckets: &[Bucket], is_nested: bool) -> (u64, u64) {
    let listed = buckets.iter().flat_map(|bucket| &bucket.sums).filter(|(key, _)| key.is_nested == is_nested);
    let other = |bucket: &Bucket| if is_nested { bucket.other_nested } else { bucket.other };
    let others = buckets.iter().filter_map(other).map(|other| other.sum);
    let sums = listed.map(|(_, sum)| *sum).chain(others);
    sums.fold((0, 0), |(executions, us), sum| {
        let of = |measure| sum.values.get(measure).unwrap_or(0);
        (executions + of(Measure::Executions), us + of(Measure::ElapsedUs))
    })
}

proptest! {
    #![proptest_config(Config { cases: 50, failure_persistence: None, rng_seed: RngSeed::Fixed(25), ..Config::default() })]

    #[test]
    fn nothing_is_lost_on_the_way_up(minutes in minutes(), top in 1..8_usize) {
        let quarters = roll_up(&minutes, TIERS_US[1], top);
        let hours = roll_up(&quarters, TIERS_US[2], top);
        for rolled in [&quarters, &hours] {
            prop_assert_eq!(all(rolled, false), all(&minutes, false));
            prop_assert_eq!(all(rolled, true), all(&minutes, true));
            let covered = |buckets: &[Bucket]| buckets.iter().map(|bucket| bucket.covered_us).sum::<u64>();
            prop_assert_eq!(covered(rolled), covered(&minutes));
            for bucket in rolled {
                let end_us = bucket.start_us + bucket.length_us as i64;
                let parts: Vec<&Bucket> =
                    minutes.iter().filter(|part| (bucket.start_us..end_us).contains(&part.start_us)).collect();
                let bits = parts.iter().fold(Status::EXACT, |bits, part| bits | part.status);
                prop_assert_eq!(bucket.status, bits);
                prop_assert_eq!(bucket.total_us, parts.iter().map(|part| part.total_us).sum::<Option<u64>>());
                let longest = |bucket: &Bucket| {
                    let others = bucket.other.iter().chain(&bucket.other_nested).map(|other| &other.sum);
                    bucket.sums.values().chain(others).filter_map(|sum| sum.longest_us).max()
                };
                prop_assert_eq!(longest(bucket), parts.iter().filter_map(|part| longest(part)).max());
            }
        }
        // The way up by quarters of an hour is the way up at once, but for what is listed.
        let at_once = roll_up(&minutes, TIERS_US[2], usize::MAX);
        prop_assert_eq!(hours.len(), at_once.len());
        for (hour, whole) in hours.iter().zip(&at_once) {
            prop_assert_eq!(hour.sum(Measure::ElapsedUs), whole.sum(Measure::ElapsedUs));
            for (key, sum) in &hour.sums {
                let is_exact = sum.values == whole.sums[key].values;
                prop_assert!(is_exact || sum.status.has(Status::LOWER_BOUND), "{:?} {:?}", key, sum);
            }
        }
    }

    #[test]
    fn the_parts_of_a_change_add_up_to_it(before in minutes(), after in minutes()) {
        let found = compare(&before, &after, Measure::ElapsedUs);
        let mut difference = 0.0;
        for change in found.changes.iter().filter(|change| !change.is_nested) {
            let whole = change.difference().unwrap_or(0.0);
            difference += whole;
            if let Some((more, slower)) = change.called_more.zip(change.slower) {
                prop_assert!((more + slower - whole).abs() <= 1e-6 * (more.abs() + slower.abs() + 1.0));
            }
        }
        if let Some((old, new)) = found.before.per_second.zip(found.after.per_second) {
            prop_assert!((new - old - difference).abs() <= 1e-6 * (old + new + 1.0));
        }
    }
}

#[test]
fn those_of_the_top_of_some_measure_are_listed() {
    let mut bucket =
        minute(0, [(key(1), sum(100, 1)), (key(2), sum(1, 100)), (key(3), sum(5, 5)), (key(4), sum(6, 4))]);
    bucket.cut(1);
    assert_eq!(bucket.sums.keys().map(|key| key.item.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(bucket.other, Some(Other { sums: 2, sum: Sum { longest_us: Some(5), ..sum(11, 9) } }));
    assert_eq!(bucket.sum(Measure::Executions), Some(112));
    assert_eq!(bucket.sum(Measure::Rows), None, "nobody measured it");
}

#[test]
fn what_was_cut_in_a_minute_is_at_least_what_is_listed() {
    let mut first = minute(0, [(key(1), sum(9, 9)), (key(2), sum(1, 1))]);
    first.cut(1);
    let second = minute(1, [(key(2), sum(20, 20))]);
    let [hour] = &roll_up(&[first, second], TIERS_US[2], 5)[..] else { panic!("an hour") };
    assert_eq!((hour.sums[&key(2)].values, hour.sums[&key(2)].status), (sum(20, 20).values, Status::LOWER_BOUND));
    assert_eq!(hour.sums[&key(1)].status, Status::EXACT);
}

#[test]
fn buckets_begin_at_multiples_of_their_length_before_1970_too() {
    let rolled = roll_up(&[minute(-1, []), minute(0, []), minute(14, []), minute(15, [])], TIERS_US[1], 5);
    let starts: Vec<i64> = rolled.iter().map(|bucket| bucket.start_us / MINUTE as i64).collect();
    assert_eq!(starts, [-15, 0, 15]);
}

#[test]
fn a_bucket_goes_to_text_and_back() {
    let bucket = minute(3, [(key(1), sum(1, 1))]);
    let text = serde_json::to_string(&bucket).expect("a text");
    assert_eq!(serde_json::from_str::<Bucket>(&text).expect("a bucket"), bucket);
}

#[test]
fn a_change_is_split_into_called_more_and_slower() {
    let planned = |plan| Key { plan: Some(Plan(plan)), ..key(1) };
    // A minute against two: 60 executions of 100 us a second, then 120 of 300 us by two plans.
    let before = [minute(0, [(planned(1), sum(3600, 360_000)), (key(8), sum(60, 60))])];
    let after = [
        minute(9, [(planned(1), sum(7200, 1_440_000)), (key(9), sum(120, 120))]),
        minute(10, [(planned(2), sum(7200, 2_880_000))]),
    ];
    let found = compare(&before, &after, Measure::ElapsedUs);
    let change = &found.changes[0];
    assert_eq!((change.item, change.kind, &change.new_plans[..]), (Item(1), Kind::Both, &[Plan(2)][..]));
    assert_eq!((change.before, change.after), (Some(6_000.0), Some(36_000.0)));
    assert_eq!((change.called_more, change.slower), (Some(6_000.0), Some(24_000.0)));
    let kinds: BTreeMap<u128, (Kind, Option<f64>)> =
        found.changes.iter().map(|change| (change.item.0, (change.kind, change.difference()))).collect();
    assert_eq!((kinds[&8], kinds[&9]), ((Kind::Gone, Some(-1.0)), (Kind::New, Some(1.0))));
    assert_eq!(found.changes.iter().filter(|change| !change.new_plans.is_empty()).count(), 1);
}

#[test]
fn both_coverages_are_shown_and_cut_lists_are_told() {
    let half =
        Bucket { explained_us: Some(30), total_us: Some(60), ..minute(0, [(key(1), sum(1, 1)), (key(2), sum(9, 9))]) };
    let mut cut = half.clone();
    cut.cut(1);
    let unknown = Bucket { covered_us: 0, total_us: None, status: Status::BASELINE, ..minute(1, []) };
    let found = compare(&[cut, unknown.clone()], &[half], Measure::ElapsedUs);
    assert_eq!((found.before.coverage_percent, found.after.coverage_percent), (None, Some(50.0)));
    assert_eq!((found.before.unlisted, found.after.unlisted), (1, 0));
    assert_eq!((found.before.covered_us, found.before.status), (MINUTE, Status::BASELINE));
    // Where nothing is known, there is no rate.
    assert_eq!(compare(&[unknown], &[], Measure::ElapsedUs).before.per_second, None);
}

#[test]
fn what_was_counted_of_a_part_is_at_least_that_of_the_whole() {
    let seen = Sum { values: Values::of([(Measure::ActiveUs, 7)]), status: Status::PARTIAL, longest_us: None };
    let counted = |executions| {
        let mut sum = sum(executions, 100);
        sum.values.set(Measure::ActiveUs, 3);
        sum
    };
    // In the middle slot statements were not counted.
    let minutes = [counted(5), seen, counted(6)].into_iter().zip(0..).map(|(sum, at)| minute(at, [(key(1), sum)]));
    let rolled = roll_up(&minutes.collect::<Vec<_>>(), TIERS_US[1], usize::MAX);
    let all = rolled[0].sums[&key(1)];
    let values = [(Measure::Executions, 11), (Measure::ElapsedUs, 200), (Measure::ActiveUs, 13)];
    assert_eq!((all.values, all.status), (Values::of(values), Status::LOWER_BOUND | Status::PARTIAL));
}
