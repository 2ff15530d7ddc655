//! Statements that run: cancelled, or ended with their run.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use plimsoll_engine::{Cancel, ColumnType, Error, ErrorKind, Session, Statement};

use crate::beds::{Bed, Bench, remove_at_last};

/// Has a session work in another thread until somebody ends that.
fn busy(bed: &dyn Bed, mut session: Box<dyn Session>) -> JoinHandle<(Box<dyn Session>, Error)> {
    let sql = bed.endless();
    thread::spawn(move || {
        let error = session.query_count(sql, &[]).unwrap_err();
        (session, error)
    })
}

/// Cancels again and again: the statement may not have begun yet, and to cancel nothing does no harm.
fn cancel_until<T>(cancel: &Arc<dyn Cancel>, working: &JoinHandle<T>) {
    while !working.is_finished() {
        cancel.cancel();
        thread::yield_now();
    }
}

pub fn a_running_statement_is_cancelled_from_another_thread(bed: &dyn Bed) {
    let Bench { session, lease: _lease, database: _database, .. } = Bench::new(bed, "cancel");
    let cancel = session.canceller();
    let working = busy(bed, session);
    cancel_until(&cancel, &working);
    let (mut session, error) = working.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
    assert_eq!(session.query_count("SELECT count(*) FROM (SELECT 1 AS one) t", &[]).unwrap(), 1);
}

pub fn a_running_request_is_cancelled_too(bed: &dyn Bed) {
    let bench = Bench::new(bed, "reqcancel");
    let mut requester = bench.requester();
    let cancel = requester.canceller();
    let sql = bed.endless().to_owned();
    let working = thread::spawn(move || {
        let endless = Statement { number: 0, sql, columns: Some(vec![ColumnType::BigInt]) };
        let error = requester.ask(&endless, &[]).unwrap_err();
        (requester, error)
    });
    cancel_until(&cancel, &working);
    let (mut requester, error) = working.join().unwrap();
    assert_eq!(error.kind, ErrorKind::Cancelled, "{error}");
    let one = Statement { number: 1, sql: "SELECT 1".to_owned(), columns: Some(vec![ColumnType::Int]) };
    assert_eq!(requester.ask(&one, &[]).unwrap().rows, 1);
}

pub fn sessions_of_a_dead_run_are_ended_and_others_live(bed: &dyn Bed) {
    let dead = Bench::new(bed, "orphan");
    if dead.database.description().embedded {
        // Its sessions die with their process.
        assert_eq!(dead.database.end_orphans().unwrap(), 0);
        return;
    }
    let alive = Bench::new(bed, "neighbour");
    let (neighbours, cancel) = (alive.database, alive.session.canceller());
    let (orphan, neighbour) = (busy(bed, dead.session), busy(bed, alive.session));
    // Others' orphans may be ended here as well, and ours by others.
    dead.database.end_orphans().unwrap();
    assert!(!orphan.is_finished());
    drop(dead.lease);
    while !orphan.is_finished() {
        neighbours.end_orphans().unwrap();
    }
    assert_eq!(orphan.join().unwrap().1.kind, ErrorKind::Lost);
    assert!(!neighbour.is_finished());
    cancel_until(&cancel, &neighbour);
    assert_eq!(neighbour.join().unwrap().1.kind, ErrorKind::Cancelled);
    drop(alive.lease);
    // An orphan doesn't keep its place from being removed.
    remove_at_last(neighbours.as_ref(), &dead.workspace);
    let again = Bench::new(bed, "orphanagain");
    let working = busy(bed, again.session);
    drop(again.lease);
    remove_at_last(again.database.as_ref(), &again.workspace);
    assert_eq!(working.join().unwrap().1.kind, ErrorKind::Lost);
}
