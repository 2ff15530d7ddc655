//! What has room: what the plan itself gives back first counts for all that grows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::Catalog;
use plimsoll_plan::advice::Lack;
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, advise};
use plimsoll_plan::statements::Steps;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage, Wishes};

fn data(database: &str, size_gb: f64, used_gb: f64, iops: f64) -> DatabaseFile {
    let (iops, used_gb) = (Some(iops), Some(used_gb));
    DatabaseFile { iops, used_gb, ..DatabaseFile::new(database, "f", FileKind::Data, size_gb) }
}

fn log(database: &str, size_gb: f64, used_gb: f64, iops: f64) -> DatabaseFile {
    let (iops, used_gb) = (Some(iops), Some(used_gb));
    DatabaseFile { iops, used_gb, ..DatabaseFile::new(database, "l", FileKind::Log, size_gb) }
}

fn on(vcores: u32, space_gb: Option<f64>) -> Storage<'static> {
    Storage::on(Catalog::builtin().unwrap(), Wishes { vcores: Some(vcores), space_gb, day: None }).unwrap()
}

fn advice(files: &[DatabaseFile], storage: &Storage<'_>) -> Vec<Advice> {
    advise(files, storage, &limits(files, storage), &Observed::default())
}

fn fits(advice: &[Advice]) -> Vec<bool> {
    let fits = |one: &Advice| match one.finding {
        Finding::Grow { fits, .. } | Finding::Add { fits, .. } => Some(fits),
        _ => None,
    };
    advice.iter().filter_map(fits).collect()
}

/// 1,500 GB of which 806 are used give back what the log takes.
#[test]
fn what_is_given_back_first_has_room_for_all_that_grows() {
    for part in 0..10 {
        let used_gb = 600.0 + 30.0 * f64::from(part);
        let files = [data("a", 1500.0, used_gb, 7036.0), log("a", 200.0, 5.0, 2237.0), data("old", 64.0, 64.0, 1.0)];
        let found = advice(&files, &on(4, None));
        assert_eq!(fits(&found), [true, true], "{used_gb}: {found:?}");
        assert!(found.iter().all(|one| one.rule.id != "space-short"), "{used_gb}: {found:?}");
        // Where no more can be given back the rest has no room, and the sum says so.
        let full = [data("a", 1500.0, 1490.0, 7036.0), log("a", 500.0, 450.0, 2237.0)];
        let found = advice(&full, &on(4, None));
        let Finding::Short { files_gb: [Some(needed_gb), Some(most_gb)], .. } = found[0].finding else {
            panic!("{found:?}")
        };
        assert!(needed_gb > most_gb, "{needed_gb} {most_gb}");
    }
}

/// What has room in all that is free, and none beside what comes first, is sought in what that leaves: with less space it was found before.
#[test]
fn what_comes_first_leaves_room_for_others_that_give_some_back() {
    let files = [
        data("arch", 3000.0, 2850.0, 300.0),
        data("arch2", 2620.0, 2500.0, 300.0),
        data("hot", 1500.0, 400.0, 7000.0),
        data("o", 400.0, 380.0, 2290.0),
        data("rest", 236.0, 200.0, 10.0),
    ];
    for space_gb in [Some(8160.0), None] {
        let found = advice(&files, &on(8, space_gb));
        assert_eq!(fits(&found), [true, true], "{space_gb:?}: {found:?}");
        let shrunk = found.iter().any(|one| matches!(&one.finding, Finding::Add { shrunk, .. } if !shrunk.is_empty()));
        assert!(shrunk, "{space_gb:?}: {found:?}");
    }
    // An alternative counts the space that is raised for what is advised already.
    let alternatives: Vec<DatabaseFile> = ["a", "b"]
        .into_iter()
        .flat_map(|database| {
            let file = |name: &str, iops| DatabaseFile { name: name.to_owned(), ..data(database, 100.0, 40.0, iops) };
            [file("1", 490.0), file("2", 10.0), file("3", 10.0)]
        })
        .chain([log("e", 20.0, 10.0, 490.0)])
        .collect();
    let found = advice(&alternatives, &on(4, Some(640.0)));
    let lack = |one: &Advice| match &one.finding {
        Finding::Add { larger: Some(larger), .. } => larger.lack.clone(),
        _ => None,
    };
    let lacks: Vec<Lack> = found.iter().filter_map(lack).collect();
    assert!(
        !lacks.is_empty() && lacks.iter().all(|lack| matches!(lack, Lack::Raised { is_more: true, .. })),
        "{found:?}"
    );
}

/// Nothing is printed before what it takes its room from.
#[test]
fn statements_give_back_before_anything_grows() {
    let files = [data("a", 1500.0, 806.0, 7036.0), log("a", 200.0, 5.0, 2237.0)];
    for (storage, free_gb) in [(on(8, Some(1984.0)), 284.0), (on(8, None), 6492.0)] {
        let mut steps = Steps::default();
        for one in &advice(&files, &storage) {
            match one.finding {
                Finding::Grow { size_gb, .. } => steps.enlarge(&files[one.files[0]], size_gb, "It is small."),
                _ => steps.more(&one.finding, one.files[0], &files),
            }
        }
        let text = steps.text(Some(free_gb), None);
        let at = |words: &str| text.find(words);
        let is_short = free_gb < 300.0;
        assert_eq!(at("Shrink a.f").is_some(), is_short, "{text}");
        assert!(at("Shrink a.f") < at("MODIFY FILE") && at("MODIFY FILE") < at("ADD FILE"), "{text}");
        assert_eq!(at("-- 284 GB are free").is_some(), is_short, "{text}");
    }
}

/// Where larger files have enough and further ones take far less, both are said.
#[test]
fn larger_files_stand_beside_further_ones_that_take_less() {
    let of = |size_gb: f64, iops: f64, space_gb: f64| {
        let files: Vec<DatabaseFile> =
            ["a", "b", "c"].map(|name| DatabaseFile { name: name.to_owned(), ..data("m", size_gb, 28.0, iops) }).into();
        let add = |one: &Advice| match &one.finding {
            Finding::Add { larger, .. } => Some(larger.clone()),
            _ => None,
        };
        advice(&files, &on(8, Some(space_gb))).iter().find_map(add).unwrap()
    };
    let larger = of(32.0, 494.0, 2048.0).unwrap();
    assert_eq!((larger.sizes, larger.lack), (vec![(0, 130.0), (1, 130.0), (2, 130.0)], None));
    assert_eq!(larger.brings.map(|brings| brings.most_percent.round()), Some(366.0), "2,300 of 494");
    assert_eq!(
        of(32.0, 494.0, 384.0).unwrap().lack,
        Some(Lack::Raised { gb: 32.0, is_more: false }),
        "to 416 for 390 GB"
    );
    // And here no size has more.
    assert_eq!(of(1100.0, 7490.0, 8192.0), None);
}

/// A tier is named with the virtual cores that it takes for the space and for what was seen.
#[test]
fn other_tiers_come_with_their_virtual_cores() {
    let of = |gb: f64, rates: [f64; 2]| -> Vec<(Option<String>, Option<u32>)> {
        on(4, None).elsewhere([gb, gb], rates).into_iter().map(|one| (one.title, one.vcores)).collect()
    };
    let next = Some("next-gen General Purpose".to_owned());
    let critical = Some("Business Critical".to_owned());
    assert_eq!(of(2000.0, [100.0; 2]), [(None, Some(4)), (next.clone(), Some(4)), (critical.clone(), Some(8))]);
    // 4 vCores have 6,400 IOPS there.
    assert_eq!(of(2000.0, [7450.0, 120.0])[1], (next.clone(), Some(6)));
    assert_eq!(of(2000.0, [7450.0, 250.0])[1], (next, Some(8)));
    assert_eq!(of(4000.0, [7450.0, 120.0])[2], (critical, Some(16)));
}

/// A log that is nearly empty gives back what its limits do not need, and keeps ten times what it holds.
#[test]
fn a_log_that_is_nearly_empty_gives_space_back() {
    let of = |used_gb: f64| {
        let files = [data("a", 500.0, 400.0, 2290.0), log("a", 1000.0, used_gb, 300.0)];
        let back = |one: &Advice| match one.finding {
            Finding::Shrink { size_gb } => Some((one.files[0], size_gb)),
            _ => None,
        };
        advice(&files, &on(8, Some(1504.0))).iter().find_map(back)
    };
    assert_eq!((of(5.0), of(60.0), of(100.0)), (Some((1, 514.0)), Some((1, 600.0)), None));
}

/// What other files can give back is not enough for all here, and is for the next.
#[test]
fn what_fits_once_space_is_given_back_is_named() {
    let after = |used_gb: f64| {
        let old = [data("old", 480.0, 480.0, 1.0), log("old", 600.0, used_gb, 1000.0)];
        let full = [data("a", 900.0, 900.0, 1.0), log("a", 20.0, 3.0, 495.0), log("b", 20.0, 3.0, 480.0)];
        let files = [&full[..], &old[..]].concat();
        let found = advice(&files, &on(4, None));
        let Finding::Short { ref after, .. } = found[0].finding else { return Vec::new() };
        after.clone()
    };
    assert_eq!((after(3.0), after(590.0)), (vec![1], vec![]));
}

/// In the same space one more file may have more of both.
#[test]
fn fewer_files_are_those_with_more_of_both() {
    let fewer = |count: usize, size_gb: f64| {
        let name = |at: usize| DatabaseFile { name: at.to_string(), ..data("q", size_gb, 70.0, 300.0) };
        let files: Vec<DatabaseFile> = (0..count).map(name).collect();
        let found = |one: &Advice| match one.finding {
            Finding::Fewer { files, iops, mb_per_s, .. } => Some((files, iops as u32, mb_per_s as u32)),
            _ => None,
        };
        advice(&files, &on(8, None)).iter().find_map(found)
    };
    assert_eq!(fewer(12, 90.0), Some((2, 10_000, 400)), "one of 1,080 GB has 7,500 and 250");
    assert_eq!(fewer(4, 100.0), Some((3, 6900, 450)));
}

/// No larger size of the small file of two takes less than what is advised, and none that carries it takes less in all.
#[test]
fn a_file_that_grows_beside_a_full_one_is_no_larger_than_needed() {
    let storage = on(16, None);
    for part in 0..20 {
        let (large_gb, small_gb) = (1030.0 + 20.0 * f64::from(part), 40.0 + 15.0 * f64::from(part));
        let small_iops = if small_gb <= 129.0 { 480.0 } else { 2200.0 };
        let files = [data("a", large_gb, 900.0, 7450.0), data("a", small_gb, small_gb, small_iops)];
        let found = advice(&files, &storage);
        let taken = |one: &Advice| match one.finding {
            Finding::Grow { size_gb, .. } => one.files.iter().map(|at| size_gb - files[*at].size_gb).sum(),
            Finding::Add { added, size_gb, .. } => added as f64 * size_gb,
            _ => 0.0,
        };
        let taken_gb: f64 = found.iter().map(taken).sum();
        // By its part of the size each has its part of the rows, of which the busiest has a tenth more, and a quarter is to spare.
        let carries = |size_gb: f64| {
            let each = |gb: f64| {
                let iops = storage.step(gb).and_then(|step| step.iops).unwrap();
                (7450.0 + small_iops) * gb / (large_gb + size_gb) * 1.1 * 1.25 <= iops
            };
            each(large_gb) && each(size_gb)
        };
        let least_gb = (1..4000).map(f64::from).find(|size_gb| *size_gb >= small_gb && carries(*size_gb)).unwrap();
        assert!(taken_gb <= least_gb - small_gb + 1.0, "{large_gb} and {small_gb}: {taken_gb} {least_gb}: {found:?}");
        assert!(found.iter().any(|one| one.rule.id == "more-files"), "{found:?}");
    }
}

/// A file that is to grow gives nothing back, whatever the reason: here it is slow, and stands at no limit.
#[test]
fn a_file_that_is_to_grow_gives_nothing_back() {
    let of = |read_ms: f64| {
        let slow = DatabaseFile { read_ms: Some(read_ms), ..data("erp", 600.0, 100.0, 1000.0) };
        let tight = data("a", 120.0, 110.0, 495.0);
        advice(&[slow, tight, log("erp", 20.0, 2.0, 100.0)], &on(16, Some(744.0)))
    };
    let ids = |found: &[Advice]| found.iter().map(|one| one.rule.id).collect::<Vec<_>>();
    assert_eq!(ids(&of(5.0)), ["space-first", "file-at-limit", "size-for-nothing"]);
    let slow = of(130.0);
    assert_eq!(ids(&slow), ["space-first", "file-at-limit", "slow-file"]);
    assert!(matches!(slow[0].finding, Finding::Space { back_gb: 0.0, .. }), "{slow:?}");
}

/// What has no room is sought where it takes least, and where others give back what brings them nothing.
#[test]
fn what_has_no_room_takes_the_least_and_what_others_give_back() {
    let found = |others: Vec<DatabaseFile>| {
        let own = [data("shop", 200.0, 195.0, 2290.0), data("shop", 200.0, 60.0, 2280.0)];
        advice(&own.into_iter().chain(others).collect::<Vec<_>>(), &on(8, None))
    };
    let added = |all: &[Advice]| {
        all.iter().find_map(|one| match &one.finding {
            Finding::Add { added, size_gb, fits, .. } => Some((*added, *size_gb, *fits)),
            _ => None,
        })
    };
    let after = |all: &[Advice]| {
        all.iter().find_map(|one| match &one.finding {
            Finding::Short { files_gb, after, .. } => Some((files_gb[0].map(f64::round), after.clone())),
            _ => None,
        })
    };
    // 4,570 IOPS with a quarter to spare, a tenth more in the busiest, are 547 GB of files with 2,300 IOPS to 200 GB.
    let none = found(vec![data("rest", 7740.0, 7030.0, 100.0)]);
    assert_eq!((added(&none), after(&none)), (Some((1, 147.0, false)), Some((Some(8287.0), vec![]))), "{none:?}");
    let given = found(vec![data("rest", 7540.0, 5000.0, 100.0), data("rest2", 200.0, 110.0, 100.0)]);
    assert_eq!(added(&given), Some((1, 147.0, false)), "{given:?}");
    assert_eq!(after(&given).map(|(_, after)| after), Some(vec![0, 1]), "{given:?}");
}

/// Larger files that other files would have to make room for are named with these.
#[test]
fn larger_files_are_named_with_what_makes_room_for_them() {
    let small = DatabaseFile { read_ms: Some(60.0), ..data("shop", 30.0, 28.0, 495.0) };
    let files = [small, data("c", 500.0, 30.0, 100.0), data("d", 1490.0, 900.0, 100.0)];
    let found = advice(&files, &on(4, None));
    let lack = found.iter().find_map(|one| match &one.finding {
        Finding::Add { larger: Some(larger), fits: true, .. } => larger.lack.clone(),
        _ => None,
    });
    assert_eq!(lack, Some(Lack::Given { gb: 72.0, by: vec![2] }), "{found:?}");
}
