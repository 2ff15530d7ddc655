//! Data files over which rows are spread: they grow together, and none does more than the next of them lets it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::Catalog;
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, WaitShares, advise};
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage, Wishes};

fn data(name: &str, size_gb: f64, iops: f64) -> DatabaseFile {
    DatabaseFile { iops: Some(iops), ..DatabaseFile::new("shop", name, FileKind::Data, size_gb) }
}

fn advice(files: &[DatabaseFile], wishes: Wishes, waits: Option<WaitShares>) -> Vec<Advice> {
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    advise(files, &storage, &limits(files, &storage), &Observed { waits, cpu_percent: None })
}

/// The files that are to grow together, to which size, by how much more, and whether that has room.
fn grown(all: &[Advice]) -> Vec<(Vec<usize>, u32, Option<u32>, bool)> {
    let of = |one: &Advice| match &one.finding {
        Finding::Grow { size_gb, brings, fits, .. } => {
            let percent = brings.map(|brings| brings.most_percent.round() as u32);
            Some((one.files.clone(), *size_gb as u32, percent, *fits))
        }
        _ => None,
    };
    all.iter().filter_map(of).collect()
}

fn of(files: &[DatabaseFile]) -> Vec<(Vec<usize>, u32, Option<u32>, bool)> {
    grown(&advice(files, Wishes::default(), None))
}

#[test]
fn files_of_one_size_grow_together() {
    let two = [data("a", 100.0, 490.0), data("b", 100.0, 440.0)];
    assert_eq!(of(&two), [(vec![0, 1], 130, Some(369), true)]);
    // Followed, the advice has nothing left to say.
    let after = [data("a", 130.0, 490.0), data("b", 130.0, 440.0)];
    assert!(advice(&after, Wishes::default(), None).is_empty());
    // All are at their limit: one answer, and the busiest is named first.
    let three = [data("a", 100.0, 460.0), data("b", 100.0, 499.0), data("c", 100.0, 470.0)];
    assert_eq!(of(&three), [(vec![1, 2, 0], 130, Some(361), true)]);
    // Each filegroup has rows of its own, and so has each database.
    let group = |file: &DatabaseFile, name: &str| DatabaseFile { filegroup: Some(name.to_owned()), ..file.clone() };
    assert_eq!(of(&[group(&two[0], "x"), group(&two[1], "y")]), [(vec![0], 130, Some(369), true)]);
    let elsewhere = DatabaseFile { database: "other".to_owned(), ..two[1].clone() };
    assert_eq!(of(&[two[0].clone(), elsewhere]), [(vec![0], 130, Some(369), true)]);
}

#[test]
fn a_neighbour_bounds_what_a_file_brings() {
    // The other has 2,300 IOPS and does 2,000: all do 15 % more until it stands at its limit.
    let beside = [data("a", 100.0, 490.0), data("b", 300.0, 2000.0)];
    assert_eq!(of(&beside), [(vec![0], 130, Some(15), true)]);
    // What does far more than its limits has others, and bounds nothing.
    let above = [data("a", 100.0, 490.0), data("b", 300.0, 2700.0)];
    assert_eq!(of(&above), [(vec![0], 130, Some(369), true)]);
    // By the MB/s of the other, too.
    let wide = DatabaseFile { mb_per_s: Some(75.0), ..data("b", 100.0, 10.0) };
    assert_eq!(of(&[data("a", 100.0, 490.0), wide]), [(vec![0, 1], 130, Some(100), true)]);
}

/// What is under way goes to all files, those that are fast among them.
#[test]
fn the_times_of_all_files_bound_what_they_bring() {
    let timed = |name: &str, ms: f64| DatabaseFile { read_ms: Some(ms), ..data(name, 100.0, 490.0) };
    // 490 a second of 6 ms and as many of 10 ms are 7.84 under way: 1,568 a second at 5 ms.
    assert_eq!(of(&[timed("a", 6.0), timed("b", 10.0)]), [(vec![0, 1], 130, Some(60), true)]);
    assert_eq!(of(&[timed("a", 10.0), timed("b", 6.0)]), [(vec![0, 1], 130, Some(60), true)]);
}

/// Files that are added carry all that is there, so none of the others is to grow as well; and where no size helps one, none helps the others.
#[test]
fn a_filegroup_has_one_answer() {
    let ids = |files: &[DatabaseFile]| {
        let found = advice(files, Wishes::default(), None);
        let ids = found.iter().filter(|one| !one.is_alternative).map(|one| (one.rule.id, one.files.clone()));
        ids.collect::<Vec<_>>()
    };
    let two = [data("a", 600.0, 4900.0), data("b", 1100.0, 7400.0)];
    // A third one of 1,026 GB would do, and of 691 if the small one grows to that: 782 GB in all.
    assert_eq!(ids(&two), [("file-at-limit", vec![0]), ("more-files", vec![1, 0])]);
    let found = advice(&two, Wishes::default(), None);
    assert!(matches!(found[0].finding, Finding::Grow { size_gb: 691.0, used: None, .. }), "{found:?}");
    // Files that are as large have to be more.
    assert_eq!(ids(&[data("a", 1100.0, 7400.0), data("b", 1100.0, 7400.0)]), [("more-files", vec![0, 1])]);
    // Another grows by 200 GB, and one file of 1,100 is enough in place of four.
    let four: Vec<_> =
        (0..4).map(|at| if at == 3 { data("s", 900.0, 4600.0) } else { data("l", 1100.0, 7000.0) }).collect();
    assert_eq!(ids(&four), [("file-at-limit", vec![3]), ("more-files", vec![0, 1, 2, 3])]);
    // One of 2,300 IOPS would stand at its limit beside any number of others: it grows to their size first.
    let small = [data("a", 512.0, 2200.0), data("b", 1100.0, 7000.0), data("c", 1100.0, 7000.0)];
    assert_eq!(ids(&small), [("file-at-limit", vec![0]), ("more-files", vec![0, 1, 2])]);
    // Another one of 514 GB takes less space than to make the small one as large.
    let idle = [data("a", 1100.0, 7490.0), data("b", 256.0, 100.0)];
    assert_eq!(ids(&idle), [("more-files", vec![0])]);
    let even = [data("a", 1500.0, 7490.0), data("b", 1500.0, 2000.0), data("c", 1500.0, 2000.0)];
    let found = advice(&even, Wishes::default(), None);
    assert!(
        matches!(found[..], [Advice { finding: Finding::Add { added: 0, all: 3, fits: true, .. }, .. }]),
        "{found:?}"
    );
    let mut many: Vec<_> = (0..8).map(|at| data(&at.to_string(), 1100.0, 7490.0)).collect();
    many.push(data("small", 600.0, 4900.0));
    assert_eq!(ids(&many), [("another-tier", vec![0, 1, 2, 3, 4, 5, 6, 7, 8])]);
}

#[test]
fn files_that_grow_together_have_room_together_or_not_at_all() {
    // What the third does is not known, so that no rows are spread.
    let unknown = |size_gb| DatabaseFile { iops: None, ..data("c", size_gb, 0.0) };
    let files = [data("a", 500.0, 2290.0), data("b", 500.0, 1000.0), unknown(1000.0)];
    let space = |space_gb| Wishes { vcores: Some(4), space_gb: Some(space_gb), ..Wishes::default() };
    // Two of 514 GB and one of 1,000 are 2,028 GB.
    assert_eq!(grown(&advice(&files, space(2048.0), None)), [(vec![0, 1], 514, Some(118), true)]);
    let larger = [files[0].clone(), files[1].clone(), unknown(1030.0)];
    assert_eq!(grown(&advice(&larger, space(2048.0), None)), [(vec![0, 1], 514, Some(118), false)]);
}

/// One without the others brings next to nothing, as they stand at their limits: all of a filegroup has room, or nothing of it.
#[test]
fn a_filegroup_has_room_as_a_whole() {
    let with = |other_gb| {
        let other = DatabaseFile { database: "o".to_owned(), ..data("o", other_gb, 1.0) };
        let unknown = DatabaseFile { iops: None, ..data("u", 130.0, 0.0) };
        let wishes = Wishes { vcores: Some(4), ..Wishes::default() };
        advice(&[data("a", 100.0, 498.0), data("b", 600.0, 4950.0), other, unknown], wishes, None)
    };
    let both = |fits| [(vec![0], 130, Some(52), fits), (vec![1], 1026, Some(52), fits)];
    assert_eq!(grown(&with(750.0)), both(true));
    let found = with(1000.0);
    assert_eq!(grown(&found), both(false));
    let Finding::Short { larger: 2, added: 0, .. } = found[0].finding else { panic!("{found:?}") };
    // Files that are added are counted, and have room with those that grow for them.
    for (small_gb, iops, counts) in [(600.0, 4900.0, [1, 1]), (1100.0, 7400.0, [0, 1])] {
        let other = DatabaseFile { database: "o".to_owned(), ..data("o", 5800.0, 1.0) };
        let wishes = Wishes { vcores: Some(8), ..Wishes::default() };
        let found = advice(&[data("a", small_gb, iops), data("b", 1100.0, 7400.0), other], wishes, None);
        let Finding::Short { larger, added, .. } = found[0].finding else { panic!("{found:?}") };
        assert_eq!([larger, added], counts);
        let rooms = found.iter().filter_map(|one| match one.finding {
            Finding::Add { fits, .. } | Finding::Grow { fits, .. } => Some(fits),
            _ => None,
        });
        assert!(rooms.collect::<Vec<_>>().iter().all(|fits| !fits), "{found:?}");
    }
}

/// Where larger files have no room, rows that are spread over those that are there may take none.
#[test]
fn what_has_no_room_as_larger_files_may_have_it_once_rows_are_spread() {
    let with = |other_gb| {
        let other = DatabaseFile { database: "o".to_owned(), ..data("o", other_gb, 1.0) };
        let wishes = Wishes { vcores: Some(8), ..Wishes::default() };
        advice(&[data("a", 1000.0, 4900.0), data("b", 1000.0, 500.0), other], wishes, None)
    };
    let roomy = with(6000.0);
    // 5,400 / 2 x 1.1 are 2,970 of 5,000: 68 % more, where 1,026 GB bring 53 %.
    let percent = |found: &[Advice]| {
        found.iter().find_map(|one| match &one.finding {
            Finding::Grow { brings: Some(brings), rebuild: Some(rebuild), .. } => {
                Some([brings.most_percent.round(), rebuild.most_percent.round()])
            }
            _ => None,
        })
    };
    assert_eq!((grown(&roomy)[0].1, percent(&roomy)), (1026, Some([53.0, 68.0])));
    let full = with(6190.0);
    let [Advice { finding: Finding::Add { added: 0, fits: true, brings: Some(brings), .. }, .. }] = full.as_slice()
    else {
        panic!("{full:?}")
    };
    assert!((brings.most_percent - 68.35).abs() < 0.01, "{full:?}");
}

/// One that stands at no limit and is slow comes beside one that stands at one: a live instance has times.
#[test]
fn a_slow_neighbour_forbids_no_rebuild() {
    let timed = |name: &str, iops, ms| DatabaseFile { read_ms: Some(ms), ..data(name, 1000.0, iops) };
    let other = DatabaseFile { database: "o".to_owned(), ..data("o", 6190.0, 1.0) };
    let wishes = Wishes { vcores: Some(8), ..Wishes::default() };
    for ms in [99.0, 140.0] {
        let found = advice(&[timed("a", 4900.0, 40.0), timed("b", 500.0, ms), other.clone()], wishes, None);
        let is_rebuild = |one: &Advice| matches!(one.finding, Finding::Add { added: 0, fits: true, .. });
        assert!(found.iter().any(is_rebuild) && grown(&found).is_empty(), "{ms}: {found:?}");
    }
}

/// Into one that is full and at no limit no rows go: it does not grow with the others.
#[test]
fn a_full_file_at_no_limit_does_not_grow() {
    let file =
        |name: &str, size_gb, used_gb, iops| DatabaseFile { used_gb: Some(used_gb), ..data(name, size_gb, iops) };
    let other = DatabaseFile { database: "o".to_owned(), ..data("o", 400.0, 1.0) };
    let files = [file("a", 1020.0, 900.0, 4900.0), file("b", 600.0, 595.0, 100.0), other];
    let found = grown(&advice(&files, Wishes { vcores: Some(4), ..Wishes::default() }, None));
    assert_eq!(found, [(vec![0], 1026, Some(53), true)]);
}

/// Where the others are full there is nothing to spread rows over: one file is larger, and no rebuild is named.
#[test]
fn one_file_that_takes_all_rows_just_grows() {
    let file = |name: &str, size_gb: f64, used_gb: f64, rates: (f64, f64), read_ms: f64| {
        let (used_gb, mb_per_s, read_ms) = (Some(used_gb), Some(rates.1), Some(read_ms));
        DatabaseFile { used_gb, mb_per_s, read_ms, ..data(name, size_gb, rates.0) }
    };
    let rest = DatabaseFile { database: "rest".to_owned(), ..data("rest", 1800.0, 100.0) };
    let files = [file("busy", 129.0, 38.7, (171.9, 96.0), 200.0), file("full", 10.0, 9.6, (10.0, 0.12), 140.0), rest];
    let wishes = || Wishes { vcores: Some(4), ..Wishes::default() };
    let found = advice(&files, wishes(), None);
    assert_eq!(grown(&found), [(vec![0], 130, Some(56), true)], "{found:?}");
    assert!(!found.iter().any(|one| matches!(one.finding, Finding::Add { .. })), "{found:?}");
}

/// Of what is part empty so much is given back as is missing, where that leaves room for more files and not for larger ones.
#[test]
fn files_give_back_what_further_ones_take() {
    let file = |name: &str, iops| DatabaseFile { used_gb: Some(300.0), ..data(name, 1000.0, iops) };
    let other = DatabaseFile { database: "o".to_owned(), ..data("o", 6186.0, 1.0) };
    let files = [file("a", 4800.0), file("b", 3000.0), other];
    let found = advice(&files, Wishes { vcores: Some(8), ..Wishes::default() }, None);
    let add = found.iter().find_map(|one| match &one.finding {
        Finding::Add { added, size_gb, shrunk, fits: true, .. } => Some((*added as f64 * size_gb, shrunk.clone())),
        _ => None,
    });
    let (added_gb, shrunk) = add.unwrap_or_else(|| panic!("{found:?}"));
    let back_gb: f64 = shrunk.iter().map(|(_, size_gb)| 1000.0 - size_gb).sum();
    // 6 GB are free.
    assert!(added_gb <= back_gb + 6.0 && back_gb <= added_gb + 20.0, "{added_gb} {back_gb}");
}

/// A small instance pays for a tenth of its space, and none for more than 256 GB, where a rebuild of the indexes would do.
#[test]
fn a_rebuild_goes_before_what_takes_much_of_the_space() {
    let ids = |space_gb| {
        let wishes = Wishes { vcores: Some(4), space_gb: Some(space_gb), ..Wishes::default() };
        let found = advice(&[data("a", 2.0, 498.0), data("b", 2.0, 50.0)], wishes, None);
        found.iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(160.0), ["more-files"], "256 GB of 160");
    assert_eq!(ids(2048.0), ["more-files"], "256 GB are more than a tenth of 2,048");
    let one = [data("a", 2.0, 498.0), data("b", 130.0, 50.0)];
    let wishes = |space_gb| Wishes { vcores: Some(4), space_gb: Some(space_gb), ..Wishes::default() };
    assert_eq!(grown(&advice(&one, wishes(2048.0), None)), [(vec![0], 130, Some(362), true)], "128 GB of 2,048");
}

/// Times are those of the files that grow: another one of the filegroup goes on as it is.
#[test]
fn a_file_is_held_against_its_own_times() {
    let small = DatabaseFile { read_ms: Some(12.0), mb_per_s: Some(95.0), ..data("a", 20.0, 200.0) };
    let large = DatabaseFile { read_ms: Some(150.0), mb_per_s: Some(80.0), ..data("b", 1400.0, 3000.0) };
    let found = advice(&[small, large], Wishes::default(), None);
    let ms = found.iter().find_map(|one| match &one.finding {
        Finding::Grow { brings: Some(brings), .. } => brings.ms.map(|ms| ms[0]),
        _ => None,
    });
    assert_eq!(ms, Some(12.0), "{found:?}");
}

/// A file that does far more than its limits has others: none of these sizes is for it, whatever stands beside it.
#[test]
fn what_has_other_limits_grows_with_nobody() {
    assert_eq!(of(&[data("a", 100.0, 490.0), data("b", 100.0, 580.0)]), [(vec![0], 130, Some(369), true)]);
}

/// What is slow for no known reason grows with its neighbours, by an unknown amount; a limit that one stands at is the better reason.
#[test]
fn slow_files_grow_together_as_well() {
    let slow = |name: &str, iops: f64| DatabaseFile { read_ms: Some(150.0), ..data(name, 100.0, iops) };
    assert_eq!(of(&[slow("a", 100.0), data("b", 100.0, 90.0)]), [(vec![0, 1], 130, None, true)]);
    assert_eq!(of(&[slow("a", 100.0), data("b", 100.0, 490.0)]), [(vec![1, 0], 130, Some(369), true)]);
}

/// The least time that was seen where nothing holds operations up is the best that a larger file may come to.
#[test]
fn the_least_time_of_files_at_no_limit_bounds_what_a_file_brings() {
    let times = |ms: [f64; 2], file| DatabaseFile { read_ms: Some(ms[0]), write_ms: Some(ms[1]), ..file };
    let calm = |ms| DatabaseFile { database: "calm".to_owned(), ..times(ms, data("c", 100.0, 10.0)) };
    let with = |ms, others: &[DatabaseFile]| of(&[&[times(ms, data("a", 100.0, 498.0))], others].concat()).remove(0).2;
    // 5 ms are published as the best: 498 a second of 8 ms are four under way, which make 797 at 5 ms.
    assert_eq!(with([6.0, 8.0], &[]), Some(60));
    // They make 1,992 at 2 ms, and 2,300 is more than that.
    assert_eq!(with([6.0, 8.0], &[calm([9.0, 2.0])]), Some(300));
    // What is as fast at its limit as what is published or was seen elsewhere says nothing: the new limit bounds it.
    for ms in [[2.1, 2.3], [2.0, 8.0], [8.0, 2.0]] {
        assert_eq!(with(ms, &[]), Some(362), "{ms:?}");
    }
    assert_eq!(with([2.0, 8.0], &[calm([2.0, 9.0])]), Some(362));
}

/// What gives space back keeps files of a filegroup equal, and asks for no GB that only arithmetic makes.
#[test]
fn equal_files_give_back_alike() {
    let file =
        |name: &str, size_gb: f64, used_gb: f64| DatabaseFile { used_gb: Some(used_gb), ..data(name, size_gb, 10.0) };
    let hot = DatabaseFile { database: "hot".to_owned(), ..data("h", 500.0, 2290.0) };
    let back = |two: [DatabaseFile; 2]| {
        let [first, second] = two;
        let wishes = Wishes { vcores: Some(4), space_gb: Some(1024.0), ..Wishes::default() };
        let found = advice(&[first, second, hot.clone()], wishes, None);
        let of = |one: &Advice| match one.finding {
            Finding::Shrink { size_gb } => Some((one.files.clone(), size_gb as u32)),
            _ => None,
        };
        found.iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(back([file("a", 600.0, 100.0), file("b", 600.0, 500.0)]), [(vec![0], 550), (vec![1], 550)]);
    assert_eq!(back([file("a", 900.0, 800.0), file("b", 900.0, 700.0)]), [(vec![0], 880), (vec![1], 880)]);
    let unknown = DatabaseFile { used_gb: None, ..file("b", 600.0, 0.0) };
    assert_eq!(back([file("a", 600.0, 100.0), unknown]), []);
}

/// What nobody saw of a neighbour may be anything: nothing is said of how many files carry it all.
#[test]
fn unknown_rates_are_not_nothing() {
    let neighbours = |second: Option<f64>| {
        let unknown = DatabaseFile { iops: second, ..data("b", 1100.0, 0.0) };
        let found = advice(&[data("a", 1100.0, 7490.0), unknown], Wishes::default(), None);
        found.into_iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    assert!(neighbours(Some(100.0)).contains(&"more-files"), "{:?}", neighbours(Some(100.0)));
    assert!(neighbours(None).contains(&"another-tier"), "{:?}", neighbours(None));
}
