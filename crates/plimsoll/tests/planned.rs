//! What `plimsoll plan mi` says of lists: the reason that holds, what comes next, and where there is more.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;

/// A list, options, words that are to be said in this order, and words that are not.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const PLAIN: &str = "database,file,type,size_gb,used_gb,iops,mb_per_s\n";
const SCRIPT: &str = "DatabaseName,FileLogicalName,FilePhysicalName,FileSizeGB,BlobSizeGB,IOPSLimit,MaxIOPS,IOPSNearLimitCount,\
                      ThroughputLimitMBPS,MaxThroughputMBPS,ThroughputNearLimitCount\n";

fn said(list: &str, options: &str) -> String {
    let scene = Scene::new();
    std::fs::write(scene.path("list.csv"), list).unwrap();
    let words: Vec<&str> = "plan mi --files list.csv".split(' ').chain(options.split_whitespace()).collect();
    let said = scene.say(&words);
    assert_eq!(said.code, 0, "{said:#?}");
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check(head: &str, cases: &[Case]) {
    for (rows, options, wanted, unwanted) in cases {
        let out = said(&format!("{head}{rows}"), options);
        let mut rest = out.as_str();
        for words in *wanted {
            let at = rest.find(words).unwrap_or_else(|| panic!("{words} of {rows}{options}: {out}"));
            rest = &rest[at + words.len()..];
        }
        for words in *unwanted {
            assert!(!out.contains(words), "{words} of {rows}{options}: {out}");
        }
    }
}

#[test]
fn room_is_told_with_figures_and_larger_files_beside_more() {
    let full = "d,d,data,1500,806,7036,110\nd,l,log,200,5,2237,3\nt,t,data,100,100,1,1\n";
    let small = "m,m1,data,32,28,496,10\nm,m2,data,32,28,497,10\nm,m3,data,32,28,495,10\n";
    let groups = "m,a,data,250,240,2290,70\nm,b,data,250,238,2270,69\n";
    check(
        PLAIN,
        &[
            (full, "--vcores 4", &["GB are free", "Shrink d.d", "MODIFY FILE", "ADD FILE"], &["take 0 GB", "no room"]),
            (
                "d,d,data,1900,1890,7036,110\nd,l,log,100,5,20,3\n",
                "--vcores 4",
                &[
                    "8 vCores or more (from",
                    "next-gen General Purpose with 8 vCores or more",
                    "Business Critical with 16",
                ],
                &["4 vCores or more"],
            ),
            (
                small,
                "--vcores 8 --space 2TB",
                &["Or enlarge files", "takes 294 GB", "0 to 363 % more"],
                &["no size is known"],
            ),
            (groups, "--vcores 8 --space 2TB", &["Add 1 data file of", "and 150 MB/s: once"], &["MB/s each"]),
            (
                "m,a,data,100,90,1,1\nm,l,log,9,1,1,1\ns,s,data,9,9,1,1\n",
                "",
                &["The list has no log of s"],
                &["published script"],
            ),
        ],
    );
    let grouped =
        format!("{}Sales,x,data,60,50,PRIMARY,1,1\n", "database,file,type,size_gb,used_gb,filegroup,iops,mb_per_s\n");
    let rows = "Sales,a,data,250,240,FG1,2290,70\nSales,b,data,250,238,FG1,2270,69\n";
    let out = said(&(grouped + rows), "--vcores 8 --space 2TB --layouts");
    // The filegroup is to have a further file, which takes less than larger ones: layouts say the same.
    assert!(out.contains("To spread rows as advised above takes the least space in Sales."), "{out}");
    assert!(out.contains("Add 1 data file") && out.contains("TO FILEGROUP [FG1]") && !out.contains("MODIFY"), "{out}");
}

#[test]
fn the_log_that_is_next_and_the_one_that_holds_back_are_named() {
    let of_script = |kind: &str, gb: u32, iops: [f64; 2], mb: [f64; 2], count: u32| {
        format!("a,{kind},https://x/a_{kind}.{kind},{gb},0,{},{},{count},{},{},0\n", iops[0], iops[1], mb[0], mb[1])
    };
    check(
        PLAIN,
        &[
            (
                "x,x,data,60,50,495,20\nx,l,log,40,5,480,30\n",
                "--vcores 8",
                &["0 to 365 % more", "the log x.l stands at 36.0 MB/s, by which logs may grow, after 20.0 %"],
                &[],
            ),
            (
                "d,d,data,1500,1400,7490,160\nd,l,log,120,20,445,10\n",
                "--vcores 8",
                &["Add 1 data file", "the log d.l stands at its IOPS after 12.4 %"],
                &[],
            ),
            (
                "a,a,data,90,80,300,30\na,l,log,600,9,3000,64.5\n",
                "--vcores 16",
                &[
                    "a.l stands at the rate by which a log may grow: 65.0 MB/s, as far as it was written. None of",
                    "load into tempdb first",
                ],
                &["would bring nothing: a.l"],
            ),
            (
                "z,z,data,700,600,2500,90\nz,l,log,1500,9,7450,30\n",
                "--vcores 8",
                &["larger commits take fewer writes, which have 4.12 KB"],
                &[],
            ),
            (
                "z,z,data,700,600,2500,90\nz,l,log,1500,9,7450,30\n",
                "--vcores 8 --layouts",
                &["No size of a log carries what z needs"],
                &["--most-files"],
            ),
            (
                "x,x,data,3000,2900,7480,190\nx,l,log,400,9,1500,20\n",
                "--vcores 8",
                &["Add 1 data file", "Other files of x would carry it in", "--layouts shows how"],
                &[],
            ),
        ],
    );
    // What the list counted at its own limits is no nothing, and those limits hold where files stopped there.
    let counted = |count: u32| of_script("mdf", 200, [1100.0, 1098.0], [125.0, 44.0], count);
    let out = said(&format!("{SCRIPT}{}", counted(4)), "--vcores 8");
    assert!(
        out.contains("is open: intervals at a limit were counted of a.mdf") && !out.contains("bring nothing:"),
        "{out}"
    );
    let out = said(&format!("{SCRIPT}{}", counted(21)), "--vcores 8");
    assert!(
        out.starts_with("Files on General Purpose of 2018-12-18") && out.contains("those of 2018-12-18: so"),
        "{out}"
    );
    let large = of_script("mdf", 8000, [12_500.0, 12_400.0], [250.0, 200.0], 22);
    let out = said(&format!("{SCRIPT}{large}"), "--vcores 16");
    assert!(out.starts_with("Files on General Purpose of 2022-06-02") && !out.contains("Other limits hold"), "{out}");
}

/// A log without room to grow stays as it is, so it is next at once; and however late it is next, before the data file is, it is said.
#[test]
fn the_log_that_is_next_goes_by_the_size_that_it_will_have() {
    let full = |iops: u32| {
        format!(
            "p,p,data,1600,1590,200,10\np,l,log,140,139,100,3\nq,q,data,129,120,499,20\nq,l,log,60,10,{iops},12\ntempdb,t,data,96,,,\n"
        )
    };
    for (iops, after) in [(495, "1.01 %"), (486, "2.88 %")] {
        let out = said(&format!("{PLAIN}{}", full(iops)), "--vcores 4");
        let next = format!("the log q.l stands at its IOPS after {after}");
        assert!(out.contains("There is no room for that") && out.contains(&next), "{out}");
    }
    let late = "q,q,data,100,90,495,10\nq,l,log,60,10,240,3\n";
    check(PLAIN, &[(late, "--vcores 8", &["0 to 365 % more", "the log q.l stands at its IOPS after 108 %"], &[])]);
}

/// What makes room without layouts makes room with them.
#[test]
fn layouts_name_what_other_files_can_give_back() {
    let of = |used: u32| {
        format!(
            "p,p,data,1600,{used},200,10\np,l,log,140,139,100,3\nq,q,data,129,120,499,20\nq,l,log,60,10,495,12\ntempdb,t,data,96,,,\n"
        )
    };
    let with = "With 574 GB given back that bring nothing there is room for q.l.";
    let out = said(&format!("{PLAIN}{}", of(300)), "--vcores 4 --layouts");
    assert!(out.contains("no room for that: q.l.") && out.contains(with), "{out}");
    let out = said(&format!("{PLAIN}{}", of(1590)), "--vcores 4 --layouts");
    assert!(out.contains("no room for that: q.l.") && !out.contains("there is room for"), "{out}");
}

/// A small file beside a full one grows in place of a new one, where that takes less.
#[test]
fn a_small_file_beside_a_full_one_grows_where_that_takes_the_least_space() {
    let rows = "a,b,data,1100,1000,7450,60\na,s,data,100,90,490,4\na,l,log,60,10,200,5\ntempdb,t,data,96,,,\n";
    let grows: &[&str] =
        &["a.s grows by 414 GB", "with 514 GB it", "Spread over all 2", "0 to 26.0 % more", "Rebuild the indexes"];
    let not: &[&str] = &["None of it fits", "Add 1 data file"];
    check(
        PLAIN,
        &[
            (rows, "--vcores 4", grows, not),
            (rows, "--vcores 8 --space 2TB", grows, not),
            (rows, "--vcores 16", grows, not),
        ],
    );
}

/// The rate of one database's log is the same at any number of vCores: these are a remedy only where that of the instance binds.
#[test]
fn more_vcores_are_named_only_where_the_rate_of_the_instance_binds() {
    let of = |mb: f64, other: f64, vcores: u32| {
        let rows = format!("a,a,data,600,90,1500,50\na,l,log,600,9,2500,{mb}\nb,l,log,60,9,100,{other}\n");
        said(&format!("{PLAIN}{rows}"), &format!("--vcores {vcores}"))
    };
    let (one, more) = ("has 65.0 MB/s at most at any number of vCores", "more vCores raise");
    for (mb, other, first) in [
        (64.9, 1.0, "a.l stands at the rate by which a log may grow: 65.0 MB/s"),
        (65.2, 1.0, "a.l stands at the rate by which a log may grow: 65.0 MB/s"),
        (64.0, 1.5, "a.l stands at the rate by which the log of one database may grow: 64.0 MB/s of 65.0 MB/s"),
    ] {
        let out = said_of_first(&of(mb, other, 16));
        assert!(out.starts_with(first) && out.contains(one) && !out.contains(more), "{mb}: {out}");
    }
    for (mb, other, vcores) in [(50.0, 20.0, 16), (64.0, 40.0, 24), (34.0, 1.0, 8)] {
        let out = of(mb, other, vcores);
        assert!(out.contains("The logs together stand") && out.contains(more) && !out.contains(one), "{mb}: {out}");
    }
    let scene = Scene::new();
    std::fs::write(scene.path("list.csv"), format!("{PLAIN}a,a,data,600,90,1500,50\na,l,log,600,9,2500,64.9\n"))
        .unwrap();
    let waits = "wait_type,wait_time_ms\nINSTANCE_LOG_RATE_GOVERNOR,900000\nWRITELOG,50000\n";
    std::fs::write(scene.path("waits.csv"), waits).unwrap();
    let words = "plan mi --files list.csv --vcores 24 --waits waits.csv".split(' ').collect::<Vec<_>>();
    let out = scene.say(&words).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("governor of the log's rate") && out.contains(one) && !out.contains(more), "{out}");
}

/// What is said behind the title.
fn said_of_first(out: &str) -> String {
    out.split_once("2026-08-10 ").map(|(_, rest)| rest.to_owned()).unwrap()
}

/// What sessions wait for is seen, and so is what the logs did; the one is no proof of the other.
#[test]
fn waits_for_the_governor_are_held_against_what_the_logs_did() {
    let scene = Scene::new();
    let of = |governor: u32, log: &str| {
        let waits =
            format!("wait_type,wait_time_ms\nINSTANCE_LOG_RATE_GOVERNOR,{governor}\nWRITELOG,100\nLCK_M_X,300\n");
        std::fs::write(scene.path("waits.csv"), waits).unwrap();
        std::fs::write(scene.path("list.csv"), format!("{PLAIN}a,a,data,600,90,1500,50\na,l,log,60,9,100,{log}\n"))
            .unwrap();
        let said = scene.say(&["plan", "mi", "--files", "list.csv", "--vcores", "8", "--waits", "waits.csv"]);
        said.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let bursts = "the logs were seen to grow by 3.00 MB/s at most of the 36.0 MB/s by which they may. That was seen as means over time";
    let most = of(900, "3");
    assert!(most.contains("in 69.2 % of their waits, and the logs were seen") && most.contains(bursts), "{most}");
    let some = of(80, "3");
    assert!(some.contains("The governor of the log's rate has 16.7 % of all waits, and the logs"), "{some}");
    assert!(some.contains(bursts) && !some.contains("Sessions wait for the governor"), "{some}");
    let unseen = of(900, "");
    assert!(unseen.contains("and how fast the logs grow was not seen. Where the governor"), "{unseen}");
    let full = of(900, "35");
    assert!(
        full.contains("of their waits, and no size of a log file changes that") && !full.contains("bursts"),
        "{full}"
    );
}

/// The log's rate is one of writes: what was read from a log, as by backups, is none of it.
#[test]
fn the_rate_of_the_log_goes_by_what_was_written() {
    let head = "database,file,type,size_gb,iops,mb_per_s,written_mb_per_s\n";
    let of = |log: &str| said(&format!("{head}a,a,data,600,1500,50,\na,l,log,600,500,{log}\n"), "--vcores 8");
    let read = of("34,4");
    assert!(!read.contains("load into tempdb") && !read.contains("did 34.0 MB/s"), "{read}");
    let together = of("34,");
    let words =
        "The logs grow by up to 34.0 MB/s (what was read among it, as that is not known apart) of the 36.0 MB/s";
    assert!(together.contains(words) && together.contains("36.0 MB/s, as far as it was written."), "{together}");
    let written = of("34,33.5");
    assert!(written.contains("The logs grow by up to 33.5 MB/s of the 36.0 MB/s"), "{written}");
    assert!(!written.contains("was read"), "{written}");
    let scene = Scene::new();
    std::fs::write(scene.path("list.csv"), format!("{head}a,l,log,600,500,3,4\n")).unwrap();
    let odd = scene.say(&["plan", "mi", "--files", "list.csv"]);
    odd.failed(2, &["line 2: written_mb_per_s 4 is above mb_per_s 3"]);
}

/// Disks have no log of their own: whether its rate is enough is known from what was written, or said to be unknown.
#[test]
fn what_disks_wrote_is_held_against_the_rate_of_the_log() {
    let of = |counters: [&str; 2], bytes: [u64; 2]| {
        let path = |name: &str| format!("\"\\\\H\\LogicalDisk(D:)\\{name}\"");
        let [first, second] = counters.map(path);
        let row = |at: u32| format!("\"11/28/2026 10:00:0{at}.000\",\"10\",\"{}\",\"{}\"\n", bytes[0], bytes[1]);
        let text =
            format!("\"(PDH-CSV 4.0) (x)(0)\",{},{first},{second}\n{}{}", path("Disk Transfers/sec"), row(0), row(1));
        said(&text, "--vcores 4")
    };
    let apart = ["Disk Read Bytes/sec", "Disk Write Bytes/sec"];
    let few = of(apart, [50 << 20, 3 << 20]);
    assert!(
        few.contains("by 18.0 MB/s, whatever their size: D: wrote up to 3.00 MB/s, which that carries even if"),
        "{few}"
    );
    let many = of(apart, [0, 30 << 20]);
    assert!(many.contains("D: wrote up to 30.0 MB/s, and how much of that was log is not known."), "{many}");
    let together = of(["Disk Bytes/sec", "Avg. Disk sec/Read"], [30 << 20, 0]);
    assert!(together.contains("is not known, as bytes written were not counted apart on D:."), "{together}");
}

/// Where layouts have no room, what is advised without them is done, and nothing on the page says that it has none.
#[test]
fn layouts_without_room_give_way_to_what_is_advised() {
    let rows = "a,d,data,500,480,2290,60\na,l,log,100,10,300,1\nb,d,data,900,850,4990,60\nb,l,log,100,10,300,1\n\
                c,d,data,300,250,2280,60\nc,l,log,60,9,490,1\n";
    check(
        PLAIN,
        &[(
            rows,
            "--vcores 4 --layouts",
            &[
                "Other files would carry b, c, and have no room",
                "[a] MODIFY FILE (NAME = N'd'",
                "[c] MODIFY FILE (NAME = N'l'",
            ],
            &["no room for that: c", "left out"],
        )],
    );
}

/// A database whose log no size carries goes on as is advised, and so does one whose data files no layout is made for.
#[test]
fn without_a_layout_what_is_advised_is_done() {
    let log = "a,d,data,100,,490,10\na,l,log,1100,,6800,50\ntempdb,t,data,16,,,\n";
    let unknown = "a,d1,data,129.01,90,1702,7\na,d2,data,129.01,6,2300,67\na,d3,data,129.01,38,690,3\na,d4,data,129.01,38,,\n\
                   a,l,log,128,6,475,14\ntempdb,t,data,16,,,\n";
    let hot = "a,d1,data,1100,900,7450,60\na,d2,data,1100,900,,\na,l,log,128,6,475,14\n";
    check(
        PLAIN,
        &[
            (
                log,
                "--vcores 16 --layouts",
                &[
                    "No size of a log carries what a needs",
                    "Until then what is advised above is done.",
                    "N'd', SIZE = 130GB",
                ],
                &[],
            ),
            (
                unknown,
                "--vcores 16 --space 1000GB --layouts",
                &["N'l', SIZE = 130GB", "N'd2', SIZE = 514GB"],
                &["more than needed", "The least space that carries"],
            ),
            (
                hot,
                "--vcores 16 --layouts",
                &["No layout is given for a: what some of the data files do is not known", "N'l', SIZE = 130GB"],
                &["[a] ADD FILE", "more than needed"],
            ),
        ],
    );
    // Of a log of which nothing is known the size is kept, which is said.
    let out = said(
        &format!("{PLAIN}a,d,data,1100,900,9000,60\na,l,log,300,6,,\n"),
        "--date 2018-12-18 --vcores 16 --layouts",
    );
    assert!(out.contains("What the log of a does is not known, and counts as nothing"), "{out}");
}

/// No file is to grow and to give space back, with layouts and without; and no space is asked for that can't be had.
#[test]
fn what_grows_gives_nothing_back_and_no_more_is_asked_for_than_there_is() {
    let head = "database,file,type,size_gb,used_gb,iops,mb_per_s,read_ms,write_ms\n";
    let slow = "erp,erp,data,600,100,1000,20,130,8\nerp,log,log,20,2,100,5,3,3\ntempdb,t,data,16,,,,,\n";
    let beside = "a,d,data,8,0.4,440,2,40,120\na,l,log,128,90,475,14,5,5\nb,d,data,800,300,20,1,3,3\nb,l,log,20,10,45,1,5,5\n\
                  tempdb,t,data,16,,,,,\n";
    let small: &[&str] = &["Gigabytes that bring nothing: b.d with 514 GB has"];
    check(
        head,
        &[
            (slow, "--vcores 16 --space 640GB", &["SIZE = 1026GB"], &["bring nothing"]),
            (
                slow,
                "--vcores 16 --space 640GB --layouts",
                &["raise the space of the instance by 448 GB or more first.", "SIZE = 1026GB"],
                &["bring nothing"],
            ),
            (beside, "--vcores 16 --space 992GB", small, &["293 GB", "a.d with"]),
            (beside, "--vcores 16 --space 992GB --layouts", small, &["293 GB", "a.d with"]),
        ],
    );
    let large = "a,d,data,1025,500,5000,50\na,l,log,129,10,25,1\nb,d,data,900,600,4000,13\nb,l,log,130,10,500,10\n\
                 tempdb,t,data,16,,,\n";
    let missing: &[&str] = &["The space of the instance can't be raised: 45 GB are missing"];
    check(PLAIN, &[(large, "--vcores 4 --layouts", missing, &["Raise the space"])]);
    // Nor is one file parted among instances, or made smaller than nothing.
    let huge = "a,d,data,6000,5900,7400,100\na,l,log,100,9,100,5\n";
    let absurd: &[&str] = &["several instances", "less in other files"];
    check(PLAIN, &[(huge, "--vcores 4", &["takes one of these: 16 vCores or more"], absurd)]);
}

/// With layouts the table of files that are to grow has those that the statements enlarge.
#[test]
fn table_and_statements_of_layouts_are_of_the_same_files() {
    let list = format!(
        "{PLAIN}shop,data1,data,150,90,9000,300\nshop,log1,log,40,10,1000,20\nb,b1,data,100,90,430,5\nb,log2,log,100,9,495,5\n\
         c,c1,data,100,90,20,5\nc,log3,log,100,9,430,5\n"
    );
    let out = said(&list, "--date 2018-12-18 --layouts");
    let (_, rest) = out.split_once("Files to enlarge").unwrap();
    let (table, rest) = rest.split_once("All files").unwrap();
    let (_, statements) = rest.split_once("Statements that carry it out").unwrap();
    let grows = |name: &str| {
        let words = table.split(' ').any(|word| word == name);
        let statement = statements.contains(&format!("MODIFY FILE (NAME = N'{name}', SIZE"));
        assert_eq!(words, statement, "{name}: {out}");
        statement
    };
    assert_eq!(
        ["data1", "log1", "b1", "log2", "c1", "log3"].map(grows),
        [true, true, true, true, false, true],
        "{out}"
    );
}

/// Rows are spread over all files of a filegroup, and only files that are named grow.
#[test]
fn what_is_said_of_spread_rows_is_what_is_printed() {
    let calm = "a,d1,data,2048,205,7500,58\na,d2,data,2048,205,375,3\na,d3,data,1,0.9,495,4\na,l,log,50,5,50,1\n";
    let cool = "a,d1,data,2047,205,6750,225\na,d0,data,128,13,300,60\na,d2,data,128,64,75,88\na,l,log,50,5,50,1\n";
    let three =
        "a,d0,data,256,200,920,14\na,d1,data,1026,900,7500,58\na,d2,data,256,200,1725,112\na,l,log,129,5,50,1\n";
    let small = "a,d0,data,10,1,465,3.6\na,d1,data,10,1,143,90\na,d2,data,5,0.5,440,88\na,l,log,1,0.1,50,1\n";
    check(
        PLAIN,
        &[
            (calm, "--vcores 8", &["Spread over all 3 of the filegroup"], &["full", "a_data_4"]),
            (cool, "--vcores 8", &["with 25 % to spare"], &["are full", "488 GB"]),
            (
                three,
                "--vcores 16",
                &["a.d0 grows by 371 GB", "0 to 25.0 % more", "N'd0', SIZE = 627GB"],
                &["N'd2', SIZE"],
            ),
            // What binds is one of those that grow, and no other.
            (
                small,
                "--vcores 8",
                &["0 to 66.7 % more", "then its MB/s are used up"],
                &["Spread over all 2", "then others"],
            ),
        ],
    );
}

/// What a layout of one database gives back before its rows move is room for the log of another.
#[test]
fn a_layout_makes_room_for_others() {
    let rows = "big,d1,data,4000,3900,7400,120\nbig,d2,data,4000,3900,7300,120\nbig,log,log,100,1,495,30\n\
                small,d,data,60,10,499,9\nsmall,log,log,10,1,10,1\ntempdb,t,data,16,1,,\n";
    let wanted = &["big.log uses 99.0 %", "6 GB are free", "Shrink small.d to 11 GB first", "N'log', SIZE = 130GB"];
    check(
        PLAIN,
        &[(
            rows,
            "--vcores 8 --layouts",
            wanted,
            &["20.0 % more, depending on how much is wanted (the log may grow no faster). There is no room"],
        )],
    );
    let mem = "a,d1,data,100,90,,\na,d2,data,100,90,490,10\nmem,d,data,10,9,20,1\nmem,l,log,100,9,490,5\n";
    check(
        PLAIN,
        &[(
            mem,
            "--vcores 8 --space 1TB --layouts",
            &["mem.l uses 98.0 %", "0 to 369 %", "130 2,300 150 369 mem l 98.0 IOPS 100 130 2,300 150 369"],
            &[],
        )],
    );
    check(
        PLAIN,
        &[(
            "b,d,data,1900,9,1,1\nb,l,log,148.5,9,1,1\n",
            "--vcores 4 --space 2TB",
            &["all files take 2,048.5 GB", "the instance has 2,048 GB"],
            &[],
        )],
    );
}

#[test]
fn sizes_beside_a_step_are_shown_as_they_were_given() {
    let near = "a,d,data,127.9,123,495,20\nb,l,log,129.01,1,400,8\nc,e,data,1791.6,9,5,3\n";
    check(PLAIN, &[(near, "--vcores 4", &["take 2,048.51 GB", "has 2,048 GB", "d data 127.9", "l log 129.01"], &[])]);
}

/// Where not all has room, the same files come first with layouts and without: of a database the log.
#[test]
fn what_has_room_is_the_same_with_layouts() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s,written_mb_per_s\nA,A1,data,500,480,2290,60,20\n\
                A,A_log,log,100,2,480,5,5\nB,B1,data,900,400,3000,60,20\nB,B_log,log,300,4,600,5,5\n\
                C,C1,data,128,60,490,30,10\nC,C_log,log,50,2,100,5,5\ntempdb,t,data,32,2,,,\n";
    for options in ["--vcores 4", "--vcores 4 --layouts"] {
        let out = said(list, options);
        let enlarged =
            ["[A] MODIFY FILE (NAME = N'A_log'", "[C] MODIFY FILE (NAME = N'C1'", "[A] MODIFY FILE (NAME = N'A1'"];
        assert_eq!(enlarged.map(|one| out.contains(one)), [true, true, false], "{options}: {out}");
    }
}

/// That nothing fits is said with what fits all the same.
#[test]
fn other_files_that_fit_are_named_where_nothing_else_does() {
    const WANTED: &str = "None of it fits. Other files would carry A all the same, as is said below.";
    let head = "database,file,type,size_gb,used_gb,iops,mb_per_s,written_mb_per_s\nA,A1,data,200,157,2244,59,5\n\
                A,A2,data,200,95,2239,59,5\nA,A3,data,200,124,2120,40,5\nA,Alog,log,30,2,225,3,3\n\
                Fill,F,data,1382,524,300,5,1\ntempdb,t,data,24,1,,,\n";
    check(
        head,
        &[
            (
                "",
                "--vcores 4",
                &[WANTED, "What is advised takes one of these:", "Other files of A would carry it in"],
                &[],
            ),
            (
                "Z,Z1,data,8,5,490,5,5\nZ,log,log,8,5,1,1,1\n",
                "--vcores 4 --most-files 3",
                &["None of it fits. It takes one of these:"],
                &["Other files would carry"],
            ),
        ],
    );
}

/// Files that are full take no rows, and larger ones do nothing more: they keep their sizes, and others have the room.
#[test]
fn full_files_do_not_grow_with_layouts_either() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s,filegroup\nd1,a,data,150,40,2280,30,PRIMARY\n\
                d1,b,data,160,158,900,10,PRIMARY\nd1,e,data,50,45,10,1,FG2\nd1,log1,log,20,5,100,3,\n\
                d2,c,data,450,440,2250,40,PRIMARY\nd2,log2,log,20,5,100,3,\nz,z,data,388,386,10,1,PRIMARY\n\
                z,logz,log,20,18,10,1,\ntempdb,tempdev,data,40,,,,\n";
    for options in ["--vcores 4", "--vcores 4 --layouts"] {
        let out = said(list, options);
        let enlarged = ["N'a', SIZE = 514GB", "N'c', SIZE = 514GB", "N'b', SIZE"];
        assert_eq!(enlarged.map(|one| out.contains(one)), [true, true, false], "{options}: {out}");
        assert!(out.contains("d1.a uses 99.1 % of its IOPS: with 514 GB it would have 5,000 IOPS and 200 MB/s, and do 0 to 119 % more"), "{out}");
    }
}

/// A gain goes by the sizes of the statements: of `d2_3` as it is the gain would end after 16.2 %, as it is at its limit then.
#[test]
fn what_grows_with_layouts_bounds_nothing() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s,filegroup\nd2,d2_0,data,150,90,1877,69,PRIMARY\n\
                d2,d2_2,data,150,150,2198,151,FG2\nd2,d2_3,data,150,145,1979,18,FG2\nd2,log,log,20,16,100,3,\n\
                tempdb,tempdev,data,48,,,,\n";
    let layouts = said(list, "--vcores 8 --layouts");
    assert!(layouts.contains("N'd2_3', SIZE = 514GB") && layouts.contains("do 0 to 33.3 % more"), "{layouts}");
    let plain = said(list, "--vcores 8");
    assert!(!plain.contains("N'd2_3'") && plain.contains("do 0 to 16.2 % more"), "{plain}");
}

/// A file that goes is emptied first only where the others carry its reads and writes as they are.
#[test]
fn what_is_emptied_throttles_no_other_file() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s\nd0,a,data,311,136,601,144\nd0,b,data,406,406,125,37\n\
                d0,c,data,237,230,81,82\nd0,e,data,151,21,2194,19\nd0,lg,log,200,152,2147,13\ntempdb,tempdev,data,48,,,\n";
    let out = said(list, "--vcores 8 --space 1376GB --layouts");
    let at = |words: &str| out.find(words).unwrap_or_else(|| panic!("{words}: {out}"));
    let order =
        [at("MODIFY FILE (NAME = N'lg'"), at("d0.e is one file more than needed"), at("Rebuild the indexes in d0")];
    assert!(order.is_sorted(), "{out}");
}

/// Further files whose neighbours have to grow with them, and have no room to, are none: by themselves they carry less than was seen.
#[test]
fn what_a_filegroup_needs_is_done_as_a_whole_or_not_at_all() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s,filegroup\n\
                d0,d0_0,data,140,140,10,1,PRIMARY\n\
                d0,d0_1,data,140,140,10,1,FG2\n\
                d0,d0_2,data,140,140,10,1,PRIMARY\n\
                d0,d0_log,log,129,129,10,1,\n\
                d1,d1_0,data,1025,1025,10,1,PRIMARY\n\
                d1,d1_1,data,1025,1025,10,1,FG2\n\
                d1,d1_log,log,513,513,10,1,\n\
                d2,d2_0,data,1025,1025,10,1,PRIMARY\n\
                d2,d2_1,data,1025,1025,10,1,FG2\n\
                d2,d2_2,data,1025,1025,10,1,FG3\n\
                d2,d2_log,log,20,20,10,1,\n\
                d3,d3_0,data,417,222.3,2162,149.1,PRIMARY\n\
                d3,d3_1,data,454,454,2300,68.1,PRIMARY\n\
                d3,d3_2,data,387,387,1999,17.6,PRIMARY\n\
                d3,d3_3,data,518,502.5,4955,57.3,PRIMARY\n\
                d3,d3_4,data,542,525.7,4819,192.8,PRIMARY\n\
                d3,d3_5,data,528,120.5,4723,40.2,PRIMARY\n\
                d3,d3_log,log,513,454.6,2228,4.2,\n\
                d4,d4_0,data,513,513,10,1,PRIMARY\n\
                d4,d4_1,data,513,513,10,1,PRIMARY\n\
                d4,d4_2,data,513,513,10,1,PRIMARY\n\
                d4,d4_log,log,129,129,10,1,\n\
                d5,d5_0,data,341,341,10,1,PRIMARY\n\
                d5,d5_1,data,500,500,10,1,FG2\n\
                d5,d5_2,data,386,386,10,1,FG3\n\
                d5,d5_log,log,513,513,10,1,\n\
                tempdb,tempdev,data,16,,,,\n";
    for options in ["--vcores 16 --space 16384GB", "--vcores 16 --space 16384GB --layouts"] {
        let out = said(list, options);
        let has = ["N'd3_log', SIZE = 514GB", "ADD FILE", "Rebuild the indexes"].map(|words| out.contains(words));
        assert_eq!(has, [true, false, false], "{options}: {out}");
    }
}

/// What stands at a limit and has room comes before what only has little to spare.
#[test]
fn little_to_spare_comes_behind_a_limit_with_layouts() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s\n\
                d0,d0_0,data,100,100,489,46.9\n\
                d0,d0_1,data,100,100,10,1\n\
                d0,d0_2,data,100,97.0,478,20.9\n\
                d0,d0_3,data,100,100,435,34.5\n\
                d0,d0_4,data,100,52.8,10,1\n\
                d0,d0_5,data,100,97.0,500,22.3\n\
                d0,d0_log,log,129,83.9,10,1\n\
                d1,d1_0,data,513,513,10,1\n\
                d1,d1_log,log,513,513,10,1\n\
                d2,d2_0,data,513,513,10,1\n\
                d2,d2_1,data,513,307.1,10,1\n\
                d2,d2_2,data,513,497.6,2300,69.4\n\
                d2,d2_log,log,200,157.7,2274,3.3\n\
                d3,d3_0,data,200,194.0,2267,16.5\n\
                d3,d3_1,data,200,200,2295,141.8\n\
                d3,d3_2,data,200,130.5,2288,16.1\n\
                d3,d3_log,log,513,40.1,10,1\n\
                d4,d4_0,data,1025,1025,10,1\n\
                d4,d4_1,data,1025,1025,10,1\n\
                d4,d4_log,log,129,129,10,1\n\
                tempdb,tempdev,data,16,,,\n";
    let out = said(list, "--vcores 8 --space 8192GB --layouts");
    // All at a limit grow, and d0_3 (87 %), for which 30 GB more would be needed, does not.
    let all = ["N'd3_0', SIZE = 514GB", "N'd0_5', SIZE = 130GB", "N'd2_2', SIZE = 514GB", "N'd0_3'"];
    assert_eq!(all.map(|words| out.contains(words)), [true, true, true, false], "{out}");
}

/// Where there are too few blobs as well, space that is given back is no answer.
#[test]
fn blobs_that_are_missing_are_said_beside_the_space() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s\n\
                a0,a0_d,data,129,129,10,1\n\
                a0,a0_l,log,1000,900,5000,8\n\
                a1,a1_d,data,129,129,10,1\n\
                a1,a1_l,log,1000,900,5000,8\n\
                a2,a2_d,data,129,129,10,1\n\
                a2,a2_l,log,1000,900,5000,8\n\
                a3,a3_d,data,129,129,10,1\n\
                a3,a3_l,log,1000,900,5000,8\n\
                z,z_d,data,4000,1100,10,1\n\
                z,z_l,log,100,90,10,1\n\
                f0,f0_d,data,513,513,10,1\n\
                f0,f1_d,data,513,513,10,1\n\
                f0,f2_d,data,513,513,10,1\n\
                f1,f3_d,data,513,513,10,1\n\
                f1,f4_d,data,513,513,10,1\n\
                f1,f5_d,data,513,513,10,1\n\
                f2,f6_d,data,513,513,10,1\n\
                f2,f7_d,data,513,513,10,1\n\
                f2,f8_d,data,513,513,10,1\n\
                f3,f9_d,data,513,513,10,1\n\
                f3,f10_d,data,513,513,10,1\n\
                f3,f11_d,data,513,513,10,1\n\
                f4,f12_d,data,513,513,10,1\n\
                f4,f13_d,data,513,513,10,1\n\
                f4,f14_d,data,513,513,10,1\n\
                tempdb,t,data,16,,,\n";
    let out = said(list, "--vcores 16 --space 16384GB");
    assert!(
        out.contains(
            "files take 16,431 GB, and their blobs 36,992 GB, and such an instance can have 16,384 GB and 35,840 GB."
        ),
        "{out}"
    );
    for words in ["one of these: 2,790 GB given back", "less in other files"] {
        assert!(!out.contains(words), "{words}: {out}");
    }
}

/// Files with the same limits grow together: what all of them take has no room, and further files have.
#[test]
fn further_files_are_advised_where_blobs_of_larger_ones_have_no_room() {
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s,filegroup\n\
                d0,d0_0,data,600,260.2,4948,9.2,PRIMARY\n\
                d0,d0_1,data,600,338.2,1955,48.6,PRIMARY\n\
                d0,d0_2,data,600,600,5000,196.8,PRIMARY\n\
                d0,d0_3,data,600,600,3805,67.0,PRIMARY\n\
                d0,d0_log,log,513,313.2,427,2.2,\n\
                f1,f1_0,data,1030,1000,10,1,PRIMARY\n\
                f1,f1_l,log,20,10,10,1,\n\
                f2,f2_0,data,1030,1000,10,1,PRIMARY\n\
                f2,f2_l,log,20,10,10,1,\n\
                f3,f3_0,data,1030,1000,10,1,PRIMARY\n\
                f3,f3_l,log,20,10,10,1,\n\
                f4,f4_0,data,1030,1000,10,1,PRIMARY\n\
                f4,f4_l,log,20,10,10,1,\n\
                f5,f5_0,data,1030,1000,10,1,PRIMARY\n\
                f5,f5_l,log,20,10,10,1,\n\
                e,e1,data,513,500,10,1,FG1\n\
                e,e2,data,513,500,10,1,FG2\n\
                tempdb,t,data,16,,,,\n";
    let out = said(list, "--vcores 16 --space 16384GB");
    assert!(out.contains("ALTER DATABASE [d0] ADD FILE") && !out.contains("None of it fits"), "{out}");
}
