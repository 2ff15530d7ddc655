//! Layouts against brute force, and against the traps of a search for the least space.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::layout::{Layout, Need, Rules, front, together};
use plimsoll_plan::{Storage, Wishes};
use proptest::prelude::*;

fn storage() -> Storage<'static> {
    let day = Some(Date { year: 2018, month: 12, day: 18 });
    Storage::on(Catalog::builtin().unwrap(), Wishes { day, ..Wishes::default() }).unwrap()
}

fn need(data_gb: f64, data: [f64; 2], log_gb: f64, log: [f64; 2]) -> Need {
    Need { database: "shop".to_owned(), data_gb, data, log_gb, log, is_log_held: false }
}

/// The trap of the least space: without a cap thirty files of 3 GB carry 9,000 IOPS.
#[test]
fn few_large_files_carry_what_thirty_small_ones_would() {
    let busy = need(90.0, [9_000.0, 300.0], 10.0, [1_000.0, 20.0]);
    let best = front(&busy, &storage(), &Rules::default()).remove(0);
    assert_eq!((best.data_files, Some(best.data_gb), best.data_step.iops), (3, Some(513.0), Some(5_000.0)));
    assert!(best.used_percent < 80.0, "{best:?}");
    let many = Rules { most_files: 40, most_wait_ms: 5.0, ..Rules::default() };
    let many = front(&busy, &storage(), &many).remove(0);
    assert!(many.data_files >= 25 && many.space_gb < best.space_gb, "{many:?}");
    assert_eq!(front(&need(90.0, [90_000.0, 300.0], 10.0, [10.0, 1.0]), &storage(), &Rules::default()), []);
}

/// At the same use small files let an I/O wait longer: six of 40 GB would take less space than one of 513.
#[test]
fn small_files_in_which_io_waits_are_left_out() {
    let busy = need(240.0, [2_170.0, 120.0], 12.0, [490.0, 15.0]);
    let of = |most_wait_ms: f64| front(&busy, &storage(), &Rules { most_wait_ms, ..Rules::default() }).remove(0);
    let (few, many) = (of(1.0), of(5.0));
    assert_eq!((few.data_files, Some(few.data_gb)), (1, Some(513.0)));
    assert!(many.data_files == 6 && many.space_gb < few.space_gb, "{many:?}");
}

/// 3 x 32 GB and a log of 32 GB, of which the log stands at its limit: the log alone is enlarged.
#[test]
fn only_what_is_at_its_limit_grows() {
    let layouts = front(&need(96.0, [200.0, 10.0], 32.0, [900.0, 10.0]), &storage(), &Rules::default());
    let best = &layouts[0];
    assert_eq!((best.data_files, Some(best.log_gb), best.log_step.iops), (1, Some(257.0), Some(2_300.0)));
    assert!(layouts.iter().any(|layout| layout.used_percent < 20.0), "larger ones with more room are shown as well");
}

/// Every layout, by loops over sizes in whole GB instead of steps.
fn brute(need: &Need, storage: &Storage<'_>, rules: &Rules) -> Vec<[f64; 5]> {
    let mut all = Vec::new();
    let sizes = |least: f64| (least.ceil().max(1.0) as u64..=4096).map(|size| size as f64);
    for count in 1..=rules.most_files {
        let mut seen = Vec::new();
        for data_gb in sizes(need.data_gb / f64::from(count)) {
            let data = storage.step(data_gb).unwrap();
            if seen.contains(&data.blob_gb.to_bits()) {
                continue;
            }
            seen.push(data.blob_gb.to_bits());
            let mut of_log = Vec::new();
            for log_gb in sizes(need.log_gb) {
                let log = storage.step(log_gb).unwrap();
                if of_log.contains(&log.blob_gb.to_bits()) {
                    continue;
                }
                of_log.push(log.blob_gb.to_bits());
                let factor = if count > 1 { rules.imbalance } else { 1.0 } / f64::from(count);
                let used = |rates: [f64; 2], factor: f64, step: &plimsoll_plan::Step| {
                    (factor * rates[0] / step.iops.unwrap()).max(factor * rates[1] / step.mb_per_s.unwrap())
                };
                let (of_data, of_log) = (used(need.data, factor, data), used(need.log, 1.0, log));
                if of_data.max(of_log) * (1.0 + rules.headroom_percent / 100.0) > 1.0 {
                    continue;
                }
                // An I/O keeps others waiting for as long as the slower of both limits takes for it.
                let wait = |used: f64, rates: [f64; 2], step: &plimsoll_plan::Step| {
                    let [by_iops, by_rate] = [rates[0] / step.iops.unwrap(), rates[1] / step.mb_per_s.unwrap()];
                    let part = if by_iops > 0.0 { (by_rate / by_iops).max(1.0) } else { 1.0 };
                    1e3 / step.iops.unwrap() * part * used / 2.0 / (1.0 - used)
                };
                let wait_ms = wait(of_data, need.data, data).max(wait(of_log, need.log, log));
                if wait_ms > rules.most_wait_ms {
                    continue;
                }
                all.push([
                    f64::from(count) * data_gb + log_gb,
                    f64::from(count) * data.blob_gb + log.blob_gb,
                    f64::from(count),
                    100.0 * of_data.max(of_log),
                    wait_ms,
                ]);
            }
        }
    }
    let beats = |a: &[f64; 5], b: &[f64; 5]| {
        let pairs = || a.iter().zip(b);
        pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
    };
    let mut best: Vec<[f64; 5]> =
        all.iter().filter(|one| !all.iter().any(|other| beats(other, one))).copied().collect();
    best.sort_by(|a, b| a.partial_cmp(b).unwrap());
    best.dedup();
    best
}

fn in_numbers(layout: &Layout) -> [f64; 5] {
    [layout.space_gb, layout.blob_gb, f64::from(layout.data_files), layout.used_percent, layout.wait_ms]
}

fn near(a: &[[f64; 5]], b: &[[f64; 5]]) -> bool {
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.iter().zip(b).all(|(a, b)| same(*a, *b)))
}

/// A layout that is nothing but what the choice looks at.
fn of_sizes(space_gb: u32, blob_gb: u32, data_files: u32) -> Layout {
    let step = plimsoll_plan::Step { name: None, blob_gb: 1.0, iops: None, mb_per_s: None };
    Layout {
        data_files,
        data_gb: 1.0,
        data_step: step.clone(),
        log_gb: 1.0,
        log_step: step,
        space_gb: f64::from(space_gb),
        blob_gb: f64::from(blob_gb),
        used_percent: 1.0,
        wait_ms: 0.0,
    }
}

/// The best of all combinations.
fn best_of_all(fronts: &[Vec<Layout>], space_gb: f64, blobs_gb: f64, most_files: u32) -> Option<(f64, f64, u32)> {
    let mut all = vec![(0.0, 0.0, 0)];
    for front in fronts {
        let with = |begun: &(f64, f64, u32)| {
            let (space, blobs, files) = *begun;
            front
                .iter()
                .map(move |one| (space + one.space_gb, blobs + one.blob_gb, files + one.data_files + 1))
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let fitting = all.into_iter().filter(|one| one.0 <= space_gb && one.1 <= blobs_gb && one.2 <= most_files);
    fitting.min_by(|a, b| a.partial_cmp(b).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn the_layouts_are_those_of_brute_force(
        (data_gb, log_gb) in (1.0..3000.0_f64, 1.0..2000.0_f64),
        (iops, mb) in (0.0..20_000.0_f64, 0.0..700.0_f64),
        (log_iops, log_mb) in (0.0..6000.0_f64, 0.0..200.0_f64),
        (most_files, most_wait_ms) in (1..5_u32, 0.1..3.0_f64),
    ) {
        let (need, storage) = (need(data_gb, [iops, mb], log_gb, [log_iops, log_mb]), storage());
        let rules = Rules { most_files, most_wait_ms, ..Rules::default() };
        let mut found: Vec<[f64; 5]> = front(&need, &storage, &rules).iter().map(in_numbers).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let expected = brute(&need, &storage, &rules);
        prop_assert!(near(&found, &expected), "{found:?}\n{expected:?}");
    }

    #[test]
    fn databases_together_are_those_of_all_combinations(
        fronts in prop::collection::vec(prop::collection::vec((1..60_u32, 1..60_u32, 1..9_u32), 1..5), 1..6),
        (space, blobs, files) in (20..250_u32, 20..250_u32, 5..50_u32),
    ) {
        let fronts: Vec<Vec<Layout>> =
            fronts.iter().map(|front| front.iter().map(|(space, blobs, files)| of_sizes(*space, *blobs, *files)).collect()).collect();
        let (space, blobs) = (f64::from(space), f64::from(blobs));
        let expected = best_of_all(&fronts, space, blobs, files);
        let chosen = together(&fronts, space, blobs, files);
        let sums = chosen.map(|chosen| {
            let all = || fronts.iter().zip(&chosen).map(|(front, at)| &front[*at]);
            let files: u32 = all().map(|one| one.data_files + 1).sum();
            (all().map(|one| one.space_gb).sum::<f64>(), all().map(|one| one.blob_gb).sum::<f64>(), files)
        });
        // Where files do not bind, of equal space and blobs any number of them is as good.
        let two = |sums: Option<(f64, f64, u32)>| sums.map(|(space, blobs, _)| (space, blobs));
        prop_assert_eq!(two(sums), two(expected));
        prop_assert!(sums.is_none_or(|sums| sums.2 <= files));
    }
}
