//! The self-test: every statement that the engine keeps a list of, as documented for the server's edition, and every operation.

use plimsoll_bench::Interrupt;
use plimsoll_bench::self_test::{Options, self_test};
use plimsoll_clock::RealClock;
use plimsoll_engine::Touches;
use plimsoll_measurement::{Check, CheckKind, CheckResult};

use crate::beds::Bed;

pub fn every_statement_and_operation_of_a_self_test_works(bed: &dyn Bed) {
    let database = bed.open();
    let options = Options { workspace: true, build: "a test".to_owned() };
    let tested = self_test(&*database, &options, &RealClock::new(), &Interrupt::default(), &mut |_| ()).unwrap();
    let record = &tested.record;
    let findings: Vec<&Check> = record.checks.iter().filter(|check| check.result.is_finding()).collect();
    assert!(findings.is_empty() && record.warnings.iter().all(|it| !it.contains("clean")), "{findings:#?} {record:#?}");
    let worked = |kind| record.of(kind).filter(|check| check.result == CheckResult::Worked).count();
    assert!(worked(CheckKind::Operation) > 20);
    // All that may be sent was.
    let sent = database.self_test().unwrap().map_or(0, |test| {
        let entries = test.statements().entries().iter();
        entries
            .filter(|entry| entry.touches != Touches::Server && entry.is_in(test.edition()) && !test.lacks(entry))
            .count()
    });
    assert_eq!(worked(CheckKind::Statement), sent);
}
