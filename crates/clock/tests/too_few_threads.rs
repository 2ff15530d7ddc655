//! The system gives some threads and not all. Alone in its process, whose address space it limits for a moment.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Barrier};

use plimsoll_clock::{Clock, RealClock, in_threads_while};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for the stacks of two threads (2 MB each), and for no more than a few.
const SLACK_BYTES: u64 = 5 << 20;
const JOBS: usize = 16;

fn address_space_bytes() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").expect("proc(5)");
    let pages = sizes.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * rustix::param::page_size() as u64
}

/// Jobs that wait for each other, as the sessions of a test do.
#[test]
fn without_all_threads_no_job_begins_and_nobody_waits() {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let all = Barrier::new(JOBS);
    let jobs = (0..JOBS)
        .map(|number| {
            (format!("job {number}"), || {
                all.wait();
            })
        })
        .collect();
    let before = getrlimit(Resource::As);
    let limit = Rlimit { current: Some(address_space_bytes() + SLACK_BYTES), ..before };
    setrlimit(Resource::As, limit).unwrap();
    let ends = in_threads_while(&clock, jobs, || panic!("nothing goes on meanwhile"));
    setrlimit(Resource::As, before).unwrap();
    let reasons: Vec<String> = ends.into_iter().map(|end| *end.unwrap_err().downcast::<String>().unwrap()).collect();
    assert_eq!(reasons.len(), JOBS);
    assert!(reasons.iter().all(|reason| reason.contains("can't be started: ")), "{reasons:?}");
}
