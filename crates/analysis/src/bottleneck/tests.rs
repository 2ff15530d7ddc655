//! Constructed segments: one limit, two, none, and too little evidence.

use plimsoll_measurement::{Moments, SampleColumn, Samples, Stall};

use super::*;

mod devices;
mod locks;
mod reasons;

/// Samples of ten seconds in which these columns stood still at these values.
fn samples(columns: &[(&str, f64)]) -> Samples {
    let column = |(metric, value): &(&str, f64)| SampleColumn {
        metric: (*metric).to_owned(),
        source: "engine".to_owned(),
        values: vec![Some(*value); 10],
        ..SampleColumn::default()
    };
    Samples {
        seconds: (1..=10).map(f64::from).collect(),
        columns: columns.iter().map(column).collect(),
        ..Samples::default()
    }
}

fn ceilings(of: &[(&str, f64)]) -> Vec<Ceiling> {
    of.iter().map(|(resource, value)| Ceiling::new(resource, *value, "the test").unwrap()).collect()
}

fn judged(columns: &[(&str, f64)], of: &[(&str, f64)], load: &Load, seconds: &[f64]) -> Judged {
    let samples = samples(columns);
    judge(&Segment { samples: &samples, between: (0.0, 10.0), seconds, stalls: &[] }, &ceilings(of), load)
}

fn closed(sessions: f64) -> Load {
    Load { sessions, ..Load::default() }
}

const STEADY: [f64; 10] = [400.0; 10];

#[test]
fn a_full_device_is_named_with_what_it_stood_at() {
    let columns = [("data_reads", 495.0), ("waiting_for_data_read", 14.0), ("cpu", 0.4)];
    let judged = judged(&columns, &[("data_iops", 500.0), ("cpu", 2.0)], &closed(16.0), &STEADY);
    assert_eq!(judged.limits(), Some(vec!["data_iops"]));
    assert_eq!(
        judged.evidence[0],
        "data I/Os a second stood at 99 % of the limit on average: 495 of 500 1/s (the test), at 90 % or more in 10 of 10 intervals"
    );
    assert_eq!(judged.evidence[1], "14 of 16 sessions waited for data to be read on average");
    assert!(judged.gains()[0].gain_percent > 15.0, "{:?}", judged.gains());
}

#[test]
fn a_resource_behind_another_is_not_named() {
    let columns = [("data_reads", 499.0), ("waiting_for_data_read", 10.0), ("log_write_rate", 9.0)];
    let judged = judged(&columns, &[("data_iops", 500.0), ("log_bandwidth", 10.0)], &closed(16.0), &STEADY);
    assert_eq!(judged.limits(), Some(vec!["data_iops"]));
    assert!(judged.evidence.iter().any(|sentence| sentence.starts_with("next: log writes stood at 90 %")));
}

#[test]
fn latencies_alone_are_no_limit() {
    let columns = [("data_reads", 400.0), ("waiting_for_data_read", 3.0), ("cpu", 0.1)];
    let judged = judged(&columns, &[("data_iops", 5000.0), ("cpu", 2.0)], &closed(4.0), &STEADY);
    assert_eq!(judged.limits(), Some(vec![]));
}

#[test]
fn locks_and_clients_are_named_by_the_time_that_they_take() {
    let judged_of = |columns: &[(&str, f64)], client| {
        judged(columns, &[("cpu", 2.0)], &Load { client, ..closed(8.0) }, &STEADY).limits().unwrap()
    };
    assert_eq!(judged_of(&[("waiting_for_lock", 6.5), ("cpu", 0.2)], None), ["locks"]);
    assert_eq!(judged_of(&[("cpu", 0.2)], Some(0.6)), ["client"]);
    assert_eq!(judged_of(&[("waiting_for_lock", 0.1), ("cpu", 0.2)], Some(0.05)), Vec::<&str>::new());
}

#[test]
fn a_device_that_stands_still_is_named_beside_what_binds_else() {
    let mut samples = samples(&[("data_reads", 499.0), ("waiting_for_data_read", 14.0)]);
    for at in [3, 4] {
        samples.columns[0].values[at] = Some(0.0);
    }
    let seconds = [400.0, 400.0, 400.0, 0.0, 0.0, 400.0, 400.0, 400.0, 400.0, 400.0];
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &seconds, stalls: &[] };
    let judged = judge(&stretch, &ceilings(&[("data_iops", 500.0)]), &closed(16.0));
    assert_eq!(judged.limits(), Some(vec!["device", "data_iops"]));
    assert!(judged.evidence[0].starts_with("for 20 % of the time"), "{:?}", judged.evidence);
}

#[test]
fn who_does_all_that_is_asked_has_no_limit() {
    let load = Load { asked: Some(400.0), ..closed(16.0) };
    let judged = judged(&[("data_reads", 495.0)], &[("data_iops", 500.0)], &load, &STEADY);
    assert_eq!(judged.limits(), Some(vec![]));
    assert_eq!(judged.gains(), []);
}

#[test]
fn a_few_answers_tell_nothing() {
    let of = |answers| {
        let load = Load { answers: Some(answers), ..closed(16.0) };
        judged(&[("data_reads", 495.0)], &[("data_iops", 500.0)], &load, &STEADY).limits()
    };
    assert_eq!((of(79), of(80)), (None, Some(vec!["data_iops"])));
}

#[test]
fn data_that_has_grown_since_is_not_all_in_memory() {
    let columns =
        [("data_reads", 37.0), ("cache_misses", 37.0), ("cache_lookups", 60.0), ("waiting_for_data_read", 3.5)];
    let of = |data| {
        let judged =
            judged(&columns, &[("data_iops", 40.0), ("memory", 8.0), ("data", data)], &closed(4.0), &[1.0; 10]);
        judged.gains().into_iter().find(|lift| lift.limit == "memory").map(|lift| lift.gain_percent)
    };
    assert_eq!(of(1.1), None, "how large they are now is not known, so nothing is promised");
    assert!(of(80.0) < Some(5.0) && of(9.0) > Some(50.0), "{:?} {:?}", of(80.0), of(9.0));
}

#[test]
fn without_samples_or_a_rate_there_is_not_enough_evidence() {
    assert_eq!(judged(&[("cpu", 1.0)], &[("cpu", 1.0)], &closed(4.0), &[]).limits(), None);
    let stretch = Segment { samples: &Samples::default(), between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    assert_eq!(judge(&stretch, &[], &closed(4.0)).limits(), None);
    let silent = judged(&[("cpu", 1.0)], &[("cpu", 1.0)], &closed(4.0), &[0.0; 10]);
    assert_eq!(silent.abstained.as_deref(), Some("nobody was answered from second 0.0 to second 10.0"));
}

#[test]
fn a_limit_that_is_not_used_to_the_full_has_a_theoretical_maximum_unless_the_cpu_may_end_before() {
    let of = |cpu: Option<f64>| {
        let mut columns = vec![("data_reads", 440.0), ("waiting_for_data_read", 9.5)];
        columns.extend(cpu.map(|cpu| ("cpu", cpu)));
        let judged = judged(&columns, &[("data_iops", 500.0), ("cpu", 1.0)], &closed(10.0), &STEADY);
        assert_eq!(judged.limits(), Some(vec!["data_iops"]));
        (judged.theoretical_gain_percent(), judged.evidence[1].clone())
    };
    let (gain, sentence) = of(Some(0.2));
    assert_eq!(gain, Some(13.6));
    assert_eq!(sentence, "at full use of this limit the rate would be 13.6 % higher, its theoretical maximum");
    let (gain, sentence) = of(None);
    assert!(gain.is_none() && sentence.contains("unless the CPU fills up first"), "{sentence}");
}

#[test]
fn latencies_stand_beside_those_of_the_seconds_in_which_there_was_no_need_to_wait() {
    let mut samples = samples(&[("data_reads", 495.0), ("data_read_latency", 24.0), ("waiting_for_data_read", 14.0)]);
    for (column, early) in [(0, 100.0), (1, 1.5)] {
        samples.columns[column].values[..3].fill(Some(early));
    }
    let stretch = Segment { samples: &samples, between: (4.0, 10.0), seconds: &STEADY, stalls: &[] };
    let judged = judge(&stretch, &ceilings(&[("data_iops", 500.0)]), &closed(16.0));
    let sentence = "a read of data took 24 ms on average, against 1.5 while at most half of the limit was used";
    assert!(judged.evidence.iter().any(|one| one == sentence), "{:?}", judged.evidence);
}

#[test]
fn a_quota_that_comes_in_pieces_is_no_device_that_stands_still() {
    let stalls: Vec<Stall> =
        (0..100).map(|tenth| Stall { started_seconds: f64::from(tenth) / 10.0, seconds: 0.07 }).collect();
    let of = |cpu: f64| {
        let samples = samples(&[("cpu", cpu), ("waiting_for_data_read", 7.0), ("data_reads", 10.0)]);
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &stalls };
        judge(&stretch, &ceilings(&[("cpu", 0.3)]), &closed(8.0)).limits()
    };
    // 0.29 of 0.3 cores in the three tenths of the time in which something moved would be three times what there is.
    assert_eq!(of(0.29).unwrap()[0], "cpu");
    assert_eq!(of(0.01).unwrap()[0], "device");
}

/// 32 sessions commit in two groups, with syncs of 15 ms: often nobody is answered for 30 ms.
#[test]
fn a_group_commits_rhythm_is_no_device_that_stands_still() {
    let stalls_of = |seconds: f64| -> Vec<Stall> {
        (0..60).map(|at| Stall { started_seconds: f64::from(at) / 6.0, seconds }).collect()
    };
    let of = |seconds: f64| {
        let samples = samples(&[("waiting_for_log_write", 29.0)]);
        let stalls = stalls_of(seconds);
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &[1500.0; 10], stalls: &stalls };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(32.0)).limits()
    };
    assert_eq!(of(0.03), Some(vec!["log_write"]));
    assert_eq!(of(0.1).unwrap()[0], "device");
}

#[test]
fn what_is_used_by_more_than_there_is_is_used_to_the_full() {
    let columns = [("log_writes", 75.0), ("waiting_for_log_write", 3.9)];
    let judged = judged(&columns, &[("log_iops", 60.0)], &closed(4.0), &[75.0; 10]);
    assert_eq!(judged.limits(), Some(vec!["log_write"]));
}

#[test]
fn memory_saves_no_writes() {
    let columns = |reads| {
        [("data_reads", reads), ("data_writes", 490.0 - reads), ("cache_misses", reads), ("cache_lookups", 4000.0)]
    };
    let limits = [("data_iops", 500.0), ("memory", 90.0), ("data", 100.0)];
    let of = |reads| judged(&columns(reads), &limits, &closed(16.0), &STEADY).limits();
    assert_eq!(of(2.0), Some(vec!["data_iops"]));
    assert!(of(450.0).unwrap().contains(&"memory"));
}

#[test]
fn an_engine_s_own_percentage_of_the_same_limit_is_no_second_one() {
    let columns = [("device_read_rate", 5.92), ("data_io_percent", 98.0), ("waiting_for_data_read", 0.97)];
    let full = judged(&columns, &[("data_bandwidth", 6.0)], &closed(1.0), &STEADY);
    assert_eq!(full.limits(), Some(vec!["data_bandwidth"]));
    assert!(full.gains()[0].gain_percent > 15.0, "{:?}", full.gains());
    // ... nor does it count where the limit is hardly used, of which it knows other intervals.
    let columns = [("data_reads", 278.0), ("data_io_percent", 5.5), ("waiting_for_data_read", 0.75)];
    let idle = judged(&columns, &[("data_iops", 27_800.0)], &closed(1.0), &STEADY);
    assert_eq!(idle.limits(), Some(vec![]), "{:?}", idle.gains());
}

/// Server and client on a machine of two cores that they share with others.
fn on_one_machine(server: f64, client: f64, others: f64, load: &Load) -> Judged {
    let columns = [("server_cpu", server), ("client_cpu", client), ("other_cpu", others)];
    judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)], load, &STEADY)
}

#[test]
fn who_has_answered_and_has_no_cpu_does_not_wait_for_the_client() {
    let of = |queue: f64| {
        let columns = [
            ("waiting_for_client", 4.0),
            ("server_cpu", 1.3),
            ("server_cpu_queue", queue),
            ("client_cpu", 0.6),
            ("client_cpu_queue", 0.2),
            ("waiting", 4.0),
        ];
        let mut samples = samples(&columns);
        samples.columns[5].of = Some("Writing to net".to_owned());
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        let judged =
            judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)]), &closed(8.0));
        judged.evidence.join("; ")
    };
    assert!(of(0.5).contains("Writing to net (4)"), "{}", of(0.5));
    let full = of(6.0);
    assert!(!full.contains("Writing to net (4)") && !full.contains("4 of 8 sessions waited for the client"), "{full}");
}

#[test]
fn what_the_client_needs_less_of_a_cpu_is_there_for_the_server() {
    let both = on_one_machine(1.45, 0.53, 0.0, &closed(16.0));
    assert_eq!(both.limits(), Some(vec!["cpu", "client"]));
    let client = both.gains().into_iter().find(|lift| lift.limit == "client").unwrap();
    // A fifth of 0.53 of 1.98 cores.
    assert!((5.0..6.0).contains(&client.gain_percent), "{client:?}");
    // A server with a CPU quota of its own has nothing of that.
    let columns = [("server_cpu", 0.5), ("client_cpu", 0.2), ("other_cpu", 0.0)];
    let of = [("cpu", 0.5), ("machine_cpu", 2.0), ("client_cpu", 2.0)];
    assert_eq!(judged(&columns, &of, &closed(16.0), &STEADY).limits(), Some(vec!["cpu"]));
}

#[test]
fn others_work_on_the_same_cpus_is_no_limit_of_the_server() {
    let judged = on_one_machine(0.2, 0.1, 1.7, &closed(8.0));
    assert!(
        judged
            .abstained
            .as_ref()
            .is_some_and(|reason| reason.starts_with("other processes used 85 % of the machine's CPU")),
        "{judged:?}"
    );
    // A lone session has a core for itself beside one that is others', but not beside two.
    let lone = |server, others| on_one_machine(server, 0.2, others, &closed(1.0));
    assert_eq!(lone(0.75, 0.95).gains()[0].change, "cores that are 20 % faster");
    assert_eq!((lone(0.3, 0.95).limits(), lone(0.3, 1.5).limits()), (Some(vec!["client"]), None));
    // It fills its core for half of the time only: its speed is no limit that is named, but what it would bring is said first.
    let gains: Vec<String> = lone(0.3, 0.95).gains().into_iter().map(|lift| lift.change).collect();
    assert_eq!(gains, ["cores that are 20 % faster", "a client that needs 20 % less for a request"]);
    let judged = on_one_machine(1.7, 0.1, 0.18, &closed(16.0));
    assert_eq!(judged.limits(), Some(vec!["cpu"]));
    let whose = "CPU of the whole machine stood at 99 % on average: 1.98 of 2 cores (1.7 the server's, 0.1 our client's, 0.18 other processes')";
    assert!(judged.evidence[0].starts_with(whose), "{judged:?}");
}

#[test]
fn one_session_computes_on_one_core() {
    let of =
        |cores: f64, sessions: f64, used: f64| judged(&[("cpu", used)], &[("cpu", cores)], &closed(sessions), &STEADY);
    let change = |judged: &Judged| (judged.limits().unwrap(), judged.gains().first().map(|lift| lift.change.clone()));
    let more = Some("20 % more CPU cores".to_owned());
    assert_eq!(change(&of(0.5, 1.0, 0.5)), (vec!["cpu"], more.clone()));
    assert_eq!(change(&of(2.0, 16.0, 2.0)), (vec!["cpu"], more));
    // A core that is full is a limit, of which there is no more by more of them.
    let faster = Some("cores that are 20 % faster".to_owned());
    assert_eq!(change(&of(1.0, 1.0, 0.99)), (vec!["cpu"], faster.clone()));
    assert_eq!(change(&of(2.0, 1.0, 0.95)), (vec!["cpu"], faster));
    let half = of(2.0, 1.0, 0.7);
    assert_eq!(half.limits(), Some(vec![]));
    let sentence = "a session uses one core at a time: by the model, cores that are 20 % faster would raise the rate by about 13.2 %";
    assert!(half.evidence.iter().any(|one| one.starts_with(sentence)), "{:?}", half.evidence);
}

#[test]
fn who_works_in_parallel_may_use_more_cores_than_are_seen() {
    // What client and kernel do beside it is no second core of the session's.
    assert_eq!(on_one_machine(0.8, 0.2, 0.0, &closed(1.0)).limits().unwrap()[0], "cpu");
    let judged = judged(&[("server_cpu", 1.2)], &[("cpu", 2.0)], &closed(1.0), &STEADY);
    assert!(judged.abstained.as_ref().is_some_and(|reason| reason.contains("work in parallel")), "{judged:?}");
}

#[test]
fn shares_of_work_that_overlaps_are_no_evidence_and_faster_cores_bring_no_more_than_they_are_faster() {
    // Server and client of one session: more than all of its time.
    let overlapping = on_one_machine(0.997, 0.267, 0.0, &closed(1.0));
    let reason = overlapping.abstained.as_deref().unwrap();
    assert!(reason.starts_with("1 sessions used 1.26 cores, so they work in parallel"), "{reason}");
    // A little above what there is may be the samples' error.
    for client in [0.0, 0.05, 0.09, 0.267] {
        for (sessions, others) in [(1.0, 0.0), (1.0, 0.5), (2.0, 0.0)] {
            let judged = on_one_machine(0.997 * sessions, client, others, &closed(sessions));
            for gain in judged.gains().iter().filter(|gain| gain.change == "cores that are 20 % faster") {
                assert!(gain.gain_percent <= 20.0, "{client} {sessions} {others}: {gain:?}");
            }
            assert!(judged.faster_cores.is_none_or(|gain| gain < 20.001), "{client} {sessions} {others}: {judged:?}");
        }
    }
    let lone = on_one_machine(0.997, 0.05, 0.0, &closed(1.0));
    assert_eq!((lone.limits(), lone.gains()[0].gain_percent), (Some(vec!["cpu"]), 20.0));
}

#[test]
fn time_of_which_nothing_is_seen_is_not_nothing() {
    let load = Load { busy: Some(1.0), ..closed(1.0) };
    let of = |columns: &[(&str, f64)]| {
        let mut samples = samples(columns);
        let disk = samples.columns.iter_mut().find(|column| column.metric == "disk_busy");
        if let Some(disk) = disk {
            disk.of = Some("sda".to_owned());
        }
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0)]), &load).abstained
    };
    // An engine that says nothing of waits, and computes for two fifths of the time.
    let reason = of(&[("client_cpu", 0.4), ("disk_busy", 55.0)]).unwrap();
    assert_eq!(
        reason,
        "of 1.0 sessions with a request under way, 0.6 did not compute; what they waited for is unknown, because the samples have no waits; the disk sda was busy for 55 % of the time"
    );
    let reason = of(&[("client_cpu", 0.4), ("waiting_for_lock", 0.01)]).unwrap();
    let neither = "0.6 neither computed nor waited for anything that the samples show";
    assert!(reason.ends_with(neither), "{reason}");
    let reason = of(&[("waiting_for_lock", 0.01)]).unwrap();
    assert!(
        reason.ends_with("1.0 waited for nothing that the samples show; whether they computed is unknown"),
        "{reason}"
    );
    let reason = of(&[]).unwrap();
    assert!(reason.starts_with("what 1.0 sessions with a request under way did is unknown"), "{reason}");
    assert_eq!(of(&[("client_cpu", 0.95)]), None);
    assert_eq!(of(&[("client_cpu", 0.4), ("sleeping", 0.6)]), None);
    // The machine may have seen it.
    for cores in [0.7, 0.98] {
        let reason = of(&[("server_cpu", cores), ("other_cpu", 0.1), ("io_stall", 28.0)]).unwrap();
        let stalled = "for 28 % of the time every active process on the machine waited for storage";
        assert!(reason.starts_with(stalled), "{reason}");
    }
    // ... and may say what an engine says in part.
    let commits = |stall| {
        let columns = [("waiting_for_log_write", 0.4), ("server_cpu", 0.05), ("other_cpu", 0.0), ("io_stall", stall)];
        judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0)], &load, &STEADY).limits()
    };
    assert_eq!((commits(10.0), commits(70.0)), (None, Some(vec!["log_write"])));
}

#[test]
fn what_the_server_names_needs_no_machine_that_has_seen_it() {
    let columns =
        [("waiting_for_others", 7.5), ("waiting", 7.5), ("server_cpu", 0.3), ("other_cpu", 0.1), ("io_stall", 60.0)];
    let mut samples = samples(&columns);
    samples.columns[1].of = Some("IPC/SyncRep".to_owned());
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let judged = judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0)]), &closed(8.0));
    assert_eq!(judged.limits(), Some(vec![]), "{:?}", judged.abstained);
    let named = "inside the server for: IPC/SyncRep, the synchronous standby, at each commit (7.5)";
    assert!(judged.evidence.iter().any(|sentence| sentence.ends_with(named)), "{:?}", judged.evidence);
}

#[test]
fn a_device_that_serves_others_meanwhile_does_not_stand_still() {
    let stalls = [Stall { started_seconds: 3.0, seconds: 3.0 }];
    let of = |writes: f64| {
        let mut samples = samples(&[("waiting_for_log_write", 7.0), ("disk_writes", 60.0), ("log_writes", 50.0)]);
        samples.columns[1].values[3..6].fill(Some(writes));
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &stalls };
        judge(&stretch, &ceilings(&[("disk_write_iops", 100.0)]), &closed(8.0)).limits()
    };
    assert_eq!(of(0.0).unwrap()[0], "device");
    assert!(!of(100.0).unwrap_or_default().contains(&"device"));
}

/// Sessions that are seen to wait at some looks and not at others.
fn at_looks(metric: &str, seen: &[f64], load: &Load) -> Judged {
    let mut samples = samples(&[(metric, 0.0), ("server_cpu", 0.1), ("other_cpu", 0.0)]);
    samples.columns[0].momentary = true;
    samples.columns[0].values = seen.iter().copied().map(Some).collect();
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0)]), load)
}

#[test]
fn a_few_looks_are_chance() {
    let of = |seen: [f64; 10]| at_looks("waiting_for_log_write", &seen, &closed(1.0));
    // Three of ten, give or take 0.15, of which a fifth saves 2.6 to 8 %.
    let open = of([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]).abstained.unwrap();
    let words = "in 10 looks 0.30 of 1 sessions waited for the log to be written on average, give or take 0.15";
    assert!(open.starts_with(words), "{open}");
    // One of ten is nothing by itself, and may be more.
    assert!(of([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).abstained.is_some());
    assert_eq!(of([0.0; 10]).limits(), Some(vec![]));
    let clear = of([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(clear.limits(), Some(vec!["log_write"]));
    let words = "0.8 of 1 sessions waited for the log to be written on average, in 10 looks";
    assert!(clear.evidence.iter().any(|sentence| sentence == words), "{:?}", clear.evidence);
    // Nor is a second limit named by chance beside one that is plain.
    let both = |seen: [f64; 10]| {
        let mut samples = samples(&[("waiting_for_lock", 0.0), ("waiting_for_log_write", 3.0)]);
        samples.columns[0].momentary = true;
        samples.columns[0].values = seen.into_iter().map(Some).collect();
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        let judged = judge(&stretch, &[], &closed(8.0));
        let is_open = judged.evidence.iter().any(|sentence| sentence.starts_with("it is open whether the same locks"));
        (judged.limits().unwrap(), is_open)
    };
    assert_eq!(both([0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]), (vec!["log_write"], true));
    assert_eq!(both([0.0; 10]), (vec!["log_write"], false));
    assert_eq!(both([1.0; 10]), (vec!["locks", "log_write"], false));
}

#[test]
fn what_sessions_of_others_use_is_not_seen() {
    let of = |columns: &[(&str, f64)]| {
        let all = [columns, &[("server_cpu", 0.3), ("other_cpu", 0.0)]].concat();
        judged(&all, &[("data_iops", 500.0), ("cpu", 2.0), ("machine_cpu", 2.0)], &closed(8.0), &STEADY)
    };
    let reads = [("data_reads", 495.0), ("sessions_of_others", 3.0)];
    // The device is full, and ours don't wait for it.
    let open = of(&[reads[0], reads[1], ("waiting_for_data_read", 0.1)]).abstained.unwrap();
    assert!(open.starts_with("3.00 other sessions were active beside our 8"), "{open}");
    let waiting = of(&[reads[0], reads[1], ("waiting_for_data_read", 7.0)]);
    assert_eq!(waiting.limits(), Some(vec!["data_iops"]));
    let words = "on average, 3 other sessions were active on the server";
    assert!(waiting.evidence.iter().any(|sentence| sentence == words), "{:?}", waiting.evidence);
}

#[test]
fn a_servers_own_cpus_are_not_hidden_behind_a_full_machine() {
    let columns = [("server_cpu", 0.976), ("client_cpu", 0.1), ("other_cpu", 0.92), ("on_cpu", 0.2)];
    let judged = judged(&columns, &[("cpu", 1.0), ("machine_cpu", 2.0)], &closed(4.0), &STEADY);
    assert_eq!(judged.limits(), Some(vec!["cpu"]));
    assert!(
        judged.evidence[0].starts_with("CPU stood at 97.6 % of the limit on average: 0.976 of 1 cores"),
        "{judged:?}"
    );
    // Fewer than one that is at work are no count of those who compute.
    assert!(judged.evidence.iter().all(|sentence| !sentence.contains("computed or waited for CPU")), "{judged:?}");
}

#[test]
fn faster_cores_are_told_beside_what_more_of_them_bring() {
    let columns = [("server_cpu", 3.0), ("client_cpu", 0.1)];
    let judged = judged(&columns, &[("cpu", 4.0)], &closed(6.0), &STEADY);
    let cores = judged.found.iter().find(|found| found.lift == "20 % more CPU cores").unwrap().gain_percent;
    let mut told = Judged { faster_cores: Some(7.99), ..judged };
    let samples = samples(&columns);
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let (means, ceilings, load) = (Means::of(&stretch, |_| false), ceilings(&[("cpu", 4.0)]), closed(6.0));
    let model = Model::fitted(&means, &ceilings, &load, 400.0).unwrap();
    told.named = 0;
    let sentence = words::evidence(&model, &told, false).into_iter().find(|text| text.contains("one core")).unwrap();
    assert!(cores >= 0.05, "{cores}");
    let tenths = plimsoll_measurement::units::tenths(cores);
    assert!(sentence.ends_with(&format!("about 8 %, and 20 % more cores by {tenths} %")), "{sentence}");
    let faster = told.gains().into_iter().find(|gain| gain.change.contains("faster")).unwrap();
    assert!((faster.gain_percent - 8.0).abs() < 1e-9, "{faster:?}");
}

#[test]
fn what_is_named_is_proven_before_a_device_that_stood_still() {
    let columns = [("data_reads", 495.0), ("waiting_for_data_read", 14.0)];
    let (stretch, seconds) = (samples(&columns), STEADY);
    let ceilings = ceilings(&[("data_iops", 500.0)]);
    let segment = Segment { samples: &stretch, between: (0.0, 10.0), seconds: &seconds, stalls: &[] };
    let (mut means, load) = (Means::of(&segment, |_| false), closed(16.0));
    means.still = 0.02;
    let model = Model::fitted(&means, &ceilings, &load, 400.0).unwrap();
    let judged = judged(&columns, &[("data_iops", 500.0)], &load, &seconds);
    let evidence = words::evidence(&model, &judged, false);
    assert!(evidence[0].starts_with("data I/Os a second stood at"), "{evidence:?}");
    assert!(evidence.iter().any(|one| one.contains("while active sessions waited for a device")), "{evidence:?}");
}

/// A log that is half of the limit, on a machine of which others use the rest.
fn beside_others(queued: Option<f64>, others: f64) -> Judged {
    let mut columns = vec![
        ("waiting_for_log_write", 6.0),
        ("server_cpu", 0.3),
        ("client_cpu", 0.1),
        ("other_cpu", others),
        ("kernel_cpu", 0.0),
    ];
    columns.extend(queued.map(|queued| ("server_cpu_queue", queued)));
    judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0)], &closed(8.0), &STEADY)
}

#[test]
fn neighbours_cost_what_threads_waited_for_a_core() {
    let reason = beside_others(None, 1.6).abstained.unwrap();
    assert!(reason.contains("whether they slowed the server is unknown"), "{reason}");
    let gave_way = beside_others(Some(0.02), 1.6);
    assert_eq!(gave_way.limits(), Some(vec!["log_write"]), "{gave_way:?}");
    let told = "other processes used 1.6 of 2 cores; on average 0.02 threads of the server and the client waited for a core, so they did not slow it";
    assert!(gave_way.evidence.iter().any(|sentence| sentence == told), "{:?}", gave_way.evidence);
    // A fifth shorter, these waits save 0.25 of 8 sessions.
    assert_eq!(beside_others(Some(1.5), 1.6).limits(), Some(vec!["log_write"]));
    let fought = beside_others(Some(2.5), 1.6);
    assert!(fought.limits().unwrap().contains(&"cpu"), "{fought:?}");
    let most = beside_others(Some(6.0), 1.6).gains().into_iter().find(|gain| gain.limit == "cpu").unwrap();
    assert!(most.gain_percent <= 20.0, "{most:?}");
    // Most of the time is between client and server, whatever they do.
    let columns = [
        ("server_cpu", 0.07),
        ("client_cpu", 0.03),
        ("other_cpu", 1.9),
        ("kernel_cpu", 0.0),
        ("server_cpu_queue", 0.6),
        ("on_cpu", 0.0),
        ("waiting_for_lock", 0.0),
    ];
    let load = Load { busy: Some(8.0), client: Some(0.016), ..closed(8.0) };
    let away = judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)], &load, &STEADY);
    assert_eq!(away.limits().unwrap()[0], "network", "{away:?}");
    // What the client waits for its own quota is none of the server's CPU.
    let columns = [
        ("waiting_for_log_write", 6.0),
        ("server_cpu", 0.3),
        ("client_cpu", 0.1),
        ("other_cpu", 1.0),
        ("kernel_cpu", 0.0),
        ("server_cpu_queue", 0.01),
        ("client_cpu_queue", 3.0),
    ];
    let held =
        |own| judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", own)], &closed(8.0), &STEADY);
    let cpu =
        |judged: &Judged| judged.gains().iter().find(|gain| gain.limit == "cpu").map_or(0.0, |gain| gain.gain_percent);
    assert!(cpu(&held(0.5)) < 1.0 && cpu(&held(2.0)) > 5.0, "{:?} {:?}", held(0.5), held(2.0));
    // An engine in our own threads waits with them.
    let embedded = |queued| {
        let columns = [("client_cpu", 0.6), ("client_cpu_queue", queued), ("other_cpu", 1.3), ("kernel_cpu", 0.0)];
        judged(&columns, &[("machine_cpu", 2.0)], &closed(1.0), &STEADY)
    };
    let waits = embedded(0.35);
    assert_eq!(waits.limits(), Some(vec!["cpu"]), "{waits:?}");
    assert!(waits.evidence.iter().any(|one| one.contains("0.35 threads of this process waited")), "{waits:?}");
    assert!(!embedded(0.0).limits().unwrap_or_default().contains(&"cpu"), "{:?}", embedded(0.0));
    // They took nearly all of the machine, and the server hardly waited for it.
    let hardly = beside_others(Some(0.43), 1.6);
    assert_eq!(hardly.limits(), Some(vec!["log_write"]), "{hardly:?}");
}

#[test]
fn who_waits_for_a_core_in_the_middle_of_a_read_does_not_wait_for_the_device() {
    let of = |reading: f64, queued: f64| {
        let columns = [
            ("waiting_for_data_read", reading),
            ("server_cpu", 0.65),
            ("client_cpu", 0.03),
            ("other_cpu", 1.2),
            ("kernel_cpu", 0.0),
            ("server_cpu_queue", queued),
        ];
        judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0)], &closed(4.0), &STEADY)
    };
    // All of the four would be accounted for twice.
    let hidden = of(2.94, 3.2);
    assert!(!hidden.limits().unwrap_or_default().contains(&"data_io"), "{hidden:?}");
    let told = |judged: &Judged| judged.evidence.iter().find(|told| told.contains("waited for data")).cloned();
    assert_eq!(told(&of(2.94, 0.1)).unwrap(), "2.94 of 4 sessions waited for data to be read on average");
    assert_eq!(of(2.94, 0.1).limits(), Some(vec!["data_io"]));
}

#[test]
fn a_quota_of_the_servers_own_is_what_it_is_held_to() {
    let of = |throttled: f64, queued: &[(&str, f64)]| {
        let columns = [
            ("server_cpu", 0.478),
            ("client_cpu", 0.2),
            ("other_cpu", 1.3),
            ("kernel_cpu", 0.01),
            ("server_throttled", throttled),
        ];
        judged(&[&columns, queued].concat(), &[("cpu", 0.5), ("machine_cpu", 2.0)], &closed(8.0), &STEADY)
    };
    let quota = "CPU stood at 95.6 % of the limit on average: 0.478 of 0.5 cores";
    let held = of(98.0, &[("server_cpu_queue", 6.0)]);
    assert_eq!(held.limits(), Some(vec!["cpu"]), "{held:?}");
    assert!(held.evidence[0].starts_with(quota), "{held:?}");
    // Where nobody says what its threads waited for, the machine is nearly as full.
    assert!(of(98.0, &[]).evidence[0].starts_with(quota));
    assert!(of(0.0, &[]).evidence[0].starts_with("CPU of the whole machine"));
}

/// A server's own pipe is full: its processes wait in the system, which the server calls being active.
#[test]
fn what_the_server_calls_active_and_nobody_sees_is_not_between_client_and_server() {
    let load = Load { client: Some(0.02), busy: Some(8.0), ..closed(8.0) };
    let of = |active: f64| {
        let columns = [
            ("on_cpu", active),
            ("server_cpu", 0.2),
            ("client_cpu", 0.1),
            ("server_cpu_queue", 0.4),
            ("client_cpu_queue", 0.0),
            ("waiting_for_lock", 0.0),
        ];
        judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)], &load, &STEADY)
    };
    assert_eq!(of(0.7).limits(), Some(vec!["network"]));
    let doubtful = of(2.2);
    assert_eq!(doubtful.limits(), None, "{doubtful:?}");
    // What the machine says of it has a name.
    let columns = [
        ("on_cpu", 2.2),
        ("waiting", 7.1),
        ("server_cpu", 0.2),
        ("client_cpu", 0.1),
        ("server_cpu_queue", 0.4),
        ("client_cpu_queue", 0.0),
    ];
    let mut samples = samples(&[&columns[..], &[("waiting_for_lock", 0.0)]].concat());
    samples.columns[1].of = Some(plimsoll_measurement::PIPE_WAIT.to_owned());
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let piped = judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)]), &load);
    assert_eq!(piped.limits(), Some(vec![]), "{piped:?}");
    let named = "room in a pipe, such as that of the server's log (7.1)";
    assert!(piped.evidence.iter().any(|sentence| sentence.ends_with(named)), "{:?}", piped.evidence);
    let told = |what: &str| doubtful.evidence.iter().any(|sentence| sentence.contains(what));
    assert!(
        told("2.2 were active in the server, most of them neither on a CPU nor in a wait"),
        "{:?}",
        doubtful.evidence
    );
}

#[test]
fn what_is_neither_at_the_server_nor_at_the_client_is_between_them() {
    let of = |columns: &[(&str, f64)]| {
        let seen = [("server_cpu", 0.2), ("client_cpu", 0.1), ("server_cpu_queue", 0.01), ("client_cpu_queue", 0.0)];
        let load = Load { busy: Some(7.9), client: Some(0.02), ..closed(8.0) };
        judged(&[&seen, columns].concat(), &[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)], &load, &STEADY)
    };
    let between = of(&[("on_cpu", 0.2), ("waiting_for_log_write", 0.5)]);
    assert_eq!(between.limits(), Some(vec!["network"]), "{between:?}");
    let told = "of 8 sessions had a request under way and were not seen to be worked on";
    assert!(between.evidence.iter().any(|sentence| sentence.contains(told)), "{:?}", between.evidence);
    // The server shows what they wait for.
    assert_eq!(of(&[("on_cpu", 0.2), ("waiting_for_log_write", 7.4)]).limits(), Some(vec!["log_write"]));
    assert_eq!(of(&[("on_cpu", 0.2), ("waiting_for_others", 7.4)]).limits(), Some(vec![]));
}

/// A server, or our own client, that is frozen now and then looks like a slow network, but for the silences.
#[test]
fn what_stands_still_as_a_whole_is_no_network() {
    let columns = [
        ("server_cpu", 0.2),
        ("client_cpu", 0.1),
        ("server_cpu_queue", 0.01),
        ("client_cpu_queue", 0.0),
        ("on_cpu", 0.2),
        ("waiting_for_log_write", 0.5),
    ];
    let samples = samples(&columns);
    let of = |lasts: f64, every: f64| {
        let count = (10.0 / every) as usize;
        let stalls: Vec<Stall> =
            (0..count).map(|place| Stall { started_seconds: every * place as f64, seconds: lasts }).collect();
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &stalls };
        let load = Load { busy: Some(7.9), client: Some(0.02), ..closed(8.0) };
        judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0), ("client_cpu", 2.0)]), &load)
    };
    let frozen = of(0.25, 0.5).abstained.unwrap();
    assert!(frozen.starts_with("in 50 % of the time nobody was answered, for 0.25 s at a time"), "{frozen}");
    assert_eq!(of(0.25, 5.0).limits().unwrap()[0], "network", "seldom");
}

#[test]
fn what_froze_ourselves_is_not_the_servers() {
    let of = |still: f64, throttled: f64| {
        let columns = [
            ("server_cpu", 0.2),
            ("on_cpu", 0.2),
            ("waiting_for_log_write", 7.4),
            ("client_stood_still", still),
            ("client_throttled", throttled),
        ];
        judged(&columns, &[("cpu", 2.0), ("machine_cpu", 2.0)], &closed(8.0), &STEADY)
    };
    let frozen = of(28.0, 0.0).abstained.unwrap();
    assert!(frozen.starts_with("this program itself stood still for 28 % of the time"), "{frozen}");
    assert_eq!(of(3.0, 0.0).limits(), Some(vec!["log_write"]));
    assert!(of(60.0, 80.0).abstained.is_none_or(|reason| !reason.contains("stood still")), "a quota is told as that");
}

/// Samples of what was seen at ten moments.
fn at_moments(seconds: &[f64; 10], columns: &[(&str, &[f64])]) -> Samples {
    let mut samples = samples(&[]);
    let column = |(metric, values): &(&str, &[f64])| SampleColumn {
        metric: (*metric).to_owned(),
        momentary: true,
        values: values.iter().copied().map(Some).collect(),
        ..SampleColumn::default()
    };
    samples.columns = columns.iter().map(column).collect();
    samples.moments = Moments { seconds: seconds.into(), columns: samples.columns.clone() };
    samples
}

/// Somebody else holds a row for 0.4 of each half second. Looks in the rest see the log being written.
#[test]
fn a_silence_is_what_was_seen_in_it() {
    let stalls: Vec<Stall> =
        (0..20).map(|at| Stall { started_seconds: f64::from(at) / 2.0 + 0.05, seconds: 0.4 }).collect();
    let of = |locks: &[f64; 10], log: &[f64; 10]| {
        // Eight at the end of a second and two in a silence.
        let seconds = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.7, 9.7];
        let samples = at_moments(&seconds, &[("waiting_for_lock", locks), ("waiting_for_log_write", log)]);
        let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &stalls };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0)).limits()
    };
    // The eight see none of the locks, and the two see nothing else.
    let (locks, log) =
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 8.0], [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 0.0, 0.0]);
    assert!(!of(&locks, &log).unwrap_or_default().contains(&"device"));
    assert_eq!(of(&[0.0; 10], &[8.0; 10]).unwrap()[0], "device");
}

#[test]
fn a_server_that_was_stopped_is_said() {
    let stalls = [Stall { started_seconds: 2.5, seconds: 4.0 }];
    let seconds = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
    let (stopped, log) = ([0.0, 0.0, 100.0, 100.0, 100.0, 100.0, 0.0, 0.0, 0.0, 0.0], [6.0; 10]);
    let samples = at_moments(&seconds, &[("server_stopped", &stopped), ("waiting_for_log_write", &log)]);
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &stalls };
    let reason = judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0)).abstained.unwrap();
    assert_eq!(
        reason,
        "in silences, 40 % of the time, 100 % of the looks found the server or processes of it stopped, as by SIGSTOP or a debugger"
    );
}

/// Where only the processes of sessions are stopped, and not at the same time, nothing is silent, and the time looks like the network's.
#[test]
fn processes_that_are_stopped_at_times_are_said() {
    let of = |stopped: f64| {
        let columns = [("server_stopped", stopped), ("on_cpu", 0.3), ("server_cpu", 0.3), ("waiting_for_client", 4.0)];
        judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY).abstained
    };
    let said = "71 % of the looks found the server or processes of it stopped, as by SIGSTOP or a debugger";
    assert_eq!(of(71.0).as_deref(), Some(said));
    assert!(of(1.0).is_none_or(|other| !other.contains("stopped")));
}

#[test]
fn sessions_that_sleep_as_they_are_told_are_the_answer_before_a_limit_that_brings_less() {
    let columns = [("sleeping", 5.15), ("waiting_for_log_write", 1.4), ("on_cpu", 0.2)];
    let found = judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY);
    assert_eq!(found.limits(), Some(Vec::new()), "{found:?}");
    assert_eq!(found.evidence[0], "5.15 of 8 sessions slept, as their statements requested");
    assert!(found.evidence.iter().all(|sentence| !sentence.contains("raising any known limit")), "{found:?}");
    // Who sleeps less has a limit.
    let columns = [("sleeping", 1.0), ("waiting_for_log_write", 6.0), ("on_cpu", 0.2)];
    let found = judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY);
    assert_eq!(found.limits(), Some(vec!["log_write"]));
}

/// A log write under the lock of a hot row holds up all that wait for the row, and the model takes it for one session's alone.
#[test]
fn under_locks_of_each_other_no_other_gain_is_told() {
    let columns = [("waiting_for_lock", 6.8), ("waiting_for_log_write", 1.0), ("on_cpu", 0.1)];
    let found = judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY);
    assert_eq!(found.limits(), Some(vec!["locks"]));
    let told: Vec<String> = found.gains().into_iter().map(|gain| gain.limit).collect();
    assert_eq!(told, ["locks"], "{:?}", found.gains());
    assert!(found.evidence.iter().any(|sentence| sentence.contains("1 waited for the log to be written")), "{found:?}");
}

#[test]
fn waits_have_the_engines_names() {
    let mut samples = samples(&[("waiting_for_others", 6.0), ("on_cpu", 0.1)]);
    let column = |name: &str, sessions: f64| SampleColumn {
        metric: "waiting".to_owned(),
        of: Some(name.to_owned()),
        momentary: true,
        values: vec![Some(sessions); 10],
        ..SampleColumn::default()
    };
    let judge_with = |samples: &Samples| {
        let stretch = Segment { samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
        judge(&stretch, &ceilings(&[("cpu", 2.0)]), &Load { busy: Some(7.0), ..closed(8.0) })
    };
    let mut latched = samples.clone();
    samples.columns.push(column("Extension/Pause", 6.0));
    let judged = judge_with(&samples);
    assert_eq!(judged.limits(), Some(vec![]), "{judged:?}");
    let told = "of 8 sessions, on average so many waited inside the server for: Extension/Pause (6)";
    assert!(judged.evidence.iter().any(|sentence| sentence == told), "{:?}", judged.evidence);
    latched.columns.push(column("LWLock/BufferContent", 6.0));
    let reason = judge_with(&latched).abstained.unwrap();
    assert!(
        reason.starts_with("6.0 of 8 sessions wait for locks in the server's memory (LWLock/BufferContent)"),
        "{reason}"
    );
    // Beside a wait with a name in which more sessions are they come from it.
    latched.columns.push(column("Extension/Pause", 6.0));
    latched
        .columns
        .iter_mut()
        .find(|one| one.of.as_deref() == Some("LWLock/BufferContent"))
        .unwrap()
        .values
        .fill(Some(2.0));
    let judged = judge_with(&latched);
    assert_eq!(judged.limits(), Some(vec![]), "{judged:?}");
}

#[test]
fn a_fifth_less_of_a_cost_brings_a_quarter_at_most() {
    // Its need was measured with some overlap, as more than all of its sessions' time.
    let load = Load { client: Some(1.15), ..closed(8.0) };
    let gains = judged(&[("cpu", 0.2)], &[("cpu", 2.0)], &load, &STEADY).gains();
    let client = gains.iter().find(|gain| gain.limit == "client").unwrap();
    assert!((24.0..=25.0).contains(&client.gain_percent), "{gains:?}");
}

/// CPU time that the machine's host takes hits whoever runs at that moment.
#[test]
fn of_time_that_the_host_took_others_have_their_part() {
    let samples = samples(&[("server_cpu", 0.4), ("client_cpu", 0.1), ("other_cpu", 1.0), ("stolen_cpu", 0.3)]);
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let whole = Means::plain(&stretch);
    let stolen = |means: &Means<'_>| (1000.0 * means.column("stolen_cpu").unwrap()).round();
    assert_eq!(format!("{} {}", stolen(&whole), stolen(&whole.without("other_cpu"))), "300 100");
}

/// Others' sessions that hold a lock are not ours to see: nothing is said of what holders of ours would wait for.
#[test]
fn what_holders_wait_for_is_told_of_our_own_alone() {
    let of = |blocked: f64| {
        let columns = [("waiting_for_lock", 6.0), ("blocked_by_others", blocked), ("waiting_for_log_write", 1.5)];
        judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY).evidence
    };
    let tells = |evidence: &[String]| evidence.iter().any(|one| one.contains("may hold one"));
    assert!(tells(&of(0.0)), "{:?}", of(0.0));
    assert!(!tells(&of(6.0)), "{:?}", of(6.0));
}

/// Sums of the server's own may come to more sessions than there are: they are cut, and lack nothing.
#[test]
fn more_waits_than_sessions_are_not_called_less_than_all() {
    let of = |log: f64| {
        judged(&[("waiting_for_log_write", log), ("server_cpu", 0.1)], &[("cpu", 2.0)], &closed(8.0), &STEADY)
    };
    for log in [7.0, 9.0] {
        let judged = of(log);
        let said = judged.evidence.iter().find(|one| one.contains("waited for the log to be written")).unwrap();
        assert!(!said.contains("had no CPU"), "{said}");
    }
}
