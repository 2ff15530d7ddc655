//! What a sampler makes of answers, by answers that were seen.

use super::*;

fn status(values: &[(&str, u64)]) -> Status {
    values.iter().map(|(name, value)| (name.to_ascii_lowercase(), *value)).collect()
}

fn find(values: &[(Counter, f64)], metric: Counter) -> Option<f64> {
    values.iter().find(|(known, _)| *known == metric).map(|(_, value)| *value)
}

fn row(id: usize, user: &str, command: &str, state: &str) -> Vec<Option<String>> {
    [&id.to_string(), user, "localhost", "test", command, "0", state, "SELECT 1"]
        .map(|text| Some(text.to_owned()))
        .to_vec()
}

#[test]
fn the_log_is_in_none_of_mysqls_writes_of_data() {
    let status = status(&[
        ("Innodb_data_writes", 9),
        ("Innodb_pages_written", 5),
        ("Innodb_log_writes", 3),
        ("Innodb_os_log_fsyncs", 2),
        ("Innodb_data_read", 7),
    ]);
    let (maria, mysql) = (counters(&status, Product::MariaDb, true), counters(&status, Product::MySql, false));
    assert_eq!((find(&maria, Counter::DataWrites), find(&mysql, Counter::DataWrites)), (Some(9.0), Some(5.0)));
    assert_eq!((find(&maria, Counter::LogWrites), find(&maria, Counter::LogSyncs)), (Some(3.0), Some(2.0)));
    assert_eq!((find(&maria, Counter::DeviceReadBytes), find(&mysql, Counter::DeviceReadBytes)), (Some(7.0), None));
    assert_eq!((find(&maria, Counter::CacheMissPages), find(&maria, Counter::FileSyncs)), (None, None));
    let bare = counters(&self::status(&[("Innodb_data_fsyncs", 8)]), Product::MariaDb, true);
    assert_eq!(find(&bare, Counter::FileSyncs), Some(8.0), "those of the log are not told");
}

#[test]
fn commits_are_known_where_statements_are_transactions() {
    let mut follow = Follow::default();
    let mut next = |handler, [begins, commits, rollbacks]: [u64; 3], uptime| {
        let values = [
            ("Handler_commit", handler),
            ("Com_begin", begins),
            ("Com_commit", commits),
            ("Com_rollback", rollbacks),
            ("Uptime", uptime),
            ("Innodb_row_lock_waits", 0),
            ("Innodb_row_lock_current_waits", 0),
        ];
        find(&follow.next(&status(&values)), Counter::Commits)
    };
    assert_eq!(next(100, [5, 5, 0], 10), Some(0.0));
    assert_eq!(next(130, [5, 5, 0], 11), Some(30.0));
    // In transactions statements count as well, whatever becomes of them.
    assert_eq!(next(190, [5, 15, 0], 12), None);
    assert_eq!(next(200, [5, 15, 0], 13), Some(40.0));
    assert_eq!(next(210, [6, 15, 0], 14), None);
    assert_eq!(next(220, [6, 15, 1], 15), None);
    assert_eq!(next(221, [6, 15, 1], 16), Some(41.0));
    // Restarted.
    assert_eq!(next(3, [0, 0, 0], 1), Some(41.0));
    assert_eq!(next(5, [0, 0, 0], 2), Some(43.0));
}

#[test]
fn who_holds_a_lock_is_at_the_end_of_those_that_wait() {
    let ours = Ours::from([1, 2, 3]);
    let blocked = |pairs: &[(u32, u32)]| blocked_by_others(pairs, &ours, 2.0);
    assert_eq!(blocked(&[(1, 2), (3, 2), (3, 1)]), Some(0.0));
    // Two wait for one another, and he for a stranger.
    assert_eq!(blocked(&[(1, 2), (2, 9), (1, 9)]), Some(2.0));
    assert_eq!(blocked(&[(1, 2), (3, 9)]), Some(1.0));
    // Strangers among themselves; a stranger who waits for us.
    assert_eq!((blocked(&[(8, 9)]), blocked(&[(1, 8), (8, 3)])), (None, Some(0.0)));
    assert_eq!(blocked(&[(1, 2), (2, 1)]), None, "until the server finds the deadlock");
}

#[test]
fn what_is_in_the_binary_log_is_committed_once() {
    let mut follow = Follow::default();
    let mut next = |handler, in_log| {
        let values = [
            ("Handler_commit", handler),
            ("Binlog_cache_use", in_log),
            ("Binlog_stmt_cache_use", 1),
            ("Com_begin", 0),
            ("Com_commit", 0),
            ("Com_rollback", 0),
            ("Uptime", 1),
            ("Innodb_row_lock_waits", 0),
            ("Innodb_row_lock_current_waits", 0),
        ];
        find(&follow.next(&status(&values)), Counter::Commits)
    };
    assert_eq!(next(801, 6), Some(0.0));
    // Two changes and a query.
    assert_eq!(next(806, 8), Some(3.0));
}

#[test]
fn a_wait_that_goes_on_is_not_counted_and_so_not_known() {
    let mut follow = Follow::default();
    let mut next = |waits, waiting, milliseconds| {
        let values = [
            ("Handler_commit", 0),
            ("Com_begin", 0),
            ("Com_commit", 0),
            ("Com_rollback", 0),
            ("Uptime", 1),
            ("Innodb_row_lock_waits", waits),
            ("Innodb_row_lock_current_waits", waiting),
            ("Innodb_row_lock_time", milliseconds),
        ];
        find(&follow.next(&status(&values)), Counter::LockWaitSeconds)
    };
    assert_eq!(next(10, 1, 4_000), Some(4.0));
    assert_eq!(next(10, 1, 4_000), None);
    assert_eq!(next(12, 3, 4_000), None);
    assert_eq!(next(12, 2, 7_000), Some(7.0));
    assert_eq!(next(12, 0, 9_000), Some(9.0));
    assert_eq!(next(12, 0, 9_000), Some(9.0));
}

#[test]
fn reads_while_no_session_can_read_are_the_servers_own() {
    let ours = Ours::from([1, 2]);
    let beside = |locked| Beside {
        own: 9,
        connected: None,
        row_locks: [locked, 0.0],
        idle_in_transaction: None,
        pending_reads: 2.0,
        in_front: None,
    };
    let mut own = OwnReads::default();
    let rows = [row(1, "plimsoll", "Query", "Updating"), row(2, "plimsoll", "Query", "Updating")];
    let mut reading = |locked| {
        let known = gauges(&rows, &ours, beside(locked), &mut own).unwrap();
        find(&known, Counter::SessionsReadingData)
    };
    assert_eq!(reading(0.0), Some(2.0), "nothing is known yet of the server's own");
    // Both wait for a row. One look may have come too late for a read that has ended.
    assert_eq!(reading(2.0), Some(0.0));
    assert_eq!(reading(0.0), Some(2.0 - 2.0 / 5.0));
    for _ in 1..36 {
        assert_eq!(reading(2.0), Some(0.0));
    }
    assert!((reading(0.0).unwrap() - 0.2).abs() < 1e-9 && reading(1.0) == reading(0.0));
}

#[test]
fn sessions_are_counted_by_what_they_do() {
    let states = [
        ("Sleep", ""),
        ("Query", "Sending data"),
        ("Query", "Sending data"),
        ("Query", "Sending data"),
        ("Execute", "Updating"),
        ("Query", "Commit"),
        ("Query", "User sleep"),
        ("Query", "Waiting for table metadata lock"),
        ("Query", "Waiting for semi-sync ACK from slave"),
        ("Query", "Writing to net"),
        ("Query", "starting"),
    ];
    let sessions = states.iter().enumerate();
    let mut rows: Vec<_> = sessions.map(|(id, (command, state))| row(id, "bench", command, state)).collect();
    // A replica's threads, which nobody keeps busy, as MariaDB and MySQL show them.
    for (command, state) in [
        ("Daemon", "InnoDB purge worker"),
        ("Slave_worker", "Waiting for work from SQL thread"),
        ("Query", "Replica has read all relay log; waiting for more updates"),
    ] {
        rows.push(row(99, "system user", command, state));
    }
    let beside = Beside {
        own: 10,
        connected: Some(11.0),
        row_locks: [1.0, 2.0],
        idle_in_transaction: Some(2.0),
        pending_reads: 2.0,
        in_front: None,
    };
    let ours: Ours = (0..11).collect();
    let mut own = OwnReads::default();
    let values: Vec<f64> =
        gauges(&rows, &ours, beside, &mut own).unwrap().into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 0.0]);
    // Of others those at work count: one of three, as two wait for rows; one that commits; and one that waits for another server.
    let ours = Ours::from([4]);
    let values: Vec<f64> =
        gauges(&rows, &ours, beside, &mut own).unwrap().into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    // What isn't seen isn't said.
    assert_eq!(gauges(&rows, &ours, Beside { connected: Some(12.0), ..beside }, &mut own), None);
    let blind = gauges(&rows, &ours, Beside { idle_in_transaction: None, ..beside }, &mut own).unwrap();
    assert_eq!(find(&blind, Counter::SessionsWaitingForClients), None);
}

#[test]
fn the_redo_log_is_full_where_sessions_write_pages() {
    let of = |values: &[(&str, u64)]| {
        let status = status(values);
        redo_log_percent(&status).map(|percent| percent.round() as u32)
    };
    assert_eq!(of(&[("Innodb_checkpoint_age", 2_500), ("Innodb_checkpoint_max_age", 2_500)]), Some(100));
    let mysql = [("Innodb_redo_log_logical_size", 600), ("Innodb_redo_log_capacity_resized", 1_000)];
    assert_eq!(of(&mysql), Some(75));
    assert_eq!((of(&mysql[..1]), of(&[("Innodb_checkpoint_age", 1), ("Innodb_checkpoint_max_age", 0)])), (None, None));
}

#[test]
fn sessions_in_front_of_innodb_neither_compute_nor_read() {
    let ours = Ours::from([1, 2, 3]);
    let rows = [1, 2, 3, 4].map(|id| row(id, "plimsoll", "Query", "executing"));
    let beside = Beside {
        own: 9,
        connected: None,
        row_locks: [0.0, 0.0],
        idle_in_transaction: None,
        pending_reads: 0.0,
        in_front: in_front_of_innodb("ROW OPERATIONS\n---\n1 queries inside InnoDB, 2 queries in queue\n1 read views"),
    };
    let own = &mut OwnReads::default();
    let of = |beside, own: &mut OwnReads| {
        let known = gauges(&rows[..3], &ours, beside, own).unwrap();
        [Counter::SessionsWaitingForWorkers, Counter::SessionsOnCpu].map(|metric| find(&known, metric))
    };
    assert_eq!(of(beside, own), [Some(2.0), Some(1.0)]);
    // The status may be of another moment than the list.
    assert_eq!(of(Beside { in_front: Some(7.0), ..beside }, own), [Some(3.0), Some(0.0)]);
    assert_eq!(of(Beside { in_front: None, ..beside }, own), [None, Some(3.0)]);
    // Whose the waiting ones are is not told.
    let known = gauges(&rows, &ours, beside, own).unwrap();
    assert_eq!(find(&known, Counter::SessionsWaitingForWorkers), Some(1.5));
    assert_eq!(in_front_of_innodb("nothing of a queue"), None);
}
