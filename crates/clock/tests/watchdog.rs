//! The watchdog sees a thread that waits outside the clock. In real time, for that is what it looks at.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use plimsoll_clock::{Clock, VirtualClock, Watch, enter, spawn};

/// Far longer than it takes; only a watchdog that is blind makes the test wait for it.
const AT_MOST: Duration = Duration::from_mins(1);
const OFTEN: Watch = Watch { every: Duration::from_millis(2), looks: 5 };

#[test]
fn who_waits_for_a_parked_thread_outside_the_clock_is_named_and_not_disturbed() {
    let (report, reports) = mpsc::channel();
    let on_stall = move |sentence: &str| report.send(sentence.to_owned()).expect("the test listens");
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::with_watch(OFTEN, Box::new(on_stall)));
    let (answer, question) = mpsc::channel::<u32>();
    let parked = Arc::new(Mutex::new(None));
    // Until both are there: alone on the clock the first would be told that nobody can wake it.
    let on_clock = enter(&clock, "starts both");

    let answering = spawn(&clock, "answers", {
        let (clock, parked, answer) = (clock.clone(), parked.clone(), answer.clone());
        move || {
            *parked.lock().unwrap() = Some(clock.waiter());
            clock.park();
            answer.send(2).unwrap();
        }
    });
    let asking = spawn(&clock, "asks (twice)", {
        let clock = clock.clone();
        move || {
            clock.sleep(Duration::from_hours(1));
            assert_eq!(question.recv_timeout(AT_MOST).unwrap(), 1);
            parked.lock().unwrap().as_ref().unwrap().wake();
            clock.sleep(Duration::ZERO);
            assert_eq!(question.recv_timeout(AT_MOST).unwrap(), 2);
        }
    });
    drop(on_clock);
    let expected = "thread 'asks (twice)' holds the turn of the virtual clock but waits for something outside it";
    assert_eq!(reports.recv_timeout(AT_MOST).unwrap(), expected);
    // The run goes on as if nobody had looked.
    answer.send(1).unwrap();
    asking.unwrap().join().unwrap();
    answering.unwrap().join().unwrap();
    // Said once, and the watchdog has ended with what it was given.
    drop(clock);
    assert_eq!(reports.recv_timeout(AT_MOST), Err(mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_watchdog_that_saw_nothing_ends_with_its_clock() {
    let (report, reports) = mpsc::channel::<String>();
    let on_stall = move |sentence: &str| report.send(sentence.to_owned()).expect("the test listens");
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::with_watchdog(Box::new(on_stall)));
    let own = clock.clone();
    spawn(&clock, "one", move || own.sleep(Duration::from_hours(2))).unwrap().join().unwrap();
    drop(clock);
    assert_eq!(reports.recv_timeout(AT_MOST), Err(mpsc::RecvTimeoutError::Disconnected));
}
