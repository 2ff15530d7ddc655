//! Each rule of the advice: ten cases made for it and ten made against it. What is said is exactly what is expected, so no rule speaks
//! where another was meant.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::hindrance::Hindrance;
use plimsoll_plan::judgement::Judgement;
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, WaitShares, advise, judge};
use plimsoll_plan::storage::Cores;
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
        assert_eq!(ids(&[data("a", 150.0 + 100.0 * part, 990.0 + 215.0 * part)], None), ["file-at-limit"], "{part}");
        assert_eq!(ids(&[data("a", 150.0 + 100.0 * part, 980.0 * part)], None), [""; 0], "{part}");
        let wide = DatabaseFile { mb_per_s: Some(113.0 + 24.0 * part), ..data("a", 200.0, 10.0) };
        assert_eq!(ids(&[wide], None), ["file-at-limit"], "{part}");
    }
    let Finding::Grow { size_gb, step, .. } = advice(&[data("a", 150.0, 1100.0)], None).remove(0).finding else {
        panic!()
    };
    assert_eq!((Some(size_gb), step.iops), (Some(257.0), Some(2300.0)));
    // The smallest size that is enough may be some steps further.
    let wide = DatabaseFile { mb_per_s: Some(137.0), ..data("a", 150.0, 10.0) };
    let Finding::Grow { size_gb, .. } = advice(&[wide], None).remove(0).finding else { panic!() };
    assert_eq!(Some(size_gb), Some(513.0));
}

#[test]
fn the_log_goes_before_the_data() {
    for part in parts() {
        let files = |log_iops: f64, data_iops: f64| [data("a", 100.0, data_iops), log(20.0 + 100.0 * part, log_iops)];
        let both = ["log-before-data", "file-at-limit", "file-at-limit"];
        assert_eq!(ids(&files(450.0 + 95.0 * part, 460.0), None), both, "{part}");
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
        let wide = DatabaseFile { mb_per_s: Some(225.0 + 45.0 * part), ..data("a", 1100.0, 10.0) };
        assert_eq!(ids(&[wide], None), ["more-files"], "{part}");
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

/// No file does so much more than its limit: it has others, and no size is promised to help.
#[test]
fn a_file_far_above_its_limits_has_others() {
    for part in parts() {
        assert_eq!(ids(&[data("a", 150.0, 1210.0 + 9000.0 * part)], None), ["other-limits"], "{part}");
        assert_eq!(ids(&[log(150.0, 1210.0 + 9000.0 * part)], None), ["other-limits"], "{part}");
        assert_ne!(ids(&[data("a", 150.0, 1209.0 * part)], None), ["other-limits"], "{part}");
    }
}

/// What the space can't be raised to is told before anything else, and which files come first.
#[test]
fn what_does_not_fit_is_said_with_what_comes_first() {
    for part in parts() {
        // 2018 has 8,192 GB: each of two files is to grow from 1,000 GB to 1,025.
        let two = |more_gb: f64| {
            let mut crm = data("c", 1000.0, 4600.0);
            crm.database = "crm".to_owned();
            let rest = DatabaseFile { database: "old".to_owned(), ..data("o", 4000.0, 10.0) };
            let second = DatabaseFile { database: "oldest".to_owned(), ..data("o", more_gb, 10.0) };
            [data("a", 1000.0, 5000.0 - 300.0 * part), crm, rest, second]
        };
        let at_limit = ["file-at-limit", "file-at-limit"];
        assert_eq!(ids(&two(2142.0 - 40.0 * part), None), at_limit, "{part}");
        let files = two(2143.0 + 20.0 * part);
        assert_eq!(ids(&files, None), ["space-short", at_limit[0], at_limit[1]], "{part}");
        let first = advice(&files, None).remove(0);
        assert_eq!(first.files, [0], "the one that uses more");
        let Finding::Short { files_gb, larger: wanted, .. } = first.finding else { panic!() };
        assert_eq!((files_gb[1], wanted), (Some(8192.0), 2));
    }
    // Blobs of 128 GB that become 512 are too large together, long before the files are.
    let many: Vec<_> =
        (0..70).map(|at| DatabaseFile { database: at.to_string(), ..data("a", 10.0, 0.9 * 500.0) }).collect();
    let mut many = many;
    many.extend((0..50).map(|at| DatabaseFile { database: at.to_string(), ..log(10.0, 10.0) }));
    many.push(data("large", 1100.0, 10.0));
    many.push(data("large2", 1100.0, 10.0));
    many.extend((0..100).map(|at| DatabaseFile {
        database: at.to_string(),
        name: "b".to_owned(),
        // Nobody knows what these do, so that no rows are spread over them.
        iops: None,
        ..data("b", 10.0, 1.0)
    }));
    let found = advice(&many, None);
    let short = found.iter().find(|one| one.rule.id == "space-short").unwrap();
    let Finding::Short { blobs_gb, .. } = &short.finding else { panic!() };
    assert!(blobs_gb[0] > blobs_gb[1] && !short.files.is_empty() && short.files.len() < 70, "{short:?}");
}

/// A log does no more than the logs of an instance together. Whether others do much at the same time nobody knows, and one that does far more
/// was read.
#[test]
fn no_gain_is_promised_that_the_rate_of_the_log_forbids() {
    for part in parts() {
        let writes = |name: &str, rate: f64, iops: f64| {
            let file = DatabaseFile { mb_per_s: Some(rate), ..log(100.0, iops) };
            DatabaseFile { database: name.to_owned(), ..file }
        };
        let ids = |files: &[DatabaseFile]| ids(files, None);
        // 22 MB/s in 2018: busiest times that are more together were not at once.
        for other in [0.1 + 9.0 * part, 12.0 + 9.9 * part] {
            let found = advice(&[writes("a", 10.0, 495.0), writes("b", other, 20.0)], None);
            let Finding::Grow { brings: Some(brings), .. } = found.last().unwrap().finding.clone() else { panic!() };
            assert!((brings.most_percent - 120.0).abs() < 1e-6, "{part}");
        }
        // At the rate a larger one does no more, as far as it wrote; beyond it was read, and nothing follows.
        assert_eq!(ids(&[writes("a", 21.8 + 2.3 * part, 495.0)]), ["log-governor", "size-of-no-use"], "{part}");
        assert_eq!(ids(&[writes("a", 24.3 + 60.0 * part, 495.0)]), ["log-governor", "file-at-limit"], "{part}");
    }
    // Sessions that wait for the governor say the same where no rate is known.
    let governed = Observed { waits: Some(WaitShares { data: 5.0, log: 5.0, governor: 69.0 }), cpu_percent: None };
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
    let files = [log(100.0, 495.0), data("a", 100.0, 480.0)];
    let found = advise(&files, &storage, &limits(&files, &storage), &governed);
    assert_eq!(found.iter().map(|one| one.rule.id).collect::<Vec<_>>(), ["log-governor-waits", "file-at-limit"]);
    // Since 2022 a database has 65 MB/s at most.
    let files = [DatabaseFile { mb_per_s: Some(40.0), ..log(100.0, 495.0) }];
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes { vcores: Some(80), ..Wishes::default() }).unwrap();
    let found = advise(&files, &storage, &limits(&files, &storage), &Observed::default());
    let Finding::Grow { brings: Some(brings), .. } = found[0].finding.clone() else { panic!("{found:?}") };
    assert!((brings.most_percent - 62.5).abs() < 1e-9, "{brings:?}");
}

#[test]
fn times_below_the_best_refute_it() {
    for part in parts() {
        // A time that the best time of the page can't explain refutes it: then the limit alone bounds the gain.
        let fast = |ms: f64| DatabaseFile { read_ms: Some(ms), ..data("a", 100.0, 500.0) };
        let most = |ms: f64| {
            let found = advice(&[fast(ms)], None).remove(0);
            let Finding::Grow { brings: Some(brings), .. } = found.finding else { panic!() };
            brings.most_percent.round() as u32
        };
        assert_eq!([most(2.0 * part), most(3.0)], [120, 50], "{part}");
        // So does that of another file on the same storage.
        let other = DatabaseFile { database: "crm".to_owned(), iops: Some(1.0), ..fast(1.0 + 0.5 * part) };
        let found = advice(&[fast(3.0), other], None).remove(0);
        let Finding::Grow { brings: Some(brings), .. } = found.finding else { panic!() };
        let wanted = (100.0 * (3.0 / (1.0 + 0.5 * part) - 1.0)).min(120.0);
        assert!((brings.most_percent - wanted).abs() < 1e-6, "{part}");
    }
}

/// What is held back is so in the advice and in the sizes that layouts go by.
#[test]
fn one_judgement_says_which_files_a_size_helps() {
    let judged = |files: &[DatabaseFile], observed: Observed| {
        let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
        judge(files, &storage, &limits(files, &storage), &observed)
    };
    let files = [data("a", 100.0, 495.0), log(100.0, 495.0)];
    let sizes = |judged: &Judgement| [0, 1].map(|at| judged.size_gb(at));
    let free = judged(&files, Observed::default());
    assert_eq!((sizes(&free), free.held(0), free.held(1)), ([Some(130.0); 2], None, None));
    let busy = judged(&files, Observed { waits: None, cpu_percent: Some(95.0) });
    assert_eq!((sizes(&busy), busy.held(0), busy.held(1)), ([None; 2], Some(Hindrance::Cpu), Some(Hindrance::Cpu)));
    assert_eq!(busy.advice[0].files.len(), 2, "they come after the CPU: {:?}", busy.advice);
    let waits = WaitShares { data: 5.0, log: 5.0, governor: 69.0 };
    let governed = judged(&files, Observed { waits: Some(waits), cpu_percent: None });
    assert_eq!((sizes(&governed), governed.held(1)), ([Some(130.0), None], Some(Hindrance::Governor)));
    let memory = DatabaseFile { kind: FileKind::Container, ..data("m", 1.0, 450.0) };
    let found = judged(&[memory], Observed::default());
    assert_eq!((found.advice[0].rule.id, found.held(0)), ("size-of-no-use", Some(Hindrance::Container)));
}

/// What there is no room for is not asked for, and what has room is named.
#[test]
fn where_more_fits_is_named() {
    let of = |vcores: u32, size_gb: f64, used_gb: Option<f64>| {
        let wishes = Wishes { vcores: Some(vcores), ..Wishes::default() };
        let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
        let full = DatabaseFile { used_gb, ..data("full", size_gb, 7490.0) };
        let files = [DatabaseFile { database: "big".to_owned(), ..full }, data("a", 100.0, 495.0)];
        advise(&files, &storage, &limits(&files, &storage), &Observed::default())
    };
    let short = |advice: &[Advice]| {
        let one = advice.iter().find(|one| one.rule.id == "space-short").unwrap();
        let Finding::Short { elsewhere, .. } = &one.finding else { panic!() };
        elsewhere.iter().map(|one| (one.vcores, one.most_gb)).collect::<Vec<_>>()
    };
    let fits = |advice: &[Advice]| {
        let adds = advice.iter().find_map(|one| match one.finding {
            Finding::Add { added, size_gb, fits, .. } => Some((added, size_gb, fits)),
            _ => None,
        });
        adds.unwrap()
    };
    let eight = of(8, 8100.0, None);
    assert_eq!(short(&eight), [(Some(16), 16_384.0), (Some(16), 16_384.0), (Some(48), 12_288.0)]);
    assert_eq!(fits(&eight), (1, 3023.0, false), "so many of its rows as it has too many go into those");
    // Of what is empty in it so much is given back first that there is room for another one.
    assert_eq!(fits(&of(8, 8100.0, Some(500.0))), (1, 1703.0, true));
    assert_eq!(short(&of(4, 2000.0, None))[0], (Some(8), 8192.0));
    assert_eq!(fits(&of(8, 3000.0, Some(500.0))), (1, 1120.0, true));
    // What has no room comes before nothing: of 92 GB that are free the log wants 110.
    let full = DatabaseFile { database: "big".to_owned(), ..data("full", 7980.0, 10.0) };
    let files = [full, data("a", 100.0, 495.0), log(20.0, 460.0)];
    let wishes = Wishes { vcores: Some(8), ..Wishes::default() };
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    let found = advise(&files, &storage, &limits(&files, &storage), &Observed::default());
    let rules: Vec<&str> = found.iter().map(|one| one.rule.id).collect();
    assert_eq!(rules, ["space-short", "file-at-limit", "file-at-limit"]);
    assert_eq!(found[0].files, [1]);
}

#[test]
fn the_busiest_comes_first_and_a_log_before_its_data() {
    let of = |database: &str, file: DatabaseFile| DatabaseFile { database: database.to_owned(), ..file };
    let files = [
        of("a", data("a", 100.0, 460.0)),
        of("b", data("b", 100.0, 510.0)),
        of("b", log(100.0, 455.0)),
        of("c", data("c", 100.0, 480.0)),
    ];
    let found = advice(&files, None);
    let order: Vec<usize> = found.iter().filter(|one| one.rule.id == "file-at-limit").map(|one| one.files[0]).collect();
    assert_eq!(order, [2, 1, 3, 0]);
}

/// Files of several filegroups hold other rows each: they need not be of one size.
#[test]
fn filegroups_are_apart_where_they_are_known() {
    let of = |name: &str, size_gb: f64, group: &str| DatabaseFile {
        filegroup: Some(group.to_owned()),
        ..data(name, size_gb, 10.0)
    };
    let apart = [of("a", 10.0, "PRIMARY"), of("b", 40.0, "old"), of("c", 40.0, "old")];
    assert_eq!(ids(&apart, None), [""; 0]);
    assert_eq!(ids(&[of("a", 10.0, "old"), of("b", 40.0, "old")], None), ["equal-files"]);
}

/// What serves the same files is an alternative, and fewer files are named only where they carry what all do.
#[test]
fn one_way_is_the_answer_and_others_are_alternatives() {
    let found = advice(&[data("a", 100.0, 495.0), data("b", 60.0, 10.0)], None);
    let ways: Vec<(&str, bool)> = found.iter().map(|one| (one.rule.id, one.is_alternative)).collect();
    // Two of 129 GB have 2,200 IOPS together, and one of 258 GB has 2,300.
    assert_eq!(ways, [("file-at-limit", false), ("equal-files", true), ("fewer-files", true)]);
    // Fewer are compared with the files as large as they are to be, so that the same is said of those then.
    let fewer = |size_gb: f64| {
        let four: Vec<_> = ["a", "b", "c", "d"].map(|name| data(name, size_gb, 495.0)).into();
        let found = advice(&four, None).into_iter().map(|one| one.finding);
        let said = found.filter_map(|finding| match finding {
            Finding::Fewer { files, size_gb, iops, iops_now, .. } => Some((files, [size_gb, iops, iops_now])),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    assert_eq!(fewer(100.0), [(1, [516.0, 5000.0, 4400.0])]);
    assert_eq!(fewer(129.0), fewer(100.0));
    let busy: Vec<_> =
        (0..8).map(|at| DatabaseFile { mb_per_s: Some(80.0), ..data(&at.to_string(), 128.0, 10.0) }).collect();
    let Finding::Fewer { files, .. } = advice(&busy, None).remove(0).finding else { panic!() };
    assert_eq!(files, 7, "one of 1 TB has the IOPS, and 200 MB/s of 640; six come nearer to their limit");
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

/// What sessions wait for decides which files come first, and bounds what larger ones bring.
#[test]
fn a_larger_file_brings_no_more_than_what_is_waited_for() {
    let with = |[data_percent, log_percent, governor]: [f64; 3]| {
        let waits = Some(WaitShares { data: data_percent, log: log_percent, governor });
        let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
        let slow = |file: DatabaseFile, ms| DatabaseFile { read_ms: Some(ms), write_ms: Some(ms), ..file };
        let files = [slow(data("a", 100.0, 480.0), 9.0), slow(log(100.0, 495.0), 9.0)];
        let found = advise(&files, &storage, &limits(&files, &storage), &Observed { waits, cpu_percent: None });
        let grown = |one: &Advice| match one.finding {
            Finding::Grow { brings: Some(brings), .. } => Some((one.files[0], brings.most_percent.round() as u32)),
            _ => None,
        };
        (found.iter().map(|one| one.rule.id).collect::<Vec<_>>(), found.iter().filter_map(grown).collect::<Vec<_>>())
    };
    let half = with([50.0, 40.0, 0.0]);
    assert_eq!(half, (vec!["waits-for-data", "file-at-limit", "file-at-limit"], vec![(0, 80), (1, 67)]));
    let by_log = with([40.0, 50.0, 0.0]);
    assert_eq!(by_log.0, ["waits-for-log", "log-before-data", "file-at-limit", "file-at-limit"]);
    assert_eq!(by_log.1, [(1, 80), (0, 67)]);
    // Hardly waited for: a larger one brings nothing.
    let (rules, grown) = with([98.0, 0.5, 0.0]);
    assert_eq!((rules, grown.len()), (vec!["waits-for-data", "file-at-limit", "size-of-no-use"], 1));
    let (rules, grown) = with([0.05, 0.1, 98.8]);
    assert_eq!((rules, grown.len()), (vec!["log-governor-waits", "size-of-no-use"], 0));
    // Where most is waited for elsewhere nothing follows.
    assert_eq!(with([0.1, 0.1, 0.1]).1.len(), 2);
}

#[test]
fn more_files_are_counted_by_what_they_are_to_carry() {
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
    let of = |files: &[DatabaseFile]| {
        let found = advise(files, &storage, &limits(files, &storage), &Observed::default());
        let adds = found.iter().filter_map(|one| match &one.finding {
            Finding::Add { added, all, size_gb, brings, .. } => Some((
                one.files.clone(),
                *added,
                *all,
                *size_gb,
                brings.map(|brings| brings.most_percent.round() as u32),
            )),
            _ => None,
        });
        adds.collect::<Vec<_>>()
    };
    let full = |name: &str, used_gb: f64| DatabaseFile { used_gb: Some(used_gb), ..data(name, 1100.0, 7500.0) };
    // 7,500 of 7,500: rows go by size, so the large one has 1,100 of 1,614 parts of them and a tenth more, which lets both do a third more.
    assert_eq!(of(&[full("a", 100.0)]), [(vec![0], 1, 2, 514.0, Some(33))]);
    // Both of a filegroup are one answer.
    assert_eq!(of(&[full("a", 900.0), full("b", 900.0)]), [(vec![0, 1], 1, 3, 1026.0, Some(33))]);
    let apart = |name: &str, group: &str| DatabaseFile { filegroup: Some(group.to_owned()), ..full(name, 900.0) };
    assert_eq!(of(&[apart("a", "x"), apart("b", "y")]).len(), 2);
}

#[test]
fn what_gives_space_back_is_held_against_what_is_missing() {
    let wishes = Wishes { vcores: Some(4), ..Wishes::default() };
    let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
    let other = |used_gb: f64| {
        let file = DatabaseFile { used_gb: Some(used_gb), ..data("o", 1900.0, 10.0) };
        DatabaseFile { database: "old".to_owned(), ..file }
    };
    let back = |used_gb: f64| {
        let files = [data("a", 120.0, 495.0), other(used_gb)];
        let found = advise(&files, &storage, &limits(&files, &storage), &Observed::default());
        found.iter().find_map(|one| match one.finding {
            Finding::Short { back_gb, .. } | Finding::Space { back_gb, .. } => Some(back_gb),
            _ => None,
        })
    };
    assert_eq!(back(100.0), None, "it fits");
    let files = [data("a", 480.0, 2290.0), other(100.0)];
    let found = advise(&files, &storage, &limits(&files, &storage), &Observed::default());
    let Finding::Short { back_gb, .. } = found[0].finding else { panic!("{found:?}") };
    assert_eq!(Some(back_gb), Some(1900.0 - 1026.0));
}

#[test]
fn more_cores_raise_the_rate_of_the_log_where_it_goes_by_them() {
    let cores = |day: Option<Date>, vcores: Option<u32>| {
        let wishes = Wishes { day, vcores, ..Wishes::default() };
        Storage::on(Catalog::builtin().unwrap(), wishes).unwrap().cores()
    };
    assert_eq!(cores(None, Some(4)), Cores::Faster(8, 36.0));
    assert_eq!(cores(None, None), Cores::Unknown);
    assert_eq!(cores(None, Some(80)), Cores::Nothing, "at its highest");
    assert_eq!(cores(Some(DAY), Some(8)), Cores::Nothing, "one rate for all");
}

/// What is added to several databases is added up: to the space, and to the blobs.
#[test]
fn what_is_added_has_room_together_or_is_said_to_have_none() {
    let rooms = |count: usize, vcores: u32, size_gb: f64| {
        let wishes = Wishes { vcores: Some(vcores), ..Wishes::default() };
        let storage = Storage::on(Catalog::builtin().unwrap(), wishes).unwrap();
        let of = |at: usize| DatabaseFile { database: format!("d{at}"), ..data("f", size_gb, 7480.0) };
        let files: Vec<_> = (0..count).map(of).collect();
        let found = advise(&files, &storage, &limits(&files, &storage), &Observed::default());
        let room = |one: &Advice| match &one.finding {
            Finding::Add { fits, .. } => Some(*fits),
            _ => None,
        };
        found.iter().filter_map(room).collect::<Vec<_>>()
    };
    // Of 8,192 GB five files of 1,200 GB leave 2,192: four of 514.
    assert_eq!(rooms(5, 8, 1200.0), [true, true, true, true, false]);
    // A file of 1,100 GB has a blob of 4,096 GB, and all blobs 35,840: with eight there is room for three of 1,024.
    assert_eq!(rooms(8, 16, 1100.0), [true, true, true, false, false, false, false, false]);
}

/// What sessions wait for comes first, of whatever database, and its times are not those of what holds them back elsewhere.
#[test]
fn what_is_waited_for_is_first_in_the_list() {
    let waits = Some(WaitShares { data: 6.0, log: 70.0, governor: 0.0 });
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
    let other = DatabaseFile { database: "b".to_owned(), read_ms: Some(30.0), ..log(20.0, 451.0) };
    let files = [DatabaseFile { read_ms: Some(60.0), ..data("a", 100.0, 498.0) }, other];
    let found = advise(&files, &storage, &limits(&files, &storage), &Observed { waits, cpu_percent: None });
    let grown: Vec<_> = found.iter().filter(|one| one.rule.id == "file-at-limit").collect();
    assert_eq!(grown.iter().map(|one| one.files[0]).collect::<Vec<_>>(), [1, 0]);
    let Finding::Grow { brings: Some(brings), .. } = grown[1].finding else { panic!("{grown:?}") };
    assert!(brings.most_percent < 7.0 && brings.ms.is_none(), "{brings:?}");
}

#[test]
fn no_size_is_named_while_the_cpu_is_full() {
    let storage = Storage::on(Catalog::builtin().unwrap(), Wishes::default()).unwrap();
    let files = [data("a", 600.0, 10.0), data("b", 900.0, 10.0)];
    let with = |cpu_percent| {
        let found = advise(&files, &storage, &limits(&files, &storage), &Observed { waits: None, cpu_percent });
        found.iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    assert_eq!((with(Some(95.0)), with(Some(40.0))), (vec!["cpu-first"], vec!["equal-files"]));
}
