//! Each rule of the advice: ten cases made for it and ten made against it. What is said is exactly what is expected, so no rule speaks
//! where another was meant.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, advise};
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, RULES, Storage, Wishes};

const DAY: Date = Date { year: 2018, month: 12, day: 18 };

fn file(name: &str, kind: FileKind, size_gb: f64) -> DatabaseFile {
    DatabaseFile::new("shop", name, kind, size_gb)
}

fn data(name: &str, size_gb: f64, iops: f64) -> DatabaseFile {
    DatabaseFile { iops: Some(iops), ..file(name, FileKind::Data, size_gb) }
}

fn log(size_gb: f64, iops: f64) -> DatabaseFile {
    DatabaseFile { iops: Some(iops), ..file("log", FileKind::Log, size_gb) }
}

fn advice(files: &[DatabaseFile], space_gb: Option<f64>) -> Vec<Advice> {
    let wishes = Wishes { day: Some(DAY), vcores: None, space_gb };
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    advise(files, &storage, &limits(files, &storage), &Observed::default())
}

fn ids(files: &[DatabaseFile], space_gb: Option<f64>) -> Vec<&'static str> {
    advice(files, space_gb).iter().map(|one| one.rule.id).collect()
}

/// Ten numbers from 0 to 1.
fn parts() -> impl Iterator<Item = f64> {
    (0..10).map(|number| f64::from(number) / 9.0)
}

#[test]
fn a_file_at_its_limit_is_to_grow_over_the_next_step() {
    for part in parts() {
        // P15 has 1,100 IOPS.
        assert_eq!(ids(&[data("a", 150.0 + 100.0 * part, 990.0 + 5000.0 * part)], None), ["file-at-limit"], "{part}");
        assert_eq!(ids(&[data("a", 150.0 + 100.0 * part, 980.0 * part)], None), [""; 0], "{part}");
        let wide = DatabaseFile { mb_per_s: Some(113.0 + 50.0 * part), ..data("a", 200.0, 10.0) };
        assert_eq!(ids(&[wide], None), ["file-at-limit"], "{part}");
    }
    let Finding::Grow { size_gb, step, .. } = advice(&[data("a", 150.0, 1100.0)], None).remove(0).finding else {
        panic!()
    };
    assert_eq!((Some(size_gb), step.iops), (Some(257.0), Some(2300.0)));
    // The smallest size that is enough may be some steps further.
    let Finding::Grow { size_gb, .. } = advice(&[data("a", 150.0, 4000.0)], None).remove(0).finding else { panic!() };
    assert_eq!(Some(size_gb), Some(513.0));
}

#[test]
fn the_log_goes_before_the_data() {
    for part in parts() {
        let files = |log_iops: f64, data_iops: f64| [data("a", 100.0, data_iops), log(20.0 + 100.0 * part, log_iops)];
        let both = ["log-before-data", "file-at-limit", "file-at-limit"];
        assert_eq!(ids(&files(450.0 + 100.0 * part, 460.0), None), both, "{part}");
        assert_eq!(ids(&files(440.0 * part, 460.0), None), ["file-at-limit"], "{part}");
        let other = DatabaseFile { database: "crm".to_owned(), ..data("a", 100.0, 500.0) };
        assert_eq!(ids(&[other, log(20.0, 450.0 + part)], None), ["file-at-limit"; 2], "{part}");
    }
}

#[test]
fn more_files_help_where_no_size_does() {
    for part in parts() {
        let at = |iops: f64| [data("a", 1100.0 + 2900.0 * part, iops)];
        assert_eq!(ids(&at(6750.0 + 1000.0 * part), None), ["more-files"], "{part}");
        assert_eq!(ids(&[data("a", 100.0 + 900.0 * part, 8000.0)], None), ["more-files"], "{part}");
        assert_eq!(ids(&at(6700.0 * part), None), [""; 0], "{part}");
        assert_eq!(ids(&[log(1100.0 + 900.0 * part, 7000.0)], None), ["another-tier"], "{part}");
        assert_eq!(ids(&[log(1100.0 + 900.0 * part, 6700.0 * part)], None), [""; 0], "{part}");
    }
}

#[test]
fn files_of_a_database_are_of_one_size() {
    for part in parts() {
        let pair = |second: f64| [data("a", 600.0, 10.0), data("b", second, 10.0)];
        assert_eq!(ids(&pair(620.0 + 400.0 * part), None), ["equal-files"], "{part}");
        assert_eq!(ids(&pair(600.0 + 5.0 * part), None), [""; 0], "{part}");
        let growing = DatabaseFile { growth_gb: Some(1.0 + part), ..data("b", 600.0, 10.0) };
        assert_eq!(ids(&[data("a", 600.0, 10.0), growing], None), ["equal-files"], "{part}");
    }
}

#[test]
fn many_small_files_are_worse_than_few_large_ones() {
    for number in 0..10_u32 {
        // Eight and more of 128 GB: one of 1 TB has 5,000 IOPS, and ten of the smallest as many.
        let size_gb = 120.0 + 0.8 * f64::from(number);
        let many: Vec<_> = (0..8).map(|at| data(&at.to_string(), size_gb, 10.0)).collect();
        assert_eq!(ids(&many, None), ["fewer-files"], "{number}");
        // Two of any size of the first step: one is never more than P15.
        let few: Vec<_> = (0..2).map(|at| data(&at.to_string(), 5.0 + 4.0 * f64::from(number), 10.0)).collect();
        assert_eq!(ids(&few, None), [""; 0], "{number}");
    }
    let many: Vec<_> = (0..8).map(|at| data(&at.to_string(), 128.0, 10.0)).collect();
    let Finding::Fewer { files, iops, iops_now, .. } = advice(&many, None).remove(0).finding else { panic!() };
    assert_eq!((files, Some(iops), Some(iops_now)), (1, Some(5000.0), Some(4000.0)));
}

#[test]
fn space_comes_first_and_what_gigabytes_are_for_nothing_is_told() {
    for part in parts() {
        let space = 200.0 + 20.0 * part;
        // To 257 GB are 107 more than there are.
        let files = [data("a", 150.0, 1100.0)];
        assert_eq!(ids(&files, Some(space)), ["space-first", "file-at-limit"], "{part}");
        assert_eq!(ids(&files, Some(260.0 + 1000.0 * part)), ["file-at-limit"], "{part}");
        // Another file has 128 GB more than its limits ask for, unless it is full.
        let of = |used: f64| DatabaseFile { used_gb: Some(used), ..data("b", 1000.0, 10.0) };
        let other = |used: f64| DatabaseFile { database: "crm".to_owned(), ..of(used) };
        let with = |used: f64| ids(&[data("a", 150.0, 1100.0), other(used)], Some(1151.0));
        assert_eq!(with(100.0 + 800.0 * part), ["space-first", "file-at-limit", "size-for-nothing"], "{part}");
        assert_eq!(with(999.5 + 0.5 * part), ["space-first", "file-at-limit"], "{part}");
    }
}

#[test]
fn no_size_of_a_log_moves_the_governor() {
    for part in parts() {
        let writes = |rate: f64| DatabaseFile { mb_per_s: Some(rate), ..log(100.0, 10.0) };
        assert_eq!(ids(&[writes(19.8 + 10.0 * part)], None), ["log-governor"], "{part}");
        assert_eq!(ids(&[writes(19.7 * part)], None), [""; 0], "{part}");
        let of_tempdb = DatabaseFile { database: "tempdb".to_owned(), ..writes(50.0 + part) };
        assert_eq!(ids(&[of_tempdb], None), [""; 0], "{part}");
    }
}

#[test]
fn every_rule_says_when_and_by_whom() {
    let mut seen = std::collections::BTreeSet::new();
    for rule in &RULES {
        assert!(seen.insert(rule.id), "{}", rule.id);
        assert!(
            [rule.condition, rule.formula, rule.source, rule.date].iter().all(|text| text.len() > 5),
            "{}",
            rule.id
        );
    }
}
