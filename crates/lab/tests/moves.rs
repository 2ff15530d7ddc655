//! Whole databases: imports, copies and restores by the product's tests take what the limits say, page by page the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod running;

use std::sync::Arc;

use common::load;
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::{Cancel, ClaimMode, Follow, Moves as _, Result, Sessions as _, Workspace, Workspaces as _};
use plimsoll_lab::LabDatabase;
use plimsoll_measurement::{Figure, RunRecord, units};
use running::run;

fn on_level(level: &str, test: &str, volume: &str) -> RunRecord {
    let url = format!("lab:{level}?neighbour=off");
    run(|clock| LabDatabase::open(&url, clock).unwrap(), test, 3, &[("volume", volume), ("tables", "3")])
}

/// The figure is within 1 % of its truth, and the limit that binds is this one.
fn hold(record: &RunRecord, metric: &str, limit: &str) -> Figure {
    let figure = record.results.iter().find(|figure| figure.metric == metric).unwrap();
    let truth = figure.expected.as_ref().unwrap_or_else(|| panic!("no truth of {metric} on {}", record.target));
    let error = truth.error_percent.unwrap();
    assert!(error.abs() <= 1.0, "{error:+.3} %: {truth:?}");
    assert_eq!(truth.limit.as_deref(), Some(limit), "{truth:?}");
    assert_eq!(figure.repetitions, 3);
    figure.clone()
}

#[test]
fn an_import_takes_what_its_rows_take_in_the_log() {
    for volume in ["128MiB", "384MiB", "1GiB"] {
        let record = on_level("azure-sql-db/S2@v12-ga-2015-01", "import", volume);
        hold(&record, "import_rate", "log_write");
        for repetition in &record.repetitions {
            let most = repetition.waits.iter().max_by(|a, b| a.elapsed_percent.total_cmp(&b.elapsed_percent)).unwrap();
            assert!(most.wait == "log_rate_governor" && most.elapsed_percent > 95.0, "{:?}", repetition.waits);
        }
    }
    hold(&on_level("azure-sql-db/P2@v12-ga-2015-01", "import", "512MiB"), "import_rate", "log_write");
}

/// Pages of two databases of a lab, one restored from a backup of the other, and how long that took.
fn restored(level: &str) -> (Vec<u8>, Vec<u8>, f64) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let _on_clock = enter(&clock, "test");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab");
    let url = format!("lab:{level}?neighbour=off&file={}", file.display());
    let lab = LabDatabase::open(&url, Arc::clone(&clock)).unwrap();
    let workspace = Workspace::run("restored").unwrap();
    let _lease = lab.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let (from, to) = (workspace.copy('a'), workspace.copy('b'));
    let mut transfer = lab.transfer(&workspace).unwrap().unwrap();
    transfer.make(&from).unwrap();
    let mut session = lab.session(&from, &workspace).unwrap();
    load(session.as_mut(), "t", 20_000, 400);
    // Changes that are only in the log as yet are part of a backup too.
    session.execute("UPDATE t SET Number = 0 WHERE RowId > 19000", &[]).unwrap();
    drop(session);
    let backups = tempfile::tempdir().unwrap();
    let mut follow = Looks::default();
    transfer.back_up(&from, backups.path(), &mut follow).unwrap();
    let start = clock.now();
    let restored = transfer.restore(backups.path(), &to, &mut follow).unwrap();
    let seconds = clock.now().since(start).as_secs_f64();
    assert_eq!((restored.workspace.name(), restored.elsewhere.is_none()), (to.name(), true));
    assert!(follow.looks > 40 && follow.stages == ["restore"], "{follow:?}");
    assert_eq!(transfer.bytes(&from), transfer.bytes(&to));
    let pages = |workspace: &Workspace| std::fs::read(format!("{}.{workspace}.db", file.display())).unwrap();
    (pages(&from), pages(&to), seconds)
}

#[derive(Debug, Default)]
struct Looks {
    looks: u32,
    stages: Vec<&'static str>,
}

impl Follow for Looks {
    fn stage(&mut self, name: &'static str) -> Result<()> {
        self.stages.push(name);
        Ok(())
    }

    fn working(&mut self, _: Arc<dyn Cancel>) {}

    fn look(&mut self, bytes: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        self.looks += u32::from(bytes().is_some());
        Ok(())
    }
}

/// July 2014: 150 MB/min whatever the tier, also where the level's own reads are slower; later as fast as the data device takes
/// it, since nobody published that.
#[test]
fn a_restored_database_equals_the_first_page_by_page() {
    for level in ["Basic@v11-2014-07", "S2@v11-2014-07", "P1@v11-2014-07"] {
        let (from, to, seconds) = restored(&format!("azure-sql-db/{level}"));
        assert!(from.len() > 8 << 20 && from == to, "{level}: {} and {} bytes", from.len(), to.len());
        let expected = units::seconds_at(from.len() as u64, 150.0).unwrap();
        assert!((seconds / expected - 1.0).abs() < 0.01, "{level}: {seconds} s and not {expected}");
    }
    let (from, to, seconds) = restored("azure-sql-db/S2@v12-ga-2015-01");
    assert_eq!(from, to);
    // The data limit: 627.8 MB/min of content in pages that hold 9 rows of 410 bytes.
    let expected = units::seconds_at(from.len() as u64, 627.8 * 4096.0 / 3690.0).unwrap();
    assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} s and not {expected}");
}

/// At the published rate of the service, and where there is none at what the data device takes.
#[test]
fn a_restore_takes_what_its_pages_take_on_their_way() {
    for volume in ["128MiB", "384MiB", "1GiB"] {
        hold(&on_level("azure-sql-db/S1@v11-2014-07", "restore", volume), "restore_rate", "movement");
    }
    hold(&on_level("azure-sql-db/S2@v12-ga-2015-01", "restore", "384MiB"), "restore_rate", "data_io");
}

/// Seen within one poll.
#[test]
fn a_change_of_level_takes_what_the_database_takes_to_move() {
    let url = "lab:azure-sql-db/S2@v11-2014-07?neighbour=off";
    let sets = [("level", "P1"), ("volume", "640MiB"), ("chunk", "64MiB"), ("poll", "100ms")];
    let with_data = |clock: Arc<dyn Clock>| {
        let lab = LabDatabase::open(url, clock).unwrap();
        // Of the test's own there is nothing when the level changes.
        let workspace = Workspace::data(1);
        let _lease = lab.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
        load(lab.session(&workspace, &workspace).unwrap().as_mut(), "t", 20_000, 400);
        lab
    };
    let record = run(with_data, "level-change", 3, &sets);
    let figure = record.results.iter().find(|figure| figure.metric == "level_change_time").unwrap();
    let truth = figure.expected.as_ref().unwrap();
    let late = figure.value - truth.value;
    assert!(truth.value > 3.0 && (0.0..=0.1).contains(&late), "{} s and not {truth:?}", figure.value);
    assert_eq!((truth.limit.as_deref(), truth.basis.as_str()), (Some("movement"), "derived"));
}

#[test]
fn a_copy_takes_what_its_pages_take_at_the_data_device() {
    for volume in ["256MiB", "1GiB", "3GiB"] {
        hold(&on_level("azure-sql-db/S2@v12-ga-2015-01", "copy", volume), "copy_rate", "data_io");
    }
}
