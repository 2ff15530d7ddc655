//! What is said beside a limit, and why none is named: delays that a setting asks for, too few looks, threads without a CPU, requests that
//! were made again.

use super::*;

fn seen(column: &str, values: &[f64], others: &[(&str, f64)]) -> Samples {
    let mut all = samples(others);
    let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    all.seconds.truncate(values.len());
    for one in &mut all.columns {
        one.values.truncate(values.len());
    }
    all.columns.push(SampleColumn { metric: column.to_owned(), momentary: true, values, ..SampleColumn::default() });
    all
}

fn judge_of(samples: &Samples, load: &Load) -> Judged {
    let end = samples.seconds.last().copied().unwrap();
    let stretch = Segment { samples, between: (0.0, end), seconds: &STEADY, stalls: &[] };
    judge(&stretch, &ceilings(&[("machine_cpu", 8.0)]), load)
}

#[test]
fn a_wait_for_the_log_that_a_setting_asks_for_is_not_the_logs() {
    let samples = seen("waiting_for_log_write", &[7.8, 7.9, 7.7, 7.8, 7.9, 7.8], &[("server_cpu", 0.1)]);
    assert_eq!(judge_of(&samples, &closed(8.0)).limits(), Some(vec!["log_write"]));
    let load = Load { commit_delay: Some("the setting binlog_commit_wait_usec = 100000".to_owned()), ..closed(8.0) };
    let judged = judge_of(&samples, &load);
    assert_eq!(judged.limits(), None);
    let reason = judged.abstained.unwrap();
    assert!(reason.starts_with("the setting binlog_commit_wait_usec = 100000 makes commits wait"), "{reason}");
    // Silences are no device's then either.
    let stalls = [Stall { started_seconds: 1.0, seconds: 3.0 }];
    let stretch = Segment { samples: &samples, between: (0.0, 6.0), seconds: &STEADY, stalls: &stalls };
    assert!(judge(&stretch, &[], &load).found.iter().all(|found| found.rule.limit != "device"));
}

#[test]
fn a_few_looks_name_nothing_and_many_tell_how_far_chance_goes() {
    let judged = judge_of(&seen("waiting_for_worker", &[4.0, 4.1, 4.0], &[("server_cpu", 0.1)]), &closed(8.0));
    assert_eq!(judged.limits(), None);
    assert_eq!(
        judged.abstained.unwrap(),
        "only 3 looks say that sessions waited until the server's limit of threads let them work"
    );
    let several = [7.9, 3.0, 7.0, 7.9, 2.0, 7.5];
    let judged = judge_of(&seen("waiting_for_worker", &several, &[("server_cpu", 0.1)]), &closed(8.0));
    assert_eq!(judged.limits(), Some(vec!["workers"]));
    let gain = judged.evidence.iter().find(|sentence| sentence.starts_with("by the model, a thread")).unwrap();
    assert!(gain.contains("% within the chance of 6 looks)"), "{gain}");
    let alike = [7.0, 7.1, 7.0, 6.9, 7.0, 7.0];
    let judged = judge_of(&seen("waiting_for_worker", &alike, &[("server_cpu", 0.1)]), &closed(8.0));
    assert!(judged.evidence.iter().all(|sentence| !sentence.contains("chance")), "{:?}", judged.evidence);
}

#[test]
fn a_full_control_group_is_told_where_sessions_read() {
    let of = |reading, used| {
        let columns = [("server_memory", used), ("waiting_for_data_read", reading), ("data_reads", 300.0)];
        let evidence = judged(&columns, &[("server_memory", 256.0)], &closed(8.0), &STEADY).evidence;
        evidence.into_iter().find(|sentence| sentence.contains("lets the server use"))
    };
    assert!(of(6.0, 255.0).unwrap().contains("lets the server use 256 MB, and with the pages of files"));
    assert_eq!((of(6.0, 200.0), of(0.0, 255.0)), (None, None));
}

#[test]
fn threads_that_wait_for_a_cpu_are_not_sessions_that_did_nothing() {
    let columns = |queued| {
        [
            ("server_cpu", 0.9),
            ("server_cpu_queue", queued),
            ("client_cpu", 0.2),
            ("client_cpu_queue", 0.6 * queued),
            ("other_cpu", 0.6),
            ("on_cpu", 1.0),
            ("waiting_for_lock", 0.0),
        ]
    };
    let load = Load { busy: Some(7.9), ..closed(8.0) };
    let of = |queued| judged(&columns(queued), &[("machine_cpu", 2.0)], &load, &STEADY);
    let said = |judged: &Judged| judged.abstained.clone().unwrap_or_default();
    assert!(said(&of(0.1)).contains("neither computed nor waited"), "{:?}", of(0.1));
    assert!(!said(&of(4.5)).contains("neither computed nor waited"), "{:?}", of(4.5));
}

#[test]
fn a_limit_of_a_device_is_told_of_the_device() {
    let columns = [("log_disk_writes", 285.0), ("waiting_for_log_write", 7.0), ("log_writes", 95.0)];
    let judged = judged(&columns, &[("log_disk_write_iops", 300.0)], &closed(8.0), &STEADY);
    assert_eq!(judged.limits(), Some(vec!["log_write"]));
    assert!(
        judged.evidence[0].starts_with("writes of the log's disk stood at 95 % of the limit"),
        "{:?}",
        judged.evidence
    );
}

#[test]
fn a_disk_that_others_keep_busy_does_not_say_how_long_a_read_took() {
    let of = |own| {
        let columns = [
            ("waiting_for_data_read", 6.0),
            ("disk_reads", 100.0),
            ("disk_read_latency", 200.0),
            ("disk_read_rate", 40.0),
            ("device_read_rate", own),
        ];
        judged(&columns, &[], &closed(8.0), &STEADY).evidence
    };
    let tells = |evidence: &[String]| evidence.iter().any(|one| one.starts_with("a read of the disk took 200 ms"));
    assert!(tells(&of(39.0)), "{:?}", of(39.0));
    assert!(!tells(&of(2.0)), "{:?}", of(2.0));
}

#[test]
fn requests_that_were_made_again_are_named_beside_the_limit() {
    let load = Load { between_attempts: 0.31, ..closed(8.0) };
    let judged = judged(&[("waiting_for_lock", 6.5), ("cpu", 0.2)], &[("cpu", 2.0)], &load, &STEADY);
    assert!(
        judged.evidence[0].starts_with("31 % of the requests' time passed between an attempt"),
        "{:?}",
        judged.evidence
    );
    // A deadlock takes its time in the server.
    let of = |made_again| {
        let load = Load { made_again, ..closed(8.0) };
        let evidence =
            super::judged(&[("waiting_for_lock", 6.5), ("cpu", 0.2)], &[("cpu", 2.0)], &load, &STEADY).evidence;
        evidence.iter().find(|one| one.contains("were tried again")).cloned()
    };
    assert!(of(0.069).is_some_and(|told| told.starts_with("6.9 of 100 requests were tried again after a deadlock")));
    assert_eq!(of(0.005), None);
}

#[test]
fn sessions_that_mostly_wait_to_try_again_are_held_up_by_that() {
    let of = |between_attempts| {
        let load = Load { between_attempts, busy: Some(8.0 * (1.0 - between_attempts)), ..closed(8.0) };
        judged(&[("waiting_for_log_write", 1.1), ("server_cpu", 0.9)], &[("cpu", 2.0)], &load, &STEADY)
    };
    let held = of(0.4);
    assert!(held.beyond.is_some_and(|(beyond, sessions)| beyond == Beyond::Retrying && (sessions - 3.2).abs() < 1e-9));
    assert_eq!(held.limits(), Some(vec![]));
    assert_eq!(held.evidence[0], "3.2 of 8 sessions waited to try a request again that had failed in a conflict");
    assert_eq!(of(0.1).beyond, None);
}

#[test]
fn looks_outside_of_the_time_are_not_called_missing() {
    let samples = seen("waiting_for_worker", &[4.0, 4.1], &[]);
    let stretch = Segment { samples: &samples, between: (20.0, 24.0), seconds: &STEADY, stalls: &[] };
    let judged = judge(&stretch, &[], &closed(8.0));
    assert_eq!(judged.abstained.as_deref(), Some("none of 2 looks at the server fell into this time"));
}

#[test]
fn whoever_sleeps_with_locks_is_named_before_the_locks() {
    let of = |asleep, locked| {
        let columns = [("waiting_for_lock", locked), ("sleeping", asleep), ("cpu", 0.2)];
        judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY)
    };
    assert_eq!(of(4.0, 2.2).beyond, Some((Beyond::Asleep, 4.0)));
    assert_eq!(of(4.0, 2.2).limits(), Some(vec![]));
    assert_eq!(of(1.0, 6.5).limits(), Some(vec!["locks"]));
}

#[test]
fn a_use_is_known_for_as_many_intervals_as_its_own_columns_are() {
    let of = |metric: &str| {
        let mut samples = samples(&[("server_cpu", 0.499), ("client_cpu", 0.3), ("other_cpu", 0.1), ("on_cpu", 6.0)]);
        let column = samples.columns.iter_mut().find(|column| column.metric == metric).unwrap();
        column.values[0] = None;
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 0.5), ("machine_cpu", 2.0)]), &closed(8.0)).evidence.remove(0)
    };
    assert!(of("client_cpu").starts_with("CPU stood at 99.8 % of the limit on average: "), "{}", of("client_cpu"));
    assert!(of("server_cpu").contains("on average, by 9 of 10 intervals: "), "{}", of("server_cpu"));
}

#[test]
fn sessions_that_a_quota_keeps_from_starting_are_not_counted_by_looks() {
    let of = |seen| {
        let columns = [("server_cpu", 0.298), ("on_cpu", seen), ("waiting_for_client", 7.9 - seen)];
        let load = Load { busy: Some(7.9), ..closed(8.0) };
        judged(&columns, &[("cpu", 0.3), ("machine_cpu", 2.0)], &load, &STEADY)
    };
    let tells = |judged: &Judged| judged.evidence.iter().any(|one| one.contains("sessions computed or waited for CPU"));
    assert_eq!(of(0.386).limits(), Some(vec!["cpu"]));
    assert!(!tells(&of(0.386)), "{:?}", of(0.386).evidence);
    assert!(tells(&of(7.5)), "{:?}", of(7.5).evidence);
}

#[test]
fn threads_at_the_cpus_are_told_where_looks_see_fewer_sessions_there() {
    let of = |queue| {
        let columns = [("server_cpu", 1.7), ("server_cpu_queue", queue), ("client_cpu", 0.3), ("on_cpu", 2.9)];
        judged(&columns, &[("machine_cpu", 2.0)], &Load { busy: Some(7.9), ..closed(8.0) }, &STEADY)
    };
    assert_eq!(of(5.9).limits(), Some(vec!["cpu"]));
    let tells = |queue, text: &str| of(queue).evidence.iter().any(|one| one.contains(text));
    assert!(tells(5.9, "7.6 threads of the server had a core or waited for one on average"), "{:?}", of(5.9).evidence);
    assert!(!tells(5.9, "sessions computed"), "{:?}", of(5.9).evidence);
    assert!(tells(1.0, "2.9 of 8 sessions computed or waited for CPU") && !tells(1.0, "threads of the server"));
}

#[test]
fn a_limit_of_threads_for_which_few_sessions_wait_is_no_promise() {
    let of = |waiting: f64| {
        let values: Vec<f64> = (0..10).map(|at| waiting + 0.01 * f64::from(at % 2)).collect();
        judge_of(&seen("waiting_for_worker", &values, &[("waiting_for_log_write", 4.0)]), &closed(8.0))
    };
    assert_eq!(of(0.8).limits(), Some(vec!["log_write"]));
    let open = "it is open whether a thread for every session would help: what the sessions that it lets in would wait for next";
    assert!(of(0.8).evidence.iter().any(|one| one.starts_with(open)), "{:?}", of(0.8).evidence);
    assert_eq!(of(3.0).limits().unwrap()[0], "workers");
}

#[test]
fn memory_is_named_only_where_the_size_of_the_data_is_known() {
    let of = |ceilings: &[(&str, f64)], waiting| {
        let columns = [
            ("waiting_for_log_write", 4.0),
            ("waiting_for_data_read", waiting),
            ("cache_misses", 500.0),
            ("cache_lookups", 3_000.0),
            ("data_reads", 500.0),
            ("cpu", 0.2),
        ];
        judged(&columns, ceilings, &closed(8.0), &STEADY)
    };
    assert_eq!(of(&[], 0.84).limits(), Some(vec!["log_write"]));
    let open = of(&[], 0.84).evidence;
    assert!(open.iter().any(|one| one.starts_with("it is open whether 20 % more memory")), "{open:?}");
    assert_eq!(of(&[("memory", 75.0), ("data", 100.0)], 0.84).limits(), Some(vec!["log_write", "memory"]));
    // The system's cache holds pages as well, as far as a control group lets it.
    let of_group = |used| {
        let columns = [
            ("waiting_for_log_write", 4.0),
            ("waiting_for_data_read", 0.84),
            ("cache_misses", 500.0),
            ("cache_lookups", 3_000.0),
            ("data_reads", 500.0),
            ("server_memory", used),
        ];
        judged(&columns, &[("memory", 10.0), ("server_memory", 75.0), ("data", 100.0)], &closed(8.0), &STEADY).limits()
    };
    assert_eq!(of_group(40.0), Some(vec!["log_write"]));
    assert_eq!(of_group(74.0), Some(vec!["log_write", "memory"]));
    // However much the share of pages that are found promises: those of an index are always found.
    let much = of(&[], 4.0);
    assert_eq!(much.limits(), Some(vec!["data_io", "log_write"]), "{:?}", much.gains());
    assert!(much.gains().iter().all(|gain| gain.limit != "memory"), "{:?}", much.gains());
    assert!(
        much.evidence.iter().any(|one| one.starts_with("it is open whether 20 % more memory")),
        "{:?}",
        much.evidence
    );
}

/// Sessions that write pages until there is room in the redo log look as if they computed.
#[test]
fn where_the_redo_log_is_full_no_core_is_promised() {
    let of = |percent: f64, waits: &[(&str, f64)]| {
        let seen = [("server_cpu", 1.8), ("on_cpu", 3.8), ("redo_log_used", percent)];
        judged(&[&seen, waits].concat(), &[("cpu", 2.0), ("machine_cpu", 2.0)], &closed(4.0), &STEADY)
    };
    assert_eq!(of(60.0, &[]).limits(), Some(vec!["cpu"]));
    let full = of(97.0, &[]);
    assert_eq!(full.limits(), None, "{full:?}");
    assert!(full.abstained.unwrap().contains("in 10 of 10 intervals the redo log was full to 97 %"));
    // Nor is the log named, which sessions wait for while there is room.
    let mut samples = samples(&[("redo_log_used", 86.0), ("on_cpu", 0.2), ("waiting_for_log_write", 3.7)]);
    for (column, full) in samples.columns.iter_mut().zip([100.0, 4.0, 0.0]) {
        column.values[3..7].fill(Some(full));
    }
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let judged_log = judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(4.0));
    assert!(
        judged_log.abstained.is_some_and(|reason| reason.starts_with("in 4 of 10 intervals the redo log was full"))
    );
    // What sessions are seen to wait for is seen all the same.
    let locks = [("on_cpu", 0.2), ("server_cpu", 0.2), ("waiting_for_lock", 3.7), ("redo_log_used", 97.0)];
    let limits = judged(&locks, &[("cpu", 2.0), ("machine_cpu", 2.0)], &closed(4.0), &STEADY);
    assert_eq!(limits.limits(), Some(vec!["locks"]), "{limits:?}");
}

/// A standby that answers late holds up most sessions; that the log is written as well is no limit then.
#[test]
fn a_wait_with_a_name_but_without_a_limit_comes_before_a_limit_that_brings_less() {
    let of = |columns: &[(&str, f64)]| {
        let mut samples = samples(&[&[("on_cpu", 0.2), ("waiting", 5.6)], columns].concat());
        samples.columns[1].of = Some("IPC/SyncRep".to_owned());
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0))
    };
    let held = of(&[("waiting_for_others", 5.6), ("waiting_for_log_write", 2.0)]);
    assert_eq!(held.limits(), Some(vec![]), "{held:?}");
    assert!(held.beyond.is_some_and(|(beyond, _)| beyond == Beyond::Named), "{held:?}");
    let first = "5.6 of 8 sessions waited inside the server for what no limit stands for, most of all IPC/SyncRep, the synchronous \
                 standby, at each commit";
    assert_eq!(held.evidence[0], first);
    // Where the log takes more of the time it is the limit all the same, and the machine stopped is no answer.
    let log = of(&[("waiting_for_others", 2.2), ("waiting_for_log_write", 5.4)]);
    assert_eq!(log.limits(), Some(vec!["log_write"]), "{log:?}");
    let stopped = of(&[("waiting_for_others", 5.6), ("waiting_for_log_write", 2.0), ("server_stopped", 40.0)]);
    assert_eq!(stopped.limits(), None, "{stopped:?}");
}
