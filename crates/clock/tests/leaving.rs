//! Threads come and go: panics, tickets that are never used, and a clock on which nobody is left to run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock, VirtualClock, enter, in_threads, spawn};

type Job<'a, T> = (String, Box<dyn FnOnce() -> T + Send + 'a>);

const STEP: Duration = Duration::from_millis(10);

fn virtual_clock() -> Arc<dyn Clock> {
    Arc::new(VirtualClock::new())
}

fn job<'a, T>(name: &str, work: impl FnOnce() -> T + Send + 'a) -> Job<'a, T> {
    (name.to_owned(), Box::new(work))
}

/// What a panic said.
fn text(payload: &(dyn Any + Send)) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a text")
}

fn panic_of<T>(result: thread::Result<T>) -> String {
    text(&*result.err().expect("a panic"))
}

#[test]
fn a_panic_leaves_the_others_running() {
    let clock = virtual_clock();
    let steady = || (0..3).map(|_| clock.sleep(STEP)).count();
    let broken = || {
        clock.sleep(STEP);
        panic!("broken after {STEP:?}")
    };
    let mut ends = in_threads(&clock, vec![job("a", steady), job("b", broken), job("c", steady)]).into_iter();
    assert_eq!(ends.next().unwrap().unwrap(), 3);
    assert_eq!(panic_of(ends.next().unwrap()), "broken after 10ms");
    assert_eq!(ends.next().unwrap().unwrap(), 3);
    assert_eq!(clock.now().as_nanos(), 30_000_000);
}

#[test]
fn results_come_in_order_on_both_clocks() {
    for clock in [virtual_clock(), Arc::new(RealClock::new()) as Arc<dyn Clock>] {
        // The first started is the last to end.
        let late = |number: u32| {
            let clock = &clock;
            job("late", move || {
                clock.sleep(Duration::from_micros(u64::from(10 - number)));
                assert_ne!(number, 4, "the fourth fails");
                number
            })
        };
        let _on_clock = enter(&clock, "main");
        let ends = in_threads(&clock, (0..10).map(late).collect());
        let (well, broken): (Vec<_>, Vec<_>) = ends.into_iter().partition(Result::is_ok);
        assert_eq!(well.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
        assert!(broken.into_iter().all(|end| panic_of(end).contains("the fourth fails")));
        assert!(in_threads::<(), fn()>(&clock, Vec::new()).is_empty());
    }
}

#[test]
fn parking_and_waking_work_the_same_on_both_clocks() {
    for clock in [virtual_clock(), Arc::new(RealClock::new()) as Arc<dyn Clock>] {
        let on_clock = enter(&clock, "main");
        let main = clock.waiter();
        let child = {
            let clock = clock.clone();
            move || {
                clock.sleep(Duration::from_micros(100));
                main.wake();
            }
        };
        // Not our wake: must not pass.
        thread::current().unpark();
        let start = clock.now();
        let child = spawn(&clock, "child", child).unwrap();
        clock.park();
        assert!(clock.now().since(start) >= Duration::from_micros(100));
        child.join().unwrap();
        drop(on_clock);
    }
}

#[test]
fn nobody_left_names_the_parked_who_then_fail_one_by_one() {
    let clock = virtual_clock();
    let order = Mutex::new(Vec::new());
    let parked = |name: &'static str| {
        let (clock, order) = (&clock, &order);
        job(name, move || {
            let heard = catch_unwind(AssertUnwindSafe(|| clock.park()));
            // Still on the clock, where the turn changes only when somebody waits.
            order.lock().unwrap().push(name);
            clock.sleep(Duration::ZERO);
            order.lock().unwrap().push(name);
            heard
        })
    };
    let leaves = || {
        clock.sleep(STEP);
        Ok(())
    };
    let _on_clock = enter(&clock, "main");
    let ends = in_threads(&clock, vec![parked("a"), job("c", leaves), parked("b")]);
    let mut heard = ends.into_iter().map(Result::unwrap);
    // The one who waits for them to end is not among them and goes on.
    let expected = "nobody is left to run on the clock: parked are 'a', 'b'";
    assert_eq!(panic_of(heard.next().unwrap()), expected);
    assert!(heard.next().unwrap().is_ok());
    assert_eq!(panic_of(heard.next().unwrap()), expected);
    assert_eq!(order.into_inner().unwrap(), ["a", "b", "a", "b"]);
    clock.sleep(STEP);
    assert_eq!(clock.now().as_nanos(), 20_000_000);
}

#[test]
fn the_last_to_park_alone_hears_of_it_and_can_go_on() {
    let clock = virtual_clock();
    let on_clock = enter(&clock, "lonely");
    let heard = catch_unwind(AssertUnwindSafe(|| clock.park()));
    assert_eq!(panic_of(heard), "nobody is left to run on the clock: parked are 'lonely'");
    clock.waiter().wake();
    clock.park();
    clock.sleep(STEP);
    drop(on_clock);
    assert_eq!(clock.now().as_nanos(), 10_000_000);
}

#[test]
fn a_ticket_that_is_dropped_holds_nobody_up() {
    let clock = virtual_clock();
    // The first holds the turn, the second is queued.
    let (first, second) = (clock.ticket("first"), clock.ticket("second"));
    let departure = second.departure();
    let other = spawn(&clock, "other", {
        let clock = clock.clone();
        move || {
            clock.await_departure(&departure);
            clock.sleep(STEP);
        }
    });
    drop(second);
    drop(first);
    other.unwrap().join().unwrap();
    assert_eq!(clock.now().as_nanos(), 10_000_000);
}

#[test]
fn time_stands_still_until_the_announced_have_boarded() {
    let clock = virtual_clock();
    let _on_clock = enter(&clock, "main");
    let ticket = clock.ticket("late");
    let (start, begin) = mpsc::channel::<()>();
    let late = thread::spawn({
        let clock = clock.clone();
        move || {
            begin.recv().unwrap();
            clock.register(ticket);
            let registered = clock.now();
            // Ends without a word: its place is given up all the same.
            clock.sleep(STEP);
            registered
        }
    });
    start.send(()).unwrap();
    clock.sleep(STEP * 2);
    assert_eq!(late.join().unwrap().as_nanos(), 0);
    clock.sleep(STEP);
    assert_eq!(clock.now().as_nanos(), 30_000_000);
}

#[test]
fn a_background_thread_is_waited_for_on_the_clock() {
    let clock = virtual_clock();
    let _on_clock = enter(&clock, "main");
    let background = |fails: bool| {
        let own = clock.clone();
        spawn(&clock, "background", move || {
            own.sleep(STEP);
            assert!(!fails, "failed in the background");
        })
    };
    let (well, broken, over) = (background(false).unwrap(), background(true).unwrap(), background(false).unwrap());
    well.join().unwrap();
    assert_eq!(clock.now().as_nanos(), 10_000_000);
    assert_eq!(panic_of(broken.join()), "failed in the background");
    clock.sleep(STEP);
    over.join().unwrap();
    assert_eq!(clock.now().as_nanos(), 20_000_000);
}

#[test]
fn faults_of_the_program_are_said_and_break_nothing() {
    let (clock, other) = (virtual_clock(), virtual_clock());
    let fault = |act: &dyn Fn()| panic_of(catch_unwind(AssertUnwindSafe(act)));
    let outside = "a thread that is not on the virtual clock wants to";
    assert_eq!(fault(&|| clock.sleep(STEP)), format!("{outside} sleep"));
    assert_eq!(fault(&|| clock.park()), format!("{outside} park"));
    assert_eq!(fault(&|| drop(clock.waiter())), format!("{outside} be woken"));
    assert!(fault(&|| clock.register(other.ticket("lost"))).starts_with("a ticket of another clock"));
    assert!(fault(&|| clock.register(RealClock::new().ticket("lost"))).starts_with("a ticket of another clock"));
    assert!(fault(&|| RealClock::new().register(clock.ticket("lost"))).starts_with("a ticket of a virtual clock"));
    assert!(
        fault(&|| clock.await_departure(&other.ticket("lost").departure())).starts_with("a departure from another")
    );
    clock.leave();
    let on_clock = enter(&clock, "main");
    assert_eq!(fault(&|| drop(enter(&clock, "again"))), "thread 'main' is on the clock already");
    clock.sleep(STEP);
    clock.leave();
    drop(on_clock);
    assert!(fault(&|| clock.sleep(STEP)).starts_with(outside));
}

#[test]
fn a_thread_may_be_on_two_clocks() {
    let (first, second) = (virtual_clock(), virtual_clock());
    let on_first = enter(&first, "main");
    let on_second = enter(&second, "main");
    first.sleep(STEP);
    second.sleep(STEP * 2);
    drop(on_first);
    second.sleep(STEP);
    drop(on_second);
    assert_eq!((first.now().as_nanos(), second.now().as_nanos()), (10_000_000, 30_000_000));
}
