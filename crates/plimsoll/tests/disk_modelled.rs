//! Disk tests on modelled volumes: what is known of stripes, spans, accounts and bursts comes out, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Scene;
use serde_json::Value;

const SIXTEEN: &str = "lab:16 x azure-unmanaged-disk/standard@2014-06";

fn suite(scene: &Scene, cells: &str) {
    let head = "name = \"own\"\ntitle = \"t\"\nabout = \"a\"\nrepetitions = 1\nfile = \"1GiB\"\n\n";
    fs::write(scene.path("own.toml"), format!("{head}{cells}")).unwrap();
}

fn reads(threads: u32, depth: u32, seconds: u32) -> String {
    format!(
        "[[cell]]\noperation = \"read\"\nblock = \"8KiB\"\nthreads = {threads}\nqueue_depth = {depth}\nduration = \"{seconds}s\"\n"
    )
}

fn record(scene: &Scene, target: &str, more: &[&str]) -> Value {
    let said = scene.say(&[&["disk", target, "--json"], more].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    said.json().remove(0)
}

fn iops(record: &Value) -> Vec<f64> {
    let points = record["repetitions"][0]["points"].as_array().unwrap();
    points.iter().map(|point| point["metrics"]["iops"].as_f64().unwrap()).collect()
}

#[test]
fn a_stripe_has_the_iops_of_its_columns_and_a_span_those_of_one_disk() {
    let scene = Scene::new();
    suite(&scene, &reads(32, 32, 60));
    let of = |target: &str, size: &str| iops(&record(&scene, target, &["--suite", "own.toml", "--size", size]))[0];
    let near = |iops: f64, expected: f64| assert!((iops / expected - 1.0).abs() <= 0.01, "{iops} for {expected}");
    near(of(SIXTEEN, "1GiB"), 8_000.0);
    // A slab of eight columns is 2 GiB; a larger file lies on all disks.
    near(of(&format!("{SIXTEEN}?columns=8"), "1GiB"), 4_000.0);
    near(of(&format!("{SIXTEEN}?columns=8"), "64GiB"), 8_000.0);
    near(of(&format!("{SIXTEEN}?layout=spanned"), "64GiB"), 500.0);
    near(of("lab:48 x azure-unmanaged-disk/standard@2014-06?account=standard", "1GiB"), 20_000.0);
}

#[test]
fn one_thread_hides_most_of_a_stripe_and_it_is_said() {
    let scene = Scene::new();
    suite(&scene, &reads(1, 1, 60));
    let said = scene.say(&["disk", SIXTEEN, "--suite", "own.toml", "--json"]);
    assert!(said.err.contains("one operation under way can't keep 16 disks at work"), "{}", said.err);
    let record = said.json().remove(0);
    assert!(iops(&record)[0] < 500.0);
    // Who reads the record later is told as well, and how the model's times are known.
    let warned = record["warnings"].to_string();
    for part in ["one operation under way can't keep 16 disks at work", "a read takes 5.00 ms (assumed)"] {
        assert!(warned.contains(part), "'{part}' is missing: {warned}");
    }
}

#[test]
fn a_rate_that_was_missed_is_told_and_one_that_was_reached_is_not() {
    let scene = Scene::new();
    let asked = |rate: u32| {
        suite(&scene, &format!("{}rate = {rate}\narrivals = \"poisson\"\n", reads(2, 32, 60)));
        record(&scene, "lab:azure-managed-disk/P10", &["--suite", "own.toml"])["warnings"].to_string()
    };
    // The disk makes 3,500 when it bursts, which it does for half an hour.
    assert!(!asked(3_400).contains("that were asked for"), "{}", asked(3_400));
    let missed = asked(3_640);
    assert!(missed.contains("of the 3,640 operations a second that were asked for"), "{missed}");
}

#[test]
fn a_burst_that_ends_between_repetitions_is_told() {
    let scene = Scene::new();
    suite(&scene, &reads(1, 64, 1_000));
    let said = scene.say(&["disk", "lab:aws-ebs/gp2?size_gib=100", "--suite", "own.toml", "--repetitions", "3"]);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("made 3,000 IOPS, and 300 from repetition c on: a burst may have ended"), "{text}");
}

/// 5.4 million credits of which each operation above the base takes one: at 3,000 a second with a base of 300 they last 2,000 s.
#[test]
fn a_burst_ends_at_the_computed_second_and_is_named() {
    let scene = Scene::new();
    suite(&scene, &reads(1, 64, 3_000));
    let said = scene.say(&["disk", "lab:aws-ebs/gp2?size_gib=100", "--suite", "own.toml"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "made 3,000 IOPS for 33 min 19 s, then 300 IOPS for the other 16 min 40 s: this is how a burst ends";
    assert!(text.contains(sentence), "{text}");
    let run = scene.say(&["runs", "--json"]).json();
    let show = scene.say(&["show", run[0]["run_id"].as_str().unwrap(), "--json"]).json();
    let seconds = show[0]["repetitions"][0]["seconds"]["operations"].as_array().unwrap().clone();
    let fell = seconds.iter().position(|operations| operations.as_u64().unwrap() < 1_650).unwrap();
    assert!((1_999..=2_001).contains(&fell), "{fell}");
}

/// What a test of an hour says, in one line.
fn said_of_an_hour(target: &str) -> String {
    let scene = Scene::new();
    suite(&scene, &reads(1, 64, 3_600));
    let said = scene.say(&["disk", target, "--suite", "own.toml"]);
    assert_eq!(said.code, 0, "{said:#?}");
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_burst_that_is_a_fifth_above_the_base_is_named() {
    let text = said_of_an_hour("lab:azure-managed-disk/E10");
    let sentence = "made 600 IOPS for 29 min 59 s, then 500 IOPS for the other 30 min 00 s: this is how a burst ends";
    assert!(text.contains(sentence), "{text}");
}

/// The disks of a stripe use up their credits one after another.
#[test]
fn a_burst_that_ends_in_steps_is_named() {
    let text = said_of_an_hour("lab:4 x aws-ebs/gp2?size_gib=100");
    let sentence = "IOPS for 38 min 22 s, then 1,201 IOPS for the other 21 min 37 s: this is how a burst ends";
    assert!(text.contains(sentence), "{text}");
}

/// The burst of 2,000 s is over in the fourth round of ten minutes, and five rounds later the rate is steady.
#[test]
fn rounds_go_on_until_the_rate_is_steady() {
    let scene = Scene::new();
    suite(&scene, &reads(1, 64, 600));
    let steady = |most: &str| {
        let more = ["--suite", "own.toml", "--set", most];
        record(&scene, "lab:aws-ebs/gp2?size_gib=100", &more)
    };
    let (without, with) = (iops(&steady("steady=0"))[0], iops(&steady("steady=20"))[0]);
    assert!((2_990.0..=3_010.0).contains(&without) && (298.0..=302.0).contains(&with), "{without} {with}");
    let few = steady("steady=5");
    let warned = few["warnings"].to_string();
    assert!(warned.contains("was not steady after 5 rounds: the last ones made 3000, 3000, 3000,"), "{warned}");
    let too_few = ["disk", "lab:aws-ebs/gp2?size_gib=100", "--set", "steady=3"];
    scene.say(&too_few).failed(2, &["five rounds in a row make it steady"]);
}

/// A device whose operations take so long and that makes so many a second needs their product under way (Little's law).
#[test]
fn the_knee_of_a_sweep_is_where_the_latency_says() {
    let scene = Scene::new();
    for number in 0..20_u32 {
        // 500 to 20,000 operations a second of 0.5 to 8 ms.
        let rate = 500.0 * 40_f64.powf(f64::from(number) / 19.0);
        let ms = 0.5 * 16_f64.powf(f64::from(number * 7 % 20) / 19.0);
        let hardware = format!("[data]\niops = {rate:.0}\nread_latency = \"{:.0}us\"\n", ms * 1e3);
        fs::write(scene.path("own-disk.toml"), hardware).unwrap();
        let record = record(&scene, "lab:own-disk.toml", &["--sweep", "--repetitions", "1"]);
        let at_knee = record["result"]["value"].as_f64().unwrap();
        let step = iops(&record).iter().position(|iops| (iops - at_knee).abs() < 0.1).unwrap();
        let cell = &record["repetitions"][0]["points"][step]["cell"];
        let [threads, depth] = ["threads", "queue_depth"].map(|name| cell[name].as_f64().unwrap());
        let knee = threads * depth;
        // The transfer itself is one more.
        let needed = rate * ms / 1e3 + 1.0;
        assert!(knee >= needed / 2.0 && knee <= needed * 2.0, "{rate} a second of {ms} ms: {knee} for {needed}");
    }
}

/// Drawn places leave some of 16 disks idle, so their rate rises up to the last step.
#[test]
fn the_suite_that_is_used_unasked_names_the_knee_and_what_one_at_a_time_hides() {
    let scene = Scene::new();
    let page = scene.path("q.html");
    let record = record(&scene, SIXTEEN, &["--repetitions", "2", "--html", page.to_str().unwrap()]);
    assert_eq!(record["result"]["metric"], "random_read_8k_t2_q32_iops", "the headline is the first cell");
    let figures = record["results"].as_array().unwrap();
    let knee = figures.iter().find(|figure| figure["metric"] == "knee_iops").unwrap();
    let first = iops(&record)[0];
    assert!(knee["value"].as_f64().unwrap() >= 0.9 * first, "{knee}");
    let shown = scene.say(&["show", record["run_id"].as_str().unwrap()]).out;
    let page = fs::read_to_string(page).unwrap();
    for text in [shown, page] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = "Random read 8 KiB needs more than 64 under way, and 256 (2 x 128) may not be enough: the rate still rises to";
        assert!(text.contains(sentence), "{text}");
        assert!(text.contains("and hides most of the disk; --sweep finds it more finely."), "{text}");
    }
    // One disk of 2 ms and 3,500 I/Os a second needs eight, which lie between two steps.
    let one = self::record(&scene, "lab:azure-managed-disk/P10", &["--repetitions", "1"]);
    let note = one["results"].as_array().unwrap().iter().find(|figure| figure["metric"] == "knee_iops").unwrap();
    assert!(
        note["note"].as_str().unwrap().starts_with("random read 8 KiB needs more than 4 and at most 16 under way (2 x 8): there it reaches the highest rate, 3,500 IOPS;"),
        "{note}"
    );
}

#[test]
fn the_same_seed_gives_the_same_record_and_nothing_of_a_file_is_asked_for() {
    let scene = Scene::new();
    let of = |target: &str| {
        let mut record = record(&scene, target, &["--short", "--repetitions", "1"]);
        let known = record.as_object_mut().unwrap();
        for name in ["run_id", "build", "host"] {
            known.remove(name);
        }
        record
    };
    let first = of(SIXTEEN);
    assert_eq!((first["basis"].as_str(), first["clock"].as_str()), (Some("measured"), Some("virtual")));
    assert_eq!(first, of(SIXTEEN));
    assert_ne!(iops(&first), iops(&of(&format!("{SIXTEEN}?seed=2"))));
    let left = fs::read_dir(scene.path(".")).unwrap().flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("plimsoll_disk_test")));
    for (more, said) in [
        (&["--buffered"][..], "--buffered is for a test file"),
        (&["--keep-file"], "--keep-file is for a test file"),
        (&["--engine", "pool"], "--engine is for a test file"),
        (&["--set", "verify=yes"], "verify=yes is for a test file"),
        (&["--as", "azure-managed-disk/P30"], "--as says what a folder's volume should deliver"),
    ] {
        let refused = scene.say(&[&["disk", SIXTEEN], more].concat());
        assert!(refused.code == 2 && refused.err.contains(said), "{refused:#?}");
    }
    // Writes are limited, and reads take no time.
    fs::write(scene.path("own-disk.toml"), "[data]\nwrite_latency = \"1ms\"\nwrite_iops = 300\n").unwrap();
    suite(&scene, &reads(1, 4, 2));
    let endless = scene.say(&["disk", "lab:own-disk.toml", "--suite", "own.toml"]);
    assert!(endless.code == 2 && endless.err.contains("operations take no time"), "{endless:#?}");
    let unknown = scene.say(&["disk", "lab:azure-managed-disk/P31"]);
    assert!(unknown.code == 2 && unknown.err.contains("unknown level 'P31'"), "{unknown:#?}");
}
