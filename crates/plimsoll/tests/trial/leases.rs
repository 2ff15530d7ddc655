//! Two clients and one server, round after round: whoever has a lease keeps it, and what a killed one leaves goes.

use std::process::Child;
use std::time::Duration;

use plimsoll_engine::{ClaimMode, Database, Workspace};

use crate::common::{Scene, wait_until};

/// Rounds, or those in PLIMSOLL_ROUNDS.
fn rounds() -> u32 {
    std::env::var("PLIMSOLL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(10)
}

/// A run that goes on until it is killed.
fn start(scene: &Scene) -> Child {
    let url = crate::url();
    let words = ["run", "insert", "--target", &url, "--short", "--set", "duration=1h", "--set", "volume=1MiB"];
    scene.spawn(&[&words[..], &["--set", "sessions=2", "--repetitions", "1"]].concat())
}

/// The only workspace that is in use, once there is one.
fn held(database: &dyn Database) -> Option<Workspace> {
    let found = database.workspaces().unwrap();
    let held: Vec<Workspace> =
        found.into_iter().filter(|status| status.leased).map(|status| status.workspace).collect();
    assert!(held.len() < 2, "two in use at once: {held:?}");
    held.into_iter().next()
}

#[test]
fn a_lease_keeps_the_other_client_out_until_its_holder_is_killed() {
    let (scene, other, database) = (Scene::new(), Scene::new(), crate::open());
    assert_eq!(crate::workspaces(database.as_ref()), [], "somebody else measures there");
    for round in 1..=rounds() {
        let mut child = start(&scene);
        wait_until(|| held(database.as_ref()).is_some());
        let workspace = held(database.as_ref()).unwrap();
        // Held: nobody else gets it, and nobody removes it.
        assert!(database.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none(), "round {round}: taken twice");
        let cleaned = other.say(&["clean", &crate::url()]);
        assert!(cleaned.code == 0 && held(database.as_ref()).as_ref() == Some(&workspace), "{cleaned:#?}");
        std::thread::sleep(Duration::from_millis(u64::from(round) * 170 % 1000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Taken: once the server has seen that its holder is gone, one of two gets it.
        let mut lease = None;
        wait_until(|| {
            lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap();
            lease.is_some()
        });
        let second = crate::open();
        assert!(second.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none(), "round {round}: taken twice");
        drop(lease);
        wait_until(|| held(database.as_ref()).is_none());
        let cleaned = other.say(&["clean", &crate::url()]);
        assert_eq!(cleaned.code, 0, "{cleaned:#?}");
        assert_eq!(crate::workspaces(database.as_ref()), [], "round {round}: left behind");
        println!("round {round}: held, refused to the other, killed, taken once, cleaned: nothing left");
    }
}
