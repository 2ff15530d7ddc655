//! Another level for a running lab: when it is in effect, and that it is.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Rows, load, table};
use plimsoll_clock::{Clock, OnClock, VirtualClock, enter};
use plimsoll_engine::work::Work;
use plimsoll_engine::{
    ClaimMode, Database as _, ErrorKind, Lease, Levels, Moves as _, Session, Sessions as _, Workspace, Workspaces as _,
};
use plimsoll_lab::LabDatabase;
use plimsoll_measurement::units;

/// How often a test looks whether a level is in effect.
const POLL: Duration = Duration::from_millis(100);

/// A lab on a level with a table of 8 MB.
struct Target {
    lab: LabDatabase,
    session: Box<dyn Session>,
    levels: Box<dyn Levels>,
    _lease: Box<dyn Lease>,
    clock: Arc<dyn Clock>,
    _on_clock: OnClock,
}

fn on(level: &str) -> Target {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let on_clock = enter(&clock, "test");
    let url = format!("lab:azure-sql-db/{level}?neighbour=off");
    let lab = LabDatabase::open(&url, Arc::clone(&clock)).unwrap();
    let workspace = Workspace::run("levels").unwrap();
    let lease = lab.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = lab.session(&workspace, &workspace).unwrap();
    load(session.as_mut(), "t", 20_000, 400);
    let levels = lab.levels().unwrap().unwrap();
    Target { lab, session, levels, _lease: lease, clock, _on_clock: on_clock }
}

impl Target {
    fn present(&mut self) -> String {
        self.levels.current().unwrap().unwrap()
    }

    /// Seconds that a query or a load takes.
    fn takes(&mut self, work: impl FnOnce(&mut dyn Session)) -> f64 {
        let start = self.clock.now();
        work(self.session.as_mut());
        self.clock.now().since(start).as_secs_f64()
    }

    fn scan(&mut self) -> f64 {
        self.takes(|session| assert!(session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap() > 0))
    }

    fn write(&mut self) -> f64 {
        let target = table("w");
        self.session.create_table(&target).unwrap();
        let seconds = self.takes(|session| {
            session.load_batch(&target, &mut Rows { next: 1, last: 2000, bytes: 400 }).unwrap();
        });
        self.session.drop_table(&target).unwrap();
        seconds
    }

    /// Seconds until a level that was asked for is seen to be in effect.
    fn change(&mut self, level: &str) -> f64 {
        let start = self.clock.now();
        self.levels.ask(level).unwrap();
        while self.present() != level {
            self.clock.sleep(POLL);
        }
        self.clock.now().since(start).as_secs_f64()
    }
}

/// July 2014: 150 MB a minute between tiers, at once within one. The session stays and has the new limits.
#[test]
fn another_tier_takes_as_long_as_the_pages_take_to_move() {
    let mut lab = on("S2@v11-2014-07");
    lab.scan();
    let (scanned, wrote) = (lab.scan(), lab.write());
    assert_eq!(lab.levels.moves_bytes("S1"), Some(0));
    let bytes = lab.levels.moves_bytes("P1").unwrap();
    assert!(bytes > 8 << 20, "{bytes}");
    let expected = units::seconds_at(bytes, 150.0).unwrap();
    let seconds = lab.change("P1");
    assert!(seconds >= expected && seconds - expected <= POLL.as_secs_f64(), "{seconds} s and not {expected}");
    let truth = lab.lab.expect(Work::LevelChange("P1")).unwrap().unwrap();
    assert!((truth.value / expected - 1.0).abs() < 1e-6, "{truth:?}");
    assert_eq!((truth.metric, truth.limit, truth.basis.as_str()), ("level_change_time", "movement", "derived"));
    // Another machine has nothing in memory; afterwards P1's memory holds what S2's did not.
    let (cold, warm) = (lab.scan(), lab.scan());
    assert!(cold > 10.0 * warm && warm < scanned / 10.0, "{cold} s, then {warm} s, before {scanned} s");
    // Bulk loads: 38 and 47 MB/min.
    let ratio = wrote / lab.write();
    assert!((ratio / (47.0 / 38.0) - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn another_level_of_the_same_tier_is_in_effect_at_once() {
    let mut lab = on("S1@v11-2014-07");
    let wrote = lab.write();
    assert!(lab.change("S2") == 0.0 && lab.present() == "S2");
    let ratio = wrote / lab.write();
    assert!(ratio > 1.5, "{ratio}");
    let truth = lab.lab.expect(Work::LevelChange("S2")).unwrap().unwrap();
    assert!(truth.value.abs() < 1e-9, "{truth:?}");
    assert!(lab.change("S1") == 0.0);
    assert!((lab.write() / wrote - 1.0).abs() < 0.01);
}

/// From Premium to Standard no data moved, on the way back it did. The memory is another machine's.
#[test]
fn from_premium_to_standard_no_data_moves() {
    let mut lab = on("P1@v11-2014-07");
    lab.scan();
    let warm = lab.scan();
    assert_eq!(lab.levels.moves_bytes("S2"), Some(0));
    assert!(lab.levels.moves_bytes("Basic").unwrap() > 8 << 20);
    assert!(lab.change("S2") == 0.0 && lab.present() == "S2");
    assert!(lab.scan() > 2.0 * warm);
    let truth = lab.lab.expect(Work::LevelChange("S2")).unwrap().unwrap();
    assert!(truth.value.abs() < 1e-9 && truth.reason.contains("no data moves"), "{truth:?}");
    let bytes = lab.levels.moves_bytes("P1").unwrap();
    assert!(lab.change("P1") >= units::seconds_at(bytes, 150.0).unwrap());
}

/// What was published of no level of that generation is as fast as the devices of both sides.
#[test]
fn where_no_rate_was_published_the_devices_decide() {
    let mut lab = on("S0@v12-ga-2015-01");
    let bytes = lab.levels.moves_bytes("P1").unwrap();
    // S0 reads 324.4 MB/min of content, in pages of which a ninth more has to be read.
    let expected = units::seconds_at(bytes, 324.4 * 4096.0 / 3690.0).unwrap();
    let seconds = lab.change("P1");
    assert!(seconds > expected * 0.99 && seconds - expected < 2.0 * POLL.as_secs_f64(), "{seconds} and {expected}");
    let truth = lab.lab.expect(Work::LevelChange("P1")).unwrap().unwrap();
    assert!(seconds >= truth.value * 0.99 && seconds - truth.value <= POLL.as_secs_f64(), "{seconds} and {truth:?}");
    assert_eq!(truth.limit, "data_io");
}

#[test]
fn memory_that_gets_smaller_pushes_pages_out() {
    let mut lab = on("P2@v11-2014-11");
    lab.scan();
    let all = lab.lab.server().state().pool.pages();
    assert!(lab.change("P1") == 0.0);
    lab.change("Basic");
    let (limit, pages) = {
        let pool = &lab.lab.server().state().pool;
        (pool.limit().unwrap(), pool.pages())
    };
    assert!(limit < all && pages <= limit, "{pages} of {limit}, before {all}");
    lab.scan();
    assert_eq!(lab.lab.server().state().pool.pages(), limit);
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let mut lab = on("S2@v11-2014-07");
    let unknown = lab.levels.ask("S7").unwrap_err();
    assert!(unknown.kind == ErrorKind::Usage && unknown.message.contains("S7"), "{unknown}");
    lab.levels.ask("P1").unwrap();
    assert_eq!(lab.levels.ask("Basic").unwrap_err().kind, ErrorKind::Busy);
    assert_eq!(lab.present(), "S2");
    // The target may go while the change is under way.
    drop(lab);
    let hardware = common::Bench::new("[data]\niops = 100\n");
    assert!(hardware.lab.levels().unwrap().is_none());
}
