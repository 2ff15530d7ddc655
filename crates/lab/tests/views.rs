//! What the lab shows about itself: resource statistics, waits, files and statements.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Bench, load};
use plimsoll_engine::Telemetry as _;
use plimsoll_measurement::{FileRow, Views};

const HARDWARE: &str = r#"
memory = "16MiB"
[cpu]
step_time = "20ns"
[data]
bandwidth = "10MiB/s"
read_latency = "5ms"
write_latency = "5ms"
[log]
write_bandwidth = "1MiB/s"
write_latency = "4ms"
"#;

fn views(bench: &Bench) -> Views {
    bench.lab.process_sampler().unwrap().views().unwrap()
}

#[test]
fn the_governed_log_shows_in_every_view() {
    let bench = Bench::new(HARDWARE);
    let mut session = bench.session();
    load(session.as_mut(), "source", 500, 400);
    load(session.as_mut(), "target", 1, 400);
    assert_eq!(views(&bench).resources_15_s, []);
    let mut chunks = 0;
    while bench.seconds() < 330.0 {
        chunks += 1;
        let sql = format!("INSERT INTO target SELECT RowId + {}, Number, Text FROM source", chunks * 500);
        session.execute(&sql, &[]).unwrap();
    }
    let views = views(&bench);
    assert_eq!((views.resources_15_s.len(), views.resources_5_min.len()), (22, 1));
    for row in &views.resources_15_s {
        assert!(row.log_write_percent.unwrap() > 95.0, "{row:?}");
        assert!(row.cpu_percent.unwrap() < 10.0 && row.data_io_percent.unwrap() < 30.0, "{row:?}");
    }
    assert_eq!(views.resources_15_s[1].end.as_nanos(), 30_000_000_000);
    // The pool fills up and stays full.
    let memory: Vec<f64> = views.resources_15_s.iter().map(|row| row.memory_percent.unwrap()).collect();
    assert!(memory.is_sorted() && memory[0] < 100.0 && (memory[21] - 100.0).abs() < 1e-9, "{memory:?}");
    let waited = |name: &str| views.waits.iter().find(|wait| wait.name == name).unwrap().seconds;
    assert!(waited("log_rate_governor") > 300.0 && waited("log_write") < 30.0 && waited("lock") < 1.0);
    let [data, log] = &views.files[..] else { panic!("{:?}", views.files) };
    assert!(log.name.ends_with("-wal") && log.kind == "log" && data.kind == "data");
    let written = |file: &FileRow| file.write_bytes.unwrap() as f64;
    let rate = written(log) / bench.seconds() / f64::from(1 << 20);
    assert!((0.95..=1.01).contains(&rate), "{rate}");
    // Whatever went to the log goes to the file, but for pages that change again before they are copied.
    let share = written(data) / written(log);
    assert!((0.5..1.0).contains(&share), "{share}");
    assert!(log.write_stall_seconds > Some(300.0) && data.reads > Some(0) && data.read_stall_seconds > Some(0.0));
    let inserts = views.statements.iter().filter(|statement| statement.text.starts_with("INSERT"));
    assert_eq!(inserts.map(|statement| statement.count).sum::<u64>(), chunks);
    assert!(views.statements.iter().all(|statement| statement.longest_seconds <= statement.seconds));
}
