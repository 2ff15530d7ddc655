//! What goes wrong: targets that can't be opened, statements that are wrong, servers that are lost.

use std::sync::Arc;

use plimsoll_engine::{Cancel, Cold, ColdFollower, ErrorKind, Lease, Result, Unfollowed};

use crate::beds::{Bed, Bench, PLANTED};
use crate::rows::{Dense, dense, read_table};

pub fn what_can_not_be_opened_says_why(bed: &dyn Bed) {
    for (url, kind) in bed.refused() {
        let error = bed.try_open(&url).err().unwrap();
        assert_eq!(error.kind, kind, "{error:?}");
        assert!(error.hint.is_some() && !error.message.ends_with('.'), "{error:?}");
        assert!(!format!("{error:?}").contains(PLANTED), "{error:?}");
    }
}

pub fn wrong_statements_are_told_in_one_sentence(bed: &dyn Bed) {
    let mut bench = Bench::new(bed, "wrong");
    let session = bench.session.as_mut();
    session.create_table(&dense()).unwrap();
    for sql in ["SELEC 1", "DELETE FROM nowhere", "SELECT no_such_column FROM dense"] {
        let error = session.execute(sql, &[]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Statement | ErrorKind::Unsupported), "{sql}: {error:?}");
        assert!(!error.message.ends_with('.') && !error.message.contains('\n'), "{error:?}");
        assert_eq!(session.query_count(sql, &[]).unwrap_err().kind, error.kind, "{sql}");
    }
    let table = dense().named("nowhere");
    assert!(session.load(&table, &mut Dense::new(1, 1)).is_err());
    assert!(session.table_size(&table).is_err());
    assert!(session.query_count("SELECT 'a'", &[]).is_err());
    assert_eq!(session.query_count("SELECT count(*) FROM dense", &[]).unwrap(), 0);
    assert_eq!(session.load(&dense(), &mut Dense::new(1, 9)).unwrap().rows, 9);
}

pub fn a_lost_server_is_known_and_a_lease_comes_back(bed: &dyn Bed) {
    let Some(server) = bed.server() else { return };
    let mut bench = Bench::within(server.open(), "lost");
    let mut requester = bench.requester();
    bench.session.create_table(&dense()).unwrap();
    let loaded = bench.session.load(&dense(), &mut Dense::new(1, 100)).unwrap();
    bench.lease.renew().unwrap();
    server.kill();
    let error = bench.session.load(&dense(), &mut Dense::new(101, 109)).unwrap_err();
    assert!(error.kind == ErrorKind::Lost && error.hint.is_some(), "{error:?}");
    assert_eq!(bench.session.query_count("SELECT count(*) FROM dense", &[]).unwrap_err().kind, ErrorKind::Lost);
    for _ in 0..2 {
        let error = requester.load_batch(&dense(), &mut Dense::new(101, 109)).unwrap_err();
        assert!(error.kind == ErrorKind::Lost && error.hint.is_some(), "{error:?}");
    }
    let error = bench.database.session(&bench.workspace, &bench.workspace).err().unwrap();
    assert!(error.kind == ErrorKind::Connect && error.hint.is_some(), "{error:?}");
    assert_eq!(bench.lease.renew().unwrap_err().kind, ErrorKind::Connect);
    server.restart();
    bench.lease.renew().unwrap();
    let other = server.open();
    assert!(other.claim(&bench.workspace, plimsoll_engine::ClaimMode::Exclusive).unwrap().is_none());
    // What was committed is there, and nothing of what was not.
    let mut session = bench.database.session(&bench.workspace, &bench.workspace).unwrap();
    assert_eq!(read_table(session.as_mut(), &dense()), loaded);
    // While a lease is lost others may remove its place, unless whoever looks after it was faster and has it again.
    let was_removed = (0..9).any(|_| {
        server.kill();
        server.restart();
        let was_removed = other.remove(&bench.workspace).unwrap();
        let renewed = bench.lease.renew().map_err(|error| error.kind);
        assert_eq!(renewed, if was_removed { Err(ErrorKind::Missing) } else { Ok(()) });
        was_removed
    });
    assert!(was_removed);
}

/// Renews a lease after a restart.
struct Renewing<'a>(&'a mut dyn Lease, u32);

impl ColdFollower for Renewing<'_> {
    fn working(&mut self, _: Arc<dyn Cancel>) {}

    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    fn restarted(&mut self) -> Result<()> {
        self.1 += 1;
        self.0.renew()
    }
}

pub fn a_cold_start_leaves_the_rows_as_they_are(bed: &dyn Bed) {
    let server = bed.server();
    let database = server.as_ref().map_or_else(|| bed.open(), |server| server.open());
    let mut bench = Bench::within(database, "cold");
    bench.session.create_table(&dense()).unwrap();
    let loaded = bench.session.load(&dense(), &mut Dense::new(1, 2_000)).unwrap();
    drop(bench.session);
    let (database, workspace, tables) = (bench.database.as_ref(), &bench.workspace, [dense()]);
    for shared in [false, true] {
        let cold = Cold { restart_command: None, shared };
        database.make_cold(workspace, workspace, &tables, &cold, &mut Unfollowed).unwrap();
        let mut session = database.session(workspace, workspace).unwrap();
        assert_eq!(read_table(session.as_mut(), &dense()), loaded);
    }
    if let Some(server) = &server {
        let cold = Cold { restart_command: Some(server.restart_command()), shared: false };
        let mut follower = Renewing(bench.lease.as_mut(), 0);
        let done = database.make_cold(workspace, workspace, &tables, &cold, &mut follower).unwrap();
        assert_eq!((done[0].as_str(), follower.1), ("restart", 1));
        assert!(server.open().claim(workspace, plimsoll_engine::ClaimMode::Exclusive).unwrap().is_none());
        let mut session = database.session(workspace, workspace).unwrap();
        assert_eq!(read_table(session.as_mut(), &dense()), loaded);
    }
}
