//! Limits at devices are held against what the device itself counts, and the log's time is the time of its flushes.

use super::*;

#[test]
fn pages_that_the_engine_hands_over_are_no_writes_of_a_device() {
    // A checkpoint gave the system 907 pages a second, of which the device made 80 writes.
    let columns = [("data_writes", 907.0), ("disk_writes", 80.0), ("waiting_for_data_read", 7.0)];
    let of = |resource| judged(&columns, &[(resource, 100.0)], &closed(8.0), &STEADY);
    let at_device = of("disk_write_iops");
    let told = at_device.evidence.iter().find(|sentence| sentence.contains(" of 100 ")).unwrap();
    assert!(told.contains("stood at 80 % of the limit") && told.contains("80 of 100 1/s"), "{told}");
    // The limit of a modelled or a sold database counts what the engine counts.
    assert!(of("data_write_iops").evidence.iter().any(|sentence| sentence.contains("907 of 100")));
}

#[test]
fn another_device_is_not_the_logs() {
    let waits = [("waiting_for_log_write", 7.0), ("waiting_for_data_read", 0.0)];
    let of = |columns: &[(&str, f64)]| {
        let columns = [&waits[..], columns].concat();
        judged(&columns, &[("disk_write_iops", 100.0)], &closed(8.0), &STEADY)
    };
    let shared = of(&[("disk_writes", 99.0)]);
    assert_eq!(shared.limits(), Some(vec!["log_write"]));
    assert!(shared.evidence[0].contains("99 of 100"), "{:?}", shared.evidence);
    // The log is on a device without a limit: its writes wait, and the data's limit is none of theirs.
    let apart = of(&[("disk_writes", 99.0), ("log_disk_writes", 400.0), ("log_disk_write_latency", 2.0)]);
    assert_eq!(apart.limits().unwrap()[0], "log_write");
    let log = apart.found.iter().find(|found| found.rule.limit == "log_write").unwrap();
    assert!(log.used.is_none() && log.lift.contains("are 20 % faster"), "{log:?}");
    assert!(apart.evidence.iter().any(|sentence| sentence.starts_with("a write of the log's disk took 2 ms")));
    let columns = [&waits[..], &[("disk_writes", 99.0), ("log_disk_writes", 59.0)]].concat();
    let own = [("disk_write_iops", 100.0), ("log_disk_write_iops", 60.0)];
    let own = judged(&columns, &own, &closed(8.0), &STEADY);
    assert!(own.evidence[0].contains("59 of 60"), "{:?}", own.evidence);
}

#[test]
fn a_device_with_a_limit_does_not_say_how_long_its_writes_took() {
    let columns = [("waiting_for_log_write", 7.0), ("disk_writes", 99.0), ("disk_write_latency", 8.0)];
    let told = |of: &[(&str, f64)], more: &[(&str, f64)]| {
        let judged = judged(&[&columns[..], more].concat(), of, &closed(8.0), &STEADY);
        judged.evidence.into_iter().filter(|sentence| sentence.contains(" took ")).collect::<Vec<_>>()
    };
    assert_eq!(told(&[("cpu", 2.0)], &[]), ["a write of the disk took 8 ms on average"]);
    // Of so short a time nobody waits: it passes above the device.
    let short =
        judged(&[&columns[..2], &[("disk_write_latency", 0.2)]].concat(), &[("cpu", 2.0)], &closed(8.0), &STEADY);
    assert!(short.evidence.iter().all(|sentence| !sentence.contains(" took ")), "{:?}", short.evidence);
    // What waits for the limit has not come to the device.
    assert_eq!(told(&[("disk_write_iops", 100.0)], &[]), [""; 0]);
    let seen = [("flushing_log", 1.0), ("log_syncs", 40.0)];
    assert_eq!(told(&[("disk_write_iops", 100.0)], &seen), ["a write of the log with its sync took 25 ms on average"]);
    let timed = [("log_sync_latency", 26.0), ("log_write_latency", 0.05), ("log_syncs", 40.0)];
    let both = ["a sync of the log took 26 ms on average", "a write of the log took 0.05 ms on average"];
    assert_eq!(told(&[("disk_write_iops", 100.0)], &timed), both);
}

/// Sessions that wait for the log at all moments, while one of them flushes it at some.
fn gathering(flushing: f64, commit_delay: Option<&str>) -> Judged {
    let columns = [("waiting_for_log_write", 7.0), ("flushing_log", flushing), ("server_cpu", 0.1), ("other_cpu", 0.0)];
    let mut samples = samples(&columns);
    let waiting = SampleColumn { values: vec![Some(7.0); 50], momentary: true, ..samples.columns[0].clone() };
    let seconds = (1..=50).map(|at| f64::from(at) / 5.0).collect();
    samples.moments = Moments { seconds, columns: vec![waiting] };
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let load = Load { commit_delay: commit_delay.map(str::to_owned), ..closed(8.0) };
    judge(&stretch, &ceilings(&[("cpu", 2.0), ("machine_cpu", 2.0)]), &load)
}

#[test]
fn a_faster_log_shortens_the_flushes_and_no_delay_between_them() {
    let gain = |judged: &Judged| judged.found.iter().find(|one| one.rule.limit == "log_write").unwrap().gain_percent;
    let always = gathering(1.0, None);
    assert_eq!(always.limits(), Some(vec!["log_write"]));
    assert!((16.0..18.0).contains(&gain(&always)), "{}", gain(&always));
    assert!(!always.evidence.iter().any(|sentence| sentence.contains("each other")));
    // One that is flushed for a tenth of the time would gain a tenth of that.
    let seldom = gathering(0.1, Some("the setting commit_delay = 20000"));
    assert!((1.3..1.7).contains(&gain(&seldom)), "{}", gain(&seldom));
    assert_eq!(seldom.limits(), Some(vec![]));
    let told = "the log was written or synced in 10 % of the time in which sessions waited for it; in the rest they waited for each other";
    // It is the answer, so it comes before all else.
    assert_eq!(seldom.evidence[1], format!("{told}, as the setting commit_delay = 20000 asks"));
    assert!(gathering(0.1, None).evidence[1].ends_with("as in a group commit"));
}

/// Nine seconds with one slow sync each, and one with a thousand fast ones: a sync is fast as a rule.
#[test]
fn the_mean_time_of_an_operation_counts_operations_and_not_seconds() {
    let mut samples =
        samples(&[("log_syncs", 1.0), ("log_sync_latency", 20.0), ("waiting_for_log_write", 7.0), ("server_cpu", 0.1)]);
    for (column, busy) in [(0, 991.0), (1, 1.0)] {
        samples.columns[column].values[9] = Some(busy);
    }
    let stretch = Segment { samples: &samples, between: (0.0, 10.0), seconds: &STEADY, stalls: &[] };
    let judged = judge(&stretch, &ceilings(&[("cpu", 2.0)]), &closed(8.0));
    let sentence = "a sync of the log took 1.17 ms on average";
    assert!(judged.evidence.iter().any(|one| one == sentence), "{:?}", judged.evidence);
}

/// A process of the server writes the log as well, and nobody sees for how long.
#[test]
fn who_else_writes_the_log_leaves_open_how_long_a_flush_takes() {
    let of = |writes: f64| {
        let columns = [
            ("waiting_for_log_write", 7.0),
            ("flushing_log", 0.4),
            ("log_syncs", 20.0),
            ("log_writes", writes),
            ("server_cpu", 0.1),
        ];
        let judged = judged(&columns, &[("cpu", 2.0)], &closed(8.0), &STEADY);
        judged.evidence.iter().any(|sentence| sentence.starts_with("a write of the log with its sync took 20 ms"))
    };
    assert_eq!((of(20.0), of(400.0)), (true, false));
}
