//! How long the search for layouts takes: all of a database, and one for each of a hundred.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;

use plimsoll_catalog::Catalog;
use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_plan::layout::{Layout, Need, Rules, front, together};
use plimsoll_plan::{Storage, Wishes};

const DATABASES: u32 = 100;
/// An instance of the largest size, its blobs by the limit of 2018.
const SPACE_GB: f64 = 16_384.0;
const BLOBS_GB: f64 = 35_840.0;
const FILES: u32 = 280;

fn main() {
    let Ok(catalog) = Catalog::builtin() else { return };
    let Ok(storage) = Storage::on(catalog, Wishes::default()) else { return };
    let need = |number: u32| {
        let part = f64::from(number % 17) / 16.0;
        Need {
            database: number.to_string(),
            data_gb: 5.0 + 60.0 * part,
            data: [20.0 + 250.0 * part, 1.0 + 10.0 * part],
            log_gb: 2.0 + 10.0 * part,
            log: [10.0 + 150.0 * part, 1.0 + 3.0 * part],
            is_log_held: false,
        }
    };
    let rules = Rules::default();
    let clock = RealClock::new();
    let median_ms = |work: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..21)
            .map(|_| {
                let begun = clock.now();
                work();
                clock.now().since(begun).as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (times[10], times[0], times[20])
    };
    let show = |what: &str, (median, least, most): (f64, f64, f64)| {
        println!("{what}: {median:.3} ms (median of 21, {least:.3} to {most:.3})");
    };
    show("all layouts of a database", median_ms(&mut || drop(black_box(front(&need(9), &storage, &rules)))));
    let all = || (0..DATABASES).map(|number| front(&need(number), &storage, &rules)).collect::<Vec<Vec<Layout>>>();
    show("all layouts of 100 databases", median_ms(&mut || drop(black_box(all()))));
    let fronts = all();
    let found = together(&fronts, SPACE_GB, BLOBS_GB, FILES);
    println!("one layout for each of 100 databases: {}", if found.is_some() { "found" } else { "none" });
    show("one for each of them", median_ms(&mut || drop(black_box(together(&fronts, SPACE_GB, BLOBS_GB, FILES)))));
}
