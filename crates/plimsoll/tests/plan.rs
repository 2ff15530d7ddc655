//! `plimsoll plan mi` as scripts and people use it: a list of files in, their limits out, and nothing else touched.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;

const LIST: &str = "database,file,type,size_gb,iops,mb_per_s\n\
                    shop,data1,data,150,1080,60\nshop,log,log,40,490,20\ncrm,data,data,1126.4,,\ntempdb,tempdev,data,200,,\n";

fn scene() -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("files.csv"), LIST).unwrap();
    scene
}

#[test]
fn scripts_get_the_limits_of_each_file_and_whether_all_fit() {
    let scene = scene();
    let said = scene.say(&["plan", "mi", "--files", "files.csv", "--date", "2018-12-18", "--space", "8TB", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let plan = said.json().remove(0);
    let expected = serde_json::json!({
        "database": "shop", "file": "data1", "type": "data", "size_gb": 150.0, "blob_gb": 256.0, "tier": "P15", "iops": 1100.0,
        "mb_per_s": 125.0, "highest_iops": 1080.0, "highest_mb_per_s": 60.0, "same_limits_gb": 256.0,
        "next": { "size_gb": 257.0, "blob_gb": 512.0, "tier": "P20", "iops": 2300.0, "mb_per_s": 150.0 }
    });
    assert_eq!(plan["files"][0], expected);
    assert_eq!(
        plan["files"][3],
        serde_json::json!({ "database": "tempdb", "file": "tempdev", "type": "data", "size_gb": 200.0 })
    );
    let instance = &plan["instance"];
    assert_eq!((instance["fits"].as_bool(), instance["blob_gb"].as_f64()), (Some(true), Some(2432.0)), "{instance}");
    assert!(
        (instance["file_gb"].as_f64().unwrap() - 1516.4).abs() < 1e-9 && instance["log_mb_per_s"] == 22.0,
        "{instance}"
    );
    let advice = plan["advice"].to_string();
    assert!(advice.contains("shop.data1 uses 98.2 % of its IOPS: with 257 GB it would have 2,300 IOPS"), "{advice}");
    let rules: Vec<&str> = plan["advice"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["log-governor", "log-before-data", "file-at-limit", "file-at-limit"]);
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_stored_run_is_a_source_like_others() {
    let scene = Scene::new();
    scene.say(&["plan", "mi", "--from", "latest"]).failed(4, &["no result store"]);
    let run = ["run", "insert", "--short", "--repetitions", "2", "--target", "lab:azure-sql-mi-gp/129GiB"];
    assert_eq!(scene.say(&run).code, 0);
    let said = scene.say(&["plan", "mi", "--from", "latest", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let plan = said.json().remove(0);
    let disks = plan["disks"].as_array().unwrap();
    let log = disks.iter().find(|disk| disk["name"].as_str().unwrap().ends_with("-wal")).unwrap();
    let wrote = |repetition: &serde_json::Value| {
        let files = repetition["files"].as_array().unwrap();
        let log = files.iter().find(|file| file["kind"] == "log").unwrap();
        log["writes"].as_f64().unwrap() / log["elapsed_seconds"].as_f64().unwrap()
    };
    let record = scene.say(&["show", "latest", "--json"]).json().remove(0);
    let rates: Vec<f64> = record["repetitions"].as_array().unwrap().iter().map(wrote).collect();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    assert!((log["highest_iops"].as_f64().unwrap() / highest - 1.0).abs() < 1e-6, "{log} {rates:?}");
    assert_eq!(scene.say(&["run", "cpu-join", "--short", "--no-samples", "--target", &scene.sqlite()]).code, 0);
    scene.say(&["plan", "mi", "--from", "latest"]).failed(2, &["does not say what files did"]);
    assert_eq!(scene.say(&["plan", "mi", "--from", "latest", "--files", "x.csv"]).code, 2);
}

#[test]
fn people_read_the_answer_first_and_get_a_page() {
    let scene = scene();
    let words = ["plan", "mi", "--files", "files.csv", "--date", "2018-12-18", "--html", "plan.html"];
    let said = scene.say(&words);
    assert_eq!(said.code, 0, "{said:#?}");
    let lines: Vec<&str> = said.out.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[1], "2 of 2 files whose rates are known stand at limits of their own: shop.data1, shop.log.");
    assert_eq!(
        lines[2],
        "The 4 files together have 1,516.4 GB of 8,192 GB, and their blobs 2,432 GB of 35,840 GB. All fit as they are."
    );
    assert!(said.out.contains("--space says how much it was given"), "{}", said.out);
    let page = std::fs::read_to_string(scene.path("plan.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Storage plan"), "{page}");
    let small = scene.say(&["plan", "mi", "--files", "files.csv", "--space", "1TB", "--date", "2018-12-18"]);
    assert!(small.code == 0 && small.out.contains("These files do not fit: all files take 1,516.4 GB"), "{small:#?}");
    let known = scene.say(&["plan", "mi", "--vcores", "8", "--date", "2026-09-01"]);
    assert!(
        known.code == 0 && known.out.contains("All files together have 8,192 GB, and their blobs 35,840 GB."),
        "{known:#?}"
    );
}

#[test]
fn layouts_carry_what_was_seen_and_their_statements_are_printed() {
    let scene = scene();
    let list = "database,file,type,size_gb,used_gb,iops,mb_per_s\nshop,data1,data,150,90,9000,300\nshop,log,log,40,10,1000,20\n";
    std::fs::write(scene.path("busy.csv"), list).unwrap();
    let words = ["plan", "mi", "--files", "busy.csv", "--date", "2018-12-18", "--layouts"];
    let said = scene.say(&[&words[..], &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let layouts = &said.json()[0]["layouts"];
    let chosen = &layouts["chosen"][0];
    assert_eq!((chosen["data_files"].as_u64(), chosen["data_gb"].as_f64()), (Some(3), Some(513.0)), "{chosen}");
    assert!(layouts["all"].as_array().unwrap().len() > 5, "{layouts}");
    let statements = layouts["statements"].as_str().unwrap();
    let changes: Vec<&str> = statements.lines().filter(|line| line.starts_with("ALTER")).collect();
    assert!(changes.len() == 4 && changes[0].contains("N'log', SIZE = 257GB"), "{statements}");
    let shown = scene.say(&words).out;
    assert!(shown.contains("1,796 GB of files") && shown.contains("shop 3 x 513 GB and a log of 257 GB"), "{shown}");
    let many = scene.say(&[&words[..], &["--headroom", "900%"]].concat());
    assert!(
        many.code == 0 && many.out.contains("No layout of up to 8 data files carries what shop needs"),
        "{many:#?}"
    );
    scene.say(&[&words[..], &["--headroom", "much"]].concat()).failed(2, &["--headroom much is no percentage"]);
    let bare = "database,file,type,size_gb\nshop,data1,data,150\n";
    std::fs::write(scene.path("bare.csv"), bare).unwrap();
    scene.say(&["plan", "mi", "--files", "bare.csv", "--layouts"]).failed(2, &["does not say what the files do"]);
}

#[test]
fn the_example_is_read_and_has_something_to_say() {
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mi-files.csv");
    let said = scene().say(&["plan", "mi", "--files", list, "--layouts", "--date", "2018-12-18"]);
    assert_eq!(said.code, 0, "{said:#?}");
    for words in [
        "All fit as they are.",
        "shop.shop_log uses 98.0 % of its IOPS",
        "Larger files have 25.0 % to spare, and move no rows",
        "MODIFY FILE (NAME = N'shop_log'",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
}

#[test]
fn a_single_file_is_spoken_of_as_one_and_many_are_counted() {
    let scene = scene();
    std::fs::write(scene.path("one.csv"), "database,file,type,size_gb\nshop,data1,data,150\n").unwrap();
    let one = scene.say(&["plan", "mi", "--files", "one.csv", "--date", "2018-12-18", "--space", "8TB"]);
    assert!(
        one.out.contains("The file has 150 GB of 8,192 GB, and its blob 256 GB of 35,840 GB. It fits as it is."),
        "{one:#?}"
    );
    let large: Vec<String> = (1..8).map(|number| format!("shop,large{number},data,5000")).collect();
    std::fs::write(scene.path("large.csv"), format!("database,file,type,size_gb\n{}\n", large.join("\n"))).unwrap();
    let many = scene.say(&["plan", "mi", "--files", "large.csv", "--date", "2018-12-18"]);
    assert!(many.out.contains("shop.large5 and 2 more."), "{many:#?}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let scene = scene();
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(LIST.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(scene.path("wide.csv"), wide).unwrap();
    assert_eq!(scene.say(&["plan", "mi", "--files", "wide.csv"]).code, 0);
    for (list, words) in [
        ("", "it is empty"),
        ("database,file,type,size_gb\n", "it lists no file"),
        ("database,file,type,size_gb\na,b,data,NaN\n", "line 2: size_gb NaN is not from 0"),
        ("database,file,type,size_gb\na,b,data,-5\n", "line 2: size_gb -5 is not from 0"),
        ("database,file,type,size_gb\na,b,data,1,5\n", "line 2: it has 5 values, and the header 4"),
        ("database;file;type;size_gb\na;b;data;1,5,3\n", "line 2: size_gb '1,5,3' is no number"),
    ] {
        std::fs::write(scene.path("odd.csv"), list).unwrap();
        scene.say(&["plan", "mi", "--files", "odd.csv"]).failed(2, &["odd.csv: ", words]);
    }
    let files = ["plan", "mi", "--files", "files.csv"];
    for (more, words) in [
        (["--date", "2017-01-01"], "nothing is known of service 'azure-sql-mi' before 2018-12-18"),
        (["--date", "soon"], "'soon' is not a date, expected one like 2018-12-18"),
        (["--space", "0"], "an instance has more than nothing"),
        (["--space", "99TB"], "has 16384 GB at most, so not 101376"),
        (["--vcores", "7"], "no instance of 7 vCores; it has those of 4, 8"),
        (["--files", "/dev/zero"], "can't be read"),
    ] {
        let words_of = if more[0] == "--files" { vec!["plan", "mi"] } else { files.to_vec() };
        scene.say(&[&words_of[..], &more[..]].concat()).failed(2, &[words]);
    }
}

const SCRIPT: &str = "DatabaseName,FileLogicalName,FilePhysicalName,FileSizeGB,BlobSizeGB,IOPSLimit,MaxIOPS,IOPSNearLimitCount,\
                      ThroughputLimitMBPS,MaxThroughputMBPS,ThroughputNearLimitCount\n\
                      shop,data_0,https://x.blob.core.windows.net/a/data_0.mdf,100.0000,129,500,498.51,7,100,31.20,0\n\
                      shop,log,https://x.blob.core.windows.net/a/log.ldf,8.5000,129,500,20.00,0,100,12.10,0\n";

/// What further files carry is not said to have no room as well.
#[test]
fn a_file_is_either_carried_or_without_room() {
    let scene = Scene::new();
    let list = "database,file,type,size_gb,iops,mb_per_s\nd0,a,data,2060,6000,200\nd0,b,data,2060,2250,75\n\
                d0,c,data,2060,5250,175\nd0,d,data,2060,2250,52.7\nd2,a,data,1025,6900,53.9\nd3,log,log,50,575,9\n\
                d4,a,data,2060,8100,63.3\nd4,b,data,2060,729.8,250\nd4,c,data,10,149.4,92\nd4,log,log,5,510,2\n";
    std::fs::write(scene.path("files.csv"), list).unwrap();
    let words = ["plan", "mi", "--files", "files.csv", "--vcores", "24", "--date", "2022-06-02"];
    let said = scene.say(&[&words[..], &["--space", "16384GB", "--layouts"]].concat());
    assert!(said.out.contains("ADD FILE (NAME = N'd2_data_2'"), "{said:#?}");
    assert!(said.out.contains("To spread rows as advised above takes the least space in d2"), "{said:#?}");
    assert!(!said.out.contains("no room for that: d2.a"), "{said:#?}");
}

#[test]
fn what_a_layout_was_not_made_for_is_said() {
    let scene = Scene::new();
    let list =
        "database,file,type,size_gb,iops,mb_per_s\nshop,data,data,150,9000,30\ncrm,data,data,50,,\ncrm,log,log,5,,\n";
    std::fs::write(scene.path("files.csv"), list).unwrap();
    let said = scene.say(&["plan", "mi", "--files", "files.csv", "--layouts"]);
    for words in ["As it is, as the list does not say what it does: crm.", "The list has no log of shop"] {
        assert!(said.out.contains(words), "'{words}' is missing: {said:#?}");
    }
    // What is wrong with an option is said before a server is looked at.
    let live = ["plan", "mi", "--files", "mssql://a@127.0.0.1:1/d"];
    scene.say(&[&live[..], &["--layouts", "--most-wait", "long"]].concat()).failed(2, &["--most-wait long"]);
    let unknown = ["--against", "NoSuchSize", "--disks", "azure-managed-disk/P30"];
    scene.say(&[&live[..], &unknown].concat()).failed(2, &["NoSuchSize"]);
}

#[test]
fn the_published_scripts_output_and_the_waits_of_an_instance_say_what_holds_it_back() {
    let scene = Scene::new();
    std::fs::write(scene.path("script.csv"), SCRIPT).unwrap();
    let waits = "wait_type,waiting_tasks_count,wait_time_ms\nPAGEIOLATCH_SH,9,73000\nWRITELOG,9,20000\nLCK_M_X,1,7000\nLAZYWRITER_SLEEP,1,9e9\n";
    std::fs::write(scene.path("waits.csv"), waits).unwrap();
    let words = ["plan", "mi", "--files", "script.csv", "--waits", "waits.csv", "--space", "8TB", "--cpu", "95%"];
    let said = scene.say(&[&words[..], &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let plan = said.json().remove(0);
    let rules: Vec<&str> = plan["advice"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["cpu-first", "waits-for-data"], "no size is named while no file helps");
    assert_eq!(
        (plan["waits"]["data_percent"].as_f64(), plan["files"][0]["intervals_at_limit"].as_u64()),
        (Some(73.0), Some(7))
    );
    assert_eq!((plan["files"][1]["type"].as_str(), plan["cpu_percent"].as_f64()), (Some("log"), Some(95.0)));
    let text = scene.say(&words);
    assert!(text.out.contains("Sessions wait for pages of data files, in 73.0 % of their waits"), "{text:#?}");
    assert!(text.out.contains("CPU holds it back, with 95.0 % in use"), "{text:#?}");
    assert!(text.out.replace("\n  ", " ").contains("what was seen of shop.data_0 is the least"), "{text:#?}");
    // By the limits of another day the file is at none.
    std::fs::write(scene.path("other.csv"), SCRIPT.replace("100.0000,129,500,", "200.0000,256,1100,")).unwrap();
    let other = scene.say(&["plan", "mi", "--files", "other.csv"]);
    let out = other.out.replace("\n  ", " ");
    assert!(
        out.contains("other limits than those of 2026-08-10: shop.data_0 1,100 IOPS there and 2,300 IOPS here"),
        "{other:#?}"
    );
    scene.say(&["plan", "mi", "--files", "script.csv", "--cpu", "101%"]).failed(2, &["--cpu 101% is no percentage"]);
    std::fs::write(scene.path("none.csv"), "wait_type,wait_time_ms\nLAZYWRITER_SLEEP,1\n").unwrap();
    let none = scene.say(&["plan", "mi", "--files", "script.csv", "--waits", "none.csv"]);
    none.failed(2, &["nobody waited for anything", "sys.dm_os_wait_stats"]);
    let over = scene.say(&["plan", "mi", "--files", "script.csv", "--waits", "waits.csv", "--html", "./waits.csv"]);
    over.failed(2, &["would be written over what is read"]);
    std::fs::write(scene.path("secret"), "pw").unwrap();
    let words = ["plan", "mi", "--files", "mssql://a@h/d", "--password-file", "secret", "--html", "secret"];
    scene.say(&words).failed(2, &["would be written over what is read"]);
    assert_eq!(std::fs::read_to_string(scene.path("secret")).unwrap(), "pw");
}

/// The size to enlarge to, its gain and the statement stand on the first page; a database that carries its load is left alone.
#[test]
fn what_to_enlarge_is_one_answer_with_its_statements() {
    let scene = Scene::new();
    let rows = SCRIPT.split_once('\n').unwrap().1.to_owned()
        + "idle,idle,https://x/idle.mdf,600,1025,5000,10,0,200,1,0\nidle,idle_log,https://x/idle.ldf,30,129,500,1,0,100,1,0\n";
    std::fs::write(scene.path("headless.csv"), &rows).unwrap();
    let words = ["plan", "mi", "--files", "headless.csv", "--space", "1TB"];
    let said = scene.say(&words).out.replace("\n  ", " ");
    for words in [
        "shop.data_0 uses 99.7 % of its IOPS, and stood at a limit in 7 intervals: with 130 GB",
        "depending on how much is wanted",
        "All fit as they are.",
        "Files to enlarge",
        "ALTER DATABASE [shop] MODIFY FILE (NAME = N'data_0', SIZE = 130GB);",
        "The list has no tempdb",
        "On next-generation General Purpose",
    ] {
        assert!(said.contains(words), "'{words}' is missing: {said}");
    }
    let layouts = scene.say(&[&words[..], &["--layouts", "--json"]].concat()).json().remove(0);
    let layouts = &layouts["layouts"];
    assert_eq!(layouts["as_they_are"], serde_json::json!(["idle"]), "{layouts}");
    assert_eq!(layouts["enlarged"][0]["files"], serde_json::json!([{ "file": "shop.data_0", "size_gb": 130.0 }]));
    assert_eq!(layouts["statements"].as_str().unwrap().matches("ALTER").count(), 1, "{layouts}");
    // With busy CPU no file helps, and none is enlarged.
    let busy = scene.say(&[&words[..], &["--cpu", "95%"]].concat());
    assert!(!busy.out.contains("ALTER DATABASE") && busy.out.contains("help only once"), "{busy:#?}");
    scene.say(&[&words[..], &["--cpu", "0.95"]].concat()).failed(2, &["may be a part or a percentage"]);
    scene.say(&[&words[..], &["--headroom", "-5%"]].concat()).failed(2, &["--headroom -5% is no percentage"]);
    // 130 GB for the file, where the instance has 10 GB more than all files: said before anything else.
    let tight = scene.say(&["plan", "mi", "--files", "headless.csv", "--space", "749GB"]);
    let out = tight.out.replace("\n  ", " ");
    assert!(out.contains("Raise the space of the instance to 800 GB first"), "{tight:#?}");
    assert!(out.contains("-- 10 GB are free, and the statements take 30."), "{tight:#?}");
    std::fs::write(scene.path("many.csv"), many(160)).unwrap();
    let many = scene.say(&["plan", "mi", "--files", "many.csv", "--vcores", "8"]).out.replace('\n', " ");
    for words in [
        "With all 65 enlargements files take",
        "and such an instance can have 8,192 GB",
        "files need comes first, in this order, and no more fits",
        "16 vCores or more (from 16,384 GB on)",
        "A table has all 65",
    ] {
        assert!(many.contains(words), "'{words}' is missing: {many}");
    }
    assert!(!many.contains("less in other files"), "the logs have 325 GB: {many}");
    // Where further files take less than larger ones, and all of them have room, they are the answer.
    std::fs::write(scene.path("less.csv"), self::many(130)).unwrap();
    let less = scene.say(&["plan", "mi", "--files", "less.csv", "--vcores", "8"]).out;
    assert!(less.matches("ADD FILE (").count() == 65 && !less.contains("no room"), "{less}");
}

/// Sixty-five databases whose data files stand at a limit.
fn many(gb: u32) -> String {
    let row = |at: u32| format!("db{at},d,data,{},{},5\ndb{at},l,log,5,10,0.1\n", gb - 40, 460 + at % 40);
    "database,file,type,size_gb,iops,mb_per_s\n".to_owned() + &(0..65).map(row).collect::<String>()
}

/// What forbids to enlarge a file, or leaves it open whether that helps, is one judgement: sentences, table, statements and layouts agree.
#[test]
fn what_a_size_does_not_help_is_asked_for_nowhere() {
    let scene = Scene::new();
    let head = "database,file,type,size_gb,iops,mb_per_s,write_ms\n";
    let governor = "wait_type,wait_time_ms\nINSTANCE_LOG_RATE_GOVERNOR,500\nWRITELOG,100\n";
    let commits = "wait_type,wait_time_ms\nWRITELOG,500\nPAGEIOLATCH_SH,100\n";
    std::fs::write(scene.path("governor.csv"), governor).unwrap();
    std::fs::write(scene.path("commits.csv"), commits).unwrap();
    for (list, options, wanted, unwanted) in cases() {
        std::fs::write(scene.path("list.csv"), format!("{head}{list}")).unwrap();
        let words = ["plan", "mi", "--files", "list.csv"].into_iter().chain(options.split_whitespace());
        let out = scene.say(&words.collect::<Vec<_>>()).out.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in wanted {
            assert!(out.contains(words), "'{words}' is missing with {options}: {out}");
        }
        for words in unwanted {
            assert!(!out.contains(words), "'{words}' is there with {options}: {out}");
        }
    }
}

/// Rows of a list, options, words that are to be said, and words that are not.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

fn cases() -> [Case; 19] {
    let busy = "a,d,data,96,499,9,\na,l,log,24,498,14.2,\nb,d,data,600,1320,9,\nb,l,log,300,110,21.9,\n";
    let full = "big,d,data,8192,7490,240,\nmid,m,data,100,495,20,\nmid,l,log,100,20,1,\n";
    [
        (
            busy,
            "--vcores 8 --cpu 95% --layouts",
            &["help only once", "no larger file does more now: a"],
            &["MODIFY", "to enlarge"],
        ),
        (
            busy,
            "--vcores 16 --waits governor.csv --layouts",
            &["a larger a.l brings nothing", "in 0 % of their waits for files of the kind of a.d"],
            &["N'l'", "N'd'"],
        ),
        (
            busy,
            "--date 2018-12-18",
            &["were not at once", "do 0 to 54.9 % more", "N'l', SIZE = 129GB"],
            &["brings nothing"],
        ),
        (
            busy,
            "--vcores 4 --layouts",
            &["b.l did 21.9 MB/s", "do 0 to 26.8 % more", "N'l', SIZE = 130GB"],
            &["brings nothing"],
        ),
        (
            full,
            "--vcores 8",
            &["With 1 enlargement and 1 more data file", "one of these: 16 vCores or more", "no room for that"],
            &["-- ", "MODIFY", "less in other files"],
        ),
        // What has no room takes none from what has.
        (
            "a,a,data,50,499,20,\nb,b,data,600,4990,100,\nc,c,data,100,5500,20,\no,o,data,900,5,1,\n",
            "--vcores 4 --layouts",
            &["Other files would carry c, and", "ADD FILE (NAME = N'b_data_2'", "N'a', SIZE = 130GB"],
            &["do not fit together", "[c]", "MODIFY FILE (NAME = N'b'", "with the layout above"],
        ),
        (
            "a,al,log,100,100,64.8,\nb,bl,log,100,100,50,\n",
            "--vcores 8",
            &["a.al, b.bl did up to 64.8 MB/s", "by 22 to 36.0 MB/s", "of which part was read"],
            &["all that any size has"],
        ),
        (full, "--vcores 8 --layouts", &["no room for that: big.d, mid.m"], &["Raise the space", "MODIFY"]),
        (
            "x,d,data,8192,100,5,\nx,l,log,129,495,90,\n",
            "",
            &["l uses 99.0 % of its IOPS and 90.0 % of its MB/s: with 130 GB", "part was read"],
            &["bring nothing"],
        ),
        ("x,l,log,24,498,5,4\n", "", &["do 0 to 362 % more", "SIZE = 130GB"], &["bring nothing", "under way"]),
        (
            "x,l,log,300,110,21.9,4\n",
            "",
            &["is open: the size may hold the rate of the log of x.l"],
            &["bring nothing"],
        ),
        (
            "x,d,data,32,230,9,5\nx,l,log,32,240,5,32\n",
            "--waits commits.csv",
            &["x.l comes first", "N'l', SIZE = 130GB"],
            &["N'd'"],
        ),
        ("master,m,data,1,495,9,\nx,d,data,9,9,9,\n", "--layouts", &["m uses 99.0 %", "N'm', SIZE = 130GB"], &[]),
        ("x,d,data,100,449,9,5\n", "", &["is open: less than 25 % is to spare at x.d"], &["bring nothing"]),
        ("x,d,data,100,100,9,60\n", "", &["is open: reads or writes take longer"], &["bring nothing"]),
        ("x,d,data,100,100,9,5\n", "", &["Larger files would bring nothing"], &["is open"]),
        ("x,d,data,5000,40,9,\n", "--date 2018-12-18 --layouts", &["though rates or limits"], &["more to spare: x"]),
        (
            "x,d,data,5000,7400,9,\n",
            "",
            &["Add 1 data file of 1,784 GB, with 7,500 IOPS and 250 MB/s:"],
            &["5,000 GB has"],
        ),
        (
            "x,d,data,10,450,9,\nx,m,container,1,450,9,\ntempdb,t,data,9,,,\n",
            "",
            &["2 of 2 files outside tempdb", "can't be set"],
            &["N'm'"],
        ),
    ]
}

#[test]
fn what_disks_of_a_machine_did_says_which_file_carries_it() {
    let scene = Scene::new();
    let head = "Device   r/s  rkB/s  r_await  w/s  wkB/s  w_await  %util\n";
    let report = |reads: u32, wait: f64| {
        format!("{head}sda  {reads}.00  {}.00  2.00  10.00  80.00  {wait:.2}  50.00\n\n", reads * 8)
    };
    std::fs::write(scene.path("iostat.txt"), report(9, 1.0) + &report(1600, 2.0) + &report(200, 2.0)).unwrap();
    let words = ["plan", "mi", "--files", "iostat.txt", "--date", "2018-12-18"];
    let said = scene.say(&[&words[..], &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let plan = said.json().remove(0);
    let disk = &plan["disks"][0];
    assert_eq!((disk["highest_iops"].as_f64(), disk["intervals"].as_u64()), (Some(1610.0), Some(2)), "{disk}");
    // A quarter above 1,610 is 2,012.5, and P20 has 2,300.
    assert_eq!(
        (disk["carried_by"]["size_gb"].as_f64(), disk["carried_by"]["tier"].as_str()),
        (Some(257.0), Some("P20"))
    );
    let more = scene.say(&[&words[..], &["--headroom", "50%", "--html", "disks.html"]].concat());
    assert!(more.out.contains("sda did 1,610 IOPS") && more.out.contains("a file of 513 GB carries that"), "{more:#?}");
    assert!(std::fs::read_to_string(scene.path("disks.html")).unwrap().contains("<svg"));
    std::fs::write(scene.path("slow.txt"), report(9, 1.0) + &report(99_000, 30.0)).unwrap();
    let slow = scene.say(&["plan", "mi", "--files", "slow.txt"]);
    assert!(
        slow.out.contains("no single file is known to carry that") && slow.out.contains("may be at a limit of its own"),
        "{slow:#?}"
    );
    let layouts = scene.say(&[&words[..], &["--layouts"]].concat());
    assert!(layouts.code == 0 && layouts.err.contains("what was read has none"), "{layouts:#?}");
    scene.say(&[&words[..], &["--sample", "30s"]].concat()).failed(2, &["are for a live server"]);
    std::fs::write(scene.path("once.txt"), report(9, 1.0)).unwrap();
    scene.say(&["plan", "mi", "--files", "once.txt"]).failed(2, &["iostat -x 1 30"]);
}

#[test]
fn files_are_held_against_disks_of_a_virtual_machine() {
    let scene = Scene::new();
    let list =
        "database,file,type,size_gb,iops,mb_per_s,write_ms\nshop,data,data,150,1080,60,132\nshop,log,log,40,100,10,5\n";
    std::fs::write(scene.path("files.csv"), list).unwrap();
    let words = ["plan", "mi", "--files", "files.csv", "--date", "2018-12-18", "--against", "E8bds_v5"];
    let disks = ["--disks", "4 x azure-managed-disk/P30"];
    let said = scene.say(&[&words[..], &disks, &["--json"]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let plan = said.json().remove(0);
    let against = &plan["against"];
    let factor = |side: &str| against[side]["factor"].as_f64().unwrap();
    // 1,100 of 1,080; and 4 disks of 200 MB (10^6 bytes) for 70 MB (2^20).
    assert!((factor("on_instance") - 1100.0 / 1080.0).abs() < 1e-9, "{against}");
    assert!((factor("on_machine") - 800e6 / f64::from(1 << 20) / 70.0).abs() < 1e-6, "{against}");
    assert_eq!(against["on_instance"]["before"], "shop.data is at its IOPS");
    let advice = plan["advice"].to_string();
    assert!(
        advice.contains("do 0 to 113 % more, depending on how much is wanted; with as many under way, a read or write would take 62.0 ms in place of 132 ms"),
        "{advice}"
    );
    let text = scene.say(&[&words[..], &disks].concat());
    assert!(text.out.contains("As they are, these files carry up to 1.02 times"), "{text:#?}");
    let small = scene.say(&[&words[..], &["--disks", "1 x azure-managed-disk/P10"]].concat());
    assert!(small.out.contains("The files have 190 GB, and these disks hold 128 GB"), "{small:#?}");
    let alone = scene.say(&words);
    assert!(alone.code == 2 && alone.err.contains("--disks"), "{alone:#?}");
    scene.say(&[&words[..6], &["--space", "8"]].concat()).failed(2, &["--space", "no unit", "8TB"]);
    let unknown = [&words[..], &["--disks", "4 x azure-managed-disk/P99"]].concat();
    scene.say(&unknown).failed(2, &["P99"]);
    std::fs::write(scene.path("files.csv"), "database,file,type,size_gb\nshop,data,data,150\n").unwrap();
    scene.say(&[&words[..], &disks].concat()).failed(2, &["does not say what the files do"]);
}

#[test]
fn what_can_not_be_sampled_says_so() {
    let scene = Scene::new();
    std::fs::write(scene.path("x.db"), "").unwrap();
    scene.say(&["plan", "mi", "--files", "sqlite:x.db"]).failed(2, &["shows no counters of files"]);
    scene.say(&["plan", "mi", "--files", "nosuch://h/d"]).failed(2, &["no engine has the scheme"]);
    for (option, value) in [("--sample", "1ms"), ("--sample", "2days"), ("--interval", "10ms"), ("--interval", "1h")] {
        scene.say(&["plan", "mi", "--files", "mssql://a@h/d", option, value]).failed(2, &[option]);
    }
}
