//! Which locks are waited for, and who holds them.

use super::*;

/// A verdict about eight sessions of which so many wait for a lock, by the engine's name, held by others for so many.
fn waiting_for(name: &str, blocked: f64) -> Judged {
    waiting_beside(name, blocked, &[("cpu", 0.2)])
}

#[test]
fn a_lock_that_lasts_as_long_as_a_page_is_made_costs_a_fifth_of_its_waits() {
    let gain = |name| waiting_for(name, 0.0).gains().first().map(|gain| (gain.change.clone(), gain.gain_percent));
    assert_eq!(gain("Lock/extend"), Some(("new pages that are made in 20 % less time".to_owned(), 17.6)));
    assert!(gain("Lock/tuple").is_some_and(|(_, percent)| percent > 100.0), "{:?}", gain("Lock/tuple"));
}

/// The same with more columns.
fn waiting_beside(name: &str, blocked: f64, beside: &[(&str, f64)]) -> Judged {
    let columns = [("waiting_for_lock", 6.0), ("blocked_by_others", blocked), ("waiting", 6.0)];
    let mut samples = samples(&[&columns[..], beside].concat());
    samples.columns[2].of = Some(name.to_owned());
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0))
}

#[test]
fn advice_follows_the_kind_of_lock_and_its_holder() {
    let told = |name: &str, blocked: f64| {
        let judged = waiting_for(name, blocked);
        assert_eq!(judged.limits(), Some(vec!["locks"]));
        let sentence = judged.evidence.iter().find(|sentence| sentence.starts_with("they waited for")).cloned();
        (judged.found[0].lift, sentence.unwrap_or_default())
    };
    let rows = "the same locks spread over 100 times as many rows";
    for (name, blocked, lift, sentence) in [
        ("Lock/tuple", 0.0, rows, "they waited for locks of rows, which sessions of this run held"),
        ("InnoDB row lock", 0.0, rows, "they waited for locks of rows, which sessions of this run held"),
        (
            "Lock/transactionid",
            6.0,
            "other sessions that do not hold the locks",
            "they waited for locks of rows, which sessions of others held",
        ),
        (
            "Waiting for table metadata lock",
            1.5,
            "statements that lock no whole table",
            "they waited for locks of whole tables, which sessions of others held in 25 % of the cases",
        ),
        (
            "Lock/advisory",
            0.0,
            "statements that ask for no such locks",
            "they waited for locks that statements ask for by name, which sessions of this run held",
        ),
        (
            "Lock/object",
            0.0,
            "statements that lock no such object",
            "they waited for locks of what is no table (a schema, a type, or the database, which NOTIFY locks at each commit), which sessions of this run \
             held",
        ),
        (
            "Waiting for global read lock",
            6.0,
            "other sessions that do not hold the locks",
            "they waited for the lock of the whole server, which sessions of others held",
        ),
        ("LCK_M_X", 0.0, rows, ""),
    ] {
        assert_eq!(told(name, blocked), (lift, sentence.to_owned()), "{name}");
    }
}

#[test]
fn no_more_sessions_wait_than_there_are() {
    let judged = judged(&[("waiting_for_lock", 9.2), ("cpu", 0.2)], &[("cpu", 2.0)], &closed(8.0), &STEADY);
    assert!(judged.evidence.iter().any(|sentence| sentence.starts_with("8 of 8 sessions waited for locks")));
}

#[test]
fn what_holders_wait_for_is_told() {
    let of = |log: f64| {
        let columns = [("waiting_for_lock", 7.0), ("waiting_for_log_write", log), ("cpu", 0.2)];
        judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY).evidence.join("; ")
    };
    assert!(
        of(0.9).contains("of 1 sessions that waited for no lock, and so may hold one, 0.9 waited for the log"),
        "{}",
        of(0.9)
    );
    assert!(of(0.1).contains("what a session does while it holds such a lock keeps all others waiting"), "{}", of(0.1));
}

#[test]
fn nobody_is_said_to_hold_a_table_that_an_engine_does_not_tell_of() {
    let of = |blocked: f64| {
        let columns = [
            ("waiting_for_lock", 0.0),
            ("waiting_for_table_lock", 6.0),
            ("blocked_by_others", blocked),
            ("waiting", 6.0),
            ("cpu", 0.2),
        ];
        let mut samples = samples(&columns);
        samples.columns[3].of = Some("Waiting for table metadata lock".to_owned());
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0))
    };
    let told = |judged: &Judged, sentence: &str| judged.evidence.iter().any(|told| told == sentence);
    let unknown = of(0.0);
    assert_eq!(unknown.limits(), Some(vec!["locks"]));
    assert!(
        told(&unknown, "they waited for locks of whole tables, and this server does not say who held them"),
        "{:?}",
        unknown.evidence
    );
    assert!(told(&of(6.0), "they waited for locks of whole tables, which sessions of others held"));
}

#[test]
fn locks_of_requests_whose_pages_come_and_go_are_not_named() {
    let of = |reads, writes, busy| {
        let columns = [
            ("waiting_for_lock", 6.5),
            ("cpu", 0.2),
            ("data_reads", reads),
            ("data_writes", writes),
            ("disk_busy", busy),
        ];
        let mut samples = samples(&columns);
        samples.columns[4].of = Some("sda".to_owned());
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0))
    };
    assert_eq!(of(30.0, 800.0, 65.0).limits(), Some(vec!["locks"]));
    assert_eq!(of(640.0, 30.0, 65.0).limits(), Some(vec!["locks"]));
    assert_eq!(of(640.0, 800.0, 50.0).limits(), Some(vec!["locks"]));
    let paged = of(640.0, 800.0, 65.0);
    let reason = paged.abstained.clone().unwrap();
    assert!(reason.contains("1.6 pages were read and 2 written, and their disk was busy for 65 % of"), "{reason}");
    assert!(paged.remedy.unwrap().contains("larger buffer pool"));
}

#[test]
fn what_foreign_holders_use_of_the_server_would_be_free_as_well() {
    let of = |others| {
        let busy = [("cpu", 1.7), ("sessions_of_others", others)];
        let judged = waiting_beside("Lock/relation", 6.0, &busy);
        judged.evidence.into_iter().find(|one| one.contains("do not hold the locks")).unwrap()
    };
    let free = "% or more, as what those sessions use of the server would be free as well";
    assert!(of(1.5).ends_with(free), "{}", of(1.5));
    assert!(of(0.1).ends_with("by more or less by what they would wait for next"), "{}", of(0.1));
}
