//! Places: leases, what is ours, and what is not.

use plimsoll_engine::{ClaimMode, Database, ErrorKind, Workspace, WorkspaceStatus};

use crate::beds::{Bed, Bench, remove_at_last};
use crate::rows::{Dense, dense, read_table};

fn status(database: &dyn Database, workspace: &Workspace) -> Option<WorkspaceStatus> {
    database.workspaces().unwrap().into_iter().find(|status| status.workspace == *workspace)
}

pub fn a_lease_keeps_others_out_until_it_is_given_back(bed: &dyn Bed) {
    let (one, two) = (bed.open(), bed.open());
    let workspace = Workspace::run("lease").unwrap();
    assert!(two.claim(&workspace, ClaimMode::Shared).unwrap().is_none());
    assert_eq!(status(one.as_ref(), &workspace), None);
    let mut lease = one.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    assert!(status(two.as_ref(), &workspace).unwrap().leased);
    assert!(two.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    assert!(two.claim(&workspace, ClaimMode::Shared).unwrap().is_none());
    assert!(!two.remove(&workspace).unwrap());
    lease.renew().unwrap();
    lease.share().unwrap();
    lease.share().unwrap();
    assert!(two.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    let shared = two.claim(&workspace, ClaimMode::Shared).unwrap().unwrap();
    let third = one.claim(&workspace, ClaimMode::Shared).unwrap().unwrap();
    drop(lease);
    assert!(!one.remove(&workspace).unwrap() && status(one.as_ref(), &workspace).unwrap().leased);
    drop(third);
    assert!(one.claim(&workspace, ClaimMode::Exclusive).unwrap().is_none());
    drop(shared);
    assert!(!status(one.as_ref(), &workspace).unwrap().leased);
    drop(one.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap());
    assert!(one.remove(&workspace).unwrap());
    assert_eq!(status(two.as_ref(), &workspace), None);
    // What is gone is gone: nothing is left to remove.
    assert!(two.remove(&workspace).unwrap());
}

pub fn what_is_not_ours_is_never_touched(bed: &dyn Bed) {
    let database = bed.open();
    let workspace = Workspace::run("foreign").unwrap();
    bed.plant(&workspace);
    for mode in [ClaimMode::Exclusive, ClaimMode::Shared] {
        let error = database.claim(&workspace, mode).err().unwrap();
        assert!(error.kind == ErrorKind::Safety && error.hint.is_some(), "{error:?}");
    }
    assert_eq!(database.remove(&workspace).unwrap_err().kind, ErrorKind::Safety);
    assert!(bed.is_planted(&workspace));
}

pub fn a_place_goes_with_all_its_tables(bed: &dyn Bed) {
    let Bench { mut session, lease, database, workspace } = Bench::new(bed, "many");
    for number in 0..100 {
        session.create_table(&dense().named(format!("t{number}"))).unwrap();
    }
    drop((session, lease));
    remove_at_last(database.as_ref(), &workspace);
    // The name is free again, and nothing is in the new place.
    let Bench { mut session, lease, database, workspace } = Bench::within(database, "many");
    assert!(session.execute("DELETE FROM t50", &[]).is_err());
    drop((session, lease));
    remove_at_last(database.as_ref(), &workspace);
}

pub fn a_data_set_is_read_by_a_session_of_another_run(bed: &dyn Bed) {
    let database = bed.open();
    let (data, run) = (Workspace::data(0xc0f0), Workspace::run("reader").unwrap());
    let mut lease = database.claim(&data, ClaimMode::Exclusive).unwrap().unwrap();
    let _run = database.claim(&run, ClaimMode::Exclusive).unwrap().unwrap();
    let mut session = database.session(&data, &run).unwrap();
    session.create_table(&dense()).unwrap();
    let loaded = session.load(&dense(), &mut Dense::new(1, 50)).unwrap();
    lease.share().unwrap();
    drop(lease);
    let shared = database.claim(&data, ClaimMode::Shared).unwrap().unwrap();
    assert_eq!(read_table(database.session(&data, &run).unwrap().as_mut(), &dense()), loaded);
    drop((session, shared));
    remove_at_last(database.as_ref(), &data);
}
