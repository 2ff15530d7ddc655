//! Disks and blobs: the published tables, how they are found, and broken files.

use plimsoll_catalog::{Basis, BurstKind, Catalog, DiskChoice, Files};

const DISKS: &str = "azure-managed-disk";
const BLOBS: &str = "azure-sql-mi-gp";
const GIB: u64 = 1 << 30;

fn catalog() -> &'static Catalog {
    Catalog::builtin().expect("the built-in catalogue is valid")
}

#[test]
fn every_disk_has_limits_and_where_they_come_from() {
    let mut count = 0;
    for level in catalog().disk_levels() {
        count += 1;
        assert!(level.iops > 0.0 && level.bandwidth_bytes_per_second() > 0.0, "{level:?}");
        assert!(level.size_bytes >= GIB && !level.source.is_empty(), "{level:?}");
        assert_eq!(level.basis, Basis::Printed);
        let by_name = catalog().disk(&level.service, &level.name, Some(&level.edition), DiskChoice::default()).unwrap();
        assert_eq!(&by_name, level);
    }
    // Premium 14, Standard SSD 14, HDD 11, v2 1, Ultra 8; Standard SSD of 2019 14; files of Managed Instance 6, 6, 6; page blobs 2;
    // magnetic volumes 1.
    assert_eq!(count, 14 + 14 + 11 + 1 + 8 + 14 + 6 + 6 + 6 + 2 + 1);
}

/// Within a class a larger disk never has less.
#[test]
fn limits_rise_with_the_size() {
    for edition in catalog().disk_editions() {
        for pair in edition.levels.windows(2).filter(|pair| pair[0].class == pair[1].class) {
            assert!(pair[0].size_bytes < pair[1].size_bytes, "{} {}", edition.name, pair[1].name);
            assert!(pair[0].iops <= pair[1].iops, "{} {}", edition.name, pair[1].name);
            assert!(pair[0].bandwidth_mb_per_second <= pair[1].bandwidth_mb_per_second, "{}", pair[1].name);
        }
    }
}

#[test]
fn spot_values_are_those_of_the_tables() {
    for (name, gib, iops, mb) in [
        ("P1", 4, 120.0, 25.0),
        ("P30", 1_024, 5_000.0, 200.0),
        ("P80", 32_767, 20_000.0, 900.0),
        ("E20", 512, 500.0, 60.0),
        ("S10", 128, 500.0, 60.0),
        ("pv2", 65_536, 3_000.0, 125.0),
        ("Ultra-64", 64, 64_000.0, 10_000.0),
    ] {
        let disk = catalog().disk(DISKS, name, None, DiskChoice::default()).unwrap();
        assert_eq!((disk.size_bytes / GIB, disk.iops, disk.bandwidth_mb_per_second), (gib, iops, mb), "{name}");
    }
    let p20 = catalog().disk(DISKS, "P20", None, DiskChoice::default()).unwrap();
    let burst = p20.burst.expect("P20 bursts");
    assert_eq!((burst.kind, burst.iops, burst.seconds), (BurstKind::Credit, 3_500.0, Some(1_800.0)));
    assert_eq!(p20.burst_bytes_per_second(), Some(170e6));
    assert_eq!(p20.to_string(), "512 GiB, 2300 IOPS, 150 MB/s, burst 3500 IOPS and 170 MB/s for 30 min");
    let p30 = catalog().disk(DISKS, "P30", None, DiskChoice::default()).unwrap();
    assert_eq!(p30.to_string(), "1024 GiB, 5000 IOPS, 200 MB/s, burst 30000 IOPS and 1000 MB/s on demand");
    assert_eq!(p30.io_unit_bytes, Some(256 * 1024));
    let latency = p30.latency.as_ref().expect("a claim");
    assert_eq!((latency.claim.as_str(), latency.measured_write_ms), ("single-digit milliseconds", Some(2.0)));
    assert_eq!(latency.measured_inserts_s, Some(104.0));
    let hdd = catalog().disk(DISKS, "S4", None, DiskChoice::default()).unwrap().latency.clone().expect("a claim");
    assert_eq!((hdd.read_ms_high, hdd.write_ms_high, hdd.read_ms_low), (Some(20.0), Some(10.0), None));
}

/// The same name in another year, and MB that are not the same.
#[test]
fn editions_keep_the_limits_of_their_time() {
    let e1 = |edition| catalog().disk(DISKS, "E1", edition, DiskChoice::default()).unwrap();
    assert_eq!((e1(Some("2019-03")).iops, e1(None).iops), (120.0, 500.0));
    assert!((e1(Some("2019-03")).bandwidth_bytes_per_second() - 25.0 * 1_048_576.0).abs() < 1e-6);
    assert!((e1(None).bandwidth_bytes_per_second() - 60e6).abs() < 1e-6);
    assert_eq!(catalog().disk_edition(BLOBS, None).unwrap().name, "2026-08");
    // Only the table of 2018 names the blobs.
    assert_eq!(catalog().disk(BLOBS, "P30", None, DiskChoice::default()).unwrap().edition, "2018-12");
}

/// Reference 3.11-6, as far as the blob has stated limits; bounds belong to the lower level.
#[test]
fn a_file_snaps_up_to_the_next_blob() {
    let blobs = catalog().disk_edition(BLOBS, Some("2018-12")).unwrap();
    for (file_gib, blob_gib) in
        [(32, 128), (128, 128), (150, 256), (256, 256), (257, 512), (900, 1_024), (1_127, 2_048)]
    {
        let blob = blobs.snap_up(file_gib * GIB).expect("a blob");
        assert_eq!(blob.size_bytes, blob_gib * GIB, "{file_gib}");
    }
    assert_eq!(blobs.snap_up(128 * GIB + 1).map(|blob| blob.name.as_str()), Some("P15"));
    // Above 4 TiB the article states no limits.
    assert_eq!(blobs.snap_up(5_000 * GIB), None);
    let files = catalog().disk_edition(BLOBS, Some("2022-06")).unwrap();
    assert_eq!(files.snap_up(5_000 * GIB).map(|file| file.iops), Some(12_500.0));
    assert_eq!(files.snap_up(200 * GIB).map(|file| file.iops), Some(2_300.0));
    // A managed disk is as large as it was bought.
    assert_eq!(catalog().disk_edition(DISKS, None).unwrap().snap_up(GIB), None);
}

#[test]
fn what_is_unknown_is_answered_with_what_is_known() {
    let error = |service, level, edition| {
        catalog().disk(service, level, edition, DiskChoice::default()).unwrap_err().to_string()
    };
    assert_eq!(
        error("azure-managed-disks", "P30", None),
        "unknown service 'azure-managed-disks'; known services: aws-ebs, azure-managed-disk, azure-sql-mi-gp, \
         azure-unmanaged-disk, gcp-pd; \
         did you mean 'azure-managed-disk'?"
    );
    assert_eq!(
        error(BLOBS, "P35", None),
        "unknown level 'P35' of service 'azure-sql-mi-gp'; known levels: P10, P15, P20, P30, P40, P50, 128GiB, 512GiB, \
         1024GiB, 2048GiB, 4096GiB, 8192GiB, 129GiB, 513GiB, 1025GiB, 2049GiB, 4097GiB; did you mean 'P30'?"
    );
    assert!(error(DISKS, "Ultra-12", None).contains("unknown level 'Ultra-12'"));
    assert!(error(DISKS, "P30", Some("2026-8")).ends_with("did you mean '2026-08'?"));
    let error = error(DISKS, "P30", Some("2019-03"));
    assert!(error.starts_with("edition '2019-03' of service 'azure-managed-disk' has no level 'P30'; it has E1,"));
    assert!(error.ends_with("'P30' is in 2026-08"), "{error}");
}

#[test]
fn search_finds_disks_by_what_people_type() {
    let found = |query| {
        let found = catalog().search_disks(query);
        found.iter().map(|disk| format!("{}/{}@{}", disk.service, disk.name, disk.edition)).collect::<Vec<_>>()
    };
    assert_eq!(found("p30"), ["azure-managed-disk/P30@2026-08", "azure-sql-mi-gp/P30@2018-12"]);
    assert_eq!(found("azure-sql-mi-gp/P30"), ["azure-sql-mi-gp/P30@2018-12"]);
    assert_eq!(found("E1@2019"), ["azure-managed-disk/E1@2019-03"]);
    assert_eq!(found("premium-ssd-v2"), ["azure-managed-disk/PV2@2026-08"]);
    assert_eq!(found("ultra").len(), 8);
    assert_eq!(found("S2"), Vec::<String>::new());
    assert_eq!(found("").len(), catalog().disk_levels().count());
    // A level of a database with the name of a disk is found by the other search.
    assert!(catalog().search("P30").is_empty());
    assert_eq!((found("azure-sql-db/P1").len(), found("P1").len()), (0, 1));
}

/// A small valid edition; line 6 has the MB, line 8 opens the class, line 14 is the level.
const GOOD: &str = r#"service = "cloud-disk"
edition = "2020-01"
as_of = 2020-01-31
description = "First"
source = "somebody, 2020"
mb_bytes = 1_000_000

[[classes]]
name = "ssd"
as_of = 2020-01-01
basis = "printed"
source = "page 1"
latency = { claim = "fast", read_ms_low = 1, read_ms_high = 2 }
levels = [
  { name = "P1", size_gib = 4, iops = 120, mb_per_second = 25, burst = { kind = "credit", iops = 500, mb_per_second = 50, seconds = 60 } },
]
"#;

fn read(files: &[(&str, &str)]) -> Result<Catalog, String> {
    Catalog::read(&Files { disks: files, ..Files::default() }).map_err(|error| error.to_string())
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let level = |problem: &str| format!("my.toml:15: level 'P1': {problem}");
    for (from, to, expected) in [
        ("1_000_000", "1_024_000", "my.toml:6: mb_bytes 1024000 is neither 1000000 nor 1048576".to_owned()),
        ("size_gib = 4", "size_gib = 0", level("size_gib 0 is not from 1 to 1048576")),
        ("size_gib = 4", "size_min_gib = 5, size_gib = 4", level("size_min_gib is not from 1 to size_gib")),
        ("iops = 120", "iops = 0", level("iops 0 is not a positive number")),
        ("iops = 120", "iops = -1", level("iops -1 is not a positive number")),
        ("mb_per_second = 25", "mb_per_second = inf", level("mb_per_second inf is not a positive number")),
        ("iops = 500", "iops = 100", level("iops of burst 100 is below the limit 120")),
        ("mb_per_second = 50", "mb_per_second = nan", level("mb_per_second of burst NaN is not a positive number")),
        (", seconds = 60", "", level("a credit burst needs its seconds")),
        ("\"credit\"", "\"on-demand\"", level("an on-demand burst has no end, so no seconds")),
        ("seconds = 60", "seconds = 0", level("seconds of burst 0 is not a positive number")),
        (
            "\"P1\"",
            "\"P 1\"",
            "my.toml:15: level 'P 1' is not a plain name of letters, digits, '-', '_' and '.'".into(),
        ),
        ("\"P1\"", "\"P1\", aliases = [\"p1\"]", "my.toml:15: duplicate level 'p1'".into()),
        ("\"page 1\"", "\"\"", "my.toml:8: source is empty".into()),
        ("basis =", "io_unit_kib = 0\nbasis =", "my.toml:8: io_unit_kib is not from 1 to 1048576".into()),
        ("ms_low = 1", "ms_low = 3", "my.toml:13: latency 3 is above 2".into()),
        ("ms_low = 1", "ms_low = 0", "my.toml:13: read_ms_low 0 is not a positive number".into()),
        (
            "claim = \"fast\"",
            "claim = \"fast\", measured_write_ms = 1",
            "my.toml:13: measured_write_ms and measured_source belong together".into(),
        ),
        (
            "claim = \"fast\"",
            "claim = \"fast\", measured_inserts_s = 1",
            "my.toml:13: measured_inserts_s needs the measured_write_ms of the same measurement".into(),
        ),
    ] {
        assert!(GOOD.contains(from), "the fixture has no {from:?}");
        assert_eq!(read(&[("my.toml", &GOOD.replacen(from, to, 1))]).unwrap_err(), expected);
    }
    let error = read(&[("my.toml", &GOOD.replacen("iops = 120", "iop = 120", 1))]).unwrap_err();
    assert!(error.starts_with("my.toml:15: unknown field `iop`"), "{error}");
    let error = read(&[("my.toml", GOOD), ("your.toml", GOOD)]).unwrap_err();
    assert_eq!(error, "your.toml:2: duplicate edition '2020-01' of service 'cloud-disk'");
    let good = read(&[("my.toml", GOOD)]).unwrap();
    assert_eq!(
        good.disk("cloud-disk", "p1", None, DiskChoice::default()).unwrap().to_string(),
        "4 GiB, 120 IOPS, 25 MB/s, burst 500 IOPS and 50 MB/s for 1 min"
    );
}

fn asked(service: &str, name: &str, choice: DiskChoice) -> Result<(f64, f64), String> {
    let disk = catalog().disk(service, name, None, choice).map_err(|error| error.to_string())?;
    Ok((disk.iops, disk.bandwidth_mb_per_second))
}

fn gib(size_gib: u64) -> DiskChoice {
    DiskChoice { size_gib: Some(size_gib), ..DiskChoice::default() }
}

/// The published tables that the rules come from.
#[test]
fn limits_that_follow_from_the_size_are_those_of_the_tables() {
    let gp2 = |size| catalog().disk("aws-ebs", "gp2", None, gib(size)).unwrap();
    for (size, iops, seconds) in
        [(33, 100.0, 1862.0), (100, 300.0, 2000.0), (334, 1002.0, 2703.0), (750, 2250.0, 7200.0)]
    {
        let (disk, rounded) = (gp2(size), |burst: f64| burst.round());
        assert!((disk.iops - iops).abs() < 1e-9, "{size}");
        assert_eq!(disk.burst.and_then(|burst| burst.seconds).map(rounded), Some(seconds), "{size}");
        assert_eq!(disk.burst.map(|burst| burst.iops), Some(3000.0));
    }
    assert_eq!((gp2(1000).burst, gp2(5334).iops, gp2(170).bandwidth_mb_per_second), (None, 16_000.0, 128.0));
    assert_eq!((gp2(171).bandwidth_mb_per_second, gp2(171).iops), (250.0, 513.0));
    for (tib, base, burst) in [(1, 40.0, 250.0), (2, 80.0, 500.0), (12, 480.0, 500.0)] {
        let disk = catalog().disk("aws-ebs", "st1", None, gib(tib * 1024)).unwrap();
        assert_eq!((disk.bandwidth_mb_per_second, disk.burst.unwrap().mb_per_second), (base, burst), "{tib} TiB");
    }
    assert_eq!(asked("aws-ebs", "st1", gib(13 * 1024)), Ok((500.0, 500.0)));
    assert_eq!(asked("gcp-pd", "pd-ssd", gib(100)), Ok((9_000.0, 288.0)));
    let io1 = |iops, size_gib| {
        asked("aws-ebs", "io1", DiskChoice { size_gib: Some(size_gib), iops: Some(iops), ..DiskChoice::default() })
    };
    assert_eq!((io1(32_000.0, 1280), io1(48_000.0, 1280)), (Ok((32_000.0, 500.0)), Ok((48_000.0, 750.0))));
}

#[test]
fn what_is_bought_apart_is_held_to_its_bounds() {
    let of = |iops, mb_per_second, size_gib| {
        asked(DISKS, "PV2", DiskChoice { iops: Some(iops), mb_per_second: Some(mb_per_second), size_gib })
    };
    // The disk of the reference's insert test.
    assert_eq!(of(14_740.0, 313.0, None), Ok((14_740.0, 313.0)));
    assert_eq!(asked(DISKS, "PV2", DiskChoice::default()), Ok((3_000.0, 125.0)));
    let message = |answer: Result<(f64, f64), String>| answer.unwrap_err();
    assert_eq!(
        message(of(14_740.0, 313.0, Some(6))),
        "azure-managed-disk/PV2: iops 14740 is not from 3000 to 3000, which a disk of 6 GiB may have"
    );
    assert!(message(of(3_000.0, 2_000.0, None)).contains("mb_per_s 2000 is not from 125 to 750"));
    assert!(message(of(f64::NAN, 125.0, None)).contains("iops NaN is not"));
    assert!(
        message(asked("aws-ebs", "gp2", DiskChoice::default()))
            .ends_with("the limits follow from the size: ?size_gib=1024")
    );
    assert!(message(asked("aws-ebs", "gp2", gib(0))).contains("size_gib 0 is not from 1 to 16384"));
    let choose = DiskChoice { iops: Some(5_000.0), ..gib(100) };
    assert!(message(asked("aws-ebs", "gp2", choose)).contains("iops can't be chosen: a disk of 100 GiB has 300"));
    assert!(message(asked(DISKS, "P30", gib(100))).contains("its limits are fixed"));
    assert!(message(asked(DISKS, "Ultra", gib(100))).contains("iops has to be chosen, from 100 to 100000"));
    // The newest edition has gp3 alone, with other bounds.
    let gp3 = DiskChoice { iops: Some(20_000.0), ..gib(100) };
    assert_eq!(asked("aws-ebs", "gp3", gp3), Ok((20_000.0, 125.0)));
    assert!(catalog().disk("aws-ebs", "gp3", Some("2023-05"), gp3).unwrap_err().to_string().contains("to 16000"));
}

#[test]
fn machines_and_accounts_have_limits_that_disks_share() {
    let size = |name| catalog().cap("azure-vm", name).unwrap().size;
    let e8 = size("e8bds_v5");
    assert_eq!((e8.cpus, e8.memory_gib, e8.data_disks), (Some(8), Some(64.0), Some(16)));
    let limit = |class| e8.limit_of(class).map(|limit| (limit.iops, limit.mb_per_second));
    // Those of the reference's insert test.
    assert_eq!(limit("premium-ssd-v2"), Some((44_200.0, Some(1_200.0))));
    assert_eq!(limit("premium-ssd"), Some((33_000.0, Some(930.0))));
    let account = catalog().cap("azure-storage-account", "standard").unwrap().size;
    assert_eq!(account.limit_of("standard").map(|limit| limit.iops), Some(20_000.0));
    let unknown = |service, name| catalog().cap(service, name).unwrap_err().to_string();
    assert!(unknown("azure-vm", "Standard_E8bds_v55").ends_with("more; did you mean 'Standard_E8bds_v5'?"));
    assert!(unknown("azure-vms", "E8").contains("known services: azure-storage-account, azure-vm"));
    let mut names: Vec<_> = catalog().caps().map(|at| (&at.edition.name, &at.size.name)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn a_disk_is_written_with_what_is_wanted_of_it() {
    let written = |text| catalog().disk_as(text).map_err(|error| error.to_string());
    let disk = written("azure-managed-disk/PV2@2026-08?iops=14740&mb_per_s=313").unwrap();
    assert_eq!((disk.iops, disk.bandwidth_mb_per_second, disk.edition.as_str()), (14_740.0, 313.0, "2026-08"));
    assert_eq!(written("azure-managed-disk/P30").map(|disk| disk.name), Ok("P30".to_owned()));
    for (text, problem) in [
        ("P30", "written SERVICE/NAME"),
        ("aws-ebs/gp2?size=1", "'size' is none of size_gib, iops, mb_per_s"),
        ("aws-ebs/gp2?size_gib=-1", "size_gib can't be '-1'"),
        ("azure-managed-disk/PV2?iops=inf", "iops can't be 'inf'"),
    ] {
        assert!(written(text).unwrap_err().contains(problem), "{text}");
    }
}
