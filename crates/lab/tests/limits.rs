//! The limits of the hardware show in what sessions see, and time is virtual.

mod common;

use common::{Bench, load};
use plimsoll_engine::{Telemetry as _, Value};
use plimsoll_measurement::Counter;

const S2: &str = r#"
memory = "16MiB"
[data]
bandwidth = "10MiB/s"
iops = 500
read_latency = "5ms"
write_latency = "5ms"
[log]
write_bandwidth = "1MiB/s"
write_latency = "4ms"
"#;

#[test]
fn a_scan_reads_at_the_device_rate_and_the_pool_serves_the_second() {
    let bench = Bench::new(S2);
    let mut session = bench.session();
    load(session.as_mut(), "t", 27_000, 400);
    let size = session.table_size(&common::table("t")).unwrap().unwrap().table_bytes;
    let start = bench.seconds();
    assert_eq!(session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap(), 27_000);
    let first = bench.seconds() - start;
    let expected = size as f64 / f64::from(10 << 20);
    assert!((first / expected - 1.0).abs() < 0.05, "{first} {expected}");
    let start = bench.seconds();
    session.query_count("SELECT count(*) FROM t WHERE Number > 0", &[]).unwrap();
    assert!(bench.seconds() - start < 1e-9);
}

#[test]
fn chunks_are_written_at_the_log_rate() {
    let bench = Bench::new(S2);
    let mut session = bench.session();
    load(session.as_mut(), "source", 500, 400);
    load(session.as_mut(), "target", 1, 400);
    session.query_count("SELECT count(*) FROM source WHERE Number > 0", &[]).unwrap();
    let start = bench.seconds();
    for chunk in 1..=40 {
        let sql = format!("INSERT INTO target SELECT RowId + {}, Number, Text FROM source", chunk * 500);
        assert_eq!(session.execute(&sql, &[]).unwrap(), 500);
    }
    let seconds = bench.seconds() - start;
    // What the log holds at its rate: the transfer of a chunk is longer than the latency that it has in it.
    let readings = bench.lab.process_sampler().unwrap().sample().unwrap();
    let log_bytes = readings.iter().find(|reading| reading.metric == Counter::LogWriteBytes).unwrap().value;
    let expected = log_bytes / f64::from(1 << 20);
    assert!((seconds / expected - 1.0).abs() < 0.001, "{seconds} {expected}");
}

#[test]
fn a_point_statement_waits_for_its_pages_and_its_commit() {
    let bench = Bench::new(S2);
    let mut session = bench.session();
    load(session.as_mut(), "t", 10_000, 400);
    let start = bench.seconds();
    session.query_count("SELECT Number FROM t WHERE RowId = ?1", &[Value::Int(5000)]).unwrap();
    // Root and leaf, or a page more.
    let read = bench.seconds() - start;
    assert!((0.0149..0.0252).contains(&read), "{read}");
    let start = bench.seconds();
    session.execute("UPDATE t SET Number = 7 WHERE RowId = ?1", &[Value::Int(5000)]).unwrap();
    let commit = bench.seconds() - start;
    assert!((0.004..0.025).contains(&commit), "{commit}");
}
