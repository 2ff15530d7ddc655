//! Files of the three tools: what is read of them, and what is refused with its place.

use std::fmt::Write as _;

use super::*;

const FIO: &str = include_str!("samples/fio-3.33-copies.json");
const DISKSPD: &str = include_str!("samples/diskspd.xml");

/// A run as SQLIO 1.5 prints it.
fn sqlio(kind: &str, pattern: &str, outstanding: u32, kb: u32, iops: f64) -> String {
    let mb = iops * f64::from(kb) / 1024.0;
    format!(
        "sqlio v1.5.SG\nusing system counter for latency timings, 2343750 counts per second\n\
         parameter file used: param-60GB.txt\n\tfile e:\\testfile.dat with 32 threads (0-31) using mask 0x0 (0)\n\
         32 threads {kind} for 180 secs to file e:\\testfile.dat\n\tusing {kb}KB {pattern} IOs\n\
         \tenabling multiple I/Os per thread with {outstanding} outstanding\n\
         \tbuffering set to not use file nor disk caches (as is SQL Server)\n\
         using specified size: 65536 MB for file: e:\\testfile.dat\ninitialization done\nCUMULATIVE DATA:\n\
         throughput metrics:\nIOs/sec: {iops:9.2}\nMBs/sec: {mb:9.2}\nlatency metrics:\nMin_Latency(ms): 3\n\
         Avg_Latency(ms): 15\nMax_Latency(ms): 2143\nhistogram:\n\
         ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+\n\
         %:  0  0  0  1  1  2  3  4  5  6  7  8  8  8  8  7  6  5  4  3  3  2  2  2  5\n"
    )
}

/// The fifteen runs of the matrix, as a script appends them.
fn matrix() -> String {
    let mut log = sqlio("writing", "random", 32, 8, 7_600.0) + &sqlio("reading", "random", 32, 8, 6_160.0);
    for kb in [4, 8, 16, 32, 64] {
        log += &sqlio("writing", "sequential", 8, kb, 5_600.0);
    }
    for kb in [8, 64, 128, 256] {
        log += &sqlio("reading", "sequential", 8, kb, 4_000.0);
    }
    for kb in [8, 64, 128, 256] {
        log += &sqlio("writing", "sequential", 8, kb, 3_000.0);
    }
    log
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_log_of_sqlio_has_many_runs_with_their_classes() {
    let (tool, runs) = read(&matrix()).unwrap();
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let expected = ["OW", "OR", "SW", "SW", "SW", "SW", "SW", "LR", "LR", "LR", "LR", "LW", "LW", "LW", "LW"];
    assert_eq!((tool, labels.as_slice()), (Tool::Sqlio, expected.as_slice()));
    let first = &runs[0];
    assert_eq!((first.threads, first.queue_depth, first.block_bytes, first.read_percent), (32, 32, 8192, 0));
    assert_eq!((first.is_random, first.is_direct, first.file_bytes), (true, Some(true), Some(64 << 30)));
    assert_eq!((first.seconds, first.path.as_deref()), (180.0, Some("e:\\testfile.dat")));
    assert!((first.bytes_per_second - 7_600.0 * 8192.0).abs() < 1.0);
    // What SQLIO gives in whole milliseconds is no closer than that.
    assert_eq!((first.latency.min_us, first.latency.mean_us), (Some(3e3), Some(15e3)));
    assert_eq!(first.latency.percentile_us(50.0), Some(14e3));
    assert_eq!(first.latency.percentile_us(99.0), None);
    // A log may begin in the middle, and end with other lines.
    let cut = matrix().lines().skip(4).collect::<Vec<_>>().join("\r\n") + "\r\n\r\npause\r\n";
    assert_eq!(read(&cut).unwrap().1, {
        let mut runs = runs;
        for run in &mut runs {
            run.line = run.line.map(|line| line.saturating_sub(4).max(1));
        }
        runs
    });
}

#[test]
fn damaged_logs_of_sqlio_are_refused_with_line_and_reason() {
    let good = sqlio("writing", "random", 32, 8, 7_600.0);
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    for (text, reason) in [
        (changed("MBs/sec:     59.38", "MBs/sec:     61.00"), "line 14: 61 MB/s are not 7600 I/Os a second of 8 KB"),
        (changed("IOs/sec:   7600.00", "IOs/sec:   seven"), "line 13: 'seven' is no number from 0"),
        (changed("IOs/sec:   7600.00\n", ""), "the run that begins on line 1 has no IOs/sec"),
        (changed("IOs/sec:   7600.00", "IOs/sec:"), "line 13: 'IOs/sec:' is no rate"),
        (changed("IOs/sec:   7600.00", "IOs/sec:   -1"), "line 13: '-1' is no number from 0"),
        (changed("\tusing 8KB random IOs\n", ""), "has no size of its I/Os"),
        (changed("using 8KB", "using 0KB"), "a size of its I/Os and seconds above 0"),
        (changed("using 8KB", "using 8MB"), "line 6: '8MB' is no size in KB"),
        (changed("32 threads writing", "many threads writing"), "line 5: 'many' is no whole number"),
        (changed("  2  2  5\n", "  2\n"), "line 21: the histogram has 23 of 25 parts"),
        (changed("  2  2  5\n", "  2  2 95\n"), "line 21: the histogram's parts come to 190 %"),
        (changed("Avg_Latency(ms): 15", "Avg_Latency(ms): 1"), "latencies' minimum, mean and maximum"),
        (changed("Avg_Latency(ms): 15", "Avg_Latency(ms): 5"), "a mean of 5 ms is not that of the histogram, 13.5 to"),
        (changed("IOs/sec:   7600.00", "IOs/sec:  99600.00").replace("59.38", "778.13"), "where 1024 were allowed"),
        // Twenty-two parts that were rounded up make 11 % too much at most.
        (changed("7  8  8  8  8  7  6  5", "9 12 10 10 10  7  6  5"), "line 21: the histogram's parts come to 112 %"),
        (
            changed("Min_Latency(ms): 3", "Min_Latency(ms): 7"),
            "line 21: 1 % of the histogram are at 3 ms, and the shortest time is 7 ms",
        ),
        (
            changed("Max_Latency(ms): 2143", "Max_Latency(ms): 20"),
            "line 21: 2 % of the histogram are at 22 ms, and the longest time is 20 ms",
        ),
        // The mean is that of the shortest times that the histogram allows, whatever is printed.
        (
            changed("Avg_Latency(ms): 15", "Avg_Latency(ms): 12").replace("with 32 outstanding", "with 2 outstanding"),
            "at least: 97 under way, where 64 were allowed",
        ),
        (
            good.clone() + &good[good.find("32 threads").unwrap()..],
            "line 23: a run begins before the one above has ended",
        ),
        (good[..good.find("MBs/sec").unwrap()].to_owned(), "has no MBs/sec"),
        (good[..good.find("latency metrics").unwrap()].to_owned(), "has no whole latency metrics: the text breaks off"),
        (good[..good.find("Avg_Lat").unwrap()].to_owned(), "has no whole latency metrics"),
        (good[..good.find("%:").unwrap()].to_owned(), "has no whole latency metrics"),
        (
            changed("IOs/sec:   7600.00", "IOs/sec: 7600.00\nIOs/sec: 7600.00"),
            "line 14: this run has a rate already, on line 13",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn copies_of_a_job_of_fio_are_one_run() {
    let (tool, runs) = read(FIO).unwrap();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((tool, run.threads, run.queue_depth, run.block_bytes), (Tool::Fio, 2, 8, 8192));
    assert_eq!((run.read_percent, run.is_random, run.is_direct), (100, true, Some(true)));
    assert!((run.iops - (28_966.033_966 + 29_093.906_094)).abs() < 1e-6, "{run:?}");
    assert!((run.bytes_per_second - (237_289_750.0 + 238_337_278.0)).abs() < 1.0);
    // The mean lies between those of the copies; percentiles of two can't be put together.
    let mean = run.latency.mean_us.unwrap();
    assert!((274.3..275.6).contains(&mean), "{mean}");
    let [min, max] = [run.latency.min_us, run.latency.max_us].map(|us| us.unwrap().round() as u64);
    assert_eq!((min, max), (70, 2898));
    assert!(run.latency.percentiles_us.is_empty());
    let alone = FIO.replacen("\"groupid\": 0", "\"groupid\": 1", 1);
    let (_, runs) = read(&alone).unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs[0].latency.percentile_us(99.0).unwrap() > runs[0].latency.percentile_us(50.0).unwrap());
}

#[test]
fn older_fio_has_other_units() {
    let text = r#"{"fio version": "fio-2.2", "jobs": [{"jobname": "w", "error": 0,
        "job options": {"rw": "write", "bs": "64k", "iodepth": "4"},
        "read": {"bw": 0, "iops": 0.0, "runtime": 0, "clat": {"mean": 0.0}},
        "write": {"bw": 64000, "iops": 1000.0, "runtime": 2000, "clat": {"min": 10, "max": 900, "mean": 95.5, "percentile": {"50.000000": 90, "99.000000": 400}}}}]}"#;
    let (_, runs) = read(text).unwrap();
    let run = &runs[0];
    assert_eq!((run.iops, run.bytes_per_second, run.seconds, run.read_percent), (1000.0, 65_536_000.0, 2.0, 0));
    assert_eq!((run.latency.mean_us, run.latency.percentile_us(99.0), run.is_random), (Some(95.5), Some(400.0), false));
}

#[test]
fn writes_of_fio_with_syncs_say_so_and_have_no_times_without_them() {
    let text = |sync: &str| {
        format!(
            r#"{{"jobs": [{{"jobname": "w", "error": 0, "job options": {{"rw": "write", "bs": "4k", {sync}}},
            "write": {{"bw": 400, "iops": 100.0, "runtime": 2000, "total_ios": 200, "lat_ns": {{"min": 9, "max": 90, "mean": 20.0}},
            "clat_ns": {{"min": 5, "max": 80, "mean": 10.0, "percentile": {{"50.000000": 11}}}}}}}}]}}"#
        )
    };
    let run = |sync: &str| read(&text(sync)).unwrap().1.remove(0);
    let synced = run(r#""fdatasync": "1""#);
    assert_eq!((synced.sync, synced.writes_per_sync, synced.latency.mean_us), (Some("fdatasync"), None, None));
    assert_eq!((run(r#""fsync": "8""#).sync, run(r#""fsync": "8""#).writes_per_sync), (None, Some(8)));
    assert_eq!(run(r#""sync": "1""#).sync, Some("o_dsync"));
    // An operation begins at its submission; fio has percentiles from its end on.
    let plain = run(r#""fsync": "0""#);
    assert_eq!((plain.sync, plain.latency.mean_us, plain.latency.percentile_us(50.0)), (None, Some(0.02), Some(0.011)));
    assert_eq!(plain.latency.max_us, Some(0.09));
}

/// `bs` has a size for reads, one for writes and one for trims.
#[test]
fn a_job_of_fio_has_the_size_of_its_operations() {
    let text = |rw: &str, bs: &str| {
        let side = |is_made: bool| {
            let (bw, ios) = if is_made { (6400, 200) } else { (0, 0) };
            format!(r#"{{"bw": {bw}, "iops": {}.0, "runtime": 2000, "total_ios": {ios}}}"#, ios / 2)
        };
        let [reads, writes] = ["read", "write"].map(|name| side(rw == name || rw == "rw"));
        format!(
            r#"{{"jobs": [{{"jobname": "j", "error": 0, "job options": {{"rw": "{rw}", "bs": "{bs}"}}, "read": {reads}, "write": {writes}}}]}}"#
        )
    };
    let block = |rw: &str, bs: &str| read(&text(rw, bs)).unwrap().1[0].block_bytes;
    assert_eq!(
        (block("read", "64k,4k"), block("write", "4k,64k"), block("rw", "64k,64k,4k")),
        (65_536, 65_536, 65_536)
    );
    assert!(refused(&text("rw", "4k,64k")).contains("bs = 4k,64k: reads and writes of one job have one size here"));
}

#[test]
fn what_fio_leaves_unsaid_is_its_default() {
    let without = FIO.replace("\"direct\": \"1\"", "\"group_reporting\": \"1\"");
    assert_eq!(read(&without).unwrap().1[0].is_direct, Some(false));
    // An engine that has one I/O under way has one, whatever is asked for.
    for engine in ["psync", "none is named"] {
        let text =
            if engine == "psync" { FIO.replace("libaio", engine) } else { FIO.replace("\"ioengine\"", "\"name\"") };
        let error = refused(&text);
        assert!(error.contains("under way, where 2 were allowed"), "{engine}: {error}");
    }
}

#[test]
fn damaged_files_of_fio_are_refused_with_the_reason() {
    let changed = |from: &str, to: &str| {
        assert!(FIO.contains(from), "{from}");
        FIO.replacen(from, to, 1)
    };
    for (text, reason) in [
        (FIO[..FIO.len() / 2].to_owned(), "the file breaks off"),
        (changed("\"jobs\": [", "\"jobs\": [").replacen("\"jobs\"", "\"tasks\"", 1), "there is no list 'jobs'"),
        (changed("\"error\": 0", "\"error\": 5"), "job 1 ('q'): it failed with error 5"),
        (changed("\"bs\": \"8k\"", "\"bs\": \"big\""), "bs = big is no size"),
        (changed("\"bs\": \"8k\"", "\"bs\": \"4k\""), "bytes a second are not"),
        (changed("\"iodepth\": \"8\"", "\"iodepth\": \"0\""), "iodepth=0 is no count"),
        (changed("\"iops\": 28966.033966", "\"iops\": -1.0"), "read: iops can't be -1"),
        (changed("\"iops\": 28966.033966", "\"iops\": 1e308"), "read: iops can't be"),
        (changed("\"iops\": 28966.033966,", ""), "read: there is no 'iops'"),
        (changed("\"runtime\": 1001,", ""), "read: there is no 'runtime'"),
        (changed("\"99.900000\": ", "\"99.900000\": 9"), "is not between the shortest time"),
        (changed("\"50.000000\": ", "\"half\": "), "'half' of clat_ns is no percentile"),
        (FIO.replace("\"randread\"", "\"randwrite\""), "rw=randwrite, and 28995 of its 28995 I/Os were reads"),
        (FIO.replace("\"total_ios\": 28995", "\"total_ios\": 0"), "28995 of 0 I/Os"),
        (changed("\"N\": 28995", "\"N\": 38995"), "read: lat_ns has 38995 of 28995 I/Os"),
        (changed("\"iodepth\": \"8\"", "\"bssplit\": \"4k/50:64k/50\""), "with bssplit its I/Os are of several sizes"),
        (changed("\"mean\": 270213.224452", "\"mean\": 290213.2"), "the mean of clat_ns is more than that of lat_ns"),
        (
            changed("\"total_ios\": 28995", "\"total_ios\": 57990"),
            "57990 I/Os are not 28966.033966 a second for 1.001 s",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_time_span_of_diskspd_is_a_run() {
    for text in [DISKSPD.to_owned(), DISKSPD.to_owned() + "\r\nScore: 0\r\n", format!("\u{feff}{DISKSPD}")] {
        let (tool, runs) = read(&text).unwrap();
        let run = &runs[0];
        assert_eq!((tool, run.threads, run.queue_depth, run.block_bytes), (Tool::DiskSpd, 2, 32, 8192));
        assert_eq!((run.read_percent, run.is_random, run.is_direct), (70, true, Some(true)));
        assert_eq!((run.iops, run.bytes_per_second), (3_000.0, 3_000.0 * 8192.0));
        assert_eq!((run.latency.mean_us, run.latency.percentile_us(99.0)), (Some(1_800.0), Some(7_500.0)));
        assert_eq!((run.latency.min_us, run.latency.max_us), (Some(100.0), Some(30_000.0)));
        assert_eq!(run.path.as_deref(), Some("E:\\testfile.dat"));
        assert_eq!(run.sync, Some("o_dsync"));
    }
    assert_eq!(read(DISKSPD).unwrap().1[0].rate_per_s, None);
    let asked = |limit: &str| {
        let text = DISKSPD.replace("<Random>", &format!("{limit}<Random>"));
        read(&text).unwrap().1[0].rate_per_s
    };
    // Of each of two threads: 8,192 bytes a millisecond are 1,000 operations a second.
    assert_eq!(asked("<Throughput>8192</Throughput>"), Some(2_000.0));
    assert_eq!(asked("<Throughput unit=\"IOPS\">700</Throughput>"), Some(1_400.0));
    assert_eq!(asked("<Throughput>0</Throughput>"), None);
    let cached = DISKSPD.replace("DisableAllCache", "DisableOSCache").replace("WriteThrough", "Nothing");
    assert_eq!((read(&cached).unwrap().1[0].sync, read(&cached).unwrap().1[0].is_direct), (None, Some(true)));
}

#[test]
fn damaged_files_of_diskspd_are_refused_with_line_and_reason() {
    let changed = |from: &str, to: &str| {
        assert!(DISKSPD.contains(from), "{from}");
        DISKSPD.replacen(from, to, 1)
    };
    let mut second = String::new();
    let _ = write!(second, "<Target><Path>F:\\x</Path></Target></Targets>");
    for (text, reason) in [
        (DISKSPD[..DISKSPD.len() / 2].to_owned(), "this is no whole XML"),
        (DISKSPD.replace("Results>", "Answers>"), "the XML is of 'Answers'"),
        (changed("<TestTimeSeconds>10.00</TestTimeSeconds>", ""), "line 23: 'TimeSpan' has no 'TestTimeSeconds'"),
        (changed("10.00", "ten"), "line 24: TestTimeSeconds 'ten' is no number"),
        (changed("10.00", "0"), "line 23: a time span has a size of its I/Os and seconds above 0"),
        (changed("<BlockSize>8192</BlockSize>", ""), "line 9: 'Target' has no 'BlockSize'"),
        (changed("<BlockSize>8192", "<BlockSize>4096"), "bytes are not 30000 I/Os of 4096 bytes"),
        (changed("</Targets>", &second), "a time span has 2 targets"),
        (changed("<IOCount>20000", "<IOCount>9"), "9 I/Os are not 14000 reads"),
        (changed("<BytesCount>163840000", "<BytesCount>9"), "9 bytes are not the 163840000 that were"),
        (
            changed("<Latency>", "<Iops><ReadIops>900</ReadIops></Iops><Latency>"),
            "ReadIops of 900 are not 21000 in 10 s",
        ),
        (changed("<TestTimeSeconds>10.00", "<TestTimeSeconds>1e-320"), "in which nothing can be counted"),
        (changed("<ThreadCount>2", "<ThreadCount>3"), "3 threads worked, and 2 are told of"),
        (changed("<ThreadsPerFile>2", "<ThreadsPerFile>7"), "7 threads were asked for, and 2 are told of"),
        (
            changed("<AverageTotalMilliseconds>1.8", "<AverageTotalMilliseconds>77"),
            "not between the shortest and the longest",
        ),
        (
            changed("<WriteRatio>30", "<WriteRatio>100"),
            "100 % of the I/Os were to be writes, and 21000 of 30000 were reads",
        ),
        (changed("<ReadCount>14000</ReadCount>", ""), "line 36: 'Target' has no 'ReadCount'"),
        (changed("<TotalMilliseconds>7.5", "<TotalMilliseconds>0.5"), "the percentiles do not rise"),
        (changed("<TotalMilliseconds>7.5", "<TotalMilliseconds>75"), "and the longest, 30.000 ms"),
        (
            changed("  <TimeSpan>\n    <TestTimeSeconds>", "  <Span>\n    <TestTimeSeconds>").replacen(
                "  </TimeSpan>\n</Results>",
                "  </Span>\n</Results>",
                1,
            ),
            "1 time spans were asked for, and 0 are there",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn what_is_of_no_tool_says_what_is_taken() {
    for text in ["", "\0\0\0", "hello", "iops,mb\n1,2\n"] {
        assert!(refused(text).contains("neither SQLIO's text, nor fio's JSON"), "{text}");
    }
}

#[test]
fn syncs_that_fio_counts_as_short_reads_are_no_contradiction() {
    let synced = FIO.replacen("\"total_ios\": 28995", "\"short_ios\": 30000, \"total_ios\": 28995", 1);
    assert_ne!(synced, FIO);
    assert_eq!(read(&synced).unwrap().1.len(), read(FIO).unwrap().1.len());
    // What was under way at the end of the ramp is timed, and none of all.
    let ramped = FIO.replacen("\"N\": 28995", "\"N\": 29026", 1);
    assert!(ramped != FIO && read(&ramped).is_ok());
}

/// Three jobs: two that began together, and one behind them.
const JOBS: &str = r#"{"fio version": "fio-3.33", "global options": {"rw": "randread", "bs": "8k", "iodepth": "8", "ioengine": "libaio"}, "jobs": [
    {"jobname": "a", "groupid": 0, "error": 0, "job options": {"numjobs": "2", "rate_iops": "500"},
     "read": {"bw_bytes": 8192000, "bw": 8000, "iops": 1000, "runtime": 10000, "total_ios": 10000}},
    {"jobname": "b", "groupid": 0, "error": 0, "job options": {},
     "read": {"bw_bytes": 16384000, "bw": 16000, "iops": 2000, "runtime": 10000, "total_ios": 20000}},
    {"jobname": "c", "groupid": 1, "error": 0, "job options": {"stonewall": ""},
     "read": {"bw_bytes": 32768000, "bw": 32000, "iops": 4000, "runtime": 10000, "total_ios": 40000}}]}"#;

#[test]
fn jobs_that_began_together_or_were_asked_for_a_rate_are_known() {
    let seen = |text: &str| {
        let runs = read(text).unwrap().1;
        runs.iter().map(|run| (run.is_beside(), run.rate_per_s)).collect::<Vec<_>>()
    };
    let free = (false, None);
    assert_eq!(seen(JOBS), [(false, Some(1000.0)), (true, None), free]);
    // In bytes a second, and of a side alone.
    let bytes = JOBS.replace("\"rate_iops\": \"500\"", "\"rate\": \"4m,\"");
    assert_eq!(seen(&bytes)[0], (false, Some(1024.0)));
    let writes = JOBS.replace("\"rate_iops\": \"500\"", "\"rate\": \",4m\"");
    assert_eq!(seen(&writes)[0], free, "it made no writes");
    let walls = JOBS.replace("\"job options\": {}", "\"job options\": {\"stonewall\": \"1\"}");
    assert_eq!(seen(&walls)[1], free);
    let paused = JOBS.replace("\"job options\": {}", "\"job options\": {\"thinktime\": \"5000\"}");
    let held_back = |text: &str| read(text).unwrap().1.iter().map(|run| run.held_back_by).collect::<Vec<_>>();
    assert_eq!(held_back(&paused), [None, Some("thinktime"), None]);
    assert_eq!(held_back(&paused.replace("5000", "0")), [None; 3]);
    assert_eq!(held_back(&paused.replace("thinktime", "latency_target"))[1], Some("latency_target"));
    // Other work than that of the cell is told with its value.
    let odd = JOBS.replace("\"job options\": {}", "\"job options\": {\"percentage_random\": \"10\"}");
    let unsaid = |text: &str| read(text).unwrap().1.iter().map(|run| run.unsaid.join(" ")).collect::<Vec<_>>();
    assert_eq!(unsaid(&odd), ["", "percentage_random=10", ""]);
    assert_eq!(unsaid(&odd.replace("10\"}", "100\"}")), [""; 3]);
    for engine in ["null", "filecreate", "cpuio"] {
        let said = refused(&odd.replace("percentage_random\": \"10", &format!("ioengine\": \"{engine}")));
        assert!(said.contains(&format!("with ioengine={engine} it read or wrote no data")), "{said}");
    }
    // Whatever else is odd about it: fio counts turns of the CPU as reads.
    let cpu = JOBS.replace("\"job options\": {}", "\"job options\": {\"ioengine\": \"cpuio\"}");
    assert!(refused(&cpu.replace("\"total_ios\": 20000", "\"total_ios\": 20")).contains("ioengine=cpuio"));
    let mixed = JOBS.replacen("\"error\": 0", "\"error\": 0, \"mixed\": {}", 1);
    assert!(refused(&mixed).contains("are told as one (unified_rw_reporting)"), "{}", refused(&mixed));
    // Mapped memory is the system's cache, whatever `direct` says.
    let direct = |engine: &str| {
        let options = format!("\"job options\": {{\"direct\": \"1\", \"ioengine\": \"{engine}\"}}");
        read(&JOBS.replace("\"job options\": {}", &options)).unwrap().1[1].is_direct
    };
    assert_eq!([direct("mmap"), direct("libaio")], [Some(false), Some(true)]);
    // What its pauses left is in no name, by which runs are compared.
    let named = |text: &str| {
        let (tool, runs) = read(text).unwrap();
        let about = About { run_id: "1".to_owned(), ..About::default() };
        let (_, record) = run(&about, tool, &[runs]).unwrap();
        record
            .results
            .iter()
            .map(|figure| figure.metric.clone())
            .filter(|name| name.ends_with("_iops"))
            .collect::<Vec<_>>()
    };
    let left = |iops: &str| paused.replace("\"iops\": 2000", &format!("\"iops\": {iops}"));
    assert_eq!(named(&left("2000.43217")), named(&left("2000.76543")));
    assert!(named(JOBS)[0].contains("_at_1000_"), "{:?}", named(JOBS));
    // A group for the report alone waits for nothing.
    assert!(seen(&JOBS.replace("stonewall", "new_group"))[2].0);
    assert!(refused(&JOBS.replace("\"500\"", "\"fast\"")).contains("a rate of fast is none"));
}

#[test]
fn operations_that_failed_are_counted_and_many_are_refused() {
    let failed = |errors: u64| JOBS.replacen("\"error\": 0", &format!("\"error\": 0, \"total_err\": {errors}"), 1);
    let (tool, runs) = read(&failed(7)).unwrap();
    assert_eq!(runs.iter().map(|run| run.errors).collect::<Vec<_>>(), [7, 0, 0]);
    let about = About { run_id: "1".to_owned(), ..About::default() };
    let (_, record) = run(&about, tool, &[runs]).unwrap();
    let points = &record.repetitions[0].points;
    let counts: Vec<_> = points.iter().map(|point| point.count(plimsoll_measurement::Metric::Errors)).collect();
    assert_eq!(counts, [Some(7), None, None]);
    let at = |part: &str| record.warnings.iter().position(|text| text.contains(part)).unwrap();
    at("7 of 10,000 I/Os of 'a' failed, and its rate counts them");
    assert!(at("'a', 'b' ran at the same time: each") < at("'a' was asked for 1000"), "{:?}", record.warnings);
    assert!(read(&failed(100)).is_ok());
    assert!(refused(&failed(101)).contains("1.0 % of the I/Os of 'a' failed"), "{}", refused(&failed(101)));
    // Of copies all count.
    let copies = FIO.replace("\"error\": 0", "\"error\": 0, \"total_err\": 3");
    assert_eq!(read(&copies).unwrap().1[0].errors, 6);
}

#[test]
fn what_the_figures_of_a_job_do_not_bear_out_is_told() {
    // Two jobs together were asked for 1,000 a second, and make them.
    assert!(read(JOBS).is_ok());
    let less = JOBS.replace("\"rate_iops\": \"500\"", "\"rate_iops\": \"50\"");
    assert!(refused(&less).contains("a rate of 100 a second was asked for, and 1000 were made"), "{}", refused(&less));
    let about = About { run_id: "1".to_owned(), label: Some("mine".to_owned()), ..About::default() };
    let told = |text: &str| {
        let (tool, runs) = read(text).unwrap();
        let (_, record) = run(&about, tool, &[runs]).unwrap();
        assert_eq!(record.label.as_deref(), Some("mine"));
        record.warnings.join("; ")
    };
    // 4,000 a second of 0.25 ms are one under way, of 8.
    let times = "\"total_ios\": 40000, \"lat_ns\": {\"min\": 100000, \"mean\": 250000, \"max\": 9000000}";
    let few = told(&JOBS.replace("\"total_ios\": 40000", times));
    assert!(few.contains("'c' had 1.0 of 8 operations under way on average"), "{few}");
    let full = told(&JOBS.replace("\"total_ios\": 40000", &times.replace("250000", "1900000")));
    assert!(!full.contains("under way on average"), "{full}");
    let short = JOBS.replace("\"runtime\": 10000, \"total_ios\": 40000", "\"runtime\": 100, \"total_ios\": 400");
    assert!(told(&short).contains("'c' ran for 0.1 s alone"), "{}", told(&short));
    // The longest is in the last hundredth of a percent at most.
    let percentiles = |us: u32| {
        let list = format!("\"percentile\": {{\"50.000000\": {us}000, \"99.990000\": {us}000}}");
        let all = format!("{{\"min\": {us}000, \"mean\": 174000, \"max\": 28700000, {list}}}");
        JOBS.replace("\"total_ios\": 40000", &format!("\"total_ios\": 40000, \"lat_ns\": {all}"))
    };
    assert!(refused(&percentiles(26)).contains("is more than"), "{}", refused(&percentiles(26)));
    assert!(read(&percentiles(172)).is_ok());
}

#[test]
fn a_job_of_fio_that_has_the_operations_of_others_is_refused() {
    let told = |ms: u64| JOBS.replacen("\"groupid\": 1", &format!("\"groupid\": 1, \"job_runtime\": {ms}"), 1);
    assert!(read(&told(10_000)).is_ok());
    let error = refused(&told(20_000));
    assert!(error.contains("job 3 ('c'): it has the I/Os of several jobs (group_reporting)"), "{error}");
    // Copies of one job may be told of together.
    let copies = told(20_000).replace("\"stonewall\": \"\"", "\"numjobs\": \"2\"");
    assert!(read(&copies).is_ok());
}

#[test]
fn jobs_whose_waits_are_not_told_are_known_by_their_times() {
    let beside = |text: &str| {
        let runs = read(text).unwrap().1;
        runs.iter().map(|run| run.beside).collect::<Vec<_>>()
    };
    let (no, told, reckoned) = (Beside::No, Beside::Told, Beside::Reckoned);
    // fio 3.33 writes no option that has no value.
    let silent = JOBS.replace("\"stonewall\": \"\"", "");
    let elapsed = |seconds: u32| silent.replace("\"error\": 0", &format!("\"elapsed\": {seconds}, \"error\": 0"));
    assert_eq!(beside(&elapsed(20)), [no, told, no]);
    assert_eq!(beside(&elapsed(11)), [no, told, reckoned]);
    let ramped = elapsed(20).replace("\"job options\": {}", "\"job options\": {\"ramp_time\": \"2s\"}");
    assert_eq!(beside(&ramped), [no, told, reckoned]);
    let began = |third: u64| {
        let all = [1_000, 1_000, third].into_iter().fold(silent.clone(), |text, ms| {
            text.replacen("\"error\": 0", &format!("\"job_start\": {ms}, \"error\" : 0"), 1)
        });
        beside(&all)
    };
    assert_eq!((began(11_010), began(6_000)), (vec![no, told, no], vec![no, Beside::Partly, Beside::Partly]));
    let waiting =
        JOBS.replace("\"groupid\": 1", "\"groupid\": 0").replace("\"stonewall\": \"\"", "\"wait_for\": \"b\"");
    assert_eq!(beside(&waiting), [no, told, told], "'a' may go on");
}
