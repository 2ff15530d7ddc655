//! What has room: what the plan itself gives back first counts for all that grows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_catalog::Catalog;
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
        let files = [data("a", 1500.0, used_gb, 7036.0), log("a", 264.0, 260.0, 2237.0)];
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
