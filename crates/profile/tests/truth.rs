//! What the profiler says of simulated servers, held against what they truly did: sums, what is declared unknown, coverage and activity.
//!
//! `PLIMSOLL_HISTORIES` says how many histories are played.

#![expect(clippy::print_stdout, reason = "the bars print their figures")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod simulated;

use std::collections::BTreeMap;

use plimsoll_profile::{Known, Refusal, RowId, diff};
use simulated::activity::ActivityCheck;
use simulated::check::{Check, Figures};
use simulated::load::World;
use simulated::server::KINDS;
use simulated::{SLOT, read};

const SLOTS: i64 = 30;

fn histories() -> u64 {
    std::env::var("PLIMSOLL_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// What is kept after each read, as texts: what all rows were when they last changed.
#[derive(Default)]
struct Keeper {
    head: String,
    rows: BTreeMap<RowId, String>,
}

impl Keeper {
    fn keep(&mut self, known: &mut Known) {
        let changes = known.changes();
        if changes.is_anew {
            self.rows.clear();
        }
        self.head = serde_json::to_string(&changes.head).unwrap();
        for (row, kept) in changes.rows {
            match kept {
                Some(kept) => drop(self.rows.insert(row, serde_json::to_string(&kept).unwrap())),
                None => drop(self.rows.remove(&row)),
            }
        }
        known.was_kept();
    }

    /// What is known to a profiler that is started again: the same as to the one that was killed.
    fn restored(&self, killed: &Known) -> Known {
        if killed.reads() == 0 {
            return Known::default();
        }
        let rows = self.rows.iter().map(|(row, kept)| (*row, serde_json::from_str(kept).unwrap()));
        let known = Known::of_kept(serde_json::from_str(&self.head).unwrap(), rows);
        // The order of a map is not the same in two maps.
        let whole = |known: &Known| {
            let mut value = serde_json::to_value(known).unwrap();
            let rows = value["rows"].take();
            (
                value,
                rows.as_object()
                    .unwrap()
                    .iter()
                    .map(|(row, seen)| (row.clone(), seen.clone()))
                    .collect::<BTreeMap<_, _>>(),
            )
        };
        assert_eq!(whole(&known), whole(killed));
        known
    }
}

/// Plays one history: a server for half an hour, read every minute.
fn history(seed: u64) -> Figures {
    let mut world = World::of(seed);
    let (mut known, mut check, mut activity, mut own_us) =
        (Known::default(), Check::default(), ActivityCheck::default(), 0);
    let mut keeper = Keeper::default();
    for slot in 1..=SLOTS {
        let befalls_at = (slot - 1) * SLOT + world.random.between(1, SLOT);
        activity.run_to(&mut world, befalls_at);
        world.befall();
        activity.run_to(&mut world, slot * SLOT);
        // A read fails, or the collector is started again.
        if world.random.in_thousand(20) {
            continue;
        }
        if world.random.in_thousand(10) {
            own_us = -world.now;
            check.is_blind = true;
            known = keeper.restored(&known);
            activity.forget();
        }
        activity.sample(&world);
        let reading = read(&mut world, own_us);
        activity.sample(&world);
        match diff(&mut known, &reading.snapshot, SLOT as u64) {
            Ok(slot) => {
                keeper.keep(&mut known);
                world.is_watched = true;
                check.take(&world, &reading, &slot);
                activity.close(&slot, &reading);
            }
            Err(refusal) => {
                assert_eq!(refusal, Refusal::Torn);
                check.figures.torn += 1;
            }
        }
    }
    check.finish(&world);
    (check.figures.activity_slots, check.figures.activity_near) = activity.near(&world, &check.counted);
    check.figures.ended_unseen_us = [activity.ended_unseen_us, activity.truly_unseen_us(&world, &check.counted)];
    check.figures
}

#[test]
fn deltas_and_what_is_declared_unknown_are_the_truth() {
    let mut by_kind = [Figures::default(); KINDS.len()];
    for seed in 0..histories() {
        let kind = (seed % 4) as usize;
        let figures = std::panic::catch_unwind(|| history(seed)).unwrap_or_else(|panic| {
            println!("history {seed}, {}", KINDS[kind].name);
            std::panic::resume_unwind(panic)
        });
        by_kind[kind].add(&figures);
    }
    let mut all = Figures::default();
    for (kind, figures) in KINDS.iter().zip(&by_kind) {
        println!("{}: {}", kind.name, figures.coverage());
        all.add(figures);
    }
    println!("{} histories: {all}", histories());
    all.hold();
}
