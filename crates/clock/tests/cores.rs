//! Threads on a virtual clock share one core and get back what they had.

#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use plimsoll_clock::{Clock, VirtualClock, enter, in_threads};
use rustix::thread::{CpuSet, sched_getaffinity};

fn allowed() -> CpuSet {
    sched_getaffinity(None).expect("the cores of this thread")
}

#[test]
fn all_on_the_clock_share_a_core_and_nobody_else_is_touched() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let before = allowed();
    let job = || {
        clock.sleep(Duration::from_micros(1));
        allowed()
    };
    let cores = in_threads(&clock, (0..8).map(|number| (number.to_string(), job)).collect());
    let cores: Vec<CpuSet> = cores.into_iter().map(Result::unwrap).collect();
    assert!(cores.iter().all(|core| core.count() == 1 && *core == cores[0]));
    assert!(allowed() == before);
    {
        let _on_clock = enter(&clock, "main");
        assert!(allowed() == cores[0]);
    }
    assert!(allowed() == before);
}

#[test]
fn a_thread_that_fails_or_is_on_two_clocks_gets_its_cores_back() {
    let (first, second): (Arc<dyn Clock>, Arc<dyn Clock>) =
        (Arc::new(VirtualClock::new()), Arc::new(VirtualClock::new()));
    thread::spawn(move || {
        let before = allowed();
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let on_first = enter(&first, "main");
            let _on_second = enter(&second, "main");
            drop(on_first);
            assert_eq!(allowed().count(), 1);
            panic_any(());
        }));
        assert!(failed.is_err_and(|payload| payload.is::<()>()));
        assert!(allowed() == before);
    })
    .join()
    .unwrap();
}
