//! What the profiler says of simulated servers, held against what they truly did: sums, what is declared unknown, coverage and activity.
//!
//! `PLIMSOLL_HISTORIES` says how many histories are played.

#![expect(clippy::print_stdout, reason = "the bars print their figures")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod simulated;

use plimsoll_profile::{Known, Refusal, diff};
use simulated::activity::ActivityCheck;
use simulated::check::{Check, Figures};
use simulated::load::World;
use simulated::server::KINDS;
use simulated::{SLOT, read};

const SLOTS: i64 = 30;

fn histories() -> u64 {
    std::env::var("PLIMSOLL_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// Plays one history: a server for half an hour, read every minute.
fn history(seed: u64) -> Figures {
    let mut world = World::of(seed);
    let (mut known, mut check, mut activity, mut own_us) =
        (Known::default(), Check::default(), ActivityCheck::default(), 0);
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
            known = serde_json::from_str(&serde_json::to_string(&known).unwrap()).unwrap();
            activity.forget();
        }
        activity.sample(&world);
        let reading = read(&mut world, own_us);
        activity.sample(&world);
        match diff(&mut known, &reading.snapshot, SLOT as u64) {
            Ok(slot) => {
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
