//! The way of a database: as it is, larger files, or others. Nothing is rebuilt that carries its load.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::choice::{Choice, choose};
use plimsoll_plan::judgement::Judgement;
use plimsoll_plan::layout::{Rules, front, needs};
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, judge};
use plimsoll_plan::{DatabaseFile, FileKind, Finding, Storage, Wishes};

fn file(name: &str, kind: FileKind, size_gb: f64, iops: f64) -> DatabaseFile {
    DatabaseFile { iops: Some(iops), ..DatabaseFile::new("shop", name, kind, size_gb) }
}

fn of(files: &[DatabaseFile]) -> Choice {
    with_space(files, None)
}

fn with_space(files: &[DatabaseFile], space_gb: Option<f64>) -> Choice {
    let day = Some(Date { year: 2018, month: 12, day: 18 });
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes { day, space_gb, vcores: None }).unwrap();
    let rules = Rules::default();
    let need = needs(files, &Judgement::default()).remove(0);
    choose("SHOP", (files, &Judgement::default()), &front(&need, &storage, &rules), &storage, &rules)
}

#[test]
fn what_carries_its_load_stays_as_it_is() {
    for part in 0..10 {
        let busy = f64::from(part) * 40.0;
        let used = |iops| DatabaseFile { used_gb: Some(5.0), ..file("d", FileKind::Data, 120.0, iops) };
        // 500 IOPS, of which 400 leave a quarter to spare.
        assert_eq!(of(&[used(busy), file("l", FileKind::Log, 60.0, busy)]), Choice::AsItIs, "{busy}");
        assert_ne!(of(&[used(401.0 + busy), file("l", FileKind::Log, 60.0, busy)]), Choice::AsItIs, "{busy}");
        let unknown = DatabaseFile { iops: None, ..used(0.0) };
        assert_eq!(of(&[unknown]), Choice::AsItIs);
    }
}

#[test]
fn larger_files_are_the_way_where_others_take_more() {
    let files = [file("d", FileKind::Data, 96.0, 499.0), file("l", FileKind::Log, 24.0, 498.0)];
    let Choice::Enlarge(enlarged) = of(&files) else { panic!() };
    assert_eq!((enlarged.files, enlarged.space_gb), (vec![(1, 129.0), (0, 129.0)], 258.0), "the log first");
    // 1,000 GB with 5,000 IOPS: another 513 GB take less than 1,025 for each of four.
    let four: Vec<_> = (0..4).map(|at| file(&at.to_string(), FileKind::Data, 600.0, 4900.0)).collect();
    assert_eq!(with_space(&four, Some(4099.0)), Choice::Layout);
    assert_eq!(with_space(&four, Some(6000.0)), Choice::Layout, "it saves 674 GB, which are more than a tenth");
    assert!(matches!(with_space(&four, Some(8000.0)), Choice::Enlarge(_)), "and here they are not");
    // No size of one file has 9,000.
    assert_eq!(of(&[file("d", FileKind::Data, 96.0, 9000.0)]), Choice::Layout);
    // Files of several filegroups are no layout.
    let apart: Vec<_> = four
        .into_iter()
        .enumerate()
        .map(|(at, file)| DatabaseFile { filegroup: Some(at.to_string()), ..file })
        .collect();
    assert!(matches!(of(&apart), Choice::Enlarge(_)));
    // And where no larger size carries them nothing is said of them.
    let hot: Vec<_> = apart.iter().map(|file| DatabaseFile { iops: Some(9000.0), ..file.clone() }).collect();
    assert_eq!(of(&hot), Choice::Groups);
}

/// Full files grow by steps while others wait, and what a log holds now says little.
#[test]
fn needs_have_room_to_grow_and_logs_keep_their_size() {
    let used = |used_gb, growth_gb| DatabaseFile { used_gb, growth_gb, ..file("d", FileKind::Data, 300.0, 1.0) };
    let log = DatabaseFile { used_gb: Some(1.0), ..file("l", FileKind::Log, 40.0, 1.0) };
    let judged = Judgement::default();
    let gb = |data: DatabaseFile| {
        (needs(&[data, log.clone()], &judged)[0].data_gb, needs(std::slice::from_ref(&log), &judged)[0].log_gb)
    };
    assert_eq!(gb(used(Some(200.0), None)), (220.0, 40.0));
    assert_eq!(gb(used(Some(200.0), Some(64.0))), (264.0, 40.0));
    assert_eq!(gb(used(None, Some(64.0))), (300.0, 40.0), "the size has its room");
}

/// Where further files are advised that take less than larger ones, a database goes on with these, and what stands beside them grows.
#[test]
fn the_way_that_takes_the_least_space_is_that_of_the_advice() {
    let wishes = Wishes { vcores: Some(8), space_gb: Some(2048.0), ..Wishes::default() };
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    let rules = Rules::default();
    for part in 0..10 {
        let group = |name: &str, group: &str, size_gb: f64, iops: f64| DatabaseFile {
            filegroup: Some(group.to_owned()),
            ..file(name, FileKind::Data, size_gb, iops)
        };
        let hot = 2270.0 + 2.0 * f64::from(part);
        let files = [group("p", "PRIMARY", 60.0, 410.0), group("a", "F", 250.0, hot), group("b", "F", 250.0, 2270.0)];
        let found = limits(&files, &storage);
        let judged = judge(&files, &storage, &found, &Observed::default());
        let way = |rules: &Rules| match choose("shop", (&files, &judged), &[], &storage, rules) {
            Choice::Enlarge(way) => way,
            other => panic!("{other:?} {judged:?}"),
        };
        let least = way(&rules);
        let Finding::Add { added, size_gb, .. } = judged.advice[least.further[0]].finding else { panic!("{least:?}") };
        assert_eq!(least.files, [(0, 130.0)], "that has less than a quarter to spare");
        assert!((least.space_gb - (130.0 + 500.0 + added as f64 * size_gb)).abs() < 1e-9, "{least:?}");
        // More to spare than is advised is another wish.
        let larger = way(&Rules { headroom_percent: 40.0, ..rules });
        assert_eq!((larger.further.len(), larger.files), (0, vec![(0, 130.0), (1, 514.0), (2, 514.0)]));
    }
}

/// What a file does of which nothing is known may be anything: no layout takes it for nothing.
#[test]
fn files_of_unknown_rates_get_no_layout() {
    let hot = |name: &str, iops: Option<f64>| DatabaseFile { iops, ..file(name, FileKind::Data, 1100.0, 0.0) };
    let files = |last: Option<f64>| [hot("a", Some(7400.0)), hot("b", Some(7300.0)), hot("c", last)];
    assert_eq!(of(&files(Some(100.0))), Choice::Layout);
    assert_eq!(of(&files(None)), Choice::Unknown);
    // Those that larger files carry are enlarged all the same.
    let four: Vec<_> = (0..4).map(|at| file(&at.to_string(), FileKind::Data, 600.0, 4900.0)).collect();
    let unknown = DatabaseFile { iops: None, ..four[3].clone() };
    let with = |last: &DatabaseFile| with_space(&[&four[..3], std::slice::from_ref(last)].concat(), Some(4099.0));
    assert_eq!(with(&four[3]), Choice::Layout);
    assert!(matches!(with(&unknown), Choice::Enlarge(_)), "{:?}", with(&unknown));
}
