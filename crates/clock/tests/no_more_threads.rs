//! The system refuses another thread. Alone in its process, whose address space it limits for a moment.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock, VirtualClock, enter, in_threads, spawn};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for what the test itself allocates, less than the stack of a thread.
const SLACK_BYTES: u64 = 1 << 20;

fn address_space_bytes() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").expect("proc(5)");
    let pages = sizes.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * rustix::param::page_size() as u64
}

#[test]
fn a_thread_that_cannot_be_started_is_said_and_holds_nobody_up() {
    let clocks: [Arc<dyn Clock>; 2] = [Arc::new(VirtualClock::new()), Arc::new(RealClock::new())];
    // Before any thread has ended, for its stack would be used again.
    for clock in &clocks {
        let _on_clock = enter(clock, "main");
        let jobs = (0..3).map(|number| (format!("job {number}"), || clock.sleep(Duration::from_micros(1)))).collect();
        let before = getrlimit(Resource::As);
        let limit = Rlimit { current: Some(address_space_bytes() + SLACK_BYTES), ..before };
        setrlimit(Resource::As, limit).unwrap();
        let refused = in_threads(clock, jobs);
        let spawned = spawn(clock, "background", || ());
        setrlimit(Resource::As, before).unwrap();
        for (number, end) in refused.into_iter().enumerate() {
            let reason = end.unwrap_err().downcast::<String>().unwrap();
            assert!(reason.starts_with(&format!("the thread 'job {number}' can't be started: ")), "{reason}");
        }
        assert!(spawned.is_err());
    }
    for clock in &clocks {
        let _on_clock = enter(clock, "main");
        clock.sleep(Duration::from_micros(1));
        // A name that the system wouldn't take is no reason.
        let ends = in_threads(clock, vec![("nul\0".to_owned(), || clock.sleep(Duration::from_micros(1)))]);
        assert!(ends.iter().all(Result::is_ok));
    }
}
